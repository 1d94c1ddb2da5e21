//! Tasks of this repository: `cargo xtask TASK`.

#[macro_use]
mod say;

mod build;
mod check;
mod clients;
mod cluster;
mod conformance;
mod everywhere;
mod explore;
mod files;
mod installed;
mod man;
mod netvm;
mod package;
mod plugins;
mod programs;
mod run;
mod rustc;
mod sh;
mod soak;
mod stage;
mod task;
mod test;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Duration;

use gasnet_options::{Argument, opt};

use task::{Task, read, surplus, task, with_help};

const HELP: &str = "\
usage: cargo xtask TASK [options]

  run [--conduit C] -n N FILE [arguments]
                           builds and runs a program: a .upc file, a .c file
                           that includes gasnet.h, a .f90 file with coarrays, or
                           the name of a Rust example
  check [CRATE]...         checks a change within two minutes
  test [STEP]... [--quick] runs all tests
  stage                    updates target/stage: bin, include, lib
  install --prefix DIR     installs upcc, upcrun, gasnetrun, caf, cafrun,
                           headers, libraries, manual pages
  uninstall --prefix DIR   removes what install has put there
  package deb              makes a Debian package of the same files
  bench SET [--json]       measures, beside floors: smp, upc, coll, udp,
                           udp-loss, mpi, ofi, ofi-registration, attentiveness,
                           clan, pgas, ex; simulates the measurements of the
                           papers: registration, netvm, clan-paper, trapeze,
                           and 10,000 ranks: scale;
                           compares registration modes on real memory:
                           netvm-live
  soak [--minutes M]       runs random and long tests

'cargo xtask TASK --help' describes the options of a task.
";

const STAGE: Task<()> = task(
    "cargo xtask stage",
    "Builds the tools and libraries, and updates their layout under target/stage.",
    &["cargo xtask stage"],
    &[],
    "",
);

#[derive(Clone, Copy)]
enum InstallOption {
    Prefix,
    CCompiler,
    CxxCompiler,
    DestDir,
}

const INSTALL: Task<InstallOption> = task(
    "cargo xtask install",
    "Builds and installs upcc, upcrun, gasnetrun, caf, cafrun, headers, libraries, manual pages, and files for the \
     builds of clients: pkg-config files, fragments for make, packages for CMake.",
    &["cargo xtask install --prefix DIR [--cc PROGRAM] [--cxx PROGRAM] [--destdir DIR]"],
    &[
        opt(InstallOption::Prefix, "--prefix DIR", "directory under which the files will be used (required)"),
        opt(
            InstallOption::CCompiler,
            "--cc PROGRAM",
            "C compiler for the builds of clients (default cc); one library serves all compilers",
        ),
        opt(
            InstallOption::CxxCompiler,
            "--cxx PROGRAM",
            "C++ compiler for the builds of clients (default c++)",
        ),
        opt(
            InstallOption::DestDir,
            "--destdir DIR",
            "put the files under DIR/PREFIX, for packaging (default: no DIR)",
        ),
    ],
    "\
'cargo xtask uninstall --prefix DIR' removes what was installed. Environment modules: 'module use \
DIR/share/modulefiles', then 'module load gasnet-rs'.",
);

const BENCH: Task<()> = task(
    "cargo xtask bench",
    "Runs the benchmarks (program pgas-bench in benches/, gasnet-papers in lab/papers). Each figure is printed beside a \
     floor measured in the same run, or beside what a paper says.",
    &["cargo xtask bench SET [--json] [options of the program]"],
    &[],
    "\
SET is smp, upc, coll, udp, udp-loss, mpi, ofi, ofi-registration, attentiveness, clan, pgas, caf, ex, vis, registration,
netvm, netvm-live, clan-paper, trapeze or scale.

registration, netvm, clan-paper and trapeze simulate the measurements of the papers, print paper | here | difference,
and write plots and values under target/bench/plots. scale simulates 64 to 10,000 ranks. netvm-live measures the same
modes on real memory.

'cargo xtask bench smp --help' describes each set and the options: --list, --filter TEXT, --quick, --rounds N, ...",
);

fn main() -> ExitCode {
    let mut words: std::collections::VecDeque<OsString> = std::env::args_os().skip(1).collect();
    let Some(task) = words.pop_front() else {
        eprint!("{HELP}");
        return ExitCode::from(2);
    };
    let words = Vec::from(words);
    let done = match &*task.to_string_lossy() {
        _ if rustc::is_compiler(&task) => Err(rustc::main(&task, &words)),
        "run" => run::main(words),
        "check" => check::main(words),
        "test" => test::main(words),
        "stage" => read(&STAGE, words, |word, _| no_operand(word))
            .and_then(|go| if go { stage::stage(&stage::folder(), stage::Parts::ALL) } else { Ok(()) }),
        "install" => install(words),
        "uninstall" => installed::uninstall(words),
        "package" => package::main(words),
        "bench" => bench(words),
        "soak" => soak::main(words),
        "help" | "--help" | "-h" => {
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

/// Refuses an operand of a task that has none.
fn no_operand<K>(word: Argument<K>) -> Result<(), String> {
    match word {
        Argument::Operand(word) | Argument::Unknown(word) => Err(surplus(&word)),
        Argument::Option(_) => Ok(()),
    }
}

fn install(words: Vec<OsString>) -> Result<(), String> {
    let (mut prefix, mut destdir) = (None::<PathBuf>, None::<PathBuf>);
    let (mut cc, mut cxx) = (None, None);
    let compiler = |name: std::ffi::OsString| {
        let path = PathBuf::from(&name);
        let found = if path.components().count() > 1 { std::path::absolute(&path).ok() } else { None };
        let found = found.or_else(|| sh::which(&name.to_string_lossy())).filter(|path| path.is_file());
        found.ok_or_else(|| format!("{}: there is no such compiler", path.display()))
    };
    let going_on = read(&INSTALL, words, |word, _| {
        let Argument::Option(found) = word else { return no_operand(word) };
        match found.key {
            InstallOption::Prefix => prefix = Some(found.value().into()),
            InstallOption::DestDir => destdir = Some(found.value().into()),
            InstallOption::CCompiler => cc = Some(compiler(found.value())?),
            InstallOption::CxxCompiler => cxx = Some(compiler(found.value())?),
        }
        Ok(())
    })?;
    if !going_on {
        return Ok(());
    }
    let prefix = prefix.ok_or_else(|| with_help("where to?", &INSTALL))?;
    let prefix = std::path::absolute(&prefix).map_err(|e| format!("{}: {e}", prefix.display()))?;
    let mut site = stage::site(&prefix)?;
    site.cc = cc.unwrap_or(site.cc);
    site.cxx = cxx.unwrap_or(site.cxx);
    let place = match destdir {
        Some(folder) => folder.join(prefix.strip_prefix("/").unwrap_or(&prefix)),
        None => prefix,
    };
    stage::stage_for(&place, &site, stage::Parts::ALL)?;
    stage::stage_firehose(&place)?;
    man::lay_down(&place)?;
    plugins::stage_all(&place);
    installed::lay_down_module(&place)?;
    installed::record(&place)?;
    say!("installed in {0}; try {0}/bin/upcc --help", place.display());
    Ok(())
}

/// The things that have to be built before a suite of benches can run.
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
    /// The tools and the ranks of [`PAPERS`].
    Lab,
}

/// Packages whose program of the same name runs a suite.
const BENCHES: &str = "pgas-bench";
const PAPERS: &str = "gasnet-papers";

const SUITES: &[(&str, &str, Needs)] = &[
    ("smp", BENCHES, Needs::Tools),
    ("upc", BENCHES, Needs::Tools),
    ("coll", BENCHES, Needs::Tools),
    ("udp", BENCHES, Needs::Tools),
    ("udp-loss", BENCHES, Needs::Namespaces),
    ("mpi", BENCHES, Needs::Plugins),
    ("ofi", BENCHES, Needs::Ofi),
    ("ofi-registration", BENCHES, Needs::Ofi),
    ("attentiveness", BENCHES, Needs::Plugins),
    ("clan", BENCHES, Needs::Lab),
    ("pgas", BENCHES, Needs::Tools),
    ("ex", BENCHES, Needs::Tools),
    ("vis", BENCHES, Needs::Tools),
    ("caf", BENCHES, Needs::Tools),
    ("registration", PAPERS, Needs::Nothing),
    ("netvm", PAPERS, Needs::Nothing),
    ("netvm-live", PAPERS, Needs::Tools),
    ("clan-paper", PAPERS, Needs::Nothing),
    ("trapeze", PAPERS, Needs::Nothing),
    ("scale", PAPERS, Needs::Nothing),
];

fn bench(words: Vec<OsString>) -> Result<(), String> {
    let mut words = words.into_iter();
    let wanted = words.next().ok_or_else(|| with_help("which suite?", &BENCH))?;
    if wanted == "-h" || wanted == "--help" {
        print!("{}", BENCH.help());
        return Ok(());
    }
    let found = SUITES.iter().find(|(name, ..)| wanted == *name);
    let none = || with_help(&format!("there is no suite '{}'", wanted.to_string_lossy()), &BENCH);
    let (suite, program, needs) = *found.ok_or_else(none)?;
    let prefix = stage::folder();
    if needs != Needs::Nothing {
        stage::stage(&prefix, stage::Parts::ALL)?;
    }
    match needs {
        Needs::Nothing | Needs::Tools | Needs::Lab => {}
        Needs::Namespaces => sh::install_namespaces(),
        Needs::Plugins => plugins::stage_all(&prefix),
        Needs::Ofi if !plugins::has_libfabric() => {
            return Err(
                "no libfabric found: install it (Debian's: libfabric-dev and libclang-dev)".to_string()
            );
        }
        Needs::Ofi => drop(plugins::stage_ofi(&prefix)?),
    }
    let mut build = sh::cargo(&["build", "--release", "--bins", "-p", program]);
    if needs == Needs::Lab {
        build.args(["-p", PAPERS]);
    }
    sh::pass(build, Duration::from_secs(1500))?;
    let mut command = Command::new(sh::target().join("release").join(program));
    command.arg(suite).arg("--prefix").arg(&prefix);
    command.env("GASNET_PLUGIN_PATH", prefix.join("lib"));
    command.args(words);
    sh::pass(command, Duration::from_secs(3600))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn helps_have_no_mistakes() {
        assert_eq!(INSTALL.mistakes(), [""; 0]);
        assert_eq!(STAGE.mistakes(), [""; 0]);
        assert_eq!(BENCH.mistakes(), [""; 0]);
        for (name, ..) in SUITES {
            assert!(BENCH.help().contains(name), "{name}");
        }
    }
}
