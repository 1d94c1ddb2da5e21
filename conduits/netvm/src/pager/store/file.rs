//! A nameless file for the pages that leave memory.
//!
//! It ends with the process, however the process ends. I/O bypasses the page cache (`O_DIRECT`), or pages
//! that left would still be in memory. On a file system that refuses `O_DIRECT`, the kernel is told to write
//! and forget after each write ([`FileStore::is_direct`] says which it is). Requests are over when the call
//! returns.
//!
//! **Slots.** A page has no fixed slot in the file: pages that leave together are written together, to
//! consecutive slots. A page that is written again gets another slot, and its old one becomes free when the
//! write has succeeded, so a failed write loses nothing. The file grows by pieces that are allocated before
//! they are used. So a lack of room in the file system is found at that point; then free slots of the file
//! are used.
#![expect(unsafe_code, reason = "vectored I/O on the segment's pages, and fallocate")]

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::{Begun, MAX_RUN_PAGES, PAGE_BYTES, Page, Store, Tag};

/// Fewest slots that the file grows by.
const MIN_GROWTH_SLOTS: u64 = 256;

/// The file, and its contents.
#[derive(Debug)]
pub(in crate::pager) struct FileStore {
    file: File,
    dir: PathBuf,
    direct: bool,
    in_memory: bool,
    /// The slot of each page, plus 1; 0: the page is zeros.
    slots: Box<[u32]>,
    /// One bit for each slot that is in use.
    used: Vec<u64>,
    /// Number of slots in the file.
    grown: u64,
    /// Most slots, for tests of a full disk.
    #[cfg(test)]
    pub(in crate::pager) most: u64,
    stored: u64,
    /// Where the search for free slots begins.
    cursor: u64,
    /// The pages that were read last.
    buffer: Box<[Page]>,
    /// How many those are.
    filled: usize,
}

impl FileStore {
    /// A file in `dir` for `pages` pages.
    pub(in crate::pager) fn new(dir: &Path, pages: u64) -> io::Result<FileStore> {
        FileStore::with(dir, pages, &[libc::O_DIRECT, 0])
    }

    /// Like `new`, with the first kind of I/O that works.
    fn with(dir: &Path, pages: u64, kinds: &[i32]) -> io::Result<FileStore> {
        let (file, direct) = open(dir, kinds)?;
        Ok(FileStore::of(file, dir, direct, pages))
    }

    /// A file in memory, where no directory can be written.
    pub(in crate::pager) fn in_memory(pages: u64) -> io::Result<FileStore> {
        let file = gasnet_sys::fd::memory_file("gasnet-netvm")?;
        Ok(FileStore { in_memory: true, ..FileStore::of(file.into(), Path::new("memory"), false, pages) })
    }

    fn of(file: File, dir: &Path, direct: bool, pages: u64) -> FileStore {
        FileStore {
            file,
            dir: dir.to_path_buf(),
            direct,
            in_memory: false,
            slots: vec![0; pages as usize].into(),
            used: Vec::new(),
            grown: 0,
            #[cfg(test)]
            most: u64::MAX,
            stored: 0,
            cursor: 0,
            buffer: vec![Page([0; PAGE_BYTES as usize]); MAX_RUN_PAGES].into(),
            filled: 0,
        }
    }

    /// The directory it is in.
    pub(in crate::pager) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Whether it is memory.
    pub(in crate::pager) fn is_in_memory(&self) -> bool {
        self.in_memory
    }

    /// Whether it bypasses the page cache.
    pub(in crate::pager) fn is_direct(&self) -> bool {
        self.direct
    }

    unsafe fn write_at(&self, slot: u64, pages: &[(u64, u64)]) -> io::Result<()> {
        let vector = |&(_, address): &(u64, u64)| libc::iovec {
            iov_base: address as *mut libc::c_void,
            iov_len: PAGE_BYTES as usize,
        };
        let mut done = 0;
        let all = pages.len() as u64 * PAGE_BYTES;
        while done < all {
            // A write may stop at a page.
            let vectors: Vec<libc::iovec> =
                pages[(done / PAGE_BYTES) as usize..].iter().map(vector).collect();
            let at = (slot * PAGE_BYTES + done / PAGE_BYTES * PAGE_BYTES) as libc::off_t;
            // SAFETY: the caller guarantees the pages.
            let n =
                unsafe { libc::pwritev(self.file.as_raw_fd(), vectors.as_ptr(), vectors.len() as i32, at) };
            if n < 0 {
                let error = io::Error::last_os_error();
                if error.kind() == io::ErrorKind::Interrupted {
                    continue;
                }
                return Err(error);
            }
            if (n as u64) < PAGE_BYTES {
                return Err(io::Error::from_raw_os_error(libc::ENOSPC));
            }
            done = done / PAGE_BYTES * PAGE_BYTES + n as u64;
        }
        if !self.direct {
            self.forget(slot, pages.len() as u64);
        }
        Ok(())
    }

    /// Without direct I/O: makes the kernel write these slots out, and drop its copies.
    fn forget(&self, slot: u64, count: u64) {
        let fd = self.file.as_raw_fd();
        let (at, len) = ((slot * PAGE_BYTES) as libc::off_t, (count * PAGE_BYTES) as libc::off_t);
        let flags = libc::SYNC_FILE_RANGE_WAIT_BEFORE
            | libc::SYNC_FILE_RANGE_WRITE
            | libc::SYNC_FILE_RANGE_WAIT_AFTER;
        // SAFETY: system calls without pointers; both are advice.
        unsafe {
            libc::sync_file_range(fd, at, len, flags as libc::c_uint);
            libc::posix_fadvise(fd, at, len, libc::POSIX_FADV_DONTNEED);
        }
    }

    /// A page is in a new slot; its old one is free.
    fn settle(&mut self, page: u64, slot: u64) {
        let old = std::mem::replace(&mut self.slots[page as usize], slot as u32 + 1);
        self.used[slot as usize / 64] |= 1 << (slot % 64);
        match old {
            0 => self.stored += 1,
            old if u64::from(old - 1) == slot => {}
            old => self.used[(old - 1) as usize / 64] &= !(1 << ((old - 1) % 64)),
        }
    }

    fn free(&self, slot: u64) -> bool {
        self.used[slot as usize / 64] >> (slot % 64) & 1 == 0
    }

    /// Consecutive free slots: up to `most`, at least one.
    fn claim(&mut self, most: u64) -> io::Result<(u64, u64)> {
        // With a quarter more slots than pages, free slots stay together.
        if self.grown < self.stored + self.stored / 4 + 2 * most
            && let Some(found) = self.grow(most)
        {
            return Ok(found);
        }
        let n = self.grown;
        let mut best = (0, 0);
        let mut looked = 0;
        let mut slot = self.cursor % n.max(1);
        while looked < n {
            if slot.is_multiple_of(64) && self.used[slot as usize / 64] == u64::MAX {
                looked += 64;
                slot = (slot + 64) % n;
                continue;
            }
            let run = (slot..n.min(slot + most)).take_while(|&s| self.free(s)).count() as u64;
            if run == most {
                return Ok((slot, run));
            }
            if run > best.1 {
                best = (slot, run);
            }
            // After a while it takes the best run found.
            if best.1 > 0 && looked > 64 * MIN_GROWTH_SLOTS {
                break;
            }
            looked += run + 1;
            slot = if slot + run < n { (slot + run + 1) % n } else { 0 };
        }
        if best.1 > 0 { Ok(best) } else { Err(io::Error::from_raw_os_error(libc::ENOSPC)) }
    }

    /// Grows the file and returns the first `most` of the new slots, unless the file system has no room.
    fn grow(&mut self, most: u64) -> Option<(u64, u64)> {
        let from = self.grown;
        for more in [MIN_GROWTH_SLOTS.max(from / 8).next_multiple_of(64), 64] {
            #[cfg(test)]
            if from + more > self.most {
                continue;
            }
            let (at, len) = ((from * PAGE_BYTES) as libc::off_t, (more * PAGE_BYTES) as libc::off_t);
            // SAFETY: a system call without pointers.
            let mut result = unsafe { libc::fallocate(self.file.as_raw_fd(), 0, at, len) };
            let error = io::Error::last_os_error().raw_os_error();
            if result != 0 && error == Some(libc::EOPNOTSUPP) {
                // A file system without fallocate allocates when it writes, and fails then.
                result = 0;
            }
            if result == 0 {
                self.grown += more;
                self.used.resize((self.grown / 64) as usize, 0);
                return Some((from, most.min(more)));
            }
        }
        None
    }
}

impl Store for FileStore {
    fn has(&self, page: u64) -> bool {
        self.slots[page as usize] != 0
    }

    /// The pages are in consecutive slots, or all zeros.
    fn run(&self, page: u64, most: usize) -> usize {
        let slots = &self.slots[page as usize..];
        let step = u32::from(slots[0] != 0);
        let follows = |(i, slot): (usize, &u32)| *slot == slots[0] + i as u32 * step;
        slots
            .iter()
            .enumerate()
            .take(most.min(MAX_RUN_PAGES))
            .take_while(|&(i, slot)| follows((i, slot)))
            .count()
    }

    fn read(&mut self, page: u64, count: usize, _: Tag) -> io::Result<Begun> {
        let slot = u64::from(self.slots[page as usize]) - 1;
        let buffer = &mut self.buffer[..count];
        // SAFETY: pages are bytes without padding.
        let bytes = unsafe {
            std::slice::from_raw_parts_mut(buffer.as_mut_ptr().cast(), count * PAGE_BYTES as usize)
        };
        self.file.read_exact_at(bytes, slot * PAGE_BYTES)?;
        self.filled = count;
        Ok(Begun::Done)
    }

    fn pages(&self, _: Tag) -> &[Page] {
        &self.buffer[..self.filled]
    }

    unsafe fn write(&mut self, pages: &[(u64, u64)], _: Tag) -> io::Result<Begun> {
        let mut rest = pages;
        while !rest.is_empty() {
            let (slot, count) =
                match (self.claim(rest.len().min(MAX_RUN_PAGES) as u64), self.slots[rest[0].0 as usize]) {
                    (Ok(found), _) => found,
                    (Err(error), 0) => return Err(error),
                    // The contents of its old slot are out of date: until this has succeeded the page is
                    // still in memory.
                    (Err(_), old) => (u64::from(old - 1), 1),
                };
            let (now, later) = rest.split_at(count as usize);
            // SAFETY: passed on to the caller.
            unsafe { self.write_at(slot, now) }?;
            for (i, &(page, _)) in now.iter().enumerate() {
                self.settle(page, slot + i as u64);
            }
            self.cursor = slot + count;
            rest = later;
        }
        Ok(Begun::Done)
    }

    fn forget(&mut self, page: u64) -> bool {
        let slot = std::mem::take(&mut self.slots[page as usize]);
        if slot != 0 {
            self.used[(slot - 1) as usize / 64] &= !(1 << ((slot - 1) % 64));
            self.stored -= 1;
        }
        slot != 0
    }

    fn finished(&mut self) -> Option<(Tag, io::Result<()>)> {
        None
    }

    fn stored(&self) -> u64 {
        self.stored
    }

    fn file(&self) -> &FileStore {
        self
    }

    fn is_slow(&self) -> bool {
        false
    }
}

/// Opens a file that has no name, or loses it at once; and returns whether its I/O is direct.
fn open(dir: &Path, kinds: &[i32]) -> io::Result<(File, bool)> {
    let options = |flags| {
        let mut options = OpenOptions::new();
        options.read(true).write(true).mode(0o600).custom_flags(flags | libc::O_CLOEXEC);
        options
    };
    for &direct in kinds {
        let file = match options(libc::O_TMPFILE | direct).open(dir) {
            Ok(file) => file,
            // The file system cannot make nameless files.
            Err(error) if matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::EISDIR)) => {
                match named(dir, &options(direct)) {
                    Ok(file) => file,
                    Err(error) if error.raw_os_error() == Some(libc::EINVAL) && direct != 0 => continue,
                    Err(error) => return Err(error),
                }
            }
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) && direct != 0 => continue,
            Err(error) => return Err(error),
        };
        if direct == 0 || works(&file) {
            return Ok((file, direct != 0));
        }
    }
    Err(io::Error::from_raw_os_error(libc::EINVAL))
}

fn named(dir: &Path, options: &OpenOptions) -> io::Result<File> {
    let path = dir.join(format!(".gasnet-netvm.{}", std::process::id()));
    let file = options.clone().create_new(true).open(&path);
    // Another process of the same number may have left a file of this name.
    let _ = fs::remove_file(&path);
    file.or_else(|_| {
        let file = options.clone().create_new(true).open(&path);
        let _ = fs::remove_file(&path);
        file
    })
}

/// Whether direct I/O of whole pages works on a file that was opened for it.
fn works(file: &File) -> bool {
    let page = Page([0; PAGE_BYTES as usize]);
    let written = file.write_all_at(&page.0, 0);
    // Other errors, here or below, appear when the file is used.
    let _ = file.set_len(0);
    !written.is_err_and(|error| error.raw_os_error() == Some(libc::EINVAL))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(fill: u8) -> Box<Page> {
        Box::new(Page([fill; PAGE_BYTES as usize]))
    }

    /// # Panics
    /// If the store has no room.
    fn put(store: &mut FileStore, pages: &[(u64, u8)]) -> io::Result<()> {
        let data: Vec<Box<Page>> = pages.iter().map(|&(_, fill)| page(fill)).collect();
        let list: Vec<(u64, u64)> =
            pages.iter().zip(&data).map(|(&(page, _), data)| (page, data.0.as_ptr() as u64)).collect();
        // SAFETY: the addresses are those of `data`.
        unsafe { store.write(&list, Tag(0)) }.map(drop)
    }

    #[test]
    fn pages_come_back_as_they_were_last_written() {
        // With the file system's own choice, and without direct I/O.
        for kinds in [&[libc::O_DIRECT, 0][..], &[0]] {
            come_back(FileStore::with(&std::env::temp_dir(), 300, kinds).expect("a file"));
        }
        // A file system that may or may not allow it.
        if let Ok(store) = FileStore::new(Path::new("/dev/shm"), 300) {
            come_back(store);
        }
    }

    fn come_back(mut store: FileStore) {
        let mut facts = [0u8; 300];
        let mut random = 1u64;
        for round in 0..200 {
            let mut batch = Vec::new();
            for _ in 0..1 + round % 90 {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99);
                let page = (random >> 33) % 300;
                let fill = (random >> 50) as u8;
                if batch.iter().all(|&(other, _)| other != page) {
                    batch.push((page, fill));
                    facts[page as usize] = fill;
                }
            }
            put(&mut store, &batch).expect("room");
            let mut at = 0;
            while at < 300 {
                let run = store.run(at, 16);
                assert!(run > 0);
                let zeros = [Page([0; PAGE_BYTES as usize]); 16];
                let pages = if store.has(at) {
                    assert_eq!(store.read(at, run, Tag(0)).expect("what was written"), Begun::Done);
                    store.pages(Tag(0))
                } else {
                    &zeros[..run]
                };
                assert_eq!(pages.len(), run);
                for (i, page) in pages.iter().enumerate() {
                    assert_eq!(
                        page.0,
                        [facts[at as usize + i]; PAGE_BYTES as usize],
                        "page {at} + {i}, round {round}"
                    );
                }
                at += run as u64;
            }
        }
        let stored = store.stored();
        assert!(
            stored <= 300 && store.grown <= 300 + 75 + 128 + MIN_GROWTH_SLOTS,
            "{stored} in {}",
            store.grown
        );
        assert_eq!(store.used.iter().map(|w| u64::from(w.count_ones())).sum::<u64>(), stored);
    }

    #[test]
    fn pages_that_left_together_come_back_together() {
        let mut store = FileStore::new(&std::env::temp_dir(), 64).expect("a file");
        assert_eq!(store.run(0, 64), 64, "zeros");
        let batch: Vec<(u64, u8)> = (8..24).map(|page| (page, page as u8)).collect();
        put(&mut store, &batch).expect("room");
        assert_eq!((store.run(8, 64), store.run(20, 64), store.run(0, 64)), (16, 4, 8));
        put(&mut store, &[(10, 1)]).expect("room");
        assert_eq!((store.run(8, 64), store.run(11, 3)), (2, 3));
    }
}
