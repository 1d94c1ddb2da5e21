//! What a strategy is asked for, and how it ends.

use crate::registrar::PinError;
use crate::run::{Keys, Node};

/// Names an operation from [`Strategy::start`](crate::Strategy::start) until its `Done` or `Failed`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OpId(pub(crate) u32);

impl OpId {
    /// The number: small, and used again after the operation's end.
    pub fn index(self) -> u32 {
        self.0
    }
}

/// Which way data goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From here to the peer.
    Put,
    /// From the peer to here.
    Get,
}

/// The memory at the near end of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Local {
    /// Must be pinned for the transfer.
    At(u64),
    /// Registered for good by somebody else: a bounce buffer, or data inside the descriptor.
    Registered(u64),
}

/// An operation that a program wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The caller's word; comes back in the actions.
    pub tag: u64,
    /// Whose memory.
    pub peer: Node,
    /// Which way.
    pub direction: Direction,
    /// Address at the peer.
    pub remote: u64,
    /// Memory here.
    pub local: Local,
    /// Bytes.
    pub len: u64,
}

impl Request {
    /// The transfer of `len` of its bytes, after those that are `done`. Keys: at the peer, and here.
    #[inline]
    pub(crate) fn part(&self, op: OpId, done: u64, len: u64, keys: (&Keys, &Keys)) -> Transfer {
        let (local, local_keys) = match self.local {
            Local::Registered(addr) => (addr + done, None),
            Local::At(addr) => (addr + done, Some(keys.1.clone())),
        };
        let (remote, remote_keys) = (self.remote + done, keys.0.clone());
        let Request { tag, peer, direction, .. } = *self;
        Transfer { op, tag, peer, direction, remote, remote_keys, local, local_keys, len }
    }
}

/// A one-sided transfer that may start. The cards at both ends compare the keys when they touch the memory
/// ([`Strategy::check`](crate::Strategy::check)).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transfer {
    /// Whose it is.
    pub op: OpId,
    /// The request's word.
    pub tag: u64,
    /// Whose memory.
    pub peer: Node,
    /// Which way.
    pub direction: Direction,
    /// Address at the peer.
    pub remote: u64,
    /// Keys of the buckets at the peer.
    pub remote_keys: Keys,
    /// Address here.
    pub local: u64,
    /// Keys of the buckets here; none if the memory is registered for good.
    pub local_keys: Option<Keys>,
    /// Bytes.
    pub len: u64,
}

/// At which end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// Here, at the initiator.
    Local,
    /// At the peer.
    Remote,
}

/// Why an operation could not be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("cannot pin bucket {bucket:#x} at the {side:?} end: {error}")]
pub struct Failure {
    /// At which end.
    pub side: Side,
    /// The bucket.
    pub bucket: u64,
    /// What the registrar said.
    pub error: PinError,
}

/// A card found that a key does not fit the registration of a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("bucket {bucket:#x} is not registered under key {key} at the {side:?} end")]
pub struct Refusal {
    /// At which end.
    pub side: Side,
    /// The bucket.
    pub bucket: u64,
    /// The key presented.
    pub key: u64,
}

/// How a transfer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// All bytes have arrived.
    Done,
    /// A card refused it, before any byte or after some; it will be repeated under a new key.
    Refused(Refusal),
}

/// Why an operation cannot even begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Start {
    /// There is no such node, or it is this one.
    #[error("node {0} is not another node of this job")]
    Peer(Node),
    /// No such addresses.
    #[error("{len} bytes at {addr:#x} are not addresses")]
    Address {
        /// Address.
        addr: u64,
        /// Bytes.
        len: u64,
    },
    /// More than may ever be pinned at once.
    #[error("{wanted} buckets at once, where at most {most} can be held")]
    TooMuch {
        /// Buckets wanted.
        wanted: u64,
        /// The limit.
        most: u64,
    },
    /// This process is the child of a fork.
    #[error("this process was forked from the one that made the registrations")]
    Child,
}
