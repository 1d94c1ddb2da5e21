//! Fortran coarrays by gfortran. Reads and writes of a neighbour stand beside the same compiled programs with
//! a library that only copies, what images do together beside the core's own operations, and all of it beside
//! OpenCoarrays where Debian's package is.

use super::{UDP, floor, rank, time, us, words};
use crate::build::OTHER_MPI;
use crate::probe::{Better, Coarrays, Figure, Group, Probe, Program};
use pgas_bench::options::Options;

/// All of them.
pub fn all(_: &Options) -> Vec<Group> {
    let mut groups = vec![near(), far()];
    groups.extend([2, 4].map(together));
    groups.extend([2, 4].map(start));
    if has_other() {
        groups.extend(others());
    }
    groups
}

fn fortran(name: &'static str, library: Coarrays, ranks: u32, args: &str) -> Probe {
    Probe { program: Program::Fortran(name, library), args: words(args), ranks, env: &[] }
}

/// Whether OpenCoarrays is there.
fn has_other() -> bool {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).any(|folder| folder.join(format!("caf.{OTHER_MPI}")).is_file())
}

/// A key of `near.f90`, its bar, and whether it is the time of 1 MiB.
const NEAR: [(&str, &str, bool); 12] = [
    ("get8", "<= 10 ns", false),
    ("put8", "<= 10 ns", false),
    ("get_fixed", "ratio >= 0.95", true),
    ("get_allocatable", "ratio >= 0.95", true),
    ("get_expression", "ratio >= 0.95", true),
    ("put_1m", "ratio >= 0.95", true),
    ("get_strided", "<= 1.5 ns", false),
    ("put_strided", "<= 1.5 ns", false),
    ("atomic_add", "<= 30 ns", false),
    ("lock", "<= 80 ns", false),
    ("part", "reported", false),
    ("component", "<= 1500 ns", false),
];

/// Keys of `near.f90` for copies between the same arrays as some of these: where their pages lie decides the
/// times, so these stand beside each other in one run.
const PLAIN: [&str; 3] = ["plain_get_fixed", "plain_get_allocatable", "plain_put_1m"];

/// A figure of one key, of probe 1 beside probe 0.
fn figure(
    prefix: &str,
    (key, bar, whole): (&'static str, &'static str, bool),
    floor: &'static [&'static str],
) -> Figure {
    let figure = Figure { bar, ..time(&format!("{prefix}_{key}"), "ns", 2, key, floor) };
    match whole {
        true => Figure { unit: "GB/s", better: Better::Higher, scale: -1_048_576.0, ..figure },
        false => figure,
    }
}

/// Accesses of one image to another of the same host.
fn near() -> Group {
    let probes = vec![fortran("near", Coarrays::Floor, 0, ""), fortran("near", Coarrays::Own, 2, "")];
    let row = |row: &'static (&'static str, &'static str, bool)| {
        let plain = PLAIN.iter().find(|plain| plain.strip_prefix("plain_") == Some(row.0));
        let figure = figure("caf", *row, std::slice::from_ref(plain.unwrap_or(&row.0)));
        Figure { floor: (usize::from(plain.is_some()), figure.floor.1), ..figure }
    };
    let figures = NEAR.iter().map(row).collect();
    Group { probes, figures, rounds: 0, note: None }
}

/// Words of another image over udp, beside blocking reads of the core and the rate of its writes.
fn far() -> Group {
    let own = Probe { env: UDP, ..fortran("near", Coarrays::Own, 2, "words") };
    let probes = vec![Probe { env: UDP, ..rank(2, "put_8 alone") }, own];
    let row = |key, floor| {
        let figure = figure("caf_udp", (key, "ratio <= 1.2", false), floor);
        us(Figure { unit: "us", ..figure })
    };
    let figures = vec![row("get8", &["get8"]), row("put8", &["put8_many"])];
    Group { probes, figures, rounds: 0, note: None }
}

/// Synchronisation and reductions.
fn together(images: u32) -> Group {
    let probes = vec![
        rank(images, "barrier"),
        fortran("together", Coarrays::Own, images, ""),
        rank(images, "allreduce_8"),
        floor("pingpong", "1"),
    ];
    let row = |key: &'static str, bar, floor: (usize, &'static [&'static str])| {
        let figure = time(&format!("caf_{key}_{images}"), "us", images, key, floor.1);
        us(Figure { bar, floor, ..figure })
    };
    let mut figures = vec![
        row("sync_all", "ratio <= 1.15", (0, &["barrier"])),
        row("sync_images", "ratio <= 1.5", (0, &["barrier"])),
        row("co_sum", "ratio <= 1.2", (2, &["allreduce"])),
    ];
    if images == 2 {
        figures.push(row("event", "<= 1 us", (3, &["tight", "pause", "wait"])));
    }
    Group { probes, figures, rounds: 0, note: None }
}

/// From the start to the end of a program.
fn start(images: u32) -> Group {
    let probes = vec![floor("start", &format!("{images} 100")), fortran("begin", Coarrays::Own, images, "")];
    let bar = if images == 2 { "<= 50 ms" } else { "<= 70 ms" };
    let figure = time(&format!("caf_start_{images}"), "ms", images, "wall", &["wall"]);
    Group { probes, figures: vec![Figure { bar, scale: 1e3, ..figure }], rounds: 0, note: None }
}

/// All of it beside OpenCoarrays.
fn others() -> Vec<Group> {
    let pair = |name, images| {
        vec![fortran(name, Coarrays::Other, images, ""), fortran(name, Coarrays::Own, images, "")]
    };
    let group = |probes, figures| Group { probes, figures, rounds: 0, note: None };
    let bar = "not behind";
    let near =
        NEAR.iter().map(|(key, _, whole)| figure("caf_oc", (key, bar, *whole), std::slice::from_ref(key)));
    let mut groups = vec![group(pair("near", 2), near.collect())];
    for images in [2, 4] {
        const KEYS: [&str; 4] = ["sync_all", "sync_images", "co_sum", "event"];
        let figures = KEYS.iter().map(|key| {
            let figure =
                time(&format!("caf_oc_{key}_{images}"), "us", images, key, std::slice::from_ref(key));
            us(Figure { bar, ..figure })
        });
        groups.push(group(pair("together", images), figures.collect()));
        let figure = time(&format!("caf_oc_start_{images}"), "ms", images, "wall", &["wall"]);
        groups.push(group(pair("begin", images), vec![Figure { bar, scale: 1e3, ..figure }]));
    }
    groups
}
