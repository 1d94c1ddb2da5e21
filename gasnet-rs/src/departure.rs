//! Ranks that have left in order ([`Rank::done`]): what is outstanding with one of them, or is started
//! towards it, will never be done, and ends the job with a message that names both ranks.
//!
//! **Who knows.** A rank that leaves says so in the shared memory of its host, before it takes its conduit
//! apart. Of a rank of another host the conduit may know
//! ([`Conduit::left_for`](crate::conduit::Conduit::left_for)); the monitor knows of all.
//!
//! **Started afterwards.** Requests, puts and gets by the conduit, and remote atomics look whether their
//! target has left: one load of a word that does not change while all are there. Neighbours' memory stays
//! mapped, so puts and gets to it go on.
//!
//! **Outstanding.** What the rank answered before it left may be under way still, and counts. So a wait
//! believes that an answer will not come only when the rank has been gone for [`MAX_TIME_TO_LAST_ANSWER`],
//! and polls find nothing.
//!
//! **What nobody misses** is dropped without a word: replies to a rank that did not wait for them, and the
//! rounds of a barrier that a rank has left out, of which the monitor says more. Messages of collective
//! operations are dropped, too, and whoever waits for such an operation is told: who has forgotten one may
//! end in order.

use crate::am::FIRST_LIBRARY_HANDLER;
use crate::coll::mail;
use crate::conduit::Channel;
use crate::prim::Ordering;
use crate::region::ops as region;
use crate::shm::map;
use crate::{Error, Rank, RankId, amref, vis};
use std::time::Duration;

/// Longest time that answers of a rank that has left may take to arrive. It is longer than any conduit takes
/// to close.
const MAX_TIME_TO_LAST_ANSWER: Duration = Duration::from_secs(8);

/// What to do about it.
const ADVICE: &str = "ranks that others still talk to must stay, for example in a barrier before the end";

impl Rank {
    /// Says that this rank takes no part any more.
    pub(crate) fn say_goodbye(&self) {
        let Ok(own) = self.boot.host_ranks.binary_search(&self.id().0) else { return };
        let now = map::last_tick().as_millis() as u64;
        // ORDER: Release, both; pair with Acquire in left_for: what this rank sent to others through shared
        // memory is there.
        self.blocks[own].left_at.store(now.max(1), Ordering::Release);
        self.header.left.count.fetch_add(1, Ordering::Release);
    }

    /// Whether any rank of the host has left.
    #[inline]
    fn some_left(&self) -> bool {
        // Relaxed: a hint; `left_for` looks again.
        self.header.left.count.load(Ordering::Relaxed) != 0
    }

    /// How long a rank has been gone, if that is known.
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

    /// Whether a rank of this host has left.
    #[inline]
    pub(crate) fn has_left(&self, rank: RankId) -> bool {
        self.some_left() && self.left_for(rank).is_some()
    }

    /// A message cannot be sent: its target has left. See the module for those that nobody misses.
    #[cold]
    pub(crate) fn send_to_nobody(&self, channel: Channel, to: RankId, handler: u8) -> Result<(), Error> {
        match handler {
            _ if channel == Channel::Reply => {}
            amref::ROUND => {}
            mail::FIRST..=mail::LAST => self.coll.mail.lost(to),
            vis::FIRST..=vis::LAST => self.fatal_started("a put or get of many pieces", to),
            region::FIRST..=region::LAST => self.fatal_started("an operation on a region", to),
            ..FIRST_LIBRARY_HANDLER => self.fatal_started(amref::name(handler), to),
            _ => self.fatal_started(&format!("a message for handler {handler}"), to),
        }
        Ok(())
    }

    /// Ends the job over something started towards a rank that has left.
    #[cold]
    pub(crate) fn fatal_started(&self, what: &str, to: RankId) -> ! {
        self.fatal(&format!("{what} needs rank {to}, which has left the job: {ADVICE}"))
    }

    /// Called at steps of a wait that sleeps: ends the job if something is outstanding with a rank that has
    /// left.
    #[cold]
    pub(crate) fn check_outstanding(&self, what: &str, peer: Option<RankId>) {
        let gone = |r: &RankId| self.left_for(*r).is_some_and(|since| since > MAX_TIME_TO_LAST_ANSWER);
        // An event may be that of a collective operation.
        let collective = peer.is_none() && [crate::coll::WHAT, crate::rma::WHAT].contains(&what);
        let needed = if collective { self.coll.mail.lost_to() } else { peer };
        if let Some(peer) = needed.filter(gone) {
            self.fatal(&format!(
                "waits for {what}, which needs rank {peer}, and that has left the job: {ADVICE}"
            ));
        }
        let native = self.native.get().and_then(|native| native.outstanding(gone));
        if let Some((peer, n)) = native.or_else(|| self.transfers.outstanding(gone)) {
            self.fatal(&format!(
                "waits for {what}, and {n} of its puts, gets or atomic operations are outstanding with rank {peer}, which has left the \
                 job: {ADVICE}"
            ));
        }
    }
}
