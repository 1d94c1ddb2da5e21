//! Frames of active messages, and messages between the registration strategies: appended to queues of the
//! receiver ([`netvm_fw::append`]).
//!
//! A rank has three *lanes*: requests, replies, control. Each has one queue, into which all ranks write, so
//! the memory of a rank's mail does not depend on the number of ranks. Behind the queues are the *drafts*:
//! slots in which frames are filled in. A draft is free again when the own NIC has read it.
//!
//! **Room.** A rank whose queue has no room tells the senders to stop, and to go on when it has room. A
//! claim for a lane that was told to stop fails at once. Frames that were sent before the sender was told
//! are kept by the receiver's NIC, outside of the windows: so a rank that takes no requests delays neither
//! replies nor writes to its segment.
//!
//! **Whole.** The commands of a frame are posted together, when the queue of commands has room for all of
//! them. A frame of which a part is in place holds up those behind it, of all senders.

use crate::desk::Desks;
use crate::lanes::{Draft, LANE_COUNT, QUEUE_BYTES, queue_at};
use crate::region::ExportedMemory;
use crate::side::Side;
use core::ptr::NonNull;
use netvm_fw::Node;
use netvm_fw::port::PortMemory;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, TryLockError};

/// The part of a queue after which a poll gives room back before it ends.
const PARTS_OF_QUEUE: u64 = 8;

/// A frame that is being filled in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Claim {
    pub(crate) to: u32,
    pub(crate) len: usize,
    draft: Draft,
}

impl Claim {
    /// Two words from which [`Claim::unpack`] makes it again.
    pub(crate) fn pack(&self) -> [u64; 2] {
        [self.draft.pack(), self.to.into()]
    }

    pub(crate) fn unpack([draft, to]: [u64; 2], len: usize) -> Claim {
        Claim { to: to as u32, len, draft: Draft::unpack(draft) }
    }

    /// Claims room for a frame, which is filled in and then sent or cancelled. `None`: no room now.
    pub(crate) fn new(port: &PortMemory, side: &mut Side, to: u32, lane: usize, len: usize) -> Option<Claim> {
        if port.stops().is_stopped(Node(to), lane as u32) {
            return None;
        }
        side.draft(lane, len).map(|draft| Claim { to, len, draft })
    }

    /// Address of the frame.
    pub(crate) fn buffer(&self, side: &Side) -> NonNull<u8> {
        side.region.at(side.mail(self.draft.offset()), self.len)
    }

    /// Fills the frame in.
    pub(crate) fn fill(&self, side: &Side, bytes: &[u8]) {
        side.region.write(side.mail(self.draft.offset()), bytes);
    }

    /// Gives it back.
    pub(crate) fn cancel(self, side: &mut Side) {
        side.give_draft(self.draft);
    }

    /// Sends the frame that was filled in.
    pub(crate) fn send(self, side: &mut Side, desks: &Desks) {
        side.append(desks, self.draft, self.to, self.len as u32);
    }
}

/// The memory of incoming mail.
#[derive(Clone, Copy)]
pub(crate) struct Inbox<'a> {
    pub(crate) port: &'a PortMemory,
    pub(crate) region: ExportedMemory,
    /// Offset of the mail in it.
    pub(crate) mail: u64,
}

/// Positions in a queue: read, and given back.
#[derive(Default)]
struct Positions {
    read: u64,
    freed: u64,
}

/// The incoming mail of a rank.
pub(crate) struct Mail {
    lanes: [Mutex<Positions>; LANE_COUNT],
    /// For each lane, the value of [`Card::raised`](crate::engine::Card::raised) before a poll that left
    /// nothing.
    empty_at: [AtomicU64; LANE_COUNT],
}

impl Mail {
    pub(crate) fn new() -> Mail {
        Mail { lanes: Default::default(), empty_at: [const { AtomicU64::new(u64::MAX) }; LANE_COUNT] }
    }

    fn receiving(&self, lane: usize) -> Option<MutexGuard<'_, Positions>> {
        match self.lanes[lane].try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Whether a lane has nothing new since a poll that left nothing; `raised` is from `Card::raised`.
    #[inline]
    pub(crate) fn is_empty(&self, lane: usize, raised: u64) -> bool {
        self.empty_at[lane].load(Ordering::Relaxed) == raised
    }

    /// Delivers up to `budget` frames of a lane with their senders; returns how many. It calls `freed` if the
    /// NIC waits for room that there is now. `raised` is as for [`Mail::is_empty`], and read before this
    /// call.
    pub(crate) fn poll(
        &self,
        inbox: Inbox<'_>,
        lane: usize,
        (budget, raised): (usize, u64),
        deliver: &mut dyn FnMut(u32, NonNull<u8>, usize),
        freed: &mut dyn FnMut(),
    ) -> usize {
        let Inbox { port, region, mail } = inbox;
        let (Some(mut at), Some(queue)) = (self.receiving(lane), port.queue(lane as u32)) else { return 0 };
        let bytes = QUEUE_BYTES[lane];
        let mut done = 0;
        while done < budget {
            let Some(entry) = queue.pop() else {
                self.empty_at[lane].store(raised, Ordering::Relaxed);
                break;
            };
            if !entry.lost {
                let place = mail + queue_at(lane) + entry.at % bytes;
                deliver(entry.from.0, region.at(place, entry.len as usize), entry.len as usize);
                done += 1;
            }
            at.read = entry.end();
            if at.read - at.freed >= bytes / PARTS_OF_QUEUE {
                at.freed = at.read;
                if queue.free(at.freed) {
                    freed();
                }
            }
        }
        if at.freed != at.read {
            at.freed = at.read;
            if queue.free(at.freed) {
                freed();
            }
        }
        done
    }
}

/// Messages that wait for room on a lane. They are in order for each peer, and a peer without room does not
/// block the others.
#[derive(Default)]
pub(crate) struct Outbox {
    waiting: VecDeque<(u32, Vec<u8>)>,
    /// Peers without room, during one pass.
    full: Vec<u32>,
}

impl Outbox {
    pub(crate) fn push(&mut self, to: u32, bytes: Vec<u8>) {
        self.waiting.push_back((to, bytes));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Sends the messages that have room; `send` returns whether there was room. Returns how many were sent.
    pub(crate) fn send(&mut self, mut send: impl FnMut(u32, &[u8]) -> bool) -> usize {
        let before = self.waiting.len();
        self.full.clear();
        self.waiting.retain(|(to, bytes)| {
            let stays = self.full.contains(to) || !send(*to, bytes);
            if stays && !self.full.contains(to) {
                self.full.push(*to);
            }
            stays
        });
        before - self.waiting.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A rank that computes takes no messages; those to others are sent all the same, and each peer gets its
    /// own in order.
    #[test]
    fn nobody_waits_for_another_rank_s_room() {
        let mut outbox = Outbox::default();
        for i in 0..10 {
            outbox.push(u32::from(i % 3), vec![i]);
        }
        let mut sent = Vec::new();
        let gone = outbox.send(|to, bytes| {
            let room = to != 0 && (to, bytes[0]) != (2, 5);
            if room {
                sent.push(bytes[0]);
            }
            room
        });
        assert_eq!((gone, &sent[..]), (4, &[1, 2, 4, 7][..]));
        assert_eq!(outbox.send(|_, _| false), 0);
        let mut rest = Vec::new();
        let all = outbox.send(|_, bytes| {
            rest.push(bytes[0]);
            true
        });
        assert_eq!((all, &rest[..]), (6, &[0, 3, 5, 6, 8, 9][..]));
        assert!(outbox.is_empty());
    }
}
