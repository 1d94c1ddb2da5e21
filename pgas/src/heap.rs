//! Memory of arrays that are gone, for the next ones.

use std::collections::BTreeMap;

/// Arrays begin at multiples of this, in bytes.
pub(crate) const ALIGN: u64 = 64;

/// Parts of the segments that nobody uses: offset and length. All ranks take and give the same in the same
/// order, so theirs are the same.
#[derive(Debug, Default)]
pub(crate) struct Heap(BTreeMap<u64, u64>);

impl Heap {
    /// Takes the first part that is long enough.
    pub(crate) fn take(&mut self, bytes: u64) -> Option<u64> {
        let (&at, &len) = self.0.iter().find(|&(_, &len)| len >= bytes)?;
        self.0.remove(&at);
        if len > bytes {
            self.0.insert(at + bytes, len - bytes);
        }
        Some(at)
    }

    pub(crate) fn give(&mut self, at: u64, bytes: u64) {
        let (mut at, mut bytes) = (at, bytes);
        if let Some((&before, &len)) =
            self.0.range(..at).next_back().filter(|&(&before, &len)| before + len == at)
        {
            self.0.remove(&before);
            (at, bytes) = (before, bytes + len);
        }
        if let Some(len) = self.0.remove(&(at + bytes)) {
            bytes += len;
        }
        if bytes > 0 {
            self.0.insert(at, bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_given_is_taken_again() {
        let mut heap = Heap::default();
        heap.give(0, 64);
        heap.give(128, 64);
        assert_eq!(heap.take(128), None);
        heap.give(64, 64);
        assert_eq!(heap.take(128), Some(0));
        assert_eq!((heap.take(64), heap.take(64)), (Some(128), None));
    }
}
