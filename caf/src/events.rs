//! `event post`, `event wait` and `event_query`. An event is a word of its image that counts the posts.

use crate::coarray::Coarray;
use crate::image::Image;
use crate::stat::{Failure, code};
use gasnet::atomics::Function;

impl Image {
    /// `event post`: what this image has written before is complete when the event is counted.
    ///
    /// # One-sided
    ///
    /// # Errors
    /// There is no such event, or its image is gone.
    pub fn post_event(&self, token: &Coarray, index: usize, image: i32) -> Result<(), Failure> {
        let at = self.cell(token, index, image)?;
        self.sync_memory();
        if let Some(gone) = self.gone(at.rank) {
            return Err(gone.failure(self.level().image(at.rank)));
        }
        self.word(at, Function::Add, 1, 0);
        Ok(())
    }

    /// `event wait` on this image's event, until it was posted `until` times.
    ///
    /// # Errors
    /// There is no such event; or all other images are gone, so that nobody can post it.
    pub fn wait_event(&self, token: &Coarray, index: usize, until: i32) -> Result<(), Failure> {
        let at = self.cell(token, index, 0)?;
        self.sync_memory();
        let until = until.max(1) as u64;
        let posted = || self.read_word(at) >= until;
        self.rank.wait_until("an event", || posted() || self.is_last());
        if !posted() {
            return Err(Failure::new(
                code::STOPPED_IMAGE,
                format!(
                    "event wait for {until} posts, of which there are {}, and all other images have stopped or failed",
                    self.read_word(at)
                ),
            ));
        }
        self.word(at, Function::Sub, until, 0);
        self.sync_memory();
        Ok(())
    }

    /// `event_query`: how often the event was posted and not waited for.
    ///
    /// # One-sided
    ///
    /// # Errors
    /// There is no such event.
    pub fn query_event(&self, token: &Coarray, index: usize, image: i32) -> Result<i32, Failure> {
        let at = self.cell(token, index, image)?;
        self.begin_look();
        let count = self.read_word(at);
        self.looked_at(at.rank, at.offset, count);
        Ok(i32::try_from(count).unwrap_or(i32::MAX))
    }
}
