//! The common parts of programs that try random programs: options, the loop over seeds, and the report.

use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::run::{Outcome, run};

/// The options on the command line.
#[derive(Debug)]
pub struct Options {
    /// The installation.
    pub prefix: PathBuf,
    /// Folder for the programs.
    pub scratch: PathBuf,
    seed: u64,
    count: u64,
    seconds: Option<u64>,
    print: bool,
}

/// Programs of one language.
#[derive(Debug)]
pub struct Seeds {
    /// The name of the command.
    pub name: &'static str,
    /// How many seeds make a program, where one program can be that of several.
    pub together: u64,
    /// The program of these seeds.
    pub program: fn(&[u64]) -> String,
    /// Compiles and runs it; returns how many seeds are left out because the compiler crashes on them. An
    /// error is the report of what went wrong.
    pub attempt: fn(&Options, &[u64]) -> Result<u64, String>,
}

impl Seeds {
    /// The command.
    pub fn main(&self) -> ExitCode {
        let options = match self.options() {
            Ok(options) => options,
            Err(problem) => {
                eprintln!("{}: {problem}\n{}", self.name, self.usage());
                return ExitCode::from(2);
            }
        };
        if options.print {
            print!("{}", (self.program)(&[options.seed]));
            return ExitCode::SUCCESS;
        }
        if let Err(problem) = std::fs::create_dir_all(&options.scratch) {
            eprintln!("{}: {}: {problem}", self.name, options.scratch.display());
            return ExitCode::from(2);
        }
        println!("first seed {}", options.seed);
        let start = Instant::now();
        let (mut done, mut crashed, mut failed) = (0, 0, 0);
        let mut next = options.seed;
        loop {
            let over = match options.seconds {
                Some(seconds) => start.elapsed() >= Duration::from_secs(seconds),
                None => done == options.count,
            };
            if over {
                break;
            }
            let mut seeds = next..(next / self.together + 1) * self.together;
            if options.seconds.is_none() {
                seeds.end = seeds.end.min(next + (options.count - done));
            }
            next = seeds.end;
            done += seeds.end - seeds.start;
            let (wrong, not_compiled) = self.attempt_all(&options, &seeds.collect::<Vec<_>>());
            failed += wrong;
            crashed += not_compiled;
        }
        let seconds = start.elapsed().as_secs_f64();
        println!("{done} programs, {failed} failed, {crashed} crash the compiler, {seconds:.1} s");
        // A compiler that crashes on most programs tests nothing.
        if failed == 0 && crashed * 2 <= done { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }

    /// Seeds together, and each half of them if that does not pass: how many are wrong, and how many crash
    /// the compiler.
    fn attempt_all(&self, options: &Options, seeds: &[u64]) -> (u64, u64) {
        let report = match (self.attempt)(options, seeds) {
            Ok(crashed) => return (0, crashed),
            Err(report) => report,
        };
        if let [seed] = seeds {
            println!("FAILED seed {seed}\n{report}");
            return (1, 0);
        }
        let (first, second) = seeds.split_at(seeds.len() / 2);
        let [first, second] = [first, second].map(|half| self.attempt_all(options, half));
        let (failed, crashed) = (first.0 + second.0, first.1 + second.1);
        if failed > 0 {
            return (failed, crashed);
        }
        println!("FAILED seeds {seeds:?}, each half of which passes\n{report}");
        (1, crashed)
    }

    fn usage(&self) -> String {
        format!(
            "usage: {} [--prefix DIR] [--scratch DIR] [--seed N] [--count N] [--seconds N] [--print]
  --seed N      the first program (default: from the clock); the others follow
  --count N     how many programs (default 20)
  --seconds N   go on for that long instead
  --print       print the program of the seed and stop",
            self.name
        )
    }

    fn options(&self) -> Result<Options, lexopt::Error> {
        use lexopt::prelude::*;
        let target = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../target");
        let clock = SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |now| now.as_secs());
        let mut options = Options {
            prefix: target.join("stage"),
            scratch: target.join(self.name),
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
                    println!("{}", self.usage());
                    std::process::exit(0);
                }
                other => return Err(other.unexpected()),
            }
        }
        Ok(options)
    }
}

/// Runs a command of an attempt with so many seeds to its end.
///
/// # Errors
/// It cannot be run, or takes too long.
pub fn finish(command: Command, seeds: usize) -> Result<Outcome, String> {
    run(command, "", Duration::from_secs(100 + 20 * seeds as u64)).map_err(|error| error.to_string())
}
