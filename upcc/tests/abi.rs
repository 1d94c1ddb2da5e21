//! The arithmetic of `upcc_abi.h`, compiled and run.

use std::path::Path;
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
