//! Things with small numbers that are used again.

#[derive(Debug, Clone)]
enum Place<T> {
    Used(T),
    /// The next free place.
    Free(u32),
}

/// No place.
const NONE: u32 = u32::MAX;

/// A numbered collection.
#[derive(Debug, Clone)]
pub(crate) struct Slab<T> {
    places: Vec<Place<T>>,
    free: u32,
}

impl<T> Default for Slab<T> {
    fn default() -> Slab<T> {
        Slab { places: Vec::new(), free: NONE }
    }
}

impl<T> Slab<T> {
    /// Puts something in, and says under which number.
    #[inline]
    pub fn insert(&mut self, thing: T) -> u32 {
        let number = self.free;
        if let Some(place) = self.places.get_mut(number as usize)
            && let Place::Free(next) = *place
        {
            self.free = next;
            *place = Place::Used(thing);
            return number;
        }
        self.places.push(Place::Used(thing));
        (self.places.len() - 1) as u32
    }

    /// Drops it.
    #[inline]
    pub fn free(&mut self, number: u32) {
        if let Some(place @ Place::Used(_)) = self.places.get_mut(number as usize) {
            *place = Place::Free(self.free);
            self.free = number;
        }
    }

    /// Takes it out.
    #[inline]
    pub fn remove(&mut self, number: u32) -> Option<T> {
        let place = self.places.get_mut(number as usize)?;
        if matches!(place, Place::Free(_)) {
            return None;
        }
        let Place::Used(thing) = std::mem::replace(place, Place::Free(self.free)) else { return None };
        self.free = number;
        Some(thing)
    }

    /// The thing of that number, to be changed.
    #[inline]
    pub fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        match self.places.get_mut(number as usize) {
            Some(Place::Used(thing)) => Some(thing),
            _ => None,
        }
    }

    /// All there are.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.places.iter().filter_map(|place| match place {
            Place::Used(thing) => Some(thing),
            Place::Free(_) => None,
        })
    }

    /// All there are, by number.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (u32, &mut T)> {
        self.places.iter_mut().enumerate().filter_map(|(number, place)| match place {
            Place::Used(thing) => Some((number as u32, thing)),
            Place::Free(_) => None,
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
