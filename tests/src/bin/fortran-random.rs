//! Compiles and runs random Fortran programs with coarrays; each compares itself with a serial oracle.

use std::process::{Command, ExitCode};

use gasnet_tests::fortran_random::{IMAGES, PROCEDURE, program};
use gasnet_tests::seeds::{Options, Seeds, finish};

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

fn attempt(options: &Options, seeds: &[u64]) -> Result<u64, String> {
    let source = options.scratch.join(format!("random-{}-{}.f90", seeds[0], seeds.len()));
    let binary = source.with_extension("");
    let level = level(seeds[0]);
    let mut left = seeds.to_vec();
    loop {
        let text = program(&left);
        std::fs::write(&source, &text).map_err(|error| error.to_string())?;
        let mut compile = Command::new(options.prefix.join("bin/caf"));
        compile.args([level, "-g", "-w"]).arg(&source).arg("-o").arg(&binary);
        let outcome = finish(compile, left.len())?;
        if outcome.status == Some(0) {
            break;
        }
        let crash =
            crash(&text, &outcome.stderr).filter(|_| outcome.stderr.contains("internal compiler error"));
        match crash {
            Some(seed) => left.retain(|other| *other != seed),
            None => return Err(format!("{level}\n{}", outcome.report())),
        }
    }
    for environment in WAYS {
        let mut job = Command::new(options.prefix.join("bin/cafrun"));
        job.envs(environment.iter().copied());
        job.arg("-n").arg(IMAGES.to_string()).arg(&binary);
        let outcome = finish(job, left.len())?;
        if outcome.status != Some(0) || !outcome.stdout.contains("passed") {
            return Err(format!("{level}, {environment:?}\n{}", outcome.report()));
        }
    }
    for file in [source, binary] {
        drop(std::fs::remove_file(file));
    }
    Ok((seeds.len() - left.len()) as u64)
}

/// The seed whose procedure the compiler names: `FILE:LINE:COLUMN:`.
fn crash(text: &str, said: &str) -> Option<u64> {
    let line: usize =
        said.lines().find_map(|line| line.split(".f90:").nth(1)?.split(':').next()?.parse().ok())?;
    let begin = text.lines().take(line).filter_map(|line| line.strip_prefix(PROCEDURE)).last()?;
    begin.parse().ok()
}
