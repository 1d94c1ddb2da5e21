//! Compiles and runs random UPC programs; each compares itself with a sequential oracle.

use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use gasnet_tests::run::{Outcome, run};
use gasnet_tests::upc_random::program;

const USAGE: &str =
    "usage: upc-random [--prefix DIR] [--scratch DIR] [--seed N] [--count N] [--seconds N] [--print]
  --seed N      the first program (default: from the clock); the others follow
  --count N     how many programs (default 20)
  --seconds N   go on for that long instead
  --print       print the program of the seed and stop";

/// The passes of upcc's optimiser.
const PASSES: [&str; 8] =
    ["forall", "privatise", "coalesce", "split-phase", "arithmetic", "hoist", "outline", "vector"];

struct Options {
    prefix: PathBuf,
    scratch: PathBuf,
    seed: u64,
    count: u64,
    seconds: Option<u64>,
    print: bool,
}

fn main() -> ExitCode {
    let options = match options() {
        Ok(options) => options,
        Err(problem) => {
            eprintln!("upc-random: {problem}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    if options.print {
        print!("{}", program(options.seed));
        return ExitCode::SUCCESS;
    }
    if let Err(problem) = std::fs::create_dir_all(&options.scratch) {
        eprintln!("upc-random: {}: {problem}", options.scratch.display());
        return ExitCode::from(2);
    }
    println!("first seed {}", options.seed);
    let start = Instant::now();
    let (mut done, mut failed) = (0, 0);
    for seed in options.seed.. {
        let over = match options.seconds {
            Some(seconds) => start.elapsed() >= Duration::from_secs(seconds),
            None => done == options.count,
        };
        if over {
            break;
        }
        done += 1;
        if let Err(report) = attempt(&options, seed) {
            failed += 1;
            println!("FAILED seed {seed}\n{report}");
        }
    }
    println!("{done} programs, {failed} failed, {:.1} s", start.elapsed().as_secs_f64());
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// One program: dynamic, run with several numbers of threads, and static for one of them.
fn attempt(options: &Options, seed: u64) -> Result<(), String> {
    let source = options.scratch.join(format!("random-{seed}.upc"));
    std::fs::write(&source, program(seed)).map_err(|error| error.to_string())?;
    let binary = source.with_extension("");
    let fixed = [2, 3, 4, 5, 8][(seed % 5) as usize];
    // Not all programs take the same ways through compiler and runtime.
    let mut flags = vec![if (seed / 5).is_multiple_of(7) { "-O0" } else { "-O2" }];
    if seed % 4 == 1 {
        flags.push("-fupc-pts=struct");
    }
    let neighbours = if seed % 3 == 2 { "off" } else { "on" };
    for (counts, environment) in [(vec![1, 2, 3, 4], None), (vec![fixed], Some(format!("-T={fixed}")))] {
        let mut compile = Command::new(options.prefix.join("bin/upcc"));
        compile.args(&flags).args(&environment);
        // One of the passes less, or none but one.
        let pass = PASSES[(seed / 3) as usize % PASSES.len()];
        match (environment.is_some(), seed % 4) {
            (true, 0 | 1) => drop(compile.arg(format!("-fno-upc-{pass}"))),
            (true, 2) => {
                for other in PASSES.iter().filter(|other| **other != pass) {
                    compile.arg(format!("-fno-upc-{other}"));
                }
            }
            _ => {}
        }
        compile.arg(&source).arg("-o").arg(&binary);
        let outcome = finish(compile)?;
        if outcome.status != Some(0) || !outcome.stderr.is_empty() {
            return Err(outcome.report());
        }
        for count in counts {
            let mut job = Command::new(options.prefix.join("bin/upcrun"));
            job.env("GASNET_NEIGHBORHOOD", neighbours);
            job.arg("-n").arg(count.to_string()).arg(&binary);
            let outcome = finish(job)?;
            if outcome.status != Some(0) || !outcome.stdout.contains("passed") {
                return Err(outcome.report());
            }
        }
    }
    for file in [source, binary] {
        drop(std::fs::remove_file(file));
    }
    Ok(())
}

fn finish(command: Command) -> Result<Outcome, String> {
    run(command, "", Duration::from_secs(60)).map_err(|error| error.to_string())
}

fn options() -> Result<Options, lexopt::Error> {
    use lexopt::prelude::*;
    let target = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../target");
    let clock = SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |now| now.as_secs());
    let mut options = Options {
        prefix: target.join("stage"),
        scratch: target.join("upc-random"),
        seed: clock % 1_000_000 * 1000,
        count: 20,
        seconds: None,
        print: false,
    };
    let mut parser = lexopt::Parser::from_env();
    while let Some(arg) = parser.next()? {
        match arg {
            Long("prefix") => options.prefix = parser.value()?.into(),
            Long("scratch") => options.scratch = parser.value()?.into(),
            Long("seed") => options.seed = parser.value()?.parse()?,
            Long("count") => options.count = parser.value()?.parse()?,
            Long("seconds") => options.seconds = Some(parser.value()?.parse()?),
            Long("print") => options.print = true,
            Long("help") | Short('h') => {
                println!("{USAGE}");
                std::process::exit(0);
            }
            other => return Err(other.unexpected()),
        }
    }
    Ok(options)
}
