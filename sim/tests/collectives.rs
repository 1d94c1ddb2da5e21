//! Collective operations by NICs alone (`GASNET_COLL=nic`): what they compute, against oracles; and that no
//! host does anything between entry and exit.

use gasnet::atomics::Function;
use gasnet::barrier::Outcome;
use gasnet::coll::PendingCollective;
use gasnet::sync::port::NicPort;
use gasnet::{Config, Rank, Team};
use gasnet_sim::{Cluster, CostModel, Netvm, Registration, Report, Time, compute};

fn cluster(ranks: u32, seed: u64, frames: u32) -> Cluster {
    let config = Config { quiet: true, coll_nic: true, ..Config::default() };
    Cluster::new(ranks, CostModel::modern_ib())
        .registration(Registration::ShadowLock { frames })
        .seed(seed)
        .config(config)
        .most_events(20_000_000)
}

/// The values that member `i` brings to operation `op`.
fn values(op: usize, i: usize, n: usize) -> Vec<u64> {
    (0..n)
        .map(|k| fastrand::Rng::with_seed((op * 1_000_003 + i * 1009 + k) as u64).usize(..1 << 20) as u64)
        .collect()
}

/// Order counts, and it is associative.
fn join(a: u64, b: u64) -> u64 {
    let f = |x: u64| (x >> 32, x & 0xffff_ffff);
    let ((a1, a0), (b1, b0)) = (f(a), f(b));
    // Affine maps x -> p x + q modulo 2^32.
    ((a1 * b1) & 0xffff_ffff) << 32 | ((a1 * b0 + a0) & 0xffff_ffff)
}

fn fold(op: usize, members: std::ops::Range<usize>, n: usize, f: fn(u64, u64) -> u64) -> Vec<u64> {
    let mut all = members.map(|i| values(op, i, n));
    let first = all.next().expect("somebody");
    all.fold(first, |sum, v| sum.iter().zip(v).map(|(a, b)| f(*a, b)).collect())
}

/// Random operations on a team; `skew` is this rank's own chance.
fn operations(team: &Team, random: &mut fastrand::Rng, skew: &mut fastrand::Rng, count: usize) {
    let (me, size) = (team.me(), team.size());
    let part = 64 / size.max(1);
    for op in 0..count {
        let root = random.usize(..size);
        let of = random.usize(..14);
        // Mostly a page, which NICs do; what they combine and spread around the length where they take a tree
        // for it; some blocks of several pages; some that are too long for them.
        let n = match random.usize(..16) {
            3..=9 if matches!(of, 1 | 6 | 7) => (2048 / size).saturating_sub(20) + random.usize(..300),
            0 | 1 => 90 + random.usize(..500),
            2 => 500 + random.usize(..3000),
            _ => random.usize(..part.max(1)) + usize::from(part > 0),
        };
        let mine = values(op, me, n);
        let all: Vec<u64> = (0..size).flat_map(|i| values(op, i, n)).collect();
        if skew.usize(..3) == 0 {
            compute(Time::us(skew.usize(..40) as f64));
        }
        match of {
            0 => team.barrier(),
            1 => {
                let mut v = if me == root { values(op, root, n) } else { vec![0; n] };
                team.broadcast(root, &mut v);
                assert_eq!(v, values(op, root, n), "broadcast");
            }
            2 => {
                let mut got = vec![0; n];
                team.scatter(root, if me == root { &all } else { &[] }, &mut got);
                assert_eq!(got, mine, "scatter");
            }
            3 => assert_eq!(team.gather(root, &mine), if me == root { all } else { vec![] }, "gather"),
            4 => assert_eq!(team.gather_all(&mine), all, "gather_all"),
            5 => {
                let n = n.min(1 + 60 / (size * size));
                let to: Vec<u64> = (0..size).flat_map(|j| values(op * 100 + j, me, n)).collect();
                let from: Vec<u64> = (0..size).flat_map(|i| values(op * 100 + me, i, n)).collect();
                assert_eq!(team.exchange(&to), from, "exchange");
            }
            6 => {
                let sum = fold(op, 0..size, n, u64::wrapping_add);
                let want = if me == root { sum } else { vec![] };
                assert_eq!(team.reduce_with(root, &mine, Function::Add), want, "reduce");
            }
            7 => {
                let most = fold(op, 0..size, n, u64::max);
                assert_eq!(team.reduce_all_with(&mine, Function::Max), most, "reduce_all");
            }
            8 => assert_eq!(team.reduce_all(&mine, join), fold(op, 0..size, n, join), "in order"),
            9 => {
                let want = if me == root { fold(op, 0..size, n, join) } else { vec![] };
                assert_eq!(team.reduce(root, &mine, join), want, "reduce in order");
            }
            10 => assert_eq!(team.scan(&mine, join), fold(op, 0..me + 1, n, join), "scan"),
            of => {
                blocks_that_differ(team, of, root, &Lengths(op as u64 ^ random.usize(..1 << 30) as u64, size))
            }
        }
    }
}

/// How many words member `i` of so many has for member `j`: often none, mostly a few, at times more than a
/// place on the board.
struct Lengths(u64, usize);

impl Lengths {
    fn of(&self, i: usize, j: usize) -> usize {
        let mut random = fastrand::Rng::with_seed(self.0 << 24 ^ (i << 12 ^ j) as u64);
        match random.usize(..8) {
            0..=2 => 0,
            3..=5 => 1 + random.usize(..20),
            6 => 1 + random.usize(..8000 / self.1),
            _ => 1 + random.usize(..80_000 / self.1),
        }
    }

    fn block(&self, i: usize, j: usize) -> Vec<u64> {
        values(self.0 as usize & 0xffff | j << 16, i, self.of(i, j))
    }
}

fn blocks_that_differ(team: &Team, of: usize, root: usize, lengths: &Lengths) {
    let (me, size) = (team.me(), team.size());
    let counts: Vec<usize> = (0..size).map(|i| lengths.of(i, 0)).collect();
    let all = || (0..size).flat_map(|i| lengths.block(i, 0)).collect::<Vec<u64>>();
    let mine = lengths.block(me, 0);
    match of {
        11 => {
            let mut got = vec![0; counts[me]];
            let (all, counts) = if me == root { (all(), counts) } else { (vec![], vec![]) };
            team.scatter_v(root, &all, &counts, &mut got);
            assert_eq!(got, mine, "scatter_v");
        }
        12 => {
            let (all, counts) = if me == root { (all(), counts) } else { (vec![], vec![]) };
            assert_eq!(team.gather_v(root, &mine, &counts), all, "gather_v");
        }
        _ => {
            let to: Vec<usize> = (0..size).map(|j| lengths.of(me, j)).collect();
            let from: Vec<usize> = (0..size).map(|i| lengths.of(i, me)).collect();
            let values: Vec<u64> = (0..size).flat_map(|j| lengths.block(me, j)).collect();
            let want: Vec<u64> = (0..size).flat_map(|i| lengths.block(i, me)).collect();
            assert_eq!(team.exchange_v(&values, &to, &from), want, "exchange_v");
        }
    }
}

/// Commands of rank 0 that were triggered; a rank alone has no NIC.
fn triggered() -> u64 {
    Netvm::current().map_or(0, |nic| nic.firmware(0).0.triggered)
}

#[test]
fn random_operations_compute_what_oracles_say() {
    for (ranks, seed) in [(1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (8, 6), (13, 7), (40, 8)] {
        let program = |rank: &'static Rank| {
            let team = rank.team_all();
            let mut skew = fastrand::Rng::with_seed(seed << 32 | u64::from(rank.id().0));
            operations(&team, &mut fastrand::Rng::with_seed(seed), &mut skew, 60);
            let done = triggered();
            // Teams of their own, and more of them than NICs have places for.
            for round in 0..5 {
                let color = (rank.id().0 + round) % 2;
                let half = team.split(Some(color), 100 - rank.id().0).expect("a color");
                let mut random =
                    fastrand::Rng::with_seed(seed << 8 | u64::from(round) << 1 | u64::from(color));
                operations(&half, &mut random, &mut skew, 12);
            }
            done
        };
        let report = cluster(ranks, seed, 0).run_for_good(program).unwrap_or_else(|e| panic!("{e}"));
        assert!(ranks == 1 || report.results.iter().all(|done| *done > 0), "NICs have done it");
    }
}

/// Pages of boards come and go, too.
#[test]
fn boards_may_be_paged_out() {
    let program = |rank: &'static Rank| {
        let team = rank.team_all();
        let mut skew = fastrand::Rng::with_seed(u64::from(rank.id().0));
        for round in 0..6 {
            operations(&team, &mut fastrand::Rng::with_seed(round), &mut skew, 6);
            // Puts all over the segment of the next rank push other pages out.
            let next = gasnet::RankId((rank.id().0 + 1) % rank.size());
            for page in 0..200u64 {
                rank.write(gasnet::GlobalPtr::<u64>::new(next, page * 4096), round);
            }
        }
        rank.barrier();
        Netvm::current().expect("a NetVM NIC").firmware(rank.id().0).0.bounces
    };
    let report = cluster(4, 9, 180).run_for_good(program).unwrap_or_else(|e| panic!("{e}"));
    assert!(report.results.iter().sum::<u64>() > 0, "something was missing at some time");
}

/// One operation, split in two: what hosts do between entry and exit.
fn counted(count: usize) -> Report<u64> {
    let program = move |rank: &'static Rank| {
        let team = rank.team_all();
        let (me, size) = (team.me(), team.size() as u64);
        let nic = rank.nic().expect("netvm has one");
        let again = team.split(Some(0), me as u32).expect("a color");
        let mut waited = 0;
        for i in 0..count {
            compute(Time::us((7 * me + i % 5) as f64));
            let mut check = |start: &mut dyn FnMut() -> Box<dyn FnOnce()>| {
                let end = start();
                let posted = nic.posted();
                end();
                assert_eq!(nic.posted(), posted, "no command between entry and exit");
                waited += 1;
            };
            check(&mut || {
                let pending = team.reduce_all_nb_with(vec![me as u64, 1], Function::Add);
                Box::new(move || assert_eq!(pending.wait(), [(0..size).sum::<u64>(), size]))
            });
            check(&mut || {
                let pending = team.broadcast_nb(i % team.size(), vec![(me + i) as u64; 8]);
                let root = i % team.size();
                Box::new(move || assert_eq!(pending.wait(), [(root + i) as u64; 8]))
            });
            check(&mut || {
                let pending = team.gather_all_nb(vec![me as u64]);
                Box::new(move || assert!(pending.wait().into_iter().eq(0..size)))
            });
            check(&mut || {
                again.split_barrier().notify(i as i32, 0);
                let again = again.clone();
                Box::new(move || assert_eq!(again.split_barrier().wait(i as i32, 0), Outcome::Agreed))
            });
            // The job's own, by names that agree or do not.
            let differ = i % 3 == 2;
            check(&mut || {
                rank.split_barrier().notify(if differ { me as i32 } else { i as i32 - 1 }, 0);
                let want = if differ && size > 1 { Outcome::Mismatched } else { Outcome::Agreed };
                Box::new(move || assert_eq!(rank.split_barrier().wait(i as i32 - 1, 0), want))
            });
            let before = nic.posted();
            rank.barrier();
            assert!((2..=16).contains(&(nic.posted() - before)), "all of a barrier is commands");
            let before = nic.posted();
            team.barrier();
            let commands = nic.posted() - before;
            assert!((2..=2 + 2 * 4).contains(&commands), "a barrier takes {commands}");
        }
        waited
    };
    cluster(6, 11, 0).run_for_good(program).unwrap_or_else(|e| panic!("{e}"))
}

/// No host posts a command or runs a handler between entry and exit of an operation; handlers not at all.
#[test]
fn hosts_do_nothing_between_entry_and_exit() {
    let (few, many) = (counted(3), counted(30));
    assert_eq!(many.results, vec![30 * 5; 6]);
    assert_eq!(few.stats.frames, many.stats.frames, "operations send no messages to hosts");
    assert!(many.stats.packets > few.stats.packets);
}

/// Waits until all commands of an operation are given, then for its end; in between hosts do nothing.
fn finish(rank: &Rank, commands: u64, pending: PendingCollective<u64>, want: impl Fn(usize) -> u64) {
    let posted = || rank.nic().expect("netvm has one").posted();
    rank.wait_until("room for all commands", || posted() >= commands);
    assert!(pending.wait().iter().enumerate().all(|(k, v)| *v == want(k)));
    assert_eq!(posted(), commands, "no command between entry and exit");
}

/// Blocks of several pages, the commands of which may be more than a NIC's queue holds at a time.
fn of_pages(count: usize) -> Report<()> {
    let program = move |rank: &'static Rank| {
        let team = rank.team_all();
        let (me, size, nic) = (team.me(), team.size(), rank.nic().expect("netvm has one"));
        // In a binomial tree.
        let children =
            |v: usize| (0..8).filter(|b| v & ((2 << b) - 1) == 0 && v + (1 << b) < size).count() as u64;
        let root = 3 % size;
        for (i, pages) in (0..count).flat_map(|i| [2u64, 3, 7, 11].map(|pages| (i, pages))) {
            let words = 512 * pages as usize - 5;
            let segments = pages.min(4);
            let before = nic.posted();
            let pending = team.reduce_all_nb_with(vec![(me + i) as u64; words], Function::Add);
            // Pages of children to fold in, pages to children, pages to the parent or words to oneself, the
            // host's words.
            let up = if me == 0 { segments } else { pages };
            let commands = 2 * children(me) * pages + up + segments;
            let sum = (0..size).map(|m| (m + i) as u64).sum::<u64>();
            finish(rank, before + commands, pending, |_| sum);
            let before = nic.posted();
            let here = if me == root { i } else { 99 };
            let pending = team.broadcast_nb(root, (0..words).map(|k| (k ^ here) as u64).collect());
            let up = if me == root { segments } else { 1 };
            let commands = children((me + size - root) % size) * pages + up + 1;
            finish(rank, before + commands, pending, |k| (k ^ i) as u64);
        }
    };
    cluster(6, 17, 0).run_for_good(program).unwrap_or_else(|e| panic!("{e}"))
}

/// Blocks that differ, the longest of which, of so many words among so many members with a root and without,
/// just fit: who sends how much to whom is known to the two of them only.
fn of_all_sizes(ranks: u32, most: [usize; 2], count: usize) -> Report<()> {
    let program = move |rank: &'static Rank| {
        let team = rank.team_all();
        let (me, size, nic) = (team.me(), team.size(), rank.nic().expect("netvm has one"));
        // In a tree that goes beside, see `of_pages`.
        let children = (0..8).filter(|b| me & ((2 << b) - 1) == 0 && me + (1 << b) < size).count() as u64;
        // Commands, if this member sends `to` so many words: pages, and for few members a word to whoever
        // gets none.
        let commands = |to: &[usize], few: usize| {
            let others = to.iter().enumerate().filter(|(m, _)| *m != me);
            // Each block has a word before it.
            let each = |words: usize| match words {
                0 => u64::from(size <= few),
                _ => (8 + 8 * words).div_ceil(4096) as u64,
            };
            others.map(|(_, words)| each(*words)).sum::<u64>() + if size <= few { 0 } else { children + 2 }
        };
        for i in 0..count {
            let root = (3 + i) % size;
            // None, a word, pages and a little, all there is room for.
            let of = |kind: usize, a: usize, b: usize| {
                [0, 1, 513, 2 * 512, usize::MAX - 1, usize::MAX][(a * 7 + b * 5 + a * b + i) % 6]
                    .min(most[kind] - (a + b) % 2)
            };
            let value = |a: usize, b: usize| (a << 20 | b << 10 | i) as u64;
            let block = |kind, a, b| vec![value(a, b); of(kind, a, b)];
            let counts: Vec<usize> = (0..size).map(|m| of(0, root, m)).collect();
            let all: Vec<u64> = (0..size).flat_map(|m| block(0, root, m)).collect();
            let (values, known) = if me == root { (all.clone(), &*counts) } else { (vec![], &[][..]) };
            let none = vec![0; size];
            let posted = nic.posted() + commands(if me == root { &counts } else { &none }, 16);
            let pending = team.scatter_v_nb(root, values, known, counts[me]);
            finish(rank, posted, pending, |_| value(root, me));
            let mut to = none;
            to[root] = counts[me];
            let posted = nic.posted() + commands(&to, 16);
            let pending = team.gather_v_nb(root, block(0, root, me), known);
            finish(rank, posted, pending, |k| all[k]);
            let (to, from): (Vec<_>, Vec<_>) = (0..size).map(|m| (of(1, me, m), of(1, m, me))).unzip();
            let posted = nic.posted() + commands(&to, 32);
            let pending = team.exchange_v_nb((0..size).flat_map(|m| block(1, me, m)).collect(), &to, &from);
            let want: Vec<u64> = (0..size).flat_map(|m| block(1, m, me)).collect();
            finish(rank, posted, pending, |k| want[k]);
        }
    };
    cluster(ranks, 23, 0).run_for_good(program).unwrap_or_else(|e| panic!("{e}"))
}

/// Sizes that only two members know take no message and no word between hosts.
#[test]
fn hosts_do_nothing_for_blocks_that_differ() {
    for (ranks, most) in [(6, [10 * 512 - 1, 5 * 512 - 1]), (20, [3 * 512 - 1, 511]), (40, [511, 255])] {
        let (few, many) = (of_all_sizes(ranks, most, 1), of_all_sizes(ranks, most, 5));
        assert_eq!(few.stats.frames, many.stats.frames, "operations send no messages to hosts");
        assert!(many.stats.packets > few.stats.packets);
    }
}

/// As for blocks of a page: between entry and exit no command and no handler, and the way is known at entry.
#[test]
fn hosts_do_nothing_for_pages_either() {
    let (few, many) = (of_pages(1), of_pages(4));
    assert_eq!(few.stats.frames, many.stats.frames, "operations send no messages to hosts");
    assert!(many.stats.packets > few.stats.packets);
}

/// Several operations under way at a time, finished in any order; and by messages in between.
#[test]
fn operations_overlap_and_keep_their_order() {
    for seed in 0..6 {
        let program = move |rank: &'static Rank| {
            let team = rank.team_all();
            let (me, size) = (team.me() as u64, team.size());
            let mut random = fastrand::Rng::with_seed(seed);
            let mut own = fastrand::Rng::with_seed(seed << 20 | me);
            let mut under_way = Vec::new();
            for op in 0..40usize {
                let n = if random.usize(..5) == 0 { 2000 } else { 3 };
                if random.usize(..3) == 0 {
                    // Some go straight, and some of these by messages.
                    let lengths = Lengths(random.usize(..1 << 20) as u64, size);
                    let mine = me as usize;
                    let to: Vec<usize> = (0..size).map(|j| lengths.of(mine, j)).collect();
                    let from: Vec<usize> = (0..size).map(|i| lengths.of(i, mine)).collect();
                    let values = (0..size).flat_map(|j| lengths.block(mine, j)).collect();
                    let want: Vec<u64> = (0..size).flat_map(|i| lengths.block(i, mine)).collect();
                    under_way.push((op, want, team.exchange_v_nb(values, &to, &from)));
                }
                let sum = fold(op, 0..size, n, u64::wrapping_add);
                under_way.push((op, sum, team.reduce_all_nb(values(op, me as usize, n), u64::wrapping_add)));
                if own.usize(..4) == 0 {
                    compute(Time::us(own.usize(..30) as f64));
                    rank.poll();
                }
                while under_way.len() > 1 + own.usize(..5) {
                    let (op, want, pending) = under_way.swap_remove(own.usize(..under_way.len()));
                    assert_eq!(pending.wait(), want, "{op}");
                }
            }
            for (op, want, pending) in under_way {
                assert_eq!(pending.wait(), want, "{op}");
            }
        };
        cluster(5, seed, 0).run_for_good(program).unwrap_or_else(|e| panic!("{e}"));
    }
}
