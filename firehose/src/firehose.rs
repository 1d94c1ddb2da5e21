//! Firehose: the firehoses of this node and its bucket table, put together.
//!
//! An operation is done in parts. A part has at most `F` buckets at the peer, and here at most as many as
//! local pins allow; most operations have one part. A part goes through these steps:
//! ```text
//!   begin     take all firehoses or none; without them it waits in the peer's line and holds nothing
//!   taken     a Move is sent for what is missing; local buckets are claimed meanwhile
//!   ready     all firehoses and local pins are there: Transfer
//!   over      references are given back; who waits in the peer's line tries again
//! ```
//! While operations wait in a peer's line, later ones to that peer queue behind them, hits as well, so that
//! none is overtaken for ever. A refused transfer gives everything back and begins again.
//!
//! **Partial hits.** A part that finds some of its firehoses asks for the others only, in one move. It starts
//! as one transfer when they have come. It does not start with those it has, because it would hold them while
//! the rest waits in line. A caller that prefers to split an operation there calls [`Firehose::ready`] first.

use std::collections::HashMap;

use slab::Slab;

use crate::action::Action;
use crate::buckets::{Buckets, Limits, Who};
use crate::config::{Config, ConfigError};
use crate::firehoses::{Firehoses, Taken};
use crate::message::{Granted, Message};
use crate::registrar::{Change, PinError};
use crate::request::StartError;
use crate::request::{Direction, Failure, LocalMemory, OpId, Outcome, Refusal, Request, Side};
use crate::run::Node;
use crate::run::{Held, Keys, Run};
use crate::strategy::{Stats, Strategy, StrategyKind, Usage, over_buckets};

#[derive(Debug)]
struct FirehoseOperation {
    request: Request,
    /// The operation only holds local memory, until the caller gives it back.
    hold: bool,
    /// Bytes transferred by earlier parts, and by this part.
    done: u64,
    part: u64,
    remote: Run,
    local: Run,
    remote_keys: Keys,
    local_keys: Keys,
    /// Firehoses that have not arrived.
    missing: u64,
    local_ready: bool,
    trouble: Option<Box<Trouble>>,
}

/// The failures of an operation that has not ended yet.
#[derive(Debug)]
struct Trouble {
    failure: Failure,
    /// Firehoses that the operation does not get.
    failed: Vec<u64>,
}

impl FirehoseOperation {
    fn fail(&mut self, failure: Failure) -> &mut Trouble {
        self.trouble.get_or_insert_with(|| Box::new(Trouble { failure, failed: Vec::new() }))
    }
}

const NO_RUN: Run = Run { first: 0, count: 0 };

/// One node's half of Firehose.
#[derive(Debug)]
pub struct Firehose {
    config: Config,
    buckets: Buckets,
    firehoses: Firehoses,
    ops: Slab<FirehoseOperation>,
    /// Moves under way: receiver and buckets.
    moves: HashMap<u64, (Node, Vec<Run>)>,
    last_move: u64,
    stats: Stats,
    child: bool,
}

impl Firehose {
    /// A node with nothing pinned.
    pub fn new(config: Config) -> Result<Firehose, ConfigError> {
        config.check()?;
        Ok(Firehose {
            buckets: Buckets::new(&config, Limits::firehose(&config)),
            firehoses: Firehoses::new(config.nodes, config.firehoses()),
            ops: Slab::default(),
            moves: HashMap::new(),
            last_move: 0,
            stats: Stats::default(),
            child: false,
            config,
        })
    }

    /// Pins local memory and keeps it pinned. [`Action::Held`] with `tag` follows when it is pinned.
    /// [`Strategy::transferred`] gives it back.
    pub fn hold(&mut self, addr: u64, len: u64, tag: u64, out: &mut Vec<Action>) -> Result<OpId, StartError> {
        let (request, run) = self.hold_request(addr, len, tag)?;
        let mut op = new_op(request, true);
        (op.part, op.local) = (op.request.len, run);
        let id = self.ops.insert(op) as u32;
        self.claim_local(id, run, out);
        self.pump(out);
        Ok(OpId(id))
    }

    /// [`hold`](Self::hold) that does not wait: `None`, and nothing is asked for, if others would have to
    /// give back first.
    pub fn hold_at_once(
        &mut self,
        addr: u64,
        len: u64,
        tag: u64,
        out: &mut Vec<Action>,
    ) -> Result<Option<OpId>, StartError> {
        let (_, run) = self.hold_request(addr, len, tag)?;
        if !self.buckets.has_room(run) {
            return Ok(None);
        }
        self.hold(addr, len, tag, out).map(Some)
    }

    /// Holds local memory if all of it is pinned and there is room; `None`, and nothing held, otherwise.
    pub fn try_hold(
        &mut self,
        addr: u64,
        len: u64,
        out: &mut Vec<Action>,
    ) -> Result<Option<(OpId, Keys)>, StartError> {
        let (request, run) = self.hold_request(addr, len, 0)?;
        let Some(keys) = self.buckets.hold(run) else { return Ok(None) };
        let mut op = new_op(request, true);
        (op.part, op.local, op.local_keys, op.local_ready) = (op.request.len, run, keys.clone(), true);
        self.pump(out);
        Ok(Some((OpId(self.ops.insert(op) as u32), keys)))
    }

    fn hold_request(&self, addr: u64, len: u64, tag: u64) -> Result<(Request, Run), StartError> {
        if self.child {
            return Err(StartError::Child);
        }
        let len = len.max(1);
        let run = self.config.run(addr, len).ok_or(StartError::Address { addr, len })?;
        let most = self.buckets.most(Side::Local);
        if run.count > most {
            return Err(StartError::TooMuch { wanted: run.count, most });
        }
        let (peer, direction, local) = (self.config.me, Direction::Put, LocalMemory::At(addr));
        Ok((Request { tag, peer, direction, remote: 0, local, len }, run))
    }

    /// How many of the bytes at `addr` of the peer, from the first on, could be transferred at once. For
    /// callers that split an operation at the first miss.
    pub fn ready(&self, peer: Node, addr: u64, len: u64) -> u64 {
        match self.config.run(addr, len) {
            Some(run) if peer < self.config.nodes => {
                let buckets = self.firehoses.ready(peer, run);
                if buckets == 0 {
                    return 0;
                }
                len.min((run.first + buckets) * self.config.bucket_bytes - addr)
            }
            _ => 0,
        }
    }

    /// Number of firehoses to the peer, at most `F`.
    pub fn firehoses(&self, peer: Node) -> u64 {
        self.firehoses.used(peer)
    }

    /// How many operations use the firehose to a bucket; `None` if there is none.
    pub fn firehose_count(&self, peer: Node, bucket: u64) -> Option<u32> {
        self.firehoses.count(peer, bucket)
    }

    /// References to a bucket of this node: those of its own operations, and firehoses of others. `None` if
    /// it is not pinned.
    pub fn bucket_count(&self, bucket: u64) -> Option<(u32, u32)> {
        self.buckets.counts(bucket)
    }

    /// Begins the next part, or puts the operation in line.
    fn begin(&mut self, id: u32, out: &mut Vec<Action>) {
        let Some(op) = self.ops.get_mut(id as usize) else { return };
        let peer = op.request.peer;
        set_part(&self.config, op, self.firehoses.most(), self.buckets.most(Side::Local));
        if !self.firehoses.line(peer).is_empty() || !self.take(id, out) {
            self.stats.waits += 1;
            self.firehoses.line(peer).push_back(id);
        }
    }

    /// Takes the firehoses of a part; false if that is not possible now.
    fn take(&mut self, id: u32, out: &mut Vec<Action>) -> bool {
        let Some(op) = self.ops.get_mut(id as usize) else { return true };
        let peer = op.request.peer;
        match self.firehoses.take(peer, op.remote, id) {
            Taken::Blocked => return false,
            Taken::Hit(keys) => {
                self.stats.hits += 1;
                op.missing = 0;
                op.remote_keys = keys;
            }
            Taken::Miss { release, acquire, missing } => {
                self.stats.misses += 1;
                self.stats.partial_hits += u64::from(missing < op.remote.count);
                op.missing = missing;
                if !acquire.is_empty() {
                    self.stats.requests += 1;
                    self.last_move += 1;
                    self.moves.insert(self.last_move, (peer, acquire.clone()));
                    let message = Message::Move { id: self.last_move, release, acquire };
                    out.push(Action::Send { to: peer, message });
                }
            }
        }
        match op.request.local {
            LocalMemory::Registered(_) => {
                op.local_ready = true;
                self.ready_to_go(id, out);
            }
            LocalMemory::At(_) => {
                let run = op.local;
                self.claim_local(id, run, out);
            }
        }
        true
    }

    fn claim_local(&mut self, id: u32, run: Run, out: &mut Vec<Action>) {
        match self.buckets.hold(run) {
            Some(keys) => {
                if let Some(op) = self.ops.get_mut(id as usize) {
                    (op.local_keys, op.local_ready) = (keys, true);
                }
                self.ready_to_go(id, out);
            }
            None => self.buckets.claim(Side::Local, vec![run], Who::Operation(id)),
        }
    }

    /// Starts the transfer if all firehoses and pins are there.
    #[inline]
    fn ready_to_go(&mut self, id: u32, out: &mut Vec<Action>) {
        let Some(op) = self.ops.get_mut(id as usize) else { return };
        if op.missing > 0 || !op.local_ready {
            return;
        }
        if let Some(trouble) = &op.trouble {
            let (tag, failure) = (op.request.tag, trouble.failure);
            self.failed(id, tag, failure, out);
            return;
        }
        if op.hold {
            out.push(Action::Held { op: OpId(id), tag: op.request.tag, keys: op.local_keys.clone() });
            return;
        }
        let keys = (&op.remote_keys, &op.local_keys);
        out.push(Action::Transfer(op.request.part(OpId(id), op.done, op.part, keys)));
    }

    #[cold]
    fn failed(&mut self, id: u32, tag: u64, failure: Failure, out: &mut Vec<Action>) {
        self.give_back(id);
        self.ops.try_remove(id as usize);
        out.push(Action::Failed { op: OpId(id), tag, failure });
    }

    /// Gives back the references of a part.
    #[inline]
    fn give_back(&mut self, id: u32) {
        let Some(op) = self.ops.get_mut(id as usize) else { return };
        for (i, bucket) in op.remote.buckets().enumerate() {
            self.firehoses.release(op.request.peer, bucket, op.remote_keys.of(i));
        }
        if matches!(op.request.local, LocalMemory::At(_)) {
            self.buckets.release_run(Side::Local, op.local, &op.local_keys);
        }
        op.local_ready = false;
    }

    /// Lets operations in line for a peer try again, in order.
    fn retry(&mut self, peer: Node, out: &mut Vec<Action>) {
        while let Some(&id) = self.firehoses.line(peer).front() {
            if !self.take(id, out) {
                return;
            }
            self.firehoses.line(peer).pop_front();
        }
    }

    /// Settles the buckets and handles grants until nothing is left to do.
    #[inline]
    fn pump(&mut self, out: &mut Vec<Action>) {
        self.buckets.settle(out);
        while let Some(grant) = self.buckets.grant() {
            match grant.who {
                Who::Operation(id) => self.local_granted(id, grant.granted, out),
                Who::Peer { node, id } => {
                    let message = Message::Moved { id, granted: grant.granted };
                    out.push(Action::Send { to: node, message });
                }
                Who::Segment => {}
            }
            self.buckets.settle(out);
        }
    }

    fn local_granted(&mut self, id: u32, granted: Granted, out: &mut Vec<Action>) {
        let Some(op) = self.ops.get_mut(id as usize) else { return };
        let peer = op.request.peer;
        op.local_keys = granted.keys;
        op.local_ready = true;
        if let Some(&(bucket, error)) = granted.failed.first() {
            op.fail(Failure { side: Side::Local, bucket, error });
        }
        self.ready_to_go(id, out);
        // If it failed, its firehoses are free.
        self.retry(peer, out);
    }

    fn serve(&mut self, from: Node, id: u64, release: &[Held], acquire: Vec<Run>, out: &mut Vec<Action>) {
        self.stats.served += 1;
        for held in release {
            for bucket in held.run.buckets().take(self.buckets.most(Side::Remote) as usize) {
                self.buckets.release(Side::Remote, bucket, held.key);
            }
        }
        match self.buckets.grant_ready(&acquire, from) {
            Some(keys) => {
                let granted = Granted { keys, failed: Vec::new() };
                out.push(Action::Send { to: from, message: Message::Moved { id, granted } });
            }
            None => self.buckets.claim(Side::Remote, acquire, Who::Peer { node: from, id }),
        }
    }

    fn answered(&mut self, from: Node, id: u64, granted: &Granted, out: &mut Vec<Action>) {
        let Some((peer, runs)) = self.moves.remove(&id) else { return };
        if peer != from {
            self.moves.insert(id, (peer, runs));
            return;
        }
        for (i, bucket) in runs.into_iter().flat_map(Run::buckets).enumerate() {
            let key = granted.keys.get(i).unwrap_or(0);
            let error = granted.failed.iter().find(|(b, _)| *b == bucket).map_or(PinError::Limit, |f| f.1);
            for op_id in self.firehoses.moved(from, bucket, key) {
                let Some(op) = self.ops.get_mut(op_id as usize) else { continue };
                op.missing -= 1;
                if key == 0 {
                    op.fail(Failure { side: Side::Remote, bucket, error }).failed.push(bucket);
                }
                if op.missing == 0 {
                    let failed = op.trouble.as_ref().map_or(&[][..], |trouble| &trouble.failed);
                    op.remote_keys = self.firehoses.keys(from, op.remote, failed);
                    self.ready_to_go(op_id, out);
                }
            }
        }
        self.retry(from, out);
    }
}

fn new_op(request: Request, hold: bool) -> FirehoseOperation {
    FirehoseOperation {
        request,
        hold,
        done: 0,
        part: 0,
        remote: NO_RUN,
        local: NO_RUN,
        remote_keys: Keys::Uniform(0),
        local_keys: Keys::Uniform(0),
        missing: 0,
        local_ready: false,
        trouble: None,
    }
}

/// Sets the next part: as much of the rest as may be held at once.
#[inline]
fn set_part(config: &Config, op: &mut FirehoseOperation, remote_most: u64, local_most: u64) {
    let remote = op.request.remote + op.done;
    let local = match op.request.local {
        LocalMemory::At(addr) => Some(addr + op.done),
        LocalMemory::Registered(_) => None,
    };
    op.part = op.request.len - op.done;
    op.remote = config.run(remote, op.part).unwrap_or(NO_RUN);
    op.local = local.and_then(|addr| config.run(addr, op.part)).unwrap_or(NO_RUN);
    if op.remote.count <= remote_most && op.local.count <= local_most {
        return;
    }
    op.part = op.part.min(config.reach(remote, remote_most));
    if let Some(addr) = local {
        op.part = op.part.min(config.reach(addr, local_most));
        op.local = config.run(addr, op.part).unwrap_or(NO_RUN);
    }
    op.remote = config.run(remote, op.part).unwrap_or(NO_RUN);
}

impl Strategy for Firehose {
    fn kind(&self) -> StrategyKind {
        StrategyKind::Firehose
    }

    fn open(&mut self, _: &mut Vec<Action>) {}

    #[inline]
    fn start(&mut self, request: Request, out: &mut Vec<Action>) -> Result<OpId, StartError> {
        let (remote, local) = self.config.accept(&request)?;
        if self.child {
            return Err(StartError::Child);
        }
        let peer = request.peer;
        let mut op = new_op(request, false);
        let small = remote.count == 1 && local.count <= self.buckets.most(Side::Local);
        if small
            && self.firehoses.line(peer).is_empty()
            && let Some(key) = self.firehoses.hit(peer, remote.first)
        {
            // The common case of `begin`, without its general path.
            self.stats.hits += 1;
            (op.part, op.remote, op.local, op.remote_keys) =
                (op.request.len, remote, local, Keys::Uniform(key));
            let registered = matches!(op.request.local, LocalMemory::Registered(_));
            op.local_ready = registered;
            let id = self.ops.insert(op) as u32;
            if registered {
                self.ready_to_go(id, out);
            } else {
                self.claim_local(id, local, out);
                self.pump(out);
            }
            return Ok(OpId(id));
        }
        let (len, tag) = (op.request.len, op.request.tag);
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

    #[inline]
    fn transferred(&mut self, op_id: OpId, outcome: Outcome, out: &mut Vec<Action>) {
        let id = op_id.0;
        let Some(op) = self.ops.get_mut(id as usize) else { return };
        let (peer, tag) = (op.request.peer, op.request.tag);
        let registered = matches!(op.request.local, LocalMemory::Registered(_));
        let mut over = false;
        match outcome {
            Outcome::Done => {
                op.done += op.part;
                over = op.done == op.request.len;
            }
            Outcome::Refused(refusal) => {
                self.stats.refused += 1;
                if refusal.side == Side::Remote {
                    self.firehoses.invalidate(peer, refusal.bucket, refusal.key);
                }
            }
        }
        self.give_back(id);
        if over {
            self.ops.try_remove(id as usize);
            out.push(Action::Done { op: op_id, tag });
            if registered && self.firehoses.line(peer).is_empty() {
                return;
            }
        } else {
            self.begin(id, out);
        }
        self.retry(peer, out);
        self.pump(out);
    }

    fn receive(&mut self, from: Node, message: Message, out: &mut Vec<Action>) {
        if self.child || from >= self.config.nodes || from == self.config.me {
            return;
        }
        match message {
            Message::Move { id, release, acquire } => self.serve(from, id, &release, acquire, out),
            Message::Moved { id, granted } => self.answered(from, id, &granted, out),
            Message::Invalidate { held } => {
                // No node has registered more than that at once.
                let most = self.buckets.most(Side::Local) + self.buckets.most(Side::Remote);
                for Held { run, key } in held {
                    for bucket in run.buckets().take(most as usize) {
                        self.firehoses.invalidate(from, bucket, key);
                    }
                }
                self.retry(from, out);
            }
            // Messages of other strategies.
            _ => {}
        }
        self.pump(out);
    }

    over_buckets!();

    fn changed(&mut self, change: Change, out: &mut Vec<Action>) {
        if change == Change::Child {
            self.buckets = Buckets::new(&self.config, Limits::firehose(&self.config));
            self.firehoses = Firehoses::new(self.config.nodes, self.config.firehoses());
            self.ops = Slab::default();
            self.moves.clear();
            self.child = true;
            return;
        }
        let voided = self.buckets.changed(change, out);
        for to in (0..self.config.nodes).filter(|node| *node != self.config.me) {
            let held: Vec<Held> = voided.iter().filter(|v| v.concerns(to)).map(|v| v.held).collect();
            if !held.is_empty() {
                out.push(Action::Send { to, message: Message::Invalidate { held } });
            }
        }
        self.pump(out);
    }

    fn audit(&self) {
        self.buckets.audit();
        self.firehoses.audit();
    }
}
