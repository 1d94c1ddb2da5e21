//! Sets of GASNet-EX's constants as text, for messages of programs.

#![expect(unsafe_code, reason = "exported to C by name; writes where C asks for results")]

use std::ffi::c_char;

use super::types;

/// `gex_DT_t` by bit.
const TYPES: [&str; 7] = ["I32", "U32", "I64", "U64", "FLT", "DBL", "USER"];
/// `gex_TI_t` by bit.
const TOKEN_FIELDS: [&str; 5] = ["SRCRANK", "ENTRY", "IS_REQ", "IS_LONG", "EP"];
/// `gex_OP_t` by bit.
const OPERATIONS: u32 = 0xcfff_8fff;

/// The names of the bits of `set`.
fn words(set: u32, prefix: &str, names: &[&str]) -> String {
    if set == 0 {
        return "(empty)".into();
    }
    if set >> names.len() != 0 {
        return "(invalid)".into();
    }
    let held = names.iter().enumerate().filter(|(bit, _)| set >> bit & 1 == 1);
    held.map(|(_, name)| format!("{prefix}{name}")).collect::<Vec<_>>().join("|")
}

/// Writes `text` and a NUL to `buf`, unless that is null. The bytes this takes.
///
/// # Safety
/// `buf` is null or has that many writable bytes.
unsafe fn give(buf: *mut c_char, text: &str) -> usize {
    if !buf.is_null() {
        // SAFETY: room for the text and one byte more, by the caller's promise.
        unsafe {
            std::ptr::copy_nonoverlapping(text.as_ptr().cast(), buf, text.len());
            *buf.add(text.len()) = 0;
        }
    }
    text.len() + 1
}

/// A set of types in words, in as many bytes as are returned; a null `buf` asks for their number.
///
/// # Safety
/// `buf` is null or has as many writable bytes as a call with a null pointer says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasnett_format_dt(buf: *mut c_char, set: u32) -> usize {
    // SAFETY: the caller's promise.
    unsafe { give(buf, &words(set, "GEX_DT_", &TYPES)) }
}

/// The same for a set of what is known of a message.
///
/// # Safety
/// As [`gasnett_format_dt`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasnett_format_ti(buf: *mut c_char, set: u32) -> usize {
    // SAFETY: the caller's promise.
    unsafe { give(buf, &words(set, "GEX_TI_", &TOKEN_FIELDS)) }
}

/// The same for a set of operations.
///
/// # Safety
/// As [`gasnett_format_dt`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasnett_format_op(buf: *mut c_char, set: u32) -> usize {
    let text = match set {
        0 => "(empty)".into(),
        _ if set & !OPERATIONS != 0 => "(invalid)".into(),
        _ => types::Name(set).to_string(),
    };
    // SAFETY: the caller's promise.
    unsafe { give(buf, &text) }
}
