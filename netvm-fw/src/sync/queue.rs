//! Wait queues, monitors (Mesa's rules) and counting semaphores.
//!
//! Home words: head, tail, count of waiters, promised wake-ups, and a semaphore's value (see
//! [`gasnet_ops::home`]). A process that is woken is told how many processes it left behind. If there are
//! some, it makes the next one the head, and wakes it at once if a wake-up was promised meanwhile. A signal
//! to an empty queue is lost.
//!
//! The published `Ssignal` writes to the process in the reply even when there is none (because the wake-up
//! was promised instead); here it checks first.

use super::{Acquire, Answer, Machine, Need, Process, Release, SyncObject, Word};
use gasnet_ops::home::{HomeOp, NO_PROCESS};

/// Joins the queue (and waits later, with [`WaitTurn`]).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Insert {
    me: Process,
    part: SyncObject,
    at: u8,
}

impl Insert {
    /// For this process.
    pub fn new(me: Process) -> Insert {
        Insert { me, part: SyncObject::Main, at: 0 }
    }
}

impl Machine for Insert {
    fn step(&mut self, answer: Answer) -> Need {
        self.at += 1;
        match (self.at, answer[0]) {
            (1, _) => Need::Store(self.part, Word::Next, NO_PROCESS),
            (2, _) => Need::Store(self.part, Word::Count, 0),
            (3, _) => Need::Atomic(self.part, HomeOp::Enqueue, [self.me, 0, 0, 0]),
            (4, before) if before != NO_PROCESS => Need::Write(self.part, before, Word::Next, self.me),
            _ => Need::Done(0),
        }
    }
}

/// Waits until woken, after [`Insert`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct WaitTurn {
    part: SyncObject,
    next: Process,
    at: u8,
}

impl WaitTurn {
    /// For a process that has joined.
    pub fn new() -> WaitTurn {
        WaitTurn { part: SyncObject::Main, next: NO_PROCESS, at: 0 }
    }
}

impl Default for WaitTurn {
    fn default() -> Self {
        WaitTurn::new()
    }
}

impl Machine for WaitTurn {
    fn step(&mut self, answer: Answer) -> Need {
        self.at += 1;
        match (self.at, answer[0]) {
            (1, _) => Need::Wait(self.part),
            (2, _) => Need::Load(self.part, Word::Count),
            (3, 0) => {
                self.at = 9;
                Need::Done(0)
            }
            // The link to the next process may be under way.
            (3, _) => Need::Spin(self.part, Word::Next),
            (4, next) => {
                self.next = next;
                Need::Atomic(self.part, HomeOp::NewHead, [next, 0, 0, 0])
            }
            (5, 1) => Need::WriteNotify(self.part, self.next, Word::Count, answer[1]),
            _ => Need::Done(0),
        }
    }
}

/// Wakes the first process of the queue. The result is 1 if there was a process to wake (or to promise a
/// wake-up to), else 0.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Remove {
    part: SyncObject,
    woke: u32,
    at: u8,
}

impl Remove {
    /// For any process.
    pub fn new() -> Remove {
        Remove { part: SyncObject::Main, woke: 0, at: 0 }
    }

    /// For a monitor's condition.
    pub fn condition() -> Remove {
        Remove { part: SyncObject::Condition, ..Remove::new() }
    }
}

impl Default for Remove {
    fn default() -> Self {
        Remove::new()
    }
}

impl Machine for Remove {
    fn step(&mut self, answer: Answer) -> Need {
        self.at += 1;
        match (self.at, answer) {
            (1, _) => Need::Atomic(self.part, HomeOp::Dequeue, [0; 4]),
            (2, [head, left, _]) => {
                self.woke = u32::from(left != gasnet_ops::home::QUEUE_WAS_EMPTY);
                if head == NO_PROCESS {
                    return Need::Done(self.woke);
                }
                Need::WriteNotify(self.part, head, Word::Count, left)
            }
            _ => Need::Done(self.woke),
        }
    }
}

/// Takes one from a semaphore, waiting for it if necessary. The result is the value before, or 0 if it had to
/// wait.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SemWait {
    me: Process,
    turn: WaitTurn,
    at: u8,
}

impl SemWait {
    /// For this process.
    pub fn new(me: Process) -> SemWait {
        SemWait { me, turn: WaitTurn::new(), at: 0 }
    }
}

impl Machine for SemWait {
    fn step(&mut self, answer: Answer) -> Need {
        if self.at < 5 {
            self.at += 1;
        }
        match (self.at, answer) {
            (1, _) => Need::Store(SyncObject::Main, Word::Next, NO_PROCESS),
            (2, _) => Need::Store(SyncObject::Main, Word::Count, 0),
            (3, _) => Need::Atomic(SyncObject::Main, HomeOp::SemP, [self.me, 0, 0, 0]),
            (4, [_, value, _]) if value > 0 => Need::Done(value),
            (4, [before, ..]) if before != NO_PROCESS => {
                Need::Write(SyncObject::Main, before, Word::Next, self.me)
            }
            _ => self.turn.step(answer),
        }
    }
}

/// Adds one to a semaphore. The result is the value after it if nobody waited, else 0.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SemSignal {
    value: u32,
    at: u8,
}

impl SemSignal {
    /// For any process.
    pub fn new() -> SemSignal {
        SemSignal { value: 0, at: 0 }
    }
}

impl Default for SemSignal {
    fn default() -> Self {
        SemSignal::new()
    }
}

impl Machine for SemSignal {
    fn step(&mut self, answer: Answer) -> Need {
        self.at += 1;
        match (self.at, answer) {
            (1, _) => Need::Atomic(SyncObject::Main, HomeOp::SemV, [0; 4]),
            (2, [head, left, value]) => {
                self.value = value;
                if head == NO_PROCESS {
                    return Need::Done(value);
                }
                Need::WriteNotify(SyncObject::Main, head, Word::Count, left)
            }
            _ => Need::Done(self.value),
        }
    }
}

/// Leaves a monitor, waits for a condition, enters again. The caller must test the condition again: other
/// processes may have entered in between.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct MonitorWait {
    insert: Insert,
    release: Release,
    turn: WaitTurn,
    acquire: Acquire,
    stage: u8,
}

impl MonitorWait {
    /// For the process that is in the monitor.
    pub fn new(me: Process) -> MonitorWait {
        MonitorWait {
            insert: Insert { part: SyncObject::Condition, ..Insert::new(me) },
            release: Release::new(me),
            turn: WaitTurn { part: SyncObject::Condition, ..WaitTurn::new() },
            acquire: Acquire::new(me),
            stage: 0,
        }
    }
}

impl Machine for MonitorWait {
    fn step(&mut self, mut answer: Answer) -> Need {
        // It joins the queue before it leaves the monitor, so no signal falls between.
        loop {
            let need = match self.stage {
                0 => self.insert.step(answer),
                1 => self.release.step(answer),
                2 => self.turn.step(answer),
                _ => self.acquire.step(answer),
            };
            if !matches!(need, Need::Done(_)) || self.stage == 3 {
                return need;
            }
            self.stage += 1;
            answer = [0; gasnet_ops::home::REPLY_WORDS];
        }
    }
}
