//! GASNet-EX in C: each row beside the raw floor, and beside GASNet-1's call of the same kind, in the same
//! process.

use super::{Env, UDP, floor, time, words};
use crate::probe::{Figure, Group, Probe, Program};
use pgas_bench::options::Options;

/// A row: its name and key, the floor's keys, GASNet-1's key, and the bar beside GASNet-1.
type Row = (&'static str, &'static [&'static str], Option<&'static str>, &'static str);

const CLOSE: &str = "value - floor <= 1 ns";
const RTT: &str = "ratio <= 1.05";
/// Unit of a group as a factor of nanoseconds.
const NS: f64 = 1.0;
const US: f64 = 1e-3;

fn client(ranks: u32, env: Env, args: &str) -> Probe {
    Probe { program: Program::Client("ex"), args: words(args), ranks, env }
}

fn group(name: &str, floor: Probe, probe: Probe, scale: f64, rows: &[Row]) -> Group {
    let (unit, ranks) = (if scale == NS { "ns" } else { "us" }, probe.ranks);
    let figures = rows.iter().flat_map(|(key, floors, other, bar)| {
        let row =
            Figure { scale, bar: "reported", ..time(&format!("{name}{key}"), unit, ranks, key, floors) };
        let beside = other.map(|other| Figure {
            name: format!("{}_beside_{other}", row.name),
            floor: (1, vec![other].leak()),
            bar,
            ..row.clone()
        });
        std::iter::once(row).chain(beside)
    });
    Group { figures: figures.collect(), probes: vec![floor, probe], rounds: 0, note: None }
}

/// All of them.
pub fn all(_: &Options) -> Vec<Group> {
    let groups = [near(), messages(), vec![refusals()], pieces_and_atomics(), over_udp()];
    groups.into_iter().flatten().chain([2, 4].map(teams)).collect()
}

/// Puts and gets between neighbours.
fn near() -> Vec<Group> {
    let (store, load): (&[_], &[_]) = (&["store8"], &["load8"]);
    let rows: &[Row] = &[
        ("ex_put8", store, Some("g1_put8"), CLOSE),
        ("ex_get8", load, Some("g1_get8"), CLOSE),
        ("ex_put_nb", store, Some("g1_put_nb"), CLOSE),
        ("ex_get_nb", load, Some("g1_get_nb"), CLOSE),
        ("ex_put_nbi", store, Some("g1_put_nbi"), CLOSE),
        ("ex_put_val", store, Some("g1_put_val"), CLOSE),
        ("ex_get_val", load, Some("g1_get_val"), CLOSE),
        ("ex_test", load, Some("g1_test"), CLOSE),
    ];
    vec![group("", floor("copy", ""), client(2, &[], "near"), NS, rows)]
}

/// Round trips of active messages between neighbours.
fn messages() -> Vec<Group> {
    let line: &[_] = &["tight", "pause"];
    let beside = |floor, rows: &[Row]| group("", floor, client(2, &[], "messages"), US, rows);
    let mut mediums = beside(
        floor("assemble", ""),
        &[
            ("ex_medium", &["copied"], Some("g1_medium"), RTT),
            ("ex_prepared", &["in_place"], Some("ex_medium"), "ratio <= 0.87"),
        ],
    );
    // The most that leaving out a copy can gain.
    mediums.figures.push(Figure {
        value: (0, "copied"),
        scale: US,
        bar: "the limit of ex_prepared",
        ..time("assemble_copied_beside_in_place", "us", 2, "copied", &["in_place"])
    });
    vec![
        beside(floor("pingpong", "1"), &[("ex_short", line, Some("g1_short"), RTT)]),
        beside(floor("pingpong", "1 4096"), &[("ex_long", line, Some("g1_long"), RTT)]),
        mediums,
    ]
}

/// Calls with the immediate flag that find no room.
fn refusals() -> Group {
    let load: &[_] = &["load8"];
    let rows: &[Row] = &[
        ("ex_refusal", load, None, ""),
        ("ex_refusal_medium", load, None, ""),
        ("ex_refusal_prepared", load, None, ""),
    ];
    let mut refusals = group("", floor("copy", ""), client(2, &[], "refusal"), NS, rows);
    refusals.figures.iter_mut().for_each(|figure| figure.bar = "<= 20 ns");
    refusals
}

fn pieces_and_atomics() -> Vec<Group> {
    let pieces: &[Row] = &[
        ("ex_strided", &["rows"], Some("g1_strided"), RTT),
        ("ex_indexed", &["rows"], Some("g1_indexed"), RTT),
    ];
    let alone: &[Row] = &[("ex_fadd_alone", &["fadd"], None, ""), ("ex_add_nbi", &["fadd"], None, "")];
    let atomics = |ranks, rows| group("", floor("fadd", ranks), client(2, &[], "atomics"), NS, rows);
    vec![
        group("", floor("copy", ""), client(2, &[], "pieces"), NS, pieces),
        atomics("1", alone),
        atomics("2", &[("ex_fadd", &["fadd"], None, "")]),
    ]
}

/// Round trips over udp.
fn over_udp() -> Vec<Group> {
    let waits: &[_] = &["spin", "yield", "block", "stages"];
    let beside = |bytes, rows: &[Row]| {
        group("udp_", floor("udp_pingpong", bytes), client(2, UDP, "messages 3000"), US, rows)
    };
    vec![
        beside("96", &[("ex_short", waits, Some("g1_short"), RTT)]),
        beside(
            "4176",
            &[
                ("ex_medium", waits, Some("g1_medium"), RTT),
                ("ex_prepared", waits, Some("ex_medium"), "reported"),
            ],
        ),
    ]
}

/// Collectives of a job of `ranks` ranks.
fn teams(ranks: u32) -> Group {
    let rows: &[Row] = &[
        ("ex_barrier", &["barrier"], Some("g1_barrier"), "reported"),
        ("ex_barrier_team", &["barrier"], Some("ex_barrier"), "reported"),
        ("ex_broadcast", &["barrier"], Some("g1_broadcast"), "reported"),
        ("ex_reduce", &["barrier"], None, ""),
        ("ex_reduce_team", &["barrier"], Some("ex_reduce"), "reported"),
    ];
    let floor = floor("barrier", &ranks.to_string());
    let mut teams = group("", floor, client(ranks, &[], "teams"), US, rows);
    teams.figures.iter_mut().for_each(|figure| figure.name += &format!("_{ranks}"));
    teams
}
