//! The NIC that reaches pinned memory only, and the host software that pins for it.
//!
//! What is pinned, when and for whom is decided by a [`firehose::Strategy`]; this module carries its decisions out and charges
//! for them: a pin takes the processor of the rank that pins, a message that of both ends, a transfer nobody's. Messages
//! between strategies are handled when their target polls: a rank that computes lets its peers wait.
//!
//! **Addresses** that strategies see are offsets into the owner's segment, so that a run does not depend on where the host's
//! kernel maps things. Memory outside of the segment has been registered for good (bounce buffers of the core); its addresses
//! have the bit [`PRIVATE`] and name the operation they belong to.
//!
//! **Oracle.** The world keeps a map of its own of what is pinned ([`PinMap`]). Every DMA is checked against it, and so is the
//! bound on pinned memory: a strategy that is wrong ends the simulation.

use crate::cluster::Cluster;
use crate::conduit::SimConduit;
use crate::cost::PinCosts;
use crate::memory;
use crate::nic::Start;
use crate::time::Time;
use crate::world::{Body, Bytes, HEADER, Op, Owner, Slab};
use firehose::{
    Action, Direction, Kind, Local, Message, Outcome, Request, Run, Stats, Strategy, Transfer, Usage,
};
use gasnet::conduit::Completion;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How memory gets to be reachable for the NICs of a job.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Registration {
    /// They reach all memory: no registration at all.
    None,
    /// They reach what is pinned; this strategy pins.
    Pinned(Kind, Budget),
    /// Their firmware locks each page for each DMA (NetVM). At most `frames` pages are resident at a time; 0: all.
    ShadowLock {
        /// How many.
        frames: u32,
    },
    /// Firehose whose pins are leases: long-held locks in the NIC's table.
    FirehoseOverLocks(Budget),
}

/// How much may be pinned, and in which units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// `M`: bytes that each rank offers to the others.
    pub m: u64,
    /// `MAXVICTIM`: bytes it keeps for itself and for what may be wanted again.
    pub victim: u64,
    /// Bytes of a bucket.
    pub bucket: u64,
    /// Whether victims may use what peers leave unused.
    pub adaptive: bool,
}

impl Budget {
    /// What the paper measured with: 400 MB, 50 MB, buckets of a page.
    pub const PAPER: Budget = Budget { m: 400 << 20, victim: 50 << 20, bucket: 4096, adaptive: false };
}

/// Marks an address outside of the segment: then the operation's number from bit 32 on, and the offset in its buffer.
const PRIVATE: u64 = 1 << 48;

/// What is pinned, bucket by bucket.
#[derive(Debug)]
pub(crate) struct PinMap {
    bits: Vec<u64>,
    bucket: u64,
    count: u64,
}

impl PinMap {
    fn new(bytes: u64, bucket: u64) -> PinMap {
        let buckets = bytes.div_ceil(bucket) as usize;
        PinMap { bits: vec![0; buckets.div_ceil(64)], bucket, count: 0 }
    }

    fn set(&mut self, run: Run, pinned: bool) {
        for b in run.buckets() {
            let (word, bit) = (&mut self.bits[b as usize / 64], 1u64 << (b % 64));
            assert!((*word & bit != 0) != pinned, "bucket {b} is pinned or unpinned twice");
            *word ^= bit;
            self.count = if pinned { self.count + 1 } else { self.count - 1 };
        }
    }

    /// Bytes pinned.
    fn bytes(&self) -> u64 {
        self.count * self.bucket
    }

    /// Ends the simulation if a DMA touches what is not pinned.
    pub(crate) fn check(&self, offset: u64, len: usize) {
        if len == 0 {
            return;
        }
        for b in offset / self.bucket..=(offset + len as u64 - 1) / self.bucket {
            let pinned = self.bits.get(b as usize / 64).is_some_and(|w| w & 1 << (b % 64) != 0);
            assert!(pinned, "a NIC touched bucket {b}, which is not pinned");
        }
    }
}

/// A message between strategies, with the bytes that go with it.
struct Envelope {
    message: Message,
    bytes: Vec<u8>,
}

/// How long puts took, from when their NIC began with them until they were in place: what the processor has to do after that,
/// such as unpinning, does not count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PutTimes {
    /// Puts that did not ask the peer.
    pub hits: u64,
    /// Their times' sum.
    pub hit_time: Time,
    /// Puts that did.
    pub misses: u64,
    /// Their times' sum.
    pub miss_time: Time,
}

/// What registration has done on a rank.
#[derive(Debug, Clone, Copy, Default)]
pub struct Registered {
    /// The strategy's counts.
    pub stats: Stats,
    /// What is pinned.
    pub usage: Usage,
    /// How long puts took.
    pub puts: PutTimes,
}

/// An operation of the core.
struct PinOp {
    token: u64,
    /// When its NIC began with it.
    begun: Time,
    /// Whether the peer was asked.
    asked: bool,
    put: bool,
    /// In this rank's memory.
    local: usize,
    remote: u64,
}

/// The software side of a pinning NIC.
pub(crate) struct Pinning {
    state: Mutex<State>,
    costs: PinCosts,
    inline: usize,
    page: u64,
    kind: Kind,
    budget: Budget,
    config: firehose::Config,
}

struct State {
    /// There once the segment is.
    strategy: Option<Box<dyn Strategy>>,
    ops: Slab<PinOp>,
    /// Transfers on the wire, by the number the world knows.
    transfers: Slab<firehose::OpId>,
    /// What is to be unpinned when the completions that came before have been told.
    later: VecDeque<Run>,
}

impl Pinning {
    pub(crate) fn new(job: &Cluster, rank: u32, kind: Kind, budget: Budget, costs: PinCosts) -> Pinning {
        let config = firehose::Config {
            nodes: job.ranks,
            me: rank,
            bucket_bytes: budget.bucket,
            m_bytes: budget.m,
            victim_bytes: budget.victim,
            adaptive: budget.adaptive,
            ..firehose::Config::default()
        };
        let state =
            State { strategy: None, ops: Slab::new(), transfers: Slab::new(), later: VecDeque::new() };
        let (inline, page) = (job.model.inline, job.model.page);
        Pinning { state: Mutex::new(state), costs, inline, page, kind, budget, config }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls the strategy, and does what it says.
    fn call(&self, at: &SimConduit, bytes: &[u8], f: impl FnOnce(&mut dyn Strategy, &mut Vec<Action>)) {
        let mut out = Vec::new();
        {
            let mut state = self.state();
            let Some(strategy) = &mut state.strategy else { return };
            f(&mut **strategy, &mut out);
        }
        if !out.is_empty() {
            self.carry_out(at, bytes, out);
        }
        self.note(at);
    }

    fn note(&self, at: &SimConduit) {
        let state = self.state();
        let Some(strategy) = &state.strategy else { return };
        let (stats, usage) = (strategy.stats(), strategy.usage());
        if let Some(bound) = usage.bound_bytes {
            let pinned = at.shared.world().ranks[at.rank as usize].pinned.as_ref().map_or(0, PinMap::bytes);
            assert!(pinned <= bound, "{pinned} bytes are pinned, the bound is {bound}");
        }
        let mut w = at.shared.world();
        let registered = &mut w.ranks[at.rank as usize].registration;
        (registered.stats, registered.usage) = (stats, usage);
    }

    pub(crate) fn attach(&self, at: &SimConduit, len: usize) {
        let config = firehose::Config { segment: Some((0, len as u64)), ..self.config.clone() };
        let strategy = self.kind.build(config);
        let strategy = strategy.unwrap_or_else(|e| panic!("registration strategy {}: {e}", self.kind.name()));
        self.state().strategy = Some(strategy);
        let map = PinMap::new(len as u64, self.budget.bucket);
        at.shared.world().ranks[at.rank as usize].pinned = Some(map);
        self.call(at, &[], |s, out| s.open(out));
    }

    pub(crate) fn start(&self, at: &SimConduit, start: Start<'_>) -> bool {
        self.unpin_later(at);
        let put = start.source.is_some();
        let small = put && start.len <= self.inline;
        let segment = at.shared.world().ranks[at.rank as usize].segment;
        let index = self.state().ops.insert(PinOp {
            token: start.token,
            begun: at.shared.world().now,
            asked: false,
            put,
            local: start.local,
            remote: start.offset,
        });
        let local = match segment.offset_of(start.local, start.len) {
            Some(offset) if !small => Local::At(offset),
            _ => Local::Registered(PRIVATE | u64::from(index) << 32),
        };
        if !small && matches!(local, Local::Registered(_)) {
            at.shared.work(at.rank, at.costs.copy.bytes(start.len));
        }
        if matches!(self.kind, Kind::Firehose | Kind::PinDownCache) {
            at.shared.work(at.rank, self.costs.lookup);
        }
        let request = Request {
            tag: u64::from(index),
            peer: start.peer,
            direction: if put { Direction::Put } else { Direction::Get },
            remote: start.offset,
            local,
            len: start.len as u64,
        };
        let mut asked = false;
        self.call(at, &[], |s, out| {
            let before = s.stats().requests;
            if let Err(e) = s.start(request, out) {
                panic!("a transfer of {} bytes cannot begin: {e}", start.len);
            }
            asked = s.stats().requests != before;
        });
        if asked && let Some(op) = self.state().ops.get_mut(index) {
            op.asked = true;
        }
        true
    }

    pub(crate) fn progress(&self, at: &SimConduit) -> usize {
        let mut done = self.unpin_later(at);
        let mut later = Vec::new();
        loop {
            let next = at.shared.world().ranks[at.rank as usize].transferred.pop_front();
            let Some(number) = next else { break };
            let Some(op) = self.state().transfers.remove(number as u32) else { continue };
            self.call(at, &[], |s, out| {
                s.transferred(op, Outcome::Done, out);
                let over = out.iter().position(|a| matches!(a, Action::Done { .. })).unwrap_or(out.len());
                let tail = out.split_off(over);
                let (unpins, rest): (Vec<_>, Vec<_>) =
                    tail.into_iter().partition(|a| matches!(a, Action::Unpin(_)));
                out.extend(rest);
                later.extend(
                    unpins
                        .into_iter()
                        .filter_map(|a| if let Action::Unpin(run) = a { Some(run) } else { None }),
                );
            });
            self.state().later.extend(later.drain(..));
            done += 1;
        }
        while done < BUDGET {
            let next = at.shared.world().ranks[at.rank as usize].control.pop_front();
            let Some((from, envelope)) = next else { break };
            let Ok(envelope) = envelope.downcast::<Envelope>() else { continue };
            let Envelope { message, bytes } = *envelope;
            let handling = match &message {
                Message::Move { acquire, .. } => {
                    let buckets: u64 = acquire.iter().map(|r| r.count).sum();
                    self.costs.move_request + self.costs.move_bucket * buckets.saturating_sub(1)
                }
                _ => Time::ZERO,
            };
            at.shared.work(at.rank, at.costs.am_handle + handling);
            self.call(at, &bytes, |s, out| s.receive(from, message, out));
            done += 1;
        }
        done
    }

    /// `bytes` came with the message being handled.
    fn carry_out(&self, at: &SimConduit, bytes: &[u8], actions: Vec<Action>) {
        let mut todo: VecDeque<Action> = actions.into();
        let mut more = Vec::new();
        while let Some(action) = todo.pop_front() {
            match action {
                Action::Send { to, message } => self.send(at, to, message, Vec::new()),
                Action::SendData { to, message, addr, len } => {
                    at.shared.work(at.rank, at.costs.copy.bytes(len as usize));
                    let bytes = self.read(at, addr, len as usize);
                    self.send(at, to, message, bytes);
                }
                Action::Deliver { addr, len, .. } => {
                    at.shared.work(at.rank, at.costs.copy.bytes(len as usize));
                    self.write(at, addr, &bytes[..len as usize]);
                }
                Action::Pin(run) => {
                    at.shared.work(at.rank, self.costs.pinning(self.pages(run)));
                    self.mark(at, run, true);
                    self.with(|s| s.pinned(run, Ok(()), &mut more));
                }
                Action::Unpin(run) => {
                    // From here on no DMA may touch it; the processor is busy until it is done.
                    self.mark(at, run, false);
                    at.shared.work(at.rank, self.costs.unpinning(self.pages(run)));
                    self.with(|s| s.unpinned(run, &mut more));
                }
                Action::Transfer(t) => self.transfer(at, &t),
                Action::Held { .. } => {}
                Action::Done { tag, .. } => {
                    let Some(op) = self.state().ops.remove(tag as u32) else { continue };
                    let mut w = at.shared.world();
                    let took = w.now.since(op.begun);
                    let puts = &mut w.ranks[at.rank as usize].registration.puts;
                    match (op.put, op.asked) {
                        (false, _) => {}
                        (_, true) => {
                            puts.misses += 1;
                            puts.miss_time += took;
                        }
                        _ => {
                            puts.hits += 1;
                            puts.hit_time += took;
                        }
                    }
                    let done = &mut w.ranks[at.rank as usize].done;
                    if op.put {
                        done.push_back((op.token, Completion::Local));
                    }
                    done.push_back((op.token, Completion::Remote));
                    w.ranks[at.rank as usize].news += 1;
                }
                Action::Failed { failure, .. } => panic!("{failure}"),
            }
            todo.extend(more.drain(..));
        }
    }

    /// Does the unpinning that was put off until completions were told; how much that was.
    fn unpin_later(&self, at: &SimConduit) -> usize {
        let mut done = 0;
        loop {
            let next = self.state().later.pop_front();
            let Some(run) = next else { return done };
            self.carry_out(at, &[], vec![Action::Unpin(run)]);
            done += 1;
        }
    }

    fn with(&self, f: impl FnOnce(&mut dyn Strategy)) {
        if let Some(strategy) = &mut self.state().strategy {
            f(&mut **strategy);
        }
    }

    fn pages(&self, run: Run) -> u64 {
        run.count * self.budget.bucket / self.page
    }

    fn mark(&self, at: &SimConduit, run: Run, pinned: bool) {
        if let Some(map) = &mut at.shared.world().ranks[at.rank as usize].pinned {
            map.set(run, pinned);
        }
    }

    fn send(&self, at: &SimConduit, to: u32, message: Message, bytes: Vec<u8>) {
        at.shared.work(at.rank, at.costs.am_send);
        let size = HEADER + message.wire_bytes() + bytes.len();
        at.shared.world().send(at.rank, to, size, Body::Control(Box::new(Envelope { message, bytes })));
    }

    fn transfer(&self, at: &SimConduit, t: &Transfer) {
        at.shared.work(at.rank, at.costs.post);
        let (number, local, put, remote) = {
            let mut state = self.state();
            let number = state.transfers.insert(t.op);
            let Some(op) = state.ops.get_mut(t.tag as u32) else { return };
            (number, op.local, op.put, op.remote)
        };
        let local = local + (t.remote - remote) as usize;
        let len = t.len as usize;
        let op = Op {
            from: at.rank,
            to: t.peer,
            dst: local,
            len,
            token: u64::from(number),
            owner: Owner::Strategy,
        };
        let mut w = at.shared.world();
        if t.local < PRIVATE
            && let Some(map) = &w.ranks[at.rank as usize].pinned
        {
            map.check(t.local, len);
        }
        if put { w.put(op, t.remote, Bytes::new(&memory::load(local, len))) } else { w.get(op, t.remote) }
    }

    /// Where private memory is.
    fn private(&self, addr: u64) -> Option<usize> {
        let index = (addr & !PRIVATE) >> 32;
        self.state().ops.get_mut(index as u32).map(|op| op.local + (addr as u32) as usize)
    }

    fn read(&self, at: &SimConduit, addr: u64, len: usize) -> Vec<u8> {
        if addr < PRIVATE {
            return at.shared.world().ranks[at.rank as usize].segment.read(addr, len);
        }
        self.private(addr).map_or(Vec::new(), |at| memory::load(at, len))
    }

    fn write(&self, at: &SimConduit, addr: u64, bytes: &[u8]) {
        if addr < PRIVATE {
            at.shared.world().ranks[at.rank as usize].segment.write(addr, bytes);
        } else if let Some(at) = self.private(addr) {
            memory::store(at, bytes);
        }
    }
}

/// Messages that one poll handles at most.
const BUDGET: usize = 16;

/// What the registration of the calling rank has done so far, inside a simulation.
pub fn registration() -> Option<Registered> {
    let (shared, rank) = crate::shared::current()?;
    Some(shared.world().ranks[rank as usize].registration)
}
