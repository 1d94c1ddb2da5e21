//! Active messages: a message that runs a handler on the rank it arrives at.
//!
//! **Kinds.** *Short*: up to 16 32-bit arguments. *Medium*: also a payload, which the handler sees in a
//! buffer of the runtime. *Long*: also a payload, placed in the target's segment before the handler runs, in
//! [parts] where no frame holds it. A handler of a *request* may send one *reply* to where the request came
//! from; a handler of a reply sends nothing.
//!
//! **Route** ([`Wire::route`], the one locality decision of messages): to oneself a handler runs at once, on
//! the caller's stack; to a neighbour the message goes through a link in shared memory; to anyone else as a
//! [frame] through the conduit.
//!
//! **No deadlock.** Requests and replies have separate links. A sender without room polls: for a request,
//! both channels; for a reply, replies only, which send nothing and so always make room. Every rank that is
//! inside any call of the runtime drains replies, so a rank waiting for reply room waits only for a peer that
//! computes without calling the runtime.
//!
//! **Local completion.** A payload has been read when the call that sends it returns, whatever the message
//! and the network: it is in a ring, in the conduit's memory, or in place. So every choice of when the source
//! may be written again is kept at once, and there is nothing to wait for.
//!
//! **Immediate.** A request may be refused instead of waiting for room
//! ([`MessageCalls::request_short_immediate`] and its like).
//!
//! **Prepared messages** ([`Prepared`]) are made where they are sent from, without a copy.
//!
//! **Order** is not guaranteed between any two messages.
//!
//! **Whose messages.** Handlers below [`FIRST_LIBRARY_HANDLER`] are the core's own: programs and libraries
//! cannot send to them. Those up to [`FIRST_CLIENT_HANDLER`] are the libraries'. Any safe code of any rank
//! can send to these, so a library's handler trusts no argument.
#![expect(unsafe_code, reason = "copies payloads between user memory, links and segments; calls C handlers")]

pub(crate) mod aside;
pub(crate) mod frame;
pub(crate) mod own;
pub(crate) mod parts;
mod prepared;
mod token;

use crate::conduit::{Channel, Frame};
use crate::event::Refused;
use crate::segment::Place;
use crate::shm::link::{Body, Received};
use crate::wait::Waiter;
use crate::{Error, RankId, Wire, bytes};
use core::cell::Cell;
use core::sync::atomic::Ordering::Relaxed;
use frame::{FrameHead, payload_at};
use std::sync::OnceLock;
use std::time::Duration;

pub use frame::Outgoing;
pub use frame::{FIRST_CLIENT_HANDLER, FIRST_LIBRARY_HANDLER, Kind, MAX_ARGUMENTS, MAX_MEDIUM};
pub(crate) use own::UNSERVED;
pub use own::{Serve, Served, hi, join, lo, nonsense};
pub use prepared::Prepared;
pub use token::EndOnPanic;
pub use token::{Handler, Message, RawHandler, Token};

/// Largest payload of a long message to a rank whose segment is mapped.
const MAX_NEAR_LONG_BYTES: usize = 0x7fff_ffff;
/// Messages of one channel a poll handles at most.
pub const POLL_BUDGET: usize = 64;

/// Longest wait for room of a rank that has room in which messages were forgotten.
const MAX_WAIT_BESIDE_FORGOTTEN: Duration = Duration::from_secs(2);
/// The name of a long message in errors about ranges.
const LONG_MESSAGE: &str = "long message";

/// A frame without payload, in the making.
#[repr(align(16))]
struct SmallFrame([u8; payload_at(MAX_ARGUMENTS)]);

/// Refuses to send one of the core's own messages for somebody else.
#[cold]
pub fn not_yours(handler: u8) -> Error {
    Error::op(format!(
        "message for handler {handler}, which is the runtime's own: use {FIRST_CLIENT_HANDLER}..=255, or, in a library, \
         {FIRST_LIBRARY_HANDLER}..={}",
        FIRST_CLIENT_HANDLER - 1
    ))
}

/// Where a message goes.
pub(crate) enum Route {
    Own,
    /// Its number in the neighbourhood.
    Neighbour(u32),
    Conduit,
}

/// Rarer forms of messages: from raw memory, without waiting for room, prepared in place. It comes from
/// `Rank::messages`.
#[derive(Debug, Clone, Copy)]
pub struct MessageCalls<'a> {
    pub(crate) wire: &'a Wire,
}

impl Wire {
    /// Rarer forms of messages: from raw memory, without waiting for room, prepared in place.
    #[inline]
    pub fn messages(&self) -> MessageCalls<'_> {
        MessageCalls { wire: self }
    }

    /// Registers the handler for an index from [`FIRST_CLIENT_HANDLER`] on. Before any peer can send to it:
    /// register, then `Rank::attach` or a barrier.
    pub fn register(&self, index: u8, handler: Handler) -> Result<(), Error> {
        if index < FIRST_CLIENT_HANDLER {
            return Err(Error::op(format!(
                "handler index {index} is reserved: use {FIRST_CLIENT_HANDLER}..=255"
            )));
        }
        self.set_handler(index, handler)
    }

    /// [`Wire::register`] for a library's own messages: indices from [`FIRST_LIBRARY_HANDLER`] up to the
    /// clients'.
    pub fn register_library(&self, index: u8, handler: Handler) -> Result<(), Error> {
        if !(FIRST_LIBRARY_HANDLER..FIRST_CLIENT_HANDLER).contains(&index) {
            return Err(Error::op(format!("handler index {index} is not a library's")));
        }
        self.set_handler(index, handler)
    }

    /// The place of a handler of a program or a library.
    #[inline]
    fn handler(&self, index: u8) -> Option<&OnceLock<Handler>> {
        self.handlers.get()?.get(usize::from(index.wrapping_sub(FIRST_LIBRARY_HANDLER)))
    }

    fn set_handler(&self, index: u8, handler: Handler) -> Result<(), Error> {
        self.handlers.get_or_init(|| (FIRST_LIBRARY_HANDLER..=u8::MAX).map(|_| OnceLock::new()).collect());
        self.handler(index)
            .expect("of a program or a library")
            .set(handler)
            .map_err(|_| Error::op(format!("handler index {index} is registered already")))
    }

    /// Largest payload of a frame to this rank that carries `nargs` arguments.
    #[inline]
    pub fn max_frame(&self, to: RankId, nargs: usize) -> usize {
        let limits = self.conduit.as_ref().map(|c| c.limits(to, nargs).max_frame);
        limits.unwrap_or(MAX_MEDIUM + payload_at(MAX_ARGUMENTS)) - payload_at(nargs)
    }

    /// Sends a short request: runs `handler` on `to` with up to 16 arguments. May run handlers here.
    #[inline]
    pub fn request_short(&self, to: RankId, handler: u8, args: &[u32]) -> Result<(), Error> {
        let out = Outgoing::short(handler, args);
        // SAFETY: no payload.
        unsafe { self.send_from_outside(to, out) }
    }

    /// Sends a medium request with a payload of up to [`MAX_MEDIUM`] bytes, which may be reused on return.
    #[inline]
    pub fn request_medium(&self, to: RankId, handler: u8, args: &[u32], payload: &[u8]) -> Result<(), Error> {
        // SAFETY: a slice is valid for its length.
        unsafe {
            self.messages().request_raw(to, Outgoing::medium(handler, args, payload.as_ptr(), payload.len()))
        }
    }

    /// Sends a long request: the payload, up to [`MessageCalls::max_long`] bytes, is placed at byte `dst` of
    /// the target's segment, then the handler runs. The payload may be reused on return.
    pub fn request_long(
        &self,
        to: RankId,
        handler: u8,
        args: &[u32],
        payload: &[u8],
        dst: u64,
    ) -> Result<(), Error> {
        // SAFETY: a slice is valid for its length.
        unsafe {
            self.messages()
                .request_raw(to, Outgoing::long(handler, args, payload.as_ptr(), payload.len(), dst))
        }
    }

    /// Sends a request of a program or a library.
    ///
    /// # Safety
    /// 1. `out.src` is valid for `out.len` bytes (owed by the caller).
    #[inline]
    unsafe fn send_from_outside(&self, to: RankId, out: Outgoing<'_>) -> Result<(), Error> {
        if out.handler < FIRST_LIBRARY_HANDLER {
            return Err(not_yours(out.handler));
        }
        self.poll_if_own(to);
        // SAFETY: (1).
        unsafe { self.send(Channel::Request, to, out) }
    }

    /// A request to oneself polls before it is sent: it never waits for room, so a rank that asks only itself
    /// would never serve the others.
    #[inline]
    pub(crate) fn poll_if_own(&self, to: RankId) {
        if to == self.id() {
            self.poll();
        }
    }

    /// [`Wire::send_from_outside`], or nothing at all.
    ///
    /// # Safety
    /// As [`Wire::send_from_outside`].
    #[inline]
    unsafe fn send_immediately(&self, to: RankId, out: Outgoing<'_>) -> Result<Result<(), Refused>, Error> {
        if out.handler < FIRST_LIBRARY_HANDLER {
            return Err(not_yours(out.handler));
        }
        // SAFETY: owed by the caller.
        unsafe { self.send_or_refuse(Channel::Request, to, &out, true) }
    }

    /// The locality decision of messages.
    #[inline]
    pub(crate) fn route(&self, to: RankId) -> Route {
        if to == self.id() {
            return Route::Own;
        }
        self.neighbourhood.index(to).map_or(Route::Conduit, Route::Neighbour)
    }

    /// Sends a message, waiting for room.
    ///
    /// # Safety
    /// As [`Wire::send_or_refuse`].
    #[inline]
    pub unsafe fn send(&self, channel: Channel, to: RankId, out: Outgoing<'_>) -> Result<(), Error> {
        // SAFETY: owed by the caller.
        unsafe { self.send_or_refuse(channel, to, &out, false) }.map(|sent| sent.unwrap_or(()))
    }

    /// Sends a message. If it is to be sent immediately and there is no room for it, nothing is done, and
    /// nothing polled. The payload has been read on return.
    ///
    /// # Safety
    /// 1. `out.src` is valid for `out.len` bytes (owed by the caller).
    #[inline]
    pub unsafe fn send_or_refuse(
        &self,
        channel: Channel,
        to: RankId,
        out: &Outgoing<'_>,
        immediate: bool,
    ) -> Result<Result<(), Refused>, Error> {
        if channel == Channel::Request && crate::context::is_preparing() {
            self.check_context("send requests");
        }
        if to.0 >= self.size() || out.args.len() > MAX_ARGUMENTS || out.len > MAX_MEDIUM || self.config.check
        {
            self.check_outgoing(to, out)?;
            if channel == Channel::Request {
                self.check_context("send requests");
            }
        }
        if self.has_left(to) && to != self.id() {
            return self.send_to_nobody(channel, to, out.handler).map(Ok);
        }
        // Where a long message's payload is placed from here, the range is checked there.
        match self.route(to) {
            // SAFETY: (1).
            Route::Neighbour(index) => unsafe { self.send_neighbour(channel, (to, index), out, immediate) },
            // SAFETY: (1).
            Route::Own => unsafe { self.send_own(channel, out) }.map(Ok),
            Route::Conduit => {
                if out.kind == Kind::Long {
                    self.check_outgoing(to, out)?;
                }
                // SAFETY: (1).
                unsafe { self.send_frame(channel, to, out, immediate) }
            }
        }
    }

    #[cold]
    fn check_outgoing(&self, to: RankId, out: &Outgoing<'_>) -> Result<(), Error> {
        if to.0 >= self.size() {
            return Err(Error::op(format!("message to rank {to}: the job has {} ranks", self.size())));
        }
        if out.args.len() > MAX_ARGUMENTS {
            return Err(Error::op(format!(
                "message with {} arguments: at most {MAX_ARGUMENTS}",
                out.args.len()
            )));
        }
        let max = if out.kind == Kind::Long { self.messages().max_long(to) } else { MAX_MEDIUM };
        if out.len > max {
            return Err(Error::op(format!(
                "message with {} bytes of payload: at most {max} to {to}",
                out.len
            )));
        }
        if out.kind == Kind::Long && out.len > 0 {
            self.check_range(LONG_MESSAGE, to, out.dst, out.len)?;
        }
        Ok(())
    }

    unsafe fn send_neighbour(
        &self,
        channel: Channel,
        (to, index): (RankId, u32),
        out: &Outgoing<'_>,
        immediate: bool,
    ) -> Result<Result<(), Refused>, Error> {
        let grid = self.grid.as_ref().expect("a neighbour has links");
        let carried = if out.kind == Kind::Medium { out.len } else { 0 };
        if immediate && grid.is_full(index, channel, carried, out.args.len()) {
            return Ok(Err(Refused));
        }
        let placed = if out.kind == Kind::Long && out.len > 0 {
            match self.segments.place_at(to, out.dst, out.len) {
                Some(Place::Near(at)) => Some(at),
                Some(Place::Far) => {
                    let above = self.above().expect("segments come after the start");
                    // SAFETY: owed by the caller.
                    return unsafe { above.send_long_far(channel, to, *out, immediate) };
                }
                None => return Err(Error::op(self.outside(LONG_MESSAGE, to, out.dst, out.len))),
            }
        } else {
            None
        };
        let place = || {
            if let Some(at) = placed {
                // SAFETY: inside the mapped segment; owed by the caller for the source.
                unsafe { bytes::store(at, out.src, out.len) };
            }
        };
        // A message that may be refused places its payload when it has room, others before they keep the link
        // from other threads.
        if !immediate {
            place();
        }
        if let Some(presence) = self.presence {
            presence.watch(self.neighbourhood.on_host(index));
        }
        let mut waiter: Option<Waiter> = None;
        loop {
            let mut sending = grid.sending(index, channel);
            if let Some(claim) = sending.claim(carried, out.args.len()) {
                if immediate {
                    place();
                }
                let body = match out.kind {
                    Kind::Long => Body::Placed { len: out.len, word: out.dst },
                    _ if carried == 0 => Body::Empty,
                    _ if claim.payload.is_null() => Body::Inline(out.src, out.len),
                    _ => {
                        // SAFETY: the claim has room for `len` bytes that nobody else uses; the source is
                        // owed by the caller.
                        unsafe { bytes::load(claim.payload, out.src, out.len) };
                        Body::Arena(out.len)
                    }
                };
                // SAFETY: the claim just made, with the body it asks for.
                unsafe { sending.publish(claim, out.kind as u8, out.handler, out.args, body) };
                return Ok(Ok(()));
            }
            drop(sending);
            if immediate {
                return Ok(Err(Refused));
            }
            if !self.make_room(channel, to, &mut waiter) {
                return self.send_to_nobody(channel, to, out.handler).map(Ok);
            }
        }
    }

    unsafe fn send_frame(
        &self,
        channel: Channel,
        to: RankId,
        out: &Outgoing<'_>,
        immediate: bool,
    ) -> Result<Result<(), Refused>, Error> {
        let conduit = self.conduit.as_ref().expect("a rank that is not a neighbour is behind a conduit");
        let nargs = out.args.len();
        let at = payload_at(nargs);
        if out.kind == Kind::Long && out.len > self.max_frame(to, nargs) {
            // SAFETY: owed by the caller.
            return unsafe { self.send_parts(channel, to, *out, immediate) };
        }
        // Conduits rely on it. Larger payloads and long messages went through `check_outgoing`; all others
        // fit in any frame.
        debug_assert!(out.len <= self.max_frame(to, nargs), "a frame to {to} beyond its limit");
        let (kind, handler, len, dst) = (out.kind, out.handler, out.len, out.dst);
        let head = FrameHead { kind, handler, nargs, len, dst, part: false };
        let mut waiter = None;
        if out.len == 0 {
            let mut frame = SmallFrame([0; payload_at(MAX_ARGUMENTS)]);
            let frame = &mut frame.0[..at];
            head.emit(out.args, frame);
            while !conduit.send(to, channel, frame, immediate)? {
                if immediate {
                    return Ok(Err(Refused));
                }
                if !self.make_room(channel, to, &mut waiter) {
                    return self.send_to_nobody(channel, to, out.handler).map(Ok);
                }
            }
            return Ok(Ok(()));
        }
        let slot = loop {
            match conduit.reserve(to, channel, at + out.len, immediate)? {
                Some(slot) => break slot,
                None if immediate => return Ok(Err(Refused)),
                None if self.make_room(channel, to, &mut waiter) => {}
                None => return self.send_to_nobody(channel, to, out.handler).map(Ok),
            }
        };
        // SAFETY: the slot has `at + len` bytes that are ours until commit; the source is owed by the caller;
        // what is committed is the slot reserved above, filled in.
        unsafe {
            head.emit(out.args, core::slice::from_raw_parts_mut(slot.buf.as_ptr(), at));
            bytes::load(slot.buf.as_ptr().add(at), out.src, out.len);
            conduit.commit(slot);
        }
        Ok(Ok(()))
    }

    /// Runs the handler of a message to oneself, with the payload where a handler expects it.
    unsafe fn send_own(&self, channel: Channel, out: &Outgoing<'_>) -> Result<(), Error> {
        let mut copy: Vec<u128> = Vec::new();
        let payload = match out.kind {
            Kind::Short => core::ptr::null_mut(),
            Kind::Medium => {
                copy.resize(out.len.div_ceil(16).max(1), 0);
                let to = copy.as_mut_ptr().cast::<u8>();
                if out.len > 0 {
                    // SAFETY: room for `len` bytes just made; the source is owed by the caller.
                    unsafe { bytes::load(to, out.src, out.len) };
                }
                to
            }
            Kind::Long if out.len == 0 => self.own_address(out.dst),
            Kind::Long => match self.segments.place_at(self.id(), out.dst, out.len) {
                Some(Place::Near(at)) => {
                    // SAFETY: inside the own segment; the source is owed by the caller.
                    unsafe { bytes::store(at, out.src, out.len) };
                    at
                }
                _ => return Err(Error::op(self.outside(LONG_MESSAGE, self.id(), out.dst, out.len))),
            },
        };
        let m = Message { kind: out.kind, args: out.args, payload, len: out.len };
        self.run_handler(self.id(), channel, out.handler, &m);
        Ok(())
    }

    /// Polls until the caller may try to send again; `false` if the target has left and will take nothing any
    /// more.
    #[cold]
    #[must_use]
    pub fn make_room(&self, channel: Channel, to: RankId, waiter: &mut Option<Waiter>) -> bool {
        let waiter = waiter.get_or_insert_with(|| self.waits().begin(self.policy));
        waiter.for_others = true;
        let done = match channel {
            Channel::Request => self.poll_messages() + self.poll_rest(),
            Channel::Reply => self.poll_replies(),
        };
        if done > 0 {
            waiter.progressed();
        } else if self.is_lost(to) {
            return false;
        } else {
            self.pause_for(waiter, "room to send", Some(to));
            if waiter.has_slept() {
                self.check_forgotten(waiter, to);
            }
        }
        self.left_for(to).is_none()
    }

    /// Ends the job if the room that a wait is for may be that of forgotten messages. Those in links to
    /// neighbours are told at once.
    #[cold]
    fn check_forgotten(&self, waiter: &Waiter, to: RankId) {
        let n = self.forgotten.load(Relaxed);
        if n > 0 && waiter.asleep_for().is_some_and(|slept| slept > MAX_WAIT_BESIDE_FORGOTTEN) {
            self.fatal(&format!(
                "waits for room to send to rank {to}, and threads that are over have kept some: {n} messages were prepared, and neither \
                 sent nor dropped (they were forgotten)"
            ));
        }
    }

    /// Handles replies that have arrived, a bounded number; returns how many. Their handlers send nothing.
    #[inline]
    pub(crate) fn poll_replies(&self) -> usize {
        self.poll_links(Channel::Reply) + self.poll_conduit(Channel::Reply)
    }

    /// Handles messages of both kinds.
    #[inline]
    pub(crate) fn poll_messages(&self) -> usize {
        let mut done = self.poll_links(Channel::Reply);
        if !self.polls_both {
            done += self.poll_conduit(Channel::Reply);
        }
        done + self.poll_links(Channel::Request) + self.poll_conduit(Channel::Request)
    }

    /// Handles what comes beside messages from the network: completions, and messages that a progress thread
    /// took in.
    #[inline]
    pub(crate) fn poll_rest(&self) -> usize {
        let mut done = 0;
        // Relaxed: set before anything is started that may complete.
        if self.has_completions.load(Relaxed) {
            done += self.above().map_or(0, |above| above.poll(POLL_BUDGET));
        }
        if let Some(progress) = &self.progress {
            done += self.poll_beside(progress);
        }
        done
    }

    #[inline]
    fn poll_links(&self, channel: Channel) -> usize {
        let Some(grid) = &self.grid else { return 0 };
        grid.poll(channel, POLL_BUDGET, &mut |from, m| {
            self.deliver_message(RankId(self.neighbourhood.members()[from as usize]), channel, m);
            true
        })
    }

    #[inline]
    fn poll_conduit(&self, channel: Channel) -> usize {
        let Some(conduit) = &self.conduit else { return 0 };
        conduit.poll(channel, POLL_BUDGET, &mut |f| self.deliver_frame(f)).unwrap_or_else(|e| {
            self.conduit_failed(&e);
            0
        })
    }

    #[inline]
    fn deliver_message(&self, from: RankId, channel: Channel, m: &Received) {
        let (kind, payload) = match m.kind {
            0 => (Kind::Short, core::ptr::null_mut()),
            1 => (Kind::Medium, m.payload),
            _ => (Kind::Long, self.own_address(m.word())),
        };
        if kind == Kind::Long {
            bytes::prefetch(payload, m.len);
        }
        let message = Message { kind, args: &m.args[..m.nargs], payload, len: m.len };
        self.run_handler(from, channel, m.handler, &message);
    }

    fn deliver_frame(&self, f: Frame) {
        // SAFETY: the conduit lends `len` bytes for the duration of the call; nobody else writes them.
        let frame = unsafe { core::slice::from_raw_parts(f.data, f.len) };
        let mut args = [0; MAX_ARGUMENTS];
        let Some(head) = FrameHead::parse(frame, &mut args) else {
            self.fatal(&format!(
                "rank {} sent a frame of {} bytes that is no active message: it was forged or corrupted",
                f.from, f.len
            ));
        };
        if head.part {
            return self.deliver_part(&f, &head, &args[..head.nargs], &frame[payload_at(head.nargs)..]);
        }
        let carried = f.data.wrapping_add(payload_at(head.nargs));
        let payload = match head.kind {
            Kind::Short => core::ptr::null_mut(),
            Kind::Medium => carried,
            // None of the core's own messages is a long one.
            Kind::Long if head.handler < FIRST_LIBRARY_HANDLER => self.fatal(&format!(
                "rank {} sent a long message for the runtime itself: a frame was forged or corrupted",
                f.from
            )),
            Kind::Long if head.len == 0 => self.own_address(head.dst),
            Kind::Long => match self.segments.place_at(self.id(), head.dst, head.len) {
                Some(Place::Near(at)) => {
                    // SAFETY: inside the own segment and the frame.
                    unsafe { bytes::store(at, carried, head.len) };
                    at
                }
                _ => self.fatal(&format!("rank {} sent a long message outside this segment", f.from)),
            },
        };
        let message = Message { kind: head.kind, args: &args[..head.nargs], payload, len: head.len };
        self.run_handler(f.from, f.channel, head.handler, &message);
    }

    /// Runs the handler of a message that has arrived, or that a rank sends to itself.
    #[inline]
    pub fn run_handler(&self, from: RankId, channel: Channel, index: u8, m: &Message<'_>) {
        let token = Token { wire: self, from, channel, replied: Cell::new(false) };
        if index < FIRST_LIBRARY_HANDLER {
            return (self.serve[usize::from(index)].handle)(self, &token, index, m);
        }
        if let Some(progress) = self.progress.as_ref().filter(|p| p.puts_aside()) {
            return progress.put_aside(from, channel, index, m);
        }
        match self.handler(index).and_then(OnceLock::get) {
            // SAFETY: registered for this; the message is as Message describes.
            Some(h) => unsafe { (h.call)(h.data, &token, m) },
            None => self.fatal(&format!(
                "rank {from} sent a message for handler {index}, which is not registered here: register every handler \
                 before the job's first barrier"
            )),
        }
    }
}

impl MessageCalls<'_> {
    /// Whether a handler has that index.
    pub fn is_registered(self, index: u8) -> bool {
        self.wire.handler(index).is_some_and(|handler| handler.get().is_some())
    }

    /// Largest payload of a long request or reply to this rank.
    pub fn max_long(self, to: RankId) -> usize {
        match self.wire.route(to) {
            Route::Conduit => parts::MAX_LONG_IN_PARTS.max(self.wire.max_frame(to, MAX_ARGUMENTS)),
            _ => MAX_NEAR_LONG_BYTES,
        }
    }

    /// `Rank::request_short`, `request_medium` or `request_long`, of a payload in raw memory.
    ///
    /// # Safety
    /// 1. `out.src` is valid for `out.len` bytes (owed by the caller).
    ///
    /// # Errors
    /// As those.
    #[inline]
    pub unsafe fn request_raw(self, to: RankId, out: Outgoing<'_>) -> Result<(), Error> {
        // SAFETY: (1).
        unsafe { self.wire.send_from_outside(to, out) }
    }

    /// `Rank::request_short`, or nothing at all where it would have to wait for room; it runs no
    /// handlers but those of a message to oneself.
    ///
    /// # One-sided
    /// Returns when the message is on its way, or refused.
    ///
    /// # Errors
    /// As `Rank::request_short`.
    pub fn request_short_immediate(
        self,
        to: RankId,
        handler: u8,
        args: &[u32],
    ) -> Result<Result<(), Refused>, Error> {
        // SAFETY: no payload.
        unsafe { self.request_immediate(to, Outgoing::short(handler, args)) }
    }

    /// [`MessageCalls::request_raw`], or nothing at all, as [`MessageCalls::request_short_immediate`]: no
    /// byte of the payload is placed then. A long one that is longer than the conduit's frames waits for the
    /// room of all parts but the first.
    ///
    /// # One-sided
    /// Returns when the message is on its way, or refused.
    ///
    /// # Safety
    /// 1. `out.src` is valid for `out.len` bytes (owed by the caller).
    ///
    /// # Errors
    /// As [`MessageCalls::request_raw`].
    pub unsafe fn request_immediate(
        self,
        to: RankId,
        out: Outgoing<'_>,
    ) -> Result<Result<(), Refused>, Error> {
        // SAFETY: (1).
        unsafe { self.wire.send_immediately(to, out) }
    }
}
