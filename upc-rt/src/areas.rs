//! The control areas of the threads, and this thread's part of the heap range.
#![expect(unsafe_code, reason = "overlays the control area, which is made of atomics, on the segment")]

use crate::control::Control;
use crate::heap::PageDescriptor;
use crate::state::Upc;
use gasnet::atomics::Function;
use std::sync::atomic::Ordering::Relaxed;

impl Upc {
    /// Whether every possible check is made.
    pub fn sanitized(&self) -> bool {
        self.checks.load(Relaxed)
    }

    /// The control area and the page descriptors of a near thread.
    pub fn bookkeeping(&self, t: u32) -> (&Control, &[PageDescriptor]) {
        // SAFETY: laid out for these types in every segment; both are made of atomics.
        unsafe {
            let control = &self.core.view::<Control>(t, self.layout.control, 1)[0];
            (control, self.core.view::<PageDescriptor>(t, self.layout.table(), self.layout.pages()))
        }
    }

    /// This thread's part of the heap range: address and bytes.
    pub fn own_heap(&self) -> (*mut u8, usize) {
        let near = self.core.near_segments();
        let offset = u64::from(self.me) * near.stride + self.layout.heap_lo;
        (near.base.wrapping_add(offset as usize), (self.layout.heap_hi - self.layout.heap_lo) as usize)
    }

    /// Writes to the pages of this thread's segment between two offsets, so that they are allocated near it.
    /// To be called before others use them.
    pub fn touch(&self, from: u64, to: u64) {
        let near = self.core.near_segments();
        let start = near.base.wrapping_add((u64::from(self.me) * near.stride) as usize);
        for offset in (from..to).step_by(crate::heap::PAGE_BYTES as usize) {
            // SAFETY: within this thread's own segment, which is mapped; no user code runs yet, and the
            // values stay.
            unsafe {
                let at = start.wrapping_add(offset as usize);
                at.write_volatile(at.read_volatile());
            }
        }
    }

    /// An atomic operation on a word of a thread's control area.
    #[inline]
    pub fn amo(&self, t: u32, field: u64, op: Function, a: u64, b: u64) -> u64 {
        self.core.amo(t, self.layout.control + field, op, a, b)
    }

    /// Stores a word of a thread's control area.
    #[inline]
    pub fn store_word(&self, t: u32, field: u64, value: u64) {
        self.core.store_word(t, self.layout.control + field, value);
    }
}
