//! The library half of `gasnet_tools.h`: what cannot be inline C.
//!
//! Nothing here needs a job: programs may use the tools alone.

pub mod backtrace;
pub mod env;
pub mod sys;
pub mod ticks;
