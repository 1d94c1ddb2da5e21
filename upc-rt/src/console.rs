//! Lines on standard error.

use std::io::Write;

/// Writes one line to standard error, in one write, so that lines of several threads do not mix.
pub fn say(line: &str) {
    let _ = std::io::stderr().write_all(format!("{line}\n").as_bytes());
}
