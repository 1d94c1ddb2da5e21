//! The memory of simulated ranks as the simulated NICs reach it: segments, and the destinations of gets.
#![expect(unsafe_code, reason = "plays the DMA engine: reads and writes the memory of ranks")]

use gasnet_sys::memory::{read_process, write_process};
use gasnet_sys::process::Pid;
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::io;

/// The process in whose memory an address is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Home {
    /// This one, in which the rank is a coroutine.
    Here,
    /// One that is a rank.
    Process(Pid),
}

impl Home {
    /// Reads memory: a segment, or the source of a put.
    ///
    /// Here the owner keeps a source valid until the put is locally complete. This is the contract of
    /// `Rma::put`, the only source of such addresses.
    ///
    /// # Errors
    /// Nothing is there, in another process.
    pub(crate) fn load(self, at: usize, len: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; len];
        match self {
            // SAFETY: see above; the address came through `Rma::put` and its source has not been given back,
            // or is in an attached segment.
            Home::Here => unsafe { core::ptr::copy(at as *const u8, bytes.as_mut_ptr(), len) },
            // SAFETY: as many bytes here; the system checks those there.
            Home::Process(pid) => unsafe { read_process(pid, at, bytes.as_mut_ptr(), len)? },
        }
        Ok(bytes)
    }

    /// Writes memory: a segment, or the destination of a get.
    ///
    /// Here the owner keeps a destination valid until the get is complete. This is the contract of
    /// `Rma::get`, the only source of such addresses.
    ///
    /// # Errors
    /// Nothing is there, in another process.
    pub(crate) fn store(self, at: usize, bytes: &[u8]) -> io::Result<()> {
        match self {
            // SAFETY: see above; the address came through `Rma::get` and its op is not complete yet, or is in
            // an attached segment.
            Home::Here => unsafe { core::ptr::copy(bytes.as_ptr(), at as *mut u8, bytes.len()) },
            // SAFETY: the bytes are a slice; the rank there lends its memory to its NIC by the same contract.
            Home::Process(pid) => unsafe { write_process(pid, at, bytes.as_ptr(), bytes.len())? },
        }
        Ok(())
    }
}

/// A rank's segment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RankMemory {
    home: Home,
    base: usize,
    len: usize,
}

impl RankMemory {
    /// No memory.
    pub(crate) const NONE: RankMemory = RankMemory { home: Home::Here, base: 0, len: 0 };

    /// The memory of a segment in this process.
    ///
    /// # Safety
    /// 1. The `len` bytes at `base` stay mapped as long as the world is used (owed by the caller). 2.
    ///    Programs access them by the runtime's rules, under which a NIC may write them at any time (owed by
    ///    the program).
    pub(crate) unsafe fn new(base: *mut u8, len: usize) -> RankMemory {
        RankMemory { home: Home::Here, base: base as usize, len }
    }

    /// The memory of a segment in another process.
    pub(crate) fn of(process: Pid, base: usize, len: usize) -> RankMemory {
        RankMemory { home: Home::Process(process), base, len }
    }

    /// Where the rank's memory is.
    pub(crate) fn home(self) -> Home {
        self.home
    }

    /// Whether it has all of this range.
    pub(crate) fn has(self, offset: u64, len: usize) -> bool {
        (offset as usize).checked_add(len).is_some_and(|end| end <= self.len)
    }

    /// The offset of memory in the segment, if all of it is in the segment.
    pub(crate) fn offset_of(self, at: usize, len: usize) -> Option<u64> {
        let offset = at.checked_sub(self.base)?;
        (offset.checked_add(len)? <= self.len).then_some(offset as u64)
    }

    fn at(self, offset: u64, len: usize) -> usize {
        assert!(self.has(offset, len), "a NIC may not leave the segment");
        self.base + offset as usize
    }

    /// DMA to memory. Nothing is written where the rank's process has ended.
    pub(crate) fn write(self, offset: u64, bytes: &[u8]) {
        let _ = self.home.store(self.at(offset, bytes.len()), bytes);
    }

    /// DMA from memory. The memory of a process that has ended is zeros.
    pub(crate) fn read(self, offset: u64, len: usize) -> Vec<u8> {
        self.home.load(self.at(offset, len), len).unwrap_or_else(|_| vec![0; len])
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
        RankMemory { home: Home::Here, base: self.base as usize, len: self.layout.size() }
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

/// [`Home::load`] here.
pub(crate) fn load(at: usize, len: usize) -> Vec<u8> {
    Home::Here.load(at, len).unwrap_or_default()
}

/// [`Home::store`] here.
pub(crate) fn store(at: usize, bytes: &[u8]) {
    let _ = Home::Here.store(at, bytes);
}
