//! The [`Rank`] object: all state of one rank of a job hangs off it (design decision D11).

use crate::am::Handler;
use crate::barrier::Consensus;
use crate::conduit::{Channel, Conduit, MIN_FRAME, OpenContext, Peer, SegmentDesc, SegmentKind};
use crate::config::Config;
use crate::error::Error;
use crate::event::Ops;
use crate::lock::Threading;
use crate::meeting::Meeting;
use crate::prim::AtomicU32;
use crate::segment::{SegmentEntry, SegmentTable};
use crate::shm::Host;
use crate::shm::grid::{Grid, GridLayout};
use crate::shm::map;
use crate::wait::{Presence, WaitPolicy, Waiter};
use crate::{Boot, am, amref};
use core::fmt;
use std::os::fd::AsFd;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// The number of a rank in its job, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RankId(pub u32);

impl fmt::Display for RankId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl From<u32> for RankId {
    fn from(n: u32) -> RankId {
        RankId(n)
    }
}

/// Opens the conduit a job was asked to use; `Ok(None)` where the ranks of this host need none.
pub type OpenConduit<'a> = &'a dyn Fn(&OpenContext<'_>) -> Result<Option<Box<dyn Conduit>>, Error>;

/// Address at which every rank tries to put the segments, far from where kernels and sanitizers put things.
const SEGMENT_HINT: usize = 0x2000_0000_0000;
/// Segments start at multiples of this.
const SEGMENT_ALIGN: u64 = 2 << 20;

/// One rank of a job.
///
/// A child that the process forks is not the rank: it may read what is mapped, and must not call the runtime.
///
/// Every method can be called from any thread (unless the rank was made [`Threading::Serial`], a promise that only unsafe code can make).
pub struct Rank {
    id: RankId,
    size: u32,
    pub(crate) config: Config,
    pub(crate) boot: Boot,
    pub(crate) pid: u32,
    pub(crate) policy: WaitPolicy,
    pub(crate) presence: Option<&'static Presence>,
    pub(crate) host: Host,
    meeting: Meeting,
    pub(crate) grid: Option<Grid>,
    pub(crate) conduit: Option<Box<dyn Conduit>>,
    pub(crate) segments: OnceLock<SegmentTable>,
    pub(crate) handlers: Box<[OnceLock<Handler>]>,
    pub(crate) ops: Ops,
    pub(crate) phases: Mutex<Phases>,
    pub(crate) rounds: amref::Rounds,
    heap: Mutex<u64>,
    /// Whether [`Rank::attach`] has begun.
    attaching: AtomicU32,
}

/// Where this rank is in the sequence of barriers.
#[derive(Debug, Default)]
pub(crate) struct Phases {
    /// Phases completed.
    pub(crate) phase: u32,
    /// Notified and not yet waited for.
    pub(crate) notified: bool,
    /// The last completed phase's consensus.
    pub(crate) result: Option<Consensus>,
}

impl fmt::Debug for Rank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rank({} of {})", self.id, self.size)
    }
}

fn lock<T>(m: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    m.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Rank {
    /// Makes a rank out of what its launcher told it. It lives as long as the process.
    ///
    /// # Collective
    /// Over all ranks of the job; returns when all are there.
    ///
    /// # Safety
    /// 1. The memory files of `boot` were empty when the job began, and are used by nothing but the ranks of that job, each of
    ///    which starts once (owed by the launcher: a second rank of the same number would send and receive on the same links).
    ///
    /// # Errors
    /// Shared memory or the conduit cannot be had.
    #[expect(unsafe_code, reason = "declares the obligation; the body has nothing unsafe")]
    pub unsafe fn start(
        boot: Boot,
        config: Config,
        threading: Threading,
        open: OpenConduit<'_>,
    ) -> Result<&'static Rank, Error> {
        let (id, size) = (RankId(boot.rank), boot.size);
        if id.0 == 0 && !config.quiet {
            let names = std::env::vars_os().filter_map(|(n, _)| n.into_string().ok());
            for w in crate::config::unknown_names(names) {
                crate::job::say(&format!("gasnet: warning: {w}"));
            }
        }
        let host = Host::map(boot.shm.as_fd(), size)?;
        host.tell_processors(id.0);
        let mut shm_offset = Host::bytes(size);
        let meeting = Meeting::new(boot.shm.as_fd(), shm_offset, &host.header.start, id.0, size)?;
        shm_offset += Meeting::bytes(size).next_multiple_of(map::PAGE as u64);
        meeting.meet(&|| false);
        let processors = host.processors();
        let max_payload = am::MAX_MEDIUM;
        let grid = if config.neighborhood && size > 1 {
            let layout = GridLayout::new(size, max_payload, shm_offset).on(processors);
            shm_offset += layout.bytes();
            Some(Grid::map(boot.shm.as_fd(), layout, id.0, threading)?)
        } else {
            None
        };
        let conduit = if size > 1 {
            let own = [id.0];
            open(&OpenContext {
                rank: id,
                size,
                config: &config,
                shm: boot.shm.as_fd(),
                shm_offset,
                host: &boot.neighbours,
                neighbours: if config.neighborhood { &boot.neighbours } else { &own },
                exchange: boot.exchange.as_deref().unwrap_or(&meeting),
            })?
        } else {
            None
        };
        if size > 1 && grid.is_none() && conduit.is_none() {
            return Err(Error::job(
                "GASNET_NEIGHBORHOOD=off needs a conduit that carries frames between ranks",
            ));
        }
        if let Some(c) = &conduit {
            let carries = |r| c.limits(Peer { rank: RankId(r), endpoint: 0 }, am::MAX_ARGUMENTS).max_frame;
            if let Some(r) = (0..size).find(|r| carries(*r) < MIN_FRAME) {
                let (name, n) = (c.name(), carries(r));
                return Err(Error::job(format!(
                    "conduit {name}: frames of {n} bytes, {MIN_FRAME} are needed"
                )));
            }
        }
        let policy = WaitPolicy::new(size, processors, config.spin);
        // A rank lives as long as its process.
        let presence: Option<&'static Presence> = (size as usize > processors).then(|| {
            // Ranks that follow each other are likely to talk to each other: they start out on different processors.
            map::go_to_processor(id.0);
            &*Box::leak(Box::new(Presence::new(id.0 as usize, host.stations)))
        });
        let rank = Box::leak(Box::new(Rank {
            id,
            size,
            boot,
            pid: std::process::id(),
            policy,
            presence,
            host,
            meeting,
            grid,
            conduit,
            segments: OnceLock::new(),
            handlers: (0..256).map(|_| OnceLock::new()).collect(),
            ops: Ops::new(),
            phases: Mutex::default(),
            rounds: amref::Rounds::new(size),
            heap: Mutex::new(0),
            attaching: AtomicU32::new(0),
            config,
        }));
        rank.start_barrier();
        rank.tell_attached();
        Ok(rank)
    }

    /// This rank's number.
    #[inline]
    pub fn id(&self) -> RankId {
        self.id
    }

    /// Ranks in the job.
    #[inline]
    pub fn size(&self) -> u32 {
        self.size
    }

    /// All ranks of the job.
    pub fn ranks(&self) -> impl Iterator<Item = RankId> + use<> {
        (0..self.size).map(RankId)
    }

    /// The settings this rank runs with.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Name of the network: `smp` on one host.
    pub fn conduit_name(&self) -> &'static str {
        self.conduit.as_ref().map_or("smp", |c| c.name())
    }

    /// A barrier that runs nothing else, for start-up.
    fn start_barrier(&self) {
        self.meeting.meet(&|| self.idle());
    }

    /// Tells the conduit that a wait found nothing to do; whether that takes the place of a step of the wait.
    #[inline]
    pub(crate) fn idle(&self) -> bool {
        self.conduit.as_ref().is_some_and(|c| c.idle())
    }

    /// The job's time: the host's monotonic clock, or that of a conduit that has its own.
    pub fn now(&self) -> Duration {
        self.conduit.as_ref().and_then(|c| c.clock()).unwrap_or_else(map::monotonic)
    }

    /// Largest segment this rank can attach, in bytes, a multiple of the page size: `GASNET_MAX_SEGSIZE`, else this rank's share
    /// of physical memory.
    pub fn max_local_segment(&self) -> usize {
        let bytes = self.config.max_segment.unwrap_or(map::physical_memory() / u64::from(self.size));
        (bytes as usize & !(map::PAGE - 1)).max(map::PAGE)
    }

    /// Attaches a segment of `bytes` bytes, rounded up to pages; ranks may choose different sizes, 0 among them. The memory is
    /// zero-filled and takes space only where it is touched.
    ///
    /// `stride`, the same on all ranks, fixes the distance at which the segments of neighbours lie from each other in every
    /// process; by default it is the largest size. All segments of the host lie in one range of addresses: rank r's at
    /// `base + r * stride`.
    ///
    /// # Collective
    /// Once per job; acts as a barrier.
    ///
    /// # Errors
    /// Attached already, a size above physical limits, or no address space. After the latter two the job cannot go on: other ranks
    /// may be waiting in their call.
    pub fn attach(&self, bytes: usize, stride: Option<u64>) -> Result<&SegmentTable, Error> {
        let header = self.host.header;
        let me = &self.host.ranks[self.id.0 as usize];
        let size = bytes
            .checked_next_multiple_of(map::PAGE)
            .ok_or_else(|| Error::op(format!("a segment of {bytes} bytes is too large")))?;
        use crate::prim::Ordering::Relaxed;
        if self.attaching.swap(1, Relaxed) != 0 {
            return Err(Error::op("the segment is attached already"));
        }
        // Relaxed throughout: the start barriers order these exchanges.
        me.segment_size.store(size as u64, Relaxed);
        self.start_barrier();
        let sizes: Vec<u64> = self.host.ranks.iter().map(|r| r.segment_size.load(Relaxed)).collect();
        let largest = sizes.iter().copied().max().unwrap_or(0);
        let stride = stride.unwrap_or(largest).max(largest).max(1);
        let (stride, span) = stride
            .checked_next_multiple_of(SEGMENT_ALIGN)
            .and_then(|stride| Some((stride, stride.checked_mul(u64::from(self.size))?)))
            .filter(|(_, span)| *span < 1 << 46)
            .ok_or_else(|| Error::op(format!("{} segments of {stride} bytes are too large", self.size)))?;
        let span = span as usize;
        let neighbours = self.config.neighborhood;
        let base = if self.id.0 == 0 {
            let base = map::reserve_at(SEGMENT_HINT, span).map_or_else(|| map::reserve(span), Ok)?;
            header.segment_base.store(base as u64, Relaxed);
            self.start_barrier();
            base
        } else {
            self.start_barrier();
            let wish = header.segment_base.load(Relaxed) as usize;
            map::reserve_at(wish, span).map_or_else(|| map::reserve(span), Ok)?
        };
        map::grow(self.boot.segments.as_fd(), span as u64)?;
        let mut entries = Vec::with_capacity(self.size as usize);
        for (r, &len) in sizes.iter().enumerate() {
            let offset = r as u64 * stride;
            let at = base.wrapping_add(offset as usize);
            let mine = r == self.id.0 as usize;
            let mapped = mine || neighbours;
            if mapped && len > 0 {
                #[expect(unsafe_code, reason = "maps into the range reserved above")]
                // SAFETY: inside the reservation of `span` bytes made above, which nothing uses yet.
                unsafe {
                    map::map_over(self.boot.segments.as_fd(), offset, at, len as usize)?;
                }
            }
            let local = if mapped { at } else { core::ptr::null_mut() };
            entries.push(SegmentEntry { addr: 0, size: len as usize, local });
        }
        let own = base.wrapping_add((u64::from(self.id.0) * stride) as usize);
        me.segment_addr.store(own as u64, Relaxed);
        if let Some(conduit) = &self.conduit {
            conduit.attach(&SegmentDesc {
                base: own,
                len: size,
                kind: SegmentKind::Host,
                neighbours_may_map: true,
            })?;
        }
        self.start_barrier();
        for (e, r) in entries.iter_mut().zip(self.host.ranks) {
            e.addr = r.segment_addr.load(Relaxed) as usize;
        }
        let table = self.segments.get_or_init(|| SegmentTable::new(entries));
        self.start_barrier();
        Ok(table)
    }

    /// The segments of all ranks.
    ///
    /// # Panics
    /// Before [`Rank::attach`].
    #[inline]
    pub fn table(&self) -> &SegmentTable {
        self.segments.get().expect("Rank::attach comes before any use of segments")
    }

    /// Takes `bytes` bytes of every rank's segment, at the same offset everywhere, aligned to `align` (a power of two), and
    /// returns the offset.
    ///
    /// # Collective
    /// All ranks call it in the same order with the same arguments; nothing is exchanged and nobody waits.
    ///
    /// # Errors
    /// The own segment is too small, or not attached yet.
    pub fn allocate(&self, bytes: u64, align: u64) -> Result<u64, Error> {
        let Some(own) = self.segments.get().and_then(|t| t.get(self.id)) else {
            return Err(Error::op("memory of a segment can be taken after Rank::attach only"));
        };
        let size = own.size as u64;
        let mut used = lock(&self.heap);
        let start = used.checked_next_multiple_of(align.max(1));
        match start.and_then(|start| Some((start, start.checked_add(bytes)?))) {
            Some((start, end)) if end <= size => {
                *used = end;
                Ok(start)
            }
            _ => Err(Error::op(format!(
                "no room for {bytes} bytes in a segment of {size} bytes of which {} are in use: attach a larger one",
                *used
            ))),
        }
    }

    /// Makes progress: runs the handlers of messages that have arrived, a bounded number of them. Returns how many.
    #[inline]
    pub fn poll(&self) -> usize {
        let done = self.poll_channel(Channel::Reply, am::POLL_BUDGET)
            + self.poll_channel(Channel::Request, am::POLL_BUDGET);
        if self.grid.is_none() && self.size > 1 {
            self.advance_rounds();
        }
        done
    }

    /// How waits of this rank spend their time.
    #[inline]
    pub fn wait_policy(&self) -> WaitPolicy {
        self.policy
    }

    /// A wait of this rank that begins now and spends its time as `policy` says.
    #[inline]
    pub fn begin_wait(&self, policy: WaitPolicy) -> Waiter {
        Waiter::new(policy, self.presence)
    }

    /// Polls until `condition` holds. `what` names the wait in reports.
    ///
    /// The condition may become true by a handler, by another thread, or by a store of a peer into shared memory.
    #[inline]
    pub fn wait_until(&self, what: &'static str, mut condition: impl FnMut() -> bool) {
        if condition() {
            return;
        }
        let mut waiter = self.begin_wait(self.policy);
        let mut reported = false;
        loop {
            let done = self.poll();
            if condition() {
                return;
            }
            if done > 0 {
                waiter.progressed();
            } else if !self.idle() {
                waiter.step();
                self.report_wait(&waiter, what, &mut reported);
            }
        }
    }

    #[inline]
    fn report_wait(&self, waiter: &Waiter, what: &str, reported: &mut bool) {
        let (Some(limit), false) = (self.config.wait_report, *reported) else { return };
        if waiter.asleep_for().is_some_and(|t| t.as_secs() >= limit) {
            *reported = true;
            crate::job::say(&format!("gasnet: rank {} has been waiting for {what} for {limit} s", self.id));
        }
    }
}
