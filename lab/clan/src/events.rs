//! Event queues that cannot overflow.
//!
//! A queue has a fixed number of *sources*. Raising a source makes an entry unless the source has one
//! already. So a queue with a slot for every source never overflows: the slot is reserved when the source is
//! attached. One entry may stand for many events. Its taker looks at the source afterwards, and later events
//! make a new entry.
//!
//! A source's *generation* distinguishes an entry of its last owner from one of the present owner: numbers
//! are reused, generations are not. Events of the present owner make no entry while there is one of the last
//! owner. So whoever takes that one makes an entry for the present owner, which may stand for no event.

use gasnet::am::FIRST_CLIENT_HANDLER;
use gasnet::{Error, GlobalPtr, Rank, RankId};
use gasnet_sys::mutex::lock;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Most sources of a queue.
pub const MAX_SOURCES: u32 = 1 << 16;
/// In a source's word: it is raised by a message to its owner ([`PolledQueue`](crate::PolledQueue)).
const POLLED: u64 = 1 << 63;
/// The handler of these messages: below those of streams.
pub(crate) const RAISE: u8 = FIRST_CLIENT_HANDLER - 13;
/// How long a queue's descriptor may lag behind the queue.
const DESCRIPTOR_LAG: Duration = Duration::from_micros(100);

/// A source of a queue.
#[derive(Debug, PartialEq, Eq)]
pub struct EventSource {
    queue: GlobalPtr<u64>,
    number: u32,
    generation: u32,
    polled: bool,
}

impl EventSource {
    /// A source of a polled queue of this rank.
    pub(crate) fn polled(rank: &Rank, number: u32, generation: u32) -> EventSource {
        EventSource { queue: GlobalPtr::new(rank.id(), 0), number, generation, polled: true }
    }

    /// Its number, which is reused after the source is given back.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// How often its number was given out before.
    pub fn generation(&self) -> u32 {
        self.generation
    }

    /// Queue, generation and number in a word that others can raise.
    pub(crate) fn word(&self) -> u64 {
        // A queue starts at a multiple of 64, below 2^37.
        let polled = if self.polled { POLLED } else { 0 };
        let generation = u64::from(self.generation & 0xffff) << 16;
        polled | self.queue.offset() >> 6 << 32 | generation | u64::from(self.number)
    }

    /// Raises the source that a word names, at its owner: makes one entry in the queue, unless there is one.
    pub(crate) fn raise(rank: &Rank, owner: RankId, event: u64) {
        if event & POLLED != 0 {
            if !rank.has_departed(owner) {
                // One that has just left need not know.
                let _ = rank.request_short(owner, RAISE, &[event as u32]);
            }
            return;
        }
        let (source, queue) = (event as u32, GlobalPtr::<u64>::new(owner, event >> 32 << 6));
        let places = rank.atomics().load(queue.add(1));
        let pending = queue.add(8 + (source & 0xffff) as usize);
        let set = rank.atomics().swap(pending, 1);
        if set != 0 {
            return;
        }
        let at = rank.atomics().fetch_add(queue, 1);
        let sources = rank.atomics().load(queue.add(2));
        let place = queue.add(8 + sources as usize + (at % places) as usize);
        rank.atomics().swap(place, (at / places + 1) << 32 | u64::from(source));
    }

    /// Raises the source, for events of the program's own.
    pub fn deliver(&self, rank: &Rank) {
        EventSource::raise(rank, self.queue.rank(), self.word());
    }
}

/// An entry of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueuedEvent {
    /// Number of its source.
    pub source: u32,
    /// The cookie given when the source was attached; `None` if the source that made the entry has been given
    /// back since.
    pub cookie: Option<u64>,
}

#[derive(Debug, Clone, Copy, Default)]
struct SourceSlot {
    generation: u32,
    cookie: Option<u64>,
}

/// A queue of events of the own rank. Only one thread takes entries.
#[derive(Debug)]
pub struct EventQueue<'r> {
    rank: &'r Rank,
    /// Number of entries made, slots, sources; from the eighth word on a word for each source, then the
    /// slots.
    words: GlobalPtr<u64>,
    sources: u32,
    places: u64,
    slots: Vec<SourceSlot>,
    free: Vec<u32>,
    taken: u64,
    looked: u64,
    descriptor: Option<Descriptor>,
}

impl<'r> EventQueue<'r> {
    /// A queue for up to `sources` sources.
    ///
    /// # Collective
    /// # Errors
    /// No room in the segments, or too many sources.
    pub fn new(rank: &'r Rank, sources: u32) -> Result<EventQueue<'r>, Error> {
        if sources > MAX_SOURCES {
            return Err(Error::op(format!("{sources} sources for an event queue; at most {MAX_SOURCES}")));
        }
        let places = u64::from(sources + 1).next_power_of_two();
        let words = 8 + u64::from(sources) + places;
        let at = rank.segments().allocate_agreed(8 * words, 64)?;
        if at >> 37 != 0 {
            return Err(Error::op("an event queue beyond the first 128 GiB of a segment"));
        }
        let queue = GlobalPtr::new(rank.id(), at);
        rank.write_slice(queue, &vec![0u64; words as usize]);
        rank.write(queue.add(1), places);
        rank.write(queue.add(2), sources.into());
        rank.barrier();
        Ok(EventQueue {
            rank,
            words: queue,
            sources,
            places,
            slots: vec![SourceSlot::default(); sources as usize],
            free: (0..sources).rev().collect(),
            taken: 0,
            looked: 0,
            descriptor: None,
        })
    }

    /// Reserves a slot for a source; its entries carry the cookie.
    ///
    /// # Errors
    /// All sources are in use.
    pub fn attach(&mut self, cookie: u64) -> Result<EventSource, Error> {
        let Some(number) = self.free.pop() else {
            return Err(Error::op(format!("an event queue for {} sources has as many", self.sources)));
        };
        let slot = &mut self.slots[number as usize];
        slot.cookie = Some(cookie);
        Ok(self.source(number))
    }

    /// The source that has this number now.
    fn source(&self, number: u32) -> EventSource {
        let generation = self.slots[number as usize].generation;
        EventSource { queue: self.words, number, generation, polled: false }
    }

    /// Gives a source back. The tripwires that raise it must be detached first. If it has an entry, the entry
    /// comes without a cookie.
    pub fn detach(&mut self, source: EventSource) {
        let slot = &mut self.slots[source.number as usize];
        slot.cookie = None;
        slot.generation = slot.generation.wrapping_add(1);
        self.free.push(source.number);
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.next().is_none()
    }

    /// The next entry: source and generation.
    fn next(&self) -> Option<u32> {
        let place = self.words.add(8 + self.sources as usize + (self.taken % self.places) as usize);
        let value = self.rank.atomics().load(place);
        // The rank that makes the entry may be between taking the slot and filling it.
        (value >> 32 == self.taken / self.places + 1).then_some(value as u32)
    }

    /// Takes the next entry.
    pub fn get(&mut self) -> Option<QueuedEvent> {
        self.looked += 1;
        let word = self.next();
        if let Some(word) = word {
            self.taken += 1;
            // Cleared before the caller looks at the source: later events make a new entry.
            self.rank.atomics().swap(self.words.add(8 + (word & 0xffff) as usize), 0);
        }
        if let Some(descriptor) = &self.descriptor {
            descriptor.show(self.taken, || self.is_empty());
        }
        let Some(word) = word else {
            self.rank.poll();
            return None;
        };
        let (source, generation) = (word & 0xffff, word >> 16);
        let slot = self.slots[source as usize];
        let cookie = slot.cookie.filter(|_| slot.generation & 0xffff == generation);
        if cookie.is_none() && slot.cookie.is_some() {
            self.source(source).deliver(self.rank);
        }
        Some(QueuedEvent { source, cookie })
    }

    /// Waits until there is an entry.
    pub fn wait(&self) {
        self.rank.wait_until("an event queue", || !self.is_empty());
    }

    /// Waits until there is an entry, but not longer than `longest`. Returns whether there is one.
    pub fn wait_for(&self, longest: Duration) -> bool {
        let begun = self.rank.now();
        self.rank.wait_until("an event queue, for a time", || {
            !self.is_empty() || self.rank.now().saturating_sub(begun) >= longest
        });
        !self.is_empty()
    }

    /// Number of slots that [`get`](Self::get) has examined: one for each call, however many sources there
    /// are.
    pub fn looked(&self) -> u64 {
        self.looked
    }
}

/// A descriptor that shows whether a queue is empty; a thread updates it.
#[derive(Debug)]
struct Descriptor {
    shown: Arc<Mutex<Shown>>,
    fd: Arc<OwnedFd>,
    over: Arc<AtomicBool>,
}

#[derive(Debug)]
struct Shown {
    file: File,
    readable: bool,
    /// Entries taken.
    taken: u64,
}

impl Shown {
    fn set(&mut self, readable: bool) {
        if readable != self.readable {
            let mut count = 1u64.to_ne_bytes();
            let done = if readable { self.file.write(&count) } else { self.file.read(&mut count) };
            if done.is_ok() {
                self.readable = readable;
            }
        }
    }
}

impl Descriptor {
    fn show(&self, taken: u64, is_empty: impl Fn() -> bool) {
        let mut shown = lock(&self.shown);
        shown.taken = taken;
        shown.set(!is_empty());
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        self.over.store(true, Relaxed);
    }
}

impl EventQueue<'static> {
    /// A descriptor that is readable while there is an entry, for waiting together with other descriptors.
    /// From the first call on a thread keeps it up to date, polling for the rank every 100 us.
    ///
    /// # Errors
    /// The rank is for one thread ([`gasnet::Threading::Serial`]), or the system has no more descriptors or
    /// threads.
    pub fn descriptor(&mut self) -> Result<BorrowedFd<'_>, Error> {
        if self.descriptor.is_none() {
            if !self.rank.is_parallel() {
                return Err(Error::op(
                    "the descriptor of an event queue has a thread of its own: the rank was started for one thread",
                ));
            }
            let fd = gasnet_sys::fd::Bell::new()
                .map(OwnedFd::from)
                .map_err(|e| Error::op(format!("a descriptor for an event queue: {e}")))?;
            let file = fd.try_clone().map_err(|e| Error::op(format!("a descriptor: {e}")))?.into();
            let shown = Arc::new(Mutex::new(Shown { file, readable: false, taken: self.taken }));
            let over = Arc::new(AtomicBool::new(false));
            let (rank, words, places, sources) = (self.rank, self.words, self.places, self.sources as usize);
            let (theirs, done) = (shown.clone(), over.clone());
            let keep = move || {
                while !done.load(Relaxed) {
                    rank.poll();
                    {
                        let mut shown = lock(&theirs);
                        let place = words.add(8 + sources + (shown.taken % places) as usize);
                        let there = rank.atomics().load(place) >> 32 == shown.taken / places + 1;
                        shown.set(there);
                    }
                    std::thread::sleep(DESCRIPTOR_LAG);
                }
            };
            std::thread::Builder::new()
                .name("gasnet-events".into())
                .spawn(keep)
                .map_err(|e| Error::op(format!("a thread for an event queue: {e}")))?;
            self.descriptor = Some(Descriptor { shown, fd: Arc::new(fd), over });
        }
        let descriptor = self.descriptor.as_ref().expect("just made");
        descriptor.show(self.taken, || self.is_empty());
        Ok(descriptor.fd.as_fd())
    }
}
