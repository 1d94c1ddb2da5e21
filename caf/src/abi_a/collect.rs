//! Collective subroutines.
#![expect(unsafe_code, reason = "called by compiled code, by name; copies between its variables")]

use super::operation::operation;
use super::{image, report};
use crate::collect::{Action, Subject, check_allocated};
use crate::descriptor::{Class, Descriptor, Element, Section};
use crate::image::Image;
use crate::report::Report;
use crate::stat::Failure;
use std::ffi::{c_char, c_int};

/// The description of an argument: `length` is that of a character, or 0.
fn subject(action: Action, argument: Descriptor, result: c_int, length: c_int) -> Subject {
    let class = Class::of(argument.class());
    let bytes = argument.elem_len();
    let kind = match (class, length) {
        (Class::Character, 1..) => (bytes / length as usize) as i32,
        _ => 0,
    };
    let extents = (0..argument.rank()).map(|i| argument.dimension(i).extent()).collect();
    Subject { action, element: Element { class, kind, bytes }, extents, result }
}

/// Calls `f` with the elements of an argument, one after the other. The result of `f` tells whether it has
/// changed them.
///
/// # Safety
/// 1. The descriptor is that of a variable that may be read and written (owed by the caller).
unsafe fn with_elements(
    argument: Descriptor,
    subject: &Subject,
    f: impl FnOnce(&mut [u8]) -> Result<bool, Failure>,
) -> Result<(), Failure> {
    let len = check_allocated(subject, argument.base().is_null())?;
    if len == 0 {
        return f(&mut []).map(|_| ());
    }
    let spanless = matches!(subject.action, Action::Broadcast(_)) && argument.lacks_span();
    if spanless || argument.contiguous().is_some() {
        // SAFETY: (1).
        return f(unsafe { std::slice::from_raw_parts_mut(argument.base(), len) }).map(|_| ());
    }
    let bytes = subject.element.bytes;
    let base = argument.base();
    let mut places = Vec::with_capacity(len / bytes.max(1));
    each_place(&argument.section(0), |place| places.push(base.wrapping_offset(place)));
    let mut packed = vec![0u8; len];
    for (part, place) in packed.chunks_mut(bytes).zip(&places) {
        // SAFETY: (1); an element.
        unsafe { place.copy_to_nonoverlapping(part.as_mut_ptr(), bytes) };
    }
    if f(&mut packed)? {
        for (part, place) in packed.chunks(bytes).zip(&places) {
            // SAFETY: (1); an element.
            unsafe { place.copy_from_nonoverlapping(part.as_ptr(), bytes) };
        }
    }
    Ok(())
}

/// Calls `f` with the place of each element, in bytes from the first.
fn each_place(section: &Section, mut f: impl FnMut(isize)) {
    let mut at = vec![0usize; section.axes.len()];
    for _ in 0..section.count() {
        f(section.axes.iter().zip(&at).map(|(axis, i)| axis.place(*i)).sum());
        for (axis, i) in section.axes.iter().zip(&mut at) {
            *i += 1;
            if *i < axis.count() {
                break;
            }
            *i = 0;
        }
    }
}

/// `co_broadcast` from image `source`.
///
/// # Collective
/// Over the current team.
///
/// # Safety
/// `argument` is a descriptor; `stat` is null or a variable; `message` is null or has `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _gfortran_caf_co_broadcast(
    argument: *mut u8,
    source: c_int,
    stat: *mut c_int,
    message: *mut c_char,
    len: usize,
) {
    // SAFETY: owed by the caller.
    let (report, argument) = unsafe { (report(stat, message, len), Descriptor::at(argument)) };
    let subject = subject(Action::Broadcast(source), argument, 0, 0);
    let image = image();
    // SAFETY: owed by the caller.
    let result = unsafe {
        with_elements(argument, &subject, |bytes| image.co_broadcast(&subject, source, bytes).map(|()| true))
    };
    finish(report, image, result);
}

/// An argument that is not allocated ends the job: the others wait for this image.
fn finish(report: Report<'_>, image: &Image, result: Result<(), Failure>) {
    report.finish(image, result);
}

/// # Safety
/// As of `_gfortran_caf_co_sum`.
unsafe fn combine(action: Action, argument: *mut u8, result: c_int, report: Report<'_>, length: c_int) {
    // SAFETY: owed by the caller.
    let argument = unsafe { Descriptor::at(argument) };
    let subject = subject(action, argument, result, length);
    let image = image();
    // SAFETY: owed by the caller.
    let done = unsafe { with_elements(argument, &subject, |bytes| image.co_reduce(&subject, None, bytes)) };
    finish(report, image, done);
}

/// `co_sum`; the result comes to image `result`, or to all if that is 0.
///
/// # Collective
/// Over the current team.
///
/// # Safety
/// As of `_gfortran_caf_co_broadcast`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _gfortran_caf_co_sum(
    argument: *mut u8,
    result: c_int,
    stat: *mut c_int,
    message: *mut c_char,
    len: usize,
) {
    // SAFETY: owed by the caller.
    unsafe { combine(Action::Sum, argument, result, report(stat, message, len), 0) };
}

/// `co_min`; `length` is that of characters.
///
/// # Collective
/// Over the current team.
///
/// # Safety
/// As of `_gfortran_caf_co_broadcast`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _gfortran_caf_co_min(
    argument: *mut u8,
    result: c_int,
    stat: *mut c_int,
    message: *mut c_char,
    length: c_int,
    len: usize,
) {
    // SAFETY: owed by the caller.
    unsafe { combine(Action::Min, argument, result, report(stat, message, len), length) };
}

/// `co_max`; `length` is that of characters.
///
/// # Collective
/// Over the current team.
///
/// # Safety
/// As of `_gfortran_caf_co_broadcast`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _gfortran_caf_co_max(
    argument: *mut u8,
    result: c_int,
    stat: *mut c_int,
    message: *mut c_char,
    length: c_int,
    len: usize,
) {
    // SAFETY: owed by the caller.
    unsafe { combine(Action::Max, argument, result, report(stat, message, len), length) };
}

/// `co_reduce` with a function of two elements; `flags` say how it is called.
///
/// # Collective
/// Over the current team.
///
/// # Safety
/// `function` is one for elements of this type; else as of `_gfortran_caf_co_broadcast`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _gfortran_caf_co_reduce(
    argument: *mut u8,
    function: *const u8,
    flags: c_int,
    result: c_int,
    stat: *mut c_int,
    message: *mut c_char,
    length: c_int,
    len: usize,
) {
    // SAFETY: owed by the caller.
    let (report, argument) = unsafe { (report(stat, message, len), Descriptor::at(argument)) };
    let subject = subject(Action::Reduce, argument, result, length);
    let image = image();
    // SAFETY: owed by the caller, until the operation is over.
    let done = unsafe {
        operation(image, function, flags, subject.element, length.max(0) as usize).and_then(|function| {
            with_elements(argument, &subject, |bytes| image.co_reduce(&subject, Some(function), bytes))
        })
    };
    finish(report, image, done);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::descriptor::Axis;

    #[test]
    fn places_are_in_the_order_of_fortran() {
        let axes = vec![Axis::Regular { count: 2, step: 16 }, Axis::Regular { count: 3, step: -100 }];
        let mut places = Vec::new();
        each_place(&Section { at: 0, axes }, |place| places.push(place));
        assert_eq!(places, [0, 16, -100, -84, -200, -184]);
        let mut places = Vec::new();
        each_place(&Section::scalar(0), |place| places.push(place));
        assert_eq!(places, [0]);
    }
}
