//! `userfaultfd`, as the kernel defines it, for a [`MappingMonitor`](crate::MappingMonitor) of changed
//! mappings and for pagers that serve faults.
#![expect(unsafe_code, reason = "system calls on userfaultfd")]

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

// From linux/userfaultfd.h.
const API: u64 = 0xaa;
const IOC_NEW: libc::c_ulong = 0xaa00;
const UFFDIO_API: libc::c_ulong = 0xc018_aa3f;
const UFFDIO_REGISTER: libc::c_ulong = 0xc020_aa00;
const UFFDIO_UNREGISTER: libc::c_ulong = 0x8010_aa01;
const UFFDIO_WAKE: libc::c_ulong = 0x8010_aa02;
const UFFDIO_COPY: libc::c_ulong = 0xc028_aa03;
const UFFDIO_WRITEPROTECT: libc::c_ulong = 0xc018_aa06;
const USER_MODE_ONLY: libc::c_int = 1;
const EVENT_PAGEFAULT: u8 = 0x12;
const EVENT_FORK: u8 = 0x13;
const EVENT_REMAP: u8 = 0x14;
const EVENT_REMOVE: u8 = 0x15;
const EVENT_UNMAP: u8 = 0x16;
const FLAG_WRITE: u64 = 1;
const FLAG_WP: u64 = 2;
const COPY_WP: u64 = 2;
const PROTECT: u64 = 1;

/// Features of a descriptor besides reports of missing pages. They are flags: add them up.
#[derive(Debug)]
#[non_exhaustive]
pub struct Feature;

impl Feature {
    /// Faults on write-protected pages.
    pub const WRITE_PROTECT: u64 = 1;
    /// Forks; needs a privilege.
    pub const FORK: u64 = 1 << 1;
    /// Moved mappings.
    pub const REMAP: u64 = 1 << 2;
    /// Pages given up.
    pub const REMOVE: u64 = 1 << 3;
    /// Ended mappings.
    pub const UNMAP: u64 = 1 << 6;
    /// Write protection of shared memory and huge pages; needs a newer kernel.
    pub const WRITE_PROTECT_SHARED: u64 = 1 << 12;
}

/// The faults of a range that are reported. Values are added.
#[derive(Debug)]
#[non_exhaustive]
pub struct Mode;

impl Mode {
    /// Faults on missing pages.
    pub const MISSING: u64 = 1;
    /// Faults on write-protected pages.
    pub const WRITE_PROTECT: u64 = 2;
}

#[repr(C)]
struct Api {
    api: u64,
    features: u64,
    ioctls: u64,
}

#[repr(C)]
struct Range {
    start: u64,
    len: u64,
}

#[repr(C)]
struct Register {
    range: Range,
    mode: u64,
    ioctls: u64,
}

#[repr(C)]
struct Copy {
    to: u64,
    from: u64,
    len: u64,
    mode: u64,
    copied: i64,
}

#[repr(C)]
struct WriteProtect {
    range: Range,
    mode: u64,
}

/// A report of the kernel.
#[repr(C)]
#[derive(Clone, Copy)]
struct Message {
    event: u8,
    reserved: [u8; 7],
    arguments: [u64; 3],
}

/// A thread waits until its page is there, or may be written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// The address that it touched.
    pub address: u64,
    /// The thread writes.
    pub write: bool,
    /// The page was there, but write-protected.
    pub protected: bool,
}

/// The kernel's reports.
#[derive(Debug)]
pub enum UffdEvent {
    /// A thread faulted.
    Fault(Fault),
    /// A range is no longer mapped: address, bytes.
    Unmapped(u64, u64),
    /// Pages of a range were given up: address, bytes.
    Removed(u64, u64),
    /// A range was moved away: its old address, bytes.
    Moved(u64, u64),
    /// The process forked; the child's descriptor.
    Forked(OwnedFd),
}

/// Messages read at a time.
const MESSAGES: usize = 32;

/// A `userfaultfd`.
#[derive(Debug)]
pub struct Uffd {
    fd: OwnedFd,
    /// Faults inside of system calls are reported too.
    kernel: bool,
}

impl AsFd for Uffd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Uffd {
    /// Opens a descriptor with these features. It also serves the kernel's own faults if either way of asking
    /// for that works.
    ///
    /// # Errors
    /// The kernel has none, does not allow it, or lacks a feature.
    pub fn open(features: u64) -> io::Result<Uffd> {
        let flags = libc::O_CLOEXEC | libc::O_NONBLOCK;
        // SAFETY: a system call without pointers.
        let call = |flags: libc::c_int| unsafe { libc::syscall(libc::SYS_userfaultfd, flags) } as RawFd;
        let mut kernel = true;
        let mut fd = call(flags);
        if fd < 0
            && let Ok(device) = File::options().read(true).write(true).open("/dev/userfaultfd")
        {
            // SAFETY: the argument is a number.
            fd = unsafe { libc::ioctl(device.as_raw_fd(), IOC_NEW, flags) };
        }
        if fd < 0 {
            kernel = false;
            fd = call(flags | USER_MODE_ONLY);
        }
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: fresh, and owned by nobody else.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        let mut api = Api { api: API, features, ioctls: 0 };
        // SAFETY: the argument is what the request takes.
        check(unsafe { libc::ioctl(fd.as_raw_fd(), UFFDIO_API, &mut api) })?;
        Ok(Uffd { fd, kernel })
    }

    /// Whether faults inside of system calls are reported too.
    pub fn serves_kernel(&self) -> bool {
        self.kernel
    }

    /// For `poll`.
    pub(crate) fn raw(&self) -> RawFd {
        self.fd.as_raw_fd()
    }

    /// Reports faults of this [`Mode`] in the range, and changes of its mapping, from now on.
    ///
    /// # Errors
    /// The system's.
    pub fn register(&self, start: u64, len: u64, mode: u64) -> io::Result<()> {
        let mut register = Register { range: Range { start, len }, mode, ioctls: 0 };
        // SAFETY: the argument is what the request takes. The range's contents are not touched.
        check(unsafe { libc::ioctl(self.raw(), UFFDIO_REGISTER, &mut register) })
    }

    /// Stops the reports for a range. Parts that are not mapped are ignored.
    pub fn unregister(&self, start: u64, len: u64) {
        let mut range = Range { start, len };
        // SAFETY: the argument is what the request takes.
        unsafe { libc::ioctl(self.raw(), UFFDIO_UNREGISTER, &mut range) };
    }

    /// Reads waiting reports, up to some number; returns how many. Allocates nothing and takes no lock.
    ///
    /// # Errors
    /// The system's, except that there is nothing to read.
    pub fn read(&self, each: &mut dyn FnMut(UffdEvent)) -> io::Result<usize> {
        let none = Message { event: 0, reserved: [0; 7], arguments: [0; 3] };
        let mut messages = [none; MESSAGES];
        // SAFETY: `messages` has room for that many bytes, and any bytes are valid messages.
        let read = unsafe { libc::read(self.raw(), messages.as_mut_ptr().cast(), size_of_val(&messages)) };
        if read < 0 {
            let error = io::Error::last_os_error();
            return if error.kind() == io::ErrorKind::WouldBlock { Ok(0) } else { Err(error) };
        }
        let read = read as usize / size_of::<Message>();
        messages[..read].iter().filter_map(event).for_each(each);
        Ok(read)
    }

    /// Puts copies of `len` bytes at `from` into missing pages at `to`, write-protected or not, and wakes the
    /// threads that wait for them.
    ///
    /// # Safety
    /// 1. `from` is valid for `len` bytes (owed by the caller). 2. The range at `to` is
    ///    [registered](Uffd::register) for missing pages, so nobody relies on its contents (owed by the
    ///    caller).
    ///
    /// # Errors
    /// The system's.
    pub unsafe fn copy(&self, to: u64, from: *const u8, len: u64, protect: bool) -> io::Result<()> {
        let mut done = 0;
        while done < len {
            let mode = if protect { COPY_WP } else { 0 };
            let (to, from) = (to + done, from as u64 + done);
            let mut copy = Copy { to, from, len: len - done, mode, copied: 0 };
            // SAFETY: the argument is what the request takes; the caller guarantees the memory.
            let result = check(unsafe { libc::ioctl(self.raw(), UFFDIO_COPY, &mut copy) });
            done += u64::try_from(copy.copied).unwrap_or(0);
            match result {
                // The mappings of the process are being changed: what has not been copied yet is tried again.
                Err(error) if error.raw_os_error() == Some(libc::EAGAIN) => {}
                result => return result,
            }
        }
        Ok(())
    }

    /// Protects present pages against writing, or allows writing and wakes the threads that wait for it.
    ///
    /// # Errors
    /// The system's.
    pub fn protect(&self, start: u64, len: u64, protect: bool) -> io::Result<()> {
        let mode = if protect { PROTECT } else { 0 };
        loop {
            let mut request = WriteProtect { range: Range { start, len }, mode };
            // SAFETY: the argument is what the request takes. No contents change.
            match check(unsafe { libc::ioctl(self.raw(), UFFDIO_WRITEPROTECT, &mut request) }) {
                Err(error) if error.raw_os_error() == Some(libc::EAGAIN) => {}
                result => return result,
            }
        }
    }

    /// Wakes the threads that wait for pages of the range; they try again.
    pub fn wake(&self, start: u64, len: u64) {
        let mut range = Range { start, len };
        // SAFETY: the argument is what the request takes. It cannot fail for a registered range.
        unsafe { libc::ioctl(self.raw(), UFFDIO_WAKE, &mut range) };
    }
}

fn event(message: &Message) -> Option<UffdEvent> {
    let [first, second, third] = message.arguments;
    Some(match message.event {
        EVENT_PAGEFAULT => UffdEvent::Fault(Fault {
            address: second,
            write: first & (FLAG_WRITE | FLAG_WP) != 0,
            protected: first & FLAG_WP != 0,
        }),
        EVENT_UNMAP => UffdEvent::Unmapped(first, second - first),
        EVENT_REMOVE => UffdEvent::Removed(first, second - first),
        EVENT_REMAP => UffdEvent::Moved(first, third),
        // SAFETY: the kernel opened it for us.
        EVENT_FORK => UffdEvent::Forked(unsafe { OwnedFd::from_raw_fd(first as u32 as RawFd) }),
        _ => return None,
    })
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
