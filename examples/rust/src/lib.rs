//! Common parts of the Rust examples: sizes from the command line, the verdict, reproducible random
//! numbers.

pub mod core;

use pgas::World;
use std::ops::RangeInclusive;

/// One positional argument: its name, its default, and what it may be.
pub type Size = (&'static str, u64, RangeInclusive<u64>);

/// The sizes given on the command line, or their defaults. `None` after `--help`: return from the program
/// then. A bad argument ends the job with status 2.
///
/// All ranks see the same arguments and take the same way; rank 0 speaks.
pub fn sizes<const N: usize>(world: World, wanted: [Size; N]) -> Option<[u64; N]> {
    given(wanted, world.rank() == 0).unwrap_or_else(|()| {
        world.barrier();
        world.exit(2)
    })
}

/// No rank has found an answer wrong, which would have ended the job: rank 0 says so. Collective.
pub fn passed(world: World) {
    world.barrier();
    if world.rank() == 0 {
        println!("verification: passed");
    }
}

/// The sizes on the command line, or `None` after `--help`. The rank with `speaks` prints messages. `Err`:
/// an argument is bad.
fn given<const N: usize>(wanted: [Size; N], speaks: bool) -> Result<Option<[u64; N]>, ()> {
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
            if speaks {
                println!("{usage}");
            }
            return Ok(None);
        }
        match (wanted.get(i), arg.parse::<u64>()) {
            (Some((_, _, range)), Ok(value)) if range.contains(&value) => values[i] = value,
            (Some((name, ..)), _) => problem = problem.or(Some(format!("bad {name}: {arg}"))),
            (None, _) => problem = problem.or(Some(format!("too many arguments: {arg}"))),
        }
    }
    if let Some(problem) = problem {
        if speaks {
            eprintln!("{program}: {problem}\n{usage}");
        }
        return Err(());
    }
    Ok(Some(values))
}

/// A mixing function: random numbers that depend on the index alone, so that the input is the same for any
/// number of ranks.
pub fn mix(index: u64) -> u64 {
    let mut x = index.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
