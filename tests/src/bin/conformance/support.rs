//! The common parts of the sections: the rank, a random generator, memory, and the state that handlers
//! write to.

use gasnet::{Rank, RankId};
use std::cell::Cell;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

/// Bytes of every segment that sections may use; given back after each.
pub const ARENA: u64 = 40 << 20;

/// The context of a section.
pub struct Cx {
    pub rank: &'static Rank,
    pub seed: u64,
    /// Do a part of the work: for slow settings.
    pub quick: bool,
    /// The counters that handlers write to.
    pub state: &'static State,
    arena: u64,
    used: Cell<u64>,
}

/// State that handlers write to.
#[derive(Default)]
pub struct State {
    /// Replies that have arrived.
    pub replies: AtomicU64,
    /// Requests that have arrived.
    pub requests: AtomicU64,
    /// Where a long reply goes in the requester's segment: one slot per responder from here.
    pub long_slots: AtomicU64,
    /// Marks of messages seen, see `flood`.
    pub seen: Vec<AtomicU8>,
    /// Ranks of the job.
    pub size: u32,
}

impl Cx {
    pub fn new(rank: &'static Rank, seed: u64, quick: bool) -> Cx {
        let arena = rank.allocate(ARENA, 4096).expect("GASNET_MAX_SEGSIZE is at least 64M");
        let marks = crate::flood::IDS + rank.size() as usize;
        let seen = (0..marks).map(|_| AtomicU8::new(0)).collect();
        let state = Box::leak(Box::new(State { seen, size: rank.size(), ..State::default() }));
        Cx { rank, seed, quick, state, arena, used: Cell::new(0) }
    }

    /// For another thread of the rank: it has no memory of its own to take.
    pub fn for_thread(rank: &'static Rank, seed: u64, quick: bool) -> Cx {
        Cx { rank, seed, quick, state: Box::leak(Box::default()), arena: 0, used: Cell::new(ARENA) }
    }

    pub fn me(&self) -> u32 {
        self.rank.id().0
    }

    pub fn size(&self) -> u32 {
        self.rank.size()
    }

    /// The rank `d` places to the right.
    pub fn right(&self, d: u32) -> RankId {
        RankId((self.me() + d) % self.size())
    }

    /// Itself, both neighbours and the rank opposite, each once.
    pub fn targets(&self) -> Vec<RankId> {
        let mut t =
            vec![self.rank.id(), self.right(1), self.right(self.size() - 1), self.right(self.size() / 2)];
        t.sort();
        t.dedup();
        t
    }

    /// `bytes` bytes at the same offset of every segment, until the section ends; their contents are what was
    /// there.
    pub fn take(&self, bytes: u64) -> u64 {
        let at = self.used.get().next_multiple_of(4096);
        assert!(at + bytes <= ARENA, "the section wants {bytes} bytes more than there are");
        self.used.set(at + bytes);
        self.arena + at
    }

    /// [`Cx::take`], zeroed on all ranks. Collective.
    pub fn take_zeroed(&self, bytes: u64) -> u64 {
        let at = self.take(bytes);
        self.fill(self.rank.id(), at, 0, bytes as usize);
        self.rank.barrier();
        at
    }

    /// Gives back everything taken.
    pub fn reset(&self) {
        self.used.set(0);
    }

    #[expect(unsafe_code, reason = "memset is unsafe for what other accesses may do at the same time")]
    pub fn fill(&self, rank: RankId, at: u64, value: u8, len: usize) {
        // SAFETY: sections give each range one user at a time.
        unsafe { self.rank.memset(rank, at, value, len) }
    }

    /// A generator of this rank's own for a section.
    pub fn rng(&self, section: &str) -> Rng {
        self.rng_of(section, self.me())
    }

    /// The generator a rank has for a section.
    pub fn rng_of(&self, section: &str, rank: u32) -> Rng {
        let mut h = self.seed ^ (u64::from(rank) << 32);
        section.bytes().for_each(|b| h = mix(h ^ u64::from(b)));
        Rng::new(h)
    }

    /// Waits until a counter of handlers reaches a value, and checks that it does not pass it.
    pub fn await_count(&self, what: &'static str, counter: &AtomicU64, wanted: u64) {
        self.rank.wait_until(what, || counter.load(Ordering::Acquire) >= wanted);
        assert_eq!(counter.load(Ordering::Acquire), wanted, "{what}");
    }
}

/// A bijection of 64-bit words that scatters.
pub fn mix(mut x: u64) -> u64 {
    x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// A generator, the same on all ranks that give it the same seed.
#[derive(Debug, Clone)]
pub struct Rng(fastrand::Rng);

impl Rng {
    pub fn new(seed: u64) -> Rng {
        Rng(fastrand::Rng::with_seed(seed))
    }

    pub fn next(&mut self) -> u64 {
        self.0.u64(..)
    }

    /// A number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        self.0.usize(..n)
    }

    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    pub fn bytes(&mut self, n: usize) -> Vec<u8> {
        let mut v = vec![0; n];
        self.0.fill(&mut v);
        v
    }
}

/// Panics with the first place where two byte strings differ.
#[track_caller]
pub fn same(got: &[u8], want: &[u8], what: &str) {
    assert_eq!(got.len(), want.len(), "{what}: length");
    if let Some(at) = got.iter().zip(want).position(|(a, b)| a != b) {
        panic!("{what}: byte {at} of {} is {:#04x}, expected {:#04x}", got.len(), got[at], want[at]);
    }
}
