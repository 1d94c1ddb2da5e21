//! `GASNET_BLOCKUNTIL` and the wait mode.
//!
//! The macro loops in C; each turn calls [`gasneti_wait_step`], which polls and then spins, yields or sleeps
//! shortly as the core's wait engine says. It never sleeps until a message: the condition may be made true by
//! a peer's put.

#![expect(unsafe_code, reason = "exported to C by name; keeps the wait engine's state in C memory")]

use std::cell::{Cell, RefCell};
use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::sync::atomic::Ordering::Relaxed;

use gasnet::{Spins, WaitPolicy, Waiter};

use crate::info::{BAD_ARG, NOT_INIT, NOT_READY, OK};
use crate::state::ClientJob;
use crate::{context, state};

/// A wait in progress, in the memory of the C function that waits. C sets `stage` to 0.
#[repr(C)]
pub struct CWaiter {
    stage: u64,
    waiter: MaybeUninit<Waiter>,
}

/// The waiter is not initialised yet.
const FRESH: u64 = 0;
/// Turns are being made.
const WAITING: u64 = 1;

/// `gasneti_waiter_t` has this many words.
const WAITER_WORDS: usize = 16;
const _: () = assert!(size_of::<CWaiter>() <= WAITER_WORDS * 8 && align_of::<CWaiter>() <= 8);

/// Spin, without ever giving up the processor.
const SPIN: u32 = 0;
/// Give up the processor at once.
const BLOCK: u32 = 1;
/// Spin, then give up the processor: the default.
pub const SPINBLOCK: u32 = 2;

fn policy(state: &state::ClientJob) -> WaitPolicy {
    let usual = state.rank.waits().policy();
    match state.wait_mode.load(Relaxed) {
        SPIN => WaitPolicy { spins: u32::MAX, ..usual },
        BLOCK => WaitPolicy { spins: 0, yields: usual.yields.min(100), ..usual },
        _ => usual,
    }
}

/// One turn of a wait whose condition does not hold.
///
/// # Safety
/// `waiter` points to memory for a [`CWaiter`] that only this wait uses, with `stage` 0 at the first turn.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gasneti_wait_step(waiter: *mut CWaiter) {
    const CALL: &str = "GASNET_BLOCKUNTIL";
    let state = state::state(CALL);
    context::unrestricted(state, CALL);
    let progress = state.rank.poll() > 0;
    // SAFETY: the caller's promise.
    let this = unsafe { &mut *waiter };
    if this.stage == FRESH {
        this.waiter.write(state.rank.waits().begin(policy(state)));
        this.stage = WAITING;
        return;
    }
    // SAFETY: initialised on the first turn.
    let waiter = unsafe { this.waiter.assume_init_mut() };
    if progress {
        waiter.progressed();
        return;
    }
    state.rank.waits().pause(waiter, CALL);
}

/// One in this many looks at what is complete polls.
const LOOKS_PER_POLL: u32 = 32;
/// The key of loops of such looks: the library does not know what a program looks at.
const ANY_LOOK_KEY: u64 = 1;

thread_local! {
    /// Looks of this thread, and the loop that they may be.
    static LOOKS: Cell<u32> = const { Cell::new(0) };
    static SPINS: RefCell<Spins> = const { RefCell::new(Spins::new()) };
}

/// The program has tested or waited for an operation that was complete when it started, and some ranks are
/// far: perhaps it does so in a loop, until they change what it operates on.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn gasneti_attend() {
    attend();
}

/// The program has tested for operations in vain, perhaps in a loop. GASNet's own tests do not poll. But
/// where one thread at a time makes calls, nobody else polls meanwhile, and the loop would never end.
pub fn in_vain(state: &ClientJob) -> c_int {
    if !state.parallel {
        attend();
    }
    not_ready(state)
}

/// What a call returns that has polled in vain. It may be a turn of a loop of the program's, which a death
/// ends in a job that goes on.
#[inline]
pub fn not_ready(state: &ClientJob) -> c_int {
    if state.mortal {
        state.rank.now().survival().unwind_if_any_died("what the program polls for");
    }
    NOT_READY
}

/// Polls at one in some looks of this thread.
fn attend() {
    let looks = LOOKS.get().wrapping_add(1);
    LOOKS.set(looks);
    if !looks.is_multiple_of(LOOKS_PER_POLL) {
        return;
    }
    let Some(state) = state::get() else { return };
    SPINS.with(|spins| {
        // A handler that the poll runs may get here again.
        let Ok(mut spins) = spins.try_borrow_mut() else { return };
        spins.begin(LOOKS_PER_POLL);
        let done = state.rank.poll();
        state.rank.waits().looked(&mut spins, ANY_LOOK_KEY, Some(done));
    });
}

/// A hint how this process should wait.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn gasnet_set_waitmode(mode: c_int) -> c_int {
    let Some(state) = state::get() else { return NOT_INIT };
    match u32::try_from(mode) {
        Ok(mode @ (SPIN | BLOCK | SPINBLOCK)) => {
            state.wait_mode.store(mode, Relaxed);
            OK
        }
        _ => BAD_ARG,
    }
}
