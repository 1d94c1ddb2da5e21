//! Programs that must be refused: `compile_fail/README.md` says how they are written.
//!
//! Each is compiled by hand against the library this test was built with: a second build by cargo would cost
//! more than all the rest of the suite.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The crate that a case is about: its name begins with it, or it is about the core.
fn subject(case: &Path) -> &'static str {
    let name = case.file_name().unwrap_or_default().to_string_lossy();
    match name.split('_').next() {
        Some("pgas") => "pgas",
        Some("wire") => "gasnet_wire",
        _ => "gasnet",
    }
}

/// The library of the sample's subject that this test was built with. Builds with other flags may have left
/// more of them: the newest that works.
fn library(sample: &Path) -> PathBuf {
    let deps = std::env::current_exe().expect("this test").parent().expect("a directory").to_path_buf();
    let files = std::fs::read_dir(&deps).expect("the directory this test is in").flatten();
    let mut ours: Vec<PathBuf> = files
        .map(|f| f.path())
        .filter(|p| {
            let file = p.file_name().unwrap_or_default().to_string_lossy();
            file.starts_with(&format!("lib{}-", subject(sample))) && file.ends_with(".rlib")
        })
        .collect();
    ours.sort_by_key(|p| p.metadata().and_then(|m| m.modified()).ok());
    ours.into_iter().rev().find(|l| compile(l, sample, true).status.success()).expect("a library that works")
}

fn compile(library: &Path, case: &Path, fixed: bool) -> Output {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let mut command = Command::new(rustc);
    command.args(["--edition=2024", "--crate-type=lib", "--emit=metadata", "-Awarnings"]);
    // Never to /dev/null: rustc replaces its output file, and as root it can.
    command.args(["--out-dir", env!("CARGO_TARGET_TMPDIR")]);
    command.arg("-L").arg(format!("dependency={}", library.parent().expect("a directory").display()));
    command.arg("--extern").arg(format!("{}={}", subject(case), library.display()));
    command.arg(case).arg("--error-format=short");
    if fixed {
        command.arg("--cfg=fixed");
    }
    command.output().expect("rustc starts")
}

fn check(library: &Path, case: &Path) -> Result<(), String> {
    let text = std::fs::read_to_string(case).expect("readable");
    let mut lines = text.lines();
    let first = lines.next().unwrap_or_default();
    let code = first.strip_prefix("// error: ").ok_or("its first line names no error code")?;
    let says = lines.next().and_then(|line| line.strip_prefix("// says: "));
    let bad = compile(library, case, false);
    let errors = String::from_utf8_lossy(&bad.stderr).into_owned();
    // Those of lifetimes have no code. A place may be missing in front: sources of the library are not always
    // found.
    let coded: Vec<&str> = errors
        .lines()
        .filter(|l| l.contains("error[") || (l.contains("error: ") && !l.contains("aborting due to")))
        .collect();
    let expected = if code == "none" { "error: ".to_string() } else { format!("error[{code}]: ") };
    if bad.status.success() {
        Err("it compiles".into())
    } else if coded.is_empty() || !coded.iter().all(|l| l.contains(&expected)) {
        Err(format!("expected only {code}:\n{errors}"))
    } else if let Some(says) = says.filter(|says| !errors.contains(says)) {
        Err(format!("expected it to say `{says}`:\n{errors}"))
    } else if says.is_none() && subject(case) == "pgas" {
        Err(format!("its second line does not say what a person gets of this:\n{errors}"))
    } else {
        Ok(())
    }
}

#[test]
fn refused_for_the_reason_given() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("compile_fail");
    let files = std::fs::read_dir(dir).expect("the cases").flatten().map(|f| f.path());
    let cases: Vec<PathBuf> = files.filter(|p| p.extension().is_some_and(|e| e == "rs")).collect();
    assert!(cases.len() >= 110, "{} cases", cases.len());
    let wrong: Vec<String> = ["gasnet", "gasnet_wire", "pgas"]
        .into_iter()
        .flat_map(|crate_name| refused(&cases, crate_name))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The fixed forms of all cases of a crate, as modules of one crate: the compiler starts once.
fn all_fixed(library: &Path, cases: &[PathBuf]) -> Result<(), String> {
    // Its name says the subject, as those of cases do.
    let first = cases[0].file_stem().unwrap_or_default().to_string_lossy();
    let all = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{first}_and_others.rs"));
    let modules = cases.iter().enumerate().map(|(i, case)| format!("#[path = {case:?}]\nmod case_{i};\n"));
    std::fs::write(&all, modules.collect::<String>()).expect("a folder for tests");
    let output = compile(library, &all, true);
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("fixed forms are refused:\n{}", String::from_utf8_lossy(&output.stderr))),
    }
}

/// The cases of a crate that are not refused as they should be.
fn refused(cases: &[PathBuf], crate_name: &str) -> Vec<String> {
    let cases: Vec<PathBuf> = cases.iter().filter(|case| subject(case) == crate_name).cloned().collect();
    let library = &library(&cases[0]);
    if let Err(why) = all_fixed(library, &cases) {
        return vec![why];
    }
    std::thread::scope(|s| {
        let halves = cases.chunks(cases.len().div_ceil(2)).map(|half| {
            s.spawn(move || {
                let failed = |c: &PathBuf| check(library, c).err().map(|e| format!("{}: {e}", c.display()));
                half.iter().filter_map(failed).collect::<Vec<_>>()
            })
        });
        let halves: Vec<_> = halves.collect();
        halves.into_iter().flat_map(|h| h.join().expect("no panic")).collect()
    })
}
