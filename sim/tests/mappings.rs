//! Mappings that change under registrations: NICs compare keys when they touch memory, and refuse what is
//! old. The simulation's own map of what is pinned ends it if one does not.
#![expect(unsafe_code, reason = "transfers from and to the own segment, which has no slice")]

use gasnet::{GlobalPtr, Rank, RankId};
use gasnet_sim::{
    Budget, Cluster, CostModel, Netvm, Registered, Registration, Rng, StrategyKind, Time, compute,
    registration, remap,
};

const PAGE: u64 = 4096;
/// Pages of a segment that peers write to; one more is for sources.
const PAGES: u64 = 24;
const SEGMENT: usize = ((PAGES + 1) * PAGE) as usize;
const BUDGET: Budget = Budget { m: 30 * PAGE, victim: 10 * PAGE, bucket: PAGE, adaptive: false };

fn word(rank: u32, offset: u64) -> GlobalPtr<u64> {
    GlobalPtr::new(RankId(rank), offset)
}

/// The own segment.
fn own(rank: &Rank, offset: u64) -> *mut u8 {
    let base = rank.table().get(rank.id()).map_or(core::ptr::null_mut(), |e| e.local);
    base.wrapping_add(offset as usize)
}

/// Every rank writes to pages of the others and maps its own anew, as chance has it.
fn adversary(rank: &Rank) -> Registered {
    let (me, n) = (rank.id().0, rank.size());
    let mut rng = Rng::new(u64::from(me) + 90);
    for round in 1..=120u64 {
        let peer = (me + 1 + rng.below(u64::from(n) - 1) as u32) % n;
        let at = rng.below(PAGES) * PAGE + u64::from(me) * 64;
        let value = round << 8 | u64::from(me);
        rank.write(word(me, PAGES * PAGE), value);
        // SAFETY: eight bytes of the own segment.
        unsafe { rank.put(RankId(peer), at, own(rank, PAGES * PAGE), 8) };
        let back = rank.read(word(peer, at));
        assert!(back == value || back == 0, "{back:#x} instead of {value:#x}, or of nothing");
        if rng.below(3) == 0 {
            compute(Time::us(rng.below(30) as f64));
            let first = rng.below(PAGES);
            remap(first * PAGE, (1 + rng.below(3)).min(PAGES - first) * PAGE);
        }
    }
    rank.barrier();
    // Now that nothing changes, what is written stays.
    for page in 0..PAGES {
        rank.write(word((me + 1) % n, page * PAGE + 2048), page + 7);
        assert_eq!(rank.read(word((me + 1) % n, page * PAGE + 2048)), page + 7);
    }
    rank.barrier();
    registration().unwrap_or_default()
}

#[test]
fn old_registrations_are_refused_and_transfers_begun_again() {
    for kind in StrategyKind::ALL {
        // Nothing else pins ahead of transfers, so only these meet keys that have become old.
        let ahead = matches!(kind, StrategyKind::Firehose | StrategyKind::PinEverything);
        let mut refused = 0;
        for seed in 0..4 {
            let model = CostModel::gm_myrinet2000();
            let network =
                if seed % 2 == 0 { model.network.clone() } else { model.network.clone().unreliable() };
            let cluster = Cluster::new(3, model).seed(seed).segment(SEGMENT).network(network);
            let report = cluster.registration(Registration::Pinned(kind, BUDGET)).run(adversary);
            let report = report.unwrap_or_else(|e| panic!("{}: {e}", kind.name()));
            refused += report.results.iter().map(|r| r.stats.refused).sum::<u64>();
            let keeps = !matches!(kind, StrategyKind::Bounce | StrategyKind::RendezvousUnpin);
            let voided = report.results.iter().all(|r| r.stats.voided > 0);
            assert!(voided || !keeps, "{}: nothing was remapped", kind.name());
        }
        assert!(!ahead || refused > 5, "{}: {refused} transfers refused", kind.name());
    }
}

/// Where NICs lock pages nothing is ever refused: what is unmapped is not found, and comes in by a fault.
#[test]
fn locks_follow_mappings_by_themselves() {
    for frames in [0, 12] {
        for mode in
            [Registration::ShadowLock { frames }, Registration::FirehoseOverLocks { budget: BUDGET, frames }]
        {
            let cluster = Cluster::new(3, CostModel::lanai9_netvm()).segment(SEGMENT).registration(mode);
            let report = cluster.run(adversary).unwrap_or_else(|e| panic!("{mode:?}: {e}"));
            assert!(report.results.iter().all(|r| r.stats.refused == 0), "{mode:?}");
        }
    }
}

/// The initiator's own end: the destination of a get is mapped anew while the bytes are on their way.
#[test]
fn bytes_for_an_old_destination_are_fetched_again() {
    let mode = Registration::Pinned(StrategyKind::Firehose, BUDGET);
    let cluster = Cluster::new(2, CostModel::gm_myrinet2000()).segment(SEGMENT).registration(mode);
    let report = cluster.run(|rank| {
        let me = rank.id().0;
        (0..512).for_each(|i| rank.write(word(me, i * 8), i + 1000 * u64::from(me)));
        rank.barrier();
        if me == 0 {
            let to = own(rank, PAGE);
            // SAFETY: a page of the own segment, which nobody else uses before the get is over.
            let event = unsafe { rank.get_nb(to, RankId(1), 0, PAGE as usize) };
            remap(PAGE, PAGE);
            rank.wait(event);
            (0..512).for_each(|i| assert_eq!(rank.read(word(0, PAGE + i * 8)), i + 1000));
        }
        rank.barrier();
        registration().unwrap_or_default().stats.refused
    });
    assert_eq!(report.unwrap().results, [1, 0]);
}

/// Leases are real locks in the NIC's table: transfers go under them, and the host takes them back when pages
/// wait for frames.
#[test]
fn leases_are_taken_used_and_recalled() {
    let run = |frames| {
        let mode = Registration::FirehoseOverLocks { budget: BUDGET, frames };
        let cluster = Cluster::new(2, CostModel::lanai9_netvm()).segment(SEGMENT).registration(mode);
        let report = cluster.run(|rank| {
            let netvm = Netvm::current().unwrap();
            rank.barrier();
            if rank.id().0 == 0 {
                for round in 0..3 {
                    for page in 0..PAGES {
                        rank.write(word(1, page * PAGE), page << 8 | round);
                    }
                }
                for page in 0..PAGES {
                    assert_eq!(rank.read(word(1, page * PAGE)), page << 8 | 2);
                }
            }
            rank.barrier();
            (netvm.firmware(1).0, netvm.host(1), registration().unwrap_or_default())
        });
        let report = report.unwrap_or_else(|e| panic!("{frames} frames: {e}"));
        let (nic, host, target) = report.results[1];
        let initiator = report.results[0].2;
        eprintln!("{frames} frames: {nic:?} {host:?} {initiator:?}");
        (nic, host, target, initiator)
    };
    let (nic, host, target, initiator) = run(0);
    assert_eq!(
        (target.stats.pins, nic.recalled, host.recalled),
        (PAGES, 0, 0),
        "a lease for each page, kept"
    );
    assert_eq!(initiator.stats.requests, PAGES, "one move for each page");
    assert!(nic.leased >= 4 * PAGES, "all transfers go under leases: {nic:?}");
    assert!(nic.locks < PAGES, "and lock nothing: {nic:?}");
    // Frames for half of the pages: leases come and go, and nothing waits for the target's program.
    let (nic, host, target, _) = run(12);
    assert!(nic.recalled >= PAGES / 2 && host.recalled == nic.recalled, "{nic:?} {host:?}");
    assert!(target.stats.voided > 0, "the strategy is told");
    assert!(nic.bounces > 0 || host.page_ins > PAGES, "{nic:?} {host:?}");
}
