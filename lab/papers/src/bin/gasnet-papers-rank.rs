//! The ranks of `gasnet-papers netvm-live`: one subcommand a run, results as lines `KEY VALUE` from rank 0.

use std::hint::black_box;
use std::time::{Duration, Instant};

use gasnet::atomics::Function;
use gasnet::{GlobalPtr, Rank, RankId};
use gasnet_sim::Rng;
use pgas_bench::ranks::{BATCHES, argument, batches, ns_each};

#[path = "../workload.rs"]
mod workload;

fn main() {
    gasnet_conduits::run(|rank| {
        let task = std::env::args().nth(1).unwrap_or_default();
        match task.as_str() {
            "netvm_puts" => netvm_puts(rank),
            "netvm_parts" => {
                for _ in 0..BATCHES {
                    let parts = workload::parts(rank, argument(2, 2048));
                    parts.iter().for_each(|(key, value)| println!("{key} {value:.6}"));
                }
            }
            "netvm_hits" => {
                for _ in 0..4 * BATCHES {
                    let [hit, hit16] = workload::hits_alone(rank);
                    if rank.id().0 == 0 {
                        println!("hit {hit:.6}\nhit16 {hit16:.6}");
                    }
                }
            }
            "sync" => operations(rank, workload::SYNC),
            "collectives" => operations(rank, workload::COLLECTIVES),
            other => {
                if rank.id().0 == 0 {
                    eprintln!("gasnet-papers-rank: no task `{other}`");
                }
                rank.global_exit(2);
            }
        }
    })
}

/// The time of each operation, in microseconds.
fn operations(rank: &'static Rank, all: &[workload::Operation]) {
    let count = argument(2, 1000) as usize;
    for (name, run) in all {
        for batch in -1..BATCHES {
            let took = run(rank, count);
            if rank.id().0 == 0 && batch >= 0 {
                println!("{name} {took:.6}");
            }
        }
    }
}

/// Puts into a working set of rank 1, some pages of which are wanted much more often than others; then loads
/// from as many own pages.
fn netvm_puts(rank: &'static Rank) {
    const PAGE: u64 = workload::PAGE;
    let (pages, puts) = (argument(2, 64), argument(3, 1000));
    let at: GlobalPtr<u64> = GlobalPtr::new(RankId(1), 0);
    let word = |page: u64| at.add((page * PAGE / 8) as usize);
    let mut rng = Rng::new(0xc055);
    if rank.id().0 == 0 {
        let start = Instant::now();
        (0..pages).for_each(|page| rank.write(word(page).on(RankId(0)), page));
        println!("first {:.6}", ns_each(start, pages) / 1000.0);
        (0..pages).for_each(|page| rank.write(word(page), page));
        workload::puts(rank, &workload::zipf(pages, puts.max(pages), &mut rng), 1);
    }
    let large = vec![1u64; 4096];
    let first = rank.id().0 == 0;
    batches(rank, || {
        let mut draw = || workload::zipf(pages, puts, &mut rng);
        // Others: the pages of the first are in memory now.
        let (draws, others) = (draw(), draw());
        let one = if first { workload::puts(rank, &draws, 1) } else { 0.0 };
        let deep = if first { workload::puts(rank, &others, 16) } else { 0.0 };
        let runs = pages / 8;
        let mut rate = 0.0;
        let processors = processor_time(rank, || {
            let start = Instant::now();
            if first {
                (0..runs).for_each(|run| rank.write_slice(word(run * 8), &large));
            }
            rate = runs as f64 * 32768.0 / start.elapsed().as_secs_f64() / 1e6;
        });
        let start = Instant::now();
        if first {
            for page in &others {
                black_box(rank.read(word(page * 7919 % pages).on(RankId(0))));
            }
        }
        let load = ns_each(start, puts) / 1000.0;
        let page = processors.as_secs_f64() * 1e6 / (runs * 8) as f64;
        vec![("put8", one), ("put8x16", deep), ("bw", rate), ("bw_processor", page), ("load", load)]
    });
}

/// The processor time of all threads of all ranks from before `work` until all have done theirs.
fn processor_time(rank: &'static Rank, work: impl FnOnce()) -> Duration {
    rank.barrier();
    let before = gasnet_sys::clock::processor_time();
    work();
    rank.barrier();
    let mine = (gasnet_sys::clock::processor_time() - before).as_nanos() as u64;
    Duration::from_nanos(rank.team_all().reduce_all_with(&[mine], Function::Add)[0])
}
