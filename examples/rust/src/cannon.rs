//! Cannon's matrix multiply, C = A B, on a square grid of ranks, element by element: every element that moves is a blocking
//! 8-byte put. The pattern of the Firehose paper's first program.
//!
//! The ranks form a q x q torus. The blocks start out in the places from which a rank's two blocks always fit together; q times, each
//! rank multiplies what it has, then puts its block of A into its left neighbour's memory and its block of B into its upper
//! neighbour's, each into the one of two buffers that is not in use.

use crate::{mix, sure};
use gasnet::{GlobalPtr, Rank, RankId};

/// What a rank did.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outcome {
    /// 8-byte puts.
    pub puts: u64,
    /// Whether its block of C is right.
    pub correct: bool,
}

/// Small whole numbers, so that sums are exact in any order.
fn a(row: u64, column: u64) -> f64 {
    (mix(row << 32 | column) % 17) as f64 - 8.0
}
fn b(row: u64, column: u64) -> f64 {
    (mix(!(row << 32 | column)) % 17) as f64 - 8.0
}

/// Multiplies matrices whose blocks are `rows` x `inner` (A) and `inner` x `rows` (B), on the largest square of ranks there is;
/// `compute` is told of each multiplication's floating-point operations when it is done.
///
/// # Collective
/// Over all ranks, those that have no part in it included; takes `32 * rows * inner` bytes of each segment.
pub fn cannon(rank: &Rank, rows: usize, inner: usize, mut compute: impl FnMut(u64)) -> Outcome {
    let q = rank.size().isqrt();
    let me = rank.id().0;
    let block = rows * inner;
    let buffers: [GlobalPtr<f64>; 4] =
        std::array::from_fn(|_| GlobalPtr::new(rank.id(), sure(rank, rank.allocate((block * 8) as u64, 64))));
    let buffer = |which: usize, turn: u32| buffers[which * 2 + turn as usize % 2];
    let (i, j) = (me / q, me % q);
    let taking_part = me < q * q;
    let at = |i: u32, j: u32| RankId(i % q * q + j % q);
    // Rank (i, j) begins with A(i, i + j) and B(i + j, j).
    let middle = |turn: u32| u64::from((i + j + turn) % q) * inner as u64;
    let (top, left) = (u64::from(i) * rows as u64, u64::from(j) * rows as u64);

    let mut outcome = Outcome { puts: 0, correct: true };
    let mut c = vec![0.0; rows * rows];
    if taking_part {
        let mine: Vec<f64> =
            (0..block).map(|k| a(top + (k / inner) as u64, middle(0) + (k % inner) as u64)).collect();
        rank.write_slice(buffer(0, 0), &mine);
        let mine: Vec<f64> =
            (0..block).map(|k| b(middle(0) + (k / rows) as u64, left + (k % rows) as u64)).collect();
        rank.write_slice(buffer(1, 0), &mine);
    }
    rank.barrier();
    let (mut part_a, mut part_b) = (vec![0.0; block], vec![0.0; block]);
    for turn in 0..q {
        if taking_part {
            rank.read_slice(buffer(0, turn), &mut part_a);
            rank.read_slice(buffer(1, turn), &mut part_b);
            for (row, out) in part_a.chunks_exact(inner).zip(c.chunks_exact_mut(rows)) {
                for (x, of_b) in row.iter().zip(part_b.chunks_exact(rows)) {
                    for (sum, y) in out.iter_mut().zip(of_b) {
                        *sum += x * y;
                    }
                }
            }
            compute(2 * (block * rows) as u64);
            let to_left = buffer(0, turn + 1).on(at(i, j + q - 1));
            let to_upper = buffer(1, turn + 1).on(at(i + q - 1, j));
            for (to, from) in [(to_left, &part_a), (to_upper, &part_b)] {
                for (k, value) in from.iter().enumerate() {
                    rank.write(to.add(k), *value);
                }
                outcome.puts += from.len() as u64;
            }
        }
        rank.barrier();
    }

    if taking_part {
        // C x = A (B x) for one x of small whole numbers: exact, and wrong with near certainty for a wrong C.
        let length = q as usize * inner;
        let x: Vec<f64> = (0..rows).map(|k| (mix(k as u64) % 101) as f64).collect();
        let bx: Vec<f64> = (0..length as u64)
            .map(|k| x.iter().zip(left..).map(|(x, column)| b(k, column) * x).sum())
            .collect();
        outcome.correct = c.chunks_exact(rows).zip(top..).all(|(of_c, row)| {
            let expected: f64 = bx.iter().zip(0..).map(|(y, k)| a(row, k) * y).sum();
            of_c.iter().zip(&x).map(|(c, x)| c * x).sum::<f64>() == expected
        });
    }
    outcome
}
