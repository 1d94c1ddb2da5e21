//! Measures the cost of pinning on this host, on faulted pages: with `mlock`, and with io_uring's registered
//! buffers, which pin as a NIC's driver does.
#![expect(unsafe_code, reason = "maps and pins memory to see how long it takes")]

use crate::time::Time;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::Instant;

/// Costs of a pin and an unpin: of the call, and of each page.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PinLine {
    /// A call that pins.
    pub pin_call: Time,
    /// Each page.
    pub pin_page: Time,
    /// A call that unpins.
    pub unpin_call: Time,
    /// Each page.
    pub unpin_page: Time,
}

/// The measured costs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// `mlock` and `munlock`; `None` where they are not allowed.
    pub mlock: Option<PinLine>,
    /// Registering and unregistering a buffer with io_uring; `None` where there is none.
    pub io_uring: Option<PinLine>,
}

const PAGE_BYTES: usize = 4096;
const MANY_PAGES: usize = 256;
const MEASUREMENT_ROUNDS: usize = 50;

impl Measured {
    /// Measures: the best of some rounds with one page and with many pages, and the line through both.
    pub fn take() -> Measured {
        let ring = ring();
        let uring = |at: *mut libc::c_void, len: usize, pin: bool| {
            ring.as_ref().is_some_and(|ring| {
                let buffer = libc::iovec { iov_base: at, iov_len: len };
                let (code, list, n) = if pin { (0, &raw const buffer, 1) } else { (1, core::ptr::null(), 0) };
                // SAFETY: registers (0) one buffer of mapped memory, or unregisters (1) what is registered.
                unsafe { libc::syscall(libc::SYS_io_uring_register, ring.as_raw_fd(), code, list, n) == 0 }
            })
        };
        let mlock = |at: *mut libc::c_void, len: usize, pin: bool| {
            // SAFETY: changes no contents of mapped memory.
            unsafe { if pin { libc::mlock(at, len) == 0 } else { libc::munlock(at, len) == 0 } }
        };
        Measured { mlock: line(&mlock), io_uring: line(&uring) }
    }

    /// The one that is closer to what a NIC's driver does.
    pub fn best(&self) -> Option<PinLine> {
        self.io_uring.or(self.mlock)
    }
}

/// An io_uring that is not used for I/O.
fn ring() -> Option<OwnedFd> {
    // Large enough for the kernel's parameters, all zero.
    let mut parameters = [0u64; 32];
    // SAFETY: the kernel fills in parameters; the descriptor it returns is ours.
    unsafe {
        let fd = libc::syscall(libc::SYS_io_uring_setup, 4, parameters.as_mut_ptr());
        (fd >= 0).then(|| OwnedFd::from_raw_fd(fd as i32))
    }
}

/// Pins or unpins memory; returns whether it succeeded.
type Pin<'a> = &'a dyn Fn(*mut libc::c_void, usize, bool) -> bool;

fn line(pin: Pin<'_>) -> Option<PinLine> {
    let (one, many) = (best(1, pin)?, best(MANY_PAGES, pin)?);
    let through = |one: f64, many: f64| {
        let page = ((many - one) / (MANY_PAGES - 1) as f64).max(0.001);
        (Time::us((one - page).max(0.0)), Time::us(page))
    };
    let (pin_call, pin_page) = through(one.0, many.0);
    let (unpin_call, unpin_page) = through(one.1, many.1);
    Some(PinLine { pin_call, pin_page, unpin_call, unpin_page })
}

/// Microseconds to pin and to unpin that many pages.
fn best(pages: usize, pin: Pin<'_>) -> Option<(f64, f64)> {
    let len = pages * PAGE_BYTES;
    // SAFETY: a fresh anonymous mapping, written inside its length, unmapped at the end.
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
            return None;
        }
        core::ptr::write_bytes(at.cast::<u8>(), 1, len);
        let mut least = (f64::INFINITY, f64::INFINITY);
        let mut done = true;
        for _ in 0..MEASUREMENT_ROUNDS {
            let start = Instant::now();
            done &= pin(at, len, true);
            let middle = Instant::now();
            done &= pin(at, len, false);
            least.0 = least.0.min((middle - start).as_secs_f64() * 1e6);
            least.1 = least.1.min(middle.elapsed().as_secs_f64() * 1e6);
            if !done {
                break;
            }
        }
        libc::munmap(at, len);
        done.then_some(least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pinning_takes_time() {
        // A system may allow neither way; a measured cost is above 0.
        let measured = Measured::take();
        for line in [measured.mlock, measured.io_uring].into_iter().flatten() {
            assert!(line.pin_page > Time::ZERO && line.unpin_page > Time::ZERO, "{line:?}");
            assert!(line.pin_call + line.pin_page * 256 < Time::us(100_000.0), "{line:?}");
        }
    }
}
