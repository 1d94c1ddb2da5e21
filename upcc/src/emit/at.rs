//! The C of places, and the functions of a file that compute them and access what is there.

use super::abi::{OFFSET, PACK, UNPACK, VARIABLE, VARIABLE_PACKED, moving};
use crate::ir::Spread;
use std::fmt;

/// The C of a place, with what is known of its form.
#[derive(Clone, Debug)]
pub enum At {
    /// A declared object, by the alias that code reads.
    Variable(String),
    /// The target of a pointer-to-shared; the text is the pointer's C.
    Unpacked(String),
    /// A place that a function of this file computes from a pointer and a distance.
    Outlined {
        /// How elements are counted.
        spread: Spread,
        /// Pointer and distance.
        args: String,
    },
    /// A place this many bytes after another.
    Offset(Box<At>, u64),
    /// Anything else.
    Other(String),
}

impl At {
    /// A variable that holds a place.
    pub fn held(name: &str) -> At {
        At::Other(name.to_string())
    }

    /// The place as a pointer.
    pub(super) fn packed(&self) -> String {
        match self {
            At::Variable(alias) => format!("{VARIABLE_PACKED}({alias})"),
            At::Unpacked(pointer) => pointer.clone(),
            At::Outlined { spread, args } => format!("{}({args})", moving(spread.block, spread.size)),
            At::Offset(..) | At::Other(_) => format!("{PACK}({self})"),
        }
    }
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            At::Variable(alias) => write!(f, "{VARIABLE}({alias})"),
            At::Unpacked(pointer) => write!(f, "{UNPACK}({pointer})"),
            At::Outlined { .. } => write!(f, "{UNPACK}({})", self.packed()),
            At::Offset(from, bytes) => write!(f, "{OFFSET}({from}, {bytes})"),
            At::Other(text) => f.write_str(text),
        }
    }
}

/// How far a pointer moves.
#[derive(Clone, Debug)]
pub(super) struct By {
    /// Objects, as C of type `int` or `long`.
    pub(super) distance: String,
    /// Back by these.
    pub(super) back: bool,
    /// It is known not to go back.
    pub(super) up: bool,
}

impl By {
    /// By one object.
    pub fn one(back: bool) -> By {
        By { distance: "1".into(), back, up: !back }
    }
}

/// A function of this file that accesses go through.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Outline {
    /// Block and element size, as its name has them.
    pub(super) key: String,
    /// `mv`: computes a place; `ld`, `st`, ...: accesses the object there.
    pub(super) what: &'static str,
    /// How the object passes.
    pub(super) form: &'static str,
    pub(super) block: u64,
    pub(super) size: u64,
}

impl Outline {
    pub(super) fn new(spread: Spread, what: &'static str, form: &'static str) -> Outline {
        let Spread { block, size } = spread;
        Outline { key: format!("{block}_{size}"), what, form, block, size }
    }
}
