//! The functions that emitted C calls (`include/upcc_abi.h`). They check nothing and call the state object.
//!
//! A panic inside them is a bug of this library; it ends the process with a message, since nothing may unwind
//! into C.
#![expect(unsafe_code, reason = "exports functions to C")]

use crate::abi::{Image, Library};
use crate::atomics::{Operands, Order};
use crate::collectives::{DataMove, Mix};
use crate::core::found;
use crate::state::upc;
use std::borrow::Cow;
use std::ffi::{CStr, c_char, c_int, c_long, c_uint, c_ulong, c_void};
use std::sync::atomic::{AtomicPtr, Ordering::*, fence};

/// Called by the emitted `main`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __upc_run(argc: c_int, argv: *mut *mut c_char, image: *const Image) -> c_int {
    // SAFETY: emitted C passes what `main` got and the image it describes.
    unsafe { crate::run::run(argc, argv, image) }
}

/// Registers a shared object: its constructor calls this.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __upc_register(library: &'static Library) {
    // SAFETY: the C that upcc links into shared objects passes what it describes.
    unsafe { crate::libraries::register(library) }
}

/// Copies from thread `t`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __upc_get(dst: *mut c_void, t: c_uint, o: c_ulong, n: c_ulong) {
    upc().check_transfer("reads", t, o, n);
    // SAFETY: the user's buffer, as for memcpy.
    unsafe { upc().core.get(dst.cast(), t, o, n) }
}

/// Copies to thread `t`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __upc_put(t: c_uint, o: c_ulong, src: *const c_void, n: c_ulong) {
    upc().check_transfer("writes", t, o, n);
    // SAFETY: the user's buffer, as for memcpy.
    unsafe { upc().core.put(t, o, src.cast(), n) }
}

/// Copies to thread `t`; complete at the latest by the next fence or access to the same bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __upc_put_later(t: c_uint, o: c_ulong, src: *const c_void, n: c_ulong) {
    upc().check_transfer("writes", t, o, n);
    // SAFETY: the user's buffer, as for memcpy.
    unsafe { upc().core.put_later(t, o, src.cast(), n) }
}

/// [`__upc_put_later`] that may travel with others (`-fupc-aggregate`).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __upc_put_batched(t: c_uint, o: c_ulong, src: *const c_void, n: c_ulong) {
    upc().check_transfer("writes", t, o, n);
    // SAFETY: the user's buffer, as for memcpy.
    unsafe { upc().core.put_batched(t, o, src.cast(), n) }
}

/// Starts to copy from thread `t`; complete after [`__upc_arrived`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __upc_get_ahead(dst: *mut c_void, t: c_uint, o: c_ulong, n: c_ulong) {
    upc().check_transfer("reads", t, o, n);
    // SAFETY: a variable of the emitted code, which does not use it until then.
    unsafe { upc().core.get_nbi(dst.cast(), t, o, n) }
}

/// Waits for all that `__upc_get_ahead` started.
#[unsafe(no_mangle)]
pub extern "C" fn __upc_arrived() {
    upc().core.arrived();
}

/// Copies between threads.
#[unsafe(no_mangle)]
pub extern "C" fn __upc_copy(dt: c_uint, d: c_ulong, st: c_uint, s: c_ulong, n: c_ulong) {
    upc().check_transfer("copies to", dt, d, n);
    upc().check_transfer("copies from", st, s, n);
    upc().core.copy((dt, d), (st, s), n);
}

/// Fills memory of thread `t`.
#[unsafe(no_mangle)]
pub extern "C" fn __upc_set(t: c_uint, o: c_ulong, c: c_int, n: c_ulong) {
    upc().check_transfer("writes", t, o, n);
    upc().core.set(t, o, c as u8, n);
}

/// A full fence.
fn full_fence() {
    // ORDER: SeqCst; a strict access by itself; pairs with the fences of the other threads.
    fence(SeqCst);
    upc().core.settle();
}

/// Before and after a strict write: a full fence, and progress.
#[unsafe(no_mangle)]
pub extern "C" fn __upc_strict_fence() {
    full_fence();
    upc().core.poll();
}

/// Before a strict read: a full fence. Progress comes after it.
#[unsafe(no_mangle)]
pub extern "C" fn __upc_before_look() {
    upc().core.begin_look(1);
    full_fence();
}

/// After a strict read of `n` bytes of thread `t`: a full fence, and progress. Programs wait in loops of such
/// reads.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __upc_look(t: c_uint, o: c_ulong, value: *const c_void, n: c_ulong) {
    /// If all threads are near, emitted C reports one read in this many.
    const NEAR_READS_PER_REPORT: u32 = 64;
    if upc().core.all_near() {
        upc().core.begin_look(NEAR_READS_PER_REPORT);
    }
    full_fence();
    let done = upc().core.poll();
    let mut word = [0u8; 8];
    let n = (n as usize).min(8);
    // SAFETY: emitted C passes a variable of that size.
    unsafe { std::ptr::copy_nonoverlapping(value.cast(), word.as_mut_ptr(), n) };
    upc().core.looked(found(t, o, u64::from_ne_bytes(word)), Some(done));
}

/// The key of a program that reads shared memory in a loop with fences or polls: any location.
const ANY_LOCATION_KEY: u64 = 1;

/// `upc_fence`: a full fence, and progress.
#[unsafe(no_mangle)]
pub extern "C" fn __upc_fence() {
    upc().core.begin_look(1);
    full_fence();
    let done = upc().core.poll();
    upc().core.looked(ANY_LOCATION_KEY, Some(done));
}

/// Progress.
#[unsafe(no_mangle)]
pub extern "C" fn __upc_poll() {
    upc().core.begin_look(1);
    let done = upc().core.poll();
    upc().core.looked(ANY_LOCATION_KEY, Some(done));
}

fn name(value: c_int, named: c_int) -> Option<i32> {
    (named != 0).then_some(value)
}

/// `upc_notify`.
#[unsafe(no_mangle)]
pub extern "C" fn __upc_notify(value: c_int, named: c_int) {
    upc().notify(name(value, named));
}

/// `upc_wait`.
#[unsafe(no_mangle)]
pub extern "C" fn __upc_wait(value: c_int, named: c_int) {
    upc().wait(name(value, named));
}

/// `upc_barrier`.
#[unsafe(no_mangle)]
pub extern "C" fn __upc_barrier(value: c_int, named: c_int) {
    upc().full_barrier(name(value, named));
}

/// `upc_alloc`: offset on this thread.
#[unsafe(no_mangle)]
pub extern "C" fn __upc_alloc_local(bytes: c_ulong) -> c_ulong {
    upc().alloc_local(bytes)
}

/// `upc_global_alloc`, `upc_all_alloc`: offset on all threads.
#[unsafe(no_mangle)]
pub extern "C" fn __upc_alloc_global(nblocks: c_ulong, block: c_ulong, collective: c_int) -> c_ulong {
    upc().alloc_global(nblocks, block, collective != 0)
}

/// `upc_free`, `upc_all_free`.
#[unsafe(no_mangle)]
pub extern "C" fn __upc_free(t: c_uint, o: c_ulong, collective: c_int) {
    upc().free(t, o, collective != 0);
}

/// `upc_global_lock_alloc`, `upc_all_lock_alloc`: offset, and thread through `thread`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __upc_lock_alloc(collective: c_int, thread: *mut c_uint) -> c_ulong {
    let (t, off) = upc().lock_alloc(collective != 0);
    // SAFETY: emitted C passes the address of a variable.
    unsafe { *thread = t };
    off
}

/// `upc_lock_free`, `upc_all_lock_free`.
#[unsafe(no_mangle)]
pub extern "C" fn __upc_lock_free(t: c_uint, o: c_ulong, collective: c_int) {
    upc().lock_free(t, o, collective != 0);
}

/// `upc_lock`.
#[unsafe(no_mangle)]
pub extern "C" fn __upc_lock(t: c_uint, o: c_ulong) {
    upc().lock(t, o);
}

/// `upc_lock_attempt`.
#[unsafe(no_mangle)]
pub extern "C" fn __upc_lock_attempt(t: c_uint, o: c_ulong) -> c_int {
    upc().lock_attempt(t, o).into()
}

/// `upc_unlock`.
#[unsafe(no_mangle)]
pub extern "C" fn __upc_unlock(t: c_uint, o: c_ulong) {
    upc().unlock(t, o);
}

/// `upc_global_exit`.
#[unsafe(no_mangle)]
pub extern "C" fn __upc_global_exit(status: c_int) -> ! {
    upc().global_exit(status)
}

/// Ends the job with a message, printed as it is (not a format).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __upc_error(text: *const c_char) -> ! {
    // SAFETY: emitted C passes a string.
    upc().fatal(&unsafe { CStr::from_ptr(text) }.to_string_lossy())
}

/// `upc_ticks_now`, in nanoseconds.
#[unsafe(no_mangle)]
pub extern "C" fn __upc_ticks_now() -> u64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `t` is valid; this clock always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut t) };
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

/// Smallest step of the clock, in microseconds.
#[unsafe(no_mangle)]
pub extern "C" fn __upc_tick_granularity() -> f64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `t` is valid; this clock always exists.
    unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC, &mut t) };
    t.tv_sec as f64 * 1e6 + t.tv_nsec as f64 / 1e3
}

/// Cost of reading the clock, in microseconds: the mean of a thousand.
#[unsafe(no_mangle)]
pub extern "C" fn __upc_tick_overhead() -> f64 {
    let start = __upc_ticks_now();
    for _ in 0..1000 {
        std::hint::black_box(__upc_ticks_now());
    }
    (__upc_ticks_now() - start) as f64 / 1e6
}

/// `upc_all_atomicdomain_alloc`: offset on all threads.
#[unsafe(no_mangle)]
pub extern "C" fn __upc_atomicdomain_alloc(upc_type: c_int, ops: c_int) -> c_ulong {
    upc().domain_alloc(upc_type as u32, ops as u32)
}

/// `upc_all_atomicdomain_free`.
#[unsafe(no_mangle)]
pub extern "C" fn __upc_atomicdomain_free(o: c_ulong) {
    upc().domain_free(o);
}

/// `upc_atomic_relaxed`, `upc_atomic_strict`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __upc_atomic(
    domain: c_ulong,
    fetch: *mut c_void,
    op: c_int,
    t: c_uint,
    o: c_ulong,
    first: *const c_void,
    second: *const c_void,
    order: c_int,
) {
    let operands = Operands { fetch: fetch.cast(), first: first.cast(), second: second.cast() };
    // SAFETY: the user's operands, of the domain's type.
    unsafe { upc().atomic(domain, op as u32, (t, o), operands, Order::from_number(order)) }
}

fn movement(what: c_int) -> DataMove {
    match what {
        0 => DataMove::Broadcast,
        1 => DataMove::Scatter,
        2 => DataMove::Gather,
        3 => DataMove::GatherAll,
        _ => DataMove::Exchange,
    }
}

/// `upc_all_broadcast` (0), `scatter` (1), `gather` (2), `gather_all` (3), `exchange` (4).
#[unsafe(no_mangle)]
pub extern "C" fn __upc_all_move(
    what: c_int,
    dt: c_uint,
    d: c_ulong,
    st: c_uint,
    s: c_ulong,
    n: c_ulong,
    flags: c_int,
) {
    upc().move_all(movement(what), (dt, d), (st, s), n, flags as u32);
}

/// [`__upc_all_move`] in a team, split-phase; a handle for [`__upc_team_wait`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __upc_team_move(
    team: *const c_void,
    what: c_int,
    dt: c_uint,
    d: c_ulong,
    st: c_uint,
    s: c_ulong,
    n: c_ulong,
    flags: c_int,
) -> *mut c_void {
    // SAFETY: the program passes a team of `bupc_team_split`.
    unsafe { upc().team_move(team.cast(), movement(what), (dt, d), (st, s), n, flags as u32) as *mut c_void }
}

/// `bupc_coll_wait`.
#[unsafe(no_mangle)]
pub extern "C" fn __upc_team_wait(handle: *mut c_void) {
    upc().core.wait_event(handle as u64);
}

/// `bupc_team_split`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __upc_team_split(parent: *const c_void, color: c_int, key: c_int) -> *const c_void {
    // SAFETY: the program passes a team of `bupc_team_split`.
    unsafe { upc().team_split(parent.cast(), color as u32, key as u32).cast() }
}

/// `bupc_team_all`: the null pointer.
#[unsafe(no_mangle)]
pub static bupc_team_all: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());

/// `upc_all_permute`.
#[unsafe(no_mangle)]
pub extern "C" fn __upc_all_permute(
    dt: c_uint,
    d: c_ulong,
    st: c_uint,
    s: c_ulong,
    pt: c_uint,
    p: c_ulong,
    n: c_ulong,
    flags: c_int,
) {
    upc().permute((dt, d), (st, s), (pt, p), n, flags as u32);
}

/// The description of a reduction, for messages and checks: `struct __upc_reduction` of `upcc_lib.h`.
#[repr(C)]
pub struct ReductionArguments {
    name: *const c_char,
    dst_thread: c_ulong,
    dst: c_ulong,
    src_thread: c_ulong,
    src: c_ulong,
    op: c_ulong,
    elements: c_ulong,
    block: c_ulong,
    flags: c_ulong,
    size: c_ulong,
    src_phase: c_ulong,
    /// Negative if the destination has only one element.
    dst_phase: c_long,
}

impl ReductionArguments {
    /// Its name and arguments.
    ///
    /// # Safety
    /// 1. The name is a string (owed by the caller).
    unsafe fn described(&self) -> (Cow<'_, str>, [(&'static str, u64); 8]) {
        // SAFETY: (1).
        let name = unsafe { CStr::from_ptr(self.name) }.to_string_lossy();
        let list = [
            ("thread of dst", self.dst_thread),
            ("dst", self.dst),
            ("thread of src", self.src_thread),
            ("src", self.src),
            ("op", self.op),
            ("nelems", self.elements),
            ("blk_size", self.block),
            ("flags", self.flags),
        ];
        (name, list)
    }
}

/// Entry of a reduction.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __upc_reduce_enter(arguments: *const ReductionArguments) {
    // SAFETY: emitted C passes a structure on its stack with a string constant.
    unsafe {
        let (name, list) = (*arguments).described();
        let x = &*arguments;
        upc().check_elements(&name, x.elements, x.block);
        let run = (x.elements, x.block, x.size);
        upc().check_own_elements("reads", (x.src_thread, x.src, x.src_phase), run);
        if let Ok(phase) = u64::try_from(x.dst_phase) {
            upc().check_own_elements("writes", (x.dst_thread, x.dst, phase), run);
        }
        upc().enter(&name, (*arguments).flags as u32, &list);
    }
}

/// Exit of a reduction.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __upc_reduce_exit(arguments: *const ReductionArguments) {
    // SAFETY: as above.
    unsafe {
        let (name, list) = (*arguments).described();
        upc().exit(&name, (*arguments).flags as u32, &list);
    }
}

/// Combines the values of the threads that have one. Returns whether this thread gets a result: `root`, or
/// every thread if `root` is negative.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __upc_reduce_combine(
    value: *mut c_void,
    n: c_ulong,
    have: c_int,
    root: c_int,
    mix: Mix,
    context: *const c_void,
) -> c_int {
    // SAFETY: emitted C passes a scalar of at most 16 bytes, and a function for it.
    unsafe { upc().combine(value.cast(), n, have != 0, u32::try_from(root).ok(), (mix, context)) }.into()
}

/// Collects `n` bytes of every thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __upc_reduce_gather(mine: *const c_void, all: *mut c_void, n: c_ulong) {
    // SAFETY: emitted C passes buffers of these sizes.
    unsafe { upc().gather_private(mine.cast(), all.cast(), n) }
}

/// Private memory; ends the job if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn __upc_malloc(n: c_ulong) -> *mut c_void {
    // SAFETY: plain call.
    let p = unsafe { libc::malloc(n.max(1) as usize) };
    if p.is_null() {
        upc().fatal(&format!("out of memory: {n} bytes of private memory"));
    }
    p
}

/// Gives it back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __upc_mfree(p: *mut c_void) {
    // SAFETY: emitted C passes what `__upc_malloc` returned.
    unsafe { libc::free(p) }
}
