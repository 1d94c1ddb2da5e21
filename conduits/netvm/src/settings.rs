//! Settings of the netvm conduit.

use crate::modes::Registration;
use gasnet::Error;
use gasnet::config::{Reader, Setting, setting};
use std::path::PathBuf;

/// The rows of this crate's settings.
pub const SETTINGS: &[Setting] = &[
    setting(
        "GASNET_NETVM_MEMORY",
        "size: 64M, 1G; default a quarter of the rank's share of memory, at least 64M",
        "Memory that the pages of a rank's segment may take at a time; the others are in a file (netvm conduit).",
    ),
    setting(
        "GASNET_NETVM_REGISTRATION",
        "shadow-lock (default), firehose, firehose-over-locks, pin-everything, rendezvous, rendezvous-nounpin, bounce, pindown-cache",
        "How the netvm conduit keeps pages in place during a transfer; docs/netvm-live.md compares the modes.",
    ),
    setting(
        "GASNET_NETVM_BACKING",
        "folder; default that of temporary files",
        "Where the netvm conduit puts the file with the pages of segments that have no room in memory.",
    ),
    setting(
        "GASNET_NETVM_WIRE",
        "rings (default), network",
        "What joins the NICs of one host in the netvm conduit: rings in shared memory, or the network (udp) that joins those of several.",
    ),
];

/// What they ask for.
#[derive(Debug)]
pub(crate) struct Settings {
    /// Bytes, if it was said.
    pub(crate) memory: Option<u64>,
    pub(crate) registration: Registration,
    /// Folder of the backing file.
    pub(crate) backing: PathBuf,
    /// NICs of one host are joined as those of several are.
    pub(crate) wire_network: bool,
}

impl Settings {
    pub(crate) fn read() -> Result<Settings, Error> {
        let env = Reader::environment(SETTINGS);
        let memory = env.size("GASNET_NETVM_MEMORY")?;
        if memory == Some(0) {
            return Err(env.refuse("GASNET_NETVM_MEMORY", "0"));
        }
        let mode = env.word("GASNET_NETVM_REGISTRATION")?.and_then(Registration::parse);
        Ok(Settings {
            memory,
            registration: mode.unwrap_or(Registration::ShadowLock),
            backing: env.text("GASNET_NETVM_BACKING").map_or_else(std::env::temp_dir, PathBuf::from),
            wire_network: env.word("GASNET_NETVM_WIRE")? == Some("network"),
        })
    }
}

/// Looks at the settings, whether or not this job has a use for them.
///
/// # Errors
/// One is not understood.
pub fn check_settings() -> Result<(), Error> {
    Settings::read().map(drop)
}
