//! Image control statements, locks and events.
#![expect(unsafe_code, reason = "called by compiled code, by name")]

use super::control::quiet;
use super::{image, report};
use crate::coarray::Coarray;
use crate::image::Image;
use crate::memory::coarray as known;
use crate::report::Report;
use crate::stat::Failure;
use std::ffi::{c_char, c_int};
use std::sync::atomic::Ordering::Relaxed;

/// Where a statement reports that hands over the address of the address of its `errmsg=`: so do `sync all`,
/// `sync images` and `sync memory` of gfortran 11 and 12.
///
/// # Safety
/// `stat` is null or a variable; `message` is null, or has `len` bytes, or the address of so many (owed by
/// the caller).
unsafe fn sync_report<'a>(stat: *mut c_int, message: *mut c_char, len: usize) -> Report<'a> {
    let mut message = message;
    if !message.is_null() {
        // SAFETY: owed by the caller; text of fewer bytes than an address is in a larger variable or on a
        // page of its own.
        let word = unsafe { message.cast::<usize>().read_unaligned() };
        // No text begins like an address of a process: its bytes 6 and 7 would be zeros, and others not.
        if is_address(word) {
            message = std::ptr::with_exposed_provenance_mut(word);
        }
    }
    // SAFETY: owed by the caller.
    unsafe { report(stat, message, len) }
}

/// Whether a word can be the address of a variable, and is not the beginning of a text.
fn is_address(word: usize) -> bool {
    (1 << 16..1 << 47).contains(&word)
}

/// `sync all`.
///
/// # Collective
/// Over the current team.
///
/// # Safety
/// `stat` is null or a variable; `message` is null or has `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _gfortran_caf_sync_all(stat: *mut c_int, message: *mut c_char, len: usize) {
    // SAFETY: owed by the caller.
    let report = unsafe { sync_report(stat, message, len) };
    let image = image();
    quiet();
    let told = image.peers.told.swap(false, Relaxed) && report.stat.is_none();
    match image.sync_all() {
        Err(failure) if told && failure.is_of_gone() => {}
        result => report.finish(image, result),
    }
}

/// `sync memory`.
///
/// # Safety
/// As of `_gfortran_caf_sync_all`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _gfortran_caf_sync_memory(stat: *mut c_int, message: *mut c_char, len: usize) {
    // SAFETY: owed by the caller.
    let report = unsafe { sync_report(stat, message, len) };
    let image = image();
    image.sync_memory();
    report.finish(image, Ok(()));
}

/// `sync images` with `n` images, or with all if `n` is -1.
///
/// # Safety
/// `images` has `n` elements; else as of `_gfortran_caf_sync_all`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _gfortran_caf_sync_images(
    n: c_int,
    images: *const c_int,
    stat: *mut c_int,
    message: *mut c_char,
    len: usize,
) {
    // SAFETY: owed by the caller.
    let (report, images) = unsafe {
        let images = match n {
            ..0 => None,
            0 => Some(&[][..]),
            _ => Some(std::slice::from_raw_parts(images, n as usize)),
        };
        (sync_report(stat, message, len), images)
    };
    let image = image();
    report.finish(image, image.sync_images(images));
}

/// Carries out a statement on the coarray of a token.
///
/// # Safety
/// `token` is one of this library; `stat` and `message` are as of `_gfortran_caf_sync_all` (owed by the
/// caller).
unsafe fn on<'a>(
    token: *mut u8,
    (stat, message, len): (*mut c_int, *mut c_char, usize),
    statement: impl FnOnce(&'static Image, &'a Coarray) -> Result<(), Failure>,
) {
    let image = image();
    // SAFETY: owed by the caller.
    unsafe {
        report(stat, message, len).finish(image, known(token).and_then(|coarray| statement(image, coarray)))
    };
}

/// `lock` of element `index`; with `acquired` an attempt.
///
/// # Safety
/// `token` is one of this library; `acquired` is null or a variable; else as of `_gfortran_caf_sync_all`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _gfortran_caf_lock(
    token: *mut u8,
    index: usize,
    there: c_int,
    acquired: *mut c_int,
    stat: *mut c_int,
    message: *mut c_char,
    len: usize,
) {
    // SAFETY: owed by the caller.
    let acquired = unsafe { acquired.as_mut() };
    let lock = |image: &Image, coarray: &Coarray| {
        let taken = image.lock(coarray, index, there, acquired.is_some())?;
        acquired.into_iter().for_each(|acquired| *acquired = taken.into());
        Ok(())
    };
    // SAFETY: owed by the caller.
    unsafe { on(token, (stat, message, len), lock) };
}

/// `unlock` of element `index`.
///
/// # Safety
/// As of `_gfortran_caf_lock`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _gfortran_caf_unlock(
    token: *mut u8,
    index: usize,
    there: c_int,
    stat: *mut c_int,
    message: *mut c_char,
    len: usize,
) {
    // SAFETY: owed by the caller.
    unsafe { on(token, (stat, message, len), |image, coarray| image.unlock(coarray, index, there)) };
}

/// `event post` of element `index`.
///
/// # Safety
/// As of `_gfortran_caf_lock`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _gfortran_caf_event_post(
    token: *mut u8,
    index: usize,
    there: c_int,
    stat: *mut c_int,
    message: *mut c_char,
    len: usize,
) {
    // SAFETY: owed by the caller.
    unsafe { on(token, (stat, message, len), |image, coarray| image.post_event(coarray, index, there)) };
}

/// `event wait` for element `index` of this image.
///
/// # Safety
/// As of `_gfortran_caf_lock`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _gfortran_caf_event_wait(
    token: *mut u8,
    index: usize,
    until: c_int,
    stat: *mut c_int,
    message: *mut c_char,
    len: usize,
) {
    // SAFETY: owed by the caller.
    unsafe { on(token, (stat, message, len), |image, coarray| image.wait_event(coarray, index, until)) };
}

/// `event_query` of element `index`.
///
/// # Safety
/// `count` is a variable; else as of `_gfortran_caf_lock`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _gfortran_caf_event_query(
    token: *mut u8,
    index: usize,
    there: c_int,
    count: *mut c_int,
    stat: *mut c_int,
) {
    // SAFETY: owed by the caller.
    unsafe {
        let query = |image: &Image, coarray: &Coarray| {
            image.query_event(coarray, index, there).map(|found| count.write(found))
        };
        on(token, (stat, std::ptr::null_mut(), 0), query);
    }
}

#[cfg(test)]
mod tests {
    use super::is_address;

    #[test]
    fn texts_are_not_addresses() {
        for text in [*b"        ", *b"xx      ", [0; 8], *b"a\0\0\0\0\0\0\0", *b"12345678"] {
            assert!(!is_address(usize::from_ne_bytes(text)), "{text:?}");
        }
        let (variable, boxed) = (0u8, Box::new(0u8));
        assert!(is_address((&raw const variable).addr()) && is_address((&raw const *boxed).addr()));
    }
}
