//! What the home NIC computes: from the words in memory and the arguments to new words and a reply. All in constant time.
//!
//! The queue operations work on four words (head, tail, count of waiters, promised wake-ups), those of semaphores on a fifth
//! (value). Processes are numbers from 1; [`EMPTY`] is none.
//!
//! **Departure from the published operations.** While the head is in flux, the published `dequeue` promises a wake-up for
//! every call, also for more than there are waiters; the surplus wakes a later process of a plain queue, and blocks one of a
//! semaphore for ever. Here both ask whether a waiter without a promise is left: `count - promised > 0`.

/// No process.
pub const EMPTY: u32 = 0;
/// Count in a dequeue's reply when there was nothing to dequeue.
pub const NOBODY: u32 = u32::MAX;

/// Most words of an operand.
pub const OPERAND: usize = 5;
/// Most words of a reply.
pub const REPLY: usize = 3;

/// An operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Op {
    /// Set to 1 if 0; replies 1 if it did so, else 0.
    TestAndSet = 1,
    /// Add 1; replies the old value.
    Incr = 2,
    /// Subtract 1; replies the old value.
    Decr = 3,
    /// Set to the first argument; replies the old value.
    Swap = 4,
    /// Set to the second argument if it equals the first; replies the old value.
    CompareSwap = 5,
    /// Queue: append the process in the first argument; replies the one before it, or [`EMPTY`].
    Enqueue = 6,
    /// Queue: take the head off; replies it (or [`EMPTY`]) and the number of those left (or [`NOBODY`]).
    Dequeue = 7,
    /// Queue: the process in the first argument is now the head; replies (1, number of those behind it) if it must be
    /// woken at once, else (0, number of waiters).
    NewHead = 8,
    /// Semaphore: take one, or append the process in the first argument; replies (the one before it, old value).
    SemP = 9,
    /// Semaphore: dequeue, or give one; replies (head, number left, new value).
    SemV = 10,
}

impl Op {
    /// All of them.
    pub const ALL: [Op; 10] = [
        Op::TestAndSet,
        Op::Incr,
        Op::Decr,
        Op::Swap,
        Op::CompareSwap,
        Op::Enqueue,
        Op::Dequeue,
        Op::NewHead,
        Op::SemP,
        Op::SemV,
    ];

    /// The operation with this number.
    pub fn parse(number: u32) -> Option<Op> {
        Op::ALL.get((number as usize).checked_sub(1)?).copied()
    }

    /// Words that it works on.
    pub fn operand_words(self) -> usize {
        match self {
            Op::TestAndSet | Op::Incr | Op::Decr | Op::Swap | Op::CompareSwap => 1,
            Op::Enqueue | Op::Dequeue | Op::NewHead => 4,
            Op::SemP | Op::SemV => 5,
        }
    }

    /// Bytes that it works on.
    pub fn operand_bytes(self) -> usize {
        self.operand_words() * 4
    }

    /// Where operands must start, in bytes: so that none straddles a page.
    pub fn alignment(self) -> usize {
        self.operand_bytes().next_power_of_two()
    }

    /// Words of its reply.
    pub fn reply_words(self) -> usize {
        match self {
            Op::Dequeue | Op::NewHead | Op::SemP => 2,
            Op::SemV => 3,
            _ => 1,
        }
    }

    /// Does it: changes the first [`operand_words`](Self::operand_words) of `m`, and replies.
    pub fn apply(self, m: &mut [u32; OPERAND], args: [u32; 4]) -> [u32; REPLY] {
        let old = m[0];
        match self {
            Op::TestAndSet => {
                if old == 0 {
                    m[0] = 1;
                }
                [u32::from(old == 0), 0, 0]
            }
            Op::Incr => {
                m[0] = old.wrapping_add(1);
                [old, 0, 0]
            }
            Op::Decr => {
                m[0] = old.wrapping_sub(1);
                [old, 0, 0]
            }
            Op::Swap => {
                m[0] = args[0];
                [old, 0, 0]
            }
            Op::CompareSwap => {
                if old == args[0] {
                    m[0] = args[1];
                }
                [old, 0, 0]
            }
            Op::Enqueue => [enqueue(m, args[0]), 0, 0],
            Op::Dequeue => {
                let (head, left) = dequeue(m);
                [head, left, 0]
            }
            Op::NewHead => {
                let [_, _, count, promised, _] = m;
                if *promised > 0 {
                    *promised -= 1;
                    *count = count.wrapping_sub(1);
                    [1, *count, 0]
                } else {
                    m[0] = args[0];
                    [0, m[2], 0]
                }
            }
            Op::SemP => {
                let value = m[4];
                if value > 0 {
                    m[4] -= 1;
                    return [EMPTY, value, 0];
                }
                [enqueue(m, args[0]), 0, 0]
            }
            Op::SemV => {
                if unpromised(m) {
                    let (head, left) = dequeue(m);
                    return [head, left, m[4]];
                }
                m[4] = m[4].wrapping_add(1);
                [EMPTY, NOBODY, m[4]]
            }
        }
    }
}

/// Whether a waiter is left that no wake-up was promised to.
fn unpromised(m: &[u32; OPERAND]) -> bool {
    m[2] > m[3]
}

fn enqueue(m: &mut [u32; OPERAND], process: u32) -> u32 {
    let [head, tail, count, _, _] = m;
    *count = count.wrapping_add(1);
    let before = if *count == 1 {
        *head = process;
        EMPTY
    } else {
        *tail
    };
    *tail = process;
    before
}

fn dequeue(m: &mut [u32; OPERAND]) -> (u32, u32) {
    if !unpromised(m) {
        return (EMPTY, NOBODY);
    }
    let [head, _, count, promised, _] = m;
    if *head == EMPTY {
        *promised += 1;
        return (EMPTY, *count);
    }
    *count -= 1;
    (core::mem::replace(head, EMPTY), *count)
}
