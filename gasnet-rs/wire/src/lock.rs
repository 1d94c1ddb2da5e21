//! A small lock for short sections that nobody sleeps in, with a mode for ranks that promise to use one
//! thread.
//!
//! In *serial* mode (GASNet's SEQ, UPC) taking and giving back costs a plain load and store: the lock then
//! only detects re-entry, which it must, because a poll may run inside a handler.
//!
//! **Polls give way.** A thread that polls in a loop has a conduit's lock nearly all the time, and an
//! operation of another thread would find it free by chance only. So [`Turns::take_to_poll`] leaves the value
//! alone while an operation waits for it, up to [`MAX_PASSES`] times in a row. For a thread that polls it
//! waits: of several threads that poll, all but one are better off the processor.

use crate::prim::{AtomicU32, Ordering};

/// How many threads of a rank may call the runtime at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Threading {
    /// Any number (GASNet's PAR).
    Parallel,
    /// One at a time (GASNet's SEQ and PARSYNC).
    Serial(OneThread),
}

/// The promise that the threads of a rank call the runtime one at a time; or, stronger, that one and the same
/// thread makes all calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OneThread {
    same: bool,
}

impl OneThread {
    /// Makes the promise.
    ///
    /// # Safety
    /// 1. No two calls on the rank overlap in time, and each happens before the next (owed by the program,
    ///    for as long as it runs).
    #[expect(unsafe_code, reason = "the promise replaces the locks")]
    pub unsafe fn promise() -> OneThread {
        OneThread { same: false }
    }

    /// Makes the stronger promise: libraries below the runtime then go without locks, too.
    ///
    /// # Safety
    /// 1. The thread that starts the rank makes all calls on it (owed by the program, for as long as it
    ///    runs).
    #[expect(unsafe_code, reason = "the promise replaces the locks")]
    pub unsafe fn always_the_same() -> OneThread {
        OneThread { same: true }
    }

    /// Whether one and the same thread makes all calls.
    pub fn is_always_the_same(self) -> bool {
        self.same
    }
}

/// The lock: 0 free, 1 taken.
#[derive(Debug)]
pub(crate) struct TurnLock {
    word: AtomicU32,
    serial: bool,
}

impl TurnLock {
    pub(crate) fn new(threading: Threading) -> TurnLock {
        TurnLock { word: AtomicU32::new(0), serial: matches!(threading, Threading::Serial(_)) }
    }

    /// Takes the lock if it is free.
    #[inline]
    pub(crate) fn try_lock(&self) -> bool {
        if self.word.load(Ordering::Relaxed) != 0 {
            return false;
        }
        if self.serial {
            self.word.store(1, Ordering::Relaxed);
            return true;
        }
        // ORDER: Acquire; pairs with Release in unlock; what the last holder did is visible.
        self.word.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Takes the lock, waiting for a holder on another thread.
    #[inline]
    pub(crate) fn lock(&self) {
        let mut tries = 0u32;
        while !self.try_lock() {
            tries += 1;
            if tries.is_multiple_of(64) { std::thread::yield_now() } else { core::hint::spin_loop() }
        }
    }

    /// Gives the lock back.
    #[inline]
    pub(crate) fn unlock(&self) {
        // ORDER: Release; pairs with Acquire in try_lock.
        self.word.store(0, Ordering::Release);
    }
}

/// Largest number of polls in a row that give way to operations. It is finite, as those may wait in threads
/// that do not run.
const MAX_PASSES: u32 = 64;

/// A value that one thread uses at a time, behind the lock of this module. For conduits.
pub struct Turns<T> {
    lock: TurnLock,
    /// Operations that wait for the value. Relaxed, as `passes`: hints for polls; the lock orders the data.
    waiting: AtomicU32,
    /// Polls that gave way since the last one that did not.
    passes: AtomicU32,
    value: core::cell::UnsafeCell<T>,
}

#[expect(unsafe_code, reason = "the lock guards the value")]
// SAFETY: the value is reached under the lock only, by one thread at a time; or the threads take turns by
// promise.
unsafe impl<T: Send> Sync for Turns<T> {}

impl<T> Turns<T> {
    /// Guards a value.
    pub fn new(threading: Threading, value: T) -> Turns<T> {
        let (lock, count) = (TurnLock::new(threading), || AtomicU32::new(0));
        Turns { lock, waiting: count(), passes: count(), value: core::cell::UnsafeCell::new(value) }
    }

    /// Takes the turn, waiting for a holder on another thread. A thread that has it must not ask again.
    #[inline]
    pub fn take(&self) -> Turn<'_, T> {
        if !self.lock.try_lock() {
            self.wait();
        }
        Turn(self, core::marker::PhantomData)
    }

    #[cold]
    fn wait(&self) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        self.lock.lock();
        self.waiting.fetch_sub(1, Ordering::Relaxed);
    }

    /// Takes the turn for a poll, which need not be made now; `None` while an operation waits for it.
    #[inline]
    pub fn take_to_poll(&self) -> Option<Turn<'_, T>> {
        if self.waiting.load(Ordering::Relaxed) != 0
            && self.passes.fetch_add(1, Ordering::Relaxed) < MAX_PASSES
        {
            return None;
        }
        self.lock.lock();
        if self.passes.load(Ordering::Relaxed) != 0 {
            self.passes.store(0, Ordering::Relaxed);
        }
        Some(Turn(self, core::marker::PhantomData))
    }
}

impl<T> core::fmt::Debug for Turns<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.lock.fmt(f)
    }
}

/// The turn, given back when dropped. Whoever shares it shares the value: it is [`Sync`] where the value is.
#[derive(Debug)]
pub struct Turn<'a, T>(&'a Turns<T>, core::marker::PhantomData<&'a mut T>);

#[expect(unsafe_code, reason = "the lock guards the value")]
impl<T> core::ops::Deref for Turn<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the lock is ours.
        unsafe { &*self.0.value.get() }
    }
}

#[expect(unsafe_code, reason = "the lock guards the value")]
impl<T> core::ops::DerefMut for Turn<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the lock is ours.
        unsafe { &mut *self.0.value.get() }
    }
}

impl<T> Drop for Turn<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.0.lock.unlock();
    }
}

#[cfg(all(test, loom))]
mod tests {
    use super::*;
    use crate::prim::UnsafeCell;
    use loom::sync::Arc;

    struct Shared(TurnLock, loom::cell::UnsafeCell<u32>);
    #[expect(unsafe_code, reason = "the lock under test guards the cell")]
    // SAFETY: the cell is touched under the lock only, which is what the model checks.
    unsafe impl Sync for Shared {}

    #[test]
    #[expect(unsafe_code, reason = "the lock under test guards the cell")]
    fn loom_lock_excludes() {
        let _: Option<UnsafeCell<u32>> = None;
        loom::model(|| {
            let s = Arc::new(Shared(TurnLock::new(Threading::Parallel), loom::cell::UnsafeCell::new(0)));
            let add = |s: &Shared| {
                while !s.0.try_lock() {
                    loom::thread::yield_now();
                }
                // SAFETY: under the lock.
                s.1.with_mut(|p| unsafe { *p += 1 });
                s.0.unlock();
            };
            let s2 = s.clone();
            let t = loom::thread::spawn(move || add(&s2));
            add(&s);
            t.join().unwrap();
            // SAFETY: the other thread is gone.
            assert_eq!(s.1.with(|p| unsafe { *p }), 2);
        });
    }
}

#[cfg(all(test, not(loom)))]
mod unit_tests {
    use super::*;

    /// A poll gives way to an operation that waits, but not for ever.
    #[test]
    fn polls_give_way() {
        let turns = Turns::new(Threading::Parallel, ());
        std::thread::scope(|scope| {
            let taken = turns.take();
            let operation = scope.spawn(|| drop(turns.take()));
            while turns.waiting.load(Ordering::Relaxed) == 0 {
                std::thread::yield_now();
            }
            assert!(turns.take_to_poll().is_none());
            drop(taken);
            operation.join().unwrap();
        });
        assert!(turns.take_to_poll().is_some());
        // An operation whose thread does not run.
        turns.waiting.store(1, Ordering::Relaxed);
        let polls = (0..=MAX_PASSES).map(|_| turns.take_to_poll().is_some()).collect::<Vec<_>>();
        assert!(polls[..MAX_PASSES as usize].iter().all(|polled| !polled) && polls[MAX_PASSES as usize]);
        assert!(turns.take_to_poll().is_none());
    }
}
