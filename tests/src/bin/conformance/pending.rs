//! Transfers whose handle owns the buffer: waited for, tested, dropped, forgotten.

use crate::support::{Cx, same};
use gasnet::GlobalPtr;

pub fn pending(cx: &Cx) {
    let r = cx.rank;
    let to = cx.right(1);
    let base = cx.take_zeroed(1 << 20);
    let p = GlobalPtr::<u64>::new(to, base);
    let values: Vec<u64> = (0..20_000).map(|i| i * 3 + u64::from(cx.me())).collect();
    assert_eq!(r.write_nb(p, values.clone()).wait(), values);
    let mut reading = r.read_nb(p, values.len());
    while !reading.test() {}
    // Done stays done.
    assert!(reading.test());
    assert_eq!(reading.wait(), values);
    // Dropping waits, and the data is there.
    drop(r.write_nb(p, vec![7u64; 20_000]));
    assert_eq!(r.read(p.add(19_999)), 7);
    drop(r.read_nb(p, 20_000));
    assert_eq!(r.read_nb(p, 0).wait(), []);
    assert_eq!(r.write_nb(p, vec![]).wait(), []);

    // Many at once, completed backwards.
    let mut open: Vec<_> = (0..200).map(|i| (i, r.read_nb(p.add(i * 7), 50 + i))).collect();
    while let Some((i, pending)) = open.pop() {
        assert_eq!(pending.wait(), vec![7; 50 + i]);
    }
    forgotten(cx, p);
}

/// Forgetting a handle leaks its buffer and nothing else: the reply may come at any later time, and new
/// allocations must not be where it goes.
fn forgotten(cx: &Cx, p: GlobalPtr<u64>) {
    let r = cx.rank;
    let before = r.write_nb(p, vec![0xAAAA_AAAA_AAAA_AAAA; 8192]);
    before.wait();
    for _ in 0..20 {
        std::mem::forget(r.read_nb(p, 8192));
    }
    // Buffers of the same size: had the forgotten ones been freed, the allocator would hand out their memory.
    let fresh: Vec<Vec<u64>> = (0..40).map(|_| vec![0x1111_1111_1111_1111u64; 8192]).collect();
    // Replies arrive in order of nothing; these come after many more round trips to the same rank.
    for _ in 0..50 {
        assert_eq!(r.read(p), 0xAAAA_AAAA_AAAA_AAAA);
    }
    r.barrier();
    let want = bytemuck::cast_slice(&fresh[0]);
    for f in &fresh {
        same(bytemuck::cast_slice(f), want, "memory allocated after a handle was forgotten");
    }
    // A forgotten write arrives as well, at a time of its own: a later section has this memory.
    std::mem::forget(r.write_nb(p, vec![1u64; 100]));
    let mut there = [0u64; 100];
    while there != [1; 100] {
        r.read_slice(p, &mut there);
    }
}
