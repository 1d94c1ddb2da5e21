//! The symbols of the running executable: translated files have start-up functions with special names.

use std::fs::File;
use std::os::unix::fs::FileExt;

/// Fields of an ELF64 file that are used here, as offsets.
const SECTION_TABLE: u64 = 0x28;
const SECTION_SIZE: usize = 64;
const SYMBOL_SIZE: usize = 24;
const SYMTAB: u32 = 2;
/// Type of a symbol: a function.
const FUNC: u8 = 2;

fn word(b: &[u8], at: usize) -> u64 {
    b.get(at..at + 8).and_then(|b| b.try_into().ok()).map_or(0, u64::from_ne_bytes)
}

fn half(b: &[u8], at: usize) -> u32 {
    b.get(at..at + 4).and_then(|b| b.try_into().ok()).map_or(0, u32::from_ne_bytes)
}

fn read(file: &File, at: u64, n: usize) -> Result<Vec<u8>, String> {
    let mut bytes = vec![0; n];
    file.read_exact_at(&mut bytes, at).map_err(|e| e.to_string())?;
    Ok(bytes)
}

/// Values of the function `anchor` and of all functions whose names begin with `prefix`, ascending.
pub fn functions(prefix: &[u8], anchor: &[u8]) -> Result<(u64, Vec<u64>), String> {
    let file = File::open("/proc/self/exe").map_err(|e| e.to_string())?;
    let head = read(&file, 0, 64)?;
    let count = (half(&head, 0x3c) & 0xffff) as usize;
    let table = read(&file, word(&head, SECTION_TABLE as usize), count * SECTION_SIZE)?;
    let section = |i: usize| &table[(i * SECTION_SIZE).min(table.len())..];
    let symtab = (0..count).map(section).find(|s| half(s, 4) == SYMTAB);
    let symtab = symtab.ok_or("the executable has no symbols; link it without -s, and do not strip it")?;
    let strings = section(half(symtab, 0x28) as usize);
    let names = read(&file, word(strings, 0x18), word(strings, 0x20) as usize)?;
    let symbols = read(&file, word(symtab, 0x18), word(symtab, 0x20) as usize)?;
    let (mut found, mut base) = (Vec::new(), None);
    for s in symbols.chunks_exact(SYMBOL_SIZE).filter(|s| s[4] & 15 == FUNC && word(s, 8) != 0) {
        let name = names.get(half(s, 0) as usize..).unwrap_or_default();
        let name = name.split(|b| *b == 0).next().unwrap_or_default();
        if name == anchor {
            base = Some(word(s, 8));
        } else if name.starts_with(prefix) {
            found.push(word(s, 8));
        }
    }
    found.sort_unstable();
    found.dedup();
    Ok((base.ok_or("its symbols are not those of this program")?, found))
}

#[cfg(test)]
mod tests {
    use super::functions;

    #[test]
    fn finds_functions_of_this_program() {
        let (main, start) = functions(b"_star", b"main").unwrap();
        assert!(main != 0 && start.len() == 1, "{main:#x} {start:?}");
        let (anchor, found) = functions(b"mai", b"_start").unwrap();
        assert_eq!(anchor, start[0]);
        assert!(found.contains(&main));
        assert!(functions(b"x", b"no such function at all").is_err());
    }
}
