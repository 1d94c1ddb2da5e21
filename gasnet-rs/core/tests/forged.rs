//! Frames that no rank sends: forged, repeated, late, corrupted. They write nothing and finish nothing, and
//! the job ends with a message that names the sender.
#![expect(unsafe_code, reason = "a conduit promises the core that its slots and frames are memory")]

use gasnet::vis::{Piece, Shape};
use gasnet::{Boot, Config, Error, GlobalPtr, Modes, Rank, RankId, RegionKey, Threading};
use gasnet_wire::boot::{Exchange, Overseer, ToMonitor};
use gasnet_wire::conduit::*;
use std::collections::VecDeque;
use std::os::fd::{FromRawFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering::*};
use std::sync::{Arc, Mutex};

fn lines(bytes: &[u8]) -> Vec<FrameLine> {
    let lines = bytes.chunks(64).map(|part| {
        let mut line = FrameLine([0; 64]);
        line.0[..part.len()].copy_from_slice(part);
        line
    });
    lines.collect()
}

/// A frame to or from the rank: the other side, the channel, its bytes.
type Parcel = (u32, Channel, Vec<u8>);

/// The network of one rank, whose peers are the test.
#[derive(Default)]
struct Wire {
    sent: Mutex<VecDeque<Parcel>>,
    arriving: Mutex<VecDeque<Parcel>>,
    /// The rank's message when it ended the job.
    ended: Mutex<Option<String>>,
    calls: AtomicU32,
}

#[derive(Clone)]
struct End(Arc<Wire>);

// SAFETY: slots are boxes that the cookie owns until commit or cancel; frames are copies of the stack's.
unsafe impl Conduit for End {
    fn name(&self) -> &'static str {
        "wire"
    }
    fn sends_before_attach(&self) -> bool {
        // Nobody is at the other end.
        false
    }
    fn reserve(&self, to: RankId, channel: Channel, len: usize, _: bool) -> Result<Option<RawSlot>, Error> {
        let lines: Box<[FrameLine]> = vec![FrameLine([0; 64]); len.div_ceil(64)].into();
        let buf = NonNull::new(Box::into_raw(lines).cast::<u8>()).unwrap();
        Ok(Some(RawSlot { buf, len, cookie: [u64::from(to.0), channel as u64] }))
    }
    unsafe fn commit(&self, slot: RawSlot) {
        let count = slot.len.div_ceil(64);
        // SAFETY: made by reserve, and filled in.
        let bytes = unsafe {
            let bytes = std::slice::from_raw_parts(slot.buf.as_ptr(), slot.len).to_vec();
            drop(Box::from_raw(std::ptr::slice_from_raw_parts_mut(
                slot.buf.as_ptr().cast::<FrameLine>(),
                count,
            )));
            bytes
        };
        let channel = if slot.cookie[1] == 0 { Channel::Request } else { Channel::Reply };
        self.0.sent.lock().unwrap().push_back((slot.cookie[0] as u32, channel, bytes));
    }
    unsafe fn cancel(&self, slot: RawSlot) {
        let count = slot.len.div_ceil(64);
        // SAFETY: made by reserve.
        drop(unsafe {
            Box::from_raw(std::ptr::slice_from_raw_parts_mut(slot.buf.as_ptr().cast::<FrameLine>(), count))
        });
    }
    fn poll(&self, channel: Channel, _: usize, deliver: &mut dyn FnMut(Frame)) -> Result<usize, Error> {
        let next = {
            let mut arriving = self.0.arriving.lock().unwrap();
            let at = arriving.iter().position(|(_, on, _)| *on == channel);
            at.and_then(|at| arriving.remove(at))
        };
        let Some((from, channel, bytes)) = next else { return Ok(0) };
        let mut copy = lines(&bytes);
        let (from, len) = (RankId(from), bytes.len());
        deliver(Frame { from, channel, data: copy.as_mut_ptr().cast(), len });
        Ok(1)
    }
}

/// Every rank is a host of its own, and says what this one says.
impl Exchange for End {
    fn all_gather(&self, mine: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
        let first = self.0.calls.fetch_add(1, Relaxed) == 0;
        let host = |r: u32| if first { [r.to_le_bytes(); 2].concat() } else { mine.to_vec() };
        Ok((0..3).map(host).collect())
    }
}

impl Overseer for End {
    fn hear(&self, said: &ToMonitor) {
        if let ToMonitor::Abort(_, text) = said {
            *self.0.ended.lock().unwrap() = Some(text.clone());
        }
    }
    fn leave(&self, code: i32) -> ! {
        std::panic::resume_unwind(Box::new(code))
    }
}

const SEGMENT: usize = 1 << 17;

/// Rank 0 of three, with ranks 1 and 2 played by the test.
struct Play {
    wire: Arc<Wire>,
    rank: &'static Rank,
}

impl Play {
    fn new() -> Play {
        let wire: Arc<Wire> = Arc::default();
        let end = End(wire.clone());
        // SAFETY: a system call; the descriptor is new and ours.
        let file = || unsafe { OwnedFd::from_raw_fd(libc::memfd_create(c"forged".as_ptr(), 0)) };
        let boot = Boot {
            rank: 0,
            size: 3,
            host_ranks: vec![0],
            exchange: Some(Box::new(end.clone())),
            shm: file().into(),
            segments: file().into(),
            link: None,
            overseer: Some(Box::new(end.clone())),
            job_id: 7,
        };
        let open = |_: &OpenContext<'_>| -> Result<Option<Box<dyn Conduit>>, Error> {
            Ok(Some(Box::new(end.clone())))
        };
        let config = Config { neighborhood: u32::MAX, quiet: true, ..Config::default() };
        // SAFETY: new memory files, and the rank starts once.
        let rank = unsafe { Rank::start(boot, config, Threading::Parallel, &open) }.unwrap();
        rank.attach(SEGMENT, None).unwrap();
        Play { wire, rank }
    }

    /// The last message that the rank has sent.
    fn sent(&self) -> Message {
        let (to, channel, bytes) = self.wire.sent.lock().unwrap().pop_back().expect("a frame");
        assert_eq!(channel, Channel::Request);
        Message::read(to, &bytes)
    }

    /// Delivers a frame; what the rank said if it ended the job.
    fn deliver(&self, from: u32, channel: Channel, bytes: Vec<u8>) -> Option<String> {
        self.wire.arriving.lock().unwrap().push_back((from, channel, bytes));
        *self.wire.ended.lock().unwrap() = None;
        let polled = catch_unwind(AssertUnwindSafe(|| self.rank.poll()));
        let said = self.wire.ended.lock().unwrap().take();
        assert_eq!(polled.is_err(), said.is_some());
        said
    }

    #[track_caller]
    fn refuses(&self, from: u32, channel: Channel, frame: &Message) {
        let said = self.deliver(from, channel, frame.bytes()).unwrap_or_else(|| panic!("{frame:?} passed"));
        assert!(said.contains(&format!("rank {from}")), "{said}");
    }
}

const SHORT: u8 = 0;
const MEDIUM: u8 = 1;
const LONG: u8 = 2;
// The core's messages, as in `amref.rs`, `vis.rs` and `coll/mail.rs`.
const PUT: u8 = 1;
const ACK: u8 = 2;
const GET: u8 = 3;
const DATA: u8 = 4;
const SET: u8 = 5;
const ATOMIC: u8 = 6;
const VALUE: u8 = 7;
const ROUND: u8 = 8;
const PLACED: u8 = 20;
const PIECES_PUT: u8 = 24;
const PIECES_GET: u8 = 25;
const PIECES: u8 = 26;
/// How messages for many pieces lay out the places: runs in dimensions, or a list.
const GRID: u32 = 0;
const LIST: u32 = 2;

/// An active message, as frames carry it.
#[derive(Debug, Clone, PartialEq)]
struct Message {
    peer: u32,
    kind: u8,
    handler: u8,
    args: Vec<u32>,
    payload: Vec<u8>,
}

impl Message {
    fn new(kind: u8, handler: u8, args: &[u32], payload: &[u8]) -> Message {
        Message { peer: 1, kind, handler, args: args.to_vec(), payload: payload.to_vec() }
    }

    fn read(peer: u32, bytes: &[u8]) -> Message {
        let (kind, handler, nargs) = (bytes[0], bytes[1], bytes[2] as usize);
        let args = bytes[16..].chunks_exact(4).take(nargs);
        let args = args.map(|a| u32::from_le_bytes(a.try_into().unwrap())).collect();
        let payload = bytes[(16 + 4 * nargs).next_multiple_of(16)..].to_vec();
        Message { peer, kind, handler, args, payload }
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![self.kind, self.handler, self.args.len() as u8, 0];
        bytes.extend((self.payload.len() as u32).to_le_bytes());
        bytes.extend([0; 8]);
        bytes.extend(self.args.iter().flat_map(|a| a.to_le_bytes()));
        bytes.resize(bytes.len().next_multiple_of(16), 0);
        bytes.extend(&self.payload);
        bytes
    }

    fn with(&self, f: impl FnOnce(&mut Message)) -> Message {
        let mut copy = self.clone();
        f(&mut copy);
        copy
    }

    fn name(&self) -> [u32; 2] {
        [self.args[0], self.args[1]]
    }
}

/// Started operations with rank 1 whose answer is awaited, each with that answer.
struct Awaited {
    answer: Message,
    /// The bytes of the program that the operation would change.
    target: Box<[u8]>,
    event: gasnet::Event,
}

fn get(p: &Play) -> Awaited {
    let mut target = vec![7u8; 24].into_boxed_slice();
    // SAFETY: the target stays until the end of the test.
    let event = unsafe { p.rank.get_nb(target.as_mut_ptr().wrapping_add(8), RankId(1), 64, 8) };
    let asked = p.sent();
    assert_eq!((asked.peer, asked.kind, asked.handler, &asked.args[2..]), (1, SHORT, GET, &[64, 0, 8][..]));
    Awaited { answer: Message::new(MEDIUM, DATA, &asked.name(), &[9; 8]), target, event }
}

fn get_pieces(p: &Play) -> Awaited {
    let mut target = vec![7u8; 24].into_boxed_slice();
    let there = [Piece { at: 0, len: 3 }, Piece { at: 100, len: 5 }];
    let here = [Piece { at: target.as_mut_ptr().wrapping_add(8) as usize, len: 8 }];
    // SAFETY: as above.
    let event = unsafe { p.rank.shapes().get_nb(Shape::Vector(&here), RankId(1), Shape::Vector(&there), 0) };
    let asked = p.sent();
    assert_eq!((asked.handler, &asked.args[2..]), (PIECES_GET, &[LIST, 2, 8][..]));
    Awaited { answer: Message::new(MEDIUM, PIECES, &asked.name(), &[9; 8]), target, event }
}

fn put(p: &Play) -> Awaited {
    let target = vec![7u8; 24].into_boxed_slice();
    // SAFETY: as above.
    let event = unsafe { p.rank.put_nb(RankId(1), 64, target.as_ptr(), 24) };
    let asked = p.sent();
    assert_eq!((asked.kind, asked.handler, asked.payload.len()), (MEDIUM, PUT, 24));
    Awaited { answer: Message::new(SHORT, ACK, &asked.name(), &[]), target, event }
}

fn done(p: &Play, awaited: &Awaited) -> bool {
    p.rank.events().test_quietly(awaited.event)
}

#[test]
fn what_is_awaited_is_taken_once() {
    let p = Play::new();
    for start in [get, get_pieces, put] {
        let awaited = start(&p);
        assert_eq!(p.deliver(1, Channel::Reply, awaited.answer.bytes()), None);
        assert!(done(&p, &awaited));
        if awaited.answer.handler != ACK {
            assert_eq!(awaited.target[..], [[7u8; 8], [9; 8], [7; 8]].concat());
        }
        p.refuses(1, Channel::Reply, &awaited.answer);
        // Later too, when its entry is in use again.
        let next = start(&p);
        p.refuses(1, Channel::Reply, &awaited.answer);
        assert!(!done(&p, &next));
        assert_eq!(p.deliver(1, Channel::Reply, next.answer.bytes()), None);
        assert!(done(&p, &next));
    }
}

#[test]
fn nothing_else_finishes_or_writes() {
    let p = Play::new();
    let all = [ACK, DATA, VALUE, PIECES];
    for start in [get, get_pieces, put] {
        let awaited = start(&p);
        let answer = &awaited.answer;
        let mut forged: Vec<(u32, Channel, Message)> = vec![(1, Channel::Request, answer.clone())];
        forged.push((2, Channel::Reply, answer.clone()));
        for n in [0, 7, 9, 4096] {
            let message = answer.with(|m| (m.kind, m.payload) = (MEDIUM, vec![9; n]));
            if message.payload.len() != answer.payload.len() {
                forged.push((1, Channel::Reply, message));
            }
        }
        for handler in all.into_iter().filter(|h| *h != answer.handler) {
            let two = answer.with(|m| m.handler = handler);
            forged.push((1, Channel::Reply, two.with(|m| m.args.extend([0, 0]))));
            forged.push((1, Channel::Reply, two));
        }
        for kind in [SHORT, MEDIUM, LONG] {
            forged.push((1, Channel::Reply, answer.with(|m| (m.kind, m.payload) = (kind, Vec::new()))));
        }
        for (from, channel, message) in forged {
            if message.bytes() == answer.bytes() && (from, channel) == (1, Channel::Reply) {
                continue;
            }
            // Each attempt meets an operation of its own: what ends the job may take the operation with it.
            let fresh = start(&p);
            let message = message.with(|m| m.args[..2].copy_from_slice(&fresh.answer.name()));
            p.refuses(from, channel, &message);
            assert!(!done(&p, &fresh), "{from} {channel:?} {message:?}");
            assert!(fresh.target.iter().all(|b| *b == 7), "{message:?}");
        }
        assert!(!done(&p, &awaited));
    }
}

/// One bit of the head or of an argument is wrong.
#[test]
fn corrupted_answers_finish_nothing() {
    let p = Play::new();
    for start in [get, get_pieces, put] {
        for bit in 0..(16 + 2 * 4) * 8 {
            let awaited = start(&p);
            let mut bytes = awaited.answer.bytes();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let said = p.deliver(1, Channel::Reply, bytes).unwrap_or_else(|| panic!("bit {bit} passed"));
            assert!(said.contains("rank 1"), "bit {bit}: {said}");
            assert!(!done(&p, &awaited), "bit {bit}");
            assert!(awaited.target.iter().all(|b| *b == 7), "bit {bit}");
        }
    }
}

/// A handle owns its buffer until the real answer has come.
#[test]
fn no_forged_answer_frees_a_buffer() {
    let p = Play::new();
    let pending = p.rank.read_nb(GlobalPtr::<u64>::new(RankId(1), 0), 4);
    let asked = p.sent();
    for name in [[0, 0], [1, 0], [0, 1], [u32::MAX; 2]] {
        if name != asked.name() {
            p.refuses(1, Channel::Reply, &Message::new(SHORT, ACK, &name, &[]));
            p.refuses(1, Channel::Reply, &Message::new(MEDIUM, DATA, &name, &[1; 32]));
            p.refuses(1, Channel::Reply, &Message::new(SHORT, VALUE, &[name[0], name[1], 1, 1], &[]));
        }
    }
    assert_eq!(
        p.deliver(1, Channel::Reply, Message::new(MEDIUM, DATA, &asked.name(), &[5; 32]).bytes()),
        None
    );
    assert_eq!(pending.wait(), [0x0505_0505_0505_0505; 4]);
}

#[test]
fn requests_stay_inside_the_segment() {
    let p = Play::new();
    let end = SEGMENT as u32;
    // Forms of places in messages for many pieces: `vis/far.rs`.
    let list = |offset: u64, n: u32| [&offset.to_le_bytes()[..], &[0; 4], &n.to_le_bytes()].concat();
    let grid = |at: u32, len: u32, before: u32, step: u32, count: u32| {
        [at, len, before, count, step].map(|word| u64::from(word).to_le_bytes()).concat()
    };
    let requests = [
        Message::new(MEDIUM, PUT, &[0, 0, end - 7, 0], &[1; 8]),
        Message::new(MEDIUM, PUT, &[0, 0, 0, 1], &[1; 8]),
        Message::new(MEDIUM, PUT, &[0, 0, u32::MAX, u32::MAX], &[1; 8]),
        Message::new(LONG, PUT, &[0, 0, 0, 0], &[1; 8]),
        Message::new(SHORT, GET, &[0, 0, end - 7, 0, 8], &[]),
        Message::new(SHORT, GET, &[0, 0, 0, 0, u32::MAX], &[]),
        Message::new(SHORT, SET, &[0, 0, 0, 0, end + 1, 0, 1], &[]),
        Message::new(SHORT, SET, &[0, 0, 8, 0, u32::MAX, u32::MAX, 1], &[]),
        Message::new(SHORT, ATOMIC, &[0, 0, end, 0, 0, 1, 0, 1, 0], &[]),
        Message::new(SHORT, ATOMIC, &[0, 0, 3, 0, 0, 1, 0, 1, 0], &[]),
        Message::new(SHORT, ATOMIC, &[0, 0, 0, 0, u32::MAX, 1, 0, 1, 0], &[]),
        Message::new(MEDIUM, PIECES_PUT, &[0, 0, LIST, 1, 8], &[list(0, 8), vec![1; 7]].concat()),
        Message::new(MEDIUM, PIECES_PUT, &[0, 0, LIST, 1, 8], &[list(0, 8), vec![1; 9]].concat()),
        Message::new(MEDIUM, PIECES_PUT, &[0, 0, LIST, 1, 9], &[list(0, 8), vec![1; 9]].concat()),
        Message::new(MEDIUM, PIECES_PUT, &[0, 0, LIST, u32::MAX, 8], &[list(0, 8), vec![1; 8]].concat()),
        Message::new(MEDIUM, PIECES_PUT, &[0, 0, LIST, 1, 8], &[list(u64::MAX, 8), vec![1; 8]].concat()),
        Message::new(MEDIUM, PIECES_PUT, &[0, 0, 3, 1, 8], &[list(0, 8), vec![1; 8]].concat()),
        Message::new(SHORT, PIECES_PUT, &[0, 0, LIST, 1, 0], &[]),
        Message::new(MEDIUM, PIECES_PUT, &[0, 0, LIST, 1], &[list(0, 8), vec![1; 8]].concat()),
        Message::new(
            MEDIUM,
            PIECES_PUT,
            &[0, 0, GRID, 1, 8],
            &[grid(end - 8, 4, 0, 8, 2), vec![1; 8]].concat(),
        ),
        Message::new(MEDIUM, PIECES_PUT, &[0, 0, GRID, 1, 8], &[grid(0, 4, 1, 8, 2), vec![1; 8]].concat()),
        Message::new(MEDIUM, PIECES_PUT, &[0, 0, GRID, 1, 8], &[grid(0, 0, 0, 8, 2), vec![1; 8]].concat()),
        Message::new(MEDIUM, PIECES_PUT, &[0, 0, GRID, 2, 8], &[grid(0, 4, 0, 8, 2), vec![1; 8]].concat()),
        Message::new(MEDIUM, PIECES_GET, &[0, 0, LIST, 1, u32::MAX], &list(0, u32::MAX)),
        Message::new(MEDIUM, PIECES_GET, &[0, 0, LIST, 1, 8], &[list(0, 8), vec![0]].concat()),
        Message::new(MEDIUM, PIECES_GET, &[0, 0, LIST, 1, 1], &list(SEGMENT as u64, 1)),
        Message::new(MEDIUM, PIECES_GET, &[0, 0, GRID, 1, 1 << 20], &grid(0, 1 << 10, 0, 0, 1 << 10)),
        Message::new(SHORT, ROUND, &[0, 0, 1, 1 << 31], &[]),
        Message::new(SHORT, ROUND, &[2, 0, 1, 0], &[]),
        Message::new(SHORT, ROUND, &[0, 9, 1, 0], &[]),
        // Rank 1 is two away, which is the second round.
        Message::new(SHORT, ROUND, &[0, 0, 1, 0], &[]),
        Message::new(SHORT, PLACED, &[0, 0, 0, 1, 8, 0], &[]),
        Message::new(SHORT, 16, &[0, 0, 0, 1, u32::MAX, u32::MAX], &[]),
        Message::new(MEDIUM, 16, &[0, 0, 0, 1, 1, 0], &[1; 8192]),
        Message::new(SHORT, 95, &[], &[]),
        Message::new(SHORT, 0, &[0, 0], &[]),
        Message::new(SHORT, PUT, &[], &[]),
    ];
    let before = p.rank.read(GlobalPtr::<[u64; 8]>::new(RankId(0), 0));
    for message in &requests {
        p.refuses(1, Channel::Request, message);
        p.refuses(1, Channel::Reply, message);
        assert_eq!(p.rank.read(GlobalPtr::<[u64; 8]>::new(RankId(0), 0)), before, "{message:?}");
        assert!(p.wire.sent.lock().unwrap().is_empty(), "{message:?} was answered");
    }
}

/// A long message in parts: its parts come once each, agree, and stay inside the segment, or the job ends;
/// the handler runs once.
#[test]
fn parts_of_long_messages_are_checked() {
    let p = Play::new();
    static RUNS: AtomicU32 = AtomicU32::new(0);
    // ORDER: Relaxed; a count.
    let count = gasnet::Handler::new(|_, m| _ = RUNS.fetch_add(m.len as u32, Relaxed));
    p.rank.register(200, count).unwrap();
    const STEP: u32 = 32768;
    let part = |number: u32, at: u32, total: u32, step: u32, dst: u32, len: usize| {
        let head: Vec<u8> = [number, at, total, step].iter().flat_map(|w| w.to_le_bytes()).collect();
        let mut bytes = Message::new(LONG, 200, &[1], &[&head[..], &vec![7; len]].concat()).bytes();
        bytes[3] = 1;
        bytes[8..12].copy_from_slice(&dst.to_le_bytes());
        bytes
    };
    let refused = |bytes: Vec<u8>| {
        let said = p.deliver(1, Channel::Request, bytes).expect("refused");
        assert!(said.contains("rank 1 sent a part of a long message"), "{said}");
    };
    refused(part(1, 0, SEGMENT as u32, STEP, 1, STEP as usize));
    refused(part(2, 0, 100, STEP, SEGMENT as u32 - 99, 100));
    refused(part(3, 0, 100, STEP, 0, 99));
    refused(part(4, 0, 100, 50, 0, 50));
    refused(part(5, STEP, 100, STEP, 0, 0));
    refused(part(6, 0, u32::MAX, STEP, 0, STEP as usize));
    let mut own = part(8, 0, 8, STEP, 0, 8);
    own[1] = PUT;
    refused(own);
    assert_eq!(RUNS.load(Relaxed), 0);
    assert_eq!(p.rank.read(GlobalPtr::<[u64; 16]>::new(RankId(0), 0)), [0; 16]);
    assert_eq!(p.deliver(1, Channel::Request, part(9, 0, 100, STEP, 16, 100)), None);
    assert_eq!(RUNS.swap(0, Relaxed), 100);
    // Two parts, the last one first.
    let (first, last) =
        (part(10, 0, STEP + 1, STEP, 4096, STEP as usize), part(10, STEP, STEP + 1, STEP, 4096, 1));
    assert_eq!(p.deliver(1, Channel::Request, last.clone()), None);
    refused(last);
    refused(part(10, 0, STEP + 1, STEP, 4097, STEP as usize));
    assert_eq!(RUNS.load(Relaxed), 0);
    assert_eq!(p.deliver(1, Channel::Request, first), None);
    assert_eq!(RUNS.swap(0, Relaxed), STEP + 1);
    assert_eq!(
        p.rank.read(GlobalPtr::<[u64; 4]>::new(RankId(0), 0)),
        [0, 0, 0x0707_0707_0707_0707, 0x0707_0707_0707_0707]
    );
}

// The core's messages for regions, as in `region/ops.rs`.
const REGION_PUT: u8 = 32;
const REFUSED: u8 = 36;
const REGION_LONG: u8 = 37;

/// The request that a put to a region of this rank is, as rank 1 would send it: a key of another rank with
/// the same secret is sent out.
fn put_to_own_region(p: &Play, key: RegionKey, data: &[u8]) -> Message {
    let mut bytes: [u8; 32] = bytemuck::cast(key);
    bytes[..4].copy_from_slice(&1u32.to_le_bytes());
    // SAFETY: the source is valid.
    let _ = unsafe { p.rank.region(&bytemuck::cast(bytes)).put_nb(3, data.as_ptr(), data.len()) };
    let asked = p.sent();
    assert_eq!((asked.kind, asked.handler, asked.args.len()), (MEDIUM, REGION_PUT, 8));
    asked
}

/// A request for a region that differs in a bit from one that may be made is answered by a refusal, and
/// writes nothing.
#[test]
fn regions_are_reached_with_their_keys_alone() {
    let p = Play::new();
    let region = p.rank.regions().export_vec(vec![7u8; 100], Modes::ALL).unwrap();
    let read = || {
        let mut now = [0u8; 100];
        p.rank.region(&region.key()).read(0, &mut now).unwrap();
        now
    };
    let asked = put_to_own_region(&p, region.key(), &[9; 8]);
    for bit in 0..4 * 32 {
        let forged = asked.with(|m| m.args[2 + bit / 32] ^= 1 << (bit % 32));
        assert_eq!(p.deliver(1, Channel::Request, forged.bytes()), None);
        let (_, channel, answer) = p.wire.sent.lock().unwrap().pop_back().expect("an answer");
        let answer = Message::read(1, &answer);
        assert_eq!((channel, answer.handler, answer.args[2]), (Channel::Reply, REFUSED, 1), "bit {bit}");
        assert_eq!(read(), [7; 100], "bit {bit}");
    }
    for at in [93, 100, u64::MAX - 3] {
        let beyond = asked.with(|m| (m.args[6], m.args[7]) = (at as u32, (at >> 32) as u32));
        assert_eq!(p.deliver(1, Channel::Request, beyond.bytes()), None);
        let answer = Message::read(1, &p.wire.sent.lock().unwrap().pop_back().expect("an answer").2);
        assert_eq!((answer.handler, answer.args[2]), (REFUSED, 3), "at {at}");
        assert_eq!(read(), [7; 100], "at {at}");
    }
    assert_eq!(p.deliver(1, Channel::Request, asked.bytes()), None);
    assert_eq!(Message::read(1, &p.wire.sent.lock().unwrap().pop_back().unwrap().2).handler, ACK);
    assert_eq!(read()[2..12], [7, 9, 9, 9, 9, 9, 9, 9, 9, 7]);
    p.refuses(1, Channel::Reply, &asked);
}

/// A refusal counts once, for what was asked of that rank; who hears of it is who asked.
#[test]
fn refusals_are_answers() {
    let p = Play::new();
    let key = p.rank.regions().export_vec(vec![7u8; 100], Modes::ALL).unwrap().key();
    let mut bytes: [u8; 32] = bytemuck::cast(key);
    bytes[..4].copy_from_slice(&1u32.to_le_bytes());
    let there: RegionKey = bytemuck::cast(bytes);
    let refusal =
        |asked: &Message, why| Message::new(SHORT, REFUSED, &[asked.args[0], asked.args[1], why], &[]);
    for why in 1..=8 {
        let mut pending = p.rank.region(&there).read_nb::<u8>(0, 8);
        let answer = refusal(&p.sent(), why);
        p.refuses(2, Channel::Reply, &answer);
        let mut pending_again = p.rank.region(&there).read_nb::<u8>(0, 8);
        let answer = refusal(&p.sent(), why);
        assert_eq!(p.deliver(1, Channel::Reply, answer.bytes()), None);
        assert!(pending_again.test() && pending_again.wait().is_err());
        p.refuses(1, Channel::Reply, &answer);
        p.refuses(1, Channel::Request, &answer);
        assert!(!pending.test(), "another rank's refusal");
        std::mem::forget(pending);
    }
    for why in [0, 9, 77, u32::MAX - 1] {
        let pending = p.rank.region(&there).write_nb(0, vec![1u8]);
        p.refuses(1, Channel::Reply, &refusal(&p.sent(), why));
        std::mem::forget(pending);
    }
    // Nobody asks: the job ends.
    // SAFETY: the source is valid.
    let _ = unsafe { p.rank.region(&there).put_nb(0, [1u8].as_ptr(), 1) };
    let answer = refusal(&p.sent(), 1);
    let said = p.deliver(1, Channel::Reply, answer.bytes()).expect("it ended");
    assert!(
        said.contains("an operation on a region of rank 1 was refused: the region was revoked"),
        "{said}"
    );
    // Nor does the refusal of a put to a segment count as done.
    let awaited = put(&p);
    let [name, generation] = awaited.answer.name();
    p.refuses(1, Channel::Reply, &Message::new(SHORT, REFUSED, &[name, generation, 1], &[]));
    assert!(!done(&p, &awaited));
}

/// Parts of a long message to a region come once each, agree, and stay inside the region.
#[test]
fn parts_of_long_messages_to_regions_are_checked() {
    let p = Play::new();
    static RUNS: AtomicU32 = AtomicU32::new(0);
    // ORDER: Relaxed; a count.
    p.rank.register(200, gasnet::Handler::new(|_, m| _ = RUNS.fetch_add(m.len as u32, Relaxed))).unwrap();
    let region = p.rank.regions().export_vec(vec![7u8; 200_000], Modes::ALL).unwrap();
    let mut bytes: [u8; 32] = bytemuck::cast(region.key());
    bytes[..4].copy_from_slice(&1u32.to_le_bytes());
    let parts = || {
        // SAFETY: the source is valid.
        unsafe {
            let data = vec![9u8; 100_000];
            p.rank
                .region(&bytemuck::cast(bytes))
                .request_long(8, 200, &[5], data.as_ptr(), data.len())
                .unwrap();
        }
        let parts: Vec<Message> =
            p.wire.sent.lock().unwrap().drain(..).map(|(to, _, bytes)| Message::read(to, &bytes)).collect();
        assert_eq!((parts.len(), parts[0].kind, parts[0].handler), (2, MEDIUM, REGION_LONG));
        parts
    };
    let whole = parts();
    assert_eq!(p.deliver(1, Channel::Request, whole[1].bytes()), None);
    p.refuses(1, Channel::Request, &whole[1]);
    p.refuses(1, Channel::Request, &whole[0].with(|m| m.args[0] = 6));
    p.refuses(1, Channel::Request, &whole[0].with(|m| _ = m.payload.pop()));
    p.refuses(1, Channel::Request, &whole[0].with(|m| m.payload.truncate(39)));
    // Secret, offset, slot, generation, total, where, handler: none may be another one.
    for at in [0, 8, 16, 20, 28, 32, 36] {
        p.refuses(1, Channel::Request, &whole[0].with(|m| m.payload[at + 1] ^= 1));
    }
    assert_eq!(RUNS.load(Relaxed), 0);
    assert_eq!(p.deliver(1, Channel::Request, whole[0].bytes()), None);
    assert_eq!(RUNS.load(Relaxed), 100_000);
    let short = |handler: u32, offset: u64| {
        let mut one = parts()[1].clone();
        let n = one.payload.len() as u32 - 40;
        one.payload[8..16].copy_from_slice(&offset.to_le_bytes());
        one.payload[28..32].copy_from_slice(&n.to_le_bytes());
        one.payload[32..36].copy_from_slice(&0u32.to_le_bytes());
        one.payload[36..40].copy_from_slice(&handler.to_le_bytes());
        one
    };
    assert_eq!(p.deliver(1, Channel::Request, short(200, 8).bytes()), None);
    p.refuses(1, Channel::Request, &short(95, 8));
    p.refuses(1, Channel::Request, &short(256 + 200, 8));
    p.refuses(1, Channel::Request, &short(200, 199_999));
    p.refuses(1, Channel::Request, &short(200, u64::MAX));
    let key = region.key();
    drop(region);
    p.refuses(1, Channel::Request, &short(200, 8));
    assert_eq!(key.len(), 200_000);
}
