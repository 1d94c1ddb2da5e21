//! What the Rust examples share: sizes from the command line, the verdict, reproducible random numbers.

use std::ops::RangeInclusive;

use gasnet::Rank;

/// One positional argument: its name, its default, and what it may be.
pub type Size = (&'static str, u64, RangeInclusive<u64>);

/// The sizes given on the command line, or their defaults. `None` after `--help`: return from the program then. A bad
/// argument ends the job with status 2.
///
/// All ranks see the same arguments and take the same way; rank 0 speaks.
pub fn sizes<const N: usize>(rank: &Rank, wanted: [Size; N]) -> Option<[u64; N]> {
    let mut args = std::env::args();
    let program = args.next().unwrap_or_default();
    let program = program.rsplit('/').next().unwrap_or_default().to_string();
    let mut usage = format!("usage: {program}");
    for (name, ..) in &wanted {
        usage += &format!(" [{name}");
    }
    usage += &"]".repeat(N);
    for (name, default, range) in &wanted {
        usage += &format!("\n  {name}: {} to {}, default {default}", range.start(), range.end());
    }

    let mut values = std::array::from_fn(|i| wanted[i].1);
    let mut problem = None;
    for (i, arg) in args.enumerate() {
        if arg == "--help" || arg == "-h" {
            if rank.id().0 == 0 {
                println!("{usage}");
            }
            return None;
        }
        match (wanted.get(i), arg.parse::<u64>()) {
            (Some((_, _, range)), Ok(value)) if range.contains(&value) => values[i] = value,
            (Some((name, ..)), _) => problem = problem.or(Some(format!("bad {name}: {arg}"))),
            (None, _) => problem = problem.or(Some(format!("too many arguments: {arg}"))),
        }
    }
    if let Some(problem) = problem {
        if rank.id().0 == 0 {
            eprintln!("{program}: {problem}\n{usage}");
        }
        rank.barrier();
        rank.global_exit(2);
    }
    Some(values)
}

/// The answer is wrong: say how, and end the job with status 1.
pub fn wrong(rank: &Rank, what: &str) -> ! {
    eprintln!("rank {}: {what}", rank.id());
    rank.global_exit(1)
}

/// Ends the job if the answer of any rank is wrong; else rank 0 prints the verdict. Collective.
pub fn passed(rank: &Rank) {
    rank.barrier();
    if rank.id().0 == 0 {
        println!("verification: passed");
    }
}

/// Unwraps a result of the runtime; an error ends the job.
pub fn sure<T>(rank: &Rank, result: Result<T, gasnet::Error>) -> T {
    match result {
        Ok(value) => value,
        Err(problem) => rank.fatal(&problem.to_string()),
    }
}

/// A mixing function: random numbers that depend on the index alone, so that the input is the same for any number of ranks.
pub fn mix(index: u64) -> u64 {
    let mut x = index.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
