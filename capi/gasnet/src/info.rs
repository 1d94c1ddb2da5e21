//! Error names, identification strings, and who is where.

#![expect(unsafe_code, reason = "exported to C by name; fills arrays of the caller")]

use std::ffi::{c_char, c_int, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use gasnet::RankId;

use crate::{abi, state};

/// Success.
pub const OK: c_int = 0;
/// `gasnet_init` or `gasnet_attach` is missing or was called twice.
pub const NOT_INIT: c_int = 10001;
/// A system resource cannot be had.
pub const RESOURCE: c_int = 10002;
/// An argument is out of range.
pub const BAD_ARG: c_int = 10003;
/// Not complete yet, or the lock is taken.
pub const NOT_READY: c_int = 10004;
/// The names given to a barrier differ.
pub const BARRIER_MISMATCH: c_int = 10005;
/// A rank has died (`gasnet_survive.h`).
pub const DIED: c_int = 10099;

/// The name of an error code.
#[unsafe(no_mangle)]
pub extern "C" fn gasnet_ErrorName(code: c_int) -> *const c_char {
    match code {
        OK => c"GASNET_OK",
        NOT_INIT => c"GASNET_ERR_NOT_INIT",
        RESOURCE => c"GASNET_ERR_RESOURCE",
        BAD_ARG => c"GASNET_ERR_BAD_ARG",
        NOT_READY => c"GASNET_ERR_NOT_READY",
        BARRIER_MISMATCH => c"GASNET_ERR_BARRIER_MISMATCH",
        DIED => c"GASNETX_DIED",
        _ => c"*unknown*",
    }
    .as_ptr()
}

/// The description of an error code.
#[unsafe(no_mangle)]
pub extern "C" fn gasnet_ErrorDesc(code: c_int) -> *const c_char {
    match code {
        OK => c"No error",
        NOT_INIT => c"GASNet is not initialized, or is initialized already",
        RESOURCE => c"A problem with a network or system resource",
        BAD_ARG => c"Invalid function argument",
        NOT_READY => c"Not complete yet, or not available now",
        BARRIER_MISMATCH => c"The names given to a barrier differ",
        DIED => c"A rank has died",
        _ => c"no description available",
    }
    .as_ptr()
}

/// The choice of `gex_System_SetVerboseErrors`. Verbose messages are on from the start.
static VERBOSE: AtomicBool = AtomicBool::new(true);

/// Whether calls that return an error say why.
#[unsafe(no_mangle)]
pub extern "C" fn gex_System_GetVerboseErrors() -> c_int {
    c_int::from(VERBOSE.load(Relaxed))
}

/// Says whether calls that return an error say why.
#[unsafe(no_mangle)]
pub extern "C" fn gex_System_SetVerboseErrors(enable: c_int) {
    VERBOSE.store(enable != 0, Relaxed);
}

/// Returns an error of a call, and says why if the client wants to hear it.
#[cold]
pub fn refuse(code: c_int, call: &str, why: &str) -> c_int {
    if gex_System_GetVerboseErrors() != 0 {
        eprintln!("gasnet: {call} (rank {}): {why}", abi::rank());
    }
    code
}

/// Writes a result of C's where C wants it.
///
/// # Safety
/// `to` is null or writable.
pub unsafe fn give<T>(to: *mut T, value: T) {
    if !to.is_null() {
        // SAFETY: the caller's promise.
        unsafe { to.write(value) }
    }
}

/// Text in the library for tools that scan files. The network that a program was compiled for is in the
/// program's own part.
static IDENT: &[u8] = b"$GASNetConfig: (libgasnet.a) RELEASE=2025.8.0,SPEC=1.8,CONDUIT=SMP(SMP-1.1/SMP-1.1),\
THREADMODEL=PAR,SEGMENT=FAST,PTR=64bit,CACHE_LINE_BYTES=64,noalign,pshm,nodebug,notrace,nostats,nodebugmalloc,\
nosrclines,timers_native,membars_native,atomics_native,atomic32_native,atomic64_native $\0\
$GASNetCoreLibraryName: SMP $\0$GASNetCoreLibraryVersion: 1.1 $\0\
$GASNetExtendedLibraryName: SMP $\0$GASNetExtendedLibraryVersion: 1.1 $\0$GASNetPSHM: posix $\0\
$GASNetFORKSpawner: 1 $\0$GASNetDefaultSpawnFunction: gasnetrun -n N PROG $\0";

/// Keeps the identification text in every program that uses the library.
pub fn keep_ident() {
    std::hint::black_box(IDENT);
}

/// The conduit this run uses.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_conduit_name() -> *const c_char {
    static NAME: OnceLock<std::ffi::CString> = OnceLock::new();
    let Some(state) = state::get() else { return c"".as_ptr() };
    NAME.get_or_init(|| std::ffi::CString::new(state.rank.conduit_name()).unwrap_or_default()).as_ptr()
}

/// One rank's segment, as C declares it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct SegInfo {
    addr: *mut c_void,
    size: usize,
}

/// Where one rank is, as C declares it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct NodeInfo {
    host: u32,
    supernode: u32,
    offset: usize,
}

/// Copies the first `n` segments to the caller's table.
///
/// # Safety
/// `table` has `n` entries.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasnet_getSegmentInfo(table: *mut SegInfo, n: c_int) -> c_int {
    let Some(state) = state::get().filter(|state| state.attached.load(Relaxed)) else { return NOT_INIT };
    if n < 0 || (n > 0 && table.is_null()) {
        return BAD_ARG;
    }
    for (i, entry) in state.rank.ranks().map_while(|r| state.segment_of(r)).take(n as usize).enumerate() {
        let info = SegInfo { addr: entry.addr as *mut c_void, size: entry.size };
        // SAFETY: i < n, and the caller's table has n entries.
        unsafe { table.add(i).write(info) };
    }
    OK
}

/// Says for the first `n` ranks which share a host and memory.
///
/// # Safety
/// `table` has `n` entries.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasnet_getNodeInfo(table: *mut NodeInfo, n: c_int) -> c_int {
    let Some(state) = state::get() else { return NOT_INIT };
    if n < 0 || (n > 0 && table.is_null()) {
        return BAD_ARG;
    }
    let segments = state.attached.load(Relaxed).then(|| state.rank.table());
    for rank in 0..abi::size().min(n as u32) {
        let entry = segments.and_then(|table| table.get(RankId(rank)));
        let offset = entry.filter(|e| !e.local.is_null());
        let info = NodeInfo {
            host: state.rank.topology().host_of(RankId(rank)),
            supernode: state.rank.topology().neighbourhood_of(RankId(rank)),
            offset: offset.map_or(0, |e| (e.local as usize).wrapping_sub(e.addr)),
        };
        // SAFETY: rank < n, and the caller's table has n entries.
        unsafe { table.add(rank as usize).write(info) };
    }
    OK
}

/// The value of a variable in the environment that the job was started in, the same on all ranks; null if
/// unset.
///
/// # Safety
/// `name` is NUL-terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasnet_getenv(name: *const c_char) -> *mut c_char {
    // SAFETY: the caller's promise.
    unsafe { libc::getenv(name) }
}

/// A pointer that differs between threads.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_threadinfo() -> *mut c_void {
    thread_local!(static MARK: u8 = const { 0 });
    MARK.with(|mark| std::ptr::from_ref(mark).cast_mut().cast())
}
