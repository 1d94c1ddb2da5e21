//! Copies of many runs of bytes between memory that this process maps: the loops that everything else in
//! [`crate::vis`] comes down to.
//!
//! A run of 1, 2, 4, 8, 16, 32 or 64 bytes has a loop of its own, without a decision in it; others are two
//! overlapping parts of such lengths, or a call of the C library. As in [`crate::bytes`], others may read and
//! write the memory meanwhile, so it is accessed by assembly alone; words of up to 8 bytes, aligned or not,
//! are read once and written once.
#![expect(unsafe_code, reason = "copies raw memory")]

use gasnet_wire::bytes;

/// Where runs begin.
pub(super) trait Places: Copy {
    /// The address of run `i`.
    ///
    /// # Safety
    /// 1. There is such a run (owed by the caller).
    unsafe fn at(self, i: usize) -> *mut u8;
}

/// Runs at equal distances.
#[derive(Debug, Clone, Copy)]
pub(super) struct Even {
    pub(super) at: usize,
    pub(super) step: usize,
}

impl Places for Even {
    #[inline(always)]
    unsafe fn at(self, i: usize) -> *mut u8 {
        core::ptr::with_exposed_provenance_mut(self.at.wrapping_add(i.wrapping_mul(self.step)))
    }
}

/// Runs at listed places.
#[derive(Debug, Clone, Copy)]
pub(super) struct Listed {
    /// The first place in the list.
    pub(super) first: *const usize,
    /// Words from one place to the next: 1, or 2 where lengths are in between.
    pub(super) words: usize,
    /// The distance from a place to its address here.
    pub(super) shift: usize,
}

impl Places for Listed {
    #[inline(always)]
    unsafe fn at(self, i: usize) -> *mut u8 {
        // SAFETY: (1): the list has an entry for it.
        let place = unsafe { *self.first.add(i * self.words) };
        core::ptr::with_exposed_provenance_mut(place.wrapping_add(self.shift))
    }
}

/// A level of a box: so many of what the levels before it make, at these distances.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Level {
    pub(super) count: usize,
    pub(super) to: usize,
    pub(super) from: usize,
}

impl Level {
    /// Whether an outer level goes on where this one ends, on both sides.
    pub(super) fn continues(&self, outer: &Level) -> bool {
        outer.to == self.count.wrapping_mul(self.to) && outer.from == self.count.wrapping_mul(self.from)
    }
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod word {
    //! Words that travel through a register.
    use core::arch::{asm, x86_64::__m128i};

    macro_rules! word {
        ($name:ident, $type:ty, $class:ident, $load:literal, $store:literal) => {
            /// # Safety
            /// 1. Both are valid for a word of this length (owed by the caller).
            #[inline(always)]
            pub(super) unsafe fn $name(to: *mut u8, from: *const u8) {
                let word: $type;
                // SAFETY: (1), both.
                unsafe {
                    asm!($load, from = in(reg) from, word = lateout($class) word,
                        options(nostack, preserves_flags, readonly));
                    asm!($store, to = in(reg) to, word = in($class) word, options(nostack, preserves_flags));
                }
            }
        };
    }
    word!(copy_1, u32, reg_abcd, "movzx {word:e}, byte ptr [{from}]", "mov byte ptr [{to}], {word:l}");
    word!(copy_2, u32, reg, "movzx {word:e}, word ptr [{from}]", "mov word ptr [{to}], {word:x}");
    word!(copy_4, u32, reg, "mov {word:e}, dword ptr [{from}]", "mov dword ptr [{to}], {word:e}");
    word!(copy_8, u64, reg, "mov {word}, [{from}]", "mov [{to}], {word}");

    /// Copies `N` blocks of 16 bytes; all are read before any is written.
    ///
    /// # Safety
    /// 1. Both are valid for the blocks at these distances (owed by the caller).
    #[inline(always)]
    pub(super) unsafe fn copy_blocks<const N: usize>(to: *mut u8, from: *const u8, distances: [usize; N]) {
        let blocks = distances.map(|at| {
            let block: __m128i;
            // SAFETY: (1).
            unsafe {
                asm!("movups {block}, [{from}]", from = in(reg) from.wrapping_add(at), block = lateout(xmm_reg) block,
                    options(nostack, preserves_flags, readonly));
            }
            block
        });
        for (block, at) in blocks.into_iter().zip(distances) {
            // SAFETY: (1).
            unsafe {
                asm!("movups [{to}], {block}", to = in(reg) to.wrapping_add(at), block = in(xmm_reg) block,
                    options(nostack, preserves_flags));
            }
        }
    }
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod wide {
    //! Runs that travel through registers of 32 bytes: half the instructions of those of 16.
    use core::arch::asm;

    /// # Safety
    /// 1. Both are valid for 32 bytes (owed by the caller). 2. The processor has AVX (owed by the caller).
    #[inline(always)]
    pub(super) unsafe fn copy_32(to: *mut u8, from: *const u8) {
        // SAFETY: (1), (2).
        unsafe {
            asm!("vmovdqu ymm0, [{from}]", "vmovdqu [{to}], ymm0", to = in(reg) to, from = in(reg) from,
                out("xmm0") _, options(nostack, preserves_flags));
        }
    }

    /// # Safety
    /// As [`copy_32`], of 64 bytes.
    #[inline(always)]
    pub(super) unsafe fn copy_64(to: *mut u8, from: *const u8) {
        // SAFETY: (1), (2).
        unsafe {
            asm!("vmovdqu ymm0, [{from}]", "vmovdqu ymm1, [{from} + 32]", "vmovdqu [{to}], ymm0",
                "vmovdqu [{to} + 32], ymm1", to = in(reg) to, from = in(reg) from, out("xmm0") _, out("xmm1") _,
                options(nostack, preserves_flags));
        }
    }

    /// Copies 65 to 128 bytes, by blocks that may overlap; all are read before any is written.
    ///
    /// # Safety
    /// As [`copy_32`], of `len` bytes. 3. `len` is 64 or more (owed by the caller).
    #[inline(always)]
    pub(super) unsafe fn copy_to_128(to: *mut u8, from: *const u8, len: usize) {
        // SAFETY: (1), (2), (3).
        unsafe {
            asm!("vmovdqu ymm0, [{from}]", "vmovdqu ymm1, [{from} + 32]", "vmovdqu ymm2, [{from} + {len} - 64]",
                "vmovdqu ymm3, [{from} + {len} - 32]", "vmovdqu [{to}], ymm0", "vmovdqu [{to} + 32], ymm1",
                "vmovdqu [{to} + {len} - 64], ymm2", "vmovdqu [{to} + {len} - 32], ymm3", to = in(reg) to,
                from = in(reg) from, len = in(reg) len, out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _,
                options(nostack, preserves_flags));
        }
    }

    /// Has the processor forget the upper halves, which slow down instructions that know nothing of them.
    ///
    /// # Safety
    /// 1. The processor has AVX (owed by the caller).
    #[inline(always)]
    pub(super) unsafe fn over() {
        // SAFETY: (1).
        unsafe { asm!("vzeroupper", clobber_abi("sysv64"), options(nostack)) }
    }
}

/// Whether runs of this length go by [`wide`].
#[cfg(all(target_arch = "x86_64", not(miri)))]
fn is_wide(len: usize) -> bool {
    matches!(len, 32 | 64) && bytes::has_blocks()
}

/// Copies a run of `N` bytes, with `WIDE` by registers of 32 bytes.
///
/// # Safety
/// 1. Both are valid for `N` bytes, and others access them as [`bytes`] says (owed by the caller). 2. `WIDE`
///    is what [`is_wide`] said (owed by the caller).
#[inline(always)]
unsafe fn run<const N: usize, const WIDE: bool>(to: *mut u8, from: *const u8) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: (1), (2), all.
    unsafe {
        match N {
            32 if WIDE => return wide::copy_32(to, from),
            64 if WIDE => return wide::copy_64(to, from),
            1 => return word::copy_1(to, from),
            2 => return word::copy_2(to, from),
            4 => return word::copy_4(to, from),
            8 => return word::copy_8(to, from),
            16 => return word::copy_blocks(to, from, [0]),
            32 => return word::copy_blocks(to, from, [0, 16]),
            64 => return word::copy_blocks(to, from, [0, 16, 32, 48]),
            _ => {}
        }
    }
    // SAFETY: (1).
    unsafe { bytes::store(to, from, N) }
}

/// Copies a run of any length; `get` says that it is `from` that others write.
///
/// # Safety
/// As [`run`], of `len` bytes.
#[inline(always)]
pub(super) unsafe fn run_of(len: usize, to: *mut u8, from: *const u8, get: bool) {
    // SAFETY: owed by the caller, all; two parts of a run lie in it.
    unsafe {
        match len {
            65.. if get => bytes::load(to, from, len),
            65.. => bytes::copy(to, from, len),
            0 => {}
            1 => run::<1, false>(to, from),
            2 => run::<2, false>(to, from),
            4 => run::<4, false>(to, from),
            8 => run::<8, false>(to, from),
            16 => run::<16, false>(to, from),
            32 => run::<32, false>(to, from),
            64 => run::<64, false>(to, from),
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            17..32 => word::copy_blocks(to, from, [0, len - 16]),
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            33..64 => word::copy_blocks(to, from, [0, 16, len - 32, len - 16]),
            _ => bytes::copy(to, from, len),
        }
    }
}

/// Copies runs of `N` bytes, or of `len` where `N` is 0.
///
/// # Safety
/// As [`copy`].
#[inline(always)]
unsafe fn each<const N: usize, const WIDE: bool>(
    to: impl Places,
    from: impl Places,
    count: usize,
    len: usize,
    get: bool,
) {
    // SAFETY: owed by the caller, all.
    unsafe {
        if N == 0 {
            match len {
                #[cfg(all(target_arch = "x86_64", not(miri)))]
                65..=128 if bytes::has_blocks() => {
                    for i in 0..count {
                        wide::copy_to_128(to.at(i), from.at(i), len);
                    }
                    wide::over();
                }
                65.. if !(get && bytes::loads_in_blocks(len)) => {
                    for i in 0..count {
                        bytes::copy(to.at(i), from.at(i), len);
                    }
                }
                _ => {
                    for i in 0..count {
                        run_of(len, to.at(i), from.at(i), get);
                    }
                }
            }
            return;
        }
        let mut i = 0;
        while i + 4 <= count {
            run::<N, WIDE>(to.at(i), from.at(i));
            run::<N, WIDE>(to.at(i + 1), from.at(i + 1));
            run::<N, WIDE>(to.at(i + 2), from.at(i + 2));
            run::<N, WIDE>(to.at(i + 3), from.at(i + 3));
            i += 4;
        }
        while i < count {
            run::<N, WIDE>(to.at(i), from.at(i));
            i += 1;
        }
    }
}

/// Has a function that is generic over the length of runs, and over how they travel, called for `len`.
macro_rules! by_length {
    ($len:expr, $function:ident($($argument:expr),*)) => {
        match $len {
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            32 if is_wide($len) => {
                $function::<32, true>($($argument),*);
                wide::over();
            }
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            64 if is_wide($len) => {
                $function::<64, true>($($argument),*);
                wide::over();
            }
            1 => $function::<1, false>($($argument),*),
            2 => $function::<2, false>($($argument),*),
            4 => $function::<4, false>($($argument),*),
            8 => $function::<8, false>($($argument),*),
            16 => $function::<16, false>($($argument),*),
            32 => $function::<32, false>($($argument),*),
            64 => $function::<64, false>($($argument),*),
            _ => $function::<0, false>($($argument),*),
        }
    };
}

/// Copies `count` runs of `len` bytes, in order; `get` says that it is `from` that others write.
///
/// # Safety
/// 1. All runs are valid, and others access them as [`bytes`] says (owed by the caller).
pub(super) unsafe fn copy(to: impl Places, from: impl Places, count: usize, len: usize, get: bool) {
    // SAFETY: (1).
    unsafe { by_length!(len, each(to, from, count, len, get)) }
}

/// Copies a box: runs of `len` bytes, at all places that the levels make, the first one innermost.
///
/// # Safety
/// As [`copy`].
pub(super) unsafe fn copy_box(to: usize, from: usize, len: usize, levels: &[Level], get: bool) {
    // SAFETY: owed by the caller.
    unsafe { by_length!(len, nest(to, from, len, levels, get)) }
}

/// # Safety
/// As [`copy_box`].
unsafe fn nest<const N: usize, const WIDE: bool>(
    to: usize,
    from: usize,
    len: usize,
    levels: &[Level],
    get: bool,
) {
    let pointer = core::ptr::with_exposed_provenance_mut::<u8>;
    // SAFETY: owed by the caller, all.
    unsafe {
        match levels {
            [] => run_of(len, pointer(to), pointer(from), get),
            [row] => {
                let (to, from) = (Even { at: to, step: row.to }, Even { at: from, step: row.from });
                each::<N, WIDE>(to, from, row.count, len, get);
            }
            [inner @ .., outer] => {
                let (mut to, mut from) = (to, from);
                for _ in 0..outer.count {
                    nest::<N, WIDE>(to, from, len, inner, get);
                    (to, from) = (to.wrapping_add(outer.to), from.wrapping_add(outer.from));
                }
            }
        }
    }
}
