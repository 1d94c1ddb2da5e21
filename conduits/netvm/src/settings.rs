//! Settings of the netvm conduit.

use crate::lending::LendingPlan;
use crate::modes::Registration;
use crate::pager::store::peers::{BATCH_BYTES, Share};
use gasnet_wire::Error;
use gasnet_wire::config::{Reader, Setting, parse_size, setting};
use netvm_fw::PAGE;
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
        "DIRECTORY or file:DIRECTORY; peers:SIZE or peers:SIZE:safe, of 256K or more, alone or before \
         +file:DIRECTORY; default a file in the directory of temporary files, or memory if none can be made there",
        "Where the pages of a segment are for which there is no room in memory (netvm conduit): in a file, or, \
         up to a size, in memory that other ranks donate, and then in the file. `safe`: the file has a copy of \
         every page.",
    ),
    setting(
        "GASNET_NETVM_DONATE",
        "size of 256K or more: 64M, 1G; default none",
        "Memory that a rank lends to the others for the pages of their segments, if their \
         `GASNET_NETVM_BACKING` names peers (netvm conduit).",
    ),
    setting(
        "GASNET_NETVM_WIRE",
        "rings (default), network",
        "What connects the NICs of one host (netvm conduit): `rings` in shared memory, or the `network` \
         (udp) that connects the NICs of different hosts.",
    ),
];

/// The values of the settings.
#[derive(Debug)]
pub(crate) struct Settings {
    /// Bytes, if it was said.
    pub(crate) memory: Option<u64>,
    pub(crate) registration: Registration,
    /// Folder of the backing file; `None` for the folder of temporary files.
    pub(crate) backing: Option<PathBuf>,
    /// Memory of peers, and for peers.
    pub(crate) lending: LendingPlan,
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
        let text = env.text("GASNET_NETVM_BACKING");
        let (backing, share) = match &text {
            None => (None, Share::default()),
            Some(text) => backing(text).ok_or_else(|| env.refuse("GASNET_NETVM_BACKING", text))?,
        };
        let donate = env.size("GASNET_NETVM_DONATE")?;
        if donate.is_some_and(|bytes| bytes < BATCH_BYTES) {
            let text = env.text("GASNET_NETVM_DONATE").unwrap_or_default();
            return Err(env.refuse("GASNET_NETVM_DONATE", &text));
        }
        let lending = LendingPlan { share, donate: donate.unwrap_or(0) / BATCH_BYTES * BATCH_BYTES };
        Ok(Settings {
            memory,
            registration: mode.unwrap_or(Registration::ShadowLock),
            backing,
            lending,
            wire_network: env.word("GASNET_NETVM_WIRE")? == Some("network"),
        })
    }
}

/// The folder of temporary files; an empty `TMPDIR` names none.
pub(crate) fn temporary() -> PathBuf {
    let folder = std::env::temp_dir();
    if folder.as_os_str().is_empty() { "/tmp".into() } else { folder }
}

/// The directory of the file, and the memory of peers.
fn backing(text: &str) -> Option<(Option<PathBuf>, Share)> {
    let Some(peers) = text.strip_prefix("peers:") else {
        let dir = text.strip_prefix("file:").unwrap_or(text);
        return (!dir.is_empty()).then(|| (Some(dir.into()), Share::default()));
    };
    let (peers, dir) = match peers.split_once('+') {
        None => (peers, None),
        Some((peers, file)) => {
            (peers, Some(PathBuf::from(file.strip_prefix("file:").filter(|dir| !dir.is_empty())?)))
        }
    };
    let (size, safe) = peers.strip_suffix(":safe").map_or((peers, false), |size| (size, true));
    let size = parse_size(size).filter(|&size| size >= BATCH_BYTES)?;
    Some((dir, Share { borrow: size / u64::from(PAGE), safe }))
}

/// Looks at the settings, whether or not this job has a use for them.
///
/// # Errors
/// One is not understood.
pub fn check_settings() -> Result<(), Error> {
    Settings::read().map(drop)
}
