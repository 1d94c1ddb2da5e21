//! Ranks that run ahead of the clock take the same time as those that give their turns away for each message.

use gasnet::{GlobalPtr, Rank, RankId};
use gasnet_sim::{Cluster, CostModel, Hardships, Report, Time, now};

fn word(rank: u32, index: u64) -> GlobalPtr<u64> {
    GlobalPtr::new(RankId(rank), index * 8)
}

/// The same program, ahead of the clock and step by step: a stall that never comes makes ranks do that.
fn both<T>(ranks: u32, model: &CostModel, program: impl Fn(&Rank) -> T) -> [Report<T>; 2] {
    let never = (0, Time::us(1e12), Time::us(1e12 + 1.0));
    [vec![], vec![never]].map(|stalls| {
        let cluster = Cluster::new(ranks, model.clone()).segment(4096);
        cluster.hardships(Hardships { stalls, ..Hardships::default() }).run(&program).unwrap()
    })
}

#[test]
fn one_that_acts_alone_takes_the_same_time() {
    for model in [CostModel::modern_ib(), CostModel::gm_myrinet2000()] {
        let [ahead, steps] = both(3, &model, |rank| {
            rank.barrier();
            let begin = now().unwrap();
            if rank.id().0 == 0 {
                // Messages and their replies, and puts between them.
                for k in 0..10 {
                    rank.atomics().fetch_add(word(1 + k % 2, 0), 1);
                    rank.write(word(2, 1), 1);
                }
            }
            let took = now().unwrap().since(begin);
            rank.barrier();
            took
        });
        assert_eq!(ahead.results[0], steps.results[0], "{}", model.name);
        assert!(ahead.stats.turns < steps.stats.turns, "{:?} {:?}", ahead.stats, steps.stats);
    }
}

#[test]
fn many_at_once_take_about_the_same_time() {
    const RANKS: u32 = 32;
    let [ahead, steps] = both(RANKS, &CostModel::modern_ib(), |rank| {
        for k in 0..40 {
            rank.atomics().fetch_add(word(0, k % 4), 1);
            rank.atomics().fetch_add(word((rank.id().0 + k as u32) % RANKS, 5), 1);
        }
        rank.barrier();
        let sum = (0..4).map(|k| rank.read(word(0, k))).sum::<u64>();
        assert_eq!(sum, u64::from(RANKS) * 40);
        rank.barrier();
    });
    let (ahead, steps) = (ahead.time.as_us(), steps.time.as_us());
    assert!((ahead - steps).abs() < 0.1 * steps, "{ahead} us ahead, {steps} us step by step");
}
