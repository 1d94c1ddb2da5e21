//! Test suites that build and run whole programs with the installed tools.
//!
//! - [`upc_suite`]: the UPC programs under `tests/upc`, by the comments at their heads.
//! - [`upc_fuzz`]: damaged sources for the compiler's front end, in one process.
//! - [`upc_random`]: random UPC programs with a sequential oracle.
//! - [`c_suite`]: the C programs under `tests/c`, likewise.
//! - [`fortran_suite`]: the Fortran programs under `tests/fortran`, likewise.
//! - [`suite`], [`runs`]: what they share.
//! - [`hosts`]: network namespaces that stand for hosts.
//! - [`sections`]: the programs of the crate `pgas`, section by section.
//! - [`run`]: start a command, bounded in time, and collect what it says.

pub mod c_suite;
pub mod fortran_random;
pub mod fortran_suite;
pub mod hosts;
pub mod run;
pub mod runs;
pub mod sections;
pub mod seeds;
pub mod suite;
pub mod upc_fuzz;
pub mod upc_random;
pub mod upc_suite;

/// Code examples in documents about `pgas` and the crates below it must compile.
#[cfg(doctest)]
mod documents {
    #[doc = include_str!("../../README.md")]
    struct Readme;
    #[doc = include_str!("../../pgas/README.md")]
    struct Pgas;
    #[doc = include_str!("../../gasnet-rs/core/README.md")]
    struct Gasnet;
    #[doc = include_str!("../../conduits/README.md")]
    struct Conduits;
    #[doc = include_str!("../../docs/from-lamellar.md")]
    struct FromLamellar;
    #[doc = include_str!("../../docs/from-upcxx.md")]
    struct FromUpcxx;
    #[doc = include_str!("../../docs/from-mpi.md")]
    struct FromMpi;
}
