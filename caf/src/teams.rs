//! `form team`, `change team`, `end team`, `sync team` and `team_number`.
//!
//! A variable of type `team_type` is the address of a [`Level`], which lives as long as the program: compiled
//! code copies such variables and never says that it has done with a team.
//!
//! All are done where images have failed, too, whatever they report: `form team` is how a program gets a team
//! of those that are left.

use crate::image::{Image, Level, lock};
use crate::stat::Failure;

impl Image {
    /// `form team`: the images of the current team that give the same number form a team, in the order of
    /// `new_index`, or in their order here. Returns the address for the team variable, and whether images
    /// have failed.
    ///
    /// # Collective
    /// Over the current team.
    ///
    /// # Errors
    /// The number is not positive, the indices are not those of the team's images, or an image has stopped.
    pub fn form_team(
        &self,
        number: i32,
        new_index: Option<i32>,
    ) -> Result<(usize, Result<(), Failure>), Failure> {
        let level = self.level();
        self.sync_memory();
        let key = new_index.map_or(level.team.me() as u32, |index| index.wrapping_sub(1) as u32);
        // The others wait for this image, whatever its number is.
        let (team, missing) = self.divide(level, number as u32, key)?;
        let Some(team) = team.filter(|_| number > 0) else {
            return Err(Failure::other(format!("form team with the number {number}, which is not positive")));
        };
        if let Some(index) = new_index.filter(|index| *index != team.me() as i32 + 1) {
            return Err(Failure::other(format!(
                "form team with new_index {index} in a team of {} images, of which each needs its own index",
                team.size()
            )));
        }
        let ranks = (0..team.size()).filter_map(|member| Some(team.rank_of(member)?.0)).collect();
        let formed: &'static Level = Box::leak(Box::new(Level::new(team, number, ranks, Some(level))));
        let address = formed.handle();
        lock(&self.tables).teams.insert(address, formed);
        Ok((address, missing))
    }

    /// `change team`.
    ///
    /// # Collective
    /// Over the new team.
    ///
    /// # Errors
    /// The variable is no team that was formed by the current one, or an image of it has stopped.
    pub fn change_team(&self, variable: usize) -> Result<(), Failure> {
        let level = self.team_of("change team", variable)?;
        if !level.outer.is_some_and(|outer| std::ptr::eq(outer, self.level())) {
            return Err(Failure::other("change team to a team that was not formed by the current team"));
        }
        self.set_level(level);
        self.sync_all()
    }

    /// `end team`: what was allocated since `change team` is deallocated.
    ///
    /// # Collective
    /// Over the current team.
    ///
    /// # Errors
    /// There is no team around the current one, or an image of the current one has stopped.
    pub fn end_team(&self) -> Result<(), Failure> {
        let level = self.level();
        let Some(outer) = level.outer else {
            return Err(Failure::other("end team without change team"));
        };
        let result = self.sync_all();
        self.release_all(level);
        self.set_level(outer);
        result
    }

    /// `sync team`.
    ///
    /// # Collective
    /// Over that team.
    ///
    /// # Errors
    /// The variable is no team that this image belongs to, or an image of it has stopped.
    pub fn sync_team(&self, variable: usize) -> Result<(), Failure> {
        let level = self.team_of("sync team", variable)?;
        self.sync_memory();
        let result = self.meet(level);
        self.sync_memory();
        result
    }

    /// `team_number` of a team variable, or of the current team if it is 0.
    ///
    /// # Errors
    /// It is no team.
    pub fn team_number(&self, variable: usize) -> Result<i32, Failure> {
        let level = if variable == 0 { self.level() } else { self.team_of("team_number", variable)? };
        Ok(level.number)
    }

    /// The team of a variable.
    ///
    /// # Errors
    /// It is none.
    pub fn team_of(&self, what: &str, variable: usize) -> Result<&'static Level, Failure> {
        let initial = self.initial();
        if variable == initial.handle() {
            return Ok(initial);
        }
        let found = lock(&self.tables).teams.get(&variable).copied();
        found
            .ok_or_else(|| Failure::other(format!("{what} of a variable that is no team: form team sets it")))
    }
}
