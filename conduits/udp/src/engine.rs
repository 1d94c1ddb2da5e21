//! All links of a rank, their socket, and their timers: one value behind one lock.
//!
//! [`Engine::pump`] does everything there is to do without waiting: takes what has arrived, serves timers that are due, sends.
//! Links come into being with the first thing to send or the first datagram that proves to come from a peer.

use crate::auth::{Coverage, JobKey, Life};
use crate::buf::Buf;
use crate::disturb::Disturbance;
use crate::link::{Batch, Link, Refused, Setup};
use crate::memory::Memory;
use crate::path::Time;
use crate::place::Card;
use crate::socket::{self, Sent, Socket};
use crate::wire::Packet;
use gasnet::conduit::Channel;
use gasnet::{Error, RankId};
use std::collections::VecDeque;

/// Rounds of receiving in a pump.
const ROUNDS: usize = 8;

/// See the module.
pub(crate) struct Engine {
    me: u32,
    key: JobKey,
    cards: Vec<Card>,
    window: u64,
    patience: Time,
    socket: Socket,
    links: Vec<Option<Box<Link>>>,
    pub(crate) memory: Memory,
    batch: Batch,
    /// Peers that may have something to send, and whether each is in there.
    ready: VecDeque<u32>,
    is_ready: Vec<bool>,
    /// To whom the batch goes that the kernel did not take.
    stuck: Option<u32>,
    /// Nothing is due before.
    deadline: Option<Time>,
    /// Frames reserved and not committed.
    slots: Vec<Option<Buf>>,
    free_slots: Vec<u32>,
    broken: Option<(u32, String)>,
    pub(crate) disturbance: Option<Disturbance>,
    pub(crate) pumped: bool,
}

/// What receiving needs of the engine.
struct Intake<'a> {
    now: Time,
    me: u32,
    links: &'a mut Vec<Option<Box<Link>>>,
    memory: &'a mut Memory,
    ready: &'a mut VecDeque<u32>,
    is_ready: &'a mut Vec<bool>,
    /// Who sent the last one: datagrams of a batch come from one peer.
    from: u32,
    /// One from a peer without a link.
    hello: Option<Vec<u8>>,
    broken: Option<(u32, String)>,
}

impl Intake<'_> {
    #[inline]
    fn take(&mut self, datagram: &[u8]) {
        let Ok(packet) = Packet::new_checked(datagram) else { return };
        let sender = packet.sender();
        if sender == self.me {
            return;
        }
        let link = match self.links.get_mut(sender as usize) {
            None => return,
            Some(None) => {
                self.hello = self.hello.take().or(Some(datagram.to_vec()));
                return;
            }
            Some(Some(link)) => link,
        };
        self.memory.from = sender;
        match link.handle(self.now, &packet, self.memory) {
            Ok(()) => {}
            Err(Refused::Drop) => return,
            Err(Refused::Broken(what)) => self.broken = Some((sender, format!("sent {what}"))),
        }
        if sender != self.from {
            self.from = sender;
            if !core::mem::replace(&mut self.is_ready[sender as usize], true) {
                self.ready.push_back(sender);
            }
        }
    }
}

impl Engine {
    pub(crate) fn new(
        me: u32,
        key: JobKey,
        cards: Vec<Card>,
        socket: Socket,
        window: u64,
        patience: Time,
    ) -> Engine {
        let most = socket::largest_batch(&socket.address());
        Engine {
            me,
            key,
            window,
            patience,
            links: cards.iter().map(|_| None).collect(),
            is_ready: vec![false; cards.len()],
            cards,
            batch: Batch::new(most, socket.segments()),
            socket,
            memory: Memory::default(),
            ready: VecDeque::new(),
            stuck: None,
            deadline: None,
            slots: Vec::new(),
            free_slots: Vec::new(),
            broken: None,
            disturbance: None,
            pumped: false,
        }
    }

    fn make_link(&self, peer: u32) -> Link {
        let life = |rank: u32| Life { rank, incarnation: self.cards[rank as usize].incarnation };
        let own = &self.cards[self.me as usize];
        let coverage = if own.full { Coverage::Full } else { Coverage::Header };
        let card = &self.cards[peer as usize];
        Link::new(Setup {
            rank: self.me,
            send_key: self.key.direction(life(self.me), life(peer), coverage),
            receive_key: self.key.direction(life(peer), life(self.me), coverage),
            window: [self.window; 2],
            // Half of the socket's room: datagrams take more memory than their bytes.
            in_flight: (card.room / 2).max(128 << 10),
            sizes: socket::sizes(&card.address),
            patience: self.patience,
        })
    }

    fn link(&mut self, peer: u32) -> &mut Link {
        if self.links[peer as usize].is_none() {
            self.links[peer as usize] = Some(Box::new(self.make_link(peer)));
        }
        self.links[peer as usize].get_or_insert_with(|| unreachable!("made above"))
    }

    /// What ends the job, if something does.
    pub(crate) fn check(&self) -> Result<(), Error> {
        match &self.broken {
            None => Ok(()),
            Some((peer, what)) => Err(Error::Peer(RankId(*peer), what.clone())),
        }
    }

    pub(crate) fn reserve(
        &mut self,
        now: Time,
        to: u32,
        channel: Channel,
        len: usize,
    ) -> Option<(u32, *mut u8)> {
        if !self.link(to).reserve(now, channel, len) {
            let at = self.links[to as usize].as_ref().and_then(|l| l.deadline());
            self.note_deadline(at);
            return None;
        }
        let mut buf = self.memory.pool.take(len);
        let at = buf.bytes_mut().as_mut_ptr();
        let slot = self.free_slots.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() as u32 - 1
        });
        self.slots[slot as usize] = Some(buf);
        Some((slot, at))
    }

    fn take_slot(&mut self, slot: u32) -> Buf {
        self.free_slots.push(slot);
        self.slots[slot as usize].take().expect("a slot is given back once")
    }

    pub(crate) fn commit(&mut self, now: Time, to: u32, channel: Channel, slot: u32) {
        let buf = self.take_slot(slot);
        if let Some(link) = &mut self.links[to as usize] {
            link.send_frame(channel, buf, &mut self.memory.pool);
        }
        self.flush(now, to);
    }

    pub(crate) fn cancel(&mut self, to: u32, channel: Channel, slot: u32) {
        let buf = self.take_slot(slot);
        self.link(to).unreserve(channel, buf.bytes().len());
        self.memory.pool.give(buf);
    }

    pub(crate) fn put(&mut self, now: Time, to: u32, src: u64, len: u64, offset: u64, token: u64) -> bool {
        let started = self.link(to).put(src, len, offset, token);
        if started {
            self.flush(now, to);
        }
        started
    }

    pub(crate) fn get(&mut self, now: Time, from: u32, dst: u64, len: u32, offset: u64, token: u64) -> bool {
        let started = self.link(from).get(dst, offset, len, token);
        if started {
            self.flush(now, from);
        }
        started
    }

    /// A frame from a peer has been handled.
    pub(crate) fn consumed(&mut self, now: Time, from: u32, channel: Channel, buf: Buf) {
        if let Some(link) = &mut self.links[from as usize] {
            link.consumed(now, channel, buf.bytes().len());
            let (at, urgent) = (link.deadline(), link.has_urgent());
            self.note_deadline(at);
            if urgent {
                self.note_ready(from);
            }
        }
        self.memory.pool.give(buf);
    }

    fn note_deadline(&mut self, at: Option<Time>) {
        if let Some(at) = at {
            self.deadline = Some(self.deadline.map_or(at, |d| d.min(at)));
        }
    }

    fn note_ready(&mut self, peer: u32) {
        if !core::mem::replace(&mut self.is_ready[peer as usize], true) {
            self.ready.push_back(peer);
        }
    }

    /// When a pump will have something to do, datagrams aside.
    pub(crate) fn deadline(&self) -> Option<Time> {
        if self.stuck.is_some() || !self.ready.is_empty() { Some(0) } else { self.deadline }
    }

    pub(crate) fn socket(&self) -> &Socket {
        &self.socket
    }

    /// See the module. At most some thousand datagrams are taken.
    pub(crate) fn pump(&mut self, now: Time) {
        for _ in 0..ROUNDS {
            if !self.receive(now) {
                break;
            }
        }
        if self.deadline.is_some_and(|at| at <= now) {
            self.timers(now);
        }
        self.flush_ready(now);
    }

    #[inline]
    fn receive(&mut self, now: Time) -> bool {
        let Engine { socket, links, memory, me, ready, is_ready, disturbance, .. } = self;
        let mut intake = Intake {
            now,
            me: *me,
            links,
            memory,
            ready,
            is_ready,
            from: u32::MAX,
            hello: None,
            broken: None,
        };
        let more = match disturbance {
            None => socket.receive(&mut |datagram| intake.take(datagram)),
            Some(d) => {
                let more = socket.receive(&mut |datagram| d.pass(now, datagram, &mut |d| intake.take(d)));
                d.release(now, &mut |datagram| intake.take(datagram));
                more
            }
        };
        let Intake { hello, broken, .. } = intake;
        if broken.is_some() {
            self.broken = broken;
        }
        if let Some(datagram) = hello {
            self.hello(now, &datagram);
        }
        if let Some(at) = self.disturbance.as_ref().and_then(Disturbance::deadline) {
            self.note_deadline(Some(at));
        }
        more
    }

    /// A datagram from a peer without a link: if it is genuine, the peer gets one. Others that came with it will come again.
    #[cold]
    fn hello(&mut self, now: Time, datagram: &[u8]) {
        let Ok(packet) = Packet::new_checked(datagram) else { return };
        let sender = packet.sender();
        let mut link = self.make_link(sender);
        self.memory.from = sender;
        match link.handle(now, &packet, &mut self.memory) {
            Err(Refused::Drop) => return,
            Ok(()) => {}
            Err(Refused::Broken(what)) => self.broken = Some((sender, format!("sent {what}"))),
        }
        self.links[sender as usize] = Some(Box::new(link));
        self.note_ready(sender);
    }

    #[cold]
    fn timers(&mut self, now: Time) {
        let mut next = None::<Time>;
        for peer in 0..self.links.len() as u32 {
            let Some(link) = &mut self.links[peer as usize] else { continue };
            if link.deadline().is_some_and(|at| at <= now) {
                link.timeout(now);
                if link.is_dead() && self.broken.is_none() {
                    let address = self.cards[peer as usize].address;
                    let complaint =
                        self.socket.complaint().map(|c| format!(" (the last complaint of the system: {c})"));
                    let what = format!(
                        "nothing was heard of it at {address} for {} s{}: it is gone, or cannot be reached \
                         (GASNET_UDP_TIMEOUT)",
                        self.patience / 1_000_000_000,
                        complaint.unwrap_or_default()
                    );
                    self.broken = Some((peer, what));
                }
                if link.suspects_path() {
                    self.socket.fragment();
                }
                self.note_ready(peer);
            }
            if let Some(at) = self.links[peer as usize].as_ref().and_then(|l| l.deadline()) {
                next = Some(next.map_or(at, |n| n.min(at)));
            }
        }
        self.deadline = next;
    }

    fn flush_ready(&mut self, now: Time) {
        if let Some(peer) = self.stuck {
            if self.socket.send(self.cards[peer as usize].address, &self.batch) == Sent::Later {
                return;
            }
            self.stuck = None;
            self.note_ready(peer);
        }
        for _ in 0..self.ready.len() {
            let Some(peer) = self.ready.pop_front() else { break };
            self.is_ready[peer as usize] = false;
            self.flush(now, peer);
        }
    }

    /// Sends what there is for a peer.
    fn flush(&mut self, now: Time, peer: u32) {
        if self.stuck.is_some() {
            return self.note_ready(peer);
        }
        let Some(link) = &mut self.links[peer as usize] else { return };
        let address = self.cards[peer as usize].address;
        loop {
            self.batch.clear();
            if !link.transmit(now, &mut self.memory, &mut self.batch) {
                break;
            }
            if self.socket.send(address, &self.batch) == Sent::Later {
                self.stuck = Some(peer);
                break;
            }
            // The kernel may have found out that it cannot send batches.
            if self.batch.count() > 1 {
                self.batch.limit(self.socket.segments());
            }
        }
        let at = link.deadline();
        self.note_deadline(at);
    }

    /// Whether every peer that is still there has all it was sent.
    pub(crate) fn is_drained(&self) -> bool {
        self.stuck.is_none() && self.links.iter().flatten().all(|l| l.is_drained() || l.is_dead())
    }

    /// Tells all peers that this rank leaves.
    pub(crate) fn close(&mut self, now: Time) {
        for peer in 0..self.links.len() {
            let Some(link) = &mut self.links[peer] else { continue };
            self.batch.clear();
            link.close(now, &mut self.batch);
            if self.batch.count() > 0 {
                // Whoever misses it finds out by itself.
                self.socket.send(self.cards[peer].address, &self.batch);
            }
        }
    }
}
