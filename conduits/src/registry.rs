//! Name -> conduit. A new conduit is a folder beside this one, a dependency, and a line in [`ALL`].

use crate::plugins;
use crate::settings::{self, Settings};
use gasnet::conduit::{Conduit, OpenContext};
use gasnet::{Config, Error};

type Open = fn(&OpenContext<'_>) -> Result<Option<Box<dyn Conduit>>, Error>;

/// All conduits, in the order of preference.
const ALL: &[(&str, Open)] = &[
    ("smp", gasnet_smp::open),
    ("udp", gasnet_udp::open),
    ("mpi", open_mpi),
    ("ofi", open_ofi),
    ("netvm", open_netvm),
];

/// Conduits that own the memory of segments; with them no rank has neighbours.
const OWNERS: &[&str] = &["netvm"];

/// NICs in software; udp connects those of several hosts.
fn open_netvm(cx: &OpenContext<'_>) -> Result<Option<Box<dyn Conduit>>, Error> {
    gasnet_netvm::open(cx, gasnet_udp::open)
}

/// The plugin over libfabric.
fn open_ofi(cx: &OpenContext<'_>) -> Result<Option<Box<dyn Conduit>>, Error> {
    plugins::open(cx, "ofi", &[])
}

/// The plugin for the MPI whose launcher started this program; for any MPI if that is unknown.
fn open_mpi(cx: &OpenContext<'_>) -> Result<Option<Box<dyn Conduit>>, Error> {
    let mpich = std::env::var_os("PMI_RANK").is_some() && std::env::var_os("OMPI_COMM_WORLD_RANK").is_none();
    plugins::open(cx, "mpi", if mpich { &["mpich", "openmpi"] } else { &["openmpi", "mpich"] })
}

/// The names that `GASNET_CONDUIT` accepts.
pub fn names() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|(name, _)| *name)
}

/// The requested conduit; otherwise the first on one host, and the second on several.
fn find(settings: &Settings, one_host: bool) -> Option<Open> {
    let default = ALL[usize::from(!one_host)].0;
    let wanted = settings.conduit.as_deref().unwrap_or(default);
    ALL.iter().find(|(name, _)| *name == wanted).map(|(_, open)| *open)
}

/// Refuses unknown conduits and other invalid settings before any process is started, and dissolves the
/// neighbourhoods for a conduit that allows none.
pub(crate) fn settle(config: Config) -> Result<Config, Error> {
    let settings = Settings::read();
    check(&settings)?;
    settings::check()?;
    let owner = settings.conduit.as_deref().is_some_and(|name| OWNERS.contains(&name));
    Ok(if owner { Config { neighborhood: 1, ..config } } else { config })
}

fn check(settings: &Settings) -> Result<(), Error> {
    if find(settings, true).is_some() {
        return Ok(());
    }
    let known: Vec<_> = names().collect();
    let wanted = settings.conduit.as_deref().unwrap_or_default();
    Err(Error::job(format!("GASNET_CONDUIT={wanted}: no such conduit; known are: {}", known.join(", "))))
}

/// Opens the conduit that the settings ask for.
pub(crate) fn open(cx: &OpenContext<'_>) -> Result<Option<Box<dyn Conduit>>, Error> {
    let settings = Settings::read();
    let conduit = match find(&settings, cx.host.len() == cx.size as usize) {
        Some(open) => open(cx)?,
        None => check(&settings).map(|()| None)?,
    };
    if conduit.is_none() && cx.rank.0 == 0 && cx.size > 1 && !cx.config.quiet {
        warn_of_idle_settings(&settings)?;
    }
    conduit.map(|conduit| gasnet_decorators::wrap(cx, conduit)).transpose()
}

/// Warns if settings are about frames and no frame will be sent, because all ranks share memory.
fn warn_of_idle_settings(settings: &Settings) -> Result<(), Error> {
    let mut idle = gasnet_decorators::asked()?;
    if gasnet_smp::delay_ns()? > 0 {
        idle.push("GASNET_SMP_DELAY");
    }
    if settings.conduit.as_deref() == Some("udp") && gasnet_udp::has_faults()? {
        idle.push("GASNET_UDP_FAULTY");
    }
    for name in idle {
        eprintln!(
            "gasnet: warning: {name} has no effect: all ranks of this job share memory, and nothing passes through a conduit; \
             GASNET_NEIGHBORHOOD=off sends everything through one"
        );
    }
    Ok(())
}
