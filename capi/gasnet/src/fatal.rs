//! Ending the job because of an error.

#![expect(unsafe_code, reason = "exported to C by name; raises a signal")]

use std::ffi::c_char;

use crate::{abi, tools};

/// Prints a fatal error with this rank's name and ends the job with SIGABRT.
pub fn die(message: &str) -> ! {
    tools::sys::gasnett_flush_streams();
    eprintln!("*** FATAL ERROR (node {}/{}): {message}", abi::rank(), abi::size());
    tools::sys::gasnett_freezeForDebuggerErr();
    // SAFETY: abort never returns; our handler for it prints a backtrace if one is wanted.
    unsafe { libc::abort() }
}

/// [`die`] for C.
///
/// # Safety
/// `message` is null or NUL-terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_fatal(message: *const c_char) -> ! {
    // SAFETY: the caller's promise.
    die(&unsafe { tools::env::text(message) })
}
