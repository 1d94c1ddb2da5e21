//! What a rank may still send to a peer, and what it owes it.
//!
//! Every peer has room for [`Terms::window`] units of frames of each channel from every other rank, and a frame costs at least
//! [`Terms::least`]. The room comes back when the frame has been handled: with whatever is sent to its sender next, or in a
//! message of its own when half a window is owed. So what a rank has to keep for frames that it does not look at is bounded, whatever the others do.

use crate::wire;
use gasnet::conduit::Channel;

/// The terms of all accounts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Terms {
    /// Units of one channel under way to one peer.
    pub(crate) window: u32,
    /// Units that a frame costs at least: where each fills a buffer, small ones must not be many.
    pub(crate) least: u32,
}

impl Terms {
    /// What a frame of `len` bytes costs.
    pub(crate) fn cost(self, len: usize) -> u32 {
        ((wire::message_len(len) / wire::UNIT) as u32).max(self.least)
    }
}

/// What is between this rank and one peer, by channel, in units.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Account {
    credit: [u32; 2],
    owed: [u32; 2],
}

impl Account {
    pub(crate) fn new(terms: Terms) -> Account {
        Account { credit: [terms.window; 2], owed: [0; 2] }
    }

    /// Pays for a frame, if there is enough.
    pub(crate) fn pay(&mut self, channel: Channel, cost: u32) -> bool {
        let credit = &mut self.credit[channel as usize];
        let enough = *credit >= cost;
        if enough {
            *credit -= cost;
        }
        enough
    }

    /// Takes back what was paid for a frame that is not sent.
    pub(crate) fn refund(&mut self, channel: Channel, cost: u32) {
        self.credit[channel as usize] += cost;
    }

    /// The peer has returned this much. Whether it could.
    pub(crate) fn returned(&mut self, units: [u32; 2], terms: Terms) -> bool {
        let mut sound = true;
        for (credit, units) in self.credit.iter_mut().zip(units) {
            *credit = credit.saturating_add(units);
            sound &= *credit <= terms.window;
        }
        sound
    }

    /// A frame of the peer's has been handled.
    pub(crate) fn handled(&mut self, channel: Channel, cost: u32) {
        self.owed[channel as usize] += cost;
    }

    /// Whether so much is owed that it should not wait for a message to go with.
    pub(crate) fn is_due(&self, terms: Terms) -> bool {
        self.owed[0].max(self.owed[1]) >= terms.window / 2
    }

    /// All that is owed, to go with a message.
    pub(crate) fn settle(&mut self) -> [u32; 2] {
        std::mem::take(&mut self.owed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{MAX_FRAME, MAX_MESSAGE, UNIT};

    const LARGEST: u32 = (MAX_MESSAGE / UNIT) as u32;

    #[test]
    fn costs() {
        let terms = Terms { window: 4 * LARGEST, least: 8 };
        assert_eq!(terms.cost(0), 8);
        assert_eq!(terms.cost(8 * UNIT - 16), 8);
        assert_eq!(terms.cost(8 * UNIT - 15), 9);
        assert_eq!(terms.cost(MAX_FRAME), LARGEST);
    }

    /// With room for two of the largest frames, a sender whose frames are all handled can always send one more, though credits
    /// are returned late; and never more is under way than the window.
    #[test]
    fn nobody_starves_and_nobody_floods() {
        let terms = Terms { window: 2 * LARGEST, least: 1 };
        let (mut sender, mut receiver) = (Account::new(terms), Account::new(terms));
        let mut x = 1u64;
        let (mut way, mut total, mut waits) = (Vec::new(), 0, 0);
        for _ in 0..20_000 {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99);
            let cost = if x >> 62 == 0 { LARGEST } else { terms.cost((x >> 50) as usize) };
            while !sender.pay(Channel::Request, cost) {
                waits += 1;
                // Everything is handled: some of it must come back.
                for cost in way.drain(..) {
                    receiver.handled(Channel::Request, cost);
                    total -= cost;
                }
                assert!(receiver.is_due(terms), "a sender without credit gets some");
                assert!(sender.returned(receiver.settle(), terms));
            }
            way.push(cost);
            total += cost;
            assert!(total <= terms.window);
        }
        assert!(waits > 100);
        assert!(!sender.returned([0, terms.window + 1], terms), "more than was ever lent");
    }
}
