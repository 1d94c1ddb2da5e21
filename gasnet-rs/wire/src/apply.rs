//! Operations on words in memory that this process maps.
#![expect(unsafe_code, reason = "views words of mapped segments as atomics")]

use crate::narrow;
use core::sync::atomic::{AtomicU64, Ordering};
use gasnet_ops::{Instruction, Operation};

/// Does an operation on a word in memory and returns its old value (32-bit values zero-extended).
///
/// # Safety
/// 1. `at` is valid for reads and writes of the word, aligned to its width, and accessed by others with
///    atomics only (owed by the caller and the program).
#[inline]
pub unsafe fn apply(at: *mut u8, op: Operation, a: u64, b: u64) -> u64 {
    // Remote atomics order nothing by themselves across words, but programs build locks from them: acquire
    // and release. ORDER: AcqRel (Acquire for loads) in every arm, also of the narrow ones; pairs with the
    // same in other ranks' operations.
    use Instruction as I;
    use Ordering::{AcqRel, Acquire};
    if op.width() == 4 {
        let (x, y) = (a as u32, b as u32);
        // SAFETY: (1).
        let old = unsafe {
            match op.instruction() {
                I::Add(n) => narrow::add_4(at, n.integer(a, b) as u32),
                I::Swap => narrow::swap_4(at, x),
                I::CompareSwap => narrow::compare_exchange_4(at, x, y),
                I::Load | I::And | I::Or | I::Xor | I::Loop => {
                    narrow::update_4(at, |old| op.new_value(u64::from(old), a, b).map(|v| v as u32))
                }
            }
        };
        return u64::from(old);
    }
    // SAFETY: (1).
    let word = unsafe { &*at.cast::<AtomicU64>() };
    match op.instruction() {
        I::Load => word.load(Acquire),
        I::Add(n) => word.fetch_add(n.integer(a, b), AcqRel),
        I::And => word.fetch_and(a, AcqRel),
        I::Or => word.fetch_or(a, AcqRel),
        I::Xor => word.fetch_xor(a, AcqRel),
        I::Swap => word.swap(a, AcqRel),
        I::CompareSwap => word.compare_exchange(a, b, AcqRel, Acquire).unwrap_or_else(|old| old),
        I::Loop => {
            word.fetch_update(AcqRel, Acquire, |old| op.new_value(old, a, b)).unwrap_or_else(|old| old)
        }
    }
}

/// Leaves an old value, given as bits, in as many bytes as its word has.
///
/// # Safety
/// 1. `to` is valid for writes of `width` bytes, 4 or 8 (owed by the caller).
#[inline]
pub unsafe fn put_old(to: *mut u8, width: usize, old: u64) {
    // SAFETY: (1).
    unsafe {
        match width {
            4 => to.cast::<u32>().write_unaligned(old as u32),
            _ => to.cast::<u64>().write_unaligned(old),
        }
    }
}
