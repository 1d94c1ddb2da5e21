//! How the ranks of one host meet and exchange bytes while a job starts.
//!
//! The *board* is a part of the host's control file. It holds two *tables*, used in turn, with an entry for
//! each rank: the length of the rank's contribution, and the contribution itself if it is short. In an
//! exchange each rank writes its entry, meets the others, and reads the table. This takes three system calls
//! with any number of ranks. A rank writes a table again only after the meeting of the exchange in between,
//! and all ranks have read the table before that. Longer contributions follow in *rounds*, in two areas that
//! are also used in turn. All ranks know all lengths by then, so the contributions lie there without gaps.
//!
//! A rank that waits in a meeting sleeps. With many ranks, those that have arrived would otherwise keep the
//! processors from those that have not.
//!
//! The board serves jobs whose launcher gives no [`Exchange`]. A job on one host needs none.

use crate::Error;
use crate::barrier::central::{CentralBarrier, Consensus};
use crate::boot::Exchange;
use crate::prim::{AtomicU32, Ordering};
use crate::shm::map;
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// Largest number of bytes of a contribution that is in the table itself.
const INLINE_SPEECH_BYTES: usize = 56;
/// Bytes of an entry of the table: the length, and a short contribution.
const ENTRY_BYTES: usize = 8 + INLINE_SPEECH_BYTES;
/// Number of bytes that a rank can contribute in one round.
const BYTES_PER_ROUND: usize = 64 << 10;
/// Number of yields of all ranks together in a meeting before they sleep, if each has a processor. Where they
/// outnumber processors, a yield is no shorter than a sleep, and lets those that wait run in turn with those
/// that are awaited.
const YIELDS_BEFORE_SLEEP: u32 = 1000;
/// Longest sleep. The last rank to arrive ends it. The limit is for ranks that have to serve others meanwhile
/// (see `idle`).
pub(crate) const MAX_SLEEP: Duration = Duration::from_secs(1);
/// The same where one that is awaited may have died, which wakes nobody.
pub(crate) const LOOK_FOR_DEATHS: Duration = Duration::from_millis(2);

/// A step of a wait; whether it is the first of the wait.
pub(crate) type Idle<'a> = &'a (dyn Fn(bool) -> bool + Sync);

/// The ranks of a host at start.
pub(crate) struct Meeting {
    offset: u64,
    barrier: &'static CentralBarrier,
    me: u32,
    count: u32,
    phase: AtomicU32,
    /// Number of exchanges so far.
    exchanges: AtomicU32,
    /// Longest sleep of a rank that waits.
    longest: Duration,
    /// Number of yields before it.
    yields: u32,
}

impl Meeting {
    /// The meeting of rank number `me` among the `count` of its host; the board is at `offset` of their
    /// control file.
    pub(crate) fn new(
        offset: u64,
        barrier: &'static CentralBarrier,
        me: u32,
        count: u32,
        longest: Duration,
    ) -> Meeting {
        let zero = || AtomicU32::new(0);
        let processors: u32 = map::processors().iter().map(|word| word.count_ones()).sum();
        let yields = if count <= processors { YIELDS_BEFORE_SLEEP / count } else { 0 };
        Meeting { offset, barrier, me, count, phase: zero(), exchanges: zero(), longest, yields }
    }

    /// The exchange over the board in this file.
    pub(crate) fn exchange<'a>(&'a self, board: BorrowedFd<'a>, idle: Idle<'a>) -> OnBoard<'a> {
        OnBoard { meeting: self, board, idle }
    }

    /// Bytes of a table, and of an area.
    fn parts(count: u32) -> (u64, u64) {
        let count = count as usize;
        ((count * ENTRY_BYTES).next_multiple_of(map::PAGE_BYTES) as u64, (count * BYTES_PER_ROUND) as u64)
    }

    /// Bytes of the board.
    pub(crate) fn bytes(count: u32) -> u64 {
        let (table, area) = Meeting::parts(count);
        2 * (table + area)
    }

    /// Returns when all ranks of the host are here. It calls `idle` while it waits, with true at first; if
    /// `idle` returns true, that replaces a step of the wait.
    pub(crate) fn meet(&self, idle: Idle<'_>) {
        // Relaxed: one thread of a rank starts it.
        let phase = self.phase.fetch_add(1, Ordering::Relaxed);
        self.barrier.notify(phase, self.count, Consensus::Anonymous);
        let mut yields = self.yields;
        let mut first = true;
        while self.barrier.done(phase).is_none() {
            if idle(core::mem::take(&mut first)) {
                continue;
            }
            if yields > 0 {
                yields -= 1;
                std::thread::yield_now();
            } else {
                self.barrier.sleep(phase, self.count, self.longest);
            }
        }
    }

    /// The table with the contributions of all ranks of the host.
    fn table(&self, board: BorrowedFd<'_>, mine: &[u8], idle: Idle<'_>) -> Result<Vec<u8>, Error> {
        // Relaxed: as in `meet`.
        let turn = self.exchanges.fetch_add(1, Ordering::Relaxed) & 1;
        let at = self.offset + u64::from(turn) * Meeting::parts(self.count).0;
        let mut entry = [0; ENTRY_BYTES];
        entry[..8].copy_from_slice(&(mine.len() as u64).to_le_bytes());
        if mine.len() <= INLINE_SPEECH_BYTES {
            entry[8..8 + mine.len()].copy_from_slice(mine);
        }
        map::write_at(board, at + u64::from(self.me) * ENTRY_BYTES as u64, &entry)?;
        self.meet(idle);
        let mut table = vec![0; self.count as usize * ENTRY_BYTES];
        map::read_at(board, at, &mut table)?;
        Ok(table)
    }

    /// A number from every rank of the host, in order of rank.
    pub(crate) fn gather_number(
        &self,
        board: BorrowedFd<'_>,
        mine: u64,
        idle: Idle<'_>,
    ) -> Result<Vec<u64>, Error> {
        if self.count == 1 {
            return Ok(vec![mine]);
        }
        let table = self.table(board, &mine.to_le_bytes(), idle)?;
        Ok(table.chunks_exact(ENTRY_BYTES).map(|entry| word(&entry[8..])).collect())
    }

    /// The contributions of all ranks of the host, in order of rank.
    pub(crate) fn gather(
        &self,
        board: BorrowedFd<'_>,
        mine: &[u8],
        idle: Idle<'_>,
    ) -> Result<Vec<Vec<u8>>, Error> {
        if self.count == 1 {
            return Ok(vec![mine.to_vec()]);
        }
        let table = self.table(board, mine, idle)?;
        let entries = || table.chunks_exact(ENTRY_BYTES).map(|entry| (word(entry) as usize, &entry[8..]));
        let mut all: Vec<Vec<u8>> =
            entries().map(|(len, short)| short.get(..len).unwrap_or_default().to_vec()).collect();
        let longest = entries().map(|(len, _)| len).max().unwrap_or(0);
        if longest <= INLINE_SPEECH_BYTES {
            return Ok(all);
        }
        let (table, area) = Meeting::parts(self.count);
        for round in 0..longest.div_ceil(BYTES_PER_ROUND) {
            let at = self.offset + 2 * table + (round as u64 & 1) * area;
            let part = |len: usize| {
                if len <= INLINE_SPEECH_BYTES {
                    0
                } else {
                    len.saturating_sub(round * BYTES_PER_ROUND).min(BYTES_PER_ROUND)
                }
            };
            let before: usize = entries().take(self.me as usize).map(|(len, _)| part(len)).sum();
            let own = part(mine.len());
            if own > 0 {
                map::write_at(board, at + before as u64, &mine[round * BYTES_PER_ROUND..][..own])?;
            }
            self.meet(idle);
            let mut text = vec![0; entries().map(|(len, _)| part(len)).sum()];
            map::read_at(board, at, &mut text)?;
            let mut rest = &text[..];
            for (said, (len, _)) in all.iter_mut().zip(entries()) {
                let (own, others) = rest.split_at(part(len));
                said.extend_from_slice(own);
                rest = others;
            }
        }
        Ok(all)
    }
}

/// The number at the start of these bytes.
fn word(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// [`Meeting::gather`] as an [`Exchange`].
pub(crate) struct OnBoard<'a> {
    meeting: &'a Meeting,
    board: BorrowedFd<'a>,
    idle: Idle<'a>,
}

impl Exchange for OnBoard<'_> {
    fn all_gather(&self, mine: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
        self.meeting.gather(self.board, mine, self.idle)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::shm::Host;
    use std::os::fd::{AsFd, FromRawFd, OwnedFd};

    /// Contributions of all lengths, also of several rounds, in exchanges that follow each other directly.
    #[test]
    #[cfg_attr(miri, ignore = "maps files")]
    fn everybody_hears_everything() {
        const RANKS: u32 = 3;
        #[expect(unsafe_code, reason = "makes a memory file")]
        // SAFETY: a system call; the descriptor is new and ours.
        let file = unsafe { OwnedFd::from_raw_fd(libc::memfd_create(c"meeting-test".as_ptr(), 0)) };
        let file = crate::boot::HostFile::from(file);
        let open = file.file().unwrap();
        let lengths = [
            0,
            8,
            INLINE_SPEECH_BYTES,
            INLINE_SPEECH_BYTES + 1,
            1000,
            BYTES_PER_ROUND,
            BYTES_PER_ROUND + 1,
            3 * BYTES_PER_ROUND + 5,
        ];
        let speech = |r: u32, i: usize| -> Vec<u8> {
            (0..lengths[(r as usize * 3 + i) % lengths.len()]).map(|k| (k + i) as u8 ^ r as u8).collect()
        };
        std::thread::scope(|s| {
            for me in 0..RANKS {
                let (file, open, speech) = (&file, &open, &speech);
                s.spawn(move || {
                    let host = Host::map(file, RANKS).unwrap();
                    let meeting = Meeting::new(Host::bytes(RANKS), &host.header.start, me, RANKS, MAX_SLEEP);
                    for i in 0..64 {
                        let said = meeting.gather(open.as_fd(), &speech(me, i), &|_| false).unwrap();
                        let all: Vec<Vec<u8>> = (0..RANKS).map(|r| speech(r, i)).collect();
                        assert!(said == all, "exchange {i}");
                        let numbers =
                            meeting.gather_number(open.as_fd(), u64::from(me) << i, &|_| false).unwrap();
                        assert_eq!(numbers, [0, 1 << i, 2u64 << i]);
                    }
                });
            }
        });
    }
}
