//! `cargo xtask test`: everything there is to test, step by step.
//!
//! Three steps run at a time. Jobs wait for much of their time, for a timer or for a network, and compilers
//! never do: of three threads, one prefers steps that only build and check, which run *beside* the others.
//! They need nothing that another step has installed, and install no program that another step runs. When
//! none is left, all threads take the others, each once the steps that it comes [`AFTER`] have ended.

mod checks;
mod engines;
mod installed;
mod suites;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::process::Command;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use gasnet_options::{Argument, opt};

use crate::conformance;
use crate::everywhere;
use crate::programs::{Program, RANKS, Tally};
use crate::rustc;
use crate::sh;
use crate::stage::{self, Parts};
use crate::task::{Task, read, task};

/// Longest time of a cargo step.
const CARGO_LIMIT: Duration = Duration::from_secs(1500);
/// Longest time of the unit tests, which are built beside other steps.
const UNIT_LIMIT: Duration = Duration::from_secs(2400);
/// Longest time for a run of a program.
const RUN_LIMIT: Duration = Duration::from_secs(400);

/// How a step ended.
enum End {
    /// Well, with a remark.
    Passed(String),
    /// Not well, for this reason.
    Failed(String),
    /// It cannot run on this machine, for this reason.
    Untested(String),
}

impl From<Result<(), String>> for End {
    fn from(result: Result<(), String>) -> End {
        match result {
            Ok(()) => End::Passed(String::new()),
            Err(why) => End::Failed(why),
        }
    }
}

/// The state that steps share.
struct Context {
    quick: bool,
    /// Outcomes of program runs, over all steps.
    total: Tally,
    /// Names of the tests that passed in this step.
    passed: BTreeSet<String>,
}

impl Context {
    fn ranks(&self) -> &'static [u32] {
        if self.quick { &[1, 3] } else { &RANKS }
    }

    fn neighbourhoods(&self) -> &'static [bool] {
        if self.quick { &[true] } else { &[true, false] }
    }

    /// Runs programs, adds up, and says how it went.
    fn programs(&mut self, make: impl FnOnce(&mut Tally) -> Vec<Program>) -> End {
        let mut tally = Tally::default();
        let programs = make(&mut tally);
        if programs.is_empty() && tally.failed == 0 {
            return End::Untested("there are none".to_string());
        }
        for program in &programs {
            program.run_all(self.ranks(), self.neighbourhoods(), &mut tally);
        }
        self.add(tally)
    }

    fn add(&mut self, tally: Tally) -> End {
        self.total.add(&tally);
        let left_out = if tally.skipped > 0 { format!(", {} skipped", tally.skipped) } else { String::new() };
        let text = format!("{} passed{left_out}", tally.passed);
        if tally.failed > 0 {
            End::Failed(format!("{} failed, {text}", tally.failed))
        } else if tally.passed == 0 {
            End::Failed("nothing ran".to_string())
        } else {
            End::Passed(text)
        }
    }
}

struct Step {
    name: &'static str,
    about: &'static str,
    /// Part of `--quick`.
    quick: bool,
    run: fn(&mut Context) -> End,
}

/// A step that has ended.
struct Ended {
    step: &'static Step,
    end: End,
    /// From its begin to its end.
    time: Duration,
    /// Processor time of its commands.
    worked: Duration,
}

/// Steps that run beside the others. Those that build in folders of their own come first, since cargo locks a
/// folder.
const BESIDE: &[Step] = &[
    Step { name: "fmt", about: "formatting", quick: true, run: checks::fmt },
    Step { name: "loom", about: "models of the lock-free parts", quick: false, run: checks::loom },
    Step { name: "miri", about: "unit tests and whole jobs under Miri", quick: false, run: checks::miri },
    Step { name: "clippy", about: "lints of all targets, warnings denied", quick: true, run: checks::clippy },
    Step {
        name: "docs",
        about: "documentation of the libraries builds, warnings denied",
        quick: false,
        run: checks::docs,
    },
    Step { name: "doctest", about: "examples in the documentation", quick: false, run: checks::doctest },
    Step {
        name: "publish",
        about: "each crate that is meant for others can be published, and builds from its package",
        quick: false,
        run: checks::publish,
    },
    Step {
        name: "msrv",
        about: "crates that are meant for others, by the oldest Rust that they are for",
        quick: false,
        run: checks::msrv,
    },
    Step { name: "hwloc", about: "the feature hwloc of the launcher", quick: false, run: checks::hwloc },
    Step {
        name: "features",
        about: "the features of pgas, and each network left out",
        quick: false,
        run: checks::features,
    },
];

/// Steps that run programs, and what these need.
const STEPS: &[Step] = &[
    Step {
        name: "unit",
        about: "unit, property, integration and compile-fail tests",
        quick: true,
        run: unit,
    },
    Step { name: "stage", about: "release build of tools and libraries", quick: true, run: stage },
    Step { name: "mpi", about: "the conduit mpi, over each MPI there is", quick: false, run: engines::mpi },
    Step {
        name: "ofi",
        about: "the conduit ofi, over each provider that can be tested",
        quick: false,
        run: engines::ofi,
    },
    Step { name: "symbols", about: "what the installed libraries let be seen", quick: true, run: symbols },
    Step {
        name: "installed",
        about: "clients built by what an installation tells them, manual pages, the Debian package",
        quick: false,
        run: installed::run,
    },
    Step {
        name: "c-clients",
        about: "C and C++ programs over gasnet.h",
        quick: true,
        run: suites::c_clients,
    },
    Step {
        name: "tour",
        about: "the programs and commands of the tour in README.md",
        quick: true,
        run: suites::tour,
    },
    Step { name: "c-examples", about: "examples/c", quick: true, run: suites::c_examples },
    Step { name: "rust-examples", about: "examples/rust", quick: true, run: suites::rust_examples },
    Step { name: "upc-examples", about: "examples/upc", quick: true, run: suites::upc_examples },
    Step {
        name: "fortran",
        about: "tests/fortran and examples/fortran by gfortran, and by flang where CAFFEINE_PREFIX says where Caffeine is",
        quick: true,
        run: suites::fortran,
    },
    Step {
        name: "cluster",
        about: "C and UPC programs on the simulated cluster",
        quick: false,
        run: suites::simulated,
    },
    Step { name: "upc-tests", about: "tests/upc", quick: true, run: suites::upc_tests },
    Step {
        name: "upc-random",
        about: "random UPC programs that check themselves",
        quick: true,
        run: suites::upc_random,
    },
    Step {
        name: "c-clients-udp",
        about: "C and C++ programs over the udp conduit",
        quick: false,
        run: suites::c_clients_udp,
    },
    Step {
        name: "upc-tests-udp",
        about: "tests/upc over the udp conduit",
        quick: false,
        run: suites::upc_tests_udp,
    },
    Step {
        name: "upc-tests-pairs",
        about: "parts of tests/upc over udp, neighbours in pairs",
        quick: false,
        run: suites::upc_tests_pairs,
    },
    Step {
        name: "namespaces",
        about: "jobs on several hosts, over good and bad networks",
        quick: false,
        run: suites::namespaces,
    },
    Step {
        name: "launchers",
        about: "jobs through a real sshd and Slurm",
        quick: false,
        run: suites::launchers,
    },
    Step { name: "everywhere", about: "one executable over every network", quick: false, run: everywhere },
    Step {
        name: "netvm-live",
        about: "UPC and C programs over the netvm conduit in all its modes, one in sixteen times its memory",
        quick: false,
        run: suites::netvm_live,
    },
    Step {
        name: "upc-tests-off",
        about: "tests/upc without neighbourhood",
        quick: false,
        run: suites::upc_tests_off,
    },
    Step {
        name: "conformance",
        about: "docs/upc-conformance.md against the tests that passed",
        quick: true,
        run: suites::conformance,
    },
];

/// Steps that start when others have ended, as far as those are chosen: they use what these leave, or the
/// same folders. What compiles programs waits for the stage alone, and what runs them over other networks for
/// the compiled programs. Plugins come to the stage meanwhile, which programs load by themselves.
const AFTER: &[(&str, &[&str])] = &[
    ("mpi", &["stage"]),
    ("ofi", &["mpi"]),
    ("symbols", &["stage"]),
    ("installed", &["stage"]),
    ("c-clients", &["stage"]),
    ("tour", &["stage"]),
    ("c-examples", &["tour"]),
    ("rust-examples", &["stage"]),
    ("upc-examples", &["c-examples"]),
    ("fortran", &["stage"]),
    ("cluster", &["upc-examples"]),
    ("upc-tests", &["stage"]),
    ("upc-random", &["stage"]),
    ("c-clients-udp", &["c-clients"]),
    ("upc-tests-udp", &["upc-tests"]),
    ("upc-tests-pairs", &["upc-tests"]),
    ("namespaces", &["stage"]),
    ("launchers", &["namespaces"]),
    ("everywhere", &["launchers", "ofi"]),
    ("netvm-live", &["c-clients", "upc-tests"]),
    ("upc-tests-off", &["upc-tests"]),
    ("conformance", &["unit", "c-clients", "upc-tests"]),
];

/// Parts of the step `unit` that are worth running alone.
const PARTS: &[Step] = &[
    Step {
        name: "documents",
        about: "what the documents say about the sources",
        quick: false,
        run: documents,
    },
    Step { name: "layers", about: "which crate and module imports from which", quick: false, run: layers },
];

fn documents(_: &mut Context) -> End {
    part("documents")
}

fn layers(_: &mut Context) -> End {
    part("layers")
}

/// A test program of the crate `gasnet-house`.
fn part(name: &str) -> End {
    sh::pass(sh::cargo(&["test", "-p", "gasnet-house", "--test", name]), CARGO_LIMIT).into()
}

#[derive(Clone, Copy)]
enum TestOption {
    Quick,
    Skip,
    List,
}

const TEST: Task<TestOption> = task(
    "cargo xtask test",
    "Runs all tests, and says what it could not test.",
    &["cargo xtask test [--quick] [--skip STEP]... [--list] [STEP]..."],
    &[
        opt(
            TestOption::Quick,
            "--quick",
            "fewer steps, and programs on 1 and 3 ranks with neighbourhood only",
        ),
        opt(TestOption::Skip, "--skip STEP", "all but this step; may be repeated"),
        opt(TestOption::List, "--list", "print the names of the steps"),
    ],
    "With a STEP: this step only, and what it needs.",
);

fn help() -> String {
    let mut text = TEST.help() + "\nsteps:\n";
    for step in all_steps() {
        text += &format!(
            "  {:<14} {}{}\n",
            step.name,
            step.about,
            if step.quick { "" } else { " (not with --quick)" }
        );
    }
    text += "\nparts of the step unit, which run alone only:\n";
    for step in PARTS {
        text += &format!("  {:<14} {}\n", step.name, step.about);
    }
    text
}

/// Reads the command line and runs the steps.
pub fn main(words: Vec<std::ffi::OsString>) -> Result<(), String> {
    let (mut quick, mut only, mut skip) = (false, Vec::new(), Vec::new());
    if words.iter().any(|word| word == "--help" || word == "-h") {
        print!("{}", help());
        return Ok(());
    }
    let mut list = false;
    read(&TEST, words, |word, _| {
        match word {
            Argument::Option(found) => match found.key {
                TestOption::Quick => quick = true,
                TestOption::Skip => skip.push(step_name(found.value())?),
                TestOption::List => list = true,
            },
            Argument::Operand(step) | Argument::Unknown(step) => only.push(step_name(step)?),
        }
        Ok(())
    })?;
    if list {
        all_steps().for_each(|step| say!("{}", step.name));
        return Ok(());
    }
    let chosen = |step: &&Step| {
        let asked = only.iter().any(|name| name == step.name);
        (asked || only.is_empty() && (step.quick || !quick)) && !skip.iter().any(|name| name == step.name)
    };
    let [beside, mut steps] = [BESIDE, STEPS].map(|steps| steps.iter().filter(chosen).collect::<Vec<_>>());
    steps.extend(PARTS.iter().filter(|part| only.iter().any(|name| name == part.name)));

    let (start, worked) = (Instant::now(), sh::worked());
    let both = [beside.clone(), steps.clone()].concat();
    let jobs_first = [steps, beside].concat();
    let plan = Plan::new(both.iter().map(|step| step.name).collect());
    let (ends, total) = std::thread::scope(|scope| {
        let others = [&both, &jobs_first].map(|order| scope.spawn(|| run_steps(order, &plan, quick)));
        let (mut ends, mut total) = run_steps(&jobs_first, &plan, quick);
        for other in others {
            let (more_ends, more) = other.join().expect("no step panics");
            ends.extend(more_ends);
            total.add(&more);
        }
        ends.sort_by_key(|ended| both.iter().position(|other| other.name == ended.step.name));
        (ends, total)
    });

    say!("\n{:<15} {:>9} {:>10}  result", "step", "time", "processor");
    let mut failed = Vec::new();
    for Ended { step, end, time, worked } in &ends {
        let result = match end {
            End::Passed(remark) if remark.is_empty() => "passed".to_string(),
            End::Passed(remark) => format!("passed: {remark}"),
            End::Failed(why) => {
                failed.push(step.name);
                format!("FAILED: {}", why.lines().next().unwrap_or_default())
            }
            End::Untested(why) => format!("untested: {why}"),
        };
        say!("{:<15} {:>9} {:>10}  {result}", step.name, sh::seconds(*time), sh::seconds(*worked));
    }
    let (took, worked) = (start.elapsed(), sh::worked() - worked);
    let busy = worked.div_duration_f64(took);
    say!(
        "{:<15} {:>9} {:>10}  {busy:.1} processors were busy",
        "all",
        sh::seconds(took),
        sh::seconds(worked)
    );
    for name in &failed {
        say!("to repeat: cargo xtask test {name}");
    }
    let Tally { passed, failed: bad, skipped } = total;
    say!("{passed} passed, {bad} failed, {skipped} skipped");
    if !failed.is_empty() {
        return Err(format!("failed: {}", failed.join(", ")));
    }
    // The suites leave their compiled programs, some gigabytes, to later steps; now there is none.
    if only.is_empty() {
        for suite in ["c-suite", "upc-suite", "fortran-suite"] {
            // Without it, nothing was left.
            let _ = std::fs::remove_dir_all(sh::target().join(suite).join("kept"));
        }
    }
    Ok(())
}

fn all_steps() -> impl Iterator<Item = &'static Step> {
    BESIDE.iter().chain(STEPS)
}

/// Which steps have begun, and which have ended, on all threads.
struct Plan {
    /// Names of all that are chosen, each with its state.
    steps: Mutex<Vec<(&'static str, State)>>,
    ended: Condvar,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Waits,
    Runs,
    Ended,
}

impl Plan {
    fn new(names: Vec<&'static str>) -> Plan {
        let steps = names.into_iter().map(|name| (name, State::Waits)).collect();
        Plan { steps: Mutex::new(steps), ended: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(&'static str, State)>> {
        self.steps.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins the first of `wished` that waits for no other; `None` once none is left.
    fn next(&self, wished: &[&'static Step]) -> Option<Running<'_>> {
        let mut steps = self.lock();
        loop {
            let state = |name: &str| steps.iter().find(|(step, _)| *step == name).map(|(_, state)| *state);
            let waiting = || wished.iter().filter(|step| state(step.name) == Some(State::Waits));
            let ready = |step: &Step| {
                let mut after =
                    AFTER.iter().filter(|(name, _)| *name == step.name).flat_map(|(_, after)| *after);
                after.all(|name| matches!(state(name), None | Some(State::Ended)))
            };
            if let Some(step) = waiting().find(|step| ready(step)) {
                Self::set(&mut steps, step, State::Runs);
                return Some(Running { plan: self, step });
            }
            waiting().next()?;
            steps = self.ended.wait(steps).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn set(steps: &mut [(&'static str, State)], step: &Step, state: State) {
        steps.iter_mut().filter(|(name, _)| *name == step.name).for_each(|(_, old)| *old = state);
    }
}

/// A step that runs until this is dropped.
struct Running<'a> {
    plan: &'a Plan,
    step: &'static Step,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        Plan::set(&mut self.plan.lock(), self.step, State::Ended);
        self.plan.ended.notify_all();
    }
}

/// Runs what is left of these steps, one after the other.
fn run_steps(wished: &[&'static Step], plan: &Plan, quick: bool) -> (Vec<Ended>, Tally) {
    let mut context = Context { quick, total: Tally::default(), passed: BTreeSet::new() };
    let mut ends = Vec::new();
    while let Some(running) = plan.next(wished) {
        let step = running.step;
        say!("==== {}: {}", step.name, step.about);
        let (start, meter) = (Instant::now(), sh::Meter::default());
        meter.install();
        conformance::forget(step.name);
        let mut end = (step.run)(&mut context);
        let passed = std::mem::take(&mut context.passed);
        if !passed.is_empty()
            && let Err(why) = conformance::record(step.name, &passed)
        {
            end = End::Failed(why);
        }
        if let End::Failed(why) = &end {
            say!("==== {} FAILED: {why}", step.name);
        }
        ends.push(Ended { step, end, time: start.elapsed(), worked: meter.worked() });
    }
    (ends, context.total)
}

fn step_name(name: OsString) -> Result<String, String> {
    let name = name.to_string_lossy().into_owned();
    let all = || all_steps().chain(PARTS);
    if all().any(|step| step.name == name) {
        return Ok(name);
    }
    let names: Vec<&str> = all().map(|step| step.name).collect();
    Err(format!("no step '{name}'; there are: {}", names.join(", ")))
}

/// A component of the toolchain that need not be installed.
fn has_cargo(subcommand: &str) -> bool {
    sh::capture(sh::cargo(&[subcommand, "--version"]), Duration::from_secs(60))
        .is_ok_and(|outcome| outcome.status == Some(0))
}

fn unit(context: &mut Context) -> End {
    let nextest = has_cargo("nextest");
    // What criterion measures has no tests.
    let but = ["--workspace", "--exclude", "pgas-bench-inside", "--no-fail-fast"];
    // Most jobs among the tests wait for half of their time.
    let threads = 2 * std::thread::available_parallelism().map_or(1, usize::from);
    let threads = format!("--test-threads={threads}");
    let test = if nextest {
        sh::cargo(&[["nextest", "run", "--status-level=pass", &threads].as_slice(), &but].concat())
    } else {
        sh::cargo(&[["test", "--lib", "--bins", "--tests"].as_slice(), &but].concat())
    };
    let test = rustc::for_tests(test);
    let shown = sh::show(&test);
    let outcome = match sh::capture(test, UNIT_LIMIT) {
        Ok(outcome) => outcome,
        Err(why) => return End::Failed(why),
    };
    let lines = || outcome.stdout.lines().chain(outcome.stderr.lines());
    for line in lines().filter(is_pass) {
        let name = if nextest { line.rsplit(' ').next() } else { line.split(' ').nth(1) };
        context.passed.extend(name.map(|name| format!("rust/{name}")));
    }
    let passed = lines().filter(is_pass).count();
    if outcome.status == Some(0) && passed > 0 {
        return End::Passed(format!("{passed} passed"));
    }
    lines().filter(|line| !is_pass(line)).for_each(|line| say!("{line}"));
    End::Failed(format!("{shown}: {}", outcome.end()))
}

/// A line that says that a test has passed: `test NAME ... ok` of libtest, and of nextest
/// `PASS [   0.005s] (1/9) crate::file test`.
fn is_pass(line: &&str) -> bool {
    line.starts_with("test ") && line.ends_with(" ok") || line.trim_start().starts_with("PASS [")
}

/// Runs a test command and counts the tests that have passed: a run without any is a mistake.
fn counted(command: Command) -> Result<usize, String> {
    let shown = sh::show(&command);
    let outcome = sh::capture(command, CARGO_LIMIT)?;
    let tests = outcome.stdout.lines().chain(outcome.stderr.lines()).filter(is_pass).count();
    match outcome.status {
        Some(0) if tests > 0 => Ok(tests),
        Some(0) => Err(format!("{shown}\n  no test ran")),
        _ => {
            say!("{shown}\n{}{}", outcome.stdout, outcome.stderr);
            Err(format!("{shown}: {}", outcome.end()))
        }
    }
}

fn stage(_: &mut Context) -> End {
    stage::stage(&stage::folder(), Parts::ALL).into()
}

fn everywhere(context: &mut Context) -> End {
    suites::staged(context, Parts::UPC, |_| match everywhere::run(&stage::folder()) {
        Ok((hash, ran, untested)) => {
            let mut text = format!("{} by {}", &hash[..12], ran.join(", "));
            for why in untested {
                text = format!("{text}; not tested: {why}");
            }
            End::Passed(text)
        }
        Err(why) => End::Failed(why),
    })
}

fn symbols(_: &mut Context) -> End {
    let prefix = stage::folder();
    if let Err(why) = stage::stage(&prefix, Parts::ALL) {
        return End::Failed(why);
    }
    let archives = ["libupc.a", "libgasnet.a", "libvipl.a", "libcaf_gasnet.a"].map(|name| (name, false));
    let shared = ["libgasnet.so", "libvipl.so", "libcaf_gasnet.so"].map(|name| (name, true));
    for (name, dynamic) in archives.into_iter().chain(shared) {
        match stage::strangers(&prefix.join("lib").join(name), dynamic) {
            Ok(names) if names.is_empty() => {}
            Ok(names) => return End::Failed(format!("{name} shows {}", names.join(", "))),
            Err(why) => return End::Failed(why),
        }
    }
    End::Passed(format!("only {}", stage::VISIBLE.join(", ")))
}

#[cfg(test)]
mod tests {
    use crate::sh;
    use std::fs;
    use std::path::Path;

    /// Steps that the documents tell people to run are there.
    #[test]
    fn steps_in_documents_exist() {
        let mut pages = ["README.md", "CONTRIBUTING.md"].map(|page| sh::root().join(page)).to_vec();
        for folder in ["docs", "packaging", "tests/c", "tests/upc", "examples"] {
            let entries = fs::read_dir(sh::root().join(folder)).unwrap().flatten();
            pages.extend(
                entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|e| e == "md")),
            );
        }
        let mut found = 0;
        for page in pages {
            let text = fs::read_to_string(&page).unwrap();
            for rest in text.split("cargo xtask test ").skip(1) {
                let word: String = rest.chars().take_while(|c| c.is_ascii_lowercase() || *c == '-').collect();
                if !word.is_empty() && !word.starts_with('-') {
                    assert_eq!(super::step_name(word.clone().into()), Ok(word), "{}", page.display());
                    found += 1;
                }
            }
        }
        assert!(found >= 4, "{found}");
    }

    /// Each step comes after earlier ones, so that some step can always begin.
    #[test]
    fn steps_come_after_earlier_ones() {
        let at = |name: &str| super::all_steps().position(|step| step.name == name);
        for (name, after) in super::AFTER {
            assert!(at(name).is_some(), "no step {name}");
            // One with a row of its own, further down the list of what comes after what.
            for other in *after {
                let rank = |name: &str| super::AFTER.iter().position(|(step, _)| step == &name);
                assert!(at(other).is_some() && rank(other) < rank(name), "{name} after {other}");
            }
        }
    }

    /// Threads run every step once, and none before those that it comes after.
    #[test]
    fn steps_run_once_and_in_order() {
        let steps: Vec<_> = super::STEPS.iter().collect();
        let plan = super::Plan::new(steps.iter().map(|step| step.name).collect());
        let ended = std::sync::Mutex::new(Vec::new());
        let work = || {
            while let Some(running) = plan.next(&steps) {
                let step = running.step;
                let after = super::AFTER.iter().filter(|(name, _)| *name == step.name);
                let mut after = after.flat_map(|(_, after)| *after);
                assert!(after.all(|name| ended.lock().unwrap().contains(name)), "{}", step.name);
                ended.lock().unwrap().push(step.name);
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(work);
            scope.spawn(work);
            work();
        });
        let mut ended = ended.into_inner().unwrap();
        ended.sort();
        let mut all: Vec<_> = steps.iter().map(|step| step.name).collect();
        all.sort();
        assert_eq!(ended, all);
    }

    fn has_tests(path: &Path) -> bool {
        match fs::read_dir(path) {
            Ok(entries) => entries.flatten().any(|entry| has_tests(&entry.path())),
            Err(_) => fs::read_to_string(path).is_ok_and(|text| text.contains("#[test]")),
        }
    }

    /// Programs that a manifest excludes from testing (they are built once only) contain no tests.
    #[test]
    fn programs_that_are_not_tested_have_no_tests() {
        let mut excluded = 0;
        for package in ["tests", "benches", "lab/papers", "examples/rust"].map(|name| sh::root().join(name)) {
            let manifest = fs::read_to_string(package.join("Cargo.toml")).unwrap();
            for target in manifest.split("[[bin]]").skip(1).filter(|text| text.contains("\ntest = false")) {
                let name = target.split('"').nth(1).unwrap();
                let at = package.join("src/bin").join(name);
                let at = if at.is_dir() { at } else { at.with_extension("rs") };
                assert!(at.exists() && !has_tests(&at), "{}", at.display());
                excluded += 1;
            }
        }
        assert!(excluded > 10);
    }
}
