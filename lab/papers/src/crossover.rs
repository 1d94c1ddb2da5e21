//! Comparisons that the papers do not have: every registration mode on the same puts, for working sets,
//! localities and machines; and the hit rate above which Firehose is better than a NIC that locks pages
//! itself.

use super::chart::{Chart, Curve};
use super::programs::own;
use super::table::{Progress, Row, number};
use gasnet::{Rank, RankId};
use gasnet_sim::{
    Budget, Cluster, CostModel, Measured, Registration, Rng, StrategyKind, Time, Zipf, now, registration,
};

/// Where puts go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Locality {
    /// Anywhere.
    Uniform,
    /// Some pages much more often than others: Zipf with 0.99.
    Zipf,
    /// A sweep, page by page, over and over, three words a page.
    Stencil,
    /// Runs of 64 words, each run in another place: what a sort sends.
    Exchange,
}

const LOCALITIES: [(Locality, &str); 4] = [
    (Locality::Uniform, "uniform"),
    (Locality::Zipf, "zipf"),
    (Locality::Stencil, "stencil"),
    (Locality::Exchange, "sort-exchange"),
];

/// Pages that are offered to peers (`M`), and kept besides (`MAXVICTIM`).
const M: u64 = 256;
const VICTIMS: u64 = 32;
const PAGE: u64 = 4096;
/// Working sets in percent of `M`.
const SETS: [u64; 4] = [50, 100, 150, 400];

/// The eight registration modes.
pub fn modes() -> Vec<(String, Registration)> {
    let budget = Budget { m: M * PAGE, victim: VICTIMS * PAGE, bucket: PAGE, adaptive: false };
    let mut all: Vec<_> = StrategyKind::ALL
        .into_iter()
        .map(|kind| (kind.name().to_string(), Registration::Pinned(kind, budget)))
        .collect();
    all.push(("firehose-over-locks".into(), Registration::FirehoseOverLocks { budget, frames: 0 }));
    all.push(("shadow-lock".into(), Registration::ShadowLock { frames: 0 }));
    all
}

/// The cost of a run of puts.
#[derive(Debug, Clone, Copy)]
pub struct Cost {
    /// Microseconds from one put to the next.
    pub each: f64,
    /// Share of puts that did not have to ask, where that is a question.
    pub hits: f64,
}

fn offsets(locality: Locality, pages: u64, puts: u64) -> Vec<u64> {
    let mut rng = Rng::new(0xc055);
    let zipf = (locality == Locality::Zipf).then(|| Zipf::new(pages as usize, 0.99));
    let mut at = 0;
    (0..puts)
        .map(|i| match locality {
            Locality::Uniform => rng.below(pages) * PAGE + rng.below(PAGE / 8) * 8,
            Locality::Zipf => zipf.as_ref().map_or(0, |z| z.draw(&mut rng)) * PAGE,
            Locality::Stencil => (i / 3) % pages * PAGE + i % 3 * 8,
            Locality::Exchange => {
                if i % 64 == 0 {
                    at = rng.below(pages * 8) * 512;
                }
                at + i % 64 * 8
            }
        })
        .collect()
}

/// Puts of 8 bytes by rank 0 into a working set of rank 1, after as many that are not measured.
pub fn cost(
    machine: &Machine,
    mode: Registration,
    locality: Locality,
    pages: u64,
    puts: u64,
) -> Result<Cost, String> {
    simulate(machine.model(mode), mode, locality, pages, puts)
}

fn simulate(
    model: &CostModel,
    mode: Registration,
    locality: Locality,
    pages: u64,
    puts: u64,
) -> Result<Cost, String> {
    // Unmeasured: one to every page, then as many of the kind as bring tables to where they stay.
    let warm = puts.max(pages);
    let mut all: Vec<u64> = (0..pages).map(|page| page * PAGE).collect();
    all.extend(offsets(locality, pages, warm + puts));
    let warm = pages + warm;
    let cluster = Cluster::new(2, model.clone()).registration(mode).segment(((pages + 1) * PAGE) as usize);
    let report = cluster.run(|rank: &Rank| {
        let mut measured = Cost { each: 0.0, hits: 1.0 };
        if rank.id().0 == 0 {
            let source = own(rank, pages * PAGE);
            let put = |offset: u64| {
                #[expect(unsafe_code, reason = "a put from the own segment, which has no slice")]
                // SAFETY: eight bytes of the own segment, which nobody writes.
                unsafe {
                    rank.put(RankId(1), offset, source, 8);
                }
            };
            all[..warm as usize].iter().copied().for_each(put);
            let before = registration().unwrap_or_default().puts;
            let begin = now().unwrap_or_default();
            all[warm as usize..].iter().copied().for_each(put);
            let took = now().unwrap_or_default().since(begin);
            let after = registration().unwrap_or_default().puts;
            let (hits, misses) = (after.hits - before.hits, after.misses - before.misses);
            measured.each = took.as_us() / puts as f64;
            if hits + misses > 0 {
                measured.hits = hits as f64 / (hits + misses) as f64;
            }
        }
        rank.barrier();
        measured
    });
    report.map(|r| r.results[0]).map_err(|e| e.to_string())
}

/// A machine with two NICs that are equally fast but for what they do about pages.
#[derive(Debug, Clone)]
pub struct Machine {
    pinning: CostModel,
    locking: CostModel,
}

impl Machine {
    /// Makes both NICs of a model equally fast: a put to pinned memory takes the same time as one under the
    /// firmware that locks nothing. Where the difference is the way of the acknowledgement, the locking NIC's
    /// network gets shorter; where it is the firmware's work, the pinning NIC has it too.
    pub fn fair(model: &CostModel) -> Result<Machine, String> {
        let (mut pinning, mut locking) = (model.clone(), model.clone());
        let free = CostModel { firmware: model.firmware.pinned(), ..model.clone() };
        let put = |model: &CostModel, mode| simulate(model, mode, Locality::Uniform, 4, 20).map(|c| c.each);
        let locks = put(&free, Registration::ShadowLock { frames: 0 })?;
        let pins = put(model, Registration::None)?;
        let more = Time::us((locks - pins).max(0.0));
        let half = Time::ps(more.as_ps() / 2);
        if half < model.network.latency {
            locking.network.latency = model.network.latency - half;
        } else {
            pinning.host.put_back += more;
        }
        Ok(Machine { pinning, locking })
    }

    fn model(&self, mode: Registration) -> &CostModel {
        match mode {
            Registration::ShadowLock { .. }
            | Registration::FirehoseOverLocks { .. }
            | Registration::Held { .. } => &self.locking,
            _ => &self.pinning,
        }
    }
}

fn models() -> Result<Vec<Machine>, String> {
    // The other models have no prices of registration.
    let names = ["gm-myrinet2000", "lanai9-netvm", "modern-ib", "this-host"];
    names.into_iter().filter_map(CostModel::named).map(|m| Machine::fair(&m)).collect()
}

/// All modes, sets, localities and machines; as rows, and as a table for each machine and locality.
pub fn third_set(puts: u64, progress: &mut Progress) -> Result<(Vec<Row>, Vec<String>), String> {
    let (mut rows, mut text) = (this_host(), Vec::new());
    for row in &rows {
        text.push(format!("- {}: {} {}", row.name, number(row.here), row.unit));
    }
    for model in models()? {
        for (locality, name) in LOCALITIES {
            progress.step(&format!("third set: {}, {name}", model.pinning.name));
            text.push(format!("\n{} , {name}: microseconds a put of 8 bytes\n", model.pinning.name));
            text.push(format!("| mode | {} |", SETS.map(|s| format!("{s} % of M")).join(" | ")));
            text.push(format!("|---|{}", "---|".repeat(SETS.len())));
            for (mode_name, mode) in modes() {
                let mut line = Vec::new();
                for set in SETS {
                    let c = cost(&model, mode, locality, M * set / 100, puts)?;
                    rows.push(Row::new(
                        format!("third_{}_{name}_{set}_{mode_name}", model.pinning.name),
                        "us",
                        2,
                        c.each,
                    ));
                    line.push(number(c.each));
                }
                text.push(format!("| {mode_name} | {} |", line.join(" | ")));
            }
        }
    }
    Ok((rows, text))
}

/// The cost of pinning on this host.
fn this_host() -> Vec<Row> {
    let measured = Measured::take();
    let mut rows = Vec::new();
    for (how, line) in [("mlock", measured.mlock), ("io_uring", measured.io_uring)] {
        let Some(line) = line else { continue };
        for (what, time) in [
            ("pin_call", line.pin_call),
            ("pin_page", line.pin_page),
            ("unpin_call", line.unpin_call),
            ("unpin_page", line.unpin_page),
        ] {
            rows.push(Row::new(format!("this_host_{how}_{what}"), "us", 1, time.as_us()));
        }
    }
    rows
}

/// How many steps [`third_set`] and [`crossover`] make.
pub const STEPS: usize = 4 * 4 + 4;

/// The map: cost of Firehose against its hit rate, the cost of a NIC that locks, and where they meet.
pub fn crossover(puts: u64, progress: &mut Progress) -> Result<(Vec<Row>, Chart), String> {
    let budget = Budget { m: M * PAGE, victim: VICTIMS * PAGE, bucket: PAGE, adaptive: false };
    let (mut rows, mut curves) = (Vec::new(), Vec::new());
    for model in models()? {
        progress.step(&format!("crossover: {}", model.pinning.name));
        let locks = cost(&model, Registration::ShadowLock { frames: 0 }, Locality::Uniform, M, puts)?.each;
        let mut points = Vec::new();
        for percent in [50, 113, 120, 130, 150, 200, 400, 1000] {
            let mode = Registration::Pinned(StrategyKind::Firehose, budget);
            let c = cost(&model, mode, Locality::Uniform, M * percent / 100, puts)?;
            points.push((c.hits * 100.0, c.each));
        }
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        points.dedup_by(|a, b| a.0 == b.0);
        let name = |what: &str| format!("crossover_{}_{what}", model.pinning.name);
        rows.push(Row::new(name("locks"), "us", 2, locks));
        rows.push(Row::new(name("hit"), "us", 2, points.last().map_or(0.0, |p| p.1)));
        rows.push(match meet(&points, locks) {
            Some(h) => Row::new(name("break_even"), "% hits", 2, h),
            None => Row::new(name("break_even"), "% hits", 2, 100.0).explained(
                "a hit costs no less than a transfer under a lock: at no hit rate is Firehose better",
            ),
        });
        let line = vec![(points.first().map_or(0.0, |p| p.0), locks), (100.0, locks)];
        curves.push(Curve { name: format!("{}: firehose", model.pinning.name), points });
        curves.push(Curve { name: format!("{}: locks", model.pinning.name), points: line });
    }
    let chart = Chart {
        file: "crossover".into(),
        setting: format!(
            "simulated: 2 ranks, NICs equally fast but for their pages; M = {M} pages, uniform puts"
        ),
        title: "8-byte puts: Firehose against a NIC that locks pages".into(),
        x: "hit rate of Firehose (%)",
        y: "mean time of a put (us)",
        log: (false, true),
        curves,
        ..Chart::default()
    };
    Ok((rows, chart))
}

/// The abscissa at which a falling curve reaches a level.
fn meet(points: &[(f64, f64)], level: f64) -> Option<f64> {
    points.windows(2).find(|w| w[0].1 > level && w[1].1 <= level).map(|w| {
        let share = (w[0].1 - level) / (w[0].1 - w[1].1);
        w[0].0 + share * (w[1].0 - w[0].0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_compare_as_they_should() {
        let model = Machine::fair(&CostModel::modern_ib()).unwrap();
        let run = |name: &str, locality, percent| {
            let mode = modes().into_iter().find(|m| m.0 == name).unwrap().1;
            cost(&model, mode, locality, M * percent / 100, 600).unwrap()
        };
        let firehose = run("firehose", Locality::Uniform, 50);
        assert_eq!(firehose.hits, 1.0, "a working set below M hits");
        assert!((firehose.each - run("pin-everything", Locality::Uniform, 50).each).abs() < 0.3);
        let beyond = run("firehose", Locality::Uniform, 400);
        assert!(
            (0.15..0.35).contains(&beyond.hits),
            "uniform: a quarter of the set is held, {}",
            beyond.hits
        );
        assert!(run("firehose", Locality::Zipf, 400).hits > beyond.hits + 0.2);
        assert!(run("firehose", Locality::Exchange, 400).hits > 0.9);
        let sweep = run("firehose", Locality::Stencil, 400).hits;
        assert!((0.6..0.7).contains(&sweep), "a sweep beyond M misses every page once: {sweep}");
        assert!(run("firehose-over-locks", Locality::Uniform, 400).each < beyond.each);
        let locks = run("shadow-lock", Locality::Uniform, 50).each;
        assert!((run("shadow-lock", Locality::Uniform, 400).each - locks).abs() < 0.1, "locks do not care");
        let pinned = run("pin-everything", Locality::Uniform, 50).each;
        assert!(locks > pinned && locks < pinned + 0.2, "equally fast but for the locks: {locks} {pinned}");
        assert!(
            run("rendezvous", Locality::Uniform, 50).each
                > run("rendezvous-nounpin", Locality::Uniform, 50).each
        );
    }

    #[test]
    fn curves_meet_where_they_cross() {
        assert_eq!(meet(&[(0.0, 10.0), (50.0, 6.0), (100.0, 2.0)], 4.0), Some(75.0));
        assert_eq!(meet(&[(0.0, 10.0), (100.0, 6.0)], 4.0), None);
    }
}
