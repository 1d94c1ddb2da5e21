//! Start and end.
#![expect(unsafe_code, reason = "called by compiled code, by name; registers a hook with the C library")]

use super::image;
use crate::image as images;
use crate::peers::Gone;
use gasnet::RankId;
use std::ffi::{c_char, c_int, c_void};
use std::io::Write;
use std::sync::Once;
use std::sync::atomic::Ordering::Relaxed;

unsafe extern "C" {
    fn on_exit(hook: extern "C" fn(c_int, *mut c_void), arg: *mut c_void) -> c_int;
}

/// Registers the hook that sees how the process ends.
pub(super) fn arm() {
    // SAFETY: `hook` neither unwinds nor uses its argument.
    let failed = unsafe { on_exit(hook, std::ptr::null_mut()) };
    assert_eq!(failed, 0, "on_exit: out of memory");
}

/// Undoes what the start of the compiler's library, which comes after [`_gfortran_caf_init`], does to the
/// signal by which a job ends: each image would print a backtrace. Called by the first image control
/// statement or inquiry.
pub(crate) fn quiet() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: plain calls. The default action of a signal is no code of this process.
        unsafe { libc::signal(libc::SIGQUIT, libc::SIG_DFL) };
    });
}

/// An exit with a status that did not come from the end of the program or from a `stop` is one of the
/// compiler's library after an error: it ends all images. One without is normal termination, as of a main
/// program in C.
extern "C" fn hook(status: c_int, _: *mut c_void) {
    let Some(image) = images::current().filter(|image| image.rank.is_own_process()) else { return };
    if image.leaving.load(Relaxed) {
        return;
    }
    if status != 0 {
        image.rank.global_exit(status);
    }
    image.end(0);
}

/// The first call of a Fortran main program: the program begins when all images have their static coarrays.
///
/// # Collective
/// Over all images.
#[unsafe(no_mangle)]
pub extern "C" fn _gfortran_caf_init(_argc: *mut c_int, _argv: *mut *mut *mut c_char) {
    image().begin();
}

/// The last call of a Fortran main program: normal termination, which waits for all images.
///
/// # Collective
/// Over all images.
#[unsafe(no_mangle)]
pub extern "C" fn _gfortran_caf_finalize() {
    image().end(0);
}

/// The number of this image in the current team, or in the one `distance` teams around it.
#[unsafe(no_mangle)]
pub extern "C" fn _gfortran_caf_this_image(distance: c_int) -> c_int {
    around(distance).this_image()
}

/// The number of images in the current team, or in the one `distance` teams around it: all (`failed` -1),
/// those that have failed (1), or the others (0).
#[unsafe(no_mangle)]
pub extern "C" fn _gfortran_caf_num_images(distance: c_int, failed: c_int) -> c_int {
    let level = around(distance);
    let gone = |how| level.ranks.iter().filter(|rank| image().gone(RankId(**rank)) == Some(how)).count();
    (match failed {
        1 => gone(Gone::Failed),
        0 => level.size() - gone(Gone::Failed),
        _ => level.size(),
    }) as c_int
}

fn around(distance: c_int) -> &'static images::Level {
    quiet();
    let mut level = image().level();
    for _ in 0..distance {
        level = level.outer.unwrap_or(level);
    }
    level
}

/// `stop` with a number.
#[unsafe(no_mangle)]
pub extern "C" fn _gfortran_caf_stop_numeric(code: c_int, quiet: bool) -> ! {
    if !quiet {
        say("STOP ", code.to_string().as_bytes());
    }
    stop(code)
}

/// `stop` without or with a text.
///
/// # Safety
/// `text` has `len` bytes, or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _gfortran_caf_stop_str(text: *const c_char, len: usize, quiet: bool) -> ! {
    if !quiet && !text.is_null() {
        // SAFETY: owed by the caller.
        unsafe { say("STOP ", bytes(text, len)) };
    }
    stop(0)
}

/// `error stop` with a number.
#[unsafe(no_mangle)]
pub extern "C" fn _gfortran_caf_error_stop(code: c_int, quiet: bool) -> ! {
    if !quiet {
        say("ERROR STOP ", code.to_string().as_bytes());
    }
    error_stop(code)
}

/// `error stop` without or with a text.
///
/// # Safety
/// `text` has `len` bytes, or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _gfortran_caf_error_stop_str(text: *const c_char, len: usize, quiet: bool) -> ! {
    if !quiet && !text.is_null() {
        // SAFETY: owed by the caller.
        unsafe { say("ERROR STOP ", bytes(text, len)) };
    } else if !quiet {
        say("ERROR STOP", b"");
    }
    error_stop(1)
}

/// # Safety
/// `text` has `len` bytes (owed by the caller).
unsafe fn bytes<'a>(text: *const c_char, len: usize) -> &'a [u8] {
    // SAFETY: owed by the caller; characters are bytes.
    unsafe { std::slice::from_raw_parts(text.cast::<u8>(), len) }
}

/// Prints a line, as one write: those of other images come before or after.
fn say(what: &str, text: &[u8]) {
    // There is nobody to tell that the message did not come out.
    let _ = std::io::stderr().write_all(&[what.as_bytes(), text, b"\n"].concat());
}

fn stop(code: c_int) -> ! {
    image().end(code);
    // SAFETY: a plain call; the compiler's library then writes out what its units hold.
    unsafe { libc::exit(code) }
}

/// `fail image`. The process stays until all images have left the program, and serves them.
#[unsafe(no_mangle)]
pub extern "C" fn _gfortran_caf_fail_image() -> ! {
    flush_units();
    image().give_all_locks();
    image().fail_image();
    // SAFETY: a plain call. Nothing of the program runs any more.
    unsafe { libc::_exit(0) }
}

fn error_stop(code: c_int) -> ! {
    flush_units();
    image().rank.global_exit(code)
}

/// Writes out what the units of the compiler's library hold.
fn flush_units() {
    // SAFETY: the name is a C string; what the library has by this name is this function.
    unsafe {
        let flush = libc::dlsym(libc::RTLD_DEFAULT, c"_gfortran_flush_i4".as_ptr());
        if !flush.is_null() {
            let flush: extern "C" fn(*const c_int) = std::mem::transmute(flush);
            flush(std::ptr::null());
        }
    }
}
