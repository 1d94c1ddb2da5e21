//! Appendix A of the thesis: a 4 KiB write in two fragments, in which only the DMA engines and the wire take
//! time.
//!
//! The thesis has formulas. Here the simulator carries out the write with processors that take no time
//! ([`FirmwareCosts::stages`]), and the formulas are the check.

use super::{INBOX, SEGMENT, SOURCE, Setup, clock, write_latency, write_rate};
use crate::chart::{Chart, Curve};
use crate::netvm::Detect;
use crate::table::{Progress, Row};
use gasnet_sim::{Cluster, CostModel, FirmwareCosts, Netvm, Registration, Stage, Time};

/// When the stages of the two fragments end, in microseconds. A fragment of no bytes ends with the other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Stages {
    pub(super) fetched: [f64; 2],
    pub(super) sent: [f64; 2],
    pub(super) stored: [f64; 2],
}

/// Names of the curves, in the order of [`Stages::all`].
const NAMES: [&str; 6] = [
    "first fragment on the NIC",
    "first fragment sent",
    "first fragment in memory",
    "second fragment on the NIC",
    "second fragment sent",
    "second fragment in memory",
];

impl Stages {
    /// h1, w1, d1, h2, w2, d2.
    pub(super) fn all(self) -> [f64; 6] {
        let Stages { fetched: [h1, h2], sent: [w1, w2], stored: [d1, d2] } = self;
        [h1, w1, d1, h2, w2, d2]
    }
}

/// The thesis's formulas: a write of 4 KiB, `offset` bytes into a page.
pub(super) fn formula(setup: &Setup, offset: u64) -> Stages {
    let [read, write, wire] = setup.inputs.rates;
    let (s1, s2) = ((4096 - offset) as f64, offset as f64);
    let h1 = s1 / read;
    let w1 = h1 + s1 / wire;
    let d1 = w1 + s1 / write;
    if offset == 0 {
        return Stages { fetched: [h1; 2], sent: [w1; 2], stored: [d1; 2] };
    }
    let h2 = h1 + s2 / read;
    let w2 = h2.max(w1) + s2 / wire;
    Stages { fetched: [h1, h2], sent: [w1, w2], stored: [d1, w2.max(d1) + s2 / write] }
}

/// The same, simulated.
pub(super) fn simulated(setup: &Setup, offset: u64) -> Result<Stages, String> {
    let mut model = CostModel { firmware: FirmwareCosts::stages(&setup.inputs), ..CostModel::lanai9_netvm() };
    model.network.per_byte = Time::us(1.0 / setup.inputs.rates[2]);
    model.network.latency = Time::ZERO;
    let cluster =
        Cluster::new(2, model).registration(Registration::ShadowLock { frames: 0 }).segment(SEGMENT);
    let report = cluster.run(|rank| {
        let netvm = Netvm::current().expect("ranks of this cluster have NetVM NICs");
        rank.barrier();
        if rank.id().0 == 1 {
            netvm.spin(SOURCE, 1);
            return None;
        }
        // The other rank waits for a word, and no NIC has anything else to do.
        gasnet_sim::compute(Time::us(1000.0));
        (0..2).for_each(|rank| netvm.note_stages(rank));
        let begin = clock();
        netvm.write(1, INBOX + offset, SOURCE, 4096, 0);
        gasnet_sim::compute(Time::us(1000.0));
        let ends = [0, 1].map(|rank| netvm.stages(rank)).concat();
        netvm.store(64, 1);
        netvm.write(1, SOURCE, 64, 4, 0);
        let of = |stage: Stage| {
            let at = |&(s, at): &(Stage, Time)| (s == stage).then(|| at.since(begin).as_us());
            ends.iter().filter_map(at).collect::<Vec<f64>>()
        };
        Some([Stage::Fetched, Stage::Sent, Stage::Stored].map(of))
    });
    let results = report.map_err(|e| e.to_string())?.results;
    let [fetched, sent, stored] = results.into_iter().flatten().next().ok_or("no rank")?;
    // A fragment that travels with its command is on the NIC from the start.
    let fetched = match (offset, &fetched[..]) {
        (0, &[h]) => [h; 2],
        (1..=96, &[h]) => [h; 2],
        (4000..=4095, &[h]) => [0.0, h],
        (_, &[h1, h2]) => [h1, h2],
        _ => return Err(format!("offset {offset}: fetched at {fetched:?}")),
    };
    let two = |ends: &[f64]| match (offset, ends) {
        (0, &[end]) => Ok([end; 2]),
        (_, &[a, b]) => Ok([a, b]),
        _ => Err(format!("offset {offset}: stages ended at {ends:?}")),
    };
    Ok(Stages { fetched, sent: two(&sent)?, stored: two(&stored)? })
}

/// The smallest offset between two bounds at which something holds that holds from there on.
fn first(bounds: std::ops::Range<u64>, holds: impl Fn(u64) -> Result<bool, String>) -> Result<u64, String> {
    let (mut low, mut high) = (bounds.start, bounds.end);
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle)? {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    Ok(low)
}

/// The offsets at which the formulas change their branch: where the second fragment has been sent before the
/// first one is in memory no longer, and where it is on the NIC before the first one has been sent no longer.
pub(super) fn changes(of: impl Fn(u64) -> Result<Stages, String>) -> Result<[u64; 2], String> {
    Ok([
        first(128..2000, |offset| of(offset).map(|s| s.sent[1] >= s.stored[0]))?,
        first(2000..3968, |offset| of(offset).map(|s| s.fetched[1] >= s.sent[0]))?,
    ])
}

/// The time of the whole write by the formulas, against the offset.
pub(super) fn latency_by_formula() -> Vec<(f64, f64)> {
    let setup = Setup::paper(false);
    (0..4096).step_by(64).map(|offset| (offset as f64, formula(&setup, offset).stored[1])).collect()
}

/// Figure 30: when each stage ends, against the offset; figures 31 to 33: the stages of three writes over
/// time.
pub fn figures(setup: &Setup, progress: &mut Progress) -> Result<Vec<Chart>, String> {
    let mut curves: Vec<Curve> =
        NAMES.iter().map(|name| Curve { name: (*name).into(), points: Vec::new() }).collect();
    progress.step("Figure 30: stages");
    for offset in (0..4096).step_by(64) {
        let stages = simulated(setup, offset)?.all();
        curves.iter_mut().zip(stages).for_each(|(curve, end)| curve.points.push((offset as f64, end)));
    }
    let setting =
        "simulated: the NIC of Appendix A, whose processors take no time, over DMA and wire of LANai 9";
    let mut charts = vec![Chart {
        file: "netvm-fig30".into(),
        setting: setting.into(),
        title: "4 KiB writes in two fragments: when each stage ends".into(),
        x: "offset in the page (bytes)",
        y: "time (us)",
        curves,
        ..Chart::default()
    }];
    for (number, offset) in [(31, 500), (32, 2000), (33, 3500)] {
        let [h1, w1, d1, h2, w2, d2] = simulated(setup, offset)?.all();
        let spans = [(0.0, h1), (h1, w1), (w1, d1), (h1, h2), (h2.max(w1), w2), (w2.max(d1), d2)];
        let line = |(i, (from, to)): (usize, (f64, f64))| {
            // One line for each stage, the first fragment above the second.
            let y = [6.0, 5.0, 4.0, 3.0, 2.0, 1.0][i];
            Curve { name: NAMES[i].into(), points: vec![(from, y), (to, y)] }
        };
        charts.push(Chart {
            file: format!("netvm-fig{number}"),
            setting: setting.into(),
            title: format!("4 KiB write in two fragments, {offset} bytes into a page"),
            x: "time (us)",
            y: "stage",
            levels: NAMES.into_iter().rev().collect(),
            // A stage that takes no time is none.
            curves: spans.into_iter().enumerate().filter(|(_, (from, to))| to > from).map(line).collect(),
            ..Chart::default()
        });
    }
    Ok(charts)
}

/// The figures of Appendix A beside the simulator's.
pub fn rows(setup: &Setup) -> Result<Vec<Row>, String> {
    let mut rows = Vec::new();
    for offset in [0, 500, 2000, 3500] {
        let here = simulated(setup, offset)?.stored[1];
        let published = formula(setup, offset).stored[1];
        rows.push(Row::new(format!("fig30_in_memory_{offset}"), "us", 2, here).paper(published));
    }
    let [here, published] =
        [changes(|offset| simulated(setup, offset))?, changes(|offset| Ok(formula(setup, offset)))?];
    for (i, name) in ["first", "second"].into_iter().enumerate() {
        let row = Row::new(format!("fig30_{name}_change"), "bytes", 2, here[i] as f64);
        rows.push(row.paper(published[i] as f64));
    }
    Ok(rows)
}

/// The gain of a write of an aligned page that the library cuts in two, as the thesis suggests.
pub fn split_rows(setup: &Setup) -> Result<Vec<Row>, String> {
    let cut = Setup { split: Some(2048), ..*setup };
    let latency = |s: &Setup| write_latency(s, false, 4096, 0, Detect::Data);
    let gain = (1.0 - latency(&cut)? / latency(setup)?) * 100.0;
    Ok(vec![
        Row::new("split_2048_gain", "%", 2, gain).paper(15.0).explained(
            "published: the gain of the best offset; the aligned write it is compared with is 3 % slower here",
        ),
        Row::new("split_2048_rate", "MB/s", 2, write_rate(&cut, false, 4096, 0)?)
            .explained("not published for pages that are cut; the bound is 155.46 of whole ones"),
    ])
}
