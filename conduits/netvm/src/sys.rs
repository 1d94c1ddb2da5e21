//! System calls of the live NIC: shared memory, futexes between processes, event descriptors, threads without signals.
#![expect(unsafe_code, reason = "system calls")]

use gasnet::Error;
use gasnet::limits::{check_file_size, memory_refused, thread_refused};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::atomic::AtomicU32;
use std::time::Duration;

/// A mapping of this process, given back when dropped.
pub(crate) struct Mapping {
    base: *mut u8,
    len: usize,
}

// SAFETY: an address and a length; what lies there says itself who may use it.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps part of a shared memory file, which is made long enough.
    pub(crate) fn shared(fd: BorrowedFd<'_>, offset: u64, len: usize) -> Result<Mapping, Error> {
        check_file_size(offset + len as u64)?;
        // SAFETY: plain call on an open descriptor; allocating the last byte never makes a file shorter.
        let grown =
            unsafe { libc::fallocate(fd.as_raw_fd(), 0, (offset + len as u64 - 1) as libc::off_t, 1) };
        if grown != 0 {
            return Err(failed("shared memory for the NICs"));
        }
        Mapping::map(len, libc::MAP_SHARED, Some((fd, offset)))
    }

    fn map(len: usize, flags: i32, file: Option<(BorrowedFd<'_>, u64)>) -> Result<Mapping, Error> {
        let (fd, offset) = file.map_or((-1, 0), |(fd, offset)| (fd.as_raw_fd(), offset));
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice.
        let base =
            unsafe { libc::mmap(core::ptr::null_mut(), len, protection, flags, fd, offset as libc::off_t) };
        if base == libc::MAP_FAILED {
            return Err(failed("memory for the NIC"));
        }
        Ok(Mapping { base: base.cast(), len })
    }

    /// Its first byte.
    pub(crate) fn base(&self) -> *mut u8 {
        self.base
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped in `map`, and whoever used it is gone with its owner.
        unsafe { libc::munmap(self.base.cast(), self.len) };
    }
}

fn failed(what: &str) -> Error {
    Error::job(format!("netvm conduit: no {what}: {}", memory_refused(&io::Error::last_os_error())))
}

/// Sleeps while the word has this value, until [`wake`] or so long. The word may be in memory that processes share.
pub(crate) fn sleep_on(word: &AtomicU32, value: u32, longest: Duration) {
    let time = libc::timespec {
        tv_sec: longest.as_secs() as libc::time_t,
        tv_nsec: longest.subsec_nanos() as libc::c_long,
    };
    // SAFETY: the word and the time live through the call; every way it ends is a wake-up.
    unsafe {
        libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, value, &raw const time);
    }
}

/// Wakes who sleeps on a word.
pub(crate) fn wake(word: &AtomicU32) {
    // SAFETY: the word lives through the call.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, 1) };
}

/// A descriptor that is readable from [`ring`](Bell::ring) to [`clear`](Bell::clear).
pub(crate) struct Bell(OwnedFd);

impl Bell {
    pub(crate) fn new() -> Result<Bell, Error> {
        // SAFETY: a plain call; the descriptor it returns is ours.
        unsafe {
            let fd = libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK);
            if fd < 0 { Err(failed("event descriptor")) } else { Ok(Bell(OwnedFd::from_raw_fd(fd))) }
        }
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    pub(crate) fn ring(&self) {
        // SAFETY: eight bytes, as event descriptors take; a full counter is readable already.
        unsafe { libc::write(self.0.as_raw_fd(), (&raw const ONE).cast(), 8) };
    }

    pub(crate) fn clear(&self) {
        let mut count = 0u64;
        // SAFETY: room for eight bytes; an empty counter is what we want.
        unsafe { libc::read(self.0.as_raw_fd(), (&raw mut count).cast(), 8) };
    }
}

static ONE: u64 = 1;

/// A descriptor that is readable when one of two is.
pub(crate) struct Either(OwnedFd);

impl Either {
    pub(crate) fn new(fds: [BorrowedFd<'_>; 2]) -> Result<Either, Error> {
        // SAFETY: a plain call; the descriptor it returns is ours.
        let set = unsafe {
            let fd = libc::epoll_create1(libc::EPOLL_CLOEXEC);
            if fd < 0 {
                return Err(failed("descriptor of several"));
            }
            OwnedFd::from_raw_fd(fd)
        };
        for fd in fds {
            let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: 0 };
            // SAFETY: two open descriptors and an event.
            let added = unsafe {
                libc::epoll_ctl(set.as_raw_fd(), libc::EPOLL_CTL_ADD, fd.as_raw_fd(), &raw mut event)
            };
            if added != 0 {
                return Err(failed("descriptor of several"));
            }
        }
        Ok(Either(set))
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Sleeps until a descriptor is readable, or so long.
pub(crate) fn wait_readable(fd: BorrowedFd<'_>, longest: Duration) {
    let mut poll = libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: one descriptor to poll; every way it ends is a wake-up.
    unsafe { libc::poll(&raw mut poll, 1, longest.as_millis() as libc::c_int) };
}

/// Starts a thread that takes no signals and whose sleeps end when they should.
pub(crate) fn spawn(
    name: &str,
    body: impl FnOnce() + Send + 'static,
) -> Result<std::thread::JoinHandle<()>, Error> {
    // A thread begins with its maker's signals blocked: none may come to it before it blocks them itself.
    // SAFETY: all-zero sets are valid places for results; the old set is put back below.
    let before = unsafe {
        let (mut all, mut before): (libc::sigset_t, libc::sigset_t) =
            (core::mem::zeroed(), core::mem::zeroed());
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
        before
    };
    let thread = std::thread::Builder::new().name(name.to_string()).spawn(move || {
        // SAFETY: a plain setting of this thread.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1, 0, 0, 0) };
        body();
    });
    // SAFETY: the set from above.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, core::ptr::null_mut()) };
    thread.map_err(|e| Error::job(format!("netvm conduit: no thread for the NIC: {}", thread_refused(&e))))
}

/// Bytes that are random enough for protection keys.
pub(crate) fn random() -> u64 {
    let mut word = 0u64;
    // SAFETY: room for eight bytes; without any the address is as random as it gets.
    let got = unsafe { libc::getrandom((&raw mut word).cast(), 8, 0) };
    if got == 8 { word } else { (&raw const word) as u64 ^ u64::from(std::process::id()) << 32 }
}

/// Bytes that this process may pin; `None`: as many as it likes.
pub(crate) fn pin_limit() -> Option<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: plain queries. The superuser is not held to the limit.
    unsafe {
        let limited = libc::geteuid() != 0 && libc::getrlimit(libc::RLIMIT_MEMLOCK, &raw mut limit) == 0;
        (limited && limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur)
    }
}

/// What the kernel counts as pinned for this process: by drivers, and by `mlock`.
pub(crate) fn pinned() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let of = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|l| l.trim().trim_end_matches("kB").trim().parse::<u64>().ok()).unwrap_or(0)
    };
    (of("VmPin:") + of("VmLck:")) << 10
}

/// Writes on standard error, without its lock.
pub(crate) fn say(text: &str) {
    // SAFETY: bytes with their length.
    unsafe { libc::write(2, text.as_ptr().cast(), text.len()) };
}

/// Ends the process, and with it the job, running nothing else.
pub(crate) fn leave() -> ! {
    // SAFETY: ends the process.
    unsafe { libc::_exit(1) }
}

/// Physical memory of this host in bytes.
pub(crate) fn physical_memory() -> u64 {
    // SAFETY: plain queries.
    let (pages, size) = unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    pages.max(1) as u64 * size.max(4096) as u64
}
