//! Lines on standard error, and the streams of C.
#![expect(unsafe_code, reason = "flushes the streams of the C library")]

use std::io::Write;

/// Writes one line to standard error, in one write, so that lines of several threads do not mix.
pub fn say(line: &str) {
    let _ = std::io::stderr().write_all(format!("{line}\n").as_bytes());
}

/// Writes out the buffers of C's streams.
pub fn flush_streams() {
    // SAFETY: a null stream means all streams.
    unsafe {
        libc::fflush(std::ptr::null_mut());
    }
}
