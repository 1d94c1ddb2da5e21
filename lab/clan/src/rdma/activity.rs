//! Whether a queue is *active*, a word that the program and the engine share.
//!
//! A request to an active queue is a store; the engine finds it. A request to an inactive queue must be
//! followed by a *kick*. Whoever makes a request stores it and then looks at the word. The engine says that
//! the queue is inactive and then looks for requests once more. Both have a full fence between. So the engine
//! finds the request, or its maker kicks.

#[cfg(not(loom))]
use core::sync::atomic::{AtomicU32, Ordering, fence};
#[cfg(loom)]
use loom::sync::atomic::{AtomicU32, Ordering, fence};

const INACTIVE: u32 = 0;
const ACTIVE: u32 = 1;

/// The word.
#[derive(Debug)]
pub(super) struct Activity(AtomicU32);

impl Activity {
    pub(super) fn new() -> Activity {
        Activity(AtomicU32::new(INACTIVE))
    }

    /// After a request was made: whether the engine must be kicked for it.
    pub(super) fn needs_kick(&self) -> bool {
        // ORDER: SeqCst; pairs with the fence in `deactivate`.
        fence(Ordering::SeqCst);
        // A swap: of several requests in a row one kicks.
        self.0.load(Ordering::Relaxed) == INACTIVE && self.0.swap(ACTIVE, Ordering::Relaxed) == INACTIVE
    }

    /// Makes the queue inactive, unless a second look finds a request. True: it is inactive.
    pub(super) fn deactivate(&self, second_look: impl FnOnce() -> bool) -> bool {
        self.0.store(INACTIVE, Ordering::Relaxed);
        // ORDER: SeqCst; pairs with the fence in `needs_kick`.
        fence(Ordering::SeqCst);
        // Who made the request may kick nevertheless: then the queue is active twice, which the schedule
        // does not mind.
        if second_look() {
            self.0.store(ACTIVE, Ordering::Relaxed);
            return false;
        }
        true
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use loom::sync::Arc;

    /// The engine deactivates a queue while a request is made; who kicks makes the engine look again.
    fn race(second_look: bool) {
        loom::model(move || {
            let shared = Arc::new((Activity(AtomicU32::new(ACTIVE)), AtomicU32::new(0), AtomicU32::new(0)));
            let writer = shared.clone();
            let thread = loom::thread::spawn(move || {
                let (activity, requests, kicks) = &*writer;
                requests.store(1, Ordering::Relaxed);
                if activity.needs_kick() {
                    kicks.fetch_add(1, Ordering::Relaxed);
                }
            });
            let (activity, requests, kicks) = &*shared;
            let inactive = activity.deactivate(|| second_look && requests.load(Ordering::Relaxed) == 1);
            thread.join().unwrap();
            assert!(!inactive || kicks.load(Ordering::Relaxed) == 1, "the request lies there for ever");
        });
    }

    #[test]
    fn loom_clan_09_no_kick_is_lost() {
        race(true);
    }

    #[test]
    #[should_panic(expected = "for ever")]
    fn loom_clan_09_without_a_second_look_a_kick_is_lost() {
        race(false);
    }
}
