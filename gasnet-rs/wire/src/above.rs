//! The interface by which the [`Wire`] calls the layer above it.
//!
//! The wire moves messages, and waits. It knows neither the purpose of the messages nor that of a program's
//! waits. The layer above tells it at the start which functions serve which messages
//! ([`Served`](crate::am::Served)), and implements this trait for the other work in polls and long waits.
//! Words of the wire say whether there is anything to do, so that polls usually call nothing.

use crate::am::frame::Outgoing;
use crate::conduit::Channel;
use crate::event::Refused;
use crate::{Error, RankId, Wire};
use std::time::Duration;

/// Implemented by the layer above (`gasnet::Rank`).
pub trait Above: Send + Sync {
    /// Takes up to `budget` completions of operations that the conduit carries out; returns how many. Called
    /// by polls once [`Wire::has_completions`] is set.
    fn poll(&self, budget: usize) -> usize;

    /// Gives operations that run in the background a turn. Called by polls while [`Wire::turns_wanted`] is
    /// not 0.
    fn advance(&self);

    /// A wait has lasted this long.
    fn long_wait(&self, waited: Duration);

    /// Number of meetings of all ranks that this rank has begun, apart from barriers.
    fn meetings(&self) -> u32;

    /// A rank with which operations of the conduit are outstanding, of those that `which` tells, and how
    /// many.
    fn outstanding(&self, which: &dyn Fn(&RankId) -> bool) -> Option<(RankId, u32)>;

    /// Sends a long message to a neighbour's segment that is not mapped here. One that is to be sent
    /// immediately is refused if its first frame is.
    ///
    /// # Safety
    /// 1. `out.src` is valid for `out.len` bytes (owed by the caller).
    #[expect(unsafe_code, reason = "declares the obligation")]
    unsafe fn send_long_far(
        &self,
        channel: Channel,
        to: RankId,
        out: Outgoing<'_>,
        immediate: bool,
    ) -> Result<Result<(), Refused>, Error>;
}

impl Wire {
    /// The layer above; `None` while the rank starts.
    #[inline]
    pub fn above(&self) -> Option<&'static dyn Above> {
        self.above.get().copied()
    }
}
