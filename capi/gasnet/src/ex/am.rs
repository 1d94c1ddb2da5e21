//! Active messages: registration, tokens, limits, requests and replies.
//!
//! A payload has been read when the call that sends it returns, so local completion is always
//! `GEX_EVENT_INVALID` or nothing to wait for, whatever was asked for.

#![expect(unsafe_code, reason = "exported to C by name; reads and writes what the client hands over")]

use std::ffi::{c_int, c_uint, c_void};

use gasnet::am as wire;
use gasnet::am::{FIRST_CLIENT_HANDLER, MAX_ARGUMENTS};
use gasnet::region::RegionKey;
use gasnet::{Error, Event, RankId};

use crate::ex::ep::{RemoteAddress, locate, other_region};
use crate::ex::event;
use crate::ex::rma::{IMMEDIATE, jobrank};
use crate::fatal::die;
use crate::handlers::{CToken, Entry, register};
use crate::info::{BAD_ARG, OK, refuse};
use crate::objects::{Ep, Object, Team, Tm, primordial, resolve};
use crate::state::{self, ClientJob};
use crate::{am, context};

/// Registers handlers at an endpoint of this process. Not collective; may be called any number of times.
///
/// # Safety
/// `ep` names an endpoint; `table` has `n` entries.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gex_EP_RegisterHandlers(
    ep: *const Object<Ep>,
    table: *mut Entry,
    n: usize,
) -> c_int {
    const CALL: &str = "gex_EP_RegisterHandlers";
    let state = state::state(CALL);
    context::unrestricted(state, CALL);
    // SAFETY: the caller's promise.
    let _ = unsafe { resolve(CALL, ep) };
    let table = if n == 0 {
        &mut []
    } else if table.is_null() {
        return refuse(BAD_ARG, CALL, "the table of handlers is a null pointer");
    } else {
        // SAFETY: the caller's promise.
        unsafe { std::slice::from_raw_parts_mut(table, n) }
    };
    match register(state, table, true) {
        Ok(()) => OK,
        Err(why) if state.check => die(&format!("{CALL}: {why}")),
        Err(why) => refuse(BAD_ARG, CALL, &why),
    }
}

/// The information about a message that its handler can query, as C declares it.
#[repr(C)]
#[derive(Debug)]
pub struct TokenInfo {
    source: u32,
    ep: *const Object<Ep>,
    entry: *const Entry,
    is_request: c_int,
    is_long: c_int,
}

/// `GEX_TI_ALL`.
const ALL_INFO: c_uint = 31;

/// Tells about the message whose handler is running; returns what it told.
///
/// # Safety
/// `token` is the one the running handler was given; `info` is writable.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gex_Token_Info(
    token: *const c_void,
    info: *mut TokenInfo,
    mask: c_uint,
) -> c_uint {
    const CALL: &str = "gex_Token_Info";
    if token.is_null() || info.is_null() {
        die(&format!("{CALL}: the token or the place for what is told is a null pointer"));
    }
    // SAFETY: the caller's promise.
    let token = unsafe { &*token.cast::<CToken<'_, '_>>() };
    let told = TokenInfo {
        source: token.inner.source().0,
        ep: primordial(CALL).ep,
        entry: token.entry,
        is_request: c_int::from(token.inner.is_request()),
        is_long: c_int::from(token.is_long),
    };
    // SAFETY: the caller's promise.
    unsafe { info.write(told) };
    mask & ALL_INFO
}

/// `GASNETI_AM_SHORT`.
pub const SHORT: c_int = 0;
/// `GASNETI_AM_MEDIUM`.
pub const MEDIUM: c_int = 1;
/// `GASNETI_AM_LONG`.
pub const LONG: c_int = 2;

/// A message of C on its way out.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing<'a> {
    /// [`SHORT`], [`MEDIUM`] or [`LONG`].
    pub kind: c_int,
    /// The handler that it is for.
    pub handler: u8,
    /// Its payload.
    pub src: *const u8,
    /// Bytes of payload.
    pub len: usize,
    /// The destination of a long message's payload, in a segment of a primordial endpoint.
    pub dst: usize,
    /// The destination, if it is in another endpoint's segment.
    pub region: Option<(RegionKey, u64)>,
    /// Its arguments.
    pub args: &'a [u32],
}

/// Arguments as words.
///
/// # Safety
/// `args` has `n` entries.
pub unsafe fn words<'a>(call: &str, n: c_int, args: *const i32) -> &'a [u32] {
    if !(0..=MAX_ARGUMENTS as c_int).contains(&n) {
        die(&format!("{call}: {n} arguments; the most is {MAX_ARGUMENTS}"));
    }
    if n == 0 {
        return &[];
    }
    // SAFETY: the caller's promise; i32 and u32 have the same layout.
    unsafe { std::slice::from_raw_parts(args.cast(), n as usize) }
}

/// Ends the job when a message is for no handler of a client.
#[inline]
pub fn check_handler(call: &str, handler: u8) {
    if handler < FIRST_CLIENT_HANDLER {
        die(&format!(
            "{call}: handler index {handler} is not a client's; those are {FIRST_CLIENT_HANDLER}..255"
        ));
    }
}

/// Ends the job when the core refuses a message: these calls have no error codes.
fn must<T>(call: &str, result: Result<T, Error>) -> T {
    result.unwrap_or_else(|error| die(&format!("{call}: {error}")))
}

/// An address in the segment of a rank as the core has it.
pub fn offset(state: &ClientJob, to: u32, address: usize) -> u64 {
    // Without a segment the address goes as it is.
    let base = state.rank.segment_of(RankId(to)).map_or(0, |entry| entry.addr);
    address.wrapping_sub(base) as u64
}

/// Where the payload of a long message goes, if not to a segment of a primordial endpoint.
///
/// # Safety
/// `tm` names a team or a pair.
pub unsafe fn region(
    state: &ClientJob,
    call: &str,
    kind: c_int,
    tm: *const Object<Team>,
    rank: u32,
    (dst, len): (usize, usize),
) -> Option<(RegionKey, u64)> {
    if kind != LONG || len == 0 {
        return None;
    }
    // SAFETY: the caller's promise.
    match unsafe { locate(state, call, &Tm::of(call, tm), rank, dst) } {
        RemoteAddress::Region(key, at) => Some((key, at)),
        RemoteAddress::Segment(..) => None,
    }
}

/// Sends a request; `false` if it was to be sent immediately and was not sent.
///
/// # Safety
/// The payload is valid.
#[inline]
pub unsafe fn request(state: &ClientJob, call: &str, to: u32, out: &Outgoing<'_>, immediate: bool) -> bool {
    let (rank, id, handler, args, src, len) =
        (state.rank.now(), RankId(to), out.handler, out.args, out.src, out.len);
    // SAFETY: the caller's promise, in all arms.
    unsafe {
        if let Some((key, at)) = out.region {
            must(call, rank.region(&key).request_long(at, handler, args, src, len));
            return true;
        }
        if immediate {
            let sent = match out.kind {
                SHORT => rank.messages().request_short_immediate(id, handler, args),
                MEDIUM => {
                    rank.messages().request_immediate(id, wire::Outgoing::medium(handler, args, src, len))
                }
                _ => {
                    let at = offset(state, to, out.dst);
                    rank.messages().request_immediate(id, wire::Outgoing::long(handler, args, src, len, at))
                }
            };
            return must(call, sent).is_ok();
        }
        must(
            call,
            match out.kind {
                SHORT => rank.request_short(id, handler, args),
                MEDIUM => rank.messages().request_raw(id, wire::Outgoing::medium(handler, args, src, len)),
                _ => {
                    let at = offset(state, to, out.dst);
                    rank.messages().request_raw(id, wire::Outgoing::long(handler, args, src, len, at))
                }
            },
        );
    }
    true
}

/// Sends a reply.
///
/// # Safety
/// The payload is valid.
#[inline]
pub unsafe fn reply(state: &ClientJob, call: &str, token: &CToken<'_, '_>, out: &Outgoing<'_>) {
    let (inner, handler, args, src, len) = (token.inner, out.handler, out.args, out.src, out.len);
    // SAFETY: the caller's promise, in all arms.
    must(call, unsafe {
        match out.kind {
            SHORT => inner.reply_short(handler, args),
            MEDIUM => inner.reply_medium_raw(handler, args, src, len),
            _ => {
                let to = inner.source().0;
                match other_region(state, to, out.dst, len) {
                    Some((key, base)) => {
                        let at = out.dst.wrapping_sub(base) as u64;
                        inner.reply_region_long(&key, at, handler, args, src, len)
                    }
                    None => inner.reply_long_raw(handler, args, src, len, offset(state, to, out.dst)),
                }
            }
        }
    });
}

/// The token of a reply that may be sent now; the reply counts from here.
///
/// # Safety
/// `token` is the one the running handler was given.
pub unsafe fn replying<'a>(call: &str, token: *const c_void) -> &'a CToken<'a, 'a> {
    if token.is_null() {
        die(&format!("{call}: the token is a null pointer: replies are sent from request handlers only"));
    }
    // SAFETY: the caller's promise.
    let token = unsafe { &*token.cast::<CToken<'a, 'a>>() };
    let index = token.index;
    if !token.inner.is_request() {
        die(&format!("{call} was called from reply handler {index}: only request handlers may reply"));
    }
    if token.replied.replace(true) {
        die(&format!("{call}: request handler {index} has replied, or prepared a reply, before"));
    }
    if crate::abi::check() {
        context::refuse_if_locked(call);
    }
    token
}

const REQUESTS: [&str; 3] = ["gex_AM_RequestShort", "gex_AM_RequestMedium", "gex_AM_RequestLong"];
const REPLIES: [&str; 3] = ["gex_AM_ReplyShort", "gex_AM_ReplyMedium", "gex_AM_ReplyLong"];

/// Sends a request of any kind; not 0 if it was to be sent immediately and was not sent.
///
/// # Safety
/// `tm` names a team or a pair; `src` has `len` readable bytes, `args` has `nargs` entries, `lc_opt` is
/// writable if it is a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gasneti_ex_request(
    kind: c_int,
    tm: *const Object<Team>,
    rank: u32,
    handler: u8,
    src: *const u8,
    len: usize,
    dst: *mut c_void,
    lc_opt: *mut usize,
    flags: u32,
    nargs: c_int,
    args: *const i32,
) -> c_int {
    let call = REQUESTS[kind as usize];
    let state = state::ready(call);
    context::unrestricted(state, call);
    check_handler(call, handler);
    // SAFETY: the caller's promise.
    let (to, args) = unsafe { (jobrank(call, tm, rank), words(call, nargs, args)) };
    if kind != SHORT {
        event::local(call, lc_opt, true, false, true);
    }
    // SAFETY: the caller's promise.
    let region = unsafe { region(state, call, kind, tm, rank, (dst as usize, len)) };
    let out = Outgoing { kind, handler, src, len, dst: dst as usize, region, args };
    // SAFETY: the caller's promise.
    unsafe {
        if !request(state, call, to, &out, flags & IMMEDIATE != 0) {
            return 1;
        }
        event::give_local(lc_opt, Event::DONE);
    }
    0
}

/// Replies from a request handler.
///
/// # Safety
/// `token` is the one the running handler was given; the rest as [`gasneti_ex_request`].
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gasneti_ex_reply(
    kind: c_int,
    token: *const c_void,
    handler: u8,
    src: *const u8,
    len: usize,
    dst: *mut c_void,
    lc_opt: *mut usize,
    _flags: u32,
    nargs: c_int,
    args: *const i32,
) -> c_int {
    let call = REPLIES[kind as usize];
    let state = state::ready(call);
    check_handler(call, handler);
    if kind != SHORT {
        event::local(call, lc_opt, true, false, false);
    }
    // SAFETY: the caller's promise.
    unsafe {
        let token = replying(call, token);
        let args = words(call, nargs, args);
        reply(
            state,
            call,
            token,
            &Outgoing { kind, handler, src, len, dst: dst as usize, region: None, args },
        );
        event::give_local(lc_opt, Event::DONE);
    }
    0
}

/// Largest payload of a message of this kind to a rank of the job, or to any if there is none.
pub fn max(call: &str, kind: c_int, to: Option<u32>, nargs: c_uint) -> usize {
    if nargs as usize > MAX_ARGUMENTS {
        die(&format!("{call}: {nargs} arguments; the most is {MAX_ARGUMENTS}"));
    }
    match (kind, to, state::get()) {
        (MEDIUM, ..) => am::gasnet_AMMaxMedium(),
        (_, Some(to), Some(state)) => state.rank.messages().max_long(RankId(to)),
        _ => am::gasnet_AMMaxLongRequest(),
    }
}

/// The same for a call of C, with a rank of a team.
///
/// # Safety
/// `tm` names a team or a pair.
unsafe fn max_to(call: &str, kind: c_int, tm: *const Object<Team>, rank: u32, nargs: c_uint) -> usize {
    // SAFETY: the caller's promise.
    let to = unsafe {
        match rank {
            u32::MAX => {
                let _ = Tm::of(call, tm);
                None
            }
            _ => Some(jobrank(call, tm, rank)),
        }
    };
    max(call, kind, to, nargs)
}

/// The functions that say how large payloads may be. Neither local completion nor preparing makes a
/// difference.
macro_rules! limits {
    ($($max:ident, $lub:ident: $kind:ident;)*) => {
        $(
            /// Largest payload of a message with these parameters.
            ///
            /// # Safety
            /// `tm` names a team or a pair.
            #[unsafe(no_mangle)]
            pub unsafe extern "C-unwind" fn $max(
                tm: *const Object<Team>,
                rank: u32,
                _lc_opt: *const usize,
                _flags: u32,
                nargs: c_uint,
            ) -> usize {
                // SAFETY: the caller's promise.
                unsafe { max_to(stringify!($max), $kind, tm, rank, nargs) }
            }

            /// Largest payload of a message with these parameters to anyone, with any number of arguments.
            #[unsafe(no_mangle)]
            pub extern "C-unwind" fn $lub() -> usize {
                max(stringify!($lub), $kind, None, 0)
            }
        )*
    };
}

limits! {
    gex_AM_MaxRequestMedium, gex_AM_LUBRequestMedium: MEDIUM;
    gex_AM_MaxReplyMedium, gex_AM_LUBReplyMedium: MEDIUM;
    gex_AM_MaxRequestLong, gex_AM_LUBRequestLong: LONG;
    gex_AM_MaxReplyLong, gex_AM_LUBReplyLong: LONG;
}

/// Largest payload of a reply to the message whose handler is running.
///
/// # Safety
/// `token` is the one the running handler was given.
unsafe fn max_reply(call: &str, kind: c_int, token: *const c_void, nargs: c_uint) -> usize {
    if token.is_null() {
        die(&format!("{call}: the token is a null pointer"));
    }
    // SAFETY: the caller's promise.
    let token = unsafe { &*token.cast::<CToken<'_, '_>>() };
    if !token.inner.is_request() {
        die(&format!(
            "{call} was called from reply handler {}: only request handlers may reply",
            token.index
        ));
    }
    max(call, kind, Some(token.inner.source().0), nargs)
}

/// Largest payload of a medium reply.
///
/// # Safety
/// `token` is the one the running handler was given.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gex_Token_MaxReplyMedium(
    token: *const c_void,
    _lc_opt: *const usize,
    _flags: u32,
    nargs: c_uint,
) -> usize {
    // SAFETY: the caller's promise.
    unsafe { max_reply("gex_Token_MaxReplyMedium", MEDIUM, token, nargs) }
}

/// Largest payload of a long reply.
///
/// # Safety
/// `token` is the one the running handler was given.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gex_Token_MaxReplyLong(
    token: *const c_void,
    _lc_opt: *const usize,
    _flags: u32,
    nargs: c_uint,
) -> usize {
    // SAFETY: the caller's promise.
    unsafe { max_reply("gex_Token_MaxReplyLong", LONG, token, nargs) }
}
