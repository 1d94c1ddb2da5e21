//! Settings of the udp conduit.

use gasnet_decorators::FaultRates;
use gasnet_wire::Error;
use gasnet_wire::config::{Reader, Setting, setting};

/// The rows of this crate's settings.
pub const SETTINGS: &[Setting] = &[
    setting(
        "GASNET_UDP_FAULTY",
        "as GASNET_FAULTY; default none",
        "Faults to inject into the datagrams of the udp conduit, which repairs them. It repairs corrupted \
         bulk data only with `GASNET_UDP_AUTH=full`.",
    ),
    setting(
        "GASNET_UDP_INTERFACE",
        "address or name of an interface; default the loopback interface on one host, else the first at which hosts reach each other",
        "Interface at which other ranks reach this one (udp conduit). Without it the hosts of a job try all their addresses when it starts.",
    ),
    setting(
        "GASNET_UDP_PORTS",
        "range: 50000-50100; default as the system chooses",
        "Ports that ranks of the udp conduit have, for firewalls that let only some pass. Each rank of a host takes three.",
    ),
    setting(
        "GASNET_UDP_AUTH",
        "messages, full; default full between hosts, messages on one host",
        "What the udp conduit authenticates. `full`: everything. `messages`: everything except the bulk \
         data of puts and gets.",
    ),
    setting(
        "GASNET_UDP_WINDOW",
        "size: 1M (default); at least two of the largest messages",
        "Bytes of messages, for each peer and each kind (requests, replies), that may wait at a rank until \
         it handles them (udp conduit).",
    ),
    setting(
        "GASNET_UDP_TIMEOUT",
        "time: 20s (default), 0: never",
        "Time without a packet from a peer after which the udp conduit asks the system of the peer's host \
         whether the peer still runs. The job ends if it does not, or if nobody answers. It also ends if for this long a peer is \
         heard and hears nothing, as behind some firewalls; and if for twice this long a peer is silent at its port and says at another \
         that it runs.",
    ),
];

/// The values of the settings.
#[derive(Debug)]
pub(crate) struct Settings {
    /// Faults in datagrams.
    pub(crate) faulty: Option<FaultRates>,
    pub(crate) interface: Option<String>,
    pub(crate) ports: Option<Ports>,
    /// Whether all is authenticated, if that was said.
    pub(crate) auth_full: Option<bool>,
    /// Bytes.
    pub(crate) window: u64,
    pub(crate) timeout_ns: u64,
}

impl Settings {
    pub(crate) fn read() -> Result<Settings, Error> {
        let env = Reader::environment(SETTINGS);
        Ok(Settings {
            faulty: gasnet_decorators::plan(&env, "GASNET_UDP_FAULTY")?,
            interface: env.text("GASNET_UDP_INTERFACE"),
            ports: env.read("GASNET_UDP_PORTS", parse_ports)?,
            auth_full: env.word("GASNET_UDP_AUTH")?.map(|word| word == "full"),
            window: env.size("GASNET_UDP_WINDOW")?.unwrap_or(1 << 20),
            timeout_ns: env.time("GASNET_UDP_TIMEOUT")?.unwrap_or(20_000_000_000),
        })
    }
}

/// A range of ports, both ends in it.
pub(crate) type Ports = (u16, u16);

fn parse_ports(text: &str) -> Option<Ports> {
    let (low, high) = text.split_once('-')?;
    let (low, high) = (low.trim().parse().ok()?, high.trim().parse().ok()?);
    (0 < low && low <= high).then_some((low, high))
}

/// Whether faults in datagrams were asked for.
///
/// # Errors
/// A setting is not understood.
pub fn has_faults() -> Result<bool, Error> {
    Ok(Settings::read()?.faulty.is_some())
}

/// Looks at the settings, whether or not this job has a use for them.
///
/// # Errors
/// One is not understood.
pub fn check_settings() -> Result<(), Error> {
    Settings::read().map(drop)
}
