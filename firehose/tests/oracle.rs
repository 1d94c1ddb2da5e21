//! A naive oracle for both tables and both FIFOs: the algorithm as it is told, with lists that are searched
//! from end to end. Operations run one after the other; each must let go, take, pin and unpin what the oracle
//! says, in its order.
#![cfg(not(loom))]

mod world;

use std::collections::BTreeMap;

use firehose::*;
use proptest::prelude::*;
use world::*;

const NODES: usize = 3;
const MEMORY: u64 = 14;

/// A node as the paper tells it.
#[derive(Default)]
struct Node {
    /// Pinned buckets: local and remote references.
    pinned: BTreeMap<u64, (u32, u32)>,
    /// Pinned buckets without references, the oldest first.
    victims: Vec<u64>,
    /// Buckets held at each peer, in the order of their last use.
    held: Vec<Vec<u64>>,
}

/// The results of one operation or change.
#[derive(Debug, Default, PartialEq, Eq)]
struct Did {
    released: Vec<u64>,
    acquired: Vec<u64>,
    pinned: Vec<(usize, u64)>,
    unpinned: Vec<(usize, u64)>,
}

struct Oracle {
    nodes: Vec<Node>,
    firehoses: usize,
    victims: usize,
    adaptive: bool,
}

impl Oracle {
    /// Takes references, pinning what is not pinned; unpins the oldest victims that are too many.
    fn take(&mut self, at: usize, buckets: &[u64], local: bool, did: &mut Did) {
        let node = &mut self.nodes[at];
        let mut fresh = Vec::new();
        for bucket in buckets {
            if !node.pinned.contains_key(bucket) {
                fresh.push(*bucket);
            }
            let count = node.pinned.entry(*bucket).or_default();
            if local {
                count.0 += 1;
            } else {
                count.1 += 1;
            }
            node.victims.retain(|victim| victim != bucket);
        }
        loop {
            let local = node.pinned.values().filter(|count| count.0 > 0).count();
            let total = self.firehoses * (NODES - 1) + self.victims;
            let too_many = if self.adaptive {
                node.pinned.len() > total
            } else {
                node.victims.len() + local > self.victims
            };
            if !too_many || node.victims.is_empty() {
                break;
            }
            let oldest = node.victims.remove(0);
            node.pinned.remove(&oldest);
            did.unpinned.push((at, oldest));
        }
        did.pinned.extend(fresh.into_iter().map(|bucket| (at, bucket)));
    }

    fn give(&mut self, at: usize, buckets: &[u64], local: bool) {
        let node = &mut self.nodes[at];
        for bucket in buckets {
            let Some(count) = node.pinned.get_mut(bucket) else { continue };
            if local {
                count.0 -= 1;
            } else {
                count.1 -= 1;
            }
            if *count == (0, 0) {
                node.victims.push(*bucket);
            }
        }
    }

    fn operation(&mut self, from: usize, to: usize, remote: &[u64], local: &[u64]) -> Did {
        let mut did = Did::default();
        let held = &mut self.nodes[from].held[to];
        did.acquired = remote.iter().filter(|bucket| !held.contains(bucket)).copied().collect();
        while held.len() + did.acquired.len() > self.firehoses {
            let victim = held.iter().position(|bucket| !remote.contains(bucket)).expect("a victim");
            did.released.push(held.remove(victim));
        }
        self.take(from, local, true, &mut did);
        let (released, acquired) = (did.released.clone(), did.acquired.clone());
        self.give(to, &released, false);
        if !acquired.is_empty() {
            self.take(to, &acquired, false, &mut did);
        }
        self.give(from, local, true);
        let held = &mut self.nodes[from].held[to];
        held.retain(|bucket| !remote.contains(bucket));
        held.extend(remote);
        did
    }

    fn change(&mut self, at: usize, buckets: &[u64]) -> Did {
        let mut did = Did::default();
        for bucket in buckets {
            if self.nodes[at].pinned.remove(bucket).is_some() {
                did.unpinned.push((at, *bucket));
            }
            self.nodes[at].victims.retain(|victim| victim != bucket);
            for node in &mut self.nodes {
                node.held[at].retain(|held| held != bucket);
            }
        }
        did
    }
}

/// The same, read off what the strategies did.
fn observed(world: &mut World) -> Did {
    let mut did = Did::default();
    for note in world.take_notes() {
        match note {
            Note::Sent { message: Message::Move { release, acquire, .. }, .. } => {
                did.released.extend(release.iter().flat_map(|held| held.run.buckets()));
                did.acquired.extend(acquire.iter().flat_map(|run| run.buckets()));
            }
            Note::Pin { node, run } => did.pinned.extend(run.buckets().map(|bucket| (node as usize, bucket))),
            Note::Unpin { node, run } => {
                did.unpinned.extend(run.buckets().map(|bucket| (node as usize, bucket)));
            }
            _ => {}
        }
    }
    did
}

fn buckets(first: u64, count: u64) -> Vec<u64> {
    (first..first + count).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn does_what_the_oracle_does(
        firehoses in 1..5u64,
        victims in 1..6u64,
        adaptive: bool,
        steps in prop::collection::vec((0..16u8, 0..3usize, 1..3usize, 0..MEMORY, 1..4u64, 0..MEMORY, 0..4u64), 1..150),
    ) {
        let config = Config {
            nodes: NODES as u32,
            bucket_bytes: PAGE,
            m_bytes: firehoses * (NODES as u64 - 1) * PAGE,
            victim_bytes: victims * PAGE,
            adaptive,
            ..Config::default()
        };
        let mut world = World::new(StrategyKind::Firehose, config, 0);
        (world.keep_notes, world.prompt) = (true, true);
        for node in 0..NODES as u32 {
            world.map(node, Run { first: 0, count: MEMORY });
        }
        let node = || Node { held: vec![Vec::new(); NODES], ..Node::default() };
        let nodes = std::iter::repeat_with(node).take(NODES).collect();
        let mut oracle =
            Oracle { nodes, firehoses: firehoses as usize, victims: victims as usize, adaptive };
        for (tag, (what, from, far, remote, count, local, local_count)) in steps.into_iter().enumerate() {
            if what == 0 {
                let count = count.min(MEMORY - remote);
                world.change(from as u32, Run { first: remote, count }, true);
                world.settle();
                let expected = oracle.change(from, &buckets(remote, count));
                prop_assert_eq!(observed(&mut world), expected, "step {}: change", tag);
                continue;
            }
            let to = (from + far) % NODES;
            let count = count.min(firehoses).min(MEMORY - remote);
            let local_count = local_count.min(victims).min(count).min(MEMORY - local);
            // The ends may lie differently in their buckets: a short operation has one byte in its first and
            // last.
            let (len, at) = match local_count {
                0 => (count * PAGE, LocalMemory::Registered(0)),
                _ => (local_count * PAGE, LocalMemory::At(local * PAGE)),
            };
            let count = len / PAGE;
            world.put(from as u32, to as u32, remote * PAGE, at, len, tag as u64);
            world.settle();
            let expected =
                oracle.operation(from, to, &buckets(remote, count), &buckets(local, local_count));
            prop_assert_eq!(observed(&mut world), expected, "step {}: {} to {}", tag, from, to);
            prop_assert_eq!(world.ends.get(&(from as u32, tag as u64)), Some(&End::Done));
        }
    }
}
