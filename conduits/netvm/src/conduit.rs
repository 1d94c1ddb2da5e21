//! The conduit: it passes the requests of the core to the library and the mail.
#![expect(unsafe_code, reason = "a conduit promises the core that its slots and frames are memory")]

use crate::backing::{Backing, SegmentPlan};
use crate::desk::Desks;
use crate::early::Early;
use crate::engine::{Card, HostHalf, PORT, shift};
use crate::exports::{ExportedRegions, Watched};
use crate::far::Far;
use crate::lanes::{self, CONTROL_LANE, MAIL_BYTES, MAX_FRAME_BYTES};
use crate::lending::LendingPlan;
use crate::mail::{Claim, Inbox, Mail};
use crate::modes::{Driver, Registration, Setup};
use crate::pager::store::peers::Lent;
use crate::region::ExportedMemory;
use crate::settings::Settings;
use crate::side::{MAIL_OFFSET, SLOT_BYTES, Side, Start};
use crate::sys;
use core::ptr::NonNull;
use firehose::StrategyKind;
use gasnet_sys::mutex::lock;
use gasnet_wire::conduit::regions::{RegionPlace, RegionRma, ServedRegions};
use gasnet_wire::conduit::{
    Advice, Channel, Completion, Conduit, Frame, Limits, OpenContext, RawSlot, RemoteAddr, Rma, SegmentDesc,
};
use gasnet_wire::{Error, FrameGrid, RankId};
use netvm_fw::library::Library;
use netvm_fw::nic::{Nic, NicConfig};
use netvm_fw::region::{MAX_REGION_BYTES, RegionName};
use netvm_fw::{Node, PAGE};
use std::os::fd::BorrowedFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Bytes that a ring of the wire is sized for: a few of the largest packets.
const WIRE_RING_BYTES: usize = 32 << 10;
/// Control messages taken in one go.
const MAX_CONTROL_MESSAGES_PER_POLL: usize = 16;
/// Longest time that a leaving rank waits for its NIC.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);
/// Longest time that a starting rank waits for the hellos of ranks of other hosts.
const HELLO_TIMEOUT: Duration = Duration::from_secs(60);

/// Of this many empty polls for replies alone, one advances everything else too.
const REPLY_POLLS_PER_FULL_POLL: u32 = 4;

/// Memory of at most this many bytes may be leased as a whole.
const FULLY_LEASABLE_BYTES: u64 = 1 << 20;

/// The function that opens the network between hosts.
pub type Network = fn(&OpenContext<'_>) -> Result<Option<Box<dyn Conduit>>, Error>;

/// The network to ranks of other hosts, if there are any.
fn far(cx: &OpenContext<'_>, network: Network, news: BorrowedFd<'_>) -> Result<Option<Far>, Error> {
    let all = Settings::read()?.wire_network;
    let is_far: Vec<bool> = (0..cx.size).map(|r| r != cx.rank.0 && (all || !cx.host.contains(&r))).collect();
    if !all && cx.host.len() == cx.size as usize {
        return Ok(None);
    }
    match network(cx)? {
        Some(conduit) => Far::new(conduit, is_far, news).map(Some),
        None => Ok(None),
    }
}

/// Opens the conduit. `network` connects NICs of several hosts; it must not declare any ranks neighbours.
///
/// # Errors
/// An invalid setting, or a resource that the system refuses.
pub fn open(cx: &OpenContext<'_>, network: Network) -> Result<Option<Box<dyn Conduit>>, Error> {
    if cx.neighbours.len() > 1 {
        return Err(Error::job(
            "the netvm conduit owns the memory of segments: it needs GASNET_NEIGHBORHOOD=off",
        ));
    }
    let settings = Settings::read()?;
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    // Each rank has a program's threads and a NIC's.
    let crowded = 2 * cx.size as usize > processors;
    let shift = shift(cx.size, processors);
    let desks = Desks::map(cx.shm, cx.shm_offset, cx.size, cx.rank.0, shift)?;
    let behind = OpenContext { shm_offset: cx.shm_offset + Desks::bytes(cx.size), ..*cx };
    // SAFETY: that memory belongs to this conduit, which each rank opens once, at its start.
    let wire = unsafe { FrameGrid::open(&behind, WIRE_RING_BYTES) }?;
    let behind = OpenContext { shm_offset: FrameGrid::end(&behind, WIRE_RING_BYTES), ..behind };
    // SAFETY: as for the wire, behind it.
    let early = unsafe { Early::open(&behind) }?;
    let far = |news: BorrowedFd<'_>| far(cx, network, news);
    let card = Card::new(cx.rank.0, desks, wire, cx.size, crowded, cx.config.progress_thread, far)?;
    Ok(Some(Box::new(Live {
        me: cx.rank.0,
        size: cx.size,
        mode: settings.registration,
        memory: settings.memory,
        folder: settings.backing,
        // A rank alone has no peers.
        lending: if cx.size > 1 { settings.lending } else { LendingPlan::default() },
        card: Arc::new(card),
        mail: Mail::new(),
        early,
        attached: OnceLock::new(),
        threads: Mutex::default(),
        taken: AtomicU64::new(0),
        replies: AtomicU32::new(0),
        failed: AtomicBool::new(false),
        regions: OnceLock::new(),
        watched: Mutex::new(None),
    })))
}

/// The parts that exist once the rank has its segment.
struct Attached {
    side: Mutex<Side>,
    driver: Option<Mutex<Driver>>,
    region: ExportedMemory,
    segment: u64,
    backing: Arc<Backing>,
    /// Bytes of the segment that may be in memory.
    allowed: u64,
}

/// One rank's end of the conduit.
pub(crate) struct Live {
    me: u32,
    pub(crate) size: u32,
    mode: Registration,
    memory: Option<u64>,
    folder: Option<PathBuf>,
    lending: LendingPlan,
    pub(crate) card: Arc<Card>,
    mail: Mail,
    /// Frames before attach, if this job has them.
    early: Option<Early>,
    attached: OnceLock<Attached>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// Active messages passed to the core.
    taken: AtomicU64,
    /// Polls for replies that found no work for the NIC.
    replies: AtomicU32,
    /// Whether the registration strategy has failed.
    failed: AtomicBool,
    /// The regions of the rank, once it has its segment.
    regions: OnceLock<Arc<dyn ServedRegions>>,
    /// Memory that the program may unmap while it is exported: from the first such region on. `None` inside:
    /// the system cannot watch it.
    watched: Mutex<Option<Option<Watched>>>,
}

impl Live {
    fn attached(&self) -> Option<&Attached> {
        self.attached.get()
    }

    /// Bytes of a segment that may be in memory.
    fn allowed(&self, segment: u64) -> u64 {
        let page = u64::from(PAGE);
        let usual = || (gasnet_sys::limits::physical_memory() / u64::from(self.size) / 4).max(1 << 26);
        self.memory.unwrap_or_else(usual).min(segment) / page * page
    }

    pub(crate) fn side<R>(&self, f: impl FnOnce(&mut Side) -> R) -> Option<R> {
        self.attached().map(|a| f(&mut lock(&a.side)))
    }

    fn driver<R>(&self, f: impl FnOnce(&mut Driver, &Attached) -> R) -> Option<R> {
        let at = self.attached()?;
        at.driver.as_ref().map(|driver| f(&mut lock(driver), at))
    }

    fn check_wire(&self) -> Result<(), Error> {
        self.card.broken().map_or(Ok(()), |why| Err(Error::Conduit(why.to_string())))
    }

    /// Advances the NIC and everything that waits for it; returns how much was done.
    fn advance(&self) -> usize {
        self.card.attend();
        self.go_on()
    }

    fn go_on(&self) -> usize {
        let mut done = self.card.work() + self.side(Side::progress).unwrap_or(0);
        if let Some(at) = self.attached()
            && let Some(driver) = &at.driver
            && let Ok(mut driver) = driver.try_lock()
        {
            done += self.drive(&mut driver, at);
        }
        done
    }

    /// Takes back the memory that was lent, while borrowers move their pages.
    fn take_back(&self) {
        let Some(at) = self.attached() else { return };
        let (mut begun, mut lent) = (Instant::now(), None);
        while let Some(missing) = at.backing.leave() {
            if lent != Some(missing) {
                (begun, lent) = (Instant::now(), Some(missing));
            } else if begun.elapsed() > CLOSE_TIMEOUT {
                at.backing.give_up();
                return;
            }
            if self.advance() == 0 {
                std::thread::yield_now();
            }
        }
    }

    /// Advances the registration strategy.
    fn drive(&self, driver: &mut Driver, at: &Attached) -> usize {
        let mut done = driver.progress(&at.side);
        let mut came = Vec::new();
        self.take(CONTROL_LANE, MAX_CONTROL_MESSAGES_PER_POLL, &mut |from, data, len| {
            // SAFETY: a frame's bytes are valid during its delivery.
            came.push((from, unsafe { core::slice::from_raw_parts(data.as_ptr(), len) }.to_vec()));
        });
        done += came.len();
        for (from, bytes) in came {
            driver.receive(&at.side, from, &bytes);
        }
        done += driver.outgoing.send(|to, bytes| {
            let mut side = lock(&at.side);
            let claim = Claim::new(&self.card.port, &mut side, to, CONTROL_LANE, bytes.len());
            if let Some(claim) = claim {
                claim.fill(&side, bytes);
                claim.send(&mut side, &self.card.desks);
            }
            claim.is_some()
        });
        driver.flush();
        if driver.failed().is_some() {
            self.failed.store(true, Ordering::Relaxed);
        }
        if done > 0 {
            self.card.work();
        }
        done
    }

    /// Delivers the frames of a lane.
    fn take(&self, lane: usize, budget: usize, deliver: &mut dyn FnMut(u32, NonNull<u8>, usize)) -> usize {
        let raised = self.card.raised();
        if self.mail.is_empty(lane, raised) {
            return 0;
        }
        let Some(at) = self.attached() else { return 0 };
        let mut freed = || {
            lock(&at.side).room_freed(lane as u32);
            self.card.work();
        };
        let inbox = Inbox { port: &self.card.port, region: at.region, mail: at.segment + MAIL_OFFSET };
        self.mail.poll(inbox, lane, (budget, raised), deliver, &mut freed)
    }

    fn start(&self, start: &Start) -> bool {
        let driven = self.driver(|driver, at| {
            let room = driver.has_room();
            if room {
                driver.start(&at.side, start);
                self.drive(driver, at);
            }
            room
        });
        if let Some(started) = driven {
            return started;
        }
        self.start_here(start)
    }

    /// Starts a transfer that no strategy of registration has a part in.
    fn start_here(&self, start: &Start) -> bool {
        // SAFETY: owed by the callers of `put` and `get`.
        let started = self.side(|side| unsafe { side.start(&self.card.desks, start) }).unwrap_or(false);
        if started {
            self.card.work();
        }
        started
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.card.stop();
        for thread in self.threads.get_mut().unwrap_or_else(PoisonError::into_inner).drain(..) {
            // A thread that panicked has reported it.
            let _ = thread.join();
        }
        self.card.end();
    }
}

/// The mail is in the memory that comes with the segments.
#[cold]
fn not_attached() -> Error {
    Error::job(
        "netvm conduit: in a job of several hosts ranks exchange messages once their segments are attached: attach one first \
         (Rank::attach, gasnet_attach, gex_Segment_Attach), or use another conduit",
    )
}

// SAFETY: 1. A slot is one of this rank's drafts: 64-byte aligned memory behind its segment that nobody else
// uses until it comes back. 2. A frame's bytes are in a queue of this rank. Its NIC writes over them only
// after they are freed, which is after the delivery; the sender's core has filled them.
unsafe impl Conduit for Live {
    fn name(&self) -> &'static str {
        "netvm"
    }

    fn limits(&self, _to: RankId, _nargs: usize) -> Limits {
        Limits::new(MAX_FRAME_BYTES)
    }

    fn reserve(&self, to: RankId, channel: Channel, len: usize, _: bool) -> Result<Option<RawSlot>, Error> {
        if len > MAX_FRAME_BYTES || to.0 >= self.size {
            return Err(Error::Conduit(format!("a frame of {len} bytes to rank {to}")));
        }
        if let Some(early) = self.early.as_ref().filter(|early| !early.is_over()) {
            return Ok(early.reserve(to, channel, len));
        }
        let Some(at) = self.attached() else { return Err(not_attached()) };
        let mut side = lock(&at.side);
        let claim = Claim::new(&self.card.port, &mut side, to.0, channel as usize, len);
        Ok(claim.map(|claim| RawSlot { buf: claim.buffer(&side), len, cookie: claim.pack() }))
    }

    unsafe fn commit(&self, slot: RawSlot) {
        if let Some(early) = self.early.as_ref().filter(|_| Early::owns(&slot)) {
            // SAFETY: owed by the caller.
            return unsafe { early.commit(slot) };
        }
        let claim = Claim::unpack(slot.cookie, slot.len);
        self.side(|side| claim.send(side, &self.card.desks));
        self.card.work();
    }

    unsafe fn cancel(&self, slot: RawSlot) {
        if let Some(early) = self.early.as_ref().filter(|_| Early::owns(&slot)) {
            // SAFETY: owed by the caller.
            return unsafe { early.cancel(slot) };
        }
        self.side(|side| Claim::unpack(slot.cookie, slot.len).cancel(side));
    }

    fn poll(&self, channel: Channel, budget: usize, deliver: &mut dyn FnMut(Frame)) -> Result<usize, Error> {
        // Most polls are of both channels, and one of them does the work.
        if channel == Channel::Request {
            self.advance();
        } else if self.card.has_work()
            || self.replies.fetch_add(1, Ordering::Relaxed).is_multiple_of(REPLY_POLLS_PER_FULL_POLL)
        {
            self.go_on();
        }
        self.check_wire()?;
        if self.failed.load(Ordering::Relaxed)
            && let Some(why) = self.driver(|driver, _| driver.failed().map(str::to_string)).flatten()
        {
            return Err(Error::Conduit(why));
        }
        let early = self.early.as_ref().map_or(0, |early| early.poll(channel, budget, deliver));
        if early > 0 {
            return Ok(early);
        }
        Ok(self.take(channel as usize, budget, &mut |from, data, len| {
            self.taken.fetch_add(1, Ordering::Relaxed);
            let from = RankId(from);
            deliver(Frame { from, channel, data: data.as_ptr(), len });
        }))
    }

    fn sends_before_attach(&self) -> bool {
        self.early.is_some()
    }

    fn segment_memory(&self, len: usize) -> Result<Option<NonNull<u8>>, Error> {
        let behind = MAIL_OFFSET + MAIL_BYTES;
        let (segment, allowed) = (len as u64, self.allowed(len as u64));
        // This mode pins beyond the bound, and its pins are reported.
        let unbounded = self.mode == Registration::Pinned(StrategyKind::RendezvousNoUnpin);
        let plan = SegmentPlan {
            rank: self.me,
            size: self.size,
            segment,
            behind,
            budget: if unbounded { segment } else { allowed },
            folder: self.folder.clone().unwrap_or_else(crate::settings::temporary),
            chosen: self.folder.is_some(),
            lending: self.lending,
        };
        let (backing, table) = Backing::new(plan, &self.card)?;
        let region = backing.region();
        let backing = Arc::new(backing);
        let export = backing.export();
        let nic = Nic::new(NicConfig::new(Node(self.me), self.size), table);
        let library = Library::new(Node(self.me), PORT, self.card.port.clone(), self.card.bell.clone());
        let side = Side::new(library, self.me, self.size, export, len as u64, region);
        self.card.desks.show(&export, len as u64);
        if let Some(far) = &self.card.far {
            far.greet(&export, len as u64);
        }
        let host = backing.clone() as Arc<dyn HostHalf>;
        let places = lanes::places(&export, segment + MAIL_OFFSET);
        *lock(&self.threads) = self.card.start(nic, &places, self.size, backing.memory(), host)?;
        let limit = if self.mode.pins() { sys::pin_limit() } else { None };
        let setup = Setup {
            mode: self.mode,
            me: self.me,
            size: self.size,
            segment: len as u64,
            key: export.key,
            room: match self.mode {
                // Leases are taken back when a page waits. If memory is small they may take all of it.
                // Otherwise some is left, since a page that is brought in while no frame is free costs a
                // recall.
                Registration::FirehoseOverLocks if backing.budget() <= FULLY_LEASABLE_BYTES => {
                    backing.budget()
                }
                _ => limit.unwrap_or(u64::MAX).min(backing.holdable()),
            },
        };
        let side = Mutex::new(side);
        let mut driver = Driver::new(&setup, backing.clone(), self.card.clone())?;
        if let Some(driver) = &mut driver {
            driver.open(&side)?;
        }
        let driver = driver.map(Mutex::new);
        let base = region.at(0, 0);
        let attached = Attached { side, driver, region, segment, backing, allowed };
        if self.attached.set(attached).is_err() {
            return Err(Error::job("netvm conduit: a segment is attached once"));
        }
        Ok(Some(base))
    }

    fn attach(&self, _: &SegmentDesc) -> Result<(), Error> {
        if let Some(early) = &self.early {
            early.end();
        }
        let Some(far) = &self.card.far else { return Ok(()) };
        let begun = Instant::now();
        while !far.has_heard_all(&self.card.desks, PORT) {
            self.check_wire()?;
            if begun.elapsed() > HELLO_TIMEOUT {
                return Err(Error::job(format!(
                    "netvm conduit: ranks of other hosts do not answer over the network {}",
                    far.name()
                )));
            }
            self.card.attend();
            self.card.work();
            std::thread::sleep(Duration::from_micros(20));
        }
        Ok(())
    }

    fn advise(&self, offset: u64, len: u64, advice: Advice) {
        if let Some(at) = self.attached() {
            at.backing.advise(offset..offset + len, advice);
        }
    }

    fn rma(&self) -> Option<&dyn Rma> {
        Some(self)
    }

    fn regions(&self) -> Option<&dyn RegionRma> {
        Some(self)
    }

    fn nic(&self) -> Option<&dyn gasnet_wire::port::NicPort> {
        Some(self)
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        if self.early.as_ref().is_some_and(|early| !early.is_over()) {
            return None;
        }
        // A caller that asks for it is about to sleep on it.
        self.card.leave();
        Some(self.card.descriptor())
    }

    fn close(&self) {
        self.take_back();
        let begun = Instant::now();
        let quiet = || {
            let driven = self.driver(|driver, _| driver.is_quiet()).unwrap_or(true);
            driven && self.side(Side::is_quiet).unwrap_or(true) && self.card.is_idle()
        };
        while !quiet() && begun.elapsed() < CLOSE_TIMEOUT {
            if self.advance() == 0 {
                std::thread::yield_now();
            }
        }
        if let Some(far) = &self.card.far {
            far.close();
        }
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let (nic, counts) = (self.card.stats(), &self.card.counts);
        let refused = self.side(|side| side.refused()).unwrap_or(0);
        let count = |c: &AtomicU64| c.load(Ordering::Relaxed);
        let (paged, allowed) =
            self.attached().map_or_else(Default::default, |at| (at.backing.stats(), at.allowed));
        let (driven, usage) = self.driver(|driver, _| driver.stats()).unwrap_or_default();
        let lent = self.attached().map_or_else(Lent::default, |at| at.backing.lending());
        let kernel = self.driver(|driver, _| driver.kernel_peak).unwrap_or(0);
        let mut counters = vec![
            ("hits", driven.hits),
            ("misses of the strategy", driven.misses),
            ("moves", driven.requests),
            ("pins", driven.pins),
            ("unpins", driven.unpins),
            ("revived", driven.revived),
            ("pin waits", driven.waits),
            ("pinned bytes at most", usage.peak_bytes),
            ("pinned bytes at most by the kernel's count", kernel.max(sys::pinned())),
            ("faults", paged.faults),
            ("page-ins", paged.page_ins),
            ("zero-fills", paged.zero_fills),
            ("page-outs", paged.page_outs),
            ("pages announced", paged.announced),
            ("pages forgotten", paged.forgotten),
            ("pages given up", paged.given_up),
            ("pages dropped", paged.drops),
            ("pages to peers", lent.sent),
            ("pages from peers", lent.fetched),
            ("pages recalled", lent.recalled),
            ("pages at peers", lent.away),
            ("lock waits", paged.locked),
            ("frame waits", paged.waits),
            ("bytes resident at most", paged.most_resident * u64::from(PAGE)),
            (
                "bytes resident beyond the budget",
                (paged.most_resident * u64::from(PAGE)).saturating_sub(allowed),
            ),
            ("messages taken", count(&self.taken)),
            ("commands", nic.commands),
            ("packets sent", nic.sent),
            ("packets received", nic.received),
            ("packets received twice", nic.duplicates),
            ("acknowledgements", nic.acks),
            ("bytes received", count(&counts.bytes)),
            ("packets from other hosts", count(&counts.far)),
            ("locks", nic.locks),
            ("leased", nic.leased),
            ("leases recalled", nic.recalled),
            ("misses", nic.misses),
            ("bounces", nic.bounces),
            ("credit waits", nic.stalls),
            ("deferred", nic.deferred),
            ("refused", nic.refused + u64::from(refused)),
            ("malformed", nic.malformed),
            ("notifications", nic.notifications),
            ("messages", nic.appended),
            ("messages kept for lack of room", nic.kept),
            ("accesses of regions", nic.regions),
            ("atomics", nic.atomics),
            ("backlogged", count(&counts.backlogged)),
            ("wakes", count(&counts.wakes)),
            ("attended", count(&counts.attended)),
        ];
        counters.extend(self.card.far.iter().flat_map(Far::counters));
        counters
    }
}

// SAFETY: `Local` is reported when the source has been copied, or together with `Remote`. `Remote` is
// reported when the target's NIC or host reports that the bytes are in place (put), or when they are here
// (get).
unsafe impl Rma for Live {
    unsafe fn put(&self, to: RemoteAddr, src: *const u8, len: usize, token: u64) -> bool {
        let (peer, remote, local) = (to.rank.0, to.offset, src as usize);
        self.start(&Start { peer, remote, region: None, local, len, put: true, token, lease: None })
    }

    unsafe fn get(&self, dst: *mut u8, from: RemoteAddr, len: usize, token: u64) -> bool {
        let (peer, remote, local) = (from.rank.0, from.offset, dst as usize);
        self.start(&Start { peer, remote, region: None, local, len, put: false, token, lease: None })
    }

    fn copies_source(&self, len: usize) -> bool {
        self.mode == Registration::ShadowLock && len <= netvm_fw::wire::MAX_INLINE_BYTES
    }

    fn max_transfer(&self) -> usize {
        SLOT_BYTES
    }

    fn poll(&self, budget: usize, complete: &mut dyn FnMut(u64, Completion)) -> usize {
        let Some(at) = self.attached() else { return 0 };
        // The lock stays taken during `complete`: of two threads that poll, none reports that a put is over
        // while the other one still reports that its source is free.
        let mut report = |next: &mut dyn FnMut() -> Option<(u64, Completion)>| {
            let reported = core::iter::from_fn(next).take(budget).map(|(token, what)| complete(token, what));
            reported.count()
        };
        match &at.driver {
            Some(driver) => {
                let of_regions = {
                    let mut side = lock(&at.side);
                    report(&mut || side.region_completed())
                };
                let mut driver = lock(driver);
                of_regions + report(&mut || driver.done.pop_front())
            }
            None => {
                let mut side = lock(&at.side);
                report(&mut || side.completed().or_else(|| side.region_completed()))
            }
        }
    }
}

// SAFETY: 1. As for `Rma`. 2. The target's NIC says why it refused an access before it counts as done.
unsafe impl RegionRma for Live {
    fn serve(&self, regions: Arc<dyn ServedRegions>) {
        let regions = self.regions.get_or_init(|| regions);
        self.card.open_regions(Arc::new(ExportedRegions(regions.clone())));
    }

    fn covers(&self, at: *const u8, len: usize) -> bool {
        let Some(attached) = self.attached() else { return false };
        let (own, end) = (attached.region.range(), at.addr().saturating_add(len));
        end <= own.start || at.addr() >= own.end
    }

    fn watch(&self, at: *const u8, len: usize) -> bool {
        let Some(regions) = self.regions.get() else { return false };
        if !self.covers(at, len) {
            return false;
        }
        let mut watched = lock(&self.watched);
        let watched = watched.get_or_insert_with(|| Watched::new(regions.clone()));
        watched.as_mut().is_some_and(|watched| watched.add(at.addr(), len))
    }

    fn unwatch(&self, at: *const u8, len: usize) {
        if let Some(Some(watched)) = &mut *lock(&self.watched) {
            watched.remove(at.addr(), len);
        }
    }

    fn end(&self) -> u64 {
        MAX_REGION_BYTES
    }

    fn is_one_step(&self, at: u64, len: usize) -> bool {
        at % u64::from(PAGE) + len as u64 <= u64::from(PAGE)
    }

    unsafe fn put(&self, rank: RankId, to: RegionPlace, src: *const u8, len: usize, token: u64) -> bool {
        self.start_here(&of_region(rank, to, src as usize, len, true, token))
    }

    unsafe fn get(&self, dst: *mut u8, rank: RankId, from: RegionPlace, len: usize, token: u64) -> bool {
        self.start_here(&of_region(rank, from, dst as usize, len, false, token))
    }
}

fn of_region(rank: RankId, place: RegionPlace, local: usize, len: usize, put: bool, token: u64) -> Start {
    let region = Some(RegionName { number: place.number, secret: place.secret });
    Start { peer: rank.0, remote: place.at, region, local, len, put, token, lease: None }
}
