//! How a thread ends.
//!
//! Returning from `main` and `exit` are the same: `__upc_run` calls `exit(main())`, and an `on_exit` hook
//! does the rest. The hook flushes C's streams, counts this thread as ended, and keeps the thread polling, so
//! that the others can reach its memory, until all have ended. Then the process exits with its own status.
//!
//! A child made by `fork` inherits the hook; the hook does nothing there.
#![expect(unsafe_code, reason = "registers a hook with the C library and flushes its streams")]

use crate::console::flush_streams;
use crate::control::field;
use crate::state::Upc;
use gasnet::atomics::Function;
use libc::{c_int, c_void};
use std::sync::atomic::Ordering::*;

unsafe extern "C" {
    fn on_exit(hook: extern "C" fn(c_int, *mut c_void), arg: *mut c_void) -> c_int;
    static mut stdout: *mut libc::FILE;
}

/// Makes C's standard output line buffered, so that a finished line is written whatever happens to the job.
pub fn line_buffer_stdout() {
    // SAFETY: no output was produced yet, as setvbuf requires; `stdout` is a valid stream in a hosted C
    // program.
    unsafe {
        libc::setvbuf(stdout, std::ptr::null_mut(), libc::_IOLBF, 1 << 13);
    }
}

/// Registers the hook: from here on `exit` is an orderly end.
pub fn arm() {
    // SAFETY: `hook` neither unwinds nor uses its argument.
    let failed = unsafe { on_exit(hook, std::ptr::null_mut()) };
    assert_eq!(failed, 0, "on_exit: out of memory");
}

extern "C" fn hook(status: c_int, _: *mut c_void) {
    if let Some(upc) = crate::state::get()
        && std::process::id() == upc.pid
        && !upc.leaving.swap(true, Relaxed)
    {
        upc.end(status);
    }
}

impl Upc {
    fn end(&self, status: i32) {
        flush_streams();
        self.io_end();
        // Tell all threads how many barriers they can still expect of this thread.
        let early = u64::MAX - self.barriers_joined();
        for t in 0..self.size {
            self.amo(t, field!(ended_early), Function::Max, early, 0);
        }
        if self.amo(0, field!(ended), Function::Add, 1, 0) + 1 == u64::from(self.size) {
            for t in 0..self.size {
                self.store_word(t, field!(all_ended), 1);
            }
        }
        // ORDER: Acquire; pairs with the store above; after it nothing of the other threads is pending.
        self.core.wait_until("the end of all threads", || self.control.all_ended.load(Acquire) != 0);
        self.core.done(status);
    }

    /// `upc_global_exit`.
    pub fn global_exit(&self, status: i32) -> ! {
        self.leaving.store(true, Relaxed);
        flush_streams();
        self.core.global_exit(status)
    }
}
