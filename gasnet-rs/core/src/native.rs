//! Puts, gets and atomic operations by the conduit's own one-sided operations, for ranks that are not
//! neighbours.
//!
//! An operation is cut into pieces of at most [`Rma::max_transfer`] bytes; each is one fragment of an
//! [op](crate::event). A piece under way has an entry in a table, whose number is the *token* that the
//! conduit brings back. The entry knows the op, the rank, what becomes of the source of a put, and where the
//! old value of an atomic operation goes. Entries are taken and given back without a lock, and the memory in
//! them is used again, so that starting and completing an operation allocates nothing.
//!
//! **Sources.** A conduit reads the source of a put until [`Completion::Local`]. Where the caller may write
//! it on return ([`Local::Now`]), a small source is copied: up to [`MAX_INLINE_SOURCE_BYTES`] into the entry,
//! up to [`LARGE_BOUNCE_BYTES`] into a *bounce buffer*. A larger one is waited for. Bounce buffers have two
//! sizes, and nothing is written to them before they are used: the first touch of a page costs microseconds,
//! and a small put over sockets no more than a few.
#![expect(unsafe_code, reason = "hands memory to the conduit")]

use crate::atomics::Operation;
use crate::{Rank, RankId};
use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use gasnet_wire::am::POLL_BUDGET;
use gasnet_wire::apply::put_old;
use gasnet_wire::bytes;
use gasnet_wire::conduit::regions::{RegionPlace, RegionRma};
use gasnet_wire::conduit::{Channel, Completion, RemoteAddr, Rma};
use gasnet_wire::event::{LOCAL, Local, REMOTE, Refused};
use gasnet_wire::prim::{AtomicPtr, AtomicU32, Ordering};
use gasnet_wire::slots::{self, NONE, Slot, Slots};
use gasnet_wire::transfer::FarAccess;
use gasnet_wire::wait::Waiter;
use std::sync::OnceLock;

/// Largest source that is copied into the entry of its piece.
const MAX_INLINE_SOURCE_BYTES: usize = 64;
/// Bytes of a small bounce buffer.
const SMALL_BOUNCE_BYTES: usize = 1 << 10;
/// Bytes of a large bounce buffer: the largest source that is copied at all.
const LARGE_BOUNCE_BYTES: usize = 16 << 10;
/// Bits that [`Slots`] needs for the numbers of as many bounce buffers as there are.
const BOUNCE_BITS: u32 = if cfg!(miri) { 5 } else { 8 };
/// Bounce buffers of each size; when all are in use, an operation waits until its source has been read.
const BOUNCE_BUFFERS: usize = slots::entries(BOUNCE_BITS);
/// In the number of a large bounce buffer.
const LARGE: u32 = 1 << 16;
/// Bits of a piece's number.
const PIECE_BITS: u32 = 31;

/// In [`InFlight::source`]: nothing is to be done when the source has been read.
const SOURCE_UNCOUNTED: u32 = NONE;
/// In [`InFlight::source`]: it counts in the op.
const SOURCE_COUNTED: u32 = NONE - 1;

/// Bytes that words may be read from.
#[repr(C, align(16))]
struct Aligned<const N: usize>(UnsafeCell<[u8; N]>);

impl<const N: usize> Aligned<N> {
    fn new() -> Aligned<N> {
        Aligned(UnsafeCell::new([0; N]))
    }
    fn at(&self) -> *mut u8 {
        self.0.get().cast()
    }
}

// SAFETY: who has taken the entry it lies in decides who uses the bytes, which are reached by raw pointers
// only.
unsafe impl<const N: usize> Sync for Aligned<N> {}

/// A piece under way.
struct InFlight {
    op: AtomicU32,
    /// [`NONE`] if it is not under way.
    peer: AtomicU32,
    /// The state of a put's source: [`SOURCE_UNCOUNTED`], [`SOURCE_COUNTED`], or the number of a bounce
    /// buffer.
    source: AtomicU32,
    /// Of an atomic operation: bytes of the word, and where its old value goes, if it is wanted.
    width: AtomicU32,
    result: AtomicPtr<u8>,
    /// The copy of a source, or the old value of a word.
    inline: Aligned<MAX_INLINE_SOURCE_BYTES>,
    next: AtomicU32,
}

impl Slot for InFlight {
    fn new() -> InFlight {
        InFlight {
            op: AtomicU32::new(0),
            peer: AtomicU32::new(NONE),
            source: AtomicU32::new(SOURCE_UNCOUNTED),
            width: AtomicU32::new(0),
            result: AtomicPtr::new(core::ptr::null_mut()),
            inline: Aligned::new(),
            next: AtomicU32::new(0),
        }
    }
    fn next(&self) -> &AtomicU32 {
        &self.next
    }
}

/// A bounce buffer. While it is not in use: the number of the next one that is not.
struct Bounce(AtomicU32);

impl Slot for Bounce {
    fn new() -> Bounce {
        Bounce(AtomicU32::new(0))
    }
    fn next(&self) -> &AtomicU32 {
        &self.0
    }
}

/// Bounce buffers of one size.
struct Bounces<const N: usize> {
    free: Slots<Bounce>,
    /// Made with the first use, and not touched then.
    memory: OnceLock<Box<[MaybeUninit<Aligned<N>>]>>,
}

impl<const N: usize> Bounces<N> {
    fn new() -> Bounces<N> {
        Bounces { free: Slots::new(BOUNCE_BITS), memory: OnceLock::new() }
    }

    /// A buffer's number and its `N` bytes, for who takes it alone; `None` when all are in use.
    fn take(&self) -> Option<(u32, *mut u8)> {
        let (number, _) = self.free.take()?;
        let memory = self.memory.get_or_init(|| Box::new_uninit_slice(BOUNCE_BUFFERS));
        Some((number, memory[number as usize].as_ptr().cast_mut().cast()))
    }
}

/// The pieces that are under way, and copies of sources.
pub(crate) struct Native {
    /// Bytes of the largest piece.
    step: usize,
    pieces: Slots<InFlight>,
    small: Bounces<SMALL_BOUNCE_BYTES>,
    large: Bounces<LARGE_BOUNCE_BYTES>,
}

impl Native {
    pub(crate) fn new(rma: &dyn Rma) -> Native {
        Native::with_step(rma.max_transfer().max(1))
    }

    fn with_step(step: usize) -> Native {
        Native { step, pieces: Slots::new(PIECE_BITS), small: Bounces::new(), large: Bounces::new() }
    }

    /// A rank with which something is outstanding, and how many pieces, of those that `which` says. For
    /// reports: others go on meanwhile.
    pub(crate) fn outstanding(&self, which: impl Fn(&RankId) -> bool) -> Option<(RankId, u32)> {
        let peers = || {
            let peer = |number| Some(self.pieces.get(number)?.peer.load(Ordering::Relaxed));
            (0..self.pieces.taken()).filter_map(peer).filter(|peer| *peer != NONE).map(RankId)
        };
        let rank = peers().find(|rank| which(rank))?;
        Some((rank, (peers().filter(|peer| *peer == rank).count() as u32).max(1)))
    }

    /// Enters a piece; its token.
    fn begin(&self, op: u32, peer: RankId) -> (u64, &InFlight) {
        // Their memory would be more than 200 GiB.
        let (number, piece) =
            self.pieces.take().expect("fewer than two thousand million pieces are under way");
        // Relaxed, all that is stored in an entry: the conduit's own synchronisation brings it to who hears
        // of the completion, with the token.
        piece.op.store(op, Ordering::Relaxed);
        piece.peer.store(peer.0, Ordering::Relaxed);
        piece.source.store(SOURCE_UNCOUNTED, Ordering::Relaxed);
        piece.width.store(0, Ordering::Relaxed);
        (u64::from(number), piece)
    }

    /// A piece is over, or was not started.
    fn end(&self, token: u64) {
        if let Some(piece) = self.pieces.get(token as u32) {
            piece.peer.store(NONE, Ordering::Relaxed);
            self.pieces.give_back(token as u32);
        }
    }

    /// Copies a source for a piece, if there is room; where the copy is.
    ///
    /// # Safety
    /// 1. `src` is valid for `len` bytes (owed by the caller). 2. The piece has been begun by the caller, and
    ///    not been started (owed by the caller).
    #[inline]
    unsafe fn copy(&self, piece: &InFlight, src: *const u8, len: usize) -> Option<*const u8> {
        let to = if len <= MAX_INLINE_SOURCE_BYTES {
            piece.inline.at()
        } else if len <= LARGE_BOUNCE_BYTES {
            let small = if len <= SMALL_BOUNCE_BYTES { self.small.take() } else { None };
            let large = || self.large.take().map(|(number, at)| (number | LARGE, at));
            let (number, at) = small.or_else(large)?;
            piece.source.store(number, Ordering::Relaxed);
            at
        } else {
            return None;
        };
        // SAFETY: (1); the destination has as many bytes, and is this piece's (2).
        unsafe { bytes::load(to, src, len) };
        Some(to)
    }
}

impl Rank {
    #[inline]
    fn rma(&self) -> Option<(&Native, &dyn Rma)> {
        let native = self.native.get()?;
        Some((native, self.wire.conduit.as_ref()?.rma()?))
    }

    /// Puts to a rank that is no neighbour, in fragments that count in an op.
    ///
    /// # Safety
    /// 1. `src` is valid for the transfer's length, during the call and beyond it as `local` says (owed by
    ///    the caller). 2. The range is in the segment (checked).
    pub(crate) unsafe fn far_put(&self, put: FarAccess, src: *const u8, local: Local) -> Result<(), Refused> {
        let Some((native, rma)) = self.rma() else {
            if let Some(process) = self.process(put.peer) {
                // SAFETY: (1), (2).
                unsafe { self.process_put(process, put, src) };
                return Ok(());
            }
            // SAFETY: (1), (2).
            return unsafe { self.ref_put(put, src) };
        };
        let copies = |n| rma.copies_source(n);
        // SAFETY: (1), (2).
        unsafe {
            self.put_pieces(put, src, local, native, copies, |at, from, n, token| {
                rma.put(remote(put.peer, at), from, n, token)
            })
        }
    }

    /// Puts in pieces that `start` starts: it gets a piece's place, source, length and token. `copies` says
    /// whether the source of a piece of that length has been read when it is started.
    ///
    /// # Safety
    /// 1. As [`Rank::far_put`]. 2. `start` starts pieces that read their source until
    ///    [`Completion::Local`] (owed by the caller).
    #[inline]
    unsafe fn put_pieces(
        &self,
        put: FarAccess,
        src: *const u8,
        local: Local,
        native: &Native,
        copies: impl Fn(usize) -> bool,
        start: impl Fn(u64, *const u8, usize, u64) -> bool,
    ) -> Result<(), Refused> {
        let mut waited = false;
        let start = &start;
        self.pieces("a put", put, native, |piece, token, done, n| {
            let mut from = src.wrapping_add(done);
            let mut counted = REMOTE;
            if local != Local::Defer && !copies(n) {
                // SAFETY: (1); the piece has just been begun.
                let copy = (local == Local::Now).then(|| unsafe { native.copy(piece, from, n) }).flatten();
                if let Some(copy) = copy {
                    from = copy;
                } else {
                    piece.source.store(SOURCE_COUNTED, Ordering::Relaxed);
                    (counted, waited) = (REMOTE + LOCAL, local == Local::Now);
                }
            }
            let at = put.offset + done as u64;
            // (1), (2): the source stays until Local: copied, waited for below, or left alone by the caller.
            (counted, move || start(at, from, n, token))
        })?;
        if waited {
            self.waits()
                .wait_for("the source of a put", Some(put.peer), || self.wire.ops.sources_free(put.op));
        }
        Ok(())
    }

    /// Gets from a rank that is no neighbour, in fragments that count in an op; `dst` is written until that
    /// is complete.
    ///
    /// # Safety
    /// 1. `dst` is valid for the transfer's length and used by nobody until the op is complete (owed by the
    ///    caller). 2. The range is in the segment (checked).
    pub(crate) unsafe fn far_get(&self, get: FarAccess, dst: *mut u8) -> Result<(), Refused> {
        let Some((native, rma)) = self.rma() else {
            if let Some(process) = self.process(get.peer) {
                // SAFETY: (1), (2).
                unsafe { self.process_get(process, get, dst) };
                return Ok(());
            }
            // SAFETY: (1), (2).
            return unsafe { self.ref_get(get, dst) };
        };
        self.pieces("a get", get, native, |_, token, done, n| {
            let (to, addr) = (dst.wrapping_add(done), remote(get.peer, get.offset + done as u64));
            // SAFETY: (1), (2).
            (REMOTE, move || unsafe { rma.get(to, addr, n, token) })
        })
    }

    /// The operations of a NIC that serves regions, if there is one.
    pub(crate) fn region_rma(&self) -> Option<(&Native, &dyn RegionRma)> {
        let native = self.native.get()?;
        Some((native, self.wire.conduit.as_ref()?.regions()?))
    }

    /// Puts to a region, in pieces that count in an op. `put.offset` is the place in the region. The source
    /// has been read on return.
    ///
    /// # Safety
    /// 1. `src` is valid for the transfer's length during the call (owed by the caller).
    pub(crate) unsafe fn served_put(
        &self,
        (native, regions): (&Native, &dyn RegionRma),
        put: FarAccess,
        to: RegionPlace,
        src: *const u8,
    ) {
        // SAFETY: (1).
        let started = unsafe {
            self.put_pieces(
                put,
                src,
                Local::Now,
                native,
                |_| false,
                |at, from, n, token| regions.put(put.peer, RegionPlace { at, ..to }, from, n, token),
            )
        };
        debug_assert!(started.is_ok(), "not immediate");
    }

    /// Gets from a region, in pieces that count in an op; `dst` is written until that is complete.
    ///
    /// # Safety
    /// 1. `dst` is valid for the transfer's length and used by nobody until the op is complete (owed by the
    ///    caller).
    pub(crate) unsafe fn served_get(
        &self,
        (native, regions): (&Native, &dyn RegionRma),
        get: FarAccess,
        from: RegionPlace,
        dst: *mut u8,
    ) {
        let started = self.pieces("a get", get, native, |_, token, done, n| {
            let (to, from) = (dst.wrapping_add(done), RegionPlace { at: get.offset + done as u64, ..from });
            // SAFETY: (1).
            (REMOTE, move || unsafe { regions.get(to, get.peer, from, n, token) })
        });
        debug_assert!(started.is_ok(), "not immediate");
    }

    /// Does an atomic operation on a word of a rank that is no neighbour, as a fragment of an op. The old
    /// value goes to `result`, in as many bytes as the word has, unless that is null.
    ///
    /// # Safety
    /// 1. `result` is valid and used by nobody until the op is complete, or null (owed by the caller). 2. The
    ///    word is in the segment, aligned (checked).
    pub(crate) unsafe fn far_atomic(
        &self,
        at: FarAccess,
        what: Operation,
        operands: [u64; 2],
        result: *mut u8,
    ) -> Result<(), Refused> {
        let Some((native, rma)) = self.rma() else {
            // SAFETY: (1), (2).
            return unsafe { self.ref_atomic(at, what, operands, result) };
        };
        if self.wire.has_left(at.peer) {
            self.wire.fatal_started("an atomic operation", at.peer);
        }
        let (token, piece) = native.begin(at.op, at.peer);
        piece.result.store(result, Ordering::Relaxed);
        piece.width.store(what.width() as u32, Ordering::Relaxed);
        self.wire.ops.add(at.op, REMOTE);
        let (addr, old) = (remote(at.peer, at.offset), piece.inline.at().cast());
        let mut waiter: Option<Waiter> = None;
        // SAFETY: (2); the entry is the operation's until it is complete.
        while let Some(started) = unsafe { rma.atomic(addr, what, operands, old, token) } {
            if started {
                return Ok(());
            }
            if at.immediate {
                self.wire.ops.finish(at.op, REMOTE);
                native.end(token);
                return Err(Refused);
            }
            if !self.wire.make_room(Channel::Request, at.peer, &mut waiter) {
                self.wire.fatal_started("an atomic operation", at.peer);
            }
        }
        self.wire.ops.finish(at.op, REMOTE);
        native.end(token);
        // SAFETY: (1), (2).
        unsafe { self.ref_atomic(at, what, operands, result) }
    }

    /// Starts every piece of a transfer. `prepare` gets a piece's entry and token, where it begins, and how
    /// long it is; it returns what the piece counts as in the op, and what starts it unless it would block.
    #[inline]
    fn pieces<F: Fn() -> bool>(
        &self,
        what: &str,
        all: FarAccess,
        native: &Native,
        mut prepare: impl FnMut(&InFlight, u64, usize, usize) -> (u64, F),
    ) -> Result<(), Refused> {
        if self.wire.has_left(all.peer) {
            self.wire.fatal_started(what, all.peer);
        }
        let mut waiter: Option<Waiter> = None;
        let mut done = 0;
        while done < all.len {
            let n = native.step.min(all.len - done);
            let (token, piece) = native.begin(all.op, all.peer);
            let (counted, start) = prepare(piece, token, done, n);
            self.wire.ops.add(all.op, counted);
            while !start() {
                if all.immediate && done == 0 {
                    self.wire.ops.finish(all.op, counted);
                    native.source_read(piece);
                    native.end(token);
                    return Err(Refused);
                }
                if !self.wire.make_room(Channel::Request, all.peer, &mut waiter) {
                    self.wire.fatal_started(what, all.peer);
                }
            }
            done += n;
        }
        Ok(())
    }

    /// Takes up to `budget` completions from the conduit; returns how many.
    #[inline]
    pub(crate) fn poll_native(&self, budget: usize) -> usize {
        let Some((native, rma)) = self.rma() else { return 0 };
        rma.poll(budget.min(POLL_BUDGET), &mut |token, completion| {
            let Some(piece) = native.pieces.get(token as u32) else { return };
            let op = piece.op.load(Ordering::Relaxed);
            let freed = if completion == Completion::Remote { 0 } else { native.source_read(piece) };
            if completion == Completion::Local {
                if freed > 0 {
                    self.wire.ops.finish(op, freed);
                }
                return;
            }
            let (width, result) = (piece.width.load(Ordering::Relaxed), piece.result.load(Ordering::Relaxed));
            if width > 0 && !result.is_null() {
                // SAFETY: the conduit has put the old value there, as a word of 64 bits; the result is owed
                // by the caller of `far_atomic`.
                unsafe { put_old(result, width as usize, piece.inline.at().cast::<u64>().read()) };
            }
            if let Completion::Refused(why) = completion {
                self.region_refused(op, RankId(piece.peer.load(Ordering::Relaxed)), why);
            }
            native.end(token);
            self.wire.ops.finish(op, REMOTE + freed);
        })
    }
}

impl Native {
    /// The source of a piece has been read; what that is in its op.
    #[inline]
    fn source_read(&self, piece: &InFlight) -> u64 {
        let source = piece.source.load(Ordering::Relaxed);
        if source == SOURCE_UNCOUNTED {
            return 0;
        }
        piece.source.store(SOURCE_UNCOUNTED, Ordering::Relaxed);
        if source == SOURCE_COUNTED {
            return LOCAL;
        }
        match source & LARGE {
            0 => self.small.free.give_back(source),
            _ => self.large.free.give_back(source & !LARGE),
        }
        0
    }
}

#[inline]
fn remote(rank: RankId, offset: u64) -> RemoteAddr {
    RemoteAddr { rank, offset }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn sources_are_copied_where_they_fit() {
        let native = Native::with_step(1);
        let source = vec![7u8; LARGE_BOUNCE_BYTES + 1];
        // SAFETY: the vector has as many bytes, and no piece is started.
        let copy = |piece: &InFlight, len| unsafe { native.copy(piece, source.as_ptr(), len) };
        let (token, piece) = native.begin(9, RankId(3));
        assert_eq!(copy(piece, MAX_INLINE_SOURCE_BYTES), Some(piece.inline.at().cast_const()));
        assert_eq!(piece.source.load(Ordering::Relaxed), SOURCE_UNCOUNTED);
        assert_eq!(copy(piece, LARGE_BOUNCE_BYTES + 1), None);
        let held: Vec<(u64, &InFlight)> =
            (0..2 * BOUNCE_BUFFERS).map(|_| native.begin(9, RankId(4))).collect();
        // The large ones serve small sources when the small ones are in use.
        let copies: Vec<_> =
            held.iter().filter_map(|(_, piece)| copy(piece, MAX_INLINE_SOURCE_BYTES + 1)).collect();
        assert_eq!(copies.iter().collect::<BTreeSet<_>>().len(), 2 * BOUNCE_BUFFERS);
        assert_eq!(copy(piece, SMALL_BOUNCE_BYTES), None, "all are in use");
        assert_eq!(native.source_read(held[0].1), 0);
        assert_eq!(copy(piece, LARGE_BOUNCE_BYTES), None, "a small one was given back");
        assert_eq!(copy(piece, SMALL_BOUNCE_BYTES), Some(copies[0]));
        assert_eq!(native.source_read(held[2 * BOUNCE_BUFFERS - 1].1), 0);
        let at = copy(piece, LARGE_BOUNCE_BYTES).expect("one that was given back");
        // SAFETY: the copy just made.
        assert_eq!(unsafe { at.add(LARGE_BOUNCE_BYTES - 1).read() }, 7);
        assert_eq!(native.outstanding(|r| r.0 == 4), Some((RankId(4), 2 * BOUNCE_BUFFERS as u32)));
        assert_eq!(native.outstanding(|r| r.0 < 4), Some((RankId(3), 1)));
        native.end(token);
        assert_eq!(native.outstanding(|r| r.0 < 4), None);
    }
}
