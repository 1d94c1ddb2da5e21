//! The rules of a job's end, as a state machine without system calls.
//!
//! The monitor reports events ([`JobEvent`], with the time) and carries out the answers ([`JobAction`]). The
//! rules:
//! - A rank leaves *in order* by sending `Done`; the others continue. `Abort`, and `GlobalExit` and `Leaves`
//!   with another code than 0, end the job at once.
//! - `Leaves` with 0 is a *meeting*: the other ranks are expected to leave too, each by itself. Those that do
//!   not for [`MEETING_GRACE`] are told to end. `GlobalExit` with 0 is the same without that time. Nobody
//!   else is told or killed: a rank that leaves by itself, and a wrapper around it (`sh -c 'PROGRAM; MORE'`),
//!   take the time they need, and what they end with counts.
//! - A rank that is killed by a signal, or that exits without `Done`, ends the job, with a message that names
//!   it. Only programs that never join a job (`gasnetrun -n 4 hostname`) may exit with 0 without `Done`.
//! - Ranks that must end are told ([`JobAction::Tell`]), and killed after a grace period.
//! - When some ranks have left in order, and all others wait for something that cannot happen any more, the
//!   monitor ends the job. One such thing is a barrier that a rank had not joined when it left. Another is
//!   anything that only other ranks could end and none has ended for long. As long as any rank does not wait,
//!   the job continues, since that rank might end it. But a wait for one particular rank that has left ends
//!   the job whatever the others do.
//! - Two ranks that wait for all ranks at different places, neither of which the other can reach, end the
//!   job. If every rank has waited for long and nothing has happened, all are asked what they wait for
//!   ([`JobAction::Ask`]), and the job continues: only a proof ends it.
//! - The job's status is that of the event that ended it; without such an event, the first non-zero code of a
//!   rank, or of its wrapper, that was not told to end.

use std::time::{Duration, Instant};

use gasnet::boot::{Blocked, ToMonitor};

use gasnet_sys::process::{Ended, Pid};
use gasnet_sys::signals;

/// How long a rank may run after it closed its link, before that counts as an abnormal end.
const LINK_GRACE: Duration = Duration::from_secs(1);
/// How long the other ranks may take to leave too, once one has left with all.
const MEETING_GRACE: Duration = Duration::from_secs(2);
/// Shortest time between telling a rank to end and killing it.
const TELL_GRACE: Duration = Duration::from_millis(500);
/// Additional time for each rank, since many ranks share few cores.
const TELL_GRACE_PER_RANK: Duration = Duration::from_millis(4);
/// How long killed processes may take to vanish before the monitor leaves without them.
const KILL_GRACE: Duration = Duration::from_secs(5);

/// How often each waiting rank has to report its wait, with nothing else happening, until it is taken to wait
/// for ever.
const REPORTS_UNTIL_STUCK: u32 = 10;
/// How often it has to report its wait until that is compared with the waits of others.
const REPORTS_UNTIL_COMPARED: u32 = 2;
/// Age of a report from which on the rank may be doing something else.
const REPORT_IS_OLD: Duration = Duration::from_secs(3);

/// An event of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobEvent {
    /// A rank has sent a packet.
    Packet(u32, ToMonitor),
    /// A rank's link is closed.
    LinkClosed(u32),
    /// A rank's process has ended. All its packets came before.
    Ended(u32, Ended),
    /// The connection to this host is lost, with its ranks: its name, and why.
    HostLost(String, String),
    /// A host cannot start its ranks: its name, the status of a failing launcher, and why.
    HostFailed(String, i32, String),
    /// This signal asks the monitor to end.
    Signal(i32),
    /// Nobody reads the job's output any more.
    OutputClosed,
    /// The job's output cannot be written.
    OutputFailed(String),
    /// The time limit set by the user is over.
    TimeLimit(Duration),
}

/// An action of the monitor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobAction {
    /// Print this line on standard error.
    Say(String),
    /// Ask this rank to end.
    Tell(u32),
    /// Kill this rank, and its wrapper if it has one.
    Kill(u32),
    /// Ask all ranks what they wait for, and print it, with what those that do not answer in time have told.
    Ask,
    /// Kill this rank; its wrapper goes on.
    KillProgram(u32),
}

#[derive(Debug)]
struct RankState {
    pid: Pid,
    /// The host it runs on, if there are several.
    host: Option<String>,
    /// Its process has ended.
    gone: bool,
    /// It has started to join the job.
    joined: bool,
    /// The code in its `Done`.
    done: Option<i32>,
    /// It announced the end of the job, so it is about to leave by itself.
    ending: bool,
    /// It was told to end because others have left, so how it ends does not count.
    told: bool,
    /// The time when its link was found closed.
    unlinked: Option<Instant>,
    /// Number of barriers it had joined when it left.
    barriers: u32,
    /// Its last reported wait.
    wait: Option<Reported>,
}

/// A wait that a rank has reported.
#[derive(Debug)]
struct Reported {
    /// Its number in the rank.
    number: u32,
    wait: Blocked,
    /// Number of reports since any rank began a wait or left.
    times: u32,
    /// The time of the last one.
    at: Instant,
}

impl RankState {
    /// When its link will have been closed for too long, if it still should have one.
    fn link_deadline(&self) -> Option<Instant> {
        let owes = self.joined && !self.gone && self.done.is_none() && !self.ending && !self.told;
        self.unlinked.filter(|_| owes).map(|since| since + LINK_GRACE)
    }

    /// Whether it was told to end, and is still there.
    fn is_late(&self) -> bool {
        self.told && !self.gone && !(self.joined && self.unlinked.is_some())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Running,
    /// A rank has left with all; those that have not by this time are told to end.
    Meeting(Instant),
    /// They were told; they are killed at this time.
    Late(Instant),
    /// They were killed; those that are still there then cannot be, and are left alone.
    Closing(Instant),
    /// What is left ends by itself.
    Settled,
    /// All ranks were told to end; they are killed at this time.
    Told(Instant),
    /// All ranks were killed; the monitor stops waiting at this time.
    Killed(Instant),
}

/// The state of one job.
#[derive(Debug)]
pub struct Job {
    ranks: Vec<RankState>,
    phase: Phase,
    /// The status of the event that ended the job early.
    verdict: Option<i32>,
    /// All ranks were asked what they wait for, and nothing has happened since.
    asked: bool,
    /// The first non-zero code of a rank that left in order.
    first_code: Option<i32>,
    /// A rank that exited with 0 and without `Done` while no rank had joined yet.
    silent: Option<u32>,
}

impl Job {
    /// A job whose ranks are these processes.
    pub fn new(pids: &[Pid]) -> Job {
        Job::of(pids.iter().map(|&pid| (pid, None)))
    }

    /// A job whose ranks run on these hosts; their processes are [reported](Job::started) later.
    pub fn on_hosts(hosts: impl Iterator<Item = String>) -> Job {
        Job::of(hosts.map(|host| (0, Some(host))))
    }

    fn of(ranks: impl Iterator<Item = (Pid, Option<String>)>) -> Job {
        let rank = |(pid, host)| RankState {
            pid,
            host,
            gone: false,
            joined: false,
            done: None,
            ending: false,
            told: false,
            unlinked: None,
            barriers: 0,
            wait: None,
        };
        Job {
            ranks: ranks.map(rank).collect(),
            phase: Phase::Running,
            verdict: None,
            asked: false,
            first_code: None,
            silent: None,
        }
    }

    /// A rank of another host runs as this process there.
    pub fn started(&mut self, rank: u32, pid: Pid) {
        self.ranks[rank as usize].pid = pid;
    }

    /// The name of a rank in messages.
    pub fn name(&self, rank: u32) -> String {
        let state = &self.ranks[rank as usize];
        let host = state.host.as_ref().map_or(String::new(), |host| format!(" on {host}"));
        format!("rank {rank} (pid {}{host})", state.pid)
    }

    /// Ranks in the job.
    pub fn size(&self) -> u32 {
        self.ranks.len() as u32
    }

    /// The waits that ranks have told by themselves, with the rank.
    pub fn told_waits(&self) -> impl Iterator<Item = (u32, &Blocked)> {
        (0..).zip(&self.ranks).filter_map(|(rank, state)| Some((rank, &state.wait.as_ref()?.wait)))
    }

    /// Whether a rank's process has ended.
    pub fn is_gone(&self, rank: u32) -> bool {
        self.ranks[rank as usize].gone
    }

    /// Handles one event.
    pub fn handle(&mut self, now: Instant, event: JobEvent) -> Vec<JobAction> {
        let mut actions = Vec::new();
        match event {
            JobEvent::Packet(rank, packet) => self.packet(now, rank, packet, &mut actions),
            JobEvent::LinkClosed(rank) => self.ranks[rank as usize].unlinked = Some(now),
            JobEvent::Ended(rank, how) => self.ended(now, rank, how, &mut actions),
            JobEvent::HostLost(host, why) => {
                let done = |r: &RankState| r.gone || r.host.as_ref() != Some(&host);
                if !self.ranks.iter().all(done) {
                    self.say(&mut actions, format!("host {host} is lost: {why}"));
                }
                for state in self.ranks.iter_mut().filter(|r| r.host.as_ref() == Some(&host)) {
                    state.gone = true;
                }
                self.end(now, 1, None, &mut actions);
            }
            JobEvent::HostFailed(host, status, why) => {
                self.say(&mut actions, format!("host {host}: {why}"));
                for state in self.ranks.iter_mut().filter(|r| r.host.as_ref() == Some(&host)) {
                    state.gone = true;
                }
                self.end(now, status, None, &mut actions);
            }
            // After a second request, stop waiting.
            JobEvent::Signal(_) if matches!(self.phase, Phase::Told(_)) => self.phase = Phase::Told(now),
            JobEvent::Signal(signal) => {
                if signal != libc::SIGINT {
                    let text = format!("ended by signal {signal} ({})", signals::signal_name(signal));
                    self.say(&mut actions, text);
                }
                self.end(now, 128 + signal, None, &mut actions);
            }
            JobEvent::OutputClosed => self.end(now, 128 + libc::SIGPIPE, None, &mut actions),
            JobEvent::OutputFailed(why) => {
                self.say(&mut actions, format!("cannot write the job's output: {why}"));
                self.end(now, 1, None, &mut actions);
            }
            JobEvent::TimeLimit(limit) => {
                self.say(&mut actions, format!("time limit of {} s reached", limit.as_secs_f64()));
                self.end(now, 124, None, &mut actions);
            }
        }
        actions
    }

    /// Does what is due. To be called whenever [`Job::deadline`] has passed.
    pub fn tick(&mut self, now: Instant) -> Vec<JobAction> {
        let mut actions = Vec::new();
        for rank in 0..self.ranks.len() {
            let state = &self.ranks[rank];
            if state.link_deadline().is_some_and(|until| now >= until) {
                let text = format!("{} has closed its connection to the job", self.name(rank as u32));
                self.say(&mut actions, text);
                self.end(now, 1, None, &mut actions);
            }
        }
        match self.phase {
            Phase::Meeting(until) if now >= until => self.tell_late(now, &mut actions),
            Phase::Late(until) if now >= until => {
                self.phase = Phase::Closing(now + KILL_GRACE);
                let late = self.ranks.iter().zip(0..).filter(|(r, _)| r.is_late());
                actions.extend(late.map(|(_, rank)| JobAction::KillProgram(rank)));
            }
            Phase::Closing(until) if now >= until => {
                self.phase = Phase::Settled;
                self.ranks.iter_mut().filter(|r| r.is_late()).for_each(|r| r.gone = true);
            }
            Phase::Told(until) if now >= until => {
                self.phase = Phase::Killed(now + KILL_GRACE);
                actions.extend(self.running().map(JobAction::Kill));
            }
            _ => {}
        }
        actions
    }

    /// The time at which [`Job::tick`] must be called next.
    pub fn deadline(&self) -> Option<Instant> {
        let links = self.ranks.iter().filter_map(RankState::link_deadline);
        match self.phase {
            Phase::Running | Phase::Settled => links.min(),
            Phase::Meeting(until) | Phase::Late(until) | Phase::Closing(until) => links.chain([until]).min(),
            Phase::Told(until) | Phase::Killed(until) => Some(until),
        }
    }

    /// Whether no rank is left (or those that are left cannot be killed).
    pub fn over(&self, now: Instant) -> bool {
        self.running().next().is_none() || matches!(self.phase, Phase::Killed(until) if now >= until)
    }

    /// Whether the job has been told to end early.
    pub fn ending(&self) -> bool {
        matches!(self.phase, Phase::Told(_) | Phase::Killed(_))
    }

    /// The job's exit status, once it is [over](Job::over).
    pub fn status(&self) -> i32 {
        self.verdict.or(self.first_code).unwrap_or(0) & 255
    }

    fn running(&self) -> impl Iterator<Item = u32> {
        (0..self.ranks.len() as u32).filter(|&rank| !self.ranks[rank as usize].gone)
    }

    /// Prints a message, unless the job is ending anyway.
    fn say(&self, actions: &mut Vec<JobAction>, text: String) {
        if !self.ending() {
            actions.push(JobAction::Say(text));
        }
    }

    /// Ends the job with this status. The first call wins; `by` is not told.
    fn end(&mut self, now: Instant, status: i32, by: Option<u32>, actions: &mut Vec<JobAction>) {
        if self.ending() {
            return;
        }
        self.verdict = Some(status);
        self.phase = Phase::Told(now + self.tell_grace());
        actions.extend(self.running().filter(|&rank| Some(rank) != by).map(JobAction::Tell));
    }

    fn tell_grace(&self) -> Duration {
        TELL_GRACE + TELL_GRACE_PER_RANK * self.ranks.len() as u32
    }

    /// Tells the ranks that have not left with the others to end.
    fn tell_late(&mut self, now: Instant, actions: &mut Vec<JobAction>) {
        self.phase = Phase::Late(now + self.tell_grace());
        for (state, rank) in self.ranks.iter_mut().zip(0..) {
            if !state.gone && !state.ending && state.done.is_none() {
                state.told = true;
                actions.push(JobAction::Tell(rank));
            }
        }
    }

    fn packet(&mut self, now: Instant, rank: u32, packet: ToMonitor, actions: &mut Vec<JobAction>) {
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
                if matches!(self.phase, Phase::Running | Phase::Meeting(_)) {
                    self.tell_late(now, actions);
                }
            }
            ToMonitor::Leaves(_) => {
                state.ending = true;
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

    /// Something has happened, so the reports of waits are counted from 0 again.
    fn begin_counting(&mut self) {
        self.ranks.iter_mut().filter_map(|r| r.wait.as_mut()).for_each(|reported| reported.times = 0);
        self.asked = false;
    }

    /// Ends the job if some ranks have left and the rest waits in vain.
    fn end_if_stuck(&mut self, now: Instant, actions: &mut Vec<JobAction>) {
        let missing = |phase: u32| {
            let missed = |r: &RankState| r.done.is_some() && r.barriers.wrapping_sub(phase) as i32 <= 0;
            self.ranks.iter().position(missed)
        };
        let mut waits = Vec::new();
        for (rank, state) in self.ranks.iter().enumerate().filter(|(_, r)| r.done.is_none()) {
            let Some(Reported { wait, times, .. }) = &state.wait else { return };
            if !wait.for_others {
                return;
            }
            let gone = |peer: u32| self.ranks.get(peer as usize).is_some_and(|r| r.done.is_some());
            match wait.barrier.and_then(missing) {
                Some(gone) => {
                    waits.push(format!("rank {rank} {}, which rank {gone} did not join", wait.in_words()));
                }
                // A large transfer to a rank that is still there may take long.
                None if *times >= REPORTS_UNTIL_STUCK && wait.peer.is_none_or(gone) => {
                    waits.push(format!("rank {rank} {}", wait.in_words()))
                }
                None => return,
            }
        }
        let (left, all) = (self.ranks.iter().filter(|r| r.done.is_some()).count(), waits.len());
        if left == 0 || all == 0 || self.ending() {
            return;
        }
        waits.truncate(4);
        let more =
            if all > waits.len() { format!("; and {} more", all - waits.len()) } else { String::new() };
        let text = format!(
            "{left} of {} ranks have left in order, and nobody else can go on: {}{more}; GASNET_WAIT_REPORT=1 says where",
            self.ranks.len(),
            waits.join("; ")
        );
        self.say(actions, text);
        self.end(now, 1, None, actions);
    }

    /// Ends the job if a rank has waited long for one that has left, and for no other.
    fn end_if_unanswered(&mut self, now: Instant, rank: u32, actions: &mut Vec<JobAction>) {
        let Some(Reported { wait, times: REPORTS_UNTIL_STUCK.., .. }) = &self.ranks[rank as usize].wait
        else {
            return;
        };
        let gone = |peer: &u32| self.ranks.get(*peer as usize).is_some_and(|r| r.done.is_some());
        if let Some(peer) = wait.peer.filter(gone) {
            let text = format!("rank {rank} {}, and rank {peer} has left in order", wait.in_words());
            self.say(actions, text);
            self.end(now, 1, None, actions);
        }
    }

    /// Ends the job if this rank and another one wait for each other at different places. A proof needs no
    /// time, and each wait is compared once.
    fn end_if_apart(&mut self, now: Instant, rank: u32, actions: &mut Vec<JobAction>) {
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
        let text = format!(
            "the ranks are in different places of the program and cannot meet: rank {other} {}, and rank {rank} {}. \
             All ranks must make the same collective calls in the same order; GASNET_WAIT_REPORT=1 says where they are",
            there.wait.in_words(),
            wait.in_words(),
        );
        self.say(actions, text);
        self.end(now, 1, None, actions);
    }

    /// Asks all ranks what they wait for, once, if this is the last of them that has waited for long without
    /// anything happening.
    fn ask_if_all_wait(&mut self, now: Instant, rank: u32, actions: &mut Vec<JobAction>) {
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
                "every rank has waited for {REPORTS_UNTIL_STUCK} s, and nothing has happened: the job may hang"
            );
            self.say(actions, text);
            actions.push(JobAction::Ask);
            self.asked = true;
        }
    }

    fn record(&mut self, code: i32) {
        if self.first_code.is_none() && code & 255 != 0 {
            self.first_code = Some(code);
        }
    }

    fn ended(&mut self, now: Instant, rank: u32, how: Ended, actions: &mut Vec<JobAction>) {
        let state = &mut self.ranks[rank as usize];
        state.gone = true;
        if state.told {
            return;
        }
        let excused = state.done.is_some() || state.ending;
        match how {
            Ended::Signal(signal) => {
                // A single rank writes to the job's output itself: its reader has left, which needs no
                // message.
                if signal != libc::SIGPIPE || self.ranks.len() > 1 {
                    let name = signals::signal_name(signal);
                    let hint = match signal {
                        libc::SIGKILL => "; the system does that when memory runs out (dmesg says so)",
                        libc::SIGBUS => "; memory that it touched could not be had, perhaps there is no more",
                        _ => "",
                    };
                    let text = format!("{} terminated with signal {signal} ({name}){hint}", self.name(rank));
                    self.say(actions, text);
                }
                self.end(now, 128 + signal, Some(rank), actions);
            }
            Ended::Code(code) if excused => self.record(code),
            // It leaves with the others, without a word.
            Ended::Code(0) if self.phase != Phase::Running => {}
            Ended::Code(0) => {
                if self.ranks.iter().any(|r| r.joined) {
                    self.left_silently(now, rank, actions);
                } else {
                    self.silent.get_or_insert(rank);
                }
            }
            Ended::Code(code) => {
                let when =
                    if state.joined { "without leaving the job in order" } else { "before joining the job" };
                self.say(actions, format!("{} exited with code {code} {when}", self.name(rank)));
                self.end(now, code, Some(rank), actions);
            }
        }
    }

    /// A rank exited with 0 and without `Done`, in a job that others have joined.
    fn left_silently(&mut self, now: Instant, rank: u32, actions: &mut Vec<JobAction>) {
        let state = &self.ranks[rank as usize];
        let when = if state.joined { "without leaving the job in order" } else { "before joining the job" };
        let text = format!("{} exited with code 0 {when}", self.name(rank));
        self.say(actions, text);
        self.end(now, 1, Some(rank), actions);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gasnet::boot::MeetingPlace;

    fn job(ranks: u32) -> (Job, Instant) {
        let pids: Vec<Pid> = (0..ranks as Pid).map(|r| 100 + r).collect();
        let mut job = Job::new(&pids);
        let now = Instant::now();
        for rank in 0..ranks {
            assert_eq!(job.handle(now, JobEvent::Packet(rank, ToMonitor::Joined)), []);
        }
        (job, now)
    }

    #[test]
    fn a_lost_host_ends_the_job() {
        let now = Instant::now();
        let mut job = Job::on_hosts(["a", "a", "b"].map(String::from).into_iter());
        job.started(2, 7);
        assert_eq!(job.name(2), "rank 2 (pid 7 on b)");
        let actions = job.handle(now, JobEvent::HostLost("a".into(), "silence".into()));
        assert_eq!(actions, [vec![JobAction::Say("host a is lost: silence".into())], tells([2])].concat());
        assert!(!job.over(now));
        assert_eq!(job.handle(now, JobEvent::HostLost("b".into(), "silence".into())), []);
        assert!(job.over(now));
        assert_eq!(job.status(), 1);
    }

    fn tells(ranks: impl IntoIterator<Item = u32>) -> Vec<JobAction> {
        ranks.into_iter().map(JobAction::Tell).collect()
    }

    #[test]
    fn orderly_end_takes_the_first_non_zero_code() {
        let (mut job, now) = job(3);
        for (rank, code) in [(1, 0), (2, 0x105), (0, 3)] {
            assert_eq!(job.handle(now, JobEvent::Packet(rank, ToMonitor::Done(code))), []);
        }
        for rank in 0..3 {
            assert!(!job.over(now));
            assert_eq!(job.handle(now, JobEvent::Ended(rank, Ended::Code(0))), []);
        }
        assert!(job.over(now));
        assert_eq!(job.status(), 5);
    }

    #[test]
    fn global_exit_ends_the_peers_and_its_code_wins() {
        for code in [0, 5] {
            let (mut job, now) = job(2);
            let actions = job.handle(now, JobEvent::Packet(1, ToMonitor::GlobalExit(code)));
            assert_eq!(actions, tells([0]));
            assert_eq!(job.handle(now, JobEvent::Packet(0, ToMonitor::GlobalExit(4))), []);
            assert_eq!(job.handle(now, JobEvent::Ended(0, Ended::Code(1))), []);
            assert_eq!(job.handle(now, JobEvent::Ended(1, Ended::Code(code))), []);
            assert!(job.over(now));
            assert_eq!(job.status(), code);
        }
    }

    fn leaves(job: &mut Job, now: Instant, rank: u32) {
        assert_eq!(job.handle(now, JobEvent::Packet(rank, ToMonitor::Leaves(0))), []);
    }

    #[test]
    fn ranks_that_leave_together_are_left_alone() {
        let (mut job, now) = job(3);
        (0..3).for_each(|rank| leaves(&mut job, now, rank));
        for _ in 0..9 {
            assert_eq!(job.tick(job.deadline().unwrap_or(now)), []);
        }
        assert_eq!(job.deadline(), None);
        // Wrappers end long after.
        let later = now + Duration::from_secs(1000);
        for (rank, code) in [(0, 0), (1, 3), (2, 4)] {
            assert!(!job.over(later) && !job.ending());
            assert_eq!(job.handle(later, JobEvent::Ended(rank, Ended::Code(code))), []);
        }
        assert!(job.over(later));
        assert_eq!(job.status(), 3);
    }

    #[test]
    fn who_does_not_leave_with_the_others_is_told_and_killed() {
        let (mut job, now) = job(4);
        leaves(&mut job, now, 1);
        assert_eq!(job.handle(now, JobEvent::Ended(3, Ended::Code(0))), []);
        let late = job.deadline().unwrap();
        assert_eq!((job.tick(now), job.tick(late)), (vec![], tells([0, 2])));
        assert_eq!(job.handle(late, JobEvent::Packet(0, ToMonitor::Abort(1, "x".into()))), []);
        // The program of rank 0 ends as told, and its wrapper goes on; rank 2 stays.
        assert_eq!(job.handle(late, JobEvent::LinkClosed(0)), []);
        let later = job.deadline().unwrap();
        assert_eq!(job.tick(later), [JobAction::KillProgram(2)]);
        assert_eq!(job.handle(later, JobEvent::Ended(2, Ended::Signal(9))), []);
        assert_eq!(job.handle(later, JobEvent::Ended(1, Ended::Code(0))), []);
        assert_eq!(job.tick(job.deadline().unwrap()), []);
        assert!(!job.over(later));
        assert_eq!(job.handle(later, JobEvent::Ended(0, Ended::Code(1))), []);
        assert!(job.over(later));
        assert_eq!(job.status(), 0);
    }

    #[test]
    fn late_ranks_that_cannot_be_killed_do_not_hold_the_monitor() {
        let (mut job, now) = job(2);
        leaves(&mut job, now, 0);
        job.handle(now, JobEvent::Ended(0, Ended::Code(0)));
        for _ in 0..3 {
            assert!(!job.over(now));
            job.tick(job.deadline().unwrap());
        }
        assert!(job.over(now));
        assert_eq!(job.status(), 0);
    }

    #[test]
    fn a_crash_while_all_leave_counts() {
        let (mut two, now) = job(2);
        leaves(&mut two, now, 0);
        leaves(&mut two, now, 1);
        let text = "rank 1 (pid 101) terminated with signal 11 (SIGSEGV)".to_string();
        let actions = two.handle(now, JobEvent::Ended(1, Ended::Signal(11)));
        assert_eq!(actions, [vec![JobAction::Say(text)], tells([0])].concat());
        assert_eq!(two.status(), 139);

        let (mut other, now) = job(2);
        leaves(&mut other, now, 0);
        assert_eq!(other.handle(now, JobEvent::Packet(1, ToMonitor::Leaves(7))), tells([0]));
        assert_eq!(other.status(), 7);
    }

    /// Waits for what ended ranks have missed last for ever; a rank that reports no wait may still end the
    /// job.
    #[test]
    fn a_job_whose_rest_waits_for_ranks_that_left_ends() {
        let (mut job, now) = job(3);
        let tell = |job: &mut Job, rank, packet| job.handle(now, JobEvent::Packet(rank, packet));
        let wait = |number, barrier| {
            ToMonitor::Waits(
                number,
                Blocked {
                    barrier,
                    what: "a collective operation".into(),
                    for_others: true,
                    ..Blocked::default()
                },
            )
        };
        for _ in 0..REPORTS_UNTIL_STUCK {
            for rank in 0..3 {
                assert_eq!(tell(&mut job, rank, wait(1, None)), [], "nobody has left");
            }
        }
        tell(&mut job, 0, ToMonitor::Barriers(4));
        tell(&mut job, 0, ToMonitor::Done(0));
        for _ in 0..100 {
            assert_eq!(tell(&mut job, 1, wait(2, Some(3))), [], "all are in barrier 3");
            assert_eq!(tell(&mut job, 1, wait(3, Some(4))), [], "rank 2 may end the job");
        }
        let mut actions = tell(&mut job, 2, wait(7, Some(4)));
        let JobAction::Say(text) = actions.remove(0) else { panic!("{actions:?}") };
        assert!(text.starts_with(
            "1 of 3 ranks have left in order, and nobody else can go on: rank 1 waits in barrier 4"
        ));
        assert!(text.contains("which rank 0 did not join"), "{text}");
        assert_eq!(actions, tells([0, 1, 2]));
        assert_eq!(job.status(), 1);
    }

    #[test]
    fn waits_that_may_end_are_given_time() {
        let (mut job, now) = job(2);
        job.handle(now, JobEvent::Packet(1, ToMonitor::Done(0)));
        let wait = |number| {
            JobEvent::Packet(
                0,
                ToMonitor::Waits(
                    number,
                    Blocked { peer: Some(1), what: "x".into(), for_others: true, ..Blocked::default() },
                ),
            )
        };
        for number in 0..3 {
            for _ in 0..REPORTS_UNTIL_STUCK {
                assert_eq!(job.handle(now, wait(number)), []);
            }
        }
        assert_eq!(job.handle(now, wait(2)).len(), 3);
        assert_eq!(job.status(), 1);
    }

    /// The same whatever a third rank does.
    #[test]
    fn a_wait_for_a_rank_that_left_ends_the_job() {
        let (mut job, now) = job(4);
        let wait = |peer| {
            let wait = Blocked { peer: Some(peer), what: "x".into(), for_others: true, ..Blocked::default() };
            JobEvent::Packet(0, ToMonitor::Waits(peer, wait))
        };
        job.handle(now, JobEvent::Packet(1, ToMonitor::Done(0)));
        for _ in 0..100 {
            assert_eq!(job.handle(now, wait(2)), [], "rank 2 is there");
        }
        for _ in 0..REPORTS_UNTIL_STUCK {
            assert_eq!(job.handle(now, wait(1)), [], "an answer may be on its way");
        }
        let text = "rank 0 waits for rank 1: x, for 0 s, and rank 1 has left in order".to_string();
        assert_eq!(job.handle(now, wait(1)), [vec![JobAction::Say(text)], tells([0, 1, 2, 3])].concat());
        assert_eq!(job.status(), 1);
    }

    fn waits_at(rank: u32, meeting: (MeetingPlace, u32), reached: [u32; 3]) -> JobEvent {
        let wait = Blocked {
            what: format!("{meeting:?}"),
            for_others: true,
            meeting: Some(meeting),
            reached,
            ..Blocked::default()
        };
        JobEvent::Packet(rank, ToMonitor::Waits(1, wait))
    }

    /// Whatever a third rank does.
    #[test]
    fn ranks_that_cannot_meet_end_the_job() {
        use MeetingPlace::{Attach, Barrier, Collective};
        // (the place of rank 0, what it has reached, the same of rank 1, whether they can go on)
        for (one, reached, two, others, meet) in [
            ((Barrier, 3), [4, 7, 1], (Collective, 7), [3, 8, 1], false),
            // Rank 1 has joined the barrier already.
            ((Barrier, 3), [4, 7, 1], (Collective, 7), [4, 8, 1], true),
            // Rank 0 has passed the operation in which rank 1 waits for news.
            ((Barrier, 3), [4, 8, 1], (Collective, 7), [3, 8, 1], true),
            ((Barrier, 0), [1, 0, 0], (Attach, 0), [0, 0, 1], false),
            ((Barrier, 3), [4, 7, 1], (Barrier, 4), [5, 7, 1], true),
            // Numbers wrap.
            ((Barrier, u32::MAX), [0, 7, 1], (Collective, 7), [u32::MAX, 8, 1], false),
        ] {
            let (mut job, now) = job(3);
            for _ in 0..REPORTS_UNTIL_COMPARED {
                assert_eq!(job.handle(now, waits_at(0, one, reached)), []);
                assert_eq!(job.handle(now, waits_at(1, two, others)), []);
            }
            job.handle(now, waits_at(0, one, reached));
            let actions = job.handle(now, waits_at(1, two, others));
            assert_eq!(job.ending(), !meet, "{one:?} {two:?} {actions:?}");
        }
    }

    #[test]
    fn a_job_in_which_all_wait_is_asked_once() {
        let (mut job, mut now) = job(3);
        let place = (MeetingPlace::Barrier, 3);
        let told = |job: &mut Job, now, rank| job.handle(now, waits_at(rank, place, [4, 0, 1]));
        for second in 0..60 {
            now += Duration::from_secs(1);
            // The last rank computes, tells one wait, and computes again.
            let ranks = if second == 20 { 3 } else { 2 };
            for rank in 0..ranks {
                assert_eq!(told(&mut job, now, rank), [], "rank 2 computes");
            }
        }
        let mut asked = 0;
        for _ in 0..60 {
            now += Duration::from_secs(1);
            for rank in 0..3 {
                asked += told(&mut job, now, rank).iter().filter(|action| **action == JobAction::Ask).count();
            }
        }
        assert_eq!(asked, 1);
        assert!(!job.ending(), "that is no proof");
    }

    #[test]
    fn death_by_signal_names_rank_and_signal() {
        let (mut job, now) = job(3);
        let actions = job.handle(now, JobEvent::Ended(1, Ended::Signal(11)));
        let text = "rank 1 (pid 101) terminated with signal 11 (SIGSEGV)".to_string();
        assert_eq!(actions, [vec![JobAction::Say(text)], tells([0, 2])].concat());
        assert_eq!(job.handle(now, JobEvent::Ended(0, Ended::Signal(3))), []);
        let later = job.deadline().unwrap();
        assert!(later - now < Duration::from_secs(1));
        assert_eq!(job.tick(now), []);
        assert_eq!(job.tick(later), [JobAction::Kill(2)]);
        assert_eq!(job.handle(later, JobEvent::Ended(2, Ended::Signal(9))), []);
        assert!(job.over(later));
        assert_eq!(job.status(), 139);
    }

    #[test]
    fn unkillable_ranks_do_not_hold_the_monitor() {
        let (mut job, now) = job(1);
        job.handle(now, JobEvent::Signal(15));
        let kill = job.deadline().unwrap();
        job.tick(kill);
        let give_up = job.deadline().unwrap();
        assert!(!job.over(kill));
        assert!(job.over(give_up));
        assert_eq!(job.status(), 143);
    }

    #[test]
    fn leaving_without_a_word_is_an_error() {
        let (mut job, now) = job(2);
        let actions = job.handle(now, JobEvent::Ended(0, Ended::Code(0)));
        assert!(
            matches!(&actions[0], JobAction::Say(text) if text.contains("rank 0") && text.contains("in order"))
        );
        assert_eq!(actions[1..], tells([1]));
        job.handle(now, JobEvent::Ended(1, Ended::Signal(9)));
        assert_eq!(job.status(), 1);
    }

    #[test]
    fn plain_programs_may_exit_but_not_beside_ranks_that_join() {
        let now = Instant::now();
        let mut job = Job::new(&[7, 8]);
        assert_eq!(job.handle(now, JobEvent::Ended(0, Ended::Code(0))), []);
        assert_eq!(job.handle(now, JobEvent::Ended(1, Ended::Code(0))), []);
        assert!(job.over(now));
        assert_eq!(job.status(), 0);

        let mut job = Job::new(&[7, 8]);
        assert_eq!(job.handle(now, JobEvent::Ended(0, Ended::Code(0))), []);
        let actions = job.handle(now, JobEvent::Packet(1, ToMonitor::Joined));
        assert!(matches!(&actions[0], JobAction::Say(text) if text.contains("rank 0 (pid 7)")));
        assert_eq!(actions[1..], tells([1]));
        job.handle(now, JobEvent::Ended(1, Ended::Code(0)));
        assert_eq!(job.status(), 1);
    }

    #[test]
    fn failing_before_joining_ends_the_job() {
        let now = Instant::now();
        let mut job = Job::new(&[7, 8]);
        let actions = job.handle(now, JobEvent::Ended(1, Ended::Code(42)));
        assert!(matches!(&actions[0], JobAction::Say(text) if text.contains("code 42 before joining")));
        assert_eq!(actions[1..], tells([0]));
        job.handle(now, JobEvent::Ended(0, Ended::Signal(15)));
        assert_eq!(job.status(), 42);
    }

    #[test]
    fn abort_is_quiet_and_never_a_success() {
        let (mut job, now) = job(2);
        assert_eq!(job.handle(now, JobEvent::Packet(1, ToMonitor::Abort(0, "bad".into()))), tells([0]));
        job.handle(now, JobEvent::Ended(0, Ended::Code(0)));
        job.handle(now, JobEvent::Ended(1, Ended::Signal(6)));
        assert_eq!(job.status(), 1);
    }

    #[test]
    fn what_all_refuse_is_said_once() {
        let (mut job, now) = job(3);
        let refused = || ToMonitor::Refused("no such network".into());
        let actions = job.handle(now, JobEvent::Packet(1, refused()));
        assert_eq!(
            actions,
            [vec![JobAction::Say("rank 1 (pid 101): no such network".into())], tells([0, 2])].concat()
        );
        for rank in [0, 2] {
            assert_eq!(job.handle(now, JobEvent::Packet(rank, refused())), []);
        }
        for rank in 0..3 {
            assert_eq!(job.handle(now, JobEvent::Ended(rank, Ended::Code(1))), []);
        }
        assert_eq!(job.status(), 1);
    }

    #[test]
    fn a_rank_that_replaced_itself_is_noticed() {
        let (mut job, now) = job(2);
        job.handle(now, JobEvent::LinkClosed(1));
        let later = job.deadline().unwrap();
        let actions = job.tick(later);
        assert!(matches!(&actions[0], JobAction::Say(text) if text.contains("rank 1 (pid 101) has closed")));
        assert_eq!(actions[1..], tells([0, 1]));
    }

    #[test]
    fn a_second_signal_cuts_the_grace() {
        let (mut job, now) = job(1);
        assert_eq!(job.handle(now, JobEvent::Signal(2)), tells([0]));
        assert_eq!(job.tick(now), []);
        assert_eq!(job.handle(now, JobEvent::Signal(2)), []);
        assert_eq!(job.tick(now), [JobAction::Kill(0)]);
        assert_eq!(job.status(), 130);
    }

    #[test]
    fn a_closed_output_ends_the_job_without_a_word() {
        let (mut two, now) = job(2);
        assert_eq!(two.handle(now, JobEvent::OutputClosed), tells([0, 1]));
        assert_eq!(two.status(), 141);

        let (mut one, now) = job(1);
        assert_eq!(one.handle(now, JobEvent::Ended(0, Ended::Signal(libc::SIGPIPE))), []);
        assert_eq!(one.status(), 141);
    }
}
