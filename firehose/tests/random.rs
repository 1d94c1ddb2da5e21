//! Random programs over every strategy: operations, changes of mappings and forks against a registrar and a
//! network that take their time. `FIREHOSE_SEED` runs one seed; each failure names its own.
#![cfg(not(loom))]

mod world;

use ::firehose::*;
use world::*;

/// The operations that a random program may use.
#[derive(Debug, Clone, Copy)]
struct Shape {
    nodes: u32,
    /// Buckets of `M` and `MAXVICTIM`.
    m: u64,
    victims: u64,
    adaptive: bool,
    /// Buckets of a node's memory.
    memory: u64,
    /// Longest operation, in buckets.
    longest: u64,
    /// Percent of steps that change a mapping.
    changes: u64,
    steps: u64,
}

fn config(shape: Shape) -> Config {
    Config {
        nodes: shape.nodes,
        bucket_bytes: PAGE,
        m_bytes: shape.m * PAGE,
        victim_bytes: shape.victims * PAGE,
        adaptive: shape.adaptive,
        segment: Some((0, shape.memory * PAGE)),
        bounce_bytes: 1000,
        bounce_buffers: 2,
        ..Config::default()
    }
}

/// Runs a random program; all its operations must end. Returns transfers and refusals.
fn program(kind: StrategyKind, shape: Shape, seed: u64) -> (u64, u64) {
    let mut world = World::new(kind, config(shape), seed);
    for node in 0..shape.nodes {
        world.map(node, Run { first: 0, count: shape.memory });
        world.call(node, |strategy, out| strategy.open(out));
    }
    world.shuffle();
    let mut started = 0;
    for _ in 0..shape.steps {
        let node = world.random.u64(..u64::from(shape.nodes)) as Node;
        let dice = world.random.u64(..100);
        if dice < shape.changes {
            let first = world.random.u64(..shape.memory);
            let count = 1 + world.random.u64(..(shape.memory - first).min(4));
            match world.random.u64(..20) {
                0 => world.fork(node),
                1..4 => world.change(node, Run { first, count }, false),
                _ => world.change(node, Run { first, count }, true),
            }
        } else if dice < 40 {
            started += 1;
            let peer = (node + 1 + world.random.u64(..u64::from(shape.nodes) - 1) as Node) % shape.nodes;
            let most = shape.memory * PAGE;
            let len = match world.random.u64(..3) {
                0 => 8,
                1 => 1 + world.random.u64(..PAGE * 2),
                _ => 1 + world.random.u64(..shape.longest * PAGE),
            };
            let remote = world.random.u64(..most - len);
            let local = world.random.u64(..most - len);
            let local = if world.random.u64(..100) < 50 {
                LocalMemory::At(local)
            } else {
                LocalMemory::Registered(local)
            };
            let direction = if world.random.u64(..100) < 70 { Direction::Put } else { Direction::Get };
            let request = Request { tag: started, peer, direction, remote, local, len };
            world.start(node, request).expect("a good request");
        } else {
            world.step();
        }
        // Mostly few things are under way, sometimes very many.
        while world.pending() > 400 {
            world.step();
        }
    }
    world.shuffle();
    assert_eq!(world.ends.len() as u64, started, "seed {seed}: every operation of {kind:?} ends");
    if shape.changes == 0 {
        assert!(world.ends.values().all(|end| *end == End::Done), "seed {seed}: nothing was unmapped");
        assert_eq!(world.refusals, 0, "seed {seed}");
    }
    (world.transfers, world.refusals)
}

fn seeds() -> std::ops::Range<u64> {
    match std::env::var("FIREHOSE_SEED").ok().and_then(|seed| seed.parse().ok()) {
        Some(seed) => seed..seed + 1,
        None => 0..if cfg!(debug_assertions) { 12 } else { 40 },
    }
}

/// Shapes from tight to roomy.
fn shapes(changes: u64, steps: u64) -> Vec<Shape> {
    let shape = |nodes, m, victims, memory, longest, adaptive| Shape {
        nodes,
        m,
        victims,
        adaptive,
        memory,
        longest,
        changes,
        steps,
    };
    vec![
        shape(2, 1, 1, 8, 3, false),
        shape(3, 2, 1, 6, 4, false),
        shape(3, 2, 2, 6, 4, true),
        shape(4, 12, 3, 20, 6, false),
        shape(4, 13, 5, 20, 9, true),
        shape(2, 16, 8, 40, 12, true),
        shape(5, 40, 16, 20, 5, false),
    ]
}

fn all(kind: StrategyKind, changes: u64) {
    let (mut transfers, mut refusals) = (0, 0);
    for seed in seeds() {
        for (i, shape) in shapes(changes, 600).into_iter().enumerate() {
            let (t, r) = program(kind, shape, seed * 100 + i as u64);
            transfers += t;
            refusals += r;
        }
    }
    if std::env::var_os("FIREHOSE_SEED").is_none() && kind != StrategyKind::Bounce {
        assert!(transfers > 1000, "{transfers} transfers");
        assert_eq!(refusals > 0, changes > 0, "{refusals} refusals");
    }
}

macro_rules! programs {
    ($($name:ident $kind:ident)*) => {$(
        mod $name {
            #[test]
            fn ends_all_operations_within_the_bound() {
                super::all(super::StrategyKind::$kind, 0);
            }

            #[test]
            fn makes_no_stale_access_while_mappings_change() {
                super::all(super::StrategyKind::$kind, 6);
            }
        }
    )*};
}

programs! {
    moving Firehose
    pin_everything PinEverything
    bounce Bounce
    rendezvous_unpin RendezvousUnpin
    rendezvous_nounpin RendezvousNoUnpin
    pindown_cache PinDownCache
}
