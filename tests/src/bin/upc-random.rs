//! Compiles and runs random UPC programs; each compares itself with a sequential oracle.

use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use gasnet_tests::run::{Outcome, run};
use gasnet_tests::upc_random::{Random, program};

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

/// How a program is compiled and run. Not all go the same ways through compiler and runtime.
struct Way {
    flags: Vec<String>,
    counts: Vec<u64>,
    environment: &'static [(&'static str, &'static str)],
}

impl Way {
    /// The thread count fixed at compile time, or not.
    fn draw(random: &mut Random, fixed: bool) -> Way {
        let mut flags = vec![random.pick(&["-O2", "-O2", "-O2", "-O2", "-O1", "-O3", "-O0"]).to_string()];
        let switch = |pass: &&str| format!("-fno-upc-{pass}");
        match random.below(5) {
            // One of the passes less, one alone, some.
            0 => flags.push(switch(random.pick(&PASSES))),
            1 => {
                let alone = *random.pick(&PASSES);
                flags.extend(PASSES.iter().filter(|pass| **pass != alone).map(switch));
            }
            2 => flags.extend(PASSES.iter().filter(|_| random.one_in(3)).map(switch)),
            _ => {}
        }
        if random.one_in(4) {
            flags.push("-fupc-pts=struct".into());
        }
        if random.one_in(3) {
            flags.push("-fupc-aggregate".into());
        }
        if random.one_in(16) {
            flags.push("-fsanitize=upc".into());
        }
        let mut counts = vec![1, 2, 3, 5];
        if random.one_in(3) {
            counts.push(8);
        }
        if fixed {
            counts = vec![*random.pick(&[1, 2, 3, 4, 5, 8])];
            flags.push(format!("-T={}", counts[0]));
        }
        let environment = *random.pick(&[
            &[("GASNET_NEIGHBORHOOD", "on")] as &[_],
            &[("GASNET_NEIGHBORHOOD", "on")],
            &[("GASNET_NEIGHBORHOOD", "2")],
            &[("GASNET_NEIGHBORHOOD", "off")],
            &[("GASNET_NEIGHBORHOOD", "off"), ("GASNET_SMP_DELAY", "3000ns")],
        ]);
        Way { flags, counts, environment }
    }
}

/// One program: dynamic, run with several numbers of threads, and static for one of them.
fn attempt(options: &Options, seed: u64) -> Result<(), String> {
    let source = options.scratch.join(format!("random-{seed}.upc"));
    std::fs::write(&source, program(seed)).map_err(|error| error.to_string())?;
    let binary = source.with_extension("");
    let mut random = Random::new(!seed);
    for fixed in [false, true] {
        let way = Way::draw(&mut random, fixed);
        let mut compile = Command::new(options.prefix.join("bin/upcc"));
        compile.args(&way.flags).arg(&source).arg("-o").arg(&binary);
        let outcome = finish(compile)?;
        if outcome.status != Some(0) || !outcome.stderr.is_empty() {
            return Err(format!("{}\n{}", way.flags.join(" "), outcome.report()));
        }
        for count in way.counts {
            let mut job = Command::new(options.prefix.join("bin/upcrun"));
            job.envs(way.environment.iter().copied());
            job.arg("-n").arg(count.to_string()).arg(&binary);
            let outcome = finish(job)?;
            if outcome.status != Some(0) || !outcome.stdout.contains("passed") {
                let (flags, environment) = (way.flags.join(" "), way.environment);
                return Err(format!("{flags}, -n {count}, {environment:?}\n{}", outcome.report()));
            }
        }
    }
    for file in [source, binary] {
        drop(std::fs::remove_file(file));
    }
    Ok(())
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
