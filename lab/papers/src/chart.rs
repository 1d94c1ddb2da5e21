//! Curves, and the figures that they make.

use std::fmt::Write;

/// A curve of a figure.
#[derive(Debug, Clone)]
pub struct Curve {
    /// Its name in the legend.
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
    /// Its title.
    pub title: String,
    /// The machine and the ranks that it was measured or simulated on.
    pub setting: String,
    /// The axes.
    pub x: &'static str,
    /// See `x`.
    pub y: &'static str,
    /// Whether the axes are logarithmic.
    pub log: (bool, bool),
    /// Values that the vertical axis has room for, too: those of a figure that this one is compared with.
    pub beside: Vec<f64>,
    /// Names of the ordinates 1, 2, ..., if they stand for things.
    pub levels: Vec<&'static str>,
    /// Names of the abscissas 0, 1, ... : then it has bars.
    pub bars: Vec<&'static str>,
    /// The curves.
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
}
