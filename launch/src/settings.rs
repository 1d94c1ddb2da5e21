//! Settings of starting ranks. They are read where they are needed, by `gasnetrun` and by ranks.

use crate::Error;
use gasnet_wire::config::{Reader, Setting, setting};
use std::time::Duration;

/// The rows of this crate's settings.
pub const SETTINGS: &[Setting] = &[
    setting(
        "GASNET_PSHM_NODES",
        "1..65536; default 1, or the number a UPC program was compiled for",
        "Number of ranks of a program that is started directly, without `gasnetrun`.",
    ),
    setting(
        "GASNET_BIND",
        "core (default), none",
        "Placement of ranks that are started with `GASNET_PSHM_NODES`. `core` binds each rank to a core of \
         its own if there are enough cores; `none` leaves the placement to the system.",
    ),
    setting(
        "GASNET_HOSTS",
        "list: a,b or a:2,b:4; default this host",
        "Hosts on which `gasnetrun` and `upcrun` start ranks. `HOST:N` gives the host N slots. The option \
         is `gasnetrun --hosts`.",
    ),
    setting(
        "GASNET_HOSTFILE",
        "path; default none",
        "File with one host per line, read if `GASNET_HOSTS` is not set. The option is `gasnetrun \
         --hostfile`.",
    ),
    setting(
        "GASNET_SSH",
        "words; default `ssh -x -T -o BatchMode=yes -o ConnectTimeout=10`",
        "Command that runs another command on another host. Its last two arguments are the host and the \
         command to run there.",
    ),
    setting(
        "GASNET_LEASE",
        "time, 2s to 20s: 5s (default)",
        "With `--on-death shrink` or `heal` on several hosts: time after which a host that cannot be reached is lost. Its ranks end \
         themselves then, and half a second later the others go on without them.",
    ),
    setting(
        "GASNET_MPIRUN",
        "words; default `mpirun`",
        "Command that starts programs under the mpi conduit.",
    ),
    setting(
        "GASNET_SPAWNFN",
        "L, S",
        "How `amudprun` and `gasnetrun_CONDUIT` start ranks: on this host (L), or by ssh on the hosts of \
         `GASNET_SSH_SERVERS` (S).",
    ),
    setting(
        "GASNET_SSH_SERVERS",
        "list: a,b; default none",
        "Hosts on which `amudprun` and `gasnetrun_CONDUIT` start ranks.",
    ),
    setting(
        "GASNET_MASTERIP",
        "address",
        "No effect. GASNet reads it; the launchers of this project find their addresses without it.",
    ),
];

/// How much longer than a lease the monitor waits before it takes the ranks of a silent host for dead: the
/// time in which an agent ends them.
pub(crate) const LEASE_MARGIN: Duration = Duration::from_millis(500);

/// How long the ranks of a host live without the monitor, where ranks survive deaths.
///
/// # Errors
/// The setting is not understood, or out of range.
pub(crate) fn lease() -> Result<Duration, Error> {
    let given = Reader::environment(SETTINGS).time("GASNET_LEASE");
    let nanoseconds = given.map_err(|e| Error::Hosts(e.to_string()))?.unwrap_or(5_000_000_000);
    let lease = Duration::from_nanos(nanoseconds);
    // Heartbeats come twice a second, and the time in them goes both ways.
    if !(Duration::from_secs(2)..=Duration::from_secs(20)).contains(&lease) {
        return Err(Error::Hosts(format!(
            "GASNET_LEASE: {} s is not between 2s and 20s",
            lease.as_secs_f64()
        )));
    }
    Ok(lease)
}
