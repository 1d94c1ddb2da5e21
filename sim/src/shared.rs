//! The state that the ranks of a simulation share: the world, and the calls that let time pass in it.

use crate::card::SimCard;
use crate::cost::HostCosts;
use crate::event::Activity;
use crate::failure::Cause;
use crate::survivors::Survivors;
use crate::time::Time;
use crate::turn;
use crate::world::World;
use gasnet::Error;
use gasnet_wire::Gathered;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

/// One simulation. One thread runs all its ranks; the lock is there because the core's types cross threads.
pub(crate) struct Simulation {
    world: Mutex<World>,
    pub(crate) size: u32,
    pub(crate) progress: Arc<Progress>,
    gathers: Mutex<HashMap<u64, Gather>>,
    codes: Mutex<Vec<i32>>,
    /// Names of waits that ranks of other processes have sent.
    names: Mutex<HashMap<String, &'static str>>,
    /// The first end of the job that was not an ordinary one.
    pub(crate) ended: Mutex<Option<Cause>>,
    /// Who is left, in a job that survives deaths.
    pub(crate) survivors: Option<Survivors>,
}

/// Waits of a rank after which its stack is trimmed first. It is again each time that they have doubled.
const FIRST_TRIM: u32 = 8;

/// A rank that calls.
pub(crate) struct Caller {
    pub(crate) shared: Arc<Simulation>,
    pub(crate) rank: u32,
    pub(crate) costs: HostCosts,
}

impl Caller {
    /// Calls `f` with the rank's NetVM NIC and the world.
    pub(crate) fn with_card<R>(&self, f: impl FnOnce(&mut SimCard, &mut World) -> R) -> R {
        let mut w = self.shared.world();
        let mut card = w.cards[self.rank as usize].take().expect("a rank that runs has attached");
        let result = f(&mut card, &mut w);
        w.cards[self.rank as usize] = Some(card);
        result
    }
}

/// The state that the watchdog observes.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// Number of calls into the simulation.
    pub(crate) calls: AtomicU64,
    /// The rank that has the turn, plus one; 0 if none has.
    pub(crate) running: AtomicU32,
}

/// One all-gather under way.
struct Gather {
    parts: Vec<Box<[u8]>>,
    here: u32,
    /// Once all are here.
    all: Option<Arc<Gathered>>,
    left: u32,
}

thread_local! {
    /// The simulation on this thread, and the rank that has the turn.
    static TURN: RefCell<Option<(Arc<Simulation>, u32)>> = const { RefCell::new(None) };
}

/// The simulated rank that is calling, if any.
pub(crate) fn current() -> Option<(Arc<Simulation>, u32)> {
    TURN.with_borrow(Clone::clone)
}

/// [`current`] for handlers of signals: `None` also while that changes.
pub(crate) fn current_if_known() -> Option<(Arc<Simulation>, u32)> {
    TURN.try_with(|turn| turn.try_borrow().ok().and_then(|turn| turn.clone())).ok().flatten()
}

/// Sets the rank that has the turn.
pub(crate) fn set_current(turn: Option<(Arc<Simulation>, u32)>) {
    TURN.set(turn);
}

impl Simulation {
    pub(crate) fn new(world: World, size: u32) -> Simulation {
        Simulation {
            world: Mutex::new(world),
            size,
            progress: Arc::default(),
            gathers: Mutex::default(),
            codes: Mutex::new(vec![0; size as usize]),
            names: Mutex::default(),
            ended: Mutex::default(),
            survivors: None,
        }
    }

    /// The world. A caller that holds it must not call anything that gives the turn back.
    pub(crate) fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether nobody holds the world or an exchange: a rank that has been interrupted may end.
    pub(crate) fn is_open(&self) -> bool {
        !matches!(self.world.try_lock(), Err(TryLockError::WouldBlock))
            && !matches!(self.gathers.try_lock(), Err(TryLockError::WouldBlock))
    }

    /// Shows the watchdog that the rank is alive.
    pub(crate) fn alive(&self) {
        let n = self.progress.calls.load(Ordering::Relaxed);
        self.progress.calls.store(n.wrapping_add(1), Ordering::Relaxed);
    }

    /// The rank's program is about to begin. Where something chooses the order, it begins when those of all
    /// ranks can, so that none of its steps is without a choice.
    pub(crate) fn begin(&self, rank: u32) {
        // To start takes more of the stack than most programs do.
        turn::trim_stack();
        {
            let mut w = self.world();
            w.starting -= 1;
            w.ranks[rank as usize].has_begun = true;
            if w.chooser.is_none() {
                return;
            }
            w.set(rank, Activity::Idle("all ranks to start"));
        }
        self.all_begin();
        turn::give_back();
    }

    /// A rank has ended before its program began; the others need not wait for it.
    pub(crate) fn never_begins(&self) {
        self.world().starting -= 1;
        self.all_begin();
    }

    /// All programs begin, if all ranks have started.
    pub(crate) fn all_begin(&self) {
        let mut w = self.world();
        if w.starting == 0 {
            (0..self.size).for_each(|r| w.tell(r));
        }
    }

    /// The rank works for this long.
    pub(crate) fn work(&self, rank: u32, length: Time) {
        let mut w = self.world();
        let owes = w.local_time(rank) > w.now;
        if (length > Time::ZERO || owes) && !w.pass(rank, length) {
            w.stir(rank);
            drop(w);
            turn::give_back();
        }
    }

    /// The rank works for this long, and may run ahead of the clock instead of giving its turn away.
    pub(crate) fn spend(&self, rank: u32, length: Time) {
        let owes = self.world().owe(rank, length);
        if !owes {
            self.work(rank, length);
        }
    }

    /// The rank gives its turn away until the clock has come to where it is.
    pub(crate) fn catch_up(&self, rank: u32) {
        self.work(rank, Time::ZERO);
    }

    /// The rank waits until something happens to it, unless something has happened since its last poll.
    /// `changed`: it may have changed memory that it shares.
    pub(crate) fn wait(&self, rank: u32, why: &'static str, changed: bool) {
        let trims;
        {
            let mut w = self.world();
            if changed {
                w.stir(rank);
            }
            // After a loss, every wait looks once before it sleeps, whether it began before it or after.
            let losses = w.losses;
            if losses > 0 && (changed || w.ranks[rank as usize].losses_seen < losses) {
                w.ranks[rank as usize].losses_seen = losses;
                return;
            }
            if !w.ranks[rank as usize].waits_in_a_look() {
                w.ranks[rank as usize].looking = None;
                if changed {
                    w.unquiet();
                }
            }
            let r = &mut w.ranks[rank as usize];
            r.empty_polls = 0;
            if r.news != r.seen {
                r.seen = r.news;
                return;
            }
            w.set(rank, Activity::Idle(why));
            let waits = &mut w.ranks[rank as usize].waits;
            *waits = waits.wrapping_add(1);
            // Deep calls, as those at the start, are rare: the pages that one has used are mostly idle.
            trims = waits.is_power_of_two() && *waits >= FIRST_TRIM;
        }
        if trims {
            turn::trim_stack();
        }
        turn::give_back();
    }

    /// The rank has looked at other ranks' memory in vain, and will look again when some time has passed.
    pub(crate) fn look(&self, rank: u32, why: &'static str, poll: Time) {
        self.catch_up(rank);
        let (pause, is_stuck) = {
            let mut w = self.world();
            w.stir(rank);
            (w.looked(rank, why, poll), w.quiet.is_stuck)
        };
        if is_stuck {
            turn::give_back();
        }
        self.work(rank, pause);
    }

    /// Gives `mine` to all ranks and returns the values of all. `round` counts the calls of each rank.
    pub(crate) fn gather(&self, rank: u32, round: u64, mine: &[u8]) -> Result<Arc<Gathered>, Error> {
        self.give(rank, round, mine);
        loop {
            if let Some(gathered) = self.gathered(round)? {
                return Ok(gathered);
            }
            turn::trim_stack();
            self.wait(rank, "all ranks to start", false);
        }
    }

    /// Gives `mine` to all ranks.
    pub(crate) fn give(&self, rank: u32, round: u64, mine: &[u8]) {
        let complete = {
            let mut all = self.gathers.lock().unwrap_or_else(PoisonError::into_inner);
            let nothing = || vec![Box::default(); self.size as usize];
            let begun = || Gather { parts: nothing(), here: 0, all: None, left: 0 };
            let g = all.entry(round).or_insert_with(begun);
            g.parts[rank as usize] = mine.into();
            g.here += 1;
            let complete = g.here == self.size;
            if complete {
                g.all = Some(Arc::new(Gathered::new(std::mem::take(&mut g.parts)).in_common()));
            }
            complete
        };
        if complete {
            let mut w = self.world();
            (0..self.size).filter(|r| *r != rank).for_each(|r| w.tell(r));
        }
    }

    /// The values of all ranks, once all have given theirs. A rank takes them once.
    pub(crate) fn gathered(&self, round: u64) -> Result<Option<Arc<Gathered>>, Error> {
        let mut all = self.gathers.lock().unwrap_or_else(PoisonError::into_inner);
        let g = all.get_mut(&round).ok_or_else(|| Error::job("the exchange is over"))?;
        let Some(gathered) = g.all.clone() else { return Ok(None) };
        g.left += 1;
        if g.left == self.size {
            all.remove(&round);
        }
        Ok(Some(gathered))
    }

    /// Ends a rank whose program does not return. Does not return.
    pub(crate) fn finish(&self, rank: u32, code: i32) -> ! {
        self.set_code(rank, code);
        self.catch_up(rank);
        self.world().set(rank, Activity::Over);
        loop {
            assert!(turn::give_back(), "a simulated rank ended outside of its simulation");
        }
    }

    /// Notes the exit code of a rank.
    pub(crate) fn set_code(&self, rank: u32, code: i32) {
        self.codes.lock().unwrap_or_else(PoisonError::into_inner)[rank as usize] = code;
    }

    /// The name of a wait, kept for good: there are few.
    pub(crate) fn name(&self, text: &str) -> &'static str {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(name) = names.get(text) {
            return name;
        }
        let name = text.to_string().leak();
        names.insert(text.into(), name);
        name
    }

    /// The exit codes of the ranks.
    pub(crate) fn codes(&self) -> Vec<i32> {
        self.codes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Ends the simulated job from a rank. Does not return.
    pub(crate) fn end(&self, rank: u32, code: i32, text: String) -> ! {
        self.fall(rank, Cause::Ended { rank, code, text })
    }

    /// Ends the simulation from a rank, for this reason. Does not return.
    pub(crate) fn fall(&self, rank: u32, what: Cause) -> ! {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(what);
        self.world().set(rank, Activity::Over);
        loop {
            // Nobody resumes this rank; outside of a simulation there is nothing to end.
            assert!(turn::give_back(), "a simulated rank ended outside of its simulation");
        }
    }
}

/// Lets virtual time pass for the calling rank, as if it computed for that long. Outside of a simulation it
/// does nothing.
///
/// The rank does not poll in the meantime: messages to it wait.
pub fn compute(length: Time) {
    if let Some((shared, rank)) = current() {
        shared.alive();
        shared.world().unquiet();
        shared.work(rank, length);
    }
}

/// The virtual time, inside a simulation.
pub fn now() -> Option<Time> {
    current().map(|(shared, rank)| shared.world().local_time(rank))
}
