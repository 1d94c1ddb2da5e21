//! Memory in which a host's ranks have their states, and which outlives them: `keep.rs` says what a state is.
//!
//! It is the file of the first world's segments, far behind the segments. The launcher gives it to the ranks
//! of all later worlds. So what a process has saved there is there when it has died, for the process that
//! takes its place, or for a rank that goes on with its state.
//!
//! A *place* is a rank by its number in the first world. Each place has two *areas* for each
//! [`Keep`](crate::Keep), at fixed positions in the file, so nobody has to ask where they are. An area begins
//! with what it holds: see [`Header`]. Pages that nobody has written are holes in the file.
//!
//! **Who writes.** Only the process at the place, while it saves. It first marks the area as empty, and when
//! all is written, as complete: a process that dies in between leaves an empty one. Other processes look at
//! areas of places whose process has died; the launcher has reaped it before it starts the world in which
//! they do.
#![expect(unsafe_code, reason = "makes slices of a mapping that outlives its process")]

use gasnet_sys::memory::{self, Mapping};
use gasnet_wire::limits;
use gasnet_wire::segment::SEGMENTS_END;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering, fence};

/// The world in which a version was saved, by the number of worlds before it, and its number. Of two, the
/// larger is the newer.
pub(crate) type Stamp = (u32, u64);

/// Where the areas of the first place begin.
const BEGIN: u64 = SEGMENTS_END;
/// What a place has of the file, at most; there are at most 2^16 places.
const PLACE_BYTES: u64 = 1 << 44;
/// What an area has of that: a state with its header.
const AREA_BYTES: u64 = 1 << 37;
/// The areas of a place.
const AREAS: u64 = PLACE_BYTES / AREA_BYTES;
/// What is mapped of an area at first.
const LEAST_BYTES: usize = 1 << 16;
/// So many words are written at once at least where pages are prepared for them.
const MANY_WORDS: usize = 1 << 17;

/// Words of a header, each written as a whole. Memory that nobody has written says that the area is empty.
#[repr(C)]
struct Header {
    /// 0: the area is empty. [`COMPLETE`]: it holds a state. [`WHOLE`]: and the version is known to be whole.
    holds: AtomicU64,
    epoch: AtomicU64,
    version: AtomicU64,
    /// The rank that has saved it, and how many there were.
    owner: AtomicU64,
    size: AtomicU64,
    /// Words of the state, which follow the header.
    words: AtomicU64,
    _room: [AtomicU64; 2],
}

const COMPLETE: u64 = 1;
const WHOLE: u64 = 2;
const HEADER_WORDS: usize = size_of::<Header>() / 8;

/// What an area holds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AreaState {
    pub(crate) stamp: Stamp,
    pub(crate) owner: u32,
    pub(crate) size: u32,
    pub(crate) words: usize,
    /// Whether its process knew that the version is whole.
    pub(crate) whole: bool,
}

/// The file.
#[derive(Debug, Clone)]
pub(crate) struct StateFile(Arc<OwnedFd>);

impl StateFile {
    /// `None` if the system lets nobody have so large a file: then states are private.
    pub(crate) fn new(file: BorrowedFd<'_>) -> Option<StateFile> {
        limits::check_file_size(u64::MAX >> 1).ok()?;
        Some(StateFile(Arc::new(gasnet_sys::fd::duplicate(file).ok()?)))
    }

    /// Area 0 or 1 of a place for the [`Keep`](crate::Keep) of this number; `None` where there is none, or no
    /// memory for it.
    pub(crate) fn area(&self, place: u32, number: u32, which: u32) -> Option<Area> {
        let area = u64::from(number) * 2 + u64::from(which);
        let offset = BEGIN + u64::from(place) * PLACE_BYTES + area * AREA_BYTES;
        let mapping = (area < AREAS).then(|| self.map(offset, LEAST_BYTES))??;
        Some(Area { file: self.clone(), offset, mapping, bytes: LEAST_BYTES, prepared: 0 })
    }

    fn map(&self, offset: u64, bytes: usize) -> Option<Mapping> {
        gasnet_sys::fd::grow(self.0.as_fd(), offset + bytes as u64).ok()?;
        Mapping::shared(self.0.as_fd(), offset, bytes).ok()
    }
}

/// Memory for a state.
#[derive(Debug)]
pub(crate) struct Area {
    file: StateFile,
    offset: u64,
    mapping: Mapping,
    /// What is mapped, header and all.
    bytes: usize,
    /// Words for which this process has had the system find pages.
    prepared: usize,
}

impl Area {
    fn header(&self) -> &Header {
        // SAFETY: the mapping is longer, begins with a page, and lives as long as the borrow; any bytes are
        // words, which everybody accesses by atomics.
        unsafe { &*self.mapping.base().cast::<Header>() }
    }

    /// What it holds. For the process at its place, or any if that has died.
    pub(crate) fn found(&mut self) -> Option<AreaState> {
        // ORDER: Acquire; pairs with Release in `complete` and `know_whole`: the words before the mark.
        let (header, holds) = (self.header(), self.header().holds.load(Ordering::Acquire));
        if holds == 0 {
            return None;
        }
        let word = |word: &AtomicU64| word.load(Ordering::Relaxed);
        let found = AreaState {
            stamp: (word(&header.epoch) as u32, word(&header.version)),
            owner: word(&header.owner) as u32,
            size: word(&header.size) as u32,
            words: word(&header.words) as usize,
            whole: holds == WHOLE,
        };
        self.reach(found.words)?;
        Some(found)
    }

    /// Maps so many words at least.
    fn reach(&mut self, words: usize) -> Option<()> {
        let bytes = words.checked_add(HEADER_WORDS)?.checked_mul(8)?;
        if bytes > self.bytes {
            let bytes = bytes.checked_next_power_of_two().filter(|bytes| *bytes as u64 <= AREA_BYTES)?;
            self.mapping = self.file.map(self.offset, bytes)?;
            self.bytes = bytes;
        }
        Some(())
    }

    /// The first so many words of the state.
    ///
    /// # Panics
    /// There are not so many.
    pub(crate) fn words(&self, len: usize) -> &[u64] {
        assert!(len + HEADER_WORDS <= self.bytes / 8, "words that were saved");
        // SAFETY: inside the mapping, behind the header. Who has an area to read is the process at its place,
        // which writes by `&mut` only and has one value for each area (`Held` sees to it), or a process that
        // lives after that has died.
        unsafe { std::slice::from_raw_parts(self.mapping.base().cast::<u64>().add(HEADER_WORDS), len) }
    }

    /// Begins a state: from now on the area is empty.
    pub(crate) fn begin(&mut self) {
        self.header().holds.store(0, Ordering::Relaxed);
        // ORDER: Release; keeps what is written from now on behind the mark, as a death would find it.
        fence(Ordering::Release);
    }

    /// At least this many words, to write from word `used` on.
    ///
    /// # Panics
    /// The system gives no memory, or not so much.
    #[track_caller]
    pub(crate) fn room(&mut self, used: usize, words: usize) -> &mut [u64] {
        assert!(self.reach(words).is_some(), "no memory for a state of {words} words");
        // SAFETY: as in `words`; borrowed mutably, from the only value that this process has for the area.
        let all = unsafe {
            std::slice::from_raw_parts_mut(self.mapping.base().cast::<u64>().add(HEADER_WORDS), words)
        };
        if words - used >= MANY_WORDS && words > self.prepared {
            memory::populate(all[used..].as_mut_ptr().cast(), 8 * (words - used));
            self.prepared = words;
        }
        all
    }

    /// Says what has been written since [`Area::begin`].
    pub(crate) fn complete(&mut self, stamp: Stamp, (owner, size): (u32, u32), words: usize) {
        let header = self.header();
        let set = |word: &AtomicU64, value: u64| word.store(value, Ordering::Relaxed);
        set(&header.epoch, stamp.0.into());
        set(&header.version, stamp.1);
        set(&header.owner, owner.into());
        set(&header.size, size.into());
        set(&header.words, words as u64);
        // ORDER: Release; pairs with Acquire in `found`.
        header.holds.store(COMPLETE, Ordering::Release);
    }

    /// Notes that the version of the state is whole.
    pub(crate) fn know_whole(&self) {
        // ORDER: Release; pairs with Acquire in `found`.
        self.header().holds.store(WHOLE, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What one process has written, another one finds, or nothing of it if the first did not come to an end.
    #[test]
    #[cfg_attr(miri, ignore = "maps far into a file")]
    fn a_state_is_there_for_who_comes_later() {
        let fd = gasnet_sys::fd::memory_file("states-test").unwrap();
        let file = StateFile::new(fd.as_fd()).unwrap();
        let mut area = file.area(65_535, 63, 1).unwrap();
        assert!(area.found().is_none());
        area.begin();
        let many = 3 * MANY_WORDS;
        area.room(0, 2).copy_from_slice(&[7, 8]);
        // What was there stays when the area becomes longer.
        area.room(2, many)[many - 1] = 9;
        area.complete((3, 40), (2, 5), many);
        let mut other = file.area(65_535, 63, 1).unwrap();
        let found = other.found().unwrap();
        assert_eq!((found.stamp, found.owner, found.size, found.words), ((3, 40), 2, 5, many));
        assert_eq!((found.whole, other.words(2), other.words(many)[many - 1]), (false, &[7, 8][..], 9));
        area.know_whole();
        assert!(other.found().unwrap().whole);
        area.begin();
        assert!(other.found().is_none());
        assert!(file.area(65_535, 63, 0).unwrap().found().is_none(), "areas lie apart");
        assert!(file.area(0, 64, 0).is_none(), "there are so many areas");
    }
}
