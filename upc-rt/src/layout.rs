//! The layout of a segment.
//!
//! Every rank's segment has the same layout, so an offset means the same on all of them:
//! ```text
//! 0          one page that is never allocated (offset 0 is the null pointer)
//! FIRST      static shared data, in order of registration
//! heap_lo    heap: objects of upc_alloc grow up, objects of upc_global_alloc and upc_all_alloc grow down
//! heap_hi    a gap, so that running over the end of the heap's last object meets no bookkeeping
//! control    the runtime's words: [`Control`], then a descriptor for every page of the segment
//! ```

use crate::control::Control;
use crate::core::FIRST_OFFSET;
use crate::heap::{PAGE_BYTES, PageDescriptor};

/// Offset of the static shared data.
pub const STATICS_OFFSET: u64 = FIRST_OFFSET;
const _: () = assert!(STATICS_OFFSET == PAGE_BYTES, "the descriptors are of whole pages");

/// Bytes between the heap and the control area.
const HEAP_GAP_BYTES: u64 = 64 << 10;

/// Offsets of the parts of a segment, all multiples of the page size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// End of the static shared data, start of the heap.
    pub heap_lo: u64,
    /// End of the heap.
    pub heap_hi: u64,
    /// Start of the [`Control`] area.
    pub control: u64,
    /// Bytes of the segment.
    pub total: u64,
}

impl Layout {
    /// The layout for `statics` bytes of static data (from [`STATICS_OFFSET`] on) and `heap` bytes of heap,
    /// or `None` if that exceeds `limit` bytes.
    pub fn new(statics: u64, heap: u64, limit: u64) -> Option<Layout> {
        let heap_lo = STATICS_OFFSET.checked_add(statics)?.checked_next_multiple_of(PAGE_BYTES)?;
        let heap_hi = heap_lo.checked_add(heap.checked_next_multiple_of(PAGE_BYTES)?)?;
        let control = heap_hi.checked_add(HEAP_GAP_BYTES)?;
        let descriptors = (heap_hi / PAGE_BYTES).checked_mul(size_of::<PageDescriptor>() as u64)?;
        let own = (size_of::<Control>() as u64 + descriptors).next_multiple_of(PAGE_BYTES);
        let total = control.checked_add(own)?;
        (total <= limit && heap_hi / PAGE_BYTES < u64::from(u32::MAX)).then_some(Layout {
            heap_lo,
            heap_hi,
            control,
            total,
        })
    }

    /// The layout within `limit` bytes that has the largest heap, of at most `heap` bytes.
    pub fn largest(statics: u64, heap: u64, limit: u64) -> Option<Layout> {
        if let Some(l) = Layout::new(statics, heap, limit) {
            return Some(l);
        }
        let bare = Layout::new(statics, 0, limit)?;
        // A page of heap costs itself and its descriptor.
        let pages = (limit - bare.total) / (PAGE_BYTES + size_of::<PageDescriptor>() as u64);
        let fitting = pages.saturating_sub(1) * PAGE_BYTES;
        Layout::new(statics, fitting.min(heap), limit)
    }

    /// Offset of the descriptor table; it has [`Layout::pages`] entries.
    pub fn table(&self) -> u64 {
        self.control + size_of::<Control>() as u64
    }

    /// Pages with a descriptor.
    pub fn pages(&self) -> usize {
        (self.heap_hi / PAGE_BYTES) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn parts_do_not_overlap(statics in 0..1u64 << 34, heap in 0..1u64 << 35, limit in 0..1u64 << 34) {
            if let Some(l) = Layout::largest(statics, heap, limit) {
                prop_assert!(l.heap_lo >= PAGE_BYTES + statics && l.heap_lo <= l.heap_hi);
                prop_assert!(l.heap_hi < l.control && l.total <= limit);
                let table_end = l.table() + (l.pages() * size_of::<PageDescriptor>()) as u64;
                prop_assert!(table_end <= l.total);
                for part in [l.heap_lo, l.heap_hi, l.control, l.total] {
                    prop_assert_eq!(part % PAGE_BYTES, 0);
                }
                let got = l.heap_hi - l.heap_lo;
                prop_assert!(got >= heap || limit - l.total < 4 * PAGE_BYTES, "{} of {}", got, heap);
            } else {
                prop_assert!(Layout::new(statics, 0, limit).is_none());
            }
        }
    }
}
