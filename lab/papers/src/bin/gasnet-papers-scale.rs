//! `gasnet-papers-scale MACHINE RANKS TASK`: simulates one job, in a process of its own, and prints lines
//! `KEY VALUE`. The set `scale` of `gasnet-papers` runs it for each number of ranks.
//!
//! Times are virtual microseconds, except `start`: seconds of the processor. Memory is what the process has
//! resident more than before, page tables included, over the number of ranks.

use gasnet::{GlobalPtr, Rank, RankId};
use gasnet_sim::{Cluster, CostModel, Report, Time, now};
use gasnet_sys::clock::processor_time;
use pgas::{DistMap, Layout, World};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Repetitions of what is short.
const TIMES: u32 = 8;
/// Most ranks among which everybody sends to everybody: the simulator needs a millisecond or so for each
/// thousand messages, and there are as many as pairs.
const MOST_ALL_TO_ALL: u32 = 1024;
/// Elements that a rank updates, or puts; keys that it inserts.
const UPDATES: usize = 8192;
const MESSAGES: usize = 512;
const KEYS: u64 = 512;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [machine, ranks, task] = &arguments[..] else { wrong() };
    let (Some(model), Ok(ranks)) = (CostModel::named(machine), ranks.parse()) else { wrong() };
    let done = match task.as_str() {
        "collectives" => collectives(model, ranks),
        "histogram" => histogram(model, ranks),
        "map" => map(model, ranks),
        _ => wrong(),
    };
    if let Err(why) = done {
        eprintln!("gasnet-papers-scale: {why}");
        std::process::exit(1);
    }
}

fn wrong() -> ! {
    eprintln!("usage: gasnet-papers-scale MACHINE RANKS collectives|histogram|map");
    std::process::exit(2);
}

/// Bytes that this process has resident, page tables among them.
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let of = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(name));
        line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok()).unwrap_or(0)
    };
    1024 * (of("VmRSS:") + of("VmPTE:"))
}

/// The virtual time.
fn time() -> Time {
    now().unwrap_or_default()
}

/// Virtual microseconds of a call, one of several that all ranks make.
fn mean_us(rank: &Rank, times: u32, mut call: impl FnMut()) -> f64 {
    rank.barrier();
    let start = time();
    (0..times).for_each(|_| call());
    time().since(start).as_us() / f64::from(times)
}

fn print_slowest<const N: usize>(names: [&str; N], all: &[[f64; N]]) {
    for (i, name) in names.iter().enumerate() {
        let slowest = all.iter().map(|one| one[i]).fold(0.0, f64::max);
        if slowest > 0.0 {
            println!("{name} {slowest:.3}");
        }
    }
}

/// Events, and how many a second of the processor: other programs do not change that much.
fn print_rate<T>(report: &Report<T>, began: Duration) {
    println!("events {}", report.stats.events);
    let took = processor_time().saturating_sub(began);
    println!("events_per_s {:.0}", report.stats.events as f64 / took.as_secs_f64());
}

fn collectives(model: CostModel, ranks: u32) -> Result<(), String> {
    let cluster = || Cluster::new(ranks, model.clone()).segment(64 << 10).stack(128 << 10);
    let (before, began) = (resident(), processor_time());
    let after = AtomicU64::new(0);
    let report = cluster().run(|rank| {
        rank.barrier();
        if rank.id().0 == 0 {
            after.store(resident(), Relaxed);
            println!("start {:.3}", processor_time().saturating_sub(began).as_secs_f64());
        }
        rank.barrier();
    });
    report.map_err(|e| e.to_string())?;
    println!("memory {}", after.load(Relaxed).saturating_sub(before) / u64::from(ranks));

    let began = processor_time();
    let report = cluster().run_for_good(|rank| {
        let (me, n) = (rank.id().0, rank.size());
        let barrier = mean_us(rank, TIMES, || rank.barrier());
        let team = rank.team_all();
        let sum = |a: u64, b: u64| a + b;
        assert_eq!(team.reduce_all(&[u64::from(me)], sum), [u64::from(n) * u64::from(n - 1) / 2]);
        let reduce = mean_us(rank, TIMES, || drop(team.reduce_all(&[1u64], sum)));
        let exchange = if n <= MOST_ALL_TO_ALL {
            let mine = vec![u64::from(me); 8 * n as usize];
            mean_us(rank, 1, || {
                let all = team.exchange(&mine);
                assert!(all.chunks(8).zip(0..).all(|(of, rank)| of == [rank; 8]));
            })
        } else {
            0.0
        };
        rank.barrier();
        let start = time();
        if me == 0 {
            let word = |to: u32| GlobalPtr::<u64>::new(RankId(to), 0);
            let all: Vec<_> = (1..n).map(|to| rank.write_nb(word(to), vec![u64::from(to)])).collect();
            all.into_iter().for_each(|put| drop(put.wait()));
        }
        let everyone = if me == 0 { time().since(start).as_us() } else { 0.0 };
        rank.barrier();
        let mut own = [0u64];
        rank.read_slice(GlobalPtr::new(RankId(me), 0), &mut own);
        assert_eq!(own, [u64::from(me)]);
        [barrier, reduce, exchange, everyone]
    });
    let report = report.map_err(|e| e.to_string())?;
    print_slowest(["barrier", "all_reduce", "all_to_all", "put_to_everyone"], &report.results);
    print_rate(&report, began);
    Ok(())
}

/// Random numbers of an index.
fn mix(index: u64) -> u64 {
    let mut x = index.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// The rank that number `i` of `me` goes to.
fn target(me: u32, i: u64, n: u32) -> u32 {
    (mix(u64::from(me) << 32 | i) % u64::from(n)) as u32
}

/// Virtual nanoseconds of an update whose bytes are put into an array that is spread over all ranks, many at
/// once.
fn together<const WORDS: usize>(world: World) -> f64
where
    [u64; WORDS]: pgas::Plain,
{
    let (me, n) = (world.rank(), world.size());
    let slots = 64;
    let mut array = world.array::<[u64; WORDS]>(slots * n as usize, Layout::Cyclic);
    world.barrier();
    let start = time();
    array.exchange(|array| {
        for i in 0..UPDATES as u64 {
            let to = target(me, i, n) as usize;
            array.put(to + (i as usize % slots) * n as usize, [i; WORDS]);
        }
    });
    world.barrier();
    time().since(start).as_us() * 1000.0 / UPDATES as f64
}

/// The same with a put for each update, all of them under way together.
fn one_by_one<const WORDS: usize>(rank: &'static Rank) -> f64 {
    let (me, n) = (rank.id().0, rank.size());
    rank.barrier();
    let start = time();
    let puts: Vec<_> = (0..MESSAGES as u64)
        .map(|i| rank.write_nb(GlobalPtr::<u64>::new(RankId(target(me, i, n)), 0), vec![i; WORDS]))
        .collect();
    puts.into_iter().for_each(|put| drop(put.wait()));
    rank.barrier();
    time().since(start).as_us() * 1000.0 / MESSAGES as f64
}

fn histogram(model: CostModel, ranks: u32) -> Result<(), String> {
    let cluster = Cluster::new(ranks, model).segment(1 << 20).stack(128 << 10);
    let began = processor_time();
    let report = cluster.run_for_good(|rank| {
        let [a, b, c] = [one_by_one::<1>(rank), one_by_one::<2>(rank), one_by_one::<8>(rank)];
        let [d, e, f] =
            pgas::run_on(rank, |world| [together::<1>(world), together::<2>(world), together::<8>(world)]);
        [a, b, c, d, e, f]
    });
    let report = report.map_err(|e| e.to_string())?;
    let names = ["single_8", "single_16", "single_64", "together_8", "together_16", "together_64"];
    print_slowest(names, &report.results);
    print_rate(&report, began);
    Ok(())
}

/// Insertions into a hash table that is spread over all ranks, and searches in it: virtual nanoseconds of
/// each.
fn map(model: CostModel, ranks: u32) -> Result<(), String> {
    let cluster = Cluster::new(ranks, model).segment(1 << 20).stack(128 << 10);
    let began = processor_time();
    let report = cluster.run_for_good(|rank| {
        pgas::run_on(rank, |world| {
            let table = DistMap::<u64, u64>::new(world);
            let key = |i: u64| mix(u64::from(world.rank()) << 32 | i);
            world.barrier();
            let start = time();
            (0..KEYS).for_each(|i| table.insert(key(i), i));
            world.settle();
            let insert = time().since(start).as_us() * 1000.0 / KEYS as f64;
            world.barrier();
            let start = time();
            let found = table.get_many((0..KEYS).map(key));
            world.barrier();
            assert!(found.iter().zip(0..).all(|(value, i)| *value == Some(i)));
            [insert, time().since(start).as_us() * 1000.0 / KEYS as f64]
        })
    });
    let report = report.map_err(|e| e.to_string())?;
    print_slowest(["map_insert", "map_get"], &report.results);
    print_rate(&report, began);
    Ok(())
}
