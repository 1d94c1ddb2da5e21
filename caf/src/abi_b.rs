//! The C functions that gfortran 15 calls in the place of some of `abi_a`: accesses through accessors.
#![expect(unsafe_code, reason = "called by compiled code, by name")]

use crate::abi_a::{image, report};
use crate::accessors::{AccessOutcome, AccessorCall, Task};
use crate::descriptor::{DIMENSION_BYTES, Descriptor, HEAD_BYTES, MAX_RANK};
use crate::image::Image;
use crate::memory::{Location, coarray, locate};
use crate::stat::Failure;
use std::ffi::{c_int, c_void};

/// Coarrays on an image of a team, as compiled code says it.
#[derive(Clone, Copy)]
struct There {
    token: *mut u8,
    index: c_int,
    team: *const *const c_void,
    team_number: *const c_int,
}

impl There {
    /// # Safety
    /// 1. All pointers are null or those of compiled code for one call (owed by the caller).
    unsafe fn run(
        self,
        image: &Image,
        accessor: c_int,
        access: AccessorCall<'_>,
    ) -> Result<AccessOutcome, Failure> {
        let hash = image.accessor_hash(accessor)?;
        let access = AccessorCall { hash, image: image.level().this_image(), ..access };
        // SAFETY: (1).
        unsafe {
            let coarray = coarray(self.token)?;
            let team = match (self.team.as_ref(), self.team_number.as_ref()) {
                (Some(team), _) => image.level_of(*team)?,
                (None, Some(number)) => image.level_numbered(*number)?,
                (None, None) => image.level(),
            };
            let Location { rank, mapped, .. } = locate(team, coarray, 0, self.index)?;
            image.access(coarray, rank, mapped, &access)
        }
    }
}

/// # Safety
/// `at` is null or has `len` bytes, which do not change (owed by the caller).
unsafe fn bytes<'a>(at: *const u8, len: usize) -> &'a [u8] {
    // SAFETY: owed by the caller.
    if at.is_null() { &[] } else { unsafe { std::slice::from_raw_parts(at, len) } }
}

/// The bytes of a descriptor, or nothing.
///
/// # Safety
/// `at` is null or a descriptor (owed by the caller).
unsafe fn whole<'a>(at: *const u8) -> &'a [u8] {
    // SAFETY: owed by the caller.
    unsafe {
        let rank = if at.is_null() { 0 } else { Descriptor::at(at.cast_mut()).rank() };
        bytes(at, HEAD_BYTES + DIMENSION_BYTES * rank)
    }
}

/// Lengths of characters on both sides: 1 and 0 without.
///
/// # Safety
/// Both are null or variables (owed by the caller).
unsafe fn characters(left: *const usize, right: *const usize) -> [usize; 2] {
    // SAFETY: owed by the caller.
    unsafe { [left.as_ref().map_or(1, |n| *n), right.as_ref().map_or(0, |n| *n)] }
}

/// Elements of a descriptor; one without.
///
/// # Safety
/// As of [`whole`].
unsafe fn count(at: *const u8) -> usize {
    if at.is_null() {
        return 1;
    }
    // SAFETY: owed by the caller.
    unsafe { Descriptor::at(at.cast_mut()) }.extents().iter().product()
}

/// Registers a function for accesses of other images.
#[unsafe(no_mangle)]
pub extern "C" fn _gfortran_caf_register_accessor(hash: c_int, function: *const u8) {
    image().add_accessor(hash, function.expose_provenance());
}

/// All accessors of a part of the program are registered.
#[unsafe(no_mangle)]
pub extern "C" fn _gfortran_caf_register_accessors_finish() {}

/// The number by which accesses name a function on this image.
#[unsafe(no_mangle)]
pub extern "C" fn _gfortran_caf_get_remote_function_index(hash: c_int) -> c_int {
    image().accessor_index(hash)
}

/// Reads elements of an image into `to`, whose descriptor and length change with `reshape`.
///
/// # One-sided
/// # Safety
/// All pointers are those of compiled code for this call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _gfortran_caf_get_from_remote(
    token: *mut u8,
    source: *const u8,
    source_length: *const usize,
    index: c_int,
    size: usize,
    to: *mut *mut u8,
    length: *mut usize,
    descriptor: *mut u8,
    reshape: bool,
    accessor: c_int,
    values: *const u8,
    values_size: usize,
    stat: *mut c_int,
    team: *const *const c_void,
    team_number: *const c_int,
) {
    let image = image();
    // SAFETY: owed by the caller, as all below.
    let (report, there) =
        unsafe { (report(stat, std::ptr::null_mut(), 0), There { token, index, team, team_number }) };
    // SAFETY: see above.
    unsafe {
        let lengths = characters(length, source_length);
        let access = AccessorCall {
            task: Task::Get,
            bytes: size,
            lengths,
            left: whole(descriptor),
            reshape: reshape && !descriptor.is_null(),
            right: whole(source),
            values: bytes(values, values_size),
            ..AccessorCall::default()
        };
        let most = if length.is_null() { size } else { lengths[0] * size * count(descriptor) };
        let result = there.run(image, accessor, access).and_then(|outcome| {
            deliver(&outcome, to, descriptor, reshape, most)?;
            length.as_mut().into_iter().for_each(|length| *length = outcome.length);
            Ok(())
        });
        report.finish(image, result);
    }
}

/// Stores what was read: in new memory with `reshape`, else at most so many bytes.
///
/// # Safety
/// 1. All pointers are those of compiled code for this call (owed by the caller).
unsafe fn deliver(
    outcome: &AccessOutcome,
    to: *mut *mut u8,
    descriptor: *mut u8,
    reshape: bool,
    most: usize,
) -> Result<(), Failure> {
    let data = &outcome.data;
    // SAFETY: (1); memory of compiled code's own allocator.
    unsafe {
        if !reshape {
            (*to).copy_from_nonoverlapping(data.as_ptr(), data.len().min(most));
            return Ok(());
        }
        let old = if descriptor.is_null() { *to } else { Descriptor::at(descriptor).base() };
        let base = libc::realloc(old.cast(), data.len().max(1)).cast::<u8>();
        if base.is_null() {
            return Err(Failure::other(format!("not enough memory for {} bytes", data.len())));
        }
        base.copy_from_nonoverlapping(data.as_ptr(), data.len());
        if !descriptor.is_null() {
            descriptor.copy_from_nonoverlapping(outcome.descriptor.as_ptr(), outcome.descriptor.len());
            Descriptor::at(descriptor).set_base(base);
        }
        if let Some(to) = to.as_mut() {
            *to = base;
        }
    }
    Ok(())
}

/// Writes elements of this image to those of another one.
///
/// # One-sided
/// # Safety
/// All pointers are those of compiled code for this call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _gfortran_caf_send_to_remote(
    token: *mut u8,
    descriptor: *const u8,
    length: *const usize,
    index: c_int,
    size: usize,
    data: *const u8,
    source_length: *const usize,
    source: *const u8,
    accessor: c_int,
    values: *const u8,
    values_size: usize,
    stat: *mut c_int,
    team: *const *const c_void,
    team_number: *const c_int,
) {
    let image = image();
    // SAFETY: owed by the caller, as all below.
    let (report, there) =
        unsafe { (report(stat, std::ptr::null_mut(), 0), There { token, index, team, team_number }) };
    // SAFETY: see above.
    unsafe {
        let lengths = characters(length, source_length);
        let size = if source_length.is_null() { size } else { size * lengths[1] * count(source) };
        let from = if source.is_null() { data } else { Descriptor::at(source.cast_mut()).base() };
        let access = AccessorCall {
            task: Task::Set,
            bytes: size,
            lengths,
            left: whole(descriptor),
            right: whole(source),
            values: bytes(values, values_size),
            data: bytes(from, size),
            ..AccessorCall::default()
        };
        report.finish(image, there.run(image, accessor, access).map(|_| ()));
    }
}

/// Reads elements of an image and writes them to those of another one.
///
/// # One-sided
/// # Safety
/// All pointers are those of compiled code for this call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _gfortran_caf_transfer_between_remotes(
    token: *mut u8,
    descriptor: *const u8,
    length: *const usize,
    index: c_int,
    accessor: c_int,
    values: *const u8,
    values_size: usize,
    source_token: *mut u8,
    source: *const u8,
    source_length: *const usize,
    source_index: c_int,
    source_accessor: c_int,
    source_values: *const u8,
    source_values_size: usize,
    size: usize,
    scalar: bool,
    stat: *mut c_int,
    source_stat: *mut c_int,
    team: *const *const c_void,
    team_number: *const c_int,
    source_team: *const *const c_void,
    source_team_number: *const c_int,
) {
    let image = image();
    // SAFETY: owed by the caller, as all below.
    let (report_to, report_from) =
        unsafe { [stat, source_stat].map(|stat| report(stat, std::ptr::null_mut(), 0)) }.into();
    let there = There { token, index, team, team_number };
    let source_there = There {
        token: source_token,
        index: source_index,
        team: source_team,
        team_number: source_team_number,
    };
    // The getter says which shape the elements have.
    let room = [0u8; HEAD_BYTES + DIMENSION_BYTES * MAX_RANK];
    // SAFETY: see above.
    unsafe {
        let lengths = characters(length, source_length);
        let read = AccessorCall {
            task: Task::Get,
            bytes: size,
            lengths,
            left: if scalar { &[] } else { &room },
            reshape: !scalar,
            right: whole(source),
            values: bytes(source_values, source_values_size),
            ..AccessorCall::default()
        };
        let outcome = match source_there.run(image, source_accessor, read) {
            Ok(outcome) => outcome,
            Err(failure) => return report_from.finish(image, Err(failure)),
        };
        report_from.finish(image, Ok(()));
        let write = AccessorCall {
            task: Task::Set,
            bytes: outcome.data.len(),
            lengths,
            left: whole(descriptor),
            right: &outcome.descriptor,
            values: bytes(values, values_size),
            data: &outcome.data,
            ..AccessorCall::default()
        };
        report_to.finish(image, there.run(image, accessor, write).map(|_| ()));
    }
}

/// Whether a component of a coarray on an image is allocated or associated.
///
/// # One-sided
/// # Safety
/// All pointers are those of compiled code for this call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _gfortran_caf_is_present_on_remote(
    token: *mut u8,
    index: c_int,
    accessor: c_int,
    values: *const u8,
    values_size: usize,
) -> i32 {
    if token.is_null() {
        return 0;
    }
    let image = image();
    let there = There { token, index, team: std::ptr::null(), team_number: std::ptr::null() };
    // SAFETY: owed by the caller.
    let result = unsafe {
        let values = bytes(values, values_size);
        there.run(image, accessor, AccessorCall { task: Task::Presence, values, ..AccessorCall::default() })
    };
    match result {
        Ok(outcome) => (outcome.data == [1]).into(),
        Err(failure) => image.fail(&failure),
    }
}
