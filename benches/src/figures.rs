//! Which figures there are.

use crate::Options;
use crate::build::Program;
use crate::probe::{Better, Figure, Group, Probe, caches, memory_bytes};

/// A set of figures.
pub type Set = (&'static str, fn(&Options) -> Vec<Group>);

/// The sets of figures, by the name that the command line has for them.
pub const SETS: &[Set] = &[
    ("smp", smp),
    ("upc", upc),
    ("coll", coll),
    ("udp", udp),
    ("udp-loss", udp_loss),
    ("mpi", mpi),
    ("ofi", ofi),
    ("ofi-registration", ofi_registration),
    ("pgas", pgas),
    ("attentiveness", attentiveness),
    ("ex", ex),
];

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(String::from).collect()
}

fn floor(name: &'static str, args: &str) -> Probe {
    Probe { program: Program::Floor(name, Vec::new()), args: words(args), ranks: 0, env: &[] }
}

fn rank(ranks: u32, args: &str) -> Probe {
    Probe { program: Program::Rust, args: words(args), ranks, env: &[] }
}

/// A figure of time, unscaled, whose value comes from probe 1 and whose floor from probe 0.
fn time(
    name: &str,
    unit: &'static str,
    ranks: u32,
    value: &'static str,
    floor: &'static [&'static str],
) -> Figure {
    Figure {
        name: name.into(),
        unit,
        better: Better::Lower,
        ranks,
        value: (1, value),
        floor: (0, floor),
        bar: "",
        scale: 1.0,
    }
}

/// Figures of the runtime on one host.
pub fn smp(options: &Options) -> Vec<Group> {
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

/// Collective operations, locks and semaphores on one host.
pub fn coll(_: &Options) -> Vec<Group> {
    let group = |probes: [Probe; 2], figure| Group {
        probes: probes.into(),
        figures: vec![figure],
        rounds: 0,
        note: None,
    };
    let us = |figure: Figure| Figure { scale: 1e-3, ..figure };
    let mut groups = Vec::new();
    for ranks in [2, 4, 8] {
        let figure = time(&format!("allreduce_8b_{ranks}"), "us", ranks, "allreduce", &["barrier"]);
        // Beside this project's own barrier.
        groups.push(group(
            [rank(ranks, "barrier"), rank(ranks, "allreduce_8")],
            us(Figure { bar: "ratio <= 1.5", ..figure }),
        ));
    }
    let figure = time("broadcast_1m_4", "GB/s", 4, "bcast", &["copies"]);
    groups.push(group(
        [floor("bcast", "4"), rank(4, "bcast_1m")],
        Figure { better: Better::Higher, bar: "ratio >= 0.8", ..figure },
    ));
    // Two hand-overs beside a cache line that goes to and fro.
    for (name, task, key) in
        [("lock_hand_over", "lock", "lock"), ("semaphore_hand_over", "semaphore", "semaphore")]
    {
        let figure = time(name, "us", 2, key, &["tight", "pause", "wait"]);
        groups
            .push(group([floor("pingpong", "1"), rank(2, task)], us(Figure { bar: "ratio <= 2", ..figure })));
    }
    groups
}

/// GASNet-EX in C: each row beside the raw floor, and beside GASNet-1's call of the same kind, in the same
/// process.
pub fn ex(_: &Options) -> Vec<Group> {
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

/// Every rank alone, over sockets.
const UDP: Env = &[("GASNET_CONDUIT", "udp"), ("GASNET_NEIGHBORHOOD", "off")];
/// With payloads authenticated.
const UDP_FULL: Env =
    &[("GASNET_CONDUIT", "udp"), ("GASNET_NEIGHBORHOOD", "off"), ("GASNET_UDP_AUTH", "full")];

/// Figures of the udp conduit on one host, without neighbourhood.
pub fn udp(options: &Options) -> Vec<Group> {
    let over = |env, ranks, args| Probe { env, ..rank(ranks, args) };
    let group = |floor, probe: Probe, figure: Figure| Group {
        probes: vec![floor, probe],
        figures: vec![figure],
        rounds: 0,
        note: None,
    };
    let us = |figure: Figure| Figure { scale: 1e-3, ..figure };
    let waits: &[_] = &["spin", "yield", "block", "stages"];
    let mut groups = vec![
        group(
            floor("udp_pingpong", "96"),
            over(UDP, 2, "am_short alone"),
            us(Figure { bar: "ratio <= 1.15", ..time("udp_am_short_rtt", "us", 2, "rtt", waits) }),
        ),
        group(
            floor("udp_pingpong", "4176"),
            over(UDP, 2, "am_medium alone"),
            us(Figure { bar: "reported", ..time("udp_am_medium_4k_rtt", "us", 2, "rtt", waits) }),
        ),
        group(
            floor("udp_pingpong", "96"),
            over(UDP, 2, "am_reqreq alone"),
            us(Figure { bar: "ratio <= 1.25", ..time("udp_am_reqreq", "us", 2, "rtt", waits) }),
        ),
        group(
            floor("udp_pairs", "4 96"),
            over(UDP, 4, "am_short alone"),
            us(Figure { bar: "reported", ..time("udp_am_short_rtt_crowded_4", "us", 4, "rtt", &["yield"]) }),
        ),
        group(
            floor("udp_pairs", "4 96"),
            over(UDP, 4, "am_reqreq alone"),
            us(Figure { bar: "reported", ..time("udp_am_reqreq_crowded_4", "us", 4, "rtt", &["yield"]) }),
        ),
        group(
            floor("udp_pairs", "4 4176"),
            over(UDP, 4, "am_medium alone"),
            us(Figure { bar: "reported", ..time("udp_am_medium_4k_crowded_4", "us", 4, "rtt", &["yield"]) }),
        ),
        Group {
            probes: vec![floor("tcp_incast", "16"), over(UDP, 17, "incast")],
            figures: vec![
                Figure {
                    better: Better::Higher,
                    bar: "reported",
                    ..time("incast_16", "GB/s", 17, "all", &["all"])
                },
                Figure {
                    better: Better::Higher,
                    bar: "ratio >= 0.5",
                    floor: (1, &["one"]),
                    ..time("incast_16_beside_one", "GB/s", 17, "all", &[])
                },
            ],
            rounds: 0,
            note: None,
        },
        group(
            floor("udp_pingpong", "80"),
            over(UDP, 2, "put_8 alone"),
            us(Figure { bar: "reported", ..time("udp_put_8_rtt", "us", 2, "put8", waits) }),
        ),
        group(
            floor("udp_barrier", "8"),
            over(UDP, 8, "barrier alone"),
            us(Figure { bar: "ratio <= 2", ..time("udp_barrier_8", "us", 8, "barrier", &["sum"]) }),
        ),
    ];
    for (name, env, bar) in
        [("udp_put_4m", UDP, "ratio >= 0.8, value >= 4.4"), ("udp_put_4m_full", UDP_FULL, "ratio >= 0.5")]
    {
        let sizes: &[_] = &["single", "ethernet", "jumbo", "sixteen"];
        groups.push(group(
            floor("udp_stream", "4"),
            over(env, 2, "put_4m"),
            Figure { better: Better::Higher, bar, ..time(name, "GB/s", 2, "bw", sizes) },
        ));
    }
    let many = if options.quick { 16 } else { 64 };
    groups.push(Group {
        rounds: 3,
        ..group(
            floor("start", &format!("{many} 1")),
            over(UDP, many, "first_barrier"),
            Figure { bar: "< 2 s", ..time(&format!("udp_start{many}"), "s", many, "wall", &["wall"]) },
        )
    });
    groups
}

/// Puts over udp between two hosts (network namespaces), beside a TCP stream under the same losses.
pub fn udp_loss(_: &Options) -> Vec<Group> {
    let losses =
        [("0", 0, "reported"), ("0.1", 10, "reported"), ("1", 100, "ratio >= 0.7"), ("3", 300, "reported")];
    let tcp = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control").unwrap_or_default();
    let group = |(percent, loss, bar): (&str, u32, &'static str)| Group {
        probes: vec![
            Probe { program: Program::FloorBetween("tcp_stream", loss), ..floor("", "") },
            Probe { program: Program::RustBetween(loss), env: UDP, ..rank(2, "puts_4m") },
        ],
        figures: vec![Figure {
            better: Better::Higher,
            bar,
            ..time(&format!("udp_put_4m_loss_{percent}%"), "GB/s", 2, "bw", &["default", "cubic"])
        }],
        rounds: 0,
        note: (loss == 0).then(|| format!("floor: TCP, the better of {} and cubic", tcp.trim())),
    };
    losses.map(group).into()
}

/// Every rank alone, over libfabric's sockets.
const OFI: &[(&str, &str)] =
    &[("GASNET_CONDUIT", "ofi"), ("GASNET_NEIGHBORHOOD", "off"), ("GASNET_OFI_PROVIDER", "tcp")];
/// The same over its shared memory.
const OFI_SHM: &[(&str, &str)] =
    &[("GASNET_CONDUIT", "ofi"), ("GASNET_NEIGHBORHOOD", "off"), ("GASNET_OFI_PROVIDER", "shm")];

/// Figures of the ofi conduit on one host, without neighbourhood.
pub fn ofi(_: &Options) -> Vec<Group> {
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
pub fn ofi_registration(_: &Options) -> Vec<Group> {
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

type Env = &'static [(&'static str, &'static str)];

/// Every rank alone, over MPI.
const MPI: Env = &[("GASNET_CONDUIT", "mpi"), ("GASNET_NEIGHBORHOOD", "off")];

/// The MPIs of this machine, by the suffix that Debian gives their programs.
fn mpis() -> Vec<&'static str> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let there =
        |mpi: &&str| std::env::split_paths(&path).any(|dir| dir.join(format!("mpicc.{mpi}")).exists());
    ["openmpi", "mpich"].into_iter().filter(there).collect()
}

/// Figures of the mpi conduit on one host, without neighbourhood, beside MPI itself.
pub fn mpi(_: &Options) -> Vec<Group> {
    let mut groups = Vec::new();
    for mpi in mpis() {
        for (what, unit, task, key, better, bar) in [
            ("am_short_rtt", "us", "am_short alone", "rtt", Better::Lower, "ratio <= 1.25"),
            ("put_8", "us", "put_8 alone", "put8", Better::Lower, "reported"),
            ("put_1m", "GB/s", "put_1m alone", "bw", Better::Higher, "ratio >= 0.9"),
        ] {
            let rank = Probe { program: Program::MpiRust(mpi), args: words(task), ranks: 2, env: MPI };
            let floor = Probe { program: Program::MpiFloor(mpi), args: words("32"), ranks: 0, env: &[] };
            let floors: &'static [&'static str] = match key {
                "rtt" => &["rtt"],
                "put8" => &["put8"],
                _ => &["bw"],
            };
            let scale = if unit == "us" { 1e-3 } else { 1.0 };
            let figure =
                Figure { better, bar, scale, ..time(&format!("{mpi}_{what}"), unit, 2, key, floors) };
            groups.push(Group { probes: vec![floor, rank], figures: vec![figure], rounds: 0, note: None });
        }
    }
    groups
}

/// Over the shared rings that stand in for a network.
const SMP: Env = &[("GASNET_CONDUIT", "smp"), ("GASNET_NEIGHBORHOOD", "off")];
/// The same with a progress thread.
const SMP_THREAD: Env =
    &[("GASNET_CONDUIT", "smp"), ("GASNET_NEIGHBORHOOD", "off"), ("GASNET_PROGRESS", "thread")];
const UDP_THREAD: Env =
    &[("GASNET_CONDUIT", "udp"), ("GASNET_NEIGHBORHOOD", "off"), ("GASNET_PROGRESS", "thread")];
const MPI_THREAD: Env =
    &[("GASNET_CONDUIT", "mpi"), ("GASNET_NEIGHBORHOOD", "off"), ("GASNET_PROGRESS", "thread")];
const OFI_THREAD: Env = &[
    ("GASNET_CONDUIT", "ofi"),
    ("GASNET_NEIGHBORHOOD", "off"),
    ("GASNET_OFI_PROVIDER", "tcp"),
    ("GASNET_PROGRESS", "thread"),
];
const OFI_SHM_THREAD: Env = &[
    ("GASNET_CONDUIT", "ofi"),
    ("GASNET_NEIGHBORHOOD", "off"),
    ("GASNET_OFI_PROVIDER", "shm"),
    ("GASNET_PROGRESS", "thread"),
];

/// Whether a library is where the loader looks for it.
fn has_libfabric() -> bool {
    let folders = [
        "/usr/lib/x86_64-linux-gnu",
        "/usr/lib/aarch64-linux-gnu",
        "/usr/lib64",
        "/usr/lib",
        "/usr/local/lib",
    ];
    folders.iter().any(|folder| std::path::Path::new(folder).join("libfabric.so.1").exists())
}

/// What a put and a get cost while the target computes, beside what they cost while it waits in the runtime:
/// one after the other, and puts with time between them, for each of which a progress thread has to be woken.
pub fn attentiveness(_: &Options) -> Vec<Group> {
    let mut conduits = vec![("smp", Program::Rust, SMP, SMP_THREAD), ("udp", Program::Rust, UDP, UDP_THREAD)];
    if has_libfabric() {
        conduits.push(("ofi_tcp", Program::Rust, OFI, OFI_THREAD));
        conduits.push(("ofi_shm", Program::Rust, OFI_SHM, OFI_SHM_THREAD));
    }
    conduits.extend(mpis().into_iter().map(|mpi| (mpi, Program::MpiRust(mpi), MPI, MPI_THREAD)));
    let mut groups = Vec::new();
    for (conduit, program, plain, thread) in conduits {
        for (suffix, env, bar) in [("", plain, "reported"), ("_thread", thread, "ratio <= 5")] {
            let figure = |what: &str, key, floor| Figure {
                scale: 1e-3,
                bar,
                ..time(&format!("{conduit}_{what}_to_computing{suffix}"), "us", 2, key, floor)
            };
            let probe = |task, env| Probe { program: program.clone(), env, ..rank(2, task) };
            groups.push(Group {
                probes: vec![probe("attentive", plain), probe("computing", env)],
                figures: vec![
                    figure("put_8", "put_computing", &["put_attentive"]),
                    figure("get_8", "get_computing", &["get_attentive"]),
                    Figure {
                        bar: "reported",
                        ..figure("put_8_now_and_then", "apart_computing", &["apart_attentive"])
                    },
                ],
                rounds: 3,
                note: None,
            });
        }
    }
    groups
}

/// Figures of compiled UPC programs and of the compiler.
pub fn upc(options: &Options) -> Vec<Group> {
    let mut groups = Vec::new();
    let ranks = 2u32;
    let layouts = [("cyclic", "1"), ("5", "5"), ("1024", "1024"), ("star", "*")];
    let (large, note) = large_elements(ranks, options.quick);
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

    for threads in [2u32, 3] {
        let total = 1024 * threads;
        let mut group = Group {
            probes: vec![floor("gather", &total.to_string())],
            figures: Vec::new(),
            rounds: 0,
            note: None,
        };
        for (name, layout) in [("indefinite", ""), ("cyclic", "1"), ("5", "5"), ("1024", "1024")] {
            let flags =
                vec![format!("-DLAYOUT={layout}"), format!("-DINDEFINITE={}", layout.is_empty() as u8)];
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
        groups.push(group);
    }

    groups.extend(stencils(ranks, options.quick));
    groups.extend(updates(ranks, options.quick));
    groups.push(coalescing());
    groups.push(straight());
    let compiler = Probe { program: Program::Compiler(5000), args: vec![], ranks: 0, env: &[] };
    // Preprocessing included, which is the C compiler's too.
    let figure = |name, unit, better, value, bar| Figure {
        value: (0, value),
        better,
        bar,
        ..time(name, unit, 1, value, &["plain_c"])
    };
    groups.push(Group {
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
    });
    groups
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

/// Figures of the crate `pgas`: each beside what it is made of.
pub fn pgas(options: &Options) -> Vec<Group> {
    let calls = |ranks, env, args: &str| Probe { program: Program::Calls, args: words(args), ranks, env };
    let one = |probes: [Probe; 2], figure| Group {
        probes: probes.into(),
        figures: vec![figure],
        rounds: 0,
        note: None,
    };
    let us = |figure: Figure| Figure { scale: 1e-3, ..figure };
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
        one(
            [rank(2, "am_short"), calls(2, &[], "call")],
            us(Figure { bar: "ratio <= 1.5", ..time("pgas_call", "us", 2, "call", &["rtt"]) }),
        ),
        one(
            [rank(8, "am_short"), calls(8, &[], "call")],
            us(Figure { bar: "reported", ..time("pgas_call_8", "us", 8, "call", &["rtt"]) }),
        ),
        one(
            [Probe { env: UDP, ..rank(2, "am_short") }, calls(2, UDP, "call")],
            us(Figure { bar: "ratio <= 1.15", ..time("pgas_call_udp", "us", 2, "call", &["rtt"]) }),
        ),
        one(
            [rank(2, "am_flood"), calls(2, &[], "send")],
            Figure { bar: "<= 0.06 us", ..time("pgas_send", "us", 2, "send_us", &["flood"]) },
        ),
        one(
            [Probe { env: UDP, ..rank(2, "am_flood") }, calls(2, UDP, "send")],
            Figure { bar: "reported", ..time("pgas_send_udp", "us", 2, "send_us", &["flood"]) },
        ),
        one(
            [Probe { program: Program::Floor("gups", vec![table]), ..floor("gups", "2") }, updates],
            rate("pgas_updates", 2, "updates", &["gups"], "ratio >= 0.8"),
        ),
        one(
            [Probe { env: UDP, ..rank(2, "am_flood") }, calls(2, UDP, "updates 1048576")],
            Figure { bar: "reported", ..time("pgas_update_udp", "us", 2, "updates_us", &["flood"]) },
        ),
    ];
    groups.extend(bale(options));
    groups
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

/// A naive loop over another thread's block, 5 us of round trip away, beside the same without the passes that
/// help it.
fn coalescing() -> Group {
    let far = &[("GASNET_NEIGHBORHOOD", "off"), ("GASNET_SMP_DELAY", "2500ns")];
    let probe = |flags: &[&str]| Probe {
        program: Program::Upc("naive", flags.iter().map(|f| f.to_string()).collect()),
        args: vec![],
        ranks: 2,
        env: far,
    };
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
    let far = &[("GASNET_NEIGHBORHOOD", "off"), ("GASNET_SMP_DELAY", "2500ns")];
    let probe = |flags: &[&str]| Probe {
        program: Program::Upc("straight", flags.iter().map(|f| f.to_string()).collect()),
        args: vec![],
        ranks: 2,
        env: far,
    };
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
