//! How a rank starts, and how it is taken apart.

use super::{Heap, Rank, lock};
use crate::am::aside::Progress;
use crate::barrier::central::Phases;
use crate::barrier::rounds;
use crate::boot::Exchange;
use crate::coll::table::Tables;
use crate::coll::{Collectives, agree, mail};
use crate::conduit::{Conduit, MIN_FRAME, OpenContext};
use crate::config::Config;
use crate::error::Error;
use crate::event::Ops;
use crate::lock::{Threading, Turns};
use crate::meeting::Meeting;
use crate::neighbourhood::Neighbourhood;
use crate::prim::{AtomicU32, AtomicU64};
use crate::region::{self, Regions};
use crate::report::Beside;
use crate::segment::SegmentTable;
use crate::shm::Host;
use crate::shm::grid::{Grid, GridLayout};
use crate::shm::map;
use crate::transfer::Transfers;
use crate::wait::{Presence, Station, WaitPolicy};
use crate::wire::Wire;
use crate::{Boot, RankId, am, amref, vis};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::{Mutex, OnceLock};

/// Opens the conduit that was chosen for a job; `Ok(None)` if the ranks of this host need none.
pub type OpenConduit<'a> = &'a dyn Fn(&OpenContext<'_>) -> Result<Option<Box<dyn Conduit>>, Error>;

/// Who serves the core's own messages.
fn serve() -> am::Serve {
    let mut all = [am::UNSERVED; am::FIRST_LIBRARY_HANDLER as usize];
    all[usize::from(amref::FIRST)..=usize::from(amref::LAST)].fill(amref::MESSAGES);
    all[usize::from(rounds::ROUND)] = rounds::MESSAGES;
    all[usize::from(mail::FIRST)..=usize::from(mail::LAST)].fill(mail::MESSAGES);
    all[usize::from(agree::FIRST)..=usize::from(agree::LAST)].fill(agree::MESSAGES);
    all[usize::from(region::ops::FIRST)..=usize::from(region::ops::LAST)].fill(region::ops::MESSAGES);
    all[usize::from(vis::FIRST)..=usize::from(vis::LAST)].fill(vis::MESSAGES);
    all
}

/// The place of a rank among the ranks of its host, if the launcher gave a job that can start.
fn place_on_host(boot: &Boot) -> Result<usize, Error> {
    let Some(own) = boot.host_ranks.iter().position(|r| *r == boot.rank) else {
        return Err(Error::job(format!("the launcher did not put rank {} on its own host", boot.rank)));
    };
    if boot.exchange.is_none() && (boot.host_ranks.len() as u32) < boot.size {
        return Err(Error::job("the launcher gave no exchange for a job on several hosts"));
    }
    Ok(own)
}

/// Opens the conduit of a job of more than one rank.
fn open_conduit(
    open: OpenConduit<'_>,
    context: &OpenContext<'_>,
    near: &Neighbourhood,
) -> Result<Option<Box<dyn Conduit>>, Error> {
    let conduit = if context.size > 1 { open(context)? } else { None };
    check_conduit(conduit.as_deref(), near, context.size)?;
    Ok(conduit)
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
    let carries = |r| c.limits(RankId(r), am::MAX_ARGUMENTS).max_frame;
    match (0..size).find(|r| carries(*r) < MIN_FRAME) {
        None => Ok(()),
        Some(r) => {
            let (name, n) = (c.name(), carries(r));
            Err(Error::job(format!("conduit {name}: frames of {n} bytes, {MIN_FRAME} are needed")))
        }
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
        let own = place_on_host(&boot)?;
        // The monitor prints the message once.
        let no_memory = |why| crate::job::refuse_early(&boot, why);
        let host = Host::map(&boot.shm, on_host).map_err(no_memory)?;
        host.tell_processors();
        let mut shm_offset = boot.shm.at + Host::bytes(on_host);
        let meeting = Meeting::new(shm_offset, &host.header.start, own as u32, on_host);
        shm_offset += Meeting::bytes(on_host).next_multiple_of(map::PAGE_BYTES as u64);
        let on_board = meeting.exchange(boot.shm.as_fd());
        let exchange: &dyn Exchange = boot.exchange.as_deref().unwrap_or(&on_board);
        let neighbourhood = Neighbourhood::new(id.0, size, &boot.host_ranks, config.neighborhood, |m| {
            exchange.all_gather_shared(m)
        })?;
        meeting.meet(&|| false);
        let common = host.processors();
        crate::wait::share(common);
        let processors = common.iter().map(|word| word.count_ones() as usize).sum::<usize>().max(1);
        let (grid, tables) =
            map_shared(&boot, &neighbourhood, threading, processors, &mut shm_offset).map_err(no_memory)?;
        let context = OpenContext {
            rank: id,
            size,
            config: &config,
            threading,
            shm: boot.shm.as_fd(),
            shm_offset,
            host: &boot.host_ranks,
            neighbours: neighbourhood.members(),
            exchange,
        };
        // Usually all ranks find the same error.
        let conduit = open_conduit(open, &context, &neighbourhood)
            .unwrap_or_else(|why| crate::job::refuse(&boot, host.header, &why));
        let policy = WaitPolicy::new(on_host, processors, config.spin);
        let policy = if conduit.is_some() { policy.over_network() } else { policy };
        // A rank lives as long as its process.
        let presence = (on_host as usize > processors).then(|| crowded(own, host.stations, processors));
        let alone = neighbourhood.len() == 1 && matches!(threading, Threading::Serial(_));
        let leader = &host.ranks[neighbourhood.on_host(0) as usize];
        let rounds = rounds::Rounds::new(neighbourhood.leaders().0.len());
        let wire = Wire {
            above: OnceLock::new(),
            has_completions: AtomicBool::new(false),
            turns_wanted: AtomicUsize::new(0),
            questions: AtomicUsize::new(0),
            lost_to: AtomicU32::new(0),
            nic_barrier: OnceLock::new(),
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
            progress: progress.then(|| Progress::new(parallel, on_host as usize, processors)),
            parallel,
            own_threads: OnceLock::new(),
            beside: Beside::default(),
            forgotten: Arc::default(),
            segments: SegmentTable::new(size),
            handlers: (0..256).map(|_| OnceLock::new()).collect(),
            serve: serve(),
            ops: Ops::new(),
            transfers: Transfers::new(),
            parts: am::parts::Parts::default(),
            phases: Turns::new(threading, Phases::default()),
            barrier_look: AtomicU64::new(0),
            rounds,
            attaching: AtomicU32::new(0),
            mappings: Mutex::new(vec![host.mapping]),
            config,
        };
        let rank = Rank {
            wire,
            native: OnceLock::new(),
            processes: OnceLock::new(),
            regions: Arc::new(Regions::new()),
            coll: Collectives::new(),
            tables,
            team_all: OnceLock::new(),
            max_global_segment: OnceLock::new(),
            heap: Mutex::new(Heap { used: 0, end: u64::MAX, kept: 0 }),
            agreeing: Mutex::default(),
            own: AtomicPtr::default(),
        };
        let rank = rank.settle();
        rank.begin(&threads_before)?;
        Ok(rank)
    }

    /// Gives the rank an address that it keeps until it is [dismantled](Rank::dismantle).
    fn settle(self) -> &'static Rank {
        let rank = Box::into_raw(Box::new(self));
        #[expect(unsafe_code, reason = "a rank lives until somebody dismantles it")]
        // SAFETY: just made, and given up by `dismantle` only.
        unsafe {
            let settled: &'static Rank = &*rank;
            settled.own.store(rank, crate::prim::Ordering::Relaxed);
            settled.above.get_or_init(|| settled);
            settled
        }
    }

    /// This rank, for as long as it lives: what it makes may keep the reference.
    pub(super) fn settled(&self) -> &'static Rank {
        #[expect(unsafe_code, reason = "a rank lives until somebody dismantles it")]
        // SAFETY: `settle` has made every rank that anybody has, and noted its address before it gave it out;
        // only `dismantle` frees it, whose caller vouches that nobody has it any more.
        unsafe {
            &*self.own.load(crate::prim::Ordering::Relaxed)
        }
    }

    /// Meets the others, and starts what runs beside the program. `threads_before`: those of the process
    /// before the rank was made.
    fn begin(&'static self, threads_before: &[u32]) -> Result<(), Error> {
        let mine = self.max_local_segment();
        let limits = self.gather_number(mine as u64)?;
        self.max_global_segment.get_or_init(|| limits.iter().fold(mine, |least, n| least.min(*n as usize)));
        if self.has_monitor() || self.boot.overseer.is_none() {
            crate::question::listen();
        }
        self.tell_attached();
        self.start_progress();
        self.make_barrier_team();
        let made = crate::threads::all().into_iter().filter(|task| !threads_before.contains(task));
        self.own_threads.get_or_init(|| made.collect());
        Ok(())
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
        // SAFETY: (1).
        let rank = unsafe { (*rank).own.load(crate::prim::Ordering::Relaxed) };
        // Teams use their rank when they end, so they end while all of it is there.
        // SAFETY: (1): nobody else uses the two fields.
        let (team, barrier) =
            unsafe { (OnceLock::take(&mut (*rank).team_all), OnceLock::take(&mut (*rank).wire.nic_barrier)) };
        drop((team, barrier));
        // SAFETY: (1): made by Box::into_raw in `settle`.
        let rank = unsafe { Box::from_raw(rank) };
        assert!(rank.neighbourhood.len() == 1, "a rank with neighbours is not taken apart");
        assert!(rank.progress.is_none(), "a rank with a progress thread is not taken apart");
        let mappings = core::mem::take(&mut *lock(&rank.mappings));
        drop(rank);
        for mapping in mappings {
            // SAFETY: (1): who could have used them is gone.
            unsafe { map::give_back(mapping) };
        }
    }

    /// Name of a wait for a meeting at start.
    fn waits_for_start(&self) -> bool {
        self.idle("the other ranks of this host to start")
    }

    /// Returns when all ranks of the job are here. For start-up: it runs no handlers.
    pub(super) fn meet(&self) -> Result<(), Error> {
        match &self.boot.exchange {
            Some(exchange) => exchange.all_gather_shared(&[]).map(drop),
            None => {
                self.meeting.meet(&|| self.waits_for_start());
                Ok(())
            }
        }
    }

    /// The ranks that give another number than rank 0: for what all ranks must have in common before they
    /// attach segments. It runs no handlers.
    ///
    /// # Collective
    /// Over all ranks; acts as a barrier.
    ///
    /// # Errors
    /// The launcher cannot be reached, or the job is ending.
    pub fn unlike(&self, mine: u64) -> Result<Vec<RankId>, Error> {
        let all = self.gather_number(mine)?;
        Ok(self.ranks().filter(|rank| all[rank.0 as usize] != all[0]).collect())
    }

    /// A number from every rank, by rank; also a barrier. For start-up: it runs no handlers.
    pub(super) fn gather_number(&self, mine: u64) -> Result<Arc<Vec<u64>>, Error> {
        let Some(exchange) = &self.boot.exchange else {
            let shm = self.boot.shm.as_fd();
            return self.meeting.gather_number(shm, mine, &|| self.waits_for_start()).map(Arc::new);
        };
        exchange.all_gather_shared(&mine.to_le_bytes())?.numbers(self.size)
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
