//! Hello: every rank greets, then a value goes round: each rank hands it to its right neighbour, some rounds
//! long.
//!
//! Shows: starting a job, an object on each rank, functions that run on another rank.

use gasnet_examples::{passed, sizes};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

fn main() {
    pgas::run(|world| {
        let Some([rounds]) = sizes(world, [("ROUNDS", 3, 1..=1_000_000)]) else { return };
        println!("hello from rank {} of {}", world.rank(), world.size());

        let (me, size) = (u64::from(world.rank()), u64::from(world.size()));
        let right = (world.rank() + 1) % world.size();
        let cell = world.share(AtomicU64::new(me));
        for _ in 0..rounds {
            let value = cell.load(Relaxed);
            world.barrier(); // all have read theirs
            cell.send(right, |cell, value| cell.store(value, Relaxed), value + 1);
            world.settle(); // all are stored
        }

        // The value began `rounds` ranks to the left and was incremented at each step.
        assert_eq!(cell.load(Relaxed), (me + size - rounds % size) % size + rounds);
        passed(world);
    })
}
