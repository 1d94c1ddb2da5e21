//! Atomic subroutines.
#![expect(unsafe_code, reason = "called by compiled code, by name")]

use super::{finish, image};
use crate::atomics::{Atom, function};
use crate::memory::coarray as known;
use crate::stat::Failure;
use gasnet::atomics::Function;
use std::ffi::c_int;

/// Where an atomic variable is, as compiled code says it.
type Variable = (*mut u8, usize, c_int);

/// Operates on a variable; returns its old value if that succeeds.
///
/// # Safety
/// 1. The token is one of this library, `stat` is null or a variable (owed by the caller).
unsafe fn operate(
    (token, offset, on): Variable,
    function: Result<Function, Failure>,
    operands: [u32; 2],
    stat: *mut c_int,
    kind: (c_int, c_int),
) -> Option<u32> {
    let image = image();
    // SAFETY: (1).
    let result = unsafe { known(token) }.and_then(|coarray| {
        image.operate(Atom { coarray, offset, image: on, kind }, function?, operands[0], operands[1])
    });
    let old = result.as_ref().ok().copied();
    // SAFETY: (1).
    unsafe { finish(image, on, result.map(|_| ()), stat) };
    old
}

/// `atomic_define`.
///
/// # Safety
/// `token` is one of this library; `value` is a variable of this kind; `stat` is null or a variable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _gfortran_caf_atomic_define(
    token: *mut u8,
    offset: usize,
    on: c_int,
    value: *const u32,
    stat: *mut c_int,
    class: c_int,
    kind: c_int,
) {
    // SAFETY: owed by the caller.
    unsafe { operate((token, offset, on), Ok(Function::Set), [value.read(), 0], stat, (class, kind)) };
}

/// `atomic_ref`.
///
/// # Safety
/// As of `_gfortran_caf_atomic_define`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _gfortran_caf_atomic_ref(
    token: *mut u8,
    offset: usize,
    on: c_int,
    value: *mut u32,
    stat: *mut c_int,
    class: c_int,
    kind: c_int,
) {
    // SAFETY: owed by the caller.
    unsafe {
        let found = operate((token, offset, on), Ok(Function::Get), [0; 2], stat, (class, kind));
        found.into_iter().for_each(|found| value.write(found));
    }
}

/// `atomic_cas`.
///
/// # Safety
/// `old`, `compare` and `new` are variables of this kind; else as of `_gfortran_caf_atomic_define`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _gfortran_caf_atomic_cas(
    token: *mut u8,
    offset: usize,
    on: c_int,
    old: *mut u32,
    compare: *const u32,
    new: *const u32,
    stat: *mut c_int,
    class: c_int,
    kind: c_int,
) {
    // SAFETY: owed by the caller.
    unsafe {
        let operands = [compare.read(), new.read()];
        let found = operate((token, offset, on), Ok(Function::CompareSwap), operands, stat, (class, kind));
        found.into_iter().for_each(|found| old.write(found));
    }
}

/// `atomic_add` and similar subroutines, and with `old` their forms that return the old value.
///
/// # Safety
/// `value` is a variable of this kind, `old` one or null; else as of `_gfortran_caf_atomic_define`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _gfortran_caf_atomic_op(
    operation: c_int,
    token: *mut u8,
    offset: usize,
    on: c_int,
    value: *const u32,
    old: *mut u32,
    stat: *mut c_int,
    class: c_int,
    kind: c_int,
) {
    let function = function(operation).ok_or_else(|| {
        Failure::other(format!("the compiler asks for the atomic operation {operation}, which is not known"))
    });
    // SAFETY: owed by the caller.
    unsafe {
        let found = operate((token, offset, on), function, [value.read(), 0], stat, (class, kind));
        found.filter(|_| !old.is_null()).into_iter().for_each(|found| old.write(found));
    }
}
