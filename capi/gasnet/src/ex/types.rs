//! Types and operations of atomics and reductions, by their numbers in C.

use core::fmt;

use gasnet::Event;
use gasnet::atomics::{Function, Operation, WordType};

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
/// The lowest bit of operations that return the old value.
const FETCHING: u32 = 15;

/// The word type of a `gex_DT_t`, and its size in bytes; `None` for other types and for a set of several.
#[inline]
pub fn word(dt: u32) -> Option<(WordType, usize)> {
    let bit = dt.is_power_of_two().then(|| dt.trailing_zeros())?;
    let word = WordType::ALL.into_iter().find(|word| word.ex() == bit)?;
    Some((word, word.width()))
}

/// Whether an operation returns the old value.
#[inline]
pub fn fetches(op: u32) -> bool {
    op >= 1 << FETCHING
}

/// The operation on a word that a one-bit `gex_OP_t` names; `None` for others.
#[inline]
pub fn function(op: u32) -> Option<Function> {
    if op.is_power_of_two() { Function::of_ex(op.trailing_zeros()) } else { None }
}

/// The function that a `gex_OP_t` names in reductions of a type; `None` if it is no reduction.
pub fn reduces(op: u32, word: WordType) -> Option<Function> {
    let combines = |function: &Function| Operation { function: *function, word }.combines();
    function(op).filter(|_| !fetches(op)).filter(combines)
}

/// The names of operations that reduce all types, and of those that reduce integers only.
pub fn reducing() -> [String; 2] {
    let on = |function, word| Operation { function, word }.combines();
    let names = |all: bool| {
        let those =
            Function::ALL.into_iter().filter(|f| on(*f, WordType::I32) && on(*f, WordType::F32) == all);
        let names: Vec<&str> = those.filter_map(|f| f.row().ex.map(|(_, name)| name)).collect();
        names.join(", ")
    };
    [names(true), names(false)]
}

/// The names in C of a set of operations.
pub struct Name(pub u32);

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut first = true;
        for op in (0..32).map(|bit| 1u32 << bit).filter(|op| self.0 & op != 0) {
            f.write_str(if std::mem::take(&mut first) { "GEX_OP_" } else { "|GEX_OP_" })?;
            f.write_str(match op {
                OP_USER => "USER",
                OP_USER_NC => "USER_NC",
                _ => Function::ex_name(op.trailing_zeros()).unwrap_or("(none)"),
            })?;
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
    use std::collections::BTreeMap;

    #[test]
    fn operations_have_their_names_and_functions() {
        assert_eq!(function(1 << 3), Some(Function::Add));
        assert_eq!(function(1 << 25), Some(Function::Set));
        assert_eq!(function(1 << 26), Some(Function::CompareSwap));
        assert_eq!(function(1 << 27), Some(Function::Get));
        for none in [0, 3, 1 << 12, 1 << 14, 1 << 28, OP_USER, OP_USER_NC] {
            assert_eq!(function(none), None, "{none:#x}");
        }
        assert_eq!(Name(1 << 25 | 1 << 18 | 1 << 3).to_string(), "GEX_OP_ADD|GEX_OP_FADD|GEX_OP_SWAP");
        assert_eq!(Name(0).to_string(), "no operation");
        assert!(fetches(1 << 15) && fetches(1 << 27) && !fetches(1 << 11));
    }

    /// The numbers in the header are those of the table, and both have the same operations and types.
    #[test]
    fn the_header_has_the_numbers_of_the_table() {
        let header = include_str!("../../include/gasnet_fwd.h");
        let defined = |prefix: &str| {
            let lines = header.lines().filter_map(|line| line.strip_prefix("#define ")?.strip_prefix(prefix));
            let bits = lines.filter_map(|line| {
                let (name, value) = line.split_once(' ')?;
                let bit = value.strip_prefix("(1U << ")?.strip_suffix(')')?;
                Some((name, bit.parse::<u32>().expect("a number")))
            });
            bits.filter(|(name, _)| !name.starts_with("USER")).collect::<BTreeMap<_, _>>()
        };
        let rows = Function::ALL.into_iter().flat_map(|f| [f.row().ex, f.row().ex_fetching]).flatten();
        assert_eq!(defined("GEX_OP_"), rows.map(|(bit, name)| (name, u32::from(bit))).collect());
        let types = WordType::ALL.map(|word| (ex_type(word), word.ex()));
        assert_eq!(defined("GEX_DT_"), types.into_iter().collect());
    }

    fn ex_type(word: WordType) -> &'static str {
        match word {
            WordType::I32 => "I32",
            WordType::U32 => "U32",
            WordType::I64 => "I64",
            WordType::U64 => "U64",
            WordType::F32 => "FLT",
            WordType::F64 => "DBL",
        }
    }
}
