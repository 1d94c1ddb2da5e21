//! The strategies that ask the target before each transfer, and pin-everything, which asks only when a key is
//! out of date.
//!
//! ```text
//!   claim local buckets  ->  Ask{run}  ->  target pins  ->  Answer{keys}  ->  Transfer  ->  Finish{run}: target lets go
//! ```
//! They differ in what stays pinned afterwards: nothing, what fits (the least recently used goes first), or
//! everything. Strategies that never unpin send no `Finish`.
//!
//! **No deadlock.** Local budget is taken before remote budget: an operation that has room at the target
//! needs nothing else.

use std::collections::HashMap;

use slab::Slab;

use crate::action::Action;
use crate::buckets::{Buckets, Idle, Limits, Who};
use crate::config::{Config, ConfigError};
use crate::message::{Granted, Message, Purpose};
use crate::registrar::{Change, PinError};
use crate::request::StartError;
use crate::request::{Failure, LocalMemory, OpId, Outcome, Refusal, Request, Side};
use crate::run::Node;
use crate::run::{Held, Keys, Run};
use crate::strategy::{Stats, Strategy, StrategyKind, Usage, over_buckets};

/// Most buckets of one request. It is the bound when there is none on what is pinned.
const MAX_BUCKETS_PER_REQUEST: u64 = 1 << 24;
/// Most buckets of one run that a peer may report void; a refusal reports the others.
const MAX_BUCKETS_PER_INVALIDATION: usize = 1 << 16;
/// The key of all buckets that pin-everything pins at the start.
const FIRST_KEY: u64 = 1;

#[derive(Debug)]
struct RendezvousOperation {
    request: Request,
    done: u64,
    part: u64,
    remote: Run,
    local: Run,
    remote_keys: Keys,
    local_keys: Keys,
    /// The known keys were refused: ask for new ones.
    ask: bool,
}

/// One node's half of a rendezvous strategy.
#[derive(Debug)]
pub struct Rendezvous {
    kind: StrategyKind,
    config: Config,
    buckets: Buckets,
    ops: Slab<RendezvousOperation>,
    /// Operations whose `Ask` is under way.
    asked: HashMap<u64, u32>,
    last_ask: u64,
    /// Keys of peers' buckets that are not [`FIRST_KEY`]; 0 if void. For pin-everything.
    known: HashMap<(Node, u64), u64>,
    stats: Stats,
    child: bool,
}

impl Rendezvous {
    /// A node with nothing pinned. `kind` is one of the rendezvous strategies or pin-everything.
    pub fn new(kind: StrategyKind, config: Config) -> Result<Rendezvous, ConfigError> {
        config.check()?;
        if kind == StrategyKind::PinEverything && config.segment.is_none() {
            return Err(ConfigError::NoSegment);
        }
        Ok(Rendezvous {
            buckets: Buckets::new(&config, limits(kind, &config)),
            kind,
            config,
            ops: Slab::default(),
            asked: HashMap::new(),
            last_ask: 0,
            known: HashMap::new(),
            stats: Stats::default(),
            child: false,
        })
    }

    /// Whether the target unpins what it pinned.
    fn lets_go(&self) -> bool {
        matches!(self.kind, StrategyKind::RendezvousUnpin | StrategyKind::PinDownCache)
    }

    fn begin(&mut self, id: u32, out: &mut Vec<Action>) {
        let Some(op) = self.ops.get_mut(id as usize) else { return };
        let remote = op.request.remote + op.done;
        let mut len = op.request.len - op.done;
        len =
            len.min(self.config.reach(remote, self.buckets.most(Side::Remote).min(MAX_BUCKETS_PER_REQUEST)));
        if let LocalMemory::At(addr) = op.request.local {
            len = len.min(self.config.reach(addr + op.done, self.buckets.most(Side::Local)));
            op.local = self.config.run(addr + op.done, len).unwrap_or(op.local);
        }
        op.remote = self.config.run(remote, len).unwrap_or(op.remote);
        op.part = len;
        match op.request.local {
            LocalMemory::Registered(_) => self.locally_ready(id, out),
            LocalMemory::At(_) => match self.buckets.hold(op.local) {
                Some(keys) => {
                    op.local_keys = keys;
                    self.locally_ready(id, out);
                }
                None => self.buckets.claim(Side::Local, vec![op.local], Who::Operation(id)),
            },
        }
    }

    fn locally_ready(&mut self, id: u32, out: &mut Vec<Action>) {
        let Some(op) = self.ops.get_mut(id as usize) else { return };
        if self.kind == StrategyKind::PinEverything && !op.ask {
            let (peer, run) = (op.request.peer, op.remote);
            let known = &self.known;
            let key = |i| known.get(&(peer, run.first + i)).copied().unwrap_or(FIRST_KEY);
            let keys =
                if known.is_empty() { Keys::Uniform(FIRST_KEY) } else { Keys::collect(run.count, key) };
            if (0..run.count as usize).all(|i| keys.of(i) != 0) {
                self.stats.hits += 1;
                op.remote_keys = keys;
                self.transfer(id, out);
                return;
            }
        }
        self.stats.misses += 1;
        self.stats.requests += 1;
        self.last_ask += 1;
        self.asked.insert(self.last_ask, id);
        let purpose = if self.lets_go() { Purpose::Once } else { Purpose::Keep };
        let Some(op) = self.ops.get_mut(id as usize) else { return };
        let message = Message::Ask { id: self.last_ask, run: op.remote, purpose };
        out.push(Action::Send { to: op.request.peer, message });
    }

    fn transfer(&mut self, id: u32, out: &mut Vec<Action>) {
        let Some(op) = self.ops.get_mut(id as usize) else { return };
        let keys = (&op.remote_keys, &op.local_keys);
        out.push(Action::Transfer(op.request.part(OpId(id), op.done, op.part, keys)));
    }

    fn release_local(&mut self, id: u32) {
        if let Some(op) = self.ops.get_mut(id as usize)
            && matches!(op.request.local, LocalMemory::At(_))
        {
            self.buckets.release_run(Side::Local, op.local, &op.local_keys);
        }
    }

    fn fail(&mut self, id: u32, side: Side, failed: (u64, PinError), out: &mut Vec<Action>) {
        self.release_local(id);
        if let Some(op) = self.ops.try_remove(id as usize) {
            let failure = Failure { side, bucket: failed.0, error: failed.1 };
            out.push(Action::Failed { op: OpId(id), tag: op.request.tag, failure });
        }
    }

    fn pump(&mut self, out: &mut Vec<Action>) {
        self.buckets.settle(out);
        while let Some(grant) = self.buckets.grant() {
            let granted = grant.granted;
            match grant.who {
                Who::Operation(id) => {
                    let Some(op) = self.ops.get_mut(id as usize) else { continue };
                    op.local_keys = granted.keys;
                    match granted.failed.first() {
                        Some(failed) => self.fail(id, Side::Local, *failed, out),
                        None => self.locally_ready(id, out),
                    }
                }
                Who::Peer { node, id } => {
                    // Buckets that were pinned for a request that fails as a whole are given back, and so are
                    // buckets that stay pinned without references.
                    if !self.lets_go() || !granted.failed.is_empty() {
                        for (i, bucket) in grant.runs.iter().flat_map(|run| run.buckets()).enumerate() {
                            self.buckets.release(Side::Remote, bucket, granted.keys.of(i));
                        }
                    }
                    out.push(Action::Send { to: node, message: Message::Answer { id, granted } });
                }
                Who::Segment => {}
            }
            self.buckets.settle(out);
        }
    }

    fn answered(&mut self, from: Node, id: u64, granted: Granted, out: &mut Vec<Action>) {
        let Some(&op_id) = self.asked.get(&id) else { return };
        let Some(op) = self.ops.get_mut(op_id as usize).filter(|op| op.request.peer == from) else { return };
        self.asked.remove(&id);
        if let Some(failed) = granted.failed.first() {
            self.fail(op_id, Side::Remote, *failed, out);
            return;
        }
        if !granted.keys.cover(op.remote.count) {
            // The peer runs another strategy: handled as a refusal.
            let failed = (op.remote.first, PinError::Limit);
            self.fail(op_id, Side::Remote, failed, out);
            return;
        }
        if self.kind == StrategyKind::PinEverything {
            for (i, bucket) in op.remote.buckets().enumerate() {
                self.known.insert((from, bucket), granted.keys.of(i));
            }
        }
        op.remote_keys = granted.keys;
        op.ask = false;
        self.transfer(op_id, out);
    }
}

fn limits(kind: StrategyKind, config: &Config) -> Limits {
    if matches!(kind, StrategyKind::RendezvousNoUnpin | StrategyKind::PinEverything) {
        return Limits { total: None, local: u64::MAX, remote: u64::MAX, idle: Idle::WhileRoom };
    }
    let (local, remote) = (config.victim_bytes / config.bucket_bytes, config.m_bytes / config.bucket_bytes);
    let idle = if kind == StrategyKind::PinDownCache { Idle::WhileRoom } else { Idle::Never };
    Limits { total: Some(local + remote), local, remote, idle }
}

impl Strategy for Rendezvous {
    fn kind(&self) -> StrategyKind {
        self.kind
    }

    fn open(&mut self, out: &mut Vec<Action>) {
        if self.kind != StrategyKind::PinEverything {
            return;
        }
        if let Some(run) = self.config.segment.and_then(|(addr, len)| self.config.run(addr, len))
            && run.count > 0
        {
            self.buckets.claim(Side::Local, vec![run], Who::Segment);
        }
        self.pump(out);
    }

    fn start(&mut self, request: Request, out: &mut Vec<Action>) -> Result<OpId, StartError> {
        self.config.accept(&request)?;
        if self.child {
            return Err(StartError::Child);
        }
        let (len, tag) = (request.len, request.tag);
        let none = Run { first: 0, count: 0 };
        let op = RendezvousOperation {
            request,
            done: 0,
            part: 0,
            remote: none,
            local: none,
            remote_keys: Keys::Uniform(0),
            local_keys: Keys::Uniform(0),
            ask: false,
        };
        let id = self.ops.insert(op) as u32;
        if len == 0 {
            self.ops.try_remove(id as usize);
            out.push(Action::Done { op: OpId(id), tag });
        } else {
            self.begin(id, out);
            self.pump(out);
        }
        Ok(OpId(id))
    }

    fn transferred(&mut self, op_id: OpId, outcome: Outcome, out: &mut Vec<Action>) {
        let id = op_id.0;
        let lets_go = self.lets_go();
        let Some(op) = self.ops.get_mut(id as usize) else { return };
        let mut over = false;
        match outcome {
            Outcome::Done => {
                op.done += op.part;
                over = op.done == op.request.len;
            }
            Outcome::Refused(refusal) => {
                self.stats.refused += 1;
                op.ask |= refusal.side == Side::Remote;
            }
        }
        if lets_go {
            let message = Message::Finish { run: op.remote, keys: op.remote_keys.clone() };
            out.push(Action::Send { to: op.request.peer, message });
        }
        self.release_local(id);
        if over {
            if let Some(op) = self.ops.try_remove(id as usize) {
                out.push(Action::Done { op: op_id, tag: op.request.tag });
            }
        } else {
            self.begin(id, out);
        }
        self.pump(out);
    }

    fn receive(&mut self, from: Node, message: Message, out: &mut Vec<Action>) {
        if self.child || from >= self.config.nodes || from == self.config.me {
            return;
        }
        match message {
            Message::Ask { id, run, .. } => {
                self.stats.served += 1;
                if run.count <= MAX_BUCKETS_PER_REQUEST {
                    self.buckets.claim(Side::Remote, vec![run], Who::Peer { node: from, id });
                } else {
                    let granted =
                        Granted { keys: Keys::Uniform(0), failed: vec![(run.first, PinError::Limit)] };
                    out.push(Action::Send { to: from, message: Message::Answer { id, granted } });
                }
            }
            Message::Answer { id, granted } => self.answered(from, id, granted, out),
            Message::Finish { run, keys }
                if self.lets_go() && run.count <= self.buckets.most(Side::Remote) =>
            {
                self.buckets.release_run(Side::Remote, run, &keys);
            }
            Message::Invalidate { held } if self.kind == StrategyKind::PinEverything => {
                for Held { run, key } in held {
                    for bucket in run.buckets().take(MAX_BUCKETS_PER_INVALIDATION) {
                        let known = self.known.entry((from, bucket)).or_insert(FIRST_KEY);
                        if *known == key {
                            *known = 0;
                        }
                    }
                }
            }
            // Messages of other strategies.
            _ => {}
        }
        self.pump(out);
    }

    over_buckets!();

    fn changed(&mut self, change: Change, out: &mut Vec<Action>) {
        if change == Change::Child {
            self.buckets = Buckets::new(&self.config, limits(self.kind, &self.config));
            self.ops = Slab::default();
            self.asked.clear();
            self.child = true;
            return;
        }
        let voided = self.buckets.changed(change, out);
        if self.kind == StrategyKind::PinEverything && !voided.is_empty() {
            let held: Vec<Held> = voided.iter().map(|v| v.held).collect();
            for to in (0..self.config.nodes).filter(|node| *node != self.config.me) {
                out.push(Action::Send { to, message: Message::Invalidate { held: held.clone() } });
            }
        }
        self.pump(out);
    }

    fn audit(&self) {
        self.buckets.audit();
    }
}
