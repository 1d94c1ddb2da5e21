//! Sequence windows: one number gives the order of notifications, flow control and room in the bounce buffer.
//!
//! A node may have [`WINDOW_MESSAGES`] messages under way to another. The receiver delivers *data* as it
//! arrives, in any order, and holds *notifications* back until everything with a smaller number is in place.
//! Its *floor* is the lowest number that is not in place. When the floor enters the other half of the window,
//! one acknowledgement frees the half it left. A message that needs the bounce buffer uses slot `seq %
//! WINDOW_MESSAGES` of its sender's share, so the buffer cannot overflow.
//!
//! Numbers wrap; all comparisons are by distance. An acknowledgement carries the floor itself, so a later one
//! replaces those that were lost, and old ones do nothing. A duplicate is recognised and must be dropped
//! before it touches memory: a late copy of a write would undo a newer one, and a second atomic would count
//! twice.

/// Messages that may be under way from one node to another.
pub const WINDOW_MESSAGES: u32 = 64;
/// The receiver acknowledges when its floor passes a multiple of this.
pub const HALF_WINDOW_MESSAGES: u32 = WINDOW_MESSAGES / 2;

/// The sender's side, one for each peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct SendWindow {
    next: u32,
    floor: u32,
}

impl SendWindow {
    /// Starts at this number; both sides must use the same one.
    pub fn starting_at(seq: u32) -> SendWindow {
        SendWindow { next: seq, floor: seq }
    }

    /// Messages that may be sent now.
    #[inline]
    pub fn credits(&self) -> u32 {
        WINDOW_MESSAGES - self.next.wrapping_sub(self.floor)
    }

    /// The number of the next message, if there is a credit for it.
    #[inline]
    pub fn take(&mut self) -> Option<u32> {
        if self.credits() == 0 {
            return None;
        }
        let seq = self.next;
        self.next = seq.wrapping_add(1);
        Some(seq)
    }

    /// Handles an acknowledgement; returns how many messages it freed. Stale and impossible ones free none.
    pub fn acknowledge(&mut self, floor: u32) -> u32 {
        let freed = floor.wrapping_sub(self.floor);
        if freed > self.next.wrapping_sub(self.floor) {
            return 0;
        }
        self.floor = floor;
        freed
    }

    /// Numbers sent and not acknowledged: first, and one past the last.
    pub fn outstanding(&self) -> (u32, u32) {
        (self.floor, self.next)
    }
}

/// A receiver's verdict on a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// New: process it, then call [`RecvWindow::complete`].
    Fresh,
    /// It arrived before: drop it.
    Duplicate,
    /// No sender with a credit can have sent it: drop it.
    Outside,
}

/// The receiver's side, one for each peer. `N` is the notification that waits with a number.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RecvWindow<N> {
    floor: u32,
    /// Bit `seq % 64`: the message has arrived.
    arrived: u64,
    /// Bit `seq % 64`: its data is in place.
    complete: u64,
    /// Notifications that wait for their turn, by number. There are few, so they are searched.
    notes: Vec<(u32, N)>,
}

impl<N: Copy> Default for RecvWindow<N> {
    fn default() -> Self {
        RecvWindow::starting_at(0)
    }
}

impl<N: Copy> RecvWindow<N> {
    /// Starts at this number; both sides must use the same one.
    pub fn starting_at(seq: u32) -> RecvWindow<N> {
        RecvWindow { floor: seq, arrived: 0, complete: 0, notes: Vec::new() }
    }

    #[inline]
    fn bit(seq: u32) -> u64 {
        1 << (seq % WINDOW_MESSAGES)
    }

    /// A message with this number arrived.
    #[inline]
    pub fn arrive(&mut self, seq: u32) -> Arrival {
        let ahead = seq.wrapping_sub(self.floor);
        if ahead >= WINDOW_MESSAGES {
            // A number behind the floor is an old one; the sender cannot be more than a window behind or
            // ahead.
            return if self.floor.wrapping_sub(seq) <= u32::MAX / 2 {
                Arrival::Duplicate
            } else {
                Arrival::Outside
            };
        }
        if self.arrived & Self::bit(seq) != 0 {
            return Arrival::Duplicate;
        }
        self.arrived |= Self::bit(seq);
        Arrival::Fresh
    }

    /// Whether a message with this number would be new.
    pub fn expects(&self, seq: u32) -> bool {
        seq.wrapping_sub(self.floor) < WINDOW_MESSAGES && self.arrived & Self::bit(seq) == 0
    }

    /// The message with this number is complete; `note` may be delivered after everything before it. Calls
    /// `deliver` for each notification whose turn has come, in order. Returns the floor to acknowledge, if
    /// half a window is done.
    ///
    /// # Panics
    /// The number has not arrived, or was completed before.
    #[inline]
    pub fn complete(&mut self, seq: u32, note: Option<N>, mut deliver: impl FnMut(N)) -> Option<u32> {
        let bit = Self::bit(seq);
        let known = seq.wrapping_sub(self.floor) < WINDOW_MESSAGES
            && self.arrived & bit != 0
            && self.complete & bit == 0;
        assert!(known, "number {seq} is not under way (floor {})", self.floor);
        self.complete |= bit;
        if let Some(note) = note {
            self.notes.push((seq, note));
        }
        let mut acknowledge = None;
        while self.complete & Self::bit(self.floor) != 0 {
            let bit = Self::bit(self.floor);
            self.complete &= !bit;
            self.arrived &= !bit;
            if let Some(i) = self.notes.iter().position(|note| note.0 == self.floor) {
                deliver(self.notes.swap_remove(i).1);
            }
            self.floor = self.floor.wrapping_add(1);
            if self.floor.is_multiple_of(HALF_WINDOW_MESSAGES) {
                acknowledge = Some(self.floor);
            }
        }
        acknowledge
    }

    /// The lowest number that is not complete.
    pub fn floor(&self) -> u32 {
        self.floor
    }

    /// Bit `i`: number `floor + i` has arrived.
    pub fn arrived(&self) -> u64 {
        self.arrived.rotate_right(self.floor % WINDOW_MESSAGES)
    }
}
