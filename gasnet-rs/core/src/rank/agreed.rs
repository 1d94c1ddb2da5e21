//! Memory of the segments whose place all ranks agree on.
//!
//! [`Rank::allocate`] exchanges nothing: ranks that differ in what they allocated before get different
//! offsets, and what one writes at its own lands in something else on the others. Who trusts in equal offsets
//! asks here instead.

use super::segments::{SegmentCalls, no_room};
use super::{Heap, Rank, lock};
use crate::KeptCalls;
use gasnet_wire::Error;
use gasnet_wire::segment::SegmentEntry;

/// Which memory, and what of it is used.
#[derive(Clone, Copy)]
enum Zone {
    /// The segment.
    Open,
    /// The memory behind it, which begins there.
    Kept(u64),
}

impl Zone {
    /// The first byte that is free.
    fn free(self, heap: &Heap) -> u64 {
        match self {
            Zone::Open => heap.used,
            Zone::Kept(from) => from + heap.kept,
        }
    }

    /// The end of what may be taken.
    fn end(self, heap: &Heap, own: &SegmentEntry) -> u64 {
        match self {
            Zone::Open => heap.room(own),
            Zone::Kept(from) => from + (own.size as u64).saturating_sub(heap.used.min(heap.end)),
        }
    }

    /// Everything before this byte is taken.
    fn take(self, heap: &mut Heap, end: u64) {
        match self {
            Zone::Open => heap.used = heap.used.max(end),
            Zone::Kept(from) => heap.kept = heap.kept.max(end - from),
        }
    }
}

impl Rank {
    fn agree(&self, zone: Zone, bytes: u64, align: u64) -> Result<u64, Error> {
        let Some(own) = self.wire.segments.known().and_then(|t| t.get(self.id())) else {
            return Err(Error::op("memory of a segment can be allocated only after Rank::attach"));
        };
        let _turn = lock(&self.agreeing);
        let mine = {
            let heap = lock(&self.heap);
            [zone.free(&heap), zone.end(&heap, own), bytes, align]
        };
        // The largest of each, and of its complement: the least.
        let both = mine.map(|n| [n, !n]);
        let all = self.settled().team_all().reduce_all_commutative(&[both], |a, b| {
            core::array::from_fn(|i| [a[i][0].max(b[i][0]), a[i][1].max(b[i][1])])
        });
        let [[free, _], [_, end], [most, least], [widest, narrowest]] = all[0];
        let (end, least, narrowest) = (!end, !least, !narrowest);
        if (most, widest) != (least, narrowest) {
            return Err(Error::op(format!(
                "ranks allocate different memory together: from {least} to {most} bytes, aligned to {narrowest} to {widest}; \
                 all must ask for the same"
            )));
        }
        let start = free.checked_next_multiple_of(align.max(1));
        match start.and_then(|start| Some((start, start.checked_add(bytes)?))) {
            Some((start, after)) if after <= end => {
                zone.take(&mut lock(&self.heap), after);
                Ok(start)
            }
            _ => {
                let heap = lock(&self.heap);
                Err(no_room(bytes, heap.end.min(own.size as u64), heap.used + heap.kept))
            }
        }
    }
}

impl SegmentCalls<'_> {
    /// Takes `bytes` bytes of every rank's segment, aligned to `align` (a power of two), at one offset that
    /// all ranks agree on. Ranks may have [allocated](crate::Rank::allocate) different amounts before.
    ///
    /// # Collective
    /// All ranks call it, with the same arguments; each waits for the others.
    ///
    /// # Errors
    /// The same on all ranks: some segment is too small, or the arguments differ. Or the segment is not
    /// attached yet.
    pub fn allocate_agreed(self, bytes: u64, align: u64) -> Result<u64, Error> {
        self.rank.agree(Zone::Open, bytes, align)
    }
}

impl KeptCalls<'_> {
    /// [`SegmentCalls::allocate_agreed`](crate::SegmentCalls::allocate_agreed) of
    /// [kept memory](crate::SegmentCalls::attach_and_keep): zero at first, and out of reach for everything
    /// but [`KeptCalls::address`] and the unsafe calls `*_kept`. Where the world has
    /// [taken over](crate::Survival::took_over) memory, that of other ranks is zero when they have met this
    /// one after the call.
    ///
    /// # Collective
    /// As [`SegmentCalls::allocate_agreed`](crate::SegmentCalls::allocate_agreed).
    ///
    /// # Errors
    /// As [`SegmentCalls::allocate_agreed`](crate::SegmentCalls::allocate_agreed), and if segments were
    /// attached without kept memory.
    pub fn allocate(self, bytes: u64, align: u64) -> Result<u64, Error> {
        let own = self.rank.wire.segments.known().and_then(|t| t.get(self.rank.id()));
        let Some(from) = own.and_then(SegmentEntry::kept_from) else {
            return Err(Error::op(
                "the segments have no kept memory, in which arrays lie: SegmentCalls::attach_and_keep and gasnet_conduits::run_and_keep attach them with it",
            ));
        };
        let at = self.rank.agree(Zone::Kept(from), bytes, align)?;
        self.rank.clear_stale(at..at + bytes);
        Ok(at)
    }
}
