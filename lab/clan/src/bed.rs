//! Where a thread sleeps until it is rung for: a word that its wakers look at, in other processes, too.
//!
//! Whoever has a signal publishes it and then looks at the word; the sleeper says in the word that it sleeps,
//! and then looks for signals once more. Both have a full fence between. So the waker sees the sleeper, or
//! the sleeper sees the signal.
#![cfg_attr(not(loom), expect(unsafe_code, reason = "sleeps at a word of the segment"))]

use core::time::Duration;
use gasnet::{GlobalPtr, Rank};

#[cfg(not(loom))]
use core::sync::atomic::{AtomicU32, Ordering, fence};
#[cfg(loom)]
use loom::sync::atomic::{AtomicU32, Ordering, fence};

const AWAKE: u32 = 0;
const ASLEEP: u32 = 1;

/// Sleeps until [`wake`] is called after something was published, at most for `longest`; not at all if
/// `second_look` finds what to do.
pub(crate) fn sleep(word: &AtomicU32, longest: Duration, second_look: impl FnOnce() -> bool) {
    word.store(ASLEEP, Ordering::Relaxed);
    // ORDER: SeqCst; pairs with the fence in `wake`.
    fence(Ordering::SeqCst);
    if !second_look() {
        sleep_while(word, longest);
    }
    word.store(AWAKE, Ordering::Relaxed);
}

/// Wakes the thread that sleeps at a word, if there is one, for what was published before.
pub(crate) fn wake(word: &AtomicU32) {
    // ORDER: SeqCst; pairs with the fence in `sleep`.
    fence(Ordering::SeqCst);
    if word.load(Ordering::Relaxed) == ASLEEP {
        word.store(AWAKE, Ordering::Relaxed);
        wake_sleepers(word);
    }
}

/// Gives the word at a place of a segment, if it is mapped here.
#[cfg(not(loom))]
pub(crate) fn with_word<T>(rank: &Rank, at: GlobalPtr<u64>, f: impl FnOnce(&AtomicU32) -> T) -> Option<T> {
    let at = rank.address(at.cast::<u32>(), 1)?;
    if !at.is_aligned() {
        return None;
    }
    // SAFETY: inside a segment, which stays as long as the rank; aligned; what is not an atomic access does
    // not come from this crate, and would be a race as with any word of a segment.
    Some(f(unsafe { AtomicU32::from_ptr(at) }))
}

/// [`wake`] for a word of a rank; nothing happens if it is not mapped here.
pub(crate) fn wake_at(rank: &Rank, at: GlobalPtr<u64>) {
    #[cfg(not(loom))]
    with_word(rank, at, wake);
    // Models have no segments.
    #[cfg(loom)]
    let _ = (rank, at);
}

#[cfg(not(loom))]
fn wake_sleepers(word: &AtomicU32) {
    gasnet_sys::futex::wake_all(word);
}

#[cfg(not(loom))]
fn sleep_while(word: &AtomicU32, longest: Duration) {
    gasnet_sys::futex::sleep_while(word, ASLEEP, longest);
}

#[cfg(loom)]
fn wake_sleepers(_: &AtomicU32) {}

/// In a model nobody wakes by the clock.
#[cfg(loom)]
fn sleep_while(word: &AtomicU32, _: Duration) {
    while word.load(Ordering::Relaxed) == ASLEEP {
        loom::thread::yield_now();
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use loom::sync::Arc;

    /// One who raises a count, and one who arms a number, against a thread that sleeps unless it finds an
    /// armed number with a signal.
    fn race(second_look: bool) {
        // All orders of three threads take minutes.
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(move || {
            let words = Arc::new([AtomicU32::new(AWAKE), AtomicU32::new(0), AtomicU32::new(0)]);
            let (raises, sleeps) = (words.clone(), words.clone());
            let sleeper = loom::thread::spawn(move || {
                let [bed, count, armed] = &*sleeps;
                let there = || count.load(Ordering::Relaxed) == 1 && armed.load(Ordering::Relaxed) == 1;
                while !there() {
                    sleep(bed, Duration::ZERO, || second_look && there());
                }
            });
            let raiser = loom::thread::spawn(move || {
                let [bed, count, _] = &*raises;
                count.store(1, Ordering::Relaxed);
                wake(bed);
            });
            let [bed, _, armed] = &*words;
            armed.store(1, Ordering::Relaxed);
            wake(bed);
            raiser.join().unwrap();
            sleeper.join().unwrap();
        });
    }

    #[test]
    fn loom_net_01_who_arms_and_who_signals_wake_the_thread() {
        race(true);
    }

    /// It would sleep for ever.
    #[test]
    #[should_panic]
    fn loom_net_01_without_a_second_look_a_signal_is_lost() {
        race(false);
    }
}
