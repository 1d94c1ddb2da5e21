//! Locks, wait queues, monitors, semaphores and channels, made of a few atomics at a home NIC and writes with notifications.
//!
//! Every call is a *machine*: [`Machine::step`] takes the answer to what it [needed](Need) last and says what it needs next. So
//! the same text runs over NICs, in a blocking loop ([`run`]), and in an exhaustive search over all interleavings.
//!
//! An object has a few words at its *home*, which only atomics touch, and for every process (numbered from 1) a *cell*:
//! two words that others write to, and a notification. A process uses an object for one call at a time.
//!
//! All waiting is on the own cell: no process ever polls memory of another, and each call takes a bounded number of messages.

mod channel;
mod lock;
mod queue;

pub use channel::{Receiver, Sender};
pub use lock::{Acquire, Release};
pub use queue::{Insert, MonitorWait, Remove, SemSignal, SemWait, WaitTurn};

use crate::atomics::{Op, REPLY};

/// A process, from 1; 0 is [`EMPTY`](crate::atomics::EMPTY).
pub type Process = u32;

/// A word of a process's cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Word {
    /// The process behind this one.
    Next,
    /// How many were left behind when this one was woken.
    Count,
}

/// Which of a monitor's two objects a need is about. Locks, queues and semaphores are one object, `Main`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Part {
    /// The object itself; of a monitor, its lock.
    Main,
    /// A monitor's condition.
    Condition,
}

/// What a machine needs before its next step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Need {
    /// Do this at the home; the answer is its reply.
    Atomic(Part, Op, [u32; 4]),
    /// Store to a word of the own cell.
    Store(Part, Word, u32),
    /// Read a word of the own cell; the answer is its value.
    Load(Part, Word),
    /// Wait until a word of the own cell is not 0; the answer is its value. It will not be long.
    Spin(Part, Word),
    /// Write to a word of another process's cell.
    Write(Part, Process, Word, u32),
    /// Write, and notify when it is there.
    WriteNotify(Part, Process, Word, u32),
    /// Notify.
    Notify(Part, Process),
    /// Wait for a notification of the own cell, and take it.
    Wait(Part),
    /// Nothing: the call is done, with this result.
    Done(u32),
}

/// What a machine gets for what it needed; zeros where there is nothing to say.
pub type Answer = [u32; REPLY];

/// A call under way.
pub trait Machine {
    /// Goes on with the answer to the last need (anything, the first time).
    fn step(&mut self, answer: Answer) -> Need;
}

/// What machines run on, if calls may block.
pub trait Fabric {
    /// Answers a need, blocking if it has to. Never called with [`Need::Done`].
    fn meet(&mut self, need: Need) -> Answer;
}

/// Runs a call to its end.
pub fn run(mut machine: impl Machine, fabric: &mut (impl Fabric + ?Sized)) -> u32 {
    let mut answer = [0; REPLY];
    loop {
        match machine.step(answer) {
            Need::Done(result) => return result,
            need => answer = fabric.meet(need),
        }
    }
}
