//! `userfaultfd`: the kernel tells of faults in the segment, and puts pages there.
#![expect(unsafe_code, reason = "system calls on userfaultfd")]

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use super::error::PagerError;

// From linux/userfaultfd.h.
const API: u64 = 0xaa;
const IOC_NEW: libc::c_ulong = 0xaa00;
const UFFDIO_API: libc::c_ulong = 0xc018_aa3f;
const UFFDIO_REGISTER: libc::c_ulong = 0xc020_aa00;
const UFFDIO_WAKE: libc::c_ulong = 0x8010_aa02;
const UFFDIO_COPY: libc::c_ulong = 0xc028_aa03;
const UFFDIO_WRITEPROTECT: libc::c_ulong = 0xc018_aa06;
const USER_MODE_ONLY: libc::c_int = 1;
const FEATURE_FLAG_WP: u64 = 1;
const MODE_MISSING: u64 = 1;
const MODE_WP: u64 = 2;
const COPY_WP: u64 = 2;
const PROTECT: u64 = 1;
const EVENT_PAGEFAULT: u8 = 0x12;
const FLAG_WRITE: u64 = 1;
const FLAG_WP: u64 = 2;

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

/// What the kernel writes for a fault.
#[repr(C)]
#[derive(Clone, Copy)]
struct Message {
    event: u8,
    reserved: [u8; 7],
    flags: u64,
    address: u64,
    thread: u64,
}

/// A thread stands still until its page is there, or may be written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) address: u64,
    pub(super) write: bool,
    /// The page was there, but write-protected.
    pub(super) protected: bool,
}

/// A `userfaultfd`.
#[derive(Debug)]
pub(super) struct Uffd {
    fd: OwnedFd,
    /// Faults inside of system calls are served too.
    kernel: bool,
}

/// Faults read at a time.
pub(super) const FAULTS: usize = 32;

impl Uffd {
    /// Opens one: with the right to serve the kernel's own faults if that can be had, in one way or the other.
    pub(super) fn open() -> Result<Uffd, PagerError> {
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
            return Err(PagerError::NoUserfaultfd(io::Error::last_os_error()));
        }
        // SAFETY: fresh, and owned by nobody else.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        let mut api = Api { api: API, features: FEATURE_FLAG_WP, ioctls: 0 };
        // SAFETY: the argument is what the request takes.
        if unsafe { libc::ioctl(fd.as_raw_fd(), UFFDIO_API, &mut api) } != 0 {
            return Err(PagerError::NoUserfaultfd(io::Error::last_os_error()));
        }
        Ok(Uffd { fd, kernel })
    }

    /// Whether faults inside of system calls are served too.
    pub(super) fn serves_kernel(&self) -> bool {
        self.kernel
    }

    /// For `poll`.
    pub(super) fn raw(&self) -> RawFd {
        self.fd.as_raw_fd()
    }

    /// From now on faults on missing and on write-protected pages of the range are ours.
    pub(super) fn register(&self, start: u64, len: u64) -> io::Result<()> {
        let mut register = Register { range: Range { start, len }, mode: MODE_MISSING | MODE_WP, ioctls: 0 };
        // SAFETY: the argument is what the request takes. The range's contents are not touched.
        check(unsafe { libc::ioctl(self.raw(), UFFDIO_REGISTER, &mut register) })
    }

    /// The faults that have come, up to [`FAULTS`].
    pub(super) fn read(&self, each: &mut dyn FnMut(Fault)) -> io::Result<usize> {
        let none = Message { event: 0, reserved: [0; 7], flags: 0, address: 0, thread: 0 };
        let mut messages = [none; FAULTS];
        // SAFETY: `messages` has room for that many bytes, and any bytes are valid messages.
        let read = unsafe { libc::read(self.raw(), messages.as_mut_ptr().cast(), size_of_val(&messages)) };
        if read < 0 {
            let error = io::Error::last_os_error();
            return if error.kind() == io::ErrorKind::WouldBlock { Ok(0) } else { Err(error) };
        }
        let read = read as usize / size_of::<Message>();
        for message in messages[..read].iter().filter(|m| m.event == EVENT_PAGEFAULT) {
            each(Fault {
                address: message.address,
                write: message.flags & (FLAG_WRITE | FLAG_WP) != 0,
                protected: message.flags & FLAG_WP != 0,
            });
        }
        Ok(read)
    }

    /// Puts copies of `len` bytes at `from` in missing pages at `to`, write-protected or not, and wakes who waits for them.
    ///
    /// # Safety
    /// 1. `from` is valid for `len` bytes (owed by the caller). 2. The range at `to` is [registered](Uffd::register), so nobody
    ///    holds that its contents stay what they are (owed by the caller).
    pub(super) unsafe fn copy(&self, to: u64, from: *const u8, len: u64, protect: bool) -> io::Result<()> {
        let mut done = 0;
        while done < len {
            let mode = if protect { COPY_WP } else { 0 };
            let (to, from) = (to + done, from as u64 + done);
            let mut copy = Copy { to, from, len: len - done, mode, copied: 0 };
            // SAFETY: the argument is what the request takes; the caller vouches for the memory.
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

    /// Protects present pages against writing, or allows it and wakes who waits for that.
    pub(super) fn protect(&self, start: u64, len: u64, protect: bool) -> io::Result<()> {
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

    /// Wakes who waits for pages of the range: they look again.
    pub(super) fn wake(&self, start: u64, len: u64) {
        let mut range = Range { start, len };
        // SAFETY: the argument is what the request takes. It cannot fail for a registered range.
        unsafe { libc::ioctl(self.raw(), UFFDIO_WAKE, &mut range) };
    }
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
