//! Turns: each simulated rank is a coroutine with a stack of its own; one of them runs at a time.
//!
//! [`Turn::resume`] runs a coroutine until it gives the turn back by [`give_back`], which works at any depth
//! of calls. A rank can let time pass in no other way. A coroutine that is dropped before it ends is
//! abandoned: its stack is freed and nothing on it is dropped, because unwinding through the runtime would
//! wait for messages that never come.
#![expect(unsafe_code, reason = "switches stacks; abandons coroutines")]

use core::cell::{Cell, RefCell};
use core::marker::PhantomData;
use core::ptr::NonNull;
use corosensei::stack::{DefaultStack, Stack};
use corosensei::{Coroutine, CoroutineResult, Yielder};

const PAGE_BYTES: usize = 4096;
/// What the call that gives pages back has on the stack itself, at most.
const OWN_FRAMES_BYTES: usize = 1024;

thread_local! {
    /// The yielder of the coroutine that runs on this thread.
    static CURRENT: Cell<Option<NonNull<Yielder<(), ()>>>> = const { Cell::new(None) };
    /// The lowest address of its stack.
    static LOWEST: Cell<usize> = const { Cell::new(0) };
    /// Whether the next coroutine that gets the turn is only to say where it is.
    static ASKED: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// One coroutine.
pub(crate) struct Turn<'a> {
    coroutine: Coroutine<(), (), ()>,
    lowest: usize,
    _body: PhantomData<&'a ()>,
}

impl<'a> Turn<'a> {
    /// A coroutine that has not begun.
    pub(crate) fn new(stack_bytes: usize, body: impl FnOnce() + 'a) -> std::io::Result<Turn<'a>> {
        let stack = DefaultStack::new(stack_bytes)?;
        // Above the guard.
        let lowest = stack.limit().get() + PAGE_BYTES;
        let body = move |yielder: &Yielder<(), ()>, ()| {
            CURRENT.set(Some(NonNull::from(yielder)));
            body();
        };
        // SAFETY: what `body` borrows outlives the Turn (lifetime 'a), and a coroutine never runs after its
        // Turn is gone.
        let coroutine = unsafe { Coroutine::with_stack_unchecked(stack, body) };
        Ok(Turn { coroutine, lowest, _body: PhantomData })
    }

    /// Where in its program a coroutine waits that has begun and not ended.
    pub(crate) fn place(&mut self) -> String {
        ASKED.set(Some(String::new()));
        self.resume();
        ASKED.take().unwrap_or_default()
    }

    /// Runs until the coroutine gives the turn back or ends; returns whether it has ended.
    pub(crate) fn resume(&mut self) -> bool {
        let outer = (CURRENT.take(), LOWEST.replace(self.lowest));
        let result = self.coroutine.resume(());
        CURRENT.set(outer.0);
        LOWEST.set(outer.1);
        matches!(result, CoroutineResult::Return(()))
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if self.coroutine.started() && !self.coroutine.done() {
            // SAFETY: nothing runs on the stack again. Its values are leaked; only the simulation's own
            // records refer to them, and the caller drops these with it.
            unsafe { self.coroutine.force_reset() };
        }
    }
}

/// Gives the pages of the running coroutine's stack back that lie below what it uses now. They are zero when
/// it comes there again.
pub(crate) fn trim_stack() {
    let here = 0u8;
    let used = ((&raw const here).addr() - OWN_FRAMES_BYTES) & !(PAGE_BYTES - 1);
    let lowest = LOWEST.get();
    if (lowest..used).is_empty() || lowest == 0 {
        return;
    }
    // SAFETY: pages of the stack that this runs on, above its guard, and below all frames: those of this
    // function and of what it calls are above `used`. What is there is dead.
    unsafe { libc::madvise(lowest as *mut libc::c_void, used - lowest, libc::MADV_DONTNEED) };
}

/// Gives the turn back to the caller of `resume`; `false` outside of any coroutine.
pub(crate) fn give_back() -> bool {
    let Some(yielder) = CURRENT.get() else { return false };
    let context = gasnet_wire::context::exchange(gasnet_wire::context::Context::default());
    // SAFETY: set by the coroutine that is running on this thread, whose frame holds the yielder until it
    // ends.
    unsafe { yielder.as_ref() }.suspend(());
    while ASKED.with_borrow(Option::is_some) {
        ASKED.set(Some(gasnet_vessel::place()));
        // SAFETY: as above.
        unsafe { yielder.as_ref() }.suspend(());
    }
    gasnet_wire::context::exchange(context);
    CURRENT.set(Some(yielder));
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    #[test]
    fn turns_interleave_and_may_be_abandoned() {
        let log = RefCell::new(Vec::new());
        let body = |name: char, steps: usize| {
            let log = &log;
            move || {
                for i in 0..steps {
                    log.borrow_mut().push((name, i));
                    give_back();
                }
            }
        };
        let mut a = Turn::new(64 << 10, body('a', 2)).unwrap();
        let mut b = Turn::new(64 << 10, body('b', 9)).unwrap();
        assert!(!a.resume() && !b.resume() && !a.resume() && a.resume());
        drop(b);
        assert_eq!(*log.borrow(), [('a', 0), ('b', 0), ('a', 1)]);
        assert!(!give_back(), "no turn to give outside");
    }
}
