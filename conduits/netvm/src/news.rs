//! How a rank that sleeps hears that there is something for it: a [`Bell`], rung only if somebody sleeps who would not find out else.
//!
//! Whoever has news *tells*; a thread of the rank that polls *attends*, and then looks for whatever it may be; one that is about to sleep on the
//! bell *rests*, and then looks once more whether it was told something. A full fence stands between what each writes and what it reads, so
//! news are told by a ring, or found by who attends, or by who rests.

use crate::sys::Bell;
use std::sync::atomic::{AtomicBool, Ordering, fence};

/// What [`News`] rings.
pub(crate) trait Ring {
    fn ring(&self);
    /// No more readable.
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

/// The bell of a rank, and what is known of it.
pub(crate) struct News<B = Bell> {
    bell: B,
    /// It has been rung since somebody attended last.
    rung: AtomicBool,
    /// Something was told since then, whether or not it was rung for.
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

    /// Who polls looks for everything now.
    #[inline]
    pub(crate) fn attend(&self) {
        if self.resting.load(Ordering::Relaxed) {
            self.resting.store(false, Ordering::Relaxed);
        }
        if self.told.load(Ordering::Relaxed) {
            // ORDER: Acquire; pairs with Release in `tell`: who takes the mark away sees what was told. Told after this, it is told again.
            self.told.swap(false, Ordering::Acquire);
        }
        if self.rung.load(Ordering::Relaxed) {
            // In this order: a ring between the two would be taken away, and none would follow it.
            self.bell.clear();
            self.rung.store(false, Ordering::Relaxed);
            // ORDER: SeqCst; pairs with the fence in `tell`: what is told after this is told by a ring.
            fence(Ordering::SeqCst);
        }
    }

    /// A thread is about to sleep on the bell. A full fence must follow, a look whether it was [told](Self::is_told) something, and if so
    /// [`tell`](Self::tell).
    pub(crate) fn rest(&self) {
        self.resting.store(true, Ordering::Relaxed);
    }

    /// Whether something was told since somebody attended last.
    pub(crate) fn is_told(&self) -> bool {
        self.told.load(Ordering::Relaxed)
    }

    /// There is something for the rank: rings, if its threads may be asleep.
    pub(crate) fn tell(&self) {
        // ORDER: Release; pairs with Acquire in `attend`. A swap, so that what others told before is seen with it.
        self.told.swap(true, Ordering::Release);
        // ORDER: SeqCst; pairs with the fences in `attend` and behind `rest`.
        fence(Ordering::SeqCst);
        // Who polls finds out by himself, unless another thread of the rank sleeps meanwhile.
        if (self.shared || self.resting.load(Ordering::Relaxed)) && !self.rung.swap(true, Ordering::Relaxed) {
            self.bell.ring();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, OnceLock, Weak};

    /// A bell that is told more while it is cleared: before that is done, or right after.
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

    /// Whatever is told while the bell is cleared, the next news ring.
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
            // A thread of the rank that has found what it was told sleeps.
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
        // Told between the last poll and the sleep: seen by who rests, or rung for.
        news.tell();
        news.rest();
        assert!(news.is_told());
        news.tell();
        assert!(news.bell.readable.load(Ordering::Relaxed));
    }
}
