//! What a process has of the states that ranks have saved: `keep.rs` says what they are.

use crate::bulk::Bulk;
use gasnet_sys::mutex::lock;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

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
    pub(crate) words: Bulk<u64>,
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
        own.filter_map(|state| state.words.into_own()).next().unwrap_or_default()
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
