//! The runtime on 64 to 10,000 simulated ranks: start, meetings, messages to everybody, memory; and programs
//! that others have measured on as many.
//!
//! Each number of ranks is a process of its own (`gasnet-papers-scale`), so that memory is counted from
//! nothing.

use crate::chart::{Chart, Curve};
use crate::table::{Progress, Row};
use std::collections::HashMap;
use std::process::Command;

/// What is simulated.
#[derive(Debug)]
pub struct Setup {
    machines: &'static [&'static str],
    /// Ranks, for start and meetings; for programs.
    ranks: &'static [u32],
    programs: &'static [u32],
}

impl Setup {
    /// All of it, or what takes seconds.
    pub fn new(quick: bool) -> Setup {
        if quick {
            Setup { machines: &["modern-ib"], ranks: &[64, 256], programs: &[64] }
        } else {
            Setup {
                machines: &["modern-ib", "this-host"],
                ranks: &[64, 256, 1024, 4096, 10_000],
                programs: &[64, 256, 1024],
            }
        }
    }

    /// How many steps [`run`] makes.
    pub fn steps(&self) -> usize {
        self.machines.len() * self.ranks.len() + 2 * self.programs.len()
    }
}

type Values = HashMap<String, f64>;

/// Rows, charts, and lines on what grows.
pub type Scale = (Vec<Row>, Vec<Chart>, Vec<String>);

fn simulate(machine: &str, ranks: u32, task: &str) -> Result<Values, String> {
    let own = std::env::current_exe().map_err(|e| e.to_string())?;
    let program = own.with_file_name("gasnet-papers-scale");
    let no = |why: String| format!("{} {machine} {ranks} {task}: {why}", program.display());
    let output = Command::new(&program).args([machine, &ranks.to_string(), task]).output();
    let output = output.map_err(|e| no(e.to_string()))?;
    if !output.status.success() {
        return Err(no(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let pair = |line: &str| {
        let (key, value) = line.split_once(' ')?;
        Some((key.to_string(), value.parse().ok()?))
    };
    Ok(text.lines().filter_map(pair).collect())
}

/// Figures of each number of ranks: key, unit.
const KEYS: [(&str, &str); 7] = [
    ("start", "s"),
    ("memory", "bytes"),
    ("barrier", "us"),
    ("all_reduce", "us"),
    ("all_to_all", "us"),
    ("put_to_everyone", "us"),
    ("events_per_s", "1/s"),
];

/// What conveyors reach (Maley and DeVinney, IA3 2019): a histogram is so many times as fast as with single
/// messages, with values of 8 and of 64 bytes; GB/s of a node at so many nodes.
const CONVEYORS_TIMES: [(&str, f64); 2] = [("8", 38.0), ("64", 8.0)];
const CONVEYORS_GB_S: [(u32, f64); 2] = [(1024, 5.0), (4096, 4.2)];

const NO_PACKING: &str =
    "the processor's time to pack and unpack costs nothing in the simulator, and a node has one rank";
const FEW_UPDATES: &str =
    "8,192 updates a rank: buffers are sent before they are full, the more so the more ranks there are";

/// Everything.
pub fn run(setup: &Setup, progress: &mut Progress) -> Result<Scale, String> {
    let (mut rows, mut charts, mut notes) = (Vec::new(), Vec::new(), Vec::new());
    for machine in setup.machines {
        let mut curves: Vec<Curve> =
            KEYS.iter().map(|(key, _)| Curve { name: (*key).into(), points: Vec::new() }).collect();
        for ranks in setup.ranks {
            progress.step(&format!("{machine}, {ranks} ranks"));
            let values = simulate(machine, *ranks, "collectives")?;
            for ((key, unit), curve) in KEYS.iter().zip(&mut curves) {
                let Some(value) = values.get(*key) else { continue };
                rows.push(Row::new(format!("scale_{machine}_{ranks}_{key}"), unit, *ranks, *value));
                curve.points.push((f64::from(*ranks), *value));
            }
        }
        notes.extend(curves.iter().filter_map(|curve| growth(machine, curve)));
        let us = |curve: &Curve| KEYS.iter().any(|(key, unit)| curve.name == *key && *unit == "us");
        let title = "Virtual time of meetings, and of messages to everybody";
        charts.push(chart(machine, "times", title, "us", curves.iter().filter(|c| us(c)).cloned().collect()));
        let memory = curves.into_iter().filter(|curve| curve.name == "memory").collect();
        charts.push(chart(machine, "memory", "Memory of the runtime in a rank", "bytes", memory));
    }
    programs(setup, progress, &mut rows, &mut charts)?;
    Ok((rows, charts, notes))
}

/// How a figure grows from the fewest ranks to the most, beside the logarithm.
fn growth(machine: &str, curve: &Curve) -> Option<String> {
    let (first, last) = (curve.points.first()?, curve.points.last()?);
    if first.0 == last.0 || curve.name == "events_per_s" {
        return None;
    }
    let (here, log) = (last.1 / first.1, last.0.log2() / first.0.log2());
    Some(format!(
        "- {machine}, {}: {here:.2} times from {} to {} ranks; the logarithm grows {log:.2} times, the ranks {:.0} times",
        curve.name,
        first.0,
        last.0,
        last.0 / first.0
    ))
}

fn chart(machine: &str, file: &str, title: &str, y: &'static str, curves: Vec<Curve>) -> Chart {
    Chart {
        file: format!("scale-{machine}-{file}"),
        title: title.into(),
        setting: format!("simulated: {machine}, a rank on each host"),
        x: "ranks",
        y,
        log: (true, true),
        curves,
        ..Chart::default()
    }
}

fn programs(
    setup: &Setup,
    progress: &mut Progress,
    rows: &mut Vec<Row>,
    charts: &mut Vec<Chart>,
) -> Result<(), String> {
    let machine = setup.machines[0];
    let (mut rates, mut inserts, mut gets) = (Vec::new(), Vec::new(), Vec::new());
    for ranks in setup.programs {
        progress.step(&format!("histogram, {ranks} ranks"));
        let values = simulate(machine, *ranks, "histogram")?;
        for (bytes, times) in CONVEYORS_TIMES {
            let of = |how: &str| values.get(&format!("{how}_{bytes}")).copied().unwrap_or(f64::NAN);
            let row = Row::new(
                format!("scale_histogram_{ranks}_{bytes}_times_single"),
                "times",
                *ranks,
                of("single") / of("together"),
            );
            rows.push(if *ranks == 1024 { row.paper(times).explained(NO_PACKING) } else { row });
        }
        let rate = 64.0 / values.get("together_64").copied().unwrap_or(f64::NAN);
        let row = Row::new(format!("scale_histogram_{ranks}_64_rate"), "GB/s", *ranks, rate);
        let paper = CONVEYORS_GB_S.iter().find(|(nodes, _)| nodes == ranks);
        rows.push(paper.map_or(row.clone(), |(_, rate)| row.paper(*rate).explained(FEW_UPDATES)));
        rates.push((f64::from(*ranks), rate));
        progress.step(&format!("hash table, {ranks} ranks"));
        let values = simulate(machine, *ranks, "map")?;
        for (key, points) in [("map_insert", &mut inserts), ("map_get", &mut gets)] {
            let Some(ns) = values.get(key) else { continue };
            rows.push(Row::new(format!("scale_{key}_{ranks}"), "ns", *ranks, *ns));
            // Operations of all ranks together.
            points.push((f64::from(*ranks), f64::from(*ranks) * 1000.0 / ns));
        }
    }
    let published = CONVEYORS_GB_S.map(|(nodes, rate)| (f64::from(nodes), rate)).to_vec();
    let curve = |name: &str, points| Curve { name: name.into(), points };
    let rates = vec![curve("here, 64 bytes", rates), curve("conveyors (published)", published)];
    charts.push(chart(machine, "histogram", "Histogram: rate of a node", "GB/s", rates));
    let linear = inserts.first().map_or(Vec::new(), |first: &(f64, f64)| {
        inserts.iter().map(|(ranks, _)| (*ranks, first.1 * ranks / first.0)).collect()
    });
    let curves = vec![
        curve("insert", inserts),
        curve("get", gets),
        curve("linear, as UPC++ nearly is to 34,816 cores", linear),
    ];
    charts.push(chart(machine, "map", "Hash table: operations of all ranks", "million/s", curves));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_is_said_beside_the_logarithm() {
        let curve = Curve { name: "barrier".into(), points: vec![(64.0, 6.0), (4096.0, 12.0)] };
        let said = growth("modern-ib", &curve).unwrap();
        assert!(said.contains("2.00 times from 64 to 4096 ranks; the logarithm grows 2.00 times"), "{said}");
        let one = Curve { name: "barrier".into(), points: vec![(64.0, 6.0)] };
        assert_eq!(growth("modern-ib", &one), None);
    }
}
