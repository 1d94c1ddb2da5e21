//! Nodes with a NIC, a host, memory and a backing store, on a network that delays as it likes. Virtual time;
//! a seed decides everything. Every DMA is checked: its frame is locked and holds the same page from the
//! moment it is asked for to its end.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap};
use std::sync::Arc;

use netvm_fw::host::{FrameState, Host, HostAction, HostConfig, HostEvent, HostWork, KeySource, Segment};
use netvm_fw::library::{Append, Fence, Handle, Library, Transfer};
use netvm_fw::nic::{Interrupt, Nic, NicAction, NicConfig, NicEvent, NicWork, OpId, Stretch};
use netvm_fw::port::{Counter, Doorbell, PortMemory, Post};
use netvm_fw::shadow::{Geometry, table};
use netvm_fw::wire::Head;
use netvm_fw::{FrameAddress, Node, PAGE, PageMemory, PortId, Ppn, Vpn};

pub const P: u64 = PAGE as u64;

/// Bytes of an appended queue; a port has room for the entries of two.
pub const QUEUE_BYTES: u64 = 8 * P;

/// This many seeds; `NETVM_FW_SEEDS` times as many in a long run.
pub fn seeds(n: u64) -> std::ops::Range<u64> {
    let times = std::env::var("NETVM_FW_SEEDS").ok().and_then(|times| times.parse().ok());
    0..n * times.unwrap_or(1)
}

/// Times, in nanoseconds, and chances.
#[derive(Clone, Copy)]
pub struct Weather {
    /// A packet takes between these.
    pub wire: (u64, u64),
    pub dma: (u64, u64),
    pub page_in: (u64, u64),
    pub interrupt: (u64, u64),
    /// One packet of this many comes twice; 0: none does.
    pub copies: u64,
    /// Heads are announced before their packet.
    pub early: bool,
}

impl Weather {
    pub const CALM: Weather = Weather {
        wire: (100, 100),
        dma: (50, 50),
        page_in: (5_000, 5_000),
        interrupt: (20, 20),
        copies: 0,
        early: false,
    };
    pub const ROUGH: Weather = Weather {
        wire: (100, 3_000),
        dma: (50, 900),
        page_in: (2_000, 20_000),
        interrupt: (20, 500),
        copies: 5,
        early: true,
    };
}

enum Todo {
    Doorbell,
    Head(Head),
    Packet(Head, Vec<u8>),
    DmaRead(OpId, Stretch, Vec<u8>, Vpn),
    DmaWrite(OpId, FrameAddress, Vec<u8>, Vpn),
    Interrupt(Interrupt),
    Reply(netvm_fw::nic::HostReply),
    PageIn(Vpn, Ppn),
    PageOut(Vpn, Ppn),
    Timer,
}

/// Frames of one host.
pub struct Memory(RefCell<Vec<Vec<u8>>>);

impl PageMemory for Memory {
    fn read(&self, at: FrameAddress, into: &mut [u8]) {
        let o = at.offset as usize;
        into.copy_from_slice(&self.0.borrow()[at.ppn.index()][o..o + into.len()]);
    }
    fn write(&self, at: FrameAddress, from: &[u8]) {
        let o = at.offset as usize;
        self.0.borrow_mut()[at.ppn.index()][o..o + from.len()].copy_from_slice(from);
    }
}

pub struct Computer {
    pub nic: Nic,
    pub host: Host,
    pub memory: Memory,
    pub store: HashMap<Vpn, Vec<u8>>,
    pub bell: Arc<Doorbell>,
    pub ports: BTreeMap<PortId, Arc<PortMemory>>,
    pub libraries: BTreeMap<PortId, Library>,
    /// Messages that came, with payload; consumed at once unless `hoard`.
    pub messages: Vec<(Head, Vec<u8>)>,
    pub hoard: bool,
    pub woken: BTreeMap<PortId, u32>,
    pub unexported: Vec<Segment>,
    pub recalled: Vec<Vpn>,
    pub ready: Vec<u64>,
    /// The work of NICs in order, for tests that count.
    pub work: Vec<NicWork>,
    pub host_work: Vec<HostWork>,
    pub posts: Vec<(PortId, Post)>,
    pub dma_bytes: u64,
    pub acks_sent: u64,
    replies_free: u64,
    interrupts_free: u64,
    timer: Option<u64>,
    /// Pages are not brought in while this is set.
    pub stuck: BTreeSet<Vpn>,
    held_back: Vec<(Vpn, Ppn)>,
}

pub struct Rig {
    pub now: u64,
    pub random: fastrand::Rng,
    pub weather: Weather,
    pub nodes: Vec<Computer>,
    /// Packets to these nodes are kept.
    pub cut: BTreeSet<u32>,
    kept: Vec<(u32, Head, Vec<u8>)>,
    queue: BinaryHeap<Reverse<(u64, u64, usize)>>,
    todo: HashMap<usize, (usize, Todo)>,
    count: usize,
    pub packets: Vec<Head>,
}

/// The exported memory of a port, as others know it.
#[derive(Clone, Copy)]
pub struct Area {
    pub node: usize,
    pub port: PortId,
    pub segment: Segment,
}

impl Rig {
    pub fn new(nodes: u32, frames: u32, weather: Weather, seed: u64) -> Rig {
        Rig::shaped(nodes, Geometry::new(frames), weather, seed)
    }

    pub fn shaped(nodes: u32, geometry: Geometry, weather: Weather, seed: u64) -> Rig {
        Rig::caching(nodes, geometry, weather, seed, 0)
    }

    /// A rig whose NICs keep this many operands of atomics.
    pub fn caching(nodes: u32, geometry: Geometry, weather: Weather, seed: u64, operands: u32) -> Rig {
        let computer = |n| {
            let (host, nic) = table(geometry, seed ^ 77);
            let mut config = NicConfig::new(Node(n), nodes);
            config.operands = operands;
            Computer {
                nic: Nic::new(config, nic),
                host: Host::new(
                    HostConfig::new(geometry.frames),
                    host,
                    KeySource::seeded(seed.wrapping_add(n.into())),
                ),
                memory: Memory(RefCell::new(vec![vec![0xee; PAGE as usize]; geometry.frames as usize])),
                store: HashMap::new(),
                bell: Arc::new(Doorbell::new(8)),
                ports: BTreeMap::new(),
                libraries: BTreeMap::new(),
                messages: Vec::new(),
                hoard: false,
                woken: BTreeMap::new(),
                unexported: Vec::new(),
                recalled: Vec::new(),
                ready: Vec::new(),
                work: Vec::new(),
                host_work: Vec::new(),
                posts: Vec::new(),
                dma_bytes: 0,
                acks_sent: 0,
                replies_free: 0,
                interrupts_free: 0,
                timer: None,
                stuck: BTreeSet::new(),
                held_back: Vec::new(),
            }
        };
        Rig {
            now: 0,
            random: fastrand::Rng::with_seed(seed),
            weather,
            nodes: (0..nodes).map(computer).collect(),
            cut: BTreeSet::new(),
            kept: Vec::new(),
            queue: BinaryHeap::new(),
            todo: HashMap::new(),
            count: 0,
            packets: Vec::new(),
        }
    }

    /// Opens a port with an exported area of this many pages, at 16 pages above 0.
    pub fn port(&mut self, node: usize, port: u16, pages: u64) -> Area {
        self.open(node, port, pages, Nic::open_port)
    }

    /// The same, for the host's pager.
    pub fn pager_port(&mut self, node: usize, port: u16, pages: u64) -> Area {
        self.open(node, port, pages, Nic::open_pager_port)
    }

    fn open(
        &mut self,
        node: usize,
        port: u16,
        pages: u64,
        how: fn(&mut Nic, PortId, Arc<PortMemory>),
    ) -> Area {
        let id = PortId(port);
        let nodes = self.nodes.len() as u32;
        let memory = Arc::new(PortMemory::new(1024, 64).with_queues(&[QUEUE_BYTES; 2], nodes));
        let mut out = Vec::new();
        let computer = &mut self.nodes[node];
        how(&mut computer.nic, id, memory.clone());
        computer.ports.insert(id, memory.clone());
        let library = Library::new(Node(node as u32), id, memory, computer.bell.clone());
        computer.libraries.insert(id, library);
        let segment = computer.host.export(id, 1, 16 * P, pages * P, &mut out).expect("free memory");
        self.host_actions(node, out);
        Area { node, port: id, segment }
    }

    /// A port's handle of an area, its own or another's.
    pub fn handle(&mut self, me: Area, of: Area) -> Handle {
        let library = self.library(me);
        library
            .lookup(Node(of.node as u32), of.port, of.segment.address)
            .map_or_else(|| library.add_segment(Node(of.node as u32), of.segment), |(handle, _)| handle)
    }

    pub fn library(&mut self, at: Area) -> &mut Library {
        self.nodes[at.node].libraries.get_mut(&at.port).expect("an open port")
    }

    pub fn vpn(at: Area, offset: u64) -> Vpn {
        Vpn::of(at.port, at.segment.address + offset)
    }

    // ---- memory, as the port's program sees it

    /// Brings pages in, as a program that touches them does.
    pub fn touch(&mut self, at: Area, offset: u64, len: u64) {
        for page in offset / P..(offset + len).div_ceil(P) {
            let vpn = Rig::vpn(at, page * P);
            let mut out = Vec::new();
            let there = self.nodes[at.node].host.touch(vpn, false, vpn.0, &mut out);
            self.host_actions(at.node, out);
            let mut patience = 0;
            while !there && !self.nodes[at.node].ready.contains(&vpn.0) {
                assert!(self.step(), "page {vpn:?} does not come");
                patience += 1;
                assert!(patience < 1_000_000);
            }
            self.nodes[at.node].ready.retain(|&token| token != vpn.0);
        }
    }

    pub fn poke(&mut self, at: Area, offset: u64, bytes: &[u8]) {
        let mut done = 0;
        while done < bytes.len() {
            let o = offset + done as u64;
            let n = ((P - o % P) as usize).min(bytes.len() - done);
            let vpn = Rig::vpn(at, o);
            let computer = &mut self.nodes[at.node];
            let piece = &bytes[done..done + n];
            let mut out = Vec::new();
            match computer.host.vm().place(vpn) {
                Some(ppn) if computer.host.vm().is_resident(vpn) => {
                    computer.host.touch(vpn, true, 0, &mut out);
                    computer.memory.write(FrameAddress { ppn, offset: (o % P) as u32 }, piece);
                }
                Some(_) => panic!("poke a page that is there, or not at all"),
                None => {
                    let page = computer.store.entry(vpn).or_insert_with(|| vec![0; P as usize]);
                    page[(o % P) as usize..][..n].copy_from_slice(piece);
                }
            }
            done += n;
        }
    }

    pub fn peek(&self, at: Area, offset: u64, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        let mut done = 0;
        while done < len {
            let o = offset + done as u64;
            let n = ((P - o % P) as usize).min(len - done);
            let vpn = Rig::vpn(at, o);
            let computer = &self.nodes[at.node];
            let piece = &mut bytes[done..done + n];
            match computer.host.vm().place(vpn) {
                Some(ppn) if computer.host.vm().state(ppn) != FrameState::PagingIn => {
                    computer.memory.read(FrameAddress { ppn, offset: (o % P) as u32 }, piece);
                }
                _ => {
                    if let Some(page) = computer.store.get(&vpn) {
                        piece.copy_from_slice(&page[(o % P) as usize..][..n]);
                    }
                }
            }
            done += n;
        }
        bytes
    }

    /// Pushes a page out, by way of the cleaner's own steps.
    pub fn evict(&mut self, at: Area, offset: u64) {
        let vpn = Rig::vpn(at, offset);
        let bytes = self.peek(at, offset / P * P, P as usize);
        let mut out = Vec::new();
        self.nodes[at.node].host.discard(vpn, &mut out);
        self.host_actions(at.node, out);
        self.nodes[at.node].store.insert(vpn, bytes);
        assert_eq!(self.nodes[at.node].host.vm().place(vpn), None);
    }

    // ---- operations

    /// Issues a transfer, running the rig when the queue is full.
    pub fn issue(&mut self, me: Area, mut transfer: Transfer) {
        let mut patience = 0;
        while !self.try_issue(me, &mut transfer) {
            let fence = self.library(me).wait_for_room();
            self.library(me).want(fence);
            assert!(self.step(), "the queue stays full");
            patience += 1;
            assert!(patience < 1_000_000);
        }
    }

    /// Issues what there is room for.
    pub fn try_issue(&mut self, me: Area, transfer: &mut Transfer) -> bool {
        let before = transfer.left();
        let mut library = self.nodes[me.node].libraries.remove(&me.port).expect("an open port");
        let done = library
            .issue(transfer, |offset, into| into.copy_from_slice(&self.peek(me, offset, into.len())))
            .expect("a good transfer");
        self.nodes[me.node].libraries.insert(me.port, library);
        if transfer.left() < before {
            self.ring(me.node);
        }
        done
    }

    /// Issues what there is room for of a message to an appended queue.
    pub fn try_append(&mut self, me: Area, append: &mut Append) -> bool {
        let mut library = self.nodes[me.node].libraries.remove(&me.port).expect("an open port");
        let done = library
            .append(append, |offset, into| into.copy_from_slice(&self.peek(me, offset, into.len())))
            .expect("a good message");
        self.nodes[me.node].libraries.insert(me.port, library);
        self.ring(me.node);
        done
    }

    pub fn write(&mut self, me: Area, from: u64, to: Area, at: u64, size: u64) {
        let transfer = self.write_of(me, from, to, at, size);
        self.issue(me, transfer);
    }

    pub fn write_of(&mut self, me: Area, from: u64, to: Area, at: u64, size: u64) -> Transfer {
        let (mine, theirs) = (self.handle(me, me), self.handle(me, to));
        Transfer::write((mine, from), (theirs, at), size)
    }

    pub fn read_of(&mut self, me: Area, into: u64, from: Area, at: u64, size: u64) -> Transfer {
        let (mine, theirs) = (self.handle(me, me), self.handle(me, from));
        Transfer::read((mine, into), (theirs, at), size)
    }

    pub fn read(&mut self, me: Area, into: u64, from: Area, at: u64, size: u64) {
        let transfer = self.read_of(me, into, from, at, size);
        self.issue(me, transfer);
    }

    /// Rings that have been put in are on their way to the NIC.
    pub fn ring(&mut self, node: usize) {
        self.later(node, 0, Todo::Doorbell);
    }

    pub fn wait(&mut self, me: Area, fence: Fence) {
        let mut patience = 0;
        while !self.library(me).want(fence) {
            assert!(self.step(), "nothing happens, and {fence:?} is not passed");
            patience += 1;
            assert!(patience < 1_000_000);
        }
    }

    pub fn fence(&mut self, me: Area, which: Counter) {
        let fence = self.library(me).fence(which);
        self.wait(me, fence);
    }

    pub fn atomic(
        &mut self,
        me: Area,
        home: Area,
        at: u64,
        op: gasnet_ops::home::HomeOp,
        args: [u32; 4],
    ) -> [u32; 3] {
        let handle = self.handle(me, home);
        let cookie = self.library(me).atomic((handle, at), op, args).expect("a good atomic");
        self.ring(me.node);
        loop {
            if let Some(reply) = self.library(me).reply(cookie) {
                return reply.expect("not refused");
            }
            assert!(self.step(), "no reply");
        }
    }

    // ---- time

    fn later(&mut self, node: usize, at: u64, todo: Todo) {
        let at = at.max(self.now);
        self.count += 1;
        self.todo.insert(self.count, (node, todo));
        self.queue.push(Reverse((at, self.count as u64, self.count)));
    }

    fn between(&mut self, (low, high): (u64, u64)) -> u64 {
        low + self.random.u64(..high - low + 1)
    }

    /// Does the next thing. False: there is none.
    pub fn step(&mut self) -> bool {
        let Some(Reverse((at, _, i))) = self.queue.pop() else { return false };
        self.now = at;
        let (node, todo) = self.todo.remove(&i).expect("each once");
        match todo {
            Todo::Doorbell => {
                while let Some(port) = self.nodes[node].bell.answer() {
                    self.nic(node, NicEvent::Doorbell(port));
                }
            }
            Todo::Head(head) => self.nic(node, NicEvent::Head(head)),
            Todo::Packet(head, payload) => self.nic(node, NicEvent::Packet { head, payload }),
            Todo::DmaRead(op, from, mut into, vpn) => {
                self.check_dma(node, from.at.ppn, vpn);
                into.resize(from.len as usize, 0);
                self.nodes[node].memory.read(from.at, &mut into);
                self.nodes[node].dma_bytes += u64::from(from.len);
                self.nic(node, NicEvent::DmaRead { op, data: into });
            }
            Todo::DmaWrite(op, to, data, vpn) => {
                self.check_dma(node, to.ppn, vpn);
                self.nodes[node].memory.write(to, &data);
                self.nodes[node].dma_bytes += data.len() as u64;
                self.nic(node, NicEvent::DmaWritten { op, data });
            }
            Todo::Interrupt(interrupt) => self.host(node, HostEvent::Interrupt(interrupt)),
            Todo::Reply(reply) => self.nic(node, NicEvent::Host(reply)),
            Todo::PageIn(vpn, ppn) if self.nodes[node].stuck.contains(&vpn) => {
                self.nodes[node].held_back.push((vpn, ppn));
            }
            Todo::PageIn(vpn, ppn) => {
                let computer = &mut self.nodes[node];
                let page = computer.store.get(&vpn).cloned().unwrap_or_else(|| vec![0; P as usize]);
                computer.memory.write(FrameAddress { ppn, offset: 0 }, &page);
                self.host(node, HostEvent::PagedIn(ppn));
            }
            Todo::PageOut(vpn, ppn) => {
                let computer = &mut self.nodes[node];
                let mut page = vec![0; P as usize];
                computer.memory.read(FrameAddress { ppn, offset: 0 }, &mut page);
                computer.store.insert(vpn, page);
                self.host(node, HostEvent::PagedOut(ppn));
            }
            Todo::Timer => {
                self.nodes[node].timer = None;
                self.host(node, HostEvent::Timer);
            }
        }
        true
    }

    /// Runs until nothing is left to do.
    pub fn run(&mut self) {
        let mut patience = 0;
        while self.step() {
            patience += 1;
            assert!(patience < 10_000_000, "it goes on for ever");
        }
    }

    /// Lets pages in that were stuck.
    pub fn unstick(&mut self, node: usize) {
        self.nodes[node].stuck.clear();
        for (vpn, ppn) in std::mem::take(&mut self.nodes[node].held_back) {
            self.later(node, 0, Todo::PageIn(vpn, ppn));
        }
    }

    /// Lets packets through that were kept.
    pub fn join(&mut self) {
        self.cut.clear();
        for (node, head, payload) in std::mem::take(&mut self.kept) {
            self.later(node as usize, 0, Todo::Packet(head, payload));
        }
    }

    /// The frame of a DMA is locked, and has been the same page's all the time.
    fn check_dma(&self, node: usize, ppn: Ppn, vpn: Vpn) {
        let computer = &self.nodes[node];
        assert!(computer.nic.table().count(ppn).0 > 0, "DMA in an unlocked frame");
        assert!(computer.host.vm().table().locked(ppn), "a lock that the host cannot see");
        assert_eq!(computer.host.vm().page(ppn), Some(vpn), "the frame has changed its page");
        let state = computer.host.vm().state(ppn);
        assert!(
            matches!(state, FrameState::Active | FrameState::Inactive | FrameState::Leaving),
            "DMA in a frame that is {state:?}"
        );
    }

    pub fn nic(&mut self, node: usize, event: NicEvent) {
        let mut out = Vec::new();
        self.nodes[node].nic.handle(self.now, event, &mut out);
        for action in out {
            self.nic_action(node, action);
        }
    }

    fn nic_action(&mut self, node: usize, action: NicAction) {
        match action {
            NicAction::NicWork(work) => self.nodes[node].work.push(work),
            NicAction::DmaRead { op, from, into } => {
                let vpn = self.nodes[node].host.vm().page(from.at.ppn).expect("a page");
                let at = self.now + self.between(self.weather.dma);
                self.later(node, at, Todo::DmaRead(op, from, into, vpn));
            }
            NicAction::DmaWrite { op, to, data } => {
                let vpn = self.nodes[node].host.vm().page(to.ppn).expect("a page");
                let at = self.now + self.between(self.weather.dma);
                self.later(node, at, Todo::DmaWrite(op, to, data, vpn));
            }
            NicAction::Send { head, payload, .. } => {
                let (sent, rest) = (head.to_bytes(), payload.len());
                assert_eq!(Head::from_bytes(&sent), Ok((head, &[][..])), "it survives the wire");
                assert_eq!(rest, head.payload_len());
                self.packets.push(head);
                if head.kind == netvm_fw::wire::HeadKind::Ack {
                    self.nodes[node].acks_sent += 1;
                }
                if self.cut.contains(&head.to.0) {
                    return self.kept.push((head.to.0, head, payload));
                }
                let twice = self.weather.copies > 0 && self.random.u64(..self.weather.copies) == 0;
                for _ in 0..1 + u64::from(twice) {
                    let at = self.now + self.between(self.weather.wire);
                    if self.weather.early && at > self.now + 10 {
                        self.later(head.to.0 as usize, at - 10, Todo::Head(head));
                    }
                    self.later(head.to.0 as usize, at, Todo::Packet(head, payload.clone()));
                }
            }
            NicAction::Post(port, post) => {
                self.nodes[node].ports[&port].apply(post);
                self.nodes[node].posts.push((port, post));
            }
            NicAction::Interrupt(interrupt) => {
                let at = self.now + self.between(self.weather.interrupt);
                let at = at.max(self.nodes[node].interrupts_free);
                self.nodes[node].interrupts_free = at;
                self.later(node, at, Todo::Interrupt(interrupt));
            }
        }
    }

    pub fn host(&mut self, node: usize, event: HostEvent) {
        let mut out = Vec::new();
        let computer = &mut self.nodes[node];
        computer.host.handle(self.now, event, &computer.memory, &mut out);
        self.host_actions(node, out);
    }

    pub fn host_actions(&mut self, node: usize, actions: Vec<HostAction>) {
        for action in actions {
            match action {
                HostAction::Work(work) => self.nodes[node].host_work.push(work),
                HostAction::Nic(reply) => {
                    let at =
                        (self.now + self.between(self.weather.interrupt)).max(self.nodes[node].replies_free);
                    self.nodes[node].replies_free = at;
                    self.later(node, at, Todo::Reply(reply));
                }
                HostAction::PageIn { vpn, ppn } => {
                    let at = self.now + self.between(self.weather.page_in);
                    self.later(node, at, Todo::PageIn(vpn, ppn));
                }
                HostAction::PageOut { vpn, ppn } => {
                    let at = self.now + self.between(self.weather.page_in);
                    self.later(node, at, Todo::PageOut(vpn, ppn));
                }
                HostAction::Evict { ppn, .. } => {
                    self.nodes[node].memory.write(FrameAddress { ppn, offset: 0 }, &[0xee; PAGE as usize]);
                }
                HostAction::Wake(port) => *self.nodes[node].woken.entry(port).or_default() += 1,
                HostAction::Message { head, payload } => {
                    self.nodes[node].messages.push((head, payload));
                    if !self.nodes[node].hoard {
                        self.host(node, HostEvent::Consumed(head));
                    }
                }
                HostAction::Ready { token, .. } => self.nodes[node].ready.push(token),
                HostAction::Unexported(segment) => self.nodes[node].unexported.push(segment),
                HostAction::Recalled(vpn) => self.nodes[node].recalled.push(vpn),
            }
        }
        if let Some(at) = self.nodes[node].host.next_deadline()
            && self.nodes[node].timer.is_none()
        {
            self.nodes[node].timer = Some(at);
            self.later(node, at, Todo::Timer);
        }
    }
}
