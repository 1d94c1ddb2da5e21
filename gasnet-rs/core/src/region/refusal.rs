//! The end of an operation that its region's owner has refused.

use crate::{Rank, RankId, RegionError};
use gasnet_wire::prim::Ordering;

/// Value of the field `refused` of an operation if a refusal ends the job.
pub(super) const STRICT: u32 = 0;
/// Value of that field if the program asks for refusals. A refusal is stored as its code plus this.
pub(super) const LENIENT: u32 = 1;

impl Rank {
    /// Counts an operation of `op` as refused; ends the job if nobody asks.
    pub(crate) fn region_refused(&self, op: u32, peer: RankId, why: RegionError) {
        let refused = &self.wire.ops.op(op).refused;
        match refused.load(Ordering::Relaxed) {
            STRICT if why == RegionError::Gone && self.wire.is_lost(peer) => {
                self.wire.fatal_started("an operation on a region", peer)
            }
            STRICT => self.fatal(&format!("an operation on a region of rank {peer} was refused: {why}")),
            // Relaxed: the first refusal, or any; finish publishes it.
            _ => refused.store(why.code() + LENIENT, Ordering::Relaxed),
        }
    }
}
