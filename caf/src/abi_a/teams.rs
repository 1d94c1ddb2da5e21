//! Teams, and inquiry about images. gfortran 8 to 15 gives the statements no `stat=`, so they go on without
//! images that have failed.
#![expect(unsafe_code, reason = "called by compiled code, by name")]

use super::image;
use crate::descriptor::Descriptor;
use crate::joint::unless_failed;
use crate::peers::Gone;
use crate::stat::Failure;
use std::ffi::{c_int, c_void};

/// Ends a statement without `stat=`: a failure is error termination.
fn finish<T>(result: Result<T, Failure>) -> T {
    result.unwrap_or_else(|failure| image().fail(&failure))
}

/// The team that a variable has.
///
/// # Safety
/// 1. `team` is null or a variable of type `team_type` (owed by the caller).
unsafe fn value(team: *const *const c_void) -> usize {
    // SAFETY: (1).
    unsafe { team.as_ref() }.map_or(0, |team| team.addr())
}

/// `form team`.
///
/// # Collective
/// Over the current team.
///
/// # Safety
/// `team` is a variable of type `team_type`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _gfortran_caf_form_team(number: c_int, team: *mut *const c_void, _new_index: c_int) {
    let (formed, missing) = finish(image().form_team(number, None));
    finish(unless_failed(missing));
    // SAFETY: owed by the caller.
    unsafe { team.write(std::ptr::with_exposed_provenance(formed)) };
}

/// `change team`.
///
/// # Collective
/// Over the new team.
///
/// # Safety
/// `team` is a variable of type `team_type`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _gfortran_caf_change_team(team: *const *const c_void, _unused: c_int) {
    // SAFETY: owed by the caller.
    finish(unless_failed(image().change_team(unsafe { value(team) })));
}

/// `end team`.
///
/// # Collective
/// Over the current team.
#[unsafe(no_mangle)]
pub extern "C" fn _gfortran_caf_end_team(_unused: *const c_void) {
    finish(unless_failed(image().end_team()));
}

/// `sync team`.
///
/// # Collective
/// Over that team.
///
/// # Safety
/// `team` is a variable of type `team_type`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _gfortran_caf_sync_team(team: *const *const c_void, _unused: c_int) {
    // SAFETY: owed by the caller.
    finish(unless_failed(image().sync_team(unsafe { value(team) })));
}

/// The number of a team, or of the current one if it is null.
#[unsafe(no_mangle)]
pub extern "C" fn _gfortran_caf_team_number(team: *const c_void) -> c_int {
    finish(image().team_number(team.addr()))
}

/// `image_status` of an image of the current team.
#[unsafe(no_mangle)]
pub extern "C" fn _gfortran_caf_image_status(index: c_int, _team: *const c_void) -> c_int {
    finish(image().image_status(index))
}

/// `stopped_images`: allocates the result, which compiled code frees.
///
/// # Safety
/// `to` is a descriptor with one dimension; `kind` is null or a variable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _gfortran_caf_stopped_images(to: *mut u8, _team: *const c_void, kind: *const c_int) {
    // SAFETY: owed by the caller.
    unsafe { hand_over(to, kind, Gone::Stopped) };
}

/// `failed_images`: as `_gfortran_caf_stopped_images`.
///
/// # Safety
/// As of `_gfortran_caf_stopped_images`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _gfortran_caf_failed_images(to: *mut u8, _team: *const c_void, kind: *const c_int) {
    // SAFETY: owed by the caller.
    unsafe { hand_over(to, kind, Gone::Failed) };
}

/// # Safety
/// `to` is a descriptor with one dimension; `kind` is null or a variable (owed by the caller).
unsafe fn hand_over(to: *mut u8, kind: *const c_int, how: Gone) {
    // SAFETY: owed by the caller.
    unsafe {
        let kind = kind.as_ref().copied().unwrap_or(4);
        Descriptor::at(to).allocate_integers(&image().images_gone(how), kind);
    }
}
