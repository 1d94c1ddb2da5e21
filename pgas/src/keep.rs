//! Copies of what ranks have computed, in the memory of other ranks: what is left of a rank that has died.
//!
//! **Words.** A *state* is what one rank has saved at once: values, and parts of arrays. A *version* is the
//! states of all ranks that they have saved together, under one number. Each rank has its own state, to go
//! back to it, and a copy of the state of one other rank, whose *partner* it is. A version is *whole* when
//! all ranks have their own state and their partner's copy is made.
//!
//! **Two versions.** [`Keep::save`] first drops what is older than the newest whole version. Each rank puts
//! its new state into the partner's part of an array, and all meet: so all copies are made. Each notes the
//! copy that it has got, and all meet again. Whoever leaves the second meeting knows that the version is
//! whole. So at each moment there is a whole version, or none was ever saved: a rank that dies in the middle
//! of a save takes nothing of the version before with it. Two arrays are used in turn.
//!
//! **After deaths** the copies are handed from world to world, in the process. When a [`Keep`] is made in a
//! new world, all ranks say which states they have, and find from the same list the newest version of which
//! each state is with somebody ([`choose`]). They drop all others. If ranks were replaced, each new one gets
//! its state from its partner, and copies that were lost are made again. If not, the state of a dead rank
//! goes to its partner, which has it.
//!
//! **Lost.** If somebody is left who has seen a whole version, and no version has all its states, something
//! is lost: a rank and its partner have died. The same if nobody is left who was there before. It is told,
//! and nothing older is taken for it.

use crate::args::{Args, Data, Plain};
use crate::array::Array;
use crate::layout::Layout;
use crate::saved::{Held, Stamp, State, Words};
use crate::values::word_of;
use crate::world::World;
use crate::{body, kept};
use gasnet::GlobalPtr;
use gasnet_sys::mutex::lock;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

/// A state, as ranks tell each other which they have: its version, its owner, how many ranks there were, and
/// whether it is the rank's own.
type Holding = (Stamp, u32, u32, bool);

/// What a rank has: whether its process is the first of its number, the newest version that it knows to be
/// whole, and its states.
type Report = (bool, Option<Stamp>, Vec<Holding>);

/// A version of which each state is with somebody.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Chosen {
    stamp: Stamp,
    /// Of each owner, the rank that has its state: its own if it can be, else the first that has a copy.
    sources: Vec<u32>,
    /// Whether a rank has all that it had when the version was saved: its own state, and the copy of another.
    complete: Vec<bool>,
}

/// What ranks have saved is lost: both copies of it were with ranks that have died. Given by
/// [`Keep::try_restore`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lost {
    /// The ranks whose states are lost, by their numbers in the world that has saved them; none if nobody is
    /// left who knows what was saved.
    pub ranks: Vec<u32>,
}

impl core::fmt::Display for Lost {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        if self.ranks.is_empty() {
            return f.write_str(
                "nobody is left of the ranks that have saved something, or had nothing saved yet",
            );
        }
        let ranks: Vec<String> = self.ranks.iter().map(u32::to_string).collect();
        let ranks = ranks.join(", ");
        match self.ranks.len() {
            1 => write!(f, "what rank {ranks} has saved is lost: its partner has died, too"),
            _ => write!(f, "what ranks {ranks} have saved is lost: their partners have died, too"),
        }
    }
}

impl core::error::Error for Lost {}

/// The newest version of which each state is with a rank; `None` if nobody has ever seen one that was whole.
/// The same on all ranks, which have the same list.
fn choose(reports: &[Report]) -> Result<Option<Chosen>, Lost> {
    let holdings = || (0u32..).zip(reports).flat_map(|(rank, r)| r.2.iter().map(move |h| (rank, *h)));
    let mut versions: Vec<(Stamp, u32)> = holdings().map(|(_, (stamp, _, size, _))| (stamp, size)).collect();
    versions.sort_unstable();
    versions.dedup();
    let source = |stamp: Stamp, owner: u32| {
        let having = holdings().filter(|(_, h)| h.0 == stamp && h.1 == owner);
        having.min_by_key(|(rank, h)| (!h.3, *rank)).map(|(rank, _)| rank)
    };
    for (stamp, size) in versions.iter().rev() {
        let sources: Option<Vec<u32>> = (0..*size).map(|owner| source(*stamp, owner)).collect();
        if let Some(sources) = sources {
            let has = |report: &Report, own| report.2.iter().any(|h| h.0 == *stamp && h.3 == own);
            let complete = reports.iter().map(|r| has(r, true) && (*size == 1 || has(r, false))).collect();
            return Ok(Some(Chosen { stamp: *stamp, sources, complete }));
        }
    }
    let Some(whole) = reports.iter().filter_map(|r| r.1).max() else {
        let some_remember = reports.iter().any(|r| r.0);
        return if some_remember { Ok(None) } else { Err(Lost { ranks: Vec::new() }) };
    };
    let size = versions.iter().find(|(stamp, _)| *stamp == whole).map_or(0, |(_, size)| *size);
    Err(Lost { ranks: (0..size).filter(|owner| source(whole, *owner).is_none()).collect() })
}

/// Arrays that saves use in turn, once they are made.
type CopyArrays = [Option<Arc<Array<u64>>>; 2];

/// Copies of what the ranks have computed: see [`World::keep`].
#[derive(Debug)]
pub struct Keep {
    world: World,
    number: u32,
    /// What was found when this was made in a world that follows another one.
    found: Result<Option<Chosen>, Lost>,
    /// Where the copies of the last two saves in this world are, and how many saves there were.
    arrays: Mutex<(CopyArrays, usize)>,
}

impl World {
    /// Makes a place for copies of what the ranks compute: each rank's are in its own memory and in that of
    /// another rank. A program makes the same ones in each world, in the same order; in a world that follows
    /// another one they have what was saved there.
    ///
    /// # Collective
    ///
    /// # Panics
    /// As [`World::barrier`].
    pub fn keep(self) -> Keep {
        // Relaxed: ranks make them in the same order, which one thread does at a time.
        let number = self.0.keeps.fetch_add(1, Ordering::Relaxed);
        // In the job's first world nothing was saved.
        let found = if self.epoch() == 0 { Ok(None) } else { find(self, number) };
        Keep { world: self, number, found, arrays: Mutex::default() }
    }

    /// The rank that has the copies of a rank's states.
    fn partner_of(self, rank: u32) -> u32 {
        (rank + 1) % self.size()
    }

    /// The rank whose states this one has copies of.
    fn ward(self) -> u32 {
        (self.rank() + self.size() - 1) % self.size()
    }
}

/// Finds the newest version that all ranks can have, and drops all others.
fn find(world: World, number: u32) -> Result<Option<Chosen>, Lost> {
    let copies = &world.0.copies;
    let (whole, mine) = copies.with(number, |held| {
        let all = held.states.iter().map(|s| (s.stamp, s.owner, s.size, s.own));
        (held.whole, all.collect::<Vec<Holding>>())
    });
    let reports = world.gather_all((world.incarnation() == 0, whole, mine));
    let Some(chosen) = choose(&reports)? else { return Ok(None) };
    copies.with(number, |held| {
        held.states.retain(|state| state.stamp == chosen.stamp);
        held.whole = Some(chosen.stamp);
    });
    Ok(Some(chosen))
}

impl Keep {
    fn with<R>(&self, f: impl FnOnce(&mut Held) -> R) -> R {
        self.world.0.copies.with(self.number, f)
    }

    /// Saves what `f` gives to the [`Saver`], under this number, which grows from save to save: as a rule,
    /// that of the step that comes next. Costs a copy of it here and one on another rank.
    ///
    /// Until it has returned somewhere, the version before is what [`Keep::restore`] gives. A rank keeps two
    /// versions, of its own states and of another rank's: the memory of four states.
    ///
    /// # Collective
    ///
    /// # Panics
    /// As [`World::barrier`]. The number has not grown, or a value cannot be written. Ends the job when ranks
    /// save different numbers.
    #[track_caller]
    pub fn save(&self, version: u64, f: impl FnOnce(&mut Saver)) {
        let (world, stamp) = (self.world, (self.world.epoch(), version));
        let (whole, room) = self.with(|held| (held.whole, held.drop_before(held.whole)));
        assert!(whole < Some(stamp), "version {version} is saved after version {}", whole.map_or(0, |w| w.1));
        let mut saver = Saver { words: room, used: 0 };
        f(&mut saver);
        saver.words.truncate(saver.used);
        let words = Words::Here(Arc::new(saver.words));
        let all = world.gather_all((version, words.len()));
        let versions = || all.iter().map(|one| one.0);
        if versions().any(|other| other != version) {
            let (least, most) = (versions().min().unwrap_or(version), versions().max().unwrap_or(version));
            world.abort(&format!(
                "ranks save different versions, {least} and {most}: all ranks save together"
            ));
        }
        let (owner, size) = (world.rank(), world.size());
        let state = |owner, own, words| State { stamp, owner, size, own, words };
        self.with(|held| held.states.push(state(owner, true, words.clone())));
        if size > 1 {
            let array = self.array_of(all.iter().map(|one| one.1).max().unwrap_or(0));
            words.put(world, array.at(world.partner_of(owner), 0));
            world.barrier();
            let copy = Words::InPart(array, all[world.ward() as usize].1);
            self.with(|held| held.states.push(state(world.ward(), false, copy)));
        }
        world.barrier();
        self.with(|held| held.whole = Some(stamp));
    }

    /// The array for the copies of a save, with parts of so many words at least.
    fn array_of(&self, words: usize) -> Arc<Array<u64>> {
        let mut arrays = lock(&self.arrays);
        let (arrays, number) = &mut *arrays;
        let place = &mut arrays[*number % 2];
        *number += 1;
        match place {
            Some(array) if array.local_len() >= words => array.clone(),
            _ => {
                // All ranks come here: the parts of an array are all as long.
                *place = None;
                let all = words.next_multiple_of(8) * self.world.size() as usize;
                place.insert(Arc::new(self.world.array(all, Layout::Block))).clone()
            }
        }
    }

    /// Has `f` read back what was saved last, and returns its number; `None` if nothing was ever saved.
    ///
    /// `f` reads with the [`Restorer`] what it has given to the [`Saver`], in the same order. In the world
    /// that has saved, and where the dead were replaced, it is called once on each rank. In a world of those
    /// that are left it is called once for each rank of the world that has saved: on that rank, and for one
    /// that has died, on the rank that has the copy. [`Restorer::rank`] says for which. The states of the
    /// dead are safe again when the next save has returned.
    ///
    /// # Collective
    ///
    /// # Panics
    /// As [`World::barrier`]. `f` does not read what was saved. Ends the job when it is lost, since a rank
    /// and its partner have died.
    #[track_caller]
    pub fn restore(&self, f: impl FnMut(&mut Restorer<'_>)) -> Option<u64> {
        self.try_restore(f).unwrap_or_else(|lost| self.world.abort(&lost.to_string()))
    }

    /// [`Keep::restore`] for a program that can go on without it.
    ///
    /// # Collective
    ///
    /// # Errors
    /// It is lost. All ranks get the same.
    ///
    /// # Panics
    /// As [`Keep::restore`].
    #[track_caller]
    pub fn try_restore(&self, mut f: impl FnMut(&mut Restorer<'_>)) -> Result<Option<u64>, Lost> {
        let (world, me) = (self.world, self.world.rank());
        let saved_here = self.with(|held| held.whole.filter(|whole| whole.0 == world.epoch()));
        let (stamp, owners) = match (saved_here, &self.found) {
            (Some(stamp), _) => (stamp, vec![me]),
            (None, Err(lost)) => return Err(lost.clone()),
            (None, Ok(None)) => return Ok(None),
            (None, Ok(Some(chosen))) if world.0.rank.survival().heals() => {
                self.repair(chosen);
                (chosen.stamp, vec![me])
            }
            (None, Ok(Some(chosen))) => {
                let mine = (0..).zip(&chosen.sources).filter(|(_, source)| **source == me);
                (chosen.stamp, mine.map(|(owner, _)| owner).collect())
            }
        };
        owners.into_iter().for_each(|owner| self.read(stamp, owner, &mut f));
        Ok(Some(stamp.1))
    }

    /// Has each new process get its rank's state, and then the copy of another rank's that it is to have.
    fn repair(&self, chosen: &Chosen) {
        let (world, me, stamp) = (self.world, self.world.rank(), chosen.stamp);
        if chosen.complete.iter().all(|complete| *complete) {
            return;
        }
        let here = |owner| self.with(|held| Some(held.find(stamp, owner)?.words.clone()));
        let new = |rank: u32| !chosen.complete[rank as usize];
        let mine: Vec<(u32, usize)> =
            world.ranks().filter_map(|owner| Some((owner, here(owner)?.len()))).collect();
        let mut lens = vec![0; world.size() as usize];
        let all = world.gather_all(mine).into_iter().flatten();
        all.for_each(|(owner, len)| lens[owner as usize] = len);
        let words = lens.iter().max().copied().unwrap_or(0).next_multiple_of(8) * world.size() as usize;
        // First what a new process goes on with, then what it keeps for another one.
        for (own, owner) in [(true, me), (false, world.ward())] {
            let array = Arc::new(world.array::<u64>(words, Layout::Block));
            for rank in world.ranks().filter(|rank| new(*rank)) {
                let owner = if own { rank } else { (rank + world.size() - 1) % world.size() };
                let source = if own { chosen.sources[owner as usize] } else { owner };
                if let Some(state) = here(owner).filter(|_| source == me && rank != me) {
                    state.put(world, array.at(rank, 0));
                }
            }
            world.barrier();
            if new(me) && here(owner).is_none() {
                let words = Words::InPart(array, lens[owner as usize]);
                let size = world.size();
                self.with(|held| held.states.push(State { stamp, owner, size, own, words }));
            }
        }
        world.barrier();
    }

    /// Has `f` read a state that is here.
    #[track_caller]
    fn read(&self, stamp: Stamp, owner: u32, f: &mut impl FnMut(&mut Restorer<'_>)) {
        let Some(state) = self.with(|held| held.find(stamp, owner).cloned()) else {
            self.world.abort("a state that was there is not any more")
        };
        let mut restorer = Restorer { world: self.world, owner, words: &state.words, at: 0 };
        f(&mut restorer);
        let left = state.words.len() - restorer.at;
        assert!(left == 0, "{} bytes of what was saved have not been restored", 8 * left);
    }
}

/// What precedes each piece of a state: its type, and how many bytes it has.
const HEAD_WORDS: usize = 2;

/// Takes what a rank saves: see [`Keep::save`].
#[derive(Debug)]
pub struct Saver {
    /// Memory, of which the first words are used.
    words: Vec<u64>,
    used: usize,
}

impl Saver {
    /// Room for a piece.
    fn piece<T: 'static>(&mut self, bytes: usize) -> &mut [u8] {
        let first = self.used + HEAD_WORDS;
        let end = first + bytes.div_ceil(8);
        if self.words.len() < end {
            self.words.resize(end, 0);
        }
        self.words[self.used..first].copy_from_slice(&[word_of::<T>(), bytes as u64]);
        self.used = end;
        &mut bytemuck::cast_slice_mut(&mut self.words[first..end])[..bytes]
    }

    /// Saves a value: anything that can be an argument of a remote call, but for what belongs to one rank at
    /// a time.
    ///
    /// # Panics
    /// It cannot be written.
    #[track_caller]
    pub fn value<T: Data>(&mut self, value: &T) {
        let mut bytes = Vec::new();
        body::apart(|| value.write(&mut bytes)).unwrap_or_else(|e| panic!("{e}"));
        self.piece::<T>(bytes.len()).copy_from_slice(&bytes);
    }

    /// Saves plain data.
    pub fn slice<T: Plain>(&mut self, values: &[T]) {
        self.piece::<[T; 0]>(size_of_val(values)).copy_from_slice(bytemuck::cast_slice(values));
    }

    /// Saves this rank's part of an array.
    pub fn part<T: Plain>(&mut self, array: &Array<T>) {
        const { assert!(align_of::<T>() <= 8, "elements that are saved are aligned to at most 8 bytes") }
        let bytes = self.piece::<[T; 0]>(array.local_len() * size_of::<T>());
        // No rank is in a phase of the array: this one has it borrowed, and all ranks save together.
        kept::read(array.world, array.first, bytemuck::cast_slice_mut(bytes));
    }
}

/// Gives back what a rank has saved, piece by piece: see [`Keep::restore`].
#[derive(Debug)]
pub struct Restorer<'a> {
    world: World,
    owner: u32,
    words: &'a Words,
    /// Where the next piece begins.
    at: usize,
}

impl Restorer<'_> {
    /// The rank that has saved this, by its number in the world in which it did.
    pub fn rank(&self) -> u32 {
        self.owner
    }

    /// Goes on to the next piece. Returns where its words begin, and how many bytes it has.
    #[track_caller]
    fn piece<T: 'static>(&mut self) -> (usize, usize) {
        assert!(self.at < self.words.len(), "nothing is left of what was saved");
        let mut head = [0; HEAD_WORDS];
        self.words.read(self.at, &mut head);
        assert!(head[0] == word_of::<T>(), "the next piece that was saved has another type");
        let (first, bytes) = (self.at + HEAD_WORDS, head[1] as usize);
        self.at = first + bytes.div_ceil(8);
        (first, bytes)
    }

    /// The value that was saved next.
    ///
    /// # Panics
    /// Something else was.
    #[track_caller]
    pub fn value<T: Data>(&mut self) -> T {
        let (first, bytes) = self.piece::<T>();
        let mut words = vec![0u64; bytes.div_ceil(8)];
        self.words.read(first, &mut words);
        let bytes = &bytemuck::cast_slice(&words)[..bytes];
        self.world.read(Vec::new(), || <T as Args>::read(bytes)).unwrap_or_else(|e| panic!("{e}"))
    }

    /// The plain data that was saved next, or the part of an array.
    ///
    /// # Panics
    /// Something else was saved.
    #[track_caller]
    pub fn slice<T: Plain>(&mut self) -> Vec<T> {
        const { assert!(size_of::<T>() > 0, "elements that are saved have a byte or more") }
        let (first, bytes) = self.piece::<[T; 0]>();
        let mut values = vec![T::zeroed(); bytes / size_of::<T>()];
        self.words.pieces(first, bytes.div_ceil(8), |from, piece| {
            let to = &mut bytemuck::cast_slice_mut::<T, u8>(&mut values)[8 * from..];
            let n = to.len().min(8 * piece.len());
            to[..n].copy_from_slice(&bytemuck::cast_slice(piece)[..n]);
        });
        values
    }

    /// Fills this rank's part of an array with the one that was saved next.
    ///
    /// # Panics
    /// Something else was saved, or a part of another length.
    #[track_caller]
    pub fn part<T: Plain>(&mut self, array: &mut Array<T>) {
        const { assert!(size_of::<T>() > 0, "elements that are saved have a byte or more") }
        let (first, bytes) = self.piece::<[T; 0]>();
        let (saved, has) = (bytes / size_of::<T>(), array.local_len());
        assert!(saved == has, "a part of {saved} elements was saved, and the array's has {has}");
        // The array is not in a phase here, and others enter one together with this rank.
        self.words.pieces(first, bytes.div_ceil(8), |from, piece| {
            let n = (bytes - 8 * from).min(8 * piece.len());
            let to = GlobalPtr::new(array.first.rank(), array.first.offset() + 8 * from as u64);
            kept::write::<u8>(array.world, to, &bytemuck::cast_slice(piece)[..n]);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: Stamp = (0, 20);
    const NEW: Stamp = (0, 40);

    /// All states of two versions on `size` ranks, as they are when all have saved both.
    fn saved(size: u32) -> Vec<Report> {
        let held = |rank: u32| {
            let other = (rank + size - 1) % size;
            [OLD, NEW].iter().flat_map(|v| [(*v, rank, size, true), (*v, other, size, false)]).collect()
        };
        (0..size).map(|rank| (true, Some(OLD), held(rank))).collect()
    }

    fn replaced() -> Report {
        (false, None, Vec::new())
    }

    #[test]
    fn the_newest_version_that_all_can_have_is_chosen() {
        let mut ranks = saved(3);
        let chosen = |ranks: &[Report]| choose(ranks).map(|c| c.map(|c| (c.stamp, c.sources)));
        assert_eq!(chosen(&ranks), Ok(Some((NEW, vec![0, 1, 2]))));
        ranks[1] = replaced();
        assert_eq!(chosen(&ranks), Ok(Some((NEW, vec![0, 2, 2]))));
        // Rank 0 was in the middle of the save.
        ranks[0].2.retain(|h| h.0 == OLD || h.3);
        ranks[2].2.retain(|h| h.0 == OLD || h.1 != 1);
        assert_eq!(chosen(&ranks), Ok(Some((OLD, vec![0, 2, 2]))));
        ranks[2] = replaced();
        assert_eq!(chosen(&ranks), Err(Lost { ranks: vec![1] }));
        ranks[0] = replaced();
        assert_eq!(chosen(&ranks), Err(Lost { ranks: vec![] }));
    }

    #[test]
    fn who_is_left_and_has_seen_no_version_begins_anew() {
        let ranks = [(true, None, vec![(NEW, 0, 2, true)]), replaced()];
        assert_eq!(choose(&ranks), Ok(None));
        assert_eq!(choose(&[replaced(), replaced()]), Err(Lost { ranks: vec![] }));
    }

    /// Whichever ranks die: with whom a version is left, it is chosen, and else it is told.
    #[test]
    fn every_set_of_deaths() {
        for size in 1..=8u32 {
            for dead in 1..1u32 << size {
                let mut ranks = saved(size);
                let is_dead = |rank: u32| dead >> (rank % size) & 1 == 1;
                (0..size).filter(|rank| is_dead(*rank)).for_each(|rank| ranks[rank as usize] = replaced());
                let lost = (0..size).any(|rank| is_dead(rank) && is_dead(rank + 1));
                match choose(&ranks) {
                    Ok(Some(chosen)) => {
                        assert!(!lost && chosen.stamp == NEW, "{size} {dead:b}");
                        for (owner, source) in (0..).zip(chosen.sources) {
                            let right = if is_dead(owner) { (owner + 1) % size } else { owner };
                            assert_eq!(source, right, "{size} {dead:b}");
                        }
                    }
                    other => assert!(lost && other.is_err(), "{size} {dead:b}"),
                }
            }
        }
    }

    #[test]
    fn losses_are_told() {
        let said = |ranks: &[u32]| Lost { ranks: ranks.into() }.to_string();
        assert_eq!(said(&[3]), "what rank 3 has saved is lost: its partner has died, too");
        assert_eq!(said(&[0, 2]), "what ranks 0, 2 have saved is lost: their partners have died, too");
        assert!(said(&[]).starts_with("nobody is left"));
    }
}
