use super::*;

fn op(function: Function, word: WordType) -> Operation {
    Operation { function, word }
}

#[test]
fn rows_are_in_the_order_of_their_numbers() {
    for (at, function) in Function::ALL.into_iter().enumerate() {
        assert_eq!(function as usize, at);
        let other = function.row();
        assert_eq!((function.types(), function.instruction()), (other.types, other.instruction));
    }
    for (at, word) in WordType::ALL.into_iter().enumerate() {
        assert_eq!(word as usize, at);
    }
}

/// No two operations have the same code of an interface, and names come with their fetching forms.
#[test]
fn codes_of_interfaces_are_unique() {
    let rows = || Function::ALL.into_iter().map(Function::row);
    let (mut ex, mut upc, mut bupc) = (0u32, 0u32, 0u32);
    let take = |set: &mut u32, bit: u8| {
        assert_eq!(*set >> bit & 1, 0, "bit {bit} twice");
        *set |= 1 << bit;
    };
    for row in rows() {
        row.ex.into_iter().chain(row.ex_fetching).for_each(|(bit, _)| take(&mut ex, bit));
        row.upc.into_iter().for_each(|(bit, _)| take(&mut upc, bit));
        row.bupc.iter().for_each(|number| take(&mut bupc, *number));
        // GASNet-EX shifts one by 15 to get the other.
        if let (Some(plain), Some(fetching)) = (row.ex, row.ex_fetching) {
            assert_eq!(plain.0 + 15, fetching.0);
        }
    }
    assert_eq!(Function::of_ex(18), Some(Function::Add));
    assert_eq!(Function::of_ex(32), None);
    assert_eq!((Function::ex_name(3), Function::ex_name(25)), (Some("ADD"), Some("SWAP")));
    assert_eq!((Function::of_upc(20), Function::of_upc(5)), (Some(Function::Inc), None));
    assert_eq!((Function::of_bupc(4), Function::of_bupc(99)), (Some(Function::CompareSwap), None));
}

#[test]
fn any_number_is_an_operation_or_none() {
    let known = WordType::ALL.into_iter().flat_map(|w| Function::ALL.map(|f| op(f, w)));
    let numbers: Vec<u32> = known.map(Operation::encode).collect();
    let step = if cfg!(miri) { 997 } else { 1 };
    for v in (0..0x1_0000).step_by(step).chain([u32::MAX, 1 << 16, 1 << 24, 1 << 31]) {
        match Operation::decode(v) {
            Some(op) => assert_eq!(op.encode(), v),
            None => assert!(!numbers.contains(&v), "{v:#x}"),
        }
    }
}

/// The instruction for an operation does what the operation is defined to do.
#[test]
fn instructions_fit_the_definition() {
    let mut random = fastrand::Rng::with_seed(5);
    for _ in 0..200 {
        let (old, a, b) = (random.u64(..), random.u64(..), random.u64(..));
        for word in WordType::ALL {
            for function in Function::ALL {
                let op = op(function, word);
                let by_instruction = match op.instruction() {
                    Instruction::Load => None,
                    Instruction::Swap => Some(a),
                    Instruction::Add(n) => Some(old.wrapping_add(n.integer(a, b))),
                    Instruction::And => Some(old & a),
                    Instruction::Or => Some(old | a),
                    Instruction::Xor => Some(old ^ a),
                    Instruction::CompareSwap => (word.mask(old) == word.mask(a)).then_some(b),
                    Instruction::Loop => continue,
                };
                assert_eq!(op.new_value(old, a, b), by_instruction.map(|v| word.mask(v)), "{op:?}");
            }
        }
    }
}

/// libfabric's form of an operation is the operation, by the meaning that `fi_atomic(3)` gives the codes.
#[test]
fn libfabric_does_the_same() {
    use table::fabric::*;
    let mut random = fastrand::Rng::with_seed(6);
    for word in WordType::ALL {
        for function in Function::ALL {
            let op = op(function, word);
            let Some(how) = function.row().fabric else { continue };
            if !op.is_defined() {
                continue;
            }
            for _ in 0..50 {
                let value = |n: u32| match word {
                    WordType::F32 => u64::from((n as f32 / 8.0).to_bits()),
                    WordType::F64 => (f64::from(n) / 8.0).to_bits(),
                    _ => word.mask(u64::from(n).wrapping_mul(0x9e37_79b9_7f4a_7c15)),
                };
                let (old, b) = (value(random.u32(..999)), value(random.u32(..999)));
                let a = if random.bool() { old } else { value(random.u32(..999)) };
                let operand = how.operand.value(word, [a, b]);
                let compare = how.compare.map(|c| c.value(word, [a, b]));
                let by = |function| Operation { function, word }.new_value(old, operand, 0).expect("a value");
                let model = match how.op {
                    FI_MIN => by(Function::Min),
                    FI_MAX => by(Function::Max),
                    FI_SUM => by(Function::Add),
                    FI_PROD => by(Function::Mul),
                    FI_BOR => old | operand,
                    FI_BAND => old & operand,
                    FI_BXOR => old ^ operand,
                    FI_ATOMIC_READ => old,
                    FI_ATOMIC_WRITE => operand,
                    FI_CSWAP if compare == Some(old) => operand,
                    FI_CSWAP => old,
                    FI_MSWAP => compare.map_or(old, |mask| operand & mask | old & !mask),
                    other => panic!("{function:?} has code {other} of libfabric, which has no model here"),
                };
                assert_eq!(op.new_value(old, a, b).unwrap_or(old), model, "{op:?} {old:x} {a:x} {b:x}");
            }
        }
    }
}

#[test]
fn neutral_operands_change_nothing() {
    let mut random = fastrand::Rng::with_seed(7);
    for word in WordType::ALL {
        for function in Function::ALL {
            let op = op(function, word);
            if let Some(neutral) = op.neutral() {
                for old in [0, 1, u64::MAX, random.u64(..)] {
                    assert_eq!(op.new_value(old, neutral, 0), Some(word.mask(old)), "{op:?}");
                }
            }
        }
    }
}

/// Floats are rounded and compared as the language says; integers wrap and have signs.
#[test]
fn values_are_those_of_the_types() {
    use Function::*;
    use WordType::*;
    let f32s = |function, x: f32, y: f32| {
        let new = op(function, F32).new_value(x.to_bits().into(), y.to_bits().into(), 0);
        f32::from_bits(new.expect("a value") as u32)
    };
    assert_eq!(f32s(Add, 0.5, 0.25), 0.75);
    assert_eq!(f32s(Min, 0.5, -0.25), -0.25);
    assert_eq!(f32s(Dec, 0.5, 9.0), -0.5);
    assert_eq!(f32s(Mul, 3.0, -0.25), -0.75);
    assert_eq!(op(Min, I32).new_value(3, 0xffff_fffe, 0), Some(0xffff_fffe));
    assert_eq!(op(Min, U32).new_value(3, 0xffff_fffe, 0), Some(3));
    assert_eq!(op(Max, I64).new_value(3, u64::MAX - 1, 0), Some(3));
    assert_eq!(op(Add, I32).new_value(0x7fff_ffff, 1, 0), Some(0x8000_0000));
    assert_eq!(op(Mul, U64).new_value(u64::MAX, 2, 0), Some(u64::MAX - 1));
    assert_eq!(op(CompareSwap, F64).new_value(0, (-0.0f64).to_bits(), 7), None);
    assert_eq!(f64::from_bits(Operand::MinusA.value(F64, [0, 0])).to_bits(), (-0.0f64).to_bits());
    assert_eq!(Operand::MinusOne.value(I32, [0, 0]), 0xffff_ffff);
}

#[test]
fn vectors_are_combined_word_by_word() {
    use Function::*;
    use WordType::*;
    let run = |function, word, a: &[u8], b: &[u8]| {
        let mut memory = a.to_vec();
        op(function, word).fold(&mut memory, b);
        memory
    };
    let words = |w: &[i32]| w.iter().flat_map(|w| w.to_ne_bytes()).collect::<Vec<u8>>();
    assert_eq!(run(Add, I32, &words(&[1, i32::MAX]), &words(&[2, 1])), words(&[3, i32::MIN]));
    assert_eq!(run(Min, I32, &words(&[-1, 5]), &words(&[3, -7])), words(&[-1, -7]));
    assert_eq!(run(Min, U32, &words(&[-1]), &words(&[3])), words(&[3]));
    assert_eq!(run(Max, F64, &1.5f64.to_ne_bytes(), &2.5f64.to_ne_bytes()), 2.5f64.to_ne_bytes());
    assert_eq!(run(Xor, U64, &[0xff; 8], &[0x0f; 8]), [0xf0; 8]);
    // Functions that do not combine change nothing, and neither do bytes at the end that are no word.
    assert_eq!(run(Set, U64, &[1; 8], &[2; 8]), [1; 8]);
    assert_eq!(run(And, F32, &[1; 4], &[2; 4]), [1; 4]);
    assert_eq!(run(Or, U32, &[1; 7], &[2; 7]), [3, 3, 3, 3, 1, 1, 1]);
    let combining = WordType::ALL.into_iter().flat_map(|w| Function::ALL.map(|f| op(f, w)));
    assert_eq!(combining.filter(|op| op.combines()).count(), 7 * 4 + 4 * 2);
}

#[test]
fn operations_of_homes_stay_in_segments() {
    for op in home::HomeOp::ALL {
        let (bytes, align) = (op.operand_bytes() as u64, op.alignment() as u64);
        assert_eq!((op.check(0, 4096), op.check(4096 - align, 4096)), (Ok(()), Ok(())));
        for offset in [4096 - bytes + 1, 4096, u64::MAX, u64::MAX - bytes + 1, u64::MAX - align + 1] {
            assert!(op.check(offset, 4096).is_err_and(|why| why.contains("a segment of 0x1000 bytes")));
        }
        for offset in [1, align / 2, align + align / 2] {
            assert!(op.check(offset, 4096).is_err_and(|why| why.contains("no multiple of")));
        }
        assert!(op.check(0, 0).is_err());
    }
}
