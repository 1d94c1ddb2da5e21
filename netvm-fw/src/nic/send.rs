//! Commands, and the lanes by which they leave.
//!
//! A *lane* holds what a port has to send to one peer, in order; replies of the NIC have a lane of their own.
//! The lanes of a peer take turns at its credits. A reply to a read reserves its credit before its DMA, so it
//! never waits here.

use std::collections::VecDeque;

use super::{Due, Interrupt, Nic, NicAction, NicWork, OpId, Pending};
use crate::ids::PortId;
use crate::port::Counter;
use crate::shadow::{Lease, LockError};
use crate::window::{RecvWindow, SendWindow};
use crate::wire::{ACKNOWLEDGE, Head, HeadKind, INLINED, LEASED, PAGING, TRIGGERED, Traffic};

/// An entry of a lane.
#[derive(Debug)]
enum LaneEntry {
    /// It can be sent.
    Ready { head: Head, payload: Vec<u8>, overlapped: bool },
    /// Its source bytes are being fetched.
    Loading,
    /// There was no room for it in the NIC; its slot in the queue is still taken.
    Outside { head: Head, payload: Vec<u8>, command: u32 },
    /// Dropped; the next entry takes its turn.
    Gone,
}

#[derive(Debug)]
struct Lane {
    port: PortId,
    /// Number of the first entry.
    first: u32,
    entries: VecDeque<LaneEntry>,
    /// Number of entries that are `Outside`: always the last ones.
    outside: usize,
}

/// The state of a peer in the NIC.
#[derive(Debug, Default)]
pub(super) struct Peer {
    send: SendWindow,
    pub(super) recv: RecvWindow<Due>,
    lanes: Vec<Lane>,
    turn: usize,
    /// Entries that the NIC stores: ready and loading.
    staged: u32,
    /// Credits reserved for read replies.
    reserved: u32,
    /// Reads that the host keeps until there are credits.
    deferred: u32,
}

impl Peer {
    /// Credits that are not reserved.
    pub(super) fn credits(&self) -> u32 {
        self.send.credits() - self.reserved
    }

    pub(super) fn is_idle(&self) -> bool {
        self.reserved == 0 && self.deferred == 0 && self.lanes.iter().all(|lane| lane.entries.is_empty())
    }

    fn lane(&mut self, port: PortId) -> &mut Lane {
        let i = self.lanes.iter().position(|lane| lane.port == port).unwrap_or_else(|| {
            self.lanes.push(Lane { port, first: 0, entries: VecDeque::new(), outside: 0 });
            self.lanes.len() - 1
        });
        &mut self.lanes[i]
    }
}

impl Lane {
    fn entry(&mut self, number: u32) -> &mut LaneEntry {
        let i = number.wrapping_sub(self.first) as usize;
        &mut self.entries[i]
    }
}

impl Nic {
    /// Takes the next command out of a port's queue.
    pub(super) fn take_command(&mut self, port: PortId, out: &mut Vec<NicAction>) {
        let Some(state) = self.ports.get_mut(&port) else { return };
        let command = state.issue(Counter::Commands);
        let (words, inline) = state.memory.take_command(command);
        self.stats.commands += 1;
        out.push(NicAction::NicWork(NicWork::Command));
        let mut trigger = None;
        let head = Head::decode(&words).and_then(|mut head| {
            trigger = (head.flags & TRIGGERED != 0).then_some((head.from.0, head.seq));
            (head.from, head.seq) = (self.config.node, 0);
            // A program must not take the windows of the pager.
            head.flags = head.flags & !PAGING | if state.paging { PAGING } else { 0 };
            match head.kind {
                HeadKind::Message => head.op = port.0.into(),
                _ => head.port = port,
            }
            head.check_command(self.config.nodes).map(|()| head)
        });
        let mut head = match head {
            Ok(head) => head,
            Err(why) => {
                self.malformed(why);
                return self.drop_command(port, command, out);
            }
        };
        match head.kind {
            HeadKind::Read => head.cookie = state.issue(Counter::Reads),
            HeadKind::Write | HeadKind::Combine if head.flags & ACKNOWLEDGE != 0 => {
                head.cookie = state.issue(Counter::Written);
            }
            HeadKind::Atomic | HeadKind::Lease | HeadKind::EndLease => state.atomics.push(head.cookie),
            _ => {}
        }
        match head.kind {
            HeadKind::Lease => return self.take_lease(head, command, out),
            HeadKind::EndLease => {
                let lease = crate::ids::Ppn::new(head.dst.hash.0).map(|ppn| Lease { ppn, breaks: head.op });
                let ended = lease.is_some_and(|lease| self.table.end_lease(lease));
                self.answer(port, head.cookie, Some([u32::from(ended), 0, 0]), out);
                self.count(port, Counter::Commands, command, out);
                return;
            }
            _ => {}
        }
        let mut payload = Vec::new();
        if head.flags & INLINED != 0 {
            payload = self.buffers.pop().unwrap_or_default();
            payload.extend(inline.iter().flat_map(|word| word.to_le_bytes()).take(head.payload_len()));
        }
        if let Some(trigger) = trigger {
            head.flags &= !TRIGGERED;
            if !self.arm(trigger, head, payload, command, out) {
                return self.drop_command(port, command, out);
            }
            self.count(port, Counter::Commands, command, out);
            return;
        }
        if head.kind == HeadKind::Raise {
            self.raise(port, head.notification, out);
            self.count(port, Counter::Commands, command, out);
            return;
        }
        if head.kind == HeadKind::Freed {
            if !self.freed(port, head.op, out) {
                self.count_refusal(port, out);
            }
            self.count(port, Counter::Commands, command, out);
            return;
        }
        self.enqueue(head, payload, command, out);
        self.pump(head.traffic_to(), out);
    }

    /// Completes a command that will not be carried out.
    fn drop_command(&mut self, port: PortId, command: u32, out: &mut Vec<NicAction>) {
        self.count_refusal(port, out);
        self.count(port, Counter::Commands, command, out);
    }

    /// The port that issued the command.
    pub(super) fn lane_port(head: &Head) -> PortId {
        if head.kind == HeadKind::Message { PortId(head.op as u16) } else { head.port }
    }

    pub(super) fn enqueue(&mut self, head: Head, payload: Vec<u8>, command: u32, out: &mut Vec<NicAction>) {
        let staged = self.config.staged;
        let port = Self::lane_port(&head);
        let peer = self.peer(head.traffic_to());
        let room = peer.staged < staged && peer.lane(port).outside == 0;
        if room {
            peer.staged += 1;
        }
        let lane = peer.lane(port);
        lane.outside += usize::from(!room);
        let entry = lane.first.wrapping_add(lane.entries.len() as u32);
        lane.entries.push_back(LaneEntry::Outside { head, payload, command });
        if room {
            self.load(head.traffic_to(), port, entry, out);
        }
    }

    /// Loads an entry into the NIC. It is counted as staged already.
    fn load(&mut self, to: Traffic, port: PortId, entry: u32, out: &mut Vec<NicAction>) {
        let place = self.peer(to).lane(port).entry(entry);
        let LaneEntry::Outside { head, payload, command } = core::mem::replace(place, LaneEntry::Loading)
        else {
            unreachable!("an entry is loaded once")
        };
        let by_dma = head.kind.has_payload() && head.flags & INLINED == 0 && head.payload_len() > 0;
        if by_dma {
            return self.load_source(head, command, entry, out);
        }
        *place = LaneEntry::Ready { head, payload, overlapped: false };
        self.count(port, Counter::Commands, command, out);
    }

    fn load_source(&mut self, head: Head, command: u32, entry: u32, out: &mut Vec<NicAction>) {
        match self.lock(head.src, None, out) {
            Ok(ppn) => self.fetch(Pending::Load { head, command, entry, ppn: Some(ppn) }, ppn, head.src, out),
            Err(LockError::Missing) => {
                let op = self.begin(Pending::Load { head, command, entry, ppn: None });
                out.push(NicAction::Interrupt(Interrupt::SourceMissing { op, span: head.src }));
            }
            Err(LockError::Refused) => self.give_up(head, command, entry, out),
        }
    }

    /// Drops a command whose own page is not accessible to it.
    fn give_up(&mut self, head: Head, command: u32, entry: u32, out: &mut Vec<NicAction>) {
        let port = Self::lane_port(&head);
        let peer = self.peer(head.traffic_to());
        peer.staged -= 1;
        *peer.lane(port).entry(entry) = LaneEntry::Gone;
        self.stats.refused += 1;
        self.count_refusal(port, out);
        if matches!(head.kind, HeadKind::Write | HeadKind::Combine) && head.flags & ACKNOWLEDGE != 0 {
            self.count(port, Counter::Written, head.cookie, out);
        }
        self.count(port, Counter::Commands, command, out);
        self.pump(head.traffic_to(), out);
    }

    /// The source bytes have arrived.
    pub(super) fn loaded(
        &mut self,
        head: Head,
        command: u32,
        entry: u32,
        payload: Vec<u8>,
        out: &mut Vec<NicAction>,
    ) {
        let port = Self::lane_port(&head);
        *self.peer(head.traffic_to()).lane(port).entry(entry) =
            LaneEntry::Ready { head, payload, overlapped: true };
        self.count(port, Counter::Commands, command, out);
        self.pump(head.traffic_to(), out);
    }

    /// The host has brought the page that a command needs, or reports that there is none.
    pub(super) fn resume(&mut self, op: OpId, there: bool, out: &mut Vec<NicAction>) {
        match self.finish(op) {
            Pending::Load { mut head, command, entry, ppn: None } => {
                if there {
                    // A wrong hash must not make it miss for ever.
                    head.src.hash = head.src.vpn.hash();
                    self.load_source(head, command, entry, out);
                    out.push(NicAction::Interrupt(Interrupt::Settled(head.src.vpn)));
                } else {
                    self.give_up(head, command, entry, out);
                }
            }
            Pending::Lease { mut head, command } if there => {
                head.dst.hash = head.dst.vpn.hash();
                self.take_lease(head, command, out);
                out.push(NicAction::Interrupt(Interrupt::Settled(head.dst.vpn)));
            }
            Pending::Lease { head, command } => self.end_lease_command(head, command, None, out),
            Pending::Append { mut head, message, ppn: None, payload } => {
                head.dst.hash = head.dst.vpn.hash();
                self.resume_fragment((head, message, payload), there, out);
            }
            other => unreachable!("the host was not asked for {other:?}"),
        }
    }

    fn take_lease(&mut self, head: Head, command: u32, out: &mut Vec<NicAction>) {
        match self.table.lease(head.dst.vpn, head.dst.hash, head.dst.key) {
            Ok(lease) => {
                out.push(NicAction::NicWork(NicWork::Lock));
                self.end_lease_command(head, command, Some([lease.ppn.get(), lease.breaks, 0]), out);
            }
            Err(LockError::Missing) => {
                out.push(NicAction::NicWork(NicWork::LockMiss));
                let op = self.begin(Pending::Lease { head, command });
                out.push(NicAction::Interrupt(Interrupt::SourceMissing { op, span: head.dst }));
            }
            Err(LockError::Refused) => self.end_lease_command(head, command, None, out),
        }
    }

    fn end_lease_command(
        &mut self,
        head: Head,
        command: u32,
        words: Option<[u32; 3]>,
        out: &mut Vec<NicAction>,
    ) {
        if words.is_none() {
            self.stats.refused += 1;
            self.count_refusal(head.port, out);
        }
        self.answer(head.port, head.cookie, words, out);
        self.count(head.port, Counter::Commands, command, out);
    }

    /// Sends what can be sent to a peer, then loads the entries that have room.
    pub(super) fn pump(&mut self, to: Traffic, out: &mut Vec<NicAction>) {
        loop {
            self.let_in(to, out);
            let peer = self.peer(to);
            let lanes = peer.lanes.len();
            let ready = (0..lanes).map(|i| (peer.turn + i) % lanes).find(|&i| {
                let lane = &mut peer.lanes[i];
                while let Some(LaneEntry::Gone) = lane.entries.front() {
                    lane.entries.pop_front();
                    lane.first = lane.first.wrapping_add(1);
                }
                matches!(lane.entries.front(), Some(LaneEntry::Ready { .. }))
            });
            let Some(i) = ready else { return };
            if peer.credits() == 0 {
                self.stats.stalls += 1;
                return;
            }
            peer.turn = (i + 1) % lanes;
            let lane = &mut peer.lanes[i];
            lane.first = lane.first.wrapping_add(1);
            let Some(LaneEntry::Ready { mut head, payload, overlapped }) = lane.entries.pop_front() else {
                return;
            };
            peer.staged -= 1;
            head.seq = peer.send.take().expect("there is a credit");
            self.send(head, payload, overlapped, out);
        }
    }

    /// Loads entries while there is room, one lane after the other.
    fn let_in(&mut self, to: Traffic, out: &mut Vec<NicAction>) {
        loop {
            let staged = self.config.staged;
            let peer = self.peer(to);
            if peer.staged >= staged {
                return;
            }
            let lanes = peer.lanes.len();
            let waiting = (0..lanes).map(|i| (peer.turn + i) % lanes).find(|&i| peer.lanes[i].outside > 0);
            let Some(i) = waiting else { return };
            let lane = &mut peer.lanes[i];
            let at = lane.entries.len() - lane.outside;
            lane.outside -= 1;
            peer.staged += 1;
            let (port, entry) = (lane.port, lane.first.wrapping_add(at as u32));
            self.load(to, port, entry, out);
        }
    }

    /// Sends a packet now.
    pub(super) fn send(&mut self, head: Head, payload: Vec<u8>, overlapped: bool, out: &mut Vec<NicAction>) {
        self.stats.sent += 1;
        out.push(NicAction::NicWork(NicWork::Send));
        out.push(NicAction::Send { head, payload, overlapped });
    }

    /// Sends an answer, which needs no number.
    pub(super) fn send_answer(
        &mut self,
        kind: HeadKind,
        to: &Head,
        fill: impl FnOnce(&mut Head),
        out: &mut Vec<NicAction>,
    ) {
        let mut head = Head::new(kind, to.port, self.config.node, to.from);
        (head.cookie, head.flags) = (to.cookie, to.flags & PAGING);
        fill(&mut head);
        self.send(head, Vec::new(), false, out);
    }

    /// Reserves a credit for the reply to a read, which uses it when its bytes have arrived.
    pub(super) fn reserve(&mut self, to: Traffic) -> bool {
        let peer = self.peer(to);
        let free = peer.credits() > 0;
        peer.reserved += u32::from(free);
        free
    }

    /// Gives back a reserved credit.
    pub(super) fn unreserve(&mut self, to: Traffic) {
        self.peer(to).reserved -= 1;
    }

    /// The bytes of a read have arrived; its credit is reserved.
    pub(super) fn read_reply(&mut self, request: Head, payload: Vec<u8>, out: &mut Vec<NicAction>) {
        let peer = self.peer(request.traffic_from());
        peer.reserved -= 1;
        let seq = peer.send.take().expect("the credit is reserved");
        let (from, to) = (self.config.node, request.from);
        let head =
            Head { kind: HeadKind::ReadReply, flags: request.flags & !LEASED, from, to, seq, ..request };
        self.send(head, payload, true, out);
    }

    /// There is no credit for a reply: hands the request to the host.
    pub(super) fn defer(&mut self, request: Head, out: &mut Vec<NicAction>) {
        self.stats.deferred += 1;
        self.peer(request.traffic_from()).deferred += 1;
        out.push(NicAction::Interrupt(Interrupt::Deferred(request)));
    }

    /// An acknowledgement came: deferred reads get credits first.
    pub(super) fn acknowledged(&mut self, of: Traffic, floor: u32, out: &mut Vec<NicAction>) {
        let peer = self.peer(of);
        if peer.send.acknowledge(floor) == 0 {
            return;
        }
        let reads = peer.deferred.min(peer.credits());
        peer.deferred -= reads;
        peer.reserved += reads;
        if reads > 0 {
            out.push(NicAction::Interrupt(Interrupt::Credits { of, reads }));
        }
        self.pump(of, out);
    }
}
