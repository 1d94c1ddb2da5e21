//! Regions: memory that the table does not have, on a network that delays, reorders and duplicates.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};

use netvm_fw::library::Transfer;
use netvm_fw::nic::{NicEvent, NicWork};
use netvm_fw::port::Counter;
use netvm_fw::region::{Refusal, RegionMemory, RegionName};
use netvm_fw::wire::{Head, HeadKind};
use netvm_fw::{Node, PortId};

use crate::rig::{Area, P, Rig, Weather, seeds};

const RANGE: Refusal = Refusal(NonZeroU32::new(3).expect("not 0"));
const USED: Refusal = Refusal(NonZeroU32::new(2).expect("not 0"));
const NAME: RegionName = RegionName { number: 3, secret: 0x5ec2e7 };
const ONCE: RegionName = RegionName { number: 4, secret: 0x01ce };

/// A region of any length, and others that are good for one access.
#[derive(Default)]
struct Regions(Mutex<Held>);

#[derive(Default)]
struct Held {
    bytes: Vec<u8>,
    once: HashMap<u64, Vec<u8>>,
}

impl Regions {
    fn at<R>(
        &self,
        name: RegionName,
        at: u64,
        len: usize,
        f: impl FnOnce(&mut [u8]) -> R,
    ) -> Result<R, Refusal> {
        let mut held = self.0.lock().expect("no panic");
        if name != NAME {
            return Err(Refusal::UNKNOWN);
        }
        let end = (at as usize).checked_add(len).ok_or(RANGE)?;
        held.bytes.get_mut(at as usize..end).map(f).ok_or(RANGE)
    }
}

impl RegionMemory for Regions {
    fn write(&self, to: RegionName, at: u64, bytes: &[u8]) -> Result<(), Refusal> {
        if to.number == ONCE.number {
            let mut held = self.0.lock().expect("no panic");
            let first = !held.once.contains_key(&to.secret);
            held.once.entry(to.secret).or_insert_with(|| bytes.to_vec());
            return if first { Ok(()) } else { Err(USED) };
        }
        self.at(to, at, bytes.len(), |to| to.copy_from_slice(bytes))
    }
    fn read(&self, from: RegionName, at: u64, into: &mut [u8]) -> Result<(), Refusal> {
        self.at(from, at, into.len(), |from| into.copy_from_slice(from))
    }
}

/// Three nodes; node 0 has the regions. The areas of nodes 1 and 2, whose pages are in.
fn rig(weather: Weather, seed: u64, bytes: usize) -> (Rig, Arc<Regions>, [Area; 2]) {
    let mut rig = Rig::new(3, 32, weather, seed);
    let regions = Arc::new(Regions::default());
    regions.0.lock().expect("no panic").bytes = vec![0; bytes];
    rig.port(0, 1, 1);
    rig.nodes[0].nic.open_regions(regions.clone());
    let areas = [1, 2].map(|node| rig.port(node, 1, 8));
    areas.iter().for_each(|area| rig.touch(*area, 0, 8 * P));
    (rig, regions, areas)
}

/// Issues a transfer and waits for it; why it was refused.
fn go(rig: &mut Rig, me: Area, transfer: Transfer, which: Counter) -> Option<Refusal> {
    let first = rig.library(me).fence(which).count;
    rig.issue(me, transfer);
    let fence = rig.library(me).fence(which);
    rig.wait(me, fence);
    rig.library(me).memory().take_denial(which, first, fence.count)
}

fn put(rig: &mut Rig, me: Area, name: RegionName, at: u64, bytes: &[u8]) -> Option<Refusal> {
    rig.poke(me, 5, bytes);
    let here = (rig.handle(me, me), 5);
    let write = Transfer::write_region(here, Node(0), name, at, bytes.len() as u64).acknowledge();
    go(rig, me, write, Counter::Written)
}

fn get(rig: &mut Rig, me: Area, name: RegionName, at: u64, len: usize) -> Result<Vec<u8>, Refusal> {
    let here = (rig.handle(me, me), 4 * P + 9);
    let read = Transfer::write_region(here, Node(0), name, at, len as u64).reading();
    go(rig, me, read, Counter::Reads).map_or_else(|| Ok(rig.peek(me, 4 * P + 9, len)), Err)
}

#[test]
fn reg_07_puts_and_gets_reach_what_the_table_does_not_have() {
    for seed in seeds(20) {
        println!("seed {seed}");
        const LEN: usize = 3 * P as usize + 77;
        let (mut rig, regions, [a, b]) = rig(Weather::ROUGH, seed, LEN);
        let mut copy = vec![0; LEN];
        for i in 0..60 {
            let me = if rig.random.bool() { a } else { b };
            let len = rig.random.usize(1..if i % 5 == 0 { 2 * P as usize } else { 200 });
            let at = rig.random.usize(..LEN - len);
            if rig.random.bool() {
                let bytes: Vec<u8> = (0..len).map(|_| rig.random.u8(..)).collect();
                assert_eq!(put(&mut rig, me, NAME, at as u64, &bytes), None);
                copy[at..at + len].copy_from_slice(&bytes);
            } else {
                assert_eq!(get(&mut rig, me, NAME, at as u64, len).as_deref(), Ok(&copy[at..at + len]));
            }
        }
        while rig.step() {}
        assert!(regions.0.lock().expect("no panic").bytes == copy);
        let home = &rig.nodes[0];
        assert!(home.nic.is_idle() && home.nic.stats().regions >= 60);
        assert_eq!((home.nic.stats().bounces, home.host.stats().interrupts), (0, 0), "the host has no part");
    }
}

#[test]
fn reg_02_who_is_refused_hears_why_and_changes_nothing() {
    for weather in [Weather::CALM, Weather::ROUGH] {
        let (mut rig, regions, [a, _]) = rig(weather, 7, 100);
        assert_eq!(put(&mut rig, a, NAME, 99, &[1, 2]), Some(RANGE));
        assert_eq!(put(&mut rig, a, NAME, 1 << 40, &[1; 200]), Some(RANGE));
        assert_eq!(get(&mut rig, a, NAME, 96, 8), Err(RANGE));
        for bit in 0..64 {
            let other = RegionName { secret: NAME.secret ^ 1 << bit, ..NAME };
            assert_eq!(put(&mut rig, a, other, 0, &[1]), Some(Refusal::UNKNOWN), "bit {bit}");
        }
        assert_eq!(get(&mut rig, a, NAME, 0, 100), Ok(vec![0; 100]));
        assert_eq!(put(&mut rig, a, NAME, 99, &[9]), None);
        assert_eq!(regions.0.lock().expect("no panic").bytes[99], 9);
        // A node without regions, and what is no write or read.
        let here = (rig.handle(a, a), 0);
        let there = Transfer::write_region(here, Node(2), NAME, 0, 1).acknowledge();
        assert_eq!(go(&mut rig, a, there, Counter::Written), Some(Refusal::UNKNOWN));
        while rig.step() {}
        assert!(rig.nodes.iter().all(|n| n.nic.is_idle()));
    }
}

/// Two nodes race for each token, and the network brings packets twice.
#[test]
fn reg_04_of_two_writers_and_their_copies_one_lands() {
    for seed in seeds(30) {
        println!("seed {seed}");
        let (mut rig, regions, [a, b]) = rig(Weather { copies: 2, ..Weather::ROUGH }, seed, 1);
        for token in 0..20 {
            let name = RegionName { secret: ONCE.secret + token, ..ONCE };
            let numbers: Vec<u32> = [a, b]
                .into_iter()
                .map(|me| {
                    rig.poke(me, 0, &[me.node as u8; 150]);
                    let first = rig.library(me).fence(Counter::Written).count;
                    let here = (rig.handle(me, me), 0);
                    rig.issue(me, Transfer::write_region(here, Node(0), name, 0, 150).acknowledge());
                    first
                })
                .collect();
            let refused: Vec<_> = [a, b]
                .into_iter()
                .zip(numbers)
                .map(|(me, first)| {
                    rig.fence(me, Counter::Written);
                    rig.library(me).memory().take_denial(Counter::Written, first, first.wrapping_add(1))
                })
                .collect();
            let winner = refused.iter().position(Option::is_none).expect("one lands") + 1;
            assert_eq!(refused.iter().flatten().collect::<Vec<_>>(), [&USED]);
            assert_eq!(regions.0.lock().expect("no panic").once[&name.secret], [winner as u8; 150]);
        }
    }
}

/// More reads than there are credits for replies: those that wait for one are served, and refused, as well.
#[test]
fn reads_without_a_credit_are_served_later() {
    for seed in seeds(10) {
        let (mut rig, _, [a, b]) = rig(Weather::ROUGH, seed, 100);
        let mut asked = Vec::new();
        for i in 0..200u64 {
            let me = if i % 2 == 0 { a } else { b };
            let at = if i % 3 == 0 { 95 } else { 0 };
            asked.push((me, rig.library(me).fence(Counter::Reads).count, at));
            let here = (rig.handle(me, me), i * 64 % (8 * P));
            rig.issue(me, Transfer::write_region(here, Node(0), NAME, at, 10).reading());
        }
        [a, b].into_iter().for_each(|me| rig.fence(me, Counter::Reads));
        for (me, first, at) in asked {
            let why = rig.library(me).memory().take_denial(Counter::Reads, first, first.wrapping_add(1));
            assert_eq!(why, (at == 95).then_some(RANGE));
        }
        while rig.step() {}
        assert!(rig.nodes.iter().all(|n| n.nic.is_idle()));
    }
}

/// A path that needs no region looks for none.
#[test]
fn reg_10_exported_pages_are_found_without_a_look_at_regions() {
    let (mut rig, _, [a, b]) = rig(Weather::CALM, 1, 100);
    rig.write(a, 0, b, 0, 300);
    while rig.step() {}
    assert!(!rig.nodes[b.node].work.iter().any(|work| matches!(work, NicWork::Region(_))));
}

/// Refusals that nobody waits for are not kept: else a peer could fill the memory of this port.
#[test]
fn forged_refusals_are_not_kept() {
    let (mut rig, _, [a, _]) = rig(Weather::CALM, 1, 100);
    for cookie in 0..1000 {
        let mut head = Head::new(HeadKind::Refused, PortId(1), Node(0), Node(1));
        (head.cookie, head.op, head.notification) = (cookie, HeadKind::Write as u32, 3);
        rig.nodes[1].nic.handle(0, NicEvent::Packet { head, payload: Vec::new() }, &mut Vec::new());
    }
    let memory = rig.library(a).memory().clone();
    assert_eq!(memory.take_denial(Counter::Written, 0, 1000), None);
}
