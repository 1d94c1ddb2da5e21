//! The process that watches over the ranks of a host: one poll loop over signals, links, output pipes and its own
//! standard output and error.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::time::{Duration, Instant};

use gasnet::boot::{MAX_PACKET, ToMonitor};

use crate::job::{Action, Event, Job};
use crate::output::{Output, SinkId, StreamId};
use crate::sys::{self, FileKind, Pid, Reaped, SignalSet};

/// How long processes that ranks left behind may go on after an orderly end of the job.
const LEFTOVER_GRACE: Duration = Duration::from_millis(200);
/// How long output may take to be delivered after the user has ended the job.
const LAST_OUTPUT: Duration = Duration::from_secs(1);
/// Bytes read from a pipe at once.
const READ_SIZE: usize = 1 << 16;
/// Bytes that a pipe takes without blocking once it polls writable.
const GUARDED_WRITE: usize = 4096;

/// Signals that end the job.
const ENDING: [i32; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];
/// Signals that are passed on to the ranks.
const FORWARDED: [i32; 2] = [libc::SIGUSR1, libc::SIGUSR2];

/// The signals a monitor takes from a descriptor. To be blocked before the first rank starts.
pub fn signals() -> SignalSet {
    let mut set = vec![libc::SIGCHLD];
    set.extend(FORWARDED);
    set.extend(ENDING.iter().filter(|&&s| s != libc::SIGHUP || !sys::ignored(s)));
    SignalSet::of(&set)
}

/// The monitor's ends of one rank's connections.
#[derive(Debug)]
pub struct RankEnd {
    /// The rank's process.
    pub pid: Pid,
    /// Socket on which it speaks.
    pub link: OwnedFd,
    /// Pipes of its standard output and error; `None` if it has the monitor's own.
    pub pipes: Option<(OwnedFd, OwnedFd)>,
}

/// How a sink is written without blocking on a slow reader.
#[derive(Debug)]
enum Way {
    /// A file or device that never blocks for long.
    Plain(RawFd),
    /// Opened anew, since `O_NONBLOCK` on the inherited one would hit everybody who shares it.
    Reopened(OwnedFd),
    Socket(RawFd),
    /// Asks `poll` first and writes little.
    Guarded(RawFd),
}

impl Way {
    fn to(fd: RawFd, kind: FileKind) -> Way {
        if kind.socket {
            return Way::Socket(fd);
        }
        if !kind.pipe && !kind.terminal {
            return Way::Plain(fd);
        }
        let flags = libc::O_WRONLY | libc::O_NONBLOCK | libc::O_NOCTTY;
        match sys::open(&format!("/proc/self/fd/{fd}"), flags) {
            Ok(own) => Way::Reopened(own),
            Err(_) => Way::Guarded(fd),
        }
    }

    fn fd(&self) -> RawFd {
        match self {
            Way::Plain(fd) | Way::Socket(fd) | Way::Guarded(fd) => *fd,
            Way::Reopened(fd) => fd.as_raw_fd(),
        }
    }

    fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Way::Plain(fd) => sys::write(*fd, bytes),
            Way::Reopened(fd) => sys::write(fd.as_raw_fd(), bytes),
            Way::Socket(fd) => sys::send(*fd, bytes),
            Way::Guarded(fd) => {
                let mut ready = [sys::poll_out(*fd)];
                sys::poll(&mut ready, Some(Duration::ZERO))?;
                if ready[0].revents == 0 {
                    return Err(io::ErrorKind::WouldBlock.into());
                }
                sys::write(*fd, &bytes[..bytes.len().min(GUARDED_WRITE)])
            }
        }
    }
}

#[derive(Debug)]
struct Rank {
    pid: Pid,
    link: Option<OwnedFd>,
    streams: [StreamId; 2],
    gone: bool,
}

/// The state of the poll loop.
pub struct Monitor {
    signals: OwnedFd,
    job: Job,
    ranks: Vec<Rank>,
    by_pid: HashMap<Pid, u32>,
    output: Output,
    /// Where each sink is written.
    ways: Vec<Way>,
    /// The sink of standard error, where the monitor's own messages go.
    messages: SinkId,
    /// The sink of standard output.
    main: SinkId,
    /// The pipe behind each stream, until its end.
    pipes: Vec<Option<OwnedFd>>,
    /// Children that this process had before it became a monitor; not ours to end.
    spared: Vec<Pid>,
    /// When the time given by the user is over, and that time.
    limit: Option<(Instant, Duration)>,
    /// A signal that ended the job.
    signalled: Option<i32>,
    /// The user asked a second time, or after the last rank: leave without delivering output.
    hurry: bool,
}

impl Monitor {
    /// Takes over the ranks of a job. `signals` are blocked already; `spared` are children that are no ranks.
    pub fn new(
        ranks: Vec<RankEnd>,
        signals: &SignalSet,
        spared: Vec<Pid>,
        limit: Option<Duration>,
    ) -> io::Result<Monitor> {
        sys::SignalAction::change(libc::SIGPIPE, true);
        let mut output = Output::default();
        let mut ways = Vec::new();
        let mut sink = |fd: RawFd, output: &mut Output| {
            let kind = sys::file_kind(fd).ok_or_else(|| io::Error::from_raw_os_error(libc::EBADF))?;
            ways.push(Way::to(fd, kind));
            Ok::<_, io::Error>((output.add_sink(kind.terminal), kind.identity))
        };
        let (main, identity) = sink(1, &mut output)?;
        let messages = match sys::file_kind(2) {
            Some(kind) if kind.identity == identity => main,
            _ => sink(2, &mut output)?.0,
        };
        let pids: Vec<Pid> = ranks.iter().map(|r| r.pid).collect();
        let mut pipes = Vec::new();
        let ranks = ranks.into_iter().map(|end| {
            let streams = [output.add_stream(main), output.add_stream(messages)];
            let (out, err) = end.pipes.unzip();
            pipes.extend([out, err]);
            Rank { pid: end.pid, link: Some(end.link), streams, gone: false }
        });
        let ranks: Vec<Rank> = ranks.collect();
        for pipe in pipes.iter().flatten() {
            sys::set_nonblocking(pipe.as_fd())?;
        }
        Ok(Monitor {
            signals: signals.descriptor()?,
            job: Job::new(&pids),
            by_pid: pids.iter().enumerate().map(|(rank, &pid)| (pid, rank as u32)).collect(),
            ranks,
            output,
            ways,
            messages,
            main,
            pipes,
            spared,
            limit: limit.map(|limit| (Instant::now() + limit, limit)),
            signalled: None,
            hurry: false,
        })
    }

    /// Watches until the job is over and its output delivered. Returns its exit status.
    pub fn run(mut self) -> i32 {
        while !self.job.over(Instant::now()) {
            self.step(None);
        }
        self.finish();
        self.job.status()
    }

    /// Prints a line of the monitor's own.
    pub fn say(&mut self, text: &str) {
        self.output.say(self.messages, &format!("gasnetrun: {text}"));
    }

    /// Waits for something to happen, at most until `until`, and deals with it.
    fn step(&mut self, until: Option<Instant>) {
        let now = Instant::now();
        let mut fds = vec![sys::poll_in(self.signals.as_raw_fd())];
        let mut links = Vec::new();
        for (rank, state) in self.ranks.iter().enumerate() {
            if let Some(link) = &state.link {
                links.push(rank as u32);
                fds.push(sys::poll_in(link.as_raw_fd()));
            }
        }
        let mut streams = Vec::new();
        for (stream, pipe) in self.pipes.iter().enumerate() {
            if let Some(pipe) = pipe.as_ref().filter(|_| self.output.wants(stream, now)) {
                streams.push(stream);
                fds.push(sys::poll_in(pipe.as_raw_fd()));
            }
        }
        for (sink, way) in self.ways.iter().enumerate() {
            if !self.output.pending(sink).is_empty() {
                fds.push(sys::poll_out(way.fd()));
            }
        }
        let due = [until, self.job.deadline(), self.output.deadline(now), self.limit.map(|(at, _)| at)];
        let timeout = due.into_iter().flatten().min().map(|at| at.saturating_duration_since(now));
        if sys::poll(&mut fds, timeout).is_err() {
            // Only memory shortage can do that; do not spin on it.
            std::thread::sleep(Duration::from_millis(10));
        }
        let ready = |at: usize| fds[at].revents != 0;
        // A signal for the job comes before what ranks do about theirs (Ctrl-C reaches them too); the end of a rank comes
        // after everything it has said.
        let ended = ready(0) && self.take_signals();
        for (at, &stream) in streams.iter().enumerate() {
            if ready(1 + links.len() + at) {
                self.read(stream);
            }
        }
        for (at, &rank) in links.iter().enumerate() {
            if ready(1 + at) {
                self.listen(rank);
            }
        }
        if ended {
            self.reap();
        }
        let now = Instant::now();
        if let Some((at, limit)) = self.limit
            && now >= at
        {
            self.limit = None;
            self.handle(Event::TimeLimit(limit));
        }
        let actions = self.job.tick(now);
        self.act(actions);
        self.output.tick(now);
        self.write();
    }

    fn handle(&mut self, event: Event) {
        let actions = self.job.handle(Instant::now(), event);
        self.act(actions);
    }

    fn act(&mut self, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Say(text) => self.say(&text),
                Action::Tell(rank) => {
                    let pid = self.ranks[rank as usize].pid;
                    // A program without a handler for SIGQUIT would leave a core file.
                    let catches = sys::catches(pid, libc::SIGQUIT);
                    sys::kill(pid, if catches { libc::SIGQUIT } else { libc::SIGTERM });
                    sys::kill(pid, libc::SIGCONT);
                }
                Action::Kill(rank) => sys::kill(self.ranks[rank as usize].pid, libc::SIGKILL),
            }
        }
    }

    /// Takes all signals that have come. Returns whether a child may have ended.
    fn take_signals(&mut self) -> bool {
        let mut ended = false;
        while let Some(signal) = sys::next_signal(self.signals.as_fd()) {
            if signal == libc::SIGCHLD {
                ended = true;
            } else if FORWARDED.contains(&signal) {
                for rank in self.ranks.iter().filter(|r| !r.gone) {
                    sys::kill(rank.pid, signal);
                }
            } else {
                self.hurry |= self.signalled.is_some() || self.job.over(Instant::now());
                self.signalled = Some(signal);
                self.handle(Event::Signal(signal));
            }
        }
        ended
    }

    /// Reaps all ended children: ranks, and orphans of theirs.
    fn reap(&mut self) {
        while let Reaped::Child(pid, how) = sys::reap() {
            let Some(rank) = self.by_pid.remove(&pid) else { continue };
            self.ranks[rank as usize].gone = true;
            // What it wrote and said before comes first.
            for stream in self.ranks[rank as usize].streams {
                self.read(stream);
            }
            self.listen(rank);
            self.handle(Event::Ended(rank, how));
        }
    }

    /// Takes in everything a rank has said.
    fn listen(&mut self, rank: u32) {
        let mut packet = [0; MAX_PACKET];
        loop {
            let Some(link) = &self.ranks[rank as usize].link else { return };
            match sys::receive(link.as_fd(), &mut packet) {
                Ok(None) => return,
                Ok(Some(0)) | Err(_) => {
                    self.ranks[rank as usize].link = None;
                    if !self.ranks[rank as usize].gone {
                        self.handle(Event::LinkClosed(rank));
                    }
                    return;
                }
                Ok(Some(n)) => match ToMonitor::decode(&packet[..n]) {
                    Some(packet) => self.handle(Event::Packet(rank, packet)),
                    None => self.say(&format!("rank {rank} sent a packet of {n} bytes that means nothing")),
                },
            }
        }
    }

    /// Reads once from a stream's pipe. Returns whether there may be more.
    fn read(&mut self, stream: StreamId) -> bool {
        let Some(pipe) = &self.pipes[stream] else { return false };
        let mut buffer = [0; READ_SIZE];
        let now = Instant::now();
        match sys::read(pipe.as_fd(), &mut buffer) {
            Ok(n) if n > 0 => {
                self.output.feed(stream, &buffer[..n], now);
                true
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => true,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => false,
            _ => {
                self.pipes[stream] = None;
                self.output.end(stream, now);
                false
            }
        }
    }

    /// Writes what the sinks take without blocking.
    fn write(&mut self) {
        for sink in 0..self.ways.len() {
            while !self.output.pending(sink).is_empty() {
                match self.ways[sink].write(self.output.pending(sink)) {
                    Ok(n) => self.output.written(sink, n),
                    Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                    Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
                    Err(e) => {
                        self.output.close(sink);
                        if sink != self.main {
                            continue;
                        }
                        self.handle(match e.raw_os_error() {
                            Some(libc::EPIPE | libc::ECONNRESET | libc::EIO) => Event::OutputClosed,
                            _ => Event::OutputFailed(e.to_string()),
                        });
                    }
                }
            }
        }
    }

    /// All ranks are gone: ends what they left behind, and delivers the rest of the output.
    fn finish(&mut self) {
        let grace = if self.job.ending() { Duration::ZERO } else { LEFTOVER_GRACE };
        let until = Instant::now() + grace;
        while Instant::now() < until && !self.leftovers().is_empty() {
            self.step(Some(until));
        }
        let until = Instant::now() + LAST_OUTPUT;
        loop {
            self.reap();
            let leftovers = self.leftovers();
            if leftovers.is_empty() || Instant::now() >= until {
                break;
            }
            for pid in leftovers {
                sys::kill(pid, libc::SIGKILL);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let until = self.signalled.map(|_| Instant::now() + LAST_OUTPUT);
        for stream in 0..self.pipes.len() {
            while self.pipes[stream].is_some() && self.in_time(until) {
                if !self.output.wants(stream, Instant::now()) {
                    // Another stream of the sink has the word, or the reader is slow.
                    self.step(Some(Instant::now() + Duration::from_millis(50)));
                } else if !self.read(stream) && self.pipes[stream].is_some() {
                    // Somebody beyond our reach still holds the pipe. It was empty just now.
                    self.pipes[stream] = None;
                    self.output.end(stream, Instant::now());
                }
                self.write();
            }
        }
        while (0..self.ways.len()).any(|sink| !self.output.pending(sink).is_empty()) && self.in_time(until) {
            self.step(until);
        }
    }

    fn in_time(&self, until: Option<Instant>) -> bool {
        !self.hurry && until.is_none_or(|until| Instant::now() < until)
    }

    /// Living children that are neither ranks nor spared: orphans of ranks.
    fn leftovers(&self) -> Vec<Pid> {
        sys::children().into_iter().filter(|pid| !self.spared.contains(pid)).collect()
    }
}
