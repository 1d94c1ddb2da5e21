//! The reference implementation of one-sided operations and the barrier, over active messages only.
//!
//! It serves every rank whose segment is not mapped here, over any conduit that moves frames. A transfer is cut into fragments
//! that fit a frame; each fragment is one request and one reply, and the operation's [op](crate::event) counts the replies
//! that are missing. Remote atomics run on the target's processor, in its own memory, with the same instructions a neighbour
//! would use, so both kinds mix.
//!
//! **Barrier** among the leaders of neighbourhoods: dissemination. In round `k` leader `l` sends its merged consensus to
//! `l + 2^k`; after `ceil(log2 n)` rounds everybody has heard of everybody. A message belongs to a phase by parity: no leader can be
//! two phases ahead of another.
#![expect(unsafe_code, reason = "copies between segments, message payloads and user memory")]

use crate::am::{Kind, MAX_MEDIUM, Message, Outgoing, Token};
use crate::atomics::{self, Operation};
use crate::barrier::Consensus;
use crate::coll::mail;
use crate::conduit::Channel;
use crate::prim::{AtomicU64, Ordering};
use crate::segment::Place;
use crate::{Rank, RankId, bytes, vis};
use std::sync::Mutex;

const PUT: u8 = 1;
pub(crate) const ACK: u8 = 2;
const GET: u8 = 3;
const DATA: u8 = 4;
const SET: u8 = 5;
const ATOMIC: u8 = 6;
const VALUE: u8 = 7;
const ROUND: u8 = 8;

fn lo(v: u64) -> u32 {
    v as u32
}
fn hi(v: u64) -> u32 {
    (v >> 32) as u32
}
/// A word out of its halves, as arguments carry it.
pub(crate) fn join(lo: u32, hi: u32) -> u64 {
    u64::from(lo) | u64::from(hi) << 32
}

impl Rank {
    fn request(&self, to: RankId, kind: Kind, handler: u8, args: &[u32], payload: (*const u8, usize)) {
        let out = Outgoing { kind, handler, args, src: payload.0, len: payload.1, dst: 0 };
        // SAFETY: callers pass memory that is valid for the call.
        if let Err(e) = unsafe { self.send(Channel::Request, to, out) } {
            self.fatal(&e.to_string());
        }
    }

    fn fragment(&self, to: RankId) -> usize {
        self.max_frame(to, 8).min(MAX_MEDIUM)
    }

    /// Puts in fragments that count in `op`.
    ///
    /// # Safety
    /// 1. `src` is valid for `len` bytes during the call (owed by the caller). 2. The range is in the segment (checked).
    pub(crate) unsafe fn ref_put(&self, op: u32, to: RankId, offset: u64, src: *const u8, len: usize) {
        let step = self.fragment(to);
        let mut done = 0;
        while done < len {
            let n = step.min(len - done);
            let at = offset + done as u64;
            self.ops.add(op);
            self.request(to, Kind::Medium, PUT, &[op, lo(at), hi(at)], (src.wrapping_add(done), n));
            done += n;
        }
    }

    /// Gets in fragments that count in `op`; `dst` is written by reply handlers until the op is done.
    pub(crate) fn ref_get(&self, op: u32, dst: *mut u8, from: RankId, offset: u64, len: usize) {
        let step = self.fragment(from);
        let mut done = 0;
        while done < len {
            let n = step.min(len - done);
            let at = offset + done as u64;
            let to = dst.wrapping_add(done) as u64;
            self.ops.add(op);
            let args = [op, lo(at), hi(at), n as u32, lo(to), hi(to)];
            self.request(from, Kind::Short, GET, &args, (core::ptr::null(), 0));
            done += n;
        }
    }

    pub(crate) fn ref_memset(&self, op: u32, to: RankId, offset: u64, value: u8, len: usize) {
        self.ops.add(op);
        let n = len as u64;
        let args = [op, lo(offset), hi(offset), lo(n), hi(n), u32::from(value)];
        self.request(to, Kind::Short, SET, &args, (core::ptr::null(), 0));
    }

    pub(crate) fn ref_atomic(&self, op: u32, to: RankId, offset: u64, what: Operation, a: u64, b: u64) {
        self.ops.add(op);
        let args = [op, lo(offset), hi(offset), what.encode(), lo(a), hi(a), lo(b), hi(b)];
        self.request(to, Kind::Short, ATOMIC, &args, (core::ptr::null(), 0));
    }

    /// The own bytes a peer asked for; ends the job when they are not in the segment.
    pub(crate) fn own_bytes(&self, token: &Token<'_>, offset: u64, len: usize) -> *mut u8 {
        match self.segments.get().and_then(|t| t.mapped_at(self.id(), offset, len)) {
            Some(Place::Here(p)) => p,
            _ => self.fatal(&format!(
                "rank {} asked for {len} bytes at offset {offset:#x}, outside this segment",
                token.source()
            )),
        }
    }
}

/// Serves a message of the runtime itself.
pub(crate) fn handle(rank: &Rank, token: &Token<'_>, index: u8, m: &Message<'_>) {
    if (mail::FIRST..=mail::LAST).contains(&index) {
        return mail::handle(rank, token, index, m);
    }
    if (vis::FIRST..=vis::LAST).contains(&index) {
        return vis::handle(rank, token, index, m);
    }
    let result = match (index, m.args) {
        (PUT, &[op, olo, ohi]) => {
            let to = rank.own_bytes(token, join(olo, ohi), m.len);
            // SAFETY: own_bytes checked the destination; the payload is valid while the handler runs.
            unsafe { bytes::store(to, m.payload, m.len) };
            token.reply_short(ACK, &[op])
        }
        (ACK, &[op]) => {
            rank.ops.finish(op);
            Ok(())
        }
        (GET, &[op, olo, ohi, n, dlo, dhi]) => {
            let from = rank.own_bytes(token, join(olo, ohi), n as usize);
            // SAFETY: own_bytes checked the source.
            unsafe { token.reply_medium_raw(DATA, &[op, dlo, dhi], from, n as usize) }
        }
        (DATA, &[op, dlo, dhi]) => {
            // SAFETY: the address is the one this rank sent with the request; its owner keeps it valid until the op is done.
            unsafe { core::ptr::copy_nonoverlapping(m.payload, join(dlo, dhi) as *mut u8, m.len) };
            rank.ops.finish(op);
            Ok(())
        }
        (SET, &[op, olo, ohi, nlo, nhi, value]) => {
            let len = join(nlo, nhi) as usize;
            let to = rank.own_bytes(token, join(olo, ohi), len);
            // SAFETY: own_bytes checked the destination.
            unsafe { bytes::fill(to, value as u8, len) };
            token.reply_short(ACK, &[op])
        }
        (ATOMIC, &[op, olo, ohi, what, alo, ahi, blo, bhi]) => {
            let Some(what) = Operation::decode(what) else {
                rank.fatal(&format!("rank {} asked for an unknown atomic operation", token.source()));
            };
            let at = rank.own_bytes(token, join(olo, ohi), what.width());
            // SAFETY: own_bytes checked the word; the initiator checked its alignment.
            let old = unsafe { atomics::apply(at, what, join(alo, ahi), join(blo, bhi)) };
            token.reply_short(VALUE, &[op, lo(old), hi(old)])
        }
        (VALUE, &[op, vlo, vhi]) => {
            // Relaxed: finish publishes it.
            rank.ops.op(op).value.store(join(vlo, vhi), Ordering::Relaxed);
            rank.ops.finish(op);
            Ok(())
        }
        (ROUND, &[parity, round, clo, chi]) => {
            rank.rounds.arrived(parity as usize & 1, round as usize, join(clo, chi));
            Ok(())
        }
        _ => rank.fatal(&format!("rank {} sent an unknown message {index}", token.source())),
    };
    if let Err(e) = result {
        rank.fatal(&e.to_string());
    }
}

/// Marks an arrived round; zero means nothing came yet.
const HERE: u64 = 1 << 63;

/// The state of the dissemination barrier.
pub(crate) struct Rounds {
    inbox: [Vec<AtomicU64>; 2],
    state: Mutex<State>,
    /// Whether a barrier is under way, for polls that have nothing to do.
    active: AtomicU64,
}

#[derive(Default)]
struct State {
    active: bool,
    phase: u32,
    round: usize,
    merged: u64,
}

impl Rounds {
    /// The rounds among this many leaders.
    pub(crate) fn new(leaders: usize) -> Rounds {
        let rounds = leaders.next_power_of_two().trailing_zeros() as usize;
        let inbox = [(); 2].map(|()| (0..rounds).map(|_| AtomicU64::new(0)).collect());
        Rounds { inbox, state: Mutex::default(), active: AtomicU64::new(0) }
    }

    fn arrived(&self, parity: usize, round: usize, word: u64) {
        if let Some(slot) = self.inbox[parity].get(round) {
            // ORDER: Release; pairs with Acquire in advance_rounds: what the sender did before its barrier comes before ours.
            slot.store(word | HERE, Ordering::Release);
        }
    }
}

impl Rank {
    /// All of the neighbourhood have joined a phase with this consensus: has the leader go on.
    pub(crate) fn rounds_begin(&self, all: u64) {
        // ORDER: Release; pairs with Acquire in advance_rounds: what all of the neighbourhood did before their notify is visible.
        self.leader_block().gathered.store(all | HERE, Ordering::Release);
        if self.neighbourhood.leads() {
            self.advance_rounds();
        }
    }

    fn send_round(&self, s: &State) {
        if s.round < self.rounds.inbox[0].len() {
            let (leaders, own) = self.neighbourhood.leaders();
            let to = leaders[(own + (1 << s.round)) % leaders.len()];
            let args = [s.phase & 1, s.round as u32, lo(s.merged), hi(s.merged)];
            self.request(RankId(to), Kind::Short, ROUND, &args, (core::ptr::null(), 0));
        }
    }

    /// On a leader: takes the rounds that have arrived and sends the next ones.
    pub(crate) fn advance_rounds(&self) {
        let own = self.leader_block();
        // Hints: what they miss now they see at a later poll.
        if own.gathered.load(Ordering::Relaxed) == 0 && self.rounds.active.load(Ordering::Relaxed) == 0 {
            return;
        }
        // Busy: another thread does it, or this one further up its stack.
        let Ok(mut s) = self.rounds.state.try_lock() else { return };
        if !s.active {
            // ORDER: Acquire; pairs with Release in rounds_begin.
            let word = own.gathered.swap(0, Ordering::Acquire);
            if word == 0 {
                return;
            }
            (s.active, s.round, s.merged) = (true, 0, word & !HERE);
            self.rounds.active.store(1, Ordering::Relaxed);
            self.send_round(&s);
        }
        while s.active {
            let Some(slot) = self.rounds.inbox[s.phase as usize & 1].get(s.round) else {
                s.active = false;
                self.rounds.active.store(0, Ordering::Relaxed);
                own.barrier.publish(s.phase, s.merged);
                s.phase = s.phase.wrapping_add(1);
                return;
            };
            if slot.load(Ordering::Relaxed) == 0 {
                return;
            }
            // ORDER: Acquire; pairs with Release in `arrived`.
            let word = slot.swap(0, Ordering::Acquire);
            s.merged = Consensus::decode(s.merged).merge(Consensus::decode(word & !HERE)).encode();
            s.round += 1;
            self.send_round(&s);
        }
    }
}
