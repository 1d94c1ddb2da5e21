//! Packets that ranks send to the monitor.

use std::time::Instant;

use gasnet_wire::boot::ToMonitor;

use super::{Job, JobAction, MEETING_GRACE, Phase, Reported, TELL_GRACE_PER_RANK};

impl Job {
    /// Handles one packet.
    pub(super) fn packet(
        &mut self,
        now: Instant,
        rank: u32,
        packet: ToMonitor,
        actions: &mut Vec<JobAction>,
    ) {
        let state = &mut self.ranks[rank as usize];
        state.joined = true;
        if state.told && !matches!(packet, ToMonitor::Done(_) | ToMonitor::Barriers(_)) {
            return;
        }
        match packet {
            ToMonitor::Joined | ToMonitor::Attached | ToMonitor::Exchange(..) | ToMonitor::Blocked(..) => {
                if let Some(silent) = self.silent.take() {
                    self.left_silently(now, silent, actions);
                }
            }
            ToMonitor::Barriers(joined) => state.barriers = joined,
            ToMonitor::Done(code) => {
                state.done = Some(code);
                if !state.told {
                    self.record(code);
                }
                self.begin_counting();
                self.leaves(now, rank, actions);
            }
            ToMonitor::Finished(epoch) => self.finishes(now, epoch, actions),
            ToMonitor::GaveUp(epoch) => {
                let world = self.members.world();
                let number = world.rank_of(rank).filter(|_| world.epoch == epoch);
                actions.extend(number.map(JobAction::TellGaveUp));
            }
            ToMonitor::NextWorld(epoch, holds) => {
                state.wait = None;
                match (self.on_death.most(), self.members.asks(rank, epoch, holds)) {
                    (Some(_), Ok(next)) => {
                        self.begin_regroup(now);
                        self.goes_on(now, next, actions);
                    }
                    _ => {
                        let text =
                            format!("{} asks for a world after {epoch}, which is none", self.name(rank));
                        self.say(actions, text);
                        self.end(now, 1, None, actions);
                    }
                }
            }
            ToMonitor::Waits(number, wait) => {
                match &mut state.wait {
                    Some(known) if known.number == number => {
                        *known = Reported { number, wait, times: known.times.saturating_add(1), at: now };
                    }
                    _ => {
                        state.wait = Some(Reported { number, wait, times: 0, at: now });
                        self.begin_counting();
                    }
                }
                self.end_if_stuck(now, actions);
                self.end_if_unanswered(now, rank, actions);
                self.end_if_apart(now, rank, actions);
                self.ask_if_all_wait(now, rank, actions);
            }
            ToMonitor::GlobalExit(code) | ToMonitor::Leaves(code) if code & 255 != 0 => {
                state.ending = true;
                self.end(now, code, Some(rank), actions);
            }
            ToMonitor::GlobalExit(_) => {
                state.ending = true;
                self.leaves_with_all(now, rank, actions);
                if matches!(self.phase, Phase::Running | Phase::Meeting(_)) {
                    self.tell_late(now, actions);
                }
            }
            ToMonitor::Leaves(_) => {
                state.ending = true;
                self.leaves_with_all(now, rank, actions);
                if self.phase == Phase::Running {
                    let grace = MEETING_GRACE + TELL_GRACE_PER_RANK * self.ranks.len() as u32;
                    self.phase = Phase::Meeting(now + grace);
                }
            }
            ToMonitor::Refused(why) => {
                state.ending = true;
                let text = format!("{}: {why}", self.name(rank));
                self.say(actions, text);
                self.end(now, 1, Some(rank), actions);
            }
            ToMonitor::Abort(code, _) => {
                state.ending = true;
                self.end(now, if code & 255 == 0 { 1 } else { code }, Some(rank), actions);
            }
        }
    }

    /// A rank leaves, and the others are expected to: there is no other world.
    fn leaves_with_all(&mut self, now: Instant, rank: u32, actions: &mut Vec<JobAction>) {
        self.finishes(now, self.members.world().epoch, actions);
        self.leaves(now, rank, actions);
    }
}
