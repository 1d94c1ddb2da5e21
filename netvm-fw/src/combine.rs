//! The arithmetic of a [combining write](crate::wire::HeadKind::Combine): the NIC of the memory folds the
//! words that came into those in memory, element by element. This is an addition of ours; the thesis has
//! atomics of one word only.

/// The function. The word in memory is the first operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u32)]
#[expect(missing_docs, reason = "named after what they do")]
pub enum Fold {
    Add = 1,
    Mul = 2,
    Min = 3,
    Max = 4,
    And = 5,
    Or = 6,
    Xor = 7,
}

/// The type of the words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u32)]
#[expect(missing_docs, reason = "named after the types")]
pub enum Element {
    I32 = 1,
    U32 = 2,
    I64 = 3,
    U64 = 4,
    F32 = 5,
    F64 = 6,
}

/// A function on a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Combine {
    /// The function.
    pub fold: Fold,
    /// The type of the words.
    pub element: Element,
}

impl Combine {
    /// Its operation number in a head.
    pub fn encode(self) -> u32 {
        self.fold as u32 | (self.element as u32) << 8
    }

    /// The combination with this number, if there is one: floats have no bitwise functions.
    pub fn parse(number: u32) -> Option<Combine> {
        use {Element::*, Fold::*};
        let fold = *[Add, Mul, Min, Max, And, Or, Xor].get((number & 0xff).checked_sub(1)? as usize)?;
        let element = *[I32, U32, I64, U64, F32, F64].get((number >> 8).checked_sub(1)? as usize)?;
        let bitwise = matches!(fold, And | Or | Xor);
        (!(bitwise && matches!(element, F32 | F64))).then_some(Combine { fold, element })
    }

    /// Bytes of one word.
    pub fn width(self) -> usize {
        match self.element {
            Element::I32 | Element::U32 | Element::F32 => 4,
            Element::I64 | Element::U64 | Element::F64 => 8,
        }
    }

    /// Folds `more` into `memory`, as many words as both have.
    pub fn apply(self, memory: &mut [u8], more: &[u8]) {
        macro_rules! words {
            ($t:ty, $f:expr) => {{
                const N: usize = size_of::<$t>();
                for (to, from) in memory.as_chunks_mut::<N>().0.iter_mut().zip(more.as_chunks::<N>().0) {
                    let f: fn($t, $t) -> $t = $f;
                    *to = f(<$t>::from_le_bytes(*to), <$t>::from_le_bytes(*from)).to_le_bytes();
                }
            }};
        }
        macro_rules! integers {
            ($t:ty) => {
                match self.fold {
                    Fold::Add => words!($t, <$t>::wrapping_add),
                    Fold::Mul => words!($t, <$t>::wrapping_mul),
                    Fold::Min => words!($t, Ord::min),
                    Fold::Max => words!($t, Ord::max),
                    Fold::And => words!($t, |a, b| a & b),
                    Fold::Or => words!($t, |a, b| a | b),
                    Fold::Xor => words!($t, |a, b| a ^ b),
                }
            };
        }
        macro_rules! floats {
            ($t:ty) => {
                match self.fold {
                    Fold::Add => words!($t, |a, b| a + b),
                    Fold::Mul => words!($t, |a, b| a * b),
                    Fold::Min => words!($t, |a, b| if b < a { b } else { a }),
                    Fold::Max => words!($t, |a, b| if b > a { b } else { a }),
                    // `parse` does not return these.
                    Fold::And | Fold::Or | Fold::Xor => {}
                }
            };
        }
        match self.element {
            Element::I32 => integers!(i32),
            Element::U32 => integers!(u32),
            Element::I64 => integers!(i64),
            Element::U64 => integers!(u64),
            Element::F32 => floats!(f32),
            Element::F64 => floats!(f64),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_operations_that_exist() {
        let known: Vec<Combine> = (0..1 << 12).filter_map(Combine::parse).collect();
        assert_eq!(known.len(), 7 * 4 + 4 * 2);
        for c in known {
            assert_eq!(Combine::parse(c.encode()), Some(c));
        }
    }

    #[test]
    fn words_are_folded_one_by_one() {
        let run = |fold, element, a: &[u8], b: &[u8]| {
            let mut memory = a.to_vec();
            Combine { fold, element }.apply(&mut memory, b);
            memory
        };
        let words = |w: &[i32]| w.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<u8>>();
        assert_eq!(
            run(Fold::Add, Element::I32, &words(&[1, i32::MAX]), &words(&[2, 1])),
            words(&[3, i32::MIN])
        );
        assert_eq!(run(Fold::Min, Element::I32, &words(&[-1, 5]), &words(&[3, -7])), words(&[-1, -7]));
        assert_eq!(run(Fold::Min, Element::U32, &words(&[-1]), &words(&[3])), words(&[3]));
        assert_eq!(
            run(Fold::Max, Element::F64, &1.5f64.to_le_bytes(), &2.5f64.to_le_bytes()),
            2.5f64.to_le_bytes()
        );
        assert_eq!(run(Fold::Xor, Element::U64, &[0xff; 8], &[0x0f; 8]), [0xf0; 8]);
    }
}
