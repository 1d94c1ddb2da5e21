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
//! - With `--on-death shrink` or `heal` ([`OnDeath`]) a rank that ends without `Done` has *died*: it is told,
//!   and the others go on. They start anew among themselves, or with another process in its place
//!   ([`membership`]). What a rank says of the job still ends it: a panic does, and an error that the runtime
//!   finds. So do replacements that die one after the other before they are in any world.
//! - The job's status is that of the event that ended it; without such an event, the first non-zero code of a
//!   rank, or of its wrapper, that was not told to end.

mod ended;
mod hangs;
pub mod membership;
mod packets;

use std::time::{Duration, Instant};

use crate::rank_name::RankName;
use gasnet_wire::boot::{Blocked, ToMonitor};

use gasnet_sys::process::{Ended, Pid};
use gasnet_sys::signals;
use membership::{Consequence, JobWorld, Membership};

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
/// Replacements of a rank that may die before they are in a world. A program that cannot start would be
/// started for ever.
const MOST_FAILED_STARTS: u32 = 5;

/// The effect of a rank's death on its job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnDeath {
    /// It ends the job.
    #[default]
    End,
    /// The other ranks go on, until more than this many have died.
    Shrink(u32),
    /// The other ranks go on with another process in its place, until more than this many have died.
    Heal(u32),
}

impl OnDeath {
    /// How many may die, if ranks survive the death of others.
    pub fn most(self) -> Option<u32> {
        match self {
            OnDeath::End => None,
            OnDeath::Shrink(most) | OnDeath::Heal(most) => Some(most),
        }
    }

    /// Whether the dead are replaced.
    pub fn heals(self) -> bool {
        matches!(self, OnDeath::Heal(_))
    }
}

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
    /// The survivors of a death cannot be given what they start anew with.
    NoWorld(String),
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
    /// Tell the ranks of the newest world that the one of this number there has died in this way; its host is
    /// lost if there is none.
    TellDeath(u32, Option<Ended>),
    /// Tell the ranks of the newest world on other hosts that the one of this number there has given it up.
    TellGaveUp(u32),
    /// Start this world.
    Start(JobWorld),
    /// Start another process in the place of this rank, to be in the world after the one of this epoch.
    Replace(u32, u32),
    /// Tell these ranks, which wait for another world, that all work is done.
    TellDone(Vec<u32>),
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
    /// Its replacements that have died since it was in a world.
    failed_starts: u32,
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
    /// A process of which nothing has been heard.
    fn new(pid: Pid, host: Option<String>) -> RankState {
        RankState {
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
            failed_starts: 0,
        }
    }

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
    /// Processes that are left end by themselves.
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
    on_death: OnDeath,
    /// The name of ranks in messages.
    pub called: RankName,
    members: Membership,
    /// The status of the last rank that has died.
    last_death: i32,
    /// When it is to be said whom those wait for that have given up the newest world.
    regroup_report: Option<Instant>,
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
        let ranks: Vec<RankState> = ranks.map(|(pid, host)| RankState::new(pid, host)).collect();
        Job {
            members: Membership::new(ranks.len() as u32, false),
            on_death: OnDeath::End,
            called: RankName::default(),
            last_death: 0,
            regroup_report: None,
            ranks,
            phase: Phase::Running,
            verdict: None,
            asked: false,
            first_code: None,
            silent: None,
        }
    }

    /// Says what a death does, before anything has happened.
    pub fn on_death(&mut self, on_death: OnDeath) {
        self.on_death = on_death;
        self.members = Membership::new(self.size(), on_death.heals());
    }

    /// The incarnation of the process that is a rank now.
    pub fn incarnation(&self, rank: u32) -> u32 {
        self.members.incarnation(rank)
    }

    /// A wait as a rank tells it, with the peer as this job numbers ranks: a world after the first has
    /// numbers of its own.
    pub fn in_first_numbers(&self, wait: Blocked) -> Blocked {
        let first = |peer: u32| self.members.world().members.get(peer as usize).copied().unwrap_or(peer);
        Blocked { peer: wait.peer.map(first), ..wait }
    }

    /// A rank runs as this process: one of another host, or a replacement.
    pub fn started(&mut self, rank: u32, pid: Pid) {
        self.ranks[rank as usize].pid = pid;
    }

    /// The name of a rank in messages.
    pub fn name(&self, rank: u32) -> String {
        let state = &self.ranks[rank as usize];
        let host = state.host.as_ref().map_or(String::new(), |host| format!(" on {host}"));
        format!("{} (pid {}{host})", self.called.rank(rank), state.pid)
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
                let lost: Vec<u32> = self.running().filter(|rank| self.is_on(*rank, &host)).collect();
                if !lost.is_empty() {
                    self.say(&mut actions, format!("host {host} is lost: {why}"));
                }
                let goes_on = self.on_death.most().is_some() && self.has_begun(&host);
                lost.iter().for_each(|rank| self.ranks[*rank as usize].gone = true);
                if !goes_on {
                    self.end(now, 1, None, &mut actions);
                }
                for rank in lost.into_iter().filter(|_| goes_on) {
                    let state = &self.ranks[rank as usize];
                    if state.done.is_none() && !state.ending && !state.told {
                        self.fails(now, rank, 1, None, &mut actions);
                    }
                }
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
            JobEvent::NoWorld(why) => {
                self.say(&mut actions, format!("the ranks that are left cannot start anew: {why}"));
                self.end(now, 1, None, &mut actions);
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
                match self.on_death.most() {
                    None => self.end(now, 1, None, &mut actions),
                    // Nobody is dead who could still write.
                    Some(_) => {
                        self.ranks[rank].unlinked = None;
                        actions.push(JobAction::Kill(rank as u32));
                    }
                }
            }
        }
        self.report_regroup(now, &mut actions);
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
        let links = self.ranks.iter().filter_map(RankState::link_deadline).chain(self.regroup_report);
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
        let of_ranks = || if self.members.has_survivors() { self.first_code } else { Some(self.last_death) };
        self.verdict.or_else(of_ranks).unwrap_or(0) & 255
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

    /// A rank has ended as none may: this ends the job with the status, or is a death.
    fn fails(
        &mut self,
        now: Instant,
        rank: u32,
        status: i32,
        how: Option<Ended>,
        actions: &mut Vec<JobAction>,
    ) {
        let Some(most) = self.on_death.most() else { return self.end(now, status, Some(rank), actions) };
        let place = self.members.world().rank_of(rank).filter(|_| self.is_member(rank));
        let next = self.members.died(rank);
        let failed_starts = self.ranks[rank as usize].failed_starts + 1;
        self.last_death = status;
        if self.ending() {
            return;
        }
        if self.members.deaths() > most as usize {
            self.say(
                actions,
                format!("more than {most} {} have died (--max-deaths {most})", self.called.several()),
            );
            return self.end(now, status, Some(rank), actions);
        }
        if failed_starts > MOST_FAILED_STARTS {
            let text = format!(
                "{} has died {failed_starts} times without having been in a world between",
                self.called.rank(rank)
            );
            self.say(actions, text);
            return self.end(now, status, Some(rank), actions);
        }
        actions.extend(place.map(|place| JobAction::TellDeath(place, how)));
        if next == Consequence::Replaces {
            let state = &mut self.ranks[rank as usize];
            *state = RankState { failed_starts, ..RankState::new(0, state.host.take()) };
            actions.push(JobAction::Replace(rank, self.members.world().epoch));
        }
        self.goes_on(now, next, actions);
    }

    fn is_on(&self, rank: u32, host: &str) -> bool {
        self.ranks[rank as usize].host.as_deref() == Some(host)
    }

    /// Whether the ranks of a host had started: what cannot start is no death.
    fn has_begun(&self, host: &str) -> bool {
        (0..self.size())
            .filter(|rank| self.is_on(*rank, host))
            .all(|rank| self.ranks[rank as usize].joined || self.members.incarnation(rank) > 0)
    }

    /// A rank's next process runs on this host.
    pub fn moves(&mut self, rank: u32, host: &str) {
        self.ranks[rank as usize].host = Some(host.to_string());
    }

    /// The number of a rank in the newest world.
    pub fn number_in_world(&self, rank: u32) -> Option<u32> {
        self.members.world().rank_of(rank)
    }

    /// Whether a rank is in the newest world, and has neither died nor left.
    fn is_member(&self, rank: u32) -> bool {
        self.ranks[rank as usize].done.is_none() && !self.members.is_dead(rank) && !self.members.is_out(rank)
    }

    /// A rank leaves in order.
    fn leaves(&mut self, now: Instant, rank: u32, actions: &mut Vec<JobAction>) {
        let next = self.members.left(rank);
        self.goes_on(now, next, actions);
    }

    /// All work of this world is done.
    fn finishes(&mut self, now: Instant, epoch: u32, actions: &mut Vec<JobAction>) {
        let next = self.members.finishes(epoch);
        self.goes_on(now, next, actions);
    }

    /// Begins what follows from a change of the membership.
    fn goes_on(&mut self, now: Instant, next: Consequence, actions: &mut Vec<JobAction>) {
        if self.ending() {
            return;
        }
        match next {
            Consequence::Starts(world) => {
                if let Some(left) = self.members.misses() {
                    let text = format!(
                        "a rank has died, and rank {left} has ended its program already, so there is no world of all ranks any more: World::survive ends on all ranks or on none"
                    );
                    self.say(actions, text);
                    return self.end(now, 1, None, actions);
                }
                self.begin_counting();
                self.regroup_report = None;
                world.members.iter().for_each(|place| self.ranks[*place as usize].failed_starts = 0);
                actions.push(JobAction::Start(world));
            }
            Consequence::Done(ranks) => {
                self.regroup_report = None;
                actions.push(JobAction::TellDone(ranks));
            }
            Consequence::Nothing | Consequence::Replaces => {}
        }
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
}

#[cfg(test)]
mod tests;
