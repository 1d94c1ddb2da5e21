//! The NIC that reaches pinned memory only, and the host software that pins for it.
//!
//! A [`firehose::Strategy`] decides what is pinned, when and for whom. This module carries its decisions out
//! and charges for them: a pin takes time of the processor of the rank that pins, a message time of both, a
//! transfer of neither. A message between strategies is handled when its target polls: a rank that computes
//! lets its peers wait.
//!
//! **Addresses** that strategies see are offsets into the owner's segment, so that a run does not depend on
//! the addresses of the host's mappings. Memory outside of the segment is registered permanently (bounce
//! buffers of the core). Its addresses have the bit [`PRIVATE_ADDRESS_BIT`] and name the operation they
//! belong to.
//!
//! **Stale registrations.** Each transfer carries the keys of its registrations. The NIC at either end
//! compares them with the present ones ([`Strategy::check`]) when it touches the memory. A refused transfer
//! comes back and begins again under another key. A program changes a mapping by [`remap`].
//!
//! **Oracle.** The world keeps its own map of what is pinned ([`PinMap`]), and of what was mapped anew since.
//! Every DMA is checked against it, and so is the bound on pinned memory: a wrong strategy ends the
//! simulation.
//!
//! **Leases.** In `firehose-over-locks` the same strategy decides. A pin is a lease of each page, taken by a
//! command to the own NetVM NIC; see [`leases`](crate::leases).

use crate::cost::{CostModel, PinCosts};
use crate::event::{Body, Bytes, Claims, HEADER_BYTES, OneSidedOp, Owner, Start};
use crate::leases::Leases;
use crate::memory;
use crate::shared::{Caller, current};
use crate::time::Time;
use firehose::{
    Action, Direction, LocalMemory, Message, Request, Run, Stats, Strategy, StrategyKind, Transfer, Usage,
};
use gasnet_netvm::Budget;
use gasnet_wire::conduit::Completion;
use slab::Slab;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How memory is made accessible to the NICs of a job.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Registration {
    /// NICs reach all memory: no registration.
    None,
    /// NICs reach pinned memory, and this strategy pins.
    Pinned(StrategyKind, Budget),
    /// The NIC's firmware locks each page for each DMA (NetVM). At most `frames` pages are resident at a
    /// time; 0: all.
    ShadowLock {
        /// Number of frames.
        frames: u32,
    },
    /// Firehose with leases as pins: long-held locks in the NIC's table. `frames` is as in `ShadowLock`; when
    /// pages wait for a frame, leases are taken back.
    FirehoseOverLocks {
        /// Bound on leased memory.
        budget: Budget,
        /// Number of frames.
        frames: u32,
    },
    /// As in the live conduit: a strategy over NICs that lock pages. For a pin the host brings the page and
    /// holds it, and the NIC leases it; transfers use the leases.
    Held {
        /// The strategy.
        kind: StrategyKind,
        /// Bound on held memory.
        budget: Budget,
        /// Number of frames; 0: all.
        frames: u32,
        /// Whether holding a page takes as long as pinning it.
        pins: bool,
    },
}

/// Marks an address outside of the segment. The operation's number begins at bit 32, and the rest is the
/// offset in its buffer.
const PRIVATE_ADDRESS_BIT: u64 = 1 << 48;

/// The pinned buckets.
#[derive(Debug)]
pub(crate) struct PinMap {
    bits: Vec<u64>,
    /// The pinned buckets that have been mapped anew since.
    old: Vec<u64>,
    bucket: u64,
    count: u64,
}

impl PinMap {
    fn new(bytes: u64, bucket: u64) -> PinMap {
        let buckets = bytes.div_ceil(bucket) as usize;
        let words = buckets.div_ceil(64);
        PinMap { bits: vec![0; words], old: vec![0; words], bucket, count: 0 }
    }

    fn set(&mut self, run: Run, pinned: bool) {
        for b in run.buckets() {
            let (word, bit) = (&mut self.bits[b as usize / 64], 1u64 << (b % 64));
            assert!((*word & bit != 0) != pinned, "bucket {b} is pinned or unpinned twice");
            *word ^= bit;
            self.old[b as usize / 64] &= !bit;
            self.count = if pinned { self.count + 1 } else { self.count - 1 };
        }
    }

    /// Bytes pinned.
    fn bytes(&self) -> u64 {
        self.count * self.bucket
    }

    /// The range has been mapped anew since it was pinned.
    pub(crate) fn outdate(&mut self, offset: u64, len: u64) {
        for b in offset / self.bucket..(offset + len).div_ceil(self.bucket) {
            if let (Some(old), Some(bits)) =
                (self.old.get_mut(b as usize / 64), self.bits.get(b as usize / 64))
            {
                *old |= bits & 1 << (b % 64);
            }
        }
    }

    /// Ends the simulation if a DMA touches memory that is not pinned, or was pinned under an old mapping.
    pub(crate) fn check(&self, offset: u64, len: usize) {
        if len == 0 {
            return;
        }
        for b in offset / self.bucket..=(offset + len as u64 - 1) / self.bucket {
            let has = |words: &[u64]| words.get(b as usize / 64).is_some_and(|w| w & 1 << (b % 64) != 0);
            assert!(has(&self.bits), "a NIC touched bucket {b}, which is not pinned");
            assert!(!has(&self.old), "a NIC touched bucket {b} through an old registration");
        }
    }
}

/// A message between strategies, with its bytes: bounced data, or leases.
struct Envelope {
    message: Message,
    bytes: Vec<u8>,
}

/// Durations of puts, from when their NIC began with them until they were in place. Later work of the
/// processor, such as unpinning, does not count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PutTimes {
    /// Number of puts that did not ask the peer.
    pub hits: u64,
    /// Sum of their durations.
    pub hit_time: Time,
    /// Number of puts that asked the peer.
    pub misses: u64,
    /// Sum of their durations.
    pub miss_time: Time,
}

/// The work of registration on a rank.
#[derive(Debug, Clone, Copy, Default)]
pub struct Registered {
    /// The strategy's counters.
    pub stats: Stats,
    /// Amounts of pinned memory.
    pub usage: Usage,
    /// Durations of puts.
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
    /// Address in this rank's memory.
    local: usize,
    remote: u64,
}

impl PinOp {
    /// The address of a part in this rank's memory.
    fn place(&self, t: &Transfer) -> usize {
        self.local + (t.remote - self.remote) as usize
    }
}

/// The software side of a pinning NIC.
pub(crate) struct Pinning {
    state: Mutex<PinningState>,
    /// The NIC that locks pages, if pins are leases.
    leases: Option<Leases>,
    /// Whether the host also pins leased pages.
    pins: bool,
    costs: PinCosts,
    inline: usize,
    page: u64,
    kind: StrategyKind,
    budget: Budget,
    config: firehose::Config,
}

struct PinningState {
    ops: Slab<PinOp>,
    /// Transfers on the wire, by the world's number.
    transfers: Slab<firehose::OpId>,
    /// Transfers that found no room in the NIC's queue.
    crowded: VecDeque<Transfer>,
    /// Runs to be unpinned when earlier completions have been reported.
    later: VecDeque<Run>,
}

impl Pinning {
    pub(crate) fn new(
        model: &CostModel,
        (ranks, rank): (u32, u32),
        kind: StrategyKind,
        budget: Budget,
        leases: Option<Leases>,
        pins: bool,
    ) -> Pinning {
        let config = firehose::Config {
            nodes: ranks,
            me: rank,
            bucket_bytes: budget.bucket,
            m_bytes: budget.m,
            victim_bytes: budget.victim,
            adaptive: budget.adaptive,
            ..firehose::Config::default()
        };
        let state = PinningState {
            ops: Slab::new(),
            transfers: Slab::new(),
            crowded: VecDeque::new(),
            later: VecDeque::new(),
        };
        let (costs, inline, page) = (model.pin, model.inline, model.page);
        Pinning { state: Mutex::new(state), leases, pins, costs, inline, page, kind, budget, config }
    }

    /// Whether pins are leases.
    pub(crate) fn leases(&self) -> bool {
        self.leases.is_some()
    }

    fn state(&self) -> MutexGuard<'_, PinningState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls the strategy, and performs its actions.
    fn call(&self, at: &Caller, bytes: &[u8], f: impl FnOnce(&mut dyn Strategy, &mut Vec<Action>)) {
        let mut out = Vec::new();
        {
            let mut w = at.shared.world();
            let Some(strategy) = &mut w.ranks[at.rank as usize].strategy else { return };
            f(&mut **strategy, &mut out);
        }
        if !out.is_empty() {
            self.carry_out(at, bytes, out);
        }
        self.note(at);
    }

    fn note(&self, at: &Caller) {
        let mut w = at.shared.world();
        let r = &mut w.ranks[at.rank as usize];
        let Some(strategy) = &r.strategy else { return };
        let (stats, usage) = (strategy.stats(), strategy.usage());
        if let Some(bound) = usage.bound_bytes {
            let pinned = r.pinned.as_ref().map_or(0, PinMap::bytes);
            assert!(pinned <= bound, "{pinned} bytes are pinned, the bound is {bound}");
        }
        (r.registration.stats, r.registration.usage) = (stats, usage);
    }

    pub(crate) fn attach(&self, at: &Caller, len: usize) {
        let config = firehose::Config { segment: Some((0, len as u64)), ..self.config.clone() };
        let strategy = self.kind.build(config);
        let strategy = strategy.unwrap_or_else(|e| panic!("registration strategy {}: {e}", self.kind.name()));
        let map = PinMap::new(len as u64, self.budget.bucket);
        {
            let mut w = at.shared.world();
            let r = &mut w.ranks[at.rank as usize];
            (r.strategy, r.pinned) = (Some(strategy), Some(map));
        }
        if let Some(leases) = &self.leases {
            leases.paging.attach(at, len);
            if self.pins {
                let pages = self.budget.bucket.div_ceil(self.page);
                let pins = [self.costs.pinning(pages), self.costs.unpinning(pages)];
                at.with_card(|card, _| card.pins = pins);
            }
        }
        self.call(at, &[], |s, out| s.open(out));
    }

    pub(crate) fn start(&self, at: &Caller, start: Start<'_>) -> bool {
        self.catch_up(at);
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
            // A NIC that locks pages locks its own memory too, without a round trip.
            Some(offset) if !small && !self.leases() => LocalMemory::At(offset),
            _ => LocalMemory::Registered(PRIVATE_ADDRESS_BIT | (index as u64) << 32),
        };
        if !small && !self.leases() && matches!(local, LocalMemory::Registered(_)) {
            at.shared.work(at.rank, at.costs.copy.bytes(start.len));
        }
        if matches!(self.kind, StrategyKind::Firehose | StrategyKind::PinDownCache) || self.leases() {
            at.shared.work(at.rank, self.costs.lookup);
        }
        let request = Request {
            tag: index as u64,
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

    pub(crate) fn progress(&self, at: &Caller) -> usize {
        let mut done = self.catch_up(at);
        let mut later = Vec::new();
        loop {
            let next = at.shared.world().ranks[at.rank as usize].transferred.pop_front();
            let Some((number, outcome)) = next else { break };
            let Some(op) = self.state().transfers.try_remove(number as usize) else { continue };
            self.call(at, &[], |s, out| {
                s.transferred(op, outcome, out);
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
        while done < MAX_MESSAGES_PER_POLL {
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
            if let Some(leases) = &self.leases {
                leases.received(from, &message, &bytes);
            }
            self.call(at, &bytes, |s, out| s.receive(from, message, out));
            done += 1;
        }
        done
    }

    /// `bytes` came with the message that is being handled.
    fn carry_out(&self, at: &Caller, bytes: &[u8], actions: Vec<Action>) {
        let mut todo: VecDeque<Action> = actions.into();
        let mut more = Vec::new();
        while let Some(action) = todo.pop_front() {
            match action {
                Action::Send { to, message } => {
                    let leases = self.leases.as_ref().map(|leases| leases.sending(to, &message));
                    self.send(at, to, message, leases.unwrap_or_default());
                }
                Action::SendData { to, message, addr, len } => {
                    self.touch(at, addr, len);
                    at.shared.work(at.rank, at.costs.copy.bytes(len as usize));
                    let bytes = self.read(at, addr, len as usize);
                    self.send(at, to, message, bytes);
                }
                Action::Deliver { addr, len, .. } => {
                    self.touch(at, addr, len);
                    at.shared.work(at.rank, at.costs.copy.bytes(len as usize));
                    self.write(at, addr, &bytes[..len as usize]);
                }
                Action::Pin(run) | Action::Unpin(run) if self.leases() => {
                    let pin = matches!(action, Action::Pin(_));
                    if pin {
                        self.mark(at, run, true);
                    }
                    if let Some(leases) = &self.leases {
                        leases.ask(run, pin);
                        leases.post(at);
                    }
                }
                Action::Pin(run) => {
                    at.shared.work(at.rank, self.costs.pinning(self.pages(run)));
                    self.mark(at, run, true);
                    self.with(at, |s| s.pinned(run, Ok(()), &mut more));
                }
                Action::Unpin(run) => {
                    // From here on no DMA may touch it; the processor is busy until it is unpinned.
                    self.mark(at, run, false);
                    at.shared.work(at.rank, self.costs.unpinning(self.pages(run)));
                    self.with(at, |s| s.unpinned(run, &mut more));
                }
                Action::Transfer(t) => self.transfer(at, &t),
                Action::Held { .. } => {}
                Action::Done { tag, .. } => {
                    let Some(op) = self.state().ops.try_remove(tag as usize) else { continue };
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

    /// Performs the actions after changed mappings, and the unpins that waited for completions; returns how
    /// many.
    fn catch_up(&self, at: &Caller) -> usize {
        let wishes = std::mem::take(&mut at.shared.world().ranks[at.rank as usize].wishes);
        let mut done = wishes.len();
        if done > 0 {
            self.carry_out(at, &[], wishes);
            self.note(at);
        }
        if let Some(leases) = &self.leases {
            done += leases.paging.progress(at);
            leases.post(at);
            while let Some((run, pin, result)) = leases.settled() {
                if !pin {
                    self.mark(at, run, false);
                }
                self.call(
                    at,
                    &[],
                    |s, out| if pin { s.pinned(run, result, out) } else { s.unpinned(run, out) },
                );
                done += 1;
            }
            let crowded = std::mem::take(&mut self.state().crowded);
            crowded.iter().for_each(|t| self.transfer(at, t));
        }
        loop {
            let next = self.state().later.pop_front();
            let Some(run) = next else { return done };
            self.carry_out(at, &[], vec![Action::Unpin(run)]);
            done += 1;
        }
    }

    fn with(&self, at: &Caller, f: impl FnOnce(&mut dyn Strategy)) {
        if let Some(strategy) = &mut at.shared.world().ranks[at.rank as usize].strategy {
            f(&mut **strategy);
        }
    }

    fn pages(&self, run: Run) -> u64 {
        run.count * self.budget.bucket / self.page
    }

    fn mark(&self, at: &Caller, run: Run, pinned: bool) {
        if let Some(map) = &mut at.shared.world().ranks[at.rank as usize].pinned {
            map.set(run, pinned);
        }
    }

    fn send(&self, at: &Caller, to: u32, message: Message, bytes: Vec<u8>) {
        at.shared.work(at.rank, at.costs.am_send);
        let size = HEADER_BYTES + message.wire_bytes() + bytes.len();
        at.shared.world().send(at.rank, to, size, Body::Control(Box::new(Envelope { message, bytes })));
    }

    fn transfer(&self, at: &Caller, t: &Transfer) {
        let (number, local, put) = {
            let mut state = self.state();
            let number = state.transfers.insert(t.op);
            let Some(op) = state.ops.get_mut(t.tag as usize) else { return };
            (number, op.place(t), op.put)
        };
        let (len, token) = (t.len as usize, number as u64);
        if let Some(leases) = &self.leases {
            let bytes = if put { memory::load(local, len) } else { Vec::new() };
            let start =
                Start { peer: t.peer, offset: t.remote, local, source: put.then_some(&bytes), len, token };
            if !leases.start(at, start) {
                let mut state = self.state();
                state.transfers.remove(number);
                state.crowded.push_back(t.clone());
            }
            return;
        }
        at.shared.work(at.rank, at.costs.post);
        let owner = Owner::Strategy;
        let claims =
            Claims { remote: t.remote_keys.clone(), local: t.local_keys.clone().map(|keys| (t.local, keys)) };
        let op = OneSidedOp {
            number: 0,
            epoch: 0,
            from: at.rank,
            to: t.peer,
            local,
            offset: t.remote,
            len,
            token,
            owner,
            claims: Some(Box::new(claims)),
        };
        let mut w = at.shared.world();
        if put { w.put(op, t.remote, Bytes::new(&memory::load(local, len))) } else { w.get(op, t.remote) }
    }

    /// A program's access to its segment waits for pages that are not resident.
    fn touch(&self, at: &Caller, addr: u64, len: u64) {
        if !self.leases() || addr >= PRIVATE_ADDRESS_BIT || len == 0 {
            return;
        }
        for page in addr / self.page..=(addr + len - 1) / self.page {
            if at.with_card(|card, _| card.uses(page)) {
                continue;
            }
            at.with_card(|card, w| card.touch(w, page));
            while !at.with_card(|card, _| {
                let found = card.here.iter().position(|here| *here == page);
                found.map(|i| card.here.swap_remove(i)).is_some()
            }) {
                at.shared.wait(at.rank, "a page", false);
            }
        }
    }

    /// The address of private memory.
    fn private(&self, addr: u64) -> Option<usize> {
        let index = (addr & !PRIVATE_ADDRESS_BIT) >> 32;
        self.state().ops.get_mut(index as usize).map(|op| op.local + (addr as u32) as usize)
    }

    fn read(&self, at: &Caller, addr: u64, len: usize) -> Vec<u8> {
        if addr < PRIVATE_ADDRESS_BIT {
            return at.shared.world().ranks[at.rank as usize].segment.read(addr, len);
        }
        self.private(addr).map_or(Vec::new(), |at| memory::load(at, len))
    }

    fn write(&self, at: &Caller, addr: u64, bytes: &[u8]) {
        if addr < PRIVATE_ADDRESS_BIT {
            at.shared.world().ranks[at.rank as usize].segment.write(addr, bytes);
        } else if let Some(at) = self.private(addr) {
            memory::store(at, bytes);
        }
    }
}

/// Most messages that one poll handles.
const MAX_MESSAGES_PER_POLL: usize = 16;

/// Maps whole pages of the calling rank's segment anew, as `munmap` and `mmap` do: they are zeros, and
/// registrations of the old pages end. Does nothing outside of a simulation.
///
/// # Panics
/// The range does not consist of whole pages of the segment.
pub fn remap(offset: u64, len: u64) {
    let Some((shared, rank)) = current() else { return };
    assert!((offset | len).is_multiple_of(4096), "{len} bytes at {offset:#x} are not whole pages");
    shared.world().remap(rank, offset, len);
}

/// The registration counters of the calling rank, inside a simulation.
pub fn registration() -> Option<Registered> {
    let (shared, rank) = current()?;
    Some(shared.world().ranks[rank as usize].registration)
}
