//! Random numbers.

use crate::world::World;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

impl World {
    /// A stream of random numbers of this rank's own, for the crate `rand` 0.10: those of all ranks are parts
    /// of one sequence, each 2^128 long, so they do not overlap.
    ///
    /// ```no_run
    /// # pgas::run(|world| {
    /// use rand_core::Rng;
    /// let mut random = world.random(42);
    /// println!("rank {} throws {}", world.rank(), random.next_u64() % 6 + 1);
    /// # })
    /// ```
    pub fn random(self, seed: u64) -> Xoshiro256PlusPlus {
        stream(seed, self.rank())
    }
}

/// The stream of a rank.
fn stream(seed: u64, rank: u32) -> Xoshiro256PlusPlus {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    (0..rank).for_each(|_| random.jump());
    random
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_xoshiro::rand_core::Rng;

    #[test]
    fn streams_are_their_own_and_come_again() {
        let first = |rank| {
            let mut random = stream(7, rank);
            [random.next_u64(), random.next_u64()]
        };
        assert_eq!(first(3), first(3));
        let all: std::collections::BTreeSet<u64> = (0..100).flat_map(first).collect();
        assert_eq!(all.len(), 200);
    }
}
