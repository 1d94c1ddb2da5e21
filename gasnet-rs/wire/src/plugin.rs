//! Conduits on the far side of a shared object: one table of C functions, both ways.
//!
//! A conduit that needs a foreign library (MPI, libfabric) is a shared object of its own, loaded at run time,
//! with its own copy of this crate; and a program that is itself a shared object (a C or UPC program in the
//! virtual-time cluster) is given its conduit by whoever loaded it. Both cross the border by the same tables:
//! [`export`] turns a [`Conduit`] into a [`ConduitTable`], [`ConduitTable::import`] turns that into a
//! [`Conduit`] again. What a conduit gets to open itself with crosses as an [`OpenTable`], a job's exchange
//! and overseer as [`ExchangeTable`] and [`OverseerTable`].
//!
//! **Version.** Every table begins with [`ABI`] and its own size. Both sides must have the same: a table is
//! never extended in place.
//!
//! **Life.** A table owns its object: importing it takes that over, and dropping the import ends it. Texts
//! and arrays are lent for the length of a call. Nothing unwinds across: a panic on either side ends the
//! process.
//!
//! **Programs.** What a loader gives to a program is an [`EmbedTable`].
//!
//! **Plugins.** A shared object made with [`export_conduit!`](crate::export_conduit) has one symbol,
//! [`ENTRY`].
#![expect(
    unsafe_code,
    reason = "calls across a C border; the tables' makers promise what their functions take and give"
)]

use crate::conduit::{
    Channel, Completion, Conduit, Frame, Limits, Meanwhile, RawSlot, RemoteAddr, Rma, SegmentDesc, Survival,
};
use crate::{Error, RankId};
use core::ffi::c_void;
use core::ptr::NonNull;
use core::time::Duration;
use gasnet_ops::Operation;
use gasnet_sys::mutex::lock;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::{Mutex, OnceLock};

mod job;

pub use job::{EmbedTable, ExchangeTable, OpenTable, OverseerTable, enter};

/// Version of all tables.
pub const ABI: u32 = 10;
/// The symbol of a plugin, an [`Entry`].
pub const ENTRY: &core::ffi::CStr = c"gasnet_conduit_v1";
/// The type of [`ENTRY`], which opens the conduit. Result 1: done; 0: these ranks need none; -1: an error
/// was said.
pub type Entry = unsafe extern "C" fn(*const OpenTable, *mut ConduitTable, *const Sayer) -> i32;

type Object = *mut c_void;

/// Bytes lent for a call.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Bytes {
    at: *const u8,
    len: usize,
}

impl Bytes {
    fn of(bytes: &[u8]) -> Bytes {
        Bytes { at: bytes.as_ptr(), len: bytes.len() }
    }

    /// # Safety
    /// 1. Lent by the other side for at least `'a` (owed by the caller).
    unsafe fn get<'a>(self) -> &'a [u8] {
        if self.len == 0 {
            return &[];
        }
        // SAFETY: (1).
        unsafe { core::slice::from_raw_parts(self.at, self.len) }
    }

    /// # Safety
    /// As [`Bytes::get`].
    unsafe fn text(self) -> String {
        // SAFETY: owed by the caller.
        String::from_utf8_lossy(unsafe { self.get() }).into_owned()
    }
}

/// Where a callee says why it failed: kind of error, rank it concerns, text.
#[repr(C)]
#[derive(Debug)]
pub struct Sayer {
    cookie: Object,
    say: unsafe extern "C" fn(Object, u32, u32, Bytes),
}

impl Sayer {
    /// Reports an error to the caller.
    pub fn tell(&self, error: &Error) {
        let (kind, rank, text) = match error {
            Error::Op(text) => (0, 0, text),
            Error::Peer(rank, text) => (1, rank.0, text),
            Error::Conduit(text) => (2, 0, text),
            Error::Job(text) => (3, 0, text),
        };
        // SAFETY: the caller made it for this call.
        unsafe { (self.say)(self.cookie, kind, rank, Bytes::of(text.as_bytes())) }
    }
}

/// Calls something that may say an error, which it has if the result is negative.
fn hear(call: impl FnOnce(*const Sayer) -> i64) -> Result<u64, Error> {
    unsafe extern "C" fn say(cookie: Object, kind: u32, rank: u32, text: Bytes) {
        // SAFETY: the cookie is the Option below, and the text is lent for this call.
        let (said, text) = unsafe { (&mut *cookie.cast::<Option<Error>>(), text.text()) };
        *said = Some(match kind {
            0 => Error::Op(text),
            1 => Error::Peer(RankId(rank), text),
            2 => Error::Conduit(text),
            _ => Error::Job(text),
        });
    }
    let mut said: Option<Error> = None;
    let sayer = Sayer { cookie: (&raw mut said).cast(), say };
    let result = call(&sayer);
    u64::try_from(result)
        .map_err(|_| said.unwrap_or_else(|| Error::job("a plugin failed and did not say why")))
}

/// The result of something that may fail, for the other side.
///
/// # Safety
/// 1. `sayer` is a caller's [`Sayer`] (owed by the caller).
unsafe fn answer(result: Result<i64, Error>, sayer: *const Sayer) -> i64 {
    result.unwrap_or_else(|error| {
        // SAFETY: (1).
        unsafe { &*sayer }.tell(&error);
        -1
    })
}

/// A [`RawSlot`].
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct SlotTable {
    buf: *mut u8,
    len: usize,
    cookie: [u64; 2],
}

impl SlotTable {
    fn of(slot: &RawSlot) -> SlotTable {
        SlotTable { buf: slot.buf.as_ptr(), len: slot.len, cookie: slot.cookie }
    }
    fn slot(self) -> Option<RawSlot> {
        Some(RawSlot { buf: NonNull::new(self.buf)?, len: self.len, cookie: self.cookie })
    }
}

/// A [`Frame`].
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct FrameTable {
    rank: u32,
    channel: u32,
    data: *mut u8,
    len: usize,
}

/// A [`SegmentDesc`].
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct SegmentRecord {
    base: *mut u8,
    len: usize,
}

/// Of an atomic operation: the word, what is done, with what.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct AtomicRecord {
    rank: u32,
    what: u32,
    offset: u64,
    operands: [u64; 2],
}

type Deliver = unsafe extern "C" fn(Object, *const FrameTable);
type Complete = unsafe extern "C" fn(Object, u64, u32);
type Take = unsafe extern "C" fn(Object, u32, Bytes);
type Count = unsafe extern "C" fn(Object, Bytes, u64);

/// A [`Conduit`]: its object, and a function for each method.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct ConduitTable {
    abi: u32,
    bytes: u32,
    object: Object,
    name: Bytes,
    polls_both: u32,
    sends_before_attach: u32,
    limits: unsafe extern "C" fn(Object, u32, usize) -> usize,
    reserve: unsafe extern "C" fn(Object, u32, u32, usize, u32, *mut SlotTable, *const Sayer) -> i64,
    commit: unsafe extern "C" fn(Object, *const SlotTable),
    cancel: unsafe extern "C" fn(Object, *const SlotTable),
    send: unsafe extern "C" fn(Object, u32, u32, Bytes, u32, *const Sayer) -> i64,
    poll: unsafe extern "C" fn(Object, u32, usize, Deliver, Object, *const Sayer) -> i64,
    attach: unsafe extern "C" fn(Object, *const SegmentRecord, *const Sayer) -> i64,
    descriptor: unsafe extern "C" fn(Object) -> i32,
    doze: unsafe extern "C" fn(Object, u64) -> u32,
    idle: unsafe extern "C" fn(Object, Bytes, u32) -> u32,
    clock: unsafe extern "C" fn(Object, *mut u64) -> u32,
    close: unsafe extern "C" fn(Object),
    counters: unsafe extern "C" fn(Object, Count, Object),
    has_rma: unsafe extern "C" fn(Object) -> u32,
    put: unsafe extern "C" fn(Object, u32, u64, *const u8, usize, u64) -> u32,
    get: unsafe extern "C" fn(Object, *mut u8, u32, u64, usize, u64) -> u32,
    atomic: unsafe extern "C" fn(Object, *const AtomicRecord, *mut u64, u64) -> i32,
    copies_source: unsafe extern "C" fn(Object, usize) -> u32,
    max_transfer: unsafe extern "C" fn(Object) -> usize,
    completions: unsafe extern "C" fn(Object, usize, Complete, Object) -> usize,
    end: unsafe extern "C" fn(Object),
}

/// The object of an exported conduit.
struct Exported {
    conduit: Box<dyn Conduit>,
    /// Names of waits that came across.
    waits: Names,
}

/// Names that came across, kept for ever: there are few.
#[derive(Default)]
struct Names(Mutex<Vec<&'static str>>);

impl Names {
    fn keep(&self, text: &str) -> &'static str {
        let mut known = lock(&self.0);
        known.iter().copied().find(|k| *k == text).unwrap_or_else(|| {
            let name: &'static str = text.to_string().leak();
            known.push(name);
            name
        })
    }
}

impl Exported {
    /// # Safety
    /// 1. `object` is that of a table made by [`export`], which has not ended (owed by the caller).
    unsafe fn of<'a>(object: Object) -> &'a Exported {
        // SAFETY: (1).
        unsafe { &*object.cast::<Exported>() }
    }
}

fn channel(number: u32) -> Channel {
    if number == Channel::Request as u32 { Channel::Request } else { Channel::Reply }
}

/// Completions by number. Plugins have no operations that can be refused.
const COMPLETIONS: [Completion; 3] = [Completion::Local, Completion::Remote, Completion::Both];

fn number_of(how: Completion) -> u32 {
    COMPLETIONS.iter().position(|known| *known == how).unwrap_or(COMPLETIONS.len()) as u32
}

/// The functions of an exported conduit. Each of them is called with the table's object and what the
/// [`Conduit`] method of the same name demands.
mod gates {
    use super::*;

    pub(super) unsafe extern "C" fn limits(object: Object, rank: u32, nargs: usize) -> usize {
        // SAFETY: the importer passes the table's object.
        unsafe { Exported::of(object) }.conduit.limits(RankId(rank), nargs).max_frame
    }

    pub(super) unsafe extern "C" fn reserve(
        object: Object,
        rank: u32,
        on: u32,
        len: usize,
        immediate: u32,
        out: *mut SlotTable,
        sayer: *const Sayer,
    ) -> i64 {
        // SAFETY: as above; `out` and `sayer` are the caller's for this call.
        unsafe {
            let slot = Exported::of(object).conduit.reserve(RankId(rank), channel(on), len, immediate != 0);
            let result = slot.map(|slot| match slot {
                Some(slot) => {
                    out.write(SlotTable::of(&slot));
                    1
                }
                None => 0,
            });
            answer(result, sayer)
        }
    }

    pub(super) unsafe extern "C" fn commit(object: Object, slot: *const SlotTable) {
        // SAFETY: as above; the slot is one of this conduit, filled in.
        unsafe {
            if let Some(slot) = (*slot).slot() {
                Exported::of(object).conduit.commit(slot);
            }
        }
    }

    pub(super) unsafe extern "C" fn cancel(object: Object, slot: *const SlotTable) {
        // SAFETY: as above; the slot is one of this conduit.
        unsafe {
            if let Some(slot) = (*slot).slot() {
                Exported::of(object).conduit.cancel(slot);
            }
        }
    }

    pub(super) unsafe extern "C" fn send(
        object: Object,
        rank: u32,
        on: u32,
        frame: Bytes,
        immediate: u32,
        sayer: *const Sayer,
    ) -> i64 {
        // SAFETY: as above; the bytes are lent for this call, `sayer` is the caller's.
        unsafe {
            let sent =
                Exported::of(object).conduit.send(RankId(rank), channel(on), frame.get(), immediate != 0);
            answer(sent.map(i64::from), sayer)
        }
    }

    pub(super) unsafe extern "C" fn poll(
        object: Object,
        on: u32,
        budget: usize,
        deliver: Deliver,
        cookie: Object,
        sayer: *const Sayer,
    ) -> i64 {
        let mut pass = |f: Frame| {
            let frame = FrameTable { rank: f.from.0, channel: f.channel as u32, data: f.data, len: f.len };
            // SAFETY: the caller's function and its cookie.
            unsafe { deliver(cookie, &frame) }
        };
        // SAFETY: as above.
        unsafe {
            let polled = Exported::of(object).conduit.poll(channel(on), budget, &mut pass);
            answer(polled.map(|n| n as i64), sayer)
        }
    }

    pub(super) unsafe extern "C" fn attach(
        object: Object,
        segment: *const SegmentRecord,
        sayer: *const Sayer,
    ) -> i64 {
        // SAFETY: as above; `segment` is the caller's for this call.
        unsafe {
            let s = &*segment;
            let desc = SegmentDesc { base: s.base, len: s.len };
            answer(Exported::of(object).conduit.attach(&desc).map(|()| 0), sayer)
        }
    }

    pub(super) unsafe extern "C" fn descriptor(object: Object) -> i32 {
        // SAFETY: as above.
        unsafe { Exported::of(object) }.conduit.descriptor().map_or(-1, |fd| fd.as_raw_fd())
    }

    pub(super) unsafe extern "C" fn doze(object: Object, nanoseconds: u64) -> u32 {
        // SAFETY: as above.
        u32::from(unsafe { Exported::of(object) }.conduit.doze(Duration::from_nanos(nanoseconds)))
    }

    pub(super) unsafe extern "C" fn idle(object: Object, what: Bytes, meanwhile: u32) -> u32 {
        // SAFETY: as above; the text is lent for this call.
        unsafe {
            let exported = Exported::of(object);
            let what = exported.waits.keep(&what.text());
            u32::from(exported.conduit.idle(what, Meanwhile::from_number(meanwhile.into())))
        }
    }

    pub(super) unsafe extern "C" fn clock(object: Object, nanoseconds: *mut u64) -> u32 {
        // SAFETY: as above; `nanoseconds` is the caller's.
        unsafe {
            let now = Exported::of(object).conduit.clock();
            if let Some(now) = now {
                nanoseconds.write(u64::try_from(now.as_nanos()).unwrap_or(u64::MAX));
            }
            u32::from(now.is_some())
        }
    }

    pub(super) unsafe extern "C" fn close(object: Object) {
        // SAFETY: as above.
        unsafe { Exported::of(object) }.conduit.close();
    }

    pub(super) unsafe extern "C" fn counters(object: Object, count: Count, cookie: Object) {
        // SAFETY: as above; the caller's function and its cookie.
        unsafe {
            for (name, value) in Exported::of(object).conduit.counters() {
                count(cookie, Bytes::of(name.as_bytes()), value);
            }
        }
    }

    pub(super) unsafe extern "C" fn has_rma(object: Object) -> u32 {
        // SAFETY: as above.
        u32::from(unsafe { Exported::of(object) }.conduit.rma().is_some())
    }

    unsafe fn rma<'a>(object: Object) -> &'a dyn Rma {
        // SAFETY: as above.
        unsafe { Exported::of(object) }.conduit.rma().expect("asked for what has_rma promised only")
    }

    pub(super) unsafe extern "C" fn put(
        object: Object,
        rank: u32,
        offset: u64,
        src: *const u8,
        len: usize,
        token: u64,
    ) -> u32 {
        let to = RemoteAddr { rank: RankId(rank), offset };
        // SAFETY: as above; the caller owes what Rma::put demands.
        u32::from(unsafe { rma(object).put(to, src, len, token) })
    }

    pub(super) unsafe extern "C" fn get(
        object: Object,
        dst: *mut u8,
        rank: u32,
        offset: u64,
        len: usize,
        token: u64,
    ) -> u32 {
        let from = RemoteAddr { rank: RankId(rank), offset };
        // SAFETY: as above; the caller owes what Rma::get demands.
        u32::from(unsafe { rma(object).get(dst, from, len, token) })
    }

    /// 1: started, 0: would block, -1: there is no such operation.
    pub(super) unsafe extern "C" fn atomic(
        object: Object,
        record: *const AtomicRecord,
        old: *mut u64,
        token: u64,
    ) -> i32 {
        // SAFETY: as above; the record is the caller's for this call.
        let r = unsafe { *record };
        let Some(what) = Operation::decode(r.what) else { return -1 };
        let at = RemoteAddr { rank: RankId(r.rank), offset: r.offset };
        // SAFETY: as above; the caller owes what Rma::atomic demands.
        unsafe { rma(object).atomic(at, what, r.operands, old, token) }.map_or(-1, i32::from)
    }

    pub(super) unsafe extern "C" fn copies_source(object: Object, len: usize) -> u32 {
        // SAFETY: as above.
        u32::from(unsafe { rma(object) }.copies_source(len))
    }

    pub(super) unsafe extern "C" fn max_transfer(object: Object) -> usize {
        // SAFETY: as above.
        unsafe { rma(object) }.max_transfer()
    }

    pub(super) unsafe extern "C" fn completions(
        object: Object,
        budget: usize,
        complete: Complete,
        cookie: Object,
    ) -> usize {
        // SAFETY: the caller's function and its cookie.
        let mut pass = |token, how| unsafe { complete(cookie, token, number_of(how)) };
        // SAFETY: as above.
        unsafe { rma(object) }.poll(budget, &mut pass)
    }

    pub(super) unsafe extern "C" fn end(object: Object) {
        // SAFETY: the box that `export` leaked; the importer ends it once.
        drop(unsafe { Box::from_raw(object.cast::<Exported>()) });
    }
}

/// A conduit as a table, which owns it.
pub fn export(conduit: Box<dyn Conduit>) -> ConduitTable {
    let (name, polls_both) = (conduit.name(), u32::from(conduit.polls_both()));
    let sends_before_attach = u32::from(conduit.sends_before_attach());
    let object = Box::into_raw(Box::new(Exported { conduit, waits: Names::default() }));
    ConduitTable {
        abi: ABI,
        bytes: size_of::<ConduitTable>() as u32,
        object: object.cast(),
        name: Bytes::of(name.as_bytes()),
        polls_both,
        sends_before_attach,
        limits: gates::limits,
        reserve: gates::reserve,
        commit: gates::commit,
        cancel: gates::cancel,
        send: gates::send,
        poll: gates::poll,
        attach: gates::attach,
        descriptor: gates::descriptor,
        doze: gates::doze,
        idle: gates::idle,
        clock: gates::clock,
        close: gates::close,
        counters: gates::counters,
        has_rma: gates::has_rma,
        put: gates::put,
        get: gates::get,
        atomic: gates::atomic,
        copies_source: gates::copies_source,
        max_transfer: gates::max_transfer,
        completions: gates::completions,
        end: gates::end,
    }
}

fn check(what: &str, abi: u32, bytes: u32, own: usize) -> Result<(), Error> {
    if abi == ABI && bytes as usize == own {
        return Ok(());
    }
    Err(Error::job(format!(
        "{what} has version {abi} of the plugin interface ({bytes} bytes), and this runtime has version {ABI} ({own} bytes): build \
         and install both from the same sources"
    )))
}

impl ConduitTable {
    /// The conduit behind a table.
    ///
    /// # Safety
    /// 1. The table came from [`export`] of this or another copy of this crate, is imported once, and its
    ///    code stays loaded (owed by the caller).
    ///
    /// # Errors
    /// Another version of the interface.
    pub unsafe fn import(self) -> Result<Box<dyn Conduit>, Error> {
        check("the conduit", self.abi, self.bytes, size_of::<ConduitTable>())?;
        // SAFETY: (1); the name is lent for ever, being a static of loaded code, but its copy is ours in any
        // case.
        let name = unsafe { self.name.text() }.leak();
        let (counted, rma) = (Names::default(), OnceLock::new());
        let mut conduit = Imported { table: self, name, own_time: false, rma, counted };
        conduit.own_time = conduit.clock().is_some();
        Ok(Box::new(conduit))
    }
}

struct Imported {
    table: ConduitTable,
    /// Whether it has a clock.
    own_time: bool,
    /// Whether it has one-sided operations: asked for at every poll.
    rma: OnceLock<bool>,
    name: &'static str,
    /// Names of counters.
    counted: Names,
}

// SAFETY: the object is a `Box<dyn Conduit>`, which is Send and Sync.
unsafe impl Send for Imported {}
// SAFETY: as above.
unsafe impl Sync for Imported {}

impl Drop for Imported {
    fn drop(&mut self) {
        // SAFETY: the only import of the table ends it once.
        unsafe { (self.table.end)(self.table.object) }
    }
}

#[deny(clippy::missing_trait_methods)]
// SAFETY: slots, frames and completions are those of the conduit behind the table, which keeps these
// promises.
unsafe impl Conduit for Imported {
    fn name(&self) -> &'static str {
        self.name
    }

    fn limits(&self, to: RankId, nargs: usize) -> Limits {
        let t = &self.table;
        // SAFETY: the table's function and object, here and below.
        Limits::new(unsafe { (t.limits)(t.object, to.0, nargs) })
    }

    fn reserve(
        &self,
        to: RankId,
        channel: Channel,
        len: usize,
        immediate: bool,
    ) -> Result<Option<RawSlot>, Error> {
        let t = &self.table;
        let mut slot = SlotTable { buf: core::ptr::null_mut(), len: 0, cookie: [0; 2] };
        let got = hear(|sayer| {
            let channel = channel as u32;
            // SAFETY: as above; slot and sayer outlive the call.
            unsafe { (t.reserve)(t.object, to.0, channel, len, u32::from(immediate), &mut slot, sayer) }
        })?;
        Ok(if got == 0 { None } else { slot.slot() })
    }

    unsafe fn commit(&self, slot: RawSlot) {
        let t = &self.table;
        // SAFETY: as above; owed by the caller for the slot.
        unsafe { (t.commit)(t.object, &SlotTable::of(&slot)) }
    }

    unsafe fn cancel(&self, slot: RawSlot) {
        let t = &self.table;
        // SAFETY: as above; owed by the caller for the slot.
        unsafe { (t.cancel)(t.object, &SlotTable::of(&slot)) }
    }

    fn send(&self, to: RankId, channel: Channel, frame: &[u8], immediate: bool) -> Result<bool, Error> {
        let t = &self.table;
        let channel = channel as u32;
        // SAFETY: as above; frame and sayer outlive the call.
        hear(|sayer| unsafe {
            (t.send)(t.object, to.0, channel, Bytes::of(frame), u32::from(immediate), sayer)
        })
        .map(|sent| sent != 0)
    }

    fn poll(&self, channel: Channel, budget: usize, deliver: &mut dyn FnMut(Frame)) -> Result<usize, Error> {
        unsafe extern "C" fn pass(cookie: Object, frame: *const FrameTable) {
            // SAFETY: the cookie is the closure below; the frame is lent for this call.
            let (deliver, f) = unsafe { (&mut *cookie.cast::<&mut dyn FnMut(Frame)>(), &*frame) };
            deliver(Frame {
                from: RankId(f.rank),
                channel: super::plugin::channel(f.channel),
                data: f.data,
                len: f.len,
            });
        }
        let t = &self.table;
        let mut deliver: &mut dyn FnMut(Frame) = deliver;
        let cookie = (&raw mut deliver).cast();
        let polled = hear(|sayer| {
            // SAFETY: as above; cookie and sayer outlive the call.
            unsafe { (t.poll)(t.object, channel as u32, budget, pass, cookie, sayer) }
        });
        polled.map(|n| n as usize)
    }

    fn polls_both(&self) -> bool {
        self.table.polls_both != 0
    }

    fn sends_before_attach(&self) -> bool {
        self.table.sends_before_attach != 0
    }

    fn attach(&self, segment: &SegmentDesc) -> Result<(), Error> {
        let t = &self.table;
        let record = SegmentRecord { base: segment.base, len: segment.len };
        // SAFETY: as above.
        hear(|sayer| unsafe { (t.attach)(t.object, &record, sayer) }).map(|_| ())
    }

    fn rma(&self) -> Option<&dyn Rma> {
        let t = &self.table;
        // SAFETY: as above.
        self.rma.get_or_init(|| unsafe { (t.has_rma)(t.object) } != 0).then_some(self)
    }

    fn regions(&self) -> Option<&dyn crate::conduit::regions::RegionRma> {
        None
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        let t = &self.table;
        // SAFETY: as above.
        let fd = unsafe { (t.descriptor)(t.object) };
        // SAFETY: the conduit keeps it open as long as it lives.
        (fd >= 0).then(|| unsafe { BorrowedFd::borrow_raw(fd) })
    }

    fn doze(&self, longest: Duration) -> bool {
        let t = &self.table;
        let longest = u64::try_from(longest.as_nanos()).unwrap_or(u64::MAX);
        // SAFETY: as above.
        unsafe { (t.doze)(t.object, longest) != 0 }
    }

    fn survival(&self) -> Option<&dyn Survival> {
        // A plugin makes one conduit.
        None
    }

    fn idle(&self, what: &'static str, meanwhile: Meanwhile) -> bool {
        // Only who has a time of its own has something to do here, and this is called at every step of every
        // wait.
        if !self.own_time {
            return false;
        }
        let t = &self.table;
        // SAFETY: as above.
        unsafe { (t.idle)(t.object, Bytes::of(what.as_bytes()), meanwhile as u32) != 0 }
    }

    fn close(&self) {
        let t = &self.table;
        // SAFETY: as above.
        unsafe { (t.close)(t.object) }
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        type Counted<'a> = (&'a Names, Vec<(&'static str, u64)>);
        unsafe extern "C" fn count(cookie: Object, name: Bytes, value: u64) {
            // SAFETY: the cookie is the pair below; the name is lent for this call.
            let ((names, all), name) = unsafe { (&mut *cookie.cast::<Counted<'_>>(), name.text()) };
            all.push((names.keep(&name), value));
        }
        let t = &self.table;
        let mut counted: Counted<'_> = (&self.counted, Vec::new());
        // SAFETY: as above; the cookie outlives the call.
        unsafe { (t.counters)(t.object, count, (&raw mut counted).cast()) };
        counted.1
    }

    fn left_for(&self, _: RankId) -> Option<Duration> {
        // The monitor knows.
        None
    }

    /// None crosses: no plugin has a NIC with a processor, or memory that it owns.
    fn nic(&self) -> Option<&dyn crate::port::NicPort> {
        None
    }

    fn segment_memory(&self, _: usize) -> Result<Option<NonNull<u8>>, Error> {
        Ok(None)
    }

    fn advise(&self, _: u64, _: u64, _: crate::conduit::Advice) {}

    fn clock(&self) -> Option<Duration> {
        let t = &self.table;
        let mut now = 0;
        // SAFETY: as above.
        let has_one = unsafe { (t.clock)(t.object, &mut now) } != 0;
        has_one.then(|| Duration::from_nanos(now))
    }
}

#[deny(clippy::missing_trait_methods)]
// SAFETY: completions are those of the conduit behind the table.
unsafe impl Rma for Imported {
    unsafe fn put(&self, to: RemoteAddr, src: *const u8, len: usize, token: u64) -> bool {
        let t = &self.table;
        // SAFETY: as above; owed by the caller for the memory.
        unsafe { (t.put)(t.object, to.rank.0, to.offset, src, len, token) != 0 }
    }

    unsafe fn get(&self, dst: *mut u8, from: RemoteAddr, len: usize, token: u64) -> bool {
        let t = &self.table;
        // SAFETY: as above; owed by the caller for the memory.
        unsafe { (t.get)(t.object, dst, from.rank.0, from.offset, len, token) != 0 }
    }

    unsafe fn atomic(
        &self,
        at: RemoteAddr,
        what: Operation,
        operands: [u64; 2],
        old: *mut u64,
        token: u64,
    ) -> Option<bool> {
        let t = &self.table;
        let RemoteAddr { rank, offset } = at;
        let record = AtomicRecord { rank: rank.0, what: what.encode(), offset, operands };
        // SAFETY: as above; owed by the caller for the memory.
        match unsafe { (t.atomic)(t.object, &record, old, token) } {
            -1 => None,
            started => Some(started != 0),
        }
    }

    fn copies_source(&self, len: usize) -> bool {
        // SAFETY: as above.
        unsafe { (self.table.copies_source)(self.table.object, len) != 0 }
    }

    fn max_transfer(&self) -> usize {
        // SAFETY: as above.
        unsafe { (self.table.max_transfer)(self.table.object) }
    }

    fn poll(&self, budget: usize, complete: &mut dyn FnMut(u64, Completion)) -> usize {
        unsafe extern "C" fn pass(cookie: Object, token: u64, how: u32) {
            // SAFETY: the cookie is the closure below.
            let complete = unsafe { &mut *cookie.cast::<&mut dyn FnMut(u64, Completion)>() };
            let how = COMPLETIONS.get(how as usize).copied();
            complete(token, how.expect("a completion that both sides know"));
        }
        let mut complete: &mut dyn FnMut(u64, Completion) = complete;
        let cookie = (&raw mut complete).cast();
        // SAFETY: as above; the cookie outlives the call.
        unsafe { (self.table.completions)(self.table.object, budget, pass, cookie) }
    }
}

/// Makes a shared object a plugin: `export_conduit!(open)`, with
/// `fn open(&OpenContext<'_>) -> Result<Option<Box<dyn Conduit>>, Error>`.
#[macro_export]
macro_rules! export_conduit {
    ($open:path) => {
        /// The plugin's one symbol; see `gasnet::plugin`.
        ///
        /// # Safety
        /// As `gasnet::plugin::enter`.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn gasnet_conduit_v1(
            cx: *const $crate::plugin::OpenTable,
            out: *mut $crate::plugin::ConduitTable,
            sayer: *const $crate::plugin::Sayer,
        ) -> i32 {
            // SAFETY: owed by the caller.
            unsafe { $crate::plugin::enter(cx, out, sayer, $open) }
        }
    };
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn other_versions_are_refused() {
        let size = size_of::<ConduitTable>();
        assert!(check("x", ABI, size as u32, size).is_ok());
        for (abi, bytes) in [(ABI + 1, size), (ABI, size - 8), (0, 0)] {
            let text = check("the conduit", abi, bytes as u32, size).unwrap_err().to_string();
            assert!(text.starts_with("the conduit has version") && text.contains("same sources"), "{text}");
        }
    }
}
