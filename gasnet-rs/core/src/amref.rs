//! The reference implementation of one-sided operations and the barrier, over active messages only.
//!
//! It serves every rank whose segment is not mapped here, over any conduit that moves frames. A transfer is
//! cut into fragments that fit a frame; each fragment is one request and one reply. No address travels:
//! requests name a [transfer](crate::transfer) and its pieces, and answers are checked against what it
//! expects. Remote atomics run on the target's processor, in its own memory, with the same instructions a
//! neighbour would use, so both kinds mix.
#![expect(unsafe_code, reason = "copies between segments, message payloads and user memory")]

use crate::atomics::Operation;
use crate::{Rank, RankId};
use gasnet_wire::am::{Kind, MAX_MEDIUM, Message, Outgoing, Served, Token, hi, join, lo, nonsense};
use gasnet_wire::apply::{apply, put_old};
use gasnet_wire::bytes;
use gasnet_wire::conduit::Channel;
use gasnet_wire::event::{REMOTE, Refused};
use gasnet_wire::transfer::{self, Answer, FarAccess, MAX_PIECES, Name, Plan};

/// Numbers of this module's messages among the core's own.
pub(crate) const FIRST: u8 = PUT;
const PUT: u8 = 1;
pub(crate) const ACK: u8 = 2;
const GET: u8 = 3;
pub(crate) const DATA: u8 = 4;
const SET: u8 = 5;
const ATOMIC: u8 = 6;
pub(crate) const VALUE: u8 = 7;
/// The last of them.
pub(crate) const LAST: u8 = VALUE;

/// The purpose of a request, in words.
fn name(handler: u8) -> &'static str {
    match handler {
        PUT => "a put",
        GET => "a get",
        SET => "a memset",
        ATOMIC => "an atomic operation",
        _ => "a message of the runtime",
    }
}

impl Rank {
    /// [`Rank::message`](crate::Rank::message), of the one piece of a new transfer; `args` gets the piece's
    /// name.
    fn message_of_one<const N: usize>(
        &self,
        at: &FarAccess,
        plan: &Plan,
        handler: u8,
        args: impl FnOnce([u32; 2]) -> [u32; N],
    ) -> Result<(), Refused> {
        let name = self.transfer(plan);
        let sent = self.wire.message(at.peer, handler, &args(name.piece(0)), at.immediate);
        sent.inspect_err(|_| self.cancel_transfer(plan, name))
    }

    fn fragment(&self, to: RankId) -> usize {
        self.wire.max_frame(to, 8).min(MAX_MEDIUM)
    }

    /// Enters a transfer that `op` counts as one, waiting for room in the table if there is none.
    pub(crate) fn transfer(&self, plan: &Plan) -> Name {
        self.wire.ops.add(plan.op, REMOTE);
        let mut waiter = None;
        loop {
            if let Some(name) = self.wire.transfers.start(plan) {
                return name;
            }
            if !self.wire.make_room(Channel::Request, plan.peer, &mut waiter) {
                self.wire.fatal_started("a put, get or atomic operation", plan.peer);
            }
        }
    }

    /// Takes back a transfer that was refused.
    fn cancel_transfer(&self, plan: &Plan, name: Name) {
        self.wire.transfers.cancel(name);
        self.wire.ops.finish(plan.op, REMOTE);
    }

    /// Cuts a put or get up into transfers, and these into pieces: `send` gets the name of each, where it
    /// begins, its bytes, and whether it may be refused, as the first one may.
    #[inline]
    pub(crate) fn in_pieces(
        &self,
        all: FarAccess,
        plan: Plan,
        mut send: impl FnMut([u32; 2], usize, usize, bool) -> Result<(), Refused>,
    ) -> Result<(), Refused> {
        let step = self.fragment(plan.peer);
        let mut done = 0;
        while done < all.len {
            let part = (all.len - done).min(step * MAX_PIECES as usize);
            let pieces = part.div_ceil(step) as u32;
            // An answer without data has no bytes to be counted.
            let (part_len, step_len) = if plan.answer == Answer::Data { (part, step) } else { (0, 0) };
            let at = plan.at.wrapping_add(done);
            let plan = Plan { at, len: part_len, step: step_len, pieces, ..plan };
            let name = self.transfer(&plan);
            for piece in 0..pieces {
                let n = step.min(all.len - done);
                let first = done == 0;
                if send(name.piece(piece), done, n, all.immediate && first).is_err() {
                    self.cancel_transfer(&plan, name);
                    return Err(Refused);
                }
                done += n;
            }
        }
        Ok(())
    }

    /// Puts in fragments that count in an op. The source has been read on return.
    ///
    /// # Safety
    /// 1. `src` is valid for the transfer's length during the call (owed by the caller). 2. The range is in
    ///    the segment (checked).
    pub(crate) unsafe fn ref_put(&self, put: FarAccess, src: *const u8) -> Result<(), Refused> {
        let plan = Plan::message(put.peer, put.op, Answer::Done);
        self.in_pieces(put, plan, |[name, generation], done, n, immediate| {
            let at = put.offset + done as u64;
            let args = [name, generation, lo(at), hi(at)];
            let (kind, src) = (Kind::Medium, src.wrapping_add(done));
            let out = Outgoing { kind, handler: PUT, args: &args, src, len: n, dst: 0 };
            // SAFETY: (1).
            unsafe { self.wire.message_with(put.peer, out, immediate) }
        })
    }

    /// Gets in fragments that count in an op; `dst` is written by reply handlers until that is complete.
    ///
    /// # Safety
    /// 1. `dst` is valid for the transfer's length and used by nobody until the op is complete (owed by the
    ///    caller).
    pub(crate) unsafe fn ref_get(&self, get: FarAccess, dst: *mut u8) -> Result<(), Refused> {
        let plan = Plan { at: dst, ..Plan::message(get.peer, get.op, Answer::Data) };
        self.in_pieces(get, plan, |[name, generation], done, n, immediate| {
            let at = get.offset + done as u64;
            let args = [name, generation, lo(at), hi(at), n as u32];
            self.wire.message(get.peer, GET, &args, immediate)
        })
    }

    pub(crate) fn ref_memset(&self, set: FarAccess, value: u8) -> Result<(), Refused> {
        let (offset, n) = (set.offset, set.len as u64);
        let plan = Plan::message(set.peer, set.op, Answer::Done);
        self.message_of_one(&set, &plan, SET, |[name, generation]| {
            [name, generation, lo(offset), hi(offset), lo(n), hi(n), u32::from(value)]
        })
    }

    /// An atomic operation as a fragment of an op; the old value goes to `result`, unless that is null.
    ///
    /// # Safety
    /// 1. `result` is valid for as many bytes as the word has, and used by nobody until the op is complete,
    ///    or null (owed by the caller).
    pub(crate) unsafe fn ref_atomic(
        &self,
        at: FarAccess,
        what: Operation,
        [a, b]: [u64; 2],
        result: *mut u8,
    ) -> Result<(), Refused> {
        let answer = if what.width() == 4 { Answer::Half } else { Answer::Value };
        let plan = Plan { at: result, ..Plan::message(at.peer, at.op, answer) };
        self.message_of_one(&at, &plan, ATOMIC, |[name, generation]| {
            let offset = at.offset;
            [name, generation, lo(offset), hi(offset), what.encode(), lo(a), hi(a), lo(b), hi(b)]
        })
    }

    /// The piece that a message answers; ends the job when none is to be answered so.
    pub(crate) fn answered(
        &self,
        token: &Token<'_>,
        name: [u32; 2],
        answer: Answer,
        len: usize,
    ) -> transfer::AnsweredPiece {
        let (from, from_reply) = (token.source(), !token.is_request());
        let piece = if from_reply {
            self.wire.transfers.answered(name, from, answer, len)
        } else {
            Err("as no answer is sent")
        };
        piece.unwrap_or_else(|why| {
            let [number, generation] = name;
            self.fatal(&format!(
                "rank {from} sent an answer ({answer:?}, {len} bytes) to a transfer {why}: {number:#x}, generation {generation}. A frame \
                 was forged, repeated or corrupted"
            ))
        })
    }

    /// A piece's answer has been dealt with.
    pub(crate) fn piece_done(&self, piece: &transfer::AnsweredPiece) {
        if let Some(op) = self.wire.transfers.done(piece) {
            self.wire.ops.finish(op, REMOTE);
        }
    }

    /// The own bytes a peer asked for; ends the job when they are not in the segment.
    pub(crate) fn own_bytes(&self, token: &Token<'_>, offset: u64, len: usize) -> *mut u8 {
        self.wire.own_place(offset, len).unwrap_or_else(|| {
            self.fatal(&format!(
                "rank {} asked for {len} bytes at offset {offset:#x}, outside this segment",
                token.source()
            ))
        })
    }
}

/// Who serves the messages of this module.
pub(crate) const MESSAGES: Served = Served {
    handle: |wire, token, index, m| handle(Rank::of(wire), token, index, m),
    lost: |wire, to, handler| wire.fatal_started(name(handler), to),
};

fn handle(rank: &Rank, token: &Token<'_>, index: u8, m: &Message<'_>) {
    let asked = token.is_request();
    use Kind::{Medium, Short};
    let result = match (index, m.kind, m.args) {
        (PUT, Medium, &[name, generation, olo, ohi]) if asked => {
            let to = rank.own_bytes(token, join(olo, ohi), m.len);
            // SAFETY: own_bytes checked the destination; the payload is valid while the handler runs.
            unsafe { bytes::store(to, m.payload, m.len) };
            token.answer(ACK, &[name, generation])
        }
        (ACK, Short, &[name, generation]) => {
            let piece = rank.answered(token, [name, generation], Answer::Done, m.len);
            rank.piece_done(&piece);
            Ok(())
        }
        (GET, Short, &[name, generation, olo, ohi, n]) if asked => {
            let from = rank.own_bytes(token, join(olo, ohi), n as usize);
            // SAFETY: own_bytes checked the source.
            unsafe { token.answer_with(DATA, &[name, generation], from, n as usize) }
        }
        (DATA, Medium, &[name, generation]) => {
            let piece = rank.answered(token, [name, generation], Answer::Data, m.len);
            // SAFETY: the piece is this handler's, and its memory is valid until it is done: `ref_get` was
            // promised so. The payload has as many bytes.
            unsafe { core::ptr::copy_nonoverlapping(m.payload, piece.at, piece.len) };
            rank.piece_done(&piece);
            Ok(())
        }
        (SET, Short, &[name, generation, olo, ohi, nlo, nhi, value]) if asked => {
            let len = join(nlo, nhi) as usize;
            let to = rank.own_bytes(token, join(olo, ohi), len);
            // SAFETY: own_bytes checked the destination.
            unsafe { bytes::fill(to, value as u8, len) };
            token.answer(ACK, &[name, generation])
        }
        (ATOMIC, Short, &[name, generation, olo, ohi, what, alo, ahi, blo, bhi]) if asked => {
            let at = join(olo, ohi);
            let Some(what) = Operation::decode(what) else {
                nonsense(token, "an atomic operation that there is not");
            };
            let at = rank.own_bytes(token, at, what.width());
            if !at.addr().is_multiple_of(what.width()) {
                nonsense(token, "an atomic operation on a word that is not aligned");
            }
            // SAFETY: own_bytes checked the word; it is aligned.
            let old = unsafe { apply(at, what, join(alo, ahi), join(blo, bhi)) };
            let value = [name, generation, lo(old), hi(old)];
            token.answer(VALUE, &value[..2 + what.width() / 4])
        }
        (VALUE, Short, &[name, generation, ref value @ ..]) if matches!(value.len(), 1 | 2) => {
            let (answer, width) = if value.len() == 1 { (Answer::Half, 4) } else { (Answer::Value, 8) };
            let piece = rank.answered(token, [name, generation], answer, m.len);
            if !piece.at.is_null() {
                let old = join(value[0], value.get(1).copied().unwrap_or(0));
                // SAFETY: the piece is this handler's, and asked for a value of this width: `ref_atomic` was
                // promised the room.
                unsafe { put_old(piece.at, width, old) };
            }
            rank.piece_done(&piece);
            Ok(())
        }
        _ => nonsense(token, &format!("a {:?} message {index} with {} arguments", m.kind, m.args.len())),
    };
    if let Err(e) = result {
        rank.fatal(&format!("answering rank {}: {e}", token.source()));
    }
}
