//! The C functions, as gfortran 8 to 14 calls them.
//!
//! Each is a few lines: it turns pointers to types, calls below, and reports. None lets a panic unwind into
//! C: a panic in a function that C calls ends the process.
#![expect(unsafe_code, reason = "called by compiled code, by name")]

mod access;
mod atomics;
mod collect;
mod components;
mod control;
mod memory;
mod operation;
mod random;
mod sync;
mod teams;

pub(crate) use control::quiet;

use crate::collect::in_words;
use crate::image::{self, Image};
use crate::report::Report;
use crate::stat::Failure;
use crate::{accessors, joint, owner, questions};
use std::ffi::{c_char, c_int};

/// The state of this image, which the first call makes.
#[inline]
pub(crate) fn image() -> &'static Image {
    image::current().unwrap_or_else(start)
}

#[cold]
fn start() -> &'static Image {
    let served: [(u8, questions::Serve); 2] =
        [(owner::HANDLER, owner::serve), (accessors::HANDLER, accessors::serve)];
    let image = image::start(|| [questions::handlers(&served), joint::handlers()].concat(), in_words);
    image.begin_blocks();
    control::arm();
    image
}

/// # Safety
/// `stat` is null or a variable; `message` is null or has `len` bytes (owed by the caller).
#[inline]
pub(crate) unsafe fn report<'a>(stat: *mut c_int, message: *mut c_char, len: usize) -> Report<'a> {
    // SAFETY: owed by the caller; characters are bytes.
    unsafe {
        let message = (!message.is_null()).then(|| std::slice::from_raw_parts_mut(message.cast::<u8>(), len));
        Report { stat: stat.as_mut(), message }
    }
}

/// Says that an access to an image of the current team went well; with `stat=`, that the image has failed.
///
/// # Safety
/// `stat` is null or a variable (owed by the caller).
#[inline]
unsafe fn succeed(image: &Image, index: c_int, stat: *mut c_int) {
    // SAFETY: owed by the caller.
    if let Some(stat) = unsafe { stat.as_mut() } {
        *stat = image.check_failed(index).map_or_else(|failure| failure.code, |()| 0);
    }
}

/// Ends an access to an image of the current team: as [`succeed`], or with its failure.
///
/// # Safety
/// As of [`succeed`].
unsafe fn finish(image: &Image, index: c_int, result: Result<(), Failure>, stat: *mut c_int) {
    let failed = || if stat.is_null() { Ok(()) } else { image.check_failed(index) };
    // SAFETY: owed by the caller.
    unsafe { report(stat, std::ptr::null_mut(), 0) }.finish(image, result.and_then(|()| failed()));
}
