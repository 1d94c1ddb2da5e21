//! Signals: crashes are reported, requests to end become exits, and SIGQUIT belongs to the client if it wants
//! it.
//!
//! | Signal | What happens |
//! |---|---|
//! | SIGABRT SIGILL SIGSEGV SIGBUS SIGFPE | a message that names the node, a backtrace if wanted, then the default action |
//! | SIGINT SIGTERM SIGHUP | become SIGQUIT here; a second one ends the process at once |
//! | SIGQUIT (also how the job's monitor says that it is over) | a client's own handler, else the exit below |
//!
//! Shells start programs in the background with SIGINT and SIGQUIT ignored. SIGINT stays ignored then,
//! SIGQUIT does not.
//!
//! A rank told to end by the monitor gets `GRACE_MS` to reach an exit of its own: when all ranks call
//! `gasnet_exit` at about the same time, those behind may still print what they were about to.
//!
//! Handlers use only what may be used in one: system calls, and stdio's locks without waiting for them.

#![expect(unsafe_code, reason = "installs signal handlers; exported to C by name")]

use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering::Relaxed};

use gasnet_sys::signals::{Fault, on_fault};

use crate::{abi, exit, tools};
use gasnet_settings::c as settings;

/// A signal handler as C declares it.
pub type Handler = Option<extern "C" fn(c_int)>;

const CRASHES: [(c_int, &str); 5] = [
    (libc::SIGABRT, "SIGABRT"),
    (libc::SIGILL, "SIGILL"),
    (libc::SIGSEGV, "SIGSEGV"),
    (libc::SIGBUS, "SIGBUS"),
    (libc::SIGFPE, "SIGFPE"),
];
const REQUESTS: [(c_int, &str); 3] =
    [(libc::SIGINT, "SIGINT"), (libc::SIGTERM, "SIGTERM"), (libc::SIGHUP, "SIGHUP")];

/// Milliseconds that a rank has from the request to end until it is ended.
const GRACE_MS: libc::suseconds_t = 100;

/// Crashes wait for a debugger (`GASNET_FREEZE_ON_ERROR`); read beforehand, because a handler must not.
static FREEZE: AtomicBool = AtomicBool::new(false);
/// The request to end that arrived, if any.
static REQUEST: AtomicI32 = AtomicI32::new(0);

/// Installs a handler with `sigaction`; the one before.
///
/// # Safety
/// `handler` is the address of a handler, `SIG_DFL` or `SIG_IGN`.
unsafe fn install(signal: c_int, handler: usize, flags: c_int) -> usize {
    // SAFETY: all-zero sigactions are valid, and are filled in before use.
    unsafe {
        let mut new: libc::sigaction = std::mem::zeroed();
        let mut old: libc::sigaction = std::mem::zeroed();
        new.sa_sigaction = handler;
        new.sa_flags = flags;
        libc::sigemptyset(&mut new.sa_mask);
        libc::sigaction(signal, &new, &mut old);
        old.sa_sigaction
    }
}

/// Installs a signal handler that stays installed; the one before.
#[unsafe(no_mangle)]
pub extern "C" fn gasnett_reghandler(signal: c_int, handler: Handler) -> Handler {
    let address = handler.map_or(libc::SIG_DFL, |f| f as *const () as usize);
    // SAFETY: the caller gives a handler, or one of the two constants.
    let before = unsafe { install(signal, address, libc::SA_RESTART) };
    // SAFETY: what was installed before is a handler or one of the two constants; C makes the same
    // conversion.
    unsafe { std::mem::transmute::<usize, Handler>(before) }
}

/// The entries of a list of signals.
fn entries(list: &str) -> impl Iterator<Item = &str> {
    list.split(|c: char| c == ',' || c == ';' || c.is_whitespace()).filter(|entry| !entry.is_empty())
}

/// Whether a list of names or numbers, or `*`, names a signal.
fn is_named(list: &str, signal: c_int, name: &str) -> bool {
    entries(list).any(|entry| {
        entry == "*"
            || entry.eq_ignore_ascii_case(name)
            || entry.eq_ignore_ascii_case(&name[3..])
            || entry.parse() == Ok(signal)
    })
}

/// All signals that [`set_up`] may catch.
fn caught() -> impl Iterator<Item = (c_int, &'static str)> {
    CRASHES.into_iter().chain(REQUESTS).chain([(libc::SIGQUIT, "SIGQUIT")])
}

/// The entry of a list that names none of them, if there is one.
fn misnamed(list: &str) -> Option<&str> {
    entries(list).find(|entry| !caught().any(|(signal, name)| is_named(entry, signal, name)))
}

/// Whether this process is the one that warns of the job's settings.
fn warns() -> bool {
    crate::state::get().is_some_and(|state| state.rank.id().0 == 0 && !state.rank.config().quiet)
}

/// Installs the handlers of the table above where the client has none.
pub fn set_up() {
    // A list of names or numbers, or `*`.
    let excluded = std::env::var("GASNET_NO_CATCH_SIGNAL").unwrap_or_default();
    if let Some(entry) = misnamed(&excluded)
        && warns()
    {
        let known: Vec<_> = caught().map(|(_, name)| name).collect();
        eprintln!(
            "gasnet: warning: GASNET_NO_CATCH_SIGNAL={excluded}: '{entry}' is no signal that the runtime catches: those are {}, or * for all",
            known.join(", ")
        );
    }
    let unless_excluded = |signal, name, handler: extern "C" fn(c_int), flags| {
        if !is_named(&excluded, signal, name) {
            // SAFETY: our own handlers, which only do what a handler may.
            let before = unsafe { install(signal, handler as *const () as usize, flags) };
            // Shells have programs in the background ignore SIGQUIT: that is nobody's choice.
            let unset = before == libc::SIG_DFL || before == libc::SIG_IGN && signal == libc::SIGQUIT;
            if !unset {
                // SAFETY: puts back what was there.
                unsafe { install(signal, before, libc::SA_RESTART) };
            }
        }
    };
    FREEZE.store(settings::is_on("GASNET_FREEZE_ON_ERROR") == Some(true), Relaxed);
    for (signal, _) in CRASHES.into_iter().filter(|(signal, name)| !is_named(&excluded, *signal, name)) {
        on_fault(signal, on_crash);
    }
    for (signal, name) in REQUESTS {
        unless_excluded(signal, name, on_request, libc::SA_RESTART);
    }
    unless_excluded(libc::SIGQUIT, "SIGQUIT", on_quit, libc::SA_RESTART);
}

/// Prints a backtrace when the signal named by `GASNET_BACKTRACE_SIGNAL` arrives.
pub fn set_up_backtrace_signal() {
    let Ok(name) = std::env::var("GASNET_BACKTRACE_SIGNAL") else { return };
    let known = [(libc::SIGUSR1, "SIGUSR1"), (libc::SIGUSR2, "SIGUSR2"), (libc::SIGHUP, "SIGHUP")];
    let chosen = known.iter().find(|(signal, text)| is_named(&name, *signal, text));
    let number = || name.trim().parse().ok().filter(|n| (1..=libc::SIGRTMAX()).contains(n));
    match chosen.map(|known| known.0).or_else(number) {
        Some(signal) => {
            // SAFETY: our own handler.
            let _ = unsafe { install(signal, on_backtrace as *const () as usize, libc::SA_RESTART) };
        }
        None if !name.trim().is_empty() && warns() => {
            eprintln!(
                "gasnet: warning: GASNET_BACKTRACE_SIGNAL={name}: use SIGUSR1, SIGUSR2, SIGHUP or a number"
            );
        }
        None => {}
    }
}

extern "C" fn on_backtrace(_: c_int) {
    let _ = tools::backtrace::gasnett_print_backtrace(2);
}

/// A short text put together without allocation.
struct ShortText {
    bytes: [u8; 128],
    len: usize,
}

impl std::fmt::Write for ShortText {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let n = text.len().min(self.bytes.len() - self.len);
        self.bytes[self.len..self.len + n].copy_from_slice(&text.as_bytes()[..n]);
        self.len += n;
        Ok(())
    }
}

/// Writes one line to standard error with a single system call.
fn print(arguments: std::fmt::Arguments<'_>) {
    let mut line = ShortText { bytes: [0; 128], len: 0 };
    let _ = std::fmt::write(&mut line, arguments);
    // SAFETY: the bytes are ours.
    unsafe { libc::write(2, line.bytes.as_ptr().cast(), line.len) };
}

fn on_crash(fault: &Fault) {
    let signal = fault.signal;
    let name = CRASHES.iter().find(|crash| crash.0 == signal).map_or("?", |crash| crash.1);
    let _ = exit::try_flush();
    print(format_args!(
        "*** Caught a fatal signal: {name}({signal}) on node {}/{}\n",
        abi::rank(),
        abi::size()
    ));
    tools::sys::gasnett_freezeForDebuggerErr();
    let _ = tools::backtrace::gasnett_print_backtrace_ifenabled(2);
}

extern "C" fn on_request(signal: c_int) {
    if REQUEST.swap(signal, Relaxed) != 0 {
        // SAFETY: asked twice; ends the process.
        unsafe { libc::_exit(1) };
    }
    // SAFETY: runs the client's handler for SIGQUIT, or ours.
    unsafe { libc::raise(libc::SIGQUIT) };
}

extern "C" fn on_quit(_: c_int) {
    let request = REQUEST.load(Relaxed);
    if request != 0 {
        exit::job_exit(128 + request);
    }
    let grace = libc::timeval { tv_sec: 0, tv_usec: GRACE_MS * 1000 };
    let once = libc::itimerval { it_interval: grace, it_value: grace };
    // SAFETY: our own handler; the timer's setting is ours.
    unsafe {
        install(libc::SIGQUIT, libc::SIG_IGN, 0);
        install(libc::SIGALRM, on_grace_over as *const () as usize, 0);
        libc::setitimer(libc::ITIMER_REAL, &once, std::ptr::null_mut());
    }
}

extern "C" fn on_grace_over(_: c_int) {
    let _ = exit::try_flush();
    // SAFETY: ends the process; the monitor knows the job's code.
    unsafe { libc::_exit(1) };
}

#[cfg(test)]
mod tests {
    use super::{is_named, misnamed};

    #[test]
    fn signals_are_named_by_name_number_or_star() {
        assert!(is_named("SIGINT,SIGTERM", 15, "SIGTERM"));
        assert!(is_named("term", 15, "SIGTERM"));
        assert!(is_named("2 15", 15, "SIGTERM"));
        assert!(is_named("*", 15, "SIGTERM"));
        assert!(!is_named("SIGINT", 15, "SIGTERM"));
        assert!(!is_named("", 15, "SIGTERM"));
        assert_eq!(misnamed("SIGINT, term;*  3"), None);
        assert_eq!(misnamed("SIGINT,SIGTREM"), Some("SIGTREM"));
    }
}
