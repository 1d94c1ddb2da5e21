//! Steps that only build and check: form, lints, documentation, features, loom and Miri.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{CARGO_LIMIT, Context, End, counted, has_cargo};
use crate::{build, rustc, sh};

pub(super) fn fmt(_: &mut Context) -> End {
    if !has_cargo("fmt") {
        return End::Untested("no rustfmt; try: rustup component add rustfmt".to_string());
    }
    checked(sh::cargo(&["fmt", "--all", "--check"]))
}

pub(super) fn clippy(_: &mut Context) -> End {
    if !has_cargo("clippy") {
        return End::Untested("no clippy; try: rustup component add clippy".to_string());
    }
    checked(sh::cargo(&[&["clippy", "--quiet", "--workspace", "--all-targets", "--"], &DENIED[..]].concat()))
}

/// What clippy is told beside what a crate says itself.
const DENIED: [&str; 2] = ["-D", "warnings"];

/// Lets a cargo command take what the step `clippy` has checked, where it would check the same crates once
/// more: cargo knows a checked crate by who has checked it, and clippy by the words that it was told.
fn as_clippy_has_checked(command: &mut Command) {
    let cargo = command.get_program().to_owned();
    let driver = Path::new(&cargo).with_file_name("clippy-driver");
    if driver.is_file() {
        let words: String = DENIED.iter().map(|word| format!("{word}__CLIPPY_HACKERY__")).collect();
        command.env("RUSTC_WORKSPACE_WRAPPER", driver).env("CLIPPY_ARGS", words);
    }
}

pub(super) fn docs(_: &mut Context) -> End {
    let mut doc = sh::cargo(&["doc", "--quiet", "--workspace", "--lib", "--no-deps"]);
    // Links to private items are for those who read the source; public pages show them as plain text.
    doc.env("RUSTDOCFLAGS", "-D warnings -A rustdoc::private-intra-doc-links");
    as_clippy_has_checked(&mut doc);
    checked(doc)
}

/// Runs a command whose output matters only if it fails.
fn checked(command: Command) -> End {
    let shown = sh::show(&command);
    match sh::capture(command, CARGO_LIMIT) {
        Ok(outcome) if outcome.status == Some(0) => End::Passed(String::new()),
        Ok(outcome) => {
            say!("{shown}\n{}{}", outcome.stdout, outcome.stderr);
            End::Failed(format!("{shown}: {}", outcome.end()))
        }
        Err(why) => End::Failed(why),
    }
}

pub(super) fn doctest(_: &mut Context) -> End {
    match counted(sh::cargo(&["test", "--workspace", "--exclude", "pgas-bench-inside", "--doc"])) {
        Ok(tests) => End::Passed(format!("{tests} tests")),
        Err(why) => End::Failed(why),
    }
}

/// Packs the crates that are meant for others, and checks each from its package, over the packages of those
/// below it. Nothing leaves this machine.
pub(super) fn publish(_: &mut Context) -> End {
    let mut publish = sh::cargo(&["publish", "--dry-run", "--no-verify", "--workspace", "--allow-dirty"]);
    // Cargo takes a package for what it was when it first saw this version of it, so this run sees all of
    // them for the first time.
    let folder = sh::target().join("publish");
    let _ = std::fs::remove_dir_all(&folder);
    if let Err(why) = cargo_home(&folder.join("home")) {
        return End::Failed(why);
    }
    publish.env("CARGO_HOME", folder.join("home")).env("CARGO_TARGET_DIR", &folder);
    let shown = sh::show(&publish);
    let outcome = match sh::capture(publish, CARGO_LIMIT) {
        Ok(outcome) => outcome,
        Err(why) => return End::Failed(why),
    };
    match outcome.status {
        Some(0) => match packages_build(&folder) {
            Ok(crates) => End::Passed(format!("{crates} crates")),
            Err(why) => End::Failed(why),
        },
        Some(101) if outcome.stderr.contains("the `--workspace` flag is unstable") => {
            End::Untested("cargo publishes several crates at a time from 1.90 on".to_string())
        }
        _ => {
            say!("{shown}\n{}{}", outcome.stdout, outcome.stderr);
            End::Failed(format!("{shown}: {}", outcome.end()))
        }
    }
}

/// Unpacks the packages in `folder`, and checks each by itself: cargo's own check would compile each twice,
/// and generate code that nobody runs. How many crates.
fn packages_build(folder: &Path) -> Result<usize, String> {
    let said = |path: &Path, e: std::io::Error| format!("{}: {e}", path.display());
    let unpacked = folder.join("unpacked");
    std::fs::create_dir_all(&unpacked).map_err(|e| said(&unpacked, e))?;
    let mut names = Vec::new();
    // Where cargo puts packages that are not published.
    for package in build::files(&folder.join("package/tmp-registry"), "crate") {
        let mut unpack = Command::new("tar");
        unpack.arg("-xzf").arg(&package).arg("-C").arg(&unpacked);
        sh::pass(unpack, CARGO_LIMIT)?;
        // `NAME-VERSION.crate`; all versions here begin with a digit.
        let of = package.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let name = of.rsplit_once('-').map_or(of.as_str(), |(name, _)| name).to_string();
        names.push((name, of));
    }
    // No crate of this version is in a registry: each takes the others from here.
    let mut manifest =
        "[workspace]\nresolver = \"3\"\nmembers = [\"*-[0-9]*\"]\n\n[patch.crates-io]\n".to_string();
    for (name, of) in &names {
        manifest += &format!("{name} = {{ path = \"{of}\" }}\n");
    }
    let root = unpacked.join("Cargo.toml");
    std::fs::write(&root, &manifest).map_err(|e| said(&root, e))?;
    let lock = unpacked.join("Cargo.lock");
    std::fs::copy(sh::root().join("Cargo.lock"), &lock).map_err(|e| said(&lock, e))?;
    for (name, _) in &names {
        // One at a time: together, a crate would have features that another one asks for.
        let mut check = sh::cargo(&["check", "--quiet", "-p", name]);
        check.current_dir(&unpacked).env("CARGO_TARGET_DIR", folder.join("check"));
        check.env("CARGO_INCREMENTAL", "0");
        if let End::Failed(why) = checked(check) {
            return Err(why);
        }
    }
    match names.len() {
        0 => Err(format!("no package in {}", folder.display())),
        crates => Ok(crates),
    }
}

/// Makes a home for cargo that has all that the user's has, but for what cargo knows of registries in folders
/// of this machine, whose names begin with a hyphen.
fn cargo_home(folder: &Path) -> Result<(), String> {
    let users = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let users = users.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    let users = users.ok_or("no CARGO_HOME and no HOME")?;
    let said = |e: std::io::Error| format!("{}: {e}", folder.display());
    let link_all = |part: &str, but: &dyn Fn(&str) -> bool| {
        let to = folder.join(part);
        std::fs::create_dir_all(&to).map_err(said)?;
        for entry in std::fs::read_dir(users.join(part)).into_iter().flatten().flatten() {
            if !but(&entry.file_name().to_string_lossy()) {
                std::os::unix::fs::symlink(entry.path(), to.join(entry.file_name())).map_err(said)?;
            }
        }
        Ok::<(), String>(())
    };
    link_all("", &|name| name == "registry")?;
    for part in ["index", "cache", "src"] {
        link_all(&format!("registry/{part}"), &|name| name.starts_with('-'))?;
    }
    Ok(())
}

/// Checks what programs are built on by the oldest toolchain that the manifests promise. Calls of the
/// standard library that are younger are found by the step `clippy`, too.
pub(super) fn msrv(_: &mut Context) -> End {
    let oldest = env!("CARGO_PKG_RUST_VERSION");
    // The toolchain is chosen by rustup's cargo, not by the one that runs this program.
    let cargo = |arguments: &[&str]| {
        let mut cargo = Command::new("cargo");
        cargo.arg(format!("+{oldest}")).args(arguments).current_dir(sh::root());
        // Asking must not install it.
        cargo.env("RUSTUP_AUTO_INSTALL", "0").env("CARGO_TARGET_DIR", sh::target().join("msrv"));
        for name in ["CARGO", "RUSTUP_TOOLCHAIN"] {
            cargo.env_remove(name);
        }
        cargo
    };
    if !sh::capture(cargo(&["--version"]), CARGO_LIMIT).is_ok_and(|outcome| outcome.status == Some(0)) {
        return End::Untested(format!("no Rust {oldest}: rustup toolchain install {oldest}"));
    }
    checked(cargo(&[
        "check",
        "--quiet",
        "-p",
        "pgas",
        "-p",
        "gasnet-conduits",
        "-p",
        "gasnet-sim",
        "-p",
        "firehose-live",
    ]))
}

/// Tests the launcher with hwloc; installs the library first where this may.
pub(super) fn hwloc(_: &mut Context) -> End {
    let present = || {
        let mut ask = Command::new("pkg-config");
        // Debian's hwloc is linked with libudev, and its package does not bring that with it.
        ask.args(["--exists", "--static", "hwloc >= 2.0.4", "libudev"]);
        sh::pass(ask, CARGO_LIMIT).is_ok()
    };
    if !present() {
        sh::install_debian(&["libhwloc-dev", "libudev-dev", "pkg-config"]);
    }
    if !present() {
        return End::Untested(
            "no libhwloc 2 with headers; Debian's: libhwloc-dev libudev-dev pkg-config".to_string(),
        );
    }
    let bind = sh::cargo(&["test", "-p", "gasnet-launch", "--features", "hwloc", "--lib", "bind"]);
    match counted(rustc::for_tests(bind)) {
        Ok(tests) => End::Passed(format!("{tests} tests")),
        Err(why) => End::Failed(why),
    }
}

/// Tests what the features of `pgas` add, and that each network can be left out. The test of spans is a
/// program of one rank, which says what it saw.
pub(super) fn features(_: &mut Context) -> End {
    let test = |what: &[&str]| {
        let with = ["test", "-p", "pgas", "--features", "rand,tracing"];
        rustc::for_tests(sh::cargo(&[&with, what].concat()))
    };
    let spans = test(&["--test", "spans"]);
    let shown = sh::show(&spans);
    match sh::capture(spans, CARGO_LIMIT) {
        Ok(outcome) if outcome.status == Some(0) && outcome.stdout.contains("spans: ") => {}
        Ok(outcome) => {
            say!("{shown}\n{}{}", outcome.stdout, outcome.stderr);
            return End::Failed(format!("{shown}: {}", outcome.end()));
        }
        Err(why) => return End::Failed(why),
    }
    for chosen in ["", "udp", "mpi", "ofi"] {
        let of = ["--no-default-features", "--features", chosen];
        let check = ["clippy", "--quiet", "-p", "pgas", "-p", "gasnet-conduits", "--lib"];
        if let failed @ End::Failed(_) =
            checked(sh::cargo(&[&check, &of[..], &["--", "-D", "warnings"]].concat()))
        {
            return failed;
        }
    }
    let none = ["test", "-p", "gasnet-conduits", "--no-default-features", "--lib"];
    let none = rustc::for_tests(sh::cargo(&none));
    match counted(test(&["--lib", "streams"])).and_then(|tests| Ok(tests + counted(none)?)) {
        Ok(tests) => End::Passed(format!("{} tests", tests + 1)),
        Err(why) => End::Failed(why),
    }
}

pub(super) fn loom(_: &mut Context) -> End {
    let mut test = sh::cargo(&[
        "test",
        "-p",
        "gasnet-wire",
        "-p",
        "gasnet",
        "-p",
        "gasnet-clan",
        "-p",
        "gasnet-rpc",
        "-p",
        "netvm-fw",
        "-p",
        "firehose",
        "--lib",
        "loom_",
    ]);
    let flags = std::env::var("RUSTFLAGS").unwrap_or_default();
    test.env("RUSTFLAGS", format!("{flags} --cfg loom").trim());
    test.env("CARGO_TARGET_DIR", sh::target().join("loom"));
    match counted(test) {
        Ok(tests) => End::Passed(format!("{tests} models")),
        Err(why) => End::Failed(why),
    }
}

/// Crates that run under Miri, and filters for their tests. Each entry is a process of its own: Miri runs
/// the threads of a process in turn, so several processes use more processors. The longest come first. The
/// ranks of `one_process` are threads, and their memory files are memory of the process
/// (`gasnet-rs/sys/src/stand_in.rs`).
const MIRI: [(&[&str], &[&str]); 7] = [
    (&["-p", "gasnet-wire", "-p", "gasnet", "--lib"], &["--skip", "shm::"]),
    (&["-p", "pgas", "--test", "one_process"], &[]),
    (&["-p", "gasnet-rpc", "-p", "pgas", "--lib"], &[]),
    (&["-p", "gasnet", "--test", "one_process"], &["hosts_of", "teams"]),
    // Memory that tests leave makes those after them slower, and links are large.
    (&["-p", "gasnet-wire", "--lib"], &["shm::grid"]),
    (&["-p", "gasnet-wire", "--lib"], &["shm::", "--skip", "shm::grid"]),
    (&["-p", "firehose", "-p", "netvm-fw", "-p", "gasnet-clan", "--lib"], &[]),
];

/// Jobs keep to the rules of Tree Borrows: they read by atomics what a program has lent for reading only,
/// which Stacked Borrows refuses. Unit tests keep to the latter, too.
const OF_JOBS: &str = "-Zmiri-tree-borrows";

/// A rank lives as long as its process, and is never freed. Ranks do not share one processor.
const MIRI_FLAGS: &str =
    "-Zmiri-disable-isolation -Zmiri-permissive-provenance -Zmiri-ignore-leaks -Zmiri-num-cpus=8";

/// A command of Miri, which only a nightly toolchain has.
fn cargo_miri() -> Command {
    // The toolchain is chosen by rustup's cargo, not by the one that runs this program.
    let mut cargo = Command::new("cargo");
    cargo.args(["+nightly", "miri"]).current_dir(sh::root());
    // Asking must not install it.
    cargo.env("RUSTUP_AUTO_INSTALL", "0");
    cargo.env("CARGO_TARGET_DIR", sh::target().join("miri"));
    cargo.env("MIRIFLAGS", MIRI_FLAGS);
    for name in ["CARGO", "RUSTUP_TOOLCHAIN"] {
        cargo.env_remove(name);
    }
    cargo
}

/// Tests the core, the crates over it and NICs' state under Miri, which a nightly toolchain may have. Tests
/// that use system calls that Miri does not have are marked as ignored under Miri.
pub(super) fn miri(_: &mut Context) -> End {
    let mut ask = cargo_miri();
    ask.arg("--version");
    // Where Miri is missing, rustup prints an error with a stack backtrace: that is for nobody to read.
    if !sh::capture(ask, CARGO_LIMIT).is_ok_and(|outcome| outcome.status == Some(0)) {
        return End::Untested("no Miri: rustup toolchain install nightly -c miri".to_string());
    }
    let (next, tests, meter) = (AtomicUsize::new(0), AtomicUsize::new(0), sh::Meter::here());
    let run = || -> Result<(), String> {
        meter.install();
        // Relaxed, both: counts.
        while let Some((what, filters)) = MIRI.get(next.fetch_add(1, Ordering::Relaxed)) {
            let mut test = cargo_miri();
            if what.contains(&"--test") {
                test.env("MIRIFLAGS", format!("{MIRI_FLAGS} {OF_JOBS}"));
            }
            test.arg("test").args(*what).args(["--", "--test-threads=1"]).args(*filters);
            tests.fetch_add(counted(test)?, Ordering::Relaxed);
        }
        Ok(())
    };
    let results = std::thread::scope(|scope| [(); 2].map(|()| scope.spawn(run)).map(|thread| thread.join()));
    for result in results {
        match result {
            Ok(Ok(())) => {}
            Ok(Err(why)) => return End::Failed(why),
            Err(_) => return End::Failed("a thread panicked".to_string()),
        }
    }
    End::Passed(format!("{} tests", tests.into_inner()))
}
