//! Rows of "paper | here | difference", and curves.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::Path;

/// One figure, and what a paper says of it.
#[derive(Debug, Clone)]
pub struct Row {
    /// Its name, also in `--json`.
    pub name: String,
    /// Its unit.
    pub unit: &'static str,
    /// Predicted here.
    pub here: f64,
    /// Published; nothing for figures that nobody published, and for those that went into the model.
    pub paper: Option<f64>,
    /// Why the two differ, where that is known.
    pub explained: Option<String>,
    /// Ranks of the run.
    pub ranks: u32,
}

impl Row {
    /// A figure that nobody published.
    pub fn new(name: impl Into<String>, unit: &'static str, ranks: u32, here: f64) -> Row {
        Row { name: name.into(), unit, here, paper: None, explained: None, ranks }
    }

    /// Beside the published one.
    pub fn paper(mut self, paper: f64) -> Row {
        self.paper = Some(paper);
        self
    }

    /// With the reason for a difference.
    pub fn explained(mut self, why: impl Into<String>) -> Row {
        self.explained = Some(why.into());
        self
    }

    /// By how many percent it differs from the published figure.
    pub fn difference(&self) -> Option<f64> {
        self.paper.map(|p| (self.here - p) / p * 100.0)
    }

    /// Within 10 %, or explained.
    pub fn holds(&self) -> bool {
        self.difference().is_none_or(|d| d.abs() <= 10.0) || self.explained.is_some()
    }

    /// One JSON object.
    pub fn json(&self) -> String {
        let mut text = format!(
            "{{\"name\":\"{}\",\"value\":{},\"unit\":\"{}\",\"floor\":null,\"ratio\":null,\"ranks\":{}",
            self.name,
            number(self.here),
            self.unit,
            self.ranks
        );
        if let Some(paper) = self.paper {
            let _ = write!(text, ",\"paper\":{}", number(paper));
        }
        if let Some(why) = &self.explained {
            let _ = write!(text, ",\"explained\":\"{}\"", why.replace('\\', "\\\\").replace('"', "'"));
        }
        text.push('}');
        text
    }

    /// One row of the table.
    pub fn line(&self) -> String {
        let paper = self.paper.map_or("-".into(), number);
        let difference = self.difference().map_or("-".into(), |d| format!("{d:+.1} %"));
        let why = match (&self.explained, self.holds()) {
            (Some(why), _) => why.clone(),
            (None, false) => "NOT EXPLAINED".into(),
            _ => String::new(),
        };
        format!("| {} | {paper} | {} | {} | {difference} | {why} |", self.name, number(self.here), self.unit)
    }
}

/// The head of a table of rows.
pub const HEAD: &str = "| figure | paper | here | unit | difference | explained |\n|---|---|---|---|---|---|";

/// As many digits as mean something.
pub fn number(v: f64) -> String {
    if !v.is_finite() {
        return "0".into();
    }
    if v == v.trunc() && v.abs() >= 100.0 {
        return format!("{v:.0}");
    }
    let digits = if v == 0.0 { 0 } else { v.abs().log10().floor() as i32 };
    format!("{v:.0$}", (3 - digits).clamp(0, 6) as usize)
}

/// A curve of a figure.
#[derive(Debug, Clone)]
pub struct Curve {
    /// What it shows.
    pub name: String,
    /// Its points.
    pub points: Vec<(f64, f64)>,
}

impl Curve {
    /// The value at an abscissa.
    pub fn at(&self, x: f64) -> f64 {
        let nearest = self.points.iter().min_by(|a, b| (a.0 - x).abs().total_cmp(&(b.0 - x).abs()));
        nearest.map_or(f64::NAN, |p| p.1)
    }
}

/// A figure: curves over one axis, or bars.
#[derive(Debug, Clone, Default)]
pub struct Chart {
    /// File name without ending.
    pub file: String,
    /// What it shows.
    pub title: String,
    /// What it was measured or simulated on: machine, ranks.
    pub setting: String,
    /// The axes.
    pub x: &'static str,
    /// See `x`.
    pub y: &'static str,
    /// Whether the axes are logarithmic.
    pub log: (bool, bool),
    /// Values that the vertical axis has room for, too: those of a figure that this one is compared with.
    pub beside: Vec<f64>,
    /// Names of the abscissas 0, 1, ... : then it has bars.
    pub bars: Vec<&'static str>,
    /// What it shows.
    pub curves: Vec<Curve>,
}

impl Chart {
    /// As comma-separated values: one row for each point of each curve.
    pub fn csv(&self) -> String {
        let mut text = format!("curve,{},{}\n", self.x, self.y);
        for c in &self.curves {
            for (x, y) in &c.points {
                let _ = match self.bars.get(*x as usize) {
                    Some(bar) => writeln!(text, "\"{}\",{bar},{y}", c.name),
                    None => writeln!(text, "\"{}\",{x},{y}", c.name),
                };
            }
        }
        text
    }

    /// Writes the CSV file and the plot; returns their names.
    pub fn write(&self, folder: &Path) -> Result<[String; 2], String> {
        fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        let (csv, svg) =
            (folder.join(format!("{}.csv", self.file)), folder.join(format!("{}.svg", self.file)));
        fs::write(&csv, self.csv()).map_err(|e| format!("{}: {e}", csv.display()))?;
        super::plot::draw(self, &svg)?;
        Ok([csv.display().to_string(), svg.display().to_string()])
    }
}

/// A bar on standard error, where somebody may look at it.
#[derive(Debug)]
pub struct Progress {
    all: usize,
    done: usize,
    shown: bool,
}

impl Progress {
    /// For that many steps.
    pub fn new(all: usize) -> Progress {
        Progress { all: all.max(1), done: 0, shown: io::stderr().is_terminal() }
    }

    /// A step begins.
    pub fn step(&mut self, what: &str) {
        if self.shown {
            let full = 30 * self.done / self.all;
            let bar: String = (0..30).map(|i| if i < full { '#' } else { '.' }).collect();
            eprint!("\r[{bar}] {:3} % {what:<50.50}", 100 * self.done / self.all);
            let _ = io::stderr().flush();
        }
        self.done += 1;
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown {
            eprint!("\r{:90}\r", "");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_say_what_they_mean() {
        let row = Row::new("put", "us", 2, 15.0).paper(14.0);
        assert!(row.holds() && row.line().contains("+7.1 %"));
        assert!(!Row::new("put", "us", 2, 16.0).paper(14.0).holds());
        assert!(Row::new("put", "us", 2, 16.0).paper(14.0).explained("why").holds());
        assert_eq!(
            row.json(),
            "{\"name\":\"put\",\"value\":15.00,\"unit\":\"us\",\"floor\":null,\"ratio\":null,\"ranks\":2,\"paper\":14.00}"
        );
        assert_eq!(
            (number(1_500_000.0), number(0.6), number(12.345)),
            ("1500000".into(), "0.6000".into(), "12.35".into())
        );
    }
}
