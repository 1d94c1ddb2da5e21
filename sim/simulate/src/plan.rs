//! The plan of a simulation, and the file that repeats a run.

use crate::faults::Faults;
use crate::program::Vessel;
use gasnet_sim::{Chooser, CostModel, Explore, Pick};
use std::time::Duration;

/// A program and the conditions under which it is simulated.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SimulationPlan {
    pub(crate) ranks: u32,
    pub(crate) machine: String,
    /// Ranks that share a host's memory.
    pub(crate) per_host: u32,
    /// Whether the job goes on when a rank dies.
    pub(crate) survive: bool,
    /// The first seed, and how many.
    pub(crate) seed: u64,
    pub(crate) runs: u64,
    pub(crate) explore: Option<Explore>,
    pub(crate) faults: Faults,
    /// Time after which no further run begins.
    pub(crate) time: Option<Duration>,
    /// Longest that a rank has the processor without calling the runtime.
    pub(crate) longest_turn: Duration,
    /// Bytes of each rank's segment.
    pub(crate) segment: usize,
    /// About how many choices a run has.
    pub(crate) length: u64,
    /// The picks of the run that is to be repeated, and its trace.
    pub(crate) again: Option<(Vec<Pick>, u64)>,
    /// The program's name.
    pub(crate) name: String,
    /// Whether ranks must not be processes.
    pub(crate) closure_only: bool,
    /// The program's fingerprint, if its file is known.
    pub(crate) program: Option<u64>,
    /// Where the ranks lived in the run that is to be repeated.
    pub(crate) vessel: Option<Vessel>,
}

/// Most ranks of a host: each of them keeps a ring for every other one.
const MOST_PER_HOST: u32 = 64;
/// First line of a file; the number changes when the same choices mean another run.
const MAGIC: &str = "gasnet-sim 4";
/// Longest that a rank has the processor without calling the runtime.
const LONGEST_TURN: Duration = Duration::from_secs(60);
/// Choices of a run of which nothing is known.
const FIRST_GUESS_CHOICES: u64 = 1000;

impl Default for SimulationPlan {
    fn default() -> SimulationPlan {
        SimulationPlan {
            ranks: 1,
            machine: "modern-ib".into(),
            per_host: 1,
            survive: false,
            seed: 1,
            runs: 1,
            explore: None,
            faults: Faults::default(),
            time: None,
            longest_turn: LONGEST_TURN,
            segment: 1 << 20,
            length: FIRST_GUESS_CHOICES,
            again: None,
            name: "program".into(),
            closure_only: false,
            program: None,
            vessel: None,
        }
    }
}

impl SimulationPlan {
    pub(crate) fn set_machine(&mut self, name: &str) -> Result<(), String> {
        let (name, per_host) = match name.split_once('/') {
            Some((machine, ranks)) => {
                let number = ranks.parse().ok().filter(|n| (1..=MOST_PER_HOST).contains(n));
                let wrong = || {
                    format!(
                        "machine {name}: from 1 to {MOST_PER_HOST} ranks can share a host's memory, as in {machine}/8"
                    )
                };
                (machine, number.ok_or_else(wrong)?)
            }
            None => (name, 1),
        };
        if !CostModel::NAMES.contains(&name) {
            return Err(format!("there is no machine '{name}': {}", CostModel::NAMES.join(", ")));
        }
        (self.machine, self.per_host) = (name.into(), per_host);
        Ok(())
    }

    pub(crate) fn set_on_death(&mut self, what: &str) -> Result<(), String> {
        self.survive = match what {
            "shrink" => true,
            "end" => false,
            _ => return Err(format!("--on-death {what}: end or shrink is needed")),
        };
        Ok(())
    }

    /// Takes the settings for tests from the environment.
    pub(crate) fn read_environment(&mut self) -> Result<(), String> {
        let number = |name: &str| match std::env::var(name) {
            Err(_) => Ok(None),
            Ok(text) => {
                text.parse::<u64>().map(Some).map_err(|_| format!("{name}={text}: a number is needed"))
            }
        };
        let (seed, runs) = (number("GASNET_SIM_SEED")?, number("GASNET_SIM_RUNS")?);
        if let Some(seed) = seed {
            // One seed of many explores as it does among them.
            self.explore = Some(self.how());
            (self.seed, self.runs) = (seed, 1);
        }
        if let Some(runs) = runs {
            self.runs = runs.max(1);
        }
        Ok(())
    }

    pub(crate) fn seeds(&self) -> std::ops::Range<u64> {
        self.seed..self.seed.saturating_add(self.runs)
    }

    /// How the order of events is chosen.
    pub(crate) fn how(&self) -> Explore {
        self.explore.unwrap_or(if self.runs > 1 { Explore::Mixed } else { Explore::Time })
    }

    /// The chooser of a seed, in runs of about so many choices.
    pub(crate) fn chooser(&self, seed: u64, length: u64) -> Option<Chooser> {
        match &self.again {
            Some((picks, _)) => Some(Chooser::again(picks.clone(), true)),
            None => Chooser::new(self.how(), seed, length),
        }
    }

    /// Refuses another program than that of the run to be repeated, unless it may be a newer one.
    pub(crate) fn check_program(&self, program: Option<u64>, rebuilt: bool) -> Result<(), String> {
        match (self.program, program) {
            (Some(before), Some(now)) if before != now && !rebuilt => Err("--again: the run was one of another program, or of another \
                 build of this one: its choices may mean something else here. --rebuilt repeats it as far as they mean the same"
                .into()),
            _ => Ok(()),
        }
    }

    /// The vessel of the run to be repeated, or else the one that is wanted.
    pub(crate) fn check_vessel(&self, wanted: Option<Vessel>) -> Result<Option<Vessel>, String> {
        match (self.vessel, wanted) {
            (Some(before), Some(wanted)) if before != wanted => Err(format!(
                "--vessel {wanted}: the run to be repeated was one of --vessel {before}, and is another one there"
            )),
            (before, wanted) => Ok(before.or(wanted)),
        }
    }

    /// Refuses what ranks cannot have that are processes, for this reason.
    pub(crate) fn check_processes(&self, why: &str) -> Result<(), String> {
        let wanted = if self.per_host > 1 {
            format!("--machine {}/{}: ranks that share memory", self.machine, self.per_host)
        } else if self.survive {
            "--on-death shrink: ranks that survive".to_string()
        } else if self.closure_only {
            "--vessel closure: ranks".to_string()
        } else {
            return Ok(());
        };
        Err(format!("{wanted} are simulated in one process only, and here each rank is a process: {why}"))
    }

    /// The plan as text, without the picks.
    pub(crate) fn text(&self) -> String {
        let SimulationPlan { ranks, machine, per_host, seed, runs, faults, segment, length, name, .. } = self;
        let mut text = format!(
            "{MAGIC}\nranks {ranks}\nmachine {machine}/{per_host}\nseed {seed}\nruns {runs}\nexplore {}\nfaults {}\nsegment {segment}\nlength \
             {length}\nname {name}\n",
            self.how(),
            faults.text()
        );
        if let Some(time) = self.time {
            text += &format!("for {}\n", time.as_secs());
        }
        if self.survive {
            text += "on-death shrink\n";
        }
        if self.closure_only {
            text += "only closure\n";
        }
        if let Some(program) = self.program {
            text += &format!("program {program:x}\n");
        }
        if let Some(vessel) = self.vessel {
            text += &format!("vessel {vessel}\n");
        }
        if self.longest_turn != LONGEST_TURN {
            text += &format!("turn {}\n", self.longest_turn.as_millis());
        }
        text
    }

    /// Reads it, and picks behind it.
    ///
    /// # Errors
    /// A sentence about what is wrong.
    pub(crate) fn read(text: &str) -> Result<SimulationPlan, String> {
        let mut lines = text.lines();
        let magic = lines.next().unwrap_or_default();
        if magic != MAGIC {
            return Err(format!(
                "it begins with '{magic}' and not with '{MAGIC}': another version made it, or it is no such file"
            ));
        }
        let mut plan = SimulationPlan::default();
        let (mut picks, mut trace) = (Vec::new(), None);
        for line in lines {
            let (word, value) = line.split_once(' ').unwrap_or((line, ""));
            let wrong = || format!("'{line}' is not understood");
            let number = || value.parse::<u64>().map_err(|_| wrong());
            match word {
                "ranks" => plan.ranks = number()? as u32,
                "machine" => plan.set_machine(value)?,
                "seed" => plan.seed = number()?,
                "runs" => plan.runs = number()?,
                "explore" => plan.explore = Some(Explore::named(value).ok_or_else(wrong)?),
                "faults" => plan.faults = Faults::read(value)?,
                "segment" => plan.segment = number()? as usize,
                "length" => plan.length = number()?,
                "name" => plan.name = value.into(),
                "for" => plan.time = Some(Duration::from_secs(number()?)),
                "on-death" => plan.set_on_death(value)?,
                "only" if value == "closure" => plan.closure_only = true,
                "program" => plan.program = Some(u64::from_str_radix(value, 16).map_err(|_| wrong())?),
                "vessel" => plan.vessel = Some(Vessel::named(value).ok_or_else(wrong)?),
                "turn" => plan.longest_turn = Duration::from_millis(number()?),
                "trace" => trace = Some(u64::from_str_radix(value, 16).map_err(|_| wrong())?),
                "pick" => picks.push(read_pick(value).ok_or_else(wrong)?),
                // The result, for whoever reads the file.
                "ended" | "cause" | "" => {}
                _ => return Err(wrong()),
            }
        }
        plan.again = trace.map(|trace| (picks, trace));
        Ok(plan)
    }
}

/// Tells a program that simulates itself which file has the choices of the run to repeat. Like the plan's
/// variable it is no setting.
pub(crate) const CHOICES: &str = "GASNETI_SIMULATED_CHOICES";

/// The lines of a file that say what the run chose, and how it went.
pub(crate) fn choices(file: &str) -> String {
    let lines = file.lines().filter(|line| line.starts_with("trace ") || line.starts_with("pick "));
    lines.flat_map(|line| [line, "\n"]).collect()
}

pub(crate) fn pick_line(pick: &Pick) -> String {
    format!("pick {} {} {:x} {}\n", pick.choice, pick.way, pick.ways, pick.text)
}

pub(crate) fn read_pick(text: &str) -> Option<Pick> {
    let mut words = text.splitn(4, ' ');
    Some(Pick {
        choice: words.next()?.parse().ok()?,
        way: words.next()?.parse().ok()?,
        ways: u32::from_str_radix(words.next()?, 16).ok()?,
        text: words.next().unwrap_or_default().into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_read_as_it_was_written() {
        let mut plan = SimulationPlan {
            ranks: 6,
            per_host: 2,
            survive: true,
            seed: 1187,
            runs: 2000,
            explore: Some(Explore::Pctcp(3)),
            faults: Faults::read("slow=3@10x,tight").unwrap(),
            time: Some(Duration::from_secs(600)),
            longest_turn: Duration::from_millis(1500),
            length: 9412,
            name: "queue".into(),
            program: Some(0x1234_5678_9abc_def0),
            vessel: Some(Vessel::Process),
            ..SimulationPlan::default()
        };
        assert_eq!(SimulationPlan::read(&plan.text()), Ok(plan.clone()));
        let pick =
            Pick { choice: 812, way: 3, ways: 0x9af3c1, text: "rank 4 goes on before rank 2 goes on".into() };
        let file = format!("{}ended 101 rank 2 panicked\ntrace ff\n{}", plan.text(), pick_line(&pick));
        plan.again = Some((vec![pick], 255));
        assert_eq!(SimulationPlan::read(&file), Ok(plan));
        for wrong in ["", "gasnet-sim 3\n", "gasnet-sim 4\nranks many\n", "gasnet-sim 4\nwhat 1\n"] {
            assert!(SimulationPlan::read(wrong).is_err(), "{wrong}");
        }
    }
}
