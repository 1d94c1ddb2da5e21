//! Random programs of two ranks, against queues of messages.

use super::*;
use std::collections::VecDeque;

/// One end: what was sent to it on this connection and has not come, and counts of descriptors.
#[derive(Default)]
struct End {
    expected: VecDeque<Vec<u8>>,
    /// Where each posted receive begins, in order.
    places: VecDeque<u64>,
    /// Sends and receives.
    posted: [usize; 2],
    taken: [usize; 2],
}

struct Program {
    net: Net,
    vis: [ViId; 2],
    level: Reliability,
    ends: [End; 2],
    /// For each rank: memory to send from, and to receive into.
    memory: [[(MemoryId, Bytes); 2]; 2],
    rng: fastrand::Rng,
    seed: u64,
    messages: usize,
}

impl Program {
    fn new(seed: u64, level: Reliability) -> Program {
        let mut net = Net::new();
        let vis = net.pair(level);
        let memory = [0, 1].map(|r| [(); 2].map(|()| net.memory(r, vec![0; 200], true)));
        let rng = fastrand::Rng::with_seed(seed);
        Program { net, vis, level, ends: Default::default(), memory, rng, seed, messages: 0 }
    }

    fn post_receive(&mut self, r: usize) {
        // Two at most, in halves of the memory: none is overwritten before it is taken.
        if self.ends[r].places.len() == 2 {
            return;
        }
        let at = if self.ends[r].places.front() == Some(&0) { 100 } else { 0 };
        let (len, cut) = (self.rng.u32(60..=100), self.rng.u32(..=60));
        let memory = self.memory[r][1].0;
        let segments = vec![part(memory, at, cut), part(memory, at + u64::from(cut), len - cut)];
        self.net.receive(r, self.vis[r], Descriptor::message(segments));
        self.ends[r].posted[1] += 1;
        self.ends[r].places.push_back(at);
    }

    fn post_send(&mut self, r: usize) {
        // A queued message is read later: one at a time.
        if self.net.machines[r].query_vi(self.vis[r]).expect("a VI").sends > 0 {
            return;
        }
        let len = self.rng.usize(..=60);
        let (memory, bytes) = self.memory[r][0].clone();
        let text: Vec<u8> = (0..len).map(|_| self.rng.u8(..)).collect();
        bytes.borrow_mut()[..len].copy_from_slice(&text);
        let connected = self.net.state(r, self.vis[r]) == ViState::Connected;
        let work = Descriptor { overrun: Overrun::Queue, ..message(memory, 0, len as u32) };
        self.net.send(r, self.vis[r], work);
        self.ends[r].posted[0] += 1;
        if connected {
            self.ends[1 - r].expected.push_back(text);
        }
    }

    fn take(&mut self, r: usize) {
        for is_receive in [false, true] {
            let Polled::Done(c) = self.net.machines[r].poll(self.vis[r], is_receive).expect("a VI") else {
                continue;
            };
            self.ends[r].taken[usize::from(is_receive)] += 1;
            if !is_receive {
                continue;
            }
            let at = self.ends[r].places.pop_front().expect("posted") as usize;
            if !c.errors.is_none() {
                assert_eq!(c.errors, Errors::FLUSHED, "seed {}", self.seed);
                continue;
            }
            let got = self.memory[r][1].1.borrow()[at..][..c.len as usize].to_vec();
            let expected = &mut self.ends[r].expected;
            let found = match self.level.is_reliable() {
                true => (expected.front() == Some(&got)).then_some(0),
                false => expected.iter().position(|text| *text == got),
            };
            let found = found.unwrap_or_else(|| panic!("seed {}: {got:?} was not next", self.seed));
            expected.remove(found);
            self.messages += 1;
        }
    }

    /// Something on its way arrives. Datagrams may be lost, changed, or come twice.
    fn arrive(&mut self) {
        self.net.collect();
        if self.net.flying.is_empty() {
            return;
        }
        let at = self.rng.usize(..self.net.flying.len());
        if let (_, Action::Packet { bytes, datagram: true, .. }) = &mut self.net.flying[at] {
            match self.rng.u8(..10) {
                0 => return drop(self.net.flying.swap_remove(at)),
                1 => {
                    let bit = self.rng.usize(..8 * bytes.len());
                    bytes[bit / 8] ^= 1 << (bit % 8);
                }
                2 | 3 => {
                    let again = self.net.flying[at].clone();
                    self.net.flying.push(again);
                }
                _ => {}
            }
        }
        self.net.deliver(at);
    }

    /// Ends the connection and makes another one.
    fn reconnect(&mut self) {
        let r = self.rng.usize(..2);
        self.net.machines[r].disconnect(self.vis[r]).expect("a VI");
        if self.rng.bool() {
            self.arrive();
        }
        self.net.machines[1 - r].disconnect(self.vis[1 - r]).expect("a VI");
        for r in 0..2 {
            (0..10).for_each(|_| self.take(r));
            assert!(self.ends[r].places.is_empty(), "seed {}: all receives are flushed", self.seed);
            assert!(self.net.reports(r).len() <= 1, "seed {}", self.seed);
            self.ends[r].expected.clear();
        }
        // Packets of the old connection arrive during the new one.
        self.net.collect();
        let old = std::mem::take(&mut self.net.flying);
        self.net.connect(self.vis);
        self.net.flying.extend(old);
    }

    fn check(&self) {
        for r in 0..2 {
            let status = self.net.machines[r].query_vi(self.vis[r]).expect("a VI");
            let End { posted, taken, .. } = &self.ends[r];
            let left = [posted[0] - taken[0], posted[1] - taken[1]];
            assert_eq!([status.sends, status.receives], left, "seed {}", self.seed);
        }
    }
}

/// VIA-2, VIA-9: any order of calls and of packets: reliable messages come exactly once and in order,
/// unreliable ones at most once and intact, also across connections; every descriptor comes back once.
#[test]
fn via_02_via_09_random_programs() {
    for level in LEVELS {
        let mut messages = 0;
        for seed in 0..150 {
            let mut p = Program::new(seed, level);
            for _ in 0..400 {
                let r = p.rng.usize(..2);
                match p.rng.u8(..100) {
                    0 => p.reconnect(),
                    1..=15 => p.post_receive(r),
                    16..=35 => p.post_send(r),
                    36..=55 => p.take(r),
                    _ => p.arrive(),
                }
                p.check();
            }
            // All that is reliable comes in the end.
            for r in (0..2).cycle().take(40) {
                p.post_receive(r);
                p.net.collect();
                while !p.net.flying.is_empty() {
                    p.arrive();
                }
                p.take(r);
            }
            let left = p.ends.each_ref().map(|end| end.expected.len());
            assert!(!level.is_reliable() || left == [0, 0], "seed {seed}: {level:?}, {left:?} have not come");
            messages += p.messages;
        }
        assert!(messages > 3000, "{level:?}: {messages}");
    }
}
