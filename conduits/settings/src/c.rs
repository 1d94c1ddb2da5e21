//! Settings of C programs, some of them of UPC programs, too.

use gasnet_wire::Error;
use gasnet_wire::config::{Reader, Setting, setting};

/// The rows.
pub const SETTINGS: &[Setting] = &[
    setting("GASNET_BACKTRACE", "0 (default), 1", "Print a backtrace on a fatal error (C and UPC programs)."),
    setting(
        "GASNET_BACKTRACE_TYPE",
        "list of names; default all",
        "Backtrace functions of the client that may be called, by name (C programs).",
    ),
    setting(
        "GASNET_BACKTRACE_SIGNAL",
        "SIGUSR1, SIGUSR2, SIGHUP or a number; default none",
        "Signal that prints a backtrace when it arrives (C programs).",
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
        "With 1, a call of `exit` or a return from `main` ends the job in order. With 0, it does not (C \
         programs).",
    ),
    setting(
        "GASNET_NO_CATCH_SIGNAL",
        "list of signals, or *; default none",
        "Signals for which the runtime installs no handler (C programs).",
    ),
    setting("GASNET_VERBOSEENV", "0 (default), 1", "Print each setting when it is read (C programs)."),
];

/// Whether a setting that is yes or no was made, and which.
pub fn is_on(name: &str) -> Option<bool> {
    Reader::environment(SETTINGS).flag(name).ok()?
}

/// Looks at the settings that are yes or no.
///
/// # Errors
/// One is not understood.
pub fn check() -> Result<(), Error> {
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
