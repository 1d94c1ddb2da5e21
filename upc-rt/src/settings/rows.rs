//! The settings of UPC programs, for the documentation. The registry of conduits compiles this file as well:
//! it makes the one table.

use gasnet::config::{Setting, setting};

/// The rows of this crate's settings.
pub const SETTINGS: &[Setting] = &[
    setting(
        "UPC_SHARED_HEAP_SIZE",
        "size: 64 (MB), 64MB, 2GB; default physical memory / ranks of the host",
        "Shared heap of every thread (UPC programs).",
    ),
    setting(
        "UPC_REQUIRE_SHARED_SIZE",
        "yes (default unless linked with -norequire-size), no",
        "Whether it is an error if there is less shared heap than was asked for (UPC programs).",
    ),
    setting(
        "UPC_SIZE_WARN",
        "yes (default unless linked with -nosize-warn), no",
        "Warn if there is less shared heap than was asked for, where that is no error (UPC programs).",
    ),
    setting(
        "UPC_SHARED_ALLOC_ALIGN",
        "power of two up to 4096; default 1",
        "Shared objects at least this large are allocated at multiples of it (UPC programs).",
    ),
    setting(
        "UPC_LOCKS_RR",
        "no (default), yes",
        "`upc_global_lock_alloc` puts locks on all threads in turn (UPC programs).",
    ),
    setting(
        "UPC_POLITE_SYNC",
        "no (default), yes",
        "Give up the processor while waiting, as with `GASNET_SPIN=0` (UPC programs).",
    ),
    setting(
        "UPC_STACK_SIZE",
        "size: 64 (MB), 512KB",
        "Let the stacks of threads grow to this size (UPC programs).",
    ),
    setting(
        "UPC_FIRSTTOUCH",
        "no (default), yes",
        "Threads touch their part of the static shared data at start (UPC programs).",
    ),
    setting(
        "UPC_FORCETOUCH",
        "no (default), yes",
        "Threads touch their whole shared heap at start (UPC programs).",
    ),
    setting(
        "UPC_DEBUG_MALLOC",
        "no (default), yes",
        "`malloc` fills what it hands out and takes back (UPC programs).",
    ),
    setting(
        "UPC_QUIET",
        "no (default), yes",
        "No warnings of the UPC runtime, nor of what is below it (UPC programs).",
    ),
    setting("UPC_NO_WARN", "no (default), yes", "No warnings of the UPC runtime (UPC programs)."),
    setting(
        "UPC_FREEZE",
        "number of a thread",
        "This thread waits for a debugger before `main` (UPC programs).",
    ),
    setting(
        "UPC_ABORT",
        "no (default), yes",
        "A fatal error of the runtime leaves a core file (UPC programs).",
    ),
    setting(
        "UPC_SHARED_HEAP_OFFSET",
        "size",
        "No effect: heaps lie where there is room. Nor have `UPC_PTHREADS_PER_PROC` (threads are processes), `UPC_QUIET_UPCIO` (files draw \
         no warnings) and `UPC_ENVPREFIX` (the whole environment reaches all threads).",
    ),
    setting(
        "UPC_BARRIER_MISMATCH_WARNS",
        "no (default), yes",
        "Values of `upc_notify` and `upc_wait` that do not agree draw a warning, not an error, also with `UPC_QUIET` and `upcrun -q` (UPC programs).",
    ),
];
