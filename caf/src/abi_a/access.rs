//! Reads and writes of coarrays.
#![expect(unsafe_code, reason = "called by compiled code, by name")]

use super::{image, report};
use crate::descriptor::Descriptor;
use crate::memory::token as known;
use crate::stat::Failure;
use std::ffi::{c_int, c_void};

/// Reads `source` of an image to `to`.
///
/// # Safety
/// All pointers are those of compiled code for this call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _gfortran_caf_get(
    token: *mut u8,
    offset: usize,
    index: c_int,
    source: *mut u8,
    _vectors: *const c_void,
    to: *mut u8,
    _source_kind: c_int,
    _kind: c_int,
    _overlap: bool,
    stat: *mut c_int,
) {
    let image = image();
    // SAFETY: owed by the caller.
    let (report, source, to, token) = unsafe {
        (report(stat, std::ptr::null_mut(), 0), Descriptor::at(source), Descriptor::at(to), known(token))
    };
    let result = token.and_then(|token| image.place(token, offset, index)).and_then(|from| {
        match (source.contiguous(), to.contiguous()) {
            (Some(n), Some(m)) if n == m => image.get_contiguous(to, from, n),
            _ => Err(Failure::other("sections of coarrays are not supported yet")),
        }
    });
    report.finish(image, result);
}

/// Writes `source` to `to` of an image.
///
/// # Safety
/// All pointers are those of compiled code for this call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _gfortran_caf_send(
    token: *mut u8,
    offset: usize,
    index: c_int,
    to: *mut u8,
    _vectors: *const c_void,
    source: *mut u8,
    _kind: c_int,
    _source_kind: c_int,
    _overlap: bool,
    stat: *mut c_int,
    _team: *const c_void,
) {
    let image = image();
    // SAFETY: owed by the caller.
    let (report, source, to, token) = unsafe {
        (report(stat, std::ptr::null_mut(), 0), Descriptor::at(source), Descriptor::at(to), known(token))
    };
    let result = token.and_then(|token| image.place(token, offset, index)).and_then(|place| {
        match (source.contiguous(), to.contiguous()) {
            (Some(n), Some(m)) if n == m => {
                // SAFETY: compiled code vouches for its variables.
                unsafe { image.write_bytes(place, source.base(), n) };
                Ok(())
            }
            _ => Err(Failure::other("sections of coarrays are not supported yet")),
        }
    });
    report.finish(image, result);
}
