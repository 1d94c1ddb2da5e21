//! The few words of state that inline C code reads: who we are, and where every rank's segment is.
//!
//! `gasnet_types.h` declares the same layout. Written by `gasnet_init` and `gasnet_attach` alone, before any
//! other thread can be inside the library; constant for everybody else.

#![expect(unsafe_code, reason = "a table shared with C by name")]

use std::cell::UnsafeCell;
use std::ffi::c_void;

/// One rank's segment as this process sees it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Peer {
    /// Where the owner sees its segment.
    pub base: usize,
    /// Bytes this process may touch directly; 0 without a mapping.
    pub near: usize,
    /// The distance from the owner's address of a byte to its address in this process.
    pub delta: isize,
}

/// `GASNETI_NOT_MAPPED`: the distance of a segment that inline code may not touch. Those of others are even.
const NOT_MAPPED: isize = 1;

/// A value that no program passes for a team.
const NO_TEAM: *const c_void = std::ptr::without_provenance(usize::MAX);

/// The contents of `gasneti_abi`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Abi {
    rank: u32,
    size: u32,
    peer: *const Peer,
    check: u32,
    interface_version: u32,
    team: *const c_void,
    far: u32,
    known: u32,
    wide: u32,
    padding: u32,
    mapped: *const c_void,
}

/// A cell that C reads by name: the words are one cache line in the middle of a page. A processor delays a
/// load behind stores to the same place in another page, and what programs copy often begins a page.
#[repr(C, align(4096))]
pub struct AbiCell {
    apart: [u64; 280],
    words: UnsafeCell<Abi>,
}

// SAFETY: written only during gasnet_init, before which no other thread may use the library.
unsafe impl Sync for AbiCell {}

/// Version of the contract between the headers and this library.
pub const INTERFACE_VERSION: u32 = 6;

/// The table itself.
#[unsafe(no_mangle)]
pub static gasneti_abi: AbiCell = AbiCell {
    apart: [0; 280],
    words: UnsafeCell::new(Abi {
        rank: 0,
        size: 1,
        peer: std::ptr::null(),
        check: 0,
        interface_version: INTERFACE_VERSION,
        team: NO_TEAM,
        far: 0,
        known: 0,
        wide: 0,
        padding: 0,
        mapped: NO_TEAM,
    }),
};

/// `GASNETI_MAX_RANKS`: jobs of more have every call go to the library.
const MAX_RANKS: usize = 1 << 16;

/// The distances of segments, in pages of zeroes until a rank's is written. They are at a fixed place, so
/// that one load leads from a rank to an address: no load begins before a locked instruction ends, and the
/// next such instruction waits for the loads that lead to its word.
#[repr(C, align(4096))]
pub struct DeltaCell {
    apart: [u64; 280],
    of: [UnsafeCell<isize>; MAX_RANKS],
}

// SAFETY: written only during gasnet_init and gasnet_attach, while no other thread may use the library.
unsafe impl Sync for DeltaCell {}

/// The distances themselves.
#[unsafe(no_mangle)]
pub static gasneti_deltas: DeltaCell =
    DeltaCell { apart: [0; 280], of: [const { UnsafeCell::new(0) }; MAX_RANKS] };

/// Writes the distances of the first ranks. Those of others are not read.
///
/// # Safety
/// 1. No other thread uses the table (owed by the caller).
unsafe fn set_deltas(deltas: impl Iterator<Item = isize>) {
    for (cell, delta) in gasneti_deltas.of.iter().zip(deltas) {
        // SAFETY: (1).
        unsafe { *cell.get() = delta };
    }
}

fn abi() -> Abi {
    // SAFETY: only `publish` writes, and it runs while no other thread may be in the library.
    unsafe { *gasneti_abi.words.get() }
}

/// This rank; 0 outside a job.
pub fn rank() -> u32 {
    abi().rank
}

/// Number of ranks; 1 outside a job.
pub fn size() -> u32 {
    abi().size
}

/// Whether the rule checks of `GASNET_CHECK` are on.
pub fn check() -> bool {
    abi().check != 0
}

/// Fills in the table at the end of `gasnet_init`; `far`: some ranks share no memory with this one. The peers
/// start unreachable until [`set_peers`].
pub fn publish(rank: u32, size: u32, check: bool, far: bool) {
    let peers: &'static mut [Peer] = vec![Peer::default(); size as usize].leak();
    let inline = !check && size as usize <= MAX_RANKS;
    // SAFETY: gasnet_init runs once, and no other thread may use the library before it returns.
    unsafe {
        *gasneti_abi.words.get() = Abi {
            rank,
            size,
            peer: peers.as_ptr(),
            check: u32::from(check),
            interface_version: INTERFACE_VERSION,
            team: NO_TEAM,
            far: far.into(),
            known: if inline { size } else { 0 },
            wide: gasnet_wire::bytes::has_blocks().into(),
            padding: 0,
            mapped: NO_TEAM,
        };
        set_deltas((0..size).map(|_| NOT_MAPPED));
    }
}

/// Whether inline code does anything itself.
pub fn is_inline() -> bool {
    abi().known != 0
}

/// Tells inline code the handle of the primordial team, still during `gasnet_init`. If every call goes to the
/// library it knows none.
pub fn set_team(team: *const c_void) {
    if !is_inline() {
        return;
    }
    // SAFETY: as in `publish`.
    unsafe { (*gasneti_abi.words.get()).team = team };
}

/// Tells inline code where the segments are. Under the rule checks every transfer goes through the library
/// instead.
pub fn set_peers(peers: &[Peer]) {
    let table = abi();
    assert_eq!(peers.len(), table.size as usize);
    for (rank, peer) in peers.iter().enumerate() {
        // SAFETY: the table has `size` entries that nobody reads before gasnet_attach returns.
        unsafe { table.peer.cast_mut().add(rank).write(*peer) };
    }
    // SAFETY: nobody reads them before gasnet_attach returns.
    unsafe { set_deltas(peers.iter().map(|peer| if peer.near > 0 { peer.delta } else { NOT_MAPPED })) };
    if peers.iter().all(|peer| peer.near > 0) {
        // SAFETY: as in `publish`. If every call goes to the library there is no team here either.
        unsafe { (*gasneti_abi.words.get()).mapped = table.team };
    }
}
