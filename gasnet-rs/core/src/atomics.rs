//! Remote atomics on naturally aligned words of any rank's segment.
//!
//! On a near word an operation is one instruction (or a compare-and-swap loop: min, max and floats); on a far
//! word the owner executes the same on its side. All are atomic with each other, wherever they
//! come from, and with the owner's own atomic instructions on the word. Operations on floats follow the
//! language: an addition rounds, min and max compare, and a compare-and-swap compares bits.
#![expect(unsafe_code, reason = "views words of mapped segments as atomics")]

use crate::{Rank, RankId};
use gasnet_wire::event::{Event, Implicit, Refused};
use gasnet_wire::prim::{Ordering, fence};
use gasnet_wire::segment::{GlobalPtr, Place};
use gasnet_wire::transfer::FarAccess;

use gasnet_wire::apply::put_old;

pub use gasnet_ops::{Function, Operation, WordType};
pub use gasnet_wire::apply::apply;

/// A function on words of 64 bits.
pub(crate) fn on_words(function: Function) -> Operation {
    Operation { function, word: WordType::U64 }
}

/// Atomic operations on words of any rank's segment: [`Rank::atomics`].
#[derive(Debug, Clone, Copy)]
pub struct AtomicCalls<'a> {
    pub(crate) rank: &'a Rank,
}

impl Rank {
    /// Atomic operations on words of any rank's segment.
    #[inline]
    pub fn atomics(&self) -> AtomicCalls<'_> {
        AtomicCalls { rank: self }
    }

    /// Where a word is. Ends the job for an operation that there is not.
    #[inline]
    fn word_at(&self, rank: RankId, offset: u64, op: Operation) -> Place {
        self.word_in(self.wire.segments.place_at(rank, offset, op.width()), rank, offset, op)
    }

    /// The place of a word, checked.
    #[inline(always)]
    pub(crate) fn word_in(&self, place: Option<Place>, rank: RankId, offset: u64, op: Operation) -> Place {
        let address = match place {
            Some(Place::Near(at)) => at.addr(),
            _ => self.owners_address(rank, offset),
        };
        match place {
            Some(place) if address.is_multiple_of(op.width()) && op.is_defined() => place,
            _ => self.wrong_atomic(rank, offset, op),
        }
    }

    /// The address of a place in a segment, for its owner.
    fn owners_address(&self, rank: RankId, offset: u64) -> usize {
        self.table().get(rank).map_or(0, |e| e.addr).wrapping_add(offset as usize)
    }

    /// An operation on a word that was checked, and is not mapped here.
    #[cold]
    pub(crate) fn atomic_far(&self, rank: RankId, offset: u64, op: Operation, operands: [u64; 2]) -> u64 {
        let mut old = 0u64;
        let result = (&raw mut old).cast::<u8>();
        // The low-order bytes of a value of 64 bits.
        let result = result.wrapping_add(if cfg!(target_endian = "big") { 8 - op.width() } else { 0 });
        let event = self.explicit(rank, |index| {
            let at = FarAccess { op: index, peer: rank, offset, len: op.width(), immediate: false };
            // SAFETY: `old` stays until the wait below is over; the word was checked.
            unsafe { self.far_atomic(at, op, operands, result) }
        });
        // Not immediate, and so not refused.
        let event = event.unwrap_or(Event::DONE);
        self.waits().wait_for("a remote atomic", Some(rank), || self.events().test_quietly(event));
        // SAFETY: nobody writes it any more.
        unsafe { (&raw const old).read_volatile() }
    }

    /// Does an operation whose word is mapped here; whether it is. The old value goes to `result` unless that
    /// is null.
    ///
    /// # Safety
    /// 1. `result` is valid for writes of the word's width, or null (owed by the caller).
    #[inline]
    unsafe fn atomic_here(
        &self,
        rank: RankId,
        offset: u64,
        op: Operation,
        [a, b]: [u64; 2],
        result: *mut u8,
    ) -> bool {
        let Place::Near(at) = self.word_at(rank, offset, op) else { return false };
        // SAFETY: inside a mapped segment and aligned.
        let old = unsafe { apply(at, op, a, b) };
        if !result.is_null() {
            // SAFETY: (1).
            unsafe { put_old(result, op.width(), old) };
        }
        true
    }

    #[cold]
    fn wrong_atomic(&self, rank: RankId, offset: u64, op: Operation) -> ! {
        if let Err(e) = self.wire.check_range("atomic operation", rank, offset, op.width()) {
            self.fatal(&e.to_string());
        }
        if !self.owners_address(rank, offset).is_multiple_of(op.width()) {
            self.fatal(&format!(
                "atomic operation on rank {rank} at offset {offset:#x}: must be a multiple of {}",
                op.width()
            ));
        }
        self.fatal(&format!("atomic {:?} on {:?}: defined for integers only", op.function, op.word))
    }
}

impl AtomicCalls<'_> {
    /// Does an atomic operation on the word at byte `offset` of a rank's segment and returns the old value as
    /// bits (32-bit types zero-extended).
    ///
    /// # One-sided
    /// # Completion
    /// On return the operation is done.
    ///
    /// # Panics
    /// Ends the job when the word is outside the segment or not aligned to its width, or its type lacks the
    /// function.
    #[inline]
    pub fn apply(self, rank: RankId, offset: u64, op: Operation, a: u64, b: u64) -> u64 {
        match self.rank.word_at(rank, offset, op) {
            // SAFETY: inside a mapped segment and aligned.
            Place::Near(at) => unsafe { apply(at, op, a, b) },
            Place::Far => self.rank.atomic_far(rank, offset, op, [a, b]),
        }
    }

    /// Starts an atomic operation; the word's old value goes to `old`, in as many bytes as the word has,
    /// unless that is null.
    ///
    /// # One-sided
    /// # Completion
    /// When the event is done, so is the operation, and the old value is there.
    ///
    /// # Safety
    /// 1. `old` is null, or valid for writes of the word and used by nobody until the event is done (owed by
    ///    the caller).
    ///
    /// # Panics
    /// As [`AtomicCalls::apply`].
    #[inline]
    pub unsafe fn apply_nb(
        self,
        rank: RankId,
        offset: u64,
        op: Operation,
        operands: [u64; 2],
        old: *mut u8,
    ) -> Event {
        // SAFETY: (1). Not immediate, and so not refused.
        unsafe { self.start(rank, offset, op, operands, old, false) }.unwrap_or(Event::DONE)
    }

    /// [`AtomicCalls::apply_nb`] as an implicit operation of this thread: what only sets a word counts as a
    /// put, reading one as a get, and everything else as a [read-modify-write](crate::Categories::RMWS).
    ///
    /// # Safety
    /// As [`AtomicCalls::apply_nb`], until the implicit operations of this kind (or the region) are
    /// synchronised.
    ///
    /// # Panics
    /// As [`AtomicCalls::apply`].
    #[inline]
    pub unsafe fn apply_nbi(
        self,
        rank: RankId,
        offset: u64,
        op: Operation,
        operands: [u64; 2],
        old: *mut u8,
    ) {
        // SAFETY: owed by the caller. Not immediate, and so not refused.
        unsafe { self.start_implicit(rank, offset, op, operands, old, false) }.unwrap_or(());
    }

    /// [`AtomicCalls::apply_nb`], which with `immediate` may be refused.
    ///
    /// # Errors
    /// `immediate`, and there is no room: nothing was done.
    ///
    /// # Safety
    /// As [`AtomicCalls::apply_nb`].
    ///
    /// # Panics
    /// As [`AtomicCalls::apply`].
    #[inline]
    pub unsafe fn start(
        self,
        rank: RankId,
        offset: u64,
        op: Operation,
        operands: [u64; 2],
        result: *mut u8,
        immediate: bool,
    ) -> Result<Event, Refused> {
        // SAFETY: owed by the caller.
        if unsafe { self.rank.atomic_here(rank, offset, op, operands, result) } {
            return Ok(Event::DONE);
        }
        self.rank.explicit(rank, |index| {
            let at = FarAccess { op: index, peer: rank, offset, len: op.width(), immediate };
            // SAFETY: owed by the caller; the word was checked.
            unsafe { self.rank.far_atomic(at, op, operands, result) }
        })
    }

    /// [`AtomicCalls::apply_nbi`], which with `immediate` may be refused.
    ///
    /// # Errors
    /// As [`AtomicCalls::start`].
    ///
    /// # Safety
    /// As [`AtomicCalls::apply_nbi`].
    #[inline]
    pub unsafe fn start_implicit(
        self,
        rank: RankId,
        offset: u64,
        op: Operation,
        operands: [u64; 2],
        result: *mut u8,
        immediate: bool,
    ) -> Result<(), Refused> {
        // SAFETY: owed by the caller.
        if unsafe { self.rank.atomic_here(rank, offset, op, operands, result) } {
            return Ok(());
        }
        let index = self.rank.wire.ops.implicit(match op.function {
            Function::Set if result.is_null() => Implicit::Puts,
            Function::Get => Implicit::Gets,
            _ => Implicit::Rmws,
        });
        let at = FarAccess { op: index, peer: rank, offset, len: op.width(), immediate };
        // SAFETY: owed by the caller; the word was checked.
        unsafe { self.rank.far_atomic(at, op, operands, result) }
    }

    /// Adds to a `u64` of any rank's segment, wrapping, and returns what it was. As [`AtomicCalls::apply`].
    #[inline]
    pub fn fetch_add(self, at: GlobalPtr<u64>, n: u64) -> u64 {
        self.apply(at.rank(), at.offset(), on_words(Function::Add), n, 0)
    }

    /// Replaces a `u64` of any rank's segment by `new` if it is `expected`; returns what it was. As
    /// [`AtomicCalls::apply`].
    #[inline]
    pub fn compare_swap(self, at: GlobalPtr<u64>, expected: u64, new: u64) -> u64 {
        self.apply(at.rank(), at.offset(), on_words(Function::CompareSwap), expected, new)
    }

    /// Reads a word of any rank; what was done before it was set is visible then. One-sided; done when it
    /// returns.
    pub fn load(self, at: GlobalPtr<u64>) -> u64 {
        self.apply(at.rank(), at.offset(), on_words(Function::Get), 0, 0)
    }

    /// Sets a word of any rank, after all that was done before. One-sided; the word may change later.
    pub fn store(self, at: GlobalPtr<u64>, value: u64) {
        // The swap names a word that is not aligned, whatever the network.
        if self.rank.all_near() && at.offset().is_multiple_of(size_of::<u64>() as u64) {
            // A swap would wait for the line; a store does not.
            // ORDER: Release; pairs with the Acquire of `load`.
            fence(Ordering::Release);
            self.rank.write(at, value);
        } else {
            self.swap(at, value);
        }
    }

    /// As [`AtomicCalls::store`], done when it returns; returns what the word was.
    pub fn swap(self, at: GlobalPtr<u64>, value: u64) -> u64 {
        self.apply(at.rank(), at.offset(), on_words(Function::Set), value, 0)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn run(word: WordType, function: Function, old: u64, a: u64, b: u64) -> (u64, u64) {
        let mut cell = old;
        // SAFETY: a local, aligned word.
        let was = unsafe { apply((&raw mut cell).cast(), Operation { function, word }, a, b) };
        (was, cell)
    }

    /// Every function on every type against [`Operation::new_value`], itself checked by hand below.
    #[test]
    fn instructions_agree_with_the_definition() {
        let mut random = fastrand::Rng::with_seed(7);
        let mut next = || random.u64(..);
        for _ in 0..if cfg!(miri) { 3 } else { 20_000 } {
            for word in WordType::ALL {
                for function in Function::ALL {
                    let op = Operation { function, word };
                    let mask = if op.width() == 4 { u64::from(u32::MAX) } else { u64::MAX };
                    let value = |bits: u64| match word {
                        WordType::F32 => u64::from(((bits % 1000) as f32 - 500.0).to_bits()),
                        WordType::F64 => ((bits % 1000) as f64 - 500.0).to_bits(),
                        _ => bits & mask,
                    };
                    let (old, a, b) = (value(next()), value(next()), value(next()));
                    let a = if function == Function::CompareSwap && next() % 2 == 0 { old } else { a };
                    if !op.is_defined() {
                        continue;
                    }
                    let (was, is) = run(word, function, old, a, b);
                    assert_eq!(was, old);
                    assert_eq!(
                        is & mask,
                        op.new_value(old, a, b).unwrap_or(old) & mask,
                        "{op:?} {old:x} {a:x}"
                    );
                }
            }
        }
    }

    #[test]
    fn by_hand() {
        assert_eq!(run(WordType::I32, Function::Min, (-5i32) as u32 as u64, 3, 0).1 as i32, -5);
        assert_eq!(run(WordType::U32, Function::Min, u64::from(u32::MAX), 3, 0).1, 3);
        assert_eq!(run(WordType::I64, Function::Max, (-5i64) as u64, 3, 0).1, 3);
        assert_eq!(
            run(WordType::F64, Function::Add, 1.5f64.to_bits(), 2.0f64.to_bits(), 0).1,
            3.5f64.to_bits()
        );
        assert_eq!(run(WordType::U64, Function::CompareSwap, 5, 5, 9), (5, 9));
        assert_eq!(run(WordType::U64, Function::CompareSwap, 5, 6, 9), (5, 5));
        assert_eq!(run(WordType::I32, Function::Dec, 0, 0, 0).1 as i32, -1);
    }
}
