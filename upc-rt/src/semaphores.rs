//! Berkeley's semaphores: a counter in shared memory of the thread that allocated it. If NICs synchronise by
//! themselves (the conduit netvm), it is a semaphore of [`gasnet::sync`]: a thread that waits for one unit
//! stands in its queue; a thread that waits for more tries until they are there.

use crate::core::found;
use crate::state::Upc;
use gasnet::atomics::Function;
use gasnet::sync::PlacedSemaphore;
use std::sync::atomic::{Ordering::*, fence};

/// Words of a semaphore, as offsets from its start in bytes.
const KIND_OFFSET: u64 = 0;
const VALUE_OFFSET: u64 = 8;
const SEMAPHORE_BYTES: u64 = 64;

/// Offset of a NIC's words; objects are aligned to 16.
fn nic_words(off: u64) -> u64 {
    (off + 16).next_multiple_of(PlacedSemaphore::ALIGN)
}
const _: () = assert!(32 + PlacedSemaphore::BYTES <= SEMAPHORE_BYTES && PlacedSemaphore::ALIGN == 32);

/// In the upper half of [`KIND_OFFSET`]: marks a semaphore. The lower half is 1 if it is boolean.
const SEMAPHORE_MARK: u64 = 0x5550_4353;
/// Flags of `bupc_extensions.h`.
const BOOLEAN: u32 = 1;
const KNOWN_FLAGS: u32 = 63;
const MAX_VALUE: u64 = 65535;

impl Upc {
    /// `bupc_sem_alloc`: offset on this thread.
    pub fn sem_alloc(&self, flags: u32) -> u64 {
        if flags & !KNOWN_FLAGS != 0 || flags & 3 == 3 {
            self.fatal(&format!("bupc_sem_alloc: {flags:#x} is not a combination of BUPC_SEM_ flags"));
        }
        let off = self.alloc_local(SEMAPHORE_BYTES);
        self.core.store_word(self.me, off + VALUE_OFFSET, 0);
        self.core.set(self.me, nic_words(off), 0, PlacedSemaphore::BYTES);
        self.core.store_word(self.me, off + KIND_OFFSET, SEMAPHORE_MARK << 32 | u64::from(flags & BOOLEAN));
        off
    }

    /// `bupc_sem_free`.
    pub fn sem_free(&self, t: u32, off: u64) {
        if t != 0 || off != 0 {
            self.sem_is_boolean(t, off);
            self.core.set_word(t, off + KIND_OFFSET, 0);
            self.core.settle();
            self.free(t, off, false);
        }
    }

    /// `bupc_sem_postN`.
    pub fn sem_post(&self, t: u32, off: u64, n: u64) {
        let boolean = self.sem_is_boolean(t, off);
        // ORDER: SeqCst; accesses before the post are seen after the matching wait; pairs with the fence in
        // `sem_take`.
        fence(SeqCst);
        self.check_count(!boolean || n == 1, n);
        if let Some(semaphore) = self.nic_semaphore(t, off) {
            self.core.settle();
            let given = u32::try_from(n).is_ok_and(|n| {
                if boolean {
                    semaphore.set();
                }
                boolean || semaphore.give(n).is_ok()
            });
            if !given {
                self.too_many();
            }
        } else if boolean {
            self.core.store_word(t, off + VALUE_OFFSET, 1);
        } else if self.core.amo(t, off + VALUE_OFFSET, Function::Add, n, 0).saturating_add(n) > MAX_VALUE {
            self.too_many();
        }
    }

    #[cold]
    fn too_many(&self) -> ! {
        self.fatal(&format!("bupc_sem_post: the semaphore exceeds its maximum of {MAX_VALUE}"))
    }

    fn nic_semaphore(&self, t: u32, off: u64) -> Option<PlacedSemaphore<'static>> {
        self.core.nic_semaphore(t, nic_words(off), self.cells())
    }

    /// [`Upc::sem_take`] on a NIC's semaphore.
    fn take_by_nic(&self, semaphore: &PlacedSemaphore<'static>, n: u64, block: bool) -> bool {
        self.core.settle();
        let n = u32::try_from(n).unwrap_or(u32::MAX);
        if !block {
            return semaphore.try_take(n);
        }
        if n == 1 {
            let cell = self.take_node().node;
            semaphore.wait(cell, "bupc_sem_wait");
            self.put_node(cell);
        } else {
            self.core.wait_until("bupc_sem_wait", || semaphore.try_take(n));
        }
        true
    }

    /// `bupc_sem_waitN`, and `bupc_sem_tryN` unless `block`: returns whether `n` were taken.
    pub fn sem_take(&self, t: u32, off: u64, n: u64, block: bool) -> bool {
        if !block {
            self.core.begin_look(1);
        }
        let boolean = self.sem_is_boolean(t, off);
        self.check_count(!boolean || n == 1, n);
        if let Some(semaphore) = self.nic_semaphore(t, off) {
            let taken = self.take_by_nic(&semaphore, n, block);
            // ORDER: SeqCst; as below.
            fence(SeqCst);
            return taken;
        }
        let mut value = self.core.amo(t, off + VALUE_OFFSET, Function::Get, 0, 0);
        loop {
            if value < n {
                if !block {
                    let done = self.core.poll();
                    self.core.looked(found(t, off, value), Some(done));
                    return false;
                }
                self.core.wait_until("bupc_sem_wait", || {
                    value = self.core.amo(t, off + VALUE_OFFSET, Function::Get, 0, 0);
                    value >= n
                });
            }
            let was = self.core.amo(t, off + VALUE_OFFSET, Function::CompareSwap, value, value - n);
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
        let kind = if inside { self.core.word(t, off + KIND_OFFSET) } else { 0 };
        if kind >> 32 != SEMAPHORE_MARK {
            self.fatal("bupc_sem: the pointer does not point to a semaphore: null, or already freed?");
        }
        kind & 1 != 0
    }
}
