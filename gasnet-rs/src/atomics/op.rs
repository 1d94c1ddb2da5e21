//! What can be done to a word: types, functions, and the pairs of them that are defined.

/// The type of an atomic word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
#[expect(missing_docs, reason = "named after the types")]
pub enum WordType {
    I32,
    U32,
    I64,
    U64,
    F32,
    F64,
}

/// What is done to a word; `a` and `b` are the operands. Every operation yields the word's old value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Function {
    /// Nothing: read.
    Get,
    /// Becomes `a`.
    Set,
    /// Plus `a`, wrapping for integers.
    Add,
    /// Minus `a`.
    Sub,
    /// Plus one.
    Inc,
    /// Minus one.
    Dec,
    /// The smaller of itself and `a`.
    Min,
    /// The larger of itself and `a`.
    Max,
    /// Bitwise and with `a`; integers only, like the next two.
    And,
    /// Bitwise or with `a`.
    Or,
    /// Bitwise exclusive or with `a`.
    Xor,
    /// Times `a`.
    Mul,
    /// Becomes `b` if it is `a`, bit for bit.
    CompareSwap,
}

impl WordType {
    /// All of them, in the order of their numbers.
    pub const ALL: [WordType; 6] =
        [WordType::I32, WordType::U32, WordType::I64, WordType::U64, WordType::F32, WordType::F64];

    /// Its name in Rust.
    pub fn name(self) -> &'static str {
        match self {
            WordType::I32 => "i32",
            WordType::U32 => "u32",
            WordType::I64 => "i64",
            WordType::U64 => "u64",
            WordType::F32 => "f32",
            WordType::F64 => "f64",
        }
    }
}

impl Function {
    /// All of them, in the order of their numbers.
    pub const ALL: [Function; 13] = [
        Function::Get,
        Function::Set,
        Function::Add,
        Function::Sub,
        Function::Inc,
        Function::Dec,
        Function::Min,
        Function::Max,
        Function::And,
        Function::Or,
        Function::Xor,
        Function::Mul,
        Function::CompareSwap,
    ];
}

/// A function on a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operation {
    /// What is done.
    pub function: Function,
    /// To what.
    pub word: WordType,
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
        let bitwise = matches!(self.function, Function::And | Function::Or | Function::Xor);
        !(bitwise && matches!(self.word, WordType::F32 | WordType::F64))
    }

    /// Bytes of the word.
    pub fn width(self) -> usize {
        match self.word {
            WordType::I32 | WordType::U32 | WordType::F32 => 4,
            _ => 8,
        }
    }

    /// The new value, given old value and operands as bits; `None` for no write.
    pub(crate) fn new_value(self, old: u64, a: u64, b: u64) -> Option<u64> {
        macro_rules! integer {
            ($t:ty) => {{
                let (x, y) = (old as $t, a as $t);
                Some(match self.function {
                    Function::Get => return None,
                    Function::Set => y,
                    Function::Add => x.wrapping_add(y),
                    Function::Sub => x.wrapping_sub(y),
                    Function::Inc => x.wrapping_add(1),
                    Function::Dec => x.wrapping_sub(1),
                    Function::Min => x.min(y),
                    Function::Max => x.max(y),
                    Function::And => x & y,
                    Function::Or => x | y,
                    Function::Xor => x ^ y,
                    Function::Mul => x.wrapping_mul(y),
                    Function::CompareSwap if x == y => b as $t,
                    Function::CompareSwap => return None,
                } as u64)
            }};
        }
        macro_rules! float {
            ($t:ty, $bits:ty) => {{
                let (x, y) = (<$t>::from_bits(old as $bits), <$t>::from_bits(a as $bits));
                let v = match self.function {
                    Function::Set => y,
                    Function::Add => x + y,
                    Function::Sub => x - y,
                    Function::Inc => x + 1.0,
                    Function::Dec => x - 1.0,
                    Function::Min => {
                        if y < x {
                            y
                        } else {
                            x
                        }
                    }
                    Function::Max => {
                        if y > x {
                            y
                        } else {
                            x
                        }
                    }
                    Function::Mul => x * y,
                    Function::CompareSwap if old as $bits == a as $bits => {
                        return Some(u64::from(b as $bits));
                    }
                    _ => return None,
                };
                Some(u64::from(v.to_bits()))
            }};
        }
        match self.word {
            WordType::I32 => integer!(i32),
            WordType::U32 => integer!(u32),
            WordType::I64 => integer!(i64),
            WordType::U64 => integer!(u64),
            WordType::F32 => float!(f32, u32),
            WordType::F64 => float!(f64, u64),
        }
    }
}
