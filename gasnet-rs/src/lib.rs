//! See the crate description; module docs follow with the code.

pub mod boot;

pub use boot::Boot;
