//! Name -> conduit. A new conduit is a folder beside this one, a dependency, and a line in [`ALL`].

use crate::plugins;
use gasnet::conduit::{Conduit, OpenContext};
use gasnet::{Config, Error};

type Open = fn(&OpenContext<'_>) -> Result<Option<Box<dyn Conduit>>, Error>;

/// All conduits, the preferred ones first.
const ALL: &[(&str, Open)] = &[
    ("smp", gasnet_smp::open),
    ("udp", gasnet_udp::open),
    ("mpi", open_mpi),
    ("ofi", open_ofi),
    ("netvm", open_netvm),
];

/// Conduits that own the memory of segments, so that no rank has neighbours.
const OWNERS: &[&str] = &["netvm"];

/// NICs in software; those of several hosts are joined by udp.
fn open_netvm(cx: &OpenContext<'_>) -> Result<Option<Box<dyn Conduit>>, Error> {
    gasnet_netvm::open(cx, gasnet_udp::open)
}

/// The plugin over libfabric.
fn open_ofi(cx: &OpenContext<'_>) -> Result<Option<Box<dyn Conduit>>, Error> {
    plugins::open(cx, "ofi", &[])
}

/// The plugin for the MPI whose launcher started this program; for any if that cannot be told.
fn open_mpi(cx: &OpenContext<'_>) -> Result<Option<Box<dyn Conduit>>, Error> {
    let mpich = std::env::var_os("PMI_RANK").is_some() && std::env::var_os("OMPI_COMM_WORLD_RANK").is_none();
    plugins::open(cx, "mpi", if mpich { &["mpich", "openmpi"] } else { &["openmpi", "mpich"] })
}

/// The names `GASNET_CONDUIT` takes.
pub fn names() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|(name, _)| *name)
}

/// The conduit that is asked for; else the first, which stays on one host, or the second.
fn find(config: &Config, one_host: bool) -> Option<Open> {
    let default = ALL[usize::from(!one_host)].0;
    let wanted = config.conduit.as_deref().unwrap_or(default);
    ALL.iter().find(|(name, _)| *name == wanted).map(|(_, open)| *open)
}

/// Refuses an unknown conduit and other settings without sense before any process is started, and leaves no neighbours to a conduit that
/// cannot have any.
pub(crate) fn settle(config: Config) -> Result<Config, Error> {
    check(&config)?;
    gasnet_decorators::check(&config)?;
    gasnet_launch::check_settings().map_err(|e| Error::job(e.to_string()))?;
    let owner = config.conduit.as_deref().is_some_and(|name| OWNERS.contains(&name));
    Ok(if owner { Config { neighborhood: 1, ..config } } else { config })
}

fn check(config: &Config) -> Result<(), Error> {
    if find(config, true).is_some() {
        return Ok(());
    }
    let known: Vec<_> = names().collect();
    let wanted = config.conduit.as_deref().unwrap_or_default();
    Err(Error::job(format!("GASNET_CONDUIT={wanted}: no such conduit; known are: {}", known.join(", "))))
}

/// Opens the conduit the settings ask for.
pub(crate) fn open(cx: &OpenContext<'_>) -> Result<Option<Box<dyn Conduit>>, Error> {
    let conduit = match find(cx.config, cx.host.len() == cx.size as usize) {
        Some(open) => open(cx)?,
        None => check(cx.config).map(|()| None)?,
    };
    if conduit.is_none() && cx.rank.0 == 0 && cx.size > 1 && !cx.config.quiet {
        warn_of_idle_settings(cx.config);
    }
    conduit.map(|conduit| gasnet_decorators::wrap(cx, conduit)).transpose()
}

/// Says so where settings are about frames and none will pass, since all ranks share memory.
fn warn_of_idle_settings(config: &Config) {
    let idle = [
        ("GASNET_FAULTY", config.faulty.is_some()),
        ("GASNET_TRACED", config.traced.is_some()),
        ("GASNET_SMP_DELAY", config.smp_delay_ns > 0),
        ("GASNET_UDP_FAULTY", config.udp_faulty.is_some() && config.conduit.as_deref() == Some("udp")),
    ];
    for (name, _) in idle.iter().filter(|(_, set)| *set) {
        eprintln!(
            "gasnet: warning: {name} has no effect: all ranks of this job share memory, and nothing passes through a conduit; \
             GASNET_NEIGHBORHOOD=off sends everything through one"
        );
    }
}
