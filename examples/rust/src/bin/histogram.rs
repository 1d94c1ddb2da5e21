//! Histogram: all ranks count into bins that are spread over all of them.
//!
//! Shows: an array that is updated in any order; updates of other hosts' elements travel together.
//!
//! Check: each rank counts again, by itself, what belongs into its own bins.

use gasnet_examples::{mix, passed, sizes};
use pgas::Layout;
use std::time::Instant;

fn main() {
    pgas::run(|world| {
        let wanted = [("SAMPLES", 500_000, 1..=1_000_000_000), ("BINS", 1000, 1..=100_000_000)];
        let Some([samples, bins]) = sizes(world, wanted) else { return };
        let bin_of = |sample: u64| {
            // The sum of two is not evenly spread: the middle bins get more.
            let random = mix(sample);
            (((random >> 33) % bins + (random & 0x7fff_ffff) % bins) / 2) as usize
        };
        let mut counts = world.array::<u64>(bins as usize, Layout::Cyclic);

        let start = Instant::now();
        let mine = (u64::from(world.rank())..samples).step_by(world.size() as usize);
        counts.update(|counts| mine.for_each(|sample| counts.add(bin_of(sample), 1)));
        let elapsed = start.elapsed().as_secs_f64();

        let mut expected = vec![0; counts.local_len()];
        for bin in (0..samples).map(bin_of).filter(|&bin| counts.owner(bin) == world.rank()) {
            expected[bin / world.size() as usize] += 1;
        }
        counts.local(|mine| assert!(*mine == expected, "the counts differ"));
        if world.rank() == 0 {
            let (rate, size) = (samples as f64 / elapsed / 1e6, world.size());
            println!(
                "histogram: {samples} samples, {bins} bins, {size} ranks: {elapsed:.3} s, {rate:.1} M/s"
            );
        }
        passed(world);
    })
}
