//! What ranks have saved of their work, in memory that is still there when they have died.
//!
//! **Words.** A *state* is what one rank has saved at once: values, and parts of arrays. A *version* is the
//! states of all ranks that they have saved together, under one number. It is *whole* when all of them are
//! where they are to be.
//!
//! **Where states are.** A state lies in memory of its host that outlives the process (`states.rs`). So the
//! deaths of processes, of however many, lose nothing. With a host all of its memory is lost. So where a job
//! has several hosts, each state has a *copy* in the segment of another rank, the *partner*, which is on
//! another host ([`partners`]). The same where a launcher or the system gives no memory that outlives the
//! process (a simulated job, a limit on the size of files): then states lie in the processes, and the partner
//! is the next rank.
//!
//! **Two versions.** [`Keep::save`] first drops what is older than the newest whole version, and writes the
//! new state to the memory of that. Then all meet. If there are copies, each rank puts its state into the
//! partner's part of an array before, and all meet once more when they have noted the copy that they have
//! got. Whoever leaves the last meeting knows that the version is whole. So at each moment there is a whole
//! version, or none was ever saved: a rank that dies in the middle of a save takes nothing of the version
//! before with it. Two arrays are used in turn.
//!
//! **After deaths** a process hands its states from world to world; a new process finds those of the process
//! before it. When a [`Keep`] is made in a new world, all ranks say which states they have, and find from the
//! same list the newest version of which each state is with somebody ([`choose`]). They drop all others. If
//! ranks were replaced, a new one that has found nothing gets its state from its partner, and copies that
//! were lost are made again. If they were not, the next rank that is left has the state of a dead one.
//!
//! **Lost.** If somebody knows of a whole version, and no version has all its states, something is lost: a
//! rank and its partner have died, and the memory of the first with it. The same if nobody is left who was
//! there before. It is told, and nothing older is taken for it.

use crate::args::{Args, Data, Plain};
use crate::array::Array;
use crate::layout::Layout;
use crate::saved::{Held, Room, State, Words};
use crate::states::Stamp;
use crate::values::word_of;
use crate::world::World;
use crate::{body, kept};
use gasnet::{GlobalPtr, RankId};
use gasnet_sys::mutex::lock;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

/// A state, as ranks tell each other which they have: its version, its owner, how many ranks there were, and
/// whether it is the rank's own.
type Holding = (Stamp, u32, u32, bool);

/// What a rank has: whether it knows what its processes have seen, the newest version that it knows to be
/// whole, and its states.
type Report = (bool, Option<Stamp>, Vec<Holding>);

/// A version of which each state is with somebody.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Chosen {
    stamp: Stamp,
    /// Of each owner, the rank that has its state: its own if it can be, else the first that has a copy.
    sources: Vec<u32>,
    /// Whether a rank has all that it is to have: its own state, and the copy of another if there are any.
    complete: Vec<bool>,
}

/// What ranks have saved is lost: the memory that had it, and the partner that had a copy. Given by
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
fn choose(reports: &[Report], copies: bool) -> Result<Option<Chosen>, Lost> {
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
            let alone = *size == 1 || !copies;
            let complete = reports.iter().map(|r| has(r, true) && (alone || has(r, false))).collect();
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

/// The partner of each rank, as all are on these hosts: another rank, on another host if one host has no more
/// ranks than all others together. Each rank is the partner of one.
fn partners(hosts: &[u32]) -> Vec<u32> {
    let mut ranks: Vec<u32> = (0..hosts.len() as u32).collect();
    ranks.sort_by_key(|rank| (hosts[*rank as usize], *rank));
    let on_host = ranks.chunk_by(|a, b| hosts[*a as usize] == hosts[*b as usize]).map(<[u32]>::len);
    // In a circle of all ranks, host by host, as many steps as the largest host has ranks lead to another.
    let steps = on_host.max().filter(|most| *most < ranks.len()).unwrap_or(1);
    let mut partners = vec![0; ranks.len()];
    for (i, rank) in ranks.iter().enumerate() {
        partners[*rank as usize] = ranks[(i + steps) % ranks.len()];
    }
    partners
}

/// The place that goes on with the states of `dead`: the next one that lives, of so many in a circle.
fn heir(dead: u32, living: &[u32]) -> Option<u32> {
    living.iter().find(|place| **place > dead).or(living.first()).copied()
}

/// Arrays that saves use in turn, once they are made.
type CopyArrays = [Option<Arc<Array<u64>>>; 2];

/// A place for what the ranks have computed: see [`World::keep`].
#[derive(Debug)]
pub struct Keep {
    world: World,
    number: u32,
    /// The partner of each rank; empty if there are no copies.
    partners: Vec<u32>,
    /// What was found when this was made in a world that follows another one.
    found: Result<Option<Chosen>, Lost>,
    /// Where the copies of the last two saves in this world are, and how many saves there were.
    arrays: Mutex<(CopyArrays, usize)>,
}

impl World {
    /// Makes a place for what the ranks save of their work: in memory of each rank's host that outlives its
    /// process, and if the job has several hosts, with a rank on another one. A program makes the same ones
    /// in each world, in the same order; in a world that follows another one they have what was saved there.
    ///
    /// # Collective
    ///
    /// # Panics
    /// As [`World::barrier`].
    pub fn keep(self) -> Keep {
        // Relaxed: ranks make them in the same order, which one thread does at a time.
        let number = self.0.keeps.fetch_add(1, Ordering::Relaxed);
        let outlives = self.0.copies.look(number, self.place());
        let topology = self.0.rank.topology();
        let hosts: Vec<u32> = self.ranks().map(|rank| topology.host_of(RankId(rank))).collect();
        let outlive = self.reduce(u32::from(outlives), |a, b| a & b) == 1;
        // Where ranks do not survive each other, each can come back to its own states only.
        let alone = !self.0.rank.survival().is_possible() || outlive && hosts.iter().all(|h| *h == hosts[0]);
        let partners = if alone { Vec::new() } else { partners(&hosts) };
        // In the job's first world nothing was saved.
        let found = if self.epoch() == 0 { Ok(None) } else { find(self, number, !alone) };
        Keep { world: self, number, partners, found, arrays: Mutex::default() }
    }

    /// This rank by its number in the first world.
    fn place(self) -> u32 {
        self.first_number(self.rank())
    }
}

/// Finds the newest version that all ranks can have, and drops all others.
fn find(world: World, number: u32, with_copies: bool) -> Result<Option<Chosen>, Lost> {
    let copies = &world.0.copies;
    let living: Vec<u32> = world.ranks().map(|rank| world.first_number(rank)).collect();
    let dead = (0..copies.places).filter(|place| living.binary_search(place).is_err());
    let (whole, mine) = copies.with(number, |held| {
        if let Some(file) = &copies.file {
            let mine = dead.filter(|place| heir(*place, &living) == Some(world.place()));
            held.inherit(file, mine, number);
        }
        let all = held.states.iter().map(|s| (s.stamp, s.owner, s.size, s.own));
        (held.whole, all.collect::<Vec<Holding>>())
    });
    let remembers = world.incarnation() == 0 || copies.with(number, |held| held.has_looked());
    let reports = world.gather_all((remembers, whole, mine));
    let chosen = choose(&reports, with_copies)?;
    copies.with(number, |held| {
        held.states.retain(|state| chosen.as_ref().is_some_and(|chosen| state.stamp == chosen.stamp));
        held.whole = chosen.as_ref().map(|chosen| chosen.stamp);
    });
    Ok(chosen)
}

impl Keep {
    fn with<R>(&self, f: impl FnOnce(&mut Held) -> R) -> R {
        self.world.0.copies.with(self.number, f)
    }

    /// Saves what `f` gives to the [`Saver`], under this number, which grows from save to save: as a rule,
    /// that of the step that comes next. Costs a copy of it here, and if the job has several hosts, a put of
    /// it to another one.
    ///
    /// Until it has returned somewhere, the version before is what [`Keep::restore`] gives. A rank has two
    /// versions: the memory of two states, or of four where there are copies.
    ///
    /// # Collective
    ///
    /// # Panics
    /// As [`World::barrier`]. The number has not grown, a value cannot be written, there is no memory for the
    /// state, or this is called in the middle of saving or restoring. Ends the job when ranks save different
    /// numbers.
    #[track_caller]
    pub fn save(&self, version: u64, f: impl FnOnce(&mut Saver)) {
        let (world, stamp) = (self.world, (self.world.epoch(), version));
        let whole = self.with(|held| held.whole);
        assert!(whole < Some(stamp), "version {version} is saved after version {}", whole.map_or(0, |w| w.1));
        let Some(room) = self.with(Held::room) else {
            panic!("a state is saved in the middle of saving or restoring another one")
        };
        let mut saving = Saving { keep: self, saver: Some(Saver { room, used: 0 }) };
        f(saving.saver.as_mut().expect("it is there until it is dropped"));
        let words = saving.end(stamp);
        // Where there are no copies, who leaves this knows that the version is whole.
        let all = world.gather_all((version, words.len()));
        let versions = || all.iter().map(|one| one.0);
        if versions().any(|other| other != version) {
            let (least, most) = (versions().min().unwrap_or(version), versions().max().unwrap_or(version));
            world.abort(&format!(
                "ranks save different versions, {least} and {most}: all ranks save together"
            ));
        }
        if let (true, Some(partner)) = (world.size() > 1, self.partners.get(world.rank() as usize)) {
            let array = self.array_of(all.iter().map(|one| one.1).max().unwrap_or(0));
            words.put(world, array.at(*partner, 0));
            world.barrier();
            let owner = self.ward(world.rank());
            let words = Words::InPart(array, all[owner as usize].1);
            let copy = State { stamp, owner, size: world.size(), own: false, words };
            self.with(|held| held.states.push(copy));
            world.barrier();
        }
        self.with(|held| held.know_whole(stamp));
    }

    /// The rank whose states this one has copies of.
    fn ward(&self, rank: u32) -> u32 {
        self.partners.iter().position(|partner| *partner == rank).unwrap_or(0) as u32
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
    /// that has died, on one that has its state or a copy. [`Restorer::rank`] says for which.
    ///
    /// # Collective
    ///
    /// # Panics
    /// As [`World::barrier`]. `f` does not read what was saved. Ends the job when it is lost: a host, and the
    /// partner of a rank on it; where there are no hosts whose memory outlives ranks, a rank and its partner.
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
        for (own, owner) in [(true, me), (false, self.ward(me))] {
            let array = Arc::new(world.array::<u64>(words, Layout::Block));
            for rank in world.ranks().filter(|rank| new(*rank)) {
                let owner = if own { rank } else { self.ward(rank) };
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

/// A save that writes a state.
struct Saving<'a> {
    keep: &'a Keep,
    saver: Option<Saver>,
}

impl Saving<'_> {
    /// The state is written.
    fn end(mut self, stamp: Stamp) -> Words {
        let Saver { mut room, used } = self.saver.take().expect("it is there until it is dropped");
        let (owner, size) = (self.keep.world.rank(), self.keep.world.size());
        if let Room::Area(_, area) = &mut room {
            area.complete(stamp, (owner, size), used);
        }
        self.keep.with(|held| {
            let words = held.take_back(room, used);
            held.states.push(State { stamp, owner, size, own: true, words: words.clone() });
            words
        })
    }
}

/// The memory is there for the next save, if this one has come to no end.
impl Drop for Saving<'_> {
    fn drop(&mut self) {
        if let Some(saver) = self.saver.take() {
            self.keep.with(|held| _ = held.take_back(saver.room, 0));
        }
    }
}

/// What precedes each piece of a state: its type, and how many bytes it has.
const HEAD_WORDS: usize = 2;
/// Pages are prepared for parts of arrays that are restored from so many bytes on.
const MANY_BYTES: usize = 1 << 20;

/// Takes what a rank saves: see [`Keep::save`].
#[derive(Debug)]
pub struct Saver {
    room: Room,
    /// Words that are written.
    used: usize,
}

impl Saver {
    /// Room for a piece.
    fn piece<T: 'static>(&mut self, bytes: usize) -> &mut [u8] {
        let first = self.used + HEAD_WORDS;
        let end = first + bytes.div_ceil(8);
        let words = self.room.words(self.used, end);
        words[self.used..first].copy_from_slice(&[word_of::<T>(), bytes as u64]);
        self.used = end;
        &mut bytemuck::cast_slice_mut(&mut words[first..end])[..bytes]
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
        if bytes >= MANY_BYTES {
            // As a rule the array is new.
            self.world.0.rank.survival().prepare(array.first.offset(), bytes);
        }
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
        let chosen = |ranks: &[Report]| choose(ranks, true).map(|c| c.map(|c| (c.stamp, c.sources)));
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
        assert_eq!(choose(&ranks, true), Ok(None));
        assert_eq!(choose(&[replaced(), replaced()], true), Err(Lost { ranks: vec![] }));
    }

    #[test]
    fn partners_are_on_other_hosts() {
        assert_eq!(partners(&[0]), [0]);
        assert_eq!(partners(&[0, 0, 0]), [1, 2, 0]);
        assert_eq!(partners(&[0, 1, 2]), [1, 2, 0]);
        assert_eq!(partners(&[0, 0, 1, 1]), [2, 3, 0, 1]);
        assert_eq!(partners(&[0, 1, 0, 1]), [1, 0, 3, 2]);
        for (a, b, c) in (0..6u32 * 6 * 6).map(|n| (n % 6, n / 6 % 6, n / 36)) {
            let mut hosts: Vec<u32> =
                [vec![2; a as usize], vec![0; b as usize], vec![1; c as usize]].concat();
            let third = hosts.len() / 3;
            hosts.rotate_left(third);
            let partners = partners(&hosts);
            let mut wards = partners.clone();
            wards.sort_unstable();
            assert!(wards.into_iter().eq(0..hosts.len() as u32), "{hosts:?}");
            if a.max(b).max(c) * 2 <= a + b + c {
                assert!(
                    partners.iter().zip(&hosts).all(|(p, host)| hosts[*p as usize] != *host),
                    "{hosts:?}"
                );
            }
        }
    }

    #[test]
    fn the_next_that_lives_inherits() {
        assert_eq!([0, 2, 4, 5].map(|dead| heir(dead, &[1, 3])), [Some(1), Some(3), Some(1), Some(1)]);
        assert_eq!(heir(0, &[]), None);
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
                match choose(&ranks, true) {
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
