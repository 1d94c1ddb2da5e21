//! Bitonic sort of 64-bit keys over a power of two of ranks, element by element: every key that moves is a blocking 8-byte put. The
//! pattern of the Firehose paper's second program.
//!
//! Each rank sorts its keys; then in each of d (d + 1) / 2 steps it puts all of them into a partner's memory, merges, and keeps the
//! lower or the upper half. There is one buffer per partner, used again and again.

use crate::{mix, sure};
use gasnet::{GlobalPtr, Rank, RankId};

/// What a rank did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Outcome {
    /// 8-byte puts of keys.
    pub puts: u64,
    /// Whether the keys here are in order, and not below the previous rank's.
    pub ordered: bool,
    /// Sum of the mixed keys before, modulo 2^64, over all sorts: over all ranks it must equal the one after.
    pub before: u64,
    /// The same of the sorted keys.
    pub after: u64,
}

/// Sorts `keys` keys a rank, `sorts` times with new ones, on the largest power of two of ranks; `compute` is told of the
/// comparisons made.
///
/// # Collective
/// Over all ranks, those that have no part in it included; takes `8 * keys * (log2(ranks) + 1)` bytes of each segment.
pub fn bitonic(rank: &Rank, keys: usize, sorts: usize, mut compute: impl FnMut(u64)) -> Outcome {
    let dimensions = rank.size().ilog2();
    let me = rank.id().0;
    let taking_part = me < 1 << dimensions;
    // One per partner, and one for the check.
    let buffers: Vec<GlobalPtr<u64>> = (0..=dimensions)
        .map(|_| GlobalPtr::new(rank.id(), sure(rank, rank.allocate((keys * 8) as u64, 64))))
        .collect();
    let log = u64::from((keys as u64).max(2).ilog2());

    let mut outcome = Outcome { ordered: true, ..Outcome::default() };
    let mut theirs = vec![0; keys];
    for sort in 0..sorts {
        let first = (sort as u64 * u64::from(rank.size()) + u64::from(me)) * keys as u64;
        let mut mine: Vec<u64> = (first..first + keys as u64).map(mix).collect();
        outcome.before = mine.iter().fold(outcome.before, |sum, k| sum.wrapping_add(mix(*k)));
        mine.sort_unstable();
        compute(keys as u64 * log);
        for stage in 0..dimensions {
            for bit in (0..=stage).rev() {
                let here = buffers[bit as usize];
                if taking_part {
                    let there = here.on(RankId(me ^ 1 << bit));
                    for (k, key) in mine.iter().enumerate() {
                        rank.write(there.add(k), *key);
                    }
                    outcome.puts += keys as u64;
                }
                rank.barrier();
                if taking_part {
                    rank.read_slice(here, &mut theirs);
                    let ascending = me >> (stage + 1) & 1 == 0;
                    let keep_low = (me >> bit & 1 == 0) == ascending;
                    mine = merge(&mine, &theirs, keep_low);
                    compute(keys as u64);
                }
            }
        }
        if taking_part {
            outcome.after = mine.iter().fold(outcome.after, |sum, k| sum.wrapping_add(mix(*k)));
            outcome.ordered &= mine.is_sorted();
            rank.write_slice(buffers[dimensions as usize], &mine);
        }
        rank.barrier();
        if taking_part && me > 0 && keys > 0 {
            let last_before = rank.read(buffers[dimensions as usize].on(RankId(me - 1)).add(keys - 1));
            outcome.ordered &= last_before <= mine[0];
        }
        // Also keeps the next sort's keys out of buffers still in use.
        rank.barrier();
    }
    outcome
}

/// The lower or upper half of two sorted lists of one length, sorted.
fn merge(a: &[u64], b: &[u64], low: bool) -> Vec<u64> {
    let mut half = Vec::with_capacity(a.len());
    if low {
        let (mut i, mut j) = (0, 0);
        while half.len() < a.len() {
            let from_a = a[i] <= b[j];
            half.push(if from_a { a[i] } else { b[j] });
            (i, j) = if from_a { (i + 1, j) } else { (i, j + 1) };
        }
    } else {
        let (mut i, mut j) = (a.len(), b.len());
        while half.len() < a.len() {
            let from_a = a[i - 1] > b[j - 1];
            half.push(if from_a { a[i - 1] } else { b[j - 1] });
            (i, j) = if from_a { (i - 1, j) } else { (i, j - 1) };
        }
        half.reverse();
    }
    half
}

#[cfg(test)]
mod tests {
    use super::merge;

    #[test]
    fn halves_of_a_merge() {
        for seed in 0..200u64 {
            let list = |s: u64| {
                let mut v: Vec<u64> = (0..seed % 9).map(|i| super::mix(s * 100 + i) % 10).collect();
                v.sort_unstable();
                v
            };
            let (a, b) = (list(2 * seed), list(2 * seed + 1));
            let mut all = [a.clone(), b.clone()].concat();
            all.sort_unstable();
            assert_eq!(merge(&a, &b, true), all[..a.len()]);
            assert_eq!(merge(&a, &b, false), all[a.len()..]);
        }
    }
}
