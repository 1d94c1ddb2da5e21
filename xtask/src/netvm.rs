//! Programs on the netvm conduit: one whose shared heap is sixteen times the memory it is allowed, in every
//! registration mode, and what `tests/upc` and `tests/c` have, spread over the modes and over amounts of
//! memory.

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
/// Twice what is used: everything fits, but for `pin-everything`, which wants room for the bookkeeping as
/// well.
const PLENTY: &str = "8M";
/// A matrix that takes most of two such heaps.
const SIZE: &str = "700";
const RUN_LIMIT: Duration = Duration::from_secs(600);

/// Counters that must not be zero on any rank of a job: all traffic goes through the NICs.
const COUNTS: &[&str] = &["commands", "packets sent", "packets received"];

/// All modes, and memory of a rank. The bookkeeping of a rank alone takes 4 MiB, so the least is 5 % and
/// less.
const MODES: [(&str, &str); 8] = [
    ("shadow-lock", "256K"),
    ("firehose", "512K"),
    ("firehose-over-locks", "1M"),
    ("rendezvous", "2M"),
    ("bounce", "4M"),
    ("pindown-cache", "1M"),
    ("rendezvous-nounpin", "1M"),
    ("pin-everything", "64M"),
];

/// Parts of `tests/upc`, one for each mode.
const UPC: [&[&str]; 8] = [
    &["sync/l", "sync/same", "sync/strict_f", "library/berkeley", "library/atomics", "library/collectives"],
    &["sync/locks", "library/extensions", "access/contexts"],
    &["sync/selection", "library/nonblocking", "alloc/copies"],
    &["sync/lock_free", "library/teams"],
    &["sync/barriers", "library/reductions", "debug/backtrace"],
    &["sync/locks", "alloc/churn"],
    &["sync/locks", "access/aggregates"],
    &["sync/locks", "library/values"],
];

/// Parts of `tests/c`.
const C: [&[&str]; 4] =
    [&["rma", "nic", "locks"], &["pieces", "barriers"], &["counters", "collectives"], &["random"]];

/// A part of a suite, and how it goes.
pub struct SuitePart {
    /// The program that runs it.
    pub suite: &'static str,
    /// Registration mode.
    pub mode: &'static str,
    /// Memory of a rank.
    pub memory: &'static str,
    /// Which tests.
    pub filters: &'static [&'static str],
}

/// All parts, each in a mode of its own as far as there are enough: always the same, so that what fails here
/// fails everywhere.
pub fn parts() -> Vec<SuitePart> {
    (0..UPC.len() + C.len()).map(|i| part(i, i)).collect()
}

/// One of all parts in one of all modes.
pub fn any_part(mut below: impl FnMut(usize) -> usize) -> SuitePart {
    part(below(UPC.len() + C.len()), below(MODES.len()))
}

fn part(i: usize, mode: usize) -> SuitePart {
    let (suite, filters) = UPC.get(i).map_or_else(|| ("c-suite", C[i - UPC.len()]), |f| ("upc-suite", *f));
    let (mode, memory) = MODES[mode % MODES.len()];
    SuitePart { suite, mode, memory, filters }
}

impl SuitePart {
    /// Arguments of the suite.
    pub fn arguments(&self) -> Vec<String> {
        let mut arguments = vec!["--ranks".to_string(), "2 3".to_string()];
        let mut option = |name: &str, value: String| arguments.extend([name.to_string(), value]);
        option("--env", "GASNET_CONDUIT=netvm".to_string());
        option("--env", format!("GASNET_NETVM_REGISTRATION={}", self.mode));
        option("--env", format!("GASNET_NETVM_MEMORY={}", self.memory));
        if self.mode == "pin-everything" {
            option("--env", "UPC_SHARED_HEAP_SIZE=16M".to_string());
        }
        COUNTS.iter().for_each(|count| option("--counts", count.to_string()));
        arguments.extend(self.filters.iter().map(|filter| filter.to_string()));
        arguments
    }
}

fn transpose(program: &PathBuf, mode: &str, memory: &str) -> Command {
    let mut command = Command::new(stage::folder().join("bin/upcrun"));
    command.args(["--conduit", "netvm", "-n", "2"]).arg(program).arg(SIZE);
    command.env("UPC_SHARED_HEAP_SIZE", HEAP).env("GASNET_NETVM_MEMORY", memory);
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
    sh::pass(compile, RUN_LIMIT)?;
    let mut jobs = 0;
    let little =
        BOUNDED.into_iter().chain(["rendezvous-nounpin", "pin-everything"]).map(|mode| (mode, MEMORY));
    for (mode, memory) in little.chain(BOUNDED.map(|mode| (mode, PLENTY))) {
        let command = transpose(&program, mode, memory);
        let shown = sh::show(&command);
        let outcome = sh::capture(command, RUN_LIMIT)?;
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
                let paged = (has("page-outs") > 0) == (memory == MEMORY);
                passed && paged && has("packets received") > 0 && has("beyond the budget") == 0
            }
        };
        if !as_stated {
            return Err(format!("mode {mode} does not behave as stated\n{}", report()));
        }
        jobs += 1;
    }
    Ok(jobs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn parts_have_all_modes() {
        let modes: BTreeSet<&str> = parts().iter().map(|part| part.mode).collect();
        assert_eq!(modes.len(), MODES.len());
        let filters: BTreeSet<_> = parts().iter().map(|part| (part.suite, part.filters)).collect();
        assert_eq!(filters.len(), UPC.len() + C.len());
    }
}
