//! Teams: made by splitting one or of lists of endpoints, given up, and asked who is in them.
//!
//! **Scratch memory.** Collectives here need none. The memory that a client lends to a team is checked under
//! `GASNET_CHECK=1`, kept in mind, and given back when the team is destroyed.

#![expect(unsafe_code, reason = "exported to C by name; reads and writes the caller's lists")]

use std::ffi::{c_int, c_void};

use gasnet::{RankId, SegmentEntry};

use crate::context;
use crate::ex::client::team;
use crate::fatal::die;
use crate::objects::{Object, Team, Tm, primordial};
use crate::state::{self, ClientJob};

const SCRATCH_SIZE_MIN: u32 = 1;
const SCRATCH_SIZE_RECOMMENDED: u32 = 1 << 1;
const GLOBAL_SCRATCH: u32 = 1 << 2;
const LOCAL_SCRATCH: u32 = 1 << 3;
const SYMMETRIC_SCRATCH: u32 = 1 << 4;
const NO_SCRATCH: u32 = 1 << 5;
const SCRATCH_SEG_OFFSET: u32 = 1 << 6;
const RANK_IS_JOBRANK: u32 = 1 << 13;
const GLOBALLY_QUIESCED: u32 = 1 << 13;

/// The answer to a client that asks how much scratch memory to lend, in bytes: a cache line. The answer must
/// not be 0, and must be the same on all ranks.
const RECOMMENDED_BYTES: usize = 64;

/// `gex_EP_Location_t`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Location {
    /// A rank.
    pub rank: u32,
    /// The number of one of its endpoints.
    pub endpoint: u16,
}

/// `gex_Memvec_t`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Memvec {
    /// First byte.
    pub address: *mut c_void,
    /// Bytes.
    pub len: usize,
}

/// Scratch memory that a client lends: address and bytes.
type Scratch = Option<(usize, usize)>;

/// Ends the job if scratch memory that a client lends cannot be used.
fn check_scratch(state: &ClientJob, call: &str, scratch: Scratch) {
    let Some((address, len)) = scratch else { return };
    if len == 0 {
        die(&format!(
            "{call}: scratch memory of 0 bytes: ask for its size with GEX_FLAG_TM_SCRATCH_SIZE_RECOMMENDED, or pass \
             GEX_FLAG_TM_NO_SCRATCH"
        ));
    }
    if !state.check {
        return;
    }
    let bound = state.segment_of(state.rank.id());
    let inside = |e: SegmentEntry| address >= e.addr && len <= e.size && address - e.addr <= e.size - len;
    if !bound.is_some_and(inside) {
        die(&format!(
            "{call}: scratch memory of {len} bytes at {address:#x} is not in the segment of this endpoint"
        ));
    }
}

/// Makes the object of a new team, and writes its handle.
///
/// # Safety
/// `new` is writable.
unsafe fn give(new: *mut *const Object<Team>, made: gasnet::Team, flags: u32, scratch: Scratch) {
    let ranks = (0..made.size()).map(|member| made.rank_of(member).map_or(u32::MAX, |rank| rank.0));
    let object = Object::make(Team {
        rank: made.me() as u32,
        size: made.size() as u32,
        members: Some(ranks.collect()),
        flags,
        scratch,
        team: made,
    });
    // SAFETY: the caller's promise.
    unsafe { new.write(object) };
}

/// Makes teams of the members of `parent` that give the same color, ordered by key and then by rank; or says
/// how much scratch memory they would like.
///
/// # Safety
/// `new` is null or writable; `parent` names a team; the scratch memory stays with the team until it is
/// destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gex_TM_Split(
    new: *mut *const Object<Team>,
    parent: *const Object<Team>,
    color: c_int,
    key: c_int,
    scratch: *mut c_void,
    scratch_size: usize,
    flags: u32,
) -> usize {
    const CALL: &str = "gex_TM_Split";
    let state = state::state(CALL);
    context::unrestricted(state, CALL);
    // SAFETY: the caller's promise.
    let parent = unsafe { team(CALL, parent) };
    if flags & (SCRATCH_SIZE_MIN | SCRATCH_SIZE_RECOMMENDED) != 0 {
        return if new.is_null() { 0 } else { RECOMMENDED_BYTES };
    }
    if new.is_null() {
        parent.team.split(None, 0);
        return 0;
    }
    let Ok(color) = u32::try_from(color) else {
        die(&format!(
            "{CALL}: the color is {color}: colors are not negative; a rank that joins no new team passes a null pointer"
        ));
    };
    let scratch = (flags & NO_SCRATCH == 0).then_some((scratch as usize, scratch_size));
    check_scratch(state, CALL, scratch);
    // Keys in the order of signed numbers.
    if let Some(made) = parent.team.split(Some(color), key as u32 ^ 1 << 31) {
        // SAFETY: the caller's promise.
        unsafe { give(new, made, flags, scratch) };
    }
    RECOMMENDED_BYTES
}

/// Makes a team of a list of endpoints, in that order; or says how much scratch memory it would like. Members
/// give the same list, and who is in no new team gives none.
///
/// # Safety
/// `new` has `num_new` entries, `args` `numargs`, `scratch` as many as the flags say; `parent` names a team;
/// the scratch memory stays with the team until it is destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gex_TM_Create(
    new: *mut *const Object<Team>,
    num_new: usize,
    parent: *const Object<Team>,
    args: *const Location,
    numargs: usize,
    scratch: *const *mut c_void,
    scratch_size: usize,
    flags: u32,
) -> usize {
    const CALL: &str = "gex_TM_Create";
    let state = state::state(CALL);
    context::unrestricted(state, CALL);
    // SAFETY: the caller's promise.
    let parent = unsafe { team(CALL, parent) };
    if flags & (SCRATCH_SIZE_MIN | SCRATCH_SIZE_RECOMMENDED) != 0 {
        return if numargs == 0 { 0 } else { RECOMMENDED_BYTES };
    }
    if numargs == 0 {
        parent.team.create(&[]);
        return 0;
    }
    let ranks = state.rank.size() as usize;
    if numargs > ranks {
        die(&format!("{CALL}: a team of {numargs} endpoints, and the job has {ranks} ranks with one each"));
    }
    // SAFETY: the caller's promise.
    let args = unsafe { std::slice::from_raw_parts(args, numargs) };
    let rank = |location: &Location| {
        if location.endpoint != 0 {
            die(&format!(
                "{CALL}: endpoint {} of rank {}: only primordial endpoints (index 0) can be in a team",
                location.endpoint, location.rank
            ));
        }
        if flags & RANK_IS_JOBRANK != 0 {
            return RankId(location.rank);
        }
        parent.team.rank_of(location.rank as usize).unwrap_or_else(|| {
            die(&format!(
                "{CALL}: there is no rank {} in the parent team, which has {}",
                location.rank, parent.size
            ))
        })
    };
    let ranks: Vec<RankId> = args.iter().map(rank).collect();
    let own = ranks.iter().position(|rank| *rank == state.rank.id());
    if num_new != usize::from(own.is_some()) {
        die(&format!(
            "{CALL}: num_new_tms is {num_new}, but {} of the endpoints in the list are of this process",
            usize::from(own.is_some())
        ));
    }
    let Some(own) = own else {
        parent.team.create(&[]);
        return 0;
    };
    let lent = match flags & (GLOBAL_SCRATCH | LOCAL_SCRATCH | SYMMETRIC_SCRATCH | NO_SCRATCH) {
        NO_SCRATCH => None,
        LOCAL_SCRATCH | SYMMETRIC_SCRATCH => Some(0),
        GLOBAL_SCRATCH => Some(own),
        _ => die(&format!("{CALL}: pass exactly one of GEX_FLAG_TM_{{SYMMETRIC,LOCAL,GLOBAL,NO}}_SCRATCH")),
    };
    let scratch = lent.map(|at| {
        if scratch.is_null() {
            die(&format!("{CALL}: the list of scratch addresses is a null pointer"));
        }
        // SAFETY: the caller's promise.
        let mut address = unsafe { *scratch.add(at) } as usize;
        if flags & SCRATCH_SEG_OFFSET != 0 {
            let own = state.segment_of(state.rank.id());
            address = address.wrapping_add(own.map_or(0, |own| own.addr));
        }
        (address, scratch_size)
    });
    check_scratch(state, CALL, scratch);
    if let Some(made) = parent.team.create(&ranks) {
        // SAFETY: the caller's promise.
        unsafe { give(new, made, flags, scratch) };
    }
    RECOMMENDED_BYTES
}

/// Destroys a team, and gives its scratch memory back to the client. Returns 1 if there was any and `scratch`
/// has its address and length now, else 0.
///
/// # Safety
/// `tm` names a team that nobody uses any more; `scratch` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gex_TM_Destroy(
    tm: *const Object<Team>,
    scratch: *mut Memvec,
    flags: u32,
) -> c_int {
    const CALL: &str = "gex_TM_Destroy";
    let state = state::state(CALL);
    context::unrestricted(state, CALL);
    // SAFETY: the caller's promise.
    let object = match unsafe { Tm::of(CALL, tm) } {
        Tm::Team(object) => object,
        Tm::Pair { .. } => {
            die(&format!("{CALL}: a pair of endpoints (gex_TM_Pair) is not a team: it need not be destroyed"))
        }
    };
    if std::ptr::eq(object, primordial(CALL).team) {
        die(&format!("{CALL}: the primordial team cannot be destroyed"));
    }
    if flags & GLOBALLY_QUIESCED == 0 {
        // SAFETY: it lives, as the caller promises.
        unsafe { object.get() }.team.barrier();
    }
    // SAFETY: the caller's promise.
    let was = unsafe { object.destroy(CALL) };
    let Some((address, len)) = was.scratch.filter(|_| !scratch.is_null()) else { return 0 };
    // SAFETY: the caller's promise.
    unsafe { scratch.write(Memvec { address: address as *mut c_void, len }) };
    1
}

/// The rank in the job of a rank of a team.
///
/// # Safety
/// `tm` names a team.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gex_TM_TranslateRankToJobrank(tm: *const Object<Team>, rank: u32) -> u32 {
    const CALL: &str = "gex_TM_TranslateRankToJobrank";
    context::unrestricted(state::state(CALL), CALL);
    // SAFETY: the caller's promise.
    unsafe {
        team(CALL, tm);
        Tm::of(CALL, tm).jobrank(CALL, rank)
    }
}

/// The rank in a team of a rank of the job; `GEX_RANK_INVALID` if it is not in the team.
///
/// # Safety
/// `tm` names a team.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gex_TM_TranslateJobrankToRank(tm: *const Object<Team>, jobrank: u32) -> u32 {
    const CALL: &str = "gex_TM_TranslateJobrankToRank";
    context::unrestricted(state::state(CALL), CALL);
    // SAFETY: the caller's promise.
    let member = unsafe { team(CALL, tm) }.team.member(RankId(jobrank));
    member.map_or(u32::MAX, |member| member as u32)
}

/// The endpoint of a rank of a team.
///
/// # Safety
/// `tm` names a team.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gex_TM_TranslateRankToEP(
    tm: *const Object<Team>,
    rank: u32,
    _flags: u32,
) -> Location {
    const CALL: &str = "gex_TM_TranslateRankToEP";
    context::unrestricted(state::state(CALL), CALL);
    // SAFETY: the caller's promise.
    unsafe {
        team(CALL, tm);
        Location { rank: Tm::of(CALL, tm).jobrank(CALL, rank), endpoint: 0 }
    }
}
