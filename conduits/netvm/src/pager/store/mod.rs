//! Backing stores: where the pages are that have left memory.
//!
//! A store keeps the contents of pages by number. The paging thread alone uses it, and waits for nobody. So a
//! store either carries out a request at once ([`Begun::Done`]), or begins it and reports its end later
//! ([`Begun::Later`], [`Store::finished`]). Until then the page's frame is on its way in or out; the store
//! wakes the thread by [`Command::Stored`](super::queue::Command::Stored).
#![expect(unsafe_code, reason = "declares that pages are written from their addresses; no body")]

mod file;
pub(crate) mod peers;
#[cfg(test)]
pub(super) mod slow;

use std::io;

use netvm_fw::PAGE;

pub(super) use file::FileStore;

/// Bytes of a page.
pub(super) const PAGE_BYTES: u64 = PAGE as u64;
/// Most pages of one read or write.
pub(super) const MAX_RUN_PAGES: usize = 64;

/// The bytes of a page, for direct I/O.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(4096))]
pub(crate) struct Page(pub(crate) [u8; PAGE_BYTES as usize]);

/// The number of a read or write, which the caller chooses. It is in use until the request has finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Tag(pub(super) usize);

/// The state of a read or write after its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Begun {
    /// It is over.
    Done,
    /// [`Store::finished`] will report its end.
    Later,
}

/// Contents of pages. A page that is not in the store is zeros.
pub(super) trait Store: Send {
    /// Whether a page is in the store.
    fn has(&self, page: u64) -> bool;

    /// How many of the `most` pages from `page` on can be read at once: all are in the store, or all are
    /// zeros. At least 1, at most [`MAX_RUN_PAGES`].
    fn run(&self, page: u64, most: usize) -> usize;

    /// Reads a [run](Store::run) of pages that are in the store. The pages are not written meanwhile.
    fn read(&mut self, page: u64, count: usize, tag: Tag) -> io::Result<Begun>;

    /// The pages of a read, in order: directly after it was [done](Begun::Done) or reported as finished.
    fn pages(&self, tag: Tag) -> &[Page];

    /// Writes up to [`MAX_RUN_PAGES`] pages: their numbers and the addresses of their bytes, which do not
    /// change until it has finished. If it fails at once or later, the pages that were stored before are as
    /// before. A lack of room is one of the [errors](is_no_room) of the system that say so.
    ///
    /// # Safety
    /// 1. Each address is that of a page that stays mapped until the write has finished (owed by the caller).
    unsafe fn write(&mut self, pages: &[(u64, u64)], tag: Tag) -> io::Result<Begun>;

    /// Gives up what is stored of a page that is not being read or written: it is zeros from now on. Returns
    /// whether there was something.
    fn forget(&mut self, page: u64) -> bool;

    /// The next request that has finished, of those that were to finish later.
    fn finished(&mut self) -> Option<(Tag, io::Result<()>)>;

    /// Does work for what is under way. Returns whether something will probably finish sooner than a thread
    /// sleeps and wakes.
    fn attend(&mut self) -> bool {
        false
    }

    /// Batches of lent memory that have come back since the last call, and must not open to their old keys.
    fn take_returned(&mut self) -> Vec<u32> {
        Vec::new()
    }

    /// A batch of these has a new key, and the old one opens nothing.
    fn renewed(&mut self, _batch: u32, _key: u64) {}

    /// Pages that are in it.
    fn stored(&self) -> u64;

    /// Its file: itself, or what is below it.
    fn file(&self) -> &FileStore;

    /// Whether requests usually finish later.
    fn is_slow(&self) -> bool;
}

/// Whether an error says that there is no room.
pub(super) fn is_no_room(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOSPC | libc::EDQUOT | libc::EFBIG))
}
