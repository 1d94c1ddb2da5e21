//! Frames of active messages, and messages between the registration strategies: writes into the receiver's
//! memory, each followed by a notification.
//!
//! For every ordered pair of ranks there are three *lanes*: requests, replies, control. A lane is a ring of
//! bytes, with one copy at the sender (where the core fills in a frame) and one at the receiver; the NIC
//! copies a record from the one to the same position of the other. A *record* starts 8 bytes before a
//! multiple of 64, with a head, so that the frame behind the head is aligned. A record that does not fit
//! before the ring's end goes to its start, and a head at the end says so.
//!
//! **Arrival.** The write of a record raises the lane's notification at the receiver after the bytes are in
//! place: the n-th notification announces the n-th record. **Credit.** The receiver raises a notification at
//! the sender for every quarter of the ring that it has finished; so a frame of at least a quarter always
//! fits once the receiver has polled.
//!
//! Positions count bytes from the start and do not wrap.

use crate::engine::Card;
use crate::region::ExportedMemory;
use crate::side::{MAIL_OFFSET, PeerLocation, Side};
use core::ptr::NonNull;
use gasnet::Error;
use gasnet::conduit::MIN_FRAME;
use netvm_fw::port::PortMemory;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

/// Lanes from one rank to another.
pub(crate) const LANE_COUNT: usize = 3;
/// The lane of control messages.
pub(crate) const CONTROL_LANE: usize = 2;
/// The first event count of the mail; the core has those before it.
pub(crate) const FIRST_EVENT: u32 = 1 + gasnet::sync::port::EVENTS;
/// Bytes of the largest frame.
pub(crate) const MAX_FRAME_BYTES: usize = MIN_FRAME;
/// Bytes of the largest control message.
pub(crate) const MAX_CONTROL_BYTES: usize = 16 << 10;
/// Records start at multiples of this many bytes, minus the head.
const RECORD_ALIGNMENT_BYTES: u64 = 64;
/// Bytes of a record's head.
const RECORD_HEAD_BYTES: u64 = 8;
/// In a head: the rest of the ring is empty.
const SKIP_FLAG: u64 = 1 << 31;

/// Bytes of a ring: room for two of the largest records, and for a quarter that was not given back yet.
fn ring(lane: usize) -> u64 {
    let largest = if lane == CONTROL_LANE { MAX_CONTROL_BYTES } else { MAX_FRAME_BYTES } as u64;
    (2 * (largest + 2 * RECORD_ALIGNMENT_BYTES) * 4 / 3).next_multiple_of(4 * 4096)
}

/// Offset, behind a rank's segment, of its ring for records to or from `peer`.
fn ring_at(peer: u32, incoming: bool, lane: usize) -> u64 {
    let both: u64 = (0..LANE_COUNT).map(ring).sum();
    let before: u64 = (0..lane).map(ring).sum();
    MAIL_OFFSET + (u64::from(peer) * 2 + u64::from(incoming)) * both + before
}

/// Total bytes behind the segment.
pub(crate) fn bytes_behind(size: u32) -> u64 {
    ring_at(size, false, 0)
}

/// The notification of a lane from `peer`: its arrivals, or its credits.
fn event(peer: u32, lane: usize, credit: bool) -> u32 {
    FIRST_EVENT + (peer * LANE_COUNT as u32 + lane as u32) * 2 + u32::from(credit)
}

/// Event counts that a port needs.
pub(crate) fn events(size: u32) -> u32 {
    event(size, 0, false)
}

/// Size of the largest job: a port has 1024 event counts.
pub(crate) fn most_ranks() -> u32 {
    (netvm_fw::notify::EVENT_NUMBERS - FIRST_EVENT) / (2 * LANE_COUNT as u32)
}

/// The sending end of a lane.
#[derive(Default)]
struct SendLane {
    /// A frame is being filled in.
    busy: AtomicBool,
    /// Bytes used so far, and given back so far. Written by the thread that has set `busy`.
    written: AtomicU64,
    freed: AtomicU64,
    /// Credits received so far.
    credits: AtomicU64,
}

/// The receiving ends of a lane, for all peers.
struct ReceiveLanes {
    read: Vec<u64>,
    /// Arrivals handled, and quarters given back.
    seen: Vec<u32>,
    given: Vec<u64>,
    /// The peer that is polled first.
    first: u32,
}

/// A frame's slot in a ring.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Claim {
    pub(crate) to: u32,
    pub(crate) lane: usize,
    pub(crate) len: usize,
    /// Position of the record, behind the skipped bytes.
    at: u64,
    /// Position before it.
    before: u64,
}

impl Claim {
    /// A claim by its [position](Claim::position).
    pub(crate) fn of(to: u32, lane: usize, len: usize, at: u64, skipped: u64) -> Claim {
        Claim { to, lane, len, at, before: at - skipped }
    }

    /// Its position, and the bytes skipped before it.
    pub(crate) fn position(&self) -> (u64, u64) {
        (self.at, self.at - self.before)
    }
}

/// The memory of incoming mail.
#[derive(Clone, Copy)]
pub(crate) struct Inbox<'a> {
    pub(crate) port: &'a PortMemory,
    pub(crate) region: ExportedMemory,
    /// Bytes of the segment.
    pub(crate) segment: u64,
}

/// The mail of a rank.
pub(crate) struct Mail {
    me: u32,
    size: u32,
    out: [Vec<SendLane>; LANE_COUNT],
    inn: [Mutex<ReceiveLanes>; LANE_COUNT],
    /// For each lane, the value of [`Card::raised`] before a poll that left nothing.
    empty_at: [AtomicU64; LANE_COUNT],
}

impl Mail {
    pub(crate) fn new(me: u32, size: u32) -> Mail {
        let n = size as usize;
        let out = [(); LANE_COUNT].map(|()| (0..n).map(|_| SendLane::default()).collect());
        let inn = [(); LANE_COUNT].map(|()| {
            Mutex::new(ReceiveLanes { read: vec![0; n], seen: vec![0; n], given: vec![0; n], first: 0 })
        });
        Mail { me, size, out, inn, empty_at: [const { AtomicU64::new(u64::MAX) }; LANE_COUNT] }
    }

    /// Claims room for a frame, which is filled in and then sent or cancelled. `None`: no room now.
    pub(crate) fn claim(&self, port: &PortMemory, to: u32, lane: usize, len: usize) -> Option<Claim> {
        let out = &self.out[lane][to as usize];
        // ORDER: Acquire; pairs with Release in `end`: positions that the last sender wrote.
        if out.busy.swap(true, Ordering::Acquire) {
            return None;
        }
        let (ring, before) = (ring(lane), out.written.load(Ordering::Relaxed));
        let record = RECORD_ALIGNMENT_BYTES + (len as u64).next_multiple_of(RECORD_ALIGNMENT_BYTES);
        let left = ring - before % ring;
        let at = if record > left { before + left } else { before };
        let mut freed = out.freed.load(Ordering::Relaxed);
        if at + record - freed > ring {
            let signals = port.events.signals(event(to, lane, true));
            let seen = out.credits.load(Ordering::Relaxed);
            out.credits.store(u64::from(signals), Ordering::Relaxed);
            freed += u64::from(signals.wrapping_sub(seen as u32)) * (ring / 4);
            out.freed.store(freed, Ordering::Relaxed);
            if at + record - freed > ring {
                self.end(to, lane);
                return None;
            }
        }
        Some(Claim { to, lane, len, at, before })
    }

    fn end(&self, to: u32, lane: usize) {
        // ORDER: Release; pairs with Acquire in `claim`.
        self.out[lane][to as usize].busy.store(false, Ordering::Release);
    }

    /// Offset, behind the segment, of a claimed frame's bytes.
    fn place(claim: &Claim) -> u64 {
        ring_at(claim.to, false, claim.lane) + claim.at % ring(claim.lane) + RECORD_ALIGNMENT_BYTES
    }

    /// Address of a claimed frame.
    pub(crate) fn buffer(&self, claim: &Claim, side: &Side) -> NonNull<u8> {
        side.region.at(side.behind(Mail::place(claim)), claim.len)
    }

    /// Fills a claimed frame in.
    pub(crate) fn fill(&self, claim: &Claim, side: &Side, bytes: &[u8]) {
        side.region.write(side.behind(Mail::place(claim)), bytes);
    }

    /// Gives a claim back.
    pub(crate) fn cancel(&self, claim: Claim) {
        self.end(claim.to, claim.lane);
    }

    /// Sends a frame that was filled in.
    pub(crate) fn send(&self, claim: Claim, side: &mut Side, card: &Card) {
        let Claim { to, lane, len, at, before } = claim;
        let (out, size) = (&self.out[lane][to as usize], ring(lane));
        let (from, there) = (ring_at(to, false, lane), ring_at(self.me, true, lane));
        let head = |position: u64| position % size + RECORD_ALIGNMENT_BYTES - RECORD_HEAD_BYTES;
        let mark = |position: u64, what: u64| (position / RECORD_ALIGNMENT_BYTES) << 32 | what;
        if at != before {
            let place = head(before);
            side.region.write(side.behind(from + place), &mark(before, SKIP_FLAG).to_le_bytes());
            side.write(
                &card.desks,
                side.behind(from + place),
                to,
                PeerLocation::Behind(there + place),
                RECORD_HEAD_BYTES,
                0,
            );
        }
        let place = head(at);
        side.region.write(side.behind(from + place), &mark(at, len as u64).to_le_bytes());
        let n = event(self.me, lane, false);
        let bytes = RECORD_HEAD_BYTES + len as u64;
        side.write(&card.desks, side.behind(from + place), to, PeerLocation::Behind(there + place), bytes, n);
        out.written.store(
            at + RECORD_ALIGNMENT_BYTES + (len as u64).next_multiple_of(RECORD_ALIGNMENT_BYTES),
            Ordering::Relaxed,
        );
        self.end(to, lane);
    }

    fn receiving(&self, lane: usize) -> Option<MutexGuard<'_, ReceiveLanes>> {
        match self.inn[lane].try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Whether a lane has nothing new since a poll that left nothing; `raised` is from [`Card::raised`].
    #[inline]
    pub(crate) fn is_empty(&self, lane: usize, raised: u64) -> bool {
        self.empty_at[lane].load(Ordering::Relaxed) == raised
    }

    /// Delivers up to `budget` frames of a lane with their senders; returns how many. It calls `credit` for
    /// each quarter of a ring that goes back to a peer; the callback uses [`Mail::give`]. `raised` is as for
    /// [`Mail::is_empty`], and read before this call.
    pub(crate) fn poll(
        &self,
        inbox: Inbox<'_>,
        lane: usize,
        (budget, raised): (usize, u64),
        deliver: &mut dyn FnMut(u32, NonNull<u8>, usize),
        credit: &mut dyn FnMut(u32),
    ) -> Result<usize, Error> {
        let Inbox { port, region, segment } = inbox;
        let Some(mut inn) = self.receiving(lane) else { return Ok(0) };
        let size = ring(lane);
        let mut done = 0;
        let first = inn.first;
        for i in 0..self.size {
            let peer = (first + i) % self.size;
            let p = peer as usize;
            let arrived = port.events.signals(event(peer, lane, false));
            while inn.seen[p] != arrived && done < budget {
                let rings = segment + ring_at(peer, true, lane);
                let mut at = inn.read[p];
                let mut head = load(region, rings + at % size + RECORD_ALIGNMENT_BYTES - RECORD_HEAD_BYTES);
                if head >> 32 == (at / RECORD_ALIGNMENT_BYTES) & 0xffff_ffff && head & SKIP_FLAG != 0 {
                    at += size - at % size;
                    head = load(region, rings + at % size + RECORD_ALIGNMENT_BYTES - RECORD_HEAD_BYTES);
                }
                let len = head & (SKIP_FLAG - 1);
                if head >> 32 != (at / RECORD_ALIGNMENT_BYTES) & 0xffff_ffff || len > size {
                    return Err(Error::Conduit(format!("a frame of rank {peer} arrived out of order")));
                }
                let data = region.at(rings + at % size + RECORD_ALIGNMENT_BYTES, len as usize);
                deliver(peer, data, len as usize);
                done += 1;
                inn.seen[p] = inn.seen[p].wrapping_add(1);
                inn.read[p] = at + RECORD_ALIGNMENT_BYTES + len.next_multiple_of(RECORD_ALIGNMENT_BYTES);
                while inn.read[p] / (size / 4) > inn.given[p] {
                    inn.given[p] += 1;
                    credit(peer);
                }
            }
            if done == budget {
                inn.first = peer + u32::from(inn.seen[p] == arrived);
                return Ok(done);
            }
        }
        self.empty_at[lane].store(raised, Ordering::Relaxed);
        Ok(done)
    }

    /// Gives a quarter of a ring back to its sender.
    pub(crate) fn give(&self, peer: u32, lane: usize, side: &mut Side, card: &Card) {
        // The source may be anything, as the bytes mean nothing. The destination is before the first record's
        // head, where nobody reads.
        let from = side.behind(ring_at(peer, false, lane));
        let to = PeerLocation::Behind(ring_at(self.me, true, lane));
        side.write(&card.desks, from, peer, to, RECORD_HEAD_BYTES, event(self.me, lane, true));
    }
}

/// Messages that wait for room on a lane. They are in order for each peer, and a peer without room does not
/// block the others.
#[derive(Default)]
pub(crate) struct Outbox {
    waiting: VecDeque<(u32, Vec<u8>)>,
    /// Peers without room, during one pass.
    full: Vec<u32>,
}

impl Outbox {
    pub(crate) fn push(&mut self, to: u32, bytes: Vec<u8>) {
        self.waiting.push_back((to, bytes));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Sends the messages that have room; `send` returns whether there was room. Returns how many were sent.
    pub(crate) fn send(&mut self, mut send: impl FnMut(u32, &[u8]) -> bool) -> usize {
        let before = self.waiting.len();
        self.full.clear();
        self.waiting.retain(|(to, bytes)| {
            let stays = self.full.contains(to) || !send(*to, bytes);
            if stays && !self.full.contains(to) {
                self.full.push(*to);
            }
            stays
        });
        before - self.waiting.len()
    }
}

fn load(region: ExportedMemory, offset: u64) -> u64 {
    let mut bytes = [0; 8];
    region.read(offset, &mut bytes);
    u64::from_le_bytes(bytes)
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A rank that computes takes no messages; those to others are sent all the same, and each peer gets its
    /// own in order.
    #[test]
    fn nobody_waits_for_another_rank_s_room() {
        let mut outbox = Outbox::default();
        for i in 0..10 {
            outbox.push(u32::from(i % 3), vec![i]);
        }
        let mut sent = Vec::new();
        let gone = outbox.send(|to, bytes| {
            let room = to != 0 && (to, bytes[0]) != (2, 5);
            if room {
                sent.push(bytes[0]);
            }
            room
        });
        assert_eq!((gone, &sent[..]), (4, &[1, 2, 4, 7][..]));
        assert_eq!(outbox.send(|_, _| false), 0);
        let mut rest = Vec::new();
        let all = outbox.send(|_, bytes| {
            rest.push(bytes[0]);
            true
        });
        assert_eq!((all, &rest[..]), (6, &[0, 3, 5, 6, 8, 9][..]));
        assert!(outbox.is_empty());
    }
}
