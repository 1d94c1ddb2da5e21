//! The C test programs: each file under `tests/c` says at its head how it is built and what must happen.
//! `tests/c/README.md` explains the comments.
//!
//! A head names modes, standards and compilers, and runs. All of them together would be far more than they
//! can show, so builds and runs are chosen *by pairs*:
//! - Every two of a mode, a standard and a compiler meet in some build ([`meet`]).
//! - Of the builds by one compiler some are optimised, which takes five times as long to compile, and the
//!   others are not ([`optimises`]): the optimiser warns of more, and without it functions of the headers are
//!   not inlined. Programs begin with different builds, so that all modes and standards meet both.
//! - What a job does depends on the mode, since the rest of it is the library. So of the builds in a mode
//!   each makes a share of the runs, and at least one ([`takes`]).
//! - In an environment of its own (`--env`: over another network) the suite makes each run once, the builds
//!   in turn ([`takes_once`]): each mode has made all of them without it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::run::run;
use crate::runs::Run;
use crate::suite::{Checked, Kept, Options, Summary, check_all, sources};

/// How one program is built.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Build {
    compiler: String,
    std: String,
    mode: String,
    optimised: bool,
    flags: Vec<String>,
}

/// A program in one way of building it.
#[derive(Debug, Clone)]
struct Test {
    name: String,
    source: PathBuf,
    build: Build,
    /// Other sources, with a mode of their own if they have one.
    with: Vec<(PathBuf, Option<String>)>,
    runs: Vec<Run>,
    /// Linked against the shared library.
    shared: bool,
    /// Its number among the program's builds in this mode, and how many these are.
    of_mode: (usize, usize),
    /// The same among all of the program's builds.
    of_all: (usize, usize),
}

/// Whether the mode, the standard and the compiler with these numbers are built together: some two of them
/// always are with one of the third, of which there are `counts`.
fn meet(numbers: [usize; 3], counts: [usize; 3]) -> bool {
    let fewest = counts.into_iter().min().unwrap_or(1).max(1);
    numbers.into_iter().sum::<usize>().is_multiple_of(fewest)
}

/// Whether build number `at` of the `of` by one compiler is optimised: at least one, and one in three.
fn optimises((at, of): (usize, usize), name: &str) -> bool {
    at % 3 == number(name) % of.clamp(1, 3)
}

/// A number by which programs differ, always the same for a name.
fn number(name: &str) -> usize {
    name.bytes().map(usize::from).sum()
}

/// Whether build number `at` of `of` makes this run out of `runs`: each run is made by one of them, and each
/// build makes one.
fn takes((at, of): (usize, usize), run: usize, runs: usize) -> bool {
    if runs >= of { run % of == at } else { at % runs == run }
}

/// Whether build number `at` of `of` makes this run where one of them does. Programs begin with different
/// builds, as their names have it.
fn takes_once((at, of): (usize, usize), run: usize, name: &str) -> bool {
    (run + number(name)) % of == at
}

/// The compilers of this machine, as far as tests have asked for them.
#[derive(Default)]
struct Compilers {
    /// What was asked for, by its name in reports, and whether it is there.
    known: BTreeMap<String, bool>,
    /// What a test that the filters let through has asked for in vain.
    missing: Vec<String>,
}

impl Compilers {
    /// Whether this build can be made here.
    fn can(&mut self, build: &Build) -> Result<(), String> {
        let compiler = driver(build);
        self.has(compiler.clone(), || Command::new(&compiler).arg("--version").output().is_ok())?;
        let Some(sanitizer) = build.flags.iter().find(|flag| flag.starts_with("-fsanitize=")) else {
            return Ok(());
        };
        self.has(format!("{compiler} {sanitizer}"), || {
            let mut link = Command::new(&compiler);
            link.args([sanitizer, "-x", "c", "-o", "/dev/null", "-"]);
            let linked = run(link, "int main(void) { return 0; }", Duration::from_secs(60));
            linked.is_ok_and(|end| end.status == Some(0))
        })
    }

    /// An error with its name unless it is there.
    fn has(&mut self, name: String, ask: impl FnOnce() -> bool) -> Result<(), String> {
        match *self.known.entry(name.clone()).or_insert_with(ask) {
            true => Ok(()),
            false => Err(name),
        }
    }
}

/// The comments at a file's head.
fn parse(source: &Path, options: &Options, machine: &mut Compilers) -> Result<Vec<Test>, String> {
    let text = fs::read_to_string(source).map_err(|error| format!("{}: {error}", source.display()))?;
    let stem = source.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let mut modes: Vec<String> = ["seq", "par", "parsync"].map(String::from).to_vec();
    let mut standards = vec!["gnu11".to_string()];
    let mut compilers = vec!["gcc".to_string()];
    let (mut flags, mut with, mut runs, mut shared) = (Vec::new(), Vec::new(), Vec::new(), false);
    let words = |text: &str| text.split_whitespace().map(String::from).collect::<Vec<_>>();
    for line in text.lines().take_while(|line| line.starts_with("//") || line.trim().is_empty()) {
        let Some((key, value)) = line.trim_start_matches('/').split_once(':') else { continue };
        match key.trim() {
            "mode" => modes = words(value),
            "std" => standards = words(value),
            "compiler" => compilers = words(value),
            "flags" => flags = words(value),
            "shared" => shared = value.trim() == "yes",
            "with" => {
                for entry in words(value) {
                    let (file, mode) = match entry.split_once('=') {
                        Some((file, mode)) => (file.to_string(), Some(mode.to_string())),
                        None => (entry, None),
                    };
                    with.push((source.with_file_name(file), mode));
                }
            }
            "run" => runs.push(Run::parse(value).map_err(|error| format!("{}: {error}", source.display()))?),
            _ => {}
        }
    }
    let build = |mode: &String, std: &String, compiler: &String| Build {
        compiler: compiler.clone(),
        std: std.clone(),
        mode: mode.clone(),
        optimised: true,
        flags: flags.clone(),
    };
    // A compiler that is not there makes no build that another one could make instead.
    compilers.retain(|compiler| {
        let lacking: Vec<String> =
            standards.iter().filter_map(|std| machine.can(&build(&modes[0], std, compiler)).err()).collect();
        let asked = options.lets_through(&format!("{stem}.{compiler}"));
        let new = lacking.iter().filter(|what| asked && !machine.missing.contains(what));
        machine.missing.extend(new.cloned().collect::<BTreeSet<_>>());
        lacking.len() < standards.len()
    });
    let counts = [modes.len(), standards.len(), compilers.len()];
    let mut tests = Vec::new();
    for (m, mode) in modes.iter().enumerate() {
        for (s, std) in standards.iter().enumerate() {
            for (_, compiler) in compilers.iter().enumerate().filter(|(c, _)| meet([m, s, *c], counts)) {
                let build = build(mode, std, compiler);
                if machine.can(&build).is_err() {
                    continue;
                }
                tests.push(Test {
                    name: format!("{stem}.{compiler}.{std}.{mode}"),
                    source: source.to_path_buf(),
                    build,
                    with: with.clone(),
                    runs: runs.clone(),
                    shared,
                    of_mode: (0, 0),
                    of_all: (0, 0),
                });
            }
        }
    }
    let all: Vec<Build> = tests.iter().map(|test| test.build.clone()).collect();
    for (i, test) in tests.iter_mut().enumerate() {
        let place = |like: &dyn Fn(&Build) -> bool| {
            let of = |builds: &[Build]| builds.iter().filter(|other| like(other)).count();
            (of(&all[..i]), of(&all))
        };
        test.of_mode = place(&|other| other.mode == all[i].mode);
        test.of_all = place(&|_| true);
        test.build.optimised = optimises(place(&|other| other.compiler == all[i].compiler), &stem);
    }
    Ok(tests)
}

/// All tests that the filters let through, and the compilers that they ask for in vain.
fn find(options: &Options) -> Result<(Vec<Test>, Vec<String>), String> {
    let (mut tests, mut machine) = (Vec::new(), Compilers::default());
    for file in sources(options, "c")? {
        tests.extend(parse(&file, options, &mut machine)?);
    }
    tests.retain(|test| options.lets_through(&test.name));
    // The compiler does not see the environment of runs.
    tests.retain(|test| options.env.is_empty() || !runs(options, test).is_empty());
    Ok((tests, machine.missing))
}

/// The names of the tests that the filters let through.
pub fn list(options: &Options) -> Result<Vec<String>, String> {
    Ok(find(options)?.0.into_iter().map(|test| test.name).collect())
}

/// Runs the suite; `note` gets a line for each test as it ends.
pub fn suite(options: &Options, note: &(dyn Fn(&str) + Sync)) -> Result<Summary, String> {
    fs::create_dir_all(&options.scratch)
        .map_err(|error| format!("{}: {error}", options.scratch.display()))?;
    let (tests, missing) = find(options)?;
    let kept = Kept::open(options).map_err(|error| error.to_string())?;
    let mut summary = check_all(options, &tests, note, |test| Checked {
        name: &test.name,
        result: check(options, &kept, test).map(|()| Vec::new()),
        commands: 0,
    });
    summary.missing = missing;
    Ok(summary)
}

fn is_cxx(build: &Build) -> bool {
    build.std.contains("++")
}

/// The compiler's command for the language.
fn driver(build: &Build) -> String {
    match (build.compiler.as_str(), is_cxx(build)) {
        ("gcc", true) => "g++".into(),
        ("clang", true) => "clang++".into(),
        (compiler, _) => compiler.into(),
    }
}

/// Compiles one source, without a single warning.
fn compile(options: &Options, build: &Build, source: &Path, object: &Path) -> Result<(), String> {
    let mut command = Command::new(driver(build));
    command
        .arg(if build.optimised { "-O2" } else { "-O0" })
        .args(["-g", "-Wall", "-Wextra", "-Werror", "-pthread", "-c", "-o"])
        .arg(object)
        .arg(format!("-std={}", build.std))
        .arg(format!("-I{}", options.prefix.join("include").display()))
        .args(&build.flags)
        .args(&options.flags);
    if !["tools", "vipl"].contains(&build.mode.as_str()) {
        command.arg(format!("-DGASNET_{}", build.mode.to_uppercase()));
    }
    if is_cxx(build) {
        command.args(["-x", "c++"]);
    }
    command.arg(source);
    let outcome = run(command, "", options.limit).map_err(|error| error.to_string())?;
    if outcome.status != Some(0) || !outcome.stderr.trim().is_empty() {
        return Err(outcome.report());
    }
    Ok(())
}

fn check(options: &Options, kept: &Kept, test: &Test) -> Result<(), String> {
    let program = options.scratch.join(&test.name);
    drop(fs::remove_file(&program));
    if !kept.take(&test.name, &program) {
        build(options, test, &program)?;
        kept.keep(&test.name, &program);
    }
    let launcher = options.prefix.join("bin/gasnetrun");
    for (run, ranks) in runs(options, test) {
        run.execute(options, &launcher, &program, ranks, "", None)?;
    }
    let _ = fs::remove_file(&program);
    Ok(())
}

/// Compiles and links a program.
fn build(options: &Options, test: &Test, program: &Path) -> Result<(), String> {
    let mut objects = Vec::new();
    let own = (test.source.clone(), None);
    for (i, (source, mode)) in std::iter::once(&own).chain(&test.with).enumerate() {
        let object = options.scratch.join(format!("{}.{i}.o", test.name));
        let mut build = test.build.clone();
        if let Some(mode) = mode {
            build.mode.clone_from(mode);
        }
        compile(options, &build, source, &object)?;
        objects.push(object);
    }
    let lib = options.prefix.join("lib");
    let library = if test.build.mode == "vipl" { "vipl" } else { "gasnet" };
    let mut link = Command::new(driver(&test.build));
    link.arg("-o").arg(program).args(&objects).args(&test.build.flags).args(&options.flags).arg("-pthread");
    if test.shared {
        link.arg(format!("-L{}", lib.display())).arg(format!("-Wl,-rpath,{}", lib.display()));
        link.arg(format!("-l{library}"));
    } else {
        link.arg(lib.join(format!("lib{library}.a"))).args(["-ldl", "-lm"]);
    }
    let outcome = run(link, "", options.limit).map_err(|error| error.to_string())?;
    if outcome.status != Some(0) || !outcome.stderr.trim().is_empty() {
        return Err(outcome.report());
    }
    for object in objects {
        let _ = fs::remove_file(object);
    }
    Ok(())
}

/// The runs that a test makes, each with a number of ranks.
fn runs<'a>(options: &Options, test: &'a Test) -> Vec<(&'a Run, u32)> {
    let name = test.source.file_stem().unwrap_or_default().to_string_lossy();
    let takes = |run| match options.env.is_empty() {
        true => takes(test.of_mode, run, test.runs.len()),
        false => takes_once(test.of_all, run, &name),
    };
    let taken = test.runs.iter().enumerate().filter(|(run, _)| takes(*run));
    taken.flat_map(|(_, run)| run.jobs(options).into_iter().map(move |n| (run, n))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All triples that are built, of so many of each.
    fn built(counts: [usize; 3]) -> Vec<[usize; 3]> {
        let [a, b, c] = counts;
        let all = (0..a * b * c).map(|i| [i / (b * c), i / c % b, i % c]);
        all.filter(|numbers| meet(*numbers, counts)).collect()
    }

    #[test]
    fn every_two_meet_in_a_build() {
        for counts in (0..64).map(|i| [1 + i / 16, 1 + i / 4 % 4, 1 + i % 4]) {
            let built = built(counts);
            for (i, j) in [(0, 1), (0, 2), (1, 2)] {
                let pairs: BTreeSet<_> = built.iter().map(|numbers| (numbers[i], numbers[j])).collect();
                assert_eq!(pairs.len(), counts[i] * counts[j], "{counts:?}");
            }
        }
        assert_eq!(built([2, 5, 2]).len(), 10, "no more than the pairs ask for");
    }

    #[test]
    fn some_builds_by_each_compiler_are_optimised() {
        for (of, name) in (1..10).flat_map(|of| ["a", "b", "c"].map(|name| (of, name))) {
            let optimised = (0..of).filter(|&at| optimises((at, of), name)).count();
            assert!((of / 3).max(1) <= optimised && optimised <= of.div_ceil(3), "{optimised} of {of}");
        }
        let first = |name| optimises((0, 3), name);
        assert!(["a", "b", "c"].map(first).contains(&true) && ["a", "b", "c"].map(first).contains(&false));
    }

    #[test]
    fn each_run_is_made_once_and_each_build_makes_one() {
        for (of, runs) in (1..7).flat_map(|of| (1..7).map(move |runs| (of, runs))) {
            let makes = |at, run| takes((at, of), run, runs);
            let made: usize = (0..of).map(|at| (0..runs).filter(|&run| makes(at, run)).count()).sum();
            assert_eq!(made, of.max(runs));
            assert!((0..of).all(|at| (0..runs).any(|run| makes(at, run))));
            assert!((0..runs).all(|run| (0..of).any(|at| makes(at, run))));
            let once = |run| (0..of).filter(|&at| takes_once((at, of), run, "name")).count();
            assert!((0..runs).all(|run| once(run) == 1));
        }
    }
}
