//! The seam to a NIC that works by itself: atomics at their home, event counts, and commands that wait for them.
//!
//! A conduit whose NIC has a processor of its own (netvm) says so by [`Conduit::nic`](crate::conduit::Conduit::nic). Everything here is
//! about three things that each rank's NIC has beside its segment:
//!
//! - a *board*: some memory that the NICs of all ranks reach, at the same offsets; zero at first;
//! - *events*: counts that commands raise, those of peers among them, after their bytes are in place;
//! - *commands* that may carry a [`Trigger`]: the NIC keeps them, and carries them out when an event of its own has been raised
//!   so often. One that is armed late is carried out at once; each exactly once.
//!
//! The core's collectives ([`crate::coll`], `GASNET_COLL=nic`) are made of these.

use crate::RankId;
use crate::atomics::Operation;
use core::ops::Range;

/// Bytes of board that the core needs.
pub const BOARD: u32 = 2560 << 10;
/// Events that the core needs.
pub const EVENTS: u32 = 120;

/// When a command is carried out: as soon as the event has been raised so often, in total since the job began, modulo 2^32.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trigger {
    /// Which event of the own NIC.
    pub event: u32,
    /// How often.
    pub count: u32,
}

/// Bytes from the own board to a board.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Move {
    /// Where they are on the own board.
    pub from: u32,
    /// Whose board they go to; the own one is allowed.
    pub to: RankId,
    /// Where on that board.
    pub at: u32,
    /// How many, at least 1. They cross no multiple of 4096 at either end.
    pub len: u32,
    /// The event to raise there when they are in place.
    pub raise: u32,
}

/// What a NIC does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// Raise an event of its own.
    Raise(u32),
    /// Copy.
    Write(Move),
    /// Fold into the words that are there, which are the first operands: add, multiply, min, max, and, or, xor. No two operations on the same
    /// words at the same time.
    Combine(Move, Operation),
}

/// A command for the own NIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Command {
    /// At once, or when. The source is read when it is carried out.
    pub when: Option<Trigger>,
    /// What is to be done.
    pub what: What,
}

/// An operation of a home NIC. Words have 32 bits; processes are numbers from 1, 0 is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum HomeOp {
    /// Set to 1 if 0; replies 1 if it did so, else 0.
    TestAndSet = 1,
    /// Add 1; replies the old value.
    Incr = 2,
    /// Subtract 1; replies the old value.
    Decr = 3,
    /// Set to the first argument; replies the old value.
    Swap = 4,
    /// Set to the second argument if it equals the first; replies the old value.
    CompareSwap = 5,
    /// Queue (head, tail, waiters, promised): append the process; replies the one before it.
    Enqueue = 6,
    /// Queue: replies the head taken off, or 0, and how many are left, or `u32::MAX` if nobody waited.
    Dequeue = 7,
    /// Queue: this process is the head now; replies (1, left) if it must be woken at once.
    NewHead = 8,
    /// Semaphore (a queue, then its value): take one, or append the process; replies (the one before it, old value).
    SemP = 9,
    /// Semaphore: wake one, or give one; replies (head, left, value).
    SemV = 10,
}

/// A rank's NIC. Calls come from any thread of the rank, after its segment is attached; none of them waits.
pub trait NicPort: Send + Sync {
    /// Bytes of the board: at least [`BOARD`], the same at all ranks.
    fn board(&self) -> u32;

    /// Reads from the own board.
    fn load(&self, at: u32, into: &mut [u8]);

    /// Writes to the own board.
    fn store(&self, at: u32, from: &[u8]);

    /// Events that are the core's: at least [`EVENTS`], the same numbers at all ranks.
    fn events(&self) -> Range<u32>;

    /// How often an event of this rank has been raised, modulo 2^32. What came before is visible. From the first call on, a sleeping wait
    /// is woken when it is raised.
    fn count(&self, event: u32) -> u32;

    /// Gives the NIC a command. `false`: there is no room now; poll, and try again.
    fn post(&self, command: &Command) -> bool;

    /// Commands that this rank has given its NIC so far, of all kinds.
    fn posted(&self) -> u64;

    /// Starts an operation on the words at an offset of a rank's segment, which is a multiple of the operand's size rounded up to a power
    /// of two. Returns its cookie; `None`: there is no room now; poll, and try again.
    fn atomic(&self, home: RankId, offset: u64, op: HomeOp, args: [u32; 4]) -> Option<u32>;

    /// Takes the reply to the operation with this cookie, if it is there.
    fn reply(&self, cookie: u32) -> Option<[u32; 3]>;
}
