//! Collective operations of teams: barrier, broadcast, and reductions by built-in operators or the client's
//! own function.
//!
//! They are the core's ([`gasnet::Team`]); a client's function is called inside the library's calls only, one
//! call at a time. They need no scratch memory, so teams without any have them all.

#![expect(unsafe_code, reason = "exported to C by name; hands the caller's buffers to the core")]

use std::ffi::c_void;
use std::sync::Arc;

use gasnet::coll::{ElementType, Reduction, SyncMode};

use crate::context;
use crate::ex::client::team;
use crate::ex::types::{self, Name};
use crate::fatal::die;
use crate::objects::{Object, Team};
use crate::state;

/// `gex_Coll_ReduceFn_t`: `second[i] = first[i] (+) second[i]`.
type ReduceFn = unsafe extern "C-unwind" fn(
    first: *const c_void,
    second: *mut c_void,
    count: usize,
    cdata: *const c_void,
);

/// The client's function, and what it is given.
#[derive(Clone, Copy)]
struct Client {
    function: ReduceFn,
    cdata: *const c_void,
}

// SAFETY: by the rules of `gex_Coll_ReduceFn_t` any thread may call it, at any time until the operation is
// over.
unsafe impl Send for Client {}
// SAFETY: as above.
unsafe impl Sync for Client {}

impl Client {
    /// # Safety
    /// The pointers are valid for `count` elements.
    unsafe fn call(&self, first: *const u8, second: *mut u8, count: usize) {
        // SAFETY: the caller's promise.
        unsafe { (self.function)(first.cast(), second.cast(), count, self.cdata) }
    }
}

/// The client's function as the core calls it: the first operand becomes the result.
fn by_client(client: Client, element: usize, commutes: bool) -> Reduction {
    let combine = move |first: *mut u8, second: *const u8, bytes: usize| {
        let count = bytes / element;
        // SAFETY: two vectors of `count` elements, aligned for a type of their size.
        unsafe {
            if commutes {
                return client.call(second, first, count);
            }
            // The function's result is in its second operand, which others still read here.
            let mut copy = vec![0u128; bytes.div_ceil(size_of::<u128>())];
            let result = copy.as_mut_ptr().cast::<u8>();
            std::ptr::copy_nonoverlapping(second, result, bytes);
            client.call(first, result, count);
            std::ptr::copy_nonoverlapping(result, first, bytes);
        }
    };
    let element_type = ElementType::UNKNOWN;
    Reduction { combine: Arc::new(combine), commutes, element, element_type, known: None }
}

/// The arguments of a reduction.
struct How {
    dt: u32,
    size: usize,
    count: usize,
    op: u32,
    function: Option<ReduceFn>,
    cdata: *const c_void,
}

impl How {
    /// How to reduce, and bytes of a vector.
    fn reduction(&self, call: &str) -> (Reduction, usize) {
        if self.size == 0 || self.count == 0 {
            die(&format!("{call}: {} elements of {} bytes: neither may be 0", self.count, self.size));
        }
        let Some(bytes) = self.size.checked_mul(self.count) else {
            die(&format!(
                "{call}: {} elements of {} bytes are more than memory holds",
                self.count, self.size
            ));
        };
        let word = types::word(self.dt);
        if word.is_none() && self.dt != types::DT_USER {
            die(&format!("{call}: {:#x} is not one type (GEX_DT_*)", self.dt));
        }
        if let Some((word, size)) = word.filter(|(_, size)| *size != self.size) {
            die(&format!("{call}: elements of {word:?} have {size} bytes, not {}", self.size));
        }
        if self.op & (types::OP_USER | types::OP_USER_NC) != 0 {
            let Some(function) = self.function.filter(|_| self.op.is_power_of_two()) else {
                die(&format!("{call}: GEX_OP_USER needs a function, and no other operation"));
            };
            let client = Client { function, cdata: self.cdata };
            let how = by_client(client, self.size, self.op == types::OP_USER);
            let element_type = word.map_or(how.element_type, |(word, _)| ElementType::named(word.name()));
            return (Reduction { element_type, ..how }, bytes);
        }
        let Some((word, _)) = word else {
            die(&format!("{call}: {} of GEX_DT_USER: only GEX_OP_USER is for such elements", Name(self.op)));
        };
        match types::reduces(self.op, word) {
            Some(function) => (Reduction::known(function, word), bytes),
            None => {
                let [all, integers] = types::reducing();
                die(&format!(
                    "{call}: {} does not reduce elements of {word:?}: {all} and, for integers, {integers} do",
                    Name(self.op)
                ))
            }
        }
    }
}

/// The team for a collective operation.
///
/// # Safety
/// `tm` names a team.
unsafe fn enter<'a>(call: &'static str, tm: *const Object<Team>) -> &'a gasnet::Team {
    context::unrestricted(state::state(call), call);
    // SAFETY: the caller's promise.
    unsafe { &team(call, tm).team }
}

fn check_root(call: &str, team: &gasnet::Team, root: u32) {
    if root as usize >= team.size() {
        die(&format!("{call}: there is no rank {root}: the team has {} ranks, numbered from 0", team.size()));
    }
}

/// Starts a barrier: the event is done when all members have started it.
///
/// # Safety
/// `tm` names a team.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gex_Coll_BarrierNB(tm: *const Object<Team>, _flags: u32) -> usize {
    // SAFETY: the caller's promise.
    types::event(unsafe { enter("gex_Coll_BarrierNB", tm) }.barrier_nb())
}

/// Returns when all members have called it.
///
/// # Safety
/// `tm` names a team.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gex_Coll_BarrierBlocking(tm: *const Object<Team>, _flags: u32) {
    // SAFETY: the caller's promise.
    unsafe { enter("gex_Coll_BarrierBlocking", tm) }.barrier();
}

/// Starts to copy the root's bytes at `src` to every member's `dst`.
///
/// # Safety
/// `tm` names a team; the buffers are valid until the event is done.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gex_Coll_BroadcastNB(
    tm: *const Object<Team>,
    root: u32,
    dst: *mut c_void,
    src: *const c_void,
    bytes: usize,
    _flags: u32,
) -> usize {
    const CALL: &str = "gex_Coll_BroadcastNB";
    // SAFETY: the caller's promise, both.
    let team = unsafe { enter(CALL, tm) };
    check_root(CALL, team, root);
    // SAFETY: as above.
    types::event(unsafe { team.broadcast_raw_nb(root as usize, dst.cast(), src.cast(), bytes, SyncMode::MY) })
}

/// Starts to combine the members' vectors; the result comes to the root's `dst`.
///
/// # Safety
/// `tm` names a team; the buffers are valid until the event is done, and so is what the function uses.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gex_Coll_ReduceToOneNB(
    tm: *const Object<Team>,
    root: u32,
    dst: *mut c_void,
    src: *const c_void,
    dt: u32,
    size: usize,
    count: usize,
    op: u32,
    function: Option<ReduceFn>,
    cdata: *const c_void,
    _flags: u32,
) -> usize {
    const CALL: &str = "gex_Coll_ReduceToOneNB";
    // SAFETY: the caller's promise, both.
    let team = unsafe { enter(CALL, tm) };
    check_root(CALL, team, root);
    let (how, bytes) = How { dt, size, count, op, function, cdata }.reduction(CALL);
    // SAFETY: as above.
    types::event(unsafe {
        team.reduce_raw_nb(root as usize, dst.cast(), src.cast(), bytes, how, SyncMode::MY)
    })
}

/// Starts to combine the members' vectors; the result comes to every member's `dst`.
///
/// # Safety
/// As [`gex_Coll_ReduceToOneNB`].
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gex_Coll_ReduceToAllNB(
    tm: *const Object<Team>,
    dst: *mut c_void,
    src: *const c_void,
    dt: u32,
    size: usize,
    count: usize,
    op: u32,
    function: Option<ReduceFn>,
    cdata: *const c_void,
    _flags: u32,
) -> usize {
    const CALL: &str = "gex_Coll_ReduceToAllNB";
    // SAFETY: the caller's promise, both.
    let team = unsafe { enter(CALL, tm) };
    let (how, bytes) = How { dt, size, count, op, function, cdata }.reduction(CALL);
    // SAFETY: as above.
    types::event(unsafe { team.reduce_all_raw_nb(dst.cast(), src.cast(), bytes, how, SyncMode::MY) })
}
