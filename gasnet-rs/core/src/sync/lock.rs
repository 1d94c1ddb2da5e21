//! A lock after Mellor-Crummey and Scott: the home word is the last of a line of processes; each hands over
//! to the next. Between ranks that all share memory the line is another one ([`NearLine`]).

use super::home::{Home, tell};
use super::near::NearLine;
use super::{Cells, EMPTY, HOME, OBJECT};
use crate::{Error, GlobalPtr, Rank, RankId};

/// The words of a lock: the last in line at its home, and cells. A process that calls these functions has a
/// cell to itself until it has left the line.
#[derive(Debug, Clone, Copy)]
pub(super) struct McsLine<'r> {
    rank: &'r Rank,
    last: Home<'r>,
    cells: Cells,
}

impl<'r> McsLine<'r> {
    pub(super) fn new(rank: &'r Rank, home: GlobalPtr<u64>, cells: Cells) -> McsLine<'r> {
        McsLine { rank, last: Home::new(rank, home), cells }
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
        self.rank.atomics().store(self.next(me), EMPTY);
        self.last.swap(me)
    }

    /// Waits for its turn behind another.
    pub(super) fn follow(&self, me: u64, before: u64, what: &'static str) {
        tell(self.rank, self.next(before), me);
        self.rank.wait_until(what, || self.rank.atomics().load(self.turn(me)) != 0);
        self.rank.atomics().store(self.turn(me), 0);
    }

    /// Takes the lock if it is free.
    pub(super) fn try_join(&self, me: u64) -> bool {
        if self.last.last() != EMPTY {
            // As in a loop: what others do here by messages has to get on.
            self.rank.poll();
            return false;
        }
        self.rank.atomics().store(self.next(me), EMPTY);
        self.last.compare_swap(EMPTY, me) == EMPTY
    }

    /// Hands over to the next, or leaves the lock free.
    pub(super) fn leave(&self, me: u64) {
        if self.rank.atomics().load(self.next(me)) == EMPTY {
            if self.last.compare_swap(me, EMPTY) == me {
                return;
            }
            // Somebody is between joining the line and telling us.
            self.rank
                .wait_until("the next holder of a lock", || self.rank.atomics().load(self.next(me)) != EMPTY);
        }
        tell(self.rank, self.turn(self.rank.atomics().load(self.next(me))), 1);
    }
}

/// A lock. First come, first served; taking and giving back need at most two operations on other ranks each,
/// and a waiting rank looks at its own memory only, or at memory that is in its cache until its turn comes.
#[derive(Debug)]
pub struct McsLock<'r> {
    kind: Kind<'r>,
    rank: &'r Rank,
    /// This rank has it.
    held: bool,
}

#[derive(Debug)]
enum Kind<'r> {
    Near(NearLine<'r>),
    Line(McsLine<'r>, u64),
}

impl<'r> McsLock<'r> {
    /// A free lock at home on a rank.
    ///
    /// # Collective
    /// # Errors
    /// No room in the segments.
    pub fn new(rank: &'r Rank, home: RankId) -> Result<McsLock<'r>, Error> {
        let at = rank.segments().allocate_agreed(OBJECT, HOME)?;
        rank.write_slice(GlobalPtr::new(rank.id(), at), &[0u64; OBJECT as usize / 8]);
        rank.barrier();
        let cells = Cells::single(at);
        let (home, me) = (GlobalPtr::new(home, at + HOME), cells.process(rank.id(), 0));
        let kind = match NearLine::new(rank, home, cells, me) {
            Some(near) => Kind::Near(near),
            None => Kind::Line(McsLine::new(rank, home, cells), me),
        };
        Ok(McsLock { kind, rank, held: false })
    }

    /// Takes the lock, waiting for its turn.
    ///
    /// # Panics
    /// Ends the job if this rank has the lock: it would wait for itself.
    pub fn acquire(&mut self) {
        if self.held {
            self.rank.fatal("McsLock::acquire: this rank has the lock already, and would wait for itself");
        }
        self.held = true;
        match &mut self.kind {
            Kind::Near(near) => near.acquire("a lock"),
            Kind::Line(line, me) => {
                let before = line.join(*me);
                if before != EMPTY {
                    line.follow(*me, before, "a lock");
                }
            }
        }
    }

    /// Takes the lock if it is free.
    pub fn try_acquire(&mut self) -> bool {
        // Not free, also for the rank that has it.
        self.held = self.held
            || match &mut self.kind {
                Kind::Near(near) => near.try_acquire(),
                Kind::Line(line, me) => line.try_join(*me),
            };
        self.held
    }

    /// Gives the lock back.
    ///
    /// # Panics
    /// Ends the job if this rank does not have the lock.
    pub fn release(&mut self) {
        if !std::mem::take(&mut self.held) {
            self.rank.fatal("McsLock::release: this rank does not have the lock");
        }
        match &mut self.kind {
            Kind::Near(near) => near.release(),
            Kind::Line(line, me) => line.leave(*me),
        }
    }
}
