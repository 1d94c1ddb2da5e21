//! Relaxed writes and atomic operations that travel together (`upcc -fupc-aggregate`).
//!
//! # Vocabulary
//! A *record* is one write of at most [`MOST_BYTES`] bytes, or one atomic operation whose old value nobody
//! gets, on shared memory of a far thread. Records for a thread collect in its *batch* ([`Batches`], those of
//! remote calls), which travels as one message and is *applied* by its handler. Batches to a thread are
//! numbered; the target applies them in the order of their numbers and answers how many it has applied.
//!
//! # When a batch leaves
//! - When it is full.
//! - When the thread *settles* ([`Core::settle`]): it sends all batches, and waits until all are applied.
//!   Strict accesses, fences, `upc_notify`, locks, semaphores, collectives, fetching and strict atomic
//!   operations, allocation and the end of the thread begin with that.
//! - When the thread does something else to bytes that a record touches: it settles first
//!   ([`Aggregate::touches`]). The table that tells may err, and then only towards settling.
//! - When the thread waits for anything (without waiting for the batch).
//! - When it is [`OLDEST`] old, at the next call of the runtime that polls or appends.
//!
//! # Why no program can tell
//! A record is made where the access is in the program, with the values of its operands, and takes effect
//! later, between there and the next settling. The memory model (UPC 1.3, B.3) lets an implementation reorder
//! two accesses of a thread unless (1) one of them is strict, or an operation that stands for strict accesses
//! (`upc_fence`, notify, wait, lock, unlock), or (2) both are to the same location and one of them writes it.
//!
//! 1. Each strict access and each operation that stands for one settles before it takes place. So all records
//!    that come before it are applied, and none is made while it takes place. Those that come after it are
//!    made after it.
//! 2. Two records for the same location are in the same batch, in order, or in two with numbers in order.
//!    Whatever else the thread does to the location settles first: it finds what was written. A thread is
//!    always near or always far, so nobody reaches the location by another way.
//! 3. All other pairs are of relaxed accesses to different locations, which may be seen in any order. The
//!    calls of the library that are not collective are such accesses (B.3.2.1).
//! 4. A word is written at once, as by any other write of the runtime, and an atomic operation is one
//!    instruction on the target, as those of other threads are.
//!
//! When a relaxed write becomes visible without any synchronisation is not said by the language. A program
//! that makes another wait for one must call the runtime now and then, which it has to do anyhow, as must the
//! target, which applies batches when it is in the runtime.
//!
//! # A record as words of 64 bits
//! ```text
//! bits 0-47 of the first word   offset in the target's segment
//! bits 48-63                    bytes to be written, which follow, zeros up to a whole word;
//! or OPERATION | function and type (`Operation::encode`), and the operand follows
//! ```

use super::Core;
use crate::state::upc;
use gasnet::am::Outgoing;
use gasnet::atomics::Operation;
use gasnet::{Error, Handler, Message, Rank, RankId, Token};
use gasnet_rpc::batches::Batches;
use gasnet_sys::mutex::lock;
use gasnet_wire::bytes;
use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::*};
use std::time::{Duration, Instant};

/// A longer write goes by itself.
pub const MOST_BYTES: u64 = 64;
/// A batch of this age leaves.
const OLDEST: Duration = Duration::from_millis(1);
/// The age is looked at once in so many records.
const RECORDS_PER_LOOK: u64 = 64;
/// Batches to a thread that may be under way.
const MOST_UNDER_WAY: u64 = 32;
/// Entries in the table of what records touch; a power of two.
const TOUCHED: usize = 1 << 13;
/// Of an access to more bytes than this it is only known whether there are records for the thread.
const MOST_LOOKED_UP: u64 = 512;

const PLACE_BITS: u32 = 48;
const OPERATION: u64 = 1 << 15;

/// A batch, and the answer that tells how many are applied; both with a number of 64 bits in two arguments.
const BATCH: u8 = gasnet::am::FIRST_LIBRARY_HANDLER + 2;
const APPLIED: u8 = gasnet::am::FIRST_LIBRARY_HANDLER + 3;

/// The way to one thread.
#[derive(Default)]
struct ThreadLane {
    /// The number of the last record for it; 0: none yet.
    last: AtomicU64,
    /// Batches sent, and those of them that are known to be applied.
    sent: AtomicU64,
    applied: AtomicU64,
}

/// A thread's side of what it has made records of. Only the one thread that runs the program uses it, but
/// for `applied`, which a handler sets.
pub(super) struct Aggregate {
    batches: Batches<Vec<u64>>,
    lanes: Box<[ThreadLane]>,
    /// For each place, modulo the size of the table, the number of the last record that touches it.
    touched: Box<[AtomicU64]>,
    /// Records made, and how many of them are known to be applied: those up to this one.
    made: AtomicU64,
    settled: AtomicU64,
    messages: AtomicU64,
    /// When the oldest batch was begun.
    begun: Mutex<Instant>,
    /// An empty buffer for the next batch.
    spare: Mutex<Vec<u64>>,
}

/// The place in the table of what the word at an offset (divided by 8) of a thread touches.
fn entry(t: u32, word: u64) -> usize {
    let place = (word ^ u64::from(t) << 44).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (place >> (64 - TOUCHED.ilog2())) as usize
}

/// The words that `n` bytes from an offset on are in.
fn words_of(o: u64, n: u64) -> std::ops::RangeInclusive<u64> {
    o / 8..=o.saturating_add(n.max(1) - 1) / 8
}

impl Aggregate {
    pub(super) fn new(threads: u32) -> Aggregate {
        let zeros = |n: usize| (0..n).map(|_| AtomicU64::new(0)).collect();
        Aggregate {
            batches: Batches::new(threads),
            lanes: (0..threads).map(|_| ThreadLane::default()).collect(),
            touched: zeros(TOUCHED),
            made: AtomicU64::new(0),
            settled: AtomicU64::new(0),
            messages: AtomicU64::new(0),
            begun: Mutex::new(Instant::now()),
            spare: Mutex::default(),
        }
    }

    fn lane(&self, t: u32) -> &ThreadLane {
        &self.lanes[t as usize]
    }

    /// Appends a record for bytes `o .. o + n`; whether the batch is to leave.
    fn append(&self, t: u32, o: u64, n: u64, record: &[u64]) -> bool {
        if !self.batches.is_dirty() {
            *lock(&self.begun) = Instant::now();
        }
        let full = self.batches.append(RankId(t), |batch| batch.extend_from_slice(record));
        // Relaxed, here and below: the thread's own.
        let number = self.made.load(Relaxed) + 1;
        self.made.store(number, Relaxed);
        self.lane(t).last.store(number, Relaxed);
        for word in words_of(o, n) {
            self.touched[entry(t, word)].store(number, Relaxed);
        }
        full
    }

    /// Whether records are not known to be applied yet.
    #[inline]
    pub(super) fn is_unsettled(&self) -> bool {
        self.made.load(Relaxed) != self.settled.load(Relaxed)
    }

    /// Whether a record that is not known to be applied may touch these bytes.
    pub(super) fn touches(&self, t: u32, o: u64, n: u64) -> bool {
        let settled = self.settled.load(Relaxed);
        if self.lanes.get(t as usize).is_none_or(|lane| lane.last.load(Relaxed) <= settled) {
            return false;
        }
        let mut words = words_of(o, n);
        n > MOST_LOOKED_UP || words.any(|word| self.touched[entry(t, word)].load(Relaxed) > settled)
    }

    fn is_old(&self) -> bool {
        self.batches.is_dirty() && lock(&self.begun).elapsed() >= OLDEST
    }

    /// With `GASNET_STATS=1`: how many records there were, in how many messages.
    pub(super) fn counted(&self) -> [u64; 2] {
        [self.made.load(Relaxed), self.messages.load(Relaxed)]
    }
}

/// Batches from one thread.
#[derive(Default)]
struct Source {
    /// Batches applied, the number of the next one.
    applied: u64,
    /// Those that have come before their turn.
    early: BTreeMap<u64, Vec<u8>>,
}

impl Source {
    /// Has a batch applied, and those that waited for it; or keeps it until its turn. `None` if there cannot
    /// be such a batch.
    fn take(&mut self, number: u64, batch: &[u8], mut apply: impl FnMut(&[u8])) -> Option<u64> {
        if number < self.applied || number - self.applied >= MOST_UNDER_WAY {
            return None;
        }
        if number > self.applied {
            return self.early.insert(number, batch.to_vec()).is_none().then_some(self.applied);
        }
        apply(batch);
        self.applied += 1;
        while let Some(batch) = self.early.remove(&self.applied) {
            apply(&batch);
            self.applied += 1;
        }
        Some(self.applied)
    }
}

/// Batches from all threads.
#[derive(Default)]
pub(super) struct Sources(Mutex<HashMap<RankId, Source>>);

fn pair(number: u64) -> [u32; 2] {
    [number as u32, (number >> 32) as u32]
}

fn number(args: &[u32]) -> Option<u64> {
    let &[low, high] = args else { return None };
    Some(u64::from(low) | u64::from(high) << 32)
}

/// One record of a batch.
#[derive(Debug, PartialEq, Eq)]
enum BatchRecord<'a> {
    Write { o: u64, data: &'a [u8] },
    Operate { o: u64, operation: Operation, a: u64 },
}

/// Takes a record off a batch; `None` if it does not begin with one.
fn next<'a>(batch: &mut &'a [u8]) -> Option<BatchRecord<'a>> {
    let head = u64::from_ne_bytes(batch.split_off(..8)?.try_into().ok()?);
    let (o, code) = (head & ((1 << PLACE_BITS) - 1), head >> PLACE_BITS);
    if code & OPERATION != 0 {
        let a = u64::from_ne_bytes(batch.split_off(..8)?.try_into().ok()?);
        let operation = Operation::decode((code & !OPERATION) as u32)?;
        return Some(BatchRecord::Operate { o, operation, a });
    }
    let data = batch.split_off(..(code as usize).next_multiple_of(8))?;
    Some(BatchRecord::Write { o, data: &data[..code as usize] })
}

impl Core {
    /// Registers the handlers of batches.
    pub fn register_batches(rank: &Rank) -> Result<(), Error> {
        rank.register_library(BATCH, Handler::new(|token, m| upc().core.batch_comes(token, m)))?;
        rank.register_library(APPLIED, Handler::new(|token, m| upc().core.has_applied(token.source(), m)))
    }

    fn aggregate(&self) -> &Aggregate {
        self.aggregate.get_or_init(|| Aggregate::new(self.rank.size()))
    }

    /// [`Core::put_later`] that may travel with others.
    ///
    /// # Safety
    /// 1. `src` is valid for reads of `n` bytes (owed by the caller).
    pub unsafe fn put_batched(&self, t: u32, o: u64, src: *const u8, n: u64) {
        if self.near(t) || n > MOST_BYTES || n == 0 {
            // SAFETY: (1).
            return unsafe { self.put_later(t, o, src, n) };
        }
        let mut record = [0u64; 1 + MOST_BYTES as usize / 8];
        record[0] = o | n << PLACE_BITS;
        // SAFETY: (1); the array has room for as many bytes behind its first word.
        unsafe { std::ptr::copy_nonoverlapping(src, record[1..].as_mut_ptr().cast(), n as usize) };
        self.append("put", (t, o), n, &record[..=n.div_ceil(8) as usize]);
    }

    /// An atomic operation whose old value nobody wants and which orders nothing; it may travel with others.
    pub fn operate_batched(&self, (t, o): (u32, u64), operation: Operation, a: u64) {
        let n = operation.width() as u64;
        if self.near(t) || !o.is_multiple_of(n) || !operation.is_defined() {
            // Also where it is refused with a message.
            self.check_word((t, o), operation);
            self.rank.atomics().apply(self.target("atomic operation", t, (o, 8)), o, operation, a, 0);
            return;
        }
        let code = OPERATION | u64::from(operation.encode());
        self.append("atomic operation", (t, o), n, &[o | code << PLACE_BITS, a]);
    }

    /// Appends a record for `n` bytes of a far thread.
    fn append(&self, what: &str, (t, o): (u32, u64), n: u64, record: &[u64]) {
        self.target(what, t, (o, n));
        if n > self.bytes || o > self.bytes - n {
            self.outside(what, t, o, n);
        }
        if self.is_under_way(t, o, n) {
            self.settle_far();
        }
        let all = self.aggregate();
        if all.append(t, o, n, record) {
            self.send_batch(all, t);
        } else if all.made.load(Relaxed).is_multiple_of(RECORDS_PER_LOOK) {
            self.send_old();
        }
    }

    fn send_batch(&self, all: &Aggregate, t: u32) {
        let lane = all.lane(t);
        let has_room = || lane.sent.load(Relaxed) - lane.applied.load(Relaxed) < MOST_UNDER_WAY;
        if !has_room() {
            self.rank.waits().wait_for("a thread that is to apply relaxed writes", Some(RankId(t)), has_room);
        }
        let empty = std::mem::take(&mut *lock(&all.spare));
        match all.batches.take(RankId(t), empty) {
            Err(empty) => *lock(&all.spare) = empty,
            Ok(mut batch) => {
                let args = pair(lane.sent.fetch_add(1, Relaxed));
                all.messages.fetch_add(1, Relaxed);
                let out = Outgoing::medium(BATCH, &args, batch.as_ptr().cast(), 8 * batch.len());
                // SAFETY: a vector is valid for its length.
                let sent = unsafe { self.rank.messages().request_raw(RankId(t), out) };
                if let Err(e) = sent {
                    self.abort(&e.to_string());
                }
                batch.clear();
                *lock(&all.spare) = batch;
            }
        }
    }

    /// Sends all batches, and does not wait for them.
    #[inline]
    pub(super) fn send_batches(&self) {
        if let Some(all) = self.aggregate.get() {
            while let Some(to) = all.batches.next_dirty() {
                self.send_batch(all, to.0);
            }
        }
    }

    /// Sends all batches if one is old.
    #[inline]
    pub(super) fn send_old(&self) {
        if self.aggregate.get().is_some_and(Aggregate::is_old) {
            self.send_batches();
        }
    }

    /// Sends all batches, and waits until they are applied.
    #[cold]
    pub(super) fn settle_batches(&self, all: &Aggregate) {
        let made = all.made.load(Relaxed);
        self.send_batches();
        for (t, lane) in (0..).zip(&all.lanes) {
            // ORDER: Acquire; pairs with the Release in `has_applied`: what the thread does from here on
            // comes after the writes.
            let is_applied = || lane.applied.load(Acquire) == lane.sent.load(Relaxed);
            if !is_applied() {
                self.rank.waits().wait_for("relaxed writes to be applied", Some(RankId(t)), is_applied);
            }
        }
        all.settled.store(made, Relaxed);
    }

    /// Handler: a batch.
    fn batch_comes(&self, token: &Token<'_>, m: &Message<'_>) {
        let from = token.source();
        let applied = number(m.args).and_then(|number| {
            let mut sources = lock(&self.sources.0);
            sources.entry(from).or_default().take(number, m.bytes(), |batch| self.apply(from, batch))
        });
        let Some(applied) = applied else { self.garbled(from) };
        if let Err(e) = token.reply_short(APPLIED, &pair(applied)) {
            self.abort(&e.to_string());
        }
    }

    /// Does what the records of a batch say.
    fn apply(&self, from: RankId, mut batch: &[u8]) {
        let me = self.rank.id();
        while !batch.is_empty() {
            match next(&mut batch) {
                Some(BatchRecord::Write { o, data }) => {
                    let Some(to) = self.address("put", me.0, o, data.len() as u64) else {
                        self.garbled(from)
                    };
                    // SAFETY: the source is a slice, the target inside the own segment.
                    unsafe { bytes::store(to, data.as_ptr(), data.len()) };
                }
                Some(BatchRecord::Operate { o, operation, a }) => {
                    self.rank.atomics().apply(me, o, operation, a, 0);
                }
                None => self.garbled(from),
            }
        }
    }

    #[cold]
    fn garbled(&self, from: RankId) -> ! {
        self.abort(&format!("internal error: thread {from} has sent relaxed writes that are garbled"))
    }

    /// Handler: so many batches to a thread are applied.
    fn has_applied(&self, by: RankId, m: &Message<'_>) {
        let (Some(all), Some(applied)) = (self.aggregate.get(), number(m.args)) else { self.garbled(by) };
        let lane = all.lane(by.0);
        if applied > lane.sent.load(Relaxed) {
            self.garbled(by);
        }
        // ORDER: Release; pairs with the Acquire in `settle_batches`.
        lane.applied.fetch_max(applied, Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gasnet::atomics::{Function, WordType};

    #[test]
    fn batches_are_applied_in_order_and_once() {
        let mut source = Source::default();
        let mut applied = Vec::new();
        for (number, done) in [(1, 0), (2, 0), (0, 3), (4, 3), (3, 5)] {
            assert_eq!(source.take(number, &[number as u8], |b| applied.push(b[0])), Some(done), "{number}");
        }
        assert_eq!(applied, [0, 1, 2, 3, 4]);
        // One again, one that may not be under way yet, an early one again.
        assert_eq!(source.take(4, &[], |_| ()), None);
        assert_eq!(source.take(5 + MOST_UNDER_WAY, &[], |_| ()), None);
        assert_eq!(source.take(7, &[], |_| ()), Some(5));
        assert_eq!(source.take(7, &[], |_| ()), None);
    }

    #[test]
    fn what_is_no_record_is_told() {
        let operation = Operation { function: Function::Xor, word: WordType::U32 };
        let code = OPERATION | u64::from(operation.encode());
        let words = [16 | 3 << PLACE_BITS, u64::from_ne_bytes([1, 2, 3, 0, 0, 0, 0, 0]), 24 | code << 48, 9];
        let whole: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let mut batch = &whole[..];
        assert_eq!(next(&mut batch), Some(BatchRecord::Write { o: 16, data: &[1, 2, 3] }));
        assert_eq!(next(&mut batch), Some(BatchRecord::Operate { o: 24, operation, a: 9 }));
        assert!(batch.is_empty() && next(&mut batch).is_none());
        for cut in [1, 8, 9, 15] {
            assert_eq!(next(&mut &whole[..cut]), None, "{cut}");
            assert_eq!(next(&mut &whole[16..16 + cut]), None, "{cut}");
        }
        // A function that there is not.
        assert_eq!(next(&mut &[0, 0, 0, 0, 0, 0, 200, 0x80, 0, 0, 0, 0, 0, 0, 0, 0][..]), None);
    }

    #[test]
    fn records_are_found_by_the_bytes_they_touch() {
        let all = Aggregate::new(3);
        assert!(!all.touches(1, 0, 8));
        all.append(1, 100, 8, &[0, 0]);
        assert!(all.is_unsettled());
        // It is in the words from 96 and from 104 on.
        for (o, n, touches) in
            [(96, 4, true), (103, 1, true), (108, 1, true), (95, 1, false), (112, 8, false)]
        {
            assert_eq!(all.touches(1, o, n), touches, "{o} {n}");
        }
        assert!(all.touches(1, 4096, MOST_LOOKED_UP + 1) && !all.touches(2, 96, 16));
        all.settled.store(1, Relaxed);
        assert!(!all.is_unsettled() && !all.touches(1, 96, 16));
    }
}
