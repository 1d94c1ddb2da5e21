//! NET-7 and NET-8: appended queues, into which many nodes write.

use std::collections::VecDeque;

use netvm_fw::append::{AppendEntry, room_for};
use netvm_fw::library::{Append, Transfer};
use netvm_fw::nic::QueuePlace;
use netvm_fw::port::{Counter, PortMemory};
use netvm_fw::{Node, PAGE};
use std::sync::Arc;

use crate::rig::{Area, P, QUEUE_BYTES, Rig, Weather, seeds};

/// Offset of the first queue in the receiver's area; the second one follows.
const QUEUES_AT: u64 = 2 * P;
/// Offset of a sender's message in its own area.
const MESSAGE_AT: u64 = 0;
/// Pages of an area: two pages of data, two queues.
const PAGES: u64 = 2 + 2 * QUEUE_BYTES / P;
const FRAMES: u32 = 64;

/// Opens a port with two appended queues on a node.
fn receiver(rig: &mut Rig, node: usize) -> Area {
    let area = rig.port(node, 1, PAGES);
    rig.touch(area, 0, PAGES * P);
    for number in 0..2 {
        let place = QueuePlace {
            port: area.port,
            address: area.segment.address + QUEUES_AT + u64::from(number) * QUEUE_BYTES,
            bytes: QUEUE_BYTES,
            key: area.segment.key,
            event: 5 + number,
        };
        assert_eq!(rig.nodes[node].nic.open_queue(place), number);
    }
    area
}

/// Opens a port that sends messages of up to two pages.
fn sender(rig: &mut Rig, node: usize) -> Area {
    let area = rig.port(node, 1, 4);
    rig.touch(area, 0, 4 * P);
    area
}

fn memory(rig: &Rig, at: Area) -> Arc<PortMemory> {
    rig.nodes[at.node].ports[&at.port].clone()
}

/// The bytes of a message: the sender, its number, and a pattern.
fn letter(from: usize, number: u32, len: usize) -> Vec<u8> {
    let head = [from as u32, number].map(u32::to_le_bytes).concat();
    head.into_iter().chain((8..len).map(|i| (i as u32 * 7 + number) as u8)).take(len.max(8)).collect()
}

/// Reads the next message of a queue, and frees it.
fn read(rig: &mut Rig, at: Area, queue: u32) -> Option<(AppendEntry, Vec<u8>)> {
    let port = memory(rig, at);
    let arrivals = port.queue(queue).expect("it has queues");
    let entry = arrivals.pop()?;
    let place = QUEUES_AT + u64::from(queue) * QUEUE_BYTES + entry.at % QUEUE_BYTES;
    let bytes = rig.peek(at, place, entry.len as usize);
    if arrivals.free(entry.end()) {
        rig.library(at).room_freed(queue).expect("room in an idle port's queue");
        rig.ring(at.node);
    }
    Some((entry, bytes))
}

/// Sends a message from the sender's area, unless its queue told it to stop. It is then on its way.
fn send(rig: &mut Rig, from: Area, to: Area, queue: u32, bytes: &[u8]) -> bool {
    if memory(rig, from).stops().is_stopped(Node(to.node as u32), queue) {
        return false;
    }
    // The NIC has read the message before this one.
    rig.fence(from, Counter::Commands);
    rig.poke(from, MESSAGE_AT, bytes);
    let (mine, theirs) = (rig.handle(from, from), rig.handle(from, to));
    let mut append = Append::new((mine, MESSAGE_AT), theirs, queue, bytes.len() as u32);
    while !rig.try_append(from, &mut append) {
        assert!(rig.step(), "the command queue stays full");
    }
    true
}

/// Where a sender writes before it sends a message.
fn written_at(who: usize, number: u32) -> u64 {
    1024 * who as u64 + 4 * u64::from(number)
}

/// A network that reorders and repeats, a receiver that reads now and then, senders with messages of all
/// lengths: each message comes once, whole, and in its sender's order; and what the sender wrote before it is
/// in place.
#[test]
fn net_07_order_of_each_sender_is_kept_and_nothing_is_lost() {
    const SENDERS: usize = 4;
    const MESSAGES: u32 = 40;
    for seed in seeds(12) {
        let mut rig = Rig::new(1 + SENDERS as u32, FRAMES, Weather::ROUGH, seed);
        let to = receiver(&mut rig, 0);
        let senders: Vec<Area> = (1..=SENDERS).map(|node| sender(&mut rig, node)).collect();
        let mut sent = [0; SENDERS];
        let mut came = [0; SENDERS];
        let mut patience = 0;
        while came.iter().any(|n| *n < MESSAGES) {
            patience += 1;
            assert!(patience < 2_000_000, "seed {seed}: {came:?} of {sent:?}");
            let who = rig.random.usize(..SENDERS);
            if sent[who] < MESSAGES && rig.random.u32(..8) == 0 {
                let from = senders[who];
                let len = [8, 60, 97, 900, 4096, 8000][rig.random.usize(..6)];
                let number = sent[who] + 1;
                // A write of the number goes before the message.
                rig.fence(from, Counter::Commands);
                rig.poke(from, 3 * P, &number.to_le_bytes());
                rig.write(from, 3 * P, to, written_at(who, number), 4);
                if send(&mut rig, from, to, 0, &letter(who, number, len)) {
                    sent[who] = number;
                }
            }
            if rig.random.u32(..40) == 0
                && let Some((entry, bytes)) = read(&mut rig, to, 0)
            {
                let who = u32::from_le_bytes(bytes[..4].try_into().unwrap()) as usize;
                let number = u32::from_le_bytes(bytes[4..8].try_into().unwrap());
                assert_eq!((entry.from, number), (Node(who as u32 + 1), came[who] + 1), "seed {seed}");
                assert_eq!(bytes, letter(who, number, bytes.len()), "seed {seed}");
                let written = rig.peek(to, written_at(who, number), 4);
                assert_eq!(written, number.to_le_bytes(), "seed {seed}: it overtook a write");
                came[who] = number;
            }
            rig.step();
        }
        rig.run();
        assert!(read(&mut rig, to, 0).is_none(), "seed {seed}");
        assert!(rig.nodes.iter().all(|node| node.nic.is_idle()), "seed {seed}");
        assert_eq!(rig.nodes[0].nic.stats().refused, 0);
    }
}

/// Nobody reads a queue: its senders stop. Their writes and their messages to another queue of the same node
/// go on, since no window waits for the queue's room. When it is read, everything comes.
#[test]
fn net_07_a_full_queue_holds_up_nothing_else_and_recovers() {
    for seed in seeds(6) {
        let mut rig = Rig::new(3, FRAMES, Weather::ROUGH, seed);
        let to = receiver(&mut rig, 0);
        let senders = [sender(&mut rig, 1), sender(&mut rig, 2)];
        let mut sent = [0; 2];
        for round in 0..400 {
            for (who, from) in senders.into_iter().enumerate() {
                if send(&mut rig, from, to, 0, &letter(who, sent[who] + 1, 900)) {
                    sent[who] += 1;
                }
            }
            if round % 4 == 0 {
                rig.run();
            }
        }
        rig.run();
        let kept = rig.nodes[0].nic.kept(0);
        assert!(kept > 0 && kept <= 2 * 8, "seed {seed}: {kept} kept; senders stop soon");
        assert!(sent.iter().all(|n| *n < 400), "seed {seed}: both stop");
        for from in senders {
            assert_eq!(rig.nodes[0].nic.credits(Node(from.node as u32)), 64);
            rig.poke(from, 3 * P, b"through");
            let transfer = rig.write_of(from, 3 * P, to, 64 * from.node as u64, 7).acknowledge();
            rig.issue(from, transfer);
            rig.fence(from, Counter::Written);
            assert_eq!(rig.peek(to, 64 * from.node as u64, 7), b"through");
            assert!(send(&mut rig, from, to, 1, &letter(9, 9, 900)), "the other queue has room");
        }
        rig.run();
        assert!(read(&mut rig, to, 1).is_some() && read(&mut rig, to, 1).is_some());
        let mut came: [VecDeque<u32>; 2] = Default::default();
        while let Some((entry, bytes)) = read(&mut rig, to, 0) {
            came[entry.from.0 as usize - 1].push_back(u32::from_le_bytes(bytes[4..8].try_into().unwrap()));
            rig.run();
        }
        for who in 0..2 {
            assert_eq!(came[who], (1..=sent[who]).collect::<Vec<_>>(), "seed {seed}");
            assert!(send(&mut rig, senders[who], to, 0, &letter(who, 1, 900)), "it goes on");
        }
        rig.run();
        assert_eq!((rig.nodes[0].nic.kept(0), rig.nodes[0].nic.is_idle()), (0, true));
    }
}

/// The sizes of jobs for NET-8.
const JOBS: [u32; 4] = [2, 10, 100, 1000];

/// However many send, the queue has the same size, and every message comes; of those that find it full, what
/// is kept is what was under way when its sender was told to stop.
#[test]
fn net_08_the_memory_of_a_queue_does_not_grow_with_the_job() {
    for nodes in JOBS {
        let mut rig = Rig::new(nodes, 24, Weather::CALM, 3);
        let to = receiver(&mut rig, 0);
        let senders: Vec<Area> = (1..nodes as usize).map(|node| sender(&mut rig, node)).collect();
        let (mut sent, mut came) = (vec![0; senders.len()], vec![0; senders.len()]);
        let mut most = 0;
        while came.iter().any(|n| *n < 3) {
            for (who, from) in senders.iter().enumerate() {
                if sent[who] < 3 && send(&mut rig, *from, to, 0, &letter(who, sent[who] + 1, 500)) {
                    sent[who] += 1;
                }
            }
            rig.run();
            most = most.max(rig.nodes[0].nic.kept(0));
            // The messages in the queue, and those that the NIC had kept.
            while let Some((entry, bytes)) = read(&mut rig, to, 0) {
                let who = entry.from.0 as usize - 1;
                came[who] += 1;
                assert_eq!(bytes, letter(who, came[who], 500));
                rig.run();
            }
        }
        assert!(most <= senders.len(), "{nodes} nodes: {most} kept");
        assert_eq!(rig.nodes[0].nic.stats().refused, 0);
    }
}

/// The page of a message's place is not in the table, as when a full row has pushed it out.
#[test]
fn a_place_whose_page_is_missing_is_brought() {
    for seed in seeds(6) {
        let mut rig = Rig::new(2, FRAMES, Weather::ROUGH, seed);
        let (to, from) = (receiver(&mut rig, 0), sender(&mut rig, 1));
        for page in 0..QUEUE_BYTES / P {
            rig.evict(to, QUEUES_AT + page * P);
        }
        for number in 1..=4 {
            assert!(send(&mut rig, from, to, 0, &letter(0, number, 5000)));
            rig.run();
            assert_eq!(read(&mut rig, to, 0).map(|(_, bytes)| bytes), Some(letter(0, number, 5000)));
        }
        assert!(rig.nodes[0].nic.stats().misses > 0 && rig.nodes[0].nic.is_idle());
        for ppn in (0..FRAMES).map(|i| netvm_fw::Ppn::at(i as usize)) {
            assert_eq!(rig.nodes[0].nic.table().count(ppn).0, 0, "a lock is left");
        }
    }
}

/// Messages that no queue takes are refused, and hold up nothing: a wrong key, no such queue, too long, a
/// port that was closed.
#[test]
fn what_no_queue_takes_is_refused() {
    let mut rig = Rig::new(2, FRAMES, Weather::CALM, 1);
    let (to, from) = (receiver(&mut rig, 0), sender(&mut rig, 1));
    let mine = rig.handle(from, from);
    let mut wrong = to.segment;
    wrong.key.0 ^= 1;
    wrong.address += 1 << 30;
    let wrong = rig.library(from).add_segment(Node(0), wrong);
    let theirs = rig.handle(from, to);
    let cases = [(wrong, 0, 900), (theirs, 7, 900)];
    for (n, (handle, queue, len)) in cases.into_iter().enumerate() {
        assert!(rig.try_append(from, &mut Append::new((mine, 0), handle, queue, len)));
        rig.run();
        assert_eq!(memory(&rig, from).refused(), n as u32 + 1);
    }
    assert!(room_for(4 * PAGE) <= QUEUE_BYTES / 2);
    assert!(send(&mut rig, from, to, 0, &letter(0, 1, 900)), "nothing is held up");
    rig.run();
    assert!(read(&mut rig, to, 0).is_some());
    rig.nodes[0].nic.close_port(to.port);
    assert!(send(&mut rig, from, to, 0, &letter(0, 2, 900)));
    rig.run();
    assert_eq!(memory(&rig, from).refused(), 3);
    assert!(rig.nodes[0].nic.is_idle() && rig.nodes[1].nic.is_idle());
}

/// A sender that begins a message and then another one loses the first; its room comes back.
#[test]
fn a_message_without_its_end_is_passed_over() {
    let mut rig = Rig::new(2, FRAMES, Weather::CALM, 1);
    let (to, from) = (receiver(&mut rig, 0), sender(&mut rig, 1));
    let (mine, theirs) = (rig.handle(from, from), rig.handle(from, to));
    for number in 1..=20 {
        // The queue of commands has room for the first page only.
        let room = rig.library(from).room();
        for _ in 1..room {
            let mut filler = Transfer::write((mine, 3 * P), (theirs, 0), 8);
            assert!(rig.try_issue(from, &mut filler));
        }
        let mut broken = Append::new((mine, 0), theirs, 0, 3 * PAGE);
        assert!(!rig.try_append(from, &mut broken), "part of it");
        rig.run();
        assert!(send(&mut rig, from, to, 0, &letter(0, number, 60)));
        rig.run();
        let (lost, _) = read(&mut rig, to, 0).expect("an entry");
        assert!(lost.lost && lost.len == 3 * PAGE);
        let (entry, bytes) = read(&mut rig, to, 0).expect("the next message");
        assert!(!entry.lost && bytes == letter(0, number, 60));
    }
}

/// A queue's event is raised once for each message.
#[test]
fn an_event_for_each_message() {
    let mut rig = Rig::new(2, FRAMES, Weather::CALM, 1);
    let (to, from) = (receiver(&mut rig, 0), sender(&mut rig, 1));
    memory(&rig, to).events.arm(6);
    for number in 1..=5 {
        assert!(send(&mut rig, from, to, 1, &letter(0, number, 900)));
        rig.run();
    }
    assert_eq!(memory(&rig, to).events.signals(6), 5);
    assert_eq!((memory(&rig, to).events.signals(5), rig.nodes[0].woken.get(&to.port)), (0, Some(&1)));
}
