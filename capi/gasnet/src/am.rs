//! Active messages of GASNet-1.

#![expect(unsafe_code, reason = "exported to C by name; calls C functions through pointers of many types")]

use std::ffi::{c_int, c_void};

use gasnet::am as wire;
use gasnet::am::{FIRST_CLIENT_HANDLER, MAX_ARGUMENTS};
use gasnet::{Error, RankId};

use crate::abi;
use crate::context;
use crate::fatal::die;
use crate::handlers::{self, AnyFn, CToken, Entry};
use crate::info::{BAD_ARG, OK};
use crate::state::{self, ClientJob};
use crate::wait::not_ready;

/// Kinds of message as C names them.
const SHORT: c_int = 0;
const MEDIUM: c_int = 1;
const LONG: c_int = 2;
const LONG_ASYNC: c_int = 3;

/// One entry of the handler table a client passes to `gasnet_attach`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct HandlerEntry {
    /// Its index, or 0 to have one chosen.
    pub index: u8,
    /// The handler.
    pub function: Option<AnyFn>,
}

/// Registers the handlers of a client's GASNet-1 table, and gives those with index 0 one.
pub fn register(state: &ClientJob, table: &mut [HandlerEntry]) -> Result<(), String> {
    let (nothing, no_name) = (std::ptr::null(), std::ptr::null());
    let entry = |e: &HandlerEntry| {
        let (flags, nargs) = (0, 0);
        Entry { index: e.index, function: e.function, flags, nargs, cdata: nothing, name: no_name }
    };
    let mut entries: Vec<Entry> = table.iter().map(entry).collect();
    handlers::register(state, &mut entries, false)?;
    for (to, from) in table.iter_mut().zip(entries) {
        to.index = from.index;
    }
    Ok(())
}

/// A message as C passes it.
struct Outgoing {
    kind: c_int,
    len: usize,
    dst: usize,
}

/// The mistake in the arguments of a send, if there is one.
fn complaint(to: u32, handler: u8, message: &Outgoing, nargs: c_int) -> Option<String> {
    if handler < FIRST_CLIENT_HANDLER {
        return Some(format!(
            "handler index {handler} is not a client's; those are {FIRST_CLIENT_HANDLER}..255"
        ));
    }
    if to >= abi::size() {
        return Some(format!("the destination is node {to}, but the job has {} nodes", abi::size()));
    }
    if !(0..=MAX_ARGUMENTS as c_int).contains(&nargs) {
        return Some(format!("{nargs} arguments; the most is {MAX_ARGUMENTS}"));
    }
    if message.kind == MEDIUM && message.len > gasnet_AMMaxMedium() {
        return Some(format!(
            "a medium payload of {} bytes; the most is {}",
            message.len,
            gasnet_AMMaxMedium()
        ));
    }
    None
}

/// Arguments as words.
///
/// # Safety
/// `args` has `nargs` entries.
unsafe fn words<'a>(nargs: c_int, args: *const i32) -> &'a [u32] {
    if nargs <= 0 {
        return &[];
    }
    // SAFETY: the caller's promise; i32 and u32 have the same layout.
    unsafe { std::slice::from_raw_parts(args.cast(), nargs as usize) }
}

/// Turns what the core says into a return code. A destination outside the segment ends the job, since the
/// data is nowhere; so does every mistake under the rule checks.
fn conclude(state: &ClientJob, call: &str, message: &Outgoing, result: Result<(), Error>) -> c_int {
    match result {
        Ok(()) => OK,
        Err(error) if state.check || message.kind >= LONG => die(&format!("{call}: {error}")),
        Err(_) => BAD_ARG,
    }
}

/// Sends a request of any kind.
///
/// # Safety
/// `src` has `len` readable bytes, `args` has `nargs` entries.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gasneti_am_request(
    kind: c_int,
    to: u32,
    handler: u8,
    src: *const u8,
    len: usize,
    dst: *mut c_void,
    nargs: c_int,
    args: *const i32,
) -> c_int {
    const CALL: &str = "gasnet_AMRequest";
    let state = state::ready(CALL);
    context::unrestricted(state, CALL);
    let message = Outgoing { kind, len, dst: dst as usize };
    if let Some(problem) = complaint(to, handler, &message, nargs) {
        if state.check {
            die(&format!("{CALL}: {problem}"));
        }
        return BAD_ARG;
    }
    // SAFETY: the caller's promise.
    let args = unsafe { words(nargs, args) };
    let rank = state.rank.now();
    // SAFETY: the caller's promise about the payload, in all arms.
    let result = unsafe {
        match kind {
            SHORT => rank.request_short(RankId(to), handler, args),
            MEDIUM => {
                rank.messages().request_raw(RankId(to), wire::Outgoing::medium(handler, args, src, len))
            }
            LONG | LONG_ASYNC => {
                let at = offset(state, to, &message);
                rank.messages().request_raw(RankId(to), wire::Outgoing::long(handler, args, src, len, at))
            }
            _ => Err(Error::op(format!("unknown kind of message {kind}"))),
        }
    };
    conclude(state, CALL, &message, result)
}

/// Replies from a request handler.
///
/// # Safety
/// `token` is the one the running handler was given; the rest as [`gasneti_am_request`].
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gasneti_am_reply(
    kind: c_int,
    token: *const c_void,
    handler: u8,
    src: *const u8,
    len: usize,
    dst: *mut c_void,
    nargs: c_int,
    args: *const i32,
) -> c_int {
    const CALL: &str = "gasnet_AMReply";
    let state = state::ready(CALL);
    if token.is_null() {
        die("gasnet_AMReply: the token is a null pointer: replies are sent from request handlers only");
    }
    // SAFETY: the caller's promise.
    let token = unsafe { &*token.cast::<CToken<'_, '_>>() };
    if !token.inner.is_request() {
        die(&format!(
            "gasnet_AMReply was called from reply handler {}: only request handlers may reply",
            token.index
        ));
    }
    if token.replied.replace(true) {
        die(&format!("gasnet_AMReply was called twice by request handler {}", token.index));
    }
    if state.check {
        context::CONTEXT.with(|context| {
            if !context.innermost.get().is_null() {
                die("gasnet_AMReply was called while holding a handler-safe lock (gasnet_hsl_t): release it first");
            }
        });
    }
    let to = token.inner.source().0;
    let message = Outgoing { kind, len, dst: dst as usize };
    if let Some(problem) = complaint(to, handler, &message, nargs) {
        if state.check {
            die(&format!("{CALL}: {problem}"));
        }
        return BAD_ARG;
    }
    // SAFETY: the caller's promise.
    let args = unsafe { words(nargs, args) };
    // A reply may run handlers of replies on this thread; those have a situation of their own.
    // SAFETY: the caller's promise about the payload, in all arms.
    let result = unsafe {
        match kind {
            SHORT => token.inner.reply_short(handler, args),
            MEDIUM => token.inner.reply_medium_raw(handler, args, src, len),
            _ => token.inner.reply_long_raw(handler, args, src, len, offset(state, to, &message)),
        }
    };
    conclude(state, CALL, &message, result)
}

/// The destination of a long message as an offset in the target's segment.
fn offset(state: &ClientJob, to: u32, message: &Outgoing) -> u64 {
    let base = state.rank.table().get(RankId(to)).map_or(0, |entry| entry.addr);
    message.dst.wrapping_sub(base) as u64
}

/// The sender of the message whose handler is running.
///
/// # Safety
/// `token` is the one the running handler was given; `src` is writable.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gasnet_AMGetMsgSource(token: *const c_void, src: *mut u32) -> c_int {
    if token.is_null() || src.is_null() {
        return BAD_ARG;
    }
    // SAFETY: the caller's promise.
    unsafe { *src = (*token.cast::<CToken<'_, '_>>()).inner.source().0 };
    OK
}

/// Makes progress.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn gasnet_AMPoll() -> c_int {
    const CALL: &str = "gasnet_AMPoll";
    let Some(state) = state::get() else { return crate::info::NOT_INIT };
    context::unrestricted(state, CALL);
    if state.mortal {
        poll_and_look(state);
    } else {
        state.rank.poll();
    }
    OK
}

/// Programs count polls in tenths of nanoseconds: those that look for deaths have a function of their own.
#[cold]
fn poll_and_look(state: &ClientJob) {
    if state.rank.poll() == 0 {
        not_ready(state);
    }
}

/// Most arguments of a message.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn gasnet_AMMaxArgs() -> usize {
    MAX_ARGUMENTS
}

/// Largest payload of a medium message.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn gasnet_AMMaxMedium() -> usize {
    gasnet::am::MAX_MEDIUM
}

/// Largest payload of a long message, to anyone.
fn max_long() -> usize {
    match state::get() {
        Some(state) => *state.world.max_long.get_or_init(|| {
            state.rank.ranks().map(|to| state.rank.messages().max_long(to)).min().unwrap_or(0)
        }),
        None => 0,
    }
}

/// Largest payload of a long request.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn gasnet_AMMaxLongRequest() -> usize {
    max_long()
}

/// Largest payload of a long reply.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn gasnet_AMMaxLongReply() -> usize {
    max_long()
}
