//! A vector whose elements lie where they were appended, until they are sorted or dealt out evenly.

use super::own::OwnPart;
use crate::{Data, Shared, World};
use core::cmp::Ordering;
use serde::{Deserialize, Serialize};

/// Elements that make a message.
const BATCH: usize = 4096;
/// Samples of a sort for each rank: parts differ by a fraction of 1 / `SAMPLES` before they are dealt out.
const SAMPLES: u64 = 64;

/// A vector whose elements are spread over the ranks: first those of rank 0, then those of rank 1, and so on.
/// It grows where one appends. It is a name, like [`Shared`]: it can be copied, and sent as an argument.
///
/// ```no_run
/// # pgas::run(|world| {
/// let numbers = pgas::DistVec::<u64>::new(world);
/// numbers.extend((0..1000).map(|i| i * 7919 % 1000));
/// numbers.sort(); // all ranks: the smallest elements are on rank 0 now
/// numbers.with_local(|mine| assert!(mine.is_sorted()));
/// # })
/// ```
pub struct DistVec<T: 'static> {
    parts: Shared<VecPart<T>>,
}

/// Elements that were next to each other on a rank, and the number there of the first.
type Run<T> = (u32, u64, Vec<T>);

struct VecPart<T> {
    elements: OwnPart<Vec<T>>,
    /// Elements from other ranks that have arrived during a redistribution.
    arrived: OwnPart<Vec<Run<T>>>,
    /// Samples of a sort, and then where it cuts: an element, its rank and its number there.
    samples: OwnPart<Vec<(T, u32, u64)>>,
}

impl<T> Clone for DistVec<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for DistVec<T> {}

impl<T> core::fmt::Debug for DistVec<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "vector in {:?}", self.parts)
    }
}

impl<T> DistVec<T> {
    /// Makes an empty vector. It lives as long as the job.
    ///
    /// # Collective
    ///
    /// # Panics
    /// As [`World::barrier`].
    pub fn new(world: World) -> DistVec<T>
    where
        T: Send,
    {
        let (elements, arrived, samples) =
            (OwnPart::new(Vec::new()), OwnPart::new(Vec::new()), OwnPart::new(Vec::new()));
        DistVec { parts: world.share(VecPart { elements, arrived, samples }) }
    }
}

impl<T: Send + 'static> DistVec<T> {
    /// Appends an element to this rank's part.
    pub fn push(self, element: T) {
        self.parts.elements.with(|part| part.push(element));
    }

    /// Appends elements to this rank's part.
    pub fn extend(self, elements: impl IntoIterator<Item = T>) {
        // Not under the lock: what makes the elements may wait.
        let mut elements: Vec<T> = elements.into_iter().collect();
        self.parts.elements.with(|part| {
            if part.is_empty() {
                *part = elements;
            } else {
                part.append(&mut elements);
            }
        });
    }

    /// Appends an element to a rank's part.
    ///
    /// # One-sided
    /// As [`World::send`].
    pub fn push_to(self, rank: u32, element: T)
    where
        T: Data,
    {
        self.parts.send(rank, |part, element| part.elements.with(|part| part.push(element)), element);
    }

    /// Elements of this rank's part.
    pub fn local_len(self) -> usize {
        self.parts.elements.with(|part| part.len())
    }

    /// Elements of all ranks together.
    ///
    /// # Collective
    pub fn len(self) -> usize {
        self.parts.world().reduce(self.local_len() as u64, |a, b| a + b) as usize
    }

    /// Whether there are none.
    ///
    /// # Collective
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Uses this rank's part.
    ///
    /// # Panics
    /// The closure waits, or uses the vector.
    #[track_caller]
    pub fn with_local<R>(self, f: impl FnOnce(&mut Vec<T>) -> R) -> R {
        self.parts.elements.with(f)
    }

    /// Takes this rank's part out, and leaves none.
    pub fn take_local(self) -> Vec<T> {
        self.parts.elements.take()
    }
}

impl<T: Data + Send> DistVec<T> {
    /// Sorts all elements: afterwards each part is sorted, no element of a rank is greater than one of the
    /// next, and the parts are even as [`DistVec::balance`] makes them. Equal elements keep their order.
    ///
    /// # Collective
    ///
    /// # Panics
    /// As [`World::barrier`].
    pub fn sort(self)
    where
        T: Ord + Clone,
    {
        self.sort_by(T::cmp);
    }

    /// [`DistVec::sort`] in an order of one's own, the same on all ranks.
    ///
    /// # Collective
    ///
    /// # Panics
    /// As [`World::barrier`].
    pub fn sort_by(self, compare: impl Fn(&T, &T) -> Ordering)
    where
        T: Clone,
    {
        let (part, world) = (self.parts.local(), self.parts.world());
        let me = world.rank();
        let mut mine = part.elements.take();
        mine.sort_by(&compare);
        let cuts = self.cuts(&mine, &compare);
        // Equal elements are in the order of their ranks and numbers, so many of them can be cut apart, too.
        let place = |(element, rank, number): &(T, u32, u64)| {
            let less = mine.partition_point(|x| compare(x, element) == Ordering::Less);
            let equal = mine[less..].partition_point(|x| compare(x, element) == Ordering::Equal);
            match rank.cmp(&me) {
                Ordering::Less => less,
                Ordering::Equal => *number as usize,
                Ordering::Greater => less + equal,
            }
        };
        let ends: Vec<usize> = cuts.iter().map(place).collect();
        self.deal(mine, |to| ends.get(to as usize).copied());
        let mut sorted = part.elements.take();
        // Stable, and fast on what consists of sorted runs.
        sorted.sort_by(&compare);
        part.elements.with(|part| *part = sorted);
        self.balance();
    }

    /// Elements where the parts of ranks begin, but that of rank 0. The same on all ranks.
    fn cuts(self, mine: &[T], compare: &impl Fn(&T, &T) -> Ordering) -> Vec<(T, u32, u64)>
    where
        T: Clone,
    {
        let (part, world) = (self.parts.local(), self.parts.world());
        let ranks = u64::from(world.size());
        let all = world.reduce(mine.len() as u64, |a, b| a + b);
        let step = (all / (ranks * SAMPLES)).max(1) as usize;
        let samples: Vec<(T, u32, u64)> = (step / 2..mine.len())
            .step_by(step)
            .map(|at| (mine[at].clone(), world.rank(), at as u64))
            .collect();
        self.parts.send(
            0,
            |part, mut samples: Vec<_>| part.samples.with(|all| all.append(&mut samples)),
            samples,
        );
        world.settle();
        if world.rank() == 0 {
            let mut samples = part.samples.take();
            samples.sort_by(|a, b| compare(&a.0, &b.0).then(a.1.cmp(&b.1)).then(a.2.cmp(&b.2)));
            let cut = |rank: u64| samples.get((rank * samples.len() as u64 / ranks) as usize).cloned();
            let cuts: Vec<(T, u32, u64)> = (1..ranks).filter_map(cut).collect();
            for to in world.ranks() {
                self.parts.send(to, |part, cuts| part.samples.with(|all| *all = cuts), cuts.clone());
            }
        }
        world.settle();
        part.samples.take()
    }

    /// Deals the elements out evenly, without a change of their order: each rank has as many as the next, the
    /// last ones may have fewer.
    ///
    /// # Collective
    ///
    /// # Panics
    /// As [`World::barrier`].
    pub fn balance(self) {
        let (part, world) = (self.parts.local(), self.parts.world());
        let mine = part.elements.take();
        let lengths = world.gather_all(mine.len() as u64);
        let all: u64 = lengths.iter().sum();
        let before: u64 = lengths[..world.rank() as usize].iter().sum();
        let each = all.div_ceil(u64::from(world.size()));
        let len = mine.len() as u64;
        self.deal(mine, |to| Some((u64::from(to + 1) * each).saturating_sub(before).min(len) as usize));
    }

    /// Gives each rank its elements: those of rank 0 end at `end(0)`, those of rank 1 at `end(1)`; those of
    /// the last at the end.
    fn deal(self, mut mine: Vec<T>, end: impl Fn(u32) -> Option<usize>) {
        let (part, world) = (self.parts.local(), self.parts.world());
        for to in world.ranks().rev() {
            // From behind, so that nothing is moved twice.
            let first = if to == 0 { 0 } else { end(to - 1).unwrap_or(mine.len()).min(mine.len()) };
            if to == world.rank() {
                let run = (to, first as u64, mine.split_off(first));
                part.arrived.with(|all| all.push(run));
                continue;
            }
            while mine.len() > first {
                let start = first.max(mine.len().saturating_sub(BATCH));
                let run = (world.rank(), start as u64, mine.split_off(start));
                self.parts.send(to, |part, run| part.arrived.with(|all| all.push(run)), run);
            }
        }
        world.settle();
        let mut runs = part.arrived.take();
        runs.sort_by_key(|run| (run.0, run.1));
        // The first stay where they are: often there are few others.
        let all: usize = runs.iter().map(|run| run.2.len()).sum();
        let mut runs = runs.into_iter().map(|run| run.2);
        let mut elements = runs.next().unwrap_or_default();
        elements.reserve_exact(all - elements.len());
        runs.for_each(|mut run| elements.append(&mut run));
        part.elements.with(|part| elements.append(part));
        part.elements.with(|part| *part = elements);
    }
}

impl<T> Serialize for DistVec<T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.parts.serialize(serializer)
    }
}

impl<'de, T> Deserialize<'de> for DistVec<T> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(DistVec { parts: Shared::deserialize(deserializer)? })
    }
}
