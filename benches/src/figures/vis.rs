//! Transfers of many pieces with a neighbour, by GASNet-EX in C, beside loops in C.

use super::{floor, time, words};
use crate::options::Options;
use crate::probe::{Figure, Group, Probe, Program};

/// All of them.
pub fn all(_: &Options) -> Vec<Group> {
    let client = Probe { program: Program::Client("vis"), args: words(""), ranks: 2, env: &[] };
    let rows: [(&'static str, &'static [&'static str]); 14] = [
        ("put_run8", &["put_run8"]),
        ("put_run64", &["put_run64"]),
        ("put_run512", &["put_run512"]),
        ("put_dense", &["put_dense"]),
        ("put_grid8", &["put_grid8"]),
        ("put_list8", &["put_list8"]),
        ("put_list64", &["put_list64"]),
        ("get_run8", &["get_run8"]),
        ("get_run64", &["get_run64"]),
        ("get_run512", &["get_run512"]),
        ("get_dense", &["get_dense"]),
        ("get_grid8", &["get_grid8"]),
        ("get_list8", &["get_list8"]),
        ("get_list64", &["get_list64"]),
    ];
    let figures = rows.iter().map(|(key, floors)| Figure {
        bar: "ratio <= 1.15",
        ..time(&format!("vis_{key}"), "ns", 2, key, floors)
    });
    vec![Group { figures: figures.collect(), probes: vec![floor("vis", ""), client], rounds: 0, note: None }]
}
