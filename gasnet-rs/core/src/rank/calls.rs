//! Calls of the wire that programs may make: messages, waits, the barrier, who is who, how a rank leaves.
//!
//! The wire itself is not given out: it has functions that are for the layer above alone. What every program
//! calls is passed on here, by functions that repeat the wire's signatures; so are registrations, whose
//! handlers are given a [`Rank`]. All else is a method of a part, which is a type of the wire that is given
//! out as it is (`docs/decisions/0016-a-rank-has-parts.md`).
#![expect(unsafe_code, reason = "forwards obligations of callers")]

use crate::am::Handler;
use crate::{
    BarrierCalls, Config, EndCalls, Error, MessageCalls, Rank, RankId, ReportCalls, SegmentEntry,
    SegmentTable, Topology, WaitCalls,
};
use std::time::Duration;

impl Rank {
    /// The rank that is built on a wire.
    #[inline]
    pub(crate) fn of(wire: &gasnet_wire::Wire) -> &'static Rank {
        let above: *const dyn gasnet_wire::Above =
            wire.above().expect("a rank has settled before it handles messages");
        // SAFETY: `settle` alone says what is above a wire, and says the rank that the wire is a part of. The
        // rank lives until it is dismantled, and nobody has its wire then.
        unsafe { &*above.cast::<Rank>() }
    }

    /// This rank's number.
    #[inline]
    pub fn id(&self) -> RankId {
        self.wire.id()
    }

    /// Whether any number of threads may call the runtime at the same time
    /// ([`Threading::Parallel`](crate::Threading::Parallel)).
    #[inline]
    pub fn is_parallel(&self) -> bool {
        self.wire.is_parallel()
    }

    /// Ranks in the job.
    #[inline]
    pub fn size(&self) -> u32 {
        self.wire.size()
    }

    /// All ranks of the job.
    #[inline]
    pub fn ranks(&self) -> impl Iterator<Item = RankId> + use<> {
        self.wire.ranks()
    }

    /// The settings this rank runs with.
    #[inline]
    pub fn config(&self) -> &Config {
        self.wire.config()
    }

    /// Name of the network: `smp` on one host.
    #[inline]
    pub fn conduit_name(&self) -> &'static str {
        self.wire.conduit_name()
    }

    /// The counters of the network on this rank, by name; empty if it has none.
    #[inline]
    pub fn counters(&self) -> Vec<(&'static str, u64)> {
        self.wire.counters()
    }

    /// The ranks that share memory with this one, in ascending order, itself among them.
    #[inline]
    pub fn neighbours(&self) -> &[u32] {
        self.wire.neighbours()
    }

    /// Whether a rank shares memory with this one (itself included).
    #[inline]
    pub fn is_neighbour(&self, rank: RankId) -> bool {
        self.wire.is_neighbour(rank)
    }

    /// The job's time: the host's monotonic clock, or that of a conduit that has its own.
    #[inline]
    pub fn now(&self) -> Duration {
        self.wire.now()
    }

    /// Whether this process is the rank itself, not a child it forked.
    #[inline]
    pub fn is_own_process(&self) -> bool {
        self.wire.is_own_process()
    }

    /// Makes progress: runs the handlers of messages that have arrived, a bounded number of them. Returns
    /// how many.
    #[inline]
    pub fn poll(&self) -> usize {
        self.wire.poll()
    }

    /// Polls until `condition` holds. `what` names the wait in reports.
    ///
    /// The condition may become true by a handler, by another thread, or by a store of a peer into shared
    /// memory.
    #[inline]
    pub fn wait_until(&self, what: &'static str, condition: impl FnMut() -> bool) {
        self.wire.wait_until(what, condition)
    }

    /// Registers the handler for an index from [`FIRST_CLIENT_HANDLER`](crate::am::FIRST_CLIENT_HANDLER)
    /// on. Before any peer can send to it: register, then [`Rank::attach`](Rank::attach) or a barrier.
    ///
    /// # Errors
    /// The index is the runtime's, or taken.
    #[inline]
    pub fn register(&self, index: u8, handler: Handler) -> Result<(), Error> {
        self.wire.register(index, handler.0)
    }

    /// [`Rank::register`] for a library's own messages: indices from
    /// [`FIRST_LIBRARY_HANDLER`](crate::am::FIRST_LIBRARY_HANDLER) up to the clients'.
    ///
    /// # Errors
    /// The index is outside that range, or taken.
    #[inline]
    pub fn register_library(&self, index: u8, handler: Handler) -> Result<(), Error> {
        self.wire.register_library(index, handler.0)
    }

    /// Sends a short request: runs `handler` on `to` with up to 16 arguments. May run handlers here.
    ///
    /// # One-sided
    /// Returns when the message is on its way.
    ///
    /// # Errors
    /// A rank, handler or number of arguments out of range: handlers below
    /// [`FIRST_LIBRARY_HANDLER`](crate::am::FIRST_LIBRARY_HANDLER) are the runtime's own.
    #[inline]
    pub fn request_short(&self, to: RankId, handler: u8, args: &[u32]) -> Result<(), Error> {
        self.wire.request_short(to, handler, args)
    }

    /// Sends a medium request with a payload of up to [`MAX_MEDIUM`](crate::am::MAX_MEDIUM) bytes, which
    /// may be reused on return.
    ///
    /// # Errors
    /// As [`Rank::request_short`], and a payload that is too long.
    #[inline]
    pub fn request_medium(&self, to: RankId, handler: u8, args: &[u32], payload: &[u8]) -> Result<(), Error> {
        self.wire.request_medium(to, handler, args, payload)
    }

    /// Sends a long request: the payload, up to [`MessageCalls::max_long`](crate::MessageCalls::max_long)
    /// bytes, is placed at byte `dst` of the target's segment, then the handler runs. The payload may be
    /// reused on return.
    ///
    /// # Errors
    /// As [`Rank::request_medium`], and a destination outside the segment.
    #[inline]
    pub fn request_long(
        &self,
        to: RankId,
        handler: u8,
        args: &[u32],
        payload: &[u8],
        dst: u64,
    ) -> Result<(), Error> {
        self.wire.request_long(to, handler, args, payload, dst)
    }

    /// An anonymous barrier: returns when every rank is in it.
    ///
    /// # Collective
    #[inline]
    pub fn barrier(&self) {
        self.wire.barrier()
    }

    /// The segment of a rank, if it is known: after [`Rank::attach`](Rank::attach), or after it was
    /// bound or announced.
    #[inline]
    pub fn segment_of(&self, rank: RankId) -> Option<&SegmentEntry> {
        self.wire.segment_of(rank)
    }

    /// The segments of all ranks.
    ///
    /// # Panics
    /// Before [`Rank::attach`](Rank::attach), and before any segment was bound.
    #[inline]
    pub fn table(&self) -> &SegmentTable {
        self.wire.table()
    }

    /// Whether a rank is known to have left in order ([`Rank::done`]). Puts of it that were done are in
    /// place. A rank of another host may have left a moment before this is known.
    #[inline]
    pub fn has_departed(&self, rank: RankId) -> bool {
        self.wire.has_departed(rank)
    }

    /// Ends the whole job at once with this code; the first such call of the job decides. Flush standard
    /// output first: nothing else of this process runs after it.
    #[inline]
    pub fn global_exit(&self, code: i32) -> ! {
        self.wire.global_exit(code)
    }

    /// Tells the monitor that this rank ends in order with this code; the caller then returns from `main`
    /// or exits. The job goes on until all ranks are done, and its code is the first one that is not 0.
    #[inline]
    pub fn done(&self, code: i32) {
        self.wire.done(code)
    }

    /// Ends the whole job because of an error: prints `text` with the rank and leaves with code 1.
    #[inline]
    pub fn fatal(&self, text: &str) -> ! {
        self.wire.fatal(text)
    }

    /// The ranks that give another number than rank 0: for what all ranks must have in common before they
    /// attach segments. It runs no handlers.
    ///
    /// # Collective
    /// Over all ranks; acts as a barrier.
    ///
    /// # Errors
    /// The launcher cannot be reached, or the job is ending.
    pub fn unlike(&self, mine: u64) -> Result<Vec<RankId>, Error> {
        self.wire.unlike(mine)
    }

    /// Rarer forms of messages: from raw memory, without waiting for room, prepared in place.
    #[inline]
    pub fn messages(&self) -> MessageCalls<'_> {
        self.wire.messages()
    }

    /// The barrier in two phases, between which a program may compute.
    #[inline]
    pub fn split_barrier(&self) -> BarrierCalls<'_> {
        self.wire.split_barrier()
    }

    /// Waits of special kinds, and loops of the program's own that wait.
    #[inline]
    pub fn waits(&self) -> WaitCalls<'_> {
        self.wire.waits()
    }

    /// Other ways to end a rank or the job than [`Rank::done`], [`Rank::global_exit`] and [`Rank::fatal`].
    #[inline]
    pub fn ending(&self) -> EndCalls<'_> {
        self.wire.ending()
    }

    /// Additions of the program to reports of what ranks wait for.
    #[inline]
    pub fn reports(&self) -> ReportCalls<'_> {
        self.wire.reports()
    }

    /// Which ranks share memory, or a host.
    #[inline]
    pub fn topology(&self) -> Topology<'_> {
        self.wire.topology()
    }
}
