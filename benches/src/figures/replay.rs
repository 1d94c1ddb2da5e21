//! Jobs that are recorded, beside the same jobs without neighbours.

use super::{Env, UDP, time, words};
use crate::probe::{Figure, Group, Probe, Program};
use pgas_bench::options::Options;

/// Over the shared rings that stand in for a network.
const SMP: Env = &[("GASNET_CONDUIT", "smp"), ("GASNET_NEIGHBORHOOD", "off")];

/// Round trips, one-way calls that travel together, and updates of a table, with the key of each.
const TASKS: [(&str, &[&str]); 3] =
    [("call", &["call"]), ("send", &["send"]), ("updates 1048576", &["updates"])];

/// The times of a job while its frames or their order are recorded, and the bytes of each event.
pub fn all(_: &Options) -> Vec<Group> {
    let mut groups = Vec::new();
    for (conduit, env) in [("smp", SMP), ("udp", UDP)] {
        for (args, keys) in TASKS {
            let key = keys[0];
            let probe = |program| Probe { program, args: words(args), ranks: 2, env };
            let mut figures = Vec::new();
            for (probe, kept, bar) in [(1, "frames", "ratio <= 1.25"), (2, "order", "ratio <= 1.10")] {
                let name = format!("{conduit}_{key}_{kept}");
                figures.push(Figure { value: (probe, key), bar, ..time(&name, "ns", 2, key, keys) });
                figures.push(Figure {
                    value: (probe, "event_bytes"),
                    floor: (probe, &["allowed"]),
                    bar: "ratio <= 1",
                    ..time(&format!("{name}_bytes"), "B", 2, key, keys)
                });
            }
            groups.push(Group {
                probes: vec![
                    probe(Program::Calls),
                    probe(Program::Recorded(&[])),
                    probe(Program::Recorded(&["--order"])),
                ],
                figures,
                rounds: 0,
                note: None,
            });
        }
    }
    groups
}
