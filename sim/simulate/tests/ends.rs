//! However a run ends, it is told which rank did it, where, and with which seed.
#![expect(unsafe_code, reason = "does what crashes a program")]

use core::hint::black_box;
use gasnet::{GlobalPtr, Rank, RankId};
use gasnet_simulate::ranks;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

fn word(index: u64) -> GlobalPtr<u64> {
    GlobalPtr::new(RankId(0), index * 8)
}

/// Two ranks add to a word by reading and writing it: whether an update is lost.
fn update_is_lost(rank: &Rank) -> bool {
    if rank.id().0 > 0 {
        // By the costs, rank 1 is long done when rank 2 begins.
        gasnet_sim::compute(gasnet_sim::Time::us(20.0 * f64::from(rank.id().0)));
        rank.write(word(0), rank.read(word(0)) + 1);
    }
    rank.barrier();
    rank.read(word(0)) < 2
}

#[track_caller]
fn says(said: &Result<(), String>, parts: &[&str]) {
    let said = said.as_ref().expect_err("a failure");
    println!("{said}\n");
    for part in parts {
        assert!(said.contains(part), "no '{part}' in {said}");
    }
}

fn write_nowhere() {
    // SAFETY: none: the program is to crash. Nothing is mapped at the addresses of the first page.
    unsafe { core::ptr::without_provenance_mut::<u8>(black_box(16)).write_volatile(1) }
}

fn fill_the_stack(depth: u64) -> u64 {
    let more = black_box([depth; 64]);
    if more[black_box(7)] == u64::MAX { 0 } else { fill_the_stack(more[5] + 1) + more[3] }
}

#[test]
fn a_crash_names_its_rank_and_place_and_is_made_small() {
    let program = |rank: &'static Rank| {
        if update_is_lost(rank) && rank.id().0 == 2 {
            write_nowhere();
        }
    };
    let said = ranks(3).runs(500).try_run(program);
    says(
        &said,
        &["rank 2 crashed: Segmentation fault (signal 11)", "tests/ends.rs:", "matter", "and only then"],
    );
    // The simulator is as good as new.
    assert_eq!(ranks(3).try_run(|rank| rank.barrier()), Ok(()));
}

#[test]
fn a_full_stack_is_told_from_other_crashes() {
    let said = ranks(2).try_run(|rank| {
        rank.barrier();
        if rank.id().0 == 1 {
            black_box(fill_the_stack(0));
        }
    });
    says(&said, &["rank 1 crashed: its stack is full (signal 11)", "tests/ends.rs:"]);
}

#[test]
fn other_signals_are_named() {
    let aborts = |rank: &'static Rank| {
        rank.barrier();
        if rank.id().0 == 0 {
            std::process::abort();
        }
    };
    says(&ranks(2).try_run(aborts), &["rank 0 crashed: Aborted (signal 6)", "tests/ends.rs:"]);
}

#[test]
fn an_endless_loop_names_its_rank_and_place() {
    let stays = AtomicU64::new(0);
    let said = ranks(3).longest_turn(Duration::from_millis(200)).try_run(|rank| {
        rank.barrier();
        while rank.id().0 == 1 && stays.load(Relaxed) == 0 {
            black_box(&rank);
        }
    });
    // A line, or a function: the loop need not have a line of its own.
    says(&said, &["rank 1 has run for 0.2 s without calling the runtime (", "ends"]);
}

#[test]
fn a_deadlock_names_ranks_and_places() {
    let said = ranks(2).try_run(|rank| {
        if rank.id().0 == 1 {
            rank.wait_until("what nobody does", || false);
        }
    });
    says(
        &said,
        &["deadlock", "rank 1 waits for what nobody does (tests/ends.rs:", "rank 0 waits for a barrier\n"],
    );
}
