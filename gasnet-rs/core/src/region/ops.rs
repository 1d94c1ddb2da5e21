//! Puts, gets and atomic operations on regions, by active messages.
//!
//! A request names the slot, the generation and the secret of a region besides its
//! [transfer](crate::transfer), as those of [`crate::amref`] name an offset in a segment; the answers are the
//! same. What the owner refuses is answered with a code, and nothing was read or written. To the own rank an
//! operation is the same check and a copy, without a message. Where the owner's NIC serves regions
//! ([`gasnet_wire::conduit::regions`]), puts and gets of those that it can reach are the NIC's instead.
//!
//! **Who hears of a refusal.** Operations that return a [`RegionError`] return it; of a transfer of several
//! messages some may have been made then. Those that return an [`Event`], and implicit ones, have nobody to
//! tell: they end the job with a message.
#![expect(unsafe_code, reason = "copies between regions, message payloads and user memory")]

use super::long::LONG;
use super::refusal::{LENIENT, STRICT};
use super::{Access, Grant, KeyedRegion, Modes, RegionCalls, RegionError, RegionKey, SERVED};
use crate::amref;
use crate::atomics::Operation;
use crate::native::Native;
use crate::{Error, Rank, RankId};
use core::mem::ManuallyDrop;
use gasnet_wire::am::{Kind, Message, Served, Token, join, nonsense};
use gasnet_wire::apply::apply;
use gasnet_wire::bytes;
use gasnet_wire::conduit::regions::{RegionPlace, RegionRma};
use gasnet_wire::event::{Event, Implicit};
use gasnet_wire::prim::{Ordering, fence};
use gasnet_wire::segment::Shared;
use gasnet_wire::transfer::{Answer, FarAccess, Plan};

/// Messages of regions, as numbers of the core's own messages.
pub(crate) const FIRST: u8 = 32;
const PUT: u8 = FIRST;
const GET: u8 = FIRST + 1;
const ATOMIC: u8 = FIRST + 2;
const NAME: u8 = FIRST + 3;
const REFUSED: u8 = FIRST + 4;
/// The last of them.
pub(crate) const LAST: u8 = LONG;
const _: () = assert!(LONG == REFUSED + 1);

/// In place of a refusal: no region has the name.
const ABSENT: u32 = u32::MAX;

/// Bytes of what is published under a name: key and note.
const PUBLISHED_BYTES: usize = size_of::<RegionKey>() + size_of::<u64>();

type ServedBy<'a> = (&'a Native, &'a dyn RegionRma);

fn halves(word: u64) -> [u32; 2] {
    [word as u32, (word >> 32) as u32]
}

impl Grant {
    pub(super) fn of(&[slot, generation, low, high]: &[u32; 4]) -> Grant {
        Grant { slot, generation, secret: join(low, high) }
    }

    pub(super) fn words(self) -> [u32; 4] {
        let [low, high] = halves(self.secret);
        [self.slot, self.generation, low, high]
    }
}

impl Rank {
    /// Starts an operation with an event, in parts that count in its op.
    pub(super) fn region_op(&self, peer: RankId, asks: u32, start: impl FnOnce(u32)) -> Event {
        let index = self.wire.ops.start_with(peer);
        // Relaxed: nobody else knows the op yet.
        self.wire.ops.op(index).refused.store(asks, Ordering::Relaxed);
        start(index);
        // Who asks looks at the op once more.
        if asks == STRICT { self.wire.ops.started(index) } else { self.wire.ops.event(index) }
    }

    /// The result of an operation; `None` while it is under way.
    fn region_result(&self, event: Event) -> Option<Result<(), RegionError>> {
        // Relaxed: finish published it.
        let ended = self.wire.ops.take(event, |op| op.refused.load(Ordering::Relaxed));
        let Some(ended) = ended else {
            self.fatal("an event was waited for twice, or is no event of this rank")
        };
        let code = ended?.saturating_sub(LENIENT);
        Some(RegionError::from_code(code).map_or(Ok(()), Err))
    }

    /// Starts an operation and waits for its end.
    fn region_wait(&self, peer: RankId, start: impl FnOnce(u32)) -> Result<(), RegionError> {
        self.wire.check_context("wait for an operation");
        let event = self.region_op(peer, LENIENT, start);
        let mut result = None;
        self.waits().wait_for(crate::rma::EVENT_WAIT, Some(peer), || {
            result = self.region_result(event);
            result.is_some()
        });
        result.unwrap_or(Ok(()))
    }

    /// Checks an operation here. `Some` of the answer if there is nothing to be sent.
    pub(super) fn region_check(
        &self,
        key: &RegionKey,
        modes: Modes,
        at: u64,
        len: usize,
    ) -> Result<(), RegionError> {
        if key.rank >= self.size() || (self.wire.has_left(key.rank()) && key.rank() != self.id()) {
            return Err(RegionError::Gone);
        }
        key.check(modes, at, len)
    }

    /// An access to the own memory, by name.
    pub(super) fn own_access(
        &self,
        key: &RegionKey,
        modes: Modes,
        at: u64,
        len: usize,
    ) -> Result<Access<'_>, RegionError> {
        self.regions.access(key.grant(), modes, at, len)
    }

    /// The NIC's operations, and the first byte, of an access that the owner's NIC can carry out.
    fn served(&self, key: &RegionKey, at: u64, len: usize) -> Option<(ServedBy<'_>, RegionPlace)> {
        if key.modes & SERVED == 0 {
            return None;
        }
        let served = self.region_rma()?;
        let reached = at.checked_add(len as u64).is_some_and(|end| end <= served.1.end());
        let once = key.modes().has(Modes::ONCE);
        let Grant { slot: number, secret, .. } = key.grant();
        (reached && (!once || served.1.is_one_step(at, len)))
            .then_some((served, RegionPlace { number, secret, at }))
    }

    /// Puts in parts that count in `op`.
    ///
    /// # Safety
    /// 1. `src` is valid for `len` bytes during the call (owed by the caller).
    pub(super) unsafe fn start_region_put(
        &self,
        op: u32,
        key: &RegionKey,
        at: u64,
        src: *const u8,
        len: usize,
    ) {
        let peer = key.rank();
        if let Err(e) = self.region_check(key, Modes::WRITE, at, len) {
            return self.region_refused(op, peer, e);
        }
        if peer == self.id() {
            match self.own_access(key, Modes::WRITE, at, len) {
                // SAFETY: inside a region that stays until the access is dropped; (1).
                Ok(access) => unsafe {
                    bytes::store(access.at, src, len);
                    // ORDER: Release; pairs with whatever tells others: the data comes before it.
                    fence(Ordering::Release);
                },
                Err(e) => self.region_refused(op, peer, e),
            }
            return;
        }
        self.regions.reaches_far();
        let put = FarAccess { op, peer, offset: at, len, immediate: false };
        if let Some((served, place)) = self.served(key, at, len) {
            // SAFETY: (1).
            return unsafe { self.served_put(served, put, place, src) };
        }
        let [slot, owner, low, high] = key.grant().words();
        let sent =
            self.in_pieces(put, Plan::message(peer, op, Answer::Done), |[name, generation], done, n, _| {
                let [at_low, at_high] = halves(at + done as u64);
                let args = [name, generation, slot, owner, low, high, at_low, at_high];
                // SAFETY: (1).
                unsafe { self.wire.request(peer, Kind::Medium, PUT, &args, (src.wrapping_add(done), n)) };
                Ok(())
            });
        debug_assert!(sent.is_ok(), "not immediate");
    }

    /// Gets in parts that count in `op`; `dst` is written until the op is done.
    ///
    /// # Safety
    /// 1. `dst` is valid for `len` bytes and used by nobody until the op is done (owed by the caller).
    pub(super) unsafe fn start_region_get(
        &self,
        op: u32,
        dst: *mut u8,
        key: &RegionKey,
        at: u64,
        len: usize,
    ) {
        let peer = key.rank();
        if let Err(e) = self.region_check(key, Modes::READ, at, len) {
            return self.region_refused(op, peer, e);
        }
        if peer == self.id() {
            match self.own_access(key, Modes::READ, at, len) {
                // SAFETY: inside a region that stays until the access is dropped; (1).
                Ok(access) => unsafe {
                    // ORDER: Acquire; pairs with the Release of whatever told us that the data is there.
                    fence(Ordering::Acquire);
                    bytes::load(dst, access.at, len);
                },
                Err(e) => self.region_refused(op, peer, e),
            }
            return;
        }
        self.regions.reaches_far();
        let get = FarAccess { op, peer, offset: at, len, immediate: false };
        if let Some((served, place)) = self.served(key, at, len) {
            // SAFETY: (1).
            return unsafe { self.served_get(served, get, place, dst) };
        }
        let [slot, owner, low, high] = key.grant().words();
        let plan = Plan { at: dst, ..Plan::message(peer, op, Answer::Data) };
        let sent = self.in_pieces(get, plan, |[name, generation], done, n, immediate| {
            let [at_low, at_high] = halves(at + done as u64);
            let args = [name, generation, slot, owner, low, high, at_low, at_high, n as u32];
            self.wire.message(peer, GET, &args, immediate)
        });
        debug_assert!(sent.is_ok(), "not immediate");
    }

    /// Starts an operation on `values`, which its handle owns.
    fn region_handle<T: Shared>(
        &self,
        peer: RankId,
        values: Vec<T>,
        start: impl FnOnce(u32),
    ) -> RegionOp<'_, T> {
        let event = Some(self.region_op(peer, LENIENT, start));
        RegionOp { rank: self, peer, event, result: Ok(()), buffer: ManuallyDrop::new(values) }
    }

    fn own_atomic(&self, grant: Grant, at: u64, op: Operation, a: u64, b: u64) -> Result<u64, RegionError> {
        let access = self.regions.access(grant, Modes::ATOMIC, at, op.width())?;
        if !access.at.addr().is_multiple_of(op.width()) {
            return Err(RegionError::Unaligned);
        }
        // SAFETY: inside a region that stays until the access is dropped, and aligned.
        Ok(unsafe { apply(access.at, op, a, b) })
    }
}

impl<'a> KeyedRegion<'a, '_> {
    /// Copies `len` bytes from `src` to byte `at` of a region.
    ///
    /// # One-sided
    /// # Completion
    /// On return the data is in place, or nothing of the first message's was written.
    ///
    /// # Safety
    /// 1. `src` is valid for `len` bytes (owed by the caller). 2. As for [`Rank::put`].
    ///
    /// # Errors
    /// The owner refused the access.
    pub unsafe fn put(self, at: u64, src: *const u8, len: usize) -> Result<(), RegionError> {
        // SAFETY: (1).
        self.rank.region_wait(self.key.rank(), |op| unsafe {
            self.rank.start_region_put(op, self.key, at, src, len)
        })
    }

    /// Copies `len` bytes at byte `at` of a region to `dst`.
    ///
    /// # One-sided
    /// # Completion
    /// On return the data is at `dst`.
    ///
    /// # Safety
    /// 1. `dst` is valid for writes of `len` bytes (owed by the caller). 2. As for [`Rank::put`].
    ///
    /// # Errors
    /// The owner refused the access; what is at `dst` is then undefined.
    pub unsafe fn get(self, dst: *mut u8, at: u64, len: usize) -> Result<(), RegionError> {
        // SAFETY: (1); we wait before returning.
        self.rank.region_wait(self.key.rank(), |op| unsafe {
            self.rank.start_region_get(op, dst, self.key, at, len)
        })
    }

    /// Starts a put. `src` may be reused on return.
    ///
    /// # Safety
    /// As [`KeyedRegion::put`](crate::KeyedRegion::put).
    ///
    /// # Panics
    /// Ends the job when the owner refuses the access.
    pub unsafe fn put_nb(self, at: u64, src: *const u8, len: usize) -> Event {
        // SAFETY: owed by the caller.
        self.rank.region_op(self.key.rank(), STRICT, |op| unsafe {
            self.rank.start_region_put(op, self.key, at, src, len)
        })
    }

    /// Starts a get. `dst` is undefined until the event is done.
    ///
    /// # Safety
    /// As [`KeyedRegion::get`](crate::KeyedRegion::get), until the event is done.
    ///
    /// # Panics
    /// As [`KeyedRegion::put_nb`](crate::KeyedRegion::put_nb).
    pub unsafe fn get_nb(self, dst: *mut u8, at: u64, len: usize) -> Event {
        // SAFETY: owed by the caller.
        self.rank.region_op(self.key.rank(), STRICT, |op| unsafe {
            self.rank.start_region_get(op, dst, self.key, at, len)
        })
    }

    /// Starts an implicit put: it counts in this thread's puts, or in its open access region. `src` may be
    /// reused on return.
    ///
    /// # Safety
    /// As [`KeyedRegion::put`](crate::KeyedRegion::put).
    ///
    /// # Panics
    /// As [`KeyedRegion::put_nb`](crate::KeyedRegion::put_nb).
    pub unsafe fn put_nbi(self, at: u64, src: *const u8, len: usize) {
        // SAFETY: owed by the caller.
        unsafe {
            self.rank.start_region_put(self.rank.wire.ops.implicit(Implicit::Puts), self.key, at, src, len)
        }
    }

    /// Starts an implicit get.
    ///
    /// # Safety
    /// As [`KeyedRegion::get`](crate::KeyedRegion::get), until the implicit gets of this thread (or the
    /// access region) are synchronised.
    ///
    /// # Panics
    /// As [`KeyedRegion::put_nb`](crate::KeyedRegion::put_nb).
    pub unsafe fn get_nbi(self, dst: *mut u8, at: u64, len: usize) {
        // SAFETY: owed by the caller.
        unsafe {
            self.rank.start_region_get(self.rank.wire.ops.implicit(Implicit::Gets), dst, self.key, at, len)
        }
    }

    /// Writes values to a region, from byte `at` on.
    ///
    /// # One-sided
    /// # Completion
    /// On return the data is in place. Whoever reads at the same time may see a part of it.
    ///
    /// # Errors
    /// The access is refused; of values that take several messages some may have been written.
    pub fn write<T: Shared>(self, at: u64, values: &[T]) -> Result<(), RegionError> {
        // SAFETY: a slice is valid for its size.
        unsafe { self.put(at, values.as_ptr().cast(), size_of_val(values)) }
    }

    /// Reads values of a region, from byte `at` on.
    ///
    /// # Errors
    /// The access is refused; `values` are then undefined.
    pub fn read<T: Shared>(self, at: u64, values: &mut [T]) -> Result<(), RegionError> {
        // SAFETY: a slice is valid for its size; any bytes are a T.
        unsafe { self.get(values.as_mut_ptr().cast(), at, size_of_val(values)) }
    }

    /// Starts to write values to a region. The handle owns them until it is waited for.
    pub fn write_nb<T: Shared>(self, at: u64, values: Vec<T>) -> RegionOp<'a, T> {
        let (src, len) = (values.as_ptr().cast(), size_of_val(values.as_slice()));
        // SAFETY: valid during the call.
        let start = |op| unsafe { self.rank.start_region_put(op, self.key, at, src, len) };
        self.rank.region_handle(self.key.rank(), values, start)
    }

    /// Starts to read `n` values of a region into a buffer that the handle owns until it is waited for.
    pub fn read_nb<T: Shared>(self, at: u64, n: usize) -> RegionOp<'a, T> {
        let mut values = vec![T::zeroed(); n];
        let (dst, len) = (values.as_mut_ptr().cast(), size_of_val(values.as_slice()));
        // SAFETY: the handle owns the buffer, gives it up only when the operation is complete, and leaks it
        // if forgotten.
        let start = |op| unsafe { self.rank.start_region_get(op, dst, self.key, at, len) };
        self.rank.region_handle(self.key.rank(), values, start)
    }

    /// Does an atomic operation on the word at byte `at` of a region and returns the old value as bits
    /// (32-bit types zero-extended).
    ///
    /// # One-sided
    /// # Errors
    /// The access is refused, or the word is not aligned.
    ///
    /// # Panics
    /// Ends the job when the word's type lacks the function.
    pub fn atomic(self, at: u64, op: Operation, a: u64, b: u64) -> Result<u64, RegionError> {
        if !op.is_defined() {
            self.rank.fatal(&format!("atomic {:?} on {:?}: defined for integers only", op.function, op.word));
        }
        let peer = self.key.rank();
        self.rank.region_check(self.key, Modes::ATOMIC, at, op.width())?;
        if peer == self.rank.id() {
            return self.rank.own_atomic(self.key.grant(), at, op, a, b);
        }
        self.rank.regions.reaches_far();
        self.rank.wire.check_context("wait for an operation");
        let mut old = 0u64;
        let at_old = (&raw mut old).cast();
        let event = self.rank.region_op(peer, LENIENT, |index| {
            // `old` stays until the operation is over, which is waited for.
            let plan = Plan { at: at_old, ..Plan::message(peer, index, Answer::Value) };
            let [name, generation] = self.rank.transfer(&plan).piece(0);
            let [slot, owner, low, high] = self.key.grant().words();
            let ([at_low, at_high], [a_low, a_high], [b_low, b_high]) = (halves(at), halves(a), halves(b));
            let args = [
                name,
                generation,
                slot,
                owner,
                low,
                high,
                at_low,
                at_high,
                op.encode(),
                a_low,
                a_high,
                b_low,
                b_high,
            ];
            // Never refused: it waits for room.
            let _ = self.rank.wire.message(peer, ATOMIC, &args, false);
        });
        let mut result = None;
        self.rank.waits().wait_for(crate::rma::EVENT_WAIT, Some(peer), || {
            result = self.rank.region_result(event);
            result.is_some()
        });
        // SAFETY: the operation is over: nobody writes it any more.
        result.unwrap_or(Ok(())).map(|()| unsafe { (&raw const old).read_volatile() })
    }
}

impl RegionCalls<'_> {
    /// The key and the note that a rank has published under a name; `None` if it has published nothing under
    /// it.
    ///
    /// # One-sided
    /// # Errors
    /// The published region has been revoked, or there is no such rank.
    pub fn import(self, of: RankId, name: u64) -> Result<Option<(RegionKey, u64)>, RegionError> {
        if of == self.rank.id() {
            return self.rank.published(name);
        }
        if of.0 >= self.rank.size() || self.rank.wire.has_left(of) {
            return Err(RegionError::Gone);
        }
        self.rank.regions.reaches_far();
        let mut found = [0u8; PUBLISHED_BYTES];
        let mut absent = false;
        self.rank.wire.check_context("wait for an operation");
        let event = self.rank.region_op(of, LENIENT, |op| {
            let at = found.as_mut_ptr();
            let plan = Plan {
                at,
                len: PUBLISHED_BYTES,
                step: PUBLISHED_BYTES,
                ..Plan::message(of, op, Answer::Data)
            };
            let [number, generation] = self.rank.transfer(&plan).piece(0);
            let [low, high] = halves(name);
            let args = [number, generation, low, high];
            // Never refused: it waits for room.
            let _ = self.rank.wire.message(of, NAME, &args, false);
        });
        let mut ended = None;
        self.rank.waits().wait_for(crate::rma::EVENT_WAIT, Some(of), || {
            ended = self.rank.wire.ops.take(event, |op| op.refused.load(Ordering::Relaxed)).flatten();
            ended.is_some()
        });
        match ended.unwrap_or(LENIENT) {
            ABSENT => absent = true,
            refused => RegionError::from_code(refused.saturating_sub(LENIENT)).map_or(Ok(()), Err)?,
        }
        let (key, note) = found.split_at(size_of::<RegionKey>());
        let entry = (bytemuck::pod_read_unaligned(key), bytemuck::pod_read_unaligned(note));
        Ok((!absent).then_some(entry))
    }
}

/// Who serves the messages of this module.
pub(crate) const MESSAGES: Served = Served {
    handle: |wire, token, index, m| handle(Rank::of(wire), token, index, m),
    lost: |wire, to, _| wire.fatal_started("an operation on a region", to),
};

/// Serves a message of regions.
fn handle(rank: &Rank, token: &Token<'_>, index: u8, m: &Message<'_>) {
    use Kind::{Medium, Short};
    let asked = token.is_request();
    let result = match (index, m.kind, m.args) {
        (PUT, Medium, &[name, generation, ref grant @ .., low, high]) if asked && grant.len() == 4 => {
            serve_put(rank, token, [name, generation], grant_of(grant), join(low, high), m)
        }
        (GET, Short, &[name, generation, ref grant @ .., low, high, n]) if asked && grant.len() == 4 => {
            serve_get(rank, token, [name, generation], grant_of(grant), join(low, high), n as usize)
        }
        (
            ATOMIC,
            Short,
            &[name, generation, ref grant @ .., low, high, what, a_low, a_high, b_low, b_high],
        ) if asked && grant.len() == 4 => {
            let Some(what) = Operation::decode(what) else {
                nonsense(token, "an atomic operation that there is not");
            };
            let (a, b) = (join(a_low, a_high), join(b_low, b_high));
            match rank.own_atomic(grant_of(grant), join(low, high), what, a, b) {
                Ok(old) => {
                    let [low, high] = halves(old);
                    token.answer(amref::VALUE, &[name, generation, low, high])
                }
                Err(e) => refuse(token, [name, generation], e.code()),
            }
        }
        (NAME, Short, &[number, generation, low, high]) if asked => {
            serve_name(rank, token, [number, generation], join(low, high))
        }
        (REFUSED, Short, &[name, generation, why]) if !asked => {
            refused(rank, token, [name, generation], why);
            Ok(())
        }
        (LONG, Medium, args) => {
            rank.long_arrived(token, args, m.bytes());
            Ok(())
        }
        _ => nonsense(token, &format!("a {:?} message {index} with {} arguments", m.kind, m.args.len())),
    };
    if let Err(e) = result {
        rank.fatal(&format!("answering rank {}: {e}", token.source()));
    }
}

/// Answers a request, named by its transfer, with the reason why it is not served.
pub(super) fn refuse(token: &Token<'_>, [name, generation]: [u32; 2], why: u32) -> Result<(), Error> {
    token.answer(REFUSED, &[name, generation, why])
}

/// Stores the payload of a message in a region.
fn serve_put(
    rank: &Rank,
    token: &Token<'_>,
    transfer: [u32; 2],
    grant: Grant,
    at: u64,
    m: &Message<'_>,
) -> Result<(), Error> {
    match rank.regions.access(grant, Modes::WRITE, at, m.len) {
        Ok(access) => {
            // SAFETY: inside a region that stays until the access is dropped; the payload is valid while the
            // handler runs.
            unsafe { bytes::store(access.at, m.payload, m.len) };
            drop(access);
            token.answer(amref::ACK, &transfer)
        }
        Err(e) => refuse(token, transfer, e.code()),
    }
}

/// Answers with `n` bytes of a region.
fn serve_get(
    rank: &Rank,
    token: &Token<'_>,
    transfer: [u32; 2],
    grant: Grant,
    at: u64,
    n: usize,
) -> Result<(), Error> {
    if n > gasnet_wire::am::MAX_MEDIUM {
        nonsense(token, "a get of more bytes than a message holds");
    }
    let mut copy = Vec::<u8>::with_capacity(n);
    match rank.regions.access(grant, Modes::READ, at, n) {
        Ok(access) => {
            // Sending may have to wait for room, for which nobody who revokes the region waits.
            // SAFETY: inside a region that stays until the access is dropped; there is room for `n` bytes,
            // which are all written.
            unsafe {
                bytes::load(copy.as_mut_ptr(), access.at, n);
                copy.set_len(n);
            }
            drop(access);
            // SAFETY: the vector is valid for its length.
            unsafe { token.answer_with(amref::DATA, &transfer, copy.as_ptr(), n) }
        }
        Err(e) => refuse(token, transfer, e.code()),
    }
}

/// Answers with the key and the note that were published under a name.
fn serve_name(rank: &Rank, token: &Token<'_>, transfer: [u32; 2], name: u64) -> Result<(), Error> {
    match rank.published(name) {
        Ok(Some((key, note))) => {
            let found = [bytemuck::bytes_of(&key), bytemuck::bytes_of(&note)].concat();
            // SAFETY: the vector is valid for its length.
            unsafe { token.answer_with(amref::DATA, &transfer, found.as_ptr(), found.len()) }
        }
        Ok(None) => refuse(token, transfer, ABSENT),
        Err(e) => refuse(token, transfer, e.code()),
    }
}

/// A request of this rank was refused.
fn refused(rank: &Rank, token: &Token<'_>, transfer: [u32; 2], why: u32) {
    let piece = rank.answered(token, transfer, Answer::Refusal, 0);
    match RegionError::from_code(why) {
        Some(e) => rank.region_refused(piece.op, token.source(), e),
        None if why == ABSENT && rank.wire.ops.op(piece.op).refused.load(Ordering::Relaxed) == LENIENT => {
            rank.wire.ops.op(piece.op).refused.store(ABSENT, Ordering::Relaxed);
        }
        None => nonsense(token, "a refusal for no reason that there is"),
    }
    rank.piece_done(&piece);
}

/// The four words that name a region in a request.
fn grant_of(words: &[u32]) -> Grant {
    words.try_into().map_or(Grant { slot: u32::MAX, generation: 0, secret: 0 }, Grant::of)
}

/// An operation on a region under way, and the buffer it uses. Dropping it waits; forgetting it, and dropping
/// it while the thread panics, leaks the buffer and harms nothing.
#[must_use = "dropping the handle waits for the operation"]
pub struct RegionOp<'a, T: Shared> {
    rank: &'a Rank,
    peer: RankId,
    /// `None` when it is over.
    event: Option<Event>,
    result: Result<(), RegionError>,
    buffer: ManuallyDrop<Vec<T>>,
}

impl<T: Shared> RegionOp<'_, T> {
    fn look(&mut self) -> bool {
        if let Some(result) = self.event.and_then(|event| self.rank.region_result(event)) {
            (self.event, self.result) = (None, result);
        }
        self.event.is_none()
    }

    fn wait_here(&mut self) {
        if self.event.is_some() {
            self.rank.wire.check_context("wait for an operation");
            let (rank, peer) = (self.rank, self.peer);
            rank.waits().wait_for(crate::rma::EVENT_WAIT, Some(peer), || self.look());
        }
    }

    /// Waits for the operation and gives the buffer back: what was read, or what was written and may be
    /// reused.
    ///
    /// # Errors
    /// The owner refused the access; of several messages some may have been served.
    pub fn wait(mut self) -> Result<Vec<T>, RegionError> {
        self.wait_here();
        let buffer = core::mem::take(&mut *self.buffer);
        self.result.map(|()| buffer)
    }

    /// Polls once and says whether the operation is over; [`RegionOp::wait`] then returns at once.
    pub fn test(&mut self) -> bool {
        self.rank.poll();
        self.look()
    }
}

/// Says nothing of the buffer, which is not to be looked at yet.
impl<T: Shared> core::fmt::Debug for RegionOp<'_, T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("RegionOp").field("peer", &self.peer).finish_non_exhaustive()
    }
}

impl<T: Shared> Drop for RegionOp<'_, T> {
    fn drop(&mut self) {
        if self.rank.wire.waits_in_vain() {
            return;
        }
        self.wait_here();
        // SAFETY: dropped once, here; the operation is over.
        unsafe { ManuallyDrop::drop(&mut self.buffer) }
    }
}
