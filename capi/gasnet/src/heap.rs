//! Memory for C.

#![expect(unsafe_code, reason = "exported to C by name; calls libc")]

use std::ffi::{c_char, c_int, c_void};

use crate::fatal;

/// Statistics of a debugging heap, which this library does not have: all zero, and 1 to say so.
///
/// # Safety
/// `stats` points to nine writable words.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_getheapstats(stats: *mut [u64; 9]) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { *stats = [0; 9] };
    1
}

/// `strndup`, available whatever the C dialect.
///
/// # Safety
/// `s` is NUL-terminated or has `n` readable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_strndup(s: *const c_char, n: usize) -> *mut c_char {
    // SAFETY: the caller's promise.
    unsafe { libc::strndup(s, n) }
}

/// Memory aligned to `align`, to be released with `free`; running out ends the job.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_malloc_aligned(align: usize, size: usize) -> *mut c_void {
    let mut p = std::ptr::null_mut();
    // SAFETY: `p` is ours; alignment mistakes are reported by the call.
    if unsafe { libc::posix_memalign(&mut p, align.max(size_of::<usize>()), size) } != 0 {
        fatal::die(&format!("out of memory: {size} bytes aligned to {align}"));
    }
    p
}
