//! The [`Rank`] object, which holds all state of one rank of a job (design decision D11).

mod agreed;
mod calls;
mod segments;
mod start;
mod survival;

pub use segments::SegmentCalls;

use crate::coll::Collectives;
use crate::coll::members::Members;
use crate::coll::table::Tables;
use crate::native::Native;
use crate::processes::Processes;
use crate::region::Regions;
use crate::{Error, RankId};
use core::fmt;
use core::ops::Range;
use core::sync::atomic::AtomicPtr;
use gasnet_sys::mutex::lock;
use gasnet_wire::Above;
use gasnet_wire::Wire;
use gasnet_wire::am::Outgoing;
use gasnet_wire::conduit::Channel;
use gasnet_wire::event::Refused;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

/// One rank of a job.
///
/// A child that the process forks is not the rank: it may read what is mapped, and must not call the runtime.
///
/// Every method can be called from any thread (unless the rank was made
/// [`Threading::Serial`](crate::Threading::Serial), a promise that only unsafe code can make).
pub struct Rank {
    pub(crate) wire: Wire,
    /// State of the conduit's one-sided operations, if it has any; once the segment is attached.
    pub(crate) native: OnceLock<Native>,
    /// Processes whose memory can be accessed directly, if all memory is the segment.
    pub(crate) processes: OnceLock<Processes>,
    pub(crate) regions: Arc<Regions>,
    pub(crate) coll: Collectives,
    /// Tables that teams of this host share, if there are neighbours.
    pub(crate) tables: Option<&'static Tables>,
    pub(crate) team_all: OnceLock<Arc<Members>>,
    /// Set when the ranks have met: [`SegmentCalls::max_global`].
    max_global_segment: OnceLock<usize>,
    heap: Mutex<Heap>,
    /// Held while the ranks agree on a place: proposals and agreements come in one order.
    agreeing: Mutex<()>,
    /// The rank that this process is in the next world, if this one is over: [`Rank::survival`].
    next: OnceLock<&'static Rank>,
    /// The box of this rank, for [`Rank::dismantle`].
    own: AtomicPtr<Rank>,
}

pub use survival::Survival;

/// The allocations in this rank's segment.
#[derive(Debug)]
struct Heap {
    /// Bytes from the start that are allocated, and the end of the part that may be.
    used: u64,
    end: u64,
    /// Bytes of the kept memory that are allocated.
    kept: u64,
    /// Parts of this rank's kept memory that an earlier world has used.
    stale: Vec<Range<u64>>,
}

/// A panic leaves nothing half done: the runtime's locks guard steps that do not panic, and what a handler or
/// a function of a reduction has begun when it panics ends the job.
impl std::panic::UnwindSafe for Rank {}
impl std::panic::RefUnwindSafe for Rank {}

impl fmt::Debug for Rank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rank({} of {})", self.id(), self.size())
    }
}

impl Above for Rank {
    fn poll(&self, budget: usize) -> usize {
        self.poll_native(budget)
    }

    fn advance(&self) {
        self.advance_collectives();
    }

    fn long_wait(&self, waited: Duration) {
        self.ask_about_collectives(waited);
    }

    fn meetings(&self) -> u32 {
        self.collectives_started()
    }

    fn outstanding(&self, which: &dyn Fn(&RankId) -> bool) -> Option<(RankId, u32)> {
        self.native.get()?.outstanding(which)
    }

    #[expect(unsafe_code, reason = "declares and forwards the obligation")]
    unsafe fn send_long_far(
        &self,
        channel: Channel,
        to: RankId,
        out: Outgoing<'_>,
        immediate: bool,
    ) -> Result<Result<(), Refused>, Error> {
        // SAFETY: owed by the caller.
        unsafe { self.send_to_far(channel, to, out, immediate) }
    }
}
