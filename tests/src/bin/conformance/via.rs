//! VIs over real ranks: every rank is connected with both of its neighbours, itself if it is alone. The
//! sections have the names of the items of VIA's list that they hold live.

use gasnet::RankId;
use gasnet_via::*;
use std::collections::VecDeque;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::exported::exchange;
use crate::support::{Cx, Rng, same};

/// The agent of this process: there is one for each rank.
static AGENT: OnceLock<&'static Agent> = OnceLock::new();

const LONG: Option<Duration> = Some(Duration::from_secs(60));

fn agent(cx: &Cx) -> &'static Agent {
    AGENT.get_or_init(|| Agent::start(cx.rank).expect("the first"))
}

/// An opening of the NIC with a tag, and VIs to both sides.
struct Ring {
    nic: Nic,
    tag: TagId,
    right: ViId,
    left: ViId,
}

impl Ring {
    fn attributes(tag: TagId, reliability: Reliability) -> ViAttributes {
        let rdma_read = reliability.is_reliable();
        ViAttributes { reliability, max_transfer: 1 << 20, qos: 0, tag, rdma_write: true, rdma_read }
    }

    /// Makes the VIs; `before` may post receives to them before they are connected.
    fn new(cx: &Cx, level: Reliability, before: impl FnOnce(&Ring)) -> Ring {
        let nic = agent(cx).open();
        let tag = nic.create_tag();
        let vi = || nic.create_vi(Ring::attributes(tag, level), None, None).expect("a VI");
        let (right, left) = (vi(), vi());
        let ring = Ring { nic, tag, right, left };
        before(&ring);
        ring.connect(cx);
        ring
    }

    fn connect(&self, cx: &Cx) {
        let own = |side: &[u8]| self.nic.address(side);
        let of = |rank: RankId, side: &[u8]| Address::new(rank.0, side);
        let (right, left) = (cx.right(1), cx.right(cx.size() - 1));
        self.nic.connect_peer(self.right, own(b"right"), of(right, b"left"), LONG).expect("idle");
        self.nic.connect_peer(self.left, own(b"left"), of(left, b"right"), LONG).expect("idle");
        for vi in [self.right, self.left] {
            self.nic.wait_peer(vi).expect("the neighbour asks, too");
        }
    }

    fn memory(&self, bytes: Vec<u8>, rdma: bool) -> MemoryId {
        let attributes = MemoryAttributes { tag: self.tag, rdma_write: rdma, rdma_read: rdma };
        self.nic.register(bytes, attributes).expect("room")
    }

    fn read(&self, memory: MemoryId, at: u64, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        self.nic.read(memory, at, &mut bytes).expect("inside");
        bytes
    }

    /// Ends both connections, and waits until the neighbours' ends are known here.
    fn end(self, cx: &Cx) {
        cx.rank.barrier();
        drop(self.nic);
        cx.rank.barrier();
    }
}

fn message(memory: MemoryId, at: u64, len: usize) -> Descriptor {
    Descriptor::message(vec![Segment { memory, at, len: len as u32 }])
}

/// The bytes of a message that both ends know.
fn text(shared: &mut Rng, most: usize) -> Vec<u8> {
    let len = match shared.below(10) {
        0 => 0,
        1 => most,
        2..=7 => shared.below(200),
        _ => shared.below(most + 1),
    };
    shared.bytes(len)
}

/// VIA-2, VIA-3, VIA-8: messages of all sizes come once, in order, on reliable VIs both ways at once,
/// scattered to several pieces; descriptors come back in order.
pub fn via_02_messages_come_in_order(cx: &Cx) {
    const MOST: usize = 200_000;
    const ROOM: usize = 4;
    agent(cx);
    for level in [Reliability::Delivery, Reliability::Reception] {
        let ring = Ring::new(cx, level, |_| ());
        let nic = &ring.nic;
        let messages = if cx.quick { 30 } else { 100 };
        let source = ring.memory(vec![0; MOST], false);
        let target = ring.memory(vec![0xee; ROOM * MOST], false);
        let left = cx.right(cx.size() - 1);
        let mut ours = cx.rng_of("via to the right", cx.me());
        let mut theirs = cx.rng_of("via to the right", left.0);
        let mut rng = cx.rng("via pieces");
        let mut post = |slot: u64| {
            let cut = rng.below(MOST) as u32;
            let at = slot % ROOM as u64 * MOST as u64;
            let first = Segment { memory: target, at, len: cut };
            let second = Segment { memory: target, at: at + u64::from(cut), len: MOST as u32 - cut };
            let work = Descriptor::message(vec![first, second]).with_cookie(slot);
            nic.post_receive(ring.left, work).expect("room");
        };
        (0..ROOM as u64).for_each(&mut post);
        let (mut sent, mut received) = (0u32, 0u32);
        loop {
            let sends = nic.query_vi(ring.right).expect("a VI").sends;
            if sent == messages && received == messages && sends == 0 {
                break;
            }
            if sent < messages && sends == 0 {
                let bytes = text(&mut ours, MOST);
                nic.write(source, 0, &bytes).expect("inside");
                let work = message(source, 0, bytes.len()).with_immediate(sent).with_cookie(sent.into());
                nic.post_send(ring.right, Descriptor { overrun: Overrun::Queue, ..work }).expect("room");
                sent += 1;
            }
            if let Polled::Done(c) = nic.send_done(ring.right).expect("a VI") {
                assert_eq!((c.done, c.errors, c.cookie), (Done::Send, Errors::NONE, u64::from(sent) - 1));
            }
            if let Polled::Done(c) = nic.receive_done(ring.left).expect("a VI") {
                let expected = text(&mut theirs, MOST);
                assert_eq!(
                    (c.errors, c.immediate, c.cookie),
                    (Errors::NONE, Some(received), received.into())
                );
                let at = u64::from(received) % ROOM as u64 * MOST as u64;
                same(&ring.read(target, at, c.len as usize), &expected, "a message of a VI");
                post(u64::from(received) + ROOM as u64);
                received += 1;
            }
        }
        assert_eq!(nic.next_report(), None);
        ring.end(cx);
    }
}

/// VIA-4, VIA-5, VIA-6: RDMA without a call of the target, which sits in a barrier; numbers; what is refused
/// leaves the bytes as they were.
pub fn via_05_rdma_needs_no_call_of_the_target(cx: &Cx) {
    const BYTES: usize = 150_000;
    agent(cx);
    for level in [Reliability::Delivery, Reliability::Reception] {
        let mut receives = None;
        let ring = Ring::new(cx, level, |ring| {
            let memory = ring.memory(vec![1; BYTES], true);
            let closed = ring.memory(vec![2; 100], false);
            for _ in 0..2 {
                ring.nic.post_receive(ring.left, message(memory, 0, 0)).expect("room");
            }
            receives = Some((memory, closed));
        });
        let nic = &ring.nic;
        let (memory, closed) = receives.expect("made");
        // The handles are numbers, which the neighbours have to be told.
        let at = cx.take_zeroed(16);
        let own = gasnet::GlobalPtr::<u64>::new(cx.rank.id(), at);
        cx.rank.write_slice(own, &[memory.number().into(), closed.number().into()]);
        cx.rank.barrier();
        let mut theirs = [0u64; 2];
        cx.rank.read_slice(own.on(cx.right(1)), &mut theirs);
        let [their_memory, their_closed] = theirs.map(|n| MemoryId::of(n as u32));
        let source: Vec<u8> = cx.rng("via rdma").bytes(BYTES);
        let ours = ring.memory(source.clone(), false);
        let all = |memory, len: usize| vec![Segment { memory, at: 0, len: len as u32 }];
        let to = PeerMemory { memory: their_memory, at: 0 };
        let wait = |done| {
            let c = nic.wait_send(ring.right, LONG).expect("it ends");
            assert_eq!(c.done, done);
            c.errors
        };
        // Ranks take turns: nobody but the one that acts calls this library.
        for turn in 0..cx.size() {
            if turn == cx.me() {
                nic.post_send(ring.right, Descriptor::write(all(ours, BYTES), to)).expect("room");
                assert_eq!(wait(Done::Write), Errors::NONE);
                nic.write(ours, 0, &vec![0; BYTES]).expect("inside");
                nic.post_send(ring.right, Descriptor::read(all(ours, BYTES), to)).expect("room");
                assert_eq!(wait(Done::Read), Errors::NONE);
                same(&ring.read(ours, 0, BYTES), &source, "what was written is read");
                let write = Descriptor::write(all(ours, 10), to).with_immediate(7);
                nic.post_send(ring.right, write).expect("room");
            }
            cx.rank.barrier();
        }
        let c = nic.wait_receive(ring.left, LONG).expect("one was taken");
        assert_eq!((c.done, c.errors, c.len, c.immediate), (Done::RemoteWrite, Errors::NONE, 10, Some(7)));
        assert_eq!(nic.query_vi(ring.left).expect("a VI").receives, 1, "writes without a number take none");
        assert_eq!(wait(Done::Write), Errors::NONE);
        stopped(cx, |mark| {
            nic.post_send(ring.right, Descriptor::write(all(ours, BYTES), to)).expect("room");
            assert_eq!(wait(Done::Write), Errors::NONE);
            nic.post_send(ring.right, Descriptor::read(all(ours, BYTES), to)).expect("room");
            assert_eq!(wait(Done::Read), Errors::NONE);
            cx.rank.region(mark).write(0, &[1u64]).expect("exported");
        });
        let left = cx.rng_of("via rdma", cx.right(cx.size() - 1).0).bytes(BYTES);
        same(&ring.read(memory, 0, BYTES), &left, "what the neighbour has written");
        cx.rank.barrier();
        let write = Descriptor::write(all(ours, 10), PeerMemory { memory: their_closed, at: 0 });
        nic.post_send(ring.right, write).expect("room");
        assert_eq!(wait(Done::Write), Errors::RDMA_PROTECTION);
        assert_eq!(nic.query_vi(ring.right).expect("a VI").state, ViState::Error);
        while nic.query_vi(ring.left).expect("a VI").state == ViState::Connected {}
        let reports: Vec<Report> = std::iter::from_fn(|| nic.next_report()).map(|r| r.report).collect();
        assert!(reports.contains(&Report::WriteProtection), "{reports:?}");
        same(&ring.read(closed, 0, 100), &[2; 100], "memory that is not shared");
        ring.end(cx);
    }
}

/// Ranks take turns to act on their neighbour, whose program does nothing until it finds the mark set: where
/// NICs serve regions it calls nothing of the runtime.
fn stopped(cx: &Cx, act: impl Fn(&gasnet::RegionKey)) {
    let mark = cx.rank.regions().export_pages(8, gasnet::Modes::WRITE).expect("room");
    let keys = exchange(cx, mark.key());
    #[expect(unsafe_code, reason = "looks at memory that others write")]
    // SAFETY: exported pages begin at a page.
    let mine = unsafe { AtomicU64::from_ptr(mark.address().cast()) };
    for turn in 0..cx.size() {
        cx.rank.barrier();
        if turn == cx.me() {
            act(&keys[cx.right(1).0 as usize]);
        } else if RankId(turn) == cx.right(cx.size() - 1) {
            while mine.load(Ordering::Acquire) == 0 {
                if mark.key().is_one_sided() {
                    std::thread::sleep(std::time::Duration::from_micros(100));
                } else {
                    cx.rank.poll();
                }
            }
        }
        cx.rank.barrier();
    }
}

/// VIA-9: over a bad network unreliable messages come at most once, intact; some are lost.
pub fn via_09_unreliable_messages_come_at_most_once(cx: &Cx) {
    const LEN: usize = 100;
    /// Messages after which ranks wait for each other; divides their number.
    const IN_TURN: u32 = 30;
    let messages: u32 = if cx.quick { 300 } else { 3000 };
    let agent = agent(cx);
    for faults in [
        Faults::default(),
        Faults { lose: 100, duplicate: 200, corrupt: 100, reorder: 200, seed: cx.seed ^ u64::from(cx.me()) },
    ] {
        agent.set_faults(faults);
        let all = messages as usize;
        let mut target = None;
        let ring = Ring::new(cx, Reliability::Unreliable, |ring| {
            let memory = ring.memory(vec![0; all * LEN], false);
            for i in 0..all {
                let work = message(memory, (i * LEN) as u64, LEN).with_cookie(i as u64);
                ring.nic.post_receive(ring.left, work).expect("room");
            }
            target = Some(memory);
        });
        let (nic, target) = (&ring.nic, target.expect("made"));
        let source = ring.memory(vec![0; LEN], false);
        let text = |from: RankId, i: u32| Rng::new(u64::from(from.0) << 32 | u64::from(i)).bytes(LEN);
        let (mut seen, mut come) = (vec![false; all], 0);
        let mut take = || {
            let Polled::Done(c) = nic.receive_done(ring.left).expect("a VI") else { return come };
            let i = c.immediate.expect("a number");
            let expected = text(cx.right(cx.size() - 1), i);
            same(&ring.read(target, c.cookie * LEN as u64, LEN), &expected, "a datagram");
            assert!(!std::mem::replace(&mut seen[i as usize], true), "{i} has come twice");
            come += 1;
            come
        };
        for i in 0..messages {
            nic.write(source, 0, &text(cx.rank.id(), i)).expect("inside");
            nic.post_send(ring.right, message(source, 0, LEN).with_immediate(i)).expect("room");
            assert!(matches!(nic.send_done(ring.right), Ok(Polled::Done(c)) if c.errors.is_none()));
            // Conduits lose nothing, but may be late, and what is too late counts as seen.
            if faults.lose == 0 && i % IN_TURN == IN_TURN - 1 {
                while take() <= i {}
                cx.rank.barrier();
            }
        }
        // Messages that were held back are delivered as time passes.
        let until = cx.rank.now() + Duration::from_millis(20);
        while cx.rank.now() < until {
            take();
        }
        cx.rank.barrier();
        let mut before = take();
        loop {
            let now = take();
            if now == std::mem::replace(&mut before, now) {
                break;
            }
        }
        assert_eq!(before == messages, faults.lose == 0, "{before} of {messages} have come");
        assert!(before > messages / 10, "{before} of {messages} have come");
        agent.set_faults(Faults::default());
        ring.end(cx);
    }
}

/// One end of a connection with credits of the program's own: a message for each buffer of the peer, and the
/// last one only for a message that carries credits.
struct Credits<'a> {
    ring: &'a Ring,
    vi: ViId,
    buffers: MemoryId,
    credits: u32,
    owed: u32,
    sent: u32,
    received: u32,
    /// Credits that came with numbers; places of sends in memory.
    places: VecDeque<u64>,
}

const BUFFERS: u32 = 4;

impl Credits<'_> {
    /// Sends a message, or only credits, if it may. With each goes its count, and as number the credits.
    fn send(&mut self, is_message: bool) -> bool {
        let carries = self.owed > 0;
        if self.credits == 0 || self.credits == 1 && !carries {
            return false;
        }
        let place = self.places.pop_front().expect("a place");
        let word = if is_message { self.sent } else { u32::MAX };
        self.ring.nic.write(self.buffers, place, &word.to_le_bytes()).expect("inside");
        let work = message(self.buffers, place, 4).with_immediate(std::mem::take(&mut self.owed));
        self.ring.nic.post_send(self.vi, work.with_cookie(place)).expect("room");
        (self.credits, self.sent) = (self.credits - 1, self.sent + u32::from(is_message));
        true
    }

    fn step(&mut self, messages: u32) {
        let nic = &self.ring.nic;
        while let Polled::Done(c) = nic.send_done(self.vi).expect("a VI") {
            assert_eq!(c.errors, Errors::NONE, "no send overruns the peer");
            self.places.push_back(c.cookie);
        }
        if let Polled::Done(c) = nic.receive_done(self.vi).expect("a VI") {
            assert_eq!(c.errors, Errors::NONE);
            let word = self.ring.read(self.buffers, c.cookie, 4);
            if word != u32::MAX.to_le_bytes() {
                assert_eq!(word, self.received.to_le_bytes());
                self.received += 1;
            }
            self.credits += c.immediate.expect("credits");
            nic.post_receive(self.vi, message(self.buffers, c.cookie, 4).with_cookie(c.cookie))
                .expect("room");
            self.owed += 1;
        }
        let sends = self.sent < messages && !self.places.is_empty() && self.send(true);
        if !sends && self.owed >= BUFFERS / 2 && !self.places.is_empty() {
            self.send(false);
        }
    }
}

/// VIA-12: both ways at once with 4 buffers and credits: no overrun, and it ends.
pub fn via_12_credits_neither_overrun_nor_stop(cx: &Cx) {
    let messages = match std::env::var("VIA_MESSAGES").ok().and_then(|n| n.parse().ok()) {
        Some(n) => n,
        None if cx.quick => 500,
        None => 5000,
    };
    agent(cx);
    let mut made = None;
    let ring = Ring::new(cx, Reliability::Delivery, |ring| {
        let buffers = [(); 2].map(|()| ring.memory(vec![0; 16 * BUFFERS as usize], false));
        for (vi, memory) in [(ring.right, buffers[0]), (ring.left, buffers[1])] {
            for i in 0..u64::from(BUFFERS) {
                ring.nic.post_receive(vi, message(memory, 4 * i, 4).with_cookie(4 * i)).expect("room");
            }
        }
        made = Some(buffers);
    });
    let [right, left] = made.expect("made");
    let mut ends = [(ring.right, right), (ring.left, left)].map(|(vi, buffers)| Credits {
        ring: &ring,
        vi,
        buffers,
        credits: BUFFERS,
        owed: 0,
        sent: 0,
        received: 0,
        places: (u64::from(BUFFERS)..4 * u64::from(BUFFERS)).map(|i| 4 * i).collect(),
    });
    // The neighbours have posted theirs before they connected.
    while ends.iter().any(|end| end.sent < messages || end.received < messages) {
        ends.iter_mut().for_each(|end| end.step(messages));
    }
    // Credits that are still under way need a receiver.
    cx.rank.barrier();
    ends.iter_mut().for_each(|end| end.step(messages));
    assert_eq!(ring.nic.next_report(), None, "nothing has broken");
    ring.end(cx);
}

/// VIA-14: the answers of a server to its neighbour are told apart.
pub fn via_14_answers_are_told_apart(cx: &Cx) {
    let nic = agent(cx).open();
    let tag = nic.create_tag();
    let vi = |level| nic.create_vi(Ring::attributes(tag, level), None, None).expect("a VI");
    let (client, server) = (vi(Reliability::Delivery), vi(Reliability::Reception));
    let connect =
        |timeout| nic.connect(client, nic.address(*b"c"), Address::new(cx.right(1).0, *b"nobody"), timeout);
    assert_eq!(connect(LONG).expect_err("nobody listens"), ViaError::NoMatch);
    assert!(matches!(connect(Some(Duration::ZERO)), Err(ViaError::Parameter(_))));
    cx.rank.barrier();
    let listener = nic.listen(b"nobody").expect("a listener");
    cx.rank.barrier();
    // Nobody looks after requests: the barrier is after the time.
    assert_eq!(connect(Some(Duration::from_millis(20))).expect_err("no answer"), ViaError::Timeout);
    cx.rank.barrier();
    match nic.next_request(listener, Some(Duration::from_millis(20))) {
        Ok(late) => {
            assert_eq!(nic.accept(late.id, client), Err(ViaError::Timeout), "it does not wait any more")
        }
        Err(e) => assert_eq!(e, ViaError::Timeout),
    }
    cx.rank.barrier();
    // Pairs: who connects would wait for its own answer otherwise.
    let partner = RankId(cx.me() ^ 1);
    if partner.0 < cx.size() {
        let connect = || nic.connect(client, nic.address(*b"c"), Address::new(partner.0, *b"nobody"), LONG);
        if cx.me() & 1 == 0 {
            assert_eq!(connect().expect_err("it is rejected"), ViaError::Rejected);
            let remote = connect().expect("it is accepted");
            assert_eq!((remote.reliability, remote.rdma_write), (Reliability::Delivery, true));
            nic.disconnect(client).expect("a VI");
        } else {
            let request = nic.next_request(listener, LONG).expect("one comes");
            assert_eq!(request.from, Address::new(partner.0, *b"c"));
            assert_eq!(nic.accept(request.id, server).expect_err("another level"), ViaError::Reliability);
            nic.reject(request.id).expect("it is there");
            let request = nic.next_request(listener, LONG).expect("again");
            assert_eq!(nic.accept(request.id, server).expect_err("another level"), ViaError::Reliability);
            nic.change_vi(server, Ring::attributes(tag, Reliability::Delivery)).expect("idle");
            nic.accept(request.id, server).expect("it fits");
            while nic.query_vi(server).expect("a VI").state != ViState::Error {}
            assert_eq!(nic.next_report().map(|r| r.report), Some(Report::ConnectionLost));
        }
    }
    cx.rank.barrier();
    drop(nic);
}
