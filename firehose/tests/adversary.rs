//! The stale-registration adversary, simulated: mappings change while puts and gets are under way, and every
//! access compares the frame that the card was given with the frame that is mapped. There may be no access to
//! an old frame.
//!
//! `FIREHOSE_ACCESSES` says how many, `FIREHOSE_SEED` which; `cargo xtask soak` runs long ones.
#![cfg(not(loom))]

use firehose::*;

const PAGE: u64 = 4096;
const NODES: u32 = 3;
/// Buckets of each node's memory.
const MEMORY: u64 = 48;
/// No frame.
const NONE: u64 = 0;

enum Event {
    Message { from: Node, to: Node, message: Message },
    Pin { node: Node, run: Run, frames: Vec<u64> },
    Unpin { node: Node, run: Run },
    Transfer { node: Node, transfer: Transfer },
}

struct Host {
    strategy: Box<dyn Strategy>,
    mapped: Vec<u64>,
    /// The frame that the card was given for each bucket.
    card: Vec<u64>,
    pinned: u64,
}

struct Adversary {
    hosts: Vec<Host>,
    config: Config,
    random: fastrand::Rng,
    seed: u64,
    frames: u64,
    events: Vec<Event>,
    running: u64,
    accesses: u64,
    refused: u64,
    failed: u64,
    done: u64,
    changes: u64,
    out: Vec<Action>,
}

impl Adversary {
    fn new(kind: StrategyKind, seed: u64) -> Adversary {
        let config = Config {
            nodes: NODES,
            m_bytes: 24 * PAGE,
            victim_bytes: 8 * PAGE,
            adaptive: seed % 2 == 1,
            segment: Some((0, MEMORY * PAGE)),
            ..Config::default()
        };
        let host = |me| Host {
            strategy: kind.build(Config { me, ..config.clone() }).expect("a good configuration"),
            mapped: (1..=MEMORY).collect(),
            card: vec![NONE; MEMORY as usize],
            pinned: 0,
        };
        let mut adversary = Adversary {
            hosts: (0..NODES).map(host).collect(),
            config,
            random: fastrand::Rng::with_seed(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1),
            seed,
            frames: MEMORY,
            events: Vec::new(),
            running: 0,
            accesses: 0,
            refused: 0,
            failed: 0,
            done: 0,
            changes: 0,
            out: Vec::new(),
        };
        for node in 0..NODES {
            adversary.call(node, |strategy, out| strategy.open(out));
        }
        adversary
    }

    fn call(&mut self, node: Node, f: impl FnOnce(&mut dyn Strategy, &mut Vec<Action>)) {
        let mut out = std::mem::take(&mut self.out);
        let host = &mut self.hosts[node as usize];
        f(&mut *host.strategy, &mut out);
        for action in out.drain(..) {
            match action {
                Action::Send { to, message } => self.events.push(Event::Message { from: node, to, message }),
                Action::Pin(run) => {
                    // Some pins look up the frames at once, some at their end.
                    let early = self.random.u64(..) & 1 == 0;
                    let frame = |b: u64| if early { host.mapped[b as usize] } else { NONE };
                    let frames = run.buckets().map(frame).collect();
                    host.pinned += run.count;
                    self.events.push(Event::Pin { node, run, frames });
                }
                Action::Unpin(run) => self.events.push(Event::Unpin { node, run }),
                Action::Transfer(transfer) => self.events.push(Event::Transfer { node, transfer }),
                Action::Done { .. } => (self.running, self.done) = (self.running - 1, self.done + 1),
                Action::Failed { .. } => (self.running, self.failed) = (self.running - 1, self.failed + 1),
                Action::SendData { .. } | Action::Deliver { .. } | Action::Held { .. } => {
                    unreachable!("not of these strategies")
                }
            }
        }
        if let Some(bound) = host.strategy.usage().bound_bytes {
            assert!(host.pinned * PAGE <= bound, "seed {}: {} buckets pinned", self.seed, host.pinned);
        }
        self.out = out;
    }

    /// Changes a mapping, as one of the system calls does.
    fn change(&mut self) {
        self.changes += 1;
        let node = self.random.u64(..u64::from(NODES)) as Node;
        let first = self.random.u64(..MEMORY);
        let count = 1 + self.random.u64(..(MEMORY - first).min(3));
        let (addr, len) = (first * PAGE, count * PAGE);
        let what = self.random.u64(..64);
        let host = &mut self.hosts[node as usize];
        let mut fresh = |frame: &mut u64| {
            self.frames += 1;
            *frame = self.frames;
        };
        let range = first as usize..(first + count) as usize;
        let change = match what {
            // fork: whoever writes first gets another page.
            0 => {
                host.mapped.iter_mut().filter(|frame| **frame != NONE).for_each(&mut fresh);
                Change::Forked
            }
            // munmap.
            1..=3 => {
                host.mapped[range].fill(NONE);
                Change::Unmapped { addr, len }
            }
            // mmap over it, or where there was nothing.
            4..=30 => {
                host.mapped[range].iter_mut().for_each(&mut fresh);
                Change::Unmapped { addr, len }
            }
            // mremap: the pages go elsewhere.
            31..=34 => {
                let to = self.random.u64(..MEMORY - count) as usize;
                let to = to..to + count as usize;
                let moved = host.mapped[range.clone()].to_vec();
                host.mapped[range].fill(NONE);
                host.mapped[to.clone()].copy_from_slice(&moved);
                // The kernel reports first that the mapping at the new place is gone.
                let (addr, len) = (to.start as u64 * PAGE, len);
                self.call(node, |strategy, out| strategy.changed(Change::Unmapped { addr, len }, out));
                Change::Moved { addr: first * PAGE, len }
            }
            // madvise: other pages come.
            _ => {
                host.mapped[range].iter_mut().filter(|frame| **frame != NONE).for_each(&mut fresh);
                Change::Removed { addr, len }
            }
        };
        self.call(node, |strategy, out| strategy.changed(change, out));
    }

    fn start(&mut self) {
        let node = self.random.u64(..u64::from(NODES)) as Node;
        let peer = (node + 1 + self.random.u64(..u64::from(NODES) - 1) as Node) % NODES;
        let dice = self.random.u64(..);
        let most = if dice & 7 == 0 { 3 * PAGE } else { 64 };
        let len = 1 + self.random.u64(..most);
        let remote = self.random.u64(..MEMORY * PAGE - len);
        let local = self.random.u64(..MEMORY * PAGE - len);
        let local = if dice & 8 == 0 { LocalMemory::At(local) } else { LocalMemory::Registered(local) };
        let direction = if dice & 16 == 0 { Direction::Put } else { Direction::Get };
        let request = Request { tag: 0, peer, direction, remote, local, len };
        self.running += 1;
        self.call(node, |strategy, out| {
            strategy.start(request, out).expect("a good request");
        });
    }

    fn happen(&mut self) {
        let at = self.random.u64(..self.events.len() as u64) as usize;
        match self.events.swap_remove(at) {
            Event::Message { from, to, message } => {
                self.call(to, |strategy, out| strategy.receive(from, message, out));
            }
            Event::Pin { node, run, mut frames } => {
                let host = &mut self.hosts[node as usize];
                for (frame, bucket) in frames.iter_mut().zip(run.buckets()) {
                    if *frame == NONE {
                        *frame = host.mapped[bucket as usize];
                    }
                }
                let result = if frames.contains(&NONE) { Err(PinError::Unmapped) } else { Ok(()) };
                match result {
                    Ok(()) => {
                        for (frame, bucket) in frames.iter().zip(run.buckets()) {
                            host.card[bucket as usize] = *frame;
                        }
                    }
                    Err(_) => host.pinned -= run.count,
                }
                self.call(node, |strategy, out| strategy.pinned(run, result, out));
            }
            Event::Unpin { node, run } => {
                let host = &mut self.hosts[node as usize];
                host.pinned -= run.count;
                host.card[run.first as usize..(run.first + run.count) as usize].fill(NONE);
                self.call(node, |strategy, out| strategy.unpinned(run, out));
            }
            Event::Transfer { node, transfer } => self.transfer(node, transfer),
        }
    }

    fn transfer(&mut self, node: Node, transfer: Transfer) {
        let ends = [
            (Side::Local, node, transfer.local, transfer.local_keys.as_ref()),
            (Side::Remote, transfer.peer, transfer.remote, Some(&transfer.remote_keys)),
        ];
        let mut outcome = Outcome::Done;
        for (side, at, addr, keys) in ends {
            let Some(keys) = keys else { continue };
            let host = &self.hosts[at as usize];
            self.accesses += 1;
            match host.strategy.check(side, addr, transfer.len, keys) {
                Ok(()) => {
                    for bucket in self.config.run(addr, transfer.len).expect("addresses").buckets() {
                        let (given, mapped) = (host.card[bucket as usize], host.mapped[bucket as usize]);
                        let seed = self.seed;
                        assert!(given != NONE, "seed {seed}: access to bucket {bucket} of {at}, not pinned");
                        assert!(given == mapped, "seed {seed}: stale access to bucket {bucket} of {at}");
                    }
                }
                Err(refusal) => {
                    self.refused += 1;
                    outcome = Outcome::Refused(refusal);
                    break;
                }
            }
        }
        self.call(node, |strategy, out| strategy.transferred(transfer.op, outcome, out));
    }

    fn run(&mut self, accesses: u64) {
        while self.accesses < accesses {
            let dice = self.random.u64(..) & 127;
            if dice < 2 {
                self.change();
            } else if (dice < 48 && self.running < 24) || self.events.is_empty() {
                self.start();
            } else {
                self.happen();
            }
        }
        while !self.events.is_empty() {
            self.happen();
        }
        assert_eq!(self.running, 0, "seed {}: all operations end", self.seed);
    }
}

fn from_environment(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|value| value.parse().expect("a number"))
}

#[test]
fn no_access_is_stale() {
    let accesses = from_environment("FIREHOSE_ACCESSES").unwrap_or(3_000_000);
    let seed = from_environment("FIREHOSE_SEED").unwrap_or(1);
    let shares = [
        (StrategyKind::Firehose, 12),
        (StrategyKind::PinEverything, 1),
        (StrategyKind::RendezvousUnpin, 1),
        (StrategyKind::RendezvousNoUnpin, 1),
        (StrategyKind::PinDownCache, 1),
    ];
    for (kind, share) in shares {
        // Several worlds, so that a failing seed is soon run again.
        let worlds = (accesses / 10_000_000).max(2);
        for world in 0..worlds {
            let mut adversary = Adversary::new(kind, seed + world);
            adversary.run(accesses * share / 16 / worlds);
            let Adversary { accesses, done, failed, refused, changes, .. } = adversary;
            println!(
                "{}: seed {}: {accesses} accesses, {done} operations done and {failed} failed, {changes} changes, \
                 {refused} refused, 0 stale",
                kind.name(),
                seed + world,
            );
            assert!(accesses < 10_000 || refused > 0, "the adversary does not bite");
            assert!(done > failed, "most operations end well");
        }
    }
}
