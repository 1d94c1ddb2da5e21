//! Lines to standard output. A line that cannot be written (the disk is full, the reader has left) ends the
//! task with a message: steps that go on after it would print nothing of what they find.

use std::fmt::Arguments;
use std::io::{self, ErrorKind, Write};
use std::process;

/// Prints a line, as `println!` does, without its panic.
macro_rules! say {
    ($($text:tt)*) => { $crate::say::line(format_args!($($text)*)) };
}

/// Prints a line or ends the task.
pub fn line(text: Arguments<'_>) {
    let Err(error) = write(&mut io::stdout().lock(), text) else { return };
    // A reader that has left, as `head` does, has seen what it wanted.
    if error.kind() != ErrorKind::BrokenPipe {
        let _ = writeln!(io::stderr(), "xtask: standard output cannot be written: {error}");
    }
    process::exit(1)
}

fn write(out: &mut impl Write, text: Arguments<'_>) -> io::Result<()> {
    writeln!(out, "{text}")?;
    out.flush()
}
