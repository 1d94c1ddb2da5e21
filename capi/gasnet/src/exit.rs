//! Leaving: `gasnet_exit`, and returning from `main`.
//!
//! Any rank may end the job at any time, from anywhere: a handler, a signal handler, any thread, holding any
//! lock. The first code wins, which the monitor decides. Only one thread of a process proceeds; SIGQUIT is
//! ignored from then on.

#![expect(unsafe_code, reason = "exported to C by name; registers an exit hook; uses stdio's locks")]

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicI32, Ordering};

use crate::state;
use gasnet_settings::c as settings;

unsafe extern "C" {
    fn on_exit(hook: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
    fn ftrylockfile(stream: *mut libc::FILE) -> c_int;
    fn funlockfile(stream: *mut libc::FILE);
    static stdout: *mut libc::FILE;
    static stderr: *mut libc::FILE;
}

/// The thread that ends this process, or 0.
static LEAVING: AtomicI32 = AtomicI32::new(0);

fn thread_id() -> c_int {
    // SAFETY: takes nothing, always succeeds.
    unsafe { libc::gettid() }
}

/// Flushes the standard streams; `false` if another thread, or the code a signal interrupted, keeps one
/// locked.
pub fn try_flush() -> bool {
    for _ in 0..50 {
        // SAFETY: the streams exist as long as the process; a lock taken is given back.
        unsafe {
            if ftrylockfile(stdout) == 0 {
                if ftrylockfile(stderr) == 0 {
                    libc::fflush(stdout);
                    libc::fflush(stderr);
                    funlockfile(stderr);
                    funlockfile(stdout);
                    return true;
                }
                funlockfile(stdout);
            }
            libc::usleep(1000);
        }
    }
    false
}

/// The code that the job ends with if flushing takes too long.
static CODE: AtomicI32 = AtomicI32::new(0);

extern "C" fn on_alarm(_: c_int) {
    end(CODE.load(Ordering::Relaxed));
}

/// Flushes everything, and prints statistics. A thread stopped inside stdio, or a reader that is stuck, keeps
/// the job from ending for some seconds at most.
fn flush_all(code: c_int) {
    if !try_flush() {
        return;
    }
    CODE.store(code, Ordering::Relaxed);
    // SAFETY: our own handler; the alarm is cancelled below.
    unsafe {
        libc::signal(libc::SIGALRM, on_alarm as *const () as libc::sighandler_t);
        libc::alarm(5);
        libc::fflush(std::ptr::null_mut());
        // The code that a signal has interrupted may hold the lock of the counters.
        if let Some(state) = state::get() {
            state.rank.ending().say_counted_early();
        }
        libc::alarm(0);
    }
}

/// Tells the monitor, and ends this process.
fn end(code: c_int) -> ! {
    match state::get() {
        Some(state) => state.rank.ending().exit_together(code),
        // SAFETY: no job was joined; ends the process.
        None => unsafe { libc::_exit(code) },
    }
}

/// Ends the whole job with this code.
pub fn job_exit(code: c_int) -> ! {
    let me = thread_id();
    // ORDER: AcqRel; pairs with itself: one thread proceeds.
    match LEAVING.compare_exchange(0, me, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => {
            // SAFETY: ignoring a signal is always allowed.
            unsafe { libc::signal(libc::SIGQUIT, libc::SIG_IGN) };
            flush_all(code);
        }
        // Called again from a handler that interrupted the exit, or from another exit hook.
        Err(leaving) if leaving == me => {}
        Err(_) => loop {
            // SAFETY: waits for the leaving thread to end the process.
            unsafe { libc::pause() };
        },
    }
    end(code)
}

/// Ends the whole job.
#[unsafe(no_mangle)]
pub extern "C" fn gasnet_exit(code: c_int) -> ! {
    job_exit(code)
}

/// Turns `exit` and returning from `main` into the end of the job. Children made by `fork` leave on their
/// own.
extern "C" fn at_exit(code: c_int, _: *mut c_void) {
    if LEAVING.load(Ordering::Relaxed) == 0 && state::get().is_some_and(|state| state.rank.is_own_process()) {
        job_exit(code);
    }
}

/// Registers the exit hook, unless `GASNET_CATCH_EXIT=0`.
pub fn set_up() {
    if settings::is_on("GASNET_CATCH_EXIT") != Some(false) {
        // SAFETY: the hook takes no argument and lives for ever.
        unsafe { on_exit(at_exit, std::ptr::null_mut()) };
    }
}
