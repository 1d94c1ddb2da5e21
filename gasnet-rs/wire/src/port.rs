//! The seam to a NIC that works by itself: atomics at their home, event counts, and commands that wait for
//! them.
//!
//! A conduit whose NIC has a processor of its own (netvm) says so by
//! [`Conduit::nic`](crate::conduit::Conduit::nic). Everything here is about three things that each rank's NIC
//! has beside its segment:
//!
//! - a *board*: some memory that the NICs of all ranks reach, at the same offsets; zero at first;
//! - *events*: counts that commands raise, those of peers among them, after their bytes are in place;
//! - *commands* that may carry a [`Trigger`]: the NIC keeps them, and carries them out when an event of its
//!   own has been raised so often. One that is armed late is carried out at once; each exactly once.
//!
//! The core's collectives (`gasnet::coll`, `GASNET_COLL=nic`) are made of these.
//!
//! A NIC reaches more than boards, and raises more events than the core's: what conduits keep for themselves
//! is next to them. So whatever a program asks for is [checked](Limits) first; `Rank::nic` ends the
//! job with a message about what is wrong.

use crate::RankId;
use core::ops::Range;
use gasnet_ops::Operation;

pub use gasnet_ops::home::HomeOp;

/// Bytes of board that the core needs.
pub const BOARD: u32 = 2560 << 10;
/// Events that the core needs.
pub const EVENTS: u32 = 120;

/// When a command is carried out: as soon as the event has been raised so often, in total since the job
/// began, modulo 2^32.
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

/// Kinds of a NIC's work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandKind {
    /// Raise an event of its own.
    Raise(u32),
    /// Copy.
    Write(Move),
    /// Fold into the words that are there, which are the first operands: add, multiply, min, max, and, or,
    /// xor. No two operations on the same words at the same time.
    Combine(Move, Operation),
}

/// A command for the own NIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Command {
    /// At once, or when. The source is read when it is carried out.
    pub when: Option<Trigger>,
    /// The work to do.
    pub what: CommandKind,
}

/// The bounds that a command is checked against.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Ranks of the job.
    pub ranks: u32,
    /// Bytes of a board.
    pub board: u32,
    /// The core's events.
    pub events: Range<u32>,
}

/// A transfer crosses no multiple of this number of bytes of a board.
const BOARD_PIECE_BYTES: u64 = 4096;

impl Limits {
    /// Those of a NIC.
    pub fn of(port: &dyn NicPort, ranks: u32) -> Limits {
        Limits { ranks, board: port.board(), events: port.events() }
    }

    /// Whether so many bytes are on a board; else what is wrong.
    ///
    /// # Errors
    /// They are not.
    pub fn bytes(&self, at: u32, len: usize) -> Result<(), String> {
        match u64::from(at).checked_add(len as u64) {
            Some(end) if end <= self.board.into() => Ok(()),
            _ => Err(format!("{len} bytes at {at:#x} of a board of {:#x} bytes", self.board)),
        }
    }

    /// Whether an event is one of the core's; else what is wrong.
    ///
    /// # Errors
    /// It is not.
    pub fn event(&self, event: u32) -> Result<(), String> {
        let Range { start, end } = self.events;
        match self.events.contains(&event) {
            true => Ok(()),
            false => Err(format!("event {event}: there are {start} to {}", end - 1)),
        }
    }

    /// Whether there is such a rank; else what is wrong.
    ///
    /// # Errors
    /// There is not.
    pub fn rank(&self, rank: RankId) -> Result<(), String> {
        let n = self.ranks;
        if rank.0 < n { Ok(()) } else { Err(format!("rank {rank}: the job has {n} ranks")) }
    }

    fn transfer(&self, m: &Move, word: u32) -> Result<(), String> {
        self.rank(m.to)?;
        self.event(m.raise)?;
        for at in [m.from, m.at] {
            self.bytes(at, m.len as usize)?;
            if m.len == 0 || u64::from(at) % BOARD_PIECE_BYTES + u64::from(m.len) > BOARD_PIECE_BYTES {
                return Err(format!(
                    "{} bytes at {at:#x} of a board: a transfer has 1 to {BOARD_PIECE_BYTES} bytes, and crosses no multiple of that",
                    m.len
                ));
            }
            if !at.is_multiple_of(word) || !m.len.is_multiple_of(word) {
                return Err(format!("{} bytes at {at:#x} of a board are no words of {word} bytes", m.len));
            }
        }
        Ok(())
    }

    /// Whether a NIC may carry a command out; else what is wrong.
    ///
    /// # Errors
    /// It may not.
    pub fn command(&self, command: &Command) -> Result<(), String> {
        if let Some(trigger) = command.when {
            self.event(trigger.event)?;
        }
        match &command.what {
            CommandKind::Raise(event) => self.event(*event),
            CommandKind::Write(m) => self.transfer(m, 1),
            CommandKind::Combine(m, op) => {
                if !op.combines() {
                    return Err(format!("NICs do not combine with {:?} on {:?}", op.function, op.word));
                }
                self.transfer(m, op.width() as u32)
            }
        }
    }
}

/// For conduits: what comes to them was checked, or is the core's own and right. Anything else would reach
/// what they keep for themselves.
///
/// # Panics
/// Something was wrong.
#[track_caller]
pub fn inside(checked: Result<(), String>) {
    if let Err(why) = checked {
        panic!("work for a NIC: {why}");
    }
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

    /// How often an event of this rank has been raised, modulo 2^32. Writes before the last raise are
    /// visible. From the first call on, a sleeping wait is woken when the event is raised.
    fn count(&self, event: u32) -> u32;

    /// Gives the NIC a command. `false`: there is no room now; poll, and try again.
    fn post(&self, command: &Command) -> bool;

    /// Commands that this rank has given its NIC so far, of all kinds.
    fn posted(&self) -> u64;

    /// Starts an operation on the words at an offset of a rank's segment, which is a multiple of the
    /// operand's size rounded up to a power of two. Returns its cookie; `None`: there is no room now; poll,
    /// and try again.
    fn atomic(&self, home: RankId, offset: u64, op: HomeOp, args: [u32; 4]) -> Option<u32>;

    /// Takes the reply to the operation with this cookie, if it is there.
    fn reply(&self, cookie: u32) -> Option<[u32; 3]>;
}

#[cfg(test)]
mod tests {
    use super::*;
    use gasnet_ops::{Function, WordType};

    const LIMITS: Limits = Limits { ranks: 2, board: BOARD, events: 10..20 };

    fn moved(from: u32, at: u32, len: u32) -> Move {
        Move { from, to: RankId(1), at, len, raise: 10 }
    }

    fn says(what: CommandKind, part: &str) {
        let said = LIMITS.command(&Command { when: None, what }).expect_err("refused");
        assert!(said.contains(part), "{said}");
    }

    #[test]
    fn transfers_stay_on_boards() {
        for (from, at, len) in [(0, 0, 1), (4095, 0, 1), (0, BOARD - 1, 1), (BOARD - 4096, 4096, 4096)] {
            let what = CommandKind::Write(moved(from, at, len));
            assert_eq!(LIMITS.command(&Command { when: None, what }), Ok(()));
        }
        for at in [BOARD, BOARD - 3, u32::MAX, u32::MAX - 3] {
            says(CommandKind::Write(moved(0, at, 4)), "of a board of 0x280000 bytes");
            says(CommandKind::Write(moved(at, 0, 4)), "of a board of 0x280000 bytes");
        }
        for (from, at, len) in [(0, 0, 0), (0, 4095, 2), (4090, 0, 7), (0, 0, 4097)] {
            says(CommandKind::Write(moved(from, at, len)), "crosses no multiple");
        }
        says(CommandKind::Write(moved(0, 0, u32::MAX)), "of a board of");
        says(CommandKind::Write(Move { to: RankId(2), ..moved(0, 0, 8) }), "the job has 2 ranks");
        assert!(LIMITS.bytes(0, usize::MAX).is_err() && LIMITS.bytes(u32::MAX, usize::MAX).is_err());
        assert!(LIMITS.bytes(BOARD, 0).is_ok() && LIMITS.bytes(BOARD + 1, 0).is_err());
    }

    #[test]
    fn words_are_combined_as_a_whole() {
        let add = |word| Operation { function: Function::Add, word };
        let combine = |m, op| LIMITS.command(&Command { when: None, what: CommandKind::Combine(m, op) });
        assert_eq!(combine(moved(8, 16, 24), add(WordType::U64)), Ok(()));
        assert_eq!(combine(moved(4, 4, 4), add(WordType::F32)), Ok(()));
        for m in [moved(4, 8, 8), moved(8, 4, 8), moved(8, 8, 4)] {
            says(CommandKind::Combine(m, add(WordType::U64)), "no words of 8 bytes");
        }
        for function in [Function::Get, Function::Set, Function::CompareSwap, Function::Sub] {
            says(
                CommandKind::Combine(moved(0, 0, 8), Operation { function, word: WordType::U64 }),
                "do not combine with",
            );
        }
        let or = Operation { function: Function::Or, word: WordType::F64 };
        says(CommandKind::Combine(moved(0, 0, 8), or), "do not combine with Or on F64");
    }

    #[test]
    fn only_the_cores_events_are_raised() {
        for event in [0, 9, 20, u32::MAX] {
            says(CommandKind::Raise(event), "there are 10 to 19");
            says(CommandKind::Write(Move { raise: event, ..moved(0, 0, 8) }), "there are 10 to 19");
            let command = Command { when: Some(Trigger { event, count: 1 }), what: CommandKind::Raise(10) };
            assert!(LIMITS.command(&command).is_err() && LIMITS.event(event).is_err());
        }
    }
}
