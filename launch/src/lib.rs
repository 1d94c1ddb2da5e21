//! Starts the ranks of a job on one host or on several, and monitors them.
//!
//! Ways to start:
//! - `gasnetrun -n N program` starts N processes of any program ([`spawn()`]), with `--hosts` through agents
//!   on other hosts ([`hosts`]).
//! - A program that is started by itself with `GASNET_PSHM_NODES=N` forks its ranks in [`boot()`].
//! - `mpirun` and `srun` start the processes, and [`boot()`] finds out which ranks they are.
//!
//! Except in the last case, the starting process becomes the *monitor*: it merges the ranks' output line by
//! line ([`output`]), applies the rules of the job's end ([`job`]), and leaves nothing behind. Both modules
//! are state machines without system calls. The poll loop around them is [`monitor`], and the system calls
//! are those of `gasnet_sys`.
//!
//! With `--on-death shrink` ranks survive the death of others: they get the memory of a new world from the
//! monitor (`regroup`), as [`job::membership`] says.
//!
//! With `--record` ranks keep what they get from others, and `--replay` becomes one of them again (`replay`):
//! one process without a monitor.
//!
//! A rank is connected to its monitor by a *link*: a socket on which it announces that it joins, leaves
//! or ends the job ([`gasnet_wire::boot::ToMonitor`]). The ranks of a host share two memory files. No
//! object of a job has a name in the file system.

mod agent;
mod allocation;
pub mod bind;
mod boot;

mod cgroup;
mod channel;
pub mod cli;
mod command;
pub mod crew;
mod doctor;
mod error;
mod exchange;
mod handed;
pub mod hosts;
#[cfg(feature = "hwloc")]
mod hwloc;
pub mod job;
pub mod keeper;
pub mod monitor;
pub mod mpi;
mod mpirun;
pub mod output;
pub mod place;
pub mod plugin_folder;
mod pmi;
mod pmix;
mod ranges;
pub mod rank_name;
mod regroup;
mod remains;
mod replay;
pub mod report;
mod settings;
pub mod sinks;
mod spawn;
mod start;
pub mod wire;

use gasnet_decorators::record::Kept;

pub use boot::{
    BootOptions, Booted, boot, check_settings, exchange, leave_place, refuse, refuse_place, replayed,
};
pub use command::Command;
pub use error::Error;
pub use regroup::next_world;
pub use replay::is_again;
pub use settings::SETTINGS;
pub use spawn::spawn;

/// Argument with which `gasnetrun` is a rank of the job by which `--doctor` tries the network between hosts.
pub const NETWORK_TRIAL: &str = "--network-trial";

/// Environment variables with the folder in which ranks are recorded.
pub const RECORD_VARIABLES: [(&str, Kept); 2] =
    [("GASNET_RECORD", Kept::Frames), (ORDER_VARIABLE, Kept::Order)];
/// The one for the order of messages.
pub(crate) const ORDER_VARIABLE: &str = "GASNET_RECORD_ORDER";

/// Most ranks a job can have.
pub const MAX_RANKS: u32 = 1 << 16;
