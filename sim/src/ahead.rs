//! Ranks that run ahead of the clock.
//!
//! To send a message and to handle one takes time of a rank's processor. If the rank gave its turn away for
//! each, a round of a barrier would be three turns, and with thousands of ranks nothing of a rank is in the
//! processor's caches any more when its next turn comes: turns would be most of the time that a simulation
//! takes. So a rank goes on instead, and *owes* the time: its processor is busy until then. The debt is paid
//! when it matters:
//!
//! - What it sends leaves when its processor has come to it: an event ([`WorldEvent::Send`]), so ports are
//!   still taken in the order of time.
//! - If it waits, it sleeps. What arrives while its processor is still busy wakes it when that is over.
//! - Everything else that the world sees of it (one-sided operations, the time, its end) comes after it has
//!   given its turn away for so long ([`Simulation::catch_up`]).
//! - A poll finds what has arrived by the clock's time, so a rank that does not wait pays as soon as it owes
//!   more than [`MESSAGES_AHEAD`] messages take.
//!
//! Ranks do so where only the costs say what happens next, and nothing else is finer than a message: not
//! with a chooser, shared memory, deaths, stalls, or NICs that need the processor.
//!
//! [`Simulation::catch_up`]: crate::shared::Simulation::catch_up

use crate::cost::HostCosts;
use crate::event::WorldEvent;
use crate::time::Time;
use crate::world::World;

/// Messages whose time a rank that polls may owe.
const MESSAGES_AHEAD: u64 = 2;

impl World {
    /// Lets ranks run ahead, if nothing here needs their steps one by one.
    pub(crate) fn run_ahead(&mut self, costs: &HostCosts) {
        let hard = !self.hardships.kills.is_empty() || !self.hardships.stalls.is_empty();
        if !hard && self.chooser.is_none() && self.shared_memory.is_none() && self.processors.is_none() {
            self.most_ahead = Some((costs.am_send + costs.am_handle) * MESSAGES_AHEAD);
        }
    }

    /// Has a rank owe `length`. Returns false if ranks do not run ahead.
    pub(crate) fn owe(&mut self, rank: u32, length: Time) -> bool {
        if self.most_ahead.is_none() {
            return false;
        }
        self.ranks[rank as usize].busy_until = self.local_time(rank) + length * self.slowness(rank);
        true
    }

    /// Whether a rank that polls is to pay what it owes first.
    pub(crate) fn is_far_ahead(&self, rank: u32) -> bool {
        self.most_ahead.is_some_and(|most| self.local_time(rank).since(self.now) > most)
    }

    /// Sends a frame when its sender's processor has come to it.
    pub(crate) fn commit_ahead(&mut self, rank: u32, slot: u32) {
        self.ranks[rank as usize].begins();
        self.at(self.local_time(rank), WorldEvent::Send(slot));
    }
}
