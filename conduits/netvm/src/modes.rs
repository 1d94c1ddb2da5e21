//! Registration modes: how a page comes to be resident when the NIC needs it.
//!
//! In *shadow-lock* nothing is done beforehand: the NIC locks resident pages and bounces the rest. In the
//! other modes a [`firehose::Strategy`] decides beforehand. This module surrounds it: it carries out the
//! strategy's actions (pins, messages, transfers) and reports their results. All of it is host software,
//! which the rank runs when it polls; the messages use the control lane of the [mail](crate::mail).
//!
//! **A pin** consists of two things: the pager holds the page in memory, with `mlock`, and the NIC has a
//! *lease* of its frame. The answer to the rank that asked carries the leases (frame and break count), so
//! that its transfers need no lock of their own. A transfer without a lease, or with a broken one, takes the
//! ordinary path; so no mode touches memory that is not locked.
//!
//! In *firehose-over-locks* a pin is a lease alone: the page is held only until the NIC has its lease, which
//! keeps it from then on.
//!
//! **Recall.** The pager takes such leases back when other pages wait for a frame. The strategy learns of it
//! as of any changed mapping: it ends the registration, and has its firehoses dropped. A rank that wants the
//! page again asks again.
//!
//! **Addresses** that strategies see are offsets in the owner's segment. Memory of the program outside of it
//! is copied through slots that are always resident; its addresses have the bit [`PRIVATE_ADDRESS_BIT`] and
//! name the operation.

use crate::budget::Budget;
use crate::engine::Card;
use crate::mail::Outbox;
use crate::side::{Side, Start};
use crate::sys;
use firehose::{
    Action, Change, Direction, LocalMemory, Message, OpId, Outcome, PinError, Request, Run, Stats, Strategy,
    StrategyKind, Transfer, Usage,
};
use gasnet_sys::mutex::lock;
use gasnet_wire::Error;
use gasnet_wire::conduit::Completion;
use netvm_fw::shadow::Lease;
use netvm_fw::wire::MAX_INLINE_BYTES;
use netvm_fw::{Key, Ppn};
use rustc_hash::FxHashMap;
use slab::Slab;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Bytes of a bucket: a page, as published.
pub(crate) const BUCKET_BYTES: u64 = 4096;
/// Marks an address outside of the segment. The operation's number begins at bit 32, and the rest is the
/// offset in its memory.
const PRIVATE_ADDRESS_BIT: u64 = 1 << 48;
/// Bytes of a fragment in the bounce mode.
const BOUNCE_FRAGMENT_BYTES: u64 = 4096;

/// Most operations under way; a further one would block.
const MAX_OPS_UNDER_WAY: usize = 256;

/// The kernel is asked for its count of pinned pages after this many pins.
const PINS_BETWEEN_KERNEL_COUNTS: u64 = 256;

/// How a page is kept in place during a DMA.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Registration {
    /// The NIC locks each page for each transfer.
    ShadowLock,
    /// A strategy pins pages with the operating system.
    Pinned(StrategyKind),
    /// Firehose with leases as pins.
    FirehoseOverLocks,
}

impl Registration {
    /// All modes.
    pub const ALL: [Registration; 8] = [
        Registration::ShadowLock,
        Registration::Pinned(StrategyKind::Firehose),
        Registration::FirehoseOverLocks,
        Registration::Pinned(StrategyKind::PinEverything),
        Registration::Pinned(StrategyKind::RendezvousUnpin),
        Registration::Pinned(StrategyKind::RendezvousNoUnpin),
        Registration::Pinned(StrategyKind::Bounce),
        Registration::Pinned(StrategyKind::PinDownCache),
    ];

    /// Its name in `GASNET_NETVM_REGISTRATION`.
    pub fn name(self) -> &'static str {
        match self {
            Registration::ShadowLock => "shadow-lock",
            Registration::Pinned(kind) => kind.name(),
            Registration::FirehoseOverLocks => "firehose-over-locks",
        }
    }

    /// The mode with that name; [`gasnet_wire::Config`] knows the same names.
    pub fn parse(name: &str) -> Option<Registration> {
        Registration::ALL.into_iter().find(|mode| mode.name() == name)
    }

    /// The strategy of the mode, if it has one.
    pub(crate) fn strategy(self) -> Option<StrategyKind> {
        match self {
            Registration::ShadowLock => None,
            Registration::Pinned(kind) => Some(kind),
            Registration::FirehoseOverLocks => Some(StrategyKind::Firehose),
        }
    }

    /// Whether the mode pins with the operating system.
    pub(crate) fn pins(self) -> bool {
        matches!(self, Registration::Pinned(kind) if kind != StrategyKind::Bounce)
    }
}

/// Keeps pages in memory.
pub(crate) trait Holder: Send + Sync {
    /// Brings pages in and keeps them; with `pin` it also uses `mlock`. `done` may be called at once or from
    /// another thread, which it must not block. [`flush`](Self::flush) must follow.
    fn hold(&self, pages: Range<u64>, pin: bool, done: Held);
    /// All pages that are wanted now have been asked for.
    fn flush(&self);
    /// Releases the pages.
    fn release(&self, pages: Range<u64>, pin: bool);
    /// Pages whose leases were taken back since the last call.
    fn recalled(&self) -> Vec<u64>;
}

/// The function that [`Holder::hold`] calls when the pages are held.
pub(crate) type Held = Box<dyn FnOnce(Result<(), PinError>) + Send>;

/// Pins that have ended.
#[derive(Default)]
pub(crate) struct Ended {
    pins: Mutex<VecDeque<(Run, Result<(), PinError>)>>,
    some: AtomicBool,
}

impl Ended {
    fn push(&self, run: Run, result: Result<(), PinError>) {
        lock(&self.pins).push_back((run, result));
        // ORDER: Release; pairs with Acquire in `take`.
        self.some.store(true, Ordering::Release);
    }

    fn take(&self) -> VecDeque<(Run, Result<(), PinError>)> {
        // ORDER: Acquire; pairs with Release in `push`. Taken before they are, so none is left behind.
        if self.some.load(Ordering::Relaxed) && self.some.swap(false, Ordering::Acquire) {
            return core::mem::take(&mut *lock(&self.pins));
        }
        VecDeque::new()
    }
}

/// An operation of the core under way.
struct ModeOperation {
    token: u64,
    put: bool,
    /// Memory of the program here, and offset in the peer's segment.
    local: usize,
    remote: u64,
    len: usize,
}

/// A transfer under way, in parts of a page.
struct Moving {
    op: OpId,
    parts: u32,
}

/// A strategy with its surroundings.
pub(crate) struct Driver {
    strategy: Box<dyn Strategy>,
    kind: StrategyKind,
    pin: bool,
    /// Whether pages are kept by leases alone.
    leases_only: bool,
    segment: u64,
    key: Key,
    holder: Arc<dyn Holder>,
    ended: Arc<Ended>,
    card: Arc<Card>,
    ops: Slab<ModeOperation>,
    moving: Slab<Moving>,
    /// Parts that found no room.
    parts: VecDeque<Start>,
    /// Control messages that wait to be sent.
    pub(crate) outgoing: Outbox,
    /// Leases of own pages.
    leases: FxHashMap<u64, Lease>,
    /// Leases of peers' pages, as received from them.
    known: FxHashMap<(u32, u64), Lease>,
    /// Buckets that a peer, or this rank, asked for, by the id of the question.
    asked: FxHashMap<(u32, u64, bool), Vec<Run>>,
    pub(crate) done: VecDeque<(u64, Completion)>,
    /// Pins that have ended, and the highest number of pinned pages that the kernel reported.
    pins: u64,
    pub(crate) kernel_peak: u64,
    failed: Option<String>,
    /// Whether pages were asked for since the last flush.
    holds: bool,
    /// Buffers, empty between calls.
    todo: VecDeque<Action>,
    more: Vec<Action>,
    completed: VecDeque<(u64, Completion)>,
}

/// The configuration of a strategy.
pub(crate) struct Setup {
    pub(crate) mode: Registration,
    pub(crate) me: u32,
    pub(crate) size: u32,
    /// Bytes of the own segment, and its key.
    pub(crate) segment: u64,
    pub(crate) key: Key,
    /// Bytes that may be pinned at the same time.
    pub(crate) room: u64,
}

impl Driver {
    pub(crate) fn new(
        setup: &Setup,
        holder: Arc<dyn Holder>,
        card: Arc<Card>,
    ) -> Result<Option<Driver>, Error> {
        let Some(kind) = setup.mode.strategy() else { return Ok(None) };
        let peers = u64::from(setup.size.max(2) - 1);
        // At least one firehose for each peer, and as much for the rank itself.
        let all = kind == StrategyKind::PinEverything;
        let least = if all { setup.segment } else { 2 * peers * BUCKET_BYTES };
        // A segment that is smaller than the room can be pinned as a whole.
        let room = if setup.room >= setup.segment { setup.room.max(least) } else { setup.room };
        if room < least {
            return Err(Error::job(format!(
                "GASNET_NETVM_REGISTRATION={}: this needs {least} bytes of pinned memory, and {room} may be pinned: \
                 set GASNET_NETVM_MEMORY or the limit on locked memory (ulimit -l) higher, or choose another mode",
                setup.mode.name(),
            )));
        }
        let Budget { m, victim, bucket, adaptive } = Budget::live(room, setup.segment, setup.size);
        let config = firehose::Config {
            nodes: setup.size,
            me: setup.me,
            bucket_bytes: bucket,
            m_bytes: m,
            victim_bytes: victim,
            adaptive,
            segment: Some((0, setup.segment)),
            bounce_bytes: BOUNCE_FRAGMENT_BYTES,
            ..firehose::Config::default()
        };
        let strategy = kind
            .build(config)
            .map_err(|e| Error::job(format!("GASNET_NETVM_REGISTRATION={}: {e}", setup.mode.name())))?;
        Ok(Some(Driver {
            strategy,
            kind,
            pin: setup.mode.pins(),
            leases_only: setup.mode == Registration::FirehoseOverLocks,
            segment: setup.segment,
            key: setup.key,
            holder,
            ended: Arc::default(),
            card,
            ops: Slab::new(),
            moving: Slab::new(),
            parts: VecDeque::new(),
            outgoing: Outbox::default(),
            leases: FxHashMap::default(),
            known: FxHashMap::default(),
            asked: FxHashMap::default(),
            done: VecDeque::new(),
            pins: 0,
            kernel_peak: 0,
            failed: None,
            holds: false,
            todo: VecDeque::new(),
            more: Vec::new(),
            completed: VecDeque::new(),
        }))
    }

    /// Begins: pin-everything pins, and waits for it.
    pub(crate) fn open(&mut self, side: &Mutex<Side>) -> Result<(), Error> {
        self.call(side, &[], |strategy, out| strategy.open(out));
        self.flush();
        if self.kind == StrategyKind::PinEverything {
            while self.strategy.stats().pins < self.segment / BUCKET_BYTES && self.failed.is_none() {
                if self.progress(side) == 0 {
                    std::thread::sleep(Duration::from_micros(50));
                }
            }
        }
        self.failed.clone().map_or(Ok(()), |why| Err(Error::job(format!("netvm conduit: {why}"))))
    }

    /// Wakes the paging thread for the pages asked for.
    pub(crate) fn flush(&mut self) {
        if core::mem::take(&mut self.holds) {
            self.holder.flush();
        }
    }

    /// Whether another operation may begin.
    pub(crate) fn has_room(&self) -> bool {
        self.ops.len() < MAX_OPS_UNDER_WAY
    }

    /// The error that stopped the strategy.
    pub(crate) fn failed(&self) -> Option<&str> {
        self.failed.as_deref()
    }

    pub(crate) fn stats(&self) -> (Stats, Usage) {
        (self.strategy.stats(), self.strategy.usage())
    }

    /// Whether nothing is under way.
    pub(crate) fn is_quiet(&self) -> bool {
        self.ops.is_empty() && self.outgoing.is_empty() && self.parts.is_empty()
    }

    /// Begins an operation of the core.
    pub(crate) fn start(&mut self, side: &Mutex<Side>, start: &Start) {
        let region = lock(side).region;
        let op = ModeOperation {
            token: start.token,
            put: start.put,
            local: start.local,
            remote: start.remote,
            len: start.len,
        };
        let tag = self.ops.insert(op);
        let inline = start.put && start.len <= MAX_INLINE_BYTES;
        let inside = region.offset_of(start.local as *const u8, start.len).filter(|_| !inline);
        let local = match inside.filter(|at| at + start.len as u64 <= self.segment) {
            Some(at) => LocalMemory::At(at),
            None => LocalMemory::Registered(PRIVATE_ADDRESS_BIT | (tag as u64) << 32),
        };
        let request = Request {
            tag: tag as u64,
            peer: start.peer,
            direction: if start.put { Direction::Put } else { Direction::Get },
            remote: start.remote,
            local,
            len: start.len as u64,
        };
        let mut refused = None;
        self.call(side, &[], |strategy, out| refused = strategy.start(request, out).err());
        if let Some(why) = refused {
            self.failed = Some(format!("a transfer of {} bytes cannot begin: {why}", start.len));
        }
    }

    /// Continues with what has ended or has room now; returns how much was done.
    pub(crate) fn progress(&mut self, side: &Mutex<Side>) -> usize {
        let mut done = 0;
        for page in self.holder.recalled() {
            self.recalled(side, page);
            done += 1;
        }
        while let Some(start) = self.parts.pop_front() {
            if !begin(side, &self.card, &start) {
                self.parts.push_front(start);
                break;
            }
            done += 1;
        }
        for (run, result) in self.ended.take() {
            self.pinned(side, run, result);
            done += 1;
        }
        loop {
            // Actions on these may complete more: look once more.
            let mut completed = core::mem::take(&mut self.completed);
            lock(side).take_completed(&mut completed);
            if completed.is_empty() {
                self.completed = completed;
                break;
            }
            done += completed.len();
            completed.drain(..).for_each(|(token, what)| self.transferred(side, token, what));
            self.completed = completed;
        }
        done
    }

    /// The NIC has completed a part of a transfer.
    fn transferred(&mut self, side: &Mutex<Side>, token: u64, what: Completion) {
        let over = what == Completion::Remote && {
            let moving = &mut self.moving[token as usize];
            moving.parts -= 1;
            moving.parts == 0
        };
        if over {
            let op = self.moving.remove(token as usize).op;
            self.call(side, &[], |strategy, out| strategy.transferred(op, Outcome::Done, out));
        }
    }

    fn pinned(&mut self, side: &Mutex<Side>, run: Run, result: Result<(), PinError>) {
        self.pins += 1;
        if self.pins <= 4 || self.pins.is_multiple_of(PINS_BETWEEN_KERNEL_COUNTS) {
            self.kernel_peak = self.kernel_peak.max(sys::pinned());
        }
        if result.is_ok() {
            for page in pages(run) {
                if let Some(lease) = self.card.lease(page, self.key) {
                    self.leases.insert(page, lease);
                }
            }
        }
        if self.leases_only && result.is_ok() {
            self.holder.release(pages(run), self.pin);
        }
        self.call(side, &[], |strategy, out| strategy.pinned(run, result, out));
    }

    /// The leases of a page were taken back.
    fn recalled(&mut self, side: &Mutex<Side>, page: u64) {
        // The lease may be that of a later pin, which then ends with the others.
        if let Some(lease) = self.leases.remove(&page) {
            self.card.end_lease(lease);
        }
        let change = Change::Removed { addr: page * BUCKET_BYTES, len: BUCKET_BYTES };
        self.call(side, &[], |strategy, out| strategy.changed(change, out));
    }

    /// A control message came.
    pub(crate) fn receive(&mut self, side: &Mutex<Side>, from: u32, bytes: &[u8]) {
        let Some((message, leases, data)) = open(bytes) else {
            self.failed = Some(format!("a message of rank {from} about its memory makes no sense"));
            return;
        };
        match &message {
            Message::Move { id, acquire, .. } => {
                self.asked.insert((from, *id, true), acquire.clone());
            }
            Message::Ask { id, run, .. } => {
                self.asked.insert((from, *id, true), vec![*run]);
            }
            Message::Moved { id, .. } | Message::Answer { id, .. } => {
                let runs = self.asked.remove(&(from, *id, false)).unwrap_or_default();
                for (page, lease) in runs.into_iter().flat_map(pages).zip(leases) {
                    match lease {
                        Some(lease) => self.known.insert((from, page), lease),
                        None => self.known.remove(&(from, page)),
                    };
                }
            }
            Message::Invalidate { held } => {
                held.iter().flat_map(|h| pages(h.run)).for_each(|page| {
                    self.known.remove(&(from, page));
                });
            }
            _ => {}
        }
        self.call(side, data, |strategy, out| strategy.receive(from, message, out));
    }

    /// Calls the strategy and carries out its actions. `bytes` came with the message that is being received.
    fn call(
        &mut self,
        side: &Mutex<Side>,
        bytes: &[u8],
        f: impl FnOnce(&mut dyn Strategy, &mut Vec<Action>),
    ) {
        // In order: the consequences of one action come after the actions that are already listed.
        let (mut todo, mut more) = (core::mem::take(&mut self.todo), core::mem::take(&mut self.more));
        f(&mut *self.strategy, &mut more);
        todo.extend(more.drain(..));
        while let Some(action) = todo.pop_front() {
            self.act(side, bytes, action, &mut more);
            todo.extend(more.drain(..));
        }
        (self.todo, self.more) = (todo, more);
    }

    fn act(&mut self, side: &Mutex<Side>, bytes: &[u8], action: Action, more: &mut Vec<Action>) {
        match action {
            Action::Send { to, message } => self.send(to, &message, &[]),
            Action::SendData { to, message, addr, len } => {
                let mut data = vec![0; len as usize];
                self.copy(side, addr, &mut data, |region, at, data| region.read(at, data), load);
                self.send(to, &message, &data);
            }
            Action::Deliver { addr, len, .. } => {
                let Some(data) = bytes.get(..len as usize) else {
                    self.failed = Some("a message came without its bytes".to_string());
                    return;
                };
                let mut data = data.to_vec();
                self.copy(side, addr, &mut data, |region, at, data| region.write(at, data), store);
            }
            Action::Pin(run) => {
                let (ended, card) = (self.ended.clone(), self.card.clone());
                let done = move |result| {
                    ended.push(run, result);
                    card.tell();
                };
                self.holder.hold(pages(run), self.pin, Box::new(done));
                self.holds = true;
            }
            Action::Unpin(run) => {
                for page in pages(run) {
                    if let Some(lease) = self.leases.remove(&page) {
                        self.card.end_lease(lease);
                    }
                }
                if !self.leases_only {
                    self.holder.release(pages(run), self.pin);
                }
                self.strategy.unpinned(run, more);
            }
            Action::Transfer(transfer) => self.transfer(side, &transfer),
            Action::Held { .. } => {}
            Action::Done { tag, .. } => {
                let op = self.ops.remove(tag as usize);
                if op.put {
                    self.done.push_back((op.token, Completion::Local));
                }
                self.done.push_back((op.token, Completion::Remote));
            }
            Action::Failed { failure, .. } => {
                self.failed = Some(format!("{failure} (GASNET_NETVM_REGISTRATION={})", self.kind.name()));
            }
        }
    }

    /// Reads or writes local memory for a message.
    fn copy(
        &mut self,
        side: &Mutex<Side>,
        addr: u64,
        data: &mut [u8],
        inside: impl FnOnce(crate::region::ExportedMemory, u64, &mut [u8]),
        outside: impl FnOnce(usize, &mut [u8]),
    ) {
        if addr < PRIVATE_ADDRESS_BIT {
            // Its pages may be out of memory: hold no lock that the pager needs.
            let region = lock(side).region;
            inside(region, addr, data);
        } else {
            let op = &self.ops[((addr & !PRIVATE_ADDRESS_BIT) >> 32) as usize];
            let at = addr as u32 as usize;
            assert!(at + data.len() <= op.len, "a strategy stays in its operation");
            outside(op.local + at, data);
        }
    }

    fn send(&mut self, to: u32, message: &Message, data: &[u8]) {
        let mut leases = Vec::new();
        match message {
            Message::Move { id, acquire, release } => {
                self.asked.insert((to, *id, false), acquire.clone());
                release.iter().flat_map(|h| pages(h.run)).for_each(|page| {
                    self.known.remove(&(to, page));
                });
            }
            Message::Ask { id, run, .. } => {
                self.asked.insert((to, *id, false), vec![*run]);
            }
            Message::Moved { id, .. } | Message::Answer { id, .. } => {
                let runs = self.asked.remove(&(to, *id, true)).unwrap_or_default();
                leases = runs.into_iter().flat_map(pages).map(|p| self.leases.get(&p).copied()).collect();
            }
            Message::Finish { run, .. } => pages(*run).for_each(|page| {
                self.known.remove(&(to, page));
            }),
            _ => {}
        }
        self.outgoing.push(to, seal(message, &leases, data));
    }

    fn transfer(&mut self, side: &Mutex<Side>, t: &Transfer) {
        let op = &self.ops[t.tag as usize];
        let (put, local) = (op.put, op.local + (t.remote - op.remote) as usize);
        let cuts = t.remote % BUCKET_BYTES + t.len;
        let number = self.moving.insert(Moving { op: t.op, parts: cuts.div_ceil(BUCKET_BYTES) as u32 });
        let mut at = 0;
        while at < t.len {
            let remote = t.remote + at;
            let len = (BUCKET_BYTES - remote % BUCKET_BYTES).min(t.len - at);
            let start = Start {
                region: None,
                peer: t.peer,
                remote,
                local: local + at as usize,
                len: len as usize,
                put,
                token: number as u64,
                lease: self.known.get(&(t.peer, remote / BUCKET_BYTES)).copied(),
            };
            at += len;
            if !self.parts.is_empty() || !begin(side, &self.card, &start) {
                self.parts.push_back(start);
            }
        }
    }
}

/// Gives a part to the NIC. Returns false if there is no room.
#[expect(unsafe_code, reason = "memory of the core's operations")]
fn begin(side: &Mutex<Side>, card: &Card, start: &Start) -> bool {
    // SAFETY: the memory of an operation of the core, which is not complete before all its parts are.
    unsafe { lock(side).start(&card.desks, start) }
}

#[expect(unsafe_code, reason = "memory of the core's operations")]
fn load(at: usize, into: &mut [u8]) {
    // SAFETY: the source of a put that is not complete (checked: inside it).
    unsafe { gasnet_wire::bytes::load(into.as_mut_ptr(), at as *const u8, into.len()) }
}

#[expect(unsafe_code, reason = "memory of the core's operations")]
fn store(at: usize, from: &mut [u8]) {
    // SAFETY: the destination of a get that is not complete (checked: inside it).
    unsafe { gasnet_wire::bytes::store(at as *mut u8, from.as_ptr(), from.len()) }
}

/// Pages of buckets.
fn pages(run: Run) -> Range<u64> {
    run.first..run.first + run.count
}

/// Encodes a control message: its length, the message, the number of leases, the leases, and data.
fn seal(message: &Message, leases: &[Option<Lease>], data: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; 8];
    message.encode(&mut bytes);
    let len = bytes.len() as u32 - 8;
    bytes[..4].copy_from_slice(&len.to_le_bytes());
    bytes[4..8].copy_from_slice(&(leases.len() as u32).to_le_bytes());
    for lease in leases {
        let (ppn, breaks) = lease.map_or((0, 0), |lease| (lease.ppn.get(), lease.breaks));
        bytes.extend(ppn.to_le_bytes());
        bytes.extend(breaks.to_le_bytes());
    }
    bytes.extend(data);
    bytes
}

/// The contents of a control message.
type Opened<'a> = (Message, Vec<Option<Lease>>, &'a [u8]);

fn open(bytes: &[u8]) -> Option<Opened<'_>> {
    let word = |at: &[u8]| at.first_chunk().map(|b| u32::from_le_bytes(*b));
    let (len, count) = (word(bytes)? as usize, word(bytes.get(4..)?)? as usize);
    let rest = bytes.get(8 + len..)?;
    let message = Message::decode(&bytes[8..8 + len]).ok()?;
    let (leases, data) = rest.split_at_checked(count.checked_mul(8)?)?;
    let lease = |l: &[u8]| Some(Lease { ppn: Ppn::new(word(l)?)?, breaks: word(&l[4..])? });
    Some((message, leases.chunks_exact(8).map(lease).collect(), data))
}
