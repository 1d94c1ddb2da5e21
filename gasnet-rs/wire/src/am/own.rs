//! The core's own messages: numbers below [`FIRST_LIBRARY_HANDLER`], which programs and libraries cannot
//! send.
//!
//! Each module that sends some has a range of numbers, and says what serves them and what it means that one
//! cannot be delivered ([`Served`]). The layer above makes a constant table of them.
#![expect(unsafe_code, reason = "sends payloads of its callers")]

use super::{FIRST_LIBRARY_HANDLER, Kind, Message, Outgoing, Token};
use crate::conduit::Channel;
use crate::event::Refused;
use crate::{RankId, Wire};

/// The functions of a module for its own messages.
#[derive(Clone, Copy)]
pub struct Served {
    /// Serves a message that has arrived, by its number.
    pub handle: fn(&Wire, &Token<'_>, u8, &Message<'_>),
    /// A request with this number cannot be sent, since its target has left: ends the job, or notes who
    /// cannot answer, or does nothing if nobody waits for it.
    pub lost: fn(&Wire, RankId, u8),
}

/// Who serves the core's own messages, by their numbers.
pub type Serve = [Served; FIRST_LIBRARY_HANDLER as usize];

/// Who serves numbers that no module has.
pub(crate) const UNSERVED: Served = Served {
    handle: |_, token, index, _| nonsense(token, &format!("message {index}, which no module sends")),
    lost: |wire, to, _| wire.fatal_started("a message of the runtime", to),
};

/// The lower half of a word, as an argument.
#[inline]
pub fn lo(v: u64) -> u32 {
    v as u32
}

/// The upper half of a word, as an argument.
#[inline]
pub fn hi(v: u64) -> u32 {
    (v >> 32) as u32
}

/// A word out of its halves, as arguments carry it.
#[inline]
pub fn join(lo: u32, hi: u32) -> u64 {
    u64::from(lo) | u64::from(hi) << 32
}

/// Ends the job for a message of the core that no rank sends.
#[cold]
pub fn nonsense(token: &Token<'_>, what: &str) -> ! {
    token.wire().fatal(&format!("rank {} sent {what}: a frame was forged or corrupted", token.source()))
}

impl Wire {
    /// Sends a message of the core's own; it is refused only if it is to be sent immediately.
    ///
    /// # Safety
    /// 1. `out.src` is valid for `out.len` bytes (owed by the caller).
    #[inline]
    pub unsafe fn message_with(&self, to: RankId, out: Outgoing<'_>, immediate: bool) -> Result<(), Refused> {
        // SAFETY: (1).
        match unsafe { self.send_or_refuse(Channel::Request, to, &out, immediate) } {
            Ok(sent) => sent,
            Err(e) => self.fatal(&e.to_string()),
        }
    }

    /// A message of the core's own, which waits for room.
    ///
    /// # Safety
    /// 1. The payload is valid memory of that length (owed by the caller).
    #[inline]
    pub unsafe fn request(
        &self,
        to: RankId,
        kind: Kind,
        handler: u8,
        args: &[u32],
        payload: (*const u8, usize),
    ) {
        let out = Outgoing { kind, handler, args, src: payload.0, len: payload.1, dst: 0 };
        // Never refused. SAFETY: (1).
        let _ = unsafe { self.message_with(to, out, false) };
    }

    /// [`Wire::message_with`] without a payload.
    #[inline]
    pub fn message(&self, to: RankId, handler: u8, args: &[u32], immediate: bool) -> Result<(), Refused> {
        let out = Outgoing { kind: Kind::Short, handler, args, src: core::ptr::null(), len: 0, dst: 0 };
        // SAFETY: no payload.
        unsafe { self.message_with(to, out, immediate) }
    }
}
