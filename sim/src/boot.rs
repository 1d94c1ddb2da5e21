//! How simulated ranks start: memory files of their own, and an exchange inside the process.
#![expect(unsafe_code, reason = "memory files")]

use crate::shared::Simulation;
use gasnet::boot::{Exchange, Overseer, ToMonitor};
use gasnet::{Boot, Error};
use std::fs::File;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The segment files of a job. They are kept so that their memory can be freed after the job (a rank's
/// mappings stay).
pub(crate) struct Files {
    segments: Vec<File>,
}

/// A file without a name.
fn memory_file() -> io::Result<OwnedFd> {
    // SAFETY: a plain system call; the descriptor it returns is ours.
    unsafe {
        let fd = libc::memfd_create(c"netvm".as_ptr(), libc::MFD_CLOEXEC);
        if fd < 0 { Err(io::Error::last_os_error()) } else { Ok(OwnedFd::from_raw_fd(fd)) }
    }
}

impl Files {
    pub(crate) fn new(ranks: u32) -> io::Result<Files> {
        let segments = (0..ranks).map(|_| Ok(File::from(memory_file()?))).collect::<io::Result<_>>()?;
        Ok(Files { segments })
    }

    /// The start information of a rank.
    pub(crate) fn boot(&self, shared: &Arc<Simulation>, rank: u32) -> io::Result<Boot> {
        Ok(Boot {
            rank,
            size: shared.size,
            host_ranks: vec![rank],
            exchange: Some(Box::new(InProcess { shared: shared.clone(), rank, round: AtomicU64::new(0) })),
            shm: memory_file()?,
            segments: self.segments[rank as usize].try_clone()?.into(),
            link: None,
            overseer: Some(Box::new(End {
                shared: shared.clone(),
                rank,
                said: Mutex::default(),
                done: AtomicBool::new(false),
            })),
            job_id: 1,
        })
    }
}

impl Drop for Files {
    /// The ranks have ended: nobody touches their segments again.
    fn drop(&mut self) {
        for file in &self.segments {
            let _ = file.set_len(0);
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

impl Overseer for End {
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

/// The exchange between simulated ranks.
struct InProcess {
    shared: Arc<Simulation>,
    rank: u32,
    round: AtomicU64,
}

impl Exchange for InProcess {
    fn all_gather(&self, mine: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
        let round = self.round.fetch_add(1, Ordering::Relaxed);
        self.shared.gather(self.rank, round, mine)
    }
}
