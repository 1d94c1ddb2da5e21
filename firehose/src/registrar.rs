//! The interfaces to the operating system: pinning, and reports of changed mappings.

use crate::run::Run;

/// Why memory could not be pinned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum PinError {
    /// No memory is mapped there, or not at all of it.
    #[error("not mapped")]
    Unmapped,
    /// The system's limit is reached.
    #[error("limit of pinned memory reached")]
    Limit,
    /// Another error: the system's error number.
    #[error("system error {0}")]
    System(i32),
}

/// Pins and unpins.
///
/// Both methods may return the result at once. Or they return `None`, and
/// [`Strategy::pinned`](crate::Strategy::pinned) or [`Strategy::unpinned`](crate::Strategy::unpinned) is
/// called later. No bucket has two calls under way.
pub trait Registrar {
    /// Makes the buckets usable for the card: all of them, or, with an error, none.
    fn pin(&self, run: Run) -> Option<Result<(), PinError>>;

    /// Lets no further transfer touch the buckets; ends when none does.
    fn unpin(&self, run: Run) -> Option<()>;
}

/// A change of the mapping of a range of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Change {
    /// Unmapped, or mapped over.
    Unmapped {
        /// Address.
        addr: u64,
        /// Bytes.
        len: u64,
    },
    /// Moved to another address; also the part that a shrinking mapping loses.
    Moved {
        /// Old address.
        addr: u64,
        /// Bytes.
        len: u64,
    },
    /// Still mapped, but its pages were given up and others replace them.
    Removed {
        /// Address.
        addr: u64,
        /// Bytes.
        len: u64,
    },
    /// The process forked: after a write by either side, its page may be another one than was pinned.
    Forked,
    /// This process is the child of a fork: it has none of the registrations, and must not touch them.
    Child,
    /// Anything may have changed; sent by a notifier that lost events.
    All,
}

impl Change {
    /// The addresses concerned; `None` for all.
    pub fn range(self) -> Option<(u64, u64)> {
        match self {
            Change::Unmapped { addr, len } | Change::Moved { addr, len } | Change::Removed { addr, len } => {
                Some((addr, len))
            }
            Change::Forked | Change::Child | Change::All => None,
        }
    }
}

/// Reports changed mappings.
///
/// A program that changes a mapping must not continue before the change is visible to callers of `changes`.
pub trait Notifier {
    /// Reports changes of this range from now on. To be called before the range is pinned.
    fn watch(&self, addr: u64, len: u64) -> Result<(), PinError>;

    /// Reports the changes that happened before this call. Every use of a registration comes after a call
    /// of this function.
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
