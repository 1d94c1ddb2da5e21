//! Endpoints: made by the client, bound to segments, and told of to other processes; and pairs of them in the
//! place of teams.
//!
//! A client may make endpoints up to number 32, for one-sided transfers, active messages and lists of
//! pieces. The memory that other processes reach through such an endpoint is a [region](gasnet::region) of
//! the core; publishing sends its key. The primordial endpoint's segment is the core's segment, attached or
//! bound. Handlers belong to the process: messages to any of its endpoints run the same handlers.

#![expect(unsafe_code, reason = "exported to C by name; reads and writes the caller's lists")]

use std::ffi::{c_int, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use gasnet::{RankId, RegionKey};

use crate::ex::client::team;
use crate::fatal::die;
use crate::info::{BAD_ARG, OK, RESOURCE, give, refuse};
use crate::objects::{CAPABILITY_ALL, Client, Ep, Object, Segment, Team, Tm, primordial, resolve};
use crate::state::{self, ClientJob, PerWorld};
use crate::{abi, context};

/// `GASNET_MAXEPS`: endpoints of a process.
const MAX_ENDPOINTS: usize = 33;
/// `GEX_EP_CAPABILITY_RMA`, `_AM` and `_VIS`: what endpoints that the client makes can have.
const CAPABILITIES: u32 = 7;
/// `GEX_FLAG_HINT_ACCEL_ALL`.
const HINTS: u32 = 3;
/// `GEX_FLAG_IMMEDIATE`.
const IMMEDIATE: u32 = 1;
/// `GEX_EVENT_INVALID`.
const DONE: usize = 0;

/// How an endpoint of some process is reached.
#[derive(Clone, Copy, Debug)]
pub struct Published {
    /// The key of its segment.
    pub key: RegionKey,
    /// The address of its first byte in the owner's process.
    pub address: usize,
    /// Bytes.
    pub size: usize,
}

/// The endpoints of a world.
struct Endpoints {
    /// Those of other processes, by number and then by rank. The core knows the primordial ones.
    published: [OnceLock<Box<[OnceLock<Published>]>>; MAX_ENDPOINTS],
    /// Those of this process that the client has made, by number.
    own: [AtomicPtr<Object<Ep>>; MAX_ENDPOINTS],
    /// The number of the next one.
    next: AtomicU32,
}

fn endpoints(state: &ClientJob) -> &'static Endpoints {
    static ENDPOINTS: PerWorld<Endpoints> = PerWorld::empty();
    ENDPOINTS.of(state, || Endpoints {
        published: [const { OnceLock::new() }; MAX_ENDPOINTS],
        own: [const { AtomicPtr::new(std::ptr::null_mut()) }; MAX_ENDPOINTS],
        next: AtomicU32::new(1),
    })
}

/// An endpoint of this process.
fn own(index: u16) -> Option<&'static Ep> {
    // ORDER: Acquire; pairs with Release in gex_EP_Create.
    let state = state::state("endpoint");
    let made = endpoints(state).own.get(usize::from(index))?.load(Ordering::Acquire);
    let object = if index == 0 { std::ptr::from_ref(primordial("endpoint").ep) } else { made.cast_const() };
    // SAFETY: endpoints live for ever.
    unsafe { object.as_ref().map(|object| object.get()) }
}

/// The segment that an endpoint of this process is bound to.
fn bound_here(ep: &Ep) -> Option<&'static Segment> {
    // ORDER: Acquire; pairs with Release where a segment is bound.
    let segment = ep.segment.load(Ordering::Acquire);
    // SAFETY: a segment that is bound cannot be destroyed.
    unsafe { segment.as_ref().map(|segment| segment.get()) }
}

/// Where an address of another endpoint is: for every call that names a team, or a pair, and a rank.
#[derive(Clone, Copy, Debug)]
pub enum RemoteAddress {
    /// In a rank's segment, at this offset. Whether it is inside is for the core to say.
    Segment(RankId, u64),
    /// In a region, at this offset.
    Region(RegionKey, u64),
}

/// Where `address` of an endpoint is, or the end of the job with a message.
///
/// # Safety
/// As [`Tm::jobrank`].
#[inline]
pub unsafe fn locate(state: &ClientJob, call: &str, tm: &Tm, rank: u32, address: usize) -> RemoteAddress {
    // SAFETY: the caller's promise.
    let jobrank = unsafe { tm.jobrank(call, rank) };
    match *tm {
        Tm::Pair { local, remote } if remote != 0 || local != 0 => {
            locate_pair(state, call, local, remote, jobrank, address)
        }
        _ => in_segment(state, jobrank, address),
    }
}

#[inline]
fn in_segment(state: &ClientJob, jobrank: u32, address: usize) -> RemoteAddress {
    let base = state.rank.segment_of(RankId(jobrank)).map_or(0, |entry| entry.addr);
    RemoteAddress::Segment(RankId(jobrank), address.wrapping_sub(base) as u64)
}

fn locate_pair(
    state: &ClientJob,
    call: &str,
    local: u16,
    remote: u16,
    jobrank: u32,
    address: usize,
) -> RemoteAddress {
    if state.check && own(local).is_none() {
        die(&format!("{call}: the pair's local endpoint {local} does not exist: make it with gex_EP_Create"));
    }
    if remote == 0 {
        return in_segment(state, jobrank, address);
    }
    match published(jobrank, remote) {
        Some(found) => RemoteAddress::Region(found.key, address.wrapping_sub(found.address) as u64),
        None => unknown(call, jobrank, remote),
    }
}

/// The region of a rank that holds `len` bytes at an address which its primordial endpoint's segment does
/// not, and the region's first address. A reply goes to the endpoint that asked, of which its message says
/// nothing: the address does.
pub fn other_region(
    state: &ClientJob,
    jobrank: u32,
    address: usize,
    len: usize,
) -> Option<(RegionKey, usize)> {
    let holds = |base: usize, size: usize| address >= base && len <= size && address - base <= size - len;
    let primordial = state.rank.segment_of(RankId(jobrank)).is_some_and(|e| holds(e.addr, e.size));
    if len == 0 || primordial {
        return None;
    }
    let found = others(jobrank).find(|found| holds(found.address, found.size));
    found.map(|found| (found.key, found.address))
}

/// Whether a rank has endpoints beside the primordial one that are known here.
pub fn has_others(jobrank: u32) -> bool {
    others(jobrank).next().is_some()
}

fn others(jobrank: u32) -> impl Iterator<Item = Published> {
    (1..MAX_ENDPOINTS as u16).filter_map(move |index| published(jobrank, index))
}

#[cold]
fn unknown(call: &str, jobrank: u32, index: u16) -> ! {
    die(&format!(
        "{call}: endpoint {index} of rank {jobrank} has no segment that this process knows of: bind one with gex_EP_BindSegment and \
         publish it with gex_EP_PublishBoundSegment"
    ))
}

/// The published data of an endpoint that is not the primordial one, if this process has them.
fn published(jobrank: u32, index: u16) -> Option<Published> {
    if jobrank == abi::rank() {
        let segment = bound_here(own(index)?)?;
        let key = segment.region.as_ref()?.key();
        return Some(Published { key, address: segment.address, size: segment.size });
    }
    let state = state::state("endpoint");
    endpoints(state).published.get(usize::from(index))?.get()?.get(jobrank as usize)?.get().copied()
}

/// Makes an endpoint.
///
/// # Safety
/// `ep` is writable; `client` names a client.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gex_EP_Create(
    ep: *mut *const Object<Ep>,
    client: *const Object<Client>,
    capabilities: u32,
    flags: u32,
) -> c_int {
    const CALL: &str = "gex_EP_Create";
    let state = state::state(CALL);
    context::unrestricted(state, CALL);
    // SAFETY: the caller's promise.
    let _ = unsafe { resolve(CALL, client) };
    if ep.is_null() {
        return refuse(BAD_ARG, CALL, "the place for the endpoint is a null pointer");
    }
    if capabilities == 0 || capabilities & !CAPABILITY_ALL != 0 {
        return refuse(BAD_ARG, CALL, &format!("invalid capabilities {capabilities:#x}"));
    }
    if capabilities & !CAPABILITIES != 0 {
        let why = "endpoints that are made can have GEX_EP_CAPABILITY_RMA, _AM and _VIS: collectives and atomic domains go by teams, which \
                   have primordial endpoints";
        return refuse(BAD_ARG, CALL, why);
    }
    if flags & !HINTS != 0 {
        return refuse(BAD_ARG, CALL, &format!("invalid flags {flags:#x}"));
    }
    let fresh = |n: u32| ((n as usize) < MAX_ENDPOINTS).then_some(n + 1);
    let Ok(index) = endpoints(state).next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fresh) else {
        let why = format!("there are {MAX_ENDPOINTS} endpoints already (GASNET_MAXEPS)");
        return refuse(RESOURCE, CALL, &why);
    };
    let made = Object::make(Ep { index: index as u16, capabilities, flags, segment: AtomicPtr::default() });
    // ORDER: Release; pairs with Acquire in `own`.
    endpoints(state).own[index as usize].store(made.handle().cast_mut(), Ordering::Release);
    // SAFETY: the caller's promise.
    unsafe { ep.write(made) };
    OK
}

/// Binds an endpoint of this process to a segment, once.
///
/// # Safety
/// `ep` and `segment` name an endpoint and a segment, or are invalid handles.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gex_EP_BindSegment(
    ep: *const Object<Ep>,
    segment: *const Object<Segment>,
    flags: u32,
) -> c_int {
    const CALL: &str = "gex_EP_BindSegment";
    let state = state::state(CALL);
    context::unrestricted(state, CALL);
    if ep.is_null() {
        return refuse(BAD_ARG, CALL, "the endpoint is GEX_EP_INVALID");
    }
    if segment.is_null() {
        return refuse(BAD_ARG, CALL, "the segment is GEX_SEGMENT_INVALID");
    }
    if flags != 0 {
        return refuse(BAD_ARG, CALL, &format!("the flags are {flags:#x}; this call has none"));
    }
    // SAFETY: the caller's promise.
    let (ep, what) = unsafe { (resolve(CALL, ep), resolve(CALL, segment)) };
    let twice = || refuse(BAD_ARG, CALL, &format!("endpoint {} is bound to a segment already", ep.index));
    if bound_here(ep).is_some() {
        return twice();
    }
    if ep.index == 0 {
        if state.everything {
            return refuse(
                BAD_ARG,
                CALL,
                "in an EVERYTHING program all of memory is the primordial endpoint's segment",
            );
        }
        // SAFETY: the client promises that the memory of a segment stays as long as the segment, and one that
        // is bound cannot be destroyed.
        if let Err(why) = unsafe { state.rank.segments().bind(what.address as *mut u8, what.size) } {
            return refuse(BAD_ARG, CALL, &why.to_string());
        }
        state.attached.store(true, Ordering::Relaxed);
    }
    what.bound.fetch_add(1, Ordering::Relaxed);
    // ORDER: Release; pairs with Acquire in `bound_here`.
    let null = std::ptr::null_mut();
    if ep.segment.compare_exchange(null, segment.cast_mut(), Ordering::Release, Ordering::Relaxed).is_err() {
        what.bound.fetch_sub(1, Ordering::Relaxed);
        return twice();
    }
    OK
}

/// The data that a process publishes about an endpoint beside its key: number, address of the first byte,
/// length in bytes.
type Record = [u64; 3];

/// Tells the processes of a team of the segments that endpoints of this one are bound to. Endpoints without
/// one are passed over.
///
/// # Safety
/// `tm` names a team; `eps` has `n` entries, each an endpoint of this process.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gex_EP_PublishBoundSegment(
    tm: *const Object<Team>,
    eps: *const *const Object<Ep>,
    n: usize,
    flags: u32,
) -> c_int {
    const CALL: &str = "gex_EP_PublishBoundSegment";
    let state = state::state(CALL);
    context::unrestricted(state, CALL);
    // SAFETY: the caller's promise.
    let team = &unsafe { team(CALL, tm) }.team;
    if flags != 0 || (n > 0 && eps.is_null()) {
        // The others wait for this one.
        die(&format!("{CALL}: the flags are not 0, or the list of endpoints is a null pointer"));
    }
    let (mut mine, mut keys) = (Vec::<Record>::new(), Vec::new());
    for i in 0..n {
        // SAFETY: the caller's promise.
        let ep = unsafe { resolve(CALL, *eps.add(i)) };
        // All ranks know an attached segment.
        if let Some((segment, region)) =
            bound_here(ep).and_then(|segment| Some((segment, segment.region.as_ref()?)))
        {
            mine.push([u64::from(ep.index), segment.address as u64, segment.size as u64]);
            keys.push(region.key());
        }
    }
    let counts = team.gather_all(&[mine.len() as u64]);
    let most = counts.iter().copied().max().unwrap_or(0) as usize;
    if most > 0 {
        mine.resize(most, [0; 3]);
        keys.resize(most, RegionKey::NONE);
        let (all, keys) = (team.gather_all(&mine), team.gather_all(&keys));
        for (member, len) in counts.into_iter().enumerate() {
            let Some(rank) = team.rank_of(member).filter(|rank| *rank != state.rank.id()) else { continue };
            let its = member * most..member * most + len as usize;
            for (record, key) in all[its.clone()].iter().zip(&keys[its]) {
                if let Err(why) = learn(state, rank, record, *key) {
                    die(&format!("{CALL}: {why}"));
                }
            }
        }
        // A handler that a member's message runs may reply to its segment: all know of it before anybody goes
        // on.
        team.barrier();
    }
    OK
}

/// Records what a rank has published of one of its endpoints.
fn learn(state: &ClientJob, rank: RankId, record: &Record, key: RegionKey) -> Result<(), String> {
    let [index, address, size] = record.map(|word| word as usize);
    if index == 0 {
        state.rank.segments().learn(rank, address, size).map_err(|why| why.to_string())?;
        state.attached.store(true, Ordering::Relaxed);
        return Ok(());
    }
    let known = endpoints(state)
        .published
        .get(index)
        .ok_or_else(|| format!("rank {rank} told of endpoint {index}, which there is not"))?;
    let ranks = known.get_or_init(|| (0..abi::size()).map(|_| OnceLock::new()).collect());
    if let Some(at) = ranks.get(rank.0 as usize) {
        at.get_or_init(|| Published { key, address, size });
    }
    Ok(())
}

/// First byte where the owner sees it, first byte here or null, and bytes of the segment that an endpoint is
/// bound to.
type Bound = (usize, *mut u8, usize);

/// # Safety
/// `tm` names a team or a pair.
unsafe fn query(call: &str, tm: *const Object<Team>, rank: u32) -> Option<Bound> {
    let state = state::state(call);
    // SAFETY: the caller's promise.
    let (tm, jobrank) = unsafe {
        let tm = Tm::of(call, tm);
        let jobrank = tm.jobrank(call, rank);
        (tm, jobrank)
    };
    match tm {
        Tm::Pair { remote, .. } if remote != 0 => {
            let found = published(jobrank, remote)?;
            let here = if jobrank == abi::rank() { found.address as *mut u8 } else { std::ptr::null_mut() };
            Some((found.address, here, found.size))
        }
        _ => {
            let entry = state.segment_of(RankId(jobrank)).filter(|entry| entry.size > 0)?;
            Some((entry.addr, entry.local, entry.size))
        }
    }
}

/// # Safety
/// Each pointer is null or writable.
unsafe fn tell(found: Bound, owner: *mut *mut c_void, local: *mut *mut c_void, size: *mut usize) {
    // SAFETY: the caller's promise.
    unsafe {
        give(owner, found.0 as *mut c_void);
        give(local, found.1.cast());
        give(size, found.2);
    }
}

/// Says where the segment of an endpoint is; of size 0 if none is known. Nothing has to be asked of others,
/// so it is done when it returns, and may be called by handlers.
///
/// # Safety
/// `tm` names a team or a pair; each pointer is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gex_EP_QueryBoundSegmentNB(
    tm: *const Object<Team>,
    rank: u32,
    owner: *mut *mut c_void,
    local: *mut *mut c_void,
    size: *mut usize,
    flags: u32,
) -> usize {
    const CALL: &str = "gex_EP_QueryBoundSegmentNB";
    if flags & IMMEDIATE == 0 {
        context::unrestricted(state::state(CALL), CALL);
    }
    // SAFETY: the caller's promise.
    unsafe {
        match query(CALL, tm, rank) {
            Some(found) => tell(found, owner, local, size),
            None => give(size, 0),
        }
    }
    DONE
}

/// Says where the segment of an endpoint is; not 0, and nothing is written, if none is known.
///
/// # Safety
/// As [`gex_EP_QueryBoundSegmentNB`].
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gex_Segment_QueryBound(
    tm: *const Object<Team>,
    rank: u32,
    owner: *mut *mut c_void,
    local: *mut *mut c_void,
    size: *mut usize,
) -> c_int {
    const CALL: &str = "gex_Segment_QueryBound";
    context::unrestricted(state::state(CALL), CALL);
    // SAFETY: the caller's promise.
    unsafe {
        match query(CALL, tm, rank) {
            Some(found) => {
                tell(found, owner, local, size);
                0
            }
            None => 1,
        }
    }
}

/// The pair of an endpoint of this process and one of another, in the place of a team; ranks are those of the
/// job then.
///
/// # Safety
/// `ep` names an endpoint.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gex_TM_Pair(ep: *const Object<Ep>, remote: u16) -> *const Object<Team> {
    const CALL: &str = "gex_TM_Pair";
    // SAFETY: the caller's promise.
    let local = unsafe { resolve(CALL, ep) }.index;
    if usize::from(remote) >= MAX_ENDPOINTS {
        die(&format!("{CALL}: there is no endpoint {remote}: the last is {}", MAX_ENDPOINTS - 1));
    }
    Tm::pair(local, remote)
}
