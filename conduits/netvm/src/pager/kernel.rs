//! The pager's system calls for its segment. The rest of the pager makes decisions only, and tests run it
//! on a model of this module.
#![expect(unsafe_code, reason = "system calls on a mapping")]

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use firehose_live::uffd::{Fault, Mode, Uffd, UffdEvent};

use super::store::{PAGE_BYTES, Page};

/// Page faults of a mapping, and the presence of its pages. Addresses and lengths are of whole pages in the
/// range that was [registered](Kernel::register).
pub(super) trait Kernel: Send + Sync + std::fmt::Debug {
    /// Reports faults in this range from now on.
    fn register(&self, start: u64, len: u64) -> io::Result<()>;
    /// Readable while there are faults.
    fn fd(&self) -> BorrowedFd<'_>;
    /// Whether faults inside of system calls are reported too.
    fn serves_system_calls(&self) -> bool;
    /// Takes waiting faults, up to some number.
    fn faults(&self, into: &mut Vec<Fault>) -> io::Result<()>;
    /// Fills missing pages, write-protected or not, and wakes the threads that wait for them.
    fn fill(&self, start: u64, from: &[Page], protect: bool) -> io::Result<()>;
    /// Protects present pages against writing, or allows writing and wakes the threads that wait for it.
    fn protect(&self, start: u64, len: u64, protect: bool) -> io::Result<()>;
    /// Wakes the threads that wait for pages of the range; they try again.
    fn wake(&self, start: u64, len: u64);
    /// Whether each page of a range is present.
    fn present(&self, start: u64, count: u64) -> io::Result<Vec<bool>>;
    /// Drops the contents of pages: the next access faults.
    fn drop_pages(&self, start: u64, len: u64) -> io::Result<()>;
    /// Locks present pages in memory, in the kernel's accounts too.
    fn pin(&self, start: u64, len: u64) -> io::Result<()>;
    /// Ends [`pin`](Kernel::pin).
    fn unpin(&self, start: u64, len: u64);
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

impl Kernel for Uffd {
    fn register(&self, start: u64, len: u64) -> io::Result<()> {
        Uffd::register(self, start, len, Mode::MISSING | Mode::WRITE_PROTECT)
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.as_fd()
    }

    fn serves_system_calls(&self) -> bool {
        self.serves_kernel()
    }

    fn faults(&self, into: &mut Vec<Fault>) -> io::Result<()> {
        self.read(&mut |event| {
            if let UffdEvent::Fault(fault) = event {
                into.push(fault);
            }
        })
        .map(drop)
    }

    fn fill(&self, start: u64, from: &[Page], protect: bool) -> io::Result<()> {
        // SAFETY: a slice is valid; the pages are among those registered.
        unsafe { self.copy(start, from.as_ptr().cast(), from.len() as u64 * PAGE_BYTES, protect) }
    }

    fn protect(&self, start: u64, len: u64, protect: bool) -> io::Result<()> {
        Uffd::protect(self, start, len, protect)
    }

    fn wake(&self, start: u64, len: u64) {
        Uffd::wake(self, start, len);
    }

    fn present(&self, start: u64, count: u64) -> io::Result<Vec<bool>> {
        let mut there = vec![0u8; count as usize];
        let len = (count * PAGE_BYTES) as usize;
        // SAFETY: a range of the registered mapping, and a byte for each page of it.
        check(unsafe { libc::mincore(start as *mut libc::c_void, len, there.as_mut_ptr()) })?;
        Ok(there.into_iter().map(|there| there & 1 != 0).collect())
    }

    fn drop_pages(&self, start: u64, len: u64) -> io::Result<()> {
        // SAFETY: whole pages of the registered mapping. Their contents are in the backing store, or zeros.
        check(unsafe { libc::madvise(start as *mut libc::c_void, len as usize, libc::MADV_DONTNEED) })
    }

    fn pin(&self, start: u64, len: u64) -> io::Result<()> {
        // MLOCK_ONFAULT, because the paging thread must not fault on any page; the pages are present.
        let flags = libc::MLOCK_ONFAULT as libc::c_uint;
        // SAFETY: the range is in the registered mapping; its contents are not touched.
        check(unsafe { libc::mlock2(start as *const libc::c_void, len as usize, flags) })
    }

    fn unpin(&self, start: u64, len: u64) {
        // SAFETY: as in `pin`.
        unsafe { libc::munlock(start as *const libc::c_void, len as usize) };
    }
}
