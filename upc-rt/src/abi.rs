//! The types shared with emitted C (`upcc_abi.h`), and the two variables it reads directly.
#![expect(unsafe_code, reason = "exports variables to C")]

use std::cell::UnsafeCell;
use std::ffi::{c_char, c_int, c_uint};

/// Version of the interface between emitted C and this library.
pub const ABI: c_uint = 3;

/// Packed pointers-to-shared hold offsets of this many bits ...
pub const PACKED_OFFSET_BITS: u32 = 34;
/// ... and thread numbers below this.
pub const PACKED_THREADS: u32 = 1 << 10;

/// `struct __upc_rt`: the facts about the running program that emitted C needs.
#[repr(C)]
pub struct Rt {
    /// MYTHREAD.
    pub mythread: c_uint,
    /// THREADS.
    pub threads: c_uint,
    /// First directly addressable thread.
    pub first: c_uint,
    /// Number of directly addressable threads.
    pub mapped: c_uint,
    /// Address of (t, o) minus `t * stride + o`.
    pub base: *mut c_char,
    /// Distance between segments.
    pub stride: u64,
    /// For division by the number of threads: `ceil(2^(63 + shift) / threads)`.
    pub recip: u64,
    /// `ceil(log2(threads))`.
    pub shift: c_uint,
}

/// Holds [`Rt`]: written once, before any user code runs.
#[repr(transparent)]
pub struct RtCell(UnsafeCell<Rt>);

// SAFETY: written once, by the only thread of the process, before user code can start others; read only
// afterwards.
unsafe impl Sync for RtCell {}

/// Object files that find this where they are linked need not register what they define: they are part of a
/// program, or of a shared object with a runtime of its own.
#[unsafe(no_mangle)]
pub static __upc_program: c_char = 1;

/// The variable that emitted C reads.
#[unsafe(no_mangle)]
pub static __upc_rt: RtCell = RtCell(UnsafeCell::new(Rt {
    mythread: 0,
    threads: 0,
    first: 0,
    mapped: 0,
    base: std::ptr::null_mut(),
    stride: 0,
    recip: 0,
    shift: 0,
}));

impl RtCell {
    /// Sets the value.
    ///
    /// # Safety
    /// 1. No other thread of this process runs user code yet (owed by the caller).
    pub unsafe fn fill(&self, rt: Rt) {
        // SAFETY: (1).
        unsafe { *self.0.get() = rt };
    }
}

/// `struct __upc_shvar`: the proxy of a shared variable.
#[repr(C)]
pub struct Shvar {
    /// Its offset in every segment.
    pub offset: u64,
}

/// `struct __upc_shrec`: registers a shared variable.
#[repr(C)]
pub struct Shrec {
    /// The variable's proxy.
    pub proxy: *mut Shvar,
    /// Bytes on each thread.
    pub bytes_per_thread: u64,
    /// Alignment.
    pub align: u64,
    /// Its name.
    pub name: *const c_char,
    /// [`INITIALISED`], [`CHECKED`] and [`TIMES_THREADS`].
    pub flags: c_uint,
    /// Bytes on all threads together; 0 if that is not said.
    pub bytes: u64,
    /// Bytes of a block; 0 if all of it is one.
    pub block: u64,
}

// SAFETY: emitted C never changes a record, and who follows its pointers says why that may be done.
unsafe impl Sync for Shrec {}

/// Flag of a [`Shrec`]: the variable has an initialiser.
pub const INITIALISED: c_uint = 1;
/// Flag of a [`Shrec`]: the file was compiled with `-fsanitize=upc`.
pub const CHECKED: c_uint = 2;
/// Flag of a [`Shrec`]: there are so many bytes for each thread.
pub const TIMES_THREADS: c_uint = 4;

/// `__upc_initfn`: a function that initialises data of the calling thread.
pub type Startup = Option<extern "C" fn()>;

/// `struct __upc_object`: what an object file was compiled for.
#[repr(C)]
pub struct Object {
    /// [`ABI`].
    pub abi: c_uint,
    /// Non-zero: 16-byte pointers-to-shared.
    pub struct_pts: c_uint,
    /// Number of threads given at compile time, or 0.
    pub static_threads: c_int,
    /// Its source file.
    pub source: *const c_char,
}

/// `struct __upc_library`: a shared object's description of itself.
#[repr(C)]
pub struct Library {
    /// [`ABI`].
    pub abi: c_uint,
    /// Its name.
    pub name: *const c_char,
    /// The records of its files: the environment that each was compiled for.
    pub object_begin: *const Object,
    /// End of the files.
    pub object_end: *const Object,
    /// Registered variables.
    pub shrec_begin: *const Shrec,
    /// End of the registered variables.
    pub shrec_end: *const Shrec,
    /// Functions that initialise shared data.
    pub init_begin: *const Startup,
    /// End of the functions.
    pub init_end: *const Startup,
}

/// `struct __upc_image`: a program's description of itself.
#[repr(C)]
pub struct Image {
    /// [`ABI`].
    pub abi: c_uint,
    /// Non-zero: 16-byte pointers-to-shared.
    pub struct_pts: c_uint,
    /// Number of threads given at compile time, or 0.
    pub static_threads: c_int,
    /// The user's `main`.
    pub main: extern "C" fn(c_int, *mut *mut c_char) -> c_int,
    /// Registered variables.
    pub shrec_begin: *const Shrec,
    /// End of the registered variables.
    pub shrec_end: *const Shrec,
    /// Functions that initialise shared data.
    pub init_begin: *const Startup,
    /// End of the functions.
    pub init_end: *const Startup,
    /// Heap per thread asked for at compile time, or 0.
    pub heap_bytes: u64,
    /// The program's name.
    pub name: *const c_char,
    /// Settings from linking, or null.
    pub linked: *const Linked,
}

/// `struct __upc_linked`: settings given when the program was linked.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Linked {
    /// Heap per thread, or 0.
    pub heap_bytes: u64,
    /// Whether less heap than that is an error: 1 or 0, or -1 if unset.
    pub require_size: c_int,
    /// Whether less heap than that causes a warning: 1 or 0, or -1 if unset.
    pub size_warn: c_int,
}

/// The elements between two pointers.
///
/// # Safety
/// 1. They delimit an array that lives as long as the process, or are both null (owed by the caller).
pub unsafe fn slice<T>(begin: *const T, end: *const T) -> &'static [T] {
    let count = (end as usize - begin as usize) / size_of::<T>();
    if count == 0 {
        return &[];
    }
    // SAFETY: (1).
    unsafe { std::slice::from_raw_parts(begin, count) }
}

/// `recip` and `shift` for a number of threads.
pub fn reciprocal(threads: u32) -> (u64, c_uint) {
    let shift = threads.next_power_of_two().trailing_zeros();
    ((1u128 << (63 + shift)).div_ceil(threads.into()) as u64, shift)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// As `__upc_udivt` in `upcc_abi.h`.
    fn divide(n: u64, threads: u32) -> u64 {
        let (recip, shift) = reciprocal(threads);
        (((u128::from(n << 1) * u128::from(recip)) >> 64) as u64) >> shift
    }

    proptest! {
        #[test]
        fn multiplying_divides(n in 0..1u64 << 63, threads in 1..100_000u32) {
            prop_assert_eq!(divide(n, threads), n / u64::from(threads));
            let edge = n - n % u64::from(threads);
            prop_assert_eq!(divide(edge, threads), edge / u64::from(threads));
            prop_assert_eq!(divide(edge.saturating_sub(1), threads), edge.saturating_sub(1) / u64::from(threads));
        }
    }
}
