//! The same state machines on real threads: two nodes, each with a NIC thread, a paging thread and a
//! program, more memory than frames, everything shared through the table and the port's memory. Reads
//! return the bytes that were written.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use gasnet_ops::home::HomeOp;
use netvm_fw::host::{Host, HostAction, HostConfig, HostEvent, KeySource, Segment};
use netvm_fw::library::{Fence, Library, Transfer};
use netvm_fw::nic::{HostReply, Nic, NicAction, NicConfig, NicEvent, NicStats};
use netvm_fw::port::{Counter, Doorbell, PortMemory};
use netvm_fw::shadow::{Geometry, HostTable, NicTable, table};
use netvm_fw::wire::Head;
use netvm_fw::{FrameAddress, Node, PAGE, PageMemory, PortId, Vpn};

const FRAMES: u32 = 8;
const PAGES: u64 = 32;
const P: u64 = PAGE as u64;
const PORT: PortId = PortId(1);
const ROUNDS: u64 = 1500;

/// Frames as bytes that any thread may touch; only the protocols keep them apart.
struct Frames(Vec<AtomicU8>);

impl Frames {
    fn bytes(&self, at: FrameAddress, len: usize) -> &[AtomicU8] {
        let start = at.ppn.index() * PAGE as usize + at.offset as usize;
        &self.0[start..start + len]
    }
}

impl PageMemory for Frames {
    fn read(&self, at: FrameAddress, into: &mut [u8]) {
        let bytes = self.bytes(at, into.len());
        into.iter_mut().zip(bytes).for_each(|(to, from)| *to = from.load(Ordering::Relaxed));
    }
    fn write(&self, at: FrameAddress, from: &[u8]) {
        self.bytes(at, from.len()).iter().zip(from).for_each(|(to, from)| to.store(*from, Ordering::Relaxed));
    }
}

type Packet = (Head, Vec<u8>);

/// Requests to the paging thread.
enum Ask {
    Event(HostEvent),
    /// The program's own accesses; a page at a time.
    Poke(u64, Vec<u8>, Sender<()>),
    Peek(u64, usize, Sender<Vec<u8>>),
    Stop,
}

fn nic_thread(
    mut nic: Nic,
    bell: &Doorbell,
    memory: &PortMemory,
    frames: &Frames,
    wire: (&Receiver<Packet>, [Sender<Packet>; 2]),
    host: (&Receiver<HostReply>, &Sender<Ask>),
    stop: &AtomicBool,
) -> NicStats {
    let mut events = VecDeque::new();
    let mut out = Vec::new();
    loop {
        events.extend(bell.answer().map(NicEvent::Doorbell));
        events.extend(wire.0.try_recv().ok().map(|(head, payload)| NicEvent::Packet { head, payload }));
        events.extend(host.0.try_recv().ok().map(NicEvent::Host));
        let Some(event) = events.pop_front() else {
            if stop.load(Ordering::Acquire) {
                return nic.stats();
            }
            thread::yield_now();
            continue;
        };
        nic.handle(0, event, &mut out);
        for action in out.drain(..) {
            match action {
                NicAction::NicWork(_) => {}
                NicAction::DmaRead { op, from, mut into } => {
                    into.resize(from.len as usize, 0);
                    frames.read(from.at, &mut into);
                    events.push_back(NicEvent::DmaRead { op, data: into });
                }
                NicAction::DmaWrite { op, to, data } => {
                    frames.write(to, &data);
                    events.push_back(NicEvent::DmaWritten { op, data });
                }
                NicAction::Send { head, payload, .. } => {
                    let packet = [&head.to_bytes()[..], &payload].concat();
                    let (head, payload) = Head::from_bytes(&packet).expect("a good head");
                    wire.1[head.to.0 as usize].send((head, payload.to_vec())).expect("the other NIC runs");
                }
                NicAction::Post(_, post) => memory.apply(post),
                NicAction::Interrupt(interrupt) => {
                    host.1.send(Ask::Event(HostEvent::Interrupt(interrupt))).expect("the host runs");
                }
            }
        }
    }
}

fn host_thread(mut host: Host, frames: &Frames, asks: &Receiver<Ask>, nic: &Sender<HostReply>) -> u64 {
    let mut store: HashMap<Vpn, Vec<u8>> = HashMap::new();
    let mut waiting: HashMap<u64, Ask> = HashMap::new();
    let mut token = 0;
    let start = std::time::Instant::now();
    let mut todo = VecDeque::new();
    loop {
        let ask = match todo.pop_front() {
            Some(ask) => ask,
            None => match asks.recv_timeout(Duration::from_millis(1)) {
                Ok(ask) => ask,
                Err(_) if host.next_deadline().is_some() => Ask::Event(HostEvent::Timer),
                Err(_) => continue,
            },
        };
        let mut out = Vec::new();
        let now = start.elapsed().as_nanos() as u64;
        match ask {
            Ask::Event(event) => host.handle(now, event, frames, &mut out),
            Ask::Stop => return host.stats().page_outs,
            Ask::Poke(offset, ..) | Ask::Peek(offset, ..) => {
                let vpn = Vpn::of(PORT, offset);
                token += 1;
                if !host.touch(vpn, matches!(ask, Ask::Poke(..)), token, &mut out) {
                    waiting.insert(token, ask);
                } else {
                    let ppn = host.vm().place(vpn).expect("it is there");
                    let at = FrameAddress { ppn, offset: (offset % P) as u32 };
                    match ask {
                        Ask::Poke(_, bytes, done) => {
                            frames.write(at, &bytes);
                            done.send(()).expect("the program waits");
                        }
                        Ask::Peek(_, len, done) => {
                            let mut bytes = vec![0; len];
                            frames.read(at, &mut bytes);
                            done.send(bytes).expect("the program waits");
                        }
                        _ => unreachable!("matched above"),
                    }
                }
            }
        }
        for action in out {
            match action {
                HostAction::Nic(reply) => nic.send(reply).expect("the NIC runs"),
                HostAction::PageIn { vpn, ppn } => {
                    let page = store.get(&vpn).cloned().unwrap_or_else(|| vec![0; P as usize]);
                    frames.write(FrameAddress { ppn, offset: 0 }, &page);
                    todo.push_back(Ask::Event(HostEvent::PagedIn(ppn)));
                }
                HostAction::PageOut { vpn, ppn } => {
                    let mut page = vec![0; P as usize];
                    frames.read(FrameAddress { ppn, offset: 0 }, &mut page);
                    store.insert(vpn, page);
                    todo.push_back(Ask::Event(HostEvent::PagedOut(ppn)));
                }
                HostAction::Evict { ppn, .. } => {
                    frames.write(FrameAddress { ppn, offset: 0 }, &[0xee; PAGE as usize])
                }
                HostAction::Ready { token, .. } => todo.extend(waiting.remove(&token)),
                HostAction::Work(_) | HostAction::Wake(_) => {}
                HostAction::Message { .. } | HostAction::Unexported(_) | HostAction::Recalled(_) => {
                    unreachable!("not used here")
                }
            }
        }
    }
}

struct Program {
    library: Library,
    host: Sender<Ask>,
    random: fastrand::Rng,
}

impl Program {
    fn poke(&self, offset: u64, bytes: &[u8]) {
        let (done, wait) = channel();
        self.host.send(Ask::Poke(offset, bytes.to_vec(), done)).expect("the host runs");
        wait.recv().expect("an answer");
    }

    fn peek(&self, offset: u64, len: usize) -> Vec<u8> {
        let (done, wait) = channel();
        self.host.send(Ask::Peek(offset, len, done)).expect("the host runs");
        wait.recv().expect("an answer")
    }

    fn wait(&mut self, fence: Fence) {
        let mut tries = 0u32;
        while !self.library.want(fence) {
            tries += 1;
            assert!(tries < 50_000_000, "{fence:?} is not passed");
            thread::yield_now();
        }
    }

    /// `bytes` are those of the local segment from `base` on, for short fragments.
    fn issue(&mut self, mut transfer: Transfer, base: u64, bytes: &[u8]) {
        let short = |offset: u64, into: &mut [u8]| {
            into.copy_from_slice(&bytes[(offset - base) as usize..][..into.len()]);
        };
        while !self.library.issue(&mut transfer, short).expect("a good transfer") {
            let room = self.library.wait_for_room();
            self.wait(room);
        }
    }

    /// Writes to the other node, reads it back elsewhere, and compares; counts at the other node.
    fn run(mut self, mine: Segment, theirs: Segment, me: u32) {
        let here = self.library.add_segment(Node(me), mine);
        let there = self.library.add_segment(Node(1 - me), theirs);
        // The first page is for the counter; the lower half of the rest the other writes to, the upper half
        // is ours.
        let half = PAGES / 2 * P;
        for round in 0..ROUNDS {
            let size = 1 + self.random.u64(..if round % 2 == 0 { 90 } else { P - 600 });
            let bytes: Vec<u8> = (0..size).map(|i| (i * 7 + round + u64::from(me)) as u8).collect();
            // Within one page at our side, anywhere at theirs.
            let page = half + self.random.u64(..PAGES / 2) * P;
            let at = P + self.random.u64(..half - P - size);
            self.poke(page + 300, &bytes);
            let write = Transfer::write((here, page + 300), (there, at), size).acknowledge().notify(5);
            self.issue(write, page + 300, &bytes);
            let written = self.library.fence(Counter::Written);
            self.wait(written);
            self.poke(page + 300, &vec![0; size as usize]);
            self.issue(Transfer::read((here, page + 300), (there, at), size), 0, &[]);
            let read = self.library.fence(Counter::Reads);
            self.wait(read);
            assert_eq!(self.peek(page + 300, size as usize), bytes, "round {round}");
            let cookie = self.library.atomic((there, 64), HomeOp::Incr, [0; 4]).expect("one at a time");
            let old = loop {
                if let Some(reply) = self.library.reply(cookie) {
                    break reply.expect("not refused")[0];
                }
                thread::yield_now();
            };
            assert_eq!(u64::from(old), round);
        }
        assert_eq!(self.library.memory().refused(), 0);
    }
}

#[test]
fn two_nodes_on_threads() {
    let stop = AtomicBool::new(false);
    let running = AtomicU64::new(2);
    let make = |seed: u64| -> (HostTable, NicTable) { table(Geometry::new(FRAMES), seed) };
    let frames: Vec<Frames> =
        (0..2).map(|_| Frames((0..FRAMES * PAGE).map(|_| AtomicU8::new(0)).collect())).collect();
    let memories: Vec<Arc<PortMemory>> = (0..2).map(|_| Arc::new(PortMemory::new(8, 8))).collect();
    let bells: Vec<Arc<Doorbell>> = (0..2).map(|_| Arc::new(Doorbell::new(1))).collect();
    let (wire_in, wire_out): (Vec<_>, Vec<_>) = (0..2).map(|_| channel()).unzip();
    let (ask_in, ask_out): (Vec<Sender<Ask>>, Vec<_>) = (0..2).map(|_| channel()).unzip();
    let (reply_in, reply_out): (Vec<_>, Vec<_>) = (0..2).map(|_| channel()).unzip();
    let mut hosts = Vec::new();
    let mut nics = Vec::new();
    let mut segments = Vec::new();
    for n in 0..2u32 {
        let (host, nic) = make(n.into());
        let mut host = Host::new(HostConfig::new(FRAMES), host, KeySource::seeded(n.into()));
        segments.push(host.export(PORT, 1, 0, PAGES * P, &mut Vec::new()).expect("free memory"));
        hosts.push(host);
        let mut nic = Nic::new(NicConfig::new(Node(n), 2), nic);
        nic.open_port(PORT, memories[n as usize].clone());
        nics.push(nic);
    }
    thread::scope(|scope| {
        let mut nic_threads = Vec::new();
        let mut host_threads = Vec::new();
        for (n, ((nic, host), (wire, (asks, replies)))) in nics
            .into_iter()
            .zip(hosts)
            .zip(wire_out.into_iter().zip(ask_out.into_iter().zip(reply_out)))
            .enumerate()
        {
            let (bell, memory, frames) = (&bells[n], &memories[n], &frames[n]);
            let senders = [wire_in[0].clone(), wire_in[1].clone()];
            let (ask, reply, stop) = (ask_in[n].clone(), reply_in[n].clone(), &stop);
            nic_threads.push(scope.spawn(move || {
                nic_thread(nic, bell, memory, frames, (&wire, senders), (&replies, &ask), stop)
            }));
            host_threads.push(scope.spawn(move || host_thread(host, frames, &asks, &reply)));
        }
        let mut programs = Vec::new();
        for n in 0..2usize {
            let library = Library::new(Node(n as u32), PORT, memories[n].clone(), bells[n].clone());
            let program =
                Program { library, host: ask_in[n].clone(), random: fastrand::Rng::with_seed(77 + n as u64) };
            let (mine, theirs, running) = (segments[n], segments[1 - n], &running);
            programs.push(scope.spawn(move || {
                program.run(mine, theirs, n as u32);
                running.fetch_sub(1, Ordering::Relaxed);
            }));
        }
        let failed: Vec<bool> = programs.into_iter().map(|program| program.join().is_err()).collect();
        stop.store(true, Ordering::Release);
        let stats: Vec<NicStats> = nic_threads.into_iter().map(|t| t.join().expect("a NIC")).collect();
        ask_in.iter().for_each(|ask| ask.send(Ask::Stop).expect("a host"));
        let outs: Vec<u64> = host_threads.into_iter().map(|t| t.join().expect("a host")).collect();
        assert_eq!(failed, [false; 2], "{stats:?}");
        for (n, stats) in stats.iter().enumerate() {
            assert_eq!(u64::from(memories[n].events.signals(5)), ROUNDS);
            assert_eq!(stats.atomics, ROUNDS);
            assert!(stats.bounces > 0 && stats.locks > stats.bounces, "{stats:?}");
            assert_eq!((stats.malformed, stats.refused), (0, 0));
        }
        assert!(outs.iter().all(|&outs| outs > 0), "pages have to go: {outs:?}");
    });
    assert_eq!(running.into_inner(), 0);
}
