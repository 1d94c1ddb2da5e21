//! Batches of a measured job: rank 0 prints a line `KEY VALUE` for each result.

use std::time::Instant;

use gasnet::Rank;

/// Batches whose results are printed.
pub const BATCHES: i32 = 5;

/// Runs the batches: `work` returns the results of one; the first warms up and is not printed.
pub fn batches(rank: &Rank, mut work: impl FnMut() -> Vec<(&'static str, f64)>) {
    let Ok(()) = try_batches(rank, || Ok::<_, std::convert::Infallible>(work()));
}

/// [`batches`] of work that can fail.
///
/// # Errors
/// The first one of the work.
pub fn try_batches<E>(
    rank: &Rank,
    mut work: impl FnMut() -> Result<Vec<(&'static str, f64)>, E>,
) -> Result<(), E> {
    for batch in -1..BATCHES {
        rank.barrier();
        let results = work()?;
        if rank.id().0 == 0 && batch >= 0 {
            results.iter().for_each(|(key, value)| println!("{key} {value:.6}"));
        }
    }
    rank.barrier();
    Ok(())
}

/// Nanoseconds since `start` of each of `count` operations.
pub fn ns_each(start: Instant, count: u64) -> f64 {
    start.elapsed().as_nanos() as f64 / count as f64
}

/// The argument of this program at a place of the command line, as a number.
pub fn argument(at: usize, usual: u64) -> u64 {
    std::env::args().nth(at).and_then(|a| a.parse().ok()).unwrap_or(usual)
}
