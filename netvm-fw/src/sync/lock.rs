//! A lock after Mellor-Crummey and Scott: the home word is the last of a line of processes; each hands over to the next.
//!
//! Mutual exclusion, first come first served, and at most two messages for each call.

use super::{Answer, Machine, Need, Part, Process, Word};
use crate::atomics::{EMPTY, Op};

/// Takes the lock.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Acquire {
    me: Process,
    at: u8,
}

impl Acquire {
    /// For this process.
    pub fn new(me: Process) -> Acquire {
        Acquire { me, at: 0 }
    }
}

impl Machine for Acquire {
    fn step(&mut self, answer: Answer) -> Need {
        self.at += 1;
        match (self.at, answer[0]) {
            (1, _) => Need::Store(Part::Main, Word::Next, EMPTY),
            (2, _) => Need::Atomic(Part::Main, Op::Swap, [self.me, 0, 0, 0]),
            (3, EMPTY) => Need::Done(0),
            (3, before) => Need::Write(Part::Main, before, Word::Next, self.me),
            (4, _) => Need::Wait(Part::Main),
            _ => Need::Done(0),
        }
    }
}

/// Gives the lock back.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Release {
    me: Process,
    at: u8,
}

impl Release {
    /// For the process that has it.
    pub fn new(me: Process) -> Release {
        Release { me, at: 0 }
    }
}

impl Machine for Release {
    fn step(&mut self, answer: Answer) -> Need {
        self.at += 1;
        match (self.at, answer[0]) {
            (1, _) => Need::Load(Part::Main, Word::Next),
            (2, EMPTY) => Need::Atomic(Part::Main, Op::CompareSwap, [self.me, EMPTY, 0, 0]),
            (3, last) if last == self.me => {
                self.at = 9;
                Need::Done(0)
            }
            // Somebody is between its swap and its link.
            (3, _) => Need::Spin(Part::Main, Word::Next),
            (2 | 4, next) => {
                self.at = 9;
                Need::Notify(Part::Main, next)
            }
            _ => Need::Done(0),
        }
    }
}
