//! The barrier under its C names. Its rules are the core's (`gasnet::barrier`).

#![expect(unsafe_code, reason = "exported to C by name")]

use std::ffi::c_int;

use gasnet::barrier::{ANONYMOUS, Consensus, MISMATCH, Outcome};

use crate::info::{BARRIER_MISMATCH, OK};
use crate::wait::not_ready;
use crate::{context, state};

/// The flags that matter to the core; C has more, which are promises.
fn core_flags(flags: c_int) -> u32 {
    flags as u32 & (ANONYMOUS | MISMATCH)
}

fn code(outcome: Outcome) -> c_int {
    match outcome {
        Outcome::Agreed => OK,
        Outcome::Mismatched => BARRIER_MISMATCH,
    }
}

/// Enters a barrier phase.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn gasnet_barrier_notify(id: c_int, flags: c_int) {
    let state = state::ready("gasnet_barrier_notify");
    context::unrestricted(state, "gasnet_barrier_notify");
    state.rank.split_barrier().notify(id, core_flags(flags));
}

/// Waits for the end of the phase.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn gasnet_barrier_wait(id: c_int, flags: c_int) -> c_int {
    let state = state::ready("gasnet_barrier_wait");
    context::unrestricted(state, "gasnet_barrier_wait");
    code(state.rank.split_barrier().wait(id, core_flags(flags)))
}

/// Polls, and ends the phase if everybody has entered it.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn gasnet_barrier_try(id: c_int, flags: c_int) -> c_int {
    let state = state::ready("gasnet_barrier_try");
    context::unrestricted(state, "gasnet_barrier_try");
    state.rank.split_barrier().try_wait(id, core_flags(flags)).map_or_else(|| not_ready(state), code)
}

/// Notify and wait in one.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn gasnet_barrier(id: c_int, flags: c_int) -> c_int {
    let state = state::ready("gasnet_barrier");
    context::unrestricted(state, "gasnet_barrier");
    state.rank.split_barrier().notify(id, core_flags(flags));
    code(state.rank.split_barrier().wait(id, core_flags(flags)))
}

/// The name that the last phase agreed on: 0 and the name, or not 0 when nobody gave one.
///
/// # Safety
/// `id` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gasnet_barrier_result(id: *mut c_int) -> c_int {
    let state = state::ready("gasnet_barrier_result");
    let (result, name) = match state.rank.split_barrier().result() {
        Some(Consensus::Named(name)) => (0, name),
        Some(Consensus::Anonymous | Consensus::Mismatch) => (1, 0),
        None if state.check => crate::fatal::die(
            "gasnet_barrier_result was called between notify and wait, or before any barrier",
        ),
        None => (1, 0),
    };
    if !id.is_null() {
        // SAFETY: the caller's promise.
        unsafe { *id = name };
    }
    result
}
