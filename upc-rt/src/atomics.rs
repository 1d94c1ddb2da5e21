//! `upc_atomic.h`: domains, and operations over the core's remote atomics.
//!
//! A domain is a small object at the same offset on all threads; each thread reads the type and the
//! operations in its own copy. Arguments that do not match the operation are errors, in every build.
//!
//! The core's atomics differ from UPC's in two points: a compare-and-swap of floats compares values (`-0.0 ==
//! 0.0`), and one of pointers-to-shared ignores phases. Both are loops over a compare-and-swap of bits.
//! Pointers of 16 bytes (`-fupc-pts=struct`) are wider than any remote atomic, so they are changed under a
//! lock: the domain's [`TURN_OFFSET`] word on the target's thread.
#![expect(unsafe_code, reason = "reads operands and writes results through the user's pointers")]

use crate::state::Upc;
use gasnet::atomics::{Function, Operation, WordType};
use std::sync::atomic::{Ordering::*, fence};

/// Words of a domain, as offsets from its start in bytes.
const KIND_OFFSET: u64 = 0;
const TURN_OFFSET: u64 = 8;
const DOMAIN_BYTES: u64 = 64;
/// In the upper half of [`KIND_OFFSET`]: the object is a domain.
const DOMAIN_MARK: u64 = 0x5550_4344;

/// The functions that are defined on pointers-to-shared.
const ON_POINTERS: [Function; 3] = [Function::Get, Function::Set, Function::CompareSwap];

/// The type of a domain: a word of the core, or a pointer-to-shared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Object {
    Word(WordType),
    Pointer,
}

impl Object {
    /// The type with this number of `upc_types.h`.
    fn of(upc_type: u32) -> Option<Object> {
        use Object::{Pointer, Word};
        Some(match upc_type {
            5 | 15 => Word(WordType::I32),
            6 | 16 => Word(WordType::U32),
            7 | 17 => Word(WordType::I64),
            8 | 18 => Word(WordType::U64),
            19 => Word(WordType::F32),
            20 => Word(WordType::F64),
            22 => Pointer,
            _ => return None,
        })
    }

    /// The word that it is in memory; `None` if it is wider.
    fn word(self, struct_pts: bool) -> Option<WordType> {
        match self {
            Object::Word(word) => Some(word),
            Object::Pointer => (!struct_pts).then_some(WordType::U64),
        }
    }

    /// Its length.
    fn bytes(self, struct_pts: bool) -> u64 {
        match self.word(struct_pts) {
            Some(word) => word.width() as u64,
            None => 16,
        }
    }

    /// The operations allowed on it, as bits.
    fn allowed(self) -> u32 {
        let is_allowed = |function: &Function| match self {
            Object::Word(word) => Operation { function: *function, word }.is_defined(),
            Object::Pointer => ON_POINTERS.contains(function),
        };
        let allowed = Function::ALL.into_iter().filter(is_allowed);
        allowed.filter_map(|function| function.row().upc).fold(0, |bits, (bit, _)| bits | 1 << bit)
    }
}

/// How a call is ordered with the thread's other accesses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Not at all.
    Relaxed,
    /// As a strict access.
    Strict,
    /// Not at all; and if nobody wants the old value it may travel with others.
    Batched,
}

impl Order {
    /// By the numbers of emitted C.
    pub fn from_number(number: i32) -> Order {
        match number {
            0 => Order::Relaxed,
            2 => Order::Batched,
            _ => Order::Strict,
        }
    }

    /// Before and after the operation.
    fn fence(self) {
        if self == Order::Strict {
            // ORDER: SeqCst; the strict read and write that the operation stands for; pairs with other strict
            // accesses.
            fence(SeqCst);
        }
    }
}

/// The operands of one call, as the user gave them.
#[derive(Debug, Clone, Copy)]
pub struct Operands {
    /// Destination of the old value, or null.
    pub fetch: *mut u8,
    /// First operand, or null.
    pub first: *const u8,
    /// Second operand, or null.
    pub second: *const u8,
}

impl Upc {
    /// `upc_all_atomicdomain_alloc`: offset of the domain.
    pub fn domain_alloc(&self, upc_type: u32, ops: u32) -> u64 {
        let Some(object) = Object::of(upc_type) else {
            self.fatal(&format!(
                "upc_all_atomicdomain_alloc: there are no atomic operations on type {upc_type}"
            ));
        };
        let wrong = ops & !object.allowed();
        if wrong != 0 {
            let function = Function::of_upc(wrong.trailing_zeros());
            let op = function.and_then(|f| f.row().upc).map_or("this operation", |(_, name)| name);
            self.fatal(&format!("upc_all_atomicdomain_alloc: {op} does not exist for type {upc_type}"));
        }
        let off = self.alloc_global(self.size.into(), DOMAIN_BYTES, true);
        self.core.store_word(self.me, off + TURN_OFFSET, 0);
        // The word has room: operations have bits up to 21, types numbers up to 22.
        self.core.store_word(
            self.me,
            off + KIND_OFFSET,
            DOMAIN_MARK << 32 | u64::from(ops) << 8 | u64::from(upc_type),
        );
        // No thread may use the turn words of others before they are set.
        let arguments = [("type", upc_type.into()), ("ops", ops.into())];
        self.meet_agreeing("upc_all_atomicdomain_alloc", &arguments);
        off
    }

    /// `upc_all_atomicdomain_free`.
    pub fn domain_free(&self, off: u64) {
        if off != 0 {
            self.meet_agreeing("upc_all_atomicdomain_free", &[("ptr", off)]);
            self.core.store_word(self.me, off + KIND_OFFSET, 0);
            self.free(0, off, true);
        }
    }

    /// `upc_atomic_relaxed` or `upc_atomic_strict`, on offset `o` of thread `t`.
    ///
    /// # Safety
    /// 1. The operands are null or valid for the domain's type (owed by the caller).
    pub unsafe fn atomic(&self, domain: u64, op: u32, (t, o): (u32, u64), x: Operands, order: Order) {
        let (object, op) = self.check_operands(domain, op, x);
        self.check_transfer("updates", t, o, object.bytes(self.struct_pts));
        if order == Order::Batched
            && x.fetch.is_null()
            && op != Function::CompareSwap
            && let Some(word) = object.word(self.struct_pts)
        {
            // SAFETY: (1).
            let a = if x.first.is_null() { 0 } else { unsafe { read_word(x.first, word) } };
            return self.core.operate_batched((t, o), Operation { function: op, word }, a);
        }
        order.fence();
        // SAFETY: (1) in all of these.
        unsafe {
            match object {
                Object::Word(word) => {
                    let read = |p: *const u8| if p.is_null() { 0 } else { read_word(p, word) };
                    let old = self.word_op(word, op, (t, o), read(x.first), read(x.second));
                    if !x.fetch.is_null() {
                        write_word(x.fetch, word, old);
                    }
                }
                Object::Pointer if self.struct_pts => self.wide_pointer_op(domain, op, (t, o), x),
                Object::Pointer => {
                    let read = |p: *const u8| if p.is_null() { 0 } else { p.cast::<u64>().read_unaligned() };
                    let old = self.pointer_op(op, (t, o), read(x.first), read(x.second));
                    if !x.fetch.is_null() {
                        x.fetch.cast::<u64>().write_unaligned(old);
                    }
                }
            }
        }
        order.fence();
    }

    /// An operation without a domain (`bupc_atomics.h`, which numbers them); the old value.
    pub fn plain_atomic(&self, op: i32, word: i32, at: (u32, u64), a: u64, b: u64, order: Order) -> u64 {
        let word = match word {
            0 => WordType::I32,
            1 => WordType::U32,
            2 => WordType::I64,
            _ => WordType::U64,
        };
        self.check_transfer("updates", at.0, at.1, word.width() as u64);
        let Some(function) = Function::of_bupc(op as u32) else {
            self.fatal(&format!("bupc_atomic: {op} is not an operation"));
        };
        // The number of an operation that has no result.
        const SET: i32 = 1;
        if op == SET && order == Order::Batched {
            self.core.operate_batched(at, Operation { function, word }, a);
            return 0;
        }
        order.fence();
        let old = self.core.atomic(at, Operation { function, word }, a, b);
        order.fence();
        old
    }

    /// The domain's type and the function, if all arguments match.
    fn check_operands(&self, domain: u64, op: u32, x: Operands) -> (Object, Function) {
        let inside =
            domain >= self.layout.heap_lo && domain < self.layout.heap_hi && domain.is_multiple_of(16);
        let kind = if inside { self.core.own_word(domain + KIND_OFFSET) } else { 0 };
        let object = Object::of(kind as u32 & 0xff);
        let (DOMAIN_MARK, Some(object)) = (kind >> 32, object) else {
            self.fatal("upc_atomic: the domain is null, was freed, or is not a domain");
        };
        let bit = op.is_power_of_two().then(|| op.trailing_zeros());
        let Some(function) = bit.and_then(Function::of_upc) else {
            self.fatal(&format!("upc_atomic: {op:#x} is not an operation"));
        };
        let name = function.row().upc.map_or("", |(_, name)| name);
        if u64::from(op) & (kind >> 8 & 0xff_ffff) == 0 {
            self.fatal(&format!("upc_atomic: {name} is not among the operations of the domain"));
        }
        let operands = function.row().operands;
        let (first, second) = (operands >= 1, operands >= 2);
        for (nth, wanted, given) in
            [("operand1", first, !x.first.is_null()), ("operand2", second, !x.second.is_null())]
        {
            if wanted != given {
                let must = if wanted { "must not be NULL" } else { "must be NULL" };
                self.fatal(&format!("upc_atomic: {nth} {must} for {name}"));
            }
        }
        if function == Function::Get && x.fetch.is_null() {
            self.fatal("upc_atomic: fetch_ptr must not be NULL for UPC_GET");
        }
        (object, function)
    }

    fn word_op(&self, word: WordType, function: Function, at: (u32, u64), a: u64, b: u64) -> u64 {
        if !word.is_float() || function != Function::CompareSwap {
            return self.core.atomic(at, Operation { function, word }, a, b);
        }
        let value = |bits: u64| match word {
            WordType::F32 => f64::from(f32::from_bits(bits as u32)),
            _ => f64::from_bits(bits),
        };
        self.swap_if(word, at, b, |old| value(old) == value(a))
    }

    /// An operation on a packed pointer.
    fn pointer_op(&self, function: Function, at: (u32, u64), a: u64, b: u64) -> u64 {
        if function != Function::CompareSwap {
            return self.core.atomic(at, Operation { function, word: WordType::U64 }, a, b);
        }
        const WITHOUT_PHASE: u64 = (1 << 44) - 1;
        self.swap_if(WordType::U64, at, b, |old| (old ^ a) & WITHOUT_PHASE == 0)
    }

    /// Sets the word to `new` if `equal` holds for the old value; returns the old value.
    fn swap_if(&self, word: WordType, at: (u32, u64), new: u64, equal: impl Fn(u64) -> bool) -> u64 {
        let mut old = self.core.atomic(at, Operation { function: Function::Get, word }, 0, 0);
        while equal(old) {
            let was = self.core.atomic(at, Operation { function: Function::CompareSwap, word }, old, new);
            if was == old {
                break;
            }
            old = was;
        }
        old
    }

    /// An operation on a pointer of 16 bytes, {u64 offset, u32 thread, u32 phase}.
    ///
    /// # Safety
    /// 1. The operands are null or valid for 16 bytes (owed by the caller).
    unsafe fn wide_pointer_op(&self, domain: u64, function: Function, (t, o): (u32, u64), x: Operands) {
        let turn = domain + TURN_OFFSET;
        self.core.wait_until("an atomic operation on a pointer", || {
            self.core.amo(t, turn, Function::CompareSwap, 0, 1) == 0
        });
        // SAFETY: (1); 16 bytes of a local buffer.
        unsafe {
            let mut old = [0u64; 2];
            self.core.get(old.as_mut_ptr().cast(), t, o, 16);
            let pair = |p: *const u8| p.cast::<[u64; 2]>().read_unaligned();
            let new = match function {
                Function::Set => Some(pair(x.first)),
                Function::CompareSwap => {
                    let want = pair(x.first);
                    // The upper half of the second word is the phase.
                    let same = old[0] == want[0] && old[1] as u32 == want[1] as u32;
                    same.then(|| pair(x.second))
                }
                _ => None,
            };
            if let Some(new) = new {
                self.core.put(t, o, new.as_ptr().cast(), 16);
            }
            if !x.fetch.is_null() {
                x.fetch.cast::<[u64; 2]>().write_unaligned(old);
            }
        }
        self.core.store_word(t, turn, 0);
    }
}

/// # Safety
/// 1. `p` is valid for the word (owed by the caller).
unsafe fn read_word(p: *const u8, word: WordType) -> u64 {
    // SAFETY: (1).
    unsafe {
        match word.width() {
            4 => p.cast::<u32>().read_unaligned().into(),
            _ => p.cast::<u64>().read_unaligned(),
        }
    }
}

/// # Safety
/// 1. `p` is valid for the word (owed by the caller).
unsafe fn write_word(p: *mut u8, word: WordType, value: u64) {
    // SAFETY: (1).
    unsafe {
        match word.width() {
            4 => p.cast::<u32>().write_unaligned(value as u32),
            _ => p.cast::<u64>().write_unaligned(value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn types_have_the_operations_of_the_specification() {
        let bits = |names: &[&str]| {
            let has = |f: &Function| f.row().upc.is_some_and(|(_, name)| names.contains(&name));
            let bits = Function::ALL.into_iter().filter(has).filter_map(|f| f.row().upc);
            bits.fold(0u32, |bits, (bit, _)| bits | 1 << bit)
        };
        let pts = Object::of(22).unwrap();
        assert_eq!(pts.allowed(), bits(&["UPC_GET", "UPC_SET", "UPC_CSWAP"]));
        let float = Object::of(19).unwrap();
        assert_eq!(float.allowed() & bits(&["UPC_AND", "UPC_OR", "UPC_XOR"]), 0);
        assert_eq!(Object::of(5).unwrap().allowed().count_ones(), 13);
        for none in [0, 1, 4, 9, 14, 21, 23] {
            assert_eq!(Object::of(none), None);
        }
    }

    /// The numbers in the headers are those of the table, and both have the same operations.
    #[test]
    fn headers_have_the_numbers_of_the_table() {
        let mut defined = BTreeMap::new();
        for header in [
            include_str!("../include/upc_types.h"),
            include_str!("../include/upcr_preinclude/upc_atomic_bits.h"),
        ] {
            for line in header.lines().filter_map(|line| line.strip_prefix("#define ")) {
                let mut words = line.splitn(2, ' ');
                let (name, value) = (words.next().unwrap(), words.next().unwrap_or_default().trim());
                let bit = value.strip_prefix("(1 << ").and_then(|rest| rest.strip_suffix(')'));
                if let Some(bit) = bit.filter(|_| !name.contains("_IN_") && !name.contains("_OUT_")) {
                    defined.insert(name, bit.parse::<u8>().expect("a number"));
                }
            }
        }
        // Reductions have these; there are no atomics of them.
        assert!(defined.remove("UPC_LOGAND").is_some() && defined.remove("UPC_LOGOR").is_some());
        let rows = Function::ALL.into_iter().filter_map(|f| f.row().upc);
        assert_eq!(defined, rows.map(|(bit, name)| (name, bit)).collect::<BTreeMap<_, _>>());

        let header = include_str!("../include/bupc_atomics.h");
        let list = header.split("\nenum {").nth(1).and_then(|rest| rest.split('}').next()).expect("an enum");
        for (number, name) in list.split(',').map(str::trim).enumerate() {
            let function = match name {
                "__BUPC_READ" => Function::Get,
                "__BUPC_SET" | "__BUPC_SWAP" => Function::Set,
                "__BUPC_CSWAP" => Function::CompareSwap,
                "__BUPC_ADD" => Function::Add,
                "__BUPC_AND" => Function::And,
                "__BUPC_OR" => Function::Or,
                "__BUPC_XOR" => Function::Xor,
                "__BUPC_MSWAP" => Function::MaskedSwap,
                other => panic!("{other}"),
            };
            assert_eq!(Function::of_bupc(number as u32), Some(function), "{name}");
        }
    }
}
