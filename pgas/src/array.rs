//! Arrays whose elements are spread over the ranks.

use crate::args::Plain;
use crate::heap::{ALIGN, Heap};
use crate::kept;
use crate::layout::{Layout, Map};
use crate::meeting::Meeting;
use crate::world::World;
use gasnet::{GlobalPtr, RankId};
use gasnet_sys::mutex::lock;
use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

/// An array whose elements are spread over the ranks: see [`World::array`]. It is used in phases, which are
/// collective: every rank enters the same ones in the same order.
///
/// When all ranks have dropped it, arrays that are made later use its memory.
pub struct Array<T: Plain> {
    pub(crate) world: World,
    pub(crate) map: Map,
    /// The name of every rank's [`ArrayPart`].
    pub(crate) number: u32,
    /// The first element of this rank's part; those of other ranks are at the same offset.
    pub(crate) first: GlobalPtr<T>,
}

impl<T: Plain> core::fmt::Debug for Array<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "array {} of {} {}", self.number, self.map.len, core::any::type_name::<T>())
    }
}

impl<T: Plain> Drop for Array<T> {
    fn drop(&mut self) {
        lock(&self.world.0.arrays.dropped).insert(self.number);
        if self.world.0.next.get().is_some() {
            self.world.0.arrays.release_dropped(self.world);
        }
    }
}

/// The memory of a rank's arrays.
#[derive(Debug, Default)]
pub(crate) struct Arrays {
    heap: Mutex<Heap>,
    /// Those whose memory is in use, in the order they were made: number, offset, bytes. The same on all
    /// ranks.
    live: Mutex<Vec<(u32, u64, u64)>>,
    /// Those of them that this rank has dropped.
    dropped: Mutex<HashSet<u32>>,
}

/// The data about an array that its messages need on the rank where they arrive.
#[derive(Debug)]
pub(crate) struct ArrayPart {
    /// Of its first byte, in the segment.
    offset: u64,
    /// Elements, and bytes of each.
    len: usize,
    size: usize,
    /// The phase that this rank is in: a [`Meeting`], or 0.
    phase: AtomicU32,
    /// With `GASNET_CHECK=1`: elements that were put to in this phase, a bit each.
    pub(crate) written: Mutex<Vec<u64>>,
}

impl Arrays {
    /// Whether this rank has an array that it has not dropped.
    pub(crate) fn are_there(&self) -> bool {
        let dropped = lock(&self.dropped);
        lock(&self.live).iter().any(|array| !dropped.contains(&array.0))
    }

    /// The next world has taken the memory over.
    pub(crate) fn leave_dropped(&self) {
        lock(&self.dropped).clear();
    }

    /// Gives the parts of those that this rank has dropped back to the system: their world is over.
    pub(crate) fn release_dropped(&self, world: World) {
        let dropped = std::mem::take(&mut *lock(&self.dropped));
        let live = lock(&self.live);
        for (_, offset, bytes) in live.iter().filter(|array| dropped.contains(&array.0)) {
            kept::release(world, *offset, *bytes);
        }
    }
}

impl ArrayPart {
    /// This rank enters a phase. Before it tells others so.
    pub(crate) fn enter(&self, phase: Meeting) {
        // Relaxed, and where it is read: the barrier comes after it, and messages of the phase after the
        // barrier.
        self.phase.store(phase as u32, Ordering::Relaxed);
    }

    /// No message about this array is awaited any more.
    pub(crate) fn leave(&self) {
        self.phase.store(0, Ordering::Relaxed);
    }

    /// A message is of a phase; ends the job if this rank is in none such: its part may be borrowed.
    pub(crate) fn expect(&self, world: World, phase: Meeting) {
        if self.phase.load(Ordering::Relaxed) != phase as u32 {
            world.abort(
                "a message about an array that is in another phase here: all ranks must be in the same",
            );
        }
    }

    /// Where an element is in the segment.
    ///
    /// # Panics
    /// There is no such element. Where a message is served, this names who has sent it, or tells who waits.
    pub(crate) fn offset_of(&self, at: u64) -> u64 {
        assert!(
            at < self.len as u64,
            "a message about element {at} of an array's part that has {}",
            self.len
        );
        self.offset + at * self.size as u64
    }

    /// Notes that an element is put to; whether it was already.
    pub(crate) fn note(&self, at: usize) -> bool {
        let mut written = lock(&self.written);
        if written.is_empty() {
            written.resize(self.len.div_ceil(64), 0);
        }
        let (word, bit) = (&mut written[at / 64], 1 << (at % 64));
        let before = *word & bit != 0;
        *word |= bit;
        before
    }
}

impl<T: Plain> Array<T> {
    #[track_caller]
    pub(crate) fn new(world: World, len: usize, layout: Layout<'_>) -> Array<T> {
        const { assert!(align_of::<T>() as u64 <= ALIGN, "elements of an array are aligned to 64 bytes at most") }
        let map = Map::new(len, world.size(), layout);
        let alone = world.alone();
        world.meet_within(Meeting::Array, 0);
        Self::agree(world, &map);
        Self::free_dropped(world);
        let bytes = map.largest_part().checked_mul(size_of::<T>()).map_or(u64::MAX, |n| n as u64);
        let bytes = bytes.checked_next_multiple_of(ALIGN).unwrap_or(u64::MAX);
        let first: GlobalPtr<T> = GlobalPtr::new(world.0.rank.id(), Self::room(world, len, bytes));
        let part = ArrayPart {
            offset: first.offset(),
            len: map.part(world.rank()),
            size: size_of::<T>(),
            phase: AtomicU32::new(0),
            written: Mutex::default(),
        };
        let number = world.register(part);
        world.meet_within(Meeting::ArrayMade, number);
        lock(&world.0.arrays.live).push((number, first.offset(), bytes));
        drop(alone);
        Array { world, map, number, first }
    }

    /// Ends the job unless all ranks are making the same array: what each writes at another lies where the
    /// other has it.
    fn agree(world: World, map: &Map) {
        let ([block, len], sizes) = map.describe();
        let all = world.all();
        let mine = [block, len, size_of::<T>() as u64, align_of::<T>() as u64, u64::from(sizes.is_some())];
        let differ = [u64::MAX; 5];
        let agreed = all.reduce_slice(vec![mine], move |a, b| if a == b { a } else { differ });
        let mut same = agreed == [mine];
        if let (true, Some(sizes)) = (same, sizes) {
            let first = all.broadcast_slice(0, sizes.clone());
            same = all.reduce(u64::from(first == sizes), |a, b| a & b) == 1;
        }
        if !same {
            world.abort("ranks make different arrays: length, layout and element must be the same on all");
        }
    }

    /// Memory of this length, all zero, at the same offset on all ranks.
    fn room(world: World, len: usize, bytes: u64) -> u64 {
        let (rank, arrays) = (world.0.rank, &world.0.arrays);
        if let Some(at) = lock(&arrays.heap).take(bytes) {
            let zeros = vec![0u8; 64 * 1024];
            for from in (0..bytes).step_by(zeros.len()) {
                let n = zeros.len().min((bytes - from) as usize);
                kept::write(world, GlobalPtr::new(rank.id(), at + from), &zeros[..n]);
            }
            return at;
        }
        rank.kept().allocate(bytes, ALIGN).unwrap_or_else(|e| {
            world.abort(&format!("an array of {len} elements of {} bytes: {e}", size_of::<T>()))
        })
    }

    /// Takes back the memory of arrays that all ranks have dropped.
    fn free_dropped(world: World) {
        let arrays = &world.0.arrays;
        let live: Vec<u32> = lock(&arrays.live).iter().map(|array| array.0).collect();
        if live.is_empty() {
            return;
        }
        let mut mine = vec![0u64; live.len().div_ceil(64)];
        for (i, number) in live.iter().enumerate() {
            mine[i / 64] |= u64::from(lock(&arrays.dropped).contains(number)) << (i % 64);
        }
        let all = world.all().reduce_slice(mine, |a, b| a & b);
        let mut place = 0..;
        lock(&arrays.live).retain(|&(number, offset, bytes)| {
            let i = place.next().unwrap_or(0);
            let gone = all[i / 64] >> (i % 64) & 1 == 1;
            if gone {
                lock(&arrays.heap).give(offset, bytes);
                lock(&arrays.dropped).remove(&number);
            }
            !gone
        });
    }

    /// Elements of all ranks together.
    pub fn len(&self) -> usize {
        self.map.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.map.len == 0
    }

    /// The rank that has an element.
    ///
    /// # Panics
    /// There is no such element.
    #[track_caller]
    pub fn owner(&self, i: usize) -> u32 {
        self.map.place(i).0
    }

    /// Elements of this rank's part.
    pub fn local_len(&self) -> usize {
        self.map.part(self.world.rank())
    }

    /// Which element has number `at` in this rank's part.
    ///
    /// # Panics
    /// There is no such element.
    #[track_caller]
    pub fn global_index(&self, at: usize) -> usize {
        assert!(at < self.local_len(), "element {at} of a part of {}", self.local_len());
        self.map.index(self.world.rank(), at)
    }

    /// This rank's [`ArrayPart`].
    pub(crate) fn part(&self) -> &'static ArrayPart {
        let part = self.world.object(self.number);
        part.unwrap_or_else(|| self.world.abort("an array without its part"))
    }

    /// Where the element is that has number `at` on a rank.
    #[inline]
    pub(crate) fn at(&self, rank: u32, at: usize) -> GlobalPtr<T> {
        GlobalPtr::new(RankId(rank), self.first.offset() + (at * size_of::<T>()) as u64)
    }
}
