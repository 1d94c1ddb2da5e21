//! The measured half of `pgas-bench clan`: streams, virtual interfaces and pages in the memory of peers. One
//! subcommand a run, results as lines `KEY VALUE` from rank 0, in ns (`bw` in bytes per ns).

use gasnet::region::{Modes, RegionKey};
use gasnet::{GlobalPtr, Rank, RankId};
use gasnet_clan::{
    Access, ActiveSources, Aperture, Endpoint, Endpoints, EventQueue, Notification, Posted, PostedTx,
    RdmaEngine, Stream, StreamConfig, Streams, Trips, Upcalls, Watch,
};
use gasnet_via::{
    Address, Agent, Descriptor, MemoryAttributes, MemoryId, Nic, PeerMemory, Polled, Reliability, Segment,
    ViAttributes, ViId,
};
use pgas_bench::ranks::{argument, ns_each, try_batches};
use std::error::Error;
use std::hint::black_box;
use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

const MIB: usize = 1 << 20;
const PAGE: usize = 4096;

fn main() {
    gasnet_conduits::run(|rank| {
        let task = std::env::args().nth(1).unwrap_or_default();
        let outcome = match task.as_str() {
            "stream_rtt" => stream_rtt(rank),
            "stream_bw" => stream_bandwidth(rank),
            "ladder" => ladder(rank),
            "transmit" => transmit(rank),
            "overtake" => overtake(rank),
            "active" => active(rank),
            "endpoints" => endpoints(rank),
            "upcall_rtt" => upcall_rtt(rank),
            "vi_rtt" => vi_rtt(rank),
            "vi_calls" => vi_calls(rank),
            "vi_write" => vi_write(rank),
            "vi_look" => vi_look(rank),
            "pages" => pages(rank),
            "region_put" => region_put(rank),
            other => Err(format!("no task `{other}`").into()),
        };
        if let Err(problem) = outcome {
            rank.fatal(&format!("gasnet-papers-clan: {problem}"));
        }
    })
}

type Outcome = Result<(), Box<dyn Error>>;

/// The median and the 95th percentile.
fn percentiles(mut samples: Vec<f64>) -> (f64, f64) {
    samples.sort_by(f64::total_cmp);
    let at = |part: f64| samples[((samples.len() - 1) as f64 * part) as usize];
    (at(0.5), at(0.95))
}

/// Memory of both ranks, zero, and the key of the other rank's.
fn exported(rank: &Rank, bytes: usize) -> Result<(GlobalPtr<u8>, RegionKey), Box<dyn Error>> {
    let own = GlobalPtr::<u8>::new(rank.id(), rank.allocate(bytes as u64 + 64, 64)?);
    let peer = RankId(1 - rank.id().0);
    rank.write_slice(own, &vec![0; bytes]);
    // The region lives as long as the program.
    let region = std::mem::ManuallyDrop::new(rank.regions().export_segment(own, bytes, Modes::WRITE)?);
    rank.write_slice(own.add(bytes).on(peer), bytemuck::bytes_of(&region.key()));
    rank.barrier();
    let mut key = [0; size_of::<RegionKey>()];
    rank.read_slice(own.add(bytes), &mut key);
    Ok((own, bytemuck::pod_read_unaligned(&key)))
}

/// Round trips of messages of each size, written at one side and read at the other: by stores, by a stream,
/// by a queue of RDMA requests.
fn ladder(rank: &Rank) -> Outcome {
    const DATA: usize = 64;
    let bytes = argument(2, 40) as usize;
    let (me, peer, count) = (rank.id().0, RankId(1 - rank.id().0), 2000);
    let (own, key) = exported(rank, DATA + bytes)?;
    let mut there = Aperture::segment(rank, own.on(peer), (DATA + bytes) as u64)?;
    let all = Streams::new(rank, 1, StreamConfig::default())?;
    let mut stream = if me == 0 { all.connect(peer)? } else { all.accept(peer)? };
    let engine = RdmaEngine::new(rank);
    let mut queue = engine.queue(4);
    let (data, mut got) = (vec![7u8; bytes], vec![0u8; bytes]);
    let mut next = 0u32;
    try_batches(rank, || {
        let mut results = Vec::new();
        let mut way = |names: [&'static str; 2],
                       send: &mut dyn FnMut(u32) -> Outcome,
                       take: &mut dyn FnMut(u32) -> Outcome| {
            let mut samples = Vec::with_capacity(count);
            for _ in 0..count {
                next += 1;
                let start = Instant::now();
                if me == 0 {
                    send(next)?;
                    take(next)?;
                } else {
                    take(next)?;
                    send(next)?;
                }
                samples.push(start.elapsed().as_nanos() as f64);
            }
            let (median, late) = percentiles(samples);
            results.extend([(names[0], median), (names[1], late)]);
            Ok::<(), Box<dyn Error>>(())
        };
        let mut take_stored = |i: u32| {
            rank.wait_until("a message", || rank.atomics().load(own.cast()) as u32 == i);
            rank.read_slice(own.add(DATA), black_box(&mut got));
            Ok(())
        };
        way(
            ["store", "store_p95"],
            &mut |i| {
                there.fill(DATA as u64, &data)?;
                Ok(there.store(0, i.into())?)
            },
            &mut take_stored,
        )?;
        way(
            ["queue", "queue_p95"],
            &mut |i| {
                queue.write(data.clone(), key, DATA as u64, false)?;
                let id = queue.immediate(key, 0, i)?;
                queue.wait(id, None).ok_or("not done")??;
                Ok(())
            },
            &mut take_stored,
        )?;
        let (tx, mut rx) = (Vec::from(&data[..]), vec![0; bytes]);
        let stream = std::cell::RefCell::new(&mut stream);
        way(
            ["stream", "stream_p95"],
            &mut |_| Ok(stream.borrow_mut().write_all(black_box(&tx))?),
            &mut |_| Ok(stream.borrow_mut().read_exact(black_box(&mut rx))?),
        )?;
        Ok(results)
    })
}

/// The sender's time to send, by size.
struct Transmit {
    /// Stores of a message that is formed first, and of one that is formed in place, word by word.
    copied: f64,
    in_place: f64,
    /// A request to an active queue.
    request: f64,
}

/// Measures the sender's time to send, and the size from which on a request is cheaper than stores.
fn transmit(rank: &Rank) -> Outcome {
    const SIZES: [usize; 14] = [8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536];
    const COUNT: usize = 200;
    let most = SIZES[SIZES.len() - 1];
    let (own, key) = exported(rank, most)?;
    let mut there = Aperture::segment(rank, own.on(RankId(1 - rank.id().0)), most as u64)?;
    let engine = RdmaEngine::new(rank);
    let mut measure = |size: usize| -> Result<Transmit, Box<dyn Error>> {
        let mut formed = vec![0u64; size / 8];
        let start = Instant::now();
        for i in 0..COUNT as u64 {
            formed.iter_mut().for_each(|word| *word = black_box(i));
            there.fill(0, bytemuck::cast_slice(black_box(&formed)))?;
        }
        let copied = ns_each(start, COUNT as u64);
        let start = Instant::now();
        for i in 0..COUNT as u64 {
            for at in (0..size as u64).step_by(8) {
                there.store(at, black_box(i))?;
            }
        }
        let in_place = ns_each(start, COUNT as u64);
        let mut queue = engine.queue(COUNT as u32);
        // In memory that is there, as the others.
        let (mut free, mut last) = (vec![vec![0u8; size]; COUNT], None);
        let start = Instant::now();
        while let Some(mut formed) = free.pop() {
            formed.chunks_exact_mut(8).for_each(|word| word.copy_from_slice(&black_box(7u64).to_ne_bytes()));
            last = Some(queue.write(formed, key, 0, true)?);
        }
        let request = ns_each(start, COUNT as u64);
        if let Some(last) = last {
            queue.wait(last, None).ok_or("not done")??;
        }
        Ok(Transmit { copied, in_place, request })
    };
    try_batches(rank, || {
        if rank.id().0 != 0 {
            return Ok(vec![]);
        }
        let all = SIZES.into_iter().map(|size| Ok((size, measure(size)?)));
        let all = all.collect::<Result<Vec<_>, Box<dyn Error>>>()?;
        // Beyond the last there is none.
        let from = |cheaper: &dyn Fn(&Transmit) -> bool| {
            let found = all.iter().find(|(_, cost)| cheaper(cost)).map_or(2 * most, |(size, _)| *size);
            found as f64
        };
        let (_, usual) = &all[5];
        Ok(vec![
            ("copied", usual.copied),
            ("in_place", usual.in_place),
            ("request", usual.request),
            ("crossover", from(&|cost| cost.request <= cost.copied)),
            ("crossover_in_place", from(&|cost| cost.request <= cost.in_place)),
        ])
    })
}

/// Rank 1 has bulk data of each size in progress to rank 0, in a queue. When rank 0 asks, rank 1 posts a
/// buffer, and puts a credit behind the bulk: the times of both.
fn overtake(rank: &'static Rank) -> Outcome {
    const PIECE: usize = 64 << 10;
    let (bulk, count) = (argument(2, 0) as usize, 20);
    let (own, key) = exported(rank, 64 + PIECE)?;
    let streams = Streams::new(rank, 2, StreamConfig::default())?;
    let credit = || rank.atomics().load(own.cast()) as u32;
    let mut next = 0;
    if rank.id().0 == 0 {
        let mut ask = streams.connect(RankId(1))?;
        let mut tx = PostedTx::new(rank, streams.connect(RankId(1))?);
        return try_batches(rank, || {
            let (mut cookies, mut credits) = (Vec::new(), Vec::new());
            for _ in 0..count {
                next += 1;
                let start = Instant::now();
                ask.write_all(&[1])?;
                while tx.next_len()?.is_none() {}
                cookies.push(start.elapsed().as_nanos() as f64);
                rank.wait_until("a credit", || credit() == next);
                credits.push(start.elapsed().as_nanos() as f64);
                tx.send(&[], next, gasnet_clan::Overrun::Refuse)?;
            }
            Ok(vec![("cookie", percentiles(cookies).0), ("credit", percentiles(credits).0)])
        });
    }
    let mut asked = streams.accept(RankId(0))?;
    let mut rx = Posted::new(rank, streams.accept(RankId(0))?);
    let engine = RdmaEngine::start(rank)?;
    let mut queue = engine.queue((bulk / PIECE + 2) as u32);
    let mut byte = [0];
    try_batches(rank, || {
        for _ in 0..count {
            next += 1;
            let pieces = vec![vec![7; PIECE]; bulk / PIECE];
            asked.read_exact(&mut byte)?;
            for piece in pieces {
                queue.write(piece, key, 64, true)?;
            }
            queue.immediate(key, 0, next)?;
            rx.post(vec![vec![0; 8]])?;
            rx.receive()?;
        }
        Ok(vec![])
    })
}

/// To open an endpoint, exchange a message and close it: with memory that is made for it, and again.
fn endpoints(rank: &Rank) -> Outcome {
    let (peer, count) = (RankId(1 - rank.id().0), 100);
    let exchange = |mut end: Endpoint<'_>| -> Outcome {
        rank.wait_until("the other end", || end.message(b"hello").is_ok_and(|there| there));
        end.wait_message()?;
        end.message(b"done")?;
        end.wait_message()?;
        Ok(())
    };
    let mut kept = Endpoints::new(rank)?;
    try_batches(rank, || {
        let start = Instant::now();
        for _ in 0..count {
            exchange(Endpoints::new(rank)?.open(peer)?)?;
        }
        let cold = ns_each(start, count as u64);
        rank.barrier();
        let start = Instant::now();
        for _ in 0..count {
            let mut end = None;
            rank.wait_until("the other end", || {
                end = kept.open(peer).ok();
                end.is_some()
            });
            exchange(end.ok_or("not open")?)?;
        }
        Ok(vec![("cold", cold), ("warm", ns_each(start, count as u64))])
    })
}

/// Rank 0 sends bursts of messages to several places of rank 1, which is told of each by an event, or polls
/// those that were active. Results are messages a second, in thousands.
fn active(rank: &Rank) -> Outcome {
    const SOURCES: u64 = 8;
    let (bursts, peer) = (500u64, RankId(1 - rank.id().0));
    let mut watch = Watch::new(rank, 64 * (SOURCES + 1), SOURCES as u32)?;
    let mut queue = EventQueue::new(rank, SOURCES as u32)?;
    let (mut wires, mut sources) = (Vec::new(), Vec::new());
    for i in 0..SOURCES {
        let mut wire = watch.tripwire(64 * i..64 * i + 8, Access::Write)?;
        let source = queue.attach(i)?;
        wire.attach(&source);
        wires.push(wire);
        sources.push(source);
    }
    let answer = 64 * SOURCES;
    let mut sent = 0;
    let mut burst = |watch: &Watch<'_>| -> Outcome {
        sent += 1;
        (0..SOURCES).try_for_each(|i| watch.put(peer, 64 * i, &[sent]))?;
        rank.wait_until("an answer", || watch.word(answer).is_ok_and(|seen| seen == sent));
        Ok(())
    };
    let (mut seen, mut round) = ([0u64; SOURCES as usize], 0);
    try_batches(rank, || {
        let mut results = Vec::new();
        for by_events in [true, false] {
            // Before the first message.
            wires.iter_mut().filter(|_| by_events).for_each(|wire| wire.arm(Trips::Once));
            rank.barrier();
            if rank.id().0 == 0 {
                let start = Instant::now();
                (0..bursts).try_for_each(|_| burst(&watch))?;
                let rate = 1e6 * SOURCES as f64 / ns_each(start, bursts as usize as u64);
                results.push((if by_events { "events" } else { "polled" }, rate));
                continue;
            }
            let mut list = ActiveSources::new(1000);
            (0..SOURCES).for_each(|i| list.note(i));
            for _ in 0..bursts {
                round += 1;
                let mut serve = |i: u64| {
                    let word = watch.word(64 * i).unwrap_or(0);
                    std::mem::replace(&mut seen[i as usize], word) != word
                };
                if by_events {
                    // A message may be there before its wire is armed: so each is looked at.
                    let mut done = 0;
                    while done < SOURCES {
                        if let Some(i) = queue.get().and_then(|event| event.cookie) {
                            wires[i as usize].arm(Trips::Once);
                            done += u64::from(serve(i));
                        }
                    }
                } else {
                    let mut done = 0;
                    while done < SOURCES as usize {
                        done += list.turn(&mut serve, |i| wires[i as usize].arm(Trips::Once));
                        rank.poll();
                    }
                }
                rank.atomics().swap(watch.memory(peer).add(answer as usize).cast(), round);
            }
            // Quiet for the other way.
            wires.iter_mut().for_each(|wire| wire.disarm());
            while queue.get().is_some() {}
        }
        Ok(results)
    })
}

/// A stream between the two ranks, with a ring of the bytes that the command line asks for.
fn stream<'r>(rank: &'r Rank, streams: &Streams<'r>) -> std::io::Result<Stream<'r>> {
    let peer = RankId(1 - rank.id().0);
    if rank.id().0 == 0 { streams.connect(peer) } else { streams.accept(peer) }
}

fn streams(rank: &Rank) -> std::io::Result<Streams<'_>> {
    let ring = argument(2, StreamConfig::default().ring.into()) as u32;
    let chunk = argument(3, u64::from(ring) / 2) as u32;
    Streams::new(rank, 1, StreamConfig { ring, chunk })
}

/// 8 bytes there and back.
fn stream_rtt(rank: &Rank) -> Outcome {
    let streams = streams(rank)?;
    let mut stream = stream(rank, &streams)?;
    let (count, mut bytes) = (20_000, [0; 8]);
    try_batches(rank, || {
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
        Ok(vec![("rtt", ns_each(start, count as u64))])
    })
}

/// Rank 0 writes a mebibyte again and again, rank 1 reads pieces of 64 KiB and says when it has them all.
fn stream_bandwidth(rank: &Rank) -> Outcome {
    let streams = streams(rank)?;
    let mut stream = stream(rank, &streams)?;
    let (count, source) = (200, vec![7u8; MIB]);
    let mut piece = vec![0; 64 << 10];
    try_batches(rank, || {
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
        Ok(vec![("bw", MIB as f64 / ns_each(start, count as u64))])
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
        return try_batches(rank, || {
            // It computes: nothing here calls the runtime.
            while !over.swap(false, Ordering::Relaxed) {
                black_box(0);
            }
            Ok(vec![])
        });
    }
    try_batches(rank, || {
        let start = Instant::now();
        for _ in 0..count {
            notes.notify(RankId(1), ASK)?;
            back.wait(ANSWER);
        }
        let rtt = ns_each(start, count as u64);
        notes.notify(RankId(1), OVER)?;
        Ok(vec![("rtt", rtt)])
    })
}

/// Bytes of a message between two virtual interfaces.
const MESSAGE: u32 = 8;

/// A virtual interface that is connected to the other rank's. Its memory has places for messages, and after
/// them a page that the peer may write to.
struct Connected {
    nic: Nic,
    vi: ViId,
    memory: MemoryId,
    page: u64,
}

impl Connected {
    /// Connects both ranks, with receives posted for the first messages.
    fn new(
        rank: &'static Rank,
        receives: u32,
        reliability: Reliability,
    ) -> Result<Connected, Box<dyn Error>> {
        let nic = Agent::start(rank)?.open();
        let tag = nic.create_tag();
        let attributes = MemoryAttributes { tag, rdma_write: true, rdma_read: false };
        let page = u64::from(MESSAGE * (receives + 1));
        let memory = nic.register(vec![0; page as usize + PAGE], attributes)?;
        let attributes = ViAttributes {
            reliability,
            max_transfer: PAGE as u32,
            qos: 0,
            tag,
            rdma_write: true,
            rdma_read: false,
        };
        let vi = nic.create_vi(attributes, None, None)?;
        let ends = Connected { nic, vi, memory, page };
        (0..receives).try_for_each(|i| ends.nic.post_receive(vi, ends.part(i)))?;
        if rank.id().0 == 1 {
            let listener = ends.nic.listen(b"rtt")?;
            rank.barrier();
            ends.nic.accept(ends.nic.next_request(listener, None)?.id, vi)?;
        } else {
            rank.barrier();
            ends.nic.connect(vi, ends.nic.address(*b"client"), Address::new(1, *b"rtt"), None)?;
        }
        Ok(ends)
    }

    fn part(&self, i: u32) -> Descriptor {
        Descriptor::message(vec![Segment { memory: self.memory, at: (MESSAGE * i).into(), len: MESSAGE }])
    }
}

/// A message of 8 bytes there and back between two virtual interfaces of a level of reliability.
fn vi_rtt(rank: &'static Rank) -> Outcome {
    const RECEIVES: u32 = 4;
    let level = match std::env::args().nth(2).as_deref() {
        Some("unreliable") => Reliability::Unreliable,
        Some("reception") => Reliability::Reception,
        _ => Reliability::Delivery,
    };
    let ends = Connected::new(rank, RECEIVES, level)?;
    let (nic, vi) = (&ends.nic, ends.vi);
    let count = 20_000;
    let mut next = 0;
    try_batches(rank, || {
        let start = Instant::now();
        for _ in 0..count {
            if rank.id().0 == 0 {
                nic.post_send(vi, ends.part(RECEIVES))?;
            }
            let got = nic.wait_receive(vi, None)?;
            assert!(got.errors.is_none() && got.len == MESSAGE);
            nic.post_receive(vi, ends.part(next % RECEIVES))?;
            next += 1;
            if rank.id().0 == 1 {
                nic.post_send(vi, ends.part(RECEIVES))?;
            }
            let sent = nic.wait_send(vi, None)?;
            assert!(sent.errors.is_none());
        }
        Ok(vec![("rtt", ns_each(start, count as u64))])
    })
}

/// The calls of a virtual interface, one by one: those of Table 5.2 in Riddoch's thesis. Descriptors are made
/// before the clock starts. Messages have arrived before their receiver looks; the first look at sends also
/// takes their acknowledgements.
fn vi_calls(rank: &'static Rank) -> Outcome {
    const MANY: u32 = 32;
    let ends = Connected::new(rank, MANY, Reliability::Delivery)?;
    let (nic, vi) = (&ends.nic, ends.vi);
    let parts = || (0..MANY).map(|i| ends.part(i)).collect::<Vec<Descriptor>>();
    let looks = 20_000;
    try_batches(rank, || {
        let start = Instant::now();
        for _ in 0..looks {
            assert_eq!(black_box(nic.receive_done(vi)?), Polled::NotDone);
        }
        let mut times = vec![("receive_not_done", ns_each(start, looks as u64))];
        rank.barrier();
        // Either rank sends what the other one has posted receives for.
        let sends = parts();
        let start = Instant::now();
        sends.iter().try_for_each(|d| nic.post_send(vi, d.clone()))?;
        times.push(("post_send", ns_each(start, MANY as usize as u64)));
        // Whoever is in a barrier takes what has come.
        rank.barrier();
        std::thread::sleep(std::time::Duration::from_millis(2));
        rank.barrier();
        for (key, of_sends) in [("send_done", true), ("receive_done", false)] {
            let (start, mut waits) = (Instant::now(), 0);
            for _ in 0..MANY {
                let done = match if of_sends { nic.send_done(vi)? } else { nic.receive_done(vi)? } {
                    Polled::Done(done) => done,
                    _ => {
                        waits += 1;
                        if of_sends { nic.wait_send(vi, None)? } else { nic.wait_receive(vi, None)? }
                    }
                };
                assert!(done.errors.is_none(), "{key}: {done:?}");
            }
            // Where a busy machine made it wait, this is no figure of the call.
            if waits == 0 {
                times.push((key, ns_each(start, MANY as usize as u64)));
            }
        }
        let receives = parts();
        let start = Instant::now();
        receives.iter().try_for_each(|d| nic.post_receive(vi, d.clone()))?;
        times.push(("post_receive", ns_each(start, MANY as usize as u64)));
        Ok(times)
    })
}

/// RDMA writes of 4 KiB, one by one, beside puts of the core into the peer's segment.
fn vi_write(rank: &'static Rank) -> Outcome {
    let ends = Connected::new(rank, 1, Reliability::Delivery)?;
    let own = GlobalPtr::<u8>::new(rank.id(), rank.allocate(PAGE as u64, 64)?);
    // Both ranks register the same memory in the same order, so their handles are equal.
    let there = PeerMemory { memory: ends.memory, at: ends.page };
    let part = Segment { memory: ends.memory, at: ends.page, len: PAGE as u32 };
    let (count, bytes) = (5000, vec![1u8; PAGE]);
    try_batches(rank, || {
        if rank.id().0 == 1 {
            return Ok(vec![]);
        }
        let start = Instant::now();
        for _ in 0..count {
            ends.nic.post_send(ends.vi, Descriptor::write(vec![part], there))?;
            let done = ends.nic.wait_send(ends.vi, None)?;
            assert!(done.errors.is_none());
        }
        let write = ns_each(start, count as u64);
        let start = Instant::now();
        for _ in 0..count {
            rank.write_slice(own.on(RankId(1)), black_box(&bytes));
        }
        Ok(vec![("write", write), ("put", ns_each(start, count as u64))])
    })
}

/// Puts of a word to a vector of the other rank, by its key, beside puts to the other rank's segment, which
/// has as many pages.
fn region_put(rank: &'static Rank) -> Outcome {
    let (words, count) = (16 * PAGE / 8, 20_000);
    let vector = rank.regions().export_vec(vec![0u64; words], Modes::WRITE)?;
    let own = GlobalPtr::<u8>::new(rank.id(), rank.allocate((words * 8 + PAGE) as u64, PAGE as u64)?);
    let peer = own.on(RankId(1 - rank.id().0));
    rank.write_slice(peer, bytemuck::bytes_of(&vector.key()));
    rank.barrier();
    let mut key = [0; size_of::<RegionKey>()];
    rank.read_slice(own, &mut key);
    let key: RegionKey = bytemuck::pod_read_unaligned(&key);
    let places = || (0..count).map(|i| (i * 513 % words) as u64);
    try_batches(rank, || {
        if rank.id().0 == 1 {
            return Ok(vec![]);
        }
        let start = Instant::now();
        places().try_for_each(|at| rank.region(&key).write(8 * at, &[at]))?;
        let region = ns_each(start, count as u64);
        let start = Instant::now();
        places().for_each(|at| rank.write(peer.add(PAGE + 8 * at as usize).cast::<u64>(), at));
        Ok(vec![("region", region), ("put", ns_each(start, count as u64))])
    })
}

/// A look at a completion queue that one virtual interface reports to, and at one of 256. All are idle.
fn vi_look(rank: &'static Rank) -> Outcome {
    let nic = Agent::start(rank)?.open();
    let tag = nic.create_tag();
    let attributes = ViAttributes {
        reliability: Reliability::Delivery,
        max_transfer: PAGE as u32,
        qos: 0,
        tag,
        rdma_write: false,
        rdma_read: false,
    };
    let looks = 100_000;
    let look = |vis: usize| -> Result<f64, Box<dyn Error>> {
        let queue = nic.create_cq(vis)?;
        let vis = (0..vis).map(|_| nic.create_vi(attributes, Some(queue), Some(queue)));
        let vis = vis.collect::<Result<Vec<_>, _>>()?;
        let start = Instant::now();
        for _ in 0..looks {
            assert_eq!(black_box(nic.cq_done(queue)?), None);
        }
        let each = ns_each(start, looks as u64);
        vis.into_iter().try_for_each(|vi| nic.destroy_vi(vi))?;
        nic.destroy_cq(queue)?;
        Ok(each)
    };
    try_batches(rank, || {
        if rank.id().0 == 1 {
            return Ok(vec![]);
        }
        Ok(vec![("look_1", look(1)?), ("look_256", look(256)?)])
    })
}

/// Rank 0 touches pages of its own segment that are in the memory of rank 1, beside reads of as many bytes
/// from pages that rank 1 has in memory. The pages lie far from each other, so none is read ahead.
fn pages(rank: &Rank) -> Outcome {
    let all = argument(2, 4096) as usize;
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
    try_batches(rank, || {
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
        let page = ns_each(start, all as u64);
        let start = Instant::now();
        for i in 0..all {
            rank.read_slice(word(1, i % 16), black_box(&mut copy));
            assert_eq!(copy[0], i as u64 % 16);
        }
        Ok(vec![("page", page), ("read", ns_each(start, all as u64))])
    })
}
