//! Courses other than that of the costs: they find what costs hide, repeat, and break nothing that is right.

use gasnet::{GlobalPtr, Rank, RankId};
use gasnet_sim::{Cause, Chooser, Cluster, CostModel, Explore, Failure, Hardships, Report, Time};

fn word(rank: u32, index: u64) -> GlobalPtr<u64> {
    GlobalPtr::new(RankId(rank), index * 8)
}

const RANKS: u32 = 3;

fn run<T>(chooser: Option<Chooser>, program: impl Fn(&Rank) -> T) -> Result<Report<T>, Failure> {
    Cluster::new(RANKS, CostModel::modern_ib()).chooser(chooser).most_events(100_000).run(program)
}

fn explored<T>(explore: Explore, seed: u64, program: impl Fn(&Rank) -> T) -> Result<Report<T>, Failure> {
    run(Chooser::new(explore, seed, 40), program)
}

/// Two ranks add to a word by reading and writing it.
fn lost_update(rank: &Rank) {
    if rank.id().0 > 0 {
        // By the costs, rank 1 is long done when rank 2 begins.
        gasnet_sim::compute(Time::us(20.0 * f64::from(rank.id().0)));
        let at = word(0, 0);
        rank.write(at, rank.read(at) + 1);
    }
    rank.barrier();
    let sum = rank.read(word(0, 0));
    assert_eq!(sum, 2, "an update is lost");
}

/// The flag may overtake what it announces.
fn flag_before_data(rank: &Rank) {
    match rank.id().0 {
        1 => {
            let data = rank.write_nb(word(0, 0), vec![7]);
            let flag = rank.write_nb(word(0, 1), vec![1]);
            data.wait();
            flag.wait();
        }
        0 => {
            rank.wait_until("the flag", || rank.read(word(0, 1)) == 1);
            assert_eq!(rank.read(word(0, 0)), 7, "the flag came first");
        }
        _ => {}
    }
    rank.barrier();
}

const ALL: [&str; 6] = ["random", "pos", "pct:2", "pctcp:2", "delay:2", "mixed"];

/// The first seed that fails.
fn first_failure(explore: Explore, program: fn(&Rank)) -> Option<(u64, Failure)> {
    (1..=500).find_map(|seed| Some((seed, explored(explore, seed, program).err()?)))
}

#[test]
fn every_strategy_finds_what_costs_hide() {
    for (program, name) in [(lost_update as fn(&Rank), "lost update"), (flag_before_data, "flag")] {
        run(None, program).unwrap_or_else(|e| panic!("{name} by the costs: {e}"));
        for explore in ALL {
            let explore = Explore::named(explore).unwrap();
            let found = first_failure(explore, program);
            let (seed, failure) = found.unwrap_or_else(|| panic!("{explore} does not find: {name}"));
            assert!(matches!(failure.what, Cause::Panic { .. }), "{failure}");
            println!("{name}: {explore} at seed {seed}");
            // The seed repeats it, and so do the picks.
            let again = explored(explore, seed, program).unwrap_err();
            assert_eq!((again.trace, again.events), (failure.trace, failure.events));
            let picks = failure.chooser.as_ref().unwrap().picks().to_vec();
            let again = run(Some(Chooser::again(picks.clone(), true)), program).unwrap_err();
            assert_eq!((again.trace, again.events), (failure.trace, failure.events));
            assert_eq!(again.chooser.unwrap().differs(), None);
            // And so do the holds.
            let first = failure.chooser.as_ref().unwrap();
            let again = run(Some(Chooser::holding(first.holds())), program).unwrap_err();
            let (picks, repeated) = (first.picks(), again.chooser.as_ref().unwrap().picks());
            let differ = picks.iter().zip(repeated).find(|(a, b)| a != b);
            assert_eq!((again.trace, again.events), (failure.trace, failure.events), "{explore}: {differ:?}");
        }
    }
}

#[test]
fn what_is_right_stays_right() {
    let right = |rank: &Rank| {
        let (me, n) = (rank.id().0, rank.size());
        rank.atomics().fetch_add(word(0, 2), u64::from(me));
        for round in 0..3 {
            rank.write(word((me + 1) % n, 8 + u64::from(me)), round + u64::from(me));
            rank.barrier();
            let from = (me + n - 1) % n;
            assert_eq!(rank.read(word(me, 8 + u64::from(from))), round + u64::from(from));
            rank.barrier();
        }
        let team = 3 * (n - 1) / 2;
        assert_eq!(rank.read(word(0, 2)), u64::from(team));
    };
    for explore in ALL {
        let explore = Explore::named(explore).unwrap();
        let mut traces = std::collections::HashSet::new();
        for seed in 1..=100 {
            let report = explored(explore, seed, right).unwrap_or_else(|e| panic!("{explore}: {e}"));
            traces.insert(report.trace);
        }
        assert!(traces.len() > 10, "{explore}: {} courses", traces.len());
    }
}

#[test]
fn whoever_polls_lets_the_others_go_on() {
    let polls = |rank: &Rank| {
        if rank.id().0 == 0 {
            rank.write(word(1, 0), 1);
        } else if rank.id().0 == 1 {
            while rank.read(word(1, 0)) == 0 {
                rank.poll();
            }
        }
        rank.barrier();
    };
    for explore in ALL {
        for seed in 1..=50 {
            let ended = explored(Explore::named(explore).unwrap(), seed, polls);
            ended.unwrap_or_else(|e| panic!("{explore}: {e}"));
        }
    }
}

#[test]
fn hardships_cost_time_and_change_no_result() {
    let program = |rank: &Rank| {
        for i in 0..20 {
            rank.atomics().fetch_add(word((rank.id().0 + 1) % RANKS, 0), i);
        }
        rank.barrier();
        rank.read(word(rank.id().0, 0))
    };
    let time = |hardships: Hardships| {
        let cluster = Cluster::new(RANKS, CostModel::modern_ib()).hardships(hardships);
        let report = cluster.run(program).unwrap();
        assert_eq!(report.results, [190; RANKS as usize]);
        report.time
    };
    let easy = time(Hardships::default());
    let slow = time(Hardships { slow: vec![(1, 10)], ..Hardships::default() });
    assert!(slow > easy * 2, "{slow} and {easy}");
    let stall = (2, Time::ZERO, Time::us(1000.0));
    let stalled = time(Hardships { stalls: vec![stall], ..Hardships::default() });
    assert!(stalled > Time::us(1000.0) && stalled < Time::us(1000.0) + easy * 2, "{stalled} and {easy}");
    assert!(time(Hardships { frames: 2, operations: 8, ..Hardships::default() }) >= easy);
}
