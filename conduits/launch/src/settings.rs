//! Settings of starting ranks. They are read where they are needed, by `gasnetrun` and by ranks.

use gasnet::config::{Setting, setting};

/// The rows of this crate's settings.
pub const SETTINGS: &[Setting] = &[
    setting(
        "GASNET_PSHM_NODES",
        "1..65536",
        "Number of ranks of a program started directly, without `gasnetrun`.",
    ),
    setting(
        "GASNET_BIND",
        "core (default), none",
        "Placement of ranks started with `GASNET_PSHM_NODES`: a core each if there are enough, or anywhere.",
    ),
    setting(
        "GASNET_HOSTS",
        "list: a,b or a:2,b:4",
        "Hosts that `gasnetrun` and `upcrun` use, as with `gasnetrun --hosts`.",
    ),
    setting("GASNET_HOSTFILE", "file", "The same from a file, as with `gasnetrun --hostfile`."),
    setting(
        "GASNET_SSH",
        "words; default `ssh -x -T -o BatchMode=yes -o ConnectTimeout=10`",
        "What runs a command on another host: it is given the host and the command.",
    ),
    setting("GASNET_MPIRUN", "words; default `mpirun`", "What starts programs under the mpi conduit."),
    setting(
        "GASNET_SPAWNFN",
        "L, S",
        "What `amudprun` and `gasnetrun_CONDUIT` do: start ranks on this host (L), or by ssh on the hosts of `GASNET_SSH_SERVERS` (S).",
    ),
    setting(
        "GASNET_SSH_SERVERS",
        "list: a,b",
        "Hosts for `amudprun` and `gasnetrun_CONDUIT`, as `GASNET_HOSTS`.",
    ),
    setting(
        "GASNET_MASTERIP",
        "address",
        "Read by GASNet; here launchers find their addresses by themselves.",
    ),
];
