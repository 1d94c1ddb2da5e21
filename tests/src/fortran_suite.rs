//! The Fortran test programs: each file under `tests/fortran` says at its head how it is built and what must
//! happen. `tests/fortran/README.md` explains the comments.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::run::run;
use crate::runs::Run;
use crate::suite::{Checked, Kept, Options, Summary, check_all, sources};

/// The last line of output of a program that expects nothing else.
const PASSED: &str = "passed";

/// A program, and what its file's head asks for.
#[derive(Debug)]
struct Test {
    name: String,
    source: PathBuf,
    flags: Vec<String>,
    /// Sources that are compiled before it.
    with: Vec<PathBuf>,
    /// Sources that become a shared library, with which it is linked.
    library: Vec<PathBuf>,
    input: String,
    /// The oldest gfortran that compiles it right.
    needs: u32,
    /// The text that the compiler must print when it refuses the program.
    refused: Option<String>,
    runs: Vec<Run>,
}

/// The comments at a file's head.
fn parse(source: &Path) -> Result<Test, String> {
    let problem = |what: &dyn std::fmt::Display| format!("{}: {what}", source.display());
    let text = fs::read_to_string(source).map_err(|error| problem(&error))?;
    let mut test = Test {
        name: source.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        source: source.to_path_buf(),
        flags: Vec::new(),
        with: Vec::new(),
        library: Vec::new(),
        input: String::new(),
        needs: 0,
        refused: None,
        runs: Vec::new(),
    };
    for line in text.lines().take_while(|line| line.starts_with('!') || line.trim().is_empty()) {
        let Some((key, value)) = line.trim_start_matches('!').split_once(':') else { continue };
        let words = || value.split_whitespace();
        match key.trim() {
            "flags" => test.flags.extend(words().map(String::from)),
            "with" => test.with.extend(words().map(|file| source.with_file_name(file))),
            "library" => test.library.extend(words().map(|file| source.with_file_name(file))),
            "input" => test.input += &format!("{}\n", value.trim()),
            "needs" => test.needs = value.trim().parse().map_err(|error| problem(&error))?,
            "refused" => test.refused = Some(value.trim().into()),
            "run" => test.runs.push(Run::parse(value).map_err(|error| problem(&error))?),
            // Anything else is prose.
            _ => {}
        }
    }
    if test.runs.is_empty() && test.refused.is_none() {
        test.runs.push(Run { ranks: vec![1, 2, 3, 8], ..Run::default() });
    }
    for run in &mut test.runs {
        if run.status == 0 && run.says.is_empty() && run.never.is_empty() {
            run.says.push(PASSED.to_string());
        }
        run.launcher = true;
    }
    Ok(test)
}

/// All tests that the filters let through.
fn find(options: &Options) -> Result<Vec<Test>, String> {
    let files = sources(options, "f90")?;
    let mut tests = files.iter().map(|file| parse(file)).collect::<Result<Vec<_>, _>>()?;
    tests.retain(|test| options.lets_through(&test.name));
    // The compiler does not see the environment of runs.
    tests.retain(|test| options.env.is_empty() || test.runs.iter().any(|run| !run.jobs(options).is_empty()));
    Ok(tests)
}

/// The names of the tests that the filters let through.
pub fn list(options: &Options) -> Result<Vec<String>, String> {
    Ok(find(options)?.into_iter().map(|test| test.name).collect())
}

/// Runs the suite; `note` gets a line for each test as it ends.
pub fn suite(options: &Options, note: &(dyn Fn(&str) + Sync)) -> Result<Summary, String> {
    fs::create_dir_all(&options.scratch)
        .map_err(|error| format!("{}: {error}", options.scratch.display()))?;
    let version = version(options)?;
    let (tests, newer): (Vec<_>, Vec<_>) = find(options)?.into_iter().partition(|t| t.needs <= version);
    newer.iter().for_each(|test| note(&format!("without {}: it is for gfortran {}", test.name, test.needs)));
    let kept = Kept::open(options).map_err(|error| error.to_string())?;
    Ok(check_all(options, &tests, note, |test| Checked {
        name: &test.name,
        result: check(options, &kept, test).map(|()| Vec::new()),
        commands: 0,
    }))
}

fn check(options: &Options, kept: &Kept, test: &Test) -> Result<(), String> {
    // Programs leave modules and files where they are compiled and run.
    let folder = options.scratch.join(&test.name);
    drop(fs::remove_dir_all(&folder));
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let program = folder.join("program");
    // A library lies in this folder, which goes.
    let is_kept = test.refused.is_none() && test.library.is_empty();
    if !is_kept || !kept.take(&test.name, &program) {
        build(options, test, &folder, &program)?;
        if is_kept {
            kept.keep(&test.name, &program);
        }
    }
    let launcher = options.prefix.join("bin/cafrun");
    for run in &test.runs {
        for ranks in run.jobs(options) {
            run.execute(options, &launcher, &program, ranks, &test.input, Some(&folder))?;
        }
    }
    drop(fs::remove_dir_all(&folder));
    Ok(())
}

/// The major version of the compiler.
fn version(options: &Options) -> Result<u32, String> {
    let mut ask = Command::new(options.prefix.join("bin/caf"));
    ask.args(options.flags.iter().filter(|flag| flag.starts_with("--compiler"))).arg("-dumpversion");
    let outcome = run(ask, "", options.limit).map_err(|error| error.to_string())?;
    let number = outcome.stdout.split(['.', '\n']).next().and_then(|number| number.parse().ok());
    number.ok_or_else(|| outcome.report())
}

/// Compiles and links a program, which the compiler may have to refuse.
fn build(options: &Options, test: &Test, folder: &Path, program: &Path) -> Result<(), String> {
    let mut command = compile(options, test, folder);
    command.args(&test.with).arg(&test.source);
    if !test.library.is_empty() {
        let library = folder.join("libpart.so");
        let mut shared = compile(options, test, folder);
        shared.args(["-shared", "-fPIC"]).args(&test.library).arg("-o").arg(&library);
        let outcome = run(shared, "", options.limit).map_err(|error| error.to_string())?;
        if outcome.status != Some(0) {
            return Err(outcome.report());
        }
        // Found again by the path under which it was linked.
        command.arg(&library);
    }
    command.arg("-o").arg(program);
    let outcome = run(command, "", options.limit).map_err(|error| error.to_string())?;
    match &test.refused {
        None if outcome.status == Some(0) => Ok(()),
        None => Err(outcome.report()),
        Some(text) if outcome.status != Some(0) && outcome.stderr.contains(text.as_str()) => Ok(()),
        Some(text) => Err(format!("not refused with \"{text}\"\n{}", outcome.report())),
    }
}

/// The compiler with what all parts of a program are compiled with.
fn compile(options: &Options, test: &Test, folder: &Path) -> Command {
    let mut command = Command::new(options.prefix.join("bin/caf"));
    command.current_dir(folder).args(["-O2", "-g"]).arg("-I").arg(&options.programs);
    command.args(&test.flags).args(&options.flags);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_of_programs() {
        let folder = std::env::temp_dir().join(format!("fortran-suite-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (plain, rich) = (folder.join("plain.f90"), folder.join("rich.f90"));
        fs::write(&plain, "! About this: nothing.\nend\n! run: 9\n").unwrap();
        let head = "! with: a_part.f90 b_part.c\n! flags: -O0\n! library: c_part.f90\n! needs: 12\n! input: 1\n! input: 2\n! run: 2 | status 3\n";
        fs::write(&rich, head).unwrap();
        let (plain, rich) = (parse(&plain).unwrap(), parse(&rich).unwrap());
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(
            (plain.runs[0].ranks.as_slice(), plain.runs[0].says.as_slice()),
            (&[1, 2, 3, 8][..], &[PASSED.to_string()][..])
        );
        assert_eq!(rich.with, [folder.join("a_part.f90"), folder.join("b_part.c")]);
        assert_eq!((rich.input.as_str(), rich.runs.len(), rich.runs[0].status), ("1\n2\n", 1, 3));
        assert_eq!((rich.library.as_slice(), rich.needs), (&[folder.join("c_part.f90")][..], 12));
        assert!(rich.runs[0].says.is_empty());
    }
}
