//! The common part of both ways of starting ranks: preparing the monitor process, and the connections of each
//! rank.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use gasnet_wire::boot::MAX_PACKET;
use gasnet_wire::shm::deaths::DeathBoard;

use crate::Error;
use crate::bind::{self, Bind};
use crate::crew::{Crew, RankEnd};
use crate::job::OnDeath;
use crate::keeper::Keeper;
use crate::monitor::{self, Monitor};
use crate::ranges::{parse_ranges, ranges};
use crate::regroup::LocalWorld;
use gasnet_sys::fd::{self, Access, Standard};
use gasnet_sys::limits::{self, FileLimit};
use gasnet_sys::process::{self, Pid};
use gasnet_sys::signals::{SignalAction, SignalSet};

/// Environment variable by which a launcher tells a program that it is a rank.
pub const MESSAGE_VARIABLE: &str = "GASNETI_BOOT";

/// Version of the message and of the packets to the monitor. It is incremented with every change of either.
pub const PROTOCOL_VERSION: u32 = 7;

/// The first packet in a rank's link, which makes a program the rank.
const PLACE: &[u8] = b"place";

/// A process about to become a monitor.
pub struct Start {
    /// Number of ranks in the job.
    pub size: u32,
    /// The ranks of this host, ascending.
    pub numbers: Vec<u32>,
    /// The monitor is on another host, and this process is its agent.
    pub remote: bool,
    /// The output of a single rank passes through this process, too.
    pub merge: bool,
    /// Memory file of the host.
    pub shm: OwnedFd,
    /// Memory file for the segments.
    pub segments: OwnedFd,
    /// Random name of the job.
    pub job_id: u64,
    /// This process.
    pub monitor: Pid,
    /// The processors of each rank, if bound.
    pub placement: Option<Vec<Vec<usize>>>,
    /// Signal mask to be given to the ranks.
    pub mask: SignalSet,
    /// Limit on open descriptors to be given to the ranks.
    pub files: FileLimit,
    /// The action of `SIGCHLD` before.
    pub child_action: SignalAction,
    /// Ranks started so far.
    pub ranks: Vec<RankEnd>,
    /// The process that cleans up if this one is killed.
    pub keeper: Keeper,
    signals: SignalSet,
    spared: Vec<Pid>,
    /// The effect of a death, and where ranks are told of one that they may survive.
    survival: (OnDeath, Option<(DeathBoard, OwnedFd)>),
}

/// The rank's ends of its connections.
pub struct RankSide {
    /// Socket to the monitor.
    pub link: OwnedFd,
    /// Standard output and error; `None` to keep the monitor's.
    pub pipes: Option<(OwnedFd, OwnedFd)>,
    /// Standard input; `None` to keep the monitor's.
    pub input: Option<OwnedFd>,
}

/// The monitor's ends of a rank's connections, before the rank's process is known.
pub struct MonitorSide {
    link: OwnedFd,
    pipes: Option<(OwnedFd, OwnedFd)>,
    input: Option<OwnedFd>,
}

impl Start {
    /// Prepares this process for starting the ranks `numbers` of a job of `size` ranks: descriptors, limits,
    /// signals, memory files.
    pub fn prepare(size: u32, numbers: Vec<u32>, remote: bool, bind: Bind) -> Result<Start, Error> {
        let here = numbers.len() as u32;
        fd::ensure_standard_descriptors();
        let keeper = Keeper::start(here);
        // They include the keeper.
        let spared = process::children();
        // Three descriptors a rank, a few of our own, and room for those of the program.
        let needed = u64::from(here) * 3 + 32;
        // A rank below a wrapper costs a fourth.
        let files = limits::raise_file_limit(needed + u64::from(here) + 512);
        if files.1 < needed {
            return Err(Error::Descriptors { ranks: here, needed, limit: files.1 });
        }
        let signals = monitor::signals();
        let mask = signals.block();
        let child_action = SignalAction::change(libc::SIGCHLD, false);
        process::become_subreaper();
        Ok(Start {
            size,
            numbers,
            remote,
            merge: size > 1 || remote,
            shm: fd::memory_file("gasnet-shm").map_err(Error::MemoryFile)?,
            segments: fd::memory_file("gasnet-segments").map_err(Error::MemoryFile)?,
            job_id: gasnet_sys::random(),
            monitor: process::pid(),
            placement: bind.placement(here),
            mask,
            files,
            child_action,
            ranks: Vec::with_capacity(here as usize),
            keeper,
            signals,
            spared,
            survival: (OnDeath::End, None),
        })
    }

    /// Says what the death of a rank does, before the first one is started.
    pub fn on_death(&mut self, on_death: OnDeath) -> Result<(), Error> {
        if on_death.most().is_some() {
            let shm = fd::duplicate(self.shm.as_fd()).map_err(Error::system("dup"))?;
            let here = self.numbers.len() as u32;
            let board = DeathBoard::new(&shm.into(), here, self.size, 0, on_death.heals());
            let board = board.map_err(|e| Error::Survival(e.to_string()))?;
            let segments = fd::duplicate(self.segments.as_fd()).map_err(Error::system("dup"))?;
            self.survival = (on_death, Some((board, segments)));
        }
        Ok(())
    }

    /// Makes the connections of the `i`-th rank of this host.
    pub fn connect(&self, i: usize) -> Result<(MonitorSide, RankSide), Error> {
        MonitorSide::connect(self.numbers[i], self.merge, self.remote)
    }
    /// A rank's process has started.
    pub fn started(&mut self, pid: Pid, side: MonitorSide) {
        let number = self.numbers[self.ranks.len()];
        self.ranks.push(side.of(number, pid));
    }

    /// The processors of the `i`-th rank of this host, if bound.
    pub fn cpus(&self, i: usize) -> Option<&Vec<usize>> {
        Some(&self.placement.as_ref()?[i])
    }

    /// The processors in words.
    pub fn place(&self, i: usize) -> String {
        match self.cpus(i) {
            Some(cpus) => format!("on processor {}", bind::describe(cpus)),
            None => "not bound".to_string(),
        }
    }

    /// All ranks are running: becomes their monitor. Only the ranks keep the memory files, and where
    /// they may survive each other, the monitor keeps that of the segments, for those that come later.
    pub fn watch(self, limit: Option<Duration>) -> Result<Monitor, Error> {
        let (size, signals, on_death) = (self.size, self.signals, self.survival.0);
        let (crew, world) = self.crew()?;
        let monitor = Monitor::here(size, (crew, world), on_death, &signals, limit);
        monitor.map_err(Error::system("watching the ranks"))
    }

    /// All ranks are running: hands them over, with what they need to survive deaths. Only the ranks keep the
    /// memory files.
    pub fn crew(self) -> Result<(Crew, LocalWorld), Error> {
        let crew = Crew::new(self.ranks, self.spared, Some(self.keeper));
        let (on_death, told) = self.survival;
        Ok((crew.map_err(Error::system("watching the ranks"))?, LocalWorld::new(on_death, told)))
    }

    /// A start failed: ends the ranks started so far.
    pub fn give_up(mut self) {
        self.keeper.dismiss();
        for rank in &self.ranks {
            process::kill(rank.pid, libc::SIGKILL);
        }
        while matches!(process::reap(), process::Reaped::Child(..)) {}
        self.child_action.restore();
        self.mask.set();
    }
}

impl MonitorSide {
    /// Makes the connections of a rank. Without `merge` it keeps the monitor's standard output and error,
    /// since there is nothing to merge. Rank 0 keeps the standard input.
    pub(crate) fn connect(rank: u32, merge: bool, remote: bool) -> Result<(MonitorSide, RankSide), Error> {
        let (ours, link) = fd::packet_pair().map_err(Error::system("socketpair"))?;
        fd::learn_senders(ours.as_fd()).map_err(Error::system("setsockopt"))?;
        let mut sides = (
            MonitorSide { link: ours, pipes: None, input: None },
            RankSide { link, pipes: None, input: None },
        );
        if merge {
            let (out, out_writer) = fd::pipe().map_err(Error::system("pipe"))?;
            let (err, err_writer) = fd::pipe().map_err(Error::system("pipe"))?;
            sides.0.pipes = Some((out, err));
            sides.1.pipes = Some((out_writer, err_writer));
        }
        if rank > 0 {
            sides.1.input = Some(fd::open("/dev/null", Access::Read).map_err(Error::system("/dev/null"))?);
        } else if remote {
            let (reader, writer) = fd::pipe().map_err(Error::system("pipe"))?;
            (sides.0.input, sides.1.input) = (Some(writer), Some(reader));
        }
        Ok(sides)
    }

    /// The monitor's end of a rank that runs as this process.
    pub(crate) fn of(self, number: u32, pid: Pid) -> RankEnd {
        RankEnd { number, pid, link: self.link, pipes: self.pipes, input: self.input }
    }

    /// Leaves the rank's place for the first program that [takes](take_place) it.
    pub fn offer_place(&self) -> Result<(), Error> {
        fd::send(self.link.as_fd(), PLACE).map(drop).map_err(Error::system("send"))
    }
}

/// Takes the place of a rank, which waits in its link. Returns whether it was free: every program below a
/// wrapper inherits the link, and one of them is the rank.
pub fn take_place(link: BorrowedFd<'_>) -> bool {
    let mut packet = [0; MAX_PACKET];
    matches!(fd::receive(link, &mut packet), Ok(Some(n)) if &packet[..n] == PLACE)
}

impl RankSide {
    /// Installs the connections in the rank's own process, and returns the link.
    pub fn install(self) -> Result<OwnedFd, Error> {
        let put = |fd: &OwnedFd, at: Standard| at.redirect(fd.as_fd()).map_err(Error::system("dup2"));
        if let Some(input) = &self.input {
            put(input, Standard::Input)?;
        }
        if let Some((out, err)) = &self.pipes {
            put(out, Standard::Output)?;
            put(err, Standard::Error)?;
        }
        Ok(self.link)
    }
}

/// How a rank gets the memory that it shares with the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BootMemory {
    /// Descriptor numbers: memory file, segments.
    Files([i32; 2]),
    /// It replaces a rank that has died, and asks for the world after the one of this epoch.
    WorldAfter(u32),
}

/// The launcher's message, in the variable [`MESSAGE_VARIABLE`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The rank.
    pub rank: u32,
    /// Number of ranks.
    pub size: u32,
    /// How it gets its memory.
    pub memory: BootMemory,
    /// Descriptor number of the link.
    pub link: i32,
    /// The launcher's process.
    pub monitor: Pid,
    /// The job's id.
    pub job_id: u64,
    /// The ranks of the same host.
    pub host_ranks: Vec<u32>,
}

impl Message {
    /// The message for the `i`-th rank of this host.
    pub fn of(start: &Start, i: usize, link: &OwnedFd) -> Message {
        Message {
            rank: start.numbers[i],
            size: start.size,
            memory: BootMemory::Files([start.shm.as_raw_fd(), start.segments.as_raw_fd()]),
            link: link.as_raw_fd(),
            monitor: start.monitor,
            job_id: start.job_id,
            host_ranks: start.numbers.clone(),
        }
    }

    /// Encodes the message as text.
    pub fn encode(&self) -> String {
        let memory = match self.memory {
            BootMemory::Files([shm, segments]) => format!("{shm}:{segments}"),
            BootMemory::WorldAfter(epoch) => format!("-:{epoch}"),
        };
        let near = ranges(&self.host_ranks);
        format!(
            "{PROTOCOL_VERSION}:{}:{}:{memory}:{}:{}:{:x}:{near}",
            self.rank, self.size, self.link, self.monitor, self.job_id
        )
    }

    /// The version of a message, if it is not this one.
    pub fn other_version(text: &str) -> Option<&str> {
        let version =
            text.split(':').next().filter(|v| !v.is_empty() && v.bytes().all(|b| b.is_ascii_digit()))?;
        (version != PROTOCOL_VERSION.to_string()).then_some(version)
    }

    /// Decodes a text.
    pub fn decode(text: &str) -> Option<Message> {
        let mut fields = text.split(':');
        if fields.next()? != PROTOCOL_VERSION.to_string() {
            return None;
        }
        let number = |text: &str| text.parse::<u32>().ok();
        let fd = |text: &str| i32::try_from(number(text)?).ok();
        let (rank, size) = (number(fields.next()?)?, number(fields.next()?)?);
        let memory = match (fields.next()?, fields.next()?) {
            ("-", epoch) => BootMemory::WorldAfter(number(epoch)?),
            (shm, segments) => BootMemory::Files([fd(shm)?, fd(segments)?]),
        };
        let (link, monitor) = (fd(fields.next()?)?, fd(fields.next()?)?);
        let job_id = u64::from_str_radix(fields.next()?, 16).ok()?;
        let host_ranks = parse_ranges(fields.next()?, size)?;
        let sound = fields.next().is_none() && host_ranks.contains(&rank);
        sound.then_some(Message { rank, size, memory, link, monitor, job_id, host_ranks })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_survive_the_environment() {
        for (host_ranks, memory) in [
            (vec![3], BootMemory::Files([5, 6])),
            (vec![0, 1, 2, 3], BootMemory::WorldAfter(7)),
            (vec![0, 2, 3], BootMemory::Files([5, 6])),
        ] {
            let (link, monitor, job_id) = (9, 77, u64::MAX);
            let message = Message { rank: 3, size: 4, memory, link, monitor, job_id, host_ranks };
            assert_eq!(Message::other_version(&message.encode()), None);
            assert_eq!(Message::decode(&message.encode()), Some(message));
        }
    }

    #[test]
    fn other_versions_are_told_from_nonsense() {
        assert_eq!(Message::other_version("1:0:4:3:5:7:4008:85a0"), Some("1"));
        assert_eq!(Message::other_version("17"), Some("17"));
        for text in ["", ":", "x:0", "-1:0"] {
            assert_eq!((Message::other_version(text), Message::decode(text)), (None, None));
        }
    }

    /// Valid messages with characters changed, doubled and left out are refused, or decode to a consistent
    /// message.
    #[test]
    fn any_text_is_handled() {
        let host_ranks = vec![0, 3];
        let (memory, link, monitor) = (BootMemory::Files([5, 6]), 9, 77);
        let good = Message { rank: 3, size: 4, memory, link, monitor, job_id: u64::MAX, host_ranks };
        let good = good.encode();
        let signs: Vec<char> = "0123456789:-+ x9999é".chars().collect();
        let mut random = fastrand::Rng::with_seed(1);
        let mut next = |n: usize| random.usize(..n);
        for _ in 0..100_000 {
            let mut text: Vec<char> = good.chars().collect();
            for _ in 0..1 + next(3) {
                let at = next(text.len());
                match next(3) {
                    0 => text[at] = signs[next(signs.len())],
                    1 => text.insert(at, signs[next(signs.len())]),
                    _ => drop(text.remove(at)),
                }
            }
            let text: String = text.into_iter().collect();
            if let Some(m) = Message::decode(&text) {
                assert!(m.rank < m.size && m.link >= 0, "{text}: {m:?}");
                assert_eq!(Message::decode(&m.encode()), Some(m), "{text}");
            }
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for text in [
            "",
            "2",
            "1:0:1:3:4:5:6:7:0",
            "5:1:1:3:4:5:6:7:0",
            "5:0:1:3:4:-5:6:7:0",
            "5:0:1:3:4:5:6:7:0:8",
            "5:0:2:3:4:5:6:7:1",
            "5:0:2:3:4:5:6:7:0-2",
            "5:0:2:3:4:5:6:7:1,0",
        ] {
            assert_eq!(Message::decode(text), None, "{text}");
        }
    }
}
