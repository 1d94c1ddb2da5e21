//! `random_init`.
#![expect(unsafe_code, reason = "called by compiled code, by name; calls its library")]

use super::image;
use crate::descriptor::{Dimension, Raw};
use std::ffi::{c_int, c_void};

// Of the compiler's library. A program without random numbers may have no such function.
#[cfg(target_arch = "x86_64")]
core::arch::global_asm!(".weak _gfortran_random_seed_i4");

unsafe extern "C" {
    fn _gfortran_random_seed_i4(size: *mut c_int, put: *mut c_void, get: *mut c_void);
}

/// A descriptor with one dimension.
#[repr(C)]
struct Vector(Raw, Dimension);

/// `call random_init(repeatable, image_distinct)`.
#[unsafe(no_mangle)]
pub extern "C" fn _gfortran_caf_random_init(repeatable: bool, image_distinct: bool) {
    let mut n = 0;
    // SAFETY: a variable, and absent arguments.
    unsafe { _gfortran_random_seed_i4(&raw mut n, std::ptr::null_mut(), std::ptr::null_mut()) };
    let mut seed = image().seed(repeatable, image_distinct, n as usize);
    let head = Raw {
        base: seed.as_mut_ptr().cast(),
        offset: usize::MAX,
        elem_len: 4,
        version: 0,
        rank: 1,
        class: 1,
        attribute: 0,
        span: 4,
    };
    let mut put = Vector(head, Dimension { stride: 1, lower: 1, upper: n as isize });
    // SAFETY: an array of as many elements as the library asks for.
    unsafe {
        _gfortran_random_seed_i4(std::ptr::null_mut(), (&raw mut put).cast(), std::ptr::null_mut());
    }
}
