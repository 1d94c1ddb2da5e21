//! The mpi conduit on one host, without neighbourhood, beside MPI itself.

use super::{MPI, mpis, time, words};
use crate::probe::{Better, Figure, Group, Probe, Program};
use pgas_bench::options::Options;

/// All of them.
pub fn all(_: &Options) -> Vec<Group> {
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
