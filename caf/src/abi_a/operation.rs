//! The function of `co_reduce`, called by the rules of the processor.
//!
//! Compiled code passes a function of two elements by its address and says no more than whether it takes
//! values or addresses. How it returns its result depends on the type. Of a derived type a descriptor has
//! the size only: more than 16 bytes come by address; others in two registers, which may be general or of
//! floating point each. A call sets all four registers to words that mean nothing, and keeps what they are
//! afterwards ([`Returned`]). [`Reading`] says which of the ways to read them there are, and [`choose`]
//! finds the one that is true.
#![expect(unsafe_code, reason = "calls a function of compiled code by the rules of the processor")]

use crate::descriptor::{Class, Element};
use crate::image::Image;
use crate::joint::Combine;
use crate::stat::Failure;
use std::ffi::c_int;
use std::sync::{Arc, Mutex, PoisonError};

/// Flags of the compiler: characters, whose result comes by address; arguments by value.
const BY_ADDRESS: c_int = 1;
const BY_VALUE: c_int = 4;

/// Words that registers have before a call.
const SENTINELS: [[u64; 4]; 2] = [
    [0x5bd1_e995_9e37_79b9, 0x7f4a_7c15_5851_f42d, 0x4c95_7f2d_bf58_476d, 0x1ce4_e5b9_94d0_49bb],
    [0xa3c5_9ac3_1b87_3593, 0x8f1b_bcdc_ca62_c1d6, 0xb5c0_fbcf_e9b5_dba5, 0xd807_aa98_3956_c25b],
];

/// A call, and what it leaves.
#[repr(C)]
struct Call {
    function: *const u8,
    /// Arguments in general registers, in floating-point registers, and in memory.
    general: [u64; 6],
    floating: [[u64; 2]; 4],
    stacked: *const u64,
    stacked_words: u64,
    returned: Returned,
}

/// The contents of registers before a call, then after it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
struct Returned {
    /// Two general registers.
    general: [u64; 2],
    /// Two floating-point registers, of 16 bytes each.
    floating: [[u64; 2]; 2],
    /// Numbers of 80 bits, and how many.
    extended: [[u64; 2]; 2],
    extended_count: u64,
}

impl Returned {
    /// The contents of registers before a call.
    fn sentinels(i: usize) -> Returned {
        let [a, b, c, d] = SENTINELS[i];
        Returned { general: [a, b], floating: [[c, d], [d, c]], ..Returned::default() }
    }
}

/// The ways to read the two words of a small derived type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// General registers.
    General,
    /// Floating-point registers.
    Floating,
    /// The first word in a general register, the second in a floating-point one.
    GeneralFloating,
    /// The other way round.
    FloatingGeneral,
    /// Both in one floating-point register.
    Quad,
    /// A number of 80 bits.
    Extended,
}

impl Reading {
    const ALL: [Reading; 6] = [
        Reading::FloatingGeneral,
        Reading::General,
        Reading::Floating,
        Reading::GeneralFloating,
        Reading::Quad,
        Reading::Extended,
    ];

    /// The ways for a type of so many bytes.
    fn of(bytes: usize) -> Vec<Reading> {
        let short = [Reading::General, Reading::Floating];
        Reading::ALL.into_iter().filter(|r| bytes > 8 || short.contains(r)).collect()
    }

    fn read(self, from: &Returned) -> [u64; 2] {
        let (general, floating) = (from.general, from.floating);
        match self {
            Reading::General => general,
            Reading::Floating => [floating[0][0], floating[1][0]],
            Reading::GeneralFloating => [general[0], floating[0][0]],
            Reading::FloatingGeneral => [floating[0][0], general[0]],
            Reading::Quad => floating[0],
            Reading::Extended => from.extended[0],
        }
    }
}

/// A call of the function: both operands, and what registers were after calls that began with either of the
/// [`SENTINELS`].
struct Trial {
    operands: [[u64; 2]; 2],
    returned: [Returned; 2],
}

/// The reading that explains what calls have left, for a type of `bytes` bytes. Each rule drops readings that
/// it speaks against, unless it speaks against all.
///
/// 1. A register that keeps its sentinel is not a result. 2. A function that selects returns one of its
///    operands in every call. 3. Others work word by word: a word of the result is the same where the same
///    word of both operands is. 4. No register is read twice. 5. A word, or half of one, that is 0 in all
///    results and in no operand is none. 6. Words of one type look alike: small integers, and usual
///    floating-point numbers.
///
/// `None` if readings are left that give different results.
fn choose(bytes: usize, trials: &[Trial]) -> Option<Reading> {
    let [last, ..] = trials else { return None };
    if bytes == 16 && trials.iter().all(|trial| trial.returned[0].extended_count == 1) {
        return Some(Reading::Extended);
    }
    let mask = |word: usize| match bytes.saturating_sub(8 * word) {
        0 => 0,
        n @ 1..8 => (1u64 << (8 * n)) - 1,
        _ => u64::MAX,
    };
    let cut = |words: [u64; 2]| [words[0] & mask(0), words[1] & mask(1)];
    let read = |reading: Reading, trial: &Trial| cut(reading.read(&trial.returned[0]));
    let operands = |trial: &Trial| trial.operands.map(cut);
    let words = 0..bytes.div_ceil(8).min(2);
    // The upper half of a word may have no meaning.
    let same = |a: u64, b: u64| a == b || a as u32 == b as u32 && a as u32 != 0;

    let is_set = |reading: &Reading| {
        let before = [0, 1].map(|i| reading.read(&Returned::sentinels(i)));
        let kept = |w: usize| {
            let kept = |trial: &Trial| (0..2).all(|i| reading.read(&trial.returned[i])[w] == before[i][w]);
            trials.iter().all(kept)
        };
        *reading != Reading::Extended && !words.clone().any(kept)
    };
    let selects = |reading: &Reading| {
        trials.iter().all(|trial| {
            let result = read(*reading, trial);
            operands(trial).iter().any(|operand| (0..2).all(|w| same(operand[w], result[w])))
        })
    };
    let by_word = |reading: &Reading| {
        words.clone().all(|w| {
            let word = |trial: &Trial| operands(trial).map(|operand| operand[w]);
            let alike = |one: &Trial, other: &Trial| same(read(*reading, one)[w], read(*reading, other)[w]);
            trials.iter().all(|one| trials.iter().all(|other| word(one) != word(other) || alike(one, other)))
        })
    };
    let twice = |words: [u64; 2]| words[0] == words[1];
    let reads_once = |reading: &Reading| {
        let expected =
            |trial: &Trial| !twice(read(*reading, trial)) || operands(trial).into_iter().any(twice);
        words.len() < 2 || trials.iter().any(expected)
    };
    let is_full = |reading: &Reading, mask: u64| {
        let is_zero = |words: [u64; 2], i: usize, shift: u32| words[i] >> shift & mask == 0;
        let shifts = if mask == u64::MAX { &[0][..] } else { &[0, 32] };
        words.clone().flat_map(|i| shifts.iter().map(move |shift| (i, *shift))).all(|(i, shift)| {
            trials.iter().any(|trial| {
                !is_zero(read(*reading, trial), i, shift)
                    || operands(trial).iter().any(|operand| is_zero(*operand, i, shift))
            })
        })
    };
    let full = |reading: &Reading| is_full(reading, u64::MAX);
    let full_halves = |reading: &Reading| is_full(reading, u32::MAX.into());
    let looks = |reading: &Reading| {
        let result = read(*reading, last);
        words.clone().all(|w| {
            let like = |other: u64| look(result[w]).zip(look(other)).is_none_or(|(a, b)| a == b);
            operands(last).iter().any(|operand| like(operand[w]))
        })
    };

    let mut left = Reading::of(bytes);
    left.retain(is_set);
    let rules: [&dyn Fn(&Reading) -> bool; 6] =
        [&selects, &by_word, &reads_once, &full, &full_halves, &looks];
    let agree =
        |left: &[Reading]| left.iter().all(|r| trials.iter().all(|t| read(*r, t) == read(left[0], t)));
    for rule in rules {
        if left.len() > 1 && !agree(&left) {
            let kept: Vec<Reading> = left.iter().copied().filter(|r| rule(r)).collect();
            left = if kept.is_empty() { left } else { kept };
        }
    }
    left.first().copied().filter(|_| agree(&left))
}

/// Guesses the type of a word: `false` for a small integer, `true` for a usual floating-point number of 64
/// bits; `None` if unclear.
fn look(word: u64) -> Option<bool> {
    let exponent = word >> 52 & 0x7ff;
    match word {
        0 => None,
        _ if word >> 32 == 0 || word >> 40 == 0xff_ffff => Some(false),
        _ if (0x300..0x500).contains(&exponent) => Some(true),
        _ => None,
    }
}

/// A function of two elements, and the rules to call it.
#[derive(Debug, Clone, Copy)]
struct Function {
    at: usize,
    flags: c_int,
    element: Element,
    /// Characters in an element.
    length: usize,
}

/// The function passed to `co_reduce`, as one that combines vectors of elements.
///
/// # Errors
/// It cannot be called here.
///
/// # Safety
/// 1. `at` is a function of two elements that compiled code passes to `co_reduce`, with these flags. It may
///    be called until the operation is over (owed by the caller).
pub(super) unsafe fn operation(
    image: &'static Image,
    at: *const u8,
    flags: c_int,
    element: Element,
    length: usize,
) -> Result<Arc<Combine>, Failure> {
    if !cfg!(target_arch = "x86_64") {
        return Err(Failure::other("co_reduce is not available on this kind of processor").shared());
    }
    let small = element.class == Class::Derived && element.bytes <= 16;
    let unknown = flags & BY_VALUE != 0 && (small && element.bytes > 8 || element.class == Class::Character);
    if flags & !(BY_ADDRESS | BY_VALUE) != 0 || unknown {
        return Err(Failure::other(
            "co_reduce with a function that takes values of this type: declare its arguments without `value`",
        )
        .shared());
    }
    let function = Function { at: at.addr(), flags, element, length };
    let known = Mutex::new(None);
    Ok(Arc::new(move |first, second| {
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        let n = element.bytes.max(1);
        for (a, b) in first.chunks_mut(n).zip(second.chunks(n)) {
            // SAFETY: (1).
            if !unsafe { function.combine(a, b, &mut known) } {
                image.fatal(&format!(
                    "co_reduce of a type of {n} bytes: the compiler does not say in which registers its function returns results, and \
                     the calls do not show it; a type of more than 16 bytes has no such limit"
                ));
            }
        }
    }))
}

/// Room for an element, aligned for any type.
fn aligned(bytes: &[u8]) -> Vec<u128> {
    let mut room = vec![0u128; bytes.len().div_ceil(16).max(2)];
    for (word, part) in room.iter_mut().zip(bytes.chunks(16)) {
        let mut whole = [0; 16];
        whole[..part.len()].copy_from_slice(part);
        *word = u128::from_ne_bytes(whole);
    }
    room
}

/// Copies what was returned.
fn copy(to: &mut [u8], words: &[u64]) {
    for (part, word) in to.chunks_mut(8).zip(words) {
        part.copy_from_slice(&word.to_ne_bytes()[..part.len()]);
    }
}

impl Function {
    /// Makes the first element the result for both; `false` if the result cannot be found.
    ///
    /// # Safety
    /// 1. As of [`operation`] (owed by the caller).
    unsafe fn combine(self, a: &mut [u8], b: &[u8], known: &mut Option<Reading>) -> bool {
        let Element { class, bytes, .. } = self.element;
        let (x, y) = (aligned(a), aligned(b));
        if class == Class::Derived && bytes <= 16 {
            // SAFETY: (1).
            return unsafe { self.combine_small(a, (&x, &y), known) };
        }
        // A result that comes by address; of a complex of 32 bytes it depends on the kind.
        let by_address = matches!((class, bytes), (Class::Complex, 32)) || class == Class::Derived;
        let mut result = vec![0u128; x.len()];
        // SAFETY: (1); arguments by the rules for this type, and room for the result.
        let returned = unsafe {
            if self.flags & BY_ADDRESS != 0 {
                let into = result.as_mut_ptr().addr() as u64;
                let (p, q, n) = (x.as_ptr().addr() as u64, y.as_ptr().addr() as u64, self.length as u64);
                self.call([into, n, p, q, n, n], [[0; 2]; 4], &[], 0);
                None
            } else if by_address {
                // If this is a complex of kind 10, its operands are the first two arguments and its result is
                // in registers. If not, the first call is without effect.
                let into = result.as_mut_ptr().addr() as u64;
                let first = if class == Class::Complex {
                    let mut scratch = x.clone();
                    Some(self.arguments(scratch.as_mut_ptr().addr() as u64, &y, &y, 0))
                } else {
                    None
                };
                if first.is_some_and(|first| first.extended_count == 2) {
                    first
                } else {
                    self.arguments(into, &x, &y, 0);
                    None
                }
            } else {
                Some(self.arguments(0, &x, &y, 0))
            }
        };
        let Some(returned) = returned else {
            for (part, word) in a.chunks_mut(16).zip(&result) {
                part.copy_from_slice(&word.to_ne_bytes()[..part.len()]);
            }
            return true;
        };
        let Returned { general, floating, extended, extended_count } = returned;
        match (class, bytes) {
            (Class::Integer | Class::Logical, _) => copy(a, &general),
            (Class::Real, 16) if extended_count == 1 => copy(a, &extended[0]),
            (Class::Complex, 32) => copy(a, extended.as_flattened()),
            (Class::Real, _) | (Class::Complex, 8) => copy(a, &floating[0]),
            (Class::Complex, 16) => copy(a, &[floating[0][0], floating[1][0]]),
            _ => return false,
        }
        true
    }

    /// [`Function::combine`] for a derived type of at most 16 bytes.
    ///
    /// # Safety
    /// 1. As of [`operation`] (owed by the caller).
    unsafe fn combine_small(
        self,
        a: &mut [u8],
        (x, y): (&[u128], &[u128]),
        known: &mut Option<Reading>,
    ) -> bool {
        let words = |v: &[u128]| [v[0] as u64, (v[0] >> 64) as u64];
        let trial = |x: &[u128], y: &[u128]| Trial {
            operands: [words(x), words(y)],
            // SAFETY: (1).
            returned: [0, 1].map(|sentinels| unsafe { self.arguments(0, x, y, sentinels) }),
        };
        let reading = match *known {
            Some(reading) => reading,
            None => {
                // All calls have words of operands that the program has.
                let mut all: Vec<Trial> = [(x, y), (y, x), (x, x), (y, y)].map(|(x, y)| trial(x, y)).into();
                let mut found = choose(a.len(), &all);
                if found.is_none() && a.len() > 8 {
                    let low = u128::from(u64::MAX);
                    let mixed = |p: &[u128], q: &[u128]| [p[0] & low | q[0] & !low, 0];
                    let (u, v) = (mixed(x, y), mixed(y, x));
                    all.extend([trial(&u, y), trial(&v, y), trial(x, &u), trial(x, &v)]);
                    found = choose(a.len(), &all);
                }
                let Some(reading) = found else { return false };
                // Equal operands show less than others.
                if x[0] != y[0] {
                    *known = Some(reading);
                }
                copy(a, &reading.read(&all[0].returned[0]));
                return true;
            }
        };
        // SAFETY: (1).
        let returned = unsafe { self.arguments(0, x, y, 0) };
        copy(a, &reading.read(&returned));
        true
    }

    /// Calls the function with two operands, behind the address of its result if there is one.
    ///
    /// # Safety
    /// 1. As of [`operation`]. 2. `into` is the address of room for the result, or 0 if it comes in registers
    ///    (both owed by the caller).
    unsafe fn arguments(self, into: u64, x: &[u128], y: &[u128], sentinels: usize) -> Returned {
        let hidden = usize::from(into != 0);
        let mut general = [0u64; 6];
        general[0] = into;
        let mut floating = [[0u64; 2]; 4];
        let mut stacked = Vec::new();
        if self.flags & BY_VALUE == 0 {
            general[hidden] = x.as_ptr().addr() as u64;
            general[hidden + 1] = y.as_ptr().addr() as u64;
            // SAFETY: (1), (2); addresses of operands.
            return unsafe { self.call(general, floating, &[], sentinels) };
        }
        let words =
            |v: &[u128]| -> Vec<u64> { v.iter().flat_map(|w| [*w as u64, (*w >> 64) as u64]).collect() };
        let (x, y) = (words(x), words(y));
        let n = self.element.bytes;
        match self.element.class {
            Class::Integer | Class::Logical if n <= 8 => [general[0], general[1]] = [x[0], y[0]],
            Class::Integer => general[..4].copy_from_slice(&[x[0], x[1], y[0], y[1]]),
            Class::Complex if n == 16 => {
                for (register, word) in floating.iter_mut().zip([x[0], x[1], y[0], y[1]]) {
                    register[0] = word;
                }
            }
            // In registers, and in memory: one of them is where the function looks.
            _ => {
                [floating[0], floating[1]] = [[x[0], x[1]], [y[0], y[1]]];
                if n <= 8 {
                    [general[0], general[1]] = [x[0], y[0]];
                }
                let room = n.div_ceil(8);
                stacked.extend_from_slice(&x[..room]);
                stacked.extend_from_slice(&y[..room]);
            }
        }
        // SAFETY: (1), (2); the operands.
        unsafe { self.call(general, floating, &stacked, sentinels) }
    }

    /// # Safety
    /// 1. As of [`operation`]. 2. The registers and the words in memory have the function's arguments, by the
    ///    rules of the processor (both owed by the caller).
    unsafe fn call(
        self,
        general: [u64; 6],
        floating: [[u64; 2]; 4],
        stacked: &[u64],
        sentinels: usize,
    ) -> Returned {
        let mut call = Call {
            function: std::ptr::with_exposed_provenance(self.at),
            general,
            floating,
            stacked: stacked.as_ptr(),
            stacked_words: stacked.len() as u64,
            returned: Returned::sentinels(sentinels),
        };
        // SAFETY: (1), (2).
        unsafe { invoke(&mut call) };
        call.returned
    }
}

/// Loads the registers, calls, and keeps what they are then.
///
/// # Safety
/// 1. The function may be called with these arguments (owed by the caller).
#[cfg(target_arch = "x86_64")]
unsafe fn invoke(call: &mut Call) {
    use std::mem::offset_of;
    // A third argument takes the place of a sentinel; a type with three is not read from that register.
    if call.general[2] == 0 {
        call.general[2] = call.returned.general[1];
    }
    let unused = [[call.returned.floating[0], call.returned.floating[1]]];
    if call.floating == [[0; 2]; 4] {
        [call.floating[0], call.floating[1]] = unused[0];
    }
    // SAFETY: (1). The stack pointer is kept in a register that calls preserve, and restored; the words in
    // memory are copied to the stack, which is aligned before the call; every register that a call may
    // change is declared, and numbers on the stack of the coprocessor are popped.
    unsafe {
        core::arch::asm!(
            "mov r12, rsp",
            "mov rcx, [r13 + {words}]",
            "mov rsi, [r13 + {stacked}]",
            "lea rax, [rcx * 8]",
            "sub rsp, rax",
            "and rsp, -16",
            "mov rdi, rsp",
            "cld",
            "rep movsq",
            "movups xmm0, [r13 + {floating}]",
            "movups xmm1, [r13 + {floating} + 16]",
            "movups xmm2, [r13 + {floating} + 32]",
            "movups xmm3, [r13 + {floating} + 48]",
            "mov rdi, [r13 + {general}]",
            "mov rsi, [r13 + {general} + 8]",
            "mov rdx, [r13 + {general} + 16]",
            "mov rcx, [r13 + {general} + 24]",
            "mov r8, [r13 + {general} + 32]",
            "mov r9, [r13 + {general} + 40]",
            "mov rax, [r13 + {returned}]",
            "call qword ptr [r13 + {function}]",
            "mov rsp, r12",
            "mov [r13 + {returned}], rax",
            "mov [r13 + {returned} + 8], rdx",
            "movups [r13 + {returned} + 16], xmm0",
            "movups [r13 + {returned} + 32], xmm1",
            // A register of the coprocessor that is empty has the class 0x41.
            "lea rcx, [r13 + {extended}]",
            "xor edx, edx",
            "2:",
            "fxam",
            "fnstsw ax",
            "and ah, 0x45",
            "cmp ah, 0x41",
            "je 3f",
            "fstp tbyte ptr [rcx]",
            "add rcx, 16",
            "inc edx",
            "cmp edx, 2",
            "jb 2b",
            "3:",
            "mov [r13 + {count}], rdx",
            in("r13") &raw mut *call,
            out("r12") _,
            words = const offset_of!(Call, stacked_words),
            stacked = const offset_of!(Call, stacked),
            general = const offset_of!(Call, general),
            floating = const offset_of!(Call, floating),
            function = const offset_of!(Call, function),
            returned = const offset_of!(Call, returned),
            extended = const offset_of!(Call, returned) + offset_of!(Returned, extended),
            count = const offset_of!(Call, returned) + offset_of!(Returned, extended_count),
            clobber_abi("C"),
        );
    }
}

/// # Safety
/// Never called.
#[cfg(not(target_arch = "x86_64"))]
unsafe fn invoke(_: &mut Call) {
    unreachable!("refused before")
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    fn run(at: *const u8, flags: c_int, class: Class, bytes: usize, a: &[u8], b: &[u8]) -> Option<Vec<u8>> {
        let element = Element { class, kind: 0, bytes };
        let function = Function { at: at.expose_provenance(), flags, element, length: bytes };
        let mut first = a.to_vec();
        // SAFETY: the functions below, with their own types.
        unsafe { function.combine(&mut first, b, &mut None) }.then_some(first)
    }

    /// The bytes of a value. Padding is zeros.
    fn bytes<T: Copy>(value: T) -> Vec<u8> {
        let mut all = vec![0u8; size_of::<T>()];
        // SAFETY: as many bytes as the value has.
        unsafe { all.as_mut_ptr().cast::<T>().write_unaligned(value) };
        all
    }

    fn check<T: Copy>(f: *const u8, flags: c_int, class: Class, a: T, b: T, result: T, significant: usize) {
        let got = run(f, flags, class, size_of::<T>(), &bytes(a), &bytes(b)).expect("the result is found");
        assert_eq!(got[..significant], bytes(result)[..significant]);
    }

    macro_rules! by_address {
        ($name:ident, $t:ty, $a:ident, $b:ident => $result:expr) => {
            extern "C" fn $name($a: &$t, $b: &$t) -> $t {
                $result
            }
        };
    }
    macro_rules! by_value {
        ($name:ident, $t:ty, $a:ident, $b:ident => $result:expr) => {
            extern "C" fn $name($a: $t, $b: $t) -> $t {
                $result
            }
        };
    }

    #[derive(Debug, Clone, Copy, PartialEq)]
    #[repr(C)]
    struct Pair<A, B>(A, B);
    #[derive(Debug, Clone, Copy, PartialEq)]
    #[repr(C)]
    struct Three(f64, i32, f32, i64);

    by_address!(add_i8, i8, a, b => a + b);
    by_address!(add_i32, i32, a, b => a + b);
    by_address!(add_i64, i64, a, b => a + b);
    by_address!(add_i128, i128, a, b => a + b);
    by_address!(add_f32, f32, a, b => a + b);
    by_address!(add_f64, f64, a, b => a + b);
    by_address!(mul_c4, Pair<f32, f32>, a, b => Pair(a.0 * b.0 - a.1 * b.1, a.0 * b.1 + a.1 * b.0));
    by_address!(mul_c8, Pair<f64, f64>, a, b => Pair(a.0 * b.0 - a.1 * b.1, a.0 * b.1 + a.1 * b.0));
    by_address!(three, Three, a, b => Three(a.0 + b.0, a.1.max(b.1), a.2 * b.2, a.3 + b.3));
    by_address!(count, Pair<f64, i32>, a, b => Pair(a.0 + b.0, a.1 + b.1));
    by_address!(largest, Pair<f64, i32>, a, b => if b.0 > a.0 { *b } else { *a });
    by_address!(largest_last, Pair<i64, f64>, a, b => if b.1 > a.1 { *b } else { *a });
    by_address!(both_f64, Pair<f64, f64>, a, b => Pair(a.0 + b.0, a.1.max(b.1)));
    by_address!(both_i64, Pair<i64, i64>, a, b => Pair(a.0 + b.0, a.1.max(b.1)));
    by_address!(both_i32, Pair<i32, i32>, a, b => Pair(a.0 + b.0, a.1.max(b.1)));
    by_address!(mixed_4, Pair<f32, i32>, a, b => Pair(a.0 + b.0, a.1.max(b.1)));
    by_value!(value_i32, i32, a, b => a - b);
    by_value!(value_i128, i128, a, b => a - b);
    by_value!(value_f64, f64, a, b => a - b);
    by_value!(value_f32, f32, a, b => a - b);
    by_value!(value_c8, Pair<f64, f64>, a, b => Pair(a.0 - b.0, a.1 + b.1));
    by_value!(value_c4, Pair<f32, f32>, a, b => Pair(a.0 - b.0, a.1 + b.1));
    by_value!(value_three, Three, a, b => Three(a.0 - b.0, a.1.max(b.1), a.2 * b.2, a.3 + b.3));

    #[test]
    fn results_of_intrinsic_types() {
        check(add_i8 as *const u8, 0, Class::Integer, -100i8, 27, -73, 1);
        check(add_i32 as *const u8, 0, Class::Integer, 1 << 30, -5, (1 << 30) - 5, 4);
        check(add_i64 as *const u8, 0, Class::Integer, 1i64 << 60, -5, (1i64 << 60) - 5, 8);
        check(add_i128 as *const u8, 0, Class::Integer, 1i128 << 100, -5, (1i128 << 100) - 5, 16);
        check(add_f32 as *const u8, 0, Class::Real, 1.5f32, 2.0, 3.5, 4);
        check(add_f64 as *const u8, 0, Class::Real, 1.5f64, 2.0, 3.5, 8);
        let (a, b) = (Pair(1.0f32, 2.0f32), Pair(3.0, -1.0));
        check(mul_c4 as *const u8, 0, Class::Complex, a, b, Pair(5.0, 5.0), 8);
        let (a, b) = (Pair(1.0f64, 2.0), Pair(3.0, -1.0));
        check(mul_c8 as *const u8, 0, Class::Complex, a, b, Pair(5.0, 5.0), 16);
    }

    #[test]
    fn arguments_by_value() {
        check(value_i32 as *const u8, BY_VALUE, Class::Integer, 5, 7, -2, 4);
        check(value_i128 as *const u8, BY_VALUE, Class::Integer, 1i128 << 90, 7, (1i128 << 90) - 7, 16);
        check(value_f64 as *const u8, BY_VALUE, Class::Real, 5.0f64, 7.0, -2.0, 8);
        check(value_f32 as *const u8, BY_VALUE, Class::Real, 5.0f32, 7.0, -2.0, 4);
        check(
            value_c8 as *const u8,
            BY_VALUE,
            Class::Complex,
            Pair(5.0, 1.0),
            Pair(7.0, 2.0),
            Pair(-2.0, 3.0),
            16,
        );
        check(
            value_c4 as *const u8,
            BY_VALUE,
            Class::Complex,
            Pair(5.0f32, 1.0f32),
            Pair(7.0, 2.0),
            Pair(-2.0, 3.0),
            8,
        );
        let (a, b) = (Three(1.0, 2, 3.0, 4), Three(10.0, 1, 0.5, 40));
        check(value_three as *const u8, BY_VALUE, Class::Derived, a, b, Three(-9.0, 2, 1.5, 44), 24);
    }

    #[test]
    fn derived_types_in_memory_and_in_registers() {
        let (a, b) = (Three(1.0, 2, 3.0, 4), Three(10.0, 1, 0.5, 40));
        check(three as *const u8, 0, Class::Derived, a, b, Three(11.0, 2, 1.5, 44), 24);
        check(count as *const u8, 0, Class::Derived, Pair(1.5, 1), Pair(2.5, 1), Pair(4.0, 2), 12);
        check(count as *const u8, 0, Class::Derived, Pair(1.5, 1), Pair(1.5, 1), Pair(3.0, 2), 12);
        check(count as *const u8, 0, Class::Derived, Pair(0.0, 3), Pair(0.0, 4), Pair(0.0, 7), 12);
        check(largest as *const u8, 0, Class::Derived, Pair(1.5, 1), Pair(2.5, 2), Pair(2.5, 2), 12);
        check(largest as *const u8, 0, Class::Derived, Pair(-1.5, 1), Pair(-2.5, 2), Pair(-1.5, 1), 12);
        check(largest_last as *const u8, 0, Class::Derived, Pair(9i64, 0.5), Pair(3, 0.7), Pair(3, 0.7), 16);
        check(both_f64 as *const u8, 0, Class::Derived, Pair(1.5, 1.0), Pair(2.5, 2.0), Pair(4.0, 2.0), 16);
        check(both_i64 as *const u8, 0, Class::Derived, Pair(15i64, 1i64), Pair(25, 2), Pair(40, 2), 16);
        check(both_i32 as *const u8, 0, Class::Derived, Pair(15, 1), Pair(25, 2), Pair(40, 2), 8);
        check(mixed_4 as *const u8, 0, Class::Derived, Pair(1.5f32, 1), Pair(2.5, 2), Pair(4.0, 2), 8);
    }

    /// A function that leaves its operands' words in the other registers: only the values tell.
    #[test]
    fn a_scratch_register_does_not_mislead() {
        let sentinel = |i: usize| Returned {
            general: [SENTINELS[i][0], SENTINELS[i][1]],
            floating: [[SENTINELS[i][2], 0], [SENTINELS[i][3], 0]],
            ..Returned::default()
        };
        let trial = |a: (f64, u64), b: (f64, u64), sum: (f64, u64)| Trial {
            operands: [[a.0.to_bits(), a.1], [b.0.to_bits(), b.1]],
            returned: [0, 1].map(|i| Returned {
                // Unoptimised code moves the integer through both general registers.
                general: [sum.1, sum.1],
                floating: [[sum.0.to_bits(), 0], sentinel(i).floating[1]],
                ..Returned::default()
            }),
        };
        let (a, b) = ((1.5, 1), (2.5, 1));
        let sums =
            [trial(a, b, (4.0, 2)), trial(b, a, (4.0, 2)), trial(a, a, (3.0, 2)), trial(b, b, (5.0, 2))];
        assert_eq!(choose(12, &sums), Some(Reading::FloatingGeneral));
        let selected = [trial(a, b, b), trial(b, a, b), trial(a, a, a), trial(b, b, b)];
        assert_eq!(choose(12, &selected), Some(Reading::FloatingGeneral));
        // Nothing tells where both words could be either.
        let odd = 0x1234_5678_9abc_def0;
        let unlike =
            |_| Returned { general: [odd, odd], floating: [[!odd, 0], [odd, 0]], ..Returned::default() };
        let trials = [Trial { operands: [[odd ^ 1, odd ^ 2]; 2], returned: [0, 1].map(unlike) }];
        assert_eq!(choose(16, &trials), None);
    }

    /// A number of 80 bits comes on a stack of its own, which must be empty afterwards.
    #[test]
    fn extended_numbers_are_popped() {
        #[unsafe(naked)]
        extern "C" fn add(a: *const u8, b: *const u8) -> u64 {
            core::arch::naked_asm!("fld tbyte ptr [rdi]", "fld tbyte ptr [rsi]", "faddp st(1), st", "ret")
        }
        let one: Vec<u8> = [0, 0, 0, 0, 0, 0, 0, 0x80, 0xff, 0x3f, 0, 0, 0, 0, 0, 0].to_vec();
        let two: Vec<u8> = [0, 0, 0, 0, 0, 0, 0, 0x80, 0x00, 0x40, 0, 0, 0, 0, 0, 0].to_vec();
        // More often than there are registers.
        for _ in 0..20 {
            let got = run(add as *const u8, 0, Class::Real, 16, &one, &one).unwrap();
            assert_eq!(got[..10], two[..10]);
        }
    }
}
