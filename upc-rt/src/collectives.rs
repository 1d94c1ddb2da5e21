//! `upc_collective.h`: moving data, and what reductions exchange (their arithmetic is C, in `upcc_lib.h`, since it needs
//! the types of C).
//!
//! Each thread copies what is its own job, directly between segments: it pulls what comes to it from several threads,
//! and pushes what only it knows the way of. Between an entry and an exit barrier, as the flags ask, that is all.
//! MYSYNC is served as ALLSYNC, which is stronger.
#![expect(unsafe_code, reason = "copies between segments and memory of the caller")]

use crate::control::field;
use crate::core::Op;
use crate::state::Upc;
use std::sync::atomic::Ordering::*;

/// A shared address.
pub type Place = (u32, u64);

/// Flags of `upc_types.h`.
const IN_NOSYNC: u32 = 4;
const OUT_NOSYNC: u32 = 32;
const IN: u32 = 7;
const OUT: u32 = 56;
/// Operations on different slots of the same data may not be confused.
const SLOTS: u64 = 2;
/// Bytes of a partial result.
pub const PARTIAL: u64 = 16;

/// Which collective that only moves data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Move {
    /// One block to all threads.
    Broadcast,
    /// The i-th block of one thread to thread i.
    Scatter,
    /// Thread i's block to the i-th block of one thread.
    Gather,
    /// Thread i's block to the i-th block of all threads.
    GatherAll,
    /// Block i of thread j to block j of thread i.
    Exchange,
}

impl Upc {
    /// Entry of a collective function.
    pub fn enter(&self, function: &str, flags: u32) {
        if flags & !(IN | OUT) != 0 || (flags & IN).count_ones() > 1 || (flags & OUT).count_ones() > 1 {
            self.fatal(&format!(
                "{function}: {flags:#x} is no combination of one UPC_IN_ and one UPC_OUT_ flag"
            ));
        }
        if flags & IN_NOSYNC == 0 {
            self.meet(function);
        }
    }

    /// Exit of a collective function.
    pub fn exit(&self, function: &str, flags: u32) {
        if flags & OUT_NOSYNC == 0 {
            self.meet(function);
        }
    }

    /// `upc_all_broadcast` and its like; `n` bytes a block.
    pub fn move_all(&self, what: Move, (dt, d): Place, (st, s): Place, n: u64, flags: u32) {
        let function = match what {
            Move::Broadcast => "upc_all_broadcast",
            Move::Scatter => "upc_all_scatter",
            Move::Gather => "upc_all_gather",
            Move::GatherAll => "upc_all_gather_all",
            Move::Exchange => "upc_all_exchange",
        };
        // Distributed sides start on thread 0.
        let distributed = match what {
            Move::Broadcast | Move::Scatter => dt,
            Move::Gather => st,
            Move::GatherAll | Move::Exchange => dt.max(st),
        };
        if distributed != 0 {
            self.fatal(&format!(
                "{function}: a distributed side starts on thread {distributed}, it must start on thread 0"
            ));
        }
        self.enter(function, flags);
        let me = u64::from(self.me);
        match what {
            Move::Broadcast => self.core.copy((self.me, d), (st, s), n),
            Move::Scatter => self.core.copy((self.me, d), (st, s + me * n), n),
            Move::Gather => self.core.copy((dt, d + me * n), (self.me, s), n),
            Move::GatherAll => {
                for t in self.threads_from_here() {
                    self.core.copy((self.me, d + u64::from(t) * n), (t, s), n);
                }
            }
            Move::Exchange => {
                for t in self.threads_from_here() {
                    self.core.copy((self.me, d + u64::from(t) * n), (t, s + me * n), n);
                }
            }
        }
        self.exit(function, flags);
    }

    /// `upc_all_permute`; `perm` is the offset of this thread's target on every thread.
    pub fn permute(&self, d: Place, s: Place, perm: Place, n: u64, flags: u32) {
        let function = "upc_all_permute";
        if d.0.max(s.0).max(perm.0) != 0 {
            self.fatal("upc_all_permute: all three arguments must start on thread 0");
        }
        self.enter(function, flags);
        let mut target = [0u8; 4];
        // SAFETY: a buffer of 4 bytes.
        unsafe { self.core.get(target.as_mut_ptr(), self.me, perm.1, 4) };
        let target = u32::from_ne_bytes(target);
        if target >= self.size {
            self.fatal(&format!(
                "upc_all_permute: perm[{}] is {}, which is no thread",
                self.me, target as i32
            ));
        }
        self.core.copy((target, d.1), (self.me, s.1), n);
        self.exit(function, flags);
    }

    /// All threads, this one first, so that not all go to the same one at a time.
    fn threads_from_here(&self) -> impl Iterator<Item = u32> + use<> {
        let (me, size) = (self.me, self.size);
        (0..size).map(move |i| (me + i) % size)
    }

    /// Publishes this thread's partial result of a reduction (none if it has no elements) and meets the others; then
    /// [`Upc::partial`] reads anybody's, until the next call but one.
    ///
    /// # Safety
    /// 1. `value` is null or valid for `n <= PARTIAL` bytes (owed by the caller).
    pub unsafe fn publish_partial(&self, value: *const u8, n: u64) {
        let slot = (self.partials.fetch_add(1, Relaxed) + 1) % SLOTS;
        let at = self.layout.control + field!(partials) + slot * 2 * PARTIAL;
        let have = !value.is_null();
        self.core.amo(self.me, at, Op::Set, have.into(), 0);
        if have {
            // SAFETY: (1).
            unsafe { self.core.put(self.me, at + PARTIAL, value, n) };
        }
        self.meet("a reduction");
    }

    /// Reads thread `t`'s partial result; false if it had none.
    ///
    /// # Safety
    /// 1. `value` is valid for `n <= PARTIAL` bytes (owed by the caller).
    pub unsafe fn partial(&self, t: u32, value: *mut u8, n: u64) -> bool {
        let slot = self.partials.load(Relaxed) % SLOTS;
        let at = self.layout.control + field!(partials) + slot * 2 * PARTIAL;
        if self.core.amo(t, at, Op::Get, 0, 0) == 0 {
            return false;
        }
        // SAFETY: (1).
        unsafe { self.core.get(value, t, at + PARTIAL, n) };
        true
    }
}
