//! Loops that look at other ranks' memory until it changes: they end when it does, in all orders, take the
//! time of what they ask, and are a deadlock only if nothing changes any more.

use gasnet::{GlobalPtr, Rank, RankId, Spins};
use gasnet_sim::{Cause, Chooser, Cluster, CostModel, Explore, Failure, Report, Time};

const RANKS: u32 = 4;

fn word(rank: u32, index: u64) -> GlobalPtr<u64> {
    GlobalPtr::new(RankId(rank), index * 8)
}

/// The order of the costs, and others.
fn orders() -> impl Iterator<Item = Option<Chooser>> {
    let explored = ["random", "pos", "pct:2", "pctcp:2", "delay:2"].into_iter().flat_map(|explore| {
        let explore = Explore::named(explore).unwrap();
        (1..=4).map(move |seed| Chooser::new(explore, seed, 40))
    });
    std::iter::once(None).chain(explored)
}

fn run(per_host: u32, chooser: Option<Chooser>, program: impl Fn(&Rank)) -> Result<Report<()>, Failure> {
    let cluster = Cluster::new(RANKS, CostModel::modern_ib()).per_host(per_host).chooser(chooser);
    cluster.most_events(3_000_000).run_for_good(program).map(Report::without_results)
}

/// Loops as programs in C, UPC and Fortran do: the runtime sees reads.
fn loop_until(rank: &Rank, at: GlobalPtr<u64>, most: u32, value: u64) {
    let mut spins = Spins::new();
    for _ in 0..most {
        spins.begin(1);
        let found = rank.read(at);
        if found == value {
            return;
        }
        rank.waits().looked(&mut spins, found + 1, None);
    }
}

fn wait_until(rank: &Rank, at: GlobalPtr<u64>, _: u32, value: u64) {
    rank.wait_until("a word of another rank", || rank.read(at) == value);
}

type Wait = fn(&Rank, GlobalPtr<u64>, u32, u64);
const WAITS: [Wait; 2] = [loop_until, wait_until];

/// All ranks wait for words of others, which third ones write.
#[test]
fn loops_over_far_memory_end_when_it_changes() {
    for (wait, per_host) in [(WAITS[0], 1), (WAITS[1], 1), (WAITS[0], 2), (WAITS[1], 2)] {
        let program = |rank: &Rank| {
            let (me, next) = (rank.id().0, (rank.id().0 + 1) % RANKS);
            if me == 0 {
                (2..RANKS).chain([0]).for_each(|other| rank.write(word(other, 0), 7));
            }
            wait(rank, word(next, 0), u32::MAX, 7);
            if me == RANKS - 1 {
                rank.write(word(1, 0), 7);
            }
        };
        for chooser in orders() {
            run(per_host, chooser, program).unwrap_or_else(|e| panic!("{e}"));
        }
    }
}

/// The others wait in a barrier: nothing arrives anywhere.
#[test]
fn loops_that_count_their_looks_end() {
    let time = |most: u32, tell: bool| {
        let program = |rank: &Rank| {
            if rank.id().0 == 1 {
                match tell {
                    true => loop_until(rank, word(2, 0), most, 7),
                    false => (0..most).for_each(|_| assert_eq!(rank.read(word(2, 0)), 0)),
                }
            }
            rank.barrier();
        };
        run(1, None, program).unwrap_or_else(|e| panic!("{e}")).time
    };
    assert_eq!(time(2000, true), time(2000, false), "a look takes the time of what it asks");
    for chooser in orders() {
        run(1, chooser, |rank| loop_until(rank, word(2, 0), 300, 7)).unwrap_or_else(|e| panic!("{e}"));
    }
}

#[test]
fn a_loop_for_what_nobody_writes_is_a_deadlock() {
    let explored = || Chooser::new(Explore::Random, 1, 40);
    for (wait, why, per_host, chooser) in [
        (WAITS[0], "a loop of the program", 1, None),
        (WAITS[0], "a loop of the program", 2, explored()),
        (WAITS[1], "a word of another rank", 2, None),
        (WAITS[1], "a word of another rank", 1, explored()),
    ] {
        let program = |rank: &Rank| {
            if rank.id().0 < 2 {
                wait(rank, word(2, 0), u32::MAX, 7);
            }
        };
        let failure = run(per_host, chooser, program).expect_err("it never ends");
        let Cause::Deadlock(all) = &failure.what else { panic!("{failure}") };
        assert_eq!(all.len(), RANKS as usize, "{failure}");
        assert_eq!((all[0].why, all[1].why), (why, why), "{failure}");
        assert!(all[0].place.contains("looks.rs:"), "{failure}");
        assert!(failure.time >= Time::us(10e6), "{failure}");
    }
}
