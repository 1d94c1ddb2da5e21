//! Two links, a wire with loss, duplication, reordering, corruption and a bottleneck, and a clock that jumps
//! to the next event.

use gasnet_udp::auth::{Coverage, JobKey, Life, MIN_BULK_BYTES};
use gasnet_udp::buf::{Buf, Pool};
use gasnet_udp::link::{Batch, Link, OpLocation, Refused, Setup, World};
use gasnet_udp::wire::{HEADER_BYTES, Packet, PacketKind};
use gasnet_wire::conduit::Channel;
use std::collections::BTreeMap;

/// A generator of one seed.
#[derive(Debug, Clone)]
pub struct Rng(pub u64);

impl Rng {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
    /// In parts of 10 000.
    pub fn chance(&mut self, of_10000: u64) -> bool {
        self.below(10_000) < of_10000
    }
}

/// The memory of a rank: a segment, own memory (addresses are indices), and the frames that arrived.
#[derive(Default)]
pub struct Memory {
    pub segment: Vec<u8>,
    pub own: Vec<u8>,
    pub pool: Pool,
    pub frames: Vec<(Channel, Buf)>,
    pub completed: Vec<u64>,
}

impl World for Memory {
    fn read(&mut self, from: OpLocation, out: &mut [u8]) {
        let (memory, at) = match from {
            OpLocation::Own(at) => (&self.own, at as usize),
            OpLocation::Segment(at) => (&self.segment, at as usize),
        };
        out.copy_from_slice(&memory[at..at + out.len()]);
    }
    fn write(&mut self, to: OpLocation, data: &[u8]) -> bool {
        let (memory, at) = match to {
            OpLocation::Own(at) => (&mut self.own, at as usize),
            OpLocation::Segment(at) => (&mut self.segment, at as usize),
        };
        match memory.get_mut(at..at + data.len()) {
            Some(to) => to.copy_from_slice(data),
            None => return false,
        }
        true
    }
    fn holds(&self, offset: u64, len: u64) -> bool {
        offset.checked_add(len).is_some_and(|end| end <= self.segment.len() as u64)
    }
    fn pool(&mut self) -> &mut Pool {
        &mut self.pool
    }
    fn deliver(&mut self, channel: Channel, frame: Buf) {
        self.frames.push((channel, frame));
    }
    fn complete(&mut self, token: u64) {
        self.completed.push(token);
    }
}

/// Faults of a wire; shares in parts of 10 000.
#[derive(Debug, Clone, Copy)]
pub struct Wire {
    pub one_way: u64,
    /// Bytes per microsecond.
    pub rate: u64,
    /// Bytes that wait for the bottleneck at most.
    pub queue: u64,
    pub mtu: usize,
    pub loss: u64,
    pub duplicate: u64,
    pub reorder: u64,
    pub corrupt: u64,
}

impl Default for Wire {
    fn default() -> Wire {
        Wire {
            one_way: 25_000,
            rate: 1250,
            queue: 1 << 20,
            mtu: 1472,
            loss: 0,
            duplicate: 0,
            reorder: 0,
            corrupt: 0,
        }
    }
}

pub struct End {
    pub link: Link,
    pub memory: Memory,
    /// When the bottleneck of what this end sends is free again.
    free_at: u64,
}

/// A datagram on its way.
struct Flying {
    to: usize,
    bytes: Vec<u8>,
    /// The wire changed it where it is authenticated.
    broken: bool,
}

pub struct Pair {
    pub now: u64,
    pub ends: [End; 2],
    pub wire: Wire,
    pub rng: Rng,
    /// By time and serial number.
    flying: BTreeMap<(u64, u64), Flying>,
    serial: u64,
    batch: Batch,
    /// Datagrams that arrived, for replays.
    pub heard: Vec<Vec<u8>>,
    /// Whether each datagram arrives changed first, in each of its bytes in turn, and how many of those were
    /// refused.
    pub tamper: bool,
    pub refused: u64,
    pub cut: bool,
    /// The longest datagram that passes from each end.
    pub passes: [usize; 2],
    /// Until when each end has no processor: what arrives waits, and so do its timers.
    pub away_until: [u64; 2],
}

pub const SIZES: [usize; 4] = [1232, 1472, 8972, 65507];
pub const SILENCE_LIMIT_NS: u64 = 10_000_000_000;

pub fn setup(rank: u32, window: u64, in_flight: u64, coverage: Coverage) -> Setup {
    setup_of(rank, 1 - rank, window, in_flight, coverage)
}

/// Of a rank's link to a peer.
pub fn setup_of(rank: u32, peer: u32, window: u64, in_flight: u64, coverage: Coverage) -> Setup {
    let job = JobKey::from_shares([[1; 16], [2; 16]].iter());
    let life = |rank: u32| Life { rank, incarnation: 77 + u64::from(rank) };
    let (me, peer) = (life(rank), life(peer));
    Setup {
        rank,
        send_key: job.direction(me, peer, coverage),
        receive_key: job.direction(peer, me, coverage),
        window: [window; 2],
        in_flight,
        first: in_flight,
        sizes: SIZES.to_vec(),
        patience: SILENCE_LIMIT_NS,
    }
}

/// How many bytes of a datagram are authenticated whatever the settings: all but bulk data.
fn covered_bytes(datagram: &[u8]) -> usize {
    let bulk = Packet::new_checked(datagram).is_ok_and(|packet| {
        matches!(packet.kind(), Some(PacketKind::Put | PacketKind::Data))
            && packet.payload().len() > MIN_BULK_BYTES
    });
    if bulk { HEADER_BYTES } else { datagram.len() }
}

impl Pair {
    pub fn new(seed: u64, wire: Wire, window: u64, in_flight: u64) -> Pair {
        Pair::covered(seed, wire, window, in_flight, Coverage::Messages)
    }

    pub fn covered(seed: u64, wire: Wire, window: u64, in_flight: u64, coverage: Coverage) -> Pair {
        let end = |rank| End {
            link: Link::new(setup(rank, window, in_flight, coverage)),
            memory: Memory::default(),
            free_at: 0,
        };
        Pair {
            now: 1_000_000_000,
            ends: [end(0), end(1)],
            wire,
            rng: Rng(seed),
            flying: BTreeMap::new(),
            serial: 0,
            batch: Batch::new(65507, 64),
            heard: Vec::new(),
            tamper: false,
            refused: 0,
            cut: false,
            passes: [usize::MAX; 2],
            away_until: [0; 2],
        }
    }

    /// Sends what there is to send.
    pub fn flush(&mut self) {
        for who in 0..2 {
            loop {
                self.batch.clear();
                let end = &mut self.ends[who];
                if !end.link.transmit(self.now, &mut end.memory, &mut self.batch) {
                    break;
                }
                let datagrams: Vec<Vec<u8>> =
                    self.batch.bytes().chunks(self.batch.size()).map(<[u8]>::to_vec).collect();
                assert_eq!(datagrams.len(), self.batch.count());
                datagrams.into_iter().for_each(|d| self.launch(who, d));
            }
        }
    }

    pub fn launch(&mut self, from: usize, mut datagram: Vec<u8>) {
        let Wire { one_way, rate, queue, mtu, loss, duplicate, reorder, corrupt } = self.wire;
        let start = self.ends[from].free_at.max(self.now);
        if self.cut || datagram.len() > mtu.min(self.passes[from]) || (start - self.now) * rate / 1000 > queue
        {
            return;
        }
        self.ends[from].free_at = start + datagram.len() as u64 * 1000 / rate;
        if self.rng.chance(loss) {
            return;
        }
        let mut at = self.ends[from].free_at + one_way;
        if self.rng.chance(reorder) {
            at += self.rng.below(one_way * 3);
        }
        if self.rng.chance(duplicate) {
            let again = at + self.rng.below(one_way * 10);
            self.serial += 1;
            let bytes = datagram.clone();
            self.flying.insert((again, self.serial), Flying { to: 1 - from, bytes, broken: false });
        }
        let mut broken = false;
        if self.rng.chance(corrupt) {
            let bit = self.rng.below(datagram.len() as u64 * 8) as usize;
            broken = bit / 8 < covered_bytes(&datagram);
            datagram[bit / 8] ^= 1 << (bit % 8);
        }
        self.serial += 1;
        self.flying.insert((at, self.serial), Flying { to: 1 - from, bytes: datagram, broken });
    }

    /// Hands a datagram in; nobody may break the protocol.
    pub fn hand_in(&mut self, to: usize, datagram: &[u8]) -> bool {
        let Ok(packet) = Packet::new_checked(datagram) else { return false };
        let end = &mut self.ends[to];
        match end.link.handle(self.now, &packet, &mut end.memory) {
            Ok(()) => true,
            Err(Refused::Drop) => false,
            Err(Refused::Broken(what)) => panic!("rank {to} says the protocol was broken: {what}"),
        }
    }

    /// Hands in a datagram that is due with one bit changed, once for each byte outside of bulk data.
    fn tamper_with(&mut self, to: usize, datagram: &[u8]) {
        let mut changed = datagram.to_vec();
        for at in 0..covered_bytes(datagram) {
            let bit = 1 << self.rng.below(8);
            changed[at] ^= bit;
            assert!(
                !self.hand_in(to, &changed),
                "byte {at} of {} changed: {:?}",
                datagram.len(),
                &datagram[..2]
            );
            changed[at] ^= bit;
            self.refused += 1;
        }
    }

    /// Goes on to the next event; false when there is none, or none before `until`.
    pub fn step(&mut self, until: u64) -> bool {
        self.flush();
        let arrival = self.flying.keys().next().map(|(at, _)| *at);
        let timers = self.ends.iter().zip(self.away_until);
        let timer = timers.filter_map(|(end, away)| Some(end.link.deadline()?.max(away))).min();
        let Some(next) = [arrival, timer].into_iter().flatten().min().filter(|t| *t <= until) else {
            self.now = self.now.max(until);
            return false;
        };
        self.now = self.now.max(next);
        while let Some(entry) = self.flying.first_entry() {
            if entry.key().0 > self.now {
                break;
            }
            let away = self.away_until[entry.get().to];
            if away > self.now {
                let ((_, serial), datagram) = entry.remove_entry();
                self.flying.insert((away, serial), datagram);
                continue;
            }
            let Flying { to, bytes: datagram, broken } = entry.remove();
            if self.tamper {
                self.tamper_with(to, &datagram);
            }
            let taken = self.hand_in(to, &datagram);
            assert!(!(taken && broken), "a changed datagram was taken");
            if self.heard.len() < 2000 {
                self.heard.push(datagram);
            }
        }
        for (end, away) in self.ends.iter_mut().zip(self.away_until) {
            if away <= self.now && end.link.deadline().is_some_and(|at| at <= self.now) {
                end.link.timeout(self.now);
            }
        }
        true
    }

    /// Goes on until a condition holds; false if it did not within so many nanoseconds.
    pub fn run(&mut self, limit: u64, mut done: impl FnMut(&mut Pair) -> bool) -> bool {
        let until = self.now + limit;
        loop {
            if done(self) {
                return true;
            }
            if !self.step(until) {
                return done(self);
            }
        }
    }

    pub fn try_send(&mut self, from: usize, channel: Channel, bytes: &[u8]) -> bool {
        let now = self.now;
        let End { link, memory, .. } = &mut self.ends[from];
        if !link.reserve(now, channel, bytes.len()) {
            return false;
        }
        let mut buf = memory.pool.take(bytes.len());
        buf.bytes_mut().copy_from_slice(bytes);
        link.send_frame(channel, buf, &mut memory.pool);
        true
    }

    /// Takes the frames that arrived at an end, and makes room again.
    pub fn take(&mut self, at: usize, channel: Channel) -> Vec<Vec<u8>> {
        let now = self.now;
        let End { link, memory, .. } = &mut self.ends[at];
        let mut taken = Vec::new();
        let frames = std::mem::take(&mut memory.frames);
        for (c, buf) in frames {
            if c != channel {
                memory.frames.push((c, buf));
                continue;
            }
            link.consumed(now, channel, buf.bytes().len());
            taken.push(buf.bytes().to_vec());
            memory.pool.give(buf);
        }
        taken
    }
}
