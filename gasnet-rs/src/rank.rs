//! The [`Rank`] object, which holds all state of one rank of a job (design decision D11).

use crate::am::Handler;
use crate::barrier::Consensus;
use crate::boot::Exchange;
use crate::coll::members::Members;
use crate::coll::table::Tables;
use crate::coll::{Collectives, agree, mail};
use crate::conduit::{Conduit, MIN_FRAME, OpenContext, Peer, SegmentDesc, SegmentKind};
use crate::config::Config;
use crate::error::Error;
use crate::event::Ops;
use crate::lock::{Threading, Turns};
use crate::meeting::Meeting;
use crate::native::Native;
use crate::neighbourhood::Neighbourhood;
use crate::prim::AtomicU32;
use crate::processes::Processes;
use crate::progress::Progress;
use crate::region::{self, Regions};
use crate::segment::{GlobalPtr, Place, SegmentEntry, SegmentTable, Shared};
use crate::shm::grid::{Grid, GridLayout};
use crate::shm::map;
use crate::shm::{Host, HostHeader, RankBlock};
use crate::team::Team;
use crate::transfer::Transfers;
use crate::wait::{Presence, Station, WaitPolicy, Waiter};
use crate::{Boot, RankId, am, amref, vis};
use core::fmt;
use core::sync::atomic::AtomicPtr;
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// Opens the conduit that was chosen for a job; `Ok(None)` if the ranks of this host need none.
pub type OpenConduit<'a> = &'a dyn Fn(&OpenContext<'_>) -> Result<Option<Box<dyn Conduit>>, Error>;

/// Address at which every rank tries to map the segments, far from addresses that kernels and sanitizers use.
const SEGMENT_HINT_ADDRESS: usize = 0x2000_0000_0000;
/// Longest sleep of a wait that only the conduit can end.
const MAX_SLEEP_ON_CONDUIT: Duration = Duration::from_millis(50);
/// See [`Rank::attaching`].
const BOUND: u32 = 1;
const ATTACHED: u32 = 2;
/// Segments start at multiples of this.
const SEGMENT_ALIGN: u64 = 2 << 20;

/// One rank of a job.
///
/// A child that the process forks is not the rank: it may read what is mapped, and must not call the runtime.
///
/// Every method can be called from any thread (unless the rank was made [`Threading::Serial`], a promise that
/// only unsafe code can make).
pub struct Rank {
    id: RankId,
    size: u32,
    pub(crate) config: Config,
    pub(crate) boot: Boot,
    pub(crate) pid: u32,
    pub(crate) policy: WaitPolicy,
    pub(crate) presence: Option<&'static Presence>,
    /// Whether only the conduit can end a wait: the rank has one thread and no neighbours.
    alone: bool,
    pub(crate) neighbourhood: Neighbourhood,
    leader: &'static RankBlock,
    pub(crate) header: &'static HostHeader,
    /// Blocks of the ranks of this host, in ascending order.
    pub(crate) blocks: &'static [RankBlock],
    meeting: Meeting,
    pub(crate) grid: Option<Grid>,
    pub(crate) conduit: Option<Box<dyn Conduit>>,
    /// Properties of the conduit.
    pub(crate) polls_both: bool,
    /// State of the conduit's one-sided operations, if it has any; once the segment is attached.
    pub(crate) native: OnceLock<Native>,
    /// Processes whose memory can be accessed directly, if all memory is the segment.
    pub(crate) processes: OnceLock<Processes>,
    /// State of the progress thread, if there is one.
    pub(crate) progress: Option<Progress>,
    /// Whether the program may call from any number of threads.
    pub(crate) parallel: bool,
    /// Threads that were created while this rank started.
    pub(crate) own_threads: OnceLock<Box<[u32]>>,
    pub(crate) segments: SegmentTable,
    pub(crate) handlers: Box<[OnceLock<Handler>]>,
    pub(crate) serve: am::Serve,
    pub(crate) ops: Ops,
    pub(crate) regions: Regions,
    pub(crate) transfers: Transfers,
    pub(crate) parts: am::parts::Parts,
    pub(crate) phases: Turns<Phases>,
    pub(crate) rounds: amref::Rounds,
    pub(crate) coll: Collectives,
    /// Tables that teams of this host share, if there are neighbours.
    pub(crate) tables: Option<&'static Tables>,
    pub(crate) team_all: OnceLock<Arc<Members>>,
    /// The team of the job's barrier, if NICs carry it out.
    pub(crate) nic_barrier: OnceLock<Team>,
    /// Bytes of the segment that are allocated, and the end of the part that may be allocated.
    heap: Mutex<(u64, u64)>,
    /// Whether this rank has a segment: nothing yet, [`BOUND`] (or [`Rank::attach`] has begun), [`ATTACHED`].
    attaching: AtomicU32,
    /// Address and length of mappings that only [`Rank::dismantle`] removes.
    mappings: Mutex<Vec<(usize, usize)>>,
    /// The box of this rank, for the same purpose.
    own: AtomicPtr<Rank>,
}

/// Where this rank is in the sequence of barriers.
#[derive(Debug, Default)]
pub(crate) struct Phases {
    /// Phases completed by hosts.
    pub(crate) phase: u32,
    /// Whether this rank has notified and not yet waited.
    pub(crate) notified: bool,
    /// Whether NICs carry this phase out.
    pub(crate) by_nics: bool,
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

/// The functions that serve the core's own messages.
fn serve() -> am::Serve {
    // Numbers that are nobody's are refused there.
    let mut all: am::Serve = [amref::handle; am::FIRST_LIBRARY_HANDLER as usize];
    all[usize::from(mail::FIRST)..=usize::from(mail::LAST)].fill(mail::handle);
    all[usize::from(agree::FIRST)..=usize::from(agree::LAST)].fill(agree::handle);
    all[usize::from(region::ops::FIRST)..=usize::from(region::ops::LAST)].fill(region::ops::handle);
    all[usize::from(vis::FIRST)..=usize::from(vis::LAST)].fill(vis::handle);
    all
}

/// Refuses a conduit that is not sufficient, or a job without one that needs it.
fn check_conduit(conduit: Option<&dyn Conduit>, near: &Neighbourhood, size: u32) -> Result<(), Error> {
    let Some(c) = conduit else {
        return if near.is_whole_job() {
            Ok(())
        } else {
            Err(Error::job(
                "some ranks do not share memory, and there is no conduit between them: set GASNET_CONDUIT",
            ))
        };
    };
    let carries = |r| c.limits(Peer { rank: RankId(r), endpoint: 0 }, am::MAX_ARGUMENTS).max_frame;
    match (0..size).find(|r| carries(*r) < MIN_FRAME) {
        None => Ok(()),
        Some(r) => {
            let (name, n) = (c.name(), carries(r));
            Err(Error::job(format!("conduit {name}: frames of {n} bytes, {MIN_FRAME} are needed")))
        }
    }
}

/// Segments that one call maps. With a call for each segment, the ranks of a host would create as many
/// mappings as there are pairs of ranks.
#[derive(Debug, PartialEq, Eq)]
struct Run {
    /// Number of the first segment's owner among the neighbours.
    first: usize,
    /// Bytes from its start to the end of the last segment.
    bytes: u64,
}

impl Run {
    /// The runs of these neighbours' segments. A gap between two segments that only rounding to
    /// [`SEGMENT_ALIGN`] made is mapped with them; a larger gap stays without access, so that wrong accesses
    /// are detected.
    fn all(neighbours: &[u32], sizes: &[u64], stride: u64) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::new();
        for (i, size) in sizes.iter().copied().enumerate().filter(|(_, size)| *size > 0) {
            let continues = |run: &Run| {
                let end = (i - run.first) as u64 * stride;
                neighbours[i] - neighbours[run.first] == (i - run.first) as u32
                    && end - run.bytes < SEGMENT_ALIGN
            };
            match runs.last_mut().filter(|run| continues(run)) {
                Some(run) => run.bytes = (i - run.first) as u64 * stride + size,
                None => runs.push(Run { first: i, bytes: size }),
            }
        }
        runs
    }
}

impl Rank {
    /// Makes a rank out of what its launcher told it. It lives as long as the process.
    ///
    /// # Collective
    /// Over all ranks of the job; returns when all are there.
    ///
    /// # Safety
    /// 1. The memory files of `boot` were empty when the job began, and are used by nothing but the ranks of
    ///    that job, each of which starts once (owed by the launcher: a second rank of the same number would
    ///    send and receive on the same links).
    ///
    /// If the conduit cannot be opened, the job ends, and one of the ranks prints the reason.
    ///
    /// # Errors
    /// Shared memory cannot be created or mapped.
    #[expect(unsafe_code, reason = "declares the obligation; the body has nothing unsafe")]
    pub unsafe fn start(
        boot: Boot,
        config: Config,
        threading: Threading,
        open: OpenConduit<'_>,
    ) -> Result<&'static Rank, Error> {
        let (id, size) = (RankId(boot.rank), boot.size);
        let threads_before = crate::threads::all();
        let on_host = boot.host_ranks.len() as u32;
        let progress = config.progress_thread && size > 1;
        let parallel = threading == Threading::Parallel;
        // With it, two threads of the rank are in the runtime.
        let threading = if progress { Threading::Parallel } else { threading };
        let Some(own) = boot.host_ranks.iter().position(|r| *r == id.0) else {
            return Err(Error::job(format!("the launcher did not put rank {id} on its own host")));
        };
        if boot.exchange.is_none() && on_host < size {
            return Err(Error::job("the launcher gave no exchange for a job on several hosts"));
        }
        // The monitor prints the message once.
        let no_memory = |why| crate::job::refuse_early(&boot, why);
        let host = Host::map(boot.shm.as_fd(), on_host).map_err(no_memory)?;
        host.tell_processors();
        let mut shm_offset = Host::bytes(on_host);
        let meeting = Meeting::new(shm_offset, &host.header.start, own as u32, on_host);
        shm_offset += Meeting::bytes(on_host).next_multiple_of(map::PAGE_BYTES as u64);
        let on_board = meeting.exchange(boot.shm.as_fd());
        let exchange: &dyn Exchange = boot.exchange.as_deref().unwrap_or(&on_board);
        let neighbourhood = Neighbourhood::new(id.0, size, &boot.host_ranks, config.neighborhood, |m| {
            exchange.all_gather(m)
        })?;
        meeting.meet(&|| false);
        let common = host.processors();
        crate::wait::share(common);
        let processors = common.iter().map(|word| word.count_ones() as usize).sum::<usize>().max(1);
        let (grid, tables) =
            map_shared(&boot, &neighbourhood, threading, processors, &mut shm_offset).map_err(no_memory)?;
        let opened = if size > 1 {
            open(&OpenContext {
                rank: id,
                size,
                config: &config,
                threading,
                shm: boot.shm.as_fd(),
                shm_offset,
                host: &boot.host_ranks,
                neighbours: neighbourhood.members(),
                exchange,
            })
        } else {
            Ok(None)
        };
        let opened = opened.and_then(|c| check_conduit(c.as_deref(), &neighbourhood, size).map(|()| c));
        // Usually all ranks find the same error.
        let conduit = opened.unwrap_or_else(|why| crate::job::refuse(&boot, host.header, &why));
        let policy = WaitPolicy::new(on_host, processors, config.spin);
        let policy = if conduit.is_some() { policy.over_network() } else { policy };
        // A rank lives as long as its process.
        let presence = (on_host as usize > processors).then(|| crowded(own, host.stations, processors));
        let alone = neighbourhood.len() == 1 && matches!(threading, Threading::Serial(_));
        let leader = &host.ranks[neighbourhood.on_host(0) as usize];
        let rounds = amref::Rounds::new(neighbourhood.leaders().0.len());
        let rank = Box::into_raw(Box::new(Rank {
            id,
            size,
            boot,
            pid: std::process::id(),
            policy,
            presence,
            alone,
            neighbourhood,
            leader,
            header: host.header,
            blocks: host.ranks,
            meeting,
            grid,
            polls_both: conduit.as_deref().is_some_and(Conduit::polls_both),
            conduit,
            native: OnceLock::new(),
            processes: OnceLock::new(),
            progress: progress.then(|| Progress::new(parallel, on_host as usize, processors)),
            parallel,
            own_threads: OnceLock::new(),
            segments: SegmentTable::new(size),
            handlers: (0..256).map(|_| OnceLock::new()).collect(),
            serve: serve(),
            ops: Ops::new(),
            regions: Regions::new(),
            transfers: Transfers::new(),
            parts: am::parts::Parts::default(),
            phases: Turns::new(threading, Phases::default()),
            rounds,
            coll: Collectives::new(),
            tables,
            team_all: OnceLock::new(),
            nic_barrier: OnceLock::new(),
            heap: Mutex::new((0, u64::MAX)),
            attaching: AtomicU32::new(0),
            mappings: Mutex::new(vec![host.mapping]),
            own: AtomicPtr::default(),
            config,
        }));
        #[expect(unsafe_code, reason = "a rank lives until somebody dismantles it")]
        // SAFETY: just made, and given up by `dismantle` only.
        let rank: &'static Rank = unsafe {
            (*rank).own.store(rank, crate::prim::Ordering::Relaxed);
            &*rank
        };
        rank.meet()?;
        if rank.has_monitor() || rank.boot.overseer.is_none() {
            crate::question::listen();
        }
        rank.tell_attached();
        rank.start_progress();
        rank.make_barrier_team();
        let made = crate::threads::all().into_iter().filter(|task| !threads_before.contains(task));
        rank.own_threads.get_or_init(|| made.collect());
        Ok(rank)
    }

    /// Takes a rank apart, for processes that run many jobs in turn (simulations): its state, its segment and
    /// its mappings are gone. Small things that were to live as long as the process stay, handlers among
    /// them.
    ///
    /// # Safety
    /// 1. `rank` is what [`Rank::start`] returned, and neither it nor anything got from it, nor memory of its
    ///    neighbours' segments, is used any more (owed by the caller). 2. It has no neighbours: links between
    ///    them are not taken apart (checked).
    ///
    /// # Panics
    /// With neighbours.
    #[expect(unsafe_code, reason = "the reference was made to live for ever")]
    pub unsafe fn dismantle(rank: *const Rank) {
        // SAFETY: (1): made by Box::into_raw in `start`.
        let rank = unsafe { Box::from_raw((*rank).own.load(crate::prim::Ordering::Relaxed)) };
        assert!(rank.neighbourhood.len() == 1, "a rank with neighbours is not taken apart");
        assert!(rank.progress.is_none(), "a rank with a progress thread is not taken apart");
        let mappings = core::mem::take(&mut *lock(&rank.mappings));
        drop(rank);
        for mapping in mappings {
            // SAFETY: (1): who could have used them is gone.
            unsafe { map::give_back(mapping) };
        }
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

    /// The operations that the conduit's NIC carries out, if it has a processor. Requests are checked.
    pub fn nic(&self) -> Option<crate::sync::port::Nic<'_>> {
        Some(crate::sync::port::Nic::new(self, self.nic_port()?))
    }

    /// As [`Rank::nic`], without checks, for the core.
    pub(crate) fn nic_port(&self) -> Option<&dyn crate::sync::port::NicPort> {
        self.conduit.as_ref()?.nic()
    }

    /// Name of the network: `smp` on one host.
    pub fn conduit_name(&self) -> &'static str {
        self.conduit.as_ref().map_or("smp", |c| c.name())
    }

    /// The counters of the network on this rank, by name; empty if it has none.
    pub fn counters(&self) -> Vec<(&'static str, u64)> {
        self.conduit.as_ref().map_or(Vec::new(), |c| c.counters())
    }

    /// Name of a wait for a meeting at start.
    fn waits_for_start(&self) -> bool {
        self.idle("the other ranks of this host to start")
    }

    /// Returns when all ranks of the job are here. For start-up: it runs no handlers.
    fn meet(&self) -> Result<(), Error> {
        match &self.boot.exchange {
            Some(exchange) => exchange.all_gather(&[]).map(drop),
            None => {
                self.meeting.meet(&|| self.waits_for_start());
                Ok(())
            }
        }
    }

    /// A number from every rank, by rank; also a barrier. For start-up: it runs no handlers.
    fn gather_number(&self, mine: u64) -> Result<Vec<u64>, Error> {
        let Some(exchange) = &self.boot.exchange else {
            return self.meeting.gather_number(self.boot.shm.as_fd(), mine, &|| self.waits_for_start());
        };
        let said = exchange.all_gather(&mine.to_le_bytes())?;
        let number = |bytes: Vec<u8>| bytes.try_into().ok().map(u64::from_le_bytes);
        let all: Option<Vec<u64>> = said.into_iter().map(number).collect();
        all.filter(|all| all.len() == self.size as usize)
            .ok_or_else(|| Error::job("an exchange at start gave an invalid result"))
    }

    /// The block of the rank that leads this neighbourhood.
    #[inline]
    pub(crate) fn leader_block(&self) -> &'static RankBlock {
        self.leader
    }

    /// The ranks that share memory with this one, in ascending order, itself among them.
    pub fn neighbours(&self) -> &[u32] {
        self.neighbourhood.members()
    }

    /// Whether a rank shares memory with this one (itself included).
    #[inline]
    pub fn is_neighbour(&self, rank: RankId) -> bool {
        self.neighbourhood.index(rank).is_some()
    }

    /// Number of the neighbourhood of a rank, from 0: ranks with the same number share memory. As for the
    /// highest rank if there is no such rank.
    pub fn neighbourhood_of(&self, rank: RankId) -> u32 {
        self.neighbourhood.of(RankId(rank.0.min(self.size - 1))).unwrap_or(0)
    }

    /// The lowest rank that shares memory with a rank; the same on all ranks. As [`Rank::neighbourhood_of`].
    pub fn leader_of(&self, rank: RankId) -> RankId {
        RankId(self.neighbourhood.leaders().0[self.neighbourhood_of(rank) as usize])
    }

    /// Number of the host of a rank, from 0. As [`Rank::neighbourhood_of`].
    pub fn host_of(&self, rank: RankId) -> u32 {
        self.neighbourhood.host_of(RankId(rank.0.min(self.size - 1))).unwrap_or(0)
    }

    /// Tells the conduit that a wait found nothing to do. Returns whether that replaces a step of the wait.
    #[inline]
    pub(crate) fn idle(&self, what: &'static str) -> bool {
        self.conduit.as_ref().is_some_and(|c| c.idle(what))
    }

    /// One step of a wait for `what` that found nothing to do.
    #[inline]
    pub fn pause(&self, waiter: &mut Waiter, what: &'static str) {
        self.pause_for(waiter, what, None);
    }

    /// [`Rank::pause`] of a wait for a known peer.
    #[inline]
    pub(crate) fn pause_for(&self, waiter: &mut Waiter, what: &'static str, peer: Option<RankId>) {
        match &self.conduit {
            None => waiter.step_or(|sleep| self.nap(sleep)),
            Some(conduit) => self.pause_at(conduit.as_ref(), waiter, what),
        }
        if waiter.has_slept() {
            self.explain_wait(waiter, what, peer);
            if waiter.should_look() {
                self.check_outstanding(what, peer);
            }
        }
    }

    fn pause_at(&self, conduit: &dyn Conduit, waiter: &mut Waiter, what: &'static str) {
        if conduit.idle(what) {
            return;
        }
        let mut woken = false;
        waiter.step_or(|sleep| match conduit.descriptor() {
            // Only the network can end the wait.
            Some(fd) if self.alone => woken = map::wait_readable(fd, MAX_SLEEP_ON_CONDUIT),
            Some(fd) => woken = map::wait_readable(fd, sleep),
            None => self.nap(sleep),
        });
        if woken {
            // Puts and gets of other ranks may need this rank, and polls do not report that they served them.
            // More of them are likely.
            waiter.progressed();
        }
    }

    /// The job's time: the host's monotonic clock, or that of a conduit that has its own.
    pub fn now(&self) -> Duration {
        self.conduit.as_ref().and_then(|c| c.clock()).unwrap_or_else(map::monotonic)
    }

    /// Largest segment this rank can attach, in bytes, a multiple of the page size: `GASNET_MAX_SEGSIZE`,
    /// else this rank's share of physical memory.
    pub fn max_local_segment(&self) -> usize {
        let bytes =
            self.config.max_segment.unwrap_or(map::physical_memory() / self.boot.host_ranks.len() as u64);
        (bytes as usize & !(map::PAGE_BYTES - 1)).max(map::PAGE_BYTES)
    }

    /// Attaches a segment of `bytes` bytes, rounded up to pages; ranks may choose different sizes, 0 among
    /// them. The memory is zero-filled and takes space only where it is touched.
    ///
    /// `stride`, the same on all ranks, fixes the distance at which the segments of neighbours lie from each
    /// other in every process; by default it is the largest size. All segments of the host lie in one range
    /// of addresses: rank r's at `base + r * stride`.
    ///
    /// # Collective
    /// Once per job; acts as a barrier.
    ///
    /// # Errors
    /// Attached already, a size above physical limits, or no address space. After the latter two the job
    /// cannot go on: other ranks may be waiting in their call.
    pub fn attach(&self, bytes: usize, stride: Option<u64>) -> Result<&SegmentTable, Error> {
        let size = bytes
            .checked_next_multiple_of(map::PAGE_BYTES)
            .ok_or_else(|| Error::op(format!("a segment of {bytes} bytes is too large")))?;
        let entries = self.map_segments(size, stride)?;
        if let Some(rma) = self.conduit.as_ref().and_then(|conduit| conduit.rma()) {
            self.native.get_or_init(|| Native::new(rma));
        }
        self.enter_segments(entries)
    }

    /// Enters segments in the table. The ranks meet, so that no rank accesses a segment before its owner has
    /// entered it.
    fn enter_segments(&self, entries: Vec<SegmentEntry>) -> Result<&SegmentTable, Error> {
        self.segments.change(|all| all.copy_from_slice(&entries));
        self.attaching.store(ATTACHED, crate::prim::Ordering::Relaxed);
        self.meet()?;
        Ok(&self.segments)
    }

    /// Maps the segments of all neighbours, and tells the conduit of this rank's, which has `size` bytes.
    fn map_segments(&self, size: usize, stride: Option<u64>) -> Result<Vec<SegmentEntry>, Error> {
        if self.attaching.swap(BOUND, crate::prim::Ordering::Relaxed) != 0 {
            return Err(Error::op("the segment is attached already"));
        }
        let sizes = self.gather_number(size as u64)?;
        let largest = sizes.iter().copied().max().unwrap_or(0);
        let stride = stride.unwrap_or(largest).max(largest).max(1);
        let near = self.neighbourhood.members();
        let (first, last) = (near[0], near[near.len() - 1]);
        let on_host = self.boot.host_ranks.len() as u32;
        let (stride, span) = stride
            .checked_next_multiple_of(SEGMENT_ALIGN)
            .and_then(|stride| Some((stride, stride.checked_mul(u64::from(on_host.max(last - first + 1)))?)))
            .filter(|(_, span)| *span < 1 << 46)
            .ok_or_else(|| {
                Error::op(format!(
                    "{on_host} segments of {stride} bytes are too large: those of a host lie in one range of addresses of less than 64T; \
                     ask for less, or set a smaller GASNET_MAX_SEGSIZE"
                ))
            })?;
        let owned = self.conduit.as_ref().map_or(Ok(None), |conduit| conduit.segment_memory(size))?;
        if owned.is_some() && near.len() > 1 {
            return Err(Error::job("a conduit that owns the memory of segments leaves no neighbours"));
        }
        // The leader chooses an address; the others try to map at the same one.
        let span_here = (stride * u64::from(last - first + 1)) as usize;
        let base = if let Some(owned) = owned {
            self.gather_number(0)?;
            owned.as_ptr()
        } else if self.id.0 == first {
            let base = map::reserve(SEGMENT_HINT_ADDRESS, span_here)?;
            self.gather_number(base as u64)?;
            base
        } else {
            map::reserve(self.gather_number(0)?[first as usize] as usize, span_here)?
        };
        let local = |r: u32| base.wrapping_add((u64::from(r - first) * stride) as usize);
        if owned.is_none() {
            lock(&self.mappings).push((base as usize, span_here));
            map::grow(self.boot.segments.as_fd(), span)?;
            let own_sizes: Vec<u64> = near.iter().map(|r| sizes[*r as usize]).collect();
            for run in Run::all(near, &own_sizes, stride) {
                let offset = u64::from(self.neighbourhood.on_host(run.first as u32)) * stride;
                #[expect(unsafe_code, reason = "maps into the range reserved above")]
                // SAFETY: inside the reservation of `span_here` bytes made above, which nothing uses yet.
                unsafe {
                    let at = local(near[run.first]);
                    map::map_over(self.boot.segments.as_fd(), offset, at, run.bytes as usize)?;
                }
            }
        }
        let own = local(self.id.0);
        if let Some(conduit) = &self.conduit {
            conduit.attach(&SegmentDesc {
                base: own,
                len: size,
                kind: if owned.is_some() { SegmentKind::Paged } else { SegmentKind::Host },
                neighbours_may_map: owned.is_none(),
            })?;
        }
        let addresses = self.gather_number(own as u64)?;
        let entry = |r: u32| SegmentEntry {
            addr: addresses[r as usize] as usize,
            size: sizes[r as usize] as usize,
            local: self.neighbourhood.index(RankId(r)).map_or(core::ptr::null_mut(), |_| local(r)),
        };
        Ok((0..self.size).map(entry).collect())
    }

    /// Whether the ranks have attached segments: then all have, and have agreed on it.
    pub(crate) fn has_attached(&self) -> bool {
        // Relaxed: who attaches meets the others afterwards.
        self.attaching.load(crate::prim::Ordering::Relaxed) == ATTACHED
    }

    /// Makes memory of the program this rank's segment, in place of [`Rank::attach`]. No other rank maps it.
    /// Ranks that have learned of it ([`Rank::learn_segment`]) access it by messages.
    ///
    /// # Safety
    /// 1. The bytes are valid for reads and writes as long as the rank lives, and are accessed by means only
    ///    that may meet accesses of others: calls of the runtime, atomics, raw pointers where the program
    ///    keeps them apart (owed by the caller).
    ///
    /// # Errors
    /// This rank has a segment already.
    #[expect(unsafe_code, reason = "declares the obligation; the body has nothing unsafe")]
    pub unsafe fn bind_segment(&self, at: *mut u8, len: usize) -> Result<(), Error> {
        use crate::prim::Ordering::Relaxed;
        if self.attaching.compare_exchange(0, BOUND, Relaxed, Relaxed).is_err() {
            return Err(Error::op("the segment is attached already"));
        }
        self.regions.goes_away();
        let own = SegmentEntry { addr: at as usize, size: len, local: at };
        self.segments.change(|all| all[self.id.0 as usize] = own);
        Ok(())
    }

    /// Makes all memory of every rank its segment, in place of [`Rank::attach`]: byte `a - e.addr`, which
    /// wraps, of the segment `e` of a rank is the byte at address `a` of its process. Nobody maps it.
    /// Neighbours copy from and to it by system calls, if the system allows that; all other accesses are
    /// messages. [`Rank::allocate`] fails.
    ///
    /// # Collective
    /// Once per job; acts as a barrier.
    ///
    /// # Safety
    /// 1. No rank reaches for memory of another that is not there, or that its owner accesses by other means
    ///    than may meet accesses of others (as for [`Rank::bind_segment`]; owed by the program).
    ///
    /// # Errors
    /// This rank has a segment already.
    #[expect(unsafe_code, reason = "declares the obligation; the body has nothing unsafe")]
    pub unsafe fn attach_everything(&self) -> Result<&SegmentTable, Error> {
        // Conduits carry messages once they have a segment. Their own puts and gets know only that segment,
        // and are not used.
        self.map_segments(0, None)?;
        *lock(&self.heap) = (0, 0);
        self.regions.goes_away();
        // A null local address means that a segment is not mapped, so a segment does not begin at address 0.
        let base = core::ptr::with_exposed_provenance_mut::<u8>(map::PAGE_BYTES);
        let local = |r: u32| if r == self.id.0 { base } else { core::ptr::null_mut() };
        let entry = |r| SegmentEntry { addr: base.addr(), size: usize::MAX, local: local(r) };
        let [pid, probe] = Processes::own_probe();
        let (pids, probes) = (self.gather_number(pid)?, self.gather_number(probe)?);
        self.processes.get_or_init(|| Processes::meet(self, &pids, &probes));
        self.enter_segments((0..self.size).map(entry).collect())
    }

    /// Records the place of another rank's segment, which that rank bound by [`Rank::bind_segment`]. If the
    /// place is wrong, that rank detects it.
    ///
    /// # Errors
    /// There is no such rank, or its segment was attached.
    pub fn learn_segment(&self, rank: RankId, addr: usize, len: usize) -> Result<(), Error> {
        let known = self.segments.get(rank).is_some_and(|e| !e.local.is_null());
        if rank.0 >= self.size || known || self.has_attached() {
            return Err(Error::op(format!(
                "rank {rank} is not a rank of the job, or its segment was attached: only bound segments can be announced"
            )));
        }
        self.regions.goes_away();
        let entry = SegmentEntry { addr, size: len, local: core::ptr::null_mut() };
        self.segments.change(|all| all[rank.0 as usize] = entry);
        Ok(())
    }

    /// The segment of a rank, if it is known: after [`Rank::attach`], or after it was bound or announced.
    #[inline]
    pub fn segment_of(&self, rank: RankId) -> Option<&SegmentEntry> {
        self.segments.get(rank)
    }

    /// The segments of all ranks.
    ///
    /// # Panics
    /// Before [`Rank::attach`], and before any segment was bound.
    #[inline]
    pub fn table(&self) -> &SegmentTable {
        self.segments.known().expect("Rank::attach comes before any use of segments")
    }

    /// Takes `bytes` bytes of every rank's segment, at the same offset everywhere, aligned to `align` (a
    /// power of two), and returns the offset.
    ///
    /// # Collective
    /// All ranks call it in the same order with the same arguments; nothing is exchanged and nobody waits.
    ///
    /// # Errors
    /// The own segment is too small, or not attached yet.
    pub fn allocate(&self, bytes: u64, align: u64) -> Result<u64, Error> {
        let Some(own) = self.segments.known().and_then(|t| t.get(self.id)) else {
            return Err(Error::op("memory of a segment can be allocated only after Rank::attach"));
        };
        let mut heap = lock(&self.heap);
        let size = heap.1.min(own.size as u64);
        let used = &mut heap.0;
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

    /// [`allocate`](Self::allocate) of room for `count` elements, all zero at first: the address in this
    /// rank's segment; `on` gives that in another's.
    ///
    /// # Collective
    /// As [`allocate`](Self::allocate).
    ///
    /// # Errors
    /// As [`allocate`](Self::allocate).
    pub fn allocate_array<T: Shared>(&self, count: usize) -> Result<GlobalPtr<T>, Error> {
        let bytes = count.checked_mul(size_of::<T>()).map_or(u64::MAX, |bytes| bytes as u64);
        Ok(GlobalPtr::new(self.id, self.allocate(bytes, align_of::<T>() as u64)?))
    }

    /// Where `count` elements lie in this process, for programs that work on them in place; `None` where they
    /// are not mapped here or not inside the segment. Peers may write there at any time.
    pub fn address<T: Shared>(&self, at: GlobalPtr<T>, count: usize) -> Option<*mut T> {
        match self.segments.known()?.mapped_at(at.rank(), at.offset(), count.checked_mul(size_of::<T>())?)? {
            Place::Here(p) => Some(p.cast()),
            Place::Away => None,
        }
    }

    /// Has [`allocate`](Self::allocate) take from this part of the segments from now on: for programs that
    /// use the rest as they like.
    ///
    /// # Collective
    /// As [`allocate`](Self::allocate).
    pub fn allocate_from(&self, part: core::ops::Range<u64>) {
        *lock(&self.heap) = (part.start, part.end);
    }

    /// Makes progress: runs the handlers of messages that have arrived, a bounded number of them. Returns how
    /// many.
    #[inline]
    pub fn poll(&self) -> usize {
        let done = self.poll_messages() + self.poll_rest();
        self.advance();
        done
    }

    /// Advances barriers and collective operations after messages have arrived.
    #[inline]
    fn advance(&self) {
        if self.neighbourhood.leads() {
            self.advance_rounds();
        }
        self.advance_collectives();
    }

    /// [`Rank::poll`] without collectives, which may call functions of the program.
    pub(crate) fn poll_beside_program(&self) -> usize {
        let done = self.poll_messages() + self.poll_rest();
        if self.neighbourhood.leads() {
            self.advance_rounds();
        }
        done
    }

    /// The policy of this rank's waits.
    #[inline]
    pub fn wait_policy(&self) -> WaitPolicy {
        self.policy
    }

    /// A wait of this rank that begins now, with the given policy.
    #[inline]
    pub fn begin_wait(&self, policy: WaitPolicy) -> Waiter {
        Waiter::new(policy, self.presence)
    }

    /// Polls until `condition` holds. `what` names the wait in reports.
    ///
    /// The condition may become true by a handler, by another thread, or by a store of a peer into shared
    /// memory.
    #[inline]
    pub fn wait_until(&self, what: &'static str, condition: impl FnMut() -> bool) {
        self.wait_for(what, None, condition);
    }

    /// [`Rank::wait_until`] for conditions that only other ranks can fulfil, such as the end of a meeting. It
    /// handles messages even if the condition holds already; otherwise a rank that is last in every meeting
    /// would never answer.
    #[inline]
    pub fn poll_until(&self, what: &'static str, mut condition: impl FnMut() -> bool) {
        if condition() {
            self.poll_messages();
        } else {
            self.wait_in(what, None, true, condition);
        }
    }

    /// [`Rank::wait_until`] with a known peer that will end the wait.
    #[inline]
    pub fn wait_for(&self, what: &'static str, peer: Option<RankId>, mut condition: impl FnMut() -> bool) {
        if !condition() {
            self.wait_in(what, peer, peer.is_some(), condition);
        }
    }

    /// Waits for a condition that was checked and does not hold yet.
    #[inline]
    fn wait_in(
        &self,
        what: &'static str,
        peer: Option<RankId>,
        for_others: bool,
        mut condition: impl FnMut() -> bool,
    ) {
        self.check_context("wait");
        let mut waiter = self.begin_wait(self.policy);
        waiter.for_others = for_others;
        // Usually a message ends the wait. So messages are polled last, and only the condition is checked
        // after them. Every wait has polled everything before it ends.
        let mut done = self.poll_rest();
        loop {
            done += self.poll_messages();
            self.advance();
            if condition() {
                return;
            }
            if done > 0 {
                waiter.progressed();
            } else {
                let turns = waiter.turns();
                self.pause_for(&mut waiter, what, peer);
                if let Some(waited) = waiter.asleep_for() {
                    self.ask_about_collectives(waited);
                }
                // Other ranks have run meanwhile, and those that share memory need no message.
                if waiter.turns() > turns && condition() {
                    return;
                }
            }
            done = self.poll_rest();
            if done > 0 && condition() {
                return;
            }
        }
    }
}

/// What the ranks of a neighbourhood share beside segments: links between them, and the tables of their
/// teams. It lies in the host's memory from `offset` on, which is behind it afterwards.
fn map_shared(
    boot: &Boot,
    neighbourhood: &Neighbourhood,
    threading: Threading,
    processors: usize,
    offset: &mut u64,
) -> Result<(Option<Grid>, Option<&'static Tables>), Error> {
    let shm = boot.shm.as_fd();
    let (part, full) = neighbourhood.part;
    let parts = u64::from((boot.host_ranks.len() as u32).div_ceil(full));
    let layout = |ranks, offset| GridLayout::new(ranks, am::MAX_MEDIUM, offset).on(processors);
    let room = if full > 1 { layout(full, 0).bytes() } else { 0 };
    let links = *offset + u64::from(part) * room;
    let teams = *offset + parts * room;
    let bytes = Tables::BYTES.next_multiple_of(map::PAGE_BYTES);
    *offset = teams + bytes as u64;
    if neighbourhood.len() == 1 {
        return Ok((None, None));
    }
    let grid = Grid::map(shm, layout(neighbourhood.len(), links), neighbourhood.me, threading)?;
    map::grow(shm, teams + bytes as u64)?;
    let at = map::map_shared(shm, teams, bytes)?;
    #[expect(unsafe_code, reason = "overlays tables on a fresh mapping")]
    // SAFETY: just mapped, for as long as the process lives (ranks with neighbours are not taken apart), zero
    // at first.
    let tables = unsafe { Tables::at(at) };
    Ok((Some(grid), Some(tables)))
}

/// Prepares a rank of a host that has more ranks than processors.
fn crowded(own: usize, stations: &'static [Station], processors: usize) -> &'static Presence {
    // Ranks with adjacent numbers often communicate, so they start on different processors.
    map::go_to_processor(own as u32);
    // A rank lives as long as its process.
    Box::leak(Box::new(Presence::new(own, stations, processors)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Equal segments are one mapping, however many there are; a hole wider than what rounding makes stays
    /// one.
    #[test]
    fn equal_segments_are_mapped_together() {
        let stride = 2 * SEGMENT_ALIGN;
        let run = |first, bytes| Run { first, bytes };
        let near: Vec<u32> = (7..1007).collect();
        let size = stride - 4096;
        assert_eq!(Run::all(&near, &[size; 1000], stride), [run(0, 999 * stride + size)]);
        assert_eq!(Run::all(&near, &[0; 1000], stride), []);
        let sizes = [stride, stride, stride - SEGMENT_ALIGN, stride, 0, 4096];
        let runs = [run(0, 2 * stride + stride - SEGMENT_ALIGN), run(3, stride), run(5, 4096)];
        assert_eq!(Run::all(&near[..6], &sizes, stride), runs);
        // The place of another rank, on another host, is between.
        assert_eq!(Run::all(&[0, 1, 3], &[stride; 3], stride), [run(0, 2 * stride), run(2, stride)]);
    }
}
