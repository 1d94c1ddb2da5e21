//! The job as all parts of this crate need it: who is who, where ranks meet, objects by their numbers,
//! progress.

use crate::body;
use crate::meeting::Meeting;
use crate::trace::span;
use crate::world::World;
use gasnet::RankId;
use gasnet_rpc::{Engine, Payload};
use gasnet_wire::context;
use std::sync::atomic::Ordering;

/// A thread's collective call, which no other thread of the rank is in.
pub(crate) struct Alone(World);

impl Drop for Alone {
    fn drop(&mut self) {
        // ORDER: Release; pairs with the swap in `World::alone`: what the call has changed.
        self.0.0.meeting.store(false, Ordering::Release);
    }
}

impl World {
    /// The world that an engine belongs to.
    pub(crate) fn of(engine: &'static Engine) -> World {
        let inner = engine.context().and_then(|context| context.downcast_ref());
        World(
            inner.unwrap_or_else(|| engine.rank().fatal("a remote call has come before the world was made")),
        )
    }

    /// The world whose messages the thread reads: names that arrive mean objects of it.
    pub(crate) fn reading() -> Option<World> {
        context::reading()?.downcast_ref().map(World)
    }

    /// Reads a message with which these payloads have come.
    pub(crate) fn read<T>(self, payloads: Vec<Payload>, read: impl FnOnce() -> T) -> T {
        let before = context::set_reading(Some(self.0));
        let value = if payloads.is_empty() { read() } else { body::read(payloads, read) };
        context::set_reading(before);
        value
    }

    /// This rank's number, from 0.
    pub fn rank(self) -> u32 {
        self.0.rank.id().0
    }

    /// The number of ranks.
    pub fn size(self) -> u32 {
        self.0.rank.size()
    }

    /// The numbers of all ranks.
    pub fn ranks(self) -> core::ops::Range<u32> {
        0..self.size()
    }

    /// Whether a rank shares memory with this one: its parts of arrays are then read and updated by plain
    /// instructions.
    pub fn is_neighbour(self, rank: u32) -> bool {
        self.0.rank.is_neighbour(RankId(rank))
    }

    /// The name of the network of the job.
    pub fn network(self) -> &'static str {
        self.0.rank.conduit_name()
    }

    /// Makes progress: serves calls that have come, gives tasks a turn, sends what is queued. Returns whether
    /// there was anything to do.
    pub fn progress(self) -> bool {
        let handled = self.0.rank.poll();
        self.0.engine.serve() + handled > 0
    }

    /// Returns when all calls that any rank has made before have run, and all that they have made, tasks
    /// included.
    ///
    /// # Collective
    ///
    /// # Panics
    /// In a remote function.
    pub fn settle(self) {
        span!("settle", rank = self.rank());
        self.0.engine.settle();
    }

    /// A barrier that is told apart from those of other collective calls and other objects: kind and number
    /// are all of its name.
    pub(crate) fn meet(self, what: Meeting, object: u32) {
        let _alone = self.alone();
        self.meet_within(what, object);
    }

    /// Begins a collective call, to which the caller has the rank for itself until the value is dropped: the
    /// ranks pair their calls by their order, which threads that call at the same time do not have.
    pub(crate) fn alone(self) -> Alone {
        // ORDER: Acquire; pairs with Release where an `Alone` is dropped.
        if self.0.meeting.swap(true, Ordering::Acquire) {
            self.abort(
                "two threads of a rank are in collective calls at the same time (barriers, phases, arrays that are made): \
                 other ranks could take one for the other. Let one thread make them, or let one wait for the other",
            );
        }
        Alone(self)
    }

    /// [`World::meet`] inside a call that has the rank for itself.
    pub(crate) fn meet_within(self, what: Meeting, object: u32) {
        span!("barrier", rank = self.rank(), of = what.name());
        if object >= 1 << 26 {
            self.abort("more than 67 million shared objects and arrays");
        }
        self.0.engine.barrier((object << 5 | what as u32) as i32, what.name());
    }

    pub(crate) fn register<T: Send + Sync + 'static>(self, value: T) -> u32 {
        let object: &'static T = Box::leak(Box::new(value));
        self.0.objects.push(object) as u32
    }

    /// An object by its name. The type is the one it was shared with: names have it.
    pub(crate) fn object<T: 'static>(self, number: u32) -> Option<&'static T> {
        self.0.objects.get(number as usize).and_then(|&object| object.downcast_ref())
    }
}
