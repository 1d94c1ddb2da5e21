//! Transfers that go on after the call that started them: `upc_nb.h`, Berkeley's asynchronous copies, and the like of `upcr.h`.
//!
//! A transfer with a near thread is complete when its call returns. Of the rest, *explicit* ones have a handle, which is the word of an
//! event of the core, 0 where the transfer is complete (one for all pieces of a strided or listed one); *implicit* ones count among those of this thread of the process. Neither
//! fences nor barriers wait for them. What was written before to the same bytes is waited for first.

use super::{Core, found};
use gasnet::Event;
use std::ffi::c_int;
use std::sync::atomic::Ordering::Relaxed;

/// Most handles in use: transfers beyond them are complete when they return. The core has a million.
const HANDLES: u32 = 1 << 19;

/// What a program looks at that tests handles of a list, or implicit transfers.
const LIST: u64 = 2;
const IMPLICIT: u64 = 3;

/// How a transfer is waited for.
#[derive(Debug, Clone, Copy)]
pub struct How {
    /// With others, without a handle.
    implicit: bool,
    /// The source of a put may change as soon as the call returns.
    reused: bool,
}

impl How {
    /// From the bits that emitted C passes (`upcc_abi.h`).
    pub fn from_bits(bits: c_int) -> How {
        How { implicit: bits & 1 != 0, reused: bits & 2 != 0 }
    }
}

impl Core {
    /// Starts to copy `n` bytes to thread `t`; a handle.
    ///
    /// # Safety
    /// 1. `src` is valid for reads of `n` bytes, and does not change before the end of the transfer unless `how` says so (owed by the
    ///    caller).
    pub unsafe fn start_put(&self, t: u32, o: u64, src: *const u8, n: u64, how: How) -> u64 {
        if self.near(t) {
            // SAFETY: (1).
            unsafe { self.put(t, o, src, n) };
            return 0;
        }
        self.settle_over(t, o, n);
        let (to, n) = (self.target("put", t), n as usize);
        // SAFETY: (1).
        unsafe {
            match (how.implicit, how.reused) {
                (false, false) => return self.handle(self.rank.put_nb_bulk(to, o, src, n)),
                (false, true) => return self.handle(self.rank.put_nb(to, o, src, n)),
                (true, false) => self.rank.put_nbi_bulk(to, o, src, n),
                (true, true) => self.rank.put_nbi(to, o, src, n),
            }
        }
        0
    }

    /// Starts to copy `n` bytes from thread `t`; a handle.
    ///
    /// # Safety
    /// 1. `dst` is valid for writes of `n` bytes, and nobody uses it before the end of the transfer (owed by the caller).
    pub unsafe fn start_get(&self, dst: *mut u8, t: u32, o: u64, n: u64, how: How) -> u64 {
        if self.near(t) || how.implicit {
            // SAFETY: (1).
            unsafe { self.get_nbi(dst, t, o, n) };
            return 0;
        }
        self.settle_over(t, o, n);
        // SAFETY: (1).
        self.handle(unsafe { self.rank.get_nb(dst, self.target("get", t), o, n as usize) })
    }

    /// Starts to set `n` bytes of thread `t`; a handle.
    pub fn start_set(&self, t: u32, o: u64, c: u8, n: u64, how: How) -> u64 {
        if self.near(t) {
            self.set(t, o, c, n);
            return 0;
        }
        self.settle_over(t, o, n);
        let (to, n) = (self.target("memset", t), n as usize);
        // SAFETY: no memory of ours is involved.
        unsafe {
            if !how.implicit {
                return self.handle(self.rank.memset_nb(to, o, c, n));
            }
            self.rank.memset_nbi(to, o, c, n);
        }
        0
    }

    /// Starts to copy `n` bytes between two threads; a handle. Between two far ones it is complete on return.
    pub fn start_copy(&self, (dt, d): (u32, u64), (st, s): (u32, u64), n: u64, how: How) -> u64 {
        // SAFETY: both are inside mapped segments, and the program leaves them alone.
        unsafe {
            if let Some(from) = self.address("copy", st, s, n) {
                return self.start_put(dt, d, from, n, how);
            }
            if let Some(to) = self.address("copy", dt, d, n) {
                return self.start_get(to, st, s, n, how);
            }
        }
        self.copy((dt, d), (st, s), n);
        0
    }

    /// Begins a transfer of several pieces. Until [`Core::end_pieces`] this thread does nothing but start them, as implicit ones.
    pub fn begin_pieces(&self) {
        if self.near.mapped < self.rank.size() {
            // Inside the region there is no waiting for implicit operations.
            self.settle();
            self.rank.begin_region();
        }
    }

    /// The handle of all pieces.
    pub fn end_pieces(&self) -> u64 {
        if self.near.mapped < self.rank.size() { self.handle(self.rank.end_region()) } else { 0 }
    }

    fn handle(&self, event: Event) -> u64 {
        let handle = event.into_raw();
        if handle == 0 || self.handles.fetch_add(1, Relaxed) < HANDLES {
            return handle;
        }
        self.end_transfer(handle, true);
        0
    }

    /// Whether the transfer of a handle is complete, which uses the handle up; waits until it is if `wait`.
    pub fn end_transfer(&self, handle: u64, wait: bool) -> bool {
        let event = Event::from_raw(handle);
        if wait {
            self.rank.wait(event);
        } else {
            self.begin_look(1);
            if !self.rank.test(event) {
                self.looked(found(0, handle, 0), None);
                return false;
            }
        }
        if handle != 0 {
            self.handles.fetch_sub(1, Relaxed);
        }
        true
    }

    /// The same for several handles: whether all are complete, or else any of them. Those that are become 0, as those that were 0 stay.
    pub fn end_transfers(&self, handles: &mut [u64], all: bool, wait: bool) -> bool {
        let mut ended = || {
            let (mut ended, mut left) = (0, 0);
            for handle in handles.iter_mut().filter(|h| **h != 0) {
                if self.rank.test_quietly(Event::from_raw(*handle)) {
                    *handle = 0;
                    ended += 1;
                } else {
                    left += 1;
                }
            }
            self.handles.fetch_sub(ended, Relaxed);
            left == 0 || (!all && ended > 0)
        };
        if wait {
            self.poll();
            self.rank.wait_until("transfers to complete", ended);
            return true;
        }
        self.begin_look(1);
        let done = self.poll();
        let all = ended();
        if !all {
            self.looked(LIST, Some(done));
        }
        all
    }

    /// Whether all implicit puts (with memsets), gets, or both are complete; waits until they are if `wait`.
    pub fn end_implicit(&self, puts: bool, gets: bool, wait: bool) -> bool {
        if wait {
            self.poll();
            self.rank.wait_implicit(puts, gets);
            return true;
        }
        self.begin_look(1);
        let complete = self.rank.test_implicit(puts, gets);
        if !complete {
            self.looked(IMPLICIT, None);
        }
        complete
    }
}
