//! Generates Rust declarations from libfabric's headers, for the feature `link`.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    #[cfg(feature = "link")]
    link::declare();
}

#[cfg(feature = "link")]
mod link {
    use bindgen::callbacks::{IntKind, ParseCallbacks};
    use std::process::Command;

    /// libfabric's flags are 64-bit words, whatever their value.
    #[derive(Debug)]
    struct Flags;

    impl ParseCallbacks for Flags {
        fn int_macro(&self, name: &str, _value: i64) -> Option<IntKind> {
            name.starts_with("FI_").then_some(IntKind::U64)
        }
    }

    /// The answer of pkg-config, as words; empty if it does not know the library.
    fn ask(question: &str) -> Vec<String> {
        println!("cargo:rerun-if-env-changed=PKG_CONFIG_PATH");
        let answer = Command::new("pkg-config").args([question, "libfabric"]).output();
        let text = answer.map(|a| String::from_utf8_lossy(&a.stdout).into_owned()).unwrap_or_default();
        text.split_whitespace().map(str::to_string).collect()
    }

    pub fn declare() {
        for word in ask("--libs-only-L") {
            if let Some(folder) = word.strip_prefix("-L") {
                println!("cargo:rustc-link-search=native={folder}");
            }
        }
        println!("cargo:rustc-link-lib=fabric");
        let headers = ["fabric", "fi_domain", "fi_endpoint", "fi_cm", "fi_rma", "fi_atomic", "fi_errno"];
        let includes: String = headers.iter().map(|h| format!("#include <rdma/{h}.h>\n")).collect();
        let made = bindgen::Builder::default()
            .header_contents("libfabric.h", &includes)
            .clang_args(ask("--cflags"))
            .allowlist_item("fi_.*|fid.*|FI_.*")
            .prepend_enum_name(false)
            .derive_debug(false)
            .layout_tests(false)
            .parse_callbacks(Box::new(Flags))
            .generate()
            .expect("libfabric's headers (Debian's: libfabric-dev) and libclang (libclang-dev)");
        let to = std::path::PathBuf::from(std::env::var_os("OUT_DIR").expect("set by cargo"));
        made.write_to_file(to.join("libfabric.rs")).expect("cargo's folder can be written");
    }
}
