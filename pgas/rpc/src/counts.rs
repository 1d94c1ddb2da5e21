//! Counts that grow with every record, and what belongs to the thread that has started the engine.
//!
//! An atomic addition costs as much as some dozens of plain instructions. So a count has two parts. One
//! thread, the engine's *own*, adds to its part by a load and a store; all others add to the second part
//! atomically. The own thread is the one that has started the engine: in most programs no other calls.

use crate::prim::{AtomicU64, Ordering};
use core::cell::Cell;

/// Something with an address that nothing else ever has.
#[derive(Debug)]
struct Unique(#[expect(dead_code, reason = "gives it an address")] u8);

thread_local! {
    /// Of what the thread is the own thread.
    static OWN: Cell<Option<&'static Unique>> = const { Cell::new(None) };
}

/// Names an engine, and knows its own thread.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OwnThread(&'static Unique);

impl PartialEq for OwnThread {
    fn eq(&self, other: &OwnThread) -> bool {
        core::ptr::eq(self.0, other.0)
    }
}

impl OwnThread {
    /// The calling thread is the own thread, and ceases to be that of another engine.
    pub(crate) fn here() -> OwnThread {
        let unique: &'static Unique = Box::leak(Box::new(Unique(0)));
        OWN.set(Some(unique));
        OwnThread(unique)
    }

    /// Whether the calling thread is the own thread. At most one is.
    #[inline]
    pub(crate) fn is_here(self) -> bool {
        OWN.get().is_some_and(|unique| core::ptr::eq(unique, self.0))
    }
}

/// A count that only grows, but for [`Count::take_back`].
#[derive(Debug, Default)]
pub(crate) struct Count {
    own: AtomicU64,
    others: AtomicU64,
}

/// The part of a count that a thread has added to: before and after that.
pub(crate) struct Added {
    pub(crate) before: u64,
    pub(crate) after: u64,
}

impl Count {
    /// Adds, on the own thread if `own`.
    #[inline]
    pub(crate) fn add(&self, own: bool, n: u64) -> Added {
        // ORDER: Release, both; pairs with Acquire in `get`: what the thread has done before it has counted
        // is seen by who sees the count.
        let before = if own {
            // Relaxed: only this thread stores it.
            let before = self.own.load(Ordering::Relaxed);
            self.own.store(before.wrapping_add(n), Ordering::Release);
            before
        } else {
            self.others.fetch_add(n, Ordering::Release)
        };
        Added { before, after: before.wrapping_add(n) }
    }

    /// Takes back what was added in vain.
    pub(crate) fn take_back(&self, n: u64) {
        // Relaxed: nothing was done. The part may have less than that, and wraps; the sum does not.
        self.others.fetch_sub(n, Ordering::Relaxed);
    }

    /// The count: at least what it was when this began, and at most what it is when this ends.
    #[inline]
    pub(crate) fn get(&self) -> u64 {
        // ORDER: Acquire, both; pairs with Release in `add`.
        self.own.load(Ordering::Acquire).wrapping_add(self.others.load(Ordering::Acquire))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn an_engine_has_one_own_thread() {
        let own = OwnThread::here();
        assert!(own.is_here());
        assert!(!std::thread::scope(|scope| scope.spawn(|| own.is_here()).join().unwrap()));
        let other = OwnThread::here();
        assert!(other.is_here() && !own.is_here() && own != other);
    }

    #[test]
    fn a_count_is_the_sum_of_its_parts() {
        let count = Count::default();
        assert_eq!((count.add(true, 3).before, count.add(true, 4).after), (0, 7));
        assert_eq!(count.add(false, 5).after, 5);
        assert_eq!(count.get(), 12);
        // More than the part of the others has.
        count.take_back(6);
        assert_eq!(count.get(), 6);
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use loom::sync::Arc;
    use loom::sync::atomic::AtomicU32;

    /// Nothing is lost, and who sees a count sees what was done before.
    #[test]
    fn loom_counts_are_whole_and_publish() {
        loom::model(|| {
            let all = Arc::new((Count::default(), AtomicU32::new(0), AtomicU32::new(0)));
            let (a, b) = (all.clone(), all.clone());
            let own = loom::thread::spawn(move || {
                a.1.store(1, Ordering::Relaxed);
                a.0.add(true, 1);
                a.0.add(true, 2);
            });
            let other = loom::thread::spawn(move || {
                b.2.store(1, Ordering::Relaxed);
                b.0.add(false, 4);
            });
            let seen = all.0.get();
            assert!(seen & 3 == 0 || all.1.load(Ordering::Relaxed) == 1);
            assert!(seen & 4 == 0 || all.2.load(Ordering::Relaxed) == 1);
            own.join().unwrap();
            other.join().unwrap();
            assert_eq!(all.0.get(), 7);
        });
    }
}
