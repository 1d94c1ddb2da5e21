//! Sleeping on a word of memory, which processes may share.

use std::sync::atomic::AtomicU32;
use std::time::Duration;

use rustix::thread::futex;

use crate::poll::timespec;

/// Sleeps while a word has this value, until another thread wakes it, at most for `longest`; may end for no
/// reason.
pub fn sleep_while(word: &AtomicU32, value: u32, longest: Duration) {
    // A failure or an interruption ends the sleep, which is harmless.
    let _ = futex::wait(word, futex::Flags::empty(), value, Some(&timespec(longest)));
}

/// Ends all sleeps of [`sleep_while`] on this word, in all processes.
pub fn wake_all(word: &AtomicU32) {
    let _ = futex::wake(word, futex::Flags::empty(), i32::MAX as u32);
}

/// Ends one sleep on this word.
pub fn wake_one(word: &AtomicU32) {
    let _ = futex::wake(word, futex::Flags::empty(), 1);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    #[test]
    fn sleepers_are_woken() {
        let word = AtomicU32::new(1);
        std::thread::scope(|threads| {
            let sleeper = threads.spawn(|| {
                while word.load(Ordering::Relaxed) == 1 {
                    sleep_while(&word, 1, Duration::MAX);
                }
            });
            while !sleeper.is_finished() {
                word.store(0, Ordering::Relaxed);
                wake_one(&word);
                wake_all(&word);
                std::thread::yield_now();
            }
        });
    }
}
