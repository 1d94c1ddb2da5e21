//! Queries about the system: processors, memory, streams, limits; and small memory helpers.

#![expect(unsafe_code, reason = "exported to C by name; calls libc")]

use gasnet_sys::processors::{self, numbers, run_on, set_of};
use std::ffi::{c_char, c_int, c_void};
use std::sync::OnceLock;

/// Processors this process may run on.
#[unsafe(no_mangle)]
pub extern "C" fn gasnett_cpu_count() -> c_int {
    std::thread::available_parallelism().map_or(0, |n| n.get() as c_int)
}

/// Physical memory in bytes. Asking cannot fail on Linux.
#[unsafe(no_mangle)]
pub extern "C" fn gasnett_getPhysMemSz(failure_is_fatal: c_int) -> u64 {
    let _ = failure_is_fatal;
    gasnet_sys::limits::physical_memory()
}

/// Flushes the output streams of stdio.
#[unsafe(no_mangle)]
pub extern "C" fn gasnett_flush_streams() {
    gasnet_sys::stdio::flush();
}

/// Flushes and closes the standard streams.
#[unsafe(no_mangle)]
pub extern "C" fn gasnett_close_streams() {
    gasnett_flush_streams();
    for fd in 0..=2 {
        // SAFETY: closing a descriptor is always allowed; the caller asked for it.
        unsafe { libc::close(fd) };
    }
}

/// Ends this process at once, without cleaning up.
#[unsafe(no_mangle)]
pub extern "C" fn gasnett_killmyprocess(code: c_int) -> ! {
    gasnet_sys::process::exit_now(code)
}

/// A 64-bit checksum (FNV-1a), the same on every rank.
///
/// # Safety
/// `p` points to `n` readable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasnett_checksum(p: *const c_void, n: usize) -> u64 {
    if n == 0 {
        return 0xcbf2_9ce4_8422_2325;
    }
    // SAFETY: the caller's promise.
    let bytes = unsafe { std::slice::from_raw_parts(p.cast::<u8>(), n) };
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |sum, &byte| (sum ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// Binds the calling thread to one processor, chosen by `rank` round robin among those that it had at the
/// first call. 0 if the system did so.
#[unsafe(no_mangle)]
pub extern "C" fn gasnett_set_affinity(rank: c_int) -> c_int {
    static ALLOWED: OnceLock<Vec<usize>> = OnceLock::new();
    let allowed = ALLOWED.get_or_init(|| numbers(&processors::allowed()).collect());
    let turn = (rank.unsigned_abs() as usize).checked_rem(allowed.len());
    let bound = turn.is_some_and(|turn| run_on(&set_of([allowed[turn]])));
    c_int::from(!bound)
}

/// This host's name, in storage that lives for ever.
#[unsafe(no_mangle)]
pub extern "C" fn gasnett_gethostname() -> *const c_char {
    static NAME: OnceLock<[u8; 256]> = OnceLock::new();
    NAME.get_or_init(|| {
        let mut name = [0; 256];
        // SAFETY: the length given leaves room for a final NUL.
        unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len() - 1) };
        name
    })
    .as_ptr()
    .cast()
}

/// Path of the running program, in storage that lives for ever.
#[unsafe(no_mangle)]
pub extern "C" fn gasnett_exe_name() -> *const c_char {
    static NAME: OnceLock<std::ffi::CString> = OnceLock::new();
    NAME.get_or_init(|| {
        let path = std::env::current_exe().unwrap_or_default();
        std::ffi::CString::new(path.into_os_string().into_encoded_bytes()).unwrap_or_default()
    })
    .as_ptr()
}

/// The settings of this build that make it slow: none.
#[unsafe(no_mangle)]
pub extern "C" fn gasnett_performance_warning_str() -> *const c_char {
    c"".as_ptr()
}

/// Raises one resource limit to its maximum; not 0 on success.
///
/// # Safety
/// `_name` is null or NUL-terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasnett_maximize_rlimit(resource: c_int, _name: *const c_char) -> c_int {
    // SAFETY: an all-zero rlimit is valid, and getrlimit fills it.
    let mut limit: libc::rlimit = unsafe { std::mem::zeroed() };
    let resource = resource as libc::__rlimit_resource_t;
    // SAFETY: the structure is ours; any resource number is checked by the system.
    unsafe {
        if libc::getrlimit(resource, &mut limit) != 0 {
            return 0;
        }
        limit.rlim_cur = limit.rlim_max;
        c_int::from(libc::setrlimit(resource, &limit) == 0)
    }
}

/// Raises the limits on memory, stack and data to their maxima.
#[unsafe(no_mangle)]
pub extern "C" fn gasnett_maximize_rlimits() {
    for resource in [libc::RLIMIT_DATA, libc::RLIMIT_RSS, libc::RLIMIT_STACK, libc::RLIMIT_AS] {
        // SAFETY: the name is not read.
        unsafe { gasnett_maximize_rlimit(resource as c_int, std::ptr::null()) };
    }
}

/// Sleeps at least that long, also when signals interrupt it. Returns 0.
#[unsafe(no_mangle)]
pub extern "C" fn gasnett_nsleep(ns: u64) -> c_int {
    std::thread::sleep(std::time::Duration::from_nanos(ns));
    0
}

/// Fresh zero pages, or null.
#[unsafe(no_mangle)]
pub extern "C" fn gasnett_mmap(size: usize) -> *mut c_void {
    // SAFETY: a new private mapping at an address of the system's choice.
    let mapped = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            size,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        )
    };
    if mapped == libc::MAP_FAILED { std::ptr::null_mut() } else { mapped }
}

/// How many of `n` bytes are zero.
///
/// # Safety
/// `src` points to `n` readable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasnett_count0s(src: *const c_void, n: usize) -> usize {
    if n == 0 {
        return 0;
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(src.cast::<u8>(), n) }.iter().filter(|&&byte| byte == 0).count()
}

/// Copies `n` bytes and says how many of them are zero.
///
/// # Safety
/// `dst` is writable and `src` readable for `n` bytes, and they do not overlap.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasnett_count0s_copy(dst: *mut c_void, src: *const c_void, n: usize) -> usize {
    // SAFETY: the caller's promise.
    unsafe {
        std::ptr::copy_nonoverlapping(src.cast::<u8>(), dst.cast::<u8>(), n);
        gasnett_count0s(src, n)
    }
}

/// Waits for a debugger to clear `*flag`.
///
/// # Safety
/// `flag` points to an int, `name` is null or NUL-terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasnett_freezeForDebuggerNow(flag: *mut c_int, name: *const c_char) {
    // SAFETY: the caller's promise.
    let name = unsafe { super::env::text(name) };
    eprintln!("frozen for a debugger: attach to process {} and set {name} to 0", std::process::id());
    // SAFETY: the caller's promise; a debugger writes behind the compiler's back.
    unsafe {
        flag.write_volatile(1);
        while flag.read_volatile() != 0 {
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
    }
}

/// Freezes for a debugger if this setting says yes.
pub fn freeze_if(setting: &str) {
    if gasnet_settings::c::is_on(setting) == Some(true) {
        let mut flag: c_int = 1;
        // SAFETY: both point to live data.
        unsafe { gasnett_freezeForDebuggerNow(&mut flag, c"the local variable flag".as_ptr()) };
    }
}

/// Freezes for a debugger if `GASNET_FREEZE_ON_ERROR` asks for it.
#[unsafe(no_mangle)]
pub extern "C" fn gasnett_freezeForDebuggerErr() {
    freeze_if("GASNET_FREEZE_ON_ERROR");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_are_counted() {
        let src = [0u8, 1, 0, 2, 0];
        let mut dst = [9u8; 5];
        // SAFETY: both arrays have five bytes.
        let counted = unsafe { gasnett_count0s_copy(dst.as_mut_ptr().cast(), src.as_ptr().cast(), 5) };
        assert_eq!((counted, dst), (3, src));
    }

    #[test]
    fn the_machine_is_described() {
        assert!(gasnett_cpu_count() > 0);
        assert!(gasnett_getPhysMemSz(0) > 1 << 20);
    }
}
