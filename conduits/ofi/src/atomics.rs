//! Translates the runtime's atomic operations into the provider's.
#![expect(unsafe_code, reason = "asks the provider what it has")]

use crate::fabric::{AtomicCall, Port};
use crate::ffi;
use gasnet::atomics::{Function, Operation, WordType};

/// Translates an operation. Operations that only move or compare bits use unsigned integers, whatever the
/// type.
pub(crate) fn plan(what: Operation, [a, b]: [u64; 2]) -> Option<AtomicCall> {
    use Function as F;
    let wide = what.width() == 8;
    let bits = if wide { ffi::FI_UINT64 } else { ffi::FI_UINT32 };
    let number = match what.word {
        WordType::I32 => ffi::FI_INT32,
        WordType::U32 => ffi::FI_UINT32,
        WordType::I64 => ffi::FI_INT64,
        WordType::U64 => ffi::FI_UINT64,
        WordType::F32 => ffi::FI_FLOAT,
        WordType::F64 => ffi::FI_DOUBLE,
    };
    let float = matches!(what.word, WordType::F32 | WordType::F64);
    let negative = |v: u64| match what.word {
        WordType::F32 => u64::from((-f32::from_bits(v as u32)).to_bits()),
        WordType::F64 => (-f64::from_bits(v)).to_bits(),
        _ => v.wrapping_neg(),
    };
    let one = match what.word {
        WordType::F32 => u64::from(1f32.to_bits()),
        WordType::F64 => 1f64.to_bits(),
        _ => 1,
    };
    let (word, op, operand) = match what.function {
        F::Get => (bits, ffi::FI_ATOMIC_READ, 0),
        F::Set => (bits, ffi::FI_ATOMIC_WRITE, a),
        F::Add => (number, ffi::FI_SUM, a),
        F::Sub => (number, ffi::FI_SUM, negative(a)),
        F::Inc => (number, ffi::FI_SUM, one),
        F::Dec => (number, ffi::FI_SUM, negative(one)),
        F::Min => (number, ffi::FI_MIN, a),
        F::Max => (number, ffi::FI_MAX, a),
        F::Mul => (number, ffi::FI_PROD, a),
        F::And if !float => (number, ffi::FI_BAND, a),
        F::Or if !float => (number, ffi::FI_BOR, a),
        F::Xor if !float => (number, ffi::FI_BXOR, a),
        F::CompareSwap => (bits, ffi::FI_CSWAP, b),
        _ => return None,
    };
    let expected = (what.function == F::CompareSwap).then_some(a);
    Some(AtomicCall { word, op, operand, expected })
}

/// The atomic operations of the provider, asked for once.
#[derive(Debug, Default)]
pub(crate) struct Have(Vec<(ffi::fi_datatype, ffi::fi_op)>);

impl Have {
    pub(crate) fn ask(port: &Port) -> Have {
        if !port.traits.atomics {
            return Have::default();
        }
        let words =
            [ffi::FI_INT32, ffi::FI_UINT32, ffi::FI_INT64, ffi::FI_UINT64, ffi::FI_FLOAT, ffi::FI_DOUBLE];
        let ops = [
            ffi::FI_ATOMIC_READ,
            ffi::FI_ATOMIC_WRITE,
            ffi::FI_SUM,
            ffi::FI_MIN,
            ffi::FI_MAX,
            ffi::FI_PROD,
            ffi::FI_BAND,
            ffi::FI_BOR,
            ffi::FI_BXOR,
        ];
        let ep = port.endpoint();
        // SAFETY: an open endpoint that has atomics.
        let fetch = |word, op| unsafe { ffi::atomics::is_fetch_valid(ep, word, op) };
        // SAFETY: as above.
        let compare = |word| unsafe { ffi::atomics::is_compare_valid(ep, word, ffi::FI_CSWAP) };
        let mut all = Vec::new();
        for word in words {
            all.extend(ops.into_iter().filter(|op| fetch(word, *op)).map(|op| (word, op)));
            if compare(word) {
                all.push((word, ffi::FI_CSWAP));
            }
        }
        Have(all)
    }

    pub(crate) fn has(&self, plan: &AtomicCall) -> bool {
        self.0.contains(&(plan.word, plan.op))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn forget(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(word: WordType, function: Function, a: u64) -> AtomicCall {
        plan(Operation { function, word }, [a, 9]).expect("there is one")
    }

    #[test]
    fn operations_are_translated() {
        let sub = of(WordType::I32, Function::Sub, 5);
        assert_eq!((sub.op, sub.operand as i32, sub.expected), (ffi::FI_SUM, -5, None));
        let sub = of(WordType::F64, Function::Sub, 1.5f64.to_bits());
        assert_eq!((sub.word, f64::from_bits(sub.operand)), (ffi::FI_DOUBLE, -1.5));
        let dec = of(WordType::F32, Function::Dec, 0);
        assert_eq!(f32::from_bits(dec.operand as u32), -1.0);
        let swap = of(WordType::F32, Function::CompareSwap, 7);
        assert_eq!(
            swap,
            AtomicCall { word: ffi::FI_UINT32, op: ffi::FI_CSWAP, operand: 9, expected: Some(7) }
        );
        assert_eq!(plan(Operation { function: Function::Xor, word: WordType::F64 }, [1, 0]), None);
    }
}
