//! The donor's side: which batches are lent, and to whom.

use super::Offering;
use super::message::{Area, Message};

/// Messages, and their receivers.
pub(super) type Letters = Vec<(u32, Message)>;

/// A batch of the own memory.
#[derive(Debug, Clone, Copy, Default)]
struct Lent {
    to: Option<u32>,
    recalled: bool,
}

/// The batches of a donor.
#[derive(Debug, Default)]
pub(super) struct Lender {
    area: Option<Area>,
    batches: Vec<Lent>,
    /// Ranks that were refused, and are told when there is room.
    refused: Vec<u32>,
    /// Nothing more is lent.
    closed: bool,
}

impl Lender {
    /// Offers memory, the first time it is told of it.
    pub(super) fn open(&mut self, offering: &Offering) -> Letters {
        if self.area.is_some() {
            return Vec::new();
        }
        let &Offering { area, batches, ref to } = offering;
        self.area = Some(area);
        self.batches = vec![Lent::default(); batches as usize];
        to.iter().map(|&to| (to, Message::Offer { free: batches, area })).collect()
    }

    fn free(&self) -> u32 {
        self.batches.iter().filter(|batch| batch.to.is_none()).count() as u32
    }

    /// Batches that are lent.
    pub(super) fn lent(&self) -> u64 {
        self.batches.len() as u64 - u64::from(self.free())
    }

    /// A borrower says something.
    pub(super) fn told(&mut self, from: u32, message: Message) -> Letters {
        match message {
            Message::Ask => return vec![(from, self.grant(from))],
            Message::Return { batch } => {
                if let Some(lent) = self.batches.get_mut(batch as usize)
                    && lent.to == Some(from)
                {
                    *lent = Lent::default();
                }
            }
            Message::Leave => {
                self.batches.iter_mut().filter(|b| b.to == Some(from)).for_each(|b| *b = Lent::default());
                self.refused.retain(|&rank| rank != from);
            }
            _ => {}
        }
        let (free, closed) = (self.free(), self.closed);
        match self.area {
            Some(area) if free > 0 && !closed => {
                self.refused.drain(..).map(|to| (to, Message::Offer { free, area })).collect()
            }
            _ => Vec::new(),
        }
    }

    fn grant(&mut self, to: u32) -> Message {
        let free = self.free();
        let batch = self.batches.iter_mut().enumerate().find(|(_, batch)| batch.to.is_none());
        match batch {
            Some((number, batch)) if !self.closed => {
                batch.to = Some(to);
                Message::Grant { batch: number as u32, free: free - 1 }
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
