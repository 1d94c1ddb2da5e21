//! Plots, as SVG files. The legend has a panel of its own beside the axes, so it hides nothing; an axis ends
//! where its values end. Curves differ in colour, mark and dashes, so that those that coincide, or are
//! printed in grey, can be told apart.

use super::chart::{Chart, Curve};
use plotters::coord::Shift;
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::fs;
use std::ops::Range;
use std::path::Path;

/// Colours that people who do not see red from green can tell apart.
const COLOURS: [RGBColor; 8] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(90, 90, 90),
    RGBColor(86, 180, 233),
    RGBColor(0, 0, 0),
];
const SIZE: (u32, u32) = (960, 560);
/// Pixels above the axes, and beside them for the legend.
const HEAD: u32 = 72;
const LEGEND: u32 = 205;
/// Fewest numbers beside a logarithmic axis; with fewer, the values on it cannot be read.
const FEWEST_TICKS: usize = 5;
/// Points of a curve that has a mark at each.
const MARKED: usize = 30;

type Failure = Box<dyn std::error::Error>;
type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Writes the CSV file and the plot of a chart; returns their names.
pub fn write(chart: &Chart, folder: &Path) -> Result<[String; 2], String> {
    fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let (csv, svg) = (folder.join(format!("{}.csv", chart.file)), folder.join(format!("{}.svg", chart.file)));
    fs::write(&csv, chart.csv()).map_err(|e| format!("{}: {e}", csv.display()))?;
    draw(chart, &svg)?;
    Ok([csv.display().to_string(), svg.display().to_string()])
}

/// Draws a chart.
pub fn draw(chart: &Chart, to: &Path) -> Result<(), String> {
    let text = |e: String| format!("{}: {e}", to.display());
    let root = SVGBackend::new(to, SIZE).into_drawing_area();
    draw_on(chart, &root).map_err(|e| text(e.to_string()))?;
    root.present().map_err(|e| text(e.to_string()))
}

fn draw_on(chart: &Chart, root: &Area<'_>) -> Result<(), Failure> {
    root.fill(&WHITE)?;
    let (head, rest) = root.split_vertically(HEAD);
    let line =
        |text: &str, size: f64, y| Text::new(text.to_string(), (14, y), ("sans-serif", size).into_font());
    head.draw(&line(&chart.title, 19.0, 10))?;
    for (row, text) in chart.setting.lines().enumerate() {
        head.draw(&line(text, 13.0, 36 + 17 * row as i32))?;
    }
    let (axes, legend) = rest.split_horizontally(SIZE.0 - LEGEND);
    draw_legend(chart, &legend)?;
    if chart.bars.is_empty() { draw_curves(chart, &axes) } else { draw_bars(chart, &axes) }
}

/// The range of an axis, and its labelled values.
struct Axis {
    low: f64,
    high: f64,
    log: bool,
    ticks: Vec<f64>,
}

impl Axis {
    fn new(values: impl Iterator<Item = f64>, log: bool, from_zero: bool) -> Axis {
        let values = values.filter(|v| v.is_finite() && !(log && *v <= 0.0));
        let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        let (low, high) = match (low.is_finite(), log) {
            (false, _) => (1.0, 2.0),
            (_, true) => (low / 1.15, high * 1.15),
            (_, false) if from_zero => (low.min(0.0), if high > 0.0 { high * 1.06 } else { 1.0 }),
            (_, false) => (low, if high > low { high } else { low + 1.0 }),
        };
        let mut axis = Axis { low, high, log, ticks: Vec::new() };
        axis.ticks = if log { axis.powers() } else { axis.steps() };
        axis
    }

    /// Round numbers on a logarithmic axis.
    fn powers(&self) -> Vec<f64> {
        let (from, to) = (self.low.log10().floor() as i32, self.high.log10().ceil() as i32);
        let within = |v: &f64| (self.low..=self.high).contains(v);
        let of = |leads: &[f64]| -> Vec<f64> {
            (from..=to)
                .flat_map(|k| leads.iter().map(move |lead| lead * 10f64.powi(k)))
                .filter(within)
                .collect()
        };
        let all: [f64; 9] = std::array::from_fn(|i| i as f64 + 1.0);
        let coarse = [&all[..1], &[1.0, 2.0, 5.0], &all].map(of);
        // An axis over a small part of a decade has the numbers of a linear one.
        coarse.into_iter().find(|ticks| ticks.len() >= FEWEST_TICKS).unwrap_or_else(|| self.steps())
    }

    /// Round numbers on a linear axis.
    fn steps(&self) -> Vec<f64> {
        let rough = (self.high - self.low) / 7.0;
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|lead| lead * power).into_iter().find(|step| *step >= rough);
        let step = step.unwrap_or(rough);
        let (from, to) = ((self.low / step).ceil() as i64, (self.high / step + 1e-9).floor() as i64);
        (from..=to).map(|k| k as f64 * step).collect()
    }

    /// With ticks where the values are, if those are few, whole, and far enough from each other.
    fn at_values(mut self, values: impl Iterator<Item = f64>) -> Axis {
        let mut all: Vec<f64> = values.collect();
        all.sort_by(f64::total_cmp);
        all.dedup();
        let share = |v: f64| if self.log { v.ln() } else { v };
        let apart = |w: &[f64]| share(w[1]) - share(w[0]) > 0.06 * (share(self.high) - share(self.low));
        if all.len() <= 10 && all.iter().all(|v| v.fract() == 0.0) && all.windows(2).all(apart) {
            self.ticks = all;
        }
        self
    }
}

impl Ranged for Axis {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (from, to): (i32, i32)) -> i32 {
        let scale = |v: f64| if self.log { v.max(f64::MIN_POSITIVE).ln() } else { v };
        let share = (scale(*value) - scale(self.low)) / (scale(self.high) - scale(self.low));
        from + (f64::from(to - from) * share).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        if hint.weight().allow_light_points() { Vec::new() } else { self.ticks.clone() }
    }

    fn range(&self) -> Range<f64> {
        self.low..self.high
    }
}

fn draw_curves(chart: &Chart, area: &Area<'_>) -> Result<(), Failure> {
    let points = || chart.curves.iter().flat_map(|c| c.points.iter());
    let xs = || points().map(|p| p.0);
    let x = Axis::new(xs(), chart.log.0, false).at_values(xs());
    let mut y = Axis::new(points().map(|p| p.1).chain(chart.beside.iter().copied()), chart.log.1, true);
    let levels = &chart.levels;
    if !levels.is_empty() {
        (y.low, y.high) = (0.5, levels.len() as f64 + 0.5);
        y.ticks = (1..=levels.len()).map(|level| level as f64).collect();
    }
    let name = |v: f64| levels.get(v as usize - 1).map_or(String::new(), |name| name.to_string());
    let beside = |v: &f64| if levels.is_empty() { tick(*v) } else { name(*v) };
    let mut area = ChartBuilder::on(area)
        .margin(12)
        .x_label_area_size(46)
        .y_label_area_size(if levels.is_empty() { 72 } else { 225 })
        .build_cartesian_2d(x, y)?;
    area.configure_mesh()
        .x_desc(unit(chart.x))
        .y_desc(unit(chart.y))
        .x_label_formatter(&|v| tick(*v))
        .y_label_formatter(&beside)
        .label_style(("sans-serif", 14))
        .axis_desc_style(("sans-serif", 15))
        .bold_line_style(BLACK.mix(0.15))
        .light_line_style(WHITE)
        .draw()?;
    for (i, curve) in chart.curves.iter().enumerate() {
        let (line, points) = (style(i), || curve.points.iter().copied());
        match dashes(i) {
            None => area.draw_series(LineSeries::new(points(), line))?,
            Some((on, off)) => area.draw_series(DashedLineSeries::new(points(), on, off, line))?,
        };
        if curve.points.len() <= MARKED {
            for point in points() {
                area.plotting_area().draw(&(EmptyElement::at(point) + mark(i)))?;
            }
        }
    }
    Ok(())
}

fn style(i: usize) -> ShapeStyle {
    COLOURS[i % COLOURS.len()].stroke_width(2)
}

/// Every other curve is dashed: lengths drawn and left out.
fn dashes(i: usize) -> Option<(u32, u32)> {
    [None, Some((8, 4)), None, Some((3, 3))][i % 4]
}

/// The mark of a curve, around where it is put.
fn mark(i: usize) -> Polygon<(i32, i32)> {
    let corners: &[(i32, i32)] = match i % 4 {
        0 => &[(-4, -2), (-2, -4), (2, -4), (4, -2), (4, 2), (2, 4), (-2, 4), (-4, 2)],
        1 => &[(-4, -4), (4, -4), (4, 4), (-4, 4)],
        2 => &[(0, -5), (5, 4), (-5, 4)],
        _ => &[(0, -6), (5, 0), (0, 6), (-5, 0)],
    };
    Polygon::new(corners.to_vec(), COLOURS[i % COLOURS.len()].filled())
}

/// The legend: curves in the order in which they end, as far as there are curves.
fn draw_legend(chart: &Chart, area: &Area<'_>) -> Result<(), Failure> {
    let mut order: Vec<(usize, &Curve)> = chart.curves.iter().enumerate().collect();
    if chart.bars.is_empty() {
        let end = |c: &Curve| c.points.last().map_or(f64::NEG_INFINITY, |p| p.1);
        order.sort_by(|a, b| end(b.1).total_cmp(&end(a.1)));
    }
    for (row, (i, curve)) in order.into_iter().enumerate() {
        let y = 24 + 24 * row as i32;
        if chart.bars.is_empty() {
            let (on, off) = dashes(i).map_or((34, 1), |(on, off)| (on as i32, off as i32));
            for x in (0..34).step_by((on + off) as usize) {
                area.draw(&PathElement::new([(x, y), ((x + on).min(34), y)], style(i)))?;
            }
            if curve.points.len() <= MARKED {
                area.draw(&(EmptyElement::at((17, y)) + mark(i)))?;
            }
        } else {
            area.draw(&Rectangle::new([(12, y - 6), (32, y + 6)], COLOURS[i % COLOURS.len()].filled()))?;
        }
        let text = ("sans-serif", 13).into_font().color(&BLACK).pos(Pos::new(HPos::Left, VPos::Center));
        area.draw(&Text::new(curve.name.clone(), (42, y), text))?;
    }
    Ok(())
}

/// Microseconds as they are printed.
fn unit(name: &str) -> String {
    name.replace("(us)", "(\u{b5}s)")
}

/// A number beside an axis.
fn tick(v: f64) -> String {
    if v != 0.0 && !(1e-3..1e6).contains(&v.abs()) {
        return format!("{v:.1e}").replace(".0e", "e");
    }
    let text = format!("{v:.3}");
    text.trim_end_matches('0').trim_end_matches('.').into()
}

/// Bars side by side, a group for each abscissa, each with its value.
fn draw_bars(chart: &Chart, area: &Area<'_>) -> Result<(), Failure> {
    let (groups, series) = (chart.bars.len(), chart.curves.len());
    let y = Axis::new(chart.curves.iter().flat_map(|c| c.points.iter().map(|p| p.1)), false, true);
    let mut area = ChartBuilder::on(area)
        .margin(12)
        .x_label_area_size(64)
        .y_label_area_size(72)
        .build_cartesian_2d(-0.5..groups as f64 - 0.5, y)?;
    area.configure_mesh()
        .y_desc(unit(chart.y))
        .x_labels(0)
        .y_label_formatter(&|v| tick(*v))
        .label_style(("sans-serif", 14))
        .axis_desc_style(("sans-serif", 15))
        .disable_x_mesh()
        .bold_line_style(BLACK.mix(0.15))
        .light_line_style(WHITE)
        .draw()?;
    let width = 0.8 / series as f64;
    let centred =
        |size: u32, v: VPos| ("sans-serif", size).into_font().color(&BLACK).pos(Pos::new(HPos::Center, v));
    let inside = area.plotting_area();
    for (i, curve) in chart.curves.iter().enumerate() {
        for &(x, y) in &curve.points {
            let left = x - 0.4 + width * i as f64;
            let bar = [(left, 0.0), (left + width * 0.95, y)];
            inside.draw(&Rectangle::new(bar, COLOURS[i % COLOURS.len()].filled()))?;
            let value = Text::new(
                three_digits(y),
                (0, -3),
                centred(if groups * series > 16 { 9 } else { 12 }, VPos::Bottom),
            );
            inside.draw(&(EmptyElement::at((left + width * 0.475, y)) + value))?;
        }
    }
    // Long names take several lines.
    for (group, name) in chart.bars.iter().enumerate() {
        for (row, word) in name.split('_').enumerate() {
            let word = Text::new(word, (0, 8 + 15 * row as i32), centred(13, VPos::Top));
            inside.draw(&(EmptyElement::at((group as f64, 0.0)) + word))?;
        }
    }
    Ok(())
}

/// A number over a bar.
fn three_digits(v: f64) -> String {
    let digits = if v == 0.0 { 0 } else { v.abs().log10().floor() as i32 };
    format!("{v:.0$}", (2 - digits).clamp(0, 6) as usize)
}

#[cfg(test)]
mod tests {
    use super::super::chart::Curve;
    use super::*;

    #[test]
    fn plots_and_tables_are_written() {
        let folder = std::env::temp_dir().join(format!("pgas-plot-{}", std::process::id()));
        for log in [(false, false), (true, true), (true, false), (false, true)] {
            let curve = Curve { name: "a".into(), points: vec![(1.0, 2.0), (10.0, 30.0)] };
            let chart = Chart {
                file: "t".into(),
                title: "t".into(),
                x: "x",
                y: "y",
                log,
                curves: vec![curve],
                ..Chart::default()
            };
            let [csv, svg] = write(&chart, &folder).unwrap();
            assert_eq!(std::fs::read_to_string(csv).unwrap(), "curve,x,y\n\"a\",1,2\n\"a\",10,30\n");
            assert!(std::fs::read_to_string(svg).unwrap().contains("</svg>"));
        }
        let curve = Curve { name: "a".into(), points: vec![(0.0, 2.0), (1.0, 3.0)] };
        let bars = vec!["one", "two"];
        let chart = Chart { file: "b".into(), curves: vec![curve], bars, x: "x", y: "y", ..Chart::default() };
        let [csv, svg] = write(&chart, &folder).unwrap();
        assert_eq!(std::fs::read_to_string(csv).unwrap(), "curve,x,y\n\"a\",one,2\n\"a\",two,3\n");
        let svg = std::fs::read_to_string(svg).unwrap();
        assert!(svg.contains("two") && svg.matches("<rect").count() >= 3, "{svg}");
        // Levels have names.
        let curve = |y| Curve { name: "c".into(), points: vec![(0.0, y), (1.0, y)] };
        let (curves, levels) = (vec![curve(1.0), curve(2.0)], vec!["the lower", "the upper"]);
        let chart = Chart { file: "l".into(), curves, levels, x: "x", y: "y", ..Chart::default() };
        let [_, svg] = write(&chart, &folder).unwrap();
        let svg = std::fs::read_to_string(svg).unwrap();
        assert!(svg.contains("the lower") && svg.contains("the upper"), "{svg}");
        assert_eq!((tick(2500.0), tick(0.5), tick(1e-5)), ("2500".into(), "0.5".into(), "1e-5".into()));
        assert_eq!((three_digits(1234.6), three_digits(0.04567)), ("1235".into(), "0.0457".into()));
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn axes_end_where_values_end() {
        let sets = [50.0, 80.0, 200.0, 400.0];
        let x = Axis::new(sets.into_iter(), true, false).at_values(sets.into_iter());
        assert_eq!(x.ticks, sets);
        assert!(x.low > 40.0 && x.high < 500.0);
        let y = Axis::new([0.9, 320.0].into_iter(), true, true);
        assert_eq!(y.ticks, [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0]);
        assert_eq!(Axis::new([1.0, 1e6].into_iter(), true, true).ticks.len(), 7);
        assert_eq!(
            Axis::new([3.1, 8.9].into_iter(), true, true).ticks,
            [3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0]
        );
        assert_eq!(Axis::new([21.0, 24.0].into_iter(), true, true).ticks, [20.0, 22.0, 24.0, 26.0]);
        assert_eq!(Axis::new([2.0, 60.0].into_iter(), true, true).ticks, [2.0, 5.0, 10.0, 20.0, 50.0]);
        let y = Axis::new([3.0, 12.5].into_iter(), false, true);
        assert_eq!((y.low, y.ticks), (0.0, vec![0.0, 2.0, 4.0, 6.0, 8.0, 10.0, 12.0]));
        // Too many to be named, or none.
        let many = || (0..50).map(f64::from);
        assert!(Axis::new(many(), false, false).at_values(many()).ticks.len() < 12);
        assert!(!Axis::new(std::iter::empty(), true, true).ticks.is_empty());
    }
}
