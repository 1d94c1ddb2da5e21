//! Handler-safe locks: the only locks an active-message handler may take.
//!
//! A word: 0 free, 1 taken, 2 taken and somebody sleeps on it. Under `GASNET_CHECK=1` each thread keeps the
//! list of the locks it holds, innermost first, through the locks themselves; so releases out of order, locks
//! taken twice and handlers that keep a lock are noticed.

#![expect(unsafe_code, reason = "exported to C by name; works on locks in the caller's memory")]

use std::ffi::c_int;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::context::{CONTEXT, Hsl};
use crate::fatal::die;
use crate::info::{NOT_READY, OK};
use crate::{abi, context};

/// Marks an initialised lock; `GASNETI_HSL_MARK` in C.
const MARK: u32 = 0x4853_4c31;

const FREE: u32 = 0;
const TAKEN: u32 = 1;
const AWAITED: u32 = 2;

/// Number of attempts before a waiting thread sleeps. The holder runs no handler and does not block, so that
/// it releases the lock soon.
const SPINS_BEFORE_SLEEP: u32 = 200;

fn try_take(lock: &AtomicU32) -> bool {
    // ORDER: Acquire; pairs with Release in `release`: what the last holder wrote is visible.
    lock.compare_exchange(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_ok()
}

fn take(lock: &AtomicU32) {
    for _ in 0..SPINS_BEFORE_SLEEP {
        if lock.load(Ordering::Relaxed) == FREE && try_take(lock) {
            return;
        }
        std::hint::spin_loop();
    }
    // ORDER: Acquire; pairs with Release in `release`.
    while lock.swap(AWAITED, Ordering::Acquire) != FREE {
        // SAFETY: waits on a word that is ours to read; returns at once if it is not AWAITED any more.
        unsafe {
            libc::syscall(
                libc::SYS_futex,
                lock.as_ptr(),
                libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
                AWAITED,
                std::ptr::null::<libc::timespec>(),
            )
        };
    }
}

fn release(lock: &AtomicU32) {
    // ORDER: Release; pairs with Acquire in `take` and `try_take`.
    if lock.swap(FREE, Ordering::Release) == AWAITED {
        // SAFETY: wakes one waiter on a word; harmless if there is none.
        unsafe {
            libc::syscall(libc::SYS_futex, lock.as_ptr(), libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG, 1)
        };
    }
}

/// A number for the calling thread that no other live thread has.
fn this_thread() -> u64 {
    crate::info::gasneti_threadinfo() as u64
}

fn check_mark(hsl: &Hsl, call: &str) {
    if hsl.mark != MARK {
        die(&format!("{call}: the lock was not initialized: use gasnet_hsl_init or GASNET_HSL_INITIALIZER"));
    }
}

/// Initialises a lock.
///
/// # Safety
/// `hsl` points to a lock nobody uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasnet_hsl_init(hsl: *mut Hsl) {
    // SAFETY: the caller's promise; any bit pattern is valid for the mark.
    if abi::check() && unsafe { (*hsl).mark } == MARK {
        die("gasnet_hsl_init: the lock is initialized already");
    }
    // SAFETY: the caller's promise.
    unsafe {
        hsl.write(Hsl { state: AtomicU32::new(FREE), mark: MARK, owner: 0, outer: std::ptr::null_mut() })
    };
}

/// Ends the use of a lock that nobody holds.
///
/// # Safety
/// `hsl` points to an initialised lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasnet_hsl_destroy(hsl: *mut Hsl) {
    // SAFETY: the caller's promise.
    let lock = unsafe { &mut *hsl };
    if abi::check() {
        check_mark(lock, "gasnet_hsl_destroy");
    }
    if lock.state.load(Ordering::Relaxed) != FREE {
        die("gasnet_hsl_destroy: the lock is held");
    }
    lock.mark = 0;
}

/// Notes that the calling thread took a lock.
fn note_taken(hsl: *mut Hsl) {
    CONTEXT.with(|c| {
        // SAFETY: the lock is ours now, so nobody else writes these fields.
        unsafe {
            (*hsl).owner = this_thread();
            (*hsl).outer = c.innermost.replace(hsl);
        }
    });
}

/// Refuses to take a lock that the calling thread holds.
fn check_take(hsl: *mut Hsl, call: &str) {
    // SAFETY: points to a lock by the caller's promise; the owner is compared with ourselves only, and only
    // we write that value.
    let (mark, owner) = unsafe { (&(*hsl), (&raw const (*hsl).owner).read_volatile()) };
    check_mark(mark, call);
    if owner == this_thread() {
        die(&format!("{call}: this thread holds the lock already: handler-safe locks are not recursive"));
    }
}

/// Takes a lock, waiting for it.
///
/// # Safety
/// `hsl` points to an initialised lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasnet_hsl_lock(hsl: *mut Hsl) {
    let checked = abi::check();
    if checked {
        check_take(hsl, "gasnet_hsl_lock");
    }
    // SAFETY: the caller's promise.
    let word = unsafe { &(*hsl).state };
    if !try_take(word) {
        take(word);
    }
    if checked {
        note_taken(hsl);
    }
}

/// Takes a lock if it is free; `GASNET_ERR_NOT_READY` otherwise.
///
/// # Safety
/// `hsl` points to an initialised lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasnet_hsl_trylock(hsl: *mut Hsl) -> c_int {
    let checked = abi::check();
    if checked {
        check_take(hsl, "gasnet_hsl_trylock");
    }
    // SAFETY: the caller's promise.
    if !try_take(unsafe { &(*hsl).state }) {
        return NOT_READY;
    }
    if checked {
        note_taken(hsl);
    }
    OK
}

/// Releases a lock.
///
/// # Safety
/// `hsl` points to a lock the calling thread holds.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasnet_hsl_unlock(hsl: *mut Hsl) {
    if abi::check() {
        // SAFETY: the caller's promise.
        let lock = unsafe { &mut *hsl };
        check_mark(lock, "gasnet_hsl_unlock");
        if lock.owner != this_thread() {
            die("gasnet_hsl_unlock: this thread does not hold the lock");
        }
        CONTEXT.with(|c| {
            if c.innermost.get() != hsl {
                die("gasnet_hsl_unlock: release handler-safe locks in the reverse order of taking them");
            }
            c.innermost.set(lock.outer);
        });
        lock.owner = 0;
        lock.outer = std::ptr::null_mut();
    }
    // SAFETY: the caller's promise.
    release(unsafe { &(*hsl).state });
}

/// `gasnet_hold_interrupts`, under the rule checks.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_hold_interrupts() {
    context::hold_interrupts();
}

/// `gasnet_resume_interrupts`, under the rule checks.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_resume_interrupts() {
    context::resume_interrupts();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locks_exclude() {
        struct Shared(std::cell::UnsafeCell<Hsl>, std::cell::UnsafeCell<u64>);
        // SAFETY: the counter is touched under the lock only.
        unsafe impl Sync for Shared {}
        let shared = Shared(
            std::cell::UnsafeCell::new(Hsl {
                state: AtomicU32::new(FREE),
                mark: MARK,
                owner: 0,
                outer: std::ptr::null_mut(),
            }),
            std::cell::UnsafeCell::new(0),
        );
        const EACH: u64 = 20_000;
        std::thread::scope(|scope| {
            for _ in 0..4 {
                let shared = &shared;
                scope.spawn(move || {
                    for i in 0..EACH {
                        // SAFETY: an initialised lock, and a counter that it guards.
                        unsafe {
                            if i % 2 == 0 {
                                gasnet_hsl_lock(shared.0.get());
                            } else {
                                while gasnet_hsl_trylock(shared.0.get()) != OK {
                                    std::thread::yield_now();
                                }
                            }
                            *shared.1.get() += 1;
                            gasnet_hsl_unlock(shared.0.get());
                        }
                    }
                });
            }
        });
        assert_eq!(shared.1.into_inner(), 4 * EACH);
    }
}
