//! Tripwires on regions: they tell the owner that others accessed certain bytes.
//!
//! Who carries out an access looks for armed wires when the bytes are in place: the NIC, where it serves
//! regions, a handler elsewhere. So plain puts and gets of regions trip wires, over all conduits, and no
//! access can go round them.
//!
//! **No lost touch.** The toucher writes, then looks for armed wires; the owner arms, then looks at its
//! memory again; both have a full fence between. So the owner sees the touch, or the touch trips the wire, or
//! both.
//!
//! **A wire's words** are changed only while it is not armed, and each change gives it another state. A
//! toucher trips a wire by a compare-and-swap of the state, so what it read of the wire still holds then; of
//! many touches of a wire that is armed once, one trips it.

use super::{Modes, Region, RegionError};
use crate::Rank;
use core::cell::Cell;
use core::ops::Range;
use gasnet_wire::prim::{AtomicU32, AtomicU64, Ordering, fence};
use gasnet_wire::slots::{Slot, Slots};

/// How often a tripwire goes off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trips {
    /// With the first touch, which disarms it.
    Once,
    /// With every touch.
    Always,
}

const ARMED: u64 = 1;
const ONCE: u64 = 2;
/// Reading, and above it writing.
const KIND: u64 = 4;
/// Added with each change, so that the states of different changes differ.
const CHANGE: u64 = 64;

/// A wire, or room for one.
#[derive(Debug)]
struct WatchedRange {
    state: AtomicU64,
    /// Slot and generation.
    region: AtomicU64,
    first: AtomicU64,
    end: AtomicU64,
    stride: AtomicU64,
    width: AtomicU64,
    trips: AtomicU64,
    next: AtomicU32,
}

impl Slot for WatchedRange {
    fn new() -> WatchedRange {
        let zero = || AtomicU64::new(0);
        let next = AtomicU32::new(0);
        let (first, end, stride, width) = (zero(), zero(), zero(), zero());
        WatchedRange { state: zero(), region: zero(), first, end, stride, width, trips: zero(), next }
    }
    fn next(&self) -> &AtomicU32 {
        &self.next
    }
}

/// The kinds of an access, as bits of a state.
fn kinds(modes: Modes) -> u64 {
    let kind = |mode: Modes, bit: u64| if modes.0 & mode.0 != 0 { bit } else { 0 };
    kind(Modes::READ, KIND) | kind(Modes::WRITE | Modes::ATOMIC, 2 * KIND)
}

impl WatchedRange {
    /// Trips it, if it is armed for any of these bytes.
    fn touched(&self, region: u64, bytes: &Range<u64>, kinds: u64) -> bool {
        loop {
            // ORDER: Acquire; pairs with Release in `arm`: the words of the wire.
            let state = self.state.load(Ordering::Acquire);
            if state & ARMED == 0 || state & kinds == 0 || self.region.load(Ordering::Relaxed) != region {
                return false;
            }
            let [first, end, stride, width] =
                [&self.first, &self.end, &self.stride, &self.width].map(|word| word.load(Ordering::Relaxed));
            if !touches(bytes, first..end, stride, width) {
                return false;
            }
            let once = state & ONCE != 0;
            let next = if once { (state & !ARMED).wrapping_add(CHANGE) } else { state };
            // ORDER: AcqRel; pairs with Release in `arm`, and with Acquire in `pending` through `trips`.
            if self.state.compare_exchange(state, next, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                // ORDER: Release; pairs with Acquire in `pending`: the bytes that were written.
                self.trips.fetch_add(1, Ordering::Release);
                return once;
            }
        }
    }

    fn set(&self, region: u64, range: &Range<u64>, stride: u64, width: u64) {
        for (word, value) in [
            (&self.region, region),
            (&self.first, range.start),
            (&self.end, range.end),
            (&self.stride, stride),
            (&self.width, width),
            (&self.trips, 0),
        ] {
            word.store(value, Ordering::Relaxed);
        }
    }

    /// Arms it, disarmed as it is, for these kinds.
    fn arm(&self, kinds: u64, trips: Trips) {
        let once = if trips == Trips::Once { ONCE } else { 0 };
        let change = (self.state.load(Ordering::Relaxed) & !(CHANGE - 1)).wrapping_add(CHANGE);
        // ORDER: Release; pairs with Acquire in `touched`: the words.
        self.state.store(change | kinds | once | ARMED, Ordering::Release);
    }

    /// Disarms it; whether it was armed.
    fn disarm(&self) -> bool {
        // Relaxed: a toucher that trips it at the same time has come before.
        self.state.fetch_and(!ARMED, Ordering::Relaxed) & ARMED != 0
    }
}

/// The wires of a rank.
pub(super) struct Wires {
    armed: AtomicU32,
    all: Slots<WatchedRange>,
}

impl Wires {
    pub(super) fn new() -> Wires {
        Wires { armed: AtomicU32::new(0), all: Slots::new(20) }
    }

    /// These bytes of a region were accessed: trips the wires there.
    pub(super) fn touched(&self, region: u64, at: u64, len: usize, modes: Modes) {
        if self.may_be_armed() {
            self.trip(region, at, len, modes);
        }
    }

    /// Whether a wire may be armed, for who has just accessed a region and tells of it by [`Wires::trip`].
    pub(super) fn may_be_armed(&self) -> bool {
        // ORDER: SeqCst; pairs with the fence in `RegionWire::arm`: we see the wire armed, or its owner sees
        // what was written.
        fence(Ordering::SeqCst);
        self.armed.load(Ordering::Relaxed) != 0
    }

    /// Trips the wires on these bytes.
    pub(super) fn trip(&self, region: u64, at: u64, len: usize, modes: Modes) {
        let bytes = at..at.saturating_add(len as u64);
        let wires = (0..self.all.taken()).filter_map(|number| self.all.get(number));
        for wire in wires {
            if wire.touched(region, &bytes, kinds(modes)) {
                self.armed.fetch_sub(1, Ordering::Relaxed);
            }
        }
    }
}

/// Whether one of the bytes is within `width` bytes from a multiple of `stride` in the range, from its start.
pub fn touches(bytes: &Range<u64>, range: Range<u64>, stride: u64, width: u64) -> bool {
    let (from, to) = (bytes.start.max(range.start), bytes.end.min(range.end));
    if from >= to || stride == 0 {
        return false;
    }
    // The first position from `from` on: there, or at the next multiple.
    let offset = (from - range.start) % stride;
    offset < width || from - offset + stride < to
}

/// A tripwire on an exported region.
pub struct RegionWire<'a> {
    rank: &'a Rank,
    wire: &'a WatchedRange,
    number: u32,
    kinds: u64,
    taken: Cell<u64>,
}

impl core::fmt::Debug for RegionWire<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("RegionWire").field("wire", self.wire).finish_non_exhaustive()
    }
}

impl Region<'_> {
    /// A tripwire on `width` bytes at every `stride` bytes of a range of the region, for accesses in these
    /// modes; it is not armed yet. Atomic operations count as writes.
    ///
    /// # Errors
    /// The range is empty or not in the region, or `width` is not between 1 and `stride`
    /// ([`RegionError::Range`]); too many tripwires.
    pub fn tripwire(
        &self,
        range: Range<u64>,
        stride: u64,
        width: u64,
        modes: Modes,
    ) -> Result<RegionWire<'_>, RegionError> {
        if range.is_empty() || range.end > self.key.len || !(1..=stride).contains(&width) {
            return Err(RegionError::Range);
        }
        let (number, wire) = self.rank.regions.wires.all.take().ok_or(RegionError::NoRoom)?;
        wire.set(super::region_number(self.key.slot, self.key.generation), &range, stride, width);
        Ok(RegionWire { rank: self.rank, wire, number, kinds: kinds(modes), taken: Cell::new(0) })
    }
}

impl RegionWire<'_> {
    /// Arms it. An earlier access may not trip it: look at the memory again afterwards.
    pub fn arm(&self, trips: Trips) {
        self.disarm();
        self.rank.regions.wires.armed.fetch_add(1, Ordering::Relaxed);
        self.wire.arm(self.kinds, trips);
        // ORDER: SeqCst; pairs with the fence in `Wires::touched`.
        fence(Ordering::SeqCst);
    }

    /// Disarms it. Earlier trips remain.
    pub fn disarm(&self) {
        if self.wire.disarm() {
            self.rank.regions.wires.armed.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Number of trips that were not taken. What tripped it is visible.
    pub fn pending(&self) -> u64 {
        // ORDER: Acquire; pairs with Release in `WatchedRange::touched`.
        self.wire.trips.load(Ordering::Acquire) - self.taken.get()
    }

    /// Takes one trip, if there is one; polls otherwise.
    pub fn test(&self) -> bool {
        let tripped = self.pending() > 0;
        self.taken.set(self.taken.get() + u64::from(tripped));
        if !tripped {
            self.rank.poll();
        }
        tripped
    }

    /// Waits until it is tripped, and takes one trip.
    pub fn wait(&self) {
        self.rank.wait_until("a tripwire", || self.pending() > 0);
        self.taken.set(self.taken.get() + 1);
    }

    /// Waits until a condition on the memory holds: looks, arms, looks again, and sleeps until it is tripped.
    pub fn wait_for(&self, mut condition: impl FnMut() -> bool) {
        while !condition() {
            self.arm(Trips::Once);
            if !condition() {
                self.wait();
            }
        }
        self.disarm();
        self.taken.set(self.taken.get() + self.pending());
    }
}

impl Drop for RegionWire<'_> {
    fn drop(&mut self) {
        self.disarm();
        self.rank.regions.wires.all.give_back(self.number);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::touches;

    /// Compared with testing one byte after the other.
    #[test]
    fn strides_are_touched_where_they_are() {
        for stride in 1..7 {
            for width in 1..=stride {
                for from in 0..9u64 {
                    for to in from..14 {
                        let by_byte = (from..to).any(|b| (3..11).contains(&b) && (b - 3) % stride < width);
                        assert_eq!(
                            touches(&(from..to), 3..11, stride, width),
                            by_byte,
                            "{from}..{to}, {width} of {stride}"
                        );
                    }
                }
            }
        }
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use loom::sync::Arc;

    /// Look, arm, look again, with the order of a NIC: copy, fence, look for wires.
    #[test]
    fn loom_clan_21_a_nic_that_touches_is_not_missed() {
        loom::model(|| {
            let (wires, memory) =
                (Arc::new((AtomicU32::new(0), WatchedRange::new())), Arc::new(AtomicU32::new(0)));
            wires.1.set(7, &(0..8), 8, 8);
            let nic = {
                let (wires, memory) = (wires.clone(), memory.clone());
                loom::thread::spawn(move || {
                    memory.store(1, Ordering::Relaxed);
                    fence(Ordering::SeqCst);
                    if wires.0.load(Ordering::Relaxed) != 0 {
                        wires.1.touched(7, &(0..4), kinds(Modes::WRITE));
                    }
                })
            };
            let mut seen = memory.load(Ordering::Relaxed) == 1;
            if !seen {
                wires.0.fetch_add(1, Ordering::Relaxed);
                wires.1.arm(kinds(Modes::WRITE), Trips::Once);
                fence(Ordering::SeqCst);
                seen = memory.load(Ordering::Relaxed) == 1;
            }
            nic.join().unwrap();
            assert!(seen || wires.1.trips.load(Ordering::Acquire) == 1, "it would sleep for ever");
        });
    }

    /// Of two touches one trips a wire that is armed once.
    #[test]
    fn loom_clan_21_once_is_once() {
        loom::model(|| {
            let wire = Arc::new(WatchedRange::new());
            wire.set(7, &(0..8), 8, 8);
            wire.arm(kinds(Modes::WRITE), Trips::Once);
            let other = wire.clone();
            let thread = loom::thread::spawn(move || other.touched(7, &(0..1), kinds(Modes::WRITE)));
            let here = wire.touched(7, &(3..5), kinds(Modes::WRITE));
            assert_ne!(here, thread.join().unwrap());
            assert_eq!(wire.trips.load(Ordering::Acquire), 1);
        });
    }
}
