//! A single-producer single-consumer ring of fixed slots in memory that two processes share.
//!
//! **Vocabulary.** A *position* counts messages since the start and never wraps in practice (64 bits);
//! position `p` lives in slot `p mod capacity`. A slot's *stamp* is the lap of the message in it: `p /
//! capacity + 1`, so the zero-filled memory a ring starts in holds no message. *head* is the first position
//! not yet released by the consumer.
//!
//! **Protocol.** The producer fills the slot of its `tail` and stores the stamp (Release); the consumer reads
//! the stamp of its `head` (Acquire), uses the slot in place, and publishes the new `head` (Release) when it
//! is done with some. The producer keeps a private copy of `head` and looks at the shared one only when its
//! copy says "full": in steady state a message costs one cache-line transfer, and the consumer polls a single
//! line that nobody else writes until there is a message.
//!
//! **Why laps.** Nothing has to reset a slot, so a line moves only from producer to consumer. A stamp can
//! only be the current lap or an older one, because the producer may not write a slot before the consumer
//! released it.
//!
//! **Invariants.** `head <= tail <= head + capacity`; only the producer writes slots in `[tail, head +
//! capacity)`, only the consumer reads slots in `[head, tail)`. One [`Producer`] and one [`Consumer`] exist
//! per ring, in whatever process; giving out a second one is the (unsafe) mistake.
#![expect(
    unsafe_code,
    reason = "slots are shared with another process; the stamp protocol above is the deed"
)]

use crate::prim::{AtomicU32, AtomicU64, Ordering, UnsafeCell};

/// A slot: the stamp and the message share the first cache line.
#[repr(C, align(128))]
pub(crate) struct Slot<T> {
    stamp: AtomicU32,
    body: UnsafeCell<T>,
}

/// The consumer's published position, alone on its cache lines.
#[repr(C, align(128))]
pub(crate) struct ReadPosition(AtomicU64);

/// Where a ring lies: `slots.len()` is a power of two.
pub(crate) struct Ring<T: 'static> {
    slots: &'static [Slot<T>],
    head: &'static ReadPosition,
    mask: u64,
    shift: u32,
}

impl<T> Clone for Ring<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Ring<T> {}

// SAFETY: a `Ring` is only a place; access goes through Producer and Consumer, whose uniqueness their
// constructors demand.
unsafe impl<T: Send> Send for Ring<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Ring<T> {}

impl<T> Ring<T> {
    /// A ring in zero-filled (or already used) shared memory.
    pub(crate) fn new(slots: &'static [Slot<T>], head: &'static ReadPosition) -> Ring<T> {
        assert!(slots.len().is_power_of_two());
        Ring { slots, head, mask: slots.len() as u64 - 1, shift: slots.len().trailing_zeros() }
    }

    /// Whether a message waits for the consumer: a hint for the rank that receives, from any of its threads.
    /// A message that was there before the call is seen; what it says is to be read through
    /// [`Consumer::front`].
    #[inline]
    pub(crate) fn has_message(&self) -> bool {
        let head = self.head();
        self.slot(head).stamp.load(Ordering::Relaxed) == self.stamp(head)
    }

    /// The consumer's position, as it published it: a hint.
    #[inline]
    pub(crate) fn head(&self) -> u64 {
        self.head.0.load(Ordering::Relaxed)
    }

    #[inline]
    fn slot(&self, pos: u64) -> &'static Slot<T> {
        // The mask keeps the index in range; the compiler cannot see that, and a bounds check is one
        // predictable branch.
        &self.slots[(pos & self.mask) as usize]
    }

    fn stamp(&self, pos: u64) -> u32 {
        (pos >> self.shift).wrapping_add(1) as u32
    }
}

/// The sending half; private to one process, used by one thread at a time.
pub(crate) struct Producer<T: 'static> {
    ring: Ring<T>,
    tail: u64,
    head_seen: u64,
}

impl<T> Producer<T> {
    /// # Safety
    /// 1. The only producer of this ring in any process (owed by the caller). 2. No message was ever sent on
    ///    it.
    pub(crate) unsafe fn new(ring: Ring<T>) -> Producer<T> {
        Producer { ring, tail: 0, head_seen: 0 }
    }

    /// The ring, to see from outside where the consumer is.
    pub(crate) fn ring(&self) -> Ring<T> {
        self.ring
    }

    /// The position the next message will have.
    pub(crate) fn tail(&self) -> u64 {
        self.tail
    }

    /// The consumer's head as last seen.
    pub(crate) fn head_seen(&self) -> u64 {
        self.head_seen
    }

    /// Looks at the consumer's head again.
    #[cold]
    pub(crate) fn refresh(&mut self) {
        // ORDER: Acquire; pairs with Release in Consumer::flush; the consumer's reads of the slots below it
        // are over.
        self.head_seen = self.ring.head.0.load(Ordering::Acquire);
    }

    /// Whether a slot is free, after at most one look at the shared head.
    #[inline]
    pub(crate) fn has_room(&mut self) -> bool {
        if self.is_full() {
            self.refresh();
        }
        !self.is_full()
    }

    /// Whether no slot was free when the consumer's head was last seen.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.tail - self.head_seen > self.ring.mask
    }

    /// Fills the next slot through `f` and publishes it. Without room (see [`Producer::has_room`]) it panics.
    #[inline]
    pub(crate) fn push(&mut self, f: impl FnOnce(*mut T)) {
        assert!(!self.is_full(), "push into a full ring");
        let slot = self.ring.slot(self.tail);
        slot.body.with_mut(f);
        // ORDER: Release; pairs with Acquire in Consumer::front; publishes the slot (and any payload written
        // before).
        slot.stamp.store(self.ring.stamp(self.tail), Ordering::Release);
        self.tail += 1;
    }
}

/// The receiving half; private to one process, used by one thread at a time.
pub(crate) struct Consumer<T: 'static> {
    ring: Ring<T>,
    head: u64,
}

/// Number of slots that a consumer releases with one store to `head`. A store for each slot would move the
/// cache line of `head` to and fro, because a producer that waits for room reads it all the time.
const SLOTS_PER_HEAD_UPDATE: u64 = 16;

impl<T> Consumer<T> {
    /// # Safety
    /// 1. The only consumer of this ring in any process (owed by the caller). 2. Nothing was ever received
    ///    from it.
    pub(crate) unsafe fn new(ring: Ring<T>) -> Consumer<T> {
        Consumer { ring, head: 0 }
    }

    /// The ring, to look for messages from outside.
    pub(crate) fn ring(&self) -> Ring<T> {
        self.ring
    }

    /// The oldest message, in place, if there is one. It stays valid until [`Consumer::release`].
    #[inline]
    pub(crate) fn front<R>(&self, f: impl FnOnce(*const T) -> R) -> Option<R> {
        let slot = self.ring.slot(self.head);
        // ORDER: Acquire; pairs with Release in Producer::push; the slot's body and payload are visible.
        if slot.stamp.load(Ordering::Acquire) != self.ring.stamp(self.head) {
            return None;
        }
        Some(slot.body.with(f))
    }

    /// Done with the oldest message; its slot goes back to the producer now or, at the latest, by
    /// [`Consumer::flush`].
    #[inline]
    pub(crate) fn release(&mut self) {
        self.head += 1;
        if self.head.is_multiple_of(SLOTS_PER_HEAD_UPDATE.min(self.ring.mask)) {
            self.flush();
        }
    }

    /// Gives the slots of all released messages back. Comes after the last [`Consumer::release`] of a poll.
    #[inline]
    pub(crate) fn flush(&mut self) {
        // ORDER: Release; pairs with Acquire in Producer::refresh; our reads of the slot and payload come
        // before.
        self.ring.head.0.store(self.head, Ordering::Release);
    }
}

#[cfg(test)]
impl<T: Default> Slot<T> {
    pub(crate) fn leak_ring(capacity: usize) -> Ring<T> {
        let slots: Vec<Slot<T>> = (0..capacity)
            .map(|_| Slot { stamp: AtomicU32::new(0), body: UnsafeCell::new(T::default()) })
            .collect();
        Ring::new(Box::leak(slots.into_boxed_slice()), Box::leak(Box::new(ReadPosition(AtomicU64::new(0)))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every interleaving of a producer and a consumer over a ring of two slots and two laps: messages arrive
    /// once, in order and whole, and loom's cells see no access of one side while the other may touch the
    /// slot.
    #[cfg(loom)]
    #[test]
    fn loom_ring_delivers_in_order() {
        const N: u64 = 3;
        loom::model(|| {
            let ring = Slot::<u64>::leak_ring(2);
            // SAFETY: the only producer and consumer of a fresh ring.
            let (mut p, mut c) = unsafe { (Producer::new(ring), Consumer::new(ring)) };
            let t = loom::thread::spawn(move || {
                let mut i = 0;
                while i < N {
                    if p.has_room() {
                        // SAFETY: push hands out the slot for writing.
                        p.push(|s| unsafe { *s = i * 3 + 1 });
                        i += 1;
                    } else {
                        loom::thread::yield_now();
                    }
                }
            });
            let mut i = 0;
            while i < N {
                let hint = ring.has_message();
                // SAFETY: front hands out the slot for reading.
                let front = c.front(|s| unsafe { *s });
                assert!(front.is_some() || !hint, "a message that was there is gone");
                match front {
                    Some(v) => {
                        assert_eq!(v, i * 3 + 1);
                        c.release();
                        // A release that is not flushed would look like a message that is still there.
                        c.flush();
                        i += 1;
                    }
                    None => loom::thread::yield_now(),
                }
            }
            t.join().unwrap();
        });
    }

    #[cfg(not(loom))]
    #[test]
    fn fills_up_and_wraps() {
        let ring = Slot::<u64>::leak_ring(4);
        // SAFETY: the only producer and consumer of a fresh ring.
        let (mut p, mut c) = unsafe { (Producer::new(ring), Consumer::new(ring)) };
        for lap in 0..10u64 {
            for i in 0..4 {
                assert!(p.has_room());
                // SAFETY: push hands out the slot for writing.
                p.push(|s| unsafe { *s = lap * 4 + i });
            }
            assert!(!p.has_room());
            for i in 0..4 {
                // SAFETY: front hands out the slot for reading.
                assert_eq!(c.front(|s| unsafe { *s }), Some(lap * 4 + i));
                c.release();
            }
            c.flush();
            assert_eq!(c.front(|_| ()), None);
        }
    }
}
