//! Items 17 to 21: missing pages, credits.

use netvm_fw::port::Counter;
use netvm_fw::window::{HALF_WINDOW_MESSAGES, WINDOW_MESSAGES};
use netvm_fw::wire::HeadKind;

use crate::rig::{P, Rig, Weather};

#[test]
fn item_17_a_missing_destination_costs_one_copy() {
    let mut rig = Rig::new(2, 64, Weather::ROUGH, 4);
    let (a, b) = (rig.port(0, 1, 8), rig.port(1, 1, 8));
    rig.touch(a, 0, 8 * P);
    let bytes: Vec<u8> = (0..8 * P).map(|i| (i % 251) as u8).collect();
    rig.poke(a, 0, &bytes);
    let transfer = rig.write_of(a, 0, b, 0, 8 * P).acknowledge();
    rig.issue(a, transfer);
    rig.fence(a, Counter::Written);
    rig.run();
    assert!(rig.peek(b, 0, bytes.len()) == bytes);
    let copied = rig.nodes[1].host_work.iter().filter_map(|w| match w {
        netvm_fw::host::HostWork::Copy(n) => Some(u64::from(*n)),
        _ => None,
    });
    let copied: u64 = copied.sum();
    assert_eq!(copied + rig.nodes[1].dma_bytes, 8 * P, "each byte once, by copy or by DMA");
    assert!(rig.nodes[1].nic.stats().bounces > 0);
    let writes = rig.packets.iter().filter(|h| h.kind == HeadKind::Write).count();
    assert_eq!(writes, 8, "nothing is sent twice");
}

#[test]
fn item_18_missing_sources_only_delay() {
    let mut rig = Rig::new(2, 64, Weather::ROUGH, 5);
    let (a, b) = (rig.port(0, 1, 8), rig.port(1, 1, 8));
    rig.poke(a, 0, &[3; P as usize]);
    rig.poke(b, 4 * P, &[4; 2 * P as usize]);
    let transfer = rig.write_of(a, 0, b, 0, P).acknowledge();
    rig.issue(a, transfer);
    rig.read(a, 4 * P, b, 4 * P, 2 * P);
    rig.fence(a, Counter::Written);
    rig.fence(a, Counter::Reads);
    rig.run();
    assert_eq!(rig.peek(b, 0, P as usize), vec![3; P as usize]);
    assert_eq!(rig.peek(a, 4 * P, 2 * P as usize), vec![4; 2 * P as usize]);
    assert_eq!(rig.nodes[1].nic.stats().bounces, 3, "the write's page and both of the read's");
    assert!(rig.nodes[0].nic.stats().misses >= 3);
    assert!(rig.nodes.iter().all(|n| n.nic.is_idle()));
}

#[test]
fn item_19_bounced_messages_stay_in_their_slots_and_stall_nobody_else() {
    let mut rig = Rig::new(3, 64, Weather::ROUGH, 6);
    let (a, b, c) = (rig.port(0, 1, 2), rig.port(1, 1, 2), rig.port(2, 1, 2));
    rig.touch(a, 0, 2 * P);
    rig.touch(c, 0, 2 * P);
    rig.nodes[1].stuck.insert(Rig::vpn(b, 0));
    // 100 messages to a page that does not come: 64 go, 36 wait in the NIC; the port goes on.
    for _ in 0..100 {
        rig.write(a, 0, b, 0, 300);
    }
    rig.run();
    assert_eq!(rig.nodes[1].host.bounced(netvm_fw::Node(0)), WINDOW_MESSAGES);
    assert_eq!(rig.nodes[0].nic.credits(netvm_fw::Node(1)), 0);
    for _ in 0..200 {
        let transfer = rig.write_of(a, 0, c, 0, 300).acknowledge();
        rig.issue(a, transfer);
    }
    rig.fence(a, Counter::Written);
    assert_eq!(
        rig.nodes[1].host.bounced(netvm_fw::Node(0)),
        WINDOW_MESSAGES,
        "the other peer is stuck still"
    );
    rig.unstick(1);
    rig.run();
    assert_eq!(rig.nodes[1].host.stats().most_bounced, WINDOW_MESSAGES);
    assert_eq!(rig.nodes[1].host.bounced(netvm_fw::Node(0)), 0);
    assert!(rig.nodes.iter().all(|n| n.nic.is_idle()));
}

#[test]
fn item_20_a_responder_without_credits_defers() {
    let mut rig = Rig::new(2, 64, Weather::ROUGH, 8);
    let (a, b) = (rig.port(0, 1, 4), rig.port(1, 1, 4));
    rig.touch(a, 0, 4 * P);
    rig.touch(b, 0, 4 * P);
    rig.poke(b, 0, &[5; P as usize]);
    // B's window to A is full of writes that A never sees.
    rig.cut.insert(0);
    for _ in 0..WINDOW_MESSAGES {
        rig.write(b, 0, a, P, 8);
    }
    rig.run();
    assert_eq!(rig.nodes[1].nic.credits(netvm_fw::Node(0)), 0);
    // A reads, and writes meanwhile: B keeps receiving, and answers when it can.
    for n in 0..10 {
        rig.read(a, 2 * P + 10 * n, b, 0, 10);
    }
    rig.write(a, 3 * P, b, 2 * P, 50);
    rig.run();
    assert_eq!(rig.nodes[1].nic.stats().deferred, 10);
    let fence = rig.library(a).fence(Counter::Reads);
    assert!(!rig.library(a).want(fence));
    rig.join();
    rig.wait(a, fence);
    assert_eq!(rig.peek(a, 2 * P, 100), vec![5; 100]);
    rig.run();
    assert!(rig.nodes.iter().all(|n| n.nic.is_idle()));
}

#[test]
fn item_21_one_ack_for_half_a_window() {
    let mut rig = Rig::new(2, 64, Weather::CALM, 9);
    let (a, b) = (rig.port(0, 1, 2), rig.port(1, 1, 2));
    rig.touch(a, 0, 2 * P);
    rig.touch(b, 0, 2 * P);
    for _ in 0..10 * HALF_WINDOW_MESSAGES {
        rig.write(a, 0, b, 0, 8);
    }
    rig.run();
    assert_eq!(rig.nodes[1].acks_sent, 10);

    // One that is stuck at place `k` lets 63 - k % 32 more go, that is 32 to 63.
    for k in [0, 1, 31, 32, 40, 63] {
        let mut rig = Rig::new(2, 64, Weather::CALM, 9);
        let (a, b) = (rig.port(0, 1, 2), rig.port(1, 1, 2));
        rig.touch(a, 0, 2 * P);
        rig.touch(b, 0, P);
        rig.nodes[1].stuck.insert(Rig::vpn(b, P));
        for _ in 0..k {
            rig.write(a, 0, b, 0, 8);
        }
        rig.run();
        rig.write(a, 0, b, P, 8);
        for _ in 0..100 {
            rig.write(a, 0, b, 0, 8);
        }
        rig.run();
        let sent = rig.packets.iter().filter(|h| h.kind == HeadKind::Write).count() as u32;
        let more = sent - k - 1;
        assert_eq!(more, WINDOW_MESSAGES - 1 - k % HALF_WINDOW_MESSAGES);
        assert!((HALF_WINDOW_MESSAGES..WINDOW_MESSAGES).contains(&more));
        rig.unstick(1);
        rig.run();
        let sent = rig.packets.iter().filter(|h| h.kind == HeadKind::Write).count() as u32;
        assert_eq!(sent, k + 101, "it recovers");
    }
}
