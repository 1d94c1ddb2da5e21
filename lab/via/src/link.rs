//! One end of a connection: numbers of messages, receives that are known, pieces that have arrived.
//!
//! **Numbers.** Messages of an end are numbered from 0. On a reliable connection message `n` takes the
//! receive that was posted as the `n`-th since the connection began, so each side knows by one count how many
//! messages have a receive: *posted* at the receiver, *limit* at the sender, which lags behind and is never
//! too large. It comes with every message, and when the sender asks.

use crate::terms::{Address, RemoteAttributes, RequestId};
use crate::wire::Packet;
use core::time::Duration;
use gasnet::RegionKey;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Messages of an unreliable connection that are told apart: an older one counts as seen.
const WINDOW: u64 = 64;
/// Messages of an unreliable connection of which pieces are kept.
const PARTS: usize = 16;

/// How far a connection is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Phase {
    /// A request is under way; until when.
    Asking(Option<Duration>),
    /// Waits for the other end's request, being the second of two that want each other.
    Awaiting {
        local: Address,
        remote: Address,
        until: Option<Duration>,
    },
    /// Has said yes to a request, and not heard that the requester knows.
    Accepting(Option<RequestId>),
    Open,
}

/// A message on its way in.
#[derive(Debug, Clone, Default)]
pub(crate) struct Arriving {
    pub(crate) total: u32,
    pub(crate) immediate: Option<u32>,
    /// The bytes of the RDMA write that it announces.
    pub(crate) written: Option<u32>,
    /// Pieces by their first byte.
    pub(crate) pieces: BTreeMap<u32, Vec<u8>>,
    have: usize,
}

impl Arriving {
    /// A message of which nothing has come.
    pub(crate) fn new(total: u32, immediate: Option<u32>, written: Option<u32>) -> Arriving {
        Arriving { total, immediate, written, ..Arriving::default() }
    }

    pub(crate) fn is_whole(&self) -> bool {
        self.have == self.total as usize && !self.pieces.is_empty()
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Link {
    pub(crate) own: u32,
    /// Rank and link of the other end.
    pub(crate) rank: u32,
    pub(crate) theirs: Option<u32>,
    pub(crate) phase: Phase,
    pub(crate) remote: Option<RemoteAttributes>,
    /// Packets that came before the connection was open.
    pub(crate) early: Vec<(Packet, Vec<u8>)>,

    /// Messages sent, and messages that may be sent.
    pub(crate) sent: u64,
    pub(crate) limit: u64,
    /// The message that the peer was asked about, and whether it may take its time.
    pub(crate) asking: Option<(u64, bool)>,
    /// An RDMA write is in progress; the number of reads that are.
    pub(crate) writing: bool,
    pub(crate) reading: u32,
    /// Keys of the peer's memory, by handle and kind of access, with the address of byte 0. `None`: asked.
    pub(crate) grants: FxHashMap<(u32, bool), Option<(RegionKey, u64)>>,

    /// Messages that were taken in, in order; receives posted.
    pub(crate) received: u64,
    pub(crate) posted: u64,
    /// The peer waits for a receive for this message.
    pub(crate) asked: Option<u64>,
    arriving: BTreeMap<u64, Arriving>,
    /// The peer has ended the connection after this many messages.
    pub(crate) bye: Option<u64>,
    /// Of an unreliable connection: one past the latest message that was whole, and which before it were.
    latest: u64,
    seen: u64,
}

impl Link {
    pub(crate) fn new(own: u32, rank: u32, phase: Phase, posted: u64) -> Link {
        Link {
            own,
            rank,
            theirs: None,
            phase,
            remote: None,
            early: Vec::new(),
            sent: 0,
            limit: 0,
            asking: None,
            writing: false,
            reading: 0,
            grants: FxHashMap::default(),
            received: 0,
            posted,
            asked: None,
            arriving: BTreeMap::new(),
            bye: None,
            latest: 0,
            seen: 0,
        }
    }

    /// The peer has posted this many receives.
    pub(crate) fn learn(&mut self, posted: u64) {
        // Packets overtake each other.
        self.limit = self.limit.max(posted);
        if self.asking.is_some_and(|(number, _)| number < self.limit) {
            self.asking = None;
        }
    }

    /// A piece of a message has come. One that has come before is dropped.
    pub(crate) fn piece(&mut self, number: u64, at: u32, bytes: Vec<u8>, head: Arriving, reliable: bool) {
        let known = if reliable { number < self.received } else { self.has_seen(number) };
        let end = (at as usize).saturating_add(bytes.len());
        if known || end > head.total as usize {
            return;
        }
        if !reliable && self.arriving.len() >= PARTS && !self.arriving.contains_key(&number) {
            // A part of the oldest was lost.
            self.arriving.pop_first();
        }
        let message = self.arriving.entry(number).or_insert(head);
        if end <= message.total as usize && !message.pieces.contains_key(&at) {
            message.have += bytes.len();
            message.pieces.insert(at, bytes);
        }
    }

    /// Whether this is the next message in order, and nothing of it has come.
    pub(crate) fn awaits(&self, number: u64) -> bool {
        number == self.received && !self.arriving.contains_key(&number)
    }

    /// The next message in order, if it is whole.
    pub(crate) fn next_in_order(&mut self) -> Option<Arriving> {
        self.arriving.get(&self.received).filter(|m| m.is_whole())?;
        let message = self.arriving.remove(&self.received);
        self.received += 1;
        message
    }

    /// Message `number`, if it is whole; then it is seen.
    pub(crate) fn take_whole(&mut self, number: u64) -> Option<Arriving> {
        self.arriving.get(&number).filter(|m| m.is_whole())?;
        if number >= self.latest {
            let ahead = number + 1 - self.latest;
            self.seen = if ahead < WINDOW { self.seen << ahead } else { 0 };
            self.latest = number + 1;
        }
        self.seen |= 1 << (self.latest - 1 - number);
        self.arriving.remove(&number)
    }

    fn has_seen(&self, number: u64) -> bool {
        match self.latest.checked_sub(number + 1) {
            None => false,
            Some(behind) => behind >= WINDOW || self.seen >> behind & 1 != 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link() -> Link {
        Link::new(1, 0, Phase::Open, 0)
    }

    fn head(total: u32) -> Arriving {
        Arriving { total, ..Arriving::default() }
    }

    /// VIA-9: any order, any repetition: each number is whole once, in order, or once at most.
    #[test]
    fn via_09_numbers_are_taken_once() {
        for seed in 0..200 {
            let mut rng = fastrand::Rng::with_seed(seed);
            let mut packets: Vec<(u64, u32)> = (0..40).flat_map(|n| [(n, 0), (n, 2)]).collect();
            packets.extend_from_within(..);
            rng.shuffle(&mut packets);
            let (mut reliable, mut unreliable) = (link(), link());
            let (mut in_order, mut any) = (Vec::new(), Vec::new());
            for (number, at) in packets {
                let bytes = vec![number as u8; 2];
                reliable.piece(number, at, bytes.clone(), head(4), true);
                while let Some(message) = reliable.next_in_order() {
                    in_order.push(message.pieces[&2][0]);
                }
                unreliable.piece(number, at, bytes, head(4), false);
                any.extend(unreliable.take_whole(number).map(|m| m.pieces[&2][0]));
            }
            assert_eq!(in_order, (0..40).collect::<Vec<u8>>(), "seed {seed}");
            let mut once = any.clone();
            once.sort_unstable();
            once.dedup();
            assert_eq!(once.len(), any.len(), "seed {seed}: {any:?}");
        }
    }

    /// A message behind the window may have been seen.
    #[test]
    fn old_datagrams_are_not_taken() {
        let mut link = link();
        let mut come = |number| {
            link.piece(number, 0, vec![1], head(1), false);
            link.take_whole(number).is_some()
        };
        assert!(come(5) && come(0) && !come(0) && !come(5) && come(1));
        assert!(come(1000) && !come(1000));
        assert!(!come(1000 - WINDOW) && come(1001 - WINDOW) && !come(1001 - WINDOW) && !come(2));
    }

    /// Pieces that reach beyond their message are none.
    #[test]
    fn pieces_are_inside_of_their_messages() {
        let mut link = link();
        link.piece(0, u32::MAX, vec![1; 2], head(4), true);
        link.piece(0, 3, vec![1; 2], head(4), true);
        assert!(link.next_in_order().is_none());
        link.piece(0, 0, Vec::new(), head(0), true);
        assert!(link.next_in_order().is_some_and(|m| m.is_whole()));
    }
}
