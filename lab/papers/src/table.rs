//! Rows of "paper | here | difference".

use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};

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

    /// A published figure of something that is not here.
    pub fn published(name: impl Into<String>, unit: &'static str, paper: f64) -> Row {
        Row::new(name, unit, 0, f64::NAN).paper(paper).explained("published only: not modelled here")
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
        self.paper.map(|p| (self.here - p) / p * 100.0).filter(|d| d.is_finite())
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
            if self.here.is_nan() { "null".into() } else { number(self.here) },
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
        let here = if self.here.is_nan() { "-".into() } else { number(self.here) };
        format!("| {} | {paper} | {here} | {} | {difference} | {why} |", self.name, self.unit)
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

/// The first lines of a table of such columns.
pub fn table(head: &[&str]) -> Vec<String> {
    vec![format!("| {} |", head.join(" | ")), format!("|{}", "---|".repeat(head.len()))]
}

/// A line of a table.
pub fn line(cells: &[String]) -> String {
    format!("| {} |", cells.join(" | "))
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
        let only = Row::published("nfs", "MB/s", 13.5);
        assert!(only.holds() && only.line().starts_with("| nfs | 13.50 | - | MB/s | - |"), "{}", only.line());
        assert!(only.json().contains("\"value\":null"));
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
