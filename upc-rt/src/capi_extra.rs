//! C functions behind `upc_nb.h` and Berkeley's extensions (`include/upcc_abi.h`, `upcc_lib.h`).
#![expect(unsafe_code, reason = "exports functions to C")]

use crate::atomics::Order;
use crate::core::How;
use crate::state::upc;
use gasnet::vis::{Piece, Shape};
use std::ffi::{c_char, c_int, c_uint, c_ulong, c_void};

/// `bupc_sem_alloc`: offset on this thread.
#[unsafe(no_mangle)]
pub extern "C" fn __upc_sem_alloc(flags: c_int) -> c_ulong {
    upc().sem_alloc(flags as u32)
}

/// `bupc_sem_free`.
#[unsafe(no_mangle)]
pub extern "C" fn __upc_sem_free(t: c_uint, o: c_ulong) {
    upc().sem_free(t, o);
}

/// `bupc_sem_postN`.
#[unsafe(no_mangle)]
pub extern "C" fn __upc_sem_post(t: c_uint, o: c_ulong, n: c_ulong) {
    upc().sem_post(t, o, n);
}

/// `bupc_sem_waitN` if `block`, else `bupc_sem_tryN`.
#[unsafe(no_mangle)]
pub extern "C" fn __upc_sem_take(t: c_uint, o: c_ulong, n: c_ulong, block: c_int) -> c_int {
    upc().sem_take(t, o, n, block != 0).into()
}

/// An operation of `bupc_atomics.h`: numbers of operation and word as there; the old value.
#[unsafe(no_mangle)]
pub extern "C" fn __upc_plain_atomic(
    op: c_int,
    word: c_int,
    t: c_uint,
    o: c_ulong,
    a: c_ulong,
    b: c_ulong,
    order: c_int,
) -> c_ulong {
    upc().plain_atomic(op, word, (t, o), a, b, Order::from_number(order))
}

/// Starts a copy to thread `t`; `how` has the bits of [`How`]. Returns a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __upc_start_put(
    t: c_uint,
    o: c_ulong,
    src: *const c_void,
    n: c_ulong,
    how: c_int,
) -> c_ulong {
    upc().check_started("writes", t, o, n);
    // SAFETY: the user's buffer, which the program does not use before the end of the transfer.
    unsafe { upc().core.start_put(t, o, src.cast(), n, How::from_bits(how)) }
}

/// Starts a copy from thread `t`. Returns a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __upc_start_get(
    dst: *mut c_void,
    t: c_uint,
    o: c_ulong,
    n: c_ulong,
    how: c_int,
) -> c_ulong {
    upc().check_started("reads", t, o, n);
    // SAFETY: as above.
    unsafe { upc().core.start_get(dst.cast(), t, o, n, How::from_bits(how)) }
}

/// Starts a copy between threads. Returns a handle.
#[unsafe(no_mangle)]
pub extern "C" fn __upc_start_copy(
    dt: c_uint,
    d: c_ulong,
    st: c_uint,
    s: c_ulong,
    n: c_ulong,
    how: c_int,
) -> c_ulong {
    upc().check_started("copies to", dt, d, n);
    upc().check_started("copies from", st, s, n);
    upc().core.start_copy((dt, d), (st, s), n, How::from_bits(how))
}

/// Starts to fill memory of thread `t`. Returns a handle.
#[unsafe(no_mangle)]
pub extern "C" fn __upc_start_set(t: c_uint, o: c_ulong, c: c_int, n: c_ulong, how: c_int) -> c_ulong {
    upc().check_started("writes", t, o, n);
    upc().core.start_set(t, o, c as u8, n, How::from_bits(how))
}

/// Whether a handle's transfer is complete; with `wait` it waits for that.
#[unsafe(no_mangle)]
pub extern "C" fn __upc_sync(handle: c_ulong, wait: c_int) -> c_int {
    upc().core.end_transfer(handle, wait != 0).into()
}

/// The same for several handles: all of them, or any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __upc_sync_list(
    handles: *mut c_ulong,
    n: c_ulong,
    all: c_int,
    wait: c_int,
) -> c_int {
    if n == 0 {
        return 1;
    }
    // SAFETY: the user's array of `n` handles.
    let handles = unsafe { std::slice::from_raw_parts_mut(handles, n as usize) };
    upc().core.end_transfers(handles, all != 0, wait != 0).into()
}

/// Whether implicit transfers are complete: puts, gets, or both.
#[unsafe(no_mangle)]
pub extern "C" fn __upc_synci(puts: c_int, gets: c_int, wait: c_int) -> c_int {
    upc().core.end_implicit(puts != 0, gets != 0, wait != 0).into()
}

/// Begins a transfer of several pieces, each of them an implicit one.
#[unsafe(no_mangle)]
pub extern "C" fn __upc_begin_pieces() {
    upc().core.begin_pieces();
}

/// Starts a put, or a get, of runs in dimensions on both sides, as an implicit transfer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __upc_start_box(
    get: c_int,
    t: c_uint,
    o: c_ulong,
    strides: *const usize,
    count: *const usize,
    levels: c_ulong,
    local: *mut c_void,
    local_strides: *const usize,
    local_count: *const usize,
    local_levels: c_ulong,
) {
    let list = |first: *const usize, n: c_ulong| {
        if n == 0 {
            return &[][..];
        }
        // SAFETY: the user's arrays: as many distances as levels, and an extent more.
        unsafe { std::slice::from_raw_parts(first, n as usize) }
    };
    let (levels, local_levels) = ((levels, levels + 1), (local_levels, local_levels + 1));
    let remote =
        Shape::Strided { at: o as usize, strides: list(strides, levels.0), count: list(count, levels.1) };
    let local = Shape::Strided {
        at: local as usize,
        strides: list(local_strides, local_levels.0),
        count: list(local_count, local_levels.1),
    };
    if let Some((first, end)) = remote.span() {
        upc().check_started(
            if get != 0 { "reads" } else { "writes" },
            t,
            first as c_ulong,
            (end - first) as c_ulong,
        );
    }
    // SAFETY: the user's buffer, which the program does not use before the end of the transfer.
    unsafe { upc().core.start_shape(get != 0, t, remote, local) }
}

/// Where the runs of thread `t` are in this process, which reads them (`get` is 0) or writes them; null if
/// the thread is far. A copy between shared places is then one with memory of this process.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __upc_box_here(
    get: c_int,
    t: c_uint,
    o: c_ulong,
    strides: *const usize,
    count: *const usize,
    levels: c_ulong,
) -> *mut c_void {
    let levels = levels as usize;
    // SAFETY: the user's arrays: as many distances as levels, and an extent more.
    let (strides, count) = unsafe {
        let strides = if levels == 0 { &[][..] } else { std::slice::from_raw_parts(strides, levels) };
        (strides, std::slice::from_raw_parts(count, levels + 1))
    };
    let shape = Shape::Strided { at: o as usize, strides, count };
    if let Some((first, end)) = shape.span() {
        let what = if get != 0 { "copies to" } else { "copies from" };
        upc().check_started(what, t, first as c_ulong, (end - first) as c_ulong);
    }
    upc().core.shape_here(t, o, shape).map_or(std::ptr::null_mut(), <*mut u8>::cast)
}

/// Starts a put, or a get, of `n` runs of the same lengths on both sides, as an implicit transfer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __upc_start_list(
    get: c_int,
    t: c_uint,
    n: c_ulong,
    remote: *const Piece,
    local: *const Piece,
) {
    // SAFETY: the header's arrays of `n` runs each.
    let (remote, local) = unsafe {
        (std::slice::from_raw_parts(remote, n as usize), std::slice::from_raw_parts(local, n as usize))
    };
    for run in remote {
        let what = if get != 0 { "reads" } else { "writes" };
        upc().check_started(what, t, run.at as c_ulong, run.len as c_ulong);
    }
    // SAFETY: the user's memory, which the program does not use before the end of the transfer.
    unsafe { upc().core.start_shape(get != 0, t, Shape::Vector(remote), Shape::Vector(local)) }
}

/// The handle of all pieces.
#[unsafe(no_mangle)]
pub extern "C" fn __upc_end_pieces() -> c_ulong {
    upc().core.end_pieces()
}

/// `bupc_dump_shared`: a pointer as text; `address` is 0 for null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __upc_dump(
    buf: *mut c_char,
    len: c_int,
    address: c_ulong,
    field: c_ulong,
    t: c_ulong,
    phase: c_ulong,
) -> c_int {
    const MIN_LENGTH: c_int = 100;
    if len < MIN_LENGTH {
        // SAFETY: the calling thread's errno.
        unsafe { *libc::__errno_location() = libc::EINVAL };
        return -1;
    }
    let text = match address {
        0 => "<NULL>".to_string(),
        _ => format!("<address={address:#x} (addrfield={field:#x}), thread={t}, phase={phase}>"),
    };
    let n = text.len().min(len as usize - 1);
    // SAFETY: the user's buffer of `len` bytes.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr(), buf.cast(), n);
        *buf.add(n) = 0;
    }
    0
}

/// Thread and offset of a private address inside a near segment; 0 if it is in none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __upc_locate(p: *const c_void, t: *mut c_uint, o: *mut c_ulong) -> c_int {
    let Some((thread, offset)) = upc().core.locate(p.cast()) else { return 0 };
    // SAFETY: emitted C passes the addresses of variables.
    unsafe {
        *t = thread;
        *o = offset;
    }
    1
}

/// `bupc_getenv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __upc_getenv(name: *const c_char) -> *mut c_char {
    // SAFETY: the user's string.
    unsafe { libc::getenv(name) }
}

/// `bupc_system`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __upc_system(command: *const c_char) -> c_int {
    // SAFETY: the user's string.
    unsafe { libc::system(command) }
}

/// `bupc_allv_broadcast`: `root`'s value of `n` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __upc_allv_broadcast(value: *mut c_void, n: c_ulong, root: c_int) {
    // SAFETY: emitted C passes a variable.
    unsafe { upc().broadcast_value(value.cast(), n, root as u32) }
}

/// `bupc_allv_gather`, and `bupc_allv_gather_all` if `root` is negative: values of `n` bytes, in the order of
/// threads.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __upc_allv_gather(
    value: *const c_void,
    n: c_ulong,
    root: c_int,
    array: *mut c_void,
) {
    // SAFETY: emitted C passes a variable, and the user's array of THREADS elements for the values.
    unsafe { upc().gather_values(value.cast(), n, u32::try_from(root).ok(), array.cast()) }
}

/// `bupc_allv_scatter`: element MYTHREAD of `root`'s array of values of `n` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __upc_allv_scatter(
    value: *mut c_void,
    n: c_ulong,
    root: c_int,
    array: *const c_void,
) {
    // SAFETY: the user's array of THREADS elements on the root, and a variable.
    unsafe { upc().scatter_values(value.cast(), n, root as u32, array.cast()) }
}

/// `bupc_allv_permute`: sends the value of `n <= 8` bytes to thread `to`, and receives the value sent to this
/// thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __upc_allv_permute(value: *mut c_void, n: c_ulong, to: c_int) {
    // SAFETY: emitted C passes a variable.
    unsafe { upc().permute_value(value.cast(), n, to as u32) }
}

/// `bupc_allv_reduce_all`, and `bupc_allv_prefix_reduce` if `prefix`; `kind` is 0, 1, 2 for unsigned, signed,
/// float.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __upc_allv_reduce(
    value: *mut c_void,
    n: c_ulong,
    kind: c_int,
    op: c_int,
    prefix: c_int,
) {
    // SAFETY: emitted C passes a variable.
    unsafe { upc().reduce_value(value.cast(), n, kind, op as u32, prefix != 0) }
}
