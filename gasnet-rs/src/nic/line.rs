//! The home word of wait queues and semaphores: head and tail of the line, how many wait, wake-ups that are promised, and a
//! semaphore's value. All in 64 bits, so that a compare-and-swap does an operation.
//!
//! Who is woken makes the one behind it the head. Until it has done so the head is *in flux*: whoever signals then leaves a promise,
//! which the new head is woken by. Promises are only made to waiters that have none (`count - promised`): promising more is what loses
//! wake-ups in the published algorithm.

/// The most ranks a line can name.
pub(super) const RANKS: u32 = 4095;
/// The largest value of a semaphore.
pub(super) const VALUE: u64 = 0xffff;

/// The word, unpacked. Ranks are processes: from 1, 0 is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Line {
    pub(super) head: u64,
    pub(super) tail: u64,
    pub(super) count: u64,
    pub(super) promised: u64,
    pub(super) value: u64,
}

/// What a signal found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Signal {
    /// This process must be woken, and told how many it leaves behind.
    Wake(u64, u64),
    /// Whoever becomes the head will be woken.
    Promised,
    /// Nobody waits.
    Nobody,
}

impl Line {
    pub(super) fn unpack(word: u64) -> Line {
        let field = |shift: u32| word >> shift & 0xfff;
        Line { head: field(0), tail: field(12), count: field(24), promised: field(36), value: word >> 48 }
    }

    pub(super) fn pack(self) -> u64 {
        self.head | self.tail << 12 | self.count << 24 | self.promised << 36 | self.value << 48
    }

    /// Appends a process; returns the one before it, or 0.
    pub(super) fn enqueue(&mut self, process: u64) -> u64 {
        self.count += 1;
        let before = if self.count == 1 {
            self.head = process;
            0
        } else {
            self.tail
        };
        self.tail = process;
        before
    }

    pub(super) fn dequeue(&mut self) -> Signal {
        if self.count == self.promised {
            return Signal::Nobody;
        }
        if self.head == 0 {
            self.promised += 1;
            return Signal::Promised;
        }
        self.count -= 1;
        Signal::Wake(core::mem::take(&mut self.head), self.count)
    }

    /// This process is the head now. `Some(left)`: it must be woken at once, and leaves so many behind.
    pub(super) fn new_head(&mut self, process: u64) -> Option<u64> {
        if self.promised == 0 {
            self.head = process;
            return None;
        }
        self.promised -= 1;
        self.count -= 1;
        Some(self.count)
    }

    /// Takes one from the value. `None`: it is 0, and the process was appended; else as for [`enqueue`](Self::enqueue).
    pub(super) fn take(&mut self, process: u64) -> Option<u64> {
        if self.value > 0 {
            self.value -= 1;
            return None;
        }
        Some(self.enqueue(process))
    }

    /// Wakes one, or adds one to the value (which must be below [`VALUE`]).
    pub(super) fn give(&mut self) -> Signal {
        let signal = self.dequeue();
        if signal == Signal::Nobody {
            self.value += 1;
        }
        signal
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn words_hold_lines() {
        for line in [
            Line::default(),
            Line { head: 4095, tail: 1, count: 4095, promised: 7, value: VALUE },
            Line { head: 1, tail: 4095, count: 2, promised: 4095, value: 3 },
        ] {
            assert_eq!(Line::unpack(line.pack()), line);
        }
    }

    #[test]
    fn promises_go_to_waiters_only() {
        let mut line = Line::default();
        assert_eq!(line.take(1), Some(0));
        assert_eq!(line.take(2), Some(1));
        assert_eq!(line.give(), Signal::Wake(1, 1));
        assert_eq!(line.give(), Signal::Promised);
        assert_eq!(line.give(), Signal::Nobody, "counted, and not promised to nobody");
        assert_eq!(line.new_head(2), Some(0));
        assert_eq!(line.take(3), None);
        assert_eq!(line, Line { tail: 2, ..Line::default() });
    }

    /// One process after the other: a line is a queue.
    #[test]
    fn lines_are_queues() {
        let mut line = Line::default();
        let mut queue = std::collections::VecDeque::new();
        let mut random = 1u64;
        let mut next = 0;
        for _ in 0..10_000 {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            if random.is_multiple_of(2) && queue.len() < 4000 {
                next = next % 4095 + 1;
                assert_eq!(line.enqueue(next), queue.back().copied().unwrap_or(0));
                queue.push_back(next);
                continue;
            }
            match queue.pop_front() {
                None => assert_eq!(line.dequeue(), Signal::Nobody),
                Some(head) => {
                    assert_eq!(line.dequeue(), Signal::Wake(head, queue.len() as u64));
                    if let Some(&second) = queue.front() {
                        assert_eq!(line.new_head(second), None);
                    }
                }
            }
        }
    }
}
