//! Settings of UPC programs. The UPC runtime reads them.

use gasnet_wire::config::{Setting, setting};

/// The rows.
pub const SETTINGS: &[Setting] = &[
    setting(
        "UPC_SHARED_HEAP_SIZE",
        "size: 64 (MB), 64MB, 2GB; default physical memory / ranks of the host",
        "Size of the shared heap of each thread (UPC programs).",
    ),
    setting(
        "UPC_REQUIRE_SHARED_SIZE",
        "yes (default unless linked with -norequire-size), no",
        "End with an error if the shared heap is smaller than requested (UPC programs).",
    ),
    setting(
        "UPC_SIZE_WARN",
        "yes (default unless linked with -nosize-warn), no",
        "Print a warning if the shared heap is smaller than requested and that is no error (UPC programs).",
    ),
    setting(
        "UPC_SHARED_ALLOC_ALIGN",
        "power of two up to 4096, in bytes; default 1",
        "Alignment of shared objects of at least this size (UPC programs).",
    ),
    setting(
        "UPC_LOCKS_RR",
        "no (default), yes",
        "Place the locks that a thread gets from `upc_global_lock_alloc` on all threads in turn (UPC \
         programs).",
    ),
    setting(
        "UPC_POLITE_SYNC",
        "no (default), yes",
        "Give up the processor while waiting, as with `GASNET_SPIN=0` (UPC programs).",
    ),
    setting(
        "UPC_STACK_SIZE",
        "size: 64 (MB), 512KB; default the limit of the system",
        "Size to which the stack of each thread can grow (UPC programs).",
    ),
    setting(
        "UPC_FIRSTTOUCH",
        "no (default), yes",
        "Each thread touches its part of the static shared data at start (UPC programs).",
    ),
    setting(
        "UPC_FORCETOUCH",
        "no (default), yes",
        "Each thread touches its whole shared heap at start (UPC programs).",
    ),
    setting(
        "UPC_DEBUG_MALLOC",
        "no (default), yes",
        "`malloc` fills memory with a pattern when it is allocated, and `free` when it is released (UPC \
         programs).",
    ),
    setting(
        "UPC_QUIET",
        "no (default), yes",
        "Print no warnings of the UPC runtime and of the layers below it (UPC programs).",
    ),
    setting("UPC_NO_WARN", "no (default), yes", "Print no warnings of the UPC runtime (UPC programs)."),
    setting(
        "UPC_FREEZE",
        "number of a thread; default none",
        "This thread waits for a debugger before `main` (UPC programs).",
    ),
    setting(
        "UPC_ABORT",
        "no (default), yes",
        "Leave a core file on a fatal error of the runtime (UPC programs).",
    ),
    setting(
        "UPC_SHARED_HEAP_OFFSET",
        "size",
        "No effect: the runtime chooses the addresses of the heaps. `UPC_PTHREADS_PER_PROC` (threads are \
         processes), `UPC_QUIET_UPCIO` (files cause no warnings) and `UPC_ENVPREFIX` (all variables reach \
         all threads) have no effect either.",
    ),
    setting(
        "UPC_BARRIER_MISMATCH_WARNS",
        "no (default), yes",
        "Print a warning, not an error, if the values of `upc_notify` and `upc_wait` differ. `UPC_QUIET` \
         and `upcrun -q` do not suppress this warning (UPC programs).",
    ),
];
