//! Core dumps without the memory that ranks share.
//!
//! A mapping of a memory file is as long as a rank may ever need, and a dump reads all of it: tens of
//! gigabytes of zeros, for which the file gets pages on the way. So [`leave_out`] keeps such mappings out of
//! dumps. Who wants to see shared variables in a debugger calls [`keep_used`]: just before the dump, a signal
//! handler puts those pages back that the file has memory for.
//!
//! The handler uses nothing but system calls. It gives the signal back to the action that was there before
//! it, so a program's own handler still runs.
#![expect(unsafe_code, reason = "madvise, and a signal handler")]

use std::ffi::{c_int, c_void};
use std::io;
use std::os::fd::{BorrowedFd, IntoRawFd};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU64, AtomicUsize, Ordering};

/// The signals whose default action dumps core, without `SIGQUIT`, which asks for it politely and belongs to
/// the program.
const SIGNALS: [c_int; 7] =
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGABRT, libc::SIGILL, libc::SIGFPE, libc::SIGTRAP, libc::SIGSYS];

/// Mappings whose used pages are kept. More than a process maps: one for each run of segments of a rank.
static KEPT: [Kept; 256] = [const { Kept::new() }; 256];
/// Number of entries in use.
static COUNT: AtomicUsize = AtomicUsize::new(0);
/// The actions before ours, by place in [`SIGNALS`]. Null: ours is not installed.
static BEFORE: [AtomicPtr<libc::sigaction>; SIGNALS.len()] =
    [const { AtomicPtr::new(std::ptr::null_mut()) }; SIGNALS.len()];
/// Held by who adds an entry.
static ADDING: Mutex<()> = Mutex::new(());

/// A mapping whose used pages are kept.
struct Kept {
    /// A descriptor of our own.
    file: AtomicI32,
    offset: AtomicU64,
    base: AtomicPtr<u8>,
    len: AtomicUsize,
}

impl Kept {
    const fn new() -> Kept {
        Kept {
            file: AtomicI32::new(-1),
            offset: AtomicU64::new(0),
            base: AtomicPtr::new(std::ptr::null_mut()),
            len: AtomicUsize::new(0),
        }
    }

    /// Takes the pages that the file has memory for back into the dump.
    fn take_back(&self) {
        // Relaxed: COUNT, which was read before, orders all of them.
        let (file, first) = (self.file.load(Ordering::Relaxed), self.offset.load(Ordering::Relaxed));
        let (base, len) = (self.base.load(Ordering::Relaxed), self.len.load(Ordering::Relaxed));
        let end = first + len as u64;
        let seek = |from: u64, whence| {
            // SAFETY: a plain call. Nothing else uses this descriptor's position: memory files are read and
            // written at offsets.
            u64::try_from(unsafe { libc::lseek(file, from as libc::off_t, whence) }).ok()
        };
        let mut from = first;
        while let Some(data) = seek(from, libc::SEEK_DATA).filter(|data| *data < end) {
            let hole = seek(data, libc::SEEK_HOLE).map_or(end, |hole| hole.min(end));
            let at = base.wrapping_add((data - first) as usize);
            // SAFETY: advice about a part of a mapping that stays for the life of the process; it changes no
            // byte.
            unsafe { libc::madvise(at.cast(), (hole - data) as usize, libc::MADV_DODUMP) };
            from = hole;
        }
    }
}

/// Keeps a mapping out of core dumps. A system that cannot do so dumps it.
pub fn leave_out(base: *mut u8, len: usize) {
    if cfg!(miri) {
        return;
    }
    // SAFETY: the call changes no byte; a range that is not mapped is refused.
    unsafe { libc::madvise(base.cast(), len, libc::MADV_DONTDUMP) };
}

/// Puts the used pages of `[base, base + len)`, which maps `file` from `offset` on, back into a core dump.
/// The mapping stays until the process ends, or its pages are simply missing from the dump.
///
/// # Errors
/// The system has no descriptor left.
pub fn keep_used(file: BorrowedFd<'_>, offset: u64, base: *mut u8, len: usize) -> io::Result<()> {
    let _adding = ADDING.lock().unwrap_or_else(PoisonError::into_inner);
    // Relaxed: only changed under the lock.
    let count = COUNT.load(Ordering::Relaxed);
    let Some(entry) = KEPT.get(count) else { return Ok(()) };
    // Relaxed, all four: COUNT below orders them.
    entry.file.store(file.try_clone_to_owned()?.into_raw_fd(), Ordering::Relaxed);
    entry.offset.store(offset, Ordering::Relaxed);
    entry.base.store(base, Ordering::Relaxed);
    entry.len.store(len, Ordering::Relaxed);
    // ORDER: Release; pairs with Acquire in on_signal: the entry.
    COUNT.store(count + 1, Ordering::Release);
    if count == 0 {
        install();
    }
    Ok(())
}

/// Installs [`on_signal`] before the actions that are there.
fn install() {
    for (signal, before) in SIGNALS.into_iter().zip(&BEFORE) {
        // SAFETY: all-zero actions are valid, and filled in before use; the handler only does what a handler
        // may. The box is leaked to it.
        unsafe {
            let old = Box::leak(Box::new(std::mem::zeroed::<libc::sigaction>()));
            libc::sigaction(signal, std::ptr::null(), old);
            // ORDER: Release; pairs with Acquire in on_signal: the action.
            before.store(old, Ordering::Release);
            let mut new: libc::sigaction = std::mem::zeroed();
            new.sa_sigaction = on_signal as *const () as usize;
            // Rust's own handler for stack overflows has a stack for handlers ready.
            new.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            libc::sigemptyset(&mut new.sa_mask);
            libc::sigaction(signal, &new, std::ptr::null_mut());
        }
    }
}

extern "C" fn on_signal(signal: c_int, info: *mut libc::siginfo_t, _: *mut c_void) {
    // ORDER: Acquire; pairs with Release in keep_used: the entries.
    for entry in &KEPT[..COUNT.load(Ordering::Acquire)] {
        entry.take_back();
    }
    let Some(place) = SIGNALS.iter().position(|known| *known == signal) else { return };
    // ORDER: Acquire; pairs with Release in install: the action.
    let before = BEFORE[place].load(Ordering::Acquire);
    // SAFETY: the earlier action takes its place again. A fault happens anew when this returns; a signal that
    // somebody sent (its code is not positive) is raised anew. `info` is the kernel's.
    unsafe {
        libc::sigaction(signal, before, std::ptr::null_mut());
        if (*info).si_code <= 0 {
            libc::raise(signal);
        }
    }
}
