//! Triggered commands and combining writes, which are ours: exactly once in any order, chains without the
//! host, sums over pages that come and go.

use gasnet_ops::{Function, Operation, WordType};
use netvm_fw::library::{LibraryError, Trigger};
use netvm_fw::nic::MAX_ARMED_COMMANDS;
use netvm_fw::wire::HeadKind;

use crate::rig::{Area, P, Rig, Weather, seeds};

const ADD: Operation = Operation { function: Function::Add, word: WordType::U64 };

/// Issues one command, running the rig while the queue is full.
fn command(
    rig: &mut Rig,
    me: Area,
    when: Option<(u32, u32)>,
    (from, to, at): (u64, Area, u64),
    how: Option<Operation>,
    notification: u32,
) {
    let (mine, theirs) = (rig.handle(me, me), rig.handle(me, to));
    let when = when.map(|(event, count)| Trigger { event, count });
    loop {
        match rig.library(me).command(when, (mine, from), (theirs, at), 8, how, notification) {
            Ok(()) => return rig.ring(me.node),
            Err(LibraryError::Busy) => {
                let fence = rig.library(me).wait_for_room();
                rig.library(me).want(fence);
                assert!(rig.step(), "the queue stays full");
            }
            Err(e) => panic!("{e}"),
        }
    }
}

fn raise(rig: &mut Rig, me: Area, when: Option<(u32, u32)>, notification: u32) {
    let when = when.map(|(event, count)| Trigger { event, count });
    rig.library(me).raise(when, notification).expect("room");
    rig.ring(me.node);
}

fn count(rig: &Rig, at: Area, event: u32) -> u32 {
    rig.nodes[at.node].ports[&at.port].events.signals(event)
}

fn word(rig: &Rig, at: Area, offset: u64) -> u64 {
    u64::from_le_bytes(rig.peek(at, offset, 8).try_into().expect("8 bytes"))
}

/// Calls `f` with every order of three signals and three commands that wait for 1, 2 and 3 of them.
fn orders(so_far: &mut Vec<usize>, f: &mut impl FnMut(&[usize])) {
    if so_far.len() == 6 {
        return f(so_far);
    }
    for next in 0..6 {
        // Signals are alike: 0, 1, 2 in this order only.
        let in_turn = next >= 3 || so_far.iter().filter(|&&s| s < 3).count() == next;
        if !so_far.contains(&next) && in_turn {
            so_far.push(next);
            orders(so_far, f);
            so_far.pop();
        }
    }
}

/// Each command is carried out once, as soon as both its count is reached and it is armed, whichever comes
/// first.
#[test]
fn every_order_of_arming_and_signals_fires_exactly_once() {
    let mut tried = 0;
    orders(&mut Vec::new(), &mut |order| {
        tried += 1;
        let mut rig = Rig::new(1, 16, Weather::CALM, 3);
        let a = rig.port(0, 1, 1);
        rig.touch(a, 0, P);
        for so_far in 1..=6 {
            match order[so_far - 1] {
                i @ 0..3 => {
                    let _ = i;
                    raise(&mut rig, a, None, 5);
                }
                i => raise(&mut rig, a, Some((5, i as u32 - 2)), 10 + i as u32),
            }
            rig.run();
            let signals = order[..so_far].iter().filter(|&&s| s < 3).count();
            for i in 3..6 {
                let due = order[..so_far].contains(&i) && signals >= i - 2;
                assert_eq!(count(&rig, a, 10 + i as u32), u32::from(due), "{order:?} after {so_far}");
            }
        }
        assert_eq!((rig.nodes[0].nic.armed(a.port), rig.nodes[0].nic.stats().triggered), (0, 3));
    });
    assert_eq!(tried, 6 * 5 * 4);
}

/// Thresholds are compared by distance: counts may go around.
#[test]
fn a_threshold_of_long_ago_is_reached() {
    let mut rig = Rig::new(1, 16, Weather::CALM, 3);
    let a = rig.port(0, 1, 1);
    raise(&mut rig, a, Some((5, 0)), 6);
    raise(&mut rig, a, Some((5, u32::MAX)), 6);
    rig.run();
    assert_eq!(count(&rig, a, 6), 2);
    raise(&mut rig, a, Some((5, 1)), 6);
    rig.run();
    assert_eq!((count(&rig, a, 6), rig.nodes[0].nic.armed(a.port)), (2, 1));
}

/// A token goes around a ring of nodes, each time adding to a word of each, and no host does anything: in
/// rough weather, with pages that are missing at the start.
#[test]
fn a_chain_goes_on_without_hosts() {
    const NODES: usize = 4;
    const ROUNDS: u32 = 5;
    for seed in seeds(20) {
        let mut rig = Rig::new(NODES as u32, 16, Weather::ROUGH, seed);
        let areas: Vec<Area> = (0..NODES).map(|n| rig.port(n, 1, 2)).collect();
        for (n, &me) in areas.iter().enumerate() {
            rig.poke(me, 0, &(n as u64 + 1).to_le_bytes());
            let next = areas[(n + 1) % NODES];
            for round in 0..ROUNDS {
                command(&mut rig, me, Some((7, round + 1)), (0, next, P), Some(ADD), 7);
            }
        }
        rig.run();
        let taken: u64 = rig.nodes.iter().map(|n| n.nic.stats().commands).sum();
        raise(&mut rig, areas[0], None, 7);
        rig.run();
        for (n, &me) in areas.iter().enumerate() {
            let before = (n + NODES - 1) % NODES;
            assert_eq!(word(&rig, me, P), u64::from(ROUNDS) * (before as u64 + 1), "seed {seed}, node {n}");
            assert_eq!(rig.nodes[n].nic.armed(me.port), 0);
        }
        let now: u64 = rig.nodes.iter().map(|n| n.nic.stats().commands).sum();
        assert_eq!(now, taken + 1, "one command set all of it off");
    }
}

/// Sums from many nodes into one page, which is evicted again and again: none is lost, none is added twice,
/// atomics among them.
#[test]
fn combining_writes_are_atomic_while_pages_come_and_go() {
    const NODES: usize = 3;
    const EACH: u64 = 60;
    for seed in seeds(10) {
        let mut rig = Rig::new(NODES as u32, 8, Weather::ROUGH, seed);
        let areas: Vec<Area> = (0..NODES).map(|n| rig.port(n, 1, 3)).collect();
        let home = areas[0];
        for (n, &me) in areas.iter().enumerate() {
            rig.poke(me, 16, &(n as u64 + 1).to_le_bytes());
        }
        for i in 0..EACH {
            for &me in &areas {
                command(&mut rig, me, None, (16, home, P + 8), Some(ADD), 9);
            }
            let me = areas[i as usize % NODES];
            rig.atomic(me, home, P + 64, gasnet_ops::home::HomeOp::Incr, [0; 4]);
            if i % 7 == 3 {
                rig.run();
                rig.evict(home, P);
            }
        }
        rig.run();
        assert_eq!(word(&rig, home, P + 8), EACH * (1 + 2 + 3), "seed {seed}");
        assert_eq!(word(&rig, home, P + 64), EACH, "seed {seed}");
        assert_eq!(u64::from(count(&rig, home, 9)), EACH * NODES as u64);
        let stats = rig.nodes[0].nic.stats();
        assert_eq!(stats.folds, EACH * NODES as u64);
        assert!(stats.bounces > 0, "some found the page missing");
        assert!(rig.nodes[0].nic.is_idle());
    }
}

/// A trigger that cannot be armed is refused, and the queue continues.
#[test]
fn what_cannot_wait_is_refused() {
    let mut rig = Rig::new(2, 16, Weather::CALM, 3);
    let (a, b) = (rig.port(0, 1, 1), rig.port(1, 1, 1));
    rig.touch(a, 0, P);
    rig.touch(b, 0, P);
    let refused = |rig: &Rig| rig.nodes[0].ports[&a.port].refused();
    // One-shot numbers and numbers that do not exist are no events.
    for event in [0, 1024, 5000] {
        raise(&mut rig, a, Some((event, 1)), 3);
    }
    rig.run();
    assert_eq!((refused(&rig), rig.nodes[0].nic.armed(a.port)), (3, 0));
    // Words that are not whole, or not aligned.
    let (mine, theirs) = (rig.handle(a, a), rig.handle(a, b));
    for (at, len) in [(4, 8), (0, 4)] {
        rig.library(a).command(None, (mine, 0), (theirs, at), len, Some(ADD), 0).expect("room");
        rig.ring(0);
    }
    rig.run();
    assert_eq!(refused(&rig), 5);
    assert!(rig.packets.iter().all(|h| h.kind != HeadKind::Combine));
    assert_eq!(
        rig.library(a).command(None, (mine, P - 4), (theirs, 0), 8, None, 0),
        Err(LibraryError::Range)
    );
    // More than the NIC keeps.
    for _ in 0..MAX_ARMED_COMMANDS + 2 {
        while rig.library(a).raise(Some(Trigger { event: 5, count: 9 }), 3) == Err(LibraryError::Busy) {
            let fence = rig.library(a).wait_for_room();
            rig.library(a).want(fence);
            assert!(rig.step());
        }
        rig.ring(0);
    }
    rig.run();
    assert_eq!((refused(&rig), rig.nodes[0].nic.armed(a.port)), (7, MAX_ARMED_COMMANDS));
    // A wrong key at the far end: refused there, and its notification is not raised.
    let before = count(&rig, b, 4);
    let mut out = Vec::new();
    rig.nodes[1].host.unexport(&b.segment, &mut out);
    rig.host_actions(1, out);
    command(&mut rig, a, None, (0, b, 0), Some(ADD), 4);
    rig.run();
    assert_eq!(count(&rig, b, 4), before);
    assert!(rig.nodes[1].nic.is_idle());
}
