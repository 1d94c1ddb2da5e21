//! `atomic_define`, `atomic_ref` and the other atomic subroutines. They order nothing but themselves, and
//! come after this image's own writes of the same word.

use crate::coarray::Coarray;
use crate::image::Image;
use crate::stat::Failure;
use gasnet::atomics::{Function, Operation, WordType};

/// The operations of `atomic_op`, as the compiler numbers them.
pub fn function(op: i32) -> Option<Function> {
    Some(match op {
        1 => Function::Add,
        2 => Function::And,
        3 => Function::Or,
        4 => Function::Xor,
        _ => return None,
    })
}

/// An atomic variable, as compiled code names it.
#[derive(Debug, Clone, Copy)]
pub struct Atom<'a> {
    /// Its coarray.
    pub coarray: &'a Coarray,
    /// From the coarray's first byte.
    pub offset: usize,
    /// Its image in the current team; 0 is this one.
    pub image: i32,
    /// The compiler's number of its type, and its kind.
    pub kind: (i32, i32),
}

impl Image {
    /// Operates on an atomic variable; returns its old value.
    ///
    /// # One-sided
    ///
    /// # Errors
    /// There is no such image, or the variable has another type than atomics can have.
    pub fn operate(&self, atom: Atom<'_>, function: Function, a: u32, b: u32) -> Result<u32, Failure> {
        let Atom { coarray, offset, image, kind } = atom;
        if !matches!(kind, (1 | 2, 4)) {
            return Err(Failure::other(format!(
                "atomic subroutines take variables of atomic_int_kind and atomic_logical_kind, which are 4, not of kind {}",
                kind.1
            )));
        }
        let image = if image == 0 { self.level().this_image() } else { image };
        let place = self.locate(coarray, offset, image)?;
        if place.mapped.is_null() {
            self.settle();
        }
        self.begin_look();
        let operation = Operation { function, word: WordType::U32 };
        let old = self.rank.atomics().apply(place.rank, place.offset, operation, a.into(), b.into());
        if matches!(function, Function::Get | Function::CompareSwap) {
            self.looked_at(place.rank, place.offset, old);
        }
        Ok(old as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers that compiled code passes: 3 and 4, not 4 and 5 as an old list has them.
    #[test]
    fn operations_have_the_numbers_of_the_compiler() {
        assert_eq!(
            [1, 2, 3, 4].map(|op| function(op).unwrap()),
            [Function::Add, Function::And, Function::Or, Function::Xor]
        );
        assert_eq!([0, 5, -1].map(function), [None; 3]);
    }
}
