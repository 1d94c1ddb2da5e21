//! Costs inside one process: a job of one rank, where every operation takes its shortest way.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use criterion::Criterion;
use gasnet::barrier::Consensus;
use gasnet::{GlobalPtr, Handler, Rank, Threading};
use gasnet_conduits::BootOptions;

const COUNT: u8 = 200;
static COUNTED: AtomicU64 = AtomicU64::new(0);

fn one_rank() -> &'static Rank {
    let rank =
        gasnet_conduits::init(&BootOptions::default(), Threading::Parallel).expect("a job of one rank");
    let count = Handler::new(|_, _| {
        COUNTED.fetch_add(1, Relaxed);
    });
    rank.register(COUNT, count).expect("a free index");
    rank.attach(1 << 20, None).expect("a small segment");
    rank
}

fn rank_operations(c: &mut Criterion) {
    let rank = one_rank();
    let at: GlobalPtr<u64> = GlobalPtr::new(rank.id(), rank.allocate(4096, 64).expect("room"));
    c.bench_function("write 8 bytes", |b| b.iter(|| rank.write(black_box(at), black_box(1))));
    c.bench_function("read 8 bytes", |b| b.iter(|| rank.read(black_box(at))));
    c.bench_function("fetch_add", |b| b.iter(|| rank.atomics().fetch_add(black_box(at), 1)));
    c.bench_function("compare_swap", |b| b.iter(|| rank.atomics().compare_swap(black_box(at), 1, 2)));
    c.bench_function("write_nb 64 bytes and wait", |b| {
        let mut buffer = vec![1u64; 8];
        b.iter(|| buffer = rank.write_nb(black_box(at), std::mem::take(&mut buffer)).wait());
    });
    c.bench_function("empty access region", |b| {
        b.iter(|| {
            rank.implicit().begin_access_region();
            rank.wait(rank.implicit().end_access_region());
        });
    });
    c.bench_function("poll with nothing to do", |b| b.iter(|| rank.poll()));
    c.bench_function("barrier of one", |b| b.iter(|| rank.barrier()));
    c.bench_function("short request to oneself", |b| {
        b.iter(|| rank.request_short(rank.id(), COUNT, &[1, 2]).expect("a valid request"));
    });
    let payload = [7u8; 512];
    c.bench_function("medium request of 512 bytes to oneself", |b| {
        b.iter(|| rank.request_medium(rank.id(), COUNT, &[], &payload).expect("a valid request"));
    });
    assert!(COUNTED.load(Relaxed) > 0);
}

fn plain_values(c: &mut Criterion) {
    c.bench_function("merge two barrier values", |b| {
        b.iter(|| Consensus::of(black_box(7), 0).merge(black_box(Consensus::of(7, 0))));
    });
    c.bench_function("advance an address", |b| {
        let at: GlobalPtr<u32> = GlobalPtr::new(gasnet::RankId(3), 64);
        b.iter(|| black_box(at).add(black_box(5)));
    });
}

pub fn measure() {
    let mut criterion = Criterion::default().configure_from_args();
    rank_operations(&mut criterion);
    plain_values(&mut criterion);
    criterion.final_summary();
}
