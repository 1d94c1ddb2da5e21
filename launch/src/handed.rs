//! Things that a launcher passes to the processes that it starts: descriptors by number, and environment
//! variables.
#![expect(unsafe_code, reason = "descriptors by number, and the environment")]

use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicU8, Ordering};

use gasnet_sys::fd;
use gasnet_sys::process::thread_count;

/// Takes over a descriptor that this process's launcher has named in its message. The message is taken out of
/// the environment by its first reader ([`take_env`]), so each number is taken over once.
pub(crate) fn adopt(fd: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: 1. The launcher opened it for this process, and named it to nobody else.
    unsafe { fd::adopt(fd) }
}

/// Duplicates a socket whose number another launcher has told; the original may be shared with an MPI library
/// in this process.
pub(crate) fn copy(fd: RawFd) -> io::Result<OwnedFd> {
    if fd < 0 {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // SAFETY: borrowed for one call, which fails where nothing is open.
    fd::duplicate(unsafe { BorrowedFd::borrow_raw(fd) })
}

/// Sets a variable of the environment, in a process that was just forked.
pub(crate) fn set_env(name: &str, value: &OsStr) {
    // SAFETY: the process has one thread, as the process that forked it had (`fork` checks).
    unsafe { std::env::set_var(name, value) };
}

/// Removes a variable from the environment, so that programs that are started later do not see it. The first
/// caller gets its value; an empty value counts as none.
pub(crate) fn take_env(name: &str) -> Option<OsString> {
    let value = std::env::var_os(name).filter(|value| !value.is_empty())?;
    if thread_count() == 1 {
        // SAFETY: no other thread can be reading the environment.
        unsafe { std::env::remove_var(name) };
        return Some(value);
    }
    // Other threads may be reading: keep the shape of the environment, and empty the value in place.
    let name = CString::new(name).ok()?;
    // SAFETY: a string. Changing the environment beside other threads is unsafe: whoever does so is
    // responsible for it.
    let at = std::ptr::NonNull::new(unsafe { libc::getenv(name.as_ptr()) })?;
    // SAFETY: the first byte of a string that belongs to the process; nothing else uses the variable.
    let first = unsafe { AtomicU8::from_ptr(at.as_ptr().cast()) };
    (first.swap(0, Ordering::Relaxed) != 0).then_some(value)
}
