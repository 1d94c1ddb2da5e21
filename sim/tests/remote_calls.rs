//! Remote calls and arrays of the crate `pgas` on simulated hosts: what they compute, and what they cost in
//! virtual time.

use gasnet_sim::{Cluster, CostModel, Time, now};
use pgas::{Layout, Reply, World};
use std::sync::Mutex;

fn ib(ranks: u32) -> Cluster {
    Cluster::new(ranks, CostModel::modern_ib())
}

/// Passes the duty to answer on to the next rank, `hops` times; the last one names itself.
fn pass_on(world: World, (hops, reply): (u32, Reply<u32>)) {
    if hops == 0 {
        return reply.answer(&world.rank());
    }
    world.send((world.rank() + 1) % world.size(), pass_on, (hops - 1, reply));
}

/// Every rank floods every other with calls whose answers come from further ranks of the ring, while it waits
/// for nothing, and each function sends in turn. A rank's functions stay apart from those of the ranks that
/// have their turn in the middle of them.
#[test]
fn calls_of_all_to_all_that_are_passed_on_end() {
    for (ranks, seed) in [(1, 1), (2, 2), (5, 3), (16, 4)] {
        let report = ib(ranks).seed(seed).run_for_good(|rank| {
            pgas::run_on(rank, |world| {
                let (n, me) = (world.size(), world.rank());
                let seen = world.share(Mutex::new(vec![0u32; n as usize]));
                let mut pending = Vec::new();
                for round in 0..20 {
                    for to in world.ranks() {
                        let ask = |world, reply, hops: u32| pass_on(world, (hops, reply));
                        pending.push(((to + round % 9) % n, world.ask(to, ask, round % 9)));
                        seen.send(to, |seen, from: u32| seen.lock().unwrap()[from as usize] += 1, me);
                    }
                }
                for (last, answer) in pending {
                    assert_eq!(answer.wait(), last);
                }
                world.settle();
                assert_eq!(*seen.local().lock().unwrap(), vec![20; n as usize]);
            })
        });
        report.unwrap_or_else(|failure| panic!("{ranks} ranks: {failure}"));
    }
}

/// Virtual time of a call of rank 1, which answers itself or has rank 2 answer, with so many bytes.
fn round_trip(bytes: usize, delegated: bool) -> Time {
    let report = ib(3).run_for_good(move |rank| {
        pgas::run_on(rank, move |world| {
            let mut took = Time::ZERO;
            if world.rank() == 0 {
                let ask = |world: World, reply: Reply<Vec<u8>>, (bytes, delegated): (usize, bool)| {
                    if !delegated {
                        return reply.answer(&vec![7; bytes]);
                    }
                    let answer = |_, (reply, bytes): (Reply<Vec<u8>>, usize)| reply.answer(&vec![7; bytes]);
                    world.send(2, answer, (reply, bytes));
                };
                // The first calls make connections and buffers.
                for _ in 0..3 {
                    let start = now().unwrap();
                    assert_eq!(world.ask(1, ask, (bytes, delegated)).wait(), vec![7; bytes]);
                    took = now().unwrap() - start;
                }
            }
            world.barrier();
            took
        })
    });
    report.unwrap_or_else(|failure| panic!("{failure}")).results[0]
}

/// The answer goes straight to who called: what a call that is passed on takes longer is one message, of any
/// answer. A long answer is put in place, after an offer. Of the hop, one handler's time is then hidden.
#[test]
fn to_pass_a_call_on_costs_one_hop() {
    let extra = |bytes| (round_trip(bytes, true) - round_trip(bytes, false)).as_us();
    let (hop, message) = (extra(8), round_trip(8, false).as_us() / 2.0);
    for bytes in [8, 1 << 10, 8 << 10, 64 << 10, 1 << 20] {
        let extra = extra(bytes);
        println!("{bytes} bytes: {extra} us more, of {}", round_trip(bytes, true));
        let least = if bytes < 64 << 10 { 0.9 } else { 0.8 };
        assert!((least * hop..1.1 * hop).contains(&extra), "{bytes} bytes: {extra} us, not {hop}");
    }
    assert!((0.9 * message..1.1 * message).contains(&hop), "a hop takes {hop} us, a message {message}");
}

/// Resident memory of the process.
fn resident() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

/// A histogram over many ranks: updates are aggregated, and a rank needs memory for the square root of the
/// ranks only.
#[test]
fn a_histogram_of_1024_ranks() {
    const RANKS: u32 = 1024;
    const BINS: usize = 8 * RANKS as usize;
    const SAMPLES: usize = 500;
    let before = resident();
    let report = ib(RANKS).run_for_good(|rank| {
        pgas::run_on(rank, |world| {
            let mut random = fastrand::Rng::with_seed(u64::from(world.rank()));
            let mut bins = world.array::<u64>(BINS, Layout::Cyclic);
            bins.update(|bins| (0..SAMPLES).for_each(|_| bins.add(random.usize(..BINS), 1)));
            let mut own = 0;
            bins.local(|mine: &mut [u64]| own = mine.iter().sum());
            own
        })
    });
    let report = report.unwrap_or_else(|failure| panic!("{failure}"));
    assert_eq!(report.results.iter().sum::<u64>(), u64::from(RANKS) * SAMPLES as u64);
    let each = (resident() - before) / u64::from(RANKS);
    println!(
        "{each} bytes of memory a rank, {} of virtual time, {} packets",
        report.time, report.stats.packets
    );
    assert!(each < 1 << 20, "{each} bytes of memory a rank");
}
