//! Figures of the runtime on one host.

use super::{floor, rank, time};
use crate::options::Options;
use crate::probe::{Better, Figure, Group, Probe, Program};

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

    let mut pair = |name: &str, probes: [Probe; 2], ranks, scale, unit, value, floors, bar| {
        let figure = Figure { scale, bar, ..time(name, unit, ranks, value, floors) };
        groups.push(Group { probes: probes.into(), figures: vec![figure], rounds: 0, note: None });
    };
    pair(
        "am_short_rtt",
        [floor("pingpong", "1"), rank(2, "am_short")],
        2,
        1e-3,
        "us",
        "rtt",
        &["tight", "pause"],
        "ratio <= 1.4",
    );
    pair(
        "am_flood",
        [floor("stream", ""), rank(2, "am_flood")],
        2,
        1.0,
        "us",
        "flood",
        &["stream"],
        "<= 0.08 us",
    );
    pair(
        "am_medium_4k_rtt",
        [floor("pingpong", "1 4096"), rank(2, "am_medium")],
        2,
        1e-3,
        "us",
        "rtt",
        &["tight", "pause"],
        "ratio <= 1.5",
    );
    for ranks in [2, 4, 8] {
        pair(
            &format!("barrier_{ranks}"),
            [floor("barrier", &ranks.to_string()), rank(ranks, "barrier")],
            ranks,
            1e-3,
            "us",
            "barrier",
            &["barrier"],
            "ratio <= 1.3",
        );
    }
    pair(
        "am_short_rtt_8",
        [floor("pingpong", "4"), rank(8, "am_short")],
        8,
        1e-3,
        "us",
        "rtt",
        &["wait"],
        "ratio <= 1.3",
    );
    pair(
        "am_reqreq",
        [floor("pingpong", "1"), rank(2, "am_reqreq")],
        2,
        1e-3,
        "us",
        "rtt",
        &["tight", "pause"],
        "ratio <= 1.4",
    );
    pair(
        "am_reqreq_crowded_4",
        [floor("pingpong", "2"), rank(4, "am_reqreq")],
        4,
        1e-3,
        "us",
        "rtt",
        &["wait"],
        "reported",
    );
    pair(
        "atomic_fadd",
        [floor("fadd", "2"), rank(2, "fadd")],
        2,
        1.0,
        "ns",
        "fadd",
        &["fadd"],
        "ratio <= 1.3",
    );

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
