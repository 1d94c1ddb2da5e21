//! Phases of arrays: what each permits, and how it gets to the ranks.
//!
//! Elements on neighbours are read and updated in place. Those of other ranks go in batches: a few hundred
//! indices, or indices and values, to a rank make one message, and the rank does to its part what a neighbour
//! would have done.

use crate::args::{Lend, Plain};
use crate::array::{Array, ArrayPart};
use crate::meeting::Meeting;
use crate::memory::{Mapped, Window};
use crate::remote::Numbered;
use crate::world::World;
use crate::{kept, memory, remote};
use gasnet::atomics::{Function, Operation};
use gasnet::coll::Word;
use gasnet::{GlobalPtr, RankId};
use gasnet_rpc::PeerTable;
use gasnet_sys::mutex::lock;

/// Elements that make a message, at most; at least; and together for all ranks.
const LARGEST_BATCH: usize = 480;
const SMALLEST_BATCH: usize = 16;
const ALL_BATCHES: usize = 32 * 1024;

/// As many consecutive elements are put together.
const LEAST_TOGETHER: usize = 64;
/// Longer runs of other hosts are put by themselves, which takes a round trip each; shorter ones travel with
/// others.
const MOST_IN_BATCH_BYTES: usize = 8 * 1024;

/// A type that [`Array::update`] can work on: integers of 32 and 64 bits, `f32`, `f64`.
pub trait Number: Word {}
impl<T: Word> Number for T {}

fn bits<T: Number>(value: T) -> u64 {
    match *bytemuck::bytes_of(&value) {
        [a, b, c, d] => u64::from(u32::from_ne_bytes([a, b, c, d])),
        ref bytes => bytemuck::pod_read_unaligned(bytes),
    }
}

impl<T: Plain> Array<T> {
    /// A phase in which all elements can be read by all ranks, and none is changed.
    ///
    /// # Collective
    /// All ranks enter the same phase of the same array; it ends when all have ended it.
    ///
    /// # Panics
    /// Ends the job when ranks are in different collective calls.
    pub fn read<R>(&mut self, f: impl FnOnce(&Reading<'_, T>) -> R) -> R {
        self.enter(Meeting::Read);
        let result = f(&Reading { array: self, mapped: Mapped::new(self), copy: self.copy_of_part() });
        self.leave(Meeting::ReadEnd);
        result
    }

    /// A phase in which each rank has its own part for itself, in the order of the elements.
    ///
    /// # Collective
    /// As [`Array::read`].
    ///
    /// # Panics
    /// As [`Array::read`].
    pub fn local<R>(&mut self, f: impl FnOnce(&mut [T]) -> R) -> R {
        self.enter(Meeting::Local);
        let len = self.local_len();
        let result = match memory::part(self, len) {
            Some(mine) => f(mine),
            None => {
                let mut copy = vec![T::zeroed(); len];
                kept::read(self.world, self.first, &mut copy);
                let result = f(&mut copy);
                kept::write(self.world, self.first, &copy);
                result
            }
        };
        self.leave(Meeting::LocalEnd);
        result
    }

    /// A phase in which elements can be put to, by one rank each.
    ///
    /// With `GASNET_CHECK=1` an element that was put to twice ends the job.
    ///
    /// # Collective
    /// As [`Array::read`].
    ///
    /// # Panics
    /// As [`Array::read`].
    pub fn exchange<R>(&mut self, f: impl FnOnce(&mut Exchanging<'_, T>) -> R) -> R {
        self.enter(Meeting::Exchange);
        let world = self.world;
        let checked = world.0.rank.config().check;
        let mut phase = Exchanging { lanes: Lanes::new(world), array: self, checked };
        let result = f(&mut phase);
        phase.flush();
        world.settle();
        if checked {
            lock(&self.part().written).clear();
            self.leave(Meeting::ExchangeEnd);
        }
        self.part().leave();
        result
    }

    fn enter(&self, phase: Meeting) {
        self.part().enter(phase);
        self.world.meet(phase, self.number);
    }

    fn leave(&self, end: Meeting) {
        self.world.meet(end, self.number);
        self.part().leave();
    }

    /// This rank's part, where a slice of it cannot be had.
    fn copy_of_part(&self) -> Option<Vec<T>> {
        if memory::has_part(self) {
            return None;
        }
        let mut copy = vec![T::zeroed(); self.local_len()];
        kept::read(self.world, self.first, &mut copy);
        Some(copy)
    }
}

impl<T: Number> Array<T> {
    /// A phase in which elements are updated, by any ranks and in any order: additions and the like, whose
    /// result does not depend on it.
    ///
    /// # Collective
    /// As [`Array::read`].
    ///
    /// # Panics
    /// As [`Array::read`].
    pub fn update<R>(&mut self, f: impl FnOnce(&mut Updating<'_, T>) -> R) -> R {
        self.enter(Meeting::Update);
        let world = self.world;
        let mut phase = Updating { window: Window::new(self), lanes: Lanes::new(world), array: self };
        let result = f(&mut phase);
        phase.flush();
        world.settle();
        self.part().leave();
        result
    }
}

/// A phase that reads: see [`Array::read`].
#[derive(Debug)]
pub struct Reading<'a, T: Plain> {
    pub(crate) array: &'a Array<T>,
    mapped: Mapped<'a, T>,
    copy: Option<Vec<T>>,
}

impl<T: Plain> Reading<'_, T> {
    /// An element.
    ///
    /// # Panics
    /// There is no such element.
    #[inline]
    #[track_caller]
    pub fn get(&self, i: usize) -> T {
        let (rank, at) = self.array.map.place(i);
        self.mapped.get(rank, at).unwrap_or_else(|| kept::get(self.array.world, self.array.at(rank, at)))
    }

    /// These elements, in this order. Elements of other hosts come in batches.
    ///
    /// # Panics
    /// There is no such element.
    #[track_caller]
    pub fn gather(&self, indices: &[usize]) -> Vec<T> {
        let (array, world) = (self.array, self.array.world);
        let mut values = vec![T::zeroed(); indices.len()];
        let mut lanes: Lanes<(usize, u64)> = Lanes::new(world);
        let mut coming = Vec::new();
        let ask = |rank: u32, batch: &[(usize, u64)]| {
            world.0.engine.count(batch.len() - 1);
            let places: Vec<u64> = batch.iter().map(|&(_, at)| at).collect();
            let wanted: Vec<usize> = batch.iter().map(|&(i, _)| i).collect();
            let places = Lend(&places[..]);
            (
                wanted,
                remote::call::<Numbered, Lend<'_, [u64]>, Vec<u8>>(
                    world,
                    rank,
                    array.number,
                    read_elements::<T>,
                    &places,
                ),
            )
        };
        for (i, &index) in indices.iter().enumerate() {
            let (rank, at) = array.map.place(index);
            if let Some(value) = self.mapped.get(rank, at) {
                values[i] = value;
            } else if world.is_neighbour(rank) {
                values[i] = kept::get(world, array.at(rank, at));
            } else if let Some(full) = lanes.push(rank, (i, at as u64)) {
                coming.push(ask(rank, &full));
            }
        }
        for (rank, rest) in lanes.rest() {
            coming.push(ask(rank, &rest));
        }
        for (wanted, pending) in coming {
            let bytes: Vec<u8> = pending.wait();
            let came = bytes.chunks_exact(size_of::<T>().max(1)).map(bytemuck::pod_read_unaligned);
            wanted.into_iter().zip(came).for_each(|(i, value)| values[i] = value);
        }
        values
    }

    /// This rank's part.
    pub fn local(&self) -> &[T] {
        match &self.copy {
            Some(copy) => copy,
            None => memory::shared_part(self.array, self.array.local_len()),
        }
    }
}

/// Reads elements of this rank's part for another.
fn read_elements<T: Plain>((world, number): (World, u32), places: &[u64]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(size_of_val(places));
    let Some(part) = world.object::<ArrayPart>(number) else { return bytes };
    part.expect(world, Meeting::Read);
    for &at in places {
        let from: GlobalPtr<T> = GlobalPtr::new(RankId(world.rank()), part.offset_of(at));
        bytes.extend_from_slice(bytemuck::bytes_of(&kept::get(world, from)));
    }
    bytes
}

/// A phase that updates: see [`Array::update`].
#[derive(Debug)]
pub struct Updating<'a, T: Number> {
    array: &'a Array<T>,
    window: Window<'a, T>,
    lanes: Lanes<(Function, u64, u64)>,
}

macro_rules! updates {
    ($($name:ident $function:ident $what:literal;)*) => {$(
        #[doc = $what]
        ///
        /// # Panics
        /// There is no such element.
        #[inline]
        #[track_caller]
        pub fn $name(&mut self, i: usize, value: T) {
            self.apply(Function::$function, i, value);
        }
    )*};
}

impl<T: Number> Updating<'_, T> {
    updates! {
        add Add "Adds to an element; integers wrap.";
        min Min "Makes an element the smaller of itself and a value.";
        max Max "Makes an element the larger of itself and a value.";
        and And "Bitwise and; integers only.";
        or Or "Bitwise or; integers only.";
        xor Xor "Bitwise exclusive or; integers only.";
    }

    #[inline(always)]
    #[track_caller]
    fn apply(&mut self, function: Function, i: usize, value: T) {
        let (rank, at) = self.array.map.place(i);
        if !self.window.update(rank, at, function, bits(value)) {
            self.update_far(rank, (function, at as u64, bits(value)));
        }
    }

    #[inline(never)]
    fn update_far(&mut self, rank: u32, update: (Function, u64, u64)) {
        if let Some(full) = self.lanes.push(rank, update) {
            send_updates::<T>(self.array, rank, &full);
        }
    }

    fn flush(&mut self) {
        self.window.flush();
        for (rank, rest) in self.lanes.rest() {
            send_updates::<T>(self.array, rank, &rest);
        }
    }
}

fn send_updates<T: Number>(array: &Array<T>, rank: u32, updates: &[(Function, u64, u64)]) {
    // Those of one function in a row make a message: function, then places and values.
    for same in updates.chunk_by(|a, b| a.0 == b.0) {
        array.world.0.engine.count(same.len() - 1);
        let words: Vec<u64> = core::iter::once(same[0].0 as u64)
            .chain(same.iter().flat_map(|&(_, at, value)| [at, value]))
            .collect();
        remote::send::<Numbered, Lend<'_, [u64]>>(
            array.world,
            rank,
            array.number,
            apply_updates::<T>,
            &Lend(&words[..]),
        );
    }
}

/// Updates elements of this rank's part for another.
fn apply_updates<T: Number>((world, number): (World, u32), words: &[u64]) {
    let (Some(part), Some((&code, updates))) = (world.object::<ArrayPart>(number), words.split_first())
    else {
        return;
    };
    part.expect(world, Meeting::Update);
    use Function::{Add, And, Max, Min, Or, Xor};
    let Some(function) = [Add, And, Max, Min, Or, Xor].into_iter().find(|&f| f as u64 == code) else {
        return;
    };
    let op = Operation { function, word: T::TYPE };
    if !op.is_defined() {
        world.abort("an update that is for integers only");
    }
    for pair in updates.chunks_exact(2) {
        kept::update(world, part.offset_of(pair[0]), op, pair[1]);
    }
}

/// A phase that puts: see [`Array::exchange`].
#[derive(Debug)]
pub struct Exchanging<'a, T: Plain> {
    array: &'a Array<T>,
    lanes: Lanes<(u64, T)>,
    checked: bool,
}

impl<T: Plain> Exchanging<'_, T> {
    /// Puts to an element. No other put of this phase, of any rank, is to the same one.
    ///
    /// # Panics
    /// There is no such element.
    #[inline]
    #[track_caller]
    pub fn put(&mut self, i: usize, value: T) {
        let (rank, at) = self.array.map.place(i);
        let world = self.array.world;
        if world.is_neighbour(rank) && !self.checked {
            kept::write(world, self.array.at(rank, at), &[value]);
        } else if let Some(full) = self.lanes.push(rank, (at as u64, value)) {
            send_puts(self.array, rank, &full);
        }
    }

    /// Puts to consecutive elements, from number `i` on. As [`Exchanging::put`].
    ///
    /// # Panics
    /// There are fewer.
    #[track_caller]
    pub fn put_slice(&mut self, i: usize, values: &[T]) {
        let (mut i, mut values) = (i, values);
        while !values.is_empty() {
            let (rank, at) = self.array.map.place(i);
            let (run, rest) = values.split_at(self.array.map.run(i).min(values.len()));
            let world = self.array.world;
            if run.len() < LEAST_TOGETHER || self.checked {
                run.iter().zip(i..).for_each(|(&value, i)| self.put(i, value));
            } else if world.is_neighbour(rank) || size_of_val(run) > MOST_IN_BATCH_BYTES {
                kept::write(world, self.array.at(rank, at), run);
            } else {
                send_run(self.array, rank, at as u64, run);
            }
            (i, values) = (i + run.len(), rest);
        }
    }

    fn flush(&mut self) {
        for (rank, rest) in self.lanes.rest() {
            send_puts(self.array, rank, &rest);
        }
    }
}

fn send_puts<T: Plain>(array: &Array<T>, rank: u32, puts: &[(u64, T)]) {
    array.world.0.engine.count(puts.len() - 1);
    let mut bytes = Vec::with_capacity(8 + puts.len() * (8 + size_of::<T>()));
    bytes.extend_from_slice(&(puts.len() as u64).to_ne_bytes());
    puts.iter().for_each(|(at, _)| bytes.extend_from_slice(&at.to_ne_bytes()));
    puts.iter().for_each(|(_, value)| bytes.extend_from_slice(bytemuck::bytes_of(value)));
    let bytes = Lend(&bytes[..]);
    remote::send::<Numbered, Lend<'_, [u8]>>(array.world, rank, array.number, apply_puts::<T>, &bytes);
}

fn send_run<T: Plain>(array: &Array<T>, rank: u32, at: u64, values: &[T]) {
    let bytes = [bytemuck::bytes_of(&at), bytemuck::cast_slice(values)].concat();
    let bytes = Lend(&bytes[..]);
    remote::send::<Numbered, Lend<'_, [u8]>>(array.world, rank, array.number, apply_run::<T>, &bytes);
}

/// Puts to consecutive elements of this rank's part for another.
fn apply_run<T: Plain>((world, number): (World, u32), bytes: &[u8]) {
    let (Some(part), Some((&at, values))) = (world.object::<ArrayPart>(number), bytes.split_first_chunk())
    else {
        return;
    };
    part.expect(world, Meeting::Exchange);
    let (at, count) = (u64::from_ne_bytes(at), values.len() / size_of::<T>().max(1));
    if let Some(more) = count.checked_sub(1) {
        // The last one is in this part, too.
        part.offset_of(at.saturating_add(more as u64));
        let to: GlobalPtr<u8> = GlobalPtr::new(RankId(world.rank()), part.offset_of(at));
        kept::write(world, to, &values[..count * size_of::<T>()]);
    }
}

/// Puts to elements of this rank's part for another.
fn apply_puts<T: Plain>((world, number): (World, u32), bytes: &[u8]) {
    let (Some(part), Some((count, rest))) = (world.object::<ArrayPart>(number), bytes.split_at_checked(8))
    else {
        return;
    };
    part.expect(world, Meeting::Exchange);
    let count = u64::from_ne_bytes(count.try_into().unwrap_or_default()) as usize;
    let Some((places, values)) = count.checked_mul(8).and_then(|n| rest.split_at_checked(n)) else { return };
    let checked = world.0.rank.config().check;
    for (place, value) in places.chunks_exact(8).zip(values.chunks_exact(size_of::<T>().max(1))) {
        let at = u64::from_ne_bytes(place.try_into().unwrap_or_default());
        let to: GlobalPtr<T> = GlobalPtr::new(RankId(world.rank()), part.offset_of(at));
        if checked && part.note(at as usize) {
            world.abort(&format!(
                "two puts of one phase to the same element of an array (number {at} of the part of rank {}): only one rank may put to an element",
                world.rank()
            ));
        }
        kept::write(world, to, &[bytemuck::pod_read_unaligned(value)]);
    }
}

/// Entries that wait to be sent, by rank. In a large job most ranks get none.
#[derive(Debug)]
struct Lanes<E> {
    by_rank: PeerTable<Vec<E>>,
    batch: usize,
}

impl<E> Lanes<E> {
    fn new(world: World) -> Lanes<E> {
        let batch = (ALL_BATCHES / world.size() as usize).clamp(SMALLEST_BATCH, LARGEST_BATCH);
        Lanes { by_rank: PeerTable::new(world.size()), batch }
    }

    /// Adds an entry; a batch that is full then.
    fn push(&mut self, rank: u32, entry: E) -> Option<Vec<E>> {
        let lane = self.by_rank.of_mut(RankId(rank));
        lane.push(entry);
        (lane.len() >= self.batch).then(|| core::mem::take(lane))
    }

    /// Takes what is left.
    fn rest(&mut self) -> impl Iterator<Item = (u32, Vec<E>)> + use<E> {
        let lanes = core::mem::replace(&mut self.by_rank, PeerTable::new(0)).into_made();
        lanes.map(|(rank, lane)| (rank.0, lane)).filter(|(_, lane)| !lane.is_empty())
    }
}
