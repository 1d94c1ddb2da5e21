//! Measures the cost of paging on this computer: each kind of fault, reading and writing in order and at
//! random, with little memory.
//!
//! `netvm-pager [--backing DIR] [--megabytes N] [--quick]`

use std::path::PathBuf;
use std::process::ExitCode;

use gasnet_netvm::pager::{PagerStats, costs};

fn print(line: &costs::Use) {
    let rate = 4096e-6 / (line.each() * 1e-6);
    print!("{:<44} {:>9.2} us/page {rate:>8.0} MB/s", line.what, line.each());
    if let Some((before, after)) = &line.stats {
        let d = |f: fn(&PagerStats) -> u64| f(after) - f(before);
        print!(
            "  {:>6} faults {:>6} protected {:>6} in /{:>5} {:>6} out /{:>5}",
            d(|s| s.faults),
            d(|s| s.write_protect_faults),
            d(|s| s.page_ins),
            d(|s| s.reads),
            d(|s| s.page_outs),
            d(|s| s.writes)
        );
    }
    println!();
}

fn main() -> ExitCode {
    let mut backing = std::env::temp_dir();
    let (mut megabytes, mut quick) = (64, false);
    let mut parser = lexopt::Parser::from_env();
    while let Ok(Some(argument)) = parser.next() {
        use lexopt::prelude::*;
        match argument {
            Long("backing") => backing = PathBuf::from(parser.value().expect("a directory")),
            Long("megabytes") => megabytes = parser.value().and_then(|v| v.parse()).expect("a number"),
            Long("quick") => quick = true,
            other => {
                eprintln!("netvm-pager: {}", other.unexpected());
                return ExitCode::from(2);
            }
        }
    }
    let random = if quick { 2000 } else { 20_000 };
    println!("segment {megabytes} MiB, backing {}", backing.display());
    let uses = match costs::measure(&backing, megabytes, random, &[0, 16]) {
        Ok(uses) => uses,
        Err(error) => {
            eprintln!("netvm-pager: {error}");
            return ExitCode::FAILURE;
        }
    };
    for some in uses.chunk_by(|a, b| a.setting == b.setting) {
        println!("\n{}", some[0].setting);
        some.iter().for_each(print);
    }
    ExitCode::SUCCESS
}
