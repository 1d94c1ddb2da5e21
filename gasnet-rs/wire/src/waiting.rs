//! Polls, and waits that poll.

use crate::am::POLL_BUDGET;
use crate::boot::MeetingPlace;
use crate::pause::WaitCalls;
use crate::shm::link::MAX_SLOTS;
use crate::{RankId, Wire};
use core::sync::atomic::Ordering::Relaxed;

/// Why a rank waits.
#[derive(Clone, Copy)]
struct Cause {
    /// As reports call it.
    what: &'static str,
    /// Who ends the wait, if that is known.
    peer: Option<RankId>,
    /// Whether only other ranks can end it.
    for_others: bool,
    /// Where all ranks meet.
    meeting: Option<MeetingPlace>,
    /// Whether it may be for a collective operation.
    collective: bool,
}

impl Cause {
    fn new(what: &'static str) -> Cause {
        Cause { what, peer: None, for_others: false, meeting: None, collective: false }
    }
}

impl Wire {
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
        // Relaxed: a hint; what it leads to is under locks.
        if self.turns_wanted.load(Relaxed) > 0
            && let Some(above) = self.above()
        {
            above.advance();
        }
    }

    /// [`Wire::poll`] without collectives, which may call functions of the program.
    pub(crate) fn poll_beside_program(&self) -> usize {
        let done = self.poll_messages() + self.poll_rest();
        if self.neighbourhood.leads() {
            self.advance_rounds();
        }
        done
    }

    /// Polls until `condition` holds. `what` names the wait in reports.
    #[inline]
    pub fn wait_until(&self, what: &'static str, condition: impl FnMut() -> bool) {
        self.waits().wait_for(what, None, condition);
    }

    /// [`WaitCalls::meet_until`] in a collective operation.
    #[inline]
    pub fn meet_collectively(
        &self,
        place: Option<MeetingPlace>,
        what: &'static str,
        condition: impl FnMut() -> bool,
    ) {
        self.meet_because(Cause { meeting: place, collective: true, ..Cause::new(what) }, condition);
    }

    #[inline]
    fn meet_because(&self, cause: Cause, mut condition: impl FnMut() -> bool) {
        if !condition() {
            self.wait_in(Cause { for_others: true, ..cause }, condition);
        } else if cause.meeting.is_none() {
            self.poll_messages();
        }
        if cause.meeting == Some(MeetingPlace::Barrier) {
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

    /// [`WaitCalls::wait_for`] for an operation that may be a collective one.
    #[inline]
    pub fn wait_for_operation(
        &self,
        what: &'static str,
        peer: Option<RankId>,
        mut condition: impl FnMut() -> bool,
    ) {
        if !condition() {
            self.wait_in(
                Cause { peer, for_others: peer.is_some(), collective: true, ..Cause::new(what) },
                condition,
            );
        }
    }

    /// Waits for a condition that was checked and does not hold yet.
    #[inline]
    fn wait_in(&self, cause: Cause, mut condition: impl FnMut() -> bool) {
        self.check_context("wait");
        let mut waiter = self.waits().begin(self.policy);
        (waiter.for_others, waiter.meeting) = (cause.for_others, cause.meeting);
        waiter.collective = cause.collective;
        // Usually a message ends the wait. So messages are polled last, and only the condition is checked
        // after them. Every wait has polled everything before it ends.
        let mut done = self.poll_rest();
        let mut in_vain = false;
        loop {
            done += self.poll_messages();
            self.advance();
            if condition() {
                return;
            }
            if done > 0 {
                // Ranks that wait in vain ask each other about collective operations: nothing has happened.
                if waiter.told.is_none() || self.questions.swap(0, Relaxed) < done {
                    waiter.progressed();
                }
            } else if in_vain {
                self.unwind(cause.what);
            } else {
                let turns = waiter.turns();
                self.pause_for(&mut waiter, cause.what, cause.peer);
                in_vain = waiter.turns() > 0 && self.is_in_vain(cause.peer);
                // Else the time decides.
                if !self.config.repeatable {
                    if let (Some(waited), Some(above)) = (waiter.asleep_for(), self.above()) {
                        above.long_wait(waited);
                    }
                    // Other ranks have run meanwhile, and those that share memory need no message.
                    if waiter.turns() > turns && condition() {
                        return;
                    }
                }
            }
            done = self.poll_rest();
            if done > 0 && condition() {
                return;
            }
        }
    }
}

impl WaitCalls<'_> {
    /// `Rank::wait_until` for conditions that only other ranks can fulfil, such as the end of a
    /// meeting. It handles messages even if the condition holds already; otherwise a rank that is last in
    /// every meeting would never answer.
    #[inline]
    pub fn poll_until(self, what: &'static str, condition: impl FnMut() -> bool) {
        self.meet_until(None, what, condition);
    }

    /// [`WaitCalls::poll_until`] for conditions that hold when every rank of the job has reached this place
    /// of the program. If two ranks wait at places of different kinds and neither can reach the other's, the
    /// job ends with a message instead of hanging. With `None` it is [`WaitCalls::poll_until`].
    #[inline]
    pub fn meet_until(
        self,
        place: Option<MeetingPlace>,
        what: &'static str,
        condition: impl FnMut() -> bool,
    ) {
        self.wire.meet_because(Cause { meeting: place, ..Cause::new(what) }, condition);
    }

    /// `Rank::wait_until` with a known peer that will end the wait.
    #[inline]
    pub fn wait_for(self, what: &'static str, peer: Option<RankId>, mut condition: impl FnMut() -> bool) {
        if !condition() {
            self.wire.wait_in(Cause { peer, for_others: peer.is_some(), ..Cause::new(what) }, condition);
        }
    }
}
