//! The allocator is compared with an obviously correct model: a list of the intervals in use.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

const TABLE: usize = 4096;

fn table() -> (Root, Vec<PageDescriptor>) {
    (Root::default(), (0..TABLE).map(|_| PageDescriptor::default()).collect())
}

/// Objects in use, by offset.
#[derive(Default)]
struct Model(BTreeMap<u64, u64>);

impl Model {
    fn add(&mut self, off: u64, len: u64) {
        let before = self.0.range(..off + len).next_back();
        assert!(before.is_none_or(|(o, l)| o + l <= off), "{off}+{len} overlaps {before:?}");
        self.0.insert(off, len);
    }
}

#[derive(Debug, Clone)]
enum Step {
    Alloc(u64),
    Free(usize),
    FreeAgain(usize),
    FreeInside(usize, u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let size = prop_oneof![1..64u64, 1..3000u64, 2000..40_000u64, 100_000..3_000_000u64];
    let step = prop_oneof![
        5 => size.prop_map(Step::Alloc),
        4 => any::<usize>().prop_map(Step::Free),
        1 => any::<usize>().prop_map(Step::FreeAgain),
        1 => (any::<usize>(), any::<u64>()).prop_map(|(i, o)| Step::FreeInside(i, o)),
    ];
    proptest::collection::vec(step, 1..400)
}

/// Allocates, growing a heap at the left (up) or right (down) end of the table; `None` when it is full.
fn alloc(h: &Heap<'_>, down: bool, bytes: u64) -> Option<u64> {
    loop {
        match h.alloc(bytes) {
            Ok(off) => return Some(off),
            Err(NeedPages(n)) => {
                let (lo, hi) = (h.root.lo.load(Relaxed), h.root.hi.load(Relaxed));
                if down && lo > n {
                    h.donate(lo - n, lo);
                } else if !down && hi + n <= TABLE as u32 {
                    h.donate(hi, hi + n);
                } else {
                    return None;
                }
            }
        }
    }
}

fn run(down: bool, steps: Vec<Step>) {
    let (root, pages) = table();
    let h = Heap::new(&root, &pages);
    let start = if down { TABLE as u32 } else { 7 };
    h.init(start, down);
    let mut model = Model::default();
    let mut gone: Vec<u64> = Vec::new();
    for step in steps {
        let pick = |i: usize| model.0.iter().nth(i % model.0.len().max(1)).map(|(o, l)| (*o, *l));
        match step {
            Step::Alloc(n) => {
                if let Some(off) = alloc(&h, down, n) {
                    assert_eq!(off % 16, 0);
                    assert!(off >= PAGE_BYTES && h.covers(off) && h.covers(off + n - 1));
                    gone.retain(|&g| g < off || g >= off + n);
                    model.add(off, n);
                    let block = Some(Block { start: off, bytes: block_bytes(n) });
                    let at = |o: u64| pages[(o / PAGE_BYTES) as usize].block(o);
                    assert_eq!(at(off), block);
                    if n % 3 == 0 {
                        h.mark(off);
                        assert_eq!((at(off + n / 2), at(off + n - 1)), (block, block));
                    }
                }
            }
            Step::Free(i) => {
                if let Some((off, _)) = pick(i) {
                    assert_eq!(h.free(off), Ok(()));
                    model.0.remove(&off);
                    gone.push(off);
                }
            }
            Step::FreeAgain(i) => {
                if !gone.is_empty() {
                    let off = gone[i % gone.len()];
                    assert!(model.0.contains_key(&off) || h.free(off).is_err());
                }
            }
            Step::FreeInside(i, at) => {
                if let Some((off, len)) = pick(i).filter(|(_, l)| *l > 1) {
                    assert!(h.free(off + 1 + at % (len - 1)).is_err());
                }
            }
        }
    }
    for off in model.0.into_keys() {
        assert_eq!(h.free(off), Ok(()));
    }
    // Everything has merged again: only the last slab of each class may still hold a page.
    let kept = (h.bytes() - h.free_bytes()) / PAGE_BYTES;
    let slabs = root.partial.iter().filter(|p| p.load(Relaxed) != 0).count() as u64;
    assert_eq!(kept, slabs);
    let runs: usize = (0..TABLE).filter(|&p| pages[p].kind.load(Relaxed) == kind::FREE).count();
    assert!(runs <= 2 * (slabs as usize + 1), "{runs} ends of free runs between {slabs} slabs");
}

proptest! {
    #[test]
    fn behaves_like_the_model_growing_up(s in steps()) { run(false, s) }

    #[test]
    fn behaves_like_the_model_growing_down(s in steps()) { run(true, s) }
}

#[test]
fn all_of_a_full_heap_comes_back() {
    let (root, pages) = table();
    let h = Heap::new(&root, &pages);
    h.init(1, false);
    h.donate(1, TABLE as u32);
    for bytes in [1, 16, 17, 100, 1000, 2048, 2049, 5000, 300_000] {
        let mut all = Vec::new();
        while let Ok(off) = h.alloc(bytes) {
            all.push(off);
        }
        let room = (TABLE as u64 - 1) * PAGE_BYTES;
        assert!(all.len() as u64 * bytes.max(16) > room / 2 - 300_000, "{bytes}: {}", all.len());
        all.reverse();
        all.sort_by_key(|o| o.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        for off in all {
            h.free(off).unwrap();
        }
    }
    assert!(h.alloc(u64::MAX).is_err());
}

#[test]
fn neighbouring_heaps_in_one_table_never_merge() {
    let (up, pages) = table();
    let down = Root::default();
    let (a, b) = (Heap::new(&up, &pages), Heap::new(&down, &pages));
    a.init(1, false);
    b.init(TABLE as u32, true);
    a.donate(1, 2000);
    b.donate(2000, TABLE as u32);
    assert_eq!(a.alloc(2000 * PAGE_BYTES), Err(NeedPages(2000)));
    let (x, y) = (a.alloc(1999 * PAGE_BYTES).unwrap(), b.alloc(2096 * PAGE_BYTES).unwrap());
    assert_eq!((x, y), (PAGE_BYTES, 2000 * PAGE_BYTES));
    assert_eq!(a.free(y), Err(FreeError::Outside));
    a.free(x).unwrap();
    b.free(y).unwrap();
    assert_eq!(a.free_bytes() + b.free_bytes(), (TABLE as u64 - 1) * PAGE_BYTES);
}

#[test]
fn threads_share_a_heap() {
    let (root, pages) = table();
    let h = Heap::new(&root, &pages);
    h.init(1, false);
    h.donate(1, TABLE as u32);
    let all = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|s| {
        for t in 0..4u64 {
            let all = &all;
            s.spawn(move || {
                for i in 0..20_000u64 {
                    let off = h.alloc(1 + (i * 37 + t * 1001) % 5000).unwrap();
                    all.lock().unwrap().push(off);
                    let victim = {
                        let mut v = all.lock().unwrap();
                        let len = v.len();
                        (len > 100).then(|| v.swap_remove((i as usize * 7919) % len))
                    };
                    if let Some(off) = victim {
                        h.free(off).unwrap();
                    }
                }
            });
        }
    });
    for off in all.into_inner().unwrap() {
        h.free(off).unwrap();
    }
    assert!(h.bytes() - h.free_bytes() <= CLASS_BYTES.len() as u64 * PAGE_BYTES);
}
