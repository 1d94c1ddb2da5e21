//! `pgas-bench`: figures of the runtime and the compiler, each beside a floor measured in the same run.
//!
//! A *probe* is a program that measures and prints lines `KEY VALUE`, one a batch: a floor (C on libc alone, `floors/`), a
//! program of this project in Rust (`pgas-bench-rank`), C (`clients/`) or UPC (`upc/`). A *group* is a set of probes that run
//! in turn, several rounds; a *figure* is the median of one key of one probe beside the median of a floor's key.

mod build;
mod figures;
mod probe;
mod sim;
mod source;
mod workload;

use std::path::PathBuf;
use std::process::ExitCode;

use build::Tools;
use probe::Group;

const USAGE: &str = "usage: pgas-bench [smp|upc|coll|udp|udp-loss|mpi|ofi|ofi-registration|attentiveness|registration|netvm|netvm-live]... [--json] [--prefix DIR] [--scratch DIR] [--rounds N] \
[--filter TEXT]... [--quick] [--list]";

/// The sets of [`sim`].
const SIMULATED: &[&str] = &["registration", "netvm", "netvm-live"];

/// What the command line asks for.
#[derive(Debug, Clone, Default)]
pub struct Options {
    sets: Vec<String>,
    json: bool,
    /// Where the tools are installed.
    prefix: PathBuf,
    /// Where programs are built.
    scratch: PathBuf,
    rounds: usize,
    filters: Vec<String>,
    /// Small arrays and fewer rounds: to see that everything runs.
    quick: bool,
    list: bool,
}

fn main() -> ExitCode {
    let options = match options() {
        Ok(options) => options,
        Err(problem) => {
            eprintln!("pgas-bench: {problem}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let (simulated, measured): (Vec<_>, Vec<_>) =
        options.sets.iter().partition(|set| SIMULATED.contains(&set.as_str()));
    let mut failed = false;
    for set in &simulated {
        match sim::run(set, &options) {
            Ok(0) => {}
            Ok(n) => {
                failed = true;
                eprintln!("pgas-bench: {set}: {n} figures differ by more than 10 % without an explanation");
            }
            Err(problem) => {
                failed = true;
                eprintln!("pgas-bench: {set}: {problem}");
            }
        }
    }
    if measured.is_empty() {
        return if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS };
    }
    let mut groups = Vec::new();
    for set in &measured {
        for (_, figures) in figures::SETS.iter().filter(|(name, _)| name == set) {
            groups.extend(figures(&options));
        }
    }
    for group in &mut groups {
        group.figures.retain(|f| {
            options.filters.is_empty() || options.filters.iter().any(|text| f.name.contains(text.as_str()))
        });
    }
    groups.retain(|group| !group.figures.is_empty());
    if options.list {
        groups.iter().flat_map(|group| &group.figures).for_each(|figure| println!("{}", figure.name));
        return ExitCode::SUCCESS;
    }
    run(&options, &groups)
}

fn run(options: &Options, groups: &[Group]) -> ExitCode {
    let mut tools = match Tools::new(options) {
        Ok(tools) => tools,
        Err(problem) => {
            eprintln!("pgas-bench: {problem}");
            return ExitCode::from(2);
        }
    };
    let say = |text: &str| if options.json { eprintln!("{text}") } else { println!("{text}") };
    say(&probe::machine());
    if probe::busy() {
        say("warning: other programs keep the processors busy: the figures are not to be trusted");
    }
    let mut missing = 0;
    groups.iter().filter_map(|group| group.note.as_ref()).for_each(|note| say(note));
    if !options.json {
        println!("\n{}", probe::table_head());
    }
    for group in groups {
        let outcome = group.run(&mut tools, options.rounds);
        for figure in &group.figures {
            match outcome.figure(figure) {
                Ok(line) if options.json => println!("{}", line.json()),
                Ok(line) => println!("{}", line.row()),
                Err(problem) => {
                    missing += 1;
                    eprintln!("pgas-bench: {}: {problem}", figure.name);
                }
            }
        }
    }
    say("commands:");
    for command in tools.commands() {
        say(&format!("  {command}"));
    }
    if missing > 0 {
        eprintln!("pgas-bench: {missing} figures are missing");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

fn options() -> Result<Options, lexopt::Error> {
    use lexopt::prelude::*;
    let target = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../target");
    let mut options = Options {
        sets: Vec::new(),
        json: false,
        prefix: target.join("stage"),
        scratch: target.join("bench"),
        rounds: 0,
        filters: Vec::new(),
        quick: false,
        list: false,
    };
    let mut parser = lexopt::Parser::from_env();
    while let Some(arg) = parser.next()? {
        match arg {
            Long("json") => options.json = true,
            Long("prefix") => options.prefix = parser.value()?.into(),
            Long("scratch") => options.scratch = parser.value()?.into(),
            Long("rounds") => options.rounds = parser.value()?.parse()?,
            Long("filter") => options.filters.push(parser.value()?.string()?),
            Long("quick") => options.quick = true,
            Long("list") => options.list = true,
            Long("help") | Short('h') => {
                println!("{USAGE}");
                std::process::exit(0);
            }
            Value(set)
                if figures::SETS.iter().map(|(name, _)| name).chain(SIMULATED).any(|known| set == *known) =>
            {
                options.sets.push(set.string()?);
            }
            other => return Err(other.unexpected()),
        }
    }
    if options.sets.is_empty() {
        options.sets = vec!["smp".into(), "upc".into()];
    }
    if options.rounds == 0 {
        options.rounds = if options.quick { 1 } else { 5 };
    }
    Ok(options)
}
