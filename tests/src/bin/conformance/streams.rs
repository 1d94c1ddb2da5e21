//! Streams between ranks: one section for each item of CLAN's list that they fulfil. The oracle is always a
//! queue of bytes, or the generator that the bytes come from.

use gasnet::RankId;
use gasnet_clan::{
    Arrival, MOST_BUFFERS, Overrun, Posted, PostedTx, Reliability, Stream, StreamConfig, StreamRx, StreamTx,
    Streams,
};
use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, ErrorKind, IoSlice, Read, Write};

use crate::support::{Cx, Rng, same};

fn config(ring: u32) -> StreamConfig {
    StreamConfig { ring, chunk: ring / 2 }
}

/// The bytes of a stream, from a generator that both ends have.
struct Source {
    rng: Rng,
    left: usize,
}

impl Source {
    fn new(cx: &Cx, name: &str, from: u32, left: usize) -> Source {
        Source { rng: cx.rng_of(name, from), left }
    }

    fn next(&mut self, n: usize) -> Vec<u8> {
        assert!(n <= self.left, "{n} bytes, and only {} are left", self.left);
        self.left -= n;
        // One at a time: the bytes do not depend on how many are asked for at once.
        (0..n).map(|_| self.rng.next() as u8).collect()
    }
}

/// Compares what is written to it with a source.
impl Write for Source {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let expected = self.next(bytes.len());
        same(bytes, &expected, "a stream");
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A step of the writing half at random, without waiting. False: it has ended.
fn write_some(tx: &mut StreamTx<'_>, source: &mut Source, rng: &mut Rng) -> bool {
    let n = rng.below(300).min(source.left).min(tx.room().expect("open"));
    if source.left == 0 {
        tx.shutdown().expect("open");
        return false;
    }
    match rng.below(3) {
        0 => {
            for piece in source.next(n).chunks(rng.below(60) + 1) {
                tx.reserve(piece.len() + rng.below(9)).expect("open")[..piece.len()].copy_from_slice(piece);
                tx.commit(piece.len()).expect("open");
            }
            tx.publish().expect("open");
        }
        _ => tx.write_all(&source.next(n)).expect("open"),
    }
    true
}

/// A step of the reading half at random. False: it has ended.
fn read_some(rx: &mut StreamRx<'_>, source: &mut Source, rng: &mut Rng, wait: bool) -> bool {
    if rx.available().expect("intact") == 0 && !wait {
        return true;
    }
    let n = rng.below(300) + 1;
    let got = if rng.below(2) == 0 {
        let mut bytes = vec![0; n];
        let got = rx.read(&mut bytes).expect("open");
        bytes.truncate(got);
        bytes
    } else {
        let there = rx.fill_buf().expect("open");
        let bytes = there[..n.min(there.len())].to_vec();
        rx.consume(bytes.len());
        bytes
    };
    source.write_all(&got).expect("compared");
    !got.is_empty()
}

/// CLAN-3, CLAN-6: both ways between all neighbours at the same time, in random pieces: what is written in
/// all ways comes out in all ways, and then the end.
pub fn clan_03_streams_are_queues_of_bytes(cx: &Cx) {
    for ring in [64, 1024] {
        let streams = Streams::new(cx.rank, 2, config(ring)).expect("room");
        let to_itself = streams.connect(cx.rank.id()).expect_err("a stream to itself").kind();
        assert_eq!(to_itself, ErrorKind::InvalidInput);
        assert_eq!(streams.accept(RankId(cx.size())).expect_err("no rank").kind(), ErrorKind::InvalidInput);
        if cx.size() == 1 {
            continue;
        }
        let bytes = ring as usize * if cx.quick { 20 } else { 200 };
        let (right, left) = (cx.right(1), cx.right(cx.size() - 1));
        let streams = [streams.connect(right).expect("a slot"), streams.accept(left).expect("a slot")];
        assert_eq!([streams[0].peer(), streams[1].peer()], [right, left]);
        let [(tx, rx), (back_tx, back_rx)] = streams.map(Stream::split);
        let source = |name, from: RankId| Source::new(cx, name, from.0, bytes);
        let me = cx.rank.id();
        let mut rng = cx.rng(&format!("steps {ring}"));
        let mut writing = vec![(tx, source("to the right", me)), (back_tx, source("to the left", me))];
        let mut reading = vec![(rx, source("to the left", right)), (back_rx, source("to the right", left))];
        while !writing.is_empty() || !reading.is_empty() {
            writing.retain_mut(|(tx, source)| rng.below(2) == 0 || write_some(tx, source, &mut rng));
            // Who has written all may wait: the others go on.
            let wait = writing.is_empty();
            reading.retain_mut(|(rx, source)| {
                let more = rng.below(2) == 0 || read_some(rx, source, &mut rng, wait);
                assert!(more || source.left == 0, "the end comes after the last byte (seed {})", cx.seed);
                more
            });
            std::thread::yield_now();
        }
    }
    cx.rank.barrier();
}

/// CLAN-6, CLAN-13: much through one stream after the other, in one slot: a buffered reader and `io::copy` at
/// one end, an answer by the other half, and nothing of an old stream in a new one.
pub fn clan_06_streams_are_files(cx: &Cx) {
    let streams = Streams::new(cx.rank, 1, StreamConfig::default()).expect("room");
    let sessions = if cx.quick { 4 } else { 20 };
    let bytes = if cx.quick { 100_000 } else { 500_000 };
    let partner = RankId(cx.me() ^ 1);
    if partner.0 < cx.size() {
        let mut rng = cx.rng("pieces");
        for session in 0..sessions {
            let mut source = Source::new(cx, &format!("session {session}"), cx.me() & !1, bytes);
            if cx.me() & 1 == 0 {
                let (mut tx, mut rx) = streams.connect(partner).expect("a slot").split();
                while source.left > 0 {
                    let most = if rng.below(5) == 0 { 100_000 } else { 500 };
                    let n = (rng.below(most) + 1).min(source.left);
                    tx.write_all(&source.next(n)).expect("open");
                }
                tx.shutdown().expect("open");
                let mut answer = String::new();
                assert_eq!(tx.write(b"x").expect_err("shut down").kind(), ErrorKind::BrokenPipe);
                rx.read_to_string(&mut answer).expect("open");
                assert_eq!(answer, format!("{bytes} bytes in session {session}"));
            } else {
                let mut stream = streams.accept(partner).expect("a slot");
                let mut reader = BufReader::with_capacity(rng.below(30_000) + 1, stream.rx());
                let copied = io::copy(&mut reader, &mut source).expect("open");
                assert_eq!((copied, source.left), (bytes as u64, 0));
                write!(stream, "{copied} bytes in session {session}").expect("open");
            }
        }
    }
    cx.rank.barrier();
}

/// CLAN-5: at every place of a small ring any number of bytes comes in one piece.
pub fn clan_05_bytes_come_in_one_piece(cx: &Cx) {
    const RING: usize = 64;
    let streams = Streams::new(cx.rank, 1, config(RING as u32)).expect("room");
    let partner = RankId(cx.me() ^ 1);
    let step = if cx.quick { 7 } else { 1 };
    let cases =
        || (0..RING).step_by(step).flat_map(move |at| (1..=2 * RING).step_by(step).map(move |n| (at, n)));
    if partner.0 < cx.size() {
        // To each place, and then a message.
        let mut position = 0;
        let mut lengths = Vec::new();
        for (at, n) in cases() {
            let skip = (at + RING - position % RING) % RING;
            lengths.push((skip, n));
            position += skip + n;
        }
        let mut source = Source::new(cx, "pieces", cx.me() & !1, position);
        if cx.me() & 1 == 0 {
            streams.connect(partner).expect("a slot").write_all(&source.next(position)).expect("open");
        } else {
            let mut rx = streams.accept(partner).expect("a slot").split().1;
            for (skip, n) in lengths {
                for n in [skip, n] {
                    let got = rx.fill(n).expect("open");
                    same(&got[..n], &source.next(n), "a piece");
                    rx.consume(n);
                }
            }
            assert!(rx.fill(5).expect("open").is_empty(), "the end");
        }
    }
    cx.rank.barrier();
}

/// CLAN-3: what is not published is not seen; one publication is of many messages.
pub fn clan_03_unpublished_bytes_are_not_seen(cx: &Cx) {
    let streams = Streams::new(cx.rank, 1, StreamConfig::default()).expect("room");
    let partner = RankId(cx.me() ^ 1);
    let mut stream = (partner.0 < cx.size()).then(|| match cx.me() & 1 {
        0 => streams.connect(partner).expect("a slot"),
        _ => streams.accept(partner).expect("a slot"),
    });
    cx.rank.barrier();
    if let Some(stream) = &mut stream {
        for i in 0..5u8 {
            stream.tx().reserve(100).expect("open")[..10].fill(i);
            stream.tx().commit(10).expect("open");
        }
    }
    cx.rank.barrier();
    if let Some(stream) = &mut stream {
        assert_eq!(stream.rx().available().expect("intact"), 0, "not published");
    }
    cx.rank.barrier();
    if let Some(stream) = &mut stream {
        stream.flush().expect("open");
    }
    cx.rank.barrier();
    if let Some(stream) = &mut stream {
        // To ranks that share no memory the bytes are on their way; they come together.
        let there = std::iter::repeat_with(|| stream.rx().available().expect("intact")).find(|n| *n > 0);
        assert_eq!(there, Some(50));
        let expected: Vec<u8> = (0..5).flat_map(|i| [i; 10]).collect();
        assert_eq!(stream.rx().fill(50).expect("open"), expected);
    }
    drop(stream);
    cx.rank.barrier();
}

/// Ends in all orders: of halves, before and after the peer has accepted, with and without room for another.
pub fn streams_end(cx: &Cx) {
    let streams = Streams::new(cx.rank, 2, config(64)).expect("room");
    if cx.size() == 1 {
        return;
    }
    let (zero, one) = (RankId(0), RankId(1));
    // Taken back before it is accepted.
    if cx.me() == 0 {
        drop(streams.connect(one).expect("a slot"));
    }
    cx.rank.barrier();
    if cx.me() == 1 {
        assert!(streams.try_accept().expect("a slot").is_none(), "taken back");
    }
    cx.rank.barrier();
    match cx.me() {
        0 => {
            // As many as there are slots; the second is asked for when the first is accepted.
            let mut first = streams.connect(one).expect("a slot");
            assert_eq!(first.tx().room().expect("open"), 0, "not accepted");
            cx.rank.barrier();
            let second = streams.connect(one).expect("a slot");
            let third = streams.connect(one).expect_err("no third").to_string();
            assert!(third.contains("2 streams are open"), "{third}");
            // Its reader has ended: sooner or later a write fails.
            let failed = (0..100).find_map(|_| first.write_all(&[1; 64]).err()).expect("it fails");
            assert_eq!(
                (failed.kind(), failed.to_string().contains("rank 1 reads no more")),
                (ErrorKind::BrokenPipe, true)
            );
            let mut byte = [0];
            assert_eq!(first.read(&mut byte).expect("in order"), 0, "the writer has ended, too");
            // A half that ends before the peer accepts is told of when it does.
            let (mut tx, rx) = second.split();
            tx.shutdown().expect("nothing is left");
            assert_eq!({ rx }.read(&mut byte).expect("in order"), 1);
            assert_eq!(byte, [7]);
        }
        1 => {
            cx.rank.barrier();
            let first = streams.accept_any().expect("a slot");
            assert_eq!(first.peer(), zero);
            drop(first);
            let mut second = streams.accept(zero).expect("a slot");
            let mut rest = Vec::new();
            assert_eq!(second.read_to_end(&mut rest).expect("in order"), 0);
            second.write_all(&[7]).expect("one half is open");
        }
        _ => cx.rank.barrier(),
    }
    cx.rank.barrier();
}

/// Words that no peer can have written end the stream with an error, and nothing of them is kept: here the
/// message that carries bytes to ranks that share no memory, aimed at a position beyond the ring.
pub fn streams_refuse_positions_beyond_the_ring(cx: &Cx) {
    /// Of messages with bytes of streams.
    const BYTES: u8 = gasnet::am::FIRST_CLIENT_HANDLER - 11;
    const RING: u32 = 64;
    let mark = cx.rank.allocate(64, 64).expect("room");
    let streams = Streams::new(cx.rank, 1, config(RING)).expect("room");
    // Behind a line for each rank and one more.
    let slot = mark + 64 + 64 * (u64::from(cx.size()) + 1);
    let partner = RankId(cx.me() ^ 1);
    if partner.0 < cx.size() {
        let forge = |start: u32| {
            let args = [slot as u32, (slot >> 32) as u32, start, 0, (start + 1) << 1, 0];
            cx.rank.request_medium(partner, BYTES, &args, &[7]).expect("it is there");
        };
        if cx.me() & 1 == 0 {
            let mut stream = streams.connect(partner).expect("a slot");
            stream.write_all(b"x").expect("open");
            let mut byte = [0];
            stream.read_exact(&mut byte).expect("open");
            // Those that may come early wait; the other one ends it.
            (0..2).for_each(|i| forge(RING - i));
            forge(RING + 2);
            assert_eq!(stream.read(&mut byte).expect("in order"), 0);
        } else {
            let mut stream = streams.accept(partner).expect("a slot");
            let mut bytes = [0; 2];
            assert_eq!(stream.read(&mut bytes).expect("open"), 1);
            stream.write_all(b"y").expect("open");
            let error = stream.read(&mut bytes).expect_err("a word that cannot be right");
            assert_eq!(error.kind(), ErrorKind::InvalidData, "{error}");
        }
    }
    cx.rank.barrier();
}

/// A byte of a posted buffer that no message has changed.
const UNTOUCHED: u8 = 0xee;

/// Bytes in pieces of random lengths, none among them.
fn pieces<'a>(mut bytes: &'a [u8], rng: &mut Rng) -> Vec<IoSlice<'a>> {
    let mut pieces = vec![IoSlice::new(&[])];
    while !bytes.is_empty() {
        let (piece, rest) = bytes.split_at(rng.below(bytes.len() + 1));
        pieces.push(IoSlice::new(piece));
        bytes = rest;
    }
    pieces
}

/// Buffers of random lengths, including 0, with `room` bytes together.
fn buffers(mut room: usize, rng: &mut Rng) -> Vec<Vec<u8>> {
    let mut buffers = Vec::new();
    while room > 0 && buffers.len() + 1 < MOST_BUFFERS {
        let len = rng.below(room + 1);
        buffers.push(vec![UNTOUCHED; len]);
        room -= len;
    }
    buffers.push(vec![UNTOUCHED; room]);
    buffers
}

/// CLAN-14: random messages, of several pieces or of nothing, land in the oldest posted buffers, one after
/// the other, in order, with their numbers, however either side is cut; the rest of the buffers is as it was.
pub fn clan_14_messages_land_in_posted_buffers(cx: &Cx) {
    let streams = Streams::new(cx.rank, 1, config(1024)).expect("room");
    let partner = RankId(cx.me() ^ 1);
    let messages = if cx.quick { 40 } else { 400 };
    if partner.0 < cx.size() {
        let mut rng = cx.rng("pieces");
        // Both ends know lengths and bytes.
        let mut shared = cx.rng_of("messages", cx.me() & !1);
        let mut message = || {
            let room = shared.below(3000);
            let bytes: Vec<u8> = (0..shared.below(room + 1)).map(|_| shared.next() as u8).collect();
            (room, bytes)
        };
        if cx.me() & 1 == 0 {
            let mut tx = PostedTx::new(cx.rank, streams.connect(partner).expect("a slot"));
            for i in 0..messages {
                let bytes = message().1;
                tx.send(&pieces(&bytes, &mut rng), i, Overrun::Wait).expect("open");
            }
        } else {
            let mut rx = Posted::new(cx.rank, streams.accept(partner).expect("a slot"));
            let mut expected = VecDeque::new();
            let mut next = None;
            let mut posted = 0;
            let mut received = 0;
            while received < messages {
                if posted < messages && rx.len() < rng.below(6) + 1 {
                    let (room, bytes) = next.take().unwrap_or_else(&mut message);
                    match rx.post(buffers(room, &mut rng)) {
                        Ok(()) => {
                            expected.push_back((room, bytes));
                            posted += 1;
                            continue;
                        }
                        // The sender has not told yet that it has taken the keys of earlier ones.
                        Err(e) if e.kind() == ErrorKind::WouldBlock => {
                            next = Some((room, bytes));
                            if rx.is_empty() {
                                // It has, but its word is on its way.
                                continue;
                            }
                        }
                        Err(e) => panic!("a buffer cannot be posted: {e}"),
                    }
                }
                let Arrival { buffers, len, immediate } = rx.receive().expect("open").expect("a message");
                let (room, bytes) = expected.pop_front().expect("posted");
                let buffer = buffers.concat();
                assert_eq!((immediate, len, buffer.len()), (received, bytes.len(), room));
                same(&buffer[..len], &bytes, "a message");
                assert!(buffer[len..].iter().all(|b| *b == UNTOUCHED), "beyond the message");
                received += 1;
            }
            assert_eq!(rx.receive().expect("in order"), None, "the sender has ended");
        }
    }
    cx.rank.barrier();
}

/// CLAN-15: without a buffer, with one that is too short, and with one that was taken back, the sender is
/// told and nothing is sent; more buffers than keys have room are refused when they are posted.
pub fn clan_15_overrun_is_found_by_the_sender(cx: &Cx) {
    let streams = Streams::new(cx.rank, 1, config(128)).expect("room");
    let partner = RankId(cx.me() ^ 1);
    let paired = partner.0 < cx.size();
    let kind = |sent: io::Result<()>| sent.expect_err("it is refused").kind();
    if cx.me() & 1 == 0 {
        let mut tx = paired.then(|| PostedTx::new(cx.rank, streams.connect(partner).expect("a slot")));
        if let Some(tx) = &mut tx {
            assert_eq!(kind(tx.send(&[IoSlice::new(b"x")], 1, Overrun::Refuse)), ErrorKind::WouldBlock);
            assert_eq!(tx.next_len().expect("open"), None);
        }
        cx.rank.barrier();
        cx.rank.barrier(); // two are posted
        if let Some(tx) = &mut tx {
            let long = [1; 11];
            // A key may come after the barrier to a rank that shares no memory.
            let next = std::iter::repeat_with(|| tx.next_len().expect("open")).find(Option::is_some);
            assert_eq!(next, Some(Some(10)));
            for overrun in [Overrun::Refuse, Overrun::Wait] {
                assert_eq!(kind(tx.send(&[IoSlice::new(&long)], 2, overrun)), ErrorKind::InvalidInput);
            }
        }
        cx.rank.barrier();
        cx.rank.barrier(); // nothing was sent
        if let Some(tx) = &mut tx {
            tx.send(&[IoSlice::new(&[7; 10])], 3, Overrun::Refuse).expect("a buffer of 10");
        }
        cx.rank.barrier(); // the receiver has ended
        if let Some(tx) = &mut tx {
            let refusal = || kind(tx.send(&[IoSlice::new(b"y")], 4, Overrun::Refuse));
            let last = std::iter::repeat_with(refusal).find(|kind| *kind != ErrorKind::WouldBlock);
            assert_eq!(last, Some(ErrorKind::BrokenPipe));
        }
    } else {
        let mut rx = Posted::new(cx.rank, streams.accept(partner).expect("a slot"));
        cx.rank.barrier();
        rx.post(vec![vec![UNTOUCHED; 10]]).expect("room");
        rx.post(vec![vec![UNTOUCHED; 20]]).expect("room");
        let third = rx.post(vec![vec![0]; 2]).expect_err("the ring has no room for two keys more");
        assert_eq!(third.kind(), ErrorKind::WouldBlock);
        let many = rx.post(vec![vec![0]; MOST_BUFFERS + 1]).expect_err("too many").kind();
        assert_eq!((many, rx.len()), (ErrorKind::InvalidInput, 2));
        cx.rank.barrier();
        cx.rank.barrier();
        assert_eq!(rx.try_receive().expect("open"), None, "nothing was sent");
        cx.rank.barrier();
        let arrival = rx.receive().expect("open").expect("a message");
        assert_eq!(arrival, Arrival { buffers: vec![vec![7; 10]], len: 10, immediate: 3 });
        drop(rx);
        cx.rank.barrier();
    }
    cx.rank.barrier();
}

/// CLAN-15, the rest: messages that are queued go when there are buffers, in order. A message without a
/// place, or that is too long for it, is dropped, or breaks the connection and tells one side or both.
/// Nothing of it is sent.
pub fn clan_15_levels_say_what_becomes_of_a_message_without_a_place(cx: &Cx) {
    let streams = Streams::new(cx.rank, 1, config(1024)).expect("room");
    let partner = RankId(cx.me() ^ 1);
    let go = gasnet::GlobalPtr::<u64>::new(cx.rank.id(), cx.take_zeroed(64));
    if partner.0 < cx.size() && cx.me() & 1 == 0 {
        let message = |i: u32| vec![i as u8; 10 * i as usize];
        let mut tx = PostedTx::new(cx.rank, streams.connect(partner).expect("a slot"));
        for i in 0..5 {
            tx.send(&[IoSlice::new(&message(i))], i, Overrun::Queue).expect("open");
        }
        assert_eq!((tx.queued(), tx.progress().expect("open")), (5, 5));
        let refused = tx.send(&[], 9, Overrun::Refuse).expect_err("others are first");
        assert_eq!(refused.kind(), ErrorKind::WouldBlock);
        cx.rank.atomics().swap(go.on(partner), 1);
        // Two of the three that are posted then are for queued ones; this one waits for its own.
        tx.send(&[IoSlice::new(&message(5))], 5, Overrun::Wait).expect("open");
        assert_eq!(tx.queued(), 0);
        tx.send(&[IoSlice::new(&message(6))], 6, Overrun::Queue).expect("open");
        tx.flush().expect("open");
        drop(tx);
        for (reliability, posted) in cases() {
            let stream = streams.connect(partner).expect("a slot");
            let mut tx = PostedTx::with_reliability(cx.rank, stream, reliability);
            tx.send(&[IoSlice::new(&[1; 4])], 1, Overrun::Wait).expect("one is posted");
            if posted {
                let known = std::iter::repeat_with(|| tx.next_len().expect("open")).find(Option::is_some);
                assert_eq!(known, Some(Some(3)));
            }
            let mut comply = |i| tx.send(&[IoSlice::new(&[2; 5])], i, Overrun::Comply).map_err(|e| e.kind());
            let aborted = Err(ErrorKind::ConnectionAborted);
            match reliability {
                Reliability::Unreliable => assert_eq!([comply(2), comply(3)], [Ok(()); 2]),
                Reliability::Delivery => assert_eq!([comply(2), comply(3)], [Ok(()), aborted]),
                Reliability::Reception => assert_eq!([comply(2), comply(3)], [aborted; 2]),
            }
        }
    } else if partner.0 < cx.size() {
        let mut rx = Posted::new(cx.rank, streams.accept(partner).expect("a slot"));
        cx.rank.wait_until("the partner", || cx.rank.atomics().load(go) == 1);
        for i in 0..7u32 {
            rx.post(vec![vec![UNTOUCHED; 30]; 2]).expect("room");
            let arrival = rx.receive().expect("open").expect("a message");
            assert_eq!((arrival.immediate, arrival.len), (i, 10 * i as usize));
            assert!(arrival.buffers.concat()[..arrival.len].iter().all(|byte| u32::from(*byte) == i));
        }
        assert_eq!(rx.receive().expect("in order"), None);
        drop(rx);
        for (reliability, posted) in cases() {
            let mut rx = Posted::new(cx.rank, streams.accept(partner).expect("a slot"));
            rx.post(vec![vec![UNTOUCHED; 4]]).expect("room");
            if posted {
                rx.post(vec![vec![UNTOUCHED; 3]]).expect("room");
            }
            assert_eq!(rx.receive().expect("open").expect("a message").buffers, [[1; 4]]);
            match reliability {
                Reliability::Unreliable => assert_eq!(rx.receive().expect("in order"), None),
                _ => {
                    let error = rx.receive().expect_err("broken");
                    let why = if posted { "too long" } else { "no buffer" };
                    assert_eq!(error.kind(), ErrorKind::ConnectionAborted);
                    assert!(error.to_string().contains(why), "{error}");
                }
            }
            assert_eq!(rx.len(), usize::from(posted), "the buffer stays posted");
        }
    }
    cx.rank.barrier();
}

/// Every reliability, without a buffer and with one that is too short.
fn cases() -> impl Iterator<Item = (Reliability, bool)> {
    let all = [Reliability::Unreliable, Reliability::Delivery, Reliability::Reception];
    all.into_iter().flat_map(|reliability| [(reliability, false), (reliability, true)])
}

/// CLAN-17: of four buffers, one kept back, three hold messages; the fourth is for a message with credit.
pub fn clan_17_four_buffers_hold_three(cx: &Cx) {
    let streams = Streams::new(cx.rank, 1, config(1024)).expect("room");
    let partner = RankId(cx.me() ^ 1);
    let paired = partner.0 < cx.size();
    if paired && cx.me() & 1 == 0 {
        let mut tx = PostedTx::new(cx.rank, streams.connect(partner).expect("a slot"));
        tx.keep_back(1);
        let message = [IoSlice::new(b"message")];
        // Four are posted.
        (0..3).for_each(|i| tx.send(&message, i, Overrun::Wait).expect("open"));
        let fourth = tx.send(&message, 3, Overrun::Refuse).expect_err("it is kept back");
        assert_eq!(fourth.kind(), ErrorKind::WouldBlock);
        tx.send_with_credit(&message, 3, Overrun::Wait).expect("open");
        let fifth = tx.send_with_credit(&message, 4, Overrun::Refuse).expect_err("all are full");
        assert_eq!(fifth.kind(), ErrorKind::WouldBlock);
        cx.rank.barrier();
    } else {
        let mut rx = paired.then(|| Posted::new(cx.rank, streams.accept(partner).expect("a slot")));
        if let Some(rx) = &mut rx {
            (0..4).for_each(|_| rx.post(vec![vec![0; 10]]).expect("room"));
        }
        cx.rank.barrier();
        if let Some(rx) = &mut rx {
            for i in 0..4 {
                assert_eq!(rx.receive().expect("open").expect("a message").immediate, i);
            }
        }
    }
    cx.rank.barrier();
}
