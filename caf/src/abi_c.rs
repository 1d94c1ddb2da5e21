//! The C functions that gfortran 16 calls with other arguments than gfortran 8 to 15 did: teams, and numbers
//! of images. A program of gfortran 16 has the accesses of `abi_b`, and all else of `abi_a`.
//!
//! Both interfaces have the same names. For each of these the command `caf` has the option `--wrap NAME` if
//! the compiler is gfortran 16. The linker then takes `__wrap_NAME` where compiled code calls `NAME`.
//!
//! The value of a variable of type `team_type` is handed over, and not its address. With `stat=` statements
//! say that an image has failed; without they go on, as those of gfortran 8 to 15.
#![expect(unsafe_code, reason = "called by compiled code, by name")]

use crate::abi_a::{image, quiet, report};
use crate::image::{Image, Level};
use crate::joint::unless_failed;
use crate::report::Report;
use crate::stat::Failure;
use std::ffi::{c_char, c_int, c_void};

/// Levels of `get_team`, as the compiler's module has them.
mod level {
    pub const INITIAL: i32 = 0;
    pub const PARENT: i32 = 1;
    pub const CURRENT: i32 = 2;
}

/// Ends a statement on teams.
fn finish(image: &Image, report: Report<'_>, result: Result<(), Failure>) {
    let result = if report.stat.is_none() { unless_failed(result) } else { result };
    report.finish(image, result);
}

/// The team of an inquiry: the current one if it is null.
fn inquired(what: &str, team: *const c_void) -> &'static Level {
    quiet();
    let image = image();
    match team.is_null() {
        true => image.level(),
        false => image.team_of(what, team.addr()).unwrap_or_else(|failure| image.fail(&failure)),
    }
}

/// `this_image()`, `this_image(team)`.
#[unsafe(no_mangle)]
pub extern "C" fn __wrap__gfortran_caf_this_image(team: *const c_void) -> c_int {
    inquired("this_image", team).this_image()
}

/// `num_images()`, `num_images(team)`, `num_images(team_number)`.
///
/// # Safety
/// `number` is null or a variable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap__gfortran_caf_num_images(team: *const c_void, number: *const i32) -> c_int {
    let level = inquired("num_images", team);
    // SAFETY: owed by the caller.
    let level = match unsafe { number.as_ref() } {
        Some(number) if team.is_null() => {
            image().level_numbered(*number).unwrap_or_else(|f| image().fail(&f))
        }
        _ => level,
    };
    level.size() as c_int
}

/// `form team`.
///
/// # Collective
/// Over the current team.
///
/// # Safety
/// `team` is a variable of type `team_type`; `new_index` and `stat` are null or variables; `message` is null
/// or has `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap__gfortran_caf_form_team(
    number: c_int,
    team: *mut *const c_void,
    new_index: *const c_int,
    stat: *mut c_int,
    message: *mut c_char,
    len: usize,
) {
    // SAFETY: owed by the caller.
    let (report, new_index) = unsafe { (report(stat, message, len), new_index.as_ref().copied()) };
    let image = image();
    let result = image.form_team(number, new_index).and_then(|(formed, missing)| {
        // SAFETY: owed by the caller.
        unsafe { team.write(std::ptr::with_exposed_provenance(formed)) };
        missing
    });
    finish(image, report, result);
}

/// `change team`.
///
/// # Collective
/// Over the new team.
///
/// # Safety
/// `stat` is null or a variable; `message` is null or has `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap__gfortran_caf_change_team(
    team: *const c_void,
    stat: *mut c_int,
    message: *mut c_char,
    len: usize,
) {
    // SAFETY: owed by the caller.
    let report = unsafe { report(stat, message, len) };
    finish(image(), report, image().change_team(team.addr()));
}

/// `end team`.
///
/// # Collective
/// Over the current team.
///
/// # Safety
/// As of `__wrap__gfortran_caf_change_team`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap__gfortran_caf_end_team(stat: *mut c_int, message: *mut c_char, len: usize) {
    // SAFETY: owed by the caller.
    let report = unsafe { report(stat, message, len) };
    finish(image(), report, image().end_team());
}

/// `sync team`.
///
/// # Collective
/// Over that team.
///
/// # Safety
/// As of `__wrap__gfortran_caf_change_team`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap__gfortran_caf_sync_team(
    team: *const c_void,
    stat: *mut c_int,
    message: *mut c_char,
    len: usize,
) {
    // SAFETY: owed by the caller.
    let report = unsafe { report(stat, message, len) };
    finish(image(), report, image().sync_team(team.addr()));
}

/// `get_team`: the current team, or the one of a level.
///
/// # Safety
/// `level` is null or a variable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _gfortran_caf_get_team(level: *const i32) -> *const c_void {
    let image = image();
    let current = image.level();
    // SAFETY: owed by the caller.
    let found = match unsafe { level.as_ref() }.copied().unwrap_or(level::CURRENT) {
        level::INITIAL => image.initial(),
        level::PARENT => current.outer.unwrap_or(current),
        level::CURRENT => current,
        other => image.fail(&Failure::other(format!(
            "get_team({other}): the levels are initial_team, parent_team and current_team"
        ))),
    };
    std::ptr::with_exposed_provenance(found.handle())
}
