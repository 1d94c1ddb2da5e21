//! Put, get, memset and their completion: the library half of `gasnet_rma.h`.
//!
//! Calls arrive here when the inline code has no mapping of the target, when something is wrong, and always
//! under `GASNET_CHECK=1`. Handles are the core's events as words.

#![expect(unsafe_code, reason = "exported to C by name; moves the caller's bytes")]

use std::ffi::{c_int, c_void};

use gasnet::{Categories, Event, RankId};

use crate::info::OK;
use crate::state::{self, ClientJob};
use crate::wait::not_ready;
use crate::{abi, context, fatal::die};

/// A checked target: the state, the rank, and the offset in its segment.
fn target(call: &'static str, node: u32, address: usize) -> (&'static ClientJob, RankId, u64) {
    let state = state::attached(call);
    context::unrestricted(state, call);
    if node >= abi::size() {
        die(&format!("{call}: there is no node {node}; the job has {} nodes, numbered from 0", abi::size()));
    }
    let base = state.rank.table().get(RankId(node)).map_or(0, |entry| entry.addr);
    (state, RankId(node), address.wrapping_sub(base) as u64)
}

/// Blocking put.
///
/// # Safety
/// `src` has `n` readable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gasneti_put(node: u32, dest: *mut c_void, src: *const c_void, n: usize) {
    let (state, to, offset) = target("gasnet_put", node, dest as usize);
    // SAFETY: the caller's promise.
    unsafe {
        state.rank.put(to, offset, src.cast(), n);
    }
}

/// Blocking get.
///
/// # Safety
/// `dest` has `n` writable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gasneti_get(dest: *mut c_void, node: u32, src: *const c_void, n: usize) {
    let (state, from, offset) = target("gasnet_get", node, src as usize);
    // SAFETY: the caller's promise.
    unsafe {
        state.rank.get(dest.cast(), from, offset, n);
    }
}

/// Blocking memset.
///
/// # Safety
/// The program answers for the destination.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gasneti_memset(node: u32, dest: *mut c_void, value: c_int, n: usize) {
    let (state, to, offset) = target("gasnet_memset", node, dest as usize);
    // SAFETY: the caller's promise.
    unsafe {
        state.rank.memset(to, offset, value as u8, n);
    }
}

fn word(event: Event) -> usize {
    event.into_raw() as usize
}

/// Starts a put; 0 when it is complete already. The source may be reused on return, if not bulk.
///
/// # Safety
/// `src` has `n` readable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gasneti_put_nb(
    node: u32,
    dest: *mut c_void,
    src: *const c_void,
    n: usize,
    bulk: c_int,
) -> usize {
    let (state, to, offset) = target("gasnet_put_nb", node, dest as usize);
    // SAFETY: the caller's promise.
    unsafe {
        let rank = state.rank.now();
        word(if bulk == 0 {
            rank.put_nb(to, offset, src.cast(), n)
        } else {
            rank.put_nb_bulk(to, offset, src.cast(), n)
        })
    }
}

/// Starts a get; 0 when it is complete already.
///
/// # Safety
/// `dest` has `n` writable bytes until completion.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gasneti_get_nb(
    dest: *mut c_void,
    node: u32,
    src: *const c_void,
    n: usize,
) -> usize {
    let (state, from, offset) = target("gasnet_get_nb", node, src as usize);
    // SAFETY: the caller's promise.
    unsafe { word(state.rank.get_nb(dest.cast(), from, offset, n)) }
}

/// Starts a memset; 0 when it is complete already.
///
/// # Safety
/// The program answers for the destination.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gasneti_memset_nb(
    node: u32,
    dest: *mut c_void,
    value: c_int,
    n: usize,
) -> usize {
    let (state, to, offset) = target("gasnet_memset_nb", node, dest as usize);
    // SAFETY: the caller's promise.
    unsafe { word(state.rank.memset_nb(to, offset, value as u8, n)) }
}

/// Starts an implicit put.
///
/// # Safety
/// `src` has `n` readable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gasneti_put_nbi(
    node: u32,
    dest: *mut c_void,
    src: *const c_void,
    n: usize,
    bulk: c_int,
) {
    let (state, to, offset) = target("gasnet_put_nbi", node, dest as usize);
    // SAFETY: the caller's promise.
    unsafe {
        if bulk == 0 {
            state.rank.implicit().put(to, offset, src.cast(), n);
        } else {
            state.rank.implicit().put_bulk(to, offset, src.cast(), n);
        }
    }
}

/// Starts an implicit get.
///
/// # Safety
/// `dest` has `n` writable bytes until completion.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gasneti_get_nbi(dest: *mut c_void, node: u32, src: *const c_void, n: usize) {
    let (state, from, offset) = target("gasnet_get_nbi", node, src as usize);
    // SAFETY: the caller's promise.
    unsafe {
        state.rank.implicit().get(dest.cast(), from, offset, n);
    }
}

/// Starts an implicit memset, which counts as a put.
///
/// # Safety
/// The program answers for the destination.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gasneti_memset_nbi(node: u32, dest: *mut c_void, value: c_int, n: usize) {
    let (state, to, offset) = target("gasnet_memset_nbi", node, dest as usize);
    // SAFETY: the caller's promise.
    unsafe {
        state.rank.implicit().memset(to, offset, value as u8, n);
    }
}

/// Ends the job: a value has 1 to 8 bytes.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn gasneti_bad_value_size(n: usize) -> ! {
    die(&format!("a value of {n} bytes was put or got; values have 1 to 8 bytes"))
}

/// A get of a value under way.
#[derive(Debug)]
pub struct ValueGet {
    handle: usize,
    value: u64,
}

/// Starts to get a value.
///
/// # Safety
/// The program answers for the source.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gasneti_get_nb_val(node: u32, src: *const c_void, n: usize) -> *mut ValueGet {
    if !(1..=8).contains(&n) {
        gasneti_bad_value_size(n);
    }
    let get = Box::into_raw(Box::new(ValueGet { handle: 0, value: 0 }));
    // SAFETY: the box lives until the value is asked for; the low-order bytes come first or last by
    // endianness.
    unsafe {
        let at =
            (&raw mut (*get).value).cast::<u8>().add(if cfg!(target_endian = "big") { 8 - n } else { 0 });
        (*get).handle = gasneti_get_nb(at.cast(), node, src, n);
    }
    get
}

/// Waits for a value.
///
/// # Safety
/// `get` comes from [`gasneti_get_nb_val`] and was not waited for.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gasnet_wait_syncnb_valget(get: *mut ValueGet) -> u64 {
    // SAFETY: the caller's promise; the value is read only when it has arrived.
    unsafe {
        gasneti_wait_syncnb((*get).handle);
        Box::from_raw(get).value
    }
}

/// Whether a handle's operation is complete; if so the handle is used up. Does not poll.
fn is_complete(state: &ClientJob, handle: usize) -> bool {
    handle == 0 || state.rank.events().test_quietly(Event::from_raw(handle as u64))
}

/// Waits for one operation.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn gasneti_wait_syncnb(handle: usize) {
    let state = state::attached("gasnet_wait_syncnb");
    context::unrestricted(state, "gasnet_wait_syncnb");
    if handle != 0 {
        state.rank.wait_until("an operation to complete", || is_complete(state, handle));
    }
}

/// Polls, and says whether one operation is complete.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn gasneti_try_syncnb(handle: usize) -> c_int {
    let state = state::attached("gasnet_try_syncnb");
    context::unrestricted(state, "gasnet_try_syncnb");
    state.rank.poll();
    if is_complete(state, handle) { OK } else { not_ready(state) }
}

/// A client's array of handles.
///
/// # Safety
/// `handles` has `n` entries.
unsafe fn list<'a>(handles: *mut usize, n: usize) -> &'a mut [usize] {
    if n == 0 {
        return &mut [];
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts_mut(handles, n) }
}

/// Marks the complete ones; returns how many were newly complete and how many are left.
fn sweep(state: &ClientJob, handles: &mut [usize]) -> (usize, usize) {
    let (mut finished, mut left) = (0, 0);
    for handle in handles.iter_mut().filter(|handle| **handle != 0) {
        if is_complete(state, *handle) {
            *handle = 0;
            finished += 1;
        } else {
            left += 1;
        }
    }
    (finished, left)
}

/// Waits for all operations of a list.
///
/// # Safety
/// `handles` has `n` entries.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gasnet_wait_syncnb_all(handles: *mut usize, n: usize) {
    let state = state::attached("gasnet_wait_syncnb_all");
    context::unrestricted(state, "gasnet_wait_syncnb_all");
    // SAFETY: the caller's promise.
    for handle in unsafe { list(handles, n) } {
        let waited = std::mem::take(handle);
        if waited != 0 {
            state.rank.wait_until("operations to complete", || is_complete(state, waited));
        }
    }
}

/// Polls, and says whether all operations of a list are complete.
///
/// # Safety
/// `handles` has `n` entries.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gasnet_try_syncnb_all(handles: *mut usize, n: usize) -> c_int {
    let state = state::attached("gasnet_try_syncnb_all");
    context::unrestricted(state, "gasnet_try_syncnb_all");
    state.rank.poll();
    // SAFETY: the caller's promise.
    if sweep(state, unsafe { list(handles, n) }).1 == 0 { OK } else { not_ready(state) }
}

/// Waits for at least one operation of a list.
///
/// # Safety
/// `handles` has `n` entries.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gasnet_wait_syncnb_some(handles: *mut usize, n: usize) {
    let state = state::attached("gasnet_wait_syncnb_some");
    context::unrestricted(state, "gasnet_wait_syncnb_some");
    // SAFETY: the caller's promise.
    let handles = unsafe { list(handles, n) };
    state.rank.wait_until("an operation to complete", || {
        let (finished, left) = sweep(state, handles);
        finished > 0 || left == 0
    });
}

/// Polls, and says whether at least one operation of a list is complete.
///
/// # Safety
/// `handles` has `n` entries.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gasnet_try_syncnb_some(handles: *mut usize, n: usize) -> c_int {
    let state = state::attached("gasnet_try_syncnb_some");
    context::unrestricted(state, "gasnet_try_syncnb_some");
    state.rank.poll();
    // SAFETY: the caller's promise.
    let (finished, left) = sweep(state, unsafe { list(handles, n) });
    if finished > 0 || left == 0 { OK } else { not_ready(state) }
}

fn wait_implicit(call: &'static str, kinds: Categories) {
    let state = state::attached(call);
    context::unrestricted(state, call);
    state.rank.implicit().wait(kinds);
}

fn try_implicit(call: &'static str, kinds: Categories) -> c_int {
    let state = state::attached(call);
    context::unrestricted(state, call);
    if state.rank.implicit().test(kinds) { OK } else { not_ready(state) }
}

/// Waits for this thread's implicit gets.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn gasnet_wait_syncnbi_gets() {
    wait_implicit("gasnet_wait_syncnbi_gets", Categories::GETS);
}

/// Waits for this thread's implicit puts.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn gasnet_wait_syncnbi_puts() {
    wait_implicit("gasnet_wait_syncnbi_puts", Categories::PUTS);
}

/// Waits for this thread's implicit operations.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn gasnet_wait_syncnbi_all() {
    wait_implicit("gasnet_wait_syncnbi_all", Categories::ALL);
}

/// Polls, and says whether this thread's implicit gets are complete.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn gasnet_try_syncnbi_gets() -> c_int {
    try_implicit("gasnet_try_syncnbi_gets", Categories::GETS)
}

/// Polls, and says whether this thread's implicit puts are complete.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn gasnet_try_syncnbi_puts() -> c_int {
    try_implicit("gasnet_try_syncnbi_puts", Categories::PUTS)
}

/// Polls, and says whether this thread's implicit operations are complete.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn gasnet_try_syncnbi_all() -> c_int {
    try_implicit("gasnet_try_syncnbi_all", Categories::ALL)
}

/// Opens an access region of this thread.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn gasnet_begin_nbi_accessregion() {
    let state = state::attached("gasnet_begin_nbi_accessregion");
    context::unrestricted(state, "gasnet_begin_nbi_accessregion");
    state.rank.implicit().begin_access_region()
}

/// Closes this thread's access region; the handle covers all its operations.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn gasnet_end_nbi_accessregion() -> usize {
    let state = state::attached("gasnet_end_nbi_accessregion");
    context::unrestricted(state, "gasnet_end_nbi_accessregion");
    word(state.rank.implicit().end_access_region())
}
