//! A program made of sections, over real ranks: every rank runs every section.
//!
//! `GASNET_PSHM_NODES=4 PROGRAM [--seed N] [SECTION...]`; without names all sections run. A failed check
//! panics, which ends the job with 101.

use pgas::World;

/// A section: its name and what it does, with a generator that differs between ranks.
pub type Section = (&'static str, fn(World, &mut fastrand::Rng));

/// Runs the sections that the command line names, or all. Those in `failures` end the job, and run only if
/// they are named. Rank 0 says at the end that `program` has passed.
pub fn run(program: &'static str, sections: &'static [Section], failures: &'static [Section]) {
    let mut seed = 1;
    let mut names = Vec::new();
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--seed" => seed = args.next().and_then(|n| n.parse().ok()).expect("--seed takes a number"),
            _ => names.push(arg),
        }
    }
    let known = |name: &String| sections.iter().chain(failures).any(|(known, _)| known == name);
    if let Some(unknown) = names.iter().find(|name| !known(name)) {
        panic!("{program} has no section {unknown}");
    }
    pgas::run(move |world| {
        if world.rank() == 0 {
            println!("{program}: {} ranks over {}, seed {seed}", world.size(), world.network());
        }
        let run = |(_, section): &Section| {
            section(world, &mut fastrand::Rng::with_seed(seed * 1000 + u64::from(world.rank())));
            world.barrier();
        };
        let named = |(name, _): &&Section| names.iter().any(|n| n == name);
        if names.is_empty() {
            sections.iter().for_each(run);
        } else {
            sections.iter().chain(failures).filter(named).for_each(run);
        }
        if world.rank() == 0 {
            println!("{program}: passed");
        }
    })
}
