//! Collective operations on slices of Rust values.
#![expect(unsafe_code, reason = "hands buffers that it owns or borrows to the raw operations")]

use super::SyncMode;
use super::algorithms::Reduction;
use crate::segment::Shared;
use crate::team::Team;
use crate::{Event, Rank};
use core::mem::ManuallyDrop;
use std::sync::Arc;

/// A non-blocking collective operation and its result. Dropping it waits; forgetting it leaks the buffers.
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

/// Combines element by element.
fn elementwise<T: Shared>(f: impl Fn(T, T) -> T + Send + Sync + 'static, commutes: bool) -> Reduction {
    let size = size_of::<T>().max(1);
    Reduction {
        combine: Arc::new(move |a, b, n| {
            for i in 0..n / size {
                let (a, b) = (a.wrapping_add(i * size).cast::<T>(), b.wrapping_add(i * size).cast::<T>());
                // SAFETY: vectors of `n` bytes of `T`s, which any bytes are.
                unsafe { a.write_unaligned(f(a.read_unaligned(), b.read_unaligned())) }
            }
        }),
        commutes,
        element: size,
    }
}

fn out<T: Shared>(v: &mut [T]) -> *mut u8 {
    v.as_mut_ptr().cast()
}

fn data<T: Shared>(v: &[T]) -> *const u8 {
    v.as_ptr().cast()
}

/// Operations on slices. In all of them, slices of members that correspond have the same length.
impl Team {
    fn expect(&self, what: &str, got: usize, want: usize) {
        if got != want {
            self.rank().fatal(&format!("{what}: a slice of {got} elements where {want} are needed"));
        }
    }

    /// Blocks of equal length for every member.
    fn share(&self, what: &str, n: usize) -> usize {
        if !n.is_multiple_of(self.size()) {
            self.rank()
                .fatal(&format!("{what}: {n} elements are no multiple of the {} members", self.size()));
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
        unsafe { self.broadcast_raw(root, at, at, n, SyncMode::MY) }
    }

    /// [`Team::broadcast`], non-blocking: the result is the root's `values`.
    ///
    /// # Collective
    pub fn broadcast_nb<T: Shared>(&self, root: usize, values: Vec<T>) -> PendingCollective<T> {
        let (n, len) = (size_of_val(&*values), values.len());
        // SAFETY: the handle keeps both buffers until the operation is over.
        self.pending(values, len, |d, s| unsafe { self.broadcast_raw_nb(root, d, s, n, SyncMode::MY) })
    }

    /// Member i gets the i-th of the equal parts of the root's `values`; the other members' are ignored. `mine` is where it goes.
    ///
    /// # Collective
    pub fn scatter<T: Shared>(&self, root: usize, values: &[T], mine: &mut [T]) {
        if self.me() == root {
            self.expect("scatter", values.len(), mine.len() * self.size());
        }
        // SAFETY: slices are valid for their sizes, which were checked.
        unsafe { self.scatter_raw(root, out(mine), data(values), size_of_val(mine), SyncMode::MY) }
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
        self.pending(values, len, |d, s| unsafe { self.scatter_raw_nb(root, d, s, n, SyncMode::MY) })
    }

    /// The root gets the members' values one after the other; the others get nothing.
    ///
    /// # Collective
    pub fn gather<T: Shared>(&self, root: usize, mine: &[T]) -> Vec<T> {
        let mut all = vec![T::zeroed(); if self.me() == root { mine.len() * self.size() } else { 0 }];
        // SAFETY: the root has room for all.
        unsafe { self.gather_raw(root, out(&mut all), data(mine), size_of_val(mine), SyncMode::MY) };
        all
    }

    /// [`Team::gather`], non-blocking.
    ///
    /// # Collective
    pub fn gather_nb<T: Shared>(&self, root: usize, mine: Vec<T>) -> PendingCollective<T> {
        let (n, len) = (size_of_val(&*mine), mine.len());
        let results = if self.me() == root { len * self.size() } else { 0 };
        // SAFETY: as in `broadcast_nb`.
        self.pending(mine, results, |d, s| unsafe { self.gather_raw_nb(root, d, s, n, SyncMode::MY) })
    }

    /// Every member gets the members' values one after the other.
    ///
    /// # Collective
    pub fn gather_all<T: Shared>(&self, mine: &[T]) -> Vec<T> {
        let mut all = vec![T::zeroed(); mine.len() * self.size()];
        // SAFETY: there is room for all.
        unsafe { self.gather_all_raw(out(&mut all), data(mine), size_of_val(mine), SyncMode::MY) };
        all
    }

    /// [`Team::gather_all`], non-blocking.
    ///
    /// # Collective
    pub fn gather_all_nb<T: Shared>(&self, mine: Vec<T>) -> PendingCollective<T> {
        let (n, results) = (size_of_val(&*mine), mine.len() * self.size());
        // SAFETY: as in `broadcast_nb`.
        self.pending(mine, results, |d, s| unsafe { self.gather_all_raw_nb(d, s, n, SyncMode::MY) })
    }

    /// All to all: the j-th of the equal parts of member i's `values` becomes the i-th part of member j's result.
    ///
    /// # Collective
    pub fn exchange<T: Shared>(&self, values: &[T]) -> Vec<T> {
        let n = self.share("exchange", values.len()) * size_of::<T>();
        let mut all = vec![T::zeroed(); values.len()];
        // SAFETY: both have a part for every member.
        unsafe { self.exchange_raw(out(&mut all), data(values), n, SyncMode::MY) };
        all
    }

    /// [`Team::exchange`], non-blocking.
    ///
    /// # Collective
    pub fn exchange_nb<T: Shared>(&self, values: Vec<T>) -> PendingCollective<T> {
        let n = self.share("exchange", values.len()) * size_of::<T>();
        let results = values.len();
        // SAFETY: as in `broadcast_nb`.
        self.pending(values, results, |d, s| unsafe { self.exchange_raw_nb(d, s, n, SyncMode::MY) })
    }

    /// The root gets `f` over the members' values, element by element and in the order of the team; the others get nothing. `f` has to
    /// be associative.
    ///
    /// # Collective
    pub fn reduce<T: Shared>(
        &self,
        root: usize,
        mine: &[T],
        f: impl Fn(T, T) -> T + Send + Sync + 'static,
    ) -> Vec<T> {
        self.reduce_by(root, mine, elementwise(f, false))
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
        self.reduce_by(root, mine, elementwise(f, true))
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
        let how = elementwise(f, false);
        // SAFETY: as in `broadcast_nb`.
        self.pending(mine, results, |d, s| unsafe { self.reduce_raw_nb(root, d, s, n, how, SyncMode::MY) })
    }

    /// Every member gets `f` over the members' values, element by element and in the order of the team. `f` has to be associative.
    ///
    /// # Collective
    pub fn reduce_all<T: Shared>(&self, mine: &[T], f: impl Fn(T, T) -> T + Send + Sync + 'static) -> Vec<T> {
        self.reduce_all_by(mine, elementwise(f, false))
    }

    /// [`Team::reduce_all`] for an `f` whose operands may change places.
    ///
    /// # Collective
    pub fn reduce_all_commutative<T: Shared>(
        &self,
        mine: &[T],
        f: impl Fn(T, T) -> T + Send + Sync + 'static,
    ) -> Vec<T> {
        self.reduce_all_by(mine, elementwise(f, true))
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
        let (n, results, how) = (size_of_val(&*mine), mine.len(), elementwise(f, false));
        // SAFETY: as in `broadcast_nb`.
        self.pending(mine, results, |d, s| unsafe { self.reduce_all_raw_nb(d, s, n, how, SyncMode::MY) })
    }

    /// Member i gets `f` over the values of members 0 to i, element by element.
    ///
    /// # Collective
    pub fn scan<T: Shared>(&self, mine: &[T], f: impl Fn(T, T) -> T + Send + Sync + 'static) -> Vec<T> {
        self.scan_by(mine.to_vec(), mine, true, elementwise(f, false))
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
        self.scan_by(first.to_vec(), mine, false, elementwise(f, false))
    }

    fn scan_by<T: Shared>(&self, mut sums: Vec<T>, mine: &[T], inclusive: bool, how: Reduction) -> Vec<T> {
        // SAFETY: there is room for the result.
        unsafe { self.scan_raw(out(&mut sums), data(mine), size_of_val(mine), inclusive, how, SyncMode::MY) };
        sums
    }
}
