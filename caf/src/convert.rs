//! Assignment of elements of different types and kinds, as Fortran's assignment does it.
//!
//! Integers are `i128`. Reals of kinds 4 and 8 are `f64`; the others, which Rust has no type for, are
//! [`Wide`]: every real of any kind is one exactly, and is rounded once, to the kind it is stored as.
#![expect(unsafe_code, reason = "reads and writes variables of compiled code")]

use crate::descriptor::{Class, Element};
use crate::wide::Wide;

/// How elements of one type become elements of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conversion {
    /// Byte for byte.
    Same(usize),
    /// By the rules of numbers and logicals.
    Number,
    /// Of characters: padded or cut.
    Character,
}

impl Conversion {
    /// From one type to another; `None` if there is none.
    #[inline]
    pub fn between(to: Element, from: Element) -> Option<Conversion> {
        let number = |class| !matches!(class, Class::Character | Class::Derived);
        match (to.class, from.class) {
            _ if to == from => Some(Conversion::Same(to.bytes)),
            (Class::Derived, _) | (_, Class::Derived) => {
                (to.bytes == from.bytes).then_some(Conversion::Same(to.bytes))
            }
            (Class::Character, Class::Character) => Some(Conversion::Character),
            (a, b) if number(a) && number(b) => Some(Conversion::Number),
            _ => None,
        }
    }
}

/// Assigns one element to another of another type.
///
/// # Safety
/// 1. `to` and `from` are elements of these types, which do not overlap (owed by the caller).
pub unsafe fn convert(
    how: Conversion,
    (to, to_type): (*mut u8, Element),
    (from, from_type): (*const u8, Element),
) {
    // SAFETY: (1).
    unsafe {
        match how {
            Conversion::Same(bytes) => std::ptr::copy(from, to, bytes),
            Conversion::Character => characters((to, to_type), (from, from_type)),
            Conversion::Number => number((to, to_type), (from, from_type)),
        }
    }
}

/// Bytes of a character of a kind.
fn width(kind: i32) -> usize {
    if kind == 4 { 4 } else { 1 }
}

/// # Safety
/// As [`convert`].
unsafe fn characters((to, to_type): (*mut u8, Element), (from, from_type): (*const u8, Element)) {
    let (wide, from_wide) = (width(to_type.kind), width(from_type.kind));
    let (n, available) = (to_type.bytes / wide, from_type.bytes / from_wide);
    let common = n.min(available);
    // SAFETY: (1); so many characters both have.
    unsafe {
        if wide == from_wide {
            std::ptr::copy(from, to, common * wide);
        } else if wide == 1 {
            // A character that the narrow kind has not becomes a question mark, as in the compiler's library.
            (0..common).for_each(|i| {
                let c = from.cast::<u32>().add(i).read_unaligned();
                to.add(i).write(u8::try_from(c).unwrap_or(b'?'));
            });
        } else {
            (0..common).for_each(|i| to.cast::<u32>().add(i).write_unaligned(from.add(i).read().into()));
        }
        match wide {
            1 => to.add(common).write_bytes(b' ', n - common),
            _ => (common..n).for_each(|i| to.cast::<u32>().add(i).write_unaligned(b' '.into())),
        }
    }
}

/// A number on its way.
#[derive(Debug, Clone, Copy)]
enum Number {
    Integer(i128),
    Double(f64),
    Wide(Wide),
}

/// # Safety
/// As [`convert`].
unsafe fn number((to, to_type): (*mut u8, Element), (from, from_type): (*const u8, Element)) {
    // The real part comes first, and has the kind of the whole.
    // SAFETY: (1).
    let value = unsafe { read(from, from_type.class, from_type.kind) };
    // SAFETY: (1); a complex number has room for two parts.
    unsafe {
        write(to, to_type.class, to_type.kind, value);
        if to_type.class == Class::Complex {
            let imaginary = if from_type.class == Class::Complex {
                read(from.add(from_type.bytes / 2), Class::Real, from_type.kind)
            } else {
                Number::Integer(0)
            };
            write(to.add(to_type.bytes / 2), Class::Real, to_type.kind, imaginary);
        }
    }
}

/// # Safety
/// 1. There is a number of this type (owed by the caller).
unsafe fn read(from: *const u8, class: Class, kind: i32) -> Number {
    // SAFETY: (1).
    unsafe {
        match (class, kind) {
            (Class::Integer | Class::Logical, 1) => Number::Integer(from.cast::<i8>().read().into()),
            (Class::Integer | Class::Logical, 2) => {
                Number::Integer(from.cast::<i16>().read_unaligned().into())
            }
            (Class::Integer | Class::Logical, 4) => {
                Number::Integer(from.cast::<i32>().read_unaligned().into())
            }
            (Class::Integer | Class::Logical, 8) => {
                Number::Integer(from.cast::<i64>().read_unaligned().into())
            }
            (Class::Integer | Class::Logical, _) => Number::Integer(from.cast::<i128>().read_unaligned()),
            (_, 4) => Number::Double(from.cast::<f32>().read_unaligned().into()),
            (_, 8) => Number::Double(from.cast::<f64>().read_unaligned()),
            (_, 10) => {
                let (significand, head) =
                    (from.cast::<u64>().read_unaligned(), from.add(8).cast::<u16>().read_unaligned());
                Number::Wide(Wide::of_extended(significand, head))
            }
            (_, _) => Number::Wide(Wide::of_quad(from.cast::<u128>().read_unaligned())),
        }
    }
}

/// # Safety
/// 1. There is room for a number of this type (owed by the caller).
unsafe fn write(to: *mut u8, class: Class, kind: i32, value: Number) {
    let integer = || match value {
        Number::Integer(n) => n,
        Number::Double(x) => x as i128,
        Number::Wide(x) => x.truncated(),
    };
    let wide = || match value {
        Number::Integer(n) => Wide::of_integer(n),
        Number::Double(x) => Wide::of_double(x),
        Number::Wide(x) => x,
    };
    // SAFETY: (1).
    unsafe {
        match (class, kind) {
            (Class::Logical, kind) => {
                let is = match value {
                    Number::Integer(n) => n != 0,
                    Number::Double(x) => x != 0.0,
                    Number::Wide(x) => !x.is_zero(),
                };
                let bytes = i128::from(is).to_le_bytes();
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, kind.clamp(1, 16) as usize);
            }
            (Class::Integer, kind) => {
                // The machine's numbers begin with their low bytes.
                let bytes = integer().to_le_bytes();
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, kind.clamp(1, 16) as usize);
            }
            (_, 4) => to.cast::<f32>().write_unaligned(match value {
                Number::Integer(n) => n as f32,
                Number::Double(x) => x as f32,
                Number::Wide(x) => x.single(),
            }),
            (_, 8) => to.cast::<f64>().write_unaligned(match value {
                Number::Integer(n) => n as f64,
                Number::Double(x) => x,
                Number::Wide(x) => x.double(),
            }),
            (_, 10) => {
                let (significand, head) = wide().extended();
                to.cast::<u64>().write_unaligned(significand);
                to.add(8).cast::<u16>().write_unaligned(head);
            }
            (_, _) => to.cast::<u128>().write_unaligned(wide().quad()),
        }
    }
}

#[cfg(test)]
mod tests;
