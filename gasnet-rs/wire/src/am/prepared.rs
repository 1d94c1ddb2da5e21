//! Messages whose payload is made in the memory that carries it: in the link's arena to a neighbour, in the
//! conduit's frame to anyone else.
//!
//! *Prepare* takes the room, [`Prepared::payload`] is filled in, [`Prepared::commit`] sends; who drops it
//! sends nothing. Up to there the thread may send nothing else and may not wait: the room is taken from
//! everybody, and what it waits for might need it. A message to oneself is made in a buffer that its handler
//! then gets. So is a long one that no frame carries or whose target's segment is mapped: the payload of
//! these is copied into place when it is complete, since nobody may see a part of it before.
#![expect(unsafe_code, reason = "payloads are made in links and in conduits' frames")]

use super::frame::{FrameHead, MAX_ARGUMENTS, MAX_MEDIUM, payload_at};
use super::{Kind, Message, Outgoing, Route, Token};
use crate::am::MessageCalls;
use crate::conduit::{Channel, RawSlot};
use crate::context::{self, Entered, Inside};
use crate::shm::link::{Body, INLINE_BYTES};
use crate::{Error, RankId, Wire};
use core::cell::Cell;
use core::marker::PhantomData;

/// Where the payload is made.
#[derive(Debug)]
enum Room {
    /// In the arena of the link to this neighbour; the end of the claim.
    Link(u32, u64),
    /// In a frame of the conduit, behind the head and the arguments.
    Frame(RawSlot),
    /// In memory of its own.
    Own(Vec<u128>),
    /// Nowhere any more.
    Gone,
}

/// A message in the making. Dropped, it was never sent.
#[must_use = "a prepared message is sent by committing it"]
pub struct Prepared<'a> {
    wire: &'a Wire,
    to: RankId,
    channel: Channel,
    kind: Kind,
    nargs: usize,
    at: *mut u8,
    len: usize,
    room: Room,
    /// Of a reply: whether its request has been answered.
    replied: Option<&'a Cell<bool>>,
    /// The rules of this time, as long as it lasts.
    inside: Option<Entered>,
    /// Stays on its thread, which has the link.
    _here: PhantomData<*mut u8>,
}

impl core::fmt::Debug for Prepared<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Prepared({:?} of {} bytes to {})", self.kind, self.len, self.to)
    }
}

impl Wire {
    fn prepare(
        &self,
        channel: Channel,
        kind: Kind,
        to: RankId,
        (len, nargs): (usize, usize),
        immediate: bool,
    ) -> Result<Option<Prepared<'_>>, Error> {
        let most =
            if kind == Kind::Long && to.0 < self.size() { self.messages().max_long(to) } else { MAX_MEDIUM };
        if to.0 >= self.size() || nargs > MAX_ARGUMENTS || len > most {
            return Err(Error::op(format!(
                "a message of {len} bytes and {nargs} arguments to rank {to} cannot be prepared: the job has {} ranks, and a message \
                 to them at most {most} bytes and {MAX_ARGUMENTS} arguments",
                self.size()
            )));
        }
        if context::is_preparing() {
            self.check_context("prepare another one");
        }
        if channel == Channel::Request && !immediate {
            self.poll_if_own(to);
        }
        // The common case returns what it makes: moving it from hand to hand costs as much as the rest
        // together.
        if let (Route::Neighbour(index), Kind::Medium) = (self.route(to), kind)
            && !self.has_left(to)
        {
            let grid = self.grid.as_ref().expect("a neighbour has links");
            if immediate && grid.is_full(index, channel, in_arena(len), nargs) {
                return Ok(None);
            }
            match self.claim_in_link(channel, index, (len, nargs)) {
                Some((at, end)) => {
                    return Ok(Some(self.prepared(
                        (channel, kind, to, nargs),
                        (at, len),
                        Room::Link(index, end),
                    )));
                }
                None if immediate => return Ok(None),
                None => {}
            }
        }
        let mut waiter = None;
        let room = loop {
            match self.room(channel, kind, to, (len, nargs))? {
                Some(room) => break room,
                None if immediate => return Ok(None),
                None if self.make_room(channel, to, &mut waiter) => {}
                // It has left: the commit says so.
                None => break Room::own(len),
            }
        };
        let (at, room) = match room {
            (at, Room::Own(mut memory)) if at.is_null() => (memory.as_mut_ptr().cast(), Room::Own(memory)),
            other => other,
        };
        Ok(Some(self.prepared((channel, kind, to, nargs), (at, len), room)))
    }

    #[inline]
    fn prepared(
        &self,
        (channel, kind, to, nargs): (Channel, Kind, RankId, usize),
        (at, len): (*mut u8, usize),
        room: Room,
    ) -> Prepared<'_> {
        // In a handler the rules of handlers go on.
        let inside = (channel == Channel::Request).then(|| match room {
            Room::Frame(_) => context::prepared(&self.forgotten),
            _ => context::enter(Inside::Prepared),
        });
        Prepared {
            wire: self,
            to,
            channel,
            kind,
            nargs,
            at,
            len,
            room,
            replied: None,
            inside,
            _here: PhantomData,
        }
    }

    /// Room in the link to a neighbour, and the end of the claim. The link stays taken.
    #[inline]
    fn claim_in_link(
        &self,
        channel: Channel,
        index: u32,
        (len, nargs): (usize, usize),
    ) -> Option<(*mut u8, u64)> {
        let grid = self.grid.as_ref().expect("a neighbour has links");
        let mut sending = grid.sending(index, channel);
        let claim = sending.claim(in_arena(len), nargs)?;
        sending.suspend();
        Some((claim.payload, claim.end()))
    }

    /// Room for the payload, or `None` when there is none now.
    fn room(
        &self,
        channel: Channel,
        kind: Kind,
        to: RankId,
        (len, nargs): (usize, usize),
    ) -> Result<Option<(*mut u8, Room)>, Error> {
        if self.has_left(to) {
            return Ok(Some(Room::own(len)));
        }
        match (self.route(to), kind) {
            (Route::Neighbour(index), Kind::Medium) => {
                let claim = self.claim_in_link(channel, index, (len, nargs));
                Ok(claim.map(|(at, end)| (at, Room::Link(index, end))))
            }
            (Route::Conduit, _) if len <= self.max_frame(to, nargs) => {
                let conduit =
                    self.conduit.as_ref().expect("a rank that is not a neighbour is behind a conduit");
                let at = payload_at(nargs);
                let slot = conduit.reserve(to, channel, at + len, true)?;
                Ok(slot.map(|slot| (slot.buf.as_ptr().wrapping_add(at), Room::Frame(slot))))
            }
            _ => Ok(Some(Room::own(len))),
        }
    }
}

impl<'a> MessageCalls<'a> {
    /// Prepares a medium request of up to `len` bytes with `nargs` arguments. With `immediate`,
    /// `Ok(None)` where it would have to wait for room. May run handlers here otherwise.
    ///
    /// # One-sided
    /// Nothing is sent before [`Prepared::commit`].
    ///
    /// # Errors
    /// A rank, a length or a number of arguments out of range.
    ///
    /// # Panics
    /// Ends the job when this thread has prepared a message already.
    pub fn prepare_medium(
        self,
        to: RankId,
        len: usize,
        nargs: usize,
        immediate: bool,
    ) -> Result<Option<Prepared<'a>>, Error> {
        self.wire.check_context("prepare a request");
        self.wire.prepare(Channel::Request, Kind::Medium, to, (len, nargs), immediate)
    }

    /// [`MessageCalls::prepare_medium`] of a long request.
    ///
    /// # Errors
    /// As [`MessageCalls::prepare_medium`].
    pub fn prepare_long(
        self,
        to: RankId,
        len: usize,
        nargs: usize,
        immediate: bool,
    ) -> Result<Option<Prepared<'a>>, Error> {
        self.wire.check_context("prepare a request");
        self.wire.prepare(Channel::Request, Kind::Long, to, (len, nargs), immediate)
    }
}

/// The length of a payload, but so large that it lies in the arena, where it can be filled in.
fn in_arena(len: usize) -> usize {
    len.max(INLINE_BYTES + 1)
}

impl Room {
    /// Memory aligned for any type.
    fn own(len: usize) -> (*mut u8, Room) {
        (core::ptr::null_mut(), Room::Own(vec![0; len.div_ceil(16).max(1)]))
    }
}

impl Token<'_> {
    /// Prepares the reply, a medium message of up to `len` bytes with `nargs` arguments. Another reply can be
    /// sent only if this one is dropped.
    pub fn prepare_medium(
        &self,
        len: usize,
        nargs: usize,
        immediate: bool,
    ) -> Result<Option<Prepared<'_>>, Error> {
        self.prepare(Kind::Medium, len, nargs, immediate)
    }

    /// [`Token::prepare_medium`] of a long reply.
    pub fn prepare_long(
        &self,
        len: usize,
        nargs: usize,
        immediate: bool,
    ) -> Result<Option<Prepared<'_>>, Error> {
        self.prepare(Kind::Long, len, nargs, immediate)
    }

    fn prepare(
        &self,
        kind: Kind,
        len: usize,
        nargs: usize,
        immediate: bool,
    ) -> Result<Option<Prepared<'_>>, Error> {
        self.check_reply()?;
        let prepared = self.wire.prepare(Channel::Reply, kind, self.from, (len, nargs), immediate)?;
        Ok(prepared.map(|mut prepared| {
            self.replied.set(true);
            prepared.replied = Some(&self.replied);
            prepared
        }))
    }
}

impl Prepared<'_> {
    /// The buffer for the payload, aligned for any type. Its first contents have no meaning.
    pub fn payload(&mut self) -> &mut [u8] {
        // SAFETY: the room has so many bytes, initialised, that are ours until it is given up; `self` is
        // borrowed as long.
        unsafe { core::slice::from_raw_parts_mut(self.at, self.len) }
    }

    /// The first byte of [`Prepared::payload`].
    pub fn address(&self) -> *mut u8 {
        self.at
    }

    /// Bytes of [`Prepared::payload`].
    pub fn capacity(&self) -> usize {
        self.len
    }

    /// Sends the message with the first `len` bytes of the payload; those of a long message go to byte `dst`
    /// of the target's segment.
    ///
    /// # Errors
    /// A handler of the runtime's own, more bytes or other arguments than were prepared for, or a destination
    /// outside the segment. Nothing was sent then.
    pub fn commit(self, handler: u8, args: &[u32], len: usize, dst: u64) -> Result<(), Error> {
        if handler < super::FIRST_LIBRARY_HANDLER {
            return Err(super::not_yours(handler));
        }
        // SAFETY: no message of the layer above.
        unsafe { self.commit_any(handler, args, len, dst) }
    }

    /// [`Prepared::commit`] to any handler.
    ///
    /// # Safety
    /// 1. A message of the layer above says what that layer means by it (owed by the caller).
    ///
    /// # Errors
    /// As [`Prepared::commit`].
    pub unsafe fn commit_any(mut self, handler: u8, args: &[u32], len: usize, dst: u64) -> Result<(), Error> {
        let (wire, to, kind, channel) = (self.wire, self.to, self.kind, self.channel);
        if len > self.len || args.len() != self.nargs {
            return Err(Error::op(format!(
                "a message of {len} bytes and {} arguments, which was prepared for {} bytes and {} arguments",
                args.len(),
                self.len,
                self.nargs
            )));
        }
        if kind == Kind::Long && len > 0 {
            wire.check_range("long message", to, dst, len)?;
        }
        let room = core::mem::replace(&mut self.room, Room::Gone);
        // Sent now: the rules of this time end, and the reply counts.
        self.inside = None;
        self.replied = None;
        match room {
            Room::Link(index, end) => {
                if let Some(presence) = wire.presence {
                    presence.watch(wire.neighbourhood.on_host(index));
                }
                let grid = wire.grid.as_ref().expect("a neighbour has links");
                // SAFETY: `room` suspended this sending, once; the claim is the last one, since nobody else
                // had the link; the payload is in the arena, and no longer than claimed.
                unsafe {
                    let mut sending = grid.resume(index, channel);
                    let claim = sending.reclaim(self.at, end);
                    sending.publish(claim, kind as u8, handler, args, Body::Arena(len));
                }
            }
            Room::Frame(slot) => {
                let head = FrameHead { kind, handler, nargs: args.len(), len, dst, part: false };
                let conduit = wire.conduit.as_ref().expect("it gave the slot");
                // SAFETY: the slot begins with room for the head and these arguments, and is ours until it is
                // committed, once.
                unsafe {
                    let start = core::slice::from_raw_parts_mut(slot.buf.as_ptr(), payload_at(args.len()));
                    head.emit(args, start);
                    if len < self.len {
                        FrameHead::mark_padded(start);
                    }
                    conduit.commit(slot);
                }
            }
            Room::Own(mut memory) if kind == Kind::Medium && to == wire.id() => {
                let payload = memory.as_mut_ptr().cast();
                wire.run_handler(to, channel, handler, &Message { kind, args, payload, len });
            }
            Room::Own(memory) => {
                let src = memory.as_ptr().cast();
                // SAFETY: the memory has at least `len` bytes.
                unsafe { wire.send(channel, to, Outgoing { kind, handler, args, src, len, dst }) }?;
            }
            Room::Gone => unreachable!("a message is committed once"),
        }
        Ok(())
    }
}

impl Drop for Prepared<'_> {
    fn drop(&mut self) {
        match core::mem::replace(&mut self.room, Room::Gone) {
            // SAFETY: as in `commit`: nothing is published, so the claim is void.
            Room::Link(index, _) => unsafe {
                drop(self.wire.grid.as_ref().expect("a neighbour has links").resume(index, self.channel));
            },
            // SAFETY: the slot as it was reserved, given back once.
            Room::Frame(slot) => unsafe {
                self.wire.conduit.as_ref().expect("it gave the slot").cancel(slot)
            },
            Room::Own(_) | Room::Gone => {}
        }
        if let Some(replied) = self.replied.take() {
            replied.set(false);
        }
    }
}
