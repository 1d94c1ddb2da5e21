//! Credits: the room that a rank has at a peer, and the room that it has to give back. For conduits whose
//! network does not itself bound the messages in flight.
//!
//! Every peer has room for [`Terms::window`] units of frames of each channel from every other rank, and a
//! frame costs at least [`Terms::least`]. The room comes back when the frame has been handled: with whatever
//! is sent to its sender next, or in a message of its own when half a window is owed. So what a rank has to
//! keep for frames that it does not look at is bounded, whatever the others do.
//!
//! **The rule that keeps this from locking up**: a conduit reads what a message returns when the message
//! *arrives*, in a poll of either channel, whether or not anybody wants its frame yet. Then credits may ride
//! on anything. A handler that waits for room to reply polls replies only; were the credits on a request
//! counted when that is handled, they could be the ones that the handler waits for.

use super::Channel;

/// The terms of all accounts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    /// Units of one channel under way to one peer: at least two of the largest frames, so that a frame can
    /// always be sent while less than half a window is owed.
    pub window: u32,
    /// Units that a frame costs at least: where each fills a buffer, small ones must not be many.
    pub least: u32,
}

impl Terms {
    /// The cost of a frame whose message has `units` units.
    #[inline]
    pub fn cost(self, units: usize) -> u32 {
        (units as u32).max(self.least)
    }
}

/// The credits between this rank and one peer, by channel, in units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Account {
    credit: [u32; 2],
    owed: [u32; 2],
}

impl Account {
    /// Nothing is under way yet.
    pub fn new(terms: Terms) -> Account {
        Account { credit: [terms.window; 2], owed: [0; 2] }
    }

    /// Pays for a frame, if there is enough.
    #[inline]
    pub fn pay(&mut self, channel: Channel, cost: u32) -> bool {
        let credit = &mut self.credit[channel as usize];
        let enough = *credit >= cost;
        if enough {
            *credit -= cost;
        }
        enough
    }

    /// Takes back what was paid for a frame that is not sent.
    pub fn refund(&mut self, channel: Channel, cost: u32) {
        self.credit[channel as usize] += cost;
    }

    /// The peer has returned this much: to be called for every message, as it arrives. Whether it could.
    #[inline]
    pub fn returned(&mut self, units: [u32; 2], terms: Terms) -> bool {
        let mut sound = true;
        for (credit, units) in self.credit.iter_mut().zip(units) {
            *credit = credit.saturating_add(units);
            sound &= *credit <= terms.window;
        }
        sound
    }

    /// A frame of the peer's has been handled.
    #[inline]
    pub fn handled(&mut self, channel: Channel, cost: u32) {
        self.owed[channel as usize] += cost;
    }

    /// Whether so much is owed that it should not wait for a message to go with.
    #[inline]
    pub fn is_due(&self, terms: Terms) -> bool {
        self.owed[0].max(self.owed[1]) >= terms.window / 2
    }

    /// All that is owed, to go with a message.
    #[inline]
    pub fn settle(&mut self) -> [u32; 2] {
        core::mem::take(&mut self.owed)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::collections::{HashSet, VecDeque};

    #[test]
    fn costs() {
        let terms = Terms { window: 100, least: 8 };
        assert_eq!((terms.cost(0), terms.cost(8), terms.cost(9)), (8, 8, 9));
    }

    /// With room for two of the largest frames, a sender whose frames are all handled can always send one
    /// more, though credits are returned late; and never more is under way than the window.
    #[test]
    fn nobody_starves_and_nobody_floods() {
        const LARGEST: usize = 1031;
        let terms = Terms { window: 2 * LARGEST as u32, least: 1 };
        let (mut sender, mut receiver) = (Account::new(terms), Account::new(terms));
        let mut x = 1u64;
        let (mut way, mut total, mut waits) = (Vec::new(), 0, 0);
        for _ in 0..if cfg!(miri) { 400 } else { 20_000 } {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99);
            let cost = terms.cost(if x >> 62 == 0 { LARGEST } else { (x >> 50) as usize % LARGEST });
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
        assert!(waits > if cfg!(miri) { 10 } else { 100 });
        assert!(!sender.returned([0, terms.window + 1], terms), "more than was ever lent");
    }

    /// One of two ranks that send each other requests, some of which are answered by a reply, in steps as
    /// small as they come.
    #[derive(Clone, PartialEq, Eq, Hash)]
    struct Party {
        account: Account,
        /// Requests to be sent: those whose bit is set in `asks` want a reply.
        requests: u32,
        asks: u64,
        /// Replies to come.
        replies: u32,
        /// Messages on their way to it, the oldest first: what is returned, and a frame.
        coming: VecDeque<([u32; 2], Option<Sent>)>,
        /// Frames that came and nobody has taken, by channel, with credits that are not counted yet.
        ready: [VecDeque<([u32; 2], Sent)>; 2],
        /// In a request's handler, which waits for room to reply.
        handling: bool,
    }

    #[derive(Clone, Copy, PartialEq, Eq, Hash)]
    struct Sent {
        channel: Channel,
        asks: bool,
    }

    impl Party {
        fn new(terms: Terms, requests: u32, asks: u64) -> Party {
            let asks = asks & ((1 << requests) - 1);
            Party {
                account: Account::new(terms),
                requests,
                asks,
                replies: asks.count_ones(),
                coming: VecDeque::new(),
                ready: Default::default(),
                handling: false,
            }
        }

        fn is_over(&self) -> bool {
            (self.requests, self.replies, self.handling) == (0, 0, false)
        }

        fn send(&mut self, other: &mut Party, channel: Channel, asks: bool) -> bool {
            let paid = self.account.pay(channel, 1);
            if paid {
                other.coming.push_back((self.account.settle(), Some(Sent { channel, asks })));
            }
            paid
        }

        fn handled(&mut self, other: &mut Party, channel: Channel, terms: Terms) {
            self.account.handled(channel, 1);
            if self.account.is_due(terms) {
                other.coming.push_back((self.account.settle(), None));
            }
        }

        /// Takes a step, if it can. `early`: credits are counted when a message arrives, else when its frame
        /// is taken.
        fn step(&mut self, other: &mut Party, kind: usize, terms: Terms, early: bool) -> bool {
            match kind {
                // A poll of either channel sees what arrives.
                0 => {
                    let Some((units, frame)) = self.coming.pop_front() else { return false };
                    let now = early || frame.is_none();
                    assert!(!now || self.account.returned(units, terms), "never more than was lent");
                    if let Some(frame) = frame {
                        let later = if now { [0; 2] } else { units };
                        self.ready[frame.channel as usize].push_back((later, frame));
                    }
                    true
                }
                1 => {
                    let Some((units, _)) = self.ready[1].pop_front() else { return false };
                    assert!(self.account.returned(units, terms));
                    self.replies -= 1;
                    self.handled(other, Channel::Reply, terms);
                    true
                }
                2 if self.handling => {
                    let sent = self.send(other, Channel::Reply, false);
                    if sent {
                        self.handling = false;
                        self.handled(other, Channel::Request, terms);
                    }
                    sent
                }
                3 if !self.handling => {
                    let Some((units, frame)) = self.ready[0].pop_front() else { return false };
                    assert!(self.account.returned(units, terms));
                    self.handling = frame.asks;
                    if !frame.asks {
                        self.handled(other, Channel::Request, terms);
                    }
                    true
                }
                4 if !self.handling && self.requests > 0 => {
                    let asks = self.asks >> (self.requests - 1) & 1 == 1;
                    let sent = self.send(other, Channel::Request, asks);
                    self.requests -= u32::from(sent);
                    sent
                }
                _ => false,
            }
        }
    }

    const STEPS: usize = 10;

    /// The state after a step of one of the two, if it can be taken.
    fn after(state: &[Party; 2], step: usize, terms: Terms, early: bool) -> Option<[Party; 2]> {
        let mut next = state.clone();
        let [a, b] = &mut next;
        let (mine, other) = if step < STEPS / 2 { (a, b) } else { (b, a) };
        mine.step(other, step % (STEPS / 2), terms, early).then_some(next)
    }

    /// Every order of steps of a few requests, tried: each comes to an end.
    #[test]
    #[cfg_attr(miri, ignore = "explores many states, without unsafe code")]
    fn every_order_comes_to_an_end() {
        for (window, requests) in [(2, [3, 3]), (4, [3, 2]), (4, [1, 8])] {
            let terms = Terms { window, least: 1 };
            let first = requests.map(|requests| Party::new(terms, requests, u64::MAX));
            let (mut known, mut open) = (HashSet::from([first.clone()]), vec![first]);
            while let Some(state) = open.pop() {
                let mut next: Vec<_> = (0..STEPS).filter_map(|s| after(&state, s, terms, true)).collect();
                assert!(!next.is_empty() || state.iter().all(Party::is_over), "window {window}: locked up");
                next.retain(|state| known.insert(state.clone()));
                open.extend(next);
            }
            assert!(known.len() > 1000, "{} states", known.len());
        }
    }

    /// Many requests in random orders: credits that count when they arrive always lead to an end; those on
    /// requests that nobody takes do not, as they would have to.
    #[test]
    #[cfg_attr(miri, ignore = "explores many states, without unsafe code")]
    fn nobody_waits_for_credits_that_have_come() {
        // The first seed that leads to a lock-up.
        let locked = |early: bool, seeds: u64| {
            (1..=seeds).find(|seed| {
                let mut generator = fastrand::Rng::with_seed(*seed);
                let mut random = |below: usize| generator.usize(..below);
                let terms = Terms { window: 4 + 2 * random(5) as u32, least: 1 };
                // Some steps are rare: somebody who is slow at something.
                let weights: Vec<usize> = (0..STEPS).map(|_| 1 << random(6)).collect();
                let mut state = [(); 2].map(|()| {
                    let often = random(2) == 0;
                    let asks = (random(1 << 30) as u64) << 30 | random(1 << 30) as u64;
                    Party::new(terms, 20 + random(30) as u32, if often { u64::MAX } else { asks })
                });
                loop {
                    let next: Vec<_> = (0..STEPS)
                        .filter_map(|s| Some((weights[s], after(&state, s, terms, early)?)))
                        .collect();
                    let Some(total) = (!next.is_empty()).then(|| next.iter().map(|(w, _)| w).sum()) else {
                        return !state.iter().all(Party::is_over);
                    };
                    let mut at = random(total);
                    for (weight, after) in next {
                        if at < weight {
                            state = after;
                            break;
                        }
                        at -= weight;
                    }
                }
            })
        };
        assert_eq!(locked(true, 300), None, "locked up, with this seed");
        assert_ne!(locked(false, 3000), None, "the other rule locks up");
    }
}
