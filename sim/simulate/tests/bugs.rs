//! Mistakes of programs: each is found, repeats, becomes small, and is gone from the corrected program.
#![expect(unsafe_code, reason = "some mistakes need calls whose caller has to keep the memory")]

use gasnet::sync::McsLock;
use gasnet::{GlobalPtr, Handler, Rank, RankId};
use gasnet_simulate::{Explore, ranks};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

fn word(rank: u32, index: u64) -> GlobalPtr<u64> {
    GlobalPtr::new(RankId(rank), index * 8)
}

/// Counts messages.
fn counter(count: Arc<AtomicU64>) -> Handler {
    Handler::new(move |_, _| {
        count.fetch_add(1, Relaxed);
    })
}

/// A program in which a mistake is made, or not.
type Program = fn(&'static Rank, bool);

/// Most seeds that are tried, and seeds of the corrected program.
const MOST_SEEDS: u64 = 2000;
const SEEDS_OF_RIGHT: u64 = 300;

/// The mistake is found among the seeds and made small, and without it all ends well.
#[track_caller]
fn found(name: &str, size: u32, most_picks: u32, program: Program) {
    let of = |wrong: bool| move |rank: &'static Rank| program(rank, wrong);
    let said = ranks(size).runs(MOST_SEEDS).try_run(of(true));
    let said = said.expect_err(&format!("{name} is not found"));
    println!("{name}: {said}");
    let picks: u32 = match said.split_once("cause:  ").expect("a cause").1.split(' ').next().expect("a word")
    {
        "it" => 0,
        number => number.parse().expect("a number"),
    };
    assert!(picks <= most_picks, "{name}: {picks} choices, {most_picks} are enough\n{said}");
    let seed = said["seed ".len()..].split(' ').next().and_then(|seed| seed.parse().ok()).expect("a seed");
    // Alone it does the same, however often.
    let again = || ranks(size).seed(seed).explore(Explore::Mixed).try_run(of(true)).expect_err("a failure");
    let (first, second) = (again(), again());
    assert_eq!(first, second);
    assert!(said.contains(first.lines().last().expect("lines").trim()), "{said}\n{first}");
    ranks(size).runs(SEEDS_OF_RIGHT).try_run(of(false)).unwrap_or_else(|e| panic!("{name}, corrected: {e}"));
}

#[test]
fn lost_update() {
    found("lost update", 3, 4, |rank, wrong| {
        if wrong {
            rank.write(word(0, 0), rank.read(word(0, 0)) + 1);
        } else {
            rank.atomics().fetch_add(word(0, 0), 1);
        }
        rank.barrier();
        assert_eq!(rank.read(word(0, 0)), 3);
    });
}

#[test]
fn atomic_mixed_with_plain() {
    found("atomic mixed with plain", 3, 4, |rank, wrong| {
        match rank.id().0 {
            1 if wrong => rank.write(word(0, 0), rank.read(word(0, 0)) + 1),
            1 | 2 => {
                rank.atomics().fetch_add(word(0, 0), 1);
            }
            _ => {}
        }
        rank.barrier();
        assert_eq!(rank.read(word(0, 0)), 2);
    });
}

#[test]
fn missing_barrier_before_a_halo_is_read() {
    found("missing barrier", 3, 4, |rank, wrong| {
        let (me, n) = (rank.id().0, rank.size());
        // Both are as fast, so costs hide it.
        rank.read(word((me + 1) % n, 1));
        rank.write(word((me + 1) % n, 0), 7);
        if !wrong {
            rank.barrier();
        }
        assert_eq!(rank.read(word(me, 0)), 7);
    });
}

#[test]
fn barrier_skipped_on_one_path() {
    found("skipped barrier", 2, 4, |rank, wrong| {
        let seen = if rank.id().0 == 0 {
            rank.write(word(1, 0), 1);
            0
        } else {
            rank.read(word(0, 1));
            rank.read(word(1, 0))
        };
        if seen == 0 || !wrong {
            rank.barrier();
        }
    });
}

#[test]
fn two_messages_assumed_in_order() {
    found("two messages", 2, 4, |rank, wrong| {
        let (next, right) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let (counted, kept) = (next.clone(), right.clone());
        let count = Handler::new(move |_, m| {
            let due = counted.fetch_add(1, Relaxed);
            kept.fetch_add(u64::from(u64::from(m.args[0]) == due), Relaxed);
        });
        rank.register(200, count).expect("a free number");
        rank.barrier();
        if rank.id().0 == 1 {
            for i in 0..2 {
                rank.request_short(RankId(0), 200, &[i]).expect("a rank");
            }
        } else {
            rank.wait_until("two messages", || next.load(Relaxed) == 2);
            assert!(!wrong || right.load(Relaxed) == 2, "messages have overtaken each other");
        }
    });
}

#[test]
fn two_puts_assumed_in_order() {
    found("two puts", 2, 4, |rank, wrong| {
        if rank.id().0 == 1 {
            let data = rank.write_nb(word(0, 0), vec![7]);
            if wrong {
                let flag = rank.write_nb(word(0, 1), vec![1]);
                data.wait();
                flag.wait();
            } else {
                data.wait();
                rank.write(word(0, 1), 1);
            }
        } else {
            rank.wait_until("the flag", || rank.read(word(0, 1)) == 1);
            assert_eq!(rank.read(word(0, 0)), 7);
        }
    });
}

#[test]
fn message_before_the_put_it_tells_of() {
    found("message before put", 2, 4, |rank, wrong| {
        let told = Arc::new(AtomicU64::new(0));
        let tell = told.clone();
        rank.register(200, counter(tell)).expect("a free number");
        rank.barrier();
        if rank.id().0 == 1 {
            let data = rank.write_nb(word(0, 0), vec![7]);
            if wrong {
                rank.request_short(RankId(0), 200, &[]).expect("a rank");
                data.wait();
            } else {
                data.wait();
                rank.request_short(RankId(0), 200, &[]).expect("a rank");
            }
        } else {
            rank.wait_until("the message", || told.load(Relaxed) == 1);
            assert_eq!(rank.read(word(0, 0)), 7);
        }
    });
}

#[test]
fn termination_counter_that_is_zero_too_early() {
    found("termination counter", 3, 6, |rank, wrong| {
        let (open, done) = (word(0, 0), word(0, 1));
        if rank.id().0 == 0 {
            rank.write(open, 1);
        }
        rank.barrier();
        match rank.id().0 {
            1 => {
                // A task that makes two others.
                let steps = if wrong { [u64::MAX, 2] } else { [2, u64::MAX] };
                for n in steps {
                    rank.atomics().fetch_add(open, n);
                }
                for _ in 0..2 {
                    rank.atomics().fetch_add(done, 1);
                    rank.atomics().fetch_add(open, u64::MAX);
                }
            }
            2 => {
                while rank.read(open) != 0 {
                    rank.poll();
                }
                assert_eq!(rank.read(done), 2, "tasks were left");
            }
            _ => {}
        }
    });
}

#[test]
fn double_steal() {
    found("double steal", 3, 4, |rank, wrong| {
        let next = word(0, 0);
        if rank.id().0 > 0 {
            for _ in 0..2 {
                let task = if wrong {
                    let task = rank.read(next);
                    rank.write(next, task + 1);
                    task
                } else {
                    rank.atomics().fetch_add(next, 1)
                };
                let before = rank.atomics().fetch_add(word(0, 8 + task), 1);
                assert_eq!(before, 0, "task {task} is done twice");
            }
        }
    });
}

/// A stack of nodes 1 to 3; in the upper half of its word is the number of its changes.
#[test]
fn aba_in_a_stack() {
    found("ABA", 3, 40, |rank, wrong| {
        let (top, after) = (word(0, 0), |node: u64| word(0, 10 + (node & 0xffff_ffff)));
        let changed = |old: u64, node: u64| if wrong { node } else { node | ((old >> 32) + 1) << 32 };
        let node_of = |word: u64| word & 0xffff_ffff;
        let pop = || loop {
            let old = rank.read(top);
            assert_ne!(node_of(old), 0, "the stack is empty");
            let next = rank.read(after(old));
            if rank.atomics().compare_swap(top, old, changed(old, next)) == old {
                return node_of(old);
            }
        };
        let push = |node: u64| loop {
            let old = rank.read(top);
            rank.write(after(node), node_of(old));
            if rank.atomics().compare_swap(top, old, changed(old, node)) == old {
                return;
            }
        };
        if rank.id().0 == 0 {
            (1..=3).for_each(push);
        }
        rank.barrier();
        let own = match rank.id().0 {
            1 => pop(),
            2 => {
                let (first, second) = (pop(), pop());
                push(first);
                second
            }
            _ => 0,
        };
        rank.write(word(0, 20 + u64::from(rank.id().0)), own);
        rank.barrier();
        if rank.id().0 == 0 {
            let left = node_of(rank.read(top));
            let owned = [1, 2].map(|r| rank.read(word(0, 20 + r)));
            assert!(
                owned[0] != owned[1] && !owned.contains(&left),
                "a node is in two places: {owned:?}, {left}"
            );
        }
    });
}

#[test]
fn lost_wakeup() {
    found("lost wakeup", 2, 4, |rank, wrong| {
        let (flag, sleeps) = (word(0, 0), word(0, 1));
        let woken = Arc::new(AtomicU64::new(0));
        let wake = woken.clone();
        rank.register(200, counter(wake)).expect("a free number");
        rank.barrier();
        if rank.id().0 == 1 {
            if !wrong {
                rank.write(sleeps, 1);
            }
            if rank.read(flag) == 0 {
                if wrong {
                    rank.write(sleeps, 1);
                }
                rank.wait_until("to be woken", || woken.load(Relaxed) > 0);
            }
        } else {
            gasnet_sim::compute(gasnet_sim::Time::us(50.0));
            rank.write(flag, 1);
            rank.read(word(1, 0));
            if rank.read(sleeps) == 1 {
                rank.request_short(RankId(1), 200, &[]).expect("a rank");
            }
        }
    });
}

#[test]
fn collectives_in_different_order() {
    found("collectives in different order", 2, 4, |rank, wrong| {
        if rank.id().0 == 0 {
            rank.write(word(1, 0), 1);
        } else {
            rank.read(word(0, 1));
        }
        let early = rank.id().0 == 1 && rank.read(word(1, 0)) == 0;
        let team = rank.team_all();
        let mut value = [rank.id().0; 4];
        if early || !wrong {
            team.broadcast(0, &mut value);
            assert_eq!(team.gather_all(&[rank.id().0]), [0, 1]);
        } else {
            assert_eq!(team.gather_all(&[rank.id().0]), [0, 1]);
            team.broadcast(0, &mut value);
        }
        assert_eq!(value, [0; 4]);
    });
}

#[test]
fn lock_cycle() {
    found("lock cycle", 2, 4, |rank, wrong| {
        let [mut first, mut second] = [0, 1].map(|home| McsLock::new(rank, RankId(home)).expect("room"));
        if rank.id().0 == 1 {
            if wrong {
                core::mem::swap(&mut first, &mut second);
            }
            // By the costs, the other one has had both by now.
            gasnet_sim::compute(gasnet_sim::Time::us(100.0));
        }
        first.acquire();
        second.acquire();
        second.release();
        first.release();
    });
}

#[test]
fn destination_read_before_the_sync() {
    found("read before sync", 2, 2, |rank, wrong| {
        rank.write(word(rank.id().0, 0), 7);
        rank.barrier();
        if rank.id().0 == 1 {
            let mut here = Box::new(0u64);
            // SAFETY: the destination lives until the get is complete.
            let get = unsafe { rank.get_nb((&raw mut *here).cast(), RankId(0), 0, 8) };
            let mut open = Some(get);
            if !wrong {
                open.take().into_iter().for_each(|get| rank.wait(get));
            }
            gasnet_sim::compute(gasnet_sim::Time::us(50.0));
            // SAFETY: of this rank; volatile, since the NIC may write it.
            let seen = unsafe { (&raw const *here).read_volatile() };
            open.into_iter().for_each(|get| rank.wait(get));
            assert_eq!(seen, 7);
        }
    });
}

#[test]
fn source_of_a_bulk_put_reused() {
    found("source reused", 2, 2, |rank, wrong| {
        if rank.id().0 == 1 {
            let mut source = vec![7u64; 512];
            // SAFETY: the source lives until the put is complete.
            let put = unsafe { rank.put_nb_bulk(RankId(0), 0, source.as_ptr().cast(), 4096) };
            let mut open = Some(put);
            if !wrong {
                open.take().into_iter().for_each(|put| rank.wait(put));
            }
            // A call, but no wait for the put.
            rank.read(word(0, 1000));
            source.fill(8);
            core::hint::black_box(&source);
            open.into_iter().for_each(|put| rank.wait(put));
        }
        rank.barrier();
        assert!(rank.id().0 == 1 || rank.read(word(0, 511)) == 7, "the source was reused too early");
    });
}

#[test]
fn reply_before_the_flag() {
    found("reply before flag", 2, 2, |rank, wrong| {
        let replied = Arc::new(AtomicU64::new(0));
        let reply = Handler::new(|token, _| token.reply_short(201, &[]).expect("a request"));
        rank.register(200, reply).expect("a free number");
        rank.register(201, counter(replied.clone())).expect("a free number");
        rank.barrier();
        if rank.id().0 == 0 {
            rank.write(word(1, 0), 1);
        } else {
            // By the costs, the flag is set by now.
            rank.read(word(0, 1));
            rank.read(word(0, 1));
        }
        if !wrong {
            rank.barrier();
        }
        if rank.id().0 == 1 {
            rank.request_short(RankId(0), 200, &[]).expect("a rank");
            rank.wait_until("the reply", || replied.load(Relaxed) == 1);
            assert_eq!(rank.read(word(1, 0)), 1, "whoever replies has not set the flag");
        }
    });
}

#[test]
fn data_written_between_notify_and_wait() {
    found("notify and wait", 2, 2, |rank, wrong| {
        let (me, other) = (rank.id().0, 1 - rank.id().0);
        if !wrong {
            rank.write(word(other, 0), 7);
        }
        rank.split_barrier().notify(0, 0);
        if wrong {
            rank.write(word(other, 0), 7);
        }
        rank.split_barrier().wait(0, 0);
        assert_eq!(rank.read(word(me, 0)), 7, "what was written after the notify is not there");
    });
}

/// A server that replies to two requests at a time.
#[test]
fn requests_whose_replies_are_held() {
    found("replies held", 3, 4, |rank, wrong| {
        let replied = Arc::new(AtomicU64::new(0));
        let asked = Arc::new(Mutex::new(Vec::new()));
        let asking = asked.clone();
        let ask = Handler::new(move |_, m| asking.lock().expect("no panic").push(m.args[0]));
        rank.register(200, ask).expect("a free number");
        rank.register(201, counter(replied.clone())).expect("a free number");
        rank.barrier();
        let asks = || rank.request_short(RankId(0), 200, &[rank.id().0]).expect("a rank");
        let waits = |n| rank.wait_until("replies", || replied.load(Relaxed) == n);
        match rank.id().0 {
            1 => {
                asks();
                waits(1);
                asks();
                waits(2);
            }
            2 => {
                // By the costs, the first request of the other one is there before.
                rank.read(word(0, 1));
                asks();
                asks();
                waits(2);
            }
            _ => {
                let (mut served, together) = (0, if wrong { 2 } else { 1 });
                while served < 4 {
                    let there = || asked.lock().expect("no panic").len() >= together;
                    rank.wait_until("requests", there);
                    let all = core::mem::take(&mut *asked.lock().expect("no panic"));
                    served += all.len();
                    for to in all {
                        rank.request_short(RankId(to), 201, &[]).expect("a rank");
                    }
                }
            }
        }
    });
}

/// A block of memory that rank 0 gives to others: its number is 0 while it is free.
#[test]
fn memory_used_after_it_was_freed() {
    found("use after free", 3, 4, |rank, wrong| {
        let (owner, block) = (word(0, 0), word(0, 1));
        if rank.id().0 == 1 {
            rank.write(owner, 1);
        }
        rank.barrier();
        match rank.id().0 {
            1 => {
                let put = rank.write_nb(block, vec![1]);
                if wrong {
                    rank.write(owner, 0);
                    put.wait();
                } else {
                    put.wait();
                    rank.write(owner, 0);
                }
            }
            2 => {
                // By the costs, it is free by now.
                rank.read(word(0, 5));
                rank.read(word(0, 5));
                while rank.atomics().compare_swap(owner, 0, 2) != 0 {
                    rank.poll();
                }
                rank.write(block, 2);
            }
            _ => {}
        }
        rank.barrier();
        assert!(rank.id().0 > 0 || rank.read(block) == 2, "somebody writes to it who has freed it");
    });
}

#[test]
fn memory_assumed_zero_after_it_was_used() {
    found("zero after reuse", 3, 4, |rank, wrong| {
        // The next block that was never used, and one that was given back.
        let (fresh, back) = (word(0, 0), word(0, 1));
        let block = |number: u64| word(0, 8 + number);
        let take = || match rank.read(back) {
            0 => 1 + rank.atomics().fetch_add(fresh, 1),
            number if rank.atomics().compare_swap(back, number, 0) == number => number,
            _ => 1 + rank.atomics().fetch_add(fresh, 1),
        };
        match rank.id().0 {
            1 => {
                let mine = take();
                rank.atomics().fetch_add(block(mine), 5);
                rank.write(back, mine);
            }
            2 => {
                let mine = take();
                if !wrong {
                    rank.write(block(mine), 0);
                }
                assert_eq!(rank.atomics().fetch_add(block(mine), 1), 0, "block {mine} is not empty");
            }
            _ => {}
        }
    });
}

/// The flag is set on another rank than the data, so nothing keeps them in order.
#[test]
fn relaxed_flag() {
    found("relaxed flag", 3, 4, |rank, wrong| match rank.id().0 {
        1 => {
            let data = rank.write_nb(word(2, 0), vec![7]);
            if wrong {
                rank.write(word(0, 0), 1);
                data.wait();
            } else {
                data.wait();
                rank.write(word(0, 0), 1);
            }
        }
        0 => {
            rank.wait_until("the flag", || rank.read(word(0, 0)) == 1);
            assert_eq!(rank.read(word(2, 0)), 7);
        }
        _ => {}
    });
}

/// A program that fails only with many ranks fails in one run.
#[track_caller]
fn fails_from(enough: u32, program: fn(&'static Rank)) {
    ranks(enough - 1).try_run(program).unwrap_or_else(|e| panic!("{e}"));
    ranks(enough).try_run(program).expect_err("it fails");
}

#[test]
fn tag_that_wraps_at_256_ranks() {
    fails_from(257, |rank| {
        rank.atomics().fetch_add(word(0, u64::from(rank.id().0 as u8)), 1);
        rank.barrier();
        assert!(rank.id().0 != 0 || (0..256).all(|i| rank.read(word(0, i)) <= 1));
    });
}

#[test]
fn ring_of_512_that_rank_0_does_not_empty_in_time() {
    fails_from(514, |rank| {
        if rank.id().0 > 0 {
            let ticket = rank.atomics().fetch_add(word(0, 0), 1);
            let before = rank.atomics().fetch_add(word(0, 1 + ticket % 512), 1);
            assert_eq!(before, 0, "an entry is overwritten");
        }
    });
}

#[test]
fn table_sized_for_1024() {
    fails_from(1025, |rank| {
        const TABLE: u64 = 1024;
        rank.write(word(0, u64::from(rank.id().0)), 1);
        rank.barrier();
        if rank.id().0 == 0 {
            let after = rank.read(word(0, TABLE));
            assert_eq!(after, 0, "what lies behind the table is overwritten");
        }
    });
}
