//! The command line of `gasnetrun --simulate`.
#![expect(unsafe_code, reason = "asks for equal addresses in all runs")]

use crate::faults::Faults;
use crate::plan::SimulationPlan;
use crate::vessel::PLAN;
use gasnet_sim::Explore;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Text of `gasnetrun --simulate --help`.
pub(crate) const HELP: &str = "\
Runs a program on N simulated ranks, in one process and in virtual time.

usage: gasnetrun --simulate -n N [options] PROGRAM [arguments]
       gasnetrun --simulate --again FILE [--gdb] PROGRAM [arguments]

  -n, --ranks N         number of ranks, up to 65536
      --seed S          seed, or the first of several (default 1)
      --machine NAME    machine: modern-ib (default), gm-myrinet2000,
                        lanai9-netvm, clan-piii, trapeze-alpha, this-host
      --faults LIST     what makes life harder, divided by commas: slow=3@10x,
                        stall=2@1ms..3ms, delay=1%, by=50us, loss=1%,
                        duplicate=1%, tight
      --runs N          one run with each of N seeds, until one fails
      --for TIME        begin no run after this time, as 30s or 10m
      --explore HOW     order of events: time (default for one run), mixed
                        (default for several), random, pos, pct:D, pctcp:D,
                        delay:D
      --again FILE      repeat the run that the file is of
      --gdb             run under gdb
  -h, --help            print this text

The program must be one whose main calls gasnet_conduits::run or pgas::run.

A run that fails is made small, and a file NAME-SEED.sim is written that repeats
it. The exit status is that of the failure: 101 after a panic, 125 after a
deadlock, 124 if it does not end, 128 + S after signal S.
";

/// Most ranks.
const MOST_RANKS: u32 = 65_536;
/// Bytes of a rank's segment. Memory that nobody touches costs nothing.
const SEGMENT_BYTES: usize = 64 << 20;

/// What is to be done.
#[derive(Debug, PartialEq)]
enum Asked {
    Print(&'static str),
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

fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Asked, String> {
    use lexopt::prelude::*;
    let mut parser = lexopt::Parser::from_args(arguments);
    let mut plan = SimulationPlan { ranks: 0, segment: SEGMENT_BYTES, ..SimulationPlan::default() };
    let (mut again, mut gdb, mut program) = (None, false, None);
    let mut rest = Vec::new();
    while let Some(argument) = parser.next().map_err(text)? {
        let number = |text: String| text.parse::<u64>().map_err(|_| format!("'{text}' is no number"));
        match argument {
            Short('n') | Long("ranks") => {
                let ranks = number(word(&mut parser)?)?;
                plan.ranks = u32::try_from(ranks)
                    .ok()
                    .filter(|n| (1..=MOST_RANKS).contains(n))
                    .ok_or_else(|| format!("-n {ranks}: from 1 to {MOST_RANKS} ranks can be simulated"))?;
            }
            Long("seed") => plan.seed = number(word(&mut parser)?)?,
            Long("runs") => plan.runs = number(word(&mut parser)?)?.max(1),
            Long("machine") => plan.set_machine(&word(&mut parser)?)?,
            Long("faults") => plan.faults = Faults::read(&word(&mut parser)?)?,
            Long("for") => plan.time = Some(time(&word(&mut parser)?)?),
            Long("explore") => {
                let how = word(&mut parser)?;
                let explore = Explore::named(&how);
                plan.explore = Some(explore.ok_or_else(|| {
                    format!("--explore {how}: time, mixed, random, pos, pct:D, pctcp:D or delay:D is needed, with D from 1 to 64")
                })?);
            }
            Long("again") => again = Some(word(&mut parser)?),
            Long("gdb") => gdb = true,
            Short('h') | Long("help") => return Ok(Asked::Print(HELP)),
            Value(file) => {
                program = Some(file);
                rest = parser.raw_args().map_err(text)?.collect();
                break;
            }
            other => return Err(text(other.unexpected())),
        }
    }
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

/// The value of an option.
fn word(parser: &mut lexopt::Parser) -> Result<String, String> {
    use lexopt::ValueExt;
    parser.value().and_then(|value| value.string()).map_err(text)
}

fn text(why: lexopt::Error) -> String {
    format!("{why}; see gasnetrun --simulate --help")
}

/// `30s`, `10m`, `2h`
fn time(text: &str) -> Result<Duration, String> {
    let wrong = || format!("--for {text}: a time is needed, as 30s or 10m");
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
            ("-n 4 --fault x a", "--fault"),
        ] {
            let said = asked(line).unwrap_err();
            assert!(said.contains(says), "{line}: {said}");
        }
    }
}
