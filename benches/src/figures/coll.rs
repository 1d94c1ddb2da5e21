//! Collective operations, locks and semaphores on one host.

use super::{beside, floor, rank, time, us};
use crate::probe::{Better, Figure, Group};
use pgas_bench::options::Options;

/// All of them.
pub fn all(_: &Options) -> Vec<Group> {
    let mut groups = Vec::new();
    for ranks in [2, 4, 8] {
        let figure = time(&format!("allreduce_8b_{ranks}"), "us", ranks, "allreduce", &["barrier"]);
        // Beside this project's own barrier.
        groups.push(beside(
            rank(ranks, "barrier"),
            rank(ranks, "allreduce_8"),
            us(Figure { bar: "ratio <= 1.5", ..figure }),
        ));
    }
    let figure = time("broadcast_1m_4", "GB/s", 4, "bcast", &["copies"]);
    groups.push(beside(
        floor("bcast", "4"),
        rank(4, "bcast_1m"),
        Figure { better: Better::Higher, bar: "ratio >= 0.8", ..figure },
    ));
    // Two hand-overs beside a cache line that goes to and fro.
    for (name, task, key) in
        [("lock_hand_over", "lock", "lock"), ("semaphore_hand_over", "semaphore", "semaphore")]
    {
        let figure = time(name, "us", 2, key, &["tight", "pause", "wait"]);
        let figure = us(Figure { bar: "ratio <= 2", ..figure });
        groups.push(beside(floor("pingpong", "1"), rank(2, task), figure));
    }
    groups
}
