//! Active messages, as programs and libraries see them: handlers, and the tokens by which these reply.
//!
//! The messages themselves, and the order of their steps, are those of the wire ([`gasnet_wire::am`]). Here a
//! handler is given the [`Rank`] that it runs on.
#![expect(unsafe_code, reason = "views the wire's token as the rank's; forwards obligations of callers")]

use crate::{Error, Rank, RankId};
use gasnet_wire::am as wire;

pub use wire::{
    FIRST_CLIENT_HANDLER, FIRST_LIBRARY_HANDLER, Kind, MAX_ARGUMENTS, MAX_MEDIUM, Message, Outgoing, Prepared,
};

/// The form of every handler: `data` is what it was registered with.
///
/// # Safety
/// The runtime calls it with the `data` it was registered with, the payload as described at [`Message`], and
/// on whatever thread polls.
pub type RawHandler = unsafe fn(data: *const (), token: &Token<'_>, message: &Message<'_>);

/// A registered handler.
#[derive(Debug, Clone, Copy)]
pub struct Handler(pub(crate) wire::Handler);

impl Handler {
    /// A handler from its parts.
    ///
    /// # Safety
    /// 1. `call` may be called with `data`, from any thread, as long as the rank lives (owed by the caller).
    pub unsafe fn from_raw(call: RawHandler, data: *const ()) -> Handler {
        // SAFETY: `Token` is a transparent struct around the wire's, so references to both are passed alike.
        let call = unsafe { core::mem::transmute::<RawHandler, wire::RawHandler>(call) };
        // SAFETY: (1).
        Handler(unsafe { wire::Handler::from_raw(call, data) })
    }

    /// A handler from a closure. It may be called from any thread that polls; it must not block, and may use
    /// no call of the runtime but [`Token::reply_short`], [`Token::reply_medium`], [`Token::reply_long`] and
    /// pure queries.
    ///
    /// # Panics
    /// A panic in a handler ends the job with 101: it must not unwind into whoever happened to poll.
    pub fn new<F: Fn(&Token<'_>, &Message<'_>) + Send + Sync + 'static>(f: F) -> Handler {
        Handler(wire::Handler::new(move |token, message| f(Token::of(token), message)))
    }
}

/// The handle a handler has on the message it serves.
#[derive(Debug)]
#[repr(transparent)]
pub struct Token<'a>(pub(crate) wire::Token<'a>);

impl<'a> Token<'a> {
    /// The wire's token, seen from here.
    #[inline]
    fn of<'t>(token: &'t wire::Token<'a>) -> &'t Token<'a> {
        // SAFETY: a transparent struct has the layout of its field.
        unsafe { &*core::ptr::from_ref(token).cast() }
    }

    /// The rank the handler runs on.
    #[inline]
    pub fn rank(&self) -> &'a Rank {
        Rank::of(self.0.wire())
    }

    /// The rank that sent the message.
    pub fn source(&self) -> RankId {
        self.0.source()
    }

    /// Whether the message is a request, which may be replied to once.
    pub fn is_request(&self) -> bool {
        self.0.is_request()
    }

    /// Whether a reply was sent.
    pub fn has_replied(&self) -> bool {
        self.0.has_replied()
    }

    /// Replies with arguments. See [`Rank::request_short`].
    ///
    /// # Errors
    /// Not in a request's handler, a second reply, or arguments out of range.
    pub fn reply_short(&self, handler: u8, args: &[u32]) -> Result<(), Error> {
        self.0.reply_short(handler, args)
    }

    /// Replies with a payload of up to [`MAX_MEDIUM`] bytes; it may be reused on return.
    ///
    /// # Errors
    /// As [`Token::reply_short`].
    pub fn reply_medium(&self, handler: u8, args: &[u32], payload: &[u8]) -> Result<(), Error> {
        self.0.reply_medium(handler, args, payload)
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
        // SAFETY: owed by the caller.
        unsafe { self.0.reply_medium_raw(handler, args, src, len) }
    }

    /// Replies with a payload placed at byte `dst` of the requester's segment; it may be reused on return.
    ///
    /// # Errors
    /// As [`Token::reply_short`], and a destination outside the segment.
    pub fn reply_long(&self, handler: u8, args: &[u32], payload: &[u8], dst: u64) -> Result<(), Error> {
        self.0.reply_long(handler, args, payload, dst)
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
        // SAFETY: owed by the caller.
        unsafe { self.0.reply_long_raw(handler, args, src, len, dst) }
    }

    /// Prepares the reply, a medium message of up to `len` bytes with `nargs` arguments. Another reply can be
    /// sent only if this one is dropped.
    ///
    /// # Errors
    /// As [`Token::reply_medium`].
    pub fn prepare_medium(
        &self,
        len: usize,
        nargs: usize,
        immediate: bool,
    ) -> Result<Option<Prepared<'_>>, Error> {
        self.0.prepare_medium(len, nargs, immediate)
    }

    /// [`Token::prepare_medium`] of a long reply.
    ///
    /// # Errors
    /// As [`Token::reply_long`].
    pub fn prepare_long(
        &self,
        len: usize,
        nargs: usize,
        immediate: bool,
    ) -> Result<Option<Prepared<'_>>, Error> {
        self.0.prepare_long(len, nargs, immediate)
    }
}
