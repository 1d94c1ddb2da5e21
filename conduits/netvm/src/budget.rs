//! How much memory a registration strategy may pin or hold.

/// The bounds of a strategy, and its unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// `M`: bytes that each rank offers to the others.
    pub m: u64,
    /// `MAXVICTIM`: bytes that it keeps for itself and for buckets that may be wanted again.
    pub victim: u64,
    /// Bytes of a bucket.
    pub bucket: u64,
    /// Whether victims may use what peers leave unused.
    pub adaptive: bool,
}

impl Budget {
    /// The budget of the paper's measurements: 400 MB, 50 MB, buckets of a page.
    pub const PAPER: Budget = Budget { m: 400 << 20, victim: 50 << 20, bucket: 4096, adaptive: false };

    /// How the live conduit divides `room` bytes that a rank may have pinned, with segments of `segment`
    /// bytes.
    ///
    /// A segment that fits as a whole needs no division: any peer may have all of it, and so may the rank.
    /// Otherwise nearly all is for the peers, so that firehoses can hold a working set that fits. The rank
    /// keeps the rest for sources and destinations in its own segment, which it needs for the duration of a
    /// transfer.
    pub fn live(room: u64, segment: u64, ranks: u32) -> Budget {
        const PAGE: u64 = 4096;
        let peers = u64::from(ranks.max(2) - 1);
        let (m, victim) = if room >= segment {
            (segment.max(PAGE) * peers, segment)
        } else {
            // Two of the largest transfers, if that is a small part of the room.
            let own = (room / 16).max(18 * PAGE).min(room / 4).next_multiple_of(PAGE);
            ((room.saturating_sub(own) / PAGE * PAGE).max(peers * PAGE), own)
        };
        Budget { m, victim: victim.next_multiple_of(PAGE).max(PAGE), bucket: PAGE, adaptive: true }
    }
}
