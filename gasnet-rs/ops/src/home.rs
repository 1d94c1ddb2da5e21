//! The operations of a home NIC (`netvm-fw`): they compute new words and a reply from the words in memory and
//! the arguments. All take constant time.
//!
//! The queue operations work on four words (head, tail, count of waiters, promised wake-ups), the semaphore
//! operations on a fifth (value) as well. Processes are numbered from 1; [`NO_PROCESS`] is no process.
//!
//! **Departure from the published operations.** While the head is in flux, the published `dequeue` promises a
//! wake-up for every call, even when there are fewer waiters. The surplus promise wakes a later process of a
//! plain queue, and blocks a process of a semaphore for ever. Here both operations ask whether a waiter
//! without a promise is left: `count - promised > 0`.

/// No process.
pub const NO_PROCESS: u32 = 0;
/// The count in a dequeue's reply when the queue was empty.
pub const QUEUE_WAS_EMPTY: u32 = u32::MAX;

/// Most words of an operand.
pub const MAX_OPERAND_WORDS: usize = 5;
/// Most words of a reply.
pub const REPLY_WORDS: usize = 3;

/// An operation of a home NIC. Words have 32 bits; processes are numbers from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum HomeOp {
    /// Set to 1 if 0; replies 1 if it did so, else 0.
    TestAndSet = 1,
    /// Add 1; replies the old value.
    Incr = 2,
    /// Subtract 1; replies the old value.
    Decr = 3,
    /// Set to the first argument; replies the old value.
    Swap = 4,
    /// If it equals the first argument, set to the second; replies the old value.
    CompareSwap = 5,
    /// Queue: append the process in the first argument; replies the process before it, or [`NO_PROCESS`].
    Enqueue = 6,
    /// Queue: remove the head; replies the head (or [`NO_PROCESS`]) and the number of processes left (or
    /// [`QUEUE_WAS_EMPTY`]).
    Dequeue = 7,
    /// Queue: the process in the first argument is now the head; replies (1, number of processes behind it)
    /// if it must be woken at once, else (0, number of waiters).
    NewHead = 8,
    /// Semaphore: take one, or append the process in the first argument; replies (the process before it, old
    /// value).
    SemP = 9,
    /// Semaphore: dequeue, or give one; replies (head, number left, new value).
    SemV = 10,
}

impl HomeOp {
    /// All operations.
    pub const ALL: [HomeOp; 10] = [
        HomeOp::TestAndSet,
        HomeOp::Incr,
        HomeOp::Decr,
        HomeOp::Swap,
        HomeOp::CompareSwap,
        HomeOp::Enqueue,
        HomeOp::Dequeue,
        HomeOp::NewHead,
        HomeOp::SemP,
        HomeOp::SemV,
    ];

    /// The operation with this number.
    pub fn parse(number: u32) -> Option<HomeOp> {
        HomeOp::ALL.get((number as usize).checked_sub(1)?).copied()
    }

    /// Number of words that it works on.
    pub fn operand_words(self) -> usize {
        match self {
            HomeOp::TestAndSet | HomeOp::Incr | HomeOp::Decr | HomeOp::Swap | HomeOp::CompareSwap => 1,
            HomeOp::Enqueue | HomeOp::Dequeue | HomeOp::NewHead => 4,
            HomeOp::SemP | HomeOp::SemV => 5,
        }
    }

    /// Number of bytes that it works on.
    pub fn operand_bytes(self) -> usize {
        self.operand_words() * 4
    }

    /// Alignment of operands in bytes, chosen so that none straddles a page.
    pub fn alignment(self) -> usize {
        self.operand_bytes().next_power_of_two()
    }

    /// Whether it may be carried out at an offset of a segment of so many bytes; else what is wrong.
    ///
    /// # Errors
    /// Not inside the segment, or not aligned.
    pub fn check(self, offset: u64, segment: u64) -> Result<(), String> {
        let (bytes, align) = (self.operand_bytes() as u64, self.alignment() as u64);
        if offset.checked_add(bytes).is_none_or(|end| end > segment) {
            return Err(format!(
                "{self:?} works on {bytes} bytes, at offset {offset:#x} of a segment of {segment:#x} bytes"
            ));
        }
        if !offset.is_multiple_of(align) {
            return Err(format!("{self:?} at offset {offset:#x}, which is no multiple of {align}"));
        }
        Ok(())
    }

    /// Number of words of its reply.
    pub fn reply_words(self) -> usize {
        match self {
            HomeOp::Dequeue | HomeOp::NewHead | HomeOp::SemP => 2,
            HomeOp::SemV => 3,
            HomeOp::TestAndSet
            | HomeOp::Incr
            | HomeOp::Decr
            | HomeOp::Swap
            | HomeOp::CompareSwap
            | HomeOp::Enqueue => 1,
        }
    }

    /// Performs it: changes the first [`operand_words`](Self::operand_words) of `m`, and returns the reply.
    pub fn apply(self, m: &mut [u32; MAX_OPERAND_WORDS], args: [u32; 4]) -> [u32; REPLY_WORDS] {
        let old = m[0];
        match self {
            HomeOp::TestAndSet => {
                if old == 0 {
                    m[0] = 1;
                }
                [u32::from(old == 0), 0, 0]
            }
            HomeOp::Incr => {
                m[0] = old.wrapping_add(1);
                [old, 0, 0]
            }
            HomeOp::Decr => {
                m[0] = old.wrapping_sub(1);
                [old, 0, 0]
            }
            HomeOp::Swap => {
                m[0] = args[0];
                [old, 0, 0]
            }
            HomeOp::CompareSwap => {
                if old == args[0] {
                    m[0] = args[1];
                }
                [old, 0, 0]
            }
            HomeOp::Enqueue => [enqueue(m, args[0]), 0, 0],
            HomeOp::Dequeue => {
                let (head, left) = dequeue(m);
                [head, left, 0]
            }
            HomeOp::NewHead => {
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
            HomeOp::SemP => {
                let value = m[4];
                if value > 0 {
                    m[4] -= 1;
                    return [NO_PROCESS, value, 0];
                }
                [enqueue(m, args[0]), 0, 0]
            }
            HomeOp::SemV => {
                if unpromised(m) {
                    let (head, left) = dequeue(m);
                    return [head, left, m[4]];
                }
                m[4] = m[4].wrapping_add(1);
                [NO_PROCESS, QUEUE_WAS_EMPTY, m[4]]
            }
        }
    }
}

/// Whether a waiter without a promised wake-up is left.
fn unpromised(m: &[u32; MAX_OPERAND_WORDS]) -> bool {
    m[2] > m[3]
}

fn enqueue(m: &mut [u32; MAX_OPERAND_WORDS], process: u32) -> u32 {
    let [head, tail, count, _, _] = m;
    *count = count.wrapping_add(1);
    let before = if *count == 1 {
        *head = process;
        NO_PROCESS
    } else {
        *tail
    };
    *tail = process;
    before
}

fn dequeue(m: &mut [u32; MAX_OPERAND_WORDS]) -> (u32, u32) {
    if !unpromised(m) {
        return (NO_PROCESS, QUEUE_WAS_EMPTY);
    }
    let [head, _, count, promised, _] = m;
    if *head == NO_PROCESS {
        *promised += 1;
        return (NO_PROCESS, *count);
    }
    *count -= 1;
    (core::mem::replace(head, NO_PROCESS), *count)
}
