//! Recorded histories of atomics, semaphores and locks: every rank notes when it began an operation, when it
//! ended and what came of it; then there must be an order of all operations, each between its two times, in
//! which one after the other would have given the same.

use crate::support::{Cx, Rng};
use gasnet::RankId;
use gasnet::sync::{McsLock, NicAtomics, Semaphore};
use std::collections::HashSet;

/// Began, ended (nanoseconds), what, two arguments, result.
type Note = [u64; 6];

const INCR: u64 = 0;
const DECR: u64 = 1;
const SWAP: u64 = 2;
const COMPARE_SWAP: u64 = 3;
const TEST_AND_SET: u64 = 4;
const WAIT: u64 = 5;
const TRY_WAIT: u64 = 6;
const SIGNAL: u64 = 7;

/// The new value after an operation, if the operation can have had this result on this value.
fn step(value: u32, [_, _, what, a, b, result]: Note) -> Option<u32> {
    let (a, b, result) = (a as u32, b as u32, result as u32);
    let old = |new: u32| (result == value).then_some(new);
    match what {
        INCR => old(value.wrapping_add(1)),
        DECR => old(value.wrapping_sub(1)),
        SWAP => old(a),
        COMPARE_SWAP => old(if value == a { b } else { value }),
        TEST_AND_SET => (result == u32::from(value == 0)).then_some(value.max(1)),
        WAIT => value.checked_sub(1),
        TRY_WAIT if result == 0 => (value == 0).then_some(0),
        TRY_WAIT => value.checked_sub(1),
        _ => Some(value + 1),
    }
}

/// Whether the operations have an order in which all of their results are right, beginning with this value.
fn is_linearizable(notes: &[Note], value: u32) -> bool {
    assert!(notes.len() <= 64);
    let all = if notes.len() == 64 { u64::MAX } else { (1 << notes.len()) - 1 };
    let mut tried = HashSet::new();
    let mut todo = vec![(0u64, value)];
    while let Some((done, value)) = todo.pop() {
        if done == all {
            return true;
        }
        if !tried.insert((done, value)) {
            continue;
        }
        let left = || notes.iter().enumerate().filter(|(i, _)| done >> i & 1 == 0);
        // An operation that began after the end of another one comes after it.
        let first_end = left().map(|(_, n)| n[1]).min().expect("some are left");
        for (i, note) in left().filter(|(_, n)| n[0] <= first_end) {
            todo.extend(step(value, *note).map(|value| (done | 1 << i, value)));
        }
    }
    false
}

fn now(cx: &Cx) -> u64 {
    cx.rank.now().as_nanos() as u64
}

fn noted(cx: &Cx, what: u64, a: u64, b: u64, f: impl FnOnce() -> u64) -> Note {
    let began = now(cx);
    let result = f();
    [began, now(cx), what, a, b, result]
}

fn pause(rng: &mut Rng) {
    (0..rng.below(200)).for_each(|_| std::hint::spin_loop());
    if rng.below(10) == 0 {
        std::thread::yield_now();
    }
}

/// All ranks' notes, at rank 0.
fn gathered(cx: &Cx, notes: Vec<Note>) -> Option<Vec<Note>> {
    let all = cx.rank.team_all().gather(0, &notes);
    (cx.me() == 0).then_some(all)
}

pub fn histories(cx: &Cx) {
    // The checker itself: what cannot have happened is found.
    let lost = [[0, 9, INCR, 0, 0, 5], [1, 8, INCR, 0, 0, 5]];
    assert!(!is_linearizable(&lost, 5), "two increments of the same value");
    let stale = [[0, 1, SWAP, 7, 0, 5], [2, 3, INCR, 0, 0, 5]];
    assert!(!is_linearizable(&stale, 5) && is_linearizable(&[stale[0], [1, 3, INCR, 0, 0, 7]], 5));
    let each = (60 / cx.size() as usize).clamp(1, 12);
    if cx.size() > 60 {
        return;
    }
    let word = cx.rank.allocate(64, 64).expect("room");
    let word = gasnet::GlobalPtr::<u32>::new(RankId(cx.size() - 1), word);
    let atomics = NicAtomics::new(cx.rank);
    let mut rng = cx.rng("history");
    for round in 0..if cx.quick { 10 } else { 60 } {
        if word.rank() == cx.rank.id() {
            cx.rank.write(word, 0u32);
        }
        cx.rank.barrier();
        let notes = (0..each).map(|_| {
            pause(&mut rng);
            let (a, b) = (rng.below(3) as u64, rng.below(3) as u64);
            let (x, y) = (a as u32, b as u32);
            match rng.below(5) as u64 {
                INCR => noted(cx, INCR, a, b, || atomics.incr(word).into()),
                DECR => noted(cx, DECR, a, b, || atomics.decr(word).into()),
                SWAP => noted(cx, SWAP, a, b, || atomics.swap(word, x).into()),
                COMPARE_SWAP => noted(cx, COMPARE_SWAP, a, b, || atomics.compare_swap(word, x, y).into()),
                _ => noted(cx, TEST_AND_SET, a, b, || atomics.test_and_set(word).into()),
            }
        });
        if let Some(all) = gathered(cx, notes.collect()) {
            assert!(is_linearizable(&all, 0), "atomics, round {round}, seed {}: {all:?}", cx.seed);
        }
        if round % 6 == 0 {
            semaphore(cx, &mut rng, each);
            lock(cx, &mut rng);
        }
        cx.rank.barrier();
    }
}

fn semaphore(cx: &Cx, rng: &mut Rng, each: usize) {
    let mut semaphore = Semaphore::new(cx.rank, RankId(0), 1).expect("room");
    let mut notes: Vec<Note> = Vec::new();
    for _ in 0..each / 2 {
        pause(rng);
        notes.push(noted(cx, SIGNAL, 0, 0, || {
            semaphore.signal().expect("a small value");
            0
        }));
        pause(rng);
        // Nobody waits for ever: each has given one before.
        notes.push(if rng.below(2) == 0 {
            noted(cx, TRY_WAIT, 0, 0, || semaphore.try_wait().into())
        } else {
            noted(cx, WAIT, 0, 0, || {
                semaphore.wait();
                0
            })
        });
    }
    if let Some(all) = gathered(cx, notes) {
        assert!(is_linearizable(&all, 1), "a semaphore, seed {}: {all:?}", cx.seed);
    }
}

/// No two hold it at a time.
fn lock(cx: &Cx, rng: &mut Rng) {
    let mut lock = McsLock::new(cx.rank, RankId(cx.size() / 2)).expect("room");
    let held = (0..20).map(|_| {
        pause(rng);
        lock.acquire();
        let began = now(cx);
        pause(rng);
        let ended = now(cx);
        lock.release();
        [began, ended, 0, 0, 0, 0]
    });
    if let Some(mut all) = gathered(cx, held.collect()) {
        all.sort_unstable();
        for pair in all.windows(2) {
            assert!(pair[0][1] <= pair[1][0], "two held the lock, seed {}: {pair:?}", cx.seed);
        }
    }
}
