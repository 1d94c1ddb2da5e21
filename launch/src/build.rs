//! Compiles the library that ranks are recorded with.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=src/inputs.c");
    println!("cargo:rerun-if-changed=src/build.rs");
    println!("cargo:rerun-if-env-changed=CC");
    let folder = std::env::var_os("OUT_DIR").expect("cargo says where");
    let library = Path::new(&folder).join("inputs.so");
    let target = std::env::var("TARGET").unwrap_or_default();
    // As rustc chooses a linker: a foreign architecture has a compiler with a prefix.
    let native = std::env::var("HOST").is_ok_and(|host| host == target);
    let prefixed = format!("{}-gcc", target.replace("-unknown", ""));
    let compiler = std::env::var("CC").unwrap_or(if native { "cc".into() } else { prefixed });
    let built = Command::new(compiler)
        .args(["-shared", "-fPIC", "-O2", "-Wall", "-s", "-o"])
        .arg(&library)
        .args(["src/inputs.c", "-ldl"])
        .status();
    if !built.is_ok_and(|status| status.success()) {
        // Ranks are recorded all the same; what they do by chance or by the clock is not replayed.
        println!("cargo:warning=no C compiler: recordings will not have random numbers and times");
        std::fs::write(&library, []).expect("cargo's folder can be written");
    }
}
