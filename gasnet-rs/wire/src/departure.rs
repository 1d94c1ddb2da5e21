//! Ranks that have left in order ([`Wire::done`]). An operation that is outstanding with such a rank, or is
//! started towards it, can never complete. It ends the job with a message that names both ranks.
//!
//! **Who knows.** A rank that leaves says so in the shared memory of its host, before it closes its conduit.
//! The conduit may know of a rank on another host ([`Conduit::left_for`](crate::conduit::Conduit::left_for)).
//! The monitor knows of all ranks.
//!
//! **Operations started afterwards.** Requests, puts and gets by the conduit, and remote atomics check
//! whether their target has left. The check is one load of a word that does not change while all ranks are
//! there. Neighbours' memory stays mapped, so puts and gets to it still work.
//!
//! **Outstanding operations.** Answers that the rank sent before it left may still be on their way. So a wait
//! concludes that an answer will not come only when the rank has been gone for [`MAX_TIME_TO_LAST_ANSWER`]
//! and polls find nothing.
//!
//! **Ranks that have died** in a job that goes on are told apart ([`crate::death`]): what is sent to them, or
//! to one that has given up their world, is dropped.
//!
//! **Messages that are dropped silently.** Replies to a rank that did not wait for them are dropped, as are
//! rounds of a barrier that a rank has left out (the monitor reports these in more detail). Messages of
//! collective operations are dropped, too: a rank that has forgotten such an operation may end in order. A
//! rank that waits for the operation ends the job with the message.

use crate::conduit::Channel;
use crate::prim::Ordering;
use crate::shm::map;
use crate::{Error, RankId, Wire};
use std::time::Duration;

/// Longest time that answers of a rank that has left may take to arrive. It is longer than any conduit takes
/// to close.
const MAX_TIME_TO_LAST_ANSWER: Duration = Duration::from_secs(8);

/// Advice to the user at the end of the messages.
const ADVICE: &str = "ranks that others still talk to must stay, for example in a barrier before the end";

impl Wire {
    /// Whether any rank of the host has left, or has died.
    #[inline]
    fn some_left(&self) -> bool {
        // Relaxed: a hint; `left_for` looks again.
        self.header.left.count.load(Ordering::Relaxed) != 0
    }

    /// Time since a rank left, if that is known.
    #[cold]
    pub(crate) fn left_for(&self, rank: RankId) -> Option<Duration> {
        match self.boot.host_ranks.binary_search(&rank.0) {
            Ok(index) => {
                // ORDER: Acquire; pairs with Release in say_goodbye.
                let at = self.blocks[index].left_at.load(Ordering::Acquire);
                let now = map::last_tick().as_millis() as u64;
                (at != 0).then(|| Duration::from_millis(now.saturating_sub(at)))
            }
            Err(_) => self.conduit.as_ref()?.left_for(rank),
        }
    }

    /// Whether a rank is known to have left in order ([`Wire::done`]). Puts of it that were done are in
    /// place. A rank of another host may have left a moment before this is known.
    #[inline]
    pub fn has_departed(&self, rank: RankId) -> bool {
        self.has_left(rank)
            || self.boot.host_ranks.binary_search(&rank.0).is_err() && self.left_for(rank).is_some()
    }

    /// Whether a rank of this host has left, or is lost in a job that goes on.
    #[inline]
    pub fn has_left(&self, rank: RankId) -> bool {
        self.some_left() && (self.left_for(rank).is_some() || self.is_lost(rank))
    }

    /// A message cannot be sent because its target has left. The module lists the messages that are dropped.
    #[cold]
    pub(crate) fn send_to_nobody(&self, channel: Channel, to: RankId, handler: u8) -> Result<(), Error> {
        match self.serve.get(usize::from(handler)) {
            _ if channel == Channel::Reply || self.is_lost(to) => {}
            Some(served) => (served.lost)(self, to, handler),
            None => self.fatal_started(&format!("a message for handler {handler}"), to),
        }
        Ok(())
    }

    /// Ends the job because of an operation that was started towards a rank that has left; or the attempt, if
    /// the rank is lost and the job goes on.
    #[cold]
    pub fn fatal_started(&self, what: &str, to: RankId) -> ! {
        if self.is_lost(to) {
            self.unwind(what);
        }
        self.fatal(&format!("{what} needs rank {to}, which has left the job: {ADVICE}"))
    }

    /// Notes that a message of a collective operation could not be sent, since its target has left.
    pub fn note_lost(&self, to: RankId) {
        self.lost_to.store(to.0 + 1, Ordering::Relaxed);
    }

    /// The target of the last such message.
    fn lost_to(&self) -> Option<RankId> {
        self.lost_to.load(Ordering::Relaxed).checked_sub(1).map(RankId)
    }

    /// Called at steps of a wait that sleeps: ends the job if something is outstanding with a rank that has
    /// left. `collective`: the wait may be for a collective operation.
    #[cold]
    pub(crate) fn check_outstanding(&self, what: &str, collective: bool, peer: Option<RankId>) {
        let gone = |r: &RankId| self.left_for(*r).is_some_and(|since| since > MAX_TIME_TO_LAST_ANSWER);
        let needed = peer.or_else(|| self.lost_to().filter(|_| collective));
        if let Some(peer) = needed.filter(gone) {
            self.fatal(&format!(
                "waits for {what}, which needs rank {peer}, and that rank has left the job: {ADVICE}"
            ));
        }
        let conduits = self.above().and_then(|above| above.outstanding(&gone));
        if let Some((peer, n)) = conduits.or_else(|| self.transfers.outstanding(gone)) {
            self.fatal(&format!(
                "waits for {what}, and {n} of its puts, gets or atomic operations are outstanding with rank {peer}, which has left the \
                 job: {ADVICE}"
            ));
        }
    }
}
