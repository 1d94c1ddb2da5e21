//! The interface between emitted C and the runtime, `upcc_abi.h`: its arithmetic, compiled and run, and its
//! names.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn check(name: &str, flags: &[&str]) {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let exe = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("abi-{name}"));
    let out = Command::new("cc")
        .args(["-w", "-I"])
        .arg(here.join("../upc-rt/include"))
        .args(flags)
        .arg("-o")
        .arg(&exe)
        .arg(here.join("tests/abi.c"))
        .arg(here.join("tests/abi_rt.c"))
        .output()
        .expect("a C compiler");
    assert!(out.status.success() && out.stderr.is_empty(), "{}", String::from_utf8_lossy(&out.stderr));
    let out = Command::new(&exe).output().expect("the program runs");
    assert!(out.status.success(), "{flags:?}: {}", String::from_utf8_lossy(&out.stdout));
}

#[test]
fn packed_pointers_dynamic_threads() {
    check("packed", &["-O2"]);
    check("packed0", &["-O0"]);
}

#[test]
fn struct_pointers() {
    check("struct", &["-O2", "-D__UPC_PTS_STRUCT=1"]);
}

#[test]
fn static_threads() {
    for n in ["1", "3", "8"] {
        check(&format!("static{n}"), &["-O2", &format!("-D__UPC_STATIC_THREADS={n}")]);
    }
}

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The names of ours in a Rust source, outside of comments.
fn names(text: &str) -> Vec<String> {
    let code: Vec<&str> = text.lines().filter(|l| !l.trim_start().starts_with("//")).collect();
    let code = code.join("\n");
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words = code.split(|c| !word(c)).filter(|w| w.starts_with("__upc_") || w.starts_with("__UPC_"));
    // Macros that the language gives to programs, such as `__UPC_VERSION__`, are not ours.
    words.filter(|w| !w.ends_with("__")).map(str::to_string).collect()
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the sources") {
        let path = entry.expect("the sources").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn one_module_names_the_interface() {
    let mut files = Vec::new();
    sources(&here("src"), &mut files);
    let mut seen = Vec::new();
    for path in &files {
        let inside = path.strip_prefix(here("src")).expect("a source");
        if inside == Path::new("emit/abi.rs") || inside == Path::new("emit/c.rs") {
            seen.push(inside);
            continue;
        }
        let names = names(&read(path));
        assert!(names.is_empty(), "{}: {names:?} belong into emit/abi.rs", inside.display());
    }
    assert_eq!(seen.len(), 2, "{seen:?}");
}

#[test]
fn the_header_has_the_names() {
    let text = read(&here("src/emit/abi.rs"));
    // The second part of the file has names that the emitter makes for itself.
    let (of_header, _) = text.split_once("// Names made here.").expect("two parts");
    let names = names(of_header);
    let header = read(&here("../upc-rt/include/upcc_abi.h"));
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words: std::collections::HashSet<&str> = header.split(|c| !word(c)).collect();
    let missing: Vec<_> = names.iter().filter(|n| !words.contains(n.as_str())).collect();
    assert!(names.len() > 60 && missing.is_empty(), "{} names, not in upcc_abi.h: {missing:?}", names.len());
}
