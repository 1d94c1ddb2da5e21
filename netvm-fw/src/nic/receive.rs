//! Packets: into memory, or to the bounce buffer; then the window, notifications, acknowledgements.

use super::{Action, Interrupt, Nic, Origin, Pending, Work};
use crate::ids::Ppn;
use crate::port::Counter;
use crate::shadow::LockError;
use crate::window::Arrival;
use crate::wire::{ACKNOWLEDGE, BadHead, Head, Kind, LEASED, Span};

/// The page that a message needs on the node it goes to.
fn needed(head: &Head) -> Span {
    if head.kind == Kind::Read { head.src } else { head.dst }
}

fn lease(head: &Head) -> Option<u32> {
    (head.flags & LEASED != 0 && matches!(head.kind, Kind::Write | Kind::Read)).then_some(head.op)
}

impl Nic {
    /// The head of a packet is in: locks its page while the rest arrives.
    pub(super) fn head(&mut self, head: Head, out: &mut Vec<Action>) {
        let usable =
            head.check_packet(self.config.nodes, head.payload_len()).is_ok() && head.to == self.config.node;
        let early = usable && matches!(head.kind, Kind::Write | Kind::ReadReply);
        let known = self.early.iter().any(|e| (e.0, e.1) == (head.from, head.seq));
        if !early || known || !self.peer(head.from).recv.expects(head.seq) {
            return;
        }
        let locked = self.lock(head.dst, lease(&head), out);
        self.early.push((head.from, head.seq, locked));
    }

    fn lock_needed(&mut self, head: &Head, out: &mut Vec<Action>) -> Result<Ppn, LockError> {
        match self.early.iter().position(|e| (e.0, e.1) == (head.from, head.seq)) {
            Some(i) => self.early.swap_remove(i).2,
            None => self.lock(needed(head), lease(head), out),
        }
    }

    /// A packet is in.
    pub(super) fn packet(&mut self, head: Head, payload: Vec<u8>, out: &mut Vec<Action>) {
        self.stats.received += 1;
        out.push(Action::Work(Work::Packet));
        let good = head
            .check_packet(self.config.nodes, payload.len())
            .and_then(|()| if head.to == self.config.node { Ok(()) } else { Err(BadHead::Node) });
        if let Err(why) = good {
            if let Some(i) = self.early.iter().position(|e| (e.0, e.1) == (head.from, head.seq))
                && let Ok(ppn) = self.early.swap_remove(i).2
            {
                self.unlock(ppn, false, out);
            }
            return self.malformed(why);
        }
        if head.kind.sequenced() {
            match self.peer(head.from).recv.arrive(head.seq) {
                Arrival::Fresh => {}
                Arrival::Duplicate | Arrival::Outside => {
                    self.stats.duplicates += 1;
                    return self.recycle(payload);
                }
            }
        }
        match head.kind {
            Kind::Write | Kind::ReadReply => self.place(head, payload, out),
            Kind::Read => self.serve_read(head, Origin::Packet, out),
            Kind::Atomic | Kind::Combine => self.serve_atomic(head, payload, Origin::Packet, out),
            Kind::Message => out.push(Action::Interrupt(Interrupt::Bounced { head, payload })),
            Kind::Ack => self.acknowledged(head.from, head.seq, out),
            Kind::Done => {
                self.count(head.port, Counter::Written, head.cookie, out);
            }
            Kind::AtomicReply => {
                let [a, b, c, _] = head.src.to_arguments();
                self.answer(head.port, head.cookie, Some([a, b, c]), out);
            }
            Kind::Refused => self.refused(head, out),
            Kind::Lease | Kind::EndLease | Kind::Raise => unreachable!("checked: no packet"),
        }
    }

    fn place(&mut self, head: Head, payload: Vec<u8>, out: &mut Vec<Action>) {
        match self.lock_needed(&head, out) {
            Ok(ppn) => self.store(Pending::Store { head, ppn }, ppn, head.dst, payload, out),
            Err(LockError::Missing) => self.bounce(head, payload, out),
            Err(LockError::Refused) => self.refuse(head, out),
        }
    }

    pub(super) fn bounce(&mut self, head: Head, payload: Vec<u8>, out: &mut Vec<Action>) {
        self.stats.bounces += 1;
        out.push(Action::Interrupt(Interrupt::Bounced { head, payload }));
    }

    /// Carries out a read, or has the host see to it.
    fn serve_read(&mut self, head: Head, origin: Origin, out: &mut Vec<Action>) {
        if !self.reserve(head.from) {
            // The host keeps it outside of the bounce buffer, so its number is done.
            self.defer(head, out);
            return self.complete(head, false, out);
        }
        self.serve_reserved(head, origin, out);
    }

    /// The same, with a credit for the reply. A deferred read keeps it when its page is missing.
    pub(super) fn serve_reserved(&mut self, head: Head, origin: Origin, out: &mut Vec<Action>) {
        let deferred = origin == Origin::Deferred;
        match self.lock(head.src, lease(&head), out) {
            Ok(ppn) => self.fetch(Pending::Fetch { head, ppn, origin }, ppn, head.src, out),
            Err(LockError::Missing) => {
                if !deferred {
                    self.unreserve(head.from);
                }
                match origin {
                    Origin::Packet => self.bounce(head, Vec::new(), out),
                    _ => out.push(Action::Interrupt(Interrupt::StillMissing { head, deferred })),
                }
            }
            Err(LockError::Refused) if deferred => self.give_back(head, true, out),
            Err(LockError::Refused) => {
                self.unreserve(head.from);
                self.refuse(head, out);
            }
        }
    }

    /// The host has brought the page of a bounced or deferred message.
    pub(super) fn restart(&mut self, mut head: Head, deferred: bool, out: &mut Vec<Action>) {
        // A wrong hash or an old lease of its sender must not make it miss for ever.
        head.flags &= !LEASED;
        head.src.hash = head.src.vpn.hash();
        head.dst.hash = head.dst.vpn.hash();
        match head.kind {
            Kind::Read if deferred => self.serve_reserved(head, Origin::Deferred, out),
            Kind::Read => self.serve_read(head, Origin::Restarted, out),
            Kind::Atomic => self.serve_atomic(head, Vec::new(), Origin::Restarted, out),
            Kind::Combine => {
                let payload = self.unpark(&head).expect("parked when it bounced");
                self.serve_atomic(head, payload, Origin::Restarted, out);
            }
            other => unreachable!("the host places {other:?} itself"),
        }
        out.push(Action::Interrupt(Interrupt::Settled(needed(&head).vpn)));
    }

    /// The host refuses a bounced or deferred message.
    pub(super) fn give_back(&mut self, head: Head, deferred: bool, out: &mut Vec<Action>) {
        if deferred {
            self.unreserve(head.from);
            self.stats.refused += 1;
            self.tell_refusal(&head, out);
            return self.pump(head.from, out);
        }
        self.refuse(head, out);
    }

    /// A message with a number is dealt with. `raise`: also its notification.
    pub(super) fn complete(&mut self, head: Head, raise: bool, out: &mut Vec<Action>) {
        out.push(Action::Work(Work::Window));
        let to = if head.kind == Kind::Message { head.port } else { head.dst.vpn.port() };
        let note = (raise && head.notification != 0).then_some((to, head.notification));
        let mut notes = Vec::new();
        let floor = self.peer(head.from).recv.complete(head.seq, note, |note| notes.push(note));
        for (port, number) in notes {
            self.raise(port, number, out);
        }
        if let Some(floor) = floor {
            self.stats.acks += 1;
            self.send_answer(Kind::Ack, &head, |ack| ack.seq = floor, out);
        }
        match head.kind {
            Kind::Write | Kind::Combine if raise && head.flags & ACKNOWLEDGE != 0 => {
                self.send_answer(Kind::Done, &head, |_| {}, out)
            }
            Kind::ReadReply => {
                self.count(head.port, Counter::Reads, head.cookie, out);
            }
            _ => {}
        }
    }

    /// A message with a number must not be carried out: its number is done all the same, and its sender is told.
    pub(super) fn refuse(&mut self, head: Head, out: &mut Vec<Action>) {
        self.stats.refused += 1;
        self.unpark(&head);
        if head.kind == Kind::ReadReply {
            self.count_refusal(head.port, out);
        } else if head.kind != Kind::Message {
            self.tell_refusal(&head, out);
        }
        self.complete(head, false, out);
    }

    fn tell_refusal(&mut self, head: &Head, out: &mut Vec<Action>) {
        let counted = !matches!(head.kind, Kind::Write | Kind::Combine) || head.flags & ACKNOWLEDGE != 0;
        let what = if counted { head.kind as u32 } else { 0 };
        self.send_answer(Kind::Refused, head, |answer| answer.op = what, out);
    }

    /// A peer refused something of ours. (A copy of the refusal of a write that nobody counts is counted again.)
    fn refused(&mut self, head: Head, out: &mut Vec<Action>) {
        let (port, cookie) = (head.port, head.cookie);
        let news = match head.op {
            kind if kind == Kind::Read as u32 => self.count(port, Counter::Reads, cookie, out),
            kind if [Kind::Write as u32, Kind::Combine as u32].contains(&kind) => {
                self.count(port, Counter::Written, cookie, out)
            }
            kind if kind == Kind::Atomic as u32 => self.answer(port, cookie, None, out),
            _ => true,
        };
        if news {
            self.count_refusal(port, out);
        }
    }
}
