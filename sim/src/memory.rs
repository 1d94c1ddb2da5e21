//! The memory of simulated ranks as the simulated NICs reach it: segments, and the destinations of gets.
#![expect(unsafe_code, reason = "plays the DMA engine: reads and writes the memory of ranks")]

use std::alloc::{Layout, alloc_zeroed, dealloc};

/// A rank's segment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RankMemory {
    base: usize,
    len: usize,
}

impl RankMemory {
    /// No memory.
    pub(crate) const NONE: RankMemory = RankMemory { base: 0, len: 0 };

    /// The memory of a segment.
    ///
    /// # Safety
    /// 1. The `len` bytes at `base` stay mapped as long as the world is used (owed by the caller). 2.
    ///    Programs access them by the runtime's rules, under which a NIC may write them at any time (owed by
    ///    the program).
    pub(crate) unsafe fn new(base: *mut u8, len: usize) -> RankMemory {
        RankMemory { base: base as usize, len }
    }

    /// The offset of memory in the segment, if all of it is in the segment.
    pub(crate) fn offset_of(self, at: usize, len: usize) -> Option<u64> {
        let offset = at.checked_sub(self.base)?;
        (offset.checked_add(len)? <= self.len).then_some(offset as u64)
    }

    fn at(self, offset: u64, len: usize) -> *mut u8 {
        let end = (offset as usize).checked_add(len);
        assert!(end.is_some_and(|e| e <= self.len), "a NIC may not leave the segment");
        (self.base + offset as usize) as *mut u8
    }

    /// DMA to memory.
    pub(crate) fn write(self, offset: u64, bytes: &[u8]) {
        let to = self.at(offset, bytes.len());
        // SAFETY: `at` checked the range; the caller of `new` guarantees the memory. One thread runs all
        // ranks.
        unsafe { core::ptr::copy(bytes.as_ptr(), to, bytes.len()) }
    }

    /// DMA from memory.
    pub(crate) fn read(self, offset: u64, len: usize) -> Vec<u8> {
        let from = self.at(offset, len);
        let mut bytes = vec![0; len];
        // SAFETY: as in `write`.
        unsafe { core::ptr::copy(from, bytes.as_mut_ptr(), len) };
        bytes
    }
}

/// Memory of a NIC's library: pages that live as long as this does.
pub(crate) struct Scratch {
    base: *mut u8,
    layout: Layout,
}

impl Scratch {
    /// Whole pages of zeros; pages that are not used take no memory.
    pub(crate) fn new(bytes: usize) -> Scratch {
        let bytes = bytes.next_multiple_of(4096).max(4096);
        let layout = Layout::from_size_align(bytes, 4096).expect("some pages");
        // SAFETY: of more than no bytes.
        let base = unsafe { alloc_zeroed(layout) };
        assert!(!base.is_null(), "no memory for the library of a simulated NIC");
        Scratch { base, layout }
    }

    /// The memory for the NIC. The rank that owns it outlives the events of its world.
    pub(crate) fn window(&self) -> RankMemory {
        RankMemory { base: self.base as usize, len: self.layout.size() }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout, given back once.
        unsafe { dealloc(self.base, self.layout) }
    }
}

// SAFETY: reached by address through RankMemory only, on the one thread that runs the world.
unsafe impl Send for Scratch {}
// SAFETY: as above.
unsafe impl Sync for Scratch {}

/// Reads the source of a put.
///
/// The owner keeps the source valid until the put is locally complete. This is the contract of `Rma::put`,
/// the only source of these addresses.
pub(crate) fn load(at: usize, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    // SAFETY: see above; the address came through `Rma::put` and its source has not been given back.
    unsafe { core::ptr::copy(at as *const u8, bytes.as_mut_ptr(), len) };
    bytes
}

/// Writes to the destination of a get.
///
/// The owner keeps the destination valid until the get is complete. This is the contract of `Rma::get`, the
/// only source of these addresses.
pub(crate) fn store(at: usize, bytes: &[u8]) {
    // SAFETY: see above; the address came through `Rma::get` and its op is not complete yet.
    unsafe { core::ptr::copy(bytes.as_ptr(), at as *mut u8, bytes.len()) }
}
