//! The types of the table's columns.

use crate::word::WordType;

/// The types that a function is defined on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Types {
    /// All of them.
    All,
    /// Not floats.
    Integers,
}

/// A value that is made from the operands of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operand {
    /// Zero.
    Nothing,
    /// The first operand.
    A,
    /// The second operand.
    B,
    /// The first operand with the other sign.
    MinusA,
    /// One, in the type of the word.
    One,
    /// Minus one, in the type of the word.
    MinusOne,
}

/// The processor's instruction for an operation on integers. Operations without one are a loop over a
/// compare-and-swap, as are the arithmetic operations on floats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Instruction {
    /// A load.
    Load,
    /// An exchange for the first operand.
    Swap,
    /// A fetch-and-add.
    Add(Operand),
    /// A fetch-and-and of the first operand.
    And,
    /// A fetch-and-or of the first operand.
    Or,
    /// A fetch-and-xor of the first operand.
    Xor,
    /// A compare-and-swap: the first operand for the second.
    CompareSwap,
    /// A loop over a compare-and-swap.
    Loop,
}

/// How libfabric does an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fabric {
    /// Its `fi_op`.
    pub op: u32,
    /// It only moves or compares bits: the type is the unsigned integer of the word's width.
    pub is_bits: bool,
    /// The operand.
    pub operand: Operand,
    /// The compare operand, for operations of `fi_compare_atomic`.
    pub compare: Option<Operand>,
}

impl Operand {
    /// Its value for a word of a type, as bits: 32-bit types have zeros above.
    #[inline]
    pub fn value(self, word: WordType, [a, b]: [u64; 2]) -> u64 {
        let one = word.one();
        match self {
            Operand::Nothing => 0,
            Operand::A => a,
            Operand::B => b,
            Operand::MinusA => word.negative(a),
            Operand::One => one,
            Operand::MinusOne => word.negative(one),
        }
    }

    /// Its value for an integer of 64 bits; the lower half is that for one of 32 bits.
    #[inline(always)]
    pub fn integer(self, a: u64, b: u64) -> u64 {
        match self {
            Operand::Nothing => 0,
            Operand::A => a,
            Operand::B => b,
            Operand::MinusA => a.wrapping_neg(),
            Operand::One => 1,
            Operand::MinusOne => u64::MAX,
        }
    }
}
