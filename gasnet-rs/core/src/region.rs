//! Regions: memory of a rank that others may reach as long as it is exported.
//!
//! A *region* is any range of bytes of one rank: a part of its segment, a vector, memory of its program.
//! Exporting it makes a [`RegionKey`], plain data that may be sent anywhere. Whoever has the key may put, get
//! and operate atomically within the range, in the modes it was exported with, from any rank. Revoking the
//! region (dropping its guard) ends that: when it returns, nobody touches the memory any more, and no copy of
//! the key works again.
//!
//! ```text
//! Free --export--> Live --revoke--> Ending --last access over--> Free, next generation
//!                   |  ^ first access with the key of a ONCE region: Used
//! ```
//!
//! **Checks.** The rank that owns the memory checks every access when it arrives ([`Regions::access`]): slot,
//! generation, secret, modes, range. A key is a weak capability: it stops accidents and accesses that come
//! too late, not somebody who reads the wire.
//!
//! **Transport.** Accesses from other ranks are active messages, over shared memory as over a network
//! ([`ops`]); long messages may be aimed at a region as well ([`long`]). A conduit whose NICs reach memory of
//! programs carries out puts and gets itself ([`served`]): the same table checks them, in the same way, on
//! whatever thread runs the NIC. **Order**: none between operations.
//!
//! **Which path.** The owner decides when it exports: a mark in the key says that its NIC can reach the
//! memory. That is memory which the runtime keeps until the region is revoked ([`RegionCalls::export_vec`],
//! [`RegionCalls::export_pages`]), and memory that the program answers for ([`RegionCalls::export_raw`])
//! where the conduit hears of it if it is unmapped all the same. Own segments have a faster path already.
//! Atomic operations are messages always: the instructions of the owner's processor decide.
#![expect(unsafe_code, reason = "exports and frees memory that others read and write")]

mod gate;
mod long;
pub(crate) mod ops;
mod refusal;
mod served;
pub(crate) mod shapes;
pub mod watch;

pub use gasnet_wire::RegionError;
pub use ops::RegionOp;

use crate::{Rank, RankId};
use core::mem::ManuallyDrop;
use gasnet_sys::mutex::lock;
use gasnet_wire::prim::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
use gasnet_wire::segment::{GlobalPtr, Shared};
use gasnet_wire::slots::{Slot, Slots};
use std::alloc::{self, Layout};
use std::collections::HashMap;
use std::sync::Mutex;

/// The kinds of access that a region permits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Modes(u32);

impl Modes {
    /// Others may get.
    pub const READ: Modes = Modes(1);
    /// Others may put.
    pub const WRITE: Modes = Modes(2);
    /// Others may operate atomically.
    pub const ATOMIC: Modes = Modes(4);
    /// The first access that is allowed is the only one. It is of one message at most
    /// ([`gasnet_wire::am::MAX_MEDIUM`] bytes).
    pub const ONCE: Modes = Modes(8);
    /// Reading, writing and atomic operations, any number of times.
    pub const ALL: Modes = Modes(7);

    /// Whether all of `other` is among these.
    pub fn has(self, other: Modes) -> bool {
        self.0 & other.0 == other.0
    }
}

impl core::ops::BitOr for Modes {
    type Output = Modes;
    fn bitor(self, other: Modes) -> Modes {
        Modes(self.0 | other.0)
    }
}

/// In the modes of a key and an entry: the owner's NIC can access the memory.
const SERVED: u32 = 1 << 31;
/// The same: the program may unmap it, against its word. Only together with [`SERVED`].
const LOOSE: u32 = 1 << 30;
const MARKS: u32 = SERVED | LOOSE;

/// Names a region: whoever has it may access the region from any rank. It is plain data and may be sent and
/// stored.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct RegionKey {
    rank: u32,
    slot: u32,
    generation: u32,
    modes: u32,
    len: u64,
    secret: u64,
}

// SAFETY: six integers without padding; any bytes are a key, if hardly one that works.
unsafe impl bytemuck::Zeroable for RegionKey {}
// SAFETY: as above.
unsafe impl bytemuck::Pod for RegionKey {}

/// Without the secret: what is logged is read by others.
impl core::fmt::Debug for RegionKey {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let RegionKey { rank, slot, generation, len, .. } = self;
        write!(f, "RegionKey({slot}.{generation} of rank {rank}, {len} bytes, {:?})", self.modes())
    }
}

impl RegionKey {
    /// The key of no region.
    pub const NONE: RegionKey =
        RegionKey { rank: u32::MAX, slot: u32::MAX, generation: 0, modes: 0, len: 0, secret: 0 };

    /// Whose memory it is.
    pub fn rank(&self) -> RankId {
        RankId(self.rank)
    }

    /// Bytes of the region.
    #[expect(clippy::len_without_is_empty, reason = "the length of what it names")]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// The kinds of access that the region permits.
    pub fn modes(&self) -> Modes {
        Modes(self.modes & !MARKS)
    }

    /// Whether puts and gets need nothing of the owner's program: its NIC carries them out. Elsewhere the
    /// owner has to poll.
    pub fn is_one_sided(&self) -> bool {
        self.modes & SERVED != 0
    }

    /// The words that an access carries: the owner looks up the rest.
    fn grant(&self) -> Grant {
        let secret = sealed(self.secret, self.generation, self.len, Modes(self.modes));
        Grant { slot: self.slot, generation: self.generation, secret }
    }

    /// Refuses an access if the key alone shows that the owner would.
    fn check(&self, modes: Modes, at: u64, len: usize) -> Result<(), RegionError> {
        if !self.modes().has(modes) {
            return Err(RegionError::Access);
        }
        in_range(self.len, at, len, self.modes())
    }
}

/// The secret of a key together with its generation, length and modes: a key in which one of them was changed
/// does not work at all.
fn sealed(secret: u64, generation: u32, len: u64, modes: Modes) -> u64 {
    // Odd numbers: another length gives another product, and so do other modes and generations.
    secret
        ^ len.wrapping_mul(0x9e37_79b9_7f4a_7c15)
        ^ u64::from(modes.0).wrapping_mul(0xd6e8_feb8_6659_fd93)
        ^ u64::from(generation).wrapping_mul(0xc2b2_ae3d_27d4_eb4f)
}

/// The part of a key that its owner needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Grant {
    slot: u32,
    generation: u32,
    secret: u64,
}

/// A region as tripwires name it.
fn region_number(slot: u32, generation: u32) -> u64 {
    u64::from(slot) << 32 | u64::from(generation)
}

fn in_range(region: u64, at: u64, len: usize, modes: Modes) -> Result<(), RegionError> {
    let fits = len as u64 <= region && at <= region - len as u64;
    let one_message = !modes.has(Modes::ONCE) || len <= gasnet_wire::am::MAX_MEDIUM;
    if fits && one_message { Ok(()) } else { Err(RegionError::Range) }
}

/// The bits of a slot's word below the generation: its phase, then the accesses under way.
const PHASE: u64 = 3 << 30;
const FREE: u64 = 0;
const LIVE: u64 = 1 << 30;
const USED: u64 = 2 << 30;
const ENDING: u64 = 3 << 30;
const UNDER_WAY: u64 = LIVE - 1;

/// A region, or room for one.
#[derive(Debug)]
struct Entry {
    /// High half: generation. Below: phase, accesses under way.
    word: AtomicU64,
    base: AtomicPtr<u8>,
    len: AtomicU64,
    modes: AtomicU32,
    secret: AtomicU64,
    next: AtomicU32,
}

impl Slot for Entry {
    fn new() -> Entry {
        Entry {
            word: AtomicU64::new(FREE),
            base: AtomicPtr::new(core::ptr::null_mut()),
            len: AtomicU64::new(0),
            modes: AtomicU32::new(0),
            secret: AtomicU64::new(0),
            next: AtomicU32::new(0),
        }
    }
    fn next(&self) -> &AtomicU32 {
        &self.next
    }
}

impl Entry {
    /// Opens a free entry; its generation.
    fn open(&self, base: *mut u8, len: usize, modes: Modes, secret: u64) -> u32 {
        self.base.store(base, Ordering::Relaxed);
        self.len.store(len as u64, Ordering::Relaxed);
        self.modes.store(modes.0, Ordering::Relaxed);
        // Relaxed: nobody else changes the word of a free entry.
        let generation = self.word.load(Ordering::Relaxed) >> 32;
        self.secret.store(sealed(secret, generation as u32, len as u64, modes), Ordering::Relaxed);
        // ORDER: Release; pairs with Acquire in begin: what the entry says.
        self.word.store(generation << 32 | LIVE, Ordering::Release);
        generation as u32
    }

    /// Counts an access: the entry and its memory stay until [`Entry::end`].
    fn begin(&self, generation: u32) -> Result<(), RegionError> {
        let mut word = self.word.load(Ordering::Relaxed);
        loop {
            let open = matches!(word & PHASE, LIVE | USED);
            if (word >> 32) as u32 != generation || !open || word & UNDER_WAY == UNDER_WAY {
                return Err(RegionError::Revoked);
            }
            // ORDER: Acquire; pairs with Release in open.
            match self.word.compare_exchange(word, word + 1, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return Ok(()),
                Err(now) => word = now,
            }
        }
    }

    fn end(&self) {
        // ORDER: Release; pairs with Acquire in is_quiet: the access comes before what the owner does with
        // the memory.
        self.word.fetch_sub(1, Ordering::Release);
    }

    /// Takes the one access of a ONCE region.
    fn take(&self) -> Result<(), RegionError> {
        let once = |word: u64| (word & PHASE == LIVE).then_some(word & !PHASE | USED);
        // Relaxed: one of those who access gets it, and nothing is handed on.
        match self.word.fetch_update(Ordering::Relaxed, Ordering::Relaxed, once) {
            Ok(_) => Ok(()),
            Err(word) if word & PHASE == USED => Err(RegionError::Used),
            Err(_) => Err(RegionError::Revoked),
        }
    }

    /// Lets no further access begin.
    fn close(&self) {
        // Relaxed: accesses end with Release.
        self.word.fetch_or(ENDING, Ordering::Relaxed);
    }

    /// Whether a closed entry has no access under way.
    fn is_quiet(&self) -> bool {
        // ORDER: Acquire; pairs with Release in end.
        self.word.load(Ordering::Acquire) & UNDER_WAY == 0
    }

    /// Makes a closed, quiet entry free.
    fn free(&self) {
        // Relaxed: nobody else changes it; giving the entry back hands it on.
        let generation = (self.word.load(Ordering::Relaxed) >> 32).wrapping_add(1);
        self.word.store(generation << 32 | FREE, Ordering::Relaxed);
    }
}

/// The regions of a rank.
pub(crate) struct Regions {
    entries: Slots<Entry>,
    /// Key and note of each published name.
    names: Mutex<HashMap<u64, (RegionKey, u64)>>,
    gate: gate::Gate,
    wires: watch::Wires,
    /// This process, for the system.
    process: gasnet_sys::process::Pid,
    /// Whether this rank has ever had operations on regions of others under way, or a segment that its
    /// neighbours do not map.
    reached_far: AtomicU32,
    longs: long::Longs,
}

/// An access under way: the memory stays until it is dropped.
struct Access<'a> {
    regions: &'a Regions,
    entry: &'a Entry,
    at: *mut u8,
    /// The access that tripwires are told of at the end: region, first byte, bytes, modes.
    touch: Option<(u64, u64, usize, Modes)>,
}

impl Drop for Access<'_> {
    fn drop(&mut self) {
        if let Some((region, at, len, modes)) = self.touch {
            self.regions.wires.touched(region, at, len, modes);
        }
        self.entry.end();
    }
}

impl Regions {
    pub(crate) fn new() -> Regions {
        Regions {
            entries: Slots::new(20),
            names: Mutex::default(),
            gate: gate::Gate::new(),
            wires: watch::Wires::new(),
            process: std::process::id() as gasnet_sys::process::Pid,
            reached_far: AtomicU32::new(0),
            longs: long::Longs::default(),
        }
    }

    /// From now on operations may be outstanding even if all segments that were attached are mapped here.
    pub(crate) fn reaches_far(&self) {
        // Relaxed: of the thread that starts an operation; whoever else waits for it was told of it.
        self.reached_far.store(1, Ordering::Relaxed);
    }

    /// Whether [`Regions::reaches_far`] was called.
    #[inline]
    pub(crate) fn has_reached_far(&self) -> bool {
        self.reached_far.load(Ordering::Relaxed) != 0
    }

    /// Begins an access to `[at, at + len)` of a region, if it may be made now.
    fn access(&self, grant: Grant, modes: Modes, at: u64, len: usize) -> Result<Access<'_>, RegionError> {
        let entry = self.entries.get(grant.slot).ok_or(RegionError::Revoked)?;
        entry.begin(grant.generation)?;
        self.begun((grant.slot, grant.generation), entry, grant.secret, modes, at, len, None)
    }

    /// Begins an access to a region as a whole; its bytes. Tripwires are told by who knows which it touches.
    fn access_all(&self, grant: Grant, modes: Modes) -> Result<(Access<'_>, usize), RegionError> {
        let entry = self.entries.get(grant.slot).ok_or(RegionError::Revoked)?;
        entry.begin(grant.generation)?;
        // Relaxed: constant while an access is under way.
        let len = entry.len.load(Ordering::Relaxed) as usize;
        let mut access =
            self.begun((grant.slot, grant.generation), entry, grant.secret, modes, 0, len, None)?;
        access.touch = None;
        Ok((access, len))
    }

    /// Checks an access that the entry has counted. `marks`: what the entry's modes must say besides.
    #[expect(clippy::too_many_arguments, reason = "an access, as two kinds of callers know it")]
    fn begun<'a>(
        &'a self,
        region: (u32, u32),
        entry: &'a Entry,
        secret: u64,
        modes: Modes,
        at: u64,
        len: usize,
        marks: Option<u32>,
    ) -> Result<Access<'a>, RegionError> {
        // Relaxed, all: constant while an access is under way.
        let base = entry.base.load(Ordering::Relaxed);
        let mut access = Access { regions: self, entry, at: base.wrapping_add(at as usize), touch: None };
        let allowed = Modes(entry.modes.load(Ordering::Relaxed));
        if entry.secret.load(Ordering::Relaxed) != secret
            || marks.is_some_and(|marks| allowed.0 & MARKS != marks)
        {
            return Err(RegionError::Revoked);
        }
        if !allowed.has(modes) {
            return Err(RegionError::Access);
        }
        in_range(entry.len.load(Ordering::Relaxed), at, len, allowed)?;
        if allowed.has(Modes::ONCE) {
            entry.take()?;
        }
        access.touch = Some((region_number(region.0, region.1), at, len, modes));
        Ok(access)
    }

    /// Whether a region is still exported.
    fn is_live(&self, grant: Grant) -> bool {
        let word = self.entries.get(grant.slot).map_or(0, |entry| entry.word.load(Ordering::Relaxed));
        (word >> 32) as u32 == grant.generation && matches!(word & PHASE, LIVE | USED)
    }

    fn revoke(&self, slot: u32) {
        let Some(entry) = self.entries.get(slot) else { return };
        entry.close();
        // Accesses are copies of other threads, of a message each: nothing of this thread is among them.
        while !entry.is_quiet() {
            std::thread::yield_now();
        }
        entry.free();
        self.entries.give_back(slot);
    }
}

/// An exported region. Dropping it revokes it: then no rank can access it any more, and none does.
///
/// A region that is forgotten stays exported.
#[must_use = "dropping a region revokes it"]
pub struct Region<'a> {
    rank: &'a Rank,
    key: RegionKey,
    base: usize,
    /// Memory of the region's own.
    pages: Option<Layout>,
}

impl core::fmt::Debug for Region<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Region").field("key", &self.key).finish_non_exhaustive()
    }
}

impl Region<'_> {
    /// The key by which others access it.
    pub fn key(&self) -> RegionKey {
        self.key
    }

    /// Its first byte.
    pub fn address(&self) -> *mut u8 {
        self.base as *mut u8
    }

    /// Revokes it; the same as dropping it.
    pub fn revoke(self) {}
}

impl Drop for Region<'_> {
    fn drop(&mut self) {
        self.rank.regions.revoke(self.key.slot);
        if self.key.modes & LOOSE != 0
            && let Some((_, served)) = self.rank.region_rma()
        {
            served.unwatch(self.base as *const u8, self.key.len as usize);
        }
        if let Some(layout) = self.pages {
            // SAFETY: allocated with this layout by `export_pages`; nobody accesses it any more.
            unsafe { alloc::dealloc(self.base as *mut u8, layout) }
        }
    }
}

/// A vector that is exported. Dropping it revokes the region and frees the vector; forgetting it leaks both.
#[must_use = "dropping it revokes the region"]
pub struct Exported<'a, T: Shared> {
    region: ManuallyDrop<Region<'a>>,
    memory: ManuallyDrop<Vec<T>>,
}

/// Says nothing of the vector, which others may be writing.
impl<T: Shared> core::fmt::Debug for Exported<'_, T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Exported").field("key", &self.region.key).finish_non_exhaustive()
    }
}

impl<'a, T: Shared> Exported<'a, T> {
    /// The key by which others access it.
    pub fn key(&self) -> RegionKey {
        self.region.key
    }

    /// The region.
    pub fn region(&self) -> &Region<'a> {
        &self.region
    }

    /// Revokes the region and gives the vector back, which nobody else can write any more.
    pub fn into_vec(self) -> Vec<T> {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: neither is used again, `this` being forgotten; the region is revoked first.
        unsafe {
            ManuallyDrop::drop(&mut this.region);
            ManuallyDrop::take(&mut this.memory)
        }
    }
}

impl<T: Shared> Drop for Exported<'_, T> {
    fn drop(&mut self) {
        // SAFETY: dropped once, here, the region first.
        unsafe {
            ManuallyDrop::drop(&mut self.region);
            ManuallyDrop::drop(&mut self.memory);
        }
    }
}

/// Exports memory of this rank, and finds what others export: [`Rank::regions`].
#[derive(Debug, Clone, Copy)]
pub struct RegionCalls<'a> {
    pub(crate) rank: &'a Rank,
}

/// A region that some rank exports, to whoever has its key: [`Rank::region`].
#[derive(Debug, Clone, Copy)]
pub struct KeyedRegion<'a, 'k> {
    rank: &'a Rank,
    key: &'k RegionKey,
}

impl Rank {
    /// Exports memory of this rank, and finds what others export.
    #[inline]
    pub fn regions(&self) -> RegionCalls<'_> {
        RegionCalls { rank: self }
    }

    /// The region that a key names, of any rank, for accesses. Whether it is still exported is known when one
    /// is made.
    #[inline]
    pub fn region<'k>(&self, key: &'k RegionKey) -> KeyedRegion<'_, 'k> {
        KeyedRegion { rank: self, key }
    }

    /// The modes of a region of memory that the runtime keeps mapped until it is revoked.
    fn kept_modes(&self, at: *const u8, len: usize, modes: Modes) -> Modes {
        let reached = self.region_rma().is_some_and(|(_, served)| served.covers(at, len));
        if reached { Modes(modes.0 | SERVED) } else { modes }
    }

    /// Enters a region.
    ///
    /// # Safety
    /// 1. As [`RegionCalls::export_raw`]. 2. If the modes are marked as [`SERVED`], they are of
    ///    [`Rank::kept`], or marked as [`LOOSE`] as well, and the memory is watched (owed by the caller).
    unsafe fn enter_region(&self, at: *mut u8, len: usize, modes: Modes) -> Result<Region<'_>, RegionError> {
        let (slot, entry) = self.regions.entries.take().ok_or(RegionError::NoRoom)?;
        let secret = gasnet_sys::random();
        let generation = entry.open(at, len, modes, secret);
        let (rank, len) = (self.id().0, len as u64);
        let key = RegionKey { rank, slot, generation, modes: modes.0, len, secret };
        Ok(Region { rank: self, key, base: at as usize, pages: None })
    }

    /// Key and note that this rank has published under a name: absent, there, or revoked.
    fn published(&self, name: u64) -> Result<Option<(RegionKey, u64)>, RegionError> {
        let names = lock(&self.regions.names);
        match names.get(&name) {
            None => Ok(None),
            Some((key, _)) if !self.regions.is_live(key.grant()) => Err(RegionError::Revoked),
            Some(found) => Ok(Some(*found)),
        }
    }
}

impl<'a> RegionCalls<'a> {
    /// Exports `len` bytes of any memory of this process.
    ///
    /// Where the owner's NIC serves the region, the system makes the copies, in pieces of any size: who polls
    /// a word there may find it half written. A word of [`RegionCalls::export_vec`] is written at once.
    ///
    /// # Safety
    /// 1. The bytes are valid for reads and writes until the region is revoked, and until then are accessed
    ///    by means only that may meet accesses of others: calls of the runtime, atomics, raw pointers where
    ///    the program keeps them apart (owed by the caller).
    ///
    /// # Errors
    /// Too many regions.
    pub unsafe fn export_raw(self, at: *mut u8, len: usize, modes: Modes) -> Result<Region<'a>, RegionError> {
        let watched = self.rank.region_rma().is_some_and(|(_, served)| served.watch(at, len));
        let modes = if watched { Modes(modes.0 | MARKS) } else { modes };
        // SAFETY: (1); (2): it is watched.
        let region = unsafe { self.rank.enter_region(at, len, modes) };
        if region.is_err()
            && watched
            && let Some((_, served)) = self.rank.region_rma()
        {
            served.unwatch(at, len);
        }
        region
    }

    /// Exports a vector, which the guard owns from then on.
    ///
    /// # Errors
    /// As [`RegionCalls::export_raw`].
    pub fn export_vec<T: Shared>(self, memory: Vec<T>, modes: Modes) -> Result<Exported<'a, T>, RegionError> {
        let mut memory = ManuallyDrop::new(memory);
        let (at, len) = (memory.as_mut_ptr().cast(), size_of_val(memory.as_slice()));
        // SAFETY: the guard owns the vector, gives it up when the region has been revoked, and lets nobody
        // touch it until then.
        match unsafe { self.rank.enter_region(at, len, self.rank.kept_modes(at, len, modes)) } {
            Ok(region) => Ok(Exported { region: ManuallyDrop::new(region), memory }),
            Err(e) => {
                drop(ManuallyDrop::into_inner(memory));
                Err(e)
            }
        }
    }

    /// Exports `len` bytes of new memory, zero at first, that begin at a page; rounded up to pages. The
    /// region owns them.
    ///
    /// # Errors
    /// No memory, or as [`RegionCalls::export_raw`].
    pub fn export_pages(self, len: usize, modes: Modes) -> Result<Region<'a>, RegionError> {
        let page = gasnet_wire::shm::map::PAGE_BYTES;
        let len = len.max(1).checked_next_multiple_of(page).ok_or(RegionError::NoRoom)?;
        let layout = Layout::from_size_align(len, page).map_err(|_| RegionError::NoRoom)?;
        // SAFETY: the size is not 0.
        let at = unsafe { alloc::alloc_zeroed(layout) };
        if at.is_null() {
            return Err(RegionError::NoRoom);
        }
        // SAFETY: the region owns the memory, and frees it when it has been revoked.
        match unsafe { self.rank.enter_region(at, len, self.rank.kept_modes(at, len, modes)) } {
            Ok(mut region) => {
                region.pages = Some(layout);
                Ok(region)
            }
            Err(e) => {
                // SAFETY: allocated above, and nobody knows of it.
                unsafe { alloc::dealloc(at, layout) };
                Err(e)
            }
        }
    }

    /// Exports `n` elements of this rank's own segment.
    ///
    /// # Errors
    /// They are not in this rank's segment ([`RegionError::Range`]); else as [`RegionCalls::export_raw`].
    pub fn export_segment<T: Shared>(
        self,
        at: GlobalPtr<T>,
        n: usize,
        modes: Modes,
    ) -> Result<Region<'a>, RegionError> {
        let own =
            self.rank.address(at, n).filter(|_| at.rank() == self.rank.id()).ok_or(RegionError::Range)?;
        // SAFETY: inside the own segment, which stays as long as the rank, and to which nobody has
        // references.
        unsafe { self.export_raw(own.cast(), n * size_of::<T>(), modes) }
    }

    /// Lets other ranks find a region under a name of this rank, together with a note: any number, such as an
    /// address. It is found until the region is revoked.
    ///
    /// # Errors
    /// Another region has the name and is not revoked.
    pub fn publish(self, name: u64, region: &Region<'_>, note: u64) -> Result<(), RegionError> {
        let mut names = lock(&self.rank.regions.names);
        match names.get(&name) {
            Some((key, _)) if *key != region.key && self.rank.regions.is_live(key.grant()) => {
                Err(RegionError::NameTaken)
            }
            _ => {
                names.insert(name, (region.key, note));
                Ok(())
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests;

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;

    struct Model(Entry, UnsafeCell<u8>);
    // SAFETY: for the test: loom tells who accesses the cell out of turn.
    unsafe impl Sync for Model {}
    // SAFETY: as above.
    unsafe impl Send for Model {}

    /// Who gets in is done before the owner has the memory back.
    #[test]
    fn loom_no_access_after_revoke() {
        loom::model(|| {
            let model = Arc::new(Model(Entry::new(), UnsafeCell::new(0)));
            let generation = model.0.open(core::ptr::null_mut(), 1, Modes::ALL, 5);
            let other = model.clone();
            let thread = loom::thread::spawn(move || {
                if other.0.begin(generation).is_ok() {
                    // SAFETY: for loom to look at: an access that was let in.
                    other.1.with_mut(|p| unsafe { *p = 1 });
                    other.0.end();
                }
            });
            model.0.close();
            while !model.0.is_quiet() {
                loom::thread::yield_now();
            }
            // SAFETY: as above: the owner has its memory back.
            model.1.with_mut(|p| unsafe { *p = 2 });
            model.0.free();
            thread.join().unwrap();
            assert!(model.0.begin(generation).is_err());
        });
    }

    /// Of two accesses to a ONCE region one is made.
    #[test]
    fn loom_one_access_is_made_once() {
        loom::model(|| {
            let entry = Arc::new(Entry::new());
            let generation = entry.open(core::ptr::null_mut(), 1, Modes::WRITE | Modes::ONCE, 5);
            let access = move |entry: &Entry| {
                let taken = entry.begin(generation).is_ok_and(|()| {
                    let taken = entry.take().is_ok();
                    entry.end();
                    taken
                });
                u32::from(taken)
            };
            let other = entry.clone();
            let thread = loom::thread::spawn(move || access(&other));
            assert_eq!(access(&entry) + thread.join().unwrap(), 1);
        });
    }
}
