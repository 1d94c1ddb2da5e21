//! How the ranks of one host meet and exchange bytes while a job starts.
//!
//! The *board* is a part of the host's control file with a slot per rank. In an exchange everybody writes a chunk into its slot,
//! meets the others, reads all slots, and meets them again before the slots are written anew. It serves where the launcher
//! gives no [`Exchange`], which it need not as long as a job has one host.

use crate::Error;
use crate::barrier::{CentralBarrier, Consensus};
use crate::boot::Exchange;
use crate::prim::{AtomicU32, Ordering};
use crate::shm::map;
use crate::wait::{WaitPolicy, Waiter};
use std::os::fd::BorrowedFd;

/// Bytes a rank can say in one round; longer speeches take several.
const CHUNK: usize = 64 << 10;
/// A slot: the length of the whole speech, and a chunk of it.
const SLOT: u64 = CHUNK as u64 + 8;

/// The ranks of a host at start.
pub(crate) struct Meeting {
    offset: u64,
    barrier: &'static CentralBarrier,
    me: u32,
    count: u32,
    phase: AtomicU32,
    policy: WaitPolicy,
}

impl Meeting {
    /// The meeting of rank number `me` among the `count` of its host; the board is at `offset` of their control file.
    pub(crate) fn new(offset: u64, barrier: &'static CentralBarrier, me: u32, count: u32) -> Meeting {
        let (phase, policy) = (AtomicU32::new(0), WaitPolicy::new(count, 1, None));
        Meeting { offset, barrier, me, count, phase, policy }
    }

    /// The exchange over the board in this file.
    pub(crate) fn exchange<'a>(&'a self, board: BorrowedFd<'a>) -> OnBoard<'a> {
        OnBoard { meeting: self, board }
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
    pub(crate) fn gather(
        &self,
        board: BorrowedFd<'_>,
        mine: &[u8],
        idle: &dyn Fn() -> bool,
    ) -> Result<Vec<Vec<u8>>, Error> {
        if self.count == 1 {
            return Ok(vec![mine.to_vec()]);
        }
        let slot = |r: u32| self.offset + u64::from(r) * SLOT;
        let mut all = vec![Vec::new(); self.count as usize];
        let mut done = 0;
        loop {
            let chunk = mine.get(done..).unwrap_or_default();
            let chunk = &chunk[..chunk.len().min(CHUNK)];
            let text = [&(mine.len() as u64).to_le_bytes()[..], chunk].concat();
            map::write_at(board, slot(self.me), &text)?;
            self.meet(idle);
            let mut longest = 0;
            for (r, said) in (0..).zip(&mut all) {
                let mut len = [0; 8];
                map::read_at(board, slot(r), &mut len)?;
                let len = u64::from_le_bytes(len) as usize;
                longest = longest.max(len);
                said.resize(len.min(done + CHUNK), 0);
                if len > done {
                    map::read_at(board, slot(r) + 8, &mut said[done..])?;
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

/// [`Meeting::gather`] as an [`Exchange`].
pub(crate) struct OnBoard<'a> {
    meeting: &'a Meeting,
    board: BorrowedFd<'a>,
}

impl Exchange for OnBoard<'_> {
    fn all_gather(&self, mine: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
        self.meeting.gather(self.board, mine, &|| false)
    }
}
