//! Atomic domains: words of one type that the members of a team change by a chosen set of operations.
//!
//! The core does the operations ([`gasnet::domain`]): where the word is mapped at once, elsewhere at its
//! owner. Both kinds are atomic with each other, so the flags that favour one kind have no effect.

#![expect(unsafe_code, reason = "exported to C by name; has old values written where C wants them")]

use std::ffi::c_void;

use gasnet::RankId;
use gasnet::domain::{Domain, Functions};

use crate::ex::client::team;
use crate::ex::types::{self, IMMEDIATE, NOT_DONE, Name};
use crate::ex_kind;
use crate::fatal::die;
use crate::objects::{Object, Team, object, resolve};
use crate::state::{self, ClientJob};
use crate::{abi, context};

const AD_MY_RANK: u32 = 1 << 11;
const AD_MY_NBRHD: u32 = 1 << 12;
const RANK_IS_JOBRANK: u32 = 1 << 13;

/// A domain. The first fields are what inline code reads; `gasnet_ratomic.h` declares the same.
#[repr(C)]
#[derive(Debug)]
pub struct Ad {
    /// The type in the low half, the operations in the high one.
    kind: u64,
    /// The number of ranks, if each is the same rank of the job and inline code knows them, else 0.
    same: u32,
    /// The number of ranks, if some are other ranks of the job and inline code knows them, else 0.
    other: u32,
    /// The ranks of the job that the team's are.
    jobranks: *const u32,
    /// The memory that `jobranks` points to.
    ranks: Box<[u32]>,
    domain: Domain,
    tm: &'static Object<Team>,
    flags: u32,
}

impl Ad {
    /// The type of the words.
    fn dt(&self) -> u32 {
        self.kind as u32
    }

    /// The operations, a bit each.
    fn ops(&self) -> u32 {
        (self.kind >> 32) as u32
    }
}
// SAFETY: the pointer leads to memory of the domain, which nobody changes.
unsafe impl Send for Ad {}
// SAFETY: as above.
unsafe impl Sync for Ad {}
ex_kind!(Ad, "atomic domain", "GEX_AD_INVALID", b"atdo", gex_AD_SetCData, gex_AD_QueryCData);

/// Makes a domain for the words of a type and these operations.
///
/// # Safety
/// `ad` is writable; `tm` names a team.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gex_AD_Create(
    ad: *mut *const Object<Ad>,
    tm: *const Object<Team>,
    dt: u32,
    ops: u32,
    flags: u32,
) {
    const CALL: &str = "gex_AD_Create";
    context::unrestricted(state::state(CALL), CALL);
    // SAFETY: the caller's promise.
    let of = unsafe { team(CALL, tm) };
    let Some((word, _)) = types::word(dt) else {
        die(&format!("{CALL}: {dt:#x} is not one type of words (GEX_DT_I32 to GEX_DT_DBL)"));
    };
    let each = || (0..32).map(|bit| 1u32 << bit).filter(|op| ops & op != 0);
    if let Some(wrong) = each().find(|op| types::function(*op).is_none()) {
        die(&format!("{CALL}: {} ({wrong:#x}) is not an atomic operation", Name(wrong)));
    }
    if ops == 0 {
        die(&format!("{CALL}: the set of operations is empty"));
    }
    let functions: Functions = each().filter_map(types::function).collect();
    for op in each() {
        if !types::function(op)
            .is_some_and(|function| gasnet::atomics::Operation { function, word }.is_defined())
        {
            die(&format!("{CALL}: there is no {} of {word:?}: it is for integers only", Name(op)));
        }
    }
    // Clients expect that nobody waits here: UPC++ makes domains while others need its progress.
    let domain = Domain::start(&of.team, word, functions, u64::from(ops) << 32 | u64::from(flags));
    // SAFETY: `team` has found a team there, which outlives its domains.
    let tm = unsafe { &*tm };
    let ranks: Box<[u32]> =
        (0..of.size).map(|member| of.team.rank_of(member as usize).map_or(u32::MAX, |rank| rank.0)).collect();
    let same = ranks.iter().zip(0..).all(|(rank, member)| *rank == member);
    let known = if abi::is_inline() { of.size } else { 0 };
    let made = Object::make(Ad {
        kind: u64::from(ops) << 32 | u64::from(dt),
        same: if same { known } else { 0 },
        other: if same { 0 } else { known },
        jobranks: ranks.as_ptr(),
        ranks,
        domain,
        tm,
        flags,
    });
    // SAFETY: the caller's promise.
    unsafe { ad.write(made) };
}

/// Destroys a domain.
///
/// # Safety
/// `ad` names a domain that nobody uses any more.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gex_AD_Destroy(ad: *const Object<Ad>) {
    const CALL: &str = "gex_AD_Destroy";
    context::unrestricted(state::state(CALL), CALL);
    // SAFETY: the caller's promise.
    unsafe {
        object(CALL, ad).destroy(CALL);
    }
}

/// The flags that a domain was made with.
///
/// # Safety
/// `ad` names a domain.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gex_AD_QueryFlags(ad: *const Object<Ad>) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { resolve("gex_AD_QueryFlags", ad) }.flags
}

/// The team of a domain.
///
/// # Safety
/// `ad` names a domain.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gex_AD_QueryTM(ad: *const Object<Ad>) -> *const Object<Team> {
    // SAFETY: the caller's promise.
    unsafe { resolve("gex_AD_QueryTM", ad) }.tm
}

/// The type of a domain's words.
///
/// # Safety
/// `ad` names a domain.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gex_AD_QueryDT(ad: *const Object<Ad>) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { resolve("gex_AD_QueryDT", ad) }.dt()
}

/// The operations of a domain.
///
/// # Safety
/// `ad` names a domain.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gex_AD_QueryOps(ad: *const Object<Ad>) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { resolve("gex_AD_QueryOps", ad) }.ops()
}

/// The name of the call for a type, for messages.
fn call(dt: u32, implicit: bool) -> &'static str {
    match (dt, implicit) {
        (0x01, false) => "gex_AD_OpNB_I32",
        (0x02, false) => "gex_AD_OpNB_U32",
        (0x04, false) => "gex_AD_OpNB_I64",
        (0x08, false) => "gex_AD_OpNB_U64",
        (0x10, false) => "gex_AD_OpNB_FLT",
        (_, false) => "gex_AD_OpNB_DBL",
        (0x01, true) => "gex_AD_OpNBI_I32",
        (0x02, true) => "gex_AD_OpNBI_U32",
        (0x04, true) => "gex_AD_OpNBI_I64",
        (0x08, true) => "gex_AD_OpNBI_U64",
        (0x10, true) => "gex_AD_OpNBI_FLT",
        (_, true) => "gex_AD_OpNBI_DBL",
    }
}

/// The rank of the job that `target` names. It is a rank of the domain's team, or of the job if the flags say
/// so.
fn target_rank(call: &str, state: &ClientJob, ad: &Ad, target: u32, flags: u32) -> RankId {
    let rank = if flags & RANK_IS_JOBRANK != 0 {
        if ad.domain.team().member(RankId(target)).is_none() {
            die(&format!("{call}: rank {target} of the job is not in the team of the domain"));
        }
        RankId(target)
    } else {
        ad.domain.team().rank_of(target as usize).unwrap_or_else(|| {
            let size = ad.domain.team().size();
            die(&format!("{call}: there is no rank {target}: the team has {size} ranks, numbered from 0"))
        })
    };
    if state.check {
        let own = state.rank.id();
        if flags & AD_MY_RANK != 0 && rank != own {
            die(&format!(
                "{call}: GEX_FLAG_AD_MY_RANK, but the target is rank {rank} of the job, not this one"
            ));
        }
        let near =
            state.rank.topology().neighbourhood_of(rank) == state.rank.topology().neighbourhood_of(own);
        if flags & AD_MY_NBRHD != 0 && !near {
            die(&format!(
                "{call}: GEX_FLAG_AD_MY_NBRHD, but rank {rank} of the job is in another neighbourhood"
            ));
        }
    }
    rank
}

/// The offset of an aligned word of `width` bytes in the segment of `rank`.
fn word_offset(call: &str, state: &ClientJob, rank: RankId, address: usize, width: usize) -> u64 {
    if !address.is_multiple_of(width) {
        die(&format!("{call}: {address:#x} is no address of a word: it must be a multiple of {width}"));
    }
    let (base, size) = state.rank.table().get(rank).map_or((0, 0), |entry| (entry.addr, entry.size));
    if address.wrapping_sub(base) >= size || size - address.wrapping_sub(base) < width {
        die(&format!(
            "{call}: a word at address {address:#x} is outside the segment of rank {rank} of the job, which is [{base:#x}, {:#x}), {size} bytes",
            base.wrapping_add(size)
        ));
    }
    address.wrapping_sub(base) as u64
}

/// Starts an operation on a word, of operands as bits. The old value goes to `result` if the operation
/// fetches.
///
/// # Safety
/// `ad` names a domain; `result` is writable until the operation is complete, if it fetches.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gasneti_ad_op(
    ad: *const Object<Ad>,
    dt: u32,
    implicit: std::ffi::c_int,
    result: *mut c_void,
    target: u32,
    address: usize,
    op: u32,
    first: u64,
    second: u64,
    flags: u32,
) -> usize {
    let call = call(dt, implicit != 0);
    let state = state::attached(call);
    context::unrestricted(state, call);
    // SAFETY: the caller's promise.
    let ad = unsafe { resolve(call, ad) };
    if dt != ad.dt() {
        let word = ad.domain.word();
        die(&format!(
            "{call}: the domain is one of {word:?} words: call the function that is named after their type"
        ));
    }
    if !op.is_power_of_two() || op & ad.ops() == 0 {
        die(&format!(
            "{call}: {} is not in the domain, which was made for {}: pass one of those, or name it in gex_AD_Create",
            Name(op),
            Name(ad.ops())
        ));
    }
    let rank = target_rank(call, state, ad, target, flags);
    let Some(function) = types::function(op) else {
        die(&format!("{call}: {} is not an atomic operation", Name(op)))
    };
    let operation = ad.domain.operation(function);
    let old: *mut u8 = if types::fetches(op) { result.cast() } else { std::ptr::null_mut() };
    let (width, operands) = (operation.width(), [first, second]);
    let offset = word_offset(call, state, rank, address, width);
    // SAFETY: the caller's promise.
    unsafe {
        let immediate = flags & IMMEDIATE != 0;
        if implicit != 0 {
            let done = state.rank.atomics().start_implicit(rank, offset, operation, operands, old, immediate);
            done.map_or(NOT_DONE, |()| 0)
        } else {
            let event = state.rank.atomics().start(rank, offset, operation, operands, old, immediate);
            event.map_or(NOT_DONE, types::event)
        }
    }
}
