//! Memory of components, in the segment of their image: near images then read and write it by loads and
//! stores.
//!
//! Compiled code frees and reallocates components by itself, with `free` and `realloc` of C. So this library
//! defines both: memory of a segment comes back here, all other goes on to the C library, or to whatever
//! allocator the program has. The rest of this library calls `libc::free` like everybody. Where the program's
//! `free` is another one (a static program, a sanitizer, an allocator that is loaded first) components are
//! memory of `malloc`, as before; near images then have the system copy it. docs/decisions/0019 has the
//! reasons.
#![expect(unsafe_code, reason = "defines functions of C, and calls the next ones of these names")]

use crate::heap::room_of_block;
use crate::image::{Image, current, lock};
use std::ffi::{CStr, c_void};
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::*};

/// Where the segment is while blocks come from it; else no bytes.
static START: AtomicUsize = AtomicUsize::new(0);
static BYTES: AtomicUsize = AtomicUsize::new(0);

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
    let old = lock(&image.blocks).bytes(place);
    if bytes > 0 && room_of_block(bytes) == Some(old) {
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
