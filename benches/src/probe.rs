//! Probes, and the figures taken from what they print.

use std::collections::BTreeMap;

use pgas_bench::median;

/// Where a probe's program comes from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Program {
    /// `floors/NAME.c`, with more flags and libraries.
    Floor(&'static str, Vec<String>),
    /// `floors/NAME.c`, between two hosts that lose this many of 10 000 packets.
    FloorBetween(&'static str, u32),
    /// `pgas-bench-rank`, likewise.
    RustBetween(u32),
    /// `floors/mpi.c`, by the compiler and launcher of an MPI.
    MpiFloor(&'static str),
    /// `pgas-bench-rank`.
    Rust,
    /// `pgas-bench-calls`.
    Calls,
    /// The same in a job whose ranks die, with this `--on-death`.
    Dying(&'static str),
    /// The same in a job that is recorded, with these options beside `--record`.
    Recorded(&'static [&'static str]),
    /// `gasnet-papers-clan`.
    Clan,
    /// `pgas-bench-rank`, by the launcher of an MPI.
    MpiRust(&'static str),
    /// `clients/NAME.c`, over `gasnet.h`.
    Client(&'static str),
    /// `upc/NAME.upc`, with flags for `upcc`.
    Upc(&'static str, Vec<String>),
    /// `fortran/NAME.f90`, by gfortran with this library for coarrays.
    Fortran(&'static str, Coarrays),
    /// Time the compiler itself, on a program of about this many lines.
    Compiler(usize),
}

/// A library for coarrays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Coarrays {
    /// This project's.
    Own,
    /// `floors/coarrays.c`.
    Floor,
    /// OpenCoarrays over Open MPI, as Debian has it.
    Other,
}

/// A program that measures, with its arguments.
#[derive(Debug, Clone)]
pub struct Probe {
    /// The program to run.
    pub program: Program,
    /// Its arguments.
    pub args: Vec<String>,
    /// How many ranks; 0 for a floor, which starts its own.
    pub ranks: u32,
    /// Settings it runs with.
    pub env: &'static [(&'static str, &'static str)],
}

/// Which of two values is the better one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// Times.
    Lower,
    /// Rates.
    Higher,
}

/// One line of the result.
#[derive(Debug, Clone)]
pub struct Figure {
    /// Its name.
    pub name: String,
    /// Unit of value and floor.
    pub unit: &'static str,
    /// Direction.
    pub better: Better,
    /// Ranks that the value was measured with.
    pub ranks: u32,
    /// Probe (index in the group) and key of the value.
    pub value: (usize, &'static str),
    /// Probe and keys of the floor; the best of several counts.
    pub floor: (usize, &'static [&'static str]),
    /// The bar it is held against, in words.
    pub bar: &'static str,
    /// Value and floor are multiplied by this: to turn times into rates, its sign is negative and the result
    /// is `-scale / sample`.
    pub scale: f64,
}

/// Probes that run in turn and the figures they give.
#[derive(Debug, Clone, Default)]
pub struct Group {
    /// The probes, floors first.
    pub probes: Vec<Probe>,
    /// The figures.
    pub figures: Vec<Figure>,
    /// The largest number of rounds; 0: as many as the options say.
    pub rounds: usize,
    /// A remark for the reader.
    pub note: Option<String>,
}

/// Samples of each probe by key, and why a probe gave none.
#[derive(Debug, Default)]
pub struct Probed {
    /// The samples.
    pub samples: Vec<BTreeMap<String, Vec<f64>>>,
    /// Why there are none.
    pub problems: Vec<Option<String>>,
}

/// A finished figure.
#[derive(Debug)]
pub struct Measured {
    name: String,
    value: f64,
    unit: &'static str,
    floor: f64,
    ranks: u32,
    bar: &'static str,
}

impl Probed {
    /// Take a figure out of the samples.
    pub fn figure(&self, figure: &Figure) -> Result<Measured, String> {
        let turn = |sample: f64| {
            if figure.scale < 0.0 { -figure.scale / sample } else { figure.scale * sample }
        };
        let value = turn(self.median(figure.value.0, figure.value.1)?);
        let mut best: Option<f64> = None;
        for key in figure.floor.1 {
            let floor = turn(self.median(figure.floor.0, key)?);
            best = Some(match (best, figure.better) {
                (None, _) => floor,
                (Some(best), Better::Lower) => best.min(floor),
                (Some(best), Better::Higher) => best.max(floor),
            });
        }
        Ok(Measured {
            name: figure.name.clone(),
            value,
            unit: figure.unit,
            floor: best.ok_or("no floor")?,
            ranks: figure.ranks,
            bar: figure.bar,
        })
    }

    fn median(&self, probe: usize, key: &str) -> Result<f64, String> {
        if let Some(problem) = &self.problems[probe] {
            return Err(problem.clone());
        }
        let samples = self.samples[probe].get(key).ok_or_else(|| format!("the probe printed no `{key}`"))?;
        Ok(median(samples))
    }
}

impl Measured {
    /// One JSON object.
    pub fn json(&self) -> String {
        format!(
            "{{\"name\":\"{}\",\"value\":{},\"unit\":\"{}\",\"floor\":{},\"ratio\":{},\"ranks\":{}}}",
            self.name,
            short(self.value),
            self.unit,
            short(self.floor),
            short(self.value / self.floor),
            self.ranks
        )
    }

    /// One row of the table.
    pub fn row(&self) -> String {
        format!(
            "| {} | {} {} | {} | {} | {} | {} |",
            self.name,
            short(self.value),
            self.unit,
            short(self.floor),
            short(self.value / self.floor),
            self.ranks,
            self.bar
        )
    }
}

/// Four significant digits.
fn short(value: f64) -> String {
    if !value.is_finite() {
        return "0".into();
    }
    let digits = if value == 0.0 { 0 } else { value.abs().log10().floor() as i32 };
    let places = (3 - digits).clamp(0, 9) as usize;
    format!("{value:.places$}")
}

/// The head of the table.
pub fn table_head() -> &'static str {
    "| figure | value | floor | ratio | ranks | bar |\n|---|---|---|---|---|---|"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits() {
        assert_eq!(short(1234.5), "1234");
        assert_eq!(short(0.012341), "0.01234");
        assert_eq!(short(2.0), "2.000");
    }

    #[test]
    fn the_best_floor_counts_and_rates_are_turned() {
        let mut outcome = Probed { samples: vec![BTreeMap::new(); 2], problems: vec![None, None] };
        outcome.samples[0].insert("slow".into(), vec![4.0]);
        outcome.samples[0].insert("fast".into(), vec![2.0]);
        outcome.samples[1].insert("mine".into(), vec![2.5]);
        let mut figure = Figure {
            name: "f".into(),
            unit: "ns",
            better: Better::Lower,
            ranks: 1,
            value: (1, "mine"),
            floor: (0, &["slow", "fast"]),
            bar: "",
            scale: 1.0,
        };
        assert!(outcome.figure(&figure).unwrap().json().contains("\"ratio\":1.250"));
        figure.better = Better::Higher;
        figure.scale = -10.0;
        assert!(outcome.figure(&figure).unwrap().json().contains("\"value\":4.000"));
        assert!(outcome.figure(&figure).unwrap().json().contains("\"ratio\":0.8000"));
        figure.value.1 = "absent";
        assert!(outcome.figure(&figure).is_err());
    }
}
