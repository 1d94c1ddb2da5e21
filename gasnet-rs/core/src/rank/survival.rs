//! What a rank can do when another one has died (`gasnetrun --on-death shrink` or `heal`): the module
//! `death` of the wire says what a death means.
#![expect(unsafe_code, reason = "gives memory of a world that is over back to the system")]

use super::Rank;
use crate::RankId;
use gasnet_wire::boot::{HostFile, NextBoot};
use gasnet_wire::conduit::Conduit;
use gasnet_wire::death::Died;
use gasnet_wire::segment::Place;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// A rank in a job that may survive deaths. Jobs on which the crate `pgas` is built use it by the methods of
/// its `World`.
#[derive(Debug, Clone, Copy)]
pub struct Survival(&'static Rank);

impl Rank {
    /// How this rank goes on when another one has died.
    pub fn survival(&'static self) -> Survival {
        Survival(self)
    }
}

impl Survival {
    /// Whether ranks of this job may die, and the others go on.
    pub fn is_possible(self) -> bool {
        self.0.wire.may_survive()
    }

    /// Whether another process takes the place of a rank that has died.
    pub fn heals(self) -> bool {
        self.0.wire.heals()
    }

    /// Whether this world has taken over the memory of the segments of the world before.
    pub fn took_over(self) -> bool {
        self.0.wire.boot.segments.used
    }

    /// The number of worlds that the job had before this rank's.
    pub fn epoch(self) -> u32 {
        self.0.wire.epoch()
    }

    /// Tells the launcher that all ranks of this world have done their work, so nobody needs another one.
    ///
    /// # One-sided
    /// To be called when all ranks are known to be so far.
    pub fn finish(self) {
        self.0.wire.finish();
    }

    /// Who has died in this rank's world so far.
    pub fn dead(self) -> Died {
        self.0.wire.dead()
    }

    /// Whether a rank has died, or has given up this world: it answers nothing any more, and what is sent to
    /// it is dropped.
    pub fn is_lost(self, rank: RankId) -> bool {
        self.0.wire.is_lost(rank)
    }

    /// Gives up this rank's world, for all threads: waits that the calls of other ranks must end, end with
    /// [`Died`] from now on, here and on ranks that wait for this one. The world's memory files are closed;
    /// what is mapped stays so.
    ///
    /// # One-sided
    pub fn give_up(self) {
        self.0.wire.give_up();
        [&self.0.wire.boot.shm, &self.0.wire.boot.segments].into_iter().for_each(HostFile::close);
    }

    /// Ends a loop of the program's own that waits for `what`, a turn of which has found nothing, if any rank
    /// has died: unwinds to the attempt.
    ///
    /// # One-sided
    #[inline]
    pub fn unwind_if_any_died(self, what: &'static str) {
        self.0.wire.unwind_if_any_died(what);
    }

    /// Whether this rank has given up its world.
    pub fn is_over(self) -> bool {
        self.0.wire.has_given_up()
    }

    /// Gives the pages of this rank's segment, or of the memory behind it, that lie in this range back to the
    /// system. They stay mapped, and are zero.
    ///
    /// # Safety
    /// 1. No references are left to that memory, on any rank (owed by the caller).
    pub unsafe fn release(self, offset: u64, len: usize) {
        // SAFETY: (1).
        unsafe { self.release_of(self.0.id(), offset, len) };
    }

    /// [`Survival::release`] of all memory of ranks that have died in this world.
    ///
    /// # Safety
    /// As [`Survival::release`].
    pub unsafe fn release_dead(self) {
        for rank in self.dead().ranks.into_iter().map(RankId) {
            let whole = self.0.wire.segments.get(rank).map_or(0, |entry| entry.whole);
            // SAFETY: (1).
            unsafe { self.release_of(rank, 0, whole) };
        }
    }

    /// Has the system find pages for a part of this rank's segment that is about to be written, all at once,
    /// where it is mapped here.
    pub fn prepare(self, offset: u64, len: usize) {
        if let Some(Place::Near(at)) = self.0.wire.segments.whole_at(self.0.id(), offset, len) {
            gasnet_sys::memory::populate(at, len);
        }
    }

    /// # Safety
    /// As [`Survival::release`].
    unsafe fn release_of(self, rank: RankId, offset: u64, len: usize) {
        /// Pages of a memory file are not larger, as a rule; larger ones are kept.
        const PAGE: usize = 4096;
        if let Some(Place::Near(at)) = self.0.wire.segments.whole_at(rank, offset, len) {
            let skipped = at.align_offset(PAGE);
            let len = len.saturating_sub(skipped) / PAGE * PAGE;
            if len > 0 {
                // SAFETY: segments of neighbours are mapped shared, from memory files. References are the
                // caller's matter (1); all other accesses are made as if others could write at any time.
                unsafe { gasnet_sys::memory::clear_shared(at.wrapping_add(skipped), len) };
            }
        }
    }

    /// The file of the segments of this host, if this is the first world of ranks that may survive it: the
    /// launcher gives it to those of later worlds, too.
    pub fn first_segments(self) -> Option<Arc<OwnedFd>> {
        let outlives = self.is_possible() && self.epoch() == 0 && self.launcher().is_some();
        self.0.wire.boot.segments.file().ok().filter(|_| outlives)
    }

    /// The connection to the launcher, which starts the next world.
    pub fn launcher(self) -> Option<&'static Arc<OwnedFd>> {
        self.0.wire.boot.link.as_ref()
    }

    /// What the launcher has to say of the world after the one of this epoch, where it is no process at the
    /// other end of a connection.
    pub fn next_boot(self, epoch: u32) -> Option<NextBoot> {
        self.0.wire.boot.overseer.as_ref()?.next_world(epoch)
    }

    /// This rank's end of the network in the next world, of these members, if the present one makes it.
    pub fn next_conduit(self, members: &[u32]) -> Option<Box<dyn Conduit>> {
        self.0.wire.conduit.as_ref()?.survival()?.next_world(members)
    }

    /// This process is `next` from now on. Once.
    pub fn continue_as(self, next: &'static Rank) {
        let _ = self.0.next.set(next);
    }

    /// The rank that this process is in its newest world.
    pub fn newest(self) -> &'static Rank {
        let mut rank = self.0;
        while let Some(next) = rank.next.get() {
            rank = next;
        }
        rank
    }
}
