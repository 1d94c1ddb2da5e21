//! Times of operations while their target computes.

use super::{Env, MPI, OFI, OFI_SHM, UDP, mpis, rank, time};
use crate::probe::{Figure, Group, Probe, Program};
use pgas_bench::options::Options;

/// Over the shared rings that stand in for a network.
const SMP: Env = &[("GASNET_CONDUIT", "smp"), ("GASNET_NEIGHBORHOOD", "off")];
/// The same with a progress thread.
const SMP_THREAD: Env =
    &[("GASNET_CONDUIT", "smp"), ("GASNET_NEIGHBORHOOD", "off"), ("GASNET_PROGRESS", "thread")];
const UDP_THREAD: Env =
    &[("GASNET_CONDUIT", "udp"), ("GASNET_NEIGHBORHOOD", "off"), ("GASNET_PROGRESS", "thread")];
const MPI_THREAD: Env =
    &[("GASNET_CONDUIT", "mpi"), ("GASNET_NEIGHBORHOOD", "off"), ("GASNET_PROGRESS", "thread")];
const OFI_THREAD: Env = &[
    ("GASNET_CONDUIT", "ofi"),
    ("GASNET_NEIGHBORHOOD", "off"),
    ("GASNET_OFI_PROVIDER", "tcp"),
    ("GASNET_PROGRESS", "thread"),
];
const OFI_SHM_THREAD: Env = &[
    ("GASNET_CONDUIT", "ofi"),
    ("GASNET_NEIGHBORHOOD", "off"),
    ("GASNET_OFI_PROVIDER", "shm"),
    ("GASNET_PROGRESS", "thread"),
];

/// Whether a library is where the loader looks for it.
fn has_libfabric() -> bool {
    let folders = [
        "/usr/lib/x86_64-linux-gnu",
        "/usr/lib/aarch64-linux-gnu",
        "/usr/lib64",
        "/usr/lib",
        "/usr/local/lib",
    ];
    folders.iter().any(|folder| std::path::Path::new(folder).join("libfabric.so.1").exists())
}

/// Puts and gets while the target computes, beside the same while it waits in the runtime. One after the
/// other; and puts with pauses in between, each of which has to wake the progress thread.
pub fn all(_: &Options) -> Vec<Group> {
    let mut conduits = vec![("smp", Program::Rust, SMP, SMP_THREAD), ("udp", Program::Rust, UDP, UDP_THREAD)];
    if has_libfabric() {
        conduits.push(("ofi_tcp", Program::Rust, OFI, OFI_THREAD));
        conduits.push(("ofi_shm", Program::Rust, OFI_SHM, OFI_SHM_THREAD));
    }
    conduits.extend(mpis().into_iter().map(|mpi| (mpi, Program::MpiRust(mpi), MPI, MPI_THREAD)));
    let mut groups = Vec::new();
    for (conduit, program, plain, thread) in conduits {
        for (suffix, env, bar) in [("", plain, "reported"), ("_thread", thread, "ratio <= 5")] {
            let figure = |what: &str, key, floor| Figure {
                scale: 1e-3,
                bar,
                ..time(&format!("{conduit}_{what}_to_computing{suffix}"), "us", 2, key, floor)
            };
            let probe = |task, env| Probe { program: program.clone(), env, ..rank(2, task) };
            groups.push(Group {
                probes: vec![probe("attentive", plain), probe("computing", env)],
                figures: vec![
                    figure("put_8", "put_computing", &["put_attentive"]),
                    figure("get_8", "get_computing", &["get_attentive"]),
                    Figure {
                        bar: "reported",
                        ..figure("put_8_now_and_then", "apart_computing", &["apart_attentive"])
                    },
                ],
                rounds: 3,
                note: None,
            });
        }
    }
    groups
}
