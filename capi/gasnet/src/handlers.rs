//! C functions behind the core's handler table: registration, and the call with the right number of
//! arguments.
//!
//! A C handler is a function of a token, for medium and long messages a buffer and its length, and 0 to 16
//! ints. The core calls `trampoline`, which calls the C function.

#![expect(unsafe_code, reason = "calls C functions through pointers of many types")]

use gasnet_sys::mutex::lock;
use std::cell::Cell;
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::Mutex;

use gasnet::am::{FIRST_CLIENT_HANDLER, Handler, Kind, MAX_ARGUMENTS, Message, Token};

use crate::abi;
use crate::context::{self, Handling};
use crate::fatal::die;
use crate::state::{ClientJob, PerWorld};

/// A C handler of unknown arguments.
pub type AnyFn = unsafe extern "C-unwind" fn();

/// `GEX_FLAG_AM_REQUEST`.
const REQUEST: u32 = 1 << 3;
/// `GEX_FLAG_AM_REPLY`.
const REPLY: u32 = 1 << 4;

/// `GEX_FLAG_AM_SHORT`, `_MEDIUM` and `_LONG`.
const ANY_KIND: u32 = 7;
/// `GEX_FLAG_AM_REQUEST` and `_REPLY`.
const ANY_DIRECTION: u32 = 3 << 3;

/// One handler, as C declares it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its index, or 0 to have one chosen.
    pub index: u8,
    /// The handler.
    pub function: Option<AnyFn>,
    /// Kinds of message, and whether of requests or replies.
    pub flags: u32,
    /// How many arguments its messages have.
    pub nargs: c_uint,
    /// The client's own pointer.
    pub cdata: *const c_void,
    /// The client's name for it.
    pub name: *const c_char,
}

/// Which handlers are registered, by index.
static TAKEN: PerWorld<Mutex<[bool; 256]>> = PerWorld::empty();

/// Gives every entry of a client's table an index, and registers it. Entries with index 0 get the highest
/// index that is free, in table order and after all others, so the same tables have the same result on every
/// rank. Nothing is registered if something is wrong.
pub fn register(state: &ClientJob, table: &mut [Entry], declared: bool) -> Result<(), String> {
    let mut taken = lock(TAKEN.of(state, || Mutex::new([false; 256])));
    let mut will_be = *taken;
    for entry in table.iter().filter(|entry| entry.index != 0) {
        let index = entry.index;
        if index < FIRST_CLIENT_HANDLER {
            return Err(format!(
                "handler index {index} is reserved: use {FIRST_CLIENT_HANDLER}..255, or 0 for any"
            ));
        }
        if std::mem::replace(&mut will_be[usize::from(index)], true) {
            let again = table.iter().filter(|other| other.index == index).count() > 1;
            let why = if again { "appears twice in the table" } else { "is registered already" };
            return Err(format!("handler index {index} {why}"));
        }
    }
    for (place, entry) in table.iter().enumerate() {
        if entry.function.is_none() {
            return Err(format!(
                "entry {place} of the table of handlers has a null pointer for its function"
            ));
        }
        if declared && entry.nargs as usize > MAX_ARGUMENTS {
            return Err(format!(
                "entry {place} of the table of handlers has {} arguments; the most is {MAX_ARGUMENTS}",
                entry.nargs
            ));
        }
        if declared && (entry.flags & ANY_KIND == 0 || entry.flags & ANY_DIRECTION == 0) {
            return Err(format!(
                "entry {place} of the table of handlers says with flags {:#x} neither of what kind its messages are nor whether they are \
                 requests or replies: both are needed (GEX_FLAG_AM_SHORT, _MEDIUM, _LONG; GEX_FLAG_AM_REQUEST, _REPLY)",
                entry.flags
            ));
        }
    }
    for entry in table.iter_mut().filter(|entry| entry.index == 0) {
        let free = (FIRST_CLIENT_HANDLER..=255).rev().find(|&index| !will_be[usize::from(index)]);
        entry.index = free.ok_or("more than 128 handlers")?;
        will_be[usize::from(entry.index)] = true;
    }
    for entry in table.iter() {
        install(state, *entry, declared)?;
    }
    *taken = will_be;
    Ok(())
}

/// The data of a registered handler for the trampoline.
struct Registered {
    entry: Entry,
    function: AnyFn,
    /// The entry says of which messages the handler is.
    declared: bool,
}

/// The object behind a `gasnet_token_t`, as long as the handler runs.
pub struct CToken<'a, 'b> {
    pub(crate) inner: &'a Token<'b>,
    pub(crate) replied: Cell<bool>,
    /// The handler.
    pub(crate) entry: *const Entry,
    pub(crate) index: u8,
    pub(crate) is_long: bool,
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
        let f: unsafe extern "C-unwind" fn($($type,)* $(int!($i)),*) = unsafe { std::mem::transmute($function) };
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

/// The function that the core calls for every message to a C handler.
///
/// # Safety
/// `data` points to a [`Registered`] that lives for ever.
unsafe fn trampoline(data: *const (), token: &Token<'_>, message: &Message<'_>) {
    // SAFETY: registered with this type.
    let registered = unsafe { &*data.cast::<Registered>() };
    deliver(registered, token, message.kind, message.payload, message.len, message.args);
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
    let index = registered.entry.index;
    let is_long = kind == Kind::Long;
    let ctoken = CToken {
        inner: token,
        replied: Cell::new(false),
        entry: &raw const registered.entry,
        index,
        is_long,
    };
    let handle: *mut c_void = (&raw const ctoken).cast_mut().cast();
    let checked = abi::check();
    let before = checked.then(|| {
        if registered.declared {
            check_declaration(&registered.entry, token, kind, args.len());
        }
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
        context::leave(index, before);
    }
}

/// Ends the job when a message is not what its handler was declared for.
fn check_declaration(entry: &Entry, token: &Token<'_>, kind: Kind, nargs: usize) {
    let kind_flag = 1 << kind as u32;
    let (direction, name) = if token.is_request() { (REQUEST, "request") } else { (REPLY, "reply") };
    let from = token.source();
    let index = entry.index;
    if entry.flags & kind_flag == 0 || entry.flags & direction == 0 {
        die(&format!(
            "node {from} sent a {kind:?} {name} to handler {index}, which was registered with flags {:#x} for others",
            entry.flags
        ));
    }
    if entry.nargs as usize != nargs {
        die(&format!(
            "node {from} sent {nargs} arguments to handler {index}, which was registered with {}",
            entry.nargs
        ));
    }
}

/// Registers a handler with the core under the index that its entry has.
fn install(state: &ClientJob, entry: Entry, declared: bool) -> Result<(), String> {
    let function = entry.function.ok_or_else(|| format!("handler {} is a null pointer", entry.index))?;
    let registered: &'static Registered = Box::leak(Box::new(Registered { entry, function, declared }));
    // SAFETY: `trampoline` expects exactly this pointer, which lives for ever; C handlers may run on any
    // thread.
    let handler = unsafe { Handler::from_raw(trampoline, std::ptr::from_ref(registered).cast()) };
    state.rank.register(entry.index, handler).map_err(|error| error.to_string())
}
