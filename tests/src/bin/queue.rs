//! A queue that loses what two ranks put into it at the same time: the program of `docs/simulate.md`.

use gasnet::{GlobalPtr, RankId};

fn main() {
    gasnet_conduits::run(|rank| {
        let word = |index: u64| GlobalPtr::<u64>::new(RankId(0), index * 8);
        let tail = word(0);
        let me = u64::from(rank.id().0);
        // Usually each comes when the one before is done.
        for _ in 0..8 * me {
            rank.read(word(1));
        }
        if me > 0 {
            let end = rank.read(tail);
            rank.write(word(2 + end), me);
            rank.write(tail, end + 1);
        }
        rank.barrier();
        if me == 0 {
            let there = rank.read(tail);
            println!("{there} values are in the queue");
            assert_eq!(there, u64::from(rank.size()) - 1, "values are lost");
        }
    });
}
