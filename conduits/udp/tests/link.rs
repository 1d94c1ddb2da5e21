//! The protocol between two ranks, in virtual time.

mod net;

use gasnet_udp::auth::{Coverage, MIN_BULK_BYTES};
use gasnet_udp::buf::MAX_FRAME_BYTES;
use gasnet_udp::link::{Batch, Link, Setup};
use gasnet_udp::path::NS_PER_MS;
use gasnet_udp::share::{self, Shares};
use gasnet_udp::wire::HEADER_BYTES;
use gasnet_udp::wire::Packet;
use gasnet_wire::conduit::Channel;
use net::{Pair, Rng, SILENCE_LIMIT_NS, Wire};
use proptest::prelude::*;
use std::collections::{BTreeSet, VecDeque};

const SECOND: u64 = 1_000_000_000;

fn pattern(seed: u64, len: usize) -> Vec<u8> {
    let mut rng = Rng(seed);
    (0..len).map(|_| rng.next() as u8).collect()
}

#[test]
fn a_round_trip_takes_two_datagrams() {
    let mut pair = Pair::new(1, Wire::default(), 1 << 20, 1 << 20);
    for i in 0..50u8 {
        assert!(pair.try_send(0, Channel::Request, &[i; 80]));
        assert!(pair.run(SECOND, |p| !p.ends[1].memory.frames.is_empty()));
        assert_eq!(pair.take(1, Channel::Request), vec![vec![i; 80]]);
        assert!(pair.try_send(1, Channel::Reply, &[i; 40]));
        assert!(pair.run(SECOND, |p| !p.ends[0].memory.frames.is_empty()));
        assert_eq!(pair.take(0, Channel::Reply), vec![vec![i; 40]]);
    }
    assert_eq!(pair.ends[0].link.counters().sent, 50);
    assert_eq!(pair.ends[1].link.counters().sent, 50);
}

#[test]
fn frames_of_every_size_arrive_whole() {
    for mtu in [1232, 1472, 8972, 65507] {
        let mut pair = Pair::new(2, Wire { mtu, ..Wire::default() }, 1 << 20, 1 << 20);
        for len in [
            1,
            63,
            64,
            1168,
            1169,
            1408,
            1409,
            8908,
            8909,
            65443,
            65444,
            MAX_FRAME_BYTES - 1,
            MAX_FRAME_BYTES,
        ] {
            let bytes = pattern(len as u64, len);
            assert!(pair.try_send(0, Channel::Request, &bytes));
            assert!(pair.run(SECOND, |p| !p.ends[1].memory.frames.is_empty()), "{len} over {mtu}");
            assert!(pair.take(1, Channel::Request) == vec![bytes], "{len} over {mtu}");
        }
        assert_eq!(pair.ends[0].link.counters().lost, 0);
    }
}

/// Puts and gets of all lengths over a bad wire.
#[test]
fn puts_and_gets_arrive_over_a_bad_wire() {
    let wire =
        Wire { loss: 300, duplicate: 300, reorder: 300, corrupt: 300, queue: 64 << 10, ..Wire::default() };
    let mut pair = Pair::covered(3, wire, 1 << 20, 1 << 20, Coverage::Full);
    let source = pattern(5, 400_000);
    for end in &mut pair.ends {
        end.memory.segment = vec![0; 500_000];
        end.memory.own = vec![0; 500_000];
    }
    pair.ends[0].memory.own[..400_000].copy_from_slice(&source);
    let pieces = [(0, 1), (1, 1000), (1001, 99_999), (101_000, 299_000)];
    for (i, (at, len)) in pieces.into_iter().enumerate() {
        assert!(pair.ends[0].link.put(at, len, at + 64, i as u64));
    }
    assert!(pair.run(10 * SECOND, |p| p.ends[0].memory.completed.len() == 4));
    assert!(pair.ends[1].memory.segment[64..400_064] == source);
    for (i, (at, len)) in pieces.into_iter().enumerate() {
        assert!(pair.ends[0].link.get(at + 100_000, at + 64, len as u32, 10 + i as u64));
    }
    assert!(pair.run(10 * SECOND, |p| p.ends[0].memory.completed.len() == 8));
    assert!(pair.ends[0].memory.own[100_000..500_000] == source);
    let tokens: BTreeSet<u64> = pair.ends[0].memory.completed.iter().copied().collect();
    assert_eq!(tokens, [0, 1, 2, 3, 10, 11, 12, 13].into());
    assert!(pair.ends[1].link.counters().refused > 0, "corrupted datagrams are refused");
}

/// Small puts and gets one after the other, each of which sees what the one before did.
#[test]
fn puts_and_gets_follow_each_other_over_a_bad_wire() {
    for seed in 0..20 {
        let wire = Wire { loss: 1000, duplicate: 500, reorder: 1000, ..Wire::default() };
        let mut pair = Pair::new(seed, wire, 1 << 20, 1 << 20);
        for end in &mut pair.ends {
            (end.memory.segment, end.memory.own) = (vec![0; 64], vec![0; 64]);
        }
        for i in 1..200u64 {
            pair.ends[0].memory.own[..8].copy_from_slice(&i.to_le_bytes());
            assert!(pair.ends[0].link.put(0, 8, 8, 2 * i));
            assert!(
                pair.run(SECOND, |p| p.ends[0].memory.completed.contains(&(2 * i))),
                "put {i}, seed {seed}"
            );
            assert!(pair.ends[0].link.get(16, 8, 8, 2 * i + 1));
            assert!(pair.run(SECOND, |p| p.ends[0].memory.completed.contains(&(2 * i + 1))));
            assert_eq!(pair.ends[0].memory.own[16..24], i.to_le_bytes(), "get {i}, seed {seed}");
        }
        assert_eq!(pair.ends[0].memory.completed.len(), 398);
    }
}

/// As many gets as there may be, all the time, while acknowledgements are lost: none too many for who serves
/// them.
#[test]
fn gets_keep_to_their_number() {
    let wire = Wire { loss: 2000, reorder: 2000, ..Wire::default() };
    let mut pair = Pair::new(13, wire, 1 << 20, 1 << 20);
    for end in &mut pair.ends {
        (end.memory.segment, end.memory.own) = (vec![3; 64], vec![0; 64]);
    }
    for i in 0..5000 {
        while !pair.ends[0].link.get(0, 0, 8, i) {
            let until = pair.now + SECOND;
            assert!(pair.step(until));
        }
    }
    assert!(pair.run(SECOND, |p| p.ends[0].memory.completed.len() == 5000));
}

/// Sends `count` frames each way on each channel, of lengths up to `most`, and checks that each arrives once.
fn exchange(pair: &mut Pair, count: usize, most: u64) {
    let mut rng = Rng(9);
    let channels = [Channel::Request, Channel::Reply];
    let mut waiting: Vec<Vec<Vec<u8>>> = (0..4)
        .map(|lane| {
            (0..count)
                .map(|i| {
                    let len = 8 + rng.below(most) as usize;
                    let mut bytes = pattern(i as u64 + 1000 * lane, len);
                    bytes[..8].copy_from_slice(&(i as u64).to_le_bytes());
                    bytes
                })
                .rev()
                .collect()
        })
        .collect();
    let sent = waiting.clone();
    let mut got: Vec<Vec<Vec<u8>>> = vec![Vec::new(); 4];
    let mut idle = 0;
    while got.iter().any(|g| g.len() < count) {
        for (lane, queue) in waiting.iter_mut().enumerate() {
            while let Some(bytes) = queue.last() {
                if !pair.try_send(lane / 2, channels[lane % 2], bytes) {
                    break;
                }
                queue.pop();
            }
        }
        let until = pair.now + SECOND / 2;
        idle = if pair.step(until) { 0 } else { idle + 1 };
        assert!(idle < 4, "nothing happens any more");
        for (lane, got) in got.iter_mut().enumerate() {
            got.extend(pair.take(1 - lane / 2, channels[lane % 2]));
        }
    }
    for (mut got, mut sent) in got.into_iter().zip(sent) {
        got.sort();
        sent.sort();
        assert!(got == sent, "each frame once and whole");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    /// Whatever the wire does, every frame arrives exactly once, and no changed datagram is taken.
    #[test]
    fn frames_arrive_exactly_once(
        seed: u64, loss in 0u64..2000, duplicate in 0u64..2000, reorder in 0u64..3000, corrupt in 0u64..1000,
        small in any::<bool>(), one_way in 1_000u64..2_000_000,
    ) {
        let wire = Wire { loss, duplicate, reorder, corrupt, one_way, queue: 256 << 10, ..Wire::default() };
        let mut pair = Pair::new(seed, wire, if small { 0 } else { 1 << 20 }, 1 << 20);
        exchange(&mut pair, 60, if small { 300 } else { 20_000 });
    }
}

/// Whatever byte outside of bulk data is changed on the way, nothing of the datagram is taken: no message,
/// acknowledgement, or head.
#[test]
fn changed_datagrams_are_refused_byte_by_byte() {
    for seed in 0..4 {
        let wire = Wire { loss: 500, reorder: 1000, duplicate: 300, ..Wire::default() };
        let mut pair = Pair::new(seed, wire, 1 << 20, 1 << 20);
        pair.tamper = true;
        let source = pattern(seed, 30_000);
        for end in &mut pair.ends {
            (end.memory.segment, end.memory.own) = (vec![0; 64 << 10], vec![0; 64 << 10]);
        }
        pair.ends[0].memory.own[..30_000].copy_from_slice(&source);
        for (token, (at, len)) in [(0, 8), (8, MIN_BULK_BYTES as u64), (300, 29_700)].into_iter().enumerate()
        {
            assert!(pair.ends[0].link.put(at, len, at, token as u64));
        }
        exchange(&mut pair, 30, 3000);
        assert!(pair.run(5 * SECOND, |p| p.ends[0].memory.completed.len() == 3));
        assert!(pair.ends[0].link.get(32 << 10, 300, 29_700, 3) && pair.ends[0].link.get(0, 1, 7, 4));
        assert!(pair.run(5 * SECOND, |p| p.ends[0].memory.completed.len() == 5));
        assert!(pair.ends[0].memory.own[32 << 10..][..29_700] == source[300..]);
        assert!(pair.ends[0].memory.own[..7] == source[1..8]);
        // Acknowledgements with ranges were among them.
        let kinds: BTreeSet<(u8, bool)> = pair.heard.iter().map(|d| (d[1], d.len() > HEADER_BYTES)).collect();
        assert!(
            kinds.is_superset(&[(1, true), (4, true), (5, true), (6, false), (7, true)].into()),
            "{kinds:?}"
        );
        let counted: u64 = pair.ends.iter().map(|end| end.link.counters().refused).sum();
        assert!(pair.refused > 100_000 && counted > pair.refused / 2, "{counted} of {}", pair.refused);
    }
}

#[test]
fn everything_that_was_sent_is_known_to_have_arrived_at_the_end() {
    let wire = Wire { loss: 500, ..Wire::default() };
    let mut pair = Pair::new(4, wire, 1 << 20, 1 << 20);
    exchange(&mut pair, 50, 5000);
    assert!(pair.run(5 * SECOND, |p| p.ends.iter().all(|e| e.link.is_drained())));
    let sent = [0, 1].map(|i| pair.ends[i].link.counters().sent);
    // And then there is silence, but for a last acknowledgement.
    let until = pair.now + 5 * SECOND;
    while pair.step(until) {}
    for (end, sent) in pair.ends.iter().zip(sent) {
        assert!(end.link.counters().sent <= sent + 2, "{:?}", end.link.counters());
        assert_eq!(end.link.deadline(), None);
    }
}

/// Requests that nobody takes do not keep replies from arriving, in either direction.
#[test]
fn a_full_channel_does_not_block_the_other() {
    let mut pair = Pair::new(5, Wire { loss: 100, ..Wire::default() }, 0, 1 << 20);
    let mut sent = [0; 2];
    for (who, sent) in sent.iter_mut().enumerate() {
        while pair.try_send(who, Channel::Request, &[1; 5000]) {
            *sent += 1;
        }
        assert!(*sent >= 2);
    }
    for i in 0..200u32 {
        for who in 0..2 {
            let bytes = [&i.to_le_bytes()[..], &[2; 900]].concat();
            assert!(
                pair.run(SECOND, |p| p.try_send(who, Channel::Reply, &bytes)),
                "reply {i} of {who} finds room"
            );
        }
        let mut taken = [0; 2];
        assert!(
            pair.run(SECOND, |p| {
                (0..2).for_each(|who| taken[who] += p.take(who, Channel::Reply).len());
                taken == [1, 1]
            }),
            "reply {i} arrives: {taken:?}"
        );
    }
    for (who, sent) in sent.into_iter().enumerate() {
        assert_eq!(pair.take(1 - who, Channel::Request).len(), sent);
    }
}

/// One put of 8 bytes from rank 0, and how long it takes.
fn put_once(pair: &mut Pair, token: u64) -> u64 {
    let start = pair.now;
    assert!(pair.ends[0].link.put(0, 8, 8, token));
    assert!(pair.run(SECOND, |p| p.ends[0].memory.completed.contains(&token)), "put {token}");
    pair.ends[0].memory.completed.clear();
    pair.now - start
}

/// Ranks that share a processor: the peer is away for 4 ms now and then, and nothing is lost. That is learnt,
/// and forgotten when packets are lost.
#[test]
fn a_peer_without_a_processor_is_waited_for() {
    let mut pair = Pair::new(14, Wire::default(), 1 << 20, 1 << 20);
    for end in &mut pair.ends {
        (end.memory.segment, end.memory.own) = (vec![0; 64], vec![0; 64]);
    }
    for i in 0..4000 {
        if i % 40 == 20 {
            pair.away_until[1] = pair.now + 4 * NS_PER_MS;
        }
        put_once(&mut pair, i);
    }
    let timeouts = pair.ends[0].link.counters().timeouts;
    assert!(timeouts <= 3, "{timeouts} timeouts without loss");
    let mut took = Vec::new();
    for i in 4000..4020 {
        pair.cut = true;
        pair.ends[0].link.put(0, 8, 8, i);
        pair.flush();
        pair.cut = false;
        let start = pair.now;
        assert!(pair.run(SECOND, |p| p.ends[0].memory.completed.contains(&i)));
        took.push(pair.now - start);
        for j in 0..40 {
            put_once(&mut pair, 10_000 + i * 40 + j);
        }
    }
    assert!(took[0] < 10 * NS_PER_MS, "{took:?} ns after a loss");
    assert!(took[10..].iter().all(|ns| *ns < 2 * NS_PER_MS), "{took:?} ns after losses");
}

/// The news of more room is lost; the sender asks.
#[test]
fn lost_news_of_room_is_asked_for() {
    let mut pair = Pair::new(6, Wire::default(), 0, 1 << 20);
    while pair.try_send(0, Channel::Request, &[1; 5000]) {}
    assert!(pair.run(SECOND, |p| p.ends[0].link.is_drained()));
    pair.cut = true;
    assert!(pair.take(1, Channel::Request).len() >= 2);
    pair.run(SECOND / 100, |_| false);
    pair.cut = false;
    assert!(pair.run(SECOND, |p| p.try_send(0, Channel::Request, &[1; 5000])));
}

#[test]
fn memory_is_bounded_when_nobody_takes_frames() {
    let window = 1u64 << 20;
    let mut pair = Pair::new(7, Wire::default(), window, 4 << 20);
    let mut sent = 0u64;
    for _ in 0..200_000 {
        if pair.try_send(0, Channel::Request, &[7; 20]) {
            sent += 1;
        } else {
            let until = pair.now + SECOND / 1000;
            pair.step(until);
        }
    }
    let held = pair.ends[1].memory.frames.len() as u64;
    assert_eq!(held, sent);
    // A frame of 20 bytes takes a buffer of 448.
    assert!(held * 448 <= window && held * 448 > window / 2, "{held} frames");
    while pair.ends[0].link.put(0, 1, 0, 1) {
        sent += 1;
        assert!(sent < 1_000_000);
    }
    while pair.ends[0].link.get(0, 0, 1, 1) {
        sent += 1;
        assert!(sent < 1_000_000);
    }
}

#[test]
fn the_path_is_measured() {
    for (mtu, whole) in [(1472, false), (8972, false), (65507, true)] {
        let mut pair = Pair::new(8, Wire { mtu, ..Wire::default() }, 1 << 20, 1 << 20);
        pair.ends[0].memory.own = vec![1; 1 << 20];
        pair.ends[1].memory.segment = vec![0; 1 << 20];
        for round in 0..2 {
            pair.ends[0].link.put(0, 1 << 20, 0, round);
            let before = pair.ends[0].link.counters().sent;
            assert!(pair.run(SECOND, |p| p.ends[0].memory.completed.len() as u64 == round + 1));
            let packets = pair.ends[0].link.counters().sent - before;
            let fewest = (1u64 << 20).div_ceil(mtu as u64 - 64);
            if round == 1 {
                assert!(packets <= fewest + 4, "{packets} packets of {mtu}, {fewest} would do");
                assert_eq!(packets < 100, whole);
            }
        }
    }
}

/// The route changes to one that carries less: what is under way has to be fragmented, and then smaller
/// datagrams go out.
#[test]
fn a_narrower_path_is_noticed() {
    let mut pair = Pair::new(12, Wire { mtu: 8972, ..Wire::default() }, 1 << 20, 1 << 20);
    pair.ends[0].memory.own = vec![1; 4 << 20];
    pair.ends[1].memory.segment = vec![0; 4 << 20];
    pair.ends[0].link.put(0, 1 << 20, 0, 1);
    assert!(pair.run(SECOND, |p| !p.ends[0].memory.completed.is_empty()));
    pair.wire.mtu = 1472;
    pair.ends[0].link.put(0, 4 << 20, 0, 2);
    assert!(pair.run(10 * SECOND, |p| p.ends[0].link.suspects_path()));
    // The socket then lets the system fragment datagrams, so that all sizes pass.
    pair.wire.mtu = 65507;
    assert!(pair.run(10 * SECOND, |p| p.ends[0].memory.completed.len() == 2));
}

/// Losses by chance are none of size, however many one acknowledgement tells of.
#[test]
fn a_bad_path_is_no_narrower_one() {
    for loss in [100, 300, 1000] {
        let wire = Wire { loss, one_way: 500_000, ..Wire::default() };
        let mut pair = Pair::new(14, wire, 1 << 20, 8 << 20);
        pair.ends[0].memory.own = vec![1; 16 << 20];
        pair.ends[1].memory.segment = vec![0; 16 << 20];
        pair.ends[0].link.put(0, 16 << 20, 0, 1);
        let arrived = pair.run(20 * SECOND, |p| {
            assert!(!p.ends[0].link.suspects_path(), "{loss}");
            !p.ends[0].memory.completed.is_empty()
        });
        assert!(arrived);
    }
}

#[test]
fn a_dead_peer_is_found_out_in_time_and_a_slow_one_is_not() {
    let mut pair = Pair::new(9, Wire::default(), 1 << 20, 1 << 20);
    // Nothing is on its way: silence means nothing.
    pair.run(100 * SECOND, |_| false);
    assert!(!pair.ends[0].link.is_dead());
    assert!(pair.try_send(0, Channel::Request, &[1; 80]));
    assert!(pair.run(SECOND, |p| p.ends[0].link.is_drained()));
    pair.cut = true;
    assert!(pair.try_send(0, Channel::Request, &[1; 80]));
    let cut_at = pair.now;
    // A wire that comes back in time.
    pair.run(SILENCE_LIMIT_NS - SECOND, |_| false);
    assert!(!pair.ends[0].link.is_dead());
    pair.cut = false;
    assert!(pair.run(SECOND, |p| p.ends[0].link.is_drained()));
    assert!(pair.now < cut_at + SILENCE_LIMIT_NS);
    pair.cut = true;
    let cut_at = pair.now;
    assert!(pair.try_send(0, Channel::Request, &[1; 80]));
    assert!(pair.run(2 * SILENCE_LIMIT_NS, |p| p.ends[0].link.is_dead()));
    let took = pair.now - cut_at;
    assert!((SILENCE_LIMIT_NS..SILENCE_LIMIT_NS + SECOND).contains(&took), "{took}");
}

/// One way drops everything, or all that is long: whoever is heard and does not receive what is sent to it
/// does not keep the sender waiting.
#[test]
fn a_way_that_drops_is_found_out() {
    for (most, data) in [(0, 80), (400, 1000)] {
        let mut pair = Pair::new(9, Wire::default(), 1 << 20, 1 << 20);
        for from in [0, 1] {
            assert!(pair.try_send(from, Channel::Request, &vec![1; data]));
        }
        assert!(pair.run(SECOND, |p| p.ends.iter().all(|end| end.link.is_drained())));
        pair.passes[0] = most;
        let cut_at = pair.now;
        for from in [0, 1] {
            assert!(pair.try_send(from, Channel::Request, &vec![1; data]));
        }
        let ends = |p: &mut Pair| {
            // Its host says that the other, which hears nothing, has a process.
            p.ends.iter_mut().for_each(|end| end.link.revive(p.now));
            p.ends.iter().any(|end| end.link.is_unheard())
        };
        assert!(!pair.run(SILENCE_LIMIT_NS - SECOND, ends));
        assert!(pair.run(3 * SECOND, ends), "datagrams above {most} bytes vanish");
        assert!(pair.ends[0].link.is_unheard(), "{}", pair.now - cut_at);
    }
}

/// A peer that is stopped again and again, and hears little in between, is none behind a firewall.
#[test]
fn a_peer_that_is_often_stopped_is_waited_for() {
    let mut pair = Pair::new(13, Wire::default(), 1 << 20, 1 << 20);
    for _ in 0..20 {
        for from in [0, 1] {
            assert!(pair.try_send(from, Channel::Request, &[1; 80]));
        }
        pair.away_until[1] = pair.now + 3 * SILENCE_LIMIT_NS;
        pair.run(3 * SILENCE_LIMIT_NS, |p| {
            p.ends[0].link.revive(p.now);
            false
        });
        assert!(pair.run(SECOND, |p| p.ends.iter().all(|end| end.link.is_drained())));
        assert!(pair.ends.iter().all(|end| !end.link.is_unheard()));
    }
}

/// Whoever was stopped has not looked, and must not take that for the peer's silence: both were, perhaps.
#[test]
fn who_was_stopped_blames_nobody() {
    let mut pair = Pair::new(11, Wire::default(), 1 << 20, 1 << 20);
    for round in 0..4 {
        pair.cut = true;
        assert!(pair.try_send(0, Channel::Request, &[1; 80]));
        // Its peer computes for a while.
        pair.run((round + 1) * 300_000_000, |_| false);
        pair.now += 10 * SILENCE_LIMIT_NS;
        pair.cut = false;
        assert!(pair.run(SECOND, |p| p.ends[0].link.is_drained() || p.ends[0].link.is_dead()));
        assert!(!pair.ends[0].link.is_dead(), "after stop {round}");
    }
}

/// Operations that a peer has not served when it leaves never complete: no put or get is complete, nothing
/// starts, and no data is made up.
#[test]
fn what_is_outstanding_with_who_leaves_never_completes() {
    let mut pair = Pair::new(10, Wire::default(), 1 << 20, 1 << 20);
    pair.ends[0].memory.own = vec![1; 1 << 20];
    assert!(pair.ends[0].link.put(0, 1 << 20, 0, 5));
    assert!(pair.ends[0].link.get(0, 0, 8, 6));
    let mut batch = gasnet_udp::link::Batch::new(65507, 64);
    let now = pair.now;
    pair.ends[1].link.close(now, &mut batch);
    let goodbye = batch.bytes().to_vec();
    assert!(pair.hand_in(0, &goodbye));
    assert!(pair.ends[0].link.left_at().is_some() && pair.ends[0].link.is_drained());
    assert!(!pair.ends[0].link.put(0, 8, 0, 7) && !pair.ends[0].link.get(0, 0, 8, 8));
    assert!(!pair.try_send(0, Channel::Request, &[1; 80]));
    // Nobody there misses a reply.
    for _ in 0..10_000 {
        assert!(pair.try_send(0, Channel::Reply, &[1; 5000]));
    }
    pair.run(SECOND, |_| false);
    assert_eq!((pair.ends[0].memory.completed.len(), pair.ends[0].memory.own[0]), (0, 1));
    assert_eq!(pair.ends[0].link.deadline(), None);
}

/// Puts that are in place are complete, although their target leaves before it has said so, and one between
/// them was lost.
#[test]
fn what_was_served_before_the_end_is_complete() {
    let mut pair = Pair::new(15, Wire::default(), 1 << 20, 1 << 20);
    pair.ends[0].memory.own = vec![1; 8];
    pair.ends[1].memory.segment = vec![0; 24];
    let mut batch = gasnet_udp::link::Batch::new(65507, 1);
    let now = pair.now;
    for (at, token) in [(0, 5), (8, 6), (16, 7)] {
        let end = &mut pair.ends[0];
        assert!(end.link.put(0, 8, at, token));
        batch.clear();
        assert!(end.link.transmit(now, &mut end.memory, &mut batch));
        let put = batch.bytes().to_vec();
        assert!(token == 6 || pair.hand_in(1, &put));
    }
    let end = &mut pair.ends[1];
    end.link.acknowledge();
    batch.clear();
    assert!(end.link.transmit(now, &mut end.memory, &mut batch));
    let mut last = vec![batch.bytes().to_vec()];
    batch.clear();
    end.link.close(now, &mut batch);
    last.push(batch.bytes().to_vec());
    assert!(last.iter().all(|said| pair.hand_in(0, said)));
    assert_eq!(pair.ends[0].memory.completed, [7, 5]);
}

/// Random bytes, changed datagrams, datagrams for others, and everything heard so far once more: nothing of
/// it is taken.
#[test]
fn hostile_datagrams_change_nothing() {
    let mut pair = Pair::new(11, Wire::default(), 1 << 20, 1 << 20);
    exchange(&mut pair, 40, 3000);
    assert!(pair.run(SECOND, |p| p.ends.iter().all(|e| e.link.is_drained())));
    let mut rng = Rng(12);
    let heard = std::mem::take(&mut pair.heard);
    assert!(heard.len() > 100);
    let received = [0, 1].map(|i| pair.ends[i].link.counters().received);
    for datagram in &heard {
        for to in 0..2 {
            assert!(!pair.hand_in(to, datagram), "a replay");
            let mut forged = datagram.clone();
            // Numbers that were not used yet, so that only the tag is in the way.
            forged[8..16].copy_from_slice(&(1_000_000 + rng.below(1 << 40)).to_le_bytes());
            assert!(!pair.hand_in(to, &forged), "a forgery");
            let at = rng.below(64) as usize;
            forged[at] ^= 1 << rng.below(8);
            assert!(!pair.hand_in(to, &forged), "a forgery");
        }
    }
    for _ in 0..20_000 {
        let len = rng.below(300) as usize;
        let bytes = pattern(rng.next(), len);
        assert!(!pair.hand_in(rng.below(2) as usize, &bytes));
    }
    assert_eq!([0, 1].map(|i| pair.ends[i].link.counters().received), received);
    exchange(&mut pair, 40, 3000);
}

/// Rates of a put of 16 MiB over 10 Gbit/s: loss by congestion window by round-trip time.
#[test]
fn sweep() {
    let mut table = String::from("MB/s of a 16 MiB put at 1250 MB/s, and packets sent again in %\n");
    for rtt_us in [50u64, 500, 5000] {
        table += &format!("\nround trip {rtt_us} us\n  loss  window: ");
        let windows = [128u64, 512, 2048, 8192];
        windows.iter().for_each(|w| table += &format!("{w:>8} KiB     "));
        table += "\n";
        for loss in [0u64, 10, 100, 300, 1000] {
            table += &format!("{:>6}%         ", loss as f64 / 100.0);
            for window in windows {
                let wire = Wire { loss, one_way: rtt_us * 500, ..Wire::default() };
                let mut pair = Pair::new(loss + window, wire, 1 << 20, window << 10);
                let len = 16 << 20;
                pair.ends[0].memory.own = vec![1; len];
                pair.ends[1].memory.segment = vec![0; len];
                pair.ends[0].link.put(0, len as u64, 0, 1);
                let start = pair.now;
                assert!(pair.run(100 * SECOND, |p| !p.ends[0].memory.completed.is_empty()));
                assert!(pair.ends[1].memory.segment.iter().all(|b| *b == 1));
                let rate = len as u64 * 1000 / (pair.now - start);
                let counters = pair.ends[0].link.counters();
                let again = counters.lost as f64 * 100.0 / counters.sent as f64;
                table += &format!("{rate:>7} {again:>5.1}%  ");
            }
            table += "\n";
        }
    }
    insta::assert_snapshot!(table);
}

/// The contents of one rank's socket, and the speed at which the rank reads from it.
struct Receiver {
    links: Vec<Link>,
    shares: Shares,
    memory: net::Memory,
    /// Bytes of memory that the socket may take, and takes.
    room: u64,
    taken: u64,
    waiting: VecDeque<(usize, Vec<u8>)>,
    dropped: u64,
    /// Bytes that it may take.
    credit: usize,
}

/// Memory that the kernel needs for a datagram: the next power of two, and its own bookkeeping.
fn memory_of(datagram: &[u8]) -> u64 {
    (datagram.len() as u64 + 320).next_power_of_two() + 256
}

impl Receiver {
    /// Takes what its processor can in a step.
    fn take(&mut self, now: u64) {
        self.credit += 8192;
        while self.waiting.front().is_some_and(|(_, datagram)| datagram.len() <= self.credit) {
            let (from, datagram) = self.waiting.pop_front().unwrap();
            self.credit -= datagram.len();
            self.taken -= memory_of(&datagram);
            let link = &mut self.links[from];
            link.handle(now, &Packet::new_checked(&datagram).unwrap(), &mut self.memory).unwrap();
            self.shares.heard(now, 1 + from as u32, link.peer_wants());
        }
        if self.waiting.is_empty() {
            self.credit = self.credit.min(8192);
        }
    }

    /// Sends what it has to tell.
    fn answer(&mut self, now: u64, batch: &mut Batch, to_senders: &mut VecDeque<(usize, Vec<u8>)>) {
        for (i, link) in self.links.iter_mut().enumerate() {
            if link.deadline().is_some_and(|at| at <= now) {
                link.timeout(now);
            }
            link.set_share(self.shares.of(now, 1 + i as u32));
            loop {
                batch.clear();
                if !link.transmit(now, &mut self.memory, batch) {
                    break;
                }
                to_senders.extend(batch.bytes().chunks(batch.size()).map(|d| (i, d.to_vec())));
            }
        }
    }
}

/// Time in which `count` senders bring `len` bytes each to one rank whose socket has little room, how often
/// they had to wait for a timer, and how many datagrams found no room.
fn incast(count: usize, len: usize, late: bool) -> (u64, u64, u64) {
    const ROOM: u64 = 212_992;
    let on_its_way = ROOM / 2;
    let first = share::first(on_its_way, count as u64);
    let link = |own: u32, peer: u32| {
        Link::new(Setup { first, ..net::setup_of(own, peer, 1 << 20, on_its_way, Coverage::Messages) })
    };
    let mut receiver = Receiver {
        links: (0..count).map(|i| link(0, 1 + i as u32)).collect(),
        shares: Shares::new(on_its_way),
        memory: net::Memory { segment: vec![0; count * len], ..net::Memory::default() },
        room: 2 * ROOM,
        taken: 0,
        waiting: VecDeque::new(),
        dropped: 0,
        credit: 0,
    };
    let mut senders: Vec<(Link, net::Memory)> = (0..count)
        .map(|i| {
            let own = pattern(i as u64, len);
            (link(1 + i as u32, 0), net::Memory { own, ..net::Memory::default() })
        })
        .collect();
    for (i, (link, _)) in senders.iter_mut().enumerate() {
        // In parts, as programs that put many blocks.
        let part = len / 4;
        (0..4).for_each(|n| {
            assert!(link.put((n * part) as u64, part as u64, (i * len + n * part) as u64, n as u64));
        });
    }
    let mut batch = Batch::new(65507, 64);
    let mut rng = Rng(count as u64);
    // A clock of steps of 2 us: in each the senders that have the processor send, and the receiver takes 8
    // KiB (4 GB/s).
    let (mut now, start) = (SECOND, SECOND);
    let mut to_senders: VecDeque<(usize, Vec<u8>)> = VecDeque::new();
    let mut away = vec![0u64; count];
    while senders.iter().any(|(_, memory)| memory.completed.len() < 4) {
        now += 2000;
        assert!(now < start + 20 * SECOND, "{count} senders get nowhere");
        for (i, (link, memory)) in senders.iter_mut().enumerate() {
            if late && rng.chance(3) {
                // Its processor is somebody else's for up to 2 ms.
                away[i] = now + rng.below(2 * NS_PER_MS);
            }
            if now < away[i] {
                continue;
            }
            while let Some(at) = to_senders.iter().position(|(to, _)| *to == i) {
                let (_, datagram) = to_senders.remove(at).unwrap();
                link.handle(now, &Packet::new_checked(&datagram).unwrap(), memory).unwrap();
            }
            if link.deadline().is_some_and(|at| at <= now) {
                link.timeout(now);
            }
            loop {
                batch.clear();
                if !link.transmit(now, memory, &mut batch) {
                    break;
                }
                for datagram in batch.bytes().chunks(batch.size()) {
                    if receiver.taken > receiver.room {
                        receiver.dropped += 1;
                        continue;
                    }
                    receiver.taken += memory_of(datagram);
                    receiver.waiting.push_back((i, datagram.to_vec()));
                }
            }
        }
        receiver.take(now);
        receiver.answer(now, &mut batch, &mut to_senders);
    }
    for (i, (_, memory)) in senders.iter().enumerate() {
        assert!(receiver.memory.segment[i * len..][..len] == memory.own, "what sender {i} put");
    }
    let timeouts = senders.iter().map(|(link, _)| link.counters().timeouts).sum();
    (now - start, timeouts, receiver.dropped)
}

/// Many senders to one rank with the small socket that systems give by default: they divide its room, so that
/// none of them waits for a timer, and together they are no slower than half of one.
#[test]
fn many_senders_divide_the_room_of_one() {
    let all = 8 << 20;
    let (alone, timeouts, dropped) = incast(1, all, false);
    assert_eq!((timeouts, dropped), (0, 0), "one sender");
    for (count, late) in [(2, false), (4, false), (16, false), (32, false), (16, true), (32, true)] {
        let (took, timeouts, dropped) = incast(count, all / count, late);
        assert_eq!((timeouts, dropped), (0, 0), "{count} senders, {late}: {took} ns, {alone} alone");
        assert!(took < 2 * alone, "{count} senders, {late}: {took} ns, {alone} alone");
    }
}
