//! What other threads ask of the paging thread, and how they wake it.
//!
//! To wake it costs more than most of what is asked. So who asks for several things rings once, behind them ([`Queue::flush`]); and what
//! gives something back does not ring at all, unless the thread has gone to sleep wanting it ([`Queue::rest`]): it is taken with the next
//! thing that is asked, and before anything is done about faults.

use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::{Mutex, MutexGuard, PoisonError};

use netvm_fw::nic::Interrupt;
use netvm_fw::wire::Head;

use super::error::HoldError;

/// What becomes of a hold.
pub type HoldDone = Box<dyn FnOnce(Result<(), HoldError>) + Send>;

/// How pages are held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Hold {
    /// They stay resident.
    Stay,
    /// The kernel has them locked too (`VmLck` counts them).
    Pin,
}

pub(super) enum Command {
    Interrupt(Interrupt),
    Consumed(Head),
    Hold { pages: Range<u64>, kind: Hold, wait: bool, done: HoldDone },
    Release { pages: Range<u64>, kind: Hold },
    Stop,
}

impl Command {
    /// Whether nobody waits for it, except who lacks what it gives back.
    fn gives_back(&self) -> bool {
        matches!(self, Command::Release { .. } | Command::Interrupt(Interrupt::Settled(_)))
    }
}

/// Commands in order. Nobody touches the segment while it is locked, so nobody waits for the paging thread with the lock.
#[derive(Debug)]
pub(super) struct Queue {
    commands: Mutex<Commands>,
    /// An `eventfd` that is readable while there are commands.
    bell: OwnedFd,
}

#[derive(Default)]
struct Commands {
    waiting: VecDeque<Command>,
    closed: bool,
    /// Among them are some that cannot wait.
    urgent: bool,
    /// The bell has been rung, or is about to be, since they were last taken.
    rung: bool,
    /// The thread sleeps, and wants what others give back.
    hungry: bool,
}

/// Commands that may wait without a ring.
const MANY: usize = 256;

impl core::fmt::Debug for Commands {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Commands").field("waiting", &self.waiting.len()).finish_non_exhaustive()
    }
}

impl Queue {
    #[expect(unsafe_code, reason = "a system call that makes a descriptor")]
    pub(super) fn new() -> io::Result<Queue> {
        // SAFETY: a system call without pointers; the descriptor is owned by nobody else.
        let bell = unsafe {
            match libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) {
                -1 => return Err(io::Error::last_os_error()),
                fd => OwnedFd::from_raw_fd(fd),
            }
        };
        Ok(Queue { commands: Mutex::default(), bell })
    }

    fn lock(&self) -> MutexGuard<'_, Commands> {
        self.commands.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// For `poll`.
    pub(super) fn raw(&self) -> RawFd {
        self.bell.as_raw_fd()
    }

    /// Adds a command, and rings; it comes back if nobody will take it any more.
    pub(super) fn push(&self, command: Command) -> Result<(), Command> {
        self.push_later(command)?;
        self.flush();
        Ok(())
    }

    /// The same without a ring: [`flush`](Self::flush) must follow. What gives something back needs none.
    pub(super) fn push_later(&self, command: Command) -> Result<(), Command> {
        let mut commands = self.lock();
        if commands.closed {
            return Err(command);
        }
        let urgent = !command.gives_back();
        commands.waiting.push_back(command);
        commands.urgent |= urgent;
        let wanted = !urgent && (commands.hungry || commands.waiting.len() >= MANY);
        let ring = wanted && !core::mem::replace(&mut commands.rung, true);
        drop(commands);
        if ring {
            self.ring();
        }
        Ok(())
    }

    /// Rings, if something was added that cannot wait.
    pub(super) fn flush(&self) {
        let mut commands = self.lock();
        let ring = commands.urgent && !core::mem::replace(&mut commands.rung, true);
        drop(commands);
        if ring {
            self.ring();
        }
    }

    /// The thread is about to sleep; `hungry`: it wants what others give back. Whether there is something already.
    pub(super) fn rest(&self, hungry: bool) -> bool {
        let mut commands = self.lock();
        commands.hungry = hungry;
        hungry && !commands.waiting.is_empty()
    }

    #[expect(unsafe_code, reason = "writes a number to a descriptor")]
    fn ring(&self) {
        let one = 1u64;
        // SAFETY: 8 bytes of a number. It cannot block; a counter that is full rings all the same.
        unsafe { libc::write(self.raw(), (&raw const one).cast(), 8) };
    }

    /// All commands so far. `readable`: so is the bell.
    #[expect(unsafe_code, reason = "reads a number from a descriptor")]
    pub(super) fn take(&self, readable: bool, into: &mut VecDeque<Command>) {
        let mut commands = self.lock();
        into.append(&mut commands.waiting);
        commands.urgent = false;
        // Under the lock: who rings from now on rings for what comes from now on. A ring that is late finds nothing, once.
        if core::mem::take(&mut commands.rung) || readable {
            let mut count = 0u64;
            // SAFETY: 8 bytes of a number.
            unsafe { libc::read(self.raw(), (&raw mut count).cast(), 8) };
        }
    }

    /// Takes no more; what waits still comes out.
    pub(super) fn close(&self) -> VecDeque<Command> {
        let mut commands = self.lock();
        commands.closed = true;
        std::mem::take(&mut commands.waiting)
    }
}
