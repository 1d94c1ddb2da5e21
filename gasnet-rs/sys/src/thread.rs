//! Threads of the libraries, beside those of the program.
#![expect(unsafe_code, reason = "sched_setattr")]

use std::cell::Cell;
use std::io;
use std::num::NonZeroU64;
use std::path::Path;
use std::thread::{Builder, JoinHandle};

use crate::signals::SignalSet;

/// Starts a thread that takes no signals, since those are for the program's own threads.
pub fn spawn_without_signals<T: Send + 'static>(
    thread: Builder,
    body: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    // A thread inherits its maker's mask, so no signal can reach it before it blocks them itself.
    let before = SignalSet::all().block();
    let spawned = thread.spawn(body);
    before.set();
    spawned
}

/// The number that the system has given the calling thread.
pub fn number() -> u32 {
    thread_local! {
        static NUMBER: Cell<u32> = const { Cell::new(0) };
    }
    if NUMBER.get() == 0 {
        NUMBER.set(rustix::thread::gettid().as_raw_pid() as u32);
    }
    NUMBER.get()
}

/// Whether this process has a thread of that number.
pub fn exists(number: u32) -> bool {
    Path::new("/proc/self/task").join(number.to_string()).exists()
}

/// Makes short sleeps of the calling thread end on time, instead of up to 50 us late.
pub fn sleep_exactly() {
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
}

/// Makes the calling thread run as soon as it is woken, if the kernel supports it (Linux from 6.12 on): a
/// thread with shorter turns does not wait for the end of another's, which takes a millisecond or more. Its
/// share of the processor does not change. Returns whether the kernel supports it.
pub fn run_when_woken() -> bool {
    const SHORTEST_TURN_NS: u64 = 100_000;
    const SIZE: u32 = size_of::<Attributes>() as u32;
    #[repr(C)]
    #[derive(Default)]
    struct Attributes {
        size: u32,
        policy: u32,
        flags: u64,
        nice: i32,
        priority: u32,
        runtime: u64,
        deadline: u64,
        period: u64,
    }
    let mut now = Attributes::default();
    // SAFETY: reads as many bytes as there are, and writes them back; 0 is this thread.
    unsafe {
        if libc::syscall(libc::SYS_sched_getattr, 0, &raw mut now, SIZE, 0) != 0
            || now.policy != libc::SCHED_OTHER as u32
        {
            return false;
        }
        (now.size, now.runtime) = (SIZE, SHORTEST_TURN_NS);
        libc::syscall(libc::SYS_sched_setattr, 0, &raw const now, 0) == 0
    }
}
