//! The measured half of `pgas-bench clan`: streams, virtual interfaces and pages in the memory of peers. One
//! subcommand a run, results as lines `KEY VALUE` from rank 0, in ns (`bw` in bytes per ns).

use gasnet::{GlobalPtr, Rank, RankId};
use gasnet_clan::{Notification, Stream, StreamConfig, Streams, Upcalls};
use gasnet_via::{Address, Agent, Descriptor, MemoryAttributes, Reliability, Segment, ViAttributes};
use std::error::Error;
use std::hint::black_box;
use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

const BATCHES: i32 = 5;
const MIB: usize = 1 << 20;
const PAGE: usize = 4096;

fn main() {
    gasnet_conduits::run(|rank| {
        let task = std::env::args().nth(1).unwrap_or_default();
        let outcome = match task.as_str() {
            "stream_rtt" => stream_rtt(rank),
            "stream_bw" => stream_bandwidth(rank),
            "upcall_rtt" => upcall_rtt(rank),
            "vi_rtt" => vi_rtt(rank),
            "pages" => pages(rank),
            other => Err(format!("no task `{other}`").into()),
        };
        if let Err(problem) = outcome {
            rank.fatal(&format!("pgas-bench-clan: {problem}"));
        }
    })
}

type Outcome = Result<(), Box<dyn Error>>;

/// The argument at a place of the command line.
fn argument(at: usize, usual: usize) -> usize {
    std::env::args().nth(at).and_then(|a| a.parse().ok()).unwrap_or(usual)
}

/// Run the batches: `work` returns the results of one; the first warms up.
fn batches(
    rank: &Rank,
    mut work: impl FnMut() -> Result<Vec<(&'static str, f64)>, Box<dyn Error>>,
) -> Outcome {
    for batch in -1..BATCHES {
        rank.barrier();
        let results = work()?;
        if rank.id().0 == 0 && batch >= 0 {
            results.iter().for_each(|(key, value)| println!("{key} {value:.6}"));
        }
    }
    rank.barrier();
    Ok(())
}

fn ns_each(start: Instant, count: usize) -> f64 {
    start.elapsed().as_nanos() as f64 / count as f64
}

/// A stream between the two ranks, with a ring of the bytes that the command line asks for.
fn stream<'r>(rank: &'r Rank, streams: &Streams<'r>) -> std::io::Result<Stream<'r>> {
    let peer = RankId(1 - rank.id().0);
    if rank.id().0 == 0 { streams.connect(peer) } else { streams.accept(peer) }
}

fn streams(rank: &Rank) -> std::io::Result<Streams<'_>> {
    let ring = argument(2, StreamConfig::default().ring as usize) as u32;
    Streams::new(rank, 1, StreamConfig { ring, chunk: ring / 2 })
}

/// 8 bytes there and back.
fn stream_rtt(rank: &Rank) -> Outcome {
    let streams = streams(rank)?;
    let mut stream = stream(rank, &streams)?;
    let (count, mut bytes) = (20_000, [0; 8]);
    batches(rank, || {
        let start = Instant::now();
        for i in 0..count as u64 {
            if rank.id().0 == 0 {
                stream.write_all(&i.to_le_bytes())?;
            }
            stream.read_exact(&mut bytes)?;
            if rank.id().0 == 1 {
                stream.write_all(&bytes)?;
            }
            assert_eq!(u64::from_le_bytes(bytes), i);
        }
        Ok(vec![("rtt", ns_each(start, count))])
    })
}

/// Rank 0 writes a mebibyte again and again, rank 1 reads pieces of 64 KiB and says when it has them all.
fn stream_bandwidth(rank: &Rank) -> Outcome {
    let streams = streams(rank)?;
    let mut stream = stream(rank, &streams)?;
    let (count, source) = (200, vec![7u8; MIB]);
    let mut piece = vec![0; 64 << 10];
    batches(rank, || {
        let start = Instant::now();
        if rank.id().0 == 0 {
            for _ in 0..count {
                stream.write_all(black_box(&source))?;
            }
            stream.read_exact(&mut piece[..1])?;
        } else {
            for _ in 0..count * MIB / piece.len() {
                stream.read_exact(black_box(&mut piece))?;
            }
            assert_eq!(piece.iter().position(|byte| *byte != 7), None);
            stream.write_all(&[7])?;
        }
        Ok(vec![("bw", MIB as f64 / ns_each(start, count))])
    })
}

/// Rank 0 notifies rank 1, which computes; a handler there notifies rank 0, which waits.
fn upcall_rtt(rank: &'static Rank) -> Outcome {
    const ASK: u32 = 0;
    const ANSWER: u32 = 1;
    const OVER: u32 = 2;
    let mut notes = Notification::new(rank, 3, 0)?;
    // Another object, so that the handler has one of its own.
    let mut back = Notification::new(rank, 2, 0)?;
    let upcalls = Upcalls::start(&notes)?;
    let over = Arc::new(AtomicBool::new(false));
    let count = 2000;
    if rank.id().0 == 1 {
        let seen = over.clone();
        upcalls.arm(OVER, move |_| seen.store(true, Ordering::Relaxed))?;
        upcalls.arm(ASK, move |_| back.notify(RankId(0), ANSWER).expect("a count"))?;
        return batches(rank, || {
            // It computes: nothing here calls the runtime.
            while !over.swap(false, Ordering::Relaxed) {
                black_box(0);
            }
            Ok(vec![])
        });
    }
    batches(rank, || {
        let start = Instant::now();
        for _ in 0..count {
            notes.notify(RankId(1), ASK)?;
            back.wait(ANSWER);
        }
        let rtt = ns_each(start, count);
        notes.notify(RankId(1), OVER)?;
        Ok(vec![("rtt", rtt)])
    })
}

/// A message of 8 bytes there and back between two virtual interfaces, with reliable delivery.
fn vi_rtt(rank: &'static Rank) -> Outcome {
    const BYTES: u32 = 8;
    const RECEIVES: u32 = 4;
    let nic = Agent::start(rank)?.open();
    let tag = nic.create_tag();
    let attributes = MemoryAttributes { tag, rdma_write: false, rdma_read: false };
    let memory = nic.register(vec![0; (BYTES * (RECEIVES + 1)) as usize], attributes)?;
    let reliability = Reliability::Delivery;
    let attributes = ViAttributes {
        reliability,
        max_transfer: PAGE as u32,
        qos: 0,
        tag,
        rdma_write: false,
        rdma_read: false,
    };
    let vi = nic.create_vi(attributes, None, None)?;
    let part = |i: u32| Descriptor::message(vec![Segment { memory, at: (BYTES * i).into(), len: BYTES }]);
    (0..RECEIVES).try_for_each(|i| nic.post_receive(vi, part(i)))?;
    if rank.id().0 == 1 {
        let listener = nic.listen(b"rtt")?;
        rank.barrier();
        nic.accept(nic.next_request(listener, None)?.id, vi)?;
    } else {
        rank.barrier();
        nic.connect(vi, nic.address(*b"client"), Address::new(1, *b"rtt"), None)?;
    }
    let count = 20_000;
    let mut next = 0;
    batches(rank, || {
        let start = Instant::now();
        for _ in 0..count {
            if rank.id().0 == 0 {
                nic.post_send(vi, part(RECEIVES))?;
            }
            let got = nic.wait_receive(vi, None)?;
            assert!(got.errors.is_none() && got.len == BYTES);
            nic.post_receive(vi, part(next % RECEIVES))?;
            next += 1;
            if rank.id().0 == 1 {
                nic.post_send(vi, part(RECEIVES))?;
            }
            let sent = nic.wait_send(vi, None)?;
            assert!(sent.errors.is_none());
        }
        Ok(vec![("rtt", ns_each(start, count))])
    })
}

/// Rank 0 touches pages of its own segment that are in the memory of rank 1, beside reads of as many bytes
/// from pages that rank 1 has in memory. The pages lie far from each other, so none is read ahead.
fn pages(rank: &Rank) -> Outcome {
    let all = argument(2, 4096);
    let word = |of: u32, page: usize| GlobalPtr::<u64>::new(RankId(of), (page * PAGE) as u64);
    // A prime: `all` is no multiple.
    let scattered = |i: usize| i * 7919 % all;
    if rank.id().0 == 0 {
        (0..all).for_each(|page| rank.write(word(0, page), page as u64));
    } else {
        (0..16).for_each(|page| rank.write(word(1, page), page as u64));
    }
    let own = rank.table().get(rank.id()).ok_or("no segment")?.local;
    let mut copy = vec![0u64; PAGE / 8];
    batches(rank, || {
        if rank.id().0 != 0 {
            return Ok(vec![]);
        }
        let start = Instant::now();
        for i in 0..all {
            let at = own.wrapping_add(scattered(i) * PAGE).cast::<u64>();
            #[expect(unsafe_code, reason = "a load as a program makes it")]
            // SAFETY: a word of the own segment, which nobody writes to now.
            let value = unsafe { at.read_volatile() };
            assert_eq!(value, scattered(i) as u64);
        }
        let page = ns_each(start, all);
        let start = Instant::now();
        for i in 0..all {
            rank.read_slice(word(1, i % 16), black_box(&mut copy));
            assert_eq!(copy[0], i as u64 % 16);
        }
        Ok(vec![("page", page), ("read", ns_each(start, all))])
    })
}
