//! A VI over stores and the engine, as the thesis builds it: payload, then an entry with its length, then the
//! word that makes the message exist.

use super::Host;
use gasnet_sim::{Burst, ClanCosts, ENTRY, Immediate, Request, WORD};

/// How a message travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MessageWay {
    /// The processor stores everything.
    Stores,
    /// The engine carries payload and word, behind each other.
    Engine,
}

/// Messages that a receiver has room for.
const SLOTS: u32 = 16;
/// Octets of a connection's part of each memory: the word, the credit and entries; and its small payloads.
const PART: u64 = 512;
/// Where payloads begin. Those of one connection may be larger if it is the only one.
const PAYLOADS: u64 = 64 << 10;
/// Where the engine fetches payloads from.
const SOURCE: u64 = 32 << 10;

/// One end of a connection. Both ends use the same places in their memories.
#[derive(Debug)]
pub(super) struct Connection {
    peer: u32,
    /// Where its words are.
    base: u64,
    octets: usize,
    sent: u32,
    received: u32,
}

impl Connection {
    /// The end of a connection of that number.
    pub(super) fn new(peer: u32, number: u32, octets: usize) -> Connection {
        Connection { peer, base: PART * u64::from(number), octets, sent: 0, received: 0 }
    }

    /// The word that makes a message exist.
    pub(super) fn pointer(&self) -> u64 {
        self.base
    }

    fn credit(&self) -> u64 {
        self.base + 8
    }

    fn entry(&self, message: u32) -> u64 {
        self.base + 16 + u64::from(message % SLOTS) * 16
    }

    fn payload_at(&self, message: u32) -> u64 {
        PAYLOADS
            + self.base * 4
            + u64::from(message % SLOTS) * (self.octets as u64).next_multiple_of(WORD as u64)
    }

    /// The bytes of a message.
    fn payload(&self, message: u32) -> Vec<u8> {
        (0..self.octets).map(|i| (i as u32).wrapping_mul(7).wrapping_add(message) as u8).collect()
    }

    fn entry_of(&self, message: u32) -> [u8; ENTRY] {
        let mut entry = [0; ENTRY];
        entry[..4].copy_from_slice(&(self.octets as u32).to_le_bytes());
        entry[4..8].copy_from_slice(&message.to_le_bytes());
        entry
    }

    fn store(&self, m: &Host<'_>, at: u64, octets: &[u8]) {
        let burst = Burst::new(self.peer, at, octets);
        let busy = m.device(|cards, clock| cards.store(clock, m.id(), burst));
        m.work(busy);
    }

    /// Sends the next message.
    pub(super) fn post(&mut self, m: &Host<'_>, way: MessageWay) {
        self.sent += 1;
        let n = self.sent;
        m.work(costs(m).post_send);
        let payload = self.payload(n);
        if way == MessageWay::Stores {
            if !payload.is_empty() {
                self.store(m, self.payload_at(n), &payload);
            }
            self.store(m, self.entry(n), &self.entry_of(n));
            return self.store(m, self.pointer(), &n.to_le_bytes());
        }
        self.store(m, self.entry(n), &self.entry_of(n));
        let (to, at) = (self.peer, self.payload_at(n));
        if !payload.is_empty() {
            let busy = m.device(|cards, clock| {
                cards.set(m.id(), SOURCE, &payload);
                cards.request(clock, m.id(), Request { to, at, from: SOURCE, len: payload.len() })
            });
            m.work(busy);
        }
        let word = Immediate { to, at: self.pointer(), word: n };
        let busy = m.device(|cards, clock| cards.immediate(clock, m.id(), word));
        m.work(busy);
    }

    /// Takes the next message, when it has come, and touches its payload.
    pub(super) fn receive(&mut self, m: &Host<'_>) {
        self.received += 1;
        let n = self.received;
        m.until("a message", |cards, _| (cards.word(m.id(), self.pointer()) >= n).then_some(()));
        let c = costs(m);
        m.work(c.receive_done);
        let (entry, payload) = m.device(|cards, _| {
            let of = |at: u64, len: usize| cards.memory(m.id())[at as usize..at as usize + len].to_vec();
            (of(self.entry(n), ENTRY), of(self.payload_at(n), self.octets))
        });
        assert_eq!(entry, self.entry_of(n), "the word came before its entry");
        assert_eq!(payload, self.payload(n), "the word came before its payload");
        if self.octets > 0 {
            m.work(c.first_touch + c.touch.bytes(self.octets));
        }
    }

    /// Takes a send's completion.
    pub(super) fn send_done(&self, m: &Host<'_>) {
        m.work(costs(m).send_done);
    }

    /// Posts a buffer for a further message.
    pub(super) fn post_receive(&self, m: &Host<'_>) {
        m.work(costs(m).post_receive);
    }

    /// Says how many messages were taken. Its stores are part of posting a buffer.
    pub(super) fn give_credit(&self, m: &Host<'_>) {
        let burst = Burst::new(self.peer, self.credit(), &self.received.to_le_bytes());
        m.device(|cards, clock| {
            let now = clock.now();
            cards.send(clock, m.id(), burst, now);
        });
    }

    /// Waits until the peer has room for a message.
    pub(super) fn room(&self, m: &Host<'_>) {
        let sent = self.sent;
        m.until("room", |cards, _| (sent - cards.word(m.id(), self.credit()) < SLOTS).then_some(()));
    }

    /// Waits until the peer has taken every message.
    pub(super) fn drained(&self, m: &Host<'_>) {
        let sent = self.sent;
        m.until("the last message", |cards, _| (cards.word(m.id(), self.credit()) == sent).then_some(()));
    }
}

fn costs(m: &Host<'_>) -> ClanCosts {
    m.device(|cards, _| cards.costs())
}
