//! Items 22 to 27: notifications and channels.

use netvm_fw::library::Transfer;
use netvm_fw::port::Post;
use netvm_fw::sync::{Receiver, Sender};

use crate::rig::{Area, P, Rig, Weather, seeds};

fn pair(weather: Weather, seed: u64) -> (Rig, Area, Area) {
    let mut rig = Rig::new(2, 64, weather, seed);
    let (a, b) = (rig.port(0, 1, 8), rig.port(1, 1, 8));
    rig.touch(a, 0, 8 * P);
    rig.touch(b, 0, 8 * P);
    (rig, a, b)
}

/// Writes `i + 1` into place `i` of the area, 64 bytes each, with a notification.
fn numbered(rig: &mut Rig, a: Area, b: Area, i: u64, notification: u32) {
    rig.poke(a, i * 64, &[i as u8 + 1; 64]);
    let transfer = rig.write_of(a, i * 64, b, i * 64, 64).notify(notification);
    rig.issue(a, transfer);
}

fn arrived(rig: &Rig, b: Area, i: u64) -> bool {
    rig.peek(b, i * 64, 64) == [i as u8 + 1; 64]
}

#[test]
fn item_22_notifications_follow_their_data() {
    let mut early = 0;
    for seed in seeds(200) {
        let (mut rig, a, b) = pair(Weather::ROUGH, seed);
        for i in 0..40 {
            numbered(&mut rig, a, b, i, 5);
        }
        while rig.step() {
            let signals = u64::from(rig.nodes[1].ports[&b.port].events.signals(5));
            assert!((0..signals).all(|i| arrived(&rig, b, i)), "seed {seed}: {signals} signals");
            early += u32::from((signals..40).any(|i| arrived(&rig, b, i)));
        }
        assert_eq!(rig.nodes[1].ports[&b.port].events.signals(5), 40);
    }
    assert!(early > 0, "data need not wait");
}

#[test]
fn item_23_one_notification_for_many_pages() {
    for seed in seeds(100) {
        let (mut rig, a, b) = pair(Weather::ROUGH, seed);
        rig.poke(a, 0, &[8; 4 * P as usize]);
        let transfer = rig.write_of(a, 100, b, 200, 3 * P).notify(9);
        rig.issue(a, transfer);
        while rig.step() {
            if rig.nodes[1].ports[&b.port].events.signals(9) > 0 {
                assert!(rig.peek(b, 200, 3 * P as usize).iter().all(|&byte| byte == 8));
            }
        }
        assert_eq!(rig.nodes[1].ports[&b.port].events.signals(9), 1);
    }
}

#[test]
fn item_24_a_bounced_fragment_holds_later_notifications_back() {
    let mut rig = Rig::new(2, 64, Weather::CALM, 3);
    let (a, b) = (rig.port(0, 1, 8), rig.port(1, 1, 8));
    rig.touch(a, 0, 8 * P);
    rig.touch(b, 0, P);
    rig.nodes[1].stuck.insert(Rig::vpn(b, P));
    rig.write(a, 0, b, P, 500);
    numbered(&mut rig, a, b, 1, 6);
    rig.run();
    assert!(arrived(&rig, b, 1), "the data is there");
    assert_eq!(rig.nodes[1].ports[&b.port].events.signals(6), 0);
    rig.unstick(1);
    rig.run();
    assert_eq!(rig.nodes[1].ports[&b.port].events.signals(6), 1);
}

#[test]
fn item_25_event_counts_coalesce() {
    let (mut rig, a, b) = pair(Weather::ROUGH, 4);
    let events = |rig: &Rig| rig.nodes[1].ports[&b.port].clone();
    events(&rig).events.arm(5);
    for i in 0..20 {
        numbered(&mut rig, a, b, i, 5);
    }
    rig.run();
    let notices = rig.nodes[1].posts.iter().filter(|p| p.1 == Post::Notice(5)).count();
    assert_eq!((notices, rig.nodes[1].woken[&b.port]), (1, 1));
    assert_eq!(events(&rig).events.dispatch(|number| assert_eq!(number, 5)), 20);
    // Armed late: what is pending is the caller's, and not the dispatcher's as well.
    events(&rig).events.disarm(5);
    for i in 0..3 {
        numbered(&mut rig, a, b, i, 5);
    }
    rig.run();
    let mut calls = 0;
    let mut pending = events(&rig).events.arm(5);
    while pending > 0 {
        calls += 1;
        pending = events(&rig).events.acknowledge(5);
    }
    assert_eq!(calls + events(&rig).events.dispatch(|_| {}), 3);
    // A mirror is written when it is asked for.
    events(&rig).events.want_mirror(5, true);
    numbered(&mut rig, a, b, 0, 5);
    rig.run();
    assert_eq!(events(&rig).events.mirrored(5), events(&rig).events.signals(5));
}

#[test]
fn item_26_one_shot_notifications_come_one_by_one_in_order() {
    for seed in seeds(100) {
        let (mut rig, a, b) = pair(Weather::ROUGH, seed);
        let ids: Vec<u32> = (0..50).map(|i| 1024 + i * 80_000_000 + i % 3).collect();
        for (i, &id) in ids.iter().enumerate() {
            numbered(&mut rig, a, b, i as u64, id);
        }
        rig.run();
        let mut got = Vec::new();
        assert_eq!(rig.nodes[1].ports[&b.port].events.dispatch(|id| got.push(id)), 50);
        assert_eq!(got, ids);
        assert_eq!(rig.nodes[1].woken[&b.port], 50);
    }
}

/// A channel over the rig: slots of 64 bytes at the receiver; notifications 7 (sent) and 8 (replenish).
#[test]
fn item_27_channels() {
    for (slots, refill) in [(2, 1), (4, 1), (4, 3), (16, 8), (16, 15)] {
        let (mut rig, a, b) = pair(Weather::ROUGH, u64::from(slots * 100 + refill));
        let mut random = fastrand::Rng::with_seed(1);
        let (mut sender, mut receiver) = (Sender::new(slots, refill), Receiver::new(slots, refill));
        let (mine, theirs) = (rig.handle(a, a), rig.handle(a, b));
        let (back_mine, back_theirs) = (rig.handle(b, b), rig.handle(b, a));
        let (mut sent, mut received, mut replenished) = (0u8, 0u8, 0);
        let mut reading = None;
        let memory = |rig: &Rig, node: usize| rig.nodes[node].ports[&a.port].clone();
        assert_eq!(sender.credits(), slots - 1);
        while received < 200 {
            rig.step();
            // The receiver, at its leisure.
            if random.u64(..4) == 0 && memory(&rig, 1).events.pending(7) > 0 {
                if let Some((slot, value)) = reading {
                    assert_eq!(
                        rig.peek(b, u64::from(slot) * 64, 64),
                        [value; 64],
                        "read in place, untouched"
                    );
                }
                memory(&rig, 1).events.acknowledge(7);
                let (slot, replenish) = receiver.receive();
                received += 1;
                assert_eq!(rig.peek(b, u64::from(slot) * 64, 64), [received; 64]);
                reading = Some((slot, received));
                if replenish {
                    replenished += 1;
                    rig.issue(b, Transfer::write((back_mine, 7 * P), (back_theirs, 7 * P), 4).notify(8));
                }
            }
            // The sender, as fast as it can.
            while memory(&rig, 0).events.pending(8) > 0 {
                memory(&rig, 0).events.acknowledge(8);
                sender.replenish();
            }
            if sent < 200
                && rig.library(a).room() > 0
                && let Some(slot) = sender.slot()
            {
                sent += 1;
                let mut transfer = Transfer::write((mine, 0), (theirs, u64::from(slot) * 64), 64).notify(7);
                assert_eq!(rig.library(a).issue(&mut transfer, |_, into| into.fill(sent)), Ok(true));
                rig.ring(0);
            } else if rig.library(a).room() == 0 {
                let fence = rig.library(a).wait_for_room();
                rig.library(a).want(fence);
            }
        }
        assert_eq!(replenished, 200 / refill);
    }
}
