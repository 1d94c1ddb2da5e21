//! Tripwires: report that a rank touched an address, without that rank's knowledge.
//!
//! After CLAN (D. Riddoch, "Low Latency Distributed Computing", Cambridge 2002), whose cards compare the
//! address of every word that arrives with what their programs armed. Here the rank that touches *watched
//! memory* ([`Watch`]) compares: it writes (or reads), and then examines the tripwires of the memory's owner,
//! which are beside the memory. So tripwires see accesses through a [`Watch`] (or an
//! [`Endpoint`](super::Endpoint)), over any conduit and from neighbours. They do not see plain puts, or a
//! neighbour's own stores.
//!
//! **No lost wake-up.** The toucher writes, then looks for armed wires; the owner arms, then looks at the
//! memory again; both have a full fence between. So the owner sees the touch, or the touch trips the wire, or
//! both.
//!
//! **A wire's words** are changed only by its owner, while its state says that it is being changed. A toucher
//! that finds the same state before and after reading them has read consistent words. *Once* is a
//! compare-and-swap of the state: only one of many touches trips the wire.

use super::EventSource;
use core::ops::Range;
use core::sync::atomic::{Ordering, fence};
use gasnet::region::watch::{Trips, touches};
use gasnet::{Error, GlobalPtr, Rank, RankId, Shared};

/// The accesses that a tripwire detects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Reads by others.
    Read,
    /// Writes by others, and by the owner through its [`Watch`].
    Write,
    /// Both.
    Any,
}

const ARMED: u64 = 1;
const ONCE: u64 = 2;
const READ: u64 = 4;
const WRITE: u64 = 8;
/// Added with each change of a wire, so that the states of different changes differ.
const CHANGE: u64 = 16;

/// Words of a wire: its state, first byte, end, stride and width, number of trips, event.
const WORDS_PER_WIRE: usize = 8;
/// Most bytes of a put that are checked as one touch.
const MAX_TOUCH_BYTES: usize = 4096;

/// Memory of all ranks that can have tripwires.
#[derive(Debug)]
pub struct Watch<'r> {
    rank: &'r Rank,
    memory: GlobalPtr<u8>,
    len: u64,
    /// The number of armed wires, then the wires.
    table: GlobalPtr<u64>,
    wires: u32,
    made: u32,
}

impl<'r> Watch<'r> {
    /// Makes `bytes` of watched memory, zero, and up to `wires` tripwires, on every rank.
    ///
    /// # Collective
    /// # Errors
    /// No room in the segments.
    pub fn new(rank: &'r Rank, bytes: u64, wires: u32) -> Result<Watch<'r>, Error> {
        let words = WORDS_PER_WIRE * (wires as usize + 1);
        let table = GlobalPtr::new(rank.id(), rank.segments().allocate_agreed(8 * words as u64, 64)?);
        let memory = GlobalPtr::new(rank.id(), rank.segments().allocate_agreed(bytes, 64)?);
        rank.write_slice(table, &vec![0u64; words]);
        rank.write_slice(memory, &vec![0u8; bytes as usize]);
        rank.barrier();
        Ok(Watch { rank, memory, len: bytes, table, wires, made: 0 })
    }

    /// The start of a rank's watched memory.
    pub fn memory(&self, rank: RankId) -> GlobalPtr<u8> {
        self.memory.on(rank)
    }

    fn place<T>(&self, rank: RankId, at: u64, bytes: usize) -> Result<GlobalPtr<T>, Error> {
        let fits = at.checked_add(bytes as u64).is_some_and(|end| end <= self.len);
        if !fits || !at.is_multiple_of(align_of::<T>() as u64) {
            let len = self.len;
            return Err(Error::op(format!("{bytes} bytes at {at} of {len} bytes of watched memory")));
        }
        Ok(self.memory(rank).add(at as usize).cast())
    }

    /// Writes values to the watched memory of a rank, at byte `at`, and trips the wires armed there. Long
    /// writes are done in pieces, in order. The values are in place on return.
    ///
    /// # Errors
    /// The range is outside of the watched memory; nothing is written.
    pub fn put<T: Shared>(&self, to: RankId, at: u64, values: &[T]) -> Result<(), Error> {
        let place = self.place::<T>(to, at, size_of_val(values))?;
        let step = (MAX_TOUCH_BYTES / size_of::<T>().max(1)).max(1);
        for (i, piece) in values.chunks(step).enumerate() {
            self.rank.write_slice(place.add(i * step), piece);
            let from = at + (i * step * size_of::<T>()) as u64;
            self.touched(to, from..from + size_of_val(piece) as u64, WRITE);
        }
        Ok(())
    }

    /// Writes values, and then, when they are in place, a word that signals them.
    ///
    /// # Errors
    /// As [`put`](Self::put).
    pub fn put_signal<T: Shared>(
        &self,
        to: RankId,
        at: u64,
        values: &[T],
        signal_at: u64,
        signal: u64,
    ) -> Result<(), Error> {
        let flag = self.place::<u64>(to, signal_at, 8)?;
        self.put(to, at, values)?;
        self.rank.atomics().swap(flag, signal);
        self.touched(to, signal_at..signal_at + 8, WRITE);
        Ok(())
    }

    /// Reads values from the watched memory of a rank, and trips the wires armed there.
    ///
    /// # Errors
    /// The range is outside of the watched memory.
    pub fn get<T: Shared>(&self, from: RankId, at: u64, values: &mut [T]) -> Result<(), Error> {
        let bytes = size_of_val(values);
        let place = self.place::<T>(from, at, bytes)?;
        self.rank.read_slice(place, values);
        self.touched(from, at..at + bytes as u64, READ);
        Ok(())
    }

    /// The own word at byte `at`; writes before it are visible.
    ///
    /// # Errors
    /// The word is outside of the watched memory.
    pub fn word(&self, at: u64) -> Result<u64, Error> {
        Ok(self.rank.atomics().load(self.place::<u64>(self.rank.id(), at, 8)?))
    }

    /// A tripwire on a range of the own watched memory; it is not armed yet.
    ///
    /// # Errors
    /// The range is outside of the watched memory, or all tripwires are in use.
    pub fn tripwire(&mut self, range: Range<u64>, access: Access) -> Result<Tripwire<'r>, Error> {
        let len = range.end.saturating_sub(range.start);
        self.strided(range, len.max(1), len.max(1), access)
    }

    /// A tripwire on `width` bytes at every `stride` bytes of a range.
    ///
    /// # Errors
    /// As [`tripwire`](Self::tripwire); `width` is not between 1 and `stride`.
    pub fn strided(
        &mut self,
        range: Range<u64>,
        stride: u64,
        width: u64,
        access: Access,
    ) -> Result<Tripwire<'r>, Error> {
        if range.is_empty() || range.end > self.len || !(1..=stride).contains(&width) {
            return Err(Error::op(format!(
                "a tripwire on {width} of every {stride} bytes of {range:?}: there are {} bytes of watched memory",
                self.len
            )));
        }
        if self.made == self.wires {
            return Err(Error::op(format!("there are {} tripwires, as many as there may be", self.wires)));
        }
        self.made += 1;
        let wire = Tripwire {
            rank: self.rank,
            armed: self.table,
            words: self.table.add(WORDS_PER_WIRE * self.made as usize),
            kinds: match access {
                Access::Read => READ,
                Access::Write => WRITE,
                Access::Any => READ | WRITE,
            },
            state: 0,
            taken: 0,
        };
        let own = [range.start, range.end, stride, width, 0, 0];
        own.iter().enumerate().for_each(|(i, value)| {
            self.rank.atomics().swap(wire.words.add(i + 1), *value);
        });
        Ok(wire)
    }

    /// Trips the wires for a touch of these bytes of a rank.
    fn touched(&self, of: RankId, bytes: Range<u64>, kind: u64) {
        // ORDER: SeqCst; pairs with the fence in Tripwire::arm: we see the wire armed, or its owner sees what
        // we wrote.
        fence(Ordering::SeqCst);
        let table = self.table.on(of);
        if bytes.is_empty() || self.rank.atomics().load(table) == 0 {
            return;
        }
        // All wires are read at once. A wire that changes meanwhile is armed after our touch, and its owner
        // looks again.
        let mut words = vec![0u64; WORDS_PER_WIRE * self.wires as usize];
        self.rank.read_slice(table.add(WORDS_PER_WIRE), &mut words);
        for (i, w) in words.chunks_exact(WORDS_PER_WIRE).enumerate() {
            if w[0] & ARMED != 0 && w[0] & kind != 0 && touches(&bytes, w[1]..w[2], w[3], w[4]) {
                trip(self.rank, table.add(WORDS_PER_WIRE * (i + 1)), &bytes, kind);
            }
        }
    }
}

/// Trips a wire if it covers any of these bytes.
fn trip(rank: &Rank, wire: GlobalPtr<u64>, bytes: &Range<u64>, kind: u64) {
    let mut state = rank.atomics().load(wire);
    while state & ARMED != 0 && state & kind != 0 {
        let [from, to, stride, width, event] = [1, 2, 3, 4, 6].map(|i| rank.atomics().load(wire.add(i)));
        if !touches(bytes, from..to, stride, width) {
            return;
        }
        // Once: the toucher that trips it disarms it. Always: the state must be unchanged after its words
        // were read.
        let next = if state & ONCE == 0 { state } else { (state & !ARMED).wrapping_add(CHANGE) };
        let seen = rank.atomics().compare_swap(wire, state, next);
        if seen == state {
            rank.atomics().fetch_add(wire.add(5), 1);
            if event != 0 {
                EventSource::raise(rank, wire.rank(), event);
            }
            return;
        }
        state = seen;
    }
}

/// A tripwire on own watched memory.
#[derive(Debug)]
pub struct Tripwire<'r> {
    rank: &'r Rank,
    armed: GlobalPtr<u64>,
    words: GlobalPtr<u64>,
    kinds: u64,
    /// The state as this side last wrote it.
    state: u64,
    taken: u64,
}

impl Tripwire<'_> {
    /// Arms it. An earlier write may not trip it: check the awaited condition again afterwards.
    pub fn arm(&mut self, trips: Trips) {
        self.disarm();
        let once = if trips == Trips::Once { ONCE } else { 0 };
        self.state = (self.state & !(CHANGE - 1)).wrapping_add(CHANGE) | self.kinds | once | ARMED;
        self.rank.atomics().fetch_add(self.armed, 1);
        self.rank.atomics().swap(self.words, self.state);
        // ORDER: SeqCst; pairs with the fence in Watch::touched.
        fence(Ordering::SeqCst);
    }

    /// Disarms it. Earlier trips remain.
    pub fn disarm(&mut self) {
        if self.state & ARMED == 0 {
            return;
        }
        self.state = (self.state & !(CHANGE - 1)).wrapping_add(2 * CHANGE);
        self.rank.atomics().swap(self.words, self.state);
        self.rank.atomics().fetch_add(self.armed, u64::MAX);
    }

    /// Whether it is armed.
    pub fn is_armed(&self) -> bool {
        self.rank.atomics().load(self.words) & ARMED != 0
    }

    /// Number of trips that were not taken.
    pub fn pending(&self) -> u64 {
        self.rank.atomics().load(self.words.add(5)) - self.taken
    }

    /// Takes one trip, if there is one.
    pub fn test(&mut self) -> bool {
        let tripped = self.pending() > 0;
        self.taken += u64::from(tripped);
        if !tripped {
            self.rank.poll();
        }
        tripped
    }

    /// Waits until it is tripped, and takes one trip.
    pub fn wait(&mut self) {
        self.rank.wait_until("a tripwire", || self.pending() > 0);
        self.taken += 1;
    }

    /// Waits until a condition on watched memory holds: checks, arms, checks again, and sleeps until it is
    /// tripped.
    pub fn wait_for(&mut self, mut condition: impl FnMut() -> bool) {
        while !condition() {
            self.arm(Trips::Once);
            if !condition() {
                self.wait();
            }
        }
        self.disarm();
        // The trips in the meantime have been handled.
        self.taken += self.pending();
    }

    /// Makes each trip also raise a source of an event queue.
    pub fn attach(&mut self, source: &EventSource) {
        self.change_event(source.word());
    }

    /// Ends that.
    pub fn detach(&mut self) {
        self.change_event(0);
    }

    fn change_event(&mut self, event: u64) {
        let trips = if self.state & ONCE != 0 { Trips::Once } else { Trips::Always };
        let armed = self.is_armed();
        self.disarm();
        self.rank.atomics().swap(self.words.add(6), event);
        if armed {
            self.arm(trips);
        }
    }
}

impl Drop for Tripwire<'_> {
    fn drop(&mut self) {
        self.disarm();
    }
}

/// Check, arm, check again; against write, then look for wires: the words of the protocol in isolation.
#[cfg(all(test, loom))]
mod loom_tests {
    use loom::sync::Arc;
    use loom::sync::atomic::{AtomicU32, Ordering::Relaxed, Ordering::SeqCst, fence};

    #[test]
    fn loom_a14_look_arm_look_again_loses_no_touch() {
        loom::model(|| {
            let words = Arc::new([AtomicU32::new(0), AtomicU32::new(0), AtomicU32::new(0)]);
            let other = words.clone();
            let toucher = loom::thread::spawn(move || {
                let [memory, armed, tripped] = &*other;
                memory.store(1, Relaxed);
                fence(SeqCst);
                if armed.compare_exchange(1, 2, Relaxed, Relaxed).is_ok() {
                    tripped.fetch_add(1, Relaxed);
                }
            });
            let [memory, armed, tripped] = &*words;
            let mut seen = memory.load(Relaxed) == 1;
            if !seen {
                armed.store(1, Relaxed);
                fence(SeqCst);
                seen = memory.load(Relaxed) == 1;
            }
            toucher.join().unwrap();
            assert!(seen || tripped.load(Relaxed) == 1, "it would sleep for ever");
        });
    }
}
