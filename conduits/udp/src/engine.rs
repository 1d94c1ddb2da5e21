//! All links of a rank, their socket, and their timers: one value behind one lock.
//!
//! [`UdpEngine::pump`] does all work that can be done without waiting: it takes what has arrived, handles
//! timers that are due, and sends. A link is made with the first thing to send to a peer, or the first
//! datagram that proves to come from it.

use crate::address::RankAddress;
use crate::answer::Party;
use crate::auth::{Coverage, Life};
use crate::buf::Buf;
use crate::disturb::Disturbance;
use crate::inquiry::{Finding, Inquiry};
use crate::link::{ACK_DELAY_NS, Batch, Counters, Link, Refused, Setup};
use crate::memory::Memory;
use crate::path::Time;
use crate::share::{self, Shares};
use crate::socket::{self, Sent, Socket};
use crate::wire::Packet;
use gasnet_wire::conduit::Channel;
use gasnet_wire::{Error, RankId};
use std::collections::VecDeque;
use std::net::UdpSocket;

/// Rounds of receiving in one pump.
const RECEIVE_ROUNDS_PER_PUMP: usize = 8;
/// Most datagrams of one call that may come from peers without a link; others have to be sent again.
const MAX_UNLINKED_DATAGRAMS_PER_CALL: usize = 64;
/// Most peers that get a connected socket.
const MAX_CONNECTED_SOCKETS: usize = 64;
/// One in this many glances reads the clock and handles timers.
const GLANCES_PER_CLOCK_READ: u32 = 16;

/// Replies that may wait for those to the frames behind, and how long in nanoseconds after these were taken.
const MAX_HELD_REPLIES_PER_POLL: u32 = 64;
const MAX_HOLD_NS: Time = 20_000;

/// Advice for ranks that do not hear each other.
const FIREWALL: &str = ". If a firewall drops UDP between the hosts, let it pass to the ports of the ranks; GASNET_UDP_PORTS=LOW-HIGH \
                        restricts these to a range";

/// How long, in nanoseconds, the system of a peer's host may take to answer an inquiry.
const INQUIRY_TIMEOUT_NS: Time = 2_000_000_000;
/// Nanoseconds from one question to the next. A peer that is stopped takes none of them in.
const INQUIRY_INTERVAL_NS: Time = 20_000_000;

/// The parameters that all links share.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    /// Bytes of messages that may wait on each channel of a link.
    pub(crate) window: u64,
    /// Silence after which a peer is asked about; 0: never.
    pub(crate) patience: Time,
    /// Bytes of datagrams that pass on all paths.
    pub(crate) least: usize,
}

/// An inquiry about a silent peer.
struct Asked {
    peer: u32,
    /// How many datagrams had come from it.
    received: u64,
    since: Time,
    looked: Time,
    inquiry: Inquiry,
}

/// See the module's documentation.
pub(crate) struct UdpEngine {
    party: Party,
    plan: Plan,
    socket: Socket,
    links: Vec<Option<Box<Link>>>,
    /// Sockets connected to peers of this host, and peers that will get one.
    direct: Vec<Option<UdpSocket>>,
    unconnected: Vec<u32>,
    /// The caller is the keeper's thread, which has another table of files
    /// ([`gasnet_sys::fd::close_others`]): it neither uses nor makes these sockets.
    pub(crate) is_keeper: bool,
    pub(crate) memory: Memory,
    batch: Batch,
    /// How far each sender may fill this rank's socket.
    shares: Shares,
    /// Peers that may have something to send, and for each whether it is in the queue.
    ready: VecDeque<u32>,
    is_ready: Vec<bool>,
    /// The receiver of the batch that the kernel did not accept.
    stuck: Option<u32>,
    /// No timer is due before this time.
    deadline: Option<Time>,
    /// Frames that are reserved and not committed.
    slots: Vec<Option<Buf>>,
    free_slots: Vec<u32>,
    broken: Option<(u32, String)>,
    /// Peers that have died, or have given the world up.
    forgotten: Vec<u32>,
    /// Datagrams that came from no peer.
    refused: u64,
    inquiries: Vec<Asked>,
    /// Peers that were found to run though they are silent, and how many datagrams had come from each.
    silent: Vec<(u32, u64)>,
    /// Number of inquiries begun.
    inquired: u64,
    pub(crate) disturbance: Option<Disturbance>,
    /// The time of the last pump.
    now: Time,
    /// Whether that time is exact enough for sends, because a handler makes them that the pump runs.
    pub(crate) is_now: bool,
    /// Replies of this poll's handlers that were not sent yet.
    held: u32,
    glances: u32,
}

/// The parts of the engine that receiving needs.
struct Intake<'a> {
    now: Time,
    me: u32,
    links: &'a mut Vec<Option<Box<Link>>>,
    memory: &'a mut Memory,
    shares: &'a mut Shares,
    ready: &'a mut VecDeque<u32>,
    is_ready: &'a mut Vec<bool>,
    /// The sender of the last one: all datagrams of a batch come from one peer.
    from: u32,
    /// Datagrams from peers without a link.
    hello: Vec<Vec<u8>>,
    broken: Option<(u32, String)>,
    /// A peer that is heard, and does not receive what this rank sends.
    unheard: Option<u32>,
    refused: u64,
}

impl Intake<'_> {
    #[inline]
    fn take(&mut self, datagram: &[u8]) {
        match Packet::new_checked(datagram) {
            Ok(packet) => self.take_packet(&packet, datagram),
            Err(_) => self.refused += 1,
        }
    }

    /// Receives the next datagram with its payload written to its destination, if it is a large part of a
    /// put; returns whether it was.
    fn take_put(&mut self, socket: &mut Socket) -> bool {
        let Some(packet) = socket.next_large() else { return false };
        let link = self.links.get(packet.sender() as usize).and_then(Option::as_ref);
        let Some(offset) = link.and_then(|link| link.expects_put(&packet)) else { return false };
        let Some(packet) = socket.receive_put(self.memory, offset) else { return false };
        self.take_packet(&packet, &[]);
        self.memory.placed = None;
        true
    }

    #[inline]
    fn take_packet(&mut self, packet: &Packet<'_>, datagram: &[u8]) {
        let sender = packet.sender();
        let link = match self.links.get_mut(sender as usize).filter(|_| sender != self.me) {
            None => {
                self.refused += 1;
                return;
            }
            Some(None) => {
                if self.hello.len() < MAX_UNLINKED_DATAGRAMS_PER_CALL {
                    self.hello.push(datagram.to_vec());
                }
                return;
            }
            Some(Some(link)) => link,
        };
        self.memory.from = sender;
        match link.handle(self.now, packet, self.memory) {
            Ok(()) if link.is_unheard() => self.unheard = Some(sender),
            Ok(()) => {}
            Err(Refused::Drop) => return,
            Err(Refused::Broken(what)) => self.broken = Some((sender, format!("sent {what}"))),
        }
        self.shares.heard(self.now, sender, link.peer_wants());
        if sender != self.from {
            self.from = sender;
            if !core::mem::replace(&mut self.is_ready[sender as usize], true) {
                self.ready.push_back(sender);
            }
        }
    }
}

/// Bytes that may be under way to a socket with this much room: half of it, as datagrams take more memory
/// than their bytes.
fn on_its_way(room: u64) -> u64 {
    (room / 2).max(128 << 10)
}

impl UdpEngine {
    pub(crate) fn new(party: Party, socket: Socket, plan: Plan) -> UdpEngine {
        let most = socket::largest_batch(&socket.address());
        UdpEngine {
            plan,
            links: party.cards.iter().map(|_| None).collect(),
            direct: party.cards.iter().map(|_| None).collect(),
            unconnected: Vec::new(),
            is_keeper: false,
            is_ready: vec![false; party.cards.len()],
            party,
            batch: Batch::new(most, socket.segments()),
            shares: Shares::new(on_its_way(socket.room() as u64)),
            socket,
            memory: Memory::default(),
            ready: VecDeque::new(),
            stuck: None,
            deadline: None,
            slots: Vec::new(),
            free_slots: Vec::new(),
            broken: None,
            forgotten: Vec::new(),
            refused: 0,
            inquiries: Vec::new(),
            silent: Vec::new(),
            inquired: 0,
            disturbance: None,
            now: socket::now(),
            is_now: false,
            held: 0,
            glances: 0,
        }
    }

    fn make_link(&self, peer: u32) -> Link {
        let life = |rank: u32| Life { rank, incarnation: self.party.cards[rank as usize].incarnation };
        let own = &self.party.cards[self.party.me as usize];
        let coverage = if own.full { Coverage::Full } else { Coverage::Messages };
        let card = &self.party.cards[peer as usize];
        Link::new(Setup {
            rank: self.party.me,
            send_key: self.party.key.direction(life(self.party.me), life(peer), coverage),
            receive_key: self.party.key.direction(life(peer), life(self.party.me), coverage),
            window: [self.plan.window; 2],
            in_flight: on_its_way(card.room),
            first: share::first(on_its_way(card.room), self.party.cards.len() as u64 - 1),
            sizes: socket::sizes(&card.address, self.plan.least),
            patience: self.plan.patience,
        })
    }

    fn link(&mut self, peer: u32) -> &mut Link {
        if self.links[peer as usize].is_none() {
            self.links[peer as usize] = Some(Box::new(self.make_link(peer)));
            self.connect(peer);
        }
        self.links[peer as usize].get_or_insert_with(|| unreachable!("made above"))
    }

    /// A connected socket for single datagrams to a peer on this host, where the cost of finding the route is
    /// noticeable. Its source address is not the rank's address, which only firewalls between hosts would
    /// refuse.
    #[cold]
    fn connect(&mut self, peer: u32) {
        if self.is_keeper {
            return self.unconnected.push(peer);
        }
        let (own, to) = (self.socket.address(), self.party.cards[peer as usize].address);
        if own.ip() == to.ip() && self.direct.iter().flatten().count() < MAX_CONNECTED_SOCKETS {
            self.direct[peer as usize] = socket::connected(own.ip(), to).ok();
        }
    }

    /// Whether a peer is forgotten.
    fn is_forgotten(&self, peer: u32) -> bool {
        self.forgotten.contains(&peer)
    }

    /// A peer is lost, in a job that goes on: its link ends with all that waits in it, and it gets no other.
    pub(crate) fn forget(&mut self, peer: u32) {
        if !self.is_forgotten(peer) {
            self.forgotten.push(peer);
        }
        self.links[peer as usize] = None;
        self.direct[peer as usize] = None;
        self.unconnected.retain(|other| *other != peer);
        self.inquiries.retain(|asked| asked.peer != peer);
        self.stuck = self.stuck.filter(|stuck| *stuck != peer);
        self.broken = self.broken.take().filter(|(broken, _)| *broken != peer);
    }

    /// The rank gives its world up. Buffers that its threads are filling stay.
    pub(crate) fn give_up(mut self) {
        core::mem::forget(core::mem::take(&mut self.slots));
    }

    /// The error that ends the job, if there is one.
    pub(crate) fn check(&self) -> Result<(), Error> {
        match &self.broken {
            None => Ok(()),
            Some((peer, what)) => Err(Error::Peer(RankId(*peer), what.clone())),
        }
    }

    pub(crate) fn reserve(&mut self, to: u32, channel: Channel, len: usize) -> Option<(u32, *mut u8)> {
        let now = self.now;
        if self.is_forgotten(to) {
            return None;
        }
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

    pub(crate) fn commit(&mut self, to: u32, channel: Channel, slot: u32) {
        let now = self.time();
        let buf = self.take_slot(slot);
        if let Some(link) = &mut self.links[to as usize] {
            link.send_frame(channel, buf, &mut self.memory.pool);
        }
        if channel == Channel::Reply && self.may_hold() {
            self.held += 1;
            self.note_ready(to);
        } else {
            self.flush(now, to);
        }
    }

    /// Whether a reply may wait for those that the handlers of the next frames send: all of them are one call
    /// of the system then, here and at the peer. The poll that runs the handlers sends them at its end
    /// ([`UdpEngine::end_poll`]), and whatever is sent in between does.
    fn may_hold(&self) -> bool {
        self.is_now
            && self.held < MAX_HELD_REPLIES_PER_POLL
            && !self.memory.frames[Channel::Request as usize].is_empty()
            && socket::now() < self.now + MAX_HOLD_NS
    }

    /// The handlers of a poll have run.
    pub(crate) fn end_poll(&mut self) {
        self.is_now = false;
        if self.held > 0 {
            self.held = 0;
            self.flush_ready(self.now);
        }
    }

    pub(crate) fn cancel(&mut self, to: u32, channel: Channel, slot: u32) {
        let buf = self.take_slot(slot);
        if let Some(link) = &mut self.links[to as usize] {
            link.unreserve(channel, buf.bytes().len());
        }
        self.memory.pool.give(buf);
    }

    pub(crate) fn put(&mut self, now: Time, to: u32, src: u64, len: u64, offset: u64, token: u64) -> bool {
        let started = !self.is_forgotten(to) && self.link(to).put(src, len, offset, token);
        if started {
            self.flush(now, to);
        }
        started
    }

    pub(crate) fn get(&mut self, now: Time, from: u32, dst: u64, len: u32, offset: u64, token: u64) -> bool {
        let started = !self.is_forgotten(from) && self.link(from).get(dst, offset, len, token);
        if started {
            self.flush(now, from);
        }
        started
    }

    /// A frame from a peer has been handled.
    pub(crate) fn consumed(&mut self, from: u32, channel: Channel, buf: Buf) {
        if let Some(link) = &mut self.links[from as usize] {
            link.consumed(self.now, channel, buf.bytes().len());
            let urgent = link.has_urgent();
            self.note_deadline(Some(self.now + ACK_DELAY_NS));
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

    /// When a pump will have work, apart from datagrams.
    pub(crate) fn deadline(&self) -> Option<Time> {
        if self.stuck.is_some() || !self.ready.is_empty() { Some(0) } else { self.deadline }
    }

    /// The socket, for its descriptors.
    pub(crate) fn socket(&self) -> &Socket {
        &self.socket
    }

    /// From now on the descriptor becomes readable when there is work.
    pub(crate) fn before_sleep(&mut self) {
        // Timers are handled when the sleep is over.
        self.glances = GLANCES_PER_CLOCK_READ - 1;
        let deadline = self.deadline();
        self.socket.ring(self.now, deadline);
    }

    /// Wakes the threads that sleep on the descriptor.
    pub(crate) fn wake(&mut self) {
        self.socket.ring(self.now, Some(1));
    }

    fn time(&mut self) -> Time {
        if !self.is_now {
            self.now = socket::now();
        }
        self.now
    }

    /// A pump by a waiting rank: it often finds nothing, so it does not always read the clock.
    #[inline]
    pub(crate) fn glance(&mut self) {
        self.glances = self.glances.wrapping_add(1);
        let due = self.glances.is_multiple_of(GLANCES_PER_CLOCK_READ);
        if due || self.stuck.is_some() || self.disturbance.is_some() || self.socket.peek() {
            self.pump(socket::now());
        } else if !self.ready.is_empty() {
            self.now = socket::now();
            self.flush_ready(self.now);
        }
    }

    /// See the module's documentation. It takes at most some thousand datagrams.
    pub(crate) fn pump(&mut self, now: Time) {
        self.now = now;
        while !self.is_keeper
            && let Some(peer) = self.unconnected.pop()
        {
            self.connect(peer);
        }
        for _ in 0..RECEIVE_ROUNDS_PER_PUMP {
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
        let UdpEngine { socket, links, memory, shares, party, ready, is_ready, disturbance, .. } = self;
        let mut intake = Intake {
            now,
            me: party.me,
            links,
            memory,
            shares,
            ready,
            is_ready,
            from: u32::MAX,
            hello: Vec::new(),
            broken: None,
            unheard: None,
            refused: 0,
        };
        let more = match disturbance {
            None if intake.take_put(socket) => true,
            None => socket.receive(&mut |datagram| intake.take(datagram)),
            Some(d) => {
                let more = socket.receive(&mut |datagram| d.pass(now, datagram, &mut |d| intake.take(d)));
                d.release(now, &mut |datagram| intake.take(datagram));
                more
            }
        };
        let Intake { hello, broken, unheard, refused, .. } = intake;
        self.refused += refused;
        if broken.is_some() {
            self.broken = broken;
        }
        if let Some(peer) = unheard.filter(|_| self.broken.is_none()) {
            let (own, address) = (self.socket.address(), self.party.cards[peer as usize].address);
            let patience = self.plan.patience as f64 / 1e9;
            let what = format!(
                "it is heard, and what was sent to it has not arrived for {patience} s (GASNET_UDP_TIMEOUT): datagrams from {own} to \
                 {address}, or the large ones among them, are lost{FIREWALL}"
            );
            self.broken = Some((peer, what));
        }
        for datagram in hello {
            self.hello(now, &datagram);
        }
        if let Some(at) = self.disturbance.as_ref().and_then(Disturbance::deadline) {
            self.note_deadline(Some(at));
        }
        more
    }

    /// A datagram from a peer that had no link when it arrived: if it is genuine, the peer gets one.
    #[cold]
    fn hello(&mut self, now: Time, datagram: &[u8]) {
        let Ok(packet) = Packet::new_checked(datagram) else { return };
        let sender = packet.sender();
        if self.is_forgotten(sender) {
            return;
        }
        let known = self.links[sender as usize].take();
        let stranger = known.is_none();
        let mut link = known.unwrap_or_else(|| Box::new(self.make_link(sender)));
        self.memory.from = sender;
        let outcome = link.handle(now, &packet, &mut self.memory);
        if stranger && outcome == Err(Refused::Drop) {
            self.refused += 1;
            return;
        }
        if let Err(Refused::Broken(what)) = outcome {
            self.broken = Some((sender, format!("sent {what}")));
        }
        self.shares.heard(now, sender, link.peer_wants());
        self.links[sender as usize] = Some(link);
        if stranger {
            self.connect(sender);
        }
        self.note_ready(sender);
    }

    #[cold]
    fn timers(&mut self, now: Time) {
        let mut next = None::<Time>;
        for peer in 0..self.links.len() as u32 {
            let Some(link) = &mut self.links[peer as usize] else { continue };
            if link.deadline().is_some_and(|at| at <= now) {
                link.timeout(now);
                let (is_dead, suspects_path) = (link.is_dead(), link.suspects_path());
                if is_dead && self.broken.is_none() {
                    self.inquire(now, peer);
                }
                if suspects_path {
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

    /// A peer has been silent for long: asks its host's system whether it exists. If the system does not
    /// answer, time alone decides.
    #[cold]
    fn inquire(&mut self, now: Time, peer: u32) {
        if self.is_keeper {
            return;
        }
        let own = self.socket.address();
        let RankAddress { address, answering, .. } = self.party.cards[peer as usize];
        let received = self.links[peer as usize].as_ref().map_or(0, |link| link.counters().received);
        // A peer that has been heard since is asked about anew.
        self.inquiries.retain(|asked| asked.peer != peer || asked.received == received);
        let at = self.inquiries.iter().position(|asked| asked.peer == peer).or_else(|| {
            self.inquired += 1;
            let inquiry = Inquiry::new(own, &self.party, peer, self.inquired).ok()?;
            self.inquiries.push(Asked { peer, received, since: now, looked: 0, inquiry });
            Some(self.inquiries.len() - 1)
        });
        let asked = at.map(|at| &mut self.inquiries[at]);
        if asked.as_ref().is_some_and(|asked| now < asked.looked + INQUIRY_INTERVAL_NS) {
            return;
        }
        let finding = asked.map(|asked| {
            asked.looked = now;
            (asked.inquiry.look(&self.party), asked.since)
        });
        let patience = self.plan.patience as f64 / 1e9;
        let what = match finding {
            // A peer that is only there may yet answer.
            Some((Finding::Unknown | Finding::There, since)) if now < since + INQUIRY_TIMEOUT_NS => return,
            Some((found @ (Finding::There | Finding::Runs), _))
                if !self.is_cut_off(peer, received, found) =>
            {
                if let Some(link) = &mut self.links[peer as usize] {
                    link.revive(now);
                }
                self.inquiries.retain(|asked| asked.peer != peer);
                return;
            }
            Some((Finding::There | Finding::Runs, _)) => format!(
                "its process runs, and answers at port {answering} of its host, but nothing was heard of it at {address} for {} s (twice \
                 GASNET_UDP_TIMEOUT): datagrams between that and {own} are lost{FIREWALL}",
                2.0 * patience
            ),
            Some((Finding::Gone, _)) => format!("its process at {address} is gone"),
            Some((Finding::Unknown, _)) | None => {
                let complaint =
                    self.socket.complaint().map(|c| format!(" (the last complaint of the system: {c})"));
                format!(
                    "nothing was heard of it at {address} for {patience} s (GASNET_UDP_TIMEOUT), nor of its host{}: it is gone, or cannot \
                     be reached{FIREWALL}",
                    complaint.unwrap_or_default()
                )
            }
        };
        self.broken = Some((peer, what));
    }

    /// Whether a silent peer runs, and ran when it had been silent before, and nothing came in between. A
    /// peer that was stopped meanwhile would have been heard when it went on.
    fn is_cut_off(&mut self, peer: u32, received: u64, found: Finding) -> bool {
        let before = self.silent.iter().position(|(of, _)| *of == peer).map(|at| self.silent.swap_remove(at));
        if found == Finding::Runs {
            self.silent.push((peer, received));
        }
        found == Finding::Runs && before == Some((peer, received))
    }

    fn flush_ready(&mut self, now: Time) {
        if let Some(peer) = self.stuck {
            if self.socket.send(self.party.cards[peer as usize].address, None, &self.batch, None)
                == Sent::Later
            {
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
        link.set_share(self.shares.of(now, peer));
        let address = self.party.cards[peer as usize].address;
        let direct = self.direct[peer as usize].as_ref().filter(|_| !self.is_keeper);
        loop {
            self.batch.clear();
            if !link.transmit(now, &mut self.memory, &mut self.batch) {
                break;
            }
            let more = self.batch.more();
            #[expect(unsafe_code, reason = "payloads that are not copied")]
            // SAFETY: the link has just filled the batch.
            let lent = self.batch.lent().map(|(at, len)| unsafe { self.memory.lent(at, len) });
            if self.socket.send(address, direct, &self.batch, lent) == Sent::Later {
                self.batch.keep(&mut self.memory);
                self.stuck = Some(peer);
                break;
            }
            // The kernel may have found that it cannot send batches.
            if self.batch.count() > 1 {
                self.batch.limit(self.socket.segments());
            }
            if !more {
                break;
            }
        }
        // Timers that have just been set are mostly further away than that.
        if self.deadline.is_none_or(|at| at > now + ACK_DELAY_NS) || link.is_pressed() {
            let at = link.deadline();
            self.note_deadline(at);
        }
    }

    /// The sums of all links' counters, and the datagrams that no link accepted.
    pub(crate) fn counters(&self) -> Counters {
        let links = self.links.iter().flatten().map(|link| link.counters());
        links.fold(Counters { refused: self.refused, ..Counters::default() }, Counters::plus)
    }

    /// Whether every peer that is still there has received everything sent to it.
    pub(crate) fn is_drained(&self) -> bool {
        self.stuck.is_none() && self.links.iter().flatten().all(|l| l.is_drained() || l.is_dead())
    }

    /// How long a peer has been gone, in order.
    pub(crate) fn left_for(&self, peer: u32) -> Option<std::time::Duration> {
        let at = self.links.get(peer as usize)?.as_ref()?.left_at()?;
        Some(std::time::Duration::from_nanos(socket::now().saturating_sub(at)))
    }

    /// Tells all peers that this rank leaves.
    pub(crate) fn close(&mut self, now: Time) {
        for peer in 0..self.links.len() {
            let Some(link) = &mut self.links[peer] else { continue };
            // The peer takes for lost what it does not know to have arrived.
            link.acknowledge();
            self.flush(now, peer as u32);
            let Some(link) = &mut self.links[peer] else { continue };
            self.batch.clear();
            link.close(now, &mut self.batch);
            if self.batch.count() > 0 {
                // A peer that misses it finds out by itself.
                self.socket.send(self.party.cards[peer].address, None, &self.batch, None);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::JobKey;
    use std::net::Ipv4Addr;

    fn pair(full: bool) -> [UdpEngine; 2] {
        let sockets = [0, 1].map(|_| Socket::bind(Ipv4Addr::LOCALHOST.into(), None).unwrap());
        let cards: std::sync::Arc<[RankAddress]> = (0..2)
            .map(|i| RankAddress {
                address: sockets[i].address(),
                incarnation: i as u64,
                share: [i as u8; 16],
                room: 1 << 20,
                window: 1 << 20,
                full,
                refusing: sockets[i].refusing(),
                answering: sockets[i].refusing(),
            })
            .collect();
        let key = JobKey::from_shares(cards.iter().map(|c| &c.share));
        let mut rank = 0;
        sockets.map(|socket| {
            rank += 1;
            let plan = Plan { window: 1 << 20, patience: 20_000_000_000, least: socket::MIN_DATAGRAM_BYTES };
            let party = Party { me: rank - 1, key: key.clone(), cards: cards.clone() };
            UdpEngine::new(party, socket, plan)
        })
    }

    fn send(engine: &mut UdpEngine, to: u32, channel: Channel, len: usize) {
        let (slot, _) = engine.reserve(to, channel, len).expect("there is room");
        engine.commit(to, channel, slot);
    }

    /// Tries until there is a result. A datagram may wait for a thread of the kernel.
    fn until<T>(mut step: impl FnMut() -> Option<T>) -> T {
        let begun = std::time::Instant::now();
        let mut tries = 0;
        loop {
            if let Some(done) = step() {
                return done;
            }
            tries += 1;
            if tries > 1000 {
                assert!(begun.elapsed() < std::time::Duration::from_secs(60), "nothing arrives");
                std::thread::sleep(std::time::Duration::from_micros(50));
            }
        }
    }

    fn receive(engine: &mut UdpEngine, channel: Channel) -> usize {
        until(|| {
            engine.glance();
            let arrived = engine.memory.frames[channel as usize].pop_front()?;
            let len = arrived.buf.bytes().len();
            engine.consumed(arrived.from, channel, arrived.buf);
            Some(len)
        })
    }

    #[test]
    fn frames_cross_real_sockets() {
        for full in [false, true] {
            let [mut a, mut b] = pair(full);
            for len in [1, 100, 1200, 5000, 40_000, crate::buf::MAX_FRAME_BYTES] {
                for _ in 0..3 {
                    send(&mut a, 1, Channel::Request, len);
                    let got = until(|| {
                        b.pump(socket::now());
                        a.pump(socket::now());
                        b.memory.frames[0].pop_front()
                    });
                    assert_eq!(got.buf.bytes().len(), len);
                    b.consumed(0, Channel::Request, got.buf);
                }
            }
            until(|| {
                a.pump(socket::now());
                b.pump(socket::now());
                (a.is_drained() && b.is_drained()).then_some(())
            });
            assert!(a.check().is_ok() && b.check().is_ok());
        }
    }

    /// Some are large, and not copied on their way unless their payloads are authenticated.
    #[test]
    #[expect(unsafe_code, reason = "attaches a segment")]
    fn puts_cross_real_sockets() {
        for full in [false, true] {
            let [mut a, mut b] = pair(full);
            let segment: *mut [u8] = Box::leak(vec![0u8; 1 << 20].into_boxed_slice());
            // SAFETY: it lives as long as the process, and is read below while nothing is under way.
            unsafe { b.memory.attach(segment.cast(), segment.len()) };
            for (round, (len, offset)) in
                [(900_000, 5), (8, 64), (900_000, 0), (70_000, 9), (40_000, 1)].into_iter().enumerate()
            {
                let source: Vec<u8> = (0..len).map(|i| (i * 7 + i / 251 + round) as u8).collect();
                let at = source.as_ptr().expose_provenance() as u64;
                assert!(a.put(socket::now(), 1, at, len as u64, offset as u64, round as u64));
                let completed = until(|| {
                    b.pump(socket::now());
                    a.pump(socket::now());
                    a.memory.completed.pop_front()
                });
                assert_eq!(completed, round as u64);
                // SAFETY: as above.
                let there = unsafe { core::slice::from_raw_parts(segment.cast::<u8>().add(offset), len) };
                assert!(there == source, "{len} bytes at {offset}");
            }
            assert!(a.check().is_ok() && b.check().is_ok());
            assert_eq!(b.socket.placed > 0, !full);
        }
    }

    /// Datagrams of a sender without the key.
    #[test]
    fn strangers_get_no_link() {
        let [mut a, mut b] = pair(false);
        let stranger = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let mut forged = vec![0u8; 74];
        (forged[0], forged[1], forged[4], forged[8], forged[20]) = (crate::wire::VERSION, 4, 1, 1, 10);
        for i in 0..200 {
            forged[56] = i;
            stranger.send_to(&forged, a.socket.address()).unwrap();
            stranger.send_to(&[i; 100][..usize::from(i) / 2], a.socket.address()).unwrap();
            a.pump(socket::now());
        }
        assert!(a.links.iter().all(Option::is_none) && a.memory.frames[0].is_empty());
        // A sender that has the key gets a link.
        send(&mut b, 0, Channel::Request, 10);
        assert_eq!(receive(&mut a, Channel::Request), 10);
    }
}
