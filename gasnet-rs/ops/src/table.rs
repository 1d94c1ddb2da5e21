//! The table of functions.

use crate::forms::Instruction::{Load, Loop, Swap};
use crate::forms::Operand::{A, B, MinusA, MinusOne, Nothing, One};
use crate::forms::{Fabric, Instruction, Operand, Types};
use crate::word::{Number, WordType, with_number};

/// The properties of a function, beside the value that it computes.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// The number of its operands.
    pub operands: u8,
    /// The types that it is defined on.
    pub types: Types,
    /// How a processor does it to integers.
    pub instruction: Instruction,
    /// It makes one word of two, and the order does not matter: it is one of those that reduce.
    pub combines: bool,
    /// The operand that leaves any integer as it is, as bits; `None` if there is none, or not the same for
    /// all types.
    pub neutral: Option<u64>,
    /// Bit of `gex_OP_t` and name (`GEX_OP_...`) of the operation without a result in GASNet-EX.
    pub ex: Option<(u8, &'static str)>,
    /// Bit and name of the one that returns the old value.
    pub ex_fetching: Option<(u8, &'static str)>,
    /// Bit of `upc_op_t` and name in UPC (`upc_types.h`, `upc_atomic.h`).
    pub upc: Option<(u8, &'static str)>,
    /// Numbers in `bupc_atomics.h`.
    pub bupc: &'static [u8],
    /// How libfabric does it.
    pub fabric: Option<Fabric>,
}

/// Calls a macro with the codes of `fi_op` that the table uses, as `NAME = number,`: for their definition
/// below, and for who compares them with libfabric's headers.
#[macro_export]
macro_rules! fabric_codes {
    ($with:ident) => {
        $with! {
            FI_MIN = 0,
            FI_MAX = 1,
            FI_SUM = 2,
            FI_PROD = 3,
            FI_BOR = 6,
            FI_BAND = 7,
            FI_BXOR = 9,
            FI_ATOMIC_READ = 10,
            FI_ATOMIC_WRITE = 11,
            FI_CSWAP = 12,
            FI_MSWAP = 18,
        }
    };
}

/// libfabric's codes, by its names.
pub(crate) mod fabric {
    macro_rules! define {
        ($($name:ident = $code:literal,)*) => {$(pub(crate) const $name: u32 = $code;)*};
    }
    fabric_codes!(define);
}
use fabric::*;

const fn numbers(op: u32, operand: Operand) -> Option<Fabric> {
    Some(Fabric { op, is_bits: false, operand, compare: None })
}

const fn bits(op: u32, operand: Operand) -> Option<Fabric> {
    Some(Fabric { op, is_bits: true, operand, compare: None })
}

const fn compares(op: u32, operand: Operand, compare: Operand) -> Option<Fabric> {
    Some(Fabric { op, is_bits: true, operand, compare: Some(compare) })
}

/// The new value of a word, by a row's column `becomes`.
macro_rules! new_value {
    (($word:expr, $old:expr, $a:expr, $b:expr), number |$x:ident, $y:ident, $one:ident| $value:expr) => {{
        #[inline(always)]
        fn value<T: Number>(old: u64, a: u64) -> Option<u64> {
            let ($x, $y, $one) = (T::of(old), T::of(a), T::ONE);
            let new: T = $value;
            Some(new.bits())
        }
        with_number!($word, value($old, $a))
    }};
    (($word:expr, $old:expr, $a:expr, $b:expr), bits |$x:ident, $y:ident, $z:ident| $value:expr) => {{
        let ($x, $y, $z) = ($word.mask($old), $word.mask($a), $word.mask($b));
        let new: Option<u64> = $value;
        new
    }};
}

/// A loop over words for each function that combines, with its arithmetic inside.
macro_rules! fold {
    (false, $($rest:tt)*) => {{}};
    (true, ($word:expr, $memory:expr, $more:expr), $($becomes:tt)*) => {{
        macro_rules! words {
            ($unsigned:ty) => {{
                const BYTES: usize = size_of::<$unsigned>();
                let words = $memory.as_chunks_mut::<BYTES>().0.iter_mut();
                for (to, from) in words.zip($more.as_chunks::<BYTES>().0) {
                    let (x, a) = (<$unsigned>::from_ne_bytes(*to), <$unsigned>::from_ne_bytes(*from));
                    if let Some(new) = new_value!(($word, u64::from(x), u64::from(a), 0), $($becomes)*) {
                        *to = (new as $unsigned).to_ne_bytes();
                    }
                }
            }};
        }
        if $word.width() == 4 { words!(u32) } else { words!(u64) }
    }};
}

macro_rules! word_operations {
    ($(
        $(#[$doc:meta])*
        $name:ident = $number:literal {
            operands: $operands:literal,
            types: $types:ident,
            becomes: $kind:ident |$x:ident, $y:ident, $z:ident| $value:expr,
            instruction: $instruction:expr,
            combines: $combines:tt,
            neutral: $neutral:expr,
            ex: $ex:expr,
            ex_fetching: $ex_fetching:expr,
            upc: $upc:expr,
            bupc: $bupc:expr,
            fabric: $fabric:expr,
        }
    )*) => {
        /// A function on a word; `a` and `b` are the operands. Every operation yields the word's old value.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Function {
            $($(#[$doc])* $name = $number,)*
        }

        const ROWS: [Row; Function::ALL.len()] = [$(Row {
            operands: $operands,
            types: Types::$types,
            instruction: $instruction,
            combines: $combines,
            neutral: $neutral,
            ex: $ex,
            ex_fetching: $ex_fetching,
            upc: $upc,
            bupc: $bupc,
            fabric: $fabric,
        }),*];

        impl Function {
            /// All of them, in the order of their numbers.
            pub const ALL: [Function; [$($number),*].len()] = [$(Function::$name),*];

            /// Its row.
            #[inline]
            pub const fn row(self) -> &'static Row {
                const { &ROWS }.split_at(self as usize).1.first().expect("numbers are places in the table")
            }

            /// The types that it is defined on.
            #[inline(always)]
            pub(crate) const fn types(self) -> Types {
                match self { $(Function::$name => Types::$types,)* }
            }

            /// How a processor does it to integers.
            #[inline(always)]
            pub(crate) const fn instruction(self) -> Instruction {
                match self { $(Function::$name => $instruction,)* }
            }

            /// See [`crate::Operation::new_value`].
            #[inline]
            pub(crate) fn new_value(self, word: WordType, old: u64, a: u64, b: u64) -> Option<u64> {
                match self {
                    $(Function::$name => new_value!((word, old, a, b), $kind |$x, $y, $z| $value),)*
                }
            }

            /// See [`crate::Operation::fold`].
            pub(crate) fn fold(self, word: WordType, memory: &mut [u8], more: &[u8]) {
                match self {
                    $(Function::$name => fold!($combines, (word, memory, more), $kind |$x, $y, $z| $value),)*
                }
            }
        }
    };
}

word_operations! {
    /// Nothing: read.
    Get = 0 {
        operands: 0,
        types: All,
        becomes: bits |_x, _a, _b| None,
        instruction: Load,
        combines: false,
        neutral: None,
        ex: None,
        ex_fetching: Some((27, "GET")),
        upc: Some((16, "UPC_GET")),
        bupc: &[0],
        fabric: bits(FI_ATOMIC_READ, Nothing),
    }
    /// Becomes `a`.
    Set = 1 {
        operands: 1,
        types: All,
        becomes: bits |_x, a, _b| Some(a),
        instruction: Swap,
        combines: false,
        neutral: None,
        ex: Some((10, "SET")),
        ex_fetching: Some((25, "SWAP")),
        upc: Some((17, "UPC_SET")),
        bupc: &[1, 2],
        fabric: bits(FI_ATOMIC_WRITE, A),
    }
    /// Plus `a`, wrapping for integers.
    Add = 2 {
        operands: 1,
        types: All,
        becomes: number |x, a, _one| x + a,
        instruction: Instruction::Add(A),
        combines: true,
        neutral: Some(0),
        ex: Some((3, "ADD")),
        ex_fetching: Some((18, "FADD")),
        upc: Some((0, "UPC_ADD")),
        bupc: &[5],
        fabric: numbers(FI_SUM, A),
    }
    /// Minus `a`.
    Sub = 3 {
        operands: 1,
        types: All,
        becomes: number |x, a, _one| x - a,
        instruction: Instruction::Add(MinusA),
        combines: false,
        neutral: Some(0),
        ex: Some((4, "SUB")),
        ex_fetching: Some((19, "FSUB")),
        upc: Some((19, "UPC_SUB")),
        bupc: &[],
        fabric: numbers(FI_SUM, MinusA),
    }
    /// Plus one.
    Inc = 4 {
        operands: 0,
        types: All,
        becomes: number |x, _a, one| x + one,
        instruction: Instruction::Add(One),
        combines: false,
        neutral: None,
        ex: Some((8, "INC")),
        ex_fetching: Some((23, "FINC")),
        upc: Some((20, "UPC_INC")),
        bupc: &[],
        fabric: numbers(FI_SUM, One),
    }
    /// Minus one.
    Dec = 5 {
        operands: 0,
        types: All,
        becomes: number |x, _a, one| x - one,
        instruction: Instruction::Add(MinusOne),
        combines: false,
        neutral: None,
        ex: Some((9, "DEC")),
        ex_fetching: Some((24, "FDEC")),
        upc: Some((21, "UPC_DEC")),
        bupc: &[],
        fabric: numbers(FI_SUM, MinusOne),
    }
    /// The smaller of itself and `a`.
    Min = 6 {
        operands: 1,
        types: All,
        becomes: number |x, a, _one| if a < x { a } else { x },
        instruction: Loop,
        combines: true,
        neutral: None,
        ex: Some((6, "MIN")),
        ex_fetching: Some((21, "FMIN")),
        upc: Some((7, "UPC_MIN")),
        bupc: &[],
        fabric: numbers(FI_MIN, A),
    }
    /// The larger of itself and `a`.
    Max = 7 {
        operands: 1,
        types: All,
        becomes: number |x, a, _one| if a > x { a } else { x },
        instruction: Loop,
        combines: true,
        neutral: None,
        ex: Some((7, "MAX")),
        ex_fetching: Some((22, "FMAX")),
        upc: Some((8, "UPC_MAX")),
        bupc: &[],
        fabric: numbers(FI_MAX, A),
    }
    /// Bitwise and with `a`; integers only, like the next two.
    And = 8 {
        operands: 1,
        types: Integers,
        becomes: bits |x, a, _b| Some(x & a),
        instruction: Instruction::And,
        combines: true,
        neutral: Some(u64::MAX),
        ex: Some((0, "AND")),
        ex_fetching: Some((15, "FAND")),
        upc: Some((2, "UPC_AND")),
        bupc: &[6],
        fabric: numbers(FI_BAND, A),
    }
    /// Bitwise or with `a`.
    Or = 9 {
        operands: 1,
        types: Integers,
        becomes: bits |x, a, _b| Some(x | a),
        instruction: Instruction::Or,
        combines: true,
        neutral: Some(0),
        ex: Some((1, "OR")),
        ex_fetching: Some((16, "FOR")),
        upc: Some((3, "UPC_OR")),
        bupc: &[7],
        fabric: numbers(FI_BOR, A),
    }
    /// Bitwise exclusive or with `a`.
    Xor = 10 {
        operands: 1,
        types: Integers,
        becomes: bits |x, a, _b| Some(x ^ a),
        instruction: Instruction::Xor,
        combines: true,
        neutral: Some(0),
        ex: Some((2, "XOR")),
        ex_fetching: Some((17, "FXOR")),
        upc: Some((4, "UPC_XOR")),
        bupc: &[8],
        fabric: numbers(FI_BXOR, A),
    }
    /// Times `a`.
    Mul = 11 {
        operands: 1,
        types: All,
        becomes: number |x, a, _one| x * a,
        instruction: Loop,
        combines: true,
        neutral: Some(1),
        ex: Some((5, "MULT")),
        ex_fetching: Some((20, "FMULT")),
        upc: Some((1, "UPC_MULT")),
        bupc: &[],
        fabric: numbers(FI_PROD, A),
    }
    /// Becomes `b` if it is `a`, bit for bit.
    CompareSwap = 12 {
        operands: 2,
        types: All,
        becomes: bits |x, a, b| (x == a).then_some(b),
        instruction: Instruction::CompareSwap,
        combines: false,
        neutral: None,
        ex: Some((11, "CAS")),
        ex_fetching: Some((26, "FCAS")),
        upc: Some((18, "UPC_CSWAP")),
        bupc: &[4],
        fabric: compares(FI_CSWAP, B, A),
    }
    /// The bits of the mask `a` become those of `b`; the others stay. Integers only.
    MaskedSwap = 13 {
        operands: 2,
        types: Integers,
        becomes: bits |x, a, b| Some(x & !a | b & a),
        instruction: Loop,
        combines: false,
        neutral: None,
        ex: None,
        ex_fetching: None,
        upc: None,
        bupc: &[3],
        fabric: compares(FI_MSWAP, B, A),
    }
}
