//! The frames between the monitor of a job and its agents on other hosts.
//!
//! A *frame* has its length (u32, of the rest), a kind (u8) and a body. Numbers are little endian, and byte
//! strings are preceded by their length. An agent first sends [`GREETING`], before which remote shells may
//! have printed anything.

use crate::bind::Bind;
use crate::job::OnDeath;
use crate::job::membership::JobWorld;
use crate::regroup::WorldOrder;
use gasnet_sys::process::Ended;

/// Precedes an agent's first frame; the number is the version of this protocol.
pub const GREETING: &[u8] = b"\ngasnet agent 3\n";
/// Longest body; a longer one is not from this program.
const MAX_BODY_BYTES: usize = 64 << 20;

/// The task of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// Ranks of the job.
    pub size: u32,
    /// Those that run on the agent's host, ascending.
    pub ranks: Vec<u32>,
    /// Random name of the job.
    pub job_id: u64,
    /// Placement.
    pub bind: Bind,
    /// What the death of a rank does.
    pub on_death: OnDeath,
    /// Milliseconds after which the agent ends its ranks if it hears nothing of the monitor, where ranks
    /// survive deaths.
    pub lease: u32,
    /// The program, its arguments, the directory to run it in.
    pub program: Vec<u8>,
    /// Arguments of the program.
    pub arguments: Vec<Vec<u8>>,
    /// Directory to run it in.
    pub directory: Vec<u8>,
    /// Environment: names and values, in turn.
    pub environment: Vec<Vec<u8>>,
}

/// Frames to an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToAgent {
    /// Start these ranks.
    Start(Box<Task>),
    /// Ask a rank to end.
    Tell(u32),
    /// Kill a rank.
    Kill(u32),
    /// Kill a rank, and let its wrapper go on.
    KillProgram(u32),
    /// Pass a signal to all ranks.
    Signal(i32),
    /// Bytes for the standard input of rank 0.
    Input(Vec<u8>),
    /// The end of that input.
    InputEnd,
    /// This many bytes of a stream were taken: as many more may be sent.
    Taken(u32, u32),
    /// The result of an exchange.
    Answer(Vec<u8>),
    /// Heartbeat of the monitor, with the time in the last one of the agent.
    Beat(u64),
    /// About the newest world of a job whose ranks survive deaths.
    World(WorldOrder),
    /// The job is over: end what is left, send the rest, and exit.
    Finish,
}

/// Frames from an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToMonitor {
    /// A rank has started: its process, and a description of its processors.
    Started(u32, i32, Vec<u8>),
    /// The ranks cannot be started: exit status and reason.
    Failed(i32, Vec<u8>),
    /// A rank has sent this packet.
    Said(u32, Vec<u8>),
    /// A rank's link is closed.
    LinkClosed(u32),
    /// A rank's process has ended.
    Ended(u32, Ended),
    /// Output of a stream.
    Output(u32, Vec<u8>),
    /// The end of a stream.
    OutputEnd(u32),
    /// This many bytes of the standard input of rank 0 were taken.
    InputTaken(u32),
    /// Heartbeat of the agent, with its time in milliseconds.
    Beat(u64),
    /// It could not carry out an order about the newest world, so there is none.
    NoWorld(Vec<u8>),
}

/// Values that are sent in frames.
pub trait Framed: Sized {
    /// Writes kind and body.
    fn emit(&self, w: &mut Writer);
    /// Parses a body; `None` if it is not valid for this kind.
    fn parse(kind: u8, r: &mut Reader<'_>) -> Option<Self>;

    /// Encodes the whole frame.
    fn frame(&self) -> Vec<u8> {
        let mut w = Writer(vec![0; 4]);
        self.emit(&mut w);
        let len = (w.0.len() - 4) as u32;
        w.0[..4].copy_from_slice(&len.to_le_bytes());
        w.0
    }

    /// Takes one frame from the front of `bytes`, and returns its length too; `Ok(None)` if it is not
    /// complete.
    ///
    /// # Errors
    /// The bytes are not a frame.
    fn take(bytes: &[u8]) -> Result<Option<(Self, usize)>, Nonsense> {
        let Some(len) = bytes.get(..4) else { return Ok(None) };
        let len = u32::from_le_bytes(len.try_into().map_err(|_| Nonsense)?) as usize;
        if len == 0 || len > MAX_BODY_BYTES {
            return Err(Nonsense);
        }
        let Some(body) = bytes.get(4..4 + len) else { return Ok(None) };
        let mut r = Reader(&body[1..]);
        match Self::parse(body[0], &mut r) {
            Some(said) if r.0.is_empty() => Ok(Some((said, 4 + len))),
            _ => Err(Nonsense),
        }
    }
}

/// Bytes that are not a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nonsense;

/// Writes a frame.
#[derive(Debug)]
pub struct Writer(Vec<u8>);

impl Writer {
    fn kind(&mut self, kind: u8) -> &mut Writer {
        self.0.push(kind);
        self
    }
    fn u32(&mut self, v: u32) -> &mut Writer {
        self.0.extend(v.to_le_bytes());
        self
    }
    fn u64(&mut self, v: u64) -> &mut Writer {
        self.0.extend(v.to_le_bytes());
        self
    }
    fn bytes(&mut self, v: &[u8]) -> &mut Writer {
        self.u32(v.len() as u32);
        self.0.extend(v);
        self
    }
    fn numbers(&mut self, v: &[u32]) -> &mut Writer {
        self.u32(v.len() as u32);
        v.iter().for_each(|v| _ = self.u32(*v));
        self
    }
    fn list(&mut self, v: &[Vec<u8>]) -> &mut Writer {
        self.u32(v.len() as u32);
        v.iter().for_each(|v| _ = self.bytes(v));
        self
    }
}

/// Reads a frame.
#[derive(Debug)]
pub struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn u32(&mut self) -> Option<u32> {
        let (head, rest) = self.0.split_first_chunk::<4>()?;
        self.0 = rest;
        Some(u32::from_le_bytes(*head))
    }
    fn u64(&mut self) -> Option<u64> {
        Some(u64::from(self.u32()?) | u64::from(self.u32()?) << 32)
    }
    fn i32(&mut self) -> Option<i32> {
        self.u32().map(|v| v as i32)
    }
    fn bytes(&mut self) -> Option<Vec<u8>> {
        let len = self.u32()? as usize;
        let (head, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(head.to_vec())
    }
    fn numbers(&mut self) -> Option<Vec<u32>> {
        (0..self.u32()?).map(|_| self.u32()).collect()
    }
    fn list(&mut self) -> Option<Vec<Vec<u8>>> {
        (0..self.u32()?).map(|_| self.bytes()).collect()
    }
}

/// How a rank ended, or that its host is lost.
fn emit_end(w: &mut Writer, how: Option<Ended>) {
    let (kind, number) = match how {
        None => (0, 0),
        Some(Ended::Code(code)) => (1, code),
        Some(Ended::Signal(signal)) => (2, signal),
    };
    w.u32(kind).u32(number as u32);
}

fn parse_end(r: &mut Reader<'_>) -> Option<Option<Ended>> {
    match (r.u32()?, r.i32()?) {
        (0, 0) => Some(None),
        (1, code) => Some(Some(Ended::Code(code))),
        (2, signal) => Some(Some(Ended::Signal(signal))),
        _ => None,
    }
}

fn emit_order(w: &mut Writer, order: &WorldOrder) {
    match order {
        WorldOrder::Died(rank, how) => emit_end(w.u32(1).u32(*rank), *how),
        WorldOrder::GaveUp(rank) => _ = w.u32(2).u32(*rank),
        WorldOrder::Broken(places) => _ = w.u32(3).numbers(places),
        WorldOrder::Start(world, name, here) => {
            w.u32(4).u32(world.epoch).numbers(&world.members).numbers(&world.incarnations);
            w.u32(world.takes_over.into()).u64(*name).numbers(here);
        }
        WorldOrder::Replace(place, epoch) => _ = w.u32(5).u32(*place).u32(*epoch),
        WorldOrder::Done(places) => _ = w.u32(6).numbers(places),
    }
}

fn parse_order(r: &mut Reader<'_>) -> Option<WorldOrder> {
    Some(match r.u32()? {
        1 => WorldOrder::Died(r.u32()?, parse_end(r)?),
        2 => WorldOrder::GaveUp(r.u32()?),
        3 => WorldOrder::Broken(r.numbers()?),
        4 => {
            let (epoch, members, incarnations) = (r.u32()?, r.numbers()?, r.numbers()?);
            let world = JobWorld { epoch, members, incarnations, takes_over: r.u32()? != 0 };
            WorldOrder::Start(world, r.u64()?, r.numbers()?)
        }
        5 => WorldOrder::Replace(r.u32()?, r.u32()?),
        6 => WorldOrder::Done(r.numbers()?),
        _ => return None,
    })
}

impl Framed for ToAgent {
    fn emit(&self, w: &mut Writer) {
        match self {
            ToAgent::Start(task) => {
                w.kind(1).u32(task.size).u64(task.job_id);
                let (policy, most) = match task.on_death {
                    OnDeath::End => (0, 0),
                    OnDeath::Shrink(most) => (1, most),
                    OnDeath::Heal(most) => (2, most),
                };
                w.u32(u32::from(task.bind == Bind::Core)).u32(policy).u32(most).u32(task.lease);
                w.numbers(&task.ranks)
                    .bytes(&task.program)
                    .list(&task.arguments)
                    .bytes(&task.directory)
                    .list(&task.environment)
            }
            ToAgent::Tell(rank) => w.kind(2).u32(*rank),
            ToAgent::Kill(rank) => w.kind(3).u32(*rank),
            ToAgent::Signal(signal) => w.kind(4).u32(*signal as u32),
            ToAgent::Input(bytes) => w.kind(5).bytes(bytes),
            ToAgent::InputEnd => w.kind(6),
            ToAgent::Taken(stream, n) => w.kind(7).u32(*stream).u32(*n),
            ToAgent::Answer(bytes) => w.kind(8).bytes(bytes),
            ToAgent::Beat(time) => w.kind(9).u64(*time),
            ToAgent::Finish => w.kind(10),
            ToAgent::KillProgram(rank) => w.kind(11).u32(*rank),
            ToAgent::World(order) => {
                emit_order(w.kind(12), order);
                w
            }
        };
    }

    fn parse(kind: u8, r: &mut Reader<'_>) -> Option<ToAgent> {
        Some(match kind {
            1 => {
                let size = r.u32()?;
                let job_id = r.u64()?;
                let bind = if r.u32()? == 1 { Bind::Core } else { Bind::None };
                let on_death = match (r.u32()?, r.u32()?) {
                    (0, 0) => OnDeath::End,
                    (1, most) => OnDeath::Shrink(most),
                    (2, most) => OnDeath::Heal(most),
                    _ => return None,
                };
                let lease = r.u32()?;
                let ranks = r.numbers()?;
                let (program, arguments) = (r.bytes()?, r.list()?);
                let (directory, environment) = (r.bytes()?, r.list()?);
                let sound = !ranks.is_empty()
                    && ranks.windows(2).all(|w| w[0] < w[1])
                    && ranks.iter().all(|r| *r < size)
                    && environment.len().is_multiple_of(2);
                if !sound {
                    return None;
                }
                ToAgent::Start(Box::new(Task {
                    size,
                    ranks,
                    job_id,
                    bind,
                    on_death,
                    lease,
                    program,
                    arguments,
                    directory,
                    environment,
                }))
            }
            2 => ToAgent::Tell(r.u32()?),
            3 => ToAgent::Kill(r.u32()?),
            4 => ToAgent::Signal(r.i32()?),
            5 => ToAgent::Input(r.bytes()?),
            6 => ToAgent::InputEnd,
            7 => ToAgent::Taken(r.u32()?, r.u32()?),
            8 => ToAgent::Answer(r.bytes()?),
            9 => ToAgent::Beat(r.u64()?),
            10 => ToAgent::Finish,
            11 => ToAgent::KillProgram(r.u32()?),
            12 => ToAgent::World(parse_order(r)?),
            _ => return None,
        })
    }
}

impl Framed for ToMonitor {
    fn emit(&self, w: &mut Writer) {
        match self {
            ToMonitor::Started(rank, pid, place) => w.kind(1).u32(*rank).u32(*pid as u32).bytes(place),
            ToMonitor::Failed(status, why) => w.kind(2).u32(*status as u32).bytes(why),
            ToMonitor::Said(rank, packet) => w.kind(3).u32(*rank).bytes(packet),
            ToMonitor::LinkClosed(rank) => w.kind(4).u32(*rank),
            ToMonitor::Ended(rank, Ended::Code(code)) => w.kind(5).u32(*rank).u32(*code as u32),
            ToMonitor::Ended(rank, Ended::Signal(signal)) => w.kind(6).u32(*rank).u32(*signal as u32),
            ToMonitor::Output(stream, bytes) => w.kind(7).u32(*stream).bytes(bytes),
            ToMonitor::OutputEnd(stream) => w.kind(8).u32(*stream),
            ToMonitor::InputTaken(n) => w.kind(9).u32(*n),
            ToMonitor::Beat(time) => w.kind(10).u64(*time),
            ToMonitor::NoWorld(why) => w.kind(11).bytes(why),
        };
    }

    fn parse(kind: u8, r: &mut Reader<'_>) -> Option<ToMonitor> {
        Some(match kind {
            1 => ToMonitor::Started(r.u32()?, r.i32()?, r.bytes()?),
            2 => ToMonitor::Failed(r.i32()?, r.bytes()?),
            3 => ToMonitor::Said(r.u32()?, r.bytes()?),
            4 => ToMonitor::LinkClosed(r.u32()?),
            5 => ToMonitor::Ended(r.u32()?, Ended::Code(r.i32()?)),
            6 => ToMonitor::Ended(r.u32()?, Ended::Signal(r.i32()?)),
            7 => ToMonitor::Output(r.u32()?, r.bytes()?),
            8 => ToMonitor::OutputEnd(r.u32()?),
            9 => ToMonitor::InputTaken(r.u32()?),
            10 => ToMonitor::Beat(r.u64()?),
            11 => ToMonitor::NoWorld(r.bytes()?),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task() -> ToAgent {
        ToAgent::Start(Box::new(Task {
            size: 5,
            ranks: vec![1, 3],
            job_id: u64::MAX - 1,
            bind: Bind::Core,
            on_death: OnDeath::Heal(7),
            lease: 5000,
            program: b"/bin/\xff".to_vec(),
            arguments: vec![b"a".to_vec(), Vec::new()],
            directory: b"/".to_vec(),
            environment: vec![b"A".to_vec(), b"=b\n".to_vec()],
        }))
    }

    fn to_agent() -> Vec<ToAgent> {
        vec![
            task(),
            ToAgent::Tell(3),
            ToAgent::Kill(4),
            ToAgent::KillProgram(5),
            ToAgent::Signal(10),
            ToAgent::Input(b"x\ny".to_vec()),
            ToAgent::InputEnd,
            ToAgent::Taken(7, 1 << 20),
            ToAgent::Answer(vec![0; 300]),
            ToAgent::Beat(7),
            ToAgent::World(WorldOrder::Died(1, None)),
            ToAgent::World(WorldOrder::Died(2, Some(Ended::Signal(9)))),
            ToAgent::World(WorldOrder::Died(3, Some(Ended::Code(-1)))),
            ToAgent::World(WorldOrder::GaveUp(4)),
            ToAgent::World(WorldOrder::Broken(vec![4, 7])),
            ToAgent::World(WorldOrder::Start(
                JobWorld { epoch: 3, members: vec![0, 2, 5], incarnations: vec![0, 1, 0], takes_over: true },
                u64::MAX - 3,
                vec![2, 5],
            )),
            ToAgent::World(WorldOrder::Replace(2, 3)),
            ToAgent::World(WorldOrder::Done(vec![])),
            ToAgent::Finish,
        ]
    }

    fn to_monitor() -> Vec<ToMonitor> {
        vec![
            ToMonitor::Started(1, 4711, b"processor 3".to_vec()),
            ToMonitor::Failed(127, b"no".to_vec()),
            ToMonitor::Said(2, vec![1, 2, 3]),
            ToMonitor::LinkClosed(9),
            ToMonitor::Ended(1, Ended::Code(255)),
            ToMonitor::Ended(1, Ended::Signal(11)),
            ToMonitor::Output(3, b"line\n".to_vec()),
            ToMonitor::OutputEnd(3),
            ToMonitor::InputTaken(5),
            ToMonitor::Beat(u64::MAX - 7),
            ToMonitor::NoWorld(b"no memory".to_vec()),
        ]
    }

    fn survives<W: Framed + PartialEq + std::fmt::Debug>(all: &[W]) {
        let stream: Vec<u8> = all.iter().flat_map(Framed::frame).collect();
        let mut at = 0;
        for one in all {
            let (read, n) = W::take(&stream[at..]).unwrap().unwrap();
            assert_eq!(&read, one);
            for cut in 0..n {
                assert_eq!(W::take(&stream[at..at + cut]), Ok(None), "{one:?} cut at {cut}");
            }
            at += n;
        }
        assert_eq!(at, stream.len());
    }

    #[test]
    fn frames_survive_the_wire() {
        survives(&to_agent());
        survives(&to_monitor());
    }

    /// Frames with bytes changed, cut and doubled are refused, or decode to something that encodes to the
    /// same bytes.
    fn shaken<W: Framed + PartialEq + std::fmt::Debug>(all: &[W]) {
        let mut random = fastrand::Rng::with_seed(1);
        let mut next = |n: usize| random.usize(..n);
        let mut read = 0;
        for _ in 0..50_000 {
            let mut bytes = all[next(all.len())].frame();
            for _ in 0..1 + next(3) {
                let at = next(bytes.len());
                match next(3) {
                    0 => bytes[at] = next(256) as u8,
                    1 => bytes.insert(at, next(256) as u8),
                    _ => bytes.truncate(at.max(1)),
                }
            }
            if let Ok(Some((said, n))) = W::take(&bytes) {
                assert!(n <= bytes.len());
                assert_eq!(W::take(&said.frame()).unwrap().unwrap().0, said);
                read += 1;
            }
        }
        assert!(read > 500);
    }

    #[test]
    fn any_bytes_are_handled() {
        shaken(&to_agent());
        shaken(&to_monitor());
    }
}
