//! Channels: messages of one size from one rank to another, read in place.
//!
//! The receiver has a ring of slots. A sender writes a message, and then the number of messages it has sent.
//! From time to time the receiver writes how many slots it has freed. The message that is being read keeps
//! its slot until the next one is taken.

use core::marker::PhantomData;

use gasnet::{Error, GlobalPtr, Rank, RankId, Shared};

/// The end of a channel at this rank.
#[derive(Debug)]
pub enum Channel<'r, T> {
    /// This rank sends.
    Sender(Sender<'r, T>),
    /// This rank receives.
    Receiver(Receiver<'r, T>),
    /// This rank has no end of it.
    Other,
}

/// The sending end.
#[derive(Debug)]
pub struct Sender<'r, T> {
    ends: Ends<'r, T>,
    sent: u64,
}

/// The receiving end.
#[derive(Debug)]
pub struct Receiver<'r, T> {
    ends: Ends<'r, T>,
    taken: u64,
    told: u64,
}

#[derive(Debug)]
struct Ends<'r, T> {
    rank: &'r Rank,
    /// At the sender: the number of slots that the receiver has freed.
    freed: GlobalPtr<u64>,
    /// At the receiver: the number of messages sent, and the slots.
    sent: GlobalPtr<u64>,
    ring: GlobalPtr<T>,
    slots: u64,
    len: usize,
    of: PhantomData<T>,
}

impl<'r, T: Shared> Channel<'r, T> {
    /// A channel from one rank to another, with this many slots (at least 2) for messages of `len` values.
    ///
    /// # Collective
    /// All ranks call it; two of them have an end of the channel. A rank cannot send to itself.
    ///
    /// # Errors
    /// No room in the segments, too few slots, or the same rank for both ends.
    pub fn new(
        rank: &'r Rank,
        from: RankId,
        to: RankId,
        slots: u32,
        len: usize,
    ) -> Result<Channel<'r, T>, Error> {
        if slots < 2 || from == to {
            return Err(Error::op("a channel has two slots at least, and two ranks"));
        }
        let ring = (len * size_of::<T>()) as u64 * u64::from(slots);
        let at = rank.segments().allocate_agreed(128 + ring, 64)?;
        rank.write_slice(GlobalPtr::new(rank.id(), at), &[0u64; 16]);
        let ends = Ends {
            rank,
            freed: GlobalPtr::new(from, at),
            sent: GlobalPtr::new(to, at + 64),
            ring: GlobalPtr::new(to, at + 128),
            slots: slots.into(),
            len,
            of: PhantomData,
        };
        rank.barrier();
        Ok(match rank.id() {
            id if id == from => Channel::Sender(Sender { ends, sent: 0 }),
            id if id == to => Channel::Receiver(Receiver { ends, taken: 0, told: 0 }),
            _ => Channel::Other,
        })
    }
}

impl<T> Ends<'_, T> {
    fn slot(&self, message: u64) -> GlobalPtr<T> {
        self.ring.add((message % self.slots) as usize * self.len)
    }
}

impl<T: Shared> Sender<'_, T> {
    /// Number of values in a message.
    pub fn message_len(&self) -> usize {
        self.ends.len
    }

    /// Whether a message can be sent without waiting.
    pub fn has_room(&self) -> bool {
        self.sent - self.ends.rank.atomics().load(self.ends.freed) < self.ends.slots
    }

    /// Sends a message, waiting for a free slot. The message may be changed on return.
    ///
    /// # Errors
    /// The message does not have the channel's length; nothing is sent.
    pub fn send(&mut self, message: &[T]) -> Result<(), Error> {
        if message.len() != self.ends.len {
            let text = format!("{} values on a channel for {}", message.len(), self.ends.len);
            return Err(Error::op(text));
        }
        self.ends.rank.wait_until("room in a channel", || self.has_room());
        self.ends.rank.write_slice(self.ends.slot(self.sent), message);
        self.sent += 1;
        self.ends.rank.atomics().swap(self.ends.sent, self.sent);
        Ok(())
    }
}

impl<T: Shared> Receiver<'_, T> {
    /// Whether a message has arrived.
    pub fn is_ready(&self) -> bool {
        let ready = self.has_come();
        if !ready {
            self.ends.rank.poll();
        }
        ready
    }

    fn has_come(&self) -> bool {
        self.ends.rank.atomics().load(self.ends.sent) > self.taken
    }

    /// Waits for the next message and returns its location in this rank's segment. It stays there until the
    /// next call, which frees it.
    pub fn receive(&mut self) -> GlobalPtr<T> {
        // All slots but the one that is returned now are free; tell the sender when half of them are, or when
        // it may be waiting.
        let freed = self.taken;
        if freed - self.told >= self.ends.slots / 2 || !self.has_come() && freed > self.told {
            self.told = freed;
            self.ends.rank.atomics().swap(self.ends.freed, freed);
        }
        self.ends.rank.wait_until("a message of a channel", || self.has_come());
        let at = self.ends.slot(self.taken);
        self.taken += 1;
        at
    }

    /// Waits for the next message and copies it.
    ///
    /// # Errors
    /// `message` does not have the channel's length; no message is taken.
    pub fn receive_into(&mut self, message: &mut [T]) -> Result<(), Error> {
        if message.len() != self.ends.len {
            let text = format!("{} values on a channel for {}", message.len(), self.ends.len);
            return Err(Error::op(text));
        }
        let at = self.receive();
        self.ends.rank.read_slice(at, message);
        Ok(())
    }
}
