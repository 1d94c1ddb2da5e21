//! Records come back as they were written, and whatever else arrives is refused or read as what it says.

use super::*;
use fastrand::Rng;

fn key(random: &mut Rng) -> RegionKey {
    let mut bytes = [0u8; KEY];
    random.fill(&mut bytes);
    bytemuck::pod_read_unaligned(&bytes)
}

/// The inputs of a record: its purpose, keys, whether the first key is the body's, and the body.
type Written = (To, Vec<RegionKey>, bool, Vec<u8>);

fn record(random: &mut Rng) -> Written {
    let answer =
        Answer { origin: RankId(random.u32(..)), place: random.u32(..), generation: random.u32(1..) };
    let service = [random.u32(1..), random.u32(..)];
    let mut rank = || RankId(random.u32(..1000));
    let (from, to) = (rank(), rank());
    let to = match random.u32(..5) {
        0 => To::Service { service, answer: None },
        1 => To::Service { service, answer: Some(answer) },
        2 => To::Call { answer, outcome: random.u8(..) },
        3 => To::From { service, from },
        _ => To::Onward { service, from, to },
    };
    let keys = (0..random.usize(..3)).map(|_| key(random)).collect();
    (to, keys, random.bool(), (0..random.usize(..70)).map(|_| random.u8(..)).collect())
}

fn batch(random: &mut Rng) -> (AlignedBuffer, Vec<Written>) {
    let records: Vec<_> = (0..random.usize(1..9)).map(|_| record(random)).collect();
    let mut buffer = AlignedBuffer::default();
    for (to, keys, whole, body) in &records {
        append(&mut buffer, to, keys, *whole, body);
    }
    (buffer, records)
}

/// Reads whatever these bytes are. All that is read lies inside of them, in order and apart, and what a
/// record says, written anew, is the record.
fn read_anything(bytes: &[u8]) -> usize {
    let (mut at, mut whole_records, mut over) = (0, 0, false);
    for record in records(bytes) {
        assert!(!over, "nothing is read behind what is wrong");
        let Ok(record) = record else {
            over = true;
            continue;
        };
        let size = record.size();
        assert!(size >= HEAD && at + size <= bytes.len());
        let inside = bytes[at..at + size].as_ptr_range();
        for part in [record.keys, record.body] {
            assert!(part.is_empty() || inside.start < part.as_ptr() && part.as_ptr_range().end <= inside.end);
        }
        let keys: Vec<RegionKey> = record.keys().collect();
        assert_eq!(keys.len() * KEY, record.keys.len());
        let mut again = AlignedBuffer::default();
        append(&mut again, &record.to, &keys, record.whole, record.body);
        let back = records(again.bytes()).next().unwrap().unwrap();
        assert_eq!(
            (back.to, back.keys, back.whole, back.body),
            (record.to, record.keys, record.whole, record.body)
        );
        (at, whole_records) = (at + size, whole_records + 1);
    }
    assert!(over || at == bytes.len(), "all is read, or something is wrong");
    whole_records
}

#[test]
fn records_come_back() {
    let mut random = Rng::with_seed(7);
    for _ in 0..if cfg!(miri) { 10 } else { 200 } {
        let (buffer, sent) = batch(&mut random);
        let all: Vec<_> = records(buffer.bytes()).map(Result::unwrap).collect();
        assert_eq!(all.len(), sent.len());
        for (record, (to, keys, whole, body)) in all.iter().zip(&sent) {
            assert_eq!((record.to, record.body, record.whole), (*to, &body[..], *whole));
            assert!(record.keys().eq(keys.iter().copied()));
        }
        assert_eq!(buffer.len(), all.iter().map(ArrivedRecord::size).sum::<usize>());
        assert_eq!(read_anything(buffer.bytes()), sent.len());
    }
}

/// A small record travels as arguments of a short message and reads back as the same record.
#[test]
fn small_records_are_records() {
    let mut random = Rng::with_seed(8);
    for _ in 0..if cfg!(miri) { 50 } else { 1000 } {
        let (to, _, _, body) = record(&mut random);
        let mut buffer = AlignedBuffer::default();
        append(&mut buffer, &to, &[], false, &body);
        let small = Short::new(&body).map(|body| Small::new(&to, &body));
        assert_eq!(small.is_some(), buffer.len() <= SMALL_WORDS * 8, "{} bytes", body.len());
        if let Some(small) = small {
            assert_eq!(small.bytes(), buffer.bytes());
            assert!(bytemuck::cast_slice::<u32, u8>(small.arguments()).starts_with(buffer.bytes()));
            assert_eq!(small.arguments().len() * 4, Small::BYTES);
            let came = Small::from_arguments(small.arguments()).unwrap();
            let record = came.record().unwrap();
            assert_eq!((came.bytes(), record.to, record.body), (buffer.bytes(), to, &body[..]));
            assert_eq!(came.body(body.len()).bytes(), body);
            assert!(record.body.as_ptr().addr().is_multiple_of(8));
        }
    }
}

/// Batches that were cut off, damaged, made longer, or never were any.
#[test]
fn forged_batches_are_refused_or_read_as_they_are() {
    let mut random = Rng::with_seed(9);
    let rounds = if cfg!(miri) { 15 } else { 20_000 };
    for round in 0..rounds {
        let (buffer, _) = batch(&mut random);
        let mut bytes = buffer.bytes().to_vec();
        match round % 5 {
            0 => bytes.truncate(random.usize(..bytes.len())),
            1 => {
                for _ in 0..random.usize(1..9) {
                    let bit = random.usize(..8 * bytes.len());
                    bytes[bit / 8] ^= 1 << (bit % 8);
                }
            }
            // The lengths, and the number of payloads, of the first record.
            2 => bytes[8..12].copy_from_slice(&random.u32(..).to_ne_bytes()),
            3 => bytes.extend((0..random.usize(1..HEAD)).map(|_| random.u8(..))),
            _ => random.fill(&mut bytes),
        }
        read_anything(&bytes);
        // As the arguments of a message, which are always as many.
        bytes.resize(bytes.len().next_multiple_of(4).max(Small::BYTES - 4 * (round % 9 / 8)), 0);
        let (words, _) = bytes.as_chunks::<4>();
        let arguments: Vec<u32> = words.iter().copied().map(u32::from_ne_bytes).collect();
        let small = Small::from_arguments(&arguments);
        assert_eq!(small.is_some(), bytes.len() == Small::BYTES);
        if let Some(small) = small {
            assert!(bytes.starts_with(small.bytes()));
            let first = records(&bytes).next().and_then(Result::ok);
            assert_eq!(small.record(), first.filter(ArrivedRecord::is_short));
            read_anything(small.bytes());
        }
    }
}

/// A record names ranks of the job, and an answer is to a call of whoever gets it.
#[test]
fn records_that_name_others_are_told_apart() {
    let (me, size) = (RankId(1), 3);
    let possible = |to| {
        let small = Small::new(&to, &Short::new(&[]).unwrap());
        let record = records(small.bytes()).next().unwrap().unwrap();
        record.is_possible(me, size)
    };
    let service = [8, 9];
    for rank in 0..6 {
        let (there, here) = (RankId(rank), RankId(0));
        let answer = Answer { origin: there, place: 0, generation: 1 };
        assert_eq!(possible(To::Service { service, answer: Some(answer) }), rank < size);
        assert_eq!(possible(To::From { service, from: there }), rank < size);
        assert_eq!(possible(To::Onward { service, from: there, to: here }), rank < size);
        assert_eq!(possible(To::Onward { service, from: here, to: there }), rank < size);
        assert_eq!(possible(To::Call { answer, outcome: 0 }), there == me);
    }
    assert!(possible(To::Service { service, answer: None }));
}
