//! Which rank has which element of an array.

use std::sync::Arc;

/// How the elements of an array are spread over the ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout<'a> {
    /// One block of consecutive elements each, of equal size; the last ranks may have fewer.
    Block,
    /// Element `i` on rank `i % ranks`.
    Cyclic,
    /// Blocks of this many elements in turn; at least 1.
    BlockCyclic(usize),
    /// One block of consecutive elements each, of these sizes, by rank: for work that is heavier at some
    /// places than at others.
    Custom(&'a [usize]),
}

/// A number that much is divided by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Divisor {
    by: usize,
    /// 2^64 / `by`, rounded down, or one less.
    inverse: u64,
}

impl Divisor {
    pub(crate) fn new(by: usize) -> Divisor {
        Divisor { by, inverse: u64::MAX / by as u64 }
    }

    pub(crate) fn by(self) -> usize {
        self.by
    }

    /// Quotient and remainder, by a multiplication: the quotient so found is right or one too small.
    #[inline]
    pub(crate) fn divide(self, i: usize) -> (usize, usize) {
        let quotient = ((i as u128 * u128::from(self.inverse)) >> 64) as usize;
        let rest = i - quotient * self.by;
        if rest >= self.by { (quotient + 1, rest - self.by) } else { (quotient, rest) }
    }
}

/// A layout for a length and a number of ranks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Map {
    pub(crate) len: usize,
    ranks: Divisor,
    /// Elements of a block.
    block: Divisor,
    /// Where the block of each rank begins, and the end of the last, if they are of different sizes.
    starts: Option<Arc<[usize]>>,
}

impl Map {
    /// # Panics
    /// A block is empty, or sizes do not add up.
    #[track_caller]
    pub(crate) fn new(len: usize, ranks: u32, layout: Layout<'_>) -> Map {
        let ranks = ranks as usize;
        let mut starts = None;
        let block = match layout {
            Layout::Block => len.div_ceil(ranks).max(1),
            Layout::Cyclic => 1,
            Layout::BlockCyclic(block) => {
                assert!(block > 0, "a block of an array has at least one element");
                block
            }
            Layout::Custom(sizes) => {
                let sum = sizes.iter().try_fold(0usize, |sum, &size| sum.checked_add(size));
                assert!(
                    sizes.len() == ranks && sum == Some(len),
                    "a layout of {} sizes for {ranks} ranks; together they are to be the array's {len} elements",
                    sizes.len()
                );
                let ends = sizes.iter().scan(0, |end, &size| {
                    *end += size;
                    Some(*end)
                });
                starts = Some(core::iter::once(0).chain(ends).collect());
                1
            }
        };
        Map { len, ranks: Divisor::new(ranks), block: Divisor::new(block), starts }
    }

    /// The rank that has an element, and its number there.
    #[inline]
    #[track_caller]
    pub(crate) fn place(&self, i: usize) -> (u32, usize) {
        if i >= self.len {
            self.no_such_element(i);
        }
        if self.starts.is_some() {
            return self.place_among_starts(i);
        }
        let (block, inside) = self.block.divide(i);
        if block < self.ranks.by {
            return (block as u32, inside);
        }
        let (round, rank) = self.ranks.divide(block);
        (rank as u32, round * self.block.by + inside)
    }

    /// Apart, so that [`Map::place`] is small enough to be part of a loop.
    #[inline(never)]
    fn place_among_starts(&self, i: usize) -> (u32, usize) {
        let starts = self.starts.as_deref().unwrap_or(&[0]);
        let rank = starts.partition_point(|&start| start <= i) - 1;
        (rank as u32, i - starts[rank])
    }

    #[cold]
    #[track_caller]
    fn no_such_element(&self, i: usize) -> ! {
        panic!("element {i} of an array of {}", self.len)
    }

    /// The element that has number `at` on a rank.
    pub(crate) fn index(&self, rank: u32, at: usize) -> usize {
        if let Some(starts) = &self.starts {
            return starts[rank as usize] + at;
        }
        let (round, inside) = self.block.divide(at);
        (round * self.ranks.by + rank as usize) * self.block.by + inside
    }

    /// How many elements from `i` on lie one after the other on one rank; at least 1.
    pub(crate) fn run(&self, i: usize) -> usize {
        match &self.starts {
            Some(starts) => starts[starts.partition_point(|&start| start <= i)] - i,
            None => (self.block.by - self.block.divide(i).1).min(self.len - i),
        }
    }

    /// How many of the first `i` elements a rank has. They are the first ones of its part.
    pub(crate) fn below(&self, rank: u32, i: usize) -> usize {
        let rank = rank as usize;
        if let Some(starts) = &self.starts {
            return i.clamp(starts[rank], starts[rank + 1]) - starts[rank];
        }
        let (blocks, inside) = self.block.divide(i);
        let (rounds, extra) = self.ranks.divide(blocks);
        let last = if rank < extra {
            self.block.by
        } else if rank == extra {
            inside
        } else {
            0
        };
        rounds * self.block.by + last
    }

    /// Elements on a rank.
    pub(crate) fn part(&self, rank: u32) -> usize {
        self.below(rank, self.len)
    }

    /// Elements of the largest part, or a few more.
    pub(crate) fn largest_part(&self) -> usize {
        match &self.starts {
            Some(starts) => starts.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0),
            None => self.len.div_ceil(self.block.by).div_ceil(self.ranks.by) * self.block.by,
        }
    }

    /// The map as numbers: block and length; and the sizes of [`Layout::Custom`], if it is one.
    pub(crate) fn describe(&self) -> ([u64; 2], Option<Vec<u64>>) {
        let sizes = self.starts.as_ref();
        let sizes = sizes.map(|all| all.windows(2).map(|pair| (pair[1] - pair[0]) as u64).collect());
        ([self.block.by as u64, self.len as u64], sizes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_element_has_one_place() {
        let step = if cfg!(miri) { 11 } else { 1 };
        for ranks in 1..if cfg!(miri) { 4 } else { 6u32 } {
            for len in (0..40).step_by(step) {
                let sizes: Vec<usize> = (0..ranks as usize)
                    .map(|r| {
                        if r == 0 {
                            len - len / 3
                        } else if r == 1 {
                            len / 3
                        } else {
                            0
                        }
                    })
                    .collect();
                let custom = if ranks > 1 { Layout::Custom(&sizes) } else { Layout::Block };
                for layout in
                    [Layout::Block, Layout::Cyclic, Layout::BlockCyclic(1), Layout::BlockCyclic(3), custom]
                {
                    let map = Map::new(len, ranks, layout);
                    let mut seen = vec![Vec::new(); ranks as usize];
                    for i in 0..len {
                        let (rank, at) = map.place(i);
                        assert_eq!(map.index(rank, at), i);
                        let run = map.run(i);
                        assert!(run > 0 && (0..run).all(|k| map.place(i + k) == (rank, at + k)));
                        for rank in 0..ranks {
                            assert_eq!(map.below(rank, i), seen[rank as usize].len(), "{map:?} {rank} {i}");
                        }
                        seen[rank as usize].push(at);
                    }
                    for (rank, seen) in seen.into_iter().enumerate() {
                        assert_eq!(
                            seen,
                            (0..map.part(rank as u32)).collect::<Vec<_>>(),
                            "{map:?} rank {rank}"
                        );
                        assert!(map.part(rank as u32) <= map.largest_part());
                    }
                }
            }
        }
    }

    #[test]
    fn division_is_exact() {
        let mut state = 1u64;
        for _ in 0..if cfg!(miri) { 100 } else { 100_000 } {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let by = ((state >> 7) as usize >> (state % 60)).max(1);
            let i = (state.rotate_left(17) as usize) >> (state / 64 % 60);
            for i in [i, i / by * by, (i / by * by).wrapping_sub(1), 0, usize::MAX] {
                assert_eq!(Divisor::new(by).divide(i), (i / by, i % by), "{i} by {by}");
            }
        }
    }

    #[test]
    #[should_panic(expected = "a layout of 2 sizes for 2 ranks")]
    fn sizes_add_up() {
        let _ = Map::new(10, 2, Layout::Custom(&[5, 6]));
    }
}
