//! Where operations by [NICs](super::nic) put their blocks and signals on the boards, which events they use,
//! and how large their blocks may be.

use super::Shape;
use gasnet_sys::mutex::lock;
use gasnet_wire::port::{BOARD, EVENTS};
use std::sync::{Mutex, MutexGuard};

/// Number of teams whose operations NICs carry out: those with lower numbers.
const MAX_TEAMS: u32 = 4;
/// Number of the team of the job's own barrier.
pub(crate) const JOB_BARRIER_TEAM: u32 = u32::MAX;
/// Number of teams with events and places: the teams above, and that of the job's barrier.
const TEAMS_WITH_PLACES: u32 = MAX_TEAMS + 1;
/// Bytes of a page, which no command crosses.
pub(super) const PAGE_BYTES: usize = 4096;
/// Bytes of the board of a set: the rank's own block, the children's blocks, and a page for signals, one for
/// each member or child.
pub(super) const SET_BYTES: u32 = BOARD / (2 * TEAMS_WITH_PLACES) / PAGE_BYTES as u32 * PAGE_BYTES as u32;
/// Offset of the page for signals in the board of a set.
pub(super) const SIGNALS_AT: u32 = SET_BYTES - PAGE_BYTES as u32;
/// Bytes of the word at the start of a block.
pub(super) const WORD_BYTES: usize = 8;
/// Largest number of parts of a block. Each part has events of its own.
pub(super) const MAX_SEGMENTS: usize = 4;
/// Largest number of members for which signals from all to all are faster than a tree. It is twice as large
/// for operations in which most pairs exchange data anyway.
pub(super) const MAX_MEMBERS_ALL_TO_ALL: usize = 16;
/// Largest sum of the members' blocks for which blocks from all to all are faster than a tree.
pub(super) const MAX_BYTES_ALL_TO_ALL: usize = 4 * PAGE_BYTES;
/// Number of events in a set.
pub(super) const EVENTS_PER_SET: u32 = 3 * MAX_SEGMENTS as u32;

const _: () = assert!(
    2 * TEAMS_WITH_PLACES * EVENTS_PER_SET <= EVENTS
        && stride(4096) > PAGE_BYTES
        && stride(2) < 160 * PAGE_BYTES
);
const _: () = assert!(2 * MAX_MEMBERS_ALL_TO_ALL * WORD_BYTES <= PAGE_BYTES && SIGNALS_AT < 1 << LEN_BITS);

/// Bytes from a block of a tree to the next one, among `size` members; their number fixes that of the root's
/// children.
pub(super) const fn stride(size: usize) -> usize {
    let blocks = 1 + size.next_power_of_two().trailing_zeros() as usize;
    SIGNALS_AT as usize / blocks / PAGE_BYTES * PAGE_BYTES
}

/// Largest number of bytes of a block of a tree, without its word.
pub(super) const fn room(size: usize) -> usize {
    stride(size) - WORD_BYTES
}

/// A word has three fields. The first is the short description of the operation, with this number of bits;
/// then come the bytes of the block ([`LEN_BITS`]), and the number of the operation among those of the team
/// that NICs carry out.
pub(super) const WHAT_BITS: u32 = 32;
/// Number of bits of the second field of a word.
pub(super) const LEN_BITS: u32 = 18;

/// The word of a block of `len` bytes.
pub(super) fn word(short: u32, operation: u32, len: usize) -> u64 {
    u64::from(short) | (len as u64) << WHAT_BITS | u64::from(operation) << (WHAT_BITS + LEN_BITS)
}

/// The places of direct blocks on boards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Places {
    /// All blocks come from this member, or go to it. On both boards a block is at the place of the other
    /// member.
    Rooted(usize),
    /// Any member sends to any other. On the receiver's board a block is at the place of its sender; on the
    /// sender's board it is in the second half, at the place of its receiver.
    Mutual,
}

impl Places {
    /// Pages that the places of all members share.
    fn pages(self) -> usize {
        SIGNALS_AT as usize / PAGE_BYTES / if matches!(self, Places::Rooted(_)) { 1 } else { 2 }
    }

    /// Places on a page among so many members; 1 if each has a page at least.
    fn on_page(self, size: usize) -> usize {
        size.div_ceil(self.pages())
    }

    /// Bytes of a place among so many members: a number of pages, or a part of one.
    fn bytes(self, size: usize) -> usize {
        match self.on_page(size) {
            1 => self.pages() / size * PAGE_BYTES,
            n => PAGE_BYTES / n / 8 * 8,
        }
    }

    /// The longest block that fits in a place, without its word.
    pub(super) fn most(self, size: usize) -> usize {
        self.bytes(size).saturating_sub(WORD_BYTES)
    }

    fn place(self, size: usize, i: usize) -> usize {
        match self.on_page(size) {
            1 => i * self.bytes(size),
            n => i / n * PAGE_BYTES + i % n * self.bytes(size),
        }
    }

    /// The block between members, as offsets on the boards of the one and the other.
    pub(super) fn of(self, size: usize, from: usize, to: usize) -> (u32, u32) {
        let (here, there) = match self {
            Places::Rooted(root) => (self.place(size, from + to - root), self.place(size, from + to - root)),
            Places::Mutual => (self.pages() * PAGE_BYTES + self.place(size, to), self.place(size, from)),
        };
        (here as u32, there as u32)
    }
}

/// The number of the set of events and places of a team, if it has one.
pub(super) fn place(team: u32) -> Option<u32> {
    match team {
        JOB_BARRIER_TEAM => Some(MAX_TEAMS),
        team => (team < MAX_TEAMS).then_some(team),
    }
}

/// A team's counters: the number of operations so far, and the counts of its events in each set.
#[derive(Debug, Default)]
pub(crate) struct State(Mutex<EventCounts>);

impl State {
    pub(super) fn counts(&self) -> MutexGuard<'_, EventCounts> {
        lock(&self.0)
    }
}

#[derive(Debug, Default, Clone, Copy)]
pub(super) struct EventCounts {
    pub(super) operations: u32,
    pub(super) sets: [Events; 2],
}

#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Events {
    pub(super) up: [u32; MAX_SEGMENTS],
    pub(super) fold: [u32; MAX_SEGMENTS],
    pub(super) down: [u32; MAX_SEGMENTS],
}

/// How a block, with its word, is cut into segments.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cut {
    pages: usize,
    pub(super) segments: usize,
}

impl Cut {
    pub(super) fn new(len: usize) -> Cut {
        let pages = (WORD_BYTES + len).div_ceil(PAGE_BYTES);
        Cut { pages, segments: pages.min(MAX_SEGMENTS) }
    }

    /// Pages of a segment.
    pub(super) fn segment(self, s: usize) -> core::ops::Range<usize> {
        s * self.pages / self.segments..(s + 1) * self.pages / self.segments
    }
}

/// Whole words.
pub(super) fn words(n: usize) -> usize {
    n.next_multiple_of(8)
}

/// Whether NICs can do an operation among so many members.
pub(super) fn fits(shape: Shape, size: usize) -> bool {
    let room = room(size);
    let rooted = Places::Rooted(0).most(size);
    let all = |n: usize| (WORD_BYTES + words(n)) * size <= SIGNALS_AT as usize;
    match shape {
        Shape::Barrier => true,
        Shape::Broadcast(n) | Shape::Reduce(n, true) | Shape::ReduceAll(n, true) => n <= room,
        Shape::Scatter(n) | Shape::Gather(n) | Shape::Reduce(n, false) => n <= rooted,
        Shape::Exchange(n) => n <= Places::Mutual.most(size),
        Shape::GatherAll(n) | Shape::Scan(n) | Shape::ReduceAll(n, false) => all(n),
        // Each in whole words.
        Shape::GatherAllV(all) => all + (WORD_BYTES + 7) * size <= SIGNALS_AT as usize,
        Shape::ScatterV(_) | Shape::GatherV(_) | Shape::ExchangeV => {
            shape.places().is_some_and(|places| places.most(size) > 0)
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// The numbers in docs/netvm-live.md are those of the code.
    #[test]
    fn bounds_are_as_documented() {
        for (size, broadcast, scatter, exchange) in
            [(2, 124 << 10, 124 << 10, 60 << 10), (4, 84 << 10, 60 << 10, 28 << 10)]
                .into_iter()
                .chain([(8, 60 << 10, 28 << 10, 12 << 10), (150, 28 << 10, 1360, 816)])
                .map(|(size, a, b, c)| (size, a - WORD_BYTES, b - WORD_BYTES, c - WORD_BYTES))
        {
            let all = (252 << 10) / size / 8 * 8 - WORD_BYTES;
            for (shape, most) in [
                (Shape::Broadcast as fn(usize) -> Shape, broadcast),
                (|n| Shape::ReduceAll(n, true), broadcast),
                (Shape::Scatter, scatter),
                (|n| Shape::Reduce(n, false), scatter),
                (Shape::Exchange, exchange),
                (Shape::GatherAll, all),
                (|n| Shape::ReduceAll(n, false), all),
            ] {
                assert!(
                    fits(shape(most), size) && !fits(shape(most + 1), size),
                    "{:?} of {size}",
                    shape(most)
                );
            }
        }
    }

    /// Blocks that are on a board at a time have places of their own, before the page of signals, and short
    /// ones cross no page.
    #[test]
    fn places_are_apart() {
        let sizes = (2..80).chain([126, 127, 150, 500, 1000, 4096]);
        for size in sizes.step_by(if cfg!(miri) { 29 } else { 1 }) {
            for (places, at_least) in [(Places::Rooted(size / 2), 48), (Places::Mutual, 16)] {
                let most = places.most(size);
                assert!(most >= at_least, "{most} bytes among {size}");
                let others = || (0..size).filter(|m| *m != size / 2);
                let me = size / 2;
                // The places of a member's blocks to all others, and of the blocks from them.
                let mut taken: Vec<u32> = others().map(|m| places.of(size, me, m).0).collect();
                let come: Vec<u32> = others().map(|m| places.of(size, m, me).1).collect();
                match places {
                    Places::Rooted(_) => assert_eq!(taken, come, "one or the other"),
                    Places::Mutual => taken.extend(come),
                }
                taken.sort_unstable();
                let all = WORD_BYTES + most;
                assert!(taken.windows(2).all(|w| w[0] as usize + all <= w[1] as usize), "{size}: {taken:?}");
                assert!(taken.last().is_some_and(|last| *last as usize + all <= SIGNALS_AT as usize));
                let in_page = |at: &u32| *at as usize % PAGE_BYTES + all <= PAGE_BYTES;
                assert!(
                    taken.iter().all(|at| (*at as usize).is_multiple_of(PAGE_BYTES) || in_page(at)),
                    "{size}"
                );
                assert!(taken.iter().all(|at| at.is_multiple_of(8)) && most.is_multiple_of(8));
            }
        }
    }
}
