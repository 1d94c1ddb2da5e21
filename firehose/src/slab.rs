//! A collection whose members have small numbers that are reused.

#[derive(Debug, Clone)]
enum SlabSlot<T> {
    Used(T),
    /// The next free slot.
    Free(u32),
}

/// No slot.
const NO_SLOT: u32 = u32::MAX;

/// A numbered collection.
#[derive(Debug, Clone)]
pub(crate) struct Slab<T> {
    slots: Vec<SlabSlot<T>>,
    free: u32,
}

impl<T> Default for Slab<T> {
    fn default() -> Slab<T> {
        Slab { slots: Vec::new(), free: NO_SLOT }
    }
}

impl<T> Slab<T> {
    /// Stores a value, and returns its number.
    #[inline]
    pub fn insert(&mut self, thing: T) -> u32 {
        let number = self.free;
        if let Some(slot) = self.slots.get_mut(number as usize)
            && let SlabSlot::Free(next) = *slot
        {
            self.free = next;
            *slot = SlabSlot::Used(thing);
            return number;
        }
        self.slots.push(SlabSlot::Used(thing));
        (self.slots.len() - 1) as u32
    }

    /// Removes a value.
    #[inline]
    pub fn free(&mut self, number: u32) {
        if let Some(slot @ SlabSlot::Used(_)) = self.slots.get_mut(number as usize) {
            *slot = SlabSlot::Free(self.free);
            self.free = number;
        }
    }

    /// Removes a value and returns it.
    #[inline]
    pub fn remove(&mut self, number: u32) -> Option<T> {
        let slot = self.slots.get_mut(number as usize)?;
        if matches!(slot, SlabSlot::Free(_)) {
            return None;
        }
        let SlabSlot::Used(thing) = std::mem::replace(slot, SlabSlot::Free(self.free)) else { return None };
        self.free = number;
        Some(thing)
    }

    /// The value of that number, to be changed.
    #[inline]
    pub fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        match self.slots.get_mut(number as usize) {
            Some(SlabSlot::Used(thing)) => Some(thing),
            _ => None,
        }
    }

    /// All values.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.slots.iter().filter_map(|slot| match slot {
            SlabSlot::Used(thing) => Some(thing),
            SlabSlot::Free(_) => None,
        })
    }

    /// All values, with their numbers.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (u32, &mut T)> {
        self.slots.iter_mut().enumerate().filter_map(|(number, slot)| match slot {
            SlabSlot::Used(thing) => Some((number as u32, thing)),
            SlabSlot::Free(_) => None,
        })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_used_again() {
        let mut slab = Slab::default();
        let (a, b) = (slab.insert('a'), slab.insert('b'));
        assert_eq!((slab.remove(a), slab.remove(a), slab.get_mut(b)), (Some('a'), None, Some(&mut 'b')));
        assert_eq!(slab.insert('c'), a);
        assert_eq!(slab.get_mut(9), None);
        assert_eq!(slab.iter_mut().map(|(n, c)| (n, *c)).collect::<Vec<_>>(), [(a, 'c'), (b, 'b')]);
    }
}
