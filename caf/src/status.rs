//! `image_status`, `stopped_images` and `failed_images`.

use crate::image::Image;
use crate::stat::{Failure, code};
use gasnet::RankId;

impl Image {
    /// `image_status` of an image of the current team: 0 while it goes on.
    ///
    /// # Errors
    /// There is no such image.
    pub fn image_status(&self, image: i32) -> Result<i32, Failure> {
        let rank = self.rank_of(image)?;
        // Programs ask in loops.
        self.rank.poll();
        Ok(if self.has_stopped(rank) { code::STOPPED_IMAGE } else { 0 })
    }

    /// `stopped_images`: those of the current team, in ascending order.
    pub fn stopped_images(&self) -> Vec<i32> {
        self.rank.poll();
        let level = self.level();
        let stopped = |(rank, image): (&u32, i32)| self.has_stopped(RankId(*rank)).then_some(image);
        level.ranks.iter().zip(1..).filter_map(stopped).collect()
    }
}
