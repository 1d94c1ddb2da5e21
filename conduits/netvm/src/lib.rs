//! The netvm conduit: a NIC in software for every rank, and segments that are paged and not pinned.
//!
//! A rank's segment may be larger than the memory it is allowed. The crate has two halves:
//!
//! - The *conduit* ([`open`]) is the NIC: a thread that runs the firmware of [`netvm_fw`] over rings in shared memory, and over the
//!   udp conduit between hosts.
//! - The [`pager`] is the host: it brings the pages of a segment, writes them back, and tells the NIC which are there.
//!
//! The registration mode ([`Registration`]) says who guarantees that a page stays during a DMA. The cluster in virtual time,
//! which runs the same firmware and the same strategies on simulated hosts, is the crate `gasnet-sim`.
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
//! # A put, traced
//!
//! `Rma::put` (`conduit.rs`) writes a command into the port's queue (`side.rs`). The own card reads the source under a lock of its page
//! and sends packets (`engine.rs`) over the wire (`desk.rs`), or over udp (`far.rs`). The target's card locks the destination's
//! page and writes. A page that is missing sends the packet to a bounce buffer, and the paging thread brings the page and copies
//! (`backing.rs`, `pager`). The last acknowledgement moves a counter, which the initiator's next poll sees (`side.rs`).
//!
//! # Invariants
//!
//! 1. A rank's segment is mapped in its own process only. Whatever a peer does to it is a packet, taken by this rank's card.
//! 2. The card touches a page only while the firmware has it locked in the shadow table.
//! 3. Nobody holds the engine while it waits for a page; the paging thread never waits for the engine.

mod backing;
mod budget;
mod conduit;
mod desk;
mod engine;
mod far;
mod mail;
mod modes;
mod news;
mod nicport;
pub mod pager;
mod region;
mod side;
mod sys;

pub use budget::Budget;
pub use conduit::{Network, open};
pub use modes::Registration;
pub use nicport::combine;
