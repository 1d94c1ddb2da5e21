//! Collective operations on slices of Rust values.
#![expect(unsafe_code, reason = "hands buffers that it owns or borrows to the raw operations")]

use super::SyncMode;
use super::reduction::{ElementType, Reduction};
use crate::atomics::{Function, WordType};
use crate::team::Team;
use crate::{Event, Rank};
use core::mem::ManuallyDrop;
use gasnet_wire::am::EndOnPanic;
use gasnet_wire::context;
use gasnet_wire::segment::Shared;
use std::sync::Arc;

/// A type of words that [`Function`]s combine.
pub trait Word: Shared {
    /// Which one.
    const TYPE: WordType;
}

macro_rules! words {
    ($($t:ty: $type:ident),*) => {$(
        impl Word for $t {
            const TYPE: WordType = WordType::$type;
        }
    )*};
}
words!(i32: I32, u32: U32, i64: I64, u64: U64, f32: F32, f64: F64);

/// Blocks of these many elements, one after the other: (offset, bytes) of each. Wraps where they do not fit
/// into memory: members whose counts do not count give any.
fn packed<T>(counts: &[usize]) -> Vec<(usize, usize)> {
    let mut at = 0usize;
    let block = |&n: &usize| {
        let bytes = n.wrapping_mul(size_of::<T>());
        at = at.wrapping_add(bytes);
        (at.wrapping_sub(bytes), bytes)
    };
    counts.iter().map(block).collect()
}

/// A non-blocking collective operation and its result. Dropping it waits; forgetting it, and dropping it
/// while the thread panics, leaks the buffers.
#[must_use = "dropping the handle waits for the operation"]
pub struct PendingCollective<T: Shared> {
    rank: &'static Rank,
    event: Event,
    input: ManuallyDrop<Vec<T>>,
    output: ManuallyDrop<Vec<T>>,
}

impl<T: Shared> PendingCollective<T> {
    /// Waits, and returns the result: empty where this member gets none.
    pub fn wait(mut self) -> Vec<T> {
        self.rank.wait(self.event);
        self.event = Event::DONE;
        core::mem::take(&mut *self.output)
    }

    /// Hands the result to a function when the operation is over, at once or in a later call of the runtime.
    /// The function must not wait.
    pub(crate) fn then(self, f: impl FnOnce(Vec<T>) + Send + 'static) {
        let (rank, event) = (self.rank, self.event);
        // A function that is never called must not free what is still written to.
        let mut pending = ManuallyDrop::new(self);
        rank.events().after(event, move || {
            pending.event = Event::DONE;
            f(ManuallyDrop::into_inner(pending).wait());
        });
    }

    /// Polls once and says whether the operation is over; [`PendingCollective::wait`] then returns at once.
    pub fn test(&mut self) -> bool {
        let done = self.rank.test(self.event);
        if done {
            self.event = Event::DONE;
        }
        done
    }
}

impl<T: Shared> Drop for PendingCollective<T> {
    fn drop(&mut self) {
        if self.rank.wire.waits_in_vain() {
            return;
        }
        self.rank.wait(self.event);
        // SAFETY: dropped once, here; the operation is over.
        unsafe {
            ManuallyDrop::drop(&mut self.input);
            ManuallyDrop::drop(&mut self.output);
        }
    }
}

impl<T: Shared> core::fmt::Debug for PendingCollective<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("PendingCollective").field("event", &self.event).finish_non_exhaustive()
    }
}

/// Combines element by element. A panic in `f` ends the job: peers are in the middle of the operation, and
/// write to its buffers.
fn elementwise<T: Shared>(
    rank: &'static Rank,
    f: impl Fn(T, T) -> T + Send + Sync + 'static,
    commutes: bool,
) -> Reduction {
    let size = size_of::<T>().max(1);
    Reduction {
        combine: Arc::new(move |a, b, n| {
            let guard = EndOnPanic(&rank.wire);
            for i in 0..n / size {
                let (a, b) = (a.wrapping_add(i * size).cast::<T>(), b.wrapping_add(i * size).cast::<T>());
                // SAFETY: vectors of `n` bytes of `T`s, which any bytes are.
                unsafe { a.write_unaligned(f(a.read_unaligned(), b.read_unaligned())) }
            }
            core::mem::forget(guard);
        }),
        commutes,
        element: size,
        element_type: ElementType::of::<T>(),
        known: None,
    }
}

/// Combines values of `size` bytes each, by a function that gets copies of them: others may still write where
/// they lie. A panic in `f` ends the job, as in [`elementwise`].
fn valuewise(
    rank: &'static Rank,
    size: usize,
    element_type: ElementType,
    f: impl Fn(&mut [u8], &[u8]) + Send + Sync + 'static,
) -> Reduction {
    let size = size.max(1);
    Reduction {
        combine: Arc::new(move |a, b, n| {
            let guard = EndOnPanic(&rank.wire);
            let (mut first, mut second) = (vec![0; size], vec![0; size]);
            for at in (0..n / size).map(|i| i * size) {
                let (a, b) = (a.wrapping_add(at), b.wrapping_add(at));
                // SAFETY: vectors of `n` bytes; the copies have room for a value.
                unsafe {
                    a.copy_to_nonoverlapping(first.as_mut_ptr(), size);
                    b.copy_to_nonoverlapping(second.as_mut_ptr(), size);
                }
                f(&mut first, &second);
                // SAFETY: as above.
                unsafe { a.copy_from_nonoverlapping(first.as_ptr(), size) };
            }
            core::mem::forget(guard);
        }),
        commutes: false,
        element: size,
        element_type,
        known: None,
    }
}

fn out<T: Shared>(v: &mut [T]) -> *mut u8 {
    v.as_mut_ptr().cast()
}

fn data<T: Shared>(v: &[T]) -> *const u8 {
    v.as_ptr().cast()
}

fn of<T: Shared>() -> ElementType {
    ElementType::of::<T>()
}

/// Operations on slices. In all of them, slices of members that correspond have the same length, and all have
/// elements of the same type: others end the job.
impl Team {
    fn expect(&self, what: &str, got: usize, want: usize) {
        if got != want {
            self.rank().fatal(&format!("{what}: a slice of {got} elements where {want} are needed"));
        }
    }

    /// Elements of all blocks together.
    fn sum(&self, what: &str, counts: &[usize]) -> usize {
        let sum = counts.iter().try_fold(0usize, |sum, n| sum.checked_add(*n));
        sum.unwrap_or_else(|| {
            self.rank().fatal(&format!("{what}: blocks of more elements than can be counted"))
        })
    }

    /// Blocks of equal length for every member.
    fn share(&self, what: &str, n: usize) -> usize {
        if !n.is_multiple_of(self.size()) {
            self.rank()
                .fatal(&format!("{what}: {n} elements are not a multiple of the {} members", self.size()));
        }
        n / self.size()
    }

    fn pending<T: Shared>(
        &self,
        input: Vec<T>,
        results: usize,
        start: impl FnOnce(*mut u8, *const u8) -> Event,
    ) -> PendingCollective<T> {
        let mut output = vec![T::zeroed(); results];
        let event = start(out(&mut output), data(&input));
        PendingCollective {
            rank: self.rank(),
            event,
            input: ManuallyDrop::new(input),
            output: ManuallyDrop::new(output),
        }
    }

    /// Every member's `values` become the root's.
    ///
    /// # Collective
    pub fn broadcast<T: Shared>(&self, root: usize, values: &mut [T]) {
        let (n, at) = (size_of_val(values), out(values));
        // SAFETY: a slice is valid for its size; on the root source and destination are the same.
        unsafe { self.broadcast_of(root, at, at, n, (of::<T>(), SyncMode::MY)) }
    }

    /// [`Team::broadcast`], non-blocking: the result is the root's `values`.
    ///
    /// # Collective
    pub fn broadcast_nb<T: Shared>(&self, root: usize, values: Vec<T>) -> PendingCollective<T> {
        let (n, len) = (size_of_val(&*values), values.len());
        // SAFETY: the handle keeps both buffers until the operation is over.
        self.pending(values, len, |d, s| unsafe {
            self.broadcast_of_around(root, d, s, n, (of::<T>(), SyncMode::MY), || (), || ())
        })
    }

    /// Member i gets the i-th of the equal parts of the root's `values`; the other members' are ignored.
    /// `mine` is where it goes.
    ///
    /// # Collective
    pub fn scatter<T: Shared>(&self, root: usize, values: &[T], mine: &mut [T]) {
        if self.me() == root {
            self.expect("scatter", values.len(), mine.len() * self.size());
        }
        // SAFETY: slices are valid for their sizes, which were checked.
        unsafe {
            self.scatter_of(root, out(mine), data(values), size_of_val(mine), (of::<T>(), SyncMode::MY))
        }
    }

    /// [`Team::scatter`], non-blocking, of parts of `len` elements.
    ///
    /// # Collective
    pub fn scatter_nb<T: Shared>(&self, root: usize, values: Vec<T>, len: usize) -> PendingCollective<T> {
        if self.me() == root {
            self.expect("scatter", values.len(), len * self.size());
        }
        let n = len * size_of::<T>();
        // SAFETY: as in `broadcast_nb`.
        self.pending(values, len, |d, s| unsafe {
            self.scatter_of_around(root, d, s, n, (of::<T>(), SyncMode::MY), || (), || ())
        })
    }

    /// The root gets the members' values one after the other; the others get nothing.
    ///
    /// # Collective
    pub fn gather<T: Shared>(&self, root: usize, mine: &[T]) -> Vec<T> {
        let mut all = vec![T::zeroed(); if self.me() == root { mine.len() * self.size() } else { 0 }];
        // SAFETY: the root has room for all.
        unsafe {
            self.gather_of(root, out(&mut all), data(mine), size_of_val(mine), (of::<T>(), SyncMode::MY))
        };
        all
    }

    /// [`Team::gather`], non-blocking.
    ///
    /// # Collective
    pub fn gather_nb<T: Shared>(&self, root: usize, mine: Vec<T>) -> PendingCollective<T> {
        let (n, len) = (size_of_val(&*mine), mine.len());
        let results = if self.me() == root { len * self.size() } else { 0 };
        // SAFETY: as in `broadcast_nb`.
        self.pending(mine, results, |d, s| unsafe {
            self.gather_of_around(root, d, s, n, (of::<T>(), SyncMode::MY), || (), || ())
        })
    }

    /// Every member gets the members' values one after the other.
    ///
    /// # Collective
    pub fn gather_all<T: Shared>(&self, mine: &[T]) -> Vec<T> {
        let mut all = vec![T::zeroed(); mine.len() * self.size()];
        // SAFETY: there is room for all.
        unsafe {
            self.gather_all_of(out(&mut all), data(mine), size_of_val(mine), (of::<T>(), SyncMode::MY))
        };
        all
    }

    /// [`Team::gather_all`], non-blocking.
    ///
    /// # Collective
    pub fn gather_all_nb<T: Shared>(&self, mine: Vec<T>) -> PendingCollective<T> {
        let (n, results) = (size_of_val(&*mine), mine.len() * self.size());
        // SAFETY: as in `broadcast_nb`.
        self.pending(mine, results, |d, s| unsafe {
            self.gather_all_of_around(d, s, n, (of::<T>(), SyncMode::MY), || (), || ())
        })
    }

    /// All to all: the j-th of the equal parts of member i's `values` becomes the i-th part of member j's
    /// result.
    ///
    /// # Collective
    pub fn exchange<T: Shared>(&self, values: &[T]) -> Vec<T> {
        let n = self.share("exchange", values.len()) * size_of::<T>();
        let mut all = vec![T::zeroed(); values.len()];
        // SAFETY: both have a part for every member.
        unsafe { self.exchange_of(out(&mut all), data(values), n, (of::<T>(), SyncMode::MY)) };
        all
    }

    /// [`Team::exchange`], non-blocking.
    ///
    /// # Collective
    pub fn exchange_nb<T: Shared>(&self, values: Vec<T>) -> PendingCollective<T> {
        let n = self.share("exchange", values.len()) * size_of::<T>();
        let results = values.len();
        // SAFETY: as in `broadcast_nb`.
        self.pending(values, results, |d, s| unsafe {
            self.exchange_of_around(d, s, n, (of::<T>(), SyncMode::MY), || (), || ())
        })
    }

    /// The root gets `f` over the members' values, element by element and in the order of the team; the
    /// others get nothing. `f` has to be associative.
    ///
    /// # Collective
    pub fn reduce<T: Shared>(
        &self,
        root: usize,
        mine: &[T],
        f: impl Fn(T, T) -> T + Send + Sync + 'static,
    ) -> Vec<T> {
        self.reduce_by(root, mine, elementwise(self.rank(), f, false))
    }

    /// [`Team::reduce`] for an `f` whose operands may change places, which lets data take the shortest way.
    ///
    /// # Collective
    pub fn reduce_commutative<T: Shared>(
        &self,
        root: usize,
        mine: &[T],
        f: impl Fn(T, T) -> T + Send + Sync + 'static,
    ) -> Vec<T> {
        self.reduce_by(root, mine, elementwise(self.rank(), f, true))
    }

    fn reduce_by<T: Shared>(&self, root: usize, mine: &[T], how: Reduction) -> Vec<T> {
        let mut sum = vec![T::zeroed(); if self.me() == root { mine.len() } else { 0 }];
        // SAFETY: the root has room for the result.
        unsafe { self.reduce_raw(root, out(&mut sum), data(mine), size_of_val(mine), how, SyncMode::MY) };
        sum
    }

    /// [`Team::reduce`], non-blocking.
    ///
    /// # Collective
    pub fn reduce_nb<T: Shared>(
        &self,
        root: usize,
        mine: Vec<T>,
        f: impl Fn(T, T) -> T + Send + Sync + 'static,
    ) -> PendingCollective<T> {
        let (n, results) = (size_of_val(&*mine), if self.me() == root { mine.len() } else { 0 });
        let how = elementwise(self.rank(), f, false);
        // SAFETY: as in `broadcast_nb`.
        self.pending(mine, results, |d, s| unsafe { self.reduce_raw_nb(root, d, s, n, how, SyncMode::MY) })
    }

    /// Every member gets `f` over the members' values, element by element and in the order of the team. `f`
    /// has to be associative.
    ///
    /// # Collective
    pub fn reduce_all<T: Shared>(&self, mine: &[T], f: impl Fn(T, T) -> T + Send + Sync + 'static) -> Vec<T> {
        self.reduce_all_by(mine, elementwise(self.rank(), f, false))
    }

    /// [`Team::reduce_all`] for an `f` whose operands may change places.
    ///
    /// # Collective
    pub fn reduce_all_commutative<T: Shared>(
        &self,
        mine: &[T],
        f: impl Fn(T, T) -> T + Send + Sync + 'static,
    ) -> Vec<T> {
        self.reduce_all_by(mine, elementwise(self.rank(), f, true))
    }

    fn reduce_all_by<T: Shared>(&self, mine: &[T], how: Reduction) -> Vec<T> {
        let mut sum = vec![T::zeroed(); mine.len()];
        // SAFETY: there is room for the result.
        unsafe { self.reduce_all_raw(out(&mut sum), data(mine), size_of_val(mine), how, SyncMode::MY) };
        sum
    }

    /// [`Team::reduce_all`], non-blocking.
    ///
    /// # Collective
    pub fn reduce_all_nb<T: Shared>(
        &self,
        mine: Vec<T>,
        f: impl Fn(T, T) -> T + Send + Sync + 'static,
    ) -> PendingCollective<T> {
        let (n, results, how) = (size_of_val(&*mine), mine.len(), elementwise(self.rank(), f, false));
        // SAFETY: as in `broadcast_nb`.
        self.pending(mine, results, |d, s| unsafe { self.reduce_all_raw_nb(d, s, n, how, SyncMode::MY) })
    }

    /// [`Team::reduce_all_nb`] of one value for each member, which only `f` knows the meaning of: bytes, as
    /// many on all members. `f` makes the first of two values the two together. All members have to agree on
    /// the type.
    ///
    /// # Collective
    pub fn reduce_all_values_nb(
        &self,
        mine: Vec<u8>,
        of: ElementType,
        f: impl Fn(&mut [u8], &[u8]) + Send + Sync + 'static,
    ) -> PendingCollective<u8> {
        let (n, results, how) = (mine.len(), mine.len(), valuewise(self.rank(), mine.len(), of, f));
        // SAFETY: as in `broadcast_nb`.
        self.pending(mine, results, |d, s| unsafe { self.reduce_all_raw_nb(d, s, n, how, SyncMode::MY) })
    }

    /// Runs a function of the program that combines values, by the rules of reductions: it must not call the
    /// runtime, and a panic in it ends the job. For reductions that a caller makes of other operations.
    pub fn combining<R>(&self, f: impl FnOnce() -> R) -> R {
        let guard = EndOnPanic(&self.rank().wire);
        let _inside = context::enter(context::Inside::Reduction);
        let result = f();
        core::mem::forget(guard);
        result
    }

    /// The root gets the values combined by a function on words, element by element; the others get nothing.
    /// NICs know these functions.
    ///
    /// # Collective
    /// # Panics
    /// The function does not combine two words, or does not exist for the type.
    pub fn reduce_with<T: Word>(&self, root: usize, mine: &[T], function: Function) -> Vec<T> {
        self.reduce_by(root, mine, Reduction::known(function, T::TYPE))
    }

    /// Every member gets the values combined by a function on words. As [`Team::reduce_with`].
    ///
    /// # Collective
    /// # Panics
    /// As [`Team::reduce_with`].
    pub fn reduce_all_with<T: Word>(&self, mine: &[T], function: Function) -> Vec<T> {
        self.reduce_all_by(mine, Reduction::known(function, T::TYPE))
    }

    /// [`Team::reduce_all_with`], non-blocking.
    ///
    /// # Collective
    /// # Panics
    /// As [`Team::reduce_with`].
    pub fn reduce_all_nb_with<T: Word>(&self, mine: Vec<T>, function: Function) -> PendingCollective<T> {
        let (n, results) = (size_of_val(&*mine), mine.len());
        let how = Reduction::known(function, T::TYPE);
        // SAFETY: as in `broadcast_nb`.
        self.pending(mine, results, |d, s| unsafe { self.reduce_all_raw_nb(d, s, n, how, SyncMode::MY) })
    }

    /// [`Team::scatter`] of parts of different lengths: the root's `counts` say how long each is. `mine` is
    /// as long as this member's.
    ///
    /// # Collective
    pub fn scatter_v<T: Shared>(&self, root: usize, values: &[T], counts: &[usize], mine: &mut [T]) {
        if self.me() == root {
            self.expect("scatter", values.len(), self.sum("scatter", counts));
            self.expect("scatter", mine.len(), counts.get(root).copied().unwrap_or(0));
        }
        let (to, n, blocks) = (out(mine), size_of_val(mine), packed::<T>(counts));
        // SAFETY: slices are valid for their sizes, which were checked.
        unsafe { self.scatter_v_of(root, to, n, data(values), &blocks, (of::<T>(), SyncMode::MY)) }
    }

    /// [`Team::scatter_v`], non-blocking; this member gets `len` elements.
    ///
    /// # Collective
    pub fn scatter_v_nb<T: Shared>(
        &self,
        root: usize,
        values: Vec<T>,
        counts: &[usize],
        len: usize,
    ) -> PendingCollective<T> {
        if self.me() == root {
            self.expect("scatter", values.len(), self.sum("scatter", counts));
            self.expect("scatter", len, counts.get(root).copied().unwrap_or(0));
        }
        let (n, blocks) = (len * size_of::<T>(), packed::<T>(counts));
        // SAFETY: as in `broadcast_nb`.
        self.pending(values, len, |d, s| unsafe {
            self.scatter_v_of_around(root, d, n, s, &blocks, (of::<T>(), SyncMode::MY), || (), || ())
        })
    }

    /// [`Team::gather`] of parts of different lengths: the root's `counts` say how long each member's is.
    ///
    /// # Collective
    pub fn gather_v<T: Shared>(&self, root: usize, mine: &[T], counts: &[usize]) -> Vec<T> {
        let blocks = packed::<T>(counts);
        let mut all = vec![T::zeroed(); self.gathered("gather", root, mine.len(), counts)];
        let n = size_of_val(mine);
        // SAFETY: the root has room for all.
        unsafe { self.gather_v_of(root, out(&mut all), data(mine), n, &blocks, (of::<T>(), SyncMode::MY)) };
        all
    }

    /// [`Team::gather_v`], non-blocking.
    ///
    /// # Collective
    pub fn gather_v_nb<T: Shared>(
        &self,
        root: usize,
        mine: Vec<T>,
        counts: &[usize],
    ) -> PendingCollective<T> {
        let blocks = packed::<T>(counts);
        let (n, results) = (size_of_val(&*mine), self.gathered("gather", root, mine.len(), counts));
        // SAFETY: as in `broadcast_nb`.
        self.pending(mine, results, |d, s| unsafe {
            self.gather_v_of_around(root, d, s, n, &blocks, (of::<T>(), SyncMode::MY), || (), || ())
        })
    }

    /// Elements that come together at the root.
    fn gathered(&self, what: &str, root: usize, mine: usize, counts: &[usize]) -> usize {
        if self.me() != root {
            return 0;
        }
        self.expect(what, mine, counts.get(root).copied().unwrap_or(0));
        self.sum(what, counts)
    }

    /// [`Team::gather_all`] of parts of different lengths: all give the same `counts`.
    ///
    /// # Collective
    pub fn gather_all_v<T: Shared>(&self, mine: &[T], counts: &[usize]) -> Vec<T> {
        let mut all = vec![T::zeroed(); self.gathered("gather_all", self.me(), mine.len(), counts)];
        let blocks = packed::<T>(counts);
        // SAFETY: there is room for all.
        unsafe { self.gather_all_v_of(out(&mut all), data(mine), &blocks, (of::<T>(), SyncMode::MY)) };
        all
    }

    /// [`Team::gather_all_v`], non-blocking.
    ///
    /// # Collective
    pub fn gather_all_v_nb<T: Shared>(&self, mine: Vec<T>, counts: &[usize]) -> PendingCollective<T> {
        let results = self.gathered("gather_all", self.me(), mine.len(), counts);
        let blocks = packed::<T>(counts);
        // SAFETY: as in `broadcast_nb`.
        self.pending(mine, results, |d, s| unsafe {
            self.gather_all_v_of_around(d, s, &blocks, (of::<T>(), SyncMode::MY), || (), || ())
        })
    }

    /// [`Team::exchange`] of parts of different lengths: `to` says how many elements go to each member,
    /// `from` how many come.
    ///
    /// # Collective
    pub fn exchange_v<T: Shared>(&self, values: &[T], to: &[usize], from: &[usize]) -> Vec<T> {
        let mut all = vec![T::zeroed(); self.exchanged(values.len(), to, from)];
        let (to, from) = (packed::<T>(to), packed::<T>(from));
        // SAFETY: both have the parts.
        unsafe { self.exchange_v_of(out(&mut all), data(values), &from, &to, (of::<T>(), SyncMode::MY)) };
        all
    }

    /// [`Team::exchange_v`], non-blocking.
    ///
    /// # Collective
    pub fn exchange_v_nb<T: Shared>(
        &self,
        values: Vec<T>,
        to: &[usize],
        from: &[usize],
    ) -> PendingCollective<T> {
        let results = self.exchanged(values.len(), to, from);
        let (to, from) = (packed::<T>(to), packed::<T>(from));
        // SAFETY: as in `broadcast_nb`.
        self.pending(values, results, |d, s| unsafe {
            self.exchange_v_of_around(d, s, &from, &to, (of::<T>(), SyncMode::MY), || (), || ())
        })
    }

    /// Elements that come in an exchange.
    fn exchanged(&self, values: usize, to: &[usize], from: &[usize]) -> usize {
        self.expect("exchange", values, self.sum("exchange", to));
        let me = self.me();
        self.expect("exchange", from.get(me).copied().unwrap_or(0), to.get(me).copied().unwrap_or(0));
        self.sum("exchange", from)
    }

    /// [`Team::scan`], non-blocking.
    ///
    /// # Collective
    pub fn scan_nb<T: Shared>(
        &self,
        mine: Vec<T>,
        f: impl Fn(T, T) -> T + Send + Sync + 'static,
    ) -> PendingCollective<T> {
        let (n, results, how) = (size_of_val(&*mine), mine.len(), elementwise(self.rank(), f, false));
        // SAFETY: as in `broadcast_nb`.
        self.pending(mine, results, |d, s| unsafe { self.scan_raw_nb(d, s, n, true, how, SyncMode::MY) })
    }

    /// Member i gets `f` over the values of members 0 to i, element by element.
    ///
    /// # Collective
    pub fn scan<T: Shared>(&self, mine: &[T], f: impl Fn(T, T) -> T + Send + Sync + 'static) -> Vec<T> {
        self.scan_by(mine.to_vec(), mine, true, elementwise(self.rank(), f, false))
    }

    /// Member i gets `f` over the values of members 0 to i - 1, element by element; member 0 gets `first`.
    ///
    /// # Collective
    pub fn scan_exclusive<T: Shared>(
        &self,
        mine: &[T],
        first: &[T],
        f: impl Fn(T, T) -> T + Send + Sync + 'static,
    ) -> Vec<T> {
        self.expect("scan", first.len(), mine.len());
        self.scan_by(first.to_vec(), mine, false, elementwise(self.rank(), f, false))
    }

    fn scan_by<T: Shared>(&self, mut sums: Vec<T>, mine: &[T], inclusive: bool, how: Reduction) -> Vec<T> {
        // SAFETY: there is room for the result.
        unsafe { self.scan_raw(out(&mut sums), data(mine), size_of_val(mine), inclusive, how, SyncMode::MY) };
        sums
    }
}
