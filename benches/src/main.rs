//! `pgas-bench`: figures of the runtime and the compiler, each beside a floor measured in the same run.
//!
//! A *probe* is a program that measures and prints lines `KEY VALUE`, one a batch: a floor (C on libc alone,
//! `floors/`), a program of this project in Rust (`pgas-bench-rank`, `pgas-bench-calls`), C (`clients/`) or
//! UPC (`upc/`). A *group* is a set of probes that run in turn, several rounds; a *figure* is the median of
//! one key of one probe beside the median of a floor's key.

mod build;
mod figures;
mod probe;
mod source;

use std::process::ExitCode;

use build::Tools;
use pgas_bench::machine;
use pgas_bench::options::{self, Options};
use probe::Group;

const HELP: &str = "\
Prints figures of the runtime and the compiler, each beside a floor measured in
the same run.

usage: pgas-bench [SET]... [options]

Sets (default: smp and upc)
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
  replay             jobs that are recorded: beside the same without neighbours;
                     bytes of a recording for each event
  attentiveness      puts and gets to a rank that computes, over every conduit

Comparisons with papers, simulated and live: gasnet-papers --help

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
it is busy, a warning is printed. The exit status is 1 if a figure is missing.
";

fn main() -> ExitCode {
    let sets: Vec<&str> = figures::SETS.iter().map(|(name, _)| *name).collect();
    let options = match options::read(&sets, &["smp", "upc"], HELP) {
        Ok(options) => options,
        Err(problem) => {
            eprintln!("pgas-bench: {problem}\npgas-bench --help lists sets and options");
            return ExitCode::from(2);
        }
    };
    let mut groups = Vec::new();
    for set in &options.sets {
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
            options.sets.join(", "),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_names_every_set() {
        let named = |set: &str| HELP.lines().any(|line| line.split_whitespace().next() == Some(set));
        for (set, _) in figures::SETS {
            assert!(named(set), "{set}");
        }
    }
}
