//! The ofi conduit on one host, without neighbourhood.

use super::{OFI, OFI_SHM, floor, rank, time};
use crate::probe::{Figure, Group, Probe, Program};
use pgas_bench::options::Options;

/// Beside the same operations on libfabric.
pub fn all(_: &Options) -> Vec<Group> {
    let libfabric = |name, args: String| Probe {
        program: Program::Floor(name, vec!["-lfabric".to_string()]),
        ..floor(name, &args)
    };
    let waits: &[_] = &["spin", "yield", "block"];
    let mut groups = Vec::new();
    for (provider, env, bar) in [("tcp", OFI, "ratio <= 1.25"), ("shm", OFI_SHM, "reported")] {
        for (floor, bytes, task, key, what) in [
            ("ofi_pingpong", 64, "am_short", "rtt", "am_short_rtt"),
            ("ofi_put", 8, "put_8", "put8", "put_8"),
        ] {
            groups.push(Group {
                probes: vec![libfabric(floor, format!("{provider} {bytes}")), Probe { env, ..rank(2, task) }],
                figures: vec![Figure {
                    scale: 1e-3,
                    bar,
                    ..time(&format!("ofi_{provider}_{what}"), "us", 2, key, waits)
                }],
                rounds: 0,
                note: None,
            });
        }
    }
    groups
}

/// The ways to registered local memory, over providers that are made to want it, and pin it as a card's
/// driver does: puts from the program's own memory, beside the same where nothing has to be registered.
pub fn registration(_: &Options) -> Vec<Group> {
    let mut groups = Vec::new();
    for (provider, plain) in [("tcp", OFI), ("shm", OFI_SHM)] {
        let ways = ["auto", "firehose", "provider", "bounce"];
        let mut probes = vec![Probe { env: plain, ..rank(2, "private") }];
        probes.extend(ways.map(|way| {
            let more = [("GASNET_TEST_OFI_REGISTER", "pin"), ("GASNET_OFI_REGISTRATION", way)];
            Probe { env: [plain, &more].concat().leak(), ..rank(2, "private") }
        }));
        let keys = [
            ("same_64k", &["same_64k"] as &[_]),
            ("same_1m", &["same_1m"]),
            ("turns_1m", &["turns_1m"]),
            ("new_1m", &["new_1m"]),
        ];
        let figures = keys.iter().flat_map(|(key, floor)| {
            ways.iter().enumerate().map(move |(i, way)| Figure {
                value: (i + 1, key),
                scale: 1e-3,
                bar: "reported",
                ..time(&format!("ofi_{provider}_{key}_{way}"), "us", 2, key, floor)
            })
        });
        groups.push(Group { figures: figures.collect(), probes, rounds: 3, note: None });
    }
    groups
}
