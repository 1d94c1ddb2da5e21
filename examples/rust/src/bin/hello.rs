//! Hello: every rank greets, then writes to its right neighbour's memory, some rounds long.
//!
//! Shows: starting a job, a value at the same place in every segment, a remote write, barriers.

use gasnet::{GlobalPtr, RankId};
use gasnet_examples::{passed, sizes, sure, wrong};

fn main() {
    gasnet_conduits::run(|rank| {
        let Some([rounds]) = sizes(rank, [("ROUNDS", 3, 1..=1_000_000)]) else { return };
        println!("hello from rank {} of {}", rank.id(), rank.size());

        let (me, size) = (u64::from(rank.id().0), u64::from(rank.size()));
        let right = RankId(((me + 1) % size) as u32);
        // All ranks allocate the same, so the offset is the same everywhere.
        let mine: GlobalPtr<u64> = sure(rank, rank.allocate_array(1));
        rank.write(mine, me);
        for _ in 0..rounds {
            rank.barrier(); // all are written
            let value = rank.read(mine);
            rank.barrier(); // all are read
            rank.write(mine.on(right), value + 1);
        }
        rank.barrier();

        // What is here now began `rounds` ranks to the left and grew by one at each step.
        let expected = (me + size - rounds % size) % size + rounds;
        let found = rank.read(mine);
        if found != expected {
            wrong(rank, &format!("found {found}, expected {expected}"));
        }
        passed(rank);
    });
}
