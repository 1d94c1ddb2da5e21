//! Frames over shared-memory links: what a conduit between the ranks of one host is made of. Behind the links
//! lies a [doorbell](super::bell) for each rank.
#![expect(unsafe_code, reason = "keeps a link's sending end taken between reserve and commit")]

use super::bell::Bells;
use super::grid::{Grid, GridLayout};
use super::link::Body;
use crate::RankId;
use crate::conduit::{Channel, Frame, OpenContext, RawSlot};
use crate::error::Error;
use crate::lock::Threading;
use core::ptr::NonNull;
use std::time::Duration;

/// A grid of links that carries frames, each marked with a time before which it is not delivered.
pub struct FrameGrid {
    grid: Grid,
    bells: Bells,
}

const FRAME: u8 = 1;

impl FrameGrid {
    /// Maps the links in the conduit's part of the host's shared memory; collective over the ranks of the
    /// host.
    ///
    /// # Safety
    /// 1. Nothing else uses the shared memory from `cx.shm_offset` on, and each rank opens its grid there
    ///    once (owed by the caller).
    ///
    /// # Errors
    /// The memory cannot be had.
    pub unsafe fn open(cx: &OpenContext<'_>, max_frame: usize) -> Result<FrameGrid, Error> {
        let layout = GridLayout::new(cx.size, max_frame, cx.shm_offset);
        let grid = Grid::map(cx.shm, layout, cx.rank.0, Threading::Parallel)?;
        // SAFETY: by (1), behind the links.
        let bells = unsafe { Bells::open(&OpenContext { shm_offset: layout.end(), ..*cx }) }?;
        Ok(FrameGrid { grid, bells })
    }

    /// Closes the inboxes of this rank: no frame is delivered any more. Waits for those that are being
    /// handled, so long; returns whether all have been.
    pub fn close(&self, patience: Duration) -> bool {
        self.grid.close(patience)
    }

    /// Offset of the first byte behind the grid that [`FrameGrid::open`] maps with the same arguments.
    pub fn end(cx: &OpenContext<'_>, max_frame: usize) -> u64 {
        GridLayout::new(cx.size, max_frame, cx.shm_offset).end() + Bells::bytes(cx.size) as u64
    }

    /// A thread of this rank will call [`FrameGrid::doze`]. Before any frame can come.
    pub fn expect_sleeper(&self) {
        self.bells.expect_sleeper();
    }

    /// Sleeps until a frame may have come, at most so long. Whether one may; `false`, at once, without
    /// [`FrameGrid::expect_sleeper`]. One thread of the rank at a time.
    pub fn doze(&self, longest: Duration) -> bool {
        self.bells.doze(|| self.grid.has_message(), longest)
    }

    /// Room for a frame of `len` bytes, `len > 0`, or `None` while the peer has not released enough.
    pub fn reserve(&self, to: RankId, channel: Channel, len: usize) -> Option<RawSlot> {
        assert!(to.0 < self.grid.size(), "frame to rank {} of {}", to.0, self.grid.size());
        // At least 65 bytes, so that the claim always lies in the arena and can be filled in place.
        let room = len.max(super::link::INLINE_BYTES + 1);
        let mut sending = self.grid.sending(to.0, channel);
        let claim = sending.claim(room, 2)?;
        let buf = NonNull::new(claim.payload).expect("a claim of this size has arena space");
        sending.suspend();
        Some(RawSlot { buf, len, cookie: [u64::from(to.0) << 1 | channel as u64, claim.end()] })
    }

    /// Sends a reserved frame, to be delivered at `not_before` (in terms of [`FrameGrid::now`]) or later.
    ///
    /// # Safety
    /// 1. `slot` is as [`FrameGrid::reserve`] of this grid returned it, its bytes filled in (owed by the
    ///    caller).
    pub unsafe fn commit(&self, slot: RawSlot, not_before: u64) {
        // SAFETY: by (1) `reserve` suspended exactly this sending; a slot is used up by value.
        let mut sending =
            unsafe { self.grid.resume((slot.cookie[0] >> 1) as u32, channel_of(slot.cookie[0])) };
        let claim = sending.reclaim(slot.buf.as_ptr(), slot.cookie[1]);
        let args = [not_before as u32, (not_before >> 32) as u32];
        // SAFETY: the claim of `reserve`, nothing having been sent since; the payload was written in place.
        unsafe { sending.publish(claim, FRAME, 0, &args, Body::Arena(slot.len)) };
        drop(sending);
        self.bells.ring(RankId((slot.cookie[0] >> 1) as u32));
    }

    /// Gives a reserved slot back.
    ///
    /// # Safety
    /// 1. `slot` is as [`FrameGrid::reserve`] of this grid returned it (owed by the caller).
    pub unsafe fn cancel(&self, slot: RawSlot) {
        // SAFETY: as in `commit`.
        drop(unsafe { self.grid.resume((slot.cookie[0] >> 1) as u32, channel_of(slot.cookie[0])) });
    }

    /// The host's monotonic clock in nanoseconds, the same in all its processes.
    pub fn now() -> u64 {
        super::map::monotonic().as_nanos() as u64
    }

    /// Whether a frame waits: a hint, without a lock. One that was there before the call is seen.
    #[inline]
    pub fn has_frame(&self) -> bool {
        self.grid.has_message()
    }

    /// Delivers up to `budget` frames whose time has come.
    pub fn poll(&self, channel: Channel, budget: usize, now: u64, deliver: &mut dyn FnMut(Frame)) -> usize {
        self.grid.poll(channel, budget, &mut |from, m| {
            if u64::from(m.args[0]) | u64::from(m.args[1]) << 32 > now {
                return false;
            }
            let from = RankId(from);
            deliver(Frame { from, channel, data: m.payload, len: m.len });
            true
        })
    }
}

fn channel_of(cookie: u64) -> Channel {
    if cookie & 1 == 0 { Channel::Request } else { Channel::Reply }
}
