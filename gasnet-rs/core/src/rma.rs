//! One-sided transfers: put, get and memset, blocking and not.
//!
//! **Locality** is decided in [`crate::segment`], once for an operation: a mapped segment is accessed with a
//! copy, everything else through [`crate::native`] or [`crate::amref`]. **Order**: none between different
//! operations.
//!
//! **Completion.** A blocking call returns when the data is in place (put) or here (get). A non-blocking one
//! returns an [`Event`], or counts among the *implicit* operations of the thread ([`ImplicitCalls::wait`]) or
//! of its open access region ([`ImplicitCalls::begin_access_region`]). The destination of a get is undefined
//! until then. When the source of a put may be written again is for the caller to choose ([`Local`]): on
//! return, with the operation, or in between, which the event's *leaf* tells ([`EventCalls::leaf`]).
//!
//! | call | source may be written |
//! |---|---|
//! | [`put`](Rank::put), [`put_nb`](Rank::put_nb), [`implicit().put`](ImplicitCalls::put) | on return |
//! | [`put_nb_bulk`](Rank::put_nb_bulk), [`implicit().put_bulk`](ImplicitCalls::put_bulk) | when the operation is complete |
//! | [`start_put`](Rank::start_put), [`implicit().start_put`](ImplicitCalls::start_put) | as [`Local`] says |
//!
//! **Immediate.** The calls whose names begin with `start` may be asked to do nothing where they would have
//! to wait for room: they are [`Refused`] then. Of a transfer that is cut into pieces the first one decides;
//! the others wait for room.
//!
//! **Races.** Transfers may meet at any time, with each other and with atomics, between ranks and between
//! threads of one ([`crate::bytes`]). Of 1, 2, 4 or 8 bytes, naturally aligned, one sees the old value or the
//! new one; of anything else perhaps a part of each. `docs/orderings.md` says what keeps accesses apart.
//!
//! Errors a caller can make, a range outside the target's segment above all, end the job with a message that
//! names rank, address, length and segment: one-sided calls have no error codes (GASNet spec 1.8, section 3).
#![expect(
    unsafe_code,
    reason = "declares and forwards the unsafe put and get; copies between user memory and segments"
)]

use crate::{Rank, RankId};
use gasnet_wire::bytes;
use gasnet_wire::event::{Categories, Event, Implicit, Local, Refused};
use gasnet_wire::prim::{Ordering, fence};
use gasnet_wire::segment::{GlobalPtr, Place, Shared};
use gasnet_wire::transfer::FarAccess;

/// The name of a wait for the event of an operation.
pub(crate) const EVENT_WAIT: &str = "an operation to complete";

/// The result of an operation that is not immediate, and so is never refused.
pub(crate) fn granted<T>(started: Result<T, Refused>) -> T {
    started.unwrap_or_else(|Refused| unreachable!("only what is immediate is refused"))
}

/// Puts and gets without events, which are awaited together: [`Rank::implicit`].
#[derive(Debug, Clone, Copy)]
pub struct ImplicitCalls<'a> {
    pub(crate) rank: &'a Rank,
}

/// Questions about events beside [`Rank::wait`] and [`Rank::test`]: [`Rank::events`].
#[derive(Debug, Clone, Copy)]
pub struct EventCalls<'a> {
    pub(crate) rank: &'a Rank,
}

impl Rank {
    /// Puts and gets without events: they count among the *implicit* operations of the calling thread, which
    /// are awaited together, or in groups.
    #[inline]
    pub fn implicit(&self) -> ImplicitCalls<'_> {
        ImplicitCalls { rank: self }
    }

    /// Leaves of events, lists of events, and events of the program's own.
    #[inline]
    pub fn events(&self) -> EventCalls<'_> {
        EventCalls { rank: self }
    }

    /// Copies `len` bytes from `src` to byte `offset` of a rank's segment.
    ///
    /// # One-sided
    /// # Completion
    /// On return the data is in place and `src` may be reused.
    ///
    /// # Safety
    /// 1. `src` is valid for `len` bytes (owed by the caller). 2. Nobody accesses the destination at the same
    ///    time in a way that is not also a runtime call or atomic (owed by the program).
    #[inline]
    pub unsafe fn put(&self, rank: RankId, offset: u64, src: *const u8, len: usize) {
        match self.wire.segments.place_at(rank, offset, len) {
            Some(Place::Near(to)) => {
                // SAFETY: the destination is inside a mapped segment; (1).
                unsafe { bytes::store(to, src, len) };
                // ORDER: Release; pairs with whatever tells the target: the data comes before it.
                fence(Ordering::Release);
            }
            // SAFETY: (1).
            Some(Place::Far) => unsafe { self.put_far(rank, offset, src, len) },
            None => self.wire.fatal_outside("put", rank, offset, len),
        }
    }

    #[cold]
    pub(crate) unsafe fn put_far(&self, peer: RankId, offset: u64, src: *const u8, len: usize) {
        let event = self.explicit(peer, |op| {
            let put = FarAccess { op, peer, offset, len, immediate: false };
            // SAFETY: owed by the caller, and the source stays until the wait is over; the range was checked.
            unsafe { self.far_put(put, src, Local::Defer) }
        });
        self.wait(granted(event));
    }

    /// Copies `len` bytes at byte `offset` of a rank's segment to `dst`.
    ///
    /// # One-sided
    /// # Completion
    /// On return the data is at `dst`.
    ///
    /// # Safety
    /// 1. `dst` is valid for writes of `len` bytes (owed by the caller). 2. As for [`Rank::put`].
    #[inline]
    pub unsafe fn get(&self, dst: *mut u8, rank: RankId, offset: u64, len: usize) {
        match self.wire.segments.place_at(rank, offset, len) {
            Some(Place::Near(from)) => {
                // ORDER: Acquire; pairs with the Release of whatever told us that the data is there.
                fence(Ordering::Acquire);
                // SAFETY: the source is inside a mapped segment; (1).
                unsafe { bytes::load(dst, from, len) }
            }
            // SAFETY: (1); the range was checked.
            Some(Place::Far) => unsafe { self.get_far(dst, rank, offset, len) },
            None => self.wire.fatal_outside("get", rank, offset, len),
        }
    }

    /// Gets bytes of a range that was checked and is not mapped here.
    ///
    /// # Safety
    /// 1. `dst` is valid for writes of `len` bytes (owed by the caller). 2. The range is in the segment (owed
    ///    by the caller).
    #[cold]
    pub(crate) unsafe fn get_far(&self, dst: *mut u8, peer: RankId, offset: u64, len: usize) {
        let event = self.explicit(peer, |op| {
            let get = FarAccess { op, peer, offset, len, immediate: false };
            // SAFETY: (1), and the wait is over before the call is; (2).
            unsafe { self.far_get(get, dst) }
        });
        self.wait(granted(event));
    }

    /// Sets `len` bytes at byte `offset` of a rank's segment to `value`. As [`Rank::put`].
    ///
    /// # Safety
    /// As [`Rank::put`], without a source.
    pub unsafe fn memset(&self, rank: RankId, offset: u64, value: u8, len: usize) {
        // SAFETY: owed by the caller.
        let event = unsafe { self.memset_nb(rank, offset, value, len) };
        self.wait(event);
    }

    /// Starts a put. `src` may be reused on return.
    ///
    /// # Safety
    /// As [`Rank::put`].
    #[inline]
    pub unsafe fn put_nb(&self, rank: RankId, offset: u64, src: *const u8, len: usize) -> Event {
        // SAFETY: owed by the caller.
        granted(unsafe { self.start_put(rank, offset, src, len, Local::Now, false) })
    }

    /// Starts a put whose source stays as it is until the event is done, which saves a copy or a wait on some
    /// networks.
    ///
    /// # Safety
    /// As [`Rank::put`], and `src` is valid, and not written, until the event is done (owed by the caller).
    #[inline]
    pub unsafe fn put_nb_bulk(&self, rank: RankId, offset: u64, src: *const u8, len: usize) -> Event {
        // SAFETY: owed by the caller.
        granted(unsafe { self.start_put(rank, offset, src, len, Local::Defer, false) })
    }

    /// Starts a put whose source may be written again as `local` says: [`Local::Now`], [`Local::Defer`] or
    /// [`Local::Leaf`]. With `immediate` it may be refused.
    ///
    /// # One-sided
    /// # Completion
    /// The data is in place when the event is done. With [`Local::Leaf`] the source may be written when the
    /// event's [leaf](EventCalls::leaf) is, which is no later.
    ///
    /// # Errors
    /// `immediate`, and there is no room: nothing was done.
    ///
    /// # Safety
    /// As [`Rank::put`], and `src` is valid, and not written, until `local` allows it (owed by the caller).
    ///
    /// # Panics
    /// Ends the job with [`Local::Group`], which is for implicit operations, and when the range is outside
    /// the segment.
    #[inline]
    pub unsafe fn start_put(
        &self,
        rank: RankId,
        offset: u64,
        src: *const u8,
        len: usize,
        local: Local,
        immediate: bool,
    ) -> Result<Event, Refused> {
        if local == Local::Group {
            self.wrong_local("a put with an event", "with those of the thread (GROUP)");
        }
        match self.wire.segments.place_at(rank, offset, len) {
            Some(Place::Near(to)) => {
                // SAFETY: as in `put`.
                unsafe { bytes::store(to, src, len) };
                // ORDER: Release; as in `put`.
                fence(Ordering::Release);
                Ok(Event::DONE)
            }
            Some(Place::Far) => self.explicit(rank, |op| {
                // SAFETY: owed by the caller; the range was checked.
                unsafe { self.far_put(FarAccess { op, peer: rank, offset, len, immediate }, src, local) }
            }),
            None => self.wire.fatal_outside("put", rank, offset, len),
        }
    }

    #[cold]
    fn wrong_local(&self, what: &str, how: &str) -> ! {
        self.fatal(&format!("{what} cannot have the completion of its source {how}"))
    }

    /// Starts a get. `dst` is undefined until the event is done.
    ///
    /// # Safety
    /// 1. `dst` is valid for writes of `len` bytes, and used by nobody, until the event is done (owed by the
    ///    caller). 2. As for [`Rank::put`].
    #[inline]
    pub unsafe fn get_nb(&self, dst: *mut u8, rank: RankId, offset: u64, len: usize) -> Event {
        // SAFETY: owed by the caller.
        granted(unsafe { self.start_get(dst, rank, offset, len, false) })
    }

    /// [`Rank::get_nb`], which with `immediate` may be refused.
    ///
    /// # Errors
    /// `immediate`, and there is no room: nothing was done.
    ///
    /// # Safety
    /// As [`Rank::get_nb`].
    #[inline]
    pub unsafe fn start_get(
        &self,
        dst: *mut u8,
        rank: RankId,
        offset: u64,
        len: usize,
        immediate: bool,
    ) -> Result<Event, Refused> {
        match self.wire.segments.place_at(rank, offset, len) {
            Some(Place::Near(from)) => {
                // ORDER: Acquire; as in `get`.
                fence(Ordering::Acquire);
                // SAFETY: as in `get`.
                unsafe { bytes::load(dst, from, len) };
                Ok(Event::DONE)
            }
            Some(Place::Far) => self.explicit(rank, |op| {
                // SAFETY: owed by the caller; the range was checked.
                unsafe { self.far_get(FarAccess { op, peer: rank, offset, len, immediate }, dst) }
            }),
            None => self.wire.fatal_outside("get", rank, offset, len),
        }
    }

    /// Starts a memset.
    ///
    /// # Safety
    /// As [`Rank::memset`].
    pub unsafe fn memset_nb(&self, rank: RankId, offset: u64, value: u8, len: usize) -> Event {
        match self.wire.segments.place_at(rank, offset, len) {
            Some(Place::Near(to)) => {
                // SAFETY: inside a mapped segment.
                unsafe { bytes::fill(to, value, len) };
                // ORDER: Release; as in `put`.
                fence(Ordering::Release);
                Event::DONE
            }
            Some(Place::Far) => granted(self.explicit(rank, |op| {
                self.ref_memset(FarAccess { op, peer: rank, offset, len, immediate: false }, value)
            })),
            None => self.wire.fatal_outside("memset", rank, offset, len),
        }
    }

    /// Starts an operation with an event.
    #[inline]
    pub(crate) fn explicit(
        &self,
        peer: RankId,
        start: impl FnOnce(u32) -> Result<(), Refused>,
    ) -> Result<Event, Refused> {
        let op = self.wire.ops.start_with(peer);
        let started = start(op);
        // Of one that was refused nothing is outstanding: its op goes back.
        let event = self.wire.ops.started(op);
        started.map(|()| event)
    }

    /// Waits until an event's operation is complete; the event is used up, unless it is a leaf. Any thread
    /// may wait for it.
    ///
    /// # Panics
    /// Ends the job when the event was used up before, or is none of this rank's. [`Event::DONE`] can be
    /// waited for any number of times.
    #[inline]
    pub fn wait(&self, event: Event) {
        if event != Event::DONE {
            self.wire.check_context("wait for an operation");
            let peer = self.wire.ops.peer(event);
            self.wire.wait_for_operation(EVENT_WAIT, peer, || self.events().test_quietly(event));
        }
    }

    /// Polls once and says whether an event's operation is complete; if so the event is used up, unless it is
    /// a leaf.
    #[inline]
    pub fn test(&self, event: Event) -> bool {
        self.poll();
        self.events().test_quietly(event)
    }

    #[cold]
    fn stale_event(&self) -> ! {
        self.fatal("an event was waited for twice, or is no event of this rank")
    }

    fn check_no_region(&self) {
        if self.config().check && self.wire.ops.in_region() {
            self.fatal(
                "implicit operations cannot be synchronised inside an access region: end the region first",
            );
        }
    }

    /// Whether every segment of the job is mapped here, so that no operation is ever outstanding.
    pub(crate) fn all_near(&self) -> bool {
        self.wire.neighbourhood.is_whole_job() && !self.regions.has_reached_far()
    }

    /// Writes a value into another rank's segment.
    ///
    /// # One-sided
    /// # Completion
    /// On return the value is in place. Values of 1, 2, 4 or 8 bytes, naturally aligned, are written in one
    /// piece: whoever reads at the same time sees the old value or the new one. Of other values a reader may
    /// see a part.
    ///
    /// # Panics
    /// Ends the job when `to` is outside the segment.
    #[inline]
    pub fn write<T: Shared>(&self, to: GlobalPtr<T>, value: T) {
        // SAFETY: `value` is valid for its size; T is plain data.
        unsafe { self.put(to.rank(), to.offset(), (&raw const value).cast(), size_of::<T>()) }
    }

    /// Reads a value from another rank's segment: on return it is here. In all else as [`Rank::write`].
    #[inline]
    pub fn read<T: Shared>(&self, from: GlobalPtr<T>) -> T {
        let (rank, offset, len) = (from.rank(), from.offset(), size_of::<T>());
        match self.wire.segments.place_at(rank, offset, len) {
            Some(Place::Near(at)) => {
                // ORDER: Acquire; as in `get`.
                fence(Ordering::Acquire);
                // SAFETY: inside a mapped segment.
                if let Some(value) = unsafe { bytes::word(at) } {
                    return value;
                }
                let mut value = T::zeroed();
                // SAFETY: as above; `value` is valid for its size, and any bytes are a T.
                unsafe { bytes::load((&raw mut value).cast(), at, len) };
                value
            }
            Some(Place::Far) => {
                let mut value = T::zeroed();
                // SAFETY: `value` is valid for its size; any bytes are a T. The range was checked.
                unsafe { self.get_far((&raw mut value).cast(), rank, offset, len) };
                value
            }
            None => self.wire.fatal_outside("get", rank, offset, len),
        }
    }

    /// Writes a slice into another rank's segment.
    ///
    /// # One-sided
    /// # Completion
    /// On return the data is in place. Whoever reads at the same time may see a part of it.
    ///
    /// # Panics
    /// Ends the job when the slice does not fit into the segment at `to`.
    #[inline]
    pub fn write_slice<T: Shared>(&self, to: GlobalPtr<T>, values: &[T]) {
        // SAFETY: a slice is valid for its size.
        unsafe { self.put(to.rank(), to.offset(), values.as_ptr().cast(), size_of_val(values)) }
    }

    /// Reads a slice from another rank's segment: on return `values` are what was there. In all else as
    /// [`Rank::write_slice`].
    #[inline]
    pub fn read_slice<T: Shared>(&self, from: GlobalPtr<T>, values: &mut [T]) {
        // SAFETY: a slice is valid for its size; any bytes are a T.
        unsafe { self.get(values.as_mut_ptr().cast(), from.rank(), from.offset(), size_of_val(values)) }
    }

    /// Starts to write a buffer into another rank's segment. The handle owns the buffer until it is waited
    /// for.
    ///
    /// # One-sided
    /// # Completion
    /// The data is in place when the handle has been waited for.
    ///
    /// # Panics
    /// As [`Rank::write_slice`].
    pub fn write_nb<T: Shared>(&self, to: GlobalPtr<T>, values: Vec<T>) -> Pending<'_, T> {
        // SAFETY: the buffer lives in the handle, which gives it up only when the operation is complete, and
        // leaks it if forgotten.
        let event = unsafe {
            self.put_nb_bulk(to.rank(), to.offset(), values.as_ptr().cast(), size_of_val(&*values))
        };
        Pending { rank: self, event, buffer: core::mem::ManuallyDrop::new(values) }
    }

    /// Starts to read `len` elements of another rank's segment into a buffer that the handle owns until it is
    /// waited for. As [`Rank::write_nb`].
    pub fn read_nb<T: Shared>(&self, from: GlobalPtr<T>, len: usize) -> Pending<'_, T> {
        let bytes = len.saturating_mul(size_of::<T>());
        if self.wire.segments.place_at(from.rank(), from.offset(), bytes).is_none() {
            // Before there is memory for so many.
            self.wire.fatal_outside("get", from.rank(), from.offset(), bytes);
        }
        let mut values = vec![T::zeroed(); len];
        // SAFETY: as in `write_nb`.
        let event = unsafe {
            self.get_nb(values.as_mut_ptr().cast(), from.rank(), from.offset(), size_of_val(&*values))
        };
        Pending { rank: self, event, buffer: core::mem::ManuallyDrop::new(values) }
    }
}

impl ImplicitCalls<'_> {
    /// Starts an implicit put: it counts in this thread's puts, or in its open access region.
    ///
    /// # Safety
    /// As [`Rank::put`].
    #[inline]
    pub unsafe fn put(self, rank: RankId, offset: u64, src: *const u8, len: usize) {
        // SAFETY: owed by the caller.
        granted(unsafe { self.start_put(rank, offset, src, len, Local::Now, false) });
    }

    /// [`ImplicitCalls::put`] as [`Rank::put_nb_bulk`].
    ///
    /// # Safety
    /// As [`Rank::put_nb_bulk`], until the implicit puts of this thread (or the region) are synchronised.
    #[inline]
    pub unsafe fn put_bulk(self, rank: RankId, offset: u64, src: *const u8, len: usize) {
        // SAFETY: owed by the caller.
        granted(unsafe { self.start_put(rank, offset, src, len, Local::Defer, false) });
    }

    /// Starts an implicit put whose source may be written again as `local` says: [`Local::Now`],
    /// [`Local::Defer`] or [`Local::Group`]. With `immediate` it may be refused.
    ///
    /// # One-sided
    /// # Completion
    /// The data is in place when the implicit [puts](Categories::PUTS) of this thread are complete, or the
    /// event of the access region is done. With [`Local::Group`] the source may be written when those of
    /// [`Categories::LOCAL`] are, or the leaf of the region's event is.
    ///
    /// # Errors
    /// `immediate`, and there is no room: nothing was done.
    ///
    /// # Safety
    /// As [`Rank::put`], and `src` is valid, and not written, until `local` allows it (owed by the caller).
    ///
    /// # Panics
    /// Ends the job with [`Local::Leaf`], which is for operations with an event, and when the range is
    /// outside the segment.
    #[inline]
    pub unsafe fn start_put(
        self,
        rank: RankId,
        offset: u64,
        src: *const u8,
        len: usize,
        local: Local,
        immediate: bool,
    ) -> Result<(), Refused> {
        if local == Local::Leaf {
            self.rank.wrong_local("an implicit put", "in a leaf event");
        }
        match self.rank.wire.segments.place_at(rank, offset, len) {
            Some(Place::Near(to)) => {
                // SAFETY: as in `put`.
                unsafe { bytes::store(to, src, len) };
                // ORDER: Release; as in `put`.
                fence(Ordering::Release);
                Ok(())
            }
            Some(Place::Far) => {
                let op = self.rank.wire.ops.implicit(Implicit::Puts);
                // SAFETY: owed by the caller; the range was checked.
                unsafe { self.rank.far_put(FarAccess { op, peer: rank, offset, len, immediate }, src, local) }
            }
            None => self.rank.wire.fatal_outside("put", rank, offset, len),
        }
    }

    /// Starts an implicit get.
    ///
    /// # Safety
    /// As [`Rank::get_nb`], until the implicit gets of this thread (or the region) are synchronised.
    #[inline]
    pub unsafe fn get(self, dst: *mut u8, rank: RankId, offset: u64, len: usize) {
        // SAFETY: owed by the caller.
        granted(unsafe { self.start_get(dst, rank, offset, len, false) });
    }

    /// [`ImplicitCalls::get`], which with `immediate` may be refused.
    ///
    /// # Errors
    /// `immediate`, and there is no room: nothing was done.
    ///
    /// # Safety
    /// As [`ImplicitCalls::get`].
    #[inline]
    pub unsafe fn start_get(
        self,
        dst: *mut u8,
        rank: RankId,
        offset: u64,
        len: usize,
        immediate: bool,
    ) -> Result<(), Refused> {
        match self.rank.wire.segments.place_at(rank, offset, len) {
            Some(Place::Near(from)) => {
                // ORDER: Acquire; as in `get`.
                fence(Ordering::Acquire);
                // SAFETY: as in `get`.
                unsafe { bytes::load(dst, from, len) };
                Ok(())
            }
            Some(Place::Far) => {
                let op = self.rank.wire.ops.implicit(Implicit::Gets);
                // SAFETY: owed by the caller; the range was checked.
                unsafe { self.rank.far_get(FarAccess { op, peer: rank, offset, len, immediate }, dst) }
            }
            None => self.rank.wire.fatal_outside("get", rank, offset, len),
        }
    }

    /// Starts an implicit memset, which counts as a put.
    ///
    /// # Safety
    /// As [`Rank::memset`].
    pub unsafe fn memset(self, rank: RankId, offset: u64, value: u8, len: usize) {
        match self.rank.wire.segments.place_at(rank, offset, len) {
            Some(Place::Near(to)) => {
                // SAFETY: inside a mapped segment.
                unsafe { bytes::fill(to, value, len) };
                // ORDER: Release; as in `put`.
                fence(Ordering::Release);
            }
            Some(Place::Far) => {
                let op = self.rank.wire.ops.implicit(Implicit::Puts);
                granted(
                    self.rank.ref_memset(FarAccess { op, peer: rank, offset, len, immediate: false }, value),
                );
            }
            None => self.rank.wire.fatal_outside("memset", rank, offset, len),
        }
    }

    /// Waits for the implicit operations of this thread of some kinds.
    pub fn wait(self, kinds: Categories) {
        self.rank.check_no_region();
        if self.rank.all_near() {
            return;
        }
        self.rank.wait_until("implicit operations to complete", || self.rank.wire.ops.implicit_done(kinds));
    }

    /// Polls once and says whether the implicit operations of this thread of some kinds are complete.
    pub fn test(self, kinds: Categories) -> bool {
        self.rank.poll();
        self.test_quietly(kinds)
    }

    /// [`ImplicitCalls::test`] without polling.
    pub fn test_quietly(self, kinds: Categories) -> bool {
        self.rank.check_no_region();
        self.rank.all_near() || self.rank.wire.ops.implicit_done(kinds)
    }

    /// Opens an access region: implicit operations of this thread belong to it until it ends.
    pub fn begin_access_region(self) {
        if !self.rank.wire.ops.begin_region() {
            self.rank.fatal("access regions do not nest: end the open one first");
        }
    }

    /// Closes the access region; its event is done when all its operations are, and the event's
    /// [leaf](EventCalls::leaf) when the sources with [`Local::Group`] may be written again.
    pub fn end_access_region(self) -> Event {
        match self.rank.wire.ops.end_region() {
            Some(e) => e,
            None => self.rank.fatal("no access region is open"),
        }
    }
}

impl EventCalls<'_> {
    /// [`Rank::test`] without polling.
    pub fn test_quietly(self, event: Event) -> bool {
        match self.rank.wire.ops.test(event) {
            Some(done) => done,
            None => self.rank.stale_event(),
        }
    }

    /// The leaf of an event: done when the sources of its puts that were started with [`Local::Leaf`], or
    /// with [`Local::Group`] inside its access region, may be written again. It may be asked for any number
    /// of times, and ends with the event that it belongs to.
    ///
    /// # Panics
    /// Ends the job when the event was used up before, is none of this rank's, or is a leaf.
    pub fn leaf(self, root: Event) -> Event {
        match self.rank.wire.ops.leaf(root) {
            Some(leaf) => leaf,
            None if root.is_leaf() => self.rank.fatal("a leaf event has no leaf of its own"),
            None => self.rank.stale_event(),
        }
    }

    /// Tests all events of a list, without polling, leaves together with the events that they belong to in
    /// any order. Those that are done are used up and become [`Event::DONE`]. How many have become it, and
    /// how many others there are.
    ///
    /// # Panics
    /// Ends the job when an event was used up before, or is none of this rank's.
    pub fn test_each(self, events: &mut [Event]) -> (usize, usize) {
        self.rank.wire.ops.sweep(events).unwrap_or_else(|_| self.rank.stale_event())
    }
}

/// A transfer under way and the buffer it uses. Dropping it waits; forgetting it, and dropping it while the
/// thread panics, leaks the buffer and harms nothing.
#[must_use = "dropping the handle waits for the transfer"]
pub struct Pending<'a, T: Shared> {
    rank: &'a Rank,
    event: Event,
    buffer: core::mem::ManuallyDrop<Vec<T>>,
}

impl<'a, T: Shared> Pending<'a, T> {
    /// An operation of another kind that uses the buffer until the event is done.
    pub(crate) fn of(rank: &'a Rank, event: Event, buffer: Vec<T>) -> Pending<'a, T> {
        Pending { rank, event, buffer: core::mem::ManuallyDrop::new(buffer) }
    }

    /// Waits for the transfer and gives the buffer back: what was read, or what was written and may be
    /// reused.
    pub fn wait(mut self) -> Vec<T> {
        // The event stays until the wait is over: should it unwind, dropping must not free the buffer.
        self.rank.wait(self.event);
        self.event = Event::DONE;
        let buffer = core::mem::take(&mut *self.buffer);
        core::mem::forget(self);
        buffer
    }

    /// Polls once and says whether the transfer is complete; [`Pending::wait`] then returns at once.
    pub fn test(&mut self) -> bool {
        let done = self.rank.test(self.event);
        if done {
            self.event = Event::DONE;
        }
        done
    }
}

/// Says nothing of the buffer, which is not to be looked at yet.
impl<T: Shared> core::fmt::Debug for Pending<'_, T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Pending").field("event", &self.event).finish_non_exhaustive()
    }
}

impl<T: Shared> Drop for Pending<'_, T> {
    fn drop(&mut self) {
        if self.rank.wire.waits_in_vain() {
            return;
        }
        self.rank.wait(self.event);
        // SAFETY: dropped once, here; the transfer is over.
        unsafe { core::mem::ManuallyDrop::drop(&mut self.buffer) }
    }
}
