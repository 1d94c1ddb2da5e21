//! Events and implicit operations.
//!
//! An event of C is the core's ([`gasnet::Event`]) as a word. Words below 4 are C's own: no operation, and
//! the magic pointers for when a source may be written again ([`local`]). Testing makes no progress; waiting
//! does.

#![expect(unsafe_code, reason = "exported to C by name; works on arrays of the client")]

use std::ffi::c_int;

use gasnet::{Categories, Event, Local};

use crate::fatal::die;
use crate::info::OK;
use crate::state::{self, ClientJob};
use crate::wait::in_vain;
use crate::{abi, context};

/// `GEX_EVENT_NO_OP`.
pub const NO_OP: usize = 1;
/// `GEX_EVENT_NOW`.
pub const NOW: usize = 1;
/// `GEX_EVENT_DEFER`.
pub const DEFER: usize = 2;
/// `GEX_EVENT_GROUP`.
pub const GROUP: usize = 3;

/// `GEX_EC_LC`.
const EC_LC: u32 = 2;

/// When the source of an operation may be written again, as C says it; ends the job for what this kind of
/// call does not take. A null pointer is taken for `GEX_EVENT_NOW`, except under the rule checks.
#[inline]
pub fn local(call: &str, lc_opt: *mut usize, event: bool, defer: bool, group: bool) -> Local {
    match lc_opt as usize {
        NOW => Local::Now,
        DEFER if defer => Local::Defer,
        GROUP if group => Local::Group,
        0 if !abi::check() => Local::Now,
        4.. if event => Local::Leaf,
        other => wrong_local(call, other),
    }
}

#[cold]
fn wrong_local(call: &str, lc_opt: usize) -> ! {
    let name = match lc_opt {
        0 => "a null pointer",
        DEFER => "GEX_EVENT_DEFER",
        GROUP => "GEX_EVENT_GROUP",
        _ => "a pointer to an event",
    };
    die(&format!("{call}: lc_opt is {name}, which this call does not accept"))
}

/// Writes the event of local completion where C wants one.
///
/// # Safety
/// `lc_opt` is one of the magic pointers, or writable.
#[inline]
pub unsafe fn give_local(lc_opt: *mut usize, event: Event) {
    if lc_opt as usize > GROUP {
        // SAFETY: the caller's promise.
        unsafe { lc_opt.write(event.into_raw() as usize) };
    }
}

/// The core's event of a word.
fn event(call: &str, word: usize) -> Event {
    if word != 0 && word <= GROUP {
        die(&format!(
            "{call}: the event is GEX_EVENT_NO_OP, which an operation with GEX_FLAG_IMMEDIATE returns if it was not done: there is nothing to wait for"
        ));
    }
    Event::from_raw(word as u64)
}

/// The job, for calls that may not be made in handlers.
fn ready(call: &str) -> &'static ClientJob {
    let state = state::ready(call);
    context::unrestricted(state, call);
    state
}

/// Whether one operation is complete; if so the event is used up.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn gasneti_event_test(word: usize) -> c_int {
    const CALL: &str = "gex_Event_Test";
    let state = ready(CALL);
    if state.rank.events().test_quietly(event(CALL, word)) { OK } else { in_vain(state) }
}

/// Waits for one operation.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn gasneti_event_wait(word: usize) {
    const CALL: &str = "gex_Event_Wait";
    ready(CALL).rank.wait(event(CALL, word));
}

/// Largest number of events that are tested without an allocation.
const MAX_EVENTS_ON_STACK: usize = 32;

/// Tests all events of an array; complete ones become invalid. How many have become so, and how many are
/// left.
///
/// # Safety
/// `events` has `n` entries.
unsafe fn sweep(state: &ClientJob, call: &str, events: *mut usize, n: usize) -> (usize, usize) {
    if n == 0 {
        return (0, 0);
    }
    // SAFETY: the caller's promise.
    let words = unsafe { std::slice::from_raw_parts_mut(events, n) };
    // Most were complete when they were started. One pass without a branch.
    if words.iter().fold(0, |all, word| all | *word) == 0 {
        return (0, 0);
    }
    let mut few = [Event::DONE; MAX_EVENTS_ON_STACK];
    let mut many;
    let list = if n <= MAX_EVENTS_ON_STACK {
        &mut few[..n]
    } else {
        many = vec![Event::DONE; n];
        &mut many[..]
    };
    for (to, word) in list.iter_mut().zip(words.iter()) {
        *to = event(call, *word);
    }
    let result = state.rank.events().test_each(list);
    for (word, from) in words.iter_mut().zip(list.iter()) {
        *word = from.into_raw() as usize;
    }
    result
}

/// Whether at least one event of an array has become complete, or none is left.
///
/// # Safety
/// `events` has `n` entries.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gex_Event_TestSome(events: *mut usize, n: usize, _flags: u32) -> c_int {
    const CALL: &str = "gex_Event_TestSome";
    let state = ready(CALL);
    // SAFETY: the caller's promise.
    let (finished, left) = unsafe { sweep(state, CALL, events, n) };
    if finished > 0 || left == 0 { OK } else { in_vain(state) }
}

/// Whether no event of an array is left.
///
/// # Safety
/// `events` has `n` entries.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gex_Event_TestAll(events: *mut usize, n: usize, _flags: u32) -> c_int {
    const CALL: &str = "gex_Event_TestAll";
    let state = ready(CALL);
    // SAFETY: the caller's promise.
    if unsafe { sweep(state, CALL, events, n) }.1 == 0 { OK } else { in_vain(state) }
}

/// Waits until at least one event of an array has become complete, or none is left.
///
/// # Safety
/// `events` has `n` entries.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gex_Event_WaitSome(events: *mut usize, n: usize, _flags: u32) {
    const CALL: &str = "gex_Event_WaitSome";
    let state = ready(CALL);
    state.rank.wait_until("an operation to complete", || {
        // SAFETY: the caller's promise.
        let (finished, left) = unsafe { sweep(state, CALL, events, n) };
        finished > 0 || left == 0
    });
}

/// Waits until no event of an array is left.
///
/// # Safety
/// `events` has `n` entries.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gex_Event_WaitAll(events: *mut usize, n: usize, _flags: u32) {
    const CALL: &str = "gex_Event_WaitAll";
    let state = ready(CALL);
    // SAFETY: the caller's promise.
    state.rank.wait_until("operations to complete", || unsafe { sweep(state, CALL, events, n) }.1 == 0);
}

/// The event that says that the sources of an operation, or of all puts of an access region, may be written
/// again.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn gex_Event_QueryLeaf(root: usize, category: u32) -> usize {
    const CALL: &str = "gex_Event_QueryLeaf";
    let state = ready(CALL);
    if category != EC_LC {
        die(&format!("{CALL}: events have a leaf of category GEX_EC_LC only, not of category {category:#x}"));
    }
    let root = event(CALL, root);
    if root.is_leaf() {
        die(&format!("{CALL}: the event is a leaf itself: ask with the event that the operation returned"));
    }
    state.rank.events().leaf(root).into_raw() as usize
}

/// Whether this thread's implicit operations of these categories are complete.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn gex_NBI_Test(categories: u32, _flags: u32) -> c_int {
    let state = ready("gex_NBI_Test");
    if state.rank.implicit().test_quietly(Categories::from_bits(categories)) { OK } else { in_vain(state) }
}

/// Waits for this thread's implicit operations of these categories.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn gex_NBI_Wait(categories: u32, _flags: u32) {
    ready("gex_NBI_Wait").rank.implicit().wait(Categories::from_bits(categories));
}

/// Opens an access region of this thread.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn gex_NBI_BeginAccessRegion(_flags: u32) {
    ready("gex_NBI_BeginAccessRegion").rank.implicit().begin_access_region();
}

/// Closes the access region of this thread; its event is complete when all its operations are.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn gex_NBI_EndAccessRegion(_flags: u32) -> usize {
    ready("gex_NBI_EndAccessRegion").rank.implicit().end_access_region().into_raw() as usize
}
