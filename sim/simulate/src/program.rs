//! What a program's file tells: whether it can be simulated, and in which vessel.
//!
//! The closure vessel takes less time and memory, and calls one closure for all ranks in one process. It is
//! for programs whose `main` gives a closure to `run`, and which have no variables of their own outside of
//! it: writable statics would be common to all ranks. All other programs get a process for each rank.

use core::fmt;
use std::path::Path;

/// In every program whose `main` gives a closure to `run`, and that was built to simulate it. Generic code
/// has it, so that a program has it only if it calls that code.
pub(crate) const TAKES_CLOSURE: &str = "gasnet-simulate: one closure for all ranks";
/// Libraries that programs of this runtime are linked with, as names in files have them.
const LIBRARIES: [&str; 3] = ["libgasnet.so", "libupc.so", "libcaf_gasnet.so"];
/// Crates whose statics hold nothing of a program: those of the runtime, and how names of others begin that
/// it is built on.
const HARMLESS: [&str; 19] = [
    "addr2line",
    "alloc",
    "backtrace",
    "core",
    "corosensei",
    "firehose",
    "gasnet",
    "gimli",
    "hashbrown",
    "libc",
    "memchr",
    "miniz_oxide",
    "netvm",
    "object",
    "pgas",
    "quinn_udp",
    "rustc_demangle",
    "rustix",
    "std",
];

/// Where ranks live.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Vessel {
    /// In one process, on stacks of their own.
    Closure,
    /// In a process each.
    Process,
}

impl Vessel {
    /// The vessel of this name.
    pub(crate) fn named(name: &str) -> Option<Vessel> {
        [Vessel::Closure, Vessel::Process].into_iter().find(|vessel| vessel.to_string() == name)
    }
}

impl fmt::Display for Vessel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Vessel::Closure => "closure",
            Vessel::Process => "process",
        })
    }
}

/// A number that tells a program's file from all others; `None` if the file cannot be read.
pub(crate) fn fingerprint(program: &Path) -> Option<u64> {
    // Odd: FNV's prime.
    const PRIME: u64 = 0x100_0000_01b3;
    let bytes = std::fs::read(program).ok()?;
    let mix = |hash: u64, word: u64| (hash ^ word).wrapping_mul(PRIME).rotate_left(23);
    let (words, rest) = bytes.as_chunks::<8>();
    let hash = words.iter().fold(bytes.len() as u64, |hash, word| mix(hash, u64::from_le_bytes(*word)));
    Some(rest.iter().fold(hash, |hash, byte| mix(hash, u64::from(*byte))))
}

/// The vessel for a program, and why.
///
/// # Errors
/// A sentence: it is no program of this runtime. One that does not know what it is asked would run as it is,
/// and a run that simulated nothing would count as a good one.
pub(crate) fn vessel(program: &Path, wanted: Option<Vessel>) -> Result<(Vessel, String), String> {
    let bytes = match std::fs::read(program) {
        Ok(bytes) => bytes,
        // A name without a folder is one that the system looks up.
        Err(_) if program.components().count() == 1 => {
            return Ok((wanted.unwrap_or(Vessel::Process), "its file is not known".into()));
        }
        Err(why) => return Err(format!("{}: {why}", program.display())),
    };
    let has = |text: &str| contains(&bytes, text.as_bytes());
    let name = program.display();
    let takes_closure = has(TAKES_CLOSURE);
    if !takes_closure && !has(gasnet_vessel::SEAT) && !LIBRARIES.into_iter().any(has) {
        return Err(format!(
            "{name}: not a program with this runtime in it; what can be simulated is an executable in Rust, C, UPC or Fortran that \
             is linked with this version of the runtime"
        ));
    }
    match wanted {
        Some(Vessel::Closure) if !takes_closure => Err(format!(
            "--vessel closure: {name} has no closure for all ranks: its main does not call gasnet_conduits::run or pgas::run, or it was \
             built without the feature `simulate` of pgas"
        )),
        Some(vessel) => Ok((vessel, "as asked".into())),
        None if !takes_closure => Ok((Vessel::Process, "it does not give a closure to `run`".into())),
        None => Ok(match own_variable(&bytes) {
            Ok(None) => (Vessel::Closure, "it has no variables of its own outside of its closure".into()),
            Ok(Some(name)) => (Vessel::Process, format!("it has a variable of its own: {name}")),
            Err(()) => (Vessel::Process, "its file does not tell which variables it has".into()),
        }),
    }
}

/// Finds a text in a file of megabytes.
fn contains(bytes: &[u8], text: &[u8]) -> bool {
    let Some(first) = text.first() else { return true };
    let mut rest = bytes;
    while let Some(at) = rest.iter().position(|byte| byte == first) {
        rest = &rest[at..];
        if rest.starts_with(text) {
            return true;
        }
        rest = &rest[1..];
    }
    false
}

/// A section of an ELF file.
struct Section {
    name: u32,
    kind: u32,
    writable: bool,
    at: u64,
    bytes: u64,
    link: u32,
}

/// The first writable static or thread local of a crate that is not the runtime's.
///
/// # Errors
/// The file has no symbols, or is not a 64-bit ELF file.
fn own_variable(file: &[u8]) -> Result<Option<String>, ()> {
    let part = |at: u64, len: u64| -> Result<&[u8], ()> {
        let at = usize::try_from(at).map_err(drop)?;
        file.get(at..).and_then(|rest| rest.get(..usize::try_from(len).ok()?)).ok_or(())
    };
    let u16_at = |at| part(at, 2).map(|b| u64::from(u16::from_le_bytes([b[0], b[1]])));
    let u32_at = |at| part(at, 4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
    let u64_at =
        |at| part(at, 8).map(|b| u64::from_le_bytes([b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]]));
    // 64 bits, little endian.
    if part(0, 6)? != b"\x7fELF\x02\x01" {
        return Err(());
    }
    let (table, size, count, names) = (u64_at(0x28)?, u16_at(0x3a)?, u16_at(0x3c)?, u16_at(0x3e)?);
    let sections: Vec<Section> = (0..count)
        .map(|i| {
            let at = table.saturating_add(i * size);
            Ok(Section {
                name: u32_at(at)?,
                kind: u32_at(at + 4)?,
                writable: u64_at(at + 8)? & 1 != 0,
                at: u64_at(at + 0x18)?,
                bytes: u64_at(at + 0x20)?,
                link: u32_at(at + 0x28)?,
            })
        })
        .collect::<Result<_, ()>>()?;
    let text = |table: &Section, at: u32| -> Result<&str, ()> {
        let rest = part(table.at, table.bytes)?.get(at as usize..).ok_or(())?;
        let end = rest.iter().position(|byte| *byte == 0).ok_or(())?;
        core::str::from_utf8(&rest[..end]).map_err(drop)
    };
    let section_names = sections.get(names as usize).ok_or(())?;
    // Written before the program starts, and never again.
    let fixed = [".data.rel.ro", ".got", ".init_array", ".fini_array", ".tm_clone"];
    let holds_variables: Vec<bool> = sections
        .iter()
        .map(|section| {
            let name = text(section_names, section.name).unwrap_or_default();
            section.writable && !fixed.iter().any(|fixed| name.starts_with(fixed))
        })
        .collect();
    const SYMBOLS: u32 = 2;
    const SYMBOL_BYTES: u64 = 24;
    let symbols = sections.iter().find(|section| section.kind == SYMBOLS).ok_or(())?;
    let strings = sections.get(symbols.link as usize).ok_or(())?;
    for i in 0..symbols.bytes / SYMBOL_BYTES {
        let at = symbols.at + i * SYMBOL_BYTES;
        let (name, section) = (u32_at(at)?, u16_at(at + 6)?);
        // Objects and thread locals.
        let is_variable = matches!(part(at + 4, 1)?[0] & 15, 1 | 6);
        if !is_variable || !holds_variables.get(section as usize).copied().unwrap_or(false) {
            continue;
        }
        let name = text(strings, name)?;
        if let Some(path) = path(name)
            && let Some(of) = path.first()
            && !HARMLESS.iter().any(|harmless| of.starts_with(harmless))
        {
            return Ok(Some(path.join("::")));
        }
    }
    Ok(None)
}

/// The path of a name that Rust has made, crate first; `None` for other names.
fn path(name: &str) -> Option<Vec<&str>> {
    if let Some(rest) = name.strip_prefix("_ZN") {
        let mut parts = parts(rest);
        // Its hash.
        parts.pop();
        return Some(parts);
    }
    let rest = name.strip_prefix("_R")?;
    // The root is a crate: C, perhaps `s` with a number and `_`, and its name.
    let rest = &rest[rest.find('C')? + 1..];
    let rest = if rest.starts_with('s') { rest.split_once('_')?.1 } else { rest };
    Some(parts(rest))
}

/// Words with their lengths before them.
fn parts(mut rest: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    loop {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let Some(len) = rest[..digits].parse::<usize>().ok().filter(|len| *len > 0) else { return parts };
        let from = digits;
        let Some(part) = rest.get(from..from + len) else { return parts };
        parts.push(part);
        rest = &rest[from + len..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    static OWN: AtomicU32 = AtomicU32::new(7);

    #[test]
    fn names_are_taken_apart() {
        let of = |name| path(name).unwrap_or_default().join("::");
        assert_eq!(of("_ZN4heat4main5COUNT17h0123456789abcdefE"), "heat::main::COUNT");
        assert_eq!(of("_RNvNvCs6vDhH_4heat4main5COUNT"), "heat::main::COUNT");
        assert_eq!(of("environ"), "");
    }

    #[test]
    fn own_variables_are_found() {
        OWN.fetch_add(1, Ordering::Relaxed);
        let bytes = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        // This test is of a crate whose name is the runtime's, so what is found is another crate's, or none.
        assert!(own_variable(&bytes).is_ok_and(|found| found.is_none_or(|name| !name.starts_with("gasnet"))));
        assert_eq!(own_variable(b"#!/bin/sh\n"), Err(()));
    }

    #[test]
    fn programs_without_the_runtime_are_known() {
        assert!(
            vessel(Path::new("/bin/sh"), None)
                .is_err_and(|why| why.contains("not a program with this runtime"))
        );
        assert!(contains(b"aab", b"ab") && !contains(b"aab", b"ba"));
    }
}
