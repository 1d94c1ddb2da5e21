//! Compiles and runs random UPC programs; each compares itself with a sequential oracle.

use std::process::{Command, ExitCode};

use gasnet_tests::seeds::{Options, Seeds, finish};
use gasnet_tests::upc_random::{Random, program};

/// The passes of upcc's optimiser.
const PASSES: [&str; 8] =
    ["forall", "privatise", "coalesce", "split-phase", "arithmetic", "hoist", "outline", "vector"];

fn main() -> ExitCode {
    Seeds { name: "upc-random", together: 1, program: |seeds| program(seeds[0]), attempt }.main()
}

/// How a program is compiled and run. Not all go the same ways through compiler and runtime.
struct Way {
    flags: Vec<String>,
    counts: Vec<u64>,
    environment: &'static [(&'static str, &'static str)],
}

impl Way {
    /// The thread count fixed at compile time, or not.
    fn draw(random: &mut Random, fixed: bool) -> Way {
        let mut flags = vec![random.pick(&["-O2", "-O2", "-O2", "-O2", "-O1", "-O3", "-O0"]).to_string()];
        let switch = |pass: &&str| format!("-fno-upc-{pass}");
        match random.below(5) {
            // One of the passes less, one alone, some.
            0 => flags.push(switch(random.pick(&PASSES))),
            1 => {
                let alone = *random.pick(&PASSES);
                flags.extend(PASSES.iter().filter(|pass| **pass != alone).map(switch));
            }
            2 => flags.extend(PASSES.iter().filter(|_| random.one_in(3)).map(switch)),
            _ => {}
        }
        if random.one_in(4) {
            flags.push("-fupc-pts=struct".into());
        }
        if random.one_in(3) {
            flags.push("-fupc-aggregate".into());
        }
        if random.one_in(16) {
            flags.push("-fsanitize=upc".into());
        }
        let mut counts = vec![1, 2, 3, 5];
        if random.one_in(3) {
            counts.push(8);
        }
        if fixed {
            counts = vec![*random.pick(&[1, 2, 3, 4, 5, 8])];
            flags.push(format!("-T={}", counts[0]));
        }
        let environment = *random.pick(&[
            &[("GASNET_NEIGHBORHOOD", "on")] as &[_],
            &[("GASNET_NEIGHBORHOOD", "on")],
            &[("GASNET_NEIGHBORHOOD", "2")],
            &[("GASNET_NEIGHBORHOOD", "off")],
            &[("GASNET_NEIGHBORHOOD", "off"), ("GASNET_SMP_DELAY", "3000ns")],
        ]);
        Way { flags, counts, environment }
    }
}

/// One program: dynamic, run with several numbers of threads, and static for one of them.
fn attempt(options: &Options, seeds: &[u64]) -> Result<u64, String> {
    let seed = seeds[0];
    let source = options.scratch.join(format!("random-{seed}.upc"));
    std::fs::write(&source, program(seed)).map_err(|error| error.to_string())?;
    let binary = source.with_extension("");
    let mut random = Random::new(!seed);
    for fixed in [false, true] {
        let way = Way::draw(&mut random, fixed);
        let mut compile = Command::new(options.prefix.join("bin/upcc"));
        compile.args(&way.flags).arg(&source).arg("-o").arg(&binary);
        let outcome = finish(compile, 1)?;
        if outcome.status != Some(0) || !outcome.stderr.is_empty() {
            return Err(format!("{}\n{}", way.flags.join(" "), outcome.report()));
        }
        for count in way.counts {
            let mut job = Command::new(options.prefix.join("bin/upcrun"));
            job.envs(way.environment.iter().copied());
            job.arg("-n").arg(count.to_string()).arg(&binary);
            let outcome = finish(job, 1)?;
            if outcome.status != Some(0) || !outcome.stdout.contains("passed") {
                let (flags, environment) = (way.flags.join(" "), way.environment);
                return Err(format!("{flags}, -n {count}, {environment:?}\n{}", outcome.report()));
            }
        }
    }
    for file in [source, binary] {
        drop(std::fs::remove_file(file));
    }
    Ok(0)
}
