//! Ending the job because of an error.

#![expect(unsafe_code, reason = "exported to C by name; raises a signal")]

use std::ffi::c_char;
use std::sync::OnceLock;

use crate::{abi, tools};

/// How an error ends a job that goes on when a rank aborts: set once, where there is such a job.
pub static END_JOB: OnceLock<fn(&str) -> !> = OnceLock::new();

/// Prints a fatal error with this rank's name and ends the job with SIGABRT.
pub fn die(message: &str) -> ! {
    tools::sys::gasnett_flush_streams();
    let line = format!("*** FATAL ERROR (node {}/{}): {message}", abi::rank(), abi::size());
    if let Some(end_job) = END_JOB.get() {
        end_job(&line);
    }
    eprintln!("{line}");
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
