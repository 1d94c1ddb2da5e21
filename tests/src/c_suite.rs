//! The C test programs: each file under `tests/c` says at its head how it is built and what must happen.
//! `tests/c/README.md` explains the comments.

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
}

/// The comments at a file's head.
fn parse(source: &Path) -> Result<Vec<Test>, String> {
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
    let mut tests = Vec::new();
    for compiler in &compilers {
        for std in &standards {
            for mode in &modes {
                let build = Build {
                    compiler: compiler.clone(),
                    std: std.clone(),
                    mode: mode.clone(),
                    flags: flags.clone(),
                };
                tests.push(Test {
                    name: format!("{stem}.{compiler}.{std}.{mode}"),
                    source: source.to_path_buf(),
                    build,
                    with: with.clone(),
                    runs: runs.clone(),
                    shared,
                });
            }
        }
    }
    Ok(tests)
}

/// All tests that the filters let through.
fn find(options: &Options) -> Result<Vec<Test>, String> {
    let files = sources(options, "c")?;
    let mut tests = Vec::new();
    for file in files {
        tests.extend(parse(&file)?);
    }
    tests.retain(|test| options.lets_through(&test.name));
    // The compiler does not see the environment of runs.
    tests.retain(|test| options.env.is_empty() || !runs(options, test).is_empty());
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
    let mut tests = find(options)?;
    let mut missing = Vec::new();
    tests.retain(|test| {
        let lacking = lacking(&test.build);
        if let Some(what) = &lacking
            && !missing.contains(what)
        {
            missing.push(what.clone());
        }
        lacking.is_none()
    });
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

/// The name of a missing tool that this build needs: the compiler, or a sanitizer that the flags name.
fn lacking(build: &Build) -> Option<String> {
    let compiler = driver(build);
    if Command::new(&compiler).arg("--version").output().is_err() {
        return Some(compiler);
    }
    let sanitizer = build.flags.iter().find(|flag| flag.starts_with("-fsanitize="))?;
    let mut link = Command::new(&compiler);
    link.args([sanitizer, "-x", "c", "-o", "/dev/null", "-"]);
    let linked = run(link, "int main(void) { return 0; }", Duration::from_secs(60));
    (!linked.is_ok_and(|end| end.status == Some(0))).then(|| format!("{compiler} {sanitizer}"))
}

/// Compiles one source, without a single warning.
fn compile(options: &Options, build: &Build, source: &Path, object: &Path) -> Result<(), String> {
    let mut command = Command::new(driver(build));
    command
        .args(["-O2", "-g", "-Wall", "-Wextra", "-Werror", "-pthread", "-c", "-o"])
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

/// The runs of a test, each with a number of ranks.
fn runs<'a>(options: &Options, test: &'a Test) -> Vec<(&'a Run, u32)> {
    test.runs.iter().flat_map(|run| run.jobs(options).into_iter().map(move |n| (run, n))).collect()
}
