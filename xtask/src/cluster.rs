//! Runs C and UPC programs on the simulated cluster: they verify themselves, and a seed repeats their trace.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::programs::Tally;
use crate::sh;

/// Time limit of a run, including compilation.
const RUN_LIMIT: Duration = Duration::from_secs(600);

/// Programs, ranks and options of the runs. Programs that put very many single words are left out.
const RUNS: &[(&str, u32, &[&str])] = &[
    ("examples/c/ring.c", 4, &[]),
    ("examples/c/putget.c", 3, &["--mode", "firehose", "--model", "gm-myrinet2000"]),
    ("examples/upc/hello.upc", 32, &[]),
    ("examples/upc/isort.upc", 4, &["--unreliable"]),
    ("examples/upc/heat.upc", 4, &["--mode", "shadow-lock", "--model", "lanai9-netvm"]),
    ("examples/upc/nqueens.upc", 3, &["--mode", "pindown-cache"]),
    ("examples/upc/matmul.upc", 4, &["--mode", "firehose-over-locks"]),
];

/// How a program is linked with the runtime.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Link {
    Static,
    Shared,
}

/// Programs and options of runs of installed executables, each rank a process.
const EXECUTABLES: &[(&str, Link, u32, &[&str])] = &[
    ("examples/c/ring.c", Link::Static, 4, &[]),
    ("examples/c/putget.c", Link::Shared, 3, &["--faults", "delay=1%,loss=1%"]),
    ("tests/c/am.c", Link::Shared, 3, &[]),
    ("tests/c/barriers.c", Link::Static, 4, &["--machine", "trapeze-alpha"]),
    ("tests/c/collectives.c", Link::Static, 4, &["--machine", "clan-piii"]),
    ("tests/c/ex_am.c", Link::Static, 3, &["--explore", "pos"]),
    ("tests/c/ex_early.c", Link::Static, 4, &["--faults", "tight"]),
    ("tests/c/ex_pairs.c", Link::Static, 2, &[]),
    ("tests/c/ex_pieces.c", Link::Static, 3, &["--faults", "tight"]),
    ("tests/c/ex_prepared.c", Link::Shared, 4, &["--explore", "random"]),
    ("tests/c/ex_rma.c", Link::Static, 3, &["--explore", "pctcp:3"]),
    ("tests/c/long.c", Link::Static, 2, &["--machine", "lanai9-netvm"]),
    ("tests/c/pieces.c", Link::Static, 3, &[]),
    ("tests/c/shared.c", Link::Shared, 4, &[]),
    ("tests/c/teams.c", Link::Static, 4, &["--faults", "slow=1@20x"]),
    ("examples/upc/heat.upc", Link::Static, 4, &["--explore", "random"]),
    ("examples/upc/nqueens.upc", Link::Static, 3, &["--machine", "gm-myrinet2000"]),
    ("examples/upc/isort.upc", Link::Static, 3, &["--faults", "duplicate=1%"]),
    ("tests/upc/sync/locks.upc", Link::Static, 3, &[]),
    ("tests/upc/library/collectives.upc", Link::Static, 3, &["--machine", "this-host"]),
    ("examples/fortran/heat.f90", Link::Shared, 3, &[]),
    ("examples/fortran/tasks.f90", Link::Shared, 3, &["--faults", "delay=5%"]),
    ("examples/fortran/pi.f90", Link::Shared, 5, &["--explore", "delay:3"]),
];

/// Compiles a program in C, UPC or Fortran as a user does.
pub fn compile(prefix: &Path, source: &Path, link: Link, program: &Path) -> Result<(), String> {
    let (include, lib) = (prefix.join("include"), prefix.join("lib"));
    let mut command = match source.extension().and_then(|kind| kind.to_str()) {
        Some("upc") => {
            let mut upcc = Command::new(prefix.join("bin/upcc"));
            upcc.args(["-g", "-w", "-I"]).arg(sh::root().join("tests/upc"));
            upcc
        }
        Some("f90") => Command::new(prefix.join("bin/caf")),
        _ => {
            let mut cc = Command::new("cc");
            cc.args(["-O1", "-g", "-w", "-DGASNET_SEQ", "-I"]).arg(include);
            cc
        }
    };
    command.arg(source).arg("-o").arg(program);
    if source.extension().is_some_and(|kind| kind == "c") {
        match link {
            Link::Static => command.arg(lib.join("libgasnet.a")),
            Link::Shared => {
                command.arg(lib.join("libgasnet.so")).arg(format!("-Wl,-rpath,{}", lib.display()))
            }
        };
        command.args(["-lpthread", "-ldl", "-lm", "-lrt"]);
    }
    sh::pass(command, RUN_LIMIT)
}

/// Compiles each of them as a user does, and runs it twice under `gasnetrun --simulate`: both must print the
/// same, the time included.
fn executables(prefix: &Path, tally: &mut Tally) -> Result<(), String> {
    let folder = sh::target().join("tmp/executables");
    std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let fortran = sh::which("gfortran").is_some();
    for (source, link, ranks, options) in EXECUTABLES {
        if source.ends_with(".f90") && !fortran {
            continue;
        }
        let (source, program) = (sh::root().join(source), folder.join("program"));
        compile(prefix, &source, *link, &program)?;
        let launcher = match source.extension().and_then(|kind| kind.to_str()) {
            Some("upc") => "upcrun",
            Some("f90") => "cafrun",
            _ => "gasnetrun",
        };
        let go = || {
            let mut command = Command::new(prefix.join("bin").join(launcher));
            command.args(["--simulate", "--seed", "7", "-n"]).arg(ranks.to_string()).args(*options);
            command.arg(&program);
            sh::restore_loader_path(&mut command);
            (sh::show(&command), sh::capture(command, RUN_LIMIT))
        };
        let ((shown, first), (_, again)) = (go(), go());
        let (first, again) = (first?, again?);
        let same = (&first.stdout, &first.stderr) == (&again.stdout, &again.stderr);
        if first.status == Some(0) && first.stdout.contains("passed") && same {
            tally.passed += 1;
        } else {
            tally.failed += 1;
            say!(
                "FAILED (or did not repeat); to repeat, with {}:\n{shown}\n{}\nand then:\n{}",
                source.display(),
                first.report(),
                again.report()
            );
        }
    }
    Ok(())
}

/// Runs all of them, each twice.
pub fn run(prefix: &Path, tally: &mut Tally) -> Result<(), String> {
    sh::pass(sh::cargo(&["build", "-q", "-p", "gasnet-sim", "--bins"]), Duration::from_secs(1500))?;
    executables(prefix, tally)?;
    for (program, ranks, options) in RUNS {
        let go = || {
            let mut command = Command::new(sh::target().join("debug/netvm-run"));
            command.arg("--prefix").arg(prefix).arg("-n").arg(ranks.to_string()).args(["--seed", "7"]);
            command.args(*options).arg(sh::root().join(program));
            (sh::show(&command), sh::capture(command, RUN_LIMIT))
        };
        let ((shown, first), (_, again)) = (go(), go());
        let (first, again) = (first?, again?);
        let trace = |text: &str| text.rsplit("trace ").next().map(str::to_string);
        let wrong = program.ends_with(".upc")
            && first.stdout.contains("verification: ")
            && !first.stdout.contains("verification: passed");
        if first.status == Some(0) && !wrong && trace(&first.stderr) == trace(&again.stderr) {
            tally.passed += 1;
        } else {
            tally.failed += 1;
            say!("FAILED (or did not repeat); to repeat:\n{shown}\n{}", first.report());
        }
    }
    Ok(())
}
