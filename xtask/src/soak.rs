//! `cargo xtask soak`: random and long tests, for as long as one likes.
//!
//! - *random programs*: UPC programs that check themselves.
//! - *conformance*: the core's conformance program (floods, random one-sided programs, barriers) with random
//!   seeds, numbers of ranks, conduits, registration modes, delays and ways of waiting.
//! - *EX*: random programs over `gasnetex.h` against a model of everybody's memory, likewise.
//! - *netvm*: parts of `tests/upc` and `tests/c` over the netvm conduit, in random registration modes.
//! - *programs*: examples with random numbers of ranks, with and without neighbourhood.
//! - *compiler*: damaged UPC sources; the compiler must end by itself, with errors and without a crash.
//! - *stale*: the stale-registration adversary of Firehose, with random seeds.
//! - *pager*: programs and a NIC in one paged segment, all that they read compared.
//! - *messages*: damaged and impossible messages, heads, packets and commands, for Firehose and for NetVM's
//!   firmware.
//! - *front end*: many more damaged pieces, read in one process (`upc-fuzz`).
//! - *deaths* (by `--deaths` alone): jobs over shared memory, udp and on two hosts that go on when their
//!   ranks are killed at any moment, which check what they have computed; what is lost with a rank and its
//!   partner must be told.
//! - *simulated ranks* (by `--simulate` alone): see [`explore`].
//! - *simulated deaths* (by `--deaths` with `--simulate`): jobs of simulated ranks that are killed at any
//!   event (`tests/src/bin/virtual-deaths.rs`).
//! - *csmith*: random C programs, compiled by upcc and by the C compiler, must print the same; *shared
//!   csmith*: likewise with their global variables turned shared.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use gasnet_options::{Argument, FoundOption, opt};

use crate::explore;
use crate::netvm;
use crate::plugins;
use crate::programs::{self, Tally};
use crate::sh;
use crate::stage::{self, Parts};
use crate::task::{Task, read, surplus, task};

#[derive(Clone, Copy)]
enum SoakOption {
    Minutes,
    Seed,
    Record,
    Stale,
    Flood,
    Giant,
    Deaths,
    Simulate,
}

const SOAK: Task<SoakOption> = task(
    "cargo xtask soak",
    "Runs random and long tests. Inputs that fail are kept under target/soak.",
    &[
        "cargo xtask soak [--minutes M] [--seed S] [--stale N | --flood SECONDS | --giant | --deaths N [--simulate] | --simulate] [--record]",
    ],
    &[
        opt(SoakOption::Minutes, "--minutes M", "duration in minutes (default 10)"),
        opt(SoakOption::Seed, "--seed S", "seed of the random numbers (default: from the clock)"),
        opt(SoakOption::Record, "--record", "add the result to docs/soak.md"),
        opt(
            SoakOption::Stale,
            "--stale N",
            "instead of the random tests: N simulated accesses to pages whose mappings change (a million takes about \
             a second)",
        ),
        opt(
            SoakOption::Flood,
            "--flood SECONDS",
            "instead of the random tests: floods of messages between all pairs of 16 ranks over udp for at least so \
             long, with the smallest windows; the job must not hang, and memory must not grow",
        ),
        opt(
            SoakOption::Giant,
            "--giant",
            "instead of the random tests: a put, a get and a fill of more than 4 GiB over each conduit that is built; \
             needs 10 GiB of memory",
        ),
        opt(
            SoakOption::Deaths,
            "--deaths N",
            "instead of the random tests: kill ranks of jobs that go on, on 2 to 16 ranks and at random moments, until \
             N have died",
        ),
        opt(
            SoakOption::Simulate,
            "--simulate",
            "instead of the random tests: programs on simulated ranks, in random orders of what happens and with faults",
        ),
    ],
    "",
);

/// Longest time for one compile.
const COMPILE_LIMIT: Duration = Duration::from_secs(30);

/// Longest time for one conformance run: many ranks share few cores.
const CONFORMANCE_LIMIT: Duration = Duration::from_secs(300);
/// Longest time for a build.
const BUILD_LIMIT: Duration = Duration::from_secs(1500);

/// How often each kind of test ran and failed.
type Score = BTreeMap<&'static str, (usize, usize)>;

/// One test alone, instead of all in turn.
enum Only {
    /// This many accesses against mappings that change.
    Stale(u64),
    /// A flood of messages for this many seconds.
    Flood(f64),
    /// Objects larger than what four bytes count.
    Giant,
    /// Jobs that go on, until this many ranks have died.
    Deaths(u64),
}

/// The number that an option is followed by.
fn number<T: std::str::FromStr<Err: std::fmt::Display>>(
    found: &FoundOption<SoakOption>,
) -> Result<T, String> {
    found.text().parse().map_err(|e| format!("{} {}: {e}", found.written, found.text()))
}

/// Reads the command line and runs.
pub fn main(words: Vec<std::ffi::OsString>) -> Result<(), String> {
    let clock = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let (mut minutes, mut record, mut only, mut simulated) = (10.0_f64, false, None, false);
    let mut seed = clock.map_or(1, |time| time.as_nanos() as u64);
    let going_on = read(&SOAK, words, |word, _| {
        let found = match word {
            Argument::Option(found) => found,
            Argument::Operand(word) | Argument::Unknown(word) => return Err(surplus(&word)),
        };
        match found.key {
            SoakOption::Minutes => minutes = number(&found)?,
            SoakOption::Seed => seed = number(&found)?,
            SoakOption::Stale => only = Some(Only::Stale(number(&found)?)),
            SoakOption::Flood => only = Some(Only::Flood(number(&found)?)),
            SoakOption::Giant => only = Some(Only::Giant),
            SoakOption::Deaths => only = Some(Only::Deaths(number(&found)?)),
            SoakOption::Simulate => simulated = true,
            SoakOption::Record => record = true,
        }
        Ok(())
    })?;
    if !going_on {
        return Ok(());
    }
    let text = match only {
        None if simulated => {
            say!("seed {seed}");
            explore::soak(duration(minutes)?, seed)?
        }
        None => return all_in_turn(minutes, seed, record),
        Some(Only::Stale(accesses)) => {
            say!("seed {seed}");
            stale(accesses, seed)?;
            format!("seed {seed}: {accesses} simulated accesses against changing mappings, none stale")
        }
        Some(Only::Flood(seconds)) => flood(seconds)?,
        Some(Only::Giant) => giant()?,
        Some(Only::Deaths(kills)) => {
            say!("seed {seed}");
            if simulated { virtual_deaths(kills, seed)? } else { deaths(kills, seed)? }
        }
    };
    say!("{text}");
    if record { append(&format!("- {text}\n")) } else { Ok(()) }
}

fn duration(minutes: f64) -> Result<Duration, String> {
    Duration::try_from_secs_f64(minutes * 60.0).map_err(|e| format!("--minutes: {e}"))
}

/// Runs tests of all kinds in turn, with inputs by `seed`, for `minutes` minutes.
fn all_in_turn(minutes: f64, seed: u64, record: bool) -> Result<(), String> {
    let limit = duration(minutes)?;
    let prefix = stage::folder();
    stage::stage(&prefix, Parts::ALL)?;
    say!("seed {seed}");

    let mut random = fastrand::Rng::with_seed(seed | 1);
    let mut tally = Tally::default();
    let examples = programs::upc_examples(&prefix, &mut tally);
    let sources = sources();
    sh::pass(sh::cargo(&["build", "--release", "-p", "gasnet-tests", "--bin", "conformance"]), BUILD_LIMIT)?;
    sh::pass(sh::cargo(&["build", "--release", "-p", "gasnet-tests", "--bin", "upc-fuzz"]), BUILD_LIMIT)?;
    let random_ex = ex_random_program(&prefix)?;
    let csmith = sh::which("csmith").is_some();
    let mut score: Score = BTreeMap::new();
    if tally.failed > 0 {
        score.insert("examples that do not compile", (tally.failed, tally.failed));
    }
    let start = Instant::now();
    let mut round = 0;
    while start.elapsed() < limit {
        let mut count = |kind: &'static str, result: Result<(), String>| {
            let entry = score.entry(kind).or_default();
            entry.0 += 1;
            if let Err(report) = result {
                entry.1 += 1;
                say!("FAILED {kind}\n{report}");
            }
        };
        for _ in 0..20 {
            if !sources.is_empty() {
                count("compiler", damaged(&prefix, &sources, &mut random));
            }
        }
        if !examples.is_empty() {
            let program = &examples[random.usize(..examples.len())];
            let ranks = 1 + random.usize(..12) as u32;
            count("programs", program.run(ranks, random.usize(..3) > 0));
        }
        count("conformance", conformance(&prefix, &mut random));
        count("EX", ex_random(&prefix, &random_ex, &mut random));
        count("netvm", netvm_part(&prefix, &mut random));
        count("stale", stale(2_000_000, random.u64(..) >> 16));
        count("messages", messages(20_000));
        count("pager", pager(200_000_000, random.u64(..) >> 24));
        count(
            "random programs",
            programs::random("upc-random", random.u64(..) >> 20, 1, &mut Tally::default()),
        );
        if csmith {
            count("csmith", csmith_program(&prefix, random.u64(..) >> 1, false));
            count("shared csmith", csmith_program(&prefix, random.u64(..) >> 1, true));
        }
        let (inputs, failed) = front_end(random.u64(..) >> 2);
        let entry = score.entry("front end").or_default();
        *entry = (entry.0 + inputs, entry.1 + failed);
        round += 1;
        if round % 50 == 0 {
            say!("{} : {}", sh::seconds(start.elapsed()), summary(&score));
        }
    }
    let text = summary(&score);
    say!("{text}");
    if !csmith {
        say!("untested: csmith, which is not installed");
    }
    if record {
        let note = if csmith { "" } else { "; csmith not installed" };
        append(&format!("- {minutes} minutes, seed {seed}: {text}{note}\n"))?;
    }
    if score.values().all(|(_, failed)| *failed == 0) { Ok(()) } else { Err("some tests failed".to_string()) }
}

fn summary(score: &Score) -> String {
    let parts: Vec<String> =
        score.iter().map(|(kind, (ran, failed))| format!("{kind} {ran} run, {failed} failed")).collect();
    parts.join("; ")
}

fn append(line: &str) -> Result<(), String> {
    use std::io::Write;
    let path = sh::root().join("docs/soak.md");
    let new = !path.exists();
    let open = fs::OpenOptions::new().create(true).append(true).open(&path);
    let mut file = open.map_err(|e| format!("{}: {e}", path.display()))?;
    let head = if new {
        "# Soak runs\n\nResults of random and long tests. `cargo xtask soak --record` appends a line for each run.\n\n"
    } else {
        ""
    };
    file.write_all(format!("{head}{line}").as_bytes()).map_err(|e| format!("{}: {e}", path.display()))
}

/// One run of the conformance program.
fn conformance(prefix: &Path, random: &mut fastrand::Rng) -> Result<(), String> {
    let mut command = Command::new(prefix.join("bin/gasnetrun"));
    any_way(&mut command, random);
    command.arg("-n").arg((1 + random.usize(..8)).to_string());
    command.arg(sh::target().join("release/conformance"));
    command.args(["--quick", "--seed", &(random.u64(..) >> 32).to_string()]);
    let shown = sh::show(&command);
    let outcome = sh::capture(command, CONFORMANCE_LIMIT)?;
    if outcome.status == Some(0) && outcome.stdout.ends_with("conformance: passed\n") {
        return Ok(());
    }
    Err(format!("{shown}\n{}", outcome.report()))
}

/// A random GASNet-EX program, from the program that the C suite runs with few seeds.
fn ex_random(prefix: &Path, program: &Path, random: &mut fastrand::Rng) -> Result<(), String> {
    let mut command = Command::new(prefix.join("bin/gasnetrun"));
    any_way(&mut command, random);
    command.arg("-n").arg((1 + random.usize(..6)).to_string()).arg(program);
    command.args([(random.u64(..) >> 32).to_string(), "20".to_string()]);
    let shown = sh::show(&command);
    let outcome = sh::capture(command, CONFORMANCE_LIMIT)?;
    if outcome.status == Some(0) && outcome.stdout.ends_with("passed\n") {
        return Ok(());
    }
    Err(format!("{shown}\n{}", outcome.report()))
}

/// Compiles it.
fn ex_random_program(prefix: &Path) -> Result<PathBuf, String> {
    let program = sh::target().join("soak-ex-random");
    let mut compile = Command::new("cc");
    compile.args(["-O2", "-DGASNET_PAR", "-o"]).arg(&program).arg("-I").arg(prefix.join("include"));
    compile.arg(sh::root().join("tests/c/ex_random.c")).arg(prefix.join("lib/libgasnet.a"));
    compile.args(["-lpthread", "-ldl", "-lm"]);
    sh::pass(compile, COMPILE_LIMIT)?;
    Ok(program)
}

/// Some conduit, and some way of waiting.
fn any_way(command: &mut Command, random: &mut fastrand::Rng) {
    command.env("GASNET_MAX_SEGSIZE", "64M");
    match random.usize(..5) {
        0 | 1 => {}
        2 => {
            let delays = ["0", "5us", "50us"];
            command.env("GASNET_SMP_DELAY", delays[random.usize(..delays.len())]);
            command.env("GASNET_NEIGHBORHOOD", "off");
        }
        3 => drop(command.env("GASNET_CONDUIT", "udp").env("GASNET_NEIGHBORHOOD", "off")),
        _ => {
            let mode = netvm::any_part(|n| random.usize(..n)).mode;
            command.env("GASNET_CONDUIT", "netvm").env("GASNET_NETVM_REGISTRATION", mode);
        }
    }
    match random.usize(..4) {
        0 => drop(command.env("GASNET_SPIN", "0")),
        1 => drop(command.env("GASNET_CHECK", "1")),
        _ => {}
    }
}

/// A part of the suites over netvm.
fn netvm_part(prefix: &Path, random: &mut fastrand::Rng) -> Result<(), String> {
    let part = netvm::any_part(|n| random.usize(..n));
    let mut command = sh::cargo(&["run", "--quiet", "-p", "gasnet-tests", "--bin", part.suite, "--"]);
    command.arg("--prefix").arg(prefix).args(part.arguments());
    sh::pass(command, BUILD_LIMIT)
}

/// Floods of 16 ranks over udp, for `seconds` seconds in one job. Returns a line for the report.
fn flood(seconds: f64) -> Result<String, String> {
    sh::pass(sh::cargo(&["build", "--release", "-p", "gasnet-tests", "--bin", "conformance"]), BUILD_LIMIT)?;
    let job = |rounds: u32, limit: Duration| {
        let mut job = Command::new(sh::target().join("release/conformance"));
        job.args(["--repeat", &rounds.to_string(), "flood"]);
        job.env("GASNET_PSHM_NODES", "16").env("GASNET_MAX_SEGSIZE", "64M");
        job.env("GASNET_CONDUIT", "udp").env("GASNET_NEIGHBORHOOD", "off").env("GASNET_UDP_WINDOW", "0");
        let (start, shown) = (Instant::now(), sh::show(&job));
        let outcome = sh::capture(job, limit)?;
        if outcome.status == Some(0) && outcome.stdout.ends_with("conformance: passed\n") {
            return Ok(start.elapsed().as_secs_f64());
        }
        Err(format!("{shown}\n{}", outcome.report()))
    };
    let (mut rounds, mut took) = (10, job(10, CONFORMANCE_LIMIT)?);
    while took < seconds {
        rounds = (1.1 * f64::from(rounds) * seconds / took) as u32 + 1;
        took = job(rounds, Duration::from_secs_f64(10.0 * seconds + 60.0))?;
    }
    Ok(format!(
        "16 ranks flooded each other over udp with windows of two messages: {rounds} rounds, {took:.0} s, memory did not grow"
    ))
}

/// Jobs of simulated ranks that are killed at random events, until so many have died. Returns a line for the
/// report.
fn virtual_deaths(kills: u64, seed: u64) -> Result<String, String> {
    sh::pass(sh::cargo(&["build", "-p", "gasnet-tests", "--bin", "virtual-deaths"]), BUILD_LIMIT)?;
    let mut job = Command::new(sh::target().join("debug/virtual-deaths"));
    job.args(["--kills", &kills.to_string(), "--seed", &(seed % (1 << 31)).to_string()]);
    let outcome = sh::capture(job, Duration::from_secs(60 + kills / 10))?;
    let last = outcome.stdout.lines().last().unwrap_or_default();
    match outcome.status {
        Some(0) => Ok(format!("seed {seed}, simulated ranks that were killed: {last}")),
        _ => Err(outcome.report()),
    }
}

/// Jobs whose ranks are killed at random moments, until so many have died. Returns a line for the report.
fn deaths(kills: u64, seed: u64) -> Result<String, String> {
    let build = ["build", "-p", "gasnet-tests", "--bin", "mortal", "--bin", "gasnetrun-for-tests"];
    sh::pass(sh::cargo(&build), BUILD_LIMIT)?;
    let program = |name: &str| sh::target().join("debug").join(name);
    let mark = format!("soak-deaths-{}", std::process::id());
    let mut random = fastrand::Rng::with_seed(seed);
    let (mut jobs, mut died, begun) = (0, 0, Instant::now());
    let mut reported = begun;
    while died < kills {
        let ranks = if random.u32(..4) > 0 { random.u32(2..=6) } else { random.u32(7..=16) };
        let (heals, role) = match random.u32(..4) {
            0 => (false, "random"),
            1 => (false, "survives"),
            _ => (true, "survives"),
        };
        let on_death = if heals { "heal" } else { "shrink" };
        let mut job = Command::new(program("gasnetrun-for-tests"));
        job.args(["-n", &ranks.to_string(), "--on-death", on_death]);
        match random.u32(..5) {
            0 => _ = job.env("GASNET_CONDUIT", "udp").env("GASNET_NEIGHBORHOOD", "off"),
            1 => _ = job.env("GASNET_CONDUIT", "udp").env("GASNET_NEIGHBORHOOD", "2"),
            3 if random.bool() => _ = job.env("GASNET_NEIGHBORHOOD", "off"),
            2 => {
                // Both are this one: the shell takes the host for its own name.
                job.args(["--hosts", "one,two"]).env("GASNET_SSH", "sh -c eval${IFS}\"$1\"");
                job.env("GASNET_UDP_INTERFACE", "127.0.0.1").env("GASNET_LEASE", "20s");
            }
            _ => {}
        }
        job.arg(program("mortal"));
        job.args([role, &random.u64(..1 << 40).to_string(), &mark]);
        job.env("GASNET_MAX_SEGSIZE", "16M").env("RUST_BACKTRACE", "0");
        if random.u32(..8) == 0 {
            job.env("GASNET_PROGRESS", "thread");
        }
        let shown = sh::show(&job);
        let outcome = sh::capture(job, CONFORMANCE_LIMIT)?;
        let deaths = outcome.stderr.matches("terminated with signal 9").count() as u64;
        // Who is not replaced, since it dies when all work is done, was named, too.
        let ended = |rank: u32| outcome.stdout.contains(&format!("rank {rank} survives in world "));
        let named = |rank: u32| outcome.stderr.contains(&format!("rank {rank} (pid "));
        let all = (0..ranks).all(|rank| ended(rank) || named(rank)) && (0..ranks).any(ended);
        if !(outcome.status == Some(0) && all) {
            return Err(format!("seed {seed}: {shown}\n{}", outcome.report()));
        }
        if let Some(left) = left_behind(&mark) {
            return Err(format!("seed {seed}: {shown}\nhas left {left} behind"));
        }
        (jobs, died) = (jobs + 1, died + deaths);
        if reported.elapsed() > Duration::from_secs(60) {
            reported = Instant::now();
            say!("{died} deaths in {jobs} jobs");
        }
    }
    Ok(format!(
        "seed {seed}: {died} ranks were killed in {jobs} jobs that went on, {:.0} s: all results were right",
        begun.elapsed().as_secs_f64()
    ))
}

/// A process with this argument.
fn left_behind(mark: &str) -> Option<String> {
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    let arguments = |path: &Path| fs::read(path.join("cmdline")).unwrap_or_default();
    let is_own = |path: &PathBuf| arguments(path).split(|b| *b == 0).any(|a| a == mark.as_bytes());
    all.map(|entry| entry.path()).find(is_own).map(|path| path.display().to_string())
}

/// Transfers of more than 4 GiB between two ranks, over all conduits but `netvm`, whose segments are as large
/// as its memory.
fn giant() -> Result<String, String> {
    /// The memory of a job of two ranks, in bytes.
    const MEMORY: u64 = 10 << 30;
    let info = fs::read_to_string("/proc/meminfo").map_err(|e| e.to_string())?;
    let line = info.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let free = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) << 10;
    if free < MEMORY {
        return Err(format!("{} MiB of memory are free, and {} needed", free >> 20, MEMORY >> 20));
    }
    let prefix = stage::folder();
    stage::stage(&prefix, Parts::NONE)?;
    plugins::stage_all(&prefix);
    sh::pass(sh::cargo(&["build", "--release", "-p", "gasnet-tests", "--bin", "conformance"]), BUILD_LIMIT)?;
    let conformance = sh::target().join("release/conformance");
    let own = |conduit: &str, provider: &str| {
        let mut job = Command::new(prefix.join("bin/gasnetrun"));
        job.args(["-n", "2", "--conduit", conduit]).arg(&conformance).env("GASNET_OFI_PROVIDER", provider);
        (format!("{conduit} {provider}").trim_end().to_string(), job)
    };
    let mut jobs = vec![own("smp", ""), own("udp", "")];
    if plugins::has_libfabric() {
        jobs.extend([own("ofi", "tcp"), own("ofi", "shm")]);
    }
    for mpi in plugins::mpis() {
        let mut job = Command::new(&mpi.mpirun);
        job.args(["-n", "2"]).arg(&conformance).env("GASNET_CONDUIT", "mpi");
        plugins::oversubscribed(&mut job);
        jobs.push((mpi.name.to_string(), job));
    }
    let mut took = Vec::new();
    for (name, mut job) in jobs {
        // Messages around shared memory are no subject here.
        let neighborhood = if name == "smp" { "on" } else { "off" };
        job.arg("giant").env("GASNET_MAX_SEGSIZE", "4500M").env("GASNET_NEIGHBORHOOD", neighborhood);
        job.env("GASNET_PLUGIN_PATH", prefix.join("lib"));
        let (start, shown) = (Instant::now(), sh::show(&job));
        let outcome = sh::capture(job, CONFORMANCE_LIMIT)?;
        if outcome.status != Some(0) || !outcome.stdout.ends_with("conformance: passed\n") {
            return Err(format!("{shown}\n{}", outcome.report()));
        }
        took.push(format!("{name} {:.0} s", start.elapsed().as_secs_f64()));
    }
    Ok(format!(
        "a put, a get and a fill of 4160 MiB each between two ranks, all bytes compared: {}",
        took.join(", ")
    ))
}

/// That many accesses of Firehose's stale-registration adversary.
fn stale(accesses: u64, seed: u64) -> Result<(), String> {
    let mut test = sh::cargo(&["test", "-q", "--release", "-p", "firehose", "--test", "adversary"]);
    test.args(["--", "--nocapture"]);
    test.env("FIREHOSE_ACCESSES", accesses.to_string()).env("FIREHOSE_SEED", (seed >> 1).to_string());
    let outcome = sh::capture(test, BUILD_LIMIT + Duration::from_secs(accesses / 200_000))?;
    if outcome.status == Some(0) { Ok(()) } else { Err(outcome.report()) }
}

/// Writes and reads `bytes` bytes of a segment that is larger than its memory, by two threads and by DMA
/// while pages come and go, and compares them.
fn pager(bytes: u64, seed: u64) -> Result<(), String> {
    let mut test = sh::cargo(&["test", "-q", "--release", "-p", "gasnet-netvm", "--lib", "--"]);
    test.args(["--ignored", "--exact", "--nocapture", "pager::tests::soak_dma_and_paging"]);
    test.env("PAGER_BYTES", bytes.to_string()).env("PAGER_SEED", seed.to_string());
    let outcome = sh::capture(test, BUILD_LIMIT + Duration::from_secs(bytes / 2_000_000))?;
    // A filter that fits no test passes as well.
    if outcome.status == Some(0) && outcome.stdout.contains("bytes compared") {
        Ok(())
    } else {
        Err(outcome.report())
    }
}

/// That many random inputs for each property of what comes over the wire.
fn messages(cases: u32) -> Result<(), String> {
    let firehose = ["-p", "firehose", "--lib", "--test", "fuzz", "--", "message", "any_messages"];
    let firmware = ["-p", "netvm-fw", "--test", "acceptance", "--", "wire::"];
    for arguments in [&firehose[..], &firmware[..]] {
        let mut test = sh::cargo(&["test", "-q", "--release"]);
        test.args(arguments).env("PROPTEST_CASES", cases.to_string());
        let outcome = sh::capture(test, BUILD_LIMIT)?;
        if outcome.status != Some(0) {
            return Err(outcome.report());
        }
    }
    Ok(())
}

/// UPC sources to be damaged.
fn sources() -> Vec<PathBuf> {
    let mut all = Vec::new();
    let mut folders = vec![sh::root().join("tests/upc"), sh::root().join("examples/upc")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "upc") {
                all.push(path);
            }
        }
    }
    all.sort();
    all
}

/// Compiles a source with some of its tokens lost, doubled, exchanged or taken from another source.
fn damaged(prefix: &Path, sources: &[PathBuf], random: &mut fastrand::Rng) -> Result<(), String> {
    let path = &sources[random.usize(..sources.len())];
    let other = &sources[random.usize(..sources.len())];
    let read = |path: &Path| fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()));
    let (text, donor) = (read(path)?, read(other)?);
    let mut tokens = split(&text);
    let donor = split(&donor);
    for _ in 0..1 + random.usize(..4) {
        let at = random.usize(..tokens.len());
        match random.usize(..5) {
            0 => drop(tokens.remove(at)),
            1 => tokens.insert(at, tokens[at]),
            2 => {
                let with = random.usize(..tokens.len());
                tokens.swap(at, with);
            }
            3 => tokens[at] = donor[random.usize(..donor.len())],
            _ => tokens.truncate(at.max(1)),
        }
    }
    let folder = sh::target().join("soak");
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let input = folder.join("damaged.upc");
    fs::write(&input, tokens.concat()).map_err(|e| e.to_string())?;
    let mut compile = Command::new(prefix.join("bin/upcc"));
    compile.arg("-c").arg(&input).arg("-o").arg(folder.join("damaged.o"));
    compile.arg("-I").arg(path.parent().unwrap_or(Path::new(".")));
    let outcome = sh::capture(compile, COMPILE_LIMIT)?;
    let said = &outcome.stderr;
    let ended = matches!(outcome.status, Some(0 | 1));
    let sound = !said.contains("panicked") && !said.contains("bug in upcc") && !said.contains("internal");
    if ended && sound && (outcome.status == Some(0) || !said.is_empty()) {
        return Ok(());
    }
    let kept = folder.join(format!("damaged-{:x}.upc", random.u64(..)));
    fs::rename(&input, &kept).map_err(|e| e.to_string())?;
    Err(format!("target/stage/bin/upcc -c {}\n{}", kept.display(), outcome.report()))
}

/// Words, spaces and single other characters.
fn split(text: &str) -> Vec<&str> {
    let kind = |c: char| match c {
        c if c.is_alphanumeric() || c == '_' => 0,
        c if c.is_whitespace() => 1,
        _ => 2,
    };
    let mut tokens = Vec::new();
    let mut start = 0;
    let mut last = None;
    for (at, c) in text.char_indices() {
        if last.is_some_and(|last| last != kind(c) || last == 2) {
            tokens.push(&text[start..at]);
            start = at;
        }
        last = Some(kind(c));
    }
    tokens.push(&text[start..]);
    tokens
}

/// Some seconds of damaged pieces: how many were read, and how many wrongly.
fn front_end(seed: u64) -> (usize, usize) {
    let mut command = Command::new(sh::target().join("release/upc-fuzz"));
    command.args(["--seconds", "10", "--seed", &seed.to_string()]);
    let shown = sh::show(&command);
    let said = match sh::capture(command, COMPILE_LIMIT * 2) {
        Ok(outcome) if outcome.status == Some(0) => outcome.stdout,
        Ok(outcome) => {
            say!("FAILED front end\n{shown}\n{}", outcome.report());
            return (0, 1);
        }
        Err(why) => {
            say!("FAILED front end\n{shown}\n{why}");
            return (0, 1);
        }
    };
    // The last line: "350000 inputs from 17, 0 failed, ...".
    let inputs = said.lines().next_back().and_then(|line| line.split(' ').next()?.parse().ok());
    (inputs.unwrap_or(0), 0)
}

/// A random C program must print the same whether upcc or the C compiler compiled it. With `shared`, upcc
/// gets it with its global variables in shared memory.
fn csmith_program(prefix: &Path, seed: u64, shared: bool) -> Result<(), String> {
    let folder = sh::target().join("soak");
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let (source, for_upcc) = (folder.join("csmith.c"), folder.join("csmith-shared.upc"));
    let mut make = Command::new("csmith");
    make.args(["--seed", &seed.to_string(), "--output"]).arg(&source);
    // It leaves a platform.info where it runs.
    make.current_dir(&folder);
    if shared {
        // Addresses of shared objects are of another type: no pointers.
        make.args(["--no-pointers", "--no-const-pointers", "--max-funcs", "5", "--max-block-depth", "3"]);
    }
    if sh::capture(make, COMPILE_LIMIT)?.status != Some(0) {
        return Ok(());
    }
    let mut flags = vec!["-O1"];
    if shared {
        let text = fs::read_to_string(&source).map_err(|e| format!("{}: {e}", source.display()))?;
        let layout = ["[]", "", "[3]", "[*]"][(seed % 4) as usize];
        let text = share_globals(&text, layout);
        fs::write(&for_upcc, text).map_err(|e| format!("{}: {e}", for_upcc.display()))?;
        // Bounds without THREADS are possible with a number of threads known.
        flags = match seed / 4 % 4 {
            0 => vec!["-O0", "-T1"],
            1 => vec!["-O2", "-T2"],
            2 => vec!["-O1", "-T1", "-fupc-pts=struct"],
            _ => vec!["-O3", "-T3"],
        };
    }
    let threads = flags.iter().find_map(|flag| flag.strip_prefix("-T")).unwrap_or("1");
    let include = std::env::var_os("CSMITH_INCLUDE").unwrap_or_else(|| "/usr/include/csmith".into());
    let mut outputs = Vec::new();
    for (name, compiler) in [("upcc", prefix.join("bin/upcc")), ("cc", "cc".into())] {
        let program = folder.join(format!("csmith-{name}"));
        let mut compile = Command::new(compiler);
        let (file, flags) = match name {
            "upcc" if shared => (&for_upcc, &flags[..]),
            _ => (&source, &["-O1"][..]),
        };
        compile.arg("-w").args(flags).arg("-I").arg(&include).arg(file).arg("-o").arg(&program);
        let outcome = sh::capture(compile, Duration::from_secs(120))?;
        if outcome.status != Some(0) {
            outputs.push(format!("{name}: {}", outcome.report()));
            continue;
        }
        let mut job = if name == "upcc" && threads != "1" {
            let mut job = Command::new(prefix.join("bin/upcrun"));
            job.args(["-q", "-n", threads]).arg(&program);
            job
        } else {
            Command::new(&program)
        };
        job.env("UPC_QUIET", "1");
        let run = sh::capture(job, Duration::from_secs(20))?;
        match run.status {
            // Many random programs never end.
            None => return Ok(()),
            Some(status) => outputs.push(format!("{status} {}", run.stdout)),
        }
    }
    if outputs[0] == outputs[1] {
        return Ok(());
    }
    let kept = folder.join(format!("csmith-{seed}.c"));
    fs::rename(&source, &kept).map_err(|e| e.to_string())?;
    if shared {
        fs::rename(&for_upcc, kept.with_extension("upc")).map_err(|e| e.to_string())?;
    }
    Err(format!("{} ({})\n{}\n{}", kept.display(), flags.join(" "), outputs[0], outputs[1]))
}

/// A csmith program whose global variables are shared. Thread 0 does all the work, so that the answer stays
/// the same.
fn share_globals(text: &str, layout: &str) -> String {
    let mut shared = String::new();
    for line in text.lines() {
        // `static const int32_t g_3[2] = {1, 2};`: a definition of a global variable, but no prototype.
        let is_global = line.starts_with("static ") && line.contains(" g_") && line.ends_with(';');
        match line.strip_prefix("static ").filter(|_| is_global) {
            Some(rest) => shared += &format!("static shared {layout} {rest}\n"),
            None => shared += &format!("{line}\n"),
        }
    }
    shared.replace(
        "int main (int argc, char* argv[])\n{",
        "int main (int argc, char* argv[])\n{\n    if (MYTHREAD != 0) return 0;",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_put_together_are_the_text() {
        let text = "shared [2] int *p;\n/* é */ x+=y_1;";
        let tokens = split(text);
        assert_eq!(tokens.concat(), text);
        assert!(tokens.contains(&"shared") && tokens.contains(&"y_1") && tokens.contains(&"["));
    }

    #[test]
    fn random_numbers_stay_below() {
        let mut random = fastrand::Rng::with_seed(1);
        let seen: std::collections::BTreeSet<usize> = (0..1000).map(|_| random.usize(..7)).collect();
        assert_eq!(seen.into_iter().collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5, 6]);
    }
}
