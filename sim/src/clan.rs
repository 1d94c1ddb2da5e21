//! The network CLAN (Riddoch, 2002): cards that write into the memory of other hosts, and switches.
//!
//! **A card** sends what its processor stores into an outgoing aperture at once, word by word, in program
//! order; the processor waits until a store is on the bus ([`ClanCards::store`] says for how long). It also
//! has an *engine* that takes [`Request`]s one after the other: it fetches a request's octets from memory,
//! sends them, and only then looks at the next one. An [`Immediate`] is a word inside its request. Nothing
//! orders the two: a store overtakes what the engine has not sent.
//!
//! **A program** sees memory only: it reads its own, and asks the card to be told when an address was written
//! to (a *watch*, which costs an interrupt for each write).
//!
//! The components are in [`ClanInputs`]; [`ClanCosts::new`] says what follows from them.

mod burst;
mod switch;

pub use burst::Burst;
pub use switch::{Arbitration, Plan};

use crate::cost::CostModel;
use crate::device::{Clock, Device, Station};
use crate::net::Network;
use crate::time::Time;
use std::collections::VecDeque;
use switch::{Block, Line};

/// Inputs of the model: two hosts with processors of 650 MHz and one switch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClanInputs {
    /// Time of an octet on the link, on the host's bus, and of one that the processor stores, in nanoseconds.
    pub octets: [f64; 3],
    /// Round trip of a stored word, in microseconds.
    pub raw: f64,
    /// A switch, one way, in microseconds.
    pub switch: f64,
    /// One way of a VI message without payload, published by a store, in microseconds.
    pub message: f64,
    /// More for a first payload of 4 octets, stored; for publishing by the engine; for a first payload of 4
    /// octets by the engine. In microseconds.
    pub payload: f64,
    /// See `payload`.
    pub published_by_engine: f64,
    /// See `payload`.
    pub payload_by_engine: f64,
    /// Initialising and touching an octet, in nanoseconds.
    pub touch: f64,
    /// Table 5.2: cycles of PostRecv, of RecvDone (done, not done), of SendDone (done, not done).
    pub calls: [f64; 5],
    /// Cycles of a mutex, taken and released.
    pub lock: f64,
    /// Events by interrupt in a second.
    pub events: f64,
    /// Millions of cycles in a second.
    pub mhz: f64,
}

impl ClanInputs {
    /// As published.
    pub const PAPER: ClanInputs = ClanInputs {
        octets: [8.0, 7.58, 21.1],
        raw: 4.8,
        switch: 0.4,
        message: 3.75,
        payload: 1.25,
        published_by_engine: 1.1,
        payload_by_engine: 1.7,
        touch: 10.0,
        calls: [538.0, 303.0, 46.0, 169.0, 78.0],
        lock: 172.0,
        events: 114_000.0,
        mhz: 650.0,
    };
}

/// The time of each step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClanCosts {
    /// An octet on a link, on a host's bus, and of one that the processor stores.
    pub link: Time,
    /// See `link`.
    pub bus: Time,
    /// See `link`.
    pub store: Time,
    /// From one card into the other host's memory, and until a program that looks at it has seen it.
    pub card: Time,
    /// A switch.
    pub switch: Time,
    /// Posting a message, without its stores.
    pub post_send: Time,
    /// Calls: posting a receive, taking one, looking in vain, taking a send.
    pub post_receive: Time,
    /// See `post_receive`.
    pub receive_done: Time,
    /// See `post_receive`.
    pub empty: Time,
    /// See `post_receive`.
    pub send_done: Time,
    /// The receiver's first touch of a payload, and each octet.
    pub first_touch: Time,
    /// See `first_touch`.
    pub touch: Time,
    /// The engine: beginning a request, and being woken.
    pub request: Time,
    /// See `request`.
    pub kick: Time,
    /// An event, until the program that sleeps runs with it.
    pub event: Time,
    /// A mutex.
    pub lock: Time,
}

/// Octets of a word, which is what an aperture takes.
pub const WORD: usize = 4;
/// Octets of a message's entry: length, immediate, status.
pub const ENTRY: usize = 12;

impl ClanCosts {
    /// Derives the times from the inputs.
    ///
    /// ```text
    /// raw / 2             = store(4) + card + link(4) + switch
    /// message             = raw / 2 + post_send + store(12) + receive_done
    /// payload             = store(4) + first_touch + touch(4)
    /// published_by_engine = kick + request - store(4)
    /// payload_by_engine   = request + bus(4) + link(4) + first_touch + touch(4)
    /// ```
    pub fn new(i: &ClanInputs) -> ClanCosts {
        let us = |v: f64| Time::us(v.max(0.0));
        let [link, bus, store] = i.octets.map(|ns| ns / 1e3);
        let cycles = |n: f64| n / i.mhz;
        let (word, entry, touch) = (WORD as f64, ENTRY as f64, i.touch / 1e3);
        let receive_done = cycles(i.calls[1]);
        let first_touch = i.payload - word * (store + touch);
        let request = i.payload_by_engine - first_touch - word * (bus + link + touch);
        ClanCosts {
            link: us(link),
            bus: us(bus),
            store: us(store),
            card: us(i.raw / 2.0 - word * (store + link) - i.switch),
            switch: us(i.switch),
            post_send: us(i.message - i.raw / 2.0 - entry * store - receive_done),
            post_receive: us(cycles(i.calls[0])),
            receive_done: us(receive_done),
            empty: us(cycles(i.calls[2])),
            send_done: us(cycles(i.calls[3])),
            first_touch: us(first_touch),
            touch: us(touch),
            request: us(request),
            kick: us(i.published_by_engine + word * store - request),
            event: us(1e6 / i.events),
            lock: us(cycles(i.lock)),
        }
    }
}

/// A request for the engine: octets of its host's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// The host to write to.
    pub to: u32,
    /// Where there.
    pub at: u64,
    /// Where they are here.
    pub from: u64,
    /// How many.
    pub len: usize,
}

/// A word that the engine writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Immediate {
    /// The host to write to.
    pub to: u32,
    /// Where there.
    pub at: u64,
    /// The word.
    pub word: u32,
}

#[derive(Debug)]
enum Work {
    Request(Request),
    Immediate(Immediate),
}

/// Something that happens in the network.
#[derive(Debug)]
pub enum ClanEvent {
    /// A block's first octet is at a line.
    Enter(Entering),
    /// A line is free.
    Free(usize),
    /// A block is in memory.
    Write(Burst),
    /// A host's engine has sent a request.
    Engine(u32),
}

/// A block before it is in a queue.
#[derive(Debug)]
pub struct Entering(Block);

/// One host.
#[derive(Debug)]
struct ClanHost {
    memory: Vec<u8>,
    queue: VecDeque<Work>,
    active: bool,
    engine: Station,
    /// Watched addresses, and the writes to them that the program has not been told.
    watched: Vec<u64>,
    events: VecDeque<u64>,
    /// When blocks came to which addresses.
    arrivals: Vec<(u64, Time)>,
}

/// Counters of the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ClanStats {
    /// Blocks that lines sent.
    pub blocks: u64,
    /// Of them, those that needed a head.
    pub heads: u64,
    /// How often an engine had to be woken.
    pub kicks: u64,
    /// The longest time that a block waited for its turn at a line that another input had.
    pub longest_wait: Time,
}

/// All cards of a network, with the memories of their hosts.
#[derive(Debug)]
pub struct ClanCards {
    costs: ClanCosts,
    arbitration: Arbitration,
    hosts: Vec<ClanHost>,
    lines: Vec<Line>,
    /// Number of switches in a row; a host's card is line `host`, outputs follow, switch by switch.
    switches: usize,
    stats: ClanStats,
}

/// Octets of each host's memory.
const MEMORY: usize = 256 << 10;

impl ClanCards {
    /// Hosts whose octets pass so many switches in a row; with none, the cards are connected to each other.
    pub fn new(costs: ClanCosts, hosts: usize, switches: usize, arbitration: Arbitration) -> ClanCards {
        let host = || ClanHost {
            memory: vec![0; MEMORY],
            queue: VecDeque::new(),
            active: false,
            engine: Station::default(),
            watched: Vec::new(),
            events: VecDeque::new(),
            arrivals: Vec::new(),
        };
        ClanCards {
            costs,
            arbitration,
            hosts: (0..hosts).map(|_| host()).collect(),
            lines: (0..hosts * (switches + 1)).map(|_| Line::default()).collect(),
            switches,
            stats: ClanStats::default(),
        }
    }

    /// The costs.
    pub fn costs(&self) -> ClanCosts {
        self.costs
    }

    /// The counters.
    pub fn stats(&self) -> ClanStats {
        self.stats
    }

    /// A host's memory.
    pub fn memory(&self, host: u32) -> &[u8] {
        &self.hosts[host as usize].memory
    }

    /// A word of a host's memory.
    pub fn word(&self, host: u32, at: u64) -> u32 {
        let bytes = self.memory(host).get(at as usize..at as usize + WORD);
        bytes.and_then(|b| b.try_into().ok()).map_or(0, u32::from_le_bytes)
    }

    /// A program writes its own memory.
    pub fn set(&mut self, host: u32, at: u64, octets: &[u8]) {
        self.hosts[host as usize].memory[at as usize..at as usize + octets.len()].copy_from_slice(octets);
    }

    /// The lines from one host to another.
    fn plan(&self, from: u32, to: u32) -> Plan {
        let n = self.hosts.len();
        // All outputs on the way are those towards `to`.
        core::iter::once(from as usize).chain((1..=self.switches).map(|s| s * n + to as usize)).collect()
    }

    fn entering(&self, from: u32, burst: Burst, tail: Time) -> ClanEvent {
        let path = self.plan(from, burst.node);
        ClanEvent::Enter(Entering(Block { burst, path, at: 0, input: usize::MAX, tail, came: Time::ZERO }))
    }

    /// The processor stores octets into an outgoing aperture, a word at a time; returns how long it is busy.
    pub fn store(&mut self, clock: &mut Clock<'_, ClanEvent>, from: u32, burst: Burst) -> Time {
        let mut busy = Time::ZERO;
        let mut rest = Some(burst);
        while let Some(burst) = rest {
            let (word, more) = burst.split(WORD);
            busy += self.costs.store.bytes(word.octets.len());
            let at = clock.now() + busy;
            clock.at(at, self.entering(from, word, at));
            rest = more;
        }
        busy
    }

    /// Sends octets that the card has, as fast as the link takes them, in blocks.
    pub fn send(&self, clock: &mut Clock<'_, ClanEvent>, from: u32, burst: Burst, at: Time) {
        let mut rest = Some(burst);
        while let Some(burst) = rest {
            let (block, more) = burst.split(self.arbitration.block);
            clock.at(at, self.entering(from, block, Time::ZERO));
            rest = more;
        }
    }

    /// Gives the engine a request; returns how long the processor is busy: with waking it, if it is inactive.
    pub fn request(&mut self, clock: &mut Clock<'_, ClanEvent>, from: u32, request: Request) -> Time {
        self.enqueue(clock, from, Work::Request(request))
    }

    /// Gives the engine a word to be written behind all earlier requests.
    pub fn immediate(&mut self, clock: &mut Clock<'_, ClanEvent>, from: u32, word: Immediate) -> Time {
        self.enqueue(clock, from, Work::Immediate(word))
    }

    fn enqueue(&mut self, clock: &mut Clock<'_, ClanEvent>, from: u32, work: Work) -> Time {
        let host = &mut self.hosts[from as usize];
        host.queue.push_back(work);
        if host.active {
            return Time::ZERO;
        }
        host.active = true;
        self.stats.kicks += 1;
        clock.at(clock.now() + self.costs.kick, ClanEvent::Engine(from));
        self.costs.kick
    }

    /// Whether the engine has sent all its requests.
    pub fn engine_idle(&self, host: u32) -> bool {
        !self.hosts[host as usize].active
    }

    /// Writes to this address of a host become events.
    pub fn watch(&mut self, host: u32, at: u64) {
        self.hosts[host as usize].watched.push(at);
    }

    /// The address of the next event of a host.
    pub fn event(&mut self, host: u32) -> Option<u64> {
        self.hosts[host as usize].events.pop_front()
    }

    /// When blocks for a host were in its memory, with their addresses.
    pub fn arrivals(&self, host: u32) -> &[(u64, Time)] {
        &self.hosts[host as usize].arrivals
    }

    /// The engine takes the next request: fetches its octets, and has the link until they are sent.
    fn engine(&mut self, clock: &mut Clock<'_, ClanEvent>, number: u32) {
        let (c, now) = (self.costs, clock.now());
        let host = &mut self.hosts[number as usize];
        let (burst, fetch) = match host.queue.pop_front() {
            None => return host.active = false,
            Some(Work::Immediate(i)) => (Burst::new(i.to, i.at, &i.word.to_le_bytes()), Time::ZERO),
            Some(Work::Request(r)) => {
                let octets = &host.memory[r.from as usize..r.from as usize + r.len];
                (Burst::new(r.to, r.at, octets), c.bus.bytes(r.len))
            }
        };
        let fetched = host.engine.take(now, c.request + fetch);
        let sent = host.engine.take(fetched, c.link.bytes(burst.octets.len()));
        self.send(clock, number, burst, fetched);
        clock.at(sent, ClanEvent::Engine(number));
    }

    /// A line sends what it can.
    fn go(&mut self, clock: &mut Clock<'_, ClanEvent>, line: usize) {
        let (now, octet) = (clock.now(), self.costs.link);
        let latency = if line < self.hosts.len() { self.costs.card } else { self.costs.switch };
        let room = self.arbitration.block + (latency.as_ps() / octet.as_ps().max(1)) as usize;
        let Some(sent) = self.lines[line].send(now, octet, room) else { return };
        let mut block = sent.block;
        self.stats.blocks += 1;
        self.stats.heads += u64::from(sent.head);
        clock.at(sent.end, ClanEvent::Free(line));
        if block.input != usize::MAX {
            self.stats.longest_wait = self.stats.longest_wait.max(now.since(block.came));
            // Its place behind the link before is free.
            let before = block.input;
            self.lines[before].passed_on(block.burst.octets.len());
            clock.at(now, ClanEvent::Free(before));
        }
        let last = block.at + 1 == block.path.len();
        (block.input, block.tail) = (line, sent.end + latency);
        if last {
            return clock.at(sent.end + latency, ClanEvent::Write(block.burst));
        }
        block.at += 1;
        let head = if self.arbitration.cut_through { now } else { sent.end };
        clock.at(head + latency, ClanEvent::Enter(Entering(block)));
    }

    fn write(&mut self, clock: &mut Clock<'_, ClanEvent>, burst: Burst) {
        let host = &mut self.hosts[burst.node as usize];
        let (at, end) = (burst.at as usize, burst.at as usize + burst.octets.len());
        if let Some(place) = host.memory.get_mut(at..end) {
            place.copy_from_slice(&burst.octets);
            host.arrivals.push((burst.at, clock.now()));
            let hit = host.watched.iter().filter(|w| (at..end).contains(&(**w as usize)));
            host.events.extend(hit);
            clock.tell(burst.node);
        }
    }
}

impl Device for ClanCards {
    type Event = ClanEvent;

    fn happen(&mut self, clock: &mut Clock<'_, ClanEvent>, event: ClanEvent) {
        match event {
            ClanEvent::Enter(Entering(block)) => {
                let line = block.path[block.at];
                self.lines[line].push(clock.now(), block);
                self.go(clock, line);
            }
            ClanEvent::Free(line) => self.go(clock, line),
            ClanEvent::Write(burst) => self.write(clock, burst),
            ClanEvent::Engine(host) => self.engine(clock, host),
        }
    }
}

impl CostModel {
    /// `clan-piii`: Pentium III hosts at 650 MHz on CLAN with one switch. The card reaches all memory, and
    /// the paper prices no registration: those costs are of hosts of the same time (`lanai9-netvm`).
    pub fn clan_piii() -> CostModel {
        let c = ClanCosts::new(&ClanInputs::PAPER);
        let same_time = CostModel::lanai9_netvm();
        let mut model = CostModel {
            name: "clan-piii",
            network: Network::new(c.card + c.switch, c.link, Time::ZERO),
            ..same_time
        };
        model.host.poll = c.empty;
        model.host.am_send = c.post_send;
        model.host.am_handle = c.receive_done;
        model.host.post = c.post_send;
        model.host.put_back = c.card + c.switch;
        model.host.copy = c.touch;
        model
    }
}
