//! Environment variables and number formatting under the tools' C names.

#![expect(unsafe_code, reason = "exported to C by name; reads C strings and the C environment")]

use std::ffi::{CStr, c_char, c_int};

use gasnet_wire::number;
pub(crate) use gasnet_wire::number::says_yes;

/// The text of a C string that may be null; bytes that are not UTF-8 are replaced.
///
/// # Safety
/// `text` is null or a NUL-terminated string.
pub(crate) unsafe fn text<'a>(text: *const c_char) -> std::borrow::Cow<'a, str> {
    if text.is_null() {
        return "".into();
    }
    // SAFETY: not null, and NUL-terminated by the caller's promise.
    unsafe { CStr::from_ptr(text) }.to_string_lossy()
}

/// Copies `value` with its NUL into a C buffer, cut to fit.
///
/// # Safety
/// `buf` has `size` writable bytes.
unsafe fn copy_out(value: &str, buf: *mut c_char, size: usize) {
    if buf.is_null() || size == 0 {
        return;
    }
    let n = value.len().min(size - 1);
    // SAFETY: n < size, and the buffer has size bytes.
    unsafe {
        std::ptr::copy_nonoverlapping(value.as_ptr().cast(), buf, n);
        *buf.add(n) = 0;
    }
}

/// `val` as text in `buf`; see [`number::format`].
///
/// # Safety
/// `buf` has `size` writable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasnett_format_number(
    val: i64,
    buf: *mut c_char,
    size: usize,
    is_mem_size: c_int,
) -> *mut c_char {
    // SAFETY: the caller's promise.
    unsafe { copy_out(&number::format(val, is_mem_size != 0), buf, size) };
    buf
}

/// Reads a number; see [`number::parse`].
///
/// # Safety
/// `str` is null or NUL-terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasnett_parse_int(str: *const c_char, multiplier: u64) -> i64 {
    // SAFETY: the caller's promise.
    number::parse(&unsafe { text(str) }, multiplier)
}

/// `setenv` that overwrites.
///
/// # Safety
/// Both are NUL-terminated; no other thread reads the environment meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasnett_setenv(key: *const c_char, value: *const c_char) {
    // SAFETY: the caller's promise.
    unsafe { libc::setenv(key, value, 1) };
}

/// `unsetenv`.
///
/// # Safety
/// As [`gasnett_setenv`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasnett_unsetenv(key: *const c_char) {
    // SAFETY: the caller's promise.
    unsafe { libc::unsetenv(key) };
}

/// The value of an environment variable, or null.
///
/// # Safety
/// `key` is NUL-terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasnett_getenv(key: *const c_char) -> *mut c_char {
    // SAFETY: the caller's promise.
    unsafe { libc::getenv(key) }
}

/// The value of an environment variable, or the default given.
///
/// # Safety
/// `key` is NUL-terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasnett_getenv_withdefault(
    key: *const c_char,
    default: *const c_char,
) -> *mut c_char {
    // SAFETY: the caller's promise.
    let value = unsafe { gasnett_getenv(key) };
    if value.is_null() { default.cast_mut() } else { value }
}

/// A variable that is set, as text.
///
/// # Safety
/// `key` is NUL-terminated.
unsafe fn lookup<'a>(key: *const c_char) -> Option<std::borrow::Cow<'a, str>> {
    // SAFETY: the caller's promise.
    let value = unsafe { gasnett_getenv(key) };
    // SAFETY: getenv returns null or a NUL-terminated string.
    (!value.is_null()).then(|| unsafe { text(value) }).filter(|value| !value.trim().is_empty())
}

/// Whether a variable says yes: a first letter Y or T, or a number other than 0.
///
/// # Safety
/// `key` is NUL-terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasnett_getenv_yesno_withdefault(key: *const c_char, default: c_int) -> c_int {
    // SAFETY: the caller's promise.
    match unsafe { lookup(key) } {
        None => c_int::from(default != 0),
        Some(value) => c_int::from(says_yes(&value)),
    }
}

/// A variable as a number; see [`number::parse`].
///
/// # Safety
/// `key` is NUL-terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasnett_getenv_int_withdefault(
    key: *const c_char,
    default: i64,
    multiplier: u64,
) -> i64 {
    // SAFETY: the caller's promise.
    unsafe { lookup(key) }.map_or(default, |value| number::parse(&value, multiplier))
}

/// A variable as a floating-point number.
///
/// # Safety
/// `key` is NUL-terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasnett_getenv_dbl_withdefault(key: *const c_char, default: f64) -> f64 {
    // SAFETY: the caller's promise.
    unsafe { lookup(key) }.and_then(|value| value.trim().parse().ok()).unwrap_or(default)
}

/// Not 0 when `GASNET_VERBOSEENV` asks for the settings to be printed.
#[unsafe(no_mangle)]
pub extern "C" fn gasnett_verboseenv() -> c_int {
    c_int::from(gasnet_settings::c::is_on("GASNET_VERBOSEENV") == Some(true))
}

/// Prints one setting on rank 0 when verbose.
fn display(key: &str, value: &str, is_default: bool) {
    if gasnett_verboseenv() != 0 && crate::abi::rank() == 0 {
        let note = if is_default { " (default)" } else { "" };
        eprintln!("ENV parameter: {key} = {value}{note}");
    }
}

/// Prints a numeric setting when verbose.
///
/// # Safety
/// `key` is NUL-terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasnett_envint_display(
    key: *const c_char,
    val: i64,
    is_default: c_int,
    is_mem_size: c_int,
) {
    // SAFETY: the caller's promise.
    display(&unsafe { text(key) }, &number::format(val, is_mem_size != 0), is_default != 0);
}

/// Prints a text setting when verbose.
///
/// # Safety
/// Both are null or NUL-terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasnett_envstr_display(key: *const c_char, val: *const c_char, is_default: c_int) {
    // SAFETY: the caller's promise.
    let (key, val) = unsafe { (text(key), text(val)) };
    display(&key, &val, is_default != 0);
}

/// Prints a floating-point setting when verbose.
///
/// # Safety
/// `key` is NUL-terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasnett_envdbl_display(key: *const c_char, val: f64, is_default: c_int) {
    // SAFETY: the caller's promise.
    display(&unsafe { text(key) }, &val.to_string(), is_default != 0);
}
