//! A hash table whose slots are one flat array: looking up a present key touches one cache line.
//!
//! Open addressing with linear probing, at most half full. Removing a key moves later slots back, so there
//! are no tombstones, and no slot keeps its address: everything refers to a slot by its key.

/// The contents of a slot.
pub(crate) trait TableSlot: Copy {
    /// An empty slot. Its id is [`VACANT`].
    fn vacant() -> Self;
    /// The key of the slot.
    fn id(&self) -> u64;
}

/// The key of an empty slot.
pub(crate) const VACANT: u64 = u64::MAX;

/// The table.
#[derive(Debug, Clone)]
pub(crate) struct Table<S> {
    slots: Vec<S>,
    /// How far a hash is shifted to become an index.
    shift: u32,
    len: usize,
}

/// Fewest slots of a table that is not empty.
const MIN_SLOTS: usize = 16;

impl<S: TableSlot> Default for Table<S> {
    /// An empty table: it has one slot.
    fn default() -> Table<S> {
        Table::with_slots(1)
    }
}

impl<S: TableSlot> Table<S> {
    fn with_slots(slots: usize) -> Table<S> {
        // A shift by 64 is not possible: with one slot the mask does all the work.
        Table { slots: vec![S::vacant(); slots], shift: (64 - slots.trailing_zeros()).min(63), len: 0 }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.len
    }

    #[inline]
    fn home(&self, key: u64) -> usize {
        // Fibonacci hashing: neighbouring buckets spread, with one multiplication.
        (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize & (self.slots.len() - 1)
    }

    /// The index of the key, or where it would be inserted.
    #[inline]
    fn seek(&self, key: u64) -> Result<usize, usize> {
        let mask = self.slots.len() - 1;
        let mut at = self.home(key);
        loop {
            let found = self.slots[at].id();
            if found == key {
                return Ok(at);
            }
            if found == VACANT {
                return Err(at);
            }
            at = (at + 1) & mask;
        }
    }

    /// The value of the key.
    #[inline]
    pub fn get(&self, key: u64) -> Option<&S> {
        self.seek(key).ok().map(|at| &self.slots[at])
    }

    /// The value of the key, to be changed. Its key must stay.
    #[inline]
    pub fn get_mut(&mut self, key: u64) -> Option<&mut S> {
        match self.seek(key) {
            Ok(at) => Some(&mut self.slots[at]),
            Err(_) => None,
        }
    }

    /// Inserts a key that is not there yet.
    pub fn insert(&mut self, slot: S) {
        if (self.len + 1) * 2 > self.slots.len() {
            let mut larger = Table::with_slots((self.slots.len() * 2).max(MIN_SLOTS));
            for slot in self.iter() {
                larger.insert(*slot);
            }
            *self = larger;
        }
        let at = self.seek(slot.id());
        debug_assert!(at.is_err(), "inserted twice");
        let (Ok(at) | Err(at)) = at;
        self.slots[at] = slot;
        self.len += 1;
    }

    /// Removes a key and returns its value.
    pub fn remove(&mut self, key: u64) -> Option<S> {
        let mut hole = self.seek(key).ok()?;
        let removed = self.slots[hole];
        let mask = self.slots.len() - 1;
        let mut at = hole;
        loop {
            at = (at + 1) & mask;
            let slot = self.slots[at];
            if slot.id() == VACANT {
                break;
            }
            // It may move back to the hole unless its home lies after the hole.
            let home = self.home(slot.id());
            if at.wrapping_sub(home) & mask >= at.wrapping_sub(hole) & mask {
                self.slots[hole] = slot;
                hole = at;
            }
        }
        self.slots[hole] = S::vacant();
        self.len -= 1;
        Some(removed)
    }

    /// All values. Their order depends on keys and history only.
    pub fn iter(&self) -> impl Iterator<Item = &S> {
        self.slots.iter().filter(|slot| slot.id() != VACANT)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    struct Pair(u64, u32);

    impl TableSlot for Pair {
        fn vacant() -> Pair {
            Pair(VACANT, 0)
        }
        fn id(&self) -> u64 {
            self.0
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 3 } else { 256 }))]

        #[test]
        fn does_what_a_map_does(
            steps in prop::collection::vec((0..4u8, 0..200u64, any::<u32>()), 0..if cfg!(miri) { 60 } else { 800 }),
            stride in prop::sample::select(vec![1u64, 1 << 20, 0x9e37_79b9_7f4a_7c15]),
        ) {
            let mut table = Table::default();
            let mut map = BTreeMap::new();
            for (what, key, value) in steps {
                let key = key.wrapping_mul(stride);
                match what {
                    0 | 1 if !map.contains_key(&key) => {
                        table.insert(Pair(key, value));
                        map.insert(key, value);
                    }
                    2 => prop_assert_eq!(table.remove(key).map(|p| p.1), map.remove(&key)),
                    _ => {
                        if let Some(pair) = table.get_mut(key) {
                            pair.1 = value;
                        }
                        if let Some(old) = map.get_mut(&key) {
                            *old = value;
                        }
                    }
                }
                prop_assert_eq!(table.get(key).map(|p| p.1), map.get(&key).copied());
                prop_assert_eq!(table.len(), map.len());
            }
            let mut all: Vec<(u64, u32)> = table.iter().map(|p| (p.0, p.1)).collect();
            all.sort_unstable();
            prop_assert_eq!(all, map.into_iter().collect::<Vec<_>>());
        }
    }
}
