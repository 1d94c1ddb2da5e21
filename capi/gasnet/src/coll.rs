//! `gasnet_coll_*`: teams and collectives of the core, for C.
//!
//! A team handle is 0 for all ranks, else a box of a [`Team`] and its [`images`], where processes have others
//! than one each. The headers turn the many names into a few functions here: one for operations that move
//! data, one for those that combine it. A handle is the word of the core's event.

#![expect(unsafe_code, reason = "exported to C by name; hands the caller's buffers to the core")]

use std::cell::Cell;
use std::ffi::{c_int, c_uint, c_void};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError, RwLock};

use gasnet::barrier::{Consensus, Outcome};
use gasnet::coll::{ElementType, Reduction, SyncMode, When};
use gasnet::{Event, Team};

use crate::fatal::die;
use crate::images::{self, Call, ImageOperation, Images, Layout, Operation};
use crate::info::{BARRIER_MISMATCH, OK};
use crate::state::{self, ClientJob};
use crate::wait::not_ready;
use crate::{abi, context};

const IN_NOSYNC: c_int = 1;
const IN_MYSYNC: c_int = 2;
const OUT_NOSYNC: c_int = 8;
const OUT_MYSYNC: c_int = 16;
const SINGLE: c_int = 1 << 6;
const NO_IMAGES: c_int = 1 << 19;
/// `GASNET_BARRIERFLAG_IMAGES`.
const FOR_IMAGES: c_int = 4;
/// `GASNET_COLL_NONCOMM` of a function.
const NONCOMM: c_uint = 1;

/// `gasnet_coll_reduce_fn_t`.
type ReduceFn = unsafe extern "C-unwind" fn(
    results: *mut c_void,
    result_count: usize,
    left: *const c_void,
    left_count: usize,
    right: *const c_void,
    elem_size: usize,
    flags: c_int,
    arg: c_int,
);

/// `gasnet_coll_fn_entry_t`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FnEntry {
    function: Option<ReduceFn>,
    flags: c_uint,
}

/// The functions registered by `gasnet_coll_init`.
static FUNCTIONS: RwLock<Vec<FnEntry>> = RwLock::new(Vec::new());
/// The images of the team of all ranks, if some process has not exactly one image.
static IMAGES: RwLock<Option<Arc<Images>>> = RwLock::new(None);

thread_local! {
    /// The image of this process that the thread is.
    static IMAGE: Cell<Option<usize>> = const { Cell::new(None) };
}

fn enter(call: &'static str) -> &'static ClientJob {
    let state = state::attached(call);
    context::unrestricted(state, call);
    state
}

/// The object behind a team handle; each image has its own.
#[derive(Clone)]
pub struct Chosen {
    team: Team,
    /// The images, if some member has not exactly one.
    images: Option<Arc<Images>>,
}

impl Chosen {
    /// The images, and which one of this process this thread is, unless they are to be left out.
    fn images(&self, call: &str, leave_out: bool) -> Option<(&Images, usize)> {
        let images = self.images.as_deref().filter(|_| !leave_out)?;
        match IMAGE.get() {
            Some(image) => Some((images, image)),
            None => die(&format!(
                "{call}: this thread is no image: call gasnet_coll_init in it first, with the array of images"
            )),
        }
    }

    /// The number of a root: that of an image, or, without images, of a member.
    fn root(&self, call: &str, root: u32, images: Option<(&Images, usize)>) -> usize {
        let (size, me) = match images {
            Some((images, local)) => (images.layout.total(), images.layout.mine().start + local),
            None => (self.team.size(), self.team.me()),
        };
        match root {
            u32::MAX => me,
            root if (root as usize) < size => root as usize,
            root => die(&format!("{call}: there is no image {root}; the team has {size}")),
        }
    }
}

/// The team of a handle.
///
/// # Safety
/// `handle` is null or comes from [`gasneti_coll_team_split`].
unsafe fn chosen(state: &'static ClientJob, handle: *const Chosen) -> Chosen {
    // SAFETY: the caller's promise.
    unsafe { handle.as_ref() }.cloned().unwrap_or_else(|| Chosen {
        team: state.rank.team_all(),
        // Relaxed: an image knows, and takes them from the lock.
        images: if state.several.load(Ordering::Relaxed) {
            IMAGES.read().unwrap_or_else(PoisonError::into_inner).clone()
        } else {
            None
        },
    })
}

/// [`chosen`], for operations that members carry out, not images.
///
/// # Safety
/// As [`chosen`].
unsafe fn team(state: &'static ClientJob, handle: *const Chosen) -> Team {
    // SAFETY: the caller's promise.
    unsafe { chosen(state, handle) }.team
}

fn mode(flags: c_int) -> SyncMode {
    let when = |no, my| match flags {
        f if f & no != 0 => When::No,
        f if f & my != 0 => When::My,
        _ => When::All,
    };
    SyncMode { enter: when(IN_NOSYNC, IN_MYSYNC), leave: when(OUT_NOSYNC, OUT_MYSYNC) }
}

/// `gasnet_coll_init`: keeps the functions of reductions, and makes the calling thread an image.
///
/// # Safety
/// `images`, if not null, has an entry per node; `functions` has `n` entries.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gasneti_coll_init(
    images: *const u32,
    image: u32,
    functions: *const FnEntry,
    n: usize,
) {
    const CALL: &str = "gasnet_coll_init";
    let state = enter(CALL);
    if n > 0 && !functions.is_null() {
        // SAFETY: the caller's promise.
        let functions = unsafe { std::slice::from_raw_parts(functions, n) };
        *FUNCTIONS.write().unwrap_or_else(PoisonError::into_inner) = functions.to_vec();
    }
    if images.is_null() {
        return;
    }
    // SAFETY: the caller's promise.
    let counts = unsafe { std::slice::from_raw_parts(images, abi::size() as usize) };
    let counts: Vec<usize> = counts.iter().map(|count| *count as usize).collect();
    if let Some(node) = counts.iter().position(|count| *count == 0) {
        die(&format!("{CALL}: node {node} has no image in the array of images: each has one at least"));
    }
    let mine = Layout::new(counts.iter().copied(), state.rank.id().0 as usize).mine();
    if !mine.contains(&(image as usize)) {
        die(&format!(
            "{CALL}: this thread cannot be image {image}: the array of images gives this node {mine:?}"
        ));
    }
    if counts.iter().all(|count| *count == 1) {
        return;
    }
    if mine.len() > 1 && !state.parallel {
        die(&format!(
            "{CALL}: {} images in a process are threads: compile the program for GASNET_PAR",
            mine.len()
        ));
    }
    let local = image as usize - mine.start;
    IMAGE.set(Some(local));
    images::begin(state, &counts, local, |images| {
        *IMAGES.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(images));
        state.several.store(true, Ordering::Relaxed);
    });
}

/// Which of a list's addresses is the calling image's: the list has all images' addresses
/// (`GASNET_COLL_SINGLE`), or those of this process.
///
/// # Safety
/// `handle` is a team handle.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gasneti_coll_image(handle: *const Chosen, flags: c_int) -> usize {
    const CALL: &str = "a collective operation with lists of addresses";
    // SAFETY: the caller's promise.
    let t = unsafe { chosen(enter(CALL), handle) };
    let all = flags & SINGLE != 0;
    match t.images(CALL, flags & NO_IMAGES != 0) {
        Some((images, local)) => local + if all { images.layout.mine().start } else { 0 },
        None if all => t.team.me(),
        None => 0,
    }
}

/// Makes teams of the members that give the same color, ordered by `key`. Every image calls it; those of a
/// process give the same.
///
/// # Safety
/// `parent` is a team handle.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gasneti_coll_team_split(
    parent: *const Chosen,
    color: u32,
    key: u32,
) -> *const Chosen {
    const CALL: &str = "gasnet_coll_team_split";
    let state = enter(CALL);
    // SAFETY: the caller's promise.
    let parent = unsafe { chosen(state, parent) };
    let made = match parent.images(CALL, false) {
        Some((images, local)) => images
            .split(&parent.team, local, color, key)
            .map(|(team, images)| Chosen { team, images: Some(images) }),
        None => parent.team.split(Some(color), key).map(|team| Chosen { team, images: None }),
    };
    made.map_or(std::ptr::null(), |made| Box::into_raw(Box::new(made)))
}

/// Destroys a team.
///
/// # Safety
/// `handle` is a team handle that is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gasnet_coll_team_free(handle: *mut Chosen) {
    if !handle.is_null() {
        // SAFETY: the caller's promise; made by `split`.
        drop(unsafe { Box::from_raw(handle) });
    }
}

/// Number of members.
///
/// # Safety
/// `handle` is a team handle.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gasnet_coll_team_size(handle: *const Chosen) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { team(enter("gasnet_coll_team_size"), handle) }.size() as u32
}

/// This node's number in the team.
///
/// # Safety
/// `handle` is a team handle.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gasnet_coll_team_rank(handle: *const Chosen) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { team(enter("gasnet_coll_team_rank"), handle) }.me() as u32
}

/// The node of a member.
///
/// # Safety
/// `handle` is a team handle.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gasnet_coll_team_rank2node(handle: *const Chosen, rank: c_int) -> u32 {
    const CALL: &str = "gasnet_coll_team_rank2node";
    // SAFETY: the caller's promise.
    let team = unsafe { team(enter(CALL), handle) };
    match team.rank_of(rank as usize) {
        Some(r) => r.0,
        None => die(&format!("{CALL}: there is no member {rank}; the team has {}", team.size())),
    }
}

/// The member of a node.
///
/// # Safety
/// `handle` is a team handle.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gasnet_coll_team_node2rank(handle: *const Chosen, node: u32) -> u32 {
    // SAFETY: the caller's promise.
    let team = unsafe { team(enter("gasnet_coll_team_node2rank"), handle) };
    match team.member(gasnet::RankId(node)) {
        Some(member) => member as u32,
        None => die(&format!("gasnet_coll_team_node2rank: node {node} is not in the team")),
    }
}

/// A blocking form and one with a handle.
macro_rules! either {
    ($nb:expr, $blocking:expr, $start:expr) => {
        // SAFETY: the callers of the functions below answer for their buffers.
        unsafe {
            if $nb == 0 {
                $blocking;
                0
            } else {
                $start.into_raw() as usize
            }
        }
    };
}

/// The handle of an operation that was started; a blocking one is waited for.
fn over(team: &Team, nb: c_int, event: Event) -> usize {
    if nb != 0 {
        return event.into_raw() as usize;
    }
    team.rank().wait(event);
    0
}

/// Broadcast (0), scatter (1), gather (2), gather_all (3), exchange (4); 0, or a handle if `nb`.
///
/// # Safety
/// The buffers have the bytes that the operation needs, until it is complete; `handle` is a team handle.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gasneti_coll_move(
    what: c_int,
    handle: *const Chosen,
    root: u32,
    dst: *mut u8,
    src: *const u8,
    n: usize,
    flags: c_int,
    nb: c_int,
) -> usize {
    const CALLS: [&str; 5] = [
        "gasnet_coll_broadcast",
        "gasnet_coll_scatter",
        "gasnet_coll_gather",
        "gasnet_coll_gather_all",
        "gasnet_coll_exchange",
    ];
    let call = CALLS[what as usize % CALLS.len()];
    // SAFETY: the caller's promise.
    let chosen = unsafe { chosen(enter(call), handle) };
    let images = chosen.images(call, flags & NO_IMAGES != 0);
    let (r, m) = (chosen.root(call, root, images), mode(flags));
    let t = &chosen.team;
    if let Some((images, local)) = images {
        let whats = [
            ImageOperation::Broadcast,
            ImageOperation::Scatter,
            ImageOperation::Gather,
            ImageOperation::GatherAll,
            ImageOperation::Exchange,
        ];
        let operation =
            Operation { what: whats[what as usize % whats.len()], root: r, n, differ: false, mode: m };
        let call = Call { dst, dst_blocks: Vec::new(), src, src_blocks: Vec::new(), n };
        // SAFETY: the caller's promise.
        return over(t, nb, unsafe { images.call(t, local, operation, call, None) });
    }
    match what {
        0 => either!(nb, t.broadcast_raw(r, dst, src, n, m), t.broadcast_raw_nb(r, dst, src, n, m)),
        1 => either!(nb, t.scatter_raw(r, dst, src, n, m), t.scatter_raw_nb(r, dst, src, n, m)),
        2 => either!(nb, t.gather_raw(r, dst, src, n, m), t.gather_raw_nb(r, dst, src, n, m)),
        3 => either!(nb, t.gather_all_raw(dst, src, n, m), t.gather_all_raw_nb(dst, src, n, m)),
        _ => either!(nb, t.exchange_raw(dst, src, n, m), t.exchange_raw_nb(dst, src, n, m)),
    }
}

/// (offset, bytes) of each member's block; empty without lists.
///
/// # Safety
/// The lists are null or have `n` entries.
unsafe fn blocks(at: *const usize, len: *const usize, n: usize) -> Vec<(usize, usize)> {
    if at.is_null() || len.is_null() {
        return Vec::new();
    }
    // SAFETY: the caller's promise.
    (0..n).map(|i| unsafe { (*at.add(i), *len.add(i)) }).collect()
}

/// Scatter (1), gather (2), gather_all (3), exchange (4) of blocks that differ; `n` are this member's bytes,
/// where its lists do not say.
///
/// # Safety
/// As [`gasneti_coll_move`]; lists that the operation needs have an entry for each member.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gasneti_coll_move_v(
    what: c_int,
    handle: *const Chosen,
    root: u32,
    dst: *mut u8,
    dst_at: *const usize,
    dst_len: *const usize,
    src: *const u8,
    src_at: *const usize,
    src_len: *const usize,
    n: usize,
    flags: c_int,
    nb: c_int,
) -> usize {
    const CALLS: [&str; 4] =
        ["gasnet_coll_scatterv", "gasnet_coll_gatherv", "gasnet_coll_gather_allv", "gasnet_coll_exchangev"];
    let call = CALLS[(what as usize).wrapping_sub(1) % CALLS.len()];
    // SAFETY: the caller's promise.
    let chosen = unsafe { chosen(enter(call), handle) };
    let images = chosen.images(call, flags & NO_IMAGES != 0);
    let (r, m) = (chosen.root(call, root, images), mode(flags));
    let t = &chosen.team;
    let size = images.map_or(t.size(), |(images, _)| images.layout.total());
    // SAFETY: the caller's promise.
    let (d, s) = unsafe { (blocks(dst_at, dst_len, size), blocks(src_at, src_len, size)) };
    if let Some((images, local)) = images {
        let whats = [
            ImageOperation::Scatter,
            ImageOperation::Gather,
            ImageOperation::GatherAll,
            ImageOperation::Exchange,
        ];
        let what = whats[(what as usize).wrapping_sub(1) % whats.len()];
        let counts = |at_root: bool| match what {
            ImageOperation::Scatter | ImageOperation::Gather => {
                at_root && images.layout.mine().start + local == r
            }
            _ => true,
        };
        let needed = [
            (&d, what != ImageOperation::Scatter),
            (&s, matches!(what, ImageOperation::Scatter | ImageOperation::Exchange)),
        ];
        if needed.iter().any(|(list, needs)| *needs && counts(true) && list.len() != size) {
            die(&format!("{call}: the lists of blocks are missing; the team has {size} images"));
        }
        let operation = Operation { what, root: r, n: 0, differ: true, mode: m };
        let call = Call { dst, dst_blocks: d, src, src_blocks: s, n };
        // SAFETY: the caller's promise.
        return over(t, nb, unsafe { images.call(t, local, operation, call, None) });
    }
    match what {
        1 => {
            either!(nb, t.scatter_v_raw(r, dst, n, src, &s, m), t.scatter_v_raw_nb(r, dst, n, src, &s, m))
        }
        2 => either!(nb, t.gather_v_raw(r, dst, src, n, &d, m), t.gather_v_raw_nb(r, dst, src, n, &d, m)),
        3 => either!(nb, t.gather_all_v_raw(dst, src, &d, m), t.gather_all_v_raw_nb(dst, src, &d, m)),
        _ => either!(nb, t.exchange_v_raw(dst, src, &d, &s, m), t.exchange_v_raw_nb(dst, src, &d, &s, m)),
    }
}

/// Reduce (0), reduce to all (1), scan (2) of `count` elements, element by element; 0, or a handle if `nb`.
///
/// # Safety
/// As [`gasneti_coll_move`].
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gasneti_coll_combine(
    what: c_int,
    handle: *const Chosen,
    root: u32,
    dst: *mut u8,
    src: *const u8,
    elem_size: usize,
    count: usize,
    function: c_int,
    arg: c_int,
    flags: c_int,
    nb: c_int,
) -> usize {
    let call = if what == 2 { "gasnet_coll_scan" } else { "gasnet_coll_reduce" };
    // SAFETY: the caller's promise.
    let chosen = unsafe { chosen(enter(call), handle) };
    let images = chosen.images(call, flags & NO_IMAGES != 0);
    let t = &chosen.team;
    let entry = FUNCTIONS.read().unwrap_or_else(PoisonError::into_inner).get(function as usize).copied();
    let Some(FnEntry { function: Some(f), flags: f_flags }) = entry else {
        die(&format!("{call}: gasnet_coll_init was given no function {function}"));
    };
    let how = Reduction {
        combine: Arc::new(move |a, b, n| {
            let k = n / elem_size.max(1);
            // SAFETY: two vectors of k elements; the function may write its result over its left operands.
            unsafe { f(a.cast(), k, a.cast(), k, b.cast(), elem_size, f_flags as c_int, arg) }
        }),
        commutes: f_flags & NONCOMM == 0,
        element: elem_size.max(1),
        element_type: ElementType::UNKNOWN,
        known: None,
    };
    let (r, n, m) = (chosen.root(call, root, images), elem_size * count, mode(flags));
    if let Some((images, local)) = images {
        let whats = [ImageOperation::Reduce, ImageOperation::ReduceAll, ImageOperation::Scan];
        let operation =
            Operation { what: whats[what as usize % whats.len()], root: r, n, differ: false, mode: m };
        let call = Call { dst, dst_blocks: Vec::new(), src, src_blocks: Vec::new(), n };
        // SAFETY: the caller's promise.
        return over(t, nb, unsafe { images.call(t, local, operation, call, Some(&how)) });
    }
    match what {
        0 => either!(nb, t.reduce_raw(r, dst, src, n, how, m), t.reduce_raw_nb(r, dst, src, n, how, m)),
        1 => either!(nb, t.reduce_all_raw(dst, src, n, how, m), t.reduce_all_raw_nb(dst, src, n, how, m)),
        _ => either!(nb, t.scan_raw(dst, src, n, true, how, m), t.scan_raw_nb(dst, src, n, true, how, m)),
    }
}

fn is_complete(state: &ClientJob, handle: usize) -> bool {
    handle == 0 || state.rank.events().test_quietly(Event::from_raw(handle as u64))
}

/// Waits for one operation.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn gasnet_coll_wait_sync(handle: usize) {
    enter("gasnet_coll_wait_sync").rank.wait(Event::from_raw(handle as u64));
}

/// Polls, and says whether one operation is complete.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn gasnet_coll_try_sync(handle: usize) -> c_int {
    let state = enter("gasnet_coll_try_sync");
    state.rank.poll();
    if is_complete(state, handle) { OK } else { not_ready(state) }
}

/// Marks the complete operations of a list. Returns whether all of them are complete if `all` is set, else
/// whether at least one is.
///
/// # Safety
/// `handles` has `n` entries.
unsafe fn sweep(state: &ClientJob, handles: *mut usize, n: usize, all: bool) -> bool {
    let (mut finished, mut left) = (0, 0);
    for i in 0..n {
        // SAFETY: the caller's promise.
        let handle = unsafe { &mut *handles.add(i) };
        match *handle {
            0 => {}
            h if is_complete(state, h) => {
                *handle = 0;
                finished += 1;
            }
            _ => left += 1,
        }
    }
    left == 0 || (!all && finished > 0)
}

/// `gasnet_coll_wait_sync_all`, or `_some`.
///
/// # Safety
/// `handles` has `n` entries.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gasneti_coll_wait_list(handles: *mut usize, n: usize, all: c_int) {
    let state = enter("gasnet_coll_wait_sync_all");
    // SAFETY: the caller's promise.
    state.rank.waits().poll_until("collective operations", || unsafe { sweep(state, handles, n, all != 0) });
}

/// `gasnet_coll_try_sync_all`, or `_some`.
///
/// # Safety
/// `handles` has `n` entries.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gasneti_coll_try_list(handles: *mut usize, n: usize, all: c_int) -> c_int {
    let state = enter("gasnet_coll_try_sync_all");
    state.rank.poll();
    // SAFETY: the caller's promise.
    if unsafe { sweep(state, handles, n, all != 0) } { OK } else { not_ready(state) }
}

fn outcome(outcome: Outcome) -> c_int {
    match outcome {
        Outcome::Agreed => OK,
        Outcome::Mismatched => BARRIER_MISMATCH,
    }
}

/// Enters the team's barrier: for this image with `GASNET_BARRIERFLAG_IMAGES`, else for this process.
///
/// # Safety
/// `handle` is a team handle.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gasnet_coll_barrier_notify(handle: *const Chosen, id: c_int, flags: c_int) {
    const CALL: &str = "gasnet_coll_barrier_notify";
    // SAFETY: the caller's promise.
    let chosen = unsafe { chosen(enter(CALL), handle) };
    let (team, f) = (&chosen.team, flags as u32);
    match chosen.images(CALL, flags & FOR_IMAGES == 0) {
        Some((images, local)) => images.barrier_notify(team, local, id, f),
        None => team.split_barrier().notify(id, f),
    }
}

/// Waits for the team's barrier.
///
/// # Safety
/// `handle` is a team handle.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gasnet_coll_barrier_wait(
    handle: *const Chosen,
    id: c_int,
    flags: c_int,
) -> c_int {
    const CALL: &str = "gasnet_coll_barrier_wait";
    // SAFETY: the caller's promise.
    let chosen = unsafe { chosen(enter(CALL), handle) };
    let (team, f) = (&chosen.team, flags as u32);
    outcome(match chosen.images(CALL, flags & FOR_IMAGES == 0) {
        Some((images, local)) => images.barrier_wait(team, local, id, f),
        None => team.split_barrier().wait(id, f),
    })
}

/// Polls, and says whether the team's barrier is over.
///
/// # Safety
/// `handle` is a team handle.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gasnet_coll_barrier_try(
    handle: *const Chosen,
    id: c_int,
    flags: c_int,
) -> c_int {
    const CALL: &str = "gasnet_coll_barrier_try";
    let state = enter(CALL);
    state.rank.poll();
    // SAFETY: the caller's promise.
    let chosen = unsafe { chosen(state, handle) };
    let (team, f) = (&chosen.team, flags as u32);
    match chosen.images(CALL, flags & FOR_IMAGES == 0) {
        Some((images, local)) => images.barrier_test(team, local, id, f),
        None => team.split_barrier().test(id, f),
    }
    .map_or_else(|| not_ready(state), outcome)
}

/// The name that the last barrier agreed on; non-zero if it was anonymous.
///
/// # Safety
/// `handle` is a team handle, `id` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gasnet_coll_barrier_result(handle: *const Chosen, id: *mut c_int) -> c_int {
    // SAFETY: the caller's promise.
    let team = unsafe { team(enter("gasnet_coll_barrier_result"), handle) };
    match team.split_barrier().result() {
        None => die("gasnet_coll_barrier_result: no barrier of the team is complete"),
        Some(Consensus::Named(name)) => {
            if !id.is_null() {
                // SAFETY: the caller's promise.
                unsafe { *id = name };
            }
            0
        }
        Some(_) => 1,
    }
}
