//! The memory of arrays, element by element.
//!
//! Arrays lie in *kept memory* ([`KeptCalls::allocate`](gasnet::KeptCalls::allocate)), which only this
//! module and the slices and words of `memory.rs` reach: safe calls of the crate `gasnet` are checked against
//! the end of the segments. All ranks have agreed on where each array lies.
#![expect(unsafe_code, reason = "vouches that phases keep references and accesses apart")]

use crate::args::Plain;
use crate::world::World;
use gasnet::atomics::Operation;
use gasnet::{Event, GlobalPtr, Pending, Rank};

/// Reads elements, in a phase in which nobody writes them, or of this rank's own part in one in which it has
/// that for itself.
pub(crate) fn read<T: Plain>(world: World, from: GlobalPtr<T>, values: &mut [T]) {
    // SAFETY: memory of arrays is this crate's alone, and has `&mut` to it in the phase `local` only, where
    // the part can be had as a slice. There nobody reads it by this.
    unsafe { world.0.rank.kept().read(from, values) }
}

/// Reads an element, as [`read`].
#[inline]
pub(crate) fn get<T: Plain>(world: World, from: GlobalPtr<T>) -> T {
    let mut value = [T::zeroed()];
    read(world, from, &mut value);
    value[0]
}

/// Begins to read elements, as [`read`]; the handle borrows the phase that reads.
pub(crate) fn ahead<'a, T: Plain>(world: World, from: GlobalPtr<T>, count: usize) -> Pending<'a, T> {
    // SAFETY: as in `read`; the phase waits for the handle, and one that is forgotten reads into memory that
    // is leaked, of which nobody learns.
    unsafe { world.0.rank.kept().read_nb(from, count) }
}

/// A part of a block of a matrix.
pub(crate) struct BlockPart<T> {
    pub(crate) from: GlobalPtr<T>,
    /// Elements from the beginning of a row to that of the next.
    pub(crate) step: usize,
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    /// The number of its first element in the whole block.
    pub(crate) first: usize,
}

/// Transfers under way to memory that is borrowed.
struct Borrowing<'a> {
    rank: &'a Rank,
    events: Vec<Event>,
}

impl Borrowing<'_> {
    fn wait(mut self) {
        while let Some(event) = self.events.last() {
            self.rank.wait(*event);
            self.events.pop();
        }
    }
}

/// The memory would be its owner's again while others write it.
impl Drop for Borrowing<'_> {
    fn drop(&mut self) {
        if !self.events.is_empty() {
            self.rank.fatal("a panic while a part of a matrix was read");
        }
    }
}

/// Reads the parts of a block whose rows have so many elements to `values`, row by row. As [`read`].
pub(crate) fn read_block<T: Plain>(world: World, parts: &[BlockPart<T>], columns: usize, values: &mut [T]) {
    for part in parts {
        let end = part.first + part.rows.saturating_sub(1) * columns + part.columns;
        assert!(part.columns <= columns && end <= values.len(), "a part is inside the block");
    }
    let to = values.as_mut_ptr();
    let mut under_way = Borrowing { rank: world.0.rank, events: Vec::new() };
    for part in parts {
        let size = (part.rows, part.columns);
        // SAFETY: as in `read`. All parts are inside the values, which stay borrowed until the last event is
        // done: `under_way` sees to that.
        let event = unsafe {
            under_way.rank.shapes().start_read_kept_rows(
                part.from,
                part.step,
                size,
                to.add(part.first),
                columns,
            )
        };
        if event != Event::DONE {
            under_way.events.push(event);
        }
    }
    under_way.wait();
}

/// Writes elements, in a phase in which they are put to, or of this rank's own part in one in which it has
/// that for itself, or has no array there yet.
#[inline]
pub(crate) fn write<T: Plain>(world: World, to: GlobalPtr<T>, values: &[T]) {
    // SAFETY: memory of arrays is this crate's alone, and has references to it in the phases `read` and
    // `local` only, where the part can be had as a slice. There nobody writes it by this.
    unsafe { world.0.rank.kept().write(to, values) }
}

/// Gives this rank's part of an array back to the system, when the array was dropped and its world is over on
/// all ranks.
pub(crate) fn release(world: World, offset: u64, bytes: u64) {
    // SAFETY: only phases of the array give references, each rank to its own part.
    unsafe { world.0.rank.survival().release(offset, bytes as usize) };
}

/// Gives the memory of the dead back to the system, when their world is over on all ranks.
pub(crate) fn release_dead(world: World) {
    // SAFETY: only the dead had references to their parts.
    unsafe { world.0.rank.survival().release_dead() };
}

/// Updates a word of this rank's own part, in the phase in which all update.
pub(crate) fn update(world: World, offset: u64, op: Operation, value: u64) {
    // SAFETY: as in `write`: there are no references in this phase.
    unsafe { world.0.rank.kept().atomic(world.0.rank.id(), offset, op, value, 0) };
}
