//! Figures of compiled UPC programs and of the compiler.

use super::{UDP, floor, time, words};
use crate::machine::{caches, memory_bytes};
use crate::probe::{Better, Figure, Group, Probe, Program};
use pgas_bench::options::Options;

/// All of them.
pub fn all(options: &Options) -> Vec<Group> {
    let (ranks, quick) = (2, options.quick);
    let mut groups = triads(ranks, quick);
    groups.extend([2, 3].map(reads));
    groups.extend(stencils(ranks, quick));
    groups.extend(updates(ranks, quick));
    groups.push(coalescing());
    groups.push(straight());
    groups.extend(aggregation());
    groups.push(compiler());
    groups
}

/// A triad over local elements, in the caches and in memory.
fn triads(ranks: u32, quick: bool) -> Vec<Group> {
    let mut groups = Vec::new();
    let layouts = [("cyclic", "1"), ("5", "5"), ("1024", "1024"), ("star", "*")];
    let (large, note) = large_elements(ranks, quick);
    for (size, elements) in [("8k", 1024), ("l2", 20480), ("4llc", large)] {
        let flags = vec![format!("-DN={elements}L")];
        let mut group = Group {
            probes: vec![Probe {
                program: Program::Floor("triad", flags.clone()),
                args: words(&ranks.to_string()),
                ranks: 0,
                env: &[],
            }],
            figures: Vec::new(),
            rounds: if size == "4llc" { 2 } else { 0 },
            note: (size == "4llc").then(|| note.clone()),
        };
        for (name, layout) in layouts {
            for (suffix, environment) in [("", Some(format!("-T={ranks}"))), ("_dynamic", None)] {
                let mut flags = flags.clone();
                flags.push(format!("-DLAYOUT={layout}"));
                if layout == "*" && elements > 1 << 20 {
                    // One block a thread: larger than packed pointers count in.
                    flags.push("-fupc-pts=struct".into());
                }
                flags.extend(environment);
                group.probes.push(Probe {
                    program: Program::Upc("triad", flags),
                    args: vec![],
                    ranks,
                    env: &[],
                });
                group.figures.push(Figure {
                    better: Better::Higher,
                    value: (group.probes.len() - 1, "triad"),
                    bar: if size == "8k" { "ratio >= 0.90" } else { "ratio >= 0.95" },
                    // Three doubles move for each element: bytes per ns.
                    scale: -24.0 * f64::from(ranks),
                    ..time(
                        &format!("upc_local_triad_{name}_{size}{suffix}"),
                        "GB/s",
                        ranks,
                        "triad",
                        &["triad_pointers", "triad_names"],
                    )
                });
            }
        }
        groups.push(group);
    }
    groups
}

/// Reads of elements of all threads, one after the other and each by the result of the one before.
fn reads(threads: u32) -> Group {
    let total = 1024 * threads;
    let mut group = Group {
        probes: vec![floor("gather", &total.to_string())],
        figures: Vec::new(),
        rounds: 0,
        note: None,
    };
    for (name, layout) in [("indefinite", ""), ("cyclic", "1"), ("5", "5"), ("1024", "1024")] {
        let flags = vec![format!("-DLAYOUT={layout}"), format!("-DINDEFINITE={}", layout.is_empty() as u8)];
        group.probes.push(Probe {
            program: Program::Upc("read", flags),
            args: vec![],
            ranks: threads,
            env: &[],
        });
        let probe = group.probes.len() - 1;
        for (figure, value, floor, bar) in [
            ("read", "read", &["read"] as &[_], "value - floor <= 3 ns"),
            ("chain", "chain", &["chain"], "published"),
        ] {
            let name = format!("upc_shared_{figure}_{name}_{threads}");
            group.figures.push(Figure {
                value: (probe, value),
                bar,
                ..time(&name, "ns", threads, value, floor)
            });
        }
    }
    group
}

/// Speed of the compiler.
fn compiler() -> Group {
    let compiler = Probe { program: Program::Compiler(5000), args: vec![], ranks: 0, env: &[] };
    // Preprocessing included, which is the C compiler's too.
    let figure = |name, unit, better, value, bar| Figure {
        value: (0, value),
        better,
        bar,
        ..time(name, unit, 1, value, &["plain_c"])
    };
    Group {
        probes: vec![compiler],
        figures: vec![
            figure("upcc_5000_lines", "s", Better::Lower, "translate", "< 1 s (floor: the equivalent C)"),
            figure("upcc_emitted_c", "s", Better::Lower, "cc", "ratio <= 2"),
            Figure {
                floor: (0, &["lines_per_s"]),
                ..figure("upcc_throughput", "lines/s", Better::Higher, "lines_per_s", ">= 300000 lines/s")
            },
        ],
        rounds: 0,
        note: None,
    }
}

/// A 5-point stencil, in the second-level cache and in memory.
///
/// The floor keeps the rows of a rank together, as one writes it by hand. Where rows or elements are dealt to
/// the threads in turn, every thread reads all of the array; what that costs in memory shows in a second
/// floor, by hand too, with the same layout.
fn stencils(ranks: u32, quick: bool) -> Vec<Group> {
    let mut groups = Vec::new();
    let (memory, note) = if quick { ((512, 1024), None) } else { large_shape(ranks) };
    for (size, (rows, columns)) in [("l2", (128u64, 256u64)), ("memory", memory)] {
        let shape = vec![format!("-DROWS={rows}"), format!("-DCOLUMNS={columns}")];
        let floor_with = |more: &[&str]| {
            let flags = shape.iter().cloned().chain(more.iter().map(|f| f.to_string())).collect();
            Probe { program: Program::Floor("stencil", flags), ..floor("stencil", &ranks.to_string()) }
        };
        let mut group = Group {
            probes: vec![
                floor_with(&[]),
                floor_with(&["-DDEALT"]),
                floor_with(&["-DDEALT_ROWS=1"]),
                floor_with(&["-DDEALT_ROWS=16"]),
            ],
            figures: Vec::new(),
            rounds: if size == "memory" { 2 } else { 0 },
            note: if size == "memory" { note.clone() } else { None },
        };
        for (name, layout, cyclic, same) in [
            ("blocks", (16 * columns).to_string(), 0, 3),
            ("rows", columns.to_string(), 0, 2),
            ("star", "*".into(), 0, 0),
            ("cyclic", "1".into(), 1, 1),
        ] {
            for (suffix, environment) in [("", Some(format!("-T={ranks}"))), ("_dynamic", None)] {
                let mut flags = shape.clone();
                flags.push(format!("-DLAYOUT={layout}"));
                flags.push(format!("-DCYCLIC={cyclic}"));
                if layout == "*" && rows * columns > 1 << 20 {
                    flags.push("-fupc-pts=struct".into());
                }
                flags.extend(environment);
                group.probes.push(Probe {
                    program: Program::Upc("stencil", flags),
                    args: vec![],
                    ranks,
                    env: &[],
                });
                let figure = Figure {
                    better: Better::Higher,
                    value: (group.probes.len() - 1, "stencil"),
                    bar: "ratio >= 0.95",
                    // One double read and one written for each element.
                    scale: -16.0 * f64::from(ranks),
                    ..time(
                        &format!("upc_stencil_{name}_{size}{suffix}"),
                        "GB/s",
                        ranks,
                        "stencil",
                        &["stencil"],
                    )
                };
                if same > 0 {
                    group.figures.push(Figure {
                        name: format!("{}_same_layout", figure.name),
                        floor: (same, figure.floor.1),
                        bar: "published (floor: the same layout)",
                        ..figure.clone()
                    });
                }
                group.figures.push(figure);
            }
        }
        groups.push(group);
    }
    groups
}

/// Random updates of a table of four times the last-level cache, or what fits.
fn updates(ranks: u32, quick: bool) -> Vec<Group> {
    let cache = last_level_cache();
    let (wanted, most) = ((4 * cache).next_power_of_two(), memory_bytes() / 4);
    let bytes = if quick { 1 << 24 } else { wanted.min(1 << most.ilog2()) };
    let note = format!(
        "gups: a table of {} MiB; 4 x the last-level cache is {} MiB, a quarter of the memory {} MiB",
        bytes >> 20,
        (4 * cache) >> 20,
        most >> 20
    );
    let size = format!("-DN={}L", bytes / 8 / u64::from(ranks));
    let mut group = Group {
        probes: vec![Probe {
            program: Program::Floor("gups", vec![size.clone()]),
            ..floor("gups", &ranks.to_string())
        }],
        figures: Vec::new(),
        rounds: 2,
        note: Some(note),
    };
    for (suffix, environment) in [("", Some(format!("-T={ranks}"))), ("_dynamic", None)] {
        let flags = std::iter::once(size.clone()).chain(environment).collect();
        group.probes.push(Probe { program: Program::Upc("gups", flags), args: vec![], ranks, env: &[] });
        group.figures.push(Figure {
            better: Better::Higher,
            value: (group.probes.len() - 1, "gups"),
            bar: "ratio >= 0.6",
            scale: -1e3 * f64::from(ranks),
            ..time(&format!("upc_gups{suffix}"), "M/s", ranks, "gups", &["gups"])
        });
    }
    vec![group]
}

/// A program whose two threads are 5 us of round trip away from each other.
fn far(program: &'static str, flags: &[&str]) -> Probe {
    Probe {
        program: Program::Upc(program, flags.iter().map(|f| f.to_string()).collect()),
        args: vec![],
        ranks: 2,
        env: &[("GASNET_NEIGHBORHOOD", "off"), ("GASNET_SMP_DELAY", "2500ns")],
    }
}

/// A naive loop over another thread's block, 5 us of round trip away, beside the same without the passes that
/// help it.
fn coalescing() -> Group {
    let probe = |flags: &[&str]| far("naive", flags);
    let probes = vec![
        probe(&["-fno-upc-coalesce", "-fno-upc-split-phase"]),
        probe(&[]),
        probe(&["-fno-upc-coalesce"]),
    ];
    let figure = |name: &str, at, bar| Figure {
        value: (at, "naive"),
        better: Better::Higher,
        bar,
        scale: -1e3,
        ..time(name, "M/s", 2, "naive", &["naive"])
    };
    let figures = vec![
        figure("upc_far_naive", 1, "ratio >= 5 (floor: without coalescing and split-phase)"),
        figure("upc_far_naive_split_phase", 2, "published (split-phase alone)"),
    ];
    Group { probes, figures, rounds: 0, note: None }
}

/// Reads and writes outside of loops, 5 us of round trip away, beside the same one after the other.
fn straight() -> Group {
    let probe = |flags: &[&str]| far("straight", flags);
    let figure = Figure {
        scale: 1e-3,
        bar: "published (floor: without split-phase)",
        ..time("upc_far_straight", "us", 2, "straight", &["straight"])
    };
    Group {
        probes: vec![probe(&["-fno-upc-split-phase"]), probe(&[])],
        figures: vec![figure],
        rounds: 0,
        note: None,
    }
}

/// Relaxed writes, and atomic updates without a result, at random places of the other thread's memory: with
/// `-fupc-aggregate`, beside the same program without. Where the threads share memory the flag is to change
/// nothing.
fn aggregation() -> Vec<Group> {
    let networks: [(&str, &[_]); 3] =
        [("smp", &[]), ("smp_far", &[("GASNET_NEIGHBORHOOD", "off")]), ("udp", UDP)];
    let mut groups = Vec::new();
    let programs: [(&'static str, &'static [&'static str]); 2] =
        [("scatter", &["scatter"]), ("updates", &["updates"])];
    for (program, floor) in programs {
        for (network, env) in networks {
            let probe = |flags: &[&str]| Probe { env, ..far(program, flags) };
            let figure = Figure {
                bar: "published (floor: without -fupc-aggregate)",
                ..time(&format!("upc_{network}_{program}_aggregated"), "ns", 2, program, floor)
            };
            let probes = vec![probe(&[]), probe(&["-fupc-aggregate"])];
            groups.push(Group { probes, figures: vec![figure], rounds: 0, note: None });
        }
    }
    groups
}

/// Elements of one array on one rank so that the array has four times the last-level cache, or what fits:
/// three arrays on all ranks take at most a quarter of the memory. And a remark that says so.
fn large_elements(ranks: u32, quick: bool) -> (u64, String) {
    let wanted = 4 * last_level_cache() / u64::from(ranks) / 8;
    let most = memory_bytes() / 4 / 3 / u64::from(ranks) / 8;
    let quick_most = if quick { 1 << 20 } else { u64::MAX };
    // Whole blocks for every layout, so that all ranks have the same.
    let chosen = wanted.min(most).min(quick_most) / (5 * 1024) * (5 * 1024);
    let mib = |elements: u64| (elements * 8) >> 20;
    let note = format!(
        "4llc: arrays of {} MiB a rank; 4 x the last-level cache is {} MiB a rank, a quarter of the memory holds {} MiB",
        mib(chosen),
        mib(wanted),
        mib(most)
    );
    (chosen, note)
}

/// Rows a rank and columns of the stencil in memory: two arrays of four times the last-level cache, or what
/// fits in a quarter of the memory.
fn large_shape(ranks: u32) -> ((u64, u64), Option<String>) {
    const COLUMNS: u64 = 8192;
    let row = COLUMNS * 8 * u64::from(ranks);
    let (wanted, most) = (4 * last_level_cache(), memory_bytes() / 4 / 2);
    // Whole blocks of 16 rows.
    let rows = (wanted.next_multiple_of(row).min(most) / row).next_multiple_of(16);
    let note = format!(
        "stencil in memory: arrays of {} MiB; 4 x the last-level cache is {} MiB, a quarter of the memory holds two of {} MiB",
        (rows * row) >> 20,
        wanted >> 20,
        most >> 20
    );
    ((rows, COLUMNS), Some(note))
}

fn last_level_cache() -> u64 {
    caches().iter().map(|(_, bytes)| *bytes).max().unwrap_or(32 << 20)
}
