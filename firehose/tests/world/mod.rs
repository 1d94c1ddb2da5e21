//! Nodes in one process: memory whose mappings change, cards that remember the frames they were given,
//! messages and registrar calls that take as long as the random numbers say.
//!
//! The cards are the judges. A card keeps, for each bucket, the frame it was given when the bucket was
//! pinned; a transfer that passes `Strategy::check` and meets a frame that is not the mapped one is a stale
//! access, and one that meets no frame is a violation. Both panic, with the seed.

#![expect(
    dead_code,
    reason = "each test program includes this file and uses a part of it, never the same one"
)]

use std::collections::{BTreeMap, VecDeque};

use firehose::*;

/// Bytes of a bucket here.
pub const PAGE: u64 = 4096;

/// Actions in progress.
#[derive(Debug)]
enum Event {
    Message { from: Node, to: Node, message: Message, payload: u64 },
    Pin { node: Node, run: Run, frames: Vec<Option<u64>> },
    Unpin { node: Node, run: Run },
    Transfer { node: Node, transfer: Transfer },
    Release { node: Node, op: OpId },
}

/// How an operation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Done,
    Failed(Failure),
}

/// Events, for tests that look at their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    Sent { from: Node, to: Node, message: Message },
    Pin { node: Node, run: Run },
    Unpin { node: Node, run: Run },
    Transfer { node: Node, peer: Node, len: u64 },
    Copy { node: Node, len: u64 },
    Held { node: Node, tag: u64 },
}

pub struct Host {
    pub strategy: Box<dyn Strategy>,
    /// The frame mapped at each bucket, and how often that changed.
    pub mapped: BTreeMap<u64, u64>,
    changes: BTreeMap<u64, u64>,
    forks: u64,
    /// The card's: frames of pinned buckets. `None` while the bucket is being pinned or unpinned.
    pub card: BTreeMap<u64, Option<u64>>,
    /// Transfers under way by bucket that must not be unpinned: (bucket, changes) -> how many.
    users: BTreeMap<(u64, u64), u64>,
}

pub struct World {
    pub hosts: Vec<Host>,
    pub config: Config,
    pub seed: u64,
    pub random: fastrand::Rng,
    events: VecDeque<Event>,
    frames: u64,
    pub ends: BTreeMap<(Node, u64), End>,
    pub notes: Vec<Note>,
    pub keep_notes: bool,
    /// Registrar calls end at once.
    pub prompt: bool,
    /// The strategies' counters are compared with their tables at every step.
    pub audit: bool,
    /// How many buckets the system lets each node pin.
    pub limit: u64,
    /// Held memory is not given back by itself.
    pub keep_held: bool,
    pub held: BTreeMap<(Node, u64), OpId>,
    pub transfers: u64,
    pub refusals: u64,
    out: Vec<Action>,
}

impl World {
    pub fn new(kind: StrategyKind, config: Config, seed: u64) -> World {
        World::with(config, seed, |config| kind.build(config).expect("a good configuration"))
    }

    pub fn with(config: Config, seed: u64, mut build: impl FnMut(Config) -> Box<dyn Strategy>) -> World {
        let hosts = (0..config.nodes)
            .map(|me| Host {
                strategy: build(Config { me, ..config.clone() }),
                mapped: BTreeMap::new(),
                changes: BTreeMap::new(),
                forks: 0,
                card: BTreeMap::new(),
                users: BTreeMap::new(),
            })
            .collect();
        World {
            hosts,
            config,
            seed,
            random: fastrand::Rng::with_seed(seed),
            events: VecDeque::new(),
            frames: 0,
            ends: BTreeMap::new(),
            notes: Vec::new(),
            keep_notes: false,
            prompt: false,
            audit: true,
            limit: u64::MAX,
            keep_held: false,
            held: BTreeMap::new(),
            transfers: 0,
            refusals: 0,
            out: Vec::new(),
        }
    }

    /// Maps fresh frames without telling anybody: there was nothing before.
    pub fn map(&mut self, node: Node, run: Run) {
        for bucket in run.buckets() {
            self.frames += 1;
            let old = self.hosts[node as usize].mapped.insert(bucket, self.frames);
            assert!(old.is_none(), "mapped twice");
        }
    }

    /// Takes mappings away, or gives them other frames; tells the node's strategy.
    pub fn change(&mut self, node: Node, run: Run, remap: bool) {
        let host = &mut self.hosts[node as usize];
        for bucket in run.buckets() {
            *host.changes.entry(bucket).or_default() += 1;
            if remap {
                self.frames += 1;
                host.mapped.insert(bucket, self.frames);
            } else {
                host.mapped.remove(&bucket);
            }
        }
        let (addr, len) = (run.first * PAGE, run.count * PAGE);
        let change = if remap { Change::Removed { addr, len } } else { Change::Unmapped { addr, len } };
        self.call(node, |strategy, out| strategy.changed(change, out));
    }

    /// Forks: all frames are others afterwards.
    pub fn fork(&mut self, node: Node) {
        let host = &mut self.hosts[node as usize];
        host.forks += 1;
        for frame in host.mapped.values_mut() {
            self.frames += 1;
            *frame = self.frames;
        }
        self.call(node, |strategy, out| strategy.changed(Change::Forked, out));
    }

    pub fn start(&mut self, node: Node, request: Request) -> Result<OpId, StartError> {
        let mut result = Err(StartError::Peer(u32::MAX));
        self.call(node, |strategy, out| result = strategy.start(request, out));
        result
    }

    /// A put of `len` bytes from bucket-aligned local memory.
    pub fn put(
        &mut self,
        node: Node,
        peer: Node,
        remote: u64,
        local: LocalMemory,
        len: u64,
        tag: u64,
    ) -> OpId {
        let request = Request { tag, peer, direction: Direction::Put, remote, local, len };
        self.start(node, request).expect("a good request")
    }

    /// Starts a small put from registered memory and lets everything happen.
    pub fn put_now(&mut self, node: Node, peer: Node, bucket: u64, tag: u64) {
        self.put(node, peer, bucket * PAGE, LocalMemory::Registered(0), 8, tag);
        self.settle();
        assert_eq!(self.ends.get(&(node, tag)), Some(&End::Done), "seed {}", self.seed);
    }

    /// Calls a strategy and takes up its actions.
    pub fn call(&mut self, node: Node, f: impl FnOnce(&mut dyn Strategy, &mut Vec<Action>)) {
        let mut out = std::mem::take(&mut self.out);
        f(&mut *self.hosts[node as usize].strategy, &mut out);
        self.act(node, &mut out, 0);
        self.out = out;
    }

    fn note(&mut self, note: impl FnOnce() -> Note) {
        if self.keep_notes {
            self.notes.push(note());
        }
    }

    /// How often anything happened to the mapping of a bucket.
    fn generation(host: &Host, bucket: u64) -> u64 {
        host.forks + host.changes.get(&bucket).copied().unwrap_or(0)
    }

    fn act(&mut self, node: Node, out: &mut Vec<Action>, payload: u64) {
        for action in std::mem::take(out) {
            match action {
                Action::Send { to, message } => {
                    let mut bytes = Vec::new();
                    message.encode(&mut bytes);
                    assert_eq!(bytes.len(), message.wire_bytes());
                    assert_eq!(Message::decode(&bytes).as_ref(), Ok(&message));
                    self.note(|| Note::Sent { from: node, to, message: message.clone() });
                    self.events.push_back(Event::Message { from: node, to, message, payload: 0 });
                }
                Action::SendData { to, message, addr: _, len } => {
                    self.note(|| Note::Copy { node, len });
                    self.note(|| Note::Sent { from: node, to, message: message.clone() });
                    self.events.push_back(Event::Message { from: node, to, message, payload: len });
                }
                Action::Deliver { len, .. } => {
                    assert_eq!(len, payload, "delivers what came");
                    self.note(|| Note::Copy { node, len });
                }
                Action::Pin(run) => {
                    self.note(|| Note::Pin { node, run });
                    let early = self.random.u64(..100) < 50;
                    let host = &mut self.hosts[node as usize];
                    let mut frames = Vec::new();
                    for bucket in run.buckets() {
                        let old = host.card.insert(bucket, None);
                        // One call for a bucket at a time; pinning again what failed in part is the
                        // exception.
                        assert!(old.is_none_or(|frame| frame.is_none()), "seed {}: pinned twice", self.seed);
                        frames.push(host.mapped.get(&bucket).copied().filter(|_| early));
                    }
                    self.events.push_back(Event::Pin { node, run, frames });
                }
                Action::Unpin(run) => {
                    self.note(|| Note::Unpin { node, run });
                    let host = &mut self.hosts[node as usize];
                    for bucket in run.buckets() {
                        let frame = host.card.insert(bucket, None).flatten();
                        assert!(frame.is_some(), "seed {}: unpinned what is not pinned", self.seed);
                        let generation = World::generation(host, bucket);
                        let users = host.users.get(&(bucket, generation)).copied().unwrap_or(0);
                        assert_eq!(users, 0, "seed {}: bucket {bucket} of {node} unpinned in use", self.seed);
                    }
                    self.events.push_back(Event::Unpin { node, run });
                }
                Action::Transfer(transfer) => {
                    self.note(|| Note::Transfer { node, peer: transfer.peer, len: transfer.len });
                    self.use_count(node, &transfer, 1);
                    self.events.push_back(Event::Transfer { node, transfer });
                }
                Action::Held { op, tag, keys } => {
                    let _ = keys;
                    self.note(|| Note::Held { node, tag });
                    if self.keep_held {
                        self.held.insert((node, tag), op);
                    } else {
                        self.events.push_back(Event::Release { node, op });
                    }
                }
                Action::Done { tag, .. } => {
                    assert_eq!(self.ends.insert((node, tag), End::Done), None, "ended twice");
                }
                Action::Failed { tag, failure, .. } => {
                    assert_eq!(self.ends.insert((node, tag), End::Failed(failure)), None, "ended twice");
                }
            }
        }
        self.judge(node);
        if self.prompt {
            while let Some(at) =
                self.events.iter().position(|e| matches!(e, Event::Pin { .. } | Event::Unpin { .. }))
            {
                self.happen(at);
            }
        }
    }

    /// Counts a transfer among the users of its buckets, if its keys are the present ones.
    fn use_count(&mut self, node: Node, transfer: &Transfer, by: i64) {
        let ends = [
            (transfer.peer, transfer.remote, Some(&transfer.remote_keys)),
            (node, transfer.local, transfer.local_keys.as_ref()),
        ];
        for (at, addr, keys) in ends {
            let Some(keys) = keys else { continue };
            let run = self.config.run(addr, transfer.len).expect("addresses");
            let host = &mut self.hosts[at as usize];
            for (i, bucket) in run.buckets().enumerate() {
                let key = Keys::Uniform(keys.of(i));
                let generation = World::generation(host, bucket);
                let valid = host.strategy.check(Side::Remote, bucket * PAGE, 1, &key).is_ok();
                let place = (bucket, generation);
                if by > 0 && valid {
                    *host.users.entry(place).or_default() += 1;
                }
                if by < 0 && valid {
                    let left = host.users.get_mut(&place).expect("was counted");
                    *left -= 1;
                    if *left == 0 {
                        host.users.remove(&place);
                    }
                }
            }
        }
    }

    /// The bound, by the card's count and by the strategy's own.
    fn judge(&self, node: Node) {
        let host = &self.hosts[node as usize];
        if self.audit {
            host.strategy.audit();
        }
        let usage = host.strategy.usage();
        if let Some(bound) = usage.bound_bytes {
            let pinned = host.card.len() as u64 * PAGE;
            assert!(pinned <= bound, "seed {}: {pinned} bytes pinned on {node}, bound {bound}", self.seed);
            if host.strategy.kind() != StrategyKind::Bounce {
                assert_eq!(pinned, usage.pinned_bytes, "seed {}: pinned bytes", self.seed);
                let m = self.config.m_bytes + self.config.victim_bytes;
                assert!(pinned <= m, "seed {}: {pinned} pinned, M + MAXVICTIM = {m}", self.seed);
            }
        }
    }

    /// How many things are under way.
    pub fn pending(&self) -> usize {
        self.events.len()
    }

    /// Lets one random thing happen.
    pub fn step(&mut self) {
        if !self.events.is_empty() {
            let at = self.random.u64(..self.events.len() as u64) as usize;
            self.happen(at);
        }
    }

    /// Lets everything happen, in order.
    pub fn settle(&mut self) {
        let mut steps = 0u64;
        while !self.events.is_empty() {
            self.happen(0);
            steps += 1;
            assert!(steps < 50_000_000, "seed {}: never quiet", self.seed);
        }
    }

    /// Lets everything happen, in random order.
    pub fn shuffle(&mut self) {
        while !self.events.is_empty() {
            self.step();
        }
    }

    fn happen(&mut self, at: usize) {
        // The order is free where it is random anyway.
        let event = if at == 0 { self.events.pop_front() } else { self.events.swap_remove_back(at) };
        match event.expect("an event") {
            Event::Message { from, to, message, payload } => {
                let mut out = std::mem::take(&mut self.out);
                self.hosts[to as usize].strategy.receive(from, message, &mut out);
                self.act(to, &mut out, payload);
                self.out = out;
            }
            Event::Pin { node, run, frames } => {
                let host = &mut self.hosts[node as usize];
                let now: Vec<Option<u64>> = run
                    .buckets()
                    .zip(frames)
                    .map(|(bucket, early)| early.or_else(|| host.mapped.get(&bucket).copied()))
                    .collect();
                let pinned = host.card.values().filter(|frame| frame.is_some()).count() as u64;
                let result = if now.contains(&None) {
                    Err(PinError::Unmapped)
                } else if pinned + run.count > self.limit {
                    Err(PinError::Limit)
                } else {
                    Ok(())
                };
                for (bucket, frame) in run.buckets().zip(now) {
                    if result.is_ok() {
                        host.card.insert(bucket, frame);
                    } else if run.count == 1 {
                        host.card.remove(&bucket);
                    }
                }
                self.call(node, |strategy, out| strategy.pinned(run, result, out));
            }
            Event::Unpin { node, run } => {
                for bucket in run.buckets() {
                    self.hosts[node as usize].card.remove(&bucket);
                }
                self.call(node, |strategy, out| strategy.unpinned(run, out));
            }
            Event::Transfer { node, transfer } => self.transfer(node, transfer),
            Event::Release { node, op } => {
                self.call(node, |strategy, out| strategy.transferred(op, Outcome::Done, out));
            }
        }
    }

    /// Both cards touch the memory.
    fn transfer(&mut self, node: Node, transfer: Transfer) {
        self.use_count(node, &transfer, -1);
        let ends = [
            (Side::Local, node, transfer.local, transfer.local_keys.as_ref()),
            (Side::Remote, transfer.peer, transfer.remote, Some(&transfer.remote_keys)),
        ];
        for (side, at, addr, keys) in ends {
            let Some(keys) = keys else { continue };
            let host = &self.hosts[at as usize];
            if let Err(refusal) = host.strategy.check(side, addr, transfer.len, keys) {
                self.refusals += 1;
                let outcome = Outcome::Refused(refusal);
                self.call(node, |strategy, out| strategy.transferred(transfer.op, outcome, out));
                return;
            }
            for bucket in self.config.run(addr, transfer.len).expect("addresses").buckets() {
                let frame = host.card.get(&bucket).copied().flatten();
                let seed = self.seed;
                assert!(frame.is_some(), "seed {seed}: transfer to bucket {bucket} of {at}, not pinned");
                assert_eq!(
                    frame,
                    host.mapped.get(&bucket).copied(),
                    "seed {seed}: stale access to {bucket} of {at}"
                );
            }
        }
        self.transfers += 1;
        self.call(node, |strategy, out| strategy.transferred(transfer.op, Outcome::Done, out));
    }

    /// Notes since the last call.
    pub fn take_notes(&mut self) -> Vec<Note> {
        std::mem::take(&mut self.notes)
    }

    /// The sum of a count over all nodes.
    pub fn total(&self, f: impl Fn(&Stats) -> u64) -> u64 {
        self.hosts.iter().map(|host| f(&host.strategy.stats())).sum()
    }
}
