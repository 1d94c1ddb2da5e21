//! Heat: a metal plate cools down. Each rank has a band of rows of one array, and reads the rows next to it
//! from its neighbours.
//!
//! Shows: an array that is used in phases: first all read, then each changes its own part.
//!
//! Check: `sin(pi y) sin(pi x)` is an eigenvector of the stencil, so after any number of steps every point
//! must be the starting value times a known factor.

use gasnet_examples::{passed, sizes};
use pgas::Layout;
use std::f64::consts::PI;
use std::time::Instant;

const RATE: f64 = 0.2;

fn main() {
    pgas::run(|world| {
        let wanted =
            [("ROWS", 256, 1..=1_000_000), ("COLS", 256, 1..=1_000_000), ("STEPS", 200, 0..=10_000_000)];
        let Some([rows, cols, steps]) = sizes(world, wanted) else { return };
        let (rows, cols) = (rows as usize, cols as usize);
        let band = rows.div_ceil(world.size() as usize);
        let mut plate = world.array::<f64>(rows * cols, Layout::BlockCyclic(band * cols));
        let low = band * world.rank() as usize;
        let initial = |i: usize, j: usize| {
            (PI * i as f64 / (rows + 1) as f64).sin() * (PI * j as f64 / (cols + 1) as f64).sin()
        };
        plate.local(|mine| {
            mine.iter_mut().enumerate().for_each(|(at, t)| *t = initial(low + at / cols + 1, at % cols + 1));
        });

        let start = Instant::now();
        let count = plate.local_len() / cols;
        let mut before = Vec::new();
        let cold = vec![0.0; cols];
        for _ in 0..steps {
            let (above, below) = plate.read(|plate| {
                let row = |i: usize| plate.gather(&(i * cols..(i + 1) * cols).collect::<Vec<_>>());
                let above = (count > 0 && low > 0).then(|| row(low - 1));
                (above, (count > 0 && low + count < rows).then(|| row(low + count)))
            });
            plate.local(|mine| {
                before.clear();
                before.extend_from_slice(above.as_ref().unwrap_or(&cold));
                before.extend_from_slice(mine);
                before.extend_from_slice(below.as_ref().unwrap_or(&cold));
                mine.chunks_exact_mut(cols).zip(before.windows(3 * cols).step_by(cols)).for_each(
                    |(row, around)| {
                        for j in 0..cols {
                            let here = cols + j;
                            let left = if j == 0 { 0.0 } else { around[here - 1] };
                            let right = if j + 1 == cols { 0.0 } else { around[here + 1] };
                            let sum = around[j] + around[2 * cols + j] + left + right;
                            row[j] += RATE * (sum - 4.0 * around[here]);
                        }
                    },
                );
            });
        }
        let elapsed = start.elapsed().as_secs_f64();

        let half = |n: usize| (PI / 2.0 / (n + 1) as f64).sin().powi(2);
        let decay = (1.0 - 4.0 * RATE * (half(rows) + half(cols))).powf(steps as f64);
        plate.local(|mine| {
            for (at, found) in mine.iter().enumerate() {
                let expected = decay * initial(low + at / cols + 1, at % cols + 1);
                assert!((found - expected).abs() < 1e-9, "point {at}: {found}, expected {expected}");
            }
        });
        if world.rank() == 0 {
            let size = world.size();
            println!("heat: {rows} x {cols} points, {steps} steps, {size} ranks: {elapsed:.3} s");
        }
        passed(world);
    })
}
