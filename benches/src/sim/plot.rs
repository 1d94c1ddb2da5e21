//! Plots, as SVG files.

use super::table::Chart;
use plotters::coord::Shift;
use plotters::prelude::*;
use std::path::Path;

const COLOURS: [RGBColor; 8] = [
    RGBColor(0, 90, 181),
    RGBColor(220, 50, 32),
    RGBColor(0, 140, 70),
    RGBColor(150, 80, 170),
    RGBColor(230, 140, 0),
    RGBColor(90, 90, 90),
    RGBColor(0, 160, 170),
    RGBColor(160, 110, 60),
];

/// Draws a chart.
pub fn draw(chart: &Chart, to: &Path) -> Result<(), String> {
    let text = |e: String| format!("{}: {e}", to.display());
    let root = SVGBackend::new(to, (900, 560)).into_drawing_area();
    draw_on(chart, &root).map_err(|e| text(e.to_string()))?;
    root.present().map_err(|e| text(e.to_string()))
}

type Failure = Box<dyn std::error::Error>;

/// Extent of one coordinate, a little more than the points.
fn extent(all: impl Iterator<Item = f64>, log: bool) -> (f64, f64) {
    let (low, high) = all.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
    if !low.is_finite() {
        return (1.0, 2.0);
    }
    if log {
        return (low.max(1e-9) * 0.8, (high * 1.3).max(low * 2.0));
    }
    (if low >= 0.0 { 0.0 } else { low }, high * 1.08 + f64::MIN_POSITIVE)
}

fn draw_on(chart: &Chart, root: &DrawingArea<SVGBackend<'_>, Shift>) -> Result<(), Failure> {
    root.fill(&WHITE)?;
    if !chart.bars.is_empty() {
        return draw_bars(chart, root);
    }
    let points = || chart.curves.iter().flat_map(|c| c.points.iter());
    let (x0, x1) = extent(points().map(|p| p.0), chart.log.0);
    let (y0, y1) = extent(points().map(|p| p.1), chart.log.1);
    let x0 = if chart.log.0 { x0 } else { points().map(|p| p.0).fold(x1, f64::min) };
    let (place, hidden) = free_corner(chart, (x0, x1), (y0, y1));
    // Where the legend would hide something it has a place of its own, to the right.
    let (x1, place) = match (hidden, chart.log.0) {
        (0, _) => (x1, place),
        (_, true) => (x1 * (x1 / x0).powf(0.45), SeriesLabelPosition::UpperRight),
        (_, false) => (x1 + 0.45 * (x1 - x0), SeriesLabelPosition::UpperRight),
    };
    let mut builder = ChartBuilder::on(root);
    builder.caption(&chart.title, ("sans-serif", 18)).margin(12).x_label_area_size(42).y_label_area_size(64);
    // The four combinations of axes are four types.
    macro_rules! finish {
        ($x:expr, $y:expr) => {{
            let mut area = builder.build_cartesian_2d($x, $y)?;
            area.configure_mesh()
                .x_desc(chart.x)
                .y_desc(chart.y)
                .x_label_formatter(&|v| tick(*v))
                .y_label_formatter(&|v| tick(*v))
                .light_line_style(WHITE)
                .draw()?;
            for (i, curve) in chart.curves.iter().enumerate() {
                let colour = COLOURS[i % COLOURS.len()];
                area.draw_series(LineSeries::new(curve.points.iter().copied(), colour.stroke_width(2)))?
                    .label(&curve.name)
                    .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], colour.stroke_width(2)));
                area.draw_series(curve.points.iter().map(|p| Circle::new(*p, 3, colour.filled())))?;
            }
            area.configure_series_labels()
                .position(place.clone())
                .background_style(WHITE.mix(0.8))
                .border_style(BLACK)
                .draw()?;
        }};
    }
    match chart.log {
        (false, false) => finish!(x0..x1, y0..y1),
        (true, false) => finish!((x0..x1).log_scale(), y0..y1),
        (false, true) => finish!(x0..x1, (y0..y1).log_scale()),
        (true, true) => finish!((x0..x1).log_scale(), (y0..y1).log_scale()),
    }
    Ok(())
}

/// The corner in which a legend hides least of the curves, and how much that is.
fn free_corner(chart: &Chart, x: (f64, f64), y: (f64, f64)) -> (SeriesLabelPosition, usize) {
    let share = |v: f64, (low, high): (f64, f64), log: bool| {
        if log { (v / low).ln() / (high / low).ln() } else { (v - low) / (high - low) }
    };
    let at = |p: &(f64, f64)| (share(p.0, x, chart.log.0), share(p.1, y, chart.log.1));
    let (width, height) = (0.34, 0.08 + 0.045 * chart.curves.len() as f64);
    let hidden = |right: bool, upper: bool| {
        let inside = |(x, y): (f64, f64)| {
            let (x, y) = (if right { 1.0 - x } else { x }, if upper { 1.0 - y } else { y });
            x < width && y < height
        };
        let between = |w: &[(f64, f64)]| {
            let (a, b) = (at(&w[0]), at(&w[1]));
            let point = |k: i32| f64::from(k) / 16.0;
            (0..=16).filter(|&k| inside((a.0 + (b.0 - a.0) * point(k), a.1 + (b.1 - a.1) * point(k)))).count()
        };
        chart.curves.iter().flat_map(|c| c.points.windows(2)).map(between).sum::<usize>()
    };
    let corners = [
        (hidden(true, true), SeriesLabelPosition::UpperRight),
        (hidden(true, false), SeriesLabelPosition::LowerRight),
        (hidden(false, false), SeriesLabelPosition::LowerLeft),
        (hidden(false, true), SeriesLabelPosition::UpperLeft),
    ];
    let free = corners.into_iter().min_by_key(|(hidden, _)| *hidden);
    free.map_or((SeriesLabelPosition::MiddleRight, 0), |(hidden, place)| (place, hidden))
}

/// A number beside an axis.
fn tick(v: f64) -> String {
    if v != 0.0 && !(1e-3..1e6).contains(&v.abs()) {
        return format!("{v:.1e}").replace(".0e", "e");
    }
    let text = format!("{v:.3}");
    text.trim_end_matches('0').trim_end_matches('.').into()
}

/// Bars side by side, a group for each abscissa.
fn draw_bars(chart: &Chart, root: &DrawingArea<SVGBackend<'_>, Shift>) -> Result<(), Failure> {
    let (groups, series) = (chart.bars.len(), chart.curves.len());
    // The legend stands above all bars.
    let high = extent(chart.curves.iter().flat_map(|c| c.points.iter().map(|p| p.1)), false).1 * 1.12;
    let mut area = ChartBuilder::on(root)
        .caption(&chart.title, ("sans-serif", 18))
        .margin(12)
        .x_label_area_size(42)
        .y_label_area_size(64)
        .build_cartesian_2d(-0.5..groups as f64 - 0.5, 0.0..high)?;
    let name = |v: &f64| {
        let whole = (v - v.round()).abs() < 1e-6;
        chart.bars.get(v.round().max(0.0) as usize).filter(|_| whole).map_or(String::new(), |s| s.to_string())
    };
    area.configure_mesh()
        .x_desc(chart.x)
        .y_desc(chart.y)
        .x_labels(2 * groups + 1)
        .x_label_formatter(&name)
        .y_label_formatter(&|v| tick(*v))
        .disable_x_mesh()
        .light_line_style(WHITE)
        .draw()?;
    let width = 0.8 / series as f64;
    for (i, curve) in chart.curves.iter().enumerate() {
        let colour = COLOURS[i % COLOURS.len()];
        let bar = |&(x, y): &(f64, f64)| {
            let left = x - 0.4 + width * i as f64;
            Rectangle::new([(left, 0.0), (left + width * 0.9, y)], colour.filled())
        };
        area.draw_series(curve.points.iter().map(bar))?
            .label(&curve.name)
            .legend(move |(x, y)| Rectangle::new([(x, y - 5), (x + 14, y + 5)], colour.filled()));
    }
    let place = SeriesLabelPosition::UpperRight;
    area.configure_series_labels()
        .position(place)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK)
        .draw()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::table::Curve;
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
            let [csv, svg] = chart.write(&folder).unwrap();
            assert_eq!(std::fs::read_to_string(csv).unwrap(), "curve,x,y\n\"a\",1,2\n\"a\",10,30\n");
            assert!(std::fs::read_to_string(svg).unwrap().contains("</svg>"));
        }
        let curve = Curve { name: "a".into(), points: vec![(0.0, 2.0), (1.0, 3.0)] };
        let bars = vec!["one", "two"];
        let chart = Chart { file: "b".into(), curves: vec![curve], bars, x: "x", y: "y", ..Chart::default() };
        let [csv, svg] = chart.write(&folder).unwrap();
        assert_eq!(std::fs::read_to_string(csv).unwrap(), "curve,x,y\n\"a\",one,2\n\"a\",two,3\n");
        let svg = std::fs::read_to_string(svg).unwrap();
        assert!(svg.contains("two") && svg.matches("<rect").count() >= 3, "{svg}");
        assert_eq!((tick(2500.0), tick(0.5), tick(1e-5)), ("2500".into(), "0.5".into(), "1e-5".into()));
        std::fs::remove_dir_all(folder).unwrap();
    }
}
