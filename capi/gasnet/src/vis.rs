//! `gasnet_putv_bulk` and relatives: transfers of many pieces, for C.

#![expect(unsafe_code, reason = "exported to C by name; moves the caller's bytes")]

use std::ffi::c_int;
use std::sync::atomic::AtomicI32;

use gasnet::vis::{Piece, Shape, Start, Window};
use gasnet::{Local, RankId};

use crate::abi::Peer;
use crate::{abi, context, fatal::die, state};

/// A list that C passes, as a slice.
///
/// # Safety
/// `p` has `n` entries.
pub(crate) unsafe fn list<'a, T>(p: *const T, n: usize) -> &'a [T] {
    if n == 0 {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(p, n) }
}

/// Starts a transfer that completes before it returns (0), with a handle (1), or implicitly (2). `source`
/// says when the pieces that a put reads may be written again.
///
/// # Safety
/// The pieces on both sides can be used.
pub(crate) unsafe fn transfer(
    call: &'static str,
    get: bool,
    mode: c_int,
    node: u32,
    remote: Shape<'_>,
    local: Shape<'_>,
    source: Local,
) -> usize {
    let state = state::attached(call);
    context::unrestricted(state, call);
    if node >= abi::size() {
        die(&format!("{call}: there is no node {node}; the job has {} nodes", abi::size()));
    }
    let (rank, to) = (state.rank.now(), RankId(node));
    let (base, size) = rank.table().get(to).map_or((0, 0), |entry| (entry.addr, entry.size));
    let start = Start { get, implicit: mode == 2, source };
    // SAFETY: the caller's promise.
    let Some(event) = (unsafe { rank.shapes().start(start, to, remote, base, local) }) else {
        refuse(call, node, (base, size), remote, local);
    };
    if mode != 0 {
        return event.into_raw() as usize;
    }
    rank.wait(event);
    0
}

/// Ends the job for a transfer that cannot be.
#[cold]
fn refuse(call: &str, node: u32, (base, size): (usize, usize), remote: Shape<'_>, local: Shape<'_>) -> ! {
    let most = isize::MAX as usize;
    let (there, here) = (remote.bytes().filter(|n| *n <= most), local.bytes().filter(|n| *n <= most));
    if there.is_none() || there != here {
        let count = |n: Option<usize>| n.map_or("too many".to_string(), |n| n.to_string());
        die(&format!(
            "{call}: source and destination have different numbers of bytes, or more than {most}: {} on node {node}, {} here",
            count(there),
            count(here)
        ));
    }
    let (first, end) = remote.span().unwrap_or_default();
    die(&format!(
        "{call}: pieces from address {first:#x} to {end:#x} are outside the segment of node {node}, which is [{base:#x}, {:#x}), {size} \
         bytes",
        base.wrapping_add(size)
    ));
}

/// Vector put or get.
///
/// # Safety
/// The lists have their lengths, the pieces can be used.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gasneti_vis_v(
    get: c_int,
    mode: c_int,
    node: u32,
    remotes: usize,
    remote: *const Piece,
    locals: usize,
    local: *const Piece,
) -> usize {
    let call = if get != 0 { "gasnet_getv" } else { "gasnet_putv" };
    // SAFETY: the caller's promise.
    unsafe {
        let (r, l) = (list(remote, remotes), list(local, locals));
        transfer(call, get != 0, mode, node, Shape::Vector(r), Shape::Vector(l), Local::Defer)
    }
}

/// Indexed put or get.
///
/// # Safety
/// As [`gasneti_vis_v`].
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gasneti_vis_i(
    get: c_int,
    mode: c_int,
    node: u32,
    remotes: usize,
    remote: *const usize,
    remote_len: usize,
    locals: usize,
    local: *const usize,
    local_len: usize,
) -> usize {
    let call = if get != 0 { "gasnet_geti" } else { "gasnet_puti" };
    // SAFETY: the caller's promise.
    unsafe {
        let r = Shape::Indexed(list(remote, remotes), remote_len);
        let l = Shape::Indexed(list(local, locals), local_len);
        transfer(call, get != 0, mode, node, r, l, Local::Defer)
    }
}

/// Strided put or get.
///
/// # Safety
/// As [`gasneti_vis_v`]; `count` has one entry more than there are levels.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gasneti_vis_s(
    get: c_int,
    mode: c_int,
    node: u32,
    remote: usize,
    remote_strides: *const usize,
    local: usize,
    local_strides: *const usize,
    count: *const usize,
    levels: usize,
) -> usize {
    let call = if get != 0 { "gasnet_gets" } else { "gasnet_puts" };
    // SAFETY: the caller's promise.
    unsafe {
        let count = list(count, levels + 1);
        let r = Shape::Strided { at: remote, strides: list(remote_strides, levels), count };
        let l = Shape::Strided { at: local, strides: list(local_strides, levels), count };
        transfer(call, get != 0, mode, node, r, l, Local::Defer)
    }
}

/// Set by [`crate::ex::vis::gex_VIS_SetPeerCompletionHandler`]: inline code does no puts any more.
#[unsafe(no_mangle)]
pub static gasneti_vis_armed: AtomicI32 = AtomicI32::new(0);

/// Where the pieces of a peer are that this process maps.
fn window(peer: &Peer) -> Window {
    Window { origin: peer.base, size: peer.near, at: peer.base.wrapping_add_signed(peer.delta) }
}

/// Vector put or get with memory that this process maps; whether it could be.
///
/// # Safety
/// As [`gasneti_vis_v`]; `peer` is an entry of the table that C reads.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gasneti_vis_near_v(
    get: c_int,
    peer: &Peer,
    remotes: usize,
    remote: *const Piece,
    locals: usize,
    local: *const Piece,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        let (r, l) = (list(remote, remotes), list(local, locals));
        window(peer).copy(get != 0, Shape::Vector(r), Shape::Vector(l)).into()
    }
}

/// Indexed put or get with memory that this process maps; whether it could be.
///
/// # Safety
/// As [`gasneti_vis_near_v`].
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gasneti_vis_near_i(
    get: c_int,
    peer: &Peer,
    remotes: usize,
    remote: *const usize,
    remote_len: usize,
    locals: usize,
    local: *const usize,
    local_len: usize,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        let r = Shape::Indexed(list(remote, remotes), remote_len);
        window(peer).copy(get != 0, r, Shape::Indexed(list(local, locals), local_len)).into()
    }
}

/// Strided put or get with memory that this process maps; whether it could be. Distances are signed.
///
/// # Safety
/// As [`gasneti_vis_near_v`]; the lists have `levels` entries.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gasneti_vis_near_s(
    get: c_int,
    peer: &Peer,
    remote: usize,
    remote_strides: *const usize,
    local: usize,
    local_strides: *const usize,
    element: usize,
    count: *const usize,
    levels: usize,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        let (there, here) = (list(remote_strides, levels), list(local_strides, levels));
        let count = list(count, levels);
        window(peer).copy_grid(get != 0, (remote, there), (local, here), element, count).into()
    }
}
