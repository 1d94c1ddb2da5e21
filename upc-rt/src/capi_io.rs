//! C functions behind `upc_io.h` (`include/upcc_lib.h`). Errors become -1 and `errno`.
#![expect(unsafe_code, reason = "exports functions to C")]

use crate::io::{Hint, Memory, Range};
use crate::state::upc;
use std::ffi::{CStr, c_char, c_int, c_long, c_uint, c_ulong, c_void};

fn result(outcome: Result<i64, i32>) -> c_long {
    outcome.unwrap_or_else(|e| {
        set_errno(e);
        -1
    })
}

fn set_errno(e: i32) {
    // SAFETY: the calling thread's errno.
    unsafe { *libc::__errno_location() = e };
}

/// The elements of a C array, which may be null if it has none.
///
/// # Safety
/// 1. `p` points to `n` elements (owed by the caller).
unsafe fn slice<'a, T>(p: *const T, n: c_ulong) -> &'a [T] {
    if n == 0 || p.is_null() {
        return &[];
    }
    // SAFETY: (1).
    unsafe { std::slice::from_raw_parts(p, n as usize) }
}

/// `upc_all_fopen`: offset of the handle, or 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __upc_io_open(
    name: *const c_char,
    flags: c_int,
    count: c_ulong,
    hints: *const Hint,
) -> c_ulong {
    if name.is_null() {
        set_errno(libc::EFAULT);
        return 0;
    }
    // SAFETY: the user's string and hints.
    let handle = unsafe { upc().io_open(CStr::from_ptr(name), flags as u32, count as usize, hints) };
    handle.unwrap_or_else(|e| {
        set_errno(e);
        0
    })
}

/// `upc_all_fclose`.
#[unsafe(no_mangle)]
pub extern "C" fn __upc_io_close(file: c_ulong) -> c_int {
    result(upc().io_close(file)) as c_int
}

/// `upc_all_fsync`.
#[unsafe(no_mangle)]
pub extern "C" fn __upc_io_sync(file: c_ulong) -> c_int {
    result(upc().io_sync(file)) as c_int
}

/// `upc_all_fseek`.
#[unsafe(no_mangle)]
pub extern "C" fn __upc_io_seek(file: c_ulong, offset: c_long, origin: c_int) -> c_long {
    result(upc().io_seek(file, offset, origin))
}

/// `upc_all_fget_size`.
#[unsafe(no_mangle)]
pub extern "C" fn __upc_io_get_size(file: c_ulong) -> c_long {
    result(upc().io_get_size(file))
}

/// `upc_all_fset_size`; `upc_all_fpreallocate` if `only_grow`.
#[unsafe(no_mangle)]
pub extern "C" fn __upc_io_set_size(file: c_ulong, size: c_long, only_grow: c_int) -> c_int {
    result(upc().io_set_size(file, size, only_grow != 0)) as c_int
}

/// `upc_all_fcntl`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __upc_io_control(file: c_ulong, command: c_int, arg: *mut c_void) -> c_int {
    // SAFETY: the user's argument for the command.
    result(unsafe { upc().io_control(file, command, arg.cast()) }) as c_int
}

/// `upc_all_fread_local`, `upc_all_fwrite_local`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __upc_io_local(
    file: c_ulong,
    buf: *mut c_void,
    bytes: c_ulong,
    write: c_int,
    flags: c_int,
) -> c_long {
    // SAFETY: the user's buffer.
    result(unsafe { upc().io_transfer(file, Memory::private(buf.cast(), bytes), write != 0, flags as u32) })
}

/// `upc_all_fread_shared`, `upc_all_fwrite_shared`; `block` in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn __upc_io_shared(
    file: c_ulong,
    t: c_uint,
    o: c_ulong,
    block: c_ulong,
    bytes: c_ulong,
    write: c_int,
    flags: c_int,
) -> c_long {
    // SAFETY: no private memory is involved.
    result(unsafe { upc().io_transfer(file, Memory::shared(t, o, block, bytes), write != 0, flags as u32) })
}

/// The transfers of lists.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __upc_io_list(
    file: c_ulong,
    parts: c_ulong,
    memory: *const Memory,
    ranges: c_ulong,
    in_file: *const Range,
    write: c_int,
    flags: c_int,
) -> c_long {
    // SAFETY: the user's lists and buffers.
    result(unsafe {
        upc().io_list(file, slice(memory, parts), slice(in_file, ranges), write != 0, flags as u32)
    })
}

/// `upc_all_fwait_async`.
#[unsafe(no_mangle)]
pub extern "C" fn __upc_io_wait(file: c_ulong) -> c_long {
    result(upc().io_wait(file))
}

/// `upc_all_ftest_async`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __upc_io_test(file: c_ulong, done: *mut c_int) -> c_long {
    let outcome = upc().io_wait(file);
    // SAFETY: the user's variable.
    unsafe { *done = 1 };
    result(outcome)
}
