//! `cargo xtask soak --simulate`: programs on simulated ranks, in random orders of what happens.
//!
//! Each draw is a program, a number of ranks, a machine, faults and a way to choose the order. `gasnetrun
//! --simulate` runs it with some seeds. All follows from the seed of the soak. A failure prints the command,
//! and what `gasnetrun` says: the seed, the command that repeats the run, and the choices that matter. Its
//! `.sim` file, and the source of a random program, are kept in `target/soak/simulate`.

use crate::cluster::{Link, compile};
use crate::sh;
use crate::stage::{self, Parts};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// Longest time of a build, of the seeds of a draw, and of a draw with the search for what matters.
const BUILD_LIMIT: Duration = Duration::from_secs(1500);
const SEEDS: Duration = Duration::from_secs(10);
const DRAW_LIMIT: Duration = Duration::from_secs(300);
const RUNS: u32 = 50;

const MACHINES: [&str; 6] =
    ["modern-ib", "gm-myrinet2000", "lanai9-netvm", "clan-piii", "trapeze-alpha", "this-host"];
const ORDERS: [&str; 7] = ["mixed", "mixed", "mixed", "random", "pos", "pctcp:3", "delay:3"];

/// The programs of `tests/c` that have one thread a rank, wait by calls of the runtime, and need no argument.
const C: [&str; 24] = [
    "am",
    "arrived",
    "barriers",
    "collectives",
    "copies",
    "counters",
    "ex_am",
    "ex_atomics",
    "ex_collectives",
    "ex_endpoints",
    "ex_objects",
    "ex_pairs",
    "ex_pieces",
    "ex_prepared",
    "ex_random",
    "ex_rma",
    "ex_spins",
    "long",
    "nic",
    "pieces",
    "rma",
    "segments",
    "shared",
    "teams",
];
/// Folders of `tests/upc` whose programs check themselves.
const UPC: [&str; 10] = [
    "access",
    "aggregate",
    "alloc",
    "forall",
    "layout",
    "library",
    "optimiser",
    "pointers",
    "runtime",
    "sync",
];
/// Examples; `uts` waits in loops over memory of others.
const EXAMPLES: [&str; 9] = [
    "cg.upc",
    "gups.upc",
    "heat.upc",
    "hello.upc",
    "isort.upc",
    "matmul.upc",
    "nqueens.upc",
    "pi.upc",
    "transpose.upc",
];
/// Comments at the head of a test that needs more than a number of threads.
const NEEDS: [&str; 9] =
    ["env:", "args:", "stdin:", "files:", "object:", "archive:", "flags:", "upcrun:", "expect-"];
/// Sections of the conformance program that need more than one thread in a rank.
const OF_THREADS: [&str; 12] = [
    "threads",
    "flood-threads",
    "flood-mixed",
    "a19",
    "a20",
    "a21",
    "upcalls",
    "upcalls-held",
    "upcalls-answer",
    "rdma",
    "rdma-ids",
    "lapi-interrupts",
];

/// What a draw may run.
enum Kind {
    /// A file of this repository.
    Source(PathBuf),
    /// A random program in UPC.
    Random,
    /// A section of the conformance program of the core.
    Conformance(String),
}

/// Explores for so long; returns a line for the report.
pub fn soak(time: Duration, seed: u64) -> Result<String, String> {
    let prefix = stage::folder();
    stage::stage(&prefix, Parts::ALL)?;
    sh::pass(sh::cargo(&["build", "--release", "-p", "gasnet-tests", "--bin", "conformance"]), BUILD_LIMIT)?;
    sh::pass(sh::cargo(&["build", "-p", "gasnet-tests", "--bin", "upc-random"]), BUILD_LIMIT)?;
    let folder = sh::target().join("soak/simulate");
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let sources = sources();
    let sections = sections()?;
    let mut random = fastrand::Rng::with_seed(seed);
    let mut known = BTreeMap::new();
    let (mut draws, mut runs, mut failed) = (0, 0, 0);
    let (begun, mut reported) = (Instant::now(), Instant::now());
    while begun.elapsed() < time {
        let kind = match random.usize(..10) {
            0 | 1 => Kind::Random,
            2 | 3 => Kind::Conformance(sections[random.usize(..sections.len())].clone()),
            _ => Kind::Source(sources[random.usize(..sources.len())].clone()),
        };
        draws += 1;
        match draw(&prefix, &folder, &kind, &mut known, &mut random) {
            Ok(seeds) => runs += seeds,
            Err(report) => {
                failed += 1;
                say!("FAILED {report}");
            }
        }
        if reported.elapsed() > Duration::from_secs(60) {
            reported = Instant::now();
            say!("{runs} runs of {draws} draws, {failed} draws failed");
        }
    }
    let minutes = begun.elapsed().as_secs_f64() / 60.0;
    let text = format!(
        "seed {seed}: {runs} runs of {draws} draws of programs on simulated ranks, {minutes:.0} minutes, {failed} draws failed"
    );
    if failed == 0 { Ok(text) } else { Err(text) }
}

/// The sources to draw from.
fn sources() -> Vec<PathBuf> {
    let root = sh::root();
    let mut all: Vec<PathBuf> = C.iter().map(|name| root.join(format!("tests/c/{name}.c"))).collect();
    all.extend(["ring.c", "putget.c"].map(|name| root.join("examples/c").join(name)));
    all.extend(EXAMPLES.map(|name| root.join("examples/upc").join(name)));
    for folder in UPC {
        all.extend(crate::build::files(&root.join("tests/upc").join(folder), "upc"));
    }
    all.retain(|path| path.extension().is_some_and(|kind| kind == "c") || is_plain(path));
    all
}

fn conformance() -> PathBuf {
    sh::target().join("release/conformance")
}

/// The sections of the conformance program that can be simulated.
fn sections() -> Result<Vec<String>, String> {
    let mut list = Command::new(conformance());
    list.arg("--list");
    let all = sh::capture(list, DRAW_LIMIT)?.stdout;
    Ok(all.lines().filter(|name| *name != "giant" && !OF_THREADS.contains(name)).map(String::from).collect())
}

/// Whether a test needs nothing but a number of threads.
fn is_plain(path: &Path) -> bool {
    let text = fs::read_to_string(path).unwrap_or_default();
    let head = text.lines().take_while(|line| line.starts_with("//"));
    let is_part = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('_'));
    !is_part
        && !head.into_iter().any(|line| NEEDS.iter().any(|need| line[2..].trim_start().starts_with(need)))
}

/// Compiles, unless that is done, and runs with some seeds; returns how many.
fn draw(
    prefix: &Path,
    folder: &Path,
    kind: &Kind,
    known: &mut BTreeMap<PathBuf, PathBuf>,
    random: &mut fastrand::Rng,
) -> Result<u32, String> {
    let mut arguments = Vec::new();
    let program = match kind {
        Kind::Source(source) => match known.get(source) {
            Some(program) => program.clone(),
            None => {
                let program = folder.join(format!("{}-{}", known.len(), stem(source)));
                compile(prefix, source, Link::Static, &program)?;
                known.insert(source.clone(), program.clone());
                program
            }
        },
        Kind::Random => random_program(prefix, folder, random.u64(..) >> 20)?,
        Kind::Conformance(section) => {
            arguments.extend(["--quick".into(), "--seed".into(), (random.u64(..) >> 32).to_string()]);
            arguments.push(section.clone());
            conformance()
        }
    };
    if matches!(kind, Kind::Source(source) if source.ends_with("ex_random.c")) {
        arguments.extend([(random.u64(..) >> 40).to_string(), "1".into()]);
    }
    let ranks = [2, 3, 3, 4, 4, 5, 8][random.usize(..7)];
    let mut command = Command::new(prefix.join("bin/gasnetrun"));
    command.args(["--simulate", "-n", &ranks.to_string()]);
    command.args(["--machine", MACHINES[random.usize(..MACHINES.len())]]);
    command.args(["--explore", ORDERS[random.usize(..ORDERS.len())]]);
    command.args(["--seed", &(1 + random.u64(..1_000_000)).to_string(), "--runs", &RUNS.to_string()]);
    command.args(["--for", &format!("{}s", SEEDS.as_secs())]);
    let faults = faults(ranks, random);
    if !faults.is_empty() {
        command.args(["--faults", &faults]);
    }
    command.arg(&program).args(arguments).current_dir(folder);
    let shown = sh::show(&command);
    let outcome = sh::capture(command, DRAW_LIMIT)?;
    if outcome.status != Some(0) {
        return Err(format!("{shown}\n{}", outcome.report()));
    }
    if matches!(kind, Kind::Random) {
        drop(fs::remove_file(&program));
        drop(fs::remove_file(program.with_extension("upc")));
    }
    // "50 seeds of 4 ranks end well (modern-ib, mixed): ..."
    let said =
        outcome.stderr.lines().find_map(|line| line.split_once(" seeds of ").map(|(before, _)| before));
    Ok(said.and_then(|before| before.rsplit(' ').next()?.parse().ok()).unwrap_or(0))
}

/// Some faults, or none.
fn faults(ranks: u32, random: &mut fastrand::Rng) -> String {
    let mut all = Vec::new();
    let rank = random.u32(..ranks);
    let choices = [
        (40, "tight".to_string()),
        (40, "delay=5%".into()),
        (30, "loss=2%".into()),
        (30, "duplicate=2%".into()),
        (30, format!("slow={rank}@20x")),
        (20, format!("stall={rank}@0us..200us")),
    ];
    for (percent, fault) in choices {
        if random.u32(..100) < percent {
            all.push(fault);
        }
    }
    all.join(",")
}

/// A random UPC program, compiled.
fn random_program(prefix: &Path, folder: &Path, seed: u64) -> Result<PathBuf, String> {
    let mut print = Command::new(sh::target().join("debug/upc-random"));
    print.args(["--print", "--seed", &seed.to_string()]);
    let text = sh::capture(print, BUILD_LIMIT)?.stdout;
    let source = folder.join(format!("random-{seed}.upc"));
    fs::write(&source, text).map_err(|e| format!("{}: {e}", source.display()))?;
    let program = source.with_extension("");
    compile(prefix, &source, Link::Static, &program)?;
    Ok(program)
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}
