//! The core's operations that this crate uses, in UPC's terms: threads, offsets and 64-bit words.
//!
//! A thread is a rank. Threads `first .. first + mapped` are *near*: their segments are at `base + t *
//! stride` in this process, and everything here accesses them directly, with the processor's own atomics. The
//! others are *far*, and reached by the core's one-sided operations.
//!
//! A relaxed write to a far thread may still be *under way* when the call that made it has returned
//! ([`Core::put_later`]). Every operation that orders accesses (a fence, a barrier, a lock, an atomic
//! operation, a collective), and every access to the same bytes, first waits for it ([`Core::settle`]). Near
//! accesses never touch bytes under way, because a thread is always near or always far. With
//! `-fupc-aggregate`, small ones travel together ([`aggregate`]).
#![expect(unsafe_code, reason = "copies to and from segments and overlays atomics on them")]

mod aggregate;
mod transfers;

use crate::console::say;
use aggregate::{Aggregate, Sources};
use gasnet::atomics::{Function, Operation, WordType};
use gasnet::barrier::{ANONYMOUS, Consensus, Outcome};
use gasnet::sync::{Cells, PlacedLock, PlacedSemaphore};
use gasnet::{GlobalPtr, Rank, RankId, Spins};
use gasnet_wire::boot::MeetingPlace;
use gasnet_wire::bytes;
use std::cell::{Cell, RefCell};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};
pub use transfers::How;

/// Most writes under way.
const MAX_WRITES_UNDER_WAY: usize = 64;
/// Offset of the first byte that can be accessed. The page before it has the null pointer.
pub const FIRST_OFFSET: u64 = 4096;

/// Writes under way: thread, offset and length. It has no destructor, since it is used while the process
/// ends.
struct UnderWay {
    writes: [Cell<(u32, u64, u64)>; MAX_WRITES_UNDER_WAY],
    count: Cell<usize>,
}

thread_local! {
    /// The writes under way of this operating-system thread.
    static UNDER_WAY: UnderWay =
        const { UnderWay { writes: [const { Cell::new((0, 0, 0)) }; MAX_WRITES_UNDER_WAY], count: Cell::new(0) } };
}

thread_local! {
    /// The locations that this operating-system thread may be reading in a loop.
    static SPINS: RefCell<Spins> = const { RefCell::new(Spins::new()) };
}

/// The result of a read in a loop, for [`Core::looked`]: a value at a location.
pub fn found(t: u32, o: u64, value: u64) -> u64 {
    // Odd constants, so that neighbouring locations and values make different keys.
    let place = (o ^ u64::from(t) << 48).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    place ^ value.wrapping_mul(0xff51_afd7_ed55_8ccd).rotate_left(31)
}

/// The location of the near segments.
#[derive(Debug, Clone, Copy)]
pub struct Near {
    /// First near thread.
    pub first: u32,
    /// Number of near threads.
    pub mapped: u32,
    /// Address of thread 0's segment if it were near.
    pub base: *mut u8,
    /// Distance between segments.
    pub stride: u64,
}

/// The core, attached.
pub struct Core {
    rank: &'static Rank,
    near: Near,
    /// Bytes of each segment.
    bytes: u64,
    /// Whether NICs synchronise by themselves.
    nics: bool,
    /// Number of handles in use.
    handles: AtomicU32,
    /// Writes that travel together, if the program has any; and those of other threads.
    aggregate: OnceLock<Aggregate>,
    sources: Sources,
}

// SAFETY: the pointer in `near` is to mappings that live as long as the process; like all shared memory they
// are accessed by raw copies and atomics.
unsafe impl Send for Core {}
// SAFETY: as above.
unsafe impl Sync for Core {}

impl Core {
    /// Attaches segments of `bytes` bytes, `stride` apart if one is given.
    pub fn attach(rank: &'static Rank, bytes: u64, stride: Option<u64>) -> Result<Core, gasnet::Error> {
        let table = rank.attach(bytes as usize, stride)?;
        let me = rank.id().0;
        let at = |t: u32| table.get(RankId(t)).map_or(std::ptr::null_mut(), |e| e.local);
        let mine = at(me);
        let stride = stride.unwrap_or_else(|| {
            let next = if me + 1 < rank.size() { at(me + 1) } else { std::ptr::null_mut() };
            let back = if me > 0 { at(me - 1) } else { std::ptr::null_mut() };
            match (next.is_null(), back.is_null()) {
                (false, _) => next as u64 - mine as u64,
                (true, false) => mine as u64 - back as u64,
                _ => bytes,
            }
        });
        let base = mine.wrapping_sub(u64::from(me).wrapping_mul(stride) as usize);
        let there = |t: u32| at(t) == base.wrapping_add((u64::from(t) * stride) as usize);
        let first = (0..me).rev().take_while(|&t| there(t)).last().unwrap_or(me);
        let mapped = (first..rank.size()).take_while(|&t| there(t)).count() as u32;
        let nics = rank.nic().is_some();
        Ok(Core {
            rank,
            near: Near { first, mapped, base, stride },
            bytes,
            nics,
            handles: AtomicU32::new(0),
            aggregate: OnceLock::new(),
            sources: Sources::default(),
        })
    }

    /// The lock at offset `o` of thread `t`, if NICs synchronise by themselves.
    pub fn nic_lock(&self, t: u32, o: u64, cells: Cells) -> Option<PlacedLock<'static>> {
        let home = || GlobalPtr::new(self.target("lock", t, (o, 8)), o);
        if self.nics { PlacedLock::new(self.rank, home(), cells) } else { None }
    }

    /// The semaphore at offset `o` of thread `t`, if NICs synchronise by themselves.
    pub fn nic_semaphore(&self, t: u32, o: u64, cells: Cells) -> Option<PlacedSemaphore<'static>> {
        let home = || GlobalPtr::new(self.target("semaphore", t, (o, 8)), o);
        if self.nics { PlacedSemaphore::new(self.rank, home(), cells) } else { None }
    }

    /// The word at offset `o` of thread `t`, which only one thread at a time sets. If NICs synchronise by
    /// themselves they do it, without a processor of thread `t`.
    pub fn word(&self, t: u32, o: u64) -> u64 {
        if !self.nics || self.near(t) {
            return self.amo(t, o, Function::Get, 0, 0);
        }
        let mut word = 0u64;
        // SAFETY: room for eight bytes.
        unsafe { self.get((&raw mut word).cast(), t, o, 8) };
        word
    }

    /// Sets such a word; with NICs others may not see it before [`Core::settle`].
    pub fn set_word(&self, t: u32, o: u64, word: u64) {
        if !self.nics || self.near(t) {
            self.store_word(t, o, word);
            return;
        }
        // SAFETY: eight bytes.
        unsafe { self.put_later(t, o, (&raw const word).cast(), 8) };
    }

    /// The location of the near segments.
    pub fn near_segments(&self) -> Near {
        self.near
    }

    /// Whether thread `t` is near.
    #[inline]
    pub fn near(&self, t: u32) -> bool {
        t.wrapping_sub(self.near.first) < self.near.mapped
    }

    /// Thread and offset of an address inside a near segment.
    pub fn locate(&self, p: *const u8) -> Option<(u32, u64)> {
        let distance = (p as u64).wrapping_sub(self.near.base as u64);
        let (t, o) = (distance / self.near.stride, distance % self.near.stride);
        let near = t <= u64::from(u32::MAX) && self.near(t as u32);
        (near && o > 0 && o < self.bytes).then_some((t as u32, o))
    }

    /// Address of `n` bytes at offset `o` of thread `t`, if it is near. `what` names the operation in the
    /// message about a range outside of the segment.
    #[inline]
    fn address(&self, what: &str, t: u32, o: u64, n: u64) -> Option<*mut u8> {
        if !self.near(t) {
            return None;
        }
        // The page of the null pointer is before all that can be accessed.
        let room = self.bytes - FIRST_OFFSET;
        if n > 0 && (n > room || o.wrapping_sub(FIRST_OFFSET) > room - n) {
            self.outside(what, t, o, n);
        }
        Some(self.near.base.wrapping_add((u64::from(t) * self.near.stride + o) as usize))
    }

    /// Address of `n` bytes at offset `o` of the own segment.
    pub fn own(&self, o: u64, n: u64) -> *mut u8 {
        self.address("collective access", self.rank.id().0, o, n).unwrap_or(std::ptr::null_mut())
    }

    /// Whether all threads are near.
    #[inline]
    pub fn all_near(&self) -> bool {
        self.near.mapped == self.rank.size()
    }

    /// Waits for all writes under way.
    #[inline]
    pub fn settle(&self) {
        if self.near.mapped < self.rank.size() {
            self.settle_far();
        }
    }

    #[cold]
    fn settle_far(&self) {
        if let Some(all) = self.aggregate.get().filter(|all| all.is_unsettled()) {
            self.settle_batches(all);
        }
        if UNDER_WAY.with(|u| u.count.take() > 0) {
            self.rank.implicit().wait(gasnet::Categories::PUTS);
        }
    }

    /// Waits for all writes under way if one of them touches these bytes of a far thread.
    fn settle_over(&self, t: u32, o: u64, n: u64) {
        let batched = self.aggregate.get().is_some_and(|all| all.touches(t, o, n));
        if batched || self.is_under_way(t, o, n) {
            self.settle_far();
        }
    }

    /// Whether a write that was sent by itself is under way to these bytes.
    fn is_under_way(&self, t: u32, o: u64, n: u64) -> bool {
        let over = |w: &Cell<(u32, u64, u64)>| {
            let (there, from, bytes) = w.get();
            there == t && from < o.saturating_add(n) && o < from + bytes
        };
        UNDER_WAY.with(|u| u.writes[..u.count.get()].iter().any(over))
    }

    /// Copies `n` bytes to thread `t`; complete at the latest after [`Core::settle`]. `src` may be reused at
    /// once.
    ///
    /// # Safety
    /// 1. `src` is valid for reads of `n` bytes (owed by the caller).
    pub unsafe fn put_later(&self, t: u32, o: u64, src: *const u8, n: u64) {
        match self.address("put", t, o, n) {
            // SAFETY: as in `put`.
            Some(to) => unsafe { bytes::store(to, src, n as usize) },
            None => {
                self.settle_over(t, o, n);
                if UNDER_WAY.with(|u| u.count.get() == MAX_WRITES_UNDER_WAY) {
                    self.settle_far();
                }
                // SAFETY: (1).
                unsafe { self.rank.implicit().put(self.target("put", t, (o, n)), o, src, n as usize) };
                UNDER_WAY.with(|u| {
                    u.writes[u.count.get()].set((t, o, n));
                    u.count.set(u.count.get() + 1);
                });
            }
        }
    }

    /// The team of all threads.
    pub fn team(&self) -> gasnet::Team {
        self.rank.team_all()
    }

    /// Waits for an event of the core, by its word.
    pub fn wait_event(&self, word: u64) {
        self.send_batches();
        self.rank.wait(gasnet::Event::from_raw(word));
    }

    #[cold]
    fn outside(&self, what: &str, t: u32, o: u64, n: u64) -> ! {
        if o < FIRST_OFFSET {
            self.abort(&format!(
                "a null pointer-to-shared is followed: {what} at offset {o:#x} of thread {t}"
            ));
        }
        self.abort(&format!(
            "{what} of {n} bytes at offset {o:#x} of thread {t}, outside its shared memory of {:#x} bytes",
            self.bytes
        ))
    }

    /// A typed view of memory of a near thread.
    ///
    /// # Safety
    /// 1. `T` is made of atomics, for which any bytes are a value (owed by the caller). 2. The range was laid
    ///    out for `T`s by this crate, aligned (owed by the caller).
    pub unsafe fn view<T>(&self, t: u32, o: u64, count: usize) -> &[T] {
        let Some(at) = self.address("access", t, o, (count * size_of::<T>()) as u64) else {
            self.abort(&format!("internal error: the bookkeeping of thread {t} is not mapped here"));
        };
        // SAFETY: (1), (2); the mapping lives as long as the process.
        unsafe { std::slice::from_raw_parts(at.cast(), count) }
    }

    /// An atomic operation on the word of 64 bits at offset `o` of thread `t`; returns the old value. It is
    /// sequentially consistent, but for `Get`, which acquires.
    #[inline]
    pub fn amo(&self, t: u32, o: u64, function: Function, a: u64, b: u64) -> u64 {
        self.settle();
        let operation = Operation { function, word: WordType::U64 };
        let Some(word) = self.near_word(t, o) else { return self.amo_far(t, o, operation, a, b) };
        // ORDER: as documented above; the partners are the other calls of this function, and `store_word`, on
        // the same word.
        match function {
            Function::Get => word.load(Acquire),
            Function::Set => word.swap(a, SeqCst),
            Function::CompareSwap => word.compare_exchange(a, b, SeqCst, SeqCst).unwrap_or_else(|old| old),
            Function::Add => word.fetch_add(a, SeqCst),
            _ => word
                .fetch_update(SeqCst, SeqCst, |old| operation.new_value(old, a, b))
                .unwrap_or_else(|old| old),
        }
    }

    /// Stores the word of 64 bits at offset `o` of thread `t`, and releases.
    #[inline]
    pub fn store_word(&self, t: u32, o: u64, value: u64) {
        self.settle();
        match self.near_word(t, o) {
            // ORDER: Release; pairs with `amo` on the same word.
            Some(word) => word.store(value, Release),
            None => {
                let set = Operation { function: Function::Set, word: WordType::U64 };
                self.amo_far(t, o, set, value, 0);
            }
        }
    }

    /// A word of a near thread.
    #[inline]
    fn near_word(&self, t: u32, o: u64) -> Option<&AtomicU64> {
        let at = self.address("atomic operation", t, o, 8)?.cast::<AtomicU64>();
        debug_assert!(at.is_aligned());
        // SAFETY: inside a mapped segment; callers pass offsets of words; atomics tolerate concurrent access.
        Some(unsafe { &*at })
    }

    #[cold]
    fn amo_far(&self, t: u32, o: u64, operation: Operation, a: u64, b: u64) -> u64 {
        self.rank.atomics().apply(self.target("atomic operation", t, (o, 8)), o, operation, a, b)
    }

    /// An atomic operation of the core on offset `o` of thread `t`; returns the old value.
    #[inline]
    pub fn atomic(&self, (t, o): (u32, u64), op: Operation, a: u64, b: u64) -> u64 {
        self.begin_look(1);
        self.settle();
        self.attend();
        self.check_word((t, o), op);
        let target = self.target("atomic operation", t, (o, 8));
        if !matches!(op.function, Function::Get | Function::CompareSwap) {
            return self.rank.atomics().apply(target, o, op, a, b);
        }
        let old = self.rank.atomics().apply(target, o, op, a, b);
        self.looked(found(t, o, old), None);
        old
    }

    /// Ends the job if an operation's word is not aligned.
    fn check_word(&self, (t, o): (u32, u64), op: Operation) {
        if !o.is_multiple_of(op.width() as u64) {
            self.abort(&format!(
                "atomic operation on offset {o:#x} of thread {t}: not aligned to {} bytes",
                op.width()
            ));
        }
    }

    /// A word of the own segment that orders nothing.
    pub fn own_word(&self, o: u64) -> u64 {
        let mut word = 0u64;
        // SAFETY: inside the own segment; room for eight bytes.
        unsafe { bytes::load((&raw mut word).cast(), self.own(o, 8), 8) };
        word
    }

    /// Copies `n` bytes to thread `t`; complete at the target on return.
    ///
    /// # Safety
    /// 1. `src` is valid for reads of `n` bytes (owed by the caller).
    #[inline]
    pub unsafe fn put(&self, t: u32, o: u64, src: *const u8, n: u64) {
        match self.address("put", t, o, n) {
            // SAFETY: the target is inside a mapped segment; (1).
            Some(to) => unsafe { bytes::store(to, src, n as usize) },
            None => {
                self.settle_over(t, o, n);
                // SAFETY: (1).
                unsafe { self.rank.put(self.target("put", t, (o, n)), o, src, n as usize) }
            }
        }
    }

    /// Copies `n` bytes from thread `t`.
    ///
    /// # Safety
    /// 1. `dst` is valid for writes of `n` bytes (owed by the caller).
    #[inline]
    pub unsafe fn get(&self, dst: *mut u8, t: u32, o: u64, n: u64) {
        match self.address("get", t, o, n) {
            // SAFETY: the source is inside a mapped segment; (1).
            Some(from) => unsafe { bytes::load(dst, from, n as usize) },
            None => {
                self.settle_over(t, o, n);
                self.send_old();
                // SAFETY: (1).
                unsafe { self.rank.get(dst, self.target("get", t, (o, n)), o, n as usize) }
            }
        }
    }

    /// Address of `n` bytes of thread `t`, if it is near.
    #[inline]
    pub fn here(&self, t: u32, o: u64, n: u64) -> Option<*mut u8> {
        self.address("access", t, o, n)
    }

    /// Starts to copy `n` bytes from thread `t`; complete after [`Core::sync`].
    ///
    /// # Safety
    /// 1. `dst` is valid for writes of `n` bytes and nobody uses it until then (owed by the caller).
    pub unsafe fn get_nbi(&self, dst: *mut u8, t: u32, o: u64, n: u64) {
        match self.address("get", t, o, n) {
            // SAFETY: as in `get`.
            Some(from) => unsafe { bytes::load(dst, from, n as usize) },
            None => {
                self.settle_over(t, o, n);
                // SAFETY: (1).
                unsafe { self.rank.implicit().get(dst, self.target("get", t, (o, n)), o, n as usize) }
            }
        }
    }

    /// Starts to copy `n` bytes to thread `t`; complete after [`Core::sync`]. `src` may be reused at once.
    ///
    /// # Safety
    /// 1. `src` is valid for reads of `n` bytes (owed by the caller).
    pub unsafe fn put_nbi(&self, t: u32, o: u64, src: *const u8, n: u64) {
        match self.address("put", t, o, n) {
            // SAFETY: as in `put`.
            Some(to) => unsafe { bytes::store(to, src, n as usize) },
            None => {
                self.settle_over(t, o, n);
                // SAFETY: (1).
                unsafe { self.rank.implicit().put(self.target("put", t, (o, n)), o, src, n as usize) }
            }
        }
    }

    /// Waits for everything that `get_nbi` started.
    pub fn arrived(&self) {
        self.rank.implicit().wait(gasnet::Categories::GETS);
    }

    /// Waits for everything that `get_nbi` and `put_nbi` started.
    pub fn sync(&self) {
        self.rank.implicit().wait(gasnet::Categories::ALL);
    }

    /// Sets `n` bytes of thread `t`; complete at the target on return.
    pub fn set(&self, t: u32, o: u64, c: u8, n: u64) {
        match self.address("memset", t, o, n) {
            // SAFETY: inside a mapped segment.
            Some(to) => unsafe { bytes::fill(to, c, n as usize) },
            None => {
                self.settle_over(t, o, n);
                // SAFETY: no local memory is involved.
                unsafe { self.rank.memset(self.target("memset", t, (o, n)), o, c, n as usize) }
            }
        }
    }

    /// Copies `n` bytes between two threads; complete on return.
    pub fn copy(&self, (dt, d): (u32, u64), (st, s): (u32, u64), n: u64) {
        if let Some(from) = self.address("copy", st, s, n) {
            // SAFETY: the source is inside a mapped segment.
            return unsafe { self.put(dt, d, from, n) };
        }
        if let Some(to) = self.address("copy", dt, d, n) {
            // SAFETY: the target is inside a mapped segment.
            return unsafe { self.get(to, st, s, n) };
        }
        let mut piece = vec![0u8; n.min(1 << 20) as usize];
        let mut done = 0;
        while done < n {
            let now = (n - done).min(piece.len() as u64);
            // SAFETY: the buffer has room for `now` bytes.
            unsafe {
                self.get(piece.as_mut_ptr(), st, s + done, now);
                self.put(dt, d + done, piece.as_ptr(), now);
            }
            done += now;
        }
    }

    /// The core's name of thread `t`, for an access to `n` bytes at offset `o`; ends the job if there is no
    /// such thread, or the offset is that of a null pointer.
    fn target(&self, what: &str, t: u32, (o, n): (u64, u64)) -> RankId {
        if o < FIRST_OFFSET && n > 0 {
            self.outside(what, t, o, n);
        }
        if t >= self.rank.size() {
            self.abort(&format!(
                "{what}: there is no thread {t} among {} (a corrupted pointer?)",
                self.rank.size()
            ));
        }
        RankId(t)
    }

    /// Lets the core make progress.
    #[inline]
    pub fn poll(&self) -> usize {
        self.send_old();
        self.rank.poll()
    }

    /// The program has read a location that others change, perhaps in a loop; or `reads` times without a
    /// report.
    #[inline]
    pub fn begin_look(&self, reads: u32) {
        SPINS.with(|s| {
            if let Ok(mut s) = s.try_borrow_mut() {
                s.begin(reads);
            }
        });
    }

    /// Reports the result of a read, made by [`found`]. Returns whether there were enough equal ones that
    /// this thread has polled and yielded.
    #[inline]
    pub fn looked(&self, key: u64, polled: Option<usize>) -> bool {
        SPINS.with(|s| s.try_borrow_mut().is_ok_and(|mut s| self.rank.waits().looked(&mut s, key, polled)))
    }

    /// [`looked`](Self::looked) if some threads are far, for loops in which programs wait: near memory
    /// changes only when the requests of far threads are served.
    #[inline]
    pub fn attend(&self) {
        if self.near.mapped < self.rank.size() {
            self.poll();
        }
    }

    /// Waits, with polls, until `condition` holds.
    pub fn wait_until(&self, what: &'static str, condition: impl FnMut() -> bool) {
        self.send_batches();
        self.rank.wait_until(what, condition);
    }

    /// [`Core::wait_until`] in a barrier. It handles messages even if `condition` holds at once.
    pub fn meet_until(&self, what: &'static str, condition: impl FnMut() -> bool) {
        self.send_batches();
        self.rank.waits().meet_until(Some(MeetingPlace::Barrier), what, condition);
    }

    /// Joins the barrier, with or without a name.
    pub fn barrier_notify(&self, name: Option<i32>) {
        self.settle();
        let (id, flags) = named(name);
        self.rank.split_barrier().notify(id, flags);
    }

    /// Once polls show that all threads have joined: whether their names and this wait's agree.
    pub fn barrier_test(&self, name: Option<i32>) -> Option<bool> {
        let (id, flags) = named(name);
        Some(self.rank.split_barrier().test(id, flags)? == Outcome::Agreed)
    }

    /// The name that all threads gave to the last barrier, if they agreed on one.
    pub fn barrier_name(&self) -> Option<i32> {
        match self.rank.split_barrier().result() {
            Some(Consensus::Named(id)) => Some(id),
            _ => None,
        }
    }

    /// Runs a request's handler on thread `t`.
    pub fn request(&self, t: u32, handler: u8, args: &[u32]) {
        self.settle();
        if let Err(e) = self.rank.request_short(RankId(t), handler, args) {
            self.abort(&e.to_string());
        }
    }

    /// This thread ends in order.
    pub fn done(&self, code: i32) {
        self.settle();
        if let Some(all) = self.aggregate.get().filter(|_| self.rank.config().stats) {
            let ([made, messages], me, threads) = (all.counted(), self.rank.id(), self.rank.size());
            say(&format!(
                "upc: thread {me} of {threads}: {made} relaxed writes and atomic operations in {messages} messages"
            ));
        }
        self.rank.done(code);
    }

    /// Ends the job with this code.
    pub fn global_exit(&self, code: i32) -> ! {
        self.settle();
        self.rank.global_exit(code)
    }

    /// Ends the job because of an error.
    pub fn abort(&self, text: &str) -> ! {
        self.rank.ending().fatal_with("UPC Runtime error: ", text)
    }

    /// Ends the job because of an error that threads meet together: only one of those with the same `subject`
    /// prints its text.
    pub fn abort_about(&self, subject: &str, text: &str) -> ! {
        self.rank.ending().fatal_about("UPC Runtime error: ", subject, text)
    }
}

/// A barrier's name in the core's form.
fn named(name: Option<i32>) -> (i32, u32) {
    name.map_or((0, ANONYMOUS), |id| (id, 0))
}
