//! NET-9: operands of atomics that stay on the NIC.

use gasnet_ops::home::{HomeOp, MAX_OPERAND_WORDS};
use netvm_fw::port::Counter;
use netvm_fw::shadow::Geometry;

use crate::rig::{Area, P, Rig, Weather, seeds};
use crate::sync::linearizable;

/// An atomic of one program, and its reply: `None` if it was refused.
fn atomic(rig: &mut Rig, me: Area, home: Area, at: u64, op: HomeOp, args: [u32; 4]) -> Option<u32> {
    let handle = rig.handle(me, home);
    let cookie = rig.library(me).atomic((handle, at), op, args).expect("a good atomic");
    rig.ring(me.node);
    loop {
        if let Some(reply) = rig.library(me).reply(cookie) {
            return reply.map(|words| words[0]);
        }
        assert!(rig.step(), "no reply");
    }
}

fn word(bytes: &[u8]) -> u32 {
    u32::from_le_bytes(bytes[..4].try_into().expect("four bytes"))
}

fn read(rig: &mut Rig, me: Area, home: Area, at: u64) -> u32 {
    rig.read(me, 0, home, at, 4);
    rig.fence(me, Counter::Reads);
    word(&rig.peek(me, 0, 4))
}

#[test]
fn net_09_a_cached_operand_is_neither_fetched_nor_written_back() {
    for operands in [0, 1] {
        let mut rig = Rig::caching(2, Geometry::new(8), Weather::CALM, 1, operands);
        let (me, home) = (rig.port(0, 1, 1), rig.port(1, 1, 1));
        rig.touch(home, 0, P);
        for i in 0..10 {
            assert_eq!(atomic(&mut rig, me, home, 8, HomeOp::Incr, [0; 4]), Some(i));
        }
        rig.run();
        // A fetch, and a write-back when somebody reads; or both each time.
        assert_eq!(rig.nodes[1].dma_bytes, if operands == 0 { 80 } else { 4 });
        assert_eq!(rig.nodes[1].nic.stats().cached, if operands == 0 { 0 } else { 9 });
        assert_eq!(read(&mut rig, me, home, 8), 10);
        assert_eq!(word(&rig.peek(home, 8, 4)), 10);
    }
}

/// `item_28` with cached operands: atomics by several programs on words of more pages than the home has
/// frames for, so hosts take pages back that have operands on the NIC.
#[test]
fn net_09_atomics_are_linearizable_with_cached_operands() {
    const WORDS: u64 = 9;
    let mut written = 0;
    for seed in seeds(200) {
        let operands = 1 + (seed % 8) as u32;
        let mut rig = Rig::caching(3, Geometry::new(4), Weather::ROUGH, seed, operands);
        let mut random = fastrand::Rng::with_seed(seed);
        let home = rig.port(0, 1, WORDS);
        let ports = [rig.port(1, 1, 1), rig.port(2, 1, 1), rig.port(1, 2, 1), rig.port(0, 2, 1)];
        // Some of them are neighbours in a page.
        let place = |w: u64| w / 3 * P + w % 3 * 8;
        let mut histories = vec![Vec::new(); WORDS as usize];
        // (cookie, start, word, op, arguments)
        type Open = (u32, u64, u64, HomeOp, [u32; 4]);
        let mut open: Vec<Option<Open>> = vec![None; ports.len()];
        let mut left = 150;
        while left > 0 || open.iter().any(Option::is_some) {
            for (port, open) in ports.into_iter().zip(&mut open) {
                match *open {
                    None if left > 0 => {
                        let op = HomeOp::ALL[random.usize(..5)];
                        let args = [random.u32(..4), random.u32(..4), 0, 0];
                        let w = random.u64(..WORDS);
                        let handle = rig.handle(port, home);
                        let cookie = rig.library(port).atomic((handle, place(w)), op, args).unwrap();
                        rig.ring(port.node);
                        *open = Some((cookie, rig.now, w, op, args));
                        left -= 1;
                    }
                    Some((cookie, start, w, op, args)) => {
                        if let Some(reply) = rig.library(port).reply(cookie) {
                            let reply = reply.expect("not refused")[0];
                            histories[w as usize].push((start, rig.now, op, args, reply));
                            *open = None;
                        }
                    }
                    None => {}
                }
            }
            rig.step();
            if random.u8(..30) == 0 {
                // Other pages of the home want frames.
                rig.touch(home, (3 + random.u64(..6)) * P, P);
            }
        }
        rig.run();
        for (w, history) in (0..).zip(&histories) {
            let last = read(&mut rig, ports[0], home, place(w));
            assert!(linearizable(history, last), "seed {seed}, word {w}: {history:?}, at last {last}");
        }
        let stats = rig.nodes[0].nic.stats();
        assert!(stats.bounces > 0, "seed {seed}: some took the way round");
        written += stats.cached;
    }
    assert!(written > 1000, "{written} found their operand on the NIC");
}

/// One program's atomics, acknowledged writes and reads of some words, with few frames and a table whose rows
/// are always full: each sees what the ones before have done.
#[test]
fn net_09_other_accesses_see_cached_operands() {
    for seed in seeds(200) {
        let geometry = Geometry { frames: 6, rows: 1, depth: 2 };
        let mut rig = Rig::caching(2, geometry, Weather::ROUGH, seed, 1 + (seed % 4) as u32);
        let mut random = fastrand::Rng::with_seed(seed);
        let (me, home) = (rig.port(0, 1, 1), rig.port(1, 1, 10));
        let mut words = [0u32; 24];
        for step in 0..120 {
            let w = random.usize(..words.len());
            let at = w as u64 / 4 * P + w as u64 % 4 * 4;
            match random.u8(..8) {
                0 => {
                    let value = random.u32(..);
                    rig.poke(me, 64, &value.to_le_bytes());
                    let write = rig.write_of(me, 64, home, at, 4).acknowledge();
                    rig.issue(me, write);
                    rig.fence(me, Counter::Written);
                    words[w] = value;
                }
                1 => assert_eq!(read(&mut rig, me, home, at), words[w], "seed {seed}, step {step}"),
                2 => rig.touch(home, random.u64(..10) * P, P),
                // An operand of four words, which atomics on single words have parts of.
                3 | 4 => {
                    let (first, op) = (w / 4 * 4, HomeOp::Enqueue);
                    assert_eq!(op.operand_words(), 4);
                    let args = [random.u32(1..9), 0, 0, 0];
                    let reply = atomic(&mut rig, me, home, at / P * P, op, args);
                    let mut operand = [0; MAX_OPERAND_WORDS];
                    operand[..4].copy_from_slice(&words[first..first + 4]);
                    assert_eq!(reply, Some(op.apply(&mut operand, args)[0]), "seed {seed}, step {step}");
                    words[first..first + 4].copy_from_slice(&operand[..4]);
                }
                _ => {
                    let old = atomic(&mut rig, me, home, at, HomeOp::Incr, [0; 4]);
                    assert_eq!(old, Some(words[w]), "seed {seed}, step {step}");
                    words[w] = words[w].wrapping_add(1);
                }
            }
        }
    }
}

#[test]
fn net_09_an_export_ends_with_its_operands_in_memory() {
    for seed in seeds(50) {
        let mut rig = Rig::caching(2, Geometry::new(8), Weather::ROUGH, seed, 4);
        let (me, home) = (rig.port(0, 1, 1), rig.port(1, 1, 1));
        for i in 0..5 {
            assert_eq!(atomic(&mut rig, me, home, 8, HomeOp::Incr, [0; 4]), Some(i));
        }
        let mut out = Vec::new();
        assert!(rig.nodes[1].host.unexport(&home.segment, &mut out));
        rig.host_actions(1, out);
        rig.run();
        assert_eq!(rig.nodes[1].unexported, [home.segment]);
        assert_eq!(word(&rig.peek(home, 8, 4)), 5);
        assert_eq!(atomic(&mut rig, me, home, 8, HomeOp::Incr, [0; 4]), None);
    }
}
