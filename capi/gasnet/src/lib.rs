//! The C interfaces over the core, GASNet-1 and GASNet-EX: the functions that `include/gasnet.h`,
//! `include/gasnetex.h` and `include/gasnet_tools.h` declare. [`ex`] has those that GASNet-EX alone has.
//!
//! **Shape.** The headers do inline what is fast (a put to mapped memory, ticks, atomics) and collapse
//! families of calls to one symbol each; this crate checks, translates addresses to (rank, offset), and calls
//! the core. Every exported name begins with `gasnet` or `gex_`.
//!
//! **State.** One pointer to the [`gasnet::Rank`] of the process ([`state`]), the table that inline code
//! reads ([`abi`]), and what has to be process-wide because C's exit hooks and signal handlers are.
//!
//! **Rules.** `GASNET_CHECK=1` turns on the checks of GASNet's calling rules ([`context`], [`hsl`]); inline
//! transfers are then routed through the library so that they are seen too.

pub mod abi;
pub mod am;
pub mod barrier;
pub mod coll;
pub mod context;
pub mod ex;
pub mod exit;
pub mod fatal;
pub mod handlers;
pub mod heap;
pub mod hsl;
mod images;
pub mod info;
pub mod job;
pub mod nic;
pub mod objects;
pub mod rma;
pub mod signals;
pub mod state;
pub mod survive;
pub mod tools;
pub mod vis;
pub mod wait;
