//! The allocator of shared memory.
//!
//! A *heap* allocates from a range of 4 KiB pages. All its bookkeeping is out of band: one 64-byte
//! [`PageDescriptor`] descriptor for each page and one [`Root`], stored together far above the user's data. A
//! write past the end of an object therefore meets other user data and never the allocator's lists. A page
//! belongs to
//! - a *run*: consecutive pages that are free, or one large object;
//! - a *slab*: one page divided into equal objects of a small *size class*, with one bit for each object.
//!
//! Free runs are in two-level segregated lists ([`runs`]) and coalesce with their free neighbours at once. A
//! slab whose last object is freed becomes a free page again, unless it is the only one of its class with
//! room.
//!
//! Invariants
//! - Everything behind `root` and `pages` changes only while `root.lock` is held. The fields are atomics
//!   because other processes map the same memory; the lock orders them, so accesses are relaxed.
//! - Nothing here blocks except on that lock, and its holder never calls out, so an active-message handler
//!   may take it.
//! - A heap covers the pages `root.lo..root.hi`. It grows by [`Heap::donate`]; runs never merge across the
//!   ends of that range, because another heap may use the same descriptor table beyond them.
//!
//! Offsets are bytes from the start of a segment; page 0 is never part of a heap, so 0 means "none".

mod runs;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};

/// Bytes in a page, the unit of large objects.
pub const PAGE_BYTES: u64 = 4096;

/// Largest object in a slab, in bytes.
const MAX_SLAB_OBJECT_BYTES: u64 = 2048;

/// Sizes of slab objects in bytes; multiples of 16, so every object is 16-byte aligned.
const CLASS_BYTES: [u16; 21] =
    [16, 32, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512, 640, 768, 1024, 1360, 2048];

/// The kinds of page descriptors.
mod kind {
    /// Not the start of a run, slab or object: inside a run, or outside every heap.
    pub const NONE: u32 = 0;
    /// First or last page of a free run.
    pub const FREE: u32 = 1;
    /// First page of a large object.
    pub const LARGE: u32 = 2;
    /// Another page of a large object that is [marked](super::Heap::mark).
    pub const INSIDE: u32 = 3;
    /// A slab; the size class is added to this.
    pub const SLAB: u32 = 16;
}

/// Bookkeeping of one page. All zero means "not used".
#[repr(C, align(64))]
#[derive(Default)]
pub struct PageDescriptor {
    /// Slab: bit set = object in use (or beyond the last object of the page).
    bits: [AtomicU64; 4],
    /// One of [`kind`], for slabs plus the size class.
    kind: AtomicU32,
    /// Pages in the run (first and last page of a free run, first page of a large object, any page of a
    /// marked one).
    len: AtomicU32,
    /// Links in the list of this run or slab, as page numbers; 0 ends the list. Inside a marked object:
    /// `prev` is its first page.
    prev: AtomicU32,
    next: AtomicU32,
    /// Slab: objects in use. Large object: whether it is marked.
    used: AtomicU32,
}

/// The memory of an object in use: at least what was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    /// Offset of its first byte.
    pub start: u64,
    /// Its length.
    pub bytes: u64,
}

impl PageDescriptor {
    /// The block in use with the byte at `off`, if this describes the page of that byte. Of large objects
    /// only the first page tells, unless they are marked.
    pub fn block(&self, off: u64) -> Option<Block> {
        let number = off / PAGE_BYTES;
        let large = |first: u64| {
            let bytes = u64::from(self.len.load(Relaxed)) * PAGE_BYTES;
            Some(Block { start: first * PAGE_BYTES, bytes })
        };
        match self.kind.load(Relaxed) {
            kind::LARGE => large(number),
            kind::INSIDE => large(self.prev.load(Relaxed).into()),
            k if k >= kind::SLAB => {
                let class = (k - kind::SLAB) as usize;
                let size = u32::from(*CLASS_BYTES.get(class)?);
                let index = (off % PAGE_BYTES) as u32 / size;
                let used = self.bits.get(index as usize / 64)?.load(Relaxed) >> (index % 64) & 1 != 0;
                let start = number * PAGE_BYTES + u64::from(index * size);
                (used && index < per_page(class)).then_some(Block { start, bytes: size.into() })
            }
            _ => None,
        }
    }
}

/// Bookkeeping of one heap. All zero is an empty heap that grows upwards.
#[repr(C, align(64))]
#[derive(Default)]
pub struct Root {
    lock: AtomicU32,
    /// Pages of this heap: `lo..hi`.
    lo: AtomicU32,
    hi: AtomicU32,
    /// Non-zero: the heap grows downwards and cuts objects from the high end of a run.
    down: AtomicU32,
    /// Pages in free runs.
    free_pages: AtomicU32,
    /// Slabs with at least one free object, by class.
    partial: [AtomicU32; CLASS_BYTES.len()],
    free: runs::Lists,
}

/// An allocation failed because the heap needs this many more pages.
#[derive(Debug, PartialEq, Eq)]
pub struct NeedPages(pub u32);

/// Why [`Heap::free`] refused.
#[derive(Debug, PartialEq, Eq)]
pub enum FreeError {
    /// The offset lies outside this heap.
    Outside,
    /// Inside the heap, but no allocated object starts there.
    NotAllocated,
    /// Inside the object that starts at this offset.
    Inside(u64),
}

/// A handle on a heap: the mapping of its bookkeeping in this process.
#[derive(Clone, Copy)]
pub struct Heap<'a> {
    root: &'a Root,
    /// Descriptors of all pages of the segment, indexed by page number.
    pages: &'a [PageDescriptor],
}

/// Holds the heap's lock.
struct Guard<'a>(Heap<'a>);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        // ORDER: Release; pairs with the Acquire in `Heap::lock`; publishes the bookkeeping.
        self.0.root.lock.store(0, Release);
    }
}

impl<'a> Heap<'a> {
    /// A heap over existing bookkeeping.
    pub fn new(root: &'a Root, pages: &'a [PageDescriptor]) -> Self {
        Self { root, pages }
    }

    /// Makes an all-zero `root` an empty heap at page `at`, which grows up, or down if `down`.
    /// Only one rank may do so, before any other rank uses the heap.
    pub fn init(&self, at: u32, down: bool) {
        self.root.lo.store(at, Relaxed);
        self.root.hi.store(at, Relaxed);
        self.root.down.store(down.into(), Relaxed);
    }

    /// Adds the pages `from..to`, which must touch this heap's range (or be its first).
    pub fn donate(&self, from: u32, to: u32) {
        if from == to {
            return;
        }
        let g = self.lock();
        let (lo, hi) = g.range();
        debug_assert!(to as usize <= self.pages.len() && (from == hi || to == lo));
        self.root.lo.store(lo.min(from), Relaxed);
        self.root.hi.store(hi.max(to), Relaxed);
        g.free_run(from, to - from);
    }

    /// Allocates `bytes` (at least 1). Returns the offset of the object, 16-byte aligned, or how many more
    /// pages the heap needs (by [`donate`](Self::donate)) before another try.
    pub fn alloc(&self, bytes: u64) -> Result<u64, NeedPages> {
        debug_assert!(bytes > 0);
        let g = self.lock();
        if bytes <= MAX_SLAB_OBJECT_BYTES {
            return g.alloc_small(class_of(bytes));
        }
        let n = pages_for(bytes);
        let first = g.take_run(n).ok_or(NeedPages(n))?;
        let p = g.page(first);
        p.kind.store(kind::LARGE, Relaxed);
        p.len.store(n, Relaxed);
        Ok(u64::from(first) * PAGE_BYTES)
    }

    /// Has every page of the large object that starts at `off` tell that it does, for
    /// [`PageDescriptor::block`]. Only whoever has just allocated it may.
    pub fn mark(&self, off: u64) {
        let first = (off / PAGE_BYTES) as u32;
        let p = &self.pages[first as usize];
        if p.kind.load(Relaxed) != kind::LARGE {
            return;
        }
        p.used.store(1, Relaxed);
        let len = p.len.load(Relaxed);
        for p in &self.pages[first as usize..][1..len as usize] {
            p.len.store(len, Relaxed);
            p.prev.store(first, Relaxed);
            p.kind.store(kind::INSIDE, Relaxed);
        }
    }

    /// Frees the object that starts at `off`.
    pub fn free(&self, off: u64) -> Result<(), FreeError> {
        let g = self.lock();
        let (lo, hi) = g.range();
        let number = u32::try_from(off / PAGE_BYTES).unwrap_or(u32::MAX);
        if number < lo || number >= hi {
            return Err(FreeError::Outside);
        }
        let p = g.page(number);
        match p.kind.load(Relaxed) {
            kind::LARGE if off.is_multiple_of(PAGE_BYTES) => {
                let len = p.len.load(Relaxed);
                let pages = if p.used.swap(0, Relaxed) != 0 { len } else { 1 };
                for p in &self.pages[number as usize..][..pages as usize] {
                    p.kind.store(kind::NONE, Relaxed);
                }
                g.free_run(number, len);
                Ok(())
            }
            kind::INSIDE => Err(FreeError::Inside(u64::from(p.prev.load(Relaxed)) * PAGE_BYTES)),
            kind::LARGE => Err(FreeError::Inside(u64::from(number) * PAGE_BYTES)),
            k if k >= kind::SLAB => g.free_small(number, (k - kind::SLAB) as usize, off % PAGE_BYTES),
            _ => Err(FreeError::NotAllocated),
        }
    }

    /// Whether `off` is in the range that this heap has grown to.
    pub fn covers(&self, off: u64) -> bool {
        let number = off / PAGE_BYTES;
        let (lo, hi) = (self.root.lo.load(Relaxed), self.root.hi.load(Relaxed));
        number >= lo.into() && number < hi.into()
    }

    /// Bytes in whole free pages.
    pub fn free_bytes(&self) -> u64 {
        u64::from(self.root.free_pages.load(Relaxed)) * PAGE_BYTES
    }

    /// Bytes the heap has grown to.
    #[cfg(test)]
    pub fn bytes(&self) -> u64 {
        u64::from(self.root.hi.load(Relaxed) - self.root.lo.load(Relaxed)) * PAGE_BYTES
    }

    fn lock(&self) -> Guard<'a> {
        let mut tries = 0u32;
        // ORDER: Acquire; pairs with the Release in `Guard::drop`; the last holder's changes are seen.
        while self.root.lock.swap(1, Acquire) != 0 {
            while self.root.lock.load(Relaxed) != 0 {
                tries += 1;
                if tries.is_multiple_of(64) {
                    std::thread::yield_now();
                } else {
                    std::hint::spin_loop();
                }
            }
        }
        Guard(*self)
    }
}

impl Guard<'_> {
    fn page(&self, number: u32) -> &PageDescriptor {
        &self.0.pages[number as usize]
    }

    fn range(&self) -> (u32, u32) {
        (self.0.root.lo.load(Relaxed), self.0.root.hi.load(Relaxed))
    }

    fn alloc_small(&self, class: usize) -> Result<u64, NeedPages> {
        let head = &self.0.root.partial[class];
        let mut number = head.load(Relaxed);
        if number == 0 {
            number = self.take_run(1).ok_or(NeedPages(1))?;
            self.new_slab(number, class);
        }
        let p = self.page(number);
        let per_page = per_page(class);
        for (w, word) in p.bits.iter().enumerate() {
            let bits = word.load(Relaxed);
            if bits == u64::MAX {
                continue;
            }
            let bit = bits.trailing_ones();
            word.store(bits | 1 << bit, Relaxed);
            let used = p.used.load(Relaxed) + 1;
            p.used.store(used, Relaxed);
            if used == per_page {
                self.unlink(head, number);
            }
            let index = w as u64 * 64 + u64::from(bit);
            return Ok(u64::from(number) * PAGE_BYTES + index * u64::from(CLASS_BYTES[class]));
        }
        unreachable!("a slab in the list of slabs with room is full")
    }

    fn new_slab(&self, number: u32, class: usize) {
        let p = self.page(number);
        let n = per_page(class);
        for (w, word) in p.bits.iter().enumerate() {
            // Bits of objects that do not exist stay set, so that a search never finds them.
            let here = n.saturating_sub(w as u32 * 64).min(64);
            word.store(if here == 64 { 0 } else { u64::MAX << here }, Relaxed);
        }
        p.kind.store(kind::SLAB + class as u32, Relaxed);
        p.used.store(0, Relaxed);
        self.link(&self.0.root.partial[class], number);
    }

    fn free_small(&self, number: u32, class: usize, within: u64) -> Result<(), FreeError> {
        let size = u64::from(CLASS_BYTES[class]);
        let (index, rest) = (within / size, within % size);
        if index >= per_page(class).into() {
            return Err(FreeError::NotAllocated);
        }
        let p = self.page(number);
        let word = &p.bits[(index / 64) as usize];
        let (bits, bit) = (word.load(Relaxed), 1u64 << (index % 64));
        if bits & bit == 0 {
            return Err(FreeError::NotAllocated);
        }
        if rest != 0 {
            return Err(FreeError::Inside(u64::from(number) * PAGE_BYTES + index * size));
        }
        word.store(bits & !bit, Relaxed);
        let used = p.used.load(Relaxed);
        p.used.store(used - 1, Relaxed);
        let head = &self.0.root.partial[class];
        if used == per_page(class) {
            self.link(head, number);
        }
        let alone = head.load(Relaxed) == number && p.next.load(Relaxed) == 0;
        if used == 1 && !alone {
            self.unlink(head, number);
            p.kind.store(kind::NONE, Relaxed);
            self.free_run(number, 1);
        }
        Ok(())
    }

    /// Puts `number` at the front of a list.
    fn link(&self, head: &AtomicU32, number: u32) {
        let next = head.load(Relaxed);
        let p = self.page(number);
        p.prev.store(0, Relaxed);
        p.next.store(next, Relaxed);
        if next != 0 {
            self.page(next).prev.store(number, Relaxed);
        }
        head.store(number, Relaxed);
    }

    fn unlink(&self, head: &AtomicU32, number: u32) {
        let p = self.page(number);
        let (prev, next) = (p.prev.load(Relaxed), p.next.load(Relaxed));
        if prev == 0 {
            head.store(next, Relaxed);
        } else {
            self.page(prev).next.store(next, Relaxed);
        }
        if next != 0 {
            self.page(next).prev.store(prev, Relaxed);
        }
    }
}

/// The length of the block for an object of `bytes`.
pub fn block_bytes(bytes: u64) -> u64 {
    if bytes <= MAX_SLAB_OBJECT_BYTES {
        CLASS_BYTES[class_of(bytes)].into()
    } else {
        u64::from(pages_for(bytes)) * PAGE_BYTES
    }
}

/// Pages for `bytes`; saturates at a number that no heap can satisfy.
fn pages_for(bytes: u64) -> u32 {
    u32::try_from(bytes.div_ceil(PAGE_BYTES)).unwrap_or(u32::MAX)
}

fn class_of(bytes: u64) -> usize {
    CLASS_BYTES.partition_point(|&c| u64::from(c) < bytes)
}

fn per_page(class: usize) -> u32 {
    PAGE_BYTES as u32 / u32::from(CLASS_BYTES[class])
}
