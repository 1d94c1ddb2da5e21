//! Access to kept memory, which lies behind the segments ([`Rank::attach_and_keep`]).
//!
//! A segment is everybody's: any part of a program may read and write all of it by safe calls, at any time.
//! So nobody may lend a `&[T]` or `&mut [T]` to memory of it. Kept memory is for those who do. Safe calls are
//! checked against the end of the segment, these against that of the memory behind it; and who calls them
//! vouches that no reference is there that they would break.
#![expect(unsafe_code, reason = "declares unsafe accesses, and copies between user memory and segments")]

use crate::rma::{Pending, granted};
use crate::{Event, Rank};
use gasnet_wire::bytes;
use gasnet_wire::prim::{Ordering, fence};
use gasnet_wire::segment::{GlobalPtr, Place, Shared};
use gasnet_wire::transfer::Away;

impl Rank {
    /// Where `count` elements lie in this process; `None` where they are not mapped here, or not inside the
    /// segment or its kept memory.
    pub fn kept_address<T: Shared>(&self, at: GlobalPtr<T>, count: usize) -> Option<*mut T> {
        match self.wire.segments.known()?.whole_at(
            at.rank(),
            at.offset(),
            count.checked_mul(size_of::<T>())?,
        )? {
            Place::Here(p) => Some(p.cast()),
            Place::Away => None,
        }
    }

    /// [`Rank::write_slice`] to kept memory.
    ///
    /// # One-sided
    /// # Completion
    /// As [`Rank::write_slice`].
    ///
    /// # Safety
    /// 1. Who was given that memory ([`Rank::allocate_kept`]) permits it: there is no reference to it (owed
    ///    by the caller).
    ///
    /// # Panics
    /// As [`Rank::write_slice`].
    #[inline]
    pub unsafe fn write_kept<T: Shared>(&self, to: GlobalPtr<T>, values: &[T]) {
        let (rank, offset, src, len) =
            (to.rank(), to.offset(), values.as_ptr().cast::<u8>(), size_of_val(values));
        match self.wire.segments.whole_at(rank, offset, len) {
            Some(Place::Here(at)) => {
                // SAFETY: the destination is mapped; a slice is valid for its size; (1).
                unsafe { bytes::store(at, src, len) };
                // ORDER: Release; as in `put`.
                fence(Ordering::Release);
            }
            // SAFETY: as above; the range was checked.
            Some(Place::Away) => unsafe { self.put_away(rank, offset, src, len) },
            None => self.wire.fatal_outside("put", rank, offset, len),
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
    pub unsafe fn read_kept<T: Shared>(&self, from: GlobalPtr<T>, values: &mut [T]) {
        let (rank, offset, dst, len) =
            (from.rank(), from.offset(), values.as_mut_ptr().cast::<u8>(), size_of_val(values));
        match self.wire.segments.whole_at(rank, offset, len) {
            Some(Place::Here(at)) => {
                // ORDER: Acquire; as in `get`.
                fence(Ordering::Acquire);
                // SAFETY: the source is mapped; a slice is valid for its size, and any bytes are a T; (1).
                unsafe { bytes::load(dst, at, len) };
            }
            // SAFETY: as above; the range was checked.
            Some(Place::Away) => unsafe { self.get_away(dst, rank, offset, len) },
            None => self.wire.fatal_outside("get", rank, offset, len),
        }
    }

    /// [`Rank::read_nb`] from kept memory.
    ///
    /// # One-sided
    /// # Completion
    /// As [`Rank::read_nb`].
    ///
    /// # Safety
    /// As [`Rank::read_kept`], until the handle has been waited for.
    ///
    /// # Panics
    /// As [`Rank::read_nb`].
    pub unsafe fn read_kept_nb<T: Shared>(&self, from: GlobalPtr<T>, count: usize) -> Pending<'_, T> {
        let (peer, offset, len) = (from.rank(), from.offset(), count.saturating_mul(size_of::<T>()));
        // The range comes before the buffer: no segment holds what no memory does.
        let Some(place) = self.wire.segments.whole_at(peer, offset, len) else {
            self.wire.fatal_outside("get", peer, offset, len);
        };
        let mut values = vec![T::zeroed(); count];
        let dst = values.as_mut_ptr().cast::<u8>();
        let event = match place {
            Place::Here(at) => {
                // ORDER: Acquire; as in `get`.
                fence(Ordering::Acquire);
                // SAFETY: the source is mapped; the vector is valid for its size; owed by the caller.
                unsafe { bytes::load(dst, at, len) };
                Event::DONE
            }
            Place::Away => granted(self.explicit(peer, |op| {
                let get = Away { op, peer, offset, len, immediate: false };
                // SAFETY: the buffer lives in the handle, as in `write_nb`; the range was checked.
                unsafe { self.away_get(get, dst) }
            })),
        };
        Pending::of(self, event, values)
    }
}
