//! Accesses of 1, 2 and 4 bytes to memory that others may access at the same time, in other widths too.
//!
//! A program may write a byte of a word while another rank adds to all of it. Processors know what comes of
//! that; Rust's memory model does not: atomic accesses of different sizes that overlap and race are
//! undefined. So the memory that ranks share knows one width to the language: the aligned word of 8 bytes, an
//! `AtomicU64`. What is narrower is done here, in assembly, and stands for an access to the word around it: a
//! load for a relaxed load of the word, of which the rest is thrown away; a store, or an exchange, for a
//! read-modify-write of the word that leaves the rest as it is. That is what x86-64 and arm64 do: an aligned
//! access of up to 8 bytes lies in one line of the cache, is done as a whole while the processor owns the
//! line, and writes no other byte. So every run of the machine is one that the language allows for the wide
//! accesses. Copies of any length by C's `memmove` ([`crate::bytes`]) stand for such accesses, too, one after
//! the other.
//!
//! Memory of the program itself that nobody shares may end within a word; there nothing races, and an access
//! stands for itself.
#![expect(unsafe_code, reason = "assembly that follows addresses")]

use crate::prim::{Ordering, fence};
#[cfg(not(miri))]
use core::arch::asm;

/// One instruction for each processor.
#[cfg(not(miri))]
macro_rules! instruction {
    ($x86:literal, $arm:literal, $($operands:tt)*) => {{
        #[cfg(target_arch = "x86_64")]
        asm!($x86, $($operands)*);
        #[cfg(target_arch = "aarch64")]
        asm!($arm, $($operands)*);
    }};
}

macro_rules! accesses {
    ($load:ident, $store:ident, $word:ty, $atomic:ident, $class:ident,
     $x86_load:literal, $x86_store:literal, $arm_load:literal, $arm_store:literal) => {
        /// Loads a word, as a whole.
        ///
        /// # Safety
        /// 1. `at` is valid for reads of the word, and aligned to it (owed by the caller).
        #[inline(always)]
        pub(crate) unsafe fn $load(at: *const u8) -> $word {
            #[cfg(miri)]
            // SAFETY: (1).
            return unsafe { (*at.cast::<core::sync::atomic::$atomic>()).load(core::sync::atomic::Ordering::Relaxed) };
            #[cfg(not(miri))]
            {
                let word: u32;
                // SAFETY: (1); it reads the word, and nothing else.
                unsafe {
                    instruction!($x86_load, $arm_load, at = in(reg) at, word = lateout(reg) word,
                        options(nostack, preserves_flags, readonly));
                }
                word as $word
            }
        }

        /// Stores a word, as a whole, once.
        ///
        /// # Safety
        /// 1. `at` is valid for writes of the word, and aligned to it (owed by the caller).
        #[inline(always)]
        pub(crate) unsafe fn $store(at: *mut u8, word: $word) {
            #[cfg(miri)]
            // SAFETY: (1).
            unsafe {
                (*at.cast::<core::sync::atomic::$atomic>()).store(word, core::sync::atomic::Ordering::Relaxed);
            }
            // SAFETY: (1); it writes the word, and nothing else.
            #[cfg(all(not(miri), target_arch = "x86_64"))]
            unsafe {
                asm!($x86_store, at = in(reg) at, word = in($class) word, options(nostack, preserves_flags));
            }
            // SAFETY: as above.
            #[cfg(all(not(miri), target_arch = "aarch64"))]
            unsafe {
                asm!($arm_store, at = in(reg) at, word = in(reg) u32::from(word), options(nostack, preserves_flags));
            }
        }
    };
}

accesses!(
    load_1,
    store_1,
    u8,
    AtomicU8,
    reg_byte,
    "movzx {word:e}, byte ptr [{at}]",
    "mov byte ptr [{at}], {word}",
    "ldrb {word:w}, [{at}]",
    "strb {word:w}, [{at}]"
);
accesses!(
    load_2,
    store_2,
    u16,
    AtomicU16,
    reg,
    "movzx {word:e}, word ptr [{at}]",
    "mov word ptr [{at}], {word:x}",
    "ldrh {word:w}, [{at}]",
    "strh {word:w}, [{at}]"
);
accesses!(
    load_4,
    store_4,
    u32,
    AtomicU32,
    reg,
    "mov {word:e}, dword ptr [{at}]",
    "mov dword ptr [{at}], {word:e}",
    "ldr {word:w}, [{at}]",
    "str {word:w}, [{at}]"
);

/// Replaces a word of 4 bytes by `new` if it is `expected`; what it was. Acquires and releases.
///
/// # Safety
/// 1. `at` is valid for reads and writes of the word, and aligned to it (owed by the caller).
#[inline]
pub(crate) unsafe fn compare_exchange_4(at: *mut u8, expected: u32, new: u32) -> u32 {
    #[cfg(miri)]
    {
        use core::sync::atomic::{
            AtomicU32,
            Ordering::{AcqRel, Acquire},
        };
        // ORDER: AcqRel; pairs with itself in other ranks' operations.
        // SAFETY: (1).
        let seen = unsafe { (*at.cast::<AtomicU32>()).compare_exchange(expected, new, AcqRel, Acquire) };
        return seen.unwrap_or_else(|now| now);
    }
    #[cfg(all(not(miri), target_arch = "x86_64"))]
    {
        let was: u32;
        // SAFETY: (1).
        unsafe {
            asm!("lock cmpxchg dword ptr [{at}], {new:e}", at = in(reg) at, new = in(reg) new,
                inout("eax") expected => was, options(nostack));
        }
        was
    }
    #[cfg(all(not(miri), target_arch = "aarch64"))]
    {
        let was: u32;
        // SAFETY: (1).
        unsafe {
            asm!("2: ldaxr {was:w}, [{at}]", "cmp {was:w}, {expected:w}", "b.ne 3f",
                "stlxr {failed:w}, {new:w}, [{at}]", "cbnz {failed:w}, 2b", "3:",
                at = in(reg) at, new = in(reg) new, expected = in(reg) expected,
                was = out(reg) was, failed = out(reg) _, options(nostack));
        }
        was
    }
}

/// Replaces a word of 4 bytes; what it was. Acquires and releases.
///
/// # Safety
/// As [`compare_exchange_4`].
#[inline]
pub(crate) unsafe fn swap_4(at: *mut u8, new: u32) -> u32 {
    #[cfg(all(not(miri), target_arch = "x86_64"))]
    {
        let was: u32;
        // SAFETY: owed by the caller.
        unsafe {
            asm!("xchg dword ptr [{at}], {new:e}", at = in(reg) at, new = inout(reg) new => was,
                options(nostack, preserves_flags));
        }
        was
    }
    #[cfg(not(all(not(miri), target_arch = "x86_64")))]
    // SAFETY: owed by the caller.
    unsafe {
        update_4(at, |_| Some(new))
    }
}

/// Adds to a word of 4 bytes, wrapping; what it was. Acquires and releases.
///
/// # Safety
/// As [`compare_exchange_4`].
#[inline]
pub(crate) unsafe fn add_4(at: *mut u8, n: u32) -> u32 {
    #[cfg(all(not(miri), target_arch = "x86_64"))]
    {
        let was: u32;
        // SAFETY: owed by the caller.
        unsafe {
            asm!("lock xadd dword ptr [{at}], {n:e}", at = in(reg) at, n = inout(reg) n => was, options(nostack));
        }
        was
    }
    #[cfg(not(all(not(miri), target_arch = "x86_64")))]
    // SAFETY: owed by the caller.
    unsafe {
        update_4(at, |was| Some(was.wrapping_add(n)))
    }
}

/// Replaces a word of 4 bytes by what `f` makes of it, if that is something; what it was. Acquires, and
/// releases if it writes.
///
/// # Safety
/// As [`compare_exchange_4`].
#[inline]
pub(crate) unsafe fn update_4(at: *mut u8, f: impl Fn(u32) -> Option<u32>) -> u32 {
    // SAFETY: owed by the caller.
    let mut seen = unsafe { load_4(at) };
    loop {
        let Some(new) = f(seen) else {
            // ORDER: Acquire; pairs with the releasing operations of others on the word.
            fence(Ordering::Acquire);
            return seen;
        };
        // SAFETY: owed by the caller.
        let was = unsafe { compare_exchange_4(at, seen, new) };
        if was == seen {
            return was;
        }
        seen = was;
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Narrow accesses change no byte around them.
    #[test]
    #[cfg_attr(miri, ignore = "mixes atomics of several widths")]
    fn bytes_around_stay() {
        #[repr(align(8))]
        struct Aligned([u8; 8]);
        for at in 0..8 {
            let mut aligned = Aligned([0x55; 8]);
            let word = &mut aligned.0;
            let p = word.as_mut_ptr().wrapping_add(at);
            let expected = |n: usize| {
                let mut bytes = [0x55; 8];
                bytes[at..at + n].copy_from_slice(&[1, 2, 3, 4][..n]);
                bytes
            };
            // SAFETY: in the word, and aligned.
            unsafe {
                store_1(p, 1);
                assert_eq!((*word, load_1(p)), (expected(1), 1));
                if at % 2 == 0 {
                    store_2(p, 0x0201);
                    assert_eq!((*word, load_2(p)), (expected(2), 0x0201));
                }
                if at % 4 == 0 {
                    store_4(p, 0x0403_0201);
                    assert_eq!((*word, load_4(p)), (expected(4), 0x0403_0201));
                    assert_eq!(compare_exchange_4(p, 7, 9), 0x0403_0201);
                    assert_eq!(compare_exchange_4(p, 0x0403_0201, 9), 0x0403_0201);
                    assert_eq!([swap_4(p, u32::MAX), add_4(p, 6), load_4(p)], [9, u32::MAX, 5]);
                    assert_eq!([update_4(p, |_| None), update_4(p, |n| Some(n * 2)), load_4(p)], [5, 5, 10]);
                    let other = at ^ 4;
                    assert!(word[other..other + 4].iter().all(|b| *b == 0x55));
                }
            }
        }
    }

    /// Halves of a word are counted up while all of it is.
    #[test]
    fn widths_mix() {
        use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
        const TIMES: u64 = if cfg!(miri) { 20 } else { 20_000 };
        // Miri has no story for this.
        if cfg!(miri) {
            return;
        }
        let word = AtomicU64::new(0);
        std::thread::scope(|s| {
            let at = word.as_ptr() as usize;
            for half in [0, 4] {
                s.spawn(move || {
                    for _ in 0..TIMES {
                        // SAFETY: half of the word, which stays.
                        unsafe { add_4((at + half) as *mut u8, 1) };
                    }
                });
            }
            for _ in 0..TIMES {
                word.fetch_add(1 | (1 << 32), Relaxed);
            }
        });
        assert_eq!(word.load(Relaxed), (2 * TIMES) | ((2 * TIMES) << 32));
    }
}
