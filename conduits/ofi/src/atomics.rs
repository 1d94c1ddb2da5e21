//! Translates the runtime's atomic operations into the provider's.
#![expect(unsafe_code, reason = "asks the provider what it has")]

use crate::fabric::{AtomicCall, Port};
use crate::ffi;
use gasnet_ops::Operand;
use gasnet_ops::{Function, Operation, WordType};

/// Translates an operation. Operations that only move or compare bits use unsigned integers, whatever the
/// type.
pub(crate) fn plan(what: Operation, operands: [u64; 2]) -> Option<AtomicCall> {
    let how = what.function.row().fabric.filter(|_| what.is_defined())?;
    let value = |operand: Operand| operand.value(what.word, operands);
    Some(AtomicCall {
        word: (if how.is_bits { what.word.unsigned() } else { what.word }).fabric(),
        op: how.op,
        operand: value(how.operand),
        expected: how.compare.map(value),
    })
}

/// The atomic operations of the provider, asked for once.
#[derive(Debug, Default)]
pub(crate) struct Have(Vec<(ffi::fi_datatype, ffi::fi_op)>);

impl Have {
    pub(crate) fn ask(port: &Port) -> Have {
        if !port.traits.atomics {
            return Have::default();
        }
        let ep = port.endpoint();
        let plans = WordType::ALL.into_iter().flat_map(|word| {
            Function::ALL.into_iter().filter_map(move |function| plan(Operation { function, word }, [0; 2]))
        });
        // SAFETY: an open endpoint that has atomics.
        let valid = plans.filter(|plan| unsafe {
            match plan.expected {
                None => ffi::atomics::is_fetch_valid(ep, plan.word, plan.op),
                Some(_) => ffi::atomics::is_compare_valid(ep, plan.word, plan.op),
            }
        });
        Have(valid.map(|plan| (plan.word, plan.op)).collect())
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

    /// The table's codes are those of libfabric's headers.
    #[test]
    fn codes_are_those_of_the_headers() {
        let words =
            [ffi::FI_INT32, ffi::FI_UINT32, ffi::FI_INT64, ffi::FI_UINT64, ffi::FI_FLOAT, ffi::FI_DOUBLE];
        assert_eq!(WordType::ALL.map(WordType::fabric), words);
        macro_rules! compare {
            ($($name:ident = $code:literal,)*) => {
                $(assert_eq!(ffi::$name, $code, stringify!($name));)*
            };
        }
        gasnet_ops::fabric_codes!(compare);
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
