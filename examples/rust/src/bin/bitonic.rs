//! Bitonic: sorts keys that are spread over a power of two of ranks, moving every key by itself.
//!
//! Shows: fine-grained blocking writes into other ranks' memory, a buffer per partner, remote atomics for the check.
//!
//! Check: the keys ascend on each rank and from rank to rank, and as a set they are what was generated.

use std::time::Instant;

use gasnet::{GlobalPtr, RankId};
use gasnet_examples::{bitonic::bitonic, passed, sizes, sure, wrong};

fn main() {
    gasnet_conduits::run(|rank| {
        let wanted = [("KEYS", 10_000, 1..=100_000_000), ("SORTS", 2, 1..=1000)];
        let Some([keys, sorts]) = sizes(rank, wanted) else { return };
        let sums: GlobalPtr<u64> = GlobalPtr::new(RankId(0), sure(rank, rank.allocate(16, 64)));
        if rank.id().0 == 0 {
            rank.write_slice(sums, &[0, 0]);
        }
        rank.barrier();

        let start = Instant::now();
        let outcome = bitonic(rank, keys as usize, sorts as usize, |_| ());
        let elapsed = start.elapsed().as_secs_f64();
        if !outcome.ordered {
            wrong(rank, "the keys are out of order");
        }
        let sorters = 1 << rank.size().ilog2();
        if rank.id().0 < sorters {
            rank.fetch_add(sums, outcome.before);
            rank.fetch_add(sums.add(1), outcome.after);
        }
        rank.barrier();
        if rank.id().0 == 0 {
            if rank.read(sums) != rank.read(sums.add(1)) {
                wrong(rank, "the keys that came out are not those that went in");
            }
            let puts = outcome.puts;
            println!(
                "bitonic: {keys} keys a rank, {sorts} sorts, {sorters} ranks: {elapsed:.3} s, {puts} puts a rank"
            );
        }
        passed(rank);
    });
}
