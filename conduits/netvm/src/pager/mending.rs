//! Pages that the program has dropped from under its pager.

use std::io;

use netvm_fw::{FrameAddress, PageMemory};

use super::memory::PagedMemory;
use super::store::{PAGE_BYTES, Page};

/// A page of zeros.
pub(super) static ZERO: Page = Page([0; PAGE_BYTES as usize]);

/// A page that should be present may be missing because the program has dropped it with `madvise`. Then it is
/// zeros, and this thread must not find it missing.
pub(super) fn mend(memory: &PagedMemory, page: u64, count: u64) -> io::Result<bool> {
    let missing = memory.missing(page, count)?;
    for &page in &missing {
        match memory.put(page, std::slice::from_ref(&ZERO), true) {
            Err(error) if error.raw_os_error() != Some(libc::EEXIST) => return Err(error),
            _ => {}
        }
    }
    Ok(!missing.is_empty())
}

/// The segment, for the host's copies of bounced messages.
pub(super) struct Mending<'a>(pub(super) &'a PagedMemory);

impl PageMemory for Mending<'_> {
    fn read(&self, at: FrameAddress, into: &mut [u8]) {
        self.0.read(at, into);
    }

    fn write(&self, at: FrameAddress, from: &[u8]) {
        let page = self.0.page(at.ppn);
        if page < self.0.paged() && mend(self.0, page, 1).unwrap_or(false) {
            self.0.set_writable(at.ppn, false);
        }
        self.0.write(at, from);
    }
}
