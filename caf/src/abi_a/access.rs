//! Reads and writes of coarrays.
#![expect(unsafe_code, reason = "called by compiled code, by name")]

use super::{image, report};
use crate::access::{Local, Remote, as_bytes};
use crate::descriptor::{Descriptor, Section, Subscripts};
use crate::image::Image;
use crate::memory::{Location, coarray};
use crate::stat::Failure;
use std::ffi::{c_int, c_void};

/// Where compiled code wants to go: byte `offset` of a coarray on an image of the current team.
///
/// # Safety
/// `token` is null or one of this library (owed by the caller).
#[inline]
unsafe fn locate(image: &Image, token: *mut u8, offset: usize, index: c_int) -> Result<Location, Failure> {
    // SAFETY: owed by the caller.
    unsafe { coarray(token) }.and_then(|coarray| image.locate(coarray, offset, index))
}

/// # Safety
/// `subscripts` is null, or has an entry for each dimension (owed by the caller).
unsafe fn remote(location: Location, of: (Descriptor, c_int), subscripts: *const Subscripts) -> Remote {
    let section = if subscripts.is_null() {
        of.0.section(0)
    } else {
        // SAFETY: owed by the caller.
        unsafe { of.0.section_at(0, subscripts) }
    };
    // The subscripts may begin elsewhere.
    let Section { at, axes } = section;
    let Location { rank, offset, mapped } = location;
    let location = Location {
        rank,
        offset: offset.wrapping_add(at as u64),
        mapped: if mapped.is_null() { mapped } else { mapped.wrapping_add(at) },
    };
    Remote { location, section: Section { at: 0, axes }, element: of.0.element(of.1) }
}

/// Reads `source` of an image to `to`.
///
/// # One-sided
/// # Safety
/// All pointers are those of compiled code for this call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _gfortran_caf_get(
    token: *mut u8,
    offset: usize,
    index: c_int,
    source: *mut u8,
    subscripts: *const Subscripts,
    to: *mut u8,
    source_kind: c_int,
    kind: c_int,
    overlap: bool,
    stat: *mut c_int,
) {
    let image = image();
    // SAFETY: owed by the caller, as all below.
    let (source, to) = unsafe { (Descriptor::at(source), Descriptor::at(to)) };
    // SAFETY: see above.
    let result = unsafe { locate(image, token, offset, index) }.and_then(|location| {
        if subscripts.is_null()
            && let Some(bytes) = as_bytes((to, kind), (source, source_kind))
        {
            // SAFETY: see above.
            unsafe { image.get_bytes(to.base(), location, bytes) };
            return Ok(());
        }
        // SAFETY: see above.
        unsafe {
            image.get_section(
                Local::of(to, kind),
                &remote(location, (source, source_kind), subscripts),
                overlap,
            )
        }
    });
    // SAFETY: see above.
    unsafe { report(stat, std::ptr::null_mut(), 0) }.finish(image, result);
}

/// Writes `source` to `to` of an image, of the team if there is one.
///
/// # One-sided
/// # Safety
/// All pointers are those of compiled code for this call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _gfortran_caf_send(
    token: *mut u8,
    offset: usize,
    index: c_int,
    to: *mut u8,
    subscripts: *const Subscripts,
    source: *mut u8,
    kind: c_int,
    source_kind: c_int,
    overlap: bool,
    stat: *mut c_int,
    team: *const *const c_void,
) {
    let image = image();
    // SAFETY: owed by the caller, as all below.
    let (source, to) = unsafe { (Descriptor::at(source), Descriptor::at(to)) };
    let location = if team.is_null() {
        // SAFETY: see above.
        unsafe { locate(image, token, offset, index) }
    } else {
        // SAFETY: see above; a variable of a team.
        unsafe { coarray(token).and_then(|coarray| image.locate_in(team.read(), coarray, offset, index)) }
    };
    let result = location.and_then(|location| {
        if subscripts.is_null()
            && let Some(bytes) = as_bytes((to, kind), (source, source_kind))
        {
            // SAFETY: see above.
            unsafe { image.put_bytes(location, source.base(), bytes) };
            return Ok(());
        }
        // SAFETY: see above.
        unsafe {
            image.put_section(
                &remote(location, (to, kind), subscripts),
                Local::of(source, source_kind),
                overlap,
            )
        }
    });
    // SAFETY: see above.
    unsafe { report(stat, std::ptr::null_mut(), 0) }.finish(image, result);
}

/// Assigns `source` of an image to `to` of an image.
///
/// # One-sided
/// # Safety
/// All pointers are those of compiled code for this call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _gfortran_caf_sendget(
    token: *mut u8,
    offset: usize,
    index: c_int,
    to: *mut u8,
    subscripts: *const Subscripts,
    source_token: *mut u8,
    source_offset: usize,
    source_index: c_int,
    source: *mut u8,
    source_subscripts: *const Subscripts,
    kind: c_int,
    source_kind: c_int,
    overlap: bool,
    stat: *mut c_int,
) {
    let image = image();
    // SAFETY: owed by the caller, as all below.
    let (source, to) = unsafe { (Descriptor::at(source), Descriptor::at(to)) };
    // SAFETY: see above.
    let result = unsafe {
        locate(image, token, offset, index)
            .and_then(|there| Ok((there, locate(image, source_token, source_offset, source_index)?)))
    };
    let result = result.and_then(|(there, from)| {
        // SAFETY: see above.
        unsafe {
            let to = remote(there, (to, kind), subscripts);
            image.transfer(&to, &remote(from, (source, source_kind), source_subscripts), overlap)
        }
    });
    // SAFETY: see above.
    unsafe { report(stat, std::ptr::null_mut(), 0) }.finish(image, result);
}
