//! Polled event queues: one ring for all queues of a rank, which whoever has nothing to do *distributes*.
//!
//! To raise a source of an [`EventQueue`](crate::EventQueue) takes five remote operations. To raise one of a
//! polled queue takes a message that nobody waits for: the owner appends to the ring when it polls. A
//! consumer that finds its own queue empty polls, takes everything out of the ring, gives each queue its
//! events, and wakes those that sleep for them. So a busy rank distributes seldom, and many events at a time;
//! an idle one, whose consumers sleep, looks every 100 us.
//!
//! A source has at most one event that was not taken, in the ring or in its queue: so neither can overflow. A
//! number is given out again when its last event was taken, with another generation: what is raised for an
//! old one is nothing.
//!
//! After CLAN's proposal (Riddoch 4.6.2). There a ring that is almost full interrupts; here it has a place
//! for each source.

use crate::events::{EventSource, MAX_SOURCES, QueuedEvent, RAISE};
use core::time::Duration;
use gasnet::{Error, Handler, Rank};
use gasnet_sys::mutex::lock;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex};

/// Longest time for which a sleeper does not look at the ring.
const LONGEST_SLEEP: Duration = Duration::from_micros(100);

#[derive(Debug, Clone, Copy, Default)]
struct PolledSource {
    generation: u32,
    cookie: Option<u64>,
    queue: usize,
    /// It has an event that was not taken.
    is_pending: bool,
}

#[derive(Debug, Default)]
struct Ring {
    /// Sources that were raised.
    raised: VecDeque<u32>,
    sources: Vec<PolledSource>,
    free: Vec<u32>,
    /// By queue: what was distributed.
    lists: Vec<VecDeque<u32>>,
    distributions: u64,
    distributed: u64,
}

impl Ring {
    fn raise(&mut self, word: u32) {
        let (number, generation) = (word & 0xffff, word >> 16);
        // A word of no source is none of ours.
        let Some(source) = self.sources.get_mut(number as usize) else { return };
        let is_attached = source.cookie.is_some() && source.generation & 0xffff == generation;
        if is_attached && !std::mem::replace(&mut source.is_pending, true) {
            self.raised.push_back(number);
        }
    }

    /// Gives every queue its events. False: there were none.
    fn distribute(&mut self) -> bool {
        let count = self.raised.len() as u64;
        for number in self.raised.drain(..) {
            self.lists[self.sources[number as usize].queue].push_back(number);
        }
        self.distributions += u64::from(count > 0);
        self.distributed += count;
        count > 0
    }

    fn take(&mut self, queue: usize) -> Option<QueuedEvent> {
        let number = self.lists[queue].pop_front()?;
        let source = &mut self.sources[number as usize];
        // Before the taker looks at the source: later events make a new entry.
        source.is_pending = false;
        if source.cookie.is_none() {
            self.free.push(number);
        }
        Some(QueuedEvent { source: number, cookie: source.cookie })
    }
}

#[derive(Debug)]
struct Rings<'r> {
    rank: &'r Rank,
    ring: Arc<Mutex<Ring>>,
    /// Somebody has distributed.
    distributed: Condvar,
}

impl Rings<'_> {
    /// The next event of a queue, after a look at the ring if it has none.
    fn take(&self, queue: usize) -> Option<QueuedEvent> {
        if let Some(event) = lock(&self.ring).take(queue) {
            return Some(event);
        }
        // Handlers take the lock.
        self.rank.poll();
        let mut ring = lock(&self.ring);
        if ring.distribute() {
            self.distributed.notify_all();
        }
        ring.take(queue)
    }
}

/// The polled event queues of a rank; see the [module](self).
#[derive(Debug)]
pub struct PolledQueues<'r>(Arc<Rings<'r>>);

impl<'r> PolledQueues<'r> {
    /// A ring for up to `sources` sources of all queues of the rank, which has one such ring.
    ///
    /// # Collective
    /// # Errors
    /// The rank has one, or too many sources.
    pub fn new(rank: &'r Rank, sources: u32) -> Result<PolledQueues<'r>, Error> {
        if sources > MAX_SOURCES {
            return Err(Error::op(format!(
                "{sources} sources for polled event queues; at most {MAX_SOURCES}"
            )));
        }
        let ring = Ring {
            sources: vec![PolledSource::default(); sources as usize],
            free: (0..sources).rev().collect(),
            ..Ring::default()
        };
        let ring = Arc::new(Mutex::new(ring));
        let raised = ring.clone();
        let handler = Handler::new(move |_, m| {
            if let [word] = *m.args {
                lock(&raised).raise(word);
            }
        });
        rank.register_library(RAISE, handler)
            .map_err(|_| Error::op("the rank has polled event queues already"))?;
        rank.barrier();
        Ok(PolledQueues(Arc::new(Rings { rank, ring, distributed: Condvar::new() })))
    }

    /// A queue over the ring.
    pub fn queue(&self) -> PolledQueue<'r> {
        let mut ring = lock(&self.0.ring);
        ring.lists.push(VecDeque::new());
        PolledQueue { rings: self.0.clone(), number: ring.lists.len() - 1 }
    }

    /// How often somebody has distributed, and how many events in all.
    pub fn distributions(&self) -> (u64, u64) {
        let ring = lock(&self.0.ring);
        (ring.distributions, ring.distributed)
    }
}

/// A queue of events of the own rank. Different queues may be in different threads.
#[derive(Debug)]
pub struct PolledQueue<'r> {
    rings: Arc<Rings<'r>>,
    number: usize,
}

impl PolledQueue<'_> {
    /// Reserves a place for a source; its events carry the cookie.
    ///
    /// # Errors
    /// All sources of the ring are in use.
    pub fn attach(&self, cookie: u64) -> Result<EventSource, Error> {
        let mut ring = lock(&self.rings.ring);
        let Some(number) = ring.free.pop() else {
            let all = ring.sources.len();
            return Err(Error::op(format!("the ring of polled event queues for {all} sources has as many")));
        };
        let source = &mut ring.sources[number as usize];
        (source.cookie, source.queue) = (Some(cookie), self.number);
        Ok(EventSource::polled(self.rings.rank, number, source.generation))
    }

    /// Gives a source back. If it has an event, this comes without a cookie.
    pub fn detach(&self, source: EventSource) {
        let mut ring = lock(&self.rings.ring);
        // Of another rank or queue: nothing of this one.
        let Some(own) = ring.sources.get_mut(source.number() as usize) else { return };
        if own.cookie.is_some() && own.generation == source.generation() {
            own.cookie = None;
            own.generation = own.generation.wrapping_add(1);
            if !own.is_pending {
                ring.free.push(source.number());
            }
        }
    }

    /// Takes the next event, after distributing what is in the ring if there is none.
    pub fn get(&self) -> Option<QueuedEvent> {
        self.rings.take(self.number)
    }

    /// Waits for the next event and takes it. Sleeps, but for a look every 100 us.
    pub fn wait(&self) -> QueuedEvent {
        loop {
            if let Some(event) = self.get() {
                return event;
            }
            let ring = lock(&self.rings.ring);
            if ring.lists[self.number].is_empty() && ring.raised.is_empty() {
                drop(self.rings.distributed.wait_timeout(ring, LONGEST_SLEEP));
            }
        }
    }
}
