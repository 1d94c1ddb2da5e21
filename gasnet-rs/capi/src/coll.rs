//! Collectives that programs use to start up: broadcast, scatter, gather and exchange of any size, over active messages.
//!
//! Data may arrive before this rank has entered the operation, so it goes into a box named by the operation's number,
//! which all ranks count alike. A second kind of message makes the exit of an operation a barrier (`OUT_ALLSYNC`), so
//! that a split-phase barrier of the program can be open meanwhile.

#![expect(unsafe_code, reason = "exported to C by name; reads and writes the caller's buffers")]

use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::sync::{Mutex, OnceLock, PoisonError};

use gasnet::RankId;
use gasnet::am::{Handler, MAX_MEDIUM};

use crate::fatal::die;
use crate::state::{self, State};
use crate::{abi, context};

const DATA: u8 = gasnet::am::FIRST_LIBRARY_HANDLER + 8;
const ARRIVED: u8 = DATA + 1;

const IN_ALLSYNC: c_int = 4;
const OUT_ALLSYNC: c_int = 32;

/// What has arrived for one operation.
#[derive(Debug, Default)]
struct Inbox {
    /// Pieces: sender, offset, bytes.
    pieces: Vec<(u32, u64, Vec<u8>)>,
    /// Bytes from all senders.
    bytes: usize,
    /// Ranks that have arrived, at the entry and at the exit.
    arrived: [u32; 2],
}

#[derive(Debug, Default)]
struct Boxes {
    /// Number of the operation this rank enters next.
    next: u32,
    by_number: HashMap<u32, Inbox>,
}

static BOXES: OnceLock<Mutex<Boxes>> = OnceLock::new();

fn with_box<R>(number: u32, f: impl FnOnce(&mut Inbox) -> R) -> R {
    let mut boxes = BOXES.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
    f(boxes.by_number.entry(number).or_default())
}

/// Registers this module's messages; before the job's attach barrier.
pub fn register(state: &State) -> Result<(), String> {
    let data = Handler::new(|token, message| {
        let offset = u64::from(message.args[1]) | u64::from(message.args[2]) << 32;
        with_box(message.args[0], |inbox| {
            inbox.bytes += message.len;
            inbox.pieces.push((token.source().0, offset, message.bytes().to_vec()));
        });
    });
    let arrived = Handler::new(|_, message| {
        with_box(message.args[0], |inbox| inbox.arrived[message.args[1] as usize & 1] += 1);
    });
    for (index, handler) in [(DATA, data), (ARRIVED, arrived)] {
        state.rank.register_library(index, handler).map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Number of the operation that this rank enters now.
fn enter() -> u32 {
    let mut boxes = BOXES.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
    let number = boxes.next;
    boxes.next = number.wrapping_add(1);
    number
}

fn leave(number: u32) {
    let mut boxes = BOXES.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
    boxes.by_number.remove(&number);
}

fn others(state: &State) -> impl Iterator<Item = RankId> {
    let me = state.rank.id();
    state.rank.ranks().filter(move |&peer| peer != me)
}

fn must(result: Result<(), gasnet::Error>) {
    if let Err(error) = result {
        die(&error.to_string());
    }
}

/// Waits until every rank has come to the entry (0) or the exit (1) of an operation.
fn meet(state: &State, number: u32, side: u32) {
    for peer in others(state) {
        must(state.rank.request_short(peer, ARRIVED, &[number, side]));
    }
    let expected = abi::size() - 1;
    state.rank.wait_until("the other ranks of a collective operation", || {
        with_box(number, |inbox| inbox.arrived[side as usize] == expected)
    });
}

fn send(state: &State, to: RankId, number: u32, bytes: &[u8]) {
    for (i, piece) in bytes.chunks(MAX_MEDIUM).enumerate() {
        let offset = (i * MAX_MEDIUM) as u64;
        let args = [number, offset as u32, (offset >> 32) as u32];
        must(state.rank.request_medium(to, DATA, &args, piece));
    }
}

/// Runs an operation in which this rank sends `outgoing(peer)` to each peer, if there is anything, and expects
/// `incoming` bytes; `place` puts the arrived pieces where they belong.
fn exchange<'a>(
    call: &'static str,
    flags: c_int,
    outgoing: impl Fn(u32) -> Option<&'a [u8]>,
    incoming: usize,
    mut place: impl FnMut(u32, usize, &[u8]),
) {
    let state = state::attached(call);
    context::unrestricted(state, call);
    let number = enter();
    if flags & IN_ALLSYNC != 0 {
        meet(state, number, 0);
    }
    for peer in others(state) {
        if let Some(bytes) = outgoing(peer.0) {
            send(state, peer, number, bytes);
        }
    }
    state.rank.wait_until("the data of a collective operation", || {
        with_box(number, |inbox| inbox.bytes == incoming)
    });
    for (from, offset, bytes) in with_box(number, |inbox| std::mem::take(&mut inbox.pieces)) {
        place(from, offset as usize, &bytes);
    }
    if flags & OUT_ALLSYNC != 0 {
        meet(state, number, 1);
    }
    leave(number);
}

/// Refuses a root that does not exist.
fn check_root(call: &str, root: u32) {
    if root >= abi::size() {
        die(&format!("{call}: there is no node {root}; the job has {} nodes", abi::size()));
    }
}

/// Copies bytes within this process; source and destination may be the same.
///
/// # Safety
/// `to` has room for them, if there are any.
unsafe fn copy_own(from: &[u8], to: *mut u8) {
    if !from.is_empty() {
        // SAFETY: the caller's promise.
        unsafe { std::ptr::copy(from.as_ptr(), to, from.len()) };
    }
}

/// The piece of a buffer that belongs to a rank, when every rank has `n` bytes of it.
fn share(bytes: &[u8], rank: u32, n: usize) -> &[u8] {
    &bytes[rank as usize * n..][..n]
}

/// Bytes of a C buffer.
///
/// # Safety
/// `p` has `n` readable bytes for as long as they are used.
unsafe fn bytes<'a>(p: *const c_void, n: usize) -> &'a [u8] {
    if n == 0 {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(p.cast(), n) }
}

/// Copies the root's `n` bytes to every rank.
///
/// # Safety
/// `dst` has `n` writable bytes, and on the root `src` has `n` readable ones.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_coll_broadcast(
    _team: *mut c_void,
    dst: *mut u8,
    root: u32,
    src: *const c_void,
    n: usize,
    flags: c_int,
) {
    const CALL: &str = "gasnet_coll_broadcast";
    check_root(CALL, root);
    // SAFETY: the caller's promise.
    let own = (root == abi::rank()).then(|| unsafe { bytes(src, n) });
    let incoming = if own.is_some() { 0 } else { n };
    exchange(
        CALL,
        flags,
        |_| own,
        incoming,
        |_, offset, piece| {
            // SAFETY: pieces lie within the n bytes that the root sent.
            unsafe { std::ptr::copy_nonoverlapping(piece.as_ptr(), dst.add(offset), piece.len()) };
        },
    );
    // SAFETY: the caller's promise.
    unsafe { copy_own(own.unwrap_or_default(), dst) };
}

/// Gives each rank its `n` bytes of the root's buffer.
///
/// # Safety
/// `dst` has `n` writable bytes, and on the root `src` has `n` readable ones per rank.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_coll_scatter(
    _team: *mut c_void,
    dst: *mut u8,
    root: u32,
    src: *const c_void,
    n: usize,
    flags: c_int,
) {
    const CALL: &str = "gasnet_coll_scatter";
    check_root(CALL, root);
    // SAFETY: the caller's promise.
    let all = (root == abi::rank()).then(|| unsafe { bytes(src, n * abi::size() as usize) });
    let incoming = if all.is_some() { 0 } else { n };
    exchange(
        CALL,
        flags,
        |peer| Some(share(all?, peer, n)),
        incoming,
        |_, offset, piece| {
            // SAFETY: pieces lie within the n bytes that the root sent.
            unsafe { std::ptr::copy_nonoverlapping(piece.as_ptr(), dst.add(offset), piece.len()) };
        },
    );
    if let Some(all) = all {
        // SAFETY: the caller's promise.
        unsafe { copy_own(share(all, root, n), dst) };
    }
}

/// Gathers `n` bytes of every rank on the root, in the order of ranks.
///
/// # Safety
/// `src` has `n` readable bytes, and on the root `dst` has `n` writable ones per rank.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_coll_gather(
    _team: *mut c_void,
    root: u32,
    dst: *mut u8,
    src: *const c_void,
    n: usize,
    flags: c_int,
) {
    const CALL: &str = "gasnet_coll_gather";
    check_root(CALL, root);
    let is_root = root == abi::rank();
    // SAFETY: the caller's promise.
    let own = unsafe { bytes(src, n) };
    let incoming = if is_root { n * (abi::size() as usize - 1) } else { 0 };
    exchange(
        CALL,
        flags,
        |peer| (peer == root).then_some(own),
        incoming,
        |from, offset, piece| {
            // SAFETY: each rank's pieces lie within its n bytes of the destination.
            unsafe {
                std::ptr::copy_nonoverlapping(
                    piece.as_ptr(),
                    dst.add(from as usize * n + offset),
                    piece.len(),
                )
            };
        },
    );
    if is_root {
        // SAFETY: the caller's promise.
        unsafe { copy_own(own, dst.wrapping_add(root as usize * n)) };
    }
}

/// Gathers `n` bytes of every rank, in the order of ranks, on every rank.
///
/// # Safety
/// `src` has `n` readable bytes, `dst` has `n` writable ones per rank.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_coll_gather_all(
    _team: *mut c_void,
    dst: *mut u8,
    src: *const c_void,
    n: usize,
    flags: c_int,
) {
    // SAFETY: the caller's promise.
    let own = unsafe { bytes(src, n) };
    let incoming = n * (abi::size() as usize - 1);
    exchange(
        "gasnet_coll_gather_all",
        flags,
        |_| Some(own),
        incoming,
        |from, offset, piece| {
            // SAFETY: each rank's pieces lie within its n bytes of the destination.
            unsafe {
                std::ptr::copy_nonoverlapping(
                    piece.as_ptr(),
                    dst.add(from as usize * n + offset),
                    piece.len(),
                )
            };
        },
    );
    // SAFETY: the caller's promise.
    unsafe { copy_own(own, dst.wrapping_add(abi::rank() as usize * n)) };
}

/// Every rank gives each rank its `n` bytes of its buffer.
///
/// # Safety
/// `src` has `n` readable bytes per rank, `dst` has `n` writable ones per rank.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_coll_exchange(
    _team: *mut c_void,
    dst: *mut u8,
    src: *const c_void,
    n: usize,
    flags: c_int,
) {
    // SAFETY: the caller's promise.
    let all = unsafe { bytes(src, n * abi::size() as usize) };
    let incoming = n * (abi::size() as usize - 1);
    exchange(
        "gasnet_coll_exchange",
        flags,
        |peer| Some(share(all, peer, n)),
        incoming,
        |from, offset, piece| {
            // SAFETY: each rank's pieces lie within its n bytes of the destination.
            unsafe {
                std::ptr::copy_nonoverlapping(
                    piece.as_ptr(),
                    dst.add(from as usize * n + offset),
                    piece.len(),
                )
            };
        },
    );
    // SAFETY: the caller's promise.
    unsafe { copy_own(share(all, abi::rank(), n), dst.wrapping_add(abi::rank() as usize * n)) };
}
