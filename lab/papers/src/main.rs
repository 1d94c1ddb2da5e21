//! `gasnet-papers`: what four papers have measured, beside predictions from a cluster in virtual time; and
//! the live conduit netvm beside what the same models predict for this host.
//!
//! A *set* has the tables and figures of one paper, or those of `netvm-live`. Its module runs the paper's
//! programs ([`programs`], [`workload`]) and returns *rows* (`paper | here | difference`, [`table`]) and
//! *charts* ([`chart`], drawn by [`plot`]). Programs that run on ranks of their own are beside this one:
//! `gasnet-papers-rank` for `netvm-live`, `gasnet-papers-clan` for the set `clan` of `pgas-bench`, and
//! `gasnet-papers-scale`, which simulates one job of the set `scale`.

mod backing;
mod chart;
mod clan;
mod crossover;
mod live;
mod netvm;
mod plot;
mod programs;
mod registration;
mod scale;
mod table;
mod trapeze;
mod workload;

use std::path::Path;
use std::process::ExitCode;

use chart::Chart;
use pgas_bench::options::{self, Options};
use table::{Progress, Row};

const HELP: &str = "\
Prints what four papers have measured beside what is simulated here, and draws
their figures.

usage: gasnet-papers SET... [options]

Sets that are simulated in virtual time
  registration       Firehose and its rivals: Table 3, Figures 3 to 5, and all
                     modes on the same puts
  netvm              NetVM: Tables 24 to 31, Figures 9 and 22 to 28
  clan-paper         CLAN: Tables 4.1, 5.1, 5.2 and 6.1, rates, crossovers, the
                     switch
  trapeze            Trapeze: Table 1, cut-through delivery, Figures 4 and 5
  scale              64 to 10,000 ranks: start, meetings, a histogram and a hash
                     table, memory of a rank

A set that is measured on this machine
  netvm-live         registration modes on real memory with paging: beside
                     predictions for this host

      --filter TEXT  only figures whose name contains TEXT; may be repeated
      --quick        small runs, to see that everything works
      --json         print one JSON object per line: name, value, unit, paper,
                     explained, ranks
      --prefix DIR   directory of upcc and upcrun (default target/stage, made by
                     cargo xtask stage)
      --scratch DIR  directory for built programs, and for plots under plots/
                     (default target/bench)
  -h, --help         print this text

The exit status is 1 if a figure differs from a paper by more than 10 % without
an explanation.
";

/// A set: its name, and what computes it.
type Set = (&'static str, fn(&Options) -> Result<Outcome, String>);

const SETS: &[Set] = &[
    ("registration", registration),
    ("netvm", netvm),
    ("clan-paper", clan),
    ("trapeze", trapeze),
    ("scale", scale),
    ("netvm-live", netvm_live),
];

fn main() -> ExitCode {
    let names: Vec<&str> = SETS.iter().map(|(name, _)| *name).collect();
    let options = match options::read(&names, &[], HELP) {
        Ok(options) if options.sets.is_empty() => Err("which set?".into()),
        Ok(options) if options.list => {
            Err("names of figures are known when they are there; try --quick".into())
        }
        result => result,
    };
    let options = match options {
        Ok(options) => options,
        Err(problem) => {
            eprintln!("gasnet-papers: {problem}\ngasnet-papers --help lists sets and options");
            return ExitCode::from(2);
        }
    };
    let mut failed = false;
    for (set, compare) in SETS.iter().filter(|(name, _)| options.sets.iter().any(|set| set == name)) {
        match compare(&options).and_then(|outcome| print(outcome, &options)) {
            Ok(0) => {}
            Ok(n) => {
                failed = true;
                eprintln!(
                    "gasnet-papers: {set}: {n} figures differ by more than 10 % without an explanation"
                );
            }
            Err(problem) => {
                failed = true;
                eprintln!("gasnet-papers: {set}: {problem}");
            }
        }
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// Prints and draws; how many figures are neither within 10 % nor explained.
fn print((rows, charts, notes): Outcome, options: &Options) -> Result<usize, String> {
    let wanted =
        |name: &str| options.filters.is_empty() || options.filters.iter().any(|f| name.contains(f.as_str()));
    let rows: Vec<Row> = rows.into_iter().filter(|row| wanted(&row.name)).collect();
    if options.json {
        rows.iter().for_each(|row| println!("{}", row.json()));
    } else {
        println!("{}", table::HEAD);
        rows.iter().for_each(|row| println!("{}", row.line()));
        for (title, lines) in &notes {
            println!("\n{title}\n");
            lines.iter().for_each(|line| println!("{line}"));
        }
    }
    write(&charts, &options.scratch.join("plots"), options.json)?;
    Ok(rows.iter().filter(|row| !row.holds()).count())
}

fn write(charts: &[Chart], folder: &Path, quiet: bool) -> Result<(), String> {
    for chart in charts {
        let [csv, svg] = plot::write(chart, folder)?;
        let line = format!("plot: {svg} (values: {csv})");
        if quiet { eprintln!("{line}") } else { println!("{line}") }
    }
    Ok(())
}

/// Rows, charts, and what is to be said besides.
type Outcome = (Vec<Row>, Vec<Chart>, Vec<(&'static str, Vec<String>)>);

fn registration(options: &Options) -> Result<Outcome, String> {
    let setup = if options.quick { registration::Setup::small() } else { registration::Setup::paper() };
    let mut progress = Progress::new(8 + 6 * setup.sets.len() + 3 + crossover::STEPS);
    let mut rows = registration::table_3(&setup, &mut progress)?;
    let fig3 = registration::figure_3(&setup, &mut progress)?;
    let fig4 = registration::figure_4(&setup, &mut progress)?;
    let fig5 = registration::figure_5(&setup, &mut progress)?;
    rows.extend(registration::figure_rows(&setup, &fig3, &fig4, &fig5));
    let contradictions = registration::contradictions()
        .into_iter()
        .map(|(what, implies)| format!("- {what}: {implies}"))
        .collect();
    let puts = if options.quick { 300 } else { 3000 };
    let (third, tables) = crossover::third_set(puts, &mut progress)?;
    let (crossings, map) = crossover::crossover(puts, &mut progress)?;
    rows.extend(crossings);
    if options.json {
        rows.extend(third);
    }
    let notes = vec![
        ("Where the paper's numbers disagree, and the component cost that each implies:", contradictions),
        ("Every registration mode on the same puts:", tables),
    ];
    Ok((rows, vec![fig3, fig4, fig5, map], notes))
}

fn netvm(options: &Options) -> Result<Outcome, String> {
    let setup = netvm::Setup::paper(options.quick);
    let mut progress = Progress::new(5 + 38 + 33 + 2);
    let mut rows = netvm::memory_rows(&setup);
    rows.extend(netvm::transfer_rows(&setup, &mut progress)?);
    let mut charts = netvm::figures(&setup, &mut progress)?;
    rows.extend(netvm::figure_rows(&charts));
    charts.extend(netvm::appendix_figures(&setup, &mut progress)?);
    rows.extend(netvm::appendix_rows(&setup)?);
    rows.extend(netvm::split_rows(&setup)?);
    charts.splice(0..0, [netvm::figure_9(), netvm::figure_22(&setup)]);
    rows.extend(netvm::figure_9_rows(&charts[0]));
    charts.push(netvm::figure_28(&rows));
    Ok((rows, charts, vec![("Where the thesis's numbers disagree:", netvm::contradictions())]))
}

fn netvm_live(options: &Options) -> Result<Outcome, String> {
    let mut progress = Progress::new(live::steps(options));
    live::run(options, &mut progress)
}

fn scale(options: &Options) -> Result<Outcome, String> {
    let setup = scale::Setup::new(options.quick);
    let mut progress = Progress::new(setup.steps());
    let (rows, charts, notes) = scale::run(&setup, &mut progress)?;
    Ok((rows, charts, vec![("What grows with the number of ranks:", notes)]))
}

fn trapeze(options: &Options) -> Result<Outcome, String> {
    let setup = trapeze::Setup::paper(options.quick);
    let mut progress = Progress::new(3);
    progress.step("Table 1");
    let mut rows = trapeze::table_1(&setup)?;
    progress.step("cut-through");
    let (saved, chart) = trapeze::cut_through(&setup)?;
    rows.extend(saved);
    progress.step("Figures 4 and 5");
    let mut charts = trapeze::file_figures(&setup)?;
    rows.extend(trapeze::file_rows(&setup)?);
    rows.extend(trapeze::read_ahead_rows(&setup)?);
    charts.push(chart);
    Ok((rows, charts, vec![("Where the paper's numbers disagree:", trapeze::contradictions())]))
}

fn clan(options: &Options) -> Result<Outcome, String> {
    let setup = clan::Setup::paper(options.quick);
    let mut progress = Progress::new(4);
    progress.step("Tables 4.1, 5.1 and 5.2");
    let mut rows = clan::tables(&setup)?;
    progress.step("rates");
    rows.extend(clan::rate_rows(&setup)?);
    progress.step("crossovers, the switch");
    rows.extend(clan::crossover_rows(&setup)?);
    rows.extend(clan::switch_rows(&setup)?);
    progress.step("curves");
    let charts = clan::figures(&setup)?;
    Ok((rows, charts, vec![("Besides:", clan::notes())]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_names_every_set() {
        for (set, _) in SETS {
            assert!(HELP.lines().any(|line| line.split_whitespace().next() == Some(set)), "{set}");
        }
    }
}
