//! What other threads ask of the paging thread, and how they wake it.

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
}

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

    /// Adds a command; it comes back if nobody will take it any more.
    pub(super) fn push(&self, command: Command) -> Result<(), Command> {
        let mut commands = self.lock();
        if commands.closed {
            return Err(command);
        }
        commands.waiting.push_back(command);
        let first = commands.waiting.len() == 1;
        drop(commands);
        if first {
            self.ring();
        }
        Ok(())
    }

    #[expect(unsafe_code, reason = "writes a number to a descriptor")]
    fn ring(&self) {
        let one = 1u64;
        // SAFETY: 8 bytes of a number. It cannot block; a counter that is full rings all the same.
        unsafe { libc::write(self.raw(), (&raw const one).cast(), 8) };
    }

    /// All commands so far.
    #[expect(unsafe_code, reason = "reads a number from a descriptor")]
    pub(super) fn take(&self, into: &mut VecDeque<Command>) {
        let mut count = 0u64;
        // SAFETY: 8 bytes of a number. First the bell, then the commands: what comes between rings for nothing.
        unsafe { libc::read(self.raw(), (&raw mut count).cast(), 8) };
        into.append(&mut self.lock().waiting);
    }

    /// Takes no more; what waits still comes out.
    pub(super) fn close(&self) -> VecDeque<Command> {
        let mut commands = self.lock();
        commands.closed = true;
        std::mem::take(&mut commands.waiting)
    }
}
