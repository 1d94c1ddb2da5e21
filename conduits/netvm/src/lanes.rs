//! The layout of a rank's mail: a queue for each lane, and behind the queues the drafts. Offsets are those in
//! the mail, which is in memory that the rank exports.

use gasnet_wire::conduit::MIN_FRAME;
use netvm_fw::PAGE;
use netvm_fw::host::Segment;
use netvm_fw::nic::QueuePlace;

/// Lanes of a rank.
pub(crate) const LANE_COUNT: usize = 3;
/// The lane of control messages.
pub(crate) const CONTROL_LANE: usize = 2;
/// Bytes of the largest frame.
pub(crate) const MAX_FRAME_BYTES: usize = MIN_FRAME;
/// Bytes of the largest control message.
pub(crate) const MAX_CONTROL_BYTES: usize = 16 << 10;
/// Bytes of the queues.
pub(crate) const QUEUE_BYTES: [u64; LANE_COUNT] = [512 << 10, 512 << 10, 128 << 10];

/// Drafts of one size: their bytes, and how many a lane has. A draft of less than a page is in one page, a
/// larger one begins at a page.
type DraftSize = (u64, u16);

/// The drafts of each lane, smallest first.
const DRAFTS: [[DraftSize; 3]; LANE_COUNT] =
    [FRAME_DRAFTS, FRAME_DRAFTS, [(512, 16), (PAGE as u64, 8), (MAX_CONTROL_BYTES as u64, 4)]];
const FRAME_DRAFTS: [DraftSize; 3] =
    [(512, 32), (PAGE as u64, 16), ((MAX_FRAME_BYTES as u64).next_multiple_of(PAGE as u64), 4)];

const fn draft_bytes(lane: usize) -> u64 {
    let [a, b, c] = DRAFTS[lane];
    (a.0 * a.1 as u64 + b.0 * b.1 as u64 + c.0 * c.1 as u64).next_multiple_of(PAGE as u64)
}

/// Offset in the mail of a lane's queue.
pub(crate) fn queue_at(lane: usize) -> u64 {
    QUEUE_BYTES[..lane].iter().sum()
}

/// Bytes of a rank's mail.
pub(crate) const MAIL_BYTES: u64 =
    QUEUE_BYTES[0] + QUEUE_BYTES[1] + QUEUE_BYTES[2] + draft_bytes(0) + draft_bytes(1) + draft_bytes(2);

/// The queues of a rank, for its NIC; its mail is at `mail` in the export.
pub(crate) fn places(export: &Segment, mail: u64) -> [QueuePlace; LANE_COUNT] {
    core::array::from_fn(|lane| QueuePlace {
        port: export.port,
        address: export.address + mail + queue_at(lane),
        bytes: QUEUE_BYTES[lane],
        key: export.key,
        event: 0,
    })
}

/// A slot in which a frame is filled in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Draft {
    lane: u8,
    /// Which of the lane's sizes.
    size: u8,
    index: u16,
}

impl Draft {
    /// Its lane.
    pub(crate) fn lane(self) -> u32 {
        self.lane.into()
    }

    /// A number from which [`Draft::unpack`] makes it again.
    pub(crate) fn pack(self) -> u64 {
        u64::from(self.index) | u64::from(self.size) << 16 | u64::from(self.lane) << 24
    }

    pub(crate) fn unpack(number: u64) -> Draft {
        Draft { lane: (number >> 24) as u8, size: (number >> 16) as u8, index: number as u16 }
    }

    /// Its offset in the mail.
    pub(crate) fn offset(self) -> u64 {
        let lane = usize::from(self.lane);
        let before: u64 = (0..lane).map(draft_bytes).sum();
        // Those of the largest size are first, where pages begin.
        let larger = DRAFTS[lane].iter().skip(usize::from(self.size) + 1);
        let larger: u64 = larger.map(|(bytes, count)| bytes * u64::from(*count)).sum();
        let own = u64::from(self.index) * DRAFTS[lane][usize::from(self.size)].0;
        queue_at(LANE_COUNT) + before + larger + own
    }
}

/// The drafts of a rank that are free.
pub(crate) struct Drafts {
    free: [[Vec<u16>; 3]; LANE_COUNT],
}

impl Drafts {
    pub(crate) fn new() -> Drafts {
        Drafts { free: DRAFTS.map(|sizes| sizes.map(|(_, count)| (0..count).rev().collect())) }
    }

    /// The smallest free draft of a lane for `len` bytes.
    pub(crate) fn take(&mut self, lane: usize, len: usize) -> Option<Draft> {
        let sizes = DRAFTS[lane].iter().zip(&mut self.free[lane]).zip(0u8..);
        let mut fitting = sizes.filter(|((size, _), _)| size.0 >= len as u64);
        fitting.find_map(|((_, free), size)| Some(Draft { lane: lane as u8, size, index: free.pop()? }))
    }

    /// A draft is free again.
    pub(crate) fn give(&mut self, draft: Draft) {
        self.free[usize::from(draft.lane)][usize::from(draft.size)].push(draft.index);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Drafts do not overlap, frames in them are aligned, and their pages are those that fragments need.
    #[test]
    fn drafts_are_apart() {
        let mut drafts = Drafts::new();
        let mut taken = BTreeSet::new();
        for (lane, sizes) in DRAFTS.iter().enumerate() {
            let largest = if lane == CONTROL_LANE { MAX_CONTROL_BYTES } else { MAX_FRAME_BYTES };
            for len in [1, 512, 513, PAGE as usize, PAGE as usize + 1, largest] {
                let draft = drafts.take(lane, len).expect("one of each");
                drafts.give(draft);
            }
            assert_eq!(drafts.take(lane, largest.next_multiple_of(PAGE as usize) + 1), None);
            while let Some(draft) = drafts.take(lane, 1) {
                let (bytes, at) = (sizes[usize::from(draft.size)].0, draft.offset());
                assert!(at % 64 == 0 && at + bytes <= MAIL_BYTES && at >= queue_at(LANE_COUNT));
                assert!(at % u64::from(PAGE) == 0 || at % u64::from(PAGE) + bytes <= u64::from(PAGE));
                taken.insert((at, at + bytes));
                assert_eq!(Draft::unpack(draft.pack()), draft);
            }
        }
        let ends: Vec<_> = taken.iter().collect();
        assert!(ends.windows(2).all(|pair| pair[0].1 <= pair[1].0), "they overlap: {ends:?}");
    }

    /// NET-8: the memory of a rank's mail is the same in every job, and a few MiB.
    #[test]
    fn net_08_mail_is_of_one_size() {
        const { assert!(MAIL_BYTES < 4 << 20) };
        for (lane, bytes) in QUEUE_BYTES.into_iter().enumerate() {
            let largest = if lane == CONTROL_LANE { MAX_CONTROL_BYTES } else { MAX_FRAME_BYTES };
            assert!(netvm_fw::append::room_for(largest as u32) <= bytes / 2, "lane {lane}");
            assert_eq!(queue_at(lane) % u64::from(PAGE), 0);
        }
    }
}
