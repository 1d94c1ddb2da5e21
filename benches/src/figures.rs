//! Which figures there are.

mod attentiveness;
mod caf;
mod clan;
mod coll;
mod ex;
mod mpi;
mod ofi;
mod pgas;
mod replay;
mod smp;
mod udp;
mod upc;
mod vis;

use crate::probe::{Better, Figure, Group, Probe, Program};
use pgas_bench::options::Options;

/// A set of figures.
pub type Set = (&'static str, fn(&Options) -> Vec<Group>);

/// The sets of figures, by the name that the command line has for them.
pub const SETS: &[Set] = &[
    ("smp", smp::all),
    ("upc", upc::all),
    ("coll", coll::all),
    ("udp", udp::all),
    ("udp-loss", udp::with_losses),
    ("mpi", mpi::all),
    ("ofi", ofi::all),
    ("ofi-registration", ofi::registration),
    ("pgas", pgas::all),
    ("attentiveness", attentiveness::all),
    ("clan", clan::all),
    ("ex", ex::all),
    ("vis", vis::all),
    ("caf", caf::all),
    ("replay", replay::all),
];

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(String::from).collect()
}

fn floor(name: &'static str, args: &str) -> Probe {
    Probe { program: Program::Floor(name, Vec::new()), args: words(args), ranks: 0, env: &[] }
}

fn rank(ranks: u32, args: &str) -> Probe {
    Probe { program: Program::Rust, args: words(args), ranks, env: &[] }
}

/// A figure of time, unscaled, whose value comes from probe 1 and whose floor from probe 0.
fn time(
    name: &str,
    unit: &'static str,
    ranks: u32,
    value: &'static str,
    floor: &'static [&'static str],
) -> Figure {
    Figure {
        name: name.into(),
        unit,
        better: Better::Lower,
        ranks,
        value: (1, value),
        floor: (0, floor),
        bar: "",
        scale: 1.0,
    }
}

/// A figure in microseconds of a value in nanoseconds.
fn us(figure: Figure) -> Figure {
    Figure { scale: 1e-3, ..figure }
}

/// A group of one figure: that of `probe` beside its `floor`.
fn beside(floor: Probe, probe: Probe, figure: Figure) -> Group {
    Group { probes: vec![floor, probe], figures: vec![figure], rounds: 0, note: None }
}

/// Settings of a probe.
type Env = &'static [(&'static str, &'static str)];

/// Every rank alone, over sockets.
const UDP: Env = &[("GASNET_CONDUIT", "udp"), ("GASNET_NEIGHBORHOOD", "off")];
/// Every rank alone, over NICs in software on shared memory.
const NETVM: Env = &[("GASNET_CONDUIT", "netvm")];
/// Every rank alone, over libfabric's sockets.
const OFI: Env = &[("GASNET_CONDUIT", "ofi"), ("GASNET_NEIGHBORHOOD", "off"), ("GASNET_OFI_PROVIDER", "tcp")];
/// The same over its shared memory.
const OFI_SHM: Env =
    &[("GASNET_CONDUIT", "ofi"), ("GASNET_NEIGHBORHOOD", "off"), ("GASNET_OFI_PROVIDER", "shm")];

/// Every rank alone, over MPI.
const MPI: Env = &[("GASNET_CONDUIT", "mpi"), ("GASNET_NEIGHBORHOOD", "off")];

/// The MPIs of this machine, by the suffix that Debian gives their programs.
fn mpis() -> Vec<&'static str> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let there =
        |mpi: &&str| std::env::split_paths(&path).any(|dir| dir.join(format!("mpicc.{mpi}")).exists());
    ["openmpi", "mpich"].into_iter().filter(there).collect()
}
