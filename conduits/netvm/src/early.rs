//! Frames before the segment is attached.
//!
//! The [mail](crate::mail) lies behind the segment, and clients send messages before they attach one. These
//! go through rings in shared memory. As soon as a rank has attached its segment, it sends by mail. It goes
//! on polling the rings, since a peer may have sent there later, and a thread may still fill in a frame. So
//! frames are never lost at the change, and their order is free. A rank does not sleep on its descriptor
//! before it has attached; a frame that comes later through a ring does not end such a sleep, which is short.
//!
//! Rings exist between the ranks of one host. In a job of several hosts nobody sends before attach.
#![expect(unsafe_code, reason = "the slots are those of the rings")]

use gasnet_wire::conduit::{Channel, Frame, MIN_FRAME, OpenContext, RawSlot};
use gasnet_wire::{Error, FrameGrid, RankId};
use std::sync::atomic::{AtomicBool, Ordering};

/// In the first word of a slot's cookie: the slot is in a ring, not in the mail.
const EARLY_FLAG: u64 = 1 << 63;

/// The rings of one rank.
pub(crate) struct Early {
    rings: FrameGrid,
    /// The rank has attached its segment.
    over: AtomicBool,
}

impl Early {
    /// The rings, from `cx.shm_offset` on; `None` in a job of several hosts.
    ///
    /// # Safety
    /// 1. Nothing else uses the shared memory from `cx.shm_offset` on, and each rank opens its rings there
    ///    once (owed by the caller).
    ///
    /// # Errors
    /// The memory cannot be had.
    pub(crate) unsafe fn open(cx: &OpenContext<'_>) -> Result<Option<Early>, Error> {
        if cx.host.len() < cx.size as usize {
            return Ok(None);
        }
        // SAFETY: (1).
        let rings = unsafe { FrameGrid::open(cx, MIN_FRAME) }?;
        Ok(Some(Early { rings, over: AtomicBool::new(false) }))
    }

    /// The ranks' mail serves from now on: all of them have their segments.
    pub(crate) fn end(&self) {
        // ORDER: Release; pairs with Acquire in `is_over`: the segment and what it brought with it.
        self.over.store(true, Ordering::Release);
    }

    /// Whether frames go by mail.
    #[inline]
    pub(crate) fn is_over(&self) -> bool {
        // ORDER: Acquire; pairs with Release in `end`.
        self.over.load(Ordering::Acquire)
    }

    /// Room for a frame; `None` while the peer has not taken enough.
    pub(crate) fn reserve(&self, to: RankId, channel: Channel, len: usize) -> Option<RawSlot> {
        let mut slot = self.rings.reserve(to, channel, len)?;
        slot.cookie[0] |= EARLY_FLAG;
        Some(slot)
    }

    /// Whether a slot is in a ring.
    pub(crate) fn owns(slot: &RawSlot) -> bool {
        slot.cookie[0] & EARLY_FLAG != 0
    }

    /// Sends a frame.
    ///
    /// # Safety
    /// 1. `slot` is as [`Early::reserve`] returned it, its bytes filled in (owed by the caller).
    pub(crate) unsafe fn commit(&self, mut slot: RawSlot) {
        slot.cookie[0] &= !EARLY_FLAG;
        // SAFETY: (1).
        unsafe { self.rings.commit(slot, 0) };
    }

    /// Gives a slot back.
    ///
    /// # Safety
    /// 1. `slot` is as [`Early::reserve`] returned it (owed by the caller).
    pub(crate) unsafe fn cancel(&self, mut slot: RawSlot) {
        slot.cookie[0] &= !EARLY_FLAG;
        // SAFETY: (1).
        unsafe { self.rings.cancel(slot) };
    }

    /// Delivers up to `budget` frames; returns how many.
    #[inline]
    pub(crate) fn poll(&self, channel: Channel, budget: usize, deliver: &mut dyn FnMut(Frame)) -> usize {
        if self.rings.has_frame() { self.rings.poll(channel, budget, u64::MAX, deliver) } else { 0 }
    }
}
