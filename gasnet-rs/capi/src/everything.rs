//! `GASNET_SEGMENT_EVERYTHING`: the whole address space of every rank is its segment.
//!
//! A transfer to another process goes through `process_vm_readv` and `process_vm_writev` where the system allows it
//! (found out at attach, peer by peer), else through active messages that the target's polling serves. Long messages
//! travel as medium ones with a [`HEADER`] that names the destination, because the core knows no segment here.
//!
//! A message names an address of its *target*, which is what the program asks for. What belongs to its sender, the operation and where its data go, stays
//! here ([`Asked`]), under a number that the answer brings back: an answer that is not awaited ends the job.

#![expect(
    unsafe_code,
    reason = "reads and writes any address the program names, here and in other processes"
)]

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use gasnet::am::{Handler, Kind, MAX_MEDIUM, Message, Token};
use gasnet::{Error, RankId, bytes};

use crate::abi;
use crate::fatal::die;
use crate::state::{State, state};

/// Bytes before the payload of every message: whether it is long, and its destination.
pub const HEADER: usize = 16;

/// Messages of this module, in the range the core keeps for libraries above it.
const HELLO: u8 = gasnet::am::FIRST_LIBRARY_HANDLER;
const PUT: u8 = HELLO + 1;
const SET: u8 = HELLO + 2;
const GET: u8 = HELLO + 3;
const ACK: u8 = HELLO + 4;
const DATA: u8 = HELLO + 5;

/// How one peer is reached.
#[derive(Debug, Default)]
struct Reach {
    pid: AtomicU32,
    probe: AtomicUsize,
    direct: AtomicBool,
}

static PEERS: OnceLock<Vec<Reach>> = OnceLock::new();
static GREETED: AtomicU32 = AtomicU32::new(0);
/// What peers read to find out whether they may.
static PROBE: u64 = 0x4741_534e_6574_7273;

/// Outstanding messages of one operation.
#[derive(Debug, Default)]
pub struct Op {
    left: AtomicU32,
}

impl Op {
    fn is_done(&self) -> bool {
        // ORDER: Acquire; pairs with Release in `finish`: the data that arrived is visible.
        self.left.load(Ordering::Acquire) == 0
    }
}

/// The kinds of operation that count separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Puts and memsets.
    Put,
    /// Gets.
    Get,
}

thread_local! {
    /// This thread's implicit puts and gets, and its open access region. Leaked: messages may be on their way.
    static IMPLICIT: (&'static Op, &'static Op) =
        (Box::leak(Box::default()), Box::leak(Box::default()));
    static REGION: Cell<*mut Op> = const { Cell::new(std::ptr::null_mut()) };
}

fn join(low: u32, high: u32) -> usize {
    low as usize | (high as usize) << 32
}

fn halves(value: usize) -> [u32; 2] {
    [value as u32, (value >> 32) as u32]
}

/// A message whose answer is awaited.
#[derive(Debug)]
struct Asked {
    /// The address of its op, which lives until its messages are counted down.
    op: usize,
    peer: u32,
    /// The message that answers it: [`ACK`] or [`DATA`].
    answer: u8,
    /// Where data go, and how much.
    at: usize,
    len: usize,
}

/// All that are awaited, by number.
static AWAITED: Mutex<(u32, BTreeMap<u32, Asked>)> = Mutex::new((0, BTreeMap::new()));

fn awaited() -> MutexGuard<'static, (u32, BTreeMap<u32, Asked>)> {
    AWAITED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Counts a message in its op; the number that it goes under.
fn ask(op: &Op, peer: u32, answer: u8, (at, len): (usize, usize)) -> u32 {
    op.left.fetch_add(1, Ordering::Relaxed);
    let (next, all) = &mut *awaited();
    while all.contains_key(next) {
        *next = next.wrapping_add(1);
    }
    let number = *next;
    *next = number.wrapping_add(1);
    all.insert(number, Asked { op: std::ptr::from_ref(op) as usize, peer, answer, at, len });
    number
}

/// What an answer belongs to, which is awaited no longer; ends the job if it belongs to nothing.
fn answered(token: &Token<'_>, number: u32, answer: u8, len: usize) -> Asked {
    let (from, reply) = (token.source().0, !token.is_request());
    let awaits = |asked: &Asked| (asked.peer, asked.answer, asked.len) == (from, answer, len);
    let all = &mut awaited().1;
    match all.remove(&number).filter(|asked| reply && awaits(asked)) {
        Some(asked) => asked,
        None => die(&format!(
            "node {from} sent an answer of {len} bytes to message {number}, which awaits none such: a frame was forged, repeated or corrupted"
        )),
    }
}

impl Asked {
    fn finish(self) {
        // SAFETY: see the field; this message is counted down here, once.
        let op = unsafe { &*(self.op as *const Op) };
        // ORDER: Release; pairs with Acquire in `is_done`.
        op.left.fetch_sub(1, Ordering::Release);
    }
}

fn must(result: Result<(), Error>) {
    if let Err(error) = result {
        die(&error.to_string());
    }
}

fn handle(token: &Token<'_>, index: u8, message: &Message<'_>) {
    match (index, message.args) {
        (HELLO, &[pid, low, high]) => {
            let peer = &PEERS.get().expect("made before any greeting")[token.source().0 as usize];
            peer.pid.store(pid, Ordering::Relaxed);
            peer.probe.store(join(low, high), Ordering::Relaxed);
            // ORDER: Release; pairs with Acquire in `meet`.
            GREETED.fetch_add(1, Ordering::Release);
        }
        (PUT, &[low, high, number]) => {
            // SAFETY: the sender's program answers for the destination; the payload has `len` bytes.
            unsafe { bytes::store(join(low, high) as *mut u8, message.payload, message.len) };
            must(token.reply_short(ACK, &[number]));
        }
        (SET, &[low, high, number, len_low, len_high, value]) => {
            // SAFETY: as above.
            unsafe { bytes::fill(join(low, high) as *mut u8, value as u8, join(len_low, len_high)) };
            must(token.reply_short(ACK, &[number]));
        }
        (GET, &[low, high, number, len]) => {
            let src = join(low, high) as *const u8;
            // SAFETY: the sender's program answers for the source.
            must(unsafe { token.reply_medium_raw(DATA, &[number], src, len as usize) });
        }
        (ACK, &[number]) => answered(token, number, ACK, message.len).finish(),
        (DATA, &[number]) => {
            let asked = answered(token, number, DATA, message.len);
            // SAFETY: the destination that this rank's `get` was given, and as many bytes; its op is not done yet.
            unsafe { bytes::store(asked.at as *mut u8, message.payload, asked.len) };
            asked.finish();
        }
        _ => die(&format!(
            "node {} sent a message {index} with {} arguments: a frame was forged or corrupted",
            token.source(),
            message.args.len()
        )),
    }
}

/// Registers this module's messages; before the job's attach barrier.
pub fn register(state: &State) -> Result<(), String> {
    PEERS.get_or_init(|| (0..abi::size()).map(|_| Reach::default()).collect());
    for index in HELLO..=DATA {
        let handler = Handler::new(move |token, message| handle(token, index, message));
        state.rank.register_library(index, handler).map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Tells every peer how to reach this process, and finds out which of its neighbours can be reached directly.
/// Collective.
pub fn meet(state: &State) {
    // SAFETY: allows siblings of the same user to read and write this process; ignored where unknown.
    unsafe { libc::prctl(libc::PR_SET_PTRACER, libc::PR_SET_PTRACER_ANY) };
    let [low, high] = halves(&raw const PROBE as usize);
    for peer in state.rank.ranks().filter(|&peer| peer != state.rank.id()) {
        must(state.rank.request_short(peer, HELLO, &[std::process::id(), low, high]));
    }
    let expected = abi::size() - 1;
    // ORDER: Acquire; pairs with Release in `handle`.
    state.rank.wait_until("the other ranks' addresses", || GREETED.load(Ordering::Acquire) == expected);
    for peer in state.rank.ranks().filter(|&peer| peer != state.rank.id()) {
        let reach = &PEERS.get().expect("made by register")[peer.0 as usize];
        let mut copy = 0u64;
        // A process id means something on its own host only.
        let read = state.rank.is_neighbour(peer)
            && vm(reach, true, (&raw mut copy).cast(), reach.probe.load(Ordering::Relaxed), size_of::<u64>());
        reach.direct.store(read && copy == PROBE, Ordering::Relaxed);
    }
}

/// Copies between this process and another; `false` if the system refuses.
fn vm(reach: &Reach, read: bool, local: *mut c_void, remote: usize, len: usize) -> bool {
    let pid = reach.pid.load(Ordering::Relaxed) as libc::pid_t;
    let mut done = 0;
    while done < len {
        let here = libc::iovec { iov_base: local.wrapping_byte_add(done), iov_len: len - done };
        let there = libc::iovec { iov_base: (remote + done) as *mut c_void, iov_len: len - done };
        // SAFETY: the local bytes are the caller's; remote ones are checked by the system.
        let n = unsafe {
            if read {
                libc::process_vm_readv(pid, &here, 1, &there, 1, 0)
            } else {
                libc::process_vm_writev(pid, &here, 1, &there, 1, 0)
            }
        };
        if n <= 0 {
            return false;
        }
        done += n as usize;
    }
    true
}

/// Where a transfer stands when its call returns.
fn direct(peer: u32) -> Option<&'static Reach> {
    PEERS.get()?.get(peer as usize).filter(|reach| reach.direct.load(Ordering::Relaxed))
}

fn refuse(what: &str, peer: u32, remote: usize, len: usize) -> ! {
    die(&format!(
        "{what} of {len} bytes at address {remote:#x} of node {peer}: there is no such memory there"
    ))
}

/// A put, counted in `op` until it is done.
///
/// # Safety
/// `src` has `len` readable bytes; the destination is memory of that rank's program.
pub unsafe fn put(op: &Op, peer: u32, dst: usize, src: *const u8, len: usize) {
    if peer == abi::rank() {
        // SAFETY: the caller's promise.
        unsafe { bytes::store(dst as *mut u8, src, len) };
    } else if let Some(reach) = direct(peer) {
        if !vm(reach, false, src.cast_mut().cast(), dst, len) && len > 0 {
            refuse("put", peer, dst, len);
        }
    } else {
        for start in (0..len).step_by(MAX_MEDIUM) {
            let n = (len - start).min(MAX_MEDIUM);
            let [low, high] = halves(dst + start);
            let args = [low, high, ask(op, peer, ACK, (0, 0))];
            let rank = state("gasnet_put").rank;
            // SAFETY: inside the caller's bytes.
            must(unsafe { rank.request_medium_raw(RankId(peer), PUT, &args, src.add(start), n) });
        }
    }
}

/// A memset, counted in `op` until it is done.
///
/// # Safety
/// The destination is memory of that rank's program.
pub unsafe fn set(op: &Op, peer: u32, dst: usize, value: u8, len: usize) {
    if peer == abi::rank() {
        // SAFETY: the caller's promise.
        return unsafe { bytes::fill(dst as *mut u8, value, len) };
    }
    let ([low, high], [len_low, len_high]) = (halves(dst), halves(len));
    let args = [low, high, ask(op, peer, ACK, (0, 0)), len_low, len_high, u32::from(value)];
    must(state("gasnet_memset").rank.request_short(RankId(peer), SET, &args));
}

/// A get, counted in `op` until it is done.
///
/// # Safety
/// `dst` has `len` writable bytes until then; the source is memory of that rank's program.
pub unsafe fn get(op: &Op, dst: *mut u8, peer: u32, src: usize, len: usize) {
    if peer == abi::rank() {
        // SAFETY: the caller's promise.
        unsafe { bytes::load(dst, src as *const u8, len) };
    } else if let Some(reach) = direct(peer) {
        if !vm(reach, true, dst.cast(), src, len) && len > 0 {
            refuse("get", peer, src, len);
        }
    } else {
        for start in (0..len).step_by(MAX_MEDIUM) {
            let n = (len - start).min(MAX_MEDIUM);
            let [low, high] = halves(src + start);
            let number = ask(op, peer, DATA, (dst as usize + start, n));
            let args = [low, high, number, n as u32];
            must(state("gasnet_get").rank.request_short(RankId(peer), GET, &args));
        }
    }
}

/// Runs a blocking operation to its end.
pub fn blocking(what: &'static str, start: impl FnOnce(&Op)) {
    let op = Op::default();
    start(&op);
    if !op.is_done() {
        state(what).rank.wait_until(what, || op.is_done());
    }
}

/// Starts an explicit operation; 0 if it is done already, else the word to ask [`test()`] with.
pub fn explicit(start: impl FnOnce(&Op)) -> usize {
    let op = Box::<Op>::default();
    start(&op);
    if op.is_done() { 0 } else { Box::into_raw(op) as usize }
}

/// Whether an explicit operation is done; if so its word is used up.
///
/// # Safety
/// 1. A word made by [`explicit`] or [`end_region`] and not used up (owed by the caller).
pub unsafe fn test(handle: usize) -> bool {
    // SAFETY: (1).
    let done = unsafe { &*(handle as *const Op) }.is_done();
    if done {
        // SAFETY: as above, and nobody counts in it any more.
        drop(unsafe { Box::from_raw(handle as *mut Op) });
    }
    done
}

/// Starts an implicit operation of this thread, or of its open access region.
pub fn implicit(class: Class, start: impl FnOnce(&Op)) {
    let region = REGION.get();
    if region.is_null() {
        IMPLICIT.with(|(puts, gets)| start(if class == Class::Put { puts } else { gets }));
    } else {
        // SAFETY: the open region's op lives until its handle is used up.
        start(unsafe { &*region });
    }
}

/// Whether this thread's implicit operations are done.
pub fn implicit_done(puts: bool, gets: bool) -> bool {
    IMPLICIT.with(|(p, g)| (!puts || p.is_done()) && (!gets || g.is_done()))
}

/// Opens an access region.
pub fn begin_region() {
    if !REGION.get().is_null() {
        die("access regions do not nest: end the open one first");
    }
    REGION.set(Box::into_raw(Box::default()));
}

/// Closes the access region and returns its word.
pub fn end_region() -> usize {
    let region = REGION.replace(std::ptr::null_mut());
    if region.is_null() {
        die("no access region is open");
    }
    let word = region as usize;
    // SAFETY: made by `begin_region`, and given to nobody yet.
    if unsafe { test(word) } { 0 } else { word }
}

/// Puts the header of a message before its payload and sends it.
///
/// # Safety
/// `src` has `len` readable bytes.
pub unsafe fn wrap(
    long: bool,
    src: *const u8,
    len: usize,
    dst: usize,
    send: impl FnOnce(&[u8]) -> Result<(), Error>,
) -> Result<(), Error> {
    if len > MAX_MEDIUM - HEADER {
        return Err(Error::op(format!("a payload of {len} bytes; the most is {}", MAX_MEDIUM - HEADER)));
    }
    let mut bytes = Vec::with_capacity(HEADER + len);
    bytes.extend_from_slice(&u64::from(long).to_ne_bytes());
    bytes.extend_from_slice(&(dst as u64).to_ne_bytes());
    if len > 0 {
        // SAFETY: the caller's promise.
        bytes.extend_from_slice(unsafe { std::slice::from_raw_parts(src, len) });
    }
    send(&bytes)
}

/// Takes the header off a message: its kind, where its payload is now, and its length.
///
/// # Safety
/// `payload` has `len` bytes written by [`wrap`].
pub unsafe fn open(payload: *mut u8, len: usize) -> (Kind, *mut u8, usize) {
    let Some(n) = len.checked_sub(HEADER) else { die("a message came without its header") };
    // SAFETY: the header is there; the sender's program answers for the destination of a long message.
    unsafe {
        let long = payload.cast::<u64>().read_unaligned() != 0;
        let dst = payload.cast::<u64>().add(1).read_unaligned() as usize as *mut u8;
        let data = payload.add(HEADER);
        if !long {
            return (Kind::Medium, data, n);
        }
        if n > 0 {
            std::ptr::copy_nonoverlapping(data, dst, n);
        }
        (Kind::Long, dst, n)
    }
}
