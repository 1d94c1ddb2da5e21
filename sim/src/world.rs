//! The world: virtual time, the queue of events, and everything between the hosts.
//!
//! Events happen in the order of (time, number). Numbers are given as events are made, and random numbers
//! come from one seeded generator, so a seed fixes everything. Each event goes into the *trace*, a hash: two
//! runs with the same hash did the same.
//!
//! A **packet** is on its way from one host to another once, however many copies of it the network makes. A
//! one-sided **op** is started by its initiator, and done when the initiator knows that it is.

use crate::card::SimCard;
use crate::device::Events;
use crate::event::{Activity, Body, Bytes, FrameBuf, HEADER_BYTES, Left, OneSidedOp, Owner, WorldEvent};
use crate::memory::RankMemory;
use crate::net::{Network, Port};
use crate::paging::Paging;
use crate::pinning::{PinMap, Registered};
use crate::rng::Rng;
use crate::time::Time;
use core::any::Any;
use core::cmp::Ordering;
use firehose::{Action, Change, Outcome, Refusal, Side, Strategy};
use gasnet::conduit::{Channel, Completion, FrameLine};
use slab::Slab;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;

struct QueuedEvent {
    at: Time,
    number: u64,
    event: WorldEvent,
}

impl PartialEq for QueuedEvent {
    fn eq(&self, o: &QueuedEvent) -> bool {
        self.number == o.number
    }
}
impl Eq for QueuedEvent {}
impl PartialOrd for QueuedEvent {
    fn partial_cmp(&self, o: &QueuedEvent) -> Option<Ordering> {
        Some(self.cmp(o))
    }
}
impl Ord for QueuedEvent {
    /// The heap returns the greatest element: the earliest event.
    fn cmp(&self, o: &QueuedEvent) -> Ordering {
        (o.at, o.number).cmp(&(self.at, self.number))
    }
}

/// A packet on its way.
struct Packet {
    from: u32,
    to: u32,
    bytes: usize,
    /// Copies that have not arrived yet.
    copies: u8,
    /// Taken when the first copy arrives; `None` lets the receiver recognise duplicates.
    body: Option<Body>,
}

/// The world's state of a rank.
pub(crate) struct RankState {
    pub(crate) state: Activity,
    /// The time of its last change of activity.
    pub(crate) since: Time,
    /// Number of things that happened to this rank.
    pub(crate) news: u64,
    /// The value of `news` that its last poll saw.
    pub(crate) seen: u64,
    /// Empty polls in a row without a wait.
    pub(crate) empty_polls: u32,
    pub(crate) inbox: [VecDeque<FrameBuf>; 2],
    pub(crate) control: VecDeque<(u32, Box<dyn Any + Send>)>,
    /// Completions to report to the core.
    pub(crate) done: VecDeque<(u64, Completion)>,
    /// Transfers of the registration strategy that have ended, with their outcome.
    pub(crate) transferred: VecDeque<(u64, Outcome)>,
    pub(crate) segment: RankMemory,
    /// The registration strategy, where NICs need one. The NIC checks keys in its table.
    pub(crate) strategy: Option<Box<dyn Strategy>>,
    /// Actions that it wanted after changed mappings.
    pub(crate) wishes: Vec<Action>,
    /// The pinned memory, where NICs need pins.
    pub(crate) pinned: Option<PinMap>,
    /// Registration counters.
    pub(crate) registration: Registered,
    pub(crate) ops: u32,
    pub(crate) frames_out: u32,
}

/// Counters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// Events.
    pub events: u64,
    /// Packets sent.
    pub packets: u64,
    /// Bytes sent.
    pub bytes: u64,
    /// Transmissions lost, and repeated.
    pub lost: u64,
    /// Copies that the receivers recognised and dropped.
    pub doubled: u64,
    /// Turns given to ranks.
    pub turns: u64,
    /// Messages that hosts have taken and run a handler for.
    pub frames: u64,
}

/// The world.
pub(crate) struct World {
    pub(crate) now: Time,
    number: u64,
    queue: BinaryHeap<QueuedEvent>,
    pub(crate) trace: u64,
    pub(crate) stats: Stats,
    pub(crate) rng: Rng,
    pub(crate) network: Network,
    ports: Vec<Port>,
    pub(crate) ranks: Vec<RankState>,
    /// Ranks whose turn comes next, at the present time.
    pub(crate) ready: VecDeque<u32>,
    packets: Slab<Packet>,
    pub(crate) ops: Slab<OneSidedOp>,
    pub(crate) slots: Slab<FrameBuf>,
    /// Buffers of frames for reuse, by size class.
    pools: [Vec<Box<[FrameLine]>>; 12],
    /// Frames between two hosts that the receiver has not taken yet, by (from, to, channel).
    credits: Vec<u16>,
    /// Time from the arrival of a put's bytes until its initiator can know of it: the way back.
    pub(crate) put_back: Time,
    /// NICs with firmware.
    pub(crate) cards: Vec<Option<Box<SimCard>>>,
    /// The hardware of a simulation without the runtime.
    pub(crate) device: Option<Box<dyn Events>>,
    /// The ranks' sides of the NICs.
    pub(crate) pagings: Vec<Option<Arc<Paging>>>,
    /// The time until which the processor of each rank is busy, where the program shares it.
    processors: Option<Vec<Time>>,
}

impl World {
    pub(crate) fn new(ranks: u32, seed: u64, network: Network, put_back: Time) -> World {
        let n = ranks as usize;
        World {
            now: Time::ZERO,
            number: 0,
            queue: BinaryHeap::new(),
            trace: 0xcbf2_9ce4_8422_2325 ^ seed,
            stats: Stats::default(),
            rng: Rng::new(seed),
            network,
            ports: vec![Port::default(); n],
            ranks: (0..n)
                .map(|_| RankState {
                    state: Activity::Ready,
                    since: Time::ZERO,
                    news: 0,
                    seen: 0,
                    empty_polls: 0,
                    inbox: [VecDeque::new(), VecDeque::new()],
                    control: VecDeque::new(),
                    done: VecDeque::new(),
                    transferred: VecDeque::new(),
                    segment: RankMemory::NONE,
                    strategy: None,
                    wishes: Vec::new(),
                    pinned: None,
                    registration: Default::default(),
                    ops: 0,
                    frames_out: 0,
                })
                .collect(),
            ready: (0..ranks).collect(),
            packets: Slab::new(),
            ops: Slab::new(),
            slots: Slab::new(),
            pools: Default::default(),
            credits: vec![0; n * n * 2],
            put_back,
            cards: (0..n).map(|_| None).collect(),
            device: None,
            pagings: (0..n).map(|_| None).collect(),
            processors: None,
        }
    }

    /// Gives each rank one processor for everything that runs for it.
    pub(crate) fn share_processors(&mut self) {
        self.processors = Some(vec![Time::ZERO; self.ranks.len()]);
    }

    /// Takes a rank's processor for `length` as soon as it is free; returns the end.
    pub(crate) fn occupy(&mut self, rank: u32, length: Time) -> Time {
        let now = self.now;
        let Some(until) = self.processors.as_mut().map(|all| &mut all[rank as usize]) else {
            return now + length;
        };
        *until = now.max(*until) + length;
        *until
    }

    /// The time until which others use a rank's processor, if they do.
    pub(crate) fn taken(&self, rank: u32) -> Option<Time> {
        let until = self.processors.as_ref()?[rank as usize];
        (until > self.now).then_some(until)
    }

    /// Makes an event.
    pub(crate) fn at(&mut self, at: Time, event: WorldEvent) {
        self.number += 1;
        self.queue.push(QueuedEvent { at: at.max(self.now), number: self.number, event });
    }

    /// Lets `length` pass for a rank if nothing else happens in the meantime; else makes the event that ends
    /// it.
    pub(crate) fn pass(&mut self, rank: u32, length: Time) -> bool {
        let end = self.occupy(rank, length);
        if self.ready.is_empty() && self.queue.peek().is_none_or(|e| e.at > end) {
            self.now = end;
            return true;
        }
        self.at(end, WorldEvent::Resume(rank));
        self.set(rank, Activity::Busy);
        false
    }

    /// A rank lets its NIC do what it can do now, if the NIC needs the rank's processor.
    pub(crate) fn stand_aside(&mut self, rank: u32) -> bool {
        let aside = self.processors.is_some();
        if aside {
            self.at(self.now, WorldEvent::Resume(rank));
            self.set(rank, Activity::Busy);
        }
        aside
    }

    pub(crate) fn set(&mut self, rank: u32, state: Activity) {
        let r = &mut self.ranks[rank as usize];
        r.state = state;
        r.since = self.now;
    }

    /// Something happened to a rank: if it waits, it gets a turn.
    pub(crate) fn tell(&mut self, rank: u32) {
        let r = &mut self.ranks[rank as usize];
        r.news += 1;
        if matches!(r.state, Activity::Idle(_)) {
            r.state = Activity::Ready;
            self.ready.push_back(rank);
        }
    }

    /// Takes the next event and advances the time to it.
    pub(crate) fn next(&mut self) -> Option<WorldEvent> {
        let e = self.queue.pop()?;
        self.now = e.at;
        self.stats.events += 1;
        Some(e.event)
    }

    fn record(&mut self, kind: u64, who: u64, what: u64) {
        for word in [self.now.as_ps(), kind << 48 ^ who, what] {
            self.trace = (self.trace ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23);
        }
    }

    /// Sends a packet.
    pub(crate) fn send(&mut self, from: u32, to: u32, bytes: usize, body: Body) {
        self.send_at(self.now, from, to, bytes, body);
    }

    /// Sends a packet that is ready at time `at`; returns when its first copy arrives.
    pub(crate) fn send_at(&mut self, at: Time, from: u32, to: u32, bytes: usize, body: Body) -> Time {
        let way = (from as usize, to as usize);
        let arrivals = self.network.transmit(&mut self.ports, way, bytes, at, &mut self.rng);
        self.stats.packets += 1;
        self.stats.bytes += bytes as u64;
        self.stats.lost += u64::from(arrivals.lost);
        let copies = 1 + arrivals.again.is_some() as u8;
        let packet = self.packets.insert(Packet { from, to, bytes, copies, body: Some(body) }) as u32;
        self.at(arrivals.first, WorldEvent::Arrive(packet));
        if let Some(again) = arrivals.again {
            self.at(again, WorldEvent::Arrive(packet));
        }
        arrivals.first
    }

    /// Lets an event happen in the world. Returns what is left for the NIC.
    pub(crate) fn happen(&mut self, event: WorldEvent) -> Option<Left> {
        match event {
            WorldEvent::Resume(rank) => {
                self.record(7, u64::from(rank), 0);
                self.set(rank, Activity::Ready);
                self.ready.push_back(rank);
                None
            }
            WorldEvent::Arrive(index) => {
                let p = self.packets.get_mut(index as usize)?;
                p.copies -= 1;
                let (from, to, bytes, body) = (p.from, p.to, p.bytes, p.body.take());
                if p.copies == 0 {
                    self.packets.remove(index as usize);
                }
                let Some(body) = body else {
                    self.stats.doubled += 1;
                    return None;
                };
                self.record(body.kind(), u64::from(from) << 24 | u64::from(to), bytes as u64);
                self.arrive(from, to, body)
            }
            WorldEvent::Done(op) => {
                let op = self.ops.try_remove(op as usize)?;
                self.record(8, u64::from(op.from), u64::from(op.to));
                let r = &mut self.ranks[op.from as usize];
                r.ops -= 1;
                match op.owner {
                    Owner::Core => r.done.push_back((op.token, Completion::Remote)),
                    Owner::Strategy => r.transferred.push_back((op.token, Outcome::Done)),
                }
                self.tell(op.from);
                None
            }
            WorldEvent::Nic(rank, tag) => {
                self.record(9, u64::from(rank), 0);
                Some(Left::Nic(rank, tag))
            }
            WorldEvent::Device(tag) => {
                self.record(11, tag, 0);
                if let Some(mut device) = self.device.take() {
                    device.happen(self, tag);
                    self.device = Some(device);
                }
                None
            }
        }
    }

    fn arrive(&mut self, from: u32, to: u32, body: Body) -> Option<Left> {
        let target = to as usize;
        match body {
            Body::Frame(f) => {
                self.ranks[target].inbox[f.channel as usize].push_back(f);
                self.tell(to);
            }
            Body::Put { op, offset, bytes } => {
                if let Err(refusal) = self.admit(to, op, offset, bytes.as_slice().len()) {
                    self.send(to, from, HEADER_BYTES, Body::Refused { op, refusal });
                    return None;
                }
                self.ranks[target].segment.write(offset, bytes.as_slice());
                let back = self.now + self.put_back;
                self.at(back, WorldEvent::Done(op));
                self.tell(to);
            }
            Body::Get { op, offset, len } => {
                if let Err(refusal) = self.admit(to, op, offset, len) {
                    self.send(to, from, HEADER_BYTES, Body::Refused { op, refusal });
                    return None;
                }
                let bytes = Bytes::new(&self.ranks[target].segment.read(offset, len));
                self.send(to, from, HEADER_BYTES + len, Body::Data { op, bytes });
            }
            Body::Data { op, bytes } => {
                if let Err(refusal) = self.admit(to, op, 0, bytes.as_slice().len()) {
                    self.refused(op, refusal);
                    return None;
                }
                if let Some(o) = self.ops.get_mut(op as usize) {
                    crate::memory::store(o.dst, bytes.as_slice());
                }
                let now = self.now;
                self.at(now, WorldEvent::Done(op));
            }
            Body::Refused { op, refusal } => self.refused(op, refusal),
            Body::Control(message) => {
                self.ranks[target].control.push_back((from, message));
                self.tell(to);
            }
            Body::Firmware(message) => return Some(Left::Firmware { to, message }),
        }
        None
    }

    /// A rank's NIC is about to touch memory for an op: at the initiator the memory it claims there, at the
    /// target `offset`. If memory has to be registered, the claims are compared with the present
    /// registrations, and accepted memory must be pinned.
    fn admit(&self, rank: u32, op: u32, offset: u64, len: usize) -> Result<(), Refusal> {
        let (r, op) = (&self.ranks[rank as usize], self.ops.get(op as usize));
        let (Some(strategy), Some(op)) = (&r.strategy, op) else { return Ok(()) };
        let Some(claims) = &op.claims else { return Ok(()) };
        let side = if op.from == rank { Side::Local } else { Side::Remote };
        let (offset, keys) = match (side, &claims.local) {
            (Side::Remote, _) => (offset, &claims.remote),
            (Side::Local, Some((offset, keys))) => (*offset, keys),
            (Side::Local, None) => return Ok(()),
        };
        strategy.check(side, offset, len as u64, keys)?;
        if let Some(pinned) = &r.pinned {
            pinned.check(offset, len);
        }
        Ok(())
    }

    /// An op that a NIC refused ends for its initiator, which may begin it again.
    pub(crate) fn refused(&mut self, op: u32, refusal: Refusal) {
        let Some(op) = self.ops.try_remove(op as usize) else { return };
        let r = &mut self.ranks[op.from as usize];
        r.ops -= 1;
        r.transferred.push_back((op.token, Outcome::Refused(refusal)));
        self.tell(op.from);
    }

    /// A mapping of a rank changed: its registrations end at once; their consequences are handled when the
    /// rank polls.
    pub(crate) fn changed(&mut self, rank: u32, change: Change) {
        let r = &mut self.ranks[rank as usize];
        if let (Some(pinned), Some((offset, len))) = (&mut r.pinned, change.range()) {
            pinned.outdate(offset, len);
        }
        if let Some(strategy) = &mut r.strategy {
            strategy.changed(change, &mut r.wishes);
        }
        self.tell(rank);
    }

    /// A rank maps whole pages of its segment anew, as zeros.
    pub(crate) fn remap(&mut self, rank: u32, offset: u64, len: u64) {
        if let Some(mut card) = self.cards[rank as usize].take() {
            card.unmap(self, offset, len);
            self.cards[rank as usize] = Some(card);
        }
        self.changed(rank, Change::Unmapped { addr: offset, len });
        self.ranks[rank as usize].segment.write(offset, &vec![0; len as usize]);
    }

    /// Starts a put whose bytes leave now, unless the NIC refuses its source.
    pub(crate) fn put(&mut self, op: OneSidedOp, offset: u64, bytes: Bytes) {
        let (from, to, len) = (op.from, op.to, op.len);
        self.ranks[from as usize].ops += 1;
        let op = self.ops.insert(op) as u32;
        if let Err(refusal) = self.admit(from, op, 0, len) {
            return self.refused(op, refusal);
        }
        self.send(from, to, HEADER_BYTES + len, Body::Put { op, offset, bytes });
    }

    /// Starts a get.
    pub(crate) fn get(&mut self, op: OneSidedOp, offset: u64) {
        let (from, to, len) = (op.from, op.to, op.len);
        self.ranks[from as usize].ops += 1;
        let op = self.ops.insert(op) as u32;
        self.send(from, to, HEADER_BYTES, Body::Get { op, offset, len });
    }

    fn credit(&mut self, from: u32, to: u32, channel: Channel) -> &mut u16 {
        let n = self.ranks.len();
        &mut self.credits[(from as usize * n + to as usize) * 2 + channel as usize]
    }

    /// Reserves a frame's buffer, unless too many to this peer wait already.
    pub(crate) fn reserve(&mut self, from: u32, to: u32, channel: Channel, len: usize) -> Option<u32> {
        let used = self.credit(from, to, channel);
        if *used >= FRAMES_PER_PEER {
            return None;
        }
        *used += 1;
        let class = class(len);
        let lines = self.pools[class].pop();
        let lines = lines.unwrap_or_else(|| vec![FrameLine([0; 64]); 1 << class].into());
        Some(self.slots.insert(FrameBuf { lines, len, channel, from, to }) as u32)
    }

    /// Sends a frame whose buffer was reserved.
    pub(crate) fn commit(&mut self, slot: u32, extra: usize) {
        if let Some(f) = self.slots.try_remove(slot as usize) {
            let (from, to, len) = (f.from, f.to, f.len);
            self.ranks[from as usize].frames_out += 1;
            self.send(from, to, len + extra, Body::Frame(f));
        }
    }

    /// Takes a frame's buffer back: it was handled, or never sent.
    pub(crate) fn recycle(&mut self, f: FrameBuf) {
        let (from, to) = (f.from, f.to);
        let used = self.credit(from, to, f.channel);
        let was_full = *used >= FRAMES_PER_PEER;
        *used -= 1;
        if was_full {
            self.tell(from);
        }
        let pool = &mut self.pools[class(f.len)];
        if pool.len() < 4096 {
            pool.push(f.lines);
        }
    }
}

/// Most frames of one channel from one host to another that the receiver has not taken; a further one would
/// block.
const FRAMES_PER_PEER: u16 = 64;

/// Size class of a frame: it has `1 << class` lines.
fn class(len: usize) -> usize {
    len.div_ceil(64).max(1).next_power_of_two().trailing_zeros() as usize
}
