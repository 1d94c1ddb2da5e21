//! `pgas-bench`: figures of the runtime and the compiler, each beside a floor measured in the same run.
//!
//! A *probe* is a program that measures and prints lines `KEY VALUE`, one a batch: a floor (C on libc alone,
//! `floors/`), a program of this project in Rust (`pgas-bench-rank`, `pgas-bench-calls`), C (`clients/`) or
//! UPC (`upc/`). A *group* is a set of probes that run in turn, several rounds; a *figure* is the median of
//! one key of one probe beside the median of a floor's key.

mod build;
mod figures;
mod machine;
mod options;
mod probe;
mod sim;
mod source;
mod workload;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use build::Tools;
use options::Options;
use probe::Group;

const HELP: &str = "\
Prints figures of the runtime and the compiler, each beside a floor measured in
the same run.

usage: pgas-bench [SET]... [options]

Sets that are measured on this machine (default: smp and upc)
  smp                puts, gets, messages, barriers, atomics of one host: beside
                     loads, stores, memcpy, a cache line passed to and fro
  upc                compiled UPC (triad, gather, random updates, stencil)
                     beside C on private arrays; compile times
  coll               collectives, locks and semaphores: beside a barrier, a
                     cache line passed to and fro
  udp                the udp conduit on one host: beside raw datagrams
  udp-loss           puts over udp between two network namespaces that lose
                     packets: beside TCP (needs root)
  mpi                the mpi conduit: beside the same operations in C on each
                     installed MPI
  ofi                the ofi conduit over libfabric's tcp and shm: beside the
                     same operations in C on libfabric
  ofi-registration   ways to register memory outside the segment: beside memory
                     that is already registered
  pgas               remote calls and updates of the crate pgas: beside the
                     messages and stores that they consist of
  ex                 GASNet-EX in C: beside loads, stores, a cache line passed
                     to and fro, raw datagrams, and the calls of GASNet-1
  vis                transfers of many pieces with a neighbour: beside loops in
                     C
  caf                Fortran coarrays by gfortran: beside the same programs
                     with a library that only copies, the core's barriers and
                     reductions, and OpenCoarrays (Debian's:
                     libcoarrays-openmpi-dev)
  clan               streams and virtual interfaces: beside puts and active
                     messages; pages at peers: beside reads by the NIC
  attentiveness      puts and gets to a rank that computes, over every conduit
  netvm-live         registration modes on real memory with paging: beside
                     predictions for this host

Sets that are simulated in virtual time, beside the figures that the papers
published
  registration       Firehose and its rivals: Table 3, Figures 3 to 5, and all
                     modes on the same puts
  netvm              NetVM: Tables 24 to 31, Figures 9 and 22 to 28
  clan-paper         CLAN: Tables 4.1, 5.1, 5.2 and 6.1, rates, crossovers, the
                     switch (the set clan prints these, too)
  trapeze            Trapeze: Table 1, cut-through delivery, Figures 4 and 5

      --filter TEXT  measure only figures whose name contains TEXT; may be
                     repeated
      --list         print the names of the figures that would be measured
      --rounds N     number of runs of each program (default 5, or 1 with
                     --quick)
      --quick        use small arrays and few rounds, to see that everything
                     runs
      --json         print one JSON object per line: name, value, unit, floor,
                     ratio, ranks
      --prefix DIR   directory of upcc, gasnetrun and the libraries (default
                     target/stage, made by cargo xtask stage)
      --scratch DIR  directory for built programs, and for plots under plots/
                     (default target/bench)
  -h, --help         print this text

Figures are medians; a ratio is figure / floor. Measure on an idle machine: if
it is busy, a warning is printed. The exit status is 1 if a figure is missing,
or differs from a paper by more than 10 % without an explanation.
";

/// The sets of [`sim`].
const SIMULATED: &[&str] = &["registration", "netvm", "netvm-live", "clan-paper", "trapeze"];

fn main() -> ExitCode {
    let options = match options() {
        Ok(options) => options,
        Err(problem) => {
            eprintln!("pgas-bench: {problem}\npgas-bench --help lists sets and options");
            return ExitCode::from(2);
        }
    };
    let (mut simulated, measured): (Vec<&str>, Vec<&str>) =
        options.sets.iter().map(String::as_str).partition(|set| SIMULATED.contains(set));
    if measured.contains(&"clan") && !options.list {
        simulated.push("clan-paper");
    }
    let mut failed = false;
    for set in simulated {
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
    if groups.is_empty() {
        eprintln!(
            "pgas-bench: no figure of {} has a name with {}; --list names them",
            measured.join(", "),
            options.filters.join(" or ")
        );
        return ExitCode::from(2);
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
    say(&machine::machine());
    if machine::busy() {
        say("warning: other programs keep the processors busy: the figures are not to be trusted");
    }
    let mut missing = 0;
    groups.iter().filter_map(|group| group.note.as_ref()).for_each(|note| say(note));
    if !options.json {
        println!("\n{}", probe::table_head());
    }
    for group in groups {
        let outcome = tools.run(group, options.rounds);
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
    // This program runs from the folder `release` of cargo's build output, wherever that is.
    let own = std::env::current_exe().ok();
    let target = own.as_deref().and_then(Path::parent).and_then(Path::parent);
    let built = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../target");
    let target = target.map_or(built, Path::to_path_buf);
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
            Long("rounds") => {
                let value = parser.value()?.string()?;
                options.rounds =
                    value.parse().ok().filter(|rounds| *rounds > 0).ok_or_else(|| {
                        format!("--rounds: '{value}' is not a number of rounds; use 1 or more")
                    })?;
            }
            Long("filter") => options.filters.push(parser.value()?.string()?),
            Long("quick") => options.quick = true,
            Long("list") => options.list = true,
            Long("help") | Short('h') => {
                print!("{HELP}");
                std::process::exit(0);
            }
            Value(set)
                if figures::SETS.iter().map(|(name, _)| name).chain(SIMULATED).any(|known| set == *known) =>
            {
                options.sets.push(set.string()?);
            }
            Value(set) => return Err(format!("there is no set '{}'", set.to_string_lossy()).into()),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_names_every_set() {
        let named = |set: &str| HELP.lines().any(|line| line.split_whitespace().next() == Some(set));
        for set in figures::SETS.iter().map(|(name, _)| name).chain(SIMULATED) {
            assert!(named(set), "{set}");
        }
    }
}
