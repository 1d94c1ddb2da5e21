//! Heat that outlives its ranks: a metal rod cools down, and a rank that dies is replaced by a new process:
//! `gasnetrun -n 4 --on-death heal heat_heals`.
//!
//! Shows: work that is done again from what was saved last, whoever has died.
//!
//! Check: `sin(pi x)` is an eigenvector of the stencil, so after any number of steps every point must be the
//! starting value times a known factor.

use gasnet_examples::sizes;
use pgas::{Layout, World};
use std::f64::consts::PI;

const RATE: f64 = 0.2;

/// Cools a rod of so many points for so many steps. What was saved is where it begins.
fn cool(world: World, points: usize, steps: u64) {
    let mut rod = world.array::<f64>(points, Layout::Block);
    let first = if rod.local_len() > 0 { rod.global_index(0) } else { 0 };
    let initial = |i: usize| (PI * (i + 1) as f64 / (points + 1) as f64).sin();
    let keep = world.keep();
    let mut step = keep.restore(|saved| saved.part(&mut rod)).unwrap_or_else(|| {
        rod.local(|mine| mine.iter_mut().enumerate().for_each(|(at, t)| *t = initial(first + at)));
        0
    });
    while step < steps {
        let count = rod.local_len();
        let (left, right) = rod.read(|rod| {
            let point = |i: usize| if i < points { rod.get(i) } else { 0.0 };
            (if first > 0 { point(first - 1) } else { 0.0 }, point(first + count))
        });
        rod.local(|mine| {
            let before = [&[left], &*mine, &[right]].concat();
            let around = before.windows(3);
            mine.iter_mut().zip(around).for_each(|(t, a)| *t += RATE * (a[0] + a[2] - 2.0 * a[1]));
        });
        step += 1;
        if step.is_multiple_of(20) {
            keep.save(step, |save| save.part(&rod));
        }
    }
    let half = (PI / 2.0 / (points + 1) as f64).sin().powi(2);
    let decay = (1.0 - 4.0 * RATE * half).powf(steps as f64);
    rod.local(|mine| {
        for (at, found) in mine.iter().enumerate() {
            let expected = decay * initial(first + at);
            assert!((found - expected).abs() < 1e-9, "point {at}: {found}, expected {expected}");
        }
    });
}

fn main() {
    pgas::run(|world| {
        let Some([points, steps]) =
            sizes(world, [("POINTS", 4096, 1..=1 << 30), ("STEPS", 400, 0..=10_000_000)])
        else {
            return;
        };
        world.survive(|world| cool(world, points as usize, steps));
        if world.rank() == 0 {
            println!("heat_heals: {points} points, {steps} steps");
            println!("verification: passed");
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// This process dies in so many microseconds, whatever it does then.
    fn die_in(micros: u64) {
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_micros(micros));
            std::process::abort();
        });
    }

    /// Two ranks die, one after the other, at whatever moments.
    #[test]
    fn ranks_are_replaced() {
        for seed in 0..2 {
            pgas::testing::Job::new(4).heals().setting("GASNET_MAX_SEGSIZE", "16M").run(move |world| {
                if (world.rank(), world.epoch()) == (1, 0) {
                    die_in(2_000 + 700 * seed);
                }
                world.survive(|world| {
                    // The next one has no copy of rank 1's state, and rank 1 none of its.
                    if world.epoch() == 1 && world.rank() == 3 && world.incarnation() == 0 {
                        die_in(1_000 + 500 * seed);
                    }
                    cool(world, 300, 400);
                    // Who is to die has not died yet.
                    while world.epoch() < 2 {
                        world.barrier();
                    }
                });
            });
        }
    }
}
