//! C's streams, and messages that bypass streams.
#![expect(unsafe_code, reason = "C's streams")]

use std::time::{Duration, Instant};

unsafe extern "C" {
    /// C's standard output stream.
    static stdout: *mut libc::FILE;
    /// Size of a stream's buffer; 1 if it is unbuffered, 0 if not chosen yet.
    fn __fbufsize(stream: *mut libc::FILE) -> libc::size_t;
}

/// Makes C's standard output line buffered, unless the program has made it unbuffered: a rank that another
/// one ends has then already written every line that it printed.
pub fn line_buffer_stdout() {
    // SAFETY: `stdout` is set before any code runs; the stream is locked in the call that changes it.
    unsafe {
        if __fbufsize(stdout) != 1 {
            libc::setvbuf(stdout, std::ptr::null_mut(), libc::_IOLBF, 0);
        }
    }
}

/// Flushes C's output streams.
pub fn flush() {
    // SAFETY: a null pointer means all streams.
    unsafe { libc::fflush(std::ptr::null_mut()) };
}

/// Writes to standard error, without a lock that another thread may hold.
pub fn say(text: &str) {
    let _ = rustix::io::write(rustix::stdio::stderr(), text.as_bytes());
}

/// Waits until standard error, if it is a pipe, has been read to the end: a launcher that hears of the end of
/// a job may drop what it has not read by then. Returns after `limit` at the latest.
pub fn wait_until_read(limit: Duration) {
    let stderr = rustix::stdio::stderr();
    let is_pipe = |s: rustix::fs::Stat| rustix::fs::FileType::from_raw_mode(s.st_mode).is_fifo();
    if !rustix::fs::fstat(stderr).is_ok_and(is_pipe) {
        return;
    }
    let begun = Instant::now();
    while rustix::io::ioctl_fionread(stderr).is_ok_and(|unread| unread > 0) && begun.elapsed() < limit {
        std::thread::sleep(Duration::from_millis(1));
    }
}
