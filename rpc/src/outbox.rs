//! Batches on their way out, and how much may be under way to a rank.
//!
//! **Batches** ([`Batches`]). Records to a rank are appended to its batch. The batch leaves when it is full,
//! when the rank makes progress in the engine, or at once with a call.
//!
//! **Windows.** A rank counts the bytes that it has sent to each other for services, and is told how many of
//! them have been served. The difference is under way. Who receives tells after every quarter of the window,
//! when it serves.

use crate::batches::{Batch, Batches};
use crate::lock::lock;
use crate::wire::{self, Buffer, To};
use core::cell::RefCell;
use gasnet::{Rank, RankId, RegionKey};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Bytes that may be under way to a rank before one who sends from the program waits.
pub const WINDOW_BYTES: u64 = 256 * 1024;
/// A longer body travels as a payload.
pub(crate) const LARGEST_IN_BATCH: usize = 16 * 1024;
/// Buffers that a thread keeps for the next batches.
const SPARE_BUFFERS: usize = 64;
/// A longer buffer is not kept.
const LONGEST_SPARE_WORDS: usize = 2 * LARGEST_IN_BATCH / 8;

/// What there is for one rank.
#[derive(Debug, Default)]
struct Lane {
    /// Bytes sent to it, and those of them that it has served.
    sent: AtomicU64,
    served: AtomicU64,
    /// Bytes of its own that this rank has served.
    consumed: AtomicU64,
}

#[derive(Debug)]
pub(crate) struct Outbox {
    batches: Batches<Buffer>,
    lanes: Box<[Lane]>,
    /// Ranks to be told that they have been served.
    owed: Mutex<Vec<RankId>>,
    owed_count: AtomicUsize,
}

thread_local! {
    /// Buffers for the next batches, of whatever rank.
    static SPARE: RefCell<Vec<Buffer>> = const { RefCell::new(Vec::new()) };
}

impl Batch for Buffer {
    fn bytes(&self) -> usize {
        self.len()
    }
}

/// An empty buffer.
#[inline]
pub(crate) fn buffer() -> Buffer {
    SPARE.with_borrow_mut(Vec::pop).unwrap_or_default()
}

/// Keeps a buffer for later.
#[inline]
pub(crate) fn recycle(mut buffer: Buffer) {
    if buffer.capacity() > LONGEST_SPARE_WORDS {
        return;
    }
    buffer.clear();
    SPARE.with_borrow_mut(|spare| {
        if spare.len() < SPARE_BUFFERS {
            spare.push(buffer);
        }
    });
}

impl Outbox {
    pub(crate) fn new(ranks: u32) -> Outbox {
        Outbox {
            batches: Batches::new(ranks),
            lanes: (0..ranks).map(|_| Lane::default()).collect(),
            owed: Mutex::default(),
            owed_count: AtomicUsize::new(0),
        }
    }

    #[inline]
    fn lane(&self, rank: RankId) -> &Lane {
        &self.lanes[rank.0 as usize]
    }

    /// Appends a record; whether the batch is to leave now.
    pub(crate) fn append(&self, to: RankId, what: &To, keys: &[RegionKey], whole: bool, body: &[u8]) -> bool {
        self.batches.append(to, |batch| wire::append(batch, what, keys, whole, body))
    }

    /// Whether some rank has something in its batch.
    #[inline]
    pub(crate) fn is_dirty(&self) -> bool {
        self.batches.is_dirty()
    }

    /// A rank that has something in its batch, as far as is known.
    pub(crate) fn next_dirty(&self) -> Option<RankId> {
        self.batches.next_dirty()
    }

    /// Takes a rank's batch, which counts as sent.
    pub(crate) fn take(&self, to: RankId) -> Option<Buffer> {
        match self.batches.take(to, buffer()) {
            Ok(batch) => {
                self.count_batch(to, &batch);
                Some(batch)
            }
            Err(empty) => {
                recycle(empty);
                None
            }
        }
    }

    /// Counts a batch as sent. Answers alone are done with when they arrive: they do not count.
    pub(crate) fn count_batch(&self, to: RankId, batch: &Buffer) {
        if batch.has_services() {
            self.count(to, batch.len());
        }
    }

    /// Counts bytes as sent.
    #[inline]
    pub(crate) fn count(&self, to: RankId, bytes: usize) {
        // Relaxed: a count.
        self.lane(to).sent.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Bytes that were counted will not be sent.
    pub(crate) fn uncount(&self, to: RankId, bytes: usize) {
        // Relaxed: a count.
        self.lane(to).sent.fetch_sub(bytes as u64, Ordering::Relaxed);
    }

    /// Whether one who sends from the program may go on.
    #[inline]
    pub(crate) fn has_room(&self, to: RankId) -> bool {
        let lane = self.lane(to);
        // Relaxed: counts.
        // What is not sent after all may have been told of as served, by a rank that lies.
        lane.sent.load(Ordering::Relaxed).saturating_sub(lane.served.load(Ordering::Relaxed)) < WINDOW_BYTES
    }

    /// Handler: so many bytes in all have been served.
    pub(crate) fn told_served(&self, by: RankId, args: &[u32]) {
        let &[low, high] = args else { return };
        let lane = self.lane(by);
        // Relaxed: counts. Never more than were sent, whatever is said.
        let served = (u64::from(high) << 32 | u64::from(low)).min(lane.sent.load(Ordering::Relaxed));
        lane.served.fetch_max(served, Ordering::Relaxed);
    }

    /// So many more bytes of a rank's have been served here.
    pub(crate) fn has_served(&self, from: RankId, bytes: usize) {
        let lane = self.lane(from);
        // Relaxed: counts.
        let before = lane.consumed.fetch_add(bytes as u64, Ordering::Relaxed);
        let quarter = WINDOW_BYTES / 4;
        if before / quarter != (before + bytes as u64) / quarter {
            let mut owed = lock(&self.owed);
            if !owed.contains(&from) {
                owed.push(from);
            }
            // Relaxed: a hint; the lock hands the list over.
            self.owed_count.store(owed.len(), Ordering::Relaxed);
        }
    }

    /// Whether some rank is to be told what has been served of it.
    #[inline]
    pub(crate) fn owes(&self) -> bool {
        // Relaxed: a hint, as where it is stored.
        self.owed_count.load(Ordering::Relaxed) > 0
    }

    /// Tells ranks what has been served of theirs. Not in a handler.
    pub(crate) fn tell_served(&self, rank: &Rank, handler: u8) {
        while self.owes() {
            let next = {
                let mut owed = lock(&self.owed);
                let next = owed.pop();
                // Relaxed: a hint, as where it is read.
                self.owed_count.store(owed.len(), Ordering::Relaxed);
                next
            };
            let Some(to) = next else { return };
            let lane = self.lane(to);
            // Relaxed: counts.
            let consumed = lane.consumed.load(Ordering::Relaxed);
            if let Err(e) = rank.request_short(to, handler, &[consumed as u32, (consumed >> 32) as u32]) {
                rank.fatal(&format!("remote calls: {e}"));
            }
        }
    }
}
