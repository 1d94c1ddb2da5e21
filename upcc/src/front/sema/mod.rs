//! Type checking: builders of checked nodes, called by the parser.

mod access;
mod assign;
mod builtins;
mod compat;
mod conditional;
mod constraints;
pub(crate) mod conv;
mod formats;
mod implicit;
mod jumps;
mod layout;
mod lint;
pub(crate) mod ops;
mod pointers;
pub(crate) mod read;
pub(crate) mod scope;
mod shared;
mod show;
mod unknown;
mod vectors;
