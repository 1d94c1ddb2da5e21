//! Handlers, and what they get: the message, and the token by which they reply.
#![expect(unsafe_code, reason = "payloads are raw memory; handlers of C are pointers")]

use super::{FIRST_LIBRARY_HANDLER, Kind, Outgoing, not_yours};
use crate::conduit::Channel;
use crate::context::{self, Inside};
use crate::{Error, RankId, Wire};
use core::cell::Cell;

/// The contents of a message, which a handler gets with the token.
#[derive(Debug)]
#[non_exhaustive]
pub struct Message<'a> {
    /// Short, medium or long.
    pub kind: Kind,
    /// The arguments.
    pub args: &'a [u32],
    /// First byte of the payload: of a medium message, in a buffer valid during the handler, aligned for any
    /// type, that the handler may overwrite; of a long message, in this rank's segment. Null for a short
    /// message.
    pub payload: *mut u8,
    /// Bytes of payload.
    pub len: usize,
}

impl<'a> Message<'a> {
    /// A message whose payload lies at this address.
    ///
    /// # Safety
    /// 1. The payload is as the fields of [`Message`] say, as long as the message is there (owed by the
    ///    caller).
    #[inline]
    pub unsafe fn new(kind: Kind, args: &'a [u32], payload: *mut u8, len: usize) -> Message<'a> {
        Message { kind, args, payload, len }
    }

    /// The payload of a medium message, as long as the handler runs.
    ///
    /// Empty for other kinds: a long message's payload lies where peers can write.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        if self.kind != Kind::Medium || self.len == 0 {
            return &[];
        }
        // SAFETY: a medium payload is in a link's arena, a conduit's frame or a loop-back buffer, which
        // nobody writes until the handler returns; `self` does not outlive the handler.
        unsafe { core::slice::from_raw_parts(self.payload, self.len) }
    }
}

/// The form of every handler: `data` is what it was registered with.
///
/// # Safety
/// The runtime calls it with the `data` it was registered with, the payload as described at [`Message`], and
/// on whatever thread polls.
pub type RawHandler = unsafe fn(data: *const (), token: &Token<'_>, message: &Message<'_>);

/// A registered handler.
#[derive(Debug, Clone, Copy)]
pub struct Handler {
    pub(super) call: RawHandler,
    pub(super) data: *const (),
}

// SAFETY: registering (unsafe) promises that `data` may be used from any thread.
unsafe impl Send for Handler {}
// SAFETY: as above.
unsafe impl Sync for Handler {}

impl Handler {
    /// A handler from its parts.
    ///
    /// # Safety
    /// 1. `call` may be called with `data`, from any thread, as long as the rank lives (owed by the caller).
    pub unsafe fn from_raw(call: RawHandler, data: *const ()) -> Handler {
        Handler { call, data }
    }

    /// A handler from a closure. It may be called from any thread that polls; it must not block, and may use
    /// no call of the runtime but [`Token::reply_short`], [`Token::reply_medium`], [`Token::reply_long`] and
    /// pure queries.
    ///
    /// # Panics
    /// A panic in a handler ends the job with 101: it must not unwind into whoever happened to poll.
    pub fn new<F: Fn(&Token<'_>, &Message<'_>) + Send + Sync + 'static>(f: F) -> Handler {
        unsafe fn call<F: Fn(&Token<'_>, &Message<'_>)>(data: *const (), token: &Token<'_>, m: &Message<'_>) {
            // SAFETY: `data` is the leaked box below, shared (F is Sync).
            let f = unsafe { &*data.cast::<F>() };
            let guard = EndOnPanic(token.wire);
            let _inside = token.wire.config.check.then(|| context::enter(Inside::Handler));
            f(token, m);
            core::mem::forget(guard);
        }
        // A rank lives as long as its process, and so do its handlers.
        let data: *const F = Box::leak(Box::new(f));
        Handler { call: call::<F>, data: data.cast() }
    }
}

/// Ends the job when dropped, which happens by unwinding only: around functions of the program that the
/// runtime calls.
pub struct EndOnPanic<'a>(pub &'a Wire);

impl Drop for EndOnPanic<'_> {
    fn drop(&mut self) {
        // The panic has been reported.
        self.0.global_exit(101)
    }
}

/// The handle a handler has on the message it serves.
#[derive(Debug)]
pub struct Token<'a> {
    pub(crate) wire: &'a Wire,
    pub(super) from: RankId,
    pub(super) channel: Channel,
    pub(super) replied: Cell<bool>,
}

impl<'a> Token<'a> {
    /// The wire that the message came by.
    #[inline]
    pub fn wire(&self) -> &'a Wire {
        self.wire
    }

    /// The rank that sent the message.
    #[inline]
    pub fn source(&self) -> RankId {
        self.from
    }
    /// Whether the message is a request, which may be replied to once.
    #[inline]
    pub fn is_request(&self) -> bool {
        self.channel == Channel::Request
    }
    /// Whether a reply was sent.
    pub fn has_replied(&self) -> bool {
        self.replied.get()
    }

    /// Whether there may be a reply now.
    pub(super) fn check_reply(&self) -> Result<(), Error> {
        if self.channel != Channel::Request {
            return Err(Error::op("a reply handler may not send: only handlers of requests may reply"));
        }
        if self.replied.get() {
            return Err(Error::op("a request handler may reply only once"));
        }
        Ok(())
    }

    /// Sends the reply. One that is refused does not count.
    ///
    /// # Safety
    /// 1. `out.src` is valid for `out.len` bytes (owed by the caller).
    unsafe fn reply(&self, out: Outgoing<'_>) -> Result<(), Error> {
        // SAFETY: (1).
        self.reply_by(|wire| unsafe { wire.send(Channel::Reply, self.from, out) })
    }

    /// Sends the reply as `send` says. One that is refused does not count.
    #[inline]
    pub fn reply_by(&self, send: impl FnOnce(&Wire) -> Result<(), Error>) -> Result<(), Error> {
        self.check_reply()?;
        send(self.wire)?;
        self.replied.set(true);
        Ok(())
    }

    /// [`Token::reply`] for programs and libraries.
    ///
    /// # Safety
    /// As [`Token::reply`].
    unsafe fn reply_from_outside(&self, out: Outgoing<'_>) -> Result<(), Error> {
        if out.handler < FIRST_LIBRARY_HANDLER {
            return Err(not_yours(out.handler));
        }
        // SAFETY: owed by the caller.
        unsafe { self.reply(out) }
    }

    /// Replies with a message of the core.
    #[inline]
    pub fn answer(&self, handler: u8, args: &[u32]) -> Result<(), Error> {
        // SAFETY: no payload.
        unsafe {
            self.reply(Outgoing { kind: Kind::Short, handler, args, src: core::ptr::null(), len: 0, dst: 0 })
        }
    }

    /// [`Token::answer`] with a payload.
    ///
    /// # Safety
    /// 1. `src` is valid for `len` bytes (owed by the caller).
    #[inline]
    pub unsafe fn answer_with(
        &self,
        handler: u8,
        args: &[u32],
        src: *const u8,
        len: usize,
    ) -> Result<(), Error> {
        // SAFETY: (1).
        unsafe { self.reply(Outgoing { kind: Kind::Medium, handler, args, src, len, dst: 0 }) }
    }

    /// Replies with arguments. See [`Wire::request_short`].
    ///
    /// # Errors
    /// Not in a request's handler, a second reply, or arguments out of range.
    pub fn reply_short(&self, handler: u8, args: &[u32]) -> Result<(), Error> {
        let out = Outgoing { kind: Kind::Short, handler, args, src: core::ptr::null(), len: 0, dst: 0 };
        // SAFETY: no payload.
        unsafe { self.reply_from_outside(out) }
    }

    /// Replies with a payload of up to [`MAX_MEDIUM`](super::MAX_MEDIUM) bytes; it may be reused on return.
    ///
    /// # Errors
    /// As [`Token::reply_short`].
    pub fn reply_medium(&self, handler: u8, args: &[u32], payload: &[u8]) -> Result<(), Error> {
        // SAFETY: a slice is valid for its length.
        unsafe { self.reply_medium_raw(handler, args, payload.as_ptr(), payload.len()) }
    }

    /// [`Token::reply_medium`] from raw memory.
    ///
    /// # Safety
    /// 1. `src` is valid for `len` bytes (owed by the caller).
    ///
    /// # Errors
    /// As [`Token::reply_short`].
    pub unsafe fn reply_medium_raw(
        &self,
        handler: u8,
        args: &[u32],
        src: *const u8,
        len: usize,
    ) -> Result<(), Error> {
        // SAFETY: (1).
        unsafe { self.reply_from_outside(Outgoing { kind: Kind::Medium, handler, args, src, len, dst: 0 }) }
    }

    /// Replies with a payload placed at byte `dst` of the requester's segment; it may be reused on return.
    ///
    /// # Errors
    /// As [`Token::reply_short`], and a destination outside the segment.
    pub fn reply_long(&self, handler: u8, args: &[u32], payload: &[u8], dst: u64) -> Result<(), Error> {
        // SAFETY: a slice is valid for its length.
        unsafe { self.reply_long_raw(handler, args, payload.as_ptr(), payload.len(), dst) }
    }

    /// [`Token::reply_long`] from raw memory.
    ///
    /// # Safety
    /// 1. `src` is valid for `len` bytes (owed by the caller).
    ///
    /// # Errors
    /// As [`Token::reply_long`].
    pub unsafe fn reply_long_raw(
        &self,
        handler: u8,
        args: &[u32],
        src: *const u8,
        len: usize,
        dst: u64,
    ) -> Result<(), Error> {
        // SAFETY: (1).
        unsafe { self.reply_from_outside(Outgoing { kind: Kind::Long, handler, args, src, len, dst }) }
    }
}
