//! The runtime on simulated hosts: what it computes, that it repeats, and that what hangs is explained.

use gasnet::{GlobalPtr, Handler, Rank, RankId};
use gasnet_sim::{Cause, Chooser, Cluster, CostModel, Explore, Failure, Time, compute};
use std::sync::atomic::{AtomicU64, Ordering};

fn ib(ranks: u32) -> Cluster {
    Cluster::new(ranks, CostModel::modern_ib())
}

fn word(rank: u32, index: u64) -> GlobalPtr<u64> {
    GlobalPtr::new(RankId(rank), index * 8)
}

/// Puts, gets, atomics, messages and barriers, everything checked.
fn medley(rank: &Rank) -> u64 {
    let (me, n) = (rank.id().0, rank.size());
    let next = (me + 1) % n;
    rank.write(word(next, 0), u64::from(me) + 100);
    rank.barrier();
    assert_eq!(rank.read(word(me, 0)), u64::from((me + n - 1) % n) + 100);
    assert_eq!(rank.read(word(next, 0)), u64::from(me) + 100);
    let bulk: Vec<u64> = (0..5000).map(|i| i * u64::from(me + 1)).collect();
    rank.write_slice(word(next, 100), &bulk);
    let mut back = vec![0u64; 5000];
    rank.read_slice(word(next, 100), &mut back);
    assert_eq!(bulk, back);
    rank.atomics().fetch_add(word(0, 1), u64::from(me));
    rank.barrier();
    let sum = rank.read(word(0, 1));
    assert_eq!(sum, u64::from(n * (n - 1) / 2));
    compute(Time::us(3.0));
    rank.barrier();
    sum
}

#[test]
fn the_runtime_works_on_simulated_hosts() {
    for n in [1, 2, 3, 8] {
        let report = ib(n).run(medley).unwrap();
        assert_eq!(report.results.len(), n as usize);
        assert!(report.time >= Time::us(3.0) && report.time < Time::us(5000.0), "{}", report.time);
    }
}

#[test]
fn messages_run_handlers_and_replies_come_back() {
    let report = ib(5)
        .run(|rank| {
            let got = std::sync::Arc::new(AtomicU64::new(0));
            let (a, b) = (got.clone(), got.clone());
            let request = Handler::new(move |token, m| {
                a.fetch_add(u64::from(m.args[0]), Ordering::Relaxed);
                token.reply_medium(201, m.args, m.bytes()).unwrap();
            });
            rank.register(200, request).unwrap();
            let reply = Handler::new(move |_, m| {
                assert_eq!(m.bytes(), [7; 3000]);
                b.fetch_add(1000, Ordering::Relaxed);
            });
            rank.register(201, reply).unwrap();
            rank.barrier();
            for to in rank.ranks() {
                // More than a peer has room for, so that sending blocks at times.
                for _ in 0..200 {
                    rank.request_medium(to, 200, &[1], &[7; 3000]).unwrap();
                }
            }
            rank.wait_until("all answers", || got.load(Ordering::Relaxed) == 5 * 200 * 1001);
        })
        .unwrap();
    assert!(report.stats.packets > 8000);
}

/// Rank 0 attaches at once; the others need its answers, more than they have room for, before they do.
#[test]
fn ranks_that_attach_serve_messages() {
    let program = |rank: &Rank| {
        let got = std::sync::Arc::new(AtomicU64::new(0));
        let counted = got.clone();
        let request = Handler::new(|token, m| token.reply_medium(201, m.args, m.bytes()).unwrap());
        let reply = Handler::new(move |_, _| {
            counted.fetch_add(1, Ordering::Relaxed);
        });
        rank.register(200, request).unwrap();
        rank.register(201, reply).unwrap();
        rank.barrier();
        if rank.id().0 > 0 {
            (0..200).for_each(|i| rank.request_medium(RankId(0), 200, &[i], &[7; 300]).unwrap());
            rank.wait_until("all answers", || got.load(Ordering::Relaxed) == 200);
        }
        rank.attach(1 << 16, None).unwrap();
        rank.barrier();
    };
    for (survive, order) in [(false, None), (false, Some("random")), (true, None), (true, Some("pos"))] {
        let chooser = order.and_then(|order| Chooser::new(Explore::named(order).unwrap(), 1, 1000));
        let job = ib(4).segment(0).survive(survive).chooser(chooser);
        job.run_for_good(program).unwrap_or_else(|failure| panic!("{survive}, {order:?}: {failure}"));
    }
}

#[test]
fn a_seed_fixes_everything() {
    let run = |seed| {
        let net = CostModel::modern_ib().network.unreliable();
        let report = ib(6).seed(seed).network(net).run(medley).unwrap();
        assert!(report.stats.lost > 0 && report.stats.doubled > 0);
        (report.trace, report.time, report.stats)
    };
    let first = run(42);
    assert_eq!(first, run(42));
    assert_ne!(first.0, run(43).0);
}

#[test]
fn an_unreliable_network_changes_no_result() {
    for seed in 0..20 {
        let net = CostModel::gm_myrinet2000().network.unreliable();
        let report = ib(4).seed(seed).network(net).run(medley);
        assert!(report.is_ok(), "{}", report.unwrap_err());
    }
}

fn failure<T: std::fmt::Debug>(r: Result<T, Failure>) -> Failure {
    r.expect_err("must fail")
}

#[test]
fn who_waits_for_ever_is_named() {
    let f = failure(ib(3).seed(77).run(|rank| {
        if rank.id().0 != 1 {
            rank.barrier();
        } else {
            rank.wait_until("godot", || false);
        }
    }));
    let Cause::Deadlock(all) = &f.what else { panic!("{f}") };
    assert_eq!(all.len(), 3);
    assert!(f.to_string().contains("seed 77"), "{f}");
    assert!(f.to_string().contains("rank 1 waits for godot"), "{f}");
}

#[test]
fn a_panic_ends_the_simulation_with_its_seed() {
    let f = failure(ib(3).seed(5).run(|rank| {
        rank.barrier();
        assert!(rank.id().0 != 2, "two is too many");
        rank.barrier();
    }));
    let Cause::Panic { rank: 2, text, .. } = &f.what else { panic!("{f}") };
    assert!(text.contains("too many") && f.to_string().contains("seed 5"));
}

#[test]
fn a_rank_that_ends_the_job_ends_the_simulation_only() {
    let f = failure(ib(3).seed(6).run(|rank| {
        if rank.id().0 == 2 {
            rank.global_exit(9);
        }
        rank.barrier();
    }));
    assert!(matches!(f.what, Cause::Ended { rank: 2, code: 9, .. }), "{f}");
    let f = failure(ib(2).seed(6).run(|rank| {
        rank.write(word(1 - rank.id().0, 1 << 40), 1);
    }));
    let Cause::Ended { code: 1, text, .. } = &f.what else { panic!("{f}") };
    assert!(text.contains("outside the segment"), "{f}");
}

#[test]
fn a_rank_that_spins_without_calling_the_runtime_is_reported() {
    let report = ib(2)
        .stall(std::time::Duration::from_millis(100))
        .run(|rank| {
            if rank.id().0 == 1 {
                let begin = std::time::Instant::now();
                // The watchdog has to get a processor meanwhile.
                while begin.elapsed() < std::time::Duration::from_secs(2) {
                    std::hint::spin_loop();
                }
            }
        })
        .unwrap();
    // This thread may lose the processor for as long elsewhere.
    assert!(report.stalls >= 1);
}

#[test]
fn programs_that_poll_by_themselves_get_along() {
    let report = ib(2)
        .run(|rank| {
            let me = rank.id().0;
            rank.write(word(1 - me, 0), 1);
            while rank.read(word(me, 0)) == 0 {
                rank.poll();
            }
        })
        .unwrap();
    assert!(report.time < Time::us(100.0));
}

#[test]
fn times_are_the_models() {
    for (model, put, trip) in [(CostModel::gm_myrinet2000(), 14.0, 20.0), (CostModel::modern_ib(), 1.2, 2.0)]
    {
        let report = Cluster::new(2, model)
            .run(|rank| {
                rank.barrier();
                let begin = gasnet_sim::now().unwrap();
                if rank.id().0 == 0 {
                    rank.write(word(1, 0), 1);
                }
                let put = gasnet_sim::now().unwrap().since(begin);
                rank.barrier();
                let begin = gasnet_sim::now().unwrap();
                if rank.id().0 == 0 {
                    // An atomic is a message and its reply.
                    rank.atomics().fetch_add(word(1, 1), 1);
                }
                (put, gasnet_sim::now().unwrap().since(begin))
            })
            .unwrap();
        let (p, t) = report.results[0];
        assert!((p.as_us() - put).abs() / put < 0.05, "put {p}");
        assert!((t.as_us() - trip).abs() / trip < 0.15, "round trip {t}");
    }
}

#[test]
fn a_thousand_ranks() {
    let report = ib(1024)
        .segment(4096)
        .run(|rank| {
            let (me, n) = (rank.id().0, rank.size());
            for k in 0..8 {
                rank.write(word((me + 1 + k * 37) % n, u64::from(k)), u64::from(me));
            }
            rank.barrier();
        })
        .unwrap();
    assert!(report.stats.events > 8 * 1024);
    eprintln!("{} events in {:?}, {} turns", report.stats.events, report.wall, report.stats.turns);
}
