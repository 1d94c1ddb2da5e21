//! `lock`, `unlock` and `critical`: fair queue locks.
//!
//! A lock is two words of the image that owns it. The first has the image that holds the lock in its upper
//! half and the last image that waits in its lower half; the second names the first image that waits. Images
//! are named by their rank plus one; 0 is nobody. Who waits has the image behind it in its own word `next`,
//! and reads its own word `granted`. An image waits for one lock at a time, so it needs no more than these
//! two words however many locks it holds.
//!
//! - *Lock*: set (0, 0) to (me, 0): the lock is mine. Else set (holder, last) to (holder, me), write my name
//!   to `next` of the last one, or to the second word if there was none, and wait for `granted`.
//! - *Unlock*: set (me, 0) to (0, 0). Else the first one that waits becomes the holder, and the one behind it
//!   the first.
//!
//! A lock that nobody waits for costs one atomic operation to take and one to give back. `critical` is a lock
//! on image 1 of the initial team, in whatever team it is executed: it excludes all images.

#![expect(unsafe_code, reason = "looks at tokens by their addresses")]

use crate::cells::Word;
use crate::coarray::{Coarray, CoarrayKind};
use crate::image::{Image, lock};
use crate::memory::CELL_BYTES;
use crate::peers::{GRANTED, Gone, NEXT};
use crate::stat::{Failure, code};
use gasnet::RankId;
use gasnet::atomics::Function;
use std::collections::HashSet;

/// Attempts to take a lock out of turn (see [`Image::barge`]).
const MAX_BARGING_ATTEMPTS: u32 = 200;

/// The first word of a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Line {
    holder: u32,
    last: u32,
}

impl Line {
    const FREE: Line = Line { holder: 0, last: 0 };

    fn word(self) -> u64 {
        u64::from(self.holder) << 32 | u64::from(self.last)
    }

    fn of(word: u64) -> Line {
        Line { holder: (word >> 32) as u32, last: word as u32 }
    }
}

impl Image {
    /// `lock`; with `attempt` only if the lock is free. Returns whether this image has it now.
    ///
    /// # One-sided
    ///
    /// # Errors
    /// This image holds it already, or the image that holds it has stopped; there is no such lock.
    pub fn lock(&self, token: &Coarray, index: usize, image: i32, attempt: bool) -> Result<bool, Failure> {
        let at = self.lock_at(token, index, image)?;
        self.sync_memory();
        let taken = self.take_lock(at, attempt)?;
        self.sync_memory();
        Ok(taken)
    }

    /// `unlock`.
    ///
    /// # One-sided
    ///
    /// # Errors
    /// Another image holds the lock, or none does; there is no such lock.
    pub fn unlock(&self, token: &Coarray, index: usize, image: i32) -> Result<(), Failure> {
        let at = self.lock_at(token, index, image)?;
        self.sync_memory();
        self.give_lock(at)
    }

    fn lock_at(&self, token: &Coarray, index: usize, image: i32) -> Result<Word, Failure> {
        if token.kind == CoarrayKind::Critical {
            return Ok(Word { rank: RankId(0), offset: token.offset });
        }
        self.cell(token, index, image)
    }

    /// This image's name.
    fn name(&self) -> u32 {
        self.rank.id().0 + 1
    }

    fn line(&self, at: Word, old: Line, new: Line) -> Line {
        Line::of(self.swap_word(at, old.word(), new.word()))
    }

    fn take_lock(&self, at: Word, attempt: bool) -> Result<bool, Failure> {
        let me = self.name();
        let mine = Line { holder: me, last: 0 };
        self.begin_look();
        let mut found = self.line(at, Line::FREE, mine);
        if found == Line::FREE {
            return Ok(true);
        }
        if found.holder == me {
            return Err(Failure::new(code::LOCKED, "the lock is already held by this image"));
        }
        if attempt {
            self.looked_at(at.rank, at.offset, found.word());
            return Ok(false);
        }
        if self.peers.crowded && self.barge(at, mine) {
            return Ok(true);
        }
        for word in [NEXT, GRANTED] {
            self.word(Word::own(self.rank.id(), word), Function::Set, 0, 0);
        }
        loop {
            self.check_holder(found)?;
            let next = if found == Line::FREE { mine } else { Line { holder: found.holder, last: me } };
            let before = self.line(at, found, next);
            if before == found {
                break;
            }
            found = before;
        }
        if found == Line::FREE {
            return Ok(true);
        }
        let behind = match found.last {
            0 => at.after(8),
            last => Word::own(RankId(last - 1), NEXT),
        };
        self.word(behind, Function::Set, me.into(), 0);
        let granted = Word::own(self.rank.id(), GRANTED);
        let mut holder = Ok(());
        self.rank.wait_until("a lock", || {
            if self.read_word(granted) != 0 {
                return true;
            }
            if self.some_gone() {
                holder = self.check_holder(Line::of(self.read_word(at)));
            }
            holder.is_err()
        });
        holder.map(|()| true)
    }

    /// A lock whose holder has stopped never becomes free. One that fails gives back what it holds before.
    fn check_holder(&self, line: Line) -> Result<(), Failure> {
        match line.holder.checked_sub(1) {
            Some(holder) if self.gone(RankId(holder)) == Some(Gone::Stopped) => Err(Failure::new(
                code::STOPPED_IMAGE,
                format!("image {} of the initial team, which holds the lock, has stopped", holder + 1),
            )),
            _ => Ok(()),
        }
    }

    /// If images outnumber processors, the next image in the queue seldom runs, so handing the lock to it
    /// costs a round of the scheduler. So images try for a while to take a lock that is free at the moment,
    /// before they join the queue. The bound keeps it fair: no image is passed over for longer than that.
    #[cold]
    fn barge(&self, at: Word, mine: Line) -> bool {
        for _ in 0..MAX_BARGING_ATTEMPTS {
            if self.read_word(at) == Line::FREE.word() && self.line(at, Line::FREE, mine) == Line::FREE {
                return true;
            }
            self.rank.poll();
            std::thread::yield_now();
        }
        false
    }

    fn give_lock(&self, at: Word) -> Result<(), Failure> {
        let me = self.name();
        let found = self.line(at, Line { holder: me, last: 0 }, Line::FREE);
        match found {
            Line { holder, last: 0 } if holder == me => Ok(()),
            Line { holder, .. } if holder == me => {
                self.hand_over(at, found);
                Ok(())
            }
            // The compiler's module has 0 for STAT_UNLOCKED.
            Line { holder: 0, .. } => Err(Failure::new(0, "unlock: the lock is not locked")),
            Line { holder, .. } => Err(Failure::new(
                code::LOCKED_OTHER_IMAGE,
                format!("unlock: the lock is held by image {holder} of the initial team"),
            )),
        }
    }

    /// Gives back all locks that this image holds; what it has written before is complete then.
    #[cold]
    pub fn give_all_locks(&self) {
        self.sync_memory();
        let mut level = Some(self.level());
        let mut in_teams = HashSet::new();
        let mut places: Vec<(usize, &[u32])> = Vec::new();
        while let Some(here) = level {
            let tokens = lock(&here.coarrays);
            places.extend(tokens.iter().map(|token| (*token, &here.ranks[..])));
            in_teams.extend(tokens.iter().copied());
            level = here.outer;
        }
        let statics: Vec<usize> = lock(&self.tables).coarrays.difference(&in_teams).copied().collect();
        places.extend(statics.into_iter().map(|token| (token, &self.initial().ranks[..])));
        for (token, ranks) in places {
            // SAFETY: tokens that are listed are there until they are deregistered, on this thread.
            let coarray = unsafe { &*std::ptr::with_exposed_provenance::<Coarray>(token) };
            let ranks = match coarray.kind {
                CoarrayKind::Locks => ranks,
                CoarrayKind::Critical => &[0],
                _ => continue,
            };
            for (rank, index) in ranks.iter().flat_map(|rank| (0..coarray.count).map(move |i| (*rank, i))) {
                let at = Word { rank: RankId(rank), offset: coarray.offset + index * CELL_BYTES };
                // Most are not held by this image.
                let _ = self.give_lock(at);
            }
        }
    }

    /// Gives the lock to the first image that waits.
    #[cold]
    fn hand_over(&self, at: Word, mut found: Line) {
        let me = self.name();
        let first_at = at.after(8);
        let first = self.await_name("unlock: the first image that waits", first_at);
        let heir = Line { holder: first, last: 0 };
        // Nobody is behind it: then the next one that comes will be the first, and finds no name there.
        let mut alone = false;
        if found.last == first {
            self.word(first_at, Function::Set, 0, 0);
            let before = self.line(at, found, heir);
            alone = before == found;
            found = before;
        }
        if !alone {
            let next = Word::own(RankId(first - 1), NEXT);
            let second = self.await_name("unlock: the second image that waits", next);
            self.word(first_at, Function::Set, second.into(), 0);
            loop {
                debug_assert_eq!(found.holder, me);
                let before = self.line(at, found, Line { last: found.last, ..heir });
                if before == found {
                    break;
                }
                found = before;
            }
        }
        self.word(Word::own(RankId(first - 1), GRANTED), Function::Set, 1, 0);
    }

    /// Waits for a name that an image writes after it has joined the queue.
    fn await_name(&self, what: &'static str, at: Word) -> u32 {
        let mut name = 0;
        self.rank.wait_until(what, || {
            name = self.read_word(at) as u32;
            name != 0
        });
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_locks_have_two_names() {
        for line in [Line::FREE, Line { holder: 1, last: 0 }, Line { holder: u32::MAX, last: u32::MAX - 1 }] {
            assert_eq!(Line::of(line.word()), line);
        }
        assert_eq!(Line::FREE.word(), 0, "memory of zeros is a free lock");
    }
}
