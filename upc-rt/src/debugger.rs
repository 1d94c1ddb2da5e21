//! Support for debuggers: the gdb script of this library, included in every program that is linked with it
//! (gdb loads it if auto-loading is allowed); and waiting for a debugger.
#![expect(unsafe_code, reason = "names the section that gdb looks into, and a variable")]

use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

const TEXT: &[u8; include_bytes!("../gdb/upc.py").len()] = include_bytes!("../gdb/upc.py");

/// An entry of the section: Python in the file itself, with its name in the first line.
#[repr(C)]
struct Script {
    kind: u8,
    name: [u8; 7],
    text: [u8; TEXT.len()],
    end: u8,
}

/// The entry.
#[used]
#[unsafe(link_section = ".debug_gdb_scripts")]
static SCRIPT: Script = Script { kind: 4, name: *b"upc.py\n", text: *TEXT, end: 0 };

/// Called at the start, so that linkers keep the section.
pub fn keep() {
    std::hint::black_box(&raw const SCRIPT);
}

/// A debugger sets this to 0 to let a waiting thread continue.
#[unsafe(no_mangle)]
pub static __upc_frozen: AtomicI32 = AtomicI32::new(0);

/// Waits for a debugger, or for the signal SIGCONT.
pub fn freeze(who: &str) {
    extern "C" fn thaw(_: libc::c_int) {
        __upc_frozen.store(0, Relaxed);
    }
    let pid = std::process::id();
    __upc_frozen.store(1, Relaxed);
    // SAFETY: the handler stores into an atomic, which is all a handler may do.
    unsafe { libc::signal(libc::SIGCONT, thaw as *const () as libc::sighandler_t) };
    crate::console::say(&format!(
        "UPC Runtime: {who} is frozen: attach a debugger to process {pid} (gdb -p {pid}) and set __upc_frozen to 0, or kill -CONT {pid}"
    ));
    while __upc_frozen.load(Relaxed) != 0 {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

/// Whether a boolean setting of the core is set.
pub fn wanted(name: &str) -> bool {
    std::env::var(name).is_ok_and(|v| gasnet_wire::config::parse_flag(&v) == Some(true))
}
