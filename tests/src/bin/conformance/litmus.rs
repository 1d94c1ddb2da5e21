//! Litmus tests: what one rank may conclude from what it sees of another.
#![expect(unsafe_code, reason = "gets to raw memory")]

use crate::support::{Cx, mix, same};
use gasnet::atomics::{Function, Operation, WordType};
use gasnet::{GlobalPtr, RankId};
use std::sync::atomic::{Ordering, fence};

const SET: Operation = Operation { function: Function::Set, word: WordType::U64 };
const GET: Operation = Operation { function: Function::Get, word: WordType::U64 };

pub fn litmus(cx: &Cx) {
    for len in [8, 100, 5000] {
        message_passing(cx, len, true);
        message_passing(cx, len, false);
    }
    store_buffering(cx, true);
    store_buffering(cx, false);
    third_party(cx);
    coherence(cx);
    wholeness(cx);
}

/// Data, then a flag; who sees the flag sees the data. In pairs, both directions, by atomics or by plain
/// writes of words.
fn message_passing(cx: &Cx, len: usize, atomic: bool) {
    let r = cx.rank;
    let base = cx.take_zeroed(16384);
    let (data, flag) = (base, base + 8192);
    let peer = RankId(cx.me() ^ 1);
    let rounds = if cx.quick { 20u64 } else { 200 };
    if peer.0 < cx.size() {
        let bytes = |from: RankId, round: u64| -> Vec<u8> {
            (0..len).map(|i| mix(round << 8 | u64::from(from.0)) as u8 ^ i as u8).collect()
        };
        let send = |round: u64| {
            r.write_slice(GlobalPtr::new(peer, data), &bytes(r.id(), round));
            if atomic {
                r.atomics().apply(peer, flag, SET, round, 0);
            } else {
                fence(Ordering::Release);
                r.write(GlobalPtr::new(peer, flag), round);
            }
        };
        let receive = |round: u64| {
            let here = GlobalPtr::<u64>::new(r.id(), flag);
            r.wait_until("a flag", || {
                let seen = if atomic { r.atomics().apply(r.id(), flag, GET, 0, 0) } else { r.read(here) };
                assert!(seen == round || seen == round - 1, "flag {seen} in round {round}");
                seen == round
            });
            fence(Ordering::Acquire);
            let mut got = vec![0; len];
            r.read_slice(GlobalPtr::new(r.id(), data), &mut got);
            same(&got, &bytes(peer, round), "data behind a flag");
        };
        for round in 1..=rounds {
            if cx.me().is_multiple_of(2) {
                send(round);
                receive(round);
            } else {
                receive(round);
                send(round);
            }
        }
    }
    r.barrier();
}

/// Each of two ranks writes its word, fences, and reads the other's: one of them sees the other's write.
fn store_buffering(cx: &Cx, atomic: bool) {
    let r = cx.rank;
    let rounds = if cx.quick { 50usize } else { 400 };
    // x on the even rank, y on the odd one; a word per round; results beside.
    let words = cx.take_zeroed(8 * rounds as u64);
    let results = cx.take_zeroed(8 * rounds as u64);
    let (even, odd) = (RankId(cx.me() & !1), RankId(cx.me() | 1));
    if odd.0 < cx.size() {
        let (mine, other) = if r.id() == even { (even, odd) } else { (odd, even) };
        for i in 0..rounds as u64 {
            let at = words + 8 * i;
            let seen = if atomic {
                r.atomics().apply(mine, at, SET, 1, 0);
                fence(Ordering::SeqCst);
                r.atomics().apply(other, at, GET, 0, 0)
            } else {
                r.write(GlobalPtr::new(mine, at), 1u64);
                fence(Ordering::SeqCst);
                r.read(GlobalPtr::new(other, at))
            };
            r.write(GlobalPtr::new(r.id(), results + 8 * i), seen);
        }
    }
    r.barrier();
    if odd.0 < cx.size() {
        let read = |rank| {
            let mut v = vec![0u64; rounds];
            r.read_slice(GlobalPtr::new(rank, results), &mut v);
            v
        };
        let (x, y) = (read(even), read(odd));
        let both_missed = x.iter().zip(&y).position(|(a, b)| *a == 0 && *b == 0);
        assert_eq!(both_missed, None, "both ranks missed the other's write");
    }
    r.barrier();
}

/// Rank 0 writes data to rank 1's segment and tells rank 2, which reads it there: causality through a third
/// rank.
fn third_party(cx: &Cx) {
    let r = cx.rank;
    let base = cx.take_zeroed(4096);
    if cx.size() < 3 || cx.me() > 2 {
        return;
    }
    let data = GlobalPtr::<u64>::new(RankId(1), base);
    let (told, answered) = (base + 64, base + 128);
    for round in 1..=if cx.quick { 20u64 } else { 200 } {
        match cx.me() {
            0 => {
                r.write(data, mix(round));
                r.atomics().apply(RankId(2), told, SET, round, 0);
                r.wait_until("rank 2's answer", || r.atomics().apply(r.id(), answered, GET, 0, 0) == round);
            }
            2 => {
                r.wait_until("rank 0's word", || r.atomics().apply(r.id(), told, GET, 0, 0) == round);
                assert_eq!(r.read(data), mix(round));
                r.atomics().apply(RankId(0), answered, SET, round, 0);
            }
            _ => {
                // Serves what it is asked for in the barrier that follows.
            }
        }
    }
}

/// A word that only grows is never seen to shrink, by anyone.
fn coherence(cx: &Cx) {
    let r = cx.rank;
    r.barrier();
    let word = cx.take_zeroed(8);
    let home = RankId(cx.size() - 1);
    let rounds = if cx.quick { 100u64 } else { 1000 };
    let mut last = 0;
    for i in 1..=rounds {
        if cx.me() == 0 {
            r.write(GlobalPtr::new(home, word), i);
        } else {
            let seen = r.read(GlobalPtr::<u64>::new(home, word));
            assert!(seen >= last && seen <= rounds, "{seen} after {last}");
            last = seen;
        }
    }
    r.barrier();
    assert_eq!(r.read(GlobalPtr::<u64>::new(home, word)), rounds);
}

/// A word that its owner writes is read whole, wherever its bytes go: to memory of the program, or over a
/// page's end of the own segment.
fn wholeness(cx: &Cx) {
    let r = cx.rank;
    let base = cx.take_zeroed(3 * 4096);
    let (word, over, done) = (base, base + 2 * 4096 - 4, base + 2 * 4096 + 512);
    let reads = if cx.quick { 100 } else { 500 };
    let peer = RankId(cx.me() ^ 1);
    if peer.0 < cx.size() && cx.me().is_multiple_of(2) {
        let own = GlobalPtr::<u64>::new(r.id(), word);
        // It computes for longer than a NIC leaves its work to it.
        r.waits().poll_until("a reader", || {
            for value in [u64::MAX, 0].repeat(5_000) {
                r.write(own, value);
            }
            r.read(GlobalPtr::<u64>::new(r.id(), done)) == 1
        });
    } else if peer.0 < cx.size() {
        let there = r.address(GlobalPtr::<u8>::new(r.id(), over), 8).expect("the own segment");
        let mut private = [0u8; 16];
        for i in 0..reads {
            let to = if i % 2 == 0 { there } else { private[i % 8..].as_mut_ptr() };
            let mut bytes = [0u8; 8];
            // SAFETY: eight bytes of ours at either place, which nobody else uses.
            unsafe {
                r.get(to, peer, word, 8);
                to.copy_to(bytes.as_mut_ptr(), 8);
            }
            let seen = u64::from_le_bytes(bytes);
            assert!(seen == 0 || seen == u64::MAX, "a word in two parts: {seen:#x}");
        }
        r.write(GlobalPtr::new(peer, done), 1u64);
    }
    r.barrier();
}
