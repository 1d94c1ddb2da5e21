//! How simulated ranks start: parts of two memory files, and an exchange inside the process.
#![expect(unsafe_code, reason = "memory files")]

use crate::shared::Simulation;
use gasnet::{Boot, Error};
use gasnet_wire::Gathered;
use gasnet_wire::boot::{Exchange, HostFile, NextBoot, Overseer, ToMonitor};
use std::fs::File;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The memory files of a job. They are kept so that their memory can be freed after the job (a rank's
/// mappings stay).
///
/// Ranks have parts of two files, since a job may have more ranks than a process has descriptors. Programs
/// that are loaded as copies take descriptors only, so they have files of their own.
pub(crate) enum Files {
    /// All ranks have parts of these.
    Common([Arc<OwnedFd>; 2]),
    Each(Vec<[OwnedFd; 2]>),
    /// So many ranks, which follow each other, share two.
    Hosts(u32, Vec<[OwnedFd; 2]>),
    /// The launcher of a job that survives deaths makes them for each world.
    OfWorlds,
}

/// Bytes of a part of the common files. Parts that nobody touches cost nothing.
const CONTROL_BYTES: u64 = 2 << 20;
const SEGMENT_BYTES: u64 = 1 << 40;

/// A file without a name.
fn memory_file() -> io::Result<OwnedFd> {
    // SAFETY: a plain system call; the descriptor it returns is ours.
    unsafe {
        let fd = libc::memfd_create(c"netvm".as_ptr(), libc::MFD_CLOEXEC);
        if fd < 0 { Err(io::Error::last_os_error()) } else { Ok(OwnedFd::from_raw_fd(fd)) }
    }
}

fn two_files() -> io::Result<[OwnedFd; 2]> {
    Ok([memory_file()?, memory_file()?])
}

impl Files {
    /// Files that so many ranks have parts of.
    pub(crate) fn common(ranks: u32) -> io::Result<Files> {
        let [control, segments] = two_files()?.map(File::from);
        control.set_len(u64::from(ranks) * CONTROL_BYTES)?;
        segments.set_len(u64::from(ranks) * SEGMENT_BYTES)?;
        Ok(Files::Common([control, segments].map(|file| Arc::new(file.into()))))
    }

    /// Two files for each rank.
    pub(crate) fn for_each(ranks: u32) -> io::Result<Files> {
        Ok(Files::Each((0..ranks).map(|_| two_files()).collect::<io::Result<_>>()?))
    }

    /// Two files for each host of so many ranks.
    pub(crate) fn for_hosts(ranks: u32, per_host: u32) -> io::Result<Files> {
        let hosts = ranks.div_ceil(per_host);
        Ok(Files::Hosts(per_host, (0..hosts).map(|_| two_files()).collect::<io::Result<_>>()?))
    }

    /// The start information of a rank.
    pub(crate) fn boot(&self, shared: &Arc<Simulation>, rank: u32) -> io::Result<Boot> {
        let mut host_ranks = vec![rank];
        let (control, segments) = match self {
            Files::OfWorlds => {
                let files =
                    shared.first_files(rank).ok_or_else(|| io::Error::other("nobody survives here"))?;
                return Ok(of_one_host(shared, (rank, rank), shared.size, files?));
            }
            Files::Hosts(per_host, all) => {
                let host = rank / per_host;
                host_ranks = (host * per_host..shared.size.min((host + 1) * per_host)).collect();
                let [control, segments] = &all[host as usize];
                (control.try_clone()?.into(), segments.try_clone()?.into())
            }
            Files::Common([control, segments]) => {
                let part =
                    |file: &Arc<OwnedFd>, bytes| HostFile::part(file.clone(), u64::from(rank) * bytes, bytes);
                (part(control, CONTROL_BYTES), part(segments, SEGMENT_BYTES))
            }
            Files::Each(all) => {
                let [control, segments] = &all[rank as usize];
                (control.try_clone()?.into(), segments.try_clone()?.into())
            }
        };
        Ok(Boot {
            rank,
            size: shared.size,
            host_ranks,
            exchange: Some(Box::new(InProcess { shared: shared.clone(), rank, round: AtomicU64::new(0) })),
            shm: control,
            segments,
            link: None,
            overseer: Some(Box::new(End::of(shared, rank))),
            job_id: 1,
        })
    }
}

/// The start information of a rank of a world of so many, all on one host, who is this process.
pub(crate) fn of_one_host(
    shared: &Arc<Simulation>,
    (rank, process): (u32, u32),
    size: u32,
    [control, segments]: [OwnedFd; 2],
) -> Boot {
    Boot {
        rank,
        size,
        host_ranks: (0..size).collect(),
        exchange: None,
        shm: control.into(),
        segments: segments.into(),
        link: None,
        overseer: Some(Box::new(End::of(shared, process))),
        job_id: 1,
    }
}

impl Drop for Files {
    /// The ranks have ended: nobody touches their segments again.
    fn drop(&mut self) {
        let shorten = |file: &OwnedFd| {
            if let Ok(file) = file.try_clone() {
                let _ = File::from(file).set_len(0);
            }
        };
        match self {
            Files::Common(files) => files.iter().for_each(|file| shorten(file)),
            Files::Each(files) | Files::Hosts(_, files) => files.iter().flatten().for_each(shorten),
            Files::OfWorlds => {}
        }
    }
}

/// Ends simulated jobs: a rank that would end its process ends the simulation instead.
struct End {
    shared: Arc<Simulation>,
    rank: u32,
    /// Its last message.
    said: Mutex<String>,
    /// Whether it ends in order.
    done: AtomicBool,
}

impl End {
    fn of(shared: &Arc<Simulation>, rank: u32) -> End {
        End { shared: shared.clone(), rank, said: Mutex::default(), done: AtomicBool::new(false) }
    }
}

impl Overseer for End {
    fn idle(&self, what: &'static str, changed: bool) -> bool {
        if changed {
            self.shared.world().stir_host_of(self.rank);
        }
        self.shared.wait(self.rank, what, false);
        true
    }

    fn takes_turns(&self) -> bool {
        true
    }

    fn next_world(&self, epoch: u32) -> Option<NextBoot> {
        let (rank, world, files) = self.shared.next_world(self.rank, epoch)?;
        let boot = of_one_host(&self.shared, (rank, self.rank), world.members.len() as u32, files.ok()?);
        Some(NextBoot {
            boot,
            epoch: world.epoch,
            incarnation: 0,
            members: world.members,
            first_segments: None,
        })
    }

    fn hear(&self, said: &ToMonitor) {
        match said {
            ToMonitor::Abort(_, text) => {
                *self.said.lock().unwrap_or_else(PoisonError::into_inner) = text.clone();
            }
            ToMonitor::Done(_) => self.done.store(true, Ordering::Relaxed),
            _ => {}
        }
    }

    fn leave(&self, code: i32) -> ! {
        if self.done.load(Ordering::Relaxed) {
            self.shared.finish(self.rank, code);
        }
        let text = self.said.lock().unwrap_or_else(PoisonError::into_inner).clone();
        self.shared.end(self.rank, code, text)
    }
}

/// The wait of a rank that attaches its segment.
const ATTACH: &str = "all ranks to attach their segments";

/// The exchange between simulated ranks.
struct InProcess {
    shared: Arc<Simulation>,
    rank: u32,
    round: AtomicU64,
}

impl Exchange for InProcess {
    fn all_gather(&self, mine: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
        Ok(self.all_gather_shared(mine)?.parts().map(<[u8]>::to_vec).collect())
    }

    fn all_gather_shared(&self, mine: &[u8]) -> Result<Arc<Gathered>, Error> {
        let round = self.round.fetch_add(1, Ordering::Relaxed);
        self.shared.gather(self.rank, round, mine)
    }

    fn all_gather_serving(
        &self,
        mine: &[u8],
        serve: &(dyn Fn() -> usize + Sync),
    ) -> Result<Arc<Gathered>, Error> {
        let round = self.round.fetch_add(1, Ordering::Relaxed);
        self.shared.give(self.rank, round, mine);
        loop {
            // Nothing may happen between the look and the wait.
            let served = serve();
            if let Some(gathered) = self.shared.gathered(round)? {
                return Ok(gathered);
            }
            if served == 0 {
                self.shared.wait(self.rank, ATTACH, false);
            }
        }
    }
}
