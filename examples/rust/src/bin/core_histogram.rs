//! Histogram: all ranks count into bins that are spread over all segments, with remote atomic additions.
//!
//! Shows: atomics on other ranks' memory; no locks, no messages.
//!
//! Check: each rank counts again, by itself, what belongs into its own bins.

use std::time::Instant;

use gasnet::{GlobalPtr, RankId};
use gasnet_examples::core::{passed, sizes, sure, wrong};
use gasnet_examples::mix;

fn main() {
    gasnet_conduits::run(|rank| {
        let wanted = [("SAMPLES", 500_000, 1..=1_000_000_000), ("BINS", 1000, 1..=100_000_000)];
        let Some([samples, bins]) = sizes(rank, wanted) else { return };
        let (me, size) = (u64::from(rank.id().0), u64::from(rank.size()));

        // Bin b is number b / size on rank b % size.
        let here = bins.div_ceil(size);
        let base: GlobalPtr<u64> = sure(rank, rank.allocate_array(here as usize));
        rank.write_slice(base, &vec![0; here as usize]);
        rank.barrier();
        let bin_of = |sample: u64| {
            // The sum of two is not evenly spread: the middle bins get more.
            let random = mix(sample);
            ((random >> 33) % bins + (random & 0x7fff_ffff) % bins) / 2
        };
        let place = |bin: u64| base.on(RankId((bin % size) as u32)).add((bin / size) as usize);

        let start = Instant::now();
        for sample in (me..samples).step_by(size as usize) {
            rank.atomics().fetch_add(place(bin_of(sample)), 1);
        }
        rank.barrier();
        let elapsed = start.elapsed().as_secs_f64();

        let mut expected = vec![0; here as usize];
        for bin in (0..samples).map(bin_of).filter(|bin| bin % size == me) {
            expected[(bin / size) as usize] += 1;
        }
        let mut found = vec![0; here as usize];
        rank.read_slice(base, &mut found);
        if found != expected {
            wrong(rank, "the counts differ");
        }
        if me == 0 {
            let rate = samples as f64 / elapsed / 1e6;
            println!(
                "core_histogram: {samples} samples, {bins} bins, {size} ranks: {elapsed:.3} s, {rate:.1} M/s"
            );
        }
        passed(rank);
    });
}
