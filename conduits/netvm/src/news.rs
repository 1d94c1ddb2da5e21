//! Wakes a rank that sleeps when there is news for it: a [`Bell`], rung only if some thread sleeps that would
//! not find out otherwise.
//!
//! A thread with news *tells*. A thread of the rank that polls *attends*, and then looks for all kinds of
//! news. A thread that is about to sleep on the bell *rests*, and then looks once more whether it was told
//! something. Each has a full fence between what it writes and what it reads. So news ring the bell, or are
//! found by the thread that attends or by the one that rests.

use gasnet_sys::fd::Bell;
use std::sync::atomic::{AtomicBool, Ordering, fence};

/// The bell that [`News`] rings.
pub(crate) trait Ring {
    fn ring(&self);
    /// Makes it unreadable.
    fn clear(&self);
}

impl Ring for Bell {
    fn ring(&self) {
        Bell::ring(self);
    }
    fn clear(&self) {
        Bell::clear(self);
    }
}

/// The bell of a rank, and its state.
pub(crate) struct News<B = Bell> {
    bell: B,
    /// The bell has been rung since a thread attended last.
    rung: AtomicBool,
    /// Something was told since then, whether or not the bell was rung.
    told: AtomicBool,
    /// The rank sleeps, or is about to.
    resting: AtomicBool,
    /// Another thread of the rank may sleep while one attends.
    shared: bool,
}

impl<B: Ring> News<B> {
    pub(crate) fn new(bell: B, shared: bool) -> News<B> {
        let not = || AtomicBool::new(false);
        News { bell, rung: not(), told: not(), resting: not(), shared }
    }

    pub(crate) fn bell(&self) -> &B {
        &self.bell
    }

    /// Another thread of the rank may sleep while one attends.
    pub(crate) fn is_shared(&self) -> bool {
        self.shared
    }

    /// A thread polls, and looks for everything now.
    #[inline]
    pub(crate) fn attend(&self) {
        if self.resting.load(Ordering::Relaxed) {
            self.resting.store(false, Ordering::Relaxed);
        }
        if self.told.load(Ordering::Relaxed) {
            // ORDER: Acquire; pairs with Release in `tell`: the thread that clears the mark sees what was
            // told. Later news are told again.
            self.told.swap(false, Ordering::Acquire);
        }
        if self.rung.load(Ordering::Relaxed) {
            // In this order: otherwise a ring between the two would be cleared, and no other would follow.
            self.bell.clear();
            self.rung.store(false, Ordering::Relaxed);
            // ORDER: SeqCst; pairs with the fence in `tell`: what is told after this is told by a ring.
            fence(Ordering::SeqCst);
        }
    }

    /// A thread is about to sleep on the bell. The caller must then issue a full fence, check whether
    /// something was [told](Self::is_told), and if so call [`tell`](Self::tell).
    pub(crate) fn rest(&self) {
        self.resting.store(true, Ordering::Relaxed);
    }

    /// Whether something was told since a thread attended last.
    pub(crate) fn is_told(&self) -> bool {
        self.told.load(Ordering::Relaxed)
    }

    /// There is news for the rank: rings if its threads may be asleep.
    pub(crate) fn tell(&self) {
        // ORDER: Release; pairs with Acquire in `attend`. A swap, so that what others told before is seen
        // with it.
        self.told.swap(true, Ordering::Release);
        // ORDER: SeqCst; pairs with the fences in `attend` and behind `rest`.
        fence(Ordering::SeqCst);
        // A thread that polls finds out by itself, unless another thread of the rank sleeps meanwhile.
        if (self.shared || self.resting.load(Ordering::Relaxed)) && !self.rung.swap(true, Ordering::Relaxed) {
            self.bell.ring();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, OnceLock, Weak};

    /// A bell that is told more while it is cleared: before it is cleared, or right after.
    struct Meddled {
        readable: AtomicBool,
        news: OnceLock<Weak<News<Meddled>>>,
        before: bool,
        meddles: AtomicBool,
    }

    impl Ring for Meddled {
        fn ring(&self) {
            self.readable.store(true, Ordering::Relaxed);
        }
        fn clear(&self) {
            let tell = || {
                if self.meddles.swap(false, Ordering::Relaxed) {
                    self.news.get().and_then(Weak::upgrade).expect("there").tell();
                }
            };
            if self.before {
                tell();
            }
            self.readable.store(false, Ordering::Relaxed);
            tell();
        }
    }

    fn news(shared: bool, before: bool) -> Arc<News<Meddled>> {
        let not = || AtomicBool::new(false);
        let bell = Meddled { readable: not(), news: OnceLock::new(), before, meddles: not() };
        let news = Arc::new(News::new(bell, shared));
        news.bell.news.set(Arc::downgrade(&news)).expect("once");
        news
    }

    /// After news during the clearing of the bell, the next news ring.
    #[test]
    fn no_ring_is_lost() {
        for (shared, before) in [(false, false), (false, true), (true, false), (true, true)] {
            let news = news(shared, before);
            news.rest();
            news.tell();
            assert!(news.bell.readable.load(Ordering::Relaxed));
            news.bell.meddles.store(true, Ordering::Relaxed);
            news.attend();
            assert!(!news.bell.meddles.load(Ordering::Relaxed), "the bell was cleared");
            // A thread of the rank that has handled the news sleeps.
            news.rest();
            news.tell();
            assert!(news.bell.readable.load(Ordering::Relaxed), "shared: {shared}, before: {before}");
        }
    }

    #[test]
    fn who_polls_is_not_rung_for() {
        let news = news(false, false);
        news.tell();
        assert!(!news.bell.readable.load(Ordering::Relaxed) && news.is_told());
        news.attend();
        assert!(!news.is_told());
        // Told between the last poll and the sleep: the resting thread sees it, or the bell rings.
        news.tell();
        news.rest();
        assert!(news.is_told());
        news.tell();
        assert!(news.bell.readable.load(Ordering::Relaxed));
    }
}
