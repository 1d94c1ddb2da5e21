//! Compiles and runs random Fortran programs with coarrays; each compares itself with a serial oracle.

use std::process::{Command, ExitCode};

use gasnet_tests::fortran_random::{IMAGES, program};
use gasnet_tests::seeds::{Fate, Options, Seeds, finish};

/// Whether the images of a run share memory: all, in pairs, none.
const WAYS: [&[(&str, &str)]; 3] =
    [&[("GASNET_NEIGHBORHOOD", "on")], &[("GASNET_NEIGHBORHOOD", "2")], &[("GASNET_NEIGHBORHOOD", "off")]];

fn main() -> ExitCode {
    Seeds { name: "fortran-random", program, attempt }.main()
}

fn attempt(options: &Options, seed: u64) -> Result<Fate, String> {
    let source = options.scratch.join(format!("random-{seed}.f90"));
    std::fs::write(&source, program(seed)).map_err(|error| error.to_string())?;
    let binary = source.with_extension("");
    let level = ["-O0", "-O2", "-O3"][(seed % 3) as usize];
    let mut compile = Command::new(options.prefix.join("bin/caf"));
    compile.args([level, "-g", "-w"]).arg(&source).arg("-o").arg(&binary);
    let outcome = finish(compile)?;
    if outcome.stderr.contains("internal compiler error") {
        drop(std::fs::remove_file(source));
        return Ok(Fate::NotCompiled);
    }
    if outcome.status != Some(0) {
        return Err(format!("{level}\n{}", outcome.report()));
    }
    for environment in WAYS {
        let mut job = Command::new(options.prefix.join("bin/cafrun"));
        job.envs(environment.iter().copied());
        job.arg("-n").arg(IMAGES.to_string()).arg(&binary);
        let outcome = finish(job)?;
        if outcome.status != Some(0) || !outcome.stdout.contains("passed") {
            return Err(format!("{level}, {environment:?}\n{}", outcome.report()));
        }
    }
    for file in [source, binary] {
        drop(std::fs::remove_file(file));
    }
    Ok(Fate::Passed)
}
