//! Cannon: multiplies two matrices that are spread over a square of ranks, moving every element by itself.
//!
//! Shows: fine-grained blocking writes into other ranks' memory, double buffering.
//!
//! Check: each block of the product times a vector, computed from the formulas of the two matrices.

use std::time::Instant;

use gasnet_examples::{cannon::cannon, passed, sizes, wrong};

fn main() {
    gasnet_conduits::run(|rank| {
        let wanted = [("ROWS", 80, 1..=4096), ("INNER", 120, 1..=4096)];
        let Some([rows, inner]) = sizes(rank, wanted) else { return };
        let start = Instant::now();
        let outcome = cannon(rank, rows as usize, inner as usize, |_| ());
        if !outcome.correct {
            wrong(rank, "the product is wrong");
        }
        if rank.id().0 == 0 {
            let (elapsed, q) = (start.elapsed().as_secs_f64(), rank.size().isqrt());
            println!(
                "cannon: {q} x {q} blocks of {rows} x {inner}: {elapsed:.3} s, {} puts a rank",
                outcome.puts
            );
        }
        passed(rank);
    });
}
