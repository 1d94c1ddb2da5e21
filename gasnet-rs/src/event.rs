//! Completion: events (explicit handles), access regions, and the implicit operations of a thread.
//!
//! An operation that is complete when its call returns (all of shared memory) has the event [`Event::DONE`] and leaves no
//! state behind. Others have an *op*: a counter of outstanding fragments in a table of stable addresses. An event names an op
//! by index and generation, so a stale or repeated use is noticed instead of waiting for a stranger.
//!
//! **Generations** are even while an op is free or counts implicit operations, which no event names, and odd while it has an
//! event. Whoever moves an odd generation on has used the event up: of several threads that test one event at a time only one
//! gives the op back, and no word a program makes up can give back an op that is in use elsewhere.

use crate::prim::{AtomicU32, AtomicU64, Ordering};
use crate::slots::{Slot, Slots};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::ThreadId;

pub(crate) const TOO_MANY: &str = "more than a million operations are outstanding: wait for some";

/// The completion of one operation (or of an access region). It must be waited for, or tested until done, exactly once.
#[must_use = "an operation is complete only when its event is"]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event(u64);

impl Event {
    /// An operation that is already complete.
    pub const DONE: Event = Event(0);

    /// As a word, for C; 0 is [`Event::DONE`].
    pub fn into_raw(self) -> u64 {
        self.0
    }
    /// Back from a word.
    pub fn from_raw(raw: u64) -> Event {
        Event(raw)
    }
}

/// What an implicit operation counts as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Implicit {
    /// Puts and memsets.
    Puts,
    /// Gets.
    Gets,
}

/// One op.
#[derive(Debug)]
pub(crate) struct Op {
    /// Odd while an event names the op.
    generation: AtomicU32,
    /// Outstanding fragments.
    left: AtomicU32,
    /// The rank it is with, for reports of waits.
    pub(crate) peer: AtomicU32,
    /// Sources of puts that a caller waits to reuse.
    pub(crate) local: AtomicU32,
    /// Result of a remote atomic.
    pub(crate) value: AtomicU64,
    next: AtomicU32,
}

impl Slot for Op {
    fn new() -> Op {
        Op {
            generation: AtomicU32::new(0),
            left: AtomicU32::new(0),
            peer: AtomicU32::new(u32::MAX),
            local: AtomicU32::new(0),
            value: AtomicU64::new(0),
            next: AtomicU32::new(0),
        }
    }
    fn next(&self) -> &AtomicU32 {
        &self.next
    }
}

/// What a thread has: ops of its implicit operations, and the region that is open.
#[derive(Debug)]
struct ThreadOps {
    puts: u32,
    gets: u32,
    region: Option<u32>,
    /// Dangling when the thread has ended; `None` if that cannot be told.
    life: Option<Weak<()>>,
}

thread_local! {
    /// Ends with the thread.
    static LIFE: Arc<()> = Arc::new(());
}

/// The threads of a rank, by identity.
#[derive(Debug)]
struct Threads {
    by_id: HashMap<ThreadId, ThreadOps>,
    /// How many there may be before those that have ended are looked for.
    sweep_at: usize,
}

/// All ops of a rank.
#[derive(Debug)]
pub(crate) struct Ops {
    all: Slots<Op>,
    threads: Mutex<Threads>,
}

fn lock<T>(m: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    m.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Ops {
    pub(crate) fn new() -> Ops {
        Ops { all: Slots::new(), threads: Mutex::new(Threads { by_id: HashMap::new(), sweep_at: 64 }) }
    }

    /// A new op with `left` outstanding fragments and an event; `None` when a million are in use.
    pub(crate) fn start(&self, left: u32) -> Option<u32> {
        let index = self.start_hidden(left)?;
        // Relaxed: nobody else knows the op yet.
        self.op(index).generation.fetch_add(1, Ordering::Relaxed);
        Some(index)
    }

    /// A new op that no event names.
    fn start_hidden(&self, left: u32) -> Option<u32> {
        let (index, op) = self.all.take()?;
        op.left.store(left, Ordering::Relaxed);
        op.peer.store(u32::MAX, Ordering::Relaxed);
        Some(index)
    }

    pub(crate) fn op(&self, index: u32) -> &Op {
        self.all.get(index).expect("an op in use has its chunk")
    }

    /// The event of an op.
    pub(crate) fn event(&self, index: u32) -> Event {
        let generation = self.op(index).generation.load(Ordering::Relaxed);
        Event((u64::from(generation) << 32) | (u64::from(index) + 1))
    }

    /// One more outstanding fragment.
    pub(crate) fn add(&self, index: u32) {
        self.op(index).left.fetch_add(1, Ordering::Relaxed);
    }

    /// One fragment less.
    pub(crate) fn finish(&self, index: u32) {
        // ORDER: Release; pairs with Acquire in is_zero: the data the fragment brought is visible.
        self.op(index).left.fetch_sub(1, Ordering::Release);
    }

    fn is_zero(&self, index: u32) -> bool {
        // ORDER: Acquire; pairs with Release in finish.
        self.op(index).left.load(Ordering::Acquire) == 0
    }

    /// Uses up the event of an op that is complete; `false` if another thread was faster.
    fn retire(&self, index: u32, generation: u32) -> bool {
        // Relaxed: giving it back hands the op on.
        let won = self
            .op(index)
            .generation
            .compare_exchange(generation, generation.wrapping_add(1), Ordering::Relaxed, Ordering::Relaxed)
            .is_ok();
        if won {
            self.all.give_back(index);
        }
        won
    }

    /// The rank that the operation of a live event is with, if there is one such rank.
    pub(crate) fn peer(&self, event: Event) -> Option<crate::RankId> {
        let peer = self.all.get((event.0 as u32).wrapping_sub(1))?.peer.load(Ordering::Relaxed);
        (peer != u32::MAX).then_some(crate::RankId(peer))
    }

    /// Whether the event's operation is complete; if so the event is used up. `None` for an event that is not live.
    pub(crate) fn test(&self, event: Event) -> Option<bool> {
        if event == Event::DONE {
            return Some(true);
        }
        self.take(event, |_| ()).map(|done| done.is_some())
    }

    /// [`Ops::test`] that looks at the op before it is given back: `Some(Some(result of f))` if complete.
    pub(crate) fn take<R>(&self, event: Event, f: impl FnOnce(&Op) -> R) -> Option<Option<R>> {
        let (index, generation) = ((event.0 as u32).wrapping_sub(1), (event.0 >> 32) as u32);
        let op = self.all.get(index)?;
        if generation.is_multiple_of(2) || op.generation.load(Ordering::Relaxed) != generation {
            return None;
        }
        if !self.is_zero(index) {
            return Some(None);
        }
        let result = f(op);
        self.retire(index, generation).then_some(Some(result))
    }

    /// Takes back the ops of a thread that has ended, if nothing of it is outstanding.
    fn reclaim(&self, t: &ThreadOps) -> bool {
        let ended = t.life.as_ref().is_some_and(|life| life.strong_count() == 0);
        let over = ended && t.region.is_none() && self.is_zero(t.puts) && self.is_zero(t.gets);
        if over {
            self.all.give_back(t.puts);
            self.all.give_back(t.gets);
        }
        over
    }

    fn with_thread<R>(&self, f: impl FnOnce(&Ops, &mut ThreadOps) -> R) -> R {
        let threads = &mut *lock(&self.threads);
        let id = std::thread::current().id();
        if threads.by_id.len() >= threads.sweep_at && !threads.by_id.contains_key(&id) {
            threads.by_id.retain(|_, t| !self.reclaim(t));
            threads.sweep_at = (2 * threads.by_id.len()).max(64);
        }
        let t = threads.by_id.entry(id).or_insert_with(|| ThreadOps {
            puts: self.start_hidden(0).expect("the first op of a thread"),
            gets: self.start_hidden(0).expect("the first op of a thread"),
            region: None,
            life: LIFE.try_with(Arc::downgrade).ok(),
        });
        f(self, t)
    }

    /// The op that an implicit operation of this thread counts in.
    pub(crate) fn implicit(&self, kind: Implicit) -> u32 {
        self.with_thread(|_, t| {
            t.region.unwrap_or(match kind {
                Implicit::Puts => t.puts,
                Implicit::Gets => t.gets,
            })
        })
    }

    /// Whether all implicit operations of this thread of the given kinds are complete.
    pub(crate) fn implicit_done(&self, puts: bool, gets: bool) -> bool {
        self.with_thread(|s, t| (!puts || s.is_zero(t.puts)) && (!gets || s.is_zero(t.gets)))
    }

    /// Opens an access region; `Some(false)` if one is open, `None` when a million ops are in use.
    pub(crate) fn begin_region(&self) -> Option<bool> {
        self.with_thread(|s, t| {
            if t.region.is_some() {
                return Some(false);
            }
            // One is the region's own: it is not complete before it is closed.
            t.region = Some(s.start(1)?);
            Some(true)
        })
    }

    /// Closes the access region; `None` if none is open.
    pub(crate) fn end_region(&self) -> Option<Event> {
        self.with_thread(|s, t| {
            let index = t.region.take()?;
            s.finish(index);
            Some(s.event(index))
        })
    }

    /// Whether this thread has an access region open.
    pub(crate) fn in_region(&self) -> bool {
        self.with_thread(|_, t| t.region.is_some())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn events_complete_once_and_stale_ones_are_noticed() {
        let ops = Ops::new();
        let i = ops.start(2).unwrap();
        let e = ops.event(i);
        assert_eq!(ops.test(e), Some(false));
        ops.finish(i);
        ops.finish(i);
        assert_eq!(ops.test(e), Some(true));
        assert_eq!(ops.test(e), None);
        assert_eq!(ops.test(Event::DONE), Some(true));
        assert_eq!(ops.test(Event::from_raw(u64::MAX)), None);
    }

    #[test]
    fn no_made_up_event_gives_back_an_op() {
        let ops = Ops::new();
        let hidden = ops.implicit(Implicit::Gets);
        let used = ops.start(1).unwrap();
        ops.finish(used);
        assert_eq!(ops.test(ops.event(used)), Some(true));
        for index in 0..4u64 {
            for generation in 0..4u64 {
                assert_eq!(ops.test(Event::from_raw(generation << 32 | (index + 1))), None);
            }
        }
        assert_ne!(ops.start(0), Some(hidden));
    }

    #[test]
    fn of_many_threads_one_uses_an_event_up() {
        let ops = Ops::new();
        for _ in 0..if cfg!(miri) { 10 } else { 2000 } {
            let i = ops.start(0).unwrap();
            let event = ops.event(i);
            let used: usize = std::thread::scope(|s| {
                let all: Vec<_> = (0..2).map(|_| s.spawn(|| ops.test(event) == Some(true))).collect();
                all.into_iter().map(|t| usize::from(t.join().unwrap())).sum()
            });
            assert_eq!(used, 1);
            let (again, other) = (ops.start(0).unwrap(), ops.start(0).unwrap());
            assert_ne!(again, other, "an op given back twice");
            assert_eq!((ops.test(ops.event(again)), ops.test(ops.event(other))), (Some(true), Some(true)));
        }
    }

    #[test]
    fn a_region_takes_the_implicit_operations_of_its_thread() {
        let ops = Ops::new();
        assert_eq!((ops.begin_region(), ops.begin_region()), (Some(true), Some(false)));
        let i = ops.implicit(Implicit::Gets);
        ops.add(i);
        assert!(ops.implicit_done(true, true));
        let e = ops.end_region().unwrap();
        assert_eq!(ops.test(e), Some(false));
        ops.finish(i);
        assert_eq!(ops.test(e), Some(true));
        assert!(ops.end_region().is_none());
    }

    #[test]
    fn threads_that_end_leave_nothing() {
        let ops = Ops::new();
        let mine = ops.implicit(Implicit::Puts);
        let lost = std::thread::scope(|s| s.spawn(|| ops.implicit(Implicit::Gets)).join().unwrap());
        ops.add(lost);
        for _ in 0..if cfg!(miri) { 100 } else { 1000 } {
            std::thread::scope(|s| s.spawn(|| assert!(ops.implicit_done(true, true))).join().unwrap());
        }
        assert!(ops.all.taken() < 200, "two ops for each thread that lives");
        assert_eq!(ops.implicit(Implicit::Puts), mine);
        assert!(!ops.is_zero(lost), "an op with something outstanding is nobody else's");
    }

    #[test]
    fn a_hundred_thousand_outstanding() {
        let ops = Ops::new();
        let all: Vec<_> = (0..100_000).map(|_| ops.start(1).unwrap()).collect();
        for &i in &all {
            ops.finish(i);
            assert_eq!(ops.test(ops.event(i)), Some(true));
        }
    }
}
