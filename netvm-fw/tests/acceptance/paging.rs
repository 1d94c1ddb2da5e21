//! Items 1 to 11: memory management.

use netvm_fw::host::{
    Cleaned, Deactivated, FrameState, Host, HostAction, HostConfig, HostEvent, HostWork, KeySource, Vm,
};
use netvm_fw::shadow::{Geometry, LockError, Unmap, table};
use netvm_fw::{FrameAddress, Key, PageMemory, PortId, Ppn, Vpn};

use crate::rig::{P, Rig, Weather, seeds};

fn page(n: u64) -> Vpn {
    Vpn::new(PortId(1), n)
}

const KEY: Key = Key(42);

#[test]
fn item_01_nothing_is_pinned() {
    let mut rig = Rig::new(2, 16, Weather::ROUGH, 1);
    let (a, b) = (rig.port(0, 1, 4), rig.port(1, 1, 4));
    rig.touch(a, 0, 4 * P);
    rig.write(a, 0, b, 100, 3 * P);
    rig.read(a, 0, b, 0, 2 * P);
    rig.atomic(a, b, 0, gasnet_ops::home::HomeOp::Incr, [0; 4]);
    rig.run();
    for node in &mut rig.nodes {
        for i in 0..16 {
            assert_eq!(node.nic.table().count(Ppn::at(i)), (0, 0));
        }
        for offset in 0..4 {
            let vpn = Vpn::new(PortId(1), 16 + offset);
            let mut out = Vec::new();
            node.host.discard(vpn, &mut out);
            assert_eq!(node.host.vm().place(vpn), None, "a page can go right after its DMA");
        }
    }
}

#[test]
fn item_02_a_lock_finds_the_frame_and_shows() {
    let (mut host, mut nic) = table(Geometry::new(8), 1);
    for n in 0..8 {
        host.map(page(n), Ppn::at(7 - n as usize), KEY);
    }
    for n in 0..8 {
        let ppn = nic.lock(page(n), page(n).hash(), KEY).unwrap();
        assert_eq!(ppn, Ppn::at(7 - n as usize));
        assert!(host.locked(ppn));
        nic.unlock(ppn);
        assert!(!host.locked(ppn));
    }
    assert_eq!(nic.lock(page(9), page(9).hash(), KEY), Err(LockError::Missing));
}

#[test]
fn item_04_unmap_gives_up_and_free_waits() {
    let (mut host, mut nic) = table(Geometry::new(1), 1);
    let ppn = Ppn::at(0);
    host.map(page(1), ppn, KEY);
    nic.lock(page(1), page(1).hash(), KEY).unwrap();
    assert_eq!(host.unmap(ppn), Unmap::Locked);
    assert_eq!(host.page(ppn), Some(page(1)), "as it was");
    nic.lock(page(1), page(1).hash(), KEY).unwrap();
    assert_eq!(host.free(ppn), Unmap::Locked);
    assert_eq!(nic.lock(page(1), page(1).hash(), KEY), Err(LockError::Missing), "no new lock");
    nic.unlock(ppn);
    assert_eq!(host.free(ppn), Unmap::Locked);
    nic.unlock(ppn);
    assert_eq!(host.free(ppn), Unmap::Unmapped);

    // In the whole: a page that is given up in the middle of a DMA is free one DMA later (with LANai's rates:
    // 9.4 us).
    let weather = Weather { dma: (9_370, 9_370), ..Weather::CALM };
    let mut rig = Rig::new(2, 8, weather, 1);
    let (a, b) = (rig.port(0, 1, 1), rig.port(1, 1, 1));
    rig.touch(a, 0, P);
    rig.touch(b, 0, P);
    rig.write(a, 0, b, 0, P);
    let ppn = rig.nodes[1].host.vm().place(Rig::vpn(b, 0)).unwrap();
    while rig.nodes[1].nic.table().count(ppn) == (0, 0) {
        assert!(rig.step());
    }
    let start = rig.now;
    let mut out = Vec::new();
    rig.nodes[1].host.discard(Rig::vpn(b, 0), &mut out);
    rig.host_actions(1, out);
    assert_eq!(rig.nodes[1].host.vm().state(ppn), FrameState::Leaving);
    while rig.nodes[1].nic.table().count(ppn) != (0, 0) {
        assert!(rig.step());
    }
    assert!(rig.now - start <= 9_400, "{} ns", rig.now - start);
    rig.run();
    assert_eq!(rig.nodes[1].host.vm().state(ppn), FrameState::Free);
}

#[test]
fn item_05_an_entry_without_its_page_matches_nothing() {
    let (mut host, mut nic) = table(Geometry { frames: 2, rows: 1, depth: 2 }, 1);
    host.map(page(1), Ppn::at(0), KEY);
    nic.lock(page(1), page(1).hash(), KEY).unwrap();
    // Withdrawn, its entry still in the row.
    assert_eq!(host.free(Ppn::at(0)), Unmap::Locked);
    assert_eq!(host.occupancy().0, 1);
    for n in 0..4 {
        assert_eq!(nic.lock(page(n), page(n).hash(), KEY), Err(LockError::Missing));
    }
    assert_eq!(nic.lock(Vpn(0), page(1).hash(), KEY), Err(LockError::Missing), "and 0 is no page");
}

#[test]
fn item_06_dirty_is_never_lost() {
    let (mut host, mut nic) = table(Geometry::new(40), 1);
    let frames = [Ppn::at(0), Ppn::at(31), Ppn::at(32)];
    for (n, &ppn) in frames.iter().enumerate() {
        host.map(page(n as u64), ppn, KEY);
        assert!(!host.test_and_clean(ppn), "clean at first");
    }
    for round in 0..4 {
        for (n, &ppn) in frames.iter().enumerate() {
            let vpn = page(n as u64);
            assert_eq!(nic.lock(vpn, vpn.hash(), KEY), Ok(ppn));
            if (round + n) % 2 == 0 { nic.unlock_dirty(ppn) } else { nic.unlock(ppn) }
        }
        for (n, &ppn) in frames.iter().enumerate() {
            assert_eq!(host.test_and_clean(ppn), (round + n) % 2 == 0);
            assert!(!host.test_and_clean(ppn), "clean after the test");
        }
    }
}

#[test]
fn item_07_the_cleaner_tests_again_after_unmapping() {
    let (mut host, mut nic) = table(Geometry::new(1), 1);
    let ppn = Ppn::at(0);
    host.map(page(1), ppn, KEY);
    assert!(!host.test_and_clean(ppn));
    nic.lock(page(1), page(1).hash(), KEY).unwrap();
    nic.unlock_dirty(ppn);
    assert_eq!(host.unmap(ppn), Unmap::Unmapped);
    assert!(host.test_and_clean(ppn), "the write between the first test and the unmapping");

    // The cleaner does it in that order.
    let (host, _nic) = table(Geometry::new(1), 1);
    let mut vm = Vm::new(host);
    let mut work = Vec::new();
    let (ppn, _) = vm.allocate(page(1)).unwrap();
    vm.paged_in(ppn);
    vm.map(ppn, KEY, &mut work);
    assert_eq!(vm.deactivate(ppn, &mut work), Deactivated::Used);
    assert_eq!(vm.deactivate(ppn, &mut work), Deactivated::Yes);
    work.clear();
    assert_eq!(vm.clean(ppn, &mut work), Cleaned::Cached);
    assert_eq!(work, [HostWork::TestDirty(false), HostWork::Unmap, HostWork::TestDirty(false)]);
}

#[test]
fn item_08_dirty_and_locked_pages_stay() {
    let (host, mut nic) = table(Geometry::new(1), 1);
    let mut vm = Vm::new(host);
    let mut work = Vec::new();
    let (ppn, _) = vm.allocate(page(1)).unwrap();
    vm.paged_in(ppn);
    vm.map(ppn, KEY, &mut work);
    vm.deactivate(ppn, &mut work);
    let mut use_page = |dirty: bool| {
        nic.lock(page(1), page(1).hash(), KEY).unwrap();
        if dirty {
            nic.unlock_dirty(ppn);
        }
    };
    use_page(true);
    assert_eq!(vm.deactivate(ppn, &mut work), Deactivated::Dirtied);
    assert_eq!(vm.state(ppn), FrameState::Active);
    assert_eq!(vm.deactivate(ppn, &mut work), Deactivated::Yes);
    use_page(false);
    assert_eq!(vm.clean(ppn, &mut work), Cleaned::Locked, "in use");
    assert_eq!(vm.state(ppn), FrameState::Active);
    nic.unlock(ppn);
    assert_eq!(vm.deactivate(ppn, &mut work), Deactivated::Yes);
    assert_eq!(vm.clean(ppn, &mut work), Cleaned::MustFlush, "what the NIC wrote long ago is not forgotten");
}

#[test]
fn item_09_a_full_row_pushes_out_and_takes_back() {
    // One row of four for five pages.
    let mut rig = Rig::shaped(2, Geometry { frames: 16, rows: 1, depth: 4 }, Weather::CALM, 3);
    let (a, b) = (rig.port(0, 1, 4), rig.port(1, 1, 5));
    rig.touch(a, 0, P);
    rig.touch(b, 0, 5 * P);
    assert_eq!(rig.nodes[1].host.stats().pushed_out, 1);
    let pushed_out = (0..5).find(|&n| {
        let before = rig.nodes[1].nic.stats().bounces;
        rig.write(a, 0, b, n * P, 200);
        rig.run();
        rig.nodes[1].nic.stats().bounces > before
    });
    let n = pushed_out.expect("one is not found");
    assert_eq!(rig.nodes[1].nic.stats().bounces, 1);
    assert_eq!(rig.nodes[1].host.stats().page_ins, 5, "no I/O");
    rig.write(a, 0, b, n * P, 200);
    rig.run();
    assert_eq!(rig.nodes[1].nic.stats().bounces, 1, "found again");
}

/// `sum over i > d of weight(i) C(n, i) p^i (1-p)^(n-i)`, with p = 1/m.
fn binomial_tail(n: u32, m: u32, d: u32, weight: impl Fn(f64) -> f64) -> f64 {
    let p = 1.0 / f64::from(m);
    let mut term = (1.0 - p).powi(n as i32);
    let mut sum = 0.0;
    for i in 0..60 {
        if i > d {
            sum += weight(f64::from(i)) * term;
        }
        term *= f64::from(n - i) / f64::from(i + 1) * p / (1.0 - p);
    }
    sum
}

#[test]
fn item_10_evictions_are_as_rare_as_computed() {
    let frames = 1 << 17;
    let by_row = |d: u32, rows: u32, n: u32| binomial_tail(n, rows, d, |i| (i - f64::from(d)) / i);
    let by_entry = |d: u32, rows: u32, n: u32| {
        binomial_tail(n, rows, d, |i| i - f64::from(d)) * f64::from(rows) / f64::from(n)
    };
    assert!((by_row(4, frames, frames) - 8.2e-4).abs() < 1e-5);
    assert!((by_entry(4, frames, frames) - 4.35e-3).abs() < 1e-5);
    let mut shares = Vec::new();
    for (rows, depth, load) in [(frames, 4, 2), (frames, 4, 1), (frames / 2, 8, 1), (frames / 4, 16, 1)] {
        let n = frames / load;
        let (mut host, mut nic) = table(Geometry { frames, rows, depth }, 5);
        let vpn = |i: u32| Vpn::new(PortId(1 + (i % 3) as u16), u64::from(i));
        for i in 0..n {
            host.map(vpn(i), Ppn::at(i as usize), KEY);
        }
        let missing = (0..n).filter(|&i| nic.lock(vpn(i), vpn(i).hash(), KEY).is_err()).count();
        let expected = by_entry(depth, rows, n) * f64::from(n);
        let spread = 4.0 * expected.sqrt() + 3.0;
        assert!((missing as f64 - expected).abs() < spread, "{missing} missing, {expected:.1} expected");
        shares.push(missing);
    }
    assert!(shares[0] < shares[1] && shares[2] < shares[1] && shares[3] <= shares[2], "{shares:?}");
}

#[test]
fn item_11_the_table_grows_with_frames_only() {
    // The published 99 bits a frame, and 32 more, because pages have 64-bit names here.
    assert_eq!(Geometry::FRAME_BITS, 99 + 32);
    for frames in [1 << 10, 1 << 17] {
        let geometry = Geometry::new(frames);
        let bits = u64::from(frames) * (Geometry::FRAME_BITS + 32 * u64::from(geometry.depth));
        assert_eq!(geometry.shared_bytes() * 8, bits);
    }
    // Exports and peers add nothing: the table is made before there are any.
    let mut rig = Rig::new(4, 16, Weather::CALM, 1);
    let before = rig.nodes[0].host.vm().table().geometry().shared_bytes();
    for port in 1..5 {
        rig.port(0, port, 1000);
    }
    assert_eq!(rig.nodes[0].host.vm().table().geometry().shared_bytes(), before);
}

/// More memory than frames, random writes from afar and near: what is read is what was written, and residency
/// stays in bounds.
#[test]
fn paging_under_pressure_keeps_every_byte() {
    for seed in seeds(200) {
        let mut rig = Rig::new(3, 12, Weather::ROUGH, seed);
        let mut random = fastrand::Rng::with_seed(seed);
        let areas = [rig.port(0, 1, 40), rig.port(1, 1, 40), rig.port(2, 1, 40)];
        let mut model = vec![vec![0u8; 40 * P as usize]; 3];
        for round in 0..60u8 {
            let (me, to) = (areas[random.u64(..3) as usize], areas[random.u64(..3) as usize]);
            if me.node == to.node {
                continue;
            }
            let size = 1 + random.u64(..if round % 3 == 0 { 80 } else { 6000 });
            let (from, at) = (random.u64(..40 * P - size), random.u64(..40 * P - size));
            if random.u64(..2) == 0 {
                let transfer = rig.write_of(me, from, to, at, size).acknowledge();
                rig.issue(me, transfer);
                rig.fence(me, netvm_fw::port::Counter::Written);
                let bytes = model[me.node][from as usize..][..size as usize].to_vec();
                model[to.node][at as usize..][..size as usize].copy_from_slice(&bytes);
            } else {
                rig.read(me, from, to, at, size);
                rig.fence(me, netvm_fw::port::Counter::Reads);
                let bytes = model[to.node][at as usize..][..size as usize].to_vec();
                model[me.node][from as usize..][..size as usize].copy_from_slice(&bytes);
            }
            // The program itself writes, too.
            let o = random.u64(..40 * P - 8);
            rig.touch(me, o, 8);
            let word = random.u64(..).to_le_bytes();
            if o % P <= P - 8 && rig.nodes[me.node].host.vm().is_resident(Rig::vpn(me, o)) {
                rig.poke(me, o, &word);
                model[me.node][o as usize..][..8].copy_from_slice(&word);
            }
        }
        rig.run();
        for area in areas {
            assert!(
                rig.peek(area, 0, 40 * P as usize) == model[area.node],
                "seed {seed}, node {}",
                area.node
            );
            assert!(rig.nodes[area.node].nic.is_idle());
            let stats = rig.nodes[area.node].host.stats();
            assert!(stats.page_outs > 0 && stats.page_ins > 12, "{stats:?}");
        }
    }
}

/// Memory that nobody looks at.
struct Nowhere;

impl PageMemory for Nowhere {
    fn read(&self, _: FrameAddress, _: &mut [u8]) {}
    fn write(&self, _: FrameAddress, _: &[u8]) {}
}

/// A host whose backing store answers at once, or has no room; the pages that were written out, in groups.
struct Alone {
    host: Host,
    full: bool,
    groups: Vec<Vec<u64>>,
    ready: Vec<u64>,
}

impl Alone {
    fn new(frames: u32, batch: u32) -> Alone {
        let mut config = HostConfig::new(frames);
        config.batch = batch;
        let host = Host::new(config, table(Geometry::new(frames), 1).0, KeySource::seeded(1));
        Alone { host, full: false, groups: Vec::new(), ready: Vec::new() }
    }

    fn settle(&mut self, mut out: Vec<HostAction>) {
        self.host.tidy(&mut out);
        while !out.is_empty() {
            let mut next = Vec::new();
            let mut group = Vec::new();
            for action in out {
                let event = match action {
                    HostAction::PageIn { ppn, .. } => HostEvent::PagedIn(ppn),
                    HostAction::PageOut { ppn, .. } if self.full => {
                        self.host.set_full(true);
                        HostEvent::PageOutFailed(ppn)
                    }
                    HostAction::PageOut { vpn, ppn } => {
                        group.push(vpn.page());
                        HostEvent::PagedOut(ppn)
                    }
                    HostAction::Ready { token, .. } => {
                        self.ready.push(token);
                        continue;
                    }
                    _ => continue,
                };
                self.host.handle(0, event, &Nowhere, &mut next);
            }
            self.groups.extend((!group.is_empty()).then_some(group));
            out = next;
        }
    }

    fn touch(&mut self, n: u64, write: bool) -> bool {
        let mut out = Vec::new();
        let there = self.host.touch(page(n), write, n, &mut out);
        self.settle(out);
        there
    }
}

#[test]
fn pages_are_written_out_together() {
    let mut alone = Alone::new(64, 8);
    (0..300).for_each(|n| assert!(!alone.touch(n, true)));
    assert_eq!(alone.ready, (0..300).collect::<Vec<_>>());
    let sizes: Vec<usize> = alone.groups.iter().map(Vec::len).collect();
    assert!(sizes.len() > 20 && sizes.iter().sum::<usize>() >= 7 * sizes.len(), "{sizes:?}");
    let out: Vec<u64> = alone.groups.concat();
    assert_eq!(out, (0..out.len() as u64).collect::<Vec<_>>(), "in the order of their use");
}

#[test]
fn a_held_page_stays_until_it_is_let_go() {
    let mut alone = Alone::new(16, 2);
    let mut out = Vec::new();
    assert!(!alone.host.hold(page(1000), 1, &mut out));
    alone.settle(out);
    assert!(alone.host.hold(page(1000), 2, &mut Vec::new()), "twice");
    for round in 0..2 {
        (0..100).for_each(|n| _ = alone.touch(n, n % 3 == 0));
        assert!(alone.host.vm().is_resident(page(1000)), "round {round}");
        alone.host.release(page(1000));
    }
    assert!(alone.touch(1000, true));
    assert!(!alone.groups.concat().contains(&1000));
    (0..100).for_each(|n| _ = alone.touch(n, false));
    assert!(alone.groups.concat().contains(&1000));
}

#[test]
fn nothing_is_lost_while_the_backing_store_is_full() {
    let mut alone = Alone::new(16, 4);
    (0..12).for_each(|n| _ = alone.touch(n, true));
    alone.full = true;
    // Clean pages still come and go in what is left.
    (100..200).for_each(|n| _ = alone.touch(n, false));
    let mut wait = 200;
    while alone.host.starved() == 0 {
        alone.touch(wait, true);
        wait += 1;
        assert!(wait < 300);
    }
    let written = alone.groups.concat();
    for n in (0..12).filter(|n| !written.contains(n)) {
        let ppn = alone.host.vm().place(page(n)).expect("it has no other place");
        assert!(alone.host.vm().is_dirty(ppn));
    }
    alone.full = false;
    alone.host.set_full(false);
    let mut out = Vec::new();
    alone.host.handle(0, HostEvent::Timer, &Nowhere, &mut out);
    alone.settle(out);
    assert_eq!(alone.host.starved(), 0);
    assert!(alone.ready.contains(&(wait - 1)));
}

#[test]
fn reading_ahead_takes_only_what_is_left() {
    let mut alone = Alone::new(64, 4);
    let mut out = Vec::new();
    assert!((0..62).all(|n| alone.host.fetch(page(n), n % 2 == 0, &mut out)));
    assert!(
        !alone.host.fetch(page(62), false, &mut out),
        "half of what the host wants to have free stays so"
    );
    assert!(!alone.host.fetch(page(5), false, &mut out), "it is on its way");
    alone.settle(out);
    assert!(alone.ready.is_empty());
    let dirty = |n: u64| alone.host.vm().place(page(n)).is_some_and(|ppn| alone.host.vm().is_dirty(ppn));
    assert!((20..50).all(|n| dirty(n) == (n % 2 == 0)));
}

#[test]
fn the_few_that_are_not_held_come_and_go() {
    let mut alone = Alone::new(256, 16);
    let mut out = Vec::new();
    (0..224).for_each(|n| _ = alone.host.hold(page(1000 + n), n, &mut out));
    alone.settle(out);
    assert_eq!(alone.host.vm().held(), 224);
    alone.ready.clear();
    (0..500).for_each(|n| _ = alone.touch(n, n % 2 == 0));
    assert_eq!((alone.ready.len(), alone.host.starved()), (500, 0));
    (0..224).for_each(|n| alone.host.release(page(1000 + n)));
    assert_eq!(alone.host.vm().held(), 0);
}
