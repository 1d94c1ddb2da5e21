//! Memory files without a system, for Miri, which has neither such files nor mappings that are shared. A file
//! is memory of this process here, and the ranks of a job are its threads: where one of them maps a part of a
//! file, or takes addresses that another has reserved, it gets the same memory. Who maps part of a file must
//! map it as others have. What is written by system calls is not seen in mappings.
#![expect(unsafe_code, reason = "memory that stands for mappings")]

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::{FallocateFlags, MemfdFlags};
use rustix::io::{Errno, Result};
use rustix::mm::{MapFlags, ProtFlags};

/// Mappings begin at multiples of this.
const PAGE: usize = 4096;

/// Memory that was mapped or reserved.
struct Memory {
    /// The number of a file, and where in the file it begins; `None` for a reservation.
    file: Option<(usize, u64)>,
    base: *mut u8,
    len: usize,
    /// How often it was mapped.
    users: usize,
}

// SAFETY: an address and a length, as for `Mapping`.
unsafe impl Send for Memory {}

impl Memory {
    fn layout(len: usize) -> Layout {
        Layout::from_size_align(len, PAGE).expect("an address space has room for it")
    }
}

struct All {
    /// The numbers of files, by descriptor. Those of closed descriptors stay until the system uses them
    /// again.
    files: BTreeMap<RawFd, usize>,
    /// Bytes written by system calls, by number of a file.
    written: Vec<Vec<u8>>,
    memory: Vec<Memory>,
}

static ALL: Mutex<All> = Mutex::new(All { files: BTreeMap::new(), written: Vec::new(), memory: Vec::new() });

fn all() -> MutexGuard<'static, All> {
    ALL.lock().unwrap_or_else(PoisonError::into_inner)
}

impl All {
    fn number(&self, fd: impl AsFd) -> Result<usize> {
        self.files.get(&fd.as_fd().as_raw_fd()).copied().ok_or(Errno::BADF)
    }

    /// New memory, zero.
    fn add(&mut self, file: Option<(usize, u64)>, len: usize) -> *mut u8 {
        assert!(len > 0, "nothing is mapped");
        // SAFETY: a layout with a size.
        let base = unsafe { alloc_zeroed(Memory::layout(len)) };
        assert!(!base.is_null(), "no memory");
        self.memory.push(Memory { file, base, len, users: 1 });
        base
    }
}

/// A file: any descriptor of its own will do.
pub(crate) fn memfd_create(_: &str, _: MemfdFlags) -> Result<OwnedFd> {
    let fd = rustix::event::eventfd(0, rustix::event::EventfdFlags::CLOEXEC)?;
    let mut all = all();
    let number = all.written.len();
    all.written.push(Vec::new());
    all.files.insert(fd.as_raw_fd(), number);
    Ok(fd)
}

/// As the system's, of a file of this module or another one.
pub(crate) fn fcntl_dupfd_cloexec(fd: impl AsFd, from: RawFd) -> Result<OwnedFd> {
    let copy = rustix::io::fcntl_dupfd_cloexec(&fd, from)?;
    let mut all = all();
    if let Ok(number) = all.number(fd) {
        all.files.insert(copy.as_raw_fd(), number);
    }
    Ok(copy)
}

/// All files are as long as need be.
pub(crate) fn fallocate(fd: impl AsFd, _: FallocateFlags, _: u64, _: u64) -> Result<()> {
    all().number(fd).map(drop)
}

pub(crate) fn pread(fd: impl AsFd, bytes: &mut [u8], offset: u64) -> Result<usize> {
    let all = all();
    let written = &all.written[all.number(fd)?];
    let there = written.get(offset as usize..).unwrap_or_default();
    // A file that has grown is zero where nobody has written.
    bytes.fill(0);
    let known = there.len().min(bytes.len());
    bytes[..known].copy_from_slice(&there[..known]);
    Ok(bytes.len())
}

pub(crate) fn pwrite(fd: impl AsFd, bytes: &[u8], offset: u64) -> Result<usize> {
    let mut all = all();
    let number = all.number(fd)?;
    let (written, from) = (&mut all.written[number], offset as usize);
    let end = from + bytes.len();
    written.resize(written.len().max(end), 0);
    written[from..end].copy_from_slice(bytes);
    Ok(bytes.len())
}

/// As the system's, of a file of this module.
pub(crate) unsafe fn mmap(
    at: *mut c_void,
    len: usize,
    _: ProtFlags,
    flags: MapFlags,
    fd: impl AsFd,
    offset: u64,
) -> Result<*mut c_void> {
    let mut all = all();
    let number = all.number(fd)?;
    if flags.contains(MapFlags::FIXED) {
        // Reserved addresses are memory already, and whoever maps there has the same.
        return Ok(at);
    }
    let end = offset + len as u64;
    for memory in &mut all.memory {
        let Some((_, first)) = memory.file.filter(|(file, _)| *file == number) else { continue };
        let last = first + memory.len as u64;
        if first <= offset && end <= last {
            memory.users += 1;
            return Ok(memory.base.wrapping_add((offset - first) as usize).cast());
        }
        assert!(end <= first || last <= offset, "part of a file is mapped as others have mapped it");
    }
    Ok(all.add(Some((number, offset)), len).cast())
}

/// As the system's, of addresses.
pub(crate) unsafe fn mmap_anonymous(
    at: *mut c_void,
    len: usize,
    _: ProtFlags,
    flags: MapFlags,
) -> Result<*mut c_void> {
    let mut all = all();
    if !flags.contains(MapFlags::FIXED_NOREPLACE) {
        return Ok(all.add(None, len).cast());
    }
    let same =
        |memory: &&mut Memory| memory.file.is_none() && memory.base.addr() == at.addr() && memory.len == len;
    let memory = all.memory.iter_mut().find(same).ok_or(Errno::EXIST)?;
    memory.users += 1;
    Ok(memory.base.cast())
}

/// As the system's, of a whole mapping or reservation.
pub(crate) unsafe fn munmap(at: *mut c_void, len: usize) -> Result<()> {
    let mut all = all();
    let lies = |memory: &Memory| {
        let from = memory.base.addr();
        from <= at.addr() && at.addr() + len <= from + memory.len
    };
    let which = all.memory.iter().position(lies).ok_or(Errno::INVAL)?;
    all.memory[which].users -= 1;
    if all.memory[which].users == 0 {
        let memory = all.memory.swap_remove(which);
        // SAFETY: allocated in `add`; all who mapped it have given it back.
        unsafe { dealloc(memory.base, Memory::layout(memory.len)) };
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::fd::{duplicate, memory_file, read_at, write_at};
    use crate::memory::{Mapping, give_back, map_over, reserve, reserve_at};
    use std::os::fd::AsFd;

    #[test]
    fn who_maps_the_same_has_the_same_memory() {
        let file = memory_file("test").unwrap();
        let copy = duplicate(file.as_fd()).unwrap();
        let one = Mapping::shared(file.as_fd(), 4096, 8192).unwrap();
        let other = Mapping::shared(copy.as_fd(), 8192, 4096).unwrap();
        // SAFETY: mapped, and used by this test alone.
        unsafe {
            one.base().add(4096 + 7).write(42);
            assert_eq!(other.base().add(7).read(), 42);
        }
        let range = reserve(8192).unwrap();
        let again = reserve_at(range as usize, 8192).unwrap();
        assert_eq!(reserve_at(range as usize + 1, 8192), None);
        // SAFETY: both have the same addresses, which nobody else uses.
        unsafe {
            map_over(file.as_fd(), 0, range, 8192).unwrap();
            map_over(file.as_fd(), 0, again, 8192).unwrap();
            range.add(3).write(1);
            assert_eq!(again.add(3).read(), 1);
            give_back(range, 8192);
            assert_eq!(again.add(3).read(), 1);
            give_back(again, 8192);
        }
        write_at(copy.as_fd(), 5, b"abc").unwrap();
        let mut back = [9; 4];
        read_at(file.as_fd(), 5, &mut back).unwrap();
        assert_eq!(&back, b"abc\0");
    }
}
