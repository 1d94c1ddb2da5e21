//! Messages whose payload is made in a buffer that client and library have agreed on ("negotiated payload").
//!
//! *Prepare* takes a buffer: the client's own, or one of the library, which lies where the message is sent
//! from ([`gasnet::am::Prepared`]). *Commit* sends it, *cancel* gives it up. A thread has at most one request
//! and one reply in the making.

#![expect(unsafe_code, reason = "exported to C by name; hands out buffers to C")]

use std::cell::UnsafeCell;
use std::ffi::{c_int, c_uint, c_void};
use std::mem::MaybeUninit;

use gasnet::am::Prepared;
use gasnet::{Error, Event, RankId};

use crate::context::{self, CONTEXT};
use crate::ex::am::{
    LONG, MEDIUM, Outgoing, check_handler, max, offset, region, reply, replying, request, words,
};
use crate::ex::ep::has_others;
use crate::ex::event;
use crate::ex::rma::{IMMEDIATE, jobrank};
use crate::fatal::die;
use crate::handlers::CToken;
use crate::objects::{Object, Team, Tm};
use crate::state::{self, ClientJob};

/// `GASNETI_AM_IS_REPLY`.
const IS_REPLY: c_int = 4;

/// Where the payload is made. The client's memory needs no release, so this value also stands for a message
/// that is gone.
enum PayloadBuffer {
    /// In the library's memory, from which it is sent without a copy.
    InPlace(Prepared<'static>),
    /// In the client's memory.
    Client,
    /// In memory of its own, if the message goes to an endpoint that is not the primordial one.
    Own { _memory: Vec<u128> },
}

/// A message in the making: what a `gex_AM_SrcDesc_t` points to.
pub struct SrcDesc {
    /// [`MEDIUM`] or [`LONG`], and [`IS_REPLY`].
    what: c_int,
    to: u32,
    /// Of a request: the team or pair, and the rank in it.
    team: (*const Object<Team>, u32),
    nargs: usize,
    address: *mut u8,
    size: usize,
    /// Where the payload of a long message goes, if that was said.
    dest: usize,
    lc_opt: *mut usize,
    buffer: PayloadBuffer,
    /// Of a reply.
    token: *const CToken<'static, 'static>,
}

thread_local! {
    /// Memory for the thread's request and its reply; [`context::Context::prepared`] says which is in use.
    static OWN: [UnsafeCell<MaybeUninit<SrcDesc>>; 2] =
        const { [UnsafeCell::new(MaybeUninit::uninit()), UnsafeCell::new(MaybeUninit::uninit())] };
}

/// A client's request for a negotiated-payload message.
struct Wish {
    call: &'static str,
    what: c_int,
    client: *const c_void,
    least: usize,
    most: usize,
    dest: usize,
    lc_opt: *mut usize,
    flags: u32,
    nargs: c_uint,
}

/// Which of a thread's two messages this is.
fn place(what: c_int) -> usize {
    usize::from(what & IS_REPLY != 0)
}

fn must<T>(call: &str, result: Result<T, Error>) -> T {
    result.unwrap_or_else(|error| die(&format!("{call}: {error}")))
}

/// Makes the descriptor; null if that was to be done immediately and could not.
///
/// # Safety
/// The client's pointers are what the call says; `token` is the running handler's, or null for a request.
unsafe fn prepare(
    state: &'static ClientJob,
    wish: &Wish,
    to: u32,
    team: (*const Object<Team>, u32),
    token: *const CToken<'static, 'static>,
) -> *mut SrcDesc {
    let call = wish.call;
    let kind = wish.what & !IS_REPLY;
    if CONTEXT.with(|c| c.prepared.iter().any(|p| !p.get().is_null())) {
        die(&format!(
            "{call}: this thread has prepared a message and neither committed nor cancelled it: prepared messages do not nest"
        ));
    }
    let largest = max(call, kind, Some(to), wish.nargs);
    if wish.least > wish.most || wish.least > largest {
        die(&format!(
            "{call}: least_payload is {}, most_payload is {}; the least may be neither larger than the most nor than {largest}",
            wish.least, wish.most
        ));
    }
    if wish.client.is_null() {
        if !wish.lc_opt.is_null() {
            die(&format!("{call}: with a buffer of the library (client_buf is null) lc_opt has to be null"));
        }
    } else {
        event::local(call, wish.lc_opt, true, false, wish.what & IS_REPLY == 0);
    }
    let size = wish.most.min(largest);
    let (nargs, immediate) = (wish.nargs as usize, wish.flags & IMMEDIATE != 0);
    // Where a long message to another endpoint than the primordial one goes is known when it is sent.
    // SAFETY: the caller's promise.
    let other_pair = || unsafe { Tm::of(call, team.0) }.is_other_pair();
    let to_other = kind == LONG && if token.is_null() { other_pair() } else { has_others(to) };
    let (address, buffer) = if !wish.client.is_null() {
        (wish.client.cast_mut().cast(), PayloadBuffer::Client)
    } else if to_other {
        let mut memory = vec![0u128; size.div_ceil(16).max(1)];
        (memory.as_mut_ptr().cast(), PayloadBuffer::Own { _memory: memory })
    } else {
        let prepared = if token.is_null() {
            match kind {
                MEDIUM => state.rank.messages().prepare_medium(RankId(to), size, nargs, immediate),
                _ => state.rank.messages().prepare_long(RankId(to), size, nargs, immediate),
            }
        } else {
            // SAFETY: the caller's promise.
            let inner = unsafe { (*token).inner };
            match kind {
                MEDIUM => inner.prepare_medium(size, nargs, immediate),
                _ => inner.prepare_long(size, nargs, immediate),
            }
        };
        let Some(prepared) = must(call, prepared) else { return std::ptr::null_mut() };
        (prepared.address(), PayloadBuffer::InPlace(prepared))
    };
    let (what, dest, lc_opt) = (wish.what, wish.dest, wish.lc_opt);
    let made = SrcDesc { what, to, team, nargs, address, size, dest, lc_opt, buffer, token };
    // SAFETY: the thread's own memory, which nothing uses: nothing is prepared, as was found above.
    let sd = OWN.with(|own| unsafe { (*own[place(what)].get()).write(made) as *mut SrcDesc });
    CONTEXT.with(|c| c.prepared[place(what)].set(sd.cast()));
    sd
}

/// Prepares a request.
///
/// # Safety
/// As the functions of C.
unsafe fn prepare_request(wish: &Wish, tm: *const Object<Team>, rank: u32) -> *mut SrcDesc {
    let state = state::ready(wish.call);
    context::unrestricted(state, wish.call);
    // SAFETY: the caller's promise.
    unsafe {
        let to = jobrank(wish.call, tm, rank);
        prepare(state, wish, to, (tm, rank), std::ptr::null())
    }
}

/// Prepares a reply.
///
/// # Safety
/// As the functions of C.
unsafe fn prepare_reply(wish: &Wish, token: *const c_void) -> *mut SrcDesc {
    let state = state::ready(wish.call);
    // SAFETY: the caller's promise. The handler is running as long as its reply is prepared: it may not
    // return before.
    unsafe {
        let token: &CToken<'static, 'static> = replying(wish.call, token);
        let sd = prepare(state, wish, token.inner.source().0, (std::ptr::null(), 0), token);
        if sd.is_null() {
            token.replied.set(false);
        }
        sd
    }
}

/// Prepares a medium request.
///
/// # Safety
/// `tm` names a team or a pair; `client` has `most` bytes or is null; `lc_opt` is writable if it is a
/// pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gex_AM_PrepareRequestMedium(
    tm: *const Object<Team>,
    rank: u32,
    client: *const c_void,
    least: usize,
    most: usize,
    lc_opt: *mut usize,
    flags: u32,
    nargs: c_uint,
) -> *mut SrcDesc {
    let call = "gex_AM_PrepareRequestMedium";
    let wish = Wish { call, what: MEDIUM, client, least, most, dest: 0, lc_opt, flags, nargs };
    // SAFETY: the caller's promise.
    unsafe { prepare_request(&wish, tm, rank) }
}

/// Prepares a long request.
///
/// # Safety
/// As [`gex_AM_PrepareRequestMedium`].
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gex_AM_PrepareRequestLong(
    tm: *const Object<Team>,
    rank: u32,
    client: *const c_void,
    least: usize,
    most: usize,
    dest: *mut c_void,
    lc_opt: *mut usize,
    flags: u32,
    nargs: c_uint,
) -> *mut SrcDesc {
    let call = "gex_AM_PrepareRequestLong";
    let dest = dest as usize;
    let wish = Wish { call, what: LONG, client, least, most, dest, lc_opt, flags, nargs };
    // SAFETY: the caller's promise.
    unsafe { prepare_request(&wish, tm, rank) }
}

/// Prepares a medium reply.
///
/// # Safety
/// `token` is the one the running handler was given; the rest as [`gex_AM_PrepareRequestMedium`].
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gex_AM_PrepareReplyMedium(
    token: *const c_void,
    client: *const c_void,
    least: usize,
    most: usize,
    lc_opt: *mut usize,
    flags: u32,
    nargs: c_uint,
) -> *mut SrcDesc {
    let call = "gex_AM_PrepareReplyMedium";
    let what = MEDIUM | IS_REPLY;
    let wish = Wish { call, what, client, least, most, dest: 0, lc_opt, flags, nargs };
    // SAFETY: the caller's promise.
    unsafe { prepare_reply(&wish, token) }
}

/// Prepares a long reply.
///
/// # Safety
/// As [`gex_AM_PrepareReplyMedium`].
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gex_AM_PrepareReplyLong(
    token: *const c_void,
    client: *const c_void,
    least: usize,
    most: usize,
    dest: *mut c_void,
    lc_opt: *mut usize,
    flags: u32,
    nargs: c_uint,
) -> *mut SrcDesc {
    let call = "gex_AM_PrepareReplyLong";
    let dest = dest as usize;
    let wish = Wish { call, what: LONG | IS_REPLY, client, least, most, dest, lc_opt, flags, nargs };
    // SAFETY: the caller's promise.
    unsafe { prepare_reply(&wish, token) }
}

/// The message in the making that a descriptor names, if it is this thread's.
fn current(call: &str, sd: *mut SrcDesc, what: Option<c_int>) {
    let own = CONTEXT.with(|c| [c.prepared[0].get(), c.prepared[1].get()]);
    if sd.is_null() || !own.contains(&sd.cast()) {
        die(&format!(
            "{call}: the descriptor does not belong to a message that this thread has prepared and neither committed nor cancelled"
        ));
    }
    // SAFETY: it is alive, as was just found.
    let is = unsafe { (*sd).what };
    if what.is_some_and(|what| what != is) {
        die(&format!("{call}: the message was prepared for another call, {}", COMMITS[index(is)]));
    }
}

/// Of medium and long requests, then of replies.
const COMMITS: [&str; 4] = [
    "gex_AM_CommitRequestMedium",
    "gex_AM_CommitRequestLong",
    "gex_AM_CommitReplyMedium",
    "gex_AM_CommitReplyLong",
];
const CANCELS: [&str; 4] = [
    "gex_AM_CancelRequestMedium",
    "gex_AM_CancelRequestLong",
    "gex_AM_CancelReplyMedium",
    "gex_AM_CancelReplyLong",
];

fn index(what: c_int) -> usize {
    2 * place(what) + usize::from(what & !IS_REPLY == LONG)
}

/// The buffer of a prepared message.
///
/// # Safety
/// `sd` is what this thread has prepared.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gex_AM_SrcDescAddr(sd: *mut SrcDesc) -> *mut c_void {
    current("gex_AM_SrcDescAddr", sd, None);
    // SAFETY: just found to be alive.
    unsafe { (*sd).address.cast() }
}

/// Bytes of the buffer of a prepared message.
///
/// # Safety
/// `sd` is what this thread has prepared.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gex_AM_SrcDescSize(sd: *mut SrcDesc) -> usize {
    current("gex_AM_SrcDescSize", sd, None);
    // SAFETY: just found to be alive.
    unsafe { (*sd).size }
}

/// Sends a prepared message; not 0 if it was to be sent immediately and was not sent: it is still prepared
/// then.
///
/// # Safety
/// `sd` is what this thread has prepared; `args` has `nargs` entries.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gasneti_ex_commit(
    what: c_int,
    sd: *mut SrcDesc,
    handler: u8,
    len: usize,
    dest: *mut c_void,
    flags: u32,
    nargs: c_int,
    args: *const i32,
) -> c_int {
    let call = COMMITS[index(what)];
    current(call, sd, Some(what));
    check_handler(call, handler);
    let state = state::ready(call);
    // SAFETY: the caller's promise.
    let args = unsafe { words(call, nargs, args) };
    // SAFETY: just found to be alive, and the thread's own.
    let this = unsafe { &mut *sd };
    if len > this.size || args.len() != this.nargs {
        die(&format!(
            "{call}: {len} bytes and {nargs} arguments, where {} bytes and {} arguments were prepared",
            this.size, this.nargs
        ));
    }
    if this.dest != 0 && this.dest != dest as usize {
        die(&format!(
            "{call}: the destination is {dest:p}, but {:#x} was given when it was prepared",
            this.dest
        ));
    }
    let release = || CONTEXT.with(|c| c.prepared[place(what)].set(std::ptr::null_mut()));
    let kind = what & !IS_REPLY;
    if matches!(this.buffer, PayloadBuffer::InPlace(_)) {
        // From here on handlers may run, and prepare others.
        release();
        if let PayloadBuffer::InPlace(prepared) = std::mem::replace(&mut this.buffer, PayloadBuffer::Client) {
            let dst = if kind == LONG { offset(state, this.to, dest as usize) } else { 0 };
            must(call, prepared.commit(handler, args, len, dst));
        }
        return 0;
    }
    // SAFETY: what the request was prepared with.
    let region = unsafe {
        if this.token.is_null() {
            region(state, call, kind, this.team.0, this.team.1, (dest as usize, len))
        } else {
            None
        }
    };
    let out = Outgoing { kind, handler, src: this.address, len, dst: dest as usize, region, args };
    // The message is sent by ordinary means, during which handlers may run and prepare others.
    release();
    // SAFETY: the buffer is the client's or the descriptor's own; the handler of the token is running.
    unsafe {
        if this.token.is_null() {
            if !request(state, call, this.to, &out, flags & IMMEDIATE != 0) {
                CONTEXT.with(|c| c.prepared[place(what)].set(sd.cast()));
                return 1;
            }
        } else {
            reply(state, call, &*this.token, &out);
        }
        event::give_local(this.lc_opt, Event::DONE);
    }
    this.buffer = PayloadBuffer::Client;
    0
}

/// Cancels a prepared message.
///
/// # Safety
/// `sd` is what this thread has prepared.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gasneti_ex_cancel(what: c_int, sd: *mut SrcDesc, _flags: u32) -> c_int {
    let call = CANCELS[index(what)];
    current(call, sd, Some(what));
    CONTEXT.with(|c| c.prepared[place(what)].set(std::ptr::null_mut()));
    // SAFETY: just found to be alive, and the thread's own.
    let this = unsafe { &mut *sd };
    this.buffer = PayloadBuffer::Client;
    if !this.token.is_null() {
        // SAFETY: its handler is running.
        unsafe { (*this.token).replied.set(false) };
    }
    0
}
