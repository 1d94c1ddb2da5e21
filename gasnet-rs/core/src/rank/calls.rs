//! Calls of the wire that programs may make: messages, waits, the barrier, who is who, how a rank leaves.
//!
//! The wire itself is not given out: it has functions that are for the layer above alone.
#![expect(unsafe_code, reason = "forwards obligations of callers")]

use crate::am::Handler;
use crate::{Config, Error, Rank, RankId, Refused, SegmentEntry, SegmentTable, Spins, WaitPolicy, Waiter};
use gasnet_wire::am::Prepared;
use gasnet_wire::barrier::{Consensus, Outcome};
use gasnet_wire::boot::MeetingPlace;
use gasnet_wire::report::Awaited;
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

    /// Number of the neighbourhood of a rank, from 0: ranks with the same number share memory. As for the
    /// highest rank if there is no such rank.
    #[inline]
    pub fn neighbourhood_of(&self, rank: RankId) -> u32 {
        self.wire.neighbourhood_of(rank)
    }

    /// The lowest rank that shares memory with a rank; the same on all ranks. As
    /// [`Rank::neighbourhood_of`].
    #[inline]
    pub fn leader_of(&self, rank: RankId) -> RankId {
        self.wire.leader_of(rank)
    }

    /// Number of the host of a rank, from 0. As [`Rank::neighbourhood_of`].
    #[inline]
    pub fn host_of(&self, rank: RankId) -> u32 {
        self.wire.host_of(rank)
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

    /// [`Rank::wait_until`] for conditions that only other ranks can fulfil, such as the end of a
    /// meeting. It handles messages even if the condition holds already; otherwise a rank that is last in
    /// every meeting would never answer.
    #[inline]
    pub fn poll_until(&self, what: &'static str, condition: impl FnMut() -> bool) {
        self.wire.poll_until(what, condition)
    }

    /// [`Rank::poll_until`] for conditions that hold when every rank of the job has reached this place of
    /// the program. If two ranks wait at places of different kinds and neither can reach the other's, the
    /// job ends with a message instead of hanging. With `None` it is [`Rank::poll_until`].
    #[inline]
    pub fn meet_until(
        &self,
        place: Option<MeetingPlace>,
        what: &'static str,
        condition: impl FnMut() -> bool,
    ) {
        self.wire.meet_until(place, what, condition)
    }

    /// [`Rank::wait_until`] with a known peer that will end the wait.
    #[inline]
    pub fn wait_for(&self, what: &'static str, peer: Option<RankId>, condition: impl FnMut() -> bool) {
        self.wire.wait_for(what, peer, condition)
    }

    /// One step of a wait for `what` that found nothing to do.
    #[inline]
    pub fn pause(&self, waiter: &mut Waiter, what: &'static str) {
        self.wire.pause(waiter, what)
    }

    /// The policy of this rank's waits.
    #[inline]
    pub fn wait_policy(&self) -> WaitPolicy {
        self.wire.wait_policy()
    }

    /// A wait of this rank that begins now, with the given policy.
    #[inline]
    pub fn begin_wait(&self, policy: WaitPolicy) -> Waiter {
        self.wire.begin_wait(policy)
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

    /// Whether a handler has that index.
    #[inline]
    pub fn is_registered(&self, index: u8) -> bool {
        self.wire.is_registered(index)
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

    /// Largest payload of a long request or reply to this rank.
    #[inline]
    pub fn max_long(&self, to: RankId) -> usize {
        self.wire.max_long(to)
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

    /// [`Rank::request_medium`] from raw memory.
    ///
    /// # Safety
    /// 1. `src` is valid for `len` bytes (owed by the caller).
    ///
    /// # Errors
    /// As [`Rank::request_medium`].
    #[inline]
    pub unsafe fn request_medium_raw(
        &self,
        to: RankId,
        handler: u8,
        args: &[u32],
        src: *const u8,
        len: usize,
    ) -> Result<(), Error> {
        // SAFETY: owed by the caller.
        unsafe { self.wire.request_medium_raw(to, handler, args, src, len) }
    }

    /// Sends a long request: the payload, up to [`Rank::max_long`] bytes, is placed at byte `dst` of the
    /// target's segment, then the handler runs. The payload may be reused on return.
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

    /// [`Rank::request_long`] from raw memory.
    ///
    /// # Safety
    /// 1. `src` is valid for `len` bytes (owed by the caller).
    ///
    /// # Errors
    /// As [`Rank::request_long`].
    #[inline]
    pub unsafe fn request_long_raw(
        &self,
        to: RankId,
        handler: u8,
        args: &[u32],
        src: *const u8,
        len: usize,
        dst: u64,
    ) -> Result<(), Error> {
        // SAFETY: owed by the caller.
        unsafe { self.wire.request_long_raw(to, handler, args, src, len, dst) }
    }

    /// [`Rank::request_short`], or nothing at all where it would have to wait for room; it runs no
    /// handlers but those of a message to oneself.
    ///
    /// # One-sided
    /// Returns when the message is on its way, or refused.
    ///
    /// # Errors
    /// As [`Rank::request_short`].
    #[inline]
    pub fn request_short_immediate(
        &self,
        to: RankId,
        handler: u8,
        args: &[u32],
    ) -> Result<Result<(), Refused>, Error> {
        self.wire.request_short_immediate(to, handler, args)
    }

    /// [`Rank::request_medium_raw`], or nothing at all, as [`Rank::request_short_immediate`].
    ///
    /// # Safety
    /// 1. `src` is valid for `len` bytes (owed by the caller).
    ///
    /// # Errors
    /// As [`Rank::request_medium`].
    #[inline]
    pub unsafe fn request_medium_immediate(
        &self,
        to: RankId,
        handler: u8,
        args: &[u32],
        src: *const u8,
        len: usize,
    ) -> Result<Result<(), Refused>, Error> {
        // SAFETY: owed by the caller.
        unsafe { self.wire.request_medium_immediate(to, handler, args, src, len) }
    }

    /// [`Rank::request_long_raw`], or nothing at all, as [`Rank::request_short_immediate`]: no byte of
    /// the payload is placed then. One that is longer than the conduit's frames waits for the room of all
    /// parts but the first.
    ///
    /// # Safety
    /// 1. `src` is valid for `len` bytes (owed by the caller).
    ///
    /// # Errors
    /// As [`Rank::request_long`].
    #[inline]
    pub unsafe fn request_long_immediate(
        &self,
        to: RankId,
        handler: u8,
        args: &[u32],
        src: *const u8,
        len: usize,
        dst: u64,
    ) -> Result<Result<(), Refused>, Error> {
        // SAFETY: owed by the caller.
        unsafe { self.wire.request_long_immediate(to, handler, args, src, len, dst) }
    }

    /// Prepares a medium request of up to `len` bytes with `nargs` arguments. With `immediate`,
    /// `Ok(None)` where it would have to wait for room. May run handlers here otherwise.
    ///
    /// # One-sided
    /// Nothing is sent before [`Prepared::commit`].
    ///
    /// # Errors
    /// A rank, a length or a number of arguments out of range.
    ///
    /// # Panics
    /// Ends the job when this thread has prepared a message already.
    #[inline]
    pub fn prepare_medium(
        &self,
        to: RankId,
        len: usize,
        nargs: usize,
        immediate: bool,
    ) -> Result<Option<Prepared<'_>>, Error> {
        self.wire.prepare_medium(to, len, nargs, immediate)
    }

    /// [`Rank::prepare_medium`] of a long request.
    ///
    /// # Errors
    /// As [`Rank::prepare_medium`].
    #[inline]
    pub fn prepare_long(
        &self,
        to: RankId,
        len: usize,
        nargs: usize,
        immediate: bool,
    ) -> Result<Option<Prepared<'_>>, Error> {
        self.wire.prepare_long(to, len, nargs, immediate)
    }

    /// Enters a barrier phase. `flags`: [`ANONYMOUS`](crate::barrier::ANONYMOUS),
    /// [`MISMATCH`](crate::barrier::MISMATCH) or 0.
    ///
    /// # Collective
    /// Once per rank and phase, then [`Rank::barrier_wait`] or [`Rank::barrier_try`] until it is over.
    ///
    /// # Panics
    /// Ends the job on a second notify in one phase.
    #[inline]
    pub fn barrier_notify(&self, id: i32, flags: u32) {
        self.wire.barrier_notify(id, flags)
    }

    /// [`Rank::barrier_try`] without polling.
    ///
    /// # Panics
    /// Ends the job without a notify before it.
    #[inline]
    pub fn barrier_test(&self, id: i32, flags: u32) -> Option<Outcome> {
        self.wire.barrier_test(id, flags)
    }

    /// Polls once; if all ranks have entered the phase it ends, and the result says how.
    ///
    /// # Panics
    /// Ends the job without a notify before it.
    #[inline]
    pub fn barrier_try(&self, id: i32, flags: u32) -> Option<Outcome> {
        self.wire.barrier_try(id, flags)
    }

    /// Waits until all ranks have entered the phase. What they wrote before their notify is visible on
    /// return.
    ///
    /// # Panics
    /// Ends the job without a notify before it.
    #[inline]
    pub fn barrier_wait(&self, id: i32, flags: u32) -> Outcome {
        self.wire.barrier_wait(id, flags)
    }

    /// The consensus of the last phase that ended; `None` before the first, or between notify and wait.
    #[inline]
    pub fn barrier_result(&self) -> Option<Consensus> {
        self.wire.barrier_result()
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

    /// Called when a look of the program found `key`. Returns whether the look was in vain. If it was,
    /// this call polls, unless the caller has polled (and did as much as it says), and gives up the
    /// processor if it is time to do so.
    #[inline]
    pub fn looked(&self, spins: &mut Spins, key: u64, polled: Option<usize>) -> bool {
        self.wire.looked(spins, key, polled)
    }

    /// Ends the whole job at once with this code; the first such call of the job decides. Flush standard
    /// output first: nothing else of this process runs after it.
    #[inline]
    pub fn global_exit(&self, code: i32) -> ! {
        self.wire.global_exit(code)
    }

    /// Ends the job with this code where all ranks are expected to end it, each by itself: with 0, the
    /// others are given time to come to their own end. From anywhere, as from a signal handler that has
    /// interrupted anything: it waits for no lock.
    #[inline]
    pub fn exit_together(&self, code: i32) -> ! {
        self.wire.exit_together(code)
    }

    /// Before [`Rank::exit_together`]: prints what the conduit has counted, if `GASNET_STATS` asks for
    /// it. Waits for a call of the conduit that is under way.
    #[inline]
    pub fn say_counted_early(&self) {
        self.wire.say_counted_early()
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

    /// [`Rank::fatal`] with another prefix than `gasnet: `.
    #[cold]
    #[inline]
    pub fn fatal_with(&self, prefix: &str, text: &str) -> ! {
        self.wire.fatal_with(prefix, text)
    }

    /// [`Rank::fatal_with`] for an error that ranks meet together and see differently: one of those with
    /// the same `subject` prints its text.
    #[cold]
    #[inline]
    pub fn fatal_about(&self, prefix: &str, subject: &str, text: &str) -> ! {
        self.wire.fatal_about(prefix, subject, text)
    }

    /// [`Rank::fatal_about`] in the words of a language: prints this line, as it is.
    #[inline]
    pub fn fatal_line(&self, subject: &str, line: &str) -> ! {
        self.wire.fatal_line(subject, line)
    }

    /// Has reports say what `awaited` returns, beside what threads wait for in the runtime. Once; it must
    /// not call the runtime.
    #[inline]
    pub fn report_awaited(&self, awaited: impl Fn() -> Vec<Awaited> + Send + Sync + 'static) {
        self.wire.report_awaited(awaited)
    }

    /// Tells the monitor what the program waits for outside of the runtime, if the monitor has asked and
    /// no other thread of the rank has told. For threads that neither are the program's nor wait; those
    /// that wait do it.
    #[inline]
    pub fn answer_monitor(&self) {
        self.wire.answer_monitor()
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
}
