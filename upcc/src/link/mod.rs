//! The link step's checks. Every object that upcc makes carries facts about itself as text in the section
//! `.upc_info`; the linker joins them, and what they say must agree.
//!
//! One line each: `L network` is the network that the program was linked for; `U abi pts threads source`
//! begins an object; `M` says that it defines main; `V how elems per-threads block elemsize name` is a shared
//! variable of external linkage, `how` being `i` initialised, `d` defined, `e` declared; `elems` is 0 where
//! the size was not known.

mod elf;
pub mod ident;
mod library;
mod said;

use crate::emit::abi::{PROXY, USER_MAIN};
pub use library::{constructor, libraries};
pub use said::readable;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Name of the section.
pub const SECTION: &str = ".upc_info";

/// An object's facts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// `packed` or `struct`.
    pub pts: String,
    /// Static thread count.
    pub threads: Option<u32>,
    /// Source file.
    pub source: String,
    /// Defines main.
    pub main: bool,
    /// Shared variables.
    pub vars: Vec<Var>,
}

/// A shared variable in an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Var {
    /// Has an initialiser.
    pub initialised: bool,
    /// Elements, 0 if unknown.
    pub elems: u64,
    /// Times THREADS.
    pub times_threads: bool,
    /// Block size, 0 if indefinite.
    pub block: u64,
    /// Bytes of an element.
    pub elem_size: u64,
    /// Name.
    pub name: String,
}

/// Reads the text of the section.
pub fn parse(text: &str) -> Vec<Object> {
    let mut out: Vec<Object> = Vec::new();
    for line in text.split(['\n', '\0']) {
        let w: Vec<&str> = line.splitn(5, ' ').collect();
        match w[..] {
            ["U", _, pts, threads, source] => out.push(Object {
                pts: pts.into(),
                threads: threads.parse().ok(),
                source: source.into(),
                main: false,
                vars: Vec::new(),
            }),
            ["M"] => {
                if let Some(o) = out.last_mut() {
                    o.main = true;
                }
            }
            ["V", how, elems, times, rest] => {
                let r: Vec<&str> = rest.splitn(3, ' ').collect();
                if let ([block, size, name], Some(o)) = (&r[..], out.last_mut()) {
                    o.vars.push(Var {
                        initialised: how == "i",
                        elems: elems.parse().unwrap_or(0),
                        times_threads: times == "1",
                        block: block.parse().unwrap_or(0),
                        elem_size: size.parse().unwrap_or(0),
                        name: (*name).into(),
                    });
                }
            }
            _ => {}
        }
    }
    out
}

/// All contradictions between the objects of one program.
pub fn conflicts(objects: &[Object]) -> Vec<String> {
    let mut out = Vec::new();
    let Some(first) = objects.first() else { return out };
    let flag = |o: &Object| {
        if o.pts == "struct" { "with -fupc-pts=struct" } else { "without -fupc-pts=struct" }
    };
    if let Some(o) = objects.iter().find(|o| o.pts != first.pts) {
        out.push(format!(
            "'{}' was compiled {} and '{}' {}: compile all files of a program alike",
            first.source,
            flag(first),
            o.source,
            flag(o)
        ));
    }
    let env = |o: &Object| match o.threads {
        Some(n) => format!("for {n} threads (-T {n})"),
        None => "for any number of threads (without -T)".into(),
    };
    if let Some(o) = objects.iter().find(|o| o.threads != first.threads) {
        out.push(format!(
            "'{}' was compiled {} and '{}' {}: compile all files of a program with the same -T",
            first.source,
            env(first),
            o.source,
            env(o)
        ));
    }
    let mut seen: HashMap<&str, Vec<(&Object, &Var)>> = HashMap::new();
    for o in objects {
        for v in &o.vars {
            let before = seen.entry(&v.name).or_default();
            let block = |v: &Var| if v.block == 0 { "indefinite".into() } else { v.block.to_string() };
            let size = |v: &Var| {
                let times = if v.times_threads { "*THREADS" } else { "" };
                format!("{}{times} elements of {} bytes", v.elems, v.elem_size)
            };
            // The first earlier one that contradicts.
            let clash = before.iter().find_map(|&(p, w)| {
                let known = v.elems != 0 && w.elems != 0;
                if v.block != w.block {
                    Some((p, "block size", block(w), block(v)))
                } else if v.elem_size != w.elem_size
                    || known && (v.elems, v.times_threads) != (w.elems, w.times_threads)
                {
                    Some((p, "size", size(w), size(v)))
                } else {
                    None
                }
            });
            if let Some((p, what, a, b)) = clash {
                out.push(format!(
                    "shared variable '{}' differs in {what}: {a} in '{}', {b} in '{}'",
                    v.name, p.source, o.source
                ));
            } else if v.initialised
                && let Some((p, _)) = before.iter().find(|(_, w)| w.initialised)
            {
                out.push(format!(
                    "shared variable '{}' is initialised in '{}' and in '{}'",
                    v.name, p.source, o.source
                ));
            }
            before.push((o, v));
        }
    }
    out
}

fn report(objects: &[Object]) -> Result<(), String> {
    let c = conflicts(objects);
    match c.split_last() {
        None => Ok(()),
        Some((last, rest)) => {
            for e in rest {
                eprintln!("upcc: error: {e}");
            }
            Err(last.clone())
        }
    }
}

/// Checks a linked program and the shared objects that it was linked with. `other_main`: it may have a main
/// that starts no UPC job.
pub fn check_program(path: &Path, libraries: &[PathBuf], other_main: bool) -> Result<(), String> {
    let objects = facts(path);
    let all: Vec<Object> = objects.iter().cloned().chain(libraries.iter().flat_map(|l| facts(l))).collect();
    report(&all)?;
    if let Some(conflict) = fs::read(path).ok().and_then(|bytes| ident::conflict(&ident::find(&bytes))) {
        return Err(conflict);
    }
    match objects.first() {
        Some(o) if !other_main && !objects.iter().any(|o| o.main) => Err(format!(
            "'{}' is UPC, but main is not: compile the file that defines main with upcc, too",
            o.source
        )),
        _ => Ok(()),
    }
}

/// Checks objects before or instead of a link; files of other kinds count for nothing.
pub fn check_objects(files: &[PathBuf]) -> Result<(), String> {
    let all: Vec<Object> = files.iter().flat_map(|f| facts(f)).collect();
    report(&all)
}

/// The facts in a program or object file; none in other files.
pub fn facts(path: &Path) -> Vec<Object> {
    fs::read(path)
        .ok()
        .and_then(|b| elf::section(&b, SECTION).map(|s| parse(&String::from_utf8_lossy(s))))
        .unwrap_or_default()
}

/// The network that a program was linked for, if one was named.
pub fn network(path: &Path) -> Option<String> {
    let bytes = fs::read(path).ok()?;
    let text = String::from_utf8_lossy(elf::section(&bytes, SECTION)?);
    text.split(['\n', '\0']).find_map(|line| line.strip_prefix("L ")).map(String::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn c(text: &str) -> Vec<String> {
        conflicts(&parse(text))
    }

    #[test]
    fn agreement_is_silent() {
        assert!(
            c("U 1 packed dynamic a.upc\nV i 10 1 5 4 x\nU 1 packed dynamic b.upc\nV e 0 0 5 4 x\n")
                .is_empty()
        );
        assert!(c("").is_empty());
    }

    #[test]
    fn every_contradiction_names_both_files() {
        let cases = [
            ("U 1 packed dynamic a.upc\nU 1 struct dynamic b.upc\n", "-fupc-pts=struct"),
            ("U 1 packed 4 a.upc\nU 1 packed dynamic b.upc\n", "-T 4"),
            ("U 1 packed 4 a.upc\nU 1 packed 8 b.upc\n", "-T 8"),
            ("U 1 packed 4 a.upc\nV d 10 0 5 4 x\nU 1 packed 4 b.upc\nV e 10 0 3 4 x\n", "block size"),
            ("U 1 packed 4 a.upc\nV d 10 0 5 4 x\nU 1 packed 4 b.upc\nV e 20 0 5 4 x\n", "size"),
            ("U 1 packed 4 a.upc\nV i 10 0 5 4 x\nU 1 packed 4 b.upc\nV i 10 0 5 4 x\n", "initialised"),
        ];
        for (text, word) in cases {
            let e = c(text);
            assert_eq!(e.len(), 1, "{e:?}");
            assert!(e[0].contains(word) && e[0].contains("a.upc") && e[0].contains("b.upc"), "{e:?}");
        }
    }
}
