//! The host's monotonic clock, the same in all its processes; and the processor time of this one.
#![expect(unsafe_code, reason = "clock_gettime, getrusage")]

use std::cell::Cell;
use std::time::Duration;

thread_local! {
    static UNSEEN: Cell<bool> = const { Cell::new(false) };
}

/// Runs code of the runtime whose looks at clocks are no input of the program: a recording leaves them out.
pub fn unseen<T>(code: impl FnOnce() -> T) -> T {
    marked(true, code)
}

/// Runs code of the program inside of [`unseen`] code.
pub fn seen<T>(code: impl FnOnce() -> T) -> T {
    marked(false, code)
}

fn marked<T>(unseen: bool, code: impl FnOnce() -> T) -> T {
    let before = UNSEEN.replace(unseen);
    let result = code();
    UNSEEN.set(before);
    result
}

/// Whether this thread runs [`unseen`] code.
pub fn is_unseen() -> bool {
    UNSEEN.get()
}

/// Time since some moment in the past.
#[inline]
pub fn monotonic() -> Duration {
    read(libc::CLOCK_MONOTONIC)
}

/// The time of the system's last tick, at most 1 to 10 ms ago; it takes a few nanoseconds to read.
#[inline]
pub fn last_tick() -> Duration {
    read(libc::CLOCK_MONOTONIC_COARSE)
}

/// Processor time of all threads of this process, also of those that have ended.
pub fn processor_time() -> Duration {
    read(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// Processor time of another process, if it exists.
pub fn processor_time_of(pid: u32) -> Option<Duration> {
    let mut clock = 0;
    // SAFETY: the destination is valid.
    let known = unsafe { libc::clock_getcpuclockid(pid as libc::pid_t, &raw mut clock) } == 0;
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: fills in the structure.
    let read = known && unsafe { libc::clock_gettime(clock, &raw mut t) } == 0;
    read.then(|| Duration::new(t.tv_sec as u64, t.tv_nsec as u32))
}

/// Processor time of the children that have been waited for, and of theirs that they waited for.
pub fn processor_time_of_children() -> Duration {
    // SAFETY: numbers only, of which any is a value.
    let mut usage: libc::rusage = unsafe { core::mem::zeroed() };
    // SAFETY: fills in the structure.
    unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage) };
    let of = |time: libc::timeval| Duration::new(time.tv_sec as u64, time.tv_usec as u32 * 1000);
    of(usage.ru_utime) + of(usage.ru_stime)
}

// By libc: rustix reads the clock through a function that is not inlined, and the project's figures were
// measured with libc.
#[inline]
fn read(which: libc::clockid_t) -> Duration {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: fills in the structure; these clocks always exist.
    unsafe { libc::clock_gettime(which, &raw mut t) };
    Duration::new(t.tv_sec as u64, t.tv_nsec as u32)
}
