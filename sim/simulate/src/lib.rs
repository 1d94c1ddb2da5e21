//! Programs of many ranks, run from a seed in one process, in virtual time.
//!
//! A *run* is fixed by its seed: which rank goes on first, and in which order messages, puts and gets arrive.
//! So a failure that comes once in a thousand runs comes again, and can be made small: of all choices of a
//! run, those that matter are few.
//!
//! ```
//! use gasnet::{GlobalPtr, RankId};
//!
//! gasnet_simulate::ranks(4).runs(20).run(|rank| {
//!     let counter: GlobalPtr<u64> = GlobalPtr::new(RankId(0), 0);
//!     rank.atomics().fetch_add(counter, 1);
//!     rank.barrier();
//!     assert_eq!(rank.read(counter), 4);
//! });
//! ```
//!
//! Whole programs run like this under `gasnetrun --simulate`: see `docs/simulate.md`.
//!
//! **Limits.** A rank is no process here: statics and thread locals of the program are common to all ranks,
//! and what a rank waits for must be waited for by calls of the runtime. Clocks of the system tell real time.

mod command;
mod faults;
mod plan;
mod program;
mod run;
mod serve;
mod shrink;

pub use command::main;
pub use faults::Faults;
pub use gasnet_sim::Explore;
pub use serve::serve;

use gasnet::Rank;
use gasnet_sim::Chooser;
use plan::SimulationPlan;
use run::{Ended, Program, run};
use shrink::Repetition;
use std::time::{Duration, Instant};

/// Ranks to simulate.
#[derive(Debug, Clone)]
pub struct Simulation {
    plan: SimulationPlan,
}

/// So many ranks, on hosts of their own with the network `modern-ib`.
///
/// The variables `GASNET_SIM_SEED` and `GASNET_SIM_RUNS` say which seed is the first, and how many runs there
/// are; with the former alone there is one.
pub fn ranks(ranks: u32) -> Simulation {
    Simulation { plan: SimulationPlan { ranks: ranks.max(1), ..SimulationPlan::default() } }
}

impl Simulation {
    /// Sets the first seed. Default: 1.
    pub fn seed(mut self, seed: u64) -> Simulation {
        self.plan.seed = seed;
        self
    }

    /// Sets the number of runs, with a seed each. Default: 1. Several runs explore ([`Explore::Mixed`])
    /// unless something else is said.
    pub fn runs(mut self, runs: u64) -> Simulation {
        self.plan.runs = runs.max(1);
        self
    }

    /// Sets how the order of events is chosen.
    pub fn explore(mut self, explore: Explore) -> Simulation {
        self.plan.explore = Some(explore);
        self
    }

    /// Sets the machine: a name of [`CostModel`](gasnet_sim::CostModel).
    ///
    /// # Panics
    /// There is no such machine.
    pub fn machine(mut self, name: &str) -> Simulation {
        self.plan.set_machine(name).unwrap_or_else(|e| panic!("{e}"));
        self
    }

    /// Sets what makes life harder: see [`Faults::read`].
    ///
    /// # Panics
    /// The text says something else.
    pub fn faults(mut self, text: &str) -> Simulation {
        self.plan.faults = Faults::read(text).unwrap_or_else(|e| panic!("{e}"));
        self
    }

    /// Lets the job go on when a rank dies (`kill=2@3ms` of [`Simulation::faults`]), as
    /// `gasnetrun --on-death shrink` does.
    pub fn survives(mut self) -> Simulation {
        self.plan.survive = true;
        self
    }

    /// Sets how long a rank may have the processor without calling the runtime, before its loop counts as
    /// endless. Default: 60 s.
    pub fn longest_turn(mut self, limit: Duration) -> Simulation {
        self.plan.longest_turn = limit;
        self
    }

    /// Runs `program` on all ranks, with every seed; each rank has a segment of 1 MiB.
    ///
    /// # Panics
    /// Some run fails. The message has the seed, and those of its choices that matter.
    #[track_caller]
    pub fn run(self, program: impl Fn(&'static Rank)) {
        if let Err(text) = self.try_run(program) {
            panic!("{text}");
        }
    }

    /// [`run`](Self::run), with a message in place of a panic.
    ///
    /// # Errors
    /// Some run fails.
    pub fn try_run(mut self, program: impl Fn(&'static Rank)) -> Result<(), String> {
        self.plan.read_environment()?;
        let began = Instant::now();
        let program = Program::Closure(&program);
        // By the costs, to learn how long a run is.
        let costs = self.plan.how() == Explore::Time;
        let first = (!costs)
            .then(|| run(&self.plan, self.plan.seed, Some(Chooser::again(Vec::new(), false)), program));
        if let Some(first) = first.as_ref().filter(|first| first.ended == Ended::Well) {
            self.plan.length = first.choices.max(1);
        }
        let plan = &self.plan;
        for seed in plan.seeds() {
            let outcome = match &first {
                Some(first) if first.ended != Ended::Well => first.clone(),
                _ => run(plan, seed, plan.chooser(seed, plan.length), program),
            };
            if outcome.ended == Ended::Well {
                continue;
            }
            let mut again = |order: Repetition<'_>| run(plan, seed, Some(order.chooser()), program);
            let small = shrink::shrink(&outcome, &mut again);
            let how = format!("GASNET_SIM_SEED={seed} and the same test");
            return Err(shrink::report(plan, seed, &outcome, &small, &how, began.elapsed()));
        }
        Ok(())
    }
}
