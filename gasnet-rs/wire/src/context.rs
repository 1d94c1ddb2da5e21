//! The code that the calling thread runs: the program, or a function of the program that the runtime has
//! called.
//!
//! One rule, kept in one place ([`Wire::check_context`](crate::Wire::check_context)): a handler and a
//! function of a reduction may not wait, and may not enter a barrier or a collective operation. The runtime
//! calls them in the middle of other work, on which the new wait would depend. A handler's own library calls
//! are looked at under `GASNET_CHECK` only. A function of a reduction is always told, since what it breaks is
//! a hang.

//!
//! A layer above the core keeps three more facts here ([`serving`], [`waiting`], [`reading`]), and waits one
//! ([`attempting`]). All of it
//! belongs to the rank whose code the thread runs. One thread runs one rank, but in the simulated cluster,
//! which switches between ranks in the middle of calls: it takes what belongs to the one ([`exchange`]) and
//! puts back what belongs to the other.

use core::any::Any;
use core::cell::{Cell, OnceCell};
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::Arc;

/// The kind of code that a thread runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Inside {
    /// The program itself.
    #[default]
    Program,
    /// A handler made of a closure, under `GASNET_CHECK`.
    Handler,
    /// A function of a reduction.
    Reduction,
    /// The program itself, between preparing a request and sending it.
    Prepared,
}

/// The data that a thread keeps for the rank whose code it runs; at first none.
#[derive(Clone, Copy, Default)]
pub struct Context {
    inside: Inside,
    serving: bool,
    waiting: bool,
    attempting: bool,
    reading: Option<Reading>,
}

/// In whose terms the thread reads a message: a value that a layer above the core knows.
pub type Reading = &'static (dyn Any + Send + Sync);

impl core::fmt::Debug for Context {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let mut all = f.debug_struct("Context");
        all.field("inside", &self.inside).field("serving", &self.serving).finish_non_exhaustive()
    }
}

thread_local! {
    static INSIDE: Cell<Inside> = const { Cell::new(Inside::Program) };
    static SERVING: Cell<bool> = const { Cell::new(false) };
    static WAITING: Cell<bool> = const { Cell::new(false) };
    static ATTEMPTING: Cell<bool> = const { Cell::new(false) };
    static READING: Cell<Option<Reading>> = const { Cell::new(None) };
    static END: End = const { End(OnceCell::new()) };
}

/// Number of requests that threads have prepared in frames of the conduit, and forgotten when they ended.
pub(crate) type Forgotten = Arc<AtomicU32>;

/// Looks at the end of the thread for a request that it has prepared and forgotten, and counts it for the
/// rank that it has prepared one for first.
struct End(OnceCell<Forgotten>);

impl Drop for End {
    fn drop(&mut self) {
        if let (Some(forgotten), true) = (self.0.get(), is_preparing()) {
            forgotten.fetch_add(1, Relaxed);
        }
    }
}

/// Replaces all that the thread keeps; returns what it was.
pub fn exchange(new: Context) -> Context {
    Context {
        inside: INSIDE.replace(new.inside),
        serving: SERVING.replace(new.serving),
        waiting: WAITING.replace(new.waiting),
        attempting: ATTEMPTING.replace(new.attempting),
        reading: READING.replace(new.reading),
    }
}

/// Whether the thread runs a function that another rank has called.
#[inline]
pub fn serving() -> bool {
    SERVING.get()
}

/// Sets [`serving`]; returns what it was.
#[inline]
pub fn set_serving(serving: bool) -> bool {
    SERVING.replace(serving)
}

/// Whether the thread waits in that layer, which looks after each poll for what handlers have left to the
/// thread.
#[inline]
pub fn waiting() -> bool {
    WAITING.get()
}

/// Sets [`waiting`]; returns what it was.
#[inline]
pub fn set_waiting(waiting: bool) -> bool {
    WAITING.replace(waiting)
}

/// Whether the thread is in an attempt ([`crate::death`]), to which a wait may unwind.
#[inline]
pub fn attempting() -> bool {
    ATTEMPTING.get()
}

/// Sets [`attempting`]; returns what it was.
#[inline]
pub(crate) fn set_attempting(attempting: bool) -> bool {
    ATTEMPTING.replace(attempting)
}

/// In whose terms the thread reads a message, if it reads one.
#[inline]
pub fn reading() -> Option<Reading> {
    READING.get()
}

/// Sets [`reading`]; returns what it was.
#[inline]
pub fn set_reading(reading: Option<Reading>) -> Option<Reading> {
    READING.replace(reading)
}

/// The thread is inside such a function until this is dropped.
#[derive(Debug)]
pub struct Entered(Inside);

/// Notes that the calling thread enters such a function.
pub fn enter(inside: Inside) -> Entered {
    Entered(INSIDE.replace(inside))
}

impl Drop for Entered {
    fn drop(&mut self) {
        INSIDE.set(self.0);
    }
}

/// [`enter`] after a request was prepared in a frame of the conduit.
pub(crate) fn prepared(forgotten: &Forgotten) -> Entered {
    // Not from the destructors of a thread that ends.
    let _ = END.try_with(|end| _ = end.0.get_or_init(|| forgotten.clone()));
    enter(Inside::Prepared)
}

/// Whether the thread runs the program itself.
pub fn in_program() -> bool {
    INSIDE.get() == Inside::Program
}

/// Whether the thread has prepared a request and not sent it yet.
pub(crate) fn is_preparing() -> bool {
    INSIDE.get() == Inside::Prepared
}

/// Why a function that the runtime has called may not do what only the program may, in words; `None` if the
/// program itself is running.
pub(crate) fn objection(what: &str) -> Option<String> {
    Some(match INSIDE.get() {
        Inside::Program => return None,
        Inside::Reduction => format!(
            "a function of a reduction may not {what}: it may only combine its operands. Return from it first"
        ),
        Inside::Prepared => format!(
            "between preparing a request and committing or cancelling it a thread may not {what}: it has the room to send from everybody. \
             A prepared message that was forgotten (`mem::forget`) is neither committed nor cancelled"
        ),
        Inside::Handler => {
            format!("a handler may not {what}: it may reply to its request, and must not wait")
        }
    })
}
