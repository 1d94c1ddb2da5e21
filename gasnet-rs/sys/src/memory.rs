//! Mappings of memory files, and reserved addresses.
#![expect(unsafe_code, reason = "mmap and munmap")]

use std::io;
use std::os::fd::BorrowedFd;

use crate::process::Pid;
#[cfg(miri)]
use crate::stand_in::{mmap, mmap_anonymous, munmap};
use rustix::mm::{MapFlags, ProtFlags};
#[cfg(not(miri))]
use rustix::mm::{mmap, mmap_anonymous, munmap};

/// A mapping of this process, unmapped when dropped.
#[derive(Debug)]
pub struct Mapping {
    base: *mut u8,
    len: usize,
}

// SAFETY: an address and a length; the memory's own types say who may use it.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps `len` bytes of a memory file from `offset` on, anywhere, for reading and writing by all processes
    /// that map them. Core dumps do not hold it.
    pub fn shared(fd: BorrowedFd<'_>, offset: u64, len: usize) -> io::Result<Mapping> {
        let (access, kind) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED | MapFlags::NORESERVE);
        // SAFETY: a new mapping at an address of the system's choice harms no existing one.
        let base = unsafe { mmap(std::ptr::null_mut(), len, access, kind, fd, offset)? };
        crate::dump::leave_out(base.cast(), len);
        Ok(Mapping { base: base.cast(), len })
    }

    /// Maps a copy of the first `len` bytes of a memory file: what is written stays in this mapping, and
    /// pages that are not written are those of the file.
    pub fn copy(fd: BorrowedFd<'_>, len: usize) -> io::Result<Mapping> {
        let (access, kind) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE | MapFlags::NORESERVE);
        // SAFETY: as in `shared`.
        let base = unsafe { mmap(std::ptr::null_mut(), len, access, kind, fd, 0)? };
        Ok(Mapping { base: base.cast(), len })
    }

    /// The first byte.
    pub fn base(&self) -> *mut u8 {
        self.base
    }

    /// Keeps the mapping for the rest of the process.
    pub fn leak(self) -> *mut u8 {
        std::mem::ManuallyDrop::new(self).base
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped in `shared` or `copy`; users of an address in a mapping ensure that the mapping
        // exists.
        let _ = unsafe { munmap(self.base.cast(), self.len) };
    }
}

/// Reserves `len` bytes of address space without access, anywhere.
pub fn reserve(len: usize) -> io::Result<*mut u8> {
    reserve_with(std::ptr::null_mut(), len, MapFlags::empty())
}

/// Reserves at exactly this address; `None` if something is mapped there.
pub fn reserve_at(address: usize, len: usize) -> Option<*mut u8> {
    let at = address as *mut u8;
    let got = reserve_with(at, len, MapFlags::FIXED_NOREPLACE).ok()?;
    if got == at {
        return Some(got);
    }
    // An old kernel takes the flag as a hint.
    // SAFETY: just reserved, and nobody else knows of it.
    unsafe { give_back(got, len) };
    None
}

fn reserve_with(at: *mut u8, len: usize, flags: MapFlags) -> io::Result<*mut u8> {
    let flags = flags | MapFlags::PRIVATE | MapFlags::NORESERVE;
    // SAFETY: without MAP_FIXED a new mapping does not affect existing ones.
    Ok(unsafe { mmap_anonymous(at.cast(), len, ProtFlags::empty(), flags)? }.cast())
}

/// Maps `len` bytes of a memory file over part of a range got from [`reserve`]. Core dumps do not hold
/// it.
///
/// # Safety
/// 1. `[at, at + len)` is inside one live reservation, and nothing uses what was mapped there (owed by the
///    caller).
pub unsafe fn map_over(fd: BorrowedFd<'_>, offset: u64, at: *mut u8, len: usize) -> io::Result<()> {
    let flags = MapFlags::SHARED | MapFlags::NORESERVE | MapFlags::FIXED;
    // SAFETY: the caller may replace what was there, by obligation 1.
    unsafe { mmap(at.cast(), len, ProtFlags::READ | ProtFlags::WRITE, flags, fd, offset)? };
    crate::dump::leave_out(at, len);
    Ok(())
}

/// Unmaps a range that this module mapped.
///
/// # Safety
/// 1. `[at, at + len)` is what a call of this module returned, and nothing uses it any more (owed by the
///    caller).
pub unsafe fn give_back(at: *mut u8, len: usize) {
    // SAFETY: obligation 1.
    let _ = unsafe { munmap(at.cast(), len) };
}

/// Gives the pages of a memory file back to the system, for all processes that map them: its bytes are zero
/// then. A system that cannot do so keeps them.
///
/// # Safety
/// 1. `[at, at + len)` maps a memory file, shared and in whole pages, and its bytes may change at any time
///    (owed by the caller).
pub unsafe fn clear_shared(at: *mut u8, len: usize) {
    // SAFETY: obligation 1: nothing is unmapped, and bytes change that may.
    unsafe { libc::madvise(at.cast(), len, libc::MADV_REMOVE) };
}

/// Has the system find pages for a range that is about to be written, all at once: as a rule that takes two
/// thirds of the time of finding each when it is touched. Contents stay. A system that cannot do so leaves it
/// to the accesses, and so does one that has no memory left.
pub fn populate(at: *mut u8, len: usize) {
    /// `MADV_POPULATE_WRITE`, since Linux 5.14.
    const POPULATE_WRITE: libc::c_int = 23;
    const PAGE: usize = 4096;
    let skipped = at.align_offset(PAGE).min(len);
    let len = (len - skipped) / PAGE * PAGE;
    // SAFETY: no byte changes, whatever is mapped there.
    unsafe { libc::madvise(at.wrapping_add(skipped).cast(), len, POPULATE_WRITE) };
}

/// Copies `len` bytes at address `from` of another process.
///
/// # Errors
/// There is no such process or no such memory there, or the system does not allow it. Some bytes may have
/// been copied.
///
/// # Safety
/// 1. `to` is valid for writes of `len` bytes (owed by the caller).
pub unsafe fn read_process(process: Pid, from: usize, to: *mut u8, len: usize) -> io::Result<()> {
    // SAFETY: the local bytes are the caller's (1); the system checks the remote ones.
    in_parts(to, from, len, |here, there| unsafe { libc::process_vm_readv(process, here, 1, there, 1, 0) })
}

/// Copies `len` bytes to address `to` of another process.
///
/// # Errors
/// As [`read_process`].
///
/// # Safety
/// 1. `from` is valid for `len` bytes. 2. The other process lets its bytes be written (both owed by the
///    caller).
pub unsafe fn write_process(process: Pid, to: usize, from: *const u8, len: usize) -> io::Result<()> {
    let from = from.cast_mut();
    // SAFETY: the local bytes are the caller's, and only read (1); so are the remote ones (2), which the
    // system checks.
    in_parts(from, to, len, |here, there| unsafe { libc::process_vm_writev(process, here, 1, there, 1, 0) })
}

/// Has `copy` copy the bytes that are left until none are, since it may stop in between.
fn in_parts(
    here: *mut u8,
    there: usize,
    len: usize,
    copy: impl Fn(*const libc::iovec, *const libc::iovec) -> isize,
) -> io::Result<()> {
    let mut done = 0;
    while done < len {
        let rest =
            |base: *mut u8| libc::iovec { iov_base: base.wrapping_add(done).cast(), iov_len: len - done };
        let n = copy(&rest(here), &rest(core::ptr::without_provenance_mut(there)));
        match usize::try_from(n) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(n) => done += n,
            Err(_) => return Err(io::Error::last_os_error()),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fd::{grow, memory_file};
    use std::os::fd::AsFd;

    #[test]
    #[cfg_attr(miri, ignore = "asks the kernel")]
    fn processes_copy_what_is_there() {
        let (mut there, mut here) = ([7u8; 64], [0u8; 64]);
        let pid = crate::process::pid();
        // SAFETY: both arrays have as many bytes; the other process is this one, which lends its array.
        unsafe {
            read_process(pid, (&raw const there).addr(), here.as_mut_ptr(), 64).unwrap();
            assert_eq!(here, [7; 64]);
            write_process(pid, (&raw mut there).expose_provenance(), [9u8; 64].as_ptr(), 64).unwrap();
            assert_eq!((&raw const there).read_volatile(), [9; 64]);
            assert!(read_process(pid, 16, here.as_mut_ptr(), 64).is_err(), "nothing is there");
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "maps a file")]
    fn two_mappings_of_a_file_are_the_same_memory() {
        let file = memory_file("test").unwrap();
        grow(file.as_fd(), 8192).unwrap();
        let one = Mapping::shared(file.as_fd(), 4096, 4096).unwrap();
        let range = reserve(3 * 4096).unwrap();
        assert!(reserve_at(range as usize, 4096).is_none(), "something is there");
        // SAFETY: the second page of our reservation, which nobody uses; both addresses are mapped and ours
        // alone.
        unsafe {
            let other = range.add(4096);
            map_over(file.as_fd(), 4096, other, 4096).unwrap();
            one.base().add(7).write_volatile(42);
            assert_eq!(other.add(7).read_volatile(), 42);
            give_back(range, 3 * 4096);
        }
        assert_eq!(reserve_at(range as usize, 4096), Some(range));
    }
}
