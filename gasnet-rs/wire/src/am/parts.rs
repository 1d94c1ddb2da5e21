//! Long messages that do not fit in a frame.
//!
//! The sender cuts the payload up and sends every *part* as a frame of its own, on the channel of the
//! message: a request's parts wait for room as requests do, a reply's as replies do, so nothing new can wait
//! for something else. Each says where it belongs, how long the whole is, and has all arguments. The receiver
//! places parts as they come, in any order, and runs the handler, once, when all are there. Messages that fit
//! in a frame go as before.
//!
//! **What is checked.** The parts of a message agree in everything, each comes once, and lies inside the
//! segment; else the job ends with a message that names the sender.
#![expect(unsafe_code, reason = "copies payloads between user memory, frames and segments")]

use super::frame::{FrameHead, PART_HEAD_BYTES, PartHead, payload_at};
use super::{FIRST_LIBRARY_HANDLER, MAX_MEDIUM, Message, Outgoing};
use crate::conduit::{Channel, Frame};
use crate::event::Refused;
use crate::prim::{AtomicU32, Ordering};
use crate::segment::Place;
use crate::{Error, RankId, Wire, bytes};
use gasnet_sys::mutex::lock;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};

/// Largest payload of a long message that goes in frames.
pub(crate) const MAX_LONG_IN_PARTS: usize = 4 << 20;
/// Least bytes of every part but the last: every frame has room for more.
const MIN_PART_BYTES: usize = MAX_MEDIUM / 2;
/// A bit for each part.
type Bits = u128;
const _: () = assert!(MAX_LONG_IN_PARTS.div_ceil(MIN_PART_BYTES) <= Bits::BITS as usize);

/// Whose message a part belongs to, and which one of theirs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct MessageName {
    from: RankId,
    channel: Channel,
    number: u32,
}

/// A message of which parts have come.
#[derive(Debug)]
struct Assembly {
    head: FrameHead,
    args: Vec<u32>,
    total: u32,
    step: u32,
    /// Parts that have come.
    seen: Bits,
    /// Parts that are not in place.
    left: u32,
}

/// Messages in parts, on their way out and in.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    arriving: Mutex<HashMap<MessageName, Assembly>>,
    /// Sent so far.
    sent: AtomicU32,
}

impl Parts {
    fn arriving(&self) -> MutexGuard<'_, HashMap<MessageName, Assembly>> {
        lock(&self.arriving)
    }
}

/// Of a part, what the other parts of its message say too, and its number; `None` if there is no such part.
fn check(head: &FrameHead, part: &PartHead, data: &[u8]) -> Option<(FrameHead, u32)> {
    let (at, total, step) = (part.at as usize, part.total as usize, part.step as usize);
    let fits = head.handler >= FIRST_LIBRARY_HANDLER
        && total <= MAX_LONG_IN_PARTS
        && step >= MIN_PART_BYTES
        && at < total
        && at.is_multiple_of(step)
        && data.len() == step.min(total - at);
    fits.then(|| (FrameHead { len: total, ..*head }, (at / step) as u32))
}

impl Wire {
    /// Sends a long message in parts, the first of which may be refused if it is to be sent immediately.
    ///
    /// # Safety
    /// 1. `out.src` is valid for `out.len` bytes (owed by the caller).
    #[cold]
    pub(super) unsafe fn send_parts(
        &self,
        channel: Channel,
        to: RankId,
        out: Outgoing<'_>,
        immediate: bool,
    ) -> Result<Result<(), Refused>, Error> {
        let conduit = self.conduit.as_ref().expect("frames go by a conduit");
        let nargs = out.args.len();
        let payload = payload_at(nargs);
        // Whole cache lines.
        let step = (self.max_frame(to, nargs).min(MAX_MEDIUM) - PART_HEAD_BYTES) & !63;
        let number = self.parts.sent.fetch_add(1, Ordering::Relaxed);
        let mut waiter = None;
        for at in (0..out.len).step_by(step) {
            let n = step.min(out.len - at);
            let len = PART_HEAD_BYTES + n;
            let (kind, handler, dst) = (out.kind, out.handler, out.dst);
            let head = FrameHead { kind, handler, nargs, len, dst, part: true };
            let part = PartHead { number, at: at as u32, total: out.len as u32, step: step as u32 };
            let slot = loop {
                let refusable = immediate && at == 0;
                match conduit.reserve(to, channel, payload + len, refusable)? {
                    Some(slot) => break slot,
                    None if refusable => return Ok(Err(Refused)),
                    None if self.make_room(channel, to, &mut waiter) => {}
                    None => return self.send_to_nobody(channel, to, out.handler).map(Ok),
                }
            };
            // SAFETY: the slot has `payload + len` bytes that are ours until commit; the source is owed by
            // the caller; what is committed is the slot reserved above, filled in.
            unsafe {
                let to = core::slice::from_raw_parts_mut(slot.buf.as_ptr(), payload + PART_HEAD_BYTES);
                head.emit(out.args, &mut to[..payload]);
                to[payload..].copy_from_slice(&part.emit());
                bytes::load(slot.buf.as_ptr().add(payload + PART_HEAD_BYTES), out.src.wrapping_add(at), n);
                conduit.commit(slot);
            }
        }
        Ok(Ok(()))
    }

    /// Takes in a part, and runs the handler if it was the last one that was missing.
    #[cold]
    pub(super) fn deliver_part(&self, f: &Frame, head: &FrameHead, args: &[u32], payload: &[u8]) {
        let from = f.from;
        let wrong = |what: &str| -> ! {
            self.fatal(&format!(
                "rank {from} sent a part of a long message {what}: a frame was forged, repeated or corrupted"
            ))
        };
        let Some((part, data)) = PartHead::parse(payload) else { wrong("without its head") };
        let Some((whole, number)) = check(head, &part, data) else { wrong("that is none of it") };
        let Some(Place::Near(base)) = self.segments.place_at(self.id(), whole.dst, whole.len) else {
            wrong("outside this segment");
        };
        let key = MessageName { from, channel: f.channel, number: part.number };
        let bit = 1 << number;
        {
            let mut arriving = self.parts.arriving();
            let message = arriving.entry(key).or_insert_with(|| Assembly {
                head: whole,
                args: args.to_vec(),
                total: part.total,
                step: part.step,
                seen: 0,
                left: part.total.div_ceil(part.step),
            });
            let same = message.head == whole && message.args == args;
            if !same || (message.total, message.step) != (part.total, part.step) || message.seen & bit != 0 {
                drop(arriving);
                wrong("that does not belong to the others, or has come already");
            }
            message.seen |= bit;
        }
        // SAFETY: inside the own segment, and the frame.
        unsafe { bytes::store(base.wrapping_add(part.at as usize), data.as_ptr(), data.len()) };
        {
            let mut arriving = self.parts.arriving();
            let Some(message) = arriving.get_mut(&key) else { return };
            message.left -= 1;
            if message.left > 0 {
                return;
            }
            arriving.remove(&key);
        }
        let message = Message { kind: whole.kind, args, payload: base, len: whole.len };
        self.run_handler(from, f.channel, whole.handler, &message);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::Kind;
    use super::*;

    #[test]
    fn parts_are_where_their_heads_say() {
        let step = MAX_MEDIUM - 64;
        let head = FrameHead { kind: Kind::Long, handler: 200, nargs: 0, len: 0, dst: 8, part: true };
        let part = |at: usize, total: usize, step: usize, len: usize| {
            let part = PartHead { number: 0, at: at as u32, total: total as u32, step: step as u32 };
            check(&head, &part, &vec![0; len]).map(|(whole, number)| (whole.len, number))
        };
        assert_eq!(part(0, step + 1, step, step), Some((step + 1, 0)));
        assert_eq!(part(step, step + 1, step, 1), Some((step + 1, 1)));
        assert_eq!(part(63 * step, MAX_LONG_IN_PARTS, step, step), Some((MAX_LONG_IN_PARTS, 63)));
        for (at, total, step, len) in [
            (0, step + 1, step, step - 1),
            (step, step + 1, step, 2),
            (step, step, step, 0),
            (1, step + 1, step, step),
            (0, MAX_LONG_IN_PARTS + 1, step, step),
            (0, 100, 0, 100),
            (0, 100, 64, 64),
        ] {
            assert_eq!(part(at, total, step, len), None, "{at} of {total}, {step}, {len}");
        }
        let own = FrameHead { handler: FIRST_LIBRARY_HANDLER - 1, ..head };
        let one = PartHead { number: 0, at: 0, total: 8, step: step as u32 };
        assert!(check(&head, &one, &[0; 8]).is_some() && check(&own, &one, &[0; 8]).is_none());
    }
}
