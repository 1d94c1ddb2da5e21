//! Messages to the user. A fatal error ends the whole job.

use crate::console::say;
use crate::state::Upc;

impl Upc {
    /// Ends the job with a message.
    #[cold]
    pub fn fatal(&self, text: &str) -> ! {
        self.fatal_about(None, text)
    }

    /// Ends the job because of an error that threads meet together and see differently: only one of those
    /// with the same `subject` prints its text.
    #[cold]
    pub fn fatal_about(&self, subject: Option<&str>, text: &str) -> ! {
        use std::sync::atomic::Ordering::Relaxed;
        self.leaving.store(true, Relaxed);
        crate::console::flush_streams();
        let text = format!("{text}{}", self.place_in_source());
        self.before_the_end(&text);
        self.core.abort_about(subject.unwrap_or(&text), &text)
    }

    /// Carries out the settings for a thread that fails: freeze for a debugger, abort.
    fn before_the_end(&self, text: &str) {
        let frozen = crate::debugger::wanted("GASNET_FREEZE_ON_ERROR");
        if frozen || self.settings.abort {
            say(&format!("UPC Runtime error: {text}"));
        }
        if crate::debugger::wanted("GASNET_BACKTRACE") {
            say(&format!("Backtrace of thread {}:\n{}", self.me, std::backtrace::Backtrace::force_capture()));
        }
        if frozen {
            crate::debugger::freeze(&format!("thread {}", self.me));
        }
        if self.settings.abort {
            std::process::abort();
        }
    }

    /// Prints a warning, unless the user asked for quiet; the program continues.
    #[cold]
    pub fn warn(&self, text: &str) {
        if !self.settings.quiet {
            warn(text);
        }
    }
}

/// Ends a process whose job could not start.
#[cold]
pub fn fatal_at_start(text: &str) -> ! {
    // All threads find the same error; one prints it.
    gasnet_conduits::refuse(text);
    say(&format!("UPC Runtime error: {text}"));
    std::process::exit(1)
}

/// Prints a warning in any case; the program continues.
#[cold]
pub fn warn(text: &str) {
    say(&format!("UPC Runtime warning: {text}"));
}
