//! The measured half of `pgas-bench pgas`: one subcommand a run, results as lines `KEY VALUE` from rank 0, in
//! ns; those of `KEY_us` in us.

use pgas::{Layout, Tiling, World};
use pgas_bench::ranks::{BATCHES, ns_each};
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

#[path = "../bale.rs"]
mod bale;
#[path = "../deaths.rs"]
mod deaths;

fn main() {
    pgas::run(|world| {
        let mut args = std::env::args().skip(1);
        let task = args.next().unwrap_or_default();
        let number = args.next().and_then(|n| n.parse().ok()).unwrap_or(0);
        match task.as_str() {
            "call" => call(world),
            "send" => send(world),
            "send_pair" => send_pair(world),
            "updates" => updates(world, number),
            "together" => together(world),
            "block" => block(world),
            other if bale::run(world, other, number) || deaths::run(world, other, number) => {}
            other => world.abort(&format!("pgas-bench-calls: no task `{other}`")),
        }
    })
}

/// Run the batches: `work` returns the ns of each operation; the first warms up.
fn batches(world: World, key: &str, mut work: impl FnMut() -> f64) {
    for batch in -1..BATCHES {
        world.barrier();
        let each = work();
        if world.rank() == 0 && batch >= 0 {
            println!("{key} {each:.6}\n{key}_us {:.6}", each / 1e3);
        }
    }
}

/// Even ranks call, odd ranks are called, with 8 bytes there and back.
fn call(world: World) {
    let count = if world.size() == 2 { 30_000 } else { 2_000 };
    batches(world, "call", || {
        let start = Instant::now();
        if world.rank().is_multiple_of(2) {
            for i in 0..count {
                black_box(world.call(world.rank() ^ 1, |_, x: u64| x + 1, i).wait());
            }
        }
        let took = ns_each(start, count);
        world.barrier();
        took
    });
}

/// Rank 0 sends functions of 8 bytes to rank 1, until all have run.
fn send(world: World) {
    let sum = world.share(AtomicU64::new(0));
    let count = 1_000_000;
    batches(world, "send", || {
        let start = Instant::now();
        if world.rank() == 0 {
            for i in 0..count {
                sum.send(1, |sum, x: u64| sum.store(sum.load(Relaxed) + x, Relaxed), i);
            }
        }
        world.settle();
        ns_each(start, count)
    });
}

/// [`send`] with two numbers of different sizes.
fn send_pair(world: World) {
    let sum = world.share(AtomicU64::new(0));
    let count = 1_000_000;
    let add = |sum: &AtomicU64, (x, y): (u32, u64)| sum.store(sum.load(Relaxed) + u64::from(x) + y, Relaxed);
    batches(world, "send_pair", || {
        let start = Instant::now();
        if world.rank() == 0 {
            for i in 0..count {
                sum.send(1, add, (i as u32, i << 20));
            }
        }
        world.settle();
        ns_each(start, count)
    });
}

/// Collective calls, of plain data in slices and of values.
fn together(world: World) {
    let count = if world.size() == 2 { 20_000 } else { 2_000 };
    let each = |key: &str, call: &dyn Fn(u64)| {
        batches(world, key, || {
            let start = Instant::now();
            (0..count).for_each(call);
            ns_each(start, count)
        });
    };
    each("reduce_slice", &|i| _ = black_box(world.reduce_slice(vec![i], |a, b| a + b)));
    each("reduce_number", &|i| _ = black_box(world.reduce(i, |a, b| a + b)));
    each("reduce_pair", &|i| _ = black_box(world.reduce((i, 1u32), |a, b| (a.0 + b.0, a.1 + b.1))));
    let rank = world.rank();
    each("gather_slice", &|i| _ = black_box(world.gather_all_slice(vec![i])));
    each("gather_number", &|i| _ = black_box(world.gather_all(i)));
    each("gather_pair", &|i| _ = black_box(world.gather_all((i, rank))));
    let name = format!("rank {rank} of {}", world.size());
    each("gather_name", &|_| _ = black_box(world.gather_all(name.clone())));
    let text = name.repeat(100);
    each("gather_text", &|_| _ = black_box(world.gather_all(text.clone())));
    each("broadcast_slice", &|i| _ = black_box(world.broadcast_slice(0, vec![i])));
    each("broadcast_number", &|i| _ = black_box(world.broadcast(0, i)));
    each("broadcast_name", &|_| _ = black_box(world.broadcast(0, name.clone())));
}

/// Rank 0 reads blocks of 256 rows of 64 bytes, each half a row of the matrix, from the part of rank 1.
fn block(world: World) {
    let count = if world.rank() == 0 { 2000 } else { 0 };
    let mut matrix = world.matrix::<u64>(512, 16, Tiling::Rows);
    let mut values = vec![0; 256 * 8];
    batches(world, "block64", || {
        matrix.read(|matrix| {
            let start = Instant::now();
            (0..count).for_each(|_| matrix.block_into(256..512, 0..8, black_box(&mut values)));
            ns_each(start, count)
        })
    });
}

/// All ranks update an array of `words` words at random places.
fn updates(world: World, words: usize) {
    let mut table = world.array::<u64>(words, Layout::Block);
    let count = 4_000_000u64.min(words as u64);
    let mut random = 0x0123_4567_89ab_cdefu64 + 0x9e37_79b9_7f4a_7c15 * u64::from(world.rank());
    table.local(|mine| mine.iter_mut().zip(0..).for_each(|(word, i)| *word = i));
    batches(world, "updates", || {
        let start = Instant::now();
        table.update(|table| {
            for _ in 0..count {
                random = random << 1 ^ if (random as i64) < 0 { 7 } else { 0 };
                table.xor(random as usize & (words - 1), random);
            }
        });
        ns_each(start, count)
    });
}
