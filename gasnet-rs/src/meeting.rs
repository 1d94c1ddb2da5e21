//! How the ranks of one host meet and exchange bytes while a job starts.
//!
//! The *board* is a part of the host's control file with a slot per rank. In an exchange everybody writes a chunk into its slot,
//! meets the others, reads all slots, and meets them again before the slots are written anew. It serves where the launcher
//! gives no [`Exchange`], which it need not as long as a job has one host.

use crate::Error;
use crate::barrier::{CentralBarrier, Consensus};
use crate::boot::Exchange;
use crate::prim::{AtomicU32, Ordering};
use crate::wait::{WaitPolicy, Waiter};
use std::fs::File;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;

/// Bytes a rank can say in one round; longer speeches take several.
const CHUNK: usize = 64 << 10;
/// A slot: the length of the whole speech, and a chunk of it.
const SLOT: u64 = CHUNK as u64 + 8;

/// The ranks of a host at start.
pub(crate) struct Meeting {
    board: File,
    offset: u64,
    barrier: &'static CentralBarrier,
    me: u32,
    count: u32,
    phase: AtomicU32,
    policy: WaitPolicy,
}

impl Meeting {
    /// The meeting of rank number `me` among the `count` of its host; the board is at `offset` of `shm`.
    pub(crate) fn new(
        shm: BorrowedFd<'_>,
        offset: u64,
        barrier: &'static CentralBarrier,
        me: u32,
        count: u32,
    ) -> Result<Meeting, Error> {
        let shm: OwnedFd = shm
            .try_clone_to_owned()
            .map_err(|e| Error::job(format!("cannot duplicate a descriptor: {e}")))?;
        let (phase, policy) = (AtomicU32::new(0), WaitPolicy::new(count, 1, None));
        Ok(Meeting { board: shm.into(), offset, barrier, me, count, phase, policy })
    }

    /// Bytes of the board.
    pub(crate) fn bytes(count: u32) -> u64 {
        u64::from(count) * SLOT
    }

    /// Returns when all are here. `idle` is called while waiting; true takes the place of a step of the wait.
    pub(crate) fn meet(&self, idle: &dyn Fn() -> bool) {
        // Relaxed: one thread of a rank starts it.
        let phase = self.phase.fetch_add(1, Ordering::Relaxed);
        self.barrier.notify(phase, self.count, Consensus::Anonymous);
        let mut waiter = Waiter::new(self.policy, None);
        while self.barrier.done(phase).is_none() {
            if !idle() {
                waiter.step();
            }
        }
    }

    /// What every rank of the host says, in order of rank.
    pub(crate) fn gather(&self, mine: &[u8], idle: &dyn Fn() -> bool) -> Result<Vec<Vec<u8>>, Error> {
        let failed = |e| Error::job(format!("exchange in shared memory: {e}"));
        let slot = |r: u32| self.offset + u64::from(r) * SLOT;
        let mut all = vec![Vec::new(); self.count as usize];
        let mut done = 0;
        loop {
            let chunk = mine.get(done..).unwrap_or_default();
            let chunk = &chunk[..chunk.len().min(CHUNK)];
            let text = [&(mine.len() as u64).to_le_bytes()[..], chunk].concat();
            self.board.write_all_at(&text, slot(self.me)).map_err(failed)?;
            self.meet(idle);
            let mut longest = 0;
            for (r, said) in (0..).zip(&mut all) {
                let mut len = [0; 8];
                self.board.read_exact_at(&mut len, slot(r)).map_err(failed)?;
                let len = u64::from_le_bytes(len) as usize;
                longest = longest.max(len);
                said.resize(len.min(done + CHUNK), 0);
                if len > done {
                    self.board.read_exact_at(&mut said[done..], slot(r) + 8).map_err(failed)?;
                }
            }
            self.meet(idle);
            done += CHUNK;
            if longest <= done {
                return Ok(all);
            }
        }
    }
}

impl Exchange for Meeting {
    fn all_gather(&self, mine: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
        self.gather(mine, &|| false)
    }
}
