//! See the crate description; module docs follow with the code.
