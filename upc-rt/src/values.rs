//! Collective functions on private values (`bupc_collectivev.h`), by the core's collectives. A permutation
//! sends each value to a word of the runtime's on its target.
#![expect(unsafe_code, reason = "reads and writes values of the caller")]

use crate::state::Upc;
use gasnet::atomics::Function;
use gasnet::coll::{ElementType, Reduction, SyncMode};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// A number of one of the kinds that fit in 8 bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Number {
    Unsigned(u64),
    Signed(i64),
    Single(f32),
    Double(f64),
}

impl Number {
    /// `kind` is 0, 1, 2 for unsigned, signed, float.
    fn read(bytes: [u8; 8], size: u64, kind: i32) -> Number {
        let raw = u64::from_le_bytes(bytes);
        let spare = 64 - 8 * size as u32;
        match (kind, size) {
            (2, 4) => Number::Single(f32::from_bits(raw as u32)),
            (2, _) => Number::Double(f64::from_bits(raw)),
            (1, _) => Number::Signed((raw << spare) as i64 >> spare),
            _ => Number::Unsigned(raw << spare >> spare),
        }
    }

    fn bytes(self) -> [u8; 8] {
        match self {
            Number::Unsigned(v) => v,
            Number::Signed(v) => v as u64,
            Number::Single(v) => v.to_bits().into(),
            Number::Double(v) => v.to_bits(),
        }
        .to_le_bytes()
    }

    /// The operation with this number of `upc_types.h`, if there is one.
    fn combine(self, op: u32, other: Number) -> Option<Number> {
        macro_rules! common {
            ($a:expr, $b:expr, $add:expr, $mul:expr, $t:ty) => {
                match op {
                    1 => Some($add),
                    2 => Some($mul),
                    32 => Some(<$t>::from(u8::from($a != 0 as $t && $b != 0 as $t))),
                    64 => Some(<$t>::from(u8::from($a != 0 as $t || $b != 0 as $t))),
                    128 => Some(if $b < $a { $b } else { $a }),
                    256 => Some(if $a < $b { $b } else { $a }),
                    _ => None,
                }
            };
        }
        macro_rules! whole {
            ($a:expr, $b:expr, $t:ty) => {
                match op {
                    4 => Some($a & $b),
                    8 => Some($a | $b),
                    16 => Some($a ^ $b),
                    _ => common!($a, $b, $a.wrapping_add($b), $a.wrapping_mul($b), $t),
                }
            };
        }
        match (self, other) {
            (Number::Unsigned(a), Number::Unsigned(b)) => whole!(a, b, u64).map(Number::Unsigned),
            (Number::Signed(a), Number::Signed(b)) => whole!(a, b, i64).map(Number::Signed),
            (Number::Single(a), Number::Single(b)) => common!(a, b, a + b, a * b, f32).map(Number::Single),
            (Number::Double(a), Number::Double(b)) => common!(a, b, a + b, a * b, f64).map(Number::Double),
            _ => None,
        }
    }
}

impl Upc {
    /// Every thread gets the value of `root`.
    ///
    /// # Safety
    /// 1. `value` is valid for `n` bytes (owed by the caller).
    pub unsafe fn broadcast_value(&self, value: *mut u8, n: u64, root: u32) {
        self.core.settle();
        // SAFETY: (1).
        unsafe { self.team.broadcast_raw(root as usize, value, value, n as usize, SyncMode::MY) }
    }

    /// Collects the threads' values at `root`, or everywhere.
    ///
    /// # Safety
    /// 1. `value` is valid for `n` bytes; `array` for one element per thread, where it is filled, or null
    ///    (owed by the caller).
    pub unsafe fn gather_values(&self, value: *const u8, n: u64, root: Option<u32>, array: *mut u8) {
        self.core.settle();
        let mut unwanted = Vec::new();
        let array = match root {
            Some(r) if array.is_null() && r == self.me => {
                self.fatal("bupc_allv_gather: the root must give an array for the values")
            }
            // A thread that does not want the result takes part all the same.
            None if array.is_null() => {
                unwanted.resize(n as usize * self.size as usize, 0);
                unwanted.as_mut_ptr()
            }
            _ => array,
        };
        // SAFETY: (1); the replacement for the array is as large.
        unsafe {
            match root {
                Some(r) => self.team.gather_raw(r as usize, array, value, n as usize, SyncMode::MY),
                None => self.gather_private(value, array, n),
            }
        }
    }

    /// Every thread gets element MYTHREAD of `root`'s array of elements of `n` bytes.
    ///
    /// # Safety
    /// 1. `value` is valid for `n` bytes; `array` for one element per thread, on the root, or null (owed by
    ///    the caller).
    pub unsafe fn scatter_values(&self, value: *mut u8, n: u64, root: u32, array: *const u8) {
        self.core.settle();
        if array.is_null() && root == self.me {
            self.fatal("bupc_allv_scatter: the root must give an array of values");
        }
        // SAFETY: (1).
        unsafe { self.team.scatter_raw(root as usize, value, array, n as usize, SyncMode::MY) }
    }

    /// Sends `value` to thread `to` and receives the value sent to this thread.
    ///
    /// # Safety
    /// 1. `value` is valid for `n` bytes (owed by the caller).
    pub unsafe fn permute_value(&self, value: *mut u8, n: u64, to: u32) {
        self.check_value("bupc_allv_permute", n);
        if to >= self.size {
            self.fatal(&format!("bupc_allv_permute: there is no thread {}", to as i32));
        }
        // A mark that no other use of the words leaves.
        let mark = self.partials.fetch_add(1, Relaxed) + 2;
        let at = self.partial_slot();
        let mut word = [0u8; 8];
        // SAFETY: (1); `n` is at most 8.
        unsafe {
            std::ptr::copy_nonoverlapping(value, word.as_mut_ptr(), n as usize);
            self.core.store_word(to, at + 16, u64::from_le_bytes(word));
            self.core.store_word(to, at, mark);
            self.meet("bupc_allv_permute");
            if self.core.amo(self.me, at, Function::Get, 0, 0) != mark {
                self.fatal(&format!("bupc_allv_permute: no thread sends to thread {}", self.me));
            }
            word = self.core.amo(self.me, at + 16, Function::Get, 0, 0).to_le_bytes();
            std::ptr::copy_nonoverlapping(word.as_ptr(), value, n as usize);
        }
    }

    /// Combines the values of all threads, or of those up to this one.
    ///
    /// # Safety
    /// 1. `value` is valid for `n` bytes (owed by the caller).
    pub unsafe fn reduce_value(&self, value: *mut u8, n: u64, kind: i32, op: u32, prefix: bool) {
        self.core.settle();
        self.check_value("bupc_allv_reduce", n);
        let mut mine = [0u8; 8];
        // SAFETY: (1); `n` is at most 8.
        unsafe { std::ptr::copy_nonoverlapping(value, mine.as_mut_ptr(), n as usize) };
        let first = Number::read(mine, n, kind);
        if first.combine(op, first).is_none() {
            self.fatal(&format!("bupc_allv_reduce: {op:#x} is not an operation on this type"));
        }
        let how = Reduction {
            combine: Arc::new(move |a, b, _| {
                // SAFETY: two values of 8 bytes.
                let (x, y) = unsafe { (a.cast::<[u8; 8]>().read(), b.cast::<[u8; 8]>().read()) };
                let (x, y) = (Number::read(x, n, kind), Number::read(y, n, kind));
                // There is a result, since the operation was checked. SAFETY: as above.
                unsafe { a.cast::<[u8; 8]>().write(x.combine(op, y).unwrap_or(x).bytes()) };
            }),
            // In order, so that sums of floats equal those of a loop.
            commutes: false,
            element: 8,
            element_type: ElementType::named(&format!("{kind} of {n} bytes")),
            known: None,
        };
        let mut sum = mine;
        let (to, from) = (sum.as_mut_ptr(), mine.as_ptr());
        // SAFETY: values of 8 bytes; (1).
        unsafe {
            if prefix {
                self.team.scan_raw(to, from, 8, true, how, SyncMode::MY);
            } else {
                self.team.reduce_all_raw(to, from, 8, how, SyncMode::MY);
            }
            std::ptr::copy_nonoverlapping(sum.as_ptr(), value, n as usize);
        }
    }

    fn check_value(&self, function: &str, n: u64) {
        if n > 8 {
            self.fatal(&format!("{function}: a value of {n} bytes; at most 8"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_sign_and_size() {
        let read = |v: i64, size, kind| Number::read(v.to_le_bytes(), size, kind);
        assert_eq!(read(0xfe, 1, 1), Number::Signed(-2));
        assert_eq!(read(0xfe, 1, 0), Number::Unsigned(254));
        assert_eq!(read(0x0012_34fe, 1, 0), Number::Unsigned(254));
        assert_eq!(read(i64::from(1.5f32.to_bits()), 4, 2), Number::Single(1.5));
        assert_eq!(read(-5, 8, 1).combine(128, read(3, 8, 1)), Some(read(-5, 8, 1)));
        assert_eq!(read(-5, 8, 0).combine(128, read(3, 8, 0)), Some(read(3, 8, 0)));
        assert_eq!(Number::Double(1.5).combine(4, Number::Double(2.0)), None);
        assert_eq!(Number::Double(1.5).combine(2, Number::Double(2.0)), Some(Number::Double(3.0)));
        assert_eq!(read(6, 4, 1).combine(32, read(0, 4, 1)), Some(Number::Signed(0)));
    }
}
