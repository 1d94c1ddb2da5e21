//! Transfers of many pieces with a neighbour, by GASNet-EX in C and by typed calls in Rust, beside loops
//! in C.

use super::{floor, rank, time, words};
use crate::probe::{Figure, Group, Probe, Program};
use pgas_bench::options::Options;

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
    let figure = |probe, key, floors| Figure {
        bar: "ratio <= 1.15",
        value: (probe, key),
        ..time(&format!("vis_{key}"), "ns", 2, key, floors)
    };
    let typed: [(&'static str, &'static [&'static str]); 6] = [
        ("write_rows8", &["put_tight8"]),
        ("write_rows64", &["put_tight64"]),
        ("write_rows512", &["put_tight512"]),
        ("read_rows8", &["get_tight8"]),
        ("read_rows64", &["get_tight64"]),
        ("read_rows512", &["get_tight512"]),
    ];
    let matrix = Probe { program: Program::Calls, args: words("block"), ranks: 2, env: &[] };
    let mut figures: Vec<Figure> = rows.iter().map(|(key, floors)| figure(1, key, floors)).collect();
    figures.extend(typed.iter().map(|(key, floors)| figure(2, key, floors)));
    figures.push(figure(3, "block64", &["get_tight64"]));
    let probes = vec![floor("vis", ""), client, rank(2, "rows"), matrix];
    vec![Group { figures, probes, rounds: 0, note: None }]
}
