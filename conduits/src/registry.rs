//! Name -> conduit. A new conduit is a folder beside this one, a dependency with a feature, and a line in
//! [`ALL`].

use crate::settings::{self, Settings};
use gasnet::{Config, Error};
use gasnet_wire::conduit::{Conduit, OpenContext};

type Open = fn(&OpenContext<'_>) -> Result<Option<Box<dyn Conduit>>, Error>;

/// All conduits, in the order of preference. One that a feature of this crate leaves out has a name only, so
/// that a message can say what is missing.
const ALL: &[(&str, Option<Open>)] =
    &[("smp", Some(gasnet_smp::open)), ("udp", UDP), ("mpi", MPI), ("ofi", OFI), ("netvm", NETVM)];

#[cfg(feature = "udp")]
const UDP: Option<Open> = Some(gasnet_udp::open);
#[cfg(not(feature = "udp"))]
const UDP: Option<Open> = None;

/// Whether the settings ask udp for faults.
#[cfg(feature = "udp")]
const UDP_HAS_FAULTS: fn() -> Result<bool, Error> = gasnet_udp::has_faults;
#[cfg(not(feature = "udp"))]
const UDP_HAS_FAULTS: fn() -> Result<bool, Error> = || Ok(false);

/// The plugin for the MPI whose launcher started this program; for any MPI if that is unknown.
#[cfg(feature = "mpi")]
const MPI: Option<Open> = Some(|cx| {
    let mpich = std::env::var_os("PMI_RANK").is_some() && std::env::var_os("OMPI_COMM_WORLD_RANK").is_none();
    crate::plugins::open(cx, "mpi", if mpich { &["mpich", "openmpi"] } else { &["openmpi", "mpich"] })
});
#[cfg(not(feature = "mpi"))]
const MPI: Option<Open> = None;

/// The plugin over libfabric.
#[cfg(feature = "ofi")]
const OFI: Option<Open> = Some(|cx| crate::plugins::open(cx, "ofi", &[]));
#[cfg(not(feature = "ofi"))]
const OFI: Option<Open> = None;

/// NICs in software; udp connects those of several hosts.
#[cfg(feature = "netvm")]
const NETVM: Option<Open> = Some(|cx| gasnet_netvm::open(cx, gasnet_udp::open));
#[cfg(not(feature = "netvm"))]
const NETVM: Option<Open> = None;

/// Conduits that own the memory of segments; with them no rank has neighbours.
const OWNERS: &[&str] = &["netvm"];

/// The names that `GASNET_CONDUIT` accepts.
pub fn names() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|(name, _)| *name)
}

/// The requested conduit; otherwise the first on one host, and the second on several.
fn find(settings: &Settings, one_host: bool) -> Result<Open, Error> {
    let default = ALL[usize::from(!one_host)].0;
    let wanted = settings.conduit.as_deref().unwrap_or(default);
    match ALL.iter().find(|(name, _)| *name == wanted) {
        Some((_, Some(open))) => Ok(*open),
        Some((name, None)) => Err(Error::job(format!(
            "this program is built without the conduit {name}: `cargo build` includes it with the feature `{name}` of the crate \
             pgas or gasnet-conduits"
        ))),
        None => {
            let known: Vec<_> = names().collect();
            Err(Error::job(format!(
                "GASNET_CONDUIT={wanted}: no such conduit; known are: {}",
                known.join(", ")
            )))
        }
    }
}

/// Refuses unknown conduits and other invalid settings before any process is started, and dissolves the
/// neighbourhoods for a conduit that allows none.
pub(crate) fn settle(config: Config) -> Result<Config, Error> {
    let settings = Settings::read();
    if settings.conduit.is_some() {
        find(&settings, true)?;
    }
    settings::check()?;
    let owner = settings.conduit.as_deref().is_some_and(|name| OWNERS.contains(&name));
    if let (Some(_), Some(name)) = (settings::recording(), settings.conduit.as_deref())
        && (owner || name == "mpi")
    {
        return Err(Error::job(format!(
            "--record (GASNET_RECORD, GASNET_RECORD_ORDER): not with the network {name}, whose messages are not all that a rank gets or which starts ranks \
             itself; use smp, udp or ofi"
        )));
    }
    Ok(if owner { Config { neighborhood: 1, ..config } } else { config })
}

/// Opens the conduit that the settings ask for.
pub(crate) fn open(cx: &OpenContext<'_>) -> Result<Option<Box<dyn Conduit>>, Error> {
    let settings = Settings::read();
    let conduit = find(&settings, cx.host.len() == cx.size as usize)?(cx)?;
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
    if settings.conduit.as_deref() == Some("udp") && UDP_HAS_FAULTS()? {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(conduit: &str) -> Option<String> {
        let settings = Settings { conduit: Some(conduit.into()), ..Settings::default() };
        find(&settings, true).err().map(|e| e.to_string())
    }

    /// Each conduit is there with its feature, and without it said to be missing.
    #[test]
    fn features_choose_conduits() {
        let chosen = [
            ("smp", true),
            ("udp", cfg!(feature = "udp")),
            ("mpi", cfg!(feature = "mpi")),
            ("ofi", cfg!(feature = "ofi")),
            ("netvm", cfg!(feature = "netvm")),
        ];
        assert!(names().eq(chosen.map(|(name, _)| name)));
        for (name, chosen) in chosen {
            let refused = refused(name);
            assert_eq!(refused.is_none(), chosen, "{name}");
            assert!(refused.is_none_or(|why| why.contains(&format!("the feature `{name}` of the crate"))));
        }
        assert!(refused("upd").is_some_and(|why| why.contains("no such conduit; known are: smp, udp")));
    }
}
