//! One side of a transfer, reduced: lists that are regular become rows, so that what follows knows fewer
//! forms, and has more to fold.

use super::runs::{Even, Level, Listed};
use super::{Piece, Shape};

/// Most bytes of a transfer: what a pointer can be moved by.
pub(super) const MAX_BYTES: usize = isize::MAX as usize;

/// Runs of `len` bytes in any number of dimensions. Neither the length nor an extent is 0.
#[derive(Debug, Clone, Copy)]
pub(super) struct Grid<'a> {
    pub(super) at: usize,
    pub(super) len: usize,
    levels: Levels<'a>,
    /// The runs follow each other without a gap, whatever the strides are.
    dense: bool,
}

/// Extents and distances of a grid.
#[derive(Debug, Clone, Copy)]
enum Levels<'a> {
    /// What a list was reduced to.
    One {
        stride: usize,
        count: usize,
    },
    Many {
        strides: &'a [usize],
        counts: &'a [usize],
    },
}

impl<'a> Grid<'a> {
    fn row(at: usize, len: usize, stride: usize, count: usize) -> Grid<'a> {
        Grid { at, len, levels: Levels::One { stride, count }, dense: false }
    }

    fn counts(&self) -> &[usize] {
        match &self.levels {
            Levels::One { count, .. } => core::slice::from_ref(count),
            Levels::Many { counts, .. } => counts,
        }
    }

    /// Extent and distance of every level, the innermost first.
    pub(super) fn levels(&self) -> impl Iterator<Item = (usize, usize)> {
        let strides = match &self.levels {
            Levels::One { stride, .. } => core::slice::from_ref(stride),
            Levels::Many { strides, .. } => strides,
        };
        let mut below = self.len;
        self.counts().iter().zip(strides).map(move |(&count, &stride)| {
            let step = if self.dense { below } else { stride };
            below *= count;
            (count, step)
        })
    }

    /// Whether it is one run.
    fn is_dense(&self) -> bool {
        let mut below = self.len;
        self.dense
            || self.levels().all(|(count, step)| {
                let follows = count == 1 || step == below;
                below *= count;
                follows
            })
    }

    /// One run of as many bytes as `other` has, cut up as that is.
    fn cut_like(&self, other: Grid<'a>) -> Grid<'a> {
        Grid { at: self.at, dense: true, ..other }
    }

    /// Whether it has such runs, so many.
    pub(super) fn as_row(&self, count: usize, len: usize) -> Option<Even> {
        if self.is_dense() {
            return Some(Even { at: self.at, step: len });
        }
        match self.levels {
            Levels::One { stride, count: n } if (n, self.len) == (count, len) => {
                Some(Even { at: self.at, step: stride })
            }
            _ => None,
        }
    }
}

/// A shape in the form that is copied, or sent.
#[derive(Debug, Clone, Copy)]
pub(super) enum Side<'a> {
    /// No byte at all.
    Nothing,
    Grid(Grid<'a>),
    /// Runs of `len` bytes at two places or more, which make no row. The length is not 0.
    Places {
        list: Addresses<'a>,
        len: usize,
    },
    /// Runs of different lengths.
    Pieces(&'a [Piece]),
}

/// A list of places, or of pieces whose lengths are left out of account.
#[derive(Debug, Clone, Copy)]
pub(super) enum Addresses<'a> {
    Bare(&'a [usize]),
    OfPieces(&'a [Piece]),
}

impl<'a> Addresses<'a> {
    pub(super) fn len(self) -> usize {
        match self {
            Addresses::Bare(list) => list.len(),
            Addresses::OfPieces(list) => list.len(),
        }
    }

    pub(super) fn get(self, i: usize) -> usize {
        match self {
            Addresses::Bare(list) => list[i],
            Addresses::OfPieces(list) => list[i].at,
        }
    }

    /// For the loops that copy.
    pub(super) fn listed(self, shift: usize) -> Listed {
        match self {
            Addresses::Bare(list) => Listed { first: list.as_ptr(), words: 1, shift },
            // A piece begins with its place.
            Addresses::OfPieces(list) => Listed { first: list.as_ptr().cast(), words: 2, shift },
        }
    }

    /// The part from entry `i` on, of `n` entries.
    pub(super) fn part(self, i: usize, n: usize) -> Addresses<'a> {
        match self {
            Addresses::Bare(list) => Addresses::Bare(&list[i..i + n]),
            Addresses::OfPieces(list) => Addresses::OfPieces(&list[i..i + n]),
        }
    }

    /// Whether `len` bytes from every place on lie within `size` bytes from `origin` on. One pass without a
    /// branch: the highest bit of a difference tells.
    pub(super) fn are_inside(self, origin: usize, size: usize, len: usize) -> bool {
        let Some(last) = size.min(MAX_BYTES).checked_sub(len) else { return false };
        let bad = |at: usize| {
            let offset = at.wrapping_sub(origin);
            offset | last.wrapping_sub(offset)
        };
        let all = match self {
            Addresses::Bare(list) => list.iter().fold(0, |all, at| all | bad(*at)),
            Addresses::OfPieces(list) => list.iter().fold(0, |all, piece| all | bad(piece.at)),
        };
        all <= MAX_BYTES
    }

    /// The distance of places that follow each other at one distance.
    pub(super) fn step(self) -> Option<usize> {
        match self {
            Addresses::Bare(list) => even(list, |at| *at),
            Addresses::OfPieces(list) => even(list, |piece| piece.at),
        }
    }
}

/// Entries that are looked at before the next decision.
const BLOCK_ENTRIES: usize = 64;

/// The distance of values that follow each other at one distance. There are two at least.
fn even<T>(list: &[T], value: impl Fn(&T) -> usize + Copy) -> Option<usize> {
    let step = value(&list[1]).wrapping_sub(value(&list[0]));
    let differs = |pair: (&T, &T)| value(pair.1).wrapping_sub(value(pair.0)) ^ step;
    let first = list.len().min(4);
    let other = |part: &[T]| part.iter().zip(&part[1..]).fold(0, |bad, pair| bad | differs(pair)) != 0;
    if other(&list[..first]) {
        return None;
    }
    let mut rest = &list[first - 1..];
    while rest.len() > 1 {
        let n = rest.len().min(BLOCK_ENTRIES + 1);
        if other(&rest[..n]) {
            return None;
        }
        rest = &rest[n - 1..];
    }
    Some(step)
}

/// Why a transfer cannot be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The sides have different numbers of bytes, or more than can be.
    Bytes,
    /// Some bytes of the remote side are outside the segment.
    Outside,
}

/// Both sides, and the number of bytes.
pub(super) fn pair<'a>(
    remote: Shape<'a>,
    local: Shape<'a>,
    origin: usize,
    size: usize,
) -> Result<(Side<'a>, Side<'a>, usize), Fault> {
    let (there, bytes) = Side::of(remote).ok_or(Fault::Bytes)?;
    let (here, n) = Side::of(local).ok_or(Fault::Bytes)?;
    if bytes != n {
        return Err(Fault::Bytes);
    }
    if !there.is_inside(origin, size) {
        return Err(Fault::Outside);
    }
    Ok((there, here, bytes))
}

impl<'a> Side<'a> {
    /// Reduces a shape, and counts its bytes; `None` if they are more than a transfer can have.
    fn of(shape: Shape<'a>) -> Option<(Side<'a>, usize)> {
        let side = match shape {
            Shape::Vector(&[]) => Side::Nothing,
            Shape::Vector(list @ &[Piece { len, .. }, ..]) => {
                if list.iter().fold(0, |bad, piece| bad | (piece.len ^ len)) == 0 {
                    Side::listed(Addresses::OfPieces(list), len)
                } else {
                    Side::Pieces(list)
                }
            }
            Shape::Indexed(list, len) => Side::listed(Addresses::Bare(list), len),
            Shape::Strided { count, .. } if count.is_empty() || count.contains(&0) => Side::Nothing,
            Shape::Strided { at, strides, count } => {
                let levels = Levels::Many { strides, counts: &count[1..] };
                Side::Grid(Grid { at, len: count[0], levels, dense: false })
            }
        };
        let bytes = match &side {
            Side::Nothing => Some(0),
            Side::Grid(grid) => grid.counts().iter().try_fold(grid.len, |all, n| all.checked_mul(*n)),
            Side::Places { list, len } => len.checked_mul(list.len()),
            Side::Pieces(list) => list.iter().try_fold(0usize, |sum, piece| sum.checked_add(piece.len)),
        };
        bytes.filter(|bytes| *bytes <= MAX_BYTES).map(|bytes| (side, bytes))
    }

    fn listed(list: Addresses<'a>, len: usize) -> Side<'a> {
        match list.len() {
            0 => Side::Nothing,
            _ if len == 0 => Side::Nothing,
            1 => Side::Grid(Grid::row(list.get(0), len, len, 1)),
            count => match list.step() {
                Some(step) => Side::Grid(Grid::row(list.get(0), len, step, count)),
                None => Side::Places { list, len },
            },
        }
    }

    /// Whether all bytes lie within `size` bytes from `origin` on.
    fn is_inside(&self, origin: usize, size: usize) -> bool {
        match self {
            Side::Nothing => true,
            Side::Grid(grid) => is_inside(grid.at.wrapping_sub(origin), grid.len, grid.levels(), size),
            Side::Places { list, len } => list.are_inside(origin, size, *len),
            Side::Pieces(list) => are_inside(list, origin, size),
        }
    }
}

/// Whether the box around all runs of a grid lies within the first `size` bytes.
pub(super) fn is_inside(
    at: usize,
    len: usize,
    levels: impl Iterator<Item = (usize, usize)>,
    size: usize,
) -> bool {
    let ends = || {
        let (mut low, mut high) = (isize::try_from(at).ok()?, isize::try_from(at.checked_add(len)?).ok()?);
        for (count, step) in levels {
            let far = isize::try_from(count - 1).ok()?.checked_mul(step as isize)?;
            low = low.checked_add(far.min(0))?;
            high = high.checked_add(far.max(0))?;
        }
        Some((low, high))
    };
    ends().is_some_and(|(low, high)| low >= 0 && high as usize <= size)
}

/// Whether all pieces lie within `size` bytes from `origin` on.
pub(super) fn are_inside(list: &[Piece], origin: usize, size: usize) -> bool {
    list.iter().all(|piece| {
        let offset = piece.at.wrapping_sub(origin);
        piece.len == 0 || offset <= size && piece.len <= size - offset
    })
}

/// Levels that are kept without an allocation.
const MAX_LEVELS: usize = 4;

/// Two grids that are copied run by run, with as few levels as they can have.
#[derive(Debug)]
pub(super) struct Boxes {
    pub(super) to: usize,
    pub(super) from: usize,
    pub(super) len: usize,
    few: [Level; MAX_LEVELS],
    n: usize,
    many: Vec<Level>,
}

impl Boxes {
    #[inline(always)]
    pub(super) fn new(to: usize, from: usize, len: usize) -> Boxes {
        Boxes { to, from, len, few: [Level { count: 0, to: 0, from: 0 }; MAX_LEVELS], n: 0, many: Vec::new() }
    }

    /// Of grids of as many bytes; `None` where one cuts them up otherwise than the other.
    pub(super) fn of<'a>(to: Grid<'a>, from: Grid<'a>) -> Option<Boxes> {
        let (to, from) = match (to.is_dense(), from.is_dense()) {
            (true, _) => (to.cut_like(from), from),
            (_, true) => (to, from.cut_like(to)),
            _ => (to, from),
        };
        if to.len != from.len || to.counts() != from.counts() {
            return None;
        }
        let mut boxes = Boxes::new(to.at, from.at, to.len);
        for ((count, to), (_, from)) in to.levels().zip(from.levels()) {
            boxes.add(Level { count, to, from });
        }
        Some(boxes)
    }

    /// Adds an outer level, whose extent is not 0. One that goes on where the one below it ends, on both
    /// sides, is part of that. Of one whose destination stays only the last copy counts, however many there
    /// are.
    #[inline(always)]
    pub(super) fn add(&mut self, level: Level) {
        if level.count == 1 {
            return;
        }
        if level.to == 0 {
            self.from = self.from.wrapping_add((level.count - 1).wrapping_mul(level.from));
            return;
        }
        if self.n == 0 {
            if (level.to, level.from) == (self.len, self.len) {
                self.len *= level.count;
                return;
            }
        } else {
            let last = self.many.last_mut().unwrap_or(&mut self.few[self.n - 1]);
            if last.continues(&level) {
                last.count *= level.count;
                return;
            }
        }
        if self.n < MAX_LEVELS {
            self.few[self.n] = level;
            self.n += 1;
        } else {
            self.spill(level);
        }
    }

    #[cold]
    fn spill(&mut self, level: Level) {
        if self.many.is_empty() {
            self.many.extend_from_slice(&self.few);
        }
        self.many.push(level);
    }

    /// The innermost first.
    #[inline(always)]
    pub(super) fn levels(&self) -> &[Level] {
        if self.many.is_empty() { &self.few[..self.n] } else { &self.many }
    }
}
