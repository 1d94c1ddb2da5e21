//! Two-dimensional FFT: each rank transforms its rows, the matrix is transposed, and each rank transforms
//! what were the columns.
//!
//! Shows: phases in which each rank puts to elements of all others (the transposition), between phases in
//! which each has its part.
//!
//! Check: the input is a sum of waves, whose transform is known: a peak for each, and nothing elsewhere.

use gasnet_examples::{mix, passed, sizes};
use pgas::{Array, Layout};
use std::f64::consts::TAU;
use std::time::Instant;

/// A complex number.
type Complex = [f64; 2];

fn times(a: Complex, b: Complex) -> Complex {
    [a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]]
}

/// A number on the unit circle.
fn turn(part: f64) -> Complex {
    let (sin, cos) = (TAU * part).sin_cos();
    [cos, sin]
}

/// The transform of a row whose length is a power of two, in place.
fn fft(row: &mut [Complex]) {
    let n = row.len();
    let bits = n.trailing_zeros();
    for i in 0..n {
        let j = if bits == 0 { 0 } else { i.reverse_bits() >> (usize::BITS - bits) };
        if i < j {
            row.swap(i, j);
        }
    }
    let mut half = 1;
    while half < n {
        for group in row.chunks_exact_mut(2 * half) {
            let (low, high) = group.split_at_mut(half);
            for (k, (a, b)) in low.iter_mut().zip(high).enumerate() {
                let t = times(*b, turn(-(k as f64) / (2 * half) as f64));
                (*a, *b) = ([a[0] + t[0], a[1] + t[1]], [a[0] - t[0], a[1] - t[1]]);
            }
        }
        half *= 2;
    }
}

/// Puts the transpose of `from` to `to`.
fn transpose(from: &mut Array<Complex>, to: &mut Array<Complex>, n: usize) {
    let first = if from.local_len() == 0 { 0 } else { from.global_index(0) / n };
    from.read(|from| {
        to.exchange(|to| {
            for (i, row) in from.local().chunks_exact(n).enumerate() {
                row.iter().enumerate().for_each(|(j, &value)| to.put(j * n + first + i, value));
            }
        });
    });
}

fn main() {
    pgas::run(|world| {
        let wanted = [("LOG2_N", 8, 1..=14), ("WAVES", 5, 1..=1000)];
        let Some([log, waves]) = sizes(world, wanted) else { return };
        let n = 1usize << log;
        // Wave number `w`: how often it goes up and down along the rows and the columns.
        let wave = |w: u64| ((mix(w) % n as u64) as usize, (mix(w ^ 0xffff) % n as u64) as usize);
        let rows = Layout::BlockCyclic(n.div_ceil(world.size() as usize) * n);
        let (mut matrix, mut other) =
            (world.array::<Complex>(n * n, rows), world.array::<Complex>(n * n, rows));
        let mine: Vec<usize> = (0..matrix.local_len()).map(|at| matrix.global_index(at)).collect();
        matrix.local(|part| {
            for (value, &index) in part.iter_mut().zip(&mine) {
                for (u, v) in (0..waves).map(wave) {
                    let add =
                        turn((index / n * u % n) as f64 / n as f64 + (index % n * v % n) as f64 / n as f64);
                    *value = [value[0] + add[0], value[1] + add[1]];
                }
            }
        });

        let start = Instant::now();
        matrix.local(|part| part.chunks_exact_mut(n).for_each(fft));
        transpose(&mut matrix, &mut other, n);
        other.local(|part| part.chunks_exact_mut(n).for_each(fft));
        transpose(&mut other, &mut matrix, n);
        let elapsed = start.elapsed().as_secs_f64();

        let mut peaks = std::collections::HashMap::new();
        (0..waves).map(wave).for_each(|(u, v)| *peaks.entry(u * n + v).or_insert(0.0) += (n * n) as f64);
        matrix.local(|part| {
            for (value, index) in part.iter().zip(&mine) {
                let expected = peaks.get(index).copied().unwrap_or(0.0);
                let error = (value[0] - expected).hypot(value[1]);
                assert!(error < 1e-9 * (n * n) as f64, "element {index}: {value:?}, expected {expected}");
            }
        });
        if world.rank() == 0 {
            println!("fft2d: {n} x {n}, {} ranks: {elapsed:.3} s", world.size());
        }
        passed(world);
    })
}
