//! Active messages: C handlers behind the core's handler table, and the sends.
//!
//! A C handler is a function of a token, for medium and long messages a buffer and its length, and 0 to 16 ints. The
//! core calls `trampoline`, which calls the C function with the right number of arguments.

#![expect(unsafe_code, reason = "exported to C by name; calls C functions through pointers of many types")]

use std::cell::Cell;
use std::ffi::{c_int, c_void};

use gasnet::am::{FIRST_CLIENT_HANDLER, Handler, Kind, MAX_ARGUMENTS, Message, Token};
use gasnet::{Error, RankId};

use crate::context::{self, Handling};
use crate::fatal::die;
use crate::info::{BAD_ARG, OK};
use crate::state::{self, State};
use crate::{abi, everything};

/// A C handler of unknown arguments.
pub type AnyFn = unsafe extern "C" fn();

/// Kinds of message as C names them.
const SHORT: c_int = 0;
const MEDIUM: c_int = 1;
const LONG: c_int = 2;
const LONG_ASYNC: c_int = 3;

/// One entry of the handler table a client passes to `gasnet_attach`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct HandlerEntry {
    /// Index, or 0 for any.
    pub index: u8,
    /// The handler.
    pub function: Option<AnyFn>,
}

/// What the trampoline needs to know about a handler.
struct Registered {
    index: u8,
    function: AnyFn,
}

/// What a `gasnet_token_t` points to, as long as the handler runs.
pub struct CToken<'a, 'b> {
    inner: &'a Token<'b>,
    replied: Cell<bool>,
    index: u8,
}

/// The C type of one argument.
macro_rules! int {
    ($i:literal) => {
        c_int
    };
}

/// Calls a C function with fixed arguments and then the message's arguments of these indices.
macro_rules! call {
    ($function:expr, [$($type:ty = $fixed:expr),*], $args:expr, $($i:literal)*) => {{
        // SAFETY: the client registered this function for messages with this many arguments.
        let f: unsafe extern "C" fn($($type,)* $(int!($i)),*) = unsafe { std::mem::transmute($function) };
        // SAFETY: as above; the arguments are what the message carries.
        unsafe { f($($fixed,)* $($args[$i] as c_int),*) }
    }};
}

/// [`call!`] with as many arguments as the message has.
macro_rules! by_count {
    ($function:expr, $fixed:tt, $args:expr; $($count:literal: $($i:literal)*),* $(,)?) => {
        match $args.len() {
            $($count => call!($function, $fixed, $args, $($i)*),)*
            n => die(&format!("an active message arrived with {n} arguments")),
        }
    };
}

/// [`by_count!`] for every number of arguments.
macro_rules! dispatch {
    ($function:expr, $fixed:tt, $args:expr) => {
        by_count!($function, $fixed, $args;
            0: , 1: 0, 2: 0 1, 3: 0 1 2, 4: 0 1 2 3, 5: 0 1 2 3 4, 6: 0 1 2 3 4 5, 7: 0 1 2 3 4 5 6,
            8: 0 1 2 3 4 5 6 7, 9: 0 1 2 3 4 5 6 7 8, 10: 0 1 2 3 4 5 6 7 8 9, 11: 0 1 2 3 4 5 6 7 8 9 10,
            12: 0 1 2 3 4 5 6 7 8 9 10 11, 13: 0 1 2 3 4 5 6 7 8 9 10 11 12,
            14: 0 1 2 3 4 5 6 7 8 9 10 11 12 13, 15: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14,
            16: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15)
    };
}

/// What the core calls for every message to a C handler.
///
/// # Safety
/// `data` points to a [`Registered`] that lives for ever.
unsafe fn trampoline(data: *const (), token: &Token<'_>, message: &Message<'_>) {
    // SAFETY: registered with this type.
    let registered = unsafe { &*data.cast::<Registered>() };
    let mut payload = message.payload;
    let mut kind = message.kind;
    let mut len = message.len;
    if state::get().is_some_and(|state| state.everything) && kind == Kind::Medium {
        // SAFETY: medium payloads of such programs begin with the header that `everything` puts there.
        (kind, payload, len) = unsafe { everything::open(payload, len) };
    }
    deliver(registered, token, kind, payload, len, message.args);
}

#[inline]
fn deliver(
    registered: &Registered,
    token: &Token<'_>,
    kind: Kind,
    payload: *mut u8,
    len: usize,
    args: &[u32],
) {
    let ctoken = CToken { inner: token, replied: Cell::new(false), index: registered.index };
    let handle: *mut c_void = (&raw const ctoken).cast_mut().cast();
    let checked = abi::check();
    let before = checked.then(|| {
        let index = registered.index;
        context::enter(if token.is_request() { Handling::Request(index) } else { Handling::Reply(index) })
    });
    let buffer: *mut c_void = payload.cast();
    match kind {
        Kind::Short => dispatch!(registered.function, [*mut c_void = handle], args),
        Kind::Medium | Kind::Long => {
            dispatch!(registered.function, [*mut c_void = handle, *mut c_void = buffer, usize = len], args)
        }
    }
    if let Some(before) = before {
        context::leave(registered.index, before);
    }
}

/// Gives every entry of a client's table an index and registers it with the core. Entries with index 0 get the
/// highest index that is free, in table order, so the same table has the same result on every rank.
pub fn register(state: &State, table: &mut [HandlerEntry]) -> Result<(), String> {
    let mut used = [false; 256];
    for entry in table.iter().filter(|entry| entry.index != 0) {
        if entry.index < FIRST_CLIENT_HANDLER {
            return Err(format!(
                "handler index {} is reserved: use {}..255, or 0 for any",
                entry.index, FIRST_CLIENT_HANDLER
            ));
        }
        if std::mem::replace(&mut used[entry.index as usize], true) {
            return Err(format!("handler index {} appears twice in the table", entry.index));
        }
    }
    for entry in table.iter_mut() {
        if entry.index == 0 {
            let free = (FIRST_CLIENT_HANDLER..=255).rev().find(|&index| !used[index as usize]);
            entry.index = free.ok_or("more than 128 handlers")?;
            used[entry.index as usize] = true;
        }
        let function = entry.function.ok_or_else(|| format!("handler {} is a null pointer", entry.index))?;
        let registered: &'static Registered =
            Box::leak(Box::new(Registered { index: entry.index, function }));
        // SAFETY: `trampoline` expects exactly this pointer, which lives for ever; C handlers may run on any thread.
        let handler = unsafe { Handler::from_raw(trampoline, std::ptr::from_ref(registered).cast()) };
        state.rank.register(entry.index, handler).map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// A message as C passes it.
struct Outgoing {
    kind: c_int,
    len: usize,
    dst: usize,
}

/// What is wrong with the arguments of a send, if anything.
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

/// Turns what the core says into a return code. A destination outside the segment ends the job, since the data is
/// nowhere; so does every mistake under the rule checks.
fn conclude(state: &State, call: &str, message: &Outgoing, result: Result<(), Error>) -> c_int {
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
pub unsafe extern "C" fn gasneti_am_request(
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
    let state = state::attached(CALL);
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
    let rank = state.rank;
    // SAFETY: the caller's promise about the payload, in all arms.
    let result = unsafe {
        match kind {
            SHORT => rank.request_short(RankId(to), handler, args),
            _ if state.everything => everything::wrap(kind >= LONG, src, len, dst as usize, |bytes| {
                rank.request_medium(RankId(to), handler, args, bytes)
            }),
            MEDIUM => rank.request_medium_raw(RankId(to), handler, args, src, len),
            LONG | LONG_ASYNC => {
                rank.request_long_raw(RankId(to), handler, args, src, len, offset(state, to, &message))
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
pub unsafe extern "C" fn gasneti_am_reply(
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
    let state = state::attached(CALL);
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
            _ if state.everything => everything::wrap(kind >= LONG, src, len, dst as usize, |bytes| {
                token.inner.reply_medium(handler, args, bytes)
            }),
            MEDIUM => token.inner.reply_medium_raw(handler, args, src, len),
            _ => token.inner.reply_long_raw(handler, args, src, len, offset(state, to, &message)),
        }
    };
    conclude(state, CALL, &message, result)
}

/// The destination of a long message as an offset in the target's segment.
fn offset(state: &State, to: u32, message: &Outgoing) -> u64 {
    let base = state.rank.table().get(RankId(to)).map_or(0, |entry| entry.addr);
    message.dst.wrapping_sub(base) as u64
}

/// The sender of the message whose handler is running.
///
/// # Safety
/// `token` is the one the running handler was given; `src` is writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasnet_AMGetMsgSource(token: *const c_void, src: *mut u32) -> c_int {
    if token.is_null() || src.is_null() {
        return BAD_ARG;
    }
    // SAFETY: the caller's promise.
    unsafe { *src = (*token.cast::<CToken<'_, '_>>()).inner.source().0 };
    OK
}

/// Makes progress.
#[unsafe(no_mangle)]
pub extern "C" fn gasnet_AMPoll() -> c_int {
    const CALL: &str = "gasnet_AMPoll";
    let Some(state) = state::get() else { return crate::info::NOT_INIT };
    context::unrestricted(state, CALL);
    state.rank.poll();
    OK
}

/// Most arguments of a message.
#[unsafe(no_mangle)]
pub extern "C" fn gasnet_AMMaxArgs() -> usize {
    MAX_ARGUMENTS
}

/// Largest payload of a medium message.
#[unsafe(no_mangle)]
pub extern "C" fn gasnet_AMMaxMedium() -> usize {
    match state::get() {
        Some(state) if state.everything => gasnet::am::MAX_MEDIUM - everything::HEADER,
        _ => gasnet::am::MAX_MEDIUM,
    }
}

/// Largest payload of a long message, to anyone.
fn max_long() -> usize {
    match state::get() {
        Some(state) if state.everything => gasnet_AMMaxMedium(),
        Some(state) => *state
            .max_long
            .get_or_init(|| state.rank.ranks().map(|to| state.rank.max_long(to)).min().unwrap_or(0)),
        None => 0,
    }
}

/// Largest payload of a long request.
#[unsafe(no_mangle)]
pub extern "C" fn gasnet_AMMaxLongRequest() -> usize {
    max_long()
}

/// Largest payload of a long reply.
#[unsafe(no_mangle)]
pub extern "C" fn gasnet_AMMaxLongReply() -> usize {
    max_long()
}
