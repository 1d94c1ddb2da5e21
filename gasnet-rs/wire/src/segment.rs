//! Segments: the memory of a rank that others can reach, and where it is mapped here.
//!
//! [`SegmentTable::place_at`] is the one place that decides whether an access is a load or store (the *RMA
//! locality decision*); active messages have theirs in [`crate::am`].

use crate::{Error, RankId};
use core::marker::PhantomData;
use core::sync::atomic::{AtomicPtr, Ordering};
use gasnet_sys::fd;
use gasnet_sys::memory::Mapping;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Mutex, OnceLock, PoisonError};

/// The segments of a host end before this byte of their file, and take no more addresses. Behind it lies
/// what ranks save for the time after their death, so this is no matter of one crate.
pub const SEGMENTS_END: u64 = 1 << 46;

/// One rank's segment as this process sees it. C headers read arrays of this layout.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct SegmentEntry {
    /// First byte, in the owner's address space.
    pub addr: usize,
    /// Length in bytes.
    pub size: usize,
    /// First byte in this process, or null where it is not mapped.
    pub local: *mut u8,
    /// Bytes from the start to the end of its kept memory; `size` without.
    pub whole: usize,
}

impl SegmentEntry {
    /// Where the kept memory begins, at the same offset in all segments; `None` if there is none.
    pub fn kept_from(&self) -> Option<u64> {
        (self.whole > self.size).then_some(self.whole as u64 / 2)
    }
}

/// Entries in a memory file, of which each rank of a process maps a copy.
#[derive(Debug)]
pub struct EntryFile {
    file: OwnedFd,
    entries: usize,
}

impl EntryFile {
    /// Of entries that are mapped nowhere.
    pub fn new(entries: &[SegmentEntry]) -> Result<EntryFile, Error> {
        let words: Vec<usize> = entries.iter().flat_map(|e| [e.addr, e.size, 0, e.whole]).collect();
        let file = fd::memory_file("gasnet-entries").map_err(no_entries)?;
        fd::write_at(file.as_fd(), 0, bytemuck::cast_slice(&words)).map_err(no_entries)?;
        Ok(EntryFile { file, entries: entries.len() })
    }

    /// A copy in memory of its own; pages that are not changed are those of the file.
    fn map(&self) -> Result<Mapping, Error> {
        Mapping::copy(self.file.as_fd(), self.entries * size_of::<SegmentEntry>()).map_err(no_entries)
    }
}

fn no_entries(why: std::io::Error) -> Error {
    Error::job(format!("no memory for the table of segments: {why}"))
}

/// All segments of the job, indexed by rank; empty until they are known.
///
/// Entries are replaced as a whole: who reads them meanwhile reads the old ones, which stay as long as the
/// table.
#[derive(Debug)]
pub struct SegmentTable {
    /// The first of `len` entries, or null.
    entries: AtomicPtr<SegmentEntry>,
    len: usize,
    /// All entries there ever were, those in use among them, but for a copy that is mapped.
    all: Mutex<Vec<AtomicPtr<SegmentEntry>>>,
    mapped: OnceLock<Mapping>,
}

#[expect(unsafe_code, reason = "the table holds addresses only; following them is unsafe elsewhere")]
// SAFETY: plain addresses, constant once they are in the table.
unsafe impl Send for SegmentEntry {}
#[expect(unsafe_code, reason = "as above")]
// SAFETY: as above.
unsafe impl Sync for SegmentEntry {}

/// Where bytes of a segment are: *near*, where an access is a load, a store or a copy, or *far*.
#[derive(Debug, Clone, Copy)]
pub enum Place {
    /// Mapped here, at this address.
    Near(*mut u8),
    /// Reached by messages, or by the conduit's own puts and gets.
    Far,
}

impl SegmentTable {
    /// Of a job of so many ranks whose segments are not known yet.
    pub(crate) fn new(ranks: u32) -> SegmentTable {
        SegmentTable {
            entries: AtomicPtr::default(),
            len: ranks as usize,
            all: Mutex::default(),
            mapped: OnceLock::new(),
        }
    }

    /// The table, if any segment is known.
    #[inline]
    pub fn known(&self) -> Option<&SegmentTable> {
        // Relaxed: who follows the address loads it again.
        (!self.entries.load(Ordering::Relaxed).is_null()).then_some(self)
    }

    /// Has `change` change a copy of the entries, which then takes their place. Segments that are not known
    /// are empty.
    ///
    /// # Safety
    /// 1. Each entry with a local address is memory of that length, mapped here as long as the rank lives,
    ///    and accessed as [`bytes`](crate::bytes) says (owed by the caller).
    #[expect(unsafe_code, reason = "declares the obligation; the body has nothing unsafe")]
    pub unsafe fn change(&self, change: impl FnOnce(&mut [SegmentEntry])) {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let mut entries = match self.entries() {
            [] => vec![SegmentEntry { addr: 0, size: 0, local: core::ptr::null_mut(), whole: 0 }; self.len],
            known => known.to_vec(),
        };
        change(&mut entries);
        let entries = Box::into_raw(entries.into_boxed_slice()).cast::<SegmentEntry>();
        all.push(AtomicPtr::new(entries));
        // ORDER: Release; pairs with Acquire in entries: what they hold.
        self.entries.store(entries, Ordering::Release);
    }

    /// Begins with a copy of the file's entries, once `change` has changed some of them.
    ///
    /// # Errors
    /// The file cannot be mapped, or some segment is known already.
    ///
    /// # Safety
    /// As [`SegmentTable::change`].
    #[expect(unsafe_code, reason = "declares the obligation")]
    pub unsafe fn begin_with(
        &self,
        file: &EntryFile,
        change: impl FnOnce(&mut [SegmentEntry]),
    ) -> Result<(), Error> {
        let _all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let mut first = Some(file.map()?);
        let mapped = self.mapped.get_or_init(|| first.take().expect("made above"));
        if first.is_some() {
            return Err(Error::op("the segments are known already"));
        }
        let entries = mapped.base().cast::<SegmentEntry>();
        #[expect(unsafe_code, reason = "overlays entries on a mapping")]
        // SAFETY: the copy of a file of `len` entries of this job, any bytes of which are entries; nobody
        // else knows of it yet.
        change(unsafe { core::slice::from_raw_parts_mut(entries, self.len) });
        // ORDER: Release; pairs with Acquire in entries: what they hold.
        self.entries.store(entries, Ordering::Release);
        Ok(())
    }

    /// All entries, for C headers.
    #[inline]
    pub fn entries(&self) -> &[SegmentEntry] {
        // ORDER: Acquire; pairs with Release in change and begin_with.
        let first = self.entries.load(Ordering::Acquire);
        if first.is_null() {
            return &[];
        }
        #[expect(unsafe_code, reason = "entries are replaced as a whole")]
        // SAFETY: made by `change` or `begin_with` of `len` entries, constant from then on, and freed with
        // the table.
        unsafe {
            core::slice::from_raw_parts(first, self.len)
        }
    }

    /// The segment of a rank.
    #[inline]
    pub fn get(&self, rank: RankId) -> Option<&SegmentEntry> {
        self.entries().get(rank.0 as usize)
    }

    /// Where bytes `[offset, offset + len)` of a rank's segment are, or `None` if they are not inside it.
    #[inline]
    pub fn place_at(&self, rank: RankId, offset: u64, len: usize) -> Option<Place> {
        let e = self.entries().get(rank.0 as usize)?;
        Self::place(e, e.size as u64, offset, len)
    }

    /// As [`place_at`](Self::place_at), with the kept memory: for those who have vouched for what they do
    /// there, on the sending side or on this one.
    #[inline]
    pub fn whole_at(&self, rank: RankId, offset: u64, len: usize) -> Option<Place> {
        let e = self.entries().get(rank.0 as usize)?;
        Self::place(e, e.whole as u64, offset, len)
    }

    #[inline(always)]
    fn place(e: &SegmentEntry, size: u64, offset: u64, len: usize) -> Option<Place> {
        // One comparison with the segment, and a sum that says by itself whether it fits.
        if offset.checked_add(len as u64).is_none_or(|end| end > size) {
            return None;
        }
        if e.local.is_null() {
            return Some(Place::Far);
        }
        Some(Place::Near(e.local.wrapping_add(offset as usize)))
    }
}

impl Drop for SegmentTable {
    fn drop(&mut self) {
        for entries in self.all.get_mut().unwrap_or_else(PoisonError::into_inner) {
            let entries = core::ptr::slice_from_raw_parts_mut(*entries.get_mut(), self.len);
            #[expect(unsafe_code, reason = "frees what `change` made")]
            // SAFETY: made by `change` as a box of `len` entries; nobody has the table any more.
            drop(unsafe { Box::from_raw(entries) });
        }
    }
}

/// Types whose bytes may be written by another rank at any time: any bit pattern is a value, and there is no
/// padding.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not plain data",
    label = "other ranks copy its bytes: any bytes have to be a value of it, without padding",
    note = "numbers and arrays of numbers are plain data; a struct of one's own becomes so by `#[repr(C)]` and \
            `#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]`"
)]
pub trait Shared: bytemuck::Pod + Send {}
#[diagnostic::do_not_recommend]
impl<T: bytemuck::Pod + Send> Shared for T {}

/// The address of a `T` in some rank's segment. It is plain data and can be sent to other ranks.
///
/// Reading and writing through it goes through `gasnet::Rank`; there is no reference to memory a peer can
/// write.
pub struct GlobalPtr<T> {
    rank: RankId,
    offset: u64,
    _type: PhantomData<*mut T>,
}

#[expect(unsafe_code, reason = "an address is not an access")]
// SAFETY: a GlobalPtr is a pair of numbers.
unsafe impl<T> Send for GlobalPtr<T> {}
#[expect(unsafe_code, reason = "an address is not an access")]
// SAFETY: as above.
unsafe impl<T> Sync for GlobalPtr<T> {}

impl<T> Clone for GlobalPtr<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for GlobalPtr<T> {}
impl<T> PartialEq for GlobalPtr<T> {
    fn eq(&self, other: &Self) -> bool {
        self.rank == other.rank && self.offset == other.offset
    }
}
impl<T> Eq for GlobalPtr<T> {}
impl<T> core::fmt::Debug for GlobalPtr<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}+{:#x}", self.rank, self.offset)
    }
}

impl<T> GlobalPtr<T> {
    /// The address `offset` bytes into the segment of `rank`. Nothing is checked before it is used.
    pub fn new(rank: RankId, offset: u64) -> GlobalPtr<T> {
        GlobalPtr { rank, offset, _type: PhantomData }
    }

    /// Whose memory.
    pub fn rank(self) -> RankId {
        self.rank
    }

    /// Bytes from the start of that rank's segment.
    pub fn offset(self) -> u64 {
        self.offset
    }

    /// The address `n` elements further on the same rank.
    #[expect(
        clippy::should_implement_trait,
        reason = "as for raw pointers: a method, since the operand is a count"
    )]
    pub fn add(self, n: usize) -> GlobalPtr<T> {
        GlobalPtr::new(self.rank, self.offset.wrapping_add((n as u64).wrapping_mul(size_of::<T>() as u64)))
    }

    /// The same address taken as another type.
    pub fn cast<U>(self) -> GlobalPtr<U> {
        GlobalPtr::new(self.rank, self.offset)
    }

    /// The same offset in another rank's segment.
    pub fn on(self, rank: RankId) -> GlobalPtr<T> {
        GlobalPtr::new(rank, self.offset)
    }
}

#[cfg(all(test, not(loom)))]
#[expect(unsafe_code, reason = "makes tables of addresses that nobody follows")]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_exact() {
        let e = |size| SegmentEntry { addr: 0, size, local: core::ptr::null_mut(), whole: size };
        let t = SegmentTable::new(2);
        assert!(t.known().is_none() && t.place_at(RankId(0), 0, 0).is_none());
        // SAFETY: nobody follows these addresses.
        unsafe { t.change(|all| all.copy_from_slice(&[e(100), e(0)])) };
        let ok = |r, o, n| t.place_at(RankId(r), o, n).is_some();
        assert!(ok(0, 0, 100) && ok(0, 100, 0) && ok(0, 99, 1) && ok(1, 0, 0));
        assert!(!ok(0, 0, 101) && !ok(0, 100, 1) && !ok(0, u64::MAX, 2) && !ok(1, 0, 1) && !ok(2, 0, 0));
        assert!(!ok(0, 1, usize::MAX));
        let before = t.entries();
        // SAFETY: nobody follows these addresses.
        unsafe { t.change(|all| all[1].size = 7) };
        assert!(ok(0, 0, 100) && ok(1, 0, 7) && !ok(1, 0, 8));
        assert_eq!(before[1].size, 0, "who was reading still can");
        // SAFETY: nobody follows these addresses.
        unsafe { t.change(|all| all[0].whole = 300) };
        let whole = |o, n| t.whole_at(RankId(0), o, n).is_some();
        assert!(whole(100, 200) && whole(300, 0) && !whole(100, 201) && !whole(u64::MAX, 2));
        assert!(ok(0, 0, 100) && !ok(0, 100, 1) && !ok(0, 150, 1), "kept memory is not for safe calls");
        assert_eq!((t.entries()[0].kept_from(), t.entries()[1].kept_from()), (Some(150), None));
    }
}
