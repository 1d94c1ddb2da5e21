//! One step of a wait: it spins, yields or sleeps, and says why the rank waits.

use crate::conduit::{Conduit, Meanwhile};
use crate::shm::map;
use crate::wait::{WaitPolicy, Waiter};
use crate::{RankId, Wire};
use core::sync::atomic::Ordering::Relaxed;
use gasnet_sys::clock;
use std::time::Duration;

/// Longest sleep of a wait that only the conduit can end.
const MAX_SLEEP_ON_CONDUIT: Duration = Duration::from_millis(50);
/// The same where a rank may die, which wakes nobody.
const SLEEP_BETWEEN_LOOKS_FOR_DEATHS: Duration = Duration::from_millis(5);

/// Waits of special kinds, and loops of the program's own that wait. It comes from `Rank::waits`.
#[derive(Debug, Clone, Copy)]
pub struct WaitCalls<'a> {
    pub(crate) wire: &'a Wire,
}

impl Wire {
    /// Waits of special kinds, and loops of the program's own that wait.
    #[inline]
    pub fn waits(&self) -> WaitCalls<'_> {
        WaitCalls { wire: self }
    }

    /// Tells the conduit that a wait found nothing to do. Returns whether that replaces a step of the wait.
    #[inline]
    pub(crate) fn idle(&self, what: &'static str, meanwhile: Meanwhile) -> bool {
        self.conduit.as_ref().is_some_and(|c| c.idle(what, meanwhile))
    }

    /// [`WaitCalls::pause`] of a wait for a known peer. It never unwinds: handlers wait for room to send a
    /// reply.
    #[inline]
    pub(crate) fn pause_for(&self, waiter: &mut Waiter, what: &'static str, peer: Option<RankId>) {
        if self.config.repeatable {
            clock::unseen(|| self.pause_at_once(waiter, what, peer));
        } else {
            self.pause_at_once(waiter, what, peer);
        }
    }

    #[inline]
    fn pause_at_once(&self, waiter: &mut Waiter, what: &'static str, peer: Option<RankId>) {
        match &self.conduit {
            None => waiter.step_or(|sleep| self.nap(sleep)),
            Some(conduit) => self.pause_at(conduit.as_ref(), waiter, what),
        }
        if waiter.has_slept() {
            self.explain_wait(waiter, what, peer);
            if waiter.should_look() {
                self.check_outstanding(what, waiter.collective, peer);
            }
        }
    }

    fn pause_at(&self, conduit: &dyn Conduit, waiter: &mut Waiter, what: &'static str) {
        // Relaxed: conduits in virtual time have one thread for each rank.
        let meanwhile = match (waiter.idled, self.idles.load(Relaxed) != waiter.idles) {
            (_, true) => Meanwhile::Looked,
            (false, false) => Meanwhile::Stored,
            (true, false) => Meanwhile::Nothing,
        };
        if conduit.idle(what, meanwhile) {
            waiter.idles = self.idles.load(Relaxed).wrapping_add(1);
            self.idles.store(waiter.idles, Relaxed);
            waiter.gave_way(self.may_survive());
            return;
        }
        let mut woken = false;
        waiter.step_or(|sleep| match conduit.descriptor() {
            // Only the network can end the wait.
            Some(fd) if self.alone && self.may_survive() => {
                woken = map::wait_readable(fd, SLEEP_BETWEEN_LOOKS_FOR_DEATHS);
            }
            Some(fd) if self.alone => woken = map::wait_readable(fd, MAX_SLEEP_ON_CONDUIT),
            Some(fd) => woken = map::wait_readable(fd, sleep),
            None => self.nap(sleep),
        });
        if woken {
            // Puts and gets of other ranks may need this rank, and polls do not report that they served them.
            // More of them are likely.
            waiter.progressed();
        }
    }

    /// Sleeps in a wait for a while. With very many ranks for each processor one that has entered a barrier
    /// sleeps until that is over: if all of them looked again and again, nobody else would get anywhere.
    #[cold]
    pub(crate) fn nap(&self, length: Duration) {
        let barrier = (self.policy.many() && self.neighbourhood.is_whole_job())
            .then(|| self.phases.take())
            .filter(|p| p.notified && !p.by_nics)
            .map(|p| p.phase);
        let slept = barrier.is_some_and(|phase| {
            let longest = length.max(self.policy.longest);
            self.leader_block().barrier.sleep(phase, self.neighbourhood.len(), longest)
        });
        if !slept {
            std::thread::sleep(length);
        }
    }
}

impl WaitCalls<'_> {
    /// One step of a wait for `what` that found nothing to do.
    #[inline]
    pub fn pause(self, waiter: &mut Waiter, what: &'static str) {
        self.wire.pause_for(waiter, what, None);
        if waiter.turns() > 0 && self.wire.is_in_vain(None) {
            self.wire.unwind(what);
        }
    }

    /// The policy of this rank's waits.
    #[inline]
    pub fn policy(self) -> WaitPolicy {
        self.wire.policy
    }

    /// A wait of this rank that begins now, with the given policy.
    #[inline]
    pub fn begin(self, policy: WaitPolicy) -> Waiter {
        let mut waiter = Waiter::new(policy, self.wire.presence);
        waiter.idles = self.wire.idles.load(Relaxed);
        waiter
    }
}
