//! What a process has of the states that ranks have saved: `keep.rs` says what they are.

use crate::array::Array;
use crate::kept;
use crate::states::{Area, Stamp, StateFile};
use crate::world::World;
use gasnet::GlobalPtr;
use gasnet_conduits::Member;
use gasnet_sys::mutex::lock;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

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
    /// The first so many of an area, which the process at its place has saved.
    InArea(Arc<Area>, usize),
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
            Words::InArea(_, len) | Words::InPart(_, len) => *len,
        }
    }

    /// All of them, where they can be had as a slice.
    pub(crate) fn slice(&self) -> Option<&[u64]> {
        match self {
            Words::Here(words) => Some(words),
            Words::InArea(area, len) => Some(area.words(*len)),
            Words::InPart(..) => None,
        }
    }

    /// Reads the words from `at` on.
    ///
    /// # Panics
    /// There are not so many.
    pub(crate) fn read(&self, at: usize, to: &mut [u64]) {
        assert!(at <= self.len() && to.len() <= self.len() - at, "words that were saved");
        match (self, self.slice()) {
            (_, Some(words)) => to.copy_from_slice(&words[at..at + to.len()]),
            // Nobody writes there before all ranks save together again.
            (Words::InPart(array, _), None) => kept::read(array.world, array.at(array.world.rank(), at), to),
            (_, None) => unreachable!("only parts of arrays are no slices"),
        }
    }

    /// Calls `f` with pieces of `len` words from `at` on, and where each begins.
    pub(crate) fn pieces(&self, at: usize, len: usize, mut f: impl FnMut(usize, &[u64])) {
        if let Some(words) = self.slice() {
            return f(0, &words[at..at + len]);
        }
        let mut bounce = vec![0; BOUNCE_WORDS.min(len)];
        for from in (0..len).step_by(BOUNCE_WORDS) {
            let piece = &mut bounce[..BOUNCE_WORDS.min(len - from)];
            self.read(at + from, piece);
            f(from, piece);
        }
    }

    /// Puts all words to a rank, into memory that no phase of an array has.
    pub(crate) fn put(&self, world: World, to: GlobalPtr<u64>) {
        self.pieces(0, self.len(), |from, piece| {
            let to = GlobalPtr::new(to.rank(), to.offset() + 8 * from as u64);
            kept::write(world, to, piece);
        });
    }
}

/// The states that this process has for one [`Keep`](crate::Keep).
#[derive(Debug, Default)]
pub(crate) struct Held {
    pub(crate) states: Vec<State>,
    /// The newest version that this rank knows to be whole.
    pub(crate) whole: Option<Stamp>,
    /// The two areas of this process's place; none where states are private.
    areas: [Place; 2],
    /// Whether what the areas hold is among the states.
    looked: bool,
}

/// Where an area is. A process has one value for each, so nobody writes it while somebody reads.
#[derive(Debug, Default)]
enum Place {
    /// Not mapped yet.
    #[default]
    Unknown,
    /// Here, and in the state that it holds, and with those that read that.
    Here(Arc<Area>),
    /// With a save that writes it.
    Lent,
}

/// Memory that a save writes to.
#[derive(Debug)]
pub(crate) enum Room {
    /// Memory of this process, of which the first words are used.
    Private(Vec<u64>),
    /// Area 0 or 1 of its place.
    Area(u32, Area),
}

impl Room {
    /// At least this many words, to write from word `used` on.
    #[track_caller]
    pub(crate) fn words(&mut self, used: usize, words: usize) -> &mut [u64] {
        match self {
            Room::Area(_, area) => area.room(used, words),
            Room::Private(all) => {
                if all.is_empty() {
                    // The system's pages are zero.
                    *all = vec![0; words];
                } else if all.len() < words {
                    all.resize(words, 0);
                }
                all
            }
        }
    }
}

impl Held {
    pub(crate) fn find(&self, stamp: Stamp, owner: u32) -> Option<&State> {
        let mut all = self.states.iter().filter(|s| s.stamp == stamp && s.owner == owner);
        all.next()
    }

    /// Drops what is older than the version that is whole. Returns memory for another state of this process;
    /// `None` if there is none, since the program is in the middle of saving or restoring.
    pub(crate) fn room(&mut self) -> Option<Room> {
        let whole = self.whole;
        let (kept, old) = std::mem::take(&mut self.states).into_iter().partition(|s| Some(s.stamp) >= whole);
        self.states = kept;
        let own = Vec::into_iter(old).filter(|state: &State| state.own);
        let memory = |state: State| match state.words {
            Words::Here(words) => Arc::try_unwrap(words).ok(),
            Words::InArea(..) | Words::InPart(..) => None,
        };
        let private = own.filter_map(memory).next().unwrap_or_default();
        if self.areas.iter().any(|place| matches!(place, Place::Unknown)) {
            return Some(Room::Private(private));
        }
        for (which, place) in (0..).zip(&mut self.areas) {
            match std::mem::replace(place, Place::Lent) {
                Place::Here(area) => match Arc::try_unwrap(area) {
                    Ok(mut area) => {
                        area.begin();
                        return Some(Room::Area(which, area));
                    }
                    Err(used) => *place = Place::Here(used),
                },
                other => *place = other,
            }
        }
        None
    }

    /// Takes memory back that a save has got. Returns how a state is found there.
    pub(crate) fn take_back(&mut self, room: Room, words: usize) -> Words {
        match room {
            Room::Private(mut all) => {
                all.truncate(words);
                Words::Here(Arc::new(all))
            }
            Room::Area(which, area) => {
                let area = Arc::new(area);
                self.areas[which as usize] = Place::Here(area.clone());
                Words::InArea(area, words)
            }
        }
    }

    /// Adds what the areas of this process's place hold, which the process before it may have saved. Once.
    pub(crate) fn look(&mut self, file: &StateFile, place: u32, number: u32) {
        if std::mem::replace(&mut self.looked, true) {
            return;
        }
        let [Some(first), Some(second)] = [0, 1].map(|which| file.area(place, number, which)) else { return };
        for (at, area) in self.areas.iter_mut().zip([first, second]) {
            let (area, state) = State::of(area, true);
            if let Some((state, whole)) = state {
                self.whole = self.whole.max(Some(state.stamp).filter(|_| whole));
                self.states.push(state);
            }
            *at = Place::Here(area);
        }
    }

    /// Whether this process has found what the one before it may have saved.
    pub(crate) fn has_looked(&self) -> bool {
        !matches!(self.areas[0], Place::Unknown)
    }

    /// Has the states of these places, and of no others: their processes have died, and are not replaced.
    pub(crate) fn inherit(&mut self, file: &StateFile, places: impl Iterator<Item = u32>, number: u32) {
        self.states.retain(|state| state.own || !matches!(state.words, Words::InArea(..)));
        let areas = places.flat_map(|place| [0, 1].map(|which| file.area(place, number, which)));
        let found = areas.flatten().filter_map(|area| State::of(area, false).1);
        self.states.extend(found.map(|(state, _)| state));
    }

    /// All ranks have saved the newest version.
    pub(crate) fn know_whole(&mut self, stamp: Stamp) {
        self.whole = Some(stamp);
        let own = self.states.iter().filter(|state| state.own && state.stamp == stamp);
        own.for_each(|state| {
            if let Words::InArea(area, _) = &state.words {
                area.know_whole();
            }
        });
    }
}

impl State {
    /// The state in an area, if there is one, and whether its version is known to be whole.
    fn of(mut area: Area, own: bool) -> (Arc<Area>, Option<(State, bool)>) {
        let found = area.found();
        let area = Arc::new(area);
        let state = found.map(|found| {
            let words = Words::InArea(area.clone(), found.words);
            let state = State { stamp: found.stamp, owner: found.owner, size: found.size, own, words };
            (state, found.whole)
        });
        (area, state)
    }
}

/// All states that this process has, by the numbers of the [`Keep`](crate::Keep)s; handed from world to
/// world.
#[derive(Debug, Default)]
pub(crate) struct Copies {
    held: Mutex<Vec<Held>>,
    /// Where states lie that outlive their process; `None` if the process has them for itself.
    pub(crate) file: Option<StateFile>,
    /// The number of places, if this process was in the first world.
    pub(crate) places: u32,
    /// Whether the program is in [`World::survive`](crate::World::survive), or was.
    pub(crate) survived: AtomicBool,
}

impl Copies {
    /// Of a process whose first world has so many ranks.
    pub(crate) fn new(member: Member<'_>, size: u32) -> Copies {
        let file = member.first_segments.and_then(StateFile::new);
        Copies { file, places: size, ..Copies::default() }
    }

    /// Finds what processes before this one have saved at this place. Returns whether what this one saves
    /// outlives it.
    pub(crate) fn look(&self, number: u32, place: u32) -> bool {
        self.with(number, |held| {
            if let Some(file) = &self.file {
                held.look(file, place, number);
            }
            held.has_looked()
        })
    }

    /// What there is for a [`Keep`](crate::Keep).
    pub(crate) fn with<R>(&self, number: u32, f: impl FnOnce(&mut Held) -> R) -> R {
        let mut all = lock(&self.held);
        if all.len() <= number as usize {
            all.resize_with(number as usize + 1, Held::default);
        }
        f(&mut all[number as usize])
    }
}
