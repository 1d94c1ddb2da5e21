//! The netvm conduit on real memory: every registration mode on the same puts, for working sets below and
//! above the memory that a segment is allowed; synchronisation and collectives; what a page costs that has to
//! come. Each beside the prediction for this host.
//!
//! **The prediction.** The *parts* of a put are measured by themselves, on puts whose pages are in a fixed
//! order, in modes that are not compared, or without any put:
//!
//! | part | how | goes into |
//! |---|---|---|
//! | hit, hit16 | `shadow-lock`, pages that are there, one at a time and sixteen | the firmware's steps, and posting |
//! | in, in_all_of_16 less in_4_of_16 | the same, pages that are out | waking the paging thread, bringing a page |
//! | out_4_of_16 | the same, others have to be written out first | writing a page |
//! | driven16 | `pin-everything`, pages that are there | the strategy's own book-keeping |
//! | asked16 | `rendezvous-nounpin`, likewise: a question and its answer more | a message between strategies |
//! | hold | a pager alone: pages kept by `mlock`, and let go | pinning and unpinning |
//!
//! The simulated machine then predicts the modes that are compared, hit rates, queues, moves and pins, with
//! the same strategies, firmware and page states in virtual time ([`Registration::Held`]). As in the live
//! conduit on a host with fewer processors than threads, each rank has one processor for its program, its
//! NIC's firmware and its paging thread ([`FirmwareCosts::attended`]). Parts that are not used in the fit
//! (in_4_of_16, driven, asked, ...) are printed beside the others and show how good the prediction is.
//!
//! Measured on whatever runs beside it, so absolute figures say little on a machine with fewer processors
//! than threads; what can be compared are the modes with each other.

use super::backing;
use super::chart::{Chart, Curve};
use super::table::{Progress, Row, line, number, table};
use super::workload::{self, PAGE};
use gasnet::{Config, Rank};
use gasnet_netvm::pager::{costs, holdable};
use gasnet_sim::{
    Budget, Cluster, CostModel, Failure, FirmwareCosts, Measured, PinCosts, Registration, Report, Rng,
    StrategyKind, Time,
};
use netvm_fw::shadow::{self, Geometry};
use netvm_fw::{Key, PortId, Ppn, Vpn};
use pgas_bench::options::Options;
use pgas_bench::{machine, median};
use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

/// Pages that may be resident.
const BUDGET: u64 = 512;
/// Pages of a segment behind the working set.
const BEHIND: u64 = 16;
/// Working sets in percent of the budget.
const SETS: [u64; 4] = [50, 80, 200, 400];
/// Puts under way at a time.
const DEPTH: usize = 16;
/// With one of these as a filter, everything else is measured, too.
const REST: [&str; 2] = ["fault", "live"];
/// Modes of the bar: the ratios to the last one are what is predicted.
const BAR: [&str; 4] = ["shadow-lock", "firehose-over-locks", "firehose", "rendezvous"];

/// Modes and their names, as they are simulated, for a segment with `pages` pages to put to.
fn modes(pages: u64) -> Vec<(&'static str, Registration)> {
    let segment = pages + BEHIND;
    let budget = |memory| Budget::live(holdable(segment, memory) * PAGE, segment * PAGE, 2);
    let held = |kind, pins| Registration::Held { kind, budget: budget(BUDGET), frames: BUDGET as u32, pins };
    let all = |kind| Registration::Held { kind, budget: budget(segment), frames: 0, pins: true };
    vec![
        ("shadow-lock", Registration::ShadowLock { frames: BUDGET as u32 }),
        ("firehose-over-locks", held(StrategyKind::Firehose, false)),
        ("firehose", held(StrategyKind::Firehose, true)),
        ("rendezvous", held(StrategyKind::RendezvousUnpin, true)),
        ("pindown-cache", held(StrategyKind::PinDownCache, true)),
        ("bounce", held(StrategyKind::Bounce, false)),
        ("rendezvous-nounpin", all(StrategyKind::RendezvousNoUnpin)),
        ("pin-everything", all(StrategyKind::PinEverything)),
    ]
}

/// The mode of that name.
fn mode(name: &str, pages: u64) -> Registration {
    let found = modes(pages).into_iter().find(|mode| mode.0 == name);
    found.unwrap_or_else(|| panic!("a mode called {name}")).1
}

/// Steps of the progress bar.
pub fn steps(options: &Options) -> usize {
    modes(0).len() * SETS.len() + 6 + backing::steps(options)
}

/// The program that measures on real memory.
struct Live {
    program: PathBuf,
}

/// A value for each key that a run printed.
type Values = BTreeMap<String, f64>;

impl Live {
    /// The median of each value.
    fn run(&self, arguments: &[&str], pages: u64, settings: &[(&str, &str)]) -> Result<Values, String> {
        self.values(arguments, pages, settings, |sorted| sorted[sorted.len() / 2])
    }

    /// Puts in a mode. All of the segment may be in memory where it has to be.
    fn puts(&self, mode: &str, pages: u64, puts: u64) -> Result<Values, String> {
        let segment = ((pages + BEHIND) * PAGE).to_string();
        let mut settings = vec![("GASNET_NETVM_REGISTRATION", mode)];
        if mode == "pin-everything" {
            settings.push(("GASNET_NETVM_MEMORY", &segment));
        }
        self.run(&["netvm_puts", &pages.to_string(), &puts.to_string()], pages, &settings)
    }

    /// The least of each: of a part that is what it takes, and the rest is what else the machine did.
    fn least(&self, arguments: &[&str], pages: u64, settings: &[(&str, &str)]) -> Result<Values, String> {
        self.values(arguments, pages, settings, |sorted| sorted[0])
    }

    fn values(
        &self,
        arguments: &[&str],
        pages: u64,
        settings: &[(&str, &str)],
        of_sorted: fn(&[f64]) -> f64,
    ) -> Result<Values, String> {
        let mut command = Command::new(&self.program);
        command.args(arguments).env("GASNET_CONDUIT", "netvm").env("GASNET_PSHM_NODES", "2");
        let segment = (pages + BEHIND) * PAGE;
        command.env("GASNET_MAX_SEGSIZE", segment.to_string());
        command.env("GASNET_NETVM_MEMORY", (BUDGET * PAGE).to_string());
        command.envs(settings.iter().copied());
        let output = command.output().map_err(|e| format!("{}: {e}", self.program.display()))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(format!("{arguments:?} {settings:?}: {said}"));
        }
        let mut values: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            if let Some((key, value)) = line.split_once(' ')
                && let Ok(value) = value.parse()
            {
                values.entry(key.to_string()).or_default().push(value);
            }
        }
        let pick = |mut all: Vec<f64>| {
            all.sort_by(f64::total_cmp);
            of_sorted(&all)
        };
        Ok(values.into_iter().map(|(key, all)| (key, pick(all))).collect())
    }
}

fn of(values: &Values, key: &str) -> Result<f64, String> {
    values.get(key).copied().ok_or_else(|| format!("the run printed no {key}"))
}

// ---- the prediction

/// Two ranks on the machine.
fn cluster(model: &CostModel, mode: Registration, pages: u64) -> Cluster {
    Cluster::new(2, model.clone()).registration(mode).segment(((pages + BEHIND) * PAGE) as usize)
}

/// The result of rank 0.
fn first<T>(report: Result<Report<T>, Failure>) -> Result<T, String> {
    let results = report.map_err(|e| e.to_string())?.results;
    results.into_iter().next().ok_or_else(|| "a simulation without ranks".to_string())
}

/// Modes of which only hits are parts: what their parts are called.
const HITS: [(&str, [&str; 2]); 2] =
    [("pin-everything", ["driven", "driven16"]), ("rendezvous-nounpin", ["asked", "asked16"])];
/// The pages that a run of hits uses.
const PAGES_OF_HITS: u64 = 64;

/// The parts of a put there.
fn simulated_parts(model: &CostModel, pages: u64) -> Result<Vec<(&'static str, f64)>, String> {
    let shadow = mode("shadow-lock", pages);
    let mut parts = first(cluster(model, shadow, pages).run(|rank: &Rank| workload::parts(rank, pages)))?;
    for (name, keys) in HITS {
        let hits = first(cluster(model, mode(name, PAGES_OF_HITS), PAGES_OF_HITS).run(workload::hits_alone))?;
        parts.extend(keys.into_iter().zip(hits));
    }
    Ok(parts)
}

/// And here.
fn measured_parts(live: &Live, pages: u64) -> Result<Values, String> {
    let mut parts = live.least(&["netvm_parts", &pages.to_string()], pages, &[])?;
    for (name, keys) in HITS {
        let hits = live.least(&["netvm_hits"], PAGES_OF_HITS, &[("GASNET_NETVM_REGISTRATION", name)])?;
        for (key, part) in keys.into_iter().zip(["hit", "hit16"]) {
            parts.insert(key.to_string(), of(&hits, part)?);
        }
    }
    Ok(parts)
}

/// The same puts as the live program's: one at a time, and [`DEPTH`] at a time.
fn predict(model: &CostModel, mode: Registration, pages: u64, puts: u64) -> Result<(f64, f64), String> {
    first(cluster(model, mode, pages).run(|rank: &Rank| {
        let mut took = (0.0, 0.0);
        if rank.id().0 == 0 {
            let mut rng = Rng::new(0xc055);
            workload::puts(rank, &(0..pages).collect::<Vec<_>>(), 1);
            workload::puts(rank, &workload::zipf(pages, puts.max(pages), &mut rng), 1);
            let one = workload::puts(rank, &workload::zipf(pages, puts, &mut rng), 1);
            took = (one, workload::puts(rank, &workload::zipf(pages, puts, &mut rng), DEPTH));
        }
        rank.barrier();
        took
    }))
}

/// The parts that a machine is fitted to, and the quality of the fit: part, measured, simulated.
type Fit = Vec<(&'static str, f64, f64)>;

/// This host, from the measured parts of a put, what a page takes to be pinned and unpinned, and the costs of
/// its own that [`own_costs`] measures.
fn fit(parts: &Values, pin: [Time; 2], pages: u64, own: FirmwareCosts) -> Result<(CostModel, Fit), String> {
    let ib = CostModel::modern_ib();
    let lookup = Time::ZERO;
    let pin = PinCosts {
        pin: Time::ZERO,
        pin_page: pin[0],
        unpin: Time::ZERO,
        unpin_page: pin[1],
        move_request: Time::ZERO,
        lookup,
        ..ib.pin
    };
    let mut firmware = FirmwareCosts {
        synchronous: true,
        attended: true,
        page_out: Time::ZERO,
        // Copies.
        dma: Time::ns(30),
        ..own
    };
    let (mut post, mut page_in, mut page_out, mut interrupt) = (0.3_f64, 20.0_f64, 10.0_f64, 5.0_f64);
    let (mut lookup, mut message) = (0.1_f64, 0.3_f64);
    let mut model = CostModel { name: "this-host", pin, inline: 96, ..ib };
    // A ring in shared memory.
    model.network.latency = Time::us(0.1);
    let mut found = Fit::new();
    for _ in 0..15 {
        for us in [&mut post, &mut page_in, &mut page_out, &mut interrupt, &mut lookup, &mut message] {
            *us = us.max(0.0);
        }
        firmware.post = Time::us(post);
        firmware.page_in = Time::us(page_in);
        firmware.page_out_page = Time::us(page_out);
        firmware.interrupt = Time::us(interrupt);
        model.firmware = firmware;
        model.pin.lookup = Time::us(lookup);
        (model.host.am_send, model.host.am_handle) = (Time::us(message), Time::us(message));
        let simulated = simulated_parts(&model, pages)?;
        let beside = |(part, value): &(&'static str, f64)| Ok((*part, of(parts, part)?, *value));
        found = simulated.iter().map(beside).collect::<Result<_, String>>()?;
        let part = |part: &str| found.iter().find(|f| f.0 == part).map_or((1.0, 1.0), |f| (f.1, f.2));
        let more = |name: &str| part(name).0 - part(name).1;
        // Each part has what follows from it; those before it are right after a few rounds. Many puts at a
        // time are held up by who posts them, a single one by all that comes after.
        let (hit, simulated) = part("hit");
        let longer = (hit - post).max(0.1) / (simulated - post).max(0.1);
        firmware = firmware.scaled(longer.clamp(0.3, 3.0));
        post += more("hit16");
        let (four, sixteen) = (16.0 * more("in_4_of_16"), 16.0 * more("in_all_of_16"));
        page_in += (sixteen - four) / 12.0;
        interrupt += more("in");
        page_out += (16.0 * more("out_4_of_16") - four) / 4.0;
        lookup += more("driven16") - more("hit16");
        // Each end sends one and takes one.
        message += (more("asked16") - more("driven16")) / 2.0;
    }
    Ok((model, found))
}

/// The times to pin and to unpin a page, split from the time of both in the proportion of the kernel's own
/// times.
fn halves(both: Duration) -> [Time; 2] {
    let us = both.as_secs_f64() * 1e6;
    let share = Measured::take().mlock.map_or(0.5, |line| {
        let (pin, unpin) =
            ((line.pin_call + line.pin_page).as_us(), (line.unpin_call + line.unpin_page).as_us());
        if pin + unpin > 0.0 { pin / (pin + unpin) } else { 0.5 }
    });
    [Time::us(us * share), Time::us(us * (1.0 - share))]
}

/// The costs of wake-ups and of steps in the shadow table on this host.
fn own_costs() -> FirmwareCosts {
    FirmwareCosts { wake: wake(), ..table_costs(CostModel::modern_ib().firmware) }
}

/// The host's costs for steps in a shadow table that is in ordinary memory and not on a NIC.
fn table_costs(firmware: FirmwareCosts) -> FirmwareCosts {
    const FRAMES: u32 = 1024;
    const ROUNDS: u32 = 20;
    let (mut host, mut nic) = shadow::table(Geometry::new(FRAMES), 1);
    let all = || (1..=FRAMES).filter_map(|n| Some((Vpn::new(PortId(1), n.into()), Ppn::new(n)?)));
    let mut took = [Duration::ZERO; 4];
    let mut timed = |i: usize, work: &mut dyn FnMut()| {
        let begun = Instant::now();
        work();
        took[i] += begun.elapsed();
    };
    for _ in 0..ROUNDS {
        timed(0, &mut || all().for_each(|(vpn, ppn)| _ = host.map(vpn, ppn, Key(7))));
        timed(1, &mut || all().for_each(|(_, ppn)| _ = black_box(host.test_and_clean(ppn))));
        let leases: Vec<_> = all().filter_map(|(vpn, _)| nic.lease(vpn, vpn.hash(), Key(7)).ok()).collect();
        timed(2, &mut || leases.iter().for_each(|lease| _ = black_box(host.unmap(lease.ppn))));
        leases.into_iter().for_each(|lease| _ = nic.end_lease(lease));
        timed(3, &mut || all().for_each(|(_, ppn)| _ = black_box(host.unmap(ppn))));
    }
    let [map, test, unmap_locked, unmap] = took.map(|took| Time::from_duration(took / (ROUNDS * FRAMES)));
    FirmwareCosts { map, unmap, unmap_locked, clean: test, dirty: test, ..firmware }
}

/// The time to wake a sleeping thread.
fn wake() -> Time {
    const ROUNDS: u32 = 2000;
    let main = std::thread::current();
    let begun = Instant::now();
    let other = std::thread::spawn(move || {
        for _ in 0..ROUNDS {
            std::thread::park();
            main.unpark();
        }
    });
    for _ in 0..ROUNDS {
        other.thread().unpark();
        std::thread::park();
    }
    let took = begun.elapsed();
    // It does not panic.
    let _ = other.join();
    Time::from_duration(took / (2 * ROUNDS))
}

// ---- the tables

/// Rows, plots, and tables to read, each with a title.
pub type Figures = (Vec<Row>, Vec<Chart>, Vec<(&'static str, Vec<String>)>);

/// All figures.
pub fn run(options: &Options, progress: &mut Progress) -> Result<Figures, String> {
    let program =
        std::env::current_exe().ok().and_then(|path| Some(path.parent()?.join("gasnet-papers-rank")));
    let live = Live { program: program.ok_or("where is gasnet-papers-rank?")? };
    let puts = if options.quick { 300 } else { 3000 };
    let (mut rows, mut charts, mut tables) = (Vec::new(), Vec::new(), Vec::new());

    // A figure that is asked for by its name is measured with those that it needs.
    let wanted =
        |name: &str| options.filters.is_empty() || options.filters.iter().any(|f| name.contains(f.as_str()));
    let of_heat = |filter: &String| filter.contains("heat");
    if wanted("live_heat") || options.filters.iter().any(of_heat) {
        let (more, text) = backing::run(options, progress)?;
        rows.extend(more);
        tables.push(("heat.upc with a heap of 16 x its memory, of which the rest is elsewhere:", text));
        if !options.filters.is_empty() && options.filters.iter().all(of_heat) {
            return Ok((rows, charts, tables));
        }
    }

    progress.step("the parts of a put");
    let largest = BUDGET * SETS[SETS.len() - 1] / 100;
    let parts = measured_parts(&live, largest)?;
    let folder = std::env::temp_dir();
    let holding = costs::holding(&folder).map_err(|e| e.to_string())?;
    let holding = holding.ok_or("pages cannot be pinned here: set the limit of locked memory higher")?;
    let (model, found) = fit(&parts, halves(holding.page), largest, own_costs())?;
    let mut text = table(&["part of a put", "measured us", "fitted us"]);
    for (part, measured, fitted) in &found {
        rows.push(Row::new(format!("live_part_{part}"), "us", 2, *measured));
        text.push(line(&[part.to_string(), number(*measured), number(*fitted)]));
    }
    rows.push(Row::new("live_part_hold", "us", 1, holding.page.as_secs_f64() * 1e6));
    rows.push(Row::new("live_part_hold_wake", "us", 1, holding.wake.as_secs_f64() * 1e6));
    let costs = [
        ("post", model.firmware.post),
        ("page_in", model.firmware.page_in),
        ("page_out", model.firmware.page_out_page),
        ("interrupt", model.firmware.interrupt),
        ("pin", model.pin.pinning(1)),
        ("unpin", model.pin.unpinning(1)),
        ("wake", model.firmware.wake),
        ("lookup", model.pin.lookup),
        ("message", model.host.am_send + model.host.am_handle),
    ];
    for (what, time) in costs {
        rows.push(Row::new(format!("live_model_{what}"), "us", 1, time.as_us()));
    }
    tables.push(("The parts of a put, and the same of the machine that is fitted to some of them:", text));

    let (more, plots, text) = working_sets(&live, &model, puts, &wanted, progress)?;
    if let Ok((ratios, bars, bar)) = ratios(&more) {
        rows.extend(ratios);
        charts.push(bars);
        tables.push(("The working set 4 x the memory, 16 puts at a time, against rendezvous:", bar));
    }
    rows.extend(more);
    charts.extend(plots);
    tables.push(("8-byte puts by Zipf 0.99 into a working set, and 32 KiB puts in order:", text));
    if wanted("live_kept") {
        let (more, text) = kept(&live, puts, progress)?;
        rows.extend(more);
        tables.push((
            "Firehose against memory pinned for good, in turn, where it holds the working set:",
            text,
        ));
    }
    if !options.filters.is_empty() && !options.filters.iter().any(|f| REST.contains(&f.as_str())) {
        return Ok((rows, charts, tables));
    }

    progress.step("faults");
    let (megabytes, random) = if options.quick { (8, 500) } else { (32, 5000) };
    let faults = costs::measure(&folder, megabytes, random, &[16]).map_err(|e| e.to_string())?;
    let mut text = table(&["setting", "use of a page", "us a page"]);
    for fault in faults {
        let budget = fault.setting.split(',').next().unwrap_or_default();
        let name = format!("live_fault_{budget}_{}", fault.what).replace([' ', ',', '%', ':'], "_");
        rows.push(Row::new(name, "us", 1, fault.each()));
        text.push(line(&[fault.setting.clone(), fault.what.to_string(), number(fault.each())]));
    }
    tables.push(("What pages cost the program that uses them:", text));

    let (more, plots, text) = operations(&live, &model, options.quick, progress)?;
    rows.extend(more);
    charts.extend(plots);
    tables.push(("Synchronisation and collectives of 2 ranks:", text));
    Ok((rows, charts, tables))
}

/// The ranks and the machine.
fn setting() -> String {
    let memory = (BUDGET * PAGE) >> 20;
    format!("netvm, 2 ranks, {memory} MiB of memory allowed to each\n{}", machine::machine())
}

fn chart(file: &str, title: &str, y: &'static str, curves: Vec<Curve>) -> Chart {
    Chart {
        file: file.into(),
        title: title.into(),
        setting: setting(),
        x: "working set (% of the memory allowed)",
        y,
        log: (true, true),
        curves,
        ..Chart::default()
    }
}

/// The figures of a part, its plots, and its table.
type Part = (Vec<Row>, Vec<Chart>, Vec<String>);

fn working_sets(
    live: &Live,
    model: &CostModel,
    puts: u64,
    wanted: &dyn Fn(&str) -> bool,
    progress: &mut Progress,
) -> Result<Part, String> {
    let (mut rows, mut curves) = (Vec::new(), <[Vec<Curve>; 5]>::default());
    let depth = format!("{DEPTH} at a time us");
    let mut text = table(&[
        "mode",
        "working set",
        "blocking us",
        "predicted us",
        &depth,
        "predicted us",
        "32 KiB MB/s",
        "processors us a page",
    ]);
    let ratio = wanted("live_ratio");
    for name in modes(0).into_iter().map(|mode| mode.0) {
        let mut points = <[Vec<(f64, f64)>; 5]>::default();
        for set in SETS {
            let of_ratio = ratio && BAR.contains(&name) && set == SETS[SETS.len() - 1];
            let names =
                ["put8", "put8x16", "bw", "bw_processor"].map(|what| format!("live_{name}_{set}_{what}"));
            if !of_ratio && !names.iter().any(|name| wanted(name)) {
                continue;
            }
            progress.step(&format!("{name}, {set} % of the memory"));
            let pages = BUDGET * set / 100;
            let mode = mode(name, pages);
            let measured = live.puts(name, pages, puts)?;
            let (put, deep) = (of(&measured, "put8")?, of(&measured, "put8x16")?);
            let (rate, processors) = (of(&measured, "bw")?, of(&measured, "bw_processor")?);
            let (predicted, predicted_deep) = predict(model, mode, pages, puts)?;
            let values = [put, predicted, deep, predicted_deep, rate];
            let names = ["put8", "put8_predicted", "put8x16", "put8x16_predicted", "bw"];
            for ((what, value), points) in names.into_iter().zip(values).zip(&mut points) {
                let unit = if what == "bw" { "MB/s" } else { "us" };
                rows.push(Row::new(format!("live_{name}_{set}_{what}"), unit, 2, value));
                points.push((set as f64, value));
            }
            rows.push(Row::new(format!("live_{name}_{set}_bw_processor"), "us a page", 2, processors));
            let numbers = [&values[..], &[processors]].concat().into_iter().map(number);
            let mut cells = vec![name.to_string(), format!("{set} %")];
            cells.extend(numbers);
            text.push(line(&cells));
        }
        for (curves, points) in curves.iter_mut().zip(points) {
            curves.push(Curve { name: name.into(), points });
        }
    }
    let [one, one_predicted, deep, deep_predicted, rate] = curves;
    let us = "time of a put (us)";
    // The predicted and the measured chart have the same axes.
    let ordinates =
        |curves: &[Curve]| curves.iter().flat_map(|c| c.points.iter().map(|p| p.1)).collect::<Vec<_>>();
    let pair = |files: [&str; 2], how: &str, live: Vec<Curve>, predicted: Vec<Curve>| {
        let beside = [ordinates(&predicted), ordinates(&live)];
        let one = chart(files[0], &format!("8-byte puts, {how}, by Zipf 0.99: on real memory"), us, live);
        let other = chart(files[1], &format!("8-byte puts, {how}, by Zipf 0.99: predicted"), us, predicted);
        let [first, second] = beside;
        [Chart { beside: first, ..one }, Chart { beside: second, ..other }]
    };
    let mut charts = Vec::new();
    charts.extend(pair(["netvm-live-put", "netvm-live-predicted"], "one at a time", one, one_predicted));
    let how = format!("{DEPTH} at a time");
    charts.extend(pair(["netvm-live-put16", "netvm-live-predicted16"], &how, deep, deep_predicted));
    let title = "32 KiB puts in order, on real memory";
    charts.push(chart("netvm-live-bandwidth", title, "bandwidth (MB/s)", rate));
    Ok((rows, charts, text))
}

/// The overhead of firehose for a put whose page it keeps pinned: compared with the mode without any
/// bookkeeping. The two run in turn, since the speed of a machine varies over minutes.
fn kept(live: &Live, puts: u64, progress: &mut Progress) -> Result<(Vec<Row>, Vec<String>), String> {
    const ROUNDS: usize = 7;
    const MODES: [&str; 2] = ["firehose", "pin-everything"];
    let mut rows = Vec::new();
    let mut text =
        table(&["working set", "puts at a time", "firehose us", "pin-everything us", "ratio", "bar"]);
    for set in SETS.into_iter().filter(|set| *set < 100) {
        let pages = BUDGET * set / 100;
        let mut values = <[[Vec<f64>; 2]; 2]>::default();
        for round in 0..ROUNDS {
            progress.step(&format!("firehose and pin-everything, {set} % of the memory, {}", round + 1));
            for (mode, [one, deep]) in MODES.into_iter().zip(&mut values) {
                let measured = live.puts(mode, pages, puts)?;
                one.push(of(&measured, "put8")?);
                deep.push(of(&measured, "put8x16")?);
            }
        }
        let [firehose, pinned] = values.map(|mode| mode.map(|samples| median(&samples)));
        for (i, depth) in [1, DEPTH].into_iter().enumerate() {
            let ratio = firehose[i] / pinned[i];
            rows.push(Row::new(format!("live_kept_{set}_{depth}"), "", 2, ratio));
            let verdict = if ratio <= 1.05 { "met" } else { "missed" };
            text.push(line(&[
                format!("{set} %"),
                depth.to_string(),
                number(firehose[i]),
                number(pinned[i]),
                number(ratio),
                verdict.to_string(),
            ]));
        }
    }
    Ok((rows, text))
}

/// The modes of the bar against the last of them: on real memory and as predicted.
fn ratios(rows: &[Row]) -> Result<(Vec<Row>, Chart, Vec<String>), String> {
    let largest = SETS[SETS.len() - 1];
    let value = |mode: &str, what: &str| {
        let name = format!("live_{mode}_{largest}_{what}");
        rows.iter().find(|row| row.name == name).map(|row| row.here).ok_or_else(|| format!("no {name}"))
    };
    let reference = BAR[BAR.len() - 1];
    let (here, there) = (value(reference, "put8x16")?, value(reference, "put8x16_predicted")?);
    let mut text = table(&["mode", "ratio", "predicted", "difference", "bar"]);
    let (mut ratios, mut bars) = (Vec::new(), [Vec::new(), Vec::new()]);
    for (i, mode) in BAR.into_iter().enumerate() {
        let (live, predicted) = (value(mode, "put8x16")? / here, value(mode, "put8x16_predicted")? / there);
        let difference = (live / predicted - 1.0) * 100.0;
        let ahead = i >= 2 || live < 1.0;
        let verdict = if difference.abs() <= 30.0 && ahead { "met" } else { "missed" };
        text.push(line(&[
            mode.to_string(),
            number(live),
            number(predicted),
            format!("{difference:+.0} %"),
            verdict.to_string(),
        ]));
        ratios.push(Row::new(format!("live_ratio_{mode}"), "", 2, live));
        ratios.push(Row::new(format!("live_ratio_{mode}_predicted"), "", 2, predicted));
        bars[0].push((i as f64, live));
        bars[1].push((i as f64, predicted));
    }
    let [live, predicted] = bars;
    let chart = Chart {
        file: "netvm-live-ratios".into(),
        title: "Working set 4 x the memory, 16 puts of 8 bytes at a time, Zipf 0.99".into(),
        x: "registration mode",
        y: "time of a put / rendezvous",
        setting: setting(),
        bars: BAR.to_vec(),
        curves: vec![
            Curve { name: "real memory".into(), points: live },
            Curve { name: "predicted".into(), points: predicted },
        ],
        ..Chart::default()
    };
    Ok((ratios, chart, text))
}

/// Bars of measured and predicted times.
fn bars(file: &str, title: &str, names: &[&'static str], values: [Vec<f64>; 2]) -> Chart {
    let curve = |name: &str, values: Vec<f64>| Curve {
        name: name.into(),
        points: values.into_iter().enumerate().map(|(i, v)| (i as f64, v)).collect(),
    };
    let [live, predicted] = values;
    Chart {
        file: file.into(),
        title: title.into(),
        x: "operation",
        y: "time (us)",
        // All of these have their segment in memory.
        setting: format!("netvm, 2 ranks, all in memory\n{}", machine::machine()),
        bars: names.to_vec(),
        curves: vec![curve("real memory", live), curve("predicted", predicted)],
        ..Chart::default()
    }
}

/// Operations under some settings.
struct Run {
    /// The task of the program that measures, and what it runs.
    task: &'static str,
    all: &'static [workload::Operation],
    /// Of the names of its figures, and the title of its plot.
    suffix: &'static str,
    title: &'static str,
    settings: &'static [(&'static str, &'static str)],
}

const RUNS: [Run; 4] = [
    Run { task: "sync", all: workload::SYNC, suffix: "", title: "Synchronisation of 2 ranks", settings: &[] },
    // A wait that gives up the processor at once.
    Run {
        task: "sync",
        all: workload::SYNC,
        suffix: "_asleep",
        title: "",
        settings: &[("GASNET_SPIN", "0")],
    },
    Run {
        task: "collectives",
        all: workload::COLLECTIVES,
        suffix: "",
        title: "Collective operations of 2 ranks",
        settings: &[],
    },
    Run {
        task: "collectives",
        all: workload::COLLECTIVES,
        suffix: "_nic",
        title: "Collective operations of 2 ranks by NICs",
        settings: &[("GASNET_COLL", "nic")],
    },
];

fn operations(live: &Live, model: &CostModel, quick: bool, progress: &mut Progress) -> Result<Part, String> {
    let (mut rows, mut charts) = (Vec::new(), Vec::new());
    let mut text = table(&["operation", "us", "predicted us"]);
    let count = if quick { 50 } else { 1000 };
    let everything = Registration::ShadowLock { frames: 0 };
    for Run { task, all, suffix, title, settings } in RUNS {
        progress.step(&format!("{task}{suffix}"));
        let mut settings = settings.to_vec();
        // All of it in memory.
        settings.push(("GASNET_NETVM_MEMORY", "16M"));
        let measured = live.run(&[task, &count.to_string()], 4000, &settings)?;
        let (mut names, mut values) = (Vec::new(), [Vec::new(), Vec::new()]);
        for (name, run) in all {
            // Waiting for a notification is the only operation that sleeps.
            let asleep = suffix == "_asleep";
            if asleep && *name != "notify_wait" {
                continue;
            }
            let here = of(&measured, name)?;
            let run = *run;
            let config = Config { quiet: true, coll_nic: suffix == "_nic", ..Config::default() };
            let cluster = cluster(model, everything, 64).config(config);
            let mut there = first(cluster.run_for_good(move |rank| run(rank, 200)))?;
            if asleep {
                there += model.firmware.wake.as_us();
            }
            rows.push(Row::new(format!("live_{name}{suffix}"), "us", 2, here));
            rows.push(Row::new(format!("live_{name}{suffix}_predicted"), "us", 2, there));
            text.push(line(&[format!("{name}{suffix}"), number(here), number(there)]));
            names.push(*name);
            values[0].push(here);
            values[1].push(there);
        }
        if suffix != "_asleep" {
            let title = format!("{title} on the netvm conduit");
            charts.push(bars(&format!("netvm-live-{task}{suffix}"), &title, &names, values));
        }
    }
    Ok((rows, charts, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The firmware of a host that pages to a disk.
    fn paging(firmware: FirmwareCosts) -> FirmwareCosts {
        FirmwareCosts {
            synchronous: true,
            attended: true,
            dma: Time::ns(30),
            page_in: Time::us(30.0),
            page_out: Time::ZERO,
            page_out_page: Time::us(9.0),
            ..table(firmware)
        }
    }

    /// Costs of a host as [`own_costs`] measures them, but the same on all machines.
    fn table(firmware: FirmwareCosts) -> FirmwareCosts {
        FirmwareCosts {
            map: Time::ns(60),
            unmap: Time::ns(15),
            unmap_locked: Time::ns(10),
            clean: Time::ns(5),
            dirty: Time::ns(5),
            wake: Time::us(5.0),
            ..firmware
        }
    }

    /// A machine whose parts are known is found again.
    #[test]
    fn machines_are_fitted_to_their_parts() {
        let ib = CostModel::modern_ib();
        let firmware = FirmwareCosts { interrupt: Time::us(4.0), ..paging(ib.firmware.scaled(4.0)) };
        let mut truth = CostModel { firmware, inline: 96, ..ib };
        truth.network.latency = Time::us(0.1);
        truth.firmware.post = Time::us(0.8);
        (truth.host.am_send, truth.host.am_handle) = (Time::us(0.4), Time::us(0.4));
        let pin = [Time::us(0.6), Time::us(0.4)];
        truth.pin = PinCosts {
            pin: Time::ZERO,
            pin_page: pin[0],
            unpin: Time::ZERO,
            unpin_page: pin[1],
            move_request: Time::ZERO,
            ..truth.pin
        };
        let pages = 4 * BUDGET;
        let parts = simulated_parts(&truth, pages).unwrap();
        let parts: Values = parts.into_iter().map(|(part, value)| (part.to_string(), value)).collect();
        let (model, found) = fit(&parts, pin, pages, table(ib.firmware)).unwrap();
        for (part, measured, fitted) in &found {
            assert!((fitted / measured - 1.0).abs() < 0.03, "{part}: {measured} {fitted}");
        }
        let near = |a: Time, b: Time| (a.as_us() / b.as_us() - 1.0).abs() < 0.1;
        assert!(near(model.firmware.page_in, truth.firmware.page_in), "{:?}", model.firmware);
        assert!(near(model.firmware.page_out_page, truth.firmware.page_out_page), "{:?}", model.firmware);
        // And says the same of another mode.
        let held = modes(pages)[1].1;
        let (a, b) = (predict(&truth, held, pages, 300).unwrap(), predict(&model, held, pages, 300).unwrap());
        assert!((a.1 / b.1 - 1.0).abs() < 0.1, "{a:?} {b:?}");
    }

    /// A program that polls all the time leaves the processor to its NIC now and then: all operations come to
    /// their end.
    #[test]
    fn programs_that_poll_get_on() {
        let ib = CostModel::modern_ib();
        let model = CostModel { firmware: paging(ib.firmware), ..ib };
        for (name, run) in workload::SYNC.iter().chain(workload::COLLECTIVES) {
            let run = *run;
            let cluster = cluster(&model, Registration::ShadowLock { frames: 0 }, 64).most_events(1_000_000);
            let us = first(cluster.run_for_good(move |rank| run(rank, 20)));
            assert!(us.as_ref().is_ok_and(|us| *us > 0.0), "{name}: {us:?}");
        }
    }

    /// Pinned modes page: beyond the memory every mode is slower than within it, and rendezvous slowest of
    /// those that ask.
    #[test]
    fn held_modes_page() {
        let ib = CostModel::modern_ib();
        let model = CostModel { firmware: paging(ib.firmware), ..ib };
        let mut deep = Vec::new();
        for name in modes(0).into_iter().map(|mode| mode.0) {
            let within = predict(&model, mode(name, BUDGET / 2), BUDGET / 2, 400).unwrap();
            let beyond = predict(&model, mode(name, BUDGET * 4), BUDGET * 4, 400).unwrap();
            if ["rendezvous-nounpin", "pin-everything"].contains(&name) {
                assert!((beyond.0 / within.0 - 1.0).abs() < 0.2, "{name} {within:?} {beyond:?}");
            } else {
                assert!(beyond.0 > within.0 + 5.0, "{name}: {within:?} {beyond:?}");
            }
            deep.push((name, beyond.1));
        }
        let of = |mode| deep.iter().find(|d| d.0 == mode).unwrap().1;
        assert!(
            of("shadow-lock") < of("rendezvous") && of("firehose-over-locks") < of("rendezvous"),
            "{deep:?}"
        );
    }
}
