//! x
mod heap;
