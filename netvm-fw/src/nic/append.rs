//! Appended queues: fragments in the order of their senders, places, and room.

use std::sync::Arc;

use super::{Due, Interrupt, Nic, NicAction, NicWork, Pending};
use crate::append::{AppendQueue, Resumed, Sender, Verdict};
use crate::ids::{Key, PAGE, PortId, Ppn, Vpn};
use crate::port::{PortMemory, Post};
use crate::shadow::LockError;
use crate::wire::{AppendPart, Head, HeadKind, Span};

/// The memory of an appended queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueuePlace {
    /// The port whose memory it is.
    pub port: PortId,
    /// Address of the first byte, at the start of a page.
    pub address: u64,
    /// Its bytes, in whole pages.
    pub bytes: u64,
    /// The key of the segment that it is in, which senders have to know.
    pub key: Key,
    /// The event to raise for each message; 0 = none.
    pub event: u32,
}

/// An appended queue of this node.
#[derive(Debug)]
pub(super) struct Appended {
    place: QueuePlace,
    memory: Arc<PortMemory>,
    queue: AppendQueue<(Head, Vec<u8>)>,
    /// Number of the last word to a sender.
    word: u32,
}

impl Appended {
    /// Whether nothing of it is under way.
    pub(super) fn is_idle(&self) -> bool {
        self.queue.is_idle()
    }

    pub(super) fn port(&self) -> PortId {
        self.place.port
    }

    /// Looks for the room that the port has freed, if a message of `len` bytes does not fit.
    fn look_for_room(&mut self, number: usize, len: u32) {
        let Some(arrivals) = self.memory.queue(number as u32) else { return };
        if !self.queue.fits(len) {
            self.queue.free(arrivals.freed());
        }
        if !self.queue.fits(len) {
            self.queue.free(arrivals.want_room());
        }
    }
}

fn sender(head: &Head) -> Sender {
    (head.from, head.port)
}

impl Nic {
    /// Opens an appended queue of an open port; returns its number, by which senders name it. The numbers of
    /// a node's queues begin at 0, and [`PortMemory::queue`] of that number must exist.
    ///
    /// # Panics
    /// The port is not open, or its memory has no such queue, or the memory of the queue is not whole pages.
    pub fn open_queue(&mut self, place: QueuePlace) -> u32 {
        let number = self.queues.len() as u32;
        let memory = self.ports.get(&place.port).expect("an open port").memory.clone();
        assert!(memory.queue(number).is_some(), "port {} has no queue {number}", place.port.0);
        assert!(place.address.is_multiple_of(PAGE.into()), "a queue at {:#x}", place.address);
        let queue = AppendQueue::new(place.bytes);
        self.queues.push(Some(Appended { place, memory, queue, word: 0 }));
        number
    }

    /// Fragments that a queue keeps because it has no room.
    pub fn kept(&self, queue: u32) -> usize {
        self.queues.get(queue as usize).and_then(Option::as_ref).map_or(0, |q| q.queue.kept())
    }

    /// A fragment has arrived. Its number is done at once; it takes effect when all before it are done.
    pub(super) fn appended(&mut self, head: Head, payload: Vec<u8>, out: &mut Vec<NicAction>) {
        if self.peer(head.traffic_from()).recv.floor() == head.seq {
            // The usual case: it is the next one.
            self.append(head, payload, out);
            return self.advance(&head, None, out);
        }
        let place = self.appends.insert((head, payload));
        self.advance(&head, Some(Due::Append(place as u32)), out);
    }

    /// The turn of a fragment that waited has come.
    pub(super) fn append_parked(&mut self, place: u32, out: &mut Vec<NicAction>) {
        let (head, payload) = self.appends.remove(place as usize);
        self.append(head, payload, out);
    }

    /// A fragment takes effect.
    fn append(&mut self, head: Head, payload: Vec<u8>, out: &mut Vec<NicAction>) {
        out.push(NicAction::NicWork(NicWork::Append));
        let number = head.op as usize;
        let fragment = AppendPart::of(&head);
        let queue = self.queues.get_mut(number).and_then(Option::as_mut);
        let (Some(fragment), Some(to)) = (fragment, queue.filter(|q| q.place.key == head.dst.key)) else {
            return self.refuse_fragment(head, payload, out);
        };
        if fragment.index == 0 {
            to.look_for_room(number, fragment.total);
        }
        match to.queue.offer(sender(&head), fragment, (head, payload)) {
            Verdict::Kept { first } => {
                self.stats.kept += 1;
                if first {
                    to.word = to.word.wrapping_add(1) | 1;
                    let word = to.word;
                    self.tell_room(sender(&head), head.op, word, out);
                }
            }
            other => self.settle(other, out),
        }
        // A message of the same sender may have been lost.
        self.post_entries(number as u32, out);
    }

    /// Gives what is kept its place, as far as there is room.
    fn resume_appends(&mut self, number: usize, out: &mut Vec<NicAction>) {
        while let Some(to) = self.queues.get_mut(number).and_then(Option::as_mut) {
            let Some(len) = to.queue.wanted() else {
                if let Some(arrivals) = to.memory.queue(number as u32) {
                    arrivals.has_room();
                }
                return;
            };
            to.look_for_room(number, len);
            let Some(Resumed { verdict, go }) = to.queue.resume() else {
                return self.post_entries(number as u32, out);
            };
            if let Some(who) = go {
                to.word = to.word.wrapping_add(2) & !1;
                let word = to.word;
                self.tell_room(who, number as u32, word, out);
            }
            self.settle(verdict, out);
        }
    }

    /// The port says that there is room in one of its queues.
    pub(super) fn freed(&mut self, port: PortId, queue: u32, out: &mut Vec<NicAction>) -> bool {
        let own = self.queues.get(queue as usize).and_then(Option::as_ref);
        let own = own.is_some_and(|q| q.place.port == port);
        if own {
            self.resume_appends(queue as usize, out);
        }
        own
    }

    fn tell_room(&mut self, (node, port): Sender, queue: u32, word: u32, out: &mut Vec<NicAction>) {
        let mut head = Head::new(HeadKind::Room, port, self.config.node, node);
        (head.op, head.cookie) = (queue, word);
        self.send(head, Vec::new(), false, out);
    }

    fn settle(&mut self, verdict: Verdict<(Head, Vec<u8>)>, out: &mut Vec<NicAction>) {
        match verdict {
            Verdict::Place { item: (mut head, payload), at, message } => {
                let Some(to) = self.queues.get(head.op as usize).and_then(Option::as_ref) else { return };
                let address = to.place.address + at % to.place.bytes;
                let (vpn, offset) = (Vpn::of(to.place.port, address), address % u64::from(PAGE));
                head.dst = Span::new(vpn, to.place.key, offset as u32, head.dst.len.into());
                self.place_fragment(head, message, payload, out);
            }
            Verdict::Refused((head, payload)) => self.refuse_fragment(head, payload, out),
            Verdict::Kept { .. } => {}
        }
    }

    fn place_fragment(&mut self, head: Head, message: u32, payload: Vec<u8>, out: &mut Vec<NicAction>) {
        match self.lock(head.dst, None, out) {
            Ok(ppn) => {
                let pending = Pending::Append { head, message, ppn: Some(ppn), payload: Vec::new() };
                self.store(pending, ppn, head.dst, payload, out);
            }
            Err(LockError::Missing) => {
                let op = self.begin(Pending::Append { head, message, ppn: None, payload });
                out.push(NicAction::Interrupt(Interrupt::SourceMissing { op, span: head.dst }));
            }
            Err(LockError::Refused) => self.lose_fragment(head, message, payload, out),
        }
    }

    /// The page of a fragment's place is there now, or will never be.
    pub(super) fn resume_fragment(
        &mut self,
        (head, message, payload): (Head, u32, Vec<u8>),
        there: bool,
        out: &mut Vec<NicAction>,
    ) {
        if !there {
            return self.lose_fragment(head, message, payload, out);
        }
        self.place_fragment(head, message, payload, out);
        out.push(NicAction::Interrupt(Interrupt::Settled(head.dst.vpn)));
    }

    /// The bytes of a fragment are in the queue.
    pub(super) fn fragment_written(&mut self, head: Head, message: u32, ppn: Ppn, out: &mut Vec<NicAction>) {
        self.unlock(ppn, true, out);
        if let Some(to) = self.queues.get_mut(head.op as usize).and_then(Option::as_mut) {
            to.queue.done(message, head.dst.len.into());
            self.post_entries(head.op, out);
        }
    }

    fn lose_fragment(&mut self, head: Head, message: u32, payload: Vec<u8>, out: &mut Vec<NicAction>) {
        if let Some(to) = self.queues.get_mut(head.op as usize).and_then(Option::as_mut) {
            to.queue.fail(message, head.dst.len.into());
            self.post_entries(head.op, out);
        }
        self.refuse_fragment(head, payload, out);
    }

    fn post_entries(&mut self, number: u32, out: &mut Vec<NicAction>) {
        while let Some(to) = self.queues.get_mut(number as usize).and_then(Option::as_mut)
            && let Some(entry) = to.queue.post()
        {
            let QueuePlace { port, event, .. } = to.place;
            self.stats.appended += 1;
            out.push(NicAction::Post(port, Post::Appended { queue: number, entry }));
            if event != 0 {
                self.raise(port, event, out);
            }
        }
    }

    /// A fragment that no queue takes. Its number is done.
    fn refuse_fragment(&mut self, head: Head, payload: Vec<u8>, out: &mut Vec<NicAction>) {
        self.stats.refused += 1;
        self.recycle(payload);
        self.tell_refusal(&head, None, out);
    }
}
