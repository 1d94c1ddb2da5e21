//! The words at an object's home, and how they are changed: by compare-and-swap of one packed word
//! ([`QueueWord`]), over any conduit; or, where the conduit's NICs do such operations by themselves
//! ([`port`](super::port)), by the home's NIC, with no processor but the caller's.
//!
//! NICs have words of 32 bits: head, tail, waiters, promised wake-ups, value. Only they touch them once an
//! object is made. Cells are reached by puts there, which NICs carry out as well.

use super::line::{QueueWord, Signal, VALUE};
use super::port::{HomeOp, NicPort};
use crate::{GlobalPtr, Rank};

/// Words from the first of a NIC's to others.
const COUNT_AT: usize = 2;
pub(super) const VALUE_AT: usize = 4;
/// Reply of a NIC that found nobody in a queue.
const NOBODY: u32 = u32::MAX;

/// Home words of an object, seen from a rank.
#[derive(Debug, Clone, Copy)]
pub(super) struct Home<'r> {
    rank: &'r Rank,
    at: GlobalPtr<u64>,
}

impl<'r> Home<'r> {
    /// At this place, a line of memory.
    pub(super) fn new(rank: &'r Rank, at: GlobalPtr<u64>) -> Home<'r> {
        Home { rank, at }
    }

    /// The first contents of the line: an empty queue, and a value.
    pub(super) fn first(rank: &Rank, value: u64) -> [u64; 8] {
        let mut words = [0; 8];
        match rank.wire.nic_port() {
            Some(_) => words[VALUE_AT / 2] = value,
            None => words[0] = QueueWord { value, ..QueueWord::default() }.pack(),
        }
        words
    }

    fn nic(&self, port: &dyn NicPort, word: usize, op: HomeOp, args: [u32; 2]) -> [u32; 3] {
        let offset = self.at.offset() + 4 * word as u64;
        let args = [args[0], args[1], 0, 0];
        let mut cookie = None;
        self.rank.wait_until("room for a NIC's operation", || {
            cookie = port.atomic(self.at.rank(), offset, op, args);
            cookie.is_some()
        });
        let mut reply = None;
        self.rank.wait_until("a NIC's operation", || {
            reply = cookie.and_then(|cookie| port.reply(cookie));
            reply.is_some()
        });
        reply.unwrap_or_default()
    }

    /// An operation of the home's NIC, where there is one.
    pub(super) fn ask(&self, word: usize, op: HomeOp, args: [u32; 2]) -> u32 {
        let port = self.rank.wire.nic_port().expect("made where NICs work by themselves");
        self.nic(port, word, op, args)[0]
    }

    /// Wakes one, or adds one to a value that was just taken from. Where there is a NIC.
    pub(super) fn put_back(&self) -> Signal {
        let port = self.rank.wire.nic_port().expect("made where NICs work by themselves");
        let [head, left, _] = self.nic(port, 0, HomeOp::SemV, [0; 2]);
        Home::signal(head, left)
    }

    /// A word of a NIC's.
    pub(super) fn word(&self, word: usize) -> u32 {
        self.rank.read(self.at.cast::<u32>().add(word))
    }

    /// Changes the packed line by `f` in one step; returns what `f` said.
    fn change<R>(&self, mut f: impl FnMut(&mut QueueWord) -> R) -> R {
        // An addition of nothing: it fetches the line for writing, which a load would have to ask for again.
        let mut old = self.rank.atomics().fetch_add(self.at, 0);
        loop {
            let mut line = QueueWord::unpack(old);
            let result = f(&mut line);
            // Also when nothing changes: it must have been so at one moment, and what came before is visible.
            let seen = self.rank.atomics().compare_swap(self.at, old, line.pack());
            if seen == old {
                return result;
            }
            old = seen;
        }
    }

    /// As [`QueueWord::enqueue`].
    pub(super) fn enqueue(&self, process: u64) -> u64 {
        match self.rank.wire.nic_port() {
            None => self.change(|line| line.enqueue(process)),
            Some(port) => self.nic(port, 0, HomeOp::Enqueue, [process as u32, 0])[0].into(),
        }
    }

    fn signal(head: u32, left: u32) -> Signal {
        match (head, left) {
            (0, NOBODY) => Signal::Nobody,
            (0, _) => Signal::Promised,
            (head, left) => Signal::Wake(head.into(), left.into()),
        }
    }

    /// As [`QueueWord::dequeue`].
    pub(super) fn dequeue(&self) -> Signal {
        match self.rank.wire.nic_port() {
            None => self.change(QueueWord::dequeue),
            Some(port) => {
                let [head, left, _] = self.nic(port, 0, HomeOp::Dequeue, [0; 2]);
                Home::signal(head, left)
            }
        }
    }

    /// As [`QueueWord::new_head`].
    pub(super) fn new_head(&self, process: u64) -> Option<u64> {
        match self.rank.wire.nic_port() {
            None => self.change(|line| line.new_head(process)),
            Some(port) => {
                let [woken, left, _] = self.nic(port, 0, HomeOp::NewHead, [process as u32, 0]);
                (woken == 1).then(|| left.into())
            }
        }
    }

    /// As [`QueueWord::take`].
    pub(super) fn take(&self, process: u64) -> Option<u64> {
        match self.rank.wire.nic_port() {
            None => self.change(|line| line.take(process)),
            Some(port) => {
                let [before, value, _] = self.nic(port, 0, HomeOp::SemP, [process as u32, 0]);
                (value == 0).then(|| before.into())
            }
        }
    }

    /// Takes one from the value if there is one.
    pub(super) fn try_take(&self) -> bool {
        let Some(port) = self.rank.wire.nic_port() else {
            return self.change(|line| {
                let there = line.value > 0;
                line.value -= u64::from(there);
                there
            });
        };
        let mut value = self.word(VALUE_AT);
        while value > 0 {
            let seen = self.nic(port, VALUE_AT, HomeOp::CompareSwap, [value, value - 1])[0];
            if seen == value {
                return true;
            }
            value = seen;
        }
        false
    }

    /// As [`QueueWord::give`]; `None`: the value is as large as it may be.
    pub(super) fn give(&self) -> Option<Signal> {
        let Some(port) = self.rank.wire.nic_port() else {
            return self.change(|line| (line.value < VALUE).then(|| line.give()));
        };
        // NICs count on: looked at before, so a value that many give to at a time may go beyond by as many.
        if u64::from(self.word(VALUE_AT)) >= VALUE {
            return None;
        }
        let [head, left, _] = self.nic(port, 0, HomeOp::SemV, [0; 2]);
        Some(Home::signal(head, left))
    }

    /// Processes that wait and have no wake-up promised, or a few more.
    pub(super) fn waiting(&self) -> u64 {
        match self.rank.wire.nic_port() {
            None => self.change(|line| line.count - line.promised),
            Some(_) => self.word(COUNT_AT).into(),
        }
    }

    /// A semaphore's value.
    pub(super) fn value(&self) -> u64 {
        match self.rank.wire.nic_port() {
            None => self.change(|line| line.value),
            Some(_) => self.word(VALUE_AT).into(),
        }
    }

    /// The last in a lock's line; sets it.
    pub(super) fn swap(&self, process: u64) -> u64 {
        match self.rank.wire.nic_port() {
            None => self.rank.atomics().swap(self.at, process),
            Some(port) => self.nic(port, 0, HomeOp::Swap, [process as u32, 0])[0].into(),
        }
    }

    /// The same, if it is `expected`.
    pub(super) fn compare_swap(&self, expected: u64, process: u64) -> u64 {
        match self.rank.wire.nic_port() {
            None => self.rank.atomics().compare_swap(self.at, expected, process),
            Some(port) => self.nic(port, 0, HomeOp::CompareSwap, [expected as u32, process as u32])[0].into(),
        }
    }

    /// The last in a lock's line.
    pub(super) fn last(&self) -> u64 {
        match self.rank.wire.nic_port() {
            None => self.rank.atomics().load(self.at),
            Some(_) => self.word(0).into(),
        }
    }
}

/// Writes a word of a process's cell, after all that this rank did before.
pub(super) fn tell(rank: &Rank, cell: GlobalPtr<u64>, word: u64) {
    match rank.wire.nic_port() {
        None => rank.atomics().store(cell, word),
        // By the NICs; what came before is in place, since blocking puts are.
        Some(_) => rank.write(cell, word),
    }
}
