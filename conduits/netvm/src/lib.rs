//! The netvm conduit: a NIC in software for every rank, and segments that are paged instead of pinned.
//!
//! A rank's segment may be larger than the memory it is allowed. The crate has two halves:
//!
//! - The *conduit* ([`open`]) is the NIC: a thread that runs the firmware of [`netvm_fw`] over rings in
//!   shared memory, and over the udp conduit between hosts.
//! - The [`pager`] is the host: it brings the pages of a segment in, writes them back, and tells the NIC
//!   which pages are resident.
//!
//! The registration mode ([`Registration`]) decides who guarantees that a page stays in place during a DMA.
//! The crate `gasnet-sim` runs the same firmware and the same strategies in virtual time, on simulated hosts.
//!
//! # Words
//!
//! - *card*: a rank's NIC: the firmware ([`netvm_fw::nic`]), its doorbell and the rank's port.
//! - *desk*: the state of a rank that the NICs of a host share in memory.
//! - *wire*: a ring in shared memory for every ordered pair of NICs of a host; a network between hosts.
//! - *side*: the rank's half of its port: the user library, and the transfers under way.
//! - *mail*: frames of active messages, appended to queues of their receivers.
//! - *attend*: to do the NIC's work in a thread of the rank that polls.
//! - *region*: exported memory of the program (`gasnet::region`), which the NIC accesses
//!   (`exports.rs`).
//! - *lending*: memory of a rank for the pages of others; *donor*, *borrower*: its owner, its user.
//! - *news*: a change that a sleeping rank must be woken for.
//!
//! # Threads
//!
//! ```text
//! rank     programs: put commands into the port's queue, read counters and notifications; attend the card
//! NIC      runs the firmware when the rank does not attend
//! paging   the host half: brings pages in, copies bounced messages, cleans pages
//! listener sleeps on the network between hosts, if there is one, and runs the firmware when something arrives
//! ```
//!
//! # A put, traced
//!
//! `Rma::put` (`conduit.rs`) writes a command into the port's queue (`side.rs`). The own card reads the
//! source under a lock of its page and sends packets (`engine.rs`) over the wire: a ring in shared memory, or
//! udp (`far.rs`). The target's card locks the destination's page and writes. If the page is missing, the
//! packet goes to a bounce buffer, and the paging thread brings the page in and copies (`backing.rs`,
//! `pager`). The last acknowledgement advances a counter, which the initiator's next poll sees (`side.rs`).
//!
//! # Invariants
//!
//! 1. A rank's segment is mapped in its own process only. Peers reach it by packets, which this rank's card
//!    handles.
//! 2. The card touches a page only while the firmware has it locked in the shadow table.
//! 3. No thread holds the engine while it waits for a page; the paging thread never waits for the engine.

mod backing;
mod budget;
mod carrier;
mod conduit;
mod desk;
mod early;
mod engine;
mod exports;
mod far;
mod lanes;
mod lending;
mod mail;
mod modes;
mod news;
mod nicport;
pub mod pager;
mod region;
mod settings;
mod side;
mod sys;

pub use budget::Budget;
pub use conduit::{Network, open};
pub use modes::Registration;
pub use settings::{SETTINGS, check_settings};
