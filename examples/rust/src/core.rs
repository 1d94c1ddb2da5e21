//! Common parts of the examples for the core (crate `gasnet`).

use crate::{Size, given};
use gasnet::Rank;

/// As [`sizes`](crate::sizes).
pub fn sizes<const N: usize>(rank: &Rank, wanted: [Size; N]) -> Option<[u64; N]> {
    given(wanted, rank.id().0 == 0).unwrap_or_else(|()| {
        rank.barrier();
        rank.global_exit(2)
    })
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
