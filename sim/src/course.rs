//! The course of events: the queue, packets on their way, and the turns of ranks.

use crate::choice::{Chooser, Kind, MOST_WAYS, NextStep};
use crate::event::{Activity, Body, Bytes, FrameBuf, HEADER_BYTES, Left, OneSidedOp, Owner, WorldEvent};
use crate::time::Time;
use crate::world::World;
use core::cmp::Ordering;
use firehose::{Change, Outcome, Refusal, Side};
use gasnet_wire::conduit::{Channel, Completion, FrameLine};

pub(crate) struct QueuedEvent {
    at: Time,
    number: u64,
    chain: u32,
    pub(crate) event: WorldEvent,
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

/// Length of a frame's header on the wire.
const FRAME_HEADER_BYTES: usize = 16;

/// The next step of a simulation.
#[derive(Debug)]
pub(crate) enum Step {
    /// A rank gets the turn.
    Turn(u32),
    Event(WorldEvent),
}

/// A packet on its way.
pub(crate) struct Packet {
    from: u32,
    to: u32,
    bytes: usize,
    /// Copies that have not arrived yet.
    copies: u8,
    /// Which frame of its sender it is.
    number: u32,
    /// Taken when the first copy arrives; `None` lets the receiver recognise duplicates.
    pub(crate) body: Option<Body>,
}

impl World {
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
        let chain = match event {
            WorldEvent::Resume(rank) => rank,
            _ if self.chooser.is_some() => self.chains.of_event(),
            _ => 0,
        };
        self.queue.push(QueuedEvent { at: at.max(self.now), number: self.number, chain, event });
    }

    /// Lets `length` pass for a rank if nothing else happens in the meantime; else makes the event that ends
    /// it.
    pub(crate) fn pass(&mut self, rank: u32, length: Time) -> bool {
        let end = match self.most_ahead {
            Some(_) => self.local_time(rank) + length * self.slowness(rank),
            None => self.occupy(rank, length * self.slowness(rank)),
        };
        if !self.explores() && self.ready.is_empty() && self.queue.peek().is_none_or(|e| e.at > end) {
            self.now = end;
            return true;
        }
        self.at(end, WorldEvent::Resume(rank));
        self.set(rank, Activity::Busy);
        false
    }

    /// The time that it is for a rank.
    pub(crate) fn local_time(&self, rank: u32) -> Time {
        self.now.max(self.ranks[rank as usize].busy_until)
    }

    /// How many times as long a rank takes for everything.
    pub(crate) fn slowness(&self, rank: u32) -> u64 {
        let slow = self.hardships.slow.iter().find(|(who, _)| *who == rank);
        slow.map_or(1, |(_, times)| u64::from(*times))
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

    /// Something happened to a rank that others may see: if it waits, it gets a turn.
    pub(crate) fn tell(&mut self, rank: u32) {
        self.unquiet();
        self.notice(rank);
    }

    /// Something happened to a rank that was to be expected, or perhaps: if it waits, it gets a turn.
    pub(crate) fn notice(&mut self, rank: u32) {
        let r = &mut self.ranks[rank as usize];
        r.news += 1;
        r.looks = 0;
        if self.chooser.is_some() {
            self.chains.stepped(rank);
        }
        if !matches!(r.state, Activity::Idle(_)) {
            return;
        }
        let until = r.busy_until;
        if until > self.now {
            r.state = Activity::Busy;
            self.at(until, WorldEvent::Resume(rank));
        } else {
            r.state = Activity::Ready;
            self.ready.push_back(rank);
        }
    }

    /// Takes the next event and advances the time to it.
    fn next(&mut self) -> Option<WorldEvent> {
        let e = self.queue.pop()?;
        Some(self.take(e))
    }

    fn take(&mut self, e: QueuedEvent) -> WorldEvent {
        // A choice may have taken a later one before.
        self.now = self.now.max(e.at);
        self.stats.events += 1;
        self.chains.step(e.chain);
        e.event
    }

    /// Whether something other than the costs chooses now.
    fn explores(&self) -> bool {
        self.chooser.is_some() && self.starting == 0 && !self.is_last_look()
    }

    /// The next step: the first rank that is ready, or else the next event, unless a chooser takes
    /// another one.
    pub(crate) fn step(&mut self) -> Option<Step> {
        let mut chooser = if self.explores() { self.chooser.take() } else { None };
        let step = match &mut chooser {
            Some(chooser) => self.chosen(chooser),
            None => match self.ready.pop_front() {
                Some(rank) => Some(Step::Turn(rank)),
                None => self.next().map(Step::Event),
            },
        };
        if chooser.is_some() {
            self.chooser = chooser;
        }
        let Some(Step::Turn(rank)) = step else { return step };
        let until =
            self.hardships.stalls.iter().find(|(r, from, to)| *r == rank && (*from..*to).contains(&self.now));
        if let Some((_, _, until)) = until.copied() {
            self.at(until, WorldEvent::Resume(rank));
            self.set(rank, Activity::Busy);
            return self.step();
        }
        self.chains.turn(rank);
        self.ranks[rank as usize].turns += 1;
        step
    }

    fn chosen(&mut self, chooser: &mut Chooser) -> Option<Step> {
        let ready = self.ready.len().min(MOST_WAYS);
        let mut ways: Vec<NextStep> =
            self.ready.iter().take(ready).map(|rank| self.way_of_rank(*rank, Kind::GoesOn)).collect();
        let mut events: Vec<QueuedEvent> = Vec::new();
        while ready + events.len() < MOST_WAYS
            && let Some(event) = self.queue.pop()
        {
            ways.push(self.way_of_event(&event));
            events.push(event);
        }
        if ways.is_empty() {
            return None;
        }
        let taken = chooser.choose(&ways);
        let event = (taken >= ready).then(|| events.remove(taken - ready));
        self.queue.extend(events);
        match event {
            Some(event) => Some(Step::Event(self.take(event))),
            None => self.ready.remove(taken).map(Step::Turn),
        }
    }

    fn way_of_rank(&self, rank: u32, kind: Kind) -> NextStep {
        let r = &self.ranks[rank as usize];
        let (spins, number, turn) = (r.looks > 1 || r.looking().is_some(), r.begun, r.turns);
        NextStep { chain: rank, step: 1 << 63 | u64::from(rank), rank, from: rank, number, turn, spins, kind }
    }

    fn way_of_event(&self, event: &QueuedEvent) -> NextStep {
        let caller = |op: u32| self.ops.get(op as usize).map_or((u32::MAX, 0), |op| (op.from, op.number));
        let (rank, kind, (from, number)) = match event.event {
            WorldEvent::Resume(rank) => return self.way_of_rank(rank, Kind::Passes),
            WorldEvent::Arrive(packet) => match self.packets.get(packet as usize) {
                Some(Packet { to, from, number, body, .. }) => {
                    let kind = body.as_ref().map_or(Kind::Other, Body::way);
                    let op = body.as_ref().and_then(Body::op);
                    (*to, kind, op.map_or((*from, *number), caller))
                }
                None => (u32::MAX, Kind::Other, (u32::MAX, 0)),
            },
            WorldEvent::Send(slot) => {
                let from = self.slots.get(slot as usize).map_or(u32::MAX, |frame| frame.from);
                (from, Kind::Other, (from, event.number as u32))
            }
            WorldEvent::Fetch(op) => (caller(op).0, Kind::Fetch, caller(op)),
            WorldEvent::Done(op) => (caller(op).0, Kind::Done, caller(op)),
            WorldEvent::Nic(rank, tag) => (rank, Kind::Other, (rank, tag as u32)),
            WorldEvent::Dies(rank) => (rank, Kind::Dies, (rank, 0)),
            WorldEvent::Stir(host) => (host, Kind::Looks, (host, event.number as u32)),
            WorldEvent::Device(tag) => (u32::MAX, Kind::Other, (u32::MAX, tag as u32)),
        };
        NextStep { chain: event.chain, step: event.number, rank, from, number, turn: 0, spins: false, kind }
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
        let number = self.ranks[from as usize].frames_out;
        let packet = self.packets.insert(Packet { from, to, bytes, copies, number, body: Some(body) }) as u32;
        self.at(arrivals.first, WorldEvent::Arrive(packet));
        if let Some(again) = arrivals.again {
            self.at(again, WorldEvent::Arrive(packet));
        }
        arrivals.first
    }

    /// Lets an event happen in the world. Returns what is left for the NIC.
    pub(crate) fn happen(&mut self, event: WorldEvent) -> Option<Left> {
        match event {
            WorldEvent::Resume(rank) if self.is_over(rank) => None,
            WorldEvent::Resume(rank) => {
                self.record(7, u64::from(rank), 0);
                self.set(rank, Activity::Ready);
                self.ready.push_back(rank);
                None
            }
            WorldEvent::Send(slot) => {
                self.send_frame(slot);
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
            WorldEvent::Fetch(index) => {
                let op = self.ops.get(index as usize)?;
                let (from, to, token, offset, len) = (op.from, op.to, op.token, op.offset, op.len);
                if self.is_void(op) {
                    self.forget(index);
                    return None;
                }
                let local = op.local;
                let Ok(bytes) = self.ranks[from as usize].segment.home().load(local, len) else {
                    self.without_memory = Some(from);
                    return None;
                };
                let bytes = Bytes::new(&bytes);
                self.record(12, u64::from(from), len as u64);
                self.ranks[from as usize].done.push_back((token, Completion::Local));
                self.send(from, to, HEADER_BYTES + len, Body::Put { op: index, offset, bytes });
                self.tell(from);
                None
            }
            WorldEvent::Done(op) => {
                let op = self.ops.try_remove(op as usize)?;
                self.record(8, u64::from(op.from), u64::from(op.to));
                let void = self.is_void(&op);
                let r = &mut self.ranks[op.from as usize];
                r.ops -= 1;
                if void {
                    return None;
                }
                match op.owner {
                    Owner::Core => r.done.push_back((op.token, Completion::Remote)),
                    Owner::Strategy => r.transferred.push_back((op.token, Outcome::Done)),
                }
                self.notice(op.from);
                None
            }
            WorldEvent::Nic(rank, tag) => {
                self.record(9, u64::from(rank), 0);
                Some(Left::Nic(rank, tag))
            }
            WorldEvent::Dies(rank) => {
                self.record(13, u64::from(rank), 0);
                Some(Left::Dies(rank))
            }
            WorldEvent::Stir(host) => {
                self.record(14, u64::from(host), 0);
                self.stir_up(host);
                None
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
            Body::Frame(f) if f.epoch != self.ranks[target].epoch || self.ranks[target].gave_up => {
                self.recycle(f);
            }
            Body::Frame(f) => {
                self.ranks[target].inbox[f.channel as usize].push_back(f);
                self.tell(to);
            }
            // The target has gone on to another world, with other memory: nobody may wait for this in vain,
            // and what it says is never done.
            Body::Put { op, .. } | Body::Get { op, .. } if self.misses(op, target) => self.forget(op),
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
                if let Some(o) = self.ops.get(op as usize)
                    && !self.is_void(o)
                {
                    let home = self.ranks[o.from as usize].segment.home();
                    if home.store(o.local, bytes.as_slice()).is_err() {
                        self.without_memory = Some(o.from);
                    }
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

    /// Whether a rank's program has ended, or the rank has died.
    pub(crate) fn is_over(&self, rank: u32) -> bool {
        self.ranks[rank as usize].state == Activity::Over
    }

    /// Whether an op is of a world that its initiator has given up.
    pub(crate) fn is_void(&self, op: &OneSidedOp) -> bool {
        let r = &self.ranks[op.from as usize];
        r.gave_up || op.epoch != r.epoch
    }

    /// Whether an op comes to a target that is in another world.
    pub(crate) fn misses(&self, op: u32, target: usize) -> bool {
        self.ops.get(op as usize).is_some_and(|op| op.epoch != self.ranks[target].epoch)
    }

    /// An op is never done.
    pub(crate) fn forget(&mut self, op: u32) {
        if let Some(op) = self.ops.try_remove(op as usize) {
            self.ranks[op.from as usize].ops -= 1;
        }
    }

    /// The ranks of a host that wait look again.
    fn stir_up(&mut self, host: u32) {
        let Some(shared) = &mut self.shared_memory else { return };
        for rank in shared.looks(host) {
            // One that is about to wait has perhaps looked before.
            if self.ranks.get(rank as usize).is_some_and(|r| r.state != Activity::Over) {
                self.notice(rank);
            }
        }
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
    pub(crate) fn put(&mut self, mut op: OneSidedOp, offset: u64, bytes: Bytes) {
        let (from, to, len) = (op.from, op.to, op.len);
        op.epoch = self.ranks[from as usize].epoch;
        op.number = self.ranks[from as usize].begins();
        self.ranks[from as usize].ops += 1;
        let op = self.ops.insert(op) as u32;
        if let Err(refusal) = self.admit(from, op, 0, len) {
            return self.refused(op, refusal);
        }
        self.send(from, to, HEADER_BYTES + len, Body::Put { op, offset, bytes });
    }

    /// Starts a put whose source the NIC reads when it comes to it.
    pub(crate) fn put_later(&mut self, mut op: OneSidedOp) {
        let from = &mut self.ranks[op.from as usize];
        op.epoch = from.epoch;
        op.number = from.begins();
        from.ops += 1;
        let op = self.ops.insert(op) as u32;
        self.at(self.now, WorldEvent::Fetch(op));
    }

    /// Starts a get.
    pub(crate) fn get(&mut self, mut op: OneSidedOp, offset: u64) {
        let (from, to, len) = (op.from, op.to, op.len);
        op.epoch = self.ranks[from as usize].epoch;
        op.number = self.ranks[from as usize].begins();
        self.ranks[from as usize].ops += 1;
        let op = self.ops.insert(op) as u32;
        self.send(from, to, HEADER_BYTES, Body::Get { op, offset, len });
    }

    /// Reserves a frame's buffer, unless too many to this peer wait already.
    pub(crate) fn reserve(
        &mut self,
        (from, to): (u32, u32),
        channel: Channel,
        len: usize,
        epoch: u32,
    ) -> Option<u32> {
        if !self.ranks[from as usize].untaken.add(to, channel, self.hardships.frames) {
            return None;
        }
        let class = class(len);
        let lines = self.pools[class].pop();
        let lines = lines.unwrap_or_else(|| vec![FrameLine([0; 64]); 1 << class].into());
        Some(self.slots.insert(FrameBuf { lines, len, channel, from, to, epoch }) as u32)
    }

    /// Sends a frame whose buffer was reserved.
    pub(crate) fn commit(&mut self, rank: u32, slot: u32) {
        self.ranks[rank as usize].begins();
        self.send_frame(slot);
    }

    fn send_frame(&mut self, slot: u32) {
        if let Some(f) = self.slots.try_remove(slot as usize) {
            let (from, to, len) = (f.from, f.to, f.len);
            self.ranks[from as usize].frames_out += 1;
            self.send(from, to, FRAME_HEADER_BYTES + len, Body::Frame(f));
        }
    }

    /// Takes a frame's buffer back: it was handled, or never sent.
    pub(crate) fn recycle(&mut self, f: FrameBuf) {
        let (from, to) = (f.from, f.to);
        if self.ranks[from as usize].untaken.take(to, f.channel, self.hardships.frames) {
            self.tell(from);
        }
        let pool = &mut self.pools[class(f.len)];
        if pool.len() < 4096 {
            pool.push(f.lines);
        }
    }
}

/// Size class of a frame: it has `1 << class` lines.
fn class(len: usize) -> usize {
    len.div_ceil(64).max(1).next_power_of_two().trailing_zeros() as usize
}
