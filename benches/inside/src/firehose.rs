//! The host's cost of Firehose: the hit, beside a bare probe of a table of the same size, and the move at
//! its target.
//!
//! A random hit is to cost little more than the cache miss that looking anything up costs: `hit/random`
//! beside `probe`.

use std::hint::black_box;

use criterion::{BatchSize, Criterion};
use firehose::*;

const PAGE: u64 = 4096;

fn config(nodes: u32, m: u64, victims: u64) -> Config {
    Config { nodes, m_bytes: m * PAGE, victim_bytes: victims * PAGE, ..Config::default() }
}

/// A node that holds firehoses to the first `held` buckets of node 1.
fn holder(held: u64) -> Firehose {
    let mut node = Firehose::new(config(2, held, 16)).expect("a good configuration");
    let mut out = Vec::new();
    for first in (0..held).step_by(1024) {
        let len = (held - first).min(1024) * PAGE;
        let op = node.start(put(first * PAGE, len), &mut out).expect("a good request");
        let Some(Action::Send { message: Message::Move { id, .. }, .. }) = out.pop() else {
            panic!("a move")
        };
        let granted = Granted { keys: Keys::Uniform(1), failed: vec![] };
        node.receive(1, Message::Moved { id, granted }, &mut out);
        node.transferred(op, Outcome::Done, &mut out);
        out.clear();
    }
    node
}

fn put(remote: u64, len: u64) -> Request {
    let local = LocalMemory::Registered(0);
    Request { tag: 0, peer: 1, direction: Direction::Put, remote, local, len }
}

/// A random number. The published figures include the time of this generator, so it is not changed.
fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// One operation that hits: all the host does for it, from the request to its end.
fn operation(node: &mut Firehose, bucket: u64, out: &mut Vec<Action>) {
    let op = node.start(put(bucket * PAGE, 8), out).expect("a good request");
    black_box(&out);
    node.transferred(op, Outcome::Done, out);
    out.clear();
}

fn hits(c: &mut Criterion) {
    let mut out = Vec::new();
    let mut group = c.benchmark_group("hit");
    for (name, held) in [("cached", 256u64), ("random over 1 M buckets", 1 << 20)] {
        let mut node = holder(held);
        let mut state = 88_172_645_463_325_252;
        group.bench_function(name, |b| {
            b.iter(|| operation(&mut node, next(&mut state) & (held - 1), &mut out));
        });
    }
    // The local end too: both tables are asked.
    let mut node = holder(256);
    let mut request = put(0, 8);
    request.local = LocalMemory::At(0);
    let op = node.start(request.clone(), &mut out).expect("a good request");
    out.clear();
    node.pinned(Run { first: 0, count: 1 }, Ok(()), &mut out);
    node.transferred(op, Outcome::Done, &mut out);
    out.clear();
    let mut state = 88_172_645_463_325_252;
    group.bench_function("cached, both ends", |b| {
        b.iter(|| {
            request.remote = (next(&mut state) & 255) * PAGE;
            let op = node.start(request.clone(), &mut out).expect("a good request");
            node.transferred(op, Outcome::Done, &mut out);
            out.clear();
        });
    });
    group.finish();
}

/// A look at a random slot of a table as large as that of the firehoses: what no look-up can be without.
/// Reading only; and with a write, as counting needs one.
fn probes(c: &mut Criterion) {
    #[derive(Clone, Copy)]
    #[repr(align(32))]
    struct Slot([u64; 4]);
    let slots = 2usize << 20;
    let mut table = vec![Slot([0; 4]); slots];
    for (i, slot) in table.iter_mut().enumerate() {
        slot.0[0] = i as u64;
    }
    let mut group = c.benchmark_group("probe of as large a table");
    let mut state = 88_172_645_463_325_252;
    let home = |bucket: u64| (bucket.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 43) as usize;
    // The next key depends on what was read, as the next operation does on the end of the last.
    let mut last = 0;
    group.bench_function("read", |b| {
        b.iter(|| {
            let at = home((next(&mut state) ^ (last >> 63)) & ((1 << 20) - 1));
            last = table[at].0[0];
            black_box(last)
        });
    });
    group.bench_function("count up and down", |b| {
        b.iter(|| {
            let at = home((next(&mut state) ^ (last >> 63)) & ((1 << 20) - 1));
            table[at].0[1] += 1;
            black_box(&mut table);
            table[at].0[1] -= 1;
            last = table[at].0[0];
        });
    });
    group.finish();
}

/// A move at its target: lets go of some buckets, takes as many that are in the victim FIFO.
fn moves(c: &mut Criterion) {
    let mut group = c.benchmark_group("move at the target, victim reuse");
    for (name, memory, each) in [
        ("1 bucket of 256", 256u64, 1u64),
        ("64 buckets of 256", 256, 64),
        ("64 buckets of 100000", 100_000, 64),
    ] {
        let mut node = Firehose::new(config(2, memory / 2, memory)).expect("a good configuration");
        let mut out = Vec::new();
        let mut state = 88_172_645_463_325_252;
        // Every bucket is pinned once; half of them are held at any time.
        let mut order: Vec<u64> = (0..memory).collect();
        for i in (1..order.len()).rev() {
            order.swap(i, (next(&mut state) % (i as u64 + 1)) as usize);
        }
        let runs = |from: u64| {
            let buckets = (from..from + each).map(|i| order[(i % memory) as usize]);
            buckets.map(|first| Run { first, count: 1 }).collect::<Vec<Run>>()
        };
        let held = |runs: Vec<Run>| runs.into_iter().map(|run| Held { run, key: 1 }).collect::<Vec<Held>>();
        let mut at = 0;
        let turn = |node: &mut Firehose, release: bool, at: &mut u64, out: &mut Vec<Action>| {
            let release = if release { held(runs(*at + memory - memory / 4)) } else { vec![] };
            let message = Message::Move { id: *at, release, acquire: runs(*at) };
            *at += each;
            node.receive(1, message, out);
            for action in std::mem::take(out) {
                if let Action::Pin(run) = action {
                    node.pinned(run, Ok(()), out);
                }
            }
            out.clear();
        };
        while at < memory / 4 {
            turn(&mut node, false, &mut at, &mut out);
        }
        while at < 2 * memory {
            turn(&mut node, true, &mut at, &mut out);
        }
        let pins = node.stats().pins;
        group.throughput(criterion::Throughput::Elements(each));
        group.bench_function(name, |b| {
            b.iter_batched(
                || {
                    let release = held(runs(at + memory - memory / 4));
                    let message = Message::Move { id: at, release, acquire: runs(at) };
                    at += each;
                    message
                },
                |message| {
                    node.receive(1, message, &mut out);
                    black_box(&out);
                    out.clear();
                },
                BatchSize::NumIterations(1),
            );
        });
        assert_eq!(node.stats().pins, pins, "nothing had to be pinned");
    }
    group.finish();
}

pub fn measure() {
    let mut criterion = Criterion::default()
        .sample_size(20)
        .warm_up_time(std::time::Duration::from_millis(300))
        .measurement_time(std::time::Duration::from_millis(1500))
        .configure_from_args();
    hits(&mut criterion);
    probes(&mut criterion);
    moves(&mut criterion);
    criterion.final_summary();
}
