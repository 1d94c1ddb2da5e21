//! Locks and semaphores whose words the caller has placed, for runtimes that make theirs one at a time and
//! not collectively, and whose ranks may be in many lines at once (UPC's). Only where NICs do the operations:
//! processes are too long for the packed word.
//!
//! A call is given the number of one of the own [cells](Cells), which nothing else uses until the lock is
//! released, or the wait over.
//!
//! **Many at a time.** A NIC's semaphore keeps that nobody waits while there is a value. Giving many adds to
//! the value in one step and may break that for a moment; so who gave looks for waiters afterwards, and as
//! long as there are any it takes one from the value and gives it to the line. Whoever came to wait before
//! the step is seen by this look; whoever came after it found the value.

use super::home::{Home, VALUE_AT};
use super::line::{Signal, VALUE};
use super::lock::McsLine;
use super::port::HomeOp;
use super::queue::Waiters;
use super::{Cells, EMPTY};
use crate::{Error, GlobalPtr, Rank};

/// A lock: a word of 64 bits at its home, zero when it is free.
#[derive(Debug, Clone, Copy)]
pub struct PlacedLock<'r> {
    rank: &'r Rank,
    line: McsLine<'r>,
    cells: Cells,
}

impl<'r> PlacedLock<'r> {
    /// The lock at this place. `None`: NICs do nothing by themselves here.
    pub fn new(rank: &'r Rank, home: GlobalPtr<u64>, cells: Cells) -> Option<PlacedLock<'r>> {
        rank.wire.nic_port()?;
        Some(PlacedLock { rank, line: McsLine::new(rank, home, cells), cells })
    }

    fn me(&self, cell: u32) -> u64 {
        self.cells.process(self.rank.id(), cell)
    }

    /// Joins the line. `None`: the lock is taken; else who is before, for [`follow`](Self::follow).
    pub fn join(&self, cell: u32) -> Option<u64> {
        let before = self.line.join(self.me(cell));
        (before != EMPTY).then_some(before)
    }

    /// Waits for the lock, after [`join`](Self::join). `what` names the wait.
    pub fn follow(&self, cell: u32, before: u64, what: &'static str) {
        self.line.follow(self.me(cell), before, what);
    }

    /// Takes the lock if it is free.
    pub fn try_acquire(&self, cell: u32) -> bool {
        self.line.try_join(self.me(cell))
    }

    /// Gives the lock back, which was taken with this cell.
    pub fn release(&self, cell: u32) {
        self.line.leave(self.me(cell));
    }
}

/// A semaphore: 20 bytes at its home, aligned to 32, zero at first.
#[derive(Debug, Clone, Copy)]
pub struct PlacedSemaphore<'r> {
    waiters: Waiters<'r>,
    cells: Cells,
}

impl<'r> PlacedSemaphore<'r> {
    /// Bytes of the words at home.
    pub const BYTES: u64 = 20;
    /// Places are multiples of this.
    pub const ALIGN: u64 = 32;

    /// The semaphore at this place. `None`: NICs do nothing by themselves here.
    pub fn new(rank: &'r Rank, home: GlobalPtr<u64>, cells: Cells) -> Option<PlacedSemaphore<'r>> {
        rank.wire.nic_port()?;
        Some(PlacedSemaphore { waiters: Waiters::new(rank, home, cells), cells })
    }

    fn home(&self) -> &Home<'r> {
        &self.waiters.home
    }

    /// Takes one, waiting for it: first come, first served. `what` names the wait.
    pub fn wait(&self, cell: u32, what: &'static str) {
        self.waiters.take(self.cells.process(self.waiters.rank.id(), cell), what);
    }

    /// Takes so many if there are so many, without the line.
    pub fn try_take(&self, n: u32) -> bool {
        let taken = self.take(n);
        if !taken {
            self.waiters.rank.poll();
        }
        taken
    }

    /// Gives so many: each to who has waited for longest, or to the value.
    ///
    /// # Errors
    /// The value would go beyond 65535; nothing has happened.
    pub fn give(&self, n: u32) -> Result<(), Error> {
        if n == 0 {
            return Ok(());
        }
        let full = || Error::op(format!("the value of a semaphore is at most {VALUE}"));
        if n == 1 {
            self.waiters.follow(self.home().give().ok_or_else(full)?);
            return Ok(());
        }
        let mut value = self.home().word(VALUE_AT);
        loop {
            let more = value.checked_add(n).filter(|more| u64::from(*more) <= VALUE).ok_or_else(full)?;
            let seen = self.swap(value, more);
            if seen == value {
                break;
            }
            value = seen;
        }
        while self.home().waiting() > 0 && self.take(1) {
            // To the value again if all that wait have been promised theirs.
            if !self.waiters.follow(self.home().put_back()) {
                break;
            }
        }
        Ok(())
    }

    /// Sets the value to 1, or wakes who has waited for longest: a semaphore of two values.
    pub fn set(&self) {
        loop {
            let was_set = self.home().ask(VALUE_AT, HomeOp::TestAndSet, [0; 2]) == 0;
            if was_set || self.home().waiting() == 0 || !self.take(1) {
                return;
            }
            // To nobody: all have been promised theirs, or have gone.
            match self.home().dequeue() {
                Signal::Nobody => {}
                signal => {
                    self.waiters.follow(signal);
                    return;
                }
            }
        }
    }

    /// Its value now.
    pub fn value(&self) -> u32 {
        self.home().value() as u32
    }

    fn swap(&self, old: u32, new: u32) -> u32 {
        self.home().ask(VALUE_AT, HomeOp::CompareSwap, [old, new])
    }

    fn take(&self, n: u32) -> bool {
        let mut value = self.home().word(VALUE_AT);
        while value >= n {
            let seen = self.swap(value, value - n);
            if seen == value {
                return true;
            }
            value = seen;
        }
        false
    }
}
