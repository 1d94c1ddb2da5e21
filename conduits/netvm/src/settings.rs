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
        "Memory for the pages of a rank's segment. Pages for which there is no room are in a file (netvm \
         conduit).",
    ),
    setting(
        "GASNET_NETVM_REGISTRATION",
        "shadow-lock (default), firehose, firehose-over-locks, pin-everything, rendezvous, rendezvous-nounpin, bounce, pindown-cache",
        "How the netvm conduit keeps pages in memory during a transfer; docs/netvm-live.md compares the \
         modes.",
    ),
    setting(
        "GASNET_NETVM_BACKING",
        "directory; default that of temporary files",
        "Directory of the file that holds the pages of segments for which there is no room in memory \
         (netvm conduit).",
    ),
    setting(
        "GASNET_NETVM_WIRE",
        "rings (default), network",
        "What connects the NICs of one host (netvm conduit): `rings` in shared memory, or the `network` \
         (udp) that connects the NICs of different hosts.",
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
