//! The wait engine: how a rank spends the time until something happens.
//!
//! Every blocking call loops over *condition, poll, step*. A step spins for a while, then gives the processor to others, then
//! sleeps for short, fixed times: a wait that a peer's plain store can end has nobody who would wake it. The three lengths
//! depend on one fact, whether ranks outnumber processors: if they do, the peer we wait for may be waiting for our processor,
//! so spinning only delays it.

use std::time::{Duration, Instant};

/// The lengths of the three stages.
#[derive(Debug, Clone, Copy)]
pub struct WaitPolicy {
    /// Polls before the first yield. Two when ranks outnumber processors: more only keep the processor from the peer, while none at
    /// all miss a peer that runs at this moment on another processor, which then costs a round of everybody's turns.
    pub spins: u32,
    /// Yields before the first sleep.
    pub yields: u32,
    /// Length of a sleep.
    pub sleep: Duration,
}

impl WaitPolicy {
    /// The policy for `ranks` ranks of a host on `processors` processors.
    pub fn new(ranks: u32, processors: usize, spins: Option<u32>) -> WaitPolicy {
        let crowded = ranks as usize > processors;
        let per_processor = (ranks as usize).div_ceil(processors.max(1)).max(1) as u32;
        WaitPolicy {
            spins: spins.unwrap_or(if crowded { 2 } else { 2000 }),
            // A yield with nobody else to run returns at once; with others it takes as long as they do.
            yields: 20_000 / per_processor.min(20),
            // With very many ranks per processor the sleepers' wake-ups alone would keep it busy.
            sleep: Duration::from_micros(u64::from(50 * (per_processor / 4).clamp(1, 40))),
        }
    }
}

/// Spins between two pause instructions.
const PAUSE_EVERY: u32 = 8;

/// One wait in progress.
#[derive(Debug)]
pub struct Waiter {
    policy: WaitPolicy,
    steps: u32,
    since: Option<Instant>,
}

impl Waiter {
    /// A wait that begins now.
    pub fn new(policy: WaitPolicy) -> Waiter {
        Waiter { policy, steps: 0, since: None }
    }

    /// Called when the condition does not hold and a poll did nothing.
    #[inline]
    pub fn step(&mut self) {
        if self.steps < self.policy.spins {
            self.steps += 1;
            // The poll between two steps is a pause in itself; the instruction is long, more so in a virtual machine.
            if self.steps.is_multiple_of(PAUSE_EVERY) {
                core::hint::spin_loop();
            }
        } else {
            self.step_slow();
        }
    }

    /// Called when a poll did something: what we wait for may be close.
    #[inline]
    pub fn progressed(&mut self) {
        self.steps = 0;
    }

    #[cold]
    fn step_slow(&mut self) {
        self.steps = self.steps.saturating_add(1);
        if self.steps - self.policy.spins <= self.policy.yields {
            std::thread::yield_now();
        } else {
            self.since.get_or_insert_with(Instant::now);
            std::thread::sleep(self.policy.sleep);
        }
    }

    /// How long this wait has been sleeping, if it got that far.
    pub fn asleep_for(&self) -> Option<Duration> {
        self.since.map(|t| t.elapsed())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn crowded_ranks_hardly_spin() {
        let quiet = WaitPolicy::new(2, 2, None);
        let crowded = WaitPolicy::new(8, 2, None);
        assert!(crowded.spins < quiet.spins);
        assert!(crowded.sleep <= Duration::from_micros(100));
        assert_eq!(WaitPolicy::new(8, 2, Some(3)).spins, 3);
    }
}
