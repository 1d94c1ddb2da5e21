//! Where the program called the library last, for messages.
#![expect(unsafe_code, reason = "reads the name of a file that the program gave")]

use crate::state::Upc;
use std::ffi::{CStr, c_char, c_int};
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

    /// The place that was set last; null at first.
    pub fn get(&self) -> (*const c_char, c_int) {
        (self.file.load(Relaxed), self.line.load(Relaxed))
    }
}

impl Upc {
    /// ` at file:line`, or empty if lines are not known.
    pub fn place_in_source(&self) -> String {
        let (file, line) = self.site.get();
        if file.is_null() {
            return String::new();
        }
        // SAFETY: a string constant of the program.
        let file = unsafe { CStr::from_ptr(file) }.to_string_lossy();
        format!(" (at {file}:{line})")
    }
}
