//! Remote atomics: each function on each type against a definition written down here, and totals under
//! contention.

use crate::support::{Cx, Rng};
use gasnet::GlobalPtr;
use gasnet::atomics::{Function, Operation, WordType};

/// A value of a type as a number wide enough for all of them.
#[derive(Debug, Clone, Copy)]
enum Number {
    Integer(i128),
    Float(f64),
}

fn number(word: WordType, bits: u64) -> Number {
    match word {
        WordType::I32 => Number::Integer((bits as i32).into()),
        WordType::U32 => Number::Integer((bits as u32).into()),
        WordType::I64 => Number::Integer((bits as i64).into()),
        WordType::U64 => Number::Integer(bits.into()),
        WordType::F32 => Number::Float(f32::from_bits(bits as u32).into()),
        WordType::F64 => Number::Float(f64::from_bits(bits)),
    }
}

fn bits(word: WordType, n: Number) -> u64 {
    match n {
        Number::Integer(i) if word.width() == 8 => i as u64,
        Number::Integer(i) => u64::from(i as u32),
        Number::Float(f) if word == WordType::F32 => u64::from((f as f32).to_bits()),
        Number::Float(f) => f.to_bits(),
    }
}

/// The new value of the word.
fn expected(op: Operation, old: u64, a: u64, b: u64) -> u64 {
    use Function as F;
    use Number::{Float, Integer};
    let w = op.word;
    let one = if w.is_float() { Float(1.0) } else { Integer(1) };
    let arithmetic = |y: Number, int: fn(i128, i128) -> i128, float: fn(f64, f64) -> f64| {
        let n = match (number(w, old), y) {
            (Integer(x), Integer(y)) => Integer(int(x, y)),
            (Float(x), Float(y)) => Float(float(x, y)),
            _ => unreachable!("one type"),
        };
        bits(w, n)
    };
    let y = number(w, a);
    match op.function {
        F::Get => old,
        F::Set => a,
        F::Add => arithmetic(y, |x, y| x + y, |x, y| x + y),
        F::Sub => arithmetic(y, |x, y| x - y, |x, y| x - y),
        F::Inc => arithmetic(one, |x, y| x + y, |x, y| x + y),
        F::Dec => arithmetic(one, |x, y| x - y, |x, y| x - y),
        F::Mul => arithmetic(y, |x, y| x.wrapping_mul(y), |x, y| x * y),
        F::Min => arithmetic(y, i128::min, f64::min),
        F::Max => arithmetic(y, i128::max, f64::max),
        F::And => old & a,
        F::Or => old | a,
        F::Xor => old ^ a,
        F::MaskedSwap => old & !a | b & a,
        F::CompareSwap => {
            if old == a {
                b
            } else {
                old
            }
        }
    }
}

fn operand(rng: &mut Rng, word: WordType) -> u64 {
    match word {
        // Quarters below 2^20: sums and products are exact in f64; f32 rounds once, as the operation does.
        WordType::F32 => u64::from(((rng.below(4000) as f32 - 2000.0) / 4.0).to_bits()),
        WordType::F64 => ((rng.below(1 << 20) as f64 - 5e5) / 4.0).to_bits(),
        _ => {
            let any = rng.next();
            let v = *rng.pick(&[
                0,
                1,
                2,
                u64::MAX,
                1 << 31,
                1 << 63,
                i64::MAX as u64,
                i32::MAX as u64,
                any,
                any >> 40,
            ]);
            if word.width() == 8 { v } else { u64::from(v as u32) }
        }
    }
}

/// One rank at a time on a word: old value and new value are as defined; the words on both sides stay.
pub fn by_definition(cx: &Cx) {
    const GUARD: u64 = 0x0123_4567_89ab_cdef;
    let base = cx.take_zeroed(u64::from(cx.size()) * 32);
    let at = base + 32 * u64::from(cx.me());
    let mut rng = cx.rng("atomics");
    for target in cx.targets() {
        for word in WordType::ALL {
            for function in Function::ALL {
                if !(Operation { function, word }).is_defined() {
                    continue;
                }
                let op = Operation { function, word };
                for _ in 0..if cx.quick { 2 } else { 12 } {
                    // A narrow word at either half of 8 bytes.
                    let word_at = at + 8 + if word.width() == 8 { 0 } else { 4 * (rng.next() % 2) };
                    cx.rank.write_slice(GlobalPtr::new(target, at), &[GUARD, GUARD, GUARD]);
                    let (old, mut a, b) =
                        (operand(&mut rng, word), operand(&mut rng, word), operand(&mut rng, word));
                    if function == Function::CompareSwap && rng.next().is_multiple_of(2) {
                        a = old;
                    }
                    let set = Operation { function: Function::Set, word };
                    let get = Operation { function: Function::Get, word };
                    let what = format!("{op:?} old {old:#x} a {a:#x} b {b:#x} on rank {target}");
                    cx.rank.atomics().apply(target, word_at, set, old, 0);
                    assert_eq!(
                        cx.rank.atomics().apply(target, word_at, op, a, b),
                        old,
                        "old value of {what}"
                    );
                    assert_eq!(
                        cx.rank.atomics().apply(target, word_at, get, 0, 0),
                        expected(op, old, a, b),
                        "{what}"
                    );
                    let mut back = [0u64; 3];
                    cx.rank.read_slice(GlobalPtr::new(target, at), &mut back);
                    let mut want = [GUARD; 3];
                    let new = expected(op, old, a, b);
                    let shift = 8 * (word_at - at - 8);
                    let mask = if word.width() == 8 { u64::MAX } else { 0xffff_ffff << shift };
                    want[1] = GUARD & !mask | new << shift;
                    assert_eq!(back, want, "{what}");
                }
            }
        }
    }
}

/// All ranks on the same words.
pub fn contention(cx: &Cx) {
    let k = if cx.quick { 40u64 } else { 400 };
    let n = u64::from(cx.size());
    let words = cx.take_zeroed(4096);
    let (me, home) = (u64::from(cx.me()), gasnet::RankId(cx.size() - 1));
    for (i, word) in WordType::ALL.into_iter().enumerate() {
        let at = |f: u64| words + (i as u64 * 16 + f) * 8;
        let value = |v: i64| match word {
            WordType::F32 => u64::from((v as f32).to_bits()),
            WordType::F64 => (v as f64).to_bits(),
            WordType::I32 | WordType::U32 => u64::from(v as u32),
            _ => v as u64,
        };
        let go = |function, f: u64, a: u64, b: u64| {
            cx.rank.atomics().apply(home, at(f), Operation { function, word }, a, b)
        };
        for j in 0..k {
            go(Function::Add, 0, value(me as i64 + 1), 0);
            go(Function::Sub, 1, value(2), 0);
            go(Function::Inc, 2, 0, 0);
            go(Function::Dec, 3, 0, 0);
            go(Function::Max, 4, value((j * n + me) as i64), 0);
            if word != WordType::U32 && word != WordType::U64 {
                go(Function::Min, 5, value(-((j * n + me) as i64)), 0);
            }
            if !word.is_float() {
                go(Function::Xor, 6, 1 << (me % 31), 0);
                go(Function::Or, 7, 1 << (j % 31), 0);
            }
        }
        // A counter by compare-and-swap, and a token that moves by swap: no value is lost or doubled.
        let mut seen = go(Function::Get, 8, 0, 0);
        for _ in 0..k / 4 {
            loop {
                let next = match number(word, seen) {
                    Number::Integer(v) => bits(word, Number::Integer(v + 1)),
                    Number::Float(v) => bits(word, Number::Float(v + 1.0)),
                };
                let was = go(Function::CompareSwap, 8, seen, next);
                let swapped = was == seen;
                seen = if swapped { next } else { was };
                if swapped {
                    break;
                }
            }
        }
        let mut held = value(me as i64 + 1);
        for _ in 0..k {
            held = go(Function::Set, 9, held, 0);
        }
        cx.rank.atomics().apply(home, at(10), Operation { function: Function::Add, word }, held, 0);
        cx.rank.barrier();
        let is = |f: u64, want: i64, what: &str| {
            assert_eq!(go(Function::Get, f, 0, 0), value(want), "{what} on {word:?}");
        };
        is(0, (k * n * (n + 1) / 2) as i64, "sum");
        is(1, -((2 * k * n) as i64), "difference");
        is(2, (k * n) as i64, "count up");
        is(3, -((k * n) as i64), "count down");
        is(4, (k * n - 1) as i64, "maximum");
        if word != WordType::U32 && word != WordType::U64 {
            is(5, -((k * n - 1) as i64), "minimum");
        }
        if !word.is_float() {
            is(6, 0, "exclusive or, an even number of times each");
            is(7, i64::from(u32::MAX >> 1), "union");
        }
        is(8, (k / 4 * n) as i64, "compare and swap");
        let rest = number(word, go(Function::Get, 9, 0, 0));
        let held = number(word, go(Function::Get, 10, 0, 0));
        let total = match (rest, held) {
            (Number::Integer(a), Number::Integer(b)) => a + b,
            (Number::Float(a), Number::Float(b)) => (a + b) as i128,
            _ => unreachable!("one type"),
        };
        assert_eq!(total, i128::from(n * (n + 1) / 2), "tokens swapped around on {word:?}");
    }
    tickets(cx, k);
}

/// Fetch-and-add hands out every number once.
fn tickets(cx: &Cx, k: u64) {
    let n = u64::from(cx.size());
    let marks = cx.take_zeroed(8 * k * n);
    let counter = GlobalPtr::<u64>::new(gasnet::RankId(0), cx.take_zeroed(8));
    let mut last = None;
    for _ in 0..k {
        let ticket = cx.rank.atomics().fetch_add(counter, 1);
        assert!(ticket < k * n && last < Some(ticket), "ticket {ticket} after {last:?}");
        last = Some(ticket);
        let home = gasnet::RankId((ticket % n) as u32);
        assert_eq!(
            cx.rank.atomics().fetch_add(GlobalPtr::new(home, marks + 8 * ticket), 1),
            0,
            "ticket {ticket} twice"
        );
    }
    cx.rank.barrier();
    for ticket in (0..k * n).filter(|t| t % n == u64::from(cx.me())) {
        assert_eq!(cx.rank.read::<u64>(GlobalPtr::new(cx.rank.id(), marks + 8 * ticket)), 1);
    }
}

/// A random program of each type's domain: every rank has words of its own on other ranks, which one
/// operation at a time is on, and knows what they hold.
pub fn domains(cx: &Cx) {
    domain::<i32>(cx);
    domain::<u32>(cx);
    domain::<i64>(cx);
    domain::<u64>(cx);
    domain::<f32>(cx);
    domain::<f64>(cx);
}

fn domain<T: gasnet::coll::Word>(cx: &Cx) {
    use gasnet::domain::PendingWord;
    const WORDS: usize = 24;
    let all = cx.rank.team_all();
    let functions: Vec<Function> = Function::ALL
        .into_iter()
        .filter(|f| Operation { function: *f, word: T::TYPE }.is_defined())
        .collect();
    let domain = gasnet::AtomicDomain::<T>::new(&all, &functions);
    assert_eq!(domain.team().size(), cx.size() as usize);
    let base =
        cx.take_zeroed(u64::from(cx.size()) * 8 * WORDS as u64) + u64::from(cx.me()) * 8 * WORDS as u64;
    let mut rng = cx.rng("domains");
    let targets = cx.targets();
    let place =
        |i: usize| GlobalPtr::<T>::new(targets[i % targets.len()], base + (i * size_of::<T>()) as u64);
    let value = |bits: u64| -> T { bytemuck::pod_read_unaligned(&bits.to_le_bytes()[..size_of::<T>()]) };
    let number = |value: T| {
        let mut bits = [0; 8];
        bits[..size_of::<T>()].copy_from_slice(bytemuck::bytes_of(&value));
        u64::from_le_bytes(bits)
    };
    let mut model = [0u64; WORDS];
    let mut flying: Vec<(usize, u64, PendingWord<'_, T>)> = Vec::new();
    let mut updates: Vec<(usize, gasnet::Event)> = Vec::new();
    for _ in 0..if cx.quick { 150 } else { 1500 } {
        while flying.len() + updates.len() > 10 || rng.below(3) == 0 && !flying.is_empty() {
            if !updates.is_empty() && (flying.is_empty() || rng.below(2) == 0) {
                cx.rank.wait(updates.swap_remove(rng.below(updates.len())).1);
                continue;
            }
            let (i, old, mut pending) = flying.swap_remove(rng.below(flying.len()));
            if rng.below(2) == 0 {
                while !pending.test() {}
            }
            assert_eq!(
                number(pending.wait()),
                old,
                "the old value of word {i} ({:?}), seed {}",
                T::TYPE,
                cx.seed
            );
        }
        let i = rng.below(WORDS);
        if flying.iter().any(|f| f.0 == i) || updates.iter().any(|u| u.0 == i) {
            continue;
        }
        let function = *rng.pick(&functions);
        let (mut a, b) = (operand(&mut rng, T::TYPE), operand(&mut rng, T::TYPE));
        if function == Function::CompareSwap && rng.below(2) == 0 {
            a = model[i];
        }
        let old = model[i];
        model[i] = expected(Operation { function, word: T::TYPE }, old, a, b);
        let (at, a, b) = (place(i), value(a), value(b));
        match rng.below(3) {
            0 => assert_eq!(number(domain.apply(at, function, a, b)), old),
            1 => flying.push((i, old, domain.start(at, function, a, b))),
            _ => updates.push((i, domain.update(at, function, a, b))),
        }
    }
    updates.into_iter().for_each(|u| cx.rank.wait(u.1));
    flying.into_iter().for_each(|(i, old, pending)| assert_eq!(number(pending.wait()), old, "word {i}"));
    for (i, want) in model.iter().enumerate() {
        let is = domain.apply(place(i), Function::Get, value(0), value(0));
        assert_eq!(number(is), *want, "word {i} ({:?}), seed {}", T::TYPE, cx.seed);
    }
    implicit(cx, T::TYPE, base);
    cx.rank.barrier();
}

/// Implicit operations count by what they do, and in access regions; the old values are there when those are
/// over.
#[expect(unsafe_code, reason = "the old values' memory is the caller's")]
fn implicit(cx: &Cx, word: WordType, base: u64) {
    let op = |function| Operation { function, word };
    let one = bits(word, if word.is_float() { Number::Float(1.0) } else { Number::Integer(1) });
    for round in 0..8 {
        let region = round % 2 == 0;
        let mut old = [u64::MAX; 5];
        let mut at = old.as_mut_ptr();
        let to = cx.right(round);
        if region {
            cx.rank.implicit().begin_access_region();
        }
        // SAFETY: `old` is looked at after the operations have been waited for.
        unsafe {
            for function in [Function::Set, Function::Set, Function::Set] {
                cx.rank.atomics().apply_nbi(to, base, op(function), [one, 0], at.cast());
                at = at.add(1);
            }
        }
        if region {
            let event = cx.rank.implicit().end_access_region();
            cx.rank.wait(event);
        } else {
            cx.rank.implicit().wait(gasnet::Categories::ALL);
        }
        assert_eq!(cx.rank.atomics().apply(to, base, op(Function::Inc), 0, 0), one);
        if region {
            cx.rank.implicit().begin_access_region();
        }
        // SAFETY: as above.
        unsafe {
            cx.rank.atomics().apply_nbi(to, base, op(Function::Get), [0; 2], at.cast());
            cx.rank.atomics().apply_nbi(to, base + 8, op(Function::Get), [0; 2], std::ptr::null_mut());
        }
        if region {
            let event = cx.rank.implicit().end_access_region();
            cx.rank.wait(event);
        } else {
            cx.rank.implicit().wait(gasnet::Categories::ALL);
        }
        let two = expected(op(Function::Inc), one, 0, 0);
        let mask = if word.width() == 8 { u64::MAX } else { u64::from(u32::MAX) };
        // The bytes after a narrow value are not changed.
        assert_eq!(old[3], if word.width() == 8 { two } else { two | !mask }, "{word:?}");
        assert_eq!(old[4], u64::MAX);
    }
}
