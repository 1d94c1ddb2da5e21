//! A UPC-to-C compiler.
#![forbid(unsafe_code)]

pub mod ast;
pub mod diag;
mod sema;
pub mod token;
pub mod types;
