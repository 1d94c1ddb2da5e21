//! A table whose entries stay where they are, and of which any thread takes and gives back entries without a
//! lock.
//!
//! Memory is made in chunks, each twice as large as the one before it, and never given back before the table
//! is. Entries not in use form a stack, linked by their numbers. Its head carries a count of changes beside
//! the number, so that an entry which was taken and given back in between is not taken for one that was there
//! all the time.

use crate::prim::{AtomicU32, AtomicU64, Ordering};
use std::sync::OnceLock;

/// Bits of a number in the first chunk: few, since a process may have 10,000 ranks with such tables. Tests
/// under Miri reach several chunks.
const CHUNK_BITS: u32 = if cfg!(miri) { 3 } else { 4 };
/// Entries in the first chunk.
const FIRST_CHUNK_ENTRIES: usize = 1 << CHUNK_BITS;
/// No entry.
pub const NONE: u32 = u32::MAX;

/// Entries of a table whose numbers have so many bits.
pub const fn entries(bits: u32) -> usize {
    FIRST_CHUNK_ENTRIES * ((1 << (bits - CHUNK_BITS)) - 1)
}

/// Where an entry lies: its chunk, and its place there.
#[inline]
fn place(number: u32) -> (usize, usize) {
    let i = number as usize + FIRST_CHUNK_ENTRIES;
    let chunk = (i / FIRST_CHUNK_ENTRIES).ilog2() as usize;
    (chunk, i - (FIRST_CHUNK_ENTRIES << chunk))
}

/// An entry of the table.
pub trait Slot {
    /// An entry that was never taken.
    fn new() -> Self;
    /// Links entries that are not in use; nobody else touches it.
    fn next(&self) -> &AtomicU32;
}

/// A stack of numbers. Low half: the first one; high half: changes.
#[derive(Debug)]
struct Stack(AtomicU64);

impl Stack {
    fn new() -> Stack {
        Stack(AtomicU64::new(u64::from(NONE)))
    }

    /// Takes the first one; `link` finds what links an entry to the next.
    fn pop<'a>(&self, link: impl Fn(u32) -> Option<&'a AtomicU32>) -> Option<u32> {
        // ORDER: Acquire, here and below; pairs with Release in push: what the entry's last user left, its
        // link among it.
        let mut head = self.0.load(Ordering::Acquire);
        while head as u32 != NONE {
            let next = link(head as u32)?.load(Ordering::Relaxed);
            let changed = ((head >> 32).wrapping_add(1) << 32) | u64::from(next);
            match self.0.compare_exchange(head, changed, Ordering::Acquire, Ordering::Acquire) {
                Ok(_) => return Some(head as u32),
                Err(now) => head = now,
            }
        }
        None
    }

    fn push(&self, number: u32, link: &AtomicU32) {
        let mut head = self.0.load(Ordering::Relaxed);
        loop {
            link.store(head as u32, Ordering::Relaxed);
            let changed = ((head >> 32).wrapping_add(1) << 32) | u64::from(number);
            // ORDER: Release; pairs with Acquire in pop. All changes of the head are read-modify-writes, so
            // who takes an entry further down acquires from the thread that gave it back, too.
            match self.0.compare_exchange(head, changed, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => head = now,
            }
        }
    }
}

/// The table.
#[derive(Debug)]
pub struct Slots<T> {
    chunks: Box<[OnceLock<Box<[T]>>]>,
    free: Stack,
    /// Entries that were taken at least once.
    taken: AtomicU32,
}

impl<T: Slot> Slots<T> {
    /// A table whose entries have numbers below `1 << bits`; with `bits` of 8 there are 240 entries, and with
    /// every bit more about twice as many.
    pub fn new(bits: u32) -> Slots<T> {
        assert!((CHUNK_BITS + 1..32).contains(&bits), "a table of {bits} bits");
        Slots {
            chunks: (0..bits - CHUNK_BITS).map(|_| OnceLock::new()).collect(),
            free: Stack::new(),
            taken: AtomicU32::new(0),
        }
    }

    /// An entry by its number, if it was ever taken.
    #[inline]
    pub fn get(&self, number: u32) -> Option<&T> {
        if number == NONE {
            return None;
        }
        let (chunk, at) = place(number);
        let entries = self.chunks.get(chunk)?.get()?;
        // Inside, as `place` says. A slice's `get` would borrow all of them, which Miri tracks one by one.
        Some(&entries[at])
    }

    /// Takes an entry; `None` when all are in use.
    #[inline]
    pub fn take(&self) -> Option<(u32, &T)> {
        if let Some(number) = self.free.pop(|n| self.get(n).map(T::next)) {
            return Some((number, self.get(number)?));
        }
        let fresh = |n: u32| (place(n).0 < self.chunks.len()).then_some(n + 1);
        let number = self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fresh).ok()?;
        let (chunk, at) = place(number);
        let entries =
            self.chunks[chunk].get_or_init(|| (0..FIRST_CHUNK_ENTRIES << chunk).map(|_| T::new()).collect());
        Some((number, &entries[at]))
    }

    /// Gives back an entry that was taken, once.
    #[inline]
    pub fn give_back(&self, number: u32) {
        if let Some(entry) = self.get(number) {
            self.free.push(number, entry.next());
        }
    }

    /// How many entries were taken at least once: those with the lowest numbers.
    pub fn taken(&self) -> u32 {
        self.taken.load(Ordering::Relaxed)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    struct Entry(AtomicU32, AtomicU32);

    impl Slot for Entry {
        fn new() -> Entry {
            Entry(AtomicU32::new(0), AtomicU32::new(0))
        }
        fn next(&self) -> &AtomicU32 {
            &self.0
        }
    }

    #[test]
    fn entries_have_numbers() {
        const MANY: u32 = if cfg!(miri) { 200 } else { 5000 };
        let slots = Slots::<Entry>::new(20);
        let all: Vec<u32> = (0..MANY).map(|_| slots.take().unwrap().0).collect();
        assert_eq!(all, (0..MANY).collect::<Vec<_>>());
        for n in 0..MANY {
            slots.get(n).unwrap().1.store(n, Ordering::Relaxed);
        }
        assert!((0..MANY).all(|n| slots.get(n).unwrap().1.load(Ordering::Relaxed) == n));
        assert!([1 << 20, u32::MAX - 1, NONE].iter().all(|n| slots.get(*n).is_none()));
        slots.give_back(7);
        slots.give_back(MANY - 1);
        assert_eq!([MANY - 1, 7, MANY], [0; 3].map(|_| slots.take().unwrap().0));
    }

    #[test]
    fn a_table_has_as_many_entries_as_its_numbers_have_bits_for() {
        assert!(cfg!(miri) || (entries(5), entries(6)) == (16, 16 + 32));
        for bits in [CHUNK_BITS + 1, CHUNK_BITS + 2] {
            let entries = entries(bits);
            let slots = Slots::<Entry>::new(bits);
            let all: Vec<u32> = core::iter::from_fn(|| Some(slots.take()?.0)).collect();
            assert_eq!((all.len(), all.iter().max()), (entries, Some(&(entries as u32 - 1))));
            slots.give_back(3);
            assert_eq!((slots.take().map(|(n, _)| n), slots.take().is_none()), (Some(3), true));
        }
    }

    #[test]
    fn no_entry_is_taken_twice() {
        let slots = Slots::<Entry>::new(20);
        std::thread::scope(|s| {
            for _ in 0..4 {
                s.spawn(|| {
                    for i in 0..if cfg!(miri) { 100 } else { 20_000 } {
                        let mine: Vec<u32> = (0..i % 5 + 1).map(|_| slots.take().unwrap().0).collect();
                        for &n in &mine {
                            assert_eq!(
                                slots.get(n).unwrap().1.swap(1, Ordering::Relaxed),
                                0,
                                "{n} is in use"
                            );
                        }
                        for &n in &mine {
                            slots.get(n).unwrap().1.store(0, Ordering::Relaxed);
                            slots.give_back(n);
                        }
                    }
                });
            }
        });
        assert!(slots.taken() <= 20);
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use loom::sync::Arc;

    /// Two entries, which two threads take and give back: no entry is with both, and each sees what the last
    /// user left.
    #[test]
    fn loom_entries_are_with_one_thread() {
        loom::model(|| {
            let entries = || [0; 2].map(|_| (AtomicU32::new(0), AtomicU32::new(0)));
            let shared = Arc::new((Stack::new(), entries()));
            let turn = |(stack, all): &(Stack, [(AtomicU32, AtomicU32); 2])| {
                let Some(n) = stack.pop(|n| Some(&all[n as usize].0)) else { return };
                let (link, used) = &all[n as usize];
                assert_eq!(used.load(Ordering::Relaxed), 0);
                used.store(1, Ordering::Relaxed);
                used.store(0, Ordering::Relaxed);
                stack.push(n, link);
            };
            for n in 0..2 {
                shared.0.push(n, &shared.1[n as usize].0);
            }
            let other = shared.clone();
            let thread = loom::thread::spawn(move || turn(&other));
            turn(&shared);
            thread.join().unwrap();
        });
    }
}
