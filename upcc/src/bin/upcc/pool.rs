//! The allocator of `upcc`: a syntax tree is a million small pieces that come and go.
//!
//! Pieces of up to [`LARGEST`] bytes are cut from chunks and kept in a list for each size when they are given
//! back, by thread. A piece that another thread gives back goes to that thread's list. Chunks are never
//! returned: the process ends soon. Larger memory, and more strictly aligned, is the system's affair.
#![expect(unsafe_code, reason = "an allocator")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ffi::c_int;
use std::ptr::null_mut;

/// Sizes are multiples of this, which is also the alignment.
const STEP: usize = 16;
/// Largest piece.
const LARGEST: usize = 512;
/// Memory asked of the system at first, and then: huge pages, of which each saves hundreds of page faults.
const FIRST: usize = 256 << 10;
const CHUNK: usize = 2 << 20;
/// `MADV_HUGEPAGE` of Linux.
const HUGE: c_int = 14;

unsafe extern "C" {
    fn madvise(start: *mut u8, bytes: usize, advice: c_int) -> c_int;
}

/// The lists of a thread, and what is left of its chunk.
struct Lists {
    free: [Cell<*mut u8>; LARGEST / STEP],
    next: Cell<*mut u8>,
    left: Cell<usize>,
}

thread_local! {
    static LISTS: Lists = const {
        Lists { free: [const { Cell::new(null_mut()) }; LARGEST / STEP], next: Cell::new(null_mut()), left: Cell::new(0) }
    };
}

/// The allocator.
#[derive(Debug)]
pub struct Pool;

/// The list for pieces of this layout, if they are small.
fn list(layout: Layout) -> Option<usize> {
    let (size, align) = (layout.size(), layout.align());
    (size <= LARGEST && size > 0 && align <= STEP).then(|| (size - 1) / STEP)
}

impl Lists {
    fn take(&self, n: usize) -> *mut u8 {
        let first = self.free[n].get();
        if first.is_null() {
            return self.cut((n + 1) * STEP);
        }
        // SAFETY: a free piece holds the address of the next, written by `give`; it is aligned and large
        // enough.
        self.free[n].set(unsafe { first.cast::<*mut u8>().read() });
        first
    }

    fn give(&self, n: usize, piece: *mut u8) {
        // SAFETY: the piece was made by `take(n)` and nobody uses it any more: `dealloc` has that promise.
        unsafe { piece.cast::<*mut u8>().write(self.free[n].get()) };
        self.free[n].set(piece);
    }

    fn cut(&self, size: usize) -> *mut u8 {
        if self.left.get() < size {
            let huge = !self.next.get().is_null();
            let (bytes, align) = if huge { (CHUNK, CHUNK) } else { (FIRST, STEP) };
            // SAFETY: the size is not zero. The rest of the old chunk is smaller than a piece and is never
            // used again.
            let chunk = unsafe { System.alloc(Layout::from_size_align_unchecked(bytes, align)) };
            if chunk.is_null() {
                return chunk;
            }
            if huge {
                // SAFETY: the memory is ours; this advice does not change it. Without huge pages it is memory
                // as any.
                unsafe { madvise(chunk, bytes, HUGE) };
            }
            self.next.set(chunk);
            self.left.set(bytes);
        }
        let piece = self.next.get();
        self.next.set(piece.wrapping_add(size));
        self.left.set(self.left.get() - size);
        piece
    }
}

// SAFETY: pieces are cut from chunks of the system, do not overlap, are aligned to `STEP`, and are handed out
// again only after `dealloc`. Lists have no destructor, so they can be used until the thread is gone.
unsafe impl GlobalAlloc for Pool {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match list(layout) {
            Some(n) => LISTS.with(|l| l.take(n)),
            // SAFETY: the caller's promises are the system's.
            None => unsafe { System.alloc(layout) },
        }
    }

    #[inline]
    unsafe fn dealloc(&self, piece: *mut u8, layout: Layout) {
        match list(layout) {
            Some(n) => LISTS.with(|l| l.give(n, piece)),
            // SAFETY: as above; it came from there.
            None => unsafe { System.dealloc(piece, layout) },
        }
    }

    unsafe fn realloc(&self, piece: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller promises a size that a layout may have.
        let new = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        match (list(layout), list(new)) {
            (None, None) if layout.size() > 0 && size > 0 => {
                // SAFETY: as in `dealloc`.
                unsafe { System.realloc(piece, layout, size) }
            }
            (Some(a), Some(b)) if a == b => piece,
            _ => {
                // SAFETY: both pieces are valid for the smaller size and do not overlap; the old one is given
                // back once.
                unsafe {
                    let to = self.alloc(new);
                    if !to.is_null() {
                        piece.copy_to_nonoverlapping(to, layout.size().min(size));
                        self.dealloc(piece, layout);
                    }
                    to
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_come_back_and_do_not_overlap() {
        let of = |size| Layout::from_size_align(size, 8).unwrap();
        let mut held: Vec<(*mut u8, usize)> = Vec::new();
        for round in 0..2000usize {
            let size = round * 7919 % 700 + 1;
            // SAFETY: used as an allocator is, by layout and once.
            unsafe {
                let p = Pool.alloc(of(size));
                assert!(!p.is_null() && (p as usize).is_multiple_of(8));
                p.write_bytes(size as u8, size);
                held.push((p, size));
                if round % 3 == 0 {
                    let (p, size) = held.swap_remove(round * 31 % held.len());
                    let grown = Pool.realloc(p, of(size), size + round % 600);
                    for at in [0, size / 2, size - 1] {
                        assert_eq!(grown.add(at).read(), size as u8);
                    }
                    grown.write_bytes((size + round % 600) as u8, size + round % 600);
                    held.push((grown, size + round % 600));
                }
                if round % 2 == 0 {
                    let (p, size) = held.swap_remove(round * 17 % held.len());
                    for at in [0, size / 2, size - 1] {
                        assert_eq!(p.add(at).read(), size as u8, "{size} at {round}");
                    }
                    Pool.dealloc(p, of(size));
                }
            }
        }
        for (p, size) in held {
            // SAFETY: as above.
            unsafe {
                assert_eq!(p.read(), size as u8);
                Pool.dealloc(p, of(size));
            }
        }
    }
}
