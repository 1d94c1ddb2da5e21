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

pub use connect::Request;

use crate::link::{Arriving, Link, Phase};
use crate::memory::{Protection, Region};
use crate::queue::{CompletionQueue, Entry, Queue, Stage, failed, succeeded};
use crate::table::Table;
use crate::terms::{
    Completed, CqId, Descriptor, Done, ErrorReport, Errors, MAX_POSTED, MAX_SEGMENTS, MAX_TRANSFER, NicId,
    Operation, Overrun, Reliability, Remote, RemoteAttributes, Report, ViAttributes, ViId, ViState, ViaError,
};
use crate::wire::{self, Packet};
use gasnet::{RegionError, RegionKey};
use std::collections::VecDeque;

/// Bytes of a message in one packet at most: what a medium message holds beside the packet itself.
const PIECE_BYTES: u64 = if cfg!(test) { 32 } else { gasnet::am::MAX_MEDIUM as u64 - 128 };

/// What is to be done outside.
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
    /// What became of the last attempt to connect.
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

/// What a look at a queue finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Polled {
    /// The oldest descriptor is done, and has left the queue.
    Done(Completed),
    /// It is not done.
    NotDone,
    /// The queue has none.
    Empty,
}

/// What a VI is like now.
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
const NO_CQ: ViaError = ViaError::Parameter("there is no such completion queue, or it was destroyed");
const NO_NIC: ViaError = ViaError::Parameter("the NIC handle was closed");

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

    pub(crate) fn open_nic(&mut self) -> NicId {
        self.slow_calls += 1;
        NicId(self.nics.add(()))
    }

    pub(crate) fn check_nic(&mut self, nic: NicId) -> Result<(), ViaError> {
        self.slow_calls += 1;
        self.nics.get(nic.0).map(|_| ()).ok_or(NO_NIC)
    }

    /// Everything of a NIC handle ends.
    pub(crate) fn close_nic(&mut self, nic: NicId) {
        self.slow_calls += 1;
        let vis: Vec<u32> = self.vis.iter().filter(|(_, vi)| vi.nic == nic).map(|(id, _)| id).collect();
        for id in vis {
            let _ = self.disconnect(ViId(id));
            self.forget_vi(ViId(id));
        }
        self.close_doors(nic);
        self.unpublish(nic);
        self.cqs.retain(|cq| cq.nic != nic);
        self.protection.close(nic);
        self.reports.retain(|r| r.nic != nic);
        self.nics.remove(nic.0);
    }

    fn vi(&self, id: ViId) -> Result<&Vi, ViaError> {
        self.vis.get(id.0).ok_or(NO_VI)
    }

    fn vi_mut(&mut self, id: ViId) -> Result<&mut Vi, ViaError> {
        self.vis.get_mut(id.0).ok_or(NO_VI)
    }

    fn check_attributes(attributes: &ViAttributes) -> Result<(), ViaError> {
        match () {
            () if !(1..=MAX_TRANSFER).contains(&attributes.max_transfer) => Err(ViaError::TransferSize),
            () if attributes.rdma_read && !attributes.reliability.is_reliable() => Err(ViaError::RdmaRead),
            () => Ok(()),
        }
    }

    pub(crate) fn create_vi(
        &mut self,
        nic: NicId,
        attributes: ViAttributes,
        send: Option<CqId>,
        receive: Option<CqId>,
    ) -> Result<ViId, ViaError> {
        self.check_nic(nic)?;
        Self::check_attributes(&attributes)?;
        for cq in [send, receive].into_iter().flatten() {
            self.cq(nic, cq)?;
        }
        self.protection.use_tag(nic, attributes.tag)?;
        for cq in [send, receive].into_iter().flatten() {
            self.cq(nic, cq)?.queues += 1;
        }
        Ok(ViId(self.vis.add(Vi {
            nic,
            attributes,
            state: ViState::Idle,
            send: Queue::new(send, false),
            receive: Queue::new(receive, true),
            link: None,
            outcome: None,
        })))
    }

    pub(crate) fn destroy_vi(&mut self, id: ViId) -> Result<(), ViaError> {
        self.slow_calls += 1;
        let vi = self.vi(id)?;
        if vi.state != ViState::Idle {
            return Err(ViaError::State(vi.state));
        }
        if vi.send.len() + vi.receive.len() > 0 {
            return Err(ViaError::Resource("the VI has descriptors: take those that are done"));
        }
        self.forget_vi(id);
        Ok(())
    }

    /// Removes a VI that is not connected.
    fn forget_vi(&mut self, id: ViId) {
        let Some(mut vi) = self.vis.remove(id.0) else { return };
        for is_receive in [false, true] {
            let queue = vi.queue(is_receive);
            queue.flush();
            let (protection, mut places) = (&mut self.protection, 0);
            queue.settle(|entry| {
                places += 1;
                if entry.held {
                    protection.release(&entry.work.segments);
                }
            });
            while let Some((_, own)) = queue.take() {
                self.protection.release(own.as_slice());
            }
            if let Some(cq) = queue.cq.and_then(|cq| self.cqs.get_mut(cq.0)) {
                let before = cq.entries.len();
                cq.entries.retain(|entry| *entry != (id, is_receive));
                cq.taken -= before - cq.entries.len() + places;
                cq.queues -= 1;
            }
        }
        self.protection.drop_tag(vi.attributes.tag);
        self.reports.retain(|r| r.vi != id);
    }

    pub(crate) fn query_vi(&self, id: ViId) -> Result<ViStatus, ViaError> {
        let Vi { nic, state, attributes, ref send, ref receive, .. } = *self.vi(id)?;
        Ok(ViStatus { nic, state, attributes, sends: send.len(), receives: receive.len() })
    }

    /// The completion queue of a work queue.
    pub(crate) fn cq_of(&self, id: ViId, is_receive: bool) -> Result<Option<CqId>, ViaError> {
        let vi = self.vi(id)?;
        Ok(if is_receive { vi.receive.cq } else { vi.send.cq })
    }

    pub(crate) fn change_vi(&mut self, id: ViId, attributes: ViAttributes) -> Result<(), ViaError> {
        self.slow_calls += 1;
        let (nic, state, before) = self.vi(id).map(|vi| (vi.nic, vi.state, vi.attributes.tag))?;
        if state != ViState::Idle {
            return Err(ViaError::State(state));
        }
        Self::check_attributes(&attributes)?;
        self.protection.use_tag(nic, attributes.tag)?;
        self.protection.drop_tag(before);
        self.vi_mut(id)?.attributes = attributes;
        Ok(())
    }

    fn cq(&mut self, nic: NicId, id: CqId) -> Result<&mut CompletionQueue, ViaError> {
        self.cqs.get_mut(id.0).filter(|cq| cq.nic == nic).ok_or(NO_CQ)
    }

    pub(crate) fn check_cq(&mut self, nic: NicId, id: CqId) -> Result<(), ViaError> {
        self.cq(nic, id).map(drop)
    }

    pub(crate) fn create_cq(&mut self, nic: NicId, capacity: usize) -> Result<CqId, ViaError> {
        self.check_nic(nic)?;
        if capacity == 0 {
            return Err(ViaError::Parameter("a completion queue has room for one entry at least"));
        }
        let entries = VecDeque::new();
        Ok(CqId(self.cqs.add(CompletionQueue { nic, capacity, taken: 0, entries, queues: 0 })))
    }

    pub(crate) fn destroy_cq(&mut self, nic: NicId, id: CqId) -> Result<(), ViaError> {
        self.slow_calls += 1;
        if self.cq(nic, id)?.queues > 0 {
            return Err(ViaError::Resource("VIs report to the completion queue: destroy them first"));
        }
        self.cqs.remove(id.0);
        Ok(())
    }

    pub(crate) fn resize_cq(&mut self, nic: NicId, id: CqId, capacity: usize) -> Result<(), ViaError> {
        self.slow_calls += 1;
        let cq = self.cq(nic, id)?;
        if capacity < cq.taken.max(1) {
            return Err(ViaError::Resource("entries and posted descriptors need more room than that"));
        }
        cq.capacity = capacity;
        Ok(())
    }

    /// Reports what a layer above has found.
    pub(crate) fn report(&mut self, id: ViId, report: Report) -> Result<(), ViaError> {
        let nic = self.vi(id)?.nic;
        self.reports.push_back(ErrorReport { nic, vi: id, report });
        Ok(())
    }

    /// Takes the oldest entry of a completion queue: whose descriptor is done, and whether it is a receive.
    pub(crate) fn take_entry(&mut self, nic: NicId, id: CqId) -> Result<Option<(ViId, bool)>, ViaError> {
        let cq = self.cq(nic, id)?;
        let entry = cq.entries.pop_front();
        cq.taken -= usize::from(entry.is_some());
        Ok(entry)
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
        // What comes after an RDMA write comes after its bytes.
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

    /// A packet has come from a rank. Returns false for bytes that are no packet, and for one that nobody
    /// waits for.
    pub(crate) fn packet(&mut self, from: u32, bytes: &[u8], datagram: bool) -> bool {
        let Some((packet, head)) = wire::decode(bytes, datagram) else { return false };
        self.handle(from, packet, &bytes[head..])
    }

    fn handle(&mut self, from: u32, packet: Packet, bytes: &[u8]) -> bool {
        let number = match packet {
            Packet::Request { .. }
            | Packet::Cancel { .. }
            | Packet::Accept { .. }
            | Packet::Refuse { .. }
            | Packet::Confirm { .. }
            | Packet::Gone { .. } => return self.handle_connect(from, packet),
            Packet::Names { .. } | Packet::Named { .. } => return self.handle_names(from, packet),
            Packet::Data { link, .. }
            | Packet::Ask { link, .. }
            | Packet::Posted { link, .. }
            | Packet::Placed { link, .. }
            | Packet::Broken { link, .. }
            | Packet::Bye { link, .. }
            | Packet::Resolve { link, .. }
            | Packet::Grant { link, .. }
            | Packet::Deny { link, .. } => link,
        };
        let Some(&id) = self.links.get(number) else { return false };
        let Some(link) = self.vis.get_mut(id.0).and_then(|vi| vi.link.as_mut()) else { return false };
        if link.rank != from {
            return false;
        }
        if link.phase != Phase::Open {
            // It has overtaken the packet that opens the connection.
            link.early.push((packet, bytes.to_vec()));
            return true;
        }
        self.handle_open(id, packet, bytes);
        true
    }

    /// A packet of a connection that is open.
    fn handle_open(&mut self, id: ViId, packet: Packet, bytes: &[u8]) {
        let Some(vi) = self.vis.get_mut(id.0) else { return };
        let (reliable, nic) = (vi.is_reliable(), vi.nic);
        let (most, tag) = (vi.attributes.max_transfer, vi.attributes.tag);
        let may = |write| if write { vi.attributes.rdma_write } else { vi.attributes.rdma_read };
        let may = [may(false), may(true)];
        let Some(link) = vi.open() else { return };
        match packet {
            Packet::Data { number, at, total, posted, immediate, written, .. } => {
                link.learn(posted);
                if total <= most {
                    let head = Arriving::new(total, immediate, written);
                    if reliable && at == 0 && bytes.len() == total as usize && link.awaits(number) {
                        // The usual case: nothing has to be kept.
                        self.take_in(id, number, Some((head, bytes)));
                    } else {
                        link.piece(number, at, bytes.to_vec(), head, reliable);
                        self.take_in(id, number, None);
                    }
                }
                self.advance(id);
            }
            Packet::Ask { number, wait, .. } if number < link.posted || wait => {
                if number >= link.posted {
                    link.asked = Some(number);
                    return;
                }
                let posted = link.posted;
                send_to(&mut self.out, link, |link| Packet::Posted { link, posted });
            }
            Packet::Ask { number, .. } => {
                self.reports.push_back(ErrorReport { nic, vi: id, report: Report::ReceiveQueueEmpty });
                self.break_link(id, Some((number, Errors::TRANSPORT)));
            }
            Packet::Posted { posted, .. } => {
                link.learn(posted);
                self.advance(id);
            }
            Packet::Placed { count, .. } => {
                placed(&mut vi.send, count);
                self.advance(id);
            }
            Packet::Broken { number, errors, .. } => {
                let sent = link.sent;
                placed(&mut vi.send, number);
                if let Some(entry) = vi.send.find(|e| e.stage == Stage::Sent(number)) {
                    entry.stage = failed(&entry.work, false, errors);
                } else if sent == number
                    && let Some(stage) = vi.send.next().map(|entry| failed(&entry.work, false, errors))
                {
                    vi.send.start(stage);
                }
                self.break_link(id, None);
            }
            Packet::Bye { sent, placed: count, .. } => {
                link.bye = Some(sent);
                placed(&mut vi.send, count);
                self.settle(id);
                self.end_if_over(id);
            }
            Packet::Resolve { memory, write, .. } => {
                let granted =
                    may[usize::from(write)].then(|| self.protection.grant(tag, memory, write)).flatten();
                if granted.is_none() {
                    let report = if write { Report::WriteProtection } else { Report::ReadProtection };
                    self.reports.push_back(ErrorReport { nic, vi: id, report });
                }
                send_to(&mut self.out, link, |link| match granted {
                    Some((key, base)) => {
                        let mut bytes = [0; size_of::<RegionKey>()];
                        bytes.copy_from_slice(bytemuck::bytes_of(&key));
                        Packet::Grant { link, memory, write, key: bytes, base }
                    }
                    None => Packet::Deny { link, memory, write },
                });
            }
            Packet::Grant { memory, write, key, base, .. } => {
                let key: RegionKey = bytemuck::pod_read_unaligned(&key);
                if key.rank().0 == link.rank {
                    link.grants.insert((memory, write), Some((key, base)));
                    self.go_on_moving(id, memory, write);
                    self.advance(id);
                }
            }
            Packet::Deny { memory, write, .. } => {
                link.grants.remove(&(memory, write));
                self.denied(id, memory, write);
            }
            _ => {}
        }
    }

    /// Delivers messages that are whole. `next`: the next one of a reliable connection, in one piece.
    fn take_in(&mut self, id: ViId, number: u64, mut next: Option<(Arriving, &[u8])>) {
        let Some(vi) = self.vis.get_mut(id.0) else { return };
        if !vi.is_reliable() {
            if let Some(message) = vi.open().and_then(|link| link.take_whole(number)) {
                let _ = self.deliver(id, &message, &[]);
            }
            return;
        }
        let before = vi.open().map(|link| link.received);
        loop {
            let Some(link) = self.vis.get_mut(id.0).and_then(Vi::open) else { return };
            let number = link.received;
            let (message, bytes) = match next.take() {
                Some(next) => {
                    link.received += 1;
                    next
                }
                None => {
                    let Some(message) = link.next_in_order() else { break };
                    (message, &[][..])
                }
            };
            if let Err((report, errors)) = self.deliver(id, &message, bytes) {
                if let (Some(report), Some(vi)) = (report, self.vis.get(id.0)) {
                    self.reports.push_back(ErrorReport { nic: vi.nic, vi: id, report });
                }
                self.break_link(id, Some((number, errors)));
                return;
            }
        }
        let Some(vi) = self.vis.get_mut(id.0) else { return };
        let told = vi.attributes.reliability == Reliability::Reception;
        if let Some(link) = vi.open()
            && told
            && before != Some(link.received)
        {
            let count = link.received;
            send_to(&mut self.out, link, |link| Packet::Placed { link, count });
        }
        self.end_if_over(id);
    }

    /// Puts a message into the next receive: its pieces, or `bytes` if it came in one. What the sender is
    /// told if that fails.
    fn deliver(
        &mut self,
        id: ViId,
        message: &Arriving,
        bytes: &[u8],
    ) -> Result<(), (Option<Report>, Errors)> {
        let Some(vi) = self.vis.get_mut(id.0) else { return Ok(()) };
        let Some(entry) = vi.receive.next() else {
            return Err((Some(Report::ReceiveQueueEmpty), Errors::TRANSPORT));
        };
        let (work, tag) = (&entry.work, vi.attributes.tag);
        let wrong = match message.written {
            Some(_) => Ok(()),
            None if !entry.held => Err(Errors::PROTECTION),
            None if work.len() < message.total.into() => Err(Errors::LENGTH),
            None => self.protection.check(tag, &work.segments),
        };
        if let Err(errors) = wrong {
            let stage = failed(work, true, errors);
            vi.receive.start(stage);
            self.settle(id);
            return Err((None, Errors::REMOTE));
        }
        self.protection.scatter(&work.segments, 0, bytes);
        for (at, bytes) in &message.pieces {
            self.protection.scatter(&work.segments, (*at).into(), bytes);
        }
        let (len, done) = match message.written {
            Some(len) => (len, Done::RemoteWrite),
            None => (message.total, Done::Receive),
        };
        let (errors, immediate) = (Errors::NONE, message.immediate);
        vi.receive.start(Stage::Done { errors, len, immediate, done });
        self.settle(id);
        Ok(())
    }

    /// The peer has ended the connection: it is over when its messages have come.
    fn end_if_over(&mut self, id: ViId) {
        let Some(vi) = self.vis.get_mut(id.0) else { return };
        let reliable = vi.is_reliable();
        if let Some(link) = vi.open()
            && link.bye.is_some_and(|sent| link.received >= sent || !reliable)
        {
            self.break_link(id, None);
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
fn resolve(link: &mut Link, remote: Remote, write: bool, out: &mut VecDeque<Action>) {
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
    remote: Remote,
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
