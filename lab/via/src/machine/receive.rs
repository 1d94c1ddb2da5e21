//! Packets of connections: messages that come, what they tell of ours, and the peer's requests for memory.

use super::{Machine, Vi, placed, send_to};
use crate::link::{Arriving, Phase};
use crate::memory::Region;
use crate::queue::{Stage, failed};
use crate::terms::{Done, ErrorReport, Errors, Reliability, Report, ViId};
use crate::wire::{self, Packet};
use gasnet::RegionKey;

impl<R: Region> Machine<R> {
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
    pub(super) fn handle_open(&mut self, id: ViId, packet: Packet, bytes: &[u8]) {
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

    /// Puts a message into the next receive: its pieces, or `bytes` if it came in one. The error is the one
    /// to report to the sender.
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
}
