//! GASNet-EX in C: each row beside the raw floor, and beside GASNet-1's call of the same kind, in the same
//! process.

use super::{UDP, floor, time, words};
use crate::options::Options;
use crate::probe::{Figure, Group, Probe, Program};

/// All of them.
pub fn all(_: &Options) -> Vec<Group> {
    type Row = (&'static str, &'static [&'static str], Option<&'static str>, &'static str);
    let client =
        |ranks, env, args: &str| Probe { program: Program::Client("ex"), args: words(args), ranks, env };
    // Name and key, the floor's keys, GASNet-1's key, and the bar beside GASNet-1.
    let group = |name: &str, floor: Probe, probe: Probe, scale, rows: &[Row]| {
        let (unit, ranks) = (if scale == 1.0 { "ns" } else { "us" }, probe.ranks);
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
    };
    let (close, rtt) = ("value - floor <= 1 ns", "ratio <= 1.05");
    let (store, load): (&[_], &[_]) = (&["store8"], &["load8"]);
    let line: &[_] = &["tight", "pause"];
    let mut groups = vec![
        group(
            "",
            floor("copy", ""),
            client(2, &[], "near"),
            1.0,
            &[
                ("ex_put8", store, Some("g1_put8"), close),
                ("ex_get8", load, Some("g1_get8"), close),
                ("ex_put_nb", store, Some("g1_put_nb"), close),
                ("ex_get_nb", load, Some("g1_get_nb"), close),
                ("ex_put_nbi", store, Some("g1_put_nbi"), close),
                ("ex_put_val", store, Some("g1_put_val"), close),
                ("ex_get_val", load, Some("g1_get_val"), close),
                ("ex_test", load, Some("g1_test"), close),
            ],
        ),
        group(
            "",
            floor("pingpong", "1"),
            client(2, &[], "messages"),
            1e-3,
            &[("ex_short", line, Some("g1_short"), rtt)],
        ),
        group(
            "",
            floor("pingpong", "1 4096"),
            client(2, &[], "messages"),
            1e-3,
            &[("ex_long", line, Some("g1_long"), rtt)],
        ),
        group(
            "",
            floor("assemble", ""),
            client(2, &[], "messages"),
            1e-3,
            &[
                ("ex_medium", &["copied"], Some("g1_medium"), rtt),
                ("ex_prepared", &["in_place"], Some("ex_medium"), "ratio <= 0.87"),
            ],
        ),
        group(
            "",
            floor("copy", ""),
            client(2, &[], "refusal"),
            1.0,
            &[
                ("ex_refusal", load, None, ""),
                ("ex_refusal_medium", load, None, ""),
                ("ex_refusal_prepared", load, None, ""),
            ],
        ),
        group(
            "",
            floor("copy", ""),
            client(2, &[], "pieces"),
            1.0,
            &[
                ("ex_strided", &["rows"], Some("g1_strided"), rtt),
                ("ex_indexed", &["rows"], Some("g1_indexed"), rtt),
            ],
        ),
        group(
            "",
            floor("fadd", "1"),
            client(2, &[], "atomics"),
            1.0,
            &[("ex_fadd_alone", &["fadd"], None, ""), ("ex_add_nbi", &["fadd"], None, "")],
        ),
        group("", floor("fadd", "2"), client(2, &[], "atomics"), 1.0, &[("ex_fadd", &["fadd"], None, "")]),
        group(
            "udp_",
            floor("udp_pingpong", "96"),
            client(2, UDP, "messages 3000"),
            1e-3,
            &[("ex_short", &["spin", "yield", "block", "stages"], Some("g1_short"), rtt)],
        ),
        group(
            "udp_",
            floor("udp_pingpong", "4176"),
            client(2, UDP, "messages 3000"),
            1e-3,
            &[
                ("ex_medium", &["spin", "yield", "block", "stages"], Some("g1_medium"), rtt),
                ("ex_prepared", &["spin", "yield", "block", "stages"], Some("ex_medium"), "reported"),
            ],
        ),
    ];
    // What a copy less is worth at most.
    let assembled =
        groups.iter_mut().find(|group| group.figures.iter().any(|figure| figure.name == "ex_prepared"));
    if let Some(group) = assembled {
        let floor = time("assemble_copied_beside_in_place", "us", 2, "copied", &["in_place"]);
        group.figures.push(Figure {
            value: (0, "copied"),
            scale: 1e-3,
            bar: "the limit of ex_prepared",
            ..floor
        });
    }
    for ranks in [2, 4] {
        let mut teams = group(
            "",
            floor("barrier", &ranks.to_string()),
            client(ranks, &[], "teams"),
            1e-3,
            &[
                ("ex_barrier", &["barrier"], Some("g1_barrier"), "reported"),
                ("ex_barrier_team", &["barrier"], Some("ex_barrier"), "reported"),
                ("ex_broadcast", &["barrier"], Some("g1_broadcast"), "reported"),
                ("ex_reduce", &["barrier"], None, ""),
                ("ex_reduce_team", &["barrier"], Some("ex_reduce"), "reported"),
            ],
        );
        teams.figures.iter_mut().for_each(|figure| figure.name += &format!("_{ranks}"));
        groups.push(teams);
    }
    for figure in groups.iter_mut().flat_map(|group| &mut group.figures) {
        if figure.name.starts_with("ex_refusal") {
            figure.bar = "<= 20 ns";
        }
    }
    groups
}
