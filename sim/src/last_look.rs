//! Before a job counts as deadlocked, all who wait look again a number of times, as they do live.
//!
//! Live, a rank that waits looks after its condition again when some time has passed, whatever has come. So
//! a condition comes true there that depends on the clock, or that takes one thing of several at each look.
//! Here a rank that waits has a turn when something has happened to it. If nothing more happens, time passes
//! until all have looked in vain often enough.

use crate::event::Activity;
use crate::time::Time;
use crate::world::World;

/// So many looks after each other, without a message or an operation in between, make a deadlock.
const LOOKS: u32 = 64;
/// The first of them come as often as they do live. The pauses between the others double.
const EVEN_LOOKS: u32 = 32;
const SHORTEST_PAUSE: Time = Time::ns(100_000);
/// Longest pause: ten seconds. So a time-out of minutes ends.
const MOST_DOUBLED: u32 = 17;
/// Most looks of a job: more mean that it does not end.
const MOST_LOOKS: u32 = 20_000;

/// How often ranks have looked again.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LastLook {
    /// Looks since something was begun, and all.
    looks: u32,
    all: u32,
    /// Packets sent and messages handled before the first of them, and its time.
    begun: (u64, u64),
    since: Time,
}

impl World {
    fn begun(&self) -> (u64, u64) {
        (self.stats.packets, self.stats.frames)
    }

    /// Whether ranks look again in vain, so far: there is nothing to choose.
    pub(crate) fn is_last_look(&self) -> bool {
        self.last_look.looks > 0 && self.last_look.begun == self.begun()
    }

    /// Nothing more happens: lets all who wait look again. False: they have done so often enough, or while
    /// others looked in vain.
    pub(crate) fn look_again(&mut self) -> bool {
        if self.quiet.is_stuck {
            return false;
        }
        if !self.is_last_look() {
            let LastLook { all, .. } = self.last_look;
            self.last_look = LastLook { looks: 0, all, begun: self.begun(), since: self.now };
        }
        let last = &mut self.last_look;
        if last.looks == LOOKS || last.all == MOST_LOOKS {
            // What they have waited in vain is no part of the failure.
            self.now = last.since;
            return false;
        }
        let doubled = last.looks.saturating_sub(EVEN_LOOKS).min(MOST_DOUBLED);
        (last.looks, last.all) = (last.looks + 1, last.all + 1);
        self.now += SHORTEST_PAUSE * (1 << doubled);
        self.all_look()
    }

    /// Gives a turn to all who wait. Returns whether anybody does.
    pub(crate) fn all_look(&mut self) -> bool {
        let waits = |rank: &u32| matches!(self.ranks[*rank as usize].state, Activity::Idle(_));
        let waiting: Vec<u32> = (0..self.ranks.len() as u32).filter(waits).collect();
        waiting.iter().for_each(|rank| self.notice(*rank));
        !waiting.is_empty()
    }
}
