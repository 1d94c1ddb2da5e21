//! Settings of parts of the runtime that a job may not contain: C, UPC and Fortran programs, and a conduit
//! that is loaded at run time.
//!
//! Every job refuses a wrong value of any setting, `gasnetrun` warns of names that nobody reads, and one page
//! lists them all. The registry of conduits does so, which knows none of these parts: it cannot depend on
//! what is above it, and loads the conduit only when it is chosen. So their rows are here, below both.

pub mod c;
pub mod caf;
pub mod ofi;
pub mod upc;
