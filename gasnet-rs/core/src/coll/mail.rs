//! Messages between members of a team.
//!
//! A message is named by team, operation, step and sender. It may arrive before its receiver waits for it, so
//! it goes into a slot that either side creates. The receiver *posts* a buffer there.
//!
//! **Small** messages (up to [`MAX_EAGER_BYTES`]) are sent at once. They are copied once more if they arrive
//! before the buffer is posted.
//!
//! **Large** messages go straight to their destination. Which side starts depends on facts that both sides
//! know, so that no message is superfluous:
//! - *pull*, between ranks that map each other's segments: the sender sends `OFFER`. If the data is in the
//!   sender's segment, the receiver copies it and sends `DONE`. Otherwise the receiver answers `READY`, and
//!   the transfer continues as a push. Several receivers of one block copy at the same time.
//! - *push*, and everything between hosts: the receiver sends `READY` when it posts. If its buffer is in its
//!   segment, the sender puts the data there and sends `PLACED`. Otherwise the sender sends fragments, which
//!   go straight into the posted buffer.
#![expect(unsafe_code, reason = "copies between buffers of callers, segments and messages")]

use super::record::{About, Record, Signature};
use crate::coll::members::Members;
use crate::{Rank, RankId};
use core::future::{Future, poll_fn};
use core::pin::Pin;
use core::sync::atomic::{AtomicU32, Ordering};
use core::task::{Context, Poll};
use gasnet_sys::mutex::lock;
use gasnet_wire::am::{Kind, MAX_MEDIUM, Message, Outgoing, Served, Token, join, nonsense};
use gasnet_wire::bytes;
use gasnet_wire::conduit::Channel;
use gasnet_wire::event::Event;
use gasnet_wire::segment::Place;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};

/// Numbers of this module's messages among the core's own messages.
pub(crate) const FIRST: u8 = 16;
const DATA: u8 = FIRST;
const OFFER: u8 = FIRST + 1;
const DONE: u8 = FIRST + 2;
const READY: u8 = FIRST + 3;
const PLACED: u8 = FIRST + 4;
/// The last of them.
pub(crate) const LAST: u8 = PLACED;

/// Largest message that is sent without an offer.
pub(crate) const MAX_EAGER_BYTES: usize = 8192;

/// Marks the slot in which a sender waits for `READY` or `DONE`.
const SENDER: u32 = 1 << 31;

/// An address in a caller's memory, which stays valid until the operation is over.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ptr(pub(crate) *mut u8);

// SAFETY: an address; following it is unsafe elsewhere, and one task at a time does.
unsafe impl Send for Ptr {}
// SAFETY: as above.
unsafe impl Sync for Ptr {}

impl Ptr {
    pub(crate) fn of(p: *const u8) -> Ptr {
        Ptr(p.cast_mut())
    }
    pub(crate) fn at(self, n: usize) -> Ptr {
        Ptr(self.0.wrapping_add(n))
    }
    /// Copies `n` bytes; the ranges may overlap.
    ///
    /// # Safety
    /// 1. Both are valid for `n` bytes (owed by the caller).
    pub(crate) unsafe fn copy_to(self, to: Ptr, n: usize) {
        if n > 0 && self.0 != to.0 {
            // SAFETY: (1).
            unsafe { bytes::store(to.0, self.0, n) }
        }
    }
}

/// A block that is sent to another member, or received from it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part {
    pub(crate) peer: usize,
    /// Its source or destination in the caller's memory.
    pub(crate) at: Ptr,
    pub(crate) len: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct SlotName {
    team: u32,
    op: u32,
    step: u32,
    peer: u32,
    /// The rank of the peer. Messages that other ranks send in its name are ignored.
    from: RankId,
}

#[derive(Debug, Default)]
struct Slot {
    /// The posted buffer.
    buffer: Option<(Ptr, usize)>,
    /// Data that arrived before the buffer was posted.
    early: Vec<u8>,
    /// Number of bytes that have arrived.
    bytes: usize,
    /// Whether anything has arrived: distinguishes an empty message from none.
    some: bool,
    /// Ends of the fragments of a large message that have arrived, by their starts.
    parts: BTreeMap<usize, usize>,
    /// An `OFFER`, `READY` or `DONE` and its word.
    word: Option<(u8, u64)>,
    /// Bytes of the whole message, according to its sender or receiver.
    total: Option<usize>,
    /// Bytes of the message that waits here for the word.
    sends: Option<usize>,
}

impl Slot {
    /// Stores a fragment; `None` if it does not fit, or if a part of it has arrived before.
    fn fragment(&mut self, at: u64, data: &[u8]) -> Option<()> {
        let room = self.buffer.map_or(MAX_EAGER_BYTES, |(_, len)| len);
        let at = usize::try_from(at).ok().filter(|at| *at <= room && data.len() <= room - at)?;
        if room <= MAX_EAGER_BYTES {
            // It is the whole message, and may come before its buffer is posted.
            (at == 0 && !self.some).then_some(())?;
        } else {
            let end = at + data.len();
            let before = self.parts.range(..end).next_back();
            (!data.is_empty() && before.is_none_or(|(_, end)| *end <= at)).then_some(())?;
            self.parts.insert(at, end);
        }
        match self.buffer {
            // SAFETY: inside the posted buffer, which its owner keeps valid until the operation is over.
            Some((to, _)) => unsafe { Ptr::of(data.as_ptr()).copy_to(to.at(at), data.len()) },
            None => self.early.extend_from_slice(data),
        }
        self.bytes += data.len();
        self.some = true;
        Some(())
    }

    /// Notes that the peer has put all of `len` bytes into the posted buffer.
    fn placed(&mut self, len: u64) -> Option<()> {
        let (_, posted) =
            self.buffer.filter(|(_, posted)| *posted as u64 == len && *posted > MAX_EAGER_BYTES)?;
        if self.some {
            return None;
        }
        self.bytes = posted;
        self.some = true;
        Some(())
    }
}

/// All slots of a rank, and the records of its teams.
#[derive(Debug, Default)]
struct Slots {
    all: HashMap<SlotName, Slot>,
    records: BTreeMap<u32, Arc<Record>>,
}

/// The state that messages change.
#[derive(Debug, Default)]
pub(crate) struct Mail {
    slots: Mutex<Slots>,
    /// Changes with every message, so that waits know when to check again.
    epoch: AtomicUsize,
}

impl Mail {
    /// See the field.
    #[inline]
    pub(crate) fn epoch(&self) -> usize {
        self.epoch.load(Relaxed)
    }

    pub(crate) fn bump(&self) {
        self.epoch.fetch_add(1, Relaxed);
    }

    fn slots(&self) -> MutexGuard<'_, Slots> {
        lock(&self.slots)
    }

    /// The word for a sender of `len` bytes, if it has arrived.
    fn take_word(&self, rank: &Rank, key: SlotName, len: usize) -> Option<(u8, u64)> {
        let mut slots = self.slots();
        let slot = slots.all.entry(key).or_default();
        slot.sends = Some(len);
        let (word, total) = (slot.word?, slot.total);
        slots.all.remove(&key);
        drop(slots);
        if let Some(expected) = total.filter(|total| *total != len as u32 as usize) {
            lengths_differ(rank, (rank.id(), len), (key.from, expected));
        }
        Some(word)
    }

    /// The record of a team, which messages may reach before the team is made here.
    pub(crate) fn record(&self, team: u32) -> Arc<Record> {
        self.slots().record(team)
    }

    /// The team is given up on this rank.
    pub(crate) fn forget(&self, team: u32) {
        self.slots().records.remove(&team);
    }

    /// The messages that this rank waits for: team, the member that is to send it, and which.
    pub(crate) fn awaited(&self) -> Vec<(u32, u32, About)> {
        let slots = self.slots();
        let about = |key: &SlotName, len| About { member: 0, operation: key.op, step: key.step, len };
        let waits = |(key, slot): (&SlotName, &Slot)| match (slot.buffer, slot.sends) {
            (Some((_, len)), _) => Some((key.team, key.peer, about(key, len))),
            (None, Some(_)) => Some((key.team, key.peer, about(key, 0))),
            _ => None,
        };
        slots.all.iter().filter_map(waits).collect()
    }

    /// A member waits for a message of this rank with so many bytes (team, operation, step and member). A
    /// sender that waits for permission to send another number of bytes would wait for ever.
    pub(crate) fn compare_length(
        &self,
        rank: &Rank,
        from: RankId,
        [team, op, step, peer]: [u32; 4],
        len: usize,
    ) {
        let key = SlotName { team, op, step: step | SENDER, peer, from };
        let sends = self.slots().all.get(&key).and_then(|slot| slot.sends);
        if let Some(sends) = sends.filter(|sends| len > 0 && *sends != len) {
            lengths_differ(rank, (rank.id(), sends), (from, len));
        }
    }
}

impl Slots {
    fn record(&mut self, team: u32) -> Arc<Record> {
        self.records.entry(team).or_insert_with(|| Arc::new(Record::new(team))).clone()
    }
}

/// Who serves the messages of this module.
pub(crate) const MESSAGES: Served = Served {
    handle: |wire, token, index, m| handle(Rank::of(wire), token, index, m),
    lost: |wire, to, _| wire.note_lost(to),
};

/// Serves a message of this module.
fn handle(rank: &Rank, token: &Token<'_>, index: u8, m: &Message<'_>) {
    let &[team, op, step, peer, lo, hi, what, total] = m.args else {
        nonsense(token, "a collective message without its name");
    };
    let fits = if index == DATA { Kind::Medium } else { Kind::Short };
    if m.kind != fits || !token.is_request() {
        nonsense(token, "a collective message of another kind");
    }
    let mail = &rank.coll.mail;
    let word = join(lo, hi);
    let sender = matches!(index, READY | DONE);
    let key =
        SlotName { team, op, step: if sender { step | SENDER } else { step }, peer, from: token.source() };
    let mut slots = mail.slots();
    match slots.records.get(&team) {
        Some(record) => record.hear(rank, op, token.source(), what),
        None => slots.record(team).hear(rank, op, token.source(), what),
    }
    let slot = slots.all.entry(key).or_default();
    // Beyond 4 GiB only the rest counts.
    let total = total as usize;
    if let Some((_, len)) = slot.buffer.filter(|(_, len)| *len as u32 as usize != total) {
        drop(slots);
        lengths_differ(rank, (token.source(), total), (rank.id(), len));
    }
    slot.total = Some(total);
    let taken = match index {
        DATA => slot.fragment(word, m.bytes()),
        PLACED => slot.placed(word),
        _ => slot.word.is_none().then(|| slot.word = Some((index, word))),
    };
    drop(slots);
    if taken.is_none() {
        disagree(rank, token.source());
    }
    mail.bump();
}

/// The error if a message arrives that does not fit.
const DISAGREE: &str = "a collective operation: this rank receives more than it expects: the ranks of the team disagree about the \
     operation or its size";

#[cold]
fn disagree(rank: &Rank, peer: RankId) -> ! {
    rank.fatal(&format!("{DISAGREE}: rank {peer} sent it"))
}

/// The sender and the receiver of a block, and the number of bytes that each of them gives for it.
#[cold]
pub(super) fn lengths_differ(
    rank: &Rank,
    (from, sent): (RankId, usize),
    (to, expected): (RankId, usize),
) -> ! {
    rank.fatal(&format!(
        "a collective operation: rank {from} sends rank {to} a block of {sent} bytes where {expected} are expected: the ranks of the \
         team disagree about its size"
    ))
}

/// How large messages of an operation are sent; see the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Pull,
    Push,
}

/// One operation of a team, as one of its members sees it.
pub(crate) struct Op {
    pub(crate) team: Arc<Members>,
    pub(crate) number: u32,
    pub(crate) what: Signature,
    pub(crate) path: super::Path,
    /// Number of steps by the table so far.
    pub(crate) steps: AtomicU32,
    /// The ticket of the next step, unless it is carried out by messages.
    pub(crate) ticket: AtomicU32,
}

impl Op {
    pub(crate) fn rank(&self) -> &'static Rank {
        self.team.rank
    }
    /// This member.
    pub(crate) fn me(&self) -> usize {
        self.team.me
    }
    /// Members.
    pub(crate) fn size(&self) -> usize {
        self.team.ranks.len()
    }

    /// Waits until it is this operation's turn at the team's table or NICs.
    pub(crate) async fn turn(&self) {
        poll_fn(|_| {
            if self.is_next() {
                return Poll::Ready(());
            }
            // No message announces it.
            self.rank().coll.mail.bump();
            Poll::Pending
        })
        .await;
    }

    /// Whether it is.
    pub(crate) fn is_next(&self) -> bool {
        // ORDER: Acquire; pairs with Release in next_turn: the last step's state, if another thread of the
        // rank did it.
        self.team.turn.load(Ordering::Acquire) == self.ticket.load(Relaxed)
    }

    /// Ends a step.
    pub(crate) fn next_turn(&self) {
        let next = self.ticket.load(Relaxed).wrapping_add(1);
        self.ticket.store(next, Relaxed);
        // ORDER: Release; pairs with Acquire in turn.
        self.team.turn.store(next, Ordering::Release);
    }

    fn key(&self, step: u32, peer: usize) -> SlotName {
        SlotName {
            team: self.team.id,
            op: self.number,
            step,
            peer: peer as u32,
            from: self.team.ranks.of(peer),
        }
    }

    /// The operation of this member at a table: its kind, its number, and the step.
    pub(crate) fn part(&self) -> u64 {
        // Steps follow each other, so there is no read-modify-write, which would cost as much as the rest.
        let step = self.steps.load(Relaxed);
        self.steps.store(step.wrapping_add(1), Relaxed);
        u64::from(self.what.short()) | u64::from(self.number & 63) << 32 | u64::from(step & 3) << 38
    }

    fn tell(&self, to: usize, index: u8, step: u32, word: u64, total: usize) {
        let out =
            Outgoing { kind: Kind::Short, handler: index, args: &[], src: core::ptr::null(), len: 0, dst: 0 };
        self.message(to, out, step, word, total);
    }

    fn message(&self, to: usize, out: Outgoing<'_>, step: u32, word: u64, total: usize) {
        let (lo, hi) = (word as u32, (word >> 32) as u32);
        let (me, what) = (self.team.me as u32, self.what.short());
        let args = [self.team.id, self.number, step, me, lo, hi, what, total as u32];
        let out = Outgoing { args: &args, ..out };
        // SAFETY: callers pass memory that is valid for the call.
        if let Err(e) = unsafe { self.rank().wire.send(Channel::Request, self.team.ranks.of(to), out) } {
            self.rank().fatal(&e.to_string());
        }
    }

    /// Sends `len` bytes in fragments.
    fn fragments(&self, to: usize, step: u32, from: Ptr, len: usize) {
        let most = self.rank().wire.max_frame(self.team.ranks.of(to), 8).min(MAX_MEDIUM);
        let mut done = 0;
        loop {
            let n = most.min(len - done);
            let src = from.at(done).0.cast_const();
            let out = Outgoing { kind: Kind::Medium, handler: DATA, args: &[], src, len: n, dst: 0 };
            self.message(to, out, step, done as u64, len);
            done += n;
            if done >= len {
                return;
            }
        }
    }

    /// Whether a large message between here and `peer` begins with an offer. Both find the same.
    fn offers(&self, peer: usize, way: Way) -> bool {
        way == Way::Pull && self.rank().wire.maps(self.team.ranks.of(peer))
    }

    /// Offset in the own segment of a range, if it lies there.
    fn own_offset(&self, p: Ptr, len: usize) -> Option<u64> {
        let own = self.rank().wire.segments.known()?.get(self.rank().id())?;
        let at = (p.0 as usize).wrapping_sub(own.local as usize);
        (!own.local.is_null() && len <= own.size && at <= own.size - len).then_some(at as u64)
    }

    /// Sends a message. Its bytes may change when the future is over. A small message has been sent after the
    /// future's first turn.
    ///
    /// # Safety
    /// 1. `from` is valid for `len` bytes until the future is over (owed by the caller).
    pub(crate) async unsafe fn send(&self, to: usize, step: u32, from: Ptr, len: usize, way: Way) {
        debug_assert_ne!(to, self.me());
        if len <= MAX_EAGER_BYTES {
            return self.fragments(to, step, from, len);
        }
        let key = self.key(step | SENDER, to);
        if self.offers(to, way) {
            let lend = self.own_offset(from, len);
            self.tell(to, OFFER, step, lend.map_or(0, |o| o + 1), len);
            if lend.is_some() {
                self.word(key, DONE, len).await;
                return;
            }
        }
        let word = self.word(key, READY, len).await;
        self.fill(to, step, from, len, word).await;
    }

    /// Brings the data to a receiver that is ready: `word` is the offset of its buffer in its segment plus 1,
    /// or 0.
    async fn fill(&self, to: usize, step: u32, from: Ptr, len: usize, word: u64) {
        if word == 0 {
            return self.fragments(to, step, from, len);
        }
        // SAFETY: `send` was promised that the source is valid; the receiver gave leave to write its buffer.
        let event = unsafe { self.rank().put_nb_bulk(self.team.ranks.of(to), word - 1, from.0, len) };
        self.event(event).await;
        self.tell(to, PLACED, step, len as u64, len);
    }

    /// Waits for the receiver's answer; ends the job if it is another one.
    async fn word(&self, key: SlotName, index: u8, len: usize) -> u64 {
        let taken = || self.rank().coll.mail.take_word(self.rank(), key, len);
        let (said, word) = poll_fn(|_| taken().map_or(Poll::Pending, Poll::Ready)).await;
        if said != index {
            disagree(self.rank(), key.from);
        }
        word
    }

    /// Waits for a transfer.
    async fn event(&self, event: Event) {
        poll_fn(|_| {
            if self.rank().events().test_quietly(event) {
                return Poll::Ready(());
            }
            // No message announces its end.
            self.rank().coll.mail.bump();
            Poll::Pending
        })
        .await;
    }

    /// Posts a buffer for a message; the future ends when it is filled.
    ///
    /// # Safety
    /// 1. `to` is valid for writes of `len` bytes, and used by nobody else, until the future is over (owed by
    ///    the caller).
    pub(crate) unsafe fn receive(
        &self,
        from: usize,
        step: u32,
        to: Ptr,
        len: usize,
        way: Way,
    ) -> Receive<'_> {
        let key = self.key(step, from);
        {
            let mut slots = self.rank().coll.mail.slots();
            let slot = slots.all.entry(key).or_default();
            let early = core::mem::take(&mut slot.early);
            let differs = |total: &usize| *total != len as u32 as usize || early.len() > len;
            if let Some(sent) = slot.total.filter(differs) {
                drop(slots);
                lengths_differ(self.rank(), (self.team.ranks.of(from), sent), (self.rank().id(), len));
            }
            // SAFETY: (1); no more than `len` bytes.
            unsafe { Ptr::of(early.as_ptr()).copy_to(to, early.len()) };
            slot.buffer = Some((to, len));
        }
        if len > MAX_EAGER_BYTES && !self.offers(from, way) {
            self.ready(from, step, to, len);
        }
        Receive { op: self, key, from, step, to, len, way }
    }

    fn ready(&self, from: usize, step: u32, to: Ptr, len: usize) {
        self.tell(from, READY, step, self.own_offset(to, len).map_or(0, |o| o + 1), len);
    }
}

/// A posted receive.
pub(crate) struct Receive<'a> {
    op: &'a Op,
    key: SlotName,
    from: usize,
    step: u32,
    to: Ptr,
    len: usize,
    way: Way,
}

impl Future for Receive<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        let rank = self.op.rank();
        let offer = {
            let mut slots = rank.coll.mail.slots();
            let Some(slot) = slots.all.get_mut(&self.key) else { return Poll::Ready(()) };
            if slot.some && slot.bytes == self.len {
                slots.all.remove(&self.key);
                return Poll::Ready(());
            }
            let sent = slot.total.filter(|total| *total != self.len as u32 as usize);
            if let Some(sent) = sent.or((slot.bytes > self.len).then_some(slot.bytes)) {
                drop(slots);
                lengths_differ(rank, (self.op.team.ranks.of(self.from), sent), (rank.id(), self.len));
            }
            slot.word.take().map(|(_, word)| word)
        };
        if offer.is_some() && !(self.len > MAX_EAGER_BYTES && self.op.offers(self.from, self.way)) {
            disagree(rank, self.op.team.ranks.of(self.from));
        }
        match offer {
            None => Poll::Pending,
            Some(0) => {
                self.op.ready(self.from, self.step, self.to, self.len);
                Poll::Pending
            }
            Some(lent) => {
                let peer = self.op.team.ranks.of(self.from);
                match rank.table().place_at(peer, lent - 1, self.len) {
                    // SAFETY: inside a mapped segment, lent until `DONE`; `receive` was promised the buffer.
                    Some(Place::Near(at)) => unsafe { Ptr(at).copy_to(self.to, self.len) },
                    _ => rank.fatal(&format!("rank {peer} offered a block outside its segment")),
                }
                rank.coll.mail.slots().all.remove(&self.key);
                self.op.tell(self.from, DONE, self.step, 0, self.len);
                Poll::Ready(())
            }
        }
    }
}

/// Outstanding sends, which advance together.
#[derive(Default)]
pub(crate) struct Flying<'a>(Vec<Pin<Box<dyn Future<Output = ()> + Send + 'a>>>);

impl<'a> Flying<'a> {
    /// Starts one more send. A small message has been sent on return.
    pub(crate) fn push(&mut self, send: impl Future<Output = ()> + Send + 'a) {
        let mut send: Pin<Box<dyn Future<Output = ()> + Send + 'a>> = Box::pin(send);
        if send.as_mut().poll(&mut Context::from_waker(core::task::Waker::noop())).is_pending() {
            self.0.push(send);
        }
    }

    /// Waits for one future while the sends advance.
    pub(crate) async fn during<T>(&mut self, other: impl Future<Output = T>) -> T {
        let mut other = core::pin::pin!(other);
        poll_fn(|cx| {
            self.0.retain_mut(|f| f.as_mut().poll(cx).is_pending());
            other.as_mut().poll(cx)
        })
        .await
    }

    /// Waits for all of them.
    pub(crate) async fn land(&mut self) {
        poll_fn(|cx| {
            self.0.retain_mut(|f| f.as_mut().poll(cx).is_pending());
            if self.0.is_empty() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }
}
