//! From `main` of the executable to `main` of the program.
#![expect(unsafe_code, reason = "reads the image that emitted C describes and calls into it")]

use crate::abi::{self, __upc_rt, Image, PACKED_OFFSET_BITS, PACKED_THREADS, Rt, slice};
use crate::console::say;
use crate::error::fatal_at_start;
use crate::image::mix;
use crate::layout::Layout;
use crate::libraries::{AtStart, CompiledFor};
use crate::settings::Settings;
use crate::state::Upc;
use gasnet::{Config, OneThread, Rank, Threading};
use gasnet_conduits::BootOptions;
use std::ffi::{c_char, c_int};

/// Runs the program that `image` describes; ends the process.
///
/// # Safety
/// 1. `image` and everything it points to are as described in `upcc_abi.h` (owed by the caller).
/// 2. `argc`, `argv` are `main`'s (owed by the caller).
pub unsafe fn run(argc: c_int, argv: *mut *mut c_char, image: *const Image) -> ! {
    // SAFETY: (1).
    let image = unsafe { &*image };
    // SAFETY: (1).
    unsafe { start(image) };
    let code = (image.main)(argc, argv);
    // SAFETY: plain call; the hook armed by `start` does the rest.
    unsafe { libc::exit(code) }
}

/// Makes this process a thread of the program that `image` describes, without calling the program's main.
///
/// # Safety
/// As [`run`], of the image.
pub unsafe fn start(image: &Image) {
    if image.abi != abi::ABI {
        fatal_at_start(&format!(
            "the program was compiled for version {} of the runtime interface, this library has version {}: recompile it",
            image.abi,
            abi::ABI
        ));
    }
    crate::exit::line_buffer_stdout();
    if crate::debugger::wanted("GASNET_FREEZE") {
        crate::debugger::freeze("a process of the job");
    }
    let settings = match Settings::from_env() {
        Ok(s) => s,
        Err(text) => fatal_at_start(&text),
    };
    let kind = CompiledFor::of(image.struct_pts, image.static_threads);
    // SAFETY: (1).
    let variables = unsafe { AtStart::take(kind, slice(image.shrec_begin, image.shrec_end)) };
    let rank = boot(kind.threads, &settings);
    check_same(
        rank,
        &[
            ("they were compiled for different numbers of threads (-T)", kind.threads.unwrap_or(0).into()),
            ("their pointers-to-shared have different forms (-fupc-pts)", kind.wide.into()),
            ("their shared objects (upcc -shared) differ", variables.objects()),
            ("their shared variables differ", variables.variables()),
        ],
    );
    check_threads(rank, kind);
    // SAFETY: (1).
    let linked = unsafe { image.linked.as_ref() };
    let given = |n: u64| (n > 0).then_some(n);
    let asked = Asked {
        heap: settings.heap.or(linked.and_then(|l| given(l.heap_bytes))).or(given(image.heap_bytes)),
        require: settings.require_size.or(linked.and_then(|l| said(l.require_size))).unwrap_or(true),
        warn: settings.size_warn.or(linked.and_then(|l| said(l.size_warn))).unwrap_or(true),
    };
    let upc = attach(rank, &variables, asked, settings);
    // SAFETY: this is before user code.
    unsafe { variables.set_proxies() };
    upc.variables.get_or_init(|| variables.described(upc.size));
    begin(upc);
    variables.initialise();
    // SAFETY: (1).
    for init in unsafe { slice(image.init_begin, image.init_end) }.iter().flatten() {
        init();
    }
    variables.done();
    upc.meet("start");
    crate::exit::arm();
    crate::faults::arm(upc);
    if upc.settings.freeze == Some(upc.me) {
        crate::debugger::freeze(&format!("thread {}", upc.me));
    }
}

/// Ends the job if ranks differ in what must be the same on all of them: each number says what it is that
/// differs. Collective.
pub fn check_same(rank: &Rank, all: &[(&str, u64)]) {
    let unlike = |number: u64| rank.unlike(number).unwrap_or_else(|e| fatal_at_start(&e.to_string()));
    let sum = all.iter().fold(0, |sum, (_, number)| mix(sum, &number.to_le_bytes()));
    if unlike(sum).is_empty() {
        return;
    }
    // All ranks know that some differ, and look for the difference together.
    for (what, number) in all {
        if let Some(other) = unlike(*number).first() {
            if rank.id().0 != 0 {
                // One message is enough; thread 0 ends the job.
                rank.wait_until("thread 0", || false);
            }
            rank.ending().fatal_with(
                "UPC Runtime error: ",
                &format!(
                    "threads 0 and {other} run different builds of the program, or have different settings: {what}. Copy one executable to \
                     all hosts, and start all ranks with the same settings"
                ),
            );
        }
    }
}

/// A flag of [`abi::Linked`].
fn said(flag: c_int) -> Option<bool> {
    (flag >= 0).then_some(flag != 0)
}

/// The heap that a program asks for.
#[derive(Debug, Clone, Copy)]
pub struct Asked {
    /// Bytes per thread; `None`: what is available.
    pub heap: Option<u64>,
    /// Whether less is an error.
    pub require: bool,
    /// Whether less causes a warning.
    pub warn: bool,
}

/// Prepares everything for user code. Collective.
pub fn begin(upc: &Upc) {
    crate::debugger::keep();
    fill_rt(upc);
    upc.init_heaps();
    prepare(upc);
    upc.meet("start");
}

/// Applies the settings for this thread.
fn prepare(upc: &Upc) {
    if let Some(bytes) = upc.settings.stack {
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: plain calls on a local variable.
        unsafe {
            if libc::getrlimit(libc::RLIMIT_STACK, &mut limit) == 0 && limit.rlim_cur < bytes {
                // The stack of the first thread grows up to this limit.
                if limit.rlim_max < bytes && upc.me == 0 {
                    upc.warn(&format!(
                        "UPC_STACK_SIZE asks for stacks of {} MB, and the limit is {} MB: raise the hard limit (ulimit -Hs)",
                        bytes >> 20,
                        limit.rlim_max >> 20
                    ));
                }
                limit.rlim_cur = bytes.min(limit.rlim_max);
                libc::setrlimit(libc::RLIMIT_STACK, &limit);
            }
        }
    }
    if let Some(thread) = upc.settings.freeze.filter(|thread| *thread >= upc.size && upc.me == 0) {
        upc.warn(&format!("UPC_FREEZE={thread}: no such thread; there are 0 to {}", upc.size - 1));
    }
    if upc.settings.debug_malloc {
        // SAFETY: plain call; malloc fills memory that it returns with the complement, and memory that it
        // takes back with this byte.
        unsafe { libc::mallopt(libc::M_PERTURB, 0x5a) };
    }
    if upc.settings.touch_statics {
        upc.touch(crate::layout::STATICS_OFFSET, upc.layout.heap_lo);
    }
    if upc.settings.touch_heap {
        upc.touch(upc.layout.heap_lo, upc.layout.heap_hi);
    }
}

/// Starts this rank: in a job of as many threads as the launcher says, else as the program was compiled for,
/// else one.
pub fn boot(threads: Option<u32>, settings: &Settings) -> &'static Rank {
    // A panic is a bug of this library; it cannot unwind into C, so the process aborts and the job ends.
    std::panic::set_hook(Box::new(|panic| say(&format!("UPC Runtime error: internal error: {panic}"))));
    let options = BootOptions { default_ranks: threads.unwrap_or(1), static_ranks: threads };
    // SAFETY: a UPC thread is a process; the language has no other threads that could call the runtime.
    let threading = Threading::Serial(unsafe { OneThread::always_the_same() });
    let (polite, quiet) = (settings.polite, settings.quiet_below);
    let change = |config: Config| {
        let spin = config.spin.or(polite.then_some(0));
        Config { spin, quiet: config.quiet | quiet, ..config }
    };
    match gasnet_conduits::init_with(&options, threading, change) {
        Ok(rank) => rank,
        Err(e) => fatal_at_start(&e.to_string()),
    }
}

/// Ends the job if a program of this kind cannot run on its number of threads.
pub fn check_threads(rank: &Rank, CompiledFor { wide, threads: compiled }: CompiledFor) {
    let threads = rank.size();
    let quiet = rank.id().0 != 0;
    let refuse = |text: String| -> ! {
        if quiet {
            // One message is enough; thread 0 ends the job.
            rank.wait_until("thread 0", || false);
        }
        rank.ending().fatal_with("UPC Runtime error: ", &text)
    };
    if let Some(n) = compiled.filter(|n| *n != threads) {
        refuse(format!(
            "the program was compiled for {n} threads and runs on {threads}: use -n {n}, or compile it with -T {threads}"
        ));
    }
    if !wide && threads > PACKED_THREADS {
        refuse(format!(
            "packed pointers-to-shared reach {PACKED_THREADS} threads, the job has {threads}: compile with -fupc-pts=struct"
        ));
    }
}

/// Lays out and attaches the segments, with room for the variables and the requested heap or what is
/// available. Collective.
pub fn attach(rank: &'static Rank, variables: &AtStart, asked: Asked, settings: Settings) -> &'static Upc {
    let packed = !variables.kind.wide;
    let limit = if packed { 1 << PACKED_OFFSET_BITS } else { 1 << 44 };
    let fail = |text: String| -> ! { rank.ending().fatal_with("UPC Runtime error: ", &text) };
    // Hosts differ in memory and in ranks, and all segments have one layout.
    let share = rank.segments().max_global() as u64;
    let Some(bare) = variables.bytes().and_then(|statics| Layout::new(statics, 0, limit)) else {
        let hint = if packed { ": compile with -fupc-pts=struct" } else { "" };
        fail(format!(
            "could not allocate sufficient shared memory: the shared variables do not fit in {} GB per thread{hint}",
            limit >> 30
        ));
    };
    let statics = bare.heap_lo - crate::layout::STATICS_OFFSET;
    let max_heap = Layout::largest(statics, u64::MAX >> 1, limit).map_or(0, |l| l.heap_hi - l.heap_lo);
    let layout = match asked.heap {
        Some(bytes) => match Layout::new(statics, bytes, limit) {
            Some(layout) => layout,
            None if !asked.require => {
                // A user who asks for this warning by its name gets it even with UPC_QUIET.
                let quiet = settings.quiet && settings.size_warn != Some(true);
                if asked.warn && !quiet && rank.id().0 == 0 {
                    crate::error::warn(&format!(
                        "a heap of {} MB per thread was requested, and at most {} MB are available",
                        bytes >> 20,
                        max_heap >> 20
                    ));
                }
                Layout::largest(statics, u64::MAX >> 1, limit).unwrap_or(bare)
            }
            None => {
                let hint = if packed { "; -fupc-pts=struct lifts the limit" } else { "" };
                fail(format!(
                    "could not allocate sufficient shared memory: a heap of {} MB per thread was requested, and at most {} MB are available{hint}",
                    bytes >> 20,
                    max_heap >> 20
                ))
            }
        },
        // Else a thread's share of physical memory: only pages that are touched use memory.
        None => match Layout::largest(statics, share, limit) {
            Some(layout) => layout,
            None => bare,
        },
    };
    check_same(
        rank,
        &[(
            "their shared memory has different sizes (upcc -shared-heap, UPC_SHARED_HEAP_SIZE)",
            layout.total,
        )],
    );
    match Upc::start(rank, layout, max_heap, variables.remembered(), settings) {
        Ok(upc) => upc,
        Err(e) => {
            let hint = if packed && gasnet_wire::limits::memory_is_limited() {
                "; with packed pointers-to-shared every thread of a host takes 16 GB of addresses, whatever its heap: -fupc-pts=struct takes \
                 what heaps need"
            } else {
                ""
            };
            fail(format!("could not allocate sufficient shared memory: {e}{hint}"))
        }
    }
}

fn fill_rt(upc: &Upc) {
    let near = upc.core.near_segments();
    let (recip, shift) = abi::reciprocal(upc.size);
    // SAFETY: no user code runs yet.
    unsafe {
        __upc_rt.fill(Rt {
            mythread: upc.me,
            threads: upc.size,
            first: near.first,
            mapped: near.mapped,
            base: near.base.cast(),
            stride: near.stride,
            recip,
            shift,
        });
    }
}
