//! Put and get: the library half of `gasnet_ex_rma.h`.
//!
//! Calls arrive here when the inline code has no mapping of the target, for other teams than the first, when
//! something is wrong, and always under `GASNET_CHECK=1`.

#![expect(unsafe_code, reason = "exported to C by name; moves the caller's bytes")]

use std::ffi::{c_int, c_void};

use gasnet::region::RegionError;
use gasnet::{Event, Local, Refused};

use crate::context;
use crate::ex::ep::{RemoteAddress, locate};
use crate::ex::event::{self, NO_OP};
use crate::fatal::die;
use crate::objects::{Object, Team, Tm};
use crate::state::{self, ClientJob};

/// `GEX_FLAG_IMMEDIATE`.
pub const IMMEDIATE: u32 = 1;
/// The result of a call with `GEX_FLAG_IMMEDIATE` that could not be done at once.
const NOT_DONE: c_int = 1;

/// A target: the state, and where the address is.
///
/// # Safety
/// `tm` names a team or a pair of endpoints.
#[inline]
unsafe fn target(
    call: &'static str,
    tm: *const Object<Team>,
    rank: u32,
    address: usize,
) -> (&'static ClientJob, RemoteAddress) {
    let state = state::ready(call);
    context::unrestricted(state, call);
    // SAFETY: the caller's promise.
    let place = unsafe { locate(state, call, &Tm::of(call, tm), rank, address) };
    if let RemoteAddress::Segment(..) = place {
        state::attached(call);
    }
    (state, place)
}

/// The rank in the job of a rank of a team, or of a pair of endpoints.
///
/// # Safety
/// `tm` names a team or a pair of endpoints.
#[inline]
pub unsafe fn jobrank(call: &str, tm: *const Object<Team>, rank: u32) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { Tm::of(call, tm).jobrank(call, rank) }
}

/// Ends the job when a region refuses an access: these calls have no error codes.
fn granted(call: &str, result: Result<(), RegionError>) {
    if let Err(why) = result {
        die(&format!("{call}: {why}"));
    }
}

/// Blocking put.
///
/// # Safety
/// `tm` names a team or a pair; `src` has `n` readable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gasneti_ex_put(
    tm: *const Object<Team>,
    rank: u32,
    dest: *mut c_void,
    src: *const c_void,
    n: usize,
    flags: u32,
) -> c_int {
    const CALL: &str = "gex_RMA_PutBlocking";
    // SAFETY: the caller's promise.
    let (state, at) = unsafe { target(CALL, tm, rank, dest as usize) };
    if n == 0 {
        return 0;
    }
    // SAFETY: the caller's promise.
    unsafe {
        let (to, offset) = match at {
            RemoteAddress::Segment(to, offset) => (to, offset),
            RemoteAddress::Region(key, at) => {
                granted(CALL, state.rank.region(&key).put(at, src.cast(), n));
                return 0;
            }
        };
        if flags & IMMEDIATE != 0 {
            match state.rank.start_put(to, offset, src.cast(), n, Local::Defer, true) {
                Ok(event) => state.rank.wait(event),
                Err(Refused) => return NOT_DONE,
            }
        } else {
            state.rank.put(to, offset, src.cast(), n);
        }
    }
    0
}

/// Blocking get.
///
/// # Safety
/// `tm` names a team or a pair; `dest` has `n` writable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gasneti_ex_get(
    tm: *const Object<Team>,
    dest: *mut c_void,
    rank: u32,
    src: *const c_void,
    n: usize,
    flags: u32,
) -> c_int {
    const CALL: &str = "gex_RMA_GetBlocking";
    // SAFETY: the caller's promise.
    let (state, at) = unsafe { target(CALL, tm, rank, src as usize) };
    if n == 0 {
        return 0;
    }
    // SAFETY: the caller's promise.
    unsafe {
        let (from, offset) = match at {
            RemoteAddress::Segment(from, offset) => (from, offset),
            RemoteAddress::Region(key, at) => {
                granted(CALL, state.rank.region(&key).get(dest.cast(), at, n));
                return 0;
            }
        };
        if flags & IMMEDIATE != 0 {
            match state.rank.start_get(dest.cast(), from, offset, n, true) {
                Ok(event) => state.rank.wait(event),
                Err(Refused) => return NOT_DONE,
            }
        } else {
            state.rank.get(dest.cast(), from, offset, n);
        }
    }
    0
}

/// The event of an operation as a word.
fn word(result: Result<Event, Refused>) -> usize {
    result.map_or(NO_OP, |event| event.into_raw() as usize)
}

/// Starts a put with an event.
///
/// # Safety
/// `tm` names a team or a pair; `src` has `n` readable bytes as long as `lc_opt` says, which is writable if
/// it is a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gasneti_ex_put_nb(
    tm: *const Object<Team>,
    rank: u32,
    dest: *mut c_void,
    src: *const c_void,
    n: usize,
    lc_opt: *mut usize,
    flags: u32,
) -> usize {
    const CALL: &str = "gex_RMA_PutNB";
    // SAFETY: the caller's promise.
    let (state, at) = unsafe { target(CALL, tm, rank, dest as usize) };
    let local = event::local(CALL, lc_opt, true, true, false);
    let mut result = Ok(Event::DONE);
    // SAFETY: the caller's promise.
    unsafe {
        let (to, offset) = match at {
            RemoteAddress::Segment(to, offset) => (to, offset),
            RemoteAddress::Region(key, at) => {
                event::give_local(lc_opt, Event::DONE);
                let put = if n > 0 { state.rank.region(&key).put_nb(at, src.cast(), n) } else { Event::DONE };
                return word(Ok(put));
            }
        };
        if n > 0 {
            result = state.rank.start_put(to, offset, src.cast(), n, local, flags & IMMEDIATE != 0);
        }
        if let (Local::Leaf, Ok(root)) = (local, result) {
            event::give_local(lc_opt, state.rank.events().leaf(root));
        }
    }
    word(result)
}

/// Starts a get with an event.
///
/// # Safety
/// `tm` names a team or a pair; `dest` has `n` writable bytes until completion.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gasneti_ex_get_nb(
    tm: *const Object<Team>,
    dest: *mut c_void,
    rank: u32,
    src: *const c_void,
    n: usize,
    flags: u32,
) -> usize {
    const CALL: &str = "gex_RMA_GetNB";
    // SAFETY: the caller's promise.
    let (state, at) = unsafe { target(CALL, tm, rank, src as usize) };
    // SAFETY: the caller's promise.
    unsafe {
        let (from, offset) = match at {
            RemoteAddress::Segment(from, offset) => (from, offset),
            RemoteAddress::Region(_, _) if n == 0 => return 0,
            RemoteAddress::Region(key, at) => {
                return word(Ok(state.rank.region(&key).get_nb(dest.cast(), at, n)));
            }
        };
        if n > 0 {
            return word(state.rank.start_get(dest.cast(), from, offset, n, flags & IMMEDIATE != 0));
        }
    }
    0
}

/// Starts an implicit put.
///
/// # Safety
/// `tm` names a team or a pair; `src` has `n` readable bytes as long as `lc_opt` says.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gasneti_ex_put_nbi(
    tm: *const Object<Team>,
    rank: u32,
    dest: *mut c_void,
    src: *const c_void,
    n: usize,
    lc_opt: *mut usize,
    flags: u32,
) -> c_int {
    const CALL: &str = "gex_RMA_PutNBI";
    // SAFETY: the caller's promise.
    let (state, at) = unsafe { target(CALL, tm, rank, dest as usize) };
    let local = event::local(CALL, lc_opt, false, true, true);
    // SAFETY: the caller's promise.
    unsafe {
        let (to, offset) = match at {
            RemoteAddress::Segment(to, offset) => (to, offset),
            RemoteAddress::Region(key, at) => {
                if n > 0 {
                    state.rank.region(&key).put_nbi(at, src.cast(), n);
                }
                return 0;
            }
        };
        if n > 0 {
            let immediate = flags & IMMEDIATE != 0;
            let result = state.rank.implicit().start_put(to, offset, src.cast(), n, local, immediate);
            return result.map_or(NOT_DONE, |()| 0);
        }
    }
    0
}

/// Starts an implicit get.
///
/// # Safety
/// `tm` names a team or a pair; `dest` has `n` writable bytes until completion.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gasneti_ex_get_nbi(
    tm: *const Object<Team>,
    dest: *mut c_void,
    rank: u32,
    src: *const c_void,
    n: usize,
    flags: u32,
) -> c_int {
    const CALL: &str = "gex_RMA_GetNBI";
    // SAFETY: the caller's promise.
    let (state, at) = unsafe { target(CALL, tm, rank, src as usize) };
    // SAFETY: the caller's promise.
    unsafe {
        let (from, offset) = match at {
            RemoteAddress::Segment(from, offset) => (from, offset),
            RemoteAddress::Region(key, at) => {
                if n > 0 {
                    state.rank.region(&key).get_nbi(dest.cast(), at, n);
                }
                return 0;
            }
        };
        if n > 0 {
            let result =
                state.rank.implicit().start_get(dest.cast(), from, offset, n, flags & IMMEDIATE != 0);
            return result.map_or(NOT_DONE, |()| 0);
        }
    }
    0
}
