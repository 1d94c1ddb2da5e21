//! The UPC runtime: the functions that C emitted by `upcc` calls, on top of the core (`gasnet`).
//!
//! A UPC *thread* is a rank, a process of its own. Its *segment* is its part of shared memory: static shared
//! data, then a heap, then the runtime's own words (`layout`). A *shared address* is a (thread, offset) pair.
//! Threads whose segments are mapped here are *near*, the others *far*. The compiler alone knows the bits of
//! a pointer-to-shared (`include/upcc_abi.h`), so one library serves all representations.
//!
//! Layers, top to bottom:
//! - `capi`, `capi_extra`, `capi_io`, `tools`: the C functions, each a few lines; none lets a panic unwind
//!   into C.
//! - `streams`: runs of elements, for loops that `upcc` turns into bulk transfers.
//! - `upcr`: the start in several calls, for clients of `upcr.h`; `symbols`: the functions of the executable
//!   that it calls. `c/` has C that is linked beside the library: a `main`, and variables that programs may
//!   define.
//! - `run`: from `main` to the user's `main`; `exit`: how a thread ends; `libraries`: shared objects, which
//!   may come at any time between.
//! - `alloc`, `locks`, `barrier`, `atomics`, `collectives`, `semaphores`, `values`, `io`: the services, as
//!   methods of the one state object (`state`).
//! - `heap`: the allocator; `control`: the words that other threads change; `layout`, `image`: the offsets of
//!   everything.
//! - `sanitize`: the checks of `-fsanitize=upc`; `debugger`: the script for gdb.
//! - `core`: the core's operations in terms of threads and offsets; `core/transfers`: those that continue
//!   after their call; `core/aggregate`: relaxed writes that travel together.
//!
//! A `upc_memput` is `capi` -> `core` -> a copy if the thread is near, else the core's `put`.

mod abi;
mod alloc;
mod areas;
mod atomics;
mod barrier;
mod capi;
mod capi_extra;
mod capi_io;
mod collectives;
mod console;
mod control;
mod core;
mod debugger;
mod error;
mod exit;
mod faults;
mod heap;
mod image;
mod io;
mod layout;
mod libraries;
mod locks;
mod objects;
mod run;
mod sanitize;
mod semaphores;
mod settings;
mod site;
mod state;
mod streams;
mod symbols;
mod tools;
mod upcr;
mod values;
