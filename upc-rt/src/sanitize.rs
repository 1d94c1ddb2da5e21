//! Checks of programs compiled with `-fsanitize=upc`: of shared addresses and phases, with the source line in
//! messages.
#![expect(unsafe_code, reason = "exports functions to C")]

use crate::layout::STATICS_OFFSET;
use crate::state::{self, Upc, upc};
use std::ffi::{CStr, c_char, c_int, c_ulong};
use std::sync::atomic::Ordering::Relaxed;

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

    fn fatal_here(&self, file: *const c_char, line: c_int, text: &str) -> ! {
        self.site.set(file, line);
        self.fatal(text)
    }

    /// Checks a shared address in a call that moves data.
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
        } else if o < STATICS_OFFSET || o >= self.layout.heap_hi || n > self.layout.heap_hi - o {
            format!(
                "a pointer-to-shared outside shared memory is followed: offset {o:#x} of thread {t}, where shared objects lie in \
                 {STATICS_OFFSET:#x} to {:#x}",
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

/// Every object compiled with the option calls this at the start.
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

/// The program is about to access a shared address.
#[unsafe(no_mangle)]
pub extern "C" fn __upc_check_place(t: c_ulong, o: c_ulong, file: *const c_char, line: c_int) {
    upc().check(t, o, 1, Some((file, line)));
}

/// The program did arithmetic on a pointer whose phase does not fit its type.
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
