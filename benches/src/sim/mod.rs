//! The papers' measurements on the simulated cluster: predictions beside published figures.

pub mod backing;
pub mod chart;
pub mod clan;
pub mod crossover;
pub mod live;
pub mod netvm;
mod plot;
pub mod programs;
pub mod registration;
pub mod table;
pub mod trapeze;

use crate::options::Options;
use chart::Chart;
use std::path::Path;
use table::{Progress, Row};

/// Runs the comparisons of a set; how many figures are neither within 10 % nor explained.
pub fn run(set: &str, options: &Options) -> Result<usize, String> {
    let (rows, charts, notes) = match set {
        "registration" => registration(options)?,
        "netvm" => netvm(options)?,
        "netvm-live" => netvm_live(options)?,
        "trapeze" => trapeze(options)?,
        "clan-paper" => clan(options)?,
        other => return Err(format!("no comparisons called {other}")),
    };
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
