//! Compiles and runs random Fortran programs with coarrays; each compares itself with a serial oracle.

use std::ops::Range;
use std::process::{Command, ExitCode};

use gasnet_tests::fortran_random::{IMAGES, program};
use gasnet_tests::seeds::{Fate, Options, Seeds, finish};

/// Whether the images of a run share memory: all, in pairs, none.
const WAYS: [&[(&str, &str)]; 3] =
    [&[("GASNET_NEIGHBORHOOD", "on")], &[("GASNET_NEIGHBORHOOD", "2")], &[("GASNET_NEIGHBORHOOD", "off")]];

/// Seeds of a program.
const TOGETHER: u64 = 20;

fn main() -> ExitCode {
    Seeds { name: "fortran-random", together: TOGETHER, program, attempt }.main()
}

/// What a program is compiled with. The compiler takes six times as long to optimise, and the library is the
/// same, so most programs are not optimised.
fn level(seed: u64) -> &'static str {
    match seed / TOGETHER % 20 {
        0 => "-O2",
        10 => "-O3",
        _ => "-O0",
    }
}

fn attempt(options: &Options, seeds: Range<u64>) -> Result<Fate, String> {
    let source = options.scratch.join(format!("random-{}-{}.f90", seeds.start, seeds.end - seeds.start));
    std::fs::write(&source, program(seeds.clone())).map_err(|error| error.to_string())?;
    let binary = source.with_extension("");
    let level = level(seeds.start);
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
