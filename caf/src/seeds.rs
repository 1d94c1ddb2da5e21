//! Seeds of `random_init` for the generator of the compiler's library.
//!
//! A seed is made of a word that all images of a job know, of the number of calls so far, and, for
//! `image_distinct`, of the image. So images that call it equally often get equal seeds without asking each
//! other, and an image may call it alone.

use crate::image::Image;
use std::sync::atomic::Ordering::Relaxed;

impl Image {
    /// `n` words for `call random_init(repeatable, image_distinct)`.
    pub fn seed(&self, repeatable: bool, image_distinct: bool, n: usize) -> Vec<i32> {
        let call = self.peers.seeds.fetch_add(1, Relaxed) + 1;
        let job = if repeatable { 0 } else { mix(self.peers.job ^ mix(call)) };
        let image = if image_distinct { u64::from(self.rank.id().0) + 1 } else { 0 };
        words(job, image, n)
    }
}

fn words(job: u64, image: u64, n: usize) -> Vec<i32> {
    let start = mix(job).wrapping_add(mix(image ^ 0x5851_f42d_4c95_7f2d));
    (1..=n as u64).map(|i| mix(start.wrapping_add(i.wrapping_mul(0x9e37_79b9_7f4a_7c15))) as i32).collect()
}

/// A step of the generator splitmix64.
fn mix(word: u64) -> u64 {
    let word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ word >> 31
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn images_and_jobs_have_seeds_of_their_own() {
        let seeds: std::collections::HashSet<Vec<i32>> =
            (0..10).flat_map(|job| (0..10).map(move |image| words(job, image, 8))).collect();
        assert_eq!(seeds.len(), 100);
        assert_eq!(words(1, 2, 8), words(1, 2, 8));
        assert!(words(0, 0, 8).iter().all(|word| *word != 0));
    }
}
