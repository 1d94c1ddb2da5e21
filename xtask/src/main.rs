//! Tasks of this repository: `cargo xtask run | test | stage | install | bench | soak`.

mod build;
mod cluster;
mod conformance;
mod everywhere;
mod netvm;
mod plugins;
mod programs;
mod run;
mod sh;
mod soak;
mod stage;
mod test;

use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Duration;

use lexopt::prelude::*;

const HELP: &str = "\
usage: cargo xtask TASK [options]

  run [--conduit C] -n N FILE [arguments]   builds what is needed and runs a program: a .upc file,
                                            a .c file over gasnet.h, or a Rust example's name
  test [STEP]... [--quick]                  runs all tests
  stage                                     brings target/stage up to date: bin, include, lib
  install --prefix DIR                      installs upcc, upcrun, gasnetrun, headers, libraries
  bench smp|upc|coll|udp|udp-loss|mpi|ofi|ofi-registration|attentiveness [--json]  measures
  bench registration|netvm [--json]         simulates what the papers measured
  bench netvm-live [--json]                 registration modes on real memory, beside predictions
  soak [--minutes M]                        random and long tests

'cargo xtask TASK --help' says more.
";

const STAGE_HELP: &str = "\
Builds the tools and libraries, and brings the layout under target/stage up to date.

usage: cargo xtask stage
";

const INSTALL_HELP: &str = "\
Builds and installs upcc, upcrun, gasnetrun, headers, libraries and pkg-config files.

usage: cargo xtask install --prefix DIR
";

const BENCH_HELP: &str = "\
Measures, each figure beside a floor measured in the same run (program pgas-bench in benches/).

usage: cargo xtask bench smp|upc|coll|udp|udp-loss|mpi|ofi|ofi-registration|attentiveness|registration|netvm|netvm-live [--json] [options of pgas-bench]

registration and netvm simulate what the papers measured, print paper | here | difference, and write
plots and values under target/bench/plots. netvm-live measures the same modes on real memory.

cargo xtask bench smp --help says what each suite compares, and the options: --list, --filter TEXT, --quick, --rounds N, ...
";

fn main() -> ExitCode {
    let mut parser = lexopt::Parser::from_env();
    let task = match parser.next() {
        Ok(Some(Value(task))) => task.to_string_lossy().into_owned(),
        Ok(Some(Short('h') | Long("help"))) => {
            print!("{HELP}");
            return ExitCode::SUCCESS;
        }
        _ => {
            eprint!("{HELP}");
            return ExitCode::from(2);
        }
    };
    let done = match task.as_str() {
        "run" => run::main(parser),
        "test" => test::main(parser),
        "stage" => plain(parser, STAGE_HELP)
            .and_then(|go| if go { stage::stage(&stage::folder(), stage::Parts::ALL) } else { Ok(()) }),
        "install" => install(parser),
        "bench" => bench(parser),
        "soak" => soak::main(parser),
        "help" => {
            print!("{HELP}");
            Ok(())
        }
        other => Err(format!("unknown task '{other}'\n\n{HELP}")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {}", message.trim_end());
            ExitCode::FAILURE
        }
    }
}

/// A task without options: whether to go on after `--help`.
fn plain(mut parser: lexopt::Parser, help: &str) -> Result<bool, String> {
    match parser.next().map_err(|e| e.to_string())? {
        None => Ok(true),
        Some(Short('h') | Long("help")) => {
            print!("{help}");
            Ok(false)
        }
        Some(other) => Err(format!("{}\n\n{help}", other.unexpected())),
    }
}

fn install(mut parser: lexopt::Parser) -> Result<(), String> {
    let mut prefix = None::<PathBuf>;
    while let Some(argument) = parser.next().map_err(|e| e.to_string())? {
        match argument {
            Long("prefix") => prefix = Some(parser.value().map_err(|e| e.to_string())?.into()),
            Short('h') | Long("help") => {
                print!("{INSTALL_HELP}");
                return Ok(());
            }
            other => return Err(format!("{}\n\n{INSTALL_HELP}", other.unexpected())),
        }
    }
    let prefix = prefix.ok_or_else(|| format!("where to?\n\n{INSTALL_HELP}"))?;
    let prefix = std::path::absolute(&prefix).map_err(|e| format!("{}: {e}", prefix.display()))?;
    stage::stage(&prefix, stage::Parts::ALL)?;
    stage::stage_firehose(&prefix)?;
    plugins::stage_all(&prefix);
    println!("installed in {0}; try {0}/bin/upcc --help", prefix.display());
    Ok(())
}

/// What a suite of benches wants to be there.
#[derive(Clone, Copy, PartialEq)]
enum Needs {
    /// Nothing: it runs no program that has to be compiled.
    Nothing,
    Tools,
    /// The tools and what makes network namespaces.
    Namespaces,
    /// The tools and every plugin that can be built.
    Plugins,
    /// The tools and the plugin over libfabric.
    Ofi,
}

const SUITES: &[(&str, Needs)] = &[
    ("smp", Needs::Tools),
    ("upc", Needs::Tools),
    ("coll", Needs::Tools),
    ("udp", Needs::Tools),
    ("udp-loss", Needs::Namespaces),
    ("mpi", Needs::Plugins),
    ("ofi", Needs::Ofi),
    ("ofi-registration", Needs::Ofi),
    ("attentiveness", Needs::Plugins),
    ("registration", Needs::Nothing),
    ("netvm", Needs::Nothing),
    ("netvm-live", Needs::Nothing),
];

fn bench(mut parser: lexopt::Parser) -> Result<(), String> {
    let (suite, needs) = match parser.next().map_err(|e| e.to_string())? {
        Some(Value(wanted)) => *SUITES
            .iter()
            .find(|(name, _)| wanted == *name)
            .ok_or_else(|| format!("there is no suite '{}'\n\n{BENCH_HELP}", wanted.to_string_lossy()))?,
        Some(Short('h') | Long("help")) => {
            print!("{BENCH_HELP}");
            return Ok(());
        }
        _ => return Err(format!("which suite?\n\n{BENCH_HELP}")),
    };
    let prefix = stage::folder();
    if needs != Needs::Nothing {
        stage::stage(&prefix, stage::Parts::ALL)?;
    }
    match needs {
        Needs::Nothing | Needs::Tools => {}
        Needs::Namespaces => sh::install_namespaces(),
        Needs::Plugins => plugins::stage_all(&prefix),
        Needs::Ofi if !plugins::has_libfabric() => {
            return Err(
                "no libfabric found: install it (Debian's: libfabric-dev and libclang-dev)".to_string()
            );
        }
        Needs::Ofi => drop(plugins::stage_ofi(&prefix)?),
    }
    sh::pass(sh::cargo(&["build", "--release", "-p", "pgas-bench", "--bins"]), Duration::from_secs(1500))?;
    let mut command = Command::new(sh::target().join("release/pgas-bench"));
    command.arg(suite).arg("--prefix").arg(&prefix);
    command.env("GASNET_PLUGIN_PATH", prefix.join("lib"));
    command.args(parser.raw_args().map_err(|e| e.to_string())?);
    sh::pass(command, Duration::from_secs(3600))
}
