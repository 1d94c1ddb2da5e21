//! The allocator of coarray memory: which bytes of a segment are free, in order of address.
//!
//! Every image has one, of the same range. Images that allocate together propose the lowest place that each
//! has free, and take the highest of the proposals if all have it free, so that a coarray lies at the same
//! offset on all of its images ([`crate::memory`]). Memory of components is taken at the other end
//! ([`crate::blocks`]).

use std::collections::BTreeMap;

/// Coarrays begin at multiples of this, so that those of different images share no cache line.
const ALIGN_BYTES: u64 = 64;

/// The free ranges: length by offset. Neighbouring ranges are one.
#[derive(Debug)]
pub struct Heap {
    free: BTreeMap<u64, u64>,
}

impl Heap {
    /// With `range` free.
    pub fn new(range: std::ops::Range<u64>) -> Heap {
        let start = range.start.next_multiple_of(ALIGN_BYTES);
        let length = (range.end.saturating_sub(start)) & !(ALIGN_BYTES - 1);
        Heap { free: [(start, length)].into_iter().filter(|r| r.1 > 0).collect() }
    }

    /// The lowest place from `from` on with `bytes` free bytes.
    pub fn find(&self, bytes: u64, from: u64) -> Option<u64> {
        let room = room(bytes)?;
        let before = self.free.range(..from).next_back();
        let fits = |(start, length): (&u64, &u64)| {
            let at = (*start).max(from);
            (at - start <= *length && length - (at - start) >= room).then_some(at)
        };
        before.and_then(fits).or_else(|| self.free.range(from..).find_map(fits))
    }

    /// Takes `bytes` bytes at a place that [`Heap::find`] has found.
    pub fn take(&mut self, at: u64, bytes: u64) {
        let Some((start, length, room)) =
            self.free.range(..=at).next_back().zip(room(bytes)).map(|((s, l), room)| (*s, *l, room))
        else {
            return;
        };
        self.free.remove(&start);
        if at > start {
            self.free.insert(start, at - start);
        }
        if at + room < start + length {
            self.free.insert(at + room, start + length - (at + room));
        }
    }

    /// Takes `bytes` bytes at the highest place there is.
    pub fn take_last(&mut self, bytes: u64) -> Option<u64> {
        let room = room(bytes)?;
        let (start, length) = self.free.iter().rev().find(|(_, length)| **length >= room)?;
        let at = start + length - room;
        self.take(at, bytes);
        Some(at)
    }

    /// Gives back what [`Heap::take`] took.
    pub fn give(&mut self, at: u64, bytes: u64) {
        let (mut start, mut length) = (at, room(bytes).unwrap_or(0));
        if let Some((s, l)) = self.free.range(..at).next_back().map(|(s, l)| (*s, *l))
            && s + l == at
        {
            (start, length) = (s, l + length);
        }
        if let Some(next) = self.free.remove(&(start + length)) {
            length += next;
        }
        self.free.insert(start, length);
    }
}

/// The bytes of the heap that an object of `bytes` bytes takes.
fn room(bytes: u64) -> Option<u64> {
    bytes.max(1).checked_next_multiple_of(ALIGN_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_come_back_as_one() {
        let mut heap = Heap::new(64..1 << 20);
        let whole = heap.free.clone();
        let sizes = [1, 64, 65, 1000, 4096, 3];
        let mut places = Vec::new();
        for bytes in sizes {
            let at = heap.find(bytes, 0).unwrap();
            heap.take(at, bytes);
            assert!(places.iter().all(|(other, n)| at >= other + n || at + bytes <= *other));
            places.push((at, bytes));
        }
        let last = heap.take_last(100).unwrap();
        assert_eq!(last, (1 << 20) - 128);
        heap.give(last, 100);
        let hole = places.remove(3);
        heap.give(hole.0, hole.1);
        assert_eq!(heap.find(1000, 0), Some(hole.0), "the lowest place");
        assert_eq!(heap.find(64, hole.0 + 64), Some(hole.0 + 64), "inside a free range");
        assert!(heap.find(2000, 0) > Some(hole.0));
        assert_eq!(heap.find(1 << 20, 0), None);
        assert_eq!(heap.find(u64::MAX, 0), None);
        for (at, bytes) in places {
            heap.give(at, bytes);
        }
        assert_eq!(heap.free, whole);
    }
}
