//! The five atomics of a NIC, on words of 32 bits.

use crate::atomics::{Function, Operation, WordType};
use crate::{GlobalPtr, Rank};

/// The atomics that a NIC has, by their names there, on words of any rank. [`Rank::atomics`] has all
/// operations, on words of all types. The owner, too, must use either (or its processor's own atomics).
#[derive(Debug, Clone, Copy)]
pub struct NicAtomics<'r> {
    rank: &'r Rank,
}

impl<'r> NicAtomics<'r> {
    /// Those of this rank.
    pub fn new(rank: &'r Rank) -> NicAtomics<'r> {
        NicAtomics { rank }
    }

    fn run(&self, at: GlobalPtr<u32>, function: Function, a: u32, b: u32) -> u32 {
        let op = Operation { function, word: WordType::U32 };
        self.rank.atomics().apply(at.rank(), at.offset(), op, a.into(), b.into()) as u32
    }

    /// Sets the word to 1 if it is 0. True: this call did it.
    pub fn test_and_set(&self, at: GlobalPtr<u32>) -> bool {
        self.run(at, Function::CompareSwap, 0, 1) == 0
    }

    /// Adds 1; returns what it was.
    pub fn incr(&self, at: GlobalPtr<u32>) -> u32 {
        self.run(at, Function::Inc, 0, 0)
    }

    /// Subtracts 1; returns what it was.
    pub fn decr(&self, at: GlobalPtr<u32>) -> u32 {
        self.run(at, Function::Dec, 0, 0)
    }

    /// Sets the word; returns what it was.
    pub fn swap(&self, at: GlobalPtr<u32>, value: u32) -> u32 {
        self.run(at, Function::Set, value, 0)
    }

    /// Sets the word if it is `expected`; returns what it was.
    pub fn compare_swap(&self, at: GlobalPtr<u32>, expected: u32, value: u32) -> u32 {
        self.run(at, Function::CompareSwap, expected, value)
    }
}
