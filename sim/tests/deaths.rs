//! Ranks that are killed, and those that go on.

use gasnet::{GlobalPtr, Rank, RankId};
use gasnet_sim::{Cause, Cluster, CostModel, Failure, Hardships, Moment, Report, Time, compute};

fn ib(ranks: u32, kills: Vec<(u32, Moment)>) -> Cluster {
    Cluster::new(ranks, CostModel::modern_ib()).hardships(Hardships { kills, ..Hardships::default() })
}

fn at(us: f64) -> Moment {
    Moment::At(Time::us(us))
}

#[test]
fn a_death_ends_the_job_by_default() {
    for moment in [at(3.0), Moment::Event(7)] {
        let failure = ib(3, vec![(1, moment)]).run(|rank| (0..20).for_each(|_| rank.barrier())).unwrap_err();
        assert!(matches!(failure.what, Cause::Ended { rank: 1, code: 137, .. }), "{failure}");
    }
}

/// In each world all ranks add one to a word of the first and meet, ten times; then those that are left say
/// how many they are.
fn count(world: pgas::World) -> (u32, u32) {
    let mut world = world;
    loop {
        let done = world.attempt(|world| {
            let mut sum = 0;
            for _ in 0..10 {
                compute(Time::us(1.0));
                sum = world.reduce(1u32, |a, b| a + b);
            }
            sum
        });
        match done {
            Ok(sum) => return (sum, world.size()),
            Err(_) => world = world.shrink(),
        }
    }
}

fn job(ranks: u32, kills: Vec<(u32, Moment)>) -> Result<Report<(u32, u32)>, Failure> {
    ib(ranks, kills).survive(true).run_for_good(|rank| pgas::run_on(rank, count))
}

fn survivors(ranks: u32, kills: Vec<(u32, Moment)>) -> Report<(u32, u32)> {
    job(ranks, kills).unwrap_or_else(|failure| panic!("{failure}"))
}

#[test]
fn the_others_go_on_in_a_world_of_their_own() {
    assert_eq!(survivors(4, vec![]).results, [(4, 4); 4]);
    let report = survivors(4, vec![(2, at(20.0))]);
    assert_eq!(report.results, [(3, 3); 3], "{}", report.time);
    let again = survivors(4, vec![(2, at(20.0))]);
    assert_eq!((report.trace, report.time), (again.trace, again.time));
    assert_eq!(survivors(5, vec![(0, at(20.0)), (4, at(20.5)), (1, at(40.0))]).results, [(2, 2); 2]);
}

/// A death at any moment. Before the first attempt it ends the job, as it does live.
#[test]
fn every_event_may_be_the_moment_of_a_death() {
    let events = survivors(3, vec![]).stats.events;
    let (mut survived, mut ended) = (0, 0);
    for event in (0..events).step_by(events.div_ceil(60).max(1) as usize) {
        for victim in 0..3 {
            match job(3, vec![(victim, Moment::Event(event))]) {
                Ok(report) => {
                    // Some may be done before it dies.
                    let fine = |(sum, size): &(u32, u32)| sum == size;
                    let results = report.results;
                    assert!(results.len() >= 2 && results.iter().all(fine), "{event}, {victim}: {results:?}");
                    survived += 1;
                }
                Err(failure) => {
                    let what = failure.to_string();
                    let known = [format!("rank {victim} has died"), format!("needs rank {victim}")];
                    assert!(known.iter().any(|text| what.contains(text)), "{event}, {victim}: {what}");
                    ended += 1;
                }
            }
        }
    }
    println!("of {events} events: {survived} deaths survived, {ended} before the first attempt");
    assert!(survived > ended, "{survived} {ended}");
}

/// Ranks of a host share memory: what one stores, the others see, and wait for.
#[test]
fn neighbours_wait_for_stores() {
    let pass = |rank: &Rank| {
        let (me, n) = (rank.id().0, rank.size());
        let word = |rank: u32| GlobalPtr::<u64>::new(RankId(rank), 0);
        rank.barrier();
        for round in 1..=5u64 {
            if me > 0 || round > 1 {
                let expected = if me == 0 { round - 1 } else { round };
                rank.wait_until("the word", || rank.read(word(me)) >= expected);
            }
            rank.write(word((me + 1) % n), round);
        }
        rank.barrier();
        rank.neighbours().len()
    };
    for (ranks, per_host) in [(2, 2), (6, 3), (16, 8), (7, 4)] {
        let report = Cluster::new(ranks, CostModel::modern_ib()).per_host(per_host).run(pass);
        let report = report.unwrap_or_else(|failure| panic!("{ranks} by {per_host}: {failure}"));
        assert_eq!(report.results[0], per_host as usize);
    }
    // A wait among neighbours that nobody ends.
    let stuck = |rank: &Rank| {
        rank.barrier();
        if rank.id().0 == 1 {
            rank.wait_until("what nobody stores", || rank.read(GlobalPtr::<u64>::new(RankId(1), 0)) > 0);
        }
        rank.barrier();
    };
    let failure = Cluster::new(4, CostModel::modern_ib()).per_host(2).run(stuck).unwrap_err();
    assert!(failure.to_string().contains("rank 1 waits for what nobody stores"), "{failure}");
}
