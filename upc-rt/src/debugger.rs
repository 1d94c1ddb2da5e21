//! The gdb script of this library, inside every program that is linked with it: gdb loads it where auto-loading is allowed.
#![expect(unsafe_code, reason = "names the section that gdb looks into")]

const TEXT: &[u8; include_bytes!("../gdb/upc.py").len()] = include_bytes!("../gdb/upc.py");

/// An entry of the section: Python in the file itself, its name in the first line.
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

/// Called at start, so that linkers take the section along.
pub fn keep() {
    std::hint::black_box(&raw const SCRIPT);
}
