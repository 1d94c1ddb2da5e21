//! Reads and writes through references.
#![expect(unsafe_code, reason = "called by compiled code, by name")]

use super::{finish, image, report, succeed};
use crate::assign::Local;
use crate::components::{Destination, Path};
use crate::descriptor::{Class, Descriptor};
use crate::memory::coarray;
use crate::stat::Failure;
use crate::walk::{Reference, Step};
use std::ffi::c_int;

/// # Safety
/// `token` is null or one of this library; `references` is a list of compiled code (owed by the caller).
#[inline]
unsafe fn path<'a>(
    token: *mut u8,
    image: c_int,
    references: *const Step,
    (class, kind): (c_int, c_int),
) -> Result<Path<'a>, Failure> {
    // SAFETY: owed by the caller.
    unsafe {
        let coarray = coarray(token)?;
        let steps = Reference::of(references, || coarray.shape())?;
        Ok(Path { coarray, image, steps, class: Class::of(class), kind })
    }
}

/// Reads what `references` lead to on an image.
///
/// # One-sided
/// # Safety
/// All pointers are those of compiled code for this call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _gfortran_caf_get_by_ref(
    token: *mut u8,
    index: c_int,
    to: *mut u8,
    references: *const Step,
    kind: c_int,
    source_kind: c_int,
    overlap: bool,
    reallocatable: bool,
    stat: *mut c_int,
    class: c_int,
) {
    let image = image();
    // SAFETY: owed by the caller, as all below.
    unsafe {
        let to = Descriptor::at(to);
        let path = path(token, index, references, (class, source_kind));
        if let Ok(path) = &path
            && let Some(from) = image.near_element(path, to, kind)
        {
            image.load_mapped(to.base(), from, to.elem_len());
            return succeed(image, index, stat);
        }
        let to = Destination { descriptor: to, kind, reallocatable };
        let result = path.and_then(|path| image.get_by_path(to, path, overlap));
        finish(image, index, result, stat);
    }
}

/// Writes `source` to the object that `references` lead to on an image. An allocated object is not
/// allocated anew: it has to have the same shape.
///
/// # One-sided
/// # Safety
/// All pointers are those of compiled code for this call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _gfortran_caf_send_by_ref(
    token: *mut u8,
    index: c_int,
    source: *mut u8,
    references: *const Step,
    kind: c_int,
    source_kind: c_int,
    overlap: bool,
    _reallocatable: bool,
    stat: *mut c_int,
    class: c_int,
) {
    let image = image();
    // SAFETY: owed by the caller, as all below.
    unsafe {
        let from = Descriptor::at(source);
        let path = path(token, index, references, (class, kind));
        if let Ok(path) = &path
            && let Some(to) = image.near_element(path, from, source_kind)
        {
            gasnet_wire::bytes::store(to, from.base(), from.elem_len());
            return succeed(image, index, stat);
        }
        let result = path.and_then(|path| image.put_by_path(path, Local::of(from, source_kind), overlap));
        finish(image, index, result, stat);
    }
}

/// Assigns what references lead to on an image to what others lead to on an image.
///
/// # One-sided
/// # Safety
/// All pointers are those of compiled code for this call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _gfortran_caf_sendget_by_ref(
    token: *mut u8,
    index: c_int,
    references: *const Step,
    source_token: *mut u8,
    source_index: c_int,
    source_references: *const Step,
    kind: c_int,
    source_kind: c_int,
    _overlap: bool,
    stat: *mut c_int,
    source_stat: *mut c_int,
    class: c_int,
    source_class: c_int,
) {
    let image = image();
    // SAFETY: owed by the caller, as all below.
    let paths = unsafe {
        path(token, index, references, (class, kind)).and_then(|to| {
            Ok((to, path(source_token, source_index, source_references, (source_class, source_kind))?))
        })
    };
    let result = paths.and_then(|(to, from)| image.transfer_by_path(to, from));
    // SAFETY: see above.
    unsafe {
        if let Some(stat) = source_stat.as_mut() {
            *stat = 0;
        }
        report(stat, std::ptr::null_mut(), 0).finish(image, result);
    }
}

/// Whether what `references` lead to on an image is allocated or associated.
///
/// # One-sided
/// # Safety
/// All pointers are those of compiled code for this call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _gfortran_caf_is_present(
    token: *mut u8,
    index: c_int,
    references: *const Step,
) -> c_int {
    let image = image();
    // The type does not matter.
    // SAFETY: owed by the caller.
    let result = unsafe { path(token, index, references, (0, 0)) }.and_then(|path| image.is_present(path));
    match result {
        Ok(present) => present.into(),
        Err(failure) => image.fail(&failure),
    }
}
