//! Notifications: event counts, and one-shot ones with a number of their own.

use super::{load, word};
use crate::atomics::Function;
use crate::{Error, GlobalPtr, Rank, RankId, Shared};

/// Numbers from here on are one-shot: each arrives by itself, in the order of sending of each sender.
pub const ONE_SHOT: u32 = 1024;

type Call<'r> = Box<dyn FnMut(u32) + Send + 'r>;

/// The notifications of a rank: event counts 0 to `events - 1`, and a queue of one-shot numbers.
///
/// Ranks raise counts of others, usually behind data ([`put`](Self::put)); the owner waits for its own, tests them, or
/// has [handlers](Self::arm) run at its [`dispatch`](Self::dispatch).
pub struct Notification<'r> {
    rank: &'r Rank,
    /// The own counts; then the queue: how many were sent, and places.
    counts: GlobalPtr<u64>,
    queue: GlobalPtr<u64>,
    events: u32,
    places: u32,
    taken: Vec<u64>,
    received: u64,
    handlers: Vec<Option<Call<'r>>>,
}

impl core::fmt::Debug for Notification<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Notification").field("events", &self.events).field("places", &self.places).finish()
    }
}

impl<'r> Notification<'r> {
    /// `events` counts (fewer than 1024) and room for `places` one-shot numbers on every rank.
    ///
    /// # Collective
    /// # Errors
    /// No room in the segments, or too many counts.
    pub fn new(rank: &'r Rank, events: u32, places: u32) -> Result<Notification<'r>, Error> {
        if events > ONE_SHOT {
            return Err(Error::op(format!("{events} event counts: numbers from {ONE_SHOT} are one-shot")));
        }
        let words = u64::from(events) + 1 + u64::from(places);
        let at = rank.allocate(words * 8, 64)?;
        let counts = GlobalPtr::new(rank.id(), at);
        rank.write_slice(counts, &vec![0u64; words as usize]);
        rank.barrier();
        Ok(Notification {
            rank,
            counts,
            queue: counts.add(events as usize),
            events,
            places,
            taken: vec![0; events as usize],
            received: 0,
            handlers: (0..events).map(|_| None).collect(),
        })
    }

    fn count(&self, number: u32) -> GlobalPtr<u64> {
        self.counts.add(number as usize)
    }

    fn check(&self, number: u32) -> Result<(), Error> {
        match number {
            n if n < self.events || n >= ONE_SHOT && self.places > 0 => Ok(()),
            n => Err(Error::op(format!("there is no notification {n} here"))),
        }
    }

    /// Raises a notification of a rank, after all that this rank did before. One-shot numbers beyond the room of the receiver
    /// push out the oldest.
    ///
    /// # Errors
    /// There is no such number.
    pub fn notify(&mut self, to: RankId, number: u32) -> Result<(), Error> {
        self.check(number)?;
        if number < ONE_SHOT {
            self.rank.fetch_add(self.count(number).on(to), 1);
            return Ok(());
        }
        let at = self.rank.fetch_add(self.queue.on(to), 1);
        let place = self.queue.add(1 + (at % u64::from(self.places)) as usize).on(to);
        let round = at / u64::from(self.places) + 1;
        self.rank.atomic(
            place.rank(),
            place.offset(),
            word(Function::Set),
            round << 32 | u64::from(number),
            0,
        );
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
    /// The number is not that of a count.
    pub fn pending(&self, number: u32) -> u64 {
        load(self.rank, self.count(number)) - self.taken[number as usize]
    }

    /// Takes one, if it is pending.
    pub fn take(&mut self, number: u32) -> bool {
        let there = self.pending(number) > 0;
        self.taken[number as usize] += u64::from(there);
        if !there {
            // As in a loop: where notifications are messages, they come by polling.
            self.rank.poll();
        }
        there
    }

    /// Waits for one and takes it.
    pub fn wait(&mut self, number: u32) {
        self.rank.wait_until("a notification", || self.pending(number) > 0);
        self.taken[number as usize] += 1;
    }

    /// The next one-shot number, if one has come. Skips those that were pushed out.
    pub fn next_one_shot(&mut self) -> Option<u32> {
        if self.places == 0 {
            return None;
        }
        let places = u64::from(self.places);
        let sent = load(self.rank, self.queue);
        self.received = self.received.max(sent.saturating_sub(places));
        if self.received == sent {
            self.rank.poll();
            return None;
        }
        let value = load(self.rank, self.queue.add(1 + (self.received % places) as usize));
        // Its sender is between taking the place and filling it, or a later one has come.
        if value >> 32 != self.received / places + 1 {
            return None;
        }
        self.received += 1;
        Some(value as u32)
    }

    /// Has `handler` called for every signal of a count from now on, those pending included, at [`dispatch`](Self::dispatch).
    ///
    /// # Panics
    /// The number is not that of a count.
    pub fn arm(&mut self, number: u32, handler: impl FnMut(u32) + Send + 'r) {
        self.handlers[number as usize] = Some(Box::new(handler));
    }

    /// Calls no handler any more; signals are pending from then on.
    pub fn disarm(&mut self, number: u32) {
        self.handlers[number as usize] = None;
    }

    /// Calls handlers, exactly once for each signal. Returns how often.
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
