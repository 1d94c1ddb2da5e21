//! What a rank keeps of each other rank, made when they first have to do with each other: in a job of 10,000
//! ranks most never have.

use gasnet::RankId;
use std::sync::OnceLock;

/// Entries that are made at once.
const CHUNK: usize = 32;

/// An entry for each rank of a job.
#[derive(Debug)]
pub struct PeerTable<T> {
    chunks: Box<[OnceLock<Box<[T; CHUNK]>>]>,
}

impl<T: Default> PeerTable<T> {
    /// None is made yet.
    pub fn new(ranks: u32) -> PeerTable<T> {
        PeerTable { chunks: (0..(ranks as usize).div_ceil(CHUNK)).map(|_| OnceLock::new()).collect() }
    }

    /// The entry of a rank, which is made if there is none.
    #[inline]
    pub fn of(&self, rank: RankId) -> &T {
        let (chunk, place) = (rank.0 as usize / CHUNK, rank.0 as usize % CHUNK);
        let entries = self.chunks[chunk].get_or_init(|| Box::new(core::array::from_fn(|_| T::default())));
        &entries[place]
    }

    /// The entry of a rank, for whoever has the table for itself.
    #[inline]
    pub fn of_mut(&mut self, rank: RankId) -> &mut T {
        let (chunk, place) = (rank.0 as usize / CHUNK, rank.0 as usize % CHUNK);
        self.of(rank);
        match self.chunks[chunk].get_mut() {
            Some(entries) => &mut entries[place],
            None => unreachable!("it has been made above"),
        }
    }

    /// The entries that are made, by rank, and perhaps some that nobody has asked for.
    pub fn into_made(self) -> impl Iterator<Item = (RankId, T)> {
        let chunks = (0..).step_by(CHUNK).zip(self.chunks);
        let made = chunks.filter_map(|(first, chunk)| Some((first..).map(RankId).zip(*chunk.into_inner()?)));
        made.flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn entries_are_made_when_they_are_used() {
        let table = PeerTable::<AtomicU32>::new(1000);
        let made = || table.chunks.iter().filter(|chunk| chunk.get().is_some()).count();
        assert_eq!((table.chunks.len(), made()), (32, 0));
        for rank in [0, 31, 999] {
            table.of(RankId(rank)).store(rank + 1, Ordering::Relaxed);
        }
        assert_eq!(made(), 2);
        let values = [0, 1, 31, 32, 998, 999].map(|rank| table.of(RankId(rank)).load(Ordering::Relaxed));
        assert_eq!(values, [1, 0, 32, 0, 0, 1000]);
        assert_eq!(made(), 3);
        let mut table = table;
        *table.of_mut(RankId(999)) = AtomicU32::new(7);
        let set = table.into_made().map(|(rank, value)| (rank.0, value.into_inner()));
        assert!(set.filter(|(_, value)| *value > 0).eq([(0, 1), (31, 32), (999, 7)]));
    }
}
