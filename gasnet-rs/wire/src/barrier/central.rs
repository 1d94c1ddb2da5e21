//! The barrier of the ranks that share memory: names, consensus, and a word that all of them count in.

use crate::prim::{AtomicU32, AtomicU64, Ordering};
use crate::shm::map;
use std::time::Duration;

/// Flag of notify and wait: no name is given.
pub const ANONYMOUS: u32 = 1;
/// Flag of notify: make every rank's phase end in a mismatch.
pub const MISMATCH: u32 = 2;

/// The result of the ranks' names in a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consensus {
    /// Nobody gave a name.
    Anonymous,
    /// All names given are this one.
    Named(i32),
    /// Names differ, or somebody asked for a mismatch.
    Mismatch,
}

impl Consensus {
    /// The result of one notification alone.
    pub fn of(id: i32, flags: u32) -> Consensus {
        if flags & MISMATCH != 0 {
            Consensus::Mismatch
        } else if flags & ANONYMOUS != 0 {
            Consensus::Anonymous
        } else {
            Consensus::Named(id)
        }
    }

    /// The consensus of both.
    pub fn merge(self, other: Consensus) -> Consensus {
        match (self, other) {
            (Consensus::Anonymous, x) | (x, Consensus::Anonymous) => x,
            (Consensus::Named(a), Consensus::Named(b)) if a == b => self,
            _ => Consensus::Mismatch,
        }
    }

    /// Whether a wait with this name and these flags agrees with it.
    pub fn admits(self, id: i32, flags: u32) -> bool {
        match self {
            Consensus::Anonymous => true,
            Consensus::Named(n) => flags & ANONYMOUS != 0 || n == id,
            Consensus::Mismatch => false,
        }
    }

    /// Two words, the larger of each of which over all notifications say what the consensus is: the largest
    /// name and the complement of the smallest. For those who can find a maximum, but not call
    /// [`merge`](Self::merge).
    pub fn bounds(self) -> [u64; 2] {
        match self {
            Consensus::Anonymous => [0, 0],
            Consensus::Named(id) => {
                let name = 1 + u64::from(id as u32);
                [name, !name]
            }
            Consensus::Mismatch => [u64::MAX, u64::MAX],
        }
    }

    /// The result for the larger of all [`bounds`](Self::bounds).
    pub fn within(bounds: [u64; 2]) -> Consensus {
        match bounds {
            [0, _] => Consensus::Anonymous,
            [name, complement] if name == !complement => Consensus::Named((name - 1) as u32 as i32),
            _ => Consensus::Mismatch,
        }
    }

    pub(crate) fn encode(self) -> u64 {
        match self {
            Consensus::Anonymous => 0,
            Consensus::Named(id) => 1 << 32 | u64::from(id as u32),
            Consensus::Mismatch => 2 << 32,
        }
    }

    pub(crate) fn decode(word: u64) -> Consensus {
        match word >> 32 {
            0 => Consensus::Anonymous,
            1 => Consensus::Named(word as u32 as i32),
            _ => Consensus::Mismatch,
        }
    }
}

#[repr(C, align(128))]
struct Padded<T>(T);

/// A barrier in shared memory that starts out as zeros.
///
/// `arrived` counts the ranks that notified in a phase; the last one publishes the consensus and advances
/// `phase`. Names and results are kept for two phases, since a fast rank may notify the next phase while a
/// slow one still reads this phase's result; it cannot get further, because the next phase needs the slow
/// one.
#[repr(C)]
pub struct CentralBarrier {
    arrived: Padded<[Arrived; 2]>,
    phase: Padded<Phase>,
    names: Padded<[AtomicU64; 2]>,
}

/// A count of arrivals, and what fills its cache line.
#[repr(C, align(64))]
struct Arrived {
    count: AtomicU64,
    beside: [AtomicU64; WITH_ARRIVALS / 8],
}

/// The phase and its results, in one cache line.
#[repr(C)]
struct Phase {
    number: AtomicU32,
    results: [AtomicU64; 2],
    beside: [[AtomicU64; WITH_PHASE / 8]; 2],
}

/// Bytes that go from rank to rank with the count of arrivals, and with the phase.
pub const WITH_ARRIVALS: usize = 56;
/// See [`WITH_ARRIVALS`].
pub const WITH_PHASE: usize = 16;

/// Bit in a count of arrivals: a rank sleeps until the phase is over.
const SLEEPERS_BIT: u64 = 1 << 63;

const _: () = assert!(cfg!(loom) || size_of::<Arrived>() == 64 && size_of::<Phase>() <= 64);

impl CentralBarrier {
    /// Joins phase `phase` (counted by the rank from 0); `size` ranks take part, all of them by this call.
    #[inline]
    pub(crate) fn notify(&self, phase: u32, size: u32, mine: Consensus) {
        if let Some((all, sleepers)) = self.join(phase, size, mine) {
            self.publish(phase, all);
            if sleepers {
                map::wake_sleepers(&self.phase.0.number);
            }
        }
    }

    /// Sleeps until phase `phase` may be over, at most so long; whether it slept. For ranks that joined it by
    /// [`CentralBarrier::notify`].
    #[cold]
    pub(crate) fn sleep(&self, phase: u32, size: u32, longest: Duration) -> bool {
        // Relaxed: the changes of one word have one order. Either the last arrival comes later and sees the
        // bit, or we see here that it has come. (The bit may then stay for the next phase but one, whose end
        // wakes nobody for it.)
        let count = self.arrived.0[(phase & 1) as usize].count.fetch_or(SLEEPERS_BIT, Ordering::Relaxed);
        let open = (1..u64::from(size)).contains(&(count & !SLEEPERS_BIT));
        if open {
            map::sleep_while(&self.phase.0.number, phase, longest);
        }
        open
    }

    /// Joins phase `phase`; the last of `size` ranks gets the consensus, encoded, which is then to be
    /// published. Nobody sleeps in it.
    #[inline]
    pub(crate) fn arrive(&self, phase: u32, size: u32, mine: Consensus) -> Option<u64> {
        self.join(phase, size, mine).map(|(all, _)| all)
    }

    /// [`CentralBarrier::arrive`], and whether somebody sleeps until the phase is over.
    #[inline]
    fn join(&self, phase: u32, size: u32, mine: Consensus) -> Option<(u64, bool)> {
        let parity = (phase & 1) as usize;
        if mine != Consensus::Anonymous {
            self.merge_name(parity, mine);
        }
        let before = self.count_in(phase, 1);
        if before & !SLEEPERS_BIT != u64::from(size - 1) {
            return None;
        }
        self.count_again(phase);
        let name = self.names.0[parity].load(Ordering::Relaxed);
        if name != 0 {
            self.names.0[parity].store(0, Ordering::Relaxed);
        }
        Some((name, before & SLEEPERS_BIT != 0))
    }

    /// Adds to the count of a phase; what it was before.
    #[inline]
    pub fn count_in(&self, phase: u32, n: u64) -> u64 {
        // ORDER: AcqRel; pairs with itself: the last arrival sees all names and all writes made before the
        // others' notify.
        self.arrived.0[(phase & 1) as usize].count.fetch_add(n, Ordering::AcqRel)
    }

    /// All have been counted: the count begins again, for the phase after the next.
    #[inline]
    pub fn count_again(&self, phase: u32) {
        self.arrived.0[(phase & 1) as usize].count.store(0, Ordering::Relaxed);
    }

    /// Ends phase `phase`, in which all have arrived, with this (encoded) consensus.
    #[inline]
    pub fn publish(&self, phase: u32, all: u64) {
        self.phase.0.results[(phase & 1) as usize].store(all, Ordering::Relaxed);
        // ORDER: Release; pairs with Acquire in `done`: the result, the reset counter and all earlier writes
        // are visible.
        self.phase.0.number.store(phase.wrapping_add(1), Ordering::Release);
    }

    /// Memory of [`WITH_ARRIVALS`] bytes, for what is left on arrival.
    #[inline]
    pub fn with_arrivals(&self, phase: u32) -> *mut u8 {
        self.arrived.0[(phase & 1) as usize].beside.as_ptr().cast_mut().cast()
    }

    /// Memory of [`WITH_PHASE`] bytes, for what is published.
    #[inline]
    pub fn with_phase(&self, phase: u32) -> *mut u8 {
        self.phase.0.beside[(phase & 1) as usize].as_ptr().cast_mut().cast()
    }

    #[cold]
    fn merge_name(&self, parity: usize, mine: Consensus) {
        // Relaxed: the add in `notify` publishes it.
        let _ = self.names.0[parity].fetch_update(Ordering::Relaxed, Ordering::Relaxed, |w| {
            Some(Consensus::decode(w).merge(mine).encode())
        });
    }

    /// Begins at phase 0 again, for other ranks. Nobody uses it, and something else tells them.
    pub fn restart(&self) {
        self.arrived.0.iter().for_each(|arrived| arrived.count.store(0, Ordering::Relaxed));
        self.phase.0.number.store(0, Ordering::Relaxed);
    }

    /// Whether phase `phase` goes on: a hint.
    #[inline]
    pub(crate) fn goes_on(&self, phase: u32) -> bool {
        // Relaxed: `done` looks again.
        self.phase.0.number.load(Ordering::Relaxed) == phase
    }

    /// The consensus of phase `phase` once everyone has joined.
    #[inline]
    pub fn done(&self, phase: u32) -> Option<Consensus> {
        // ORDER: Acquire; pairs with Release in `notify`.
        if self.phase.0.number.load(Ordering::Acquire) == phase {
            return None;
        }
        Some(Consensus::decode(self.phase.0.results[(phase & 1) as usize].load(Ordering::Relaxed)))
    }
}

/// Where this rank is in the sequence of barriers.
#[derive(Debug, Default)]
pub(crate) struct Phases {
    /// Phases completed by hosts.
    pub(crate) phase: u32,
    /// Whether this rank has notified and not yet waited.
    pub(crate) notified: bool,
    /// Whether NICs carry this phase out.
    pub(crate) by_nics: bool,
    /// The last completed phase's consensus.
    pub(crate) result: Option<Consensus>,
}

impl Phases {
    /// Number of barriers of hosts that this rank has joined.
    pub(crate) fn joined(&self) -> u32 {
        self.phase.wrapping_add(u32::from(self.notified && !self.by_nics))
    }
}

/// The barrier of the job as its NICs carry it out.
pub trait BarrierByNics: Send + Sync {
    /// Notifies, as [`BarrierCalls::notify`](crate::BarrierCalls::notify).
    fn notify(&self, id: i32, flags: u32);
    /// The consensus of the phase, if it is complete and this rank may go on.
    fn test(&self, id: i32, flags: u32) -> Option<Consensus>;
}

#[cfg(test)]
impl CentralBarrier {
    fn new() -> CentralBarrier {
        let two = || [AtomicU64::new(0), AtomicU64::new(0)];
        let arrived =
            || Arrived { count: AtomicU64::new(0), beside: [0; WITH_ARRIVALS / 8].map(AtomicU64::new) };
        let beside = [0; 2].map(|_| [0; WITH_PHASE / 8].map(AtomicU64::new));
        CentralBarrier {
            arrived: Padded([arrived(), arrived()]),
            phase: Padded(Phase { number: AtomicU32::new(0), results: two(), beside }),
            names: Padded(two()),
        }
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use loom::sync::Arc;
    use loom::sync::atomic::AtomicU32 as Data;

    /// Two ranks, two phases: nobody leaves a phase before both entered, results do not mix, and writes made
    /// before notify are visible after wait.
    #[test]
    fn loom_central_barrier() {
        loom::model(|| {
            let shared = Arc::new((CentralBarrier::new(), [Data::new(0), Data::new(0)]));
            let run = |me: usize, s: &(CentralBarrier, [Data; 2])| {
                for phase in 0..2u32 {
                    s.1[me].store(phase + 1, Ordering::Relaxed);
                    s.0.notify(
                        phase,
                        2,
                        if me == 0 { Consensus::Named(phase as i32) } else { Consensus::Anonymous },
                    );
                    let got = loop {
                        match s.0.done(phase) {
                            Some(c) => break c,
                            None => loom::thread::yield_now(),
                        }
                    };
                    assert_eq!(got, Consensus::Named(phase as i32));
                    assert!(s.1[1 - me].load(Ordering::Relaxed) > phase);
                }
            };
            let other = shared.clone();
            let t = loom::thread::spawn(move || run(1, &other));
            run(0, &shared);
            t.join().unwrap();
        });
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn merging_is_commutative_associative_idempotent() {
        let all = [
            Consensus::Anonymous,
            Consensus::Named(0),
            Consensus::Named(7),
            Consensus::Named(-1),
            Consensus::Mismatch,
        ];
        for a in all {
            assert_eq!(Consensus::decode(a.encode()), a);
            assert_eq!(a.merge(a), a);
            assert_eq!(Consensus::within(a.bounds()), a);
            for b in all {
                let ([a0, a1], [b0, b1]) = (a.bounds(), b.bounds());
                assert_eq!(Consensus::within([a0.max(b0), a1.max(b1)]), a.merge(b), "{a:?} {b:?}");
                assert_eq!(a.merge(b), b.merge(a));
                for c in all {
                    assert_eq!(a.merge(b).merge(c), a.merge(b.merge(c)));
                }
            }
        }
    }

    /// Ranks that sleep wherever they wait are woken, whoever comes last.
    #[test]
    #[cfg_attr(miri, ignore = "sleeps in the system")]
    fn sleepers_are_woken() {
        const RANKS: u32 = 4;
        let barrier = CentralBarrier::new();
        std::thread::scope(|s| {
            for rank in 0..RANKS {
                let barrier = &barrier;
                s.spawn(move || {
                    for phase in 0..1000 {
                        if phase % RANKS == rank {
                            std::thread::yield_now();
                        }
                        barrier.notify(phase, RANKS, Consensus::Anonymous);
                        while barrier.done(phase).is_none() {
                            // One lost wake-up, and this test hangs.
                            barrier.sleep(phase, RANKS, Duration::from_secs(100_000));
                        }
                    }
                });
            }
        });
    }

    #[test]
    fn many_threads_many_phases() {
        const RANKS: u32 = 3;
        let barrier = CentralBarrier::new();
        let phases = if cfg!(miri) { 20 } else { 2000 };
        std::thread::scope(|s| {
            for rank in 0..RANKS {
                let barrier = &barrier;
                s.spawn(move || {
                    for phase in 0..phases {
                        let mismatch = phase % 7 == 3;
                        let id = if mismatch { rank as i32 } else { phase as i32 };
                        barrier.notify(phase, RANKS, Consensus::of(id, 0));
                        let got = loop {
                            match barrier.done(phase) {
                                Some(c) => break c,
                                None => std::thread::yield_now(),
                            }
                        };
                        let want =
                            if mismatch { Consensus::Mismatch } else { Consensus::Named(phase as i32) };
                        assert_eq!(got, want);
                    }
                });
            }
        });
    }
}
