//! Exported regions: keys by name and as data, random operations against a copy, refusals, revocation while
//! others write, and memory that NICs reach.

#![expect(unsafe_code, reason = "looks at memory that others write")]

use crate::support::{Cx, Rng};
use gasnet::atomics::{Function, Operation, WordType};
use gasnet::region::watch::Trips;
use gasnet::vis::Shape;
use gasnet::{GlobalPtr, Modes, RankId, RegionError, RegionKey};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const ADD: Operation = Operation { function: Function::Add, word: WordType::U64 };
/// Bytes of a region: two messages and a bit.
const LEN: usize = 140_001;

/// The keys of all ranks, as data in the segment of rank 0.
pub fn exchange(cx: &Cx, mine: RegionKey) -> Vec<RegionKey> {
    let at = GlobalPtr::<RegionKey>::new(RankId(0), cx.take(32 * u64::from(cx.size())));
    cx.rank.write(at.add(cx.me() as usize), mine);
    cx.rank.barrier();
    let all = (0..cx.size() as usize).map(|r| cx.rank.read(at.add(r))).collect();
    cx.rank.barrier();
    all
}

pub fn exported(cx: &Cx) {
    operations(cx);
    refusals(cx);
    storm(cx);
}

fn operations(cx: &Cx) {
    let (rank, mut rng) = (cx.rank, Rng::new(cx.seed ^ u64::from(cx.me()) << 32));
    let memory = rank.regions().export_vec(vec![0u8; LEN], Modes::ALL).unwrap();
    let name = cx.seed | 1;
    rank.regions().publish(name, memory.region(), 5).unwrap();
    rank.barrier();
    let (key, note) = rank.regions().import(cx.right(1), name).unwrap().expect("its owner has published it");
    assert_eq!((key.rank(), note), (cx.right(1), 5));
    assert_eq!(rank.regions().import(cx.right(1), name ^ 2), Ok(None));
    let mut copy = vec![0u8; LEN];
    for i in 0..if cx.quick { 20 } else { 150 } {
        let len = rng.below(if i % 8 == 0 { LEN } else { 200 });
        let at = rng.below(LEN - len + 1);
        if rng.below(2) == 0 {
            copy[at..at + len].iter_mut().for_each(|b| *b = rng.below(256) as u8);
            rank.region(&key).write(at as u64, &copy[at..at + len]).unwrap();
        } else {
            let got = rank.region(&key).read_nb::<u8>(at as u64, len).wait().unwrap();
            assert!(got == copy[at..at + len], "{len} bytes at {at}");
        }
    }
    rank.barrier();
    let words = rank.regions().export_vec(vec![0u64; 2], Modes::ATOMIC | Modes::READ).unwrap();
    let first = exchange(cx, words.key())[0];
    for _ in 0..5 {
        rank.region(&first).atomic(8, ADD, 1, 0).unwrap();
    }
    rank.barrier();
    let mut got = [0u64; 2];
    rank.region(&first).read(0, &mut got).unwrap();
    assert_eq!(got, [0, 5 * u64::from(cx.size())]);
    rank.barrier();
    drop(memory);
    rank.barrier();
    assert_eq!(rank.regions().import(cx.right(1), name), Err(RegionError::Revoked));
    assert_eq!(rank.region(&key).read(0, &mut [0u8]), Err(RegionError::Revoked));
    rank.barrier();
}

fn refusals(cx: &Cx) {
    let rank = cx.rank;
    let read = rank.regions().export_vec(vec![7u8; 100], Modes::READ).unwrap();
    let once = rank.regions().export_vec(vec![7u8; 100], Modes::WRITE | Modes::ONCE).unwrap();
    let (reads, onces) = (exchange(cx, read.key()), exchange(cx, once.key()));
    for (key, one) in reads.iter().zip(&onces) {
        assert_eq!(rank.region(key).write(0, &[1u8]), Err(RegionError::Access));
        assert_eq!(rank.region(key).read(99, &mut [0u8; 2]), Err(RegionError::Range));
        assert_eq!(rank.region(one).write(96, &[0u64]), Err(RegionError::Range));
        assert_eq!(rank.region(key).read(0, &mut [0u8; 100]), Ok(()));
        // A key of which any bit was changed opens nothing, whoever serves the region.
        for bit in 0..256 {
            let mut bytes: [u8; 32] = bytemuck::cast(*key);
            bytes[bit / 8] ^= 1 << (bit % 8);
            let forged: RegionKey = bytemuck::cast(bytes);
            let mut got = [0u8; 100];
            assert!(rank.region(&forged).read(0, &mut got).is_err() && got == [0; 100], "bit {bit}");
        }
        let written = rank.region(one).write(10, &[cx.me() as u8; 20]);
        assert!(matches!(written, Ok(()) | Err(RegionError::Used)), "{written:?}");
    }
    rank.barrier();
    assert_eq!(read.into_vec(), [7; 100]);
    let once = once.into_vec();
    assert!(once[10..30].iter().all(|b| *b == once[10]) && once[..10] == [7; 10] && once[30..] == [7; 70]);
}

/// Writers go on until they are refused; the owner has its memory for itself from then on.
fn storm(cx: &Cx) {
    let rank = cx.rank;
    for _ in 0..if cx.quick { 3 } else { 20 } {
        let memory = rank.regions().export_vec(vec![0u8; 1000], Modes::ALL).unwrap();
        let key = exchange(cx, memory.key())[0];
        if cx.me() == 0 {
            if cx.size() > 1 {
                let mut first = [0u8];
                while first[0] == 0 {
                    rank.poll();
                    rank.region(&key).read(0, &mut first).unwrap();
                }
            }
            let mut memory = memory.into_vec();
            memory.fill(0xee);
            rank.barrier();
            assert!(memory.iter().all(|b| *b == 0xee), "written after it was revoked");
        } else {
            while rank.region(&key).write(0, &[1u8; 1000]) == Ok(()) {}
            assert_eq!(rank.region(&key).write(0, &[1u8]), Err(RegionError::Revoked));
            rank.barrier();
        }
    }
}

/// Bytes of the region that others write, which begins and ends within a page.
const SERVED: usize = 20_001;

/// The owner's program does nothing for the others: it calls nothing of the runtime, where the conduit's NICs
/// serve regions, until all are done. Elsewhere it polls, and the results are the same.
pub fn reg_07_the_owners_program_has_no_part(cx: &Cx) {
    let (rank, others) = (cx.rank, cx.size() - 1);
    let counter = |name: &str| rank.counters().into_iter().find(|(n, _)| *n == name).map(|(_, value)| value);
    let (memory, flags) = (
        rank.regions().export_vec(vec![0u8; SERVED], Modes::ALL).unwrap(),
        rank.regions().export_pages(4096, Modes::ALL).unwrap(),
    );
    // As soon as others know the keys they may have made all their accesses before this rank runs again.
    let accesses_before = counter("accesses of regions");
    let (data, words) = (exchange(cx, memory.key())[0], exchange(cx, flags.key())[0]);
    if cx.me() > 0 {
        let mut rng = Rng::new(cx.seed ^ u64::from(cx.me()) << 32);
        // Its own part of the memory, and a copy.
        let part = SERVED / others as usize;
        let first = (cx.me() - 1) as usize * part;
        let mut copy = vec![0u8; part];
        for i in 0..if cx.quick { 30 } else { 200 } {
            let len = rng.below(if i % 4 == 0 { part } else { 90 }) + 1;
            let at = rng.below(part - len.min(part) + 1);
            let len = len.min(part - at);
            if rng.below(2) == 0 {
                copy[at..at + len].iter_mut().for_each(|b| *b = rng.below(256) as u8);
                rank.region(&data).write((first + at) as u64, &copy[at..at + len]).unwrap();
            } else {
                let got = rank.region(&data).read_nb::<u8>((first + at) as u64, len).wait().unwrap();
                assert!(got == copy[at..at + len], "{len} bytes at {at}");
            }
            assert_eq!(rank.region(&data).write(SERVED as u64 - 1, &[0u16]), Err(RegionError::Range));
        }
        rank.region(&words).write(8 * u64::from(cx.me()), &[1u64]).unwrap();
        let mut go = [0u64];
        while go[0] == 0 {
            rank.region(&words).read(0, &mut go).unwrap();
        }
    } else {
        let before = (counter("messages taken"), accesses_before);
        // SAFETY: exported pages begin at a page; others write words of them.
        let word = |i: u32| unsafe { AtomicU64::from_ptr(flags.address().cast::<u64>().add(i as usize)) };
        while !(1..=others).all(|r| word(r).load(Ordering::Acquire) == 1) {
            if words.is_one_sided() {
                std::thread::sleep(Duration::from_micros(100));
            } else {
                rank.poll();
            }
        }
        let after = (counter("messages taken"), counter("accesses of regions"));
        if words.is_one_sided() {
            assert!(after.1 >= before.1.map(|n| n + u64::from(others) * 31), "{before:?}, then {after:?}");
            assert_eq!(before.0, after.0, "a handler has run");
        } else {
            assert_eq!(before.1, after.1, "not by the NIC");
        }
        word(0).store(1, Ordering::Release);
    }
    rank.barrier();
}

/// Programs must not unmap memory that is exported. If one does, its NIC lives on, refuses, and writes
/// nothing that is mapped there next.
pub fn reg_08_memory_is_unmapped_under_traffic(cx: &Cx) {
    const BYTES: usize = 8 * 4096;
    let rank = cx.rank;
    let map = |at: *mut u8| {
        let (protection, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        let fixed = if at.is_null() { 0 } else { libc::MAP_FIXED_NOREPLACE };
        // SAFETY: where nothing is mapped.
        let got = unsafe { libc::mmap(at.cast(), BYTES, protection, flags | fixed, -1, 0) };
        assert_ne!(got, libc::MAP_FAILED, "{}", std::io::Error::last_os_error());
        got.cast::<u8>()
    };
    // SAFETY: memory of this function's.
    let unmap = |at: *mut u8| assert_eq!(unsafe { libc::munmap(at.cast(), BYTES) }, 0);
    let mut rng = Rng::new(cx.seed ^ u64::from(cx.me()) << 32);
    for round in 0..if cx.quick { 5 } else { 50 } {
        let at = map(core::ptr::null_mut());
        // SAFETY: as said above, if the NIC reaches it; else it is revoked first.
        let region = unsafe { rank.regions().export_raw(at, BYTES, Modes::ALL) }.unwrap();
        let key = exchange(cx, region.key())[0];
        if cx.me() == 0 {
            let mut region = Some(region);
            // SAFETY: mapped, and others write words of it.
            let first = unsafe { AtomicU64::from_ptr(at.cast()) };
            while cx.size() > 1 && first.load(Ordering::Relaxed) == 0 {
                if !key.is_one_sided() {
                    rank.poll();
                }
            }
            if !key.is_one_sided() {
                region = None;
            }
            unmap(at);
            let next = map(at);
            assert_eq!(next, at);
            // SAFETY: just mapped, and nobody else's.
            let next = unsafe { core::slice::from_raw_parts_mut(next, BYTES) };
            next.fill(0xee);
            rank.barrier();
            assert!(next.iter().all(|b| *b == 0xee), "round {round}: written after it was unmapped");
            assert!(region.is_none_or(|region| region.key() == key));
            unmap(at);
        } else {
            let at_most = 3 * 4096;
            loop {
                let len = rng.below(at_most) + 8;
                let to = if rng.below(4) == 0 { 0 } else { rng.below(BYTES - len) as u64 };
                match rank.region(&key).write(to, &vec![1u8; len]) {
                    Ok(()) => {}
                    Err(RegionError::Revoked) => break,
                    Err(other) => panic!("round {round}: {other}"),
                }
            }
            assert_eq!(rank.region(&key).read(0, &mut [0u8; 100]), Err(RegionError::Revoked));
            rank.barrier();
            drop(region);
            unmap(at);
        }
        rank.barrier();
    }
}

/// A plain put of a region trips the wires on its bytes, and no others, whoever carries it out.
pub fn clan_21_a_plain_put_trips(cx: &Cx) {
    let rank = cx.rank;
    let memory = rank.regions().export_vec(vec![0u64; 512], Modes::ALL).unwrap();
    let beside = rank.regions().export_vec(vec![0u64; 512], Modes::ALL).unwrap();
    let (keys, others) = (exchange(cx, memory.key()), exchange(cx, beside.key()));
    let (key, other) = (keys[0], others[0]);
    let writer = cx.size() - 1;
    let wire = |modes| memory.region().tripwire(0..1024, 64, 8, modes).unwrap();
    let (writes, reads) = (wire(Modes::WRITE), wire(Modes::READ));
    let step = |acts: &dyn Fn(), expected: [u64; 2]| {
        rank.barrier();
        if cx.me() == writer {
            acts();
        }
        rank.barrier();
        if cx.me() == 0 {
            assert_eq!([writes.pending(), reads.pending()], expected);
        }
    };
    let put = |at: u64, len: usize| rank.region(&key).write(at, &vec![0u8; len]).unwrap();
    writes.arm(Trips::Once);
    reads.arm(Trips::Always);
    let neighbours = || {
        put(8, 56);
        put(1024, 100);
        rank.region(&other).write(0, &[0u8; 100]).unwrap();
        assert_eq!(rank.region(&key).write(4090, &[0u8; 100]), Err(RegionError::Range));
    };
    step(&neighbours, [0, 0]);
    step(&|| (0..3).for_each(|_| put(3 * 64 + 7, 1)), [1, 0]);
    writes.arm(Trips::Always);
    step(&|| (0..5).for_each(|_| put(60, 10)), [6, 0]);
    step(&|| rank.region(&key).read(0, &mut [0u8; 8]).unwrap(), [6, 1]);
    step(&|| assert_eq!(rank.region(&key).atomic(64, ADD, 0, 0), Ok(0)), [7, 1]);
    // Of runs, each by itself: what lies between them is not touched.
    let runs = |get: bool, at: usize| {
        let mut words = [0u8; 24];
        let local = Shape::Strided { at: words.as_mut_ptr() as usize, strides: &[8], count: &[8, 3] };
        let remote = Shape::Strided { at, strides: &[64], count: &[8, 3] };
        // SAFETY: `words` has the runs, and is left alone until the event is done.
        rank.wait(unsafe {
            if get {
                rank.region(&key).get_shape_nb(local, remote, 0)
            } else {
                rank.region(&key).put_shape_nb(remote, 0, local)
            }
        });
    };
    step(&|| [false, true].into_iter().for_each(|get| runs(get, 8)), [7, 1]);
    step(&|| [false, true].into_iter().for_each(|get| runs(get, 64)), [10, 4]);
    writes.disarm();
    step(&|| put(0, 8), [10, 4]);
    assert!(memory.region().tripwire(0..4097, 8, 8, Modes::WRITE).is_err());
    drop((writes, reads));
    // Back and forth: a touch that was missed would leave both asleep.
    if cx.size() > 1 && (cx.me() == 0 || cx.me() == writer) {
        let wire = memory.region().tripwire(0..8, 8, 8, Modes::WRITE).unwrap();
        // SAFETY: the first word, which others write.
        let word = unsafe { AtomicU64::from_ptr(memory.region().address().cast()) };
        let peer = keys[if cx.me() == 0 { writer } else { 0 } as usize];
        for i in 1..=if cx.quick { 50u64 } else { 1000 } {
            if cx.me() == 0 {
                rank.region(&peer).write(0, &[i]).unwrap();
            }
            wire.wait_for(|| word.load(Ordering::Acquire) == i);
            if cx.me() > 0 {
                rank.region(&peer).write(0, &[i]).unwrap();
            }
        }
    }
    rank.barrier();
}
