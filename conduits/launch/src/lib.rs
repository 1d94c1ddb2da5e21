//! Starts the ranks of a job on one host or on several, and watches over them.
//!
//! Ways to start:
//! - `gasnetrun -n N program` starts N processes of any program ([`spawn()`]), with `--hosts` through agents on other hosts ([`hosts`]).
//! - A program started by itself with `GASNET_PSHM_NODES=N` forks its ranks in [`boot()`].
//! - `mpirun` and `srun` start the processes, and [`boot()`] finds out which ranks they are.
//!
//! But for the last the starting process becomes the *monitor*: it merges the ranks' output line by line ([`output`]), knows
//! the rules of the job's end ([`job`]), and leaves nothing behind. Both are state machines without system calls; the
//! poll loop around them is [`monitor`], and the system calls are all in one file ([`sys`]).
//!
//! A rank is connected to its monitor by a *link*, a socket on which it says that it joins, leaves or ends the job
//! ([`gasnet::boot::ToMonitor`]). All ranks share two memory files; nothing of a job has a name in the file system.

mod agent;
pub mod bind;
mod boot;
mod channel;
pub mod cli;
pub mod crew;
mod doctor;
mod error;
mod exchange;
pub mod hosts;
pub mod job;
pub mod keeper;
pub mod monitor;
mod mpirun;
pub mod output;
pub mod planted;
mod pmi;
mod pmix;
pub mod report;
pub mod sinks;
mod spawn;
mod start;
pub mod sys;
pub mod wire;

pub use boot::{BootOptions, boot, check_settings, refuse};
pub use error::Error;
pub use spawn::{Command, spawn};

/// Most ranks a job can have: what the ten thread bits of a packed UPC pointer can name.
pub const MAX_RANKS: u32 = 1024;
