//! What a rank keeps of each other rank, made when they first have to do with each other: in a job of 10,000
//! ranks most never have. Entries are made in chunks, and the tables of chunks in groups, so that an unused
//! table of 10,000 entries takes 320 bytes.

use gasnet::RankId;
use std::sync::OnceLock;

/// Entries that are made at once.
const CHUNK: usize = 16;
/// Chunks that have their places made at once.
const GROUP: usize = 32;

type Chunk<T> = OnceLock<Box<[T; CHUNK]>>;
type Group<T> = OnceLock<Box<[Chunk<T>; GROUP]>>;

/// An entry for each rank of a job.
#[derive(Debug)]
pub struct PeerTable<T> {
    groups: Box<[Group<T>]>,
}

/// Where a rank's entry is: its group, the chunk there, and the entry in that.
#[inline]
fn place(rank: RankId) -> (usize, usize, usize) {
    let chunk = rank.0 as usize / CHUNK;
    (chunk / GROUP, chunk % GROUP, rank.0 as usize % CHUNK)
}

impl<T: Default> PeerTable<T> {
    /// None is made yet.
    pub fn new(ranks: u32) -> PeerTable<T> {
        PeerTable { groups: (0..(ranks as usize).div_ceil(CHUNK * GROUP)).map(|_| OnceLock::new()).collect() }
    }

    /// The entry of a rank, which is made if there is none.
    #[inline]
    pub fn of(&self, rank: RankId) -> &T {
        let (group, chunk, entry) = place(rank);
        let chunks = self.groups[group].get_or_init(|| Box::new([const { OnceLock::new() }; GROUP]));
        let entries = chunks[chunk].get_or_init(|| Box::new(core::array::from_fn(|_| T::default())));
        &entries[entry]
    }

    /// The entry of a rank, for whoever has the table for itself.
    #[inline]
    pub fn of_mut(&mut self, rank: RankId) -> &mut T {
        let (group, chunk, entry) = place(rank);
        self.of(rank);
        match self.groups[group].get_mut().and_then(|chunks| chunks[chunk].get_mut()) {
            Some(entries) => &mut entries[entry],
            None => unreachable!("it has been made above"),
        }
    }

    /// The entries that are made, by rank, and perhaps some that nobody has asked for.
    pub fn into_made(self) -> impl Iterator<Item = (RankId, T)> {
        let groups = (0..).step_by(CHUNK * GROUP).zip(self.groups);
        let chunks = groups.filter_map(|(first, group)| Some((first, *group.into_inner()?)));
        let chunks = chunks.flat_map(|(first, chunks)| (first..).step_by(CHUNK).zip(chunks));
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
        let made = || {
            let chunks = table.groups.iter().filter_map(OnceLock::get).flat_map(|chunks| chunks.iter());
            chunks.filter(|chunk| chunk.get().is_some()).count()
        };
        assert_eq!((table.groups.len(), made()), (2, 0));
        for rank in [0, 15, 999] {
            table.of(RankId(rank)).store(rank + 1, Ordering::Relaxed);
        }
        assert_eq!(made(), 2);
        let values = [0, 1, 15, 16, 998, 999].map(|rank| table.of(RankId(rank)).load(Ordering::Relaxed));
        assert_eq!(values, [1, 0, 16, 0, 0, 1000]);
        assert_eq!(made(), 3);
        let mut table = table;
        *table.of_mut(RankId(999)) = AtomicU32::new(7);
        let set = table.into_made().map(|(rank, value)| (rank.0, value.into_inner()));
        assert!(set.filter(|(_, value)| *value > 0).eq([(0, 1), (15, 16), (999, 7)]));
    }
}
