//! The example programs, and how they are run as tests: small sizes, several numbers of ranks, with and
//! without neighbourhood. Each checks its own answer.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::build;
use crate::clients;
use crate::sh;
use crate::stage;

/// Numbers of ranks programs are tested with.
pub const RANKS: [u32; 5] = [1, 2, 3, 5, 8];

/// Longest time of one run.
const RUN_LIMIT: Duration = Duration::from_secs(300);
const COMPILE_LIMIT: Duration = Duration::from_secs(120);

/// Sizes that keep a run short, by name of the example (the same in every language). Others run with their
/// defaults.
const SIZES: [(&str, &[&str]); 19] = [
    ("hello", &["3"]),
    ("heat", &["48", "40", "60"]),
    ("matmul", &["96"]),
    ("gups", &["16", "20000"]),
    ("isort", &["20000", "5000"]),
    ("cg", &["2000", "100"]),
    ("nqueens", &["8"]),
    ("uts", &["100"]),
    ("pi", &["200000"]),
    ("ring", &["20"]),
    ("core_ring", &["20"]),
    ("core_heat", &["48", "40", "60"]),
    ("service", &["5", "20"]),
    ("histogram", &[]),
    ("hashtable", &["20000"]),
    ("wordcount", &["20000"]),
    ("putget", &[]),
    ("am", &[]),
    ("echo", &["20"]),
];

/// Programs that are also recorded, over this network, and replayed: by the names of their executables.
const REPLAYED: [(&str, &str); 21] = [
    ("c-putget-seq", "smp"),
    ("c-ring-par", "udp"),
    ("gfortran-heat", "smp"),
    ("gfortran-pi", "udp"),
    ("gfortran-tasks", "smp"),
    ("upc-cg", "smp"),
    ("upc-gups", "udp"),
    ("upc-heat", "udp"),
    ("upc-hello", "smp"),
    ("upc-isort", "udp"),
    ("upc-matmul", "smp"),
    ("upc-nas_is", "smp"),
    ("upc-transpose", "smp"),
    ("upc-uts", "udp"),
    ("core_heat", "smp"),
    ("core_ring", "udp"),
    ("fft2d", "udp"),
    ("hashtable", "smp"),
    ("histogram", "smp"),
    ("uts", "smp"),
    ("wordcount", "udp"),
];
/// Ranks of a job that is recorded.
const RECORDED_RANKS: u32 = 3;

/// Outcomes of program runs.
#[derive(Debug, Default)]
pub struct Tally {
    /// Runs that did what they must.
    pub passed: usize,
    /// Runs that did not.
    pub failed: usize,
    /// Runs that were left out.
    pub skipped: usize,
}

impl Tally {
    /// Adds the outcomes of other runs.
    pub fn add(&mut self, other: &Tally) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

/// One program, ready to run.
#[derive(Debug)]
pub struct Program {
    /// Its name in reports.
    pub name: String,
    /// The executable.
    pub path: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// The launcher: `upcrun` or `gasnetrun`.
    pub launcher: PathBuf,
    /// A line that must appear.
    pub expect: &'static str,
}

impl Program {
    /// An example, with its small sizes.
    pub fn example(name: &str, path: PathBuf, launcher: PathBuf) -> Program {
        let sizes = SIZES.iter().find(|(known, _)| *known == name).map_or(&[][..], |(_, sizes)| sizes);
        Program {
            name: name.to_string(),
            path,
            arguments: sizes.iter().map(|size| size.to_string()).collect(),
            launcher,
            expect: "verification: passed",
        }
    }

    /// The command for this many ranks.
    pub fn command(&self, ranks: u32, neighbourhood: bool) -> Command {
        let mut command = Command::new(&self.launcher);
        if !neighbourhood {
            command.env("GASNET_NEIGHBORHOOD", "off");
        }
        command.arg("-n").arg(ranks.to_string()).arg(&self.path).args(&self.arguments);
        command
    }

    /// Runs once; an error is the report.
    pub fn run(&self, ranks: u32, neighbourhood: bool) -> Result<(), String> {
        let command = self.command(ranks, neighbourhood);
        let shown = sh::show(&command);
        let outcome = sh::capture(command, RUN_LIMIT)?;
        let said = outcome.stdout.lines().any(|line| line.contains(self.expect));
        if outcome.status == Some(0) && said {
            return Ok(());
        }
        let missing = if said { String::new() } else { format!("  no line '{}'\n", self.expect) };
        Err(format!("{shown}\n{missing}{}", outcome.report()))
    }

    /// Records a job over a network, and replays each of its ranks alone: it prints what it printed. An error
    /// is the report.
    pub fn record_and_replay(&self, conduit: &str) -> Result<(), String> {
        let folder = self.path.with_extension("recorded");
        drop(fs::remove_dir_all(&folder));
        let run = |options: &[&str]| {
            let mut command = Command::new(self.launcher.with_file_name("gasnetrun"));
            command.args(options).arg(&self.path).args(&self.arguments);
            let shown = sh::show(&command);
            let outcome = sh::capture(command, RUN_LIMIT)?;
            // Warnings would be noise for users, too.
            match (outcome.status, outcome.stderr.contains("warning")) {
                (Some(0), false) => Ok(outcome.stdout),
                _ => Err(format!("{shown}\n{}", outcome.report())),
            }
        };
        let at = folder.to_string_lossy();
        let ranks = RECORDED_RANKS.to_string();
        let job = run(&["--record", &at, "--conduit", conduit, "-l", "-n", &ranks])?;
        for rank in 0..RECORDED_RANKS {
            let mark = format!("[{rank}] ");
            let printed = job.lines().filter_map(|line| line.strip_prefix(&mark));
            let again = run(&["--replay", &at, "--rank", &rank.to_string()])?;
            if again.lines().ne(printed) {
                return Err(format!("rank {rank} printed in the job:\n{job}and in its replay:\n{again}"));
            }
        }
        drop(fs::remove_dir_all(&folder));
        Ok(())
    }

    /// Runs with all numbers of ranks, and a recording if it is one of those that are replayed; failures are
    /// reported as they come.
    pub fn run_all(&self, ranks: &[u32], neighbourhoods: &[bool], tally: &mut Tally) {
        for &neighbourhood in neighbourhoods {
            for &ranks in ranks {
                match self.run(ranks, neighbourhood) {
                    Ok(()) => tally.passed += 1,
                    Err(report) => {
                        tally.failed += 1;
                        say!("FAILED {} on {ranks} ranks; to repeat:\n{report}", self.name);
                    }
                }
            }
        }
        let own = self.path.file_name().unwrap_or_default();
        for (_, conduit) in REPLAYED.iter().filter(|(name, _)| own == *name) {
            match self.record_and_replay(conduit) {
                Ok(()) => tally.passed += 1,
                Err(report) => {
                    tally.failed += 1;
                    say!("FAILED: {} recorded over {conduit}; to repeat:\n{report}", self.name);
                }
            }
        }
    }
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// Compiles the UPC examples. A clean build must print nothing.
pub fn upc_examples(prefix: &Path, tally: &mut Tally) -> Vec<Program> {
    let mut programs = Vec::new();
    for source in build::files(&sh::root().join("examples/upc"), "upc") {
        let name = stem(&source);
        let path = sh::target().join("programs").join(format!("upc-{name}"));
        let mut compile = Command::new(prefix.join("bin/upcc"));
        compile.arg(&source).arg("-o").arg(&path);
        if name.ends_with("openmp") {
            compile.arg("-fopenmp");
        }
        match build(compile, &path) {
            Ok(()) => programs.push(Program::example(&name, path, prefix.join("bin/upcrun"))),
            Err(report) => {
                tally.failed += 1;
                say!("FAILED to compile {name}; to repeat:\n{report}");
            }
        }
    }
    programs
}

fn build(compile: Command, path: &Path) -> Result<(), String> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let shown = sh::show(&compile);
    let outcome = sh::capture(compile, COMPILE_LIMIT)?;
    if outcome.status == Some(0) && outcome.stdout.is_empty() && outcome.stderr.is_empty() {
        return Ok(());
    }
    Err(format!("{shown}\n{}", outcome.report()))
}

/// Compiles the C examples, in the modes of one thread and of many; those of `vipl.h` have no mode.
pub fn c_examples(prefix: &Path, tally: &mut Tally) -> Vec<Program> {
    let mut programs = Vec::new();
    let mut add = |source: &Path, name: &str, library: &str, flags: &[&str]| {
        let path = sh::target().join("programs").join(name);
        match build::compile_c_with(library, prefix, &[source], &path, flags) {
            Ok(()) => programs.push(Program::example(&stem(source), path, prefix.join("bin/gasnetrun"))),
            Err(report) => {
                tally.failed += 1;
                say!("FAILED to compile {name}; to repeat:\n{report}");
            }
        }
    };
    for source in build::files(&sh::root().join("examples/c"), "c") {
        for mode in ["SEQ", "PAR"] {
            let name = format!("c-{}-{}", stem(&source), mode.to_lowercase());
            add(&source, &name, "libgasnet.a", &["-Werror", &format!("-DGASNET_{mode}=1")]);
        }
    }
    for source in build::files(&sh::root().join("examples/c/vipl"), "c") {
        add(&source, &format!("c-vipl-{}", stem(&source)), "libvipl.a", &["-Werror"]);
    }
    programs
}

/// Compiles the Fortran examples by gfortran: all but those that call the interface of another compiler, and
/// those that it refuses.
pub fn gfortran_examples(prefix: &Path, tally: &mut Tally) -> Vec<Program> {
    let mut programs = Vec::new();
    for source in build::files(&sh::root().join("examples/fortran"), "f90") {
        let name = stem(&source);
        if name.starts_with("prif_") || NOT_BY_GFORTRAN.contains(&name.as_str()) {
            continue;
        }
        let path = sh::target().join("programs").join(format!("gfortran-{name}"));
        match build::compile_fortran(prefix, &source, &path, &[]) {
            Ok(()) => {
                let (launcher, expect) = (prefix.join("bin/cafrun"), "verification: passed");
                programs.push(Program { name, path, arguments: Vec::new(), launcher, expect });
            }
            Err(report) => {
                tally.failed += 1;
                say!("FAILED to compile {name}; to repeat:\n{report}");
            }
        }
    }
    programs
}

/// Examples that use what flang refuses.
const NOT_BY_FLANG: [&str; 2] = ["heat", "tasks"];
/// Examples that use what gfortran 12 refuses.
const NOT_BY_GFORTRAN: [&str; 1] = ["matmul"];

/// Compiles the Fortran examples with coarrays by flang, over the runtime Caffeine.
pub fn flang_examples(prefix: &Path, flang: &Path, caffeine: &Path, tally: &mut Tally) -> Vec<Program> {
    let mut programs = Vec::new();
    for source in build::files(&sh::root().join("examples/fortran"), "f90") {
        let name = stem(&source);
        if NOT_BY_FLANG.contains(&name.as_str()) {
            continue;
        }
        let path = sh::target().join("programs").join(format!("fortran-{name}"));
        let mut compile = Command::new(flang);
        // Those that call the runtime interface themselves need its module, the others the compiler's own
        // calls.
        if name.starts_with("prif_") {
            compile.arg("-I").arg(caffeine.join("include"));
        } else {
            compile.arg("-fcoarray");
        }
        compile.args(["-O2", "-o"]).arg(&path).arg(&source);
        compile.arg(caffeine.join("lib/libcaffeine-smp-seq.a"));
        compile.arg(format!("-L{}", prefix.join("lib").display())).arg("-lgasnet-smp-seq");
        compile.args(clients::system_libraries());
        let shown = sh::show(&compile);
        // flang warns that coarrays are experimental.
        let folder = fs::create_dir_all(sh::target().join("programs"));
        match folder.map_err(|e| e.to_string()).and_then(|()| sh::capture(compile, COMPILE_LIMIT)) {
            Ok(outcome) if outcome.status == Some(0) => {
                // The sizes are those of the program's own, not of its namesakes in other languages.
                let launcher = prefix.join("bin/gasnetrun");
                let expect = "verification: passed";
                programs.push(Program { name, path, arguments: Vec::new(), launcher, expect });
            }
            Ok(outcome) => {
                tally.failed += 1;
                say!("FAILED to compile {name}; to repeat:\n{shown}\n{}", outcome.report());
            }
            Err(why) => {
                tally.failed += 1;
                say!("FAILED to compile {name}: {why}");
            }
        }
    }
    programs
}

/// Compiles the UPC and C programs of the tour in `README.md`.
pub fn tour(prefix: &Path, tally: &mut Tally) -> Vec<Program> {
    let text = fs::read_to_string(sh::root().join("README.md")).unwrap_or_default();
    let mut programs = Vec::new();
    for (language, extension, expect) in [("upc", "upc", "the last of"), ("c", "c", "heard from")] {
        let Some((_, rest)) = text.split_once(&format!("\n```{language}\n")) else {
            tally.failed += 1;
            say!("FAILED: README.md has no block ```{language}");
            continue;
        };
        let code = rest.split_once("\n```").map_or(rest, |(code, _)| code);
        let folder = sh::target().join("programs");
        let source = folder.join(format!("tour.{extension}"));
        let path = folder.join(format!("tour-{language}"));
        let written = fs::create_dir_all(&folder).and_then(|()| fs::write(&source, format!("{code}\n")));
        let built = written.map_err(|e| format!("{}: {e}", source.display())).and_then(|()| {
            if language == "c" {
                return build::compile_c(prefix, &[&source], &path, &["-Werror", "-DGASNET_SEQ=1"]);
            }
            let mut compile = Command::new(prefix.join("bin/upcc"));
            compile.arg(&source).arg("-o").arg(&path);
            build(compile, &path)
        });
        match built {
            Ok(()) => programs.push(Program {
                name: format!("README.md, {language}"),
                path,
                arguments: Vec::new(),
                launcher: prefix.join("bin").join(if language == "c" { "gasnetrun" } else { "upcrun" }),
                expect,
            }),
            Err(report) => {
                tally.failed += 1;
                say!("FAILED to compile the tour in README.md; to repeat:\n{report}");
            }
        }
    }
    programs
}

/// Makes the mistake in the UPC program of `README.md` that the page shows how to find, and runs the page's
/// commands: they find it, and repeat it twice, once under gdb.
pub fn tour_of_a_failure(prefix: &Path, tally: &mut Tally) -> Result<(), String> {
    const HEAD: &str = "\n```sh\nupcc -include assert.h ";
    let text = fs::read_to_string(sh::root().join("README.md")).map_err(|e| format!("README.md: {e}"))?;
    let block = |head: &str| text.split_once(head).and_then(|(_, rest)| rest.split_once("\n```"));
    let (Some((code, _)), Some((commands, _))) = (block("\n```upc\n"), block(HEAD)) else {
        return Err("README.md has no UPC program, or does not show how a failure of it is found".into());
    };
    let folder = sh::target().join("programs/tour");
    let wrong = code.replace("upc_barrier;", "assert(square[10 * THREADS - 1]);");
    let written = fs::create_dir_all(&folder).and_then(|()| fs::write(folder.join("sum.upc"), wrong + "\n"));
    written.map_err(|e| format!("{}: {e}", folder.display()))?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = core::iter::once(prefix.join("bin")).chain(std::env::split_paths(&path));
    let path = std::env::join_paths(folders).map_err(|e| e.to_string())?;
    for (i, line) in commands.lines().enumerate() {
        let in_gdb = line.contains("--gdb");
        if in_gdb && sh::which("gdb").is_none() {
            continue;
        }
        let line = match i {
            0 => format!("upcc -include assert.h {line}"),
            _ if in_gdb => format!("echo run | {line}"),
            _ => line.to_string(),
        };
        let mut command = Command::new("sh");
        command
            .args(["-c", line.split('#').next().unwrap_or_default()])
            .current_dir(&folder)
            .env("PATH", &path);
        let outcome = sh::capture(command, RUN_LIMIT)?;
        let (status, says) = if i == 0 { (0, "") } else { (134, "sum.upc:") };
        let said = outcome.stdout.contains(says) || outcome.stderr.contains(says);
        if said && (in_gdb || outcome.status == Some(status)) {
            tally.passed += 1;
        } else {
            tally.failed += 1;
            say!("FAILED: a command of README.md: {line}\n{}", outcome.report());
        }
    }
    Ok(())
}

/// Builds the Rust examples.
pub fn rust_examples(prefix: &Path, tally: &mut Tally) -> Vec<Program> {
    let names = build::rust_examples();
    match build::build_rust_examples(&names, build::For::Tests) {
        Ok(paths) => {
            let launcher = prefix.join("bin/gasnetrun");
            let ready = names.iter().zip(paths);
            ready.map(|(name, path)| Program::example(name, path, launcher.clone())).collect()
        }
        Err(report) => {
            tally.failed += names.len();
            say!("FAILED to build the Rust examples:\n{report}");
            Vec::new()
        }
    }
}

/// Has a tool compile and run random programs, with these seeds; failures are reported as they come.
pub fn random(tool: &str, seed: u64, count: u64, tally: &mut Tally) -> Result<(), String> {
    let mut command = sh::cargo(&["run", "--quiet", "-p", "gasnet-tests", "--bin", tool, "--"]);
    command.arg("--prefix").arg(stage::folder());
    command.args(["--seed", &seed.to_string(), "--count", &count.to_string()]);
    let shown = sh::show(&command);
    let outcome = sh::capture(command, RUN_LIMIT * count as u32 + COMPILE_LIMIT)?;
    // The last line: "20 programs, 0 failed, 1 crash the compiler, 12.3 s".
    let words: Vec<&str> =
        outcome.stdout.lines().next_back().unwrap_or_default().split_whitespace().collect();
    let number = |at: usize| words.get(at).and_then(|word| word.parse::<usize>().ok());
    let (Some(done), Some(failed)) = (number(0), number(2)) else {
        return Err(format!("{shown}\n{}", outcome.report()));
    };
    tally.passed += done.saturating_sub(failed);
    tally.failed += failed;
    if outcome.status == Some(0) && failed == 0 && done > 0 {
        return Ok(());
    }
    say!("FAILED; to repeat: {shown}\n{}", outcome.stdout);
    Err(format!("{failed} of {done} random programs failed; {shown}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_that_are_replayed_exist() {
        for (name, _) in REPLAYED {
            let source = match name.split_once('-') {
                Some(("upc", name)) => format!("upc/{name}.upc"),
                Some(("gfortran", name)) => format!("fortran/{name}.f90"),
                Some(("c", name)) => {
                    format!("c/{}.c", name.trim_end_matches("-seq").trim_end_matches("-par"))
                }
                _ => format!("rust/src/bin/{name}.rs"),
            };
            assert!(sh::root().join("examples").join(&source).exists(), "{source}");
        }
    }
}
