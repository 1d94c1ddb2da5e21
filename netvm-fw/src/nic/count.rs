//! The state of a port in the NIC: the progress of its commands, reads and acknowledged writes.

use std::collections::VecDeque;
use std::sync::Arc;

use super::trigger::Triggers;
use super::{Nic, NicAction};
use crate::ids::PortId;
use crate::port::{Counter, PortMemory, Post};

/// How many members of a sequence are done, counted from the start without a gap.
#[derive(Debug, Default)]
pub(super) struct Prefix {
    issued: u32,
    done: u32,
    /// For the members after `done`: whether they are done as well.
    ahead: VecDeque<bool>,
}

impl Prefix {
    /// Returns the number of the next member.
    pub(super) fn issue(&mut self) -> u32 {
        let number = self.issued;
        self.issued = number.wrapping_add(1);
        number
    }

    /// Whether a member was issued and is not done.
    fn is_under_way(&self, number: u32) -> bool {
        let ahead = number.wrapping_sub(self.done);
        ahead < self.issued.wrapping_sub(self.done) && self.ahead.get(ahead as usize) != Some(&true)
    }

    /// A member is done; returns the count from the start, or `None` if the member is not under way.
    pub(super) fn mark(&mut self, number: u32) -> Option<u32> {
        if !self.is_under_way(number) {
            return None;
        }
        let ahead = number.wrapping_sub(self.done);
        if ahead > 0 {
            let ahead = ahead as usize;
            if self.ahead.len() <= ahead {
                self.ahead.resize(ahead + 1, false);
            }
            self.ahead[ahead] = true;
            return Some(self.done);
        }
        self.ahead.pop_front();
        self.done = self.done.wrapping_add(1);
        while self.ahead.front() == Some(&true) {
            self.ahead.pop_front();
            self.done = self.done.wrapping_add(1);
        }
        Some(self.done)
    }
}

/// The state of a port in the NIC.
#[derive(Debug)]
pub(super) struct PortState {
    pub(super) memory: Arc<PortMemory>,
    counts: [Prefix; 3],
    posted: [u32; 3],
    /// Cookies of atomics under way.
    pub(super) atomics: Vec<u32>,
    pub(super) refused: u32,
    pub(super) triggers: Triggers,
    /// Whether it is a pager's.
    pub(super) paging: bool,
}

impl PortState {
    pub(super) fn new(memory: Arc<PortMemory>, paging: bool) -> PortState {
        let triggers = Triggers::default();
        PortState {
            memory,
            counts: Default::default(),
            posted: [0; 3],
            atomics: Vec::new(),
            refused: 0,
            triggers,
            paging,
        }
    }

    pub(super) fn is_under_way(&self, which: Counter, number: u32) -> bool {
        self.counts[which as usize].is_under_way(number)
    }

    pub(super) fn issue(&mut self, which: Counter) -> u32 {
        self.counts[which as usize].issue()
    }
}

impl Nic {
    /// One of a port's operations is done. Returns false if it was done before, or never begun.
    pub(super) fn count(
        &mut self,
        port: PortId,
        which: Counter,
        number: u32,
        out: &mut Vec<NicAction>,
    ) -> bool {
        let Some(state) = self.ports.get_mut(&port) else { return false };
        let i = which as usize;
        let before = state.counts[i].done;
        let Some(done) = state.counts[i].mark(number) else { return false };
        if done != before && state.memory.count(which, done, state.posted[i]) {
            state.posted[i] = done;
            out.push(NicAction::Post(port, Post::Count(which, done)));
        }
        true
    }

    /// One of a port's operations was refused.
    pub(super) fn count_refusal(&mut self, port: PortId, out: &mut Vec<NicAction>) {
        let Some(state) = self.ports.get_mut(&port) else { return };
        state.refused = state.refused.wrapping_add(1);
        out.push(NicAction::Post(port, Post::Refused(state.refused)));
    }

    /// The answer to an atomic or lease. Returns false if it was answered before.
    pub(super) fn answer(
        &mut self,
        port: PortId,
        cookie: u32,
        words: Option<[u32; gasnet_ops::home::REPLY_WORDS]>,
        out: &mut Vec<NicAction>,
    ) -> bool {
        let Some(state) = self.ports.get_mut(&port) else { return false };
        let Some(i) = state.atomics.iter().position(|&c| c == cookie) else { return false };
        state.atomics.swap_remove(i);
        out.push(NicAction::Post(port, Post::Reply { cookie, words }));
        true
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_counts_without_gaps() {
        let mut prefix = Prefix { issued: u32::MAX - 1, done: u32::MAX - 1, ..Prefix::default() };
        let numbers: Vec<u32> = (0..5).map(|_| prefix.issue()).collect();
        assert_eq!(prefix.mark(numbers[2]), Some(numbers[0]));
        assert_eq!(prefix.mark(numbers[2]), None, "noted before");
        assert_eq!(prefix.mark(numbers[1]), Some(numbers[0]));
        assert_eq!(prefix.mark(numbers[0]), Some(numbers[3]));
        assert_eq!(prefix.mark(numbers[0]), None, "done before");
        assert_eq!(prefix.mark(numbers[4].wrapping_add(1)), None, "never issued");
        assert_eq!(prefix.mark(numbers[4]), Some(numbers[3]));
        assert_eq!(prefix.mark(numbers[3]), Some(numbers[4].wrapping_add(1)));
        assert!(prefix.ahead.is_empty());
    }
}
