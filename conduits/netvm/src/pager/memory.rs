//! The segment's memory: its mapping, the page of each frame, and the NIC's access.
#![expect(unsafe_code, reason = "maps the segment, and plays the DMA engine in it")]

use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use netvm_fw::{FrameAddress, PageMemory, Ppn};

use super::error::PagerError;
use super::kernel::Kernel;
use super::store::{Begun, PAGE_BYTES, Page, Store, Tag};

/// The memory of a pager by frame.
///
/// A frame is a right to be resident; the bytes of its page are at the page's own address in the segment. The
/// NIC accesses them between lock and unlock (of an operation, or under a lease), and at no other time: only
/// then does the frame keep its page, and only then is a page that the NIC writes known to be dirty.
///
/// **Writing to a clean page.** A clean page is write-protected, so that stores of the program are noticed.
/// The NIC records its own writes in the shadow table. It removes the protection first, and so does not
/// fault; its lock keeps the pager from restoring the protection meanwhile.
#[derive(Debug)]
pub struct PagedMemory {
    base: NonNull<u8>,
    /// Bytes of the pages that are paged.
    paged: u64,
    /// Bytes of all pages.
    len: u64,
    kernel: Box<dyn Kernel>,
    /// The page in each frame.
    pages: Box<[AtomicU64]>,
    /// Whether the page in each frame can be stored to without a fault. Such a page is dirty: the host knows,
    /// or the NIC has it locked, or the NIC has marked it.
    writable: Box<[AtomicBool]>,
}

// SAFETY: the mapping is the process's, and reached by address; what is behind `&self` is atomics and system
// calls.
unsafe impl Send for PagedMemory {}
// SAFETY: as above.
unsafe impl Sync for PagedMemory {}

impl PagedMemory {
    /// Maps `paged` bytes whose faults `kernel` reports, and `extra` bytes of ordinary memory behind them, in
    /// whole pages.
    pub(super) fn map(
        kernel: Box<dyn Kernel>,
        paged: u64,
        extra: u64,
        frames: u32,
    ) -> Result<PagedMemory, PagerError> {
        let len = paged + extra;
        let bytes = len.max(PAGE_BYTES);
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a fresh mapping at an address of the kernel's choice.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), bytes as usize, protection, flags, -1, 0) };
        let base = match NonNull::new(base.cast::<u8>()) {
            Some(base) if base.as_ptr().cast() != libc::MAP_FAILED => base,
            _ => return Err(PagerError::Map { bytes, error: io::Error::last_os_error() }),
        };
        let new = |_| AtomicU64::new(0);
        let memory = PagedMemory {
            base,
            paged,
            len,
            kernel,
            pages: (0..frames).map(new).collect(),
            writable: (0..frames).map(|_| AtomicBool::new(false)).collect(),
        };
        let advise = |what, advice| {
            // SAFETY: advice on the mapping just made, which holds nothing yet.
            match unsafe { libc::madvise(memory.base.as_ptr().cast(), bytes as usize, advice) } {
                0 => Ok(()),
                _ => Err(PagerError::System { what, error: io::Error::last_os_error() }),
            }
        };
        // A child would see zeros where pages are out of memory, and its copies of the others would count
        // twice.
        advise("cannot keep the segment from children", libc::MADV_DONTFORK)?;
        // A dump would fault on every page that is out of memory.
        advise("cannot keep the segment out of core dumps", libc::MADV_DONTDUMP)?;
        // A kernel without huge pages returns EINVAL.
        let _ = advise("cannot keep huge pages away", libc::MADV_NOHUGEPAGE);
        if paged > 0 {
            // A process that locks all its memory, now and in future, gets the segment locked too: pages
            // could not leave.
            // SAFETY: the mapping just made.
            unsafe {
                libc::munlock(memory.base.as_ptr().cast(), paged as usize);
                libc::madvise(memory.base.as_ptr().cast(), paged as usize, libc::MADV_DONTNEED);
            }
            memory.kernel.register(memory.address(0), paged).map_err(PagerError::Register)?;
        }
        Ok(memory)
    }

    /// The first byte.
    pub fn base(&self) -> NonNull<u8> {
        self.base
    }

    /// Number of paged pages.
    pub(super) fn paged(&self) -> u64 {
        self.paged / PAGE_BYTES
    }

    /// Number of all pages.
    pub(super) fn pages(&self) -> u64 {
        self.len / PAGE_BYTES
    }

    pub(super) fn kernel(&self) -> &dyn Kernel {
        &*self.kernel
    }

    /// The address of a page.
    pub(super) fn address(&self, page: u64) -> u64 {
        self.base.as_ptr() as u64 + page * PAGE_BYTES
    }

    /// The page of an address, if it is a paged one.
    pub(super) fn page_at(&self, address: u64) -> Option<u64> {
        let offset = address.checked_sub(self.base.as_ptr() as u64)?;
        (offset < self.paged).then_some(offset / PAGE_BYTES)
    }

    /// Gives a frame another page. Called before the table maps it.
    pub(super) fn set_page(&self, ppn: Ppn, page: u64, writable: bool) {
        self.pages[ppn.index()].store(page, Ordering::Relaxed);
        self.set_writable(ppn, writable);
    }

    pub(super) fn writable(&self, ppn: Ppn) -> bool {
        self.writable[ppn.index()].load(Ordering::Relaxed)
    }

    pub(super) fn set_writable(&self, ppn: Ppn, writable: bool) {
        self.writable[ppn.index()].store(writable, Ordering::Relaxed);
    }

    /// Allows stores to a page, and wakes the threads that wait for that. The caller ensures that it counts
    /// as dirty.
    pub(super) fn unprotect(&self, ppn: Ppn) -> io::Result<()> {
        let page = self.page(ppn);
        if page < self.paged() {
            self.kernel.protect(self.address(page), PAGE_BYTES, false)?;
        }
        self.set_writable(ppn, true);
        Ok(())
    }

    /// The page in a frame.
    pub(super) fn page(&self, ppn: Ppn) -> u64 {
        self.pages[ppn.index()].load(Ordering::Relaxed)
    }

    /// The pages in a range that are not present.
    pub(super) fn missing(&self, page: u64, count: u64) -> io::Result<Vec<u64>> {
        let there = self.kernel.present(self.address(page), count)?;
        Ok((page..page + count).zip(there).filter(|(_, there)| !there).map(|(page, _)| page).collect())
    }

    /// Fills missing pages from `page` on, and wakes the threads that wait for them.
    pub(super) fn put(&self, page: u64, from: &[Page], protect: bool) -> io::Result<()> {
        debug_assert!(page + from.len() as u64 <= self.paged());
        self.kernel.fill(self.address(page), from, protect)
    }

    /// Writes pages that are present to the backing store. They stay present until it has finished (owed by
    /// the caller: the host takes no frame of a page on its way out).
    pub(super) fn write_out(&self, store: &mut dyn Store, pages: &[u64], tag: Tag) -> io::Result<Begun> {
        let list: Vec<(u64, u64)> = pages.iter().map(|&page| (page, self.address(page))).collect();
        debug_assert!(pages.iter().all(|&page| page < self.paged()));
        // SAFETY: our own mapping, which lives as long as the thread that has the store.
        unsafe { store.write(&list, tag) }
    }

    /// Drops the contents of some pages: the next access faults.
    pub(super) fn drop_pages(&self, page: u64, count: u64) -> io::Result<()> {
        debug_assert!(page + count <= self.paged());
        self.kernel.drop_pages(self.address(page), count * PAGE_BYTES)
    }

    /// Locks resident pages in memory, in the kernel's accounts too.
    pub(super) fn pin(&self, page: u64, count: u64) -> io::Result<()> {
        self.kernel.pin(self.address(page), count * PAGE_BYTES)
    }

    /// Ends [`pin`](PagedMemory::pin).
    pub(super) fn unpin(&self, page: u64, count: u64) {
        self.kernel.unpin(self.address(page), count * PAGE_BYTES);
    }

    fn at(&self, at: FrameAddress, len: usize) -> *mut u8 {
        let page = self.page(at.ppn);
        assert!(at.offset as u64 + len as u64 <= PAGE_BYTES && page < self.pages(), "a DMA leaves its page");
        (self.address(page) + u64::from(at.offset)) as *mut u8
    }
}

impl PageMemory for PagedMemory {
    fn read(&self, at: FrameAddress, into: &mut [u8]) {
        let from = self.at(at, into.len());
        // SAFETY: `at` checked the range. The frame is locked or held, so its page is present. Programs that
        // store to it meanwhile race with a DMA, which the runtime's rules permit.
        unsafe { gasnet_wire::bytes::load(into.as_mut_ptr(), from, into.len()) }
    }

    fn write(&self, at: FrameAddress, from: &[u8]) {
        let to = self.at(at, from.len());
        if !self.writable(at.ppn) {
            // If it failed, the copy would fault, and the pager would lift the protection.
            let _ = self.unprotect(at.ppn);
        }
        // A word must be one store, because its owner may read it and overwrite it at the same time; C's
        // `memmove` stores words of four and eight bytes twice.
        // SAFETY: as in `read`.
        unsafe { gasnet_wire::bytes::store(to, from.as_ptr(), from.len()) }
    }

    /// The program may have dropped a page of the segment.
    fn may_wait(&self, at: FrameAddress) -> bool {
        self.page(at.ppn) < self.paged()
    }
}

impl Drop for PagedMemory {
    fn drop(&mut self) {
        // SAFETY: the mapping made in `map`; its users were told that it ends with the pager.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.len.max(PAGE_BYTES) as usize) };
    }
}
