//! `gasnet_init` and `gasnet_attach`.

#![expect(unsafe_code, reason = "exported to C by name; reads what the client hands over")]

use std::ffi::{c_char, c_int, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering::Relaxed};

use gasnet::{OneThread, Threading};

use crate::abi::{self, Peer};
use crate::am::{self, HandlerEntry};
use crate::info::{BAD_ARG, NOT_INIT, OK, RESOURCE};
use crate::state::{self, State};
use crate::tools::{self, backtrace::BacktraceType};
use crate::{everything, exit, info, signals, wait};

/// A text that every object of a C program contributes: interface, thread mode, segment mode, pointer width.
type Mode = [u8; 32];

/// What the client's inline `gasnet_init` hands over.
#[repr(C)]
pub struct Client {
    interface_version: u32,
    size: u32,
    modes: *const Mode,
    modes_end: *const Mode,
    max_segsize_str: *const *const c_char,
    max_segsize: *const u64,
    backtrace: *const BacktraceType,
}

/// Called once with the segment just mapped, before any other rank can reach it.
#[unsafe(no_mangle)]
pub static gasnet_client_attach_hook: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());

fn complain(message: &str) -> c_int {
    eprintln!("gasnet: {message}");
    RESOURCE
}

/// The modes that differ among the objects of the program, if they do.
///
/// # Safety
/// The client's table is what `gasnet_fwd.h` makes it.
unsafe fn mixed_modes(client: &Client) -> Option<Vec<String>> {
    if client.modes.is_null() || client.modes_end <= client.modes {
        return None;
    }
    let count = (client.modes_end as usize - client.modes as usize) / size_of::<Mode>();
    // SAFETY: the linker's start and end of an array of modes.
    let modes = unsafe { std::slice::from_raw_parts(client.modes, count) };
    let mut texts: Vec<String> = modes
        .iter()
        .map(|mode| String::from_utf8_lossy(mode.split(|&b| b == 0).next().unwrap_or_default()).into_owned())
        .collect();
    texts.sort();
    texts.dedup();
    (texts.len() > 1).then_some(texts)
}

/// The client's own wish for the largest segment becomes the setting, unless the environment has one.
///
/// # Safety
/// The client's pointers are null or valid.
unsafe fn adopt_max_segsize(client: &Client) {
    if std::env::var_os("GASNET_MAX_SEGSIZE").is_some() {
        return;
    }
    // SAFETY: the caller's promise; the text is NUL-terminated. No other thread runs yet.
    unsafe {
        if let Some(&text) = client.max_segsize_str.as_ref()
            && !text.is_null()
        {
            libc::setenv(c"GASNET_MAX_SEGSIZE".as_ptr(), text, 1);
        } else if let Some(&size) = client.max_segsize.as_ref()
            && size != 0
        {
            std::env::set_var("GASNET_MAX_SEGSIZE", size.to_string());
        }
    }
}

/// # Safety
/// `client` is what the inline `gasnet_init` made.
unsafe fn init(client: *const Client, threading: Threading, everything: bool) -> c_int {
    info::keep_ident();
    if state::get().is_some() {
        return NOT_INIT;
    }
    // SAFETY: the caller's promise.
    let client = unsafe { &*client };
    if client.interface_version != abi::INTERFACE_VERSION || client.size as usize != size_of::<Client>() {
        return complain(&format!(
            "this program was compiled with the headers of another release (interface {}, the library has {}): \
             compile it again",
            client.interface_version,
            abi::INTERFACE_VERSION
        ));
    }
    // SAFETY: the caller's promise.
    if let Some(modes) = unsafe { mixed_modes(client) } {
        return complain(&format!(
            "the objects of this program were compiled for different modes: {}. Compile all of them with the same \
             GASNET_SEQ, GASNET_PARSYNC or GASNET_PAR and the same segment mode",
            modes.join(", ")
        ));
    }
    // SAFETY: the caller's promise.
    unsafe { adopt_max_segsize(client) };
    let parallel = matches!(threading, Threading::Parallel);
    let rank = match gasnet_conduits::init(&Default::default(), threading) {
        Ok(rank) => rank,
        Err(error) => return complain(&error.to_string()),
    };
    let check = rank.config().check;
    abi::publish(rank.id().0, rank.size(), check);
    let fresh = state::set(State {
        rank,
        check,
        parallel,
        everything,
        attached: AtomicBool::new(false),
        wait_mode: AtomicU32::new(wait::SPINBLOCK),
        max_long: OnceLock::new(),
    });
    if !fresh {
        return NOT_INIT;
    }
    // SAFETY: the client's backtrace function, or null.
    unsafe { tools::backtrace::gasneti_backtrace_init(std::ptr::null(), client.backtrace) };
    signals::set_up();
    signals::set_up_backtrace_signal();
    exit::set_up();
    tools::sys::freeze_if("GASNET_FREEZE");
    OK
}

fn one_thread() -> Threading {
    // SAFETY: GASNet's SEQ is this promise, which the client makes by choosing it.
    Threading::Serial(unsafe { OneThread::always_the_same() })
}

fn serial() -> Threading {
    // SAFETY: GASNet's PARSYNC is this promise, which the client makes by choosing it.
    Threading::Serial(unsafe { OneThread::promise() })
}

fn parallel() -> Threading {
    Threading::Parallel
}

/// One entry point per mode, so that a program compiled with other headers does not link.
macro_rules! init_entry {
    ($($name:ident: $threading:ident, $everything:literal;)*) => {
        $(
            /// Starts the job; what `gasnet_init` of this mode calls.
            ///
            /// # Safety
            /// `client` is what the inline `gasnet_init` made.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name(
                _argc: *mut c_int,
                _argv: *mut *mut *mut c_char,
                client: *const Client,
            ) -> c_int {
                // SAFETY: the caller's promise.
                unsafe { init(client, $threading(), $everything) }
            }
        )*
    };
}

init_entry! {
    gasneti_init_1_SEQ_FAST: one_thread, false;
    gasneti_init_1_SEQ_LARGE: one_thread, false;
    gasneti_init_1_SEQ_EVERYTHING: one_thread, true;
    gasneti_init_1_PARSYNC_FAST: serial, false;
    gasneti_init_1_PARSYNC_LARGE: serial, false;
    gasneti_init_1_PARSYNC_EVERYTHING: serial, true;
    gasneti_init_1_PAR_FAST: parallel, false;
    gasneti_init_1_PAR_LARGE: parallel, false;
    gasneti_init_1_PAR_EVERYTHING: parallel, true;
}

const PAGE: usize = 4096;

/// Registers handlers and attaches the segment.
///
/// # Safety
/// `table` has `n` entries.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasnet_attach(
    table: *mut HandlerEntry,
    n: c_int,
    segsize: usize,
    _offset: usize,
) -> c_int {
    let Some(state) = state::get() else { return NOT_INIT };
    if state.attached.load(Relaxed) {
        return NOT_INIT;
    }
    let bytes = if state.everything { 0 } else { segsize };
    if bytes % PAGE != 0 || bytes > state.rank.max_local_segment() {
        if state.check {
            crate::fatal::die(&format!(
                "gasnet_attach: a segment of {bytes} bytes; it must be a multiple of {PAGE} and at most {}",
                state.rank.max_local_segment()
            ));
        }
        return BAD_ARG;
    }
    let table = if table.is_null() || n <= 0 {
        &mut []
    } else {
        // SAFETY: the caller's promise.
        unsafe { std::slice::from_raw_parts_mut(table, n as usize) }
    };
    let registered = am::register(state, table)
        .and_then(|()| if state.everything { everything::register(state) } else { Ok(()) });
    if let Err(problem) = registered {
        // The tables are the same on all ranks.
        if abi::rank() == 0 {
            eprintln!("gasnet: gasnet_attach: {problem}");
        }
        return BAD_ARG;
    }
    if let Err(error) = state.rank.attach(bytes, None) {
        return complain(&error.to_string());
    }
    run_attach_hook(state);
    abi::set_peers(&peers(state));
    state.attached.store(true, Relaxed);
    if state.everything {
        everything::meet(state);
    }
    OK
}

fn run_attach_hook(state: &State) {
    let hook = gasnet_client_attach_hook.load(Relaxed);
    if let Some(own) = state.rank.table().get(state.rank.id())
        && !hook.is_null()
    {
        // SAFETY: C code stores functions of this type here.
        let hook: extern "C" fn(*mut c_void, usize) = unsafe { std::mem::transmute(hook) };
        hook(own.local.cast(), own.size);
    }
}

/// What inline code may reach directly. Under the rule checks that is nothing, so that every call is seen.
fn peers(state: &State) -> Vec<Peer> {
    if state.everything {
        let all = Peer { base: 0, near: usize::MAX, delta: 0 };
        return state
            .rank
            .ranks()
            .map(|rank| if rank == state.rank.id() && !state.check { all } else { Peer::default() })
            .collect();
    }
    let near = |size, local: *mut u8| if local.is_null() || state.check { 0 } else { size };
    state
        .rank
        .table()
        .entries()
        .iter()
        .map(|entry| Peer {
            base: entry.addr,
            near: near(entry.size, entry.local),
            delta: (entry.local as isize).wrapping_sub(entry.addr as isize),
        })
        .collect()
}

/// Largest segment this rank can attach.
#[unsafe(no_mangle)]
pub extern "C" fn gasnet_getMaxLocalSegmentSize() -> usize {
    let state = state::state("gasnet_getMaxLocalSegmentSize");
    if state.everything { usize::MAX } else { state.rank.max_local_segment() }
}

/// Largest segment that every rank can attach. All ranks share a host and its settings, so it is the local one.
#[unsafe(no_mangle)]
pub extern "C" fn gasnet_getMaxGlobalSegmentSize() -> usize {
    gasnet_getMaxLocalSegmentSize()
}
