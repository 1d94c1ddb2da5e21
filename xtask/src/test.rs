//! `cargo xtask test`: everything there is to test, step by step.
//!
//! Three steps run at a time. Jobs wait for much of their time, for a timer or for a network, and compilers
//! never do: of three threads, one prefers steps that only build and check, which run *beside* the others.
//! They need nothing that another step has installed, and install no program that another step runs. When
//! none is left, all threads take the others, each once the steps that it comes [`AFTER`] have ended.

mod checks;
mod engines;
mod installed;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::process::Command;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use gasnet_options::{Argument, opt};

use crate::build;
use crate::cluster;
use crate::conformance;
use crate::everywhere;
use crate::netvm;
use crate::programs::{self, Program, RANKS, Tally};
use crate::sh;
use crate::stage::{self, Parts};
use crate::task::{Task, read, task};

/// Longest time of a cargo step.
const CARGO_LIMIT: Duration = Duration::from_secs(1500);
/// Longest time of the unit tests, which are built beside other steps.
const UNIT_LIMIT: Duration = Duration::from_secs(2400);
/// Longest time for a run of a program.
const RUN_LIMIT: Duration = Duration::from_secs(200);

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
    Step { name: "c-clients", about: "C and C++ programs over gasnet.h", quick: true, run: c_clients },
    Step {
        name: "tour",
        about: "the programs and commands of the tour in README.md",
        quick: true,
        run: tour,
    },
    Step { name: "c-examples", about: "examples/c", quick: true, run: c_examples },
    Step { name: "rust-examples", about: "examples/rust", quick: true, run: rust_examples },
    Step { name: "upc-examples", about: "examples/upc", quick: true, run: upc_examples },
    Step {
        name: "fortran",
        about: "tests/fortran and examples/fortran by gfortran, and by flang where CAFFEINE_PREFIX says where Caffeine is",
        quick: true,
        run: fortran,
    },
    Step {
        name: "cluster",
        about: "C and UPC programs on the simulated cluster",
        quick: false,
        run: simulated,
    },
    Step { name: "upc-tests", about: "tests/upc", quick: true, run: upc_tests },
    Step {
        name: "upc-random",
        about: "random UPC programs that check themselves",
        quick: true,
        run: upc_random,
    },
    Step {
        name: "c-clients-udp",
        about: "C and C++ programs over the udp conduit",
        quick: false,
        run: c_clients_udp,
    },
    Step { name: "upc-tests-udp", about: "tests/upc over the udp conduit", quick: false, run: upc_tests_udp },
    Step {
        name: "upc-tests-pairs",
        about: "parts of tests/upc over udp, neighbours in pairs",
        quick: false,
        run: upc_tests_pairs,
    },
    Step {
        name: "namespaces",
        about: "jobs on several hosts, over good and bad networks",
        quick: false,
        run: namespaces,
    },
    Step { name: "launchers", about: "jobs through a real sshd and Slurm", quick: false, run: launchers },
    Step { name: "everywhere", about: "one executable over every network", quick: false, run: everywhere },
    Step {
        name: "netvm-live",
        about: "UPC and C programs over the netvm conduit in all its modes, one in sixteen times its memory",
        quick: false,
        run: netvm_live,
    },
    Step {
        name: "upc-tests-off",
        about: "tests/upc without neighbourhood",
        quick: false,
        run: upc_tests_off,
    },
    Step {
        name: "conformance",
        about: "docs/upc-conformance.md against the tests that passed",
        quick: true,
        run: conformance,
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
    staged(context, Parts::UPC, |_| match everywhere::run(&stage::folder()) {
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

/// Brings the stage up to date, then goes on.
fn staged(context: &mut Context, parts: Parts, go: impl FnOnce(&mut Context) -> End) -> End {
    match stage::stage(&stage::folder(), parts) {
        Ok(()) => go(context),
        Err(why) => End::Failed(why),
    }
}

fn c_clients(context: &mut Context) -> End {
    if build::files(&sh::root().join("tests/c"), "c").is_empty() {
        return End::Untested("there are none".to_string());
    }
    // The suite names what it left out when the compiler is still not there.
    if sh::which("clang").is_none() || sh::which("clang++").is_none() {
        sh::install_debian(&["clang"]);
    }
    staged(context, Parts::C, |context| suite(context, "c-suite", &[]))
}

fn tour(context: &mut Context) -> End {
    staged(context, Parts::ALL, |context| {
        context.programs(|tally| {
            if let Err(why) = programs::tour_of_a_failure(&stage::folder(), tally) {
                tally.failed += 1;
                say!("FAILED: {why}");
            }
            programs::tour(&stage::folder(), tally)
        })
    })
}

fn c_examples(context: &mut Context) -> End {
    staged(context, Parts::C, |context| {
        context.programs(|tally| programs::c_examples(&stage::folder(), tally))
    })
}

fn rust_examples(context: &mut Context) -> End {
    staged(context, Parts::NONE, |context| {
        context.programs(|tally| programs::rust_examples(&stage::folder(), tally))
    })
}

fn upc_examples(context: &mut Context) -> End {
    staged(context, Parts::UPC, |context| {
        context.programs(|tally| programs::upc_examples(&stage::folder(), tally))
    })
}

/// Coarrays by gfortran, which is installed where this may, and by flang over Caffeine where both are there.
fn fortran(context: &mut Context) -> End {
    if sh::which("gfortran").is_none() {
        sh::install_debian(&["gfortran"]);
    }
    let mut untested = Vec::new();
    let mut ends = Vec::new();
    match sh::which("gfortran") {
        Some(_) => ends.push(staged(context, Parts::FORTRAN, by_gfortran)),
        None => untested.push("no gfortran (Debian's: gfortran)".to_string()),
    }
    match by_flang(context) {
        End::Untested(why) => untested.push(why),
        end => ends.push(end),
    }
    let mut passed = Vec::new();
    for end in ends {
        match end {
            End::Passed(remark) => passed.push(remark),
            End::Untested(why) => untested.push(why),
            failed @ End::Failed(_) => return failed,
        }
    }
    let untested = untested.join("; ");
    match (passed.is_empty(), untested.is_empty()) {
        (true, _) => End::Untested(untested),
        (false, true) => End::Passed(passed.join("; ")),
        (false, false) => End::Passed(format!("{}; not tested: {untested}", passed.join("; "))),
    }
}

/// The programs of `tests/fortran`, over each kind of network that differs, and the examples.
fn by_gfortran(context: &mut Context) -> End {
    let mut passed = Vec::new();
    let runs: [&[&str]; 3] = [&[], &["--flags", "-O0", "--ranks", "3"], OVER_UDP];
    for arguments in runs.into_iter().take(if context.quick { 1 } else { 3 }) {
        match suite(context, "fortran-suite", arguments) {
            End::Passed(remark) => passed.push(remark),
            end => return end,
        }
    }
    // Beside the system's own.
    if !context.quick && sh::which("gfortran-11").is_some() {
        match suite(context, "fortran-suite", &["--flags", "--compiler=gfortran-11", "--ranks", "3"]) {
            End::Passed(remark) => passed.push(format!("gfortran-11: {remark}")),
            end => return end,
        }
    }
    match context.programs(|tally| programs::gfortran_examples(&stage::folder(), tally)) {
        End::Passed(remark) => passed.push(format!("examples: {remark}")),
        end => return end,
    }
    if !context.quick {
        match random(context, "fortran-random", 8) {
            End::Passed(remark) => passed.push(format!("random: {remark}")),
            end => return end,
        }
    }
    End::Passed(format!("gfortran: {}", passed.join(", ")))
}

/// The examples by a compiler that calls the interface PRIF, and a runtime for it that is built against an
/// installation of this project.
fn by_flang(context: &mut Context) -> End {
    let Some(flang) = ["flang-22", "flang"].into_iter().find_map(sh::which) else {
        return End::Untested("no flang that knows coarrays (Debian's: flang-22)".to_string());
    };
    let Some(caffeine) = std::env::var_os("CAFFEINE_PREFIX").map(std::path::PathBuf::from) else {
        return End::Untested(
            "CAFFEINE_PREFIX does not say where Caffeine is; docs/clients.md has the commands that build it"
                .to_string(),
        );
    };
    staged(context, Parts::C, |context| {
        context.programs(|tally| programs::flang_examples(&stage::folder(), &flang, &caffeine, tally))
    })
}

fn simulated(context: &mut Context) -> End {
    staged(context, Parts::ALL, |context| {
        let mut tally = Tally::default();
        match cluster::run(&stage::folder(), &mut tally) {
            Ok(()) => context.add(tally),
            Err(why) => End::Failed(why),
        }
    })
}

fn upc_tests(context: &mut Context) -> End {
    if sh::which("gdb").is_none() {
        sh::install_debian(&["gdb"]);
    }
    staged(context, Parts::UPC, |context| suite(context, "upc-suite", &[]))
}

fn upc_tests_off(context: &mut Context) -> End {
    staged(context, Parts::UPC, |context| suite(context, "upc-suite", OFF))
}

fn namespaces(context: &mut Context) -> End {
    sh::install_namespaces();
    staged(context, Parts::ALL, |context| {
        match sh::pass(sh::cargo(&["build", "--quiet", "-p", "gasnet-tests", "--bins"]), CARGO_LIMIT) {
            Ok(()) => suite(context, "namespaces", &[]),
            Err(why) => End::Failed(why),
        }
    })
}

/// Installs the daemons first where this may; they are started by the tests only.
fn launchers(context: &mut Context) -> End {
    for (program, package) in [("sshd", "openssh-server"), ("slurmctld", "slurm-wlm")] {
        if !std::path::Path::new("/usr/sbin").join(program).exists() && sh::which(program).is_none() {
            sh::install_debian(&[package]);
        }
    }
    staged(context, Parts::UPC, |context| {
        match sh::pass(sh::cargo(&["build", "--quiet", "-p", "gasnet-tests", "--bins"]), CARGO_LIMIT) {
            Ok(()) => suite(context, "launchers", &[]),
            Err(why) => End::Failed(why),
        }
    })
}

fn upc_tests_udp(context: &mut Context) -> End {
    staged(context, Parts::UPC, |context| suite(context, "upc-suite", OVER_UDP))
}

fn netvm_live(context: &mut Context) -> End {
    staged(context, Parts::ALL, |context| {
        let jobs = match netvm::run() {
            Ok(jobs) => jobs,
            Err(why) => return End::Failed(why),
        };
        let parts = netvm::parts();
        for part in &parts {
            let arguments = part.arguments();
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            if let End::Failed(why) = suite(context, part.suite, &arguments) {
                return End::Failed(why);
            }
        }
        let parts = parts.len();
        End::Passed(format!("{jobs} jobs in all registration modes, {parts} parts of tests/upc and tests/c"))
    })
}

fn upc_tests_pairs(context: &mut Context) -> End {
    staged(context, Parts::UPC, |context| suite(context, "upc-suite", OVER_UDP_IN_PAIRS))
}

fn c_clients_udp(context: &mut Context) -> End {
    staged(context, Parts::C, |context| suite(context, "c-suite", OVER_UDP))
}

/// Every rank alone, over rings in shared memory. Programs with a fixed number of threads are left to the
/// other steps.
const OFF: &[&str] = &["--env", "GASNET_NEIGHBORHOOD=off", "--ranks", "1 3 8"];

/// Every rank alone, over sockets; four ranks where a test asks for as many.
const OVER_UDP: &[&str] =
    &["--env", "GASNET_NEIGHBORHOOD=off", "--env", "GASNET_CONDUIT=udp", "--ranks", "2 4"];

/// Five ranks, of which two and two share memory: what goes both ways within one operation, and barriers of
/// leaders.
const OVER_UDP_IN_PAIRS: &[&str] = &[
    "--env",
    "GASNET_NEIGHBORHOOD=2",
    "--env",
    "GASNET_CONDUIT=udp",
    "--ranks",
    "5",
    "access/",
    "alloc/",
    "layout/",
    "library/",
    "sync/",
];

fn upc_random(context: &mut Context) -> End {
    staged(context, Parts::UPC, |context| random(context, "upc-random", if context.quick { 4 } else { 12 }))
}

/// Random programs of a tool: always the same ones, so that a failure here is one everywhere; `soak` takes
/// others.
fn random(context: &mut Context, tool: &str, count: u64) -> End {
    let mut tally = Tally::default();
    let result = programs::random(tool, 1, count, &mut tally);
    let end = context.add(tally);
    result.map_or_else(End::Failed, |()| end)
}

/// Holds the document against what this run, or the last one of a step that was not part of it, has shown.
fn conformance(_: &mut Context) -> End {
    let standing = match conformance::check() {
        Ok(standing) => standing,
        Err(why) => return End::Failed(why),
    };
    for rule in &standing.no {
        say!("not met: {rule}");
    }
    for problem in &standing.problems {
        say!("docs/upc-conformance.md, {problem}");
    }
    let text = format!("{} rules met, {} not met", standing.yes, standing.no.len());
    match standing.problems.len() {
        0 if !standing.missing.is_empty() => {
            let steps: Vec<&str> = standing.missing.iter().copied().collect();
            End::Untested(format!(
                "it looks at what the steps before it have passed, and some did not run; try: cargo xtask test {} conformance",
                steps.join(" ")
            ))
        }
        0 if standing.yes > 0 => End::Passed(text),
        0 => End::Failed("no rules".to_string()),
        n => End::Failed(format!("{n} rows are wrong; {text}")),
    }
}

/// Runs a suite of the package `gasnet-tests`. It prints a line `ok NAME`, `FAILED NAME` or `skipped NAME`
/// for each test, and reports after that.
fn suite(context: &mut Context, name: &str, arguments: &[&str]) -> End {
    let mut command = sh::cargo(&["run", "--quiet", "-p", "gasnet-tests", "--bin", name, "--", "--prefix"]);
    command.arg(stage::folder()).args(arguments);
    if context.quick {
        let ranks: Vec<String> = context.ranks().iter().map(u32::to_string).collect();
        command.args(["--ranks", &ranks.join(" ")]);
    }
    let shown = sh::show(&command);
    let mut tally = Tally::default();
    let mut untested = Vec::new();
    let mut names = BTreeSet::new();
    // Programs in tests/upc go by their folder and name.
    let prefix = match name {
        "c-suite" => "c/",
        "fortran-suite" => "fortran/",
        _ => "",
    };
    let mut pass = |line: &str| {
        let name = line.split_once(' ').map_or("", |(_, name)| name.trim());
        names.insert(format!("{prefix}{}", name.replacen(".upc", "", 1)));
    };
    let outcome = sh::watch(command, CARGO_LIMIT, |line| match line.split_whitespace().next() {
        Some("ok") => {
            tally.passed += 1;
            pass(line);
        }
        Some("checked") => pass(line),
        Some("FAILED") => {
            tally.failed += 1;
            say!("{line}");
        }
        Some("skipped") => {
            tally.skipped += 1;
            say!("{line}");
        }
        Some("not") if line.starts_with("not tested: ") => untested.push(line.to_string()),
        _ => {}
    });
    let outcome = match outcome {
        Ok(outcome) => outcome,
        Err(why) => return End::Failed(why),
    };
    context.passed.extend(names);
    let (passed, failed) = (tally.passed, tally.failed);
    let end = context.add(tally);
    if outcome.status == Some(0) && failed == 0 && passed == 0 && !untested.is_empty() {
        return End::Untested(untested.join("; "));
    }
    if outcome.status == Some(0) && failed == 0 && passed > 0 {
        return match end {
            End::Passed(remark) if !untested.is_empty() => {
                End::Passed(format!("{remark}; {}", untested.join("; ")))
            }
            end => end,
        };
    }
    let reports = outcome.stdout.find("\n----").map_or(outcome.stdout.as_str(), |at| &outcome.stdout[at..]);
    say!("{reports}{}", outcome.stderr);
    match end {
        End::Failed(why) => End::Failed(format!("{why}; {shown}")),
        _ => End::Failed(format!("{shown}: {}", outcome.end())),
    }
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
