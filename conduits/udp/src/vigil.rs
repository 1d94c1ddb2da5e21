//! When the keeper looks at what has arrived for a rank that makes no calls.
//!
//! A rank that computes needs it twice a second, so that peers know that the rank is alive. One that waits in
//! a loop of its own, over memory that others write, makes no call either, and goes on only after the look
//! that finds what it waits for. So the interval is a part of the time since something was last found: a wait
//! takes longer by that part of it, or by the shortest interval.

use crate::path::{NS_PER_MS, Time};

/// Longest interval, in nanoseconds.
const LONGEST_NS: u64 = 500 * NS_PER_MS;
/// Shortest interval, in nanoseconds: it costs some hundredths of a processor.
const SHORTEST_NS: u64 = NS_PER_MS / 2;
/// The interval is this part of the time since something was found.
const PART: u64 = 16;
/// Longest time, in nanoseconds, in which nothing arrives for a rank that is still sent to.
const LULL_NS: u64 = 2 * LONGEST_NS;
/// A rank that makes no call for this long, in nanoseconds, and is sent to all the while, is told.
pub(crate) const TOLD_AFTER_NS: u64 = 10_000 * NS_PER_MS;

/// The looks at one rank.
#[derive(Debug)]
pub(crate) struct Vigil {
    interval: u64,
    /// When something was last found that had come for a rank without calls.
    found: Option<Time>,
    /// Since when the rank has been sent to and has made no call.
    since: Time,
    told: bool,
}

impl Vigil {
    pub(crate) fn new(now: Time) -> Vigil {
        Vigil { interval: LONGEST_NS, found: None, since: now, told: false }
    }

    /// Nanoseconds to the next look.
    pub(crate) fn interval(&self) -> u64 {
        self.interval
    }

    /// The rank has made calls since the last look.
    pub(crate) fn heeded(&mut self, now: Time) {
        (self.since, self.told) = (now, false);
        self.pace(now);
    }

    /// The rank has made no call since the last look, and something had arrived, or nothing had. Returns
    /// whether the rank is to be told now.
    pub(crate) fn unheeded(&mut self, now: Time, arrived: bool) -> bool {
        if arrived {
            self.found = Some(now);
        } else if self.found.is_none_or(|found| now > found.max(self.since) + LULL_NS) {
            (self.since, self.told) = (now, false);
        }
        self.pace(now);
        let due = arrived && !self.told && now >= self.since + TOLD_AFTER_NS;
        self.told |= due;
        due
    }

    fn pace(&mut self, now: Time) {
        let part = self.found.map_or(LONGEST_NS, |found| now.saturating_sub(found) / PART);
        self.interval = part.clamp(SHORTEST_NS, LONGEST_NS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1000 * NS_PER_MS;

    /// Looks for `time`, with an arrival every `gap` for a rank that makes no call, or one call after each;
    /// returns the longest time that something lay there after the first look that found something, the
    /// number of looks, and how often the rank was told.
    fn looks(time: u64, gap: u64, calls: bool) -> (u64, u64, u64) {
        let (mut vigil, mut now, mut next) = (Vigil::new(0), 0, gap);
        let (mut late, mut number, mut told, mut called) = (0, 0, 0, false);
        while now < time {
            now += vigil.interval();
            number += 1;
            if core::mem::take(&mut called) {
                vigil.heeded(now);
                continue;
            }
            let arrived = next <= now;
            if arrived {
                late = if vigil.found.is_some() { late.max(now - next) } else { late };
                next = now + gap;
                called = calls;
            }
            told += u64::from(vigil.unheeded(now, arrived));
        }
        (late, number, told)
    }

    #[test]
    fn a_rank_that_only_computes_is_looked_at_twice_a_second() {
        assert_eq!(looks(60 * S, 100 * S, false), (0, 120, 0));
    }

    #[test]
    fn a_wait_is_longer_by_a_sixteenth_or_half_a_millisecond() {
        for (gap, calls) in
            [(1000, true), (NS_PER_MS, true), (20 * NS_PER_MS, true), (S, true), (1000, false)]
        {
            let (late, ..) = looks(60 * S, gap, calls);
            // With calls, one interval more: the look after the call.
            assert!(late <= (2 * gap / PART).max(2 * SHORTEST_NS), "{gap} {calls}: {late}");
        }
    }

    #[test]
    fn the_rank_is_told_once_if_it_is_sent_to_all_the_while() {
        assert_eq!(looks(60 * S, 300 * NS_PER_MS, false).2, 1);
        assert_eq!(looks(9 * S, 300 * NS_PER_MS, false).2, 0);
        assert_eq!(looks(60 * S, 300 * NS_PER_MS, true).2, 0);
        assert_eq!(looks(60 * S, 5 * S, false).2, 0);
    }

    #[test]
    fn looks_become_rare_when_nothing_comes_any_more() {
        let mut vigil = Vigil::new(0);
        vigil.unheeded(S, true);
        let (mut now, mut number) = (S, 0);
        while vigil.interval() < LONGEST_NS {
            now += vigil.interval();
            number += 1;
            vigil.unheeded(now, false);
        }
        assert!(number < 150 && now < 10 * S, "{number} {now}");
    }
}
