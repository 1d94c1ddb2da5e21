//! Signals: sets, masks, actions, and a descriptor that delivers them.
#![expect(unsafe_code, reason = "sets and actions of signals")]

use std::ffi::c_int;
use std::io;
use std::os::fd::{BorrowedFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::fd;

/// A set of signals.
#[derive(Clone, Copy)]
pub struct SignalSet(libc::sigset_t);

impl std::fmt::Debug for SignalSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // SAFETY: the set is initialised; numbers that are not signals are in no set.
        let all = (1..65).filter(|signal| unsafe { libc::sigismember(&self.0, *signal) } == 1);
        f.debug_set().entries(all).finish()
    }
}

impl SignalSet {
    /// The set of exactly these signals.
    pub fn of(signals: &[c_int]) -> SignalSet {
        // SAFETY: an all-zero `sigset_t` can be initialised by `sigemptyset`; numbers that are not signals
        // are refused.
        unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&mut set);
            for &signal in signals {
                libc::sigaddset(&mut set, signal);
            }
            SignalSet(set)
        }
    }

    /// All signals.
    pub fn all() -> SignalSet {
        // SAFETY: an all-zero `sigset_t` can be initialised by `sigfillset`.
        unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::sigfillset(&mut set);
            SignalSet(set)
        }
    }

    /// Blocks these signals in the calling thread, and returns the old mask.
    pub fn block(&self) -> SignalSet {
        let mut before = SignalSet::of(&[]);
        // SAFETY: both sets are initialised and live.
        unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &self.0, &mut before.0) };
        before
    }

    /// Blocks exactly these signals in the calling thread.
    pub fn set(&self) {
        // SAFETY: the set is initialised; a null pointer asks for no old mask.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.0, std::ptr::null_mut()) };
    }

    /// A descriptor that delivers these (blocked) signals, for [`next_signal`].
    pub fn descriptor(&self) -> io::Result<OwnedFd> {
        // SAFETY: the set is initialised; -1 asks for a new descriptor.
        let fd = unsafe { libc::signalfd(-1, &self.0, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just made this descriptor for us; nobody else knows it.
        Ok(unsafe { OwnedFd::from_raw_fd(fd) })
    }
}

/// The next signal waiting in a signal descriptor.
pub fn next_signal(fd: BorrowedFd<'_>) -> Option<c_int> {
    const SIZE: usize = size_of::<libc::signalfd_siginfo>();
    let mut record = [0; SIZE];
    let n = fd::read(fd, &mut record).ok()?;
    // The first field, `ssi_signo`, is a u32.
    (n == SIZE).then(|| i32::from_ne_bytes([record[0], record[1], record[2], record[3]]))
}

/// The action of a process on a signal.
pub struct SignalAction(c_int, libc::sigaction);

impl std::fmt::Debug for SignalAction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("SignalAction").field(&self.0).finish_non_exhaustive()
    }
}

impl SignalAction {
    /// Sets a signal to its default action, or ignores it, and returns the old action.
    pub fn change(signal: c_int, ignore: bool) -> SignalAction {
        // SAFETY: an all-zero `sigaction` is valid, both actions are predefined, and no handler of ours is
        // installed.
        unsafe {
            let mut new: libc::sigaction = std::mem::zeroed();
            let mut old: libc::sigaction = std::mem::zeroed();
            new.sa_sigaction = if ignore { libc::SIG_IGN } else { libc::SIG_DFL };
            libc::sigaction(signal, &new, &mut old);
            SignalAction(signal, old)
        }
    }

    /// Restores the action.
    pub fn restore(&self) {
        // SAFETY: the action was in force in this program before.
        unsafe { libc::sigaction(self.0, &self.1, std::ptr::null_mut()) };
    }
}

/// The signals by which a process ends because of a fault of its own. Their default action dumps core.
pub const FAULTS: [c_int; 7] =
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGABRT, libc::SIGILL, libc::SIGFPE, libc::SIGTRAP, libc::SIGSYS];

/// A fault that ends the process.
#[derive(Debug, Clone, Copy)]
pub struct Fault {
    /// The signal.
    pub signal: c_int,
    /// The address whose access was refused, where the system tells one.
    pub address: Option<usize>,
}

/// The functions to call at a fault of each of [`FAULTS`], in order.
static HOOKS: [[AtomicPtr<()>; HOOKS_PER_FAULT]; FAULTS.len()] =
    [const { [const { AtomicPtr::new(std::ptr::null_mut()) }; HOOKS_PER_FAULT] }; FAULTS.len()];
/// More than there are parts of the runtime that ask.
const HOOKS_PER_FAULT: usize = 4;
/// The actions before ours. Null: ours is not installed.
static BEFORE: [AtomicPtr<libc::sigaction>; FAULTS.len()] =
    [const { AtomicPtr::new(std::ptr::null_mut()) }; FAULTS.len()];
/// Held by who adds a hook.
static ADDING: Mutex<()> = Mutex::new(());
/// Bytes of the stack for handlers: a backtrace needs much.
const HANDLER_STACK_BYTES: usize = 1 << 20;

/// Has `hook` called when a fault of this kind ends the process, before the action that was there. A handler
/// that the program installs later takes the place of all this. A signal that is not one of [`FAULTS`], and
/// more hooks than there is room for, are ignored.
///
/// `hook` runs in a signal handler, on a stack of its own in the calling thread: it must not rely on locks
/// that the faulting code may hold.
pub fn on_fault(signal: c_int, hook: fn(&Fault)) {
    let Some(kind) = FAULTS.iter().position(|known| *known == signal) else { return };
    let _adding = ADDING.lock().unwrap_or_else(PoisonError::into_inner);
    // Relaxed: only changed under the lock.
    let Some(free) = HOOKS[kind].iter().find(|hook| hook.load(Ordering::Relaxed).is_null()) else { return };
    // ORDER: Release; pairs with Acquire in at_fault.
    free.store(hook as *mut (), Ordering::Release);
    if BEFORE[kind].load(Ordering::Relaxed).is_null() {
        handler_stack();
        // SAFETY: all-zero actions are valid, and filled in before use. The earlier action is leaked to the
        // handler, which gives the signal back to it.
        unsafe {
            let old = Box::leak(Box::new(std::mem::zeroed::<libc::sigaction>()));
            libc::sigaction(signal, std::ptr::null(), old);
            // ORDER: Release; pairs with Acquire in at_fault: the action.
            BEFORE[kind].store(old, Ordering::Release);
            let mut new: libc::sigaction = std::mem::zeroed();
            new.sa_sigaction = at_fault as *const () as usize;
            new.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            libc::sigemptyset(&mut new.sa_mask);
            libc::sigaction(signal, &new, std::ptr::null_mut());
        }
    }
}

/// Gives the calling thread a stack for handlers if it has none, since the usual one may be what is full; or
/// if it has a small one, as the main thread of a program in Rust.
fn handler_stack() {
    // SAFETY: an all-zero `stack_t` is a valid destination; the memory is leaked, so it outlives every
    // handler.
    unsafe {
        let mut now: libc::stack_t = std::mem::zeroed();
        libc::sigaltstack(std::ptr::null(), &mut now);
        if now.ss_flags & libc::SS_DISABLE != 0 || now.ss_size < HANDLER_STACK_BYTES {
            let stack: &'static mut [u8] = vec![0u8; HANDLER_STACK_BYTES].leak();
            let stack =
                libc::stack_t { ss_sp: stack.as_mut_ptr().cast(), ss_flags: 0, ss_size: HANDLER_STACK_BYTES };
            libc::sigaltstack(&stack, std::ptr::null_mut());
        }
    }
}

extern "C" fn at_fault(signal: c_int, info: *mut libc::siginfo_t, _: *mut std::ffi::c_void) {
    let Some(kind) = FAULTS.iter().position(|known| *known == signal) else { return };
    // SAFETY: the kernel's. A signal that somebody sent has a code that is not positive, and no address.
    let (sent, address) = unsafe { ((*info).si_code <= 0, (*info).si_addr() as usize) };
    let addressed = !sent && matches!(signal, libc::SIGSEGV | libc::SIGBUS);
    let fault = Fault { signal, address: addressed.then_some(address) };
    for hook in &HOOKS[kind] {
        // ORDER: Acquire; pairs with Release in on_fault.
        let hook = hook.load(Ordering::Acquire);
        if !hook.is_null() {
            // SAFETY: only functions of this type are stored there.
            let hook = unsafe { std::mem::transmute::<*mut (), fn(&Fault)>(hook) };
            hook(&fault);
        }
    }
    // ORDER: Acquire; pairs with Release in on_fault: the action.
    let before = BEFORE[kind].load(Ordering::Acquire);
    // SAFETY: the earlier action takes its place again. A fault happens anew when this returns; a signal that
    // was sent is raised anew.
    unsafe {
        libc::sigaction(signal, before, std::ptr::null_mut());
        if sent {
            libc::raise(signal);
        }
    }
}

/// Whether `pid` has a handler for `signal`.
pub fn catches(pid: libc::pid_t, signal: c_int) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigCgt:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| (1..=64).contains(&signal) && mask >> (signal - 1) & 1 == 1)
}

/// Whether this process ignores a signal, as `nohup` arranges for `SIGHUP`.
pub fn ignored(signal: c_int) -> bool {
    // SAFETY: an all-zero `sigaction` is a valid destination; a null pointer changes nothing.
    unsafe {
        let mut now: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &mut now);
        now.sa_sigaction == libc::SIG_IGN
    }
}

/// Name of a signal, for messages.
pub fn signal_name(signal: c_int) -> &'static str {
    match signal {
        libc::SIGHUP => "SIGHUP",
        libc::SIGINT => "SIGINT",
        libc::SIGQUIT => "SIGQUIT",
        libc::SIGILL => "SIGILL",
        libc::SIGTRAP => "SIGTRAP",
        libc::SIGABRT => "SIGABRT",
        libc::SIGBUS => "SIGBUS",
        libc::SIGFPE => "SIGFPE",
        libc::SIGKILL => "SIGKILL",
        libc::SIGUSR1 => "SIGUSR1",
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGUSR2 => "SIGUSR2",
        libc::SIGPIPE => "SIGPIPE",
        libc::SIGALRM => "SIGALRM",
        libc::SIGTERM => "SIGTERM",
        libc::SIGXCPU => "SIGXCPU",
        libc::SIGXFSZ => "SIGXFSZ",
        libc::SIGSYS => "SIGSYS",
        _ => "unnamed",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocked_signals_are_put_back() {
        let mine = SignalSet::of(&[libc::SIGUSR2]);
        let before = mine.block();
        let now = SignalSet::of(&[]).block();
        assert!(format!("{now:?}").contains(&libc::SIGUSR2.to_string()), "{now:?}");
        before.set();
        assert_eq!(format!("{:?}", SignalSet::of(&[]).block()), format!("{before:?}"));
        assert!(!catches(0, 0) && !catches(std::process::id() as libc::pid_t, 65));
    }
}
