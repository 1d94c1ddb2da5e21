//! Figures of the crate `pgas`: each beside what it is made of.

use super::{UDP, beside, floor, rank, time, us, words};
use crate::probe::{Better, Figure, Group, Probe, Program};
use pgas_bench::options::Options;

/// All of them.
pub fn all(options: &Options) -> Vec<Group> {
    let calls = |ranks, env, args: &str| Probe { program: Program::Calls, args: words(args), ranks, env };
    let bytes: u64 = if options.quick { 1 << 24 } else { 1 << 31 };
    let rate = |name: &str, ranks: u32, key, floor, bar| Figure {
        better: Better::Higher,
        scale: -1e3 * f64::from(ranks),
        bar,
        ..time(name, "M/s", ranks, key, floor)
    };
    let table = format!("-DN={}L", bytes / 8 / 2);
    let updates = calls(2, &[("GASNET_MAX_SEGSIZE", "3G")], &format!("updates {}", bytes / 8));
    let mut groups = vec![
        beside(
            rank(2, "am_short"),
            calls(2, &[], "call"),
            us(Figure { bar: "ratio <= 1.5", ..time("pgas_call", "us", 2, "call", &["rtt"]) }),
        ),
        beside(
            rank(8, "am_short"),
            calls(8, &[], "call"),
            us(Figure { bar: "reported", ..time("pgas_call_8", "us", 8, "call", &["rtt"]) }),
        ),
        beside(
            Probe { env: UDP, ..rank(2, "am_short") },
            calls(2, UDP, "call"),
            us(Figure { bar: "ratio <= 1.15", ..time("pgas_call_udp", "us", 2, "call", &["rtt"]) }),
        ),
        beside(
            rank(2, "am_flood"),
            calls(2, &[], "send"),
            Figure { bar: "<= 0.06 us", ..time("pgas_send", "us", 2, "send_us", &["flood"]) },
        ),
        beside(
            calls(2, &[], "send"),
            calls(2, &[], "send_pair"),
            Figure {
                bar: "published (floor: of one number)",
                ..time("pgas_send_pair", "us", 2, "send_pair_us", &["send_us"])
            },
        ),
        beside(
            Probe { env: UDP, ..rank(2, "am_flood") },
            calls(2, UDP, "send"),
            Figure { bar: "reported", ..time("pgas_send_udp", "us", 2, "send_us", &["flood"]) },
        ),
        together(2, &[], "", "ratio <= 1.05"),
        together(8, &[], "_8", "reported"),
        together(2, UDP, "_udp", "ratio <= 1.05"),
        beside(
            Probe { program: Program::Floor("gups", vec![table]), ..floor("gups", "2") },
            updates,
            rate("pgas_updates", 2, "updates", &["gups"], "ratio >= 0.8"),
        ),
        beside(
            Probe { env: UDP, ..rank(2, "am_flood") },
            calls(2, UDP, "updates 1048576"),
            Figure { bar: "reported", ..time("pgas_update_udp", "us", 2, "updates_us", &["flood"]) },
        ),
    ];
    groups.extend(bale(options));
    groups.extend(deaths());
    groups
}

/// What it costs to survive deaths, without any and with some.
fn deaths() -> Vec<Group> {
    let alone = |program, ranks, args: &str, figures| Group {
        probes: vec![Probe { program, args: words(args), ranks, env: &[] }],
        figures,
        ..Group::default()
    };
    let figure = |name: &str, unit, ranks, key, floor, scale, bar| Figure {
        value: (0, key),
        scale,
        bar,
        ..time(name, unit, ranks, key, floor)
    };
    let dies = |on_death, ranks, suffix: &str, bar| {
        let row = figure(&format!("pgas_{on_death}{suffix}"), "ms", ranks, "next", &["known"], 1e-6, bar);
        alone(Program::Dying(on_death), ranks, on_death, vec![row])
    };
    let save = figure("pgas_save_64m", "ms", 2, "save", &["put"], 1e-6, "reported (floor: put)");
    let restore = Figure {
        value: (1, "restore"),
        ..figure("pgas_restore_64m", "ms", 4, "restore", &["put"], 1e-6, "ratio <= 1.43 (floor: put)")
    };
    vec![
        alone(
            Program::Calls,
            1,
            "attempt",
            vec![figure("pgas_attempt", "ns", 1, "attempt", &["nothing"], 1.0, "<= 10 ns")],
        ),
        alone(Program::Calls, 2, "keep 64", vec![save]),
        Group {
            probes: vec![
                Probe { program: Program::Calls, args: words("keep 64"), ranks: 2, env: &[] },
                Probe { program: Program::Dying("heal"), args: words("heal 64"), ranks: 4, env: &[] },
            ],
            figures: vec![restore],
            ..Group::default()
        },
        dies("heal", 2, "", "<= 500 ms (floor: all know)"),
        dies("heal", 16, "_16", "<= 500 ms (floor: all know)"),
        dies("shrink", 16, "_16", "reported (floor: all know)"),
        dies("shrink", 64, "_64", "<= 20 ms more than the floor (all know)"),
    ]
}

/// Collective calls of numbers and other values, each beside that of a slice of one number, which is the
/// core's. They are measured in one process, in turn.
fn together(ranks: u32, env: super::Env, suffix: &str, bar: &'static str) -> Group {
    let rows: [(&'static str, &'static [&'static str], _); 8] = [
        ("reduce_number", &["reduce_slice"], bar),
        ("reduce_pair", &["reduce_slice"], "reported"),
        ("gather_number", &["gather_slice"], bar),
        ("gather_pair", &["gather_slice"], "reported"),
        ("gather_name", &["gather_slice"], "reported"),
        ("gather_text", &["gather_slice"], "reported"),
        ("broadcast_number", &["broadcast_slice"], bar),
        ("broadcast_name", &["broadcast_slice"], "reported"),
    ];
    let figure = |(key, floor, bar)| {
        let row = time(&format!("pgas_{key}{suffix}"), "us", ranks, key, floor);
        us(Figure { value: (0, key), floor: (0, floor), bar, ..row })
    };
    Group {
        probes: vec![Probe { program: Program::Calls, args: words("together"), ranks, env }],
        figures: rows.map(figure).into(),
        ..Group::default()
    }
}

/// The programs of bale over `pgas` (`bale.rs`), each beside the same work by one rank with plain loops.
fn bale(options: &Options) -> Vec<Group> {
    let programs: [(&str, &'static str, &'static [&'static str], u64); 6] = [
        ("histogram", "histogram", &["histogram"], 4_000_000),
        ("index_gather", "gather", &["gather"], 4_000_000),
        ("randperm", "randperm", &["randperm"], 1_000_000),
        ("toposort", "toposort", &["toposort"], 32_768),
        ("triangle", "triangle", &["triangle"], 50_000),
        ("transpose", "transpose", &["transpose"], 100_000),
    ];
    let networks: [(&str, u32, &[_]); 4] =
        [("", 2, &[]), ("_8", 8, &[]), ("_udp", 2, UDP), ("_udp_8", 8, UDP)];
    let mut groups = Vec::new();
    for (name, key, floor, size) in programs {
        for (suffix, ranks, env) in networks {
            let size = if options.quick { size / 16 } else { size * 2 / u64::from(ranks) };
            let probe = |task: &str, ranks, env| Probe {
                program: Program::Calls,
                args: words(&format!("{task} {size}")),
                ranks,
                env,
            };
            groups.push(Group {
                probes: vec![probe(&format!("{key}_alone"), 1, &[]), probe(key, ranks, env)],
                figures: vec![Figure {
                    bar: "reported",
                    ..time(&format!("pgas_{name}{suffix}"), "ns", ranks, key, floor)
                }],
                rounds: 3,
                note: None,
            });
        }
    }
    groups
}
