//! Mappings of memory files: the only place that calls `mmap`.
#![expect(unsafe_code, reason = "mmap and friends")]

use crate::error::Error;
use crate::prim::AtomicU32;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Bytes in a page.
pub(crate) const PAGE: usize = 4096;

fn os_error(what: &str) -> Error {
    Error::job(format!("{what}: {}", std::io::Error::last_os_error()))
}

/// Makes a memory file at least `len` bytes long; never shorter, also when another rank makes it longer at the same time.
pub(crate) fn grow(fd: BorrowedFd<'_>, len: u64) -> Result<(), Error> {
    if len == 0 {
        return Ok(());
    }
    crate::limits::check_file_size(len)?;
    // Allocating the last byte extends and never truncates or overwrites.
    // SAFETY: plain system call on an open descriptor.
    let rc = unsafe { libc::fallocate(fd.as_raw_fd(), 0, (len - 1) as libc::off_t, 1) };
    if rc == 0 {
        Ok(())
    } else {
        Err(os_error(&format!("cannot give shared memory a length of {len} bytes")))
    }
}

/// Writes into a memory file, which grows as needed.
pub(crate) fn write_at(fd: BorrowedFd<'_>, offset: u64, bytes: &[u8]) -> Result<(), Error> {
    // SAFETY: pointer and length describe `bytes`.
    let n =
        unsafe { libc::pwrite(fd.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), offset as libc::off_t) };
    // A memory file takes everything or fails.
    if n == bytes.len() as isize { Ok(()) } else { Err(os_error("cannot write to shared memory")) }
}

/// Reads from a memory file exactly as many bytes as `bytes` has.
pub(crate) fn read_at(fd: BorrowedFd<'_>, offset: u64, bytes: &mut [u8]) -> Result<(), Error> {
    // SAFETY: pointer and length describe `bytes`.
    let n =
        unsafe { libc::pread(fd.as_raw_fd(), bytes.as_mut_ptr().cast(), bytes.len(), offset as libc::off_t) };
    if n == bytes.len() as isize { Ok(()) } else { Err(os_error("cannot read shared memory")) }
}

/// Maps `len` bytes of a memory file from `offset`, shared, lazily, anywhere. The mapping lives as long as the process.
pub(crate) fn map_shared(fd: BorrowedFd<'_>, offset: u64, len: usize) -> Result<*mut u8, Error> {
    mmap(std::ptr::null_mut(), len, Some((fd, offset)), 0)
}

/// A descriptor that is readable after something was written to it, until it is read; neither waits.
pub(crate) fn event_descriptor() -> std::io::Result<std::os::fd::OwnedFd> {
    // SAFETY: plain system call; the descriptor is ours.
    unsafe {
        match libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) {
            -1 => Err(std::io::Error::last_os_error()),
            fd => Ok(std::os::fd::FromRawFd::from_raw_fd(fd)),
        }
    }
}

/// Maps `len` bytes of a memory file over part of a range got from [`reserve`].
///
/// # Safety
/// 1. `[at, at + len)` lies inside one live reservation and nothing uses what was mapped there (owed by the caller).
pub(crate) unsafe fn map_over(fd: BorrowedFd<'_>, offset: u64, at: *mut u8, len: usize) -> Result<(), Error> {
    mmap(at, len, Some((fd, offset)), libc::MAP_FIXED).map(|_| ())
}

/// Reserves `len` bytes of address space without access, at `hint` exactly, else `None`.
pub(crate) fn reserve_at(hint: usize, len: usize) -> Option<*mut u8> {
    let at = hint as *mut u8;
    match mmap(at, len, None, libc::MAP_FIXED_NOREPLACE) {
        Ok(p) if p == at => Some(p),
        Ok(p) => {
            // An old kernel that takes the flag as a hint.
            unmap(p, len);
            None
        }
        Err(_) => None,
    }
}

/// Reserves `len` bytes of address space without access, anywhere.
pub(crate) fn reserve(len: usize) -> Result<*mut u8, Error> {
    mmap(std::ptr::null_mut(), len, None, 0)
}

/// Takes a mapping away that was got from this module.
///
/// # Safety
/// 1. Nothing uses it any more (owed by the caller).
pub(crate) unsafe fn give_back((at, len): (usize, usize)) {
    unmap(at as *mut u8, len);
}

fn unmap(p: *mut u8, len: usize) {
    // SAFETY: called only on a range that this module mapped, and that nobody uses: not yet, or no longer (`give_back`).
    unsafe { libc::munmap(p.cast(), len) };
}

fn mmap(at: *mut u8, len: usize, file: Option<(BorrowedFd<'_>, u64)>, flags: i32) -> Result<*mut u8, Error> {
    let (prot, kind, fd, offset) = match file {
        Some((fd, offset)) => (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED, fd.as_raw_fd(), offset),
        None => (libc::PROT_NONE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0),
    };
    // SAFETY: without MAP_FIXED a new mapping harms no existing one; with it, map_over's caller answers for the range.
    let p = unsafe {
        libc::mmap(at.cast(), len, prot, kind | flags | libc::MAP_NORESERVE, fd, offset as libc::off_t)
    };
    if p == libc::MAP_FAILED {
        let why = crate::limits::memory_refused(&std::io::Error::last_os_error());
        return Err(Error::job(format!("cannot map {len} bytes of shared memory: {why}")));
    }
    Ok(p.cast())
}

/// Physical memory of this host in bytes.
pub(crate) fn physical_memory() -> u64 {
    // SAFETY: plain queries.
    let (pages, size) = unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    (pages.max(1) as u64) * (size.max(4096) as u64)
}

/// The host's monotonic clock, the same in all its processes.
pub(crate) fn monotonic() -> std::time::Duration {
    clock(libc::CLOCK_MONOTONIC)
}

/// The same as of the last tick of the system, 1 to 10 ms ago at most: a few nanoseconds to read.
pub(crate) fn last_tick() -> std::time::Duration {
    clock(libc::CLOCK_MONOTONIC_COARSE)
}

fn clock(which: libc::clockid_t) -> std::time::Duration {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: fills in the structure; these clocks always exist.
    unsafe { libc::clock_gettime(which, &raw mut t) };
    std::time::Duration::new(t.tv_sec as u64, t.tv_nsec as u32)
}

/// Blocks all signals in this thread, and returns what was blocked before.
pub(crate) fn block_signals() -> libc::sigset_t {
    // SAFETY: all-zero sets are valid places for the results of these calls.
    unsafe {
        let (mut all, mut before): (libc::sigset_t, libc::sigset_t) =
            (core::mem::zeroed(), core::mem::zeroed());
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
        before
    }
}

/// Blocks exactly these signals in this thread.
pub(crate) fn set_signals(set: &libc::sigset_t) {
    // SAFETY: a set that the system filled in; nobody wants the old one.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, set, core::ptr::null_mut()) };
}

/// Has short sleeps of this thread end when they should, not up to 50 us later.
pub(crate) fn sleep_exactly() {
    // SAFETY: a plain setting of this thread.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1, 0, 0, 0) };
}

/// Has this thread run as soon as it is woken, where the kernel knows such a wish (Linux from 6.12 on): one whose turns are shorter does not
/// wait for the end of another's, which takes a millisecond and more. Its share of the processor stays what it was. Whether it will.
pub(crate) fn run_when_woken() -> bool {
    /// The shortest turn there is.
    const TURN: u64 = 100_000;
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
    // SAFETY: asks for as many bytes as there are, and says them again; 0 is this thread.
    unsafe {
        if libc::syscall(libc::SYS_sched_getattr, 0, &raw mut now, SIZE, 0) != 0
            || now.policy != libc::SCHED_OTHER as u32
        {
            return false;
        }
        (now.size, now.runtime) = (SIZE, TURN);
        libc::syscall(libc::SYS_sched_setattr, 0, &raw const now, 0) == 0
    }
}

/// Sleeps until a descriptor is readable, at most so long. Whether it is.
pub(crate) fn wait_readable(fd: BorrowedFd<'_>, longest: std::time::Duration) -> bool {
    let mut poll = libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let time = libc::timespec {
        tv_sec: longest.as_secs() as libc::time_t,
        tv_nsec: longest.subsec_nanos() as libc::c_long,
    };
    // SAFETY: one entry and a time that live through the call; failing or being interrupted ends the sleep, which is harmless.
    unsafe { libc::ppoll(&raw mut poll, 1, &raw const time, std::ptr::null()) > 0 }
}

/// Sleeps while a word of shared memory has this value, at most so long; ends without a reason at times.
pub(crate) fn sleep_while(word: &AtomicU32, value: u32, longest: std::time::Duration) {
    let time = libc::timespec {
        tv_sec: longest.as_secs() as libc::time_t,
        tv_nsec: longest.subsec_nanos() as libc::c_long,
    };
    // SAFETY: a word and a time that live through the call; failing or being interrupted ends the sleep, which is harmless.
    unsafe {
        libc::syscall(libc::SYS_futex, core::ptr::from_ref(word), libc::FUTEX_WAIT, value, &raw const time)
    };
}

/// Ends the sleeps of [`sleep_while`] on this word, of all processes.
pub(crate) fn wake_sleepers(word: &AtomicU32) {
    // SAFETY: a word that lives through the call.
    unsafe { libc::syscall(libc::SYS_futex, core::ptr::from_ref(word), libc::FUTEX_WAKE, i32::MAX) };
}

/// Words of a set of processors.
pub(crate) const SET_WORDS: usize = 16;

/// The processor this thread runs on.
#[inline]
pub(crate) fn this_processor() -> u32 {
    // SAFETY: plain query; it fails on no kernel that matters, and then answers -1.
    unsafe { libc::sched_getcpu() as u32 & 0xffff }
}

/// Moves this thread to the processor that is number `n` (modulo their count) of those it may run on, and lets the system move
/// it again. Does nothing where the system refuses.
pub(crate) fn go_to_processor(n: u32) {
    let allowed = processors();
    let count: u32 = allowed.iter().map(|w| w.count_ones()).sum();
    let mut numbers = (0..SET_WORDS * 64).filter(|cpu| allowed[cpu / 64] >> (cpu % 64) & 1 == 1);
    let Some(cpu) = numbers.nth((n % count.max(1)) as usize) else { return };
    move_to(cpu, &allowed);
}

/// Moves this thread to a processor, and lets it run on those that are `allowed` again.
pub(crate) fn move_to(cpu: usize, allowed: &[u64; SET_WORDS]) {
    let mut one = [0u64; SET_WORDS];
    let Some(word) = one.get_mut(cpu / 64) else { return };
    *word = 1 << (cpu % 64);
    run_on(&one);
    run_on(allowed);
}

/// Has this thread run on these processors, unless the system refuses.
pub(crate) fn run_on(set: &[u64; SET_WORDS]) {
    // SAFETY: a plain call with a set of that size.
    unsafe { libc::sched_setaffinity(0, size_of_val(set), set.as_ptr().cast()) };
}

/// The processors this process may run on, a bit each; empty if the system does not say.
pub(crate) fn processors() -> [u64; SET_WORDS] {
    let mut set = [0u64; SET_WORDS];
    // SAFETY: plain query with room for the answer.
    let rc = unsafe { libc::sched_getaffinity(0, size_of_val(&set), set.as_mut_ptr().cast()) };
    if rc == 0 { set } else { [0; SET_WORDS] }
}
