//! Packets: into memory, or to the bounce buffer; then window, notifications and acknowledgements.

use super::{Due, Interrupt, Nic, NicAction, NicWork, Origin, Pending};
use crate::ids::Ppn;
use crate::port::{Counter, Post};
use crate::region::{Refusal, RegionName};
use crate::shadow::LockError;
use crate::window::Arrival;
use crate::wire::{ACKNOWLEDGE, BadHead, Head, HeadKind, LEASED, Span};

/// The page that a message needs at its destination.
fn needed(head: &Head) -> Span {
    if head.kind == HeadKind::Read { head.src } else { head.dst }
}

fn lease(head: &Head) -> Option<u32> {
    (head.flags & LEASED != 0 && matches!(head.kind, HeadKind::Write | HeadKind::Read)).then_some(head.op)
}

impl Nic {
    /// The head of a packet has arrived: locks its page while the rest arrives.
    pub(super) fn head(&mut self, head: Head, out: &mut Vec<NicAction>) {
        let usable =
            head.check_packet(self.config.nodes, head.payload_len()).is_ok() && head.to == self.config.node;
        let early = usable && matches!(head.kind, HeadKind::Write | HeadKind::ReadReply);
        let known = self.early.iter().any(|e| (e.0, e.1) == (head.traffic_from(), head.seq));
        if !early || known || !self.peer(head.traffic_from()).recv.expects(head.seq) {
            return;
        }
        let locked = self.lock(head.dst, lease(&head), out);
        self.early.push((head.traffic_from(), head.seq, locked));
    }

    fn lock_needed(&mut self, head: &Head, out: &mut Vec<NicAction>) -> Result<Ppn, LockError> {
        match self.early.iter().position(|e| (e.0, e.1) == (head.traffic_from(), head.seq)) {
            Some(i) => self.early.swap_remove(i).2,
            None => self.lock(needed(head), lease(head), out),
        }
    }

    /// A packet has arrived.
    pub(super) fn packet(&mut self, head: Head, payload: Vec<u8>, out: &mut Vec<NicAction>) {
        self.stats.received += 1;
        out.push(NicAction::NicWork(NicWork::Packet));
        let good = head
            .check_packet(self.config.nodes, payload.len())
            .and_then(|()| if head.to == self.config.node { Ok(()) } else { Err(BadHead::Node) });
        if let Err(why) = good {
            if let Some(i) = self.early.iter().position(|e| (e.0, e.1) == (head.traffic_from(), head.seq))
                && let Ok(ppn) = self.early.swap_remove(i).2
            {
                self.unlock(ppn, false, out);
            }
            return self.malformed(why);
        }
        if head.kind.sequenced() {
            match self.peer(head.traffic_from()).recv.arrive(head.seq) {
                Arrival::Fresh => {}
                Arrival::Duplicate | Arrival::Outside => {
                    self.stats.duplicates += 1;
                    return self.recycle(payload);
                }
            }
        }
        match head.kind {
            HeadKind::Write | HeadKind::ReadReply => self.place(head, payload, out),
            HeadKind::Read => self.serve_read(head, Origin::Packet, out),
            HeadKind::Atomic | HeadKind::Combine => self.serve_atomic(head, payload, Origin::Packet, out),
            HeadKind::Message => out.push(NicAction::Interrupt(Interrupt::Bounced { head, payload })),
            HeadKind::Ack => self.acknowledged(head.traffic_from(), head.seq, out),
            HeadKind::Done => {
                self.count(head.port, Counter::Written, head.cookie, out);
            }
            HeadKind::AtomicReply => {
                let [a, b, c, _] = head.src.to_arguments();
                self.answer(head.port, head.cookie, Some([a, b, c]), out);
            }
            HeadKind::Refused => self.refused(head, out),
            HeadKind::Append => self.appended(head, payload, out),
            HeadKind::Room => {
                let (node, queue, number) = (head.from, head.op, head.cookie);
                if self.ports.contains_key(&head.port) {
                    out.push(NicAction::Post(head.port, Post::Room { node, queue, number }));
                }
            }
            HeadKind::Lease | HeadKind::EndLease | HeadKind::Raise | HeadKind::Freed => {
                unreachable!("checked: no packet")
            }
        }
    }

    fn place(&mut self, head: Head, payload: Vec<u8>, out: &mut Vec<NicAction>) {
        match self.lock_needed(&head, out) {
            Ok(ppn) => self.store(Pending::Store { head, ppn }, ppn, head.dst, payload, out),
            Err(LockError::Missing) => {
                match RegionName::of(head.dst).filter(|_| head.kind == HeadKind::Write) {
                    Some(place) => self.write_region(head, place, payload, out),
                    None => self.bounce(head, payload, out),
                }
            }
            Err(LockError::Refused) => self.refuse(head, out),
        }
    }

    pub(super) fn bounce(&mut self, head: Head, payload: Vec<u8>, out: &mut Vec<NicAction>) {
        self.stats.bounces += 1;
        out.push(NicAction::Interrupt(Interrupt::Bounced { head, payload }));
        if let Some(ppn) = self.operands.as_ref().and_then(|operands| operands.frame(head.dst.vpn)) {
            self.put_behind_operands(ppn, out);
        }
    }

    /// Carries out a read, or hands it to the host.
    fn serve_read(&mut self, head: Head, origin: Origin, out: &mut Vec<NicAction>) {
        if !self.reserve(head.traffic_from()) {
            // The host keeps it outside of the bounce buffer, so its number is done.
            self.defer(head, out);
            return self.complete(head, false, out);
        }
        self.serve_reserved(head, origin, out);
    }

    /// Carries out a read that has a credit for its reply. A deferred read keeps the credit when its page is
    /// missing.
    pub(super) fn serve_reserved(&mut self, head: Head, origin: Origin, out: &mut Vec<NicAction>) {
        let deferred = origin == Origin::Deferred;
        match self.lock(head.src, lease(&head), out) {
            Ok(ppn) => self.fetch(Pending::Fetch { head, ppn, origin }, ppn, head.src, out),
            Err(LockError::Missing) => {
                if let Some(place) = RegionName::of(head.src) {
                    return self.read_region(head, place, origin, out);
                }
                if !deferred {
                    self.unreserve(head.traffic_from());
                }
                match origin {
                    Origin::Packet => self.bounce(head, Vec::new(), out),
                    _ => out.push(NicAction::Interrupt(Interrupt::StillMissing { head, deferred })),
                }
            }
            Err(LockError::Refused) if deferred => self.give_back(head, true, out),
            Err(LockError::Refused) => {
                self.unreserve(head.traffic_from());
                self.refuse(head, out);
            }
        }
    }

    /// The host has brought the page of a bounced or deferred message.
    pub(super) fn restart(&mut self, mut head: Head, deferred: bool, out: &mut Vec<NicAction>) {
        // A wrong hash or an old lease of its sender must not make it miss for ever.
        head.flags &= !LEASED;
        head.src.hash = head.src.vpn.hash();
        head.dst.hash = head.dst.vpn.hash();
        match head.kind {
            HeadKind::Read if deferred => self.serve_reserved(head, Origin::Deferred, out),
            HeadKind::Read => self.serve_read(head, Origin::Restarted, out),
            HeadKind::Atomic => self.serve_atomic(head, Vec::new(), Origin::Restarted, out),
            HeadKind::Combine => {
                let payload = self.unpark(&head).expect("parked when it bounced");
                self.serve_atomic(head, payload, Origin::Restarted, out);
            }
            other => unreachable!("the host places {other:?} itself"),
        }
        out.push(NicAction::Interrupt(Interrupt::Settled(needed(&head).vpn)));
    }

    /// The host refuses a bounced or deferred message.
    pub(super) fn give_back(&mut self, head: Head, deferred: bool, out: &mut Vec<NicAction>) {
        if deferred {
            self.unreserve(head.traffic_from());
            self.stats.refused += 1;
            self.tell_refusal(&head, None, out);
            return self.pump(head.traffic_from(), out);
        }
        self.refuse(head, out);
    }

    /// A message with a number has been carried out. `raise`: raises its notification too.
    pub(super) fn complete(&mut self, head: Head, raise: bool, out: &mut Vec<NicAction>) {
        let to = if head.kind == HeadKind::Message { head.port } else { head.dst.vpn.port() };
        let note = (raise && head.notification != 0).then_some(Due::Raise(to, head.notification));
        self.advance(&head, note, out);
        match head.kind {
            HeadKind::Write | HeadKind::Combine if raise && head.flags & ACKNOWLEDGE != 0 => {
                self.send_answer(HeadKind::Done, &head, |_| {}, out)
            }
            HeadKind::ReadReply => {
                self.count(head.port, Counter::Reads, head.cookie, out);
            }
            _ => {}
        }
    }

    /// Completes a sequence number. Notifications and messages that waited for their turn follow, and an
    /// acknowledgement after half a window.
    pub(super) fn advance(&mut self, head: &Head, note: Option<Due>, out: &mut Vec<NicAction>) {
        out.push(NicAction::NicWork(NicWork::Window));
        let mut notes = Vec::new();
        let floor = self.peer(head.traffic_from()).recv.complete(head.seq, note, |note| notes.push(note));
        for note in notes {
            match note {
                Due::Raise(port, number) => self.raise(port, number, out),
                Due::Append(place) => self.append_parked(place, out),
            }
        }
        if let Some(floor) = floor {
            self.stats.acks += 1;
            self.send_answer(HeadKind::Ack, head, |ack| ack.seq = floor, out);
        }
    }

    /// A message with a number must not be carried out: its number is done all the same, and its sender is
    /// told.
    pub(super) fn refuse(&mut self, head: Head, out: &mut Vec<NicAction>) {
        self.stats.refused += 1;
        self.unpark(&head);
        if head.kind == HeadKind::ReadReply {
            self.count_refusal(head.port, out);
        } else if head.kind != HeadKind::Message {
            self.tell_refusal(&head, None, out);
        }
        self.complete(head, false, out);
    }

    pub(super) fn tell_refusal(&mut self, head: &Head, why: Option<Refusal>, out: &mut Vec<NicAction>) {
        let counted = !matches!(head.kind, HeadKind::Write | HeadKind::Combine | HeadKind::Append)
            || head.flags & ACKNOWLEDGE != 0;
        let what = if counted { head.kind as u32 } else { 0 };
        let why = why.map_or(0, |why| why.0.get());
        let fill = |answer: &mut Head| (answer.op, answer.notification) = (what, why);
        self.send_answer(HeadKind::Refused, head, fill, out);
    }

    /// A peer refused an operation of this node. (A copy of the refusal of a write without acknowledgement is
    /// counted again.)
    fn refused(&mut self, head: Head, out: &mut Vec<NicAction>) {
        self.denied(&head);
        let (port, cookie) = (head.port, head.cookie);
        let news = match head.op {
            kind if kind == HeadKind::Read as u32 => self.count(port, Counter::Reads, cookie, out),
            kind if [HeadKind::Write as u32, HeadKind::Combine as u32].contains(&kind) => {
                self.count(port, Counter::Written, cookie, out)
            }
            kind if kind == HeadKind::Atomic as u32 => self.answer(port, cookie, None, out),
            _ => true,
        };
        if news {
            self.count_refusal(port, out);
        }
    }
}
