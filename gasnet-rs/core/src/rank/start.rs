//! How a rank starts, and how it is taken apart.

use super::{Heap, Rank, lock};
use crate::coll::table::Tables;
use crate::coll::{Collectives, agree, mail};
use crate::region::{self, Regions};
use crate::{Boot, Config, Error, OpenConduit, Threading, amref, vis};
use core::sync::atomic::AtomicPtr;
use gasnet_wire::am::Serve;
use gasnet_wire::shm::map;
use gasnet_wire::{AboveSays, Wire};
use std::sync::Arc;
use std::sync::{Mutex, OnceLock};

/// The core's own messages.
static MESSAGES: Serve = AboveSays::serve(&[
    (amref::FIRST..=amref::LAST, amref::MESSAGES),
    (mail::FIRST..=mail::LAST, mail::MESSAGES),
    (agree::FIRST..=agree::LAST, agree::MESSAGES),
    (region::ops::FIRST..=region::ops::LAST, region::ops::MESSAGES),
    (region::shapes::PUT_RUNS..=region::shapes::GET_RUNS, region::shapes::MESSAGES),
    (vis::FIRST..=vis::LAST, vis::MESSAGES),
]);

impl Rank {
    /// Makes a rank out of what its launcher told it. It lives as long as the process.
    ///
    /// # Collective
    /// Over all ranks of the job; returns when all are there.
    ///
    /// # Safety
    /// 1. The memory files of `boot` were empty when the job began, or nothing uses any more what is in them
    ///    where they say so ([`HostFile::used`](gasnet_wire::boot::HostFile)); and they are used by nothing
    ///    but the ranks of that job, each of which starts once (owed by the launcher: a second rank of the
    ///    same number would send and receive on the same links).
    ///
    /// If the conduit cannot be opened, the job ends, and one of the ranks prints the reason.
    ///
    /// # Errors
    /// Shared memory cannot be created or mapped.
    #[expect(unsafe_code, reason = "forwards the obligation; overlays tables on a fresh mapping")]
    pub unsafe fn start(
        boot: Boot,
        config: Config,
        threading: Threading,
        open: OpenConduit<'_>,
    ) -> Result<&'static Rank, Error> {
        let says = AboveSays { messages: &MESSAGES, shared_bytes: Tables::BYTES };
        // SAFETY: (1).
        let started = unsafe { Wire::start(boot, config, threading, open, &says)? };
        // SAFETY: mapped with as many bytes, for as long as the process lives (ranks with neighbours are not
        // taken apart), zero at first.
        let tables = started.shared.map(|at| unsafe { Tables::at(at.as_ptr()) });
        let rank = Rank {
            wire: *started.wire,
            native: OnceLock::new(),
            processes: OnceLock::new(),
            regions: Arc::new(Regions::new()),
            coll: Collectives::new(),
            tables,
            team_all: OnceLock::new(),
            max_global_segment: OnceLock::new(),
            heap: Mutex::new(Heap { used: 0, end: u64::MAX, kept: 0, stale: Vec::new() }),
            agreeing: Mutex::default(),
            next: OnceLock::new(),
            own: AtomicPtr::default(),
        };
        let rank = rank.settle();
        rank.begin(&started.threads_before)?;
        Ok(rank)
    }

    /// Gives the rank an address that it keeps until it is [dismantled](Rank::dismantle).
    fn settle(self) -> &'static Rank {
        let rank = Box::into_raw(Box::new(self));
        #[expect(unsafe_code, reason = "a rank lives until somebody dismantles it")]
        // SAFETY: just made, and given up by `dismantle` only.
        unsafe {
            let settled: &'static Rank = &*rank;
            settled.own.store(rank, gasnet_wire::prim::Ordering::Relaxed);
            settled.wire.above.get_or_init(|| settled);
            settled
        }
    }

    /// This rank, for as long as it lives: what it makes may keep the reference.
    pub(super) fn settled(&self) -> &'static Rank {
        #[expect(unsafe_code, reason = "a rank lives until somebody dismantles it")]
        // SAFETY: `settle` has made every rank that anybody has, and noted its address before it gave it out;
        // only `dismantle` frees it, whose caller vouches that nobody has it any more.
        unsafe {
            &*self.own.load(gasnet_wire::prim::Ordering::Relaxed)
        }
    }

    /// Meets the others, and starts what runs beside the program. `threads_before`: those of the process
    /// before the rank was made.
    fn begin(&'static self, threads_before: &[u32]) -> Result<(), Error> {
        let mine = self.segments().max_local();
        let limits = self.wire.gather_number(mine as u64)?;
        self.max_global_segment.get_or_init(|| limits.iter().fold(mine, |least, n| least.min(*n as usize)));
        self.wire.begin();
        self.make_barrier_team();
        self.wire.note_threads(threads_before);
        Ok(())
    }

    /// Takes a rank apart, for processes that run many jobs in turn (simulations): its state, its segment and
    /// its mappings are gone. Small things that were to live as long as the process stay, handlers among
    /// them.
    ///
    /// # Safety
    /// 1. `rank` is what [`Rank::start`] returned, and neither it nor anything got from it, nor memory of its
    ///    neighbours' segments, is used any more (owed by the caller). 2. It has no neighbours: links between
    ///    them are not taken apart (checked).
    ///
    /// # Panics
    /// With neighbours.
    #[expect(unsafe_code, reason = "the reference was made to live for ever")]
    pub unsafe fn dismantle(rank: *const Rank) {
        // SAFETY: (1).
        let rank = unsafe { (*rank).own.load(gasnet_wire::prim::Ordering::Relaxed) };
        // Teams use their rank when they end, so they end while all of it is there.
        // SAFETY: (1): nobody else uses the two fields.
        let (team, barrier) =
            unsafe { (OnceLock::take(&mut (*rank).team_all), OnceLock::take(&mut (*rank).wire.nic_barrier)) };
        drop((team, barrier));
        // SAFETY: (1): made by Box::into_raw in `settle`.
        let rank = unsafe { Box::from_raw(rank) };
        assert!(rank.wire.neighbourhood.len() == 1, "a rank with neighbours is not taken apart");
        assert!(rank.wire.progress.is_none(), "a rank with a progress thread is not taken apart");
        let mappings = core::mem::take(&mut *lock(&rank.wire.mappings));
        drop(rank);
        for mapping in mappings {
            // SAFETY: (1): who could have used them is gone.
            unsafe { map::give_back(mapping) };
        }
    }
}
