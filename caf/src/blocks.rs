//! Memory of components, in the segment of their image: near images then read and write it by loads and stores.
//!
//! Compiled code frees and reallocates components by itself, with `free` and `realloc` of C. So this library
//! defines both: memory of a segment comes back here, all other goes on to the C library, or to whatever
//! allocator the program has. The rest of this library calls `libc::free` like everybody. Where the program's `free` is another one (a static program, a sanitizer, an
//! allocator that is loaded first) components are memory of `malloc`, as before; near images then have the
//! system copy it.
//!
//! Blocks are taken from the end of the heap, coarrays from its start, where all images propose the same place.
//! A small block has a power of two bytes, and stays one when it is freed; the memory of a large one goes back
//! to the heap.
#![expect(unsafe_code, reason = "defines functions of C, and calls the next ones of these names")]

use crate::heap::Heap;
use crate::image::{Image, current, lock};
use std::collections::HashMap;
use std::ffi::{CStr, c_void};
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::*};

/// Bytes of the smallest block.
const LEAST_BYTES: u64 = 64;
/// Bytes of the largest block that stays one.
const MOST_SMALL_BYTES: u64 = 4096;
/// Sizes of small blocks.
const SIZES: usize = (MOST_SMALL_BYTES / LEAST_BYTES).ilog2() as usize + 1;

/// Where the segment is while blocks come from it; else no bytes.
static START: AtomicUsize = AtomicUsize::new(0);
static BYTES: AtomicUsize = AtomicUsize::new(0);

/// The blocks of an image.
#[derive(Debug, Default)]
pub struct Blocks {
    /// Bytes of those in use, by place.
    used: HashMap<u64, u64>,
    /// Places of small ones that are free, by size.
    free: [Vec<u64>; SIZES],
}

/// The bytes of a block that has room for so many, and which size of small blocks that is.
fn room(bytes: usize) -> Option<(u64, Option<usize>)> {
    let bytes = (bytes as u64).max(LEAST_BYTES);
    if bytes <= MOST_SMALL_BYTES {
        let bytes = bytes.next_power_of_two();
        return Some((bytes, Some((bytes / LEAST_BYTES).ilog2() as usize)));
    }
    Some((bytes.checked_next_multiple_of(LEAST_BYTES)?, None))
}

impl Image {
    /// Has components in the segment from now on, if compiled code gives them back to this library.
    pub fn begin_blocks(&self) {
        // SAFETY: a lookup of a name.
        let free = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"free".as_ptr()) };
        let own = self.rank.table().get(self.rank.id());
        if let Some(own) =
            own.filter(|_| !free.is_null() && free.addr() == _gfortran_caf_free as *const () as usize)
        {
            START.store(own.local.expose_provenance(), Relaxed);
            // ORDER: Release; pairs with Acquire in `place`: where it starts is known.
            BYTES.store(own.size, Release);
        }
    }

    /// Memory for a component; null if there is none.
    pub fn new_block(&self, bytes: usize) -> *mut u8 {
        // SAFETY: a plain call.
        self.take_block(bytes).unwrap_or_else(|| unsafe { libc::malloc(bytes.max(1)) }.cast())
    }

    fn take_block(&self, bytes: usize) -> Option<*mut u8> {
        // ORDER: as in `place`.
        if BYTES.load(Acquire) == 0 {
            return None;
        }
        let at = lock(&self.blocks).take(&mut lock(&self.heap), bytes)?;
        Some(std::ptr::with_exposed_provenance_mut(START.load(Relaxed) + at as usize))
    }
}

impl Blocks {
    /// A block with room for so many bytes.
    fn take(&mut self, heap: &mut Heap, bytes: usize) -> Option<u64> {
        let (room, size) = room(bytes)?;
        let kept = size.and_then(|size| self.free[size].pop());
        let at = kept.or_else(|| heap.take_last(room))?;
        self.used.insert(at, room);
        Some(at)
    }

    /// Gives back the block at a place, if there is one.
    fn give(&mut self, heap: &mut Heap, at: u64) -> Option<()> {
        let bytes = self.used.remove(&at)?;
        match room(bytes as usize)?.1 {
            Some(size) => self.free[size].push(at),
            None => heap.give(at, bytes),
        }
        Some(())
    }
}

/// Which place of the segment an address is, if blocks come from there.
#[inline]
fn place(at: *const c_void) -> Option<u64> {
    // ORDER: Acquire; pairs with Release in `begin_blocks`.
    let bytes = BYTES.load(Acquire);
    let place = at.addr().wrapping_sub(START.load(Relaxed));
    (place < bytes).then_some(place as u64)
}

/// What the names that this library defines mean behind it: a function's address, kept once it is known. A
/// program that is static has no other of this name than the C library's.
fn next(kept: &AtomicPtr<c_void>, name: &CStr, only: *const ()) -> *mut c_void {
    // Relaxed: it is a constant; each thread may look it up.
    let mut address = kept.load(Relaxed);
    if address.is_null() {
        // SAFETY: a lookup of a name.
        let found = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
        address = if found.is_null() { only.cast_mut().cast() } else { found };
        kept.store(address, Relaxed);
    }
    address
}

/// `free` of C.
///
/// # Safety
/// Null, or memory of this library or of the C library that nobody uses.
unsafe extern "C" fn free(at: *mut c_void) {
    static NEXT: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
    type Free = unsafe extern "C" fn(*mut c_void);
    if let (Some(place), Some(image)) = (place(at), current()) {
        if lock(&image.blocks).give(&mut lock(&image.heap), place).is_none() {
            image.fatal("free of memory that is no component, or is freed already");
        }
        return;
    }
    let next = next(&NEXT, c"free", libc::free as *const ());
    // SAFETY: the function has this type; owed by the caller.
    unsafe { std::mem::transmute::<*mut c_void, Free>(next)(at) }
}

/// `realloc` of C.
///
/// # Safety
/// As of [`free`].
unsafe extern "C" fn realloc(at: *mut c_void, bytes: usize) -> *mut c_void {
    static NEXT: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
    type Realloc = unsafe extern "C" fn(*mut c_void, usize) -> *mut c_void;
    let (Some(place), Some(image)) = (place(at), current()) else {
        let next = next(&NEXT, c"realloc", libc::realloc as *const ());
        // SAFETY: the function has this type; owed by the caller.
        return unsafe { std::mem::transmute::<*mut c_void, Realloc>(next)(at, bytes) };
    };
    let old = lock(&image.blocks).used.get(&place).copied().unwrap_or(0);
    if bytes > 0 && room(bytes).is_some_and(|(room, _)| room == old) {
        return at;
    }
    let to = if bytes == 0 { std::ptr::null_mut() } else { image.new_block(bytes).cast::<c_void>() };
    if bytes > 0 && to.is_null() {
        return to;
    }
    // SAFETY: both have so many bytes; owed by the caller.
    unsafe {
        if !to.is_null() {
            to.copy_from_nonoverlapping(at, bytes.min(old as usize));
        }
        free(at);
    }
    to
}

unsafe extern "C" {
    /// The same place as this library's `free`.
    fn _gfortran_caf_free(at: *mut c_void);
}

// Weak: a static program has those of the C library.
#[cfg(target_arch = "x86_64")]
macro_rules! jump {
    () => {
        "jmp"
    };
}
#[cfg(target_arch = "aarch64")]
macro_rules! jump {
    () => {
        "b"
    };
}
std::arch::global_asm!(
    ".globl _gfortran_caf_free",
    ".type _gfortran_caf_free, %function",
    "_gfortran_caf_free:",
    ".weak free",
    ".type free, %function",
    "free:",
    concat!(jump!(), " {free}"),
    ".weak realloc",
    ".type realloc, %function",
    "realloc:",
    concat!(jump!(), " {realloc}"),
    free = sym free,
    realloc = sym realloc,
);

#[cfg(test)]
mod tests {
    use super::*;

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
