//! Synchronisation as a NIC would do it: atomics, locks, wait queues, monitors, semaphores. Here they are
//! made of the core's one-sided operations, so they work over every conduit. Where the conduit's NICs do the
//! operations of a home by themselves ([`port`], netvm), locks, queues, monitors and semaphores use these,
//! and no processor but the callers' takes part.
//!
//! Objects are *collective* to make: all ranks make the same ones in the same order
//! ([`SegmentCalls::allocate_agreed`](crate::SegmentCalls::allocate_agreed) gives each a place at the same
//! offset everywhere). One rank is an object's *home*: the word that decides lies there. Every rank has a
//! *cell* of it in its own segment, and waits by looking at that only. A rank's object is for one thread at a
//! time (`&mut`); share it under a mutex.
//!
//! Memory accesses before a release, signal, send or notify are visible to the rank that it lets continue.
//!
//! ```no_run
//! # fn demo(rank: &gasnet::Rank) -> Result<(), gasnet::Error> {
//! use gasnet::RankId;
//! use gasnet::sync::Semaphore;
//! // At most two ranks at a time.
//! let mut room = Semaphore::new(rank, RankId(0), 2)?;
//! room.wait();
//! // ...
//! room.signal()?;
//! # Ok(()) }
//! ```

mod atomics;
mod cells;
mod home;
mod line;
mod lock;
mod near;
mod nic;
mod placed;
pub use gasnet_wire::port;
mod queue;

pub use atomics::NicAtomics;
pub use cells::Cells;
pub use lock::McsLock;
pub use nic::Nic;
pub use placed::{PlacedLock, PlacedSemaphore};
pub use queue::{Monitor, Semaphore, WaitQueue};

/// No process.
const EMPTY: u64 = 0;

/// Bytes of an object at every rank, and the place of the home word. Words that other ranks write lie
/// before it, with a line of memory between: processors fetch lines in pairs.
const OBJECT: u64 = 256;
const HOME: u64 = 128;
