//! Builds programs against the staged layout: C programs and the Rust examples.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::clients;
use crate::sh;

/// Time limit of a C compiler.
const COMPILE_LIMIT: Duration = Duration::from_secs(300);

/// The files of a folder with this extension, in order.
pub fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|e| e == extension)).collect();
    files.sort();
    files
}

/// Compiles a C program against the staged library `libgasnet`.
pub fn compile_c(prefix: &Path, files: &[&Path], program: &Path, flags: &[&str]) -> Result<(), String> {
    compile_c_with("libgasnet.a", prefix, files, program, flags)
}

/// Compiles a C program against a staged library.
pub fn compile_c_with(
    library: &str,
    prefix: &Path,
    files: &[&Path],
    program: &Path,
    flags: &[&str],
) -> Result<(), String> {
    let folder = program.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut command = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()));
    command.args(["-O2", "-Wall", "-Wextra"]).args(flags);
    command.arg("-I").arg(prefix.join("include")).args(files);
    command.arg("-o").arg(program).arg(prefix.join("lib").join(library)).args(clients::system_libraries());
    let shown = sh::show(&command);
    let outcome = sh::capture(command, COMPILE_LIMIT)?;
    if outcome.status != Some(0) {
        return Err(format!("{shown}\n{}", outcome.report()));
    }
    Ok(())
}

/// Compiles a Fortran program with coarrays by the staged `caf`; modules go to a folder beside the program.
pub fn compile_fortran(prefix: &Path, file: &Path, program: &Path, flags: &[&str]) -> Result<(), String> {
    let modules = program.with_extension("modules");
    fs::create_dir_all(&modules).map_err(|e| format!("{}: {e}", modules.display()))?;
    let mut command = Command::new(prefix.join("bin/caf"));
    command.args(["-O2", "-g", "-J"]).arg(&modules).args(flags).arg(file).arg("-o").arg(program);
    let shown = sh::show(&command);
    let outcome = sh::capture(command, COMPILE_LIMIT)?;
    if outcome.status != Some(0) {
        return Err(format!("{shown}\n{}", outcome.report()));
    }
    Ok(())
}

/// Names of the Rust examples.
pub fn rust_examples() -> Vec<String> {
    let sources = files(&sh::root().join("examples/rust/src/bin"), "rs");
    sources.iter().map(|path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned()).collect()
}

/// For whom a Rust example is built.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum For {
    /// Optimised, as users build it.
    Users,
    /// As tests are, upon what those have built.
    Tests,
}

/// Builds Rust examples and returns their paths.
pub fn build_rust_examples(names: &[String], whom: For) -> Result<Vec<PathBuf>, String> {
    let mut build = sh::cargo(&["build", "-p", "gasnet-examples"]);
    build.args((whom == For::Users).then_some("--release"));
    for name in names {
        build.args(["--bin", name]);
    }
    sh::pass(build, Duration::from_secs(1500))?;
    let built = sh::target().join(if whom == For::Users { "release" } else { "debug" });
    Ok(names.iter().map(|name| built.join(name)).collect())
}
