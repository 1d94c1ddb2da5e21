//! What programs compiled with `-fsanitize=upc` ask for: checks of places and phases, and the source line in messages.
#![expect(unsafe_code, reason = "exports functions to C")]

use crate::layout::FIRST;
use crate::state::{self, Upc, upc};
use std::ffi::{CStr, c_char, c_int, c_ulong};
use std::sync::atomic::{AtomicI32, AtomicPtr, Ordering::Relaxed};

/// Where the program called the library last.
#[derive(Debug, Default)]
pub struct Site {
    file: AtomicPtr<c_char>,
    line: AtomicI32,
}

impl Site {
    fn set(&self, file: *const c_char, line: c_int) {
        self.file.store(file.cast_mut(), Relaxed);
        self.line.store(line, Relaxed);
    }
}

impl Upc {
    /// ` at file:line`, or nothing where lines are not known.
    pub fn place_in_source(&self) -> String {
        let file = self.site.file.load(Relaxed);
        if file.is_null() {
            return String::new();
        }
        // SAFETY: a string constant of the program.
        let file = unsafe { CStr::from_ptr(file) }.to_string_lossy();
        format!(" (at {file}:{})", self.site.line.load(Relaxed))
    }

    fn fatal_here(&self, file: *const c_char, line: c_int, text: &str) -> ! {
        self.site.set(file, line);
        self.fatal(text)
    }

    /// Looks at a place in a call that moves data.
    #[inline]
    pub fn check_transfer(&self, t: u32, o: u64, n: u64) {
        if self.sanitized() && n > 0 {
            self.check(u64::from(t), o, n, None);
        }
    }

    fn check(&self, t: u64, o: u64, n: u64, site: Option<(*const c_char, c_int)>) {
        let what = if (t, o) == (0, 0) {
            "a null pointer-to-shared is followed".to_string()
        } else if t >= u64::from(self.size) {
            format!("a pointer-to-shared to thread {t} is followed; there are {} threads", self.size)
        } else if o < FIRST || o >= self.layout.heap_hi || n > self.layout.heap_hi - o {
            format!(
                "a pointer-to-shared outside shared memory is followed: offset {o:#x} of thread {t}, where shared objects lie in \
                 {FIRST:#x} to {:#x}",
                self.layout.heap_hi
            )
        } else {
            return;
        };
        match site {
            Some((file, line)) => self.fatal_here(file, line, &what),
            None => self.fatal(&what),
        }
    }
}

/// Run at start by every object that was compiled so.
#[unsafe(no_mangle)]
pub extern "C" fn __upc_sanitize() {
    upc().checks.store(true, Relaxed);
}

/// The program is about to call the library.
#[unsafe(no_mangle)]
pub extern "C" fn __upc_here(file: *const c_char, line: c_int) {
    if let Some(upc) = state::get() {
        upc.site.set(file, line);
    }
}

/// The program is about to access a place.
#[unsafe(no_mangle)]
pub extern "C" fn __upc_check_place(t: c_ulong, o: c_ulong, file: *const c_char, line: c_int) {
    upc().check(t, o, 1, Some((file, line)));
}

/// A pointer whose phase does not fit its type was counted with.
#[unsafe(no_mangle)]
pub extern "C" fn __upc_bad_phase(phase: c_ulong, block: c_ulong, file: *const c_char, line: c_int) -> ! {
    let kind = match block {
        0 => "an indefinite block size".to_string(),
        n => format!("block size {n}"),
    };
    upc().fatal_here(
        file,
        line,
        &format!("phase error: a pointer with phase {phase} is used as one with {kind} (cast it through a generic pointer)"),
    )
}
