//! The functions behind GASNet's tools for UPC programs (`include/upcc_tools.h`) that are more than a call of
//! the C library.
#![expect(unsafe_code, reason = "exports functions to C; reads its strings and environment")]

use crate::state::upc;
use gasnet_wire::number;
use std::borrow::Cow;
use std::ffi::{CStr, c_char, c_int, c_long, c_ulong, c_void};
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

/// Sleeps for at least the given time, even if interrupted.
#[unsafe(no_mangle)]
pub extern "C" fn __upc_nsleep(ns: c_ulong) {
    std::thread::sleep(Duration::from_nanos(ns));
}

/// Tells the processor that this loop waits.
#[unsafe(no_mangle)]
pub extern "C" fn __upc_pause() {
    std::hint::spin_loop();
}

/// Microseconds since 1970.
#[unsafe(no_mangle)]
pub extern "C" fn __upc_time_of_day() -> c_ulong {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |d| d.as_micros() as u64)
}

/// Number of processors that this process may run on.
#[unsafe(no_mangle)]
pub extern "C" fn __upc_processors() -> c_int {
    std::thread::available_parallelism().map_or(0, |n| n.get() as c_int)
}

/// Bytes of physical memory. If they cannot be found out, returns 0 or ends the job.
#[unsafe(no_mangle)]
pub extern "C" fn __upc_memory(fatal: c_int) -> c_ulong {
    // SAFETY: plain calls.
    let (pages, size) = unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    match (pages, size) {
        (1.., 1..) => pages as u64 * size as u64,
        _ if fatal != 0 => upc().fatal("cannot find out the size of physical memory"),
        _ => 0,
    }
}

/// This host's name, in storage that is never freed.
#[unsafe(no_mangle)]
pub extern "C" fn __upc_host_name() -> *const c_char {
    static NAME: OnceLock<[u8; 256]> = OnceLock::new();
    let name = NAME.get_or_init(|| {
        let mut name = [0u8; 256];
        // SAFETY: the length leaves room for a final NUL.
        unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len() - 1) };
        name
    });
    name.as_ptr().cast()
}

/// A checksum (FNV-1a), equal on all threads.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __upc_checksum(p: *const c_void, n: c_ulong) -> c_ulong {
    let bytes: &[u8] = match n {
        0 => &[],
        // SAFETY: the user's memory of `n` bytes.
        _ => unsafe { std::slice::from_raw_parts(p.cast(), n as usize) },
    };
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, b| (sum ^ u64::from(*b)).wrapping_mul(0x100_0000_01b3))
}

/// The value of an environment variable, if it is set and not blank.
///
/// # Safety
/// 1. `name` is a string (owed by the caller).
unsafe fn variable<'a>(name: *const c_char) -> Option<Cow<'a, str>> {
    // SAFETY: (1); what `getenv` returns is null or a string.
    let text = unsafe {
        let value = libc::getenv(name);
        if value.is_null() { return None } else { CStr::from_ptr(value).to_string_lossy() }
    };
    Some(text).filter(|t| !t.trim().is_empty())
}

/// The value of a boolean variable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __upc_env_yes(name: *const c_char, default: c_int) -> c_int {
    // SAFETY: the user's string.
    unsafe { variable(name) }.map_or(default != 0, |v| number::says_yes(&v)).into()
}

/// A variable as a whole number; a value without a unit counts `multiplier`, if that is not 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __upc_env_number(
    name: *const c_char,
    default: c_long,
    multiplier: c_ulong,
) -> c_long {
    // SAFETY: the user's string.
    unsafe { variable(name) }.map_or(default, |v| number::parse(&v, multiplier))
}

/// A variable as a floating-point number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __upc_env_real(name: *const c_char, default: f64) -> f64 {
    // SAFETY: the user's string.
    unsafe { variable(name) }.and_then(|v| v.trim().parse().ok()).unwrap_or(default)
}

/// Formats a number, truncated to the buffer; with a unit if it is a size of memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __upc_format_number(value: c_long, buf: *mut c_char, size: c_ulong, is_size: c_int) {
    let text = number::format(value, is_size != 0);
    if buf.is_null() || size == 0 {
        return;
    }
    let n = text.len().min(size as usize - 1);
    // SAFETY: the user's buffer of `size` bytes.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr(), buf.cast(), n);
        *buf.add(n) = 0;
    }
}

/// Parses a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __upc_parse_number(text: *const c_char, multiplier: c_ulong) -> c_long {
    if text.is_null() {
        return 0;
    }
    // SAFETY: the user's string.
    number::parse(&unsafe { CStr::from_ptr(text) }.to_string_lossy(), multiplier)
}
