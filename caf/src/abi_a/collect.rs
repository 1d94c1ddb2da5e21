//! Collective subroutines.
#![expect(unsafe_code, reason = "called by compiled code, by name; copies between its variables")]

use super::operation::operation;
use super::{image, report};
use crate::assign::HeldElements;
use crate::assign::{Local, Way, assign};
use crate::collect::{Action, Subject, check_allocated};
use crate::descriptor::{Class, Descriptor, Element};
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
    Subject { action, element: Element { class, kind, bytes }, extents: argument.extents(), result }
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
    let own =
        Local { section: argument.section(argument.base().expose_provenance()), element: subject.element };
    // SAFETY: (1).
    let copy = unsafe { HeldElements::of(own.clone(), true) }?;
    let packed = std::ptr::with_exposed_provenance_mut(copy.local.section.at);
    // SAFETY: the copy has so many bytes.
    if f(unsafe { std::slice::from_raw_parts_mut(packed, len) })? {
        // SAFETY: (1).
        unsafe { assign(own, copy.local.clone(), Way::Store) }?;
    }
    Ok(())
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
    report.finish(image, done);
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
    report.finish(image, done);
}
