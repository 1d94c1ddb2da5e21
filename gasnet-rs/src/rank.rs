//! The [`Rank`] object, which holds all state of one rank of a job (design decision D11).

mod agreed;
mod segments;
mod start;
mod waiting;

pub use start::OpenConduit;

use crate::am::Handler;
use crate::barrier::Consensus;
use crate::coll::Collectives;
use crate::coll::members::Members;
use crate::coll::table::Tables;
use crate::conduit::Conduit;
use crate::config::Config;
use crate::context::Forgotten;
use crate::event::Ops;
use crate::lock::Turns;
use crate::meeting::Meeting;
use crate::native::Native;
use crate::neighbourhood::Neighbourhood;
use crate::prim::{AtomicU32, AtomicU64};
use crate::processes::Processes;
use crate::progress::Progress;
use crate::region::Regions;
use crate::report::Beside;
use crate::segment::SegmentTable;
use crate::shm::grid::Grid;
use crate::shm::map;
use crate::shm::{HostHeader, RankBlock};
use crate::team::Team;
use crate::transfer::Transfers;
use crate::wait::{Presence, WaitPolicy};
use crate::{Boot, RankId, am, amref};
use core::fmt;
use core::sync::atomic::AtomicPtr;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// One rank of a job.
///
/// A child that the process forks is not the rank: it may read what is mapped, and must not call the runtime.
///
/// Every method can be called from any thread (unless the rank was made
/// [`Threading::Serial`](crate::Threading::Serial), a promise that only unsafe code can make).
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
    pub(crate) beside: Beside,
    pub(crate) forgotten: Forgotten,
    pub(crate) segments: SegmentTable,
    pub(crate) handlers: Box<[OnceLock<Handler>]>,
    pub(crate) serve: am::Serve,
    pub(crate) ops: Ops,
    pub(crate) regions: Arc<Regions>,
    pub(crate) transfers: Transfers,
    pub(crate) parts: am::parts::Parts,
    pub(crate) phases: Turns<Phases>,
    /// A hint for waits in a barrier: [`Rank::barrier_test`].
    pub(crate) barrier_look: AtomicU64,
    pub(crate) rounds: amref::Rounds,
    pub(crate) coll: Collectives,
    /// Tables that teams of this host share, if there are neighbours.
    pub(crate) tables: Option<&'static Tables>,
    pub(crate) team_all: OnceLock<Arc<Members>>,
    /// The team of the job's barrier, if NICs carry it out.
    pub(crate) nic_barrier: OnceLock<Team>,
    /// Set when the ranks have met: [`Rank::max_global_segment`].
    max_global_segment: OnceLock<usize>,
    heap: Mutex<Heap>,
    /// Held while the ranks agree on a place: proposals and agreements come in one order.
    agreeing: Mutex<()>,
    /// Whether this rank has a segment: see `segments.rs`.
    attaching: AtomicU32,
    /// Address and length of mappings that only [`Rank::dismantle`] removes.
    mappings: Mutex<Vec<(usize, usize)>>,
    /// The box of this rank, for the same purpose.
    own: AtomicPtr<Rank>,
}

/// What of this rank's segment is allocated.
#[derive(Debug)]
struct Heap {
    /// Bytes from the start that are allocated, and the end of the part that may be.
    used: u64,
    end: u64,
    /// Bytes of the kept memory that are allocated.
    kept: u64,
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

/// A panic leaves nothing half done: the runtime's locks guard steps that do not panic, and what a handler or
/// a function of a reduction has begun when it panics ends the job.
impl std::panic::UnwindSafe for Rank {}
impl std::panic::RefUnwindSafe for Rank {}

impl fmt::Debug for Rank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rank({} of {})", self.id, self.size)
    }
}

fn lock<T>(m: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    m.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Rank {
    /// This rank's number.
    #[inline]
    pub fn id(&self) -> RankId {
        self.id
    }

    /// Whether any number of threads may call the runtime at the same time
    /// ([`Threading::Parallel`](crate::Threading::Parallel)).
    #[inline]
    pub fn is_parallel(&self) -> bool {
        self.parallel
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

    /// The job's time: the host's monotonic clock, or that of a conduit that has its own.
    pub fn now(&self) -> Duration {
        self.conduit.as_ref().and_then(|c| c.clock()).unwrap_or_else(map::monotonic)
    }
}
