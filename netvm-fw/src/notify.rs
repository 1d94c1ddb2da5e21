//! Notifications: event counts with many senders and one receiver.
//!
//! Numbers 1 to 1023 are *event counts*: the NIC counts signals, the port counts those it has handled, and
//! the difference is pending. When a count is *armed*, the first pending signal puts one entry in the port's
//! notice queue and interrupts; later signals coalesce with it. Numbers from 1024 are *one-shot*: no count,
//! one entry each, in the order of sending.
//!
//! **Who writes what.** The NIC writes signals. The port writes acknowledgements, arming and requests to
//! mirror. Mirrors and notices are in host memory and are written by DMA, which is
//! [`Notifications::mirror`] and [`Notifications::push`] here.
//!
//! **The handshake** (Dekker's algorithm). The NIC writes the signal, then reads armed and acknowledged; the
//! port writes one of these, then reads the signal; both sides have a full fence between the two steps. So a
//! signal is seen by the port, or makes an entry, or both. The dispatcher looks again before every call, so
//! that both is still one call.

use crate::prim::{self, AtomicU32, Ordering, fence};

/// Event counts of a port: numbers 1 to `EVENT_NUMBERS - 1`.
pub const EVENT_NUMBERS: u32 = 1024;

/// The NIC's actions for a notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Raised {
    /// Write this count to the mirror in host memory.
    pub mirror: Option<u32>,
    /// Put an entry in the notice queue and interrupt.
    pub notice: bool,
}

/// Event counts and notice queue of a port.
#[derive(Debug)]
pub struct Notifications {
    signal: Box<[AtomicU32]>,
    acknowledged: Box<[AtomicU32]>,
    armed: Box<[AtomicU32]>,
    mirrored: Box<[AtomicU32]>,
    mirror: Box<[AtomicU32]>,
    notices: Box<[AtomicU32]>,
    /// Number of the next entry that the NIC writes, and that the port reads; free-running.
    pushed: AtomicU32,
    popped: AtomicU32,
    overflowed: AtomicU32,
}

impl Notifications {
    /// Counts 1 to `events - 1`, and a queue of at least `notices` entries. The queue never overflows for
    /// event counts if it has an entry for each count that is ever armed; the program bounds one-shot
    /// notifications.
    pub fn new(events: u32, notices: u32) -> Notifications {
        let events = events.clamp(1, EVENT_NUMBERS) as usize;
        let array = || prim::words(events, 0);
        Notifications {
            signal: array(),
            acknowledged: array(),
            armed: array(),
            mirrored: array(),
            mirror: array(),
            notices: prim::words(notices.next_power_of_two() as usize, 0),
            pushed: AtomicU32::new(0),
            popped: AtomicU32::new(0),
            overflowed: AtomicU32::new(0),
        }
    }

    /// Whether this number can be raised here.
    pub fn has(&self, number: u32) -> bool {
        number != 0 && (number >= EVENT_NUMBERS || (number as usize) < self.signal.len())
    }

    // ---- the NIC's side

    /// Counts a notification, and returns what follows. Only the NIC calls this, for numbers that
    /// [exist](Self::has).
    #[inline]
    pub fn raise(&self, number: u32) -> Raised {
        if number >= EVENT_NUMBERS {
            return Raised { mirror: None, notice: true };
        }
        let i = number as usize;
        let count = self.signal[i].load(Ordering::Relaxed).wrapping_add(1);
        // ORDER: Release; pairs with Acquire in `signals`; the data that the notification follows.
        self.signal[i].store(count, Ordering::Release);
        // ORDER: SeqCst; pairs with the fences in arm, acknowledge and want_mirror: we see theirs, or they
        // see the signal.
        fence(Ordering::SeqCst);
        let mirror = (self.mirrored[i].load(Ordering::Relaxed) != 0).then_some(count);
        let first = count.wrapping_sub(self.acknowledged[i].load(Ordering::Relaxed)) == 1;
        Raised { mirror, notice: first && self.armed[i].load(Ordering::Relaxed) != 0 }
    }

    /// Writes a mirror (by DMA).
    pub fn mirror(&self, number: u32, count: u32) {
        // ORDER: Release; pairs with Acquire in `mirrored`; the data that the notification follows.
        self.mirror[number as usize].store(count, Ordering::Release);
    }

    /// Puts an entry in the notice queue (by DMA). Returns false if it is full; the entry is lost, and
    /// counted.
    pub fn push(&self, number: u32) -> bool {
        let at = self.pushed.load(Ordering::Relaxed);
        // ORDER: Acquire; pairs with Release in `pop`: the entry has been read before it is written again.
        if at.wrapping_sub(self.popped.load(Ordering::Acquire)) as usize >= self.notices.len() {
            self.overflowed.store(self.overflowed.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
            return false;
        }
        self.notices[at as usize % self.notices.len()].store(number, Ordering::Relaxed);
        // ORDER: Release; pairs with Acquire in `pop`; the entry, and the data that the notification follows.
        self.pushed.store(at.wrapping_add(1), Ordering::Release);
        true
    }

    // ---- the port's side

    /// Signals so far, as counted by the NIC. Reads the NIC's memory: spin on [`mirrored`](Self::mirrored)
    /// instead.
    #[inline]
    pub fn signals(&self, number: u32) -> u32 {
        // ORDER: Acquire; pairs with Release in `raise`.
        self.signal[number as usize].load(Ordering::Acquire)
    }

    /// The mirror of [`signals`](Self::signals) in host memory.
    #[inline]
    pub fn mirrored(&self, number: u32) -> u32 {
        // ORDER: Acquire; pairs with Release in `mirror`.
        self.mirror[number as usize].load(Ordering::Acquire)
    }

    /// Signals that were not acknowledged yet.
    #[inline]
    pub fn pending(&self, number: u32) -> u32 {
        self.signals(number).wrapping_sub(self.acknowledged[number as usize].load(Ordering::Relaxed))
    }

    /// Turns mirroring on or off. Look at [`pending`](Self::pending) after it: earlier signals are not
    /// mirrored.
    pub fn want_mirror(&self, number: u32, yes: bool) {
        self.mirrored[number as usize].store(u32::from(yes), Ordering::Relaxed);
        // ORDER: SeqCst; pairs with the fence in `raise`.
        fence(Ordering::SeqCst);
    }

    /// One signal has been handled. Returns how many are left; they make no entry, so the caller has to
    /// handle them.
    #[inline]
    pub fn acknowledge(&self, number: u32) -> u32 {
        let acknowledged = &self.acknowledged[number as usize];
        acknowledged.store(acknowledged.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
        // ORDER: SeqCst; pairs with the fence in `raise`.
        fence(Ordering::SeqCst);
        self.pending(number)
    }

    /// Makes signals enter notices and interrupt from now on. Returns how many are pending already; the
    /// caller handles these.
    pub fn arm(&self, number: u32) -> u32 {
        self.armed[number as usize].store(1, Ordering::Relaxed);
        // ORDER: SeqCst; pairs with the fence in `raise`.
        fence(Ordering::SeqCst);
        self.pending(number)
    }

    /// Stops signals from entering notices.
    pub fn disarm(&self, number: u32) {
        self.armed[number as usize].store(0, Ordering::Relaxed);
    }

    /// Takes the next notice.
    pub fn pop(&self) -> Option<u32> {
        let at = self.popped.load(Ordering::Relaxed);
        // ORDER: Acquire; pairs with Release in `push`.
        if at == self.pushed.load(Ordering::Acquire) {
            return None;
        }
        let number = self.notices[at as usize % self.notices.len()].load(Ordering::Relaxed);
        // ORDER: Release; pairs with Acquire in `push`.
        self.popped.store(at.wrapping_add(1), Ordering::Release);
        Some(number)
    }

    /// Notices that were lost because the queue was full.
    pub fn overflows(&self) -> u32 {
        self.overflowed.load(Ordering::Relaxed)
    }

    /// Runs a handler for every pending signal of every notice: exactly once for each signal, and once for
    /// each one-shot notification. For interrupt handlers; must not run at the same time as another dispatch,
    /// [`arm`](Self::arm) or [`acknowledge`](Self::acknowledge).
    pub fn dispatch(&self, mut handler: impl FnMut(u32)) -> u32 {
        let mut calls = 0;
        while let Some(number) = self.pop() {
            if number >= EVENT_NUMBERS {
                handler(number);
                calls += 1;
                continue;
            }
            let mut pending = self.pending(number);
            while pending > 0 {
                handler(number);
                calls += 1;
                pending = self.acknowledge(number);
            }
        }
        calls
    }
}

#[cfg(all(test, loom))]
mod loom_tests;
