//! The process that watches over a job: one poll loop over signals, the ranks of this host, agents on other hosts, and its own
//! standard output and error.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::rc::Rc;
use std::time::{Duration, Instant};

use gasnet::boot::ToMonitor;

use crate::channel::Channel;
use crate::crew::{Crew, Happening};
use crate::exchange::Gathering;
use crate::job::{Action, Event, Job};
use crate::report::Report;
use crate::sinks::Sinks;
use crate::sys::{self, Pid, SignalSet};
use crate::wire::{self, ToAgent};

/// How long output may take to be delivered after the user has ended the job.
const LAST_OUTPUT: Duration = Duration::from_secs(1);
/// How long agents may take to leave, with what ranks left behind there.
const FAREWELL: Duration = Duration::from_secs(8);
/// Bytes of standard input that may be on their way to rank 0 on another host.
const INPUT_WINDOW: usize = 1 << 16;

/// Signals that end the job.
pub(crate) const ENDING: [i32; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];
/// Signals that are passed on to the ranks.
const FORWARDED: [i32; 2] = [libc::SIGUSR1, libc::SIGUSR2];

/// The signals a monitor takes from a descriptor. To be blocked before the first rank starts.
pub fn signals() -> SignalSet {
    let mut set = vec![libc::SIGCHLD];
    set.extend(FORWARDED);
    set.extend(ENDING.iter().filter(|&&s| s != libc::SIGHUP || !sys::ignored(s)));
    SignalSet::of(&set)
}

/// An agent on another host, as its monitor sees it.
pub struct AgentEnd {
    /// Name of the host.
    pub host: String,
    /// Its ranks.
    pub ranks: Rc<[u32]>,
    /// The process of ours that is connected to it.
    spawner: Pid,
    /// The connection.
    pub channel: Channel<wire::ToMonitor, ToAgent>,
    /// It was told to finish, or is lost.
    over: bool,
}

impl AgentEnd {
    /// An agent that was just started by `spawner`.
    pub fn new(
        host: String,
        ranks: Vec<u32>,
        spawner: Pid,
        channel: Channel<wire::ToMonitor, ToAgent>,
    ) -> AgentEnd {
        AgentEnd { host, ranks: ranks.into(), spawner, channel, over: false }
    }

    /// Ends the process that is connected to it, and so the agent and its ranks.
    pub(crate) fn kill(&self) {
        // Its number may be somebody else's by now, if it has ended and was reaped.
        if sys::children().contains(&self.spawner) {
            sys::kill(self.spawner, libc::SIGKILL);
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
    /// A report of what ranks are blocked in, under way.
    report: Option<Report>,
    /// Bytes of each stream of other hosts that were taken in and not yet acknowledged.
    owed: HashMap<usize, usize>,
    /// Bytes of standard input that may be sent on; `None` when it is not ours to read, or at its end.
    input: Option<usize>,
    /// Say where ranks run.
    verbose: bool,
    /// When the time given by the user is over, and that time.
    limit: Option<(Instant, Duration)>,
    /// A signal that ended the job.
    signalled: Option<i32>,
    /// The user asked a second time, or after the last rank: leave without delivering output.
    hurry: bool,
}

impl Monitor {
    /// Takes over the ranks of a job of `size` ranks, all of them here. `signals` are blocked already.
    ///
    /// # Errors
    /// The system refuses.
    pub fn here(size: u32, crew: Crew, signals: &SignalSet, limit: Option<Duration>) -> io::Result<Monitor> {
        let mut pids: Vec<_> = crew.pids().collect();
        pids.sort_unstable();
        let job = Job::new(&pids.iter().map(|(_, pid)| *pid).collect::<Vec<_>>());
        Monitor::new(size, job, crew, signals, limit)
    }

    /// Watches over ranks on other hosts; rank 0 reads the standard input of this process.
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
            Crew::new(Vec::new(), sys::children(), None)?,
            signals,
            limit,
        )?;
        // Reading from a terminal in the background is an error then, and not a stop.
        sys::SignalAction::change(libc::SIGTTIN, true);
        (monitor.agents, monitor.verbose, monitor.input) = (agents, verbose, Some(INPUT_WINDOW));
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
            report: None,
            owed: HashMap::new(),
            input: None,
            verbose: false,
            limit: limit.map(|limit| (Instant::now() + limit, limit)),
            signalled: None,
            hurry: false,
        })
    }

    /// Watches until the job is over and its output delivered. Returns its exit status.
    pub fn run(mut self) -> i32 {
        // All processes of the job are there. Output to a file at its limit (`ulimit -f`) is an error of a write here, not a death.
        sys::SignalAction::change(libc::SIGXFSZ, true);
        while !self.job.over(Instant::now()) {
            self.step(None);
        }
        self.finish();
        self.job.status()
    }

    /// Prints a line of the monitor's own.
    pub fn say(&mut self, text: &str) {
        self.sinks.say(text);
    }

    /// Waits for something to happen, at most until `until`, and deals with it.
    fn step(&mut self, until: Option<Instant>) {
        let now = Instant::now();
        let mut fds = vec![sys::poll_in(self.signals.as_raw_fd())];
        let polled = self.crew.poll_set(&mut fds, |stream| self.sinks.output.wants(stream));
        self.agents.iter().for_each(|a| a.channel.poll_set(&mut fds));
        let input = fds.len();
        if self.input.is_some_and(|room| room > 0) {
            fds.push(sys::poll_in(0));
        }
        let outputs = fds.len();
        self.sinks.poll_set(&mut fds);
        let report = self.report.as_ref().map(Report::due);
        let due =
            [until, report, self.job.deadline(), self.sinks.output.deadline(), self.limit.map(|(at, _)| at)];
        let beats = self.agents.iter().map(|a| a.channel.deadline());
        let timeout =
            due.into_iter().chain(beats).flatten().min().map(|at| at.saturating_duration_since(now));
        if sys::poll(&mut fds, timeout).is_err() {
            // Only memory shortage can do that; do not spin on it.
            std::thread::sleep(Duration::from_millis(10));
        }
        // A signal for the job comes before what ranks do about theirs (Ctrl-C reaches them too); the end of a rank comes
        // after everything it has said.
        let ended = fds[0].revents != 0 && self.take_signals();
        self.with_crew(|crew, take| _ = crew.attend(&polled, &fds, ended, take));
        if outputs > input && fds[input].revents != 0 {
            self.read_input();
        }
        self.hear_agents();
        let now = Instant::now();
        if let Some((at, limit)) = self.limit
            && now >= at
        {
            self.limit = None;
            self.handle(Event::TimeLimit(limit));
        }
        if let Some(report) = self.report.take_if(|report| now >= report.due()) {
            for line in report.lines(|rank| self.job.is_gone(rank)) {
                self.say(&line);
            }
        }
        let actions = self.job.tick(now);
        self.act(actions);
        self.sinks.output.tick(now);
        self.write();
    }

    /// Has the crew do something, and deals with what happened.
    fn with_crew(&mut self, f: impl FnOnce(&mut Crew, crate::crew::Take<'_>)) {
        let mut events = Vec::new();
        let output = &mut self.sinks.output;
        let now = Instant::now();
        f(&mut self.crew, &mut |happening| match happening {
            Happening::Output(stream, bytes) => output.feed(stream, bytes, now),
            Happening::OutputEnd(stream) => output.end(stream, now),
            Happening::Said(rank, packet) => events.push((rank, Said::Packet(packet.to_vec()))),
            Happening::LinkClosed(rank) => events.push((rank, Said::Event(Event::LinkClosed(rank)))),
            Happening::Ended(rank, how) => events.push((rank, Said::Event(Event::Ended(rank, how)))),
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
                self.handle(Event::Packet(rank, ToMonitor::Exchange(last, Vec::new())));
                if let Some(result) = result {
                    self.crew.answer_all(&Rc::from(&*result));
                    let answer = ToAgent::Answer(result);
                    self.agents.iter_mut().for_each(|a| a.channel.send(&answer));
                }
            }
            Some(ToMonitor::Blocked(unasked, wait)) => {
                if unasked {
                    self.ask_all();
                }
                if let Some(report) = &mut self.report {
                    report.add(rank, wait);
                }
            }
            Some(packet) => self.handle(Event::Packet(rank, packet)),
            None => {
                self.say(&format!("rank {rank} sent a packet of {} bytes that means nothing", packet.len()))
            }
        }
    }

    /// Asks all ranks what they are blocked in, unless that is under way.
    fn ask_all(&mut self) {
        if self.report.is_none() {
            self.report = Some(Report::new(self.job.size(), Instant::now()));
            self.pass_on(gasnet::report::question());
        }
    }

    fn pass_on(&mut self, signal: i32) {
        self.crew.signal(signal);
        self.agents.iter_mut().for_each(|a| a.channel.send(&ToAgent::Signal(signal)));
    }

    fn handle(&mut self, event: Event) {
        let actions = self.job.handle(Instant::now(), event);
        self.act(actions);
    }

    fn act(&mut self, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Say(text) => self.say(&text),
                Action::Tell(rank) => match self.agent_of(rank) {
                    Some(agent) => agent.channel.send(&ToAgent::Tell(rank)),
                    None => self.crew.tell(rank),
                },
                Action::Kill(rank) => match self.agent_of(rank) {
                    Some(agent) => agent.channel.send(&ToAgent::Kill(rank)),
                    None => self.crew.kill(rank),
                },
            }
        }
    }

    fn agent_of(&mut self, rank: u32) -> Option<&mut AgentEnd> {
        self.agents.iter_mut().find(|a| a.ranks.contains(&rank))
    }

    /// Takes all signals that have come. Returns whether a child may have ended.
    fn take_signals(&mut self) -> bool {
        let mut ended = false;
        while let Some(signal) = sys::next_signal(self.signals.as_fd()) {
            if signal == libc::SIGCHLD {
                ended = true;
            } else if FORWARDED.contains(&signal) {
                if signal == libc::SIGUSR1 {
                    self.ask_all();
                }
                self.pass_on(signal);
            } else {
                self.hurry |= self.signalled.is_some() || self.job.over(Instant::now());
                self.signalled = Some(signal);
                self.handle(Event::Signal(signal));
            }
        }
        ended
    }

    /// Reads standard input and sends it to rank 0.
    fn read_input(&mut self) {
        let Some(room) = self.input else { return };
        let mut buffer = vec![0; room];
        let read = sys::read(io::stdin().as_fd(), &mut buffer);
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

    /// Deals with everything that agents have said, and with their silence.
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
                // Nobody is there yet who could be told.
                None if !greeted && self.job.ending() => "it was still to be reached".to_string(),
                None => continue,
            };
            agent.over = true;
            agent.kill();
            let host = agent.host.clone();
            self.handle(Event::HostLost(host, why));
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
        // What it says about other hosts' ranks is nonsense.
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
                self.handle(Event::HostFailed(host, status, why));
            }
            T::Said(rank, packet) if own(rank) => self.hear(rank, &packet),
            T::LinkClosed(rank) if own(rank) => self.handle(Event::LinkClosed(rank)),
            T::Ended(rank, how) if own(rank) => self.handle(Event::Ended(rank, how)),
            T::Output(stream, bytes) if own(stream / 2) => {
                self.sinks.output.feed(stream as usize, &bytes, now);
                *self.owed.entry(stream as usize).or_default() += bytes.len();
            }
            T::OutputEnd(stream) if own(stream / 2) => self.sinks.output.end(stream as usize, now),
            T::InputTaken(n) => self.input = self.input.map(|room| (room + n as usize).min(INPUT_WINDOW)),
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
        let until = self.signalled.map(|_| Instant::now() + LAST_OUTPUT);
        for stream in self.crew.streams() {
            while self.crew.is_open(stream) && self.in_time(until) {
                if !self.sinks.output.wants(stream) {
                    // Another stream of the sink has the word, or the reader is slow.
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

    /// Has the agents leave, and takes in what they still have to say.
    fn dismiss_agents(&mut self) {
        for agent in &mut self.agents {
            agent.over = true;
            agent.channel.send(&ToAgent::Finish);
        }
        let until = Instant::now() + FAREWELL;
        while self.agents.iter().any(|a| a.channel.closed().is_none()) && self.in_time(Some(until)) {
            self.step(Some(until));
        }
        for agent in &mut self.agents {
            // Gone already, as a rule.
            agent.kill();
        }
        self.agents.clear();
    }

    fn in_time(&self, until: Option<Instant>) -> bool {
        !self.hurry && until.is_none_or(|until| Instant::now() < until)
    }
}

/// What a rank did, besides writing.
enum Said {
    Packet(Vec<u8>),
    Event(Event),
}
