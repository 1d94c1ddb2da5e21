//! Transfers of many pieces with memory that this process maps.
//!
//! Both sides are looked at once: is every byte in the segment, which levels of a grid are one run, or go
//! nowhere. Then a loop of [`super::runs`] copies. Nothing is decided piece by piece, unless runs have
//! different lengths or the sides are cut up differently.
#![expect(unsafe_code, reason = "copies between segments and user memory")]

use super::runs::{self, Even, Level};
use super::side::{self, Addresses, Boxes, Fault, Grid, MAX_BYTES, Side};
use super::{Piece, Shape, matched};
use gasnet_wire::prim::{Ordering, fence};

/// Lists of fewer places are not searched for equal distances.
const MIN_ROW_RUNS: usize = 16;

/// A segment that is mapped here.
#[derive(Debug, Clone, Copy)]
pub struct Window {
    /// The place of its first byte, as remote sides have it.
    pub origin: usize,
    /// Bytes.
    pub size: usize,
    /// The address of its first byte here.
    pub at: usize,
}

impl Window {
    /// Copies the bytes of `local` to `remote`, or with `get` those of `remote` to `local`; whether the
    /// pieces are as they must be.
    ///
    /// # Safety
    /// 1. The local pieces are valid for reads, with `get` for writes (owed by the caller). 2. There is such
    ///    a segment, and others access it as [`gasnet_wire::bytes`] says (owed by the caller).
    #[inline]
    pub unsafe fn copy(&self, get: bool, remote: Shape<'_>, local: Shape<'_>) -> bool {
        // SAFETY: (1), (2).
        ordered(get, || unsafe { copy(self, remote, local, get) }).is_ok()
    }

    /// [`Window::copy`] of two grids with the same runs of `len` bytes and the same extents, each with its
    /// place and its distances.
    ///
    /// # Safety
    /// As [`Window::copy`]. There are as many distances as extents.
    #[inline]
    pub unsafe fn copy_grid(
        &self,
        get: bool,
        remote: (usize, &[usize]),
        local: (usize, &[usize]),
        len: usize,
        count: &[usize],
    ) -> bool {
        let this = Copy { window: self, get };
        // SAFETY: (1), (2).
        ordered(get, || unsafe { this.strided(remote, local, len, count) }).is_ok()
    }
}

/// A copy in its place among what happens before and after it.
#[inline(always)]
pub(super) fn ordered<T>(get: bool, copy: impl FnOnce() -> T) -> T {
    if get {
        // ORDER: Acquire; pairs with the Release of whatever told us that the data is there.
        fence(Ordering::Acquire);
    }
    let done = copy();
    if !get {
        // ORDER: Release; pairs with whatever tells the target: the data comes before it.
        fence(Ordering::Release);
    }
    done
}

/// A transfer with a segment that is mapped.
#[derive(Debug, Clone, Copy)]
struct Copy<'a> {
    window: &'a Window,
    get: bool,
}

/// [`Window::copy`]; the error says what is wrong with the pieces.
///
/// # Safety
/// As [`Window::copy`].
#[inline]
pub(super) unsafe fn copy(
    window: &Window,
    remote: Shape<'_>,
    local: Shape<'_>,
    get: bool,
) -> Result<(), Fault> {
    let this = Copy { window, get };
    // SAFETY, of all: (1), (2).
    match (remote, local) {
        (
            Shape::Strided { at: there, strides: a, count: &[len, ref count @ ..] },
            Shape::Strided { at: here, strides: b, count: c },
        ) if c.split_first().is_some_and(|(n, c)| *n == len && (core::ptr::eq(count, c) || count == c)) => {
            // SAFETY: see above.
            unsafe { this.strided((there, a), (here, b), len, count) }
        }
        (Shape::Indexed(there, len), Shape::Indexed(here, n)) if n == len && there.len() == here.len() => {
            // SAFETY: see above.
            unsafe { this.listed(Addresses::Bare(there), Addresses::Bare(here), len) }
        }
        (Shape::Vector(there @ [first, ..]), Shape::Vector(here)) if there.len() == here.len() => {
            let len = first.len;
            let differs = |bad, (a, b): (&Piece, &Piece)| bad | (a.len ^ len) | (b.len ^ len);
            if there.iter().zip(here).fold(0, differs) == 0 {
                // SAFETY: see above.
                return unsafe { this.listed(Addresses::OfPieces(there), Addresses::OfPieces(here), len) };
            }
            // SAFETY: see above.
            unsafe { this.general(remote, local) }
        }
        // SAFETY: see above.
        _ => unsafe { this.general(remote, local) },
    }
}

impl Copy<'_> {
    /// The distance from a remote place to its address here.
    #[inline(always)]
    fn shift(&self) -> usize {
        self.window.at.wrapping_sub(self.window.origin)
    }

    /// Orders two things: the destination's first, then the source's.
    #[inline(always)]
    fn directed<T>(&self, remote: T, local: T) -> (T, T) {
        if self.get { (local, remote) } else { (remote, local) }
    }

    /// Grids of the same extents, in one walk over their levels.
    ///
    /// # Safety
    /// As [`Window::copy`].
    #[inline]
    unsafe fn strided(
        &self,
        (there, a): (usize, &[usize]),
        (here, b): (usize, &[usize]),
        len: usize,
        count: &[usize],
    ) -> Result<(), Fault> {
        let (to, from) = self.directed(there.wrapping_add(self.shift()), here);
        let mut boxes = Boxes::new(to, from, len);
        let offset = there.wrapping_sub(self.window.origin);
        if len == 0 {
            return Ok(());
        }
        // The ends of the box around all runs. They do not wrap: no distance has more than 63 bits, and the
        // extents that are looked at make no more than MAX_BYTES.
        let (mut low, mut high) = (offset as i128, offset as i128 + len as i128);
        let (mut bytes, mut many) = (len, false);
        for ((&count, &a), &b) in count.iter().zip(a).zip(b) {
            let Some(beyond) = count.checked_sub(1) else { return Ok(()) };
            let (all, wraps) = bytes.overflowing_mul(count);
            (bytes, many) = (all, many | wraps | (all > MAX_BYTES));
            if !many {
                let far = a as isize as i128 * beyond as i128;
                (low, high) = (low + far.min(0), high + far.max(0));
                let (to, from) = self.directed(a, b);
                boxes.add(Level { count, to, from });
            }
        }
        if many || bytes > MAX_BYTES {
            return Err(Fault::Bytes);
        }
        if low < 0 || high > self.window.size as i128 {
            return Err(Fault::Outside);
        }
        // SAFETY: what is remote is inside the segment, what is local is valid: (1), (2).
        unsafe { runs::copy_box(boxes.to, boxes.from, boxes.len, boxes.levels(), self.get) };
        Ok(())
    }

    /// Runs of one length at listed places on both sides.
    ///
    /// # Safety
    /// As [`Window::copy`]. There are as many places on both sides.
    #[inline]
    unsafe fn listed(&self, there: Addresses<'_>, here: Addresses<'_>, len: usize) -> Result<(), Fault> {
        let count = there.len();
        if count == 0 || len == 0 {
            return Ok(());
        }
        if len.checked_mul(count).is_none_or(|bytes| bytes > MAX_BYTES) {
            return Err(Fault::Bytes);
        }
        // Lists that are long enough for it to pay.
        if count >= MIN_ROW_RUNS
            && let (Some(a), Some(b)) = (there.step(), here.step())
        {
            let (there, here) = ((there.get(0), &[a][..]), (here.get(0), &[b][..]));
            // SAFETY: the same runs.
            return unsafe { self.strided(there, here, len, &[count]) };
        }
        if !there.are_inside(self.window.origin, self.window.size, len) {
            return Err(Fault::Outside);
        }
        let (to, from) = self.directed(there.listed(self.shift()), here.listed(0));
        // SAFETY: what is remote is inside the segment, what is local is valid: (1), (2).
        unsafe { runs::copy(to, from, count, len, self.get) };
        Ok(())
    }

    /// Sides of any form.
    ///
    /// # Safety
    /// As [`Window::copy`].
    unsafe fn general(&self, remote: Shape<'_>, local: Shape<'_>) -> Result<(), Fault> {
        let (there, here, _) = side::pair(remote, local, self.window.origin, self.window.size)?;
        let (shift, get) = (self.shift(), self.get);
        let ((to, to_shift), (from, from_shift)) = self.directed((there, shift), (here, 0));
        let row = |grid: Grid<'_>, shift: usize, count, len| {
            grid.as_row(count, len).map(|even| Even { at: even.at.wrapping_add(shift), ..even })
        };
        let pointer =
            |at: usize, shift: usize| core::ptr::with_exposed_provenance_mut(at.wrapping_add(shift));
        // SAFETY, of all: what is remote is inside the segment, what is local is valid: (1), (2). Both sides
        // have as many bytes, and where runs go in pairs their lengths are the same.
        match (to, from) {
            (Side::Grid(to), Side::Grid(from)) => {
                if let Some(boxes) = Boxes::of(to, from) {
                    let (to, from) = (boxes.to.wrapping_add(to_shift), boxes.from.wrapping_add(from_shift));
                    // SAFETY: see above.
                    unsafe { runs::copy_box(to, from, boxes.len, boxes.levels(), get) };
                    return Ok(());
                }
            }
            (Side::Places { list: to, len }, Side::Places { list: from, len: n })
                if len == n && to.len() == from.len() =>
            {
                // SAFETY: see above.
                unsafe { runs::copy(to.listed(to_shift), from.listed(from_shift), to.len(), len, get) };
                return Ok(());
            }
            (Side::Places { list, len }, Side::Grid(grid)) => {
                if let Some(row) = row(grid, from_shift, list.len(), len) {
                    // SAFETY: see above.
                    unsafe { runs::copy(list.listed(to_shift), row, list.len(), len, get) };
                    return Ok(());
                }
            }
            (Side::Grid(grid), Side::Places { list, len }) => {
                if let Some(row) = row(grid, to_shift, list.len(), len) {
                    // SAFETY: see above.
                    unsafe { runs::copy(row, list.listed(from_shift), list.len(), len, get) };
                    return Ok(());
                }
            }
            (Side::Pieces(to), Side::Pieces(from))
                if to.len() == from.len() && to.iter().zip(from).all(|(a, b)| a.len == b.len) =>
            {
                for (to, from) in to.iter().zip(from) {
                    // SAFETY: see above.
                    unsafe {
                        runs::run_of(to.len, pointer(to.at, to_shift), pointer(from.at, from_shift), get)
                    };
                }
                return Ok(());
            }
            _ => {}
        }
        matched(remote, local, |there, here, len| {
            let (to, from) = self.directed(pointer(there, shift), pointer(here, 0));
            // SAFETY: see above.
            unsafe { runs::run_of(len, to, from, get) };
        });
        Ok(())
    }
}
