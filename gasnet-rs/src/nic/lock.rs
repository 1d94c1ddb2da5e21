//! A lock after Mellor-Crummey and Scott: the home word is the last of a line of ranks; each hands over to the next.

use super::home::{Home, tell};
use super::{EMPTY, OBJECT, load, process, rank_of, swap};
use crate::{Error, GlobalPtr, Rank, RankId};

/// A lock. First come, first served; a waiting rank looks at its own memory only; taking and giving back need at most two
/// operations on other ranks each.
#[derive(Debug)]
pub struct McsLock<'r> {
    rank: &'r Rank,
    /// The last in line, at the home.
    last: Home<'r>,
    /// Who is behind this rank, and whether it is this rank's turn: in its own memory.
    next: GlobalPtr<u64>,
    turn: GlobalPtr<u64>,
}

impl<'r> McsLock<'r> {
    /// A free lock at home on a rank.
    ///
    /// # Collective
    /// # Errors
    /// No room in the segments.
    pub fn new(rank: &'r Rank, home: RankId) -> Result<McsLock<'r>, Error> {
        let at = rank.allocate(OBJECT, 64)?;
        let mine = GlobalPtr::new(rank.id(), at);
        let last = Home::new(rank, GlobalPtr::new(home, at + 64));
        let lock = McsLock { rank, last, next: mine, turn: mine.add(1) };
        rank.write_slice(mine, &[0u64; OBJECT as usize / 8]);
        rank.barrier();
        Ok(lock)
    }

    /// Takes the lock, waiting for its turn.
    pub fn acquire(&mut self) {
        swap(self.rank, self.next, EMPTY);
        let before = self.last.swap(process(self.rank.id()));
        if before == EMPTY {
            return;
        }
        tell(self.rank, rank_of(before), self.next, process(self.rank.id()));
        self.rank.wait_until("a lock", || load(self.rank, self.turn) != 0);
        swap(self.rank, self.turn, 0);
    }

    /// Takes the lock if it is free.
    pub fn try_acquire(&mut self) -> bool {
        if self.last.last() != EMPTY {
            // As in a loop: what others do here by messages has to get on.
            self.rank.poll();
            return false;
        }
        swap(self.rank, self.next, EMPTY);
        self.last.compare_swap(EMPTY, process(self.rank.id())) == EMPTY
    }

    /// Gives the lock back. Only the rank that has it may.
    pub fn release(&mut self) {
        let me = process(self.rank.id());
        if load(self.rank, self.next) == EMPTY {
            if self.last.compare_swap(me, EMPTY) == me {
                return;
            }
            // Somebody is between joining the line and telling us.
            self.rank.wait_until("the next holder of a lock", || load(self.rank, self.next) != EMPTY);
        }
        let next = rank_of(load(self.rank, self.next));
        tell(self.rank, next, self.turn, 1);
    }
}
