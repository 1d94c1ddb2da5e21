//! What pinning costs on this host, measured: `mlock` and `munlock` of faulted pages.
#![expect(unsafe_code, reason = "maps and locks memory to see how long it takes")]

use crate::time::Time;
use std::time::Instant;

/// Costs of a call, and of each page of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// A call that pins.
    pub pin_call: Time,
    /// Each page.
    pub pin_page: Time,
    /// A call that unpins.
    pub unpin_call: Time,
    /// Each page.
    pub unpin_page: Time,
}

const PAGE: usize = 4096;
const MANY: usize = 256;

impl Measured {
    /// Measures: the best of some rounds with one page and with many, and the line through both.
    pub fn take() -> Measured {
        let (one, many) = (best(1), best(MANY));
        let line = |one: f64, many: f64| {
            let page = ((many - one) / (MANY - 1) as f64).max(0.001);
            (Time::us((one - page).max(0.0)), Time::us(page))
        };
        let (pin_call, pin_page) = line(one.0, many.0);
        let (unpin_call, unpin_page) = line(one.1, many.1);
        Measured { pin_call, pin_page, unpin_call, unpin_page }
    }
}

/// Microseconds to lock and to unlock that many pages.
fn best(pages: usize) -> (f64, f64) {
    let len = pages * PAGE;
    let (mut lock, mut unlock) = (f64::INFINITY, f64::INFINITY);
    // SAFETY: a fresh anonymous mapping, written inside its length, unmapped at the end; mlock and munlock change no contents.
    unsafe {
        let at = libc::mmap(
            core::ptr::null_mut(),
            len,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        );
        if at == libc::MAP_FAILED {
            return (1.0, 1.0);
        }
        core::ptr::write_bytes(at.cast::<u8>(), 1, len);
        for _ in 0..50 {
            let start = Instant::now();
            let failed = libc::mlock(at, len) != 0;
            let middle = Instant::now();
            libc::munlock(at, len);
            if failed {
                break;
            }
            lock = lock.min((middle - start).as_secs_f64() * 1e6);
            unlock = unlock.min(middle.elapsed().as_secs_f64() * 1e6);
        }
        libc::munmap(at, len);
    }
    // Where locking is not allowed: a system call's worth.
    if lock.is_finite() { (lock, unlock) } else { (1.0, 1.0) }
}
