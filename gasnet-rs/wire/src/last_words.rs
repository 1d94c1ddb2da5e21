//! The least that a process can do at its end, in any state: a line on standard error, and leaving.
#![expect(unsafe_code, reason = "_exit, and a write that takes no lock")]

/// Prints a line on standard error. Unlike `eprintln` it never panics (a wait that unwinds would leave
/// transfers behind) and takes no lock, which the thread that failed may hold; one write, so that the line
/// comes out whole.
pub fn say(text: &str) {
    let line = format!("{text}\n");
    // SAFETY: plain system call on our own buffer.
    unsafe { libc::write(2, line.as_ptr().cast(), line.len()) };
}

pub(crate) fn leave(code: i32) -> ! {
    // SAFETY: ends the process without running anything else.
    unsafe { libc::_exit(code) }
}
