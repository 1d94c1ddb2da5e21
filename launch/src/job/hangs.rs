//! Waits that cannot end.

use std::time::{Duration, Instant};

use super::{Job, JobAction, Phase, RankState, Reported};

/// How often each waiting rank has to report its wait, with nothing else happening, until it is taken to wait
/// for ever.
pub(super) const REPORTS_UNTIL_STUCK: u32 = 10;
/// How often it has to report its wait until that is compared with the waits of others.
pub(super) const REPORTS_UNTIL_COMPARED: u32 = 2;
/// Age of a report from which on the rank may be doing something else.
const REPORT_IS_OLD: Duration = Duration::from_secs(3);
/// How long ranks may wait for the others in front of the next world until that is said.
pub(super) const REGROUP_IS_LONG: Duration = Duration::from_secs(10);

impl Job {
    /// A rank has given up the newest world. If it is the first one, the time begins in which the others may.
    pub(super) fn begin_regroup(&mut self, now: Instant) {
        if self.members.regrouping().0.len() == 1 {
            self.regroup_report = Some(now + REGROUP_IS_LONG);
        }
    }

    /// Says, once for a world and when it is due, which ranks wait for which in front of the next one.
    pub(super) fn report_regroup(&mut self, now: Instant, actions: &mut Vec<JobAction>) {
        if self.regroup_report.take_if(|due| now >= *due).is_none() {
            return;
        }
        let (waiting, missing) = self.members.regrouping();
        let [first, others @ ..] = &missing[..] else { return };
        let called = self.called;
        let who = match &waiting[..] {
            [one] => format!("{} has", called.rank(*one)),
            all => format!("{} {} have", called.several(), called.numbers(all)),
        };
        let first = self.name(*first);
        let whom = match others {
            [] => format!("{first} has"),
            [one] => format!("{first} and {} have", called.rank(*one)),
            all => format!("{first} and {} others have", all.len()),
        };
        let text = format!(
            "{who} waited {} s for the next world, and {whom} not asked for it yet: all {} that are left must call \
             World::survive, shrink or heal (C: gasnetx_survive, _shrink or _heal)",
            REGROUP_IS_LONG.as_secs(),
            called.several(),
        );
        self.say(actions, text);
    }

    /// Something has happened, so the reports of waits are counted from 0 again.
    pub(super) fn begin_counting(&mut self) {
        self.ranks.iter_mut().filter_map(|r| r.wait.as_mut()).for_each(|reported| reported.times = 0);
        self.asked = false;
    }

    /// Ends the job if some ranks have left and the rest waits in vain.
    pub(super) fn end_if_stuck(&mut self, now: Instant, actions: &mut Vec<JobAction>) {
        // Who is out was in an earlier world, where barriers had other numbers.
        let left_this = |rank: usize, r: &RankState| r.done.is_some() && !self.members.is_out(rank as u32);
        let missing = |phase: u32| {
            let missed = |r: &RankState| r.barriers.wrapping_sub(phase) as i32 <= 0;
            self.ranks.iter().enumerate().position(|(rank, r)| left_this(rank, r) && missed(r))
        };
        let called = self.called;
        let mut waits = Vec::new();
        let stays = |rank: usize, r: &RankState| r.done.is_none() && !self.members.is_dead(rank as u32);
        for (rank, state) in self.ranks.iter().enumerate().filter(|(rank, r)| stays(*rank, r)) {
            let Some(Reported { wait, times, .. }) = &state.wait else { return };
            if !wait.for_others {
                return;
            }
            let gone = |peer: u32| self.ranks.get(peer as usize).is_some_and(|r| r.done.is_some());
            match wait.barrier.and_then(missing) {
                Some(gone) => {
                    let (rank, gone) = (called.rank(rank), called.rank(gone));
                    waits.push(format!("{rank} {}, which {gone} did not join", called.wait(wait)));
                }
                // A large transfer to a rank that is still there may take long.
                None if *times >= REPORTS_UNTIL_STUCK && wait.peer.is_none_or(gone) => {
                    waits.push(format!("{} {}", called.rank(rank), called.wait(wait)))
                }
                None => return,
            }
        }
        let left = self.ranks.iter().enumerate().filter(|(rank, r)| left_this(*rank, r)).count();
        let all = waits.len();
        if left == 0 || all == 0 || self.ending() {
            return;
        }
        waits.truncate(4);
        let more =
            if all > waits.len() { format!("; and {} more", all - waits.len()) } else { String::new() };
        let text = format!(
            "{left} of {} {} have left in order, and nobody else can go on: {}{more}; GASNET_WAIT_REPORT=1 says where",
            self.ranks.len(),
            called.several(),
            waits.join("; ")
        );
        self.say(actions, text);
        self.end(now, 1, None, actions);
    }

    /// Ends the job if a rank has waited long for one that has left, and for no other.
    pub(super) fn end_if_unanswered(&mut self, now: Instant, rank: u32, actions: &mut Vec<JobAction>) {
        let Some(Reported { wait, times: REPORTS_UNTIL_STUCK.., .. }) = &self.ranks[rank as usize].wait
        else {
            return;
        };
        let gone = |peer: &u32| self.ranks.get(*peer as usize).is_some_and(|r| r.done.is_some());
        if let Some(peer) = wait.peer.filter(gone) {
            let called = self.called;
            let (name, other) = (called.rank(rank), called.rank(peer));
            let text = format!("{name} {}, and {other} has left in order", called.wait(wait));
            self.say(actions, text);
            self.end(now, 1, None, actions);
        }
    }

    /// Ends the job if this rank and another one wait for each other at different places. A proof needs no
    /// time, and each wait is compared once.
    pub(super) fn end_if_apart(&mut self, now: Instant, rank: u32, actions: &mut Vec<JobAction>) {
        let Some(Reported { wait, times: REPORTS_UNTIL_COMPARED, .. }) = &self.ranks[rank as usize].wait
        else {
            return;
        };
        let apart = self.ranks.iter().position(|other| {
            let there = other.done.is_none() && !other.gone;
            there && other.wait.as_ref().is_some_and(|reported| reported.wait.never_meets(wait))
        });
        let Some((other, there)) = apart.and_then(|other| Some((other, self.ranks[other].wait.as_ref()?)))
        else {
            return;
        };
        let called = self.called;
        let all = called.several();
        let text = format!(
            "two {all} have made different collective calls, and neither call can end: {} {}, and {} {}. \
             All {all} must make the same collective calls in the same order; GASNET_WAIT_REPORT=1 says where they are",
            called.rank(other),
            called.wait(&there.wait),
            called.rank(rank),
            called.wait(wait),
        );
        self.say(actions, text);
        self.end(now, 1, None, actions);
    }

    /// Asks all ranks what they wait for, once, if this is the last of them that has waited for long without
    /// anything happening.
    pub(super) fn ask_if_all_wait(&mut self, now: Instant, rank: u32, actions: &mut Vec<JobAction>) {
        let due = |reported: &Reported| {
            !self.asked && reported.times > 0 && reported.times.is_multiple_of(REPORTS_UNTIL_STUCK)
        };
        if !self.ranks[rank as usize].wait.as_ref().is_some_and(due) {
            return;
        }
        let waits = |state: &RankState| {
            state.wait.as_ref().is_some_and(|reported| {
                reported.times >= REPORTS_UNTIL_STUCK
                    && now.saturating_duration_since(reported.at) < REPORT_IS_OLD
                    && !reported.wait.served_beside
            })
        };
        let mut living = self.ranks.iter().filter(|state| state.done.is_none() && !state.gone);
        if self.phase == Phase::Running && living.all(waits) {
            let text = format!(
                "every {} has waited for {REPORTS_UNTIL_STUCK} s, and nothing has happened: the job may hang",
                self.called.word()
            );
            self.say(actions, text);
            actions.push(JobAction::Ask);
            self.asked = true;
        }
    }
}
