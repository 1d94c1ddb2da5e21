//! Completion: events (explicit handles), access regions, and the implicit operations of a thread.
//!
//! An operation that is complete when its call returns (all of shared memory) has the event [`Event::DONE`]
//! and leaves no state behind. Others have an *op*: a count of outstanding fragments in a table of stable
//! addresses. An event names an op by index and generation, so a stale or repeated use is noticed instead of
//! waiting for a stranger. Any thread may wait for an event. Memory alone bounds how many operations are
//! outstanding.
//!
//! **Local completion.** The word of an op counts two things: in its low half fragments that are not complete
//! ([`REMOTE`]), in its high half sources that may not be written yet ([`LOCAL`]). The op is complete when
//! both are zero. Its *leaf* is the event of the high half alone
//! (`EventCalls::leaf`). A leaf can be tested any number of times, and ends with
//! its op: waiting for the op's own event, the *root*, retires both. Which sources count there is the choice
//! of whoever starts a put ([`Local`]).
//!
//! **Implicit operations** count in ops of the thread that starts them, one for each of puts, gets and
//! read-modify-writes; sources with [`Local::Group`] count in the high half of the puts'. While an access
//! region is open they all count in the region's op instead. A thread finds its ops in memory of its own,
//! without a lock. When it ends they go back to the table, at once or when what is outstanding has come.
//!
//! **Generations** are even while an op is free or counts implicit operations, which no event names, and odd
//! while it has an event. Whoever moves an odd generation on has used the event up: of several threads that
//! test one event at a time only one gives the op back, and no word a program makes up can give back an op
//! that is in use elsewhere.

use crate::prim::{AtomicU32, AtomicU64, Ordering};
use crate::slots::{Slot, Slots};
use gasnet_sys::mutex::lock;
use std::cell::RefCell;
use std::sync::{Arc, Mutex, Weak};

/// Bits of an op's number. An event has one more, which marks leaves.
const NUMBER_BITS: u32 = 31;
/// That an event is the leaf of its op.
const LEAF: u64 = 1 << NUMBER_BITS;

/// In the word of an op: a fragment that is not complete.
pub const REMOTE: u64 = 1;
/// In the word of an op: a source that may not be written yet.
pub const LOCAL: u64 = 1 << 32;

/// The completion of one operation (or of an access region). It must be waited for, or tested until done,
/// exactly once.
///
/// The *leaf* of an event, which says that the sources of its puts may be written again, is an event too. It
/// need not be waited for, and can be as often as one likes, until the event that it belongs to has been.
#[must_use = "an operation is complete only when its event is"]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event(u64);

impl Event {
    /// An operation that is already complete.
    pub const DONE: Event = Event(0);

    /// As a word, for C; 0 is [`Event::DONE`]. Words of other events are larger than 32 bits.
    pub fn into_raw(self) -> u64 {
        self.0
    }
    /// Back from a word.
    pub fn from_raw(raw: u64) -> Event {
        Event(raw)
    }

    /// Whether it is a leaf.
    #[inline]
    pub fn is_leaf(self) -> bool {
        self.0 & LEAF != 0
    }

    fn index(self) -> u32 {
        (self.0 as u32 & !(LEAF as u32)).wrapping_sub(1)
    }
    fn generation(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

/// When the source of a put may be written again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Local {
    /// When the call returns. Large sources are waited for where the network reads them later.
    #[default]
    Now,
    /// When the operation is complete.
    Defer,
    /// When the [`Categories::LOCAL`] of this thread is, or the leaf of the access region that is open. For
    /// implicit operations.
    Group,
    /// When the leaf of the operation's event is. For operations with an event.
    Leaf,
}

/// The answer to an operation that was asked for *immediately*: there was no room for it, and nothing has
/// been done. It may be tried again, best after a poll.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("there was no room for the operation, and nothing has been done")]
pub struct Refused;

/// Kinds of implicit operations, to be waited for together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Categories(u32);

impl Categories {
    /// Puts and memsets.
    pub const PUTS: Categories = Categories(1);
    /// Sources of puts that were started with [`Local::Group`].
    pub const LOCAL: Categories = Categories(2);
    /// Gets.
    pub const GETS: Categories = Categories(4);
    /// Atomic operations that neither only read nor only write.
    pub const RMWS: Categories = Categories(8);
    /// All of them.
    pub const ALL: Categories = Categories(15);

    /// From bits as in [`Categories::bits`]; others are left out.
    pub fn from_bits(bits: u32) -> Categories {
        Categories(bits & Categories::ALL.0)
    }
    /// A bit for each: 1 puts, 2 sources, 4 gets, 8 read-modify-writes.
    #[inline]
    pub fn bits(self) -> u32 {
        self.0
    }
    /// Whether all of `other` are among them.
    pub fn contain(self, other: Categories) -> bool {
        self.0 & other.0 == other.0
    }
}

impl core::ops::BitOr for Categories {
    type Output = Categories;
    fn bitor(self, other: Categories) -> Categories {
        Categories(self.0 | other.0)
    }
}

/// The kind that an implicit operation counts as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Implicit {
    /// Puts and memsets.
    Puts,
    /// Gets.
    Gets,
    /// Read-modify-writes.
    Rmws,
}

/// One op.
#[derive(Debug)]
pub struct Op {
    /// [`REMOTE`] for each fragment and [`LOCAL`] for each source that is outstanding.
    left: AtomicU64,
    /// Odd while an event names the op.
    generation: AtomicU32,
    /// The rank it is with, for reports of waits.
    peer: AtomicU32,
    /// Who hears of a refusal by the owner of a region, and what was refused: see `gasnet::region`.
    pub refused: AtomicU32,
    next: AtomicU32,
}

impl Slot for Op {
    fn new() -> Op {
        Op {
            left: AtomicU64::new(0),
            generation: AtomicU32::new(0),
            peer: AtomicU32::new(u32::MAX),
            refused: AtomicU32::new(0),
            next: AtomicU32::new(0),
        }
    }
    fn next(&self) -> &AtomicU32 {
        &self.next
    }
}

/// The ops of a rank, and those of threads that have ended.
#[derive(Debug)]
struct Table {
    all: Slots<Op>,
    /// Ops of threads that ended with something outstanding.
    left_behind: Mutex<Vec<u32>>,
    /// The ops that threads use while they end, after they have lost their own.
    ending: Mutex<Option<Own>>,
}

/// A thread's ops at a rank: one for its implicit operations, and one for the access region that is open.
#[derive(Debug, Clone, Copy)]
struct Own {
    puts: u32,
    gets: u32,
    rmws: u32,
    region: Option<u32>,
}

/// [`Own`] of one rank, as a thread keeps it.
#[derive(Debug)]
struct Kept {
    /// Its address is nobody else's as long as this exists.
    of: Weak<Table>,
    own: Own,
}

impl Drop for Kept {
    fn drop(&mut self) {
        if let Some(table) = self.of.upgrade() {
            table.leave(self.own);
        }
    }
}

thread_local! {
    /// This thread's ops at every rank whose operations it has started, by address of the rank's table.
    static KEPT: RefCell<Vec<Kept>> = const { RefCell::new(Vec::new()) };
}

/// All ops of a rank.
#[derive(Debug)]
pub struct Ops {
    table: Arc<Table>,
}

impl Table {
    fn op(&self, index: u32) -> &Op {
        self.all.get(index).expect("an op in use has its chunk")
    }

    /// A new op that no event names.
    fn take(&self, left: u64) -> (u32, &Op) {
        // Their memory would be 64 GiB.
        let (index, op) =
            self.all.take().expect("fewer than two thousand million operations are outstanding");
        op.left.store(left, Ordering::Relaxed);
        op.peer.store(u32::MAX, Ordering::Relaxed);
        op.refused.store(0, Ordering::Relaxed);
        (index, op)
    }

    fn left(&self, index: u32) -> u64 {
        // ORDER: Acquire; pairs with Release in Ops::finish.
        self.op(index).left.load(Ordering::Acquire)
    }

    /// The ops of a thread that has none yet.
    fn arrive(&self) -> Own {
        lock(&self.left_behind).retain(|op| {
            let over = self.left(*op) == 0;
            if over {
                self.all.give_back(*op);
            }
            !over
        });
        let [puts, gets, rmws] = [(); 3].map(|()| self.take(0).0);
        Own { puts, gets, rmws, region: None }
    }

    /// Takes back the ops of a thread that ends.
    fn leave(&self, own: Own) {
        if let Some(region) = own.region {
            // Nobody will have its event. Relaxed: nobody knows it but this thread.
            self.op(region).generation.fetch_add(1, Ordering::Relaxed);
        }
        for op in [own.puts, own.gets, own.rmws].into_iter().chain(own.region) {
            if self.left(op) == 0 {
                self.all.give_back(op);
            } else {
                lock(&self.left_behind).push(op);
            }
        }
    }
}

impl Ops {
    pub(crate) fn new() -> Ops {
        let (left_behind, ending) = (Mutex::default(), Mutex::default());
        Ops { table: Arc::new(Table { all: Slots::new(NUMBER_BITS), left_behind, ending }) }
    }

    /// A new op with `left` outstanding fragments, and an event.
    #[inline]
    pub fn start(&self, left: u32) -> u32 {
        let (index, op) = self.table.take(u64::from(left) * REMOTE);
        // Relaxed, both: nobody else knows the op yet, and no event names an even generation.
        let generation = op.generation.load(Ordering::Relaxed);
        op.generation.store(generation.wrapping_add(1), Ordering::Relaxed);
        index
    }

    /// [`Ops::start`] of an operation with one rank, which reports of waits name.
    #[inline]
    pub fn start_with(&self, peer: crate::RankId) -> u32 {
        let index = self.start(0);
        self.table.op(index).peer.store(peer.0, Ordering::Relaxed);
        index
    }

    /// The op of that number.
    #[inline]
    pub fn op(&self, index: u32) -> &Op {
        self.table.op(index)
    }

    /// The event of an op of which everything has been started; the op is given back if it is complete.
    #[inline]
    pub fn started(&self, index: u32) -> Event {
        let event = self.event(index);
        if self.table.left(index) == 0 && self.retire(event) { Event::DONE } else { event }
    }

    /// The event of an op.
    #[inline]
    pub fn event(&self, index: u32) -> Event {
        let generation = self.table.op(index).generation.load(Ordering::Relaxed);
        Event((u64::from(generation) << 32) | (u64::from(index) + 1))
    }

    /// More that is outstanding: a sum of [`REMOTE`] and [`LOCAL`].
    #[inline]
    pub fn add(&self, index: u32, what: u64) {
        self.table.op(index).left.fetch_add(what, Ordering::Relaxed);
    }

    /// So much less.
    #[inline]
    pub fn finish(&self, index: u32, what: u64) {
        // ORDER: Release; pairs with Acquire in Table::left: the data a fragment brought is visible, a source
        // has been read.
        self.table.op(index).left.fetch_sub(what, Ordering::Release);
    }

    /// Whether no source of an op is in use any more.
    #[inline]
    pub fn sources_free(&self, index: u32) -> bool {
        self.table.left(index) < LOCAL
    }

    /// Uses up the event of an op that is complete; `false` if another thread was faster.
    #[inline]
    fn retire(&self, event: Event) -> bool {
        let generation = event.generation();
        // Relaxed: giving it back hands the op on.
        let won = self
            .table
            .op(event.index())
            .generation
            .compare_exchange(generation, generation.wrapping_add(1), Ordering::Relaxed, Ordering::Relaxed)
            .is_ok();
        if won {
            self.table.all.give_back(event.index());
        }
        won
    }

    /// The rank that the operation of a live event is with, if there is one such rank.
    #[inline]
    pub fn peer(&self, event: Event) -> Option<crate::RankId> {
        let peer = self.table.all.get(event.index())?.peer.load(Ordering::Relaxed);
        (peer != u32::MAX).then_some(crate::RankId(peer))
    }

    /// The outstanding part of a live event's op; `None` for an event that is not live.
    #[inline]
    fn look(&self, event: Event) -> Option<u64> {
        let op = self.table.all.get(event.index())?;
        let generation = event.generation();
        if generation.is_multiple_of(2) || op.generation.load(Ordering::Relaxed) != generation {
            return None;
        }
        Some(self.table.left(event.index()))
    }

    /// Whether the event's operation is complete; if so the event is used up, unless it is a leaf. `None` for
    /// an event that is not live.
    #[inline]
    pub fn test(&self, event: Event) -> Option<bool> {
        if event == Event::DONE {
            return Some(true);
        }
        let left = self.look(event)?;
        if event.is_leaf() {
            return Some(left < LOCAL);
        }
        if left != 0 {
            return Some(false);
        }
        self.retire(event).then_some(true)
    }

    /// [`Ops::test`] of an event that is no leaf, which looks at the op before that is given back:
    /// `Some(Some(result of f))` if complete.
    pub fn take<R>(&self, event: Event, f: impl FnOnce(&Op) -> R) -> Option<Option<R>> {
        if self.look(event)? != 0 {
            return Some(None);
        }
        let result = f(self.op(event.index()));
        self.retire(event).then_some(Some(result))
    }

    /// The leaf of an event; `None` for an event that is not live, or is a leaf itself.
    #[inline]
    pub fn leaf(&self, root: Event) -> Option<Event> {
        if root == Event::DONE {
            return Some(root);
        }
        if root.is_leaf() {
            return None;
        }
        Some(if self.look(root)? < LOCAL { Event::DONE } else { Event(root.0 | LEAF) })
    }

    /// Tests all events that are not [`Event::DONE`]; those that are complete become it. Leaves of events
    /// that are among them become it with these. How many have become it, and how many are left; an error
    /// names one that is not live.
    pub fn sweep(&self, events: &mut [Event]) -> Result<(usize, usize), Event> {
        let (mut finished, mut left) = (0, 0);
        // Leaves first: an event that is complete takes its leaf along.
        for leaves in [true, false] {
            for event in events.iter_mut().filter(|e| **e != Event::DONE && e.is_leaf() == leaves) {
                if self.test(*event).ok_or(*event)? {
                    *event = Event::DONE;
                    finished += 1;
                } else {
                    left += 1;
                }
            }
        }
        if left > 0 && finished > 0 {
            for event in events.iter_mut().filter(|e| e.is_leaf() && self.look(**e).is_none()) {
                *event = Event::DONE;
                (finished, left) = (finished + 1, left - 1);
            }
        }
        Ok((finished, left))
    }

    #[inline]
    fn with_thread<R>(&self, f: impl FnOnce(&Table, &mut Own) -> R) -> R {
        let table = &*self.table;
        let at = Arc::as_ptr(&self.table);
        let mut f = Some(f);
        let mut call = |own: &mut Own| (f.take().expect("called once"))(table, own);
        let done = KEPT.try_with(|kept| {
            let mut kept = kept.borrow_mut();
            let place = kept.binary_search_by_key(&at, |k| k.of.as_ptr());
            let place = place.unwrap_or_else(|_| self.arrive(&mut kept));
            call(&mut kept[place].own)
        });
        done.unwrap_or_else(|_| {
            let mut ending = lock(&table.ending);
            call(ending.get_or_insert_with(|| table.arrive()))
        })
    }

    /// Enters this rank into what the thread has; where.
    #[cold]
    fn arrive(&self, kept: &mut Vec<Kept>) -> usize {
        // Of ranks that have been taken apart.
        kept.retain(|k| k.of.strong_count() > 0);
        let at = Arc::as_ptr(&self.table);
        let place = kept.partition_point(|k| k.of.as_ptr() < at);
        kept.insert(place, Kept { of: Arc::downgrade(&self.table), own: self.table.arrive() });
        place
    }

    /// The op that an implicit operation of this thread counts in.
    #[inline]
    pub fn implicit(&self, kind: Implicit) -> u32 {
        self.with_thread(|_, own| {
            own.region.unwrap_or(match kind {
                Implicit::Puts => own.puts,
                Implicit::Gets => own.gets,
                Implicit::Rmws => own.rmws,
            })
        })
    }

    /// Whether all implicit operations of this thread of the given kinds are complete.
    #[inline]
    pub fn implicit_done(&self, kinds: Categories) -> bool {
        self.with_thread(|table, own| {
            let is = |kind| kinds.contain(kind);
            (!is(Categories::PUTS) || table.left(own.puts) % LOCAL == 0)
                && (!is(Categories::LOCAL) || table.left(own.puts) < LOCAL)
                && (!is(Categories::GETS) || table.left(own.gets) == 0)
                && (!is(Categories::RMWS) || table.left(own.rmws) == 0)
        })
    }

    /// Opens an access region; `false` if one is open.
    #[inline]
    pub fn begin_region(&self) -> bool {
        if self.in_region() {
            return false;
        }
        let op = self.start(0);
        self.with_thread(|_, own| own.region = Some(op));
        true
    }

    /// Closes the access region; `None` if none is open.
    #[inline]
    pub fn end_region(&self) -> Option<Event> {
        let index = self.with_thread(|_, own| own.region.take())?;
        Some(self.started(index))
    }

    /// Whether this thread has an access region open.
    #[inline]
    pub fn in_region(&self) -> bool {
        self.with_thread(|_, own| own.region.is_some())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn events_complete_once_and_stale_ones_are_noticed() {
        let ops = Ops::new();
        let i = ops.start(2);
        let e = ops.event(i);
        assert_eq!(ops.test(e), Some(false));
        ops.finish(i, REMOTE);
        ops.finish(i, REMOTE);
        assert_eq!(ops.test(e), Some(true));
        assert_eq!(ops.test(e), None);
        assert_eq!(ops.test(Event::DONE), Some(true));
        assert_eq!(ops.test(Event::from_raw(u64::MAX)), None);
    }

    #[test]
    fn leaves_are_done_before_their_roots_and_end_with_them() {
        let ops = Ops::new();
        let i = ops.start(0);
        ops.add(i, 2 * (REMOTE + LOCAL));
        let root = ops.started(i);
        let leaf = ops.leaf(root).unwrap();
        assert!(leaf.is_leaf() && !root.is_leaf() && ops.leaf(root) == Some(leaf));
        assert_eq!((ops.leaf(leaf), ops.leaf(Event::DONE)), (None, Some(Event::DONE)));
        ops.finish(i, LOCAL);
        assert_eq!((ops.test(leaf), ops.test(root), ops.sources_free(i)), (Some(false), Some(false), false));
        ops.finish(i, LOCAL + REMOTE);
        assert_eq!([ops.test(leaf), ops.test(leaf), ops.test(root)], [Some(true), Some(true), Some(false)]);
        assert_eq!(ops.leaf(root), Some(Event::DONE));
        ops.finish(i, REMOTE);
        assert_eq!([ops.test(leaf), ops.test(root), ops.test(leaf)], [Some(true), Some(true), None]);
        assert_eq!(ops.leaf(root), None);
    }

    /// An operation is not complete before its sources are free, in whatever order that comes.
    #[test]
    fn roots_wait_for_sources_too() {
        let ops = Ops::new();
        let i = ops.start(1);
        ops.add(i, LOCAL);
        let root = ops.event(i);
        ops.finish(i, REMOTE);
        assert_eq!(ops.test(root), Some(false));
        ops.finish(i, LOCAL);
        assert_eq!(ops.test(root), Some(true));
    }

    #[test]
    fn what_is_complete_when_it_has_been_started_needs_no_event() {
        let ops = Ops::new();
        for _ in 0..3 {
            let i = ops.start_with(crate::RankId(4));
            ops.add(i, REMOTE);
            ops.finish(i, REMOTE);
            assert_eq!(ops.started(i), Event::DONE);
        }
        assert_eq!(ops.table.all.taken(), 1);
    }

    #[test]
    fn lists_hold_roots_and_their_leaves_in_any_order() {
        for reversed in [false, true] {
            let ops = Ops::new();
            let (a, b) = (ops.start(1), ops.start(1));
            ops.add(a, LOCAL);
            ops.add(b, LOCAL);
            let (ea, eb) = (ops.event(a), ops.event(b));
            let mut list = [ea, ops.leaf(ea).unwrap(), Event::DONE, ops.leaf(eb).unwrap(), eb];
            if reversed {
                list.reverse();
            }
            assert_eq!(ops.sweep(&mut list), Ok((0, 4)));
            ops.finish(a, LOCAL + REMOTE);
            ops.finish(b, LOCAL);
            assert_eq!(ops.sweep(&mut list), Ok((3, 1)));
            assert_eq!(list.iter().filter(|e| **e != Event::DONE).collect::<Vec<_>>(), [&eb]);
            ops.finish(b, REMOTE);
            assert_eq!((ops.sweep(&mut list), list), (Ok((1, 0)), [Event::DONE; 5]));
            assert_eq!((ops.sweep(&mut list), ops.sweep(&mut [])), (Ok((0, 0)), Ok((0, 0))));
            assert_eq!(ops.sweep(&mut [ea]), Err(ea), "used up before");
        }
    }

    #[test]
    fn a_leaf_whose_root_was_waited_for_is_stale() {
        let ops = Ops::new();
        let i = ops.start(0);
        ops.add(i, LOCAL);
        let root = ops.event(i);
        let leaf = ops.leaf(root).unwrap();
        ops.finish(i, LOCAL);
        assert_eq!(ops.test(root), Some(true));
        let other = ops.start(0);
        assert_eq!(ops.sweep(&mut [leaf, ops.event(other)]), Err(leaf));
    }

    #[test]
    fn no_made_up_event_gives_back_an_op() {
        let ops = Ops::new();
        let hidden = ops.implicit(Implicit::Gets);
        let used = ops.start(1);
        ops.finish(used, REMOTE);
        assert_eq!(ops.test(ops.event(used)), Some(true));
        for index in 0..6u64 {
            for generation in 0..4u64 {
                for leaf in [0, LEAF] {
                    assert_eq!(ops.test(Event::from_raw(generation << 32 | leaf | (index + 1))), None);
                }
            }
        }
        assert_ne!(ops.start(0), hidden);
    }

    #[test]
    fn of_many_threads_one_uses_an_event_up() {
        let ops = Ops::new();
        for _ in 0..if cfg!(miri) { 10 } else { 2000 } {
            let i = ops.start(0);
            let event = ops.event(i);
            let used: usize = std::thread::scope(|s| {
                let all: Vec<_> = (0..2).map(|_| s.spawn(|| ops.test(event) == Some(true))).collect();
                all.into_iter().map(|t| usize::from(t.join().unwrap())).sum()
            });
            assert_eq!(used, 1);
            let (again, other) = (ops.start(0), ops.start(0));
            assert_ne!(again, other, "an op given back twice");
            assert_eq!((ops.test(ops.event(again)), ops.test(ops.event(other))), (Some(true), Some(true)));
        }
    }

    #[test]
    fn a_region_takes_the_implicit_operations_of_its_thread() {
        let ops = Ops::new();
        assert_eq!((ops.begin_region(), ops.begin_region()), (true, false));
        let all = [Implicit::Puts, Implicit::Gets, Implicit::Rmws].map(|kind| ops.implicit(kind));
        assert!(all.iter().all(|i| *i == all[0]));
        ops.add(all[0], 3 * REMOTE + LOCAL);
        assert!(ops.implicit_done(Categories::ALL));
        let e = ops.end_region().unwrap();
        let leaf = ops.leaf(e).unwrap();
        ops.finish(all[0], LOCAL);
        assert_eq!((ops.test(e), ops.test(leaf)), (Some(false), Some(true)));
        ops.finish(all[0], 3 * REMOTE);
        assert_eq!(ops.test(e), Some(true));
        assert!(ops.end_region().is_none());
        // One with nothing outstanding.
        assert!(ops.begin_region());
        assert_eq!(ops.end_region(), Some(Event::DONE));
    }

    #[test]
    fn categories_are_told_apart() {
        use Categories as C;
        let ops = Ops::new();
        let done = |kinds: &[C]| kinds.iter().map(|k| ops.implicit_done(*k)).collect::<Vec<_>>();
        let kinds = [C::PUTS, C::LOCAL, C::GETS, C::RMWS, C::ALL, C::GETS | C::RMWS];
        for (kind, what, open) in [
            (Implicit::Puts, REMOTE, [true, false, false, false, true, false]),
            (Implicit::Puts, LOCAL, [false, true, false, false, true, false]),
            (Implicit::Gets, REMOTE, [false, false, true, false, true, true]),
            (Implicit::Rmws, REMOTE, [false, false, false, true, true, true]),
        ] {
            let op = ops.implicit(kind);
            ops.add(op, what);
            assert_eq!(done(&kinds), open.map(|o| !o), "{kind:?} {what:#x}");
            ops.finish(op, what);
            assert_eq!(done(&kinds), [true; 6]);
        }
        assert_eq!((C::from_bits(!0), C::from_bits(5).bits()), (C::ALL, 5));
    }

    #[test]
    fn threads_have_implicit_operations_of_their_own_in_every_rank() {
        let (one, other) = (Ops::new(), Ops::new());
        let mine = one.implicit(Implicit::Puts);
        one.add(mine, REMOTE);
        assert!(!one.implicit_done(Categories::PUTS) && other.implicit_done(Categories::ALL));
        std::thread::scope(|s| s.spawn(|| assert!(one.implicit_done(Categories::ALL))).join().unwrap());
        // A rank that is gone leaves room for others.
        drop(other);
        for _ in 0..if cfg!(miri) { 8 } else { 100 } {
            let next = Ops::new();
            assert!(next.begin_region() && !one.in_region());
        }
        KEPT.with(|kept| assert!(kept.borrow().len() <= 3));
        assert_eq!(one.implicit(Implicit::Puts), mine);
    }

    #[test]
    fn threads_that_end_leave_nothing() {
        let ops = Ops::new();
        let mine = ops.implicit(Implicit::Puts);
        // One has a get outstanding, and then another in a region that it leaves open.
        let lost = std::thread::scope(|s| {
            let lose = || {
                let get = ops.implicit(Implicit::Gets);
                ops.add(get, REMOTE);
                assert!(ops.begin_region());
                ops.add(ops.implicit(Implicit::Gets), REMOTE);
                [get, ops.implicit(Implicit::Gets)]
            };
            s.spawn(lose).join().unwrap()
        });
        let visit = || {
            let visit = || assert!(ops.implicit_done(Categories::ALL) && !ops.in_region());
            std::thread::scope(|s| s.spawn(visit).join().unwrap());
        };
        for _ in 0..if cfg!(miri) { 10 } else { 1000 } {
            visit();
        }
        assert!(ops.table.all.taken() < 16, "three ops for each thread that lives, and two");
        assert_eq!(ops.implicit(Implicit::Puts), mine);
        for op in lost {
            assert_ne!(ops.table.left(op), 0, "an op with something outstanding is nobody else's");
            assert_eq!(ops.test(ops.event(op)), None, "no event names it");
            ops.finish(op, REMOTE);
        }
        visit();
        assert!(lock(&ops.table.left_behind).is_empty());
    }

    /// More than a million.
    #[test]
    fn memory_alone_bounds_what_is_outstanding() {
        let ops = Ops::new();
        let all: Vec<_> = (0..if cfg!(miri) { 40 } else { 1_200_000 }).map(|_| ops.start(1)).collect();
        let events: Vec<_> = all.iter().map(|i| ops.event(*i)).collect();
        for (i, event) in all.into_iter().zip(events) {
            ops.finish(i, REMOTE);
            assert_eq!(ops.test(event), Some(true));
        }
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use crate::prim::UnsafeCell;
    use loom::sync::Arc;

    struct Shared(Op, [UnsafeCell<u8>; 2]);
    // SAFETY: for the test: loom tells who accesses a cell out of turn.
    #[expect(unsafe_code, reason = "loom looks at the cells")]
    unsafe impl Sync for Shared {}
    // SAFETY: as above.
    #[expect(unsafe_code, reason = "loom looks at the cells")]
    unsafe impl Send for Shared {}

    /// A thread reads a source, which frees it, and then brings data. Whoever finds no source in use may
    /// write the source; whoever finds nothing outstanding sees the data.
    #[test]
    fn loom_both_halves_of_a_word_publish() {
        loom::model(|| {
            let shared = Arc::new(Shared(Op::new(), [UnsafeCell::new(0), UnsafeCell::new(0)]));
            shared.0.left.store(LOCAL + REMOTE, Ordering::Relaxed);
            let other = shared.clone();
            #[expect(unsafe_code, reason = "loom looks at the cells")]
            let thread = loom::thread::spawn(move || {
                // SAFETY: the source is in use, and only read.
                other.1[0].with(|p| assert_eq!(unsafe { *p }, 0));
                other.0.left.fetch_sub(LOCAL, Ordering::Release);
                // SAFETY: not complete: nobody else looks.
                other.1[1].with_mut(|p| unsafe { *p = 1 });
                other.0.left.fetch_sub(REMOTE, Ordering::Release);
            });
            let left = shared.0.left.load(Ordering::Acquire);
            #[expect(unsafe_code, reason = "loom looks at the cells")]
            if left < LOCAL {
                // SAFETY: the source is free.
                shared.1[0].with_mut(|p| unsafe { *p = 2 });
                if left == 0 {
                    // SAFETY: complete.
                    shared.1[1].with(|p| assert_eq!(unsafe { *p }, 1));
                }
            }
            thread.join().unwrap();
        });
    }
}
