//! Regions under the NIC: what a conduit has to do whose NICs access exported memory of programs by
//! themselves. Without it, and for memory that such a NIC may not touch, accesses are messages that the
//! owner's program serves (`gasnet::region`); errors are the same.
//!
//! The core keeps the regions and checks every access ([`ServedRegions`]), on whatever path it comes: so an
//! access that is allowed once is made once. The conduit brings the bytes.

use crate::RankId;
use crate::error::RegionError;
use std::sync::Arc;

/// The regions of a rank, as its NIC sees them. Any thread may call it.
///
/// Each call checks the access and carries it out. It waits for nothing but another copy, and runs no code of
/// the program.
pub trait ServedRegions: Send + Sync {
    /// Copies into a region of this rank.
    ///
    /// # Errors
    /// The access may not be made; nothing was written.
    fn write(&self, to: RegionPlace, bytes: &[u8]) -> Result<(), RegionError>;

    /// Copies out of a region of this rank.
    ///
    /// # Errors
    /// The access may not be made.
    fn read(&self, from: RegionPlace, into: &mut [u8]) -> Result<(), RegionError>;

    /// The thread that hears of memory that was taken away is about to read reports of it. No access of
    /// [watched](RegionRma::watch) memory is under way when this returns, and none begins until
    /// [`ServedRegions::go_on`]. From here to there: no allocation, no lock.
    fn hold_back(&self);

    /// This memory is mapped no more: regions there are revoked.
    fn taken_away(&self, at: usize, len: usize);

    /// Accesses go on.
    fn go_on(&self);
}

/// A byte of a region, as those who access it name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RegionPlace {
    /// Which region of the rank.
    pub number: u32,
    /// Makes it the right one.
    pub secret: u64,
    /// Bytes from its start, below [`RegionRma::end`].
    pub at: u64,
}

/// One-sided operations on regions. Tokens, and their completion by [`Rma::poll`](super::Rma::poll), are
/// those of [`Rma`](super::Rma), which such a conduit has too; a piece that was refused comes back with
/// [`Completion::Refused`](super::Completion::Refused), and nothing of it was read or written.
///
/// # Safety
/// 1. No completion is reported before it is true. 2. What the owner refused is reported as refused (owed by
///    the implementation).
#[expect(unsafe_code, reason = "declares the obligation")]
pub unsafe trait RegionRma: Send + Sync {
    /// Has the NIC serve the regions of this rank. Called once, when the rank has its segment, before any
    /// rank accesses them so.
    fn serve(&self, regions: Arc<dyn ServedRegions>);

    /// Whether the NIC may access these bytes of this rank's memory, which stay mapped until their region is
    /// revoked.
    fn covers(&self, at: *const u8, len: usize) -> bool;

    /// The same of memory that may be unmapped at any time: from now on, and until it is called to
    /// [`unwatch`](RegionRma::unwatch) the same bytes, the conduit tells [`ServedRegions`] when they are. The
    /// program's call that unmaps them has not returned by then.
    fn watch(&self, at: *const u8, len: usize) -> bool;

    /// Ends a watch.
    fn unwatch(&self, at: *const u8, len: usize);

    /// Places of regions are below this.
    fn end(&self) -> u64;

    /// Whether a piece is carried out in one step, so that it may be the one access of a region that allows
    /// one.
    fn is_one_step(&self, at: u64, len: usize) -> bool;

    /// Starts a put; `false` when it would block.
    ///
    /// # Safety
    /// 1. `src` is valid for `len` bytes until [`Completion::Local`](super::Completion::Local) is reported
    ///    (owed by the caller).
    #[expect(unsafe_code, reason = "declares the obligation; no body")]
    unsafe fn put(&self, rank: RankId, to: RegionPlace, src: *const u8, len: usize, token: u64) -> bool;

    /// Starts a get; `false` when it would block.
    ///
    /// # Safety
    /// 1. `dst` is valid for `len` bytes and used by nobody until the end is reported (owed by the caller).
    #[expect(unsafe_code, reason = "declares the obligation; no body")]
    unsafe fn get(&self, dst: *mut u8, rank: RankId, from: RegionPlace, len: usize, token: u64) -> bool;
}
