//! Access to kept memory, which lies behind the segments
//! ([`SegmentCalls::attach_and_keep`](crate::SegmentCalls::attach_and_keep)).
//!
//! A segment is everybody's: any part of a program may read and write all of it by safe calls, at any time.
//! So nobody may lend a `&[T]` or `&mut [T]` to memory of it. Kept memory is for those who do. Safe calls are
//! checked against the end of the segment, these against that of the memory behind it; and who calls them
//! vouches that no reference is there that they would break.
#![expect(unsafe_code, reason = "declares unsafe accesses, and copies between user memory and segments")]

use crate::atomics::{Operation, apply};
use crate::rma::{Pending, granted};
use crate::{Event, Rank, RankId};
use gasnet_wire::bytes;
use gasnet_wire::prim::{Ordering, fence};
use gasnet_wire::segment::{GlobalPtr, Place, Shared};
use gasnet_wire::transfer::FarAccess;

/// Accesses to kept memory: [`Rank::kept`].
#[derive(Debug, Clone, Copy)]
pub struct KeptCalls<'a> {
    pub(crate) rank: &'a Rank,
}

impl Rank {
    /// Accesses to kept memory, which no safe call reaches.
    #[inline]
    pub fn kept(&self) -> KeptCalls<'_> {
        KeptCalls { rank: self }
    }
}

impl<'a> KeptCalls<'a> {
    /// Where `count` elements lie in this process; `None` where they are not mapped here, or not inside the
    /// segment or its kept memory.
    pub fn address<T: Shared>(self, at: GlobalPtr<T>, count: usize) -> Option<*mut T> {
        match self.rank.wire.segments.known()?.whole_at(
            at.rank(),
            at.offset(),
            count.checked_mul(size_of::<T>())?,
        )? {
            Place::Near(p) => Some(p.cast()),
            Place::Far => None,
        }
    }

    /// [`Rank::write_slice`] to kept memory.
    ///
    /// # One-sided
    /// # Completion
    /// As [`Rank::write_slice`].
    ///
    /// # Safety
    /// 1. Who was given that memory ([`KeptCalls::allocate`]) permits it: there is no reference to it (owed
    ///    by the caller).
    ///
    /// # Panics
    /// As [`Rank::write_slice`].
    #[inline]
    pub unsafe fn write<T: Shared>(self, to: GlobalPtr<T>, values: &[T]) {
        let (rank, offset, src, len) =
            (to.rank(), to.offset(), values.as_ptr().cast::<u8>(), size_of_val(values));
        match self.rank.wire.segments.whole_at(rank, offset, len) {
            Some(Place::Near(at)) => {
                // SAFETY: the destination is mapped; a slice is valid for its size; (1).
                unsafe { bytes::store(at, src, len) };
                // ORDER: Release; as in `put`.
                fence(Ordering::Release);
            }
            // SAFETY: as above; the range was checked.
            Some(Place::Far) => unsafe { self.rank.put_far(rank, offset, src, len) },
            None => self.rank.wire.fatal_outside("put", rank, offset, len),
        }
    }

    /// [`Rank::read_slice`] from kept memory.
    ///
    /// # One-sided
    /// # Completion
    /// As [`Rank::read_slice`].
    ///
    /// # Safety
    /// 1. Who was given that memory permits it: there is no `&mut` to it (owed by the caller).
    ///
    /// # Panics
    /// As [`Rank::read_slice`].
    #[inline]
    pub unsafe fn read<T: Shared>(self, from: GlobalPtr<T>, values: &mut [T]) {
        let (rank, offset, dst, len) =
            (from.rank(), from.offset(), values.as_mut_ptr().cast::<u8>(), size_of_val(values));
        match self.rank.wire.segments.whole_at(rank, offset, len) {
            Some(Place::Near(at)) => {
                // ORDER: Acquire; as in `get`.
                fence(Ordering::Acquire);
                // SAFETY: the source is mapped; a slice is valid for its size, and any bytes are a T; (1).
                unsafe { bytes::load(dst, at, len) };
            }
            // SAFETY: as above; the range was checked.
            Some(Place::Far) => unsafe { self.rank.get_far(dst, rank, offset, len) },
            None => self.rank.wire.fatal_outside("get", rank, offset, len),
        }
    }

    /// [`Rank::read_nb`] from kept memory.
    ///
    /// # One-sided
    /// # Completion
    /// As [`Rank::read_nb`].
    ///
    /// # Safety
    /// As [`KeptCalls::read`], until the handle has been waited for.
    ///
    /// # Panics
    /// As [`Rank::read_nb`].
    pub unsafe fn read_nb<T: Shared>(self, from: GlobalPtr<T>, count: usize) -> Pending<'a, T> {
        let (peer, offset, len) = (from.rank(), from.offset(), count.saturating_mul(size_of::<T>()));
        // The range comes before the buffer: no segment holds what no memory does.
        let Some(place) = self.rank.wire.segments.whole_at(peer, offset, len) else {
            self.rank.wire.fatal_outside("get", peer, offset, len);
        };
        let mut values = vec![T::zeroed(); count];
        let dst = values.as_mut_ptr().cast::<u8>();
        let event = match place {
            Place::Near(at) => {
                // ORDER: Acquire; as in `get`.
                fence(Ordering::Acquire);
                // SAFETY: the source is mapped; the vector is valid for its size; owed by the caller.
                unsafe { bytes::load(dst, at, len) };
                Event::DONE
            }
            Place::Far => granted(self.rank.explicit(peer, |op| {
                let get = FarAccess { op, peer, offset, len, immediate: false };
                // SAFETY: the buffer lives in the handle, as in `write_nb`; the range was checked.
                unsafe { self.rank.far_get(get, dst) }
            })),
        };
        Pending::of(self.rank, event, values)
    }

    /// [`AtomicCalls::apply`](crate::AtomicCalls::apply) on a word that may lie in
    /// [kept memory](crate::SegmentCalls::attach_and_keep).
    ///
    /// # Safety
    /// 1. Who was given that memory ([`KeptCalls::allocate`]) permits it (owed by the caller).
    #[inline]
    pub unsafe fn atomic(self, rank: RankId, offset: u64, op: Operation, a: u64, b: u64) -> u64 {
        match self.rank.word_in(self.rank.wire.segments.whole_at(rank, offset, op.width()), rank, offset, op)
        {
            // SAFETY: mapped and aligned; (1).
            Place::Near(at) => unsafe { apply(at, op, a, b) },
            Place::Far => self.rank.atomic_far(rank, offset, op, [a, b]),
        }
    }
}
