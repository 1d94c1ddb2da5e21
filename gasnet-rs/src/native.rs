//! Puts and gets by the conduit's own one-sided operations, for ranks that are not neighbours.
//!
//! An operation is cut into pieces of at most [`Rma::max_transfer`] bytes; each is one fragment of an [op](crate::event). A
//! caller may reuse the source of a put on return, while the conduit reads it until [`Completion::Local`]: small sources are
//! copied into a *bounce buffer*, larger ones are waited for. A source that stays until the operation is complete needs neither.
//!
//! **Tokens.** Low half: the op. High half: the rank, and below it what becomes of the source: 0, or [`HELD`] if the caller waits for it, or
//! the number of a bounce buffer.
#![expect(unsafe_code, reason = "hands memory to the conduit")]

use crate::am::POLL_BUDGET;
use crate::atomics::Operation;
use crate::conduit::{Channel, Completion, Peer, RemoteAddr, Rma};
use crate::prim::{AtomicU32, Ordering};
use crate::wait::Waiter;
use crate::{Rank, RankId};
use std::sync::{Mutex, PoisonError};

/// Largest source that is copied rather than waited for.
const BOUNCE: usize = 16 << 10;
/// Most bounce buffers in use; beyond it sources are waited for.
const BOUNCES: usize = 256;
/// Bits of a token that say what becomes of the source.
const SOURCE_BITS: u32 = 10;
/// That the caller waits for it.
const HELD: u32 = (1 << SOURCE_BITS) - 1;
const _: () = assert!(BOUNCES < HELD as usize);

/// What becomes of the source of a put after the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// The caller may reuse it at once.
    Reused,
    /// It stays as it is until the operation is complete.
    Stays,
}

/// Sources in use by the conduit, and what is outstanding.
pub(crate) struct Native {
    bounces: Mutex<Bounces>,
    /// Pieces that are not complete, by rank.
    outstanding: Box<[AtomicU32]>,
}

/// Copied sources.
#[derive(Default)]
struct Bounces {
    /// By number - 1.
    all: Vec<Option<Box<[u8]>>>,
    /// Numbers not in use.
    free: Vec<u32>,
}

impl Native {
    /// Of a job of so many ranks.
    pub(crate) fn new(ranks: u32) -> Native {
        let outstanding = (0..ranks).map(|_| AtomicU32::new(0)).collect();
        Native { bounces: Mutex::default(), outstanding }
    }

    /// A rank with which something is outstanding, and how many pieces, of those that `which` says.
    pub(crate) fn outstanding(&self, which: impl Fn(&RankId) -> bool) -> Option<(RankId, u32)> {
        let all = (0..).map(RankId).zip(self.outstanding.iter().map(|n| n.load(Ordering::Relaxed)));
        all.filter(|(_, n)| *n > 0).find(|(rank, _)| which(rank))
    }

    /// Another piece with this rank.
    fn begin(&self, rank: RankId) {
        // Relaxed: a count that reports look at.
        self.outstanding[rank.0 as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Copies a source; its number, or `None` when too many are in use.
    ///
    /// # Safety
    /// 1. `src` is valid for `len` bytes (owed by the caller).
    unsafe fn keep(&self, src: *const u8, len: usize) -> Option<(u32, *const u8)> {
        let Bounces { all, free } = &mut *self.bounces.lock().unwrap_or_else(PoisonError::into_inner);
        if free.is_empty() {
            if all.len() == BOUNCES {
                return None;
            }
            all.push(None);
            free.push(all.len() as u32);
        }
        let number = free.pop()?;
        // SAFETY: (1).
        let copy: Box<[u8]> = unsafe { core::slice::from_raw_parts(src, len) }.into();
        // The address of a box is that of where it has come to rest.
        Some((number, all[number as usize - 1].insert(copy).as_ptr()))
    }

    fn release(&self, number: u32) {
        let Bounces { all, free } = &mut *self.bounces.lock().unwrap_or_else(PoisonError::into_inner);
        if all.get_mut(number as usize - 1).and_then(Option::take).is_some() {
            free.push(number);
        }
    }
}

fn token(op: u32, rank: RankId, source: u32) -> u64 {
    u64::from(op) | u64::from(rank.0 << SOURCE_BITS | source) << 32
}

impl Rank {
    fn rma(&self) -> Option<(&Native, &dyn Rma)> {
        let native = self.native.get()?;
        Some((native, self.conduit.as_ref()?.rma()?))
    }

    /// Puts to a rank that is no neighbour, in fragments that count in `op`.
    ///
    /// # Safety
    /// 1. `src` is valid for `len` bytes, during the call or as `source` says (owed by the caller). 2. The range is in the segment
    ///    (checked).
    pub(crate) unsafe fn away_put(
        &self,
        op: u32,
        to: RankId,
        offset: u64,
        src: *const u8,
        len: usize,
        source: Source,
    ) {
        let Some((native, rma)) = self.rma() else {
            // SAFETY: (1), (2).
            return unsafe { self.ref_put(op, to, offset, src, len) };
        };
        let mut waited = false;
        self.pieces("a put", to, rma, len, |done, n| {
            native.begin(to);
            let (mut from, mut high) = (src.wrapping_add(done), 0);
            if source == Source::Reused && !rma.copies_source(n) {
                // SAFETY: (1).
                match (n <= BOUNCE).then(|| unsafe { native.keep(from, n) }).flatten() {
                    Some((number, copy)) => (high, from) = (number, copy),
                    None => (high, waited) = (HELD, true),
                }
            }
            if high == HELD {
                self.ops.op(op).local.fetch_add(1, Ordering::Relaxed);
            }
            self.ops.add(op);
            let (addr, token) = (remote(to, offset + done as u64), token(op, to, high));
            // SAFETY: (1), (2): the source stays until Local: copied, waited for below, or left alone by the caller.
            move || unsafe { rma.put(addr, from, n, token) }
        });
        if waited {
            let op = self.ops.op(op);
            // ORDER: Acquire; pairs with Release in poll_native: the conduit has read the source.
            self.wait_for("the source of a put", Some(to), || op.local.load(Ordering::Acquire) == 0);
        }
    }

    /// Gets from a rank that is no neighbour, in fragments that count in `op`; `dst` is written until the op is done.
    ///
    /// # Safety
    /// 1. `dst` is valid for `len` bytes and used by nobody until the op is done (owed by the caller). 2. The range is in the
    ///    segment (checked).
    pub(crate) unsafe fn away_get(&self, op: u32, dst: *mut u8, from: RankId, offset: u64, len: usize) {
        let Some((native, rma)) = self.rma() else {
            // SAFETY: (1).
            return unsafe { self.ref_get(op, dst, from, offset, len) };
        };
        self.pieces("a get", from, rma, len, |done, n| {
            native.begin(from);
            self.ops.add(op);
            let (to, addr) = (dst.wrapping_add(done), remote(from, offset + done as u64));
            // SAFETY: (1), (2).
            move || unsafe { rma.get(to, addr, n, token(op, from, 0)) }
        });
    }

    /// Starts an atomic operation on a word of a rank that is no neighbour, as a part of `op`; whether the conduit has it.
    ///
    /// # Safety
    /// 1. `old` is valid and used by nobody until the op is done (owed by the caller). 2. The word is in the segment, aligned (checked).
    pub(crate) unsafe fn away_atomic(
        &self,
        op: u32,
        to: RankId,
        offset: u64,
        what: Operation,
        operands: [u64; 2],
        old: *mut u64,
    ) -> bool {
        let Some((native, rma)) = self.rma() else { return false };
        if self.has_left(to) {
            self.fatal_started("an atomic operation", to);
        }
        self.ops.add(op);
        native.begin(to);
        let (at, token) = (remote(to, offset), token(op, to, 0));
        let mut waiter: Option<Waiter> = None;
        // SAFETY: (1), (2).
        while let Some(started) = unsafe { rma.atomic(at, what, operands, old, token) } {
            if started {
                return true;
            }
            if !self.make_room(Channel::Request, to, &mut waiter) {
                self.fatal_started("an atomic operation", to);
            }
        }
        native.outstanding[to.0 as usize].fetch_sub(1, Ordering::Relaxed);
        self.ops.finish(op);
        false
    }

    /// Starts every piece of a transfer of `len` bytes: `piece` prepares one, given where it begins and how long it is, and
    /// returns what starts it unless it would block.
    fn pieces<F: Fn() -> bool>(
        &self,
        what: &str,
        peer: RankId,
        rma: &dyn Rma,
        len: usize,
        mut piece: impl FnMut(usize, usize) -> F,
    ) {
        if self.has_left(peer) {
            self.fatal_started(what, peer);
        }
        let step = rma.max_transfer().max(1);
        let mut waiter: Option<Waiter> = None;
        let mut done = 0;
        while done < len {
            let n = step.min(len - done);
            let start = piece(done, n);
            while !start() {
                if !self.make_room(Channel::Request, peer, &mut waiter) {
                    self.fatal_started(what, peer);
                }
            }
            done += n;
        }
    }

    /// Takes up to `budget` completions from the conduit; returns how many.
    #[inline]
    pub(crate) fn poll_native(&self, budget: usize) -> usize {
        if self.native.get().is_none() {
            return 0;
        }
        let Some((native, rma)) = self.rma() else { return 0 };
        rma.poll(budget.min(POLL_BUDGET), &mut |token, completion| {
            let (op, high) = (token as u32, (token >> 32) as u32);
            match (completion, high & HELD) {
                (Completion::Remote, _) => {
                    native.outstanding[(high >> SOURCE_BITS) as usize].fetch_sub(1, Ordering::Relaxed);
                    self.ops.finish(op);
                }
                (Completion::Local, 0) => {}
                (Completion::Local, HELD) => {
                    // ORDER: Release; pairs with Acquire in away_put.
                    self.ops.op(op).local.fetch_sub(1, Ordering::Release);
                }
                (Completion::Local, number) => native.release(number),
            }
        })
    }
}

fn remote(rank: RankId, offset: u64) -> RemoteAddr {
    RemoteAddr { peer: Peer { rank, endpoint: 0 }, segment: 0, offset }
}
