//! The queue of commands to the paging thread, and how it is woken.
//!
//! Waking it costs more than most commands. So a caller with several commands rings once, after them
//! ([`Queue::flush`]). A command that gives something back does not ring at all, unless the thread sleeps and
//! needs it ([`Queue::rest`]). It is taken with the next command, and before faults are handled.

use gasnet_sys::mutex::lock;
use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::mpsc::SyncSender;
use std::sync::{Mutex, MutexGuard};

use gasnet_sys::fd::Bell;
use gasnet_wire::Advice;
use netvm_fw::nic::Interrupt;
use netvm_fw::wire::Head;

use super::error::HoldError;

/// The callback with the result of a hold.
pub type HoldDone = Box<dyn FnOnce(Result<(), HoldError>) + Send>;

/// How pages are held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Hold {
    /// They stay resident.
    Stay,
    /// The kernel has them locked too (`VmLck` counts them).
    Pin,
}

/// Advice of a program, by page.
#[derive(Debug)]
pub(super) struct Plan {
    /// Pages that are concerned at all.
    pub(super) pages: Range<u64>,
    /// Of these, pages that are concerned as a whole.
    pub(super) whole: Range<u64>,
    pub(super) advice: Advice,
    /// Told when contents have been given up.
    pub(super) done: SyncSender<()>,
}

pub(super) enum Command {
    Interrupt(Interrupt),
    Consumed(Head),
    Hold {
        pages: Range<u64>,
        kind: Hold,
        wait: bool,
        done: HoldDone,
    },
    Release {
        pages: Range<u64>,
        kind: Hold,
    },
    Advise(Plan),
    /// The backing store has finished something.
    Stored,
    Stop,
}

impl Command {
    /// Whether it only gives something back, so that nobody else waits for it.
    fn gives_back(&self) -> bool {
        matches!(self, Command::Release { .. } | Command::Interrupt(Interrupt::Settled(_)))
    }
}

/// Commands in order. No thread touches the segment while it holds the lock, so none waits for the paging
/// thread with it.
#[derive(Debug)]
pub(super) struct Queue {
    commands: Mutex<Commands>,
    /// Readable while there are commands.
    bell: Bell,
}

#[derive(Default)]
struct Commands {
    waiting: VecDeque<Command>,
    closed: bool,
    /// Some of them cannot wait.
    urgent: bool,
    /// The bell has been rung, or is about to be, since the commands were last taken.
    rung: bool,
    /// The thread sleeps, and needs what others give back.
    hungry: bool,
}

/// Commands that may wait without a ring.
const UNHURRIED_COMMANDS: usize = 256;

impl core::fmt::Debug for Commands {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Commands").field("waiting", &self.waiting.len()).finish_non_exhaustive()
    }
}

impl Queue {
    pub(super) fn new() -> io::Result<Queue> {
        Ok(Queue { commands: Mutex::default(), bell: Bell::new()? })
    }

    fn lock(&self) -> MutexGuard<'_, Commands> {
        lock(&self.commands)
    }

    /// For `poll`.
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }

    /// Adds a command, and rings. The command is returned if the queue is closed.
    pub(super) fn push(&self, command: Command) -> Result<(), Command> {
        self.push_later(command)?;
        self.flush();
        Ok(())
    }

    /// [`push`](Self::push) without a ring: [`flush`](Self::flush) must follow, unless the command gives
    /// something back.
    pub(super) fn push_later(&self, command: Command) -> Result<(), Command> {
        let mut commands = self.lock();
        if commands.closed {
            return Err(command);
        }
        let urgent = !command.gives_back();
        commands.waiting.push_back(command);
        commands.urgent |= urgent;
        let wanted = !urgent && (commands.hungry || commands.waiting.len() >= UNHURRIED_COMMANDS);
        let ring = wanted && !core::mem::replace(&mut commands.rung, true);
        drop(commands);
        if ring {
            self.ring();
        }
        Ok(())
    }

    /// Rings if a command was added that cannot wait.
    pub(super) fn flush(&self) {
        let mut commands = self.lock();
        let ring = commands.urgent && !core::mem::replace(&mut commands.rung, true);
        drop(commands);
        if ring {
            self.ring();
        }
    }

    /// The thread is about to sleep; `hungry`: it needs what others give back. Returns whether there are
    /// commands already.
    pub(super) fn rest(&self, hungry: bool) -> bool {
        let mut commands = self.lock();
        commands.hungry = hungry;
        hungry && !commands.waiting.is_empty()
    }

    fn ring(&self) {
        self.bell.ring();
    }

    /// Takes all commands. `readable`: whether the bell is.
    pub(super) fn take(&self, readable: bool, into: &mut VecDeque<Command>) {
        let mut commands = self.lock();
        into.append(&mut commands.waiting);
        commands.urgent = false;
        // Under the lock: later rings announce later commands. A late ring finds nothing, once.
        if core::mem::take(&mut commands.rung) || readable {
            self.bell.clear();
        }
    }

    /// Closes the queue and returns the remaining commands.
    pub(super) fn close(&self) -> VecDeque<Command> {
        let mut commands = self.lock();
        commands.closed = true;
        std::mem::take(&mut commands.waiting)
    }
}
