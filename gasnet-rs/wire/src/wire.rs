//! The [`Wire`]: what moves messages between ranks, and what waits for them.

use crate::above::Above;
use crate::am::aside::Progress;
use crate::am::{self, Handler};
use crate::barrier::central::{BarrierByNics, Phases};
use crate::barrier::rounds::Rounds;
use crate::conduit::Conduit;
use crate::config::Config;
use crate::context::Forgotten;
use crate::event::Ops;
use crate::lock::Turns;
use crate::meeting::Meeting;
use crate::neighbourhood::Neighbourhood;
use crate::prim::{AtomicU32, AtomicU64};
use crate::report::Beside;
use crate::segment::SegmentTable;
use crate::shm::deaths::Fate;
use crate::shm::grid::Grid;
use crate::shm::{HostHeader, RankBlock};
use crate::transfer::Transfers;
use crate::wait::{Presence, WaitPolicy};
use crate::{Boot, RankId};
use core::fmt;
use core::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Mutex, Once, OnceLock};

/// A rank as far as messages, waits and meetings go. The layer above owns it, and gives no reference to it to
/// programs ([`Wire::start`]).
pub struct Wire {
    /// The layer above the wire, once the rank has its address.
    pub above: OnceLock<&'static dyn Above>,
    /// Whether operations that the conduit carries out may complete.
    pub has_completions: AtomicBool,
    /// Number of operations in the background that want turns.
    pub turns_wanted: AtomicUsize,
    /// Number of messages that are no progress: ranks that wait in vain send such.
    pub questions: AtomicUsize,
    /// Number of steps of waits that the conduit has taken.
    pub(crate) idles: AtomicU32,
    /// A rank to which a message of a collective operation could not be sent, since it has left, plus 1; else
    /// 0.
    pub(crate) lost_to: AtomicU32,
    pub(crate) id: RankId,
    pub(crate) size: u32,
    pub(crate) config: Config,
    /// The launcher's data for this rank.
    pub boot: Boot,
    pub(crate) pid: u32,
    /// How waits of this rank spin and sleep.
    pub policy: WaitPolicy,
    /// Who of this host runs now, if there are more ranks than processors.
    pub presence: Option<&'static Presence>,
    /// Whether only the conduit can end a wait: the rank has one thread and no neighbours.
    pub(crate) alone: bool,
    /// The ranks that share memory with this one.
    pub neighbourhood: Neighbourhood,
    pub(crate) leader: &'static RankBlock,
    pub(crate) header: &'static HostHeader,
    /// Blocks of the ranks of this host, in ascending order.
    pub(crate) blocks: &'static [RankBlock],
    /// What has become of each rank of the job; empty where ranks may not die.
    pub(crate) fates: &'static [Fate],
    pub(crate) meeting: Meeting,
    pub(crate) grid: Option<Grid>,
    /// The network, if there are ranks that are not neighbours.
    pub conduit: Option<Box<dyn Conduit>>,
    /// Properties of the conduit.
    pub(crate) polls_both: bool,
    /// State of the progress thread, if there is one.
    pub progress: Option<Progress>,
    /// Whether the program may call from any number of threads.
    pub(crate) parallel: bool,
    /// Threads that were created while this rank started.
    pub(crate) own_threads: OnceLock<Box<[u32]>>,
    pub(crate) beside: Beside,
    pub(crate) forgotten: Forgotten,
    /// Done when this rank gives its world up, since another one has died.
    pub(crate) giving_up: Once,
    /// Where the segments of all ranks are.
    pub segments: SegmentTable,
    /// Of programs and libraries, from [`am::FIRST_LIBRARY_HANDLER`] on; once there are any.
    pub(crate) handlers: OnceLock<Box<[OnceLock<Handler>]>>,
    pub(crate) serve: &'static am::Serve,
    /// Operations whose completion the program has not seen.
    pub ops: Ops,
    /// Requests of the layer above that are not answered.
    pub transfers: Transfers,
    pub(crate) parts: am::parts::Parts,
    pub(crate) phases: Turns<Phases>,
    /// A hint for waits in a barrier: [`BarrierCalls::test`].
    pub(crate) barrier_look: AtomicU64,
    pub(crate) rounds: Rounds,
    /// The job's barrier, if NICs carry it out.
    pub nic_barrier: OnceLock<Box<dyn BarrierByNics>>,
    /// Whether this rank has a segment: see `segments.rs`.
    pub attaching: AtomicU32,
    /// Address and length of mappings that only `Rank::dismantle` removes.
    pub mappings: Mutex<Vec<(usize, usize)>>,
}

/// A panic leaves nothing half done: the runtime's locks guard steps that do not panic, and what a handler or
/// a function of a reduction has begun when it panics ends the job.
impl std::panic::UnwindSafe for Wire {}
impl std::panic::RefUnwindSafe for Wire {}

impl fmt::Debug for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rank({} of {})", self.id, self.size)
    }
}
