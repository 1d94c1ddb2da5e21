//! The state of a team, for the code of collective operations.
#![expect(unsafe_code, reason = "hands out the words of a barrier by address")]

use super::board::State;
use super::record::Record;
use super::table::Table;
use super::tree::Hosts;
use crate::{Rank, RankId};
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
use gasnet_wire::barrier::Consensus;
use gasnet_wire::boot::MeetingPlace;
use gasnet_wire::event::Event;
use std::sync::{Arc, Mutex, OnceLock};

/// The state of a team.
pub(crate) struct Members {
    pub(crate) rank: &'static Rank,
    pub(crate) id: u32,
    /// This rank's index.
    pub(crate) me: usize,
    pub(crate) ranks: Vec<RankId>,
    /// Ranks in ascending order, and which member each is; empty if every rank is the member of its own
    /// number.
    pub(crate) by_rank: Box<[(RankId, u32)]>,
    pub(crate) hosts: Hosts,
    /// Its recent operations.
    pub(crate) record: Arc<Record>,
    pub(crate) barrier: Mutex<TeamBarrier>,
    /// Tickets drawn for steps that take turns, and whose turn it is.
    pub(crate) tickets: AtomicU32,
    pub(crate) turn: AtomicU32,
    /// The team's table, if it has one, and phases of it so far.
    pub(crate) table: OnceLock<usize>,
    pub(crate) phase: AtomicU32,
    pub(crate) nic: State,
}

impl Members {
    /// See [`Team::meeting_place`](crate::Team::meeting_place).
    pub(crate) fn meeting_place(&self) -> Option<MeetingPlace> {
        (self.id == 0).then_some(MeetingPlace::Collective)
    }

    /// The field of that name for these ranks.
    pub(crate) fn by_rank(ranks: &[RankId]) -> Box<[(RankId, u32)]> {
        if (0..).map(RankId).zip(ranks).all(|(number, rank)| number == *rank) {
            return [].into();
        }
        let mut all: Vec<_> = ranks.iter().copied().zip(0..).collect();
        all.sort_unstable();
        all.into()
    }

    /// The member that a rank is.
    pub(crate) fn member(&self, rank: RankId) -> Option<usize> {
        if self.by_rank.is_empty() {
            return ((rank.0 as usize) < self.ranks.len()).then_some(rank.0 as usize);
        }
        let at = self.by_rank.binary_search_by_key(&rank, |entry| entry.0).ok()?;
        Some(self.by_rank[at].1 as usize)
    }

    pub(crate) fn table(&self) -> Option<&'static Table> {
        self.rank.tables?.get(*self.table.get()?)
    }

    /// Whether an operation that takes turns is under way.
    pub(crate) fn takes_turns(&self) -> bool {
        // Relaxed: a hint.
        self.ranks.len() > 1 && self.tickets.load(Relaxed) != self.turn.load(Relaxed)
    }

    pub(crate) fn phase(&self) -> u32 {
        self.phase.load(Relaxed)
    }

    pub(crate) fn next_phase(&self) {
        self.phase.store(self.phase().wrapping_add(1), Relaxed);
    }
}

impl Drop for Members {
    fn drop(&mut self) {
        self.rank.coll.mail.forget(self.id);
        if let (Some(tables), Some(&index @ 1..)) = (self.rank.tables, self.table.get()) {
            tables.give_back(index);
        }
    }
}

/// The team's own split-phase barrier.
#[derive(Default)]
pub(crate) struct TeamBarrier {
    /// Between notify and wait: the reduction of the consensus, and where its result goes.
    pub(crate) open: Option<(Event, Words)>,
    pub(crate) result: Option<Consensus>,
}

/// Source and destination of a barrier's reduction, which uses them by address while this moves about: so no
/// box, which would claim to be the only way to them.
pub(crate) struct Words(NonNull<[[u64; 2]; 2]>);

// SAFETY: it owns the words as a box would.
unsafe impl Send for Words {}

impl Words {
    pub(crate) fn new(source: [u64; 2]) -> Words {
        Words(NonNull::from(Box::leak(Box::new([source, [0; 2]]))))
    }

    pub(crate) fn at(&self) -> *mut [u64; 2] {
        self.0.as_ptr().cast()
    }

    /// The result of the reduction.
    ///
    /// # Safety
    /// 1. Nobody uses the words any more (owed by the caller).
    pub(crate) unsafe fn result(self) -> [u64; 2] {
        // SAFETY: made from a box; (1).
        let words = unsafe { Box::from_raw(self.0.as_ptr()) };
        words[1]
    }
}
