//! The netvm conduit on real memory: every registration mode on the same puts, for working sets below and above the memory that a
//! segment is allowed, each beside the simulated prediction for this host; and what a page costs that has to come.
//!
//! Measured on whatever runs beside it, so absolute figures say little on a machine with fewer processors than threads; the
//! predictions know neither scheduling nor system calls. What can be compared is the order of the modes, and where they bend.

use super::crossover::{Locality, Machine, cost};
use super::table::{Chart, Curve, Progress, Row, number};
use crate::Options;
use gasnet_netvm::{Budget, CostModel, Kind, Registration};
use std::collections::HashMap;
use std::path::Path;
use std::process::Command;

const PAGE: u64 = 4096;
/// Pages that may be resident.
const BUDGET: u64 = 512;
/// Of them, those that can be held: offered to the peer, and kept.
const M: u64 = 336;
const VICTIMS: u64 = 112;
/// Working sets in percent of the budget.
const SETS: [u64; 4] = [50, 80, 200, 400];

/// Modes, with the machine that predicts them.
fn modes() -> Vec<(&'static str, Registration)> {
    let budget = Budget { m: M * PAGE, victim: VICTIMS * PAGE, bucket: PAGE, adaptive: true };
    let frames = BUDGET as u32;
    vec![
        ("shadow-lock", Registration::ShadowLock { frames }),
        ("firehose-over-locks", Registration::FirehoseOverLocks { budget, frames: 0 }),
        ("firehose", Registration::Pinned(Kind::Firehose, budget)),
        ("rendezvous", Registration::Pinned(Kind::RendezvousUnpin, budget)),
        ("pindown-cache", Registration::Pinned(Kind::PinDownCache, budget)),
        ("bounce", Registration::Pinned(Kind::Bounce, budget)),
        ("rendezvous-nounpin", Registration::Pinned(Kind::RendezvousNoUnpin, budget)),
        ("pin-everything", Registration::Pinned(Kind::PinEverything, budget)),
    ]
}

/// Steps of the progress bar.
pub fn steps() -> usize {
    modes().len() * SETS.len() + 1
}

/// What a run printed: the median of each key.
fn measure(rank: &Path, mode: &str, pages: u64, puts: u64) -> Result<HashMap<String, f64>, String> {
    let mut command = Command::new(rank);
    command.args(["netvm_puts", &pages.to_string(), &puts.to_string()]);
    command.env("GASNET_CONDUIT", "netvm").env("GASNET_PSHM_NODES", "2");
    command.env("GASNET_NETVM_REGISTRATION", mode);
    // Behind the working set there is room for the source.
    let segment = (pages + 16) * PAGE;
    let memory = if mode == "pin-everything" { segment } else { BUDGET * PAGE };
    command.env("GASNET_MAX_SEGSIZE", segment.to_string()).env("GASNET_NETVM_MEMORY", memory.to_string());
    let output = command.output().map_err(|e| format!("{}: {e}", rank.display()))?;
    if !output.status.success() {
        return Err(format!("{mode}, {pages} pages: {}", String::from_utf8_lossy(&output.stderr)));
    }
    let mut values: HashMap<String, Vec<f64>> = HashMap::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        if let Some((key, value)) = line.split_once(' ')
            && let Ok(value) = value.parse()
        {
            values.entry(key.to_string()).or_default().push(value);
        }
    }
    let median = |mut all: Vec<f64>| {
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    };
    Ok(values.into_iter().map(|(key, all)| (key, median(all))).collect())
}

/// Rows, plots, and a table to read.
pub type Figures = (Vec<Row>, Vec<Chart>, Vec<String>);

/// All figures.
pub fn run(options: &Options, progress: &mut Progress) -> Result<Figures, String> {
    let rank = std::env::current_exe()
        .ok()
        .and_then(|path| Some(path.parent()?.join("pgas-bench-rank")))
        .ok_or("where is pgas-bench-rank?")?;
    let puts = if options.quick { 300 } else { 3000 };
    let machine = CostModel::named("this-host").ok_or("no model of this host")?;
    let machine = Machine::fair(&machine)?;
    let (mut rows, mut text) = (Vec::new(), Vec::new());
    text.push(
        "| mode | working set | blocking us | predicted us | 16 at a time us | 32 KiB MB/s |".to_string(),
    );
    text.push("|---|---|---|---|---|---|".to_string());
    let (mut here, mut there, mut rate) = (Vec::new(), Vec::new(), Vec::new());
    for (name, mode) in modes() {
        let mut curves = [Vec::new(), Vec::new(), Vec::new()];
        for set in SETS {
            progress.step(&format!("{name}, {set} % of the memory"));
            let pages = BUDGET * set / 100;
            let measured = measure(&rank, name, pages, puts)?;
            let of = |key: &str| measured.get(key).copied().ok_or_else(|| format!("{name}: no {key}"));
            let (put, deep, large) = (of("put8")?, of("put8x16")?, of("bw")?);
            let predicted = cost(&machine, mode, Locality::Zipf, pages, puts.min(1000))?.each;
            for (what, unit, value) in [
                ("put8", "us", put),
                ("put8x16", "us", deep),
                ("bw", "MB/s", large),
                ("put8_predicted", "us", predicted),
            ] {
                rows.push(Row::new(format!("live_{name}_{set}_{what}"), unit, 2, value));
            }
            text.push(format!(
                "| {name} | {set} % | {} | {} | {} | {} |",
                number(put),
                number(predicted),
                number(deep),
                number(large)
            ));
            for (curve, value) in curves.iter_mut().zip([put, predicted, large]) {
                curve.push((set as f64, value));
            }
            if name == "shadow-lock" && set == SETS[SETS.len() - 1] {
                for key in ["load", "first"] {
                    rows.push(Row::new(format!("live_fault_{key}"), "us", 2, of(key)?));
                }
            }
        }
        let [a, b, c] = curves;
        here.push(Curve { name: name.into(), points: a });
        there.push(Curve { name: name.into(), points: b });
        rate.push(Curve { name: name.into(), points: c });
    }
    let chart = |file: &str, title: &str, y, curves| Chart {
        file: file.into(),
        title: title.into(),
        x: "working set (% of the memory allowed)",
        y,
        log: (true, true),
        bars: Vec::new(),
        curves,
    };
    let charts = vec![
        chart("netvm-live-put", "8-byte puts on real memory, Zipf 0.99", "time of a put (us)", here),
        chart("netvm-live-predicted", "The same as simulated for this host", "time of a put (us)", there),
        chart("netvm-live-bandwidth", "32 KiB puts on real memory, in order", "MB/s", rate),
    ];
    Ok((rows, charts, text))
}
