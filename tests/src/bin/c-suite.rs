//! Runs the C test programs. See `tests/c/README.md`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use gasnet_tests::c_suite::{Options, list, suite};

const USAGE: &str = "usage: c-suite [--prefix DIR] [--programs DIR] [--scratch DIR] \
[--ranks \"1 2 3\"] [--env NAME=value]... [--jobs N] [--limit SECONDS] [--list] [FILTER]...";

fn main() -> ExitCode {
    match options() {
        Ok((options, false)) => start(&options),
        Ok((options, true)) => match list(&options) {
            Ok(names) => {
                names.iter().for_each(|name| println!("{name}"));
                ExitCode::SUCCESS
            }
            Err(problem) => complain(&problem),
        },
        Err(problem) => complain(&format!("{problem}\n{USAGE}")),
    }
}

fn complain(problem: &str) -> ExitCode {
    eprintln!("c-suite: {problem}");
    ExitCode::from(2)
}

fn start(options: &Options) -> ExitCode {
    let start = Instant::now();
    let summary = match suite(options, &|line| println!("{line}")) {
        Ok(summary) => summary,
        Err(problem) => return complain(&problem),
    };
    for (name, report) in &summary.failed {
        println!("\n---- {name}\n{}", report.trim_end());
    }
    for compiler in &summary.missing {
        println!("not tested: {compiler} is not installed");
    }
    println!(
        "\n{} passed, {} failed, {:.1} s",
        summary.passed,
        summary.failed.len(),
        start.elapsed().as_secs_f64()
    );
    if summary.failed.is_empty() && summary.passed > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn options() -> Result<(Options, bool), lexopt::Error> {
    use lexopt::prelude::*;
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let target = root.join("../target");
    let mut options = Options {
        programs: root.join("c"),
        prefix: target.join("stage"),
        scratch: target.join("c-suite"),
        filters: Vec::new(),
        ranks: Vec::new(),
        env: Vec::new(),
        jobs: std::thread::available_parallelism().map_or(1, usize::from),
        limit: Duration::from_secs(120),
    };
    let mut list = false;
    let mut parser = lexopt::Parser::from_env();
    while let Some(arg) = parser.next()? {
        match arg {
            Long("prefix") => options.prefix = parser.value()?.into(),
            Long("programs") => options.programs = parser.value()?.into(),
            Long("scratch") => options.scratch = parser.value()?.into(),
            Long("ranks") => {
                for word in parser.value()?.string()?.split_whitespace() {
                    options.ranks.push(word.parse().map_err(|_| format!("bad number: {word}"))?);
                }
            }
            Long("env") => {
                let pair = parser.value()?.string()?;
                let (name, value) = pair.split_once('=').ok_or("--env needs NAME=value")?;
                options.env.push((name.into(), value.into()));
            }
            Long("jobs") => options.jobs = parser.value()?.parse()?,
            Long("limit") => options.limit = Duration::from_secs(parser.value()?.parse()?),
            Long("list") => list = true,
            Long("help") | Short('h') => {
                println!("{USAGE}");
                std::process::exit(0);
            }
            Value(filter) => options.filters.push(filter.string()?),
            other => return Err(other.unexpected()),
        }
    }
    Ok((options, list))
}
