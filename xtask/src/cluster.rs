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

/// Programs, ranks and options of runs of installed executables, each rank a process.
const EXECUTABLES: &[(&str, u32, &[&str])] = &[
    ("examples/c/ring.c", 4, &[]),
    ("examples/c/putget.c", 3, &["--faults", "delay=1%,loss=1%"]),
    ("examples/upc/heat.upc", 4, &["--explore", "random"]),
    ("examples/upc/nqueens.upc", 3, &["--machine", "gm-myrinet2000"]),
];

/// Compiles each of them as a user does, and runs it twice under `gasnetrun --simulate`: both must print the
/// same, the time included.
fn executables(prefix: &Path, tally: &mut Tally) -> Result<(), String> {
    let folder = sh::target().join("tmp/executables");
    std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    for (source, ranks, options) in EXECUTABLES {
        let (source, program) = (sh::root().join(source), folder.join("program"));
        let mut compile = if source.extension().is_some_and(|kind| kind == "upc") {
            Command::new(prefix.join("bin/upcc"))
        } else {
            let mut cc = Command::new("cc");
            cc.args(["-O1", "-DGASNET_SEQ", "-I"]).arg(prefix.join("include"));
            cc
        };
        compile.arg("-o").arg(&program).arg(&source);
        if source.extension().is_some_and(|kind| kind == "c") {
            compile.arg(prefix.join("lib/libgasnet.a")).args(["-lpthread", "-ldl", "-lm", "-lrt"]);
        }
        sh::pass(compile, RUN_LIMIT)?;
        let go = || {
            let mut command = Command::new(prefix.join("bin/gasnetrun"));
            command.args(["--simulate", "--seed", "7", "-n"]).arg(ranks.to_string()).args(*options);
            command.arg(&program);
            (sh::show(&command), sh::capture(command, RUN_LIMIT))
        };
        let ((shown, first), (_, again)) = (go(), go());
        let (first, again) = (first?, again?);
        let same = (&first.stdout, &first.stderr) == (&again.stdout, &again.stderr);
        if first.status == Some(0) && first.stdout.contains("verification: passed") && same {
            tally.passed += 1;
        } else {
            tally.failed += 1;
            say!(
                "FAILED (or did not repeat); to repeat, with {}:\n{shown}\n{}",
                source.display(),
                first.report()
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
