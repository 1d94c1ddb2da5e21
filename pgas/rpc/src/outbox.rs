//! Batches on their way out, and how much may be under way to a rank.
//!
//! **Batches** ([`Batches`]). Records to a rank are appended to its batch. The batch leaves when it is full,
//! when the rank makes progress in the engine, or at once with a call.
//!
//! **Windows.** A rank counts the bytes that it has sent to each other for services, and is told how many of
//! them have been served. The difference is under way. Who receives tells after every quarter of the window,
//! when it serves.

use crate::batches::{Batch, Batches};
use crate::counts::{Added, Count, OwnThread};
use crate::peers::PeerTable;
use crate::wire::{self, AlignedBuffer, To};
use core::cell::RefCell;
use gasnet::{Rank, RankId, RegionKey};
use gasnet_sys::mutex::lock;
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

/// The counters of one rank.
#[derive(Debug, Default)]
struct OutboxLane {
    /// Bytes sent to it, and those of them that it has served.
    sent: Count,
    served: AtomicU64,
    /// Bytes of its own that this rank has served.
    consumed: Count,
}

#[derive(Debug)]
pub(crate) struct Outbox {
    own: OwnThread,
    batches: Batches<AlignedBuffer>,
    lanes: PeerTable<OutboxLane>,
    /// Ranks to be told that they have been served.
    owed: Mutex<Vec<RankId>>,
    owed_count: AtomicUsize,
}

thread_local! {
    /// Buffers for the next batches, of whatever rank.
    static SPARE: RefCell<Vec<AlignedBuffer>> = const { RefCell::new(Vec::new()) };
}

impl Batch for AlignedBuffer {
    fn bytes(&self) -> usize {
        self.len()
    }
}

/// An empty buffer.
#[inline]
pub(crate) fn buffer() -> AlignedBuffer {
    SPARE.with_borrow_mut(Vec::pop).unwrap_or_default()
}

/// Keeps a buffer for later.
#[inline]
pub(crate) fn recycle(mut buffer: AlignedBuffer) {
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
    pub(crate) fn new(ranks: u32, own: OwnThread) -> Outbox {
        Outbox {
            own,
            batches: Batches::new(ranks),
            lanes: PeerTable::new(ranks),
            owed: Mutex::default(),
            owed_count: AtomicUsize::new(0),
        }
    }

    #[inline]
    fn lane(&self, rank: RankId) -> &OutboxLane {
        self.lanes.of(rank)
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
    pub(crate) fn take(&self, to: RankId) -> Option<AlignedBuffer> {
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
    pub(crate) fn count_batch(&self, to: RankId, batch: &AlignedBuffer) {
        if batch.has_services() {
            self.count(to, batch.len());
        }
    }

    /// Counts bytes as sent.
    #[inline]
    pub(crate) fn count(&self, to: RankId, bytes: usize) {
        self.lane(to).sent.add(self.own.is_here(), bytes as u64);
    }

    /// Bytes that were counted will not be sent.
    pub(crate) fn uncount(&self, to: RankId, bytes: usize) {
        self.lane(to).sent.take_back(bytes as u64);
    }

    /// Whether one who sends from the program may go on.
    #[inline]
    pub(crate) fn has_room(&self, to: RankId) -> bool {
        let lane = self.lane(to);
        // Relaxed: a count.
        // Saturating: a rank that lies may report more bytes as served than were sent.
        lane.sent.get().saturating_sub(lane.served.load(Ordering::Relaxed)) < WINDOW_BYTES
    }

    /// Handler: a rank has served this many bytes in all.
    pub(crate) fn told_served(&self, by: RankId, args: &[u32]) {
        let &[low, high] = args else { return };
        let lane = self.lane(by);
        // Never more than were sent, whatever is said.
        let served = (u64::from(high) << 32 | u64::from(low)).min(lane.sent.get());
        // Relaxed: a count.
        lane.served.fetch_max(served, Ordering::Relaxed);
    }

    /// Counts bytes from a rank that were served here. The rank is told after each quarter of the window
    /// that the own thread has served, or the other threads have; so at most half of the window is served
    /// and not reported.
    pub(crate) fn has_served(&self, from: RankId, bytes: usize) {
        let Added { before, after } = self.lane(from).consumed.add(self.own.is_here(), bytes as u64);
        let quarter = WINDOW_BYTES / 4;
        if before / quarter != after / quarter {
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

    /// A rank that is to be told, and how many of its bytes have been served in all.
    fn next_owed(&self) -> Option<(RankId, u64)> {
        if !self.owes() {
            return None;
        }
        let mut owed = lock(&self.owed);
        let to = owed.pop()?;
        // Relaxed: a hint, as where it is read.
        self.owed_count.store(owed.len(), Ordering::Relaxed);
        drop(owed);
        Some((to, self.lane(to).consumed.get()))
    }

    /// Tells ranks what has been served of theirs. Not in a handler.
    pub(crate) fn tell_served(&self, rank: &Rank, handler: u8) {
        while let Some((to, served)) = self.next_owed() {
            if let Err(e) = rank.request_short(to, handler, &served_words(served)) {
                rank.fatal(&format!("remote calls: {e}"));
            }
        }
    }
}

/// A count as the arguments of a message.
fn served_words(served: u64) -> [u32; 2] {
    [served as u32, (served >> 32) as u32]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    /// A window holds four of these records.
    const RECORD_BYTES: usize = WINDOW_BYTES as usize / 4;

    /// A record for a service that sends one to the next rank, if hops are left.
    #[derive(Debug, Clone, Copy)]
    struct Record {
        from: RankId,
        hops: u32,
    }

    /// A rank whose program floods all ranks.
    struct Flooding {
        me: RankId,
        outbox: Outbox,
        inbox: VecDeque<Record>,
        /// Records that the program has still to send to each rank.
        left: Vec<u32>,
        /// A service that waits for room. The rank serves no other meanwhile.
        waits: Option<Record>,
    }

    /// Sends a record.
    fn send(ranks: &mut [Flooding], from: RankId, to: RankId, hops: u32) {
        ranks[from.0 as usize].outbox.count(to, RECORD_BYTES);
        ranks[to.0 as usize].inbox.push_back(Record { from, hops });
    }

    /// Does the next thing that a rank can do. Returns whether there was any.
    fn step(ranks: &mut [Flooding], me: usize, services_wait: bool) -> bool {
        let next = RankId((me as u32 + 1) % ranks.len() as u32);
        let rank = &mut ranks[me];
        let from = rank.me;
        if rank.waits.is_none() {
            let can_send = |&to: &usize| rank.left[to] > 0 && rank.outbox.has_room(RankId(to as u32));
            if let Some(to) = (0..rank.left.len()).find(can_send) {
                rank.left[to] -= 1;
                send(ranks, from, RankId(to as u32), 3);
                return true;
            }
        }
        let Some(record) = rank.waits.take().or_else(|| rank.inbox.pop_front()) else { return false };
        if services_wait && record.hops > 0 && !rank.outbox.has_room(next) {
            rank.waits = Some(record);
            return false;
        }
        if record.hops > 0 {
            send(ranks, from, next, record.hops - 1);
        }
        ranks[me].outbox.has_served(record.from, RECORD_BYTES);
        while let Some((to, served)) = ranks[me].outbox.next_owed() {
            ranks[to.0 as usize].outbox.told_served(from, &served_words(served));
        }
        true
    }

    /// Every rank floods every other with records that go on round the ring: how many are left when nobody
    /// can do anything any more.
    fn left_of_a_flood(size: u32, services_wait: bool) -> usize {
        let own = OwnThread::here();
        let rank = |me| Flooding {
            me: RankId(me),
            outbox: Outbox::new(size, own),
            inbox: VecDeque::new(),
            left: vec![if cfg!(miri) { 6 } else { 50 }; size as usize],
            waits: None,
        };
        let mut ranks: Vec<Flooding> = (0..size).map(rank).collect();
        while (0..ranks.len()).filter(|&me| step(&mut ranks, me, services_wait)).count() > 0 {}
        let left = |rank: &Flooding| {
            rank.left.iter().sum::<u32>() as usize + rank.inbox.len() + usize::from(rank.waits.is_some())
        };
        ranks.iter().map(left).sum()
    }

    const MOST_RANKS: u32 = if cfg!(miri) { 3 } else { 8 };

    #[test]
    fn rpc_05_a_flood_ends_where_services_never_wait_for_room() {
        for size in 1..=MOST_RANKS {
            assert_eq!(left_of_a_flood(size, false), 0, "{size} ranks");
        }
    }

    /// The rule is what makes it end: of services that wait for room like the program, each waits for one
    /// that waits.
    #[test]
    fn rpc_05_a_flood_deadlocks_where_services_wait_for_room() {
        for size in 1..=MOST_RANKS {
            assert!(left_of_a_flood(size, true) > 0, "{size} ranks");
        }
    }
}
