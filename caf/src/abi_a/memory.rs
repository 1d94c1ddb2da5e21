//! Memory that compiled code registers.
#![expect(unsafe_code, reason = "called by compiled code, by name")]

use super::{image, report};
use crate::coarray::CoarrayKind;
use crate::descriptor::Descriptor;
use crate::memory::Request;
use crate::stat::{Failure, code};
use std::ffi::{c_char, c_int};
use std::sync::atomic::Ordering::Relaxed;

/// Registers `n` bytes of coarray or component memory, or `n` locks or events; `kind` says what for.
///
/// # Collective
/// Coarrays: over the current team.
///
/// # Safety
/// `token` is a token's variable, `descriptor` a descriptor; `stat` is null or a variable; `message` is null
/// or has `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _gfortran_caf_register(
    n: usize,
    kind: c_int,
    token: *mut *mut u8,
    descriptor: *mut u8,
    stat: *mut c_int,
    message: *mut c_char,
    len: usize,
) {
    // SAFETY: owed by the caller.
    let (report, descriptor) = unsafe { (report(stat, message, len), Descriptor::at(descriptor)) };
    let image = image();
    let request = match kind {
        0 => Ok(Request::Coarray(CoarrayKind::Static, n as u64)),
        1 => Ok(Request::Coarray(CoarrayKind::Allocated, n as u64)),
        2 | 3 => Ok(Request::Coarray(CoarrayKind::Locks, n as u64)),
        4 => Ok(Request::Coarray(CoarrayKind::Critical, n as u64)),
        5 | 6 => Ok(Request::Coarray(CoarrayKind::Events, n as u64)),
        7 => Ok(Request::Component),
        8 => Ok(Request::Block(n)),
        9 => Ok(Request::Alias),
        kind => {
            Err(Failure::other(format!("the compiler registers memory of kind {kind}, which is not known")))
        }
    };
    // SAFETY: owed by the caller.
    let result = request.and_then(|request| unsafe { image.register(request, token, descriptor) });
    if matches!(&result, Err(failure) if failure.code == code::STOPPED_IMAGE) {
        image.peers.told.store(report.stat.is_some(), Relaxed);
    }
    report.finish(image, result);
}

/// Deregisters the memory of a token: a coarray (`kind` 0), or that of a component, which may stay (1).
///
/// # Collective
/// Coarrays: over the current team.
///
/// # Safety
/// As of `_gfortran_caf_register`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _gfortran_caf_deregister(
    token: *mut *mut u8,
    kind: c_int,
    stat: *mut c_int,
    message: *mut c_char,
    len: usize,
) {
    // SAFETY: owed by the caller.
    let report = unsafe { report(stat, message, len) };
    let image = image();
    // SAFETY: owed by the caller.
    report.finish(image, unsafe { image.deregister(token, kind == 1) });
}
