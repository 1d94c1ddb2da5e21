//! The memory that a rank exports, as its own side of the library accesses it: the segment, and the memory
//! behind it.
#![expect(unsafe_code, reason = "copies between a segment and memory of the program")]

use core::ptr::NonNull;

/// Exported memory of this rank, by offset.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ExportedMemory {
    base: NonNull<u8>,
    len: u64,
}

// SAFETY: an address; `new` says who may use the memory.
unsafe impl Send for ExportedMemory {}
// SAFETY: as above.
unsafe impl Sync for ExportedMemory {}

impl ExportedMemory {
    /// `len` bytes at `base`.
    ///
    /// # Safety
    /// 1. The bytes stay mapped as long as the region is used (owed by the caller). 2. Programs access them
    ///    by the runtime's rules, under which NICs may read and write them at any time (owed by the program).
    pub(crate) unsafe fn new(base: NonNull<u8>, len: u64) -> ExportedMemory {
        ExportedMemory { base, len }
    }

    /// The address of `len` bytes at `offset`.
    ///
    /// # Panics
    /// The bytes are not inside the region.
    pub(crate) fn at(self, offset: u64, len: usize) -> NonNull<u8> {
        let inside = offset.checked_add(len as u64).is_some_and(|end| end <= self.len);
        assert!(inside, "{len} bytes at {offset:#x} of a region of {:#x}", self.len);
        // SAFETY: inside the region by the line above.
        unsafe { self.base.add(offset as usize) }
    }

    /// Its addresses.
    pub(crate) fn range(self) -> core::ops::Range<usize> {
        let base = self.base.addr().get();
        base..base + self.len as usize
    }

    /// The offset of memory of the program in the region, if all of it is inside.
    pub(crate) fn offset_of(self, at: *const u8, len: usize) -> Option<u64> {
        let offset = (at as usize).checked_sub(self.base.as_ptr() as usize)? as u64;
        (offset.checked_add(len as u64)? <= self.len).then_some(offset)
    }

    /// Copies out of it.
    pub(crate) fn read(self, offset: u64, into: &mut [u8]) {
        let from = self.at(offset, into.len());
        // SAFETY: in range; (1), (2) of `new`.
        unsafe { gasnet_wire::bytes::load(into.as_mut_ptr(), from.as_ptr(), into.len()) }
    }

    /// Copies into it.
    pub(crate) fn write(self, offset: u64, bytes: &[u8]) {
        let to = self.at(offset, bytes.len());
        // SAFETY: in range; (1), (2) of `new`.
        unsafe { gasnet_wire::bytes::store(to.as_ptr(), bytes.as_ptr(), bytes.len()) }
    }

    /// Copies from the region to memory of the program.
    ///
    /// # Safety
    /// 1. `to` is valid for `len` bytes and used by nobody else (owed by the caller).
    pub(crate) unsafe fn copy_to(self, offset: u64, to: *mut u8, len: usize) {
        let from = self.at(offset, len);
        // SAFETY: in range, (1), and (1), (2) of `new`.
        unsafe { gasnet_wire::bytes::store(to, from.as_ptr(), len) }
    }

    /// Copies memory of the program into the region.
    ///
    /// # Safety
    /// 1. `from` is valid for `len` bytes (owed by the caller).
    pub(crate) unsafe fn copy_from(self, offset: u64, from: *const u8, len: usize) {
        let to = self.at(offset, len);
        // SAFETY: in range, (1), and (1), (2) of `new`.
        unsafe { gasnet_wire::bytes::load(to.as_ptr(), from, len) }
    }
}
