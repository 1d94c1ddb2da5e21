//! `cargo xtask package deb`: a Debian package of the whole installation, made with `dpkg-deb` alone.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use gasnet_options::{Argument, opt};

use crate::clients::Site;
use crate::stage::{self, Parts};
use crate::task::{Task, read, surplus, task, with_help};
use crate::{files, installed, man, plugins, sh};

#[derive(Clone, Copy)]
enum PackageOption {
    Output,
    NoPlugins,
}

const PACKAGE: Task<PackageOption> = task(
    "cargo xtask package",
    "Makes a Debian package of the files that 'cargo xtask install' installs.",
    &["cargo xtask package deb [--output DIR] [--no-plugins]"],
    &[
        opt(PackageOption::Output, "--output DIR", "directory for the package (default target/package)"),
        opt(
            PackageOption::NoPlugins,
            "--no-plugins",
            "leave out the conduits mpi and ofi (default: include those that can be built here)",
        ),
    ],
    "\
  To install it, as root: apt install DIR/gasnet-rs_VERSION_ARCHITECTURE.deb
  To remove it, as root: apt remove gasnet-rs",
);

/// Longest time for a tool.
const TOOL_LIMIT: Duration = Duration::from_secs(300);

/// Reads the command line and packs.
pub fn main(words: Vec<std::ffi::OsString>) -> Result<(), String> {
    let (mut output, mut with_plugins, mut kind) = (sh::target().join("package"), true, None);
    let going_on = read(&PACKAGE, words, |word, _| {
        match word {
            Argument::Option(found) if matches!(found.key, PackageOption::Output) => {
                output = found.value().into()
            }
            Argument::Option(_) => with_plugins = false,
            Argument::Operand(value) if kind.is_none() => kind = Some(value),
            Argument::Operand(word) | Argument::Unknown(word) => return Err(surplus(&word)),
        }
        Ok(())
    })?;
    if !going_on {
        return Ok(());
    }
    if kind.is_none_or(|kind| kind != "deb") {
        return Err(with_help("which kind of package?", &PACKAGE));
    }
    let package = deb(&output, with_plugins)?;
    say!("made {0}; as root: apt install {0}", package.display());
    Ok(())
}

/// Debian's name of this processor.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

fn tool(mut command: Command, folder: &Path) -> Result<String, String> {
    command.current_dir(folder);
    let shown = sh::show(&command);
    let outcome = sh::capture(command, TOOL_LIMIT)?;
    if outcome.status == Some(0) { Ok(outcome.stdout) } else { Err(format!("{shown}\n{}", outcome.report())) }
}

/// Every file and link below a folder, as paths relative to it, in order.
pub fn tree(folder: &Path) -> Vec<PathBuf> {
    fn walk(folder: &Path, base: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                walk(&path, base, found);
            } else if let Ok(below) = path.strip_prefix(base) {
                found.push(below.to_path_buf());
            }
        }
    }
    let mut found = Vec::new();
    walk(folder, folder, &mut found);
    found.sort();
    found
}

/// The newest version of the C library whose symbols a file asks for: it stands in the file as `GLIBC_2.34`.
fn c_library(bytes: &[u8]) -> Option<(u32, u32)> {
    let start = b"GLIBC_";
    let versions = bytes.windows(start.len()).enumerate().filter(|(_, window)| window == start);
    let versions = versions.filter_map(|(at, _)| {
        let text = &bytes[at + start.len()..bytes.len().min(at + start.len() + 8)];
        let text: String =
            text.iter().map(|&b| b as char).take_while(|c| c.is_ascii_digit() || *c == '.').collect();
        let (major, minor) = text.split_once('.')?;
        Some((major.parse().ok()?, minor.split('.').next()?.parse().ok()?))
    });
    versions.max()
}

fn io(path: &Path) -> impl FnOnce(std::io::Error) -> String + use<> {
    let path = path.display().to_string();
    move |e| format!("{path}: {e}")
}

/// Strips all programs and libraries in `usr`. Returns the version of the C library that they need.
fn strip_programs(usr: &Path) -> Result<(u32, u32), String> {
    let mut needs = (2, 17);
    for file in tree(usr).iter().map(|file| usr.join(file)).filter(|file| !file.is_symlink()) {
        let bytes = fs::read(&file).map_err(io(&file))?;
        if !bytes.starts_with(b"\x7fELF") {
            continue;
        }
        needs = needs.max(c_library(&bytes).unwrap_or(needs));
        let mut strip = Command::new("strip");
        strip.arg("--strip-unneeded").arg(&file);
        tool(strip, usr)?;
    }
    Ok(needs)
}

/// The control file, with places to fill in.
const CONTROL: &str = include_str!("../../packaging/debian/control");
/// The work of dpkg after the files are laid down.
const TRIGGERS: &str = include_str!("../../packaging/debian/triggers");

/// A text with its places filled in, which have the form `@NAME@`.
fn filled_in(text: &str, values: &[(&str, &str)]) -> String {
    values.iter().fold(text.to_string(), |text, (name, value)| text.replace(&format!("@{name}@"), value))
}

/// The networks of the package, in the two lines that the control file has for them.
fn networks(with_plugins: bool) -> &'static str {
    if with_plugins {
        "shared memory, UDP, a NIC in software,\n MPI and libfabric"
    } else {
        "shared memory, UDP and a NIC in software"
    }
}

/// Copies the documentation and the examples.
fn documents(doc: &Path) -> Result<(), String> {
    let root = sh::root();
    files::copy(&root.join("README.md"), &doc.join("README.md"))?;
    for folder in ["docs", "examples"] {
        for file in tree(&root.join(folder)) {
            let below = if folder == "docs" { file.clone() } else { Path::new(folder).join(&file) };
            files::copy(&root.join(folder).join(&file), &doc.join(below))?;
        }
    }
    Ok(())
}

/// Writes the files in which Debian's tools find what the package is.
fn describe(
    root: &Path,
    version: &str,
    architecture: &str,
    needs: (u32, u32),
    with_plugins: bool,
) -> Result<(), String> {
    let files = tree(root);
    let mut sums = Command::new("md5sum");
    sums.args(files.iter().filter(|file| !root.join(file).is_symlink()));
    let sums = tool(sums, root)?;
    let size: u64 =
        files.iter().filter_map(|file| fs::symlink_metadata(root.join(file)).ok()).map(|m| m.len()).sum();
    let control = filled_in(
        CONTROL,
        &[
            ("VERSION", version),
            ("ARCHITECTURE", architecture),
            ("KIBIBYTES", &size.div_ceil(1024).to_string()),
            ("LIBC", &format!("{}.{}", needs.0, needs.1)),
            ("NETWORKS", networks(with_plugins)),
        ],
    );
    files::write(&root.join("DEBIAN/control"), &control)?;
    files::write(&root.join("DEBIAN/md5sums"), &sums)?;
    files::write(&root.join("DEBIAN/triggers"), TRIGGERS)?;
    for file in ["control", "md5sums", "triggers"] {
        let file = root.join("DEBIAN").join(file);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).map_err(io(&file))?;
    }
    Ok(())
}

/// Makes the package in `output` and says where it is.
pub fn deb(output: &Path, with_plugins: bool) -> Result<PathBuf, String> {
    let root = sh::target().join("package/root");
    let _ = fs::remove_dir_all(&root);
    let usr = root.join("usr");
    let site = Site { prefix: "/usr".into(), ..stage::site(Path::new("/usr"))? };
    // Debian's alternatives, whatever is first in this user's path.
    let site = Site { cc: "/usr/bin/cc".into(), cxx: "/usr/bin/c++".into(), ..site };
    stage::stage_for(&usr, &site, Parts::ALL)?;
    stage::stage_firehose(&usr)?;
    man::lay_down(&usr)?;
    if with_plugins {
        plugins::stage_all(&usr);
    }

    let needs = strip_programs(&usr)?;
    for page in tree(&usr.join("share/man")) {
        let mut pack = Command::new("gzip");
        pack.args(["-9", "-n", "-f"]).arg(usr.join("share/man").join(page));
        tool(pack, &usr)?;
    }
    let doc = usr.join("share/doc/gasnet-rs");
    let mut licences =
        "gasnet-rs, under the MIT licence or the Apache licence 2.0, as you like.\n".to_string();
    for name in ["LICENSE-MIT", "LICENSE-APACHE"] {
        let from = sh::root().join(name);
        licences += &format!("\n{}", fs::read_to_string(&from).map_err(io(&from))?);
    }
    files::write(&doc.join("copyright"), &licences)?;
    documents(&doc)?;
    installed::lay_down_module(&usr)?;

    let (version, architecture) = (env!("CARGO_PKG_VERSION"), architecture());
    describe(&root, version, architecture, needs, with_plugins)?;
    fs::create_dir_all(output).map_err(io(output))?;
    let package = output.join(format!("gasnet-rs_{version}_{architecture}.deb"));
    let mut pack = Command::new("dpkg-deb");
    pack.args(["--root-owner-group", "--build"]).arg(&root).arg(&package);
    tool(pack, &root)?;
    Ok(package)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The recipe for Spack knows this version and only words that `install` knows.
    #[test]
    fn the_recipe_for_spack_is_up_to_date() {
        let recipe = sh::root().join("packaging/spack/packages/gasnet_rs/package.py");
        let text = fs::read_to_string(&recipe).unwrap();
        assert!(text.contains(&format!("version(\"{}\"", env!("CARGO_PKG_VERSION"))), "not this version");
        let install = text.split_once("cargo(\"xtask\"").unwrap().1.lines().next().unwrap();
        let words: Vec<&str> = install.split('"').filter(|word| word.starts_with("--")).collect();
        assert_eq!(words, ["--prefix", "--cc", "--cxx"]);
        for word in words {
            assert!(crate::INSTALL.help().contains(&format!("{word} ")), "install has no {word}");
        }
        // A language that may not be there; where it is, it must accept the text.
        let mut parse = Command::new("python3");
        parse.args(["-c", "import ast,sys; ast.parse(open(sys.argv[1]).read())"]).arg(&recipe);
        if let Ok(status) = parse.status() {
            assert!(status.success(), "python3 does not accept the recipe");
        }
    }

    #[test]
    fn the_control_file_is_filled_in() {
        let names = ["VERSION", "ARCHITECTURE", "KIBIBYTES", "LIBC"].map(|name| (name, "1"));
        for plugins in [false, true] {
            let text = filled_in(CONTROL, &[&names[..], &[("NETWORKS", networks(plugins))]].concat());
            assert!(!text.replace("@localhost", "").contains('@'), "{text}");
            let description = text.split_once("Description: ").unwrap().1;
            assert!(description.lines().skip(1).all(|line| line.starts_with(' ')), "{text}");
            assert!(text.lines().all(|line| line.len() <= 80), "{text}");
            assert_eq!(text.contains("MPI and"), plugins, "{text}");
        }
    }

    #[test]
    fn documentation_and_examples_are_packed() {
        let doc = std::env::temp_dir().join(format!("xtask-documents-{}", std::process::id()));
        documents(&doc).unwrap();
        for file in
            ["README.md", "c-interface.md", "decisions", "examples/upc/hello.upc", "examples/c/ring.c"]
        {
            assert!(doc.join(file).exists(), "{file}");
        }
        fs::remove_dir_all(&doc).unwrap();
    }

    #[test]
    fn the_newest_c_library_counts() {
        assert_eq!(c_library(b"xGLIBC_2.4\0GLIBC_2.34\0GLIBC_2.2.5\0GLIBC_PRIVATE"), Some((2, 34)));
        assert_eq!(c_library(b"no such thing"), None);
    }
}
