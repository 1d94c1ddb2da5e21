//! Settings of the conduit over libfabric.

use gasnet_wire::Error;
use gasnet_wire::config::{Reader, Setting, setting};

/// The rows.
pub const SETTINGS: &[Setting] = &[
    setting(
        "GASNET_OFI_PROVIDER",
        "name: tcp, verbs, ...; default the first that all ranks have of cxi, efa, verbs, ucx, psm3, psm2, psm, opx, tcp, net, udp, shm, sockets",
        "Provider of libfabric that the ofi conduit uses; `fi_info -l` lists the providers.",
    ),
    setting(
        "GASNET_OFI_DOMAIN",
        "name: eth0, mlx5_0, ...; default the first whose subnet all ranks have, or the provider's first",
        "Network device or interface that the ofi conduit uses; `fi_info` shows the devices as domains.",
    ),
    setting(
        "GASNET_OFI_NATIVE",
        "puts (default), all, none",
        "Operations that the ofi conduit leaves to the provider. `puts`: puts and gets. `all`: atomics as \
         well. `none`: everything is sent as messages. Atomics of a network card may not be atomic with \
         respect to those of processors, so `all` is for programs whose processors do not access such \
         words.",
    ),
    setting(
        "GASNET_OFI_REGISTRATION",
        "auto (default), firehose, provider, bounce",
        "How the ofi conduit reaches memory of the program outside the segment if the provider accesses \
         registered memory only (FI_MR_LOCAL). `firehose`: register the memory and keep the registration. \
         `provider`: ask the provider each time, which may have a cache (FI_MR_CACHE_*). `bounce`: copy \
         the data. `auto`: the cheapest of these, measured at start; `GASNET_STATS=1` prints the choice \
         and the measurements.",
    ),
];

/// The method by which memory outside the segment is registered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Registration {
    /// The cheapest method, measured at start.
    Auto,
    /// Registered once and kept.
    Firehose,
    /// Registered for each transfer, which the provider may cache.
    Provider,
    /// Copied.
    Bounce,
}

/// The operations that the provider carries out itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Native {
    /// Puts and gets.
    Puts,
    /// Puts, gets and atomics.
    All,
    /// Nothing.
    None,
}

/// The values of the settings.
#[derive(Debug)]
pub struct Settings {
    /// The provider.
    pub provider: Option<String>,
    /// The device or interface.
    pub domain: Option<String>,
    /// The operations that the provider carries out itself.
    pub native: Native,
    /// How memory outside the segment is registered.
    pub registration: Registration,
}

impl Settings {
    /// Reads them.
    ///
    /// # Errors
    /// One is not understood.
    pub fn read() -> Result<Settings, Error> {
        let env = Reader::environment(SETTINGS);
        Ok(Settings {
            provider: env.text("GASNET_OFI_PROVIDER"),
            domain: env.text("GASNET_OFI_DOMAIN"),
            native: match env.word("GASNET_OFI_NATIVE")? {
                Some("all") => Native::All,
                Some("none") => Native::None,
                _ => Native::Puts,
            },
            registration: match env.word("GASNET_OFI_REGISTRATION")? {
                Some("firehose") => Registration::Firehose,
                Some("provider") => Registration::Provider,
                Some("bounce") => Registration::Bounce,
                _ => Registration::Auto,
            },
        })
    }
}
