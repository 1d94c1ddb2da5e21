//! Rules about the calls that a thread may make now, in handlers, with handler-safe locks and in
//! no-interrupt sections (GASNet spec 1.8, section 2.4). Recorded and enforced under `GASNET_CHECK=1` only.

use std::cell::Cell;
use std::ffi::c_void;
use std::sync::atomic::AtomicU32;

use crate::fatal::die;
use crate::state::ClientJob;

/// The kind of handler that a thread is running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handling {
    /// None.
    No,
    /// The handler of a request, by index.
    Request(u8),
    /// The handler of a reply, by index.
    Reply(u8),
}

/// A handler-safe lock as C declares it; [`crate::hsl`] takes and releases it.
#[repr(C)]
#[derive(Debug)]
pub struct Hsl {
    /// Free, taken, or awaited.
    pub(crate) state: AtomicU32,
    /// Says that it was initialised.
    pub(crate) mark: u32,
    /// Thread that holds it, when checked.
    pub(crate) owner: u64,
    /// The lock its holder took before, when checked.
    pub(crate) outer: *mut Hsl,
}

/// One thread's situation.
#[derive(Debug)]
pub struct Context {
    /// The handler it is in.
    pub handling: Cell<Handling>,
    /// The lock it took last and still holds; the lock names the one before.
    pub innermost: Cell<*mut Hsl>,
    /// It is in an explicit no-interrupt section.
    pub no_interrupt: Cell<bool>,
    /// The request it has prepared and not sent yet, and the reply; kept always.
    pub prepared: [Cell<*mut c_void>; 2],
}

thread_local! {
    /// The calling thread's situation.
    pub static CONTEXT: Context = const {
        Context {
            handling: Cell::new(Handling::No),
            innermost: Cell::new(std::ptr::null_mut()),
            no_interrupt: Cell::new(false),
            prepared: [Cell::new(std::ptr::null_mut()), Cell::new(std::ptr::null_mut())],
        }
    };
}

/// Refuses a call that may not be made from a handler, while holding a lock, or in a no-interrupt section.
#[inline]
pub fn unrestricted(state: &ClientJob, call: &str) {
    if state.check {
        refuse_if_restricted(call);
    }
}

#[cold]
fn refuse_if_restricted(call: &str) {
    CONTEXT.with(|context| {
        match context.handling.get() {
            Handling::No => {}
            Handling::Request(index) | Handling::Reply(index) => die(&format!(
                "{call} was called from active-message handler {index}: a handler may only reply, use \
                 handler-safe locks, and ask who it is"
            )),
        }
        if !context.innermost.get().is_null() {
            die(&format!(
                "{call} was called while holding a handler-safe lock (gasnet_hsl_t): release it first"
            ));
        }
        if !context.prepared[0].get().is_null() {
            die(&format!(
                "{call} was called between preparing a request and committing or cancelling it: do that first"
            ));
        }
        if context.no_interrupt.get() {
            die(&format!("{call} was called in a no-interrupt section: call gasnet_resume_interrupts first"));
        }
    });
}

/// Refuses a reply while holding a lock.
#[cold]
pub fn refuse_if_locked(call: &str) {
    CONTEXT.with(|context| {
        if !context.innermost.get().is_null() {
            die(&format!(
                "{call} was called while holding a handler-safe lock (gasnet_hsl_t): release it first"
            ));
        }
    });
}

/// Enters a handler; returns what the thread was doing.
pub fn enter(handling: Handling) -> (Handling, *mut Hsl, bool) {
    CONTEXT.with(|c| {
        (
            c.handling.replace(handling),
            c.innermost.replace(std::ptr::null_mut()),
            c.no_interrupt.replace(false),
        )
    })
}

/// Leaves a handler that must not hold a lock any more.
pub fn leave(index: u8, before: (Handling, *mut Hsl, bool)) {
    CONTEXT.with(|c| {
        if !c.innermost.get().is_null() {
            die(&format!(
                "active-message handler {index} returned while holding a handler-safe lock (gasnet_hsl_t)"
            ));
        }
        if !c.prepared[1].get().is_null() {
            die(&format!(
                "active-message handler {index} returned with a prepared reply that it neither committed nor cancelled"
            ));
        }
        c.handling.set(before.0);
        c.innermost.set(before.1);
        c.no_interrupt.set(before.2);
    });
}

/// What a thread is doing, before functions that a death may end in the middle.
pub fn of_thread() -> (Handling, *mut Hsl, bool) {
    CONTEXT.with(|c| (c.handling.get(), c.innermost.get(), c.no_interrupt.get()))
}

/// The thread does what it did before, and has prepared no message: what it began since has ended in the
/// middle.
pub fn restore(before: (Handling, *mut Hsl, bool)) {
    CONTEXT.with(|c| {
        c.handling.set(before.0);
        c.innermost.set(before.1);
        c.no_interrupt.set(before.2);
        c.prepared.iter().for_each(|prepared| prepared.set(std::ptr::null_mut()));
    });
}

/// Whether explicit no-interrupt calls are ignored: in handlers and while a lock is held.
fn sections_are_ignored(c: &Context) -> bool {
    c.handling.get() != Handling::No || !c.innermost.get().is_null()
}

/// Opens a no-interrupt section.
pub fn hold_interrupts() {
    CONTEXT.with(|c| {
        if !sections_are_ignored(c) && c.no_interrupt.replace(true) {
            die("gasnet_hold_interrupts was called twice: no-interrupt sections do not nest");
        }
    });
}

/// Closes a no-interrupt section.
pub fn resume_interrupts() {
    CONTEXT.with(|c| {
        if !sections_are_ignored(c) && !c.no_interrupt.replace(false) {
            die("gasnet_resume_interrupts was called outside a no-interrupt section");
        }
    });
}
