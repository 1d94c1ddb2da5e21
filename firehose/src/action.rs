//! What a strategy is asked for, and what it answers.

use crate::config::Node;
use crate::message::Message;
use crate::registrar::PinError;

/// Names an operation from [`Strategy::start`](crate::Strategy::start) until its `Done` or `Failed`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OpId(pub(crate) u32);

impl OpId {
    /// The number: small, and used again after the operation's end.
    pub fn index(self) -> u32 {
        self.0
    }
}

/// Consecutive buckets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Run {
    /// The first one's number.
    pub first: u64,
    /// How many.
    pub count: u64,
}

impl Run {
    /// The buckets' numbers.
    pub fn buckets(self) -> std::ops::Range<u64> {
        self.first..self.first + self.count
    }

    /// Appends a bucket to a list of runs: to the last one if it comes right after it.
    pub fn append(runs: &mut Vec<Run>, bucket: u64) {
        match runs.last_mut() {
            Some(run) if run.first + run.count == bucket => run.count += 1,
            _ => runs.push(Run { first: bucket, count: 1 }),
        }
    }

    /// Whether the bucket is one of them.
    pub fn contains(self, bucket: u64) -> bool {
        bucket.wrapping_sub(self.first) < self.count
    }
}

/// Keys of consecutive buckets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Keys {
    /// All have this one.
    Uniform(u64),
    /// One for each bucket.
    Each(Box<[u64]>),
}

impl Keys {
    /// The key of the `index`th bucket.
    #[inline]
    pub fn of(&self, index: usize) -> u64 {
        match self {
            Keys::Uniform(key) => *key,
            Keys::Each(keys) => keys[index],
        }
    }

    /// The key of the `index`th bucket, if there are that many.
    #[inline]
    pub fn get(&self, index: usize) -> Option<u64> {
        match self {
            Keys::Uniform(key) => Some(*key),
            Keys::Each(keys) => keys.get(index).copied(),
        }
    }

    /// Whether there is a key for each of that many buckets.
    pub fn cover(&self, buckets: u64) -> bool {
        match self {
            Keys::Uniform(_) => true,
            Keys::Each(keys) => keys.len() as u64 >= buckets,
        }
    }

    /// Collects keys of at least one bucket; allocates only if they differ.
    #[inline]
    pub fn collect(count: u64, mut key: impl FnMut(u64) -> u64) -> Keys {
        let first = key(0);
        match (1..count).find(|&i| key(i) != first) {
            None => Keys::Uniform(first),
            Some(_) => Keys::Each((0..count).map(key).collect()),
        }
    }
}

/// Buckets with the key they are held under.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held {
    /// The buckets.
    pub run: Run,
    /// The key of all of them.
    pub key: u64,
}

impl Held {
    /// Appends a bucket to a list: to the last run if it continues it under the same key.
    pub fn append(held: &mut Vec<Held>, bucket: u64, key: u64) {
        match held.last_mut() {
            Some(last) if last.key == key && last.run.first + last.run.count == bucket => last.run.count += 1,
            _ => held.push(Held { run: Run { first: bucket, count: 1 }, key }),
        }
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

/// What a strategy wants done. In order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Send a message.
    Send {
        /// To whom.
        to: Node,
        /// What.
        message: Message,
    },
    /// Send a message together with `len` bytes that are at `addr` here, copied to a bounce buffer first.
    SendData {
        /// To whom.
        to: Node,
        /// What.
        message: Message,
        /// Where the bytes are.
        addr: u64,
        /// How many.
        len: u64,
    },
    /// Copy the bytes that came with the message being received to `addr`.
    Deliver {
        /// Whose message.
        from: Node,
        /// Where to.
        addr: u64,
        /// How many bytes.
        len: u64,
    },
    /// Pin; then call [`Strategy::pinned`](crate::Strategy::pinned).
    Pin(Run),
    /// Let no further transfer touch the buckets, wait for those that do, unpin; then call
    /// [`Strategy::unpinned`](crate::Strategy::unpinned).
    Unpin(Run),
    /// Transfer; then call [`Strategy::transferred`](crate::Strategy::transferred).
    Transfer(Transfer),
    /// Local memory that `Firehose::hold` asked for is pinned until `transferred` is called.
    Held {
        /// The operation.
        op: OpId,
        /// The word given.
        tag: u64,
        /// Keys of its buckets.
        keys: Keys,
    },
    /// An operation ended well.
    Done {
        /// The operation; its number is free again.
        op: OpId,
        /// The request's word.
        tag: u64,
    },
    /// An operation ended without having transferred everything.
    Failed {
        /// The operation; its number is free again.
        op: OpId,
        /// The request's word.
        tag: u64,
        /// Why.
        failure: Failure,
    },
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
