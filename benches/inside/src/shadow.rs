//! The cost of a lock in the shadow table, compared with a bare atomic addition: on one line of memory, and
//! in a table larger than the caches.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};

use criterion::Criterion;
use gasnet_ops::home::HomeOp;
use netvm_fw::nic::{Nic, NicAction, NicConfig, NicEvent};
use netvm_fw::shadow::{Geometry, HostTable, NicTable, table};
use netvm_fw::wire::{Head, HeadKind, Span};
use netvm_fw::{Key, Node, PortId, Ppn, Vpn};

const KEY: Key = Key(42);

fn vpn(n: u32) -> Vpn {
    Vpn::new(PortId(1), n.into())
}

fn full(frames: u32) -> (HostTable, NicTable) {
    let (mut host, nic) = table(Geometry::new(frames), 1);
    for n in 0..frames {
        host.map(vpn(n), Ppn::at(n as usize), KEY);
    }
    (host, nic)
}

fn locks(c: &mut Criterion) {
    let word = AtomicU64::new(0);
    c.bench_function("floor: atomic addition", |b| {
        b.iter(|| black_box(&word).fetch_add(1, Ordering::SeqCst))
    });
    c.bench_function("floor: full fence", |b| b.iter(|| std::sync::atomic::fence(Ordering::SeqCst)));

    let (_host, mut nic) = full(64);
    let (page, hash) = (vpn(7), vpn(7).hash());
    c.bench_function("lock, unlock", |b| {
        b.iter(|| {
            let ppn = nic.lock(black_box(page), hash, KEY).expect("mapped");
            nic.unlock(ppn);
        });
    });
    c.bench_function("lock, unlock dirty", |b| {
        b.iter(|| {
            let ppn = nic.lock(black_box(page), hash, KEY).expect("mapped");
            nic.unlock_dirty(ppn);
        });
    });
    c.bench_function("lock a page that is missing", |b| {
        let missing = vpn(1000);
        b.iter(|| nic.lock(black_box(missing), missing.hash(), KEY).is_err());
    });
    let lease = nic.lease(page, hash, KEY).expect("mapped");
    c.bench_function("lock by lease, unlock", |b| {
        b.iter(|| {
            let ppn = nic.lock_leased(black_box(lease), page, KEY).expect("held");
            nic.unlock(ppn);
        });
    });
    c.bench_function("lock under a lease, unlock", |b| {
        b.iter(|| {
            let ppn = nic.lock(black_box(page), hash, KEY).expect("mapped");
            nic.unlock(ppn);
        });
    });

    // 4 GiB of pages, in random order.
    let frames = 1 << 20;
    let (_host, mut nic) = full(frames);
    let mut n = 1u32;
    c.bench_function("lock, unlock, random of 2^20 pages", |b| {
        b.iter(|| {
            n = n.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let page = vpn(n >> 12);
            if let Ok(ppn) = nic.lock(page, page.hash(), KEY) {
                nic.unlock(ppn);
            }
        });
    });
}

/// One packet through the firmware, without the copies that a driver makes.
fn packets(c: &mut Criterion) {
    let (_host, table) = full(64);
    let mut nic = Nic::new(NicConfig::new(Node(0), 2), table);
    let mut head = Head::new(HeadKind::Write, PortId(1), Node(1), Node(0));
    head.src.len = 8;
    head.dst = Span::new(vpn(7), KEY, 0, 8);
    let mut out: Vec<NicAction> = Vec::new();
    let mut payload = vec![0; 8];
    c.bench_function("firmware: a write of 8 bytes arrives", |b| {
        b.iter(|| {
            nic.handle(0, NicEvent::Packet { head, payload: std::mem::take(&mut payload) }, &mut out);
            let (op, data) = out
                .drain(..)
                .find_map(|action| match action {
                    NicAction::DmaWrite { op, data, .. } => Some((op, data)),
                    _ => None,
                })
                .expect("a DMA");
            payload = data.clone();
            nic.handle(0, NicEvent::DmaWritten { op, data }, &mut out);
            out.clear();
            head.seq = head.seq.wrapping_add(1);
        });
    });
    c.bench_function("head to bytes and back", |b| {
        b.iter(|| Head::from_bytes(&black_box(head).to_bytes()).map(|(head, _)| head));
    });
    c.bench_function("semV", |b| {
        let mut m = [0; 5];
        b.iter(|| HomeOp::SemV.apply(black_box(&mut m), [0; 4]));
    });
}

pub fn measure() {
    let mut criterion = Criterion::default().configure_from_args();
    locks(&mut criterion);
    packets(&mut criterion);
    criterion.final_summary();
}
