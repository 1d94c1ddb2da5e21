//! Loops of the program that wait, such as `while (!flag);`.
//!
//! All that the core sees of such a loop is that the program reads the same place repeatedly. Each of these
//! reads is a *look*. A look is *in vain* if it finds the same value as the last one, and if nearly all looks
//! begin as soon as the last one is over, so that the program does nothing else. Such looks are the steps of
//! a wait ([`crate::wait`]): they poll, and then spin, yield or sleep as the machine requires.
//!
//! A loop that does a little work between two looks at a value that never changes may be mistaken for one
//! that waits. So its yields do not lead to sleeps. It sleeps only while yields are expensive, until
//! something arrives, and at most [`SLEEP_TO_AWAKE_RATIO`] times as long as it is awake.
//!
//! The first [`UNTIMED_LOOKS`] looks cost only a comparison, so that a program that looks at another place
//! each time pays nothing more.

use crate::Wire;
use crate::conduit::Meanwhile;
use crate::pause::WaitCalls;
use crate::shm::map;
use crate::wait::{WaitPolicy, Waiter};
use gasnet_sys::clock;
use std::time::Duration;

/// Number of equal looks after which looks are timed.
const UNTIMED_LOOKS: u32 = 16;
/// Longest time between two looks of a program that does nothing else, in nanoseconds.
const MAX_GAP_NS: u64 = 500;
/// The same for each further read of a look with several reads, in nanoseconds.
const MAX_GAP_PER_READ_NS: u64 = 50;
/// Amount by which a long gap lowers the score. A short gap raises it by 1. Long gaps are tolerated, because
/// another thread may have had the processor.
const LONG_GAP_PENALTY: u32 = 4;
/// Upper limit of the score.
const HIGHEST_SCORE: u32 = 64;
/// Lowest score with which looks are steps of a wait.
const WAIT_FROM_SCORE: u32 = 16;
/// Largest ratio of the time that such a loop sleeps to the time that it is awake.
const SLEEP_TO_AWAKE_RATIO: u32 = 16;

/// The place that a thread of the program looks at, and since when. Each thread has one.
pub struct Spins {
    key: u64,
    looks: u32,
    score: u32,
    began: u64,
    ended: u64,
    /// Longest time that may have passed since the end of the last look.
    allowed: u64,
    wait: Option<Wait>,
}

/// The wait whose steps are looks.
struct Wait {
    waiter: Waiter,
    since: u64,
    slept: Duration,
}

/// Nanoseconds of a clock.
fn now() -> u64 {
    map::monotonic().as_nanos() as u64
}

impl Default for Spins {
    fn default() -> Spins {
        Spins::new()
    }
}

impl Spins {
    /// The state before the first look.
    pub const fn new() -> Spins {
        Spins { key: 0, looks: 0, score: 0, began: 0, ended: 0, allowed: 0, wait: None }
    }

    /// A look begins. If `reads` is above 1, the look stands for that many reads, and this is the last one.
    #[inline]
    pub fn begin(&mut self, reads: u32) {
        if self.looks > UNTIMED_LOOKS {
            self.began_at(now(), reads);
        }
    }

    fn began_at(&mut self, now: u64, reads: u32) {
        (self.began, self.allowed) = (now, MAX_GAP_NS + MAX_GAP_PER_READ_NS * u64::from(reads - 1));
    }

    /// A look found `key`, which stands for the place and its value. Returns whether the look is timed.
    #[inline]
    fn again(&mut self, key: u64) -> bool {
        if key != self.key {
            self.found_other(key);
            return false;
        }
        self.looks = self.looks.saturating_add(1);
        self.looks > UNTIMED_LOOKS
    }

    fn found_other(&mut self, key: u64) {
        (self.key, self.looks, self.score, self.began) = (key, 0, 0, 0);
        self.wait = None;
    }

    /// Whether the last look is in vain.
    fn in_vain(&mut self) -> bool {
        // There is no look before the first one to compare it with.
        if self.began > 0 {
            let short = self.began.saturating_sub(self.ended) <= self.allowed;
            self.score = if short {
                (self.score + 1).min(HIGHEST_SCORE)
            } else {
                self.score.saturating_sub(LONG_GAP_PENALTY)
            };
        }
        if self.score < WAIT_FROM_SCORE {
            self.wait = None;
        }
        self.score >= WAIT_FROM_SCORE
    }
}

impl Wait {
    /// Longest sleep that is allowed now.
    fn share(&self, now: u64) -> Duration {
        let passed = Duration::from_nanos(now.saturating_sub(self.since));
        let awake = passed.saturating_sub(self.slept);
        (awake * SLEEP_TO_AWAKE_RATIO).saturating_sub(self.slept)
    }
}

impl Wire {
    #[cold]
    fn looked_again(&self, spins: &mut Spins, polled: Option<usize>) -> bool {
        // Else the time between two looks decides which of them poll.
        let repeatable = self.config.repeatable || self.conduit.as_ref().is_some_and(|c| c.clock().is_some());
        let in_vain = spins.in_vain() || repeatable;
        if in_vain {
            let done = polled.unwrap_or_else(|| self.poll());
            let policy = WaitPolicy { yields: u32::MAX, ..self.waits().policy() };
            let wait = spins.wait.get_or_insert_with(|| Wait {
                waiter: self.waits().begin(policy),
                since: spins.ended,
                slept: Duration::ZERO,
            });
            if done > 0 {
                wait.waiter.progressed();
            } else if self.config.repeatable {
                clock::unseen(|| self.step_of_program(wait));
            } else {
                self.step_of_program(wait);
            }
        }
        spins.ended = now();
        in_vain
    }

    fn step_of_program(&self, wait: &mut Wait) {
        let conduit = self.conduit.as_deref();
        if conduit.is_some_and(|c| c.idle("a loop of the program", Meanwhile::Looked)) {
            return;
        }
        let start = now();
        let share = wait.share(start);
        let mut slept = false;
        let mut woken = false;
        wait.waiter.step_or(|span| {
            if share < self.waits().policy().sleep {
                return;
            }
            let span = span.min(share);
            slept = true;
            match conduit.and_then(|c| c.descriptor()) {
                Some(fd) => woken = map::wait_readable(fd, span),
                None => std::thread::sleep(span),
            }
        });
        if slept {
            wait.slept += Duration::from_nanos(now().saturating_sub(start));
        }
        if woken {
            wait.waiter.progressed();
        }
    }
}

impl WaitCalls<'_> {
    /// Called when a look of the program found `key`. Returns whether the look was in vain. If it was,
    /// this call polls, unless the caller has polled (and did as much as it says), and gives up the
    /// processor if it is time to do so.
    #[inline]
    pub fn looked(self, spins: &mut Spins, key: u64, polled: Option<usize>) -> bool {
        spins.again(key) && self.wire.looked_again(spins, polled)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Looks at `key` with these gaps between them. Returns how many were in vain.
    fn looks(spins: &mut Spins, key: u64, gaps: impl Iterator<Item = u64>) -> usize {
        let mut vain = 0;
        for gap in gaps {
            // As `begin` and `looked_again` take the times.
            if spins.looks > UNTIMED_LOOKS {
                spins.began_at(spins.ended + gap, 1);
            }
            if spins.again(key) {
                vain += usize::from(spins.in_vain());
                spins.ended = spins.began.max(1) + 50;
            }
        }
        vain
    }

    #[test]
    fn a_loop_that_does_nothing_else_waits() {
        let mut spins = Spins::new();
        let n = 1000;
        let first = (1 + UNTIMED_LOOKS + 1 + WAIT_FROM_SCORE - 1) as usize;
        assert_eq!(looks(&mut spins, 7, std::iter::repeat_n(20, n)), n - first, "all but the first");
        assert_eq!(
            looks(&mut spins, 8, std::iter::repeat_n(20, first)),
            0,
            "found something else: from the start"
        );
    }

    #[test]
    fn a_loop_that_works_does_not_wait() {
        let mut spins = Spins::new();
        assert_eq!(looks(&mut spins, 7, std::iter::repeat_n(MAX_GAP_NS + 1, 10_000)), 0);
        // The same holds for a loop that works every fourth time, and for one that looks at two places in
        // turn.
        assert_eq!(looks(&mut spins, 9, (0..10_000).map(|i| if i % 4 == 0 { MAX_GAP_NS + 1 } else { 0 })), 0);
        for key in 0..10_000 {
            assert_eq!(looks(&mut spins, key % 2, std::iter::once(0)), 0);
        }
    }

    /// A loop that is preempted from time to time still waits. A loop that begins to work soon stops waiting.
    #[test]
    fn long_gaps_are_forgiven() {
        let mut spins = Spins::new();
        assert!(looks(&mut spins, 7, std::iter::repeat_n(20, 100)) > 0);
        let gaps = (0..1000).map(|i| if i % 50 == 0 { 4_000_000 } else { 20 });
        assert_eq!(looks(&mut spins, 7, gaps), 1000);
        assert!(looks(&mut spins, 7, std::iter::repeat_n(MAX_GAP_NS + 1, 1000)) < 20);
    }

    #[test]
    fn sleep_is_paid_for_by_being_awake() {
        let policy = WaitPolicy::new(1, 1, None);
        let mut wait = Wait { waiter: Waiter::new(policy, None), since: 1000, slept: Duration::ZERO };
        assert_eq!(wait.share(1000), Duration::ZERO);
        assert_eq!(wait.share(2000), Duration::from_micros(16));
        wait.slept = Duration::from_micros(16);
        assert_eq!(wait.share(18_000), Duration::ZERO, "1 us awake, 16 asleep");
        assert_eq!(wait.share(19_000), Duration::from_micros(16));
    }
}
