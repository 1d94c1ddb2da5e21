//! The monitor of a job: one poll loop over signals, the ranks of this host, agents on other hosts, and its
//! own standard output and error.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;
use std::time::{Duration, Instant};

use gasnet_wire::boot::ToMonitor;

use crate::channel::Channel;
use crate::crew::{Crew, Happening};
use crate::exchange::{Gathered, Gathering};
use crate::job::membership::JobWorld;
use crate::job::{Job, JobAction, JobEvent, OnDeath};
use crate::rank_name::RankName;
use crate::regroup::{LocalWorld, Recruiter, WorldOrder};
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
    /// The time in its last heartbeat.
    time: u64,
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
        AgentEnd { host, ranks: ranks.into(), spawner, channel, time: 0, over: false }
    }

    /// Ends the process that connects to the agent, and so the agent and its ranks.
    pub(crate) fn kill(&self) {
        // The number may have been reused if the process has ended and was reaped.
        if process::children().contains(&self.spawner) {
            process::kill(self.spawner, libc::SIGKILL);
        }
    }
}

/// The state of the poll loop.
pub struct Monitor {
    signals: OwnedFd,
    job: Job,
    sinks: Sinks,
    /// The ranks of this host.
    crew: Crew,
    agents: Vec<AgentEnd>,
    gathering: Gathering,
    /// The newest world, as far as it is on this host.
    world: LocalWorld,
    /// Whether ranks survive deaths.
    survives: bool,
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
    pub(crate) fn here(
        size: u32,
        (crew, world): (Crew, LocalWorld),
        on_death: OnDeath,
        signals: &SignalSet,
        limit: Option<Duration>,
    ) -> io::Result<Monitor> {
        let mut pids: Vec<_> = crew.pids().collect();
        pids.sort_unstable();
        let job = Job::new(&pids.iter().map(|(_, pid)| *pid).collect::<Vec<_>>());
        let mut monitor = Monitor::new(size, (job, on_death), crew, signals, limit)?;
        monitor.world = world;
        Ok(monitor)
    }

    /// Monitors ranks on other hosts; rank 0 reads the standard input of this process.
    ///
    /// # Errors
    /// The system refuses.
    pub fn of_agents(
        agents: Vec<AgentEnd>,
        on_death: OnDeath,
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
            (job, on_death),
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
        (mut job, on_death): (Job, OnDeath),
        crew: Crew,
        signals: &SignalSet,
        limit: Option<Duration>,
    ) -> io::Result<Monitor> {
        job.on_death(on_death);
        Ok(Monitor {
            signals: signals.descriptor()?,
            job,
            sinks: Sinks::new(size)?,
            crew,
            agents: Vec::new(),
            gathering: Gathering::new(size),
            world: LocalWorld::default(),
            survives: on_death.most().is_some(),
            report: None,
            owed: HashMap::new(),
            input: None,
            verbose: false,
            limit: limit.map(|limit| (Instant::now() + limit, limit)),
            signalled: None,
            hurry: false,
        })
    }

    /// Says how messages call ranks.
    pub(crate) fn call_ranks(&mut self, called: RankName) {
        self.job.called = called;
    }

    /// Says how processes are started that replace the dead.
    pub(crate) fn recruit_by(&mut self, recruiter: Recruiter) {
        self.world.recruit_by(recruiter);
    }

    /// Has an order about the newest world carried out on all hosts, but for those on which `order` gives
    /// none; it is given the places on the host, ascending.
    fn order(&mut self, order: impl Fn(&[u32]) -> Option<WorldOrder>) {
        for agent in self.agents.iter_mut().filter(|agent| !agent.over) {
            if let Some(order) = order(&agent.ranks) {
                agent.channel.send(&ToAgent::World(order));
            }
        }
        let mut here: Vec<u32> = self.crew.pids().map(|(rank, _)| rank).collect();
        here.sort_unstable();
        if let Some(order) = order(&here).filter(|_| !here.is_empty()) {
            match self.world.obey(&mut self.crew, &order) {
                Ok(Some(pid)) => {
                    if let WorldOrder::Replace(rank, _) = order {
                        self.replaced(rank, pid, "takes its place");
                    }
                }
                Ok(None) => {}
                Err(why) => self.handle(JobEvent::NoWorld(why.to_string())),
            }
        }
    }

    /// An order that concerns these places only.
    fn order_for(&mut self, places: &[u32], order: impl Fn(Vec<u32>) -> WorldOrder) {
        self.order(|here| {
            let there: Vec<u32> =
                places.iter().copied().filter(|place| here.binary_search(place).is_ok()).collect();
            (!there.is_empty()).then(|| order(there))
        });
    }

    /// Starts a process in the place of a rank that has died, to be in the world after the one of this epoch:
    /// where that was, or where the fewest ranks are if its host is lost.
    fn replace(&mut self, rank: u32, epoch: u32) {
        if let Some(from) = self.agents.iter().position(|a| a.over && a.ranks.contains(&rank)) {
            let there = (0..self.agents.len()).filter(|at| !self.agents[*at].over);
            let Some(to) = there.min_by_key(|at| self.agents[*at].ranks.len()) else {
                return self.handle(JobEvent::NoWorld("no host is left".into()));
            };
            let without: Vec<u32> = self.agents[from].ranks.iter().copied().filter(|r| *r != rank).collect();
            let mut with = self.agents[to].ranks.to_vec();
            with.push(rank);
            with.sort_unstable();
            (self.agents[from].ranks, self.agents[to].ranks) = (without.into(), with.into());
            self.job.moves(rank, &self.agents[to].host);
        }
        self.order(|here| here.contains(&rank).then_some(WorldOrder::Replace(rank, epoch)));
    }

    /// A rank runs as another process.
    fn replaced(&mut self, rank: u32, pid: Pid, place: &str) {
        self.job.started(rank, pid);
        let now = Instant::now();
        [0, 1].iter().for_each(|which| self.sinks.output.reopen(2 * rank as usize + which, now));
        if self.verbose {
            let text = format!("{} {place}", self.job.name(rank));
            self.say(&text);
        }
    }

    /// Starts a world: its members get its memory, of which only they have descriptors.
    fn start_world(&mut self, world: &JobWorld) {
        self.gathering = Gathering::new(world.members.len() as u32);
        let name = gasnet_sys::random();
        self.order_for(&world.members, |here| WorldOrder::Start(world.clone(), name, here));
    }

    /// The places of these ranks of the newest world.
    fn places(&self, ranks: &[u32]) -> Vec<u32> {
        let number = |place: &u32| self.job.number_in_world(*place).is_some_and(|n| ranks.contains(&n));
        (0..self.job.size()).filter(number).collect()
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
        let beats = self
            .agents
            .iter()
            .filter(|a| !a.over)
            .map(|a| a.channel.deadline().or_else(|| self.survives.then(|| a.channel.lost_at())));
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
                // Only members of the newest world have exchanges.
                let gathered = match self.job.number_in_world(rank) {
                    Some(number) => self.gathering.add(number, last, &part),
                    None => Gathered::Broken,
                };
                self.handle(JobEvent::Packet(rank, ToMonitor::Exchange(last, Vec::new())));
                match gathered {
                    Gathered::Waits => {}
                    Gathered::Broken => self.order_for(&[rank], WorldOrder::Broken),
                    Gathered::Result(result) => {
                        self.crew.answer_all(&Rc::from(&*result));
                        let answer = ToAgent::Answer(result);
                        self.agents.iter_mut().for_each(|a| a.channel.send(&answer));
                    }
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
                    self.order(|_| Some(WorldOrder::Died(rank, how)));
                    let waiting = self.gathering.breaks();
                    let places = self.places(&waiting);
                    self.order_for(&places, WorldOrder::Broken);
                }
                JobAction::TellGaveUp(rank) => self.order(|_| Some(WorldOrder::GaveUp(rank))),
                JobAction::Start(world) => self.start_world(&world),
                JobAction::Replace(rank, epoch) => self.replace(rank, epoch),
                JobAction::TellDone(ranks) => self.order_for(&ranks, WorldOrder::Done),
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
            let time = self.agents[i].time;
            self.agents[i].channel.tend(&ToAgent::Beat(time), Instant::now());
            while let Some(frame) = self.agents[i].channel.next() {
                self.hear_agent(i, frame);
            }
            let agent = &mut self.agents[i];
            let greeted = agent.channel.greeted();
            let why = match agent.channel.closed() {
                _ if agent.over => continue,
                // Its ranks may live as long as their lease.
                Some(_) if greeted && self.survives && Instant::now() < agent.channel.lost_at() => continue,
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
            let (host, ranks, now) = (agent.host.clone(), agent.ranks.clone(), Instant::now());
            ranks.iter().flat_map(|r| [2 * *r as usize, 2 * *r as usize + 1]).for_each(|stream| {
                self.sinks.output.end(stream, now);
            });
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
            T::Started(rank, pid, place) if own(rank) && self.job.incarnation(rank) > 0 => {
                self.replaced(rank, pid, &String::from_utf8_lossy(&place));
            }
            T::Beat(time) => self.agents[i].time = time,
            T::NoWorld(why) => self.handle(JobEvent::NoWorld(String::from_utf8_lossy(&why).into_owned())),
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
