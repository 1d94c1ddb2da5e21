//! What a program learns from the system: its clocks.
//!
//! `gasnetrun` loads a small library into ranks that it records or replays (`launch/src/inputs.c`), through
//! which their looks at the C library's clocks pass. It calls [`listen`]'s listener for each that the program
//! makes. Looks of the runtime are no part of a recording: their number depends on the time. So the network
//! and the waits of the runtime say when it is they who look ([`clock::unseen`]). Random numbers need no
//! listener: the library draws them from a seed.
#![expect(unsafe_code, reason = "variables of a library that may have been loaded")]

use gasnet_sys::clock;
use std::cell::Cell;
use std::ffi::{CStr, c_int, c_void};

/// Nanoseconds in a second.
const SECOND: u64 = 1_000_000_000;
/// Clocks with higher numbers belong to devices and other processes.
const CLOCKS: c_int = 16;

/// Hears of looks at a clock.
pub(crate) trait Looks: Send + Sync {
    /// The program looks at a clock that shows `now`, in nanoseconds; returns what it is to see.
    fn look(&self, clock: u8, now: u64) -> u64;
}

type Hook = extern "C" fn(*mut c_void, c_int, *mut libc::timespec);

thread_local! {
    /// Whether this thread is the program's.
    static COUNTS: Cell<bool> = const { Cell::new(false) };
}

/// A listener, and the process whose looks it hears: not those of children that the process forks.
struct Listener {
    looks: Box<dyn Looks>,
    process: gasnet_sys::process::Pid,
}

extern "C" fn looked(context: *mut c_void, clock: c_int, now: *mut libc::timespec) {
    if !(0..CLOCKS).contains(&clock) || !COUNTS.get() || clock::is_unseen() {
        return;
    }
    // SAFETY: the context that `listen` leaves in the library; and the caller's own time.
    let (listener, now) = unsafe { (&*context.cast::<Listener>(), &mut *now) };
    if listener.process != gasnet_sys::process::pid() {
        return;
    }
    let shown = now.tv_sec as u64 * SECOND + now.tv_nsec as u64;
    let seen = clock::unseen(|| listener.looks.look(clock as u8, shown));
    (now.tv_sec, now.tv_nsec) = ((seen / SECOND) as libc::time_t, (seen % SECOND) as libc::c_long);
}

/// A variable of the library; null if the library is not there.
pub(crate) fn find(name: &CStr) -> *mut c_void {
    // SAFETY: looks for a name.
    unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) }
}

/// Has a listener hear of the looks of this thread for the rest of the process, if the library is there.
pub(crate) fn listen(looks: Box<dyn Looks>) {
    let (hook, context) = (find(c"gasneti_clock_hook"), find(c"gasneti_clock_context"));
    if hook.is_null() || context.is_null() {
        return;
    }
    let listener = Box::into_raw(Box::new(Listener { looks, process: gasnet_sys::process::pid() }));
    // SAFETY: the library's two variables, which nobody else sets. One thread starts the rank; others that
    // look at a clock now find the hook with its context or none.
    unsafe {
        context.cast::<*mut c_void>().write_volatile(listener.cast());
        hook.cast::<Option<Hook>>().write_volatile(Some(looked));
    }
    COUNTS.set(true);
}
