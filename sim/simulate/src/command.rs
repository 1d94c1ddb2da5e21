//! The command line of `gasnetrun --simulate`.
#![expect(unsafe_code, reason = "asks for equal addresses in all runs")]

use crate::faults::Faults;
use crate::plan::{CHOICES, SimulationPlan, choices};
use crate::program::{Vessel, fingerprint, vessel};
use crate::run::Program;
use crate::serve::simulate;
use gasnet_options::{Argument, Arguments, CommandTable, Style, opt};
use gasnet_sim::{Executable, Explore};
use gasnet_vessel::PLAN;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// An option of `gasnetrun --simulate`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SimulateOption {
    Ranks,
    Seed,
    Machine,
    Faults,
    OnDeath,
    Runs,
    For,
    Turn,
    Explore,
    Vessel,
    Again,
    Rebuilt,
    Gdb,
    Verbose,
    Help,
}

const COMMAND: CommandTable<SimulateOption> = CommandTable {
    name: "gasnetrun --simulate",
    brief: "run a PGAS program on simulated ranks",
    about: "Runs a program on N simulated ranks, one at a time and in virtual time.",
    usage: &[
        "gasnetrun --simulate -n N [options] PROGRAM [arguments]",
        "gasnetrun --simulate --again FILE [--gdb] PROGRAM [arguments]",
    ],
    options: &[
        opt(SimulateOption::Ranks, "-n, --ranks N", "number of ranks, up to 65536"),
        opt(SimulateOption::Seed, "--seed S", "seed, or the first of several (default 1)"),
        opt(
            SimulateOption::Machine,
            "--machine NAME",
            "machine: modern-ib (default), gm-myrinet2000, lanai9-netvm, clan-piii, trapeze-alpha, this-host",
        ),
        opt(
            SimulateOption::Faults,
            "--faults LIST",
            "faults, divided by commas: slow=3@10x, stall=2@1ms..3ms, delay=1%, by=50us, loss=1%, duplicate=1%, kill=2@3ms, tight",
        ),
        opt(
            SimulateOption::OnDeath,
            "--on-death WHAT",
            "what the job does when a rank is killed: end (default), or shrink: the others go on",
        ),
        opt(SimulateOption::Runs, "--runs N", "one run with each of N seeds, until one fails"),
        opt(SimulateOption::For, "--for TIME", "begin no run after this time, as 30s or 10m"),
        opt(
            SimulateOption::Turn,
            "--turn TIME",
            "longest time that a rank may compute between two calls of the runtime (default 60s)",
        ),
        opt(
            SimulateOption::Explore,
            "--explore HOW",
            "order of events: time (default for one run), mixed (default for several), random, pos, pct:D, pctcp:D, delay:D",
        ),
        opt(
            SimulateOption::Vessel,
            "--vessel WHERE",
            "where ranks live: closure (in one process) or process (each in its own); default what the program needs",
        ),
        opt(SimulateOption::Again, "--again FILE", "repeat the run that the file describes"),
        opt(SimulateOption::Rebuilt, "--rebuilt", "repeat it though the program has been built again since then"),
        opt(SimulateOption::Gdb, "--gdb", "run under gdb; of ranks that are processes, the one that has failed, or rank 0"),
        opt(SimulateOption::Verbose, "-v, --verbose", "say where ranks live, and why"),
        opt(SimulateOption::Help, "-h, --help", "print this text"),
    ],
    notes: "\
The program is any executable in Rust, C, UPC or Fortran that is linked with this version of the runtime.

A run that fails is made small, and a file NAME-SEED.sim is written that repeats it. The exit status is that of the
failure: 101 after a panic, 125 after a deadlock, 124 if it does not end, 128 + S after signal S.",
    style: Style::Gnu,
};

/// Most ranks.
const MOST_RANKS: u32 = 65_536;
/// Bytes of a rank's segment. Memory that nobody touches costs nothing.
const SEGMENT_BYTES: usize = 64 << 20;

/// The task that the command line asks for.
#[derive(Debug, PartialEq)]
enum Asked {
    Print(String),
    Run(Box<Asking>),
}

/// What is to be run.
#[derive(Debug, PartialEq)]
struct Asking {
    plan: SimulationPlan,
    /// The choices of the run that is repeated, and the file that has them.
    picks: String,
    again: Option<PathBuf>,
    vessel: Option<Vessel>,
    gdb: bool,
    /// Whether the program may be another build.
    rebuilt: bool,
    verbose: bool,
    /// The rank that has failed in the run that is repeated.
    failed: u32,
    program: OsString,
    arguments: Vec<OsString>,
}

/// Does what the arguments of `gasnetrun` behind `--simulate` ask for; returns the exit status, unless it
/// becomes the program.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> i32 {
    let fail = |why: String| {
        eprintln!("gasnetrun: {why}");
        2
    };
    match parse(arguments) {
        Err(why) => fail(why),
        Ok(Asked::Print(text)) => {
            print!("{text}");
            0
        }
        Ok(Asked::Run(asking)) => asking.run().unwrap_or_else(fail),
    }
}

impl Asking {
    /// Runs it; returns the exit status, unless this process becomes the program.
    fn run(mut self) -> Result<i32, String> {
        let program = path(&self.program);
        let known = fingerprint(Path::new(&program));
        self.plan.check_program(known, self.rebuilt)?;
        self.plan.program = known;
        let wanted = self.plan.check_vessel(self.vessel)?;
        let (vessel, why) = vessel(Path::new(&program), wanted)?;
        if vessel == Vessel::Process {
            self.plan.check_processes(&why)?;
        }
        // SAFETY: a number; the program that follows finds the same addresses in every run.
        unsafe { libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong) };
        if vessel == Vessel::Process {
            if self.verbose {
                eprintln!("gasnetrun: each rank is a process: {why}");
            }
            let plan = SimulationPlan::read(&(self.plan.text() + &self.picks))?;
            let debugged = self.gdb.then_some(self.failed.min(plan.ranks - 1));
            let executable = Executable { program: program.into(), arguments: self.arguments, debugged };
            return Ok(simulate(&plan, Program::Executable(&executable)));
        }
        if self.verbose {
            eprintln!("gasnetrun: all ranks are in one process: {why}");
        }
        let mut command = if self.gdb { Command::new("gdb") } else { Command::new(&program) };
        if self.gdb {
            command.arg("--args").arg(&program);
        }
        command.args(self.arguments).env(PLAN, self.plan.text()).env_remove(CHOICES);
        // All choices of a long run are too much for an environment.
        self.again.iter().for_each(|file| _ = command.env(CHOICES, file));
        let why = command.exec();
        Err(format!("{}: {why}", self.program.display()))
    }
}

/// A program without a slash is one of the current directory, if there is one.
fn path(program: &OsString) -> OsString {
    let plain = !program.as_encoded_bytes().contains(&b'/');
    if plain && Path::new(program).is_file() { Path::new(".").join(program).into() } else { program.clone() }
}

fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Asked, String> {
    let mut words = Arguments::new(&COMMAND, arguments);
    let mut plan = SimulationPlan { ranks: 0, segment: SEGMENT_BYTES, ..SimulationPlan::default() };
    let (mut again, mut gdb, mut verbose, mut program) = (None, false, false, None);
    let (mut vessel, mut failed, mut rebuilt) = (None, 0, false);
    while let Some(argument) = words.next_argument()? {
        let found = match argument {
            Argument::Option(found) => found,
            Argument::Operand(file) => {
                program = Some(file);
                break;
            }
            Argument::Unknown(word) => return Err(COMMAND.unknown(&word.to_string_lossy())),
        };
        let value = found.text();
        let number =
            || value.parse::<u64>().map_err(|_| format!("{} {value}: a number is needed", found.written));
        match found.key {
            SimulateOption::Ranks => {
                plan.ranks = u32::try_from(number()?)
                    .ok()
                    .filter(|n| (1..=MOST_RANKS).contains(n))
                    .ok_or_else(|| format!("-n {value}: from 1 to {MOST_RANKS} ranks can be simulated"))?;
            }
            SimulateOption::Seed => plan.seed = number()?,
            SimulateOption::Runs => plan.runs = number()?.max(1),
            SimulateOption::Machine => plan.set_machine(&value)?,
            SimulateOption::Faults => plan.faults = Faults::read(&value)?,
            SimulateOption::OnDeath => plan.set_on_death(&value)?,
            SimulateOption::For => plan.time = Some(time(&found.written, &value)?),
            SimulateOption::Turn => plan.longest_turn = time(&found.written, &value)?,
            SimulateOption::Explore => {
                plan.explore = Some(Explore::named(&value).ok_or_else(|| {
                    format!("--explore {value}: time, mixed, random, pos, pct:D, pctcp:D or delay:D is needed, with D from 1 to 64")
                })?);
            }
            SimulateOption::Again => again = Some(value),
            SimulateOption::Vessel => {
                let wrong = || format!("--vessel {value}: closure or process is needed");
                vessel = Some(Vessel::named(&value).ok_or_else(wrong)?);
            }
            SimulateOption::Rebuilt => rebuilt = true,
            SimulateOption::Gdb => gdb = true,
            SimulateOption::Verbose => verbose = true,
            SimulateOption::Help => return Ok(Asked::Print(COMMAND.help())),
        }
    }
    let rest = words.rest();
    let program = program.ok_or("--simulate: which program? See gasnetrun --simulate --help")?;
    let mut picks = String::new();
    if let Some(file) = &again {
        let read = std::fs::read_to_string(file).map_err(|why| format!("{file}: {why}"))?;
        plan = SimulationPlan::read(&read).map_err(|why| format!("{file}: {why}"))?;
        picks = choices(&read);
        failed = rank_of(&read).unwrap_or(0);
    } else if plan.ranks == 0 {
        return Err("--simulate: how many ranks? Say -n N".into());
    }
    plan.closure_only = vessel == Some(Vessel::Closure);
    let stem = Path::new(&program).file_stem().unwrap_or_default();
    plan.name = stem.to_string_lossy().into_owned();
    let asking = Asking {
        plan,
        picks,
        again: again.map(PathBuf::from),
        vessel,
        gdb,
        rebuilt,
        verbose,
        failed,
        program,
        arguments: rest,
    };
    Ok(Asked::Run(Box::new(asking)))
}

/// The rank that has failed, as the file of a run tells it.
fn rank_of(file: &str) -> Option<u32> {
    let said = file.lines().find_map(|line| line.strip_prefix("ended "))?;
    let rank = said.split("rank ").nth(1)?;
    rank[..rank.find(|c: char| !c.is_ascii_digit())?].parse().ok()
}

/// `30s`, `10m`, `2h`
fn time(option: &str, text: &str) -> Result<Duration, String> {
    let wrong = || format!("{option} {text}: a time is needed, as 30s or 10m");
    let (digits, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let number: u64 = digits.parse().map_err(|_| wrong())?;
    let seconds = match unit {
        "s" | "" => 1,
        "m" => 60,
        "h" => 3600,
        _ => return Err(wrong()),
    };
    number.checked_mul(seconds).map(Duration::from_secs).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(line: &str) -> Result<Asked, String> {
        parse(line.split(' ').map(OsString::from))
    }

    #[test]
    fn times_have_a_unit_and_a_limit() {
        assert_eq!(time("--for", "2m"), Ok(Duration::from_secs(120)));
        for wrong in ["1ms", "m", "-1s", "9999999999999999999h", "18446744073709551615m"] {
            assert!(time("--for", wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_rank_that_has_failed_is_known() {
        assert_eq!(rank_of("seed 7\nended 139 rank 12 crashed: Segmentation fault\n"), Some(12));
        assert_eq!(rank_of("seed 7\nended 124 it is not over\n"), None);
    }

    #[test]
    fn processes_share_no_memory_and_do_not_survive() {
        for (line, says) in [
            ("-n 4 --machine modern-ib/2 a", "--machine modern-ib/2: ranks that share memory are"),
            ("-n 4 --on-death shrink a", "--on-death shrink: ranks that survive are"),
        ] {
            let Ok(Asked::Run(asking)) = asked(line) else { panic!("{:?}", asked(line)) };
            let said = asking.plan.check_processes("as asked").unwrap_err();
            assert!(said.contains(says) && said.ends_with("each rank is a process: as asked"), "{said}");
        }
    }

    #[test]
    fn a_run_is_repeated_with_its_program_and_where_it_was() {
        let mut plan =
            SimulationPlan { program: Some(7), vessel: Some(Vessel::Process), ..SimulationPlan::default() };
        assert!(plan.check_program(Some(8), false).unwrap_err().contains("--rebuilt"));
        assert!(plan.check_program(Some(8), true).is_ok() && plan.check_program(Some(7), false).is_ok());
        assert_eq!(plan.check_vessel(None), Ok(Some(Vessel::Process)));
        assert!(plan.check_vessel(Some(Vessel::Closure)).unwrap_err().contains("--vessel process"));
        (plan.program, plan.vessel) = (None, None);
        assert!(plan.check_program(Some(8), false).is_ok());
        assert_eq!(plan.check_vessel(Some(Vessel::Closure)), Ok(Some(Vessel::Closure)));
    }

    #[test]
    fn the_table_has_no_mistakes() {
        assert_eq!(COMMAND.mistakes(), Vec::<String>::new());
    }

    #[test]
    fn lines_are_read() {
        let line = "-n 64 --seed 7 --machine modern-ib/1 --faults slow=3@10x,delay=1% --runs 20 --for 10m --explore pct:3 ./heat -n 8";
        let Ok(Asked::Run(asking)) = asked(line) else { panic!("{:?}", asked(line)) };
        let Asking { plan, program, arguments, .. } = *asking;
        assert_eq!((plan.ranks, plan.seed, plan.runs, plan.how()), (64, 7, 20, Explore::Pct(3)));
        assert_eq!((plan.time, plan.name.as_str()), (Some(Duration::from_secs(600)), "heat"));
        assert_eq!((program, arguments), ("./heat".into(), vec!["-n".into(), "8".into()]));
        for (line, says) in [
            ("./heat", "how many ranks"),
            ("-n 4", "which program"),
            ("-n 0 a", "from 1 to 65536"),
            ("-n 4 --machine modern-ib/99 a", "from 1 to 64 ranks"),
            ("-n 4 --on-death heal a", "end or shrink"),
            ("-n 4 --machine fast a", "no machine 'fast'"),
            ("-n 4 --faults often a", "'often' is no fault"),
            ("-n 4 --explore luck a", "--explore luck"),
            ("-n 4 --vessel boat a", "closure or process is needed"),
            ("-n 4 --for ever a", "--for ever"),
            ("--again /no/such/file a", "/no/such/file"),
            ("-n 4 --fualts x a", "did you mean '--faults'?"),
            ("-n many a", "a number is needed"),
        ] {
            let said = asked(line).unwrap_err();
            assert!(said.contains(says), "{line}: {said}");
        }
    }
}
