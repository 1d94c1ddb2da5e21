//! The allocator of this program. The memory for one input is handed out from a row of bytes, and the next
//! input reuses the row from its beginning.
//!
//! Each thread has a row of its own, and counts the objects in it; the row is reused only when the count is
//! zero. An object that lives longer than its input thus costs memory and nothing else. When the row is
//! full, memory comes from the system's allocator.
#![expect(unsafe_code, reason = "an allocator deals in raw memory")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// Bytes of a row.
const ROW: usize = 32 << 20;

/// See the module.
pub struct Arena;

/// A thread's row.
#[derive(Clone, Copy)]
struct Row {
    /// 0: there is none yet.
    base: usize,
    used: usize,
    live: usize,
    /// New objects go here.
    open: bool,
}

thread_local! {
    static HERE: Cell<Row> = const { Cell::new(Row { base: 0, used: 0, live: 0, open: false }) };
}

/// Runs `f` with its objects in this thread's row. They may be freed later, but by this thread only.
pub fn within<R>(f: impl FnOnce() -> R) -> R {
    let mut row = HERE.get();
    if row.base == 0 {
        // SAFETY: the layout has a size.
        row.base = unsafe { System.alloc(Layout::new::<[u128; ROW / 16]>()) } as usize;
    }
    if row.live == 0 {
        row.used = 0;
    }
    row.open = row.base != 0;
    HERE.set(row);
    let result = f();
    HERE.set(Row { open: false, ..HERE.get() });
    result
}

impl Row {
    fn owns(&self, at: *mut u8) -> bool {
        (at as usize).wrapping_sub(self.base) < ROW && self.base != 0
    }
}

// SAFETY: the pieces of a row do not overlap while one of them is alive, since `used` goes back to 0 only
// when none is; everything else is the system's.
unsafe impl GlobalAlloc for Arena {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let row = HERE.get();
        let start = row.used.next_multiple_of(layout.align());
        if row.open && layout.align() <= 16 && layout.size() <= ROW - start.min(ROW) {
            HERE.set(Row { used: start + layout.size(), live: row.live + 1, ..row });
            return (row.base + start) as *mut u8;
        }
        // SAFETY: the caller's promises are those of the system's allocator.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        let row = HERE.get();
        if row.owns(at) {
            // The last piece can be used again at once.
            let start = at as usize - row.base;
            let used = if start + layout.size() == row.used { start } else { row.used };
            return HERE.set(Row { used, live: row.live - 1, ..row });
        }
        // SAFETY: not ours, so the system's.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let row = HERE.get();
        if !row.owns(at) {
            // SAFETY: not ours, so the system's.
            return unsafe { System.realloc(at, layout, size) };
        }
        let start = at as usize - row.base;
        if start + layout.size() == row.used && size <= ROW - start {
            HERE.set(Row { used: start + size, ..row });
            return at;
        }
        // SAFETY: the new piece has another place and room for what is copied; the old one is given back
        // once.
        unsafe {
            let new = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
            if !new.is_null() {
                std::ptr::copy_nonoverlapping(at, new, layout.size().min(size));
                self.dealloc(at, layout);
            }
            new
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_begins_anew_when_nothing_of_it_lives() {
        let place = |keep: &mut Vec<Vec<u8>>| {
            within(|| {
                let (mut v, w) = (vec![1u8; 100], vec![2u8; 10]);
                v.extend_from_slice(&[3; 1000]);
                assert!(v[..100] == [1; 100] && v[100..] == [3; 1000] && w == [2; 10]);
                let at = v.as_ptr() as usize;
                if keep.is_empty() {
                    keep.push(v);
                }
                at
            })
        };
        let mut keep = vec![vec![0]];
        let first = place(&mut keep);
        assert_eq!(place(&mut keep), first);
        keep.clear();
        keep.reserve(1);
        let kept = place(&mut keep);
        assert_ne!(place(&mut keep), kept);
        assert!(keep[0][..100] == [1; 100]);
        keep.clear();
        assert_eq!(place(&mut vec![vec![0]]), first);
    }
}
