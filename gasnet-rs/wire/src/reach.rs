//! Where the segments of ranks are, and messages about ranges outside them.

use crate::prim::Ordering;
use crate::segment::{Place, SegmentEntry, SegmentTable};
use crate::{Error, RankId, Wire};

/// Values of [`Wire::attaching`] beside 0: a segment was bound, or `Rank::attach` has
/// begun; it is done.
pub const BOUND: u32 = 1;
/// See [`BOUND`].
pub const ATTACHED: u32 = 2;

impl Wire {
    /// Whether this rank has come to attach its segment.
    pub(crate) fn is_attaching(&self) -> bool {
        // Relaxed: only this rank changes it.
        self.attaching.load(Ordering::Relaxed) != 0
    }

    /// Whether the ranks have attached segments: then all have, and have agreed on it.
    #[inline]
    pub fn has_attached(&self) -> bool {
        // Relaxed: who attaches meets the others afterwards.
        self.attaching.load(Ordering::Relaxed) == ATTACHED
    }

    /// The segment of a rank, if it is known: after `Rank::attach`, or after it was
    /// bound or announced.
    #[inline]
    pub fn segment_of(&self, rank: RankId) -> Option<&SegmentEntry> {
        self.segments.get(rank)
    }

    /// The segments of all ranks.
    #[inline]
    pub fn table(&self) -> &SegmentTable {
        self.segments.known().expect("Rank::attach comes before any use of segments")
    }

    /// # Errors
    /// The range is outside the segment; the message calls the access `what`.
    pub fn check_range(&self, what: &str, rank: RankId, offset: u64, len: usize) -> Result<(), Error> {
        if self.segments.place_at(rank, offset, len).is_some() {
            return Ok(());
        }
        Err(Error::op(self.outside(what, rank, offset, len)))
    }

    #[cold]
    pub(crate) fn outside(&self, what: &str, rank: RankId, offset: u64, len: usize) -> String {
        match self.table().get(rank) {
            None => format!("{what} to rank {rank}: the job has {} ranks", self.size()),
            Some(e) => format!(
                "{what} of {len} bytes at address {:#x} (offset {:#x}) is outside the segment of rank {rank}, which is \
                 [{:#x}, {:#x}), {} bytes",
                e.addr.wrapping_add(offset as usize),
                offset,
                e.addr,
                e.addr.wrapping_add(e.size),
                e.size
            ),
        }
    }

    /// Ends the job for an access outside a segment.
    #[cold]
    pub fn fatal_outside(&self, what: &str, rank: RankId, offset: u64, len: usize) -> ! {
        self.fatal(&self.outside(what, rank, offset, len))
    }

    /// The address of a byte of the own segment, as a long message names it.
    pub(crate) fn own_address(&self, offset: u64) -> *mut u8 {
        match self.segments.known().and_then(|t| t.get(self.id())) {
            Some(e) => e.local.wrapping_add(offset as usize),
            // Without a segment an address is what its sender said.
            None => core::ptr::without_provenance_mut(offset as usize),
        }
    }

    /// Bytes of the own segment or kept memory, if they are inside it.
    #[inline]
    pub fn own_place(&self, offset: u64, len: usize) -> Option<*mut u8> {
        // Who asks for kept memory has vouched for it where it asked.
        match self.segments.whole_at(self.id(), offset, len) {
            Some(Place::Near(p)) => Some(p),
            _ => None,
        }
    }

    /// Whether the segment of a rank is mapped here. Between two ranks, both find the same.
    #[inline]
    pub fn maps(&self, r: RankId) -> bool {
        self.segments.known().and_then(|t| t.get(r)).is_some_and(|e| !e.local.is_null())
    }
}
