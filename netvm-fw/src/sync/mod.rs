//! Locks, wait queues, monitors, semaphores and channels, made of a few atomics at a home NIC and writes with
//! notifications.
//!
//! Every call is a *machine*: [`Machine::step`] takes the answer to its last [need](Need) and returns the
//! next one. So the same code runs over NICs, in a blocking loop ([`run`]), and in an exhaustive search over
//! all interleavings.
//!
//! An object has a few words at its *home*, which only atomics touch. For every process (numbered from 1) it
//! has a *cell*: two words that others write to, and a notification. A process uses an object for one call at
//! a time.
//!
//! A process waits on its own cell only: no process ever polls the memory of another, and each call takes a
//! bounded number of messages.

mod channel;
mod lock;
mod queue;

pub use channel::{Receiver, Sender};
pub use lock::{Acquire, Release};
pub use queue::{Insert, MonitorWait, Remove, SemSignal, SemWait, WaitTurn};

use gasnet_ops::home::{HomeOp, REPLY_WORDS};

/// A process, from 1; 0 is [`NO_PROCESS`](gasnet_ops::home::NO_PROCESS).
pub type Process = u32;

/// A word of a process's cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Word {
    /// The next process in the queue.
    Next,
    /// How many processes were left behind when this one was woken.
    Count,
}

/// The object that a need is about. A monitor has two; locks, queues and semaphores have `Main` only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SyncObject {
    /// The object itself; for a monitor, its lock.
    Main,
    /// A monitor's condition.
    Condition,
}

/// The condition of a machine's next step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Need {
    /// Perform this atomic at the home; the answer is its reply.
    Atomic(SyncObject, HomeOp, [u32; 4]),
    /// Store to a word of the own cell.
    Store(SyncObject, Word, u32),
    /// Read a word of the own cell; the answer is its value.
    Load(SyncObject, Word),
    /// Wait until a word of the own cell is not 0; the answer is its value. The wait is short.
    Spin(SyncObject, Word),
    /// Write to a word of another process's cell.
    Write(SyncObject, Process, Word, u32),
    /// Write, and notify when the word is in place.
    WriteNotify(SyncObject, Process, Word, u32),
    /// Notify.
    Notify(SyncObject, Process),
    /// Wait for a notification of the own cell, and take it.
    Wait(SyncObject),
    /// Nothing: the call has ended with this result.
    Done(u32),
}

/// The answer to a need; zeros where there is nothing to say.
pub type Answer = [u32; REPLY_WORDS];

/// A call under way.
pub trait Machine {
    /// Continues with the answer to the last need (any value, the first time).
    fn step(&mut self, answer: Answer) -> Need;
}

/// The operations that machines need, for calls that may block.
pub trait Fabric {
    /// Performs a need and returns the answer; may block. Never called with [`Need::Done`].
    fn meet(&mut self, need: Need) -> Answer;
}

/// Runs a call to its end.
pub fn run(mut machine: impl Machine, fabric: &mut (impl Fabric + ?Sized)) -> u32 {
    let mut answer = [0; REPLY_WORDS];
    loop {
        match machine.step(answer) {
            Need::Done(result) => return result,
            need => answer = fabric.meet(need),
        }
    }
}
