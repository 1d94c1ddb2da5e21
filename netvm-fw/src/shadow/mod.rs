//! The shadow page table: which frame holds which page, shared by the host and its NIC.
//!
//! There are two parts. *Rows*: a page's hash selects a row of frame numbers, filled from the front and ended
//! by 0. *Frame map*: arrays indexed by frame. **Every array has one writer**, so neither side ever needs an
//! atomic read-modify-write that the other one sees:
//!
//! | array | bits a frame | host | NIC |
//! |---|---|---|---|
//! | rows | 32 x depth (of a row) | writes | reads |
//! | page (0 = none) | 64 | writes | reads |
//! | key | 64 | writes | reads |
//! | lock | 1 | reads | writes |
//! | dirty, host's half | 1 | writes | reads |
//! | dirty, NIC's half | 1 | reads | writes |
//!
//! **Lock against unmap** (Peterson's algorithm). The NIC sets the lock bit, then looks at the page; the host
//! clears the page, then looks at the lock bit; both sides have a full fence between the two steps. So at
//! most one of them succeeds. Both may fail: then the NIC bounces the message, and the host tries again.
//!
//! **Counts.** Operations overlap, so the lock bit says that a private count of the NIC is not 0. The NIC
//! looks at a frame's page before it sets the bit, so that it never touches the frames of other pages in the
//! row.
//!
//! **Dirty.** A frame is dirty when its two halves are *equal*. The NIC marks by copying the host's half into
//! its own, before it unlocks; the host tests, and cleans by making its half differ. A mark that races with a
//! test may be undone by it, but then the test said dirty: the host must *keep* that answer until it has
//! written the page out ([`HostTable::test_and_clean`]).
//!
//! **Leases.** A lease is a count that stays after the call ([`NicTable::lease`]). Using it needs no
//! handshake, since the bit is set already. The host can have leases broken ([`NicTable::break_leases`]).
//! Each frame counts its breaks, so an earlier lease is refused.

mod host_table;
mod nic_table;

#[cfg(all(test, loom))]
mod loom_tests;

use std::sync::Arc;

pub use host_table::{HostTable, Mapped, Unmap};
pub use nic_table::{Lease, LockError, NicTable};

use crate::ids::Hash;
use crate::prim::{self, AtomicU32, AtomicU64, Ordering};

/// Size and shape of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Geometry {
    /// Frames of the host.
    pub frames: u32,
    /// Rows.
    pub rows: u32,
    /// Entries of a row.
    pub depth: u32,
}

impl Geometry {
    /// As many rows as frames, with four entries each: one page in a thousand meets a full row.
    pub fn new(frames: u32) -> Geometry {
        Geometry { frames, rows: frames.max(1), depth: 4 }
    }

    /// Bits that both sides share, for each frame, without the rows.
    pub const FRAME_BITS: u64 = 64 + 64 + 1 + 1 + 1;

    /// Bits that the NIC keeps for itself, for each frame: counts of locks and leases, breaks.
    pub const PRIVATE_BITS: u64 = 16 + 16 + 32;

    /// Bytes of the shared part.
    pub fn shared_bytes(&self) -> u64 {
        let bits = Self::FRAME_BITS - 3;
        let bitmaps = 3 * 4 * u64::from(self.frames.div_ceil(32));
        u64::from(self.rows) * u64::from(self.depth) * 4 + u64::from(self.frames) * bits / 8 + bitmaps
    }
}

/// The arrays.
#[derive(Debug)]
struct SharedTable {
    geometry: Geometry,
    rows: Box<[AtomicU32]>,
    page: Box<[AtomicU64]>,
    key: Box<[AtomicU64]>,
    lock: Bits,
    host_dirty: Bits,
    nic_dirty: Bits,
}

/// Makes a table and its two sides. Each has one owner: one thread at a time writes an array.
pub fn table(geometry: Geometry, seed: u64) -> (HostTable, NicTable) {
    assert!(geometry.rows > 0 && geometry.depth > 0, "a table has rows");
    let frames = geometry.frames as usize;
    let shared = Arc::new(SharedTable {
        geometry,
        rows: prim::words(geometry.rows as usize * geometry.depth as usize, 0),
        page: prim::wide(frames),
        key: prim::wide(frames),
        lock: Bits::new(frames, false),
        host_dirty: Bits::new(frames, true),
        nic_dirty: Bits::new(frames, false),
    });
    (HostTable::new(shared.clone(), seed), NicTable::new(shared))
}

impl SharedTable {
    /// The entries of the row of a hash.
    #[inline]
    fn row(&self, hash: Hash) -> &[AtomicU32] {
        let row = (u64::from(hash.0) * u64::from(self.geometry.rows)) >> 32;
        let depth = self.geometry.depth as usize;
        let start = row as usize * depth;
        &self.rows[start..start + depth]
    }
}

/// A bit per frame, written by one side.
#[derive(Debug)]
struct Bits(Box<[AtomicU32]>);

impl Bits {
    fn new(n: usize, set: bool) -> Bits {
        Bits(prim::words(n.div_ceil(32), if set { u32::MAX } else { 0 }))
    }

    #[inline]
    fn get(&self, index: usize, order: Ordering) -> bool {
        self.0[index / 32].load(order) >> (index % 32) & 1 != 0
    }

    /// Only the side that owns the array calls this, so load and store need not be one.
    #[inline]
    fn set(&self, index: usize, value: bool, order: Ordering) {
        let word = &self.0[index / 32];
        let bit = 1 << (index % 32);
        let old = word.load(Ordering::Relaxed);
        word.store(if value { old | bit } else { old & !bit }, order);
    }
}
