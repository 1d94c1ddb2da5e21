//! The firmware of a NIC that needs no pinned memory, and the host half it works with.
//!
//! The host's virtual memory keeps the ownership of every page. The NIC holds a *shadow page table*: a
//! complete map of the resident pages that programs export. Around each DMA it locks the page there, for
//! microseconds. A message for a page that is not resident goes into a *bounce buffer* that was reserved for
//! it, and the host's paging thread copies it from there. Nothing is pinned, nothing is refused, nothing is
//! sent twice. The design is J. S. Ong's "Network Virtual Memory" (UBC, 2003); `docs/netvm-hazards.md`
//! decides what it leaves open.
//!
//! There is no I/O here and no unsafe code. The firmware and the host half are state machines that take
//! events and a time, and return actions. The same code runs in unit tests, in virtual time with a cost for
//! every action, and on a live thread.
//!
//! # Words
//!
//! - *node*: a NIC with its host. *Port*: a process on it. *Vpn*: a page of a port's memory, unique on its
//!   node. *Ppn*: a page frame of the host, from 1.
//! - *command*: a request of a port to its NIC: a write, read or atomic of at most one page at either end, or
//!   a message.
//! - *head*: the 80 bytes in front of a packet; a command is a head that its port filled ([`wire`]).
//! - *lock*: a count per frame that keeps the host from taking the frame away. *Lease*: a lock that stays,
//!   for Firehose ([`shadow`]).
//! - *window*: the 64 sequence numbers that a node may have under way to another. One number is one *credit*:
//!   a position in the sequence and a slot of the other side's bounce buffer ([`window`]).
//! - *notification*: an event count at a port, raised by a write after the data before it ([`notify`]).
//! - *appended queue*: memory of a port in which the NIC gives messages of many senders their places
//!   ([`append`]).
//! - *triggered command*: a command that waits in the NIC until an event count of its port reaches a
//!   threshold ([`nic`]).
//!
//! # Layers
//!
//! ```text
//! sync      locks, wait queues, monitors, semaphores, channels      user level
//! library   maps of segments, splitting at pages, commands, fences
//! port      command queue, doorbell, counters, notifications        shared by port and NIC
//! nic       the firmware: commands, packets, windows, atomics       one thread
//! shadow    the page table that both sides share                    one writer per array
//! host      paging thread, bounce buffer, page states, four hooks   one thread
//! ```
//!
//! # One write, traced
//!
//! [`library::Library::issue`] splits the write at the pages of both ends and puts a command for each
//! fragment in the port's queue ([`port`]); the doorbell tells the NIC. [`nic::Nic::handle`] takes the
//! command, locks the source page and asks for a DMA of it (up to 96 bytes come with the command instead). It
//! then unlocks the page, counts the command as done, and sends the packet when there is a credit. At the
//! target the NIC locks the destination, checks the key, asks for the DMA into it, marks the page dirty,
//! unlocks it, advances the window, and raises the notification once everything before it is in place. If the
//! page is missing at the target, [`host::Host`] finds the message in the bounce buffer, pages in, maps,
//! copies, and tells the NIC to advance the window.

#![forbid(unsafe_code)]

pub mod append;
pub mod host;
pub mod ids;
pub mod library;
pub mod nic;
pub mod notify;
pub mod port;
mod prim;
pub mod region;
pub mod shadow;
pub mod sync;
pub mod window;
pub mod wire;

pub use ids::{FrameAddress, Hash, Key, Node, PAGE, PortId, Ppn, Vpn};

/// The memory of a host by page frame: the paging thread copies into it, and drivers run DMA on it.
///
/// An implementation ensures that a frame keeps its page while the shadow table has it locked or the host
/// holds it. Its methods may be called by several threads.
pub trait PageMemory {
    /// Copies out of a frame. `at.offset + into.len() <= PAGE`.
    fn read(&self, at: FrameAddress, into: &mut [u8]);
    /// Copies into a frame. `at.offset + from.len() <= PAGE`.
    fn write(&self, at: FrameAddress, from: &[u8]);
    /// Whether a copy may have to wait for the paging thread, although the frame keeps its page.
    fn may_wait(&self, _at: FrameAddress) -> bool {
        false
    }
}
