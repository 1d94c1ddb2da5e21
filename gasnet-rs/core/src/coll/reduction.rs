//! How values are combined: the program's functions, and those that NICs know.
#![expect(unsafe_code, reason = "works on buffers of callers")]

use crate::atomics::{Function, Operation, WordType};
use core::any::TypeId;
use gasnet_wire::context::{self, Inside};
use std::sync::Arc;

/// Combines two vectors of `n` bytes: the first becomes *first, then second*. It must not call the runtime:
/// waits, barriers and collective operations inside it end the job.
///
/// Of a call: both pointers are valid for `n` bytes, a multiple of the element size; the ranges do not
/// overlap. Both are aligned for a type whose size is that of the elements.
pub type Combine = dyn Fn(*mut u8, *const u8, usize) + Send + Sync;

/// A type of elements as a number, the same on all ranks. Few types have the same number by chance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ElementType(u8);

impl ElementType {
    /// Nothing is known of it: members that say so agree with each other, and with no others.
    pub const UNKNOWN: ElementType = ElementType(0);
    /// Types that no message names.
    pub const OTHERS: u8 = u8::MAX - ElementType::NAMED.len() as u8;
    /// Types that messages name.
    const NAMED: [&str; 10] = ["u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "f32", "f64"];

    /// The type of this name.
    pub fn named(name: &str) -> ElementType {
        if let Some(at) = ElementType::NAMED.iter().position(|named| *named == name) {
            return ElementType(at as u8 + 1);
        }
        // FNV-1a.
        let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325, step);
        ElementType::of_language(((hash >> 32) % u64::from(ElementType::OTHERS)) as u8)
    }

    /// A type of a language, by a number below [`ElementType::OTHERS`] that its runtime gives it.
    pub fn of_language(number: u8) -> ElementType {
        ElementType(ElementType::NAMED.len() as u8 + 1 + number % ElementType::OTHERS)
    }

    /// A Rust type. Of numbers the compiler knows the result.
    #[inline]
    pub fn of<T: 'static>() -> ElementType {
        macro_rules! number {
            ($($number:ty)*) => {{
                let mut at = 0;
                $(
                    at += 1;
                    if TypeId::of::<T>() == TypeId::of::<$number>() {
                        return ElementType(at);
                    }
                )*
            }};
        }
        number!(u8 i8 u16 i16 u32 i32 u64 i64 f32 f64);
        ElementType::named(core::any::type_name::<T>())
    }

    pub(super) fn number(self) -> u8 {
        self.0
    }

    /// The number of a language's type with that number in messages.
    pub(super) fn language_number(number: u8) -> Option<u8> {
        number.checked_sub(ElementType::NAMED.len() as u8 + 1)
    }

    /// The type with this number in words, for messages.
    pub(super) fn in_words(number: u8) -> String {
        let named = usize::from(number).checked_sub(1).and_then(|at| ElementType::NAMED.get(at));
        named.map_or(format!("type {number:#04x}"), |name| String::from(*name))
    }
}

/// How values are combined.
#[derive(Clone)]
pub struct Reduction {
    /// Combines two vectors. It has to be associative.
    pub combine: Arc<Combine>,
    /// The order of the operands does not matter. Without it they are combined in the order of the team.
    pub commutes: bool,
    /// Bytes of an element; vectors are cut between elements.
    pub element: usize,
    /// The type of the elements, on which all members have to agree.
    pub element_type: ElementType,
    /// The function of `combine`, if it is one that NICs know.
    pub known: Option<Operation>,
}

impl Reduction {
    /// Combines two vectors of `n` bytes in the first: all calls of the program's function go through here.
    ///
    /// # Safety
    /// 1. As [`Combine`] says of a call (owed by the caller).
    pub unsafe fn apply(&self, first: *mut u8, second: *const u8, n: usize) {
        let _inside = context::enter(Inside::Reduction);
        (self.combine)(first, second, n);
    }

    /// A reduction by a function on words: add, multiply, min, max, and, or, xor. NICs can do these.
    ///
    /// # Panics
    /// The function does not combine two words, or does not exist for the type.
    pub fn known(function: Function, word: WordType) -> Reduction {
        let op = Operation { function, word };
        assert!(op.combines(), "{function:?} does not combine two words of {word:?}");
        let combine = move |a: *mut u8, b: *const u8, n: usize| {
            if n == 0 {
                return;
            }
            // SAFETY: two vectors of `n` bytes that do not overlap, and are nobody else's during the call.
            let (a, b) =
                unsafe { (core::slice::from_raw_parts_mut(a, n), core::slice::from_raw_parts(b, n)) };
            op.fold(a, b);
        };
        let element_type = ElementType::named(word.name());
        Reduction {
            combine: Arc::new(combine),
            commutes: true,
            element: op.width(),
            element_type,
            known: Some(op),
        }
    }
}
