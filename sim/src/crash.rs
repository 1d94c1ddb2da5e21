//! Crashes of simulated ranks, and turns that do not end.
//!
//! All ranks are in one process, so what would end one rank's process would end the simulation and tell
//! nothing. Instead the handler of the signal notes the rank and its place, and gives the rank's turn back
//! for good: the simulation ends with a [`Failure`](crate::Failure) like any other, from which a run can be
//! repeated and made small. A signal that comes outside of a turn, or while the world is locked, does what it
//! did before.
#![expect(unsafe_code, reason = "handlers of signals, and a stack for them")]

use crate::failure::Cause;
use crate::shared::current_if_known;
use core::ffi::{CStr, c_int, c_void};
use core::mem::MaybeUninit;
use gasnet_vessel::place;
use std::cell::Cell;
use std::sync::Once;
use std::time::Duration;

/// Signals that end a process that has made a mistake.
const CRASHES: [c_int; 5] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGABRT];
/// Says to the thread of a simulation that its present turn is to end.
const OVERTIME: c_int = libc::SIGXCPU;
/// Bytes of the stack of handlers, which look up names and lines.
const HANDLER_STACK_BYTES: usize = 1 << 20;
/// A handler that takes longer is caught by a lock that the crash has left behind.
const LONGEST_HANDLER_SECONDS: u32 = 10;
/// A stack is full if the address of a fault is this near to its pointer.
const NEAR_BYTES: usize = 64 << 10;

thread_local! {
    /// Whether this thread is in a handler already.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// While it lives, crashes of ranks on this thread are noted.
pub(crate) struct CrashWatch {
    stack: *mut c_void,
    before: libc::stack_t,
}

impl CrashWatch {
    /// Gives this thread a stack for handlers, if the system has memory for one.
    pub(crate) fn begin() -> Option<CrashWatch> {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| CRASHES.iter().chain([&OVERTIME]).for_each(|signal| install(*signal)));
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: asks for new memory anywhere.
        let stack = unsafe { libc::mmap(core::ptr::null_mut(), HANDLER_STACK_BYTES, access, kind, -1, 0) };
        if stack == libc::MAP_FAILED {
            return None;
        }
        let new = libc::stack_t { ss_sp: stack, ss_flags: 0, ss_size: HANDLER_STACK_BYTES };
        let mut before = MaybeUninit::<libc::stack_t>::zeroed();
        // SAFETY: the new stack is mapped until `drop`, which takes it away before; `before` is written, and
        // an all-zero one is valid, too.
        let before = unsafe {
            libc::sigaltstack(&raw const new, before.as_mut_ptr());
            before.assume_init()
        };
        Some(CrashWatch { stack, before })
    }
}

impl Drop for CrashWatch {
    fn drop(&mut self) {
        // SAFETY: the stack that was there before; nothing runs on ours: a rank that has crashed on it never
        // gets a turn again.
        unsafe {
            libc::sigaltstack(&raw const self.before, core::ptr::null_mut());
            libc::munmap(self.stack, HANDLER_STACK_BYTES);
        }
    }
}

fn install(signal: c_int) {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: an all-zero action is valid. The handler has the type that SA_SIGINFO asks for. SA_NODEFER: it
    // leaves by a switch of stacks, so nothing would unblock the signal.
    unsafe {
        let action = action.assume_init_mut();
        action.sa_sigaction = crashed as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
        libc::sigaction(signal, action, core::ptr::null_mut());
    }
}

/// Lets a signal do what it does by default: the instruction that has caused it is about to be repeated.
fn give_up(signal: c_int) {
    // SAFETY: the default action.
    unsafe { libc::signal(signal, libc::SIG_DFL) };
}

extern "C" fn crashed(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let overtime = signal == OVERTIME;
    let nothing = || {
        if !overtime {
            give_up(signal)
        }
    };
    if INSIDE.get() {
        return nothing();
    }
    // SAFETY: the system gives both to a handler of this kind.
    let (at, pointer) = unsafe { (instruction(context), stack_pointer(context)) };
    // A turn may only be ended while its rank holds no lock, of the world or of the C library.
    if overtime && is_in_c_library(at) {
        return;
    }
    let Some((shared, rank)) = current_if_known() else { return nothing() };
    if !shared.is_open() {
        return nothing();
    }
    INSIDE.set(true);
    // SAFETY: ends the process if this handler cannot end.
    unsafe { libc::alarm(LONGEST_HANDLER_SECONDS) };
    let place = place();
    // SAFETY: as above.
    unsafe { libc::alarm(0) };
    INSIDE.set(false);
    // SAFETY: the system gives it to a handler of this kind.
    let fault = if signal == libc::SIGSEGV { unsafe { (*info).si_addr() as usize } } else { 0 };
    let what = match signal {
        OVERTIME => Cause::Endless { rank, place },
        _ if fault.abs_diff(pointer) < NEAR_BYTES => {
            Cause::Crash { rank, signal, text: "its stack is full".into(), place }
        }
        _ => Cause::Crash { rank, signal, text: name(signal), place },
    };
    shared.fall(rank, what)
}

/// `Segmentation fault`
pub(crate) fn name(signal: c_int) -> String {
    // SAFETY: the C library's own text, or null.
    unsafe {
        let text = libc::strsignal(signal);
        if text.is_null() { String::new() } else { CStr::from_ptr(text).to_string_lossy().into_owned() }
    }
}

/// The instruction that a signal has interrupted; 0 where that is not known.
///
/// # Safety
/// 1. `context` is what the system gave to the handler (owed by the caller).
unsafe fn instruction(context: *mut c_void) -> usize {
    // SAFETY: (1).
    let context = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext };
    #[cfg(target_arch = "x86_64")]
    return context.gregs[libc::REG_RIP as usize] as usize;
    #[cfg(target_arch = "aarch64")]
    return context.pc as usize;
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    return (context, 0).1;
}

/// The stack pointer that a signal has interrupted; 0 where that is not known.
///
/// # Safety
/// 1. `context` is what the system gave to the handler (owed by the caller).
unsafe fn stack_pointer(context: *mut c_void) -> usize {
    // SAFETY: (1).
    let context = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext };
    #[cfg(target_arch = "x86_64")]
    return context.gregs[libc::REG_RSP as usize] as usize;
    #[cfg(target_arch = "aarch64")]
    return context.sp as usize;
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    return (context, 0).1;
}

/// Whether an instruction is one of the C library, whose locks a handler must not meet.
fn is_in_c_library(at: usize) -> bool {
    let mut found = MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: any address may be asked for; a name that is found stays as long as its object is loaded.
    unsafe {
        if libc::dladdr(at as *const c_void, found.as_mut_ptr()) == 0 {
            return false;
        }
        let file = found.assume_init().dli_fname;
        !file.is_null() && CStr::from_ptr(file).to_bytes().windows(8).any(|part| part == b"libc.so.")
    }
}

/// The thread of a simulation, for a watchdog that it outlives.
#[derive(Clone, Copy)]
pub(crate) struct SimulationThread(libc::pthread_t);

impl SimulationThread {
    /// The calling thread.
    ///
    /// # Safety
    /// 1. It lives as long as the value is used (owed by the caller).
    pub(crate) unsafe fn current() -> SimulationThread {
        // SAFETY: asks for a number.
        SimulationThread(unsafe { libc::pthread_self() })
    }

    /// Ends its present turn, if that is a rank's and the rank holds no lock of the simulation.
    pub(crate) fn end_turn(self) {
        // SAFETY: (1) of `current`.
        unsafe { libc::pthread_kill(self.0, OVERTIME) };
    }

    /// The processor's time that it has had; a debugger that has stopped it costs none.
    pub(crate) fn time(self) -> Option<Duration> {
        let (mut clock, mut time) = (0, libc::timespec { tv_sec: 0, tv_nsec: 0 });
        // SAFETY: (1) of `current`; both results are written before they are read.
        unsafe {
            let known = libc::pthread_getcpuclockid(self.0, &raw mut clock) == 0
                && libc::clock_gettime(clock, &raw mut time) == 0;
            known.then(|| Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
        }
    }
}
