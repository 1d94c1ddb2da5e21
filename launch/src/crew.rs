//! The ranks that are processes of this host: reads their packets, output and exit statuses, and leaves no
//! process of theirs behind.

use std::collections::{HashMap, HashSet, VecDeque};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;
use std::time::{Duration, Instant, SystemTime};

use gasnet_sys::poll::{PollSet, Ready};
use gasnet_sys::process::{self, Ended, Handle, Pid, Reaped};
use gasnet_sys::{fd, signals};
use gasnet_wire::boot::MAX_PACKET;

use crate::keeper::Keeper;
use crate::remains;

/// How long killed processes may take to vanish.
const KILL_TIMEOUT: Duration = Duration::from_secs(1);
/// How long processes that ranks left behind may run after an orderly end of the job; and how long while they
/// have something to do, since a loaded machine may give them no processor.
const LEFTOVER_GRACE: Duration = Duration::from_millis(200);
const LEFTOVER_WORK: Duration = Duration::from_secs(5);
/// How often leftover processes are checked.
const LEFTOVER_CHECK_INTERVAL: Duration = Duration::from_millis(10);
/// Bytes of one read from a pipe.
const READ_BYTES: usize = 1 << 16;

/// The monitor's ends of one rank's connections.
#[derive(Debug)]
pub struct RankEnd {
    /// The rank.
    pub number: u32,
    /// Its process.
    pub pid: Pid,
    /// The socket of its link.
    pub link: OwnedFd,
    /// Pipes of its standard output and error; `None` if it has the monitor's own.
    pub pipes: Option<(OwnedFd, OwnedFd)>,
    /// Pipe of its standard input, if the monitor feeds it.
    pub input: Option<OwnedFd>,
}

impl RankEnd {
    /// All its descriptors.
    pub(crate) fn descriptors(self) -> impl Iterator<Item = OwnedFd> {
        let (out, err) = self.pipes.unzip();
        [Some(self.link), out, err, self.input].into_iter().flatten()
    }
}

/// An event of the ranks of this host. Streams have the number `2 * rank`, plus 1 for standard error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Happening<'a> {
    /// A rank has sent a packet.
    Said(u32, &'a [u8]),
    /// A rank's link is closed, while its process continues.
    LinkClosed(u32),
    /// A rank's process has ended; all its packets and output came before.
    Ended(u32, Ended),
    /// A stream has these bytes.
    Output(usize, &'a [u8]),
    /// A stream has ended.
    OutputEnd(usize),
}

/// Receives what happens.
pub type Take<'a> = &'a mut dyn FnMut(Happening<'_>);

#[derive(Debug)]
struct Rank {
    number: u32,
    /// The process that was started here.
    pid: Pid,
    /// The one that plays the rank, if that is another: the first is then a wrapper such as `time`.
    program: Option<Program>,
    link: Option<OwnedFd>,
    /// Packets that are to be sent to it.
    answers: VecDeque<Answer>,
    pipes: [Option<OwnedFd>; 2],
    gone: bool,
}

/// Something to be sent to a rank: bytes, which may be shared with other ranks, how many of them were sent,
/// and descriptors that go with the first.
#[derive(Debug)]
struct Answer {
    bytes: Rc<[u8]>,
    done: usize,
    files: Rc<[OwnedFd]>,
}

/// The process of a rank below a wrapper.
#[derive(Debug)]
struct Program {
    pid: Pid,
    /// Stays with it, since nobody here reaps it.
    handle: Handle,
}

/// The ranks of this host.
#[derive(Debug)]
pub struct Crew {
    ranks: Vec<Rank>,
    by_pid: HashMap<Pid, usize>,
    /// Standard input of rank 0, and the bytes to be written to it.
    input: Option<OwnedFd>,
    input_queue: VecDeque<u8>,
    input_ends: bool,
    /// Children that this process already had; they are not ended.
    spared: Vec<Pid>,
    keeper: Option<Keeper>,
    /// When the ranks were taken over, and all processes of theirs that have ended since.
    begun: SystemTime,
    reaped: HashSet<Pid>,
}

/// The meaning of a poll set's entry: one for each descriptor of the crew, in order.
#[derive(Debug, Clone, Copy)]
enum PolledDescriptor {
    Link(usize),
    Answer(usize),
    Pipe(usize, usize),
    Input,
}

/// The crew's descriptors in a poll set, from `first` on.
#[derive(Debug, Default)]
pub struct Polled {
    first: usize,
    places: Vec<PolledDescriptor>,
}

impl Crew {
    /// Takes over these ranks. `spared` are children that are not ranks.
    ///
    /// # Errors
    /// The system refuses.
    pub fn new(ends: Vec<RankEnd>, spared: Vec<Pid>, keeper: Option<Keeper>) -> io::Result<Crew> {
        let by_pid = ends.iter().enumerate().map(|(i, end)| (end.pid, i)).collect();
        let mut input = None;
        let ranks = ends.into_iter().map(|mut end| {
            input = input.take().or(end.input.take());
            Rank::new(end)
        });
        let ranks = ranks.collect::<io::Result<Vec<Rank>>>()?;
        if let Some(input) = &input {
            fd::set_nonblocking(input.as_fd())?;
        }
        Ok(Crew {
            ranks,
            by_pid,
            input,
            input_queue: VecDeque::new(),
            input_ends: false,
            spared,
            keeper,
            begun: SystemTime::now(),
            reaped: HashSet::new(),
        })
    }

    /// Takes over the process that replaces a rank which has ended. What that one has written was read.
    ///
    /// # Errors
    /// The system refuses.
    pub fn replace(&mut self, mut end: RankEnd) -> io::Result<()> {
        let (number, pid) = (end.number, end.pid);
        if let Some(input) = end.input.take() {
            fd::set_nonblocking(input.as_fd())?;
            self.input = Some(input);
        }
        let rank = Rank::new(end)?;
        let i = match self.ranks.iter().position(|r| r.number == number) {
            Some(i) => {
                self.ranks[i] = rank;
                i
            }
            // The host of the process before it is lost.
            None => {
                self.ranks.push(rank);
                self.ranks.len() - 1
            }
        };
        self.by_pid.insert(pid, i);
        Ok(())
    }

    /// Number and process of each rank.
    pub fn pids(&self) -> impl Iterator<Item = (u32, Pid)> {
        self.ranks.iter().map(|r| (r.number, r.pid))
    }

    /// Adds the crew's descriptors to a poll set; only streams that `wants` accepts are read.
    pub fn poll_set<'a>(&'a self, fds: &mut PollSet<'a>, wants: impl Fn(usize) -> bool) -> Polled {
        let mut polled = Polled { first: fds.len(), places: Vec::new() };
        let places = &mut polled.places;
        for (i, rank) in self.ranks.iter().enumerate() {
            if let Some(link) = &rank.link {
                fds.add_input(link.as_fd());
                places.push(PolledDescriptor::Link(i));
                if !rank.answers.is_empty() {
                    fds.add_output(link.as_fd());
                    places.push(PolledDescriptor::Answer(i));
                }
            }
            for (which, pipe) in rank.pipes.iter().enumerate() {
                if let Some(pipe) = pipe.as_ref().filter(|_| wants(rank.stream(which))) {
                    fds.add_input(pipe.as_fd());
                    places.push(PolledDescriptor::Pipe(i, which));
                }
            }
        }
        if let Some(input) = self.input.as_ref().filter(|_| !self.input_queue.is_empty()) {
            fds.add_output(input.as_fd());
            places.push(PolledDescriptor::Input);
        }
        polled
    }

    /// Handles the results of a poll; with `ended`, also processes that have ended. Returns how many bytes of
    /// the input were written.
    pub fn attend(&mut self, polled: &Polled, found: &Ready, ended: bool, take: Take<'_>) -> usize {
        let ready: Vec<PolledDescriptor> = polled
            .places
            .iter()
            .zip(polled.first..)
            .filter(|(_, entry)| found.has(*entry))
            .map(|(place, _)| *place)
            .collect();
        // Output first, so that what a rank wrote comes before what it sent later.
        for place in &ready {
            if let PolledDescriptor::Pipe(i, which) = *place {
                self.read(i, which, take);
            }
        }
        let mut fed = 0;
        for place in ready {
            match place {
                PolledDescriptor::Link(i) => self.listen(i, take),
                PolledDescriptor::Answer(i) => self.answer(i),
                PolledDescriptor::Input => fed = self.feed_input(),
                PolledDescriptor::Pipe(..) => {}
            }
        }
        if ended {
            self.reap(take);
        }
        fed
    }

    /// Reaps all ended children: ranks, and their orphans. Among ranks that are found at the same time, those
    /// that were killed come first: another rank may have ended because it noticed that.
    pub fn reap(&mut self, take: Take<'_>) {
        let mut ended = Vec::new();
        while let Reaped::Child(pid, how) = process::reap() {
            self.reaped.insert(pid);
            match self.by_pid.remove(&pid) {
                Some(i) => ended.push((i, how)),
                None => self.keeper.iter_mut().for_each(|keeper| keeper.reaped(pid)),
            }
        }
        ended.sort_by_key(|(_, how)| matches!(how, Ended::Code(_)));
        for (i, how) in ended {
            self.ranks[i].gone = true;
            // Earlier output and packets come first.
            for which in 0..2 {
                self.read(i, which, take);
            }
            self.listen(i, take);
            take(Happening::Ended(self.ranks[i].number, how));
        }
    }

    /// Handles every packet that a rank has sent.
    fn listen(&mut self, i: usize, take: Take<'_>) {
        let mut packet = [0; MAX_PACKET];
        let rank = &mut self.ranks[i];
        loop {
            let Some(link) = &rank.link else { return };
            match fd::receive_from(link.as_fd(), &mut packet) {
                Ok(None) => return,
                // It has ended without reading all that was sent to it, which is told once and before what it
                // has sent.
                Err(e) if e.kind() == io::ErrorKind::ConnectionReset => {}
                Ok(Some((0, _))) | Err(_) => {
                    rank.link = None;
                    if !rank.gone {
                        take(Happening::LinkClosed(rank.number));
                    }
                    return;
                }
                Ok(Some((n, sender))) => {
                    if let Some(pid) = sender.filter(|pid| *pid != rank.pid && rank.program.is_none()) {
                        rank.program = Handle::of(pid).ok().map(|handle| Program { pid, handle });
                    }
                    take(Happening::Said(rank.number, &packet[..n]));
                }
            }
        }
    }

    /// Reads once from a pipe. Returns whether there may be more.
    fn read(&mut self, i: usize, which: usize, take: Take<'_>) -> bool {
        let rank = &mut self.ranks[i];
        let stream = rank.stream(which);
        let Some(pipe) = &rank.pipes[which] else { return false };
        let mut buffer = [0; READ_BYTES];
        match fd::read(pipe.as_fd(), &mut buffer) {
            Ok(n) if n > 0 => {
                take(Happening::Output(stream, &buffer[..n]));
                true
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => true,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => false,
            _ => {
                rank.pipes[which] = None;
                take(Happening::OutputEnd(stream));
                false
            }
        }
    }

    /// Sends every rank the result of an exchange, in packets: a byte that is 1 in the last packet, then a
    /// part of the result.
    pub fn answer_all(&mut self, result: &Rc<[u8]>) {
        for i in (0..self.ranks.len()).filter(|i| self.ranks[*i].link.is_some()).collect::<Vec<_>>() {
            let answer = Answer { bytes: result.clone(), done: 0, files: Rc::from([]) };
            self.ranks[i].answers.push_back(answer);
            self.answer(i);
        }
    }

    /// Sends a rank these bytes in such packets, and these files with the first.
    pub fn hand(&mut self, number: u32, bytes: &[u8], files: &Rc<[OwnedFd]>) {
        if let Some(i) = self.ranks.iter().position(|r| r.number == number && !r.gone) {
            self.ranks[i].answers.push_back(Answer { bytes: bytes.into(), done: 0, files: files.clone() });
            self.answer(i);
        }
    }

    /// Sends a rank this packet, which says that its exchange has no result. It waits for nothing else.
    pub(crate) fn tell_broken(&mut self, number: u32, packet: &[u8]) {
        if let Some(link) = self.alive(number).and_then(|rank| rank.link.as_ref()) {
            // If the rank is leaving, that is noticed elsewhere.
            let _ = fd::send(link.as_fd(), packet);
        }
    }

    fn answer(&mut self, i: usize) {
        let rank = &mut self.ranks[i];
        while let (Some(link), Some(answer)) = (&rank.link, rank.answers.front_mut()) {
            let rest = &answer.bytes[answer.done..];
            let part = &rest[..rest.len().min(MAX_PACKET - 1)];
            let last = part.len() == rest.len();
            let packet = [&[u8::from(last)], part].concat();
            let sent = match &*answer.files {
                [] => fd::send(link.as_fd(), &packet),
                files => fd::send_files(link.as_fd(), &packet, files),
            };
            match sent {
                Ok(_) if last => drop(rank.answers.pop_front()),
                Ok(_) => {
                    answer.done += part.len();
                    answer.files = Rc::from([]);
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return,
                // The rank is leaving; its end is noticed elsewhere.
                Err(_) => return rank.answers.clear(),
            }
        }
    }

    /// Adds to the standard input of rank 0, if it is here; `None` ends it. Returns how many bytes were
    /// written.
    pub fn feed(&mut self, bytes: Option<&[u8]>) -> usize {
        match bytes {
            Some(bytes) => self.input_queue.extend(bytes),
            None => self.input_ends = true,
        }
        self.feed_input()
    }

    fn feed_input(&mut self) -> usize {
        let mut fed = 0;
        while let Some(input) = &self.input {
            let (bytes, _) = self.input_queue.as_slices();
            if bytes.is_empty() {
                if self.input_ends {
                    self.input = None;
                }
                break;
            }
            match fd::write(input.as_fd(), bytes) {
                Ok(n) => {
                    self.input_queue.drain(..n);
                    fed += n;
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => self.input = None,
            }
        }
        if self.input.is_none() {
            // Nobody reads any more: count the bytes as written.
            fed += self.input_queue.len();
            self.input_queue.clear();
        }
        fed
    }

    /// Asks a rank to end; not its wrapper, which ends when the rank does.
    pub fn tell(&self, number: u32) {
        if let Some(rank) = self.alive(number) {
            // A program without a handler for SIGQUIT would leave a core file.
            let catches = signals::catches(rank.program_pid(), libc::SIGQUIT);
            rank.signal(if catches { libc::SIGQUIT } else { libc::SIGTERM });
            rank.signal(libc::SIGCONT);
        }
    }

    /// Kills a rank and its wrapper.
    pub fn kill(&self, number: u32) {
        self.kill_program(number);
        if let Some(rank) = self.alive(number) {
            process::kill(rank.pid, libc::SIGKILL);
        }
    }

    /// Kills a rank; its wrapper, if it has one, goes on.
    pub fn kill_program(&self, number: u32) {
        match self.alive(number) {
            Some(Rank { program: Some(program), .. }) => program.handle.kill(),
            Some(rank) => process::kill(rank.pid, libc::SIGKILL),
            None => {}
        }
    }

    /// Passes a signal to all ranks. Two signals would end a program without a handler, and go only to ranks
    /// that catch them: the question what a rank is blocked in, and `SIGUSR1`, by which people ask the
    /// monitor for that.
    pub fn signal(&self, signal: i32) {
        let harmless = ![gasnet_wire::report::question(), libc::SIGUSR1].contains(&signal);
        for rank in self.ranks.iter().filter(|r| !r.gone) {
            if harmless || signals::catches(rank.program_pid(), signal) {
                rank.signal(signal);
            }
        }
    }

    fn alive(&self, number: u32) -> Option<&Rank> {
        self.ranks.iter().find(|r| r.number == number && !r.gone)
    }

    /// Whether no process of a rank is left.
    pub fn is_gone(&self) -> bool {
        self.ranks.iter().all(|r| r.gone)
    }

    /// Living children that are neither ranks nor spared: orphans of ranks.
    fn leftovers(&self) -> Vec<Pid> {
        process::children().into_iter().filter(|pid| !self.spared.contains(pid)).collect()
    }

    /// Whether orphans of ranks may still run after a job that ended at `since`; returns the time at which to
    /// ask again.
    pub fn lingers(&self, since: Instant) -> Option<Instant> {
        let (leftovers, now) = (self.leftovers(), Instant::now());
        if leftovers.is_empty() {
            return None;
        }
        if now < since + LEFTOVER_GRACE {
            return Some(since + LEFTOVER_GRACE);
        }
        let works = now < since + LEFTOVER_WORK && leftovers.into_iter().any(process::has_work);
        works.then_some(now + LEFTOVER_CHECK_INTERVAL)
    }

    /// Kills all processes of the job on this host, waits until they are gone (not for long: some cannot be
    /// killed), and removes the memory that libraries of theirs have left.
    pub fn clear(&mut self, take: Take<'_>) {
        let until = Instant::now() + KILL_TIMEOUT;
        loop {
            self.reap(take);
            let leftovers = self.leftovers();
            if leftovers.is_empty() || Instant::now() >= until {
                if let Some(keeper) = &mut self.keeper {
                    keeper.dismiss();
                }
                return remains::remove(&self.reaped, self.begun);
            }
            for pid in leftovers {
                process::kill(pid, libc::SIGKILL);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// The open streams.
    pub fn streams(&self) -> Vec<usize> {
        let all = self.ranks.iter().flat_map(|r| [r.stream(0), r.stream(1)]);
        all.filter(|stream| self.is_open(*stream)).collect()
    }

    /// Whether a stream is open.
    pub fn is_open(&self, stream: usize) -> bool {
        self.of_stream(stream).is_some_and(|i| self.ranks[i].pipes[stream % 2].is_some())
    }

    fn of_stream(&self, stream: usize) -> Option<usize> {
        self.ranks.iter().position(|r| r.number as usize == stream / 2)
    }

    /// Reads from a stream after [`Crew::clear`], and ends it if it is empty: a process out of our reach may
    /// still hold it.
    pub fn drain(&mut self, stream: usize, take: Take<'_>) {
        if let Some(i) = self.of_stream(stream)
            && !self.read(i, stream % 2, take)
            && self.ranks[i].pipes[stream % 2].take().is_some()
        {
            take(Happening::OutputEnd(stream));
        }
    }
}

impl Rank {
    fn new(end: RankEnd) -> io::Result<Rank> {
        let (out, err) = end.pipes.unzip();
        let pipes = [out, err];
        for pipe in pipes.iter().flatten() {
            fd::set_nonblocking(pipe.as_fd())?;
        }
        Ok(Rank {
            number: end.number,
            pid: end.pid,
            program: None,
            link: Some(end.link),
            answers: VecDeque::new(),
            pipes,
            gone: false,
        })
    }

    fn program_pid(&self) -> Pid {
        self.program.as_ref().map_or(self.pid, |program| program.pid)
    }

    /// Sends a signal to the process that plays the rank; to its wrapper once that has ended.
    fn signal(&self, signal: i32) {
        if !self.program.as_ref().is_some_and(|program| program.handle.signal(signal)) {
            process::kill(self.pid, signal);
        }
    }

    fn stream(&self, which: usize) -> usize {
        2 * self.number as usize + which
    }
}
