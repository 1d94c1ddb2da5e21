//! Test suites that build and run whole programs with the installed tools.
//!
//! - [`upc_suite`]: the UPC programs under `tests/upc`, by the comments at their heads.
//! - [`run`]: start a command, bounded in time, and collect what it says.

pub mod run;
pub mod upc_suite;
