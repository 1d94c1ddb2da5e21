//! Segments: the memory of a rank that others can reach, and where it is mapped here.
//!
//! [`SegmentTable::mapped_at`] is the one place that decides whether an access is a load or store (the *RMA locality
//! decision*); active messages have theirs in [`crate::am`].

use crate::RankId;
use core::marker::PhantomData;

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
}

/// All segments of the job, indexed by rank.
#[derive(Debug)]
pub struct SegmentTable {
    entries: Box<[SegmentEntry]>,
}

#[expect(unsafe_code, reason = "the table holds addresses only; following them is unsafe elsewhere")]
// SAFETY: plain addresses, constant after attach.
unsafe impl Send for SegmentTable {}
#[expect(unsafe_code, reason = "as above")]
// SAFETY: as above.
unsafe impl Sync for SegmentTable {}

/// Where an access goes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Place {
    /// Directly to this address.
    Here(*mut u8),
    /// Through messages.
    Away,
}

impl SegmentTable {
    pub(crate) fn new(entries: Vec<SegmentEntry>) -> SegmentTable {
        SegmentTable { entries: entries.into_boxed_slice() }
    }

    /// All entries, for C headers.
    pub fn entries(&self) -> &[SegmentEntry] {
        &self.entries
    }

    /// The segment of a rank.
    #[inline]
    pub fn get(&self, rank: RankId) -> Option<&SegmentEntry> {
        self.entries.get(rank.0 as usize)
    }

    /// Where bytes `[offset, offset + len)` of a rank's segment are, or `None` if they are not inside it.
    #[inline]
    pub(crate) fn mapped_at(&self, rank: RankId, offset: u64, len: usize) -> Option<Place> {
        let e = self.entries.get(rank.0 as usize)?;
        let size = e.size as u64;
        if len as u64 > size || offset > size - len as u64 {
            return None;
        }
        if e.local.is_null() {
            return Some(Place::Away);
        }
        Some(Place::Here(e.local.wrapping_add(offset as usize)))
    }
}

/// Types whose bytes may be written by another rank at any time: any bit pattern is a value, and there is no padding.
pub trait Shared: bytemuck::Pod + Send {}
impl<T: bytemuck::Pod + Send> Shared for T {}

/// The address of a `T` in some rank's segment. It is plain data and can be sent to other ranks.
///
/// Reading and writing through it goes through [`crate::Rank`]; there is no reference to memory a peer can write.
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
mod tests {
    use super::*;

    #[test]
    fn bounds_are_exact() {
        let e = |size| SegmentEntry { addr: 0, size, local: core::ptr::null_mut() };
        let t = SegmentTable::new(vec![e(100), e(0)]);
        let ok = |r, o, n| t.mapped_at(RankId(r), o, n).is_some();
        assert!(ok(0, 0, 100) && ok(0, 100, 0) && ok(0, 99, 1) && ok(1, 0, 0));
        assert!(!ok(0, 0, 101) && !ok(0, 100, 1) && !ok(0, u64::MAX, 2) && !ok(1, 0, 1) && !ok(2, 0, 0));
        assert!(!ok(0, 1, usize::MAX));
    }
}
