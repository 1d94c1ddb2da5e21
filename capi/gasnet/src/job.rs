//! `gasnet_init` and `gasnet_attach`.

#![expect(unsafe_code, reason = "exported to C by name; reads what the client hands over")]

use std::collections::BTreeSet;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering::Relaxed, Ordering::Release};

use gasnet::{OneThread, Rank, Threading};
use gasnet_conduits::{BootOptions, Member};

use crate::abi::{self, Peer};
use crate::am::{self, HandlerEntry};
use crate::info::{BAD_ARG, NOT_INIT, OK, RESOURCE};
use crate::objects::{
    self, CAPABILITY_ALL, Ep, LEGACY, Object, Primordial, Segment, Team, primordial, set_primordial,
};
use crate::state::{self, ClientJob, Current, OfWorld, Program};
use crate::tools::{self, backtrace::BacktraceType};
use crate::{exit, fatal, info, signals, wait};

/// A text that every object of a C program contributes: interface, thread mode, segment mode, pointer width,
/// and [`DEBUG`] if it was compiled for that.
type Mode = [u8; 32];

/// The text of an object that includes `gasnet_survive.h`, beside that of its mode.
const SURVIVES: &str = "survives";

/// The end of the text of an object that was compiled with `GASNET_DEBUG`.
const DEBUG: &str = ":debug";

/// The parameters of the client's inline `gasnet_init`.
#[repr(C)]
pub struct Client {
    interface_version: u32,
    size: u32,
    modes: *const Mode,
    modes_end: *const Mode,
    max_segsize_str: *const *const c_char,
    max_segsize: *const u64,
    backtrace: *const BacktraceType,
    name: *const c_char,
    client: *mut *const Object<objects::Client>,
    ep: *mut *const Object<Ep>,
    tm: *mut *const Object<Team>,
    flags: u32,
}

/// Called once with the segment just mapped, before any other rank can reach it.
#[unsafe(no_mangle)]
pub static gasnet_client_attach_hook: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());

fn complain(message: &str) -> c_int {
    eprintln!("gasnet: {message}");
    RESOURCE
}

/// The modes of the objects of the program, each once.
///
/// # Safety
/// The client's table is what `gasnet_types.h` makes it.
unsafe fn modes(client: &Client) -> BTreeSet<String> {
    if client.modes.is_null() || client.modes_end <= client.modes {
        return BTreeSet::new();
    }
    let count = (client.modes_end as usize - client.modes as usize) / size_of::<Mode>();
    // SAFETY: the linker's start and end of an array of modes.
    let modes = unsafe { std::slice::from_raw_parts(client.modes, count) };
    let text = |mode: &Mode| {
        String::from_utf8_lossy(mode.split(|&b| b == 0).next().unwrap_or_default()).into_owned()
    };
    modes.iter().map(text).collect()
}

/// The modes that differ among the objects of the program, if they do. Those for debugging go with others.
fn mixed(modes: &BTreeSet<String>) -> Option<String> {
    let modes: BTreeSet<&str> = modes.iter().map(|mode| mode.strip_suffix(DEBUG).unwrap_or(mode)).collect();
    (modes.len() > 1).then(|| modes.into_iter().collect::<Vec<_>>().join(", "))
}

/// Sets `GASNET_CHECK` if an object was compiled with `GASNET_DEBUG`, unless the environment says something.
fn adopt_debug(modes: &BTreeSet<String>) {
    if modes.iter().any(|mode| mode.ends_with(DEBUG)) && std::env::var_os("GASNET_CHECK").is_none() {
        // SAFETY: no other thread runs yet.
        unsafe { std::env::set_var("GASNET_CHECK", "1") };
    }
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

/// Makes the primordial objects; returns the team's handle for inline code.
///
/// # Safety
/// `name` is null or NUL-terminated.
unsafe fn start_client(state: &ClientJob, name: *const c_char, flags: u32) -> &'static Primordial {
    let name = if name.is_null() {
        CString::default()
    } else {
        // SAFETY: the caller's promise.
        unsafe { CStr::from_ptr(name) }.to_owned()
    };
    set_primordial(|| Primordial {
        client: Object::make(objects::Client { name, flags }),
        ep: Object::make(primordial_ep()),
        team: Object::make(primordial_team(state.rank.now())),
    })
}

fn primordial_ep() -> Ep {
    Ep { index: 0, capabilities: CAPABILITY_ALL, flags: 0, segment: AtomicPtr::default() }
}

fn primordial_team(rank: &'static Rank) -> Team {
    let (me, size) = (rank.id().0, rank.size());
    Team { rank: me, size, members: None, flags: 0, scratch: None, team: rank.team_all() }
}

/// A rank that was just started, with what there is once in its world. It may have to be started again in
/// another one.
fn begin(rank: &'static Rank, program: Program, member: Member<'_>) -> (&'static Rank, OfWorld) {
    if attaches_at_once(program) {
        attach_everything(rank).unwrap_or_else(|e| rank.fatal(&e.to_string()));
    }
    let world = OfWorld {
        incarnation: member.incarnation,
        first_numbers: member.members.map(Box::from),
        segment_asked: AtomicBool::new(false),
        max_long: OnceLock::new(),
    };
    (rank, world)
}

/// An EVERYTHING program of GASNet-EX needs no segment: all of its memory can be reached from the start.
fn attaches_at_once(program: Program) -> bool {
    program.everything && !program.legacy
}

/// Sets the job that all calls work on.
fn first_world((rank, world): (&'static Rank, OfWorld), program: Program) -> &'static ClientJob {
    let Program { threading, everything, legacy, .. } = program;
    let state = state::set(ClientJob {
        rank: Current::new(rank),
        check: rank.config().check,
        parallel: matches!(threading, Threading::Parallel),
        one_thread: matches!(threading, Threading::Serial(one) if one.is_always_the_same()),
        everything,
        legacy,
        mortal: rank.survival().is_possible(),
        program,
        attached: AtomicBool::new(attaches_at_once(program)),
        several: AtomicBool::new(false),
        wait_mode: AtomicU32::new(wait::SPINBLOCK),
        world: Current::new(Box::leak(Box::new(world))),
    });
    if state.mortal {
        // An error is no death: it is everywhere.
        let end = |line: &str| -> ! { state::state("an error").rank.ending().fatal_line(line, line) };
        let _ = fatal::END_JOB.set(end);
    }
    publish(state);
    state
}

/// Tells inline code of the rank.
fn publish(state: &ClientJob) {
    let rank = state.rank.now();
    let far = rank.neighbours().len() < rank.size() as usize;
    abi::publish(rank.id().0, rank.size(), state.check, far);
    if state.attached.load(Relaxed) {
        abi::set_peers(&peers(state));
    }
}

/// Makes this process a rank of the world after the present one, in which a rank has died: a client that has
/// started and has attached nothing. Returns whether there is one; there is none when all work is done.
///
/// # Errors
/// As [`gasnet_conduits::next_world`].
pub fn next_world(state: &'static ClientJob) -> Result<bool, gasnet::Error> {
    let program = state.program;
    let begin = |rank, member: Member<'_>| begin(rank, program, member);
    // The program has addresses of its old segment.
    let next = gasnet_conduits::begin_next_world(state.rank.now(), program.threading, true, begin)?;
    let Some((rank, world)) = next else { return Ok(false) };
    let all = primordial("the next world");
    objects::end_world(all);
    all.ep.renew(primordial_ep());
    all.team.renew(primordial_team(rank));
    state.go_on(rank, world, attaches_at_once(program));
    publish(state);
    abi::set_team(all.team.handle().cast());
    Ok(true)
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
    let mut modes = unsafe { modes(client) };
    let survives = modes.remove(SURVIVES);
    if let Some(mixed) = mixed(&modes) {
        return complain(&format!(
            "the objects of this program were compiled for different modes: {mixed}. Compile all of them with the same \
             GASNET_SEQ, GASNET_PARSYNC or GASNET_PAR and the same segment mode"
        ));
    }
    adopt_debug(&modes);
    // SAFETY: the caller's promise.
    unsafe { adopt_max_segsize(client) };
    let program = Program { threading, everything, legacy: client.flags & LEGACY != 0, survives };
    let options = BootOptions::default();
    let begun = if survives {
        gasnet_conduits::init_mortal(&options, threading, |rank, member| begin(rank, program, member))
    } else {
        let started = gasnet_conduits::init(&options, threading);
        started.map(|rank| Some(begin(rank, program, Member::default())))
    };
    let state = match begun {
        Ok(Some(begun)) => first_world(begun, program),
        // This process replaces a rank that has died, and the others have done their work without it.
        Ok(None) => std::process::exit(0),
        Err(error) => return complain(&error.to_string()),
    };
    // SAFETY: the caller's promise; each pointer is null or writable.
    unsafe {
        let all = start_client(state, client.name, client.flags);
        abi::set_team(all.team.handle().cast());
        info::give(client.client, all.client);
        info::give(client.ep, all.ep);
        info::give(client.tm, all.team);
    }
    // SAFETY: the client's backtrace function, or null.
    unsafe { tools::backtrace::gasneti_backtrace_init(std::ptr::null(), client.backtrace) };
    signals::set_up();
    signals::set_up_backtrace_signal();
    exit::set_up();
    tools::sys::freeze_if("GASNET_FREEZE");
    OK
}

/// All memory of an EVERYTHING program can be reached from now on.
fn attach_everything(rank: &Rank) -> Result<(), gasnet::Error> {
    // SAFETY: the client promises it, which was compiled for this segment mode.
    unsafe { rank.segments().attach_everything() }.map(drop)
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
    gasneti_init_2_SEQ_FAST: one_thread, false;
    gasneti_init_2_SEQ_LARGE: one_thread, false;
    gasneti_init_2_SEQ_EVERYTHING: one_thread, true;
    gasneti_init_2_PARSYNC_FAST: serial, false;
    gasneti_init_2_PARSYNC_LARGE: serial, false;
    gasneti_init_2_PARSYNC_EVERYTHING: serial, true;
    gasneti_init_2_PAR_FAST: parallel, false;
    gasneti_init_2_PAR_LARGE: parallel, false;
    gasneti_init_2_PAR_EVERYTHING: parallel, true;
}

/// Bytes of a page.
const PAGE_BYTES: usize = 4096;

/// Registers handlers and attaches the segment.
///
/// # Safety
/// `table` has `n` entries.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gasnet_attach(
    table: *mut HandlerEntry,
    n: c_int,
    segsize: usize,
    _offset: usize,
) -> c_int {
    let Some(state) = state::get() else { return NOT_INIT };
    if state.attached.load(Relaxed) {
        return NOT_INIT;
    }
    if !state.everything
        && let Some(code) = refuse_size(state, "gasnet_attach", segsize)
    {
        return code;
    }
    let table = if table.is_null() || n <= 0 {
        &mut []
    } else {
        // SAFETY: the caller's promise.
        unsafe { std::slice::from_raw_parts_mut(table, n as usize) }
    };
    if let Err(problem) = am::register(state, table) {
        // The tables are the same on all ranks.
        if abi::rank() == 0 {
            eprintln!("gasnet: gasnet_attach: {problem}");
        }
        return BAD_ARG;
    }
    if !state.everything {
        return attach_segment(state, "gasnet_attach", segsize);
    }
    if let Err(error) = attach_everything(state.rank.now()) {
        return complain(&error.to_string());
    }
    abi::set_peers(&peers(state));
    state.attached.store(true, Relaxed);
    OK
}

/// The error of a call that attaches a segment of this size; `None` if the size is valid.
fn refuse_size(state: &ClientJob, call: &str, bytes: usize) -> Option<c_int> {
    let most = state.rank.segments().max_local();
    if bytes.is_multiple_of(PAGE_BYTES) && bytes <= most {
        return None;
    }
    let why = format!("a segment of {bytes} bytes; it must be a multiple of {PAGE_BYTES} and at most {most}");
    if state.check {
        crate::fatal::die(&format!("{call}: {why}"));
    }
    Some(info::refuse(BAD_ARG, call, &why))
}

/// Attaches the segment of this rank.
pub fn attach_segment(state: &'static ClientJob, call: &str, bytes: usize) -> c_int {
    if let Some(code) = refuse_size(state, call, bytes) {
        return code;
    }
    if let Err(error) = state.rank.attach(bytes, None) {
        return complain(&error.to_string());
    }
    run_attach_hook(state);
    abi::set_peers(&peers(state));
    segment_attached(state);
    state.attached.store(true, Relaxed);
    OK
}

/// Makes the object of the segment that was just attached, and binds it to the primordial endpoint.
fn segment_attached(state: &ClientJob) {
    let all = primordial("gasnet_attach");
    if let Some(own) = state.rank.table().get(state.rank.id()) {
        let segment = Object::make(Segment {
            address: own.addr,
            size: own.size,
            flags: 0,
            region: None,
            bound: AtomicU32::new(1),
        });
        // SAFETY: the primordial endpoint lives for ever.
        let ep = unsafe { all.ep.get() };
        // ORDER: Release; pairs with Acquire where the segment is asked for.
        ep.segment.store(segment.handle().cast_mut(), Release);
    }
}

fn run_attach_hook(state: &ClientJob) {
    let hook = gasnet_client_attach_hook.load(Relaxed);
    if let Some(own) = state.rank.table().get(state.rank.id())
        && !hook.is_null()
    {
        // SAFETY: C code stores functions of this type here.
        let hook: extern "C-unwind" fn(*mut c_void, usize) = unsafe { std::mem::transmute(hook) };
        hook(own.local.cast(), own.size);
    }
}

/// The segments that inline code may access directly. Under the rule checks there are none, so that every
/// call reaches the library.
fn peers(state: &ClientJob) -> Vec<Peer> {
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
    if state.everything { usize::MAX } else { state.rank.segments().max_local() }
}

/// Largest segment that every rank can attach.
#[unsafe(no_mangle)]
pub extern "C" fn gasnet_getMaxGlobalSegmentSize() -> usize {
    let state = state::state("gasnet_getMaxGlobalSegmentSize");
    if state.everything { usize::MAX } else { state.rank.segments().max_global() }
}
