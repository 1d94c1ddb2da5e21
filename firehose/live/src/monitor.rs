//! The thread to which the kernel reports changed mappings.

#![expect(unsafe_code, reason = "a pipe to be told by, and a page that the kernel clears in children")]

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::thread::JoinHandle;

use crate::uffd::{Feature, Mode, Uffd, UffdEvent};
use firehose::{Change, Notices, Notifier, PinError};

/// A page that is 1 in this process and 0 in children of a fork.
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

/// Hears of changed mappings, on the thread that reads the kernel's reports.
///
/// The thread that changed a mapping waits until its report has been read, and may hold any lock meanwhile:
/// nothing here may allocate, take a lock, or wait for somebody who does.
pub trait Listener: Send + Sync {
    /// Reports are about to be read.
    fn begin(&self);
    /// A report has been read. The program may have gone on already.
    fn tell(&self, change: Change);
    /// All reports that were read have been told.
    fn end(&self);
}

impl Listener for Notices {
    fn begin(&self) {
        Notices::begin(self);
    }
    fn tell(&self, change: Change) {
        Notices::tell(self, change);
    }
    fn end(&self) {
        Notices::end(self);
    }
}

/// Has the kernel report changed mappings to a [`Listener`].
#[derive(Debug)]
pub struct MappingWatcher {
    /// Shared with the thread, which drops it last.
    uffd: Option<Arc<Uffd>>,
    /// Closed to end the thread.
    stop: Option<OwnedFd>,
    thread: Option<JoinHandle<()>>,
    mine: Mine,
    forks: bool,
}

impl MappingWatcher {
    /// Opens a `userfaultfd` and starts the thread that reads it.
    ///
    /// # Errors
    /// The system's.
    pub fn start(listener: Arc<dyn Listener>) -> io::Result<MappingWatcher> {
        let needed = Feature::REMAP | Feature::REMOVE | Feature::UNMAP;
        let shared = needed | Feature::WRITE_PROTECT_SHARED;
        let mut opened = Err(io::ErrorKind::Unsupported.into());
        let mut forks = false;
        // The longest list first: forks need a privilege, and shared memory needs a newer kernel.
        for features in [shared | Feature::FORK, needed | Feature::FORK, shared, needed] {
            opened = Uffd::open(features);
            if opened.is_ok() {
                forks = features & Feature::FORK != 0;
                break;
            }
        }
        let uffd = Arc::new(opened?);
        let mut ends = [0; 2];
        // SAFETY: the kernel fills in two descriptors, which nobody else owns.
        let (end, stop) = unsafe {
            if libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) != 0 {
                return Err(io::Error::last_os_error());
            }
            (OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1]))
        };
        let mine = Mine::new()?;
        // A thread allocates while it begins. If it were still allocating when another thread forks, with the
        // allocator's lock held, and waits for the report to be read, both would wait for ever. So nothing
        // can be registered before it listens.
        let listens = Arc::new(Barrier::new(2));
        let thread = {
            let (uffd, listens) = (Arc::clone(&uffd), Arc::clone(&listens));
            std::thread::Builder::new().name("firehose-monitor".to_string()).spawn(move || {
                listens.wait();
                listen(uffd, &end, &*listener);
            })?
        };
        listens.wait();
        Ok(MappingWatcher { uffd: Some(uffd), stop: Some(stop), thread: Some(thread), mine, forks })
    }

    /// Watches the range, of whole pages, from now on.
    ///
    /// # Errors
    /// It is not mapped, or is no memory that can be watched: that of a file, or watched by others.
    pub fn register(&self, start: u64, len: u64) -> Result<(), PinError> {
        // No page is protected, so the mode causes no faults.
        let registered = self.uffd.as_ref().map_or(Ok(()), |u| u.register(start, len, Mode::WRITE_PROTECT));
        registered.map_err(|error| match error.raw_os_error() {
            Some(libc::EINVAL | libc::ENOMEM) => PinError::Unmapped,
            error => PinError::System(error.unwrap_or(0)),
        })
    }

    /// Stops watching the range. Parts that are not mapped are ignored.
    pub fn unregister(&self, start: u64, len: u64) {
        if let Some(uffd) = &self.uffd {
            uffd.unregister(start, len);
        }
    }
}

/// Receives the kernel's reports of changed mappings, for users of registrations.
#[derive(Debug)]
pub struct MappingMonitor {
    watcher: MappingWatcher,
    notices: Arc<Notices>,
}

impl MappingMonitor {
    /// Opens a `userfaultfd` and starts the thread that reads it.
    ///
    /// # Errors
    /// The system's.
    pub fn start() -> io::Result<MappingMonitor> {
        let notices = Arc::new(Notices::default());
        Ok(MappingMonitor { watcher: MappingWatcher::start(notices.clone())?, notices })
    }

    /// Whether the kernel reports forks.
    pub fn hears_forks(&self) -> bool {
        self.watcher.forks
    }

    pub(crate) fn register(&self, start: u64, len: u64) -> Result<(), PinError> {
        self.watcher.register(start, len)
    }

    pub(crate) fn unregister(&self, start: u64, len: u64) {
        self.watcher.unregister(start, len);
    }
}

impl Notifier for MappingMonitor {
    fn watch(&self, addr: u64, len: u64) -> Result<(), PinError> {
        self.register(addr, len)
    }

    #[inline]
    fn changes(&self, each: &mut dyn FnMut(Change)) {
        if self.watcher.mine.is_mine() {
            self.notices.changes(each);
        } else {
            // This process has no monitor.
            each(Change::Child);
        }
    }
}

impl Drop for MappingWatcher {
    fn drop(&mut self) {
        self.uffd = None;
        self.stop = None;
        if let Some(thread) = self.thread.take()
            && self.mine.is_mine()
        {
            // The thread does not panic; if it did, nothing would be left to end.
            let _ = thread.join();
        }
    }
}

/// The monitor's thread. All of it runs while another thread may wait with locks held: no allocation, no
/// lock. This holds on the way out too: the thread's own memory may be watched when it is freed, so the
/// descriptor is closed first.
fn listen(uffd: Arc<Uffd>, stop: &OwnedFd, listener: &dyn Listener) {
    loop {
        let mut fds = [
            libc::pollfd { fd: uffd.raw(), events: libc::POLLIN, revents: 0 },
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
        listener.begin();
        while uffd.read(&mut |event| tell(event, listener)).is_ok_and(|events| events > 0) {}
        listener.end();
    }
}

fn tell(event: UffdEvent, listener: &dyn Listener) {
    match event {
        UffdEvent::Unmapped(addr, len) => listener.tell(Change::Unmapped { addr, len }),
        UffdEvent::Removed(addr, len) => listener.tell(Change::Removed { addr, len }),
        UffdEvent::Moved(addr, len) => listener.tell(Change::Moved { addr, len }),
        // The child's descriptor is closed here: the child has no registrations.
        UffdEvent::Forked(_) => listener.tell(Change::Forked),
        UffdEvent::Fault(_) => {}
    }
}
