//! Copies to and from memory that other threads and processes may access at the same time: segments.
//!
//! Nothing keeps two threads of a rank from writing and reading the same part of a segment at a time, in safe
//! code even. To the language that is a data race, and undefined, unless all accesses that meet are atomic.
//! So they are: 1, 2, 4 or 8 bytes, naturally aligned, are one relaxed load or store, and whoever meets it
//! sees the old value or the new one. Anything longer goes by C's `memmove`, called through a pointer that
//! the compiler cannot see through, or by a loop in assembler: foreign code, which to the language may do
//! anything that Rust could do, here a relaxed access for each byte, since that is what loads and stores of
//! the machine are. Transfers that meet leave or yield a mixture of bytes.
//!
//! That a word is stored *once* matters to programs: its owner may see a flag and reset it at once. C's
//! `memmove` stores words of 2, 4 and 8 bytes twice on common machines, and the second store would set the
//! flag again.
#![expect(unsafe_code, reason = "copies raw memory")]
#![expect(clippy::pointers_in_nomem_asm_block, reason = "a pointer to a function, not followed there")]

use crate::narrow;
use crate::segment::Shared;
use core::arch::asm;
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Copies `len` bytes to a place where others may read and write; the ranges may overlap.
///
/// # Safety
/// 1. `from` is valid for reads of `len` bytes that nobody writes, `to` for writes (owed by the caller). 2.
///    Others access `to` by atomics, by this module, or from another process.
#[inline]
pub unsafe fn store(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY, of all: (1), (2); aligned.
    match len {
        // SAFETY: see above.
        1 => unsafe { narrow::store_1(to, from.read()) },
        // SAFETY: see above.
        2 if to.addr().is_multiple_of(2) => unsafe {
            narrow::store_2(to, from.cast::<u16>().read_unaligned())
        },
        // SAFETY: see above.
        4 if to.addr().is_multiple_of(4) => unsafe {
            narrow::store_4(to, from.cast::<u32>().read_unaligned())
        },
        8 if to.addr().is_multiple_of(8) => {
            // SAFETY: see above.
            unsafe { (*to.cast::<AtomicU64>()).store(from.cast::<u64>().read_unaligned(), Relaxed) }
        }
        // SAFETY: (1), (2).
        _ => unsafe { copy(to, from, len) },
    }
}

/// Copies `len` bytes from a place where others may write; the ranges may overlap.
///
/// # Safety
/// 1. `from` is valid for reads of `len` bytes, `to` for writes, and nobody else uses it (owed by the
///    caller). 2. Others access `from` by atomics, by this module, or from another process.
#[inline]
pub unsafe fn load(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY, of all: (1), (2); aligned.
    match len {
        // SAFETY: see above.
        1 => unsafe { to.write(narrow::load_1(from)) },
        // SAFETY: see above.
        2 if from.addr().is_multiple_of(2) => unsafe {
            to.cast::<u16>().write_unaligned(narrow::load_2(from))
        },
        // SAFETY: see above.
        4 if from.addr().is_multiple_of(4) => unsafe {
            to.cast::<u32>().write_unaligned(narrow::load_4(from))
        },
        8 if from.addr().is_multiple_of(8) => {
            // SAFETY: see above.
            unsafe { to.cast::<u64>().write_unaligned((*from.cast::<AtomicU64>()).load(Relaxed)) }
        }
        // SAFETY: (1), (2); just asked.
        _ if in_blocks(to, from, len) => unsafe { copy_in_blocks(to, from, len) },
        // SAFETY: (1), (2).
        _ => unsafe { copy(to, from, len) },
    }
}

/// A value where others may write, if it is a word: [`load`] for one that stays in a register.
///
/// # Safety
/// As [`load`].
#[inline]
pub unsafe fn word<T: Shared>(from: *const u8) -> Option<T> {
    if !matches!(size_of::<T>(), 1 | 2 | 4 | 8) || !from.addr().is_multiple_of(size_of::<T>()) {
        return None;
    }
    let mut value = T::zeroed();
    // SAFETY: owed by the caller; any bytes are a T. Its length is known, so no call sees where `value` lies.
    unsafe { load((&raw mut value).cast(), from, size_of::<T>()) };
    Some(value)
}

/// Has the compiler forget which function this is.
macro_rules! forget {
    ($function:ident) => {
        // SAFETY: no instruction at all.
        unsafe { asm!("/* {0} */", inout(reg) $function, options(pure, nomem, nostack, preserves_flags)) }
    };
}

/// [`store`] and [`load`] of what is no word.
///
/// # Safety
/// As [`store`] or [`load`].
#[inline]
pub unsafe fn copy(to: *mut u8, from: *const u8, len: usize) {
    if cfg!(miri) {
        // SAFETY: owed by the caller.
        return unsafe { core::ptr::copy(from, to, len) };
    }
    let mut function: unsafe extern "C" fn(*mut c_void, *const c_void, usize) -> *mut c_void = libc::memmove;
    forget!(function);
    // SAFETY: owed by the caller.
    unsafe { function(to.cast(), from.cast(), len) };
}

/// Bytes of a round of [`blocks`], four registers of AVX.
const BLOCK_BYTES: usize = 128;
/// Lengths that are loaded in blocks. For these the C library takes `rep movsb` on many processors, which
/// waits for what comes before and keeps back what comes after; a loop of loads and stores overlaps with
/// them, and fetches more lines from another processor's cache at a time. Shorter ones the library copies by
/// such a loop itself, of longer ones neither is faster. Stores do not go in blocks: where others read what
/// they replace, `rep movsb` was faster.
const IN_BLOCKS: core::ops::RangeInclusive<usize> = 2049..=32 << 10;

/// # Safety
/// 1. As [`load`], in order of address. 2. [`in_blocks`] said so.
#[inline]
unsafe fn copy_in_blocks(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: (1), (2).
    unsafe {
        let done = blocks(to, from, len);
        copy(to.add(done), from.add(done), len - done);
    }
}

/// Whether [`load`] of so many bytes may go in blocks, which depends on the places besides. If not, it is
/// [`copy`].
#[inline]
pub fn loads_in_blocks(len: usize) -> bool {
    IN_BLOCKS.contains(&len)
}

/// Whether a copy is made in blocks: of such a length, to where no store of a register crosses a cache line,
/// and not onto bytes that are still to be read.
#[inline]
fn in_blocks(to: *mut u8, from: *const u8, len: usize) -> bool {
    !cfg!(miri)
        && loads_in_blocks(len)
        && to.addr().is_multiple_of(32)
        && to.addr().wrapping_sub(from.addr()) >= len
        && has_blocks()
}

/// Whether the processor has registers of 32 bytes.
#[cfg(target_arch = "x86_64")]
#[inline]
pub fn has_blocks() -> bool {
    std::is_x86_feature_detected!("avx")
}

/// Whether the processor has registers of 32 bytes.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
pub fn has_blocks() -> bool {
    false
}

/// Copies all but the last bytes, which do not make a block; returns how many. It is foreign code, as
/// `memmove` is.
///
/// # Safety
/// As [`copy_in_blocks`].
#[cfg(target_arch = "x86_64")]
unsafe fn blocks(to: *mut u8, from: *const u8, len: usize) -> usize {
    let done = len - len % BLOCK_BYTES;
    // SAFETY: owed by the caller: the processor has these instructions, and there is a block at least.
    unsafe {
        asm!(
            "2:",
            "vmovdqu ymm0, [{from} + rax]",
            "vmovdqu ymm1, [{from} + rax + 32]",
            "vmovdqu ymm2, [{from} + rax + 64]",
            "vmovdqu ymm3, [{from} + rax + 96]",
            "vmovdqa [{to} + rax], ymm0",
            "vmovdqa [{to} + rax + 32], ymm1",
            "vmovdqa [{to} + rax + 64], ymm2",
            "vmovdqa [{to} + rax + 96], ymm3",
            "add rax, 128",
            "jnz 2b",
            "vzeroupper",
            from = in(reg) from.add(done),
            to = in(reg) to.add(done),
            inout("rax") 0usize.wrapping_sub(done) => _,
            clobber_abi("sysv64"),
            options(nostack),
        );
    }
    done
}

#[cfg(not(target_arch = "x86_64"))]
unsafe fn blocks(_: *mut u8, _: *const u8, _: usize) -> usize {
    0
}

/// Longest memory that [`prefetch`] asks for: of longer one the processor fetches the rest by itself while
/// the first lines are read, and if nobody reads it, it stays where it is written next.
#[cfg(target_arch = "x86_64")]
const PREFETCH_BYTES: usize = 512;

/// Asks for the lines of a piece of memory that this processor will probably read, at an address that may be
/// any: they come from the processor that wrote them while this one does something else.
#[inline]
pub(crate) fn prefetch(at: *const u8, len: usize) {
    #[cfg(target_arch = "x86_64")]
    if len <= PREFETCH_BYTES {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        for line in (0..len).step_by(64) {
            // SAFETY: a hint, which reads nothing and never faults.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(at.wrapping_add(line).cast()) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (at, len);
}

/// Sets `len` bytes of a place where others may read and write.
///
/// # Safety
/// As [`store`], without a source.
#[inline]
pub unsafe fn fill(to: *mut u8, value: u8, len: usize) {
    if matches!(len, 1 | 2 | 4 | 8) {
        let word = [value; 8];
        // SAFETY: owed by the caller.
        return unsafe { store(to, word.as_ptr(), len) };
    }
    if cfg!(miri) {
        // SAFETY: owed by the caller.
        return unsafe { core::ptr::write_bytes(to, value, len) };
    }
    let mut function: unsafe extern "C" fn(*mut c_void, c_int, usize) -> *mut c_void = libc::memset;
    forget!(function);
    // SAFETY: owed by the caller.
    unsafe { function(to.cast(), value.into(), len) };
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Stores of this thread to a word, as the processor's debug registers count them. `None`: the system
    /// does not let us.
    fn counted_stores(word: &AtomicU64, mut work: impl FnMut()) -> Option<u64> {
        use std::io::Read;
        use std::os::fd::FromRawFd;
        /// `struct perf_event_attr`, its second version.
        #[repr(C)]
        struct Attributes {
            kind: u32,
            size: u32,
            before: [u64; 4],
            flags: u64,
            wakeup: u32,
            access: u32,
            at: u64,
            len: u64,
        }
        const BREAKPOINT: u32 = 5;
        const WRITES: u32 = 2;
        const NEITHER_KERNEL_NOR_HYPERVISOR: u64 = 3 << 5;
        let attributes = Attributes {
            kind: BREAKPOINT,
            size: size_of::<Attributes>() as u32,
            before: [0; 4],
            flags: NEITHER_KERNEL_NOR_HYPERVISOR,
            wakeup: 0,
            access: WRITES,
            at: word.as_ptr() as u64,
            len: 8,
        };
        // SAFETY: attributes of the size they say; this thread, any processor, no group.
        let fd = unsafe { libc::syscall(libc::SYS_perf_event_open, &raw const attributes, 0, -1, -1, 0) };
        if fd < 0 {
            return None;
        }
        // SAFETY: a descriptor just made, which nobody else owns.
        let mut counter = unsafe { std::fs::File::from_raw_fd(fd as i32) };
        let mut count = || {
            let mut bytes = [0; 8];
            counter.read_exact(&mut bytes).ok().map(|()| u64::from_ne_bytes(bytes))
        };
        let before = count()?;
        work();
        Some(count()? - before)
    }

    #[test]
    #[cfg_attr(miri, ignore = "asks the kernel")]
    fn words_are_stored_once() {
        let (word, to_see) = (AtomicU64::new(0), AtomicU64::new(0));
        if counted_stores(&to_see, || to_see.store(1, Relaxed)) != Some(1) {
            println!("not tested: stores are not counted here");
            return;
        }
        let (at, source) = (word.as_ptr().cast::<u8>(), 7u64);
        for len in [1, 2, 4, 8] {
            let len = core::hint::black_box(len);
            // SAFETY: inside the word, by this thread.
            let stored = counted_stores(&word, || unsafe { store(at, (&raw const source).cast(), len) });
            // SAFETY: as above.
            let filled = counted_stores(&word, || unsafe { fill(at, 9, len) });
            assert_eq!((stored, filled), (Some(1), Some(1)), "{len} bytes");
        }
    }

    /// Every length up to some words, at every alignment of both sides, and overlapping.
    #[test]
    fn all_lengths_and_places() {
        let data: Vec<u8> = (1..=64).collect();
        let step = if cfg!(miri) { 4 } else { 1 };
        for len in (0..24).step_by(step).chain([1, 2]) {
            for (i, j) in (0..8).step_by(step).flat_map(|i| (0..8).map(move |j| (i, j))) {
                for by in [store, load] {
                    let mut to = [0u64; 8];
                    let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut to);
                    // SAFETY: inside both.
                    unsafe { by(bytes.as_mut_ptr().add(j), data.as_ptr().add(i), len) };
                    assert_eq!(bytes[j..j + len], data[i..i + len]);
                    assert!(bytes[..j].iter().chain(&bytes[j + len..]).all(|b| *b == 0));
                    let mut same = data.clone();
                    let at = same.as_mut_ptr();
                    // SAFETY: inside.
                    unsafe { by(at.add(j), at.add(i), len) };
                    assert_eq!(same[j..j + len], data[i..i + len]);
                }
            }
            let mut to = [0u8; 32];
            // SAFETY: inside.
            unsafe { fill(to.as_mut_ptr().add(3), 7, len) };
            assert!(to.iter().enumerate().all(|(i, b)| *b == if (3..3 + len).contains(&i) { 7 } else { 0 }));
        }
    }

    /// Lengths around those copied in blocks, whatever the places are to each other.
    #[test]
    fn long_copies() {
        let seed = fastrand::u64(..);
        println!("seed {seed}");
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut data = vec![0u8; 140 << 10];
        rng.fill(&mut data);
        for round in 0..if cfg!(miri) { 2 } else { 2000 } {
            let len = rng.choice([2040..2060, 2176..2180, 4000..4200, 32700..33000]).unwrap();
            let len = rng.usize(len);
            let mut all = data.clone();
            let (from, to) = (rng.usize(..32 << 10), rng.usize(..32 << 10));
            let to = if round % 2 == 0 { to } else { 64 << 10 | to & !31 };
            let at = all.as_mut_ptr();
            let by = if rng.bool() { store } else { load };
            // SAFETY: inside.
            unsafe { by(at.add(to), at.add(from), len) };
            assert_eq!(all[to..to + len], data[from..from + len], "seed {seed}, round {round}");
            assert!(
                all[..to] == data[..to] && all[to + len..] == data[to + len..],
                "seed {seed}, round {round}"
            );
        }
    }

    /// Words written while they are read come out whole.
    #[test]
    fn words_are_not_torn() {
        let word = AtomicU64::new(0);
        std::thread::scope(|s| {
            s.spawn(|| {
                for i in 0..if cfg!(miri) { 100 } else { 200_000u64 } {
                    let value = i | i << 32;
                    // SAFETY: a word; the other thread reads it by this module.
                    unsafe { store(word.as_ptr().cast(), (&raw const value).cast(), 8) };
                }
            });
            for _ in 0..if cfg!(miri) { 100 } else { 200_000 } {
                let mut value = 0u64;
                // SAFETY: as above.
                unsafe { load((&raw mut value).cast(), word.as_ptr().cast_const().cast(), 8) };
                assert_eq!(value as u32, (value >> 32) as u32);
            }
        });
    }
}
