//! Atomic operations on words: one table for the core, networks, NICs and interfaces.
//!
//! The table is the call of `word_operations!` in `table.rs`. A row has everything that somebody knows about
//! an operation: its number in messages, the types that it is defined on, what it computes, the instruction
//! that does it, and its names and codes in GASNet-EX, UPC and libfabric. A new operation is a new row; a row
//! that lacks a column does not compile, and neither does the model of the conformance tests that lacks an
//! operation.
//!
//! The columns are the fields of [`Row`], and two more:
//!
//! - the number of the operation in messages ([`Operation::encode`]), which is its place in the table;
//! - `becomes`: the new value of a word. `number |x, a, one|` computes in the type of the word, whichever it
//!   is; integers wrap. `bits |x, a, b|` computes with the bits of the word as a `u64`, and yields `None` for
//!   no write. `x` is the old value; `a` and `b` are the operands.
//!
//! Types of words are rows of `word_types!`, in `word.rs`. Operations of NICs on queues and semaphores are in
//! [`home`].

mod forms;
pub mod home;
mod table;
mod word;

pub use forms::{Fabric, Instruction, Operand, Types};
pub use table::{Function, Row};
pub use word::WordType;

/// A function on a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Operation {
    /// The function.
    pub function: Function,
    /// The type of the word.
    pub word: WordType,
}

impl Function {
    /// The function with this name and code in UPC (`UPC_ADD` is bit 0).
    pub fn of_upc(bit: u32) -> Option<Function> {
        Function::ALL.into_iter().find(|f| f.row().upc.is_some_and(|(own, _)| u32::from(own) == bit))
    }

    /// The function with this number of `bupc_atomics.h`.
    pub fn of_bupc(number: u32) -> Option<Function> {
        Function::ALL.into_iter().find(|f| f.row().bupc.iter().any(|own| u32::from(*own) == number))
    }

    /// The function with this bit of GASNet-EX's `gex_OP_t`, with or without a result.
    #[inline]
    pub fn of_ex(bit: u32) -> Option<Function> {
        const BY_BIT: [Option<Function>; 32] = {
            let mut by_bit = [None; 32];
            let mut row = 0;
            while row < Function::ALL.len() {
                let function = Function::ALL[row];
                let (plain, fetching) = (function.row().ex, function.row().ex_fetching);
                if let Some((bit, _)) = plain {
                    by_bit[bit as usize] = Some(function);
                }
                if let Some((bit, _)) = fetching {
                    by_bit[bit as usize] = Some(function);
                }
                row += 1;
            }
            by_bit
        };
        *BY_BIT.get(bit as usize)?
    }

    /// The name of a bit of GASNet-EX's `gex_OP_t`, without `GEX_OP_`.
    pub fn ex_name(bit: u32) -> Option<&'static str> {
        let row = Function::of_ex(bit)?.row();
        [row.ex, row.ex_fetching]
            .into_iter()
            .flatten()
            .find(|(own, _)| u32::from(*own) == bit)
            .map(|(_, n)| n)
    }
}

impl Operation {
    /// As a number below 2^11.
    pub fn encode(self) -> u32 {
        self.function as u32 | (self.word as u32) << 8
    }

    /// Of such a number; `None` if it is none.
    pub fn decode(v: u32) -> Option<Operation> {
        Some(Operation {
            function: *Function::ALL.get((v & 0xff) as usize)?,
            word: *WordType::ALL.get((v >> 8) as usize)?,
        })
    }

    /// Whether the type has this function: floats have no bitwise ones.
    #[inline]
    pub fn is_defined(self) -> bool {
        match self.function.types() {
            Types::All => true,
            Types::Integers => !self.word.is_float(),
        }
    }

    /// Whether it makes one word of two, in any order: what reductions and combining writes are made of.
    pub fn combines(self) -> bool {
        self.function.row().combines && self.is_defined()
    }

    /// Bytes of the word.
    #[inline]
    pub fn width(self) -> usize {
        self.word.width()
    }

    /// The new value, given old value and operands as bits; `None` for no write. Bits above the word do not
    /// matter in what is given, and are zero in the new value.
    #[inline]
    pub fn new_value(self, old: u64, a: u64, b: u64) -> Option<u64> {
        self.function.new_value(self.word, old, a, b)
    }

    /// Combines the words of `memory` with those of `more`, as many as both have. Nothing for operations that
    /// do not [combine](Operation::combines).
    pub fn fold(self, memory: &mut [u8], more: &[u8]) {
        if self.is_defined() {
            self.function.fold(self.word, memory, more);
        }
    }

    /// How a processor does it.
    #[inline(always)]
    pub fn instruction(self) -> Instruction {
        match self.function.instruction() {
            Instruction::Add(_) if self.word.is_float() => Instruction::Loop,
            instruction => instruction,
        }
    }

    /// The operand that leaves any word as it is; `None` if there is none, or none that does so for all bits
    /// of the type. Bits above those of the word do not matter.
    #[inline]
    pub fn neutral(self) -> Option<u64> {
        if self.word.is_float() { None } else { self.function.row().neutral }
    }
}

#[cfg(test)]
mod tests;
