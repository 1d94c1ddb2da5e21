//! The thread that hears of changed mappings.

#![expect(unsafe_code, reason = "system calls on userfaultfd, and a page that the kernel clears in children")]

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::thread::JoinHandle;

use firehose::{Change, Notices, Notifier, PinError};

// From linux/userfaultfd.h.
const API: u64 = 0xaa;
const UFFDIO_API: libc::c_ulong = 0xc018_aa3f;
const UFFDIO_REGISTER: libc::c_ulong = 0xc020_aa00;
const UFFDIO_UNREGISTER: libc::c_ulong = 0x8010_aa01;
const USER_MODE_ONLY: libc::c_int = 1;
const EVENT_FORK: u8 = 0x13;
const EVENT_REMAP: u8 = 0x14;
const EVENT_REMOVE: u8 = 0x15;
const EVENT_UNMAP: u8 = 0x16;
const FEATURE_FORK: u64 = 1 << 1;
const FEATURE_REMAP: u64 = 1 << 2;
const FEATURE_REMOVE: u64 = 1 << 3;
const FEATURE_UNMAP: u64 = 1 << 6;
/// Write protection of shared memory and huge pages.
const FEATURE_WP_SHARED: u64 = 1 << 12;
/// Faults on write-protected pages. None is protected, so there are none.
const MODE_WP: u64 = 2;

#[repr(C)]
struct Api {
    api: u64,
    features: u64,
    ioctls: u64,
}

#[repr(C)]
struct Register {
    start: u64,
    len: u64,
    mode: u64,
    ioctls: u64,
}

#[repr(C)]
struct Range {
    start: u64,
    len: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Event {
    kind: u8,
    reserved: [u8; 7],
    arguments: [u64; 3],
}

/// A page that is 1 here and 0 in children of a fork.
#[derive(Debug)]
struct Mine {
    page: *const AtomicU64,
}

// SAFETY: points to an atomic that lives as long as this.
unsafe impl Send for Mine {}
// SAFETY: as above.
unsafe impl Sync for Mine {}

/// Bytes mapped for it.
const PAGE: usize = 4096;

impl Mine {
    fn new() -> io::Result<Mine> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a fresh mapping at an address of the kernel's choice.
        let page = unsafe { libc::mmap(std::ptr::null_mut(), PAGE, protection, flags, -1, 0) };
        if page == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let mine = Mine { page: page.cast::<AtomicU64>() };
        // SAFETY: the page mapped above, whole.
        if unsafe { libc::madvise(page, PAGE, libc::MADV_WIPEONFORK) } != 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: mapped, aligned, and zero is a valid value.
        unsafe { &*mine.page }.store(1, Ordering::Relaxed);
        Ok(mine)
    }

    fn is_mine(&self) -> bool {
        // SAFETY: mapped until drop.
        unsafe { &*self.page }.load(Ordering::Relaxed) == 1
    }
}

impl Drop for Mine {
    fn drop(&mut self) {
        // SAFETY: the mapping made in `new`, which nobody can use any more.
        unsafe { libc::munmap(self.page.cast_mut().cast(), PAGE) };
    }
}

/// Hears of changed mappings.
#[derive(Debug)]
pub struct Monitor {
    /// The thread's; it closes it.
    fd: RawFd,
    /// Closed to end the thread.
    stop: Option<OwnedFd>,
    thread: Option<JoinHandle<()>>,
    notices: Arc<Notices>,
    mine: Mine,
    forks: bool,
}

impl Monitor {
    /// Opens a `userfaultfd` and starts the thread that reads it.
    pub fn start() -> io::Result<Monitor> {
        let needed = FEATURE_REMAP | FEATURE_REMOVE | FEATURE_UNMAP;
        let shared = needed | FEATURE_WP_SHARED;
        let mut opened = Err(io::ErrorKind::Unsupported.into());
        let mut forks = false;
        // The most first: forks need a privilege, and shared memory a newer kernel.
        for features in [shared | FEATURE_FORK, needed | FEATURE_FORK, shared, needed] {
            opened = open(features);
            if opened.is_ok() {
                forks = features & FEATURE_FORK != 0;
                break;
            }
        }
        let fd = opened?;
        let mut ends = [0; 2];
        // SAFETY: the kernel fills in two descriptors, which nobody else owns.
        let (end, stop) = unsafe {
            if libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) != 0 {
                return Err(io::Error::last_os_error());
            }
            (OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1]))
        };
        let (notices, number) = (Arc::new(Notices::default()), fd.as_raw_fd());
        let mine = Mine::new()?;
        // A thread allocates while it begins. If it were still at that when somebody forks, with the allocator's lock held,
        // and waits to be heard, both would wait for ever. So nothing can be registered before it listens.
        let listens = Arc::new(Barrier::new(2));
        let thread = {
            let (notices, listens) = (Arc::clone(&notices), Arc::clone(&listens));
            std::thread::Builder::new().name("firehose-monitor".to_string()).spawn(move || {
                listens.wait();
                listen(fd, &end, &notices);
            })?
        };
        listens.wait();
        Ok(Monitor { fd: number, stop: Some(stop), thread: Some(thread), notices, mine, forks })
    }

    /// Whether the kernel tells of forks.
    pub fn hears_forks(&self) -> bool {
        self.forks
    }

    /// Hears of changes of the range from now on.
    pub(crate) fn register(&self, start: u64, len: u64) -> Result<(), PinError> {
        let mut register = Register { start, len, mode: MODE_WP, ioctls: 0 };
        // SAFETY: the argument is what the request takes. The range's contents are not touched.
        match unsafe { libc::ioctl(self.fd, UFFDIO_REGISTER, &mut register) } {
            0 => Ok(()),
            _ => Err(match io::Error::last_os_error().raw_os_error() {
                Some(libc::EINVAL | libc::ENOMEM) => PinError::Unmapped,
                error => PinError::System(error.unwrap_or(0)),
            }),
        }
    }

    /// Hears of them no longer. What is not mapped is passed over.
    pub(crate) fn unregister(&self, start: u64, len: u64) {
        let mut range = Range { start, len };
        // SAFETY: the argument is what the request takes.
        unsafe { libc::ioctl(self.fd, UFFDIO_UNREGISTER, &mut range) };
    }
}

impl Notifier for Monitor {
    fn watch(&self, addr: u64, len: u64) -> Result<(), PinError> {
        self.register(addr, len)
    }

    #[inline]
    fn changes(&self, each: &mut dyn FnMut(Change)) {
        if self.mine.is_mine() {
            self.notices.changes(each);
        } else {
            // There is no monitor in this process.
            each(Change::Child);
        }
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take()
            && self.mine.is_mine()
        {
            // It does not panic; if it did there would be nothing left to end.
            let _ = thread.join();
        }
    }
}

fn open(features: u64) -> io::Result<OwnedFd> {
    let flags = libc::O_CLOEXEC | libc::O_NONBLOCK;
    // SAFETY: a system call without pointers. The second is for processes that may not handle the kernel's own faults.
    let fd = unsafe {
        match libc::syscall(libc::SYS_userfaultfd, flags) {
            -1 => libc::syscall(libc::SYS_userfaultfd, flags | USER_MODE_ONLY),
            fd => fd,
        }
    };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: fresh, and owned by nobody else.
    let fd = unsafe { OwnedFd::from_raw_fd(fd as RawFd) };
    let mut api = Api { api: API, features, ioctls: 0 };
    // SAFETY: the argument is what the request takes.
    match unsafe { libc::ioctl(fd.as_raw_fd(), UFFDIO_API, &mut api) } {
        0 => Ok(fd),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The monitor's thread. Everything in here runs while another thread waits with locks held: no allocation, no lock.
/// Nor on the way out: what ends with the thread may be memory that it should hear of, so the descriptor goes first.
fn listen(uffd: OwnedFd, stop: &OwnedFd, notices: &Notices) {
    let fd = uffd.as_raw_fd();
    let none = Event { kind: 0, reserved: [0; 7], arguments: [0; 3] };
    let mut events = [none; 16];
    let bytes = size_of_val(&events);
    loop {
        let mut fds = [
            libc::pollfd { fd, events: libc::POLLIN, revents: 0 },
            libc::pollfd { fd: stop.as_raw_fd(), events: libc::POLLIN, revents: 0 },
        ];
        // SAFETY: two descriptors to poll, as said.
        unsafe { libc::poll(fds.as_mut_ptr(), 2, -1) };
        if fds[1].revents != 0 {
            drop(uffd);
            return;
        }
        if fds[0].revents & libc::POLLIN == 0 {
            continue;
        }
        notices.begin();
        loop {
            // SAFETY: `events` has room for that many bytes, and any bytes are valid events.
            let read = unsafe { libc::read(fd, events.as_mut_ptr().cast(), bytes) };
            if read <= 0 {
                break;
            }
            for event in &events[..read as usize / size_of::<Event>()] {
                tell(event, notices);
            }
        }
        notices.end();
    }
}

fn tell(event: &Event, notices: &Notices) {
    let [first, second, third] = event.arguments;
    match event.kind {
        EVENT_UNMAP => notices.tell(Change::Unmapped { addr: first, len: second - first }),
        EVENT_REMOVE => notices.tell(Change::Removed { addr: first, len: second - first }),
        EVENT_REMAP => notices.tell(Change::Moved { addr: first, len: third }),
        EVENT_FORK => {
            // The child's descriptor: it has no registrations.
            // SAFETY: the kernel opened it for us.
            unsafe { libc::close(first as u32 as RawFd) };
            notices.tell(Change::Forked);
        }
        _ => {}
    }
}
