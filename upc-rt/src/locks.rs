//! `upc_lock_t`: fair queue locks (after Mellor-Crummey and Scott), in which each waiter reads a word of its
//! own.
//!
//! A lock is 64 bytes of shared memory: [`TAIL_OFFSET`] names the last thread in the queue (0: the lock is
//! free), [`HOLDER_OFFSET`] the thread that has the lock, and [`MARK_OFFSET`] distinguishes a lock from other
//! memory. A name is a thread and one of its [nodes](crate::control::LockNode), which are in the thread's own
//! control area.
//!
//! - *Lock*: swap my name into the tail. If the tail was empty, the lock is mine. Else put my name into the
//!   `next` of the previous tail and wait for my `granted`.
//! - *Unlock*: if the tail is still my name, empty it. Else wait for my `next` and set that thread's
//!   `granted`.
//!
//! Only remote atomics on single words are used, so it does not matter whether a lock's memory is mapped
//! here. If NICs synchronise by themselves (the conduit netvm), the queue is one of [`gasnet::sync`], and
//! only the processor of the calling thread takes part. The holder word turns locking twice, and unlocking a
//! lock that the thread does not hold, into errors instead of hangs.
//!
//! A lock may be freed while it is held. Its holder's node then goes back to the holder: to the holder's own
//! free list, or through the `returned` list of its control area.
#![expect(unsafe_code, reason = "asks the C library for the number of processors")]

use crate::control::{LOCK_NODE_BITS, LOCK_NODES, LockNode, field, node_fields};
use crate::core::found;
use crate::state::Upc;
use gasnet::atomics::Function;
use gasnet::sync::{Cells, PlacedLock};
use gasnet_sys::mutex::lock;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering::*, compiler_fence, fence};

/// Words of a lock, as offsets from its start in bytes.
const MARK_OFFSET: u64 = 0;
const TAIL_OFFSET: u64 = 8;
const HOLDER_OFFSET: u64 = 16;
/// Bytes of a lock.
const LOCK_BYTES: u64 = 64;
/// Value of [`MARK_OFFSET`] while the lock exists.
const LOCK_MARK: u64 = 0x6b63_6f6c_5f63_7075;

/// Attempts to take a lock out of turn (see [`Upc::barge`]).
const MAX_BARGING_ATTEMPTS: u32 = 200;

/// This thread's side of its locks.
#[derive(Default)]
pub struct LockState {
    /// Whether the threads of this host outnumber its processors.
    crowded: bool,
    /// The node freed most recently, plus one; 0 for none. It saves the mutex in the common case.
    spare: AtomicU32,
    nodes: Mutex<FreeNodes>,
    /// Number of failed attempts in a row.
    failed: AtomicU32,
    /// Number of locks made; with `UPC_LOCKS_RR` it selects the next lock's thread.
    made: AtomicU32,
}

impl LockState {
    /// For a host with `threads` threads.
    pub fn new(threads: u32) -> LockState {
        // The processors of the host, not those of this thread, which may be bound to one.
        // SAFETY: plain query.
        let processors = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
        LockState { crowded: i64::from(threads) > processors, ..LockState::default() }
    }
}

/// Free nodes: those given back, and all from `fresh` on.
#[derive(Default)]
struct FreeNodes {
    list: Vec<u32>,
    fresh: u32,
}

/// A thread and one of its nodes, as a non-zero word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Name {
    thread: u32,
    pub(crate) node: u32,
}

impl Name {
    fn encode(self) -> u64 {
        (u64::from(self.thread) + 1) << 32 | u64::from(self.node)
    }

    fn decode(word: u64) -> Option<Name> {
        (word != 0).then(|| Name { thread: (word >> 32) as u32 - 1, node: word as u32 })
    }
}

impl Upc {
    /// `upc_global_lock_alloc`, and `upc_all_lock_alloc` if `collective`: thread and offset of a new lock.
    pub fn lock_alloc(&self, collective: bool) -> (u32, u64) {
        if collective {
            // Collective locks are all on thread 0, so the result need not name a thread.
            let off = self.collective("upc_all_lock_alloc", &[], || self.new_lock());
            return (0, off);
        }
        if self.settings.locks_in_turn {
            // Memory on every thread; the lock is on one of them.
            let off = self.alloc_global(self.size.into(), LOCK_BYTES, false);
            let t = (self.me + self.locks.made.fetch_add(1, Relaxed)) % self.size;
            self.make_lock(t, off);
            return (t, off);
        }
        (self.me, self.new_lock())
    }

    fn new_lock(&self) -> u64 {
        let off = self.alloc_local(LOCK_BYTES);
        self.make_lock(self.me, off);
        off
    }

    fn make_lock(&self, t: u32, off: u64) {
        for (word, value) in [(TAIL_OFFSET, 0), (HOLDER_OFFSET, 0), (MARK_OFFSET, LOCK_MARK)] {
            self.core.set_word(t, off + word, value);
        }
        self.core.settle();
    }

    /// The elements of queues: each thread's nodes.
    pub(crate) fn cells(&self) -> Cells {
        Cells::new(self.layout.control + node_fields(0).0, size_of::<LockNode>() as u64, LOCK_NODE_BITS)
    }

    /// The queue of a lock, if NICs manage it.
    fn nic_line(&self, t: u32, off: u64) -> Option<PlacedLock<'static>> {
        self.core.nic_lock(t, off + TAIL_OFFSET, self.cells())
    }

    /// `upc_lock_free`, and `upc_all_lock_free` if `collective`.
    pub fn lock_free(&self, t: u32, off: u64, collective: bool) {
        if t == 0 && off == 0 {
            return;
        }
        if collective {
            self.meet_agreeing("upc_all_lock_free", &[("thread", t.into()), ("ptr", off)]);
            if self.me != 0 {
                return;
            }
        }
        self.check_lock("upc_lock_free", t, off);
        self.core.set_word(t, off + MARK_OFFSET, 0);
        self.core.settle();
        if let Some(holder) = Name::decode(self.core.word(t, off + HOLDER_OFFSET)) {
            if holder.thread == self.me { self.put_node(holder.node) } else { self.return_node(holder) }
        }
        // Memory that was allocated on all threads is freed so.
        self.free(if self.settings.locks_in_turn { 0 } else { t }, off, false);
    }

    /// `upc_lock`.
    pub fn lock(&self, t: u32, off: u64) {
        self.check_lock("upc_lock", t, off);
        self.core.attend();
        let me = self.take_node();
        match self.nic_line(t, off) {
            Some(line) => {
                self.core.settle();
                if let Some(before) = line.join(me.node) {
                    self.check_not_mine(t, off);
                    line.follow(me.node, before, "upc_lock");
                }
            }
            None if self.locks.crowded && self.barge(me, t, off) => {}
            None => {
                let before = self.core.amo(t, off + TAIL_OFFSET, Function::Set, me.encode(), 0);
                if let Some(before) = Name::decode(before) {
                    self.queue_behind(before, me, t, off);
                }
            }
        }
        self.core.set_word(t, off + HOLDER_OFFSET, me.encode());
        after_rmw();
    }

    /// If threads outnumber processors, the next thread in the queue seldom runs, so handing the lock to it
    /// costs a round of the scheduler. So threads try for a while to take a lock that is free at the moment,
    /// before they join the queue. The bound keeps it fair: no thread is passed over for longer than that.
    #[cold]
    fn barge(&self, me: Name, t: u32, off: u64) -> bool {
        for _ in 0..MAX_BARGING_ATTEMPTS {
            if self.core.amo(t, off + TAIL_OFFSET, Function::Get, 0, 0) == 0
                && self.core.amo(t, off + TAIL_OFFSET, Function::CompareSwap, 0, me.encode()) == 0
            {
                return true;
            }
            self.core.poll();
            std::thread::yield_now();
        }
        false
    }

    #[cold]
    fn queue_behind(&self, before: Name, me: Name, t: u32, off: u64) {
        self.check_not_mine(t, off);
        self.store_word(before.thread, node_fields(before.node).0, me.encode());
        let granted = &self.control.nodes[me.node as usize].granted;
        // ORDER: Acquire; pairs with the store in `hand_over`; the holder's writes are seen.
        self.core.wait_until("upc_lock", || granted.load(Acquire) != 0);
    }

    /// Reports that this thread would wait for a lock that it holds.
    #[cold]
    fn check_not_mine(&self, t: u32, off: u64) {
        let holder = Name::decode(self.core.word(t, off + HOLDER_OFFSET));
        if holder.is_some_and(|h| h.thread == self.me) {
            self.fatal("upc_lock: the calling thread already holds this lock (locks are not recursive)");
        }
    }

    /// `upc_lock_attempt`.
    pub fn lock_attempt(&self, t: u32, off: u64) -> bool {
        self.core.begin_look(1);
        self.check_lock("upc_lock_attempt", t, off);
        self.core.attend();
        let me = match self.nic_line(t, off) {
            Some(line) => {
                self.core.settle();
                let me = self.take_node();
                if !line.try_acquire(me.node) {
                    self.put_node(me.node);
                    return self.attempt_failed(t, off);
                }
                me
            }
            None => {
                // Read first: failing attempts in a loop should not write to the holder's cache line.
                if self.core.amo(t, off + TAIL_OFFSET, Function::Get, 0, 0) != 0 {
                    return self.attempt_failed(t, off);
                }
                let me = self.take_node();
                if self.core.amo(t, off + TAIL_OFFSET, Function::CompareSwap, 0, me.encode()) != 0 {
                    self.put_node(me.node);
                    return self.attempt_failed(t, off);
                }
                me
            }
        };
        self.core.set_word(t, off + HOLDER_OFFSET, me.encode());
        self.locks.failed.store(0, Relaxed);
        after_rmw();
        true
    }

    /// Attempts are made in loops: make progress for others, and let the holder run if it shares our
    /// processor.
    fn attempt_failed(&self, t: u32, off: u64) -> bool {
        let done = self.core.poll();
        let n = self.locks.failed.load(Relaxed).wrapping_add(1);
        self.locks.failed.store(n, Relaxed);
        if !self.core.looked(found(t, off, 0), Some(done)) && n.is_multiple_of(16) {
            std::thread::yield_now();
        }
        false
    }

    /// `upc_unlock`.
    pub fn unlock(&self, t: u32, off: u64) {
        self.check_lock("upc_unlock", t, off);
        let me = match Name::decode(self.core.word(t, off + HOLDER_OFFSET)) {
            Some(h) if h.thread == self.me => h,
            Some(h) => self.fatal(&format!(
                "upc_unlock: thread {} does not hold this lock, but thread {} does",
                self.me, h.thread
            )),
            None => self.fatal(&format!(
                "upc_unlock: thread {} does not hold this lock, and no other thread does",
                self.me
            )),
        };
        self.core.set_word(t, off + HOLDER_OFFSET, 0);
        if let Some(line) = self.nic_line(t, off) {
            self.core.settle();
            // The strict write that an unlock implies.
            before_rmw();
            line.release(me.node);
            return self.put_node(me.node);
        }
        let next = &self.control.nodes[me.node as usize].next;
        // The strict write that an unlock implies.
        before_rmw();
        // ORDER: Acquire; pairs with the store of `next` in `queue_behind`.
        if next.load(Acquire) == 0
            && self.core.amo(t, off + TAIL_OFFSET, Function::CompareSwap, me.encode(), 0) == me.encode()
        {
            self.put_node(me.node);
            return;
        }
        self.hand_over(me);
    }

    #[cold]
    fn hand_over(&self, me: Name) {
        let next = &self.control.nodes[me.node as usize].next;
        // ORDER: Acquire; pairs with the store of `next` in `queue_behind`.
        self.core.wait_until("upc_unlock", || next.load(Acquire) != 0);
        // ORDER: SeqCst; the strict write that an unlock implies; pairs with the strict read of the next
        // holder.
        fence(SeqCst);
        let Some(heir) = Name::decode(next.load(Relaxed)) else { unreachable!("waited for it") };
        self.store_word(heir.thread, node_fields(heir.node).1, 1);
        self.put_node(me.node);
    }

    fn check_lock(&self, function: &str, t: u32, off: u64) {
        let inside = t < self.size
            && off >= self.layout.heap_lo
            && off < self.layout.heap_hi
            && off.is_multiple_of(16);
        if !inside
            || self.core.near(t) && self.core.amo(t, off + MARK_OFFSET, Function::Get, 0, 0) != LOCK_MARK
        {
            self.not_a_lock(function, t, off);
        }
    }

    #[cold]
    fn not_a_lock(&self, function: &str, t: u32, off: u64) -> ! {
        if t == 0 && off == 0 {
            self.fatal(&format!("{function}: the lock is a null pointer"));
        }
        self.fatal(&format!(
            "{function}: the pointer does not point to a lock: already freed, or overwritten? (thread {t}, offset {off:#x})"
        ))
    }

    pub(crate) fn take_node(&self) -> Name {
        let node = match self.locks.spare.swap(0, Relaxed) {
            0 => self.more_nodes(),
            spare => spare - 1,
        };
        let n = &self.control.nodes[node as usize];
        n.next.store(0, Relaxed);
        n.granted.store(0, Relaxed);
        Name { thread: self.me, node }
    }

    #[cold]
    fn more_nodes(&self) -> u32 {
        let mut free = lock(&self.locks.nodes);
        if let Some(node) = free.list.pop() {
            return node;
        }
        // ORDER: Acquire; pairs with the compare-and-swap in `return_node`; the links are seen.
        let mut at = self.control.returned.swap(0, Acquire);
        while at != 0 {
            let node = (at - 1) as u32;
            free.list.push(node);
            at = self.control.nodes[node as usize].next.load(Relaxed);
        }
        if let Some(node) = free.list.pop() {
            return node;
        }
        if free.fresh as usize == LOCK_NODES {
            self.fatal(&format!("upc_lock: one thread holds more than {LOCK_NODES} locks"));
        }
        free.fresh += 1;
        free.fresh - 1
    }

    pub(crate) fn put_node(&self, node: u32) {
        let other = self.locks.spare.swap(node + 1, Relaxed);
        if other != 0 {
            lock(&self.locks.nodes).list.push(other - 1);
        }
    }

    /// Gives a node back to the thread that held the freed lock.
    #[cold]
    fn return_node(&self, owner: Name) {
        let own = u64::from(owner.node) + 1;
        loop {
            let head = self.amo(owner.thread, field!(returned), Function::Get, 0, 0);
            self.store_word(owner.thread, node_fields(owner.node).0, head);
            if self.amo(owner.thread, field!(returned), Function::CompareSwap, head, own) == head {
                return;
            }
        }
    }
}

/// The strict read that acquiring a lock implies, after the atomic operation that acquired it.
fn after_rmw() {
    if cfg!(target_arch = "x86_64") {
        // An atomic read-modify-write is a full fence on this processor: only the compiler needs a fence.
        // ORDER: SeqCst; as below.
        compiler_fence(SeqCst);
    } else {
        // ORDER: SeqCst; pairs with the fence of the unlock, through the words of the lock.
        fence(SeqCst);
    }
}

/// The strict write that releasing a lock implies, before the atomic operation that releases it.
fn before_rmw() {
    after_rmw();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_never_zero() {
        let first = Name { thread: 0, node: 0 };
        assert_ne!(first.encode(), 0);
        for name in [first, Name { thread: 1023, node: LOCK_NODES as u32 - 1 }] {
            assert_eq!(Name::decode(name.encode()), Some(name));
        }
        assert_eq!(Name::decode(0), None);
    }
}
