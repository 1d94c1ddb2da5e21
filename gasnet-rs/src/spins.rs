//! Loops of the program's own that wait: `while (!flag);` and its like.
//!
//! The core sees of such a loop only that the program looks at something again and again. A look is *in vain*
//! if it finds what the last one found, and if nearly all of them begin as soon as the last one is over: then
//! the program does nothing else. Such looks are the steps of a wait ([`crate::wait`]): they poll, and spin,
//! yield or sleep as the machine asks for.
//!
//! A loop that does a little work between two looks at what never changes may be taken for one that waits. So
//! its yields are no reason to sleep; it sleeps only where yields are dear, until something arrives, and
//! [`SLEEP_TO_AWAKE_RATIO`] times as long as it is awake at the most.
//!
//! The first [`UNTIMED_LOOKS`] looks cost a comparison, so that who looks at something else each time pays
//! nothing.

use crate::rank::Rank;
use crate::shm::map;
use crate::wait::{WaitPolicy, Waiter};
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

/// What a thread of the program looks at, and since when: one for each.
pub struct Spins {
    key: u64,
    looks: u32,
    score: u32,
    began: u64,
    ended: u64,
    /// How much earlier the last look may have ended.
    allowed: u64,
    wait: Option<Wait>,
}

/// The wait that looks are steps of.
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
    /// Nothing was looked at.
    pub const fn new() -> Spins {
        Spins { key: 0, looks: 0, score: 0, began: 0, ended: 0, allowed: 0, wait: None }
    }

    /// A look begins, or ends so many reads that it stands for.
    #[inline]
    pub fn begin(&mut self, reads: u32) {
        if self.looks > UNTIMED_LOOKS {
            self.began_at(now(), reads);
        }
    }

    fn began_at(&mut self, now: u64, reads: u32) {
        (self.began, self.allowed) = (now, MAX_GAP_NS + MAX_GAP_PER_READ_NS * u64::from(reads - 1));
    }

    /// A look found what `key` stands for: the place and its value. Whether it is one of those that are
    /// timed.
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

    /// Whether the look that began last is in vain.
    fn in_vain(&mut self) -> bool {
        // The first has none to be compared with.
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
    /// How long it may sleep now.
    fn share(&self, now: u64) -> Duration {
        let passed = Duration::from_nanos(now.saturating_sub(self.since));
        let awake = passed.saturating_sub(self.slept);
        (awake * SLEEP_TO_AWAKE_RATIO).saturating_sub(self.slept)
    }
}

impl Rank {
    /// Tells of a look of the program's that found what `key` stands for. Whether it was in vain: then this
    /// polls, unless the caller has, with so much done, and gives up the processor if it is time to.
    #[inline]
    pub fn looked(&self, spins: &mut Spins, key: u64, polled: Option<usize>) -> bool {
        spins.again(key) && self.looked_again(spins, polled)
    }

    #[cold]
    fn looked_again(&self, spins: &mut Spins, polled: Option<usize>) -> bool {
        let in_vain = spins.in_vain();
        if in_vain {
            let done = polled.unwrap_or_else(|| self.poll());
            let policy = WaitPolicy { yields: u32::MAX, ..self.wait_policy() };
            let wait = spins.wait.get_or_insert_with(|| Wait {
                waiter: self.begin_wait(policy),
                since: spins.ended,
                slept: Duration::ZERO,
            });
            if done > 0 {
                wait.waiter.progressed();
            } else {
                self.step_of_program(wait);
            }
        }
        spins.ended = now();
        in_vain
    }

    fn step_of_program(&self, wait: &mut Wait) {
        let conduit = self.conduit.as_deref();
        if conduit.is_some_and(|c| c.idle("a loop of the program")) {
            return;
        }
        let start = now();
        let share = wait.share(start);
        let mut slept = false;
        let mut woken = false;
        wait.waiter.step_or(|span| {
            if share < self.wait_policy().sleep {
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

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Looks at `key` with these gaps between them; how many were in vain.
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
        // Nor one that works every fourth time, nor one that looks at two things in turn.
        assert_eq!(looks(&mut spins, 9, (0..10_000).map(|i| if i % 4 == 0 { MAX_GAP_NS + 1 } else { 0 })), 0);
        for key in 0..10_000 {
            assert_eq!(looks(&mut spins, key % 2, std::iter::once(0)), 0);
        }
    }

    /// Who was preempted now and then waits all the same; who begins to work stops to wait soon.
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
