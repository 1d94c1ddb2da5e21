//! Types of words.

use core::num::Wrapping;
use core::ops::{Add, Mul, Neg, Sub};

/// A number of a word's type; integers wrap.
pub(crate) trait Number:
    Copy + PartialOrd + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Neg<Output = Self>
{
    const ONE: Self;
    /// Of bits; those above the word do not matter.
    fn of(bits: u64) -> Self;
    /// As bits, with zeros above.
    fn bits(self) -> u64;
}

macro_rules! integers {
    ($($signed:ty, $unsigned:ty;)*) => {$(
        impl Number for Wrapping<$signed> {
            const ONE: Self = Wrapping(1);
            #[inline(always)]
            fn of(bits: u64) -> Self {
                Wrapping(bits as $signed)
            }
            #[inline(always)]
            fn bits(self) -> u64 {
                u64::from(self.0 as $unsigned)
            }
        }
    )*};
}
integers! { i32, u32; u32, u32; i64, u64; u64, u64; }

macro_rules! floats {
    ($($float:ty, $bits:ty;)*) => {$(
        impl Number for $float {
            const ONE: Self = 1.0;
            #[inline(always)]
            fn of(bits: u64) -> Self {
                <$float>::from_bits(bits as $bits)
            }
            #[inline(always)]
            fn bits(self) -> u64 {
                u64::from(self.to_bits())
            }
        }
    )*};
}
floats! { f32, u32; f64, u64; }

/// Calls a generic function with the number type of a word.
macro_rules! with_number {
    ($word:expr, $f:ident($($argument:expr),*)) => {
        match $word {
            $crate::word::WordType::I32 => $f::<core::num::Wrapping<i32>>($($argument),*),
            $crate::word::WordType::U32 => $f::<core::num::Wrapping<u32>>($($argument),*),
            $crate::word::WordType::I64 => $f::<core::num::Wrapping<i64>>($($argument),*),
            $crate::word::WordType::U64 => $f::<core::num::Wrapping<u64>>($($argument),*),
            $crate::word::WordType::F32 => $f::<f32>($($argument),*),
            $crate::word::WordType::F64 => $f::<f64>($($argument),*),
        }
    };
}
pub(crate) use with_number;

macro_rules! word_types {
    ($($name:ident = $number:literal {
        name: $text:literal,
        width: $width:literal,
        is_float: $float:literal,
        ex: $ex:literal,
        fabric: $fabric:literal,
    })*) => {
        /// The type of an atomic word.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[repr(u8)]
        #[expect(missing_docs, reason = "named after the types")]
        pub enum WordType {
            $($name = $number,)*
        }

        impl WordType {
            /// All of them, in the order of their numbers.
            pub const ALL: [WordType; [$($number),*].len()] = [$(WordType::$name),*];

            /// Its name in Rust.
            pub fn name(self) -> &'static str {
                match self { $(WordType::$name => $text,)* }
            }

            /// Its bytes.
            #[inline(always)]
            pub const fn width(self) -> usize {
                match self { $(WordType::$name => $width,)* }
            }

            /// Whether it is a floating-point type.
            #[inline(always)]
            pub const fn is_float(self) -> bool {
                match self { $(WordType::$name => $float,)* }
            }

            /// Its bit of GASNet-EX's `gex_DT_t`.
            #[inline]
            pub const fn ex(self) -> u32 {
                match self { $(WordType::$name => $ex,)* }
            }

            /// Its `fi_datatype` of libfabric.
            pub const fn fabric(self) -> u32 {
                match self { $(WordType::$name => $fabric,)* }
            }
        }
    };
}

word_types! {
    I32 = 0 { name: "i32", width: 4, is_float: false, ex: 0, fabric: 4, }
    U32 = 1 { name: "u32", width: 4, is_float: false, ex: 1, fabric: 5, }
    I64 = 2 { name: "i64", width: 8, is_float: false, ex: 2, fabric: 6, }
    U64 = 3 { name: "u64", width: 8, is_float: false, ex: 3, fabric: 7, }
    F32 = 4 { name: "f32", width: 4, is_float: true, ex: 4, fabric: 8, }
    F64 = 5 { name: "f64", width: 8, is_float: true, ex: 5, fabric: 9, }
}

impl WordType {
    /// The unsigned integer of its width.
    #[inline]
    pub const fn unsigned(self) -> WordType {
        if self.width() == 4 { WordType::U32 } else { WordType::U64 }
    }

    /// Bits of a word, with zeros above.
    #[inline(always)]
    pub(crate) fn mask(self, bits: u64) -> u64 {
        if self.width() == 4 { u64::from(bits as u32) } else { bits }
    }

    /// The bits of one.
    #[inline]
    pub(crate) fn one(self) -> u64 {
        fn one<T: Number>() -> u64 {
            T::ONE.bits()
        }
        with_number!(self, one())
    }

    /// The bits of a number with the other sign.
    #[inline]
    pub(crate) fn negative(self, bits: u64) -> u64 {
        fn negative<T: Number>(bits: u64) -> u64 {
            (-T::of(bits)).bits()
        }
        with_number!(self, negative(bits))
    }
}
