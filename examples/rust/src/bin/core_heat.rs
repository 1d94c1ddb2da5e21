//! Heat: a metal plate cools down. Each rank keeps a band of rows to itself and sends its edge rows to its
//! neighbours.
//!
//! Shows: one-sided writes that overlap with computation, a split-phase barrier, double buffering.
//!
//! Check: `sin(pi y) sin(pi x)` is an eigenvector of the stencil, so after any number of steps every point
//! must be the starting value times a known factor.

use std::f64::consts::PI;
use std::time::Instant;

use gasnet::barrier::ANONYMOUS;
use gasnet::{GlobalPtr, RankId};
use gasnet_examples::core::{passed, sizes, sure, wrong};

const RATE: f64 = 0.2;

/// Where a neighbour's edge row arrives: from above, from below.
const ABOVE: usize = 0;
const BELOW: usize = 1;

fn main() {
    gasnet_conduits::run(|rank| {
        let wanted =
            [("ROWS", 256, 1..=1_000_000), ("COLS", 256, 1..=1_000_000), ("STEPS", 200, 0..=10_000_000)];
        let Some([rows, cols, steps]) = sizes(rank, wanted) else { return };
        let (rows, cols) = (rows as usize, cols as usize);
        let size = rank.size() as usize;
        let first_row = |r: usize| r * rows / size;
        let owner = |row: usize| RankId((((row + 1) * size - 1) / rows) as u32);
        let low = first_row(rank.id().0 as usize);
        let count = first_row(rank.id().0 as usize + 1) - low;

        // Two sets of two landing rows: while one set is read, the neighbours fill the other.
        let landing: GlobalPtr<f64> = sure(rank, rank.allocate_array(4 * cols));
        let slot = |set: usize, side: usize| landing.add((2 * set + side) * cols);
        for set in 0..2 {
            for side in [ABOVE, BELOW] {
                rank.write_slice(slot(set, side), &vec![0.0; cols]); // beyond the plate it is cold
            }
        }
        rank.barrier();

        let factor = |i: usize, n: usize| (PI * (i + 1) as f64 / (n + 1) as f64).sin();
        let initial = |i: usize, j: usize| factor(low + i, rows) * factor(j, cols);
        // Rows 1..=count are ours; 0 and count + 1 are the neighbours'. Each row has a cold column at both
        // ends.
        let width = cols + 2;
        let mut now = vec![0.0; (count + 2) * width];
        for i in 0..count {
            for j in 0..cols {
                now[(i + 1) * width + j + 1] = initial(i, j);
            }
        }
        let mut next = now.clone();

        let start = Instant::now();
        for step in 0..steps as usize {
            let set = step % 2;
            // Send the edge rows; the handles own the buffers until the transfer is over.
            let mut sent = Vec::new();
            if count > 0 && low > 0 {
                let row = now[width + 1..width + 1 + cols].to_vec();
                sent.push(rank.write_nb(slot(set, BELOW).on(owner(low - 1)), row));
            }
            if count > 0 && low + count < rows {
                let at = count * width + 1;
                sent.push(
                    rank.write_nb(slot(set, ABOVE).on(owner(low + count)), now[at..at + cols].to_vec()),
                );
            }
            sent.into_iter().for_each(|pending| drop(pending.wait()));
            rank.split_barrier().notify(0, ANONYMOUS);
            // Rows that need no neighbour, while the others' edges arrive.
            for i in 2..count {
                relax(&mut next, &now, i, width);
            }
            rank.split_barrier().wait(0, ANONYMOUS);
            if count > 0 {
                rank.read_slice(slot(set, ABOVE), &mut now[1..1 + cols]);
                let below = (count + 1) * width + 1;
                rank.read_slice(slot(set, BELOW), &mut now[below..below + cols]);
                relax(&mut next, &now, 1, width);
                relax(&mut next, &now, count, width);
            }
            std::mem::swap(&mut now, &mut next);
        }
        rank.barrier();
        let elapsed = start.elapsed().as_secs_f64();

        let half = |n: usize| (PI / 2.0 / (n + 1) as f64).sin().powi(2);
        let decay = (1.0 - 4.0 * RATE * (half(rows) + half(cols))).powf(steps as f64);
        for i in 0..count {
            for j in 0..cols {
                let (found, expected) = (now[(i + 1) * width + j + 1], decay * initial(i, j));
                if (found - expected).abs() >= 1e-9 || found.is_nan() {
                    wrong(rank, &format!("row {} column {j}: {found}, expected {expected}", low + i));
                }
            }
        }
        if rank.id().0 == 0 {
            println!("core_heat: {rows} x {cols} points, {steps} steps, {size} ranks: {elapsed:.3} s");
        }
        passed(rank);
    });
}

fn relax(next: &mut [f64], now: &[f64], row: usize, width: usize) {
    for j in 1..width - 1 {
        let at = row * width + j;
        let around = now[at - width] + now[at + width] + now[at - 1] + now[at + 1];
        next[at] = now[at] + RATE * (around - 4.0 * now[at]);
    }
}
