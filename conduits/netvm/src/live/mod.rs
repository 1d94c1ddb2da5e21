//! The netvm conduit on real memory: a NIC in software for every rank, and nothing pinned.
//!
//! # Words
//!
//! - *card*: a rank's NIC: the firmware ([`netvm_fw::nic`]), its doorbell and the port that the rank has on it.
//! - *desk*: what the NICs of a host see of each other, in shared memory.
//! - *wire*: a ring in shared memory for every ordered pair of NICs of a host; a network between hosts.
//! - *side*: the rank's half of its port: the user library, transfers under way.
//! - *mail*: frames of active messages, as writes with notifications.
//! - *attend*: a rank that polls does its NIC's work itself.
//! - *news*: what a rank that sleeps is woken for.
//!
//! # Threads
//!
//! ```text
//! rank     programs: commands into the port's queue, counters and notifications out of it; attends the card
//! NIC      the firmware, when the rank does not attend
//! paging   the host half: brings pages, copies bounced messages, cleans
//! listener sleeps on the network between hosts, if there is one, and runs the firmware when something comes
//! ```
//!
//! # Invariants
//!
//! 1. A rank's segment is mapped in its own process only. Whatever a peer does to it is a packet, taken by this rank's card.
//! 2. The card touches a page only while the firmware has it locked in the shadow table.
//! 3. Nobody holds the engine while it waits for a page; the paging thread never waits for the engine.

mod backing;
mod conduit;
mod desk;
mod engine;
mod far;
mod mail;
mod modes;
mod news;
mod nicport;
mod region;
mod side;
mod sys;

pub use conduit::{Network, open};
pub use modes::Registration;
