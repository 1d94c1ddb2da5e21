//! How a wire starts: what a launcher has told becomes links, a conduit, and words in shared memory.

use crate::am::aside::Progress;
use crate::am::{self, Served};
use crate::barrier::central::Phases;
use crate::barrier::rounds;
use crate::boot::Exchange;
use crate::conduit::{Conduit, MIN_FRAME, Meanwhile, OpenContext};
use crate::config::Config;
use crate::death::MortalExchange;
use crate::error::Error;
use crate::event::Ops;
use crate::lock::{Threading, Turns};
use crate::meeting::{LOOK_FOR_DEATHS, MAX_SLEEP, Meeting};
use crate::neighbourhood::Neighbourhood;
use crate::prim::{AtomicU32, AtomicU64};
use crate::report::Beside;
use crate::segment::SegmentTable;
use crate::shm::Host;
use crate::shm::deaths::Fate;
use crate::shm::grid::{Grid, GridLayout};
use crate::shm::map;
use crate::transfer::Transfers;
use crate::wait::{Presence, Station, WaitPolicy};
use crate::wire::Wire;
use crate::{Boot, RankId};
use core::ops::RangeInclusive;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, AtomicUsize};
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, Once, OnceLock};

/// Opens the conduit that was chosen for a job; `Ok(None)` if the ranks of this host need none.
pub type OpenConduit<'a> = &'a dyn Fn(&OpenContext<'_>) -> Result<Option<Box<dyn Conduit>>, Error>;

/// The messages and the shared memory that the layer above declares when it starts a wire.
pub struct AboveSays {
    /// Who serves its messages, by their numbers.
    pub messages: &'static am::Serve,
    /// Bytes of shared memory that it needs on each host that has more than one rank; zero at first.
    pub shared_bytes: usize,
}

impl AboveSays {
    /// The table of these messages, by ranges of their numbers, and of those of the wire. It is the same for
    /// all ranks, so it is made once, as a constant.
    pub const fn serve(messages: &[(RangeInclusive<u8>, Served)]) -> am::Serve {
        let mut all = [am::UNSERVED; am::FIRST_LIBRARY_HANDLER as usize];
        all[rounds::ROUND as usize] = rounds::MESSAGES;
        let mut i = 0;
        while i < messages.len() {
            let (numbers, served) = &messages[i];
            let mut number = *numbers.start() as usize;
            while number <= *numbers.end() as usize {
                all[number] = *served;
                number += 1;
            }
            i += 1;
        }
        all
    }
}

/// A wire that has started.
#[derive(Debug)]
pub struct Started {
    /// The wire, which its owner moves to where it stays.
    pub wire: Box<Wire>,
    /// The shared memory that the layer above asked for, if this rank has neighbours. It is mapped as long as
    /// the process lives.
    pub shared: Option<NonNull<u8>>,
    /// The threads of the process before the wire was made: see [`Wire::note_threads`].
    pub threads_before: Vec<u32>,
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

impl Wire {
    /// Starts a rank's wire from what its launcher told it.
    ///
    /// # Collective
    /// Over all ranks of the job; returns when all ranks of this host are there.
    ///
    /// # Safety
    /// 1. The memory files of `boot` were empty when the job began, or nothing uses any more what is in them
    ///    where they say so ([`HostFile::used`](crate::boot::HostFile)); and they are used by nothing
    ///    but the ranks of that job, each of which starts once (owed by the launcher: a second rank of the
    ///    same number would send and receive on the same links).
    /// 2. The caller gives references to the wire to nobody who does not keep the rules of what it calls
    ///    there: numbers of ops and transfers are used as [`event`](crate::event) and
    ///    [`transfer`](crate::transfer) say, entries of the segment table are memory that is there, and
    ///    addresses in [`Outgoing`](crate::am::Outgoing) are valid (owed by the layer above).
    ///
    /// If the conduit cannot be opened, the job ends, and one of the ranks prints the reason.
    ///
    /// # Errors
    /// Shared memory cannot be created or mapped.
    #[expect(unsafe_code, reason = "declares the obligation; the body has nothing unsafe")]
    pub unsafe fn start(
        mut boot: Boot,
        config: Config,
        threading: Threading,
        open: OpenConduit<'_>,
        above: &AboveSays,
    ) -> Result<Started, Error> {
        let (id, size) = (RankId(boot.rank), boot.size);
        let threads_before = crate::threads::all();
        let on_host = boot.host_ranks.len() as u32;
        let progress = config.progress_thread && size > 1;
        let parallel = threading == Threading::Parallel;
        // With it, two threads of the rank are in the runtime.
        let threading = if progress { Threading::Parallel } else { threading };
        let own = place_on_host(&boot)?;
        let shm = boot.shm.file()?;
        // The monitor prints the message once.
        let no_memory = |why| crate::job::refuse_early(&boot, why);
        let host = Host::map(&boot.shm, on_host).map_err(no_memory)?;
        let (header, mortal) = (host.header, crate::death::possible(host.header));
        let fates = if mortal { Fate::map(&boot.shm, on_host, size).map_err(no_memory)? } else { &[] };
        let exchange = boot.exchange.take();
        boot.exchange = exchange.map(|inner| match mortal {
            true => Box::new(MortalExchange { inner, header, fates }),
            false => inner,
        });
        let no_memory = |why| crate::job::refuse_early(&boot, why);
        host.tell_processors();
        let mut shm_offset = boot.shm.at + Host::bytes(on_host);
        let longest = if mortal { LOOK_FOR_DEATHS } else { MAX_SLEEP };
        shm_offset += if mortal { Fate::bytes(size) } else { 0 };
        let meeting = Meeting::new(shm_offset, &host.header.start, own as u32, on_host, longest);
        shm_offset += Meeting::bytes(on_host).next_multiple_of(map::PAGE_BYTES as u64);
        let waits = |first| {
            let what = "the other ranks of this host to start";
            if let Some(died) = crate::death::look_at_start(host.header, fates) {
                let why = Error::job(format!("{died}, before all ranks had started"));
                crate::job::refuse(&boot, host.header, &why);
            }
            boot.overseer.as_ref().is_some_and(|overseer| overseer.idle(what, first))
        };
        let on_board = meeting.exchange(shm.as_fd(), &waits);
        let exchange: &dyn Exchange = boot.exchange.as_deref().unwrap_or(&on_board);
        let neighbourhood = Neighbourhood::new(id.0, size, &boot.host_ranks, config.neighborhood, |m| {
            exchange.all_gather_shared(m)
        })?;
        meeting.meet(&waits);
        let common = host.processors();
        crate::wait::share(common);
        let processors = common.iter().map(|word| word.count_ones() as usize).sum::<usize>().max(1);
        let room = (above.shared_bytes, &mut shm_offset);
        let (grid, shared) =
            map_shared(&boot, &neighbourhood, threading, processors, room).map_err(no_memory)?;
        let context = OpenContext {
            rank: id,
            size,
            config: &config,
            threading,
            shm: shm.as_fd(),
            shm_offset,
            host: &boot.host_ranks,
            neighbours: neighbourhood.members(),
            exchange,
        };
        // Usually all ranks find the same error.
        let conduit = open_conduit(open, &context, &neighbourhood)
            .unwrap_or_else(|why| crate::job::refuse(&boot, host.header, &why));
        let lasts =
            conduit.as_ref().map_or(neighbourhood.is_whole_job(), |conduit| conduit.survival().is_some());
        if mortal && !lasts {
            let network = conduit.as_ref().map_or("none", |conduit| conduit.name());
            let why = format!(
                "--on-death: not with the network that connects ranks here ({network}): jobs survive their ranks over shared memory and \
                 over udp"
            );
            crate::job::refuse(&boot, host.header, &Error::job(why));
        }
        let policy = WaitPolicy::new(config.sharers.unwrap_or(on_host), processors, config.spin);
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
            idles: AtomicU32::new(0),
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
            fates,
            meeting,
            grid,
            polls_both: conduit.as_deref().is_some_and(Conduit::polls_both),
            conduit,
            progress: progress.then(|| Progress::new(parallel, on_host as usize, processors)),
            parallel,
            own_threads: OnceLock::new(),
            beside: Beside::default(),
            forgotten: Arc::default(),
            giving_up: Once::new(),
            segments: SegmentTable::new(size),
            handlers: OnceLock::new(),
            serve: above.messages,
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
        Ok(Started { wire: Box::new(wire), shared, threads_before })
    }

    /// Starts what runs beside the program, and tells the monitor that the rank is here: once the wire has
    /// its address, and the layer above it is known.
    pub fn begin(&'static self) {
        if self.has_monitor() || self.boot.overseer.is_none() {
            crate::question::listen();
        }
        self.tell_attached();
        self.start_progress();
    }

    /// Tells the threads that the runtime has made from those of the program: all that were not there
    /// `before` the wire was made.
    pub fn note_threads(&self, before: &[u32]) {
        let made = crate::threads::all().into_iter().filter(|task| !before.contains(task));
        self.own_threads.get_or_init(|| made.collect());
    }

    /// A step of a wait for a meeting at start, which unwinds if a rank has died.
    fn waits_for_start(&self, first: bool) -> bool {
        let what = "the other ranks of this host to start";
        if self.is_in_vain(None) {
            self.unwind(what);
        }
        let overseer = self.boot.overseer.as_ref();
        let meanwhile = if first { Meanwhile::Stored } else { Meanwhile::Nothing };
        overseer.is_some_and(|overseer| overseer.idle(what, first)) || self.idle(what, meanwhile)
    }

    /// Returns when all ranks of the job are here. For start-up: it runs no handlers.
    pub fn meet(&self) -> Result<(), Error> {
        match &self.boot.exchange {
            Some(exchange) => exchange.all_gather_shared(&[]).map(drop),
            None => {
                self.meeting.meet(&|first| self.waits_for_start(first));
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
    pub fn gather_number(&self, mine: u64) -> Result<Arc<Vec<u64>>, Error> {
        let Some(exchange) = &self.boot.exchange else {
            let (shm, idle) = (self.boot.shm.file()?, |first| self.waits_for_start(first));
            return self.meeting.gather_number(shm.as_fd(), mine, &idle).map(Arc::new);
        };
        exchange.all_gather_shared(&mine.to_le_bytes())?.numbers(self.size)
    }

    /// Whether this rank takes turns with others ([`Overseer::takes_turns`](crate::boot::Overseer)).
    pub fn takes_turns(&self) -> bool {
        self.boot.overseer.as_ref().is_some_and(|overseer| overseer.takes_turns())
    }

    /// [`gather_number`](Self::gather_number) of a rank that takes turns: it calls `serve`, which handles
    /// messages and returns how many, until all ranks are here.
    ///
    /// # Collective
    /// As [`gather_number`](Self::gather_number).
    ///
    /// # Errors
    /// As [`gather_number`](Self::gather_number).
    pub fn gather_number_serving(
        &self,
        mine: u64,
        serve: &(dyn Fn() -> usize + Sync),
    ) -> Result<Arc<Vec<u64>>, Error> {
        if let Some(exchange) = &self.boot.exchange {
            return exchange.all_gather_serving(&mine.to_le_bytes(), serve)?.numbers(self.size);
        }
        while serve() > 0 {}
        // The others are told of the arrival before anything lets time pass. After a wait, `serve` lets time
        // pass only if it handles something.
        let idle = |first: bool| !first && serve() > 0 || self.waits_for_start(first);
        self.meeting.gather_number(self.boot.shm.file()?.as_fd(), mine, &idle).map(Arc::new)
    }
}

/// Maps the memory that the ranks of a neighbourhood share beside segments: links between them, and the
/// memory of the layer above. It begins at `offset` in the host's memory; `offset` is then moved to its
/// end.
fn map_shared(
    boot: &Boot,
    neighbourhood: &Neighbourhood,
    threading: Threading,
    processors: usize,
    (bytes_above, offset): (usize, &mut u64),
) -> Result<(Option<Grid>, Option<NonNull<u8>>), Error> {
    let shm = boot.shm.file()?;
    let shm = shm.as_fd();
    let (part, full) = neighbourhood.part;
    let parts = u64::from((boot.host_ranks.len() as u32).div_ceil(full));
    let layout = |ranks, offset| GridLayout::new(ranks, am::MAX_MEDIUM, offset).on(processors);
    let room = if full > 1 { layout(full, 0).bytes() } else { 0 };
    let links = *offset + u64::from(part) * room;
    let behind = *offset + parts * room;
    let bytes = bytes_above.next_multiple_of(map::PAGE_BYTES);
    *offset = behind + bytes as u64;
    if neighbourhood.len() == 1 {
        return Ok((None, None));
    }
    let grid = Grid::map(shm, layout(neighbourhood.len(), links), neighbourhood.me, threading)?;
    map::grow(shm, behind + bytes as u64)?;
    let at = map::map_shared(shm, behind, bytes)?;
    Ok((Some(grid), NonNull::new(at)))
}

/// Prepares a rank of a host that has more ranks than processors.
fn crowded(own: usize, stations: &'static [Station], processors: usize) -> &'static Presence {
    // Ranks with adjacent numbers often communicate, so they start on different processors.
    map::go_to_processor(own as u32);
    // A rank lives as long as its process.
    Box::leak(Box::new(Presence::new(own, stations, processors)))
}
