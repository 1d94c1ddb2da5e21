//! The allocator of coarray memory: which bytes of a segment are free, in order of address.
//!
//! Every image has one, of the same range. Images that allocate together propose the lowest place that each
//! has free, and take the highest of the proposals if all have it free, so that a coarray lies at the same
//! offset on all of its images ([`crate::memory`]). Memory of components is taken at the other end
//! ([`Blocks`]).

use std::collections::{BTreeMap, HashMap};

/// Coarrays begin at multiples of this, so that those of different images share no cache line.
const ALIGN_BYTES: u64 = 64;

/// Bytes of the smallest block.
const LEAST_BYTES: u64 = 64;
/// Bytes of the largest block that stays one.
const MOST_SMALL_BYTES: u64 = 4096;
/// Sizes of small blocks.
const SIZES: usize = (MOST_SMALL_BYTES / LEAST_BYTES).ilog2() as usize + 1;

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

/// Memory of components, each of one image alone. Blocks are taken from the end of the heap, coarrays from
/// its start, where all images propose the same place. A small block has a power of two bytes, and stays one
/// when it is freed; the memory of a large one goes back to the heap.
#[derive(Debug, Default)]
pub struct Blocks {
    /// Bytes of those in use, by place.
    used: HashMap<u64, u64>,
    /// Places of small ones that are free, by size.
    free: [Vec<u64>; SIZES],
}

/// The bytes of a block that has room for so many, and which size of small blocks that is.
fn size_of_block(bytes: usize) -> Option<(u64, Option<usize>)> {
    let bytes = (bytes as u64).max(LEAST_BYTES);
    if bytes <= MOST_SMALL_BYTES {
        let bytes = bytes.next_power_of_two();
        return Some((bytes, Some((bytes / LEAST_BYTES).ilog2() as usize)));
    }
    Some((bytes.checked_next_multiple_of(LEAST_BYTES)?, None))
}

impl Blocks {
    /// A block with room for so many bytes.
    pub fn take(&mut self, heap: &mut Heap, bytes: usize) -> Option<u64> {
        let (room, size) = size_of_block(bytes)?;
        let kept = size.and_then(|size| self.free[size].pop());
        let at = kept.or_else(|| heap.take_last(room))?;
        self.used.insert(at, room);
        Some(at)
    }

    /// The bytes of the block at a place; 0 if there is none.
    pub fn bytes(&self, at: u64) -> u64 {
        self.used.get(&at).copied().unwrap_or(0)
    }

    /// Gives back the block at a place, if there is one.
    pub fn give(&mut self, heap: &mut Heap, at: u64) -> Option<()> {
        let bytes = self.used.remove(&at)?;
        match size_of_block(bytes as usize)?.1 {
            Some(size) => self.free[size].push(at),
            None => heap.give(at, bytes),
        }
        Some(())
    }
}

/// The bytes of a block that has room for so many.
pub fn room_of_block(bytes: usize) -> Option<u64> {
    size_of_block(bytes).map(|(bytes, _)| bytes)
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

    #[test]
    fn blocks_do_not_overlap_and_come_back() {
        let whole = 64..1 << 20;
        let (mut heap, mut blocks, mut random) = (Heap::new(whole.clone()), Blocks::default(), 1u64);
        let mut used: Vec<(u64, u64)> = Vec::new();
        for step in 0..20_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let number = (random >> 33) as usize;
            if step < 15_000 && number.is_multiple_of(2) {
                let bytes = if number.is_multiple_of(16) { number % 60_000 } else { number % 700 };
                let Some(at) = blocks.take(&mut heap, bytes) else { continue };
                assert!(
                    at.is_multiple_of(LEAST_BYTES) && at >= whole.start && at + bytes as u64 <= whole.end
                );
                let end = at + bytes.max(1) as u64;
                assert!(
                    used.iter().all(|(start, stop)| end <= *start || *stop <= at),
                    "{at} {bytes} {used:?}"
                );
                used.push((at, end));
            } else if !used.is_empty() {
                let (at, _) = used.swap_remove(number % used.len());
                assert_eq!(blocks.give(&mut heap, at), Some(()));
                assert_eq!(blocks.give(&mut heap, at), None, "freed twice");
            }
        }
        assert!(used.is_empty() && blocks.used.is_empty());
        // Small blocks stay such: the same requests need no more memory.
        let kept: usize = blocks.free.iter().map(Vec::len).sum();
        assert!(kept > 0);
        let at = blocks.take(&mut heap, 100).unwrap();
        assert_eq!(blocks.free.iter().map(Vec::len).sum::<usize>(), kept - 1);
        assert_eq!(blocks.give(&mut heap, at), Some(()));
        let large = blocks.take(&mut heap, 100_000).unwrap();
        assert_eq!(blocks.give(&mut heap, large), Some(()));
        assert_eq!(heap.find(100_000, large), Some(large), "large ones go back to the heap");
    }
}
