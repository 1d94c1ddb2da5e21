//! `GASNET_SEGMENT_EVERYTHING`: the whole address space of every rank is its segment.
//!
//! A transfer to another process goes through `process_vm_readv` and `process_vm_writev` where the system allows it
//! (found out at attach, peer by peer), else through active messages that the target's polling serves. Long messages
//! travel as medium ones with a [`HEADER`] that names the destination, because the core knows no segment here.

#![expect(
    unsafe_code,
    reason = "reads and writes any address the program names, here and in other processes"
)]

use std::cell::Cell;
use std::ffi::c_void;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

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

fn word(args: &[u32], i: usize) -> usize {
    args[i] as usize | (args[i + 1] as usize) << 32
}

fn halves(value: usize) -> [u32; 2] {
    [value as u32, (value >> 32) as u32]
}

fn finish(op: usize) {
    // SAFETY: the address of an op that lives until its messages are counted down.
    let op = unsafe { &*(op as *const Op) };
    // ORDER: Release; pairs with Acquire in `is_done`.
    op.left.fetch_sub(1, Ordering::Release);
}

fn must(result: Result<(), Error>) {
    if let Err(error) = result {
        die(&error.to_string());
    }
}

fn handle(token: &Token<'_>, index: u8, message: &Message<'_>) {
    let args = message.args;
    match index {
        HELLO => {
            let peer = &PEERS.get().expect("made before any greeting")[token.source().0 as usize];
            peer.pid.store(args[0], Ordering::Relaxed);
            peer.probe.store(word(args, 1), Ordering::Relaxed);
            // ORDER: Release; pairs with Acquire in `meet`.
            GREETED.fetch_add(1, Ordering::Release);
        }
        PUT => {
            // SAFETY: the sender's program answers for the destination; the payload has `len` bytes.
            unsafe { bytes::store(word(args, 0) as *mut u8, message.payload, message.len) };
            must(token.reply_short(ACK, &args[2..4]));
        }
        SET => {
            // SAFETY: as above.
            unsafe { bytes::fill(word(args, 0) as *mut u8, args[6] as u8, word(args, 4)) };
            must(token.reply_short(ACK, &args[2..4]));
        }
        GET => {
            let (src, len) = (word(args, 0) as *const u8, args[6] as usize);
            // SAFETY: the sender's program answers for the source.
            must(unsafe { token.reply_medium_raw(DATA, &args[2..6], src, len) });
        }
        ACK => finish(word(args, 0)),
        DATA => {
            // SAFETY: the destination given by this rank when it asked.
            unsafe { bytes::store(word(args, 2) as *mut u8, message.payload, message.len) };
            finish(word(args, 0));
        }
        _ => unreachable!("handlers registered below"),
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
            let ([d0, d1], [o0, o1]) = (halves(dst + start), halves(std::ptr::from_ref(op) as usize));
            op.left.fetch_add(1, Ordering::Relaxed);
            let rank = state("gasnet_put").rank;
            // SAFETY: inside the caller's bytes.
            must(unsafe { rank.request_medium_raw(RankId(peer), PUT, &[d0, d1, o0, o1], src.add(start), n) });
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
    let ([d0, d1], [o0, o1], [l0, l1]) = (halves(dst), halves(std::ptr::from_ref(op) as usize), halves(len));
    op.left.fetch_add(1, Ordering::Relaxed);
    let args = [d0, d1, o0, o1, l0, l1, u32::from(value)];
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
            let ([s0, s1], [o0, o1]) = (halves(src + start), halves(std::ptr::from_ref(op) as usize));
            let [d0, d1] = halves(dst as usize + start);
            op.left.fetch_add(1, Ordering::Relaxed);
            let args = [s0, s1, o0, o1, d0, d1, n as u32];
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
pub fn test(handle: usize) -> bool {
    // SAFETY: a word made by `explicit` or `end_region` and not used up.
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
    if test(word) { 0 } else { word }
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
    let n = len - HEADER;
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
