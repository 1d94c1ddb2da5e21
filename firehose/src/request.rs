//! Requests to a strategy, and their results.

use crate::registrar::PinError;
use crate::run::{Keys, Node};

/// Identifies an operation from [`Strategy::start`](crate::Strategy::start) until its `Done` or `Failed`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OpId(pub(crate) u32);

impl OpId {
    /// The number: small, and reused after the operation's end.
    pub fn index(self) -> u32 {
        self.0
    }
}

/// The direction of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From here to the peer.
    Put,
    /// From the peer to here.
    Get,
}

/// The local memory of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LocalMemory {
    /// At this address; it must be pinned for the transfer.
    At(u64),
    /// At this address, registered permanently by somebody else: a bounce buffer, or data inside the
    /// descriptor.
    Registered(u64),
}

/// An operation that a program wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// A number of the caller's, which comes back in the actions.
    pub tag: u64,
    /// The owner of the remote memory.
    pub peer: Node,
    /// The direction.
    pub direction: Direction,
    /// Address at the peer.
    pub remote: u64,
    /// The local memory.
    pub local: LocalMemory,
    /// Number of bytes.
    pub len: u64,
}

impl Request {
    /// The transfer of `len` of its bytes, after those that are `done`, with the keys at the peer and here.
    #[inline]
    pub(crate) fn part(&self, op: OpId, done: u64, len: u64, keys: (&Keys, &Keys)) -> Transfer {
        let (local, local_keys) = match self.local {
            LocalMemory::Registered(addr) => (addr + done, None),
            LocalMemory::At(addr) => (addr + done, Some(keys.1.clone())),
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
    /// The operation.
    pub op: OpId,
    /// The `tag` of the request.
    pub tag: u64,
    /// The owner of the remote memory.
    pub peer: Node,
    /// The direction.
    pub direction: Direction,
    /// Address at the peer.
    pub remote: u64,
    /// Keys of the buckets at the peer.
    pub remote_keys: Keys,
    /// Address here.
    pub local: u64,
    /// Keys of the buckets here; `None` if the memory is registered permanently.
    pub local_keys: Option<Keys>,
    /// Number of bytes.
    pub len: u64,
}

/// One of the two ends of a transfer.
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
    /// The end where it failed.
    pub side: Side,
    /// The bucket.
    pub bucket: u64,
    /// The registrar's error.
    pub error: PinError,
}

/// A card found that a key is not the current registration's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("bucket {bucket:#x} is not registered under key {key} at the {side:?} end")]
pub struct Refusal {
    /// The end that refused.
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
    /// A card refused it, before any byte or after some; it is repeated under a new key.
    Refused(Refusal),
}

/// Why an operation cannot begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum StartError {
    /// There is no such node, or it is this one.
    #[error("node {0} is not another node of this job")]
    Peer(Node),
    /// The bytes are outside the address space.
    #[error("{len} bytes at {addr:#x} are not addresses")]
    Address {
        /// Address.
        addr: u64,
        /// Bytes.
        len: u64,
    },
    /// More than can ever be pinned at once.
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
