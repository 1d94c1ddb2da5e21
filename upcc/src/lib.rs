//! A UPC-to-C compiler.
#![forbid(unsafe_code)]

pub mod ast;
pub mod cc;
pub mod cpp;
pub mod diag;
pub mod driver;
pub mod emit;
pub mod link;
pub mod opt;
mod sema;
pub mod token;
pub mod types;
