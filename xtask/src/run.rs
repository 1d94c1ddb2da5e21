//! `cargo xtask run`: builds what a program needs, and runs it on N ranks.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use gasnet_options::{Argument, opt};

use crate::build;
use crate::plugins;
use crate::sh;
use crate::stage::{self, Parts};
use crate::task::{Task, read, task, with_help};

#[derive(Clone, Copy)]
enum RunOption {
    Ranks,
    Conduit,
}

const RUN: Task<RunOption> = task(
    "cargo xtask run",
    "Builds a program and the tools that it needs, and runs it on N ranks of this host.",
    &["cargo xtask run [--conduit NAME] -n N FILE [arguments]"],
    &[
        opt(RunOption::Ranks, "-n N", "number of ranks"),
        opt(RunOption::Conduit, "--conduit NAME", "network: smp (default), udp, mpi, ofi or netvm"),
    ],
    "\
FILE is one of

  a UPC program (.upc)               compiled by upcc, run by upcrun
  a C program with gasnet.h (.c)     compiled against libgasnet, run by
                                     gasnetrun
  a Fortran program (.f90)           compiled by caf with gfortran, run by
                                     cafrun
  the name of an example in examples/rust",
);

/// Reads the command line and runs. Returns only on failure: the program takes this process's place.
pub fn main(words: Vec<OsString>) -> Result<(), String> {
    let (mut ranks, mut conduit) = (None, None);
    let going_on = read(&RUN, words, |word, words| {
        match word {
            Argument::Option(found) if matches!(found.key, RunOption::Conduit) => {
                conduit = Some(found.value())
            }
            Argument::Option(found) => {
                let count = found.text().parse::<u32>().ok().filter(|&n| n > 0);
                ranks = Some(count.ok_or_else(|| format!("-n {}: not a number of ranks", found.text()))?);
            }
            Argument::Operand(file) | Argument::Unknown(file) => {
                let ranks = ranks.ok_or("how many ranks? cargo xtask run -n 4 FILE")?;
                let mut command = prepare(Path::new(&file), ranks, conduit.as_deref())?;
                while let Some(argument) = words.next_if(|_| true) {
                    command.arg(argument);
                }
                sh::restore_loader_path(&mut command);
                return Err(format!("{}: {}", sh::show(&command), command.exec()));
            }
        }
        Ok(())
    })?;
    if going_on { Err(with_help("which program?", &RUN)) } else { Ok(()) }
}

/// The command that runs the program, once everything for it is built.
fn prepare(file: &Path, ranks: u32, conduit: Option<&std::ffi::OsStr>) -> Result<Command, String> {
    let prefix = stage::folder();
    let extension = file.extension().and_then(|e| e.to_str()).unwrap_or("");
    if matches!(extension, "upc" | "c" | "f90") && !file.is_file() {
        return Err(format!("{}: no such file", file.display()));
    }
    let (tool, program) = match extension {
        "upc" => {
            stage::stage(&prefix, Parts::UPC)?;
            ("upcrun", file.to_path_buf())
        }
        "c" => {
            stage::stage(&prefix, Parts::C)?;
            let name = file.file_stem().unwrap_or_default();
            let program = sh::target().join("run").join(name);
            build::compile_c(&prefix, &[file], &program, &["-DGASNET_SEQ=1"])?;
            ("gasnetrun", program)
        }
        "f90" => {
            stage::stage(&prefix, Parts::FORTRAN)?;
            let program = sh::target().join("run").join(file.file_stem().unwrap_or_default());
            build::compile_fortran(&prefix, file, &program, &[])?;
            ("cafrun", program)
        }
        _ => {
            let name = file.to_string_lossy();
            let known = build::rust_examples();
            if !known.iter().any(|example| *example == name) {
                return Err(format!(
                    "'{name}' is neither a .upc, .c or .f90 file, nor one of the Rust examples: {}",
                    known.join(", ")
                ));
            }
            stage::stage(&prefix, Parts::NONE)?;
            let mut built = build::build_rust_examples(&[name.into_owned()], build::For::Users)?;
            ("gasnetrun", built.remove(0))
        }
    };
    if conduit.is_some_and(|conduit| conduit == "mpi") {
        let mpis = plugins::mpis();
        let mpi =
            mpis.first().ok_or("no MPI found: install one (Debian's: libopenmpi-dev and libclang-dev)")?;
        plugins::stage_mpi(&prefix, mpi)?;
    }
    if conduit.is_some_and(|conduit| conduit == "ofi") {
        if !plugins::has_libfabric() {
            return Err(
                "no libfabric found: install it (Debian's: libfabric-dev and libclang-dev)".to_string()
            );
        }
        plugins::stage_ofi(&prefix)?;
    }
    let mut command = Command::new(prefix.join("bin").join(tool));
    command.arg("-n").arg(ranks.to_string());
    if let Some(conduit) = conduit {
        command.arg("--conduit").arg(conduit);
    }
    command.arg(program);
    Ok(command)
}
