//! Settings of C programs, some of them of UPC programs, too. The registry of conduits compiles this file as
//! well, since it cannot depend on what is above it and refuses wrong values in any job.

use gasnet::Error;
use gasnet::config::{Reader, Setting, setting};

/// The rows of this crate's settings.
pub const SETTINGS: &[Setting] = &[
    setting("GASNET_BACKTRACE", "0 (default), 1", "Print a backtrace on a fatal error (C and UPC programs)."),
    setting("GASNET_BACKTRACE_TYPE", "list", "How to make the backtrace (C programs)."),
    setting(
        "GASNET_BACKTRACE_SIGNAL",
        "signal name",
        "Print a backtrace when this signal arrives (C programs).",
    ),
    setting("GASNET_FREEZE", "0 (default), 1", "Wait for a debugger at start (C and UPC programs)."),
    setting(
        "GASNET_FREEZE_ON_ERROR",
        "0 (default), 1",
        "Wait for a debugger on a fatal error (C and UPC programs).",
    ),
    setting(
        "GASNET_CATCH_EXIT",
        "1 (default), 0",
        "Returning from `main` and `exit` end the job in order (C programs).",
    ),
    setting(
        "GASNET_NO_CATCH_SIGNAL",
        "list of signals, or *",
        "Signals the runtime leaves alone (C programs).",
    ),
    setting("GASNET_VERBOSEENV", "0 (default), 1", "Report settings as they are read (C programs)."),
];

/// Whether a setting that is yes or no was made, and which.
pub(crate) fn is_on(name: &str) -> Option<bool> {
    Reader::environment(SETTINGS).flag(name).ok()?
}

/// Looks at the settings that are yes or no.
///
/// # Errors
/// One is not understood.
pub(crate) fn check() -> Result<(), Error> {
    let env = Reader::environment(SETTINGS);
    for name in [
        "GASNET_BACKTRACE",
        "GASNET_FREEZE",
        "GASNET_FREEZE_ON_ERROR",
        "GASNET_VERBOSEENV",
        "GASNET_CATCH_EXIT",
    ] {
        env.flag(name)?;
    }
    Ok(())
}
