//! The split-phase barrier: names, consensus, and the two ways to run it.
//!
//! A rank *notifies* with a name (`id`) or anonymously, then *waits* with one. All notifications of a phase
//! are merged into a [`Consensus`]; merging is commutative, associative and idempotent, so it may happen in
//! any order and more than once. Completion with the consensus is the same on all ranks; whether a rank's own
//! wait agrees with it is decided locally.
//!
//! Neighbours use a [`CentralBarrier`](central::CentralBarrier) in shared memory: one atomic add per rank,
//! one line that all waiters watch. With several neighbourhoods the last rank that arrives hands the
//! consensus of its neighbourhood to the rank that leads it; the leaders run a dissemination barrier over
//! active messages (module [`rounds`]), and each publishes what comes out of it. Or NICs do it by themselves,
//! once segments are attached, as the barrier of a team (`coll/nic.rs` of the core).

pub mod central;
pub(crate) mod rounds;

use crate::Wire;
use crate::boot::MeetingPlace;
use crate::prim::Ordering;
use central::BarrierByNics;

pub use central::{ANONYMOUS, Consensus, MISMATCH};

/// How a phase ended for this rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// All names agree, the wait's among them.
    Agreed,
    /// They do not.
    Mismatched,
}

/// The barrier in two phases, between which a program may compute. It comes from `Rank::split_barrier`.
#[derive(Debug, Clone, Copy)]
pub struct BarrierCalls<'a> {
    pub(crate) wire: &'a Wire,
}

impl Wire {
    /// The barrier in two phases, between which a program may compute.
    #[inline]
    pub fn split_barrier(&self) -> BarrierCalls<'_> {
        BarrierCalls { wire: self }
    }

    /// Set in `barrier_look` from a notify to the end of its phase, which is in the low half.
    const LOOKS: u64 = 1 << 32;

    /// An anonymous barrier: returns when every rank is in it.
    ///
    /// # Collective
    #[inline]
    pub fn barrier(&self) {
        self.split_barrier().notify(0, ANONYMOUS);
        self.split_barrier().wait(0, ANONYMOUS);
    }

    /// The barrier of the job's NICs as soon as they can be used: of a phase, all ranks say the same.
    fn barrier_by_nics(&self) -> Option<&dyn BarrierByNics> {
        self.nic_barrier.get().filter(|_| self.has_attached()).map(|nics| nics.as_ref())
    }
}

impl BarrierCalls<'_> {
    /// Enters a barrier phase. `flags`: [`ANONYMOUS`], [`MISMATCH`] or 0.
    ///
    /// # Collective
    /// Once per rank and phase, then [`BarrierCalls::wait`] or [`BarrierCalls::try_wait`] until it is over.
    ///
    /// # Panics
    /// Ends the job on a second notify in one phase.
    #[inline]
    pub fn notify(self, id: i32, flags: u32) {
        self.wire.check_context("enter a barrier");
        let nics = self.wire.barrier_by_nics();
        let phase = {
            let mut p = self.wire.phases.take();
            if p.notified {
                self.wire.unwind_if_over("a barrier");
                self.wire.fatal("barrier: two notifies without a wait between them");
            }
            p.notified = true;
            p.by_nics = nics.is_some();
            p.phase
        };
        if let Some(nics) = nics {
            return nics.notify(id, flags);
        }
        // Relaxed: a hint; that it is there tells that a phase goes on, in which nobody else changes it.
        self.wire.barrier_look.store(Wire::LOOKS | u64::from(phase), Ordering::Relaxed);
        if let Some(presence) = self.wire.presence {
            presence.watch_nobody();
        }
        let (barrier, mine) = (&self.wire.leader_block().barrier, Consensus::of(id, flags));
        if self.wire.neighbourhood.is_whole_job() {
            barrier.notify(phase, self.wire.neighbourhood.len(), mine);
        } else if let Some(all) = barrier.arrive(phase, self.wire.neighbourhood.len(), mine) {
            self.wire.rounds_begin(all);
        }
    }

    /// [`BarrierCalls::try_wait`] without polling.
    ///
    /// # Panics
    /// Ends the job without a notify before it.
    #[inline]
    pub fn test(self, id: i32, flags: u32) -> Option<Outcome> {
        // Waits test after each poll, and most tests find nothing: they take no lock.
        // Relaxed: a hint.
        let look = self.wire.barrier_look.load(Ordering::Relaxed);
        if look & Wire::LOOKS != 0 && self.wire.leader_block().barrier.goes_on(look as u32) {
            return None;
        }
        let mut p = self.wire.phases.take();
        if !p.notified {
            self.wire.fatal("barrier: a wait without a notify");
        }
        let result = match self.wire.barrier_by_nics().filter(|_| p.by_nics) {
            Some(nics) => nics.test(id, flags)?,
            None => {
                let result = self.wire.leader_block().barrier.done(p.phase)?;
                p.phase = p.phase.wrapping_add(1);
                // Relaxed: as where it is read.
                self.wire.barrier_look.store(0, Ordering::Relaxed);
                result
            }
        };
        p.notified = false;
        p.result = Some(result);
        Some(if result.admits(id, flags) { Outcome::Agreed } else { Outcome::Mismatched })
    }

    /// Polls once; if all ranks have entered the phase it ends, and the result says how.
    ///
    /// # Panics
    /// Ends the job without a notify before it.
    pub fn try_wait(self, id: i32, flags: u32) -> Option<Outcome> {
        self.wire.poll();
        let outcome = self.test(id, flags);
        if outcome.is_some() {
            self.wire.poll_arrived();
        }
        outcome
    }

    /// Waits until all ranks have entered the phase. Data that they wrote before their notify are visible
    /// on return.
    ///
    /// # Panics
    /// Ends the job without a notify before it.
    #[inline]
    pub fn wait(self, id: i32, flags: u32) -> Outcome {
        let mut outcome = None;
        self.wire.waits().meet_until(Some(MeetingPlace::Barrier), "a barrier", || {
            outcome = self.test(id, flags);
            outcome.is_some()
        });
        outcome.unwrap_or(Outcome::Mismatched)
    }

    /// The consensus of the last phase that ended; `None` before the first, or between notify and wait.
    pub fn result(self) -> Option<Consensus> {
        let p = self.wire.phases.take();
        if p.notified { None } else { p.result }
    }
}
