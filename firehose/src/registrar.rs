//! The seams to the operating system: who pins, and who tells of changed mappings.

use crate::run::Run;

/// Why memory could not be pinned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum PinError {
    /// No memory there, or not all of it.
    #[error("not mapped")]
    Unmapped,
    /// The system's limit is reached.
    #[error("limit of pinned memory reached")]
    Limit,
    /// Anything else: the system's error number.
    #[error("system error {0}")]
    System(i32),
}

/// Pins and unpins.
///
/// Both may return at once with the result, or `None` and have [`Strategy::pinned`](crate::Strategy::pinned) or
/// [`Strategy::unpinned`](crate::Strategy::unpinned) called later.
/// No bucket has two calls under way.
pub trait Registrar {
    /// Makes the buckets usable for the card. All or, with an error, none of them.
    fn pin(&self, run: Run) -> Option<Result<(), PinError>>;

    /// From now on no transfer may begin to touch the buckets; ends when none does.
    fn unpin(&self, run: Run) -> Option<()>;
}

/// What happened to the mapping of a range of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Change {
    /// Unmapped, or mapped over.
    Unmapped {
        /// Address.
        addr: u64,
        /// Bytes.
        len: u64,
    },
    /// Moved away, to another address; also the part that a shrinking mapping loses.
    Moved {
        /// Old address.
        addr: u64,
        /// Bytes.
        len: u64,
    },
    /// Still mapped, but its pages were given up and others come in their place.
    Removed {
        /// Address.
        addr: u64,
        /// Bytes.
        len: u64,
    },
    /// The process forked: a write by either side may give it another page than the one that was pinned.
    Forked,
    /// This process is the child of a fork: it has none of the registrations, and must not touch them.
    Child,
    /// Anything may have changed; sent by a notifier that lost count.
    All,
}

impl Change {
    /// The addresses concerned; `None` if all.
    pub fn range(self) -> Option<(u64, u64)> {
        match self {
            Change::Unmapped { addr, len } | Change::Moved { addr, len } | Change::Removed { addr, len } => {
                Some((addr, len))
            }
            Change::Forked | Change::Child | Change::All => None,
        }
    }
}

/// Tells of changed mappings.
///
/// A program that changes a mapping must not get to run on before the change can be seen by whoever asks the notifier.
pub trait Notifier {
    /// Tells of changes from now on. To be called before the range is pinned.
    fn watch(&self, addr: u64, len: u64) -> Result<(), PinError>;

    /// Hands over the changes that happened before this call. Every use of a registration comes after such a call.
    fn changes(&self, each: &mut dyn FnMut(Change));
}

impl<N: Notifier + ?Sized> Notifier for std::sync::Arc<N> {
    fn watch(&self, addr: u64, len: u64) -> Result<(), PinError> {
        (**self).watch(addr, len)
    }

    fn changes(&self, each: &mut dyn FnMut(Change)) {
        (**self).changes(each);
    }
}
