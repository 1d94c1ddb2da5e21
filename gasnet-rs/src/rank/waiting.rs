//! Polls, and waits that poll.

use super::Rank;
use crate::RankId;
use crate::am::POLL_BUDGET;
use crate::boot::MeetingPlace;
use crate::conduit::Conduit;
use crate::shm::link::MAX_SLOTS;
use crate::shm::map;
use crate::wait::{WaitPolicy, Waiter};
use core::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Longest sleep of a wait that only the conduit can end.
const MAX_SLEEP_ON_CONDUIT: Duration = Duration::from_millis(50);

impl Rank {
    /// Tells the conduit that a wait found nothing to do. Returns whether that replaces a step of the wait.
    #[inline]
    pub(crate) fn idle(&self, what: &'static str) -> bool {
        self.conduit.as_ref().is_some_and(|c| c.idle(what))
    }

    /// One step of a wait for `what` that found nothing to do.
    #[inline]
    pub fn pause(&self, waiter: &mut Waiter, what: &'static str) {
        self.pause_for(waiter, what, None);
    }

    /// [`Rank::pause`] of a wait for a known peer.
    #[inline]
    pub(crate) fn pause_for(&self, waiter: &mut Waiter, what: &'static str, peer: Option<RankId>) {
        match &self.conduit {
            None => waiter.step_or(|sleep| self.nap(sleep)),
            Some(conduit) => self.pause_at(conduit.as_ref(), waiter, what),
        }
        if waiter.has_slept() {
            self.explain_wait(waiter, what, peer);
            if waiter.should_look() {
                self.check_outstanding(what, peer);
            }
        }
    }

    fn pause_at(&self, conduit: &dyn Conduit, waiter: &mut Waiter, what: &'static str) {
        if conduit.idle(what) {
            return;
        }
        let mut woken = false;
        waiter.step_or(|sleep| match conduit.descriptor() {
            // Only the network can end the wait.
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

    /// Makes progress: runs the handlers of messages that have arrived, a bounded number of them. Returns how
    /// many.
    #[inline]
    pub fn poll(&self) -> usize {
        let done = self.poll_messages() + self.poll_rest();
        self.advance();
        done
    }

    /// Advances barriers and collective operations after messages have arrived.
    #[inline]
    fn advance(&self) {
        if self.neighbourhood.leads() {
            self.advance_rounds();
        }
        self.advance_collectives();
    }

    /// [`Rank::poll`] without collectives, which may call functions of the program.
    pub(crate) fn poll_beside_program(&self) -> usize {
        let done = self.poll_messages() + self.poll_rest();
        if self.neighbourhood.leads() {
            self.advance_rounds();
        }
        done
    }

    /// The policy of this rank's waits.
    #[inline]
    pub fn wait_policy(&self) -> WaitPolicy {
        self.policy
    }

    /// A wait of this rank that begins now, with the given policy.
    #[inline]
    pub fn begin_wait(&self, policy: WaitPolicy) -> Waiter {
        Waiter::new(policy, self.presence)
    }

    /// Polls until `condition` holds. `what` names the wait in reports.
    ///
    /// The condition may become true by a handler, by another thread, or by a store of a peer into shared
    /// memory.
    #[inline]
    pub fn wait_until(&self, what: &'static str, condition: impl FnMut() -> bool) {
        self.wait_for(what, None, condition);
    }

    /// [`Rank::wait_until`] for conditions that only other ranks can fulfil, such as the end of a meeting. It
    /// handles messages even if the condition holds already; otherwise a rank that is last in every meeting
    /// would never answer.
    #[inline]
    pub fn poll_until(&self, what: &'static str, condition: impl FnMut() -> bool) {
        self.meet_until(None, what, condition);
    }

    /// [`Rank::poll_until`] for conditions that hold when every rank of the job has reached this place of the
    /// program. If two ranks wait at places of different kinds and neither can reach the other's, the job
    /// ends with a message instead of hanging. With `None` it is [`Rank::poll_until`].
    #[inline]
    pub fn meet_until(
        &self,
        place: Option<MeetingPlace>,
        what: &'static str,
        mut condition: impl FnMut() -> bool,
    ) {
        if !condition() {
            self.wait_in(what, None, true, place, condition);
        } else if place.is_none() {
            self.poll_messages();
        }
        if place == Some(MeetingPlace::Barrier) {
            self.poll_arrived();
        }
    }

    /// Handles the messages that are here at the end of a barrier. Where memory is shared those are all that
    /// others have sent before it, which many programs expect to be handled. As others may be sending on, it
    /// ends after as many messages as fit into all rings.
    #[inline]
    pub(crate) fn poll_arrived(&self) {
        let mut left = MAX_SLOTS * self.size() as usize;
        while self.poll_messages() >= POLL_BUDGET && left > 0 {
            left = left.saturating_sub(POLL_BUDGET);
        }
    }

    /// [`Rank::wait_until`] with a known peer that will end the wait.
    #[inline]
    pub fn wait_for(&self, what: &'static str, peer: Option<RankId>, mut condition: impl FnMut() -> bool) {
        if !condition() {
            self.wait_in(what, peer, peer.is_some(), None, condition);
        }
    }

    /// Waits for a condition that was checked and does not hold yet.
    #[inline]
    fn wait_in(
        &self,
        what: &'static str,
        peer: Option<RankId>,
        for_others: bool,
        meeting: Option<MeetingPlace>,
        mut condition: impl FnMut() -> bool,
    ) {
        self.check_context("wait");
        let mut waiter = self.begin_wait(self.policy);
        (waiter.for_others, waiter.meeting) = (for_others, meeting);
        // Usually a message ends the wait. So messages are polled last, and only the condition is checked
        // after them. Every wait has polled everything before it ends.
        let mut done = self.poll_rest();
        loop {
            done += self.poll_messages();
            self.advance();
            if condition() {
                return;
            }
            if done > 0 {
                // Ranks that wait in vain ask each other about collective operations: nothing has happened.
                if waiter.told.is_none() || self.coll.questions.swap(0, Relaxed) < done {
                    waiter.progressed();
                }
            } else {
                let turns = waiter.turns();
                self.pause_for(&mut waiter, what, peer);
                if let Some(waited) = waiter.asleep_for() {
                    self.ask_about_collectives(waited);
                }
                // Other ranks have run meanwhile, and those that share memory need no message.
                if waiter.turns() > turns && condition() {
                    return;
                }
            }
            done = self.poll_rest();
            if done > 0 && condition() {
                return;
            }
        }
    }
}
