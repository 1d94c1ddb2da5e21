//! A simulated job: its ranks, the program they run, and the result.
//!
//! ```
//! use gasnet_sim::{Cluster, CostModel};
//!
//! let report = Cluster::new(4, CostModel::modern_ib())
//!     .seed(7)
//!     .run(|rank| {
//!         rank.barrier();
//!         rank.id().0
//!     })
//!     .unwrap();
//! assert_eq!(report.results, [0, 1, 2, 3]);
//! ```

use crate::choice::Chooser;
use crate::conduit::SimConduit;
use crate::cost::CostModel;
use crate::course::Step;
use crate::crash::CrashWatch;
use crate::event::{Activity, Left, Moment, WorldEvent};
use crate::failure::{Cause, Failure, Waiting};
use crate::net::Network;
use crate::shared::{Caller, Simulation, set_current};
use crate::sim_nic::SimNic;
use crate::stir::SharedMemory;
use crate::survivors::Survivors;
use crate::time::Time;
use crate::turn::Turn;
use crate::watchdog::Watchdog;
use crate::world::{Hardships, Stats, World};
use crate::{Registration, boot};
use gasnet::{Config, Rank, Threading};
use gasnet_wire::conduit::{Conduit, OpenContext};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

/// So many ranks of a deadlock say where they wait.
const MOST_PLACES: usize = 8;

/// A job to be simulated.
#[derive(Debug, Clone)]
pub struct Cluster {
    pub(crate) ranks: u32,
    pub(crate) model: CostModel,
    pub(crate) network: Network,
    pub(crate) registration: Registration,
    pub(crate) seed: u64,
    pub(crate) segment: usize,
    pub(crate) stack: usize,
    pub(crate) stall: Duration,
    pub(crate) config: Config,
    pub(crate) most_events: u64,
    pub(crate) chooser: Option<Chooser>,
    pub(crate) hardships: Hardships,
    pub(crate) longest_turn: Option<Duration>,
    pub(crate) per_host: u32,
    pub(crate) survive: bool,
}

/// Where ranks live: what the coroutine of a rank runs.
pub(crate) trait Vessel {
    /// The life of a rank, in which it may give its turn back at any time.
    ///
    /// # Errors
    /// It cannot start.
    fn live(&self, rank: u32) -> Result<(), String>;

    /// Where in its program a rank waits, if the vessel knows that better than the rank's stack.
    fn place(&self, rank: u32) -> Option<String> {
        let _ = rank;
        None
    }

    /// Why a rank has ended that waits, if one has: nothing tells the others.
    fn fallen(&self) -> Option<Cause> {
        None
    }

    /// Whether the job is over, though ranks are left; they are stuck or not.
    fn is_over(&self, stuck: bool) -> bool {
        let _ = stuck;
        false
    }
}

/// The closure vessel: the stack is all that a rank has of its own.
impl<F: Fn(u32) -> Result<(), String>> Vessel for F {
    fn live(&self, rank: u32) -> Result<(), String> {
        self(rank)
    }
}

/// The result of a simulation.
#[derive(Debug, Clone)]
pub struct Report<T> {
    /// The result of each rank's program.
    pub results: Vec<T>,
    /// The virtual time it took.
    pub time: Time,
    /// Counters.
    pub stats: Stats,
    /// The trace: equal for two runs that did the same.
    pub trace: u64,
    /// The time of this host that it took.
    pub wall: Duration,
    /// How often a rank kept its turn for long without calling the runtime.
    pub stalls: u32,
    /// The chooser, if there was one.
    pub chooser: Option<Chooser>,
}

impl<T> Report<T> {
    /// The same with nothing for each rank.
    pub fn without_results(self) -> Report<()> {
        self.map(|results| results.iter().map(|_| ()).collect())
    }

    pub(crate) fn map<U>(self, of: impl FnOnce(Vec<T>) -> Vec<U>) -> Report<U> {
        let Report { results, time, stats, trace, wall, stalls, chooser } = self;
        Report { results: of(results), time, stats, trace, wall, stalls, chooser }
    }
}

impl Cluster {
    /// A job of that many ranks, each on a host of its own, with these costs.
    pub fn new(ranks: u32, model: CostModel) -> Cluster {
        let network = model.network.clone();
        Cluster {
            ranks: ranks.max(1),
            model,
            network,
            registration: Registration::None,
            seed: 1,
            segment: 1 << 20,
            stack: 256 << 10,
            stall: Duration::from_secs(5),
            config: Config { quiet: true, ..Config::default() },
            most_events: u64::MAX,
            chooser: None,
            hardships: Hardships::default(),
            longest_turn: None,
            per_host: 1,
            survive: false,
        }
    }

    /// Sets the seed of all random numbers. Default: 1.
    pub fn seed(mut self, seed: u64) -> Cluster {
        self.seed = seed;
        self
    }

    /// Replaces the model's network.
    pub fn network(mut self, network: Network) -> Cluster {
        self.network = network;
        self
    }

    /// Sets how memory is made accessible to the NICs.
    pub fn registration(mut self, registration: Registration) -> Cluster {
        self.registration = registration;
        self
    }

    /// Sets the bytes of each rank's segment. Default: 1 MiB. With 0 the program attaches one.
    pub fn segment(mut self, bytes: usize) -> Cluster {
        self.segment = bytes;
        self
    }

    /// Sets the bytes of each rank's stack. Default: 256 KiB.
    pub fn stack(mut self, bytes: usize) -> Cluster {
        self.stack = bytes;
        self
    }

    /// Sets the time after which a rank that keeps its turn without calling the runtime is reported. Default:
    /// 5 s.
    pub fn stall(mut self, after: Duration) -> Cluster {
        self.stall = after;
        self
    }

    /// Sets the settings of all ranks.
    pub fn config(mut self, config: Config) -> Cluster {
        self.config = config;
        self
    }

    /// Limits the number of events.
    pub fn most_events(mut self, events: u64) -> Cluster {
        self.most_events = events;
        self
    }

    /// Lets this chooser choose what happens next, from the first step of the ranks' programs on: with it
    /// they begin when all ranks have started. Default: the costs choose.
    pub fn chooser(mut self, chooser: Option<Chooser>) -> Cluster {
        self.chooser = chooser;
        self
    }

    /// Ends the simulation when a rank has had the processor for so long without calling the runtime.
    /// Default: it may take as long as it likes.
    pub fn longest_turn(mut self, limit: Option<Duration>) -> Cluster {
        self.longest_turn = limit;
        self
    }

    /// Puts so many ranks, which follow each other, on each host: they are neighbours, whose memory is
    /// shared. What they do there costs no time. Default: 1. Their ranks are never dropped.
    pub fn per_host(mut self, ranks: u32) -> Cluster {
        self.per_host = ranks.clamp(1, self.ranks);
        self
    }

    /// Lets the job go on when a rank dies ([`Hardships::kills`]), as `gasnetrun --on-death shrink` does. Of
    /// ranks that have died there is no result. Default: a death ends the job.
    pub fn survive(mut self, survive: bool) -> Cluster {
        self.survive = survive;
        self
    }

    /// Makes life harder for the ranks.
    pub fn hardships(mut self, hardships: Hardships) -> Cluster {
        self.hardships = hardships;
        self
    }

    /// Runs `program` on every rank, then a barrier.
    ///
    /// # Errors
    /// A deadlock, a panic, or a rank that ended the job. All messages contain the seed.
    pub fn run<T>(&self, program: impl Fn(&Rank) -> T) -> Result<Report<T>, Failure> {
        self.run_ranks(&|rank: &'static Rank| program(rank), true)
    }

    /// [`run`](Self::run) for programs that keep references to their rank, as teams do: the ranks are never
    /// dropped.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_for_good<T>(&self, program: impl Fn(&'static Rank) -> T) -> Result<Report<T>, Failure> {
        self.run_ranks(&program, false)
    }

    fn run_ranks<T>(
        &self,
        program: &dyn Fn(&'static Rank) -> T,
        dismantle: bool,
    ) -> Result<Report<T>, Failure> {
        let fail = |what| Failure::before_start(self.seed, what);
        let shared = self.world();
        if self.registration == Registration::None {
            shared.world().run_ahead(&self.model.host);
        }
        let results: Vec<RefCell<Option<T>>> = (0..self.ranks).map(|_| RefCell::new(None)).collect();
        let no_start = |e: std::io::Error| fail(Cause::Start(e.to_string()));
        let files = match (self.survive, self.per_host) {
            (true, _) if shared.survivors.is_none() => {
                return Err(no_start(std::io::Error::other("no memory for a job that survives deaths")));
            }
            (true, _) => boot::Files::OfWorlds,
            (false, 1) => boot::Files::common(self.ranks).map_err(no_start)?,
            (false, n) => boot::Files::for_hosts(self.ranks, n).map_err(no_start)?,
        };
        let config = match self.survive {
            true => Config { neighborhood: self.per_host, ..self.config.clone() },
            false => self.config.clone(),
        };
        let dismantle = dismantle && !self.survive && self.per_host == 1;
        let ranks: RefCell<Vec<*const Rank>> = RefCell::default();
        let body = |r: u32| -> Result<(), String> {
            let boot = files.boot(&shared, r).map_err(|e| e.to_string())?;
            let conduit = self.conduit(&shared, r);
            let once = RefCell::new(Some(conduit));
            let open = |_: &OpenContext<'_>| Ok(once.take().map(|c| Box::new(c) as Box<dyn Conduit>));
            #[expect(unsafe_code, reason = "vouches for the files")]
            // SAFETY: the files are fresh and this rank's alone, each rank starts once.
            let rank = unsafe { Rank::start(boot, config.clone(), Threading::Parallel, &open) }
                .map_err(|e| e.to_string())?;
            if self.segment > 0 {
                rank.segments().attach_and_keep(self.segment, None).map_err(|e| e.to_string())?;
            }
            shared.begin(r);
            let value = program(rank);
            let rank = rank.survival().newest();
            if !rank.survival().is_possible() {
                rank.barrier();
            } else if !rank.survival().is_over() {
                // The program is over everywhere, or somebody dies now: then it is over for those who are
                // left.
                let _ = gasnet::attempt(|| rank.barrier());
            }
            ranks.borrow_mut().push(rank);
            *results[r as usize].borrow_mut() = Some(value);
            Ok(())
        };
        let report = self.drive(&shared, &body)?;
        for rank in ranks.into_inner().into_iter().filter(|_| dismantle) {
            #[expect(unsafe_code, reason = "vouches for the end")]
            // SAFETY: the program had the rank for a call that is over, and its value cannot borrow from it.
            // The world, whose NICs could write the segment, makes no more events. Each rank is on a host of
            // its own.
            unsafe {
                Rank::dismantle(rank);
            }
        }
        let values = results.into_iter().filter_map(RefCell::into_inner).collect();
        Ok(report.map(|_| values))
    }

    pub(crate) fn world(&self) -> Arc<Simulation> {
        let mut world = World::new(self.ranks, self.seed, self.network.clone(), self.model.host.put_back);
        if self.model.firmware.attended {
            world.share_processors();
        }
        world.chooser = self.chooser.clone().map(Box::new);
        world.hardships = self.hardships.clone();
        for (rank, moment) in self.hardships.kills.iter().filter(|(rank, _)| *rank < self.ranks) {
            if let Moment::At(time) = moment {
                world.at(*time, WorldEvent::Dies(*rank));
            }
        }
        let shared_by = if self.survive { self.ranks } else { self.per_host };
        if shared_by > 1 || self.survive {
            world.shared_memory = Some(SharedMemory::new(self.ranks, shared_by, self.per_host > 1));
        }
        let mut simulation = Simulation::new(world, self.ranks);
        if self.survive {
            simulation.survivors = Survivors::new(self.ranks).ok();
        }
        Arc::new(simulation)
    }

    pub(crate) fn conduit(&self, shared: &Arc<Simulation>, rank: u32) -> SimConduit {
        let nic = SimNic::new(self.registration, &self.model, self.ranks, rank);
        let at = Caller { shared: shared.clone(), rank, costs: self.model.host };
        SimConduit { at, nic, epoch: 0, members: None, gave_up: AtomicBool::new(false) }
    }

    /// A failure at the present time of the world.
    pub(crate) fn failure(&self, shared: &Simulation, what: Cause) -> Failure {
        let w = shared.world();
        let (time, events, trace) = (w.now, w.stats.events, w.trace);
        Failure { seed: self.seed, time, what, events, trace, chooser: w.chooser.clone() }
    }

    /// Gives turns until all ranks have ended.
    pub(crate) fn drive(&self, shared: &Arc<Simulation>, vessel: &dyn Vessel) -> Result<Report<()>, Failure> {
        let began = Instant::now();
        let fail = |what| self.failure(shared, what);
        let outcome: RefCell<Option<Cause>> = RefCell::new(None);
        let mut turns = Vec::with_capacity(self.ranks as usize);
        for r in 0..self.ranks {
            let outcome = &outcome;
            let turn = Turn::new(self.stack, move || {
                let what = match catch_unwind(AssertUnwindSafe(|| vessel.live(r))) {
                    Ok(Ok(())) => {
                        shared.catch_up(r);
                        None
                    }
                    Ok(Err(text)) => Some(Cause::Start(format!("rank {r}: {text}"))),
                    Err(panic) => {
                        Some(Cause::Panic { rank: r, text: panic_text(&*panic), place: String::new() })
                    }
                };
                if let Some(what) = what {
                    outcome.borrow_mut().get_or_insert(what);
                }
            });
            let no_room = |e| {
                Cause::Start(format!(
                    "no stack for rank {r}: {e}; each rank needs two mappings, of which the system gives a process a limited number: \
                     simulate fewer ranks, or raise it (sysctl vm.max_map_count)"
                ))
            };
            turns.push(turn.map_err(|e| fail(no_room(e)))?);
        }
        let _watched = CrashWatch::begin();
        let watchdog = Watchdog::start(shared.progress.clone(), self.stall, self.seed, self.longest_turn);
        let mut over = 0;
        while over < self.ranks && !vessel.is_over(false) {
            if let Some(what) = shared.ended.lock().unwrap_or_else(PoisonError::into_inner).take() {
                return Err(fail(what));
            }
            let next = self.next(&mut shared.world());
            match next {
                Next::Turn(r) => {
                    shared.alive();
                    shared.progress.running.store(r + 1, Ordering::Relaxed);
                    set_current(Some((shared.clone(), r)));
                    let ended = turns[r as usize].resume();
                    set_current(None);
                    shared.progress.running.store(0, Ordering::Relaxed);
                    if ended || shared.world().ranks[r as usize].state == Activity::Over {
                        over += 1;
                        let mut w = shared.world();
                        w.set(r, Activity::Over);
                        w.stir(r);
                        drop(w);
                        shared.left(r);
                    }
                    if let Some(what) = outcome.take() {
                        return Err(fail(what));
                    }
                }
                Next::Dies(rank) => over += u32::from(shared.kill(rank)),
                Next::Fails(what) => return Err(fail(vessel.fallen().unwrap_or(what))),
                Next::Nothing if vessel.is_over(true) => break,
                Next::Nothing if shared.world().look_again() => {}
                Next::Nothing => {
                    if let Some(what) = vessel.fallen() {
                        return Err(fail(what));
                    }
                    let mut waiting = shared.world().waiting();
                    for one in waiting.iter_mut().take(MOST_PLACES) {
                        one.place =
                            vessel.place(one.rank).unwrap_or_else(|| turns[one.rank as usize].place());
                    }
                    return Err(fail(Cause::Deadlock(waiting)));
                }
            }
        }
        if let Some(what) = shared.ended.lock().unwrap_or_else(PoisonError::into_inner).take() {
            return Err(fail(what));
        }
        let w = shared.world();
        Ok(Report {
            results: Vec::new(),
            time: w.now,
            stats: w.stats,
            trace: w.trace,
            wall: began.elapsed(),
            stalls: watchdog.stalls(),
            chooser: w.chooser.as_deref().cloned(),
        })
    }
}

/// What becomes of a world when all that can happen by itself has.
enum Next {
    /// This rank has its turn.
    Turn(u32),
    /// This rank is killed.
    Dies(u32),
    /// The simulation fails.
    Fails(Cause),
    /// Nothing more happens.
    Nothing,
}

impl Cluster {
    /// Lets happen what happens between turns, under one lock.
    fn next(&self, w: &mut World) -> Next {
        loop {
            if let Some(rank) = w.without_memory.take() {
                return Next::Fails(Cause::no_memory(rank));
            }
            if w.quiet.is_stuck {
                return Next::Nothing;
            }
            if let Some(rank) = w.due_to_die() {
                return Next::Dies(rank);
            }
            if w.stats.events >= self.most_events {
                return Next::Fails(Cause::TooLong(self.most_events));
            }
            match w.step() {
                Some(Step::Turn(rank)) => {
                    w.stats.turns += 1;
                    return Next::Turn(rank);
                }
                Some(Step::Event(event)) => match w.happen(event) {
                    Some(Left::Dies(rank)) => return Next::Dies(rank),
                    Some(left) => w.nic(left),
                    None => {}
                },
                None => return Next::Nothing,
            }
        }
    }
}

impl World {
    fn waiting(&self) -> Vec<Waiting> {
        let mut all = Vec::new();
        for (rank, r) in self.ranks.iter().enumerate() {
            if let Some(why) = r.waits_for() {
                let unread = r.inbox.iter().map(|i| i.len()).sum::<usize>() + r.control.len();
                all.push(Waiting {
                    rank: rank as u32,
                    since: r.since,
                    why,
                    ops: r.ops,
                    unread,
                    place: String::new(),
                });
            }
        }
        all
    }
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|s| s.to_string());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}
