//! Berkeley's semaphores: a counter in shared memory of the thread that allocated it.

use crate::core::Op;
use crate::state::Upc;
use std::sync::atomic::{Ordering::*, fence};

/// Words of a semaphore, as offsets from its start.
const KIND: u64 = 0;
const VALUE: u64 = 8;
const BYTES: u64 = 64;
/// In the upper half of [`KIND`]: the object is a semaphore. Below: 1 if it is boolean.
const MARK: u64 = 0x5550_4353;
/// Flags of `bupc_extensions.h`.
const BOOLEAN: u32 = 1;
const KNOWN: u32 = 63;
const MAX_VALUE: u64 = 65535;

impl Upc {
    /// `bupc_sem_alloc`: offset on this thread.
    pub fn sem_alloc(&self, flags: u32) -> u64 {
        if flags & !KNOWN != 0 || flags & 3 == 3 {
            self.fatal(&format!("bupc_sem_alloc: {flags:#x} is no combination of BUPC_SEM_ flags"));
        }
        let off = self.alloc_local(BYTES);
        self.core.amo(self.me, off + VALUE, Op::Set, 0, 0);
        self.core.amo(self.me, off + KIND, Op::Set, MARK << 32 | u64::from(flags & BOOLEAN), 0);
        off
    }

    /// `bupc_sem_free`.
    pub fn sem_free(&self, t: u32, off: u64) {
        if t != 0 || off != 0 {
            self.sem_is_boolean(t, off);
            self.core.amo(t, off + KIND, Op::Set, 0, 0);
            self.free(t, off, false);
        }
    }

    /// `bupc_sem_postN`.
    pub fn sem_post(&self, t: u32, off: u64, n: u64) {
        let boolean = self.sem_is_boolean(t, off);
        // ORDER: SeqCst; what comes before the post is seen after the matching wait; pairs with the fence in `sem_take`.
        fence(SeqCst);
        if boolean {
            self.check_count(n == 1, n);
            self.core.amo(t, off + VALUE, Op::Set, 1, 0);
        } else if self.core.amo(t, off + VALUE, Op::Add, n, 0) + n > MAX_VALUE {
            self.fatal(&format!("bupc_sem_post: the semaphore exceeds its maximum of {MAX_VALUE}"));
        }
    }

    /// `bupc_sem_waitN`, and `bupc_sem_tryN` unless `block`: whether `n` were taken.
    pub fn sem_take(&self, t: u32, off: u64, n: u64, block: bool) -> bool {
        let boolean = self.sem_is_boolean(t, off);
        self.check_count(!boolean || n == 1, n);
        let mut value = self.core.amo(t, off + VALUE, Op::Get, 0, 0);
        loop {
            if value < n {
                if !block {
                    self.core.poll();
                    return false;
                }
                self.core.wait_until("bupc_sem_wait", || {
                    value = self.core.amo(t, off + VALUE, Op::Get, 0, 0);
                    value >= n
                });
            }
            let was = self.core.amo(t, off + VALUE, Op::Cas, value, value - n);
            if was == value {
                break;
            }
            value = was;
        }
        // ORDER: SeqCst; pairs with the fence in `sem_post`.
        fence(SeqCst);
        true
    }

    fn check_count(&self, good: bool, n: u64) {
        if !good {
            self.fatal(&format!("bupc_sem: {n} at a time on a boolean semaphore"));
        }
    }

    fn sem_is_boolean(&self, t: u32, off: u64) -> bool {
        let inside = t < self.size
            && off >= self.layout.heap_lo
            && off < self.layout.heap_hi
            && off.is_multiple_of(16);
        let kind = if inside { self.core.amo(t, off + KIND, Op::Get, 0, 0) } else { 0 };
        if kind >> 32 != MARK {
            self.fatal("bupc_sem: the pointer is to no semaphore: null, or freed already?");
        }
        kind & 1 != 0
    }
}
