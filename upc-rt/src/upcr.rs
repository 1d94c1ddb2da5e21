//! The parts of `upcr.h` (Berkeley's runtime interface) that are not inline: starting in several calls, and
//! ending.
//!
//! `upcr_startup_init` boots the rank, `upcr_startup_attach` makes the [`Upc`](crate::state::Upc) object, and
//! `upcr_startup_spawn` calls the client's hooks in order and its main function. Static shared data is
//! allocated from the heap, since its size is unknown before the hooks run.
#![expect(unsafe_code, reason = "exports functions to C and calls the client's hooks")]

use crate::abi::Image;
use crate::error::fatal_at_start;
use crate::libraries::{AtStart, CompiledFor};
use crate::settings::Settings;
use crate::state::upc;
use gasnet::Rank;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;

/// The environment may set the heap's size.
const ENV_OVERRIDE: c_int = 1;
/// Whether less heap than that is an error.
const REQUIRE_SIZE: c_int = 2;
/// Whether less heap than that causes a warning.
const SIZE_WARN: c_int = 4;

/// The library's configuration, for `ident` and for the link-time check of objects: any pointers and thread
/// counts.
#[used]
static CONFIG: [u8; CONFIG_TEXT.len()] = *CONFIG_TEXT;
const CONFIG_TEXT: &[u8; 133] =
    b"$UPCRConfig: (libupc.a) VERSION=3.14,PLATFORMENV=shared-distributed,SHMEM=pshm,SHAREDPTRREP=any,TRANS=any,nodebug,nogasp,anythreads $";

/// The rank between init and attach, and what the program was compiled for.
static BOOTED: OnceLock<(&'static Rank, CompiledFor)> = OnceLock::new();

type Hook = Option<extern "C" fn()>;
type RangeHook = Option<extern "C" fn(*mut c_void, usize)>;

/// `struct upcr_startup_spawnfuncs`.
#[repr(C)]
pub struct SpawnFuncs {
    pre_spawn_init: Hook,
    per_pthread_init: Hook,
    cache_init: RangeHook,
    heap_init: RangeHook,
    static_init: RangeHook,
    main_function: Option<extern "C" fn(c_int, *mut *mut c_char) -> c_int>,
}

fn booted() -> (&'static Rank, CompiledFor) {
    BOOTED
        .get()
        .copied()
        .unwrap_or_else(|| fatal_at_start("upcr_startup_init comes before any other function of upcr.h"))
}

fn settings() -> Settings {
    Settings::from_env().unwrap_or_else(|text| fatal_at_start(&text))
}

/// Boots this thread. `static_threads` 0 means any number.
#[unsafe(no_mangle)]
pub extern "C" fn upcr_startup_init(
    _argc: *mut c_int,
    _argv: *mut *mut *mut c_char,
    static_threads: c_uint,
    _pthreads: c_uint,
    _name: *const c_char,
) {
    init(static_threads, false);
}

/// [`upcr_startup_init`] for files compiled with 16-byte pointers.
#[unsafe(no_mangle)]
pub extern "C" fn __upcr_startup_init_wide(
    _argc: *mut c_int,
    _argv: *mut *mut *mut c_char,
    static_threads: c_uint,
    _pthreads: c_uint,
    _name: *const c_char,
) {
    init(static_threads, true);
}

fn init(static_threads: c_uint, wide: bool) {
    crate::exit::line_buffer_stdout();
    let settings = settings();
    // The interface has an unsigned number here; clients pass 0 or -1 for "any".
    let threads = (static_threads > 0 && static_threads as c_int > 0).then_some(static_threads);
    let rank = crate::run::boot(threads, &settings);
    let kind = CompiledFor { wide, threads };
    if BOOTED.set((rank, kind)).is_err() {
        fatal_at_start("upcr_startup_init was called twice");
    }
    crate::run::check_same(
        rank,
        &[("their pointers-to-shared have different forms (-fupc-pts)", wide.into())],
    );
    crate::run::check_threads(rank, kind);
}

/// Attaches `size` bytes of shared heap per thread.
#[unsafe(no_mangle)]
pub extern "C" fn upcr_startup_attach(size: usize, _offset: usize, flags: c_int) {
    let settings = settings();
    let (rank, kind) = booted();
    // SAFETY: no records.
    let variables = unsafe { AtStart::take(kind, &[]) };
    crate::run::check_same(
        rank,
        &[
            ("their shared objects (upcc -shared) differ", variables.objects()),
            ("the shared variables of their shared objects differ", variables.variables()),
        ],
    );
    let heap = settings.heap.filter(|_| flags & ENV_OVERRIDE != 0).or((size > 0).then_some(size as u64));
    let asked = crate::run::Asked {
        heap,
        require: settings.require_size.unwrap_or(flags & REQUIRE_SIZE != 0),
        warn: settings.size_warn.unwrap_or(flags & SIZE_WARN != 0),
    };
    let upc = crate::run::attach(rank, &variables, asked, settings);
    // SAFETY: the client's main function and its hooks run later.
    unsafe { variables.set_proxies() };
    crate::run::begin(upc);
    variables.initialise();
    variables.done();
}

/// Runs the hooks, then the main function if there is one; it does not return then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn upcr_startup_spawn(
    argc: *mut c_int,
    argv: *mut *mut *mut c_char,
    static_bytes: usize,
    cache_bytes: usize,
    funcs: *const SpawnFuncs,
) {
    let upc = upc();
    crate::exit::arm();
    // SAFETY: the client passes a table of functions that may be null.
    let f = unsafe { &*funcs };
    let (heap, bytes) = upc.own_heap();
    for hook in [f.pre_spawn_init, f.per_pthread_init].into_iter().flatten() {
        hook();
    }
    for (hook, bytes) in [(f.cache_init, cache_bytes), (f.heap_init, bytes), (f.static_init, static_bytes)] {
        if let Some(hook) = hook {
            hook(heap.cast(), bytes);
        }
    }
    upc.meet("start");
    if let Some(main) = f.main_function {
        // SAFETY: the client passes the addresses of main's arguments.
        let code = unsafe { main(*argc, *argv) };
        upcr_exit(code);
    }
}

/// Ends this thread.
#[unsafe(no_mangle)]
pub extern "C" fn upcr_exit(status: c_int) -> ! {
    // SAFETY: plain call; the hook armed by spawn does the rest.
    unsafe { libc::exit(status) }
}

/// The number of the process, which is its thread's.
#[unsafe(no_mangle)]
pub extern "C" fn __upcr_mynode() -> c_uint {
    BOOTED.get().map_or_else(|| upc().me, |b| b.0.id().0)
}

/// The number of processes.
#[unsafe(no_mangle)]
pub extern "C" fn __upcr_nodes() -> c_uint {
    BOOTED.get().map_or_else(|| upc().size, |b| b.0.size())
}

/// `upcr_try_wait`.
#[unsafe(no_mangle)]
pub extern "C" fn __upcr_try_wait(value: c_int, named: c_int) -> c_int {
    upc().try_wait((named != 0).then_some(value)).into()
}

/// Makes this process a thread of the program that `image` describes, for `bupc_init` (`c/upcr_init.c`).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __upcr_start(_argc: c_int, _argv: *mut *mut c_char, image: *const Image) {
    // SAFETY: the caller passes an image as described in `upcc_abi.h`.
    unsafe { crate::run::start(&*image) }
}

/// This thread's part of the heap.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __upcr_own_heap(bytes: *mut usize) -> *mut c_void {
    let (heap, n) = upc().own_heap();
    // SAFETY: the caller passes a variable.
    unsafe { *bytes = n };
    heap.cast()
}

/// Calls the functions of the executable whose names begin with `prefix`, in the order of their addresses;
/// `anchor` is the address of the function called `anchor_name`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __upcr_run_found(
    prefix: *const c_char,
    anchor: *const c_void,
    anchor_name: *const c_char,
) {
    // SAFETY: the caller passes strings.
    let (prefix, name) = unsafe { (CStr::from_ptr(prefix), CStr::from_ptr(anchor_name)) };
    let found = crate::symbols::functions(prefix.to_bytes(), name.to_bytes());
    let (value, list) = match found {
        Ok(found) => found,
        Err(text) => upc().fatal(&format!("cannot find the program's start-up functions: {text}")),
    };
    for f in list {
        let at = (anchor as usize).wrapping_add(f.wrapping_sub(value) as usize);
        // SAFETY: a function of this executable; its name follows the translators' convention for functions
        // without arguments.
        let f: extern "C" fn() = unsafe { std::mem::transmute(at) };
        f();
    }
}
