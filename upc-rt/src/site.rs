//! Where the program called the library last, for messages.

use std::ffi::{c_char, c_int};
use std::sync::atomic::{AtomicI32, AtomicPtr, Ordering::Relaxed};

/// Where the program called the library last.
#[derive(Debug, Default)]
pub struct Site {
    file: AtomicPtr<c_char>,
    line: AtomicI32,
}

impl Site {
    /// A string constant of the program, and the line.
    pub fn set(&self, file: *const c_char, line: c_int) {
        self.file.store(file.cast_mut(), Relaxed);
        self.line.store(line, Relaxed);
    }

    /// What was set last; null at first.
    pub fn get(&self) -> (*const c_char, c_int) {
        (self.file.load(Relaxed), self.line.load(Relaxed))
    }
}
