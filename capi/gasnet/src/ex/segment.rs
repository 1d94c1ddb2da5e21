//! Segments: memory of a process that others reach through one of its endpoints.

#![expect(unsafe_code, reason = "exported to C by name; writes where C asks for results")]

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU32, Ordering};

use gasnet::Modes;

use crate::ex::mk;
use crate::fatal::die;
use crate::info::{BAD_ARG, NOT_INIT, OK, RESOURCE, give, refuse};
use crate::objects::{Client, Object, Segment, Team, Tm, object, primordial, resolve};
use crate::state::{self, ClientJob};
use crate::{context, job};

/// Attaches a segment of `size` bytes to the primordial endpoint.
///
/// # Safety
/// `segment` is writable; `tm` names a team.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gex_Segment_Attach(
    segment: *mut *const Object<Segment>,
    tm: *const Object<Team>,
    size: usize,
) -> c_int {
    const CALL: &str = "gex_Segment_Attach";
    let state = state::state(CALL);
    context::unrestricted(state, CALL);
    let all = primordial(CALL);
    // SAFETY: the caller's promise.
    match unsafe { Tm::of(CALL, tm) } {
        Tm::Team(team) if std::ptr::eq(team, all.team) => {}
        _ => return refuse(BAD_ARG, CALL, "only the primordial team attaches segments"),
    }
    let again = state.world.segment_asked.swap(true, Ordering::Relaxed);
    if again || (state.attached.load(Ordering::Relaxed) && !state.everything) {
        return refuse(NOT_INIT, CALL, "a segment is attached already");
    }
    let code = if state.everything { meet(state) } else { job::attach_segment(state, CALL, size) };
    if code == OK {
        // SAFETY: the caller's promise; the primordial endpoint lives for ever.
        unsafe { give(segment, all.ep.get().segment.load(Ordering::Acquire).cast_const()) };
    } else {
        state.world.segment_asked.store(false, Ordering::Relaxed);
    }
    code
}

/// Attaches the segments of an EVERYTHING program: a barrier, and nothing else.
fn meet(state: &ClientJob) -> c_int {
    state.rank.split_barrier().notify(0, gasnet::barrier::ANONYMOUS);
    let _ = state.rank.split_barrier().wait(0, gasnet::barrier::ANONYMOUS);
    OK
}

/// The client of a segment.
///
/// # Safety
/// `segment` names a segment.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gex_Segment_QueryClient(
    segment: *const Object<Segment>,
) -> *const Object<Client> {
    const CALL: &str = "gex_Segment_QueryClient";
    // SAFETY: the caller's promise.
    let _ = unsafe { resolve(CALL, segment) };
    primordial(CALL).client
}

/// The flags that a segment was made with.
///
/// # Safety
/// `segment` names a segment.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gex_Segment_QueryFlags(segment: *const Object<Segment>) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { resolve("gex_Segment_QueryFlags", segment) }.flags
}

/// The first byte of a segment.
///
/// # Safety
/// `segment` names a segment.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gex_Segment_QueryAddr(segment: *const Object<Segment>) -> *mut c_void {
    // SAFETY: the caller's promise.
    unsafe { resolve("gex_Segment_QueryAddr", segment) }.address as *mut c_void
}

/// Bytes of a segment.
///
/// # Safety
/// `segment` names a segment.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gex_Segment_QuerySize(segment: *const Object<Segment>) -> usize {
    // SAFETY: the caller's promise.
    unsafe { resolve("gex_Segment_QuerySize", segment) }.size
}

/// Makes a segment: of `size` bytes that the client has at `address`, or of memory of the library's own if
/// that is null.
///
/// # Safety
/// `segment` is writable; `client` names a client; the memory stays until the segment is destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gex_Segment_Create(
    segment: *mut *const Object<Segment>,
    client: *const Object<Client>,
    address: *mut c_void,
    size: usize,
    kind: *const c_void,
    flags: u32,
) -> c_int {
    const CALL: &str = "gex_Segment_Create";
    let state = state::state(CALL);
    context::unrestricted(state, CALL);
    // SAFETY: the caller's promise.
    let _ = unsafe { resolve(CALL, client) };
    if segment.is_null() {
        die(&format!("{CALL}: the place for the segment is a null pointer"));
    }
    if size == 0 {
        die(&format!("{CALL}: a segment of 0 bytes"));
    }
    if flags != 0 {
        die(&format!("{CALL}: the flags are {flags:#x}; this call has none"));
    }
    match kind as usize {
        mk::HOST => {}
        0 => die(&format!("{CALL}: the memory kind is GEX_MK_INVALID")),
        _ => die(&format!("{CALL}: {kind:p} is no memory kind: this library has GEX_MK_HOST")),
    }
    let region = if address.is_null() {
        state.rank.regions().export_pages(size, Modes::ALL)
    } else if (address as usize).checked_add(size).is_none() {
        die(&format!("{CALL}: {size} bytes at {address:p} reach beyond the end of memory"));
    } else {
        // SAFETY: the caller's promise.
        unsafe { state.rank.regions().export_raw(address.cast(), size, Modes::ALL) }
    };
    let region = match region {
        Ok(region) => region,
        Err(why) => return refuse(RESOURCE, CALL, &format!("a segment of {size} bytes: {why}")),
    };
    let (address, size) = (region.address() as usize, region.key().len() as usize);
    let made = Object::make(Segment { address, size, flags, region: Some(region), bound: AtomicU32::new(0) });
    // SAFETY: the caller's promise.
    unsafe { segment.write(made) };
    OK
}

/// Destroys a segment: nobody can reach its memory any more. Memory of the client is the client's again;
/// memory of the library is released.
///
/// # Safety
/// `segment` names a segment that nobody uses any more.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gex_Segment_Destroy(segment: *const Object<Segment>, _flags: u32) {
    const CALL: &str = "gex_Segment_Destroy";
    let state = state::state(CALL);
    context::unrestricted(state, CALL);
    // SAFETY: the caller's promise.
    let object = unsafe { object(CALL, segment) };
    // SAFETY: the caller's promise.
    let what = unsafe { object.get() };
    if what.region.is_none() {
        die(&format!("{CALL}: a segment that was attached cannot be destroyed"));
    }
    if what.bound.load(Ordering::Relaxed) != 0 {
        die(&format!("{CALL}: the segment is bound to an endpoint, which keeps it"));
    }
    // SAFETY: the caller's promise.
    drop(unsafe { object.destroy(CALL) });
}
