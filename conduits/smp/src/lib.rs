//! The conduit of a single host.
//!
//! Neighbours communicate through shared memory and need no conduit, so normally [`open`] returns none. If
//! `GASNET_NEIGHBORHOOD` divides the host, it returns a *frame loop-back*: ranks that are not neighbours send
//! frames through shared rings, which exercises the reference path on one host. `GASNET_SMP_DELAY` delays
//! every frame.
#![expect(unsafe_code, reason = "a conduit promises the core that its slots and frames are memory")]

mod settings;

pub use settings::{SETTINGS, delay_ns};

use gasnet_wire::conduit::{Channel, Conduit, Frame, MIN_FRAME, OpenContext, RawSlot, Survival};
use gasnet_wire::{Error, FrameGrid, RankId};
use std::time::Duration;

/// Opens the conduit if this host's ranks need one.
///
/// # Errors
/// Shared memory is not available.
pub fn open(cx: &OpenContext<'_>) -> Result<Option<Box<dyn Conduit>>, Error> {
    if cx.neighbours.len() == cx.size as usize {
        return Ok(None);
    }
    if cx.host.len() < cx.size as usize {
        return Err(Error::job(
            "the smp conduit works on one host only, and this job has several: choose a network with GASNET_CONDUIT",
        ));
    }
    // SAFETY: that memory belongs to this conduit, which each rank opens once, at its start.
    let frames = unsafe { FrameGrid::open(cx, MIN_FRAME) }?;
    if cx.config.progress_thread {
        frames.expect_sleeper();
    }
    Ok(Some(Box::new(Loopback { frames, delay_ns: delay_ns()? })))
}

/// Sends frames through shared rings.
struct Loopback {
    frames: FrameGrid,
    delay_ns: u64,
}

// SAFETY: slots and frames are those of the grid, which keeps these promises.
unsafe impl Conduit for Loopback {
    fn name(&self) -> &'static str {
        "smp"
    }

    fn reserve(
        &self,
        to: RankId,
        channel: Channel,
        len: usize,
        _immediate: bool,
    ) -> Result<Option<RawSlot>, Error> {
        Ok(self.frames.reserve(to, channel, len))
    }

    unsafe fn commit(&self, slot: RawSlot) {
        let not_before = if self.delay_ns == 0 { 0 } else { FrameGrid::now().saturating_add(self.delay_ns) };
        // SAFETY: owed by the caller.
        unsafe { self.frames.commit(slot, not_before) };
    }

    unsafe fn cancel(&self, slot: RawSlot) {
        // SAFETY: owed by the caller.
        unsafe { self.frames.cancel(slot) };
    }

    fn poll(&self, channel: Channel, budget: usize, deliver: &mut dyn FnMut(Frame)) -> Result<usize, Error> {
        let now = if self.delay_ns == 0 { u64::MAX } else { FrameGrid::now() };
        Ok(self.frames.poll(channel, budget, now, deliver))
    }

    fn doze(&self, longest: Duration) -> bool {
        // Nobody rings when a frame's delay has passed.
        self.delay_ns == 0 && self.frames.doze(longest)
    }

    fn survival(&self) -> Option<&dyn Survival> {
        Some(self)
    }
}

/// The next world has rings of its own.
impl Survival for Loopback {
    fn give_up(&self, patience: Duration) -> bool {
        self.frames.close(patience)
    }
}
