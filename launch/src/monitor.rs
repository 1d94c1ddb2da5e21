//! The monitor of a job: one poll loop over signals, the ranks of this host, agents on other hosts, and its
//! own standard output and error.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;
use std::time::{Duration, Instant};

use gasnet_wire::boot::ToMonitor;
use gasnet_wire::shm::deaths::DeathBoard;

use crate::Error;
use crate::channel::Channel;
use crate::crew::{Crew, Happening, RankEnd};
use crate::exchange::Gathering;
use crate::job::membership::JobWorld;
use crate::job::{Job, JobAction, JobEvent, OnDeath};
use crate::rank_name::RankName;
use crate::regroup::{DONE, NewWorld};
use crate::report::Report;
use crate::sinks::Sinks;
use crate::wire::{self, ToAgent};
use gasnet_sys::fd::{self, Standard};
use gasnet_sys::poll::{PollSet, Ready};
use gasnet_sys::process::{self, Pid};
use gasnet_sys::signals::{self, SignalSet};

/// How long the delivery of output may take after the user has ended the job.
const LAST_OUTPUT_TIMEOUT: Duration = Duration::from_secs(1);
/// How long agents may take to end, including the cleaning up after their ranks.
const AGENT_EXIT_TIMEOUT: Duration = Duration::from_secs(8);
/// Bytes of standard input that may be on their way to rank 0 on another host.
const INPUT_WINDOW_BYTES: usize = 1 << 16;

/// Signals that end the job.
pub(crate) const ENDING_SIGNALS: [i32; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];
/// Signals that are passed on to the ranks.
const FORWARDED_SIGNALS: [i32; 2] = [libc::SIGUSR1, libc::SIGUSR2];

/// The signals that a monitor reads from a descriptor. To be blocked before the first rank starts.
pub fn signals() -> SignalSet {
    let mut set = vec![libc::SIGCHLD];
    set.extend(FORWARDED_SIGNALS);
    set.extend(ENDING_SIGNALS.iter().filter(|&&s| s != libc::SIGHUP || !signals::ignored(s)));
    SignalSet::of(&set)
}

/// The monitor's record of an agent on another host.
pub struct AgentEnd {
    /// Name of the host.
    pub host: String,
    /// Its ranks.
    pub ranks: Rc<[u32]>,
    /// Our child process that is connected to it.
    spawner: Pid,
    /// The connection.
    pub channel: Channel<wire::ToMonitor, ToAgent>,
    /// It was told to finish, or is lost.
    over: bool,
}

impl AgentEnd {
    /// An agent just started by `spawner`.
    pub fn new(
        host: String,
        ranks: Vec<u32>,
        spawner: Pid,
        channel: Channel<wire::ToMonitor, ToAgent>,
    ) -> AgentEnd {
        AgentEnd { host, ranks: ranks.into(), spawner, channel, over: false }
    }

    /// Ends the process that connects to the agent, and so the agent and its ranks.
    pub(crate) fn kill(&self) {
        // The number may have been reused if the process has ended and was reaped.
        if process::children().contains(&self.spawner) {
            process::kill(self.spawner, libc::SIGKILL);
        }
    }
}

/// Starts a process in the place of this rank, to be in the world after the one of this epoch.
pub(crate) type Recruiter = Box<dyn Fn(u32, u32) -> Result<RankEnd, Error>>;

/// The state of the poll loop.
pub struct Monitor {
    signals: OwnedFd,
    job: Job,
    sinks: Sinks,
    /// The ranks of this host.
    crew: Crew,
    agents: Vec<AgentEnd>,
    gathering: Gathering,
    /// Where ranks are told of a death, if they may survive it.
    board: Option<DeathBoard>,
    /// The file of the first world's segments, if ranks may survive.
    first_segments: Option<OwnedFd>,
    heals: bool,
    /// How the dead are replaced, if they are.
    recruiter: Option<Recruiter>,
    /// A report under way of what ranks are blocked in.
    report: Option<Report>,
    /// Bytes of other hosts' streams that arrived and were not acknowledged yet.
    owed: HashMap<usize, usize>,
    /// Bytes of standard input that may be forwarded; `None` if this process does not read it, or at its end.
    input: Option<usize>,
    /// Print where ranks run.
    verbose: bool,
    /// The end of the time limit, and the limit.
    limit: Option<(Instant, Duration)>,
    /// A signal that ended the job.
    signalled: Option<i32>,
    /// The user asked a second time, or after the last rank ended: leave without delivering output.
    hurry: bool,
}

impl Monitor {
    /// Takes over the ranks of a job of `size` ranks on this host. `signals` are blocked already.
    ///
    /// # Errors
    /// The system refuses.
    pub fn here(size: u32, crew: Crew, signals: &SignalSet, limit: Option<Duration>) -> io::Result<Monitor> {
        let mut pids: Vec<_> = crew.pids().collect();
        pids.sort_unstable();
        let job = Job::new(&pids.iter().map(|(_, pid)| *pid).collect::<Vec<_>>());
        Monitor::new(size, job, crew, signals, limit)
    }

    /// Monitors ranks on other hosts; rank 0 reads the standard input of this process.
    ///
    /// # Errors
    /// The system refuses.
    pub fn of_agents(
        agents: Vec<AgentEnd>,
        signals: &SignalSet,
        limit: Option<Duration>,
        verbose: bool,
    ) -> io::Result<Monitor> {
        let mut hosts: Vec<(u32, &str)> =
            agents.iter().flat_map(|a| a.ranks.iter().map(|r| (*r, a.host.as_str()))).collect();
        hosts.sort_unstable();
        let job = Job::on_hosts(hosts.iter().map(|(_, host)| host.to_string()));
        let mut monitor = Monitor::new(
            hosts.len() as u32,
            job,
            Crew::new(Vec::new(), process::children(), None)?,
            signals,
            limit,
        )?;
        // Reading from a terminal in the background is then an error, and does not stop the process.
        signals::SignalAction::change(libc::SIGTTIN, true);
        (monitor.agents, monitor.verbose, monitor.input) = (agents, verbose, Some(INPUT_WINDOW_BYTES));
        Ok(monitor)
    }

    fn new(
        size: u32,
        job: Job,
        crew: Crew,
        signals: &SignalSet,
        limit: Option<Duration>,
    ) -> io::Result<Monitor> {
        Ok(Monitor {
            signals: signals.descriptor()?,
            job,
            sinks: Sinks::new(size)?,
            crew,
            agents: Vec::new(),
            gathering: Gathering::new(size),
            board: None,
            first_segments: None,
            heals: false,
            recruiter: None,
            report: None,
            owed: HashMap::new(),
            input: None,
            verbose: false,
            limit: limit.map(|limit| (Instant::now() + limit, limit)),
            signalled: None,
            hurry: false,
        })
    }

    /// Says what the death of a rank does; and where ranks are told of one that they may survive, and the file
    /// of their segments.
    pub(crate) fn on_death(&mut self, on_death: OnDeath, told: Option<(DeathBoard, OwnedFd)>) {
        self.job.on_death(on_death);
        (self.board, self.first_segments) = told.unzip();
        self.heals = on_death.heals();
    }

    /// Says how messages call ranks.
    pub(crate) fn call_ranks(&mut self, called: RankName) {
        self.job.called = called;
    }

    /// Says how processes are started that replace the dead.
    pub(crate) fn recruit_by(&mut self, recruiter: Recruiter) {
        self.recruiter = Some(recruiter);
    }

    /// Starts a process in the place of a rank that has died, to be in the world after the one of this epoch.
    fn replace(&mut self, rank: u32, epoch: u32) {
        let refused = || Error::Survival("ranks that a program starts by itself are not replaced".into());
        let started = self.recruiter.as_ref().ok_or_else(refused).and_then(|start| start(rank, epoch));
        let started = started.and_then(|end| {
            let pid = end.pid;
            self.crew.replace(end).map_err(Error::system("watching a rank"))?;
            Ok(pid)
        });
        match started {
            Ok(pid) => {
                self.job.started(rank, pid);
                let now = Instant::now();
                [0, 1].iter().for_each(|which| self.sinks.output.reopen(2 * rank as usize + which, now));
                if self.verbose {
                    let text = format!("{} takes its place", self.job.name(rank));
                    self.say(&text);
                }
            }
            Err(why) => self.handle(JobEvent::NoWorld(why.to_string())),
        }
    }

    /// Starts a world: its members get its memory, of which only they have descriptors.
    fn start_world(&mut self, world: &JobWorld) {
        let nothing = || Error::Survival("this launcher keeps nothing of the first world".into());
        let first = self.first_segments.as_ref().ok_or_else(nothing);
        match first.and_then(|first| NewWorld::new(world, self.heals, first)) {
            Ok(new) => {
                for (rank, member) in (0..).zip(&world.members) {
                    self.crew.hand(*member, &new.message(rank, world), &new.files);
                }
                self.board = Some(new.board);
            }
            Err(why) => self.handle(JobEvent::NoWorld(why.to_string())),
        }
    }

    /// Runs until the job is over and its output delivered. Returns the job's exit status.
    pub fn run(mut self) -> i32 {
        // All processes of the job exist. Writing beyond a file's limit (`ulimit -f`) is then an error here,
        // and does not kill the process.
        signals::SignalAction::change(libc::SIGXFSZ, true);
        while !self.job.over(Instant::now()) {
            self.step(None);
        }
        self.finish();
        self.job.status()
    }

    /// Writes each rank's number before its lines.
    pub fn label(&mut self) {
        self.sinks.label(self.job.size(), self.job.called);
    }

    /// Prints a message of the monitor.
    pub fn say(&mut self, text: &str) {
        self.sinks.say(text);
    }

    /// Waits for an event, at most until `until`, and handles it.
    fn step(&mut self, until: Option<Instant>) {
        let now = Instant::now();
        let mut fds = PollSet::default();
        fds.add_input(self.signals.as_fd());
        let polled = self.crew.poll_set(&mut fds, |stream| self.sinks.output.wants(stream));
        self.agents.iter().for_each(|a| a.channel.poll_set(&mut fds));
        let input = fds.len();
        if self.input.is_some_and(|room| room > 0) {
            fds.add_input(Standard::Input.fd());
        }
        let outputs = fds.len();
        self.sinks.poll_set(&mut fds);
        let report = self.report.as_ref().map(Report::due);
        let due =
            [until, report, self.job.deadline(), self.sinks.output.deadline(), self.limit.map(|(at, _)| at)];
        let beats = self.agents.iter().map(|a| a.channel.deadline());
        let timeout =
            due.into_iter().chain(beats).flatten().min().map(|at| at.saturating_duration_since(now));
        let found = fds.wait(timeout).unwrap_or_else(|_| {
            // Only a lack of memory can cause this; do not spin.
            std::thread::sleep(Duration::from_millis(10));
            Ready::default()
        });
        // A signal for the job is handled before its effects on ranks (Ctrl-C reaches them too); the end of a
        // rank is handled after its packets.
        let ended = found.has(0) && self.take_signals();
        self.with_crew(|crew, take| _ = crew.attend(&polled, &found, ended, take));
        if outputs > input && found.has(input) {
            self.read_input();
        }
        self.hear_agents();
        let now = Instant::now();
        if let Some((at, limit)) = self.limit
            && now >= at
        {
            self.limit = None;
            self.handle(JobEvent::TimeLimit(limit));
        }
        if let Some(report) = self.report.take_if(|report| now >= report.due()) {
            for line in report.lines(self.job.called, |rank| self.job.is_gone(rank)) {
                self.say(&line);
            }
        }
        let actions = self.job.tick(now);
        self.act(actions);
        self.sinks.output.tick(now);
        self.write();
    }

    /// Lets the crew do something, and handles what happened.
    fn with_crew(&mut self, f: impl FnOnce(&mut Crew, crate::crew::Take<'_>)) {
        let mut events = Vec::new();
        let output = &mut self.sinks.output;
        let now = Instant::now();
        f(&mut self.crew, &mut |happening| match happening {
            Happening::Output(stream, bytes) => output.feed(stream, bytes, now),
            Happening::OutputEnd(stream) => output.end(stream, now),
            Happening::Said(rank, packet) => events.push((rank, Said::Packet(packet.to_vec()))),
            Happening::LinkClosed(rank) => events.push((rank, Said::Event(JobEvent::LinkClosed(rank)))),
            Happening::Ended(rank, how) => events.push((rank, Said::Event(JobEvent::Ended(rank, how)))),
        });
        for (rank, said) in events {
            match said {
                Said::Packet(packet) => self.hear(rank, &packet),
                Said::Event(event) => self.handle(event),
            }
        }
    }

    /// A rank has sent a packet.
    fn hear(&mut self, rank: u32, packet: &[u8]) {
        match ToMonitor::decode(packet) {
            Some(ToMonitor::Exchange(last, part)) => {
                let result = self.gathering.add(rank, last, &part);
                self.handle(JobEvent::Packet(rank, ToMonitor::Exchange(last, Vec::new())));
                if let Some(result) = result {
                    self.crew.answer_all(&Rc::from(&*result));
                    let answer = ToAgent::Answer(result);
                    self.agents.iter_mut().for_each(|a| a.channel.send(&answer));
                }
            }
            Some(ToMonitor::Blocked(unasked, wait)) => {
                let wait = self.job.in_first_numbers(wait);
                if unasked {
                    self.ask_all();
                }
                if let Some(report) = &mut self.report {
                    report.add(rank, wait);
                }
            }
            Some(ToMonitor::Waits(number, wait)) => {
                let wait = self.job.in_first_numbers(wait);
                self.handle(JobEvent::Packet(rank, ToMonitor::Waits(number, wait)));
            }
            Some(packet) => self.handle(JobEvent::Packet(rank, packet)),
            None => {
                let name = self.job.called.rank(rank);
                self.say(&format!("{name} sent a packet of {} bytes that is not valid", packet.len()))
            }
        }
    }

    /// Asks all ranks what they are blocked in, unless a report is under way.
    fn ask_all(&mut self) {
        if self.report.is_none() {
            self.report = Some(Report::new(self.job.size(), Instant::now()));
            self.pass_on(gasnet_wire::report::question());
        }
    }

    fn pass_on(&mut self, signal: i32) {
        self.crew.signal(signal);
        self.agents.iter_mut().for_each(|a| a.channel.send(&ToAgent::Signal(signal)));
    }

    fn handle(&mut self, event: JobEvent) {
        let actions = self.job.handle(Instant::now(), event);
        self.act(actions);
    }

    fn act(&mut self, actions: Vec<JobAction>) {
        for action in actions {
            match action {
                JobAction::Say(text) => self.say(&text),
                JobAction::Ask => {
                    self.ask_all();
                    if let Some(report) = &mut self.report {
                        self.job.told_waits().for_each(|(rank, wait)| report.add(rank, wait.clone()));
                    }
                }
                JobAction::Tell(rank) => match self.agent_of(rank) {
                    Some(agent) => agent.channel.send(&ToAgent::Tell(rank)),
                    None => self.crew.tell(rank),
                },
                JobAction::Kill(rank) => match self.agent_of(rank) {
                    Some(agent) => agent.channel.send(&ToAgent::Kill(rank)),
                    None => self.crew.kill(rank),
                },
                JobAction::KillProgram(rank) => match self.agent_of(rank) {
                    Some(agent) => agent.channel.send(&ToAgent::KillProgram(rank)),
                    None => self.crew.kill_program(rank),
                },
                JobAction::TellDeath(rank, how) => {
                    if let Some(board) = &self.board {
                        board.died(rank, how);
                    }
                }
                JobAction::Start(world) => self.start_world(&world),
                JobAction::Replace(rank, epoch) => self.replace(rank, epoch),
                JobAction::TellDone(ranks) => {
                    ranks.iter().for_each(|rank| self.crew.hand(*rank, &DONE, &Rc::from([])));
                }
            }
        }
    }

    fn agent_of(&mut self, rank: u32) -> Option<&mut AgentEnd> {
        self.agents.iter_mut().find(|a| a.ranks.contains(&rank))
    }

    /// Handles all signals that have arrived. Returns whether a child may have ended.
    fn take_signals(&mut self) -> bool {
        let mut ended = false;
        while let Some(signal) = signals::next_signal(self.signals.as_fd()) {
            if signal == libc::SIGCHLD {
                ended = true;
            } else if FORWARDED_SIGNALS.contains(&signal) {
                if signal == libc::SIGUSR1 {
                    self.ask_all();
                }
                self.pass_on(signal);
            } else {
                self.hurry |= self.signalled.is_some() || self.job.over(Instant::now());
                self.signalled = Some(signal);
                self.handle(JobEvent::Signal(signal));
            }
        }
        ended
    }

    /// Reads standard input and sends it to rank 0.
    fn read_input(&mut self) {
        let Some(room) = self.input else { return };
        let mut buffer = vec![0; room];
        let read = fd::read(Standard::Input.fd(), &mut buffer);
        let frame = match read {
            Ok(n) if n > 0 => {
                self.input = Some(room - n);
                buffer.truncate(n);
                ToAgent::Input(buffer)
            }
            Err(e) if matches!(e.kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock) => return,
            _ => {
                self.input = None;
                ToAgent::InputEnd
            }
        };
        if let Some(agent) = self.agent_of(0) {
            agent.channel.send(&frame);
        }
    }

    /// Handles all frames of agents, and lost agents.
    fn hear_agents(&mut self) {
        for i in 0..self.agents.len() {
            self.agents[i].channel.tend(&ToAgent::Beat, Instant::now());
            while let Some(frame) = self.agents[i].channel.next() {
                self.hear_agent(i, frame);
            }
            let agent = &mut self.agents[i];
            let greeted = agent.channel.greeted();
            let why = match agent.channel.closed() {
                _ if agent.over => continue,
                Some(why) if greeted => why.to_string(),
                Some(_) => format!(
                    "gasnetrun could not be started there; see what ssh says above, and gasnetrun --doctor --hosts {}",
                    agent.host
                ),
                // No agent is there yet that could be told.
                None if !greeted && self.job.ending() => "it was still to be reached".to_string(),
                None => continue,
            };
            agent.over = true;
            agent.kill();
            let host = agent.host.clone();
            self.handle(JobEvent::HostLost(host, why));
        }
        for (stream, owed) in &mut self.owed {
            if *owed > 0 && self.sinks.output.wants(*stream) {
                let rank = *stream as u32 / 2;
                if let Some(agent) = self.agents.iter_mut().find(|a| a.ranks.contains(&rank)) {
                    agent.channel.send(&ToAgent::Taken(*stream as u32, *owed as u32));
                }
                *owed = 0;
            }
        }
    }

    fn hear_agent(&mut self, i: usize, frame: wire::ToMonitor) {
        use wire::ToMonitor as T;
        let ranks = self.agents[i].ranks.clone();
        // Ignore what it says about other hosts' ranks.
        let own = |rank: u32| ranks.contains(&rank);
        let now = Instant::now();
        match frame {
            T::Started(rank, pid, place) if own(rank) => {
                self.job.started(rank, pid);
                if self.verbose {
                    let text = format!("{} {}", self.job.name(rank), String::from_utf8_lossy(&place));
                    self.say(&text);
                }
            }
            T::Failed(status, why) => {
                let (host, why) = (self.agents[i].host.clone(), String::from_utf8_lossy(&why).into_owned());
                self.agents[i].over = true;
                self.handle(JobEvent::HostFailed(host, status, why));
            }
            T::Said(rank, packet) if own(rank) => self.hear(rank, &packet),
            T::LinkClosed(rank) if own(rank) => self.handle(JobEvent::LinkClosed(rank)),
            T::Ended(rank, how) if own(rank) => self.handle(JobEvent::Ended(rank, how)),
            T::Output(stream, bytes) if own(stream / 2) => {
                self.sinks.output.feed(stream as usize, &bytes, now);
                *self.owed.entry(stream as usize).or_default() += bytes.len();
            }
            T::OutputEnd(stream) if own(stream / 2) => self.sinks.output.end(stream as usize, now),
            T::InputTaken(n) => {
                self.input = self.input.map(|room| (room + n as usize).min(INPUT_WINDOW_BYTES))
            }
            _ => {}
        }
    }

    fn write(&mut self) {
        if let Some(event) = self.sinks.write() {
            self.handle(event);
        }
    }

    /// All ranks are gone: ends what they left behind, and delivers the rest of the output.
    fn finish(&mut self) {
        self.input = None;
        let over = Instant::now();
        while !self.job.ending()
            && self.agents.is_empty()
            && let Some(until) = self.crew.lingers(over)
        {
            self.step(Some(until));
        }
        self.dismiss_agents();
        self.with_crew(|crew, take| crew.clear(take));
        let until = self.signalled.map(|_| Instant::now() + LAST_OUTPUT_TIMEOUT);
        for stream in self.crew.streams() {
            while self.crew.is_open(stream) && self.in_time(until) {
                if !self.sinks.output.wants(stream) {
                    // Another stream owns the sink, or the reader is slow.
                    self.step(Some(Instant::now() + Duration::from_millis(50)));
                } else {
                    self.with_crew(|crew, take| crew.drain(stream, take));
                }
                self.write();
            }
        }
        while self.sinks.pending() && self.in_time(until) {
            self.step(until);
        }
    }

    /// Tells the agents to finish, and handles their last frames.
    fn dismiss_agents(&mut self) {
        for agent in &mut self.agents {
            agent.over = true;
            agent.channel.send(&ToAgent::Finish);
        }
        let until = Instant::now() + AGENT_EXIT_TIMEOUT;
        while self.agents.iter().any(|a| a.channel.closed().is_none()) && self.in_time(Some(until)) {
            self.step(Some(until));
        }
        for agent in &mut self.agents {
            // It has usually ended already.
            agent.kill();
        }
        self.agents.clear();
    }

    fn in_time(&self, until: Option<Instant>) -> bool {
        !self.hurry && until.is_none_or(|until| Instant::now() < until)
    }
}

/// An event of a rank other than output.
enum Said {
    Packet(Vec<u8>),
    Event(JobEvent),
}
