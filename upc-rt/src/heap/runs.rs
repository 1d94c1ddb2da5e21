//! Free runs of pages, in lists by length (two-level segregated fit).
//!
//! Lengths below 16 pages have a list each; above, every power of two is divided into 16 lists. Two bitmaps
//! find the first list that is not empty, so taking and freeing cost the same for any contents. The first and
//! the last page of a free run are marked and carry its length, so a run that is freed finds free neighbours
//! to merge with.

use super::{Guard, kind};
use std::sync::atomic::{AtomicU32, Ordering::*};

const LISTS_PER_LEVEL: usize = 16;
/// Level 0 holds lengths 0..16, level `k` lengths `16 << (k-1) .. 16 << k`.
const LEVEL_COUNT: usize = 29;

#[repr(C)]
#[derive(Default)]
pub(super) struct Lists {
    /// Bit `k`: level `k` has a run.
    levels: AtomicU32,
    /// For each level, bit `s`: list `s` has a run.
    subs: [AtomicU32; LEVEL_COUNT],
    heads: [[AtomicU32; LISTS_PER_LEVEL]; LEVEL_COUNT],
}

/// The list of runs of `len` pages.
fn list_of(len: u32) -> (usize, usize) {
    if len < LISTS_PER_LEVEL as u32 {
        return (0, len as usize);
    }
    let top = len.ilog2();
    ((top - 3) as usize, (len >> (top - 4)) as usize & (LISTS_PER_LEVEL - 1))
}

/// The first list in which every run has at least `len` pages.
fn list_at_least(len: u32) -> Option<(usize, usize)> {
    if len < LISTS_PER_LEVEL as u32 {
        return Some((0, len as usize));
    }
    let round = (1u32 << (len.ilog2() - 4)) - 1;
    Some(list_of(len.checked_add(round)?))
}

impl Guard<'_> {
    fn lists(&self) -> &Lists {
        &self.0.root.free
    }

    /// Takes `len` pages out of the free runs; returns the first page.
    pub(super) fn take_run(&self, len: u32) -> Option<u32> {
        let start = self.find(len)?;
        let have = self.page(start).len.load(Relaxed);
        self.remove(start, have);
        let rest = have - len;
        let down = self.0.root.down.load(Relaxed) != 0;
        let (mine, other) = if down { (start + rest, start) } else { (start, start + len) };
        if rest > 0 {
            self.insert(other, rest);
        }
        Some(mine)
    }

    /// Makes the pages `start .. start + len` free, merged with free neighbours in this heap.
    pub(super) fn free_run(&self, mut start: u32, mut len: u32) {
        let (lo, hi) = self.range();
        let end = start + len;
        if end < hi && self.page(end).kind.load(Relaxed) == kind::FREE {
            let n = self.page(end).len.load(Relaxed);
            self.remove(end, n);
            len += n;
        }
        if start > lo && self.page(start - 1).kind.load(Relaxed) == kind::FREE {
            let n = self.page(start - 1).len.load(Relaxed);
            self.remove(start - n, n);
            start -= n;
            len += n;
        }
        self.insert(start, len);
    }

    fn find(&self, len: u32) -> Option<u32> {
        let l = self.lists();
        let (level, sub) = list_at_least(len)?;
        let here = l.subs.get(level)?.load(Relaxed) & (u32::MAX << sub);
        if here != 0 {
            return Some(l.heads[level][here.trailing_zeros() as usize].load(Relaxed));
        }
        let above = l.levels.load(Relaxed) & (u32::MAX << level << 1);
        if above != 0 {
            let level = above.trailing_zeros() as usize;
            let sub = l.subs[level].load(Relaxed).trailing_zeros() as usize;
            return Some(l.heads[level][sub].load(Relaxed));
        }
        // The list of `len` itself may also have a run that is long enough.
        let (level, sub) = list_of(len);
        let mut at = l.heads[level][sub].load(Relaxed);
        while at != 0 && self.page(at).len.load(Relaxed) < len {
            at = self.page(at).next.load(Relaxed);
        }
        (at != 0).then_some(at)
    }

    fn insert(&self, start: u32, len: u32) {
        let (level, sub) = list_of(len);
        for end in [start, start + len - 1] {
            self.page(end).kind.store(kind::FREE, Relaxed);
            self.page(end).len.store(len, Relaxed);
        }
        let l = self.lists();
        self.link(&l.heads[level][sub], start);
        l.subs[level].store(l.subs[level].load(Relaxed) | 1 << sub, Relaxed);
        l.levels.store(l.levels.load(Relaxed) | 1 << level, Relaxed);
        self.add_free(len as i32);
    }

    fn remove(&self, start: u32, len: u32) {
        let (level, sub) = list_of(len);
        for end in [start, start + len - 1] {
            self.page(end).kind.store(kind::NONE, Relaxed);
        }
        let l = self.lists();
        self.unlink(&l.heads[level][sub], start);
        if l.heads[level][sub].load(Relaxed) == 0 {
            let subs = l.subs[level].load(Relaxed) & !(1 << sub);
            l.subs[level].store(subs, Relaxed);
            if subs == 0 {
                l.levels.store(l.levels.load(Relaxed) & !(1 << level), Relaxed);
            }
        }
        self.add_free(-(len as i32));
    }

    fn add_free(&self, pages: i32) {
        let now = self.0.root.free_pages.load(Relaxed).wrapping_add_signed(pages);
        self.0.root.free_pages.store(now, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_partition_the_lengths() {
        let mut last = (0, 0);
        for len in 1..200_000u32 {
            let at = list_of(len);
            assert!(at == last || at == (last.0, last.1 + 1) || at == (last.0 + 1, 0), "{len}");
            last = at;
            assert!(list_at_least(len).unwrap() >= at);
        }
        assert_eq!(list_of(u32::MAX), (LEVEL_COUNT - 1, LISTS_PER_LEVEL - 1));
        assert_eq!(list_at_least(u32::MAX), None);
    }
}
