//! Every registration mode carries the same program to the same result.

use gasnet::{GlobalPtr, Rank, RankId};
use gasnet_sim::{Budget, Cluster, CostModel, Registration, Rng, StrategyKind};

fn word(rank: u32, index: u64) -> GlobalPtr<u64> {
    GlobalPtr::new(RankId(rank), index * 8)
}

/// Puts and gets of all sizes by everybody to everybody, each to an area of its own, checked by the
/// initiator.
fn traffic(rank: &Rank) -> u64 {
    let (me, n) = (rank.id().0, rank.size());
    let area = 20_000u64;
    let mut rng = Rng::new(u64::from(me) + 7);
    let mut sum = 0;
    for round in 0..12u64 {
        for peer in (0..n).filter(|p| *p != me) {
            let len = [1, 2, 12, 500, 513, 3000][rng.below(6) as usize] as usize;
            let at = u64::from(me) * area + rng.below(area - len as u64);
            let data: Vec<u64> = (0..len as u64).map(|i| i ^ round << 32 ^ u64::from(me) << 48).collect();
            rank.write_slice(word(peer, at), &data);
            let mut back = vec![0; len];
            rank.read_slice(word(peer, at), &mut back);
            assert!(back == data, "{len} words at {at} of {peer}");
            sum += back[len / 2] & 0xffff;
        }
        rank.atomics().fetch_add(word((me + 1) % n, u64::from(n) * area), 1);
        if round % 4 == 0 {
            rank.barrier();
        }
    }
    rank.barrier();
    assert_eq!(rank.read(word(me, u64::from(n) * area)), 12);
    sum
}

const RANKS: u32 = 4;
const SEGMENT: usize = RANKS as usize * 20_000 * 8 + 4096;

fn modes() -> Vec<(String, Registration)> {
    // Little enough that everything has to be given up and taken again.
    let budget = Budget { m: 60 * 4096, victim: 20 * 4096, bucket: 4096, adaptive: false };
    let mut all = vec![("none".to_string(), Registration::None)];
    for kind in StrategyKind::ALL {
        let budget = match kind {
            StrategyKind::PinEverything | StrategyKind::RendezvousNoUnpin => Budget::PAPER,
            _ => budget,
        };
        all.push((kind.name().into(), Registration::Pinned(kind, budget)));
    }
    for kind in StrategyKind::ALL {
        let frames = match kind {
            StrategyKind::PinEverything | StrategyKind::RendezvousNoUnpin => 0,
            _ => 140,
        };
        let pins = kind != StrategyKind::PinDownCache;
        let held = Registration::Held {
            kind,
            budget: if frames == 0 { Budget::PAPER } else { budget },
            frames,
            pins,
        };
        all.push((format!("{}, held", kind.name()), held));
    }
    all.push(("firehose-over-locks".into(), Registration::FirehoseOverLocks { budget, frames: 0 }));
    all.push(("firehose-over-locks, paging".into(), Registration::FirehoseOverLocks { budget, frames: 50 }));
    all.push(("shadow-lock".into(), Registration::ShadowLock { frames: 0 }));
    all.push(("shadow-lock, paging".into(), Registration::ShadowLock { frames: 250 }));
    all
}

#[test]
fn all_modes_carry_the_same_traffic() {
    let mut sums = None;
    for (name, mode) in modes() {
        let model = CostModel::lanai9_netvm();
        let cluster = Cluster::new(RANKS, model).seed(3).segment(SEGMENT).registration(mode);
        let report = cluster.run(traffic).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(*sums.get_or_insert_with(|| report.results.clone()), report.results, "{name}");
        let again = cluster.run(traffic).unwrap();
        assert_eq!((report.trace, report.time), (again.trace, again.time), "{name} repeats");
        eprintln!("{name}: {} in {:?}, {} events", report.time, report.wall, report.stats.events);
    }
}

/// Leases and firehoses that may take every frame there is leave none for other pages: these come by taking
/// leases back.
#[test]
fn leases_may_take_every_frame() {
    for (frames, adaptive) in [(24, false), (24, true), (50, false), (50, true), (100, false), (100, true)] {
        for synchronous in [false, true] {
            let victim = u64::from(frames) / 4 * 4096;
            let budget = Budget { m: u64::from(frames) * 4096 - victim, victim, bucket: 4096, adaptive };
            let mode = Registration::FirehoseOverLocks { budget, frames };
            let mut model = CostModel::lanai9_netvm();
            model.firmware.synchronous = synchronous;
            let cluster = Cluster::new(RANKS, model).seed(5).segment(SEGMENT).registration(mode);
            let report = cluster.most_events(1_000_000).run(traffic);
            let how = format!("{frames} frames, adaptive {adaptive}, synchronous {synchronous}");
            assert!(report.is_ok(), "{how}: {}", report.unwrap_err());
        }
    }
}

#[test]
fn all_modes_stand_an_unreliable_network() {
    for seed in 0..3 {
        for (name, mode) in modes() {
            let model = CostModel::gm_myrinet2000();
            let net = model.network.clone().unreliable();
            let cluster = Cluster::new(3, model).seed(seed).segment(SEGMENT).registration(mode).network(net);
            let report = cluster.run(traffic);
            assert!(report.is_ok(), "{name}: {}", report.unwrap_err());
        }
    }
}
