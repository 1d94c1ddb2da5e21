//! Exported regions: keys by name and as data, random operations against a copy, refusals, revocation while
//! others write.

use crate::support::{Cx, Rng};
use gasnet::atomics::{Function, Operation, WordType};
use gasnet::{GlobalPtr, Modes, RankId, RegionError, RegionKey};

const ADD: Operation = Operation { function: Function::Add, word: WordType::U64 };
/// Bytes of a region: two messages and a bit.
const LEN: usize = 140_001;

/// The keys of all ranks, as data in the segment of rank 0.
fn exchange(cx: &Cx, mine: RegionKey) -> Vec<RegionKey> {
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
    let memory = rank.export_vec(vec![0u8; LEN], Modes::ALL).unwrap();
    let name = cx.seed | 1;
    rank.publish(name, memory.region(), 5).unwrap();
    rank.barrier();
    let (key, note) = rank.import(cx.right(1), name).unwrap().expect("its owner has published it");
    assert_eq!((key.rank(), note), (cx.right(1), 5));
    assert_eq!(rank.import(cx.right(1), name ^ 2), Ok(None));
    let mut copy = vec![0u8; LEN];
    for i in 0..if cx.quick { 20 } else { 150 } {
        let len = rng.below(if i % 8 == 0 { LEN } else { 200 });
        let at = rng.below(LEN - len + 1);
        if rng.below(2) == 0 {
            copy[at..at + len].iter_mut().for_each(|b| *b = rng.below(256) as u8);
            rank.region_write(&key, at as u64, &copy[at..at + len]).unwrap();
        } else {
            let got = rank.region_read_nb::<u8>(&key, at as u64, len).wait().unwrap();
            assert!(got == copy[at..at + len], "{len} bytes at {at}");
        }
    }
    rank.barrier();
    let words = rank.export_vec(vec![0u64; 2], Modes::ATOMIC | Modes::READ).unwrap();
    let first = exchange(cx, words.key())[0];
    for _ in 0..5 {
        rank.region_atomic(&first, 8, ADD, 1, 0).unwrap();
    }
    rank.barrier();
    let mut got = [0u64; 2];
    rank.region_read(&first, 0, &mut got).unwrap();
    assert_eq!(got, [0, 5 * u64::from(cx.size())]);
    rank.barrier();
    drop(memory);
    rank.barrier();
    assert_eq!(rank.import(cx.right(1), name), Err(RegionError::Revoked));
    assert_eq!(rank.region_read(&key, 0, &mut [0u8]), Err(RegionError::Revoked));
    rank.barrier();
}

fn refusals(cx: &Cx) {
    let rank = cx.rank;
    let read = rank.export_vec(vec![7u8; 100], Modes::READ).unwrap();
    let once = rank.export_vec(vec![7u8; 100], Modes::WRITE | Modes::ONCE).unwrap();
    let (reads, onces) = (exchange(cx, read.key()), exchange(cx, once.key()));
    for (key, one) in reads.iter().zip(&onces) {
        assert_eq!(rank.region_write(key, 0, &[1u8]), Err(RegionError::Access));
        assert_eq!(rank.region_read(key, 99, &mut [0u8; 2]), Err(RegionError::Range));
        assert_eq!(rank.region_write(one, 96, &[0u64]), Err(RegionError::Range));
        assert_eq!(rank.region_read(key, 0, &mut [0u8; 100]), Ok(()));
        let written = rank.region_write(one, 10, &[cx.me() as u8; 20]);
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
        let memory = rank.export_vec(vec![0u8; 1000], Modes::ALL).unwrap();
        let key = exchange(cx, memory.key())[0];
        if cx.me() == 0 {
            if cx.size() > 1 {
                let mut first = [0u8];
                while first[0] == 0 {
                    rank.poll();
                    rank.region_read(&key, 0, &mut first).unwrap();
                }
            }
            let mut memory = memory.into_vec();
            memory.fill(0xee);
            rank.barrier();
            assert!(memory.iter().all(|b| *b == 0xee), "written after it was revoked");
        } else {
            while rank.region_write(&key, 0, &[1u8; 1000]) == Ok(()) {}
            assert_eq!(rank.region_write(&key, 0, &[1u8]), Err(RegionError::Revoked));
            rank.barrier();
        }
    }
}
