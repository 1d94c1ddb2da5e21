//! The command line of `gasnetrun --simulate`.
#![expect(unsafe_code, reason = "asks for equal addresses in all runs")]

use crate::faults::Faults;
use crate::plan::SimulationPlan;
use crate::vessel::PLAN;
use gasnet_options::{Argument, Arguments, CommandTable, Style, opt};
use gasnet_sim::Explore;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// An option of `gasnetrun --simulate`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SimulateOption {
    Ranks,
    Seed,
    Machine,
    Faults,
    Runs,
    For,
    Turn,
    Explore,
    Again,
    Gdb,
    Help,
}

const COMMAND: CommandTable<SimulateOption> = CommandTable {
    name: "gasnetrun --simulate",
    brief: "run a PGAS program on simulated ranks",
    about: "Runs a program on N simulated ranks, in one process and in virtual time.",
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
            "faults, divided by commas: slow=3@10x, stall=2@1ms..3ms, delay=1%, by=50us, loss=1%, duplicate=1%, tight",
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
        opt(SimulateOption::Again, "--again FILE", "repeat the run that the file describes"),
        opt(SimulateOption::Gdb, "--gdb", "run under gdb"),
        opt(SimulateOption::Help, "-h, --help", "print this text"),
    ],
    notes: "\
The program must be one whose main calls gasnet_conduits::run or pgas::run.

A run that fails is made small, and a file NAME-SEED.sim is written that repeats it. The exit status is that of the
failure: 101 after a panic, 125 after a deadlock, 124 if it does not end, 128 + S after signal S.",
    style: Style::Gnu,
};

/// Most ranks.
const MOST_RANKS: u32 = 65_536;
/// Bytes of a rank's segment. Memory that nobody touches costs nothing.
const SEGMENT_BYTES: usize = 64 << 20;

/// What is to be done.
#[derive(Debug, PartialEq)]
enum Asked {
    Print(String),
    Run { plan: Box<SimulationPlan>, picks: String, gdb: bool, program: OsString, arguments: Vec<OsString> },
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
        Ok(Asked::Run { plan, picks, gdb, program, arguments }) => {
            if !is_known(Path::new(&path(&program))) {
                return fail(format!(
                    "{}: not a program with this runtime in it; what can be simulated is an executable in Rust whose main calls \
                     gasnet_conduits::run or pgas::run",
                    program.display()
                ));
            }
            let mut command = if gdb { Command::new("gdb") } else { Command::new(path(&program)) };
            if gdb {
                command.arg("--args").arg(path(&program));
            }
            command.args(arguments).env(PLAN, plan.text() + &picks);
            // SAFETY: a number; the program that follows finds the same addresses in every run.
            unsafe { libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong) };
            let why = command.exec();
            fail(format!("{}: {why}", program.display()))
        }
    }
}

/// A program without a slash is one of the current directory, if there is one.
fn path(program: &OsString) -> OsString {
    let plain = !program.as_encoded_bytes().contains(&b'/');
    if plain && Path::new(program).is_file() { Path::new(".").join(program).into() } else { program.clone() }
}

/// Whether a program looks for a plan, as far as its file tells: any other would run as it is, and a run that
/// simulated nothing would count as a good one.
fn is_known(program: &Path) -> bool {
    let Ok(bytes) = std::fs::read(program) else { return true };
    bytes.windows(PLAN.len()).any(|part| part == PLAN.as_bytes())
}

fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Asked, String> {
    let mut words = Arguments::new(&COMMAND, arguments);
    let mut plan = SimulationPlan { ranks: 0, segment: SEGMENT_BYTES, ..SimulationPlan::default() };
    let (mut again, mut gdb, mut program) = (None, false, None);
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
            SimulateOption::For => plan.time = Some(time(&found.written, &value)?),
            SimulateOption::Turn => plan.longest_turn = time(&found.written, &value)?,
            SimulateOption::Explore => {
                plan.explore = Some(Explore::named(&value).ok_or_else(|| {
                    format!("--explore {value}: time, mixed, random, pos, pct:D, pctcp:D or delay:D is needed, with D from 1 to 64")
                })?);
            }
            SimulateOption::Again => again = Some(value),
            SimulateOption::Gdb => gdb = true,
            SimulateOption::Help => return Ok(Asked::Print(COMMAND.help())),
        }
    }
    let rest = words.rest();
    let program = program.ok_or("--simulate: which program? See gasnetrun --simulate --help")?;
    let mut picks = String::new();
    if let Some(file) = again {
        let read = std::fs::read_to_string(&file).map_err(|why| format!("{file}: {why}"))?;
        plan = SimulationPlan::read(&read).map_err(|why| format!("{file}: {why}"))?;
        let lines = read.lines().filter(|line| line.starts_with("trace ") || line.starts_with("pick "));
        lines.for_each(|line| picks += &format!("{line}\n"));
    } else if plan.ranks == 0 {
        return Err("--simulate: how many ranks? Say -n N".into());
    }
    let stem = Path::new(&program).file_stem().unwrap_or_default();
    plan.name = stem.to_string_lossy().into_owned();
    Ok(Asked::Run { plan: Box::new(plan), picks, gdb, program, arguments: rest })
}

/// `30s`, `10m`, `2h`
fn time(option: &str, text: &str) -> Result<Duration, String> {
    let wrong = || format!("{option} {text}: a time is needed, as 30s or 10m");
    let (digits, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let number: u64 = digits.parse().map_err(|_| wrong())?;
    match unit {
        "s" | "" => Ok(Duration::from_secs(number)),
        "m" => Ok(Duration::from_secs(number * 60)),
        "h" => Ok(Duration::from_secs(number * 3600)),
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(line: &str) -> Result<Asked, String> {
        parse(line.split(' ').map(OsString::from))
    }

    #[test]
    fn programs_without_the_runtime_are_known() {
        assert!(!is_known(Path::new("/bin/sh")));
        assert!(is_known(&std::env::current_exe().unwrap()));
    }

    #[test]
    fn the_table_has_no_mistakes() {
        assert_eq!(COMMAND.mistakes(), Vec::<String>::new());
    }

    #[test]
    fn lines_are_read() {
        let line = "-n 64 --seed 7 --machine modern-ib/1 --faults slow=3@10x,delay=1% --runs 20 --for 10m --explore pct:3 ./heat -n 8";
        let Ok(Asked::Run { plan, program, arguments, .. }) = asked(line) else {
            panic!("{:?}", asked(line))
        };
        assert_eq!((plan.ranks, plan.seed, plan.runs, plan.how()), (64, 7, 20, Explore::Pct(3)));
        assert_eq!((plan.time, plan.name.as_str()), (Some(Duration::from_secs(600)), "heat"));
        assert_eq!((program, arguments), ("./heat".into(), vec!["-n".into(), "8".into()]));
        for (line, says) in [
            ("./heat", "how many ranks"),
            ("-n 4", "which program"),
            ("-n 0 a", "from 1 to 65536"),
            ("-n 4 --machine modern-ib/8 a", "not simulated yet"),
            ("-n 4 --machine fast a", "no machine 'fast'"),
            ("-n 4 --faults often a", "'often' is no fault"),
            ("-n 4 --explore luck a", "--explore luck"),
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
