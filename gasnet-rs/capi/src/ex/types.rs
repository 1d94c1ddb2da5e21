//! Types and operations of atomics and reductions, by their numbers in C.

use core::fmt;

use gasnet::Event;
use gasnet::atomics::{Function, WordType};

/// `GEX_EVENT_NO_OP`: the result of an immediate operation that was not done.
pub const NOT_DONE: usize = 1;
/// `GEX_FLAG_IMMEDIATE`.
pub const IMMEDIATE: u32 = 1;
/// `GEX_DT_USER`.
pub const DT_USER: u32 = 1 << 6;
/// `GEX_OP_USER`.
pub const OP_USER: u32 = 1 << 30;
/// `GEX_OP_USER_NC`.
pub const OP_USER_NC: u32 = 1 << 31;
/// `GEX_OP_GET`.
const OP_GET: u32 = 1 << 27;
/// The bit of a fetching operation is so many places above that of the same operation without a result.
const FETCHING: u32 = 15;
/// Operations that reduce: AND, OR, XOR, ADD, MULT, MIN, MAX.
pub const REDUCING: u32 = 0b1110_1111;

/// Operations that have a fetching form, in the order of their bits.
const OPERATIONS: [(&str, Function); 12] = [
    ("AND", Function::And),
    ("OR", Function::Or),
    ("XOR", Function::Xor),
    ("ADD", Function::Add),
    ("SUB", Function::Sub),
    ("MULT", Function::Mul),
    ("MIN", Function::Min),
    ("MAX", Function::Max),
    ("INC", Function::Inc),
    ("DEC", Function::Dec),
    ("SET", Function::Set),
    ("CAS", Function::CompareSwap),
];

/// The word type of a `gex_DT_t`, and its size in bytes; `None` for other types and for a set of several.
#[inline]
pub fn word(dt: u32) -> Option<(WordType, usize)> {
    use WordType::{F32, F64, I32, I64, U32, U64};
    Some(match dt {
        0x01 => (I32, 4),
        0x02 => (U32, 4),
        0x04 => (I64, 8),
        0x08 => (U64, 8),
        0x10 => (F32, 4),
        0x20 => (F64, 8),
        _ => return None,
    })
}

/// Whether an operation returns the old value.
#[inline]
pub fn fetches(op: u32) -> bool {
    op >= 1 << FETCHING
}

/// What a `gex_OP_t` of one bit does to a word; `None` for others.
#[inline]
pub fn function(op: u32) -> Option<Function> {
    if !op.is_power_of_two() {
        return None;
    }
    if op == OP_GET {
        return Some(Function::Get);
    }
    let bit = op.trailing_zeros();
    let bit = if fetches(op) { bit - FETCHING } else { bit };
    OPERATIONS.get(bit as usize).map(|operation| operation.1)
}

/// The names in C of a set of operations.
pub struct Name(pub u32);

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut first = true;
        for op in (0..32).map(|bit| 1u32 << bit).filter(|op| self.0 & op != 0) {
            f.write_str(if std::mem::take(&mut first) { "GEX_OP_" } else { "|GEX_OP_" })?;
            let bit = op.trailing_zeros();
            let known = |bit: u32| OPERATIONS.get(bit as usize).map(|operation| operation.0);
            match op {
                OP_GET => f.write_str("GET")?,
                OP_USER => f.write_str("USER")?,
                OP_USER_NC => f.write_str("USER_NC")?,
                _ if bit < FETCHING => f.write_str(known(bit).unwrap_or("(none)"))?,
                _ => match known(bit - FETCHING) {
                    Some("SET") => f.write_str("SWAP")?,
                    Some(name) => write!(f, "F{name}")?,
                    None => f.write_str("(none)")?,
                },
            }
        }
        if first { f.write_str("no operation") } else { Ok(()) }
    }
}

/// The `gex_Event_t` of an event of the core.
#[inline]
pub fn event(event: Event) -> usize {
    event.into_raw() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_have_their_names_and_functions() {
        assert_eq!(function(1 << 3), Some(Function::Add));
        assert_eq!(function(1 << 25), Some(Function::Set));
        assert_eq!(function(1 << 26), Some(Function::CompareSwap));
        assert_eq!(function(OP_GET), Some(Function::Get));
        for none in [0, 3, 1 << 12, 1 << 14, 1 << 28, OP_USER, OP_USER_NC] {
            assert_eq!(function(none), None, "{none:#x}");
        }
        assert_eq!(Name(1 << 25 | 1 << 18 | 1 << 3).to_string(), "GEX_OP_ADD|GEX_OP_FADD|GEX_OP_SWAP");
        assert_eq!(Name(0).to_string(), "no operation");
        assert!(fetches(1 << 15) && fetches(OP_GET) && !fetches(1 << 11));
    }
}
