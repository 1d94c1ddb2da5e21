//! A lock after Mellor-Crummey and Scott: the home word is the last of a line of processes; each hands over to the next.

use super::home::{Home, tell};
use super::{Cells, EMPTY, OBJECT, load, swap};
use crate::{Error, GlobalPtr, Rank, RankId};

/// The words of a lock: the last in line at its home, and cells. What is done here is done by a process that has a cell to itself
/// until it has left the line.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'r> {
    rank: &'r Rank,
    last: Home<'r>,
    cells: Cells,
}

impl<'r> Line<'r> {
    pub(super) fn new(rank: &'r Rank, home: GlobalPtr<u64>, cells: Cells) -> Line<'r> {
        Line { rank, last: Home::new(rank, home), cells }
    }

    /// Who is behind a process.
    fn next(&self, process: u64) -> GlobalPtr<u64> {
        self.cells.of(process)
    }

    /// Whether it is its turn.
    fn turn(&self, process: u64) -> GlobalPtr<u64> {
        self.cells.of(process).add(1)
    }

    /// Joins the line; who is before, or nobody: then it has the lock.
    pub(super) fn join(&self, me: u64) -> u64 {
        swap(self.rank, self.next(me), EMPTY);
        self.last.swap(me)
    }

    /// Waits for its turn behind another.
    pub(super) fn follow(&self, me: u64, before: u64, what: &'static str) {
        tell(self.rank, self.next(before), me);
        self.rank.wait_until(what, || load(self.rank, self.turn(me)) != 0);
        swap(self.rank, self.turn(me), 0);
    }

    /// Takes the lock if it is free.
    pub(super) fn try_join(&self, me: u64) -> bool {
        if self.last.last() != EMPTY {
            // As in a loop: what others do here by messages has to get on.
            self.rank.poll();
            return false;
        }
        swap(self.rank, self.next(me), EMPTY);
        self.last.compare_swap(EMPTY, me) == EMPTY
    }

    /// Hands over to the next, or leaves the lock free.
    pub(super) fn leave(&self, me: u64) {
        if load(self.rank, self.next(me)) == EMPTY {
            if self.last.compare_swap(me, EMPTY) == me {
                return;
            }
            // Somebody is between joining the line and telling us.
            self.rank.wait_until("the next holder of a lock", || load(self.rank, self.next(me)) != EMPTY);
        }
        tell(self.rank, self.turn(load(self.rank, self.next(me))), 1);
    }
}

/// A lock. First come, first served; a waiting rank looks at its own memory only; taking and giving back need at most two
/// operations on other ranks each.
#[derive(Debug)]
pub struct McsLock<'r> {
    line: Line<'r>,
    me: u64,
}

impl<'r> McsLock<'r> {
    /// A free lock at home on a rank.
    ///
    /// # Collective
    /// # Errors
    /// No room in the segments.
    pub fn new(rank: &'r Rank, home: RankId) -> Result<McsLock<'r>, Error> {
        let at = rank.allocate(OBJECT, 64)?;
        rank.write_slice(GlobalPtr::new(rank.id(), at), &[0u64; OBJECT as usize / 8]);
        rank.barrier();
        let cells = Cells::single(at);
        let line = Line::new(rank, GlobalPtr::new(home, at + 64), cells);
        Ok(McsLock { line, me: cells.process(rank.id(), 0) })
    }

    /// Takes the lock, waiting for its turn.
    pub fn acquire(&mut self) {
        let before = self.line.join(self.me);
        if before != EMPTY {
            self.line.follow(self.me, before, "a lock");
        }
    }

    /// Takes the lock if it is free.
    pub fn try_acquire(&mut self) -> bool {
        self.line.try_join(self.me)
    }

    /// Gives the lock back. Only the rank that has it may.
    pub fn release(&mut self) {
        self.line.leave(self.me);
    }
}
