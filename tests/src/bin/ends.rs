//! Ends as its argument says, on rank 1: for tests of those who have to say how.
#![expect(unsafe_code, reason = "does what crashes a program")]

use core::hint::black_box;
use gasnet::{GlobalPtr, Rank, RankId, Spins};

fn main() {
    gasnet_conduits::run(|rank| {
        let how = std::env::args().nth(1).unwrap_or_default();
        rank.barrier();
        if how == "far" {
            look_far(rank);
        }
        if rank.id().0 == 1 {
            match how.as_str() {
                // SAFETY: none: the program is to crash. Nothing is mapped in the first page.
                "crash" => unsafe {
                    core::ptr::without_provenance_mut::<u8>(black_box(16)).write_volatile(1)
                },
                "panic" => panic!("as asked"),
                "loop" => while black_box(true) {},
                "deadlock" => rank.wait_until("what nobody does", || false),
                _ => {}
            }
        }
        rank.barrier();
    });
}

/// Each rank looks at a word of the next one until that changes: in a loop, and in a wait. Rank 0 writes all
/// words but the one that it looks at itself, and the last rank, which looks at rank 0, that one.
fn look_far(rank: &Rank) {
    let (me, n) = (rank.id().0, rank.size());
    let word = |of: u32, round: u64| GlobalPtr::<u64>::new(RankId(of % n), 8 * round);
    for round in 0..2 {
        if me == 0 {
            (2..=n).for_each(|of| rank.write(word(of, round), 1));
        }
        let mut spins = Spins::new();
        let at = word(me + 1, round);
        if round == 1 {
            rank.wait_until("a word of another rank", || rank.read(at) == 1);
        }
        while rank.read(at) == 0 {
            rank.waits().looked(&mut spins, 1, None);
            spins.begin(1);
        }
        if me == n - 1 {
            rank.write(word(1, round), 1);
        }
    }
}
