//! Objects by numbers that are used once.

use rustc_hash::FxHashMap;

/// Objects by number. A number that was given up is not given out again before all others have been.
#[derive(Debug, Clone)]
pub(crate) struct Table<T> {
    items: FxHashMap<u32, T>,
    next: u32,
}

impl<T> Default for Table<T> {
    fn default() -> Table<T> {
        Table { items: FxHashMap::default(), next: 1 }
    }
}

impl<T> Table<T> {
    /// Enters an object; its number is not 0.
    pub(crate) fn add(&mut self, item: T) -> u32 {
        while self.next == 0 || self.items.contains_key(&self.next) {
            self.next = self.next.wrapping_add(1);
        }
        let number = self.next;
        self.next = number.wrapping_add(1);
        self.items.insert(number, item);
        number
    }

    pub(crate) fn get(&self, number: u32) -> Option<&T> {
        self.items.get(&number)
    }

    pub(crate) fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        self.items.get_mut(&number)
    }

    pub(crate) fn remove(&mut self, number: u32) -> Option<T> {
        self.items.remove(&number)
    }

    /// Removes the objects that are not to be kept.
    pub(crate) fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        self.items.retain(|_, item| keep(item));
    }

    /// Calls a function for each object.
    pub(crate) fn each(&mut self, change: impl FnMut(&mut T)) {
        self.items.values_mut().for_each(change);
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        self.items.iter().map(|(number, item)| (*number, item))
    }
}

#[cfg(test)]
mod tests {
    use super::Table;

    #[test]
    fn numbers_are_used_once() {
        let mut table = Table::default();
        let (a, b) = (table.add('a'), table.add('b'));
        assert_eq!(table.remove(a), Some('a'));
        let c = table.add('c');
        assert!(a != 0 && b != 0 && c != a && c != b);
        assert_eq!((table.get(a), table.get(b), table.get(c)), (None, Some(&'b'), Some(&'c')));
        // After all numbers, those that are free.
        table.next = u32::MAX;
        assert_eq!([table.add('d'), table.add('e')], [u32::MAX, a]);
        assert_eq!(table.add('f'), c + 1, "{b} and {c} are in use");
    }
}
