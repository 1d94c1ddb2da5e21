//! Channels: messages of a fixed size from one process to another, read in place.
//!
//! The receiver exports a ring of slots. A message is one write with a notification. Notifications come in
//! order and after their data, so the receiver finds the message without further means. The message that is
//! being read keeps its slot until the next receive, so the sender starts with one credit less than there are
//! slots. Credits come back several at a time.
//!
//! Only the rules are here: the caller writes and waits.

/// The sending end.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Sender {
    slots: u32,
    refill: u32,
    credits: u32,
    next: u32,
}

impl Sender {
    /// For a channel with this many slots, whose receiver returns `refill` of them at a time. A channel has
    /// at least two slots, and `refill` is smaller than their number.
    pub fn new(slots: u32, refill: u32) -> Sender {
        assert!(
            slots >= 2 && (1..slots).contains(&refill),
            "a channel of {slots} slots cannot refill {refill}"
        );
        Sender { slots, refill, credits: slots - 1, next: 0 }
    }

    /// The slot to write the next message to, with the notification "sent". If it is `None`, wait for a
    /// notification "replenish", report it by [`replenish`](Self::replenish), and ask again.
    pub fn slot(&mut self) -> Option<u32> {
        self.credits = self.credits.checked_sub(1)?;
        let slot = self.next;
        self.next = (slot + 1) % self.slots;
        Some(slot)
    }

    /// Records that a notification "replenish" has been taken.
    pub fn replenish(&mut self) {
        self.credits += self.refill;
    }

    /// Messages that may be sent now.
    pub fn credits(&self) -> u32 {
        self.credits
    }
}

/// The receiving end.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Receiver {
    slots: u32,
    refill: u32,
    next: u32,
    freed: u32,
}

impl Receiver {
    /// For a channel as in [`Sender::new`].
    pub fn new(slots: u32, refill: u32) -> Receiver {
        let _ = Sender::new(slots, refill);
        Receiver { slots, refill, next: 0, freed: 0 }
    }

    /// To be called after a notification "sent" has been taken. Returns the slot of the message, and whether
    /// to send a notification "replenish" now. The slot of the message before it becomes free.
    pub fn receive(&mut self) -> (u32, bool) {
        // The first message frees one slot more than was read: the one that the sender held back for it.
        self.freed = (self.freed + 1) % self.refill;
        let replenish = self.freed == 0;
        let slot = self.next;
        self.next = (slot + 1) % self.slots;
        (slot, replenish)
    }
}
