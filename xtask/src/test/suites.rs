//! Steps that compile and run programs of users: the suites, the examples, and jobs on several hosts.

use super::{CARGO_LIMIT, Context, End};
use crate::build;
use crate::cluster;
use crate::conformance;
use crate::netvm;
use crate::programs::{self, Tally};
use crate::sh;
use crate::stage::{self, Parts};
use std::collections::BTreeSet;

/// Brings the stage up to date, then goes on.
pub(super) fn staged(context: &mut Context, parts: Parts, go: impl FnOnce(&mut Context) -> End) -> End {
    match stage::stage(&stage::folder(), parts) {
        Ok(()) => go(context),
        Err(why) => End::Failed(why),
    }
}

pub(super) fn c_clients(context: &mut Context) -> End {
    if build::files(&sh::root().join("tests/c"), "c").is_empty() {
        return End::Untested("there are none".to_string());
    }
    // The suite names what it left out when the compiler is still not there.
    if sh::which("clang").is_none() || sh::which("clang++").is_none() {
        sh::install_debian(&["clang"]);
    }
    staged(context, Parts::C, |context| suite(context, "c-suite", &[]))
}

pub(super) fn tour(context: &mut Context) -> End {
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

pub(super) fn c_examples(context: &mut Context) -> End {
    staged(context, Parts::C, |context| {
        context.programs(|tally| programs::c_examples(&stage::folder(), tally))
    })
}

pub(super) fn rust_examples(context: &mut Context) -> End {
    staged(context, Parts::NONE, |context| {
        context.programs(|tally| programs::rust_examples(&stage::folder(), tally))
    })
}

pub(super) fn upc_examples(context: &mut Context) -> End {
    staged(context, Parts::UPC, |context| {
        context.programs(|tally| programs::upc_examples(&stage::folder(), tally))
    })
}

/// Coarrays by gfortran, which is installed where this may, and by flang over Caffeine where both are there.
pub(super) fn fortran(context: &mut Context) -> End {
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

pub(super) fn simulated(context: &mut Context) -> End {
    staged(context, Parts::ALL, |context| {
        let mut tally = Tally::default();
        match cluster::run(&stage::folder(), &mut tally) {
            Ok(()) => context.add(tally),
            Err(why) => End::Failed(why),
        }
    })
}

pub(super) fn upc_tests(context: &mut Context) -> End {
    if sh::which("gdb").is_none() {
        sh::install_debian(&["gdb"]);
    }
    staged(context, Parts::UPC, |context| suite(context, "upc-suite", &[]))
}

pub(super) fn upc_tests_off(context: &mut Context) -> End {
    staged(context, Parts::UPC, |context| suite(context, "upc-suite", OFF))
}

pub(super) fn namespaces(context: &mut Context) -> End {
    sh::install_namespaces();
    staged(context, Parts::ALL, |context| {
        match sh::pass(sh::cargo(&["build", "--quiet", "-p", "gasnet-tests", "--bins"]), CARGO_LIMIT) {
            Ok(()) => suite(context, "namespaces", &[]),
            Err(why) => End::Failed(why),
        }
    })
}

/// Installs the daemons first where this may; they are started by the tests only.
pub(super) fn launchers(context: &mut Context) -> End {
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

pub(super) fn upc_tests_udp(context: &mut Context) -> End {
    staged(context, Parts::UPC, |context| suite(context, "upc-suite", OVER_UDP))
}

pub(super) fn netvm_live(context: &mut Context) -> End {
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

pub(super) fn upc_tests_pairs(context: &mut Context) -> End {
    staged(context, Parts::UPC, |context| suite(context, "upc-suite", OVER_UDP_IN_PAIRS))
}

pub(super) fn c_clients_udp(context: &mut Context) -> End {
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

pub(super) fn upc_random(context: &mut Context) -> End {
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
pub(super) fn conformance(_: &mut Context) -> End {
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
pub(super) fn suite(context: &mut Context, name: &str, arguments: &[&str]) -> End {
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
