//! Messages to the user. A fatal error ends the whole job.

use crate::state::Upc;
use std::io::Write;

impl Upc {
    /// Ends the job with a message.
    #[cold]
    pub fn fatal(&self, text: &str) -> ! {
        use std::sync::atomic::Ordering::Relaxed;
        self.leaving.store(true, Relaxed);
        crate::exit::flush_streams();
        self.core.abort(&format!("{text}{}", self.place_in_source()))
    }
}

/// Ends a process whose job could not even start.
#[cold]
pub fn fatal_at_start(text: &str) -> ! {
    // All threads find the same; one says it.
    gasnet_conduits::refuse(text);
    say(&format!("UPC Runtime error: {text}"));
    std::process::exit(1)
}

/// Warns; the program goes on.
#[cold]
pub fn warn(text: &str) {
    say(&format!("UPC Runtime warning: {text}"));
}

/// One line to standard error, in one write, so that lines of several threads do not mix.
pub fn say(line: &str) {
    let _ = std::io::stderr().write_all(format!("{line}\n").as_bytes());
}
