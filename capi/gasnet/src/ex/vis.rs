//! Transfers of many pieces for GASNet-EX: vector, indexed and strided puts and gets.

#![expect(unsafe_code, reason = "exported to C by name; moves the caller's bytes")]

use std::cell::RefCell;
use std::ffi::{c_int, c_uint, c_void};
use std::sync::atomic::Ordering::Relaxed;

use gasnet::am::FIRST_CLIENT_HANDLER;
use gasnet::vis::{Piece, Shape};
use gasnet::{Event, Local, RankId};

use crate::ex::ep::{RemoteAddress, locate};
use crate::objects::{Object, Team, Tm};
use crate::state;
use crate::vis::{gasneti_vis_armed, list, transfer};
use crate::{context, fatal::die};

/// Most bytes of a peer completion: `GEX_VIS_MAX_PEERCOMPLETION`.
const MAX_PEER_COMPLETION: usize = 127;

thread_local! {
    /// The handler that the target of this thread's next vector, indexed or strided put runs, and the
    /// handler's payload.
    static PEER_COMPLETION: RefCell<Option<(u8, Vec<u8>)>> = const { RefCell::new(None) };
}

/// Sets the handler that the target of this thread's next vector, indexed or strided put runs when the data
/// is in place. Handler 0: none.
///
/// # Safety
/// `source` has `n` readable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gex_VIS_SetPeerCompletionHandler(
    handler: u8,
    source: *const c_void,
    n: usize,
    _flags: c_uint,
) {
    const CALL: &str = "gex_VIS_SetPeerCompletionHandler";
    context::unrestricted(state::state(CALL), CALL);
    if handler == 0 {
        return PEER_COMPLETION.set(None);
    }
    if handler < FIRST_CLIENT_HANDLER {
        die(&format!(
            "{CALL}: handler index {handler} is not a client's; those are {FIRST_CLIENT_HANDLER}..255"
        ));
    }
    if n > MAX_PEER_COMPLETION {
        die(&format!(
            "{CALL}: a payload of {n} bytes; the most is {MAX_PEER_COMPLETION} (GEX_VIS_MAX_PEERCOMPLETION)"
        ));
    }
    // Relaxed: this thread's next put sees it; of others it is none of their business.
    gasneti_vis_armed.store(1, Relaxed);
    // SAFETY: the caller's promise.
    PEER_COMPLETION.set(Some((handler, unsafe { list(source.cast::<u8>(), n) }.to_vec())));
}

/// Names of the calls, for messages: of each shape first puts, then gets, by how they complete.
const CALLS: [[&str; 3]; 6] = [
    ["gex_VIS_VectorPutBlocking", "gex_VIS_VectorPutNB", "gex_VIS_VectorPutNBI"],
    ["gex_VIS_VectorGetBlocking", "gex_VIS_VectorGetNB", "gex_VIS_VectorGetNBI"],
    ["gex_VIS_IndexedPutBlocking", "gex_VIS_IndexedPutNB", "gex_VIS_IndexedPutNBI"],
    ["gex_VIS_IndexedGetBlocking", "gex_VIS_IndexedGetNB", "gex_VIS_IndexedGetNBI"],
    ["gex_VIS_StridedPutBlocking", "gex_VIS_StridedPutNB", "gex_VIS_StridedPutNBI"],
    ["gex_VIS_StridedGetBlocking", "gex_VIS_StridedGetNB", "gex_VIS_StridedGetNBI"],
];

/// The name of a call, whether it is a get, and how it completes (the `mode` of [`transfer`]). `how` is twice
/// the mode, plus 1 for a get.
fn parts(kind: usize, how: c_int) -> (&'static str, bool, c_int) {
    let (get, mode) = (how & 1 != 0, how >> 1);
    (CALLS[2 * kind + usize::from(get)][mode as usize % 3], get, mode)
}

/// `GEX_FLAG_ENABLE_LEAF_LC`.
const ENABLE_LEAF_LC: u32 = 1 << 11;

/// Does a transfer: to a segment by messages or copies, to other memory through its region.
///
/// # Safety
/// `tm` names a team or a pair of endpoints; the pieces on both sides can be used.
unsafe fn go(
    (call, get, mode): (&'static str, bool, c_int),
    tm: *const Object<Team>,
    rank: u32,
    remote: Shape<'_>,
    local: Shape<'_>,
    flags: c_uint,
) -> usize {
    let state = state::attached(call);
    // Locating address 0 tells which memory the endpoint has, and where it begins.
    // SAFETY: the caller's promise, both.
    let (rank, at) = unsafe {
        let tm = Tm::of(call, tm);
        (tm.jobrank(call, rank), locate(state, call, &tm, rank, 0))
    };
    let source = match mode {
        1 if flags & ENABLE_LEAF_LC != 0 => Local::Leaf,
        2 if flags & ENABLE_LEAF_LC != 0 => Local::Group,
        _ => Local::Defer,
    };
    let armed = if get { None } else { PEER_COMPLETION.take() };
    // The handler must not run before the data is in place, so the put is waited for, whatever the form.
    let mode = if armed.is_some() { 0 } else { mode };
    let done = match at {
        // SAFETY: the caller's promise.
        RemoteAddress::Segment(..) => unsafe { transfer(call, get, mode, rank, remote, local, source) },
        RemoteAddress::Region(key, offset) => {
            context::unrestricted(state, call);
            let origin = 0usize.wrapping_sub(offset as usize);
            // SAFETY: the caller's promise.
            let event = unsafe {
                let region = state.rank.region(&key);
                match (mode, get) {
                    (2, false) => {
                        region.put_shape_nbi(remote, origin, local);
                        Event::DONE
                    }
                    (2, true) => {
                        region.get_shape_nbi(local, remote, origin);
                        Event::DONE
                    }
                    (_, false) => region.put_shape_nb(remote, origin, local),
                    (_, true) => region.get_shape_nb(local, remote, origin),
                }
            };
            if mode == 0 {
                state.rank.wait(event);
                0
            } else {
                event.into_raw() as usize
            }
        }
    };
    let Some((handler, payload)) = armed else { return done };
    if let Err(error) = state.rank.notify(RankId(rank), handler, &payload) {
        die(&format!("{call}: {error}"));
    }
    done
}

/// Vector put or get. For `how` see [`parts`].
///
/// # Safety
/// `tm` names a team or a pair of endpoints; the lists have their lengths, the pieces can be used.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gasneti_ex_vis_v(
    how: c_int,
    tm: *const Object<Team>,
    rank: u32,
    remotes: usize,
    remote: *const Piece,
    locals: usize,
    local: *const Piece,
    flags: c_uint,
) -> usize {
    // SAFETY: the caller's promise.
    unsafe {
        let (remote, local) = (list(remote, remotes), list(local, locals));
        go(parts(0, how), tm, rank, Shape::Vector(remote), Shape::Vector(local), flags)
    }
}

/// Indexed put or get.
///
/// # Safety
/// As [`gasneti_ex_vis_v`].
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gasneti_ex_vis_i(
    how: c_int,
    tm: *const Object<Team>,
    rank: u32,
    remotes: usize,
    remote: *const usize,
    remote_len: usize,
    locals: usize,
    local: *const usize,
    local_len: usize,
    flags: c_uint,
) -> usize {
    // SAFETY: the caller's promise.
    unsafe {
        let (remote, local) = (list(remote, remotes), list(local, locals));
        go(
            parts(1, how),
            tm,
            rank,
            Shape::Indexed(remote, remote_len),
            Shape::Indexed(local, local_len),
            flags,
        )
    }
}

/// Largest number of levels whose extents are kept on the stack.
const MAX_LEVELS_ON_STACK: usize = 8;

/// Strided put or get. Distances are signed numbers of bytes.
///
/// # Safety
/// As [`gasneti_ex_vis_v`]; the lists have `levels` entries.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gasneti_ex_vis_s(
    how: c_int,
    tm: *const Object<Team>,
    rank: u32,
    remote: usize,
    remote_strides: *const isize,
    local: usize,
    local_strides: *const isize,
    element: usize,
    count: *const usize,
    levels: usize,
    flags: c_uint,
) -> usize {
    // SAFETY: the caller's promise; distances are computed modulo the size of memory.
    let (count, there, here) = unsafe {
        (
            list(count, levels),
            list(remote_strides.cast::<usize>(), levels),
            list(local_strides.cast(), levels),
        )
    };
    let (mut few, many);
    let extents = if levels < MAX_LEVELS_ON_STACK {
        few = [element; MAX_LEVELS_ON_STACK];
        few[1..=levels].copy_from_slice(count);
        &few[..=levels]
    } else {
        many = [&[element], count].concat();
        &many
    };
    let remote = Shape::Strided { at: remote, strides: there, count: extents };
    let local = Shape::Strided { at: local, strides: here, count: extents };
    // SAFETY: the caller's promise.
    unsafe { go(parts(2, how), tm, rank, remote, local, flags) }
}
