//! The client, its first endpoint and its first team, and what is asked about the job.

#![expect(unsafe_code, reason = "exported to C by name; writes where C asks for results")]

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::atomic::Ordering;

use crate::info::{BAD_ARG, OK, RESOURCE, give, refuse};
use crate::objects::{Client, DEFER_THREADS, Ep, LEGACY, Object, Segment, Team, Tm, primordial, resolve};
use crate::state;

/// The flags that the client was started with.
///
/// # Safety
/// `client` names a client.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gex_Client_QueryFlags(client: *const Object<Client>) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { resolve("gex_Client_QueryFlags", client) }.flags & !LEGACY
}

/// The name that the client was started with.
///
/// # Safety
/// `client` names a client.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gex_Client_QueryName(client: *const Object<Client>) -> *const c_char {
    // SAFETY: the caller's promise; clients live for ever.
    unsafe { resolve("gex_Client_QueryName", client) }.name.as_ptr()
}

/// The client of an endpoint.
///
/// # Safety
/// `ep` names an endpoint.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gex_EP_QueryClient(ep: *const Object<Ep>) -> *const Object<Client> {
    const CALL: &str = "gex_EP_QueryClient";
    // SAFETY: the caller's promise.
    let _ = unsafe { resolve(CALL, ep) };
    primordial(CALL).client
}

/// The flags that an endpoint was made with.
///
/// # Safety
/// `ep` names an endpoint.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gex_EP_QueryFlags(ep: *const Object<Ep>) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { resolve("gex_EP_QueryFlags", ep) }.flags
}

/// The segment of an endpoint; invalid if it has none.
///
/// # Safety
/// `ep` names an endpoint.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gex_EP_QuerySegment(ep: *const Object<Ep>) -> *const Object<Segment> {
    // SAFETY: the caller's promise.
    let ep = unsafe { resolve("gex_EP_QuerySegment", ep) };
    // ORDER: Acquire; pairs with Release where a segment is bound.
    ep.segment.load(Ordering::Acquire)
}

/// The number of an endpoint.
///
/// # Safety
/// `ep` names an endpoint.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gex_EP_QueryIndex(ep: *const Object<Ep>) -> u16 {
    // SAFETY: the caller's promise.
    unsafe { resolve("gex_EP_QueryIndex", ep) }.index
}

/// A team, for calls that a pair of endpoints is no good for.
///
/// # Safety
/// As [`Tm::of`] and [`Object::get`].
pub unsafe fn team<'a>(call: &str, handle: *const Object<Team>) -> &'a Team {
    // SAFETY: the caller's promise.
    match unsafe { Tm::of(call, handle) } {
        // SAFETY: the caller's promise.
        Tm::Team(team) => unsafe { team.get() },
        Tm::Pair { .. } => {
            crate::fatal::die(&format!("{call}: a pair of endpoints (gex_TM_Pair) is not a team"))
        }
    }
}

/// The client of a team or of a pair of endpoints.
///
/// # Safety
/// `tm` names one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gex_TM_QueryClient(tm: *const Object<Team>) -> *const Object<Client> {
    const CALL: &str = "gex_TM_QueryClient";
    // SAFETY: the caller's promise.
    let _ = unsafe { team(CALL, tm) };
    primordial(CALL).client
}

/// This process's endpoint in a team.
///
/// # Safety
/// `tm` names a team.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gex_TM_QueryEP(tm: *const Object<Team>) -> *const Object<Ep> {
    const CALL: &str = "gex_TM_QueryEP";
    // SAFETY: the caller's promise.
    let _ = unsafe { team(CALL, tm) };
    primordial(CALL).ep
}

/// The flags that a team was made with.
///
/// # Safety
/// `tm` names a team.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gex_TM_QueryFlags(tm: *const Object<Team>) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { team("gex_TM_QueryFlags", tm) }.flags
}

/// This process's rank in a team.
///
/// # Safety
/// `tm` names a team.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gex_TM_QueryRank(tm: *const Object<Team>) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { team("gex_TM_QueryRank", tm) }.rank
}

/// Ranks in a team.
///
/// # Safety
/// `tm` names a team.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gex_TM_QuerySize(tm: *const Object<Team>) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { team("gex_TM_QuerySize", tm) }.size
}

/// The objects that every client has, for programs that mix GASNet-1 with GASNet-EX.
///
/// # Safety
/// Each pointer is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasnet_QueryGexObjects(
    client: *mut *const Object<Client>,
    ep: *mut *const Object<Ep>,
    tm: *mut *const Object<Team>,
    segment: *mut *const Object<Segment>,
) {
    let all = primordial("gasnet_QueryGexObjects");
    // SAFETY: the caller's promise; the endpoint lives for ever.
    unsafe {
        give(client, all.client);
        give(ep, all.ep);
        give(tm, all.team);
        give(segment, all.ep.get().segment.load(Ordering::Acquire).cast_const());
    }
}

/// Threads of a process that may call the library; `GASNETI_MAX_THREADS` in C.
const MAX_THREADS: u64 = 256;

/// Live threads of a process that may call the library.
#[unsafe(no_mangle)]
pub extern "C" fn gex_System_QueryMaxThreads() -> u64 {
    if state::state("gex_System_QueryMaxThreads").one_thread { 1 } else { MAX_THREADS }
}

/// 0: handlers run only inside the client's own calls.
#[unsafe(no_mangle)]
pub extern "C" fn gex_System_QueryHiddenAMConcurrencyLevel() -> c_int {
    0
}

/// The progress threads that the client has to start. There are none: a progress thread of this library is
/// its own.
///
/// # Safety
/// `client` names a client; the others are null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gex_System_QueryProgressThreads(
    client: *const Object<Client>,
    count: *mut c_uint,
    info: *mut *const c_void,
    flags: u32,
) -> c_int {
    const CALL: &str = "gex_System_QueryProgressThreads";
    // SAFETY: the caller's promise.
    let client = unsafe { resolve(CALL, client) };
    if count.is_null() || info.is_null() || flags != 0 {
        return refuse(BAD_ARG, CALL, "a null pointer, or flags that are not 0");
    }
    if client.flags & DEFER_THREADS == 0 {
        return refuse(RESOURCE, CALL, "the client was not started with GEX_FLAG_DEFER_THREADS");
    }
    // SAFETY: the caller's promise.
    unsafe {
        count.write(0);
        info.write(std::ptr::null());
    }
    OK
}
