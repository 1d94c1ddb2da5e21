//! Who is in a simulated job that survives deaths: the launcher's machine, and the memory of the newest
//! world.

use gasnet::Error;
use gasnet_launch::job::membership::{JobWorld, Membership};
use gasnet_sys::fd::memory_file;
use gasnet_wire::boot::HostFile;
use gasnet_wire::shm::deaths::DeathBoard;
use std::os::fd::OwnedFd;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Who is in a job that survives deaths, and the memory of its newest world.
pub(crate) struct Survivors(Mutex<Newest>);

/// The rank of a process in a world, the world, and its files.
pub(crate) type WorldOf = (u32, JobWorld, std::io::Result<[OwnedFd; 2]>);

/// The newest world.
pub(crate) struct Newest {
    pub(crate) job: Membership,
    /// Where its ranks look for deaths.
    pub(crate) board: DeathBoard,
    /// Memory file of the host, and that of the segments.
    pub(crate) files: [OwnedFd; 2],
}

impl Newest {
    /// Makes the memory of a world.
    pub(crate) fn memory(world: &JobWorld) -> Result<(DeathBoard, [OwnedFd; 2]), Error> {
        let no = |e: std::io::Error| Error::job(e.to_string());
        let files = [memory_file("netvm").map_err(no)?, memory_file("netvm").map_err(no)?];
        let control = HostFile::from(files[0].try_clone().map_err(no)?);
        let size = world.members.len() as u32;
        Ok((DeathBoard::new(&control, size, size, world.epoch, false)?, files))
    }
}

impl Survivors {
    pub(crate) fn new(ranks: u32) -> Result<Survivors, Error> {
        let job = Membership::new(ranks, false);
        let (board, files) = Newest::memory(job.world())?;
        Ok(Survivors(Mutex::new(Newest { job, board, files })))
    }

    pub(crate) fn newest(&self) -> MutexGuard<'_, Newest> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The newest world and its files, if a process is in it.
    pub(crate) fn world_of(&self, process: u32) -> Option<WorldOf> {
        let newest = self.newest();
        let world = newest.job.world().clone();
        let [control, segments] = &newest.files;
        let files = || Ok([control.try_clone()?, segments.try_clone()?]);
        Some((world.rank_of(process)?, world, files()))
    }
}
