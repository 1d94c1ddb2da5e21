//! The monitor's question why this process is blocked: a signal, of which nothing but its coming is noted.
//!
//! The count of signals is one of the crate's few globals: a signal handler belongs to the process and has no
//! other place to write to.
#![expect(unsafe_code, reason = "installs a signal handler")]

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// How often this process was asked.
static ASKED: AtomicU32 = AtomicU32::new(0);

/// The signal by which a monitor asks.
pub fn question() -> i32 {
    libc::SIGRTMIN() + 6
}

pub(crate) fn asked() -> u32 {
    ASKED.load(Relaxed)
}

/// Has this process take the question, unless the program has a use of its own for the signal.
pub(crate) fn listen() {
    if cfg!(miri) {
        // No signals come there.
        return;
    }
    extern "C" fn count(_: i32) {
        ASKED.fetch_add(1, Relaxed);
    }
    // SAFETY: an all-zero `sigaction` is a valid place for the old one and a valid start for the new one; the
    // handler touches an atomic only.
    unsafe {
        let mut old: libc::sigaction = core::mem::zeroed();
        libc::sigaction(question(), core::ptr::null(), &raw mut old);
        if old.sa_sigaction == libc::SIG_DFL {
            let mut new: libc::sigaction = core::mem::zeroed();
            new.sa_sigaction = count as *const () as usize;
            new.sa_flags = libc::SA_RESTART;
            libc::sigaction(question(), &raw const new, core::ptr::null_mut());
        }
    }
}
