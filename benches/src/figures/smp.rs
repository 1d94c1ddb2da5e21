//! Figures of the runtime on one host.

use super::{beside, floor, rank, time, us};
use crate::probe::{Better, Figure, Group, Probe, Program};
use pgas_bench::options::Options;

/// All of them.
pub fn all(options: &Options) -> Vec<Group> {
    let mut groups = Vec::new();

    let copies = vec![
        floor("copy", ""),
        rank(2, "rma"),
        Probe { program: Program::Client("rma"), args: vec![], ranks: 2, env: &[] },
    ];
    let mut figures = Vec::new();
    for (probe, suffix) in [(1, ""), (2, "_c")] {
        for (name, key, floor) in [
            ("put8", "put8", &["store8"] as &[_]),
            ("get8", "get8", &["load8"]),
            ("put_bw_1m", "bw", &["memcpy_1m"]),
        ] {
            let bulk = name == "put_bw_1m";
            figures.push(Figure {
                value: (probe, key),
                better: if bulk { Better::Higher } else { Better::Lower },
                bar: if bulk { "ratio >= 0.95" } else { "<= 8 ns" },
                ..time(&format!("{name}{suffix}"), if bulk { "GB/s" } else { "ns" }, 2, key, floor)
            });
        }
    }
    groups.push(Group { probes: copies, figures, rounds: 0, note: None });

    groups.extend(messages());

    // The second within 12 times what the first takes: nothing at start may grow with the number of pairs.
    let counts = if options.quick {
        [(32, "start32"), (64, "ranks_64")]
    } else {
        [(256, "start256"), (1000, "ranks_1000")]
    };
    for ((many, name), bar) in counts.into_iter().zip(["< 10 s", "<= 12 x start256"]) {
        let probes = vec![floor("start", &format!("{many} 100")), rank(many, "start")];
        let figures = vec![
            Figure { bar, ..time(name, "s", many, "wall", &["wall"]) },
            Figure { bar: "reported", ..time(&format!("{name}_rss"), "KiB/rank", many, "rss", &["rss"]) },
            Figure { bar: "reported", ..time(&format!("{name}_pss"), "KiB/rank", many, "pss", &["pss"]) },
        ];
        groups.push(Group { probes, figures, rounds: 3, note: None });
    }
    groups
}

/// Messages, barriers and atomic operations.
fn messages() -> Vec<Group> {
    let line: &[_] = &["tight", "pause"];
    // A round trip, beside the floor of as many pairs of threads.
    let rtt = |name: &str, pairs: &str, ranks, task, floors, bar| {
        let figure = us(Figure { bar, ..time(name, "us", ranks, "rtt", floors) });
        beside(floor("pingpong", pairs), rank(ranks, task), figure)
    };
    let barrier = |ranks: u32| {
        let figure = time(&format!("barrier_{ranks}"), "us", ranks, "barrier", &["barrier"]);
        let figure = us(Figure { bar: "ratio <= 1.3", ..figure });
        beside(floor("barrier", &ranks.to_string()), rank(ranks, "barrier"), figure)
    };
    vec![
        rtt("am_short_rtt", "1", 2, "am_short", line, "ratio <= 1.4"),
        beside(
            floor("stream", ""),
            rank(2, "am_flood"),
            Figure { bar: "<= 0.08 us", ..time("am_flood", "us", 2, "flood", &["stream"]) },
        ),
        rtt("am_medium_4k_rtt", "1 4096", 2, "am_medium", line, "ratio <= 1.5"),
        barrier(2),
        barrier(4),
        barrier(8),
        rtt("am_short_rtt_8", "4", 8, "am_short", &["wait"], "ratio <= 1.3"),
        rtt("am_reqreq", "1", 2, "am_reqreq", line, "ratio <= 1.4"),
        rtt("am_reqreq_crowded_4", "2", 4, "am_reqreq", &["wait"], "reported"),
        beside(
            floor("fadd", "2"),
            rank(2, "fadd"),
            Figure { bar: "ratio <= 1.3", ..time("atomic_fadd", "ns", 2, "fadd", &["fadd"]) },
        ),
    ]
}
