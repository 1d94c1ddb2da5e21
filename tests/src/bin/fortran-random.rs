//! Compiles and runs random Fortran programs with coarrays; each compares itself with a serial oracle.

use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use gasnet_tests::fortran_random::{IMAGES, program};
use gasnet_tests::run::{Outcome, run};

const USAGE: &str =
    "usage: fortran-random [--prefix DIR] [--scratch DIR] [--seed N] [--count N] [--seconds N] [--print]
  --seed N      the first program (default: from the clock); the others follow
  --count N     how many programs (default 20)
  --seconds N   go on for that long instead
  --print       print the program of the seed and stop";

/// What images of a run are to each other.
const WAYS: [&[(&str, &str)]; 3] =
    [&[("GASNET_NEIGHBORHOOD", "on")], &[("GASNET_NEIGHBORHOOD", "2")], &[("GASNET_NEIGHBORHOOD", "off")]];

struct Options {
    prefix: PathBuf,
    scratch: PathBuf,
    seed: u64,
    count: u64,
    seconds: Option<u64>,
    print: bool,
}

/// How a program fared.
enum Fate {
    Passed,
    /// The compiler ended with an error of its own.
    NotCompiled,
}

fn main() -> ExitCode {
    let options = match options() {
        Ok(options) => options,
        Err(problem) => {
            eprintln!("fortran-random: {problem}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    if options.print {
        print!("{}", program(options.seed));
        return ExitCode::SUCCESS;
    }
    if let Err(problem) = std::fs::create_dir_all(&options.scratch) {
        eprintln!("fortran-random: {}: {problem}", options.scratch.display());
        return ExitCode::from(2);
    }
    println!("first seed {}", options.seed);
    let start = Instant::now();
    let (mut done, mut crashed, mut failed) = (0, 0, 0);
    for seed in options.seed.. {
        let over = match options.seconds {
            Some(seconds) => start.elapsed() >= Duration::from_secs(seconds),
            None => done == options.count,
        };
        if over {
            break;
        }
        done += 1;
        match attempt(&options, seed) {
            Ok(Fate::Passed) => {}
            Ok(Fate::NotCompiled) => crashed += 1,
            Err(report) => {
                failed += 1;
                println!("FAILED seed {seed}\n{report}");
            }
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    println!("{done} programs, {failed} failed, {crashed} crash the compiler, {seconds:.1} s");
    // A compiler that crashes on most programs tests nothing.
    if failed == 0 && crashed * 2 <= done { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn attempt(options: &Options, seed: u64) -> Result<Fate, String> {
    let source = options.scratch.join(format!("random-{seed}.f90"));
    std::fs::write(&source, program(seed)).map_err(|error| error.to_string())?;
    let binary = source.with_extension("");
    let level = ["-O0", "-O2", "-O3"][(seed % 3) as usize];
    let mut compile = Command::new(options.prefix.join("bin/caf"));
    compile.args([level, "-g", "-w"]).arg(&source).arg("-o").arg(&binary);
    let outcome = finish(compile)?;
    if outcome.stderr.contains("internal compiler error") {
        drop(std::fs::remove_file(source));
        return Ok(Fate::NotCompiled);
    }
    if outcome.status != Some(0) {
        return Err(format!("{level}\n{}", outcome.report()));
    }
    for environment in WAYS {
        let mut job = Command::new(options.prefix.join("bin/cafrun"));
        job.envs(environment.iter().copied());
        job.arg("-n").arg(IMAGES.to_string()).arg(&binary);
        let outcome = finish(job)?;
        if outcome.status != Some(0) || !outcome.stdout.contains("passed") {
            return Err(format!("{level}, {environment:?}\n{}", outcome.report()));
        }
    }
    for file in [source, binary] {
        drop(std::fs::remove_file(file));
    }
    Ok(Fate::Passed)
}

fn finish(command: Command) -> Result<Outcome, String> {
    run(command, "", Duration::from_secs(120)).map_err(|error| error.to_string())
}

fn options() -> Result<Options, lexopt::Error> {
    use lexopt::prelude::*;
    let target = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../target");
    let clock = SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |now| now.as_secs());
    let mut options = Options {
        prefix: target.join("stage"),
        scratch: target.join("fortran-random"),
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
