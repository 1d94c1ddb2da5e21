//! Reads and writes of coarrays of other images.
//!
//! What is mapped here is *near*: loads and stores. Everything else is *far*, and goes as one transfer of the
//! core.
#![expect(unsafe_code, reason = "copies between variables of compiled code and segments")]

use crate::descriptor::Descriptor;
use crate::image::Image;
use crate::memory::Location;
use crate::stat::Failure;
use gasnet::bytes;
use std::sync::atomic::Ordering::Relaxed;

/// Reads of mapped memory between two polls: a program may wait for a value that only a handler sets.
const LOOKS_PER_POLL: u32 = 256;

impl Image {
    /// Reads `len` contiguous bytes.
    ///
    /// # Safety
    /// 1. `to` is valid for writes of `len` bytes. 2. They lie in one coarray of that image (both owed by the
    ///    caller).
    #[inline]
    pub unsafe fn read_bytes(&self, to: *mut u8, from: Location, len: usize) {
        if from.mapped.is_null() {
            // SAFETY: (1), (2).
            return unsafe { self.rank.get(to, from.rank, from.offset, len) };
        }
        // SAFETY: (1), (2).
        unsafe { bytes::load(to, from.mapped, len) };
        self.looked();
    }

    /// Writes `len` contiguous bytes.
    ///
    /// # Safety
    /// 1. `from` is valid for `len` bytes. 2. As for [`Image::read_bytes`].
    #[inline]
    pub unsafe fn write_bytes(&self, to: Location, from: *const u8, len: usize) {
        if to.mapped.is_null() {
            // SAFETY: (1), (2).
            return unsafe { self.rank.put(to.rank, to.offset, from, len) };
        }
        // SAFETY: (1), (2).
        unsafe { bytes::store(to.mapped, from, len) };
    }

    /// Notes a read of mapped memory.
    #[inline]
    fn looked(&self) {
        let looks = self.looks.load(Relaxed).wrapping_add(1);
        self.looks.store(looks, Relaxed);
        if looks.is_multiple_of(LOOKS_PER_POLL) {
            self.poll();
        }
    }

    #[cold]
    fn poll(&self) {
        self.rank.poll();
    }

    /// `get` of contiguous elements of one type.
    ///
    /// # Errors
    /// Not these.
    pub fn get_contiguous(&self, to: Descriptor, from: Location, len: usize) -> Result<(), Failure> {
        // SAFETY: compiled code vouches for its variables.
        unsafe { self.read_bytes(to.base(), from, len) };
        Ok(())
    }
}
