//! A UPC-to-C compiler.
#![forbid(unsafe_code)]

pub mod ast;
pub mod cc;
mod consteval;
pub mod cpp;
pub mod diag;
pub mod driver;
pub mod dump;
pub mod emit;
pub mod hash;
mod lex;
pub mod link;
pub mod opt;
mod parse;
mod sema;
pub mod source;
pub mod token;
pub mod types;
