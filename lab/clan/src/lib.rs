//! The features of CLAN's network cards, made of one-sided operations, over every conduit: a program is told
//! what others did, and need not ask all the time.
//!
//! - [`Watch`] and [`Tripwire`]: report that a rank touched an address of watched memory.
//! - [`EventQueue`]: collects events of many sources, in a queue that cannot overflow and that has a
//!   descriptor.
//! - [`PolledQueues`]: event queues that share a ring, for many sources and few wake-ups.
//! - [`ActiveSources`]: polls sources that were active recently, instead of waiting for their events.
//! - [`Endpoints`]: ordered connections whose end is detected, even when a peer dies.
//! - [`Streams`]: bytes between two ranks, as `std::io::Read` and `std::io::Write`.
//! - [`Posted`]: messages into buffers that the receiver has posted, without a copy.
//! - [`Aperture`]: memory of another rank to store to, and loads that are counted.
//! - [`RdmaEngine`], [`RdmaQueue`]: queues of writes that an engine carries out in order.
//! - [`Channel`]: messages of one size from one rank to another.
//! - [`Notification`]: counters that other ranks raise.
//! - [`Upcalls`]: handlers for notifications, which run while the program computes.
//!
//! After D. Riddoch, "Low Latency Distributed Computing", Cambridge 2002. Locks, queues and semaphores are
//! in [`gasnet::sync`]; its conventions hold here too. Making an object is *collective*: all ranks make the
//! same objects in the same order. A rank uses an object on one thread at a time. If a signal, a message or
//! a notification lets a rank continue, that rank sees all memory accesses that the sender made before it.
//!
//! One message traced: [`Sender::send`] writes it into a slot of the receiver's ring with
//! [`Rank::write_slice`], and sets the receiver's word "sent" with
//! [`AtomicCalls::swap`](gasnet::AtomicCalls::swap). The receiver waits for that word ([`Rank::wait_until`]),
//! reads the slot, and sets the sender's word "freed", for which a sender of a full ring waits.
//!
//! ```no_run
//! # fn demo(rank: &gasnet::Rank) -> Result<(), gasnet::Error> {
//! use gasnet::RankId;
//! use gasnet_clan::Notification;
//! let mut note = Notification::new(rank, 4, 64)?;
//! // Earlier writes of rank 0 are visible when rank 1 continues.
//! match rank.id() {
//!     RankId(0) => note.notify(RankId(1), 3)?,
//!     _ => note.wait(3),
//! }
//! # Ok(()) }
//! ```
//!
//! [`Rank::write_slice`]: gasnet::Rank::write_slice
//! [`Rank::wait_until`]: gasnet::Rank::wait_until

mod active;
pub mod aperture;
mod bed;
mod channel;
mod endpoint;
mod events;
mod notification;
mod peer;
pub mod polled;
mod posted;
#[cfg(not(loom))]
pub mod rdma;
pub mod stream;
#[cfg(not(loom))]
pub mod upcall;
mod watch;

/// In models there are only the words that threads share.
#[cfg(loom)]
#[allow(dead_code, reason = "models leave out the code that uses the rest")]
mod rdma {
    mod activity;
}
#[cfg(loom)]
mod upcall {
    mod gate;
}

pub use active::ActiveSources;
pub use aperture::Aperture;
pub use channel::{Channel, Receiver, Sender};
pub use endpoint::{Endpoint, Endpoints, MAX_MESSAGE_BYTES, RING_MESSAGES};
pub use events::{EventQueue, EventSource, MAX_SOURCES, QueuedEvent};
pub use gasnet::region::watch::Trips;
pub use notification::{FIRST_ONE_SHOT, Notification};
pub use polled::{PolledQueue, PolledQueues};
pub use posted::{Arrival, MOST_BUFFERS, Overrun, Posted, PostedTx, Reliability};
#[cfg(not(loom))]
pub use rdma::{QueueFull, RdmaEngine, RdmaQueue, RequestId};
pub use stream::{Stream, StreamConfig, StreamRx, StreamTx, Streams};
#[cfg(not(loom))]
pub use upcall::{HeldUpcalls, Upcalls};
pub use watch::{Access, Tripwire, Watch};
