//! A lock after Mellor-Crummey and Scott: the home word is the last process of a queue; each process hands
//! the lock to the next.
//!
//! It gives mutual exclusion, first come first served, and takes at most two messages for each call.

use super::{Answer, Machine, Need, Process, SyncObject, Word};
use gasnet_ops::home::{HomeOp, NO_PROCESS};

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
            (1, _) => Need::Store(SyncObject::Main, Word::Next, NO_PROCESS),
            (2, _) => Need::Atomic(SyncObject::Main, HomeOp::Swap, [self.me, 0, 0, 0]),
            (3, NO_PROCESS) => Need::Done(0),
            (3, before) => Need::Write(SyncObject::Main, before, Word::Next, self.me),
            (4, _) => Need::Wait(SyncObject::Main),
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
    /// For the process that holds the lock.
    pub fn new(me: Process) -> Release {
        Release { me, at: 0 }
    }
}

impl Machine for Release {
    fn step(&mut self, answer: Answer) -> Need {
        self.at += 1;
        match (self.at, answer[0]) {
            (1, _) => Need::Load(SyncObject::Main, Word::Next),
            (2, NO_PROCESS) => {
                Need::Atomic(SyncObject::Main, HomeOp::CompareSwap, [self.me, NO_PROCESS, 0, 0])
            }
            (3, last) if last == self.me => {
                self.at = 9;
                Need::Done(0)
            }
            // Another process is between its swap and its link.
            (3, _) => Need::Spin(SyncObject::Main, Word::Next),
            (2 | 4, next) => {
                self.at = 9;
                Need::Notify(SyncObject::Main, next)
            }
            _ => Need::Done(0),
        }
    }
}
