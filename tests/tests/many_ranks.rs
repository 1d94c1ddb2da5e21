//! The work of a rank at the start does not depend on the number of ranks.

use gasnet_tests::run::run;
use std::process::Command;
use std::time::Duration;

const PROGRAM: &str = env!("CARGO_BIN_EXE_many-ranks");

/// Reads, mappings and page faults of the rank that has most of each.
fn most(ranks: u32) -> [u64; 3] {
    let mut command = Command::new(PROGRAM);
    command.env("GASNET_PSHM_NODES", ranks.to_string()).env("GASNET_MAX_SEGSIZE", "1M");
    let outcome = run(command, "", Duration::from_secs(300)).expect("the program starts");
    assert_eq!(outcome.status, Some(0), "{}", outcome.report());
    ["reads", "mappings", "faults"].map(|name| {
        let line = outcome.stdout.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
        line.unwrap_or_else(|| panic!("no '{name}' in {}", outcome.report()))
    })
}

/// A read, a mapping, or a page for each other rank would be 120 more.
#[test]
fn starting_costs_the_same_among_many() {
    let (few, many) = (most(8), most(128));
    for (name, (few, many)) in ["reads", "mappings", "faults"].iter().zip(few.into_iter().zip(many)) {
        assert!(few > 0 && many < few + 60, "{name}: {few} of 8 ranks, {many} of 128");
    }
}
