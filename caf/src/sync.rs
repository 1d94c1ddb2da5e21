//! Image control: `sync all`.

use crate::image::Image;
use crate::stat::Failure;
use gasnet::Categories;

impl Image {
    /// `sync all`.
    ///
    /// # Collective
    /// Over the current team.
    ///
    /// # Errors
    /// None yet.
    pub fn sync_all(&self) -> Result<(), Failure> {
        self.note_shapes();
        self.rank.wait_implicit(Categories::PUTS);
        self.level().team.barrier();
        Ok(())
    }
}
