//! Collectives that programs use to start up: broadcast and gather-to-all of any size, over active messages.
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

/// Runs an operation in which this rank sends `own` to everybody if there is one, and expects `incoming` bytes;
/// `place` puts the arrived pieces where they belong.
fn exchange(
    call: &'static str,
    flags: c_int,
    own: Option<&[u8]>,
    incoming: usize,
    mut place: impl FnMut(u32, usize, &[u8]),
) {
    let state = state::attached(call);
    context::unrestricted(state, call);
    let number = enter();
    if flags & IN_ALLSYNC != 0 {
        meet(state, number, 0);
    }
    if let Some(own) = own {
        for peer in others(state) {
            send(state, peer, number, own);
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
    dst: *mut c_void,
    root: u32,
    src: *const c_void,
    n: usize,
    flags: c_int,
) {
    if root >= abi::size() {
        die(&format!("gasnet_coll_broadcast: there is no node {root}; the job has {} nodes", abi::size()));
    }
    let is_root = root == abi::rank();
    // SAFETY: the caller's promise.
    let own = is_root.then(|| unsafe { bytes(src, n) });
    let incoming = if is_root { 0 } else { n };
    exchange("gasnet_coll_broadcast", flags, own, incoming, |_, offset, piece| {
        // SAFETY: pieces lie within the n bytes that the root sent.
        unsafe { std::ptr::copy_nonoverlapping(piece.as_ptr(), dst.cast::<u8>().add(offset), piece.len()) };
    });
    if let Some(own) = own.filter(|own| !own.is_empty()) {
        // SAFETY: the caller's promise; source and destination may be the same.
        unsafe { std::ptr::copy(own.as_ptr(), dst.cast::<u8>(), n) };
    }
}

/// Gathers `n` bytes of every rank, in the order of ranks, on every rank.
///
/// # Safety
/// `src` has `n` readable bytes, `dst` has `n` writable ones per rank.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_coll_gather_all(
    _team: *mut c_void,
    dst: *mut c_void,
    src: *const c_void,
    n: usize,
    flags: c_int,
) {
    // SAFETY: the caller's promise.
    let own = unsafe { bytes(src, n) };
    let at = |rank: u32| dst.cast::<u8>().wrapping_add(rank as usize * n);
    exchange(
        "gasnet_coll_gather_all",
        flags,
        Some(own),
        n * (abi::size() as usize - 1),
        |from, offset, piece| {
            // SAFETY: each rank's pieces lie within its n bytes of the destination.
            unsafe { std::ptr::copy_nonoverlapping(piece.as_ptr(), at(from).add(offset), piece.len()) };
        },
    );
    if n > 0 {
        // SAFETY: the caller's promise.
        unsafe { std::ptr::copy(own.as_ptr(), at(abi::rank()), n) };
    }
}

/// Keeps the pointer types above in step with C.
const _: () = assert!(size_of::<RankId>() == 4);
