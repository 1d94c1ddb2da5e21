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
    pub(crate) ranks: Ranks,
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

/// Which rank each member of a team is.
pub(crate) enum Ranks {
    /// So many ranks, each the member of its own number: all ranks of most jobs, and it takes no memory.
    InOrder(u32),
    /// The rank of each member, and the member of each rank in ascending order.
    Listed { ranks: Vec<RankId>, by_rank: Box<[(RankId, u32)]> },
}

impl Ranks {
    pub(crate) fn new(ranks: Vec<RankId>) -> Ranks {
        if (0..).map(RankId).zip(&ranks).all(|(number, rank)| number == *rank) {
            return Ranks::InOrder(ranks.len() as u32);
        }
        let mut by_rank: Vec<_> = ranks.iter().copied().zip(0..).collect();
        by_rank.sort_unstable();
        Ranks::Listed { ranks, by_rank: by_rank.into() }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Ranks::InOrder(count) => *count as usize,
            Ranks::Listed { ranks, .. } => ranks.len(),
        }
    }

    /// The rank of a member, if there is that member.
    #[inline]
    pub(crate) fn get(&self, member: usize) -> Option<RankId> {
        match self {
            Ranks::InOrder(count) => (member < *count as usize).then_some(RankId(member as u32)),
            Ranks::Listed { ranks, .. } => ranks.get(member).copied(),
        }
    }

    /// The rank of a member.
    #[inline]
    pub(crate) fn of(&self, member: usize) -> RankId {
        self.get(member).unwrap_or_else(|| panic!("member {member} of a team of {}", self.len()))
    }

    /// The member that a rank is.
    pub(crate) fn member(&self, rank: RankId) -> Option<usize> {
        match self {
            Ranks::InOrder(count) => (rank.0 < *count).then_some(rank.0 as usize),
            Ranks::Listed { by_rank, .. } => {
                let at = by_rank.binary_search_by_key(&rank, |entry| entry.0).ok()?;
                Some(by_rank[at].1 as usize)
            }
        }
    }

    /// The ranks of all members.
    pub(crate) fn iter(&self) -> impl Iterator<Item = RankId> {
        (0..self.len()).map(|member| self.of(member))
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
