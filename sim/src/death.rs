//! Ranks that die, and those that go on.
//!
//! A rank that is killed has no further turn: what it has stored and sent is there, and what it was about to
//! do is not done. Its stack stays until the simulation ends, since gets that were under way may still write
//! to it. By default its death ends the job. In a job that survives deaths the simulator does what a launcher
//! does: it writes the death where all ranks look, and asks the launcher's own machine
//! ([`Survivors`](crate::survivors::Survivors)) when the next world begins, and with whom.
//!
//! A *process* is a rank by its number in the first world; the simulation knows ranks by that number only.
//! [`Conduit`](crate::conduit) translates for the worlds that follow. What is under way belongs to the epoch
//! in which it was sent: it is dropped where its receiver has gone on to another world, and completes nothing
//! where its sender has.
//!
//! In such a job all ranks are on one host for the launcher, and they share no memory but its control file,
//! unless they are neighbours.

use crate::event::{Activity, Moment};
use crate::failure::Cause;
use crate::shared::Simulation;
use crate::survivors::{Newest, WorldOf};
use crate::world::World;
use gasnet_launch::job::membership::Consequence;
use gasnet_sys::process::Ended;
use std::os::fd::OwnedFd;
use std::sync::{Arc, PoisonError};

/// How a rank is killed, and the status of a job that ends with it.
const KILLED: i32 = libc::SIGKILL;
const KILLED_STATUS: i32 = 128 + KILLED;

impl Simulation {
    /// A process is killed. Returns whether it was there.
    pub(crate) fn kill(self: &Arc<Self>, process: u32) -> bool {
        let all_begin = {
            let mut w = self.world();
            if w.is_over(process) {
                return false;
            }
            w.bury(process)
        };
        let Some(survivors) = &self.survivors else {
            let text = "it was killed, and nobody survives a death (--on-death shrink)".into();
            let what = Cause::Ended { rank: process, code: KILLED_STATUS, text };
            self.ended.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(what);
            return true;
        };
        let next = {
            let mut newest = survivors.newest();
            if let Some(rank) = newest.job.world().rank_of(process) {
                newest.board.died(rank, Some(Ended::Signal(KILLED)));
            }
            newest.job.died(process)
        };
        self.begins(next);
        // All look, as they do live after a while.
        let mut w = self.world();
        (0..self.size).for_each(|rank| w.tell(rank));
        drop(w);
        if all_begin {
            self.all_begin();
        }
        true
    }

    /// A process has ended its program in order.
    pub(crate) fn left(self: &Arc<Self>, process: u32) {
        if let Some(survivors) = &self.survivors {
            let next = survivors.newest().job.left(process);
            self.begins(next);
        }
    }

    /// The next world begins, if there is one: its members are told.
    fn begins(&self, next: Consequence) {
        let (Consequence::Starts(world), Some(survivors)) = (next, &self.survivors) else { return };
        let memory = Newest::memory(&world);
        let mut newest = survivors.newest();
        match memory {
            Ok((board, files)) => (newest.board, newest.files) = (board, files),
            Err(why) => {
                let what = Cause::Start(format!("no memory for the next world: {why}"));
                self.ended.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(what);
            }
        }
        drop(newest);
        let mut w = self.world();
        world.members.iter().for_each(|member| w.tell(*member));
    }

    /// The world after the one of this epoch, for a process that has given that up.
    pub(crate) fn next_world(&self, process: u32, epoch: u32) -> Option<WorldOf> {
        let survivors = self.survivors.as_ref()?;
        let next = survivors.newest().job.asks(process, epoch, true).ok()?;
        self.begins(next);
        loop {
            if let Some(next) = survivors.world_of(process).filter(|(_, world, _)| world.epoch > epoch) {
                return Some(next);
            }
            self.wait(process, "the next world", false);
        }
    }

    /// The epoch of the newest world, which a process that starts in it is a member of.
    pub(crate) fn epoch(&self, process: u32) -> u32 {
        self.survivors.as_ref().and_then(|all| all.world_of(process)).map_or(0, |(_, world, _)| world.epoch)
    }

    /// What a rank of the first world gets.
    pub(crate) fn first_files(&self, process: u32) -> Option<std::io::Result<[OwnedFd; 2]>> {
        Some(self.survivors.as_ref()?.world_of(process)?.2)
    }
}

impl World {
    /// A rank gets no turn any more. Returns whether all others have waited for it to begin.
    fn bury(&mut self, rank: u32) -> bool {
        self.losses += 1;
        self.set(rank, Activity::Over);
        self.ready.retain(|ready| *ready != rank);
        let begun = std::mem::replace(&mut self.ranks[rank as usize].has_begun, true);
        self.starting -= u32::from(!begun);
        !begun && self.starting == 0 && self.chooser.is_some()
    }

    /// A rank whose number of events has come.
    pub(crate) fn due_to_die(&mut self) -> Option<u32> {
        let events = self.stats.events;
        let due = |(_, moment): &(u32, Moment)| matches!(moment, Moment::Event(event) if events >= *event);
        let at = self.hardships.kills.iter().position(due)?;
        Some(self.hardships.kills.swap_remove(at).0).filter(|rank| (*rank as usize) < self.ranks.len())
    }

    /// A rank has given its world up: nothing is delivered to it, and those that wait for it look.
    pub(crate) fn give_up(&mut self, rank: u32) {
        self.losses += 1;
        let r = &mut self.ranks[rank as usize];
        r.gave_up = true;
        r.done.clear();
        r.transferred.clear();
        r.control.clear();
        let frames: Vec<_> = r.inbox.iter_mut().flat_map(std::mem::take).collect();
        frames.into_iter().for_each(|frame| self.recycle(frame));
        (0..self.ranks.len() as u32).for_each(|rank| self.tell(rank));
    }

    /// A rank is in its next world.
    pub(crate) fn enter(&mut self, rank: u32, epoch: u32) {
        let r = &mut self.ranks[rank as usize];
        (r.epoch, r.gave_up) = (epoch, false);
        r.segment = crate::memory::RankMemory::NONE;
    }
}
