//! `docs/netvm-hazards.md`, one test for each.

use gasnet_ops::home::{HomeOp, NO_PROCESS, QUEUE_WAS_EMPTY};
use netvm_fw::host::{ExportError, HostAction, HostEvent, HostWork, Segment};
use netvm_fw::library::{LibraryError, Transfer};
use netvm_fw::nic::{HostReply, Interrupt};
use netvm_fw::port::{Counter, PortMemory, reached};
use netvm_fw::shadow::{Geometry, LockError, Unmap, table};
use netvm_fw::sync::{Machine, Need, SemSignal, SyncObject, Word};
use netvm_fw::wire::{ACKNOWLEDGE, Head, HeadKind, PAGING, Span};
use netvm_fw::{Key, Node, PortId, Ppn, Vpn};

use crate::rig::{Area, P, Rig, Weather, seeds};

fn page(n: u64) -> Vpn {
    Vpn::new(PortId(1), n)
}
const KEY: Key = Key(42);

fn pair(weather: Weather, seed: u64) -> (Rig, Area, Area) {
    let mut rig = Rig::new(2, 64, weather, seed);
    let (a, b) = (rig.port(0, 1, 8), rig.port(1, 1, 8));
    rig.touch(a, 0, 8 * P);
    (rig, a, b)
}

#[test]
fn h01_locks_are_counts() {
    let (mut host, mut nic) = table(Geometry::new(1), 1);
    host.map(page(1), Ppn::at(0), KEY);
    for _ in 0..2 {
        nic.lock(page(1), page(1).hash(), KEY).unwrap();
    }
    nic.unlock(Ppn::at(0));
    assert_eq!(host.unmap(Ppn::at(0)), Unmap::Locked, "the other operation goes on");
    nic.unlock(Ppn::at(0));
    assert_eq!(host.unmap(Ppn::at(0)), Unmap::Unmapped);
}

#[test]
fn h02_a_scan_leaves_other_locks_alone() {
    let (mut host, mut nic) = table(Geometry { frames: 4, rows: 1, depth: 4 }, 1);
    for n in 0..4 {
        host.map(page(n + 1), Ppn::at(n as usize), KEY);
    }
    nic.lock(page(1), page(1).hash(), KEY).unwrap();
    // Passes frame 0 on its way.
    nic.lock(page(3), page(3).hash(), KEY).unwrap();
    nic.unlock(Ppn::at(2));
    assert_eq!(nic.lock(page(9), page(9).hash(), KEY), Err(LockError::Missing));
    assert!(host.locked(Ppn::at(0)));
    assert_eq!(host.unmap(Ppn::at(0)), Unmap::Locked);
}

#[test]
fn h03_no_more_promises_than_waiters() {
    // Two waiters; the first is woken, and while the head is in flux two more signals come: one finds nobody.
    let mut m = [0; 5];
    for process in [1, 2] {
        HomeOp::SemP.apply(&mut m, [process, 0, 0, 0]);
    }
    assert_eq!(HomeOp::SemV.apply(&mut m, [0; 4]), [1, 1, 0]);
    assert_eq!(HomeOp::SemV.apply(&mut m, [0; 4]), [NO_PROCESS, 1, 0], "promised to the second");
    assert_eq!(HomeOp::SemV.apply(&mut m, [0; 4]), [NO_PROCESS, QUEUE_WAS_EMPTY, 1], "counted");
    assert_eq!(HomeOp::NewHead.apply(&mut m, [2, 0, 0, 0]), [1, 0, 0], "the second must be woken");
    assert_eq!(HomeOp::SemP.apply(&mut m, [3, 0, 0, 0]), [NO_PROCESS, 1, 0], "the third does not wait");
}

#[test]
fn h04_a_signal_writes_to_nobody() {
    let mut signal = SemSignal::new();
    assert!(matches!(signal.step([0; 3]), Need::Atomic(SyncObject::Main, HomeOp::SemV, _)));
    assert_eq!(
        signal.step([NO_PROCESS, 2, 0]),
        Need::Done(0),
        "promised to a waiter: it is woken by another"
    );
    let mut signal = SemSignal::new();
    signal.step([0; 3]);
    assert_eq!(signal.step([3, 2, 0]), Need::WriteNotify(SyncObject::Main, 3, Word::Count, 2));
}

#[test]
fn h05_a_link_that_is_stuck_holds_nobody_else_up() {
    // A's window to B is full, so A's link write to B waits in the NIC; both NICs serve others all the while.
    let mut rig = Rig::new(3, 64, Weather::ROUGH, 2);
    let (a, b, c) = (rig.port(0, 1, 2), rig.port(1, 1, 2), rig.port(2, 1, 2));
    for area in [a, b, c] {
        rig.touch(area, 0, P);
    }
    rig.nodes[1].stuck.insert(Rig::vpn(b, P));
    for _ in 0..netvm_fw::window::WINDOW_MESSAGES {
        rig.write(a, 0, b, P, 8);
    }
    rig.run();
    let link = rig.write_of(a, 0, b, 8, 4).acknowledge();
    rig.issue(a, link);
    rig.run();
    let stuck = rig.library(a).fence(Counter::Written);
    assert!(!rig.library(a).want(stuck));
    assert_eq!(rig.atomic(c, a, 0, HomeOp::Incr, [0; 4])[0], 0);
    assert_eq!(rig.atomic(c, b, 0, HomeOp::Incr, [0; 4])[0], 0);
    assert_eq!(rig.atomic(a, c, 0, HomeOp::Incr, [0; 4])[0], 0);
    rig.unstick(1);
    rig.wait(a, stuck);
}

#[test]
fn h06_a_fence_that_is_passed_already_is_seen() {
    let memory = PortMemory::new(1, 1);
    assert!(!memory.count(Counter::Reads, 5, 0), "nobody waits");
    assert!(memory.want(Counter::Reads, 5), "reached before it was wanted");
    assert!(!memory.want(Counter::Reads, 7));
    assert!(!memory.count(Counter::Reads, 6, 0));
    assert!(memory.count(Counter::Reads, 7, 0), "and now it is wanted");
    assert!(!memory.count(Counter::Reads, 8, 7), "once");
    // Around the end of the numbers.
    assert!(reached(3, u32::MAX - 2) && !reached(u32::MAX - 2, 3));
    let memory = PortMemory::new(1, 1);
    memory.want(Counter::Written, 1);
    assert!(!memory.count(Counter::Written, u32::MAX, u32::MAX - 1));
    assert!(memory.count(Counter::Written, 2, u32::MAX));
}

#[test]
fn h07_waiting_looks_again_after_arming() {
    let memory = PortMemory::new(8, 8);
    memory.events.raise(3);
    assert_eq!(memory.events.arm(3), 1, "it must not sleep");
    memory.events.acknowledge(3);
    // A second signal while the first is not acknowledged coalesces; the acknowledgement shows it.
    assert!(memory.events.raise(3).notice);
    assert!(!memory.events.raise(3).notice);
    assert_eq!(memory.events.acknowledge(3), 1);
    assert_eq!(memory.events.acknowledge(3), 0);
    assert!(memory.events.raise(3).notice);
}

#[test]
fn h08_operands_do_not_straddle_pages() {
    let (mut rig, a, b) = pair(Weather::CALM, 1);
    let theirs = rig.handle(a, b);
    for (op, offset) in
        [(HomeOp::SemP, P - 16), (HomeOp::SemP, P - 20), (HomeOp::Enqueue, 8), (HomeOp::Incr, 2)]
    {
        assert_eq!(rig.library(a).atomic((theirs, offset), op, [0; 4]), Err(LibraryError::Alignment));
    }
    // A library that does not keep to it is refused by its NIC.
    let mut head = netvm_fw::wire::Head::new(netvm_fw::wire::HeadKind::Atomic, a.port, Node(0), Node(1));
    head.dst = netvm_fw::wire::Span::new(Rig::vpn(b, 0), b.segment.key, 8, 20);
    head.op = HomeOp::SemP as u32;
    let memory = rig.library(a).memory().clone();
    memory.put_command(0, &head.encode(), &[]);
    rig.nodes[0].bell.ring(a.port);
    rig.ring(0);
    rig.run();
    assert_eq!((rig.nodes[0].nic.stats().malformed, memory.refused()), (1, 1));
    assert!(rig.packets.is_empty());
}

#[test]
fn h09_exports_are_whole_pages_of_their_own() {
    let (mut rig, _, b) = pair(Weather::CALM, 1);
    let host = &mut rig.nodes[1].host;
    let mut export = |address, size| host.export(b.port, 77, address, size, &mut Vec::new()).map(|_| ());
    assert_eq!(export(100 * P, 100), Err(ExportError::NotPages));
    assert_eq!(export(100 * P + 8, P), Err(ExportError::NotPages));
    assert_eq!(export(16 * P + 7 * P, 2 * P), Err(ExportError::Overlap));
    assert_eq!(export(15 * P, 2 * P), Err(ExportError::Overlap));
    assert_eq!(export(24 * P, 2 * P), Ok(()));
}

#[test]
fn h10_only_a_checked_copy_of_a_command_counts() {
    let (mut rig, a, b) = pair(Weather::CALM, 1);
    rig.touch(b, 0, P);
    rig.poke(a, 0, &[7; 300]);
    // A wrong hash finds nothing; the host does, and the bytes arrive all the same.
    let (mut head, mut wrong) =
        (netvm_fw::wire::Head::new(netvm_fw::wire::HeadKind::Write, a.port, Node(0), Node(1)), 0);
    head.src = netvm_fw::wire::Span::new(Rig::vpn(a, 0), a.segment.key, 0, 300);
    head.dst = netvm_fw::wire::Span::new(Rig::vpn(b, 0), b.segment.key, 0, 300);
    (head.src.hash.0, head.dst.hash.0) = (head.src.hash.0 ^ u32::MAX, head.dst.hash.0 ^ u32::MAX);
    let memory = rig.library(a).memory().clone();
    let mut put = |rig: &mut Rig, head: netvm_fw::wire::Head| {
        memory.put_command(wrong, &head.encode(), &[]);
        rig.nodes[0].bell.ring(a.port);
        rig.ring(0);
        rig.run();
        wrong += 1;
    };
    put(&mut rig, head);
    assert_eq!(rig.peek(b, 0, 300), [7; 300]);
    assert_eq!(rig.nodes[1].host.stats().page_ins, 1, "no I/O");
    // Bytes outside of the page.
    for (offset, len) in [(4000, 200), (65535, 1), (0, 5000)] {
        let mut bad = head;
        (bad.src.offset, bad.src.len, bad.dst.len) = (offset, len, len);
        put(&mut rig, bad);
        (bad.src.offset, bad.dst.offset) = (0, offset);
        put(&mut rig, bad);
    }
    // A node, a kind, an inline length that do not exist.
    put(&mut rig, netvm_fw::wire::Head { to: Node(9), ..head });
    put(&mut rig, netvm_fw::wire::Head { kind: netvm_fw::wire::HeadKind::Ack, ..head });
    put(&mut rig, netvm_fw::wire::Head { flags: netvm_fw::wire::INLINED, ..head });
    assert_eq!(rig.nodes[0].nic.stats().malformed, 9);
    assert_eq!(rig.nodes[0].nic.stats().sent, 1);
    assert!(rig.nodes.iter().all(|n| n.nic.is_idle()));
}

#[test]
fn h11_a_bounced_reply_counts_for_its_reader() {
    let (mut rig, a, b) = pair(Weather::ROUGH, 1);
    rig.touch(b, 0, P);
    rig.poke(b, 0, &[5; 600]);
    rig.read(a, 0, b, 0, 600);
    while rig.packets.iter().all(|h| h.kind != netvm_fw::wire::HeadKind::ReadReply) {
        assert!(rig.step());
    }
    rig.evict(a, 0);
    rig.fence(a, Counter::Reads);
    assert_eq!(rig.peek(a, 0, 600), [5; 600]);
    assert_eq!(rig.nodes[0].nic.stats().bounces, 1);
}

#[test]
fn h12_what_waits_for_a_page_that_is_unexported_is_refused() {
    let (mut rig, a, b) = pair(Weather::ROUGH, 1);
    rig.nodes[1].stuck.insert(Rig::vpn(b, 0));
    for n in 0..5 {
        let transfer = rig.write_of(a, 0, b, n * 100, 100).acknowledge().notify(4);
        rig.issue(a, transfer);
    }
    rig.read(a, 0, b, 0, 10);
    rig.run();
    assert_eq!(rig.nodes[1].host.bounced(Node(0)), 6);
    let mut out = Vec::new();
    assert!(rig.nodes[1].host.unexport(&b.segment, &mut out));
    rig.host_actions(1, out);
    rig.fence(a, Counter::Written);
    rig.fence(a, Counter::Reads);
    assert_eq!(rig.library(a).memory().refused(), 6);
    assert_eq!(rig.nodes[1].host.bounced(Node(0)), 0, "its slots are free");
    rig.unstick(1);
    rig.run();
    assert!(rig.peek(b, 0, 500).iter().all(|&byte| byte == 0));
    assert_eq!(rig.nodes[1].ports[&b.port].events.signals(4), 0);
    // The window goes on: another export of the same memory works, under another key.
    let again =
        rig.nodes[1].host.export(b.port, 1, b.segment.address, b.segment.size, &mut Vec::new()).unwrap();
    assert_ne!(again.key, b.segment.key);
    let old = rig.handle(a, b);
    rig.library(a).remove_segment(old);
    let b = Area { segment: again, ..b };
    for _ in 0..200 {
        let transfer = rig.write_of(a, 0, b, 0, 100).acknowledge();
        rig.issue(a, transfer);
    }
    rig.fence(a, Counter::Written);
    assert_eq!(rig.library(a).memory().refused(), 6);
}

#[test]
fn h13_refused_messages_use_up_no_window() {
    let (mut rig, a, b) = pair(Weather::CALM, 1);
    rig.touch(b, 0, P);
    let mine = rig.handle(a, a);
    let wrong = Segment { key: Key(1), ..b.segment };
    let wrong = rig.library(a).add_segment(Node(1), wrong);
    for n in 0..500 {
        // Resident or not.
        let page = n % 2 * P;
        rig.issue(a, Transfer::write((mine, 0), (wrong, page), 100).acknowledge());
    }
    rig.fence(a, Counter::Written);
    rig.run();
    assert_eq!(rig.library(a).memory().refused(), 500);
    assert_eq!(rig.nodes[1].nic.stats().acks, 500 / 32);
}

#[test]
fn h14_a_resident_page_that_is_not_found_is_served() {
    let (mut rig, a, b) = pair(Weather::CALM, 1);
    rig.touch(b, 0, P);
    // The NIC does not find what the host has, as in the middle of a compaction: no I/O.
    let mut head = netvm_fw::wire::Head::new(netvm_fw::wire::HeadKind::Write, a.port, Node(0), Node(1));
    head.dst = netvm_fw::wire::Span::new(Rig::vpn(b, 0), b.segment.key, 0, 4);
    head.seq = 0;
    let event = HostEvent::Interrupt(Interrupt::Bounced { head, payload: vec![9; 4] });
    let computer = &mut rig.nodes[1];
    let mut out = Vec::new();
    computer.host.handle(0, event, &computer.memory, &mut out);
    assert!(out.contains(&HostAction::Nic(HostReply::Placed(head))), "{out:?}");
    assert_eq!(computer.host.stats().page_ins, 1);
    assert_eq!(rig.peek(b, 0, 4), [9; 4]);
}

#[test]
fn h15_pages_that_are_only_read_may_go_and_come_back() {
    let mut rig = Rig::new(2, 8, Weather::ROUGH, 1);
    let (a, b) = (rig.port(0, 1, 2), rig.port(1, 1, 40));
    rig.poke(b, 0, &[5; 100]);
    for round in 0..5 {
        rig.read(a, 0, b, 0, 100);
        rig.fence(a, Counter::Reads);
        assert_eq!(rig.peek(a, 0, 100), [5; 100], "round {round}");
        rig.poke(a, 0, &[0; 100]);
        // The host's own use pushes the page out.
        (0..30).for_each(|n| rig.touch(b, (1 + n) * P, P));
    }
    assert!(rig.nodes[1].nic.stats().bounces >= 3, "{:?}", rig.nodes[1].nic.stats());
}

#[test]
fn h16_bytes_are_copied_before_their_page_is_mapped() {
    for seed in seeds(200) {
        let (mut rig, a, b) = pair(Weather::ROUGH, seed);
        rig.poke(a, 0, &[1; 200]);
        rig.poke(a, 1000, &[2; 200]);
        let first = rig.write_of(a, 0, b, 0, 200).acknowledge();
        rig.issue(a, first);
        // With an acknowledgement between them, two writes to the same bytes stay in order, bounced or not.
        rig.fence(a, Counter::Written);
        rig.write(a, 1000, b, 0, 200);
        rig.run();
        assert_eq!(rig.peek(b, 0, 200), [2; 200], "seed {seed}");
        let work = &rig.nodes[1].host_work;
        let copy = work.iter().position(|w| matches!(w, HostWork::Copy(_))).unwrap();
        let map = work.iter().position(|w| *w == HostWork::Map).unwrap();
        assert!(copy < map, "{work:?}");
    }
}

/// Leases: used without a scan, kept through pressure, broken by an unexport, refused afterwards.
#[test]
fn leases_last_until_they_are_broken() {
    let (mut rig, a, b) = pair(Weather::ROUGH, 3);
    rig.poke(a, 0, &[7; 200]);
    // B leases a page of its own that is not even resident.
    let own = rig.handle(b, b);
    let cookie = rig.library(b).lease((own, 0)).unwrap();
    rig.ring(1);
    rig.run();
    let reply = rig.library(b).reply(cookie).unwrap().unwrap();
    let lease = netvm_fw::library::Library::lease_of(reply).unwrap();
    assert_eq!(rig.nodes[1].nic.table().count(lease.ppn), (0, 1));
    let (mine, theirs) = (rig.handle(a, a), rig.handle(a, b));
    rig.issue(a, Transfer::write((mine, 0), (theirs, 0), 200).under(lease).acknowledge());
    rig.issue(a, Transfer::read((mine, 1000), (theirs, 0), 200).under(lease));
    rig.fence(a, Counter::Written);
    rig.fence(a, Counter::Reads);
    assert_eq!(rig.nodes[1].nic.stats().leased, 2);
    // A second lease, ended; the first holds the page.
    let cookie = rig.library(b).lease((own, 0)).unwrap();
    rig.ring(1);
    rig.run();
    let second =
        netvm_fw::library::Library::lease_of(rig.library(b).reply(cookie).unwrap().unwrap()).unwrap();
    let cookie = rig.library(b).end_lease(second).unwrap();
    rig.ring(1);
    rig.run();
    assert_eq!(rig.library(b).reply(cookie).unwrap().unwrap()[0], 1);
    assert_eq!(rig.nodes[1].nic.table().count(lease.ppn), (0, 1));
    // The end of the export breaks it; whoever uses it then gets the ordinary way, which refuses.
    let mut out = Vec::new();
    assert!(rig.nodes[1].host.unexport(&b.segment, &mut out));
    rig.host_actions(1, out);
    rig.run();
    assert_eq!(rig.nodes[1].unexported, [b.segment]);
    assert_eq!(rig.nodes[1].nic.table().count(lease.ppn), (0, 0));
    rig.issue(a, Transfer::write((mine, 0), (theirs, 0), 100).under(lease).acknowledge());
    rig.fence(a, Counter::Written);
    assert_eq!(rig.library(a).memory().refused(), 1);
    let cookie = rig.library(b).end_lease(lease).unwrap();
    rig.ring(1);
    rig.run();
    assert_eq!(rig.library(b).reply(cookie).unwrap().unwrap()[0], 0, "broken before");
}

/// Leases on every frame of a host: pages that wait take them back, one for each; who uses one then gets the
/// ordinary way.
#[test]
fn leases_are_recalled_when_pages_wait_for_a_frame() {
    for seed in seeds(50) {
        let mut rig = Rig::new(2, 8, Weather::ROUGH, seed);
        let (a, b) = (rig.port(0, 1, 2), rig.port(1, 1, 40));
        let own = rig.handle(b, b);
        let leases: Vec<_> = (0..8)
            .map(|n| {
                let cookie = rig.library(b).lease((own, n * P)).unwrap();
                rig.ring(1);
                rig.run();
                let reply = rig.library(b).reply(cookie).unwrap().unwrap();
                netvm_fw::library::Library::lease_of(reply).unwrap()
            })
            .collect();
        let held = |rig: &Rig, n: usize| rig.nodes[1].nic.table().count(leases[n].ppn) == (0, 1);
        assert!((0..8).all(|n| held(&rig, n)), "no page waits, no lease ends");
        assert_eq!(rig.nodes[1].recalled, []);
        // Three more pages: leases go, no more than needed, and their holder is told which.
        rig.touch(b, 20 * P, 3 * P);
        rig.run();
        let gone = rig.nodes[1].recalled.clone();
        assert!((1..=3).contains(&gone.len()), "seed {seed}: {gone:?}");
        assert_eq!(rig.nodes[1].host.stats().recalled, gone.len() as u64);
        for (n, lease) in leases.iter().enumerate() {
            let page = Rig::vpn(b, n as u64 * P);
            let resident = rig.nodes[1].host.vm().place(page) == Some(lease.ppn);
            assert_eq!(gone.contains(&page), !resident, "seed {seed}: page {n}");
        }
        // Writes under all eight arrive, some of them by way of a fault; no byte goes to the pages that came
        // instead.
        let (mine, theirs) = (rig.handle(a, a), rig.handle(a, b));
        for (n, lease) in leases.iter().enumerate() {
            rig.poke(a, 0, &[n as u8 + 1; 200]);
            rig.issue(a, Transfer::write((mine, 0), (theirs, n as u64 * P), 200).under(*lease).acknowledge());
            rig.fence(a, Counter::Written);
        }
        assert!((0..8u64).all(|n| rig.peek(b, n * P, 200) == [n as u8 + 1; 200]), "seed {seed}");
        assert!((20..23).all(|n| rig.peek(b, n * P, 200) == [0; 200]), "seed {seed}");
        let stats = rig.nodes[1].nic.stats();
        assert!(stats.bounces >= 1 && stats.leased >= 1, "seed {seed}: {stats:?}");
    }
}

/// Messages go through the bounce buffer to the host or a port, in as many slots as there are.
#[test]
fn messages_wait_for_their_receiver() {
    let (mut rig, a, b) = pair(Weather::ROUGH, 6);
    rig.nodes[1].hoard = true;
    for n in 0..100u32 {
        let mut sent = rig.library(a).message(Node(1), b.port, n, &n.to_le_bytes());
        while sent == Err(LibraryError::Busy) {
            let fence = rig.library(a).wait_for_room();
            rig.wait(a, fence);
            sent = rig.library(a).message(Node(1), b.port, n, &n.to_le_bytes());
        }
        rig.ring(0);
    }
    rig.run();
    assert_eq!(rig.nodes[1].messages.len(), 64, "as many as there are slots");
    rig.nodes[1].hoard = false;
    let first: Vec<_> = rig.nodes[1].messages.iter().map(|m| m.0).collect();
    first.into_iter().for_each(|head| rig.host(1, HostEvent::Consumed(head)));
    rig.run();
    let mut tags: Vec<u32> = rig.nodes[1].messages.iter().map(|(head, _)| head.cookie).collect();
    tags.sort_unstable();
    assert_eq!(tags, (0..100).collect::<Vec<_>>());
    assert!(rig.nodes[1].messages.iter().all(|(head, bytes)| bytes[..] == head.cookie.to_le_bytes()));
    assert_eq!(rig.library(a).message(Node(1), b.port, 0, &[0; 97]), Err(LibraryError::Long));
    // A page's worth from a segment.
    rig.poke(a, 0, &[4; P as usize]);
    let mine = rig.handle(a, a);
    rig.library(a).message_from(Node(1), PortId(0), 7, (mine, 0), P as u32).unwrap();
    rig.ring(0);
    rig.run();
    assert_eq!(rig.nodes[1].messages.last().unwrap().1, vec![4; P as usize]);
}

#[test]
fn handles_are_forgotten() {
    let (mut rig, a, b) = pair(Weather::CALM, 1);
    let theirs = rig.handle(a, b);
    assert_eq!(rig.library(a).lookup(Node(1), b.port, b.segment.address + 5), Some((theirs, 5)));
    assert_eq!(rig.library(a).lookup(Node(1), b.port, b.segment.address - 1), None);
    assert_eq!(rig.library(a).lookup(Node(1), b.port, b.segment.address + b.segment.size), None);
    assert_eq!(rig.library(a).remove_segment(theirs), Some(b.segment));
    assert_eq!(rig.library(a).atomic((theirs, 0), HomeOp::Incr, [0; 4]), Err(LibraryError::Handle));
}

/// A process that ends in the middle of everything: its exports go, its peers are answered, its node-mates go
/// on.
#[test]
fn closing_a_port_leaves_nothing_behind() {
    for seed in seeds(200) {
        let mut rig = Rig::new(2, 16, Weather::ROUGH, seed);
        let (a, b, c) = (rig.port(0, 1, 8), rig.port(1, 1, 8), rig.port(1, 2, 8));
        rig.touch(a, 0, P);
        for n in 0..30u64 {
            let to = if n % 2 == 0 { b } else { c };
            let write = rig.write_of(a, 0, to, n % 8 * P, 300).acknowledge().notify(3);
            rig.issue(a, write);
            rig.read(a, P + n * 8, to, 0, 8);
            rig.write(b, 0, a, 2 * P, 200);
        }
        (0..seed * 3).for_each(|_| {
            rig.step();
        });
        rig.nodes[1].nic.close_port(b.port);
        let mut out = Vec::new();
        rig.nodes[1].host.close_port(b.port, &mut out);
        rig.host_actions(1, out);
        rig.fence(a, Counter::Written);
        rig.fence(a, Counter::Reads);
        rig.run();
        assert_eq!(rig.nodes[1].ports[&c.port].events.signals(3), 15, "seed {seed}");
        assert_eq!(rig.nodes[1].unexported, [b.segment]);
        for page in 0..8 {
            assert_eq!(rig.nodes[1].host.vm().place(Rig::vpn(b, page * P)), None, "seed {seed}");
        }
        for node in &rig.nodes {
            assert!(node.nic.is_idle());
            assert!((0..16).all(|i| node.nic.table().count(Ppn::at(i)) == (0, 0)));
            assert!((0..16).all(|i| !node.host.vm().table().locked(Ppn::at(i))));
        }
    }
}

#[test]
fn what_is_being_unexported_cannot_be_exported() {
    let weather = Weather { dma: (5_000, 5_000), ..Weather::CALM };
    let (mut rig, a, b) = pair(weather, 1);
    rig.touch(b, 0, P);
    rig.write(a, 0, b, 0, P);
    let ppn = rig.nodes[1].host.vm().place(Rig::vpn(b, 0)).unwrap();
    while rig.nodes[1].nic.table().count(ppn).0 == 0 {
        assert!(rig.step());
    }
    let mut out = Vec::new();
    rig.nodes[1].host.unexport(&b.segment, &mut out);
    rig.host_actions(1, out);
    let again = |rig: &mut Rig| {
        let Segment { port, address, size, .. } = b.segment;
        rig.nodes[1].host.export(port, 2, address, size, &mut Vec::new())
    };
    assert_eq!(again(&mut rig), Err(ExportError::Ending));
    rig.run();
    assert_eq!(rig.nodes[1].unexported, [b.segment]);
    assert!(again(&mut rig).is_ok());
}

/// Two nodes whose pages are out, each with its window full of writes to pages of the other, and each with a
/// port whose pages stay. Whether reads between those ports come to an end.
fn reads_behind_full_windows(pager: bool, seed: u64) -> bool {
    const READS: u64 = 200;
    let mut rig = Rig::new(2, 64, Weather::ROUGH, seed);
    let ends = [0, 1].map(|node| {
        let area = rig.port(node, 1, 4);
        let stays = if pager { rig.pager_port(node, 2, 4) } else { rig.port(node, 2, 4) };
        rig.touch(area, P, P);
        rig.touch(stays, 0, 4 * P);
        rig.poke(stays, 0, &[node as u8 + 1; P as usize]);
        rig.nodes[node].stuck.insert(Rig::vpn(area, 0));
        (area, stays)
    });
    let [(a, a_stays), (b, b_stays)] = ends;
    for _ in 0..100 {
        rig.write(a, P, b, 0, 300);
        rig.write(b, P, a, 0, 300);
    }
    rig.run();
    assert!([0, 1].iter().all(|&n| rig.nodes[n].nic.credits(Node(1 - n as u32)) == 0));
    // The transfers of a pager: it reads its pages from the other node, and writes others there.
    for n in 0..READS {
        for (me, other) in [(a_stays, b_stays), (b_stays, a_stays)] {
            let mut read = rig.read_of(me, P + n * 16, other, n * 16, 16);
            let mut write = rig.write_of(me, 0, other, 2 * P + n * 10, 10).acknowledge();
            while !(rig.try_issue(me, &mut read) && rig.try_issue(me, &mut write)) {
                let room = rig.library(me).wait_for_room();
                rig.library(me).want(room);
                if !rig.step() {
                    return false;
                }
            }
        }
    }
    rig.run();
    let done = [a_stays, b_stays].map(|me| {
        [Counter::Reads, Counter::Written].map(|which| {
            let fence = rig.library(me).fence(which);
            rig.library(me).want(fence)
        })
    });
    let done = done.concat().into_iter().all(|done| done);
    if done {
        assert_eq!(rig.peek(a_stays, P, READS as usize * 16), [2; READS as usize * 16]);
        assert_eq!(rig.peek(b_stays, 2 * P, READS as usize * 10), [1; READS as usize * 10]);
    }
    // The pages come: what programs had begun ends too, and nothing is left.
    [0, 1].into_iter().for_each(|node| rig.unstick(node));
    rig.run();
    assert!(rig.nodes.iter().all(|n| n.nic.is_idle() && n.nic.stats().refused == 0), "seed {seed}");
    done
}

#[test]
fn h17_a_pager_does_not_wait_for_the_writes_that_wait_for_it() {
    for seed in seeds(30) {
        assert!(reads_behind_full_windows(true, seed), "seed {seed}");
    }
}

#[test]
fn h17_in_the_windows_of_programs_it_would_wait_for_ever() {
    assert!((0..30).all(|seed| !reads_behind_full_windows(false, seed)), "the test above could not fail");
}

/// A program cannot use the windows of the pager, whatever its commands say.
#[test]
fn h17_the_nic_says_what_a_pagers_traffic_is() {
    let (mut rig, a, b) = pair(Weather::CALM, 3);
    rig.touch(b, 0, P);
    let mut head = Head::new(HeadKind::Write, a.port, Node(0), Node(1));
    head.flags = PAGING | ACKNOWLEDGE;
    head.src = Span::new(Rig::vpn(a, 0), a.segment.key, 0, 200);
    head.dst = Span::new(Rig::vpn(b, 0), b.segment.key, 0, 200);
    let memory = rig.nodes[0].ports[&a.port].clone();
    memory.put_command(0, &head.encode(), &[]);
    rig.nodes[0].bell.ring(a.port);
    rig.ring(0);
    rig.run();
    let sent: Vec<u16> = rig.packets.iter().filter(|h| h.kind == HeadKind::Write).map(|h| h.flags).collect();
    assert_eq!(sent, [ACKNOWLEDGE]);
}
