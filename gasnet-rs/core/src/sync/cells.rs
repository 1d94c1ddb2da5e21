//! How processes are named, and where they wait.

use crate::{GlobalPtr, RankId};

/// The cells of a job: in every segment, at the same places, so many that each of a rank's waits can have one
/// of its own. A *process* is the number of a cell, from 1; who waits in a line waits at its cell: a word for
/// who is behind it, and one for its turn.
#[derive(Debug, Clone, Copy)]
pub struct Cells {
    /// Offset of a rank's first cell.
    base: u64,
    /// Bytes from one cell to the next.
    stride: u64,
    /// Bits of a process that say which cell of its rank it is.
    bits: u32,
}

impl Cells {
    /// One for each rank.
    pub(super) fn single(base: u64) -> Cells {
        Cells { base, stride: 0, bits: 0 }
    }

    /// `1 << bits` for each rank, from `base` on in its segment and `stride` apart: 16 bytes each, zero,
    /// aligned to 16. Processes must fit in 32 bits: `(ranks + 1) << bits` does.
    pub fn new(base: u64, stride: u64, bits: u32) -> Cells {
        Cells { base, stride, bits }
    }

    /// The process that waits at this cell.
    pub(super) fn process(self, rank: RankId, cell: u32) -> u64 {
        (u64::from(rank.0) + 1) << self.bits | u64::from(cell)
    }

    /// The cell of a process.
    pub(super) fn of(self, process: u64) -> GlobalPtr<u64> {
        let rank = RankId((process >> self.bits) as u32 - 1);
        let cell = process & ((1 << self.bits) - 1);
        GlobalPtr::new(rank, self.base + cell * self.stride)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn processes_name_cells() {
        let cells = Cells::new(0x1000, 64, 16);
        for (rank, cell) in [(0, 0), (0, 65535), (158, 7)] {
            let process = cells.process(RankId(rank), cell);
            assert!(process != 0 && process <= u64::from(u32::MAX));
            let at = cells.of(process);
            assert_eq!((at.rank(), at.offset()), (RankId(rank), 0x1000 + 64 * u64::from(cell)));
        }
        let single = Cells::single(0x80);
        assert_eq!(single.process(RankId(4), 0), 5);
        assert_eq!(single.of(5).rank(), RankId(4));
    }
}
