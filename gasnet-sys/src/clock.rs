//! The host's monotonic clock, the same in all its processes.
#![expect(unsafe_code, reason = "clock_gettime")]

use std::time::Duration;

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

// By libc: rustix reads the clock through a function that is not inlined, and the project's figures were
// measured with libc.
#[inline]
fn read(which: libc::clockid_t) -> Duration {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: fills in the structure; these clocks always exist.
    unsafe { libc::clock_gettime(which, &raw mut t) };
    Duration::new(t.tv_sec as u64, t.tv_nsec as u32)
}
