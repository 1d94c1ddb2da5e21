//! `image_status`, `stopped_images` and `failed_images`.

use crate::image::Image;
use crate::peers::Gone;
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
        Ok(match self.gone(rank) {
            None => 0,
            Some(Gone::Stopped) => code::STOPPED_IMAGE,
            Some(Gone::Failed) => code::FAILED_IMAGE,
        })
    }

    /// `stopped_images` or `failed_images`: those of the current team, in ascending order.
    pub fn images_gone(&self, how: Gone) -> Vec<i32> {
        self.rank.poll();
        let ranks = self.level().ranks.iter();
        ranks.zip(1..).filter(|(rank, _)| self.gone(RankId(**rank)) == Some(how)).map(|(_, i)| i).collect()
    }

    /// That an image of the current team has failed, for accesses that ask: without `stat=` it is no error,
    /// and they find what the image has left.
    ///
    /// # Errors
    /// It has failed.
    pub fn check_failed(&self, image: i32) -> Result<(), Failure> {
        let gone = self.level().rank_of(image).and_then(|rank| self.gone(rank));
        gone.filter(|gone| *gone == Gone::Failed).map_or(Ok(()), |gone| Err(gone.failure(image as usize)))
    }
}
