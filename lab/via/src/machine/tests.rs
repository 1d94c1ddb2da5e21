//! Machines alone: a network of two ranks whose packets the test delivers, in any order.

mod credits;
mod explore;
mod random;

use super::*;
use crate::terms::{Address, Done, MemoryAttributes, MemoryId, Segment, TagId};
use core::time::Duration;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// Which bytes a key opens, and whether for writing and for reading.
type Keys = Rc<RefCell<HashMap<RegionKey, (Bytes, bool, bool)>>>;
type Bytes = Rc<RefCell<Vec<u8>>>;

#[derive(Debug, Clone)]
struct Memory {
    rank: u32,
    bytes: Bytes,
    key: Option<RegionKey>,
    keys: Keys,
}

impl Region for Memory {
    fn len(&self) -> u64 {
        self.bytes.borrow().len() as u64
    }
    fn load(&self, at: u64, into: &mut [u8]) {
        into.copy_from_slice(&self.bytes.borrow()[at as usize..][..into.len()]);
    }
    fn store(&self, at: u64, from: &[u8]) {
        self.bytes.borrow_mut()[at as usize..][..from.len()].copy_from_slice(from);
    }
    fn share(&mut self, write: bool, read: bool) -> Result<(), ViaError> {
        let mut keys = self.keys.borrow_mut();
        if let Some(before) = self.key.take() {
            // Revoked, and known to have been.
            keys.insert(before, (self.bytes.clone(), false, false));
        }
        if write || read {
            let mut bytes = [0; size_of::<RegionKey>()];
            bytes[..4].copy_from_slice(&self.rank.to_le_bytes());
            bytes[4..8].copy_from_slice(&(keys.len() as u32).to_le_bytes());
            let key = bytemuck::pod_read_unaligned(&bytes);
            keys.insert(key, (self.bytes.clone(), write, read));
            self.key = Some(key);
        }
        Ok(())
    }
    fn key(&self) -> Option<RegionKey> {
        self.key
    }
}

/// Two ranks, a NIC handle and a tag at each, and what is on its way.
#[derive(Clone)]
struct Net {
    machines: [Machine<Memory>; 2],
    nics: [NicId; 2],
    tags: [TagId; 2],
    keys: Keys,
    /// By rank: from whom, and what.
    flying: Vec<(usize, Action)>,
}

impl Net {
    fn new() -> Net {
        let mut machines = [Machine::new(0, 2), Machine::new(1, 2)];
        let nics = machines.each_mut().map(|m| m.open_nic());
        let tags = [0, 1].map(|r| machines[r].protection.create_tag(nics[r]));
        Net { machines, nics, tags, keys: Keys::default(), flying: Vec::new() }
    }

    fn collect(&mut self) {
        for rank in 0..2 {
            while let Some(action) = self.machines[rank].next_action() {
                self.flying.push((rank, action));
            }
        }
    }

    /// Delivers, or carries out, something that is on its way.
    fn deliver(&mut self, at: usize) {
        let (rank, action) = self.flying.remove(at);
        match action {
            Action::Packet { to, bytes, datagram } => {
                self.machines[to as usize].packet(rank as u32, &bytes, datagram);
            }
            Action::Write { ticket, key, at, bytes } => {
                let result = self.access(&key, at, bytes.len(), true).map(|memory| {
                    memory.borrow_mut()[at as usize..][..bytes.len()].copy_from_slice(&bytes);
                    bytes
                });
                self.machines[rank].moved(ticket, result);
            }
            Action::Read { ticket, key, at, len } => {
                let len = len as usize;
                let result = self
                    .access(&key, at, len, false)
                    .map(|memory| memory.borrow()[at as usize..][..len].to_vec());
                self.machines[rank].moved(ticket, result);
            }
        }
        self.collect();
    }

    fn access(&self, key: &RegionKey, at: u64, len: usize, write: bool) -> Result<Bytes, RegionError> {
        let keys = self.keys.borrow();
        let Some((bytes, may_write, may_read)) = keys.get(key) else { return Err(RegionError::Revoked) };
        match () {
            () if !may_write && !may_read => Err(RegionError::Revoked),
            () if !(if write { *may_write } else { *may_read }) => Err(RegionError::Access),
            () if at.checked_add(len as u64).is_none_or(|end| end > bytes.borrow().len() as u64) => {
                Err(RegionError::Range)
            }
            () => Ok(bytes.clone()),
        }
    }

    /// Delivers all, the oldest first.
    fn run(&mut self) {
        self.collect();
        while !self.flying.is_empty() {
            self.deliver(0);
        }
    }

    fn memory(&mut self, rank: usize, bytes: Vec<u8>, rdma: bool) -> (MemoryId, Bytes) {
        self.memory_with(
            rank,
            bytes,
            MemoryAttributes { tag: self.tags[rank], rdma_write: rdma, rdma_read: rdma },
        )
    }

    fn memory_with(
        &mut self,
        rank: usize,
        bytes: Vec<u8>,
        attributes: MemoryAttributes,
    ) -> (MemoryId, Bytes) {
        let bytes = Rc::new(RefCell::new(bytes));
        let region = Memory { rank: rank as u32, bytes: bytes.clone(), key: None, keys: self.keys.clone() };
        let id = self.machines[rank].protection.register(self.nics[rank], 0, region, attributes);
        (id.expect("a tag"), bytes)
    }

    fn attributes(&self, rank: usize, reliability: Reliability) -> ViAttributes {
        let rdma_read = reliability.is_reliable();
        let tag = self.tags[rank];
        ViAttributes { reliability, max_transfer: 1000, qos: 0, tag, rdma_write: true, rdma_read }
    }

    fn vi(&mut self, rank: usize, reliability: Reliability) -> ViId {
        let attributes = self.attributes(rank, reliability);
        self.machines[rank].create_vi(self.nics[rank], attributes, None, None).expect("a VI")
    }

    /// A VI at each rank, connected.
    fn pair(&mut self, reliability: Reliability) -> [ViId; 2] {
        let vis = [self.vi(0, reliability), self.vi(1, reliability)];
        self.connect(vis);
        vis
    }

    fn connect(&mut self, vis: [ViId; 2]) {
        let listener = self.machines[1].listen(self.nics[1], b"s").expect("a listener");
        let (local, remote) = (Address::new(0, *b"c"), Address::new(1, *b"s"));
        self.machines[0].request(vis[0], local, remote, None, false).expect("idle");
        self.run();
        let request = self.machines[1].take_request(listener).expect("open").expect("one has come");
        self.machines[1].accept(request.id, vis[1]).expect("they agree");
        self.run();
        self.machines[1].unlisten(listener);
        assert_eq!([0, 1].map(|r| self.state(r, vis[r])), [ViState::Connected; 2]);
    }

    fn state(&self, rank: usize, vi: ViId) -> ViState {
        self.machines[rank].query_vi(vi).expect("a VI").state
    }

    fn send(&mut self, rank: usize, vi: ViId, work: Descriptor) {
        self.machines[rank].post(vi, false, work).expect("room");
    }

    fn receive(&mut self, rank: usize, vi: ViId, work: Descriptor) {
        self.machines[rank].post(vi, true, work).expect("room");
    }

    /// The descriptors that come out of a queue: operation, errors, bytes, number.
    fn taken(&mut self, rank: usize, vi: ViId, is_receive: bool) -> Vec<(Done, Errors, u32, Option<u32>)> {
        let mut all = Vec::new();
        while let Polled::Done(c) = self.machines[rank].poll(vi, is_receive).expect("a VI") {
            all.push((c.done, c.errors, c.len, c.immediate));
        }
        all
    }

    fn reports(&mut self, rank: usize) -> Vec<Report> {
        let nic = self.nics[rank];
        std::iter::from_fn(|| self.machines[rank].next_report(nic)).map(|r| r.report).collect()
    }

    /// Packets with pieces of messages that are on their way.
    fn data(&self) -> usize {
        let is_data = |action: &Action| match action {
            Action::Packet { bytes, datagram, .. } => {
                matches!(wire::decode(bytes, *datagram), Some((Packet::Data { .. }, _)))
            }
            _ => false,
        };
        self.flying.iter().filter(|(_, action)| is_data(action)).count()
    }
}

const LEVELS: [Reliability; 3] = [Reliability::Unreliable, Reliability::Delivery, Reliability::Reception];

fn part(memory: MemoryId, at: u64, len: u32) -> Segment {
    Segment { memory, at, len }
}

fn message(memory: MemoryId, at: u64, len: u32) -> Descriptor {
    Descriptor::message(vec![part(memory, at, len)])
}

/// VIA-1: what is done for each message is not the kernel's; the rest is.
#[test]
fn via_01_posts_and_looks_are_no_slow_calls() {
    let mut net = Net::new();
    let slow = |net: &Net| net.machines.each_ref().map(|m| m.slow_calls);
    let (ours, _) = net.memory(0, vec![1; 100], true);
    let (theirs, _) = net.memory(1, vec![0; 100], true);
    let before = slow(&net);
    let vis = net.pair(Reliability::Reception);
    assert!(slow(&net).iter().zip(before).all(|(after, before)| *after > before));
    let before = slow(&net);
    for _ in 0..10 {
        net.receive(1, vis[1], message(theirs, 0, 100));
        net.send(0, vis[0], message(ours, 0, 100));
        let to = PeerMemory { memory: theirs, at: 0 };
        net.send(0, vis[0], Descriptor::write(vec![part(ours, 0, 7)], to));
        net.run();
        assert_eq!((net.taken(0, vis[0], false).len(), net.taken(1, vis[1], true).len()), (2, 1));
    }
    assert_eq!(slow(&net), before);
    net.machines[0].disconnect(vis[0]).expect("a VI");
    assert_ne!(slow(&net), before);
}

/// VIA-3: a VI has one peer; several pairs between the same ranks do not disturb each other; every completion
/// is reported once.
#[test]
fn via_03_one_peer_a_vi_and_one_entry_a_completion() {
    let mut net = Net::new();
    let (ours, _) = net.memory(0, (0..100).collect(), false);
    let (theirs, bytes) = net.memory(1, vec![0; 100], false);
    let cq = net.machines[1].create_cq(net.nics[1], 100).expect("room");
    let attributes = [0, 1].map(|r| net.attributes(r, Reliability::Delivery));
    let pairs: Vec<[ViId; 2]> = (0..4)
        .map(|_| {
            let client = net.machines[0].create_vi(net.nics[0], attributes[0], None, None).expect("a VI");
            let server = net.machines[1].create_vi(net.nics[1], attributes[1], None, Some(cq)).expect("a VI");
            net.connect([client, server]);
            [client, server]
        })
        .collect();
    let again =
        net.machines[0].request(pairs[0][0], Address::new(0, *b"c"), Address::new(1, *b"s"), None, false);
    assert_eq!(again, Err(ViaError::State(ViState::Connected)));
    for (i, [client, server]) in pairs.iter().enumerate() {
        for _ in 0..=i {
            net.receive(1, *server, message(theirs, 10 * i as u64, 10));
            net.send(0, *client, message(ours, 10 * i as u64, 10));
        }
    }
    net.run();
    assert_eq!(bytes.borrow()[..40], (0..40).collect::<Vec<u8>>());
    let mut seen: HashMap<ViId, usize> = HashMap::new();
    while let Some((vi, is_receive)) = net.machines[1].take_entry(net.nics[1], cq).expect("a queue") {
        assert!(is_receive && matches!(net.machines[1].poll(vi, true), Ok(Polled::Done(_))));
        *seen.entry(vi).or_default() += 1;
    }
    assert!(pairs.iter().enumerate().all(|(i, [_, server])| seen[server] == i + 1), "{seen:?}");
}

/// VIA-4: no registration, another tag, a range that is too long, and RDMA without the permission of the
/// memory or of the VI; nothing is touched.
#[test]
fn via_04_memory_is_protected() {
    for (what, expected) in [
        ("unregistered", Errors::PROTECTION),
        ("another tag", Errors::PROTECTION),
        ("beyond", Errors::PROTECTION),
        ("far beyond", Errors::PROTECTION),
        ("write without permission", Errors::RDMA_PROTECTION),
        ("read without permission", Errors::RDMA_PROTECTION),
        ("remote of another tag", Errors::RDMA_PROTECTION),
        ("remote beyond", Errors::RDMA_PROTECTION),
        ("remote before", Errors::RDMA_PROTECTION),
        ("remote unregistered", Errors::RDMA_PROTECTION),
        ("nothing", Errors::NONE),
    ] {
        let mut net = Net::new();
        let vis = net.pair(Reliability::Delivery);
        let other = [0, 1].map(|r| net.machines[r].protection.create_tag(net.nics[r]));
        let at_other = |r: usize| MemoryAttributes { tag: other[r], rdma_write: true, rdma_read: true };
        let (ours, _) = net.memory(0, vec![7; 10], false);
        let (foreign, _) = net.memory_with(0, vec![7; 10], at_other(0));
        let (open, canary) = net.memory(1, vec![1; 10], true);
        let (closed, closed_canary) = net.memory(1, vec![2; 10], false);
        let (remote_foreign, foreign_canary) = net.memory_with(1, vec![3; 10], at_other(1));
        let here = |memory| vec![part(memory, 0, 10)];
        let to = |memory, at| PeerMemory { memory, at };
        let work = match what {
            "unregistered" => Descriptor::message(here(MemoryId(1 << 20))),
            "another tag" => Descriptor::message(here(foreign)),
            "beyond" => Descriptor::message(vec![part(ours, 1, 10)]),
            "far beyond" => Descriptor::message(vec![part(ours, u64::MAX, 10)]),
            "write without permission" => Descriptor::write(here(ours), to(closed, 0)),
            "read without permission" => Descriptor::read(here(ours), to(closed, 0)),
            "remote of another tag" => Descriptor::write(here(ours), to(remote_foreign, 0)),
            "remote beyond" => Descriptor::write(here(ours), to(open, 1)),
            "remote before" => Descriptor::write(here(ours), to(open, u64::MAX)),
            "remote unregistered" => Descriptor::write(here(ours), to(MemoryId(1 << 20), 0)),
            _ => Descriptor::write(here(ours), to(open, 0)),
        };
        let write = !what.starts_with("read");
        net.send(0, vis[0], work);
        net.run();
        let taken = net.taken(0, vis[0], false);
        assert_eq!((taken.len(), taken[0].1), (1, expected), "{what}");
        let states = [0, 1].map(|r| net.state(r, vis[r]));
        let reports = net.reports(1);
        if expected.is_none() {
            assert_eq!((states, &canary.borrow()[..]), ([ViState::Connected; 2], &[7; 10][..]));
            continue;
        }
        assert_eq!(states, [ViState::Error; 2], "{what}: an error breaks a reliable connection");
        let denied = if write { Report::WriteProtection } else { Report::ReadProtection };
        let asks =
            matches!(what, "remote of another tag" | "remote unregistered") || what.contains("without");
        assert_eq!(reports.contains(&denied), asks, "{what}: {reports:?}");
        for (canary, value) in [(&canary, 1), (&closed_canary, 2), (&foreign_canary, 3)] {
            assert_eq!(canary.borrow()[..], [value; 10], "{what}");
        }
    }
}

/// VIA-4: attributes that change while a peer has the key: it is asked for again, and then refused.
#[test]
fn via_04_changed_attributes_hold_at_once() {
    let mut net = Net::new();
    let vis = net.pair(Reliability::Delivery);
    let (ours, _) = net.memory(0, vec![7; 10], false);
    let (theirs, bytes) = net.memory(1, vec![1; 10], true);
    let write = || Descriptor::write(vec![part(ours, 0, 5)], PeerMemory { memory: theirs, at: 0 });
    let tag = net.tags[1];
    for (rdma_write, expected) in
        [(true, Errors::NONE), (true, Errors::NONE), (false, Errors::RDMA_PROTECTION)]
    {
        net.send(0, vis[0], write());
        net.run();
        assert_eq!(net.taken(0, vis[0], false)[0].1, Errors::NONE);
        bytes.borrow_mut().fill(1);
        let attributes = MemoryAttributes { tag, rdma_write, rdma_read: false };
        net.machines[1].protection.change(net.nics[1], theirs, attributes).expect("a tag");
        // Two are on their way with the old key.
        net.send(0, vis[0], write());
        net.run();
        let taken = net.taken(0, vis[0], false);
        assert_eq!((taken.len(), taken[0].1), (1, expected));
        assert_eq!(bytes.borrow()[0], if rdma_write { 7 } else { 1 });
    }
}

/// VIA-6: an RDMA write with an immediate number takes a receive, whose completion has the number. Later
/// operations on the VI take effect after its bytes.
#[test]
fn via_06_immediate_numbers() {
    for level in LEVELS {
        let mut net = Net::new();
        let vis = net.pair(level);
        let (ours, _) = net.memory(0, (0..100).collect(), false);
        let (theirs, bytes) = net.memory(1, vec![0; 100], true);
        (0..3).for_each(|_| net.receive(1, vis[1], message(theirs, 0, 50)));
        let write = Descriptor::write(vec![part(ours, 60, 40)], PeerMemory { memory: theirs, at: 60 });
        net.send(0, vis[0], write.clone());
        net.run();
        assert_eq!((net.taken(1, vis[1], true), bytes.borrow()[99]), (vec![], 99), "no receive is taken");
        net.send(0, vis[0], write.with_immediate(5));
        net.send(0, vis[0], message(ours, 0, 50).with_immediate(6));
        net.send(0, vis[0], message(ours, 0, 0));
        net.run();
        let none = Errors::NONE;
        assert_eq!(
            net.taken(1, vis[1], true),
            [
                (Done::RemoteWrite, none, 40, Some(5)),
                (Done::Receive, none, 50, Some(6)),
                (Done::Receive, none, 0, None)
            ]
        );
        let sends = [Done::Write, Done::Write, Done::Send, Done::Send];
        assert_eq!(net.taken(0, vis[0], false).iter().map(|t| t.0).collect::<Vec<_>>(), sends);
    }
}

/// A fence waits for earlier reads; without it they are passed.
#[test]
fn a_fence_waits_for_reads() {
    for fence in [false, true] {
        let mut net = Net::new();
        let vis = net.pair(Reliability::Delivery);
        let (ours, _) = net.memory(0, vec![0; 10], false);
        let (theirs, _) = net.memory(1, vec![9; 10], true);
        net.receive(1, vis[1], message(theirs, 0, 10));
        let read = Descriptor::read(vec![part(ours, 0, 5)], PeerMemory { memory: theirs, at: 5 });
        net.send(0, vis[0], read);
        net.send(0, vis[0], Descriptor { fence, ..message(ours, 0, 5) });
        net.collect();
        // All but the read itself.
        while let Some(at) = net.flying.iter().position(|(_, a)| !matches!(a, Action::Read { .. })) {
            net.deliver(at);
        }
        assert_eq!(net.taken(1, vis[1], true).len(), usize::from(!fence));
        assert_eq!(net.taken(0, vis[0], false), [], "they leave in order");
        net.run();
        let taken: Vec<Done> = net.taken(0, vis[0], false).iter().map(|t| t.0).collect();
        assert_eq!(taken, [Done::Read, Done::Send]);
    }
}

/// VIA-7: without a receive an unreliable message is dropped and the connection stays; a reliable one breaks
/// the connection at both ends, is not sent, and nothing after it is processed.
#[test]
fn via_07_overrun_by_level() {
    for level in LEVELS {
        let mut net = Net::new();
        let vis = net.pair(level);
        let (ours, _) = net.memory(0, vec![7; 10], false);
        let (theirs, bytes) = net.memory(1, vec![1; 10], false);
        (0..2).for_each(|_| net.send(0, vis[0], message(ours, 0, 10)));
        net.collect();
        assert_eq!(net.data(), if level.is_reliable() { 0 } else { 2 }, "{level:?}");
        net.run();
        let errors: Vec<Errors> = net.taken(0, vis[0], false).iter().map(|t| t.1).collect();
        net.receive(1, vis[1], message(theirs, 0, 10));
        let late = net.taken(1, vis[1], true);
        if level.is_reliable() {
            assert_eq!(errors, [Errors::TRANSPORT, Errors::FLUSHED]);
            assert_eq!(net.reports(1), [Report::ReceiveQueueEmpty, Report::ConnectionLost]);
            assert_eq!(net.reports(0), [Report::ConnectionLost]);
            assert_eq!([0, 1].map(|r| net.state(r, vis[r])), [ViState::Error; 2]);
            assert_eq!(late, [(Done::Receive, Errors::FLUSHED, 0, None)]);
        } else {
            assert_eq!((errors, late), (vec![Errors::NONE; 2], vec![]));
            assert_eq!([0, 1].map(|r| net.state(r, vis[r])), [ViState::Connected; 2]);
            net.send(0, vis[0], message(ours, 0, 10));
            net.run();
            assert_eq!(net.taken(1, vis[1], true), [(Done::Receive, Errors::NONE, 10, None)]);
        }
        assert_eq!(bytes.borrow()[0], if level.is_reliable() { 1 } else { 7 });
    }
}

/// VIA-8: with delay in the network: a send of `Delivery` is done before its bytes are there, one of
/// `Reception` never.
#[test]
fn via_08_reception_is_told_after_the_bytes() {
    for level in LEVELS {
        let mut net = Net::new();
        let (ours, _) = net.memory(0, vec![7; 100], false);
        let (theirs, bytes) = net.memory(1, vec![1; 100], false);
        let vis = [net.vi(0, level), net.vi(1, level)];
        net.receive(1, vis[1], message(theirs, 0, 100));
        net.connect(vis);
        net.send(0, vis[0], message(ours, 0, 100));
        net.collect();
        let early = net.taken(0, vis[0], false).len();
        assert_eq!(early, usize::from(level != Reliability::Reception), "{level:?}");
        assert_eq!(bytes.borrow()[99], 1);
        while !net.flying.is_empty() {
            net.deliver(net.flying.len() - 1);
            if level == Reliability::Reception && net.taken(0, vis[0], false).len() == 1 {
                assert_eq!(bytes.borrow()[..], [7; 100]);
                return;
            }
        }
        assert_eq!(bytes.borrow()[..], [7; 100]);
    }
}

/// A descriptor that is in registered memory keeps it until the program has taken the descriptor back.
#[test]
fn descriptors_keep_their_own_memory() {
    let mut net = Net::new();
    let (memory, _) = net.memory(0, vec![0; 64], false);
    let vi = net.vi(0, Reliability::Delivery);
    let own = |at| Some(part(memory, at, 64));
    let refused =
        net.machines[0].post(vi, true, Descriptor { own: own(1), cookie: 9, ..Descriptor::message(vec![]) });
    assert!(matches!(refused, Err(ViaError::Parameter(_))), "{refused:?}");
    assert_eq!(net.reports(0), [Report::Descriptor(9)]);
    let nic = net.machines[0].query_vi(vi).expect("a VI").nic;
    net.send(0, vi, Descriptor { own: own(0), ..Descriptor::message(vec![]) });
    let refused = net.machines[0].protection.deregister(nic, memory).map(drop);
    assert!(matches!(refused, Err(ViaError::Resource(_))), "{refused:?}");
    assert_eq!(net.taken(0, vi, false), [(Done::Send, Errors::FLUSHED, 0, None)]);
    net.machines[0].protection.deregister(nic, memory).map(drop).expect("nothing keeps it");
}

/// VIA-10: a message that is longer than the receive writes nothing, not even before its end.
#[test]
fn via_10_a_message_that_is_too_long() {
    for level in LEVELS {
        let mut net = Net::new();
        let vis = net.pair(level);
        let (ours, _) = net.memory(0, vec![7; 2000], false);
        let (theirs, bytes) = net.memory(1, vec![1; 100], false);
        (0..2).for_each(|_| net.receive(1, vis[1], message(theirs, 10, 80)));
        net.send(0, vis[0], message(ours, 0, 80));
        net.send(0, vis[0], message(ours, 0, 81));
        net.run();
        assert_eq!(bytes.borrow()[..], [vec![1; 10], vec![7; 80], vec![1; 10]].concat());
        let taken = net.taken(1, vis[1], true);
        assert_eq!(taken[0].1, Errors::NONE);
        assert_eq!(taken[1], (Done::Receive, Errors::LENGTH, 0, None), "{level:?}");
        let sends: Vec<Errors> = net.taken(0, vis[0], false).iter().map(|t| t.1).collect();
        let told = if level == Reliability::Reception { Errors::REMOTE } else { Errors::NONE };
        assert_eq!(sends, [Errors::NONE, told], "{level:?}");
        let state = if level.is_reliable() { ViState::Error } else { ViState::Connected };
        assert_eq!([0, 1].map(|r| net.state(r, vis[r])), [state; 2]);
    }
    // Longer than the VIs allow.
    let mut net = Net::new();
    let vis = net.pair(Reliability::Delivery);
    let (ours, _) = net.memory(0, vec![7; 2000], false);
    net.send(0, vis[0], message(ours, 0, 1001));
    net.run();
    assert_eq!(net.taken(0, vis[0], false)[0].1, Errors::LENGTH);
}

/// VIA-11: whatever ends a connection, what was posted comes back, and memory is free then.
#[test]
fn via_11_all_that_is_outstanding_is_flushed() {
    for level in LEVELS {
        for how in ["here", "there", "rank gone", "closed"] {
            let mut net = Net::new();
            let vis = net.pair(level);
            let (ours, _) = net.memory(0, vec![7; 10], false);
            let (theirs, _) = net.memory(1, vec![1; 10], true);
            (0..3).for_each(|_| net.receive(0, vis[0], message(ours, 0, 10)));
            net.send(
                0,
                vis[0],
                Descriptor::read(vec![part(ours, 0, 4)], PeerMemory { memory: theirs, at: 0 }),
            );
            (0..2).for_each(|_| {
                net.send(0, vis[0], Descriptor { overrun: Overrun::Queue, ..message(ours, 0, 10) })
            });
            let busy = net.machines[0].protection.deregister(net.nics[0], ours);
            assert!(matches!(busy, Err(ViaError::Resource(_))), "{level:?} {how}");
            match how {
                "here" => net.machines[0].disconnect(vis[0]).expect("a VI"),
                "there" => net.machines[1].disconnect(vis[1]).expect("a VI"),
                "rank gone" => net.machines[0].rank_gone(1),
                _ => net.machines[1].close_nic(net.nics[1]),
            }
            net.run();
            let state = if how == "here" { ViState::Idle } else { ViState::Error };
            assert_eq!(net.state(0, vis[0]), state, "{level:?} {how}");
            let (sends, receives) = (net.taken(0, vis[0], false), net.taken(0, vis[0], true));
            assert_eq!(receives, [(Done::Receive, Errors::FLUSHED, 0, None); 3]);
            assert_eq!(sends.len(), 3, "{level:?} {how}: {sends:?}");
            let last = if level.is_reliable() { Errors::FLUSHED } else { Errors::NONE };
            assert_eq!(sends[2].1, last, "{level:?} {how}");
            assert!(net.machines[0].protection.deregister(net.nics[0], ours).is_ok());
            net.machines[0].disconnect(vis[0]).expect("a VI");
            net.machines[0].destroy_vi(vis[0]).expect("idle and empty");
        }
    }
}

/// Data that was sent before the end comes before the end, even if it is overtaken.
#[test]
fn an_end_does_not_overtake_data() {
    let mut net = Net::new();
    let vis = net.pair(Reliability::Delivery);
    let (ours, _) = net.memory(0, vec![7; 100], false);
    let (theirs, bytes) = net.memory(1, vec![1; 100], false);
    net.receive(1, vis[1], message(theirs, 0, 100));
    net.send(0, vis[0], Descriptor { overrun: Overrun::Queue, ..message(ours, 0, 100) });
    net.run_until_data();
    net.machines[0].disconnect(vis[0]).expect("a VI");
    net.collect();
    while !net.flying.is_empty() {
        net.deliver(net.flying.len() - 1);
    }
    assert_eq!(net.taken(1, vis[1], true), [(Done::Receive, Errors::NONE, 100, None)]);
    assert_eq!((bytes.borrow()[..].to_vec(), net.state(1, vis[1])), (vec![7; 100], ViState::Error));
}

/// An end that overtakes the news of what is in place brings these news itself.
#[test]
fn an_end_tells_what_is_in_place() {
    let mut net = Net::new();
    let vis = net.pair(Reliability::Reception);
    let (ours, _) = net.memory(0, vec![7; 10], false);
    let (theirs, _) = net.memory(1, vec![1; 10], false);
    net.receive(1, vis[1], message(theirs, 0, 10));
    net.send(0, vis[0], message(ours, 0, 10));
    net.run_until_data();
    net.deliver(0);
    assert_eq!(net.taken(1, vis[1], true), [(Done::Receive, Errors::NONE, 10, None)]);
    net.machines[1].disconnect(vis[1]).expect("a VI");
    net.collect();
    while !net.flying.is_empty() {
        net.deliver(net.flying.len() - 1);
    }
    assert_eq!(net.taken(0, vis[0], false), [(Done::Send, Errors::NONE, 10, None)]);
    assert_eq!(net.state(0, vis[0]), ViState::Error);
}

impl Net {
    /// Delivers until data is on its way.
    fn run_until_data(&mut self) {
        self.collect();
        while self.data() == 0 {
            self.deliver(0);
        }
    }
}

/// Ranks are asked for their names; one that has left is not waited for, and a NIC takes its names with it.
#[test]
fn names_are_asked_for() {
    let mut net = Net::new();
    net.machines[1].publish(net.nics[1], "storage".to_string()).expect("a NIC");
    let question = net.machines[0].ask_names(0..2);
    assert_eq!(net.machines[0].answered(question), None);
    net.run();
    let known = net.machines[0].answered(question).expect("answers");
    assert_eq!((known[&0].len(), &known[&1]), (0, &vec!["storage".to_string()]));
    assert_eq!(net.machines[0].answered(question), None);
    net.machines[1].close_nic(net.nics[1]);
    let question = net.machines[0].ask_names(1..2);
    net.run();
    assert_eq!(net.machines[0].answered(question).expect("an answer")[&1].len(), 0);
    let question = net.machines[0].ask_names(1..2);
    assert_eq!(net.machines[0].ranks().collect::<Vec<_>>(), [1]);
    net.machines[0].rank_gone(1);
    assert!(net.machines[0].answered(question).expect("nobody is left").is_empty());
}

/// VIA-13: a post that its completion queue has no place for is refused, whatever was taken from where.
#[test]
fn via_13_a_completion_queue_loses_nothing() {
    let mut net = Net::new();
    let (ours, _) = net.memory(0, vec![7; 10], false);
    let (nic, machine) = (net.nics[0], 0);
    let cq = net.machines[machine].create_cq(nic, 2).expect("room");
    let attributes = net.attributes(0, Reliability::Delivery);
    let vis = [(); 2].map(|()| net.machines[0].create_vi(nic, attributes, Some(cq), Some(cq)).expect("a VI"));
    net.receive(0, vis[0], message(ours, 0, 10));
    // Not connected: flushed at once.
    net.send(0, vis[1], message(ours, 0, 10));
    let refused = net.machines[0].post(vis[1], true, message(ours, 0, 10));
    assert!(matches!(refused, Err(ViaError::Resource(_))));
    assert!(matches!(net.machines[0].resize_cq(nic, cq, 1), Err(ViaError::Resource(_))));
    assert!(matches!(net.machines[0].destroy_cq(nic, cq), Err(ViaError::Resource(_))));
    // A descriptor that was taken before its entry keeps the place.
    assert_eq!(net.taken(0, vis[1], false).len(), 1);
    assert!(net.machines[0].post(vis[1], true, message(ours, 0, 10)).is_err());
    assert_eq!(net.machines[0].take_entry(nic, cq), Ok(Some((vis[1], false))));
    net.receive(0, vis[1], message(ours, 0, 10));
    net.machines[0].resize_cq(nic, cq, 3).expect("more");
    net.send(0, vis[1], message(ours, 0, 10));
    // Entries of a VI go with it.
    net.machines[0].forget_vi(vis[1]);
    assert_eq!(net.machines[0].take_entry(nic, cq), Ok(None));
    net.machines[0].resize_cq(nic, cq, 1).expect("one receive is posted");
    net.machines[0].forget_vi(vis[0]);
    net.machines[0].destroy_cq(nic, cq).expect("not used");
    assert!(net.machines[0].protection.deregister(nic, ours).is_ok(), "nothing holds the memory");
}

/// VIA-14: the answers to a request are told apart, and an accept that does not fit leaves it there.
#[test]
fn via_14_answers_are_told_apart() {
    let mut net = Net::new();
    let addresses = || (Address::new(0, *b"c"), Address::new(1, *b"s"));
    let vi = net.vi(0, Reliability::Delivery);
    let (ours, _) = net.memory(0, vec![7; 10], false);
    net.receive(0, vi, message(ours, 0, 10));
    let ask = |net: &mut Net, until| {
        let (local, remote) = addresses();
        net.machines[0].request(vi, local, remote, until, false).expect("idle");
        assert_eq!(net.state(0, vi), ViState::Pending);
        net.run();
    };
    let outcome = |net: &Net| net.machines[0].outcome(vi).expect("a VI");
    ask(&mut net, None);
    assert_eq!(outcome(&net), Some(Err(ViaError::NoMatch)), "nobody listens");
    let nic = net.nics[1];
    let listener = net.machines[1].listen(nic, b"s").expect("a listener");
    ask(&mut net, None);
    assert_eq!(outcome(&net), None);
    let request = net.machines[1].take_request(listener).expect("open").expect("one");
    assert_eq!(request.from, Address::new(0, *b"c"));
    // Three servers that do not fit, one that is no VI at all, and one that is not idle.
    let fits = net.attributes(1, Reliability::Delivery);
    let refused = [
        (ViAttributes { reliability: Reliability::Reception, ..fits }, ViaError::Reliability),
        (ViAttributes { max_transfer: 999, ..fits }, ViaError::TransferSize),
        (ViAttributes { qos: 1, ..fits }, ViaError::Qos),
    ];
    let server = net.machines[1].create_vi(nic, fits, None, None).expect("a VI");
    for (attributes, why) in refused {
        net.machines[1].change_vi(server, attributes).expect("idle");
        assert_eq!(net.machines[1].accept(request.id, server), Err(why));
        net.run();
        assert_eq!((outcome(&net), net.state(1, server)), (None, ViState::Idle), "the client hears nothing");
    }
    assert!(net.machines[1].accept(request.id, ViId(99)).is_err());
    net.machines[1].change_vi(server, fits).expect("idle");
    net.machines[1].reject(request.id).expect("it is there");
    net.run();
    assert_eq!(outcome(&net), Some(Err(ViaError::Rejected)));
    assert_eq!(net.machines[1].accept(request.id, server), Err(ViaError::Timeout));
    // The time is up, before the server answers, and while its answer is under way.
    for crossing in [false, true] {
        ask(&mut net, Some(Duration::from_secs(5)));
        let request = net.machines[1].take_request(listener).expect("open").expect("one");
        if crossing {
            net.machines[1].accept(request.id, server).expect("it fits");
        }
        net.machines[0].tick(Duration::from_secs(4));
        assert_eq!(outcome(&net), None);
        net.machines[0].tick(Duration::from_secs(5));
        assert_eq!((outcome(&net), net.state(0, vi)), (Some(Err(ViaError::Timeout)), ViState::Idle));
        net.run();
        if crossing {
            assert_eq!(net.machines[1].outcome(server), Ok(Some(Err(ViaError::Timeout))));
            assert_eq!(net.state(1, server), ViState::Idle);
        } else {
            assert_eq!(net.machines[1].accept(request.id, server), Err(ViaError::Timeout));
        }
    }
    // A server that goes away.
    ask(&mut net, None);
    net.machines[1].unlisten(listener);
    net.run();
    assert_eq!(outcome(&net), Some(Err(ViaError::NoMatch)));
    assert_eq!(net.machines[0].query_vi(vi).expect("a VI").receives, 1, "receives stay");
    let (local, _) = addresses();
    let nowhere = net.machines[0].request(vi, local, Address::new(2, *b""), None, false);
    assert_eq!(nowhere, Err(ViaError::Gone));
}

/// VIA-14: peers find each other whoever asks first, do not if they disagree, and time is up for one alone.
#[test]
fn via_14_peers() {
    let addresses = [Address::new(0, *b"z"), Address::new(1, *b"a")];
    let until = Some(Duration::from_secs(1));
    for first in [0, 1] {
        for late in [false, true] {
            for levels in [[Reliability::Delivery; 2], [Reliability::Delivery, Reliability::Reception]] {
                let mut net = Net::new();
                let vis = [net.vi(0, levels[0]), net.vi(1, levels[1])];
                for r in [first, 1 - first] {
                    let (local, remote) = (addresses[r].clone(), addresses[1 - r].clone());
                    net.machines[r].request(vis[r], local, remote, until, true).expect("idle");
                    if late {
                        net.run();
                    }
                }
                net.run();
                let outcomes = [0, 1].map(|r| net.machines[r].outcome(vis[r]).expect("a VI"));
                if levels[0] == levels[1] {
                    assert!(outcomes.iter().all(|o| matches!(o, Some(Ok(_)))), "{outcomes:?}");
                } else {
                    assert_eq!(outcomes, [Some(Err(ViaError::Reliability)); 2]);
                }
            }
        }
        let mut net = Net::new();
        let vi = net.vi(first, Reliability::Delivery);
        let (local, remote) = (addresses[first].clone(), addresses[1 - first].clone());
        net.machines[first].request(vi, local, remote, until, true).expect("idle");
        net.run();
        net.machines[first].tick(Duration::from_secs(2));
        assert_eq!(net.machines[first].outcome(vi), Ok(Some(Err(ViaError::Timeout))));
        net.run();
        // The other one comes too late, and does not meet it.
        let other = net.vi(1 - first, Reliability::Delivery);
        let (local, remote) = (addresses[1 - first].clone(), addresses[first].clone());
        net.machines[1 - first].request(other, local, remote, until, true).expect("idle");
        net.run();
        assert_eq!(net.machines[1 - first].outcome(other), Ok(None));
    }
}

/// VIA-17: what a send does without a receive is its own choice.
#[test]
fn via_17_modes_of_sends() {
    let mut net = Net::new();
    let vis = net.pair(Reliability::Delivery);
    let (ours, _) = net.memory(0, vec![7; 10], false);
    let (theirs, _) = net.memory(1, vec![1; 10], false);
    let work = |overrun| Descriptor { overrun, ..message(ours, 0, 10) };
    assert_eq!(net.machines[0].post(vis[0], false, work(Overrun::Refuse)), Err(ViaError::WouldBlock));
    net.run();
    assert_eq!(net.machines[0].query_vi(vis[0]).expect("a VI").sends, 0, "nothing was posted");
    // It is told as soon as there is one.
    net.receive(1, vis[1], message(theirs, 0, 10));
    net.run();
    net.send(0, vis[0], work(Overrun::Refuse));
    (0..2).for_each(|_| net.send(0, vis[0], work(Overrun::Queue)));
    assert_eq!(net.machines[0].post(vis[0], false, work(Overrun::Refuse)), Err(ViaError::WouldBlock));
    net.run();
    assert_eq!((net.taken(0, vis[0], false).len(), net.taken(1, vis[1], true).len()), (1, 1));
    for _ in 0..2 {
        net.receive(1, vis[1], message(theirs, 0, 10));
        net.run();
        assert_eq!((net.taken(0, vis[0], false).len(), net.taken(1, vis[1], true).len()), (1, 1));
    }
    assert_eq!([0, 1].map(|r| net.state(r, vis[r])), [ViState::Connected; 2]);
    net.send(0, vis[0], work(Overrun::Break));
    net.run();
    assert_eq!([0, 1].map(|r| net.state(r, vis[r])), [ViState::Error; 2]);
    let unreliable = net.pair(Reliability::Unreliable);
    assert!(net.machines[0].post(unreliable[0], false, work(Overrun::Refuse)).is_err());
}

/// Bytes that are no packet, and packets of links that there are not, change nothing.
#[test]
fn nonsense_is_dropped() {
    let mut net = Net::new();
    let vis = net.pair(Reliability::Reception);
    let mut rng = fastrand::Rng::with_seed(4);
    for _ in 0..20_000 {
        let mut bytes = vec![0; rng.usize(..40)];
        rng.fill(&mut bytes);
        // Of a third rank, or of one whose packets are known.
        net.machines[1].packet(rng.u32(..3), &bytes, rng.bool());
    }
    let _ = net.reports(1);
    net.collect();
    assert_eq!(net.state(0, vis[0]), ViState::Connected);
}
