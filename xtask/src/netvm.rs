//! A program on the netvm conduit whose shared heap is sixteen times the memory it is allowed, in every registration mode.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::sh;
use crate::stage;

/// Modes that keep to the memory they are allowed.
const BOUNDED: [&str; 6] =
    ["shadow-lock", "firehose", "firehose-over-locks", "rendezvous", "bounce", "pindown-cache"];
/// Shared heap of a thread, and what of it may be in memory.
const HEAP: &str = "4M";
const MEMORY: &str = "256K";
/// A matrix that takes most of two such heaps.
const SIZE: &str = "700";
const RUN: Duration = Duration::from_secs(120);

fn transpose(program: &PathBuf, mode: &str) -> Command {
    let mut command = Command::new(stage::folder().join("bin/upcrun"));
    command.args(["--conduit", "netvm", "-n", "2"]).arg(program).arg(SIZE);
    command.env("UPC_SHARED_HEAP_SIZE", HEAP).env("GASNET_NETVM_MEMORY", MEMORY);
    command.env("GASNET_NETVM_REGISTRATION", mode).env("GASNET_STATS", "1");
    command
}

/// Number before the end of a counter's entry in what a rank prints with `GASNET_STATS`.
fn counter(stderr: &str, name: &str) -> u64 {
    let entries = stderr.lines().flat_map(|line| line.split(", "));
    let of = |entry: &str| entry.rsplit_once(' ').filter(|(n, _)| n.ends_with(name))?.1.parse::<u64>().ok();
    entries.filter_map(of).sum()
}

/// Runs it; how many jobs ran.
pub fn run() -> Result<usize, String> {
    let program = sh::target().join("programs/upc-transpose-netvm");
    std::fs::create_dir_all(sh::target().join("programs")).map_err(|e| e.to_string())?;
    let mut compile = Command::new(stage::folder().join("bin/upcc"));
    compile.arg(sh::root().join("examples/upc/transpose.upc")).arg("-o").arg(&program);
    sh::pass(compile, RUN)?;
    let mut jobs = 0;
    for mode in BOUNDED.into_iter().chain(["rendezvous-nounpin", "pin-everything"]) {
        let command = transpose(&program, mode);
        let shown = sh::show(&command);
        let outcome = sh::capture(command, RUN)?;
        let report = || format!("{shown}\n{}", outcome.report());
        let passed = outcome.status == Some(0) && outcome.stdout.contains("verification: passed");
        let has = |name: &str| counter(&outcome.stderr, name);
        let as_stated = match mode {
            "pin-everything" => {
                let names = ["needs", "may be pinned", "GASNET_NETVM_MEMORY"];
                !passed && names.iter().all(|part| outcome.stderr.contains(part))
            }
            "rendezvous-nounpin" => passed && has("beyond the budget") > 0,
            _ => {
                passed && has("page-outs") > 0 && has("packets received") > 0 && has("beyond the budget") == 0
            }
        };
        if !as_stated {
            return Err(format!("mode {mode} does not behave as stated\n{}", report()));
        }
        jobs += 1;
    }
    Ok(jobs)
}
