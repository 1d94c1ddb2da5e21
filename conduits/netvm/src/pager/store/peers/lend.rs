//! The donor's side: which batches are lent, and to whom.

use super::Offering;
use super::message::Message;

/// Messages, and their receivers.
pub(super) type Letters = Vec<(u32, Message)>;

/// A batch of the own memory.
#[derive(Debug, Clone, Copy, Default)]
struct Lent {
    to: Option<u32>,
    recalled: bool,
    /// Its key; `None`: it has come back, and the key of those who had it still opens it.
    key: Option<u64>,
}

impl Lent {
    fn is_free(&self) -> bool {
        self.to.is_none() && self.key.is_some()
    }
}

/// The batches of a donor.
#[derive(Debug, Default)]
pub(super) struct Lender {
    /// Where its first slot is.
    at: Option<u64>,
    batches: Vec<Lent>,
    /// Batches that want another key.
    returned: Vec<u32>,
    /// Ranks that were refused, and are told when there is room.
    refused: Vec<u32>,
    /// Nothing more is lent.
    closed: bool,
}

impl Lender {
    /// Offers memory, the first time it is told of it.
    pub(super) fn open(&mut self, offering: &Offering) -> Letters {
        if self.at.is_some() {
            return Vec::new();
        }
        let &Offering { at, ref keys, ref to } = offering;
        self.at = Some(at);
        self.batches = keys.iter().map(|&key| Lent { key: Some(key), ..Lent::default() }).collect();
        let free = self.free();
        to.iter().map(|&to| (to, Message::Offer { free, at })).collect()
    }

    fn free(&self) -> u32 {
        self.batches.iter().filter(|batch| batch.is_free()).count() as u32
    }

    /// Batches that are lent.
    pub(super) fn lent(&self) -> u64 {
        self.batches.iter().filter(|batch| batch.to.is_some()).count() as u64
    }

    /// A batch of those that [`take_returned`](Self::take_returned) gave has another key.
    pub(super) fn renewed(&mut self, number: u32, key: u64) -> Letters {
        if let Some(batch) = self.batches.get_mut(number as usize) {
            batch.key = Some(key);
        }
        self.tell_of_room()
    }

    /// Batches that have come back since the last call.
    pub(super) fn take_returned(&mut self) -> Vec<u32> {
        core::mem::take(&mut self.returned)
    }

    /// Nobody has the batches of a borrower any more, or the one of this number.
    fn take_back(&mut self, from: u32, number: Option<u32>) {
        for (i, batch) in (0..).zip(&mut self.batches) {
            if batch.to == Some(from) && number.is_none_or(|number| number == i) {
                *batch = Lent::default();
                self.returned.push(i);
            }
        }
    }

    fn tell_of_room(&mut self) -> Letters {
        let (free, closed) = (self.free(), self.closed);
        match self.at {
            Some(at) if free > 0 && !closed => {
                self.refused.drain(..).map(|to| (to, Message::Offer { free, at })).collect()
            }
            _ => Vec::new(),
        }
    }

    /// A borrower says something.
    pub(super) fn told(&mut self, from: u32, message: Message) -> Letters {
        match message {
            Message::Ask => return vec![(from, self.grant(from))],
            Message::Return { batch } => self.take_back(from, Some(batch)),
            Message::Leave => {
                self.take_back(from, None);
                self.refused.retain(|&rank| rank != from);
            }
            _ => {}
        }
        self.tell_of_room()
    }

    fn grant(&mut self, to: u32) -> Message {
        let free = self.free();
        let batch = self.batches.iter_mut().enumerate().find(|(_, batch)| batch.is_free());
        match batch {
            Some((number, batch)) if !self.closed => {
                batch.to = Some(to);
                Message::Grant { batch: number as u32, free: free - 1, key: batch.key.unwrap_or_default() }
            }
            _ => {
                if !self.refused.contains(&to) {
                    self.refused.push(to);
                }
                Message::Refuse
            }
        }
    }

    /// Asks for up to `most` lent batches back. All of them: nothing more is lent.
    pub(super) fn recall(&mut self, most: u32) -> Letters {
        self.closed |= most == u32::MAX;
        let mut letters = Vec::new();
        for (number, batch) in self.batches.iter_mut().enumerate() {
            if letters.len() < most as usize
                && !batch.recalled
                && let Some(to) = batch.to
            {
                batch.recalled = true;
                letters.push((to, Message::Recall { batch: number as u32 }));
                // It counts on nothing here until it is told that there is something.
                if !self.refused.contains(&to) {
                    self.refused.push(to);
                }
            }
        }
        letters
    }

    /// Waits for nothing any more: what was not given back is lost.
    pub(super) fn give_up(&mut self) -> Letters {
        let mut borrowers: Vec<u32> = self.batches.iter().filter_map(|batch| batch.to).collect();
        borrowers.sort_unstable();
        borrowers.dedup();
        self.batches.clear();
        borrowers.into_iter().map(|to| (to, Message::Gone)).collect()
    }
}
