//! Whole arrays: copied to other layouts, made longer or shorter, and read from one end to the other.

use crate::args::Plain;
use crate::array::Array;
use crate::kept;
use crate::layout::Layout;
use crate::phases::Reading;
use std::collections::VecDeque;

/// Elements of an iterator's piece, at least.
const PIECE: usize = 4096;
/// Pieces that an iterator has under way.
const AHEAD: usize = 2;

impl<T: Plain> Array<T> {
    /// Copies all elements to another array, of any layout.
    ///
    /// # Collective
    ///
    /// # Panics
    /// The arrays are of different lengths. As [`Array::read`].
    #[track_caller]
    pub fn copy_to(&mut self, to: &mut Array<T>) {
        assert_eq!(self.len(), to.len(), "an array is copied to one of its own length");
        self.copy_first(to, self.len());
    }

    /// Makes the array one of `len` elements and this layout. Elements keep their numbers; new ones are zero.
    ///
    /// # Collective
    /// With the same length and layout on all ranks.
    ///
    /// # Panics
    /// As [`World::array`](crate::World::array).
    #[track_caller]
    pub fn resize(&mut self, len: usize, layout: Layout<'_>) {
        let mut new = Array::new(self.world, len, layout);
        self.copy_first(&mut new, len.min(self.len()));
        *self = new;
    }

    /// Copies the first elements.
    fn copy_first(&mut self, to: &mut Array<T>, count: usize) {
        self.read(|from| {
            to.exchange(|to| {
                let map = &from.array.map;
                let me = from.array.world.rank();
                let mine = &from.local()[..map.below(me, count)];
                let mut at = 0;
                while at < mine.len() {
                    let i = map.index(me, at);
                    let n = map.run(i).min(mine.len() - at);
                    to.put_slice(i, &mine[at..at + n]);
                    at += n;
                }
            });
        });
    }
}

impl<T: Plain> Reading<'_, T> {
    /// Consecutive elements, from number `from` on, `len` of them.
    ///
    /// # Panics
    /// There are fewer.
    #[track_caller]
    pub fn slice(&self, from: usize, len: usize) -> Vec<T> {
        let end = from.checked_add(len).filter(|&end| end <= self.array.len());
        let Some(end) = end else {
            panic!("{len} elements from {from} on, of an array of {}", self.array.len())
        };
        ReadAhead::start(self, from, end).finish(self)
    }

    /// All elements, in the order of their numbers. While some are used, the next ones are under way.
    pub fn iter(&self) -> impl Iterator<Item = T> {
        let (len, piece) = (self.array.len(), PIECE.max(16 * self.array.world.size() as usize));
        let mut begins = (0..len).step_by(piece);
        let mut ahead = VecDeque::new();
        core::iter::from_fn(move || {
            while ahead.len() < AHEAD
                && let Some(from) = begins.next()
            {
                ahead.push_back(ReadAhead::start(self, from, len.min(from + piece)));
            }
            ahead.pop_front().map(|piece| piece.finish(self))
        })
        .flatten()
    }
}

/// Some consecutive elements that are under way. Those of one rank lie one after the other there.
struct ReadAhead<'a, T: Plain> {
    from: usize,
    to: usize,
    /// For each rank that has some: its number, the place of the first there, and the elements.
    parts: Vec<(u32, usize, gasnet::Pending<'a, T>)>,
}

impl<'a, T: Plain> ReadAhead<'a, T> {
    fn start(reading: &Reading<'a, T>, from: usize, to: usize) -> ReadAhead<'a, T> {
        let array = reading.array;
        let part = |rank: u32| {
            let (first, end) = (array.map.below(rank, from), array.map.below(rank, to));
            let get = || kept::ahead(array.world, array.at(rank, first), end - first);
            (end > first).then(|| (rank, first, get()))
        };
        ReadAhead { from, to, parts: array.world.ranks().filter_map(part).collect() }
    }

    fn finish(self, reading: &Reading<'a, T>) -> Vec<T> {
        let map = &reading.array.map;
        let parts: Vec<(u32, usize, Vec<T>)> =
            self.parts.into_iter().map(|(rank, first, part)| (rank, first, part.wait())).collect();
        if let [(_, _, _)] = parts[..] {
            return parts.into_iter().next().map(|part| part.2).unwrap_or_default();
        }
        let mut all = Vec::with_capacity(self.to - self.from);
        let mut i = self.from;
        while i < self.to {
            let (rank, at) = map.place(i);
            let n = map.run(i).min(self.to - i);
            let Ok(part) = parts.binary_search_by_key(&rank, |part| part.0) else { break };
            let (_, first, values) = &parts[part];
            all.extend_from_slice(&values[at - first..at - first + n]);
            i += n;
        }
        all
    }
}
