//! Counts words, as a service whose ranks may die: `gasnetrun -n 4 --on-death shrink words_shrink`.
//!
//! Shows: a hash table whose entries move to the ranks that are left. Each rank saves its own entries; what a
//! dead rank has saved comes to another one, which puts it into the new table.
//!
//! Check: every word was added as often as all rounds together say.

use gasnet_examples::{mix, sizes};
use pgas::{DistMap, World};

/// Words that are added in a round.
const ROUND: u64 = 500;
const WORDS: u64 = 97;

/// The words of a round, by all ranks together.
fn words(round: u64) -> impl Iterator<Item = u64> {
    (0..ROUND).map(move |i| mix(round * ROUND + i) % WORDS)
}

fn count(world: World, rounds: u64) {
    let counts = DistMap::<u64, u64>::new(world);
    let keep = world.keep();
    // Perhaps several times on this rank: with its own entries, and with those of the dead.
    let restored = keep.restore(|saved| {
        let entries: Vec<(u64, u64)> = saved.value();
        entries.into_iter().for_each(|(word, count)| counts.insert(word, count));
    });
    world.settle();
    let mut round = restored.unwrap_or(0);
    while round < rounds {
        let mine = words(round).skip(world.rank() as usize).step_by(world.size() as usize);
        mine.for_each(|word| counts.update(word, |count, n: u64| *count += n, 1));
        world.settle();
        round += 1;
        let mut entries = Vec::new();
        counts.for_each(|word, count| entries.push((*word, *count)));
        keep.save(round, |save| save.value(&entries));
    }
    let mut expected = vec![0; WORDS as usize];
    (0..rounds).flat_map(words).for_each(|word| expected[word as usize] += 1);
    counts.for_each(|word, count| assert_eq!(*count, expected[*word as usize], "word {word}"));
    assert_eq!(counts.len(), expected.iter().filter(|count| **count > 0).count());
}

fn main() {
    pgas::run(|world| {
        let Some([rounds]) = sizes(world, [("ROUNDS", 20, 0..=1_000_000)]) else { return };
        let left = world.survive(|world| {
            count(world, rounds);
            (world.rank(), world.size())
        });
        if left.0 == 0 {
            println!("words_shrink: {} words counted by {} ranks", rounds * ROUND, left.1);
            println!("verification: passed");
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two ranks of four die, one after the other, at whatever moments.
    #[test]
    fn keys_move_to_the_ranks_that_are_left() {
        for seed in 0..2u64 {
            pgas::testing::Job::new(4).survives().setting("GASNET_MAX_SEGSIZE", "16M").run(move |world| {
                let first = world.rank();
                let died = world.survive(|world| {
                    if [(1, 0), (3, 1)].contains(&(first, world.epoch())) {
                        std::thread::spawn(move || {
                            std::thread::sleep(std::time::Duration::from_micros(500 + 900 * seed));
                            std::process::abort();
                        });
                    }
                    count(world, 30);
                    // Who is to die has not died yet.
                    while world.epoch() < 2 {
                        world.barrier();
                    }
                    4 - world.size()
                });
                assert_eq!(died, 2);
            });
        }
    }
}
