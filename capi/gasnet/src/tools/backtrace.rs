//! Backtraces: the client's own function if it has one, else glibc's.
//!
//! Called from signal handlers too, so nothing here allocates after [`gasneti_backtrace_init`] has run once
//! (glibc's first `backtrace` call loads a library; the init call takes that cost).

#![expect(unsafe_code, reason = "exported to C by name; calls libc and the client's function")]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering::Relaxed};

/// A way to print a backtrace, as C programs declare one.
#[repr(C)]
pub struct BacktraceType {
    name: *const c_char,
    print: Option<extern "C" fn(c_int) -> c_int>,
    thread_support: c_int,
}

/// The client's own way, or null.
static USER: AtomicPtr<BacktraceType> = AtomicPtr::new(std::ptr::null_mut());
/// Whether errors print a backtrace (`GASNET_BACKTRACE`).
static ENABLED: AtomicBool = AtomicBool::new(false);

const MAX_FRAMES: usize = 128;

/// Remembers the client's backtrace function and whether errors should print a backtrace.
///
/// # Safety
/// `user` is null or points to a structure that lives for ever.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_backtrace_init(_exe: *const c_char, user: *const BacktraceType) {
    if !user.is_null() {
        USER.store(user.cast_mut(), Relaxed);
    }
    let wanted = gasnet_settings::c::is_on("GASNET_BACKTRACE") == Some(true);
    ENABLED.store(wanted, Relaxed);
    if wanted {
        let mut frames = [std::ptr::null_mut::<c_void>(); 1];
        // SAFETY: the array has one entry.
        unsafe { libc::backtrace(frames.as_mut_ptr(), 1) };
    }
}

/// Whether `GASNET_BACKTRACE_TYPE`, a list of names in order of preference, lets the client's function run.
fn user_is_wanted(user: &BacktraceType) -> bool {
    if user.name.is_null() {
        return true;
    }
    // SAFETY: getenv is given a NUL-terminated name; the client's name is NUL-terminated.
    let (list, name) =
        unsafe { (libc::getenv(c"GASNET_BACKTRACE_TYPE".as_ptr()), CStr::from_ptr(user.name).to_bytes()) };
    if list.is_null() {
        return true;
    }
    // SAFETY: getenv returned a NUL-terminated string.
    unsafe { CStr::from_ptr(list) }.to_bytes().split(|&b| b == b',').any(|entry| entry == name)
}

/// Prints a backtrace of the calling thread to `fd`; 0 if something was printed.
#[unsafe(no_mangle)]
pub extern "C" fn gasnett_print_backtrace(fd: c_int) -> c_int {
    let user = USER.load(Relaxed);
    // SAFETY: the init call's promise: it lives for ever.
    if let Some(user) = unsafe { user.as_ref() }
        && let Some(print) = user.print
        && user_is_wanted(user)
        && print(fd) == 0
    {
        return 0;
    }
    let mut frames = [std::ptr::null_mut::<c_void>(); MAX_FRAMES];
    // SAFETY: the array has MAX_FRAMES entries, and `count` of them are filled.
    unsafe {
        let count = libc::backtrace(frames.as_mut_ptr(), MAX_FRAMES as c_int);
        libc::backtrace_symbols_fd(frames.as_ptr(), count, fd);
        c_int::from(count == 0)
    }
}

/// Prints a backtrace if `GASNET_BACKTRACE` asks for it; 0 if something was printed.
#[unsafe(no_mangle)]
pub extern "C" fn gasnett_print_backtrace_ifenabled(fd: c_int) -> c_int {
    if ENABLED.load(Relaxed) { gasnett_print_backtrace(fd) } else { 1 }
}
