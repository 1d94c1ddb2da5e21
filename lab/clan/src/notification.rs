//! Notifications: event counts, and one-shot numbers.

use crate::bed;
use gasnet::{Error, GlobalPtr, Rank, RankId, Shared};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Numbers from here on are one-shot: each arrives separately, in the order of sending of each sender.
pub const FIRST_ONE_SHOT: u32 = 1024;

type Call<'r> = Box<dyn FnMut(u32) + Send + 'r>;

/// The event counts of a rank, and how many of each were taken: by its program, and by
/// [`Upcalls`](crate::Upcalls).
#[derive(Debug)]
pub(crate) struct RaisedCounts {
    counts: GlobalPtr<u64>,
    taken: Box<[AtomicU64]>,
    /// Whether there are upcalls.
    served: AtomicBool,
}

impl RaisedCounts {
    pub(crate) fn len(&self) -> u32 {
        self.taken.len() as u32
    }

    /// Says whether there are upcalls. False: that was so already.
    pub(crate) fn serve(&self, served: bool) -> bool {
        // Relaxed: what the threads share is handed over when one is started or waited for.
        self.served.swap(served, Ordering::Relaxed) != served
    }

    fn count(&self, number: u32) -> GlobalPtr<u64> {
        self.counts.add(number as usize)
    }

    pub(crate) fn pending(&self, rank: &Rank, number: u32) -> u64 {
        // Relaxed: a count of its own; what a signal hands over comes with the load of the count.
        rank.atomics()
            .load(self.count(number))
            .saturating_sub(self.taken[number as usize].load(Ordering::Relaxed))
    }

    /// Takes one, if one is pending: of several threads one has it.
    pub(crate) fn take(&self, rank: &Rank, number: u32) -> bool {
        let raised = rank.atomics().load(self.count(number));
        let next = |taken: u64| (taken < raised).then(|| taken + 1);
        // Relaxed: as in `pending`.
        self.taken[number as usize].fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).is_ok()
    }
}

/// The notifications of a rank: event counts 0 to `events - 1`, and a queue of one-shot numbers.
///
/// Ranks raise counts of others, usually after writing data ([`put`](Self::put)). The owner waits for its own
/// counts, tests them, or has handlers run: by its own [`dispatch`](Self::dispatch), or, while it computes,
/// by [`Upcalls`](crate::Upcalls).
pub struct Notification<'r> {
    rank: &'r Rank,
    /// The own counts; before them the word at which upcalls sleep, behind them the queue: the number of sent
    /// ones, and slots.
    counts: Arc<RaisedCounts>,
    bell: GlobalPtr<u64>,
    queue: GlobalPtr<u64>,
    events: u32,
    places: u32,
    received: u64,
    handlers: Vec<Option<Call<'r>>>,
}

impl core::fmt::Debug for Notification<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Notification").field("events", &self.events).field("places", &self.places).finish()
    }
}

impl<'r> Notification<'r> {
    /// `events` counts (fewer than 1024) and a queue of `places` one-shot numbers on every rank.
    ///
    /// # Collective
    /// # Errors
    /// No room in the segments, or too many counts.
    pub fn new(rank: &'r Rank, events: u32, places: u32) -> Result<Notification<'r>, Error> {
        if events > FIRST_ONE_SHOT {
            return Err(Error::op(format!(
                "{events} event counts: numbers from {FIRST_ONE_SHOT} are one-shot"
            )));
        }
        let words = u64::from(events) + 2 + u64::from(places);
        let bell = GlobalPtr::new(rank.id(), rank.segments().allocate_agreed(words * 8, 64)?);
        rank.write_slice(bell, &vec![0u64; words as usize]);
        rank.barrier();
        let counts = bell.add(1);
        let taken = (0..events).map(|_| AtomicU64::new(0)).collect();
        Ok(Notification {
            rank,
            counts: Arc::new(RaisedCounts { counts, taken, served: AtomicBool::new(false) }),
            bell,
            queue: counts.add(events as usize),
            events,
            places,
            received: 0,
            handlers: (0..events).map(|_| None).collect(),
        })
    }

    /// The parts that upcalls need: the rank, the counts, and where to sleep.
    #[cfg_attr(loom, expect(dead_code, reason = "models have no threads of the system"))]
    pub(crate) fn parts(&self) -> (&'r Rank, Arc<RaisedCounts>, GlobalPtr<u64>) {
        (self.rank, self.counts.clone(), self.bell)
    }

    fn check(&self, number: u32) -> Result<(), Error> {
        match number {
            n if n < self.events || n >= FIRST_ONE_SHOT && self.places > 0 => Ok(()),
            n => Err(Error::op(format!("there is no notification {n} here"))),
        }
    }

    /// Raises a notification of a rank, after everything that this rank did before. One-shot numbers beyond
    /// the room of the receiver push out the oldest.
    ///
    /// # Errors
    /// There is no such number.
    pub fn notify(&mut self, to: RankId, number: u32) -> Result<(), Error> {
        self.check(number)?;
        if number < FIRST_ONE_SHOT {
            self.rank.atomics().fetch_add(self.counts.count(number).on(to), 1);
            bed::wake_at(self.rank, self.bell.on(to));
            return Ok(());
        }
        let at = self.rank.atomics().fetch_add(self.queue.on(to), 1);
        let place = self.queue.add(1 + (at % u64::from(self.places)) as usize).on(to);
        let round = at / u64::from(self.places) + 1;
        self.rank.atomics().swap(place, round << 32 | u64::from(number));
        Ok(())
    }

    /// Writes values to a rank and then raises a notification there.
    ///
    /// # Errors
    /// There is no such number; nothing is written.
    pub fn put<T: Shared>(&mut self, to: GlobalPtr<T>, values: &[T], number: u32) -> Result<(), Error> {
        self.check(number)?;
        self.rank.write_slice(to, values);
        self.notify(to.rank(), number)
    }

    /// How often an own count was raised and not taken yet.
    ///
    /// # Panics
    /// The number is not a count's.
    pub fn pending(&self, number: u32) -> u64 {
        self.counts.pending(self.rank, number)
    }

    /// Takes one, if one is pending.
    pub fn take(&mut self, number: u32) -> bool {
        let there = self.counts.take(self.rank, number);
        if !there {
            // Callers test in loops: on conduits whose notifications are messages, polling receives them.
            self.rank.poll();
        }
        there
    }

    /// Waits for one and takes it.
    pub fn wait(&mut self, number: u32) {
        self.rank.wait_until("a notification", || self.counts.take(self.rank, number));
    }

    /// The next one-shot number, if one has come. Numbers that were pushed out are skipped.
    pub fn next_one_shot(&mut self) -> Option<u32> {
        if self.places == 0 {
            return None;
        }
        let places = u64::from(self.places);
        let sent = self.rank.atomics().load(self.queue);
        self.received = self.received.max(sent.saturating_sub(places));
        if self.received == sent {
            self.rank.poll();
            return None;
        }
        let value = self.rank.atomics().load(self.queue.add(1 + (self.received % places) as usize));
        // Its sender is between taking the slot and filling it, or a later number has come.
        if value >> 32 != self.received / places + 1 {
            return None;
        }
        self.received += 1;
        Some(value as u32)
    }

    /// Makes [`dispatch`](Self::dispatch) call `handler` for every signal of a count, including those
    /// pending.
    ///
    /// # Panics
    /// The number is not a count's.
    pub fn arm(&mut self, number: u32, handler: impl FnMut(u32) + Send + 'r) {
        self.handlers[number as usize] = Some(Box::new(handler));
    }

    /// Stops calling the handler; later signals are pending.
    pub fn disarm(&mut self, number: u32) {
        self.handlers[number as usize] = None;
    }

    /// Calls handlers, exactly once for each signal. Returns the number of calls.
    pub fn dispatch(&mut self) -> u64 {
        let mut calls = 0;
        for number in 0..self.events {
            let Some(mut handler) = self.handlers[number as usize].take() else { continue };
            while self.take(number) {
                handler(number);
                calls += 1;
            }
            self.handlers[number as usize] = Some(handler);
        }
        calls
    }
}
