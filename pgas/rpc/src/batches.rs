//! Batches to all ranks: what is appended for a rank collects in one buffer, and leaves as one message.
//!
//! A batch is taken as a whole. It is *full* from [`BATCH_BYTES`] on; the caller that filled it sends it.
//! Batches that are not full are found by the list of *dirty* ranks, which have something in their batch.
//! The users of this module decide about the contents of batches, the way they travel, and the window: the
//! records of remote calls (module `outbox`), and the relaxed writes of UPC programs.

use crate::peers::PeerTable;
use gasnet::RankId;
use gasnet_sys::mutex::lock;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A batch of this length is to leave.
pub const BATCH_BYTES: usize = 8 * 1024;

/// A buffer that records are appended to.
pub trait Batch: Default {
    /// Bytes in it.
    fn bytes(&self) -> usize;
}

impl Batch for Vec<u64> {
    fn bytes(&self) -> usize {
        8 * self.len()
    }
}

/// The batch of one rank.
#[derive(Debug, Default)]
struct BatchLane<B> {
    batch: B,
    /// The rank is on the list of dirty ones.
    listed: bool,
}

/// A batch for each rank.
#[derive(Debug)]
pub struct Batches<B> {
    lanes: PeerTable<Mutex<BatchLane<B>>>,
    /// Ranks with something in their batch; maybe some whose batch has left meanwhile. Each is there once.
    dirty: Mutex<Vec<RankId>>,
    /// Their number, for a look without the lock.
    dirty_count: AtomicUsize,
}

impl<B: Batch> Batches<B> {
    /// Empty ones.
    pub fn new(ranks: u32) -> Batches<B> {
        Batches { lanes: PeerTable::new(ranks), dirty: Mutex::default(), dirty_count: AtomicUsize::new(0) }
    }

    /// Appends what `write` writes; whether the batch is full.
    #[inline]
    pub fn append(&self, to: RankId, write: impl FnOnce(&mut B)) -> bool {
        let mut lane = lock(self.lane(to));
        write(&mut lane.batch);
        let full = lane.batch.bytes() >= BATCH_BYTES;
        let listed = core::mem::replace(&mut lane.listed, true);
        drop(lane);
        if !listed {
            let mut dirty = lock(&self.dirty);
            dirty.push(to);
            // Relaxed: a hint; the lock hands the list over.
            self.dirty_count.store(dirty.len(), Ordering::Relaxed);
        }
        full
    }

    fn lane(&self, of: RankId) -> &Mutex<BatchLane<B>> {
        self.lanes.of(of)
    }

    /// Whether some rank has something in its batch.
    #[inline]
    pub fn is_dirty(&self) -> bool {
        // Relaxed: a hint, as where it is stored.
        self.dirty_count.load(Ordering::Relaxed) > 0
    }

    /// A rank that has something in its batch, as far as is known. It is off the list then: its batch is to
    /// be taken.
    pub fn next_dirty(&self) -> Option<RankId> {
        if !self.is_dirty() {
            return None;
        }
        let mut dirty = lock(&self.dirty);
        let next = dirty.pop()?;
        // Relaxed: a hint, as where it is read.
        self.dirty_count.store(dirty.len(), Ordering::Relaxed);
        drop(dirty);
        lock(self.lane(next)).listed = false;
        Some(next)
    }

    /// Takes a rank's batch if there is something in it, and leaves an empty buffer; else the empty buffer
    /// comes back.
    pub fn take(&self, to: RankId, empty: B) -> Result<B, B> {
        let batch = core::mem::replace(&mut lock(self.lane(to)).batch, empty);
        if batch.bytes() == 0 { Err(batch) } else { Ok(batch) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_appended_leaves_once_and_in_order() {
        let batches = Batches::<Vec<u64>>::new(3);
        assert!(!batches.is_dirty() && batches.next_dirty().is_none());
        for word in 0..10 {
            let full = batches.append(RankId(word as u32 % 2), |batch| batch.push(word));
            assert!(!full);
        }
        let mut all = Vec::new();
        while let Some(rank) = batches.next_dirty() {
            all.push((rank.0, batches.take(rank, Vec::new()).unwrap()));
        }
        all.sort();
        assert_eq!(all, [(0, vec![0, 2, 4, 6, 8]), (1, vec![1, 3, 5, 7, 9])]);
        assert!(!batches.is_dirty());
        assert_eq!(batches.take(RankId(1), Vec::new()), Err(vec![]));
    }

    #[test]
    fn a_full_batch_is_told() {
        let batches = Batches::<Vec<u64>>::new(1);
        let words = BATCH_BYTES / 8;
        for n in 1..=words {
            assert_eq!(batches.append(RankId(0), |batch| batch.push(7)), n == words);
        }
        // Taken by whoever filled it, the rank stays on the list, and once.
        for _ in 0..3 {
            batches.take(RankId(0), Vec::new()).unwrap();
            batches.append(RankId(0), |batch| batch.push(7));
        }
        assert_eq!([batches.next_dirty(), batches.next_dirty()], [Some(RankId(0)), None]);
    }
}
