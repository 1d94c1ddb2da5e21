//! Settings of this crate.

use crate::faults::FaultRates;
use gasnet_wire::Error;
use gasnet_wire::config::{Reader, Setting, setting};

/// The rows of this crate's settings.
pub const SETTINGS: &[Setting] = &[
    setting(
        "GASNET_FAULTY",
        "list: drop=1%,duplicate=1%,reorder=5%,delay=2%,by=200us,corrupt=1%,seed=7; default none",
        "Faults to inject into the frames of any conduit. Programs tolerate frames that are reordered or \
         delayed, and no other faults.",
    ),
    setting(
        "GASNET_TRACED",
        "path; default none",
        "Write a trace of the operations of the conduit to the file `path.RANK`; a `%` in the path is \
         replaced by the rank instead.",
    ),
    setting("GASNET_TRACEFILE", "path; default none", "The same as `GASNET_TRACED`, which is read first."),
];

/// The values of the settings.
#[derive(Debug)]
pub(crate) struct Settings {
    /// `GASNET_FAULTY`.
    pub(crate) faulty: Option<FaultRates>,
    /// `GASNET_TRACED`, `GASNET_TRACEFILE`.
    pub(crate) traced: Option<String>,
}

impl Settings {
    pub(crate) fn read() -> Result<Settings, Error> {
        let env = Reader::environment(SETTINGS);
        let traced = env.text("GASNET_TRACED").or_else(|| env.text("GASNET_TRACEFILE"));
        Ok(Settings { faulty: plan(&env, "GASNET_FAULTY")?, traced })
    }
}

/// The faults that a setting asks for.
///
/// # Errors
/// They are not understood.
pub fn plan(env: &Reader<'_>, name: &str) -> Result<Option<FaultRates>, Error> {
    let read =
        |text: &str| FaultRates::parse(text).map_err(|what| Error::job(format!("{name}={text}: {what}")));
    env.text(name).as_deref().map(read).transpose()
}
