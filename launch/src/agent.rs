//! The agent of a monitor on another host: `gasnetrun --agent`, started there by ssh.
//!
//! An agent starts the ranks of its host, reports everything that they do, and carries out the monitor's
//! orders. It takes one decision itself: when it hears no more from the monitor, it ends its ranks.
//!
//! Where ranks survive deaths it has a *lease*. Its heartbeats carry its time, those of the monitor the
//! newest that it has heard. When the lease is over since the time that came back last, it ends its ranks.
//! The monitor takes them for dead when it has not heard the agent for the lease and a margin
//! ([`crate::settings`]). What came back last was sent before it was heard, so the ranks have ended by then,
//! whatever the network has lost or held back.

use std::collections::HashMap;
use std::ffi::OsString;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStringExt;
use std::rc::Rc;
use std::time::{Duration, Instant};

use crate::Error;
use crate::channel::Channel;
use crate::command::{Command, find};
use crate::crew::{Crew, Happening};
use crate::monitor;
use crate::rank_name::RankName;
use crate::regroup::{LocalWorld, WorldOrder};
use crate::spawn::{self, Recruiter};
use crate::start::Start;
use crate::wire::{GREETING, Task, ToAgent, ToMonitor};
use gasnet_sys::fd::{self, Access, Standard};
use gasnet_sys::poll::{PollSet, Ready};
use gasnet_sys::{process, signals};

/// Bytes of a stream that may be on their way to the monitor.
const STREAM_WINDOW_BYTES: usize = 1 << 16;
/// Time limit for sending the last frames.
const LAST_FRAMES_TIMEOUT: Duration = Duration::from_secs(1);

type ToFront = Channel<ToAgent, ToMonitor>;

/// The main function of an agent: returns its exit status.
pub fn main() -> i32 {
    let outcome =
        connect().map(|mut channel| wait_for_task(&mut channel).map_or(1, |task| work(channel, task)));
    outcome.unwrap_or_else(|error| {
        eprintln!("gasnetrun: agent: {error}");
        1
    })
}

/// Takes standard input and output for the channel, so that nothing else in this process uses them.
fn connect() -> Result<ToFront, Error> {
    fd::ensure_standard_descriptors();
    fd::keep_descriptors_private();
    signals::SignalAction::change(libc::SIGPIPE, true);
    let own = |standard: Standard| fd::duplicate(standard.fd()).map_err(Error::system("dup"));
    let (input, output) = (own(Standard::Input)?, own(Standard::Output)?);
    let null = fd::open("/dev/null", Access::ReadWrite).map_err(Error::system("/dev/null"))?;
    for standard in [Standard::Input, Standard::Output] {
        standard.redirect(null.as_fd()).map_err(Error::system("dup2"))?;
    }
    let mut channel =
        Channel::new(input, output, false, Instant::now()).map_err(Error::system("standard input"))?;
    channel.send_raw(GREETING);
    Ok(channel)
}

/// Waits until `until`, or until something arrives, and serves the channel meanwhile.
fn wait(channel: &mut ToFront, until: Option<Instant>) {
    let mut fds = PollSet::default();
    channel.poll_set(&mut fds);
    let now = Instant::now();
    let due = [until, channel.deadline()].into_iter().flatten().min();
    let _ = fds.wait(due.map(|at| at.saturating_duration_since(now)));
    channel.tend(&ToMonitor::Beat(0), Instant::now());
}

fn wait_for_task(channel: &mut ToFront) -> Option<Task> {
    loop {
        match channel.next() {
            Some(ToAgent::Start(task)) => return Some(*task),
            Some(ToAgent::Finish) => return None,
            Some(_) => {}
            None if channel.closed().is_some() => return None,
            None => wait(channel, None),
        }
    }
}

/// Sends the last frames.
fn say_last(channel: &mut ToFront) {
    let until = Instant::now() + LAST_FRAMES_TIMEOUT;
    while channel.pending() && Instant::now() < until {
        wait(channel, Some(until));
    }
}

fn work(mut channel: ToFront, task: Task) -> i32 {
    match start(&mut channel, &task) {
        Ok(((crew, world), signals)) => {
            let signals = match signals.descriptor() {
                Ok(fd) => fd,
                Err(_) => return 1,
            };
            let begun = Instant::now();
            let lease = task.on_death.most().map(|_| {
                let length = Duration::from_millis(task.lease.into());
                channel.bear_silence(length);
                HostLease { length, since: begun }
            });
            Agent { channel, crew, world, signals, unacknowledged: HashMap::new(), begun, lease }.run()
        }
        Err(error) => {
            channel.send(&ToMonitor::Failed(error.status(), error.to_string().into_bytes()));
            say_last(&mut channel);
            1
        }
    }
}

/// Starts the ranks.
fn start(channel: &mut ToFront, task: &Task) -> Result<((Crew, LocalWorld), signals::SignalSet), Error> {
    let os = |bytes: &Vec<u8>| OsString::from_vec(bytes.clone());
    let directory = os(&task.directory);
    std::env::set_current_dir(&directory).map_err(|e| Error::Directory(directory.into(), e))?;
    let command = Command {
        ranks: task.size,
        program: os(&task.program),
        arguments: task.arguments.iter().map(os).collect(),
        environment: task.environment.chunks_exact(2).map(|pair| (os(&pair[0]), os(&pair[1]))).collect(),
        bind: task.bind,
        verbose: false,
        label: false,
        called: RankName::default(),
        limit: None,
        on_death: task.on_death,
        hosts: None,
    };
    let program = find(&command.program)?;
    let mut start = Start::prepare(task.size, task.ranks.clone(), true, task.bind)?;
    start.job_id = task.job_id;
    start.on_death(task.on_death)?;
    for i in 0..task.ranks.len() {
        if let Err(error) = spawn::spawn_rank(&command, &program, &mut start, i) {
            start.give_up();
            return Err(error);
        }
    }
    for (i, end) in start.ranks.iter().enumerate() {
        channel.send(&ToMonitor::Started(end.number, end.pid, start.place(i).into_bytes()));
    }
    let signals = monitor::signals();
    let recruiter = Recruiter::of(&command, &program, &start);
    let (crew, mut world) = start.crew()?;
    world.recruit_by(Box::new(move |rank, epoch| recruiter.start(rank, epoch)));
    Ok(((crew, world), signals))
}

/// How long the ranks of an agent may live without a word of the monitor.
struct HostLease {
    length: Duration,
    /// The newest time of the agent that the monitor is known to have heard.
    since: Instant,
}

struct Agent {
    channel: ToFront,
    crew: Crew,
    world: LocalWorld,
    signals: std::os::fd::OwnedFd,
    /// Bytes of each stream that the monitor has not acknowledged.
    unacknowledged: HashMap<usize, usize>,
    begun: Instant,
    /// Where ranks survive deaths.
    lease: Option<HostLease>,
}

/// Forwards the ranks' events to the monitor.
fn relay<'a>(
    channel: &'a mut ToFront,
    unacknowledged: &'a mut HashMap<usize, usize>,
) -> impl FnMut(Happening<'_>) + 'a {
    move |happening| {
        channel.send(&match happening {
            Happening::Said(rank, packet) => ToMonitor::Said(rank, packet.to_vec()),
            Happening::LinkClosed(rank) => ToMonitor::LinkClosed(rank),
            Happening::Ended(rank, how) => ToMonitor::Ended(rank, how),
            Happening::Output(stream, bytes) => {
                *unacknowledged.entry(stream).or_default() += bytes.len();
                ToMonitor::Output(stream as u32, bytes.to_vec())
            }
            Happening::OutputEnd(stream) => ToMonitor::OutputEnd(stream as u32),
        });
    }
}

impl Agent {
    fn run(mut self) -> i32 {
        loop {
            self.step(None);
            let over = self.lease.as_ref().is_some_and(|lease| Instant::now() >= lease.since + lease.length);
            if over || self.channel.closed().is_some() {
                // Nobody is left to be told.
                self.crew.clear(&mut |_| ());
                return 1;
            }
            while let Some(order) = self.channel.next() {
                if self.obey(order) {
                    return self.finish();
                }
            }
        }
    }

    /// Waits for an event, at most until `until`, and handles it.
    fn step(&mut self, until: Option<Instant>) {
        let mut fds = PollSet::default();
        fds.add_input(self.signals.as_fd());
        let waiting = &self.unacknowledged;
        let polled =
            self.crew.poll_set(&mut fds, |s| waiting.get(&s).is_none_or(|n| *n < STREAM_WINDOW_BYTES));
        self.channel.poll_set(&mut fds);
        let lease = self.lease.as_ref().map(|lease| lease.since + lease.length);
        let due = [until, self.channel.deadline(), lease].into_iter().flatten().min();
        let now = Instant::now();
        let found = fds.wait(due.map(|at| at.saturating_duration_since(now))).unwrap_or_else(|_| {
            std::thread::sleep(Duration::from_millis(10));
            Ready::default()
        });
        let mut ended = false;
        while let Some(signal) = signals::next_signal(self.signals.as_fd()) {
            // Signals for the job arrive over the channel. A signal for the agent itself ends the connection,
            // and so the ranks.
            if monitor::ENDING_SIGNALS.contains(&signal) {
                self.crew.clear(&mut |_| ());
                process::exit_now(128 + signal);
            }
            ended |= signal == libc::SIGCHLD;
        }
        let fed =
            self.crew.attend(&polled, &found, ended, &mut relay(&mut self.channel, &mut self.unacknowledged));
        self.fed(fed);
        let now = Instant::now();
        self.channel.tend(&ToMonitor::Beat((now - self.begun).as_millis() as u64), now);
    }

    fn fed(&mut self, n: usize) {
        if n > 0 {
            self.channel.send(&ToMonitor::InputTaken(n as u32));
        }
    }

    /// Carries out an order of the monitor. Returns whether the order is to finish.
    fn obey(&mut self, order: ToAgent) -> bool {
        match order {
            ToAgent::Tell(rank) => self.crew.tell(rank),
            ToAgent::Kill(rank) => self.crew.kill(rank),
            ToAgent::KillProgram(rank) => self.crew.kill_program(rank),
            ToAgent::Signal(signal) => self.crew.signal(signal),
            ToAgent::Input(bytes) => {
                let fed = self.crew.feed(Some(&bytes));
                self.fed(fed);
            }
            ToAgent::InputEnd => _ = self.crew.feed(None),
            ToAgent::Taken(stream, n) => {
                let left = self.unacknowledged.entry(stream as usize).or_default();
                *left = left.saturating_sub(n as usize);
            }
            ToAgent::Answer(bytes) => self.crew.answer_all(&Rc::from(bytes)),
            ToAgent::World(order) => self.obey_world(&order),
            ToAgent::Beat(time) => {
                if let Some(lease) = &mut self.lease {
                    lease.since = lease.since.max(self.begun + Duration::from_millis(time));
                }
            }
            ToAgent::Finish => return true,
            ToAgent::Start(_) => {}
        }
        false
    }

    fn obey_world(&mut self, order: &WorldOrder) {
        let done = self.world.obey(&mut self.crew, order);
        match (done, order) {
            (Ok(Some(pid)), WorldOrder::Replace(rank, _)) => {
                self.channel.send(&ToMonitor::Started(*rank, pid, b"takes its place".to_vec()));
            }
            (Ok(_), _) => {}
            (Err(why), _) => self.channel.send(&ToMonitor::NoWorld(why.to_string().into_bytes())),
        }
    }

    /// The job is over: ends what the ranks left behind, and sends the rest of the output.
    fn finish(&mut self) -> i32 {
        let over = Instant::now();
        while let Some(until) = self.crew.lingers(over) {
            self.step(Some(until));
        }
        let mut take = relay(&mut self.channel, &mut self.unacknowledged);
        self.crew.clear(&mut take);
        for stream in self.crew.streams() {
            while self.crew.is_open(stream) {
                self.crew.drain(stream, &mut take);
            }
        }
        drop(take);
        say_last(&mut self.channel);
        0
    }
}
