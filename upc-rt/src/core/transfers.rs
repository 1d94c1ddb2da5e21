//! Transfers that continue after the call that started them: `upc_nb.h`, Berkeley's asynchronous copies, and
//! those of `upcr.h`.
//!
//! A transfer with a near thread is complete when its call returns. Of the others, *explicit* ones have a
//! handle: the word of an event of the core, or 0 if the transfer is complete (one handle for all pieces of a
//! strided or listed one). *Implicit* ones are counted for each operating-system thread. Neither fences nor
//! barriers wait for them. A transfer first waits for earlier writes to the same bytes.

use super::aggregate::MOST_BYTES;
use super::{Core, FIRST_OFFSET, found};
use gasnet::vis::Shape;
use gasnet::{Categories, Event, Local};
use std::ffi::c_int;
use std::sync::atomic::Ordering::Relaxed;

/// Most handles in use: a transfer beyond them is complete when its call returns.
const MAX_HANDLES: u32 = 1 << 19;

/// Keys of programs that test, in a loop, the handles of a list, or implicit transfers.
const LIST_KEY: u64 = 2;
const IMPLICIT_KEY: u64 = 3;

/// The kind of a transfer.
#[derive(Debug, Clone, Copy)]
pub struct How {
    /// It has no handle, and is waited for with others.
    implicit: bool,
    /// The source of a put may change as soon as the call returns.
    reused: bool,
    /// A small put may travel with others.
    batched: bool,
}

impl How {
    /// From the bits that emitted C passes (`upcc_abi.h`).
    pub fn from_bits(bits: c_int) -> How {
        How { implicit: bits & 1 != 0, reused: bits & 2 != 0, batched: bits & 4 != 0 }
    }
}

impl Core {
    /// Starts to copy `n` bytes to thread `t`; returns a handle.
    ///
    /// # Safety
    /// 1. `src` is valid for reads of `n` bytes, and does not change before the end of the transfer unless
    ///    `how` allows it (owed by the caller).
    pub unsafe fn start_put(&self, t: u32, o: u64, src: *const u8, n: u64, how: How) -> u64 {
        if self.near(t) {
            // SAFETY: (1).
            unsafe { self.put(t, o, src, n) };
            return 0;
        }
        if how.batched && n <= MOST_BYTES {
            // Its source is read, and it is ordered as relaxed writes are: there is nothing left to wait for.
            // SAFETY: (1).
            unsafe { self.put_batched(t, o, src, n) };
            return 0;
        }
        self.settle_over(t, o, n);
        let (to, n) = (self.target("put", t, (o, n)), n as usize);
        // SAFETY: (1).
        unsafe {
            match (how.implicit, how.reused) {
                (false, false) => return self.handle(self.rank.put_nb_bulk(to, o, src, n)),
                (false, true) => return self.handle(self.rank.put_nb(to, o, src, n)),
                (true, false) => self.rank.implicit().put_bulk(to, o, src, n),
                (true, true) => self.rank.implicit().put(to, o, src, n),
            }
        }
        0
    }

    /// Starts to copy `n` bytes from thread `t`; returns a handle.
    ///
    /// # Safety
    /// 1. `dst` is valid for writes of `n` bytes, and nobody uses it before the end of the transfer (owed by
    ///    the caller).
    pub unsafe fn start_get(&self, dst: *mut u8, t: u32, o: u64, n: u64, how: How) -> u64 {
        if self.near(t) || how.implicit {
            // SAFETY: (1).
            unsafe { self.get_nbi(dst, t, o, n) };
            return 0;
        }
        self.settle_over(t, o, n);
        // SAFETY: (1).
        self.handle(unsafe { self.rank.get_nb(dst, self.target("get", t, (o, n)), o, n as usize) })
    }

    /// Starts to set `n` bytes of thread `t`; returns a handle.
    pub fn start_set(&self, t: u32, o: u64, c: u8, n: u64, how: How) -> u64 {
        if self.near(t) {
            self.set(t, o, c, n);
            return 0;
        }
        self.settle_over(t, o, n);
        let (to, n) = (self.target("memset", t, (o, n)), n as usize);
        // SAFETY: no local memory is involved.
        unsafe {
            if !how.implicit {
                return self.handle(self.rank.memset_nb(to, o, c, n));
            }
            self.rank.implicit().memset(to, o, c, n);
        }
        0
    }

    /// Starts to copy `n` bytes between two threads; returns a handle. Between two far threads it is complete
    /// on return.
    pub fn start_copy(&self, (dt, d): (u32, u64), (st, s): (u32, u64), n: u64, how: How) -> u64 {
        // SAFETY: both ranges are inside mapped segments, and the program does not use them meanwhile.
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

    /// Begins a transfer of several pieces. Until [`Core::end_pieces`] this thread only starts pieces, as
    /// implicit transfers.
    pub fn begin_pieces(&self) {
        if self.near.mapped < self.rank.size() {
            // Inside an access region, implicit operations cannot be waited for.
            self.settle();
            self.rank.implicit().begin_access_region();
        }
    }

    /// Starts a put to thread `t`, or a get from there, of runs in dimensions. It is an implicit transfer.
    ///
    /// # Safety
    /// 1. The local runs are valid, for writes if it is a get, and are used by nobody before the end of the
    ///    transfer, except that those of a put are read (owed by the caller).
    pub unsafe fn start_shape(&self, get: bool, t: u32, remote: Shape<'_>, local: Shape<'_>) {
        let to = self.target(if get { "get" } else { "put" }, t, (FIRST_OFFSET, 0));
        // SAFETY: (1).
        unsafe {
            if get {
                self.rank.shapes().get_nbi(local, to, remote, 0);
            } else {
                self.rank.shapes().put_nbi(to, remote, 0, local, Local::Defer);
            }
        }
    }

    /// The address of place `first` of thread `t`, if it is near: the place of a strided shape, all runs of
    /// which are in the segment.
    pub fn shape_here(&self, t: u32, first: u64, shape: Shape<'_>) -> Option<*mut u8> {
        let (low, end) = shape.span().unwrap_or((first.into(), first.into()));
        let low_place = u64::try_from(low).unwrap_or(u64::MAX);
        let at = self.address("copy", t, low_place, u64::try_from(end - low).unwrap_or(u64::MAX))?;
        Some(at.wrapping_add(first.wrapping_sub(low_place) as usize))
    }

    /// The handle of all pieces.
    pub fn end_pieces(&self) -> u64 {
        if self.near.mapped < self.rank.size() {
            self.handle(self.rank.implicit().end_access_region())
        } else {
            0
        }
    }

    fn handle(&self, event: Event) -> u64 {
        let handle = event.into_raw();
        if handle == 0 || self.handles.fetch_add(1, Relaxed) < MAX_HANDLES {
            return handle;
        }
        self.end_transfer(handle, true);
        0
    }

    /// Whether the transfer of a handle is complete; then the handle is freed. With `wait` it waits for that.
    pub fn end_transfer(&self, handle: u64, wait: bool) -> bool {
        let event = Event::from_raw(handle);
        if wait {
            self.send_batches();
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

    /// Whether the transfers of several handles are complete: all of them, or any. Handles of complete ones
    /// become 0, and a handle of 0 stays so.
    pub fn end_transfers(&self, handles: &mut [u64], all: bool, wait: bool) -> bool {
        let mut ended = || {
            let (mut ended, mut left) = (0, 0);
            for handle in handles.iter_mut().filter(|h| **h != 0) {
                if self.rank.events().test_quietly(Event::from_raw(*handle)) {
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
            self.wait_until("transfers to complete", ended);
            return true;
        }
        self.begin_look(1);
        let done = self.poll();
        let all = ended();
        if !all {
            self.looked(LIST_KEY, Some(done));
        }
        all
    }

    /// Whether all implicit puts (with memsets), gets, or both are complete; with `wait` it waits for that.
    pub fn end_implicit(&self, puts: bool, gets: bool, wait: bool) -> bool {
        let bit = |is: bool, kind: Categories| if is { kind.bits() } else { 0 };
        let kinds = Categories::from_bits(bit(puts, Categories::PUTS) | bit(gets, Categories::GETS));
        if wait {
            self.send_batches();
            self.poll();
            self.rank.implicit().wait(kinds);
            return true;
        }
        self.begin_look(1);
        let complete = self.rank.implicit().test(kinds);
        if !complete {
            self.looked(IMPLICIT_KEY, None);
        }
        complete
    }
}
