//! What a process has of the states that ranks have saved: `keep.rs` says what they are.

use crate::array::Array;
use crate::kept;
use crate::world::World;
use gasnet::GlobalPtr;
use gasnet_sys::mutex::lock;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

/// The world in which a version was saved, by the number of worlds before it, and its number. Of two, the
/// larger is the newer.
pub(crate) type Stamp = (u32, u64);

/// What a rank has saved, or a copy of it.
#[derive(Debug, Clone)]
pub(crate) struct State {
    pub(crate) stamp: Stamp,
    /// The rank that has saved it, and how many there were.
    pub(crate) owner: u32,
    pub(crate) size: u32,
    /// Whether this process has saved it, or goes on as the one that has.
    pub(crate) own: bool,
    pub(crate) words: Words,
}

/// The words of a state.
#[derive(Debug, Clone)]
pub(crate) enum Words {
    /// In memory of this process.
    Here(Arc<Vec<u64>>),
    /// The first so many of this rank's part of an array, into which another rank has put them. Its world may
    /// be over: the part is still this rank's.
    InPart(Arc<Array<u64>>, usize),
}

/// Words that are copied at a time from one part to another.
const BOUNCE_WORDS: usize = 8192;

impl Words {
    pub(crate) fn len(&self) -> usize {
        match self {
            Words::Here(words) => words.len(),
            Words::InPart(_, len) => *len,
        }
    }

    /// Reads the words from `at` on.
    ///
    /// # Panics
    /// There are not so many.
    pub(crate) fn read(&self, at: usize, to: &mut [u64]) {
        assert!(at <= self.len() && to.len() <= self.len() - at, "words that were saved");
        match self {
            Words::Here(words) => to.copy_from_slice(&words[at..at + to.len()]),
            // Nobody writes there before all ranks save together again.
            Words::InPart(array, _) => kept::read(array.world, array.at(array.world.rank(), at), to),
        }
    }

    /// Calls `f` with pieces of `len` words from `at` on, and where each begins.
    pub(crate) fn pieces(&self, at: usize, len: usize, mut f: impl FnMut(usize, &[u64])) {
        let mut bounce = vec![0; BOUNCE_WORDS.min(len)];
        for from in (0..len).step_by(BOUNCE_WORDS) {
            let piece = &mut bounce[..BOUNCE_WORDS.min(len - from)];
            self.read(at + from, piece);
            f(from, piece);
        }
    }

    /// Puts all words to a rank, into memory that no phase of an array has.
    pub(crate) fn put(&self, world: World, to: GlobalPtr<u64>) {
        match self {
            Words::Here(words) => kept::write(world, to, words),
            Words::InPart(_, len) => self.pieces(0, *len, |from, piece| {
                let to = GlobalPtr::new(to.rank(), to.offset() + 8 * from as u64);
                kept::write(world, to, piece);
            }),
        }
    }
}

/// The states that this process has for one [`Keep`](crate::Keep).
#[derive(Debug, Default)]
pub(crate) struct Held {
    pub(crate) states: Vec<State>,
    /// The newest version that this rank knows to be whole.
    pub(crate) whole: Option<Stamp>,
}

impl Held {
    pub(crate) fn find(&self, stamp: Stamp, owner: u32) -> Option<&State> {
        let mut all = self.states.iter().filter(|s| s.stamp == stamp && s.owner == owner);
        all.next()
    }

    /// Drops what is older than a version that is whole. Returns memory that may be used again.
    pub(crate) fn drop_before(&mut self, whole: Option<Stamp>) -> Vec<u64> {
        let (kept, old) = std::mem::take(&mut self.states).into_iter().partition(|s| Some(s.stamp) >= whole);
        self.states = kept;
        let own = Vec::into_iter(old).filter(|state: &State| state.own);
        let memory = |state: State| match state.words {
            Words::Here(words) => Arc::try_unwrap(words).ok(),
            Words::InPart(..) => None,
        };
        own.filter_map(memory).next().unwrap_or_default()
    }
}

/// All states that this process has, by the numbers of the [`Keep`](crate::Keep)s; handed from world to
/// world.
#[derive(Debug, Default)]
pub(crate) struct Copies {
    held: Mutex<Vec<Held>>,
    /// Whether the program is in [`World::survive`](crate::World::survive), or was.
    pub(crate) survived: AtomicBool,
}

impl Copies {
    /// What there is for a [`Keep`](crate::Keep).
    pub(crate) fn with<R>(&self, number: u32, f: impl FnOnce(&mut Held) -> R) -> R {
        let mut all = lock(&self.held);
        if all.len() <= number as usize {
            all.resize_with(number as usize + 1, Held::default);
        }
        f(&mut all[number as usize])
    }
}
