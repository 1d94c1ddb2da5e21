//! Long messages to memory that the sender does not map and no frame of the conduit names: regions, and the
//! segments of neighbours that are memory of their programs.
//!
//! The payload travels in medium messages of the core's own, on the channel of the message, each with a
//! [head](PartHead) that says where it belongs and which handler waits for it. The receiver places the
//! parts as they come and runs the handler, once, when all are there: as [`gasnet_wire::am::parts`] does
//! for frames.
#![expect(unsafe_code, reason = "copies payloads to regions and segments")]

use super::{Grant, KeyedRegion, Modes, RegionKey};
use crate::{Error, Rank, RankId};
use gasnet_sys::mutex::lock;
use gasnet_wire::am::{FIRST_LIBRARY_HANDLER, Kind, MAX_MEDIUM, Message, Outgoing, Token, nonsense};
use gasnet_wire::bytes;
use gasnet_wire::conduit::Channel;
use gasnet_wire::event::Refused;
use gasnet_wire::prim::{AtomicU32, Ordering};
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};

/// Number of a part of a long message, among the messages of [`super::ops`].
pub(super) const LONG: u8 = 37;

/// Bytes of a head.
const HEAD_BYTES: usize = size_of::<PartHead>();
/// Payload of every part but the last.
const PART_PAYLOAD_BYTES: usize = (MAX_MEDIUM - HEAD_BYTES) & !63;
/// Largest payload: as to a mapped segment.
const MAX_PAYLOAD_BYTES: u64 = 0x7fff_ffff;
/// In place of a slot: the receiver's own segment.
const SEGMENT: u32 = u32::MAX;

/// The head before the payload of every part.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PartHead {
    secret: u64,
    /// Where the whole begins.
    offset: u64,
    slot: u32,
    generation: u32,
    /// The message among its sender's.
    number: u32,
    /// Bytes of the whole.
    total: u32,
    /// Where this part begins.
    at: u32,
    handler: u32,
}

// SAFETY: eight integers without padding; any bytes are a head.
unsafe impl bytemuck::Zeroable for PartHead {}
// SAFETY: as above.
unsafe impl bytemuck::Pod for PartHead {}

/// Whose message a part belongs to.
type LongName = (RankId, bool, u32);

/// A message of which parts have come.
#[derive(Debug)]
struct Assembly {
    head: PartHead,
    args: Vec<u32>,
    /// A bit for each part that has come.
    seen: Vec<u64>,
    /// Parts that are not in place.
    left: usize,
}

/// Long messages on their way out and in.
#[derive(Debug, Default)]
pub(super) struct Longs {
    sent: AtomicU32,
    arriving: Mutex<HashMap<LongName, Assembly>>,
}

impl Longs {
    fn arriving(&self) -> MutexGuard<'_, HashMap<LongName, Assembly>> {
        lock(&self.arriving)
    }
}

impl Rank {
    unsafe fn send_to_region(
        &self,
        channel: Channel,
        key: &RegionKey,
        out: Outgoing<'_>,
    ) -> Result<(), Error> {
        if out.handler < FIRST_LIBRARY_HANDLER {
            return Err(gasnet_wire::am::not_yours(out.handler));
        }
        if out.len > 0 {
            let checked = key.check(Modes::WRITE, out.dst, out.len);
            checked.map_err(|e| Error::op(format!("long message to rank {}: {e}", key.rank)))?;
        }
        // SAFETY: owed by the caller.
        unsafe { self.send_long_apart(channel, key.rank(), out, key.grant(), false) }
            .map(|sent| sent.unwrap_or(()))
    }

    /// Sends a long message to a neighbour's segment that is not mapped here; one that is to be sent
    /// immediately is refused if its first part is.
    ///
    /// # Safety
    /// 1. `out.src` is valid for `out.len` bytes (owed by the caller).
    #[cold]
    pub(crate) unsafe fn send_to_far(
        &self,
        channel: Channel,
        to: RankId,
        out: Outgoing<'_>,
        immediate: bool,
    ) -> Result<Result<(), Refused>, Error> {
        let grant = Grant { slot: SEGMENT, generation: 0, secret: 0 };
        // SAFETY: (1).
        unsafe { self.send_long_apart(channel, to, out, grant, immediate) }
    }

    unsafe fn send_long_apart(
        &self,
        channel: Channel,
        to: RankId,
        out: Outgoing<'_>,
        grant: Grant,
        immediate: bool,
    ) -> Result<Result<(), Refused>, Error> {
        if out.len as u64 > MAX_PAYLOAD_BYTES {
            return Err(Error::op(format!(
                "message with {} bytes of payload: at most {MAX_PAYLOAD_BYTES} to {to}",
                out.len
            )));
        }
        let number = self.regions.longs.sent.fetch_add(1, Ordering::Relaxed);
        let mut carried = Vec::with_capacity(HEAD_BYTES + out.len.min(PART_PAYLOAD_BYTES));
        let mut at = 0;
        loop {
            let n = PART_PAYLOAD_BYTES.min(out.len - at);
            let head = PartHead {
                secret: grant.secret,
                offset: out.dst,
                slot: grant.slot,
                generation: grant.generation,
                number,
                total: out.len as u32,
                at: at as u32,
                handler: u32::from(out.handler),
            };
            carried.clear();
            carried.extend_from_slice(bytemuck::bytes_of(&head));
            // SAFETY: there is room for `n` bytes more, which are all written; the source is owed by the
            // caller.
            unsafe {
                if n > 0 {
                    bytes::load(carried.as_mut_ptr().add(HEAD_BYTES), out.src.wrapping_add(at), n);
                }
                carried.set_len(HEAD_BYTES + n);
            }
            let (src, len) = (carried.as_ptr(), carried.len());
            // SAFETY: the vector is valid for its length.
            let sent = unsafe {
                let part = Outgoing { kind: Kind::Medium, handler: LONG, args: out.args, src, len, dst: 0 };
                self.wire.send_or_refuse(channel, to, &part, immediate && at == 0)?
            };
            at += n;
            if at == out.len || sent.is_err() {
                return Ok(sent);
            }
        }
    }

    /// Places bytes of a long message; where they are now.
    fn place_long(&self, head: &PartHead, at: u64, data: &[u8]) -> Option<*mut u8> {
        let place = head.offset.checked_add(at)?;
        if head.slot == SEGMENT {
            let to = self.wire.own_place(place, data.len())?;
            // SAFETY: inside the own segment.
            unsafe { bytes::store(to, data.as_ptr(), data.len()) };
            return Some(to);
        }
        let grant = Grant { slot: head.slot, generation: head.generation, secret: head.secret };
        // A message without payload may name any place: its handler gets that, and nothing is accessed.
        if data.is_empty() {
            let access = self.regions.access(grant, Modes::WRITE, 0, 0).ok()?;
            return Some(access.at.wrapping_add(place as usize));
        }
        let access = self.regions.access(grant, Modes::WRITE, place, data.len()).ok()?;
        // SAFETY: inside a region that stays until the access is dropped.
        unsafe { bytes::store(access.at, data.as_ptr(), data.len()) };
        Some(access.at)
    }

    /// Takes in a part, and runs the handler if no other is missing.
    pub(super) fn long_arrived(&self, token: &Token<'_>, args: &[u32], carried: &[u8]) {
        let from = token.source();
        let Some((head, data)) = carried.split_at_checked(HEAD_BYTES) else {
            nonsense(token, "a part of a long message without its head");
        };
        let head: PartHead = bytemuck::pod_read_unaligned(head);
        let (at, total) = (head.at as usize, head.total as usize);
        let fits = (u32::from(FIRST_LIBRARY_HANDLER)..256).contains(&head.handler)
            && u64::from(head.total) <= MAX_PAYLOAD_BYTES
            && (at < total || total == 0 && at == 0)
            && at.is_multiple_of(PART_PAYLOAD_BYTES)
            && data.len() == PART_PAYLOAD_BYTES.min(total - at);
        if !fits {
            nonsense(token, "a part of a long message that is none of it");
        }
        let key = (from, token.is_request(), head.number);
        let whole = PartHead { at: 0, ..head };
        let parts = total.div_ceil(PART_PAYLOAD_BYTES);
        if parts > 1 {
            let (word, bit) = (at / PART_PAYLOAD_BYTES / 64, 1 << (at / PART_PAYLOAD_BYTES % 64));
            let mut arriving = self.regions.longs.arriving();
            let message = arriving.entry(key).or_insert_with(|| Assembly {
                head: whole,
                args: args.to_vec(),
                seen: vec![0; parts.div_ceil(64)],
                left: parts,
            });
            if message.head != whole || message.args != args || message.seen[word] & bit != 0 {
                drop(arriving);
                nonsense(
                    token,
                    "a part of a long message that does not belong to the others, or has come already",
                );
            }
            message.seen[word] |= bit;
        }
        let Some(placed) = self.place_long(&head, at as u64, data) else {
            self.fatal(&format!(
                "rank {from} sent a long message of {total} bytes to a region of this rank that was revoked, or outside it"
            ));
        };
        if parts > 1 {
            let mut arriving = self.regions.longs.arriving();
            let Some(message) = arriving.get_mut(&key) else { return };
            message.left -= 1;
            if message.left > 0 {
                return;
            }
            arriving.remove(&key);
        }
        let payload = placed.wrapping_sub(at);
        // SAFETY: all parts have been placed there, in a region of this rank.
        let message = unsafe { Message::new(Kind::Long, args, payload, total) };
        let channel = if token.is_request() { Channel::Request } else { Channel::Reply };
        self.wire.run_handler(from, channel, head.handler as u8, &message);
    }
}

impl KeyedRegion<'_, '_> {
    /// Sends a long request whose payload is placed at byte `at` of a region before the handler runs, with a
    /// pointer to it. The payload may be reused on return.
    ///
    /// # Safety
    /// 1. `src` is valid for `len` bytes (owed by the caller).
    ///
    /// # Errors
    /// As [`Rank::request_long`](crate::Rank::request_long). A region that was revoked is found out by the
    /// target, and ends the job.
    pub unsafe fn request_long(
        self,
        at: u64,
        handler: u8,
        args: &[u32],
        src: *const u8,
        len: usize,
    ) -> Result<(), Error> {
        let out = Outgoing { kind: Kind::Long, handler, args, src, len, dst: at };
        // SAFETY: (1).
        unsafe { self.rank.send_to_region(Channel::Request, self.key, out) }
    }
}

impl crate::Token<'_> {
    /// Replies with a payload placed at byte `at` of a region of the requester. As [`Token::reply_long`].
    ///
    /// # Safety
    /// 1. `src` is valid for `len` bytes (owed by the caller).
    ///
    /// # Errors
    /// As [`Token::reply_long`], and a region that is not the requester's.
    pub unsafe fn reply_region_long(
        &self,
        key: &RegionKey,
        at: u64,
        handler: u8,
        args: &[u32],
        src: *const u8,
        len: usize,
    ) -> Result<(), Error> {
        if key.rank() != self.source() {
            return Err(Error::op(
                "a reply goes to where the request came from: the region is another rank's",
            ));
        }
        let out = Outgoing { kind: Kind::Long, handler, args, src, len, dst: at };
        // SAFETY: (1).
        self.0.reply_by(|wire| unsafe { Rank::of(wire).send_to_region(Channel::Reply, key, out) })
    }
}
