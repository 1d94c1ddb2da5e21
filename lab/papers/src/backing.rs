//! `heat.upc` with a heap of sixteen times its memory, on a file, on memory of peers, and on both: how fast
//! pages go there and come back, and what a page costs the processors.
//!
//! A *page* is one that is written to the store or read from it. The figures are differences between a long
//! run and a short one, so start, first use and check of the heap are not included. The processors' time is
//! that of all threads of all ranks, less the time of the same run with its whole heap in memory.

use super::table::{Progress, Row, line, number, table};
use gasnet_sys::clock::processor_time_of_children;
use pgas_bench::median;
use pgas_bench::options::Options;
use std::path::Path;
use std::process::Command;

/// Rows and columns of the plate. Two threads have two copies of half of it each: 32 MiB.
const PLATE: [&str; 2] = ["2048", "2046"];
/// Memory of a rank: a sixteenth of that.
const MEMORY: &str = "2M";
/// Steps of the short run and of the long one.
const STEPS: [u32; 2] = [2, 10];
const PAGE_BYTES: f64 = 4096.0;

/// A name and its settings.
type Backing = (&'static str, &'static [(&'static str, &'static str)]);

const BACKINGS: [Backing; 4] = [
    ("memory", &[("GASNET_NETVM_MEMORY", "64M")]),
    ("file", &[]),
    ("peers", &[("GASNET_NETVM_BACKING", "peers:64M"), ("GASNET_NETVM_DONATE", "64M")]),
    ("both", &[("GASNET_NETVM_BACKING", "peers:16M"), ("GASNET_NETVM_DONATE", "16M")]),
];

/// The costs of a run.
#[derive(Debug, Clone, Copy, Default)]
struct Took {
    /// The steps, in seconds.
    steps: f64,
    /// All processors, in seconds.
    processors: f64,
    /// Pages that went to the store or came from it.
    pages: f64,
}

impl Took {
    fn less(self, other: Took) -> Took {
        Took {
            steps: self.steps - other.steps,
            processors: self.processors - other.processors,
            pages: self.pages - other.pages,
        }
    }
}

/// Takes what the runtime counted from a line of a rank: `... netvm: faults 17, page-ins 4, ...`.
fn moved(said: &str) -> f64 {
    let counters =
        said.lines().filter_map(|line| line.split_once("netvm: ")).flat_map(|(_, all)| all.split(", "));
    let pages = counters.filter_map(|counter| {
        let (name, value) = counter.rsplit_once(' ')?;
        ["page-ins", "page-outs"].contains(&name).then(|| value.parse::<f64>().ok())?
    });
    pages.sum()
}

/// Takes the time from `heat: ... 2 threads: 1.429 s`.
fn seconds(said: &str) -> Option<f64> {
    said.lines()
        .find_map(|line| line.strip_prefix("heat: ")?.rsplit_once(": ")?.1.strip_suffix(" s")?.parse().ok())
}

fn heat(prefix: &Path, program: &Path, settings: &[(&str, &str)], steps: u32) -> Result<Took, String> {
    let mut command = Command::new(prefix.join("bin/upcrun"));
    command.args(["-n", "2"]).arg(program).args(PLATE).arg(steps.to_string());
    command.env("GASNET_CONDUIT", "netvm").env("GASNET_STATS", "1").env("UPC_SHARED_HEAP_SIZE", "40MB");
    command.env("GASNET_NETVM_MEMORY", MEMORY).envs(settings.iter().copied());
    let before = processor_time_of_children();
    let output = command.output().map_err(|e| format!("{}: {e}", prefix.join("bin/upcrun").display()))?;
    let processors = (processor_time_of_children() - before).as_secs_f64();
    let [said, errors] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    let passed = output.status.success() && said.contains("verification: passed");
    let steps = seconds(&said).filter(|_| passed).ok_or_else(|| format!("{settings:?}: {said}{errors}"))?;
    Ok(Took { steps, processors, pages: moved(&errors) })
}

fn compile(options: &Options) -> Result<std::path::PathBuf, String> {
    let program = options.scratch.join("heat");
    std::fs::create_dir_all(&options.scratch).map_err(|e| format!("{}: {e}", options.scratch.display()))?;
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/upc/heat.upc");
    let mut command = Command::new(options.prefix.join("bin/upcc"));
    command.arg("-O").arg("-o").arg(&program).arg(source);
    let output =
        command.output().map_err(|e| format!("{}: {e}", options.prefix.join("bin/upcc").display()))?;
    match output.status.success() {
        true => Ok(program),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

/// The backings side by side, run in turn.
pub fn run(options: &Options, progress: &mut Progress) -> Result<(Vec<Row>, Vec<String>), String> {
    let program = compile(options)?;
    let rounds = if options.quick { 1 } else { 5 };
    let mut all = BACKINGS.map(|_| Vec::new());
    for round in 0..rounds {
        for ((name, settings), all) in BACKINGS.into_iter().zip(&mut all) {
            progress.step(&format!("heat, {name}, {}", round + 1));
            let [short, long] = STEPS.map(|steps| heat(&options.prefix, &program, settings, steps));
            all.push(long?.less(short?));
        }
    }
    let of = |all: &[Took], what: fn(&Took) -> f64| median(&all.iter().map(what).collect::<Vec<_>>());
    let bare = of(&all[0], |took| took.processors);
    let mut rows = Vec::new();
    let mut text = table(&["heap", "s", "MB/s", "processors us a page"]);
    for ((name, _), all) in BACKINGS.into_iter().zip(&all) {
        let (steps, pages) = (of(all, |took| took.steps), of(all, |took| took.pages));
        let mut values = vec![("s", "s", steps)];
        if name != "memory" {
            let page = (of(all, |took| took.processors) - bare) / pages * 1e6;
            values.extend([("bw", "MB/s", pages * PAGE_BYTES / steps / 1e6), ("processors", "us", page)]);
        }
        let mut cells = vec![name.to_string()];
        cells.extend(values.iter().map(|(.., value)| number(*value)));
        cells.resize(4, String::new());
        text.push(line(&cells));
        rows.extend(
            values
                .into_iter()
                .map(|(what, unit, v)| Row::new(format!("live_heat_{name}_{what}"), unit, 2, v)),
        );
    }
    Ok((rows, text))
}

/// Runs of [`run`].
pub fn steps(options: &Options) -> usize {
    BACKINGS.len() * if options.quick { 1 } else { 5 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_of_a_run_is_understood() {
        let said = "heat: 2048 x 2046 points, 5 steps, 2 threads: 1.429 s\nverification: passed\n";
        assert_eq!(seconds(said), Some(1.429));
        let counters =
            "gasnet: rank 0 of 2: netvm: faults 5, page-ins 49280, page-outs 3, pages to peers 32760\n";
        assert_eq!(moved(&counters.repeat(2)), 2.0 * 49283.0);
    }
}
