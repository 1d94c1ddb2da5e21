//! The machine: all VIs of a rank and what belongs to them, without I/O.
//!
//! *In*: calls of the program, [packets](Machine::packet) of other machines, results of RDMA operations
//! ([`Machine::moved`]), the [time](Machine::tick), ranks that are [gone](Machine::rank_gone). *Out*: what
//! calls return, [actions](Machine::next_action) to be carried out in any order, and
//! [reports](Machine::next_report). Nothing waits.
//!
//! | State | By | To | Descriptors |
//! |---|---|---|---|
//! | - | create | Idle | receives are kept; a send is flushed at once |
//! | Idle | a request, a peer request, an answer to a request | Pending | the same |
//! | Pending | the other end agrees / no, time up, rank gone | Connected / Idle | receives are kept |
//! | Connected | disconnect here | Idle | flushed |
//! | Connected | disconnect there, an error on a reliable VI, rank gone | Error | flushed |
//! | Error | disconnect | Idle | later posts are flushed, until then |
//! | Idle, queues empty | destroy | - | |

mod connect;
mod names;
mod objects;
mod receive;

pub use connect::Request;

use crate::link::{Link, Phase};
use crate::memory::{Protection, Region};
use crate::queue::{CompletionQueue, Entry, Queue, Stage, failed, succeeded};
use crate::table::Table;
use crate::terms::{
    Completed, Descriptor, ErrorReport, Errors, MAX_POSTED, MAX_SEGMENTS, NicId, Operation, Overrun,
    PeerMemory, Reliability, RemoteAttributes, Report, ViAttributes, ViId, ViState, ViaError,
};
use crate::wire::{self, Packet};
use gasnet::{RegionError, RegionKey};
use std::collections::VecDeque;

/// Bytes of a message in one packet at most: what a medium message holds beside the packet itself.
const PIECE_BYTES: u64 = if cfg!(test) { 32 } else { gasnet::am::MAX_MEDIUM as u64 - 128 };

/// An action of the surroundings that the protocol asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Action {
    /// Send a packet. A datagram may be lost, changed, or come twice.
    Packet { to: u32, bytes: Vec<u8>, datagram: bool },
    /// Put bytes into a region.
    Write { ticket: u32, key: RegionKey, at: u64, bytes: Vec<u8> },
    /// Get bytes of a region.
    Read { ticket: u32, key: RegionKey, at: u64, len: u32 },
}

#[derive(Debug, Clone)]
struct Vi {
    nic: NicId,
    attributes: ViAttributes,
    state: ViState,
    send: Queue,
    receive: Queue,
    link: Option<Link>,
    /// The outcome of the last attempt to connect.
    outcome: Option<Result<RemoteAttributes, ViaError>>,
}

impl Vi {
    fn is_reliable(&self) -> bool {
        self.attributes.reliability.is_reliable()
    }

    fn queue(&mut self, is_receive: bool) -> &mut Queue {
        if is_receive { &mut self.receive } else { &mut self.send }
    }

    /// The connection, if it is open.
    fn open(&mut self) -> Option<&mut Link> {
        self.link.as_mut().filter(|link| link.phase == Phase::Open)
    }
}

/// The result of a look at a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Polled {
    /// The oldest descriptor is done, and has left the queue.
    Done(Completed),
    /// It is not done.
    NotDone,
    /// The queue has none.
    Empty,
}

/// The present state of a VI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ViStatus {
    /// Whose it is.
    pub nic: NicId,
    /// Its state.
    pub state: ViState,
    /// Its attributes.
    pub attributes: ViAttributes,
    /// Descriptors in the send queue, those that are done included.
    pub sends: usize,
    /// Descriptors in the receive queue.
    pub receives: usize,
}

#[derive(Debug, Clone)]
pub(crate) struct Machine<R> {
    rank: u32,
    size: u32,
    nics: Table<()>,
    pub(crate) protection: Protection<R>,
    vis: Table<Vi>,
    cqs: Table<CompletionQueue>,
    /// The VI of each link.
    links: Table<ViId>,
    doors: connect::Doors,
    names: names::Names,
    /// RDMA operations under way: VI and link.
    tickets: Table<(ViId, u32)>,
    out: VecDeque<Action>,
    reports: VecDeque<ErrorReport>,
    /// Calls that would be the kernel's: all but posts and looks at queues.
    pub(crate) slow_calls: u64,
}

const NO_VI: ViaError = ViaError::Parameter("there is no such VI, or it was destroyed");

impl<R: Region> Machine<R> {
    pub(crate) fn new(rank: u32, size: u32) -> Machine<R> {
        Machine {
            rank,
            size,
            nics: Table::default(),
            protection: Protection::default(),
            vis: Table::default(),
            cqs: Table::default(),
            links: Table::default(),
            doors: connect::Doors::default(),
            names: names::Names::default(),
            tickets: Table::default(),
            out: VecDeque::new(),
            reports: VecDeque::new(),
            slow_calls: 0,
        }
    }

    /// The next thing to be done outside.
    pub(crate) fn next_action(&mut self) -> Option<Action> {
        self.out.pop_front()
    }

    /// The next packet, if it is one for this rank that cannot get lost.
    pub(crate) fn answer_to(&mut self, rank: u32) -> Option<Vec<u8>> {
        let Some(Action::Packet { to, datagram: false, .. }) = self.out.front() else { return None };
        if *to != rank {
            return None;
        }
        let Some(Action::Packet { bytes, .. }) = self.out.pop_front() else { return None };
        Some(bytes)
    }

    /// Whether there are reports.
    pub(crate) fn has_reports(&self) -> bool {
        !self.reports.is_empty()
    }

    /// The next report to the owner of a NIC handle.
    pub(crate) fn next_report(&mut self, nic: NicId) -> Option<ErrorReport> {
        let at = self.reports.iter().position(|r| r.nic == nic)?;
        self.reports.remove(at)
    }

    fn vi(&self, id: ViId) -> Result<&Vi, ViaError> {
        self.vis.get(id.0).ok_or(NO_VI)
    }

    fn vi_mut(&mut self, id: ViId) -> Result<&mut Vi, ViaError> {
        self.vis.get_mut(id.0).ok_or(NO_VI)
    }

    /// Takes the oldest descriptor of a queue, if it is done.
    pub(crate) fn poll(&mut self, id: ViId, is_receive: bool) -> Result<Polled, ViaError> {
        let queue = self.vis.get_mut(id.0).ok_or(NO_VI)?.queue(is_receive);
        Ok(match queue.take() {
            Some((completed, own)) => {
                self.protection.release(own.as_slice());
                Polled::Done(completed)
            }
            None if queue.len() == 0 => Polled::Empty,
            None => Polled::NotDone,
        })
    }

    pub(crate) fn post(&mut self, id: ViId, is_receive: bool, work: Descriptor) -> Result<(), ViaError> {
        let vi = self.vis.get_mut(id.0).ok_or(NO_VI)?;
        if work.segments.len() > MAX_SEGMENTS {
            return Err(ViaError::Parameter("a descriptor has too many segments"));
        }
        if is_receive && work.operation != Operation::Message {
            return Err(ViaError::Parameter("an RDMA operation is posted to the send queue"));
        }
        if vi.queue(is_receive).len() >= MAX_POSTED {
            let (nic, report) = (vi.nic, Report::Overrun);
            self.reports.push_back(ErrorReport { nic, vi: id, report });
            return Err(ViaError::Resource("the queue of the VI is full: take descriptors that are done"));
        }
        if self.protection.check(vi.attributes.tag, work.own.as_slice()).is_err() {
            let (nic, report) = (vi.nic, Report::Descriptor(work.cookie));
            self.reports.push_back(ErrorReport { nic, vi: id, report });
            return Err(ViaError::Parameter("the descriptor is not in registered memory of the VI's tag"));
        }
        if !is_receive && work.overrun == Overrun::Refuse {
            Self::check_room(vi, &mut self.out)?;
        }
        if let Some(cq) = vi.queue(is_receive).cq.and_then(|cq| self.cqs.get_mut(cq.0)) {
            if cq.taken >= cq.capacity {
                return Err(ViaError::Resource("the completion queue has no place for it: take entries"));
            }
            cq.taken += 1;
        }
        let held = self.protection.hold(&work.segments);
        self.protection.hold(work.own.as_slice());
        vi.queue(is_receive).post(work, held);
        match (is_receive, vi.state) {
            (false, ViState::Connected) => self.advance(id),
            (false, _) | (true, ViState::Error) => {
                vi.queue(is_receive).flush();
                self.settle(id);
            }
            (true, _) => {
                if let Some(link) = &mut vi.link {
                    link.posted += 1;
                }
                if let Some(link) = vi.open()
                    && link.asked.is_some_and(|number| number < link.posted)
                {
                    link.asked = None;
                    let posted = link.posted;
                    send_to(&mut self.out, link, |link| Packet::Posted { link, posted });
                }
            }
        }
        Ok(())
    }

    /// Refuses a send that no receive is known for; then the peer is asked.
    fn check_room(vi: &mut Vi, out: &mut VecDeque<Action>) -> Result<(), ViaError> {
        if !vi.is_reliable() {
            return Err(ViaError::Parameter("only a reliable VI knows of the receives of its peer"));
        }
        let before = vi.send.waiting().filter(|e| takes_receive(&e.work)).count() as u64;
        let Some(link) = vi.open() else { return Ok(()) };
        if link.sent + before < link.limit {
            return Ok(());
        }
        ask(link, true, out);
        Err(ViaError::WouldBlock)
    }

    /// Starts sends as long as it can.
    fn advance(&mut self, id: ViId) {
        while self.start_next(id) {}
        self.settle(id);
    }

    /// Starts the next send, if it can.
    fn start_next(&mut self, id: ViId) -> bool {
        let Some(vi) = self.vis.get_mut(id.0) else { return false };
        let (tag, most, reliability) =
            (vi.attributes.tag, vi.attributes.max_transfer, vi.attributes.reliability);
        let (Some(link), Some(entry)) =
            (vi.link.as_mut().filter(|link| link.phase == Phase::Open), vi.send.next())
        else {
            return false;
        };
        // A message that follows an RDMA write arrives after its bytes.
        if link.writing || entry.work.fence && link.reading > 0 {
            return false;
        }
        let work = &entry.work;
        let wrong = match work.operation {
            _ if work.len() > most.into() => Err(Errors::LENGTH),
            Operation::Read(_) if work.immediate.is_some() || !reliability.is_reliable() => {
                Err(Errors::FORMAT)
            }
            _ if !entry.held => Err(Errors::PROTECTION),
            _ => self.protection.check(tag, &work.segments),
        };
        if let Err(errors) = wrong {
            let stage = failed(work, false, errors);
            vi.send.start(stage);
            self.descriptor_failed(id);
            return true;
        }
        if reliability.is_reliable() && takes_receive(work) && link.sent >= link.limit {
            let wait = work.overrun != Overrun::Break;
            ask(link, wait, &mut self.out);
            return false;
        }
        match work.operation {
            Operation::Message => {
                let number = transmit(&mut self.out, &self.protection, link, work, None, reliability);
                let stage = sent_stage(work, number, reliability);
                vi.send.start(stage);
            }
            Operation::Write(remote) | Operation::Read(remote) => {
                let write = matches!(work.operation, Operation::Write(_));
                let asked = link.grants.get(&(remote.memory.0, write)).copied();
                let Some(Some((key, base))) = asked else {
                    if asked.is_none() {
                        resolve(link, remote, write, &mut self.out);
                    }
                    return false;
                };
                let ticket = self.tickets.add((id, link.own));
                link.writing = write;
                link.reading += u32::from(!write);
                let action = moving(&self.protection, work, remote, ticket, key, base);
                self.out.push_back(action);
                vi.send.start(Stage::Moving(ticket));
            }
        }
        true
    }

    /// A descriptor has failed: a reliable connection ends with it.
    fn descriptor_failed(&mut self, id: ViId) {
        if let Some(vi) = self.vis.get_mut(id.0)
            && vi.is_reliable()
            && let Some(link) = vi.open()
        {
            let number = link.received;
            self.break_link(id, Some((number, Errors::FLUSHED)));
        } else {
            self.settle(id);
        }
    }

    /// The connection breaks. The peer is told which of its messages was the first that is not in place, and
    /// what was wrong with it.
    fn break_link(&mut self, id: ViId, tell: Option<(u64, Errors)>) {
        let Some(vi) = self.vis.get_mut(id.0) else { return };
        let Some(link) = vi.link.take() else { return };
        vi.state = ViState::Error;
        let nic = vi.nic;
        self.reports.push_back(ErrorReport { nic, vi: id, report: Report::ConnectionLost });
        if let Some((number, errors)) = tell {
            send_to(&mut self.out, &link, |link| Packet::Broken { link, number, errors });
        }
        vi.send.flush();
        vi.receive.flush();
        self.links.remove(link.own);
        self.settle(id);
    }

    /// Lets the program have what is done.
    fn settle(&mut self, id: ViId) {
        let Machine { vis, cqs, protection, .. } = self;
        let Some(vi) = vis.get_mut(id.0) else { return };
        for is_receive in [false, true] {
            let queue = vi.queue(is_receive);
            let mut cq = queue.cq.and_then(|cq| cqs.get_mut(cq.0));
            queue.settle(|entry| {
                if entry.held {
                    protection.release(&entry.work.segments);
                }
                if let Some(cq) = &mut cq {
                    cq.entries.push_back((id, is_receive));
                }
            });
        }
    }

    /// An RDMA operation is over: what was read, or what was written.
    pub(crate) fn moved(&mut self, ticket: u32, result: Result<Vec<u8>, RegionError>) {
        let Some((id, own)) = self.tickets.remove(ticket) else { return };
        let Some(vi) = self.vis.get_mut(id.0) else { return };
        let reliability = vi.attributes.reliability;
        let Some(link) = vi.link.as_mut().filter(|link| link.own == own) else { return };
        let Some(entry) = vi.send.find(|e| e.stage == Stage::Moving(ticket)) else { return };
        let work = &entry.work;
        let (Operation::Write(remote) | Operation::Read(remote)) = work.operation else { return };
        let write = matches!(work.operation, Operation::Write(_));
        let bytes = match result {
            Ok(bytes) => bytes,
            Err(RegionError::Revoked) => {
                // Other attributes, perhaps: the owner is asked again.
                if link.grants.get(&(remote.memory.0, write)) != Some(&None) {
                    resolve(link, remote, write, &mut self.out);
                }
                return;
            }
            Err(why) => {
                let errors =
                    if why == RegionError::Gone { Errors::TRANSPORT } else { Errors::RDMA_PROTECTION };
                entry.stage = failed(work, false, errors);
                return self.move_ended(id, write, true);
            }
        };
        entry.stage = if write && work.immediate.is_some() {
            let number =
                transmit(&mut self.out, &self.protection, link, work, Some(work.len() as u32), reliability);
            sent_stage(work, number, reliability)
        } else {
            if !write {
                self.protection.scatter(&work.segments, 0, &bytes);
            }
            succeeded(work)
        };
        self.move_ended(id, write, false);
    }

    fn move_ended(&mut self, id: ViId, write: bool, failed: bool) {
        if let Some(link) = self.vis.get_mut(id.0).and_then(Vi::open) {
            link.writing &= !write;
            link.reading -= u32::from(!write);
        }
        if failed {
            self.descriptor_failed(id);
        }
        self.advance(id);
    }

    /// Operations whose key was revoked go on with another one: those that are under way and have no ticket.
    fn go_on_moving(&mut self, id: ViId, memory: u32, write: bool) {
        let Machine { vis, tickets, protection, out, .. } = self;
        let Some(vi) = vis.get_mut(id.0) else { return };
        let Some(link) = vi.link.as_mut() else { return };
        let Some(Some((key, base))) = link.grants.get(&(memory, write)).copied() else { return };
        while let Some(entry) = vi.send.find(|e| is_stuck(e, tickets, memory, write)) {
            let (Operation::Write(remote) | Operation::Read(remote)) = entry.work.operation else { return };
            let ticket = tickets.add((id, link.own));
            entry.stage = Stage::Moving(ticket);
            out.push_back(moving(protection, &entry.work, remote, ticket, key, base));
        }
    }

    /// The owner refuses an access: that of the next descriptor, or of one whose key was revoked.
    fn denied(&mut self, id: ViId, memory: u32, write: bool) {
        let Machine { vis, tickets, .. } = self;
        let Some(vi) = vis.get_mut(id.0) else { return };
        if let Some(entry) = vi.send.find(|e| is_stuck(e, tickets, memory, write)) {
            entry.stage = failed(&entry.work, false, Errors::RDMA_PROTECTION);
            return self.move_ended(id, write, true);
        }
        let Some(work) = vi.send.next().map(|entry| &entry.work) else { return };
        if accesses(work, memory, write) {
            let stage = failed(work, false, Errors::RDMA_PROTECTION);
            vi.send.start(stage);
            self.descriptor_failed(id);
            self.advance(id);
        }
    }
}

/// Whether a descriptor writes to, or reads, memory of the peer.
fn accesses(work: &Descriptor, memory: u32, write: bool) -> bool {
    match work.operation {
        Operation::Write(remote) => write && remote.memory.0 == memory,
        Operation::Read(remote) => !write && remote.memory.0 == memory,
        Operation::Message => false,
    }
}

/// Whether an RDMA operation was started, and its key was revoked.
fn is_stuck(entry: &Entry, tickets: &Table<(ViId, u32)>, memory: u32, write: bool) -> bool {
    matches!(entry.stage, Stage::Moving(ticket) if tickets.get(ticket).is_none())
        && accesses(&entry.work, memory, write)
}

/// Whether a send takes a receive of the peer.
fn takes_receive(work: &Descriptor) -> bool {
    match work.operation {
        Operation::Message => true,
        Operation::Write(_) => work.immediate.is_some(),
        Operation::Read(_) => false,
    }
}

/// Sends a packet to the other end of a link.
fn send_to(out: &mut VecDeque<Action>, link: &Link, packet: impl FnOnce(u32) -> Packet) {
    if let Some(theirs) = link.theirs {
        send(out, link.rank, &packet(theirs));
    }
}

fn send(out: &mut VecDeque<Action>, to: u32, packet: &Packet) {
    out.push_back(Action::Packet { to, bytes: wire::encode(packet, 0, false), datagram: false });
}

/// Asks for a receive for the next message. `wait`: the answer may come when there is one.
fn ask(link: &mut Link, wait: bool, out: &mut VecDeque<Action>) {
    let number = link.sent;
    let asked = link.asking.is_some_and(|(asked, waits)| asked == number && (wait || !waits));
    if !asked {
        link.asking = Some((number, wait));
        send_to(out, link, |link| Packet::Ask { link, number, wait });
    }
}

/// Asks the owner of memory for its key.
fn resolve(link: &mut Link, remote: PeerMemory, write: bool, out: &mut VecDeque<Action>) {
    let memory = remote.memory.0;
    link.grants.insert((memory, write), None);
    send_to(out, link, |link| Packet::Resolve { link, memory, write });
}

/// Sends a descriptor's bytes as a message, or the news of an RDMA write. Returns the message's number.
fn transmit<R: Region>(
    out: &mut VecDeque<Action>,
    protection: &Protection<R>,
    link: &mut Link,
    work: &Descriptor,
    written: Option<u32>,
    reliability: Reliability,
) -> u64 {
    let number = link.sent;
    link.sent += 1;
    let (posted, immediate, datagram) = (link.posted, work.immediate, !reliability.is_reliable());
    let total = if written.is_some() { 0 } else { work.len() };
    let mut at = 0;
    loop {
        let n = (total - at).min(PIECE_BYTES);
        let Some(theirs) = link.theirs else { return number };
        let packet = Packet::Data {
            link: theirs,
            number,
            at: at as u32,
            total: total as u32,
            posted,
            immediate,
            written,
        };
        let mut bytes = wire::encode(&packet, n as usize, datagram);
        protection.gather(&work.segments, at, n as usize, &mut bytes);
        if datagram {
            wire::seal(&mut bytes);
        }
        out.push_back(Action::Packet { to: link.rank, bytes, datagram });
        at += n;
        if at == total {
            return number;
        }
    }
}

/// A message that was sent is done, or waits to be in place.
fn sent_stage(work: &Descriptor, number: u64, reliability: Reliability) -> Stage {
    if reliability == Reliability::Reception { Stage::Sent(number) } else { succeeded(work) }
}

/// The messages below this number are in place.
fn placed(queue: &mut Queue, count: u64) {
    while let Some(entry) = queue.find(|e| matches!(e.stage, Stage::Sent(number) if number < count)) {
        entry.stage = succeeded(&entry.work);
    }
}

/// An RDMA operation by a key. An address below the region is far beyond it, which is refused.
fn moving<R: Region>(
    protection: &Protection<R>,
    work: &Descriptor,
    remote: PeerMemory,
    ticket: u32,
    key: RegionKey,
    base: u64,
) -> Action {
    let (at, len) = (remote.at.wrapping_sub(base), work.len());
    match work.operation {
        Operation::Write(_) => {
            let mut bytes = Vec::with_capacity(len as usize);
            protection.gather(&work.segments, 0, len as usize, &mut bytes);
            Action::Write { ticket, key, at, bytes }
        }
        _ => Action::Read { ticket, key, at, len: len as u32 },
    }
}

#[cfg(test)]
mod tests;
